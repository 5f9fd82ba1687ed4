/* Numbers in CUDA source: dimensions of arrays, and what launches are given. */
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Definitions that are made of definitions are followed so far, and so many names in all. */
enum { MOST_DEPTH = 16, MOST_LOOKUPS = 64 };

typedef struct reading {
  const bf_source *source;
  const bf_source_array *array;
  const char *readable;
  size_t at, end;
  unsigned depth;
  unsigned *lookups; /* left */
  bool is_host;      /* variables have values too */
} reading;

static bool read_sum(reading *r, uint64_t *value);

static bool is_mark(const reading *r, const char *mark) {
  return r->at < r->end && bf_source_is(r->source, r->at, mark);
}

/* ---- Names ---- */

/* Whether two tokens read the same. */
static bool is_same(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *first = &source->token[a], *second = &source->token[b];
  return first->size == second->size &&
         memcmp(source->text + first->at, source->text + second->at, first->size) == 0;
}

/* The value of the tokens first to end-1, one level deeper. */
static bool read_inner(const reading *r, size_t first, size_t end, uint64_t *value) {
  reading inner = *r;
  inner.at = first;
  inner.end = end;
  inner.depth++;
  return inner.depth < MOST_DEPTH && first < end && read_sum(&inner, value) && inner.at == end;
}

/* #define NAME ... where # is at index; false for other directives and names. */
static bool read_macro(const reading *r, size_t name, size_t index, uint64_t *value) {
  const bf_source *source = r->source;
  const bf_source_token *token = source->token;
  if (!bf_source_is(source, index, "#") || !bf_source_is(source, index + 1, "define") ||
      index + 3 >= source->tokens || !is_same(source, index + 2, name))
    return false;
  size_t first = index + 3, end = first;
  bool has_parameters = bf_source_is(source, first, "(") &&
                        token[first].at == token[index + 2].at + token[index + 2].size;
  while (end < source->tokens && token[end].in_directive && !bf_source_is(source, end, "#"))
    end++;
  return !has_parameters && read_inner(r, first, end, value);
}

/* Whether the statement that token index is in starts as that of a constant. */
static bool is_constant(const bf_source *source, size_t index) {
  enum { MOST_WORDS = 256 };
  for (size_t i = index, words = 0; i-- > 0 && words < MOST_WORDS; words++) {
    if (bf_source_is(source, i, "const") || bf_source_is(source, i, "constexpr") ||
        bf_source_is(source, i, "enum"))
      return true;
    if (bf_source_is(source, i, "{"))
      return (i > 0 && bf_source_is(source, i - 1, "enum")) ||
             (i > 1 && bf_source_is(source, i - 2, "enum"));
    if (bf_source_is(source, i, ";") || bf_source_is(source, i, "}"))
      return false;
  }
  return false;
}

/* constexpr int NAME = ...; or enum { NAME = ... } where NAME is at index. */
static bool read_constant(const reading *r, size_t name, size_t index, uint64_t *value) {
  const bf_source *source = r->source;
  if (source->token[index].in_directive || !is_same(source, index, name) ||
      !bf_source_is(source, index + 1, "=") || !is_constant(source, index))
    return false;
  size_t end = index + 2;
  while (end < source->tokens && !bf_source_is(source, end, ";") &&
         !bf_source_is(source, end, ",") && !bf_source_is(source, end, "}"))
    end++;
  return read_inner(r, index + 2, end, value);
}

/* ---- Variables of the host ---- */

static bool is_any(const bf_source *source, size_t index, const char *const *words) {
  for (; *words; words++)
    if (bf_source_is(source, index, *words))
      return true;
  return false;
}

/* Whether what stands at token index may change what is called so: it is assigned, counted, read
 * into, or its address is taken. */
static bool may_change(const bf_source *source, size_t index) {
  static const char *const behind[] = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "<<=", ">>=", NULL};
  static const char *const before[] = {"++", "--", "&", ">>", NULL};
  static const char *const ends[] = {")", "]", NULL};
  bool is_operand = index > 1 && (source->token[index - 2].kind != BF_SOURCE_MARK ||
                                  is_any(source, index - 2, ends));
  if (is_any(source, index + 1, behind))
    return true;
  return index > 0 && is_any(source, index - 1, before) &&
         !(is_operand &&
           (bf_source_is(source, index - 1, "&") || bf_source_is(source, index - 1, ">>")));
}

