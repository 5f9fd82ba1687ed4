/* Inside room ncu: rows of comma-separated fields. */
#ifndef BF_NCU_CSV_H
#define BF_NCU_CSV_H

#include "base/base.h"

enum { BF_CSV_MOST_FIELDS = 8192 };

typedef struct bf_csv {
  const char *at, *end;
  uint64_t line; /* of the row that was read last, from 1 */
  uint64_t next_line;
  bf_arena *arena;    /* of the fields */
  unsigned fields;    /* of that row */
  const char **field; /* room for BF_CSV_MOST_FIELDS */
} bf_csv;

/* Reads a row whose fields may be in quotes; false at the end, and where memory is exhausted
 * (has_failed). */
bool bf_csv_next(bf_csv *csv, bool *has_failed);

#endif
