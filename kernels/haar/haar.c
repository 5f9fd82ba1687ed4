/* Driver of the Haar transforms; the variant is the name of the kernel. */
#include "kernels/corpus.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 512 };

/* Transforms SAMPLES numbers level by level: sums to the lower half of what is left, differences
 * to the upper half. */
static void haar(const float *input, float *output) {
  double data[SAMPLES], next[SAMPLES];
  for (int i = 0; i < SAMPLES; i++)
    data[i] = (double)input[i];
  for (int left = SAMPLES; left > 1; left /= 2) {
    for (int i = 0; i < left / 2; i++) {
      next[i] = (data[2 * i] + data[2 * i + 1]) / sqrt(2);
      next[left / 2 + i] = (data[2 * i] - data[2 * i + 1]) / sqrt(2);
    }
    memcpy(data, next, (size_t)left * sizeof *data);
  }
  for (int i = 0; i < SAMPLES; i++)
    output[i] = (float)data[i];
}

/* Each of 9 levels rounds a sum and a product, with a rounded factor: 3 * 2^-24 of a number that is
 * at most sqrt(512) < 23, which all samples at their limit of 1 would make. */
static const double ALLOWED_ERROR = 9 * 3 * 0x1p-24 * 23;

static int run_haar(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const uint32_t blocks = 64 * run->scale;
  const uint64_t elements = (uint64_t)blocks * SAMPLES, bytes = elements * sizeof(float);
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, -1, 1, input, elements);
  for (uint64_t i = 0; i < elements; i += SAMPLES)
    haar(input + i, reference + i);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {blocks, 1},
      .block = {SAMPLES / 2, 1},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_haar[] = {
    {
        .name = "haar",
        .folder = "haar",
        .summary = "Haar wavelet transforms of 512 floats in place",
        .published_name = "dwtHaar1D",
        .variant = "haar",
        .run = run_haar,
    },
    {
        .name = "haar-padded",
        .folder = "haar",
        .summary = "the same with a word behind every 32",
        .is_padded = true,
        .variant = "haar_padded",
        .run = run_haar,
    },
    {0},
};
