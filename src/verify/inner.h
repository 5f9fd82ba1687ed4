/* Inside room verify: what its files share.
 *
 * verify.c     modules, kernels and the functions they call
 * doubled.c    modules with copies of kernels beside them
 * clones.c     functions that stand in the rewritten module under several names
 * scheme.c     the hash of every array of a kernel, and what the kernel can reach
 * home.c       the arrays whose addresses registers are made of
 * body.c       the statements of a function beside those of its rewritten form
 * access.c     one access to shared memory beside its rewritten form
 * obstacle.c   what instructions do to shared memory, and what no hashed kernel may hold
 * outside.c    code that stays as it is beside what is hashed
 * size.c       how much shared memory kernels declare
 * flow.c       what new registers hold where paths meet
 * live.c       which of them matter there
 * value.c      what added instructions compute
 * bits.c       values whose bits are XORs of bits of one address
 * known.c      bits of registers that are always 0
 * linear.c     registers that are sums of others
 * residue.c    what registers leave when they are divided by powers of two
 * pad.c        arrays whose rows are longer, with pad_*.c (pad.h)
 * difference.c remainders that are taken away
 * threads.c    how large thread indices can be
 * barriers.c   variables that hold nothing but barrier objects
 * same.c       equality of parts of two modules */
#ifndef BF_VERIFY_INNER_H
#define BF_VERIFY_INNER_H

#include "base/table.h"
#include "verify/verify.h"

enum {
  BF_VERIFY_ROW_BYTES = 128,
  BF_VERIFY_WORD_BIT = 2, /* lowest bit of a word's number in a byte address */
  BF_VERIFY_BANK_BITS = 5,
  /* Generic addresses of shared memory are those of the window plus the shared address; windows
   * start at multiples of 2^24 at least, so that lower bits are those of the shared address. */
  BF_VERIFY_WINDOW_BITS = 24,
};

/* ---- same.c ---- */

/* Names are interned per module: these compare texts. Lines and columns do not count. */
bool bf_verify_same_text(const char *a, const char *b);
bool bf_verify_same_operand(const bf_ptx_operand *a, const bf_ptx_operand *b);
/* All but the operands. */
bool bf_verify_same_head(const bf_ptx_instruction *a, const bf_ptx_instruction *b);
/* The same but for one modifier that b has besides. */
bool bf_verify_gains(const bf_ptx_instruction *a, const bf_ptx_instruction *b,
                     const char *modifier);
bool bf_verify_same_instruction(const bf_ptx_instruction *a, const bf_ptx_instruction *b);
bool bf_verify_same_variable(const bf_ptx_variable *a, const bf_ptx_variable *b);
bool bf_verify_same_registers(const bf_ptx_registers *a, const bf_ptx_registers *b);
/* Parameters, results and directives. */
bool bf_verify_same_form(const bf_ptx_function *a, const bf_ptx_function *b);
/* The same and name and linkage. */
bool bf_verify_same_signature(const bf_ptx_function *a, const bf_ptx_function *b);
/* Statements other than scopes, instructions and variables. */
bool bf_verify_same_statement(const bf_ptx_statement *a, const bf_ptx_statement *b);
/* Items of a module other than variables and functions. */
bool bf_verify_same_item(const bf_ptx_item *a, const bf_ptx_item *b);
/* Versions, targets and address sizes of modules. */
bool bf_verify_same_version(const bf_ptx_module *a, const bf_ptx_module *b);
/* Whether some register has a name in both declarations: %r<20> and %r1<3> share %r10. */
bool bf_verify_names_overlap(const bf_ptx_registers *a, const bf_ptx_registers *b);

/* ---- bits.c ---- */

typedef enum bf_verify_base {
  BF_VERIFY_NO_BASE, /* a constant */
  BF_VERIFY_REGISTER,
  BF_VERIFY_VARIABLE,
  BF_VERIFY_DISTANCE, /* no address: how far one variable is from another */
} bf_verify_base;

/* An address that is not known, base + offset: what a register holds now, or the address of a
 * variable. The bits of the base in zeros are known to be 0. To a register, the distance between
 * two variables may have been added. */
typedef struct bf_verify_atom {
  bf_verify_base base;
  uint32_t number;
  const bf_ptx_variable *variable;
  const bf_ptx_variable *from, *to; /* to - from was added; NULL: nothing */
  unsigned width;
  uint64_t zeros, offset;
} bf_verify_atom;

