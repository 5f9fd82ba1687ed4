/* What was learnt about launches as a file: rows "launches". The injection library is built with
 * this file and without the rest of the room. */
#include "exchange/learnt.h"

#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

static const bf_rows_form form = {"learnt", 1};

static const bf_field fields[] = {
    BF_FIELD(bf_learnt_row, image),        BF_FIELD(bf_learnt_row, kernel),
    BF_FIELD(bf_learnt_row, gpu),          BF_FIELD(bf_learnt_row, block_x),
    BF_FIELD(bf_learnt_row, block_y),      BF_FIELD(bf_learnt_row, block_z),
    BF_FIELD(bf_learnt_row, dynamic_rows), BF_FIELD(bf_learnt_row, grid_bits),
    BF_FIELD(bf_learnt_row, faster),       BF_FIELD(bf_learnt_row, own_ns),
    BF_FIELD(bf_learnt_row, hashed_ns),
};
static const bf_row row_of_launches = BF_ROW("launches", fields);

/* ---- Rows ---- */

bool bf_learnt_is_same(const bf_learnt_row *a, const bf_learnt_row *b) {
  return a->block_x == b->block_x && a->block_y == b->block_y && a->block_z == b->block_z &&
         a->dynamic_rows == b->dynamic_rows && a->grid_bits == b->grid_bits &&
         strcmp(a->kernel, b->kernel) == 0 && strcmp(a->image, b->image) == 0 &&
         strcmp(a->gpu, b->gpu) == 0;
}

/* The place of the row about the same launches; the number of rows: none. */
static size_t find(const bf_learnt *learnt, const bf_learnt_row *like) {
  size_t i = 0;
  while (i < learnt->rows && !bf_learnt_is_same(&learnt->row[i], like))
    i++;
  return i;
}

const bf_learnt_row *bf_learnt_find(const bf_learnt *learnt, const bf_learnt_row *like) {
  size_t at = find(learnt, like);
  return at < learnt->rows ? &learnt->row[at] : NULL;
}

/* Room for one more row. */
static bool grow(bf_learnt *learnt) {
  if (learnt->rows < learnt->capacity)
    return true;
  size_t capacity = learnt->capacity ? 2 * learnt->capacity : 32;
  bf_learnt_row *grown = realloc(learnt->row, capacity * sizeof *grown);
  if (!grown)
    return false;
  learnt->row = grown;
  learnt->capacity = capacity;
  return true;
}

static bool is_known(const bf_learnt_row *row) { return strcmp(row->faster, "unknown") != 0; }

int bf_learnt_add(bf_learnt *learnt, const bf_learnt_row *row, bf_diagnostic *diagnostic) {
  size_t at = find(learnt, row);
  bf_learnt_row made = *row;
  if (at < learnt->rows && is_known(&learnt->row[at]) && !is_known(row))
    return BF_OK;
  const char **text[] = {&made.image,  &made.kernel, &made.gpu,
                         &made.faster, &made.own_ns, &made.hashed_ns};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++)
    if (!(*text[i] = bf_arena_copy(&learnt->arena, *text[i])))
      return bf_no_memory(diagnostic);
  if (!grow(learnt))
    return bf_no_memory(diagnostic);
  learnt->row[at] = made;
  learnt->rows += at == learnt->rows;
  return BF_OK;
}

void bf_learnt_free(bf_learnt *learnt) {
  free(learnt->row);
  bf_arena_free(&learnt->arena);
  *learnt = (bf_learnt){0};
}

/* ---- Files ---- */

static int take(void *context, bf_rows *rows, bf_diagnostic *diagnostic) {
  bf_learnt_row read;
  BF_TRY(bf_rows_get(rows, &row_of_launches, &read, diagnostic));
  if (strcmp(read.faster, "own") != 0 && strcmp(read.faster, "hashed") != 0 && is_known(&read))
    return bf_rows_fail(rows, diagnostic, "'%s' is no version of a kernel", read.faster);
  return bf_learnt_add(context, &read, diagnostic);
}

int bf_learnt_read(const char *path, bf_learnt *learnt, bf_diagnostic *diagnostic) {
  return bf_rows_read(path, &form, take, learnt, diagnostic);
}

void bf_learnt_write(const bf_learnt *learnt, bf_text *text) {
  bf_rows_begin(&form, text);
  for (size_t i = 0; i < learnt->rows; i++)
    bf_row_write(&row_of_launches, &learnt->row[i], text);
  bf_rows_end(text);
}
