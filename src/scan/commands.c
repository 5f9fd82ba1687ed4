/* compile_commands.json, as CMake, Bear and others write it: a list of objects with directory,
 * file, and command or arguments. Other members are passed over. */
#include "scan/inner.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_ARGUMENTS = 4096 };

/* The text while it is read. */
typedef struct parser {
  scan_files *files;
  const char *file, *start, *at;
  bf_diagnostic *diagnostic;
} parser;

/* Fails at the place that the reader is at. */
static int fail(const parser *p, const char *what) {
  uint64_t line = 1;
  const char *first = p->start;
  for (const char *c = p->start; c < p->at; c++)
    if (*c == '\n') {
      line++;
      first = c + 1;
    }
  char *text = strndup(first, strcspn(first, "\n"));
  if (!text)
    return bf_no_memory(p->diagnostic);
  bf_fail_at(p->diagnostic, p->file, line, text, text + (p->at - first), "%s", what);
  free(text);
  return BF_BAD_INPUT;
}

/* ---- JSON ---- */

static char skip_space(parser *p) {
  p->at += strspn(p->at, " \t\r\n");
  return *p->at;
}

/* Passes a mark, or fails. */
static int take(parser *p, char mark) {
  char what[] = "' ' is missing";
  what[1] = mark;
  if (skip_space(p) != mark)
    return fail(p, what);
  p->at++;
  return BF_OK;
}

/* The character of \u and four digits, as UTF-8; surrogates, which names of files hardly have,
 * become a question mark. */
static int take_unicode(parser *p, bf_text *text) {
  char digits[5] = {0};
  if (strspn(p->at, "0123456789abcdefABCDEF") < 4)
    return fail(p, "four hexadecimal digits are missing");
  memcpy(digits, p->at, 4);
  p->at += 4;
  unsigned code = (unsigned)strtoul(digits, NULL, 16);
  if (code < 0x80)
    bf_text_add(text, (const char[]){(char)code}, 1);
  else if (code < 0x800)
    bf_text_add(text, (const char[]){(char)(0xc0 | code >> 6), (char)(0x80 | (code & 63))}, 2);
  else if (code >= 0xd800 && code < 0xe000)
    bf_text_puts(text, "?");
  else
    bf_text_add(text,
                (const char[]){(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 63)),
                               (char)(0x80 | (code & 63))},
                3);
  return BF_OK;
}

/* A string, into the arena of the files. */
static int take_string(parser *p, const char **string) {
  static const char codes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  bf_text text = {0};
  int error = take(p, '"');
  bf_text_puts(&text, "");
  while (!error && *p->at != '"') {
    size_t plain = strcspn(p->at, "\"\\\n");
    bf_text_add(&text, p->at, plain);
    p->at += plain;
    if (*p->at == '\\') {
      const char *code = p->at[1] ? strchr(codes, p->at[1]) : NULL;
      bool is_unicode = p->at[1] == 'u';
      p->at += code || is_unicode ? 2 : 0;
      if (code)
        bf_text_add(&text, &meant[code - codes], 1);
      else
        error = is_unicode ? take_unicode(p, &text) : fail(p, "there is no such escape");
    } else if (*p->at != '"')
      error = fail(p, "a string does not end");
  }
  if (!error) {
    p->at++;
    *string = text.failed ? NULL : bf_arena_copy(p->files->arena, text.data);
    error = *string ? BF_OK : bf_no_memory(p->diagnostic);
  }
  bf_text_free(&text);
  return error;
}

/* Passes over a value of any kind. */
static int skip_value(parser *p, unsigned depth) {
  const char *unused;
  char first = skip_space(p), last = first == '{' ? '}' : ']';
  if (depth > MOST_DEPTH)
    return fail(p, "too many brackets");
  if (first == '"')
    return take_string(p, &unused);
  if (first != '{' && first != '[') {
    size_t length = strspn(p->at, "-+.0123456789eEtruefalsn");
    p->at += length;
    return length ? BF_OK : fail(p, "a value is missing");
  }
  p->at++;
  while (skip_space(p) != last) {
    if (first == '{') {
      BF_TRY(take_string(p, &unused));
      BF_TRY(take(p, ':'));
    }
    BF_TRY(skip_value(p, depth + 1));
    if (skip_space(p) == ',')
      p->at++;
    else if (*p->at != last)
      return fail(p, "',' is missing");
  }
  p->at++;
  return BF_OK;
}

/* ---- Commands ---- */

