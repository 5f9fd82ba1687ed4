/* Launches in CUDA source, kernel<<<grid, block>>>(...): the shapes of blocks that can be known
 * from the source. */
#include "source/launch_shape.h"

#include <string.h>

enum { MOST_THREADS = 1024 }; /* of a block, along one side */

/* The end of an argument that starts at token first: a comma or end outside brackets. */
static size_t argument_end(const bf_source *source, size_t first, size_t end) {
  size_t at = first;
  while (at < end && !bf_source_is(source, at, ",")) {
    bool opens = bf_source_is(source, at, "(") || bf_source_is(source, at, "[") ||
                 bf_source_is(source, at, "{");
    at = opens && source->token[at].partner < end ? source->token[at].partner + 1 : at + 1;
  }
  return at < end ? at : end;
}

static bool same_word(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *left = &source->token[a], *right = &source->token[b];
  return left->size == right->size &&
         memcmp(source->text + left->at, source->text + right->at, left->size) == 0;
}

/* A block or grid that is read. */
typedef struct sizes {
  uint32_t most; /* of a side */
  uint32_t side[3];
  size_t first, end;   /* tokens of the template arguments of the kernel, with < and > */
  uint8_t argument[3]; /* as bf_source_launch has it */
} sizes;

/* 1 and the number of the template argument that is the word at token `word`; 0: none is. */
static uint8_t argument_number(const bf_source *source, const sizes *s, size_t word) {
  uint8_t number = 1;
  for (size_t at = s->first + 1; at + 1 < s->end && number < UINT8_MAX; number++) {
    size_t last = argument_end(source, at, s->end - 1);
    if (last == at + 1 && same_word(source, at, word))
      return number;
    at = last + 1;
  }
  return 0;
}

/* Reads up to three numbers, separated by commas, from first to end-1. */
static bool read_sizes(const bf_source *source, size_t first, size_t end, sizes *s) {
  unsigned count = 0;
  memset(s->argument, 0, sizeof s->argument);
  s->side[0] = s->side[1] = s->side[2] = 1;
  for (; first < end && count < 3; count++) {
    uint64_t value;
    size_t last = argument_end(source, first, end);
    bool is_number = bf_source_host_value(source, first, last, &value) && value && value <= s->most;
    bool is_word = last == first + 1 && source->token[first].kind == BF_SOURCE_WORD;
    if (!is_number && is_word)
      s->argument[count] = argument_number(source, s, first);
    if (!is_number && !s->argument[count])
      return false;
    s->side[count] = is_number ? (uint32_t)value : 0;
    first = last + 1;
  }
  return count > 0;
}

/* The sizes in parentheses or braces behind token at: dim3(32, 8), block(32, 8), block{32, 8}. */
static bool read_bracket(const bf_source *source, size_t at, sizes *s) {
  bool opens = bf_source_is(source, at, "(") || bf_source_is(source, at, "{");
  return opens && source->token[at].partner < source->tokens &&
         read_sizes(source, at + 1, source->token[at].partner, s);
}

/* What a dim3 is declared with at token at: block(32, 8), block{32, 8}, block = dim3(32, 8),
 * block = {32, 8}, or nothing. */
static bool read_declared(const bf_source *source, size_t at, sizes *s) {
  if (bf_source_is(source, at + 1, ";") || bf_source_is(source, at + 1, ",")) {
    memset(s->argument, 0, sizeof s->argument);
    s->side[0] = s->side[1] = s->side[2] = 1;
    return true;
  }
  if (!bf_source_is(source, at + 1, "="))
    return read_bracket(source, at + 1, s);
  size_t first = at + 2 + bf_source_is(source, at + 2, "dim3");
  return (first > at + 2 || bf_source_is(source, first, "{")) && read_bracket(source, first, s);
}

/* Takes `block.x = 64;` behind the declaration of a dim3 at token at, at token member, which is x,
 * y or z; false where it is set in another way, or its value is not known. */
static bool read_member(const bf_source *source, size_t member, sizes *s) {
  static const char *const names[] = {"x", "y", "z"};
  size_t end = member + 2;
  unsigned side = 0;
  uint64_t value;
  while (side < 3 && !bf_source_is(source, member, names[side]))
    side++;
  while (end < source->tokens && !bf_source_is(source, end, ";"))
    end++;
  if (side == 3 || !bf_source_is(source, member + 1, "=") ||
      !bf_source_host_value(source, member + 2, end, &value) || !value || value > s->most)
    return false;
  s->side[side] = (uint32_t)value;
  s->argument[side] = 0;
  return true;
}

