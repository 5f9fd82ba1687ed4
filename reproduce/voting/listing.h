/* The list of edge pixels as braak15, section 4.4.1, describes it (listing.cu). */
#ifndef BF_VOTING_LISTING_H
#define BF_VOTING_LISTING_H

#include "base/base.h"

/* Milliseconds of the fastest and the slowest of several sizes of blocks and numbers of pixels for
 * each thread, and of the fastest where shared memory takes twice as long. */
typedef struct bf_voting_listed {
  double least, most, twice;
} bf_voting_listed;

/* Lists the edges of a picture of BF_VOTING_WIDTH x rows pixels on the GPU called name. Each edge
 * must be there once. */
int bf_voting_listing(const char *name, const uint8_t *edges, uint32_t rows, bool is_quick,
                      bf_voting_listed *listed, bf_diagnostic *diagnostic);

#endif
