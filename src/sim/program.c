/* What the timing model must know of each instruction of a kernel: its unit, the registers it reads
 * and writes, and how it is bound to memory. The kind of work stands in ops.def; types and
 * modifiers say the rest. PTX is not what the hardware runs: moves, address conversions and loads
 * of parameters usually vanish in the binary (parameter `moves`), divisions become several
 * instructions, and shared accesses may be merged (`merge`). */
#include "sim/program.h"

#include <stdlib.h>
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
  op->slots = (uint8_t)(instructions * times < UINT8_MAX ? instructions * times : UINT8_MAX);
  op->more_cycles = (uint16_t)(cycles * times);
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

static void set_special(const bf_sim_gpu *gpu, const bf_ptx_instruction *instruction,
                        bf_sim_op *op) {
  static const char *const rounded[] = {"rn", "rz", "rm", "rp", NULL};
  op->unit = BF_SIM_UNIT_SPECIAL;
  if (instruction->type[0] == BF_PTX_F64 || has_any(instruction, rounded)) {
    op->unit = (uint8_t)arithmetic_unit(instruction->type[0]);
    set_sequence(gpu, instruction->type[0], op);
  }
}

/* Accesses whose order between multiprocessors a program can see. */
static bool is_ordered(const bf_ptx_instruction *instruction) {
  static const char *const ordering[] = {"volatile", "relaxed", "acquire", "release",
                                         "acq_rel",  "mmio",    NULL};
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

/* Whether an instruction waits for all asynchronous copies of its thread. */
static bool awaits_copies(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_CP)
    return false;
  if (bf_ptx_has(instruction, "wait_all"))
    return true;
  return bf_ptx_has(instruction, "wait_group") && instruction->operands == 1 &&
         instruction->operand[0].kind == BF_PTX_INTEGER && instruction->operand[0].bits == 0;
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
  op->is_past_l1 = gpu->l1_marked && is_past_l1(instruction);
  op->awaits_copies = awaits_copies(instruction);
  op->may_free_others = instruction->opcode == BF_PTX_OP_MBARRIER;
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

/* Whether a fence orders accesses for other multiprocessors. */
static bool is_wide_fence(const bf_ptx_instruction *instruction) {
  static const char *const wide[] = {"gpu", "gl", "sys", NULL};
  return has_any(instruction, wide);
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
    op->unit = BF_SIM_UNIT_CONVERT;
    break;
  case BF_PTX_WORK_VIDEO:
    op->unit = BF_SIM_UNIT_MUL;
    break;
  case BF_PTX_WORK_MATRIX:
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
    break;
  case BF_PTX_WORK_EXCHANGE:
    op->unit = BF_SIM_UNIT_MEMORY;
    break;
  case BF_PTX_WORK_MEMORY:
    set_memory(gpu, instruction, found->merged, op);
    break;
  }
}

/* What ptxas makes of control, and how long predicates take. */
static void set_control(const bf_sim_gpu *gpu, const bf_sim_control *control,
                        const bf_emu_instruction *found, bf_sim_op *op) {
  op->vanishes = control->vanishes;
  if (control->is_guard)
    op->unit = BF_SIM_UNIT_NONE;
  if (found->instruction->opcode == BF_PTX_OP_SETP && gpu->predicate_cycles > gpu->int_cycles)
    op->more_cycles = (uint16_t)(gpu->predicate_cycles - gpu->int_cycles);
}

/* ---- Registers ---- */

enum { MOST_REGISTERS = 256 }; /* that one instruction names; wgmma has 128 results */

typedef struct named {
  uint32_t base;
  uint32_t source[MOST_REGISTERS], result[MOST_REGISTERS];
  unsigned sources, results;
} named;

static void name_register(uint32_t number, uint32_t *list, unsigned *count) {
  for (unsigned i = 0; i < *count; i++)
    if (list[i] == number)
      return;
  if (*count < MOST_REGISTERS)
    list[(*count)++] = number;
}

/* Registers of an operand; those inside an address are read even where the operand is written. */
static void name_operand(named *own, const bf_ptx_operand *operand, bool is_written) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = own->base + operand->registers->first + operand->index;
    if (is_written)
      name_register(number, own->result, &own->results);
    else
      name_register(number, own->source, &own->sources);
  }
  if (operand->kind < BF_PTX_ADDRESS || operand->kind > BF_PTX_ARGUMENTS)
    return;
  for (uint32_t i = 0; i < operand->count; i++)
    name_operand(own, &operand->item[i], is_written && operand->kind != BF_PTX_ADDRESS);
}

/* The registers that an instruction names. A guarded instruction keeps its old result in some
 * lanes, but in-order issue makes it wait for that anyway. */
static int set_registers(const bf_emu_instruction *found, const bf_sim_control *control, named *own,
                         bf_arena *arena, bf_sim_op *op) {
  const bf_ptx_instruction *instruction = found->instruction;
  bool writes = bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
  own->base = found->register_base;
  own->sources = own->results = 0;
  if (instruction->guard)
    name_operand(own, instruction->guard, false);
  if (control->guard)
    name_operand(own, control->guard, false);
  for (unsigned i = 0; i < instruction->operands; i++)
    name_operand(own, &instruction->operand[i], writes && i == 0);
  uint32_t *list = bf_arena_alloc(arena, (own->sources + own->results + 1) * sizeof *list);
  if (!list)
    return BF_NO_MEMORY;
  memcpy(list, own->source, own->sources * sizeof *list);
  memcpy(list + own->sources, own->result, own->results * sizeof *list);
  op->source = list;
  op->sources = (uint16_t)own->sources;
  op->results = (uint16_t)own->results;
  return BF_OK;
}

int bf_sim_program_create(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                          bf_sim_program **program, bf_diagnostic *diagnostic) {
  bf_sim_program *made = *program = calloc(1, sizeof *made);
  named *own = malloc(sizeof *own);
  bf_sim_control *control = NULL;
  int error = made && own ? BF_OK : BF_NO_MEMORY;
  if (!error) {
    made->instructions = bf_emu_kernel_instructions(kernel);
    made->registers = bf_emu_kernel_registers(kernel);
    made->op = bf_arena_alloc(&made->arena, (made->instructions + 1) * sizeof *made->op);
    error = made->op ? bf_sim_control_find(gpu, kernel, &made->arena, &control) : BF_NO_MEMORY;
  }
  for (uint32_t i = 0; !error && i < made->instructions; i++) {
    bf_emu_instruction found = bf_emu_kernel_instruction(kernel, i);
    made->op[i].site = found.site;
    set_unit(gpu, &found, &made->op[i]);
    set_control(gpu, &control[i], &found, &made->op[i]);
    error = set_registers(&found, &control[i], own, &made->arena, &made->op[i]);
  }
  free(own);
  if (!error && gpu->aliases)
    bf_sim_find_aliases(kernel, made);
  if (error) {
    bf_sim_program_free(made);
    *program = NULL;
    return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

void bf_sim_program_free(bf_sim_program *program) {
  if (!program)
    return;
  bf_arena_free(&program->arena);
  free(program);
}
