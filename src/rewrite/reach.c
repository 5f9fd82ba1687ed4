/* The functions and shared variables of a module, and which of them each kernel can reach by
 * calls. */
#include "rewrite/inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---- */

/* A set of numbers below a limit while it is made: members, and for each number the last set that
 * it was put into. One is used for many sets. */
typedef struct gathering {
  unsigned set, count;
  unsigned *member, *last_set;
} gathering;

/* Room for numbers below limit; false when memory is exhausted. */
static bool gathering_make(gathering *g, unsigned limit) {
  *g = (gathering){.member = calloc((size_t)limit + 1, sizeof *g->member),
                   .last_set = calloc((size_t)limit + 1, sizeof *g->last_set)};
  return g->member && g->last_set;
}

static void gathering_free(gathering *g) {
  free(g->member);
  free(g->last_set);
}

/* Starts the next set. */
static void begin(gathering *g) {
  g->set++;
  g->count = 0;
}

static void put(gathering *g, unsigned number) {
  if (g->last_set[number] == g->set)
    return;
  g->last_set[number] = g->set;
  g->member[g->count++] = number;
}

static int compare_numbers(const void *a, const void *b) {
  unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
  return (left > right) - (left < right);
}

/* The set as a list; false when memory is exhausted. */
static bool finish(const gathering *g, bf_arena *arena, bf_rewrite_numbers *numbers) {
  numbers->count = g->count;
  numbers->item = bf_arena_alloc(arena, ((size_t)g->count + 1) * sizeof *numbers->item);
  if (!numbers->item)
    return false;
  if (g->count)
    memcpy(numbers->item, g->member, g->count * sizeof *g->member);
  qsort(numbers->item, numbers->count, sizeof *numbers->item, compare_numbers);
  return true;
}

/* Adds a number that is larger than all in the list, which has room for it. */
static void append(bf_rewrite_numbers *numbers, unsigned number) {
  numbers->item[numbers->count++] = number;
}

/* Turns counts of lists into lists of that room that are empty; false when memory is exhausted. */
static bool make_room(bf_rewrite_numbers *list, bf_arena *arena) {
  list->item = bf_arena_alloc(arena, ((size_t)list->count + 1) * sizeof *list->item);
  list->count = 0;
  return list->item;
}

/* Adds a number under a name to a table; *next is what it had before. */
static bool chain(bf_table *table, const void *key, size_t bytes, unsigned number, unsigned *next) {
  void **place = bf_table_at(table, key, bytes);
  if (!place)
    return false;
  *next = (unsigned)(uintptr_t)*place;
  *place = (void *)((uintptr_t)number + 1);
  return true;
}

/* ---- Functions ---- */

int bf_rewrite_find(const bf_rewrite_plan *plan, const char *name) {
  return (int)(uintptr_t)bf_table_find(&plan->function_by_name, name, strlen(name)) - 1;
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
    own->sees_layout |= bf_rewrite_sees_layout(instruction) != NULL;
    own->leaves_module |= callee && bf_rewrite_called(plan, instruction) < 0;
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
  plan->function_by_name.arena = plan->arena;
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body) {
      const char *name = item->function->name;
      unsigned unused;
      if (!chain(&plan->function_by_name, name, strlen(name), plan->functions, &unused))
        return false;
      plan->function[plan->functions++].function = item->function;
    }
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

/* Tells functions who calls them. */
static bool list_callers(bf_rewrite_plan *plan) {
  for (unsigned f = 0; f < plan->functions; f++)
    for (unsigned i = 0; i < plan->function[f].calls.count; i++)
      plan->function[plan->function[f].calls.item[i]].callers.count++;
  for (unsigned f = 0; f < plan->functions; f++)
    if (!make_room(&plan->function[f].callers, plan->arena))
      return false;
  for (unsigned f = 0; f < plan->functions; f++)
    for (unsigned i = 0; i < plan->function[f].calls.count; i++)
      append(&plan->function[plan->function[f].calls.item[i]].callers, f);
  return true;
}

/* Lists what every function calls, and who calls it. */
static bool list_calls(bf_rewrite_plan *plan, gathering *g) {
  for (unsigned f = 0; f < plan->functions; f++) {
    bf_rewrite_function *own = &plan->function[f];
    begin(g);
    for (uint32_t i = 0; i < own->function->instructions; i++) {
      int found = bf_rewrite_called(plan, own->function->instruction[i]);
      if (found >= 0)
        put(g, (unsigned)found);
    }
    if (!finish(g, plan->arena, &own->calls))
      return false;
  }
  return list_callers(plan);
}

/* ---- Kernels ---- */

