/* What ptxas makes of branches. Short branches forward become guards of what they skip, two
 * branches that ask the same skip as one, and small loops that count become four rounds of
 * themselves with one branch: of the branch, of the comparison and of the additions of constants,
 * three of four vanish. The rules are those that the machine code of reproduce/h200/h200_train.cu
 * shows. */
#include "sim/program.h"

#include <stdlib.h>

/* The instructions of a kernel by number; functions lie one behind the other. */
typedef struct listing {
  const bf_emu_kernel *kernel;
  uint32_t count;
  bf_sim_control *control; /* by number */
  bool *is_next;           /* by number: a branch that asks what the one before it has asked */
} listing;

static const bf_ptx_instruction *at(const listing *own, uint32_t index) {
  return bf_emu_kernel_instruction(own->kernel, index).instruction;
}

static bool is_work(const bf_ptx_instruction *instruction, bf_ptx_work work) {
  return bf_ptx_op_get(instruction->opcode)->work == work;
}

/* The number of the instruction that a branch leads to; UINT32_MAX where that is not known. */
static uint32_t target_of(const listing *own, uint32_t index) {
  const bf_ptx_instruction *branch = at(own, index);
  if (branch->opcode != BF_PTX_OP_BRA || branch->operands != 1 ||
      branch->operand[0].kind != BF_PTX_SYMBOL)
    return UINT32_MAX;
  const bf_ptx_function *function = bf_emu_kernel_instruction(own->kernel, index).function;
  uint32_t first = index;
  while (first > 0 && bf_emu_kernel_instruction(own->kernel, first - 1).function == function)
    first--;
  return first + branch->operand[0].symbol->instruction;
}

static bool is_register(const bf_ptx_operand *operand, const bf_ptx_operand *other) {
  return operand->kind == BF_PTX_REGISTER && other->kind == BF_PTX_REGISTER &&
         operand->registers == other->registers && operand->index == other->index;
}

/* Whether an instruction adds a constant to a register, in place. */
static bool is_step(const bf_ptx_instruction *instruction) {
  return (instruction->opcode == BF_PTX_OP_ADD || instruction->opcode == BF_PTX_OP_SUB) &&
         !instruction->guard && instruction->operands == 3 &&
         is_register(&instruction->operand[0], &instruction->operand[1]) &&
         instruction->operand[2].kind == BF_PTX_INTEGER;
}

/* ---- Loops ---- */

/* Whether instructions first to last are one block of code, with a branch at its end. */
static bool is_block(const listing *own, uint32_t first, uint32_t last) {
  for (uint32_t i = first; i < last; i++)
    if ((i > first && own->control[i].is_target) || is_work(at(own, i), BF_PTX_WORK_BRANCH))
      return false;
  return !own->control[last].is_target;
}

/* The comparison that a branch asks, of a counter of the loop that begins at first; NULL: none. */
static bool *find_test(const listing *own, uint32_t first, uint32_t last) {
  const bf_ptx_operand *guard = at(own, last)->guard;
  for (uint32_t i = last; i-- > first;) {
    const bf_ptx_instruction *test = at(own, i);
    if (test->opcode != BF_PTX_OP_SETP || test->operands < 3 ||
        !is_register(&test->operand[0], guard))
      continue;
    for (uint32_t k = first; k < last; k++)
      if (is_step(at(own, k)) && (is_register(&at(own, k)->operand[0], &test->operand[1]) ||
                                  is_register(&at(own, k)->operand[0], &test->operand[2])))
        return &own->control[i].vanishes;
    return NULL;
  }
  return NULL;
}

/* Whether an instruction of a loop adds a register to another in place that the loop does not
 * change: a step whose length only the launch knows. */
static bool is_long_step(const listing *own, uint32_t index, uint32_t first, uint32_t last) {
  const bf_ptx_instruction *step = at(own, index);
  if (step->opcode != BF_PTX_OP_ADD || step->operands != 3 ||
      !is_register(&step->operand[0], &step->operand[1]) ||
      step->operand[2].kind != BF_PTX_REGISTER)
    return false;
  for (uint32_t i = first; i < last; i++)
    for (unsigned k = 0; k < at(own, i)->operands; k++) {
      const bf_ptx_operand *operand = &at(own, i)->operand[k];
      if (k == 0 && is_register(operand, &step->operand[2]))
        return false;
    }
  return true;
}

/* Whether a loop only waits for what it loads: it neither stores nor divides, and its steps are
 * constants. */
