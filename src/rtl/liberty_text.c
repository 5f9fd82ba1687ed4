/* Liberty text to groups and attributes, and functions to truth tables. */
#include "rtl/liberty.h"

#include <ctype.h>
#include <string.h>

/* ---- Groups ---- */

enum { DEEPEST = 16 };

typedef struct reader {
  const char *file, *text, *at;
  unsigned line, depth;
  bf_arena *arena;
  bf_diagnostic *diagnostic;
} reader;

static int fail_here(reader *r, const char *message) {
  bf_fail_file(r->diagnostic, BF_BAD_INPUT, r->file, "%s", message);
  if (r->diagnostic)
    r->diagnostic->line = r->line;
  return BF_BAD_INPUT;
}

/* Goes past one character and counts lines. */
static void advance(reader *r) {
  if (*r->at == '\n')
    r->line++;
  r->at++;
}

/* Goes past blanks, comments, and lines that go on. */
static int skip_blanks(reader *r) {
  for (;;) {
    if (isspace((unsigned char)*r->at) || (r->at[0] == '\\' && isspace((unsigned char)r->at[1]))) {
      advance(r);
    } else if (r->at[0] == '/' && r->at[1] == '*') {
      const char *end = strstr(r->at + 2, "*/");
      if (!end)
        return fail_here(r, "a comment does not end");
      while (r->at < end + 2)
        advance(r);
    } else if (r->at[0] == '/' && r->at[1] == '/') {
      while (*r->at && *r->at != '\n')
        advance(r);
    } else {
      return BF_OK;
    }
  }
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* Copies [from, to) without quotes, with other blanks than spaces and backslashes made spaces. */
static char *copy_value(reader *r, const char *from, const char *to) {
  char *copy = bf_arena_alloc(r->arena, (size_t)(to - from) + 1);
  char *end = copy;
  for (; copy && from < to; from++)
    if (*from != '"')
      *end++ = isspace((unsigned char)*from) || *from == '\\' ? ' ' : *from;
  while (copy && end > copy && end[-1] == ' ')
    *--end = 0;
  return copy;
}

/* Reads up to one of the characters in ends, outside of quotes. */
static int read_value(reader *r, const char *ends, const char **value) {
  const char *from = r->at;
  bool quoted = false;
  while (*r->at && (quoted || !strchr(ends, *r->at))) {
    quoted ^= *r->at == '"';
    advance(r);
  }
  if (!*r->at)
    return fail_here(r, "the text ends inside a value");
  *value = copy_value(r, from, r->at);
  return *value ? BF_OK : bf_no_memory(r->diagnostic);
}

static int read_statement(reader *r, bf_liberty_group **statement);

/* The statements up to the closing brace. */
static int read_children(reader *r, bf_liberty_group *group) {
  bf_liberty_group **last = &group->children;
  if (++r->depth > DEEPEST)
    return fail_here(r, "groups are nested too deeply");
  for (;;) {
    BF_TRY(skip_blanks(r));
    if (*r->at == ';') {
      advance(r);
    } else if (*r->at == '}') {
      advance(r);
      r->depth--;
      return BF_OK;
    } else {
      BF_TRY(read_statement(r, last));
      last = &(*last)->next;
    }
  }
}

/* What follows "kind": ": value;", "(values);" or "(arguments) { ... }". */
static int read_rest(reader *r, bf_liberty_group *made) {
  if (*r->at == ':') {
    advance(r);
    BF_TRY(skip_blanks(r));
    BF_TRY(read_value(r, ";\n}", &made->value));
    if (*r->at == ';')
      advance(r);
    return BF_OK;
  }
  if (*r->at != '(')
    return fail_here(r, "expected ':' or '(' behind a name");
  advance(r);
  BF_TRY(read_value(r, ")", &made->value));
  advance(r);
  BF_TRY(skip_blanks(r));
  if (*r->at == '{') {
    advance(r);
    made->is_group = true;
    return read_children(r, made);
  }
  return BF_OK;
}

static int read_statement(reader *r, bf_liberty_group **statement) {
  const char *from = r->at;
  bf_liberty_group *made = bf_arena_alloc(r->arena, sizeof *made);
  if (!made)
    return bf_no_memory(r->diagnostic);
  while (is_name(*r->at))
    advance(r);
  if (r->at == from)
    return fail_here(r, *from ? "expected a name" : "the text ends inside a group");
  made->line = r->line;
  made->kind = copy_value(r, from, r->at);
  if (!made->kind)
    return bf_no_memory(r->diagnostic);
  *statement = made;
  BF_TRY(skip_blanks(r));
  return read_rest(r, made);
}

int bf_liberty_read_groups(const char *file, const char *text, bf_arena *arena,
                           bf_liberty_group **group, bf_diagnostic *diagnostic) {
  reader r = {
      .file = file, .text = text, .at = text, .line = 1, .arena = arena, .diagnostic = diagnostic};
  BF_TRY(skip_blanks(&r));
  BF_TRY(read_statement(&r, group));
  if (!(*group)->is_group || strcmp((*group)->kind, "library") != 0)
    return fail_here(&r, "no library: it must begin with \"library (NAME) {\"");
  return BF_OK;
}

/* ---- Functions: ' and ! negate, then ^, then & * or nothing, then | + ---- */

typedef struct function {
  const char *at;
  const char *const *names;
  unsigned count, depth;
  bool failed;
} function;

/* Truth tables of single inputs. */
static const uint64_t columns[BF_LIBERTY_INPUTS] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc,
                                                    0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00,
                                                    0xffff0000ffff0000, 0xffffffff00000000};

