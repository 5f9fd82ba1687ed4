/* Reading PNG through libpng (png_calls.h). */
#include "image/png_calls.h"
#include "image/reader.h"

#include <stdlib.h>
#include <string.h>

typedef struct image_png {
  png_structp png;
  png_infop info;
  image_source *source;
  bf_diagnostic *diagnostic; /* of the call in progress */
  int error;                 /* of the source; BF_OK: libpng's own */
  png_fault fault;
  unsigned passes; /* 7 if interlaced */
  uint8_t *whole;  /* the picture, if interlaced */
} image_png;

/* Four channels of 16 bits. */
enum { MOST_PIXEL_BYTES = 8 };

/* Takes bytes of the file for libpng. */
static void on_read(png_structp png, png_bytep bytes, size_t size) {
  image_png *own = png_get_io_ptr(png);
  own->error = bf_image_source_take(own->source, bytes, size, own->diagnostic);
  if (own->error)
    png_longjmp(png, 1);
}

/* ---- Header ---- */

/* Chunks that say nothing about the values of pixels are not looked into. */
static void ignore_chunks(png_structp png) {
  static const png_byte names[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
                                  "sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

/* Values come as 8 bits, or 16 in the order of this machine; palettes as colours. */
static void ask_for_samples(image_png *own) {
  png_set_expand(own->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  png_set_swap(own->png);
#endif
  own->passes = (unsigned)png_set_interlace_handling(own->png);
  png_read_update_info(own->png, own->info);
}

/* The fault of the call that failed. */
static int failed(image_png *own) {
  if (own->error)
    return own->error;
  if (own->fault.is_memory)
    return bf_no_memory(own->diagnostic);
  return bf_fail_file(own->diagnostic, BF_BAD_INPUT, own->source->name, "PNG, before byte %llu: %s",
                      (unsigned long long)bf_image_source_offset(own->source), own->fault.message);
}

static int read_header(image_png *own, bf_image_format *format) {
  if (setjmp(png_jmpbuf(own->png)))
    return failed(own);
  png_set_read_fn(own->png, own, on_read);
  png_set_user_limits(own->png, BF_IMAGE_MOST_PIXELS, BF_IMAGE_MOST_PIXELS);
  ignore_chunks(own->png);
  png_read_info(own->png, own->info);
  if ((uint64_t)png_get_image_width(own->png, own->info) * MOST_PIXEL_BYTES >
      BF_IMAGE_MOST_ROW_BYTES)
    png_error(own->png, "the rows are too long");
  ask_for_samples(own);
  format->width = png_get_image_width(own->png, own->info);
  format->height = png_get_image_height(own->png, own->info);
  format->channels = png_get_channels(own->png, own->info);
  format->sample_bytes = png_get_bit_depth(own->png, own->info) / 8u;
  format->most = format->sample_bytes == 2 ? 65535 : 255;
  return BF_OK;
}

int bf_image_open_png(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  image_png *own = calloc(1, sizeof *own);
  reader->png = own;
  if (own) {
    own->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &own->fault, bf_image_png_error,
                                        bf_image_png_warning, &own->fault, bf_image_png_malloc,
                                        bf_image_png_free);
    own->info = own->png ? png_create_info_struct(own->png) : NULL;
  }
  if (!own || !own->info)
    return bf_no_memory(diagnostic);
  own->source = &reader->source;
  own->diagnostic = diagnostic;
  BF_TRY(read_header(own, &reader->format));
  return bf_image_check_format(reader, diagnostic);
}

void bf_image_free_png(bf_image_reader *reader) {
  image_png *own = reader->png;
  if (!own)
    return;
  png_destroy_read_struct(&own->png, &own->info, NULL);
  free(own->whole);
  free(own);
}

/* ---- Rows ---- */

/* Reads rows that follow each other in the file; is_last: the end of the file is checked too. */
static int read_rows(image_png *own, uint32_t rows, uint64_t row_bytes, uint8_t *pixels,
                     bool is_last) {
  if (setjmp(png_jmpbuf(own->png)))
    return failed(own);
  for (uint32_t row = 0; row < rows; row++)
    png_read_row(own->png, pixels + row * row_bytes, NULL);
  if (is_last)
    png_read_end(own->png, NULL);
  return BF_OK;
}

/* The whole picture, pass by pass. */
static int read_interlaced(bf_image_reader *reader, bf_diagnostic *diagnostic) {
  image_png *own = reader->png;
  const bf_image_format *format = &reader->format;
  const uint64_t bytes = bf_image_bytes(format);
  if (bytes > BF_IMAGE_MOST_WHOLE_BYTES)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, reader->source.name,
                        "the image has %llu bytes; interlaced ones may have %llu",
                        (unsigned long long)bytes, (unsigned long long)BF_IMAGE_MOST_WHOLE_BYTES);
  own->whole = calloc((size_t)bytes, 1);
  if (!own->whole)
    return bf_no_memory(diagnostic);
  for (unsigned pass = 0; pass < own->passes; pass++)
    BF_TRY(read_rows(own, format->height, bf_image_row_bytes(format), own->whole,
                     pass + 1 == own->passes));
  return BF_OK;
}

int bf_image_read_png(bf_image_reader *reader, uint32_t rows, uint8_t *pixels,
                      bf_diagnostic *diagnostic) {
  image_png *own = reader->png;
  const uint64_t row_bytes = bf_image_row_bytes(&reader->format);
  own->diagnostic = diagnostic;
  if (own->passes == 1)
    return read_rows(own, rows, row_bytes, pixels,
                     reader->next_row + rows == reader->format.height);
  if (!own->whole)
    BF_TRY(read_interlaced(reader, diagnostic));
  memcpy(pixels, own->whole + reader->next_row * row_bytes, (size_t)(rows * row_bytes));
  return BF_OK;
}
