/* Settings in environment variables. Each struct of settings has one table, by which it is put and
 * got. The injection library is built with this file and without the rest of the room. */
#include "exchange/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Variables ---- */

static const char *const names[] = {
#define X(name, text) text,
    BF_VARIABLES(X)
#undef X
};

const char *bf_variable_name(bf_variable variable) { return names[variable]; }

const char *bf_variable_get(bf_variable variable) {
  const char *value = getenv(names[variable]);
  return value && *value ? value : NULL;
}

bool bf_variable_put(bf_variable variable, const char *value) {
  return value ? setenv(names[variable], value, 1) == 0 : unsetenv(names[variable]) == 0;
}

/* ---- Tables ---- */

typedef enum kind {
  TEXT,      /* const char * */
  PATH,      /* the same, as an absolute path: the program may change its folder */
  NAME,      /* a path where it has '/' or '.', else a name */
  LOG,       /* a path, or "stderr" */
  NUMBER,    /* uint64_t, 0: not set */
  FLAG,      /* bool: set to anything but 0 */
  LIST,      /* bf_setting_list, with commas between */
  CHECKS,    /* bf_run_checks: words with commas between */
  OVERRIDES, /* bf_overrides: numbers with commas between */
} kind;

typedef struct setting {
  bf_variable variable;
  kind kind;
  size_t offset;
  uint64_t most; /* of a number; 0: any */
} setting;

