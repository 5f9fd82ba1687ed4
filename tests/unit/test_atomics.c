/* Voting by atomics under the simulator: pictures, kernels against their references, the model of
 * locks, and the claims that must hold in quick runs. */
#include "reproduce/atomics/edges.h"
#include "reproduce/atomics/photo.h"
#include "reproduce/atomics/vote.h"
#include "reproduce/frame/frame.h"
#include "sanitized.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Pictures ---- */

enum { WIDTH = 1536, HEIGHT = 1024 };

static uint16_t picture[WIDTH * HEIGHT];

static void make_picture(unsigned seed) {
  bf_diagnostic diagnostic;
  assert_int_equal(bf_photo_make(seed, WIDTH, HEIGHT, picture, &diagnostic), BF_OK);
}

/* Neighbours are alike, edges are sharp, and the histogram is broad: the ranges that
 * docs/atomics.md gives. */
static void pictures_are_like_photographs(void **state) {
  (void)state;
  for (unsigned seed = 0; seed < 3; seed++) {
    bf_photo_statistics s;
    make_picture(seed);
    bf_photo_measure(picture, WIDTH, HEIGHT, &s);
    assert_true(s.mean > 1400 && s.mean < 2300);
    assert_true(s.deviation > 450 && s.deviation < 800);
    assert_true(s.neighbour_difference > 20 && s.neighbour_difference < 32);
    assert_true(s.correlation_1 >= 0.99 && s.correlation_1 < 0.998);
    assert_true(s.correlation_8 > 0.8 && s.correlation_8 < 0.95);
    assert_true(s.correlation_64 > 0.2 && s.correlation_64 < 0.7);
    assert_true(s.difference_kurtosis > 40 && s.difference_kurtosis < 90);
    assert_true(s.entropy_bits > 6.7 && s.entropy_bits < 7.4);
    assert_true(s.bins_per_warp > 9 && s.bins_per_warp < 13);
    assert_true(s.largest_share > 0.25 && s.largest_share < 0.4);
  }
}

/* The same everywhere and for ever; another seed is another scene. */
static void pictures_are_the_same_everywhere(void **state) {
  (void)state;
  uint32_t sum[2] = {0};
  for (unsigned seed = 0; seed < 2; seed++) {
    make_picture(seed);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
      sum[seed] = sum[seed] * 31 + picture[i];
  }
  assert_int_equal(sum[0], 0xef868d66);
  assert_int_equal(sum[1], 0x2011b429);
}

/* Statistics of pictures that are known. */
static void statistics_of_known_pictures(void **state) {
  (void)state;
  bf_photo_statistics s;
  for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
    picture[i] = i % 2 ? 1000 : 3000;
  bf_photo_measure(picture, WIDTH, HEIGHT, &s);
  assert_float_equal(s.mean, 2000, 1e-6);
  assert_float_equal(s.deviation, 1000, 1e-6);
  assert_float_equal(s.neighbour_difference, 2000, 1e-6);
  assert_float_equal(s.correlation_1, -1, 1e-6);
  assert_float_equal(s.correlation_8, 1, 1e-6);
  assert_float_equal(s.difference_kurtosis, 1, 1e-6);
  assert_float_equal(s.entropy_bits, 1, 1e-6);
  assert_float_equal(s.bins_per_warp, 2, 1e-6);
  assert_float_equal(s.largest_share, 0.5, 1e-6);
}

/* The edge of a bright square is found, and no more than asked for. */
static void edges_of_a_square(void **state) {
  (void)state;
  static uint32_t points[WIDTH * HEIGHT];
  uint32_t count;
  bf_diagnostic diagnostic;
  memset(picture, 0, sizeof picture);
  for (unsigned y = 100; y < 200; y++)
    for (unsigned x = 300; x < 400; x++)
      picture[y * WIDTH + x] = 4000;
  assert_int_equal(bf_edges_find(picture, WIDTH, HEIGHT, 0.01, points, &count, &diagnostic), BF_OK);
  assert_true(count >= 700 && count <= 0.01 * WIDTH * HEIGHT);
  for (uint32_t i = 0; i < count; i++) {
    int x = (int)(points[i] & 0xffff), y = (int)(points[i] >> 16);
    bool near_x = abs(x - 300) <= 1 || abs(x - 399) <= 1, in_x = x >= 299 && x <= 400;
    bool near_y = abs(y - 100) <= 1 || abs(y - 199) <= 1, in_y = y >= 99 && y <= 200;
    assert_true((near_x && in_y) || (near_y && in_x));
    assert_true(i == 0 || points[i] >> 16 > points[i - 1] >> 16 ||
                (points[i] & 0xffff) > (points[i - 1] & 0xffff));
  }
}

