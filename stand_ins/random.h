/* Inside stand_ins: the generators of cuRAND's stand-in. */
#ifndef RANDOM_H
#define RANDOM_H

#include "stand_in.h"

/* Types and statuses, numbered as in curand.h. */
enum { XORWOW = 101, MRG32K3A = 121, PHILOX = 161 };
enum {
  NOT_INITIALIZED = 101,
  ALLOCATION_FAILED = 102,
  TYPE_ERROR = 103,
  OUT_OF_RANGE = 104,
  NOT_MULTIPLE = 105,
  INITIALIZATION_FAILED = 203,
};

/* ---- Sequences that are cut into parts (curand_sequences.c) ---- */

enum { STATE_WORDS = 6 };

/* The sequence of a seed in parts, each 2^67 numbers (XORWOW) or 2^76 (MRG32k3a) behind the one
 * before it: 4096 of XORWOW and 81920 of MRG32k3a, from which numbers are taken in turn. */
typedef struct sequence sequence;
/* offset: numbers that were taken already. NULL where memory is exhausted. */
sequence *sequence_open(int type, uint64_t seed, uint64_t offset);
void sequence_close(sequence *own);
uint64_t sequence_parts(int type);
/* The next number of a part: XORWOW's of 32 bits, or MRG32k3a's from 1 to its first modulus. */
uint32_t sequence_next(sequence *own, uint64_t part);

/* ---- NVIDIA's library, for what is not here (curand_other.c) ---- */

/* A function of NVIDIA's libcurand, where it is installed; else NULL. */
typedef void other_call(void);
other_call *other_function(const char *name);

#endif
