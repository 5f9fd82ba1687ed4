/* Declarations of shared arrays, and uses of them. */
#include "source/family.h"

#include <string.h>

enum { MOST_STATEMENTS = 2048 };

static bool is_one_of(const bf_source *source, size_t index, const char *const *words) {
  for (; *words; words++)
    if (bf_source_is(source, index, *words))
      return true;
  return false;
}

static bool is_word(const bf_source *source, size_t index) {
  return index < source->tokens && source->token[index].kind == BF_SOURCE_WORD;
}

/* ---- Where a declaration is ---- */

/* The name of the function whose body starts with the { at index; tokens where it is none. */
static size_t function_of(const bf_source *source, size_t index) {
  static const char *const control[] = {"if", "for", "while", "switch", "catch", NULL};
  if (index == 0 || !bf_source_is(source, index - 1, ")"))
    return source->tokens;
  size_t open = source->token[index - 1].partner;
  bool is_name = open < index && open > 0 && is_word(source, open - 1) &&
                 !is_one_of(source, open - 1, control);
  return is_name ? open - 1 : source->tokens;
}

/* Going back, passing what is closed. */
void bf_source_scope(const bf_source *source, size_t index, bf_source_array *array) {
  array->scope_end = array->function = source->tokens;
  bool has_block = false;
  for (size_t i = index; i-- > 0;) {
    const bf_source_token *token = &source->token[i];
    if (token->in_directive)
      continue;
    if (bf_source_is(source, i, "}") && token->partner < i) {
      i = token->partner;
    } else if (bf_source_is(source, i, "{")) {
      array->has_open_scope |= token->partner == source->tokens;
      if (!has_block)
        array->scope_end = token->partner;
      has_block = true;
      size_t function = function_of(source, i);
      if (function < source->tokens)
        array->function = function;
    }
  }
}

size_t bf_source_statement(const bf_source *source, size_t index) {
  static const char *const ends[] = {";", "{", "}", NULL};
  while (index > 0 && !source->token[index - 1].in_directive && !is_one_of(source, index - 1, ends))
    index--;
  return index;
}

/* ---- Declarations ---- */

static void copy_word(const bf_source *source, size_t index, char name[BF_SOURCE_MOST_NAME]) {
  const bf_source_token *token = &source->token[index];
  snprintf(name, BF_SOURCE_MOST_NAME, "%.*s", (int)(token->size < 255 ? token->size : 255),
           source->text + token->at);
}

/* Writes the tokens first to end-1 without qualifiers, words apart. */
static void copy_type(const bf_source *source, size_t first, size_t end,
                      char type[BF_SOURCE_MOST_NAME]) {
  static const char *const qualifiers[] = {"__shared__", "extern",   "static", "volatile",
                                           "const",      "typename", NULL};
  static const char *const called[] = {"__align__", "alignas", "__attribute__", NULL};
  bool after_word = false;
  size_t size = 0;
  type[0] = 0;
  for (size_t i = first; i < end; i++) {
    const bf_source_token *token = &source->token[i];
    if (is_one_of(source, i, qualifiers))
      continue;
    if (is_one_of(source, i, called) && bf_source_is(source, i + 1, "(") &&
        source->token[i + 1].partner < end) {
      i = source->token[i + 1].partner;
      continue;
    }
    bool is_name = token->kind == BF_SOURCE_WORD;
    if (size + token->size + 2 > BF_SOURCE_MOST_NAME)
      return;
    if (after_word && is_name)
      type[size++] = ' ';
    memcpy(type + size, source->text + token->at, token->size);
    size += token->size;
    type[size] = 0;
    after_word = is_name;
  }
}

/* Reads the [..][..] behind a name; false where it has none, or they are not closed. */
static bool read_dimensions(const bf_source *source, bf_source_array *array) {
  array->end = array->token + 1;
  while (bf_source_is(source, array->end, "[")) {
    size_t close = source->token[array->end].partner;
    if (close == source->tokens || array->dimensions == BF_SOURCE_MOST_DIMENSIONS)
      return false;
    array->is_open |= close == array->end + 1;
    array->dimension[array->dimensions++] = array->end;
    array->end = close + 1;
  }
  return array->dimensions > 0 &&
         (bf_source_is(source, array->end, ";") || bf_source_is(source, array->end, ","));
}

