/* One kernel of a module, with what it reaches by name. */
#include "ptx/extract.h"

#include "base/table.h"
#include "ptx/print.h"

#include <string.h>

typedef struct extraction {
  const bf_ptx_module *module;
  bf_arena arena;
  bf_table reached; /* names of functions and variables: any value */
  const bf_ptx_function **open;
  unsigned count; /* functions with a body that were reached */
  bool failed;    /* memory is exhausted */
} extraction;

/* Marks a name; whether it is new. */
static bool mark(extraction *e, const char *name) {
  void **value = bf_table_at(&e->reached, name, strlen(name));
  e->failed |= !value;
  if (!value || *value)
    return false;
  *value = (void *)name;
  return true;
}

static bool is_reached(const extraction *e, const char *name) {
  return bf_table_find(&e->reached, name, strlen(name));
}

/* Marks a function, and keeps its body for later. */
static void reach_function(extraction *e, const char *name) {
  const bf_ptx_function *function = mark(e, name) ? bf_ptx_find(e->module, name) : NULL;
  if (function)
    e->open[e->count++] = function;
}

/* Marks what an operand names, also inside it. */
static void reach_operand(extraction *e, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION)
    reach_function(e, operand->symbol->name);
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE)
    mark(e, operand->symbol->variable->name);
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    reach_operand(e, &operand->item[i]);
}

/* Marks what a list of call targets names. */
static void reach_targets(extraction *e, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next) {
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      reach_targets(e, statement->scope);
    for (unsigned i = 0;
         statement->kind == BF_PTX_STATEMENT_TARGETS && i < statement->targets->count; i++)
      reach_operand(e, &statement->targets->item[i]);
  }
}

/* Marks all that the body of a function names. */
static void reach_body(extraction *e, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      reach_operand(e, &function->instruction[i]->operand[k]);
  reach_targets(e, function->body);
}

/* Whether an item belongs to the kernel's module. */
static bool is_kept(const extraction *e, const bf_ptx_item *item) {
  if (item->kind == BF_PTX_ITEM_VARIABLE)
    return is_reached(e, item->variable->name);
  return item->kind != BF_PTX_ITEM_FUNCTION || is_reached(e, item->function->name);
}

/* Whether a variable is text that the compiler has put there, as formats of printf and what
 * assert prints: nobody can name it, and nobody writes to it. */
static bool is_literal(const bf_ptx_variable *variable) {
  return variable->space == BF_PTX_SPACE_GLOBAL && variable->linkage == BF_PTX_PRIVATE &&
         variable->initialiser &&
         (strncmp(variable->name, "$str", 4) == 0 ||
          strncmp(variable->name, "__unnamed_", 10) == 0);
}

/* Whether an item that is kept holds nothing beyond a launch but what never changes. */
static bool is_passing(const bf_ptx_item *item) {
  if (item->kind == BF_PTX_ITEM_VARIABLE)
    return item->variable->space == BF_PTX_SPACE_SHARED || is_literal(item->variable);
  return item->kind != BF_PTX_ITEM_ALIAS;
}

/* Whether the module holds debug data, which names parts of all its functions. */
static bool has_debug(const bf_ptx_module *module) {
  for (unsigned i = 0; i < module->targets; i++)
    if (strcmp(module->target[i], "debug") == 0)
      return true;
  return false;
}

/* Prints what is kept, where it can stand alone. */
static void print_kept(extraction *e, bf_text *text, bool *is_alone) {
  bf_ptx_module made = *e->module;
  bf_ptx_item **end = &made.first;
  *is_alone = !has_debug(e->module);
  *end = NULL;
  for (const bf_ptx_item *item = e->module->first; item; item = item->next) {
    bf_ptx_item *copy = is_kept(e, item) ? bf_arena_alloc(&e->arena, sizeof *copy) : NULL;
    e->failed |= is_kept(e, item) && !copy;
    if (!copy)
      continue;
    *is_alone &= is_passing(item);
    *copy = *item;
    copy->next = NULL;
    *end = copy;
    end = &copy->next;
  }
  if (text && *is_alone && !e->failed)
    bf_ptx_print(&made, text);
}

static unsigned count_functions(const bf_ptx_module *module) {
  unsigned count = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    count += item->kind == BF_PTX_ITEM_FUNCTION;
  return count;
}

int bf_ptx_extract(const bf_ptx_module *module, const char *kernel, bf_text *text, bool *is_alone,
                   bf_diagnostic *diagnostic) {
  extraction e = {.module = module};
  const bf_ptx_function *first = bf_ptx_find(module, kernel);
  *is_alone = false;
  if (!first || !first->is_entry)
    return bf_fail(diagnostic, BF_BAD_INPUT, "there is no kernel %s", kernel);
  e.reached.arena = &e.arena;
  e.open = bf_arena_alloc(&e.arena, (count_functions(module) + 1) * sizeof *e.open);
  e.failed = !e.open;
  if (!e.failed)
    reach_function(&e, kernel);
  for (unsigned i = 0; i < e.count && !e.failed; i++)
    reach_body(&e, e.open[i]);
  if (!e.failed)
    print_kept(&e, text, is_alone);
  e.failed |= text && text->failed;
  bf_arena_free(&e.arena);
  return e.failed ? bf_no_memory(diagnostic) : BF_OK;
}
