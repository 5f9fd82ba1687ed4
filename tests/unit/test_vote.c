/* Histograms and Hough transforms on small images whose answers are known by hand, and everything
 * that must be refused. Fast versions are compared with their references in check_vote.c. */
#include "vote/vote.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A call that must fail has failed as expected, with this message. */
static void expect_error(int error, int expected, const bf_diagnostic *diagnostic,
                         const char *message) {
  assert_int_equal(error, expected);
  assert_string_equal(diagnostic->message, message);
}

/* ---- Histograms ---- */

static void even_bins_are_half_open(void **state) {
  (void)state;
  const uint8_t data[] = {9, 10, 14, 15, 19, 20, 24, 25, 255};
  bf_pixels image = {.data = data, .width = 9, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 3, .low = 10, .high = 25};
  uint32_t counts[3] = {7, 7, 7};
  assert_int_equal(bf_histogram_u32(&image, &options, counts, NULL), BF_OK);
  assert_int_equal(counts[0], 2);
  assert_int_equal(counts[1], 2);
  assert_int_equal(counts[2], 2);
  options.accumulate = true;
  assert_int_equal(bf_histogram_u32(&image, &options, counts, NULL), BF_OK);
  assert_int_equal(counts[2], 4);
}

/* 1 / 49 is not a double: multiplying by it would put 49 into bin 0. */
static void whole_numbers_fall_exactly(void **state) {
  (void)state;
  bf_bins bins = {.count = 10, .low = 0, .high = 490};
  for (unsigned value = 0; value < 490; value++)
    assert_int_equal(bf_bins_find(&bins, value), value / 49);
  assert_int_equal(bf_bins_find(&bins, 490), 10);
}

static void floats_drop_nan_and_infinity(void **state) {
  (void)state;
  const float data[] = {NAN, -INFINITY, INFINITY, -0.0f, 0.25f, 0.999999f, 1.0f, -1e-30f};
  bf_pixels image = {.data = data, .type = BF_PIXEL_F32, .width = 8, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 4};
  uint64_t counts[4];
  assert_int_equal(bf_histogram_u64(&image, &options, counts, NULL), BF_OK);
  const uint64_t expected[] = {1, 1, 0, 1};
  assert_memory_equal(counts, expected, sizeof expected);
}

static void edges_make_uneven_bins(void **state) {
  (void)state;
  const uint16_t data[] = {0, 1, 9, 10, 999, 1000, 65535};
  const double edges[] = {1, 10, 1000, INFINITY};
  bf_pixels image = {.data = data, .type = BF_PIXEL_U16, .width = 7, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 3, .edges = edges};
  uint64_t counts[3];
  assert_int_equal(bf_histogram_u64(&image, &options, counts, NULL), BF_OK);
  const uint64_t expected[] = {2, 2, 2};
  assert_memory_equal(counts, expected, sizeof expected);
}

static void channels_mask_and_part(void **state) {
  (void)state;
  uint8_t data[4][16], mask[4][4] = {{1, 1, 1, 1}, {1, 0, 255, 1}, {1, 1, 1, 0}, {1, 1, 1, 1}};
  for (unsigned y = 0; y < 4; y++)
    for (unsigned i = 0; i < 16; i++)
      data[y][i] = (uint8_t)(16 * y + i);
  bf_pixels image = {.data = data, .channels = 3, .width = 4, .height = 4, .stride_bytes = 16};
  bf_pixels part;
  image.mask = mask[0];
  assert_int_equal(bf_pixels_crop(&image, 1, 1, 3, 2, &part, NULL), BF_OK);
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256, .channel = 2};
  uint32_t counts[256];
  assert_int_equal(bf_histogram_u32(&part, &options, counts, NULL), BF_OK);
  const unsigned voted[] = {16 + 8, 16 + 11, 32 + 5, 32 + 8};
  uint32_t sum = 0;
  for (unsigned i = 0; i < 256; i++)
    sum += counts[i];
  assert_int_equal(sum, 4);
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(counts[voted[i]], 1);
}

