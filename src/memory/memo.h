/* Inside room memory: patterns whose counts are known, and how they are found again. The same table
 * is searched by scalars, AVX2 and AVX-512; bf_memo_best picks at run time. */
#ifndef BF_MEMORY_MEMO_H
#define BF_MEMORY_MEMO_H

#include "memory/memory.h"

enum { BF_MEMO_LANES = 32, BF_MEMO_PATTERNS = 256 };

/* A pattern: addresses relative to a base, 0 for lanes that are not active. */
typedef struct bf_memo {
  _Alignas(64) uint32_t relative[BF_MEMO_LANES];
  uint64_t key;            /* mask in the low half; 0: no pattern */
  int32_t lowest, highest; /* of relative, as signed numbers */
  uint32_t bits;           /* of all relative, or-ed */
  uint64_t number;         /* counts patterns that were new, from 1 on */
  bf_count count;
} bf_memo;

/* The place of the pattern in the table; *found says whether it is there. Else it is put there, all
 * but its count, in place of another. */
typedef bf_memo *bf_memo_find(bf_memo *table, const uint32_t *address, uint64_t key, uint32_t base,
                              bool *found);

/* Whether all active lanes' addresses are at most last, and have none of the bits of `odd`. */
typedef bool bf_memo_fits(const uint32_t *address, uint32_t mask, uint32_t last, uint32_t odd);

/* What 32 banks do for one word of each lane, all lanes at once. */
typedef struct bf_served {
  unsigned words;    /* distinct words in the bank that has most */
  unsigned accesses; /* in the bank that has most */
  unsigned sharing;  /* lanes of the word that most lanes want */
} bf_served;

/* Serves the lanes of a mask that is not 0. Words are address >> shift; their banks are the low 5
 * bits or, under a hash, bank_of_word[word]. Numbers of lanes may be put into owner, one per word,
 * whatever is there. */
typedef bf_served bf_serve_lanes(const uint32_t *address, uint32_t mask, unsigned shift,
                                 const uint8_t *bank_of_word, uint32_t *owner);

typedef struct bf_memo_kernel {
  const char *name;
  bf_memo_find *find;
  bf_memo_fits *fits;
  bf_serve_lanes *serve; /* NULL: no better way than counter.c has */
} bf_memo_kernel;

extern const bf_memo_kernel bf_memo_scalar;
#if defined(__x86_64__)
extern const bf_memo_kernel bf_memo_avx2, bf_memo_avx512;
#endif
/* All that this CPU can run, slowest first; NULL past the last. */
const bf_memo_kernel *bf_memo_available(unsigned index);
const bf_memo_kernel *bf_memo_best(void);
/* Counts with a given kernel, for tests and benchmarks. */
void bf_counter_use(bf_counter *counter, const bf_memo_kernel *kernel);
/* Forgets all patterns. */
void bf_counter_forget(bf_counter *counter);

/* Where in the table a pattern belongs: from the sum of relative[i] * bf_memo_factor[i]. */
extern const uint32_t bf_memo_factor[BF_MEMO_LANES];
static inline uint32_t bf_memo_place(uint32_t sum, uint64_t key) {
  uint64_t mixed = ((uint64_t)sum ^ key) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(mixed >> 56);
}

#endif
