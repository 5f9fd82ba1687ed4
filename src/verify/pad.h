/* Inside room verify: addresses as sums, to judge arrays whose rows are longer.
 *
 * pad.c        what is proven of every access to such an array
 * pad_sum.c    sums of what is not known, and what that is
 * pad_value.c  what registers hold, as such sums
 * pad_range.c  between which numbers they lie
 * pad_facts.c  what follows from branches that were taken and from staying inside arrays
 * tile.c       strides of wmma */
#ifndef BF_VERIFY_PAD_H
#define BF_VERIFY_PAD_H

#include "verify/inner.h"

/* ---- Sums (pad_sum.c) ---- */

typedef enum bf_pad_kind {
  BF_PAD_SPECIAL, /* a special register that stays the same: number and component */
  BF_PAD_SYMBOL,  /* the address of a shared variable */
  BF_PAD_WINDOW,  /* where shared memory begins among generic addresses */
  BF_PAD_MASKED,  /* inner & number */
  BF_PAD_SHIFTED, /* inner >> number, where inner is not negative */
  BF_PAD_FLOORED, /* inner >> number, where inner is a number with a sign */
  BF_PAD_TURN,    /* how often the loop that starts with block `number` came back to its start */
  BF_PAD_MERGE,   /* what register `other` holds at the start of block `number` */
  BF_PAD_OPAQUE,  /* what instruction `number` wrote to register `other` */
} bf_pad_kind;

/* Numbers that are not negative fit in 32 bits; others in 32 bits with a sign. */
typedef struct bf_pad_range {
  int64_t low, high;
} bf_pad_range;

enum {
  BF_PAD_TERMS = 12,
  BF_PAD_DEPTH = 40,    /* values, or ranges, being found one for the other; more are not known */
  BF_PAD_FAR = 1 << 24, /* bytes: no array is larger, and no offset that counts */
};

typedef struct bf_pad_term {
  uint32_t atom;
  int64_t factor; /* not 0 */
} bf_pad_term;

/* constant + factor * atom + ..., modulo 2^32; atoms ascending, unused terms 0. Factors and
 * constant are numbers of 32 bits with a sign. Of registers of 64 bits, the lower half. */
typedef struct bf_pad_sum {
  uint32_t terms;
  int64_t constant;
  bf_pad_term term[BF_PAD_TERMS];
} bf_pad_sum;

typedef enum bf_pad_state { BF_PAD_NEW, BF_PAD_BUSY, BF_PAD_DONE } bf_pad_state;

/* A number of 32 bits of which no more is known. It has one value wherever what defines it was
 * executed before on every path: registers are followed in static single assignment form. */
typedef struct bf_pad_atom {
  bf_pad_kind kind;
  uint32_t number, other;
  const bf_ptx_variable *variable;
  const bf_ptx_operand *operand; /* OPAQUE: what an instruction read, or NULL */
  const bf_pad_sum *inner;
  bf_pad_state ranged; /* range is known; OPAQUE: from the start */
  bf_pad_range range;
  bf_pad_state resolved;
  const bf_pad_sum *meaning; /* MERGE: a sum that it always is; NULL: none */
} bf_pad_atom;

/* A sum of atoms that lies between two numbers while a block is executed. */
typedef struct bf_pad_bound {
  struct bf_pad_bound *next;
  bf_pad_sum sum;
  bf_pad_range range;
} bf_pad_bound;

typedef struct bf_pad_limit {
  struct bf_pad_limit *next;
  uint32_t atom;
  bf_pad_range range;
} bf_pad_limit;

/* What is known in a block. */
typedef struct bf_pad_block {
  bf_pad_state state;
  bf_pad_bound *bounds; /* from accesses in it */
  bf_pad_limit *limits; /* of atoms; those of dominating blocks hold besides */
} bf_pad_block;

