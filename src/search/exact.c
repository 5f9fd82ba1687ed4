/* The exact search: a hash of minimum cost over a whole class, with proof.
 *
 * General and row-preserving hashes: local search for a good hash, then two branch-and-bounds side
 * by side, one over functionals and one over the null space, which share the best hash; the first
 * to finish has proven it. CuTe, one-term and two-term hashes are few enough to try all. Last, of
 * the hashes found that cost the same, the cheapest to compute is returned. */
#include "search/exact.h"
#include "search/cheapest.h"
#include "search/gates.h"
#include "search/parts.h"
#include "search/rounds.h"
#include "search/search.h"
#include "search/terms.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void bf_exact_offer(bf_exact *exact, const uint32_t *functional, uint64_t cost) {
  pthread_mutex_lock(&exact->lock);
  if (cost < atomic_load(&exact->best)) {
    memcpy(exact->functional, functional, sizeof exact->functional);
    atomic_store(&exact->best, cost);
    atomic_store(&exact->improved, bf_seconds());
  }
  pthread_mutex_unlock(&exact->lock);
}

bool bf_exact_stopped(bf_exact *exact) {
  if (exact->deadline && bf_seconds() >= exact->deadline)
    atomic_store(&exact->stop, true);
  return atomic_load(&exact->stop);
}

bool bf_exact_poll(bf_exact *exact) {
  const bf_solve_options *options = exact->options;
  double now = bf_seconds();
  if (options->progress && now - exact->reported > 0.1) {
    exact->reported = now;
    if (!options->progress(options->progress_context, now - exact->started, exact->lower,
                           atomic_load(&exact->best)))
      atomic_store(&exact->stop, true);
  }
  return bf_exact_stopped(exact);
}

/* ---- The two branch-and-bounds and their clock ---- */

typedef struct race {
  bf_exact *exact;
  bf_columns *columns; /* NULL where the dimension is too large for it */
  bf_nulls *nulls;
  bf_folds *folds;    /* NULL where the problem does not fit it */
  atomic_bool chosen; /* between columns and folds */
  unsigned workers;
  atomic_uint working;
} race;

static uint64_t race_lower(const race *r) {
  uint64_t lower = r->nulls ? bf_nulls_lower(r->nulls) : 0, pairs = atomic_load(&r->exact->pairs);
  lower = lower > pairs ? lower : pairs;
  bf_columns *columns = r->columns;
  bf_folds *folds = r->folds;
  if (columns && bf_rounds_lower(bf_columns_rounds(columns)) > lower)
    lower = bf_rounds_lower(bf_columns_rounds(columns));
  if (folds && bf_rounds_lower(bf_folds_rounds(folds)) > lower)
    lower = bf_rounds_lower(bf_folds_rounds(folds));
  return lower;
}

/* The searches that end with all choices at once are faster than the one over null spaces, whose
 * workers join them unless they are done in the first moments. A moment later, of the search over
 * functionals and that over folds, the one that seems to take longer is abandoned. */
static void choose_search(race *r) {
  bf_exact *exact = r->exact;
  double spent = bf_seconds() - exact->started;
  if (spent < 0.3)
    return;
  if (r->nulls && ((r->columns && bf_columns_is_fast(r->columns)) || r->folds))
    atomic_store(&exact->leave, true);
  if (spent < 1.5 || !r->columns || !r->folds || atomic_load(&r->chosen))
    return;
  bf_rounds *columns = bf_columns_rounds(r->columns), *folds = bf_folds_rounds(r->folds);
  double of_columns = bf_rounds_left_seconds(columns), of_folds = bf_rounds_left_seconds(folds);
  bool is_known = of_columns < BF_ROUNDS_UNKNOWN && of_folds < BF_ROUNDS_UNKNOWN;
  bool folds_end = spent >= 3 && bf_folds_is_shallow(r->folds) &&
                   (exact->deadline == 0 || of_folds < exact->deadline - bf_seconds());
  if (spent < 10 && !is_known && !folds_end)
    return;
  double even = bf_folds_is_even(r->folds) ? 4 : bf_folds_is_shallow(r->folds) ? 1 : 0.25;
  bool folds_last = of_folds > even * of_columns;
  atomic_store(folds_last ? &folds->abandoned : &columns->abandoned, true);
  atomic_store(&r->chosen, true);
}

