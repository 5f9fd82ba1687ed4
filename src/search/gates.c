/* The best hash of at most so many 2-input XORs.
 *
 * What a hash costs in gates is not a matter of the space that its functionals span, so that the
 * searches over spaces do not answer this. A functional on the words of the problem may be written
 * by several sets of address bits: the fewest of them, less one, are its gates. Functionals are
 * chosen in the order of their gates, with the bound of kernel.h: once so many gates for each of
 * those to come are too many, none that follows will do. Functionals that depend on those chosen
 * need not be tried: a single address bit in their place splits no block less and has no gates.
 *
 * One limit after the other is searched, from none on, so that there is an answer at any time and
 * each search begins with a good one. */
#include "search/gates.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSION = 20 };

typedef struct candidate {
  uint32_t functional; /* over free coordinates */
  unsigned gates;
  uint64_t bound; /* of a hash that has it */
  uint64_t row;   /* its address bits */
} candidate;

typedef struct shared {
  bf_exact *exact;
  candidate *list; /* fewest gates first, then lowest bound */
  uint32_t count;
  unsigned free; /* functionals to choose */
  unsigned most; /* gates of the search at work */
  atomic_uint next;
  pthread_mutex_t lock;
  atomic_uint_fast64_t best; /* cost of chosen */
  atomic_uint task;          /* by whom it was found: of equal ones, the first counts */
  uint32_t chosen[BF_MAX_FUNCTIONALS];
  atomic_bool out_of_memory;
} shared;

typedef struct worker {
  shared *all;
  bf_levels levels;
  uint32_t chosen[BF_MAX_FUNCTIONALS]; /* numbers of candidates */
  uint32_t task;
  bool is_caller; /* on the calling thread, which tells progress */
} worker;

/* ---- Candidates ---- */

static int compare(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->gates != y->gates)
    return x->gates < y->gates ? -1 : 1;
  if (x->bound != y->bound)
    return x->bound < y->bound ? -1 : 1;
  return x->functional < y->functional ? -1 : x->functional > y->functional;
}

/* The functionals of at most so many gates, by as few address bits as can be: those of one bit,
 * then what they become with one bit more, and so on. row has an entry for each functional. */
static void list_candidates(shared *all, uint64_t *row) {
  const bf_exact *exact = all->exact;
  uint64_t bits = exact->problem->used_bits & ~bf_gf2_low_bits(exact->fixed);
  uint32_t from = 0;
  for (unsigned gates = 0; gates <= all->most; gates++) {
    uint32_t to = all->count;
    for (uint32_t i = from; i < (gates ? to : 1); i++) {
      uint64_t base = gates ? all->list[i].row : 0;
      uint32_t known = gates ? all->list[i].functional : 0;
      for (uint64_t left = bits; left; left &= left - 1) {
        uint64_t bit = left & -left;
        uint32_t f = known ^ bf_coordinates_project(&exact->coordinates, bit) >> exact->fixed;
        if (f == 0 || row[f] || (base & bit))
          continue;
        row[f] = base | bit;
        all->list[all->count++] = (candidate){.functional = f, .gates = gates, .row = row[f]};
      }
    }
    from = gates ? to : 0;
  }
}

/* ---- Search ---- */

static uint64_t bound_of(const worker *w, unsigned level, uint32_t f, uint64_t parent,
                         uint64_t limit) {
  const bf_exact *exact = w->all->exact;
  unsigned depth = exact->fixed + level;
  return exact->kernel->bound(&exact->planes, w->levels.blocks[depth], w->levels.sizes[depth],
                              depth, exact->m, f << exact->fixed, w->levels.passes[depth], parent,
                              limit);
}

/* Costs from here on are not wanted: of equal ones, that of the first task. */
static uint64_t limit_of(const worker *w) {
  uint64_t best = atomic_load(&w->all->best);
  return best + (best < UINT64_MAX && w->task < atomic_load(&w->all->task));
}

static void offer(worker *w, uint64_t cost) {
  shared *all = w->all;
  pthread_mutex_lock(&all->lock);
  if (cost < limit_of(w)) {
    memcpy(all->chosen, w->chosen, sizeof all->chosen);
    atomic_store(&all->best, cost);
    if (cost < atomic_load(&all->exact->best))
      atomic_store(&all->exact->best, cost);
    atomic_store(&all->task, w->task);
  }
  pthread_mutex_unlock(&all->lock);
}

static bool stopped(const worker *w) {
  bf_exact *exact = w->all->exact;
  return w->is_caller ? bf_exact_poll(exact) : bf_exact_stopped(exact);
}

/* Goes on from a node whose functionals force `parent` and are not spanned by others. */
static void explore(worker *w, unsigned level, bf_gf2_basis basis, uint32_t from, unsigned gates,
                    uint64_t parent);

/* Tries one more functional at a node. */
static void try_candidate(worker *w, unsigned level, bf_gf2_basis basis, uint32_t number,
                          unsigned gates, uint64_t parent) {
  shared *all = w->all;
  const bf_exact *exact = all->exact;
  const candidate *own = &all->list[number];
  unsigned depth = exact->fixed + level;
  if (own->bound >= limit_of(w) || !bf_gf2_insert(&basis, own->functional))
    return;
  uint64_t bound = bound_of(w, level, own->functional, parent, limit_of(w));
  if (bound >= limit_of(w))
    return;
  w->chosen[level] = number;
  if (level + 1 == all->free) {
    offer(w, bound);
    return;
  }
  exact->kernel->split(&exact->planes, w->levels.blocks[depth], depth,
                       own->functional << exact->fixed, w->levels.blocks[depth + 1],
                       w->levels.sizes[depth + 1]);
  uint64_t forced = exact->kernel->passes(&exact->planes, w->levels.sizes[depth + 1], depth + 1,
                                          exact->m, w->levels.passes[depth + 1]);
  explore(w, level + 1, basis, number + 1, gates - own->gates, forced);
}

