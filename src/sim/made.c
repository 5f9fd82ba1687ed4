/* What ptxas has made of the instructions of a kernel, from its machine code (machine.h).
 *
 * Each instruction of PTX gets the instructions of the machine that stand for its line: how many
 * issue slots it takes, and the sum of their stall counts, which is how long its warp waits for
 * what has a fixed latency. None: it was folded into another or moved out of its loop. Blocks of
 * PTX and of the machine do not always agree. Of the machine's blocks that hold lines of a block of
 * PTX, the one with most of them counts, so that rests of unrolled loops do not. Where that is a
 * loop, lines come in it once for each round that ptxas has made one of, and what comes once for
 * all rounds vanishes in the others.
 *
 * The order of the machine says who may pass whom (scoreboard.c): an instruction that must wait is
 * passed by those that ptxas has put before it, and by no others. */
#include "sim/made.h"

#include <stdlib.h>
#include <string.h>

enum { NO_BLOCK = -1, MOST_SLOTS = 200, MOST_ROUNDS = 64 };

/* Opcodes of compute capability 9.0, as nvdisasm names those of tests/data/h200. */
enum { OP_NOP = 0x918, OP_BRA = 0x947, OP_EXIT = 0x94d, OP_CALL = 0x944, OP_CALL_FAR = 0x943 };

static bool ends_block(unsigned opcode) {
  static const uint16_t list[] = {OP_BRA, OP_EXIT, OP_CALL, OP_CALL_FAR, 0x949,
                                  0x94a,  0x94c,   0x950,   0x953};
  for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i] == opcode)
      return true;
  return false;
}

/* Whether a result comes when a barrier of the scoreboard says so: conversions, the special unit,
 * special registers. */
static bool is_variable(unsigned opcode) {
  static const uint16_t list[] = {0x300, 0x301, 0x304, 0x305, 0x306, 0x308,
                                  0x309, 0x310, 0x311, 0x312, 0x919, 0x9c3};
  for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i] == opcode)
      return true;
  return false;
}

/* The machine code of a kernel, cut into blocks, and its instructions by line. */
typedef struct code {
  const bf_machine_kernel *kernel;
  int32_t *block;    /* by instruction: the first one of its block */
  uint16_t *depth;   /* by instruction: loops around it */
  bool *is_loop;     /* by first instruction of a block: it branches back to its own beginning */
  uint32_t *by_line; /* instructions, sorted by line and number */
  uint32_t lines;    /* of them */
  uint32_t *has;     /* by first instruction of a block: used while blocks are compared */
} code;

/* Instructions of the machine for one of PTX. */
typedef struct made {
  uint32_t first, count; /* in by_line: all of its line */
  int32_t block;         /* of the machine, whose instructions count; NO_BLOCK: none do */
  uint32_t own;          /* how many of them are in that block */
  unsigned rounds;       /* that the block is of; 1: it is no unrolled loop */
} made;

typedef struct making {
  code code;
  const bf_sim_gpu *gpu;
  bf_sim_program *program;
  const bf_sim_control *control;
  const bf_emu_kernel *kernel;
  made *made; /* by number of the instruction of PTX */
} making;

/* ---- The machine's blocks ---- */

static void find_blocks(code *own) {
  const bf_machine_kernel *kernel = own->kernel;
  bool *leads = own->is_loop; /* for a while: whether a block begins there */
  for (uint32_t i = 0; i < kernel->count; i++) {
    const bf_machine_op *op = &kernel->op[i];
    bool is_end = op->target == i; /* a branch to itself, behind the last instruction */
    if (!ends_block(op->opcode) || is_end)
      continue;
    leads[i + 1] = true;
    if (op->target != BF_MACHINE_NO_TARGET)
      leads[op->target] = true;
    if (op->target <= i)
      for (uint32_t k = op->target; k <= i; k++)
        own->depth[k]++;
  }
  for (uint32_t i = 0; i < kernel->count; i++)
    own->block[i] = i == 0 || leads[i] ? (int32_t)i : own->block[i - 1];
  memset(leads, 0, (kernel->count + 1) * sizeof *leads);
  for (uint32_t i = 0; i < kernel->count; i++) {
    uint32_t target = kernel->op[i].target;
    if (target < i && own->block[i] == (int32_t)target)
      own->is_loop[target] = true;
  }
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Lists what is neither padding nor the last jump to itself, by line and then by place. */
static int sort_by_line(code *own) {
  uint64_t *key = malloc((own->kernel->count + 1) * sizeof *key);
  if (!key)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < own->kernel->count; i++) {
    const bf_machine_op *op = &own->kernel->op[i];
    if (op->opcode != OP_NOP && op->target != i)
      key[own->lines++] = (uint64_t)op->line << 32 | i;
  }
  qsort(key, own->lines, sizeof *key, compare_keys);
  for (uint32_t i = 0; i < own->lines; i++)
    own->by_line[i] = (uint32_t)key[i];
  free(key);
  return BF_OK;
}