/* A value of width bits: bit i is the parity of (row[i] & atom), XOR bit i of constant; nothing is
 * known of vague bits; lag is a number that is still to be added to all that (bits.c). */
typedef struct bf_verify_bits {
  const char *unknown; /* why nothing is known of the value, or NULL */
  unsigned width;
  bool is_offset;   /* from cvta.to.shared */
  bool only_shared; /* means something only where the address is one of shared memory */
  bf_verify_atom atom;
  uint64_t row[64];
  uint64_t constant;
  uint64_t vague, lag;
} bf_verify_bits;

bf_verify_bits bf_verify_unknown(const char *why);
bf_verify_bits bf_verify_constant(uint64_t value, unsigned width);
bf_verify_bits bf_verify_atom_bits(const bf_verify_atom *atom);
/* bits + addend, where no carry depends on what is not known. */
bf_verify_bits bf_verify_add(const bf_verify_bits *bits, uint64_t addend);
/* Shifts to the left, or to the right where left is negative; zeros come in. */
bf_verify_bits bf_verify_shift(const bf_verify_bits *bits, int left);
/* The upper half of a product with a number, where no two of its parts have a bit in one place. */
bf_verify_bits bf_verify_multiply_high(const bf_verify_bits *bits, uint64_t factor);
/* lop3: bit (4 a + 2 b + c) of table, where that is an XOR of what is not known. */
bf_verify_bits bf_verify_table(const bf_verify_bits *a, const bf_verify_bits *b,
                               const bf_verify_bits *c, unsigned table);
/* Cuts to fewer bits or fills with zeros. */
bf_verify_bits bf_verify_resize(const bf_verify_bits *bits, unsigned width);
bf_verify_bits bf_verify_to_offset(const bf_verify_bits *bits);
bf_verify_bits bf_verify_to_generic(const bf_verify_bits *bits);
/* The distance between the variables whose addresses both are. */
bf_verify_bits bf_verify_distance(const bf_verify_bits *to, const bf_verify_bits *from);
/* Whether bits are such a distance. */
bool bf_verify_is_distance(const bf_verify_bits *bits);
/* bits + distance, where the bits are those of a register but for ones that the distance leaves
 * alone. */
bf_verify_bits bf_verify_move(const bf_verify_bits *bits, const bf_verify_bits *distance);
/* What was moved, as bits of an atom without a distance that is the same address. */
bf_verify_bits bf_verify_settle(const bf_verify_bits *moved, const bf_verify_atom *atom);
/* The hash of an address in bytes. */
bf_verify_bits bf_verify_hashed(const bf_verify_bits *bits, const bf_hash *hash);
bool bf_verify_same_bits(const bf_verify_bits *a, const bf_verify_bits *b);
bool bf_verify_is_constant(const bf_verify_bits *bits);

/* ---- threads.c ---- */

/* Threads of a block, at most: all, and in each direction. */
typedef struct bf_verify_threads {
  uint64_t all, in[3];
} bf_verify_threads;

/* Limits of a function as it was before it was rewritten. */
int bf_verify_threads_find(const bf_ptx_function *function, bf_arena *arena,
                           bf_verify_threads *limits);

/* ---- difference.c ---- */

/* Of an instruction: it takes operand[1] & mask away from operand[1], where *nothing is 0 or
 * nothing is NULL. Or it takes *doubled & gap_mask, the lowest bits, away from twice *doubled. */
typedef struct bf_verify_difference {
  bool is_masked;
  uint64_t mask;
  const bf_ptx_operand *nothing;
  const bf_ptx_operand *doubled; /* or NULL */
  uint64_t gap_mask;
} bf_verify_difference;

/* Per instruction, in arena; NULL where memory is exhausted. */
bf_verify_difference *bf_verify_differences(const bf_ptx_function *function, bf_arena *arena);

/* ---- known.c ---- */

/* Per register: bits that are 0 whenever it is read; in arena, NULL where memory is exhausted. */
uint64_t *bf_verify_known_zeros(const bf_ptx_function *function, const bf_verify_threads *threads,
                                bf_arena *arena);
/* Bits of a variable's absolute address that are surely 0. */
uint64_t bf_verify_variable_zeros(const bf_ptx_variable *variable);
/* Lowest bits of a variable's address that its declaration makes 0. */
unsigned bf_verify_variable_zero_bits(const bf_ptx_variable *variable);

