/* Room vote when allocations fail, one after the other: either the answer is right all the same, or
 * there is none, memory is said to be exhausted and the result is as before. */
#include "../failing_memory.h"
#include "vote/vote.h"

#include <string.h>

enum { WIDTH = 700, HEIGHT = 500 };
static uint16_t picture[HEIGHT][WIDTH];
/* So large that bytes overflow 16-bit counters where there is no memory for counters of pairs. */
enum { BYTES_HEIGHT = 1500 };
static uint8_t bytes[BYTES_HEIGHT][WIDTH];
static float weights[HEIGHT][WIDTH];

/* 1 done without a failed allocation, 0 one failed, -1 wrong. */
static int judge(int error, bool right, bool untouched) {
  bool reached = left < 0;
  left = -1;
  if (error == BF_OK)
    return !right ? -1 : reached ? 0 : 1;
  return error == BF_NO_MEMORY && reached && untouched ? 0 : -1;
}

/* Counts of bytes or of words. */
static int count_pixels(const void *input) {
  bool words = input == picture;
  bf_pixels image = {.data = input,
                     .type = words ? BF_PIXEL_U16 : BF_PIXEL_U8,
                     .width = WIDTH,
                     .height = words ? HEIGHT : BYTES_HEIGHT};
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = 1000, .high = 3000, .threads = 1};
  uint64_t counts[1000] = {5}, total = 0;
  int error = bf_histogram_u64(&image, &options, counts, NULL);
  for (unsigned i = 0; i < 1000; i++)
    total += counts[i];
  return judge(error, total == image.width * image.height, total == 5);
}

static int sum_pixels(const void *input) {
  static const double edges[] = {0, 10, 20, 3000};
  bf_pixels image = {.data = input, .type = BF_PIXEL_F32, .width = WIDTH, .height = HEIGHT};
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = 3, .edges = edges, .weights = weights, .threads = 1};
  double sums[3] = {7, 0, 0};
  int error = bf_histogram_f64(&image, &options, sums, NULL);
  double total = sums[0] + sums[1] + sums[2];
  return judge(error, total == WIDTH * HEIGHT, total == 7);
}

static int find_lines(const void *input) {
  bf_pixels image = {.data = input, .type = BF_PIXEL_U16, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {
      .struct_bytes = sizeof options, .form = BF_HOUGH_CARTESIAN, .theta_step = 0.1, .threads = 1};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks, .max_lines = 3};
  bf_hough_result result;
  int error = bf_hough_lines(&image, 0, &options, &peaks, &result, NULL);
  int answer = judge(error, result.lines.count == 3, !result.edges && !result.lines.peak);
  bf_hough_result_clear(&result);
  return answer;
}

/* Pairs that seldom come again, then pairs that often do; every eighth byte is the same. */
static void draw_bytes(void) {
  uint32_t random = 1;
  for (unsigned i = 0; i < BYTES_HEIGHT * WIDTH; i++) {
    random = random * 1664525 + 1013904223;
    unsigned value = i < BYTES_HEIGHT * WIDTH / 2 ? random >> 24 : random >> 31;
    ((uint8_t *)bytes)[i] = (uint8_t)(i % 8 == 0 ? 100 : value);
  }
}

int main(void) {
  for (unsigned y = 0; y < HEIGHT; y++)
    for (unsigned x = 0; x < WIDTH; x++) {
      picture[y][x] = (uint16_t)((x * 7 + y * y) % 2000 + (x > y ? 900 : 0));
      weights[y][x] = 1;
    }
  draw_bytes();
  bool good = all_fail_well("histogram of words", count_pixels, picture);
  good = all_fail_well("histogram of bytes", count_pixels, bytes) && good;
  good = all_fail_well("sums", sum_pixels, weights) && good;
  good = all_fail_well("lines", find_lines, picture) && good;
  return good ? 0 : 1;
}
