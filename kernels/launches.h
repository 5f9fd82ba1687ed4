/* Launches of the kernels with which the simulator is compared with a GPU (reproduce/h200): read
 * from a table and run on any device. The table is tests/data/h200/launches.csv, a line a launch:
 *
 *   set,class,pair,kernel,blocks,threads,shared_bytes,in_words,out_words,n,p,q
 *
 * Lines of one pair do the same, first with bank conflicts and then without. All kernels have the
 * parameters (out, in, n, p, q). Word i of `in` is bf_launch_word(i); `out` begins with zeros. */
#ifndef BF_LAUNCHES_H
#define BF_LAUNCHES_H

#include "kernels/corpus.h"

typedef struct bf_listed_launch {
  char set[8]; /* train or test */
  char kind[24], pair[24], kernel[32];
  uint32_t blocks, threads, shared_bytes;
  uint32_t in_words, out_words;
  uint32_t n, p, q;
} bf_listed_launch;

/* Reads the line at *text and moves behind it; false at the end, or where it is no launch. */
bool bf_launch_read(const char **text, bf_listed_launch *launch);
uint32_t bf_launch_word(uint32_t index);
/* Fills the memory at in and out, whose sizes are at least the launch's, and runs it. */
int bf_launch_run(const bf_device *device, const bf_listed_launch *launch, uint64_t out,
                  uint64_t in, bf_diagnostic *diagnostic);

#endif