/* ---- linear.c ---- */

enum { BF_VERIFY_TERMS = 4 };

typedef struct bf_verify_term {
  uint32_t number, factor; /* of a register */
} bf_verify_term;

/* constant + the sum of factors times registers, modulo 2^32; not known where there are no terms.
 */
typedef struct bf_verify_linear {
  unsigned terms;
  bf_verify_term term[BF_VERIFY_TERMS];
  uint32_t constant;
} bf_verify_linear;

/* Per register, in arena; NULL where memory is exhausted. */
bf_verify_linear *bf_verify_linears(const bf_ptx_function *function, bf_arena *arena);

/* ---- residue.c ---- */

/* A register is value modulo 2^bits whenever it is read. */
typedef struct bf_verify_residue {
  unsigned bits;
  uint64_t value;
} bf_verify_residue;

/* Per register; in arena, NULL where memory is exhausted. */
bf_verify_residue *bf_verify_residues(const bf_ptx_function *function, bf_arena *arena);

/* ---- barriers.c ---- */

/* A variable that holds nothing but barrier objects. */
typedef struct bf_verify_barrier {
  struct bf_verify_barrier *next;
  const char *variable;
} bf_verify_barrier;

typedef struct bf_verify_facts {
  const uint64_t *zeros;            /* per register: bits that are 0 whenever it is read */
  const bf_verify_residue *residue; /* per register */
  bool *is_barrier; /* per register: an address of a variable of barriers, nothing else */
  bf_verify_barrier *barriers;
} bf_verify_facts;

/* Facts about a rewritten function, in arena. */
int bf_verify_facts_find(const bf_ptx_module *module, const bf_ptx_function *original,
                         const bf_ptx_function *function, bf_arena *arena, bf_verify_facts *facts);
/* Whether the operand of a barrier instruction is an address in a variable of its own. */
bool bf_verify_is_barrier(const bf_verify_facts *facts, const bf_ptx_operand *address);
/* Whether the instruction works on a barrier object in memory. */
bool bf_verify_uses_barrier(const bf_ptx_instruction *instruction);
/* The number of a register operand in its function. */
static inline uint32_t bf_verify_number(const bf_ptx_operand *operand) {
  return operand->registers->first + operand->index;
}

/* ---- home.c ---- */

/* Where an address comes from: a number of an array of the scheme, or one of these. */
#define BF_VERIFY_NO_HOME UINT32_MAX
#define BF_VERIFY_MANY_HOMES (UINT32_MAX - 1)

struct bf_verify_scheme;

/* What registers of a function of the original are made of. */
typedef struct bf_verify_homes {
  uint32_t *array; /* per register: the array whose address went into it */
  bool *is_loaded; /* per register: some of that came by way of memory or a call alone */
} bf_verify_homes;

/* Homes in arena; *loaded is what a value that was loaded may be made of, and grows by what the
 * function stores or passes on. NULL: memory is exhausted. */
bool bf_verify_homes_find(const struct bf_verify_scheme *scheme, const bf_ptx_function *function,
                          bf_arena *arena, uint32_t *loaded, bf_verify_homes *homes);
/* Whether no address of shared memory went into one of the original, not even by way of memory: it
 * is one of other memory, where it is generic. */
bool bf_verify_is_homeless(const struct bf_verify_scheme *scheme, const bf_verify_homes *homes,
                           const bf_ptx_operand *address);
/* The array that an address operand of the original surely lies in; else no or many homes. */
uint32_t bf_verify_home_of(const struct bf_verify_scheme *scheme, const bf_verify_homes *homes,
                           const bf_ptx_operand *address);

/* ---- copy.c ---- */

/* Operands of a bulk copy: the address in shared memory, and its mbarrier, or how many there are.
 */
typedef struct bf_verify_copy {
  unsigned shared, barrier;
} bf_verify_copy;

/* Whether an instruction is a bulk copy between global memory and shared memory of the block. */
bool bf_verify_copy_find(const bf_ptx_instruction *instruction, bf_verify_copy *copy);

/* ---- scheme.c ---- */

typedef const bf_hash *(*bf_verify_hash_of)(void *context, const bf_ptx_function *kernel,
                                            const bf_ptx_variable *array);

/* A function, and what comes next in a list. */
typedef struct bf_verify_reached {
  struct bf_verify_reached *next;
  const bf_ptx_function *function;
} bf_verify_reached;

