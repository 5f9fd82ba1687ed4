/* Lines of machine and GPU files: words, names, sources, and what facts rest on. */
#include "memory/lines.h"

#include "base/guess.h"

#include <string.h>

enum { MOST_FILE_BYTES = 1 << 20 };

int bf_lines_no_memory(bf_lines *r) { return bf_no_memory(r->diagnostic); }

/* ---- From text to words ---- */

/* Counts lines, one more than there are ends of lines, and finds the longest. */
static size_t measure(const char *text, size_t *longest) {
  size_t lines = 1;
  *longest = 0;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, "\n");
    *longest = length > *longest ? length : *longest;
    at += length + (at[length] == '\n');
    lines++;
  }
  return lines;
}

/* Room for that many sources. */
static int make_source_room(bf_lines *r, size_t count) {
  r->source_room = count;
  r->source_name = bf_arena_alloc(r->arena, count * sizeof(char *));
  r->source_text = bf_arena_alloc(r->arena, count * sizeof(char *));
  return r->source_name && r->source_text ? BF_OK : bf_lines_no_memory(r);
}

int bf_lines_begin(bf_lines *r, const char *text) {
  size_t longest, lines = measure(text, &longest);
  r->line = bf_arena_alloc(r->arena, longest + 1);
  r->split = bf_arena_alloc(r->arena, longest + 1);
  if (!r->line || !r->split)
    return bf_lines_no_memory(r);
  return make_source_room(r, lines);
}

/* Cuts the comment and trailing blanks off the line and splits it into words. */
static int split_line(bf_lines *r) {
  char *line = r->line;
  size_t length = 0, end = 0;
  for (; line[length] && !(line[length] == '#' && (!length || strchr(" \t", line[length - 1])));
       length++)
    if (!strchr(" \t\r", line[length]))
      end = length + 1;
  line[end] = 0;
  memcpy(r->split, line, end + 1);
  r->words = r->next = 0;
  for (char *at = r->split; *at;) {
    at += strspn(at, " \t\r");
    if (!*at)
      break;
    if (r->words == BF_LINE_WORDS)
      return BF_LINES_FAIL_AT(r, line + (at - r->split), "more than %d words in a line",
                              BF_LINE_WORDS);
    r->word[r->words++] = at;
    at += strcspn(at, " \t\r");
    if (*at)
      *at++ = 0;
  }
  return BF_OK;
}

int bf_lines_next(bf_lines *r, const char **text) {
  size_t length = strcspn(*text, "\n");
  memcpy(r->line, *text, length);
  r->line[length] = 0;
  r->line_number++;
  *text += length + ((*text)[length] == '\n');
  return split_line(r);
}

/* ---- Words ---- */

const char *bf_lines_place(const bf_lines *r, unsigned index) {
  if (index < r->words)
    return r->line + (r->word[index] - r->split);
  return r->words ? bf_lines_place(r, r->words - 1) + strlen(r->word[r->words - 1]) : r->line;
}

const char *bf_lines_peek(const bf_lines *r) { return r->next < r->words ? r->word[r->next] : ""; }

bool bf_lines_take(bf_lines *r, const char *text) {
  if (strcmp(bf_lines_peek(r), text) != 0)
    return false;
  r->next++;
  return true;
}

int bf_lines_expect_end(bf_lines *r) {
  if (r->next < r->words)
    return BF_LINES_FAIL(r, r->next, "unexpected '%.40s'", bf_lines_peek(r));
  return BF_OK;
}

static bool is_name(const char *text) {
  return *text &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
             strlen(text);
}

int bf_lines_take_name(bf_lines *r, const char *what, char **name) {
  if (!is_name(bf_lines_peek(r)))
    return BF_LINES_FAIL(r, r->next, "expected %s: letters, digits, '-' and '_'", what);
  *name = bf_arena_copy(r->arena, bf_lines_peek(r));
  r->next++;
  return *name ? BF_OK : bf_lines_no_memory(r);
}

int bf_lines_take_rest(bf_lines *r, const char *what, char **text) {
  if (r->next >= r->words)
    return BF_LINES_FAIL(r, r->next, "expected %s", what);
  *text = bf_arena_copy(r->arena, bf_lines_place(r, r->next));
  r->next = r->words;
  return *text ? BF_OK : bf_lines_no_memory(r);
}

/* ---- Sources and facts ---- */

static bool is_source(const bf_lines *r, const char *name) {
  for (size_t i = 0; i < r->source_count; i++)
    if (strcmp(r->source_name[i], name) == 0)
      return true;
  return false;
}