/* Whether the token at index is the name in `int name = value`, behind the type. */
static bool is_declared(const bf_source *source, size_t index) {
  static const char *const types[] = {"int",  "unsigned", "long",    "short",   "size_t",   "uint",
                                      "auto", "uint32_t", "int32_t", "int64_t", "uint64_t", NULL};
  return index > 0 && is_any(source, index - 1, types) && bf_source_is(source, index + 1, "=");
}

/* The function whose body holds token index: its name, and the tokens first to end-1 of parameters
 * and body. False outside of functions. */
static bool find_function(const bf_source *source, size_t index, size_t *name, size_t *end) {
  static const char *const control[] = {"if", "for", "while", "switch", "catch", NULL};
  bool is_found = false;
  for (size_t i = index; i-- > 1;) {
    const bf_source_token *token = &source->token[i];
    if (bf_source_is(source, i, "}") && token->partner < i) {
      i = token->partner;
      continue;
    }
    size_t open = bf_source_is(source, i, "{") && bf_source_is(source, i - 1, ")")
                      ? source->token[i - 1].partner
                      : source->tokens;
    if (open == 0 || open >= i || source->token[open - 1].kind != BF_SOURCE_WORD ||
        is_any(source, open - 1, control))
      continue;
    *name = open - 1;
    *end = token->partner;
    is_found = true;
  }
  return is_found;
}

/* The end of an argument or parameter that starts at first: a comma outside brackets, or end. */
static size_t argument_end(const bf_source *source, size_t first, size_t end) {
  while (first < end && !bf_source_is(source, first, ",")) {
    size_t partner = source->token[first].partner;
    first = partner > first && partner < end ? partner + 1 : first + 1;
  }
  return first;
}

/* Argument number `which` of the list whose parenthesis is at open; false where there is none. */
static bool find_argument(const bf_source *source, size_t open, unsigned which, size_t *first,
                          size_t *last) {
  size_t end = source->token[open].partner;
  *first = open + 1;
  while (*first < end && end < source->tokens) {
    *last = argument_end(source, *first, end);
    if (which-- == 0)
      return true;
    *first = *last + 1;
  }
  return false;
}

/* Where name is a parameter of the function: the value that all calls of it in the source give. */
static bool read_passed(const reading *r, size_t name, size_t function, uint64_t *value) {
  const bf_source *source = r->source;
  unsigned which = 0;
  size_t first, last;
  bool is_found = false;
  while (find_argument(source, function + 1, which, &first, &last) &&
         !is_same(source, last - 1, name))
    which++;
  if (!find_argument(source, function + 1, which, &first, &last))
    return false;
  for (size_t i = 0; i < source->tokens; i++) {
    size_t open = i + 1;
    if (i == function || !is_same(source, i, function) || source->token[i].in_directive)
      continue;
    if (bf_source_is(source, open, "<"))
      while (open < i + 64 && !bf_source_is(source, open, "("))
        open++;
    if (!bf_source_is(source, open, "("))
      return false; /* it may be called in other ways */
    uint64_t found;
    if (!find_argument(source, open, which, &first, &last) || !read_inner(r, first, last, &found) ||
        (is_found && found != *value))
      return false;
    *value = found;
    is_found = true;
  }
  return is_found;
}

/* The value of a variable of which tokens first to end-1 have a declaration with a value,
 * everywhere the same, and no change; *is_there: it is declared or changed there. */
static bool read_declared(const reading *r, size_t name, size_t first, size_t end, bool *is_there,
                          uint64_t *value) {
  const bf_source *source = r->source;
  *is_there = false;
  for (size_t i = first; i < end; i++) {
    if (source->token[i].in_directive || !is_same(source, i, name) || !may_change(source, i))
      continue;
    size_t stop = argument_end(source, i + 2, end), semicolon = i + 2;
    while (semicolon < stop && !bf_source_is(source, semicolon, ";"))
      semicolon++;
    uint64_t found;
    if (!is_declared(source, i) || !read_inner(r, i + 2, semicolon, &found) ||
        (*is_there && found != *value)) {
      *is_there = true;
      return false;
    }
    *value = found;
    *is_there = true;
  }
  return *is_there;
}

/* The value of a variable of the host: of the function around it, of those that call it, or of the
 * file. */
static bool read_variable(const reading *r, size_t name, uint64_t *value) {
  const bf_source *source = r->source;
  size_t function = 0, end = 0;
  bool is_there = false;
  if (find_function(source, name, &function, &end)) {
    bool is_known = read_declared(r, name, function, end, &is_there, value);
    if (is_there)
      return is_known;
    if (read_passed(r, name, function, value))
      return true;
    for (size_t i = function + 1; i < source->token[function + 1].partner; i++)
      if (is_same(source, i, name))
        return false; /* a parameter of unknown value */
  }
  return read_declared(r, name, 0, source->tokens, &is_there, value);
}

