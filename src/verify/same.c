/* Equality of parts of two modules, whose names are interned apart. */
#include "verify/inner.h"

#include <string.h>

bool bf_verify_same_text(const char *a, const char *b) {
  return a == b || (a && b && !strcmp(a, b));
}

static bool same_operands(const bf_ptx_operand *a, const bf_ptx_operand *b, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    if (!bf_verify_same_operand(&a[i], &b[i]))
      return false;
  return true;
}

/* What kind stands for, flags aside. */
static bool same_content(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  switch (a->kind) {
  case BF_PTX_REGISTER:
    return a->index == b->index && a->registers->range == b->registers->range &&
           a->registers->type == b->registers->type &&
           bf_verify_same_text(a->registers->name, b->registers->name);
  case BF_PTX_INTEGER:
  case BF_PTX_FLOAT32:
  case BF_PTX_FLOAT64:
  case BF_PTX_DECIMAL:
    return a->bits == b->bits;
  case BF_PTX_SPECIAL:
    return a->special == b->special && a->index == b->index;
  case BF_PTX_SYMBOL:
    return a->symbol->kind == b->symbol->kind && a->offset == b->offset && a->mask == b->mask &&
           bf_verify_same_text(a->symbol->name, b->symbol->name);
  case BF_PTX_ADDRESS:
  case BF_PTX_VECTOR:
  case BF_PTX_PAIR:
  case BF_PTX_ARGUMENTS:
    return a->count == b->count && a->offset == b->offset &&
           same_operands(a->item, b->item, a->count);
  case BF_PTX_SINK:
    return true;
  }
  return false;
}

bool bf_verify_same_operand(const bf_ptx_operand *a, const bf_ptx_operand *b) {
  if (!a || !b)
    return a == b;
  return a->kind == b->kind && a->negated == b->negated && a->generic == b->generic &&
         a->unified == b->unified && a->is_unsigned == b->is_unsigned && a->minus == b->minus &&
         a->component == b->component && bf_verify_same_text(a->selector, b->selector) &&
         same_content(a, b);
}

bool bf_verify_same_head(const bf_ptx_instruction *a, const bf_ptx_instruction *b) {
  if (a->opcode != b->opcode || a->modifiers != b->modifiers || a->operands != b->operands ||
      !bf_verify_same_operand(a->guard, b->guard) ||
      !bf_verify_same_operand(a->call_prototype, b->call_prototype))
    return false;
  for (unsigned i = 0; i < a->modifiers; i++)
    if (!bf_verify_same_text(a->modifier[i], b->modifier[i]))
      return false;
  return true;
}

bool bf_verify_gains(const bf_ptx_instruction *a, const bf_ptx_instruction *b,
                     const char *modifier) {
  unsigned i = 0;
  if (a->opcode != b->opcode || b->modifiers != a->modifiers + 1 || a->operands != b->operands ||
      !bf_verify_same_operand(a->guard, b->guard) || a->call_prototype || b->call_prototype)
    return false;
  while (i < a->modifiers && bf_verify_same_text(a->modifier[i], b->modifier[i]))
    i++;
  if (!bf_verify_same_text(b->modifier[i], modifier))
    return false;
  for (; i < a->modifiers; i++)
    if (!bf_verify_same_text(a->modifier[i], b->modifier[i + 1]))
      return false;
  return true;
}

bool bf_verify_same_instruction(const bf_ptx_instruction *a, const bf_ptx_instruction *b) {
  return bf_verify_same_head(a, b) && same_operands(a->operand, b->operand, a->operands);
}

bool bf_verify_same_registers(const bf_ptx_registers *a, const bf_ptx_registers *b) {
  if (!a || !b)
    return a == b;
  return bf_verify_same_text(a->name, b->name) && a->type == b->type && a->vector == b->vector &&
         a->range == b->range && a->count == b->count;
}

bool bf_verify_same_variable(const bf_ptx_variable *a, const bf_ptx_variable *b) {
  if (!bf_verify_same_text(a->name, b->name) || a->linkage != b->linkage || a->space != b->space ||
      a->type != b->type || a->vector != b->vector || a->alignment_bytes != b->alignment_bytes ||
      !bf_verify_same_text(a->attribute, b->attribute) || a->is_pointer != b->is_pointer ||
      a->pointer_space != b->pointer_space ||
      a->pointer_alignment_bytes != b->pointer_alignment_bytes || a->dimensions != b->dimensions ||
      !bf_verify_same_operand(a->initialiser, b->initialiser) ||
      !bf_verify_same_registers(a->registers, b->registers))
    return false;
  for (unsigned i = 0; i < a->dimensions; i++)
    if (a->dimension[i] != b->dimension[i])
      return false;
  return true;
}

static bool same_variables(const bf_ptx_variables *a, const bf_ptx_variables *b) {
  if (a->count != b->count)
    return false;
  for (unsigned i = 0; i < a->count; i++)
    if (!bf_verify_same_variable(&a->item[i], &b->item[i]))
      return false;
  return true;
}

static bool same_directive(const bf_ptx_directive *a, const bf_ptx_directive *b) {
  if (!bf_verify_same_text(a->name, b->name) || a->numbers != b->numbers ||
      !bf_verify_same_text(a->text, b->text))
    return false;
  for (unsigned i = 0; i < a->numbers; i++)
    if (a->number[i] != b->number[i])
      return false;
  return true;
}

static bool same_directives(const bf_ptx_directives *a, const bf_ptx_directives *b) {
  if (a->count != b->count)
    return false;
  for (unsigned i = 0; i < a->count; i++)
    if (!same_directive(&a->item[i], &b->item[i]))
      return false;
  return true;
}

