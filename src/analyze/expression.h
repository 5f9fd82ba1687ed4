/* Inside room analyze: symbolic values of registers, for all threads of a block at once.
 *
 * A value is a number in a table of expressions; equal expressions are the same number. Sums of
 * terms with whole coefficients, modulo 2^bits, are kept apart from all other operations, so that
 * what is affine can be seen to be. Atoms stand for what is not computed: the thread index, whose
 * value in each thread is known, and everything that is not known before the kernel runs. */
#ifndef BF_ANALYZE_EXPRESSION_H
#define BF_ANALYZE_EXPRESSION_H

#include "base/base.h"

typedef uint32_t bf_expression;

/* The value of a register that was never written. */
enum { BF_UNDEFINED = 0 };
enum { BF_MOST_BLOCK_THREADS = 1024, BF_MASK_WORDS = BF_MOST_BLOCK_THREADS / 64 };

typedef enum bf_expression_kind {
  BF_EXPRESSION_UNDEFINED,
  BF_EXPRESSION_CONSTANT,
  BF_EXPRESSION_ATOM,
  BF_EXPRESSION_SUM,       /* constant + coefficient * term + ... */
  BF_EXPRESSION_OPERATION, /* operation(a, b, c) */
  BF_EXPRESSION_BLEND,     /* a in the threads of a mask, b in the others */
  BF_EXPRESSION_SELECT,    /* a ? b : c, where a has 1 bit */
  BF_EXPRESSION_LANES,     /* a number per thread, listed */
} bf_expression_kind;

/* Every operation that is not a sum: enum, text between operands or before them, and how it is
 * written: 0 name(a, b, c), 1 a name b, 2 a (changes of width are not written). */
#define BF_OPERATIONS(X)                                                                           \
  X(MUL, "*", 1)                                                                                   \
  X(MUL_HIGH_S, "mulhi", 0)                                                                        \
  X(MUL_HIGH_U, "umulhi", 0)                                                                       \
  X(DIV_S, "/", 1)                                                                                 \
  X(DIV_U, "/", 1)                                                                                 \
  X(REM_S, "%", 1)                                                                                 \
  X(REM_U, "%", 1)                                                                                 \
  X(MIN_S, "min", 0)                                                                               \
  X(MIN_U, "min", 0)                                                                               \
  X(MAX_S, "max", 0)                                                                               \
  X(MAX_U, "max", 0)                                                                               \
  X(ABS, "abs", 0)                                                                                 \
  X(AND, "&", 1)                                                                                   \
  X(OR, "|", 1)                                                                                    \
  X(XOR, "^", 1)                                                                                   \
  X(SHL, "<<", 1)                                                                                  \
  X(SHR_S, ">>", 1)                                                                                \
  X(SHR_U, ">>", 1)                                                                                \
  X(SIGN_EXTEND, "", 2)                                                                            \
  X(ZERO_EXTEND, "", 2)                                                                            \
  X(TRUNCATE, "", 2)                                                                               \
  X(BFE_S, "bfe", 0)                                                                               \
  X(BFE_U, "bfe", 0)                                                                               \
  X(BFI_MASK, "field", 0) /* the bits that bfi replaces: b bits from bit a on */                   \
  X(PRMT, "prmt", 0)                                                                               \
  X(POPC, "popc", 0)                                                                               \
  X(CLZ, "clz", 0)                                                                                 \
  X(BREV, "brev", 0)                                                                               \
  X(BFIND_S, "bfind", 0)                                                                           \
  X(BFIND_U, "bfind", 0)                                                                           \
  X(EQUAL, "==", 1)                                                                                \
  X(LESS_S, "<", 1)                                                                                \
  X(LESS_U, "<", 1)

typedef enum bf_operation {
#define X(symbol, name, form) BF_DO_##symbol,
  BF_OPERATIONS(X)
#undef X
      BF_OPERATION_COUNT
} bf_operation;

typedef enum bf_atom_kind {
  BF_ATOM_THREAD,  /* thread index: known in each thread; number says x, y or z */
  BF_ATOM_SHARED,  /* address of a shared variable: known */
  BF_ATOM_WINDOW,  /* where shared memory begins among generic addresses: known */
  BF_ATOM_BLOCK,   /* block index; number says x, y or z */
  BF_ATOM_GRID,    /* grid size; number says x, y or z */
  BF_ATOM_PARAM,   /* kernel parameter */
  BF_ATOM_COUNTER, /* iterations of a loop done so far */
  BF_ATOM_CARRIED, /* what a register holds when an iteration begins */
  BF_ATOM_AFTER,   /* what a loop leaves behind */
  BF_ATOM_LOADED,  /* read from memory */
  BF_ATOM_COMPUTED /* by an instruction that is not followed */
} bf_atom_kind;

typedef struct bf_atom {
  bf_atom_kind kind;
  unsigned bits;
  bool is_uniform; /* the same in all threads of the block */
  bool is_known;
  bool is_named;   /* may hold the address of a variable */
  uint64_t line;   /* in the PTX: where it comes from; 0 if nowhere */
  uint64_t number; /* known and uniform: its value; else what kind says */
  char name[64];   /* in formulas */
  char why[96];    /* in words, for what is unknown: "parameter n" */
} bf_atom;

typedef struct bf_term {
  bf_expression value;
  int64_t coefficient;
} bf_term;

typedef struct bf_node {
  bf_expression_kind kind;
  unsigned bits; /* 1, 8, 16, 32 or 64 */
  bf_operation operation;
  bool is_uniform;
  bool is_known;  /* in every thread */
  bool is_named;  /* holds the address of a variable, which formulas shall show */
  uint32_t depth; /* of the expression */
  bf_expression a, b, c;
  uint64_t number; /* CONSTANT: value; ATOM: which; BLEND: mask; SUM: constant */
  uint32_t terms;  /* SUM: sorted by value */
  bf_term *term;
  uint64_t *lane;     /* LANES: per thread */
  uint32_t next;      /* in its chain of the hash table */
  bf_expression same; /* a simpler value that is equal in every thread of the block, or 0 */
} bf_node;

