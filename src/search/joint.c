/* A hash, padding and the base address together. */
#include "search/joint.h"

#include "search/cases.h"
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

/* Accesses that candidates are compared by, and those by which paddings alone are. */
enum { MOST_ACCESSES = 4096, FEW = 512 };

typedef struct joining {
  const bf_machine *machine;
  const bf_cases *cases;
  bf_solve_options options;
  const bf_search_watch *watch;
  bf_geometry geometry;
  bf_extent extent;
  size_t step;
  unsigned base_bytes; /* the least base but 0 */
  double started;
  bf_joint candidate[BF_JOINT_PADDINGS * BF_JOINT_BASES];
  uint64_t lower[BF_JOINT_PADDINGS * BF_JOINT_BASES]; /* no hash of the candidate leaves fewer */
  unsigned count;
} joining;

/* ---- Moving data ---- */

/* Where byte `address` lies then. */
static uint64_t move_byte(const bf_joint *how, unsigned word_bytes, uint64_t address) {
  uint64_t word = address / word_bytes;
  if (how->pad_words)
    word += word / how->row_words * how->pad_words;
  return how->base_bytes + word * word_bytes + address % word_bytes;
}

void bf_joint_move(const bf_machine *machine, const bf_joint *how, bf_access *access) {
  unsigned word_bytes = bf_machine_geometry(machine).word_bytes;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint32_t *own = &access->address[__builtin_ctzll(left)];
    *own = (uint32_t)move_byte(how, word_bytes, *own);
  }
}

/* Every step-th access with data that are moved so. */
static int move_some(const joining *j, const bf_joint *how, size_t step, bf_workload **moved,
                     bf_diagnostic *diagnostic) {
  size_t which;
  if (bf_workload_create(moved) != BF_OK)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < bf_cases_size(j->cases); i += step) {
    bf_access access = *bf_cases_get(j->cases, i, &which);
    bf_joint_move(j->machine, how, &access);
    if (bf_workload_add(*moved, &access) != BF_OK) {
      bf_workload_free(*moved);
      return bf_no_memory(diagnostic);
    }
  }
  return BF_OK;
}

/* ---- Candidates ---- */

/* Bytes that nothing uses. */
static uint64_t bytes_wasted(const joining *j, const bf_joint *how) {
  uint64_t last = j->extent.end_bytes ? j->extent.end_bytes - 1 : 0;
  return move_byte(how, j->geometry.word_bytes, last) - last;
}

static bool fits(const joining *j, const bf_joint *how) {
  uint64_t end = j->extent.end_bytes + bytes_wasted(j, how);
  return end <= bf_machine_capacity_bytes(j->machine) && end <= (uint64_t)j->geometry.word_bytes
                                                                    << j->geometry.address_bits;
}

/* Adds a padding at every base; a base moves the banks of all words alike where they are numbers
 * modulo another, so that 0 is the only one then. */
static void add_bases(joining *j, uint64_t row_words, uint64_t pad_words) {
  uint64_t row_bytes = (uint64_t)j->geometry.word_bytes << j->geometry.bank_bits;
  unsigned bases = 0;
  unsigned most = j->options.method == BF_METHOD_MODULO ? 1 : BF_JOINT_BASES;
  for (uint64_t base = 0; base < row_bytes && bases < most;
       base = base ? 2 * base : j->base_bytes, bases++) {
    bf_joint how = {.row_words = row_words, .pad_words = pad_words, .base_bytes = base};
    if (fits(j, &how))
      j->candidate[j->count++] = how;
  }
}

static int compare_paddings(const void *a, const void *b) {
  const bf_joint *x = a, *y = b;
  if (x->solution.conflicts_after != y->solution.conflicts_after)
    return x->solution.conflicts_after < y->solution.conflicts_after ? -1 : 1;
  if (x->solution.bytes_wasted != y->solution.bytes_wasted)
    return x->solution.bytes_wasted < y->solution.bytes_wasted ? -1 : 1;
  return x->row_words != y->row_words   ? (x->row_words < y->row_words ? -1 : 1)
         : x->pad_words != y->pad_words ? (x->pad_words < y->pad_words ? -1 : 1)
                                        : 0;
}

/* Conflicts of data with a padding and no hash, of a sample. */
static int count_padding(const joining *j, bf_joint *how, bf_diagnostic *diagnostic) {
  bf_workload *moved;
  size_t accesses = bf_cases_size(j->cases), step = accesses > FEW ? accesses / FEW : 1;
  BF_TRY(move_some(j, how, step, &moved, diagnostic));
  int error =
      bf_problem_conflicts(j->machine, moved, NULL, &how->solution.conflicts_after, diagnostic);
  how->solution.bytes_wasted = bytes_wasted(j, how);
  bf_workload_free(moved);
  return error;
}

