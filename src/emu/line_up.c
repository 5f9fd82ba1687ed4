/* Where warps of a block line up. A GPU runs them side by side, so that a value which all threads
 * read behind a barrier is read by all of them long before some warp comes to overwrite it;
 * programs that fetch work, or sum up a block, in a loop rely on it where they lack a second
 * barrier. Here a warp runs as far as it can. So before a warp stores to shared memory behind a
 * load from a constant place there, with no barrier between, it lets the other warps go first: once
 * after each barrier. */
#include "emu/decode.h"
#include "emu/inner.h"
#include "emu/warp.h"
#include "ptx/access_kind.h"

static bool is_barrier(const bf_ptx_instruction *instruction) {
  return (instruction->opcode == BF_PTX_OP_BAR || instruction->opcode == BF_PTX_OP_BARRIER) &&
         !bf_ptx_has(instruction, "warp") && !bf_ptx_has(instruction, "arrive");
}

/* Whether all threads load the same place of shared memory, as far as one can see: code for
 * debuggers has addresses in registers, and generic ones. */
static bool is_shared_value(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_LD || instruction->operands < 2)
    return false;
  const bf_ptx_operand *address = &instruction->operand[1];
  bf_ptx_space space = bf_ptx_access_space(instruction);
  return space == BF_PTX_SPACE_NONE ||
         (space == BF_PTX_SPACE_SHARED && address->kind == BF_PTX_ADDRESS && address->count &&
          address->item[0].kind == BF_PTX_SYMBOL);
}

static bool writes_shared(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_ST && instruction->opcode != BF_PTX_OP_ATOM &&
      instruction->opcode != BF_PTX_OP_RED)
    return false;
  bf_ptx_space space = bf_ptx_access_space(instruction);
  return space == BF_PTX_SPACE_SHARED || space == BF_PTX_SPACE_NONE;
}

/* Goes through a block; has_read: such a value was read since the last barrier. Marks the
 * instructions before which warps line up, and returns has_read at its end. */
static bool walk(const bf_ptx_function *function, const bf_ptx_block *block, bool has_read,
                 bool *marks) {
  for (uint32_t i = block->first; i < block->end; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    if (is_barrier(instruction))
      has_read = false;
    marks[i] = has_read && writes_shared(instruction);
    has_read |= is_shared_value(instruction);
  }
  return has_read;
}

void bf_emu_mark_line_ups(const bf_ptx_function *function, const bf_ptx_flow *flow, bool *has_read,
                          bool *marks) {
  for (uint32_t b = 0; b < flow->blocks; b++)
    has_read[b] = b == 0 && !function->is_entry; /* its caller may have */
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < flow->blocks; b++) {
      const bf_ptx_block *block = &flow->block[b];
      bool after = walk(function, block, has_read[b], marks);
      for (uint32_t k = 0; after && k < block->successors; k++) {
        uint32_t to = block->successor[k];
        changed |= to < flow->blocks && !has_read[to];
        if (to < flow->blocks)
          has_read[to] = true;
      }
    }
  }
}

const bf_emu_op *bf_emu_step_line_up(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_block *block = warp->block;
  if (block->warps == 1 || warp->lined_up == block->epoch || warp->worker->clock)
    return op + 1;
  warp->lined_up = block->epoch;
  warp->is_lining_up = true;
  bf_emu_account(warp, op);
  return bf_emu_yield(warp, op, false);
}
