/* Driver of the softmax; the variant is the name of the kernel. */
#include "kernels/corpus.h"

#include <math.h>

enum { ROWS = 64, COLUMNS = 64 }; /* ROWS per block */

static void softmax(const float *row, float *output) {
  double largest = (double)row[0], sum = 0, powers[COLUMNS];
  for (int i = 1; i < COLUMNS; i++)
    largest = fmax(largest, (double)row[i]);
  for (int i = 0; i < COLUMNS; i++)
    sum += powers[i] = exp((double)row[i] - largest);
  for (int i = 0; i < COLUMNS; i++)
    output[i] = (float)(powers[i] / sum);
}

/* Results are at most 1. Relative errors: expf 2^-22 (2 units in the last place) and as much again
 * from rounding its argument, which is below 8; the sum of 64 powers 64 * 2^-24; the quotient
 * 2^-23. */
static const double ALLOWED_ERROR = (4 + 16 + 64 + 2) * 0x1p-24;

static int run_softmax(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  const uint32_t blocks = 24 * run->scale;
  const uint64_t elements = (uint64_t)blocks * ROWS * COLUMNS, bytes = elements * sizeof(float);
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, -4, 4, input, elements);
  for (uint64_t i = 0; i < elements; i += COLUMNS)
    softmax(input + i, reference + i);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {blocks, 1},
      .block = {ROWS, 1},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_softmax[] = {
    {
        .name = "softmax",
        .folder = "softmax",
        .summary = "softmax of rows of 64 floats, a thread per row",
        .variant = "softmax",
        .run = run_softmax,
    },
    {
        .name = "softmax-padded",
        .folder = "softmax",
        .summary = "the same in rows of 65 words",
        .is_padded = true,
        .variant = "softmax_padded",
        .run = run_softmax,
    },
    {0},
};
