/* Driver of the matrix product: a thread for each element of a tile. */
#include "kernels/corpus.h"

static int run_multiply(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  return bf_corpus_run_multiply(run, 16, 16, outcome, diagnostic);
}

const bf_corpus_benchmark bf_corpus_matrix_multiply[] = {
    {
        .name = "matrix-multiply",
        .folder = "matrix_multiply",
        .summary = "product of matrices of floats, tiles of 16 x 16",
        .difference = "the published control keeps several results per thread in registers",
        .is_control = true,
        .variant = "matrix_multiply",
        .run = run_multiply,
    },
    {0},
};
