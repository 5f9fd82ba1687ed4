/* Both versions of kernels in one module.
 *
 * First the module is doubled: each kernel that is to be rewritten is copied, with the functions it
 * reaches that name or declare shared variables, and with the shared variables that they name. A
 * copy of NAME is called NAME__bankfold_NUMBER, with one number for the whole module, and stands
 * behind what it is a copy of; copies name copies, and nothing else names them. So it is
 * with shared variables inside functions, too. Then the
 * doubled module is rewritten as any other is, with hashes for the copied kernels only. So what
 * was there stays as it was, the layout of its shared memory included; both versions see the same
 * variables in global and constant memory; and the proof has two parts, each on its own:
 * bf_verify_doubled for the copies, bf_verify for their accesses. */
#include "rewrite/inner.h"

#include "verify/verify.h"

#include <string.h>

typedef struct doubling {
  const bf_rewrite_plan *plan;
  const bf_rewrite_options *options;
  bf_arena *arena;
  bool *copies;               /* per function */
  bool *copies_variable;      /* per variable */
  const char **function_name; /* per function: of its copy; NULL: none */
  const char **variable_name; /* the same per variable */
  bf_table kernel_by_copy;    /* the number of a kernel + 1, by the name of its copy */
  bf_table variable_by_copy;  /* the same of the first variable with a copy of that name, and */
  unsigned *next_variable;    /* per variable: of the next, or 0 */
  unsigned number;
  bool failed; /* memory is exhausted */
} doubling;

/* ---- What is copied ---- */

/* The number of a shared variable, or -1. */
static int variable_of(const bf_rewrite_plan *plan, const bf_ptx_variable *variable) {
  int found = bf_rewrite_find_variable(plan, variable);
  while (found >= 0 && plan->variable[found] != variable)
    found = (int)plan->next_placed[found] - 1;
  return found;
}

/* Whether the operand, or one inside it, names a shared variable of the module. */
static bool names_shared(const bf_rewrite_plan *plan, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      operand->symbol->variable->space == BF_PTX_SPACE_SHARED) {
    int found = variable_of(plan, operand->symbol->variable);
    return found >= 0 && plan->owner[found] < 0;
  }
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (names_shared(plan, &operand->item[i]))
      return true;
  return false;
}

static bool function_names_shared(const bf_rewrite_plan *plan, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned k = 0; k < function->instruction[i]->operands; k++)
      if (names_shared(plan, &function->instruction[i]->operand[k]))
        return true;
  return false;
}

/* Per function: whether it has shared variables of its own, or names some; NULL: no memory. */
static bool *find_owners(const bf_rewrite_plan *plan) {
  bool *owns = bf_arena_alloc(plan->arena, (size_t)plan->functions + 1);
  for (unsigned i = 0; owns && i < plan->variables; i++)
    if (plan->owner[i] >= 0)
      owns[plan->owner[i]] = true;
  for (unsigned f = 0; owns && f < plan->functions; f++)
    owns[f] = owns[f] || function_names_shared(plan, plan->function[f].function);
  return owns;
}

/* Adds the functions that call marked ones, until nothing is added; false: no memory. */
static bool add_callers(const bf_rewrite_plan *plan, bool *is_marked) {
  unsigned *marked = bf_arena_alloc(plan->arena, ((size_t)plan->functions + 1) * sizeof *marked);
  unsigned count = 0;
  for (unsigned f = 0; marked && f < plan->functions; f++)
    if (is_marked[f])
      marked[count++] = f;
  for (unsigned n = 0; n < count; n++) {
    const bf_rewrite_numbers *callers = &plan->function[marked[n]].callers;
    for (unsigned i = 0; i < callers->count; i++) {
      if (!is_marked[callers->item[i]])
        marked[count++] = callers->item[i];
      is_marked[callers->item[i]] = true;
    }
  }
  return marked;
}

