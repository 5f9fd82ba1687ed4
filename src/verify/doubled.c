/* A module beside the same module with copies in it.
 *
 * The doubled module has all that the original has, in its order and unchanged. What it has besides
 * are copies: functions and shared variables called NAME__bankfold_NUMBER, with one number for all.
 * A copied kernel does what the original does, because it differs from it in names only:
 *  - A shared variable, of the module or of a function, is its copy wherever a copied function
 * names or declares it. Shared memory belongs to a launch, so that it does not matter which of two
 *    variables holds the data, as long as all code of the launch means the same one. Open arrays
 *    start at the same place in any case.
 *  - A function that is called is the original, which then neither names shared variables of the
 *    module nor reaches a function that does; or its copy.
 *  - Nothing in it sees how shared memory is laid out, or calls what is not known.
 * Whoever launches the original does not reach copies: nothing but copies names them. */
#include "ptx/index.h"
#include "verify/inner.h"

#include <stdlib.h>
#include <string.h>

/* A function of the original that calls another. */
typedef struct caller {
  struct caller *next;
  struct calling *of;
} caller;

/* A function of the original: who calls it, and whether it, or one that it reaches, names shared
 * variables of the module. */
typedef struct calling {
  struct calling *next; /* that names them */
  caller *callers;
  bool names_shared;
} calling;

typedef struct comparison {
  const bf_ptx_module *original, *doubled;
  bf_verify_result *result;
  const char *mark;            /* what names of copies end with; NULL: none was seen */
  bf_table calls;              /* functions with a body of the original: calling */
  bf_table variables;          /* shared ones of both modules, outside of functions: anything */
  bf_table declarations;       /* functions without a body of the original, by name: the first */
  const bf_ptx_function *copy; /* whose body is looked at; NULL: an original's */
  bool no_memory;
} comparison;

/* Adds a finding; the first one is enough. */
static void find(comparison *c, uint64_t line, const char *what, const char *name) {
  bf_text text = {0};
  if (c->result->findings)
    return;
  bf_text_addf(&text, "%s: %s", what, name ? name : "");
  bf_verify_finding *made = bf_arena_alloc(&c->result->arena, sizeof *made);
  char *copy = text.failed ? NULL : bf_arena_copy(&c->result->arena, text.data);
  bf_text_free(&text);
  c->no_memory |= !made || !copy;
  if (c->no_memory)
    return;
  *made = (bf_verify_finding){line, NULL, copy};
  c->result->finding = made;
  c->result->findings = 1;
}

/* ---- Names ---- */

/* The item of the module that has the name; NULL: none. */
static const bf_ptx_item *find_item(const bf_ptx_module *module, const char *name) {
  return bf_table_find(&bf_ptx_index_of(module)->names, name, strlen(name));
}

/* Whether name is that of the copy of what is called of. */
static bool is_copy_name(const comparison *c, const char *name, const char *of) {
  size_t size = strlen(of);
  return c->mark && !strncmp(name, of, size) && !strcmp(name + size, c->mark);
}

/* The name of a function or variable; NULL: it is something else. */
static const char *item_name(const bf_ptx_item *item) {
  if (item->kind == BF_PTX_ITEM_FUNCTION)
    return item->function->name;
  return item->kind == BF_PTX_ITEM_VARIABLE ? item->variable->name : NULL;
}

/* What an item of the doubled module is a copy of; NULL: it is none. The first copy sets the mark.
 */
static const bf_ptx_item *copied_item(comparison *c, const bf_ptx_item *item) {
  const char *name = item_name(item);
  if (!name || find_item(c->original, name))
    return NULL;
  size_t bytes = bf_verify_stem_bytes(name);
  const bf_ptx_item *of =
      bytes ? bf_table_find(&bf_ptx_index_of(c->original)->names, name, bytes) : NULL;
  if (!of || of->kind != item->kind || !bf_verify_is_clone_name(name, item_name(of)))
    return NULL;
  if (!c->mark)
    c->mark = name + bytes;
  return is_copy_name(c, name, item_name(of)) ? of : NULL;
}

/* Whether a variable is one in shared memory of its module, outside of functions. */
static bool is_module_shared(const comparison *c, const bf_ptx_variable *variable) {
  return bf_table_find(&c->variables, &variable, sizeof variable);
}

