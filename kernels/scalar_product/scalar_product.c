/* Driver of the scalar products. */
#include "kernels/corpus.h"

enum { THREADS = 256, ELEMENTS = 4096 }; /* ELEMENTS per vector */

static float product_of(const float *left, const float *right) {
  double sum = 0;
  for (int i = 0; i < ELEMENTS; i++)
    sum += (double)left[i] * (double)right[i];
  return (float)sum;
}

/* All terms are positive. A partial sum adds 4 products and the tree has 10 levels, each rounding
 * by at most 2^-24 of the sum; the reference is rounded once. */
static const double ALLOWED_ERROR = (4 + 10 + 1) * 0x1p-24;

static int run_products(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t pairs = 48 * run->scale, elements = ELEMENTS;
  const uint64_t count = (uint64_t)pairs * ELEMENTS, bytes = count * sizeof(float);
  float *left, *right, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &left, count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &right, count, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, pairs, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, pairs, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, left, count);
  bf_corpus_fill_f32(&random, 0, 1, right, count);
  for (uint32_t i = 0; i < pairs; i++)
    reference[i] = product_of(left + (size_t)i * ELEMENTS, right + (size_t)i * ELEMENTS);

  uint64_t left_at, right_at, products_at;
  BF_TRY(bf_corpus_upload(device, left, bytes, &left_at, diagnostic));
  BF_TRY(bf_corpus_upload(device, right, bytes, &right_at, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, pairs * sizeof *result, &products_at, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "scalar_product", pairs, 1, THREADS, 1, diagnostic, &left_at,
                          &right_at, &products_at, &elements));
  BF_TRY(device->read(device->context, products_at, result, pairs * sizeof *result, diagnostic));
  bf_corpus_compare_f32(result, reference, pairs, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_scalar_product[] = {
    {
        .name = "scalar-product",
        .folder = "scalar_product",
        .summary = "scalar products of vectors of 4096 floats",
        .is_control = true,
        .run = run_products,
    },
    {0},
};
