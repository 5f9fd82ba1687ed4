/* Inside room rewrite: what its files tell each other: which instructions touch shared
 * memory, what a kernel reaches, which array an access is to, and the code that replaces it. */
#ifndef BF_REWRITE_INNER_H
#define BF_REWRITE_INNER_H

#include "base/table.h"
#include "rewrite/rewrite.h"

enum {
  BF_REWRITE_WORD_BYTES = 4,
  BF_REWRITE_BANK_BITS = 5,
  BF_REWRITE_ROW_BITS = 7,
  BF_REWRITE_MOST_WIDTH_BYTES = 16,
  /* What ptxas lets a kernel declare. Published: CUDA C++ Programming Guide, technical
   * specifications per compute capability. */
  BF_REWRITE_MOST_STATIC_BYTES = 48 * 1024,
};

/* ---- Instructions (touch.c) ---- */

typedef enum bf_touch_kind {
  BF_TOUCH_NONE,
  BF_TOUCH_SHARED,  /* by a shared address */
  BF_TOUCH_GENERIC, /* by a generic address, which may be one of shared memory */
  BF_TOUCH_BARRIER, /* an mbarrier object, which stays where it is */
} bf_touch_kind;

typedef struct bf_touch {
  bf_touch_kind kind;
  unsigned operand; /* the address */
  unsigned width_bytes;
  bool is_tile; /* wmma: width_bytes is that of a line; there are others a stride apart */
  bool is_copy; /* a bulk copy, whose array has no hash */
} bf_touch;

bf_touch bf_rewrite_touch(const bf_ptx_instruction *instruction);
/* The bytes that a hash must keep together for an access: of a tile, whole rows of banks, so that
 * no hash does. */
unsigned bf_rewrite_granule(const bf_touch *touch);
/* What a padding must be a multiple of, so that an access is as aligned in every row as it was. */
unsigned bf_rewrite_padding_grain(const bf_touch *touch);
/* Why no kernel that executes the instruction can be rewritten, or NULL. reaches_generic: generic
 * addresses can lead to shared memory. */
const char *bf_rewrite_refusal(const bf_ptx_instruction *instruction, bool reaches_generic);
/* Why an instruction finds out how shared memory is laid out, which padding changes, or NULL. */
const char *bf_rewrite_sees_layout(const bf_ptx_instruction *instruction);
/* Whether an access to shared memory is known by the name of a variable alone: it has no state
 * space. */
bool bf_rewrite_lacks_space(const bf_ptx_instruction *instruction);
/* Gives such an access .shared, which it needs for an address that is no name; false when memory is
 * exhausted. */
bool bf_rewrite_name_space(bf_ptx_instruction *instruction, bf_arena *arena);
/* Whether the instruction makes a generic address of a shared one. */
bool bf_rewrite_makes_generic(const bf_ptx_instruction *instruction);

/* ---- What a module holds and a kernel reaches (reach.c) ---- */

/* The arrays that an access may be to, as numbers of variables: one where `first` is set and
 * `second` is not; -1: none, or not known. first is BF_REWRITE_ELSEWHERE for a generic address into
 * which none of shared memory went. */
enum { BF_REWRITE_ELSEWHERE = -2 };
typedef struct bf_rewrite_origin {
  int first, second;
} bf_rewrite_origin;

/* Numbers, ascending and each once. */
typedef struct bf_rewrite_numbers {
  unsigned count;
  unsigned *item;
} bf_rewrite_numbers;

typedef struct bf_rewrite_function {
  const bf_ptx_function *function;
  bf_rewrite_numbers calls;            /* functions with a body that it calls by name */
  bf_rewrite_numbers callers;          /* functions that call it by name */
  bf_rewrite_numbers names;            /* variables that it declares, or may mean by a name */
  bf_rewrite_numbers kernels;          /* that reach it */
  bf_touch *touch;                     /* per instruction */
  bf_rewrite_origin *origin;           /* per instruction (arrays.c) */
  bool makes_generic;                  /* some instruction does */
  bool is_pointed_to;                  /* its address is taken: anyone may call it */
  bool guards_generic;                 /* some kernel that reaches it makes generic addresses */
  bool is_involved;                    /* it, or a function it calls, accesses shared memory */
  bool serves_others;                  /* code that is not a kernel's here may execute it */
  bool sees_layout;                    /* it finds out how shared memory is laid out */
  bool leaves_module;                  /* it calls code that is not known here */
  struct bf_rewrite_version *versions; /* the code it gets (versions.c) */
} bf_rewrite_function;

