/* The references that benchmarks are compared with, held against properties that do not follow from
 * how they are written. */
#include "kernels/aes/aes.h"
#include "kernels/backprop/backprop.h"
#include "kernels/corpus.h"
#include "kernels/dxtc/dxtc.h"
#include "kernels/histogram/histogram.h"
#include "kernels/histogram/image.h"
#include "kernels/hotspot/hotspot.h"
#include "kernels/hough/hough.h"
#include "kernels/lavamd/lavamd.h"
#include "kernels/lud/lud.h"
#include "kernels/mri_gridding/mri_gridding.h"
#include "kernels/needleman/needleman.h"
#include "kernels/srad/srad.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double allowed) {
  if (!(fabs(value - expected) <= allowed))
    fail_msg("%.17g is not within %g of %.17g", value, allowed, expected);
}

/* ---- Images and histograms ---- */

enum { SIDE = 1024, PIXELS = SIDE * SIDE };

/* The statistics that image.h states. */
static void images_look_natural(void **state) {
  (void)state;
  static uint8_t pixels[PIXELS];
  for (unsigned seed = 0; seed <= 10; seed++) {
    double sum = 0, squares = 0, steps = 0;
    bf_image_make(seed, SIDE, SIDE, pixels);
    for (unsigned i = 0; i < PIXELS; i++) {
      sum += pixels[i];
      squares += pixels[i] * pixels[i];
      if (i % SIDE)
        steps += abs(pixels[i] - pixels[i - 1]);
    }
    const double mean = sum / PIXELS, deviation = sqrt(squares / PIXELS - mean * mean);
    const double step = steps / (PIXELS - SIDE);
    assert_near(mean, 117, 6);
    assert_near(deviation, 26, 5);
    assert_near(step, 2.65, 0.05);
  }
}

/* Results of hashes trained on an image can only be compared where the image is the same. */
static void images_are_the_same_everywhere(void **state) {
  (void)state;
  static uint8_t pixels[PIXELS];
  uint32_t mixed = 2166136261u;
  bf_image_make(0, SIDE, SIDE, pixels);
  for (unsigned i = 0; i < PIXELS; i++)
    mixed = (mixed ^ pixels[i]) * 16777619u;
  assert_int_equal(mixed, 0x4c2e8aa4);
}

static void histograms_count_every_pixel_once(void **state) {
  (void)state;
  static uint8_t pixels[PIXELS];
  static float ones[PIXELS];
  uint32_t fine[256] = {0}, coarse[64] = {0}, total = 0;
  double weighted[256] = {0};
  bf_image_make(3, SIDE, SIDE, pixels);
  for (unsigned i = 0; i < PIXELS; i++)
    ones[i] = 1;
  bf_corpus_histogram_reference(pixels, PIXELS, 256, fine);
  bf_corpus_histogram_reference(pixels, PIXELS, 64, coarse);
  bf_corpus_weighted_reference(pixels, ones, PIXELS, weighted);
  for (unsigned bin = 0; bin < 256; bin++) {
    total += fine[bin];
    assert_near(weighted[bin], fine[bin], 0);
    if (bin % 4 == 0)
      assert_int_equal(coarse[bin / 4], fine[bin] + fine[bin + 1] + fine[bin + 2] + fine[bin + 3]);
  }
  assert_int_equal(total, PIXELS);
}

/* ---- Hough ---- */

/* All points of a line vote for the same bin at its angle, and every point votes once at any. */
static void points_of_a_line_meet(void **state) {
  (void)state;
  uint32_t points[100], upright[BF_HOUGH_BINS] = {0}, level[BF_HOUGH_BINS] = {0};
  uint32_t slanted[BF_HOUGH_BINS] = {0}, total = 0;
  for (uint32_t i = 0; i < 100; i++)
    points[i] = 77 | i << 16;
  bf_corpus_hough_reference(points, 100, 1, 0, upright);
  assert_int_equal(upright[77 + BF_HOUGH_WIDTH], 100);
  bf_corpus_hough_reference(points, 100, 0, 1, level);
  for (uint32_t i = 0; i < 100; i++)
    assert_int_equal(level[i + BF_HOUGH_WIDTH], 1);
  bf_corpus_hough_reference(points, 100, -0.6f, 0.8f, slanted);
  for (unsigned bin = 0; bin < BF_HOUGH_BINS; bin++)
    total += slanted[bin];
  assert_int_equal(total, 100);
}

