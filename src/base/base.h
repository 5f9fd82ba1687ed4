/* base: what every room needs - diagnostics, growing text, JSON, files, threads, time.
 * Nothing here knows about banks. */
#ifndef BF_BASE_H
#define BF_BASE_H

#include "bankfold.h"

#include <stdarg.h>
#include <stdio.h>

#define BF_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- Arena: many allocations, freed at once ---- */

typedef struct bf_arena {
  struct bf_arena_block *head;
} bf_arena;

/* size zeroed bytes aligned for any type, or NULL when memory is exhausted. */
void *bf_arena_alloc(bf_arena *arena, size_t size);
char *bf_arena_copy(bf_arena *arena, const char *text);
void bf_arena_free(bf_arena *arena);

/* ---- Diagnostics ---- */

/* Leaves the function with the error of call, if it has one. */
#define BF_TRY(call)                                                                               \
  do {                                                                                             \
    int try_error = (call);                                                                        \
    if (try_error != BF_OK)                                                                        \
      return try_error;                                                                            \
  } while (0)

/* Says that memory is exhausted; returns BF_NO_MEMORY. */
int bf_no_memory(bf_diagnostic *diagnostic);
/* Fills diagnostic (ignored when NULL) and returns error. */
int bf_fail(bf_diagnostic *diagnostic, bf_error error, const char *format, ...) BF_PRINTF(3, 4);
/* The same for a fault of a whole file. */
int bf_fail_file(bf_diagnostic *diagnostic, bf_error error, const char *file, const char *format,
                 ...) BF_PRINTF(4, 5);
/* The same for a fault at `at` inside the NUL-terminated line `text` of file:line. */
int bf_fail_at(bf_diagnostic *diagnostic, const char *file, uint64_t line, const char *text,
               const char *at, const char *format, ...) BF_PRINTF(6, 7);

/* Tells whoever listens; logger may have nobody. */
void bf_say(const bf_logger *logger, bf_log_level level, const char *format, ...) BF_PRINTF(3, 4);

/* ---- Options ---- */

/* Copies what the caller gave, whose struct_bytes may be less or more than own_bytes, into own.
 * NULL: defaults. Refuses structs that no default function has filled, and fields behind own_bytes
 * that are not 0. type is what the struct is called. */
int bf_take_options(const void *given, void *own, size_t own_bytes, const char *type,
                    bf_diagnostic *diagnostic);

/* ---- Growing text ---- */

typedef struct bf_text {
  char *data; /* NUL-terminated once anything was added */
  size_t size;
  size_t capacity;
  bool failed; /* an allocation failed; everything after it was dropped */
} bf_text;

void bf_text_add(bf_text *text, const char *bytes, size_t size);
void bf_text_puts(bf_text *text, const char *string);
/* Where up to size bytes may be put behind the text; NULL where memory is exhausted. bf_text_took
 * says where they end. */
char *bf_text_room(bf_text *text, size_t size);
void bf_text_took(bf_text *text, const char *end);
void bf_text_addf(bf_text *text, const char *format, ...) BF_PRINTF(2, 3);
void bf_text_free(bf_text *text);

/* Adds string with markup characters of XML escaped; bytes that XML cannot hold become U+FFFD. */
void bf_markup_escape(const char *string, bf_text *text);

/* A bar of BF_BAR_CELLS cells, of which share (0 to 1) are filled. */
enum { BF_BAR_CELLS = 24 };
void bf_bar_fill(double share, char cells[BF_BAR_CELLS + 1]);

/* ---- Numbers in text ---- */

/* Parses an unsigned number, decimal or 0x, at *cursor and moves *cursor behind it.
 * Returns false on no digits or overflow and leaves *cursor. */
bool bf_parse_number(const char **cursor, uint64_t *value);
/* The same for hexadecimal digits with or without 0x. */
bool bf_parse_hex(const char **cursor, uint64_t *value);

/* ---- JSON ---- */

/* Writes one JSON document with two-space indentation into text. Keys are given inside objects and
 * must be NULL inside arrays. Bytes of strings that are not UTF-8 become U+FFFD. Lists whose
 * members are small are kept on one line. */
typedef struct bf_json {
  bf_text *text;
  unsigned depth;
  bool has_member[32];
  bool flat[32]; /* members of this level go on one line */
} bf_json;

