/* Conflicts under a hash of all that it is to serve, by all cores: what every answer of a search is
 * judged by. */
#include "search/joint.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Accesses that a thread counts before it asks for more, and those that it counts before it looks
 * at the clock. Accesses that occur often stand at the beginning, so that parts of a sample are
 * small. */
enum { PART = 64, FEW = 1024, HEAD = FEW / PART };

/* ---- Cases ---- */

size_t bf_cases_size(const bf_cases *cases) {
  size_t size = 0;
  for (size_t i = 0; i < cases->count; i++)
    size += bf_workload_size(cases->item[i].workload);
  return size;
}

const bf_access *bf_cases_get(const bf_cases *cases, size_t index, size_t *which) {
  for (*which = 0; *which < cases->count; ++*which) {
    size_t size = bf_workload_size(cases->item[*which].workload);
    if (index < size)
      return bf_workload_get(cases->item[*which].workload, index);
    index -= size;
  }
  return NULL;
}

/* ---- Extent ---- */

enum { MOST_PIECES = 64 };

typedef struct measuring {
  const bf_cases *cases;
  unsigned pieces;
  bf_extent of[MOST_PIECES];
} measuring;

/* Where the bytes of the last active lane begin. */
static uint32_t highest_address(const bf_access *access) {
  uint32_t highest = 0;
  if (access->mask == 0xffffffff) {
    for (unsigned lane = 0; lane < 32; lane++)
      highest = access->address[lane] > highest ? access->address[lane] : highest;
    return highest;
  }
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint32_t own = access->address[__builtin_ctzll(left)];
    highest = own > highest ? own : highest;
  }
  return highest;
}

static void measure(void *context, unsigned index) {
  measuring *all = context;
  size_t size = bf_cases_size(all->cases), which;
  bf_extent own = {0};
  for (size_t i = size * index / all->pieces; i < size * (index + 1) / all->pieces; i++) {
    const bf_access *access = bf_cases_get(all->cases, i, &which);
    uint64_t end = access->mask ? (uint64_t)highest_address(access) + access->width_bytes : 0;
    own.executions += access->count;
    own.end_bytes = end > own.end_bytes ? end : own.end_bytes;
    if (access->width_bytes > own.widest_bytes)
      own.widest_bytes = access->width_bytes;
  }
  all->of[index] = own;
}

bf_extent bf_cases_extent(const bf_cases *cases) {
  measuring all = {.cases = cases, .pieces = bf_cases_size(cases) > 4 * FEW ? bf_cores() : 1};
  bf_extent sum = {0};
  all.pieces = all.pieces > MOST_PIECES ? MOST_PIECES : all.pieces;
  bf_run_threads(all.pieces, measure, &all);
  for (unsigned i = 0; i < all.pieces; i++) {
    const bf_extent *own = &all.of[i];
    sum.executions += own->executions;
    sum.end_bytes = own->end_bytes > sum.end_bytes ? own->end_bytes : sum.end_bytes;
    if (own->widest_bytes > sum.widest_bytes)
      sum.widest_bytes = own->widest_bytes;
  }
  return sum;
}

/* ---- Counting ---- */

/* A counter for each case; NULL where accesses are counted one by one. */
typedef struct counters {
  const bf_cases *cases;
  const bf_hash *hash;
  const bf_joint *how; /* where data lie; NULL: as they do */
  bf_counter **of;
} counters;

static void free_counters(counters *all) {
  for (size_t i = 0; all->of && i < all->cases->count; i++)
    bf_counter_free(all->of[i]);
  free(all->of);
}

/* Counters pay where many accesses are counted. */
static int make_counters(const bf_cases *cases, const bf_hash *hash, size_t accesses, counters *all,
                         bf_diagnostic *diagnostic) {
  *all = (counters){.cases = cases, .hash = hash};
  if (accesses < FEW)
    return BF_OK;
  all->of = calloc(cases->count, sizeof *all->of);
  int error = all->of ? BF_OK : bf_no_memory(diagnostic);
  for (size_t i = 0; i < cases->count && !error; i++)
    error = bf_counter_create(cases->item[i].machine, hash, &all->of[i], diagnostic);
  if (error)
    free_counters(all);
  return error;
}

typedef struct sums {
  uint64_t conflicts, wavefronts, executions;
  size_t counted;
} sums;

/* Adds the access of that number. */
static int count_one(const counters *all, size_t index, sums *sum, bf_diagnostic *diagnostic) {
  bf_count count = {0};
  size_t which;
  const bf_access *access = bf_cases_get(all->cases, index, &which);
  bf_access moved;
  if (all->how) {
    moved = *access;
    bf_joint_move(all->cases->item[which].machine, all->how, &moved);
    access = &moved;
  }
  int error = all->of ? bf_counter_count(all->of[which], access, &count, diagnostic)
                      : bf_memory_count(all->cases->item[which].machine, all->hash, access, &count,
                                        diagnostic);
  sum->conflicts += access->count * count.conflicts;
  sum->wavefronts += access->count * bf_count_wavefronts(&count);
  sum->executions += access->count;
  return error;
}

typedef struct counting {
  const bf_cases *cases;
  const bf_hash *hash;
  const bf_joint *how;
  double until;         /* 0: no limit */
  size_t parts, stride; /* parts are counted in an order in which any first of them are a sample */
  atomic_size_t next, counted;
  /* of the first parts; of all others */
  atomic_uint_fast64_t conflicts[2], wavefronts[2], executions[2];
  atomic_flag failed; /* whoever sets it fills the diagnostic */
  atomic_int error;
  bf_diagnostic *diagnostic;
} counting;

