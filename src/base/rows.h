/* base/rows: text files of rows with named fields, for what one program of the project tells
 * another. A file is
 *
 *   bankfold KIND VERSION
 *   WORD NAME=VALUE NAME=VALUE...
 *   end
 *
 * with tabs between the parts of a row. A row is described once, for who writes it and who reads
 * it; readers refuse other kinds and versions, files that are cut off, and rows that are not as
 * described, and name the line. */
#ifndef BF_BASE_ROWS_H
#define BF_BASE_ROWS_H

#include "base/base.h"

/* ---- Descriptions ---- */

typedef enum bf_field_kind {
  BF_FIELD_TEXT,     /* const char * */
  BF_FIELD_OPTIONAL, /* const char *, or NULL, which is not written */
  BF_FIELD_NUMBER,   /* uint64_t */
  BF_FIELD_REAL,     /* double, finite */
  BF_FIELD_FLAG,     /* bool */
} bf_field_kind;

/* A member of a struct, which is called in files as it is there. */
typedef struct bf_field {
  bf_field_kind kind;
  const char *name;
  size_t offset;
} bf_field;

/* The kind of a member follows from its type. */
/* clang-format off */
#define BF_FIELD_KIND(type, member)                                                                \
  _Generic(((type *)0)->member,                                                                    \
           const char *: BF_FIELD_TEXT,                                                            \
           uint64_t: BF_FIELD_NUMBER,                                                              \
           double: BF_FIELD_REAL,                                                                  \
           bool: BF_FIELD_FLAG)
/* clang-format on */
#define BF_FIELD(type, member)                                                                     \
  { BF_FIELD_KIND(type, member), #member, offsetof(type, member) }
#define BF_FIELD_OR_NULL(type, member)                                                             \
  { BF_FIELD_OPTIONAL, #member, offsetof(type, member) }

/* Rows that start with a word and have these fields, in this order. */
typedef struct bf_row {
  const char *word;
  const bf_field *field;
  unsigned fields;
} bf_row;

#define BF_ROW(word, list)                                                                         \
  { word, list, sizeof list / sizeof *list }

/* A file: what it is of, and the version of its rows, which changes whenever they do. */
typedef struct bf_rows_form {
  const char *kind;
  unsigned version;
} bf_rows_form;

/* ---- Writing ---- */

void bf_rows_begin(const bf_rows_form *form, bf_text *text);
/* Adds the row of a struct. */
void bf_row_write(const bf_row *row, const void *from, bf_text *text);
void bf_rows_end(bf_text *text);

/* ---- Reading ---- */

/* Reads a row from a line without its newline. Texts go to `texts`, which has room for as many
 * bytes as the line and its NUL. */
int bf_row_parse(const bf_row *row, const char *file, uint64_t number, const char *line,
                 char *texts, void *to, bf_diagnostic *diagnostic);

/* A file while it is read. */
typedef struct bf_rows bf_rows;

/* Called with every row of a file, in order. */
typedef int bf_rows_take(void *context, bf_rows *rows, bf_diagnostic *diagnostic);
int bf_rows_read(const char *path, const bf_rows_form *form, bf_rows_take *take, void *context,
                 bf_diagnostic *diagnostic);
/* Whether the row starts with the word of that description. */
bool bf_rows_is(const bf_rows *rows, const bf_row *row);
/* Reads the row, which must be of that description. Texts stay until the next row. */
int bf_rows_get(bf_rows *rows, const bf_row *row, void *to, bf_diagnostic *diagnostic);
/* Says that something is wrong with the row; returns BF_BAD_INPUT. */
int bf_rows_fail(const bf_rows *rows, bf_diagnostic *diagnostic, const char *format, ...)
    BF_PRINTF(3, 4);
/* Whether it is the first of its file. */
bool bf_rows_is_first(const bf_rows *rows);
/* Where the row is. */
const char *bf_rows_file(const bf_rows *rows);
uint64_t bf_rows_line(const bf_rows *rows);

/* ---- Files of several processes ---- */

/* The path of the file that this process leaves in a folder: its number. */
void bf_rows_path(const char *folder, bf_text *path);
/* Reads all such files of a folder, in the order of their numbers. Other names are left out: a
 * process that was killed while it wrote leaves one. */
int bf_rows_read_folder(const char *folder, const bf_rows_form *form, bf_rows_take *take,
                        void *context, bf_diagnostic *diagnostic);

#endif
