/* Files of rows with named fields. */
#include "base/rows.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char last_line[] = "end";

/* ---- Writing ---- */

void bf_rows_begin(const bf_rows_form *form, bf_text *text) {
  bf_text_addf(text, "bankfold %s %u\n", form->kind, form->version);
}

void bf_rows_end(bf_text *text) { bf_text_addf(text, "%s\n", last_line); }

/* What ends a field or a row, and the letter that stands for it behind a backslash. */
static const char escaped[] = "\\\t\n\r", letters[] = "\\tnr";

static void write_text(const char *value, bf_text *text) {
  while (*value) {
    size_t plain = strcspn(value, escaped);
    bf_text_add(text, value, plain);
    value += plain;
    if (*value)
      bf_text_addf(text, "\\%c", letters[strchr(escaped, *value++) - escaped]);
  }
}

/* A real number that is read back as it was. Programs may have chosen a language in which numbers
 * have no point. */
static void write_real(double value, bf_text *text) {
  char digits[64];
  int length = snprintf(digits, sizeof digits, "%.17g", value);
  for (int i = 0; i < length; i++) {
    bool is_mark = !strchr("0123456789+-e", digits[i]);
    if (!is_mark || i == 0 || strchr("0123456789+-e", digits[i - 1]))
      bf_text_add(text, is_mark ? "." : &digits[i], 1);
  }
}

static void write_field(const bf_field *field, const void *from, bf_text *text) {
  const void *member = (const char *)from + field->offset;
  switch (field->kind) {
  case BF_FIELD_TEXT:
  case BF_FIELD_OPTIONAL:
    write_text(*(const char *const *)member, text);
    break;
  case BF_FIELD_NUMBER:
    bf_text_addf(text, "%llu", (unsigned long long)*(const uint64_t *)member);
    break;
  case BF_FIELD_REAL:
    write_real(*(const double *)member, text);
    break;
  case BF_FIELD_FLAG:
    bf_text_puts(text, *(const bool *)member ? "1" : "0");
    break;
  }
}

/* Whether a field is NULL, so that it is left out. */
static bool is_left_out(const bf_field *field, const void *from) {
  return field->kind == BF_FIELD_OPTIONAL &&
         !*(const char *const *)(const void *)((const char *)from + field->offset);
}

void bf_row_write(const bf_row *row, const void *from, bf_text *text) {
  bf_text_puts(text, row->word);
  for (unsigned i = 0; i < row->fields; i++) {
    if (is_left_out(&row->field[i], from))
      continue;
    bf_text_addf(text, "\t%s=", row->field[i].name);
    write_field(&row->field[i], from, text);
  }
  bf_text_puts(text, "\n");
}

/* ---- Reading a row ---- */

/* A line while it is read. */
typedef struct parser {
  const char *file, *line, *at;
  uint64_t number;
  char *texts; /* room for the next text */
  bf_diagnostic *diagnostic;
} parser;

#define FAIL(p, ...)                                                                               \
  bf_fail_at((p)->diagnostic, (p)->file, (p)->number, (p)->line, (p)->at, __VA_ARGS__)

static bool ends_field(char c) { return c == 0 || c == '\t'; }

/* Moves behind word, which must end where it does; false where something else is there. */
static bool skip_word(parser *p, const char *word) {
  size_t length = strlen(word);
  if (strncmp(p->at, word, length) != 0 || !ends_field(p->at[length]))
    return false;
  p->at += length;
  return true;
}

/* Moves behind a tab, a name and its "="; false where something else is there. */
static bool skip_name(parser *p, const char *name) {
  size_t length = strlen(name);
  if (p->at[0] != '\t' || strncmp(p->at + 1, name, length) != 0 || p->at[1 + length] != '=')
    return false;
  p->at += length + 2;
  return true;
}

static int read_text(parser *p, const char **value) {
  *value = p->texts;
  for (; !ends_field(*p->at); p->at++) {
    char c = *p->at;
    if (c == '\\') {
      const char *letter = p->at[1] ? strchr(letters, p->at[1]) : NULL;
      if (!letter)
        return FAIL(p, "no such character: a backslash comes before \\, t, n or r");
      c = escaped[letter - letters];
      p->at++;
    }
    *p->texts++ = c;
  }
  *p->texts++ = 0;
  return BF_OK;
}