/* ---- Particles ---- */

/* Among particles of equal charge every push has its opposite; the force is the slope of the
 * energy, divided by -alpha^2. */
static void forces_belong_to_the_energy(void **state) {
  (void)state;
  enum { COUNT = BF_LAVAMD_PARTICLES };
  static float particles[COUNT * 4], charges[COUNT];
  bf_corpus_random random = bf_corpus_seed(1);
  for (unsigned i = 0; i < COUNT; i++) {
    float *at = particles + 4 * i;
    for (unsigned c = 1; c < 4; c++) {
      at[c] = bf_corpus_uniform(&random);
      at[0] += at[c] * at[c] / 2;
    }
    charges[i] = 1;
  }
  double energy, all[3] = {0}, magnitude[4] = {0};
  for (unsigned i = 0; i < COUNT; i++)
    bf_lavamd_reference(particles + 4 * i, particles, charges, 0.5, &energy, all, magnitude);
  for (unsigned c = 0; c < 3; c++)
    assert_near(all[c], 0, 1e-3);

  const float step = 0x1p-10f;
  float moved[4];
  double here = 0, there = 0, force[3] = {0}, ignored[3];
  memcpy(moved, particles, sizeof moved);
  moved[2] += step;
  moved[0] += step * (particles[2] + step / 2);
  bf_lavamd_reference(particles, particles, charges, 0.5, &here, force, magnitude);
  bf_lavamd_reference(moved, particles, charges, 0.5, &there, ignored, magnitude);
  assert_near((there - here) / (double)step, -0.25 * force[1], 0.02);
}

/* ---- LU ---- */

static void factors_multiply_to_the_matrix(void **state) {
  (void)state;
  enum { WIDTH = 24 };
  double matrix[WIDTH][WIDTH], factors[WIDTH][WIDTH];
  bf_corpus_random random = bf_corpus_seed(2);
  for (unsigned i = 0; i < WIDTH * WIDTH; i++)
    matrix[i / WIDTH][i % WIDTH] =
        (double)bf_corpus_uniform(&random) + (i % (WIDTH + 1) ? 0 : WIDTH);
  memcpy(factors, matrix, sizeof factors);
  bf_lud_reference(&factors[0][0], WIDTH, WIDTH);
  for (unsigned row = 0; row < WIDTH; row++)
    for (unsigned column = 0; column < WIDTH; column++) {
      double product = row <= column ? factors[row][column] : 0;
      for (unsigned k = 0; k < row && k <= column; k++)
        product += factors[row][k] * factors[k][column];
      assert_near(product, matrix[row][column], 1e-12);
    }
}

/* ---- Gridding ---- */

/* After all steps samples lie by tile, in their first order within a tile. */
static void samples_are_sorted_by_tile(void **state) {
  (void)state;
  enum { BLOCKS = 3, SAMPLES = BLOCKS * BF_MRI_ITEMS, COUNTS = BLOCKS * BF_MRI_TILES };
  static float from[2 * SAMPLES], to[2 * SAMPLES], tagged[2 * SAMPLES], order[2 * SAMPLES];
  static uint32_t tiles[SAMPLES], sorted[SAMPLES], source[SAMPLES], counts[COUNTS];
  bf_corpus_random random = bf_corpus_seed(4);
  for (unsigned i = 0; i < 2 * SAMPLES; i++) {
    from[i] = bf_corpus_uniform(&random) * BF_MRI_SIDE;
    tagged[i] = (float)i;
  }
  for (unsigned i = 0; i < SAMPLES; i++)
    tiles[i] = bf_mri_tile(from + 2 * i);
  bf_mri_sort(tiles, BLOCKS, sorted, source, counts);
  bf_mri_scan(counts, COUNTS);
  bf_mri_reorder(sorted, source, BLOCKS, counts, from, to);
  bf_mri_reorder(sorted, source, BLOCKS, counts, tagged, order);
  for (unsigned i = 0; i + 1 < SAMPLES; i++) {
    const uint32_t here = bf_mri_tile(to + 2 * i), next = bf_mri_tile(to + 2 * i + 2);
    assert_true(here < next || (here == next && order[2 * i] < order[2 * i + 2]));
    assert_true(order[2 * i + 1] == order[2 * i] + 1); /* pairs stay together */
  }
}