/* The sizes of a dim3 that is declared at token at, where they are used at token use: members may
 * be set in between, each in a statement of the same block. */
static bool read_variable(const bf_source *source, size_t at, size_t use, sizes *s) {
  int depth = 0;
  if (!read_declared(source, at, s))
    return false;
  for (size_t i = at + 1; i + 3 < use; i++) {
    depth += bf_source_is(source, i, "{") - bf_source_is(source, i, "}");
    if (!same_word(source, i, at))
      continue;
    bool is_member = bf_source_is(source, i + 1, ".");
    size_t sign = is_member ? i + 3 : i + 1;
    const bf_source_token *token = &source->token[sign];
    bool is_set = token->size && source->text[token->at + token->size - 1] == '=' &&
                  !bf_source_is(source, sign, "==") && !bf_source_is(source, sign, "!=") &&
                  !bf_source_is(source, sign, "<=") && !bf_source_is(source, sign, ">=");
    bool is_statement =
        depth == 0 && (bf_source_is(source, i - 1, ";") || bf_source_is(source, i - 1, "{") ||
                       bf_source_is(source, i - 1, "}"));
    bool is_lent = bf_source_is(source, i - 1, "&") && !is_member;
    if (is_lent || (is_set && !(is_member && is_statement && read_member(source, i + 2, s))))
      return false;
  }
  return true;
}

/* The block of an argument, or the grid: a number, dim3(...), or the name of a dim3 that is
 * declared before. */
static bool read_block(const bf_source *source, size_t first, size_t end, sizes *s) {
  if (bf_source_is(source, first, "dim3"))
    return read_bracket(source, first + 1, s);
  if (end == first + 1 && source->token[first].kind == BF_SOURCE_WORD)
    for (size_t at = first; at-- > 1;)
      if (same_word(source, at, first) && bf_source_is_dim3(source, at))
        return read_variable(source, at, first, s);
  return read_sizes(source, first, end, s);
}

/* Notes which of the arguments in the parentheses at `open` are whole numbers, and which. */
static void read_values(const bf_source *source, size_t open, bf_source_launch *launch) {
  size_t end = bf_source_is(source, open, "(") ? source->token[open].partner : 0, used = 0;
  unsigned number = 0;
  launch->values[0] = 0;
  for (size_t first = open + 1; first < end && end < source->tokens; number++) {
    size_t last = argument_end(source, first, end);
    uint64_t value;
    char text[48];
    if (bf_source_host_value(source, first, last, &value)) {
      int size = snprintf(text, sizeof text, "%s%u=%llu", used ? "," : "", number,
                          (unsigned long long)value);
      if (used + (size_t)size < sizeof launch->values)
        used += (size_t)snprintf(launch->values + used, sizeof launch->values - used, "%s", text);
    }
    first = last + 1;
  }
}

/* Writes template arguments, tokens first to end-1 with their < and >, without spaces: numbers
 * where their values are known, else as they are. */
static void write_arguments(const bf_source *source, size_t first, size_t end,
                            bf_source_launch *launch) {
  size_t length = 0, most = sizeof launch->arguments;
  launch->arguments[0] = 0;
  for (size_t at = first; at < end && length < most;) {
    bool is_mark = at == first || at + 1 == end || bf_source_is(source, at, ",");
    size_t stop = is_mark ? at + 1 : argument_end(source, at, end - 1);
    uint64_t value;
    if (!is_mark && bf_source_host_value(source, at, stop, &value)) {
      length += (size_t)snprintf(launch->arguments + length, most - length, "%llu",
                                 (unsigned long long)value);
      at = stop;
    }
    for (; at < stop && length < most; at++)
      length += (size_t)snprintf(launch->arguments + length, most - length, "%.*s",
                                 (int)source->token[at].size, source->text + source->token[at].at);
  }
}

/* The name of the kernel before <<<, past template arguments, which start at *first; false where
 * there is none. */
