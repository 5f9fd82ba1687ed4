/* Inside room analyze: the walk of a block's threads through a kernel. */
#ifndef BF_ANALYZE_WALK_H
#define BF_ANALYZE_WALK_H

#include "analyze/analyze.h"
#include "analyze/expression.h"

/* ---- Loops (loops.c) ---- */

#define BF_NO_LOOP UINT32_MAX
enum { BF_MOST_CAUSES = 4 };

/* A natural loop: blocks that reach the header, which dominates them, without leaving. */
typedef struct bf_loop {
  uint32_t header;
  uint32_t parent;   /* the loop around it, or BF_NO_LOOP */
  uint64_t line;     /* of its first instruction */
  bool is_symbolic;  /* to be gone through once, with an unknown counter */
  bool is_too_long;  /* because it has too many iterations */
  bool leaves_apart; /* lanes of a warp may leave it in different iterations */
  unsigned causes;   /* on what its end depends */
  bf_expression cause[BF_MOST_CAUSES];
} bf_loop;

typedef struct bf_loops {
  uint32_t count;
  bf_loop *loop;
  uint32_t *innermost;       /* per block, or BF_NO_LOOP */
  uint32_t *headed;          /* per block: the loop whose header it is, or BF_NO_LOOP */
  uint64_t irreducible_line; /* of a jump into a loop from outside, or 0 */
} bf_loops;

/* Finds the loops; BF_OK or BF_NO_MEMORY. */
int bf_loops_find(const bf_ptx_function *function, const bf_ptx_flow *flow, bf_loops *loops);
void bf_loops_free(bf_loops *loops);
bool bf_loops_contain(const bf_loops *loops, uint32_t loop, uint32_t block);

/* ---- Where threads are ---- */

/* What must hold for the threads to be here: predicate is_true, and up. */
typedef struct bf_condition {
  const struct bf_condition *up;
  bf_expression predicate;
  bool is_true;
  uint64_t line; /* of the branch or guard */
} bf_condition;

/* Loops that are gone through once, from the inside out. */
typedef struct bf_repeat {
  const struct bf_repeat *up;
  uint32_t loop;
} bf_repeat;

/* Threads that take part, and on which unknown conditions. */
typedef struct bf_place {
  uint32_t mask;
  const bf_condition *conditions;
} bf_place;

/* One execution of an instruction on shared memory. */
typedef struct bf_record {
  uint32_t instruction;
  bf_place place;
  const bf_repeat *repeats;
  bf_expression address; /* 32 bits */
} bf_record;

enum { BF_MOST_LAYOUT = 1024 };
/* Of a block, on any GPU so far (227 KiB: the CUDA C++ Programming Guide, compute capability 9.0).
 */
enum { BF_MOST_SHARED_BYTES = 227 * 1024 };

/* Where a shared variable begins. */
typedef struct bf_placed_variable {
  const bf_ptx_variable *variable;
  uint64_t offset;
  bf_expression value;
} bf_placed_variable;

struct bf_spread;

typedef struct bf_walk {
  const bf_ptx_module *module;
  const bf_ptx_function *function;
  const bf_analyze_options *options;
  bf_ptx_flow *flow;
  bf_loops loops;
  bf_expressions values;
  bf_arena arena;
  uint32_t *ways;       /* per block: how many blocks lead to it; 2 where branches meet */
  bf_expression *reg;   /* per register of the function */
  bool *is_needed;      /* per instruction: it has a part in an address or a branch */
  bf_expression window; /* where shared memory begins among generic addresses */
  bf_expression block_index[3], grid[3];
  bf_placed_variable *variable;
  unsigned variables;
  struct bf_seen_parameter *parameter; /* what was read of parameters, the latest first */
  bool all_symbolic;                   /* go through every loop once */
  unsigned muted;                      /* > 0: record nothing */
  const bf_repeat *repeats;
  bf_record *record;
  uint32_t records, record_capacity;
  uint64_t lanes_recorded;
  uint64_t steps;
  uint64_t most_steps;           /* before it is too much */
  bf_analyze_executed *executed; /* per block */
  bool too_much;                 /* a limit was reached; what was found is not all */
  bool *is_called;               /* per instruction: a call that was met */
  struct bf_spread *spread;      /* BF_SPREADS of them, or NULL */
  uint64_t shared_bytes;         /* that accesses can lie in */
} bf_walk;

/* Follows all paths from the start of the kernel. */
void bf_walk_run(bf_walk *walk);

/* ---- Operands (operand.c) ---- */