/* Runs on the calling thread: reports progress, and stops the others when time is up. */
static void watch(race *r) {
  const struct timespec pause = {.tv_nsec = 2000000};
  while (atomic_load(&r->working)) {
    nanosleep(&pause, NULL);
    uint64_t lower = race_lower(r);
    r->exact->lower = lower > r->exact->lower ? lower : r->exact->lower;
    choose_search(r);
    bf_exact_poll(r->exact);
  }
  atomic_store(&r->exact->stop, true);
}

/* The bound of pairs, by half a second of work, and no more than a tenth of what is left. */
static void bound_pairs(bf_exact *exact) {
  double left = exact->deadline ? exact->deadline - bf_seconds() : 5;
  if (left <= 0 || exact->problem->sampled)
    return;
  uint64_t bound = bf_problem_pairs(exact->problem, exact->fixed, left < 5 ? left / 10 : 0.5);
  atomic_store(&exact->pairs, bound);
  if (bound >= atomic_load(&exact->best)) {
    atomic_store(&exact->proven, true);
    atomic_store(&exact->stop, true);
  }
}

/* Up to a third of what is left, or of a minute. */
static double seconds_for_parts(const bf_exact *exact) {
  double left = exact->deadline ? exact->deadline - bf_seconds() : 60;
  return left / 3;
}

/* Whether the proof of the whole seems to end in time, once that is known. */
static bool ends_in_time(const race *r) {
  const struct timespec pause = {.tv_nsec = 20000000};
  const bf_exact *exact = r->exact;
  if (!r->folds || !bf_folds_is_shallow(r->folds))
    return false;
  while (bf_seconds() - exact->started < 4 && !atomic_load(&exact->stop) && r->columns &&
         !atomic_load(&r->chosen))
    nanosleep(&pause, NULL);
  const bf_rounds *folds = bf_folds_rounds(r->folds);
  double left = exact->deadline ? exact->deadline - bf_seconds() : 60;
  return !atomic_load(&folds->abandoned) && bf_rounds_left_seconds(folds) < left;
}

/* Whether parts may tell something. Accesses without structure have parts that cost nearly nothing
 * by themselves. */
static bool needs_parts(const race *r) {
  if (r->exact->problem->sampled || (r->folds && bf_folds_is_even(r->folds)))
    return false;
  return !ends_in_time(r);
}

/* What is not proven soon may take for ever: meanwhile pairs and parts may show what is not
 * possible, and local search goes on for a better hash. */
static void search_on(race *r) {
  const struct timespec pause = {.tv_nsec = 2000000};
  while (bf_seconds() - r->exact->started < 1 && !atomic_load(&r->exact->stop))
    nanosleep(&pause, NULL);
  if (!atomic_load(&r->exact->stop))
    bound_pairs(r->exact);
  if (!atomic_load(&r->exact->stop) && needs_parts(r))
    bf_parts_bound(r->exact, seconds_for_parts(r->exact));
  if (!atomic_load(&r->exact->stop))
    bf_exact_local_search(r->exact, true, NULL);
}

static void run_racer(void *context, unsigned index) {
  race *r = context;
  if (index == 0) {
    watch(r);
    return;
  }
  if (index == r->workers + 1) {
    if (!r->exact->problem->is_part)
      search_on(r);
    return;
  }
  bool columns_first = index % 2 == 0;
  if (r->columns && (columns_first || (!r->nulls && !r->folds)))
    bf_columns_work(r->columns);
  else if (r->nulls)
    bf_nulls_work(r->nulls);
  bool is_left = atomic_load(&r->exact->leave) || columns_first || !r->nulls;
  if (r->folds && is_left)
    bf_folds_work(r->folds);
  if (r->columns && is_left)
    bf_columns_work(r->columns);
  atomic_fetch_sub(&r->working, 1);
}

/* Of many accesses without structure, the search over functionals is never faster than that over
 * folds. */
static bool needs_columns(const race *r) {
  const bf_exact *exact = r->exact;
  bool folds_win = r->folds && bf_folds_is_even(r->folds) && exact->problem->count >= 16;
  return !folds_win && exact->coordinates.dimension - exact->fixed <= BF_COLUMNS_MAX_DIMENSION;
}