static void weights_are_summed_in_double(void **state) {
  (void)state;
  const uint8_t data[] = {0, 0, 0, 1};
  const double weights[] = {1e15, 0.25, 0.5, -3};
  const float singles[] = {1.5f, 2, 4, 8};
  bf_pixels image = {.data = data, .width = 2, .height = 2};
  bf_histogram_options options = {.struct_bytes = sizeof options,
                                  .bins = 256,
                                  .weights = weights,
                                  .weight_type = BF_WEIGHT_F64};
  double sums[256];
  assert_int_equal(bf_histogram_f64(&image, &options, sums, NULL), BF_OK);
  assert_true(sums[0] == 1e15 + 0.75 && sums[1] == -3);
  options.weights = singles;
  options.weight_type = BF_WEIGHT_F32;
  options.accumulate = true;
  assert_int_equal(bf_histogram_f64(&image, &options, sums, NULL), BF_OK);
  assert_true(sums[0] == 1e15 + 8.25 && sums[1] == 5);
  options.weights = NULL;
  options.accumulate = false;
  assert_int_equal(bf_histogram_f64(&image, &options, sums, NULL), BF_OK);
  assert_true(sums[0] == 3 && sums[1] == 1);
}

/* 2^32 - 2 votes counted before: two more fit only into 64 bits. */
static void overflow_is_refused(void **state) {
  (void)state;
  const uint8_t data[] = {3, 3, 5};
  bf_pixels image = {.data = data, .width = 3, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256, .accumulate = true};
  uint32_t counts[256] = {[3] = UINT32_MAX - 1, [5] = 1};
  uint64_t wide[256] = {[3] = UINT32_MAX - 1, [5] = UINT64_MAX};
  bf_diagnostic diagnostic;
  expect_error(bf_histogram_u32(&image, &options, counts, &diagnostic), BF_UNSUPPORTED, &diagnostic,
               "bin 3 has more votes than 32 bits can count; use bf_histogram_u64");
  assert_int_equal(counts[3], UINT32_MAX - 1);
  assert_int_equal(counts[5], 1);
  expect_error(bf_histogram_u64(&image, &options, wide, &diagnostic), BF_UNSUPPORTED, &diagnostic,
               "bin 5 has more votes than 64 bits can count");
  wide[5] = 0;
  assert_int_equal(bf_histogram_u64(&image, &options, wide, NULL), BF_OK);
  assert_true(wide[3] == UINT64_C(4294967296));
}

static void empty_images_have_empty_histograms(void **state) {
  (void)state;
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 2};
  for (size_t width = 0; width < 2; width++) {
    uint32_t counts[2] = {1, 1};
    bf_pixels image = {.width = width, .height = 1 - width};
    assert_int_equal(bf_histogram_u32(&image, &options, counts, NULL), BF_OK);
    assert_int_equal(counts[0] + counts[1], 0);
  }
}

/* What a histogram of a good image is refused for. */
static void bad_histograms_are_refused(void **state) {
  (void)state;
  const uint8_t data[4] = {0};
  const double repeated[] = {1, 2, 2}, unknown[] = {1, NAN, 2};
  const struct {
    bf_pixels image;
    bf_histogram_options options;
    const char *message;
  } rows[] = {
      {{.width = 2, .height = 2}, {.bins = 2}, "no pixels where 2 x 2 should be"},
      {{.data = data, .type = 7, .width = 2, .height = 2}, {.bins = 2}, "pixels of unknown type 7"},
      {{.data = data, .channels = 5, .width = 2, .height = 2},
       {.bins = 2},
       "5 channels: 1 to 4 are possible"},
      {{.data = data, .width = 2, .height = 2, .stride_bytes = 1},
       {.bins = 2},
       "pixels: a stride of 1 bytes for rows of 2"},
      {{.data = data, .width = SIZE_MAX, .height = 2},
       {.bins = 2},
       "18446744073709551615 pixels in a row exceed the address space"},
      {{.data = data, .width = 2, .height = SIZE_MAX / 2},
       {.bins = 2},
       "pixels: 9223372036854775807 rows of 2 bytes exceed the address space"},
      {{.data = data, .width = 2, .height = 2, .mask = data, .mask_stride_bytes = 1},
       {.bins = 2},
       "mask: a stride of 1 bytes for rows of 2"},
      {{.data = data, .width = 2, .height = 2}, {.bins = 0}, "0 bins: 1 to 65536 are possible"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 65537},
       "65537 bins: 1 to 65536 are possible"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .low = 3, .high = 3},
       "no values from 3 to below 3"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .low = NAN, .high = 3},
       "no values from nan to below 3"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .low = 0, .high = INFINITY},
       "range 0 to inf: even bins need ends within 1e300"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .edges = repeated},
       "edges must increase: edge 2 is 2 after 2"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .edges = unknown},
       "edge 1 is not a number"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .channel = 1},
       "channel 1: the image has channels 0 to 0"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .weights = data, .weights_stride_bytes = 7},
       "weights: a stride of 7 bytes for rows of 8"},
      {{.data = data, .width = 2, .height = 2},
       {.bins = 2, .weights = data, .weight_type = 5},
       "weights of unknown type 5"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_diagnostic diagnostic;
    double sums[2] = {3, 4};
    bf_histogram_options options = rows[i].options;
    options.struct_bytes = sizeof options;
    expect_error(bf_histogram_f64(&rows[i].image, &options, sums, &diagnostic), BF_BAD_INPUT,
                 &diagnostic, rows[i].message);
    assert_true(sums[0] == 3 && sums[1] == 4);
  }
}

