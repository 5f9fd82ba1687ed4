/* Drivers that benchmarks of several folders share: sorts of blocks of keys, and products of
 * matrices. */
#include "kernels/corpus.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 1024 }; /* per block */

/* ---- Sorts ---- */

static int compare_keys(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/* A quarter of the keys are small, so that many are equal. */
static void fill_keys(unsigned seed, uint32_t *keys, uint64_t count) {
  bf_corpus_random random = bf_corpus_seed(seed);
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bits = bf_corpus_next(&random);
    keys[i] = bits % 4 == 0 ? bits >> 26 : bits;
  }
}

int bf_corpus_run_sort(const bf_corpus_run *run, uint32_t threads, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  const uint32_t blocks = 8 * run->scale;
  const uint64_t elements = (uint64_t)blocks * KEYS, bytes = elements * sizeof(uint32_t);
  uint32_t *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  fill_keys(run->seed, input, elements);
  memcpy(reference, input, bytes);
  for (uint64_t i = 0; i < elements; i += KEYS)
    qsort(reference + i, KEYS, sizeof *reference, compare_keys);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {blocks, 1},
      .block = {threads, 1},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_u32(result, reference, elements, outcome);
  return BF_OK;
}

/* ---- Products of matrices ---- */

/* product (rows x columns) = left (rows x depth) * right (depth x columns). */
static void multiply(const float *left, const float *right, float *product, size_t rows,
                     size_t columns, size_t depth) {
  for (size_t y = 0; y < rows; y++)
    for (size_t x = 0; x < columns; x++) {
      double sum = 0;
      for (size_t k = 0; k < depth; k++)
        sum += (double)left[y * depth + k] * (double)right[k * columns + x];
      product[y * columns + x] = (float)sum;
    }
}

int bf_corpus_run_multiply(const bf_corpus_run *run, uint32_t tile, uint32_t threads,
                           bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t rows = 128 * run->scale, columns = 128, depth = 96;
  const uint64_t left_count = (uint64_t)rows * depth, right_count = (uint64_t)depth * columns;
  const uint64_t count = (uint64_t)rows * columns;
  float *left, *right, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &left, left_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &right, right_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, count, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, left, left_count);
  bf_corpus_fill_f32(&random, 0, 1, right, right_count);
  multiply(left, right, reference, rows, columns, depth);

  uint64_t left_at, right_at, product_at;
  BF_TRY(bf_corpus_upload(device, left, left_count * sizeof *left, &left_at, diagnostic));
  BF_TRY(bf_corpus_upload(device, right, right_count * sizeof *right, &right_at, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, count * sizeof *result, &product_at, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, columns / tile, rows / tile, threads,
                          threads, diagnostic, &left_at, &right_at, &product_at, &columns, &depth));
  BF_TRY(device->read(device->context, product_at, result, count * sizeof *result, diagnostic));
  /* All terms are positive: each addition rounds by at most 2^-24 of the sum, the reference once.
   */
  bf_corpus_compare_f32(result, reference, count, (depth + 1) * 0x1p-24, outcome);
  return BF_OK;
}
