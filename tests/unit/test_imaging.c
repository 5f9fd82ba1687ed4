/* Histograms and lines of image files, and the kernels that vote on them. */
#include "imaging/histogram.h"
#include "imaging/lines.h"
#include "kernels/vote.h"
#include "memory/memory.h"
#include "process/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 16 };

static char folder[PATH_MAX];

static int make_folder(void **state) {
  (void)state;
  return bf_process_make_folder(folder, NULL);
}

static int remove_folder(void **state) {
  (void)state;
  bf_process_remove_folder(folder);
  return 0;
}

/* Writes an image of 16 x 16 pixels of one channel; path gets its name. */
static void write_image(const char *name, const uint8_t pixels[SIDE * SIDE],
                        char path[2 * PATH_MAX]) {
  const bf_image_format format = {SIDE, SIDE, 1, 1, 255};
  snprintf(path, 2 * PATH_MAX, "%s/%s.pgm", folder, name);
  assert_int_equal(bf_image_write(path, &format, pixels, NULL), BF_OK);
}

/* Every value once; a mask of the left half; weights of 255, which count 1. */
static void test_count(void **state) {
  (void)state;
  uint8_t values[SIDE * SIDE], half[SIDE * SIDE], full[SIDE * SIDE];
  char image[2 * PATH_MAX], mask[2 * PATH_MAX], weights[2 * PATH_MAX];
  bf_imaging_histogram hist;
  for (unsigned i = 0; i < SIDE * SIDE; i++) {
    values[i] = (uint8_t)i;
    half[i] = i % SIDE < SIDE / 2;
    full[i] = 255;
  }
  write_image("values", values, image);
  write_image("half", half, mask);
  write_image("full", full, weights);
  bf_imaging_request request = {.image = image, .channel = "all", .threads = 1};
  assert_int_equal(bf_imaging_count(&request, &hist, NULL), BF_OK);
  assert_int_equal(hist.channels, 1);
  assert_true(hist.channel[0].total == 256 && hist.channel[0].mean == 127.5);
  assert_int_equal(hist.channel[0].most, 255);
  bf_imaging_histogram_free(&hist);

  request.mask = mask;
  request.has_region = true;
  request.region = (bf_imaging_region){4, 2, 8, 3}; /* of which 4 columns are under the mask */
  assert_int_equal(bf_imaging_count(&request, &hist, NULL), BF_OK);
  assert_true(hist.channel[0].total == 12);
  assert_int_equal(hist.channel[0].least, 2 * SIDE + 4);
  assert_int_equal(hist.channel[0].most, 4 * SIDE + 7);
  bf_imaging_histogram_free(&hist);

  request.weights = weights;
  assert_int_equal(bf_imaging_count(&request, &hist, NULL), BF_OK);
  assert_true(hist.is_weighted && hist.channel[0].total == 12 * 255.0);
  bf_imaging_histogram_free(&hist);
}

static bool stop(void *context, uint64_t done, uint64_t all) {
  *(uint64_t *)context = all;
  return done > 0;
}