/* A shared array and its hash, NULL: it is left alone. */
typedef struct bf_verify_array {
  const bf_ptx_variable *variable; /* of the original */
  const bf_hash *hash;
} bf_verify_array;

/* What the accesses of a kernel go through. */
typedef struct bf_verify_scheme {
  const bf_hash *hash; /* of everything, unless */
  bool by_array;       /* every array has its own */
  bool makes_generic;  /* else no generic address is one of shared memory */
  uint32_t loaded;     /* the array whose address a loaded value may be, by_array */
  unsigned arrays;
  bf_verify_array *array;
  bf_table number;  /* of arrays, + 1, by variable */
  uint32_t dynamic; /* number of the first dynamic array, or BF_VERIFY_NO_HOME */
} bf_verify_scheme;

/* The functions of the original that a kernel can reach, itself first. */
int bf_verify_reach(const bf_ptx_function *kernel, bf_arena *arena, bf_verify_reached **first);
/* The scheme of a kernel; *scheme is NULL where it has no hash. */
/* stores_shared: some initial value of the module holds the address of a shared variable. */
int bf_verify_scheme_make(bool stores_shared, const bf_ptx_function *kernel, void *context,
                          bf_verify_hash_of hash_of, bf_arena *arena,
                          const bf_verify_scheme **scheme);
bool bf_verify_stores_shared(const bf_ptx_module *module);
/* The number of an array in the scheme; all dynamic arrays are one. BF_VERIFY_NO_HOME: none. */
uint32_t bf_verify_array_number(const bf_verify_scheme *scheme, const bf_ptx_variable *variable);
/* The hash that accesses to a variable of the original go through, or NULL. */
const bf_hash *bf_verify_hash_of_variable(const bf_verify_scheme *scheme,
                                          const bf_ptx_variable *variable);
/* Why the hashes of a scheme cannot be used, or NULL; *hash is the one meant. */
const char *bf_verify_judge_hashes(const bf_verify_scheme *scheme, const bf_hash **hash);
/* Whether a function is judged alike under both, which may be NULL. */
bool bf_verify_same_scheme(const bf_verify_scheme *a, const bf_verify_scheme *b);

/* ---- value.c ---- */

/* The guard under which a value was computed; number UINT32_MAX: none. */
typedef struct bf_verify_guard {
  uint32_t number;
  bool negated;
} bf_verify_guard;

/* What a register that was added holds, as a function of what registers of the original hold now.
 * when[1] holds where *test is an address of shared memory, when[0] where it is not; both are the
 * same where test is NULL. A predicate is the answer itself. */
typedef struct bf_verify_value {
  bool is_predicate;
  const bf_verify_bits *test;
  bf_verify_guard guard;
  bf_verify_bits when[2];
} bf_verify_value;

enum { BF_VERIFY_SOURCES = 4 }; /* registers that a value depends on: two cases, test, guard */

/* A new register while a block is looked at: its value holds as long as the registers that it
 * depends on have not been written since. */
typedef struct bf_verify_slot {
  const bf_verify_value *value;
  uint32_t scan; /* the look at a block that wrote it */
  uint32_t stamp[BF_VERIFY_SOURCES];
} bf_verify_slot;

/* A variable and its rewritten form. */
typedef struct bf_verify_twin {
  const bf_ptx_variable *original, *rewritten;
  uint64_t look; /* of the module: the last look at the names of a function that met it */
} bf_verify_twin;

/* A function and its rewritten form. */
typedef struct bf_verify_pair {
  struct bf_verify_pair *next;
  const bf_ptx_function *original, *rewritten;
} bf_verify_pair;

/* A function being judged: registers are those of the rewritten one. */
typedef struct bf_verify_body {
  struct bf_verify_job *job;
  bf_arena scratch; /* freed when it is judged; calls are in the arena of the job */
  const char *kernel;
  const bf_ptx_function *original, *rewritten;
  const bf_verify_scheme *scheme; /* NULL: it must be as it was */
  bf_verify_facts facts;
  bf_verify_homes homes;              /* by_array */
  const bf_ptx_registers **twin;      /* per register of the original: its declaration here */
  bf_table twins;                     /* of the variables of the function: rewritten forms */
  bf_table named;                     /* shared variables that the original names: anything */
  bool is_named_known;                /* named is filled */
  bf_verify_pair *calls;              /* functions that it names */
  const bf_ptx_instruction **partner; /* per instruction: the original's; NULL: it was added */
  uint32_t instructions;              /* paired so far */
  bool *is_new;                       /* per register */
  uint32_t *version;                  /* per register: writes so far, in all looks at blocks */
  bf_verify_slot *slot;               /* per register: what a new one holds */
  const bf_verify_value **result;     /* per instruction: what it wrote when last evaluated */
  struct bf_verify_flow *flow;
  struct bf_verify_siblings *siblings; /* NULL: not needed yet */
  uint32_t scan;
  bool failed;    /* a finding ends the comparison of this function */
  bool no_memory; /* so does a lack of memory */
  unsigned hashed, exempt;
} bf_verify_body;