static int open_code(code *own, bf_arena *arena) {
  uint32_t count = own->kernel->count;
  own->block = bf_arena_alloc(arena, (count + 1) * sizeof *own->block);
  own->depth = bf_arena_alloc(arena, (count + 1) * sizeof *own->depth);
  own->is_loop = bf_arena_alloc(arena, count + 2);
  own->by_line = bf_arena_alloc(arena, (count + 1) * sizeof *own->by_line);
  own->has = bf_arena_alloc(arena, (count + 1) * sizeof *own->has);
  if (!own->block || !own->depth || !own->is_loop || !own->by_line || !own->has)
    return BF_NO_MEMORY;
  find_blocks(own);
  return sort_by_line(own);
}

static const bf_machine_op *op_at(const code *own, uint32_t place) {
  return &own->kernel->op[own->by_line[place]];
}

/* The instructions of a line: *count of them from the result on, in by_line. */
static uint32_t find_line(const code *own, uint64_t line, uint32_t *count) {
  uint32_t low = 0, high = own->lines;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (op_at(own, middle)->line < line)
      low = middle + 1;
    else
      high = middle;
  }
  for (*count = 0; low + *count < own->lines && op_at(own, low + *count)->line == line;)
    ++*count;
  return low;
}

/* ---- Blocks of PTX ---- */

static int32_t block_of(const making *work, uint32_t place) {
  return work->code.block[work->code.by_line[place]];
}

/* The block of the machine with most instructions of a range of PTX's; of its instructions only
 * those at least so deep in loops count. */
static int32_t most_in(const making *work, uint32_t first, uint32_t last, unsigned depth) {
  int32_t best = NO_BLOCK;
  uint32_t *has = work->code.has;
  for (unsigned pass = 0; pass < 3; pass++) /* clears, counts, compares */
    for (uint32_t i = first; i < last; i++) {
      const made *own = &work->made[i];
      for (uint32_t k = own->first; k < own->first + own->count; k++) {
        int32_t block = block_of(work, k);
        if (work->code.depth[work->code.by_line[k]] < depth)
          continue;
        has[block] = pass == 0 ? 0 : has[block] + (pass == 1);
        if (pass == 2 && (best == NO_BLOCK || has[block] > has[best] ||
                          (has[block] == has[best] && block < best)))
          best = block;
      }
    }
  return best;
}

/* How many instructions of one of PTX are in its block. */
static void count_own(const making *work, made *own) {
  own->own = 0;
  for (uint32_t k = own->first; k < own->first + own->count; k++)
    own->own += own->block != NO_BLOCK && block_of(work, k) == own->block;
}

static bool is_access(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_MEMORY && op->is_memory;
}

/* The rounds that a loop of the machine makes at once of PTX's block: how often accesses come in
 * it, or without any what most lines do. */
static unsigned rounds_of(const making *work, uint32_t first, uint32_t last) {
  unsigned times[MOST_ROUNDS + 1] = {0}, least = 0, best = 1;
  for (uint32_t i = first; i < last; i++) {
    unsigned own = work->made[i].own;
    if (own && is_access(&work->program->op[i]))
      least = least == 0 || own < least ? own : least;
    times[own < MOST_ROUNDS ? own : MOST_ROUNDS]++;
  }
  for (unsigned i = 1; i <= MOST_ROUNDS; i++)
    best = times[i] && times[i] >= times[best] ? i : best;
  return least ? least : best;
}

/* Chooses the block of the machine that counts for a block of PTX, instructions first to last - 1.
 */
static void make_block(const making *work, uint32_t first, uint32_t last) {
  int32_t block = most_in(work, first, last, 0);
  if (block == NO_BLOCK)
    return;
  bool is_loop = work->code.is_loop[block];
  for (uint32_t i = first; i < last; i++) {
    made *own = &work->made[i];
    own->block = block;
    count_own(work, own);
    if (own->own || is_loop || !own->count)
      continue;
    own->block = most_in(work, i, i + 1, work->code.depth[block]);
    count_own(work, own);
  }
  unsigned rounds = is_loop ? rounds_of(work, first, last) : 1;
  for (uint32_t i = first; i < last; i++)
    work->made[i].rounds = rounds;
}