static int branch_and_bound(bf_exact *exact, bf_diagnostic *diagnostic) {
  race r = {.exact = exact, .workers = exact->options->threads};
  unsigned d = exact->coordinates.dimension;
  bool is_shared = exact->options->shared_file != NULL;
  int error = bf_folds_prepare(exact, &r.folds, diagnostic);
  if (!error && is_shared && !r.folds)
    error = bf_fail(diagnostic, BF_UNSUPPORTED,
                    "a shared search is for %u to %d address bits, and not over 4096 accesses",
                    exact->m + 2, BF_FOLDS_MAX_DIMENSION);
  if (!error && !is_shared && needs_columns(&r))
    error = bf_columns_prepare(exact, &r.columns, diagnostic);
  if (!error && !is_shared && d <= BF_NULLS_MAX_DIMENSION)
    error = bf_nulls_prepare(exact, &r.nulls, diagnostic);
  if (!error && (r.columns || r.nulls || r.folds) && !bf_exact_poll(exact)) {
    if (r.workers == 0)
      r.workers = bf_cores();
    if (r.workers < 2)
      r.workers = 2;
    atomic_store(&r.working, r.workers);
    bf_run_threads(r.workers + 2, run_racer, &r);
    uint64_t lower = atomic_load(&exact->proven) ? atomic_load(&exact->best) : race_lower(&r);
    exact->lower = lower > exact->lower ? lower : exact->lower;
    if (atomic_load(&exact->out_of_memory) && !atomic_load(&exact->proven))
      error = bf_no_memory(diagnostic);
  }
  bf_columns_free(r.columns);
  bf_nulls_free(r.nulls);
  bf_folds_free(r.folds);
  return error;
}

/* ---- Start ---- */

/* Starts from "no hash": its functionals, made independent with further coordinates. */
static void seed_identity(bf_exact *exact) {
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  bf_gf2_basis basis = {0};
  for (unsigned i = 0; i < exact->m; i++) {
    functional[i] = bf_coordinates_project(&exact->coordinates, (uint64_t)1 << i);
    for (unsigned c = 0; !bf_gf2_insert(&basis, functional[i]) && c < exact->coordinates.dimension;
         c++)
      functional[i] = 1u << c;
  }
  bf_exact_offer(exact, functional, exact->kernel->cost(&exact->planes, functional, exact->m));
}

/* Starts from the best one-term hash where it is independent on the space of the problem. */
static int seed_terms(bf_exact *exact, bf_diagnostic *diagnostic) {
  bf_terms_query query = bf_terms_query_of(exact, 1);
  bf_terms best;
  int error = bf_terms_search(&query, &best, diagnostic);
  if (error || !best.found)
    return error;
  uint64_t row[BF_HASH_MAX_BANK_BITS], projected[BF_MAX_FUNCTIONALS];
  uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
  bf_terms_rows(&best, &exact->problem->geometry, row);
  for (unsigned i = 0; i < exact->m; i++)
    projected[i] = functional[i] = bf_coordinates_project(&exact->coordinates, row[i]);
  if (bf_gf2_rank(projected, exact->m) == exact->m)
    bf_exact_offer(exact, functional, best.cost);
  return BF_OK;
}

/* Starts from the plainest hashes: bits k, k+1, ... of the address, each alone and XORed with the
 * one that many bank bits further up. */
static void seed_shifts(bf_exact *exact) {
  const bf_geometry *geometry = &exact->problem->geometry;
  if (exact->row || exact->fixed)
    return;
  for (unsigned k = 0; k + geometry->bank_bits <= geometry->address_bits; k++)
    for (unsigned is_xor = 0; is_xor < 2; is_xor++) {
      uint64_t projected[BF_MAX_FUNCTIONALS];
      uint32_t functional[BF_MAX_FUNCTIONALS] = {0};
      for (unsigned i = 0; i < exact->m; i++) {
        unsigned partner = k + i + geometry->bank_bits;
        uint64_t row = (uint64_t)1 << (k + i);
        if (is_xor && partner < geometry->address_bits)
          row |= (uint64_t)1 << partner;
        projected[i] = functional[i] = bf_coordinates_project(&exact->coordinates, row);
      }
      if (bf_gf2_rank(projected, exact->m) == exact->m)
        bf_exact_offer(exact, functional,
                       exact->kernel->cost(&exact->planes, functional, exact->m));
    }
}

