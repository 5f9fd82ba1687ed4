/* Arrays that are passed to functions: `step(data, i)` with `__device__ void step(float *v, int i)`
 * makes each v[..] in step an element of data, and of all else that step is given. */
#include "source/family.h"

#include <string.h>

enum { MOST_MEMBERS = 256, MOST_POINTERS = 16 };

/* ---- Calls and definitions ---- */

static bool is_word(const bf_source *source, size_t index) {
  return index < source->tokens && source->token[index].kind == BF_SOURCE_WORD;
}

/* The ( that a token is an argument of, and which of its arguments it is; tokens where it is none,
 * or something like a template list stands between. */
static size_t find_call(const bf_source *source, size_t index, unsigned *argument) {
  *argument = 0;
  for (size_t i = index; i-- > 0;) {
    bool closes = bf_source_is(source, i, ")") || bf_source_is(source, i, "]");
    if (bf_source_is(source, i, "("))
      return i;
    if (closes && source->token[i].partner < i)
      i = source->token[i].partner;
    else if (closes || bf_source_is(source, i, "<") || bf_source_is(source, i, ";") ||
             bf_source_is(source, i, "{") || bf_source_is(source, i, "}") ||
             bf_source_is(source, i, "["))
      return source->tokens;
    *argument += bf_source_is(source, i, ",");
  }
  return source->tokens;
}

/* The name before the ( of a call or a definition, past template arguments; tokens: there is none,
 * or it is a member of something. */
static size_t name_before(const bf_source *source, size_t open) {
  size_t i = open;
  if (i > 0 && bf_source_is(source, i - 1, ">")) {
    for (i--; i > 0 && !bf_source_is(source, i, "<"); i--)
      if (bf_source_is(source, i, ";") || bf_source_is(source, i, "{"))
        return source->tokens;
  }
  bool is_plain = i > 1 && is_word(source, i - 1) && !bf_source_is(source, i - 2, ".") &&
                  !bf_source_is(source, i - 2, "->") && !bf_source_is(source, i - 2, "::");
  return is_plain ? i - 1 : source->tokens;
}

/* The ( behind a name that is called, past template arguments; tokens: it is not. */
static size_t open_behind(const bf_source *source, size_t name) {
  size_t i = name + 1;
  if (bf_source_is(source, i, "<"))
    while (i < source->tokens && !bf_source_is(source, i++, ">"))
      if (bf_source_is(source, i, ";") || bf_source_is(source, i, "{"))
        return source->tokens;
  bool is_list = bf_source_is(source, i, "(") && source->token[i].partner < source->tokens;
  return is_list ? i : source->tokens;
}

/* A list of parameters or arguments in parentheses. */
typedef struct entries {
  bool is_plain; /* its entries can be told apart */
  unsigned count;
  size_t first, end; /* of the entry that is asked for */
} entries;

/* Reads a list. has_types: < and > are those of templates; in arguments they may be comparisons. */
static entries read_entries(const bf_source *source, size_t open, unsigned wanted, bool has_types) {
  size_t close = source->token[open].partner, first = open + 1;
  entries e = {.is_plain = true, .count = close > open + 1};
  int depth = 0;
  for (size_t i = open + 1; i <= close && e.is_plain; i++) {
    bool opens = bf_source_is(source, i, "(") || bf_source_is(source, i, "[");
    if (opens && source->token[i].partner < close) {
      i = source->token[i].partner;
      continue;
    }
    depth += bf_source_is(source, i, "<");
    depth -= bf_source_is(source, i, ">") + 2 * bf_source_is(source, i, ">>");
    e.is_plain = (has_types || depth == 0) && !bf_source_is(source, i, "{") &&
                 !source->token[i].in_directive;
    bool is_end = i == close || (depth == 0 && bf_source_is(source, i, ","));
    if (!is_end)
      continue;
    if (e.count == wanted + 1) {
      e.first = first;
      e.end = i;
    }
    e.count += i < close;
    first = i + 1;
  }
  e.is_plain = e.is_plain && depth == 0;
  return e;
}

/* Whether two tokens read the same. */
static bool are_same(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *x = &source->token[a], *y = &source->token[b];
  return x->size == y->size && memcmp(source->text + x->at, source->text + y->at, x->size) == 0;
}

/* What a mention of a function is. */
typedef enum mention { DEFINED, DECLARED, CALLED, OTHERWISE } mention;

