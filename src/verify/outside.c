/* Code that stays as it is beside what is hashed: kernels that are left alone, and functions that
 * code of other modules may call, or anyone who has their address.
 *
 * Functions of this kind, and what they call, must be as they were. And no such code may notice
 * what hashed kernels need of the variables of the module: that they are larger, where it asks for
 * the size of shared memory, or that they are private, where another module may have them too. */
#include "verify/inner.h"

/* ---- Functions that anyone may call ---- */

/* Functions, each once. */
typedef struct listing {
  bf_arena *arena;
  bf_table members;
  bf_verify_reached *first;
} listing;

/* Puts a function in front of the list, unless it is there. */
static int add(listing *list, const bf_ptx_function *function) {
  void **member = bf_table_at(&list->members, &function, sizeof function);
  if (!member)
    return BF_NO_MEMORY;
  if (*member)
    return BF_OK;
  bf_verify_reached *made = bf_arena_alloc(list->arena, sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  *made = (bf_verify_reached){list->first, function};
  *member = list->first = made;
  return BF_OK;
}

/* Whether an operand is a function with a body that can be called by its address. A kernel is only
 * launched by its address, from a kernel too, and is judged as a kernel. */
static bool is_callable(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_SYMBOL && operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION &&
         operand->symbol->function->has_body && !operand->symbol->function->is_entry;
}

/* Adds the functions whose address an operand, or a part of it, takes. */
static int add_operand(listing *list, const bf_ptx_operand *operand) {
  if (is_callable(operand))
    return add(list, operand->symbol->function);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      BF_TRY(add_operand(list, &operand->item[i]));
  return BF_OK;
}

/* The same for all that the instructions of a function name without calling it. */
static int add_named(listing *list, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++) {
    const bf_ptx_instruction *instruction = function->instruction[i];
    for (unsigned j = 0; j < instruction->operands; j++)
      if (instruction->opcode != BF_PTX_OP_CALL || instruction->operand[j].kind != BF_PTX_SYMBOL)
        BF_TRY(add_operand(list, &instruction->operand[j]));
  }
  return BF_OK;
}

/* The same for initial values of variables of a function. */
static int add_statements(listing *list, const bf_ptx_statement *statement) {
  for (; statement; statement = statement->next)
    if (statement->kind == BF_PTX_STATEMENT_SCOPE)
      BF_TRY(add_statements(list, statement->scope));
    else if (statement->kind == BF_PTX_STATEMENT_VARIABLE && statement->variable->initialiser)
      BF_TRY(add_operand(list, statement->variable->initialiser));
  return BF_OK;
}

/* The same for an item of the module. */
static int add_item(const bf_ptx_module *module, listing *list, const bf_ptx_item *item) {
  const bf_ptx_function *function = NULL;
  switch (item->kind) {
  case BF_PTX_ITEM_VARIABLE:
    return item->variable->initialiser ? add_operand(list, item->variable->initialiser) : BF_OK;
  case BF_PTX_ITEM_ALIAS:
    function = bf_ptx_find(module, item->alias[1]);
    return function ? add(list, function) : BF_OK;
  case BF_PTX_ITEM_FUNCTION:
    function = item->function;
    if (!function->has_body)
      return BF_OK;
    BF_TRY(add_statements(list, function->body));
    BF_TRY(add_named(list, function));
    return function->is_entry || function->linkage == BF_PTX_PRIVATE ? BF_OK : add(list, function);
  default:
    return BF_OK;
  }
}

int bf_verify_list_exposed(const bf_ptx_module *module, bf_arena *arena, bf_verify_reached **list) {
  listing made = {.arena = arena, .members = {.arena = arena}};
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    BF_TRY(add_item(module, &made, item));
  *list = made.first;
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

/* What a function may notice. */
typedef struct notice {
  const struct bf_verify_job *job;
  bool sees, leaves;
  bool names_other;                     /* a variable that differs from the original */
  const bf_ptx_variable *names_private; /* the first that is private now */
} notice;

/* Adds what it means that the function names a variable. */
static bool note_named(void *context, const bf_ptx_variable *variable) {
  notice *n = context;
  const bf_verify_twin *twin = bf_verify_find_twin(n->job, variable);
  if (!twin)
    return true;
  n->names_other |= !bf_verify_same_variable(twin->original, twin->rewritten);
  if (is_made_private(twin) && !n->names_private)
    n->names_private = variable;
  return true;
}

/* What a function may notice, found out once; NULL when memory is exhausted. */
static const notice *notice_of(const struct bf_verify_job *job, bf_table *known,
                               const bf_ptx_function *function) {
  void **place = bf_table_at(known, &function, sizeof function);
  if (!place || *place)
    return place ? *place : NULL;
  notice *made = bf_arena_alloc(known->arena, sizeof *made);
  if (!made)
    return NULL;
  *made = (notice){.job = job, .sees = sees_layout(function), .leaves = leaves(function)};
  bf_verify_visit_named(function, note_named, made);
  return *place = made;
}

/* What stands against leaving the function as it is, with all it reaches, beside variables that
 * differ: *why, or NULL; *which is the variable. */
static int judge_reach(const struct bf_verify_job *job, bf_table *known,
                       const bf_verify_reached *first, const char **why,
                       const bf_ptx_variable **which) {
  bool sees = false, uses = !first->function->is_entry;
  *why = NULL;
  *which = NULL;
  for (const bf_verify_reached *at = first; at; at = at->next) {
    const notice *own = notice_of(job, known, at->function);
    if (!own)
      return BF_NO_MEMORY;
    *which = own->names_private;
    if (*which) {
      *why = "code that stays as it is uses a shared variable that is made private";
      return BF_OK;
    }
    sees |= own->sees;
    uses |= own->leaves || own->names_other;
  }
  if (sees && uses)
    *why = "code that stays as it is asks for the size of shared memory";
  return BF_OK;
}

/* Judges a function with all it reaches. */
static int judge_root(struct bf_verify_job *job, bf_table *known, const bf_ptx_function *root) {
  const bf_ptx_variable *which = NULL;
  const char *why = NULL;
  bf_verify_reached *first;
  bf_arena arena = {0};
  int error = bf_verify_reach(root, &arena, &first);
  if (!error)
    error = judge_reach(job, known, first, &why, &which);
  bf_arena_free(&arena);
  if (why)
    bf_verify_find(job, NULL, 0, "%s: %s%s%s", why, root->name, which ? ", " : "",
                   which ? which->name : "");
  return error;
}

int bf_verify_outside(struct bf_verify_job *job, const bf_verify_reached *roots) {
  bf_arena arena = {0};
  bf_table known = {.arena = &arena};
  int error = BF_OK;
  for (; roots && !error; roots = roots->next)
    error = judge_root(job, &known, roots->function);
  bf_arena_free(&arena);
  return error;
}