/* Lists such variables of a module. */
static void list_variables(comparison *c, const bf_ptx_module *module) {
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_VARIABLE || item->variable->space != BF_PTX_SPACE_SHARED)
      continue;
    void **place = bf_table_at(&c->variables, &item->variable, sizeof item->variable);
    c->no_memory |= !place;
    if (place)
      *place = c;
  }
}

/* Lists the functions without a body of the original. */
static void list_declarations(comparison *c) {
  for (const bf_ptx_item *item = c->original->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || item->function->has_body)
      continue;
    const char *name = item->function->name;
    void **place = bf_table_at(&c->declarations, name, strlen(name));
    c->no_memory |= !place;
    if (place && !*place)
      *place = (void *)(uintptr_t)item->function;
  }
}

/* ---- Functions that are not copied ---- */

/* Whether the operand names a shared variable of the original module. */
static bool names_shared(const comparison *c, const bf_ptx_operand *operand) {
  if (operand->kind == BF_PTX_SYMBOL)
    return operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
           is_module_shared(c, operand->symbol->variable);
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR ||
      operand->kind == BF_PTX_PAIR || operand->kind == BF_PTX_ARGUMENTS)
    for (unsigned i = 0; i < operand->count; i++)
      if (names_shared(c, &operand->item[i]))
        return true;
  return false;
}

static bool function_names_shared(const comparison *c, const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    for (unsigned j = 0; j < function->instruction[i]->operands; j++)
      if (names_shared(c, &function->instruction[i]->operand[j]))
        return true;
  return false;
}

/* What is known of a function with a body, made where nothing was; NULL when memory is exhausted.
 */
static calling *calling_of(comparison *c, const bf_ptx_function *function) {
  void **place = bf_table_at(&c->calls, &function, sizeof function);
  if (place && !*place)
    *place = bf_arena_alloc(&c->result->arena, sizeof(calling));
  c->no_memory |= !place || !*place;
  return place ? *place : NULL;
}

/* Notes whom a function calls. */
static void list_calls(comparison *c, const bf_ptx_function *function, calling *own) {
  for (uint32_t i = 0; i < function->instructions && !c->no_memory; i++) {
    const bf_ptx_function *callee = bf_verify_callee(function->instruction[i]);
    calling *called = callee && callee->has_body ? calling_of(c, callee) : NULL;
    caller *made = called ? bf_arena_alloc(&c->result->arena, sizeof *made) : NULL;
    c->no_memory |= called && !made;
    if (!made)
      continue;
    *made = (caller){called->callers, own};
    called->callers = made;
  }
}

/* Marks a function, and puts it in front of the list of those whose callers are to be marked. */
static calling *mark(calling *list, calling *own) {
  if (own->names_shared)
    return list;
  own->names_shared = true;
  own->next = list;
  return own;
}

/* Finds the functions of the original that name shared variables of the module, and all that call
 * them. */
static void find_naming(comparison *c) {
  calling *list = NULL;
  for (const bf_ptx_item *item = c->original->first; item && !c->no_memory; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FUNCTION || !item->function->has_body)
      continue;
    calling *own = calling_of(c, item->function);
    if (own)
      list_calls(c, item->function, own);
    if (own && function_names_shared(c, item->function))
      list = mark(list, own);
  }
  while (list && !c->no_memory) {
    const caller *at = list->callers;
    list = list->next;
    for (; at; at = at->next)
      list = mark(list, at->of);
  }
}

/* Whether neither the function nor what it reaches names shared variables of the module. Without a
 * body it is one that calls of are judged by bf_verify_obstacle. */
static bool is_free_of_shared(const comparison *c, const bf_ptx_function *function) {
  const calling *own = bf_table_find(&c->calls, &function, sizeof function);
  return own ? !own->names_shared : !function->has_body;
}

/* ---- Instructions ---- */