#define RUN(variable, kind, member, most)                                                          \
  { BF_VARIABLE_##variable, kind, offsetof(bf_run_settings, member), most }
static const setting run_settings[] = {
    RUN(QUIET, FLAG, quiet, 0), /* first: it decides who hears what is wrong with the others */
    RUN(MACHINE, NAME, machine, 0),
    RUN(OVERRIDES, OVERRIDES, overrides, 0),
    RUN(GPU, NAME, gpu, 0),
    RUN(SET, LIST, set, 0),
    RUN(HASH, TEXT, hash, 0),
    RUN(HASH_FILE, PATH, hash_file, 0),
    RUN(LOCK_HASH, TEXT, lock_hash, 0),
    RUN(MAX_CYCLES, NUMBER, most_cycles, 0),
    RUN(MACHINE_CODE, FLAG, machine_code, 0),
    RUN(WORKERS, NUMBER, workers, 1024),
    RUN(CHECK, CHECKS, check, 0),
    RUN(AS_WRITTEN, FLAG, as_written, 0),
    RUN(KEEP_GOING, FLAG, keep_going, 0),
    RUN(SAMPLE, NUMBER, sample, UINT32_MAX),
    RUN(SKIP_REST, FLAG, skip_rest, 0),
    RUN(EVERY_LAUNCH, FLAG, every_launch, 0),
    RUN(HINT, NUMBER, hint_seconds, 0),
    RUN(REWRITE, PATH, rewrite, 0),
    RUN(RECORD, PATH, record, 0),
    RUN(ACCESSES, PATH, accesses, 0),
    RUN(TRACE, PATH, trace, 0),
};
enum { RUN_SETTINGS = sizeof run_settings / sizeof *run_settings };

#define REWRITING(variable, kind, member)                                                          \
  { BF_VARIABLE_##variable, kind, offsetof(bf_rewriting_settings, member), 0 }
static const setting rewriting_settings[] = {
    REWRITING(HASH, TEXT, hash),
    REWRITING(HASHES, PATH, hashes),
    REWRITING(HASHES_TEXT, TEXT, hashes_text),
    REWRITING(DYNAMIC_ROUNDED, FLAG, dynamic_rounded),
    REWRITING(LOG, LOG, log),
    REWRITING(CACHE, PATH, cache),
    REWRITING(TIMES, PATH, times),
    REWRITING(OLD_RUNTIME, FLAG, old_runtime),
    REWRITING(LEARN, FLAG, learn),
};
enum { REWRITING_SETTINGS = sizeof rewriting_settings / sizeof *rewriting_settings };

/* ---- Lists ---- */

/* Adds an item; commas in it, and backslashes, get a backslash. */
static void add_item(bf_text *text, const char *item) {
  if (text->size)
    bf_text_puts(text, ",");
  for (; *item; item++) {
    if (*item == ',' || *item == '\\')
      bf_text_puts(text, "\\");
    bf_text_add(text, item, 1);
  }
}

/* The next item of a list at *at, in `item`, which has room for all; false where there is none.
 * Empty ones are left out. */
static bool next_item(const char **at, char *item) {
  char *end = item;
  while (end == item && **at) {
    for (; **at && **at != ','; ++*at) {
      *at += **at == '\\' && (*at)[1];
      *end++ = **at;
    }
    *at += **at == ',';
  }
  *end = 0;
  return end > item;
}

/* ---- Putting ---- */

/* Adds a path as an absolute one. */
static int add_path(bf_text *text, const char *path, bf_diagnostic *diagnostic) {
  char folder[PATH_MAX];
  if (*path != '/' && !getcwd(folder, sizeof folder))
    return bf_fail(diagnostic, BF_IO, "cannot find the current folder: %s", strerror(errno));
  bf_text_addf(text, "%s%s%s", *path == '/' ? "" : folder, *path == '/' ? "" : "/", path);
  return BF_OK;
}

static int add_text(const setting *own, const char *value, bf_text *text,
                    bf_diagnostic *diagnostic) {
  bool is_path = own->kind == PATH || (own->kind == NAME && strpbrk(value, "/.")) ||
                 (own->kind == LOG && strcmp(value, "stderr") != 0);
  if (is_path)
    return add_path(text, value, diagnostic);
  bf_text_puts(text, value);
  return BF_OK;
}

static void add_overrides(const bf_overrides *overrides, bf_text *text) {
  if (overrides->banks || overrides->word_bytes || overrides->lanes || overrides->address_bits)
    bf_text_addf(text, "%u,%u,%u,%u", overrides->banks, overrides->word_bytes, overrides->lanes,
                 overrides->address_bits);
}

/* The value of a setting; nothing where it is not set. */
static int write_value(const setting *own, const void *member, bf_text *text,
                       bf_diagnostic *diagnostic) {
  const bf_setting_list *list = member;
  const bf_run_checks *checks = member;
  switch (own->kind) {
  case TEXT:
  case PATH:
  case NAME:
  case LOG:
    return *(const char *const *)member
               ? add_text(own, *(const char *const *)member, text, diagnostic)
               : BF_OK;
  case NUMBER:
    if (*(const uint64_t *)member)
      bf_text_addf(text, "%llu", (unsigned long long)*(const uint64_t *)member);
    break;
  case FLAG:
    bf_text_puts(text, *(const bool *)member ? "1" : "");
    break;
  case LIST:
    for (size_t i = 0; i < list->count; i++)
      add_item(text, list->item[i]);
    break;
  case CHECKS:
    if (checks->uninitialised)
      add_item(text, "uninitialised");
    if (checks->races)
      add_item(text, "races");
    break;
  case OVERRIDES:
    add_overrides(member, text);
    break;
  }
  return BF_OK;
}

/* Puts one setting; removes: where it is not set, the variable is removed. */
static int put(const setting *own, const void *from, bool removes, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = write_value(own, (const char *)from + own->offset, &text, diagnostic);
  if (!error && (text.failed || ((text.size || removes) &&
                                 !bf_variable_put(own->variable, text.size ? text.data : NULL))))
    error = bf_no_memory(diagnostic);
  bf_text_free(&text);
  return error;
}

int bf_run_settings_put(const bf_run_settings *settings, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < RUN_SETTINGS; i++)
    BF_TRY(put(&run_settings[i], settings, true, diagnostic));
  return BF_OK;
}

int bf_rewriting_settings_put(const bf_rewriting_settings *settings, bf_diagnostic *diagnostic) {
  bool names_hash = settings->hash || settings->hashes || settings->hashes_text;
  for (size_t i = 0; i < REWRITING_SETTINGS; i++) {
    bf_variable variable = rewriting_settings[i].variable;
    bool removes = names_hash && (variable == BF_VARIABLE_HASH || variable == BF_VARIABLE_HASHES ||
                                  variable == BF_VARIABLE_HASHES_TEXT);
    BF_TRY(put(&rewriting_settings[i], settings, removes, diagnostic));
  }
  return BF_OK;
}

/* ---- Getting ---- */

/* Says that a variable has no value that it can have. */
static int refuse(const setting *own, const char *value, const char *wanted,
                  bf_diagnostic *diagnostic) {
  return bf_fail(diagnostic, BF_BAD_INPUT, "%s: '%.100s' is no %s", names[own->variable], value,
                 wanted);
}

static int get_number(const setting *own, const char *value, uint64_t *number,
                      bf_diagnostic *diagnostic) {
  const char *at = value;
  if (!bf_parse_number(&at, number) || *at)
    return refuse(own, value, "whole number", diagnostic);
  if (own->most && *number > own->most)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is at most %llu, not %llu", names[own->variable],
                   (unsigned long long)own->most, (unsigned long long)*number);
  return BF_OK;
}