/* A first bound: what the functional that forces least forces. Left out where time ends before. */
static void bound_root(bf_exact *exact) {
  const bf_planes *planes = &exact->planes;
  unsigned level = exact->fixed;
  bf_levels levels;
  uint64_t least = UINT64_MAX;
  if (exact->m == level || !bf_levels_make(planes, level, &levels))
    return;
  for (unsigned j = 0; j < level; j++)
    exact->kernel->split(planes, levels.blocks[j], j, 1u << j, levels.blocks[j + 1],
                         levels.sizes[j + 1]);
  uint64_t parent =
      exact->kernel->passes(planes, levels.sizes[level], level, exact->m, levels.passes[level]);
  for (uint32_t f = 1; f < 1u << (planes->dimension - level) && least > parent; f++) {
    if (f % 64 == 0 && bf_exact_poll(exact)) {
      least = parent;
      break;
    }
    uint64_t bound =
        exact->kernel->bound(planes, levels.blocks[level], levels.sizes[level], level, exact->m,
                             f << level, levels.passes[level], parent, least);
    least = bound < least ? bound : least;
  }
  bf_levels_free(&levels);
  least = least == UINT64_MAX ? parent : least;
  exact->lower = least > exact->lower ? least : exact->lower;
}

/* ---- General and row-preserving hashes ---- */

/* Every word of the space its own bank: as many coordinates as banks have bits, or fewer. */
static bool fits_without_conflict(bf_exact *exact) {
  if (exact->row || exact->coordinates.dimension > exact->m)
    return false;
  for (unsigned i = 0; i < exact->m; i++)
    exact->functional[i] = i < exact->coordinates.dimension ? 1u << i : 0;
  atomic_store(&exact->best, 0);
  atomic_store(&exact->proven, true);
  return true;
}

static int solve_space(bf_exact *exact, bf_found *found, bf_diagnostic *diagnostic) {
  int error = BF_OK;
  if (!fits_without_conflict(exact)) {
    seed_identity(exact);
    seed_shifts(exact);
    error = seed_terms(exact, diagnostic);
    bound_root(exact);
    if (!error)
      error = bf_exact_local_search(exact, false, diagnostic);
    if (atomic_load(&exact->best) == 0)
      atomic_store(&exact->proven, true);
    else if (!error && !bf_exact_poll(exact))
      error = branch_and_bound(exact, diagnostic);
  }
  if (error)
    return error;
  found->complete = atomic_load(&exact->proven);
  found->lower_bound = found->complete ? atomic_load(&exact->best) : exact->lower;
  if (exact->problem->is_part)
    return BF_OK;
  if (found->complete)
    atomic_store(&exact->stop, false);
  return bf_cheapest(exact, found->row, diagnostic);
}

/* ---- Hashes of few gates ---- */

/* Single address bits, where they tell all words of the space apart. */
static void take_coordinates(const bf_exact *exact, uint64_t *row) {
  bf_gf2_basis basis = {0};
  unsigned next = 0;
  for (; next < exact->coordinates.dimension; next++) {
    row[next] = (uint64_t)1 << exact->coordinates.bit[next];
    bf_gf2_insert(&basis, row[next]);
  }
  for (unsigned bit = 0; next < exact->m; bit++)
    if (bf_gf2_insert(&basis, (uint64_t)1 << bit))
      row[next++] = (uint64_t)1 << bit;
}

static int solve_gates(bf_exact *exact, bf_found *found, bf_diagnostic *diagnostic) {
  uint64_t cost = 0;
  if (fits_without_conflict(exact)) {
    take_coordinates(exact, found->row);
  } else {
    seed_identity(exact);
    bound_root(exact);
    BF_TRY(bf_gates_search(exact, exact->options->most_gates, found->row, &cost, &found->complete,
                           diagnostic));
  }
  bf_cheapest_order(exact, found->row);
  found->lower_bound = found->complete ? cost : exact->lower;
  return BF_OK;
}

