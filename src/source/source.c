/* Words of CUDA source. */
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 24 };

/* Where the cutting stands. */
typedef struct cutting {
  bf_source *source;
  size_t at, capacity;
  uint32_t line;
  bool in_directive;
  bool starts_line; /* nothing but blanks so far */
  bf_diagnostic *diagnostic;
} cutting;

static bool is_word_start(char c) {
  return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_word(char c) { return is_word_start(c) || isdigit((unsigned char)c); }

/* The character that many bytes ahead, or 0 behind the end. */
static char peek(const cutting *c, size_t ahead) {
  return c->source->size - c->at > ahead ? c->source->text[c->at + ahead] : 0;
}

/* A backslash before the end of a line: how many bytes it is long, or 0. */
static size_t joins_lines(const cutting *c) {
  if (peek(c, 0) != '\\')
    return 0;
  return peek(c, 1) == '\n' ? 2 : peek(c, 1) == '\r' && peek(c, 2) == '\n' ? 3 : 0;
}

static void skip_line_comment(cutting *c) {
  while (c->at < c->source->size && peek(c, 0) != '\n') {
    size_t joined = joins_lines(c);
    c->line += joined > 0;
    c->at += joined ? joined : 1;
  }
}

/* An error at byte `at`, which is in that line. */
static int fail_at(const cutting *c, uint32_t line, size_t at, const char *message) {
  const char *text = c->source->text, *start = text + at;
  char excerpt[100];
  size_t size = 0;
  while (start > text && start[-1] != '\n' && text + at - start < 40)
    start--;
  while (size < sizeof excerpt - 1 && start + size < text + c->source->size && start[size] &&
         start[size] != '\n' && start[size] != '\r')
    size++;
  memcpy(excerpt, start, size);
  excerpt[size] = 0;
  size_t before = (size_t)(text + at - start);
  return bf_fail_at(c->diagnostic, c->source->file, line, excerpt,
                    excerpt + (before < size ? before : size), "%s", message);
}

static int skip_comment(cutting *c) {
  uint32_t line = c->line;
  size_t start = c->at;
  for (c->at += 2; c->at < c->source->size; c->at++) {
    if (peek(c, 0) == '*' && peek(c, 1) == '/') {
      c->at += 2;
      return BF_OK;
    }
    c->line += peek(c, 0) == '\n';
  }
  return fail_at(c, line, start, "a comment that does not end");
}

/* Passes blanks and comments. */
static int skip_blanks(cutting *c) {
  while (c->at < c->source->size) {
    char now = peek(c, 0);
    size_t joined = joins_lines(c);
    if (joined) {
      c->at += joined;
      c->line++;
    } else if (now == '\n') {
      c->at++;
      c->line++;
      c->in_directive = false;
      c->starts_line = true;
    } else if (now == ' ' || now == '\t' || now == '\r' || now == '\f' || now == '\v') {
      c->at++;
    } else if (now == '/' && peek(c, 1) == '/') {
      skip_line_comment(c);
    } else if (now == '/' && peek(c, 1) == '*') {
      BF_TRY(skip_comment(c));
    } else {
      break;
    }
  }
  return BF_OK;
}

/* Moves behind a string or character that starts here; it ends with its line at the latest. */
static void skip_literal(cutting *c) {
  char quote = peek(c, 0);
  for (c->at++; c->at < c->source->size && peek(c, 0) != '\n'; c->at++) {
    size_t joined = joins_lines(c);
    if (joined) {
      c->line++;
      c->at += joined - 1;
    } else if (peek(c, 0) == '\\' && peek(c, 1) != '\n') {
      c->at++;
    } else if (peek(c, 0) == quote) {
      c->at++;
      return;
    }
  }
  if (c->at > c->source->size)
    c->at = c->source->size;
}

/* Moves behind a raw string, at its quote: "mark( ... )mark". Without an end, as other strings. */
static void skip_raw(cutting *c) {
  const char *text = c->source->text;
  size_t open = c->at + 1, size = c->source->size;
  while (open < size && open - c->at < 18 && text[open] != '(' && text[open] != '\n')
    open++;
  size_t mark = open - c->at - 1;
  for (size_t end = open + 1; open < size && text[open] == '(' && end + mark + 1 < size; end++)
    if (text[end] == ')' && memcmp(text + end + 1, text + c->at + 1, mark) == 0 &&
        text[end + mark + 1] == '"') {
      for (; c->at < end + mark + 2; c->at++)
        c->line += text[c->at] == '\n';
      return;
    }
  skip_literal(c);
}

/* Whether the word just passed is the prefix of a raw string that starts here. */
static bool is_raw(const cutting *c, size_t start) {
  size_t length = c->at - start;
  return peek(c, 0) == '"' && length >= 1 && length <= 3 && c->source->text[c->at - 1] == 'R';
}

static void skip_number(cutting *c) {
  for (; c->at < c->source->size; c->at++) {
    char now = peek(c, 0), last = c->source->text[c->at - 1];
    bool is_sign = (now == '+' || now == '-') && strchr("eEpP", last) != NULL;
    bool is_separator = now == '\'' && isalnum((unsigned char)peek(c, 1));
    if (!is_word(now) && now != '.' && !is_sign && !is_separator)
      break;
  }
}

/* Bytes of the operator here. */
static size_t mark_size(const cutting *c) {
  static const char *const marks[] = {"<<=", ">>=", "->", "::", "++", "--", "<<", ">>",
                                      "<=",  ">=",  "==", "!=", "&&", "||", "+=", "-=",
                                      "*=",  "/=",  "%=", "&=", "|=", "^="};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    size_t length = strlen(marks[i]);
    if (c->source->size - c->at >= length && memcmp(c->source->text + c->at, marks[i], length) == 0)
      return length;
  }
  return 1;
}