/* The constant of that name whose declaration is the nearest one that can be seen from the token.
 */
static bool read_visible(const reading *r, size_t name, uint64_t *value) {
  const bf_source *source = r->source;
  for (size_t i = name; i-- > 1;) {
    if (bf_source_is(source, i, "}") && source->token[i].partner < i)
      i = source->token[i].partner;
    else if (is_same(source, i, name) && bf_source_is(source, i + 1, "="))
      return read_constant(r, name, i, value);
  }
  return false;
}

bool bf_source_is_dim3(const bf_source *source, size_t index) {
  if (index == 0 || source->token[index].kind != BF_SOURCE_WORD)
    return false;
  if (!bf_source_is(source, index - 1, ","))
    return bf_source_is(source, index - 1, "dim3");
  for (size_t i = index; i-- > 0;) { /* back past what is declared before it */
    bool closes = bf_source_is(source, i, ")") || bf_source_is(source, i, "}");
    if (closes && source->token[i].partner < i)
      i = source->token[i].partner;
    else if (bf_source_is(source, i, "dim3") && source->token[i + 1].kind == BF_SOURCE_WORD)
      return true;
    else if (closes || bf_source_is(source, i, "(") || bf_source_is(source, i, "{") ||
             bf_source_is(source, i, ";") || source->token[i].in_directive)
      return false;
  }
  return false;
}

/* The side of a dim3: name.x where `dim3 name(a, b)` declares it, once. */
static bool read_side(const reading *r, size_t name, uint64_t *value) {
  const bf_source *source = r->source;
  static const char *const sides[] = {"x", "y", "z"};
  unsigned side = 0, found = 0;
  while (side < 3 && !bf_source_is(source, name + 2, sides[side]))
    side++;
  for (size_t i = 1; i + 2 < source->tokens; i++)
    if (is_same(source, i, name) && bf_source_is(source, i + 1, ".") && may_change(source, i + 2))
      return false; /* a side is set somewhere */
  for (size_t i = 1; i < source->tokens && side < 3; i++) {
    size_t open = i + 1 + 2 * bf_source_is(source, i + 1, "=");
    if (!is_same(source, i, name) || !bf_source_is_dim3(source, i) ||
        !(bf_source_is(source, open, "(") || bf_source_is(source, open, "{")) ||
        source->token[open].partner >= source->tokens)
      continue;
    size_t first = open + 1, end = source->token[open].partner;
    for (unsigned k = 0; k < side && first < end; k++) {
      while (first < end && !bf_source_is(source, first, ","))
        first++;
      first++;
    }
    size_t last = first;
    while (last < end && !bf_source_is(source, last, ","))
      last++;
    *value = 1;
    if (found++ || (first < end && !read_inner(r, first, last, value)))
      return false;
  }
  return found == 1;
}

/* ---- Template arguments ---- */

const char *bf_source_template_argument(const char *readable, unsigned index) {
  const char *at = readable ? strchr(readable, '<') : NULL;
  int depth = 0;
  for (at = at ? at + 1 : NULL; at && *at && index > 0; at++) {
    depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
    if (depth < 0)
      return NULL;
    index -= *at == ',' && depth == 0;
  }
  while (at && *at == ' ')
    at++;
  return at;
}

/* The same, if it is a number. */
static bool template_argument(const char *readable, unsigned index, uint64_t *value) {
  const char *at = bf_source_template_argument(readable, index);
  return at && isdigit((unsigned char)*at) && bf_parse_number(&at, value);
}

/* Whether name is a template parameter of the array's function, and which value it has. */
static bool read_parameter(const reading *r, size_t name, uint64_t *value) {
  const bf_source *source = r->source;
  size_t first = r->array->function;
  if (first >= source->tokens)
    return false;
  while (first > 0 && !bf_source_is(source, first - 1, ";") &&
         !bf_source_is(source, first - 1, "}") && !bf_source_is(source, first - 1, "{"))
    first--;
  while (first < r->array->function && !bf_source_is(source, first, "template"))
    first++;
  unsigned index = 0;
  for (size_t i = first + 2; i < r->array->function && !bf_source_is(source, i, ">"); i++) {
    bool ends = bf_source_is(source, i + 1, ",") || bf_source_is(source, i + 1, ">") ||
                bf_source_is(source, i + 1, "=");
    if (ends && is_same(source, i, name))
      return template_argument(r->readable, index, value);
    index += bf_source_is(source, i, ",");
  }
  return false;
}