/* The function in the operand whose address is taken although it uses shared memory; NULL: none. */
static const char *find_pointed(const bf_rewrite_plan *plan, const bf_ptx_operand *operand,
                                const bool *needs) {
  if (operand->kind != BF_PTX_SYMBOL || operand->symbol->kind != BF_PTX_SYMBOL_FUNCTION)
    return NULL;
  int found = bf_rewrite_find(plan, operand->symbol->name);
  return found >= 0 && needs[found] ? operand->symbol->name : NULL;
}

/* Refuses a kernel in which somebody takes the address of a function that would be copied: it is
 * not known who calls which of both. False: no memory. */
static bool refuse_pointers(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                            const bool *needs, bf_rewrite_kernel *out) {
  for (unsigned n = 0; n < kernel->reached.count; n++) {
    const bf_ptx_function *function = plan->function[kernel->reached.item[n]].function;
    for (uint32_t i = 0; i < function->instructions; i++) {
      const bf_ptx_instruction *at = function->instruction[i];
      const bf_ptx_operand *callee = bf_rewrite_callee(at);
      for (unsigned k = 0; k < at->operands; k++) {
        const char *name =
            &at->operand[k] == callee ? NULL : find_pointed(plan, &at->operand[k], needs);
        if (name &&
            !bf_rewrite_add_obstacle(plan, kernel, out, at->line,
                                     "the address of function %s, which uses shared memory", name))
          return false;
      }
    }
  }
  return true;
}

/* Why a module cannot have copies, or NULL: debug data name places in the code, which copies have
 * too; and initial values the variables of one of both. */
static const char *judge_module(const bf_rewrite_plan *plan) {
  if (plan->stores_shared)
    return "an address of shared memory in a variable";
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_SECTION && strcmp(item->section->name, ".debug_info") == 0)
      return "debug information, which describes one version only";
  return NULL;
}

/* Marks what is copied for a kernel. */
static void mark_copies(doubling *d, const bf_rewrite_kernel_plan *kernel, const bool *needs) {
  d->copies[kernel->index] = true;
  for (unsigned n = 0; n < kernel->reached.count; n++)
    d->copies[kernel->reached.item[n]] |= needs[kernel->reached.item[n]];
  for (unsigned i = 0; i < kernel->uses; i++)
    d->copies_variable[kernel->use[i].variable] = true;
}

/* Decides what is copied; kernels that cannot be are refused. */
static bool choose_copies(doubling *d, bf_rewrite_plan *plan, bf_rewrite_result *result) {
  bool *needs = find_owners(plan);
  d->copies = bf_arena_alloc(d->arena, (size_t)plan->functions + 1);
  d->copies_variable = bf_arena_alloc(d->arena, (size_t)plan->variables + 1);
  const char *why = judge_module(plan);
  if (!needs || !d->copies || !d->copies_variable || !add_callers(plan, needs))
    return false;
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    bf_rewrite_kernel *out = &result->kernel[k];
    if (!out->is_rewritten)
      continue;
    if (!refuse_pointers(plan, kernel, needs, out) ||
        (why && !bf_rewrite_add_obstacle(plan, kernel, out, 0, "%s", why)))
      return false;
    out->is_rewritten = !kernel->refused;
    if (out->is_rewritten)
      mark_copies(d, kernel, needs);
  }
  return true;
}

/* ---- Names ---- */

/* What stands behind the last mark of copies in a name, or NULL. */
static const char *find_end(const char *name) {
  static const char mark[] = "__bankfold_";
  const char *last = NULL;
  for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark))
    last = at;
  return last ? last + sizeof mark - 1 : NULL;
}

/* The first number that no name of the module ends with; false when memory is exhausted. */
static bool choose_number(doubling *d) {
  bf_table taken = {.arena = d->arena};
  char end[16];
  for (const bf_ptx_item *item = d->plan->module->first; item; item = item->next) {
    const char *name = item->kind == BF_PTX_ITEM_FUNCTION   ? item->function->name
                       : item->kind == BF_PTX_ITEM_VARIABLE ? item->variable->name
                       : item->kind == BF_PTX_ITEM_ALIAS    ? item->alias[0]
                                                            : "";
    const char *number = find_end(name);
    void **place = number ? bf_table_at(&taken, number, strlen(number)) : NULL;
    if (number && !place)
      return false;
    if (place)
      *place = d;
  }
  do
    snprintf(end, sizeof end, "%u", ++d->number);
  while (bf_table_find(&taken, end, strlen(end)));
  return true;
}

