/* Links parts: decides which definition of each name counts, tells private names apart, and lists
 * what is left in an order in which everything is declared before it is used. The list is printed
 * and parsed again, so that all names lead to the definitions that count. */
#include "ptx/link.h"
#include "ptx/linker.h"
#include "ptx/ptx.h"

#include <string.h>

/* The linked module while it is put together. */
typedef struct collected {
  bf_ptx_linker *linker;
  bf_ptx_module module;
  bf_ptx_item **last;
  bf_table announced; /* functions that are declared */
  bf_table placed;    /* variables: PLACING or PLACED */
  bool failed;
} collected;

static const char PLACING, PLACED;

/* Adds a copy of an item behind the others. */
static void add_item(collected *c, const bf_ptx_item *item) {
  bf_ptx_item *copy = bf_arena_alloc(&c->linker->arena, sizeof *copy);
  c->failed |= !copy;
  if (!copy)
    return;
  *copy = *item;
  copy->next = NULL;
  *c->last = copy;
  c->last = &copy->next;
}

static void add_function(collected *c, const bf_ptx_function *function) {
  add_item(c, &(bf_ptx_item){.kind = BF_PTX_ITEM_FUNCTION, .function = function});
}

static void add_variable(collected *c, const bf_ptx_variable *variable) {
  add_item(c, &(bf_ptx_item){.kind = BF_PTX_ITEM_VARIABLE, .variable = variable});
}

/* What is said about a shared name; NULL for private ones. */
static const bf_ptx_linked *linked_of(const collected *c, const char *name) {
  return bf_table_find(&c->linker->shared, name, strlen(name));
}

/* Whether the item is the definition that counts. */
static bool counts(const collected *c, const bf_ptx_item *item) {
  if (bf_ptx_item_is_private(item))
    return !bf_ptx_item_declares(item);
  return linked_of(c, bf_ptx_item_name(item))->definition == item;
}

/* ---- Declarations of functions ---- */

/* Declares a function once, with the linkage and the parameters of the definition that counts. */
static void announce(collected *c, const bf_ptx_function *function) {
  void **slot = bf_table_at(&c->announced, function->name, strlen(function->name));
  c->failed |= !slot;
  if (!slot || *slot)
    return;
  *slot = c;
  const bf_ptx_linked *linked =
      function->linkage == BF_PTX_PRIVATE ? NULL : linked_of(c, function->name);
  if (linked && linked->definition && linked->definition->kind == BF_PTX_ITEM_FUNCTION)
    function = linked->definition->function;
  bf_ptx_function *made = bf_arena_alloc(&c->linker->arena, sizeof *made);
  c->failed |= !made;
  if (!made)
    return;
  *made = *function;
  made->has_body = false;
  made->body = NULL;
  made->instructions = 0;
  if (made->is_entry)
    made->directives.count = 0;
  if (linked && linked->definition && made->linkage == BF_PTX_EXTERN)
    made->linkage = BF_PTX_VISIBLE; /* an alias defines it */
  add_function(c, made);
}

/* Functions whose address an initialiser holds. */
static void announce_in(collected *c, const bf_ptx_operand *value) {
  if (value->kind == BF_PTX_VECTOR)
    for (uint32_t i = 0; i < value->count; i++)
      announce_in(c, &value->item[i]);
  else if (value->kind == BF_PTX_SYMBOL && value->symbol->kind == BF_PTX_SYMBOL_FUNCTION)
    announce(c, value->symbol->function);
}

static void add_announcements(collected *c, const bf_ptx_module *part) {
  for (const bf_ptx_item *item = part->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && !item->function->has_body)
      announce(c, item->function);
    else if (item->kind == BF_PTX_ITEM_VARIABLE && item->variable->initialiser)
      announce_in(c, item->variable->initialiser);
}

/* ---- Variables, those that an initialiser names first ---- */

static void place_variable(collected *c, const bf_ptx_variable *variable);

