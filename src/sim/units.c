/* The unit of each instruction of PTX, and what it becomes in the machine: its issue slots, how
 * long it takes its unit, and when its result is there. The kind of work stands in ops.def; types
 * and modifiers say the rest. */
#include "sim/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Words of gpu.def. */
enum { MOVES_FREE, MOVES_ISSUE };

static bool is_float(bf_ptx_type type) {
  return (type >= BF_PTX_F16 && type <= BF_PTX_F32X2) || type == BF_PTX_TF32;
}

static bool is_wide_integer(bf_ptx_type type) {
  return type == BF_PTX_U64 || type == BF_PTX_S64 || type == BF_PTX_B64;
}

/* The unit of arithmetic on a type. */
static bf_sim_unit arithmetic_unit(bf_ptx_type type) {
  if (type == BF_PTX_F64)
    return BF_SIM_UNIT_DOUBLE;
  return is_float(type) ? BF_SIM_UNIT_FLOAT : BF_SIM_UNIT_INT;
}

static bool has_any(const bf_ptx_instruction *instruction, const char *const *modifiers) {
  for (; *modifiers; modifiers++)
    if (bf_ptx_has(instruction, *modifiers))
      return true;
  return false;
}

/* A sequence of instructions for a type; of 64 bits it is four times as long. */
static void set_sequence(const bf_sim_gpu *gpu, bf_ptx_type type, bf_sim_op *op) {
  bool is_integer = !is_float(type) && type != BF_PTX_F64 && gpu->int_division_instructions;
  uint64_t instructions = is_integer ? gpu->int_division_instructions : gpu->division_instructions;
  uint64_t cycles = is_integer ? gpu->int_division_cycles : gpu->division_cycles;
  uint64_t times = is_integer && is_wide_integer(type) ? 4 : 1;
  if (type == BF_PTX_F64 && gpu->double_division_cycles)
    cycles = gpu->double_division_cycles;
  op->slots = (uint8_t)(instructions * times < UINT8_MAX ? instructions * times : UINT8_MAX);
  op->more_cycles = (uint16_t)(cycles * times);
  op->holds_warp = gpu->division_holds && !is_integer;
  op->is_division = !op->holds_warp;
}

/* Division, and roots that must be rounded correctly, are sequences of instructions. */
static void set_division(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                         bf_sim_op *op) {
  static const char *const quick[] = {"approx", "full", NULL};
  bf_ptx_type type = instruction->type[0];
  if (has_any(instruction, quick)) {
    op->unit = BF_SIM_UNIT_SPECIAL;
    op->slots = 2;
    return;
  }
  op->unit = (uint8_t)arithmetic_unit(type);
  set_sequence(gpu, type, op);
}

/* Approximations of the special unit with their steps before and behind: numbers too small for it
 * are scaled, under a predicate, there and back; angles become parts of a turn. */
static void set_steps(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction, bf_sim_op *op) {
  if (instruction->opcode == BF_PTX_OP_SIN || instruction->opcode == BF_PTX_OP_COS) {
    op->slots = 2;
    op->more_cycles = (uint16_t)gpu->float_cycles;
  } else if (instruction->opcode != BF_PTX_OP_TANH && !bf_ptx_has(instruction, "ftz")) {
    op->slots = 4;
    op->more_cycles = (uint16_t)(gpu->predicate_cycles + 2 * gpu->float_cycles);
  }
  op->unit_slots = 1;
}

static void set_special(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                        bf_sim_op *op) {
  static const char *const rounded[] = {"rn", "rz", "rm", "rp", NULL};
  op->unit = BF_SIM_UNIT_SPECIAL;
  if (gpu->special_steps && instruction->type[0] == BF_PTX_F32)
    set_steps(gpu, instruction, op);
  if (instruction->type[0] == BF_PTX_F64 || has_any(instruction, rounded)) {
    op->unit = (uint8_t)arithmetic_unit(instruction->type[0]);
    set_sequence(gpu, instruction->type[0], op);
  }
}

static bool is_integer(bf_ptx_type type) { return type >= BF_PTX_B8 && type <= BF_PTX_S64; }

/* Conversions. Between integers they are moves, or operations on integers where signs or bits must
 * be kept. */