/* ---- Kernels ---- */

static const char *const one_sm[] = {"sms=1", NULL};

static bf_vote_gpu make_gpu(const char *const *changes, bf_vote_hash hash) {
  bf_vote_gpu gpu;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_vote_gpu_create("gtx580", changes, hash, &gpu, &diagnostic), BF_OK);
  return gpu;
}

static uint64_t histogram_cycles(const char *const *changes, bf_vote_hash hash,
                                 bf_vote_space space) {
  bf_vote_gpu gpu = make_gpu(changes, hash);
  bf_vote_histogram histogram = {
      .pixels = picture, .pixel_count = 9000, .blocks = 2, .threads = 256, .space = space};
  bf_vote_outcome outcome;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_vote_histogram_run(&gpu, &histogram, &outcome, &diagnostic), BF_OK);
  bf_vote_gpu_free(&gpu);
  return outcome.cycles;
}

/* Every run compares its votes with the reference. */
static void histograms_are_right(void **state) {
  (void)state;
  make_picture(0);
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    for (unsigned hash = 0; hash < BF_VOTE_HASHES; hash++)
      for (uint32_t bins = 32; bins <= 2048; bins *= 8)
        for (uint32_t copies = 1; copies <= 5; copies += 2)
          assert_true(histogram_cycles(one_sm, (bf_vote_hash)hash,
                                       (bf_vote_space){bins, copies, (bf_vote_layout)layout}) > 0);
}

/* A reference of the reference: each pixel in its range. */
static void histogram_reference(void **state) {
  (void)state;
  const uint16_t pixels[] = {0, 15, 16, 4095, 4080, 4079};
  uint32_t bins[256] = {0};
  bf_vote_histogram_reference(pixels, 6, 256, bins);
  assert_int_equal(bins[0], 2);
  assert_int_equal(bins[1], 1);
  assert_int_equal(bins[254], 1);
  assert_int_equal(bins[255], 2);
}

/* Points on a vertical line all vote for its distance at angle 0. */
static void hough_votes(void **state) {
  (void)state;
  uint32_t points[100], line[256] = {0};
  for (uint32_t y = 0; y < 100; y++)
    points[y] = 37 | y << 16;
  bf_vote_hough hough = {.points = points,
                         .point_count = 100,
                         .threads = 64,
                         .angles = 3,
                         .angle_step = 50,
                         .offset = 100};
  bf_vote_hough_reference(&hough, 1, 0, line);
  assert_int_equal(line[137], 100);
  bf_diagnostic diagnostic;
  bf_vote_outcome outcome;
  for (unsigned layout = 0; layout < BF_VOTE_LAYOUTS; layout++)
    for (uint32_t copies = 1; copies <= 6; copies += 5) {
      bf_vote_gpu gpu = make_gpu(one_sm, BF_VOTE_ADD);
      hough.space = (bf_vote_space){256, copies, (bf_vote_layout)layout};
      assert_int_equal(bf_vote_hough_run(&gpu, &hough, &outcome, &diagnostic), BF_OK);
      bf_vote_gpu_free(&gpu);
    }
}

static void unknown_gpu_is_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"sms=0", NULL};
  bf_vote_gpu gpu;
  bf_diagnostic diagnostic;
  assert_int_not_equal(bf_vote_gpu_create("gtx9", one_sm, BF_VOTE_NONE, &gpu, &diagnostic), BF_OK);
  assert_int_not_equal(bf_vote_gpu_create("gtx580", wrong, BF_VOTE_NONE, &gpu, &diagnostic), BF_OK);
  assert_null(gpu.gpu);
}

