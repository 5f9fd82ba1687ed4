/* What parts have for themselves is told apart: private functions and variables of one name, the
 * numbers of source files, and the labels of texts in debug data. A name that is taken becomes
 * NAME$partN everywhere in its part, N counted from 1. */
#include "ptx/linker.h"

#include <string.h>

/* The parts belong to the linker, which may change what their trees hand out as const. */
static void *own(const void *pointer) { return (void *)(uintptr_t)pointer; }

/* What the walk over a part replaces. */
typedef struct renaming {
  bf_ptx_linker *linker;
  bf_table names;  /* old to new, of variables and functions */
  uint64_t *file;  /* by number in the part: the number in the module */
  uint64_t files;  /* numbers in file */
  unsigned number; /* of the part, from 1 */
  bool failed;
} renaming;

static const char *new_name(const renaming *r, const char *name) {
  const char *found = bf_table_find(&r->names, name, strlen(name));
  return found ? found : name;
}

/* NAME$partN, or NULL where memory is exhausted. */
static char *with_part(bf_arena *arena, const char *name, unsigned number) {
  char ending[24];
  snprintf(ending, sizeof ending, "$part%u", number);
  char *made = bf_arena_alloc(arena, strlen(name) + strlen(ending) + 1);
  if (made)
    sprintf(made, "%s%s", name, ending);
  return made;
}

/* ---- Operands, declarations, statements ---- */

static void rename_operands(const renaming *r, const bf_ptx_operand *operand, unsigned count);

static void rename_operand(const renaming *r, const bf_ptx_operand *operand) {
  switch (operand->kind) {
  case BF_PTX_SYMBOL:
    if (operand->symbol->kind == BF_PTX_SYMBOL_VARIABLE ||
        operand->symbol->kind == BF_PTX_SYMBOL_FUNCTION) {
      bf_ptx_symbol *symbol = own(operand->symbol);
      symbol->name = new_name(r, symbol->name);
    }
    break;
  case BF_PTX_ADDRESS:
  case BF_PTX_VECTOR:
  case BF_PTX_PAIR:
  case BF_PTX_ARGUMENTS:
    rename_operands(r, operand->item, operand->kind == BF_PTX_PAIR ? 2 : operand->count);
    break;
  default:
    break;
  }
}

static void rename_operands(const renaming *r, const bf_ptx_operand *operand, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    rename_operand(r, &operand[i]);
}

static void rename_variable(const renaming *r, const bf_ptx_variable *variable) {
  bf_ptx_variable *changed = own(variable);
  changed->name = new_name(r, changed->name);
  if (changed->initialiser)
    rename_operand(r, changed->initialiser);
}

static uint64_t new_file(const renaming *r, uint64_t number) {
  return number < r->files && r->file[number] ? r->file[number] : number;
}

static void renumber(renaming *r, const bf_ptx_location *location) {
  bf_ptx_location *changed = own(location);
  changed->file = new_file(r, changed->file);
  changed->inlined_file = new_file(r, changed->inlined_file);
  if (changed->function_name) {
    changed->function_name = with_part(&r->linker->arena, changed->function_name, r->number);
    r->failed |= !changed->function_name;
  }
}

static void rename_instruction(const renaming *r, const bf_ptx_instruction *instruction) {
  rename_operands(r, instruction->operand, instruction->operands);
  if (instruction->call_prototype)
    rename_operand(r, instruction->call_prototype);
}

static void rename_statements(renaming *r, const bf_ptx_statement *statement) {
  for (; statement && !r->failed; statement = statement->next)
    switch (statement->kind) {
    case BF_PTX_STATEMENT_VARIABLE:
      rename_variable(r, statement->variable);
      break;
    case BF_PTX_STATEMENT_SCOPE:
      rename_statements(r, statement->scope);
      break;
    case BF_PTX_STATEMENT_LOCATION:
      renumber(r, statement->location);
      break;
    case BF_PTX_STATEMENT_TARGETS:
      rename_operands(r, statement->targets->item, statement->targets->count);
      break;
    case BF_PTX_STATEMENT_INSTRUCTION:
      rename_instruction(r, statement->instruction);
      break;
    default:
      break;
    }
}

static void rename_function(renaming *r, const bf_ptx_function *function) {
  bf_ptx_function *changed = own(function);
  changed->name = new_name(r, changed->name);
  for (unsigned i = 0; i < function->parameters.count; i++)
    rename_variable(r, &function->parameters.item[i]);
  for (unsigned i = 0; i < function->returns.count; i++)
    rename_variable(r, &function->returns.item[i]);
  rename_statements(r, function->body);
}

/* ---- Texts of debug data ---- */