static bool is_loading(const listing *own, uint32_t first, uint32_t last) {
  unsigned loads = 0;
  for (uint32_t i = first; i < last; i++) {
    bf_ptx_access access = bf_ptx_op_get(at(own, i)->opcode)->access;
    if (is_work(at(own, i), BF_PTX_WORK_DIVIDE) || is_long_step(own, i, first, last) ||
        (access != BF_PTX_NO_ACCESS && access != BF_PTX_LOAD))
      return false;
    loads += access == BF_PTX_LOAD;
  }
  return loads > 0;
}

/* Marks a loop that is unrolled. */
static void mark_loop(listing *own, uint32_t first, uint32_t last, const bf_sim_gpu *gpu) {
  unsigned work = 0;
  for (uint32_t i = first; i <= last; i++)
    work += !is_work(at(own, i), BF_PTX_WORK_MOVE) && !is_work(at(own, i), BF_PTX_WORK_NOTHING);
  uint64_t most = gpu->unroll_instructions;
  if (gpu->unroll_loading > most && is_loading(own, first, last))
    most = gpu->unroll_loading;
  bool *test = at(own, last)->guard && work <= most && is_block(own, first, last)
                   ? find_test(own, first, last)
                   : NULL;
  if (!test)
    return;
  *test = own->control[last].vanishes = true;
  for (uint32_t i = first; i < last; i++)
    own->control[i].vanishes |= is_step(at(own, i));
}

/* ---- Guards ---- */

/* Whether an instruction can be guarded instead of skipped. */
static bool can_be_guarded(const bf_ptx_instruction *instruction) {
  return !instruction->guard && !is_work(instruction, BF_PTX_WORK_BRANCH) &&
         !is_work(instruction, BF_PTX_WORK_BARRIER) && !is_work(instruction, BF_PTX_WORK_FENCE) &&
         !is_work(instruction, BF_PTX_WORK_DIVIDE) &&
         bf_ptx_op_get(instruction->opcode)->access != BF_PTX_ATOMIC;
}

/* Makes a branch over the instructions between it and target a guard of them, where it can. */
static void mark_guard(listing *own, uint32_t branch, uint32_t target, uint64_t most) {
  const bf_ptx_operand *guard = at(own, branch)->guard;
  if (!guard || target - branch - 1 > most)
    return;
  for (uint32_t i = branch + 1; i < target; i++)
    if (own->control[i].is_target || !can_be_guarded(at(own, i)))
      return;
  own->control[branch].is_guard = true;
  own->control[branch].guarded = (uint8_t)(target - branch - 1);
  for (uint32_t i = branch + 1; i < target; i++)
    own->control[i].guard = guard;
}

/* ---- Branches that ask the same ---- */

/* Whether the branches at two places ask the same predicate, which nothing between them writes. */
static bool asks_same(const listing *own, uint32_t branch, uint32_t other) {
  const bf_ptx_instruction *a = at(own, branch), *b = at(own, other);
  if (!a->guard || !b->guard || b->opcode != BF_PTX_OP_BRA || !is_register(a->guard, b->guard) ||
      a->guard->negated != b->guard->negated)
    return false;
  for (uint32_t i = branch + 1; i < other; i++)
    if (at(own, i)->operands && is_register(&at(own, i)->operand[0], a->guard))
      return false;
  return true;
}

/* Where a branch leads forward to one that asks the same, as rounds of a loop do that skip
 * something by a condition from outside, what both skip becomes one block of code: of such a row
 * the first two, and the others stay by themselves. */
static void mark_same(listing *own, uint32_t branch, uint32_t target) {
  if (!asks_same(own, branch, target))
    return;
  own->is_next[target] = true;
  own->control[target].is_guard |= !own->is_next[branch];
}

int bf_sim_control_find(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel, bf_arena *arena,
                        bf_sim_control **control) {
  listing own = {.kernel = kernel, .count = bf_emu_kernel_instructions(kernel)};
  own.control = bf_arena_alloc(arena, (own.count + 1) * sizeof *own.control);
  own.is_next = bf_arena_alloc(arena, own.count + 1);
  if (!own.control || !own.is_next)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < own.count; i++) {
    uint32_t target = target_of(&own, i);
    if (target < own.count)
      own.control[target].is_target = true;
  }
  for (uint32_t i = 0; i < own.count; i++) {
    uint32_t target = target_of(&own, i);
    if (target <= i)
      mark_loop(&own, target, i, gpu);
    else if (target < own.count) {
      mark_guard(&own, i, target, gpu->guard_instructions);
      if (gpu->guard_instructions && (own.is_next[i] || !own.control[i].is_guard))
        mark_same(&own, i, target);
    }
  }
  *control = own.control;
  return BF_OK;
}