/* ---- Small classes ---- */

/* The modes of tensor copies, the narrowest of equal ones. */
static int solve_tma(const bf_exact *exact, bf_found *found, bf_diagnostic *diagnostic) {
  static const char *const modes[] = {"none", "tma:32", "tma:64", "tma:128"};
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    bf_hash *hash;
    BF_TRY(bf_hash_parse(modes[i], &exact->problem->geometry, &hash, diagnostic));
    uint64_t cost = bf_problem_cost(exact->problem, hash->forward.row);
    bf_hash_free(hash);
    if (cost < least)
      snprintf(found->text, sizeof found->text, "%s", modes[i]);
    least = cost < least ? cost : least;
  }
  found->lower_bound = least;
  return BF_OK;
}

static int solve_terms(bf_exact *exact, bf_found *found, bf_diagnostic *diagnostic) {
  bf_class class_ = exact->options->class_;
  bf_terms_query query = bf_terms_query_of(exact, class_ == BF_CLASS_TWO_TERM ? 2 : 1);
  query.contiguous = class_ == BF_CLASS_CUTE;
  query.row_only = exact->options->keeps_rows;
  bf_terms best;
  BF_TRY(bf_terms_search(&query, &best, diagnostic));
  bf_terms_rows(&best, &exact->problem->geometry, found->row);
  found->complete = !bf_exact_stopped(exact);
  found->lower_bound = found->complete ? best.cost : 0;
  return BF_OK;
}

/* ---- Entry ---- */

static int solve_prepared(bf_exact *exact, bf_found *found, bf_diagnostic *diagnostic) {
  int error = bf_planes_build(exact->problem, &exact->coordinates, &exact->planes, diagnostic);
  if (error)
    return error;
  bool space = exact->options->class_ == BF_CLASS_GENERAL || exact->row;
  if (exact->options->has_most_gates)
    error = solve_gates(exact, found, diagnostic);
  else
    error = space ? solve_space(exact, found, diagnostic) : solve_terms(exact, found, diagnostic);
  bf_planes_free(&exact->planes);
  return error;
}

/* Whether every hash is searched, or every one that keeps rows: then some best one keeps blocks. */
static bool is_space(const bf_solve_options *options) {
  return !options->has_most_gates &&
         (options->class_ == BF_CLASS_GENERAL || options->class_ == BF_CLASS_ROW);
}

int bf_search_exact(const bf_problem *problem, const bf_solve_options *options, bf_found *found,
                    bf_diagnostic *diagnostic) {
  unsigned m = problem->geometry.bank_bits;
  for (unsigned i = 0; i < m; i++)
    found->row[i] = (uint64_t)1 << i;
  found->complete = true;
  unsigned fixed = is_space(options) ? problem->block_bits : problem->granule_bits;
  if (problem->count == 0 || m == fixed) {
    found->lower_bound = bf_problem_cost(problem, found->row);
    return BF_OK;
  }
  if (m > BF_MAX_FUNCTIONALS)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "the exact search handles up to %u banks, not %u",
                   1u << BF_MAX_FUNCTIONALS, 1u << m);
  bf_exact exact = {.problem = problem,
                    .kernel = bf_kernel_best(),
                    .m = m,
                    .fixed = fixed,
                    .row = options->class_ == BF_CLASS_ROW,
                    .options = options,
                    .lower = problem->sampled ? 0 : problem->least,
                    .started = bf_seconds()};
  if (problem->watch && problem->watch->until > 0)
    exact.deadline = problem->watch->until;
  exact.coordinates = bf_problem_coordinates(problem, exact.row ? m : exact.fixed);
  if (exact.coordinates.dimension > 24)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "the exact search handles workloads that span up to 24 address bits, not %u",
                   exact.coordinates.dimension);
  atomic_init(&exact.best, UINT64_MAX);
  pthread_mutex_init(&exact.lock, NULL);
  int error = options->class_ == BF_CLASS_TMA ? solve_tma(&exact, found, diagnostic)
                                              : solve_prepared(&exact, found, diagnostic);
  pthread_mutex_destroy(&exact.lock);
  return error;
}
