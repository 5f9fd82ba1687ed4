/* Code that stays as it is beside what is hashed: kernels that are left alone, and functions that
 * code of other modules may call, or anyone who has their address.
 *
 * Functions of this kind, and what they call, must be as they were. And no such code may notice
 * what hashed kernels need of the variables of the module: that they are larger, where it asks for
 * the size of shared memory, or that they are private, where another module may have them too. */
#include "verify/inner.h"

/* ---- Functions that anyone may call ---- */

/* Puts a function in front of the list, unless it is there. */
static int add(bf_arena *arena, bf_verify_reached **list, const bf_ptx_function *function) {
  for (const bf_verify_reached *at = *list; at; at = at->next)
    if (at->function == function)
      return BF_OK;
  bf_verify_reached *made = bf_arena_alloc(arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  *made = (bf_verify_reached){*list, function};
  *list = made;
  return BF_OK;
}

/* Adds the functions with a body whose address an operand, or a part of it, takes. */
static int add_operand(bf_arena *arena, bf_verify_reached **list, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION &&
      operand->symbol->function->has_body)
    return add(arena, list, operand->symbol->function);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      BF_TRY(add_operand(arena, list, &operand->item[i]));
  return BF_OK;
}

/* The same for all that the instructions of a function name without calling it. */
static int add_named(bf_arena *arena, bf_verify_reached **list, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    for (unsigned j = 0; j < instruction->operands; j++)
      if (instruction->opcode != BF_PTX_OP_CALL || instruction->operand[j].kind != BF_PTX_SYMBOL)
        BF_TRY(add_operand(arena, list, &instruction->operand[j]));
  }
  return BF_OK;
}

/* The same for initial values of variables of a function. */
static int add_statements(bf_arena *arena, bf_verify_reached **list,
                          const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      BF_TRY(add_statements(arena, list, statement->scope));
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE && statement->variable->initialiser)
      BF_TRY(add_operand(arena, list, statement->variable->initialiser));
  return BF_OK;
}

/* The same for an item of the module. */
static int add_item(const bf_ptx_module *module, bf_arena *arena, bf_verify_reached **list,
                    const bf_ptx_item *item) {
  const bf_ptx_function *function = NULL;
  switch (item->kind) {
  case BF_PTX_ITEM_VARIABLE:
    return item->variable->initialiser ? add_operand(arena, list, item->variable->initialiser)
                                       : BF_OK;
  case BF_PTX_ITEM_ALIAS:
    function = bf_ptx_find(module, item->alias[1]);
    return function ? add(arena, list, function) : BF_OK;
  case BF_PTX_ITEM_FUNCTION:
    function = item->function;
    if (!function->has_body)
      return BF_OK;
    BF_TRY(add_statements(arena, list, function->body));
    BF_TRY(add_named(arena, list, function));
    return function->is_entry || function->linkage == BF_PTX_PRIVATE ? BF_OK
                                                                     : add(arena, list, function);
  default:
    return BF_OK;
  }
}

int bf_verify_list_exposed(const bf_ptx_module *module, bf_arena *arena, bf_verify_reached **list) {
  *list = NULL;
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    BF_TRY(add_item(module, arena, list, item));
  return BF_OK;
}

/* ---- What such code may notice ---- */

static bool sees_layout(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (bf_verify_sees_layout(function->instruction[i]))
      return true;
  return false;
}

/* Whether the function calls what is not in the module. */
static bool leaves(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_function *callee = bf_verify_callee(function->instruction[i]);
    if (function->instruction[i]->opcode == BF_PTX_OP_CALL && !(callee && callee->has_body))
      return true;
  }
  return false;
}

/* Whether a variable is private where it was not. */
static bool is_made_private(const bf_verify_twin *twin) {
  return twin->original->linkage != twin->rewritten->linkage;
}

/* The first variable that the function names and that differs from the original, or of those that
 * are private now; NULL: none. */
static const bf_ptx_variable *find_named(const bf_ptx_function *function,
                                         const bf_verify_twin *twin, bool only_private) {
  for (; twin; twin = twin->next)
    if ((only_private ? is_made_private(twin)
                      : !bf_verify_same_variable(twin->original, twin->rewritten)) &&
        bf_verify_names(function, twin->original))
      return twin->original;
  return NULL;
}

/* What stands against leaving the function as it is, with all it reaches, beside variables that
 * differ; has_private: one is private now. *which is the variable. NULL: nothing. */
static const char *judge_reach(const bf_verify_reached *first, const bf_verify_twin *twins,
                               bool has_private, const bf_ptx_variable **which) {
  bool sees = false, uses = !first->function->is_entry;
  *which = NULL;
  for (const bf_verify_reached *at = first; at; at = at->next)
    sees |= sees_layout(at->function);
  for (const bf_verify_reached *at = first; at && (sees || has_private); at = at->next) {
    *which = find_named(at->function, twins, true);
    if (*which)
      return "code that stays as it is uses a shared variable that is made private";
    uses |= leaves(at->function) || find_named(at->function, twins, false);
  }
  return sees && uses ? "code that stays as it is asks for the size of shared memory" : NULL;
}

int bf_verify_outside(struct bf_verify_job *job, const bf_verify_reached *roots,
                      const bf_verify_twin *twins) {
  bf_arena *arena = bf_verify_arena(job);
  bool has_private = false;
  for (const bf_verify_twin *twin = twins; twin; twin = twin->next)
    has_private |= is_made_private(twin);
  for (; roots; roots = roots->next) {
    const bf_ptx_variable *which;
    bf_verify_reached *first;
    BF_TRY(bf_verify_reach(roots->function, arena, &first));
    const char *why = judge_reach(first, twins, has_private, &which);
    if (why)
      bf_verify_find(job, NULL, 0, "%s: %s%s%s", why, roots->function->name, which ? ", " : "",
                     which ? which->name : "");
  }
  return BF_OK;
}
