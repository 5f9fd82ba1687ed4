/* The index of a module: functions and other names, and who names shared variables. It stands
 * behind the module, in one allocation. */
#include "ptx/index.h"
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

typedef struct indexed_module {
  bf_ptx_module module;
  bf_ptx_index index;
} indexed_module;

bf_ptx_module *bf_ptx_new_module(void) {
  indexed_module *made = calloc(1, sizeof *made);
  return made ? &made->module : NULL;
}

const bf_ptx_index *bf_ptx_index_of(const bf_ptx_module *module) {
  return &((const indexed_module *)(const void *)module)->index;
}

/* Whether an operand of the function, outside of addresses, is the name of a shared variable. */
static bool names_shared(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++) {
      const bf_ptx_operand *operand = &function->instruction[i]->operand[k];
      if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
          operand->symbol->variable->space == BF_PTX_SPACE_SHARED)
        return true;
    }
  return false;
}

/* The name of an item, or NULL. */
static const char *name_of(const bf_ptx_item *item) {
  switch (item->kind) {
  case BF_PTX_ITEM_FUNCTION:
    return item->function->name;
  case BF_PTX_ITEM_VARIABLE:
    return item->variable->name;
  case BF_PTX_ITEM_ALIAS:
    return item->alias[0];
  default:
    return NULL;
  }
}

/* Adds what a name means to a table, where it means nothing yet; false when memory is exhausted. */
static bool add(bf_table *table, const char *name, const void *meaning) {
  void **place = bf_table_at(table, name, strlen(name));
  if (place && !*place)
    *place = (void *)(uintptr_t)meaning;
  return place;
}

/* Adds a function with a body. */
static bool add_function(bf_ptx_index *index, const bf_ptx_function *function) {
  if (names_shared(function)) {
    index->has_shared_namers = index->shared_namer != NULL;
    index->shared_namer = function;
  }
  return add(&index->functions, function->name, function);
}

int bf_ptx_fill_index(bf_ptx_module *module, bf_diagnostic *diagnostic) {
  bf_ptx_index *index = &((indexed_module *)(void *)module)->index;
  index->functions.arena = index->names.arena = &module->arena;
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    const char *name = name_of(item);
    bool has_body = item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body;
    if ((name && !add(&index->names, name, item)) ||
        (has_body && !add_function(index, item->function)))
      return bf_no_memory(diagnostic);
  }
  return BF_OK;
}

const bf_ptx_function *bf_ptx_find(const bf_ptx_module *module, const char *name) {
  return bf_table_find(&bf_ptx_index_of(module)->functions, name, strlen(name));
}