static int get_overrides(const setting *own, const char *value, bf_overrides *overrides,
                         bf_diagnostic *diagnostic) {
  unsigned *const part[] = {&overrides->banks, &overrides->word_bytes, &overrides->lanes,
                            &overrides->address_bits};
  const char *at = value;
  for (size_t i = 0; i < 4; i++) {
    uint64_t number;
    if (!bf_parse_number(&at, &number) || number > UINT_MAX)
      break;
    *part[i] = (unsigned)number;
    if (!*at)
      return BF_OK;
    if (*at++ != ',')
      break;
  }
  return refuse(own, value, "list of up to four numbers", diagnostic);
}

static int get_list(const char *value, bf_arena *arena, bf_setting_list *list,
                    bf_diagnostic *diagnostic) {
  size_t most = 1;
  for (const char *at = value; *at; at++)
    most += *at == ',';
  const char **items = bf_arena_alloc(arena, most * sizeof *items);
  char *item = bf_arena_alloc(arena, strlen(value) + 1);
  if (!items || !item)
    return bf_no_memory(diagnostic);
  *list = (bf_setting_list){items, 0};
  while (next_item(&value, item))
    if (!(items[list->count++] = bf_arena_copy(arena, item)))
      return bf_no_memory(diagnostic);
  return BF_OK;
}

static int get_checks(const setting *own, const char *value, bf_arena *arena, bf_run_checks *checks,
                      bf_diagnostic *diagnostic) {
  bf_setting_list words;
  BF_TRY(get_list(value, arena, &words, diagnostic));
  for (size_t i = 0; i < words.count; i++) {
    bool is_uninitialised = strcmp(words.item[i], "uninitialised") == 0;
    if (!is_uninitialised && strcmp(words.item[i], "races") != 0)
      return refuse(own, words.item[i], "check: they are uninitialised and races", diagnostic);
    *(is_uninitialised ? &checks->uninitialised : &checks->races) = true;
  }
  return BF_OK;
}

/* Gets a setting from the value of its variable. */
static int get_value(const setting *own, const char *value, bf_arena *arena, void *member,
                     bf_diagnostic *diagnostic) {
  switch (own->kind) {
  case TEXT:
  case PATH:
  case NAME:
  case LOG:
    *(const char **)member = bf_arena_copy(arena, value);
    return *(const char **)member ? BF_OK : bf_no_memory(diagnostic);
  case NUMBER:
    return get_number(own, value, member, diagnostic);
  case FLAG:
    *(bool *)member = strcmp(value, "0") != 0;
    break;
  case LIST:
    return get_list(value, arena, member, diagnostic);
  case CHECKS:
    return get_checks(own, value, arena, member, diagnostic);
  case OVERRIDES:
    return get_overrides(own, value, member, diagnostic);
  }
  return BF_OK;
}

/* Gets all settings of a table. */
static int get(const setting *table, size_t count, bf_arena *arena, void *to,
               bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < count; i++) {
    const char *value = bf_variable_get(table[i].variable);
    if (value)
      BF_TRY(get_value(&table[i], value, arena, (char *)to + table[i].offset, diagnostic));
  }
  return BF_OK;
}

int bf_run_settings_get(bf_run_settings *settings, bf_diagnostic *diagnostic) {
  *settings = (bf_run_settings){0};
  bf_machine_default_overrides(&settings->overrides);
  return get(run_settings, RUN_SETTINGS, &settings->arena, settings, diagnostic);
}

void bf_run_settings_free(bf_run_settings *settings) {
  bf_arena_free(&settings->arena);
  *settings = (bf_run_settings){0};
}

int bf_rewriting_settings_get(bf_rewriting_settings *settings, bf_diagnostic *diagnostic) {
  *settings = (bf_rewriting_settings){0};
  return get(rewriting_settings, REWRITING_SETTINGS, &settings->arena, settings, diagnostic);
}

void bf_rewriting_settings_free(bf_rewriting_settings *settings) {
  bf_arena_free(&settings->arena);
  *settings = (bf_rewriting_settings){0};
}
