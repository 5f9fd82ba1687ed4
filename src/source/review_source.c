/* From the arrays of PTX to their declarations in the source. */
#include "source/family.h"
#include "source/review_inner.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SOURCE_BYTES = 1 << 24 };

/* Whether a file can be what people write, and be read. */
static bool can_be_source(const char *path) {
  static const char *const theirs[] = {"/usr/", "/opt/", "/cuda", "/targets/", NULL};
  const char *dot = strrchr(path, '.');
  for (unsigned i = 0; theirs[i]; i++)
    if (strstr(path, theirs[i]) && !bf_source_is_name(path))
      return false;
  bool is_header = dot && (strcmp(dot, ".h") == 0 || strcmp(dot, ".hpp") == 0);
  return (bf_source_is_name(path) || is_header) && access(path, R_OK) == 0;
}

/* Instructions on shared memory of all kernels that come from a file, by its number. */
static uint64_t count_from(const bf_ptx_module *module, uint64_t file) {
  uint64_t count = 0;
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    const bf_ptx_function *own = item->kind == BF_PTX_ITEM_FUNCTION ? item->function : NULL;
    for (uint32_t i = 0; own && i < own->instructions; i++) {
      const bf_ptx_instruction *instruction = own->instruction[i];
      count += instruction->location && instruction->location->file == file &&
               instruction->space == BF_PTX_SPACE_SHARED;
    }
  }
  return count;
}

const char *bf_review_named_source(const bf_ptx_module *module, const char *given) {
  const char *best = given;
  uint64_t most = 0;
  struct stat own, other;
  for (const bf_ptx_item *item = module->first; item; item = item->next) {
    if (item->kind != BF_PTX_ITEM_FILE || !can_be_source(item->file->name))
      continue;
    uint64_t count = count_from(module, item->file->number);
    if (best && count <= most)
      continue;
    most = count;
    best = item->file->name;
  }
  bool is_given = given && best && stat(given, &own) == 0 && stat(best, &other) == 0 &&
                  own.st_dev == other.st_dev && own.st_ino == other.st_ino;
  return is_given ? given : best;
}

int bf_review_read_source(bf_review *review, const char *path, bf_diagnostic *diagnostic) {
  const char *file = bf_arena_copy(&review->arena, path);
  if (!file)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_read_file(path, MOST_SOURCE_BYTES, &review->text, diagnostic));
  return bf_source_read(file, review->text.data, review->text.size, &review->source, diagnostic);
}

/* ---- Which declaration ---- */

bool bf_review_is_function(const bf_source *source, size_t index, const char *readable) {
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
                   const bf_review_array *array) {
  if (strcmp(declared->name, array->shared.name) != 0 ||
      declared->is_open != (array->variable->bytes == 0))
    return false;
  if (array->function)
    return bf_review_is_function(source, declared->function, array->function);
  return declared->function >= source->tokens || declared->is_open;
}

/* Whether an access to the array comes from a line of the function that holds the declaration. */
static bool is_near(const bf_review *review, const bf_source_array *declared,
                    const bf_review_array *array) {
  const bf_workload *workload = array->shared.workload;
  uint32_t first, last;
  if (!bf_source_function_lines(review->source, declared, &first, &last))
    return false;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const char *place = bf_site_place(&review->names, bf_workload_get(workload, i)->site);
    uint64_t line = place ? bf_site_line(place, review->source->file) : 0;
    if (line >= first && line <= last)
      return true;
  }
  return false;
}

