/* Histograms and Hough transforms on simulated GPUs. */
#include "reproduce/frame/frame.h"
#include "reproduce/voting/histogram.h"
#include "reproduce/voting/hough.h"
#include "reproduce/voting/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, PIXELS = ROWS * BF_VOTING_WIDTH };

/* Pixels of all values, with runs of equal ones; 4095 is among them. */
static void fill_pixels(uint16_t *pixels) {
  for (uint32_t i = 0; i < PIXELS; i++)
    pixels[i] = (uint16_t)(i % 7 ? i * 2654435761u >> 20 : 4095);
}

/* All ways in all layouts agree with the library, which run returns an error for otherwise. */
static void test_histograms(void **state) {
  (void)state;
  uint16_t pixels[PIXELS];
  bf_diagnostic diagnostic = {.caret = -1};
  bf_voting_histogram histogram;
  fill_pixels(pixels);
  assert_int_equal(bf_voting_histogram_create("gtx470", 2, pixels, ROWS, &histogram, &diagnostic),
                   BF_OK);
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    for (unsigned layout = 0; layout < BF_VOTING_LAYOUTS; layout++) {
      bf_voting_choice choice = {layout, 4, 64, 2};
      double seconds = 0, idle = 0;
      assert_int_equal(bf_voting_histogram_run(&histogram, method, &choice, &seconds, &diagnostic),
                       BF_OK);
      assert_int_equal(bf_voting_histogram_idle(&histogram, method, &choice, &idle, &diagnostic),
                       BF_OK);
      assert_true(idle > 0 && seconds > idle);
    }
  bf_voting_histogram_free(&histogram);
}

/* A result that is not the one wanted is an error that names the bin. */
static void test_wrong_histogram(void **state) {
  (void)state;
  uint16_t pixels[PIXELS];
  bf_diagnostic diagnostic = {.caret = -1};
  bf_voting_histogram histogram;
  fill_pixels(pixels);
  assert_int_equal(bf_voting_histogram_create("titan", 1, pixels, ROWS, &histogram, &diagnostic),
                   BF_OK);
  histogram.wanted_256[200]++;
  bf_voting_choice choice = {BF_VOTING_BIN_MAJOR, 2, 64, 1};
  double seconds;
  assert_int_equal(
      bf_voting_histogram_run(&histogram, BF_VOTING_SHARED, &choice, &seconds, &diagnostic),
      BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "bin 200 has"));
  bf_voting_histogram_free(&histogram);
}

static void fill_edges(uint8_t *edges) {
  for (uint32_t i = 0; i < PIXELS; i++)
    edges[i] = i % 5 == 0 || (i * 2654435761u >> 28) == 0;
}

static void test_houghs(void **state) {
  (void)state;
  uint8_t pixels[PIXELS];
  bf_diagnostic diagnostic = {.caret = -1};
  bf_voting_hough hough;
  fill_edges(pixels);
  bf_voting_edges edges = {pixels, ROWS, 3, 20};
  assert_int_equal(bf_voting_hough_create("gtx750ti", 2, &edges, &hough, &diagnostic), BF_OK);
  assert_int_equal(hough.space.angles, 6);
  double seconds, idle, vote, add;
  assert_int_equal(bf_voting_hough_collect(&hough, &seconds, &diagnostic), BF_OK);
  for (unsigned layout = 0; layout < BF_VOTING_LAYOUTS; layout++)
    for (unsigned copies = 1; copies <= 8; copies += 7) {
      bf_voting_choice choice = {layout, copies, 96, 1};
      assert_int_equal(bf_voting_hough_global(&hough, &choice, &vote, &add, &diagnostic), BF_OK);
      assert_true(vote > 0 && (add > 0) == (copies > 1));
      assert_int_equal(bf_voting_hough_idle(&hough, &choice, &idle, &diagnostic), BF_OK);
      assert_int_equal(bf_voting_hough_lines(&hough, &choice, &seconds, &diagnostic), BF_OK);
      assert_true(idle > 0 && seconds > idle);
    }
  hough.space.votes[7]++;
  bf_voting_choice choice = {BF_VOTING_BIN_MAJOR, 1, 96, 1};
  assert_int_equal(bf_voting_hough_lines(&hough, &choice, &seconds, &diagnostic), BF_BAD_INPUT);
  bf_voting_hough_free(&hough);
}

