/* Where shared variables and parameters lie, as the emulator has it: variables in the order in
 * which instructions name them, each at its alignment, and last what the launch sizes. */
#include "analyze/walk.h"

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

/* Whether one of the variables is called name in formulas. */
static bool is_taken(const bf_walk *walk, const char *name) {
  for (unsigned i = 0; i < walk->variables; i++) {
    const bf_node *node = bf_node_of(&walk->values, walk->variable[i].value);
    if (node->kind == BF_EXPRESSION_ATOM && strcmp(walk->values.atom[node->number].name, name) == 0)
      return true;
  }
  return false;
}

/* Names a variable as the source does or, where that says two things, as the PTX does. */
static void set_name(bf_walk *walk, const bf_ptx_variable *variable, bf_atom *atom) {
  bf_text name = {0};
  bf_ptx_readable_name(variable->name, &name);
  walk->values.failed |= name.failed;
  snprintf(atom->name, sizeof atom->name, "%s", name.failed ? "" : name.data);
  if (is_taken(walk, atom->name))
    snprintf(atom->name, sizeof atom->name, "%s", variable->name);
  bf_text_free(&name);
}

/* ---- Shared variables ---- */

static bool is_placed(const bf_walk *walk, const bf_ptx_variable *variable) {
  for (unsigned i = 0; i < walk->variables; i++)
    if (walk->variable[i].variable == variable)
      return true;
  return false;
}

/* Adds the shared variables that an operand names. */
static void add_named(bf_walk *walk, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL) {
    const bf_ptx_symbol *symbol = operand->symbol;
    if (symbol->kind == BF_PTX_SYMBOL_VARIABLE && symbol->variable->space == BF_PTX_SPACE_SHARED &&
        walk->variables < BF_MOST_LAYOUT && !is_placed(walk, symbol->variable))
      walk->variable[walk->variables++].variable = symbol->variable;
    return;
  }
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    add_named(walk, &operand->item[i]);
}

static void add_variables(bf_walk *walk, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      add_named(walk, &function->instruction[i]->operand[k]);
}

/* ---- Functions that a kernel can call ---- */

enum { MOST_FUNCTIONS = 1024 };

typedef struct functions {
  unsigned count;
  const bf_ptx_function *item[MOST_FUNCTIONS];
} functions;

static void add_function(functions *list, const bf_ptx_function *function) {
  for (unsigned i = 0; i < list->count; i++)
    if (list->item[i] == function)
      return;
  if (function->has_body && list->count < MOST_FUNCTIONS)
    list->item[list->count++] = function;
}

/* Adds what a function calls by name; a call through a register can reach all of the module. */
static void add_callees(const bf_ptx_module *module, const bf_ptx_function *function,
                        functions *list) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *call = function->instruction[i];
    if (call->opcode != BF_PTX_OP_CALL)
      continue;
    const bf_ptx_operand *callee = &call->operand[call->operand[0].kind == BF_PTX_ARGUMENTS];
    if (callee->kind == BF_PTX_SYMBOL && callee->symbol->kind == BF_PTX_SYMBOL_FUNCTION) {
      if (callee->symbol->function)
        add_function(list, callee->symbol->function);
      continue;
    }
    for (const bf_ptx_item *item = module->first; item; item = item->next)
      if (item->kind == BF_PTX_ITEM_FUNCTION && !item->function->is_entry)
        add_function(list, item->function);
  }
}

/* ---- Places ---- */

/* Moves a variable, if it is one of those named, to the place behind the first `ordered`. */
static unsigned order_variable(bf_walk *walk, const bf_ptx_variable *variable, unsigned ordered) {
  for (unsigned i = ordered; i < walk->variables; i++)
    if (walk->variable[i].variable == variable) {
      memmove(&walk->variable[ordered + 1], &walk->variable[ordered],
              (i - ordered) * sizeof *walk->variable);
      walk->variable[ordered].variable = variable;
      return ordered + 1;
    }
  return ordered;
}

