/* Bankfold, for CUDA programs: histograms and Hough transforms on the GPU.
 *
 * Images, options and results are those of bankfold.h, except that image data, masks, weights and
 * results lie in memory of the device; edges of bins lie in memory of the host. Calls return as
 * soon as the work is queued on the stream. They return 0 or a negative bf_error, and then queue
 * nothing; BF_IO stands for an error of CUDA, which cudaGetLastError names.
 *
 *     size_t bytes = 0;
 *     bf_cuda_histogram_u32(NULL, &bytes, &image, &options, NULL, counts, stream);
 *     cudaMalloc(&workspace, bytes);
 *     bf_cuda_workspace_clear(workspace, bytes, stream);
 *     bf_cuda_histogram_u32(workspace, &bytes, &image, &options, NULL, counts, stream);
 *
 * A workspace is cleared once. Every call leaves it clear, so that a histogram is a single kernel;
 * calls that share a workspace must not overlap in time. */
#ifndef BANKFOLD_VOTE_CUDA_H
#define BANKFOLD_VOTE_CUDA_H

#include "bankfold.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* Ways to make a histogram; docs/vote_gpu.md describes them. PACKED, the fast one, takes one
 * channel without a mask, at addresses that are multiples of the pixel's size, in even bins. PLAIN
 * takes everything. The others, of published work, take 8- and 16-bit pixels of one channel in one
 * piece (no stride, no mask) and bins of 2^n values from 0 on. */
typedef enum bf_cuda_method {
  BF_CUDA_PACKED,
  BF_CUDA_PLAIN,
  BF_CUDA_GLOBAL,
  BF_CUDA_SHARED,
  BF_CUDA_THREAD_BYTES,       /* a histogram per thread, counters of 8 bits */
  BF_CUDA_THREAD_HALVES,      /* of 16 bits, bin by bin: two threads share a bank */
  BF_CUDA_THREAD_BANKS,       /* of 16 bits, every thread of a warp has its bank */
  BF_CUDA_THREAD_WORDS,       /* of 32 bits */
  BF_CUDA_WARP_SOFTWARE,      /* a histogram per warp, with tagged counters and no atomics */
  BF_CUDA_WARP_SHUFFLED,      /* the same, of pixels that a kernel has rearranged before */
  BF_CUDA_WARP_STRIDED,       /* the same, threads read pixels that are far apart */
  BF_CUDA_WARP_ATOMIC,        /* with atomics */
  BF_CUDA_WARP_ATOMIC_STRIDED /* both */
} bf_cuda_method;

/* Where copies of a histogram lie. BF_CUDA_HASHED is copy by copy, with the number of the copy
 * xor-ed into the bank. */
typedef enum bf_cuda_layout {
  BF_CUDA_BIN_BY_BIN,
  BF_CUDA_COPY_BY_COPY,
  BF_CUDA_PADDED,
  BF_CUDA_HASHED
} bf_cuda_layout;

/* A way with its parameters. 0 leaves a parameter to the way. */
typedef struct bf_cuda_choice {
  bf_cuda_method method;
  bf_cuda_layout layout;  /* GLOBAL, SHARED and weights */
  unsigned copies;        /* 1, 2, 4 ... 32 of the histogram in a block */
  unsigned threads;       /* in a block: 32, 64 ... 1024 */
  unsigned blocks_per_sm; /* of the grid */
  unsigned loads;         /* PACKED: 1, 2 or 4 loads of 16 bytes at a time */
} bf_cuda_choice;

/* Bytes that a workspace of these functions begins with are zero between calls. */
int bf_cuda_workspace_clear(void *workspace, size_t workspace_bytes, struct CUstream_st *stream);

/* As bf_histogram_u32, _u64 and _f64. workspace NULL: workspace_bytes becomes what is needed, and
 * nothing else happens. choice NULL: what bf_cuda_default says.
 * options->threads is ignored. A 32-bit count that overflows stays at UINT32_MAX. Weights of
 * BF_CUDA_SHARED and BF_CUDA_PACKED are summed in single precision inside a block and in double
 * from there on, those of BF_CUDA_PLAIN in double. */
