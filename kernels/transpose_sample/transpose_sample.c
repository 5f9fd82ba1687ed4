/* Driver of the transposes after a sample; the variant is the name of the kernel. */
#include "kernels/corpus.h"

/* From scale 2 on the height is no multiple of the tile: the last ones are not full. */
static int run_transpose(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                         bf_diagnostic *diagnostic) {
  enum { TILE = 16 };
  const uint32_t width = 256, height = 256 * run->scale - (run->scale - 1);
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(float);
  float *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, 0, 1, input, elements);
  for (uint64_t i = 0; i < elements; i++)
    reference[i % width * height + i / width] = input[i];
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {width / TILE, (height + TILE - 1) / TILE},
      .block = {TILE, TILE},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 2,
      .number = {width, height},
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_f32(result, reference, elements, 0, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_transpose_sample[] = {
    {
        .name = "transpose-sample",
        .folder = "transpose_sample",
        .summary = "matrix transpose as in a sample of NVIDIA's toolkit, tile of 16 x 16 floats",
        .variant = "transpose_sample",
        .run = run_transpose,
    },
    {
        .name = "transpose-sample-padded",
        .folder = "transpose_sample",
        .summary = "the same in rows of 17",
        .is_padded = true,
        .variant = "transpose_sample_padded",
        .run = run_transpose,
    },
    {0},
};