/* Whether a symbol stands for the other in a copy. */
static bool same_symbol(comparison *c, const bf_ptx_symbol *was, const bf_ptx_symbol *is,
                        bool is_callee) {
  if (was->kind != is->kind)
    return false;
  if (was->kind == BF_PTX_SYMBOL_VARIABLE && was->variable->space == BF_PTX_SPACE_SHARED)
    return is->variable->space == BF_PTX_SPACE_SHARED && is_copy_name(c, is->name, was->name) &&
           is_module_shared(c, was->variable) == is_module_shared(c, is->variable);
  if (was->kind != BF_PTX_SYMBOL_FUNCTION)
    return !strcmp(was->name, is->name);
  if (!strcmp(was->name, is->name))
    return is_free_of_shared(c, was->function);
  return is_callee && is->function->has_body && is_copy_name(c, is->name, was->name);
}

/* Whether an operand stands for the other in a copy. */
static bool same_copied(comparison *c, const bf_ptx_operand *was, const bf_ptx_operand *is,
                        bool is_callee) {
  if (was->kind != is->kind)
    return false;
  if (was->kind == BF_PTX_SYMBOL) {
    bf_ptx_operand named = *is;
    named.symbol = was->symbol;
    return same_symbol(c, was->symbol, is->symbol, is_callee) &&
           bf_verify_same_operand(was, &named);
  }
  bool has_items = was->kind == BF_PTX_ADDRESS || was->kind == BF_PTX_VECTOR ||
                   was->kind == BF_PTX_PAIR || was->kind == BF_PTX_ARGUMENTS;
  if (!has_items)
    return bf_verify_same_operand(was, is);
  bf_ptx_operand listed = *is;
  listed.item = was->item;
  if (was->count != is->count || !bf_verify_same_operand(was, &listed))
    return false;
  for (unsigned i = 0; i < was->count; i++)
    if (!same_copied(c, &was->item[i], &is->item[i], false))
      return false;
  return true;
}

/* Whether an instruction stands for the other in a copy; says why not. */
static void compare_copied(comparison *c, const bf_ptx_instruction *was,
                           const bf_ptx_instruction *is) {
  const char *obstacle = bf_verify_obstacle(was, false); /* what is given away is as it was */
  bool is_same = bf_verify_same_head(was, is);
  bool calls = was->opcode == BF_PTX_OP_CALL;
  if (obstacle || was->call_prototype)
    find(c, is->line, obstacle ? obstacle : "a call through a register", c->copy->name);
  for (unsigned i = 0; i < was->operands && is_same; i++)
    is_same = same_copied(c, &was->operand[i], &is->operand[i], calls);
  if (!is_same)
    find(c, is->line, "an instruction of a copy differs from the original's", c->copy->name);
}

static void compare_instruction(comparison *c, const bf_ptx_instruction *was,
                                const bf_ptx_instruction *is) {
  if (c->copy)
    compare_copied(c, was, is);
  else if (!bf_verify_same_instruction(was, is))
    find(c, is->line, "an instruction differs from the original", NULL);
}

/* ---- Variables ---- */

/* A shared variable and its copy. */
static void compare_variables(comparison *c, const bf_ptx_variable *was,
                              const bf_ptx_variable *is) {
  bf_ptx_variable like = *is;
  like.name = was->name;
  like.linkage = was->linkage;
  bf_ptx_linkage linkage = was->linkage == BF_PTX_EXTERN ? BF_PTX_EXTERN : BF_PTX_PRIVATE;
  if (was->space != BF_PTX_SPACE_SHARED || was->initialiser || is->linkage != linkage ||
      (was->linkage == BF_PTX_EXTERN && was->bytes) || !is_copy_name(c, is->name, was->name) ||
      !bf_verify_same_variable(was, &like))
    find(c, is->line, "a copy of a variable differs from the original", is->name);
}

/* Whether the statement declares a shared variable. */
static bool declares_shared(const bf_ptx_statement *statement) {
  return statement->kind == BF_PTX_STATEMENT_VARIABLE &&
         statement->variable->space == BF_PTX_SPACE_SHARED;
}

/* ---- Bodies ---- */

static void compare_statements(comparison *c, const bf_ptx_function *in,
                               const bf_ptx_statement *was, const bf_ptx_statement *is) {
  for (; was && is && !c->result->findings && !c->no_memory; was = was->next, is = is->next) {
    if (was->kind != is->kind)
      break;
    if (was->kind == BF_PTX_STATEMENT_SCOPE)
      compare_statements(c, in, was->scope, is->scope);
    else if (was->kind == BF_PTX_STATEMENT_INSTRUCTION)
      compare_instruction(c, was->instruction, is->instruction);
    else if (c->copy && declares_shared(was))
      compare_variables(c, was->variable, is->variable);
    else if (!bf_verify_same_statement(was, is))
      break;
  }
  if ((was || is) && !c->result->findings)
    find(c, in->line, "statements differ from the original", in->name);
}