/* The value of a name. Definitions that differ leave it unknown. */
static bool read_name(const reading *r, size_t name, uint64_t *value) {
  bool is_found = false;
  if (*r->lookups == 0)
    return false;
  --*r->lookups;
  if (read_parameter(r, name, value) || (r->is_host && read_visible(r, name, value)))
    return true;
  for (size_t i = 0; i < r->source->tokens; i++) {
    uint64_t found;
    if (!read_macro(r, name, i, &found) && !read_constant(r, name, i, &found))
      continue;
    if (is_found && found != *value)
      return false;
    *value = found;
    is_found = true;
  }
  return is_found || (r->is_host && read_variable(r, name, value));
}

/* ---- Expressions ---- */

static bool read_number(const reading *r, uint64_t *value) {
  const bf_source_token *token = &r->source->token[r->at];
  char digits[32];
  size_t size = 0;
  for (size_t i = 0; i < token->size && size < sizeof digits - 1; i++)
    if (r->source->text[token->at + i] != '\'')
      digits[size++] = r->source->text[token->at + i];
  digits[size] = 0;
  const char *end = digits;
  if ((digits[0] == '0' && isdigit((unsigned char)digits[1])) || !bf_parse_number(&end, value))
    return false;
  return end[strspn(end, "uUlL")] == 0;
}

static bool read_primary(reading *r, uint64_t *value) {
  if (r->at >= r->end)
    return false;
  const bf_source_token *token = &r->source->token[r->at];
  if (is_mark(r, "(")) {
    r->at++;
    if (++r->depth >= MOST_DEPTH || !read_sum(r, value) || !is_mark(r, ")"))
      return false;
    r->depth--;
    r->at++;
    return true;
  }
  if (r->is_host && token->kind == BF_SOURCE_WORD && bf_source_is(r->source, r->at + 1, ".")) {
    bool is_side = r->at + 3 <= r->end && read_side(r, r->at, value);
    r->at += 3;
    return is_side;
  }
  bool is_known = token->kind == BF_SOURCE_NUMBER ? read_number(r, value)
                  : token->kind == BF_SOURCE_WORD ? read_name(r, r->at, value)
                                                  : false;
  r->at++;
  return is_known;
}

static bool read_product(reading *r, uint64_t *value) {
  if (!read_primary(r, value))
    return false;
  while (is_mark(r, "*") || is_mark(r, "/") || is_mark(r, "%")) {
    char mark = r->source->text[r->source->token[r->at++].at];
    uint64_t right;
    if (!read_primary(r, &right) || (mark != '*' && right == 0))
      return false;
    *value = mark == '*' ? *value * right : mark == '/' ? *value / right : *value % right;
  }
  return true;
}

static bool read_terms(reading *r, uint64_t *value) {
  if (!read_product(r, value))
    return false;
  while (is_mark(r, "+") || is_mark(r, "-")) {
    bool is_plus = is_mark(r, "+");
    uint64_t right;
    r->at++;
    if (!read_product(r, &right) || (!is_plus && right > *value))
      return false;
    *value = is_plus ? *value + right : *value - right;
  }
  return true;
}

static bool read_sum(reading *r, uint64_t *value) {
  if (!read_terms(r, value))
    return false;
  while (is_mark(r, "<<") || is_mark(r, ">>")) {
    bool is_left = is_mark(r, "<<");
    uint64_t right;
    r->at++;
    if (!read_terms(r, &right) || right > 63)
      return false;
    *value = is_left ? *value << right : *value >> right;
  }
  return true;
}

bool bf_source_value(const bf_source *source, const bf_source_array *array, const char *readable,
                     size_t first, size_t end, uint64_t *value) {
  unsigned lookups = MOST_LOOKUPS;
  reading r = {.source = source,
               .array = array,
               .readable = readable,
               .at = first,
               .end = end,
               .lookups = &lookups};
  return first < end && read_sum(&r, value) && r.at == end;
}

bool bf_source_host_value(const bf_source *source, size_t first, size_t end, uint64_t *value) {
  static const bf_source_array nowhere = {.function = SIZE_MAX};
  unsigned lookups = MOST_LOOKUPS;
  reading r = {.source = source,
               .array = &nowhere,
               .at = first,
               .end = end,
               .lookups = &lookups,
               .is_host = true};
  return first < end && read_sum(&r, value) && r.at == end;
}