/* The name of a copy; NULL when memory is exhausted. */
static const char *copy_name(doubling *d, const char *original) {
  size_t size = strlen(original) + 32;
  char *name = bf_arena_alloc(d->arena, size);
  if (name)
    snprintf(name, size, "%s__bankfold_%u", original, d->number);
  d->failed |= !name;
  return name;
}

/* Puts a number into a table under the name of a copy; *next is the one that stood there, + 1. */
static void put_copy(doubling *d, bf_table *table, const char *name, unsigned number,
                     unsigned *next) {
  void **place = name ? bf_table_at(table, name, strlen(name)) : NULL;
  d->failed |= name && !place;
  if (!place)
    return;
  *next = (unsigned)(uintptr_t)*place;
  *place = (void *)((uintptr_t)number + 1);
}

/* Lists kernels and variables by the names of their copies. From the last to the first: the first
 * is found first. */
static void list_copies(doubling *d) {
  const bf_rewrite_plan *plan = d->plan;
  unsigned unused;
  d->kernel_by_copy.arena = d->variable_by_copy.arena = d->arena;
  for (unsigned k = plan->kernels; k-- > 0;)
    put_copy(d, &d->kernel_by_copy, d->function_name[plan->kernel[k].index], k, &unused);
  for (unsigned i = plan->variables; i-- > 0;)
    put_copy(d, &d->variable_by_copy, d->variable_name[i], i, &d->next_variable[i]);
}

/* The number of the kernel that has a copy of that name, or -1. */
static int copied_kernel(const doubling *d, const char *name) {
  return (int)(uintptr_t)bf_table_find(&d->kernel_by_copy, name, strlen(name)) - 1;
}

/* Names all that is copied; false when memory is exhausted. */
static bool name_copies(doubling *d) {
  const bf_rewrite_plan *plan = d->plan;
  d->function_name = bf_arena_alloc(d->arena, ((size_t)plan->functions + 1) * sizeof(char *));
  d->variable_name = bf_arena_alloc(d->arena, ((size_t)plan->variables + 1) * sizeof(char *));
  d->next_variable =
      bf_arena_alloc(d->arena, ((size_t)plan->variables + 1) * sizeof *d->next_variable);
  if (!d->function_name || !d->variable_name || !d->next_variable || !choose_number(d))
    return false;
  for (unsigned f = 0; f < plan->functions; f++)
    if (d->copies[f])
      d->function_name[f] = copy_name(d, plan->function[f].function->name);
  for (unsigned i = 0; i < plan->variables; i++)
    if (d->copies_variable[i])
      d->variable_name[i] = copy_name(d, plan->variable[i]->name);
  list_copies(d);
  return !d->failed;
}

/* ---- Copies ---- */

/* The name that a symbol has in copies; NULL: its own. is_callee: it is what is called. */
static const char *renamed(const doubling *d, const bf_ptx_symbol *symbol, bool is_callee) {
  int found = -1;
  if (symbol->kind == BF_PTX_SYMBOL_VARIABLE && symbol->variable->space == BF_PTX_SPACE_SHARED)
    found = variable_of(d->plan, symbol->variable);
  if (found >= 0)
    return d->variable_name[found];
  if (symbol->kind == BF_PTX_SYMBOL_FUNCTION && is_callee)
    found = bf_rewrite_find(d->plan, symbol->name);
  return found >= 0 ? d->function_name[found] : NULL;
}

static bf_ptx_operand copy_operand(doubling *d, const bf_ptx_operand *from, bool is_callee);

/* Copies of operands; NULL when memory is exhausted. callee: one of them, or NULL. */
static const bf_ptx_operand *copy_operands(doubling *d, const bf_ptx_operand *from, unsigned count,
                                           const bf_ptx_operand *callee) {
  bf_ptx_operand *made = bf_arena_alloc(d->arena, ((size_t)count + 1) * sizeof *made);
  for (unsigned i = 0; made && i < count; i++)
    made[i] = copy_operand(d, &from[i], &from[i] == callee);
  d->failed |= !made;
  return made;
}

