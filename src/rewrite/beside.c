/* Both versions of kernels in one module.
 *
 * First the module is doubled: each kernel that is to be rewritten is copied, with the functions it
 * reaches that name or declare shared variables, and with the shared variables of the module that
 * they name. A copy of NAME is called NAME__bankfold_NUMBER, with one number for the whole module,
 * and stands behind what it is a copy of; copies name copies, and nothing else names them. Then the
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
  unsigned number;
  bool failed; /* memory is exhausted */
} doubling;

/* ---- What is copied ---- */

/* Whether the function names a variable of the module in shared memory, or declares one. */
static bool has_shared(const bf_rewrite_plan *plan, unsigned function, const bool *is_named) {
  for (unsigned i = 0; i < plan->variables; i++)
    if (plan->owner[i] == (int)function || is_named[i])
      return true;
  return false;
}

/* The number of a shared variable of the module, or -1. */
static int variable_of(const bf_rewrite_plan *plan, const bf_ptx_variable *variable) {
  for (unsigned i = 0; i < plan->variables && plan->owner[i] < 0; i++)
    if (plan->variable[i] == variable)
      return (int)i;
  return -1;
}

/* Marks the shared variables of the module that the operand names. */
static void mark_named(const bf_rewrite_plan *plan, const bf_ptx_operand *operand, bool *is_named) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
      operand->symbol->variable->space == BF_PTX_SPACE_SHARED) {
    int found = variable_of(plan, operand->symbol->variable);
    if (found >= 0)
      is_named[found] = true;
  }
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (uint32_t i = 0; i < operand->count; i++)
      mark_named(plan, &operand->item[i], is_named);
}

/* Per function: whether it has shared variables of its own, or names some; NULL: no memory. */
static bool *find_owners(const bf_rewrite_plan *plan) {
  bool *owns = bf_arena_alloc(plan->arena, (size_t)plan->functions + 1);
  bool *is_named = bf_arena_alloc(plan->arena, (size_t)plan->variables + 1);
  for (unsigned f = 0; owns && is_named && f < plan->functions; f++) {
    const bf_ptx_function *function = plan->function[f].function;
    memset(is_named, 0, plan->variables);
    for (uint32_t i = 0; i < function->instructions; i++)
      for (unsigned k = 0; k < function->instruction[i]->operands; k++)
        mark_named(plan, &function->instruction[i]->operand[k], is_named);
    owns[f] = has_shared(plan, f, is_named);
  }
  return is_named ? owns : NULL;
}

