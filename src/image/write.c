/* Writing images: PNG through libpng, PGM and PPM by hand. */
#include "image/image.h"
#include "image/png_calls.h"

#include <string.h>

/* ---- PNG ---- */

static void on_write(png_structp png, png_bytep bytes, size_t size) {
  bf_text_add(png_get_io_ptr(png), (const char *)bytes, size);
}

static void on_flush(png_structp png) { (void)png; }

/* Hands the picture to libpng, which leaves by longjmp when something is wrong. */
static bool encode(png_structp png, png_infop info, const bf_image_format *format,
                   const uint8_t *pixels, bf_text *out) {
  static const int colour_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                     PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_set_write_fn(png, out, on_write, on_flush);
  png_set_user_limits(png, BF_IMAGE_MOST_PIXELS, BF_IMAGE_MOST_PIXELS);
  png_set_IHDR(png, info, format->width, format->height, (int)format->sample_bytes * 8,
               colour_types[format->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  png_set_swap(png);
#endif
  for (uint32_t row = 0; row < format->height; row++)
    png_write_row(png, pixels + row * bf_image_row_bytes(format));
  png_write_end(png, info);
  return true;
}

int bf_image_encode_png(const bf_image_format *format, const void *pixels, bf_text *out,
                        bf_diagnostic *diagnostic) {
  png_fault fault = {0};
  png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &fault, bf_image_png_error,
                                              bf_image_png_warning, &fault, bf_image_png_malloc,
                                              bf_image_png_free);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  const bool is_encoded = info && encode(png, info, format, pixels, out);
  png_destroy_write_struct(&png, &info);
  if (fault.is_memory || out->failed)
    return bf_no_memory(diagnostic);
  return is_encoded
             ? BF_OK
             : bf_fail(diagnostic, BF_UNSUPPORTED, "cannot make a PNG image: %s", fault.message);
}

/* ---- PGM and PPM ---- */

/* Adds samples of two bytes, the high byte first. */
static void add_words(const uint16_t *samples, uint64_t count, bf_text *out) {
  char bytes[1024];
  for (uint64_t done = 0; done < count;) {
    size_t size = 0;
    for (; size < sizeof bytes && done < count; done++) {
      bytes[size++] = (char)(samples[done] >> 8);
      bytes[size++] = (char)(samples[done] & 0xff);
    }
    bf_text_add(out, bytes, size);
  }
}

int bf_image_encode_pnm(const bf_image_format *format, const void *pixels, bf_text *out,
                        bf_diagnostic *diagnostic) {
  if (format->channels != 1 && format->channels != 3)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "PGM and PPM have one or three channels, and the image has %u",
                   format->channels);
  bf_text_addf(out, "P%c\n%u %u\n%u\n", format->channels == 1 ? '5' : '6', format->width,
               format->height, format->most);
  const uint64_t bytes = bf_image_bytes(format);
  if (format->sample_bytes == 1)
    bf_text_add(out, pixels, (size_t)bytes);
  else
    add_words(pixels, bytes / 2, out);
  return out->failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- Files ---- */

static bool is_pnm_path(const char *path) {
  const char *end = strrchr(path, '.');
  return end && (strcmp(end, ".pgm") == 0 || strcmp(end, ".ppm") == 0 || strcmp(end, ".pnm") == 0);
}

int bf_image_write(const char *path, const bf_image_format *format, const void *pixels,
                   bf_diagnostic *diagnostic) {
  bf_text file = {0};
  int error = is_pnm_path(path) ? bf_image_encode_pnm(format, pixels, &file, diagnostic)
                                : bf_image_encode_png(format, pixels, &file, diagnostic);
  if (!error)
    error = bf_write_file(path, file.data, file.size, diagnostic);
  bf_text_free(&file);
  return error;
}