/* No padding, and those that leave fewest conflicts: rows are powers of two. A tenth of the limit
 * is for looking at them. */
static int list_candidates(joining *j, bf_diagnostic *diagnostic) {
  enum { MOST = 1024 };
  uint64_t granule = j->options.granule_bytes / j->geometry.word_bytes;
  granule = granule ? granule : 1;
  bf_joint *list = calloc(MOST, sizeof *list);
  unsigned count = 0;
  double limit = j->options.time_limit_seconds;
  bf_search_watch own = j->watch ? *j->watch : (bf_search_watch){.step = NULL};
  own.until = limit > 0 ? bf_seconds() + limit / 10 : 0;
  int error = list ? BF_OK : bf_no_memory(diagnostic);
  for (uint64_t row = 2 * granule; !error && row * j->geometry.word_bytes < j->extent.end_bytes;
       row *= 2)
    for (uint64_t pad = granule; !error && pad < 1u << j->geometry.bank_bits; pad += granule) {
      bf_joint how = {.row_words = row, .pad_words = pad};
      if (count == MOST || !fits(j, &how) || !bf_search_goes_on(&own, count, MOST))
        continue;
      error = count_padding(j, &how, diagnostic);
      list[count++] = how;
    }
  if (!error && count)
    qsort(list, count, sizeof *list, compare_paddings);
  add_bases(j, 0, 0);
  for (unsigned i = 0; !error && i < count && i + 1 < BF_JOINT_PADDINGS; i++)
    add_bases(j, list[i].row_words, list[i].pad_words);
  free(list);
  return error;
}

/* ---- Searching ---- */

/* Seconds that are left for searching: what counting the answer takes is kept back, a tenth of the
 * limit to a third. */
static double seconds_left(const joining *j) {
  const double seconds_an_access = 2e-7;
  double limit = j->options.time_limit_seconds;
  double counting = seconds_an_access * (double)bf_cases_size(j->cases);
  counting = counting < limit / 10 ? limit / 10 : counting > limit / 3 ? limit / 3 : counting;
  return j->started + limit - counting - bf_seconds();
}

/* The best hash of data that are moved so, in its share of the time that is left to so many. */
static int search(const joining *j, unsigned many, bf_joint *how, bf_diagnostic *diagnostic) {
  bf_solve_options options = j->options;
  bf_workload *moved;
  if (j->options.time_limit_seconds > 0) {
    options.time_limit_seconds = seconds_left(j) / many;
    if (options.time_limit_seconds < 1e-3)
      options.time_limit_seconds = 1e-3;
  }
  options.logger = (bf_logger){0};
  BF_TRY(move_some(j, how, j->step, &moved, diagnostic));
  int error = bf_solve_watched(j->machine, moved, &options, j->watch, &how->solution, diagnostic);
  how->solution.bytes_wasted += bytes_wasted(j, how); /* the hash may leave bytes unused, too */
  bf_workload_free(moved);
  return error;
}

static bool is_better(const bf_joint *a, const bf_joint *b) {
  if (a->solution.conflicts_after != b->solution.conflicts_after)
    return a->solution.conflicts_after < b->solution.conflicts_after;
  if (a->solution.bytes_wasted != b->solution.bytes_wasted)
    return a->solution.bytes_wasted < b->solution.bytes_wasted;
  return a->solution.cost.instructions < b->solution.cost.instructions;
}

/* Tries a candidate, which is one of so many that are left. */
static int try_one(joining *j, unsigned number, unsigned many, bf_joint *best,
                   bf_diagnostic *diagnostic) {
  bf_joint own = j->candidate[number];
  BF_TRY(search(j, many, &own, diagnostic));
  if (own.solution.lower_bound > j->lower[number])
    j->lower[number] = own.solution.lower_bound;
  if (!best->solution.hash || is_better(&own, best)) {
    bf_solution_clear(&best->solution);
    *best = own;
  } else {
    bf_solution_clear(&own.solution);
  }
  return BF_OK;
}

/* Whether there is time for one more, of which so many were tried. */
static bool goes_on(const joining *j, unsigned tried) {
  return (j->options.time_limit_seconds <= 0 || seconds_left(j) > 0) &&
         bf_search_goes_on(j->watch, tried, j->count);
}

static bool is_perfect(const bf_joint *best) {
  return best->solution.conflicts_after == 0 && best->solution.bytes_wasted == 0;
}

/* Candidates that may leave fewer conflicts than the best so far. */
static unsigned count_open(const joining *j, const bf_joint *best) {
  unsigned open = 0;
  for (unsigned i = 0; i < j->count; i++)
    open += j->lower[i] < best->solution.conflicts_after;
  return open;
}

