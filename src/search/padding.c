/* Padding: P unused words after every ROW words, as programmers do with tile[32][33]. Every row
 * length that is a power of two or a stride of the workload is tried with every P that moves banks,
 * keeping wide accesses aligned. And numbers of banks that are no power of two: the banks of a
 * modulo N are those of padding behind every N words, up to the next row. Of a long workload, a
 * sample says in which order they are counted in full, so that what was counted when time is up is
 * the best so far. */
#include "search/search.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROWS = 64, MAX_PADS = 64, SAMPLE = 512 };

typedef struct padding {
  uint64_t row, pad, conflicts, wasted;
} padding;

typedef struct shared {
  const bf_cases *cases;
  bool is_modulo; /* rows as long as a number of banks */
  bf_geometry geometry;
  uint64_t row[MAX_ROWS];
  unsigned rows, pads, granule_words;
  padding *list; /* all candidates, with what the sample says */
  unsigned count;
  size_t step; /* of the accesses that are counted: one of so many */
  uint64_t highest_word;
  atomic_uint next;
  bool is_stopped;
  const bf_search_watch *watch;
  pthread_mutex_t lock;
  padding best;
} shared;

static void add_row(shared *all, uint64_t row) {
  if (row < 2 || row > all->highest_word || row % all->granule_words || all->rows == MAX_ROWS)
    return;
  for (unsigned i = 0; i < all->rows; i++)
    if (all->row[i] == row)
      return;
  all->row[all->rows++] = row;
}

/* Highest word, widest access, and the row lengths worth trying. */
static void survey(shared *all) {
  unsigned word_bytes = all->geometry.word_bytes;
  size_t size = bf_cases_size(all->cases), which;
  bf_extent extent = bf_cases_extent(all->cases);
  if (extent.widest_bytes > word_bytes)
    all->granule_words = extent.widest_bytes / word_bytes;
  all->highest_word = extent.end_bytes ? (extent.end_bytes - 1) / word_bytes : 0;
  for (uint64_t row = 2; row <= all->highest_word; row *= 2)
    add_row(all, row);
  for (size_t i = 0; i < size && all->rows < MAX_ROWS; i += all->step) {
    const bf_access *access = bf_cases_get(all->cases, i, &which);
    bf_pattern pattern =
        bf_access_classify(access, bf_machine_lanes(all->cases->item[which].machine), 1);
    uint64_t scale = access->width_bytes;
    add_row(all, (uint64_t)llabs((long long)pattern.stride_x) * scale / word_bytes);
    add_row(all, (uint64_t)llabs((long long)pattern.stride_y) * scale / word_bytes);
  }
}

static bool is_better(const padding *a, const padding *b) {
  if (a->conflicts != b->conflicts)
    return a->conflicts < b->conflicts;
  if (a->wasted != b->wasted)
    return a->wasted < b->wasted;
  return a->row != b->row ? a->row < b->row : a->pad < b->pad;
}

/* Counts one candidate: all accesses, against the best so far, or a sample of them. */
static void try_padding(shared *all, padding *own) {
  char text[64];
  bf_hash *hash;
  snprintf(text, sizeof text, "pad:%llu+%llu", (unsigned long long)own->row,
           (unsigned long long)own->pad);
  own->conflicts = UINT64_MAX;
  if (bf_hash_parse(text, &all->geometry, &hash, NULL) != BF_OK)
    return;
  pthread_mutex_lock(&all->lock);
  uint64_t most = all->step > 1 ? UINT64_MAX : all->best.conflicts;
  pthread_mutex_unlock(&all->lock);
  own->conflicts = bf_cases_conflicts_part(all->cases, hash, all->step, most, all->watch);
  bf_hash_free(hash);
  pthread_mutex_lock(&all->lock);
  if (all->step == 1 && is_better(own, &all->best))
    all->best = *own;
  pthread_mutex_unlock(&all->lock);
}

static void work(void *context, unsigned index) {
  shared *all = context;
  for (;;) {
    unsigned number = atomic_fetch_add(&all->next, 1);
    if (number >= all->count)
      return;
    if (index == 0 && !bf_search_goes_on(all->watch, number, all->count)) {
      all->is_stopped = true;
      atomic_store(&all->next, all->count);
    }
    try_padding(all, &all->list[number]);
  }
}

/* Bytes that all machines have. */
static uint64_t least_capacity(const bf_cases *cases) {
  uint64_t capacity = UINT64_MAX;
  for (size_t i = 0; i < cases->count; i++) {
    uint64_t own = bf_machine_capacity_bytes(cases->item[i].machine);
    capacity = own < capacity ? own : capacity;
  }
  return capacity;
}