static bf_ptx_operand copy_operand(doubling *d, const bf_ptx_operand *from, bool is_callee) {
  bf_ptx_operand made = *from;
  if (from->kind == BF_PTX_SYMBOL) {
    const char *name = renamed(d, from->symbol, is_callee);
    bf_ptx_symbol *symbol = name ? bf_arena_alloc(d->arena, sizeof *symbol) : NULL;
    d->failed |= name && !symbol;
    if (!symbol)
      return made;
    *symbol = *from->symbol;
    symbol->name = name;
    made.symbol = symbol;
  } else if (from->kind == BF_PTX_ADDRESS || from->kind == BF_PTX_VECTOR ||
             from->kind == BF_PTX_PAIR || from->kind == BF_PTX_ARGUMENTS) {
    made.item = copy_operands(d, from->item, from->count, NULL);
  }
  return made;
}

/* Whether the operand, or one inside it, has another name in copies. */
static bool is_renamed(const doubling *d, const bf_ptx_operand *operand, bool is_callee) {
  if (operand->kind == BF_PTX_SYMBOL)
    return renamed(d, operand->symbol, is_callee) != NULL;
  bool has_items = operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
                   operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS;
  for (uint32_t i = 0; has_items && i < operand->count; i++)
    if (is_renamed(d, &operand->item[i], false))
      return true;
  return false;
}

/* An instruction as copies have it: itself where no name differs. */
static const bf_ptx_instruction *copy_instruction(doubling *d, const bf_ptx_instruction *from) {
  const bf_ptx_operand *callee = bf_rewrite_callee(from);
  bool differs = false;
  for (unsigned i = 0; i < from->operands; i++)
    differs |= is_renamed(d, &from->operand[i], &from->operand[i] == callee);
  bf_ptx_instruction *made = differs ? bf_arena_alloc(d->arena, sizeof *made) : NULL;
  d->failed |= differs && !made;
  if (!made)
    return from;
  *made = *from;
  made->operand = copy_operands(d, from->operand, from->operands, callee);
  return made;
}

/* A copy of a variable. Open arrays stay those of the launch. */
static const bf_ptx_variable *copy_variable(doubling *d, const bf_ptx_variable *from,
                                            const char *name) {
  bf_ptx_variable *made = bf_arena_alloc(d->arena, sizeof *made);
  d->failed |= !made;
  if (!made)
    return NULL;
  *made = *from;
  made->name = name;
  made->linkage = from->linkage == BF_PTX_EXTERN ? BF_PTX_EXTERN : BF_PTX_PRIVATE;
  return made;
}

/* A variable that is declared in a function: a copy where it is a shared one. */
static const bf_ptx_variable *copy_local(doubling *d, const bf_ptx_variable *from) {
  int found = from->space == BF_PTX_SPACE_SHARED ? variable_of(d->plan, from) : -1;
  return found >= 0 && d->variable_name[found] ? copy_variable(d, from, d->variable_name[found])
                                               : from;
}

static bf_ptx_statement *copy_statements(doubling *d, const bf_ptx_statement *from) {
  bf_ptx_statement *first = NULL, **end = &first;
  for (; from && !d->failed; from = from->next) {
    bf_ptx_statement *made = bf_arena_alloc(d->arena, sizeof *made);
    d->failed |= !made;
    if (!made)
      break;
    *made = *from;
    made->next = NULL;
    if (from->kind == BF_PTX_STATEMENT_SCOPE)
      made->scope = copy_statements(d, from->scope);
    else if (from->kind == BF_PTX_STATEMENT_VARIABLE)
      made->variable = copy_local(d, from->variable);
    else if (from->kind == BF_PTX_STATEMENT_INSTRUCTION)
      made->instruction = copy_instruction(d, from->instruction);
    *end = made;
    end = &made->next;
  }
  return first;
}