static unsigned order_declared(bf_walk *walk, const bf_ptx_statement *statement, unsigned ordered) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      ordered = order_declared(walk, statement->scope, ordered);
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE)
      ordered = order_variable(walk, statement->variable, ordered);
  return ordered;
}

/* The variables that the functions name, in the order of their declarations: inside functions
 * first. */
static void list_variables(bf_walk *walk, const functions *list) {
  unsigned ordered = 0;
  for (unsigned i = 0; i < list->count; i++)
    add_variables(walk, list->item[i]);
  for (unsigned i = 0; i < list->count; i++)
    ordered = order_declared(walk, list->item[i]->body, ordered);
  for (const bf_ptx_item *item = walk->module->first; item && ordered < walk->variables;
       item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      ordered = order_variable(walk, item->variable, ordered);
}

static void name_variable(bf_walk *walk, bf_placed_variable *placed) {
  bf_atom atom = {.kind = BF_ATOM_SHARED, .bits = 32, .is_uniform = true, .is_known = true};
  set_name(walk, placed->variable, &atom);
  atom.number = placed->offset;
  atom.line = placed->variable->line;
  placed->value = bf_expression_atom(&walk->values, &atom);
}

/* Puts the variables that were listed at their places. */
static void place_variables(bf_walk *walk) {
  uint64_t end = 0, open_alignment = 16;
  for (unsigned i = 0; i < walk->variables; i++) {
    bf_placed_variable *placed = &walk->variable[i];
    unsigned alignment = alignment_of(placed->variable);
    if (placed->variable->bytes == 0 && alignment > open_alignment)
      open_alignment = alignment;
    placed->offset = placed->variable->bytes ? align(end, alignment) : 0;
    end = placed->variable->bytes ? placed->offset + placed->variable->bytes : end;
  }
  walk->shared_bytes = end;
  for (unsigned i = 0; i < walk->variables; i++)
    if (walk->variable[i].variable->bytes == 0) {
      walk->variable[i].offset = align(end, open_alignment);
      walk->shared_bytes = BF_MOST_SHARED_BYTES;
    }
}

/* Finds and places the variables of walk->function and what it calls. */
static int lay_out(bf_walk *walk) {
  walk->variable = bf_arena_alloc(&walk->arena, BF_MOST_LAYOUT * sizeof *walk->variable);
  functions *list = calloc(1, sizeof *list);
  if (!walk->variable || !list) {
    free(list);
    return BF_NO_MEMORY;
  }
  add_function(list, walk->function);
  for (unsigned i = 0; i < list->count; i++)
    add_callees(walk->module, list->item[i], list);
  list_variables(walk, list);
  free(list);
  place_variables(walk);
  return BF_OK;
}

int bf_walk_layout(bf_walk *walk) {
  BF_TRY(lay_out(walk));
  for (unsigned i = 0; i < walk->variables; i++)
    name_variable(walk, &walk->variable[i]);
  return walk->values.failed ? BF_NO_MEMORY : BF_OK;
}

int bf_analyze_layout(const bf_ptx_module *module, const bf_ptx_function *kernel, bf_arena *arena,
                      bf_analyze_variable **list, unsigned *count, bf_diagnostic *diagnostic) {
  bf_walk walk = {.module = module, .function = kernel};
  int error = lay_out(&walk);
  if (!error)
    *list = bf_arena_alloc(arena, (walk.variables + 1) * sizeof **list);
  if (!error && !*list)
    error = BF_NO_MEMORY;
  *count = error ? 0 : walk.variables;
  for (unsigned i = 0; i < *count; i++)
    (*list)[i] = (bf_analyze_variable){walk.variable[i].variable, walk.variable[i].offset};
  bf_arena_free(&walk.arena);
  return error ? bf_no_memory(diagnostic) : BF_OK;
}
