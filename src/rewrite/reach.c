/* The functions and shared variables of a module, and which of them each kernel can reach by
 * calls. */
#include "rewrite/inner.h"

#include <string.h>

/* ---- Functions ---- */

int bf_rewrite_find(const bf_rewrite_plan *plan, const char *name) {
  for (unsigned i = 0; i < plan->functions; i++)
    if (strcmp(plan->function[i].function->name, name) == 0)
      return (int)i;
  return -1;
}

const bf_ptx_operand *bf_rewrite_callee(const bf_ptx_instruction *instruction) {
  if (instruction->opcode != BF_PTX_OP_CALL)
    return NULL;
  for (unsigned i = 0; i < instruction->operands; i++)
    if (instruction->operand[i].kind != BF_PTX_ARGUMENTS)
      return &instruction->operand[i];
  return NULL;
}

int bf_rewrite_called(const bf_rewrite_plan *plan, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *callee = bf_rewrite_callee(instruction);
  return callee && callee->kind == BF_PTX_SYMBOL ? bf_rewrite_find(plan, callee->symbol->name) : -1;
}

bool bf_rewrite_is_hashed(const bf_rewrite_function *function, uint32_t instruction) {
  bf_touch_kind kind = function->touch[instruction].kind;
  return kind == BF_TOUCH_SHARED || (kind == BF_TOUCH_GENERIC && function->guards_generic);
}

bool bf_rewrite_has_accesses(const bf_rewrite_function *function) {
  for (uint32_t i = 0; i < function->function->instructions; i++)
    if (bf_rewrite_is_hashed(function, i))
      return true;
  return false;
}

/* Marks functions whose address the operand, or one inside it, takes. */
static void mark_pointed_to(bf_rewrite_plan *plan, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL) {
    int found = operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION
                    ? bf_rewrite_find(plan, operand->symbol->name)
                    : -1;
    if (found >= 0)
      plan->function[found].is_pointed_to = true;
    return;
  }
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    mark_pointed_to(plan, &operand->item[i]);
}

/* What the instructions of a function do. */
static bool examine_function(bf_rewrite_plan *plan, bf_rewrite_function *own) {
  const bf_ptx_function *function = own->function;
  own->touch =
      bf_arena_alloc(plan->arena, ((size_t)function->instructions + 1) * sizeof *own->touch);
  if (!own->touch)
    return false;
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    const bf_ptx_operand *callee = bf_rewrite_callee(instruction);
    own->touch[i] = bf_rewrite_touch(instruction);
    own->makes_generic |= bf_rewrite_makes_generic(instruction);
    for (unsigned k = 0; k < instruction->operands; k++)
      if (&instruction->operand[k] != callee)
        mark_pointed_to(plan, &instruction->operand[k]);
  }
  return true;
}

/* Whether an initial value holds the address of a shared variable. */
static bool holds_shared(const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
           operand->symbol->variable->space == BF_PTX_SPACE_SHARED;
  for (uint32_t i = 0; operand->kind == BF_PTX_VECTOR && i < operand->count; i++)
    if (holds_shared(&operand->item[i]))
      return true;
  return false;
}

static unsigned count_functions(const bf_ptx_module *module, bool entries_only) {
  unsigned count = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    count += item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body &&
             (item->function->is_entry || !entries_only);
  return count;
}

static bool list_functions(bf_rewrite_plan *plan) {
  unsigned count = count_functions(plan->module, false);
  plan->function = bf_arena_alloc(plan->arena, ((size_t)count + 1) * sizeof *plan->function);
  if (!plan->function)
    return false;
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body)
      plan->function[plan->functions++].function = item->function;
  for (unsigned i = 0; i < plan->functions; i++)
    if (!examine_function(plan, &plan->function[i]))
      return false;
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->initialiser) {
      mark_pointed_to(plan, item->variable->initialiser);
      plan->stores_shared |= holds_shared(item->variable->initialiser);
    } else if (item->kind == BF_PTX_ITEM_ALIAS) {
      int found = bf_rewrite_find(plan, item->alias[1]);
      if (found >= 0)
        plan->function[found].is_pointed_to = true; /* others call it by the other name */
    }
  return true;
}

/* ---- Kernels ---- */

/* Marks what is called from marked functions until nothing is added. */
static void follow_calls(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel) {
  bool changed = true;
  bool *done = kernel->reaches + plan->functions; /* functions whose calls were followed */
  while (changed) {
    changed = false;
    for (unsigned f = 0; f < plan->functions; f++) {
      const bf_rewrite_function *own = &plan->function[f];
      if (!kernel->reaches[f] || done[f])
        continue;
      done[f] = changed = true;
      kernel->reaches_generic |= own->makes_generic;
      for (uint32_t i = 0; i < own->function->instructions; i++) {
        int found = bf_rewrite_called(plan, own->function->instruction[i]);
        if (found >= 0)
          kernel->reaches[found] = true;
      }
    }
  }
}

