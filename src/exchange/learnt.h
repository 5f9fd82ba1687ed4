/* exchange/learnt: which version of its kernels a program runs faster with, from one run of the
 * injection library (inject/) to the next: a file for each program (docs/exchange.md). */
#ifndef BF_EXCHANGE_LEARNT_H
#define BF_EXCHANGE_LEARNT_H

#include "base/base.h"

/* Launches of one size of a kernel on one kind of GPU. */
typedef struct bf_learnt_row {
  const char *image;  /* content key of the rewritten code, which hashes are part of */
  const char *kernel; /* as in the PTX */
  const char *gpu;    /* as the driver calls it */
  uint64_t block_x, block_y, block_z;
  uint64_t dynamic_rows; /* of 128 bytes of dynamic shared memory */
  uint64_t grid_bits;    /* of the number of blocks */
  const char *faster;    /* "own", "hashed", or "unknown" */
  const char *own_ns;    /* times of launches that were measured, with commas between */
  const char *hashed_ns;
} bf_learnt_row;

typedef struct bf_learnt {
  bf_arena arena;
  bf_learnt_row *row;
  size_t rows, capacity;
} bf_learnt;

/* Whether both are about the same launches. */
bool bf_learnt_is_same(const bf_learnt_row *a, const bf_learnt_row *b);
/* The row about the same launches; NULL: none. */
const bf_learnt_row *bf_learnt_find(const bf_learnt *learnt, const bf_learnt_row *like);
/* Adds a copy of a row, or puts it in the place of the one about the same launches, unless that
 * knows which version is faster and the new one does not. */
int bf_learnt_add(bf_learnt *learnt, const bf_learnt_row *row, bf_diagnostic *diagnostic);
void bf_learnt_free(bf_learnt *learnt);

/* Adds the rows of a file. */
int bf_learnt_read(const char *path, bf_learnt *learnt, bf_diagnostic *diagnostic);
void bf_learnt_write(const bf_learnt *learnt, bf_text *text);

#endif
