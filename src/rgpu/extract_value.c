/* What registers hold before the loop: terms of parameters, block number and arithmetic where there
 * is one instruction that writes them and it is simple; else parameters of their own. */
#include "rgpu/extracting.h"

#include <math.h>
#include <string.h>

/* Longer terms become parameters; so do chains that are longer. */
enum { MOST_TERM_BYTES = 160, MOST_TERM_DEPTH = 12 };

static int trace(extraction *x, uint32_t reg, unsigned depth, const char **text);

/* ---- Constants ---- */

static int float_text(extraction *x, const bf_ptx_operand *operand, uint64_t line,
                      const char **text) {
  float value = 0;
  if (operand->kind == BF_PTX_FLOAT32) {
    uint32_t bits = (uint32_t)operand->bits;
    memcpy(&value, &bits, sizeof value);
  } else if (operand->kind == BF_PTX_DECIMAL || operand->kind == BF_PTX_FLOAT64) {
    double wide;
    memcpy(&wide, &operand->bits, sizeof wide);
    value = (float)wide;
  } else if (operand->kind == BF_PTX_INTEGER) {
    value = (float)(int64_t)operand->bits;
  }
  if (!isfinite(value))
    return extract_refuse(x, line, "a constant that is infinite or not a number");
  *text = extract_text(x, "%.9g", (double)value);
  return *text ? BF_OK : extract_no_memory(x);
}

/* A special register: the block number, or a parameter. */
static int special_text(extraction *x, const bf_ptx_operand *operand, const char **text) {
  static const char *const names[] = {
#define X(symbol, name, vector, numbered) name,
      BF_PTX_SPECIALS(X)
#undef X
  };
  char component = operand->component;
  if (operand->special == BF_PTX_SPECIAL_CTAID && component == 'x') {
    *text = "block";
    return BF_OK;
  }
  if (operand->special == BF_PTX_SPECIAL_NCTAID && component == 'x') {
    *text = "blocks";
    return BF_OK;
  }
  const char *name = extract_name(x, names[operand->special], -1);
  const char *joined = !name ? NULL : component ? extract_text(x, "%s_%c", name, component) : name;
  *text = joined;
  if (!joined)
    return extract_no_memory(x);
  int size = operand->special == BF_PTX_SPECIAL_NTID; /* of a block of one thread */
  const char *line = extract_text(x, "parameter %s %d", joined, size);
  return line ? extract_declare(x, line) : extract_no_memory(x);
}

/* The address of a variable in shared memory. */
static int symbol_text(extraction *x, const bf_ptx_operand *operand, uint64_t line,
                       const char **text) {
  const bf_ptx_symbol *symbol = operand->symbol;
  if (symbol->kind != BF_PTX_SYMBOL_VARIABLE || symbol->variable->space != BF_PTX_SPACE_SHARED)
    return extract_refuse(x, line, "the address of '%.60s', which is not in shared memory",
                          symbol->name);
  const char *name = extract_name(x, symbol->name, -1);
  uint64_t bytes = symbol->variable->bytes ? symbol->variable->bytes : 4096;
  const char *declared =
      name ? extract_text(x, "shared %s u8 %llu", name, (unsigned long long)bytes) : NULL;
  if (!declared)
    return extract_no_memory(x);
  *text = operand->offset ? extract_text(x, "%s + %lld", name, (long long)operand->offset) : name;
  return *text ? extract_declare(x, declared) : extract_no_memory(x);
}

int extract_constant(extraction *x, const bf_ptx_operand *operand, bool is_float, uint64_t line,
                     const char **text) {
  if (is_float && operand->kind != BF_PTX_SYMBOL && operand->kind != BF_PTX_SPECIAL)
    return float_text(x, operand, line, text);
  if (operand->kind == BF_PTX_INTEGER) {
    *text = extract_text(x, "%lld", (long long)(int64_t)operand->bits);
    return *text ? BF_OK : extract_no_memory(x);
  }
  if (operand->kind == BF_PTX_SPECIAL)
    return special_text(x, operand, text);
  if (operand->kind == BF_PTX_SYMBOL)
    return symbol_text(x, operand, line, text);
  return extract_refuse(x, line, "an operand that graphs do not have");
}

