/* Inside room sim: machine instructions, and what a trace of them holds. */
#ifndef BF_SIM_SASS_OP_H
#define BF_SIM_SASS_OP_H

#include "access/accelsim.h"
#include "base/table.h"
#include "sim/program.h"
#include "sim/sass.h"

/* Registers of a thread, and one for all its predicates, which traces do not name. */
enum { BF_SASS_PREDICATES = 256, BF_SASS_ALL_REGISTERS };

typedef enum bf_sass_space {
  BF_SASS_NO_SPACE,
  BF_SASS_GLOBAL,
  BF_SASS_SHARED,
  BF_SASS_GENERIC, /* addresses say which */
  BF_SASS_LOCAL,
} bf_sass_space;

/* What an opcode is, beside its unit and space. */
enum {
  BF_SASS_SETS_PREDICATES = 1 << 0,
  BF_SASS_ASKS_PREDICATES = 1 << 1,
  BF_SASS_PAIRS = 1 << 2,  /* all registers are pairs */
  BF_SASS_BEHIND = 1 << 3, /* its result stands behind a predicate: tracers take it for a source */
  BF_SASS_STORES = 1 << 4,
  BF_SASS_ATOMIC = 1 << 5,
  BF_SASS_REDUCES = 1 << 6, /* without a result */
  BF_SASS_FENCE = 1 << 7,
  BF_SASS_COPIES = 1 << 8, /* LDGSTS */
  BF_SASS_ENDS_GROUP = 1 << 9,
  BF_SASS_AWAITS_GROUP = 1 << 10,
  BF_SASS_EXITS = 1 << 11,
  BF_SASS_SPECIAL_REGISTER = 1 << 12,
  BF_SASS_CONSTANT = 1 << 13,
  BF_SASS_CONVERTS = 1 << 14,
};

/* An instruction of the program. */
typedef struct bf_sass_op {
  uint8_t unit, space; /* bf_sim_unit, bf_sass_space */
  uint16_t flags;
  bool waits; /* at the barrier of its block */
  bool is_past_l1, is_wide_fence;
  uint8_t groups_left;
  bf_op op; /* of its accesses */
  unsigned width_bytes;
  uint32_t site;    /* UINT32_MAX: none */
  uint64_t line;    /* where it came first */
  uint16_t *source; /* registers read, then those written */
  unsigned sources, results;
} bf_sass_op;

/* An instruction that a warp has executed. */
typedef struct bf_sass_record {
  uint32_t op, mask;
  uint64_t at; /* in the pool: first address and stride, or all addresses */
} bf_sass_record;

typedef struct bf_sass_warp {
  uint64_t first; /* record */
  uint64_t count;
  bool is_there;
} bf_sass_warp;

struct bf_sim_sass {
  bf_arena arena;
  char file[256];
  char *kernel;
  uint32_t grid[3], block[3];
  uint64_t shared_bytes, registers;
  uint64_t shared_base, local_base; /* 0: not known */
  bool has_source_lines;
  uint64_t blocks;
  unsigned warps; /* of a block */
  bf_table by_text;
  bf_sass_op *op;
  size_t ops, op_capacity;
  unsigned sites;
  bf_sass_record *record;
  size_t records, record_capacity;
  uint64_t *pool;
  size_t pooled, pool_capacity;
  bf_sass_warp *warp; /* of all blocks */
};

/* Finds out what an instruction is; op has its line. False: it is not known. *refused says why one
 * that is known cannot be simulated, or NULL. */
bool bf_sass_classify(const bf_sass *sass, bf_arena *arena, bf_sass_op *op, const char **refused);
/* The instruction as the timing model sees it; 0 or BF_NO_MEMORY. */
int bf_sass_time(const bf_sim_gpu *gpu, const bf_sass_op *from, bf_arena *arena, bf_sim_op *op);
/* The space that a generic address lies in. */
bf_sass_space bf_sass_space_of(const bf_sim_sass *trace, const bf_sass_op *op, uint64_t address);

#endif