int bf_cuda_histogram_u32(void *workspace, size_t *workspace_bytes, const bf_pixels *image,
                          const bf_histogram_options *options, const bf_cuda_choice *choice,
                          uint32_t *counts, struct CUstream_st *stream);
int bf_cuda_histogram_u64(void *workspace, size_t *workspace_bytes, const bf_pixels *image,
                          const bf_histogram_options *options, const bf_cuda_choice *choice,
                          uint64_t *counts, struct CUstream_st *stream);
int bf_cuda_histogram_f64(void *workspace, size_t *workspace_bytes, const bf_pixels *image,
                          const bf_histogram_options *options, const bf_cuda_choice *choice,
                          double *sums, struct CUstream_st *stream);

/* Ways of a Hough transform. CONSTANT takes Cartesian spaces with rho_step 1, without weights. */
typedef enum bf_cuda_hough_method {
  BF_CUDA_HOUGH_BEST,
  BF_CUDA_HOUGH_GLOBAL,   /* every edge pixel votes with global atomics */
  BF_CUDA_HOUGH_TWO_STEP, /* a list of edge pixels, then one block per angle in shared memory */
  BF_CUDA_HOUGH_CONSTANT  /* pixels as bits, rows shifted and summed, no atomics */
} bf_cuda_hough_method;

typedef struct bf_cuda_hough_choice {
  bf_cuda_hough_method method;
  bf_cuda_layout layout; /* GLOBAL and TWO_STEP; not BF_CUDA_HASHED */
  unsigned copies;       /* of the space (GLOBAL) or of a line of it (TWO_STEP): 1 to 8 */
  unsigned threads;      /* in a block */
  unsigned angles;       /* TWO_STEP: 1, 2, 4 or 8 that a block votes for */
  unsigned slices;       /* TWO_STEP: parts of the list, each for other blocks */
  unsigned edge_percent; /* BEST: edge pixels in 100 that are expected; 0: few, as edges are */
} bf_cuda_hough_choice;

/* The size and the angles of the space for an image: all of space but votes and points. */
int bf_cuda_hough_shape(const bf_pixels *edges, const bf_hough_options *options,
                        bf_hough_space *space);
/* As bf_hough_vote, for a mask too: votes[angle * rhos + bin] on the device, where angles and rhos
 * are those of bf_cuda_hough_shape. The number of edge pixels is not returned. */
int bf_cuda_hough_vote(void *workspace, size_t *workspace_bytes, const bf_pixels *edges,
                       const bf_hough_options *options, const bf_cuda_hough_choice *choice,
                       uint32_t *votes, struct CUstream_st *stream);

/* Tries ways of making this histogram, of counts or of weights, and adds the fastest to the file,
 * which is replaced as a whole; best may be NULL. Waits for the GPU. Nothing but the time that it
 * takes depends on the data, so a picture that is like those to come is best. path NULL:
 * $BANKFOLD_VOTE_TUNED, or else ~/.cache/bankfold/vote.tuned. */
int bf_cuda_tune(const char *path, const bf_pixels *image, const bf_histogram_options *options,
                 bf_cuda_choice *best);
/* The choice that the file has for this GPU and problem; BF_UNSUPPORTED: none. Problems are alike
 * where pixel type, weights and bins are equal and sizes are within the same power of two. */
int bf_cuda_tuned(const char *path, const bf_pixels *image, const bf_histogram_options *options,
                  bf_cuda_choice *choice);
/* What choice NULL means: the choice that bf_cuda_tune saved for this GPU and problem in the file
 * of path NULL, where it can do what is asked for, or else parameters that were measured on an
 * H200. The file is read once in a process, at the first call; what is tuned later holds from the
 * next process on, and where bf_cuda_tuned's choice is given. */
int bf_cuda_default(const bf_pixels *image, const bf_histogram_options *options,
                    bf_cuda_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