/* What cannot be counted, and who stops it. */
static void test_refused(void **state) {
  (void)state;
  uint8_t black[SIDE * SIDE] = {0};
  char image[2 * PATH_MAX];
  uint64_t rows = 0;
  bf_imaging_histogram hist;
  bf_diagnostic diagnostic;
  write_image("black", black, image);
  bf_imaging_request request = {.image = image, .channel = "red"};
  assert_int_equal(bf_imaging_count(&request, &hist, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "the image has no channel 'red', only grey");
  bf_imaging_histogram_free(&hist);
  request = (bf_imaging_request){
      .image = image, .channel = "1", .has_region = true, .region = {8, 8, 9, 1}};
  assert_int_equal(bf_imaging_count(&request, &hist, &diagnostic), BF_BAD_INPUT);
  bf_imaging_histogram_free(&hist);
  request =
      (bf_imaging_request){.image = image, .channel = "1", .progress = stop, .context = &rows};
  assert_int_equal(bf_imaging_count(&request, &hist, &diagnostic), BF_UNSUPPORTED);
  assert_int_equal(rows, SIDE);
  bf_imaging_histogram_free(&hist);
}

/* Bins of 64 values each, and both pictures of them. */
static void test_bins(void **state) {
  (void)state;
  uint8_t values[SIDE * SIDE];
  char image[2 * PATH_MAX];
  bf_imaging_histogram hist;
  bf_imaging_bins bins = {.count = 4, .low = 0, .high = 256};
  const bf_imaging_style plain = {.columns = 40};
  bf_text text = {0};
  for (unsigned i = 0; i < SIDE * SIDE; i++)
    values[i] = (uint8_t)(i < 128 ? 10 : 200);
  write_image("two", values, image);
  bf_imaging_request request = {.image = image, .channel = "grey"};
  assert_int_equal(bf_imaging_count(&request, &hist, NULL), BF_OK);
  assert_int_equal(bf_imaging_bins_fill(&hist, &bins, NULL), BF_OK);
  assert_true(bins.of_channel[0][0] == 128 && bins.of_channel[0][1] == 0);
  assert_true(bins.of_channel[0][2] == 0 && bins.of_channel[0][3] == 128);
  bf_imaging_draw(&hist, &bins, &plain, &text);
  assert_non_null(strstr(text.data, "grey: 256 pixels, 10 to 200, mean 105.00"));
  assert_non_null(strstr(text.data, "|######            ######\n"));
  text.size = 0;
  assert_int_equal(bf_imaging_svg(&hist, &bins, "two values", &text, NULL), BF_OK);
  assert_non_null(strstr(text.data, "two values"));
  bf_text_free(&text);
  bf_imaging_bins_free(&bins);
  bf_imaging_histogram_free(&hist);
}

/* The points of a column are edges, in an image that holds edges, and are found as a line; so do
 * the kernels vote. */
static void test_lines(void **state) {
  (void)state;
  bf_imaging_lines lines = {.format = {SIDE, SIDE, 1, 1, 255}, .is_given = true};
  const bf_hough_options options = {.struct_bytes = sizeof options, .threads = 1};
  const bf_peak_options peaks = {.struct_bytes = sizeof peaks,
                                 .min_votes = SIDE,
                                 .theta_radius = 5,
                                 .rho_radius = 5,
                                 .max_lines = 4};
  bf_corpus_vote kernels[BF_CORPUS_VOTES];
  bf_machine *machine;
  bf_image_format format;
  uint8_t *picture, *pixels = calloc(SIDE, SIDE);
  bf_text text = {0};
  assert_non_null(pixels);
  for (unsigned y = 0; y < SIDE; y++)
    pixels[y * SIDE + 5] = 9;
  lines.pixels = pixels;
  assert_int_equal(bf_imaging_find_lines(&lines, &options, &peaks, NULL), BF_OK);
  assert_int_equal(lines.found.space.points, SIDE);
  assert_int_equal(lines.found.lines.count, 1);
  assert_true(lines.found.lines.peak[0].theta == 0 && lines.found.lines.peak[0].votes == SIDE);
  assert_int_equal(bf_imaging_space_picture(&lines.found.space, &format, &picture, NULL), BF_OK);
  assert_int_equal(format.width, lines.found.space.angles);
  assert_int_equal(picture[lines.found.lines.peak[0].bin * format.width], 255);
  free(picture);
  assert_int_equal(bf_imaging_lines_svg(&lines, "a <b>", &text, NULL), BF_OK);
  assert_non_null(strstr(text.data, "1 line in a &lt;b&gt;"));
  bf_text_free(&text);

  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  const bf_corpus_settings settings = {.machine = machine, .scale = 1, .workers = 1};
  assert_int_equal(
      bf_corpus_vote_hough(&lines.found.space, lines.edges, SIDE, SIDE, &settings, kernels, NULL),
      BF_OK);
  for (unsigned i = 0; i < BF_CORPUS_VOTES; i++)
    assert_true(kernels[i].accesses &&
                kernels[i].wavefronts == kernels[i].ideal + kernels[i].conflicts);
  lines.found.space.rho_step = 0.5;
  assert_int_equal(
      bf_corpus_vote_hough(&lines.found.space, lines.edges, SIDE, SIDE, &settings, kernels, NULL),
      BF_UNSUPPORTED);
  bf_machine_free(machine);
  bf_imaging_lines_clear(&lines);
}

/* Kernels that count what is expected, and one number that is wrong. */
static void test_histogram_kernels(void **state) {
  (void)state;
  uint8_t pixels[1000];
  double expected[64] = {0};
  bf_corpus_vote kernels[BF_CORPUS_VOTES];
  bf_machine *machine;
  bf_diagnostic diagnostic;
  for (unsigned i = 0; i < sizeof pixels; i++) {
    pixels[i] = (uint8_t)(i * 7);
    expected[pixels[i] / 4]++;
  }
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, NULL), BF_OK);
  const bf_corpus_settings settings = {.machine = machine, .scale = 1, .workers = 1};
  assert_int_equal(bf_corpus_vote_histogram(pixels, sizeof pixels, expected, 64, &settings, kernels,
                                            &diagnostic),
                   BF_OK);
  assert_string_equal(kernels[2].layout, "bin by bin");
  assert_true(kernels[2].accesses > 0);
  expected[3]++;
  assert_int_equal(bf_corpus_vote_histogram(pixels, sizeof pixels, expected, 64, &settings, kernels,
                                            &diagnostic),
                   BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "kernel histogram64_major counts otherwise"));
  bf_machine_free(machine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_count),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_bins),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_histogram_kernels),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