/* ---- What counts for an instruction ---- */

/* The instruction of the machine that is the n-th of one of PTX in its block. */
static uint32_t nth_own(const making *work, const made *own, uint32_t n) {
  for (uint32_t k = own->first;; k++)
    if (block_of(work, k) == own->block && n-- == 0)
      return work->code.by_line[k];
}

/* Sum of the stall counts of the instructions that count, and how many need the scoreboard. */
static unsigned sum_stalls(const making *work, const made *own, unsigned *variable) {
  unsigned sum = 0;
  *variable = 0;
  for (uint32_t i = 0; i < own->own; i++) {
    const bf_machine_op *op = &work->code.kernel->op[nth_own(work, own, i)];
    sum += op->stall;
    *variable += is_variable(op->opcode);
  }
  return sum;
}

static bool has_any(const making *work, const made *own, unsigned opcode, unsigned other) {
  for (uint32_t k = own->first; k < own->first + own->count; k++)
    if (op_at(&work->code, k)->opcode == opcode || op_at(&work->code, k)->opcode == other)
      return true;
  return false;
}

/* Places in the machine's order, one for each round. */
static void set_places(const making *work, const made *own, bf_sim_op *op) {
  unsigned slots = own->own / own->rounds ? (own->own + own->rounds / 2) / own->rounds : 1;
  unsigned places = own->own / slots < BF_SIM_PLACES ? own->own / slots : BF_SIM_PLACES;
  op->places = (uint8_t)(places ? places : 1);
  for (unsigned i = 0; i < op->places; i++) {
    uint32_t last = (i + 1) * slots - 1;
    op->place[i] = 1 + nth_own(work, own, last < own->own ? last : own->own - 1);
  }
}

/* Whether an instruction of which machine code decides about slots and cycles: not those that are
 * sequences with branches, whose length the values decide. */
static bool is_plain(const bf_sim_op *op) {
  bool is_unit = op->unit == BF_SIM_UNIT_INT || op->unit == BF_SIM_UNIT_MUL ||
                 op->unit == BF_SIM_UNIT_FLOAT || op->unit == BF_SIM_UNIT_DOUBLE;
  return is_unit && !op->is_division && !op->holds_warp && !op->unit_slots && !op->is_fence &&
         !op->keeps_order && !op->is_ordered;
}

/* A division whose machine code has no step of unknown latency is as other sequences; of the others
 * the estimate of cycles stays. */
static void make_division(unsigned slots, unsigned variable, bool calls, bf_sim_op *op) {
  if (!op->is_division || calls || !slots)
    return;
  op->slots = (uint8_t)slots;
  if (variable)
    return;
  op->is_division = false;
  op->more_cycles = 0;
}

/* Moves and conversions that the estimate takes for nothing. */
static bool may_be_something(const bf_emu_instruction *found, const bf_sim_op *op) {
  bf_ptx_work kind = bf_ptx_op_get(found->instruction->opcode)->work;
  return op->unit == BF_SIM_UNIT_NONE && !op->is_absorbed && !op->is_guard && !op->more_cycles &&
         (kind == BF_PTX_WORK_MOVE || kind == BF_PTX_WORK_CONVERT);
}

/* Sets what machine code says of an instruction with some in it. */
static void set_made(const making *work, uint32_t index, bf_sim_op *op) {
  const made *own = &work->made[index];
  bf_emu_instruction found = bf_emu_kernel_instruction(work->kernel, index);
  unsigned variable, stall = sum_stalls(work, own, &variable);
  bool is_once = own->own < own->rounds;
  unsigned times = is_once ? own->own : own->rounds;
  unsigned slots = is_once ? 1 : (own->own + own->rounds / 2) / own->rounds;
  slots = slots < MOST_SLOTS ? slots : MOST_SLOTS;
  stall = (stall + times / 2) / times;
  op->vanishes = is_once;
  set_places(work, own, op);
  make_division(slots, variable / times, has_any(work, own, OP_CALL, OP_CALL_FAR), op);
  if (may_be_something(&found, op)) {
    op->unit = BF_SIM_UNIT_INT;
    op->is_either = true;
  }
  if (is_plain(op)) {
    op->slots = (uint8_t)slots;
    op->is_fixed = true;
    op->more_cycles = 0;
  } else if ((op->unit == BF_SIM_UNIT_MEMORY || op->unit == BF_SIM_UNIT_BRANCH) &&
             !op->is_gathered && !op->keeps_order)
    op->slots = (uint8_t)slots;
  else if (op->unit == BF_SIM_UNIT_CONVERT || op->unit == BF_SIM_UNIT_SPECIAL)
    op->more_cycles = (uint16_t)(op->more_cycles + work->gpu->scoreboard_cycles);
  if (op->unit == BF_SIM_UNIT_BRANCH && work->gpu->made_branch_cycles > work->gpu->branch_cycles)
    op->stall = (uint8_t)work->gpu->made_branch_cycles;
  if (is_plain(op) || op->unit == BF_SIM_UNIT_MEMORY)
    op->stall = (uint8_t)(stall < UINT8_MAX ? stall : UINT8_MAX);
}