/* Lists what a kernel reaches: itself, and what is called from what it reaches. */
static bool follow_calls(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel, gathering *g) {
  begin(g);
  put(g, kernel->index);
  for (unsigned n = 0; n < g->count; n++) {
    const bf_rewrite_function *own = &plan->function[g->member[n]];
    kernel->reaches_generic |= own->makes_generic;
    kernel->sees_layout |= own->sees_layout;
    kernel->leaves_module |= own->leaves_module;
    for (unsigned i = 0; i < own->calls.count; i++)
      put(g, own->calls.item[i]);
  }
  return finish(g, plan->arena, &kernel->reached);
}

/* Tells functions which kernels reach them. */
static bool list_reaching(bf_rewrite_plan *plan) {
  for (unsigned k = 0; k < plan->kernels; k++)
    for (unsigned n = 0; n < plan->kernel[k].reached.count; n++)
      plan->function[plan->kernel[k].reached.item[n]].kernels.count++;
  for (unsigned f = 0; f < plan->functions; f++)
    if (!make_room(&plan->function[f].kernels, plan->arena))
      return false;
  for (unsigned k = 0; k < plan->kernels; k++)
    for (unsigned n = 0; n < plan->kernel[k].reached.count; n++) {
      bf_rewrite_function *function = &plan->function[plan->kernel[k].reached.item[n]];
      append(&function->kernels, k);
      function->guards_generic |= plan->kernel[k].reaches_generic;
    }
  return true;
}

static bool list_kernels(bf_rewrite_plan *plan, gathering *g) {
  unsigned count = count_functions(plan->module, true);
  plan->kernel = bf_arena_alloc(plan->arena, ((size_t)count + 1) * sizeof *plan->kernel);
  if (!plan->kernel)
    return false;
  for (unsigned f = 0; f < plan->functions; f++) {
    if (!plan->function[f].function->is_entry)
      continue;
    bf_rewrite_kernel_plan *kernel = &plan->kernel[plan->kernels++];
    kernel->index = f;
    kernel->reaches_generic = plan->stores_shared;
    if (!follow_calls(plan, kernel, g))
      return false;
  }
  return list_reaching(plan);
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

/* Where a variable is declared; a key by its bytes, so without gaps, however wide pointers are. */
typedef struct place {
  uint64_t name; /* interned: its address */
  uint64_t line;
} place;

static place place_of(const bf_ptx_variable *variable) {
  return (place){(uintptr_t)variable->name, variable->line};
}

/* Notes where variables are declared, and the names of those of the module. From the last to the
 * first: the first is found first. */
static bool index_variables(bf_rewrite_plan *plan) {
  plan->variable_by_place.arena = plan->variable_by_name.arena = plan->arena;
  for (unsigned i = plan->variables; i-- > 0;) {
    const char *name = plan->variable[i]->name;
    place key = place_of(plan->variable[i]);
    if (!chain(&plan->variable_by_place, &key, sizeof key, i, &plan->next_placed[i]))
      return false;
    if (plan->owner[i] < 0 &&
        !chain(&plan->variable_by_name, name, strlen(name), i, &plan->next_named[i]))
      return false;
  }
  plan->first_open = 0;
  while (plan->first_open < plan->variables && plan->variable[plan->first_open]->bytes)
    plan->first_open++;
  return true;
}

static bool list_variables(bf_rewrite_plan *plan) {
  list_items(plan);
  size_t room = (size_t)plan->variables + 1;
  plan->variable = bf_arena_alloc(plan->arena, room * sizeof *plan->variable);
  plan->owner = bf_arena_alloc(plan->arena, room * sizeof *plan->owner);
  plan->users = bf_arena_alloc(plan->arena, room * sizeof *plan->users);
  plan->next_named = bf_arena_alloc(plan->arena, room * sizeof *plan->next_named);
  plan->next_placed = bf_arena_alloc(plan->arena, room * sizeof *plan->next_placed);
  if (!plan->variable || !plan->owner || !plan->users || !plan->next_named || !plan->next_placed)
    return false;
  list_items(plan);
  return index_variables(plan);
}

int bf_rewrite_find_variable(const bf_rewrite_plan *plan, const bf_ptx_variable *variable) {
  place key = place_of(variable);
  return (int)(uintptr_t)bf_table_find(&plan->variable_by_place, &key, sizeof key) - 1;
}

/* ---- Who uses which ---- */

/* Puts the variables of the module that the operand, or one inside it, may name. */
static void put_named(const bf_rewrite_plan *plan, const bf_ptx_operand *operand, gathering *g) {
  if (operand->kind == BF_PTX_SYMBOL) {
    const char *name = operand->symbol->name;
    unsigned at =
        operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE
            ? (unsigned)(uintptr_t)bf_table_find(&plan->variable_by_name, name, strlen(name))
            : 0;
    for (; at; at = plan->next_named[at - 1])
      put(g, at - 1);
    return;
  }
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    put_named(plan, &operand->item[i], g);
}

/* Lists the variables that every function declares or names: own ones follow those of the module,
 * function by function. */
static bool list_names(bf_rewrite_plan *plan, gathering *g) {
  unsigned own = 0;
  while (own < plan->variables && plan->owner[own] < 0)
    own++;
  for (unsigned f = 0; f < plan->functions; f++) {
    const bf_ptx_function *function = plan->function[f].function;
    begin(g);
    for (; own < plan->variables && plan->owner[own] == (int)f; own++)
      put(g, own);
    for (uint32_t i = 0; i < function->instructions; i++)
      for (unsigned k = 0; k < function->instruction[i]->operands; k++)
        put_named(plan, &function->instruction[i]->operand[k], g);
    if (!finish(g, plan->arena, &plan->function[f].names))
      return false;
  }
  return true;
}

/* Lists the variables that a kernel can reach. */
static bool list_uses(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel, gathering *g) {
  bf_rewrite_numbers numbers;
  begin(g);
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    const bf_rewrite_numbers *names = &plan->function[kernel->reached.item[n]].names;
    for (unsigned i = 0; i < names->count; i++)
      put(g, names->item[i]);
  }
  kernel->use = bf_arena_alloc(plan->arena, ((size_t)g->count + 1) * sizeof *kernel->use);
  if (!kernel->use || !finish(g, plan->arena, &numbers))
    return false;
  for (unsigned i = 0; i < numbers.count; i++)
    kernel->use[kernel->uses++].variable = numbers.item[i];
  return true;
}