static mention mention_of(const bf_source *source, size_t name, size_t open) {
  size_t behind = source->token[open].partner + 1;
  bool is_device = false;
  for (size_t i = bf_source_statement(source, name); i < name; i++)
    is_device |= bf_source_is(source, i, "__device__");
  if (is_device && open == name + 1 && bf_source_is(source, behind, "{"))
    return source->token[behind].partner < source->tokens ? DEFINED : OTHERWISE;
  if (is_device && open == name + 1 && bf_source_is(source, behind, ";"))
    return DECLARED;
  return name_before(source, open) == name ? CALLED : OTHERWISE;
}

/* The one definition of a function with so many parameters; tokens: there is none, or several. */
static size_t find_definition(const bf_source *source, size_t name, unsigned parameters) {
  size_t found = source->tokens;
  for (size_t i = 0; i < source->tokens; i++) {
    if (!is_word(source, i) || !are_same(source, i, name))
      continue;
    size_t open = open_behind(source, i);
    if (open == source->tokens || mention_of(source, i, open) != DEFINED)
      continue;
    entries e = read_entries(source, open, 0, true);
    if (!e.is_plain)
      return source->tokens;
    if (e.count != parameters)
      continue;
    if (found < source->tokens)
      return source->tokens;
    found = i;
  }
  return found;
}

/* What stands between the type of a parameter and its name. */
typedef struct declarator {
  size_t name;  /* token */
  size_t after; /* behind the name, or behind the ) of one in parentheses */
  bool leads;   /* by a * or, in parentheses, by a * or & */
  bool is_reference;
} declarator;

/* Reads `type *name`, `type name[2][3]`, `type (*name)[3]` or `type (&name)[2][3]`; false for
 * others. */
static bool read_declarator(const bf_source *source, entries e, declarator *d) {
  size_t at = e.first, end = e.end;
  *d = (declarator){.after = end};
  while (at < end && (is_word(source, at) || bf_source_is(source, at, "::")))
    at++;
  if (at == end || at == e.first)
    return false;
  if (bf_source_is(source, at, "[")) {
    d->name = d->after = at;
    d->name--;
    return is_word(source, d->name) && d->name > e.first;
  }
  if (bf_source_is(source, at, "(")) {
    end = source->token[at].partner;
    d->after = end + 1;
    at++;
    d->is_reference = bf_source_is(source, at, "&");
  }
  d->leads = bf_source_is(source, at, "*") || d->is_reference;
  d->name = end - 1;
  for (size_t i = at + 1; i < end; i++)
    if (!is_word(source, i))
      return false;
  return d->leads && end < source->tokens && end > at + 1;
}

/* Fills what a parameter is to the body of its function: an array of as many dimensions as it has
 * subscripts. False where it is something else. */
static bool read_parameter(const bf_source *source, size_t name, unsigned number,
                           bf_source_array *inner) {
  size_t body = source->token[name + 1].partner + 1;
  entries e = read_entries(source, name + 1, number, true);
  declarator d;
  if (!e.is_plain || !read_declarator(source, e, &d) ||
      source->token[d.name].size >= BF_SOURCE_MOST_NAME)
    return false;
  *inner = (bf_source_array){.token = d.name,
                             .statement = bf_source_statement(source, name),
                             .end = body + 1,
                             .scope_end = source->token[body].partner,
                             .function = name,
                             .is_reference = d.is_reference};
  if (d.leads && !d.is_reference)
    inner->dimension[inner->dimensions++] = source->tokens;
  while (d.after < e.end && bf_source_is(source, d.after, "[") &&
         inner->dimensions < BF_SOURCE_MOST_DIMENSIONS) {
    inner->dimension[inner->dimensions++] = d.after;
    d.after = source->token[d.after].partner + 1;
  }
  const bf_source_token *token = &source->token[d.name];
  snprintf(inner->name, sizeof inner->name, "%.*s", (int)token->size, source->text + token->at);
  return d.after == e.end && inner->dimensions > 0;
}

bool bf_source_is_bound(const bf_source *source, size_t first, size_t end) {
  unsigned argument;
  bool is_alone = (bf_source_is(source, first - 1, "(") || bf_source_is(source, first - 1, ",")) &&
                  (bf_source_is(source, end, ")") || bf_source_is(source, end, ","));
  size_t open = is_alone ? find_call(source, first, &argument) : source->tokens;
  size_t name = open < source->tokens ? name_before(source, open) : source->tokens;
  for (size_t i = 0; i < source->tokens && name < source->tokens; i++) {
    size_t list =
        is_word(source, i) && are_same(source, i, name) ? open_behind(source, i) : source->tokens;
    if (list == source->tokens || mention_of(source, i, list) != DEFINED)
      continue;
    entries e = read_entries(source, list, argument, true);
    for (size_t k = e.first; k < e.end; k++)
      if (bf_source_is(source, k, "&") || bf_source_is(source, k, "&&"))
        return true;
  }
  return false;
}