/* Sets what machine code says of an instruction without any. */
static void set_nothing(const making *work, uint32_t index, bf_sim_op *op) {
  const bf_ptx_instruction *instruction =
      bf_emu_kernel_instruction(work->kernel, index).instruction;
  bool is_guard =
      instruction->opcode == BF_PTX_OP_BRA && instruction->guard && work->made[index].count == 0;
  op->vanishes = false;
  if (is_guard && op->unit == BF_SIM_UNIT_BRANCH) {
    op->unit = BF_SIM_UNIT_NONE;
    op->is_guard = true;
  }
  if (!is_plain(op))
    return;
  op->unit = BF_SIM_UNIT_NONE;
  op->is_either = false;
  op->more_cycles = 0;
}

/* ---- Who passes whom ---- */

/* Marks the instructions that others behind them in the PTX, or in the next round, pass. */
static void find_overtaken(const making *work) {
  const bf_sim_program *program = work->program;
  for (uint32_t i = 0; i < program->instructions; i++) {
    bf_sim_op *op = &program->op[i];
    for (uint32_t k = 0; op->places && k < program->instructions; k++) {
      const bf_sim_op *other = &program->op[k];
      if (!other->places || work->made[k].block != work->made[i].block)
        continue;
      for (unsigned round = 0; round < op->places; round++) {
        bool same = k > i && round < other->places && other->place[round] < op->place[round];
        bool next = op->rounds > 1 && round + 1U < other->places &&
                    other->place[round + 1] < op->place[round];
        op->is_overtaken |= same || next;
      }
    }
  }
}

/* ---- All of it ---- */

/* Whether another instruction of PTX is in the same line as this one, so that nobody can tell whose
 * the machine's are. */
static bool shares_line(const making *work, uint32_t index) {
  uint64_t line = bf_emu_kernel_instruction(work->kernel, index).instruction->line;
  uint32_t count = work->program->instructions;
  return (index > 0 &&
          bf_emu_kernel_instruction(work->kernel, index - 1).instruction->line == line) ||
         (index + 1 < count &&
          bf_emu_kernel_instruction(work->kernel, index + 1).instruction->line == line);
}

static void make_all(making *work) {
  uint32_t count = work->program->instructions, first = 0;
  for (uint32_t i = 0; i < count; i++) {
    const bf_ptx_instruction *instruction = bf_emu_kernel_instruction(work->kernel, i).instruction;
    made *own = &work->made[i];
    own->block = NO_BLOCK;
    own->rounds = 1;
    own->first = find_line(&work->code, instruction->line, &own->count);
  }
  for (uint32_t i = 0; i < count; i++) {
    bool is_last =
        i + 1 == count || work->control[i + 1].is_target ||
        bf_ptx_op_get(bf_emu_kernel_instruction(work->kernel, i).instruction->opcode)->work ==
            BF_PTX_WORK_BRANCH;
    if (!is_last)
      continue;
    make_block(work, first, i + 1);
    first = i + 1;
  }
  for (uint32_t i = 0; i < count; i++) {
    bf_sim_op *op = &work->program->op[i];
    if (shares_line(work, i))
      continue;
    op->is_made = true;
    op->rounds = (uint8_t)(work->made[i].rounds < MOST_ROUNDS ? work->made[i].rounds : MOST_ROUNDS);
    if (work->made[i].own)
      set_made(work, i, op);
    else
      set_nothing(work, i, op);
  }
  find_overtaken(work);
}

int bf_sim_made_set(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                    const bf_machine_kernel *machine, const bf_sim_control *control,
                    bf_sim_program *program) {
  bf_arena arena = {0};
  making work = {.code = {.kernel = machine},
                 .gpu = gpu,
                 .program = program,
                 .control = control,
                 .kernel = kernel};
  int error = open_code(&work.code, &arena);
  work.made = bf_arena_alloc(&arena, (program->instructions + 1) * sizeof *work.made);
  if (!error && work.made)
    make_all(&work);
  else
    error = BF_NO_MEMORY;
  bf_arena_free(&arena);
  return error;
}
