/* The words of a line: names, numbers, punctuation. */
#include "rgpu/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

/* More than people write: names that splitting a node made must be read again. */
enum { MOST_NAME_BYTES = 72 };

int rgpu_no_memory(reader *r) { return bf_no_memory(r->diagnostic); }

uint32_t rgpu_column(const reader *r) { return (uint32_t)(r->at - r->line) + 1; }

void rgpu_skip_blanks(reader *r) { r->at += strspn(r->at, " \t\r"); }

bool rgpu_take(reader *r, char wanted) {
  rgpu_skip_blanks(r);
  if (*r->at != wanted)
    return false;
  r->at++;
  return true;
}

size_t rgpu_name_length(const char *text) {
  return *text && strchr(LETTERS, *text) ? strspn(text, LETTERS DIGITS) : 0;
}

bool rgpu_take_word(reader *r, const char *word) {
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  if (length != strlen(word) || strncmp(r->at, word, length) != 0)
    return false;
  r->at += length;
  return true;
}

int rgpu_expect(reader *r, char wanted, const char *where) {
  if (rgpu_take(r, wanted))
    return BF_OK;
  return FAIL(r, "expected '%c' %s", wanted, where);
}

int rgpu_expect_word(reader *r, const char *word) {
  if (rgpu_take_word(r, word))
    return BF_OK;
  return FAIL(r, "expected '%s'", word);
}

int rgpu_expect_end(reader *r) {
  rgpu_skip_blanks(r);
  return *r->at ? FAIL(r, "unexpected '%.40s'", r->at) : BF_OK;
}

bool rgpu_is_keyword(const char *text, size_t length) {
  static const char *const keywords[] = {"after",   "array",      "block", "blocks",    "copies",
                                         "copy",    "final",      "graph", "hold",      "index",
                                         "initial", "iterations", "last",  "parameter", "present",
                                         "random",  "shared",     "start", "step",      "sum"};
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strlen(keywords[i]) == length && strncmp(keywords[i], text, length) == 0)
      return true;
  return false;
}

int rgpu_take_name(reader *r, const char *what, char **name) {
  rgpu_skip_blanks(r);
  size_t length = rgpu_name_length(r->at);
  if (length == 0)
    return FAIL(r, "expected %s: letters, digits and '_', not starting with a digit", what);
  if (length > MOST_NAME_BYTES)
    return FAIL(r, "a name has at most %d characters", MOST_NAME_BYTES);
  if (rgpu_is_keyword(r->at, length))
    return FAIL(r, "'%.*s' is a word of the language and cannot be a name", (int)length, r->at);
  *name = bf_arena_alloc(&r->graph->arena, length + 1);
  if (!*name)
    return rgpu_no_memory(r);
  memcpy(*name, r->at, length);
  r->at += length;
  return BF_OK;
}

int rgpu_take_count(reader *r, const char *what, uint64_t least, uint64_t most, uint64_t *count) {
  rgpu_skip_blanks(r);
  const char *place = r->at;
  if (!bf_parse_number(&r->at, count) || *count < least || *count > most)
    return FAIL_AT(r, place, "%s must be a whole number from %llu to %llu", what,
                   (unsigned long long)least, (unsigned long long)most);
  return BF_OK;
}

int rgpu_take_float(reader *r, float *value) {
  rgpu_skip_blanks(r);
  size_t length = strspn(r->at, DIGITS ".eE+-");
  char copy[64], *end;
  if (length == 0 || length >= sizeof copy)
    return FAIL(r, "expected a number");
  memcpy(copy, r->at, length);
  copy[length] = 0;
  *value = strtof(copy, &end);
  if (end == copy || !isfinite(*value))
    return FAIL(r, "expected a number that a float can hold");
  r->at += end - copy;
  return BF_OK;
}
