/* The unified diff of a patch. Edits give the lines that change, so nothing is searched for. */
#include "source/patch.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 3 };

/* Old lines first to end-1 become the text at new_text. */
typedef struct region {
  size_t first, end;
  const char *text;
  size_t size, lines;
} region;

typedef struct lines {
  const char *text;
  size_t size;
  size_t *start; /* of each line, and the size of the text behind the last */
  size_t count;
} lines;

static int find_lines(const bf_source *source, lines *l, bf_diagnostic *diagnostic) {
  size_t most = 2;
  for (size_t i = 0; i < source->size; i++)
    most += source->text[i] == '\n';
  *l = (lines){.text = source->text, .size = source->size};
  l->start = malloc(most * sizeof *l->start);
  if (!l->start)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < source->size; i++)
    if (i == 0 || source->text[i - 1] == '\n')
      l->start[l->count++] = i;
  l->start[l->count] = source->size;
  return BF_OK;
}

/* The line that holds a byte; the last one for the end of the text. */
static size_t line_of(const lines *l, size_t at) {
  size_t low = 0, high = l->count;
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    if (l->start[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Bytes of the first line of a text. */
static size_t line_size(const char *text, size_t size) {
  const char *end = size ? memchr(text, '\n', size) : NULL;
  return end ? (size_t)(end - text) + 1 : size;
}

static size_t count_lines(const char *text, size_t size) {
  size_t count = 0;
  for (size_t at = 0; at < size; at += line_size(text + at, size - at))
    count++;
  return count;
}

/* Drops lines at both ends of a region that stay as they are. */
static void trim(const lines *l, region *r) {
  while (r->first < r->end) {
    size_t old_size = l->start[r->first + 1] - l->start[r->first];
    if (line_size(r->text, r->size) != old_size ||
        memcmp(r->text, l->text + l->start[r->first], old_size) != 0)
      break;
    r->text += old_size;
    r->size -= old_size;
    r->first++;
  }
  while (r->first < r->end) {
    size_t old_size = l->start[r->end] - l->start[r->end - 1];
    bool starts_line =
        r->size == old_size || (r->size > old_size && r->text[r->size - old_size - 1] == '\n');
    if (!starts_line ||
        memcmp(r->text + r->size - old_size, l->text + l->start[r->end - 1], old_size) != 0)
      break;
    r->size -= old_size;
    r->end--;
  }
  r->lines = count_lines(r->text, r->size);
}

/* Makes the region of edits *next on that share lines. */
static bool make_region(bf_patch *patch, const lines *l, size_t *next, region *r) {
  const bf_edit *edit = patch->edit;
  bf_text text = {0};
  r->first = line_of(l, edit[*next].at);
  r->end = r->first + 1;
  size_t at = l->start[r->first];
  for (; *next < patch->edits && edit[*next].at < l->start[r->end]; ++*next) {
    const bf_edit *own = &edit[*next];
    bf_text_add(&text, l->text + at, own->at - at);
    bf_text_puts(&text, own->text);
    at = own->at + own->size;
    size_t last = line_of(l, own->size ? at - 1 : at);
    r->end = last + 1 > r->end ? last + 1 : r->end;
  }
  bf_text_add(&text, l->text + at, l->start[r->end] - at);
  r->text = text.failed ? NULL : bf_arena_copy(&patch->arena, text.data ? text.data : "");
  r->size = text.size;
  bf_text_free(&text);
  if (r->text)
    trim(l, r);
  return r->text != NULL;
}

/* Writes lines with a mark before each. */
static void write_lines(char mark, const char *text, size_t size, bf_text *out) {
  for (size_t at = 0; at < size;) {
    size_t length = line_size(text + at, size - at);
    bf_text_add(out, &mark, 1);
    bf_text_add(out, text + at, length);
    if (text[at + length - 1] != '\n')
      bf_text_puts(out, "\n\\ No newline at end of file\n");
    at += length;
  }
}

static void write_old(const lines *l, char mark, size_t first, size_t end, bf_text *out) {
  write_lines(mark, l->text + l->start[first], l->start[end] - l->start[first], out);
}

/* Writes regions first to end-1 as one hunk; grown: lines added by those before. */
static void write_hunk(const lines *l, const region *r, size_t first, size_t end, int64_t grown,
                       bf_text *out) {
  size_t from = r[first].first > CONTEXT ? r[first].first - CONTEXT : 0;
  size_t to = l->count - r[end - 1].end > CONTEXT ? r[end - 1].end + CONTEXT : l->count;
  int64_t added = 0;
  for (size_t i = first; i < end; i++)
    added += (int64_t)r[i].lines - (int64_t)(r[i].end - r[i].first);
  bf_text_addf(out, "@@ -%zu,%zu +%lld,%lld @@\n", from + 1, to - from,
               (long long)((int64_t)from + 1 + grown), (long long)((int64_t)(to - from) + added));
  for (size_t i = first; i < end; i++) {
    write_old(l, ' ', i == first ? from : r[i - 1].end, r[i].first, out);
    write_old(l, '-', r[i].first, r[i].end, out);
    write_lines('+', r[i].text, r[i].size, out);
  }
  write_old(l, ' ', r[end - 1].end, to, out);
}

static void write_hunks(const lines *l, const region *r, size_t regions, bf_text *out) {
  int64_t grown = 0;
  for (size_t first = 0, end; first < regions; first = end) {
    for (end = first + 1; end < regions && r[end].first - r[end - 1].end <= 2 * CONTEXT;)
      end++;
    write_hunk(l, r, first, end, grown, out);
    for (size_t i = first; i < end; i++)
      grown += (int64_t)r[i].lines - (int64_t)(r[i].end - r[i].first);
  }
}

int bf_patch_write_diff(bf_patch *patch, const char *path, bf_text *text,
                        bf_diagnostic *diagnostic) {
  lines l;
  size_t regions = 0;
  if (patch->edits == 0)
    return BF_OK;
  BF_TRY(find_lines(patch->source, &l, diagnostic));
  region *r = calloc(patch->edits + 1, sizeof *r);
  bool done = r != NULL;
  for (size_t next = 0; done && next < patch->edits; regions++)
    done = make_region(patch, &l, &next, &r[regions]);
  if (done) {
    bf_text_addf(text, "--- %s\n+++ %s\n", path, path);
    write_hunks(&l, r, regions, text);
  }
  free(r);
  free(l.start);
  return done && !text->failed ? BF_OK : bf_no_memory(diagnostic);
}