/* A variable that a kernel can reach. */
typedef struct bf_rewrite_use {
  unsigned variable;
  bool pads;              /* there is a hash, be it one that moves nothing */
  const bf_hash *hash;    /* NULL: nothing moves it */
  const bf_hash *padding; /* its rows become longer; NULL: they do not. hash is NULL then */
} bf_rewrite_use;

typedef struct bf_rewrite_kernel_plan {
  unsigned index;             /* of its function */
  bf_rewrite_numbers reached; /* functions, itself among them */
  bool reaches_generic;
  bool sees_layout, leaves_module; /* some function that it reaches does */
  unsigned uses;
  bf_rewrite_use *use;      /* by variable */
  const bf_hash *hash;      /* of everything; NULL: none, or they differ by array */
  bool differs;             /* by array: as use says, and for the first open array: */
  const bf_hash *open_hash; /* of any open array that the kernel uses */
  bool is_placed;           /* places in longer rows are computed at accesses, */
  bool is_plain;            /* by what each access says of itself */
  bool starts_at_zero;      /* in copies of a plan: addresses count from where their arrays start */
  bool wanted, refused;
  unsigned capacity; /* of the list of obstacles */
} bf_rewrite_kernel_plan;

typedef struct bf_rewrite_plan {
  const bf_ptx_module *module;
  bf_arena *arena;
  bool is_examination; /* no hashes: what would stand in the way of any */
  bool padding_has_room, blocks_are_checked, resizes_dynamic, joins_logic, is_beside, places_rows;
  unsigned functions; /* with a body */
  bf_rewrite_function *function;
  bf_table function_by_name; /* its number + 1 */
  bf_table taken_names;      /* of versions (versions.c) */
  bool stores_shared;        /* an initial value holds the address of a shared variable */
  unsigned kernels;
  bf_rewrite_kernel_plan *kernel;
  unsigned variables; /* in shared memory, in the order of the module */
  const bf_ptx_variable **variable;
  int *owner;                 /* per variable: the function that declares it, or -1 */
  unsigned *aligned_bytes;    /* per variable: what whole rows are aligned to (layout.c) */
  bf_rewrite_numbers *users;  /* per variable: kernels */
  bool *is_named_outside;     /* per variable: a function that serves others names it */
  unsigned first_open;        /* the first variable of open size; variables: none */
  bf_table variable_by_place; /* its number + 1, by where it is declared */
  bf_table variable_by_name;  /* of the module: its number + 1, by name */
  unsigned *next_named;       /* per variable: number + 1 of the next that is found so, or 0 */
  unsigned *next_placed;      /* the same */
} bf_rewrite_plan;

/* Fills all but hashes and code; false when memory is exhausted. */
bool bf_rewrite_plan_make(const bf_ptx_module *module, bf_arena *arena, bf_rewrite_plan *plan);
/* The function with a body called name, or -1. */
int bf_rewrite_find(const bf_rewrite_plan *plan, const char *name);
/* The first variable of the plan that is declared where this one is, or -1; next_placed leads on.
 */
int bf_rewrite_find_variable(const bf_rewrite_plan *plan, const bf_ptx_variable *variable);
/* What the kernel does with a variable; NULL: it cannot reach it. */
bf_rewrite_use *bf_rewrite_use_of(const bf_rewrite_kernel_plan *kernel, unsigned variable);
/* What is called: a symbol or a register; NULL for other instructions. */
const bf_ptx_operand *bf_rewrite_callee(const bf_ptx_instruction *instruction);
/* The function with a body that an instruction calls by name, or -1. */
int bf_rewrite_called(const bf_rewrite_plan *plan, const bf_ptx_instruction *instruction);
/* Whether hashed accesses may be among those of the function. */
bool bf_rewrite_has_accesses(const bf_rewrite_function *function);
/* Whether an instruction is an access that a hash of its array moves. */
bool bf_rewrite_is_hashed(const bf_rewrite_function *function, uint32_t instruction);

