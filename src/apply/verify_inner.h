/* Inside the verifier (verify.h): what its files share.
 *
 * verify.c          modules, kernels and the functions they call
 * verify_body.c     the statements of a function beside those of its rewritten form
 * verify_access.c   one access to shared memory beside its rewritten form
 * verify_value.c    what added instructions compute
 * verify_bits.c     values whose bits are XORs of bits of one address
 * verify_facts.c    alignment of registers, and variables that hold nothing but barrier objects
 * verify_same.c     equality of parts of two modules */
#ifndef BF_APPLY_VERIFY_INNER_H
#define BF_APPLY_VERIFY_INNER_H

#include "apply/verify.h"

enum {
  BF_VERIFY_ROW_BYTES = 128,
  BF_VERIFY_WORD_BIT = 2, /* lowest bit of a word's number in a byte address */
  BF_VERIFY_BANK_BITS = 5,
  /* Generic addresses of shared memory are those of the window plus the shared address; windows
   * start at multiples of 2^24 at least, so that lower bits are those of the shared address. */
  BF_VERIFY_WINDOW_BITS = 24,
};

/* ---- verify_same.c ---- */

/* Names are interned per module: these compare texts. Lines and columns do not count. */
bool bf_verify_same_text(const char *a, const char *b);
bool bf_verify_same_operand(const bf_ptx_operand *a, const bf_ptx_operand *b);
/* All but the operands. */
bool bf_verify_same_head(const bf_ptx_instruction *a, const bf_ptx_instruction *b);
bool bf_verify_same_instruction(const bf_ptx_instruction *a, const bf_ptx_instruction *b);
bool bf_verify_same_variable(const bf_ptx_variable *a, const bf_ptx_variable *b);
bool bf_verify_same_registers(const bf_ptx_registers *a, const bf_ptx_registers *b);
/* Name, linkage, parameters and directives. */
bool bf_verify_same_signature(const bf_ptx_function *a, const bf_ptx_function *b);
/* Statements other than scopes, instructions and variables. */
bool bf_verify_same_statement(const bf_ptx_statement *a, const bf_ptx_statement *b);
/* Items of a module other than variables and functions. */
bool bf_verify_same_item(const bf_ptx_item *a, const bf_ptx_item *b);
/* Whether some register has a name in both declarations: %r<20> and %r1<3> share %r10. */
bool bf_verify_names_overlap(const bf_ptx_registers *a, const bf_ptx_registers *b);

/* ---- verify_bits.c ---- */

typedef enum bf_verify_base {
  BF_VERIFY_NO_BASE, /* a constant */
  BF_VERIFY_REGISTER,
  BF_VERIFY_VARIABLE
} bf_verify_base;

/* An address that is not known, base + offset: a register as it was after version writes, or the
 * address of a variable. Its lowest zero_bits bits are known to be 0. */
typedef struct bf_verify_atom {
  bf_verify_base base;
  uint32_t number, version;
  const bf_ptx_variable *variable;
  unsigned width, zero_bits;
  uint64_t offset;
} bf_verify_atom;

/* A value of width bits: bit i is the parity of (row[i] & atom), XOR bit i of constant. */
typedef struct bf_verify_bits {
  const char *unknown; /* why nothing is known of the value, or NULL */
  unsigned width;
  bool is_offset;   /* from cvta.to.shared */
  bool only_shared; /* means something only where the address is one of shared memory */
  bf_verify_atom atom;
  uint64_t row[64];
  uint64_t constant;
} bf_verify_bits;

bf_verify_bits bf_verify_unknown(const char *why);
bf_verify_bits bf_verify_constant(uint64_t value, unsigned width);
bf_verify_bits bf_verify_atom_bits(const bf_verify_atom *atom);
/* bits + addend, where no carry depends on what is not known. */
bf_verify_bits bf_verify_add(const bf_verify_bits *bits, uint64_t addend);
/* Shifts to the left, or to the right where left is negative; zeros come in. */
bf_verify_bits bf_verify_shift(const bf_verify_bits *bits, int left);
/* lop3: bit (4 a + 2 b + c) of table, where that is an XOR of what is not known. */
bf_verify_bits bf_verify_table(const bf_verify_bits *a, const bf_verify_bits *b,
                               const bf_verify_bits *c, unsigned table);
/* Cuts to fewer bits or fills with zeros. */
bf_verify_bits bf_verify_resize(const bf_verify_bits *bits, unsigned width);
bf_verify_bits bf_verify_to_offset(const bf_verify_bits *bits);
bf_verify_bits bf_verify_to_generic(const bf_verify_bits *bits);
/* The hash of an address in bytes. */
bf_verify_bits bf_verify_hashed(const bf_verify_bits *bits, const bf_hash *hash);
bool bf_verify_same_bits(const bf_verify_bits *a, const bf_verify_bits *b);
bool bf_verify_is_constant(const bf_verify_bits *bits);

/* ---- verify_facts.c ---- */

/* A variable that holds nothing but barrier objects. */
typedef struct bf_verify_barrier {
  struct bf_verify_barrier *next;
  const char *variable;
} bf_verify_barrier;