/* ---- The model of locks ---- */

static uint32_t latency(const char *const *changes, bf_vote_hash hash, uint32_t stride,
                        unsigned conflicts) {
  bf_vote_gpu gpu = make_gpu(changes, hash);
  uint32_t word[32], cycles;
  bf_diagnostic diagnostic;
  for (uint32_t lane = 0; lane < 32; lane++)
    word[lane] = lane < conflicts ? lane * stride : lane;
  assert_int_equal(bf_vote_latency_run(&gpu, word, &cycles, &diagnostic), BF_OK);
  bf_vote_gpu_free(&gpu);
  return cycles;
}

/* One warp is held for its four states, whatever else the unit does meanwhile. */
static void latency_of_one_warp(void **state) {
  (void)state;
  static const char *const held[] = {"sms=1", "lock_holds=loop", NULL};
  static const char *const slow_hash[] = {"sms=1", "hash_cycles=5", NULL};
  assert_int_equal(latency(one_sm, BF_VOTE_NONE, 0, 1), 118);
  assert_int_equal(latency(one_sm, BF_VOTE_NONE, 0, 32), 32 * 118);
  assert_int_equal(latency(held, BF_VOTE_NONE, 0, 32), 32 * 118);
  assert_int_equal(latency(one_sm, BF_VOTE_NONE, 32, 32), 50 + 32 * 68);
  assert_int_equal(latency(one_sm, BF_VOTE_XOR, 32, 32), 118);
  assert_int_equal(latency(slow_hash, BF_VOTE_XOR, 32, 32), 123);
  assert_int_equal(latency(slow_hash, BF_VOTE_NONE, 32, 32), 50 + 32 * 68);
}

/* With lock_holds=loop no two atomics overlap: 282 warps, the last one of 8 lanes, of 118 cycles at
 * least. Else they do. */
static void held_unit_serves_one_warp_at_a_time(void **state) {
  (void)state;
  static const char *const held[] = {"sms=1", "lock_holds=loop", NULL};
  const bf_vote_space space = {64, 32, BF_VOTE_BIN_MAJOR};
  make_picture(1);
  assert_true(histogram_cycles(held, BF_VOTE_NONE, space) > 282 * 118);
  assert_true(histogram_cycles(one_sm, BF_VOTE_NONE, space) < 282 * 118);
}

/* ---- Claims ---- */

static void remove_files(const char *folder) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

/* Sanitizers watch all of them in tests/cli/atomics.test. */
static void claims_hold_in_quick_runs(void **state) {
  (void)state;
  static const char *const names[] = {"atomic-latency", "histogram-replication", "histogram-hash",
                                      "hough-hash"};
  for (unsigned i = 0; i < (IS_SANITIZED ? 1 : sizeof names / sizeof *names); i++) {
    char folder[] = "/tmp/bankfold-test-XXXXXX";
    bf_reproduce_run *run;
    bf_diagnostic diagnostic;
    assert_non_null(mkdtemp(folder));
    bf_reproduce_settings settings = {.folder = folder, .quick = true};
    const bf_reproduction *reproduction = bf_reproduce_find(names[i]);
    assert_non_null(reproduction);
    assert_int_equal(bf_reproduce_execute(reproduction, &settings, &run, &diagnostic), BF_OK);
    assert_int_equal(bf_reproduce_failures(run), 0);
    bf_reproduce_free(run);
    remove_files(folder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_like_photographs),
      cmocka_unit_test(pictures_are_the_same_everywhere),
      cmocka_unit_test(statistics_of_known_pictures),
      cmocka_unit_test(edges_of_a_square),
      cmocka_unit_test(histograms_are_right),
      cmocka_unit_test(histogram_reference),
      cmocka_unit_test(hough_votes),
      cmocka_unit_test(unknown_gpu_is_refused),
      cmocka_unit_test(latency_of_one_warp),
      cmocka_unit_test(held_unit_serves_one_warp_at_a_time),
      cmocka_unit_test(claims_hold_in_quick_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
