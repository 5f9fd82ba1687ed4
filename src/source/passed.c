/* Arrays that are passed to functions: `step(data, i)` with `__device__ void step(float *v, int i)`
 * makes each v[..] in step an element of data, where step is given nothing else anywhere. */
#include "source/passed.h"

#include <string.h>

/* Whether a token is a word. */
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
  return bf_source_is(source, i, "(") ? i : source->tokens;
}

/* Whether the tokens of a list of parameters or arguments are plain enough to be told apart. */
static bool has_plain_list(const bf_source *source, size_t open) {
  for (size_t i = open; i < source->token[open].partner; i++)
    if (bf_source_is(source, i, "<") || bf_source_is(source, i, "{") ||
        source->token[i].in_directive)
      return false;
  return source->token[open].partner < source->tokens;
}

/* First and last token of an entry of a list; false where it is not there. */
static bool find_entry(const bf_source *source, size_t open, unsigned number, size_t *first,
                       size_t *end) {
  size_t close = source->token[open].partner;
  *first = open + 1;
  for (size_t i = open + 1; i <= close; i++) {
    bool opens = bf_source_is(source, i, "(") || bf_source_is(source, i, "[");
    if (opens && source->token[i].partner < close) {
      i = source->token[i].partner;
      continue;
    }
    if (i < close && !bf_source_is(source, i, ","))
      continue;
    *end = i;
    if (number-- == 0)
      return *end > *first;
    *first = i + 1;
  }
  return false;
}

/* Whether two tokens read the same. */
static bool are_same(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *x = &source->token[a], *y = &source->token[b];
  return x->size == y->size && memcmp(source->text + x->at, source->text + y->at, x->size) == 0;
}

/* Whether a name with its ( is a definition: the body follows, and __device__ stands before. */
static bool is_definition(const bf_source *source, size_t name, size_t open) {
  size_t body = source->token[open].partner + 1, start = bf_source_statement(source, name);
  bool is_device = false;
  for (size_t i = start; i < name; i++)
    is_device |= bf_source_is(source, i, "__device__");
  return is_device && open == name + 1 && bf_source_is(source, body, "{") &&
         source->token[body].partner < source->tokens;
}

/* The one definition of a function, where each other mention of it is a call that passes the array
 * as that argument; tokens: that is not so. */
static size_t find_definition(const bf_source *source, const bf_source_array *array, size_t name,
                              unsigned argument) {
  size_t found = source->tokens, first, end;
  for (size_t i = 0; i < source->tokens; i++) {
    if (!is_word(source, i) || !are_same(source, i, name))
      continue;
    size_t open = open_behind(source, i);
    if (open == source->tokens || !has_plain_list(source, open))
      return source->tokens;
    if (is_definition(source, i, open)) {
      if (found < source->tokens)
        return source->tokens;
      found = i;
      continue;
    }
    bool is_own = i >= array->end && i < array->scope_end && name_before(source, open) == i &&
                  find_entry(source, open, argument, &first, &end) && end == first + 1 &&
                  bf_source_is(source, first, array->name);
    if (!is_own)
      return source->tokens;
  }
  return found;
}

/* Fills what a parameter is to the body of its function: an array of one dimension. False where it
 * is no plain pointer. */
static bool read_parameter(const bf_source *source, size_t name, unsigned argument,
                           bf_source_array *inner) {
  size_t first, end, stars = 0, body = source->token[name + 1].partner + 1;
  if (!find_entry(source, name + 1, argument, &first, &end) || !is_word(source, end - 1) ||
      source->token[end - 1].size >= BF_SOURCE_MOST_NAME)
    return false;
  for (size_t i = first; i + 1 < end; i++) {
    stars += bf_source_is(source, i, "*");
    if (!is_word(source, i) && !bf_source_is(source, i, "*") && !bf_source_is(source, i, "::"))
      return false;
  }
  const bf_source_token *token = &source->token[end - 1];
  *inner = (bf_source_array){.token = end - 1,
                             .statement = bf_source_statement(source, name),
                             .end = body + 1,
                             .scope_end = source->token[body].partner,
                             .function = name,
                             .dimensions = 1};
  snprintf(inner->name, sizeof inner->name, "%.*s", (int)token->size, source->text + token->at);
  return stars == 1;
}

bool bf_source_passed(const bf_source *source, const bf_source_array *array, size_t use,
                      bf_source_array *inner) {
  unsigned argument;
  bool is_alone = (bf_source_is(source, use - 1, "(") || bf_source_is(source, use - 1, ",")) &&
                  (bf_source_is(source, use + 1, ")") || bf_source_is(source, use + 1, ","));
  bool is_source =
      strlen(source->file) > 3 && strcmp(source->file + strlen(source->file) - 3, ".cu") == 0;
  if (!is_alone || !is_source || array->dimensions != 1 || array->is_open || array->is_pointer)
    return false;
  size_t open = find_call(source, use, &argument);
  size_t name = open < source->tokens ? name_before(source, open) : source->tokens;
  if (name == source->tokens)
    return false;
  size_t definition = find_definition(source, array, name, argument);
  return definition < source->tokens && read_parameter(source, definition, argument, inner);
}
