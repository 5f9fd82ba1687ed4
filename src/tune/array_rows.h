/* tune/array_rows: rows of arrays in shared memory, as far as accesses tell of them.
 *
 * PTX does not say how long the rows of an array are. Accesses do: in a tile, lanes that do not lie
 * beside each other lie whole rows apart, or one column beside that. */
#ifndef BF_TUNE_ARRAY_ROWS_H
#define BF_TUNE_ARRAY_ROWS_H

#include "access/access.h"

enum { BF_ARRAY_ROWS = 8 };

typedef struct bf_array_row {
  uint64_t bytes;
  unsigned element_bytes; /* of the accesses that go from row to row */
} bf_array_row;

/* The lengths of rows that fit all accesses of a kernel which follow a pattern, the shortest first;
 * returns how many, at most BF_ARRAY_ROWS. */
unsigned bf_array_rows_find(const bf_workload *workload, unsigned lanes,
                            bf_array_row row[BF_ARRAY_ROWS]);

#endif
