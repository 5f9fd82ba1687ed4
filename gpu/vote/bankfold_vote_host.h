/* Bankfold, for programs without CUDA: histograms and Hough transforms on the GPU of images that
 * lie in memory of the host. The functions do as their namesakes of bankfold.h do, with the same
 * images, options, results and diagnostics; options->threads is ignored.
 *
 * They are in libbankfold-vote-cuda.so, which gpu/build.sh builds and a program may load while it
 * runs: it then calls bf_gpu_version first, because structures are those of that version's
 * bankfold.h. A GPU that is open belongs to one thread at a time. */
#ifndef BANKFOLD_VOTE_HOST_H
#define BANKFOLD_VOTE_HOST_H

#include "bankfold.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_gpu bf_gpu;

/* The BF_VERSION that the library was built with. */
const char *bf_gpu_version(void);
/* Opens the first GPU. BF_UNSUPPORTED: there is none. */
int bf_gpu_open(bf_gpu **gpu, bf_diagnostic *diagnostic);
/* Frees the GPU's memory; NULL is fine. */
void bf_gpu_close(bf_gpu *gpu);
/* As "NVIDIA H200". */
const char *bf_gpu_name(const bf_gpu *gpu);

int bf_gpu_histogram_u64(bf_gpu *gpu, const bf_pixels *image, const bf_histogram_options *options,
                         uint64_t *counts, bf_diagnostic *diagnostic);
/* Weights are needed, and summed in double. */
int bf_gpu_histogram_f64(bf_gpu *gpu, const bf_pixels *image, const bf_histogram_options *options,
                         double *sums, bf_diagnostic *diagnostic);
/* BF_UNSUPPORTED where the votes of all pixels, as if every one were an edge, exceed 32 bits. Free
 * space->votes with free(), or space with bf_hough_space_clear. */
int bf_gpu_hough_vote(bf_gpu *gpu, const bf_pixels *edges, const bf_hough_options *options,
                      bf_hough_space *space, bf_diagnostic *diagnostic);

#ifdef __cplusplus
}
#endif
#endif