/* ---- Registers ---- */

/* Whether an operand, or one inside it, is that register. */
static bool has_register(const bf_ptx_operand *operand, uint32_t reg) {
  if (operand->kind == BF_PTX_REGISTER)
    return extract_register(operand) == reg;
  bool is_list = operand->kind == BF_PTX_VECTOR || operand->kind == BF_PTX_PAIR ||
                 operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; is_list && i < operand->count; i++)
    if (has_register(&operand->item[i], reg))
      return true;
  return false;
}

/* The one instruction outside the loop that writes a register, or -1. */
static int64_t find_writer(const extraction *x, uint32_t reg) {
  int64_t found = -1;
  for (uint32_t i = 0; i < x->function->instructions; i++) {
    const bf_ptx_instruction *instruction = x->function->instruction[i];
    if (extract_is_in_loop(x, i) || !instruction->operands ||
        bf_ptx_op_get(instruction->opcode)->access == BF_PTX_STORE ||
        !has_register(instruction->operand, reg))
      continue;
    if (found >= 0 || instruction->guard || instruction->operand->kind != BF_PTX_REGISTER)
      return -1;
    found = i;
  }
  return found;
}

/* An operand of an instruction before the loop, as an integer term. */
static int operand_term(extraction *x, const bf_ptx_operand *operand, unsigned depth, uint64_t line,
                        const char **text) {
  if (operand->kind != BF_PTX_REGISTER)
    return extract_constant(x, operand, false, line, text);
  uint32_t reg = extract_register(operand);
  if (x->is_written[reg]) {
    *text = NULL;
    return BF_OK;
  }
  return trace(x, reg, depth + 1, text);
}

/* A term as a factor: sums in parentheses. */
static const char *wrap(extraction *x, const char *text) {
  return strchr(text, ' ') ? extract_text(x, "(%s)", text) : text;
}

/* a OPERATOR b, or a * b + c. */
static int arithmetic(extraction *x, const bf_ptx_instruction *from, unsigned depth,
                      const char **text) {
  const char *part[3] = {NULL, NULL, NULL};
  unsigned count = from->operands - 1;
  for (unsigned i = 0; i < count && i < 3; i++) {
    BF_TRY(operand_term(x, &from->operand[i + 1], depth, from->line, &part[i]));
    if (!part[i])
      return BF_OK;
    bool is_summand =
        from->opcode == BF_PTX_OP_ADD || i == 2 || (from->opcode == BF_PTX_OP_SUB && i == 0);
    if (!is_summand && !(part[i] = wrap(x, part[i])))
      return extract_no_memory(x);
  }
  const char *joined = NULL;
  if (from->opcode == BF_PTX_OP_ADD || from->opcode == BF_PTX_OP_SUB)
    joined =
        extract_text(x, "%s %c %s", part[0], from->opcode == BF_PTX_OP_ADD ? '+' : '-', part[1]);
  else if (from->opcode == BF_PTX_OP_MUL)
    joined = extract_text(x, "%s*%s", part[0], part[1]);
  else if (from->opcode == BF_PTX_OP_MAD)
    joined = extract_text(x, "%s*%s + %s", part[0], part[1], part[2]);
  else if (from->operand[2].kind == BF_PTX_INTEGER && from->operand[2].bits < 31) /* shl */
    joined = extract_text(x, "%s*%llu", part[0], 1ull << from->operand[2].bits);
  else
    return BF_OK;
  if (!joined)
    return extract_no_memory(x);
  *text = strlen(joined) <= MOST_TERM_BYTES ? joined : NULL;
  return BF_OK;
}