typedef struct entry {
  const char *directory, *file, *command;
  char **arguments; /* ending with NULL */
} entry;

static int take_arguments(parser *p, entry *own) {
  const char *list[MOST_ARGUMENTS];
  size_t count = 0;
  BF_TRY(take(p, '['));
  while (skip_space(p) != ']') {
    if (count == MOST_ARGUMENTS - 1)
      return fail(p, "too many arguments");
    BF_TRY(take_string(p, &list[count++]));
    if (skip_space(p) == ',')
      p->at++;
    else if (*p->at != ']')
      return fail(p, "',' is missing");
  }
  p->at++;
  list[count] = NULL;
  own->arguments = bf_arena_alloc(p->files->arena, (count + 1) * sizeof *list);
  if (!own->arguments)
    return bf_no_memory(p->diagnostic);
  memcpy(own->arguments, list, (count + 1) * sizeof *list);
  return BF_OK;
}

/* The words of a command, as a shell cuts them. */
static int split(parser *p, entry *own) {
  size_t most = strlen(own->command) / 2 + 2, count = 0;
  char *word = bf_arena_copy(p->files->arena, own->command), quote = 0;
  own->arguments = bf_arena_alloc(p->files->arena, (most + 1) * sizeof *own->arguments);
  if (!word || !own->arguments)
    return bf_no_memory(p->diagnostic);
  const char *at = own->command;
  for (char *to = word; *at;) {
    at += strspn(at, " \t\n");
    if (!*at)
      break;
    own->arguments[count++] = to;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++)
      if (*at == quote)
        quote = 0;
      else if (!quote && (*at == '"' || *at == '\''))
        quote = *at;
      else if (*at == '\\' && quote != '\'' && at[1])
        *to++ = *++at;
      else
        *to++ = *at;
    *to++ = 0;
    at += *at != 0;
  }
  return BF_OK;
}

/* Adds the source of an entry: all for their launches, and those of CUDA to be looked at. */
static int add_entry(parser *p, entry *own) {
  char path[PATH_MAX];
  if (!own->file)
    return BF_OK;
  bool is_full = own->file[0] == '/' || !own->directory;
  snprintf(path, sizeof path, "%s%s%s", is_full ? "" : own->directory, is_full ? "" : "/",
           own->file);
  if (!scan_add_source(p->files, path))
    return bf_no_memory(p->diagnostic);
  if (!scan_ends_with(own->file, ".cu"))
    return BF_OK;
  if (!own->arguments && own->command)
    BF_TRY(split(p, own));
  if (!own->arguments || !own->arguments[0])
    return fail(p, "an entry has neither command nor arguments");
  scan_unit *unit = scan_add_unit(p->files, path, path, SCAN_SOURCE);
  if (!unit)
    return bf_no_memory(p->diagnostic);
  unit->folder = own->directory;
  unit->command = own->arguments;
  return BF_OK;
}

static int take_entry(parser *p) {
  entry own = {0};
  BF_TRY(take(p, '{'));
  while (skip_space(p) != '}') {
    const char *key;
    BF_TRY(take_string(p, &key));
    BF_TRY(take(p, ':'));
    if (strcmp(key, "arguments") == 0)
      BF_TRY(take_arguments(p, &own));
    else if (strcmp(key, "directory") == 0)
      BF_TRY(take_string(p, &own.directory));
    else if (strcmp(key, "file") == 0)
      BF_TRY(take_string(p, &own.file));
    else if (strcmp(key, "command") == 0)
      BF_TRY(take_string(p, &own.command));
    else
      BF_TRY(skip_value(p, 0));
    if (skip_space(p) == ',')
      p->at++;
    else if (*p->at != '}')
      return fail(p, "',' is missing");
  }
  p->at++;
  return add_entry(p, &own);
}

int scan_parse_commands(scan_files *files, const char *name, const char *text,
                        bf_diagnostic *diagnostic) {
  parser p = {files, name, text, text, diagnostic};
  int error = take(&p, '[');
  while (!error && skip_space(&p) != ']') {
    error = take_entry(&p);
    if (!error && skip_space(&p) == ',')
      p.at++;
    else if (!error && *p.at != ']')
      error = fail(&p, "',' is missing");
  }
  return error;
}

int scan_read_commands(scan_files *files, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_read_file(path, SIZE_MAX, &text, diagnostic);
  if (!error)
    error = scan_parse_commands(files, path, text.data, diagnostic);
  bf_text_free(&text);
  return error;
}
