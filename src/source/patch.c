/* Edits of a source for the maps of its arrays. */
#include "source/patch.h"

#include "source/family.h"

#include <stdlib.h>
#include <string.h>

void bf_patch_free(bf_patch *patch) {
  free(patch->edit);
  bf_arena_free(&patch->arena);
  *patch = (bf_patch){0};
}

/* ---- Text of the source ---- */

static bool is_any(const bf_source *source, size_t index, const char *const *words) {
  for (; *words; words++)
    if (bf_source_is(source, index, *words))
      return true;
  return false;
}

/* Bytes from token first to the end of token end-1. */
static size_t span(const bf_source *source, size_t first, size_t end, size_t *at) {
  *at = source->token[first].at;
  return end > first ? source->token[end - 1].at + source->token[end - 1].size - *at : 0;
}

/* Adds the tokens first to end-1 on one line, as they are otherwise. */
static void write_line(const bf_source *source, size_t first, size_t end, bf_text *text) {
  size_t at, size = span(source, first, end, &at);
  bool is_one_line = end > first && source->token[first].line == source->token[end - 1].line;
  if (is_one_line) {
    bf_text_add(text, source->text + at, size);
    return;
  }
  for (size_t i = first; i < end; i++) {
    const bf_source_token *token = &source->token[i];
    if (i > first && token->at > token[-1].at + token[-1].size)
      bf_text_puts(text, " ");
    bf_text_add(text, source->text + token->at, token->size);
  }
}

void bf_patch_write_before(const bf_source *source, const bf_source_use *use, bf_text *text) {
  write_line(source, use->token, use->end, text);
}

/* The subscripts of a use as texts: as they are, and as operands. */
typedef struct subscripts {
  bf_text plain[BF_SOURCE_MOST_DIMENSIONS], operand[BF_SOURCE_MOST_DIMENSIONS];
  const char *plain_text[BF_SOURCE_MOST_DIMENSIONS], *operand_text[BF_SOURCE_MOST_DIMENSIONS];
} subscripts;

/* False when memory is exhausted. */
static bool fill_subscripts(const bf_source *source, const bf_source_use *use, unsigned count,
                            subscripts *s) {
  for (unsigned i = 0; i < count; i++) {
    size_t first = use->subscript[i] + 1, end = source->token[use->subscript[i]].partner;
    bool is_operand = bf_source_is_operand(source, first, end);
    write_line(source, first, end, &s->plain[i]);
    bf_text_puts(&s->operand[i], is_operand ? "" : "(");
    write_line(source, first, end, &s->operand[i]);
    bf_text_puts(&s->operand[i], is_operand ? "" : ")");
    if (s->plain[i].failed || s->operand[i].failed)
      return false;
    s->plain_text[i] = s->plain[i].data ? s->plain[i].data : "";
    s->operand_text[i] = s->operand[i].data ? s->operand[i].data : "";
  }
  return true;
}

static void free_subscripts(subscripts *s) {
  for (unsigned i = 0; i < BF_SOURCE_MOST_DIMENSIONS; i++) {
    bf_text_free(&s->plain[i]);
    bf_text_free(&s->operand[i]);
  }
}

void bf_patch_write_after(const bf_source *source, const bf_patch_array *array,
                          const bf_source_use *use, bf_text *text) {
  subscripts s = {0};
  char name[BF_SOURCE_MOST_NAME]; /* that it has there */
  const bf_source_token *token = &source->token[use->token];
  bf_shared_array own = *array->array;
  snprintf(name, sizeof name, "%.*s", (int)token->size, source->text + token->at);
  own.name = use->home ? name : own.name;
  if (use->is_row)
    bf_patch_write_before(source, use, text);
  else if (use->home && array->declared->dimensions == 1 && fill_subscripts(source, use, 1, &s))
    bf_text_addf(text, "%s[%s(%s)]", name, array->macro, s.plain_text[0]);
  else if (!fill_subscripts(source, use, array->declared->dimensions, &s))
    text->failed = true;
  else if (array->is_called)
    bf_index_write_called(&array->suggestion->map, &own, array->macro, s.operand_text, s.plain_text,
                          text);
  else
    bf_index_write_element(&array->suggestion->map, &own, array->macro, s.operand_text,
                           s.plain_text, text);
  free_subscripts(&s);
}