/* The name of a kernel's parameter, which is declared. */
static int parameter_text(extraction *x, const bf_ptx_instruction *from, const char **text) {
  const bf_ptx_operand *address = &from->operand[1];
  if (address->kind != BF_PTX_ADDRESS || address->offset || address->item[0].kind != BF_PTX_SYMBOL)
    return BF_OK;
  const char *full = address->item[0].symbol->name, *part = strstr(full, "_param_");
  const char *name = extract_name(x, part ? part + 1 : full, -1);
  const char *line = name ? extract_text(x, "parameter %s 4096", name) : NULL;
  *text = name;
  return line ? extract_declare(x, line) : extract_no_memory(x);
}

/* The term that an instruction before the loop computes, or NULL. */
static int trace_instruction(extraction *x, const bf_ptx_instruction *from, unsigned depth,
                             const char **text) {
  switch (from->opcode) {
  case BF_PTX_OP_LD:
    return from->space == BF_PTX_SPACE_PARAM ? parameter_text(x, from, text) : BF_OK;
  case BF_PTX_OP_MOV:
  case BF_PTX_OP_CVTA:
  case BF_PTX_OP_CVT:
    return operand_term(x, &from->operand[1], depth, from->line, text);
  case BF_PTX_OP_MUL:
  case BF_PTX_OP_MAD:
    if (bf_ptx_has(from, "hi"))
      return BF_OK;
    return arithmetic(x, from, depth, text);
  case BF_PTX_OP_ADD:
  case BF_PTX_OP_SUB:
  case BF_PTX_OP_SHL:
    return arithmetic(x, from, depth, text);
  default:
    return BF_OK;
  }
}

/* The integer term that a register holds; NULL where it is not simple. */
static int trace(extraction *x, uint32_t reg, unsigned depth, const char **text) {
  *text = NULL;
  int64_t writer = find_writer(x, reg);
  if (depth > MOST_TERM_DEPTH || writer < 0 || x->is_float[reg])
    return BF_OK;
  const bf_ptx_instruction *from = x->function->instruction[writer];
  for (unsigned i = 0; i < from->types; i++)
    if (from->type[i] == BF_PTX_F32 || from->type[i] == BF_PTX_F64)
      return BF_OK;
  return trace_instruction(x, from, depth, text);
}

/* The name that a register has in PTX, without %. */
static const char *register_name(extraction *x, uint32_t reg) {
  for (const bf_ptx_statement *at = x->function->body; at; at = at->next)
    if (at->kind == BF_PTX_STATEMENT_REGISTERS && reg >= at->registers->first &&
        reg < at->registers->first + at->registers->count)
      return extract_name(x, at->registers->name,
                          at->registers->range ? (int64_t)(reg - at->registers->first) : -1);
  return extract_text(x, "reg%u", reg);
}

/* A float that is moved into a register before the loop, as a number. */
static int trace_float(extraction *x, uint32_t reg, const char **text) {
  int64_t writer = find_writer(x, reg);
  if (writer < 0)
    return BF_OK;
  const bf_ptx_instruction *from = x->function->instruction[writer];
  if (from->opcode != BF_PTX_OP_MOV || from->operand[1].kind == BF_PTX_REGISTER)
    return BF_OK;
  return extract_constant(x, &from->operand[1], true, from->line, text);
}

int extract_before(extraction *x, uint32_t reg, const char **text) {
  if ((*text = x->known[reg]))
    return BF_OK;
  BF_TRY(x->is_float[reg] ? trace_float(x, reg, text) : trace(x, reg, 0, text));
  if (!*text) {
    const char *name = register_name(x, reg), *line = NULL;
    if (name && x->is_written[reg])
      name = extract_text(x, "%s_before", name);
    if (name)
      line = extract_text(x, x->is_float[reg] ? "array %s f32 1" : "parameter %s 0", name);
    *text = !name ? NULL : x->is_float[reg] ? extract_text(x, "%s[0]", name) : name;
    if (!line || !*text)
      return extract_no_memory(x);
    BF_TRY(extract_declare(x, line));
  }
  x->known[reg] = *text;
  return BF_OK;
}
