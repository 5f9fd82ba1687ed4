/* Growing text, numbers in text, and the JSON writer on top of them. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *bf_text_room(bf_text *text, size_t size) {
  if (text->failed)
    return NULL;
  if (text->capacity - text->size <= size) {
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity - text->size <= size)
      capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
      text->failed = true;
      return NULL;
    }
    text->data = data;
    text->capacity = capacity;
  }
  return text->data + text->size;
}

void bf_text_took(bf_text *text, const char *end) {
  text->size = (size_t)(end - text->data);
  text->data[text->size] = 0;
}

void bf_text_add(bf_text *text, const char *bytes, size_t size) {
  char *at = bf_text_room(text, size);
  if (!at)
    return;
  memcpy(at, bytes, size);
  bf_text_took(text, at + size);
}

void bf_text_puts(bf_text *text, const char *string) { bf_text_add(text, string, strlen(string)); }

void bf_text_addf(bf_text *text, const char *format, ...) {
  char small[512];
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int size = vsnprintf(small, sizeof small, format, arguments);
  va_end(arguments);
  if (size >= 0 && (size_t)size < sizeof small) {
    bf_text_add(text, small, (size_t)size);
  } else if (size >= 0) {
    char *large = malloc((size_t)size + 1);
    if (large) {
      vsnprintf(large, (size_t)size + 1, format, again);
      bf_text_add(text, large, (size_t)size);
      free(large);
    } else {
      text->failed = true;
    }
  }
  va_end(again);
}

void bf_text_free(bf_text *text) {
  free(text->data);
  memset(text, 0, sizeof *text);
}

void bf_bar_fill(double share, char cells[BF_BAR_CELLS + 1]) {
  for (int i = 0; i < BF_BAR_CELLS; i++)
    cells[i] = i < (int)(share * BF_BAR_CELLS) ? '#' : '.';
  cells[BF_BAR_CELLS] = 0;
}

enum { NO_DIGIT = 99 };

/* What each character is worth as a digit + 1, 0 for none. Traces of other tools are full of
 * hexadecimal numbers. */
static const unsigned char digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

static unsigned digit_value(char c) {
  unsigned value = digits[(unsigned char)c];
  return value ? value - 1 : NO_DIGIT;
}

static bool parse_decimal(const char **cursor, uint64_t *value) {
  const char *at = *cursor;
  uint64_t result = 0;
  bool overflows = false;
  for (unsigned digit; (digit = digit_value(*at)) < 10; at++)
    overflows = __builtin_mul_overflow(result, 10, &result) ||
                __builtin_add_overflow(result, digit, &result) || overflows;
  if (at == *cursor || overflows)
    return false;
  *value = result;
  *cursor = at;
  return true;
}

static bool has_hex_prefix(const char *at) {
  return at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && digit_value(at[2]) < 16;
}

bool bf_parse_hex(const char **cursor, uint64_t *value) {
  const char *at = *cursor;
  if (has_hex_prefix(at))
    at += 2;
  while (*at == '0')
    at++;
  uint64_t result = 0;
  const char *first = at;
  for (unsigned digit; (digit = digits[(unsigned char)*at]); at++)
    result = result << 4 | (digit - 1);
  if (at == *cursor || at - first > 16)
    return false;
  *value = result;
  *cursor = at;
  return true;
}

bool bf_parse_number(const char **cursor, uint64_t *value) {
  return has_hex_prefix(*cursor) ? bf_parse_hex(cursor, value) : parse_decimal(cursor, value);
}

/* ---- JSON ---- */

/* Bytes of the UTF-8 character at `at`, or 0 where there is none (RFC 3629). */
static size_t utf8_length(const char *at) {
  const unsigned char *c = (const unsigned char *)at;
  size_t length = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
  if (c[0] > 0xF4)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((c[i] & 0xC0) != 0x80)
      return 0;
  bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
  bool surrogate = c[0] == 0xED && c[1] > 0x9F;
  bool too_large = c[0] == 0xF4 && c[1] > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

static void json_string(bf_text *text, const char *value) {
  bf_text_puts(text, "\"");
  for (const char *at = value; *at;) {
    unsigned char c = (unsigned char)*at;
    size_t length = utf8_length(at);
    if (c == '"' || c == '\\')
      bf_text_addf(text, "\\%c", c);
    else if (c < 32)
      bf_text_addf(text, "\\u%04x", c);
    else if (length == 0)
      bf_text_puts(text, "\\ufffd");
    else
      bf_text_add(text, at, length);
    at += length ? length : 1;
  }
  bf_text_puts(text, "\"");
}

/* Comma, line break, indentation and key before the next member. */
static void json_member(bf_json *json, const char *key) {
  unsigned depth = json->depth;
  if (json->has_member[depth])
    bf_text_puts(json->text, json->flat[depth] ? ", " : ",");
  if (depth && !json->flat[depth])
    bf_text_addf(json->text, "\n%*s", (int)depth * 2, "");
  json->has_member[depth] = true;
  if (key) {
    json_string(json->text, key);
    bf_text_puts(json->text, ": ");
  }
}

void bf_json_begin(bf_json *json, const char *key, char bracket, bool flat) {
  json_member(json, key);
  bf_text_add(json->text, &bracket, 1);
  flat = flat || json->flat[json->depth];
  json->depth++;
  json->has_member[json->depth] = false;
  json->flat[json->depth] = flat;
}

void bf_json_end(bf_json *json, char bracket) {
  bool line_break = json->has_member[json->depth] && !json->flat[json->depth];
  json->depth--;
  if (line_break)
    bf_text_addf(json->text, "\n%*s", (int)json->depth * 2, "");
  bf_text_add(json->text, &bracket, 1);
  if (json->depth == 0)
    bf_text_puts(json->text, "\n");
}

void bf_json_string(bf_json *json, const char *key, const char *value) {
  json_member(json, key);
  if (value)
    json_string(json->text, value);
  else
    bf_text_puts(json->text, "null");
}

void bf_json_number(bf_json *json, const char *key, uint64_t value) {
  json_member(json, key);
  bf_text_addf(json->text, "%llu", (unsigned long long)value);
}

void bf_json_integer(bf_json *json, const char *key, int64_t value) {
  json_member(json, key);
  bf_text_addf(json->text, "%lld", (long long)value);
}

void bf_json_real(bf_json *json, const char *key, double value) {
  json_member(json, key);
  if (isfinite(value))
    bf_text_addf(json->text, "%.10g", value);
  else
    bf_text_puts(json->text, "null");
}

void bf_json_bool(bf_json *json, const char *key, bool value) {
  json_member(json, key);
  bf_text_puts(json->text, value ? "true" : "false");
}
