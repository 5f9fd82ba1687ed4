/* Driver of the tree reductions; the variant is the name of the kernel. */
#include "kernels/corpus.h"

enum { BLOCK = 256 }; /* threads, and floats per sum */

/* The sum of BLOCK floats. */
static float sum_of(const float *values) {
  double sum = 0;
  for (int i = 0; i < BLOCK; i++)
    sum += (double)values[i];
  return (float)sum;
}

/* The inputs are positive and the tree adds in 8 steps, each off by at most 2^-24 of the sum; the
 * reference is rounded once: 9 * 2^-24 in all. */
static const double ALLOWED_ERROR = 9 * 0x1p-24;

static int run_reduction(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  const uint32_t blocks = 128 * run->scale;
  const uint64_t elements = (uint64_t)blocks * BLOCK;
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, blocks, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, blocks, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, input, elements);
  for (uint32_t i = 0; i < blocks; i++)
    reference[i] = sum_of(input + (size_t)i * BLOCK);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {blocks, 1},
      .block = {BLOCK, 1},
      .input = input,
      .input_bytes = elements * sizeof *input,
      .result = result,
      .result_bytes = blocks * sizeof *result,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, blocks, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_reduction[] = {
    {
        .name = "reduction",
        .folder = "reduction",
        .summary = "sums of 256 floats by an interleaved tree",
        .published_name = "reduction",
        .variant = "reduction_interleaved",
        .run = run_reduction,
    },
    {
        .name = "reduction-sample",
        .folder = "reduction",
        .summary = "the same in a loop, as in a sample of NVIDIA's toolkit",
        .variant = "reduction_sample",
        .run = run_reduction,
    },
    {
        .name = "reduction-sequential",
        .folder = "reduction",
        .summary = "sums of 256 floats by a sequential tree",
        .is_control = true,
        .variant = "reduction_sequential",
        .run = run_reduction,
    },
    {0},
};