/* ---- Names ---- */

/* The parameter of a function that has a name; false: it has none, or it is no pointer. */
static bool find_parameter(const bf_source *source, size_t function, size_t name,
                           bf_source_array *found) {
  entries all = read_entries(source, function + 1, 0, true);
  for (unsigned i = 0; all.is_plain && i < all.count; i++)
    if (read_parameter(source, function, i, found) && are_same(source, found->token, name))
      return true;
  return false;
}

/* The shared array, or pointer into shared memory, of a function that has a name. */
static int find_shared(bf_source *source, size_t function, size_t name, bf_source_array *found,
                       bool *is_found, bf_diagnostic *diagnostic) {
  bf_source_array *list, pointer[MOST_POINTERS];
  size_t count, pointers;
  BF_TRY(bf_source_arrays(source, &list, &count, diagnostic));
  for (size_t i = 0; i < count && !*is_found; i++) {
    bool is_near = list[i].function == function || list[i].function >= source->tokens;
    *is_found =
        list[i].function == function && !list[i].is_open && are_same(source, list[i].token, name);
    *found = list[i];
    if (*is_found || !is_near || !list[i].is_open)
      continue;
    BF_TRY(bf_source_carved(source, function, list[i].name, pointer, MOST_POINTERS, &pointers));
    for (size_t k = 0; k < pointers && !*is_found; k++) {
      *found = pointer[k];
      *is_found = are_same(source, pointer[k].token, name);
    }
  }
  return BF_OK;
}

/* ---- The family ---- */

/* Makes room for one more in a list of the arena. */
static int grow(bf_source *source, void **list, size_t count, size_t *capacity, size_t size,
                bf_diagnostic *diagnostic) {
  if (count < *capacity)
    return BF_OK;
  size_t wanted = *capacity ? 2 * *capacity : 4;
  void *grown = bf_arena_alloc(&source->arena, wanted * size);
  if (!grown)
    return bf_no_memory(diagnostic);
  if (count)
    memcpy(grown, *list, count * size);
  *list = grown;
  *capacity = wanted;
  return BF_OK;
}

static bool has_member(const bf_source_family *family, size_t token) {
  for (size_t i = 0; i < family->members; i++)
    if (family->member[i].token == token)
      return true;
  return false;
}

/* Adds a member that is not there yet. */
static int add_member(bf_source *source, bf_source_family *family, const bf_source_array *array,
                      bf_diagnostic *diagnostic) {
  if (has_member(family, array->token))
    return BF_OK;
  if (family->members == MOST_MEMBERS)
    snprintf(family->problem, sizeof family->problem, "it is passed on too often");
  if (family->problem[0])
    return BF_OK;
  BF_TRY(grow(source, (void **)&family->member, family->members, &family->capacity,
              sizeof *family->member, diagnostic));
  family->member[family->members++] = *array;
  return BF_OK;
}

bool bf_source_is_given(const bf_source_family *family, size_t token) {
  for (size_t i = 0; i < family->givens; i++)
    if (family->given[i] == token)
      return true;
  return false;
}

/* Adds what a call gives as one of its arguments to a family; else says that it is something. */
static int add_given(bf_source *source, bf_source_family *family, size_t open, unsigned argument,
                     bf_diagnostic *diagnostic) {
  entries e = read_entries(source, open, argument, false);
  bf_source_array place = {0}, found;
  bool is_found = false;
  if (e.is_plain && e.end == e.first + 1 && is_word(source, e.first)) {
    bf_source_scope(source, e.first, &place);
    bool is_inside = place.function < source->tokens;
    is_found = is_inside && find_parameter(source, place.function, e.first, &found);
    if (is_inside && !is_found)
      BF_TRY(find_shared(source, place.function, e.first, &found, &is_found, diagnostic));
  }
  if (!is_found || found.dimensions != family->member[0].dimensions) {
    snprintf(family->problem, sizeof family->problem,
             "a function that it is passed to is given something else in line %u",
             source->token[open].line);
    return BF_OK;
  }
  BF_TRY(grow(source, (void **)&family->given, family->givens, &family->given_capacity,
              sizeof *family->given, diagnostic));
  family->given[family->givens++] = e.first;
  return add_member(source, family, &found, diagnostic);
}

