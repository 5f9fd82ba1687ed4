/* Several threads give what one gives. Run with the thread sanitizer. */
#include "vote/vote.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1024, HEIGHT = 800 };
static uint8_t bytes[HEIGHT][WIDTH];
static float floats[HEIGHT][WIDTH];

static bool same_counts(const void *data, bf_pixel_type type, const bf_pixels *masked) {
  bf_pixels image = {.data = data, .type = type, .width = WIDTH, .height = HEIGHT};
  image.mask = masked ? masked->data : NULL;
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = type == BF_PIXEL_U8 ? 256 : 5000, .high = 256};
  static uint32_t one[5000], many[5000];
  options.threads = 1;
  int first = bf_histogram_u32(&image, &options, one, NULL);
  options.threads = 5;
  int second = bf_histogram_u32(&image, &options, many, NULL);
  return first == BF_OK && second == BF_OK && memcmp(one, many, sizeof one) == 0;
}

static bool same_sums(void) {
  bf_pixels image = {.data = bytes, .width = WIDTH, .height = HEIGHT};
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = 256, .weights = floats, .threads = 1};
  double one[256], many[256];
  int first = bf_histogram_f64(&image, &options, one, NULL);
  options.threads = 4;
  int second = bf_histogram_f64(&image, &options, many, NULL);
  return first == BF_OK && second == BF_OK && memcmp(one, many, sizeof one) == 0;
}

/* From picture to lines: gradient, histogram, vote. */
static bool same_lines(void) {
  bf_pixels image = {.data = bytes, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {.struct_bytes = sizeof options, .theta_step = 0.05};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks, .max_lines = 20};
  bf_hough_result result[2];
  for (unsigned i = 0; i < 2; i++) {
    options.threads = i ? 6 : 1;
    if (bf_hough_lines(&image, 0, &options, &peaks, &result[i], NULL) != BF_OK)
      return false;
  }
  size_t cells = result[0].space.angles * result[0].space.rhos;
  bool same = memcmp(result[0].edges, result[1].edges, WIDTH * HEIGHT) == 0 &&
              memcmp(result[0].space.votes, result[1].space.votes,
                     cells * sizeof *result[0].space.votes) == 0 &&
              result[0].lines.count == 20 && result[1].lines.count == 20;
  bf_hough_result_clear(&result[0]);
  bf_hough_result_clear(&result[1]);
  return same;
}

int main(void) {
  uint32_t state = 1;
  for (unsigned y = 0; y < HEIGHT; y++)
    for (unsigned x = 0; x < WIDTH; x++) {
      state = state * 1664525 + 1013904223;
      bytes[y][x] = (uint8_t)(y < HEIGHT / 2 ? (x + y) / 9 + (state >> 30) : state >> 24);
      floats[y][x] = (float)(state >> 16 & 255) + 0.25f;
    }
  bf_pixels mask = {.data = bytes};
  bool good = same_counts(bytes, BF_PIXEL_U8, NULL) && same_counts(bytes, BF_PIXEL_U8, &mask) &&
              same_counts(floats, BF_PIXEL_F32, NULL) && same_sums() && same_lines();
  if (!good)
    printf("several threads give something else than one\n");
  return good ? 0 : 1;
}