/* Adds a candidate if it fits the memory. */
static void list_one(shared *all, uint64_t capacity, uint64_t row, uint64_t pad) {
  unsigned word_bytes = all->geometry.word_bytes;
  padding own = {.row = row, .pad = pad, .conflicts = UINT64_MAX};
  own.wasted = all->highest_word / row * pad * word_bytes;
  if ((all->highest_word + 1) * word_bytes + own.wasted <= capacity)
    all->list[all->count++] = own;
}

static void list_paddings(shared *all) {
  uint64_t capacity = least_capacity(all->cases);
  for (unsigned number = 0; number < all->rows * all->pads; number++)
    list_one(all, capacity, all->row[number % all->rows],
             (number / all->rows + 1) * (uint64_t)all->granule_words);
}

/* Fewer banks than there are, the most first. */
static void list_moduli(shared *all) {
  unsigned banks = 1u << all->geometry.bank_bits, most = MAX_ROWS * MAX_PADS;
  uint64_t capacity = least_capacity(all->cases);
  for (unsigned n = banks - 1; n > 0 && banks - n <= most; n--)
    if (n % all->granule_words == 0)
      list_one(all, capacity, n, banks - n);
}

static int compare_paddings(const void *a, const void *b) {
  return is_better(a, b) ? -1 : is_better(b, a);
}

/* Counts all candidates; those that a sample likes first. Where there is no time for more, the
 * sample decides. */
static void try_all(shared *all, unsigned threads) {
  if (all->step > 1) {
    bf_run_threads(threads, work, all);
    qsort(all->list, all->count, sizeof *all->list, compare_paddings);
    if (bf_search_is_late(all->watch)) {
      uint64_t none = bf_cases_conflicts_part(all->cases, NULL, all->step, UINT64_MAX, NULL);
      if (all->count && all->list[0].conflicts < none)
        all->best = all->list[0];
      return;
    }
  }
  all->step = 1;
  atomic_store(&all->next, 0);
  bf_run_threads(threads, work, all);
}

/* What was found, as people write it. */
static void name(const shared *all, const padding *best, bf_found *found) {
  unsigned long long row = best->row, pad = best->pad;
  if (!pad)
    snprintf(found->text, sizeof found->text, "none");
  else if (all->is_modulo)
    snprintf(found->text, sizeof found->text, "mod:%llu", row);
  else
    snprintf(found->text, sizeof found->text, "pad:%llu+%llu", row, pad);
}

/* Tries the candidates of a list with room for all. */
static void search(shared *all, unsigned threads) {
  unsigned banks = 1u << all->geometry.bank_bits;
  all->pads = banks > all->granule_words ? banks / all->granule_words - 1 : 0;
  if (all->pads > MAX_PADS)
    all->pads = MAX_PADS;
  if (all->is_modulo)
    list_moduli(all);
  else
    list_paddings(all);
  pthread_mutex_init(&all->lock, NULL);
  try_all(all, threads ? threads : bf_cores());
  pthread_mutex_destroy(&all->lock);
}

int bf_search_padding(const bf_cases *cases, const bf_solve_options *options,
                      uint64_t conflicts_before, const bf_search_watch *watch, bf_found *found,
                      uint64_t *bytes_wasted, bf_diagnostic *diagnostic) {
  size_t accesses = bf_cases_size(cases);
  shared all = {.cases = cases,
                .is_modulo = options->method == BF_METHOD_MODULO,
                .geometry = bf_machine_geometry(cases->item[0].machine),
                .step = accesses > 4 * SAMPLE ? accesses / SAMPLE : 1,
                .granule_words = 1,
                .watch = watch};
  padding *list = all.list = malloc(MAX_ROWS * MAX_PADS * sizeof *all.list);
  if (!list)
    return bf_no_memory(diagnostic);
  all.best.conflicts = conflicts_before;
  survey(&all);
  if (all.is_modulo && options->granule_bytes)
    all.granule_words = options->granule_bytes > all.geometry.word_bytes
                            ? options->granule_bytes / all.geometry.word_bytes
                            : 1;
  search(&all, options->threads);
  free(list);
  *bytes_wasted = all.best.wasted;
  name(&all, &all.best, found);
  bool is_counted = all.step == 1 && !all.is_stopped && !bf_search_is_late(watch);
  if (all.is_modulo && is_counted && all.geometry.bank_bits <= 12) { /* all of them were listed */
    found->complete = true;
    found->lower_bound = all.best.conflicts;
  }
  return BF_OK;
}
