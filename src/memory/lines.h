/* Lines of machine and GPU files. A line is a key and values; one that states a fact ends in its
 * basis and the name of its source, which a source line must have declared further up. '#' at the
 * start of a line or after a blank starts a comment. The files differ only in their keys. */
#ifndef BF_LINES_H
#define BF_LINES_H

#include "memory/memory.h"

enum { BF_LINE_WORDS = 128 };

typedef struct bf_lines {
  const char *file;
  bf_diagnostic *diagnostic;
  bf_arena *arena; /* of the texts that are kept */
  uint64_t line_number;
  char *line;  /* the line without its comment, for diagnostics */
  char *split; /* the same with zeros between the words */
  char *word[BF_LINE_WORDS];
  unsigned words; /* in the line; for facts without basis and source */
  unsigned next;  /* the word to read next */
  char **source_name, **source_text;
  size_t source_count, source_room;
} bf_lines;

/* Makes room for the lines of text: the longest one, and as many sources as there are lines. file,
 * diagnostic and arena are set. */
int bf_lines_begin(bf_lines *r, const char *text);
/* Reads the line at *text, moves *text behind it and splits it into words. */
int bf_lines_next(bf_lines *r, const char **text);

int bf_lines_no_memory(bf_lines *r);
/* Where word number index starts in the line; the end of the line when there is no such word. */
const char *bf_lines_place(const bf_lines *r, unsigned index);
/* A fault at `at`, which points into r->line, or in word number index. */
#define BF_LINES_FAIL_AT(r, at, ...)                                                               \
  bf_fail_at((r)->diagnostic, (r)->file, (r)->line_number, (r)->line, at, __VA_ARGS__)
#define BF_LINES_FAIL(r, index, ...) BF_LINES_FAIL_AT(r, bf_lines_place(r, index), __VA_ARGS__)

/* ---- Built-in files ---- */

/* The file of that name or, by a line "also NAME...", of that other name; NULL: there is none. */
const bf_embedded_machine *bf_lines_find_file(const bf_embedded_machine *files, const char *name);
/* Fails with a message that there is none: what are the files of, and which there are. */
int bf_lines_no_file(const bf_embedded_machine *files, const char *what, const char *name,
                     bf_diagnostic *diagnostic);

/* The next word without taking it; "" at the end. */
const char *bf_lines_peek(const bf_lines *r);
/* Takes the next word if it is text. */
bool bf_lines_take(bf_lines *r, const char *text);
/* Takes a name: letters, digits, '-' and '_'. */
int bf_lines_take_name(bf_lines *r, const char *what, char **name);
/* Takes the rest of the line, as written. */
int bf_lines_take_rest(bf_lines *r, const char *what, char **text);
/* Takes the name of a source and what it is. */
int bf_lines_take_source(bf_lines *r);
/* Adds copies of sources that another file has declared; before the file's own. */
int bf_lines_inherit_sources(bf_lines *r, char *const *name, char *const *text, size_t count);
/* Refuses words that nobody took. */
int bf_lines_expect_end(bf_lines *r);

/* Checks basis and source at the end of the line and takes them off the words to read. */
int bf_lines_take_basis(bf_lines *r);
/* True if the fact of this line is assumed; after bf_lines_take_basis. */
bool bf_lines_is_assumed(const bf_lines *r);
/* What the line states; key_words of its words name it. After bf_lines_take_basis. */
int bf_lines_fact(bf_lines *r, unsigned key_words, bf_machine_fact *fact);

/* Reads a whole file of at most 1 MiB; kind ("machine") is what it should be, for messages. */
int bf_lines_read_file(const char *path, const char *kind, bf_text *text,
                       bf_diagnostic *diagnostic);

#endif