static bool list_kernels(bf_rewrite_plan *plan) {
  unsigned count = count_functions(plan->module, true);
  plan->kernel = bf_arena_alloc(plan->arena, ((size_t)count + 1) * sizeof *plan->kernel);
  if (!plan->kernel)
    return false;
  for (unsigned f = 0; f < plan->functions; f++) {
    if (!plan->function[f].function->is_entry)
      continue;
    bf_rewrite_kernel_plan *kernel = &plan->kernel[plan->kernels++];
    kernel->index = f;
    kernel->reaches = bf_arena_alloc(plan->arena, 2 * (size_t)plan->functions);
    if (!kernel->reaches)
      return false;
    kernel->reaches[f] = true;
    kernel->reaches_generic = plan->stores_shared;
    follow_calls(plan, kernel);
    for (unsigned i = 0; i < plan->functions; i++)
      plan->function[i].guards_generic |= kernel->reaches[i] && kernel->reaches_generic;
  }
  return true;
}

/* ---- Variables ---- */

/* Lists, or with variable NULL only counts, the shared variables of statements. */
static void list_statements(bf_rewrite_plan *plan, const bf_ptx_statement *statement, int owner) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE) {
      list_statements(plan, statement->scope, owner);
    } else if (statement->kind == BF_PTX_STATEMENT_VARIABLE &&
               statement->variable->space == BF_PTX_SPACE_SHARED) {
      if (plan->variable) {
        plan->variable[plan->variables] = statement->variable;
        plan->owner[plan->variables] = owner;
      }
      plan->variables++;
    }
}

static void list_items(bf_rewrite_plan *plan) {
  plan->variables = 0;
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_VARIABLE || item->variable->space != BF_PTX_SPACE_SHARED)
      continue;
    if (plan->variable) {
      plan->variable[plan->variables] = item->variable;
      plan->owner[plan->variables] = -1;
    }
    plan->variables++;
  }
  for (unsigned f = 0; f < plan->functions; f++)
    list_statements(plan, plan->function[f].function->body, (int)f);
}

static bool list_variables(bf_rewrite_plan *plan) {
  list_items(plan);
  size_t room = (size_t)plan->variables + 1;
  plan->variable = bf_arena_alloc(plan->arena, room * sizeof *plan->variable);
  plan->owner = bf_arena_alloc(plan->arena, room * sizeof *plan->owner);
  if (!plan->variable || !plan->owner)
    return false;
  list_items(plan);
  return true;
}

/* Whether the operand, or one inside it, names the variable. */
static bool operand_names(const bf_ptx_operand *operand, const char *name) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
           strcmp(operand->symbol->name, name) == 0;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (operand_names(&operand->item[i], name))
      return true;
  return false;
}

bool bf_rewrite_names(const bf_ptx_function *function, const char *name) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      if (operand_names(&function->instruction[i]->operand[k], name))
        return true;
  return false;
}

/* Whether the kernel can reach the variable. */
static bool uses(const bf_rewrite_plan *plan, const bf_rewrite_kernel_plan *kernel,
                 unsigned variable) {
  if (plan->owner[variable] >= 0)
    return kernel->reaches[plan->owner[variable]];
  for (unsigned f = 0; f < plan->functions; f++)
    if (kernel->reaches[f] &&
        bf_rewrite_names(plan->function[f].function, plan->variable[variable]->name))
      return true;
  return false;
}

static bool find_uses(bf_rewrite_plan *plan) {
  size_t room = (size_t)plan->variables + 1;
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    kernel->uses = bf_arena_alloc(plan->arena, room);
    kernel->array_hash = bf_arena_alloc(plan->arena, room * sizeof *kernel->array_hash);
    kernel->pads = bf_arena_alloc(plan->arena, room);
    if (!kernel->uses || !kernel->array_hash || !kernel->pads)
      return false;
    for (unsigned i = 0; i < plan->variables; i++)
      kernel->uses[i] = uses(plan, kernel, i);
  }
  return true;
}

/* Marks functions with accesses, then those that call marked ones, until nothing is added. */
static void find_involved(bf_rewrite_plan *plan) {
  for (unsigned f = 0; f < plan->functions; f++)
    plan->function[f].is_involved = bf_rewrite_has_accesses(&plan->function[f]);
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned f = 0; f < plan->functions; f++) {
      bf_rewrite_function *own = &plan->function[f];
      for (uint32_t i = 0; !own->is_involved && i < own->function->instructions; i++) {
        int called = bf_rewrite_called(plan, own->function->instruction[i]);
        if (called >= 0 && plan->function[called].is_involved)
          own->is_involved = changed = true;
      }
    }
  }
}

bool bf_rewrite_plan_make(const bf_ptx_module *module, bf_arena *arena, bf_rewrite_plan *plan) {
  *plan = (bf_rewrite_plan){.module = module, .arena = arena};
  if (!list_functions(plan) || !list_kernels(plan) || !list_variables(plan) || !find_uses(plan))
    return false;
  find_involved(plan);
  bf_rewrite_find_others(plan);
  return bf_rewrite_find_origins(plan);
}