/* Moves behind the token here. */
static bf_source_kind cut_token(cutting *c) {
  char now = peek(c, 0);
  size_t start = c->at;
  if (is_word_start(now)) {
    while (is_word(peek(c, 0)))
      c->at++;
    if (!is_raw(c, start))
      return BF_SOURCE_WORD;
    skip_raw(c);
    return BF_SOURCE_LITERAL;
  }
  if (isdigit((unsigned char)now) || (now == '.' && isdigit((unsigned char)peek(c, 1)))) {
    c->at++;
    skip_number(c);
    return BF_SOURCE_NUMBER;
  }
  if (now == '"' || now == '\'') {
    skip_literal(c);
    return BF_SOURCE_LITERAL;
  }
  c->at += mark_size(c);
  return BF_SOURCE_MARK;
}

static int add_token(cutting *c, const bf_source_token *token) {
  bf_source *source = c->source;
  if (source->tokens == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 1024;
    bf_source_token *grown = realloc(source->token, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(c->diagnostic);
    source->token = grown;
    c->capacity = capacity;
  }
  source->token[source->tokens++] = *token;
  return BF_OK;
}

static int cut(cutting *c) {
  for (;;) {
    BF_TRY(skip_blanks(c));
    if (c->at >= c->source->size)
      return BF_OK;
    if (peek(c, 0) == 0)
      return fail_at(c, c->line, c->at, "a NUL byte; source is text");
    c->in_directive |= c->starts_line && peek(c, 0) == '#';
    c->starts_line = false;
    bf_source_token token = {.line = c->line, .at = c->at, .in_directive = c->in_directive};
    token.kind = cut_token(c);
    token.size = c->at - token.at;
    BF_TRY(add_token(c, &token));
  }
}

/* The bracket that a token is, or 0; those in directives do not count. */
static char bracket(const bf_source *source, size_t index) {
  const bf_source_token *token = &source->token[index];
  if (token->kind != BF_SOURCE_MARK || token->size != 1 || token->in_directive)
    return 0;
  char mark = source->text[token->at];
  return strchr("([{)]}", mark) ? mark : 0;
}

/* Finds for each bracket the one that belongs to it. */
static int pair_brackets(bf_source *source, bf_diagnostic *diagnostic) {
  size_t *open = malloc((source->tokens + 1) * sizeof *open), depth = 0;
  if (!open)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < source->tokens; i++) {
    char mark = bracket(source, i);
    source->token[i].partner = source->tokens;
    if (!mark)
      continue;
    if (strchr("([{", mark)) {
      open[depth++] = i;
      continue;
    }
    char wanted = mark == ')' ? '(' : mark == ']' ? '[' : '{';
    if (depth && bracket(source, open[depth - 1]) == wanted) {
      source->token[i].partner = open[--depth];
      source->token[open[depth]].partner = i;
    }
  }
  free(open);
  return BF_OK;
}

bool bf_source_is_name(const char *path) {
  static const char *const ends[] = {".cu", ".cuh", ".cpp", ".cc"};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
    if (strcmp(dot, ends[i]) == 0)
      return true;
  return false;
}

int bf_source_read(const char *file, const char *text, size_t size, bf_source **source,
                   bf_diagnostic *diagnostic) {
  if (size > MOST_BYTES)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, file, "too large for a source file");
  bf_source *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  *made = (bf_source){.file = file, .text = text, .size = size};
  cutting c = {.source = made, .line = 1, .starts_line = true, .diagnostic = diagnostic};
  int error = cut(&c);
  if (!error)
    error = pair_brackets(made, diagnostic);
  if (error)
    bf_source_free(made);
  else
    *source = made;
  return error;
}

void bf_source_free(bf_source *source) {
  if (!source)
    return;
  free(source->token);
  bf_arena_free(&source->arena);
  free(source);
}

bool bf_source_is(const bf_source *source, size_t index, const char *text) {
  if (index >= source->tokens)
    return false;
  const bf_source_token *token = &source->token[index];
  return strlen(text) == token->size && memcmp(source->text + token->at, text, token->size) == 0;
}
