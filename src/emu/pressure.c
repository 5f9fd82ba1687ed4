/* How many registers a kernel needs: the most 32-bit values that are alive at once. ptxas orders
 * instructions and computes values again where that saves registers, so this is an estimate. */
#include "emu/device.h"

#include <stdlib.h>

/* RESERVED: what ptxas adds to the values of the program, as seen in its figures for sm_90. A
 * function whose tables would need more than MOST_WORDS is not looked at. */
enum { RESERVED = 6, LEAST = 16, MOST = 255, UNKNOWN = 64, MOST_WORDS = 1 << 22 };
/* The registers of a multiprocessor that one block can have (all architectures since Kepler). */
enum { FILE_REGISTERS = 65536 };

typedef struct pressure {
  const bf_ptx_function *function;
  const bf_ptx_flow *flow;
  size_t words;     /* of a set of registers */
  uint64_t *before; /* per block: what is alive at its start */
  uint64_t *alive;  /* at the instruction looked at */
  uint8_t *weight;  /* per register: 32-bit registers of the hardware */
  unsigned count, most;
} pressure;

static uint8_t weight_of(bf_ptx_type type) {
  unsigned bytes = bf_ptx_type_bytes(type);
  return type == BF_PTX_PRED ? 0 : bytes <= 4 ? 1 : (uint8_t)(bytes / 4);
}

/* Makes the registers in an operand alive, or not alive. */
static void set_alive(pressure *own, const bf_ptx_operand *operand, bool is_alive) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = operand->registers->first + operand->index;
    uint64_t bit = UINT64_C(1) << number % 64, *word = &own->alive[number / 64];
    own->weight[number] = weight_of(operand->registers->type);
    if (is_alive && !(*word & bit))
      own->count += own->weight[number];
    if (!is_alive && (*word & bit))
      own->count -= own->weight[number];
    *word = is_alive ? *word | bit : *word & ~bit;
  }
  if (operand->kind >= BF_PTX_ADDRESS && operand->kind <= BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      set_alive(own, &operand->item[i], is_alive);
}

/* From what is alive behind an instruction to what is before it. */
static void step_back(pressure *own, const bf_ptx_instruction *instruction) {
  bool writes = instruction->operands > 0 && bf_ptx_op_get(instruction->opcode)->operands[0] == 'd';
  if (writes && !instruction->guard)
    set_alive(own, &instruction->operand[0], false);
  for (unsigned i = writes ? 1 : 0; i < instruction->operands; i++)
    set_alive(own, &instruction->operand[i], true);
  if (instruction->guard)
    set_alive(own, instruction->guard, true);
  if (own->count > own->most)
    own->most = own->count;
}

/* Counts what is alive from the start. */
static unsigned count_alive(const pressure *own) {
  unsigned count = 0;
  for (size_t i = 0; i < own->words; i++)
    for (uint64_t left = own->alive[i]; left; left &= left - 1)
      count += own->weight[i * 64 + (size_t)__builtin_ctzll(left)];
  return count;
}

/* Goes through a block from its end; whether more is alive at its start than was known. */
static bool visit(pressure *own, uint32_t index) {
  const bf_ptx_block *block = &own->flow->block[index];
  uint64_t *before = own->before + index * own->words, more = 0;
  memset(own->alive, 0, own->words * sizeof *own->alive);
  for (uint32_t i = 0; i < block->successors; i++)
    for (size_t k = 0; block->successor[i] < own->flow->blocks && k < own->words; k++)
      own->alive[k] |= own->before[block->successor[i] * own->words + k];
  own->count = count_alive(own);
  for (uint32_t i = block->end; i-- > block->first;)
    step_back(own, own->function->instruction[i]);
  for (size_t k = 0; k < own->words; k++) {
    more |= own->alive[k] & ~before[k];
    before[k] |= own->alive[k];
  }
  return more != 0;
}

/* The most values alive at once; UNKNOWN where that would take too long or memory is exhausted. */
static unsigned most_alive(const bf_ptx_function *function, const bf_ptx_flow *flow) {
  pressure own = {function, flow, function->registers / 64 + 1, NULL, NULL, NULL, 0, 0};
  if (own.words * (flow->blocks + 1) > MOST_WORDS)
    return UNKNOWN;
  own.before = calloc(own.words * (flow->blocks + 1), sizeof *own.before);
  own.alive = calloc(own.words, sizeof *own.alive);
  own.weight = calloc(own.words, 64);
  bool changed = own.before && own.alive && own.weight;
  if (!changed)
    own.most = UNKNOWN;
  while (changed) {
    changed = false;
    for (uint32_t i = flow->blocks; i-- > 0;)
      changed |= visit(&own, i);
  }
  free(own.before);
  free(own.alive);
  free(own.weight);
  return own.most;
}

unsigned bf_emu_most_registers(const bf_emu_kernel *kernel) {
  const bf_ptx_directives *directives = &kernel->function->directives;
  unsigned threads = (kernel->needs.most_threads + 127) / 128 * 128, limit = MOST;
  bool is_bound = false;
  for (unsigned i = 0; i < directives->count; i++) {
    const bf_ptx_directive *directive = &directives->item[i];
    is_bound |= strcmp(directive->name, "maxntid") == 0 || strcmp(directive->name, "reqntid") == 0;
    if (strcmp(directive->name, "maxnreg") == 0 && directive->numbers &&
        directive->number[0] < MOST)
      limit = (unsigned)directive->number[0];
  }
  unsigned share = is_bound && threads ? FILE_REGISTERS / threads / 8 * 8 : MOST;
  return share < limit ? share : limit;
}

unsigned bf_emu_function_registers(const bf_ptx_function *function) {
  bf_ptx_flow *flow = NULL;
  unsigned count = UNKNOWN;
  if (bf_ptx_flow_create(function, &flow, NULL) == BF_OK)
    count = most_alive(function, flow) + RESERVED;
  bf_ptx_flow_free(flow);
  count = count < LEAST ? LEAST : count;
  return count < MOST ? count : MOST;
}

unsigned bf_emu_estimate_registers(const bf_emu_kernel *kernel) {
  unsigned count = bf_emu_function_registers(kernel->function),
           limit = bf_emu_most_registers(kernel);
  return count < limit ? count : limit;
}