/* Values in each thread of the block, and in which of them they are known. */
typedef struct bf_lanes {
  uint64_t known[BF_MASK_WORDS];
  uint64_t value[];
} bf_lanes;

typedef struct bf_expressions {
  bf_arena arena;
  uint32_t block[3];
  unsigned threads, mask_words;
  bf_node *node;
  uint32_t nodes, node_capacity;
  uint32_t *slot; /* hash table of chains */
  uint32_t slots;
  bf_atom *atom;
  uint32_t atoms, atom_capacity;
  uint64_t (*mask)[BF_MASK_WORDS];
  uint32_t masks, mask_capacity;
  bf_lanes **memo;   /* per node, or NULL */
  bf_lanes *nothing; /* of values of which nothing is known in any thread; all share it */
  uint32_t memo_capacity;
  uint32_t memos;
  uint32_t *mark;      /* per node: the last walk that met it (formula.c), */
  bf_expression *done; /* and what became of it there */
  uint32_t mark_capacity, walks;
  uint32_t listed; /* LANES nodes */
  uint64_t spread; /* not 0: unknown atoms are numbers below it, drawn for each thread */
  uint64_t work;   /* values computed in single threads, and nodes looked up */
  bool failed;     /* out of memory: all values are undefined from then on */
  bool is_full;    /* out of room: new values are unknown */
  bf_expression thread[3];
  bf_expression too_large[5]; /* of 1, 8, 16, 32 and 64 bits */
} bf_expressions;

int bf_expressions_create(bf_expressions *values, const uint32_t block[3]);
void bf_expressions_free(bf_expressions *values);

static inline const bf_node *bf_node_of(const bf_expressions *values, bf_expression value) {
  return &values->node[value];
}

/* ---- Making values ---- */

bf_expression bf_expression_constant(bf_expressions *values, unsigned bits, uint64_t number);
bf_expression bf_expression_atom(bf_expressions *values, const bf_atom *atom);
/* a + coefficient * b, both of the same bits. */
bf_expression bf_expression_add(bf_expressions *values, bf_expression a, bf_expression b,
                                int64_t coefficient);
bf_expression bf_expression_scale(bf_expressions *values, bf_expression a, int64_t coefficient);
bf_expression bf_expression_multiply(bf_expressions *values, bf_expression a, bf_expression b);
bf_expression bf_expression_operate(bf_expressions *values, bf_operation operation, unsigned bits,
                                    bf_expression a, bf_expression b, bf_expression c);
/* a with the given bits: cut off, or extended by its sign or by zeros. */
bf_expression bf_expression_convert(bf_expressions *values, bf_expression a, unsigned bits,
                                    bool is_signed);
bf_expression bf_expression_not(bf_expressions *values, bf_expression a);
bf_expression bf_expression_blend(bf_expressions *values, uint32_t mask, bf_expression a,
                                  bf_expression b);
bf_expression bf_expression_select(bf_expressions *values, bf_expression predicate, bf_expression a,
                                   bf_expression b);
/* value with each atom of from[] replaced by the value in to[]. */
bf_expression bf_expression_substitute(bf_expressions *values, bf_expression value,
                                       const bf_expression *from, const bf_expression *to,
                                       unsigned count);

/* ---- Masks: sets of threads, each kept once ---- */

/* The number of a mask; 0 is the empty one, 1 that of all threads. */
uint32_t bf_mask_intern(bf_expressions *values, const uint64_t *words);
static inline const uint64_t *bf_mask_of(const bf_expressions *values, uint32_t mask) {
  return values->mask[mask];
}
static inline bool bf_mask_has(const uint64_t *words, unsigned thread) {
  return words[thread / 64] >> thread % 64 & 1;
}
bool bf_mask_contains(const bf_expressions *values, uint32_t mask, uint32_t part);
bool bf_mask_meets(const bf_expressions *values, uint32_t mask, uint32_t other);

/* ---- Looking at values ---- */

bool bf_expression_is_constant(const bf_expressions *values, bf_expression value, uint64_t *number);
/* The value in each thread. NULL when out of memory. Valid until the next call. */
const bf_lanes *bf_expression_evaluate(bf_expressions *values, bf_expression value);
/* Gives back the memory of values that were computed. */
void bf_expressions_forget(bf_expressions *values);
bool bf_lanes_all_known(const bf_expressions *values, const bf_lanes *lanes);
/* Operation on one thread's numbers; false where the result is not defined. */
bool bf_operate(bf_operation operation, unsigned bits, unsigned operand_bits, const uint64_t *in,
                uint64_t *out);
/* Calls found for each unknown atom in value, once; stops when it returns false. */
void bf_expression_unknowns(bf_expressions *values, bf_expression value,
                            bool (*found)(void *context, const bf_atom *atom, uint32_t number),
                            void *context);
/* Whether all atoms in value are older than atom number `before`. */
bool bf_expression_is_older(bf_expressions *values, bf_expression value, uint32_t before);
/* The formula, factors of sums taken out. */
void bf_expression_print(const bf_expressions *values, bf_expression value, bf_text *text);

static inline uint64_t bf_low_bits(uint64_t number, unsigned bits) {
  return bits >= 64 ? number : number & (((uint64_t)1 << bits) - 1);
}
static inline int64_t bf_sign_extend(uint64_t number, unsigned bits) {
  return bits >= 64 ? (int64_t)number : (int64_t)(number << (64 - bits)) >> (64 - bits);
}

#endif
