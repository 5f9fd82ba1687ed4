/* Instructions that touch shared memory: which they are, what they depend on, and the record of
 * each execution. */
#include "analyze/walk.h"

#include <stdlib.h>

/* ---- Shared accesses ---- */

static const bf_ptx_operand *address_of(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind == BF_PTX_ADDRESS && instruction->operand[i].count)
      return &instruction->operand[i];
  return NULL;
}

/* Whether an instruction may touch shared memory: it says so, or its address is generic. */
bool bf_may_be_shared(const bf_ptx_instruction *instruction) {
  if (bf_ptx_op_get(instruction->opcode)->access == BF_PTX_NO_ACCESS || !address_of(instruction))
    return false;
  bf_ptx_space space = bf_ptx_access_space(instruction);
  return space == BF_PTX_SPACE_SHARED || space == BF_PTX_SPACE_NONE;
}

/* Whether a generic address lies in shared memory whatever its unknowns are: the start of the
 * window plus something, on every way that it was chosen. looks bounds the work. */
static bool is_in_window(const bf_walk *walk, bf_expression address, unsigned *looks) {
  const bf_node *node = bf_node_of(&walk->values, address);
  if (!node->is_named || *looks == 0)
    return false;
  --*looks;
  if (node->kind == BF_EXPRESSION_SELECT)
    return is_in_window(walk, node->b, looks) && is_in_window(walk, node->c, looks);
  if (node->kind == BF_EXPRESSION_BLEND)
    return is_in_window(walk, node->a, looks) && is_in_window(walk, node->b, looks);
  for (uint32_t i = 0; i < node->terms; i++)
    if (node->term[i].coefficient == 1 && is_in_window(walk, node->term[i].value, looks))
      return true;
  return address == walk->window;
}

static void add_record(bf_walk *walk, uint32_t index, bf_place place, bf_expression address) {
  if (walk->records == walk->record_capacity) {
    uint32_t wanted = walk->record_capacity ? walk->record_capacity * 2 : 256;
    bf_record *larger = realloc(walk->record, wanted * sizeof *larger);
    if (!larger) {
      walk->values.failed = true;
      return;
    }
    walk->record = larger;
    walk->record_capacity = wanted;
  }
  walk->record[walk->records++] = (bf_record){index, place, walk->repeats, address};
}

void bf_walk_record(bf_walk *walk, uint32_t index, bf_place place) {
  const bf_ptx_instruction *instruction = walk->function->instruction[index];
  const bf_ptx_operand *address = address_of(instruction);
  bool is_generic = bf_ptx_address_space(instruction, address) != BF_PTX_SPACE_SHARED;
  uint32_t number;
  unsigned bits = is_generic ? 64 : 32;
  if (bf_operand_register(&address->item[0], &number))
    bits = bf_register_bits(address->item[0].registers);
  if (bits < 32)
    bits = 32;
  bf_expression value = bf_walk_read(walk, &address->item[0], place, bits);
  value =
      bf_expression_add(&walk->values, value,
                        bf_expression_constant(&walk->values, bits, (uint64_t)address->offset), 1);
  if (walk->values.failed || (is_generic && !bf_node_of(&walk->values, value)->is_named))
    return;
  unsigned looks = 1000;
  if (is_generic && !is_in_window(walk, value, &looks))
    value = walk->values.too_large[3]; /* it may be shared memory */
  add_record(walk, index, place, bf_expression_convert(&walk->values, value, 32, false));
}

/* ---- What matters ---- */

/* One pass per jump that an address goes through backwards; then everything matters. */
enum { MOST_MARK_PASSES = 100 };

typedef struct marker {
  bf_walk *walk;
  bool *is_wanted; /* per register */
  bool changed, writes_wanted;
} marker;

static void want(marker *m, const bf_ptx_operand *operand_read) {
  uint32_t number;
  if (bf_operand_register(operand_read, &number)) {
    m->changed |= !m->is_wanted[number];
    m->is_wanted[number] = true;
    return;
  }
  bool has_items = operand_read->kind == BF_PTX_ADDRESS || operand_read->kind == BF_PTX_VECTOR ||
                   operand_read->kind == BF_PTX_PAIR || operand_read->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand_read->count; i++)
    want(m, &operand_read->item[i]);
}

static void check_written(void *context, const bf_ptx_operand *to) {
  marker *m = context;
  uint32_t number;
  if (bf_operand_register(to, &number) && m->is_wanted[number])
    m->writes_wanted = true;
}

static bool is_branch(const bf_ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case BF_PTX_OP_BRA:
  case BF_PTX_OP_BRX:
  case BF_PTX_OP_RET:
  case BF_PTX_OP_EXIT:
  case BF_PTX_OP_TRAP:
    return true;
  default:
    return false;
  }
}

/* Looks at one instruction: wants what it reads if it matters itself. */
static void mark(marker *m, uint32_t index) {
  const bf_ptx_instruction *instruction = m->walk->function->instruction[index];
  m->writes_wanted = false;
  bf_walk_written(instruction, check_written, m);
  bool touches = bf_may_be_shared(instruction), branches = is_branch(instruction);
  if (!touches && !branches && !m->writes_wanted)
    return;
  m->walk->is_needed[index] = true;
  if (instruction->guard)
    want(m, instruction->guard);
  if (touches)
    want(m, address_of(instruction));
  for (unsigned i = 0;
       (m->writes_wanted || instruction->opcode == BF_PTX_OP_BRX) && i < instruction->operands; i++)
    if (i > 0 || instruction->opcode == BF_PTX_OP_BRX)
      want(m, &instruction->operand[i]);
}

int bf_walk_mark(bf_walk *walk) {
  const bf_ptx_function *function = walk->function;
  marker m = {.walk = walk, .changed = true};
  m.is_wanted = calloc((size_t)function->registers + 1, sizeof *m.is_wanted);
  if (!m.is_wanted)
    return BF_NO_MEMORY;
  for (unsigned pass = 0; m.changed && pass < MOST_MARK_PASSES; pass++) {
    m.changed = false;
    for (uint32_t i = function->instructions; i-- > 0;)
      mark(&m, i);
  }
  for (uint32_t i = 0; m.changed && i < function->instructions; i++)
    walk->is_needed[i] = true;
  free(m.is_wanted);
  return BF_OK;
}