/* Reads the dimensions of an array whose type has them: `typedef float tile[8][8];` or `using tile
 * = float[8][8];`. type is the token of its name in the declaration. False where it has none, or
 * several definitions. */
static bool read_alias(const bf_source *source, size_t type, bf_source_array *array) {
  size_t found = 0, first = 0;
  for (size_t i = 1; i + 2 < source->tokens; i++) {
    const bf_source_token *a = &source->token[i], *b = &source->token[type];
    bool is_name = i != type && a->size == b->size && !a->in_directive &&
                   memcmp(source->text + a->at, source->text + b->at, a->size) == 0;
    size_t statement = is_name ? bf_source_statement(source, i) : 0, open = i + 1;
    bool is_typedef = is_name && bf_source_is(source, statement, "typedef");
    bool is_using =
        is_name && bf_source_is(source, i - 1, "using") && bf_source_is(source, open, "=");
    while (is_using && open < source->tokens && !bf_source_is(source, open, "[") &&
           !bf_source_is(source, open, ";"))
      open++;
    if ((!is_typedef && !is_using) || !bf_source_is(source, open, "["))
      continue;
    if (found)
      return false;
    found = open;
    first = is_using ? i + 2 : statement + 1;
    copy_type(source, first, is_using ? open : i, array->type);
  }
  for (; bf_source_is(source, found, "[") && array->dimensions < BF_SOURCE_MOST_DIMENSIONS;
       found = source->token[found].partner + 1)
    array->dimension[array->dimensions++] = found;
  array->is_alias = array->dimensions > 0 && bf_source_is(source, found, ";");
  return array->is_alias;
}

/* Growing list of arrays in the arena. */
typedef struct array_list {
  bf_source_array *item;
  size_t count, capacity;
} array_list;

static int add_array(bf_source *source, array_list *list, const bf_source_array *array,
                     bf_diagnostic *diagnostic) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 8;
    bf_source_array *grown = bf_arena_alloc(&source->arena, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    if (list->count)
      memcpy(grown, list->item, list->count * sizeof *grown);
    list->item = grown;
    list->capacity = capacity;
  }
  list->item[list->count++] = *array;
  return BF_OK;
}

/* Adds the arrays that a statement with __shared__ at index declares. Statements with a { are
 * passed over. */
static int read_statement(bf_source *source, size_t index, array_list *list,
                          bf_diagnostic *diagnostic) {
  bf_source_array shared = {.statement = bf_source_statement(source, index)};
  size_t type_end = source->tokens;
  bf_source_scope(source, shared.statement, &shared);
  for (size_t i = index + 1; i < source->tokens; i++) {
    if (bf_source_is(source, i, ";") || bf_source_is(source, i, "{") ||
        source->token[i].in_directive)
      return BF_OK;
    if (bf_source_is(source, i, "(") && source->token[i].partner < source->tokens) {
      i = source->token[i].partner;
      continue;
    }
    bf_source_array array = shared;
    array.token = i;
    if (!is_word(source, i) || source->token[i].size >= BF_SOURCE_MOST_NAME)
      continue;
    bool is_bare = bf_source_is(source, i + 1, ";") || bf_source_is(source, i + 1, ",");
    bool is_first = type_end == source->tokens;
    if (!read_dimensions(source, &array)) {
      size_t type = is_first ? i - 1 : type_end - 1;
      array.dimensions = 0;
      array.end = i + 1;
      if (!is_bare || !is_word(source, type) || bf_source_is(source, type, "__shared__"))
        continue;
      if (!read_alias(source, type, &array)) { /* a number: its type is that of arrays behind it */
        type_end = is_first ? i : type_end;
        continue;
      }
    }
    type_end = is_first ? i : type_end;
    copy_word(source, i, array.name);
    if (!array.is_alias)
      copy_type(source, array.statement, type_end, array.type);
    BF_TRY(add_array(source, list, &array, diagnostic));
    i = array.end - 1;
  }
  return BF_OK;
}