/* Labels of .debug_str, which .loc names, end with a colon. */
static void rename_labels(renaming *r, const bf_ptx_section *section) {
  const char **text = own(section->text);
  for (unsigned i = 0; i < section->lines && !r->failed; i++) {
    size_t size = strlen(text[i]);
    if (size < 2 || text[i][size - 1] != ':')
      continue;
    char *label = bf_arena_copy(&r->linker->arena, text[i]);
    if (label)
      label[size - 1] = '\0';
    char *named = label ? with_part(&r->linker->arena, label, r->number) : NULL;
    char *whole = named ? bf_arena_alloc(&r->linker->arena, strlen(named) + 2) : NULL;
    r->failed |= !whole;
    if (whole) {
      sprintf(whole, "%s:", named);
      text[i] = whole;
    }
  }
}

/* ---- Parts ---- */

/* Finds a new name for a private one that is taken; *taken holds all names so far. */
static bool choose_name(renaming *r, bf_table *taken, const char *name) {
  void **old = bf_table_at(taken, name, strlen(name));
  if (!old)
    return false;
  if (!*old || *old == r) { /* free, or the same part's */
    *old = r;
    return true;
  }
  void **slot = bf_table_at(&r->names, name, strlen(name));
  if (!slot || *slot)
    return slot != NULL;
  char *made = with_part(&r->linker->arena, name, r->number);
  while (made && bf_table_find(taken, made, strlen(made)))
    made = with_part(&r->linker->arena, made, r->number);
  void **place = made ? bf_table_at(taken, made, strlen(made)) : NULL;
  if (place)
    *place = r;
  *slot = made;
  return place != NULL;
}

/* Gives the files of a part numbers in the module: one for each name. */
static bool number_files(renaming *r, bf_table *numbers) {
  for (const bf_ptx_item *item = r->linker->part[r->number - 1]->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FILE && item->file->number >= r->files)
      r->files = item->file->number + 1;
  if (r->files > 1 << 20) /* numbers that nobody gives: left as they are */
    r->files = 0;
  r->file = bf_arena_alloc(&r->linker->arena, (r->files + 1) * sizeof *r->file);
  if (!r->file)
    return false;
  for (const bf_ptx_item *item = r->linker->part[r->number - 1]->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FILE || item->file->number >= r->files)
      continue;
    void **number = bf_table_at(numbers, item->file->name, strlen(item->file->name));
    if (!number)
      return false;
    if (!*number)
      *number = (void *)numbers->entries;
    r->file[item->file->number] = (uintptr_t)*number;
  }
  return true;
}

/* Changes everything in a part that its renaming says. */
static void rename_part(renaming *r) {
  for (bf_ptx_item *item = r->linker->part[r->number - 1]->first; item && !r->failed;
       item = item->next) {
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      rename_variable(r, item->variable);
    else if (item->kind == BF_PTX_ITEM_FUNCTION)
      rename_function(r, item->function);
    else if (item->kind == BF_PTX_ITEM_FILE)
      ((bf_ptx_file *)own(item->file))->number = new_file(r, item->file->number);
    else if (item->kind == BF_PTX_ITEM_SECTION && strcmp(item->section->name, ".debug_str") == 0)
      rename_labels(r, item->section);
    else if (item->kind == BF_PTX_ITEM_ALIAS)
      for (unsigned k = 0; k < 2; k++)
        item->alias[k] = new_name(r, item->alias[k]);
  }
}

int bf_ptx_link_rename(bf_ptx_linker *linker) {
  bf_table taken = {.arena = &linker->arena}, numbers = {.arena = &linker->arena};
  bool failed = false;
  for (unsigned i = 0; i < linker->parts; i++)
    for (const bf_ptx_item *item = linker->part[i]->first; item; item = item->next) {
      const char *name = bf_ptx_item_name(item);
      void **slot =
          name && !bf_ptx_item_is_private(item) ? bf_table_at(&taken, name, strlen(name)) : NULL;
      if (slot)
        *slot = linker;
      failed |= name && !bf_ptx_item_is_private(item) && !slot;
    }
  for (unsigned i = 0; i < linker->parts && !failed; i++) {
    renaming *r = bf_arena_alloc(&linker->arena, sizeof *r);
    if (!r)
      return bf_no_memory(linker->diagnostic);
    *r = (renaming){.linker = linker, .names = {.arena = &linker->arena}, .number = i + 1};
    failed |= !number_files(r, &numbers);
    for (const bf_ptx_item *item = linker->part[i]->first; item && !failed; item = item->next)
      if (bf_ptx_item_name(item) && bf_ptx_item_is_private(item))
        failed |= !choose_name(r, &taken, bf_ptx_item_name(item));
    if (!failed)
      rename_part(r);
    failed |= r->failed;
  }
  return failed ? bf_no_memory(linker->diagnostic) : BF_OK;
}
