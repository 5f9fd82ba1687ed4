/* Makes the images in examples/images: images FOLDER writes them, images --check FOLDER reads them
 * back and compares every pixel. */
#include "image/image.h"
#include "kernels/histogram/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct example {
  const char *name;
  bf_image_format format;
  void (*fill)(const bf_image_format *format, void *pixels);
} example;

/* Grey levels as a camera sees them. */
static void fill_natural(const bf_image_format *format, void *pixels) {
  bf_image_make(1, format->width, format->height, pixels);
}

/* 16 bits, darker to brighter from left to right. */
static void fill_gradient(const bf_image_format *format, void *pixels) {
  uint16_t *at = pixels;
  for (uint32_t y = 0; y < format->height; y++)
    for (uint32_t x = 0; x < format->width; x++)
      *at++ = (uint16_t)((uint64_t)x * 65535 / (format->width - 1));
}

static void fill_constant(const bf_image_format *format, void *pixels) {
  memset(pixels, 77, (size_t)bf_image_bytes(format));
}

enum { COLOUR_WIDTH = 96, COLOUR_HEIGHT = 64 };

/* A natural picture in each channel, the first made brighter and the last darker. */
static void fill_colour(const bf_image_format *format, void *pixels) {
  static const int shift[] = {40, 0, -40};
  uint8_t plane[COLOUR_WIDTH * COLOUR_HEIGHT], *at = pixels;
  for (unsigned c = 0; c < 3; c++) {
    bf_image_make(3 + c, format->width, format->height, plane);
    for (size_t i = 0; i < sizeof plane; i++)
      at[3 * i + c] = (uint8_t)(plane[i] + shift[c]);
  }
}

/* White inside an ellipse, black outside. */
static void fill_mask(const bf_image_format *format, void *pixels) {
  uint8_t *at = pixels;
  const int64_t w = format->width, h = format->height;
  for (int64_t y = 0; y < h; y++)
    for (int64_t x = 0; x < w; x++) {
      const int64_t dx = (2 * x + 1 - w) * h, dy = (2 * y + 1 - h) * w;
      *at++ = 4 * (dx * dx + dy * dy) < 2 * w * w * h * h ? 255 : 0;
    }
}

/* A line x cos(theta) + y sin(theta) = rho, in degrees and pixels, with its grey level. */
typedef struct example_line {
  double theta_degrees, rho;
  int grey;
} example_line;

static const example_line lines[] = {
    {20, 90, 235}, {20, 150, 228}, {65, 120, 240}, {90, 40, 232}, {90, 150, 225}, {135, -60, 238},
};

/* Six bright lines, two pixels wide, over a darkened picture. */
static void fill_lines(const bf_image_format *format, void *pixels) {
  const double degree = acos(-1) / 180;
  uint8_t *at = pixels;
  bf_image_make(2, format->width, format->height, pixels);
  for (uint32_t y = 0; y < format->height; y++)
    for (uint32_t x = 0; x < format->width; x++, at++) {
      int grey = *at / 2;
      for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const double theta = lines[i].theta_degrees * degree;
        if (fabs(x * cos(theta) + y * sin(theta) - lines[i].rho) < 1)
          grey = lines[i].grey;
      }
      *at = (uint8_t)grey;
    }
}

static const example examples[] = {
    {"natural.png", {256, 192, 1, 1, 255}, fill_natural},
    {"gradient.png", {256, 64, 1, 2, 65535}, fill_gradient},
    {"constant.pgm", {64, 48, 1, 1, 255}, fill_constant},
    {"colour.ppm", {COLOUR_WIDTH, COLOUR_HEIGHT, 3, 1, 255}, fill_colour},
    {"mask.png", {256, 192, 1, 1, 255}, fill_mask},
    {"lines.png", {256, 192, 1, 1, 255}, fill_lines},
};

/* Whether the file at path holds these pixels. */
static int compare(const char *path, const bf_image_format *format, const void *pixels,
                   bf_diagnostic *diagnostic) {
  bf_image_format own;
  void *read;
  BF_TRY(bf_image_load(path, &own, &read, diagnostic));
  const bool same = memcmp(&own, format, sizeof own) == 0 &&
                    memcmp(read, pixels, (size_t)bf_image_bytes(format)) == 0;
  free(read);
  return same ? BF_OK : bf_fail_file(diagnostic, BF_BAD_INPUT, path, "other pixels are expected");
}

/* Writes or checks one image. */
static int make(const example *one, const char *folder, bool is_check, bf_diagnostic *diagnostic) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, one->name);
  void *pixels = malloc((size_t)bf_image_bytes(&one->format));
  if (!pixels)
    return bf_no_memory(diagnostic);
  one->fill(&one->format, pixels);
  int error = is_check ? compare(path, &one->format, pixels, diagnostic)
                       : bf_image_write(path, &one->format, pixels, diagnostic);
  free(pixels);
  return error;
}

int main(int count, char **arguments) {
  const bool is_check = count == 3 && strcmp(arguments[1], "--check") == 0;
  if (count != 2 && !is_check) {
    fputs("usage: images [--check] FOLDER\n", stderr);
    return 2;
  }
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    bf_diagnostic diagnostic;
    if (make(&examples[i], arguments[count - 1], is_check, &diagnostic) != BF_OK) {
      fprintf(stderr, "%s: %s\n", diagnostic.file, diagnostic.message);
      return 1;
    }
  }
  return 0;
}