/* What an operand holds, as a value of width bits. */
bf_verify_value bf_verify_operand(const bf_verify_body *body, const bf_ptx_operand *operand,
                                  unsigned width);
/* The guard of an instruction. */
bf_verify_guard bf_verify_guard_of(const bf_ptx_operand *guard);
bool bf_verify_same_guard(bf_verify_guard a, bf_verify_guard b);
/* Whether both are known to be the same, or both unknown. */
bool bf_verify_same_value(const bf_verify_value *a, const bf_verify_value *b);
/* Whether the instruction has a form that may be added. */
bool bf_verify_may_be_added(const bf_ptx_instruction *instruction);
/* Computes what an added instruction writes; the instruction has that number. */
void bf_verify_evaluate(bf_verify_body *body, uint32_t instruction);

/* ---- live.c ---- */

/* New registers at the start of blocks. */
typedef struct bf_verify_flow {
  bf_ptx_flow *graph;
  uint32_t *first;            /* per block, and one more: where its entries start */
  uint32_t *number;           /* per entry: a register that is live there */
  const bf_verify_value **in; /* per entry: what it holds; NULL: no path seen yet */
  bool *is_seen, *is_pending; /* per block: a path leads there; it must be looked at */
} bf_verify_flow;

/* Fills first and number. */
int bf_verify_live_find(bf_verify_body *body, bf_arena *arena);

/* ---- flow.c ---- */

/* What a new register holds at this place; never NULL. */
const bf_verify_value *bf_verify_get(const bf_verify_body *body, uint32_t number);
void bf_verify_set(bf_verify_body *body, uint32_t number, const bf_verify_value *value);
/* Notes that the operand writes its registers. */
void bf_verify_note_written(bf_verify_body *body, const bf_ptx_operand *operand);
/* Finds out what new registers hold at the start of every block. */
int bf_verify_flow_solve(bf_verify_body *body);
/* Calls visit for every instruction of the original, with new registers as they are there. */
void bf_verify_flow_walk(bf_verify_body *body,
                         void (*visit)(bf_verify_body *body, uint32_t instruction));
void bf_verify_flow_free(bf_verify_body *body);

/* ---- siblings.c ---- */

/* Whether an atom with a distance is at an instruction the address in a register: register and
 * atom are then sums of the same number and of the two variables. */
bool bf_verify_are_siblings(bf_verify_body *body, const bf_verify_atom *moved, uint32_t number,
                            uint32_t instruction);

/* ---- obstacle.c ---- */

/* Why an instruction sees how shared memory is laid out, in words; NULL: it does not. */
const char *bf_verify_sees_layout(const bf_ptx_instruction *instruction);
/* What a hashed kernel may not hold, in words; NULL: nothing stands against the instruction.
 * makes_generic: generic addresses may be those of shared memory. */
const char *bf_verify_obstacle(const bf_ptx_instruction *instruction, bool makes_generic);
/* The function that an instruction calls by name, or NULL. */
const bf_ptx_function *bf_verify_callee(const bf_ptx_instruction *instruction);
/* Whether an instruction without a state space names a shared variable in its address: ptxas takes
 * it for one on shared memory. */
bool bf_verify_is_implied(const bf_ptx_instruction *instruction);
/* The operand that is an address in shared memory, or may be one; NULL: none. */
const bf_ptx_operand *bf_verify_shared_address(const bf_ptx_instruction *instruction);

/* ---- access.c ---- */

/* The rewritten form of a variable of the original, or NULL. */
const bf_ptx_variable *bf_verify_twin_of(const bf_verify_body *body,
                                         const bf_ptx_variable *original);
/* Judges an access, the instruction of that number, which is the same as in the original but for
 * the address. */