int bf_source_arrays(bf_source *source, bf_source_array **list, size_t *count,
                     bf_diagnostic *diagnostic) {
  array_list found = {0};
  size_t statements = 0;
  for (size_t i = 0; i < source->tokens; i++)
    if (bf_source_is(source, i, "__shared__") && !source->token[i].in_directive) {
      if (++statements > MOST_STATEMENTS)
        return bf_fail_file(diagnostic, BF_BAD_INPUT, source->file,
                            "more than %d declarations in shared memory", MOST_STATEMENTS);
      BF_TRY(read_statement(source, i, &found, diagnostic));
    }
  *list = found.item;
  *count = found.count;
  return BF_OK;
}

bool bf_source_function_lines(const bf_source *source, const bf_source_array *array,
                              uint32_t *first, uint32_t *last) {
  if (array->function >= source->tokens)
    return false;
  size_t parenthesis = source->token[array->function + 1].partner;
  if (parenthesis + 1 >= source->tokens)
    return false;
  size_t close = source->token[parenthesis + 1].partner;
  *first = source->token[array->function].line;
  *last = close < source->tokens ? source->token[close].line : UINT32_MAX;
  return true;
}

/* ---- Uses ---- */

/* Whether the & at index takes an address, and is not the "and" of two values. */
static bool is_address_of(const bf_source *source, size_t index) {
  if (index == 0)
    return true;
  const bf_source_token *before = &source->token[index - 1];
  static const char *const ends[] = {")", "]", NULL};
  return before->kind == BF_SOURCE_MARK ? !is_one_of(source, index - 1, ends)
                                        : bf_source_is(source, index - 1, "return");
}

/* Whether the & at index gives an element to an atomic function: atomicAdd(&name[..], ..). */
static bool is_for_atomic(const bf_source *source, size_t index) {
  if (index < 2 || !bf_source_is(source, index - 1, "(") || !is_word(source, index - 2))
    return false;
  const bf_source_token *name = &source->token[index - 2];
  return name->size > 6 && memcmp(source->text + name->at, "atomic", 6) == 0;
}

static bool holds_directive(const bf_source *source, size_t first, size_t end) {
  while (first < end && !source->token[first].in_directive)
    first++;
  return first < end;
}

/* Whether the & at index gives an element to a cast whose result is read or written as one value:
 * reinterpret_cast<float4 *>(&name[..])[0], *(float4 *)&name[..]. The element and those behind it
 * that the value covers stay together, as the widest access to the array tells. */
static bool is_for_cast(const bf_source *source, size_t index, size_t end) {
  if (index < 2)
    return false;
  if (bf_source_is(source, index - 1, ")")) { /* (float4 *)&name[..] */
    size_t open = source->token[index - 1].partner;
    return open > 0 && open < index && bf_source_is(source, index - 2, "*") &&
           bf_source_is(source, open - 1, "*");
  }
  bool is_called = bf_source_is(source, index - 1, "(") && bf_source_is(source, index - 2, ">");
  if (!is_called)
    return false;
  size_t close = source->token[index - 1].partner, first = index - 2;
  while (first > 0 && index - first < 16 && !bf_source_is(source, first, "reinterpret_cast"))
    first--;
  return bf_source_is(source, first, "reinterpret_cast") && close == end &&
         ((bf_source_is(source, close + 1, "[") && bf_source_is(source, close + 2, "0") &&
           bf_source_is(source, close + 3, "]")) ||
          (first > 0 && bf_source_is(source, first - 1, "*")));
}

/* Whether the row at tokens first to end-1 gives away how long it is: by sizeof or decltype, in a
 * loop over its elements, or bound to a reference. */
static bool shows_length(const bf_source *source, size_t first, size_t end) {
  static const char *const asked[] = {"sizeof", "decltype", "size", "ssize", "begin", "end", NULL};
  static const char *const references[] = {"&", "&&", NULL};
  size_t before = first - 1;
  while (before > 0 && bf_source_is(source, before, "("))
    before--;
  if (is_one_of(source, before, asked) || bf_source_is(source, before, ":"))
    return true;
  bool is_initial = bf_source_is(source, before, "=");
  for (size_t i = bf_source_statement(source, first); i < before && is_initial; i++)
    if (is_one_of(source, i, references))
      return true;
  return bf_source_is_bound(source, first, end);
}

