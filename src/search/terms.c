/* One or two terms of shift and mask. For given shifts every bank bit chooses which of them it
 * uses, and a search bit by bit with the bound of kernel.h finds the best choice of masks. */
#include "search/terms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct shared {
  const bf_terms_query *query;
  pthread_mutex_t lock;
  atomic_uint next; /* pair of shifts to try next */
  bf_terms best;
  atomic_uint_fast64_t limit; /* hashes that cost as much or more are not wanted */
  atomic_bool out_of_memory;
} shared;

typedef struct worker {
  shared *all;
  bool is_caller; /* on the calling thread, which tells progress */
  bf_levels levels;
  bf_terms current;
} worker;

static int compare(const bf_terms *a, const bf_terms *b) {
  if (a->cost != b->cost)
    return a->cost < b->cost ? -1 : 1;
  if (a->xor_inputs != b->xor_inputs)
    return a->xor_inputs < b->xor_inputs ? -1 : 1;
  for (unsigned i = 0; i < 2; i++)
    if (a->shift[i] != b->shift[i])
      return a->shift[i] < b->shift[i] ? -1 : 1;
  for (unsigned i = 0; i < 2; i++)
    if (a->mask[i] != b->mask[i])
      return a->mask[i] < b->mask[i] ? -1 : 1;
  return 0;
}

/* A mask that is not used has shift 0, so that equal hashes compare equal. */
static void offer(worker *w, uint64_t cost) {
  shared *all = w->all;
  bf_terms candidate = w->current;
  candidate.cost = cost;
  candidate.found = true;
  candidate.xor_inputs = 0;
  for (unsigned i = 0; i < 2; i++) {
    candidate.xor_inputs += (unsigned)__builtin_popcountll(candidate.mask[i]);
    if (candidate.mask[i] == 0)
      candidate.shift[i] = 0;
  }
  pthread_mutex_lock(&all->lock);
  if (!all->best.found || compare(&candidate, &all->best) < 0) {
    all->best = candidate;
    atomic_store(&all->limit, cost + 1);
  }
  pthread_mutex_unlock(&all->lock);
}

/* True if bank bit i may use the source bit `shift` above it. */
static bool allowed(const bf_terms_query *query, unsigned i, unsigned shift) {
  const bf_geometry *g = &query->exact->problem->geometry;
  if (i < query->exact->problem->granule_bits || i + shift >= g->address_bits)
    return false;
  return !query->row_only || i + shift >= g->bank_bits;
}

/* Masks stay one run of bits: none may be set after a gap. */
static bool stays_contiguous(uint64_t mask, unsigned i) {
  return mask == 0 || (mask >> (i - 1) & 1);
}

static bool stopped(const worker *w) {
  bf_exact *exact = w->all->query->exact;
  return w->is_caller ? bf_exact_poll(exact) : bf_exact_stopped(exact);
}

static void explore(worker *w, unsigned i, uint64_t parent) {
  const bf_terms_query *query = w->all->query;
  unsigned m = query->exact->problem->geometry.bank_bits;
  for (unsigned use = 0; use < 1u << query->terms; use++) {
    uint64_t row = (uint64_t)1 << i;
    bool valid = true;
    for (unsigned t = 0; t < query->terms; t++)
      if (use >> t & 1) {
        valid = valid && allowed(query, i, w->current.shift[t]);
        row ^= (uint64_t)1 << (i + w->current.shift[t]);
      }
    if (!valid || stopped(w) ||
        (query->contiguous && use && !stays_contiguous(w->current.mask[0], i)))
      continue;
    uint32_t f = bf_coordinates_project(&query->exact->coordinates, row);
    uint64_t bound = query->exact->kernel->bound(&query->exact->planes, w->levels.blocks[i],
                                                 w->levels.sizes[i], i, m, f, w->levels.passes[i],
                                                 parent, atomic_load(&w->all->limit));
    if (bound >= atomic_load(&w->all->limit))
      continue;
    for (unsigned t = 0; t < query->terms; t++)
      w->current.mask[t] |= (uint64_t)(use >> t & 1) << i;
    unsigned run = (unsigned)__builtin_popcountll(w->current.mask[0]);
    if (query->contiguous && run > w->current.shift[0]) {
      /* longer than the shift: not a swizzle */
    } else if (i + 1 == m) {
      offer(w, bound);
    } else {
      query->exact->kernel->split(&query->exact->planes, w->levels.blocks[i], i, f,
                                  w->levels.blocks[i + 1], w->levels.sizes[i + 1]);
      query->exact->kernel->passes(&query->exact->planes, w->levels.sizes[i + 1], i + 1, m,
                                   w->levels.passes[i + 1]);
      explore(w, i + 1, bound);
    }
    for (unsigned t = 0; t < query->terms; t++)
      w->current.mask[t] &= ~((uint64_t)1 << i);
  }
}

static void work(void *context, unsigned index) {
  shared *all = context;
  const bf_terms_query *query = all->query;
  const bf_geometry *g = &query->exact->problem->geometry;
  worker w = {.all = all, .is_caller = index == 0};
  if (!bf_levels_make(&query->exact->planes, g->bank_bits, &w.levels)) {
    atomic_store(&all->out_of_memory, true);
  } else {
    uint64_t parent = query->exact->kernel->passes(&query->exact->planes, w.levels.sizes[0], 0,
                                                   g->bank_bits, w.levels.passes[0]);
    unsigned shifts = g->address_bits;
    for (;;) {
      unsigned number = atomic_fetch_add(&all->next, 1);
      if (number >= shifts * shifts || stopped(&w))
        break;
      w.current = (bf_terms){.shift = {number / shifts, number % shifts}};
      bool one = query->terms == 1 && w.current.shift[1] == 0 && w.current.shift[0] > 0;
      bool two =
          query->terms == 2 && w.current.shift[0] > 0 && w.current.shift[0] < w.current.shift[1];
      if (one || two)
        explore(&w, 0, parent);
    }
  }
  bf_levels_free(&w.levels);
}

bf_terms_query bf_terms_query_of(bf_exact *exact, unsigned terms) {
  return (bf_terms_query){
      .exact = exact, .terms = terms, .row_only = exact->row, .most = UINT64_MAX};
}

int bf_terms_search(const bf_terms_query *query, bf_terms *best, bf_diagnostic *diagnostic) {
  shared all = {.query = query};
  atomic_init(&all.limit, query->most < UINT64_MAX ? query->most + 1 : UINT64_MAX);
  pthread_mutex_init(&all.lock, NULL);
  unsigned threads = query->exact->options->threads;
  bf_run_threads(threads ? threads : bf_cores(), work, &all);
  pthread_mutex_destroy(&all.lock);
  *best = all.best;
  return atomic_load(&all.out_of_memory) ? bf_no_memory(diagnostic) : BF_OK;
}

void bf_terms_rows(const bf_terms *terms, const bf_geometry *geometry, uint64_t *row) {
  for (unsigned i = 0; i < geometry->bank_bits; i++) {
    row[i] = (uint64_t)1 << i;
    for (unsigned t = 0; t < 2; t++)
      if (terms->mask[t] >> i & 1)
        row[i] ^= (uint64_t)1 << (i + terms->shift[t]);
  }
}
