/* Rows from the strides of accesses. A stride is a candidate where it is one of the kernel's; it is
 * a row where no other stride contradicts: each is a number of rows, or a few columns beside that.
 * Strides of a scan (2, 4, 8 ... elements) contradict each other, so that it has no rows. */
#include "tune/array_rows.h"

#include <stdlib.h>

/* Columns that a stride may be off, and the shortest row. */
enum { COLUMNS = 3, SHORTEST = 2 * COLUMNS + 2 };
/* Different strides that are looked at. */
enum { MOST = 64 };

/* A distance between lanes, in bytes. */
typedef struct stride {
  uint64_t bytes;
  unsigned width_bytes;
} stride;

typedef struct strides {
  stride item[MOST];
  unsigned count;
  bool is_cut;
} strides;

static void add(strides *all, int64_t elements, unsigned width_bytes) {
  stride made = {(uint64_t)llabs((long long)elements) * width_bytes, width_bytes};
  for (unsigned i = 0; i < all->count; i++)
    if (all->item[i].bytes == made.bytes && all->item[i].width_bytes == made.width_bytes)
      return;
  if (all->count == MOST)
    all->is_cut = true;
  else
    all->item[all->count++] = made;
}

static void collect(const bf_workload *workload, unsigned lanes, strides *all) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    if ((access->mask & (access->mask - 1)) == 0)
      continue; /* a lane alone goes nowhere */
    bf_pattern pattern = bf_access_classify(access, lanes, 1);
    if (pattern.class_ != BF_PATTERN_STRIDE && pattern.class_ != BF_PATTERN_BLOCK)
      continue;
    add(all, pattern.stride_x, access->width_bytes);
    if (pattern.class_ == BF_PATTERN_BLOCK)
      add(all, pattern.stride_y, access->width_bytes);
  }
}

/* Whether a stride is some rows, give or take a few columns. */
static bool fits(const stride *own, uint64_t row_bytes) {
  uint64_t off = own->bytes % row_bytes;
  off = off < row_bytes - off ? off : row_bytes - off;
  return off <= (uint64_t)COLUMNS * own->width_bytes;
}

static int compare_rows(const void *a, const void *b) {
  const bf_array_row *x = a, *y = b;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

unsigned bf_array_rows_find(const bf_workload *workload, unsigned lanes,
                            bf_array_row row[BF_ARRAY_ROWS]) {
  strides all = {.count = 0};
  unsigned count = 0;
  collect(workload, lanes, &all);
  for (unsigned i = 0; i < all.count && !all.is_cut && count < BF_ARRAY_ROWS; i++) {
    const stride *own = &all.item[i];
    bool is_row = own->bytes >= (uint64_t)SHORTEST * own->width_bytes;
    for (unsigned k = 0; k < all.count && is_row; k++)
      is_row = fits(&all.item[k], own->bytes);
    for (unsigned k = 0; k < count && is_row; k++)
      is_row = row[k].bytes != own->bytes;
    if (is_row)
      row[count++] = (bf_array_row){own->bytes, own->width_bytes};
  }
  qsort(row, count, sizeof *row, compare_rows);
  return count;
}