static void set_conversion(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                           bf_sim_op *op) {
  bf_ptx_type to = instruction->type[0], from = instruction->type[1];
  op->unit = BF_SIM_UNIT_CONVERT;
  if (!gpu->convert_integers)
    return;
  if (instruction->opcode != BF_PTX_OP_CVT) { /* counts and positions of bits */
    op->unit = BF_SIM_UNIT_SPECIAL;
    return;
  }
  if (is_integer(to) && is_integer(from))
    op->unit = is_wide_integer(to) || is_wide_integer(from) ? BF_SIM_UNIT_NONE : BF_SIM_UNIT_INT;
  else if (to == BF_PTX_F32 && is_integer(from) && !is_wide_integer(from))
    op->unit = BF_SIM_UNIT_INT;
}

static const char *const ordering[] = {"volatile", "relaxed", "acquire", "release",
                                       "acq_rel",  "mmio",    NULL};

/* Whether the compiler keeps others where they are before and behind such an access: it does not at
 * atomics without further words, and of volatile loads it keeps the order among accesses only:
 * arithmetic on their data is put behind the next ones. */
static bool keeps_order(const bf_ptx_instruction *instruction) {
  bf_ptx_access access = bf_ptx_op_get(instruction->opcode)->access;
  if (access == BF_PTX_LOAD && bf_ptx_has(instruction, "volatile"))
    return false;
  return access != BF_PTX_ATOMIC || has_any(instruction, ordering);
}

/* Accesses whose order between multiprocessors a program can see. */
static bool is_ordered(const bf_ptx_instruction *instruction) {
  bf_ptx_space space = instruction->space;
  if (space != BF_PTX_SPACE_GLOBAL && space != BF_PTX_SPACE_NONE)
    return false;
  bf_ptx_access access = bf_ptx_op_get(instruction->opcode)->access;
  return access == BF_PTX_ATOMIC || (access != BF_PTX_NO_ACCESS && has_any(instruction, ordering));
}

/* Whether a load asks for data of the second-level cache. */
static bool is_past_l1(const bf_ptx_instruction *instruction) {
  static const char *const marks[] = {"cg", "cv", NULL};
  return has_any(instruction, marks) || is_ordered(instruction);
}

/* Reads how many groups an instruction need not wait for; false: it waits for none. */
static bool read_groups(const bf_ptx_instruction *instruction, bf_sim_op *op) {
  if (instruction->operands != 1 || instruction->operand[0].kind != BF_PTX_INTEGER ||
      instruction->operand[0].bits >= BF_SIM_GROUPS)
    return false;
  op->groups_left = (uint8_t)instruction->operand[0].bits;
  return true;
}

static bool is_bulk(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (strncmp(instruction->modifier[i], "bulk", 4) == 0)
      return true;
  return false;
}

/* A product of so many columns: rows of its operands have 32 bytes, 64 rows of A (where it is not
 * in registers) and one for each column of B. It is as slow as the slower of matrix units and
 * memory. */
static void set_columns(const bf_sim_gpu *gpu, unsigned columns, bool in_registers, bf_sim_op *op) {
  double rows = (in_registers ? 0.0 : 64.0) + columns;
  double memory = gpu->shared_wavefront_cycles * rows * 32 / 128;
  double cycles = fmax(gpu->product_column_cycles * columns, gpu->product_least_cycles);
  op->product_cycles = (float)fmax(cycles, memory);
  op->operand_share = (float)(memory / op->product_cycles);
}

/* Products of warp groups, which the matrix units make while the warp goes on, and their groups. */
static void set_product(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                        bf_sim_op *op) {
  unsigned columns = 0, depth;
  op->unit = BF_SIM_UNIT_INT;
  op->keeps_order = true;
  op->ends_products = bf_ptx_has(instruction, "commit_group");
  op->awaits_products = bf_ptx_has(instruction, "wait_group") && read_groups(instruction, op);
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (sscanf(instruction->modifier[i], "m64n%uk%u", &columns, &depth) == 2)
      set_columns(gpu, columns, instruction->operand[1].kind == BF_PTX_VECTOR, op);
}

