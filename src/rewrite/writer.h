/* Inside room rewrite: the function whose code is being written, and what its new registers hold.
 */
#ifndef BF_REWRITE_WRITER_H
#define BF_REWRITE_WRITER_H

#include "rewrite/inner.h"

enum {
  BF_REWRITE_MOST_HELD = 256,
  BF_REWRITE_MOST_HASHES = 8,
  BF_REWRITE_MOST_DISTANCES = 32, /* between two arrays, in a function */
};

/* A register that holds H(base + offset) ^ fix, less `less`, behind the lines before an
 * instruction. */
typedef struct bf_rewrite_held {
  bool is_generic;
  bool is_sum;    /* base + offset */
  unsigned shift; /* not 0: base >> shift, or of that sum */
  const bf_ptx_operand *base;
  int64_t offset;
  uint64_t fix;
  int64_t less;
  const struct bf_rewrite_hashing *by;
  unsigned place;
  uint32_t at;    /* the instruction */
  bool is_steady; /* it holds wherever that instruction comes first; else in its block */
} bf_rewrite_held;

/* A hash on byte addresses. */
typedef struct bf_rewrite_hashing {
  const bf_hash *hash;
  unsigned terms;
  bf_hash_term term[2 * BF_GF2_MAX]; /* without that of shift 0 */
  uint64_t read, written;            /* bits that it reads, but for each one's own place; writes */
  unsigned bits;                     /* it touches none from here on */
  unsigned whole_bits; /* a multiple of 2^whole_bits changes no bit that is written, nor carries
                          into what is shifted out */
} bf_rewrite_hashing;

/* How far the address of a variable is from that of another, in a register. */
typedef struct bf_rewrite_distance {
  const bf_ptx_variable *from, *to;
} bf_rewrite_distance;

/* The function that is being written. */
typedef struct bf_rewrite_writer {
  const bf_rewrite_plan *plan;
  const bf_rewrite_function *function;
  const bf_rewrite_kernel_plan *kernel;
  bf_rewrite_code *code;
  const bf_ptx_flow *flow;
  bf_rewrite_hoist *hoist;
  const uint64_t *zeros;        /* per register */
  const bf_rewrite_rest *rests; /* the same */
  bf_rewrite_hashing hashing[BF_REWRITE_MOST_HASHES];
  unsigned hashings;
  const bf_rewrite_hashing *own; /* of the access at hand */
  uint32_t index;                /* of the access at hand */
  char prefix[24];               /* no register of the function starts like this */
  bf_text text;                  /* the lines before the instruction at hand */
  bf_rewrite_held held[BF_REWRITE_MOST_HELD];
  unsigned helds, next_held;
  unsigned places, wide_places; /* registers used so far */
  bf_rewrite_distance distance[BF_REWRITE_MOST_DISTANCES];
  unsigned distances;
  unsigned kept; /* places at offsets that are kept from block to block */
  bool uses_predicate;
  bool uses_term[2], uses_logical[2]; /* of 32 and of 64 bits */
  bf_ptx_registers *narrow, *wide;    /* the places, as declared; they outlive the writer */
  bool failed;
} bf_rewrite_writer;

/* Where an access goes: to `place` plus immediate, or where it went. */
typedef struct bf_rewrite_target {
  bool is_unchanged;
  unsigned place;
  int64_t immediate;
} bf_rewrite_target;

/* ---- The text (writer.c) ---- */

/* One instruction, with its semicolon and line feed. */
#define BF_PUT(w, ...) (bf_text_addf(&(w)->text, __VA_ARGS__), (w)->code->added_instructions++)

/* Makes the prefix %bf_, or the first of %bf1_, %bf2_ ... that is free. */
void bf_rewrite_choose_prefix(bf_rewrite_writer *w);
/* Puts the lines written so far before an instruction, behind those that stand there. */
void bf_rewrite_put_lines(bf_rewrite_writer *w, uint32_t index);
/* The operand as text, without its offset. */
const char *bf_rewrite_name_of(bf_rewrite_writer *w, const bf_ptx_operand *operand);

/* Whether an address is one of 64 bits. */
static inline bool bf_rewrite_is_wide(const bf_ptx_operand *base) {
  return base->kind == BF_PTX_REGISTER && bf_ptx_type_bytes(base->registers->type) == 8;
}

/* Ending of the names of registers for addresses of 32 and 64 bits. */
static inline const char *bf_rewrite_suffix_of(bool wide) { return wide ? "_wide" : ""; }

/* ---- What registers hold (writer.c) ---- */

bool bf_rewrite_same_base(const bf_ptx_operand *a, const bf_ptx_operand *b);
/* Whether what is held can be used at the access at hand. */
bool bf_rewrite_is_at_hand(const bf_rewrite_writer *w, const bf_rewrite_held *what);
/* The place that holds H(base + offset) ^ fix, or NULL. */
const bf_rewrite_held *bf_rewrite_find_held(const bf_rewrite_writer *w, const bf_ptx_operand *base,
                                            int64_t offset, uint64_t fix, bool is_generic);
/* Remembers a place that is written before instruction `at`; is_kept: beyond its block. */
void bf_rewrite_hold(bf_rewrite_writer *w, bf_rewrite_held what, bool is_kept);
/* Forgets what depends on a register that the instruction writes: all are in its first operand. */
void bf_rewrite_forget_written(bf_rewrite_writer *w, const bf_ptx_instruction *instruction);

/* ---- Hashed addresses (access.c) ---- */

/* The hash in the form in which code is written. One too many takes the place of the last. */
const bf_rewrite_hashing *bf_rewrite_find_hashing(bf_rewrite_writer *w, const bf_hash *hash);
/* Whether the access at hand, if it is to shared memory, needs the hash of its base itself. */
bool bf_rewrite_needs_base(const bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset);
/* Writes the place of base + offset in shared memory, and says what to add to it. */
bf_rewrite_target bf_rewrite_put_shared(bf_rewrite_writer *w, const bf_ptx_operand *base,
                                        int64_t offset);
/* The same for a generic address: where it is one of shared memory, its hashed form. */
unsigned bf_rewrite_put_generic(bf_rewrite_writer *w, const bf_ptx_operand *base, int64_t offset);

#endif
