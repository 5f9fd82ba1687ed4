/* From the arrays of PTX to their declarations in the source. */
#include "cli/use/suggested.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which declaration ---- */

/* Whether readable, as ns::reduce<int, 64>, is the function that token index names. */
static bool is_function(const bf_source *source, size_t index, const char *readable) {
  size_t length = strcspn(readable, "<(");
  const char *name = readable + length;
  while (name > readable && name[-1] != ':')
    name--;
  length -= (size_t)(name - readable);
  if (index >= source->tokens)
    return false;
  const bf_source_token *token = &source->token[index];
  return token->size == length && memcmp(source->text + token->at, name, length) == 0;
}

/* Whether a declaration can be that of the array. */
static bool can_be(const bf_source *source, const bf_source_array *declared,
                   const cli_array *array) {
  if (strcmp(declared->name, array->name) != 0 ||
      declared->is_open != (array->variable->bytes == 0))
    return false;
  if (array->function[0])
    return is_function(source, declared->function, array->function);
  return declared->function >= source->tokens || declared->is_open;
}

/* The line of the source that an access comes from; 0 where it comes from elsewhere. */
static unsigned long source_line(const bf_source *source, const cli_array *array, size_t index) {
  const char *file = strrchr(source->file, '/');
  const char *site = cli_array_site(array, bf_workload_get(array->workload, index)->site);
  const char *colon = site ? strrchr(site, ':') : NULL;
  file = file ? file + 1 : source->file;
  bool is_own =
      colon && strlen(file) == (size_t)(colon - site) && strncmp(file, site, strlen(file)) == 0;
  return is_own ? strtoul(colon + 1, NULL, 10) : 0;
}

/* Whether an access to the array comes from a line of the function that holds the declaration. */
static bool is_near(const bf_source *source, const bf_source_array *declared,
                    const cli_array *array) {
  uint32_t first, last;
  if (!bf_source_function_lines(source, declared, &first, &last))
    return false;
  for (size_t i = 0; i < bf_workload_size(array->workload); i++) {
    unsigned long line = source_line(source, array, i);
    if (line >= first && line <= last)
      return true;
  }
  return false;
}

/* Finds the one declaration of an array; of several, the one that its accesses are near. */
static void find_declaration(const bf_source *source, const bf_source_array *list, size_t count,
                             cli_suggested_array *item) {
  const bf_source_array *near = NULL, *any = NULL;
  unsigned near_ones = 0, all = 0;
  for (size_t i = 0; i < count; i++) {
    if (!can_be(source, &list[i], item->array))
      continue;
    any = &list[i];
    all++;
    if (is_near(source, &list[i], item->array)) {
      near = &list[i];
      near_ones++;
    }
  }
  item->declared = all == 1 ? any : near_ones == 1 ? near : NULL;
  if (all > 1 && !item->declared)
    snprintf(item->missing, sizeof item->missing, "declared %u times in %.150s", all, source->file);
  else if (!item->declared)
    snprintf(item->missing, sizeof item->missing, "no declaration found in %.150s", source->file);
}

/* Whether a line is part of a statement that uses the array. */
static bool is_of_use(const bf_source *source, const bf_source_use *use, size_t uses,
                      unsigned long line) {
  for (size_t i = 0; i < uses; i++) {
    uint32_t first, last;
    bf_source_use_lines(source, &use[i], &first, &last);
    if (line >= first && line <= last)
      return true;
  }
  return false;
}

int cli_suggested_find_hidden(const cli_suggested *s, const cli_suggested_array *item,
                              char problem[200], bf_diagnostic *diagnostic) {
  const cli_array *array = item->array;
  bf_source_use *use;
  size_t uses;
  char ignored[200];
  const char *last = NULL; /* site of the access before */
  BF_TRY(bf_source_uses(s->source, item->declared, &use, &uses, ignored, diagnostic));
  for (size_t i = 0; i < bf_workload_size(array->workload) && !problem[0] && !ignored[0]; i++) {
    const char *site = bf_workload_get(array->workload, i)->site;
    if (site && site == last)
      continue;
    last = site;
    unsigned long line = source_line(s->source, array, i);
    const char *place = cli_array_site(array, site);
    if (!place || strncmp(place, "ptx:", 4) == 0)
      snprintf(problem, 200, "no line information says where its accesses are (nvcc -lineinfo)");
    else if (!line || !is_of_use(s->source, use, uses, line))
      snprintf(problem, 200, "the access at %.100s does not name it", place);
  }
  return BF_OK;
}

/* ---- Its shape ---- */

/* The narrowest access to the array, or a word. */
static unsigned narrowest(const bf_workload *workload) {
  unsigned bytes = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    unsigned own = bf_workload_get(workload, i)->width_bytes;
    bytes = bytes == 0 || own < bytes ? own : bytes;
  }
  return bytes ? bytes : 4;
}