static void fail(counting *all, int error, const bf_diagnostic *diagnostic) {
  if (atomic_flag_test_and_set(&all->failed))
    return;
  if (all->diagnostic)
    *all->diagnostic = *diagnostic;
  atomic_store(&all->error, error);
}

/* Whether time is up; whatever the time, each thread counts something. */
static bool is_late(const counting *all, const sums *sum) {
  return all->until > 0 && sum->counted >= 2 * FEW && bf_seconds() >= all->until;
}

/* The place of the part that is counted as that number. */
static size_t place_of(const counting *all, size_t part) {
  return part < HEAD ? part : HEAD + (part - HEAD) * all->stride % (all->parts - HEAD);
}

static void work(void *context, unsigned index) {
  counting *all = context;
  size_t accesses = bf_cases_size(all->cases);
  counters own;
  bf_diagnostic diagnostic = {.caret = -1};
  (void)index;
  int error = make_counters(all->cases, all->hash, accesses, &own, &diagnostic);
  if (error) {
    fail(all, error, &diagnostic);
    return;
  }
  own.how = all->how;
  sums sum = {0};
  for (size_t part;
       !error && !is_late(all, &sum) && (part = atomic_fetch_add(&all->next, 1)) < all->parts;) {
    size_t from = place_of(all, part) * PART;
    sums here = {0};
    for (size_t i = from; i < accesses && i < from + PART && !error; i++, sum.counted++)
      error = count_one(&own, i, &here, &diagnostic);
    atomic_fetch_add(&all->conflicts[part >= HEAD], here.conflicts);
    atomic_fetch_add(&all->wavefronts[part >= HEAD], here.wavefronts);
    atomic_fetch_add(&all->executions[part >= HEAD], here.executions);
  }
  if (error)
    fail(all, error, &diagnostic);
  atomic_fetch_add(&all->counted, sum.counted);
  free_counters(&own);
}

/* A stride that meets all parts and spreads any first of them: near the golden section. */
static size_t stride_of(size_t parts) {
  size_t stride = (size_t)(0.618 * (double)parts) | 1;
  while (bf_common_factor(stride, parts) != 1)
    stride++;
  return stride;
}

/* How often all accesses are made. */
static uint64_t executions_of(const bf_cases *cases) {
  uint64_t sum = 0;
  for (size_t i = 0; i < cases->count; i++)
    for (size_t a = 0, size = bf_workload_size(cases->item[i].workload); a < size; a++)
      sum += bf_workload_get(cases->item[i].workload, a)->count;
  return sum;
}

/* The first parts as they are, the others times that much. */
static uint64_t scale(atomic_uint_fast64_t *sum, double by) {
  uint64_t rest = atomic_load(&sum[1]);
  return atomic_load(&sum[0]) + (by == 1 ? rest : (uint64_t)(by * (double)rest));
}

int bf_cases_estimate(const bf_cases *cases, const bf_hash *hash, const bf_joint *how, double until,
                      bf_estimate *estimate, bf_diagnostic *diagnostic) {
  size_t accesses = bf_cases_size(cases), parts = (accesses + PART - 1) / PART;
  counting all = {.cases = cases,
                  .hash = hash,
                  .how = how,
                  .until = accesses > 4 * FEW ? until : 0,
                  .parts = parts,
                  .stride = parts > HEAD ? stride_of(parts - HEAD) : 1,
                  .failed = ATOMIC_FLAG_INIT,
                  .diagnostic = diagnostic};
  bf_run_threads(accesses > 4 * FEW ? bf_cores() : 1, work, &all);
  size_t counted = atomic_load(&all.counted);
  uint64_t rest = atomic_load(&all.executions[1]);
  double by = 1;
  estimate->share = 1;
  if (counted < accesses && rest) {
    by = (double)(executions_of(cases) - atomic_load(&all.executions[0])) / (double)rest;
    estimate->share = (double)counted / (double)accesses;
  }
  estimate->conflicts = scale(all.conflicts, by);
  estimate->wavefronts = scale(all.wavefronts, by);
  return atomic_load(&all.error);
}

int bf_cases_conflicts(const bf_cases *cases, const bf_hash *hash, uint64_t *conflicts,
                       uint64_t *wavefronts, bf_diagnostic *diagnostic) {
  bf_estimate all;
  int error = bf_cases_estimate(cases, hash, NULL, 0, &all, diagnostic);
  *conflicts = all.conflicts;
  if (wavefronts)
    *wavefronts = all.wavefronts;
  return error;
}

int bf_problem_conflicts(const bf_machine *machine, const bf_workload *workload,
                         const bf_hash *hash, uint64_t *conflicts, bf_diagnostic *diagnostic) {
  const bf_solve_case own = {machine, workload};
  const bf_cases cases = {&own, 1};
  return bf_cases_conflicts(&cases, hash, conflicts, NULL, diagnostic);
}

uint64_t bf_cases_conflicts_part(const bf_cases *cases, const bf_hash *hash, size_t step,
                                 uint64_t most, const bf_search_watch *watch) {
  sums sum = {0};
  size_t done = 0, accesses = bf_cases_size(cases);
  counters own;
  if (make_counters(cases, hash, accesses / step, &own, NULL) != BF_OK)
    return UINT64_MAX;
  for (size_t i = 0; i < accesses && sum.conflicts <= most; i += step) {
    if ((++done % FEW == 0 && bf_search_is_late(watch)) ||
        count_one(&own, i, &sum, NULL) != BF_OK) {
      sum.conflicts = UINT64_MAX;
      break;
    }
  }
  free_counters(&own);
  return sum.conflicts <= most ? sum.conflicts : UINT64_MAX;
}
