/* Where shared variables and parameters lie: one after the other, each at its alignment; what the
 * launch sizes comes last. */
#include "analyze/walk.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static uint64_t align(uint64_t offset, uint64_t alignment) {
  return alignment ? (offset + alignment - 1) / alignment * alignment : offset;
}

static unsigned alignment_of(const bf_ptx_variable *variable) {
  if (variable->alignment_bytes)
    return variable->alignment_bytes;
  return bf_ptx_type_bytes(variable->type) * (variable->vector ? variable->vector : 1);
}

bool bf_analyze_parameter(const bf_ptx_function *kernel, unsigned index, uint64_t *offset,
                          uint64_t *bytes) {
  uint64_t at = 0;
  for (unsigned i = 0; i < kernel->parameters.count && i <= index; i++) {
    const bf_ptx_variable *parameter = &kernel->parameters.item[i];
    at = align(at, alignment_of(parameter));
    *offset = at;
    *bytes = parameter->bytes;
    at += parameter->bytes;
  }
  return index < kernel->parameters.count;
}

/* ---- Names ---- */

/* The part of a mangled name behind E<length>, as in _ZZ6kernelvE4tile: what the source calls a
 * variable inside a function. NULL where there is none. */
static const char *source_name(const char *name, int *length) {
  size_t size = strlen(name);
  if (size < 4 || strncmp(name, "_ZZ", 3) != 0)
    return NULL;
  for (const char *at = name + size; at > name + 3; at--) {
    if (at[-1] != 'E' || !isdigit((unsigned char)*at))
      continue;
    char *text;
    unsigned long count = strtoul(at, &text, 10);
    size_t left = strlen(text);
    if (count == 0 || count > left || (count < left && text[count] != '_'))
      continue;
    *length = (int)count;
    return text;
  }
  return NULL;
}

static void set_name(const bf_walk *walk, const bf_ptx_variable *variable, bf_atom *atom) {
  int length = 0;
  const char *name = source_name(variable->name, &length);
  if (name)
    snprintf(atom->name, sizeof atom->name, "%.*s", length, name);
  for (unsigned i = 0; name && i < walk->variables; i++) {
    const bf_node *node = bf_node_of(&walk->values, walk->variable[i].value);
    if (node->kind == BF_VALUE_ATOM &&
        strcmp(walk->values.atom[node->number].name, atom->name) == 0)
      name = NULL;
  }
  if (!name)
    snprintf(atom->name, sizeof atom->name, "%s", variable->name);
}

/* ---- Shared variables ---- */

static bool operand_names(const bf_ptx_operand *operand, const bf_ptx_variable *variable) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
           operand->symbol->variable->name == variable->name;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (operand_names(&operand->item[i], variable))
      return true;
  return false;
}

static bool is_named(const bf_ptx_function *function, const bf_ptx_variable *variable) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      if (operand_names(&function->instruction[i]->operand[k], variable))
        return true;
  return false;
}

static void place(bf_walk *walk, const bf_ptx_variable *variable, uint64_t *end) {
  if (walk->variables == BF_MOST_LAYOUT)
    return;
  bf_atom atom = {.kind = BF_ATOM_SHARED, .bits = 32, .is_uniform = true, .is_known = true};
  uint64_t offset = align(*end, alignment_of(variable));
  set_name(walk, variable, &atom);
  atom.number = offset;
  atom.line = variable->line;
  walk->variable[walk->variables] = (bf_placed_variable){.variable = variable, .offset = offset};
  walk->variable[walk->variables++].value = bf_value_atom(&walk->values, &atom);
  *end = offset + variable->bytes;
}

static void place_declared(bf_walk *walk, const bf_ptx_statement *statement, bool is_open,
                           uint64_t *end) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      place_declared(walk, statement->scope, is_open, end);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE &&
             statement->variable->space == BF_PTX_SPACE_SHARED &&
             (statement->variable->bytes == 0) == is_open)
      place(walk, statement->variable, end);
}

static void place_module(bf_walk *walk, bool is_open, uint64_t *end) {
  uint64_t start = *end;
  for (const bf_ptx_item *item = walk->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->space == BF_PTX_SPACE_SHARED &&
        (item->variable->bytes == 0) == is_open && is_named(walk->function, item->variable)) {
      if (is_open)
        *end = start;
      place(walk, item->variable, end);
    }
}

int bf_walk_layout(bf_walk *walk) {
  uint64_t end = 0;
  walk->variable = bf_arena_alloc(&walk->arena, BF_MOST_LAYOUT * sizeof *walk->variable);
  if (!walk->variable)
    return BF_NO_MEMORY;
  place_module(walk, false, &end);
  place_declared(walk, walk->function->body, false, &end);
  end = align(end, 16); /* all arrays without a size begin at the same place */
  place_module(walk, true, &end);
  place_declared(walk, walk->function->body, true, &end);
  return walk->values.failed ? BF_NO_MEMORY : BF_OK;
}
