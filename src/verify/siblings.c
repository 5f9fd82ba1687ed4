/* Registers that hold the sum of one number and of the addresses of different variables.
 *
 * A register is such a sum, i + v, where one instruction writes it, an addition without a guard,
 * one writes i and one moves v, also without guards; those two dominate the addition, and that
 * dominates the place in question. Then the sum is one of what i is at that place: behind any
 * execution of what writes i, every way to the place passes the addition. For the first of them is
 * reached without passing the addition, which it dominates; a way from there past the addition
 * would be one from the start, and the addition would not dominate the place. */
#include "verify/inner.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct bf_verify_siblings {
  uint32_t *writer; /* per register: the only instruction that writes it; NONE: none, several, or
                       one with a guard */
  bf_ptx_tree tree;
} siblings;

/* ---- Who writes registers ---- */

static void note_writer(siblings *s, const bf_ptx_operand *operand, uint32_t instruction,
                        bool *is_written) {
  if (operand->kind == BF_PTX_REGISTER) {
    uint32_t number = bf_verify_number(operand);
    s->writer[number] = is_written[number] ? NONE : instruction;
    is_written[number] = true;
  }
  if (operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
      operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      note_writer(s, &operand->item[i], instruction, is_written);
}

static void note_parameters(const bf_ptx_variables *list, bool *is_written) {
  for (unsigned i = 0; i < list->count; i++)
    for (uint32_t k = 0; list->item[i].registers && k < list->item[i].registers->count; k++)
      is_written[list->item[i].registers->first + k] = true;
}

static siblings *make(bf_verify_body *body) {
  const bf_ptx_function *function = body->rewritten;
  size_t registers = (size_t)function->registers + 1;
  siblings *s = bf_arena_alloc(&body->scratch, sizeof *s);
  bool *is_written = bf_arena_alloc(&body->scratch, registers);
  uint32_t *writer = bf_arena_alloc(&body->scratch, registers * sizeof *writer);
  if (!s || !is_written || !writer ||
      !bf_ptx_tree_fill(body->flow->graph, &body->scratch, &s->tree))
    return NULL;
  s->writer = writer;
  for (size_t i = 0; i < registers; i++)
    writer[i] = NONE;
  note_parameters(&function->parameters, is_written);
  note_parameters(&function->returns, is_written);
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *own = function->instruction[i];
    if (own->operands)
      note_writer(s, &own->operand[0], own->guard ? NONE : i, is_written);
  }
  return s;
}

/* ---- Sums ---- */

/* Whether every way to instruction `to` passes `from` before. */
static bool comes_before(const bf_verify_body *body, uint32_t from, uint32_t to) {
  const bf_ptx_flow *graph = body->flow->graph;
  uint32_t a = graph->block_of[from], b = graph->block_of[to];
  if (body->siblings->tree.position[b] == NONE) /* never executed */
    return false;
  return a == b ? from < to : bf_ptx_dominates(&body->siblings->tree, a, b);
}

/* The register of 32 bits that an operand is as a whole, or NONE. */
static uint32_t whole_register(const bf_ptx_operand *operand) {
  bool is_whole = operand->kind == BF_PTX_REGISTER && !operand->component && !operand->selector &&
                  !operand->minus && !operand->negated && !operand->registers->vector &&
                  bf_ptx_type_bytes(operand->registers->type) == 4;
  return is_whole ? bf_verify_number(operand) : NONE;
}

/* Whether the instruction is the opcode on whole numbers or bits of 32 bits, with nothing else. */
static bool is_plain(const bf_ptx_instruction *instruction, bf_ptx_opcode opcode) {
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  return instruction->opcode == opcode && instruction->modifiers == 1 && instruction->types == 1 &&
         (type == BF_PTX_B32 || type == BF_PTX_U32 || type == BF_PTX_S32);
}

/* What writes a register that an instruction reads, where that comes before; else NONE. */
static uint32_t writer_before(const bf_verify_body *body, uint32_t number, uint32_t instruction) {
  uint32_t writer = number == NONE ? NONE : body->siblings->writer[number];
  return writer != NONE && comes_before(body, writer, instruction) ? writer : NONE;
}

/* Whether an operand of an instruction is the address of the variable. */
static bool is_address(const bf_verify_body *body, const bf_ptx_operand *operand,
                       uint32_t instruction, const bf_ptx_variable *variable) {
  uint32_t writer = writer_before(body, whole_register(operand), instruction);
  if (writer == NONE || !is_plain(body->rewritten->instruction[writer], BF_PTX_OP_MOV))
    return false;
  const bf_ptx_operand *moved = &body->rewritten->instruction[writer]->operand[1];
  return moved->kind == BF_PTX_SYMBOL && !moved->generic && !moved->mask && !moved->offset &&
         moved->symbol->kind == BF_PTX_SYMBOL_VARIABLE && moved->symbol->variable == variable;
}

/* The register that a register is the sum of, with the address of the variable, at an instruction;
 * else NONE. */
static uint32_t subscript_of(const bf_verify_body *body, uint32_t number, uint32_t instruction,
                             const bf_ptx_variable *variable) {
  uint32_t writer = writer_before(body, number, instruction);
  const bf_ptx_instruction *sum = writer == NONE ? NULL : body->rewritten->instruction[writer];
  if (!sum || !is_plain(sum, BF_PTX_OP_ADD) || sum->operands != 3)
    return NONE;
  for (unsigned i = 1; i < 3; i++) {
    uint32_t other = whole_register(&sum->operand[3 - i]);
    if (is_address(body, &sum->operand[i], writer, variable) &&
        writer_before(body, other, writer) != NONE)
      return other;
  }
  return NONE;
}

/* Whether of both registers the same lowest bits are known. */
static bool same_residue(const bf_verify_facts *facts, uint32_t a, uint32_t b) {
  return facts->residue[a].bits == facts->residue[b].bits &&
         facts->residue[a].value == facts->residue[b].value;
}

bool bf_verify_are_siblings(bf_verify_body *body, const bf_verify_atom *moved, uint32_t number,
                            uint32_t instruction) {
  if (!body->siblings)
    body->siblings = make(body);
  if (!body->siblings) {
    body->no_memory = true;
    return false;
  }
  uint32_t one = subscript_of(body, moved->number, instruction, moved->from);
  return moved->base == BF_VERIFY_REGISTER && one != NONE &&
         one == subscript_of(body, number, instruction, moved->to) &&
         same_residue(&body->facts, moved->number, number);
}