void bf_verify_access(bf_verify_body *body, const bf_ptx_instruction *original, uint32_t number);
/* Judges a bulk copy (copy.c). */
void bf_verify_copy_judge(bf_verify_body *body, uint32_t number);

/* Bytes that one lane touches at its address, or those of a line of a tile; 0 where that is not
 * known. */
uint64_t bf_verify_access_bytes(const bf_ptx_instruction *instruction);

/* ---- tile.c ---- */

/* Whether an instruction is wmma.load or wmma.store. */
bool bf_verify_is_tile(const bf_ptx_instruction *instruction);
/* The stride of one, or NULL. */
const bf_ptx_operand *bf_verify_tile_stride(const bf_ptx_instruction *instruction);
/* Bytes of a line of it, which lie side by side; 0 where that is not known. */
uint64_t bf_verify_line_bytes(const bf_ptx_instruction *instruction);

/* ---- pad.c ---- */

/* Whether a hash makes rows longer. */
static inline bool bf_verify_is_padding(const bf_hash *hash) {
  return hash && hash->kind == BF_HASH_PAD;
}
/* Why an array of the original cannot have such a hash, or NULL. */
const char *bf_verify_pad_hash(const bf_hash *hash, const bf_ptx_variable *variable);
/* A shared variable with longer rows and its rewritten form; NULL where all is well. */
const char *bf_verify_pad_variable(const bf_ptx_variable *original,
                                   const bf_ptx_variable *rewritten, const bf_hash *hash);
/* Judges all accesses of a function to such arrays. */
int bf_verify_pad_judge(bf_verify_body *body);

/* ---- clones.c ---- */

/* How many bytes stand before the last mark of clones in a name; 0: it has none. */
size_t bf_verify_stem_bytes(const char *name);
/* Whether name is that of a clone of the function called of. */
bool bf_verify_is_clone_name(const char *name, const char *of);
/* Whether a function of the rewritten module is a clone of one of the original; *why is then what
 * is wrong with it, or NULL. */
bool bf_verify_is_clone(const bf_ptx_module *original, const bf_ptx_function *function,
                        const char **why);

/* ---- outside.c ---- */

/* The functions with a body that others than the kernels of the module may call: from other
 * modules, by another name, or through their address. */
int bf_verify_list_exposed(const bf_ptx_module *module, bf_arena *arena, bf_verify_reached **list);
/* Judges kernels and functions that stay as they are, with all they reach, beside variables that
 * differ. What stands against it is found for the module as a whole. */
int bf_verify_outside(struct bf_verify_job *job, const bf_verify_reached *roots);

/* ---- size.c ---- */

/* Whether a kernel of the original declares no more shared memory in its rewritten form than a
 * kernel may, unless it did before. */
int bf_verify_fits(const bf_ptx_module *rewritten, const bf_ptx_function *kernel, bool *fits);

/* ---- body.c, verify.c ---- */

/* Calls visit for every variable that an operand of the function, or a part of it, names, as often
 * as it does; false where visit says so, and ends there. */
typedef bool (*bf_verify_visit)(void *context, const bf_ptx_variable *variable);
bool bf_verify_visit_named(const bf_ptx_function *function, bf_verify_visit visit, void *context);

/* Compares a function; body has job, kernel, original, rewritten, scheme and the variables of the
 * module. What it found is in the job; counts and calls are in body. */
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
/* The same with the text of an instruction; line is that of the finding. */
void bf_verify_fail_instruction(bf_verify_body *body, const char *what,
                                const bf_ptx_instruction *instruction, uint64_t line);
/* A shared variable and its rewritten form; where rows is set the latter is whole rows. NULL where
 * all is well. */
const char *bf_verify_variable(const bf_ptx_variable *original, const bf_ptx_variable *rewritten,
                               bool rows);
bf_arena *bf_verify_arena(struct bf_verify_job *job);
/* A variable of the original module with its rewritten form, or NULL. */
const bf_verify_twin *bf_verify_find_twin(const struct bf_verify_job *job,
                                          const bf_ptx_variable *original);
/* The rewritten form of a variable of the module, or NULL. */
const bf_ptx_variable *bf_verify_module_twin(const struct bf_verify_job *job,
                                             const bf_ptx_variable *original);
/* Whether a variable of the original module has that name. */
bool bf_verify_names_variable(const struct bf_verify_job *job, const char *name);

#endif