/* Searches candidates that may be better again, while time is left: they share it. */
static int try_again(joining *j, bf_joint *best, bf_diagnostic *diagnostic) {
  for (unsigned open; j->options.time_limit_seconds > 0 && (open = count_open(j, best)) > 0;)
    for (unsigned i = 0; i < j->count; i++) {
      if (j->lower[i] >= best->solution.conflicts_after)
        continue;
      if (!goes_on(j, j->count))
        return BF_OK;
      BF_TRY(try_one(j, i, open, best, diagnostic));
      open -= open > 1;
    }
  return BF_OK;
}

/* Tries all candidates as long as there is time, the first one whatever the time. The bound is that
 * of all of them: 0 where one was left out. */
static int try_all(joining *j, bf_joint *best, bf_diagnostic *diagnostic) {
  unsigned tried = 0;
  for (; tried < j->count && !(tried && is_perfect(best)); tried++) {
    if (tried && !goes_on(j, tried))
      break;
    BF_TRY(try_one(j, tried, j->count - tried, best, diagnostic));
  }
  bool is_whole = tried == j->count;
  if (is_whole)
    BF_TRY(try_again(j, best, diagnostic));
  uint64_t lower = best->solution.conflicts_after;
  for (unsigned i = 0; i < j->count; i++)
    lower = j->lower[i] < lower ? j->lower[i] : lower;
  best->tried = tried;
  best->all = j->count;
  best->solution.lower_bound = lower;
  best->solution.proven = lower == best->solution.conflicts_after;
  return BF_OK;
}

/* Counts the answer again on all accesses that there is time for, where candidates were compared by
 * some. */
static int count_whole(const joining *j, bf_joint *best, bf_diagnostic *diagnostic) {
  double limit = j->options.time_limit_seconds, until = limit > 0 ? j->started + limit : 0;
  double half = until > 0 ? (bf_seconds() + until) / 2 : 0;
  bf_estimate before, after;
  BF_TRY(bf_cases_estimate(j->cases, NULL, NULL, half, &before, diagnostic));
  best->solution.conflicts_before = before.conflicts;
  if (j->watch && j->watch->share)
    *j->watch->share = before.share;
  if (j->step == 1)
    return BF_OK;
  BF_TRY(bf_cases_estimate(j->cases, best->solution.hash, best, until, &after, diagnostic));
  best->solution.conflicts_after = after.conflicts;
  best->solution.proven = after.conflicts == 0 && after.share == 1;
  if (j->watch && j->watch->share)
    *j->watch->share = after.share < before.share ? after.share : before.share;
  return BF_OK;
}

/* The same for accesses that were gathered. */
static int solve(const bf_machine *machine, const bf_gathered *all, const bf_solve_options *options,
                 double started, const bf_search_watch *watch, bf_joint *joint,
                 bf_diagnostic *diagnostic) {
  size_t accesses = bf_cases_size(&all->cases);
  joining *j = calloc(1, sizeof *j);
  if (!j)
    return bf_no_memory(diagnostic);
  *j = (joining){.machine = machine,
                 .cases = &all->cases,
                 .options = *options,
                 .watch = watch,
                 .geometry = bf_machine_geometry(machine),
                 .extent = all->extent,
                 .step = accesses > MOST_ACCESSES ? accesses / MOST_ACCESSES : 1,
                 .started = started};
  j->options.also_count = 0;
  if (!j->options.granule_bytes)
    j->options.granule_bytes = j->extent.widest_bytes > 4 ? j->extent.widest_bytes : 4;
  j->base_bytes = j->geometry.word_bytes > j->options.granule_bytes ? j->geometry.word_bytes
                                                                    : j->options.granule_bytes;
  int error = list_candidates(j, diagnostic);
  if (!error)
    error = try_all(j, joint, diagnostic);
  if (!error)
    error = count_whole(j, joint, diagnostic);
  joint->solution.seconds = bf_seconds() - j->started;
  free(j);
  return error;
}

int bf_solve_joint_watched(const bf_machine *machine, const bf_workload *workload,
                           const bf_solve_options *options, const bf_search_watch *watch,
                           bf_joint *joint, bf_diagnostic *diagnostic) {
  bf_gathered all;
  double started = bf_seconds();
  memset(joint, 0, sizeof *joint);
  if ((options->method != BF_METHOD_EXACT && options->method != BF_METHOD_MODULO) ||
      options->shared_file)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "padding and base go with modulo and an exact search that is not shared");
  BF_TRY(bf_cases_gather(machine, workload, options, &all, diagnostic));
  int error = solve(machine, &all, options, started, watch, joint, diagnostic);
  free(all.item);
  if (error)
    bf_joint_clear(joint);
  return error;
}

void bf_joint_clear(bf_joint *joint) {
  if (!joint)
    return;
  bf_solution_clear(&joint->solution);
  memset(joint, 0, sizeof *joint);
}