static bool find_uses(bf_rewrite_plan *plan, gathering *g) {
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    if (!list_uses(plan, kernel, g))
      return false;
    for (unsigned i = 0; i < kernel->uses; i++)
      plan->users[kernel->use[i].variable].count++;
  }
  for (unsigned i = 0; i < plan->variables; i++)
    if (!make_room(&plan->users[i], plan->arena))
      return false;
  for (unsigned k = 0; k < plan->kernels; k++)
    for (unsigned i = 0; i < plan->kernel[k].uses; i++)
      append(&plan->users[plan->kernel[k].use[i].variable], k);
  return true;
}

static int compare_use(const void *key, const void *use) {
  return compare_numbers(key, &((const bf_rewrite_use *)use)->variable);
}

bf_rewrite_use *bf_rewrite_use_of(const bf_rewrite_kernel_plan *kernel, unsigned variable) {
  return bsearch(&variable, kernel->use, kernel->uses, sizeof *kernel->use, compare_use);
}

/* ---- Who is involved ---- */

/* Marks a function, and puts it on the list of those whose callers are to be marked. */
static void involve(bf_rewrite_plan *plan, unsigned function, gathering *g) {
  plan->function[function].is_involved = true;
  put(g, function);
}

/* Marks functions with accesses, and all that call marked ones. */
static void find_involved(bf_rewrite_plan *plan, gathering *g) {
  begin(g);
  for (unsigned f = 0; f < plan->functions; f++)
    if (bf_rewrite_has_accesses(&plan->function[f]))
      involve(plan, f, g);
  for (unsigned n = 0; n < g->count; n++) {
    const bf_rewrite_numbers *callers = &plan->function[g->member[n]].callers;
    for (unsigned i = 0; i < callers->count; i++)
      involve(plan, callers->item[i], g);
  }
}

/* All that needs sets of functions, then of variables. */
static bool make_lists(bf_rewrite_plan *plan) {
  gathering of_functions, of_variables = {0};
  bool done = gathering_make(&of_functions, plan->functions) && list_calls(plan, &of_functions) &&
              list_kernels(plan, &of_functions) && list_variables(plan) &&
              gathering_make(&of_variables, plan->variables) && list_names(plan, &of_variables) &&
              find_uses(plan, &of_variables);
  if (done)
    find_involved(plan, &of_functions);
  gathering_free(&of_functions);
  gathering_free(&of_variables);
  return done;
}

bool bf_rewrite_plan_make(const bf_ptx_module *module, bf_arena *arena, bf_rewrite_plan *plan) {
  *plan = (bf_rewrite_plan){.module = module, .arena = arena};
  return list_functions(plan) && make_lists(plan) && bf_rewrite_find_others(plan) &&
         bf_rewrite_find_origins(plan);
}