/* A copy of a function: a kernel is seen from outside as the original is, others are not. */
static const bf_ptx_function *copy_function(doubling *d, const bf_ptx_function *from,
                                            const char *name) {
  bf_ptx_function *made = bf_arena_alloc(d->arena, sizeof *made);
  d->failed |= !made;
  if (!made)
    return NULL;
  *made = *from;
  made->name = name;
  made->linkage = from->is_entry ? from->linkage : BF_PTX_PRIVATE;
  made->body = copy_statements(d, from->body);
  return made;
}

/* ---- The doubled module ---- */

/* The name of the copy of a function or of a declaration of it; NULL: none. */
static const char *name_of_function(const doubling *d, const bf_ptx_function *function) {
  int found = bf_rewrite_find(d->plan, function->name);
  return found >= 0 ? d->function_name[found] : NULL;
}

/* The same for a variable, by its name: it may be declared several times. */
static const char *name_of_variable(const doubling *d, const bf_ptx_variable *variable) {
  const char *name = variable->name;
  unsigned at = (unsigned)(uintptr_t)bf_table_find(&d->plan->variable_by_name, name, strlen(name));
  while (at && !d->variable_name[at - 1])
    at = d->plan->next_named[at - 1];
  return at ? d->variable_name[at - 1] : NULL;
}

/* Appends an item to the list that ends at *end. */
static bf_ptx_item **append(doubling *d, bf_ptx_item **end, bf_ptx_item item) {
  bf_ptx_item *made = bf_arena_alloc(d->arena, sizeof *made);
  d->failed |= !made;
  if (!made)
    return end;
  *made = item;
  made->next = NULL;
  *end = made;
  return &made->next;
}

/* Prints the module with a copy behind each item that has one. */
static void print_doubled(doubling *d, bf_text *text) {
  bf_ptx_module doubled = *d->plan->module;
  bf_ptx_item *first = NULL, **end = &first;
  for (const bf_ptx_item *item = d->plan->module->first; item && !d->failed; item = item->next) {
    end = append(d, end, *item);
    bf_ptx_item copy = *item;
    const char *name = item->kind == BF_PTX_ITEM_FUNCTION   ? name_of_function(d, item->function)
                       : item->kind == BF_PTX_ITEM_VARIABLE ? name_of_variable(d, item->variable)
                                                            : NULL;
    if (!name)
      continue;
    if (item->kind == BF_PTX_ITEM_FUNCTION)
      copy.function = copy_function(d, item->function, name);
    else
      copy.variable = copy_variable(d, item->variable, name);
    end = append(d, end, copy);
  }
  doubled.first = first;
  if (!d->failed)
    bf_ptx_print(&doubled, text);
  d->failed |= text->failed;
}

/* ---- Hashes of copies ---- */

/* What an array of a copied kernel is a copy of. */
static const bf_ptx_variable *original_array(const doubling *d,
                                             const bf_rewrite_kernel_plan *kernel,
                                             const bf_ptx_variable *array) {
  if (!array)
    return NULL;
  unsigned at =
      (unsigned)(uintptr_t)bf_table_find(&d->variable_by_copy, array->name, strlen(array->name));
  while (at && !bf_rewrite_use_of(kernel, at - 1))
    at = d->next_variable[at - 1];
  return at ? d->plan->variable[at - 1] : array;
}

/* The hashes of copies are those of what they are copies of; nothing else has one. */
static const bf_hash *hash_of_copy(void *context, const bf_ptx_function *kernel,
                                   const bf_ptx_variable *array) {
  const doubling *d = context;
  int k = copied_kernel(d, kernel->name);
  if (k < 0)
    return NULL;
  const bf_rewrite_kernel_plan *own = &d->plan->kernel[k];
  return d->options->hash_of(d->options->context, d->plan->function[own->index].function,
                             original_array(d, own, array));
}

/* ---- Whole modules ---- */

/* Has the copies verified. */
static int verify_copies(const bf_ptx_module *original, const bf_ptx_module *doubled,
                         bf_diagnostic *diagnostic) {
  bf_verify_result verdict;
  BF_TRY(bf_verify_doubled(original, doubled, &verdict, diagnostic));
  int error = BF_OK;
  if (!verdict.is_accepted)
    error = bf_fail(diagnostic, BF_UNSUPPORTED,
                    "the verifier rejects the copies of kernels, line %llu: %s",
                    (unsigned long long)verdict.finding[0].line, verdict.finding[0].text);
  bf_verify_free(&verdict);
  return error;
}