static void a_sample_reaches_the_cells_around_it(void **state) {
  (void)state;
  const float at[2] = {10, 20}, value[2] = {3, -5};
  double sums[2] = {0}, magnitude[2] = {0};
  bf_mri_add(at, value, 10, 20, sums, magnitude);
  assert_near(sums[0], 3, 0);
  assert_near(sums[1], -5, 0);
  bf_mri_add(at, value, 12, 20, sums, magnitude);
  bf_mri_add(at, value, 10, 17, sums, magnitude);
  assert_near(sums[0], 3, 0);
  bf_mri_add(at, value, 11, 19, sums, magnitude);
  assert_near(sums[0], 3 + 3 * pow(0.75, 4), 1e-12);
}

/* ---- Alignment ---- */

/* The best score of all alignments of what is left from (x, y) on. */
static int32_t best_alignment(const int32_t *similarities, uint32_t width, int32_t penalty,
                              uint32_t x, uint32_t y) {
  if (x == width || y == width)
    return -(int32_t)(width - x + width - y) * penalty;
  const int32_t ways[3] = {
      similarities[y * width + x] + best_alignment(similarities, width, penalty, x + 1, y + 1),
      best_alignment(similarities, width, penalty, x + 1, y) - penalty,
      best_alignment(similarities, width, penalty, x, y + 1) - penalty,
  };
  const int32_t gap = ways[1] > ways[2] ? ways[1] : ways[2];
  return ways[0] > gap ? ways[0] : gap;
}

static void no_alignment_is_better(void **state) {
  (void)state;
  enum { WIDTH = 7 };
  int32_t similarities[WIDTH * WIDTH], scores[(WIDTH + 1) * (WIDTH + 1)];
  bf_corpus_random random = bf_corpus_seed(5);
  for (unsigned i = 0; i < WIDTH * WIDTH; i++)
    similarities[i] = (int32_t)(bf_corpus_next(&random) % 16) - 5;
  bf_needleman_reference(similarities, WIDTH, 2, scores);
  assert_int_equal(scores[(WIDTH + 1) * (WIDTH + 1) - 1],
                   best_alignment(similarities, WIDTH, 2, 0, 0));
}

/* ---- Compression ---- */

static void two_colours_survive_compression(void **state) {
  (void)state;
  const uint8_t colours[2][3] = {{0x18, 0x41, 0xef}, {0xff, 0x82, 0x10}}; /* of 5, 6, 5 bits */
  uint8_t pixels[48], expanded[48];
  uint32_t block[2];
  for (unsigned i = 0; i < 16; i++)
    memcpy(pixels + 3 * i, colours[0x5a3c >> i & 1], 3);
  bf_dxtc_compress(pixels, block);
  bf_dxtc_expand(block, expanded);
  assert_memory_equal(expanded, pixels, 48);
}

/* No choice for any pixel, with the end points that were chosen, is better. */
static void every_pixel_takes_the_nearest_colour(void **state) {
  (void)state;
  uint8_t pixels[48], expanded[48];
  uint32_t block[2];
  bf_corpus_random random = bf_corpus_seed(6);
  for (unsigned i = 0; i < 48; i++)
    pixels[i] = (uint8_t)bf_corpus_next(&random);
  bf_dxtc_compress(pixels, block);
  bf_dxtc_expand(block, expanded);
  const uint32_t best = bf_dxtc_distance(pixels, expanded);
  for (unsigned pixel = 0; pixel < 16; pixel++)
    for (uint32_t flip = 1; flip < 4; flip++) {
      const uint32_t other[2] = {block[0], block[1] ^ flip << 2 * pixel};
      bf_dxtc_expand(other, expanded);
      assert_true(bf_dxtc_distance(pixels, expanded) >= best);
    }
}

/* ---- AES ---- */

/* FIPS 197, appendix C.1, and the example of section 5.1.1. */
static void aes_gives_the_published_example(void **state) {
  (void)state;
  static const uint8_t expected[16] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                       0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  uint8_t key[16], plain[16], block[16], round_keys[176];
  bf_aes_boxes boxes;
  bf_aes_make_boxes(&boxes);
  assert_int_equal(boxes.forward[0x53], 0xed);
  for (unsigned i = 0; i < 16; i++) {
    key[i] = (uint8_t)i;
    plain[i] = block[i] = (uint8_t)(i * 0x11);
  }
  bf_aes_expand_key(&boxes, key, round_keys);
  bf_aes_encrypt(&boxes, round_keys, block);
  assert_memory_equal(block, expected, 16);
  bf_aes_decrypt(&boxes, round_keys, block);
  assert_memory_equal(block, plain, 16);
}