/* Reads the dimensions; *unknown is the last of those that are not known. Returns how many. */
static unsigned read_dimensions(const bf_source *source, cli_suggested_array *item,
                                uint64_t *product, unsigned *unknown) {
  const bf_source_array *declared = item->declared;
  unsigned unknowns = 0;
  *product = 1;
  for (unsigned i = 0; i < declared->dimensions; i++) {
    size_t open = declared->dimension[i];
    uint64_t value;
    if (bf_source_value(source, declared, item->array->function, open + 1,
                        source->token[open].partner, &value) &&
        value > 0 && value <= UINT32_MAX && *product <= UINT32_MAX) {
      item->shared.dimension[i] = value;
      *product *= value;
    } else {
      *unknown = i;
      unknowns++;
    }
  }
  return unknowns;
}

/* Fills element and dimensions from the declaration and the bytes of the variable; what does not
 * agree stays unknown: a flat array. */
static void find_shape(const bf_source *source, cli_suggested_array *item) {
  bf_shared_array *shared = &item->shared;
  uint64_t product = 1, bytes = shared->bytes;
  unsigned unknown = 0, element = 0, unknowns = 0;
  if (item->declared) {
    unknowns = read_dimensions(source, item, &product, &unknown);
    element = bf_source_type_bytes(item->declared->type);
  }
  if (element && unknowns == 1 && bytes && bytes % (element * product) == 0) {
    shared->dimension[unknown] = bytes / (element * product);
    product *= shared->dimension[unknown];
    unknowns = 0;
  }
  if (!element && unknowns == 0 && item->declared && product && bytes % product == 0)
    element = (unsigned)(bytes / product);
  bool is_open = item->declared && item->declared->is_open && element && unknowns == 1;
  bool is_whole = element && unknowns == 0 && element * product == bytes;
  shared->element_bytes =
      element && (is_open || is_whole) ? element : narrowest(item->array->workload);
  shared->dimensions = is_open || is_whole ? item->declared->dimensions : 0;
  if (item->declared && !shared->dimensions && !item->missing[0])
    snprintf(item->missing, sizeof item->missing, "its element type and dimensions are not known");
}

/* ---- Names of macros ---- */

/* Whether another declaration has the same name. */
static bool is_ambiguous(const cli_suggested *s, const cli_suggested_array *item) {
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->item[i].array->name, item->array->name) == 0 &&
        (s->item[i].declared != item->declared ||
         (!item->declared && s->item[i].array->kernel != item->array->kernel)))
      return true;
  return false;
}

static bool is_in_source(const bf_source *source, const char *word) {
  for (size_t i = 0; source && i < source->tokens; i++)
    if (bf_source_is(source, i, word))
      return true;
  return false;
}

/* Names the macro after the array, and where that is not enough after its function. */
static void name_macro(const cli_suggested *s, cli_suggested_array *item) {
  const char *function =
      item->array->function[0] ? item->array->function : item->array->kernel_name;
  int length = (int)strcspn(function, "<(");
  if (is_ambiguous(s, item))
    snprintf(item->macro, sizeof item->macro, "BF_%.*s_%.50s", length < 50 ? length : 50, function,
             item->array->name);
  else
    snprintf(item->macro, sizeof item->macro, "BF_%.50s", item->array->name);
  for (char *at = item->macro; *at; at++)
    *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
  size_t length_bytes = strlen(item->macro);
  while (length_bytes + 1 < sizeof item->macro && is_in_source(s->source, item->macro)) {
    item->macro[length_bytes++] = '_';
    item->macro[length_bytes] = 0;
  }
}

void cli_suggested_declare(cli_suggested *suggested, const bf_source_array *list, size_t count) {
  for (size_t i = 0; i < suggested->count; i++) {
    cli_suggested_array *item = &suggested->item[i];
    item->shared = (bf_shared_array){.name = item->array->name,
                                     .bytes = item->array->variable->bytes,
                                     .workload = item->array->workload,
                                     .merged = item->array->merged};
    if (suggested->source)
      find_declaration(suggested->source, list, count, item);
    else
      snprintf(item->missing, sizeof item->missing, "its source is not known");
    find_shape(suggested->source, item);
  }
  for (size_t i = 0; i < suggested->count; i++)
    name_macro(suggested, &suggested->item[i]);
}

bf_patch_array cli_suggested_change(const cli_suggested_array *item,
                                    const bf_suggestion *suggestion) {
  return (bf_patch_array){.declared = item->declared,
                          .array = &item->shared,
                          .suggestion = suggestion,
                          .macro = item->macro};
}