static void place_named(collected *c, const bf_ptx_operand *value) {
  if (value->kind == BF_PTX_VECTOR)
    for (uint32_t i = 0; i < value->count; i++)
      place_named(c, &value->item[i]);
  else if (value->kind == BF_PTX_SYMBOL && value->symbol->kind == BF_PTX_SYMBOL_VARIABLE)
    place_variable(c, value->symbol->variable);
}

/* A copy with another linkage and alignment. */
static bf_ptx_variable *copy_variable(collected *c, const bf_ptx_variable *variable,
                                      bf_ptx_linkage linkage, unsigned alignment_bytes) {
  bf_ptx_variable *made = bf_arena_alloc(&c->linker->arena, sizeof *made);
  c->failed |= !made;
  if (made) {
    *made = *variable;
    made->linkage = linkage;
    if (alignment_bytes > made->alignment_bytes)
      made->alignment_bytes = alignment_bytes;
    if (linkage == BF_PTX_EXTERN)
      made->initialiser = NULL;
  }
  return made;
}

/* Adds a variable behind those that it needs. Where two need each other, one is declared first. */
static void place_variable(collected *c, const bf_ptx_variable *variable) {
  const bf_ptx_linked *linked =
      variable->linkage == BF_PTX_PRIVATE ? NULL : linked_of(c, variable->name);
  if (linked)
    variable = linked->definition ? linked->definition->variable : linked->declared->variable;
  void **state = bf_table_at(&c->placed, variable->name, strlen(variable->name));
  c->failed |= !state;
  if (!state || *state == &PLACED || c->failed)
    return;
  unsigned alignment_bytes = linked ? linked->alignment_bytes : 0;
  if (*state == &PLACING) {
    bf_ptx_variable *declared = copy_variable(c, variable, BF_PTX_EXTERN, alignment_bytes);
    if (declared)
      add_variable(c, declared);
    return;
  }
  *state = (void *)(uintptr_t)&PLACING;
  if (variable->initialiser)
    place_named(c, variable->initialiser);
  *state = (void *)(uintptr_t)&PLACED;
  bf_ptx_variable *made = copy_variable(c, variable, variable->linkage, alignment_bytes);
  if (made)
    add_variable(c, made);
}

/* ---- What is left of a part ---- */

static void add_bodies(collected *c, const bf_ptx_module *part) {
  for (const bf_ptx_item *item = part->first; item && !c->failed; item = item->next)
    if ((item->kind == BF_PTX_ITEM_FUNCTION && counts(c, item)) ||
        item->kind == BF_PTX_ITEM_ALIAS || item->kind == BF_PTX_ITEM_PRAGMA)
      add_item(c, item);
}

/* Source files, one for each number. */
static void add_files(collected *c) {
  bf_table files = {.arena = &c->linker->arena};
  for (unsigned i = 0; i < c->linker->parts; i++)
    for (const bf_ptx_item *item = c->linker->part[i]->first; item; item = item->next) {
      if (item->kind != BF_PTX_ITEM_FILE)
        continue;
      void **slot = bf_table_at(&files, &item->file->number, sizeof item->file->number);
      c->failed |= !slot;
      if (slot && !*slot) {
        *slot = c;
        add_item(c, item);
      }
    }
}

/* Puts the lines of all sections .debug_str to text, or only counts them where that is NULL. */
static unsigned gather_texts(const bf_ptx_linker *linker, const char **text) {
  unsigned lines = 0;
  for (unsigned i = 0; i < linker->parts; i++)
    for (const bf_ptx_item *item = linker->part[i]->first; item; item = item->next) {
      if (item->kind != BF_PTX_ITEM_SECTION || strcmp(item->section->name, ".debug_str") != 0)
        continue;
      if (text && item->section->lines)
        memcpy(text + lines, item->section->text, item->section->lines * sizeof *text);
      lines += item->section->lines;
    }
  return lines;
}

/* One section of the texts that .loc names. Other debug data describes machine code of a part and
 * is left out. */
