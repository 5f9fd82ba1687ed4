/* What the timing model must know of each instruction of a kernel: its unit (units.c), the
 * registers it reads and writes, and how it is bound to memory. PTX is not what the hardware runs:
 * moves, address conversions and loads of parameters usually vanish in the binary (parameter
 * `moves`), divisions become several instructions, and shared accesses may be merged (`merge`). */
#include "sim/program.h"
#include "sim/made.h"

#include <stdlib.h>
#include <string.h>

enum { UNROLLED = 4 }; /* rounds of a loop in one, where machine code does not say */

/* What ptxas makes of control, and how long predicates take. */
static void set_control(const bf_sim_gpu *gpu, const bf_sim_control *control,
                        const bf_emu_instruction *found, bf_sim_op *op) {
  op->vanishes = control->vanishes;
  op->rounds = UNROLLED;
  op->is_guard = control->is_guard;
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

/* Whether a form of an operation, as ops.def has it, has this many operands and the first of this
 * kind; *end is behind it. */
static bool is_form(const char *form, const bf_ptx_instruction *instruction, const char **end) {
  unsigned least = *form != '/' && *form, most = least;
  bool is_address = *form == '[';
  for (; *form && *form != '/'; form++) {
    least += *form == ',';
    most += *form == ',';
    least -= *form == '?';
  }
  *end = *form ? form + 2 : form;
  return instruction->operands >= least && instruction->operands <= most && most > 0 &&
         is_address == (instruction->operand[0].kind == BF_PTX_ADDRESS);
}

/* Whether operand 0 is a result. Those of wgmma are waited for as groups. */
static bool writes_first(const bf_ptx_instruction *instruction) {
  const char *form = bf_ptx_op_get(instruction->opcode)->operands, *end = form;
  if (*form == 'd' || instruction->opcode == BF_PTX_OP_WGMMA)
    return *form == 'd';
  for (; *form; form = end)
    if (is_form(form, instruction, &end))
      return *form == 'd';
  return false;
}

/* The registers that an instruction names. A guarded instruction keeps its old result in some
 * lanes, but in-order issue makes it wait for that anyway. */
static int set_registers(const bf_emu_instruction *found, const bf_sim_control *control, named *own,
                         bf_arena *arena, bf_sim_op *op) {
  const bf_ptx_instruction *instruction = found->instruction;
  bool writes = writes_first(instruction);
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

/* Counts the issue slots of what guards skip. */
static void count_guarded(const bf_sim_control *control, bf_sim_program *program) {
  for (uint32_t i = 0; i < program->instructions; i++)
    for (uint32_t k = i + 1; k <= i + control[i].guarded; k++)
      if (program->op[k].unit != BF_SIM_UNIT_NONE)
        program->op[i].guarded = (uint8_t)(program->op[i].guarded + program->op[k].slots);
}

/* Marks instructions of which no other reads a result: ptxas makes reductions of such atomics. */
static int find_unread(bf_sim_program *program) {
  bool *is_read = calloc(program->registers + 1, sizeof *is_read);
  if (!is_read)
    return BF_NO_MEMORY;
  for (uint32_t i = 0; i < program->instructions; i++)
    for (unsigned k = 0; k < program->op[i].sources; k++)
      is_read[program->op[i].source[k]] = true;
  for (uint32_t i = 0; i < program->instructions; i++) {
    bf_sim_op *op = &program->op[i];
    op->is_unread = true;
    for (unsigned k = 0; k < op->results; k++)
      op->is_unread &= !is_read[op->source[op->sources + k]];
  }
  free(is_read);
  return BF_OK;
}

/* Whether an instruction is a load or store that may be of global memory. */
static bool is_plain(const bf_ptx_instruction *instruction) {
  bf_ptx_space space = instruction->space;
  return (instruction->opcode == BF_PTX_OP_LD || instruction->opcode == BF_PTX_OP_LDU ||
          instruction->opcode == BF_PTX_OP_ST) &&
         (space == BF_PTX_SPACE_GLOBAL || space == BF_PTX_SPACE_NONE);
}

/* Whether reductions may be put off: there are some, and what could look at their words has a turn
 * of its own, so that it can wait: functions of the system, copies by engines and what takes no
 * turn have none. */
static bool may_put_off(const bf_emu_kernel *kernel, const bf_sim_program *program) {
  bool is_any = false;
  for (uint32_t i = 0; i < program->instructions; i++) {
    const bf_sim_op *op = &program->op[i];
    const bf_ptx_instruction *instruction = bf_emu_kernel_instruction(kernel, i).instruction;
    if (instruction->opcode == BF_PTX_OP_CALL || op->is_bulk ||
        (op->unit == BF_SIM_UNIT_NONE && (is_plain(instruction) || op->is_beyond)))
      return false;
    is_any |= op->is_put_off;
  }
  return is_any;
}

int bf_sim_program_create(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                          const bf_machine_kernel *machine, bf_sim_program **program,
                          bf_diagnostic *diagnostic) {
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
    bf_sim_unit_set(gpu, &found, &made->op[i]);
    set_control(gpu, &control[i], &found, &made->op[i]);
    error = set_registers(&found, &control[i], own, &made->arena, &made->op[i]);
  }
  free(own);
  if (!error) {
    count_guarded(control, made);
    error = find_unread(made);
  }
  if (!error)
    error = bf_sim_find_uniform(gpu, kernel, made);
  if (!error && machine)
    error = bf_sim_made_set(gpu, kernel, machine, control, made);
  if (!error && gpu->aliases)
    bf_sim_find_aliases(kernel, made);
  if (error) {
    bf_sim_program_free(made);
    *program = NULL;
    return bf_no_memory(diagnostic);
  }
  made->may_put_off = may_put_off(kernel, made);
  return BF_OK;
}

void bf_sim_program_free(bf_sim_program *program) {
  if (!program)
    return;
  bf_arena_free(&program->arena);
  free(program);
}
