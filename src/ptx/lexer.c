/* Cuts PTX text into tokens. Comments and blanks separate tokens and are dropped. */
#include "ptx/decimal.h"
#include "ptx/parser.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAIL_HERE(at, ...)                                                                         \
  bf_fail_at(l->diagnostic, l->file, l->line, l->line_start, at, __VA_ARGS__)

static bool is_word_start(char c) {
  return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_word_part(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

static void new_line(lexer *l) {
  l->line++;
  l->line_start = l->cursor;
}

/* Behind a block comment. */
static int skip_block(lexer *l) {
  lexer start = *l;
  for (l->cursor += 2; l->cursor < l->end; l->cursor++) {
    if (l->cursor[0] == '*' && l->cursor[1] == '/') {
      l->cursor += 2;
      return BF_OK;
    }
    if (*l->cursor == '\n') {
      l->line++;
      l->line_start = l->cursor + 1;
    }
  }
  return bf_fail_at(l->diagnostic, l->file, start.line, start.line_start, start.cursor,
                    "comment without end");
}

static int skip_blanks(lexer *l) {
  while (l->cursor < l->end) {
    char c = *l->cursor;
    if (c == '\n') {
      l->cursor++;
      new_line(l);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      l->cursor++;
    } else if (c == '/' && l->cursor[1] == '/') {
      while (l->cursor < l->end && *l->cursor != '\n')
        l->cursor++;
    } else if (c == '/' && l->cursor[1] == '*') {
      BF_TRY(skip_block(l));
    } else {
      break;
    }
  }
  return BF_OK;
}

/* A word; the one that stands for a number is that number: wherever ptxas wants one, it takes
 * WARP_SZ. */
static void lex_word(lexer *l, token *t) {
  static const char warp[] = "WARP_SZ";
  t->kind = TOKEN_WORD;
  t->text = l->cursor++;
  while (is_word_part(*l->cursor))
    l->cursor++;
  t->size = (size_t)(l->cursor - t->text);
  if (t->size == sizeof warp - 1 && memcmp(t->text, warp, t->size) == 0) {
    t->kind = TOKEN_INTEGER;
    t->bits = 32;
  }
}

/* .word, where :: may stand between parts: .shared::cta */
static void lex_dotted(lexer *l, token *t) {
  t->kind = TOKEN_DOTTED;
  t->text = ++l->cursor;
  while (is_word_part(*l->cursor) ||
         (l->cursor[0] == ':' && l->cursor[1] == ':' && is_word_part(l->cursor[2])))
    l->cursor += *l->cursor == ':' ? 2 : 1;
  t->size = (size_t)(l->cursor - t->text);
}

/* 0fXXXXXXXX or 0dXXXXXXXXXXXXXXXX: the bits of a number. */
static int lex_float_bits(lexer *l, token *t, int digits) {
  const char *start = l->cursor + 2;
  t->kind = digits == 8 ? TOKEN_FLOAT32 : TOKEN_FLOAT64;
  t->bits = 0;
  for (l->cursor += 2; isxdigit((unsigned char)*l->cursor); l->cursor++) {
    int c = tolower((unsigned char)*l->cursor);
    t->bits = t->bits << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (l->cursor - start != digits || is_word_part(*l->cursor))
    return FAIL_HERE(t->at, "expected %d hexadecimal digits behind '%.2s'", digits, t->at);
  return BF_OK;
}

/* How far the decimal floating-point number at `at` goes; 0 where it is an integer, or the start of
 * a word. */
static size_t decimal_length(const char *at) {
  size_t digits = strspn(at, "0123456789"), length = digits;
  if (at[length] == '.')
    length += 1 + strspn(at + length + 1, "0123456789");
  if (at[length] == 'e' || at[length] == 'E') {
    size_t sign = at[length + 1] == '+' || at[length + 1] == '-';
    size_t exponent = strspn(at + length + 1 + sign, "0123456789");
    if (exponent)
      length += 1 + sign + exponent;
  }
  bool has_digits = digits || isdigit((unsigned char)at[1]);
  return length > digits && has_digits ? length : 0;
}

/* Whether a number starts with a point here, and not a modifier such as .2d or .16x64b. */
static bool at_fraction(const char *at) {
  size_t length = *at == '.' ? decimal_length(at) : 0;
  return length && !is_word_part(at[length]);
}

static int lex_decimal(lexer *l, token *t, size_t length) {
  char number[128];
  if (length >= sizeof number)
    return FAIL_HERE(t->at, "number of more than %d characters", (int)sizeof number - 1);
  memcpy(number, l->cursor, length);
  number[length] = 0;
  double value;
  if (!bf_ptx_decimal_read(number, &value))
    return bf_no_memory(l->diagnostic);
  if (isinf(value))
    return FAIL_HERE(t->at, "number too large for a double");
  memcpy(&t->bits, &value, sizeof value);
  t->kind = TOKEN_DECIMAL;
  l->cursor += length;
  if (is_word_part(*l->cursor))
    return FAIL_HERE(l->cursor, "unexpected '%c' in a number", *l->cursor);
  return BF_OK;
}

static unsigned number_base(const char **at) {
  if ((*at)[0] != '0')
    return 10;
  if ((*at)[1] == 'x' || (*at)[1] == 'X') {
    *at += 2;
    return 16;
  }
  if ((*at)[1] == 'b' || (*at)[1] == 'B') {
    *at += 2;
    return 2;
  }
  return 8;
}

static unsigned digit_of(char c) {
  if (isdigit((unsigned char)c))
    return (unsigned)(c - '0');
  return isxdigit((unsigned char)c) ? (unsigned)(tolower((unsigned char)c) - 'a') + 10 : 99;
}

/* Decimal, 0x, 0b or octal with 0, and a suffix U. As with ptxas a digit is one too many only where
 * what stands before it is above the largest signed value; else what is beyond 64 bits is lost. */
static int lex_integer(lexer *l, token *t) {
  unsigned base = number_base(&l->cursor);
  const char *digits = l->cursor;
  t->kind = TOKEN_INTEGER;
  t->bits = 0;
  for (; digit_of(*l->cursor) < base; l->cursor++) {
    if (t->bits > INT64_MAX)
      return FAIL_HERE(t->at, "number of more than 64 bits");
    t->bits = t->bits * base + digit_of(*l->cursor);
  }
  t->is_unsigned = t->bits > INT64_MAX;
  if (l->cursor == digits)
    return FAIL_HERE(t->at, "expected digits behind '%.2s'", t->at);
  if (*l->cursor == 'U' || *l->cursor == 'u') {
    t->is_unsigned = true;
    l->cursor++;
  }
  if (is_word_part(*l->cursor))
    return FAIL_HERE(l->cursor, "unexpected '%c' in a number", *l->cursor);
  return BF_OK;
}

static int lex_number(lexer *l, token *t) {
  char second = l->cursor[0] == '0' ? l->cursor[1] : 0;
  if (second == 'f' || second == 'F')
    return lex_float_bits(l, t, 8);
  if (second == 'd' || second == 'D')
    return lex_float_bits(l, t, 16);
  size_t length = decimal_length(l->cursor);
  return length ? lex_decimal(l, t, length) : lex_integer(l, t);
}

static int lex_string(lexer *l, token *t) {
  t->kind = TOKEN_STRING;
  t->text = ++l->cursor;
  while (l->cursor < l->end && *l->cursor != '"' && *l->cursor != '\n')
    l->cursor += *l->cursor == '\\' && l->end - l->cursor > 1 && l->cursor[1] != '\n' ? 2 : 1;
  if (l->cursor >= l->end || *l->cursor != '"')
    return FAIL_HERE(t->at, "string without end");
  t->size = (size_t)(l->cursor - t->text);
  l->cursor++;
  return BF_OK;
}

static int lex_sign(lexer *l, token *t) {
  static const char doubles[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  char c = *l->cursor;
  if (!c || !strchr("()[]{}<>,;:@!+-*/%&|^~?=", c)) {
    if (c > 32 && c < 127)
      return FAIL_HERE(l->cursor, "unexpected character '%c'", c);
    return FAIL_HERE(l->cursor, "unexpected byte 0x%02x", (unsigned char)c);
  }
  t->kind = TOKEN_SIGN;
  t->sign[0] = c;
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
    if (memcmp(doubles[i], l->cursor, 2) == 0)
      t->sign[1] = l->cursor[1];
  l->cursor += t->sign[1] ? 2 : 1;
  return BF_OK;
}

/* '%' starts a word only where one follows; else it is the remainder of constant expressions. */
static bool at_word(const char *at) {
  return is_word_start(*at) && (*at != '%' || is_word_part(at[1]));
}

int bf_ptx_lex(lexer *l, token *t) {
  memset(t, 0, sizeof *t);
  int error = skip_blanks(l);
  t->at = l->cursor;
  t->line = l->line;
  t->line_start = l->line_start;
  if (error || l->cursor >= l->end)
    return error;
  if (at_word(l->cursor))
    lex_word(l, t);
  else if (*l->cursor == '.' && is_word_part(l->cursor[1]) && !at_fraction(l->cursor))
    lex_dotted(l, t);
  else if (isdigit((unsigned char)*l->cursor) || at_fraction(l->cursor))
    return lex_number(l, t);
  else if (*l->cursor == '"')
    return lex_string(l, t);
  else
    return lex_sign(l, t);
  return BF_OK;
}