/* What an operand is worth here. */
bf_expression bf_walk_read(bf_walk *walk, const bf_ptx_operand *operand, bf_place place,
                           unsigned bits);
bf_expression bf_walk_register(bf_walk *walk, uint32_t number, unsigned bits, bf_place place);
/* Gives a register a value in the threads of place. */
void bf_walk_write(bf_walk *walk, uint32_t number, bf_expression value, bf_place place);
/* A new unknown: what the instruction (NULL: nobody) loads or computes. */
bf_expression bf_walk_unknown(bf_walk *walk, bf_atom_kind kind, unsigned bits, bool is_uniform,
                              const bf_ptx_instruction *instruction);
/* The predicate of a guard. */
bf_expression bf_walk_guard(bf_walk *walk, const bf_ptx_operand *guard, bf_place place);
/* Whether an instruction loads a parameter of the kernel, which, and from which byte on. */
bool bf_walk_is_parameter(const bf_walk *walk, const bf_ptx_instruction *instruction,
                          unsigned *index, int64_t *offset);
/* bits of a parameter from its byte offset on. */
bf_expression bf_walk_parameter(bf_walk *walk, unsigned index, int64_t offset, unsigned bits);
unsigned bf_register_bits(const bf_ptx_registers *registers);
/* The number of a scalar register that operand is; false for everything else. */
bool bf_operand_register(const bf_ptx_operand *operand, uint32_t *number);

/* Threads of place for which a predicate is true, false, or not known. */
typedef struct bf_split {
  bf_place yes, no; /* where it is not known, both have the thread, each on its condition */
  bool is_unknown;  /* for some thread */
} bf_split;
bf_split bf_walk_split(bf_walk *walk, bf_expression predicate, bf_place place, uint64_t line);

/* ---- Instructions (execute.c) ---- */

/* Follows one instruction that is no branch. */
void bf_walk_execute(bf_walk *walk, uint32_t index, bf_place place);
/* Calls visit for each register that an instruction writes. */
void bf_walk_written(const bf_ptx_instruction *instruction,
                     void (*visit)(void *context, const bf_ptx_operand *operand), void *context);

/* ---- Shared memory (touch.c) ---- */

/* Marks the instructions that addresses of shared accesses and branches depend on. */
int bf_walk_mark(bf_walk *walk);
/* Whether an instruction may touch shared memory: it says so, or its address is generic. */
bool bf_may_be_shared(const bf_ptx_instruction *instruction);
/* Notes that the threads of place execute an instruction that may touch shared memory. */
void bf_walk_record(bf_walk *walk, uint32_t index, bf_place place);

/* ---- Operations (kinds.c) ---- */

/* What an instruction is in a trace (bf_ptx_access_kind); false where a trace cannot hold it. */
bool bf_walk_kind(const bf_ptx_function *function, const bf_ptx_instruction *instruction, bf_op *op,
                  unsigned *width_bytes);
/* Whether an instruction moves a tile (wmma): in how many pieces, and how far from the start of the
 * tile each lane is in the first of them. */
bool bf_walk_is_tile(const bf_ptx_function *function, const bf_ptx_instruction *instruction,
                     unsigned *pieces, uint64_t distance_bytes[BF_ANALYZE_LANES]);
/* The lanes whose addresses count: those of one matrix are lanes 0 to 7. */
uint32_t bf_walk_counted_lanes(const bf_ptx_instruction *instruction);

/* ---- Data (spread.c) ---- */

enum { BF_SPREADS = 14 };

/* What expressions are worth where unknowns are drawn: a memo for each number of values. */
typedef struct bf_spread {
  bf_lanes **memo;
  uint32_t memo_capacity, memos;
} bf_spread;

/* How many values unknowns have in spread number `which`, falling. */
uint64_t bf_spread_values(unsigned which);
/* The value in each thread, in spread number `which`. NULL when out of memory. */
const bf_lanes *bf_spread_evaluate(bf_walk *walk, bf_expression value, unsigned which);
/* Whether the addresses of the threads of mask lie where address says that it is: in the variable
 * that it names, or in shared memory; width_bytes: they are multiples of that. */
bool bf_spread_fits(const bf_walk *walk, bf_expression address, const bf_lanes *lanes,
                    uint32_t mask, unsigned width_bytes);
void bf_spreads_free(bf_walk *walk);

/* ---- Layout (layout.c) ---- */

/* Places the shared variables that the function can name. */
int bf_walk_layout(bf_walk *walk);

#endif