/* ---- Arrays (arrays.c) ---- */

/* Finds out which arrays accesses are to; false when memory is exhausted. */
bool bf_rewrite_find_origins(bf_rewrite_plan *plan);
/* The array that stands for a variable: the first open one for all of them, as they all start at
 * the same place. */
unsigned bf_rewrite_array_of(const bf_rewrite_plan *plan, unsigned variable);
/* The variable by which a kernel names an array: of open ones the first that it uses itself, as
 * another could have another alignment and move them all. */
const bf_ptx_variable *bf_rewrite_named_array(const bf_rewrite_plan *plan,
                                              const bf_rewrite_kernel_plan *kernel, unsigned array);
/* Whether the kernel wants the variable as whole rows. */
bool bf_rewrite_pads(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                     unsigned variable);
/* What an access goes through in a kernel; NULL: nothing. */
const bf_hash *bf_rewrite_hash_at(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                                  const bf_rewrite_function *function, uint32_t instruction);
/* The hash of an array in a kernel; NULL: nothing moves it, or it is not used. */
const bf_hash *bf_rewrite_array_hash(const bf_rewrite_plan *plan,
                                     const bf_rewrite_kernel_plan *kernel, unsigned variable);
/* Whether two kernels hash alike, so that they can share functions. */
bool bf_rewrite_hash_alike(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *a,
                           const bf_rewrite_kernel_plan *b);
bool bf_rewrite_same_hash(const bf_hash *a, const bf_hash *b);
/* Lists the arrays of a kernel; false when memory is exhausted. */
bool bf_rewrite_list_arrays(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                            bf_rewrite_kernel *out);

/* ---- Obstacles (obstacles.c) ---- */

/* Adds what stands in the way of a kernel to *out; false when memory is exhausted. */
bool bf_rewrite_find_obstacles(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                               bf_rewrite_kernel *out);
/* Adds one, unless the same text stands there. */
bool bf_rewrite_add_obstacle(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                             bf_rewrite_kernel *out, uint64_t line, const char *format, ...)
    BF_PRINTF(5, 6);

/* Whether the mbarrier objects of a kernel have variables that nothing else touches, so that they
 * can stay where they are; false when memory is exhausted. (barriers.c) */
bool bf_rewrite_knows_barriers(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                               bool *knows);

/* ---- Variables (layout.c) ---- */

/* The variable as a hashed kernel declares it: whole rows that start with one, and none that
 * another module may replace. */
bf_ptx_variable bf_rewrite_padded(const bf_rewrite_plan *plan, unsigned variable);
/* Bytes to which the address of a variable is aligned, where it is whole rows or as declared. */
unsigned bf_rewrite_alignment(const bf_rewrite_plan *plan, unsigned variable, bool is_padded);
/* Aligns variables that are whole rows to more than one, where that takes no memory: so more is
 * known of addresses. False when memory is exhausted. */
bool bf_rewrite_align(bf_rewrite_plan *plan);
/* Where shared memory ends when the variable follows what ends there. */
uint64_t bf_rewrite_append(uint64_t end_bytes, const bf_ptx_variable *variable);

/* ---- Longer rows (pad.c) ---- */

/* The variable with longer rows. */
bf_ptx_variable bf_rewrite_lengthened(const bf_ptx_variable *variable, const bf_hash *padding);
/* Adds what stands in the way of the paddings of a kernel; false when memory is exhausted. */
bool bf_rewrite_check_padding(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                              bf_rewrite_kernel *out);
/* The variable as a kernel wants it: whole rows, longer ones, or as it is. */
bf_ptx_variable bf_rewrite_declared(const bf_rewrite_plan *plan,
                                    const bf_rewrite_kernel_plan *kernel, unsigned variable);

/* The padding of the array that an instruction accesses in a kernel, or NULL. */
const bf_hash *bf_rewrite_padding_at(const bf_rewrite_plan *plan,
                                     const bf_rewrite_kernel_plan *kernel,
                                     const bf_rewrite_function *function, uint32_t instruction);

