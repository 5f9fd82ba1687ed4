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

/* Reads up to three numbers of at most `most`, separated by commas, from first to end-1. */
static bool read_sizes(const bf_source *source, size_t first, size_t end, uint32_t most,
                       uint32_t block[3]) {
  unsigned count = 0;
  block[0] = block[1] = block[2] = 1;
  while (first < end && count < 3) {
    uint64_t value;
    size_t last = argument_end(source, first, end);
    if (!bf_source_host_value(source, first, last, &value) || !value || value > most)
      return false;
    block[count++] = (uint32_t)value;
    first = last + 1;
  }
  return count > 0;
}

/* The sizes in parentheses or braces behind token at: dim3(32, 8), block(32, 8), block{32, 8}. */
static bool read_bracket(const bf_source *source, size_t at, uint32_t most, uint32_t block[3]) {
  bool opens = bf_source_is(source, at, "(") || bf_source_is(source, at, "{");
  return opens && source->token[at].partner < source->tokens &&
         read_sizes(source, at + 1, source->token[at].partner, most, block);
}

static bool same_word(const bf_source *source, size_t a, size_t b) {
  const bf_source_token *left = &source->token[a], *right = &source->token[b];
  return left->size == right->size &&
         memcmp(source->text + left->at, source->text + right->at, left->size) == 0;
}

/* The block of an argument, or the grid: a number, dim3(...), or the name of a dim3 that is
 * declared before. */
static bool read_block(const bf_source *source, size_t first, size_t end, uint32_t most,
                       uint32_t block[3]) {
  if (bf_source_is(source, first, "dim3"))
    return read_bracket(source, first + 1, most, block);
  if (end == first + 1 && source->token[first].kind == BF_SOURCE_WORD)
    for (size_t at = first; at-- > 1;)
      if (bf_source_is(source, at - 1, "dim3") && same_word(source, at, first))
        return read_bracket(source, at + 1, most, block) ||
               (bf_source_is(source, at + 1, "=") && bf_source_is(source, at + 2, "dim3") &&
                read_bracket(source, at + 3, most, block));
  return read_sizes(source, first, end, most, block);
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

/* The name of the kernel before <<<, past template arguments; false where there is none. */
static bool read_kernel(const bf_source *source, size_t before, bf_source_launch *launch) {
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
  size_t length = 0;
  launch->arguments[0] = 0;
  for (at++; at < before && length < sizeof launch->arguments; at++)
    length +=
        (size_t)snprintf(launch->arguments + length, sizeof launch->arguments - length, "%.*s",
                         (int)source->token[at].size, source->text + source->token[at].at);
  return true;
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
    size_t first, end, behind = 0;
    if (!is_chevron(source, at, '<', &first) || source->token[at].in_directive)
      continue;
    for (end = first; end < source->tokens && !is_chevron(source, end, '>', &behind); end++)
      ;
    size_t block = argument_end(source, first, end) + 1;
    *cursor = first;
    if (end == source->tokens || !read_kernel(source, at, launch))
      continue;
    launch->line = source->token[at].line;
    launch->is_template = bf_source_is(source, at - 1, ">") || bf_source_is(source, at - 1, ">>");
    launch->is_known = block < end && read_block(source, block, argument_end(source, block, end),
                                                 MOST_THREADS, launch->block);
    if (!read_block(source, first, block - 1, INT32_MAX, launch->grid))
      memset(launch->grid, 0, sizeof launch->grid);
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
    if (!launch.is_known || !is_new(shapes, *count))
      continue;
    *is_one &= strcmp(own->block, shapes[0].block) == 0;
    ++*count;
  }
  bf_source_free(source);
  bf_text_free(&text);
  return error;
}