static bool read_kernel(const bf_source *source, size_t before, size_t *first,
                        bf_source_launch *launch) {
  size_t at = before;
  unsigned depth = 0;
  while (at-- > 0) {
    if (bf_source_is(source, at, ">"))
      depth++;
    else if (bf_source_is(source, at, ">>"))
      depth += 2;
    else if (bf_source_is(source, at, "<"))
      depth--;
    else if (depth == 0)
      break;
    if (before - at > 64)
      return false;
  }
  if (at >= source->tokens || source->token[at].kind != BF_SOURCE_WORD ||
      source->token[at].size >= sizeof launch->kernel)
    return false;
  snprintf(launch->kernel, sizeof launch->kernel, "%.*s", (int)source->token[at].size,
           source->text + source->token[at].at);
  *first = at + 1;
  write_arguments(source, at + 1, before, launch);
  return true;
}

/* Reads the block and the grid of a launch, arguments that start at tokens block and grid; its
 * kernel's template arguments are the tokens from first to before - 1. */
static void read_launch_sizes(const bf_source *source, size_t grid, size_t block, size_t end,
                              size_t first, size_t before, bf_source_launch *launch) {
  sizes s = {.most = MOST_THREADS, .first = first, .end = before};
  launch->is_known = block < end && read_block(source, block, argument_end(source, block, end), &s);
  memcpy(launch->block, s.side, sizeof launch->block);
  memcpy(launch->argument, s.argument, sizeof launch->argument);
  s = (sizes){.most = INT32_MAX};
  if (read_block(source, grid, block - 1, &s))
    memcpy(launch->grid, s.side, sizeof launch->grid);
  else
    memset(launch->grid, 0, sizeof launch->grid);
}

/* Whether <<< or >>> starts at a token, of marks of one or two characters; *next is behind it. */
static bool is_chevron(const bf_source *source, size_t at, char mark, size_t *next) {
  unsigned found = 0;
  for (; at < source->tokens && found < 3; at++) {
    const bf_source_token *token = &source->token[at];
    for (size_t i = 0; i < token->size; i++)
      if (source->text[token->at + i] != mark)
        return false;
    found += (unsigned)token->size;
  }
  *next = at;
  return found == 3;
}

bool bf_source_next_launch(const bf_source *source, size_t *cursor, bf_source_launch *launch) {
  for (size_t at = *cursor; at < source->tokens; at++) {
    size_t first, end, behind = 0, arguments;
    if (!is_chevron(source, at, '<', &first) || source->token[at].in_directive)
      continue;
    for (end = first; end < source->tokens && !is_chevron(source, end, '>', &behind); end++)
      ;
    size_t block = argument_end(source, first, end) + 1;
    *cursor = first;
    if (end == source->tokens || !read_kernel(source, at, &arguments, launch))
      continue;
    launch->line = source->token[at].line;
    launch->is_template = bf_source_is(source, at - 1, ">") || bf_source_is(source, at - 1, ">>");
    read_launch_sizes(source, first, block, end, arguments, at, launch);
    read_values(source, behind, launch);
    *cursor = behind;
    return true;
  }
  return false;
}

/* Whether a shape is none of those before it. */
static bool is_new(const bf_source_shape *shapes, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    if (strcmp(shapes[i].kernel, shapes[count].kernel) == 0 &&
        strcmp(shapes[i].block, shapes[count].block) == 0)
      return false;
  return true;
}

int bf_source_find_shapes(const char *path, bf_source_shape *shapes, unsigned most, unsigned *count,
                          bool *is_one, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_source *source = NULL;
  bf_source_launch launch;
  size_t cursor = 0;
  *count = 0;
  *is_one = true;
  int error = bf_read_file(path, SIZE_MAX, &text, diagnostic);
  if (!error)
    error = bf_source_read(path, text.data, text.size, &source, diagnostic);
  while (!error && *count < most && bf_source_next_launch(source, &cursor, &launch)) {
    bf_source_shape *own = &shapes[*count];
    snprintf(own->kernel, sizeof own->kernel, "%s", launch.is_template ? "" : launch.kernel);
    snprintf(own->block, sizeof own->block, "%ux%ux%u", launch.block[0], launch.block[1],
             launch.block[2]);
    bool is_whole = !launch.argument[0] && !launch.argument[1] && !launch.argument[2];
    if (!launch.is_known || !is_whole || !is_new(shapes, *count))
      continue;
    *is_one &= strcmp(own->block, shapes[0].block) == 0;
    ++*count;
  }
  bf_source_free(source);
  bf_text_free(&text);
  return error;
}
