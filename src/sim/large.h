/* Inside room sim: tables that are looked up all over. Where they are large they ask for large
 * pages: the host remembers where few of them are, and finding out again takes longer than the look
 * itself. */
#ifndef BF_SIM_LARGE_H
#define BF_SIM_LARGE_H

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Zeroed memory that begins with a line of the host's cache, to be freed by free; NULL: there is
 * none.
 */
static inline void *bf_sim_large_alloc(size_t bytes) {
  enum { HOST_LINE_BYTES = 64, HUGE_BYTES = 1 << 21 };
  size_t unit = bytes < HUGE_BYTES / 2 ? HOST_LINE_BYTES : HUGE_BYTES;
  size_t whole = (bytes / unit + 1) * unit;
  void *made = aligned_alloc(unit, whole);
  if (!made)
    return NULL;
#ifdef MADV_HUGEPAGE /* of Linux, and a wish: nothing depends on it */
  if (unit == HUGE_BYTES)
    madvise(made, whole, MADV_HUGEPAGE);
#endif
  return memset(made, 0, whole);
}

#endif
