/* Driver of the bitonic sort; the variant is the name of the kernel. */
#include "kernels/corpus.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 1024, THREADS = KEYS / 2 }; /* per block */

static int compare_keys(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/* A quarter of the keys are small, so that many are equal. */
static void fill_keys(unsigned seed, uint32_t *keys, uint64_t count) {
  bf_corpus_random random = bf_corpus_seed(seed);
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bits = bf_corpus_next(&random);
    keys[i] = bits % 4 == 0 ? bits >> 26 : bits;
  }
}

static int run_sort(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const uint32_t blocks = 8 * run->scale;
  const uint64_t elements = (uint64_t)blocks * KEYS, bytes = elements * sizeof(uint32_t);
  uint32_t *input, *reference, *result;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  fill_keys(run->seed, input, elements);
  memcpy(reference, input, bytes);
  for (uint64_t i = 0; i < elements; i += KEYS)
    qsort(reference + i, KEYS, sizeof *reference, compare_keys);
  const bf_corpus_map map = {
      .kernel = run->benchmark->variant,
      .grid = {blocks, 1},
      .block = {THREADS, 1},
      .input = input,
      .input_bytes = bytes,
      .result = result,
      .result_bytes = bytes,
  };
  BF_TRY(bf_corpus_apply(run->device, &map, diagnostic));
  bf_corpus_compare_u32(result, reference, elements, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_bitonic_sort[] = {
    {
        .name = "bitonic-sort",
        .folder = "bitonic_sort",
        .summary = "sorts 1024 integers by a bitonic network",
        .variant = "bitonic_sort",
        .run = run_sort,
    },
    {0},
};
