/* How much work benchmarks are, so that sweeps can begin with the longest. */
#ifndef BF_CORPUS_SIZES_H
#define BF_CORPUS_SIZES_H

#include "kernels/corpus.h"

/* Benchmarks whose instructions were counted, each once for a scale. Begins as {0}. */
typedef struct bf_corpus_sizes {
  struct bf_corpus_size *size;
  size_t count;
} bf_corpus_sizes;

/* Warp instructions of a benchmark, by the emulator; 0 where it does not run or memory is
 * exhausted.
 */
uint64_t bf_corpus_sizes_get(bf_corpus_sizes *sizes, const bf_corpus_benchmark *benchmark,
                             unsigned scale, unsigned seed);
void bf_corpus_sizes_free(bf_corpus_sizes *sizes);

#endif