static void add_texts(collected *c) {
  unsigned lines = gather_texts(c->linker, NULL);
  const char **text = bf_arena_alloc(&c->linker->arena, ((size_t)lines + 1) * sizeof *text);
  bf_ptx_section *section = bf_arena_alloc(&c->linker->arena, sizeof *section);
  c->failed |= !text || !section;
  if (c->failed || lines == 0)
    return;
  gather_texts(c->linker, text);
  *section = (bf_ptx_section){".debug_str", lines, text};
  add_item(c, &(bf_ptx_item){.kind = BF_PTX_ITEM_SECTION, .section = section});
}

/* ---- The module ---- */

/* The number in "sm_90a"; 0 for what is no architecture. */
static unsigned architecture(const char *target) {
  unsigned number = 0;
  if (strncmp(target, "sm_", 3) == 0)
    for (target += 3; *target >= '0' && *target <= '9' && number < 100000; target++)
      number = number * 10 + (unsigned)(*target - '0');
  return number;
}

/* Whether a target is newer than another, or equal and with a letter; none is newer than NULL. */
static bool is_newer(const char *target, const char *than) {
  unsigned a = architecture(target), b = than ? architecture(than) : 0;
  return a > b || (than && a == b && a && strlen(target) > strlen(than));
}

/* The newest version and architecture of the parts. */
static int describe(collected *c) {
  bf_ptx_module *to = &c->module;
  for (unsigned i = 0; i < c->linker->parts; i++) {
    const bf_ptx_module *part = c->linker->part[i];
    if (part->version_major * 1000 + part->version_minor >
        to->version_major * 1000 + to->version_minor) {
      to->version_major = part->version_major;
      to->version_minor = part->version_minor;
    }
    if (part->address_bits && to->address_bits && part->address_bits != to->address_bits)
      return bf_fail_file(c->linker->diagnostic, BF_BAD_INPUT, part->file,
                          "addresses of %u bits; other parts have %u", part->address_bits,
                          to->address_bits);
    if (part->address_bits)
      to->address_bits = part->address_bits;
    for (unsigned k = 0; k < part->targets; k++)
      if (is_newer(part->target[k], to->target ? *to->target : NULL))
        to->target = &part->target[k];
  }
  to->targets = to->target != NULL;
  return BF_OK;
}

static int collect(collected *c) {
  BF_TRY(describe(c));
  for (unsigned i = 0; i < c->linker->parts; i++)
    add_announcements(c, c->linker->part[i]);
  for (unsigned i = 0; i < c->linker->parts; i++)
    for (const bf_ptx_item *item = c->linker->part[i]->first; item; item = item->next)
      if (item->kind == BF_PTX_ITEM_VARIABLE)
        place_variable(c, item->variable);
  for (unsigned i = 0; i < c->linker->parts; i++)
    add_bodies(c, c->linker->part[i]);
  add_files(c);
  add_texts(c);
  return c->failed ? bf_no_memory(c->linker->diagnostic) : BF_OK;
}

/* Prints and parses what was collected. */
static int remake(const collected *c, const char *file, bf_ptx_module **linked) {
  bf_text text = {0};
  bf_ptx_print(&c->module, &text);
  int error = text.failed ? bf_no_memory(c->linker->diagnostic)
                          : bf_ptx_parse(file, text.data ? text.data : "", text.size, linked,
                                         c->linker->diagnostic);
  bf_text_free(&text);
  return error;
}

int bf_ptx_link(const char *file, bf_ptx_module *const *part, unsigned parts,
                bool (*is_provided)(const char *name), bf_ptx_module **linked,
                bf_diagnostic *diagnostic) {
  bf_ptx_linker linker = {.part = part, .parts = parts, .diagnostic = diagnostic};
  linker.shared.arena = &linker.arena;
  collected c = {
      .linker = &linker, .announced = {.arena = &linker.arena}, .placed = {.arena = &linker.arena}};
  c.last = &c.module.first;
  *linked = NULL;
  int error = bf_ptx_link_names(&linker, is_provided);
  if (!error)
    error = bf_ptx_link_rename(&linker);
  if (!error)
    error = collect(&c);
  if (!error)
    error = remake(&c, file, linked);
  bf_arena_free(&linker.arena);
  return error;
}