/* What became of the copy of a kernel. */
static int take_kernel(const doubling *d, unsigned k, const bf_rewrite_kernel *copy,
                       bf_rewrite_kernel *out, bf_diagnostic *diagnostic) {
  out->is_rewritten = copy && copy->is_rewritten;
  if (!out->is_rewritten) {
    const char *why = copy && copy->obstacles ? copy->obstacle[0].text : "its copy cannot be";
    bf_rewrite_obstacle *obstacle = bf_arena_alloc(d->arena, sizeof *obstacle);
    if (!obstacle || !(obstacle->text = bf_arena_copy(d->arena, why)))
      return bf_no_memory(diagnostic);
    out->obstacles = 1;
    out->obstacle = obstacle;
    return BF_OK;
  }
  out->beside = d->function_name[d->plan->kernel[k].index];
  out->hashed = copy->hashed;
  out->exempt = copy->exempt;
  out->added_instructions = copy->added_instructions;
  memcpy(out->most_block, copy->most_block, sizeof out->most_block);
  return BF_OK;
}

/* Takes text and module of the rewritten doubled module, and what is told of its kernels. */
static int take(const doubling *d, bf_rewrite_result *inner, bf_rewrite_result *result,
                bf_diagnostic *diagnostic) {
  const bf_rewrite_kernel **copy =
      bf_arena_alloc(d->arena, ((size_t)result->kernels + 1) * sizeof *copy);
  if (!copy)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < inner->kernels; i++) {
    int k = copied_kernel(d, inner->kernel[i].name);
    if (k >= 0)
      copy[k] = &inner->kernel[i];
  }
  for (unsigned k = 0; k < result->kernels; k++) {
    if (!result->kernel[k].is_rewritten)
      continue;
    BF_TRY(take_kernel(d, k, copy[k], &result->kernel[k], diagnostic));
    result->is_changed |= result->kernel[k].is_rewritten;
  }
  if (!result->is_changed)
    return BF_OK;
  result->text = inner->text;
  result->module = inner->module;
  inner->text = (bf_text){0};
  inner->module = NULL;
  return BF_OK;
}

/* Doubles the module, rewrites the copies, and has both verified. */
static int rewrite_copies(doubling *d, bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_ptx_module *doubled = NULL;
  bf_rewrite_result inner = {0};
  bf_rewrite_options options = *d->options;
  options.is_beside = false;
  options.context = d;
  options.hash_of = hash_of_copy;
  print_doubled(d, &text);
  int error = d->failed ? bf_no_memory(diagnostic) : BF_OK;
  if (!error)
    error = bf_ptx_parse("PTX with copies", text.data, text.size, &doubled, diagnostic);
  if (!error)
    error = verify_copies(d->plan->module, doubled, diagnostic);
  if (!error)
    error = bf_rewrite(doubled, &options, &inner, diagnostic);
  if (!error)
    error = take(d, &inner, result, diagnostic);
  bf_rewrite_free(&inner);
  bf_ptx_free(doubled);
  bf_text_free(&text);
  return error;
}

int bf_rewrite_beside(bf_rewrite_plan *plan, const bf_rewrite_options *options,
                      bf_rewrite_result *result, bf_diagnostic *diagnostic) {
  doubling d = {.plan = plan, .options = options, .arena = plan->arena};
  bool any = false;
  if (!choose_copies(&d, plan, result))
    return bf_no_memory(diagnostic);
  for (unsigned k = 0; k < plan->kernels; k++)
    any |= result->kernel[k].is_rewritten;
  if (any && !name_copies(&d))
    return bf_no_memory(diagnostic);
  if (any)
    BF_TRY(rewrite_copies(&d, result, diagnostic));
  if (!result->is_changed)
    bf_ptx_print(plan->module, &result->text);
  return result->text.failed ? bf_no_memory(diagnostic) : BF_OK;
}
