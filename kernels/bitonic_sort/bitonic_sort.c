/* Driver of the bitonic sort: a thread for each pair of keys. */
#include "kernels/corpus.h"

static int run_sort(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  return bf_corpus_run_sort(run, 512, outcome, diagnostic);
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