static void explore(worker *w, unsigned level, bf_gf2_basis basis, uint32_t from, unsigned gates,
                    uint64_t parent) {
  const shared *all = w->all;
  for (uint32_t i = from; i < all->count; i++) {
    if (all->list[i].gates * (all->free - level) > gates || stopped(w))
      return;
    try_candidate(w, level, basis, i, gates, parent);
  }
}

/* A worker at the root, split by the fixed functionals; NULL: out of memory. */
static worker *new_worker(shared *all, uint64_t *root) {
  const bf_exact *exact = all->exact;
  worker *w = calloc(1, sizeof *w);
  if (!w || !bf_levels_make(&exact->planes, exact->m, &w->levels)) {
    free(w);
    return NULL;
  }
  w->all = all;
  for (unsigned j = 0; j < exact->fixed; j++)
    exact->kernel->split(&exact->planes, w->levels.blocks[j], j, 1u << j, w->levels.blocks[j + 1],
                         w->levels.sizes[j + 1]);
  *root = exact->kernel->passes(&exact->planes, w->levels.sizes[exact->fixed], exact->fixed,
                                exact->m, w->levels.passes[exact->fixed]);
  return w;
}

static void free_worker(worker *w) {
  bf_levels_free(&w->levels);
  free(w);
}

/* Hashes whose first functional is one after another. */
static void work(void *context, unsigned index) {
  shared *all = context;
  uint64_t root;
  worker *w = new_worker(all, &root);
  if (!w) {
    atomic_store(&all->out_of_memory, true);
    return;
  }
  bf_gf2_basis none = {0};
  w->is_caller = index == 0;
  for (;;) {
    w->task = atomic_fetch_add(&all->next, 1);
    if (w->task >= all->count || stopped(w) || all->list[w->task].gates * all->free > all->most)
      break;
    try_candidate(w, 0, none, w->task, all->most, root);
  }
  free_worker(w);
}

/* What each candidate forces by itself. */
static int bound_candidates(shared *all, bf_diagnostic *diagnostic) {
  uint64_t root;
  worker *w = new_worker(all, &root);
  if (!w)
    return bf_no_memory(diagnostic);
  for (uint32_t i = 0; i < all->count && !(i % 64 == 0 && bf_exact_poll(all->exact)); i++)
    all->list[i].bound = bound_of(w, 0, all->list[i].functional, root, UINT64_MAX);
  free_worker(w);
  qsort(all->list, all->count, sizeof *all->list, compare);
  return BF_OK;
}

/* Single address bits that do not depend on each other, whatever they cost: an answer to begin
 * with. They are the first candidates and enough. */
static void begin(shared *all) {
  const bf_exact *exact = all->exact;
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  bf_gf2_basis basis = {0};
  unsigned chosen = 0;
  for (unsigned j = 0; j < exact->fixed; j++)
    functional[j] = 1u << j;
  for (uint32_t i = 0; i < all->count && chosen < all->free; i++)
    if (bf_gf2_insert(&basis, all->list[i].functional)) {
      functional[exact->fixed + chosen] = all->list[i].functional << exact->fixed;
      all->chosen[chosen++] = i;
    }
  atomic_store(&all->best, exact->kernel->cost(&exact->planes, functional, exact->m));
}

/* One limit after another up to `most`. */
static int search_limits(shared *all, unsigned most, bool *complete, bf_diagnostic *diagnostic) {
  unsigned threads = all->exact->options->threads;
  for (all->most = 0; all->most <= most && atomic_load(&all->best) > 0; all->most++) {
    atomic_store(&all->next, 0);
    atomic_store(&all->task, 0);
    bf_run_threads(threads ? threads : bf_cores(), work, all);
    if (atomic_load(&all->out_of_memory))
      return bf_no_memory(diagnostic);
    if (bf_exact_poll(all->exact))
      return BF_OK;
  }
  *complete = true;
  return BF_OK;
}

static int search(shared *all, unsigned most, bool *complete, bf_diagnostic *diagnostic) {
  bf_exact *exact = all->exact;
  size_t functionals = (size_t)1 << (exact->coordinates.dimension - exact->fixed);
  uint64_t *row = calloc(functionals, sizeof *row);
  all->list = malloc(functionals * sizeof *all->list);
  int error = row && all->list ? BF_OK : bf_no_memory(diagnostic);
  all->most = most;
  if (!error) {
    list_candidates(all, row);
    error = bound_candidates(all, diagnostic);
  }
  free(row);
  if (!error)
    begin(all);
  if (!error)
    error = search_limits(all, most, complete, diagnostic);
  return error;
}

int bf_gates_search(bf_exact *exact, unsigned most, uint64_t *row, uint64_t *cost, bool *complete,
                    bf_diagnostic *diagnostic) {
  shared all = {.exact = exact, .free = exact->m - exact->fixed};
  *complete = false;
  if (exact->coordinates.dimension - exact->fixed > MOST_DIMENSION)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "a limit of gates is kept for up to %d address bits, not %u", MOST_DIMENSION,
                   exact->coordinates.dimension);
  atomic_init(&all.best, UINT64_MAX);
  pthread_mutex_init(&all.lock, NULL);
  int error = search(&all, most, complete, diagnostic);
  *cost = atomic_load(&all.best);
  for (unsigned i = 0; !error && i < exact->m; i++)
    row[i] = i < exact->fixed ? (uint64_t)1 << i : all.list[all.chosen[i - exact->fixed]].row;
  pthread_mutex_destroy(&all.lock);
  free(all.list);
  return error;
}
