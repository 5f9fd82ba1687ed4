/* Which loads must stay behind stores. The compiler puts loads first and their uses last
 * (`lookahead`), but not in front of a store to memory that may be the same: such a load waits
 * until the store has its operands. What is known here is what PTX says in one block of code:
 * accesses to different spaces, and those from the same register with offsets that do not meet, are
 * apart. */
#include "sim/program.h"

#include "ptx/access_kind.h"

enum { MOST_STORES = 32 };

/* Where an access goes: bytes from a register, or from an address that nothing is known of. */
typedef struct place {
  bf_ptx_space space;
  bool has_register;
  uint32_t number; /* of the register */
  int64_t offset;
  unsigned bytes;
} place;

/* The first address among the operands of an instruction; NULL: none. */
static const bf_ptx_operand *address_of(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS)
      return &instruction->operand[i];
  return NULL;
}

static bool find_place(const bf_emu_instruction *found, place *to) {
  const bf_ptx_instruction *instruction = found->instruction;
  const bf_ptx_operand *address = address_of(instruction);
  bf_op op;
  if (!address)
    return false;
  *to = (place){.space = bf_ptx_access_space(instruction), .offset = address->offset};
  if (to->space == BF_PTX_SPACE_NONE)
    to->space = BF_PTX_SPACE_GLOBAL;
  if (!bf_ptx_access_kind(instruction, true, &op, &to->bytes))
    to->bytes = 0;
  const bf_ptx_operand *base = address->item;
  if (address->count && base->kind == BF_PTX_REGISTER && to->bytes) {
    to->has_register = true;
    to->number = found->register_base + base->registers->first + base->index;
  }
  return true;
}

/* Whether two accesses may meet. */
static bool may_meet(const place *a, const place *b) {
  if (a->space != b->space)
    return false;
  if (!a->has_register || !b->has_register || a->number != b->number)
    return true;
  return a->offset < b->offset + (int64_t)b->bytes && b->offset < a->offset + (int64_t)a->bytes;
}

/* Whether an instruction ends the block of code in which stores are remembered. */
static bool ends_block(const bf_sim_op *op) {
  return op->unit == BF_SIM_UNIT_BRANCH || op->unit == BF_SIM_UNIT_BARRIER || op->is_ordered;
}

void bf_sim_find_aliases(const bf_emu_kernel *kernel, bf_sim_program *program) {
  place store[MOST_STORES];
  unsigned stores = 0;
  for (uint32_t i = 0; i < program->instructions; i++) {
    bf_sim_op *op = &program->op[i];
    bf_emu_instruction found = bf_emu_kernel_instruction(kernel, i);
    place own;
    if (ends_block(op))
      stores = 0;
    if (!op->is_memory || !find_place(&found, &own))
      continue;
    if (bf_ptx_op_get(found.instruction->opcode)->access == BF_PTX_STORE) {
      op->is_store = true;
      store[stores < MOST_STORES ? stores++ : MOST_STORES - 1] = own;
      continue;
    }
    bool is_constant = bf_ptx_has(found.instruction, "nc");
    for (unsigned k = 0; k < stores && !is_constant; k++)
      op->is_behind_store |= may_meet(&store[k], &own);
  }
}