typedef struct bf_verify_facts {
  unsigned char *zero_bits; /* per register: lowest bits that are 0 whenever it is read */
  bool *is_barrier;         /* per register: an address of a variable of barriers, nothing else */
  bf_verify_barrier *barriers;
} bf_verify_facts;

/* Facts about a function, in arena. */
int bf_verify_facts_find(const bf_ptx_module *module, const bf_ptx_function *function,
                         bf_arena *arena, bf_verify_facts *facts);
/* Lowest bits of a variable's address that are 0. */
unsigned bf_verify_variable_zero_bits(const bf_ptx_variable *variable);
/* Whether the operand of a barrier instruction is an address in a variable of its own. */
bool bf_verify_is_barrier(const bf_verify_facts *facts, const bf_ptx_operand *address);
/* Whether the instruction works on a barrier object in memory. */
bool bf_verify_uses_barrier(const bf_ptx_instruction *instruction);
/* The number of a register operand in its function. */
static inline uint32_t bf_verify_number(const bf_ptx_operand *operand) {
  return operand->registers->first + operand->index;
}

/* ---- verify_value.c ---- */

/* The guard under which a value was computed; number UINT32_MAX: none. */
typedef struct bf_verify_guard {
  uint32_t number, version;
  bool negated;
} bf_verify_guard;

/* A register that was added. when[1] holds where *test is an address of shared memory, when[0]
 * where it is not; both are the same where test is NULL. A predicate is the answer itself. */
typedef struct bf_verify_value {
  unsigned era; /* labels passed before it was written */
  bool is_predicate;
  const bf_verify_bits *test;
  bf_verify_guard guard;
  bf_verify_bits when[2];
} bf_verify_value;

/* A variable and its rewritten form. */
typedef struct bf_verify_twin {
  struct bf_verify_twin *next;
  const bf_ptx_variable *original, *rewritten;
} bf_verify_twin;

/* A function being judged: registers are those of the rewritten one. */
typedef struct bf_verify_body {
  struct bf_verify_job *job;
  const char *kernel;
  const bf_ptx_function *original, *rewritten;
  const bf_hash *hash; /* NULL: it must be as it was */
  bool makes_generic;  /* else no generic address is one of shared memory */
  bf_verify_facts facts;
  const bf_ptx_registers **twin; /* per register of the original: its declaration here */
  bf_verify_twin *twins;         /* variables of the function, then of the module */
  bool *is_new;                  /* per register */
  uint32_t *version;             /* per register: writes so far */
  bf_verify_value **value;       /* per register: what a new one holds, or NULL */
  unsigned era;
  bool failed;    /* a finding ends the comparison of this function */
  bool no_memory; /* so does a lack of memory */
  unsigned hashed, exempt;
} bf_verify_body;

/* What an operand holds, as a value of width bits. */
bf_verify_value bf_verify_operand(const bf_verify_body *body, const bf_ptx_operand *operand,
                                  unsigned width);
/* The guard of an instruction, as it stands there. */
bf_verify_guard bf_verify_guard_of(const bf_verify_body *body, const bf_ptx_operand *guard);
bool bf_verify_same_guard(bf_verify_guard a, bf_verify_guard b);
/* Whether the instruction has a form that may be added. */
bool bf_verify_may_be_added(const bf_ptx_instruction *instruction);
/* Computes what an added instruction writes. */
void bf_verify_evaluate(bf_verify_body *body, const bf_ptx_instruction *instruction);

/* ---- verify_access.c ---- */

/* What a hashed kernel may not hold, in words; NULL: nothing stands against the instruction. */
const char *bf_verify_obstacle(const bf_ptx_instruction *instruction);
/* The operand that is an address in shared memory, or may be one; NULL: none. */
const bf_ptx_operand *bf_verify_shared_address(const bf_ptx_instruction *instruction);
/* The rewritten form of a variable of the original, or NULL. */
const bf_ptx_variable *bf_verify_twin_of(const bf_verify_body *body,
                                         const bf_ptx_variable *original);
/* Judges an access whose instructions are the same but for the address. */
void bf_verify_access(bf_verify_body *body, const bf_ptx_instruction *original,
                      const bf_ptx_instruction *rewritten);

/* ---- verify_body.c, verify.c ---- */

/* Compares a function; body has job, kernel, original, rewritten, hash and the variables of the
 * module. What it found is in the job; counts are in body. */
int bf_verify_compare(const bf_ptx_module *module, bf_verify_body *body);
/* Adds a finding; true where there was memory for it. */
bool bf_verify_find(struct bf_verify_job *job, const char *kernel, uint64_t line,
                    const char *format, ...) BF_PRINTF(4, 5);
/* The same for a function being judged, and ends its comparison. */
#define BF_VERIFY_FAIL(body, at_line, ...)                                                         \
  do {                                                                                             \
    (body)->failed = true;                                                                         \
    if (!bf_verify_find((body)->job, (body)->kernel, at_line, __VA_ARGS__))                        \
      (body)->no_memory = true;                                                                    \
  } while (0)
/* A shared variable and its rewritten form; where rows is set the latter is whole rows. NULL where
 * all is well. */
const char *bf_verify_variable(const bf_ptx_variable *original, const bf_ptx_variable *rewritten,
                               bool rows);
bf_arena *bf_verify_arena(struct bf_verify_job *job);

#endif