void bf_json_begin(bf_json *json, const char *key, char bracket, bool flat); /* '{' or '[' */
void bf_json_end(bf_json *json, char bracket);                               /* '}' or ']' */
void bf_json_string(bf_json *json, const char *key, const char *value);      /* NULL writes null */
void bf_json_number(bf_json *json, const char *key, uint64_t value);
void bf_json_integer(bf_json *json, const char *key, int64_t value);
void bf_json_real(bf_json *json, const char *key, double value);
void bf_json_bool(bf_json *json, const char *key, bool value);

/* ---- Files ---- */

/* Reads bytes from a file ("-": standard input) or memory, decompressing zstd when the content
 * starts with its magic number. */
typedef struct bf_reader bf_reader;
/* What messages call the input at path: its name, or "standard input" for "-". */
const char *bf_input_name(const char *path);
int bf_reader_open(const char *path, bf_reader **reader, bf_diagnostic *diagnostic);
/* The same for size bytes in memory, which are borrowed until the reader is closed; name is for
 * messages. */
int bf_reader_open_memory(const char *name, const void *bytes, size_t size, bf_reader **reader,
                          bf_diagnostic *diagnostic);
/* Up to size bytes into buffer; *got is 0 only at the end. */
int bf_reader_read(bf_reader *reader, void *buffer, size_t size, size_t *got,
                   bf_diagnostic *diagnostic);
/* Bytes taken from the file so far, and its size; 0 where it is not known. */
void bf_reader_place(const bf_reader *reader, uint64_t *bytes, uint64_t *size);
void bf_reader_close(bf_reader *reader);
struct bf_writer;
/* Whether the content is compressed and all that was read of the file so far is at hand. */
bool bf_reader_can_copy(const bf_reader *reader);
/* In that case: the bytes of the file go to writer too, as they stand there. */
int bf_reader_copy_to(bf_reader *reader, struct bf_writer *writer, bf_diagnostic *diagnostic);

/* Adds a whole file to text, whose data is not NULL then. Of one with more than most_bytes, a piece
 * more than that is read: its size tells. */
int bf_read_file(const char *path, size_t most_bytes, bf_text *text, bf_diagnostic *diagnostic);

/* Writes a file under a temporary name beside path; bf_writer_commit renames it to path and
 * bf_writer_close without commit removes it. "-" writes to standard output; devices and pipes are
 * written in place. */
typedef struct bf_writer bf_writer;
int bf_writer_open(const char *path, bool compress, bf_writer **writer, bf_diagnostic *diagnostic);
/* How hard to compress, as zstd counts it: 1 (fast) to 19; before the first byte. */
int bf_writer_set_level(bf_writer *writer, int level, bf_diagnostic *diagnostic);
/* Only what repeats is packed, other bytes stay as they are: for bytes at random, which codes of
 * unequal length would make a hundredth shorter and every reader would have to decode. */
int bf_writer_set_repeats_alone(bf_writer *writer, bf_diagnostic *diagnostic);
int bf_writer_write(bf_writer *writer, const void *bytes, size_t size, bf_diagnostic *diagnostic);
int bf_writer_commit(bf_writer *writer, bf_diagnostic *diagnostic);
void bf_writer_close(bf_writer *writer);
/* Open, write, commit and close in one. */
int bf_write_file(const char *path, const char *bytes, size_t size, bf_diagnostic *diagnostic);

/* Adds a line to a log: a file, "stderr", or NULL for none. Lines of several processes do not mix;
 * what cannot be written is lost. errno is kept. */
void bf_log(const char *log, const char *format, va_list arguments) BF_PRINTF(2, 0);

/* ---- Threads and time ---- */

unsigned bf_cores(void);
/* Runs work(context, index) for index 0..threads-1 and waits for all: index 0 on the calling
 * thread, the others each on its own, or on the calling thread before index 0 where none can be
 * had. */
void bf_run_threads(unsigned threads, void (*work)(void *context, unsigned index), void *context);

/* Threads that wait between jobs, so that short jobs need not start any. */
typedef struct bf_crew bf_crew;
/* A crew without threads; they are started when first needed. NULL: out of memory. */
bf_crew *bf_crew_create(void);
/* Has up to `most` threads call work(context, index), index from 1 on, each as soon as it is awake;
 * returns at once. False: the crew has a job. */
bool bf_crew_begin(bf_crew *crew, unsigned most, void (*work)(void *context, unsigned index),
                   void *context);
/* Ends the job: no thread begins work any more, and those that did are waited for. */
void bf_crew_end(bf_crew *crew);
/* Ends the threads; no job may be under way. NULL is fine. */
void bf_crew_free(bf_crew *crew);
/* Seconds on a clock that never goes back. */
double bf_seconds(void);

#endif
