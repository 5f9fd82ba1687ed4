/* Voting by atomic additions in the shared memory of a simulated GPU: the kernels of atomics.cu,
 * each compared with its reference after every run. */
#ifndef BF_VOTE_H
#define BF_VOTE_H

#include "sim/sim.h"

/* Where the copies of a voting space lie (braak15, Table 3.1). */
typedef enum bf_vote_layout {
  BF_VOTE_PLAIN,     /* copy by copy */
  BF_VOTE_PADDED,    /* copy by copy, with a word between */
  BF_VOTE_BIN_MAJOR, /* bin by bin */
  BF_VOTE_LAYOUTS
} bf_vote_layout;
extern const char *const bf_vote_layout_names[BF_VOTE_LAYOUTS];

/* Hashes of banks and locks together (braak13, Table I). */
typedef enum bf_vote_hash { BF_VOTE_NONE, BF_VOTE_XOR, BF_VOTE_ADD, BF_VOTE_HASHES } bf_vote_hash;
extern const char *const bf_vote_hash_names[BF_VOTE_HASHES];

typedef struct bf_vote_space {
  uint32_t bins, copies;
  bf_vote_layout layout;
} bf_vote_space;

/* The words of shared memory that a space takes. */
uint32_t bf_vote_words(const bf_vote_space *space);

/* ---- GPUs ---- */

typedef struct bf_vote_gpu {
  bf_sim_gpu *gpu;
  bf_hash *banks;
  bf_lock_hash locks;
} bf_vote_gpu;

/* GPU name with parameters changed ("sms=1", as many as there are up to NULL). braak13 takes
 * the hash to be free, so hash_cycles is 0 unless changes say otherwise. */
int bf_vote_gpu_create(const char *name, const char *const *changes, bf_vote_hash hash,
                       bf_vote_gpu *gpu, bf_diagnostic *diagnostic);
void bf_vote_gpu_free(bf_vote_gpu *gpu);

/* ---- Runs: results that differ from the reference are BF_BAD_INPUT ---- */

typedef struct bf_vote_outcome {
  uint64_t cycles;
  uint64_t instructions; /* of warps */
  uint64_t shared_wavefronts;
} bf_vote_outcome;

/* The histogram of 12-bit pixels by blocks of threads, each of which takes the same share of them.
 * bins of the space is a power of two, at most 4096. */
typedef struct bf_vote_histogram {
  const uint16_t *pixels;
  uint32_t pixel_count, blocks, threads;
  bf_vote_space space;
} bf_vote_histogram;
int bf_vote_histogram_run(const bf_vote_gpu *gpu, const bf_vote_histogram *histogram,
                          bf_vote_outcome *outcome, bf_diagnostic *diagnostic);
/* Adds to bins what the pixels count for them. */
void bf_vote_histogram_reference(const uint16_t *pixels, uint32_t pixel_count, uint32_t bin_count,
                                 uint32_t *bins);

/* Votes for lines through points, x in the low and y in the high 16 bits, one block per angle.
 * Angles are first, first + step, ... of 120 between 0 and 180 degrees. Bin r of a line counts
 * floor(rho) = r - offset. */
enum { BF_VOTE_ANGLES = 120 };
typedef struct bf_vote_hough {
  const uint32_t *points;
  uint32_t point_count, threads;
  uint32_t first_angle, angle_step, angles;
  uint32_t offset;
  bf_vote_space space;
} bf_vote_hough;
int bf_vote_hough_run(const bf_vote_gpu *gpu, const bf_vote_hough *hough, bf_vote_outcome *outcome,
                      bf_diagnostic *diagnostic);
/* Adds the votes for one line. */
void bf_vote_hough_reference(const bf_vote_hough *hough, float cosine, float sine, uint32_t *line);

/* Cycles of one atomic addition of a warp whose lane l adds to word[l]. */
int bf_vote_latency_run(const bf_vote_gpu *gpu, const uint32_t *word, uint32_t *cycles,
                        bf_diagnostic *diagnostic);

#endif