static void counts_take_no_weights(void **state) {
  (void)state;
  const uint8_t data[4] = {0};
  const float weights[4] = {0};
  bf_pixels image = {.data = data, .width = 2, .height = 2};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 2, .weights = weights};
  uint32_t counts[2];
  bf_diagnostic diagnostic;
  expect_error(bf_histogram_u32(&image, &options, counts, &diagnostic), BF_BAD_INPUT, &diagnostic,
               "weights are summed by bf_histogram_f64 only");
  bf_pixels part;
  expect_error(bf_pixels_crop(&image, 1, 0, 2, 1, &part, &diagnostic), BF_BAD_INPUT, &diagnostic,
               "2 x 1 pixels from column 1, row 0 are not inside 2 x 2");
}

/* ---- Hough ---- */

enum { WIDTH = 40, HEIGHT = 30 };

/* An edge image with the row y = 12 and the column x = 7. */
static void draw_cross(uint8_t edges[HEIGHT][WIDTH]) {
  memset(edges, 0, HEIGHT * WIDTH);
  for (unsigned x = 0; x < WIDTH; x++)
    edges[12][x] = 200;
  for (unsigned y = 0; y < HEIGHT; y++)
    edges[y][7] = 100;
}

static void polar_finds_row_and_column(void **state) {
  (void)state;
  uint8_t edges[HEIGHT][WIDTH];
  draw_cross(edges);
  bf_pixels image = {.data = edges, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {.struct_bytes = sizeof options, .threads = 1};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks, .max_lines = 2};
  bf_hough_space space;
  bf_peaks lines;
  assert_int_equal(bf_hough_vote(&image, &options, &space, NULL), BF_OK);
  assert_int_equal(space.angles, 180);
  assert_int_equal(space.points, WIDTH + HEIGHT - 1);
  assert_int_equal(bf_hough_peaks(&space, &peaks, &lines, NULL), BF_OK);
  assert_int_equal(lines.count, 2);
  assert_int_equal(lines.peak[0].votes, WIDTH);
  assert_true(lines.peak[0].angle == 90 && lines.peak[0].rho == 12);
  assert_int_equal(lines.peak[1].votes, HEIGHT);
  assert_true(lines.peak[1].angle == 0 && lines.peak[1].rho == 7);
  double end[4];
  assert_true(bf_peak_clip(&lines.peak[1], WIDTH, HEIGHT, end));
  assert_true(end[0] == 7 && end[2] == 7 && fabs(end[1] - end[3]) == HEIGHT - 1);
  bf_peaks_clear(&lines);
  bf_hough_space_clear(&space);
}