static const char as_pointer[] = "it is used as a pointer";
static const char as_address[] = "the address of an element is taken";

/* What is wrong with a use of the array, or NULL. */
static const char *fault_of(const bf_source *source, const bf_source_array *array,
                            bf_source_use *use) {
  static const char *const statements[] = {"return", "else", "do", "case", NULL};
  /* a declaration stands before every use */
  size_t before = use->token - (array->owner[0] ? 3 : 1);
  if (source->token[use->token].in_directive)
    return "a directive names it";
  if (is_word(source, before) && !is_one_of(source, before, statements))
    return "its name is declared again";
  use->end = use->token + 1;
  for (unsigned i = 0; i < array->dimensions; i++) {
    size_t close =
        bf_source_is(source, use->end, "[") ? source->token[use->end].partner : source->tokens;
    use->is_row = close == source->tokens && i + 1 == array->dimensions && i > 0 &&
                  !bf_source_is(source, use->end, "[");
    if (use->is_row)
      break;
    if (close == source->tokens)
      return i ? "it is used with fewer subscripts" : as_pointer;
    if (holds_directive(source, use->end, close))
      return "a directive stands in a subscript";
    use->subscript[i] = use->end;
    use->end = close + 1;
  }
  if (bf_source_is(source, before, "&") && is_address_of(source, before) &&
      !is_for_atomic(source, before) && !is_for_cast(source, before, use->end))
    return as_address;
  if (use->is_row && shows_length(source, use->token, use->end))
    return "the length of a row is taken";
  return NULL;
}

bool bf_source_is_use(const bf_source *source, const bf_source_array *array, size_t index) {
  static const char *const members[] = {".", "->", "::", NULL};
  for (unsigned i = 0; i < array->skips; i++)
    if (index >= array->skip[i][0] && index < array->skip[i][1])
      return false;
  if (source->token[index].kind != BF_SOURCE_WORD || !bf_source_is(source, index, array->name))
    return false;
  if (array->owner[0])
    return bf_source_is(source, index - 1, ".") && bf_source_is(source, index - 2, array->owner) &&
           !is_one_of(source, index - 3, members);
  return !is_one_of(source, index - 1, members);
}

/* The token where an object is used, of which an array is a member, in another way than by its
 * members; tokens: nowhere. */
static size_t find_whole(const bf_source *source, const bf_source_array *array) {
  static const char *const members[] = {".", "->", "::", NULL};
  for (size_t i = array->end; i < array->scope_end && array->owner[0]; i++)
    if (bf_source_is(source, i, array->owner) && !bf_source_is(source, i + 1, ".") &&
        !is_one_of(source, i - 1, members))
      return i;
  return source->tokens;
}

/* Uses of an array while they are collected. */
typedef struct collecting {
  bf_source *source;
  bf_source_use *list;
  size_t count, capacity;
  char *problem;       /* of 200 bytes */
  bool with_addresses; /* of elements, as if they were elements */
} collecting;