/* Finds the one declaration of an array; of several, the one that its accesses are near. */
static void find_declaration(const bf_review *review, const bf_source_array *list, size_t count,
                             bf_review_array *array) {
  const bf_source_array *near = NULL, *any = NULL;
  unsigned near_ones = 0, all = 0;
  for (size_t i = 0; i < count; i++) {
    if (!can_be(review->source, &list[i], array))
      continue;
    any = &list[i];
    all++;
    if (is_near(review, &list[i], array)) {
      near = &list[i];
      near_ones++;
    }
  }
  array->declared = all == 1 ? any : near_ones == 1 ? near : NULL;
  if (all > 1 && !array->declared)
    snprintf(array->missing, sizeof array->missing, "declared %u times in %.150s", all,
             review->source->file);
  else if (!array->declared)
    snprintf(array->missing, sizeof array->missing, "no declaration found in %.150s",
             review->source->file);
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

/* The bytes of an element of memory that a launch sizes, whose type is not known: the width of all
 * accesses, where no use takes a member of an element; 0: not known. */
static unsigned accessed_bytes(bf_source *source, const bf_review_array *array) {
  const bf_workload *workload = array->shared.workload;
  bf_source_use *use;
  size_t uses;
  char problem[BF_REVIEW_MOST_REASON];
  unsigned bytes = narrowest(workload);
  if (!array->declared->is_open || bf_workload_size(workload) == 0 ||
      bf_source_uses(source, array->declared, &use, &uses, problem, NULL) != BF_OK || problem[0])
    return 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    if (bf_workload_get(workload, i)->width_bytes != bytes)
      return 0;
  for (size_t i = 0; i < uses; i++)
    if (bf_source_is(source, use[i].end, ".") || bf_source_is(source, use[i].end, "->"))
      return 0;
  return bytes;
}

/* Reads the dimensions; *unknown is the last of those that are not known. Returns how many. */
static unsigned read_dimensions(const bf_source *source, bf_review_array *array, uint64_t *product,
                                unsigned *unknown) {
  const bf_source_array *declared = array->declared;
  unsigned unknowns = 0;
  *product = 1;
  for (unsigned i = 0; i < declared->dimensions; i++) {
    size_t open = declared->dimension[i];
    uint64_t value;
    if (bf_source_value(source, declared, array->function, open + 1, source->token[open].partner,
                        &value) &&
        value > 0 && value <= UINT32_MAX && *product <= UINT32_MAX) {
      array->shared.dimension[i] = value;
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
static void find_shape(bf_source *source, bf_review_array *array) {
  const bf_source_array *declared = array->declared;
  bf_shared_array *shared = &array->shared;
  uint64_t product = 1, bytes = shared->bytes;
  unsigned unknown = 0, element = 0, unknowns = 0;
  if (declared) {
    unknowns = read_dimensions(source, array, &product, &unknown);
    element = bf_source_element_bytes(source, declared,
                                      array->function ? array->function : array->kernel_name);
    element = element ? element : accessed_bytes(source, array);
  }
  if (element && unknowns == 1 && bytes && bytes % (element * product) == 0) {
    shared->dimension[unknown] = bytes / (element * product);
    product *= shared->dimension[unknown];
    unknowns = 0;
  }
  if (!element && unknowns == 0 && declared && product && bytes % product == 0)
    element = (unsigned)(bytes / product);
  bool is_open = declared && declared->is_open && element && unknowns == 1;
  bool is_whole = element && unknowns == 0 && element * product == bytes;
  shared->element_bytes = element && (is_open || is_whole) ? element : narrowest(shared->workload);
  shared->dimensions = is_open || is_whole ? declared->dimensions : 0;
  if (declared && !shared->dimensions && !array->missing[0])
    snprintf(array->missing, sizeof array->missing,
             "its element type and dimensions are not known");
}

/* ---- Names of macros ---- */

/* Whether another declaration has the same name. */
static bool is_ambiguous(const bf_review *review, const bf_review_array *array) {
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *other = &review->array[i];
    if (strcmp(other->shared.name, array->shared.name) == 0 &&
        (other->declared != array->declared ||
         (!array->declared && other->kernel != array->kernel)))
      return true;
  }
  return false;
}

static bool is_in_source(const bf_source *source, const char *word) {
  for (size_t i = 0; source && i < source->tokens; i++)
    if (bf_source_is(source, i, word))
      return true;
  return false;
}

/* Names the macro after the array, and where that is not enough after its function, without
 * namespaces. */
static void name_macro(const bf_review *review, bf_review_array *array) {
  const char *function = array->function ? array->function : array->kernel_name;
  size_t whole = strcspn(function, "<("), start = whole;
  while (start > 0 && function[start - 1] != ':')
    start--;
  function += start;
  int length = (int)(whole - start);
  if (is_ambiguous(review, array))
    snprintf(array->macro, sizeof array->macro, "BF_%.*s_%.50s", length < 50 ? length : 50,
             function, array->shared.name);
  else
    snprintf(array->macro, sizeof array->macro, "BF_%.50s", array->shared.name);
  for (char *at = array->macro; *at; at++)
    *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
  size_t bytes = strlen(array->macro);
  while (bytes + 1 < sizeof array->macro && is_in_source(review->source, array->macro)) {
    array->macro[bytes++] = '_';
    array->macro[bytes] = 0;
  }
}

/* ---- All arrays ---- */

/* Arrays that are passed to the same functions are one to the patch. */
static int join_family(const bf_review *review, bf_review_array *array, bf_diagnostic *diagnostic) {
  const bf_source_family *family;
  array->own = array->declared;
  if (!array->declared)
    return BF_OK;
  BF_TRY(bf_source_find_family(review->source, array->declared, &family, diagnostic));
  if (family->members > 1 && !family->problem[0])
    array->declared = &family->member[0];
  return BF_OK;
}

int bf_review_find_declarations(bf_review *review, bf_diagnostic *diagnostic) {
  bf_source_array *list = NULL;
  size_t count = 0;
  if (review->source)
    BF_TRY(bf_source_arrays(review->source, &list, &count, diagnostic));
  for (size_t i = 0; i < review->arrays; i++) {
    bf_review_array *array = &review->array[i];
    if (review->source)
      find_declaration(review, list, count, array);
    else
      snprintf(array->missing, sizeof array->missing, "its source is not known");
  }
  BF_TRY(bf_review_carve(review, diagnostic));
  for (size_t i = 0; i < review->arrays; i++)
    find_shape(review->source, &review->array[i]);
  for (size_t i = 0; i < review->arrays && review->source; i++)
    BF_TRY(join_family(review, &review->array[i], diagnostic));
  for (size_t i = 0; i < review->arrays; i++)
    name_macro(review, &review->array[i]);
  return BF_OK;
}
