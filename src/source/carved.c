/* Pointers into shared memory whose size comes with the launch: `float *a = buffer, *b = a + n;`.
 */
#include "source/source.h"

#include <string.h>

static bool is_word(const bf_source *source, size_t index) {
  return index < source->tokens && source->token[index].kind == BF_SOURCE_WORD;
}

static bool is_name(const bf_source *source, size_t index, const char *name) {
  return is_word(source, index) && bf_source_is(source, index, name);
}

/* The end of what a pointer is declared with: the ; or the comma behind it. */
static size_t initialiser_end(const bf_source *source, size_t first, size_t end) {
  while (first < end && !bf_source_is(source, first, ";") && !bf_source_is(source, first, ",")) {
    size_t partner = source->token[first].partner;
    first = partner > first && partner < end ? partner + 1 : first + 1;
  }
  return first;
}

/* Whether tokens first to end-1 name the buffer, a pointer into it, or the struct that CUDA's
 * samples take it from. */
static bool leads_to(const bf_source *source, size_t first, size_t end, const char *buffer,
                     const bf_source_array *list, size_t count) {
  for (size_t i = first; i < end; i++) {
    if (is_name(source, i, buffer) || is_name(source, i, "SharedMemory"))
      return true;
    for (size_t k = 0; k < count; k++)
      if (is_name(source, i, list[k].name))
        return true;
  }
  return false;
}

/* Whether a token gives the name before it a value: =, +=, <<=, ... */
static bool is_assignment(const bf_source *source, size_t index) {
  static const char *const comparisons[] = {"==", "!=", "<=", ">=", NULL};
  bool compares = false;
  for (unsigned i = 0; comparisons[i]; i++)
    compares |= bf_source_is(source, index, comparisons[i]);
  const bf_source_token *token = &source->token[index];
  return !compares && token->size && source->text[token->at + token->size - 1] == '=';
}

/* The token from `from` on that gives a name a value, or end. */
static size_t next_value(const bf_source *source, size_t from, size_t end, size_t name) {
  const bf_source_token *wanted = &source->token[name];
  for (size_t i = from; i + 1 < end; i++) {
    const bf_source_token *own = &source->token[i];
    if (is_word(source, i) && own->size == wanted->size &&
        memcmp(source->text + own->at, source->text + wanted->at, own->size) == 0 &&
        is_assignment(source, i + 1))
      return i + 1;
  }
  return end;
}

/* Whether what tokens first to end-1 compute may differ between threads, in a function that is the
 * tokens body to body_end-1: it comes from the thread's index or from a function, or such a value
 * was given to a name in it. */
static bool varies(const bf_source *source, size_t first, size_t end, size_t body, size_t body_end,
                   unsigned depth) {
  enum { MOST_DEPTH = 6 };
  static const char *const alike[] = {"sizeof",           "static_cast",
                                      "reinterpret_cast", "__builtin_assume_aligned",
                                      "SharedMemory",     NULL};
  for (size_t i = first; i < end; i++) {
    bool is_alike = false;
    for (unsigned k = 0; alike[k]; k++)
      is_alike |= bf_source_is(source, i, alike[k]);
    if (!is_word(source, i) || is_alike)
      continue;
    if (bf_source_is(source, i, "threadIdx") || bf_source_is(source, i + 1, "("))
      return true;
    size_t at = next_value(source, body, body_end, i);
    for (; at < body_end; at = next_value(source, at, body_end, i))
      if (depth == MOST_DEPTH || varies(source, at + 1, initialiser_end(source, at + 1, body_end),
                                        body, body_end, depth + 1))
        return true;
  }
  return false;
}

/* The } of the innermost block around a token, between first and end. */
static size_t block_end(const bf_source *source, size_t index, size_t first, size_t end) {
  for (size_t i = index; i-- > first;) {
    if (bf_source_is(source, i, "}") && source->token[i].partner < i)
      i = source->token[i].partner;
    else if (bf_source_is(source, i, "{") && source->token[i].partner < end)
      return source->token[i].partner;
  }
  return end;
}

/* Reads the pointer whose * is at star, in a statement of which the type ends there or before;
 * false where it is none that is declared with a value. */
static bool read_pointer(const bf_source *source, size_t star, size_t statement, size_t end,
                         bf_source_array *pointer) {
  size_t name = star + 1;
  while (bf_source_is(source, name, "__restrict__") || bf_source_is(source, name, "const"))
    name++;
  if (!is_word(source, name) || !bf_source_is(source, name + 1, "=") ||
      source->token[name].size >= BF_SOURCE_MOST_NAME)
    return false;
  *pointer = (bf_source_array){.token = name,
                               .statement = statement,
                               .end = initialiser_end(source, name + 2, end),
                               .is_open = true,
                               .is_pointer = true,
                               .dimensions = 1};
  snprintf(pointer->name, sizeof pointer->name, "%.*s", (int)source->token[name].size,
           source->text + source->token[name].at);
  return true;
}

/* The type of a declaration that starts at a token, up to its first *. */
static size_t read_type(const bf_source *source, size_t first, char type[BF_SOURCE_MOST_NAME]) {
  static const char *const passed[] = {"const", "volatile", "static", NULL};
  size_t at = first, used = 0;
  type[0] = 0;
  for (; is_word(source, at) || bf_source_is(source, at, "::"); at++) {
    bool is_passed = false;
    for (unsigned i = 0; passed[i]; i++)
      is_passed |= bf_source_is(source, at, passed[i]);
    size_t size = source->token[at].size;
    if (is_passed || used + size + 2 > BF_SOURCE_MOST_NAME)
      continue;
    used += (size_t)snprintf(type + used, BF_SOURCE_MOST_NAME - used, "%s%.*s", used ? " " : "",
                             (int)size, source->text + source->token[at].at);
  }
  return at;
}

void bf_source_pass_over(const bf_source_array *list, size_t count, bf_source_array *own) {
  for (size_t i = 0; i < count && own->skips < BF_SOURCE_MOST_SKIPS; i++)
    if (list[i].is_pointer && list[i].token != own->token) {
      own->skip[own->skips][0] = list[i].token + 1;
      own->skip[own->skips++][1] = list[i].end;
    }
}

int bf_source_carved(bf_source *source, size_t function, const char *buffer, bf_source_array *list,
                     size_t most, size_t *count) {
  size_t close = source->token[function + 1].partner, first = close + 1;
  size_t end = first < source->tokens ? source->token[first].partner : source->tokens;
  *count = 0;
  for (size_t i = first + 1; i < end && end < source->tokens; i++) {
    bool starts = bf_source_is(source, i - 1, ";") || bf_source_is(source, i - 1, "{") ||
                  bf_source_is(source, i - 1, "}");
    char type[BF_SOURCE_MOST_NAME];
    size_t star = starts && is_word(source, i) ? read_type(source, i, type) : end;
    bf_source_array own;
    while (star < end && bf_source_is(source, star, "*") && *count < most &&
           read_pointer(source, star, i, end, &own)) {
      own.function = function;
      own.scope_end = block_end(source, own.token, first, end);
      own.is_varying = varies(source, own.token + 2, own.end, first, end, 0);
      memcpy(own.type, type, sizeof own.type);
      if (leads_to(source, own.token + 2, own.end, buffer, list, *count))
        list[(*count)++] = own;
      star = bf_source_is(source, own.end, ",") ? own.end + 1 : end;
    }
  }
  for (size_t i = 0; i < *count; i++)
    bf_source_pass_over(list, *count, &list[i]);
  return BF_OK;
}