bool bf_verify_same_form(const bf_ptx_function *a, const bf_ptx_function *b) {
  return a->is_entry == b->is_entry && bf_verify_same_text(a->attribute, b->attribute) &&
         same_variables(&a->returns, &b->returns) &&
         same_variables(&a->parameters, &b->parameters) &&
         same_directives(&a->directives, &b->directives);
}

bool bf_verify_same_signature(const bf_ptx_function *a, const bf_ptx_function *b) {
  return bf_verify_same_text(a->name, b->name) && a->has_body == b->has_body &&
         a->linkage == b->linkage && bf_verify_same_form(a, b);
}

static bool same_location(const bf_ptx_location *a, const bf_ptx_location *b) {
  return a->file == b->file && a->line == b->line && a->column == b->column &&
         bf_verify_same_text(a->function_name, b->function_name) &&
         a->function_offset == b->function_offset && a->inlined_file == b->inlined_file &&
         a->inlined_line == b->inlined_line && a->inlined_column == b->inlined_column;
}

static bool same_targets(const bf_ptx_targets *a, const bf_ptx_targets *b) {
  return bf_verify_same_text(a->name, b->name) && a->calls == b->calls && a->count == b->count &&
         same_operands(a->item, b->item, a->count);
}

static bool same_prototype(const bf_ptx_prototype *a, const bf_ptx_prototype *b) {
  return bf_verify_same_text(a->name, b->name) && same_variables(&a->returns, &b->returns) &&
         same_variables(&a->parameters, &b->parameters) &&
         same_directives(&a->directives, &b->directives);
}

bool bf_verify_same_statement(const bf_ptx_statement *a, const bf_ptx_statement *b) {
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case BF_PTX_STATEMENT_REGISTERS:
    return bf_verify_same_registers(a->registers, b->registers);
  case BF_PTX_STATEMENT_LABEL:
    return bf_verify_same_text(a->label->name, b->label->name);
  case BF_PTX_STATEMENT_LOCATION:
    return same_location(a->location, b->location);
  case BF_PTX_STATEMENT_PRAGMA:
    return bf_verify_same_text(a->pragma, b->pragma);
  case BF_PTX_STATEMENT_TARGETS:
    return same_targets(a->targets, b->targets);
  case BF_PTX_STATEMENT_PROTOTYPE:
    return same_prototype(a->prototype, b->prototype);
  case BF_PTX_STATEMENT_VARIABLE:
    return bf_verify_same_variable(a->variable, b->variable);
  case BF_PTX_STATEMENT_INSTRUCTION:
    return bf_verify_same_instruction(a->instruction, b->instruction);
  case BF_PTX_STATEMENT_SCOPE:
    return false;
  }
  return false;
}

static bool same_section(const bf_ptx_section *a, const bf_ptx_section *b) {
  if (!bf_verify_same_text(a->name, b->name) || a->lines != b->lines)
    return false;
  for (unsigned i = 0; i < a->lines; i++)
    if (!bf_verify_same_text(a->text[i], b->text[i]))
      return false;
  return true;
}

static bool same_file(const bf_ptx_file *a, const bf_ptx_file *b) {
  return a->number == b->number && bf_verify_same_text(a->name, b->name) &&
         a->has_time == b->has_time && a->time == b->time && a->size_bytes == b->size_bytes;
}

bool bf_verify_same_item(const bf_ptx_item *a, const bf_ptx_item *b) {
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case BF_PTX_ITEM_FILE:
    return same_file(a->file, b->file);
  case BF_PTX_ITEM_SECTION:
    return same_section(a->section, b->section);
  case BF_PTX_ITEM_ALIAS:
    return bf_verify_same_text(a->alias[0], b->alias[0]) &&
           bf_verify_same_text(a->alias[1], b->alias[1]);
  case BF_PTX_ITEM_PRAGMA:
    return bf_verify_same_text(a->pragma, b->pragma);
  case BF_PTX_ITEM_VARIABLE:
    return bf_verify_same_variable(a->variable, b->variable);
  case BF_PTX_ITEM_FUNCTION:
    return bf_verify_same_signature(a->function, b->function);
  }
  return false;
}

bool bf_verify_same_version(const bf_ptx_module *a, const bf_ptx_module *b) {
  if (a->version_major != b->version_major || a->version_minor != b->version_minor ||
      a->targets != b->targets || a->address_bits != b->address_bits)
    return false;
  for (unsigned i = 0; i < a->targets; i++)
    if (!bf_verify_same_text(a->target[i], b->target[i]))
      return false;
  return true;
}

/* Whether digits, which may be empty, start the number of a register of the range: %r of %r<20>
 * holds names that start with %r1, and %r1 itself. */
static bool is_in_range(const bf_ptx_registers *range, const char *digits, bool goes_on) {
  uint64_t number = 0;
  if (!range->range || *digits == '0')
    return range->range && !strcmp(digits, "0") && !goes_on && range->count > 0;
  for (const char *digit = digits; *digit; digit++) {
    if (*digit < '0' || *digit > '9' || number > UINT32_MAX)
      return false;
    number = number * 10 + (uint64_t)(*digit - '0');
  }
  return (goes_on ? number * 10 : number) < range->count;
}

bool bf_verify_names_overlap(const bf_ptx_registers *a, const bf_ptx_registers *b) {
  const bf_ptx_registers *brief = strlen(a->name) <= strlen(b->name) ? a : b;
  const bf_ptx_registers *full = brief == a ? b : a;
  size_t size = strlen(brief->name);
  if (strncmp(brief->name, full->name, size))
    return false;
  if (!full->name[size])
    return brief->range == full->range;
  return is_in_range(brief, full->name + size, full->range);
}