/* What an instruction has to do with asynchronous copies of its thread. */
static void set_copies(const bf_ptx_instruction *instruction, bf_sim_op *op) {
  if (instruction->opcode != BF_PTX_OP_CP)
    return;
  if (is_bulk(instruction)) {
    op->is_bulk = op->keeps_order = true;
    op->ends_stores = bf_ptx_has(instruction, "commit_group");
    op->awaits_stores = bf_ptx_has(instruction, "wait_group") && read_groups(instruction, op);
    return;
  }
  op->ends_group = bf_ptx_has(instruction, "commit_group");
  op->awaits_copies = bf_ptx_has(instruction, "wait_all");
  if (bf_ptx_has(instruction, "wait_group") && read_groups(instruction, op))
    op->awaits_copies = true;
  op->is_copy = !op->ends_group && !op->awaits_copies && instruction->operands >= 2;
}

/* Accesses to other blocks of the cluster, which happen in the order of time. */
static void set_remote(const bf_ptx_instruction *instruction, bf_sim_op *op) {
  bool is_named = bf_ptx_has(instruction, "shared::cluster") && !is_bulk(instruction);
  op->is_ordered |= is_named;
  op->may_be_remote = is_named || (instruction->space == BF_PTX_SPACE_NONE &&
                                   bf_ptx_op_get(instruction->opcode)->access != BF_PTX_NO_ACCESS);
}

static void set_memory(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                       const bf_ptx_merged *merged, bf_sim_op *op) {
  bool is_parameter = instruction->space == BF_PTX_SPACE_PARAM;
  op->unit = is_parameter && gpu->moves == MOVES_FREE ? BF_SIM_UNIT_NONE
             : is_parameter                           ? BF_SIM_UNIT_INT
                                                      : BF_SIM_UNIT_MEMORY;
  op->is_memory = !is_parameter;
  op->is_shared = bf_ptx_access_space(instruction) == BF_PTX_SPACE_SHARED;
  op->is_ordered = is_ordered(instruction);
  op->keeps_order = op->is_ordered && keeps_order(instruction);
  op->is_past_l1 = gpu->l1_marked && is_past_l1(instruction);
  op->is_constant = gpu->constant_word_cycles > 0 && instruction->space == BF_PTX_SPACE_CONST;
  set_remote(instruction, op);
  set_copies(instruction, op);
  if (instruction->opcode == BF_PTX_OP_MBARRIER) {
    op->may_free_others = op->keeps_order = true;
    op->is_try = gpu->pipeline == BF_SIM_SCOREBOARD && bf_ptx_has(instruction, "try_wait");
  }
  if (gpu->merge && merged && op->is_shared && (merged->dropped || merged->leader)) {
    op->is_absorbed = true;
    op->unit = BF_SIM_UNIT_NONE;
  }
}

/* Whether a move reads the time: it must happen in its turn. */
static bool reads_clock(const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *from = &instruction->operand[instruction->operands - 1];
  return from->kind == BF_PTX_SPECIAL && from->special >= BF_PTX_SPECIAL_CLOCK &&
         from->special <= BF_PTX_SPECIAL_GLOBALTIMER_HI;
}

/* Whether a move reads a register that the multiprocessor keeps for all warps. */
static bool reads_special(const bf_ptx_instruction *instruction) {
  return instruction->operands == 2 && instruction->operand[1].kind == BF_PTX_SPECIAL;
}

/* Whether a fence orders accesses for other multiprocessors. */
static bool is_wide_fence(const bf_ptx_instruction *instruction) {
  static const char *const wide[] = {"gpu", "gl", "sys", NULL};
  return has_any(instruction, wide);
}

/* Whether an instruction reaches memory that may be global in another way than loads, stores and
 * atomics of threads do. */
static bool is_beyond(const bf_ptx_instruction *instruction, const bf_sim_op *op) {
  bool is_usual = instruction->opcode == BF_PTX_OP_LD || instruction->opcode == BF_PTX_OP_LDU ||
                  instruction->opcode == BF_PTX_OP_ST ||
                  bf_ptx_op_get(instruction->opcode)->access == BF_PTX_ATOMIC;
  return op->is_memory && !op->is_shared && !is_usual;
}

