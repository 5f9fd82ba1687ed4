/* analyze/likely: the shapes that blocks of a kernel can have, where no launch is known. */
#ifndef BF_ANALYZE_LIKELY_H
#define BF_ANALYZE_LIKELY_H

#include "ptx/ptx.h"

enum { BF_MOST_LIKELY = 12 };

typedef struct bf_likely {
  uint32_t block[BF_MOST_LIKELY][3]; /* the most likely first */
  unsigned count;
} bf_likely;

/* The required shape; those of as many threads as the kernel is compiled for, which is what it is
 * launched with; else all that are usual, and the answer is true. */
bool bf_likely_find(const bf_ptx_function *kernel, bf_likely *likely);
/* Those that are tried where a kernel fits none of these. */
void bf_likely_find_others(const bf_ptx_function *kernel, bf_likely *likely);
/* One more, unless it is there, or there are many. */
void bf_likely_add(bf_likely *likely, const uint32_t block[3]);
/* Whether a kernel reads another part of the thread index than x. */
bool bf_likely_is_tiled(const bf_ptx_function *kernel);

#endif
