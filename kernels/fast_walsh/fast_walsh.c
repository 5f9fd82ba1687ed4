/* Driver of the Walsh transform. */
#include "kernels/corpus.h"

enum { POINTS = 2048, THREADS = POINTS / 4, DIFFERENT = 16 };

/* The transform by its definition. */
static void walsh(const float *input, float *output) {
  for (unsigned i = 0; i < POINTS; i++) {
    double sum = 0;
    for (unsigned j = 0; j < POINTS; j++)
      sum += __builtin_parity(i & j) ? -(double)input[j] : (double)input[j];
    output[i] = (float)sum;
  }
}

/* The inputs are integers below 2^11, so that sums of 2^11 of them are exact. */
static int run_walsh(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                     bf_diagnostic *diagnostic) {
  const uint32_t blocks = DIFFERENT * run->scale;
  const uint64_t elements = (uint64_t)blocks * POINTS;
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  for (uint64_t i = 0; i < DIFFERENT * POINTS; i++)
    input[i] = (float)(bf_corpus_next(&random) >> 21) - 1024;
  for (uint64_t i = 0; i < DIFFERENT * POINTS; i += POINTS)
    walsh(input + i, reference + i);
  bf_corpus_repeat(input, DIFFERENT * POINTS * sizeof *input, elements * sizeof *input);
  bf_corpus_repeat(reference, DIFFERENT * POINTS * sizeof *input, elements * sizeof *reference);
  const bf_corpus_map map = {
      .kernel = "fast_walsh",
      .grid = {blocks, 1},
      .block = {THREADS, 1},
      .input = input,
      .input_bytes = elements * sizeof *input,
      .result = result,
      .result_bytes = elements * sizeof *result,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, 0, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_fast_walsh[] = {
    {
        .name = "fast-walsh",
        .folder = "fast_walsh",
        .summary = "Walsh transforms of 2048 floats, two levels a pass",
        .published_name = "FWT",
        .difference = "the published parameters are for strides 512 to 2; the last level, with "
                      "threads two words apart, is counted here too",
        .run = run_walsh,
    },
    {0},
};