/* Adds the functions that call marked ones, until nothing is added. */
static void add_callers(const bf_rewrite_plan *plan, bool *is_marked) {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned f = 0; f < plan->functions; f++) {
      const bf_ptx_function *function = plan->function[f].function;
      for (uint32_t i = 0; !is_marked[f] && i < function->instructions; i++) {
        int called = bf_rewrite_called(plan, function->instruction[i]);
        if (called >= 0 && is_marked[called])
          is_marked[f] = changed = true;
      }
    }
  }
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
  for (unsigned f = 0; f < plan->functions; f++) {
    const bf_ptx_function *function = plan->function[f].function;
    for (uint32_t i = 0; kernel->reaches[f] && i < function->instructions; i++) {
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

/* Refuses a kernel whose module cannot have copies: debug data name places in the code, which
 * copies have too; and initial values the variables of one of both. False: no memory. */
static bool refuse_module(bf_rewrite_plan *plan, bf_rewrite_kernel_plan *kernel,
                          bf_rewrite_kernel *out) {
  if (plan->stores_shared)
    return bf_rewrite_add_obstacle(plan, kernel, out, 0,
                                   "an address of shared memory in a variable");
  for (const bf_ptx_item *item = plan->module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_SECTION && strcmp(item->section->name, ".debug_info") == 0)
      return bf_rewrite_add_obstacle(plan, kernel, out, 0,
                                     "debug information, which describes one version only");
  return true;
}

/* Marks what is copied for a kernel. */
static void mark_copies(doubling *d, const bf_rewrite_kernel_plan *kernel, const bool *needs) {
  const bf_rewrite_plan *plan = d->plan;
  d->copies[kernel->index] = true;
  for (unsigned f = 0; f < plan->functions; f++)
    d->copies[f] |= kernel->reaches[f] && needs[f];
  for (unsigned i = 0; i < plan->variables; i++)
    d->copies_variable[i] |= kernel->uses[i] && plan->owner[i] < 0;
}

/* Decides what is copied; kernels that cannot be are refused. */
static bool choose_copies(doubling *d, bf_rewrite_plan *plan, bf_rewrite_result *result) {
  bool *needs = find_owners(plan);
  d->copies = bf_arena_alloc(d->arena, (size_t)plan->functions + 1);
  d->copies_variable = bf_arena_alloc(d->arena, (size_t)plan->variables + 1);
  if (!needs || !d->copies || !d->copies_variable)
    return false;
  add_callers(plan, needs);
  for (unsigned k = 0; k < plan->kernels; k++) {
    bf_rewrite_kernel_plan *kernel = &plan->kernel[k];
    bf_rewrite_kernel *out = &result->kernel[k];
    if (!out->is_rewritten)
      continue;
    if (!refuse_pointers(plan, kernel, needs, out) || !refuse_module(plan, kernel, out))
      return false;
    out->is_rewritten = !kernel->refused;
    if (out->is_rewritten)
      mark_copies(d, kernel, needs);
  }
  return true;
}

/* ---- Names ---- */

/* Whether the name ends like that of a copy with the number. */
static bool ends_like_copy(const char *name, unsigned number) {
  char end[32];
  int length = snprintf(end, sizeof end, "__bankfold_%u", number);
  size_t size = strlen(name);
  return size >= (size_t)length && strcmp(name + size - (size_t)length, end) == 0;
}

/* The first number that no name of the module ends with. */
static void choose_number(doubling *d) {
  bool is_taken = true;
  for (d->number = 0; is_taken;) {
    d->number++;
    is_taken = false;
    for (const bf_ptx_item *item = d->plan->module->first; item; item = item->next) {
      const char *name = item->kind == BF_PTX_ITEM_FUNCTION   ? item->function->name
                         : item->kind == BF_PTX_ITEM_VARIABLE ? item->variable->name
                         : item->kind == BF_PTX_ITEM_ALIAS    ? item->alias[0]
                                                              : "";
      is_taken |= ends_like_copy(name, d->number);
    }
  }
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

/* Names all that is copied; false when memory is exhausted. */
static bool name_copies(doubling *d) {
  const bf_rewrite_plan *plan = d->plan;
  d->function_name = bf_arena_alloc(d->arena, ((size_t)plan->functions + 1) * sizeof(char *));
  d->variable_name = bf_arena_alloc(d->arena, ((size_t)plan->variables + 1) * sizeof(char *));
  if (!d->function_name || !d->variable_name)
    return false;
  choose_number(d);
  for (unsigned f = 0; f < plan->functions; f++)
    if (d->copies[f])
      d->function_name[f] = copy_name(d, plan->function[f].function->name);
  for (unsigned i = 0; i < plan->variables; i++)
    if (d->copies_variable[i])
      d->variable_name[i] = copy_name(d, plan->variable[i]->name);
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

/* ---- The doubled module ---- */

/* The name of the copy of a function or of a declaration of it; NULL: none. */
static const char *name_of_function(const doubling *d, const bf_ptx_function *function) {
  int found = bf_rewrite_find(d->plan, function->name);
  return found >= 0 ? d->function_name[found] : NULL;
}

/* The same for a variable, by its name: it may be declared several times. */
static const char *name_of_variable(const doubling *d, const bf_ptx_variable *variable) {
  for (unsigned i = 0; i < d->plan->variables && d->plan->owner[i] < 0; i++)
    if (d->variable_name[i] && strcmp(d->plan->variable[i]->name, variable->name) == 0)
      return d->variable_name[i];
  return NULL;
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

/* The variable of the module that an array of a copied kernel is a copy of, or the array itself:
 * variables inside functions keep their names. */
static const bf_ptx_variable *original_array(const doubling *d, const bf_ptx_variable *array) {
  for (unsigned i = 0; array && i < d->plan->variables && d->plan->owner[i] < 0; i++)
    if (d->variable_name[i] && strcmp(d->variable_name[i], array->name) == 0)
      return d->plan->variable[i];
  return array;
}

/* The hashes of copies are those of what they are copies of; nothing else has one. */
static const bf_hash *hash_of_copy(void *context, const bf_ptx_function *kernel,
                                   const bf_ptx_variable *array) {
  const doubling *d = context;
  for (unsigned k = 0; k < d->plan->kernels; k++) {
    unsigned index = d->plan->kernel[k].index;
    if (d->function_name[index] && strcmp(d->function_name[index], kernel->name) == 0)
      return d->options->hash_of(d->options->context, d->plan->function[index].function,
                                 original_array(d, array));
  }
  return NULL;
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
static int take_kernel(const doubling *d, unsigned k, const bf_rewrite_result *inner,
                       bf_rewrite_kernel *out, bf_diagnostic *diagnostic) {
  const char *name = d->function_name[d->plan->kernel[k].index];
  const bf_rewrite_kernel *copy = NULL;
  for (unsigned i = 0; i < inner->kernels && !copy; i++)
    if (strcmp(inner->kernel[i].name, name) == 0)
      copy = &inner->kernel[i];
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
  out->beside = name;
  out->hashed = copy->hashed;
  out->exempt = copy->exempt;
  out->added_instructions = copy->added_instructions;
  return BF_OK;
}

/* Takes text and module of the rewritten doubled module, and what is told of its kernels. */
static int take(const doubling *d, bf_rewrite_result *inner, bf_rewrite_result *result,
                bf_diagnostic *diagnostic) {
  for (unsigned k = 0; k < result->kernels; k++) {
    if (!result->kernel[k].is_rewritten)
      continue;
    BF_TRY(take_kernel(d, k, inner, &result->kernel[k], diagnostic));
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