int bf_lines_take_source(bf_lines *r) {
  if (is_source(r, bf_lines_peek(r)))
    return BF_LINES_FAIL(r, r->next, "source '%.40s' is declared twice", bf_lines_peek(r));
  char *name, *text;
  BF_TRY(bf_lines_take_name(r, "the name of the source", &name));
  BF_TRY(bf_lines_take_rest(r, "what the source is", &text));
  r->source_name[r->source_count] = name;
  r->source_text[r->source_count++] = text;
  return BF_OK;
}

int bf_lines_inherit_sources(bf_lines *r, char *const *name, char *const *text, size_t count) {
  BF_TRY(make_source_room(r, r->source_room + count));
  for (size_t i = 0; i < count; i++) {
    r->source_name[i] = bf_arena_copy(r->arena, name[i]);
    r->source_text[i] = bf_arena_copy(r->arena, text[i]);
    if (!r->source_name[i] || !r->source_text[i])
      return bf_lines_no_memory(r);
  }
  r->source_count = count;
  return BF_OK;
}

int bf_lines_take_basis(bf_lines *r) {
  static const char *const bases[] = {"measured", "published", "assumed"};
  unsigned count = r->words;
  bool known = false;
  for (size_t i = 0; count >= 3 && i < sizeof bases / sizeof *bases; i++)
    known = known || strcmp(r->word[count - 2], bases[i]) == 0;
  if (!known)
    return BF_LINES_FAIL(r, count,
                         "a fact ends in measured, published or assumed and the name of a source");
  if (!is_source(r, r->word[count - 1]))
    return BF_LINES_FAIL(r, count - 1, "no source line above declares '%.40s'", r->word[count - 1]);
  r->words -= 2;
  return BF_OK;
}

bool bf_lines_is_assumed(const bf_lines *r) { return strcmp(r->word[r->words], "assumed") == 0; }

/* Words from..to-1 with one blank between them. */
static char *join_words(const bf_lines *r, unsigned from, unsigned to) {
  size_t size = 1;
  for (unsigned i = from; i < to; i++)
    size += strlen(r->word[i]) + 1;
  char *text = bf_arena_alloc(r->arena, size), *end = text;
  for (unsigned i = from; text && i < to; i++)
    end += sprintf(end, "%s%s", i > from ? " " : "", r->word[i]);
  return text;
}

int bf_lines_fact(bf_lines *r, unsigned key_words, bf_machine_fact *fact) {
  *fact = (bf_machine_fact){.key = join_words(r, 0, key_words),
                            .value = join_words(r, key_words, r->words),
                            .basis = bf_arena_copy(r->arena, r->word[r->words]),
                            .source = bf_arena_copy(r->arena, r->word[r->words + 1])};
  return fact->key && fact->value && fact->basis && fact->source ? BF_OK : bf_lines_no_memory(r);
}

/* ---- Files ---- */

int bf_lines_read_file(const char *path, const char *kind, bf_text *text,
                       bf_diagnostic *diagnostic) {
  BF_TRY(bf_read_file(path, MOST_FILE_BYTES, text, diagnostic));
  if (memchr(text->data, 0, text->size))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, path, "not a %s file: it holds a zero byte",
                        kind);
  if (text->size > MOST_FILE_BYTES)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, path, "not a %s file: it is larger than 1 MiB",
                        kind);
  return BF_OK;
}

/* ---- Built-in files ---- */

/* The other names of a file, as it has them: up to the end of the line. */
static const char *other_names(const char *text) {
  static const char key[] = "\nalso ";
  const char *line = strstr(text, key);
  return line ? line + sizeof key - 1 : "";
}

const bf_embedded_machine *bf_lines_find_file(const bf_embedded_machine *files, const char *name) {
  for (const bf_embedded_machine *file = files; file->name; file++)
    if (strcmp(file->name, name) == 0)
      return file;
  for (const bf_embedded_machine *file = files; file->name; file++) {
    const char *other = other_names(file->text);
    for (size_t length; *other && *other != '\n'; other += length + (other[length] == ' ')) {
      length = strcspn(other, " \n");
      if (bf_same_name(other, length, name))
        return file;
    }
  }
  return NULL;
}

int bf_lines_no_file(const bf_embedded_machine *files, const char *what, const char *name,
                     bf_diagnostic *diagnostic) {
  char known[384] = "", text[BF_GUESS_BYTES];
  size_t used = 0;
  bf_guess guess = bf_guess_begin(name);
  for (; files->name && used < sizeof known; files++) {
    used += (size_t)snprintf(known + used, sizeof known - used, " %s", files->name);
    bf_guess_offer(&guess, files->name, strlen(files->name));
    const char *other = other_names(files->text);
    for (size_t length; *other && *other != '\n'; other += length + (other[length] == ' ')) {
      length = strcspn(other, " \n");
      bf_guess_offer(&guess, other, length);
    }
  }
  return bf_fail(diagnostic, BF_BAD_INPUT, "unknown %s '%.64s'%s; there are%s", what, name,
                 bf_guess_text(&guess, text), known);
}