/* Elements that a flat padded array has more. */
static uint64_t more_elements(const bf_patch_array *array) {
  return array->suggestion->extra_bytes / array->array->element_bytes;
}

/* The dimension of the declaration that grows, or dimensions where none does, and by how much. */
static unsigned grown_dimension(const bf_patch_array *array, uint64_t *by) {
  const bf_index_map *map = &array->suggestion->map;
  bool is_flat = array->declared->dimensions == 1;
  *by = is_flat ? more_elements(array) : map->padded_by;
  return !map->row_elements ? array->declared->dimensions : is_flat ? 0 : map->padded_dimension;
}

/* Whether cases with the same dimension tell elements of different sizes apart. */
static bool needs_size(const bf_index_map *map, const bf_pad_case *own) {
  for (unsigned i = 0; i < map->cases; i++)
    if (map->pad_case[i].dimension == own->dimension &&
        map->pad_case[i].element_bytes != own->element_bytes && map->pad_case[i].by != own->by)
      return true;
  return false;
}

/* " + (dimension == 32 ? 1 : 0)", for each case by which it grows. */
static void write_cases(const bf_patch_array *array, const char *dimension, bf_text *text) {
  const bf_index_map *map = &array->suggestion->map;
  bf_text_puts(text, " + (");
  for (unsigned i = 0; i < map->cases; i++) {
    const bf_pad_case *own = &map->pad_case[i];
    bool is_told = own->by == 0;
    for (unsigned k = 0; k < i && !needs_size(map, own); k++)
      is_told |= map->pad_case[k].dimension == own->dimension;
    if (is_told)
      continue;
    bf_text_addf(text, "%s == %llu", dimension, (unsigned long long)own->dimension);
    if (needs_size(map, own))
      bf_text_addf(text, " && sizeof(%s) == %u", array->declared->type, own->element_bytes);
    bf_text_addf(text, " ? %llu : ", (unsigned long long)own->by);
  }
  bf_text_puts(text, "0)");
}

/* What the tokens first to end-1 say, + by, or their sum where they are one number. */
static void write_grown(const bf_source *source, const bf_patch_array *array, size_t first,
                        size_t end, uint64_t by, bf_text *text) {
  uint64_t number;
  if (end == first + 1 && source->token[first].kind == BF_SOURCE_NUMBER &&
      bf_source_value(source, array->declared, NULL, first, end, &number)) {
    bf_text_addf(text, "%llu", (unsigned long long)(number + by));
    return;
  }
  bf_text dimension = {0};
  bool is_operand = bf_source_is_operand(source, first, end);
  bf_text_puts(&dimension, is_operand ? "" : "(");
  write_line(source, first, end, &dimension);
  bf_text_puts(&dimension, is_operand ? "" : ")");
  if (dimension.data)
    bf_text_puts(text, dimension.data);
  if (array->suggestion->map.cases)
    write_cases(array, dimension.data ? dimension.data : "", text);
  else
    bf_text_addf(text, " + %llu", (unsigned long long)by);
  text->failed |= dimension.failed;
  bf_text_free(&dimension);
}

void bf_patch_write_declaration(const bf_source *source, const bf_patch_array *array,
                                bf_text *text) {
  uint64_t by;
  unsigned grown = grown_dimension(array, &by);
  bf_text_puts(text, array->declared->name);
  for (unsigned i = 0; i < array->declared->dimensions; i++) {
    size_t open = array->declared->dimension[i];
    bf_text_puts(text, "[");
    if (i == grown)
      write_grown(source, array, open + 1, source->token[open].partner, by, text);
    else
      write_line(source, open + 1, source->token[open].partner, text);
    bf_text_puts(text, "]");
  }
}

/* ---- Edits ---- */

