/* Driver of the matrix product with float4: 4 x 4 elements of a tile for each thread. */
#include "kernels/corpus.h"

static int run_multiply(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  return bf_corpus_run_multiply(run, 64, 16, outcome, diagnostic);
}

const bf_corpus_benchmark bf_corpus_gemm_float4[] = {
    {
        .name = "gemm-float4",
        .folder = "gemm_float4",
        .summary = "product of matrices of floats, tiles of 64 x 64 read as float4",
        .variant = "gemm_float4",
        .run = run_multiply,
    },
    {
        .name = "gemm-float4-padded",
        .folder = "gemm_float4",
        .summary = "the same with the left tile in rows of 68 words",
        .is_padded = true,
        .variant = "gemm_float4_padded",
        .run = run_multiply,
    },
    {0},
};
