/* Driver of the row-wise scans; the variant is the name of the kernel. */
#include "kernels/corpus.h"

enum { ROWS = 8 }; /* per block */

/* Running sums of each row, modulo 2^32. */
static void scan(const uint32_t *input, size_t width, size_t height, uint32_t *output) {
  for (size_t y = 0; y < height; y++) {
    uint32_t sum = 0;
    for (size_t x = 0; x < width; x++)
      output[y * width + x] = sum += input[y * width + x];
  }
}

static int run_scan(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const uint32_t width = 512, height = 128 * run->scale;
  const uint64_t elements = (uint64_t)width * height, bytes = elements * sizeof(uint32_t);
  uint32_t *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_u32(&random, input, elements);
  scan(input, width, height, reference);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {height / ROWS, 1},
      .block = {32, ROWS},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
      .numbers = 1,
      .number = {width},
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_u32(result, reference, elements, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_matrix_scan[] = {
    {
        .name = "matrix-scan",
        .folder = "matrix_scan",
        .summary = "running sums of the rows of a matrix, 8 elements a thread",
        .published_name = "matrix scan",
        .difference = "the published code is not described; its parameters are those of threads "
                      "that lie 8 words apart, as here",
        .variant = "matrix_scan",
        .run = run_scan,
    },
    {
        .name = "matrix-scan-padded",
        .folder = "matrix_scan",
        .summary = "the same with a word behind every 32",
        .is_padded = true,
        .variant = "matrix_scan_padded",
        .run = run_scan,
    },
    {0},
};