static void cartesian_finds_both_halves(void **state) {
  (void)state;
  uint8_t edges[HEIGHT][WIDTH];
  draw_cross(edges);
  bf_pixels image = {.data = edges, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {
      .struct_bytes = sizeof options, .form = BF_HOUGH_CARTESIAN, .weighted = true};
  bf_peak_options peaks = {
      .struct_bytes = sizeof peaks, .max_lines = 2, .theta_radius = 3, .rho_radius = 3};
  bf_hough_space space;
  bf_peaks lines;
  assert_int_equal(bf_hough_vote(&image, &options, &space, NULL), BF_OK);
  assert_int_equal(bf_hough_peaks(&space, &peaks, &lines, NULL), BF_OK);
  assert_int_equal(lines.count, 2);
  assert_int_equal(lines.peak[0].votes, 200 * (WIDTH - 1) + 100);
  assert_int_equal(lines.peak[0].angle, 45);
  assert_true(lines.peak[0].rho == 12 && lines.peak[0].y_factor == 1);
  assert_int_equal(lines.peak[1].votes, 100 * HEIGHT);
  assert_int_equal(lines.peak[1].angle, 135);
  assert_true(lines.peak[1].rho == 7 && lines.peak[1].x_factor == 1);
  bf_peaks_clear(&lines);
  bf_hough_space_clear(&space);
}

/* theta near pi with rho = -7 is almost the line theta = 0 with rho = 7: one peak, not two. */
static void peaks_wrap_around_pi(void **state) {
  (void)state;
  uint8_t edges[HEIGHT][WIDTH] = {{0}};
  for (unsigned y = 0; y < HEIGHT; y++)
    edges[y][7] = 1;
  bf_pixels image = {.data = edges, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {.struct_bytes = sizeof options, .threads = 1};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks,
                           .min_votes = HEIGHT * 2 / 3,
                           .theta_radius = 4,
                           .rho_radius = 4};
  bf_hough_space space;
  bf_peaks lines;
  assert_int_equal(bf_hough_vote(&image, &options, &space, NULL), BF_OK);
  assert_int_equal(bf_hough_peaks(&space, &peaks, &lines, NULL), BF_OK);
  assert_int_equal(lines.count, 1);
  assert_int_equal(lines.peak[0].angle, 0);
  bf_peaks_clear(&lines);
  bf_hough_space_clear(&space);
}

static void bad_hough_is_refused(void **state) {
  (void)state;
  const uint8_t data[4] = {1, 1, 1, 1};
  const struct {
    bf_pixels image;
    bf_hough_options options;
    int error;
    const char *message;
  } rows[] = {
      {{.data = data, .type = BF_PIXEL_U16, .width = 1, .height = 2},
       {.threads = 1},
       BF_BAD_INPUT,
       "edges must be an 8-bit image of one channel"},
      {{.data = data, .width = 65537, .height = 1},
       {.threads = 1},
       BF_UNSUPPORTED,
       "65537 x 1 pixels: at most 65536 on a side"},
      {{.data = data, .width = 2, .height = 2},
       {.theta_low = 1, .theta_high = 1},
       BF_BAD_INPUT,
       "no angles from 1 to below 1"},
      {{.data = data, .width = 2, .height = 2},
       {.theta_step = -1},
       BF_BAD_INPUT,
       "angles cannot be -1 apart"},
      {{.data = data, .width = 2, .height = 2},
       {.theta_step = 1e-9},
       BF_UNSUPPORTED,
       "3.14159e+09 angles: at most 1048576 are possible"},
      {{.data = data, .width = 2, .height = 2},
       {.rho_step = NAN},
       BF_BAD_INPUT,
       "bins of rho cannot be nan apart"},
      {{.data = data, .width = 2, .height = 2},
       {.rho_step = 1e-9},
       BF_UNSUPPORTED,
       "2.82843e+09 bins of rho: at most 2097153 are possible"},
      {{.data = data, .width = 2, .height = 2},
       {.form = 3},
       BF_BAD_INPUT,
       "unknown form 3 of lines"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_diagnostic diagnostic;
    bf_hough_space space;
    bf_hough_options options = rows[i].options;
    options.struct_bytes = sizeof options;
    expect_error(bf_hough_vote(&rows[i].image, &options, &space, &diagnostic), rows[i].error,
                 &diagnostic, rows[i].message);
    assert_null(space.votes);
  }
}

static void empty_and_single_pixels_vote(void **state) {
  (void)state;
  const uint8_t one = 255;
  bf_hough_options options = {.struct_bytes = sizeof options, .theta_step = M_PI / 4};
  bf_hough_space space;
  bf_pixels image = {.data = &one, .width = 1, .height = 1};
  assert_int_equal(bf_hough_vote(&image, &options, &space, NULL), BF_OK);
  assert_true(space.angles == 4 && space.rhos == 1 && space.votes[3] == 1);
  bf_hough_space_clear(&space);
  image = (bf_pixels){0};
  assert_int_equal(bf_hough_vote(&image, &options, &space, NULL), BF_OK);
  assert_true(space.rhos == 1 && space.points == 0 && space.votes[0] == 0);
  bf_hough_space_clear(&space);
}

/* ---- The whole way ---- */

static void otsu_splits_two_heaps(void **state) {
  (void)state;
  const uint64_t heaps[10] = {0, 4, 9, 4, 0, 0, 0, 3, 7, 3}, one[4] = {0, 5, 0, 0};
  assert_int_equal(bf_otsu(heaps, 10), 3);
  assert_int_equal(bf_otsu(one, 4), 0);
  assert_int_equal(bf_otsu(NULL, 0), 0);
}

/* A step from 10 to 60 between columns 3 and 4: both columns have the largest gradient. */
static void sobel_is_scaled_to_255(void **state) {
  (void)state;
  uint16_t data[5][8];
  uint8_t edges[5][10];
  memset(edges, 77, sizeof edges);
  for (unsigned i = 0; i < 40; i++)
    data[i / 8][i % 8] = i % 8 < 4 ? 10 : 60;
  bf_pixels image = {.data = data, .type = BF_PIXEL_U16, .width = 8, .height = 5};
  assert_int_equal(bf_sobel(&image, 0, 1, edges[0], 10, NULL), BF_OK);
  for (unsigned y = 0; y < 5; y++)
    for (unsigned x = 0; x < 10; x++)
      assert_int_equal(edges[y][x], x >= 8 ? 77 : x == 3 || x == 4 ? 255 : 0);
  const float infinite[] = {0, INFINITY};
  image = (bf_pixels){.data = infinite, .type = BF_PIXEL_F32, .width = 2, .height = 1};
  bf_diagnostic diagnostic;
  expect_error(bf_sobel(&image, 0, 1, edges[0], 0, &diagnostic), BF_BAD_INPUT, &diagnostic,
               "infinite pixels have no gradient");
}

static void lines_come_from_a_picture(void **state) {
  (void)state;
  static float picture[60][80];
  for (unsigned y = 0; y < 60; y++)
    for (unsigned x = 0; x < 80; x++)
      picture[y][x] = x + y < 70 ? 0.25f : 0.5f;
  bf_pixels image = {.data = picture, .type = BF_PIXEL_F32, .width = 80, .height = 60};
  bf_hough_options options = {.struct_bytes = sizeof options, .theta_step = M_PI / 120};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks, .max_lines = 1};
  bf_hough_result result;
  assert_int_equal(bf_hough_lines(&image, 0, &options, &peaks, &result, NULL), BF_OK);
  assert_int_equal(result.lines.count, 1);
  assert_int_equal(result.lines.peak[0].angle, 30);
  assert_true(fabs(result.lines.peak[0].rho - 69.5 * sqrt(0.5)) <= 1);
  assert_int_equal(result.edges[10 * 80 + 59], 255);
  assert_int_equal(result.edges[10 * 80 + 20], 0);
  bf_hough_result_clear(&result);
  image.width = 0;
  assert_int_equal(bf_hough_lines(&image, 0, &options, &peaks, &result, NULL), BF_OK);
  assert_int_equal(result.lines.count, 0);
  bf_hough_result_clear(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(even_bins_are_half_open),
      cmocka_unit_test(whole_numbers_fall_exactly),
      cmocka_unit_test(floats_drop_nan_and_infinity),
      cmocka_unit_test(edges_make_uneven_bins),
      cmocka_unit_test(channels_mask_and_part),
      cmocka_unit_test(weights_are_summed_in_double),
      cmocka_unit_test(overflow_is_refused),
      cmocka_unit_test(empty_images_have_empty_histograms),
      cmocka_unit_test(bad_histograms_are_refused),
      cmocka_unit_test(counts_take_no_weights),
      cmocka_unit_test(polar_finds_row_and_column),
      cmocka_unit_test(cartesian_finds_both_halves),
      cmocka_unit_test(peaks_wrap_around_pi),
      cmocka_unit_test(bad_hough_is_refused),
      cmocka_unit_test(empty_and_single_pixels_vote),
      cmocka_unit_test(otsu_splits_two_heaps),
      cmocka_unit_test(sobel_is_scaled_to_255),
      cmocka_unit_test(lines_come_from_a_picture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