/* The unit and slots of an instruction. */
static void set_unit(const bf_sim_gpu *gpu, const bf_emu_instruction *found, bf_sim_op *op) {
  const bf_ptx_instruction *instruction = found->instruction;
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  op->slots = 1;
  switch (bf_ptx_op_get(instruction->opcode)->work) {
  case BF_PTX_WORK_NOTHING:
    op->unit = BF_SIM_UNIT_NONE;
    break;
  case BF_PTX_WORK_MOVE:
    op->reads_clock = reads_clock(instruction);
    op->unit = gpu->moves == MOVES_FREE && !op->reads_clock ? BF_SIM_UNIT_NONE : BF_SIM_UNIT_INT;
    if (gpu->special_register_cycles && reads_special(instruction))
      op->more_cycles = (uint16_t)gpu->special_register_cycles;
    break;
  case BF_PTX_WORK_FENCE:
    op->is_fence = gpu->fence_cycles > 0 && is_wide_fence(instruction);
    op->unit = BF_SIM_UNIT_INT;
    break;
  case BF_PTX_WORK_LOGIC:
    op->unit = BF_SIM_UNIT_INT;
    break;
  case BF_PTX_WORK_ARITHMETIC:
    op->unit = (uint8_t)arithmetic_unit(type);
    op->is_either = gpu->either_adds && op->unit == BF_SIM_UNIT_INT &&
                    (instruction->opcode == BF_PTX_OP_ADD || instruction->opcode == BF_PTX_OP_SUB);
    break;
  case BF_PTX_WORK_MULTIPLY:
    op->unit = (uint8_t)arithmetic_unit(type);
    if (op->unit == BF_SIM_UNIT_INT) {
      op->unit = BF_SIM_UNIT_MUL;
      op->slots = is_wide_integer(type) ? 3 : 1;
    }
    break;
  case BF_PTX_WORK_DIVIDE:
    set_division(gpu, instruction, op);
    break;
  case BF_PTX_WORK_SPECIAL:
    set_special(gpu, instruction, op);
    break;
  case BF_PTX_WORK_CONVERT:
    set_conversion(gpu, instruction, op);
    break;
  case BF_PTX_WORK_VIDEO:
    op->unit = BF_SIM_UNIT_MUL;
    break;
  case BF_PTX_WORK_MATRIX:
    if (instruction->opcode == BF_PTX_OP_WGMMA) {
      set_product(gpu, instruction, op);
      break;
    }
    op->is_memory = bf_ptx_op_get(instruction->opcode)->access == BF_PTX_MATRIX &&
                    !bf_ptx_has(instruction, "mma");
    op->is_shared = op->is_memory && bf_ptx_access_space(instruction) == BF_PTX_SPACE_SHARED;
    op->unit = op->is_memory ? BF_SIM_UNIT_MEMORY : BF_SIM_UNIT_MATRIX;
    break;
  case BF_PTX_WORK_BRANCH:
    op->unit = BF_SIM_UNIT_BRANCH;
    op->may_free_others =
        instruction->opcode == BF_PTX_OP_RET || instruction->opcode == BF_PTX_OP_EXIT;
    break;
  case BF_PTX_WORK_BARRIER:
    op->unit = BF_SIM_UNIT_BARRIER;
    op->may_free_others = true;
    op->is_ordered = bf_ptx_has(instruction, "cluster");
    op->joins_cluster = op->is_ordered && bf_ptx_has(instruction, "wait");
    break;
  case BF_PTX_WORK_EXCHANGE:
    op->unit = BF_SIM_UNIT_MEMORY;
    if (gpu->convert_integers && instruction->opcode == BF_PTX_OP_VOTE) {
      op->unit = BF_SIM_UNIT_INT;
      op->more_cycles = (uint16_t)(gpu->predicate_cycles - gpu->int_cycles);
    }
    break;
  case BF_PTX_WORK_MEMORY:
    set_memory(gpu, instruction, found->merged, op);
    break;
  }
}

void bf_sim_unit_set(const bf_sim_gpu *gpu, const bf_emu_instruction *found, bf_sim_op *op) {
  set_unit(gpu, found, op);
  op->is_put_off = found->may_be_put_off && op->is_ordered;
  op->is_beyond = is_beyond(found->instruction, op);
}