/* A function of the rewritten module being judged. */
typedef struct bf_pad {
  bf_verify_body *body;
  const bf_ptx_function *function;
  const bf_ptx_flow *flow;
  bf_ptx_tree tree;
  bf_arena *arena;
  bool no_memory;
  unsigned depth, range_depth; /* values and ranges being found, one for the other */
  bf_table sums, atoms_by_key; /* each once */
  uint32_t atoms, capacity;
  bf_pad_atom **atom;
  uint32_t *first_write;     /* per register and one more: its place in */
  uint32_t *write;           /* instructions that write it, ascending */
  const bf_pad_sum **result; /* per instruction: what it writes, or NULL */
  bf_pad_block *block;
  bool has_facts;      /* accesses are noted: limits can be found */
  uint64_t threads[3]; /* of a block of threads, at most */
} bf_pad;

bf_pad_sum bf_pad_number(int64_t constant);
/* a + factor * b; false where there are too many terms. */
bool bf_pad_add(bf_pad_sum *a, const bf_pad_sum *b, int64_t factor);
bool bf_pad_same(const bf_pad_sum *a, const bf_pad_sum *b);
/* The factor of an atom; 0: it is not there. */
int64_t bf_pad_factor(const bf_pad_sum *sum, uint32_t atom);
/* The sum without the term of an atom. */
bf_pad_sum bf_pad_without(const bf_pad_sum *sum, uint32_t atom);
/* The power of two that divides factors and constant; 32 for 0. */
unsigned bf_pad_zero_bits(const bf_pad_sum *sum);
/* The atom like key, which may be new; any where memory is exhausted: atom 0 is always there. */
uint32_t bf_pad_atom_of(bf_pad *pad, const bf_pad_atom *key);
bf_pad_sum bf_pad_one(uint32_t atom);
/* A copy that is the same for equal sums; NULL: memory is exhausted. */
const bf_pad_sum *bf_pad_keep(bf_pad *pad, const bf_pad_sum *sum);

/* ---- Values (pad_value.c) ---- */

/* Finds what all instructions write; false where memory is exhausted. */
bool bf_pad_evaluate_all(bf_pad *pad);
/* What a register or another operand holds before an instruction. */
bf_pad_sum bf_pad_operand(bf_pad *pad, const bf_ptx_operand *operand, uint32_t before);
/* What a register holds at the end of a block. */
bf_pad_sum bf_pad_at_end(bf_pad *pad, uint32_t number, uint32_t block);
/* The instruction that wrote what a register holds behind a block; UINT32_MAX: not one alone. */
uint32_t bf_pad_writer(bf_pad *pad, uint32_t number, uint32_t block);
/* The sum with merges replaced by what they always are. */
bf_pad_sum bf_pad_expand(bf_pad *pad, bf_pad_sum sum);

/* ---- Tiles of wmma (tile.c) ---- */

/* Why the stride of a tile in an array with longer rows is wrong, or NULL. */
const char *bf_verify_tile_judge(bf_pad *pad, uint32_t number, uint64_t row, uint64_t unused);

/* ---- Ranges (pad_range.c) ---- */

/* Wherever its atoms have a value. */
bf_pad_range bf_pad_range_of(bf_pad *pad, const bf_pad_sum *sum);
/* The same in a block; the number of blocks: wherever. */
bf_pad_range bf_pad_range_in(bf_pad *pad, const bf_pad_sum *sum, uint32_t block);

/* ---- Facts (pad_facts.c) ---- */

/* A comparison that decides about a branch: sum (relation) 0 as whole numbers, where both sides are
 * in the domain of the comparison. */
typedef enum bf_pad_relation {
  BF_PAD_LT,
  BF_PAD_LE,
  BF_PAD_GT,
  BF_PAD_GE,
  BF_PAD_EQ,
  BF_PAD_NE
} bf_pad_relation;

typedef struct bf_pad_test {
  bf_pad_relation relation;
  bool is_unsigned;
  bf_pad_sum left, right;
} bf_pad_test;

/* What holds when control goes from one block to another; false: nothing is known. */
bool bf_pad_test_of(bf_pad *pad, uint32_t from, uint32_t to, bf_pad_test *test);
/* Notes that an access of a block stays inside an array. */
bool bf_pad_note_access(bf_pad *pad, uint32_t block, const bf_pad_sum *offset, int64_t most);
/* The limits of the atoms of a block. */
const bf_pad_limit *bf_pad_limits(bf_pad *pad, uint32_t block);

#endif