static void test_fits(void **state) {
  (void)state;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_sim_gpu *gpu;
  assert_int_equal(bf_sim_gpu_load("gtx470", &gpu, &diagnostic), BF_OK);
  assert_true(bf_voting_fits(gpu, 3, 512, 8192));
  assert_false(bf_voting_fits(gpu, 4, 512, 8192));  /* threads */
  assert_false(bf_voting_fits(gpu, 9, 32, 1024));   /* blocks */
  assert_false(bf_voting_fits(gpu, 3, 512, 16384)); /* bytes, with those of the kernel itself */
  assert_int_equal(bf_voting_words(BF_VOTING_PADDED, 256, 2), 544);
  assert_int_equal(bf_voting_words(BF_VOTING_COPY_MAJOR, 256, 2), 512);
  bf_sim_gpu_free(gpu);
}

static void test_fastest(void **state) {
  (void)state;
  bf_voting_sweep sweep[2] = {0};
  assert_null(bf_voting_fastest(sweep, 2, 0));
  for (unsigned i = 0; i < 4; i++) {
    bf_voting_sweep_add(&sweep[i / 2], &(bf_voting_choice){.copies = 1 + i % 2, .threads = i});
    sweep[i / 2].tried[i % 2].milliseconds = 4 - i;
  }
  assert_int_equal(bf_voting_fastest(sweep, 2, 0)->choice.threads, 3);
  assert_int_equal(bf_voting_fastest(sweep, 2, 1)->choice.threads, 2);
  assert_int_equal(bf_voting_fastest(sweep, 1, 1)->choice.threads, 0);
  assert_null(bf_voting_fastest(sweep, 2, 8));
}

/* ---- Claims ---- */

/* Times twice as long as published, in an order of its own. */
static int claim_things(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  (void)diagnostic;
  const bf_voting_table *table = &bf_voting_histogram_tables[BF_VOTING_SHARED];
  bf_voting_ours ours[BF_VOTING_GPUS] = {0};
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    ours[gpu].best = (bf_voting_best){table->best[gpu].choice, 2 * table->best[gpu].milliseconds};
  bf_voting_claim_times(run, table, ours, "so");
  bf_voting_claim_order(run, table, ours, NULL);
  bf_voting_claim_copies(run, table, ours, NULL);
  ours[1].best.milliseconds = 0.01;
  ours[1].best.choice.copies = 1;
  ours[1].best.choice.layout = BF_VOTING_PADDED;
  bf_voting_claim_order(run, table, ours, "so");
  bf_voting_claim_copies(run, table, ours, "so");
  bf_voting_claim_layouts(run, table, ours, "so");
  return BF_OK;
}

static void test_claims(void **state) {
  (void)state;
  static const bool holds[] = {false, true, true, false, false, false};
  static const bf_reproduction things = {"things", "things", "braak15", "Things.", claim_things};
  char folder[] = "/tmp/bankfold-voting-XXXXXX";
  bf_diagnostic diagnostic = {.caret = -1};
  bf_reproduce_run *run;
  assert_non_null(mkdtemp(folder));
  bf_reproduce_settings settings = {.folder = folder};
  assert_int_equal(bf_reproduce_execute(&things, &settings, &run, &diagnostic), BF_OK);
  unsigned count = 0;
  for (const frame_claim *at = run->claim; at; at = at->next, count++)
    assert_true((at->claim.verdict == BF_HOLDS) == holds[count]);
  assert_int_equal(count, sizeof holds / sizeof *holds);
  assert_string_equal(run->claim->claim.name, "Table 3.6, times");
  assert_string_equal(run->claim->claim.why, "so");
  bf_reproduce_free(run);
  char path[sizeof folder + 20];
  snprintf(path, sizeof path, "%s/index.md", folder);
  assert_int_equal(remove(path), 0);
  snprintf(path, sizeof path, "%s/claims.csv", folder);
  assert_int_equal(remove(path), 0);
  assert_int_equal(remove(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_histograms), cmocka_unit_test(test_wrong_histogram),
      cmocka_unit_test(test_houghs),     cmocka_unit_test(test_fits),
      cmocka_unit_test(test_fastest),    cmocka_unit_test(test_claims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
