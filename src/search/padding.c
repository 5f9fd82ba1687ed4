/* Padding: P unused words after every ROW words, as programmers do with tile[32][33]. Every row
 * length that is a power of two or a stride of the workload is tried with every P that moves banks,
 * keeping wide accesses aligned; judged by bf_memory_count. */
#include "search/search.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROWS = 64 };

typedef struct padding {
  uint64_t row, pad, conflicts, wasted;
} padding;

typedef struct shared {
  const bf_machine *machine;
  const bf_workload *workload;
  uint64_t row[MAX_ROWS];
  unsigned rows, pads, granule_words;
  uint64_t highest_word;
  atomic_uint next;
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
  unsigned word_bytes = bf_machine_geometry(all->machine).word_bytes;
  unsigned lanes = bf_machine_lanes(all->machine);
  for (size_t i = 0; i < bf_workload_size(all->workload); i++) {
    const bf_access *access = bf_workload_get(all->workload, i);
    unsigned words = access->width_bytes > word_bytes ? access->width_bytes / word_bytes : 1;
    all->granule_words = words > all->granule_words ? words : all->granule_words;
    for (uint64_t left = access->mask; left; left &= left - 1) {
      uint64_t word = access->address[__builtin_ctzll(left)] / word_bytes + words - 1;
      all->highest_word = word > all->highest_word ? word : all->highest_word;
    }
  }
  for (uint64_t row = 2; row <= all->highest_word; row *= 2)
    add_row(all, row);
  for (size_t i = 0; i < bf_workload_size(all->workload); i++) {
    const bf_access *access = bf_workload_get(all->workload, i);
    bf_pattern pattern = bf_access_classify(access, lanes, 1);
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

/* Conflicts under the padding, given up once above `most`. */
static uint64_t conflicts_of(const shared *all, const bf_hash *hash, uint64_t most) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bf_workload_size(all->workload) && sum <= most; i++) {
    const bf_access *access = bf_workload_get(all->workload, i);
    bf_count count;
    if (bf_memory_count(all->machine, hash, access, &count, NULL) != BF_OK)
      return UINT64_MAX;
    sum += access->count * count.conflicts;
  }
  return sum;
}

static void try_padding(shared *all, padding candidate) {
  bf_geometry geometry = bf_machine_geometry(all->machine);
  candidate.wasted = all->highest_word / candidate.row * candidate.pad * geometry.word_bytes;
  uint64_t end = (all->highest_word + 1) * geometry.word_bytes + candidate.wasted;
  char text[64];
  bf_hash *hash;
  if (end > bf_machine_capacity_bytes(all->machine))
    return;
  snprintf(text, sizeof text, "pad:%llu+%llu", (unsigned long long)candidate.row,
           (unsigned long long)candidate.pad);
  if (bf_hash_parse(text, &geometry, &hash, NULL) != BF_OK)
    return;
  pthread_mutex_lock(&all->lock);
  uint64_t most = all->best.conflicts;
  pthread_mutex_unlock(&all->lock);
  candidate.conflicts = conflicts_of(all, hash, most);
  bf_hash_free(hash);
  pthread_mutex_lock(&all->lock);
  if (is_better(&candidate, &all->best))
    all->best = candidate;
  pthread_mutex_unlock(&all->lock);
}

static void work(void *context, unsigned index) {
  shared *all = context;
  for (unsigned count = all->rows * all->pads;;) {
    unsigned number = atomic_fetch_add(&all->next, 1);
    if (number >= count)
      return;
    if (index == 0 && !bf_search_goes_on(all->watch, number, count))
      atomic_store(&all->next, count);
    try_padding(all, (padding){.row = all->row[number % all->rows],
                               .pad = (number / all->rows + 1) * (uint64_t)all->granule_words});
  }
}

int bf_search_padding(const bf_machine *machine, const bf_workload *workload, unsigned threads,
                      const bf_search_watch *watch, bf_found *found, uint64_t *bytes_wasted,
                      bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  shared all = {.machine = machine, .workload = workload, .granule_words = 1, .watch = watch};
  BF_TRY(bf_problem_conflicts(machine, workload, NULL, &all.best.conflicts, diagnostic));
  survey(&all);
  unsigned banks = 1u << geometry.bank_bits;
  all.pads = banks > all.granule_words ? banks / all.granule_words - 1 : 0;
  if (all.pads > 64)
    all.pads = 64;
  pthread_mutex_init(&all.lock, NULL);
  bf_run_threads(threads ? threads : bf_cores(), work, &all);
  pthread_mutex_destroy(&all.lock);
  *bytes_wasted = all.best.wasted;
  if (all.best.pad)
    snprintf(found->text, sizeof found->text, "pad:%llu+%llu", (unsigned long long)all.best.row,
             (unsigned long long)all.best.pad);
  else
    snprintf(found->text, sizeof found->text, "none");
  return BF_OK;
}
