/* Several matrices in one memory: where to put them so that they do not meet. */
#ifndef BF_REPRODUCE_PLACING_H
#define BF_REPRODUCE_PLACING_H

#include "hash/hash.h"

enum { BF_PLACING_MOST = 4, BF_PLACING_BANKS = 512 };

/* What is read together of two matrices. */
typedef enum bf_placing_mode {
  BF_PLACING_SUM,     /* row i of one with row i of the other, and column i with column i */
  BF_PLACING_PRODUCT, /* every row of one with every column of the other */
} bf_placing_mode;

/* Square matrices of side x side words. */
typedef struct bf_placing {
  bf_placing_mode mode;
  const bf_hash *hash; /* of at most BF_PLACING_BANKS banks */
  uint64_t side;
  unsigned matrices;
  uint64_t base[BF_PLACING_MOST];
} bf_placing;

/* Words of the rows and of the columns of the matrix at base that find their bank taken by another
 * word of the same row or column. */
uint64_t bf_placing_own(const bf_hash *hash, uint64_t side, uint64_t base);
/* Words that find their bank taken when two matrices are read together, less what they have alone.
 */
uint64_t bf_placing_between(const bf_placing *placing, uint64_t a, uint64_t b);
/* How often a row or column of a matrix is read with those of another. */
uint64_t bf_placing_readings(const bf_placing *placing);
/* All conflicts of the placement: each matrix's own as often as it is read, and those between every
 * two, in both orders. */
uint64_t bf_placing_count(const bf_placing *placing);
/* The same, word by word. */
uint64_t bf_placing_count_plainly(const bf_placing *placing);

#endif
