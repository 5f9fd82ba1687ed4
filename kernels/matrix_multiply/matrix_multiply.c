/* Driver of the matrix product. */
#include "kernels/corpus.h"

enum { TILE = 16 };

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

static int run_multiply(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
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
  BF_TRY(BF_CORPUS_LAUNCH(device, "matrix_multiply", columns / TILE, rows / TILE, TILE, TILE,
                          diagnostic, &left_at, &right_at, &product_at, &columns, &depth));
  BF_TRY(device->read(device->context, product_at, result, count * sizeof *result, diagnostic));
  /* All terms are positive: each addition rounds by at most 2^-24 of the sum, the reference once.
   */
  bf_corpus_compare_f32(result, reference, count, (depth + 1) * 0x1p-24, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_matrix_multiply[] = {
    {
        .name = "matrix-multiply",
        .folder = "matrix_multiply",
        .summary = "product of matrices of floats, tiles of 16 x 16",
        .difference = "the published control keeps several results per thread in registers",
        .is_control = true,
        .run = run_multiply,
    },
    {0},
};
