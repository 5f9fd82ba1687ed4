/* Times of launches as a file: rows "launches". The injection library is built with this file and
 * without the rest of the room. */
#include "exchange/times.h"

#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

static const bf_rows_form form = {"times", 1};

static const bf_field fields[] = {
    BF_FIELD(bf_times_row, kernel),         BF_FIELD_OR_NULL(bf_times_row, hash),
    BF_FIELD_OR_NULL(bf_times_row, reason), BF_FIELD(bf_times_row, blocks),
    BF_FIELD(bf_times_row, threads),        BF_FIELD(bf_times_row, launches),
    BF_FIELD(bf_times_row, total_ns),       BF_FIELD(bf_times_row, median_ns),
    BF_FIELD(bf_times_row, least_ns),
};
static const bf_row row_of_launches = BF_ROW("launches", fields);

/* ---- Writing ---- */

void bf_times_begin(bf_text *text) { bf_rows_begin(&form, text); }

void bf_times_write(const bf_times_row *row, bf_text *text) {
  bf_row_write(&row_of_launches, row, text);
}

void bf_times_end(bf_text *text) { bf_rows_end(text); }

/* ---- Reading ---- */

/* The place of the row of a kernel and size; the number of rows: none. */
static size_t find(const bf_times *times, const char *kernel, const bf_times_row *like) {
  size_t i = 0;
  while (i < times->rows &&
         (times->row[i].blocks != like->blocks || times->row[i].threads != like->threads ||
          strcmp(times->row[i].kernel, kernel) != 0))
    i++;
  return i;
}

/* The mean of both medians, weighted by launches. */
static uint64_t mean_median(const bf_times_row *a, const bf_times_row *b) {
  double weight = (double)a->launches + (double)b->launches;
  double mean =
      ((double)a->median_ns * (double)a->launches + (double)b->median_ns * (double)b->launches) /
      weight;
  return mean < 0x1p63 ? (uint64_t)(mean + 0.5) : UINT64_MAX;
}

/* Adds launches to the row of the same kernel and size. */
static void join(bf_times_row *row, const bf_times_row *more) {
  row->median_ns = mean_median(row, more);
  row->launches += more->launches;
  row->total_ns += more->total_ns;
  if (more->least_ns < row->least_ns)
    row->least_ns = more->least_ns;
  row->hash = row->hash ? row->hash : more->hash;
  row->reason = row->hash ? NULL : row->reason ? row->reason : more->reason;
}

/* A copy of text, which may be NULL; false where memory is exhausted. */
static bool copy_text(bf_times *times, const char **text) {
  const char *given = *text;
  *text = given ? bf_arena_copy(&times->arena, given) : NULL;
  return *text || !given;
}

/* Room for one more row. */
static bool grow(bf_times *times) {
  if (times->rows < times->capacity)
    return true;
  size_t capacity = times->capacity ? 2 * times->capacity : 32;
  bf_times_row *grown = realloc(times->row, capacity * sizeof *grown);
  if (!grown)
    return false;
  times->row = grown;
  times->capacity = capacity;
  return true;
}

static int take(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_times *times = context;
  bf_times_row read;
  BF_TRY(bf_rows_get(rows, &row_of_launches, &read, diagnostic));
  if (read.launches == 0)
    return bf_rows_fail(rows, diagnostic, "a row without launches");
  if (!copy_text(times, &read.kernel) || !copy_text(times, &read.hash) ||
      !copy_text(times, &read.reason) || !grow(times))
    return bf_no_memory(diagnostic);
  size_t at = find(times, read.kernel, &read);
  if (at < times->rows)
    join(&times->row[at], &read);
  else
    times->row[times->rows++] = read;
  return BF_OK;
}

int bf_times_read(const char *folder, bf_times *times, bf_diagnostic *diagnostic) {
  return bf_rows_read_folder(folder, &form, take, times, diagnostic);
}

int bf_times_read_file(const char *path, bf_times *times, bf_diagnostic *diagnostic) {
  return bf_rows_read(path, &form, take, times, diagnostic);
}

void bf_times_free(bf_times *times) {
  free(times->row);
  bf_arena_free(&times->arena);
  *times = (bf_times){0};
}

const bf_times_row *bf_times_find(const bf_times *times, const char *kernel,
                                  const bf_times_row *like) {
  size_t at = find(times, kernel, like);
  return at < times->rows ? &times->row[at] : NULL;
}

const char *bf_times_reason(const bf_times *times, const char *kernel) {
  const char *reason = NULL;
  for (size_t i = 0; i < times->rows; i++)
    if (strcmp(times->row[i].kernel, kernel) == 0) {
      if (times->row[i].hash)
        return NULL;
      reason = reason ? reason : times->row[i].reason;
    }
  return reason;
}