/* ---- Tiles of wmma in arrays with longer rows (pad_tile.c) ---- */

/* Why a tile cannot be where rows have `unused` bytes more, or NULL. */
const char *bf_rewrite_refuse_tile(const bf_rewrite_function *function, uint32_t index,
                                   uint64_t row_bytes, uint64_t unused_bytes);
/* Gives a copy of the instruction, which has these operands, as many longer rows for its stride as
 * it had rows. */
void bf_rewrite_lengthen_stride(const bf_ptx_function *function, const bf_ptx_instruction *copy,
                                bf_ptx_operand *operands, uint64_t row_bytes,
                                uint64_t unused_bytes);

/* ---- Kernels that are left alone (neighbours.c) ---- */

/* Refuses kernels whose padded variables would be noticed by code that stays as it is; *changed
 * where one was. False when memory is exhausted. */
bool bf_rewrite_spare_neighbours(bf_rewrite_plan *plan, bf_rewrite_result *result, bool *changed);
/* Marks the functions that code of other modules may execute, or whoever has their address, and
 * what they name; false when memory is exhausted. */
bool bf_rewrite_find_others(bf_rewrite_plan *plan);

/* ---- Versions of functions (versions.c) ---- */

typedef struct bf_rewrite_code {
  const char *declarations;               /* lines at the start of the body */
  const char **before;                    /* per instruction: lines before it, or NULL */
  const bf_ptx_instruction **instruction; /* what stands in its place */
  unsigned added_instructions;
  unsigned hashed, left; /* accesses */
} bf_rewrite_code;

/* A function as kernels that hash alike need it. */
typedef struct bf_rewrite_version {
  struct bf_rewrite_version *next;
  const bf_rewrite_kernel_plan *kernel; /* one of them */
  const char *name;                     /* of a copy; NULL: in the place of the function */
  bf_rewrite_code *code;
} bf_rewrite_version;

/* Gives the functions of kernels that are rewritten the versions they need, and their code. */
int bf_rewrite_make_versions(bf_rewrite_plan *plan, bf_diagnostic *diagnostic);
/* Adds longer rows to the code of a version; false when memory is exhausted. (pad.c) */
bool bf_rewrite_pad_code(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                         bf_rewrite_version *version);
/* Puts lines before those that stand before an instruction; false when memory is exhausted. */
bool bf_rewrite_put_before(const bf_rewrite_plan *plan, bf_rewrite_code *code, uint32_t instruction,
                           const bf_text *lines);

/* ---- Places in longer rows, computed at the access (place.c) ---- */

/* Why that cannot be done for an access, or NULL. */
const char *bf_rewrite_refuse_place(const bf_rewrite_plan *plan,
                                    const bf_rewrite_kernel_plan *kernel,
                                    const bf_rewrite_function *function, uint32_t index,
                                    const bf_hash *padding);
/* Adds them to the code of a version, in registers prefix0, ...; false when memory is exhausted. */
bool bf_rewrite_place_code(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                           bf_rewrite_version *version, const char *prefix, unsigned *places);

/* The version of a function for a kernel; NULL: it needs none. */
const bf_rewrite_version *bf_rewrite_find_version(const bf_rewrite_plan *plan,
                                                  const bf_rewrite_function *function,
                                                  const bf_rewrite_kernel_plan *kernel);

/* ---- Both versions in one module (beside.c) ---- */

/* Rewrites copies of the kernels that the result calls rewritten, by a plan of the module as it is;
 * fills in what became of them, text and module. */
int bf_rewrite_beside(bf_rewrite_plan *plan, const bf_rewrite_options *options,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic);

/* ---- Code (code.c) ---- */

/* Writes the code of a version. */
int bf_rewrite_code_make(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                         bf_rewrite_version *version, bf_diagnostic *diagnostic);

/* Per register of the function: bits known to be 0 in a hashed kernel. NULL when memory is
 * exhausted. (alignment.c) */
uint64_t *bf_rewrite_zeros(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                           const bf_rewrite_function *function);
enum { BF_REWRITE_PARTS = 4 };

/* number + the sum of registers, each so many times, modulo 2^32; without parts nothing is known.
 */
