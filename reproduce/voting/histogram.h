/* Histograms of 12-bit pictures on a simulated GPU in the four ways of braak15. The result of
 * every run is compared with bf_histogram_u32. */
#ifndef BF_VOTING_HISTOGRAM_H
#define BF_VOTING_HISTOGRAM_H

#include "reproduce/voting/device.h"

/* Sections 3.3 to 3.6. */
typedef enum bf_voting_method {
  BF_VOTING_GLOBAL, /* atomics in global memory */
  BF_VOTING_THREAD, /* 64 bins for every thread */
  BF_VOTING_WARP,   /* for every warp, with software atomics */
  BF_VOTING_SHARED, /* for every block, with atomics in shared memory */
  BF_VOTING_METHODS
} bf_voting_method;

typedef struct bf_voting_histogram {
  bf_voting_device device;
  uint32_t pixels;
  uint32_t wanted_256[256], wanted_64[64];
  uint64_t image, tickets, sums, spread, result; /* addresses */
} bf_voting_histogram;

/* A GPU (bf_voting_device_create) with rows of a picture. */
int bf_voting_histogram_create(const char *gpu, unsigned sms, const uint16_t *pixels, uint32_t rows,
                               bf_voting_histogram *histogram, bf_diagnostic *diagnostic);
void bf_voting_histogram_free(bf_voting_histogram *histogram);

/* Bytes of shared memory that a block takes. */
uint64_t bf_voting_histogram_bytes(bf_voting_method method, const bf_voting_choice *choice);
/* Makes the histogram and sets *seconds to the time on the GPU. */
int bf_voting_histogram_run(bf_voting_histogram *histogram, bf_voting_method method,
                            const bf_voting_choice *choice, double *seconds,
                            bf_diagnostic *diagnostic);
/* The same of a picture without pixels. */
int bf_voting_histogram_idle(bf_voting_histogram *histogram, bf_voting_method method,
                             const bf_voting_choice *choice, double *seconds,
                             bf_diagnostic *diagnostic);

#endif