static uint64_t read_or(function *f);

static char next(function *f) {
  while (isspace((unsigned char)*f->at))
    f->at++;
  return *f->at;
}

static uint64_t read_name(function *f) {
  const char *from = f->at;
  while (is_name(*f->at))
    f->at++;
  size_t length = (size_t)(f->at - from);
  for (unsigned i = 0; i < f->count; i++)
    if (strlen(f->names[i]) == length && strncmp(f->names[i], from, length) == 0)
      return columns[i];
  if (length == 1 && (*from == '0' || *from == '1'))
    return *from == '1' ? ~(uint64_t)0 : 0;
  f->failed = true;
  return 0;
}

static uint64_t read_factor(function *f) {
  uint64_t value = 0;
  if (++f->depth > DEEPEST)
    f->failed = true;
  if (f->failed)
    return 0;
  if (next(f) == '!') {
    f->at++;
    value = ~read_factor(f);
  } else if (*f->at == '(') {
    f->at++;
    value = read_or(f);
    if (next(f) == ')')
      f->at++;
    else
      f->failed = true;
  } else {
    value = read_name(f);
  }
  for (; next(f) == '\''; f->at++)
    value = ~value;
  f->depth--;
  return value;
}

static uint64_t read_xor(function *f) {
  uint64_t value = read_factor(f);
  while (!f->failed && next(f) == '^') {
    f->at++;
    value ^= read_factor(f);
  }
  return value;
}

static uint64_t read_and(function *f) {
  uint64_t value = read_xor(f);
  while (!f->failed &&
         (next(f) == '&' || *f->at == '*' || *f->at == '(' || *f->at == '!' || is_name(*f->at))) {
    if (*f->at == '&' || *f->at == '*')
      f->at++;
    value &= read_xor(f);
  }
  return value;
}

static uint64_t read_or(function *f) {
  uint64_t value = read_and(f);
  while (!f->failed && (next(f) == '|' || *f->at == '+')) {
    f->at++;
    value |= read_and(f);
  }
  return value;
}

bool bf_liberty_function(const char *text, const char *const *names, unsigned count,
                         uint64_t *truth) {
  function f = {.at = text, .names = names, .count = count};
  if (count > BF_LIBERTY_INPUTS)
    return false;
  *truth = read_or(&f);
  return !f.failed && next(&f) == 0;
}
