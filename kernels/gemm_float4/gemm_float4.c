/* Driver of the matrix product with float4; the variant is the name of the kernel. */
#include "kernels/corpus.h"

enum { TILE = 64, THREADS = 16 }; /* blocks of THREADS x THREADS */

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
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, columns / TILE, rows / TILE, THREADS,
                          THREADS, diagnostic, &left_at, &right_at, &product_at, &columns, &depth));
  BF_TRY(device->read(device->context, product_at, result, count * sizeof *result, diagnostic));
  /* All terms are positive: each addition rounds by at most 2^-24 of the sum, the reference once.
   */
  bf_corpus_compare_f32(result, reference, count, (depth + 1) * 0x1p-24, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_gemm_float4[] = {
    {
        .name = "gemm-float4",
        .folder = "gemm_float4",
        .summary = "product of matrices of floats, tiles of 64 x 64 read as float4",
        .variant = "gemm_float4",
        .run = run_multiply,
    },
    {
        .name = "gemm-float4-padded",
        .folder = "gemm_float4",
        .summary = "the same with the left tile in rows of 68 words",
        .is_padded = true,
        .variant = "gemm_float4_padded",
        .run = run_multiply,
    },
    {0},
};