/* ---- Controls ---- */

static void unit_weights_pass_inputs_on(void **state) {
  (void)state;
  float inputs[BF_BACKPROP_UNITS], weights[BF_BACKPROP_UNITS * BF_BACKPROP_UNITS] = {0};
  double sums[BF_BACKPROP_UNITS], change = 2;
  for (unsigned i = 0; i < BF_BACKPROP_UNITS; i++) {
    inputs[i] = (float)i;
    weights[i * BF_BACKPROP_UNITS + i] = 1;
  }
  bf_backprop_forward(inputs, weights, BF_BACKPROP_UNITS, sums);
  for (unsigned i = 0; i < BF_BACKPROP_UNITS; i++)
    assert_near(sums[i], i, 0);
  assert_near(bf_backprop_adjust(1, 3, 5, 0.5, 0.25, &change), 9, 0);
  assert_near(change, 8, 0);
}

/* What one pixel loses its neighbour gains; where all is even nothing happens. */
static void diffusion_keeps_the_sum(void **state) {
  (void)state;
  enum { WIDTH = 20, HEIGHT = 12, COUNT = WIDTH * HEIGHT };
  float image[COUNT], even[COUNT];
  double coefficients[COUNT], result[COUNT], before = 0, after = 0;
  bf_corpus_random random = bf_corpus_seed(7);
  for (unsigned i = 0; i < COUNT; i++) {
    image[i] = 1 + bf_corpus_uniform(&random);
    even[i] = 2;
    before += (double)image[i];
  }
  bf_srad_coefficients(image, WIDTH, HEIGHT, 0.05, coefficients);
  bf_srad_update(image, coefficients, WIDTH, HEIGHT, 0.5, result);
  for (unsigned i = 0; i < COUNT; i++) {
    after += result[i];
    assert_true(coefficients[i] >= 0 && coefficients[i] <= 1);
  }
  assert_near(after, before, 1e-9);
  bf_srad_coefficients(even, WIDTH, HEIGHT, 0.05, coefficients);
  bf_srad_update(even, coefficients, WIDTH, HEIGHT, 0.5, result);
  for (unsigned i = 0; i < COUNT; i++) {
    assert_near(coefficients[i], 1, 0);
    assert_near(result[i], 2, 0);
  }
}

/* Without air and power the heat is only spread. */
static void heat_is_neither_made_nor_lost(void **state) {
  (void)state;
  enum { WIDTH = 9, COUNT = WIDTH * WIDTH };
  const bf_hotspot_chip chip = {WIDTH, 0.1f, 0, 300, 0};
  const float powers[COUNT] = {0};
  double temperatures[COUNT], result[COUNT], before = 0, after = 0;
  bf_corpus_random random = bf_corpus_seed(8);
  for (unsigned i = 0; i < COUNT; i++)
    before += temperatures[i] = (double)bf_corpus_uniform(&random);
  bf_hotspot_step(&chip, powers, temperatures, result);
  for (unsigned i = 0; i < COUNT; i++)
    after += result[i];
  assert_near(after, before, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_look_natural),
      cmocka_unit_test(images_are_the_same_everywhere),
      cmocka_unit_test(histograms_count_every_pixel_once),
      cmocka_unit_test(points_of_a_line_meet),
      cmocka_unit_test(forces_belong_to_the_energy),
      cmocka_unit_test(factors_multiply_to_the_matrix),
      cmocka_unit_test(samples_are_sorted_by_tile),
      cmocka_unit_test(a_sample_reaches_the_cells_around_it),
      cmocka_unit_test(no_alignment_is_better),
      cmocka_unit_test(two_colours_survive_compression),
      cmocka_unit_test(every_pixel_takes_the_nearest_colour),
      cmocka_unit_test(aes_gives_the_published_example),
      cmocka_unit_test(unit_weights_pass_inputs_on),
      cmocka_unit_test(diffusion_keeps_the_sum),
      cmocka_unit_test(heat_is_neither_made_nor_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