typedef struct bf_rewrite_sum {
  unsigned parts;
  struct {
    uint32_t of, times;
  } part[BF_REWRITE_PARTS];
  uint32_t number;
} bf_rewrite_sum;

/* Per register of the function. NULL when memory is exhausted. (sums.c) */
bf_rewrite_sum *bf_rewrite_sums(const bf_ptx_function *function, bf_arena *arena);

/* The lowest bits of a register where they are always the same. */
typedef struct bf_rewrite_rest {
  unsigned bits; /* how many */
  uint64_t value;
} bf_rewrite_rest;

/* Per register of the function, by what bf_rewrite_zeros says of it. NULL when memory is exhausted.
 * (rest.c) */
bf_rewrite_rest *bf_rewrite_rests(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                                  const bf_rewrite_function *function, const uint64_t *zeros);
/* Whether a type is one of whole numbers or bits, of 32 or 64 bits. */
bool bf_rewrite_is_whole_number(bf_ptx_type type);
/* How many of the lowest bits are in a mask, at most 63. */
unsigned bf_rewrite_low_zeros(uint64_t zeros);
/* Low bits of the address of a shared variable that are 0. */
unsigned bf_rewrite_zeros_of_variable(const bf_rewrite_plan *plan,
                                      const bf_rewrite_kernel_plan *kernel,
                                      const bf_ptx_variable *variable);

/* ---- How large thread indices can be (threads.c) ---- */

/* Threads of a block, at most: all of them, and in each direction. */
typedef struct bf_rewrite_threads {
  unsigned all, of[3];
} bf_rewrite_threads;

/* False when memory is exhausted. */
bool bf_rewrite_threads_find(const bf_rewrite_plan *plan, const bf_rewrite_function *function,
                             bf_rewrite_threads *threads);

/* ---- Where hashes can be computed (hoist.c) ---- */

typedef struct bf_rewrite_hoist bf_rewrite_hoist;

/* From the arena; *hoist NULL when memory is exhausted. flow must outlive it. */
bf_rewrite_hoist *bf_rewrite_hoist_make(const bf_ptx_function *function, const bf_ptx_flow *flow,
                                        bf_arena *arena);
/* Whether the base of an access, a register or a symbol, is written once, before all of that
 * matters: what is computed from it at an instruction that dominates another still holds there. */
bool bf_rewrite_is_steady(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base,
                          uint32_t instruction);
/* Whether every way to instruction `to` passes `from`, or they are the same. */
bool bf_rewrite_comes_first(const bf_rewrite_hoist *hoist, uint32_t from, uint32_t to);
/* The only instruction that writes a register, without a guard; UINT32_MAX: there is none such. */
uint32_t bf_rewrite_definition(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base);
/* Notes that an access needs the hash of its base; false when memory is exhausted. */
bool bf_rewrite_hoist_note(bf_rewrite_hoist *hoist, const bf_ptx_operand *base, uint32_t access);
/* Decides, when all are noted, which hashes are computed before branches part. */
void bf_rewrite_hoist_settle(bf_rewrite_hoist *hoist);
/* The instruction before which the hash of a base is computed for an access: itself, or one outside
 * of the loops around it in which the base does not change; is_noted: and before branches with
 * accesses that were noted part, where that was decided. */
uint32_t bf_rewrite_hoist_to(const bf_rewrite_hoist *hoist, const bf_ptx_operand *base,
                             uint32_t access, bool is_noted);

/* ---- Arrays at the same subscript (siblings.c) ---- */

/* A register that holds the address of a variable plus another register, as that is now. */
typedef struct bf_rewrite_split {
  uint32_t subscript; /* the number of the other register */
  const bf_ptx_variable *variable;
} bf_rewrite_split;

/* Whether the base of an access is known to be such a sum at an instruction. */
bool bf_rewrite_split_base(const bf_ptx_function *function, const bf_rewrite_hoist *hoist,
                           const bf_ptx_operand *base, uint32_t instruction,
                           bf_rewrite_split *split);
/* Whether the addresses of two static variables, as the kernel declares them, differ by a multiple
 * of that many bytes. */
bool bf_rewrite_are_apart(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                          const bf_ptx_variable *one, const bf_ptx_variable *other, uint64_t bytes);

#endif
