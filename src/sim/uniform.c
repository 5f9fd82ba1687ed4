/* What ptxas knows to be the same in all lanes of a warp, from the code alone: what comes from
 * parameters, constants and numbers of the block. Atomics on a word that all lanes have in common
 * are made by one lane for all of them (gather_atomics), and of a division by a number that the
 * launch gives only the second half is left in loops (kept_division_cycles). */
#include "sim/program.h"

#include <stdlib.h>

/* What is known of a register. */
typedef struct known {
  bool varies;    /* from lane to lane */
  bool is_moved;  /* some instruction other than those that read the launch writes it */
  uint8_t writes; /* instructions that write it, up to 2 */
} known;

static bool is_uniform_special(bf_ptx_special special) {
  return special == BF_PTX_SPECIAL_CTAID || special == BF_PTX_SPECIAL_NTID ||
         special == BF_PTX_SPECIAL_NCTAID || special == BF_PTX_SPECIAL_SMID;
}

/* Whether lanes can get different results of an instruction from the same operands. */
static bool parts_lanes(const bf_ptx_instruction *instruction) {
  const bf_ptx_op *info = bf_ptx_op_get(instruction->opcode);
  bool is_constant =
      instruction->space == BF_PTX_SPACE_PARAM || instruction->space == BF_PTX_SPACE_CONST;
  if (info->work == BF_PTX_WORK_EXCHANGE || (info->access != BF_PTX_NO_ACCESS && !is_constant))
    return true;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_SPECIAL &&
        !is_uniform_special(instruction->operand[i].special))
      return true;
  return false;
}

/* Whether an instruction only reads what the launch gives: a parameter, or a size of the grid. */
static bool reads_launch(const bf_ptx_instruction *instruction) {
  bool is_move = bf_ptx_op_get(instruction->opcode)->work == BF_PTX_WORK_MOVE;
  return instruction->space == BF_PTX_SPACE_PARAM ||
         (is_move && instruction->operands == 2 && instruction->operand[1].kind == BF_PTX_SPECIAL &&
          is_uniform_special(instruction->operand[1].special));
}

/* Marks the results of an instruction; true: something has become known. */
static bool mark_results(const bf_sim_op *op, const bf_ptx_instruction *instruction, known *of) {
  bool varies = parts_lanes(instruction), changed = false;
  for (unsigned i = 0; i < op->sources; i++)
    varies |= of[op->source[i]].varies;
  for (unsigned i = 0; i < op->results && varies; i++) {
    known *result = &of[op->source[op->sources + i]];
    changed |= !result->varies;
    result->varies = true;
  }
  return changed;
}

static void count_writes(const bf_sim_op *op, const bf_ptx_instruction *instruction, known *of) {
  for (unsigned i = 0; i < op->results; i++) {
    known *result = &of[op->source[op->sources + i]];
    result->writes = (uint8_t)(result->writes < 2 ? result->writes + 1 : 2);
    result->is_moved |= !reads_launch(instruction);
  }
}

/* Whether ptxas lets one lane do what all lanes of an atomic do to the same word. */
static bool can_gather(const bf_ptx_instruction *instruction) {
  static const char *const kinds[] = {"add", "min", "max", "and", "or", "xor"};
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  bool is_word = type == BF_PTX_U32 || type == BF_PTX_S32 || type == BF_PTX_B32;
  if (bf_ptx_op_get(instruction->opcode)->access != BF_PTX_ATOMIC || !is_word ||
      instruction->space != BF_PTX_SPACE_GLOBAL)
    return false;
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (bf_ptx_has(instruction, kinds[i]))
      return true;
  return false;
}

/* Whether the address of an access is the same in all lanes. */
static bool is_uniform_address(const bf_emu_instruction *found, const known *of) {
  const bf_ptx_instruction *instruction = found->instruction;
  for (unsigned i = 0; i < instruction->operands; i++) {
    const bf_ptx_operand *address = &instruction->operand[i];
    if (address->kind != BF_PTX_ADDRESS)
      continue;
    const bf_ptx_operand *base = address->item;
    return !address->count || base->kind != BF_PTX_REGISTER ||
           !of[found->register_base + base->registers->first + base->index].varies;
  }
  return false;
}

/* Whether an instruction divides by a register that the launch has set. */
static bool divides_by_kept(const bf_emu_instruction *found, const known *of) {
  const bf_ptx_instruction *instruction = found->instruction;
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  if (bf_ptx_op_get(instruction->opcode)->work != BF_PTX_WORK_DIVIDE ||
      (type != BF_PTX_U32 && type != BF_PTX_S32) || instruction->operands != 3 ||
      instruction->operand[2].kind != BF_PTX_REGISTER)
    return false;
  const bf_ptx_operand *divisor = &instruction->operand[2];
  const known *own = &of[found->register_base + divisor->registers->first + divisor->index];
  return own->writes == 1 && !own->is_moved;
}

int bf_sim_find_uniform(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                        bf_sim_program *program) {
  known *of = calloc(program->registers + 1, sizeof *of);
  if (!of)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < program->instructions; i++)
    count_writes(&program->op[i], bf_emu_kernel_instruction(kernel, i).instruction, of);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < program->instructions; i++)
      changed |=
          mark_results(&program->op[i], bf_emu_kernel_instruction(kernel, i).instruction, of);
  }
  enum { GATHER_SLOTS = 8, KEPT_SLOTS = 6 }; /* instructions to gather, and those kept */
  for (uint32_t i = 0; i < program->instructions; i++) {
    bf_sim_op *op = &program->op[i];
    bf_emu_instruction found = bf_emu_kernel_instruction(kernel, i);
    if (gpu->gather_atomics && can_gather(found.instruction) && is_uniform_address(&found, of)) {
      op->is_gathered = true;
      op->slots = GATHER_SLOTS;
    }
    if (gpu->kept_division_cycles && divides_by_kept(&found, of)) {
      op->slots = (uint8_t)(op->slots > KEPT_SLOTS ? op->slots - KEPT_SLOTS : 1);
      op->more_cycles = (uint16_t)gpu->kept_division_cycles;
    }
  }
  free(of);
  return BF_OK;
}