static bool read_number(const char **at, uint64_t *value) {
  return bf_parse_number(at, value) && ends_field(**at);
}

static bool read_real(const char **at, double *value) {
  char *end;
  if (!strchr("0123456789-", **at) || !**at)
    return false;
  *value = strtod(*at, &end);
  *at = end;
  return ends_field(*end) && isfinite(*value);
}

static bool read_flag(const char **at, bool *value) {
  *value = **at == '1';
  return (*value || **at == '0') && ends_field(*++*at);
}

/* Reads the value of a field. */
static int read_value(parser *p, const bf_field *field, void *to) {
  void *member = (char *)to + field->offset;
  const char *at = p->at;
  bool is_good = true;
  switch (field->kind) {
  case BF_FIELD_TEXT:
  case BF_FIELD_OPTIONAL:
    return read_text(p, member);
  case BF_FIELD_NUMBER:
    is_good = read_number(&at, member);
    break;
  case BF_FIELD_REAL:
    is_good = read_real(&at, member);
    break;
  case BF_FIELD_FLAG:
    is_good = read_flag(&at, member);
    break;
  }
  if (!is_good)
    return FAIL(p, "%s is no %s", field->name,
                field->kind == BF_FIELD_NUMBER ? "whole number"
                : field->kind == BF_FIELD_REAL ? "number"
                                               : "0 or 1");
  p->at = at;
  return BF_OK;
}

int bf_row_parse(const bf_row *row, const char *file, uint64_t number, const char *line,
                 char *texts, void *to, bf_diagnostic *diagnostic) {
  parser p = {file, line, line, number, texts, diagnostic};
  if (!skip_word(&p, row->word))
    return FAIL(&p, "expected a row '%s'", row->word);
  for (unsigned i = 0; i < row->fields; i++) {
    const bf_field *field = &row->field[i];
    if (skip_name(&p, field->name))
      BF_TRY(read_value(&p, field, to));
    else if (field->kind == BF_FIELD_OPTIONAL)
      *(const char **)(void *)((char *)to + field->offset) = NULL;
    else
      return FAIL(&p, "expected '%s='", field->name);
  }
  return *p.at ? FAIL(&p, "unexpected text in a row '%s'", row->word) : BF_OK;
}

/* ---- Reading a file ---- */

struct bf_rows {
  FILE *file;
  const char *path;
  char *line, *texts;
  size_t line_capacity, texts_capacity;
  uint64_t number;
};

/* Says that the file cannot be read, as errno says. */
static int cannot_read(const bf_rows *rows, bf_diagnostic *diagnostic) {
  if (errno == ENOMEM)
    return bf_no_memory(diagnostic);
  return bf_fail_file(diagnostic, BF_IO, rows->path, "cannot read: %s", strerror(errno));
}

/* Reads a line, without its newline: 1, 0 at the end of the file, where the line before it stays,
 * or a negative bf_error. */
static int read_line(bf_rows *rows, bf_diagnostic *diagnostic) {
  int first = getc(rows->file);
  if (first == EOF)
    return ferror(rows->file) ? cannot_read(rows, diagnostic) : 0;
  ungetc(first, rows->file);
  ssize_t length = getline(&rows->line, &rows->line_capacity, rows->file);
  if (length <= 0)
    return cannot_read(rows, diagnostic);
  rows->number++;
  if (strlen(rows->line) < (size_t)length)
    return bf_rows_fail(rows, diagnostic, "a NUL byte in a line");
  if (rows->line[length - 1] != '\n')
    return bf_rows_fail(rows, diagnostic, "the file is cut off inside this line");
  rows->line[length - 1] = 0;
  return 1;
}

/* Reads the first line, which must be that of the form. */
static int check_form(bf_rows *rows, const bf_rows_form *form, bf_diagnostic *diagnostic) {
  char wanted[128];
  snprintf(wanted, sizeof wanted, "bankfold %s %u", form->kind, form->version);
  int got = read_line(rows, diagnostic);
  if (got == BF_NO_MEMORY || got == BF_IO || (got == 1 && strcmp(rows->line, wanted) == 0))
    return got == 1 ? BF_OK : got;
  if (got == 0)
    return bf_fail_at(diagnostic, rows->path, 1, "", "", "expected '%s': the file is empty",
                      wanted);
  return bf_rows_fail(rows, diagnostic,
                      "expected '%s': another file, or one of another version of Bankfold", wanted);
}

