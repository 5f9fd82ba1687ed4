/* Arrays in a struct that is declared in shared memory: `__shared__ Storage<T, N> s;` with
 * `template <class T, int N> struct Storage { T a[N][N], b[N]; };`. */
#include "source/family.h"

#include <string.h>

static bool is_word(const bf_source *source, size_t index) {
  return index < source->tokens && source->token[index].kind == BF_SOURCE_WORD &&
         !source->token[index].in_directive;
}

static bool are_same(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *x = &source->token[a], *y = &source->token[b];
  return x->size == y->size && memcmp(source->text + x->at, source->text + y->at, x->size) == 0;
}

/* A declaration `__shared__ name<first, ..> object;` */
typedef struct object {
  bf_source_array place; /* where it is, as of an array */
  size_t name, first;    /* of the type: its name, and the first template argument; tokens: none */
} object;

/* Reads the declaration with __shared__ at a token; false where it is none of one object called so.
 */
static bool read_object(const bf_source *source, size_t shared, const char *called, object *o) {
  size_t end = shared + 1, at = shared + 1;
  while (end < source->tokens && !bf_source_is(source, end, ";"))
    end++;
  if (bf_source_is(source, at, "struct"))
    at++;
  *o = (object){
      .place = {.token = end - 1, .statement = bf_source_statement(source, shared), .end = end + 1},
      .name = at,
      .first = source->tokens};
  if (at >= end || !bf_source_is(source, end - 1, called) || !is_word(source, at))
    return false;
  bf_source_scope(source, o->place.statement, &o->place);
  if (at + 2 == end)
    return true;
  o->first = at + 2;
  return bf_source_is(source, at + 1, "<") && bf_source_is(source, end - 2, ">");
}

/* The { of the one definition `struct name {`; tokens where there is another mention of it than
 * that and the declaration. */
static size_t find_struct(const bf_source *source, const object *o) {
  size_t found = source->tokens;
  for (size_t i = 1; i < source->tokens; i++) {
    if (i == o->name || !are_same(source, i, o->name))
      continue;
    if (found < source->tokens || !bf_source_is(source, i - 1, "struct") ||
        !bf_source_is(source, i + 1, "{"))
      return source->tokens;
    found = i + 1;
  }
  return found < source->tokens && source->token[found].partner < source->tokens ? found
                                                                                 : source->tokens;
}

/* Whether the template parameters of the definition whose { is at open, if it has any, have the
 * names that the arguments of the declaration are, so that expressions mean there what they mean in
 * its function. */
static bool are_arguments_names(const bf_source *source, const object *o, size_t open) {
  size_t statement = bf_source_statement(source, open - 1), name = open - 2;
  bool is_template = bf_source_is(source, statement, "template");
  if (!is_template || o->first == source->tokens)
    return !is_template && o->first == source->tokens && statement == name;
  size_t at = statement + 2, argument = o->first;
  while (bf_source_is(source, at - 1, "<") || bf_source_is(source, at - 1, ",")) {
    while (at < name && !bf_source_is(source, at + 1, ",") && !bf_source_is(source, at + 1, ">"))
      at++;
    bool is_same = at < name && is_word(source, at) && are_same(source, at, argument);
    if (!is_same ||
        !(bf_source_is(source, argument + 1, ",") || bf_source_is(source, argument + 1, ">")))
      return false;
    at += 2;
    argument += 2;
    if (bf_source_is(source, at - 1, ">") != bf_source_is(source, argument - 1, ">"))
      return false;
  }
  return at == name;
}

/* Reads a member whose name is at a token; false where it is no array or number. */
static bool read_member(const bf_source *source, const object *o, size_t first, size_t type_end,
                        size_t name, bf_source_array *member) {
  const bf_source_token *token = &source->token[name];
  size_t at = name + 1, used = 0;
  *member = o->place;
  member->token = name;
  for (; bf_source_is(source, at, "[") && member->dimensions < BF_SOURCE_MOST_DIMENSIONS;
       at = source->token[at].partner + 1)
    member->dimension[member->dimensions++] = at;
  snprintf(member->name, sizeof member->name, "%.*s", (int)(token->size < 255 ? token->size : 255),
           source->text + token->at);
  snprintf(member->owner, sizeof member->owner, "%.*s", (int)source->token[o->place.token].size,
           source->text + source->token[o->place.token].at);
  for (size_t i = first; i < type_end; i++)
    used += (size_t)snprintf(member->type + used, used < 200 ? 56 : 0, "%s%.*s", used ? " " : "",
                             (int)(source->token[i].size < 50 ? source->token[i].size : 50),
                             source->text + source->token[i].at);
  return used < 200 && (bf_source_is(source, at, ";") || bf_source_is(source, at, ","));
}

/* Reads the members of the struct whose { is at open; false where it has something else too. */
static bool read_members(const bf_source *source, const object *o, size_t open,
                         bf_source_array *list, size_t most, size_t *count) {
  size_t close = source->token[open].partner, at = open + 1;
  while (at < close) {
    size_t first = at;
    while (at + 1 < close && is_word(source, at) && is_word(source, at + 1))
      at++;
    size_t type_end = at;
    do {
      if (*count == most || type_end == first || !is_word(source, at) ||
          !read_member(source, o, first, type_end, at, &list[*count]))
        return false;
      const bf_source_array *own = &list[(*count)++];
      at =
          own->dimensions ? source->token[own->dimension[own->dimensions - 1]].partner + 2 : at + 2;
    } while (at < close && bf_source_is(source, at - 1, ","));
  }
  return bf_source_is(source, close + 1, ";");
}

bool bf_source_members(const bf_source *source, size_t function, const char *name,
                       bf_source_array *list, size_t most, size_t *count) {
  unsigned objects = 0;
  object o = {.name = 0}, own;
  *count = 0;
  for (size_t i = 0; i < source->tokens; i++)
    if (bf_source_is(source, i, "__shared__") && read_object(source, i, name, &own) &&
        own.place.function == function) {
      o = own;
      objects++;
    }
  size_t open = objects == 1 ? find_struct(source, &o) : source->tokens;
  if (open == source->tokens || !are_arguments_names(source, &o, open) ||
      !read_members(source, &o, open, list, most, count))
    *count = 0;
  return *count > 0;
}
