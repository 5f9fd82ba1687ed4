/* PTX of many kernels in parts, so that several threads can look at it: each part has all that is
 * no kernel, and some kernels. Lines keep their numbers: in the place of other kernels there are
 * empty ones. */
#include "scan/inner.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of a part are at least as long as that, and as all that is no kernel: that is read in
 * every part. */
enum { LEAST_BYTES = 1 << 16 };

/* Where the reading of PTX stands. */
typedef struct cursor {
  const char *text;
  size_t at, size;
} cursor;

static bool starts_with(const cursor *c, const char *word) {
  size_t length = strlen(word);
  return c->size - c->at >= length && memcmp(c->text + c->at, word, length) == 0;
}

/* Moves behind a comment or a string that begins here; false: none does. */
static bool pass_quoted(cursor *c) {
  bool is_line = starts_with(c, "//"), is_block = starts_with(c, "/*");
  if (!is_line && !is_block && c->text[c->at] != '"')
    return false;
  size_t at = c->at + (is_line || is_block ? 2 : 1);
  while (at < c->size) {
    char now = c->text[at];
    bool is_end = is_line    ? now == '\n'
                  : is_block ? now == '*' && at + 1 < c->size && c->text[at + 1] == '/'
                             : now == '"';
    if (is_end)
      break;
    at += !is_line && !is_block && now == '\\' ? 2 : 1;
  }
  at += is_block ? 2 : !is_line;
  c->at = at < c->size ? at : c->size;
  return true;
}

/* Moves behind the body { ... } of what is declared here, or behind the ; of what has none; false:
 * it has none, or the text ends. *calls is set where it calls a function. */
static bool pass_body(cursor *c, bool *calls) {
  size_t depth = 0;
  while (c->at < c->size) {
    char now = c->text[c->at];
    if (pass_quoted(c))
      continue;
    if (depth == 0 && now == ';')
      return false;
    depth += now == '{';
    if (now == '}' && depth && --depth == 0) {
      c->at++;
      return true;
    }
    bool is_call = now == 'c' && starts_with(c, "call") && c->at > 0 &&
                   (isspace((unsigned char)c->text[c->at - 1]) || c->text[c->at - 1] == ';');
    *calls |= is_call && depth > 0;
    c->at++;
  }
  return false;
}

/* Where the declaration begins whose .entry is at `at`: before .visible or .weak. */
static size_t declaration_start(const char *text, size_t at) {
  static const char *const before[] = {".visible", ".weak"};
  size_t end = at;
  while (end > 0 && isspace((unsigned char)text[end - 1]))
    end--;
  for (unsigned i = 0; i < sizeof before / sizeof *before; i++) {
    size_t length = strlen(before[i]);
    if (end >= length && memcmp(text + end - length, before[i], length) == 0)
      return end - length;
  }
  return at;
}

/* A kernel of the text. */
typedef struct range {
  size_t first, end; /* bytes */
  bool calls;
} range;

typedef struct ranges {
  range *item;
  size_t count, capacity;
  bool has_functions; /* with bodies, which kernels may call */
} ranges;

static bool add_range(ranges *list, range own) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    range *grown = realloc(list->item, capacity * sizeof *grown);
    if (!grown)
      return false;
    list->item = grown;
    list->capacity = capacity;
  }
  list->item[list->count++] = own;
  return true;
}

/* Finds the kernels of a text; false where memory is exhausted. */
static bool find_kernels(const char *text, size_t size, ranges *list) {
  cursor c = {.text = text, .size = size};
  while (c.at < size) {
    if (pass_quoted(&c))
      continue;
    bool is_kernel = starts_with(&c, ".entry"), is_function = starts_with(&c, ".func"),
         unused = false;
    if (text[c.at] == '{') { /* of a section, or the values of a variable */
      pass_body(&c, &unused);
      continue;
    }
    if (!is_kernel && !is_function) {
      c.at++;
      continue;
    }
    range own = {.first = declaration_start(text, c.at)};
    bool has_body = pass_body(&c, &own.calls);
    own.end = c.at;
    list->has_functions |= is_function && has_body;
    if (is_kernel && has_body && !add_range(list, own))
      return false;
  }
  return true;
}

/* Makes parts of kernels one behind the other; those that call functions are all in one, since what
 * is done to a function is done for all of them. */
static bool make_parts(const ranges *list, size_t size, scan_split *split) {
  size_t rest = size, first_call = SIZE_MAX, last_call = 0;
  for (size_t i = 0; i < list->count; i++) {
    rest -= list->item[i].end - list->item[i].first;
    if (!list->has_functions || !list->item[i].calls)
      continue;
    first_call = first_call < i ? first_call : i;
    last_call = i;
  }
  size_t least = rest > LEAST_BYTES ? rest : LEAST_BYTES, bytes = 0;
  split->part = calloc(list->count + 1, sizeof *split->part);
  if (!split->part)
    return false;
  for (size_t i = 0; i < list->count; i++) {
    bool joins = split->parts && (bytes < least || (i > first_call && i <= last_call));
    if (!joins) {
      split->part[split->parts++] = (scan_part){.first = i};
      bytes = 0;
    }
    bytes += list->item[i].end - list->item[i].first;
    split->part[split->parts - 1].end = i + 1;
  }
  return true;
}

bool scan_split_make(const bf_text *ptx, scan_split *split) {
  ranges list = {0};
  *split = (scan_split){.text = ptx->data ? ptx->data : "", .size = ptx->size};
  bool is_good =
      find_kernels(split->text, split->size, &list) && make_parts(&list, ptx->size, split);
  split->kernel = calloc(list.count + 1, sizeof *split->kernel);
  is_good = is_good && split->kernel;
  for (size_t i = 0; i < list.count && is_good; i++) {
    split->kernel[i][0] = list.item[i].first;
    split->kernel[i][1] = list.item[i].end;
  }
  split->kernels = list.count;
  free(list.item);
  return is_good;
}

void scan_split_free(scan_split *split) {
  free(split->part);
  free(split->kernel);
  *split = (scan_split){0};
}

/* Adds as many empty lines as text has. */
static void add_lines(const char *text, size_t size, bf_text *out) {
  for (const char *at = text, *end = text + size; (at = memchr(at, '\n', (size_t)(end - at))); at++)
    bf_text_puts(out, "\n");
}

void scan_split_text(const scan_split *split, unsigned part, bf_text *text) {
  size_t at = 0;
  for (size_t i = 0; i < split->kernels; i++) {
    size_t first = split->kernel[i][0], end = split->kernel[i][1];
    bool is_own = split->part[part].first <= i && i < split->part[part].end;
    if (is_own)
      continue;
    bf_text_add(text, split->text + at, first - at);
    add_lines(split->text + first, end - first, text);
    at = end;
  }
  bf_text_add(text, split->text + at, split->size - at);
}
