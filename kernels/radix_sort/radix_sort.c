/* Driver of the radix sorts: a thread for every four keys. */
#include "kernels/corpus.h"

static int run_sort(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  return bf_corpus_run_sort(run, 256, outcome, diagnostic);
}

const bf_corpus_benchmark bf_corpus_radix_sort[] = {
    {
        .name = "radix-sort",
        .folder = "radix_sort",
        .summary = "sorts 1024 integers four bits at a time, with a scan of 4096 counters",
        .is_data_dependent = true,
        .variant = "radix_sort",
        .run = run_sort,
    },
    {
        .name = "radix-sort-padded",
        .folder = "radix_sort",
        .summary = "the same with a word behind every 32 counters",
        .is_padded = true,
        .is_data_dependent = true,
        .variant = "radix_sort_padded",
        .run = run_sort,
    },
    {0},
};
