/* Which definition of a name counts when several parts have it. As the device linker of CUDA 13
 * does: one strong definition goes before weak ones, these before common ones; of several weak ones
 * the first counts, of several common ones the largest. */
#include "ptx/linker.h"

#include <stdarg.h>
#include <string.h>

/* ---- Items ---- */

const char *bf_ptx_item_name(const bf_ptx_item *item) {
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

uint64_t bf_ptx_item_line(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION   ? item->function->line
         : item->kind == BF_PTX_ITEM_VARIABLE ? item->variable->line
                                              : 0;
}

static bf_ptx_linkage linkage_of(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION   ? item->function->linkage
         : item->kind == BF_PTX_ITEM_VARIABLE ? item->variable->linkage
                                              : BF_PTX_VISIBLE;
}

bool bf_ptx_item_is_private(const bf_ptx_item *item) { return linkage_of(item) == BF_PTX_PRIVATE; }

bool bf_ptx_item_declares(const bf_ptx_item *item) {
  if (item->kind == BF_PTX_ITEM_FUNCTION)
    return !item->function->has_body;
  return item->kind == BF_PTX_ITEM_VARIABLE && item->variable->linkage == BF_PTX_EXTERN;
}

int bf_ptx_link_fail(const bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item,
                     const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  int error =
      bf_fail_file(linker->diagnostic, BF_BAD_INPUT, linker->part[part]->file, "%s", message);
  if (linker->diagnostic)
    linker->diagnostic->line = bf_ptx_item_line(item);
  return error;
}

/* ---- Whether two parts mean the same by a name ---- */

/* "FILE:LINE" of another part's item. */
static const char *place(const bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item,
                         char text[160]) {
  snprintf(text, 160, "%.130s:%llu", linker->part[part]->file,
           (unsigned long long)bf_ptx_item_line(item));
  return text;
}

/* Whether parameters, or returned values, take the same room. */
static bool same_list(const bf_ptx_variables *a, const bf_ptx_variables *b) {
  if (a->count != b->count)
    return false;
  for (unsigned i = 0; i < a->count; i++)
    if (a->item[i].bytes != b->item[i].bytes)
      return false;
  return true;
}

/* What two declarations of a function differ in; NULL: nothing that matters. */
static const char *functions_differ(const bf_ptx_function *a, const bf_ptx_function *b) {
  if (a->is_entry != b->is_entry)
    return "is something else";
  if (!same_list(&a->parameters, &b->parameters))
    return "has other parameters";
  if (!same_list(&a->returns, &b->returns))
    return "returns something else";
  return NULL;
}

/* The same for variables; those of open size and common ones may differ in size. */
static const char *variables_differ(const bf_ptx_variable *a, const bf_ptx_variable *b) {
  if (a->space != b->space)
    return "is in another memory";
  bool both_common = a->linkage == BF_PTX_COMMON && b->linkage == BF_PTX_COMMON;
  if (a->bytes && b->bytes && a->bytes != b->bytes && !both_common)
    return "has another size";
  return NULL;
}

/* Checks an item against what was said of its name before. An alias has no type of its own. */
static int check_same(const bf_ptx_linker *linker, const bf_ptx_linked *linked, unsigned part,
                      const bf_ptx_item *item) {
  const bf_ptx_item *first = linked->declared;
  const char *difference = NULL;
  char text[160];
  if (first->kind == BF_PTX_ITEM_ALIAS || item->kind == BF_PTX_ITEM_ALIAS)
    return BF_OK;
  if (first->kind != item->kind)
    difference = "is something else";
  else if (item->kind == BF_PTX_ITEM_FUNCTION)
    difference = functions_differ(first->function, item->function);
  else
    difference = variables_differ(first->variable, item->variable);
  if (!difference)
    return BF_OK;
  return bf_ptx_link_fail(linker, part, item, "'%.120s' %s than at %s", linked->name, difference,
                          place(linker, linked->declared_part, first, text));
}

/* ---- Which definition counts ---- */

/* How strong a definition is; of two strong ones neither may be dropped. */
static int strength(const bf_ptx_item *item) {
  bf_ptx_linkage linkage = linkage_of(item);
  return linkage == BF_PTX_COMMON ? 1 : linkage == BF_PTX_WEAK ? 2 : 3;
}

static int add_definition(const bf_ptx_linker *linker, bf_ptx_linked *linked, unsigned part,
                          const bf_ptx_item *item) {
  const bf_ptx_item *old = linked->definition;
  char text[160];
  if (old && strength(old) == 3 && strength(item) == 3)
    return bf_ptx_link_fail(linker, part, item, "'%.160s' is defined a second time; first at %s",
                            linked->name, place(linker, linked->part, old, text));
  bool is_larger = old && strength(old) == 1 && strength(item) == 1 &&
                   item->variable->bytes > old->variable->bytes;
  if (!old || strength(item) > strength(old) || is_larger) {
    linked->definition = item;
    linked->part = part;
  }
  return BF_OK;
}

static int add_item(bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item) {
  const char *name = bf_ptx_item_name(item);
  void **slot = bf_table_at(&linker->shared, name, strlen(name));
  if (!slot || (!*slot && !(*slot = bf_arena_alloc(&linker->arena, sizeof(bf_ptx_linked)))))
    return bf_no_memory(linker->diagnostic);
  bf_ptx_linked *linked = *slot;
  if (!linked->declared)
    *linked = (bf_ptx_linked){.name = name, .declared = item, .declared_part = part};
  BF_TRY(check_same(linker, linked, part, item));
  if (item->kind == BF_PTX_ITEM_VARIABLE &&
      item->variable->alignment_bytes > linked->alignment_bytes)
    linked->alignment_bytes = item->variable->alignment_bytes;
  if (!bf_ptx_item_declares(item))
    return add_definition(linker, linked, part, item);
  return BF_OK;
}

/* Dynamic shared memory: no part defines it. */
static bool is_dynamic(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_VARIABLE && item->variable->space == BF_PTX_SPACE_SHARED &&
         item->variable->bytes == 0;
}

/* Checks that a private name of a part is not shared by the same part. */
static int check_private(const bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item,
                         const bf_table *shared_here) {
  const char *name = bf_ptx_item_name(item);
  const bf_ptx_item *other = bf_table_find(shared_here, name, strlen(name));
  if (!other)
    return BF_OK;
  return bf_ptx_link_fail(linker, part, item,
                          "'%.200s' is private here, and not where line %llu declares it", name,
                          (unsigned long long)bf_ptx_item_line(other));
}

/* Gathers the shared names of a part. */
static int add_part(bf_ptx_linker *linker, unsigned part) {
  bf_table shared_here = {.arena = &linker->arena};
  for (const bf_ptx_item *item = linker->part[part]->first; item; item = item->next) {
    const char *name = bf_ptx_item_name(item);
    if (!name || bf_ptx_item_is_private(item))
      continue;
    void **slot = bf_table_at(&shared_here, name, strlen(name));
    if (!slot)
      return bf_no_memory(linker->diagnostic);
    *slot = (void *)(uintptr_t)item;
    BF_TRY(add_item(linker, part, item));
  }
  for (const bf_ptx_item *item = linker->part[part]->first; item; item = item->next)
    if (bf_ptx_item_name(item) && bf_ptx_item_is_private(item))
      BF_TRY(check_private(linker, part, item, &shared_here));
  return BF_OK;
}

/* Checks that there is a definition of what a part declares. */
static int check_defined(const bf_ptx_linker *linker, unsigned part, const bf_ptx_item *item,
                         bool (*is_provided)(const char *name)) {
  const char *name = bf_ptx_item_name(item);
  const bf_ptx_linked *linked = bf_table_find(&linker->shared, name, strlen(name));
  bool is_function = item->kind == BF_PTX_ITEM_FUNCTION;
  if (linked->definition || is_dynamic(item) || (is_function && is_provided && is_provided(name)))
    return BF_OK;
  return bf_ptx_link_fail(linker, part, item, "%s '%.200s' is declared here and defined nowhere",
                          is_function ? "function" : "variable", name);
}

int bf_ptx_link_names(bf_ptx_linker *linker, bool (*is_provided)(const char *name)) {
  for (unsigned i = 0; i < linker->parts; i++)
    BF_TRY(add_part(linker, i));
  for (unsigned i = 0; i < linker->parts; i++)
    for (const bf_ptx_item *item = linker->part[i]->first; item; item = item->next)
      if (bf_ptx_item_name(item) && !bf_ptx_item_is_private(item))
        BF_TRY(check_defined(linker, i, item, is_provided));
  return BF_OK;
}
