/* What the document (van den Braak et al., Configurable XOR hash functions for banked scratchpad
 * memories in GPUs, IEEE TC 2016) says about the benchmarks that kernels/ stands for: the hashes of
 * its Table 5 and the conflicts removed on average, Table 6. */
#ifndef BF_PUBLISHED_H
#define BF_PUBLISHED_H

#include "base/base.h"

enum { BF_PUBLISHED_METHODS = 5 };
/* The columns of Table 5. */
extern const char *const bf_published_methods[BF_PUBLISHED_METHODS];
/* Table 6: percent of the conflicts that each method removes, averaged over all benchmarks; the
 * fixed hash removes BF_PUBLISHED_FIXED_PERCENT. */
extern const unsigned bf_published_percent[BF_PUBLISHED_METHODS];
enum { BF_PUBLISHED_FIXED_PERCENT = 86 };

typedef struct bf_published_row {
  const char *name;
  bool from_trace; /* else from an analysis of the source */
  const char *hash[BF_PUBLISHED_METHODS];
} bf_published_row;
extern const bf_published_row bf_published_rows[]; /* ends with a NULL name */

/* The row called name, or NULL. */
const bf_published_row *bf_published_find(const char *name);

#endif
