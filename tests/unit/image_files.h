/* Image files for tests, made in memory: PNG of every kind by libpng itself, and the samples that
 * reading them must give. */
#ifndef BF_TEST_IMAGE_FILES_H
#define BF_TEST_IMAGE_FILES_H

#include "image/image.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

typedef struct png_kind {
  int colour_type, depth, interlace;
  bool has_transparency; /* a tRNS chunk: a transparent colour, or alpha for a palette */
  uint32_t width, height;
} png_kind;

/* A file and what it holds, as 16-bit numbers. */
typedef struct image_file {
  bf_text bytes;
  bf_image_format format;
  uint16_t *samples;
  size_t least_bytes; /* fewer bytes of the file cannot hold that */
} image_file;

static inline void free_image_file(image_file *file) {
  bf_text_free(&file->bytes);
  free(file->samples);
}

/* Sample number `index` of a file, of `depth` bits. */
static inline unsigned raw_sample(uint64_t index, int depth) {
  return (unsigned)((index * 2654435761u + 12345) >> 7) & ((1u << depth) - 1);
}

/* Entry of the palette, and its alpha. */
static inline unsigned palette_sample(unsigned entry, unsigned channel) {
  return channel == 3 ? (entry < 4 ? 255 - entry * 60 : 255) : (entry * 37 + channel * 91) & 255;
}

static inline unsigned raw_channels(const png_kind *kind) {
  return kind->colour_type == PNG_COLOR_TYPE_RGB          ? 3
         : kind->colour_type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
         : kind->colour_type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                          : 1;
}

/* The raw rows of a file: samples packed as PNG packs them. */
static inline void pack_row(const png_kind *kind, uint32_t y, uint8_t *row) {
  const unsigned channels = raw_channels(kind);
  memset(row, 0, (size_t)kind->width * 8);
  for (uint64_t i = 0; i < (uint64_t)kind->width * channels; i++) {
    const unsigned value = raw_sample(y * (uint64_t)kind->width * channels + i, kind->depth);
    const uint64_t bit = i * (unsigned)kind->depth;
    if (kind->depth == 16) {
      row[2 * i] = (uint8_t)(value >> 8);
      row[2 * i + 1] = (uint8_t)value;
    } else {
      row[bit / 8] |= (uint8_t)(value << (8 - (unsigned)kind->depth - bit % 8));
    }
  }
}

static inline void add_bytes(png_structp png, png_bytep bytes, size_t size) {
  bf_text_add(png_get_io_ptr(png), (const char *)bytes, size);
}

static inline void flush_nothing(png_structp png) { (void)png; }

static inline void set_palette(png_structp png, png_infop info, const png_kind *kind) {
  const int entries = 1 << kind->depth;
  png_color palette[256];
  png_byte alpha[4];
  for (int i = 0; i < entries; i++)
    palette[i] = (png_color){(png_byte)palette_sample((unsigned)i, 0),
                             (png_byte)palette_sample((unsigned)i, 1),
                             (png_byte)palette_sample((unsigned)i, 2)};
  for (unsigned i = 0; i < 4; i++)
    alpha[i] = (png_byte)palette_sample(i, 3);
  png_set_PLTE(png, info, palette, entries);
  if (kind->has_transparency)
    png_set_tRNS(png, info, alpha, entries < 4 ? entries : 4, NULL);
}

/* The transparent colour is that of the first pixel. */
static inline void set_transparent(png_structp png, png_infop info, const png_kind *kind) {
  png_color_16 colour = {.gray = (png_uint_16)raw_sample(0, kind->depth),
                         .red = (png_uint_16)raw_sample(0, kind->depth),
                         .green = (png_uint_16)raw_sample(1, kind->depth),
                         .blue = (png_uint_16)raw_sample(2, kind->depth)};
  png_set_tRNS(png, info, NULL, 0, &colour);
}

/* The file of a kind. */
static inline void write_png(const png_kind *kind, bf_text *out) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  uint8_t *row = malloc((size_t)kind->width * 8);
  if (setjmp(png_jmpbuf(png)))
    abort();
  png_set_write_fn(png, out, add_bytes, flush_nothing);
  png_set_IHDR(png, info, kind->width, kind->height, kind->depth, kind->colour_type,
               kind->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
    set_palette(png, info, kind);
  else if (kind->has_transparency)
    set_transparent(png, info, kind);
  png_text text = {.compression = PNG_TEXT_COMPRESSION_zTXt,
                   .key = (char[]){"Comment"},
                   .text = (char[]){"text that says nothing about pixels"}};
  png_set_text(png, info, &text, 1);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; pass++)
    for (uint32_t y = 0; y < kind->height; y++) {
      pack_row(kind, y, row);
      png_write_row(png, row);
    }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  free(row);
}

/* Whether pixel number `pixel` has the transparent colour. */
static inline bool is_transparent(const png_kind *kind, uint64_t pixel) {
  const unsigned channels = raw_channels(kind);
  for (unsigned c = 0; c < channels; c++)
    if (raw_sample(pixel * channels + c, kind->depth) != raw_sample(c, kind->depth))
      return false;
  return true;
}

/* What reading must give for a channel of a pixel. */
static inline unsigned expected_sample(const png_kind *kind, uint64_t pixel, unsigned channel) {
  const unsigned channels = raw_channels(kind);
  if (kind->colour_type == PNG_COLOR_TYPE_PALETTE)
    return palette_sample(raw_sample(pixel, kind->depth), channel);
  if (channel == channels)
    return is_transparent(kind, pixel) ? 0 : kind->depth == 16 ? 65535 : 255;
  const unsigned raw = raw_sample(pixel * channels + channel, kind->depth);
  return kind->depth >= 8 ? raw : raw * 255 / ((1u << kind->depth) - 1);
}

/* A PNG file of a kind with what it holds. */
static inline image_file make_png(const png_kind *kind) {
  image_file file = {0};
  write_png(kind, &file.bytes);
  file.least_bytes = file.bytes.size;
  const unsigned colours = kind->colour_type == PNG_COLOR_TYPE_PALETTE ? 3 : raw_channels(kind);
  const unsigned channels = colours + kind->has_transparency;
  file.format = (bf_image_format){kind->width, kind->height, channels, kind->depth == 16 ? 2 : 1,
                                  kind->depth == 16 ? 65535 : 255};
  const uint64_t pixels = (uint64_t)kind->width * kind->height;
  file.samples = malloc(pixels * channels * sizeof *file.samples);
  for (uint64_t i = 0; i < pixels * channels; i++)
    file.samples[i] = (uint16_t)expected_sample(kind, i / channels, (unsigned)(i % channels));
  return file;
}

#endif