/* Goes to the next row: 1, 0 at the end, or a negative bf_error. */
static int next(bf_rows *rows, bf_diagnostic *diagnostic) {
  int got = read_line(rows, diagnostic);
  if (got == 0)
    return bf_rows_fail(rows, diagnostic, "the file is cut off behind this line");
  if (got < 0 || strcmp(rows->line, last_line) != 0)
    return got;
  return getc(rows->file) == EOF ? 0 : bf_rows_fail(rows, diagnostic, "text behind the end");
}

int bf_rows_read(const char *path, const bf_rows_form *form, bf_rows_take *take, void *context,
                 bf_diagnostic *diagnostic) {
  bf_rows rows = {.path = path, .file = fopen(path, "r")};
  if (!rows.file)
    return bf_fail_file(diagnostic, BF_IO, path, "cannot open: %s", strerror(errno));
  int got = 1, error = check_form(&rows, form, diagnostic);
  while (!error && got) {
    got = next(&rows, diagnostic);
    error = got == 1 ? take(context, &rows, diagnostic) : got;
  }
  fclose(rows.file);
  free(rows.line);
  free(rows.texts);
  return error;
}

bool bf_rows_is(const bf_rows *rows, const bf_row *row) {
  size_t length = strlen(row->word);
  return strncmp(rows->line, row->word, length) == 0 && ends_field(rows->line[length]);
}

int bf_rows_get(bf_rows *rows, const bf_row *row, void *to, bf_diagnostic *diagnostic) {
  if (rows->texts_capacity < rows->line_capacity) {
    char *texts = realloc(rows->texts, rows->line_capacity);
    if (!texts)
      return bf_no_memory(diagnostic);
    rows->texts = texts;
    rows->texts_capacity = rows->line_capacity;
  }
  return bf_row_parse(row, rows->path, rows->number, rows->line, rows->texts, to, diagnostic);
}

int bf_rows_fail(const bf_rows *rows, bf_diagnostic *diagnostic, const char *format, ...) {
  char message[sizeof diagnostic->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return bf_fail_at(diagnostic, rows->path, rows->number, rows->line, rows->line, "%s", message);
}

bool bf_rows_is_first(const bf_rows *rows) { return rows->number == 2; }

const char *bf_rows_file(const bf_rows *rows) { return rows->path; }

uint64_t bf_rows_line(const bf_rows *rows) { return rows->number; }

/* ---- Files of several processes ---- */

void bf_rows_path(const char *folder, bf_text *path) {
  bf_text_addf(path, "%s/%ld", folder, (long)getpid());
}

/* Names of such files. */
static int is_process(const struct dirent *entry) {
  return entry->d_name[strspn(entry->d_name, "0123456789")] == 0;
}

/* By their numbers: of two without zeros in front, the longer one is the larger. */
static int compare_processes(const struct dirent **a, const struct dirent **b) {
  size_t one = strlen((*a)->d_name), other = strlen((*b)->d_name);
  return one != other ? (one < other ? -1 : 1) : strcmp((*a)->d_name, (*b)->d_name);
}

int bf_rows_read_folder(const char *folder, const bf_rows_form *form, bf_rows_take *take,
                        void *context, bf_diagnostic *diagnostic) {
  struct dirent **entry;
  int count = scandir(folder, &entry, is_process, compare_processes), error = BF_OK;
  if (count < 0)
    return bf_fail_file(diagnostic, BF_IO, folder, "cannot open: %s", strerror(errno));
  for (int i = 0; i < count; i++) {
    bf_text path = {0};
    bf_text_addf(&path, "%s/%s", folder, entry[i]->d_name);
    if (!error)
      error = path.failed ? bf_no_memory(diagnostic)
                          : bf_rows_read(path.data, form, take, context, diagnostic);
    bf_text_free(&path);
    free(entry[i]);
  }
  free(entry);
  return error;
}