/* Adds an edit; text is emptied. */
static int add_edit(bf_patch *patch, size_t at, size_t size, bf_text *text,
                    bf_diagnostic *diagnostic) {
  char *copy = text->failed ? NULL : bf_arena_copy(&patch->arena, text->data ? text->data : "");
  bf_text_free(text);
  if (copy && patch->edits == patch->capacity) {
    size_t capacity = patch->capacity ? 2 * patch->capacity : 32;
    bf_edit *grown = realloc(patch->edit, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    patch->edit = grown;
    patch->capacity = capacity;
  }
  if (!copy)
    return bf_no_memory(diagnostic);
  patch->edit[patch->edits++] = (bf_edit){at, size, copy};
  return BF_OK;
}

/* The tokens *first to *end-1 of a declaration `__shared__ type name[..];` that are the type of an
 * element; false where it has qualifiers behind it, or others are declared with it. */
static bool find_type(const bf_source *source, const bf_source_array *declared, size_t *first,
                      size_t *end) {
  static const char *const before[] = {"__shared__", "static",        "typename", "struct", "class",
                                       "__align__",  "__attribute__", "alignas",  NULL};
  static const char *const never[] = {"const", "volatile", "extern", "__shared__", NULL};
  size_t at = declared->statement, depth = 0;
  while (at < declared->token && is_any(source, at, before))
    at = bf_source_is(source, at + 1, "(") ? source->token[at + 1].partner + 1 : at + 1;
  *first = at;
  *end = declared->token;
  for (; at < *end; at++) {
    depth += bf_source_is(source, at, "<");
    depth -= depth && bf_source_is(source, at, ">");
    bool is_part = depth > 0 || source->token[at].kind == BF_SOURCE_WORD ||
                   bf_source_is(source, at, "::") || bf_source_is(source, at, ">");
    if (!is_part || is_any(source, at, never))
      return false;
  }
  return *first < *end && bf_source_is(source, declared->end, ";");
}

/* An element with bytes that nobody uses behind its own: a class of which its type is the base. */
static void write_longer_element(const bf_source *source, const bf_patch_array *array,
                                 bf_text *text) {
  size_t first, end;
  if (!find_type(source, array->declared, &first, &end))
    return;
  bool is_named = first > 0 && bf_source_is(source, first - 1, "typename");
  bf_text_addf(text, "struct %s : ", array->macro);
  write_line(source, first, end, text);
  bf_text_puts(text, is_named ? " { typedef typename " : " { typedef ");
  write_line(source, first, end, text);
  bf_text_addf(text, " bf_base; using bf_base::operator=; char bf_more[%u]; };",
               array->suggestion->map.element_pad_bytes);
}

void bf_patch_write_definition(const bf_source *source, const bf_patch_array *array,
                               bf_text *text) {
  const bf_index_map *map = &array->suggestion->map;
  if (map->element_pad_bytes)
    write_longer_element(source, array, text);
  else if (array->is_called)
    bf_index_write_function(map, array->macro,
                            array->declared->function < source->tokens && !array->home, text);
  else if (!bf_index_is_direct(map, array->array))
    bf_index_write_macro(map, array->macro, text);
}

/* Defines the macro or function on a line of its own before the declaration, or before the first
 * function that the array is passed to. */
static int add_macro(bf_patch *patch, const bf_patch_array *array, bf_diagnostic *diagnostic) {
  const bf_source *source = patch->source;
  bool is_outside = array->is_called && array->home; /* a function cannot stand in a function */
  size_t statement = is_outside ? bf_source_statement(source, array->declared->function)
                                : array->declared->statement;
  statement = array->home && array->home - 1 < statement ? array->home - 1 : statement;
  size_t at = source->token[statement].at, start = at;
  while (start > 0 && (source->text[start - 1] == ' ' || source->text[start - 1] == '\t'))
    start--;
  bool is_first = start == 0 || source->text[start - 1] == '\n';
  const char *line_end = memchr(source->text + at, '\n', source->size - at);
  const char *eol = line_end && line_end > source->text && line_end[-1] == '\r' ? "\r\n" : "\n";
  bf_text text = {0};
  bf_text_puts(&text, is_first ? "" : eol);
  if (is_first && (array->is_called || array->suggestion->map.element_pad_bytes))
    bf_text_add(&text, source->text + start, at - start);
  bf_patch_write_definition(source, array, &text);
  bf_text_puts(&text, eol);
  return add_edit(patch, is_first ? start : at, 0, &text, diagnostic);
}

/* name[i] becomes name[macro(i)]; what stands in the subscript stays, with edits of its own. */
static int add_call(bf_patch *patch, const bf_patch_array *array, const bf_source_use *use,
                    bf_diagnostic *diagnostic) {
  const bf_source_token *open = &patch->source->token[use->subscript[0]];
  const bf_source_token *close = &patch->source->token[open->partner];
  bf_text before = {0}, behind = {0};
  bf_text_addf(&before, "%s(", array->macro);
  bf_text_puts(&behind, ")");
  int error = add_edit(patch, open->at + 1, 0, &before, diagnostic);
  int second = add_edit(patch, close->at, 0, &behind, diagnostic);
  return error ? error : second;
}

static int add_uses(bf_patch *patch, const bf_patch_array *array, const bf_source_use *use,
                    size_t uses, bf_diagnostic *diagnostic) {
  bool is_flat = array->declared->dimensions == 1;
  for (size_t i = 0; i < uses; i++) {
    bf_text text = {0};
    if (is_flat) {
      BF_TRY(add_call(patch, array, &use[i], diagnostic));
      continue;
    }
    size_t at, size = span(patch->source, use[i].token, use[i].end, &at);
    bf_patch_write_after(patch->source, array, &use[i], &text);
    BF_TRY(add_edit(patch, at, size, &text, diagnostic));
  }
  return BF_OK;
}

/* Makes the dimension that grows longer, of a declaration and of all that is passed to the same
 * functions. */
static int add_dimension(bf_patch *patch, const bf_patch_array *array,
                         const bf_source_family *family, bf_diagnostic *diagnostic) {
  uint64_t by;
  unsigned grown = grown_dimension(array, &by);
  bool is_alone = family->members == 1 || array->declared->dimensions == 1;
  if (grown == array->declared->dimensions)
    return BF_OK;
  for (size_t i = 0; i < (is_alone ? 1 : family->members); i++) {
    const bf_source_array *own = is_alone ? array->declared : &family->member[i];
    bf_text text = {0};
    size_t open = own->dimension[grown], at;
    size_t size = span(patch->source, open + 1, patch->source->token[open].partner, &at);
    write_grown(patch->source, array, open + 1, patch->source->token[open].partner, by, &text);
    BF_TRY(add_edit(patch, at, size, &text, diagnostic));
  }
  return BF_OK;
}

/* Whether the tokens first to end-1 say what is between the brackets of a dimension. */
static bool is_dimension(const bf_source *source, const bf_source_array *declared, size_t open,
                         size_t first, size_t end) {
  size_t from = open + 1, to = source->token[open].partner;
  uint64_t one, other;
  if (bf_source_value(source, declared, NULL, from, to, &one) &&
      bf_source_value(source, declared, NULL, first, end, &other))
    return one == other;
  bool is_same = end - first == to - from;
  for (size_t i = first; i < end && is_same; i++) {
    const bf_source_token *a = &source->token[i], *b = &source->token[from + (i - first)];
    is_same =
        a->size == b->size && memcmp(source->text + a->at, source->text + b->at, a->size) == 0;
  }
  return is_same;
}

/* The first token of each argument of the call whose ( is at open, and behind each its comma or the
 * parenthesis. Returns how many there are, at most `most`. */
static unsigned list_arguments(const bf_source *source, size_t open, unsigned most,
                               size_t argument[][2]) {
  unsigned count = 0;
  size_t close = source->token[open].partner, first = open + 1;
  for (size_t i = first; i <= close && close < source->tokens && count < most; i++) {
    bool opens = bf_source_is(source, i, "(") || bf_source_is(source, i, "[") ||
                 bf_source_is(source, i, "{");
    if (opens && source->token[i].partner < close) {
      i = source->token[i].partner;
    } else if (i == close || bf_source_is(source, i, ",")) {
      argument[count][0] = first;
      argument[count++][1] = i;
      first = i + 1;
    }
  }
  return count;
}

/* Where a function of wmma loads or stores a tile of an array, with the length of its rows as the
 * distance between those of the tile: that distance grows with them. */
static int add_tile_strides(bf_patch *patch, const bf_patch_array *array,
                            bf_diagnostic *diagnostic) {
  const bf_source *source = patch->source;
  const bf_source_array *declared = array->declared;
  uint64_t by;
  unsigned grown = grown_dimension(array, &by);
  if (grown + 1 != declared->dimensions || grown == 0)
    return BF_OK;
  for (size_t i = declared->end; i + 1 < declared->scope_end; i++) {
    bool is_load = bf_source_is(source, i, "load_matrix_sync");
    size_t argument[4][2];
    if ((!is_load && !bf_source_is(source, i, "store_matrix_sync")) ||
        !bf_source_is(source, i + 1, "(") || list_arguments(source, i + 1, 4, argument) < 3)
      continue;
    size_t first = argument[2][0], end = argument[2][1], at;
    bool is_named = false;
    for (size_t k = argument[is_load][0]; k < argument[is_load][1]; k++)
      is_named = is_named || bf_source_is_use(source, declared, k);
    if (!is_named || first == end ||
        !is_dimension(source, declared, declared->dimension[grown], first, end))
      continue;
    bf_text text = {0};
    size_t size = span(source, first, end, &at);
    write_grown(source, array, first, end, by, &text);
    BF_TRY(add_edit(patch, at, size, &text, diagnostic));
  }
  return BF_OK;
}

/* Puts the class of a longer element in the place of its type. */
static int add_element(bf_patch *patch, const bf_patch_array *array, bf_diagnostic *diagnostic) {
  size_t first, end, at;
  bf_text text = {0};
  if (!array->suggestion->map.element_pad_bytes ||
      !find_type(patch->source, array->declared, &first, &end))
    return BF_OK;
  BF_TRY(add_macro(patch, array, diagnostic));
  bool is_named = first > 0 && bf_source_is(patch->source, first - 1, "typename");
  size_t size = span(patch->source, is_named ? first - 1 : first, end, &at);
  bf_text_puts(&text, array->macro);
  return add_edit(patch, at, size, &text, diagnostic);
}

/* Why elements cannot grow; or NULL. */
static const char *element_obstacle(const bf_source *source, const bf_patch_array *array,
                                    const bf_source_use *use, size_t uses) {
  size_t first, end;
  if (!array->is_tentative || !find_type(source, array->declared, &first, &end) ||
      bf_source_type_bytes(array->declared->type))
    return "its element type would have to grow";
  for (size_t i = 0; i < uses; i++) {
    size_t before = use[i].token - 1;
    while (before > 0 && bf_source_is(source, before, "("))
      before--;
    if (bf_source_is(source, before, "sizeof") || bf_source_is(source, before, "decltype"))
      return "its element type would have to grow, and its size is asked for";
  }
  return NULL;
}

/* Why an array that is passed to functions cannot grow; or NULL. Parameters with subscripts grow
 * with it, which is seen in the patched source. */
static const char *family_obstacle(const bf_source_family *family, const bf_patch_array *array) {
  const bf_index_map *map = &array->suggestion->map;
  bool is_flat = array->declared->dimensions == 1, is_bound = false, needs_types = false;
  if (family->members == 1 || !map->row_elements)
    return NULL;
  for (size_t i = 0; i < family->members; i++)
    is_bound |= family->member[i].is_reference;
  for (unsigned i = 0; i < map->cases; i++)
    needs_types |= needs_size(map, &map->pad_case[i]);
  if (is_flat && family->roots > 1)
    return "other arrays are passed to the same functions, and would have to grow too";
  if (is_flat ? is_bound : !array->is_tentative || needs_types)
    return "functions that it is passed to would have to be changed";
  return NULL;
}

/* Why an array cannot be changed, whatever its uses are; or NULL. */
static const char *obstacle(const bf_patch_array *array) {
  const bf_index_map *map = &array->suggestion->map;
  if (array->declared->is_open && (!map->terms || array->suggestion->extra_bytes))
    return "its size is given at launch, and not known to be whole rows of banks";
  if (array->array->dimensions != array->declared->dimensions)
    return "its dimensions are not known";
  if (array->declared->is_alias && !map->terms)
    return "its type, which others may have too, would have to grow";
  if (map->terms && array->suggestion->extra_bytes)
    return "it would have to grow: its elements are no whole rows of banks";
  return NULL;
}

/* Whether a use has a subscript that would be computed twice and must not be. */
static bool repeats_effect(const bf_source *source, const bf_patch_array *array,
                           const bf_source_use *use) {
  unsigned repeated = bf_index_repeated(&array->suggestion->map, array->array);
  for (unsigned i = 0; i < array->declared->dimensions && !use->is_row; i++) {
    size_t open = use->subscript[i];
    if (repeated >> i & 1 && !bf_source_is_pure(source, open + 1, source->token[open].partner))
      return true;
  }
  return false;
}

void bf_patch_find_effects(const bf_source *source, const bf_source_use *use, size_t uses,
                           bf_patch_array *array) {
  array->is_called = false;
  array->home = 0;
  for (size_t i = 0; i < uses; i++) {
    array->is_called = array->is_called || repeats_effect(source, array, &use[i]);
    if (use[i].home && (!array->home || use[i].home < array->home))
      array->home = use[i].home;
  }
}

static int compare_edits(const void *a, const void *b) {
  const bf_edit *first = a, *second = b;
  if (first->at != second->at)
    return first->at < second->at ? -1 : 1;
  return first->size < second->size ? -1 : first->size > second->size;
}

/* Whether two edits change the same bytes; they are sorted. */
static bool has_overlap(const bf_patch *patch) {
  size_t end = 0;
  for (size_t i = 0; i < patch->edits; i++) {
    if (patch->edit[i].at < end)
      return true;
    end = patch->edit[i].at + patch->edit[i].size;
  }
  return false;
}

/* Adds all edits of an array. */
static int add_all(bf_patch *patch, const bf_patch_array *array, const bf_source_family *family,
                   const bf_source_use *use, size_t uses, bf_diagnostic *diagnostic) {
  const bf_index_map *map = &array->suggestion->map;
  bool is_direct = bf_index_is_direct(map, array->array) && !array->is_called;
  if (!is_direct)
    BF_TRY(add_macro(patch, array, diagnostic));
  if (!is_direct || map->terms)
    BF_TRY(add_uses(patch, array, use, uses, diagnostic));
  BF_TRY(add_element(patch, array, diagnostic));
  if (array->is_tentative)
    BF_TRY(add_tile_strides(patch, array, diagnostic));
  return add_dimension(patch, array, family, diagnostic);
}

int bf_patch_add(bf_patch *patch, bf_patch_array *array, char problem[200],
                 bf_diagnostic *diagnostic) {
  bf_source_use *use;
  size_t uses, before = patch->edits;
  bool moves = array->is_tentative && array->suggestion->map.terms;
  BF_TRY((moves ? bf_source_pointed_uses : bf_source_uses)(patch->source, array->declared, &use,
                                                           &uses, problem, diagnostic));
  if (array->is_tentative && !moves && !array->suggestion->map.element_pad_bytes)
    problem[0] = 0;
  const bf_source_family *family;
  BF_TRY(bf_source_find_family(patch->source, array->declared, &family, diagnostic));
  const char *reason = obstacle(array);
  if (!reason)
    reason = family_obstacle(family, array);
  bool lengthens = array->suggestion->map.element_pad_bytes > 0;
  if (!reason && lengthens && family->members > 1)
    reason = "its element type would have to grow, and functions are given it";
  if (!reason && lengthens)
    reason = element_obstacle(patch->source, array, use, uses);
  if (reason)
    snprintf(problem, 200, "%s", reason);
  bool keeps_rows = array->suggestion->map.row_elements &&
                    array->suggestion->map.padded_dimension + 1 == array->declared->dimensions;
  for (size_t i = 0; i < uses && !problem[0] && !keeps_rows; i++)
    if (use[i].is_row)
      snprintf(problem, 200, "it is used with fewer subscripts in line %u",
               patch->source->token[use[i].token].line);
  bf_patch_find_effects(patch->source, use, uses, array);
  if (!problem[0] && array->home && array->suggestion->map.only_of)
    snprintf(problem, 200, "it is passed to functions, which do not know its size");
  if (problem[0])
    return BF_OK;
  bf_edit *kept = malloc((before + 1) * sizeof *kept);
  if (!kept)
    return bf_no_memory(diagnostic);
  if (before)
    memcpy(kept, patch->edit, before * sizeof *kept);
  int error = add_all(patch, array, family, use, uses, diagnostic);
  if (patch->edits)
    qsort(patch->edit, patch->edits, sizeof *patch->edit, compare_edits);
  if (!error && has_overlap(patch)) {
    snprintf(problem, 200, "its subscripts name an array that is changed too");
    memcpy(patch->edit, kept, before * sizeof *kept);
    patch->edits = before;
  }
  free(kept);
  return error;
}

/* ---- The changed source ---- */

void bf_patch_write_source(bf_patch *patch, bf_text *text) {
  size_t at = 0;
  for (size_t i = 0; i < patch->edits; i++) {
    const bf_edit *edit = &patch->edit[i];
    bf_text_add(text, patch->source->text + at, edit->at - at);
    bf_text_puts(text, edit->text);
    at = edit->at + edit->size;
  }
  bf_text_add(text, patch->source->text + at, patch->source->size - at);
}