/* Adds what all calls of a function with so many parameters give as one of them. */
static int add_calls(bf_source *source, bf_source_family *family, size_t function,
                     unsigned parameters, unsigned argument, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < source->tokens && !family->problem[0]; i++) {
    if (!is_word(source, i) || !are_same(source, i, function))
      continue;
    size_t open = open_behind(source, i);
    mention what = open < source->tokens ? mention_of(source, i, open) : OTHERWISE;
    entries e = what == CALLED ? read_entries(source, open, argument, false) : (entries){0};
    if (what == OTHERWISE || (what == CALLED && !e.is_plain))
      snprintf(family->problem, sizeof family->problem,
               "a function that it is passed to is used in line %u in a way that is not understood",
               source->token[i].line);
    else if (what == CALLED && e.count == parameters)
      BF_TRY(add_given(source, family, open, argument, diagnostic));
  }
  return BF_OK;
}

/* Follows a use of a member that may be its passing to a function. */
static int follow(bf_source *source, bf_source_family *family, size_t use,
                  bf_diagnostic *diagnostic) {
  unsigned argument;
  bool is_alone = (bf_source_is(source, use - 1, "(") || bf_source_is(source, use - 1, ",")) &&
                  (bf_source_is(source, use + 1, ")") || bf_source_is(source, use + 1, ","));
  if (!is_alone || bf_source_is_given(family, use))
    return BF_OK;
  size_t open = find_call(source, use, &argument);
  size_t name = open < source->tokens ? name_before(source, open) : source->tokens;
  entries e = name < source->tokens ? read_entries(source, open, argument, false) : (entries){0};
  bf_source_array inner;
  if (!e.is_plain)
    return BF_OK;
  size_t definition = find_definition(source, name, e.count);
  if (definition == source->tokens || !read_parameter(source, definition, argument, &inner) ||
      inner.dimensions != family->member[0].dimensions)
    return BF_OK;
  BF_TRY(add_member(source, family, &inner, diagnostic));
  return add_calls(source, family, definition, e.count, argument, diagnostic);
}

/* Adds what calls give to the function of a member that is its parameter. */
static int follow_callers(bf_source *source, bf_source_family *family, bf_source_array array,
                          bf_diagnostic *diagnostic) {
  entries all = read_entries(source, array.function + 1, 0, true);
  for (unsigned i = 0; i < all.count; i++) {
    entries e = read_entries(source, array.function + 1, i, true);
    if (e.first <= array.token && array.token < e.end)
      BF_TRY(add_calls(source, family, array.function, all.count, i, diagnostic));
  }
  return BF_OK;
}

/* Whether a member is the parameter of a function. */
static bool is_parameter(const bf_source *source, const bf_source_array *array) {
  return array->function < source->tokens &&
         array->token < source->token[array->function + 1].partner;
}

/* Puts those that are no parameters first, in the order of the source. */
static void put_roots_first(const bf_source *source, bf_source_family *family) {
  for (size_t i = 0; i < family->members; i++) {
    bf_source_array own = family->member[i];
    size_t at = i;
    if (is_parameter(source, &own))
      continue;
    while (at > 0 && (at > family->roots || family->member[at - 1].token > own.token)) {
      family->member[at] = family->member[at - 1];
      at--;
    }
    family->member[at] = own;
    family->roots++;
  }
}

int bf_source_find_family(bf_source *source, const bf_source_array *array,
                          const bf_source_family **found, bf_diagnostic *diagnostic) {
  for (bf_source_family *known = source->families; known; known = known->next)
    if (has_member(known, array->token)) {
      *found = known;
      return BF_OK;
    }
  bf_source_family *family = bf_arena_alloc(&source->arena, sizeof *family);
  size_t length = strlen(source->file);
  bool is_followed = length > 3 && strcmp(source->file + length - 3, ".cu") == 0 &&
                     (!array->is_open || array->is_pointer);
  if (!family)
    return bf_no_memory(diagnostic);
  *family = (bf_source_family){.next = source->families};
  BF_TRY(add_member(source, family, array, diagnostic));
  for (size_t i = 0; is_followed && i < family->members; i++) {
    bf_source_array own = family->member[i];
    if (is_parameter(source, &own))
      BF_TRY(follow_callers(source, family, own, diagnostic));
    for (size_t k = own.end; k < own.scope_end && !family->problem[0]; k++)
      if (bf_source_is_use(source, &own, k))
        BF_TRY(follow(source, family, k, diagnostic));
  }
  put_roots_first(source, family);
  source->families = family;
  *found = family;
  return BF_OK;
}