/* Two functions with their bodies, where they have any; copy: whether the second is a copy. */
static void compare_functions(comparison *c, const bf_ptx_function *was, const bf_ptx_function *is,
                              bool copy) {
  c->copy = copy ? is : NULL;
  bool is_linked = is->linkage == (copy && !was->is_entry ? BF_PTX_PRIVATE : was->linkage);
  if (!bf_verify_same_form(was, is) || was->has_body != is->has_body || !is_linked)
    find(c, is->line, "a function differs from the original", is->name);
  else
    compare_statements(c, is, was->body, is->body);
}

/* ---- Items ---- */

/* The definition, or a declaration, of a function of the original. */
static const bf_ptx_function *find_function(const comparison *c, const bf_ptx_function *like,
                                            bool has_body) {
  const bf_ptx_function *found =
      has_body ? bf_ptx_find(c->original, like->name)
               : bf_table_find(&c->declarations, like->name, strlen(like->name));
  return found ? found : like;
}

/* An item of the doubled module that the original has not got. */
static void judge_copy(comparison *c, const bf_ptx_item *item) {
  const bf_ptx_item *of = copied_item(c, item);
  const char *name = item_name(item);
  if (!of)
    find(c, 0, "declarations differ from the original", name);
  else if (item->kind == BF_PTX_ITEM_VARIABLE)
    compare_variables(c, of->variable, item->variable);
  else
    compare_functions(c, find_function(c, of->function, item->function->has_body), item->function,
                      true);
}

/* An item that both modules have. An address of shared memory in an initial value would be that of
 * the original's variable for copies, too; PTX does not allow it. */
static void compare_items(comparison *c, const bf_ptx_item *was, const bf_ptx_item *is) {
  if (!bf_verify_same_item(was, is))
    find(c, 0, "declarations differ from the original", item_name(is));
  else if (was->kind == BF_PTX_ITEM_VARIABLE && was->variable->initialiser &&
           names_shared(c, was->variable->initialiser))
    find(c, is->variable->line, "an address of shared memory in a variable", is->variable->name);
  else if (was->kind == BF_PTX_ITEM_FUNCTION && was->function->has_body)
    compare_functions(c, was->function, is->function, false);
}

/* Whether the item is one that the original has not got. */
static bool is_new(comparison *c, const bf_ptx_item *item) {
  const char *name = item_name(item);
  return name && !find_item(c->original, name);
}

static void compare_modules(comparison *c) {
  const bf_ptx_item *was = c->original->first;
  c->calls.arena = c->variables.arena = c->declarations.arena = &c->result->arena;
  list_variables(c, c->original);
  list_variables(c, c->doubled);
  list_declarations(c);
  find_naming(c);
  if (c->no_memory)
    return;
  for (const bf_ptx_item *is = c->doubled->first; is && !c->result->findings; is = is->next) {
    if (is_new(c, is)) {
      judge_copy(c, is);
    } else if (!was) {
      find(c, 0, "declarations behind those of the original", item_name(is));
    } else {
      compare_items(c, was, is);
      was = was->next;
    }
  }
  if (was)
    find(c, 0, "declarations of the original are missing", item_name(was));
}

int bf_verify_doubled(const bf_ptx_module *original, const bf_ptx_module *doubled,
                      bf_verify_result *result, bf_diagnostic *diagnostic) {
  *result = (bf_verify_result){0};
  comparison c = {.original = original, .doubled = doubled, .result = result};
  if (bf_verify_same_version(original, doubled))
    compare_modules(&c);
  else
    find(&c, 0, "version, targets or address size differ from the original", NULL);
  if (c.no_memory) {
    bf_verify_free(result);
    return bf_fail(diagnostic, BF_NO_MEMORY, "no memory to judge the copies of kernels");
  }
  result->is_accepted = !result->findings;
  return BF_OK;
}
