/* Driver of the matrix product on tensor cores; the variant is the name of the kernel. */
#include "kernels/corpus.h"

enum { TILE = 64, THREADS = 128 };

/* Bits of the half-precision number quarters / 4, for -16 < quarters < 16. */
static uint16_t half_bits(int quarters) {
  uint16_t sign = quarters < 0 ? 0x8000 : 0;
  unsigned size = (unsigned)(quarters < 0 ? -quarters : quarters), exponent = 0;
  if (size == 0)
    return sign;
  while (size >> exponent > 1)
    exponent++;
  /* size / 4 is (1 + fraction) * 2^(exponent - 2); the exponent is stored with 15 added. */
  unsigned fraction = (size << (10 - exponent)) & 0x3ff;
  return (uint16_t)(sign | (exponent + 13) << 10 | fraction);
}

/* Numbers of quarters from -7 to 7, and their bits. */
static void fill(bf_corpus_random *random, int *quarters, uint16_t *bits, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    quarters[i] = (int)(bf_corpus_next(random) % 15) - 7;
    bits[i] = half_bits(quarters[i]);
  }
}

/* product (rows x columns) = left (rows x depth) * right (depth x columns), from quarters. */
static void multiply(const int *left, const int *right, float *product, size_t rows, size_t columns,
                     size_t depth) {
  for (size_t y = 0; y < rows; y++)
    for (size_t x = 0; x < columns; x++) {
      int sixteenths = 0;
      for (size_t k = 0; k < depth; k++)
        sixteenths += left[y * depth + k] * right[k * columns + x];
      product[y * columns + x] = (float)sixteenths / 16;
    }
}

/* Sums of products of quarters are sixteenths and below 2^10, so that single precision holds them
 * exactly in any order of adding. */
static int run_mma(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                   bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t rows = 128 * run->scale, columns = 256, depth = 128;
  const uint64_t left_count = (uint64_t)rows * depth, right_count = (uint64_t)depth * columns;
  const uint64_t count = (uint64_t)rows * columns;
  int *left, *right;
  uint16_t *left_bits, *right_bits;
  float *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &left, left_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &right, right_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &left_bits, left_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &right_bits, right_count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, count, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  fill(&random, left, left_bits, left_count);
  fill(&random, right, right_bits, right_count);
  multiply(left, right, reference, rows, columns, depth);

  uint64_t left_at, right_at, product_at;
  BF_TRY(bf_corpus_upload(device, left_bits, left_count * sizeof *left_bits, &left_at, diagnostic));
  BF_TRY(bf_corpus_upload(device, right_bits, right_count * sizeof *right_bits, &right_at,
                          diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, count * sizeof *result, &product_at, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, run->benchmark->variant, columns / TILE, rows / TILE, THREADS, 1,
                          diagnostic, &left_at, &right_at, &product_at, &columns, &depth));
  BF_TRY(device->read(device->context, product_at, result, count * sizeof *result, diagnostic));
  bf_corpus_compare_f32(result, reference, count, 0, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_gemm_mma[] = {
    {
        .name = "gemm-mma",
        .folder = "gemm_mma",
        .summary = "product of half-precision matrices with ldmatrix and mma",
        .variant = "gemm_mma",
        .run = run_mma,
    },
    {
        .name = "gemm-mma-padded",
        .folder = "gemm_mma",
        .summary = "the same with 16 bytes more per row",
        .is_padded = true,
        .variant = "gemm_mma_padded",
        .run = run_mma,
    },
    {0},
};