static int add_use(collecting *c, const bf_source_use *use, bf_diagnostic *diagnostic) {
  if (c->count == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 16;
    bf_source_use *grown = bf_arena_alloc(&c->source->arena, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    if (c->count)
      memcpy(grown, c->list, c->count * sizeof *grown);
    c->list = grown;
    c->capacity = capacity;
  }
  c->list[c->count++] = *use;
  return BF_OK;
}

/* Collects the uses of a member of a family; home: as uses have it. */
static int collect_uses(collecting *c, const bf_source_family *family, const bf_source_array *array,
                        size_t home, bf_diagnostic *diagnostic) {
  for (size_t i = array->end; i < array->scope_end; i++) {
    bf_source_use use = {.token = i, .home = home};
    if (!bf_source_is_use(c->source, array, i) || bf_source_is_given(family, i))
      continue;
    const char *fault = fault_of(c->source, array, &use);
    if (fault == as_address && c->with_addresses)
      fault = NULL;
    if (fault && !c->problem[0])
      snprintf(c->problem, 200, "%s in line %u", fault, c->source->token[i].line);
    if (!fault)
      BF_TRY(add_use(c, &use, diagnostic));
  }
  return BF_OK;
}

/* Fills the list of uses. */
static int collect(collecting c, const bf_source_array *array, bf_source_use **list, size_t *count,
                   bf_diagnostic *diagnostic) {
  bf_source *source = c.source;
  char *problem = c.problem;
  const bf_source_family *family;
  problem[0] = 0;
  if (array->has_open_scope)
    snprintf(problem, 200, "the braces around it do not match");
  BF_TRY(bf_source_find_family(source, array, &family, diagnostic));
  if (family->problem[0] && !problem[0])
    memcpy(problem, family->problem, 200);
  int error = BF_OK;
  size_t whole = find_whole(source, array);
  if (whole < source->tokens && !problem[0])
    snprintf(problem, 200, "the struct that it is a member of is used as a whole in line %u",
             source->token[whole].line);
  for (size_t i = 0; i < family->members && !error; i++) {
    bool is_own = family->member[i].token == array->token;
    const bf_source_array *own = is_own ? array : &family->member[i];
    size_t home = is_own ? 0 : bf_source_statement(source, own->function) + 1;
    error = collect_uses(&c, family, own, home, diagnostic);
  }
  *list = c.list;
  *count = error ? 0 : c.count;
  return error;
}

int bf_source_uses(bf_source *source, const bf_source_array *array, bf_source_use **list,
                   size_t *count, char problem[200], bf_diagnostic *diagnostic) {
  collecting c = {.source = source, .problem = problem};
  return collect(c, array, list, count, diagnostic);
}

int bf_source_pointed_uses(bf_source *source, const bf_source_array *array, bf_source_use **list,
                           size_t *count, char problem[200], bf_diagnostic *diagnostic) {
  collecting c = {.source = source, .problem = problem, .with_addresses = true};
  return collect(c, array, list, count, diagnostic);
}

bool bf_source_is_only_pointed_to(const bf_source *source, const bf_source_array *array) {
  for (size_t i = array->end; i < array->scope_end; i++) {
    bf_source_use use = {.token = i};
    const char *fault = bf_source_is_use(source, array, i) ? fault_of(source, array, &use) : NULL;
    if (fault && fault != as_address)
      return false;
  }
  return !array->has_open_scope;
}

void bf_source_use_lines(const bf_source *source, const bf_source_use *use, uint32_t *first,
                         uint32_t *last) {
  size_t end = use->end;
  while (end < source->tokens && !bf_source_is(source, end, ";") &&
         !bf_source_is(source, end, "{") && !bf_source_is(source, end, "}"))
    end++;
  *first = source->token[bf_source_statement(source, use->token)].line;
  *last = source->token[end < source->tokens ? end : use->end - 1].line;
}

bool bf_source_is_pure(const bf_source *source, size_t first, size_t end) {
  static const char *const changes[] = {
      "++", "--", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
  static const char *const harmless[] = {"min", "max", "int", "unsigned", "size_t", NULL};
  int depth = 0;
  for (size_t i = first; i < end; i++) {
    bool is_call =
        is_word(source, i) && bf_source_is(source, i + 1, "(") && !is_one_of(source, i, harmless);
    depth += bf_source_is(source, i, "(") - bf_source_is(source, i, ")");
    bool is_list = depth == 0 && bf_source_is(source, i, ",");
    if (is_call || is_list || is_one_of(source, i, changes) || source->token[i].in_directive)
      return false;
  }
  return true;
}

bool bf_source_is_operand(const bf_source *source, size_t first, size_t end) {
  for (size_t i = first; i < end; i++) {
    const bf_source_token *token = &source->token[i];
    bool opens = bf_source_is(source, i, "(") || bf_source_is(source, i, "[");
    bool joins = bf_source_is(source, i, ".") || bf_source_is(source, i, "->") ||
                 bf_source_is(source, i, "::");
    if (opens && token->partner < end)
      i = token->partner;
    else if (token->kind != BF_SOURCE_WORD && token->kind != BF_SOURCE_NUMBER && !joins)
      return false;
  }
  return true;
}
