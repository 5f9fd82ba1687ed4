/* bf_solve: builds the problem, calls the method, and judges its hash by bf_memory_count. */
#include "search/search.h"

#include <stdlib.h>
#include <string.h>

/* Bits that may depend on each other. */
static int name_banks(const bf_found *found, const bf_geometry *geometry, bf_hash **hash,
                      bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_text_puts(&text, "bits:");
  for (unsigned i = 0; i < geometry->bank_bits; i++)
    for (uint64_t left = found->row[i]; left; left &= left - 1)
      bf_text_addf(&text, "%s%d",
                   left != found->row[i] ? "^"
                   : i                   ? ","
                                         : "",
                   __builtin_ctzll(left));
  int error = text.failed ? bf_no_memory(diagnostic)
                          : bf_hash_parse_banks(text.data, geometry, hash, diagnostic);
  bf_text_free(&text);
  return error;
}

/* The hash in the form people read best. */
static int name_hash(const bf_found *found, const bf_solve_options *options,
                     const bf_geometry *geometry, bf_hash **hash, bf_diagnostic *diagnostic) {
  if (found->text[0])
    return bf_hash_parse(found->text, geometry, hash, diagnostic);
  if (options->method == BF_METHOD_GIVARGIS_LITERAL)
    return name_banks(found, geometry, hash, diagnostic);
  bf_hash *rows;
  int error = bf_hash_from_rows(found->row, geometry, &rows, diagnostic);
  if (error)
    return error;
  bool heuristic = options->method != BF_METHOD_EXACT;
  bool cute = options->class_ == BF_CLASS_CUTE;
  const char *const forms[] = {"none", cute ? "cute" : "perm", heuristic ? "bits" : "xor", "bits"};
  bf_text text = {0};
  error = BF_UNSUPPORTED;
  for (size_t i = 0; i < sizeof forms / sizeof *forms && error == BF_UNSUPPORTED; i++) {
    if (heuristic && i < 2)
      continue;
    error = bf_hash_convert(rows, forms[i], &text, diagnostic);
  }
  if (!error)
    error = text.failed ? bf_no_memory(diagnostic)
                        : bf_hash_parse(text.data, geometry, hash, diagnostic);
  bf_text_free(&text);
  bf_hash_free(rows);
  return error;
}

static int run_heuristic(const bf_problem *problem, const bf_solve_options *options,
                         bf_found *found, bf_diagnostic *diagnostic) {
  return options->method == BF_METHOD_MIN_IMBALANCE
             ? bf_search_min_imbalance(problem, options->pairs, found, diagnostic)
             : bf_search_givargis(problem, options->pairs,
                                  options->method == BF_METHOD_GIVARGIS_LITERAL, found, diagnostic);
}

/* A heuristic on at most that many shapes. Few are not timed, so that there is an answer. */
static int run_heuristic_on(const bf_problem *problem, size_t most, const bf_solve_options *options,
                            bool is_timed, bf_found *found, bf_diagnostic *diagnostic) {
  bf_problem few;
  BF_TRY(bf_problem_thin(problem, most, &few, diagnostic));
  few.watch = is_timed ? problem->watch : NULL;
  int error = run_heuristic(&few, options, found, diagnostic);
  free(few.shape);
  return error;
}

/* A heuristic on all shapes or, where its time does not suffice, on fewer: 16, 128, all. */
static int run_heuristic_in_time(const bf_problem *problem, const bf_solve_options *options,
                                 bf_found *found, bf_diagnostic *diagnostic) {
  static const size_t stages[] = {16, 128, SIZE_MAX};
  const bf_found empty = *found;
  if (!problem->watch)
    return run_heuristic(problem, options, found, diagnostic);
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    bf_found own = empty;
    int error = run_heuristic_on(problem, stages[i], options, i > 0, &own, diagnostic);
    if (error)
      return i > 0 && error == BF_UNSUPPORTED ? BF_OK : error;
    *found = own;
    if (problem->count <= stages[i])
      break;
  }
  return BF_OK;
}

static int run_method(const bf_prepared *prepared, const bf_solve_options *options, bf_found *found,
                      bf_solution *solution, bf_diagnostic *diagnostic) {
  const bf_problem *problem = &prepared->problem;
  switch (options->method) {
  case BF_METHOD_BIT_VECTOR:
    return bf_search_bit_vector(problem, &prepared->cases, options->all_candidates, found,
                                diagnostic);
  case BF_METHOD_GIVARGIS:
  case BF_METHOD_GIVARGIS_LITERAL:
  case BF_METHOD_MIN_IMBALANCE:
    return run_heuristic_in_time(problem, options, found, diagnostic);
  case BF_METHOD_PADDING:
  case BF_METHOD_MODULO:
    return bf_search_padding(&prepared->cases, options, prepared->conflicts_before, problem->watch,
                             found, &solution->bytes_wasted, diagnostic);
  case BF_METHOD_EXACT:
    return bf_search_exact(problem, options, found, diagnostic);
  }
  return bf_fail(diagnostic, BF_BAD_INPUT, "unknown method %d", (int)options->method);
}

static int check_options(const bf_solve_options *options, bf_diagnostic *diagnostic) {
  if ((unsigned)options->class_ > BF_CLASS_TMA)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown class %d", (int)options->class_);
  unsigned granule = options->granule_bytes;
  if (granule && granule != 4 && granule != 8 && granule != 16)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the granule is 4, 8 or 16 bytes, not %u", granule);
  if (options->has_most_gates &&
      (options->method != BF_METHOD_EXACT || options->class_ != BF_CLASS_GENERAL))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a limit of gates goes with the exact search of all hashes");
  if (options->shared_file &&
      (options->method != BF_METHOD_EXACT || options->has_most_gates ||
       (options->class_ != BF_CLASS_GENERAL && options->class_ != BF_CLASS_ROW)))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "a shared file goes with the exact search of all hashes, or of those that keep "
                   "rows");
  return BF_OK;
}

/* A hash is for one geometry. */
static int check_cases(const bf_cases *cases, bf_diagnostic *diagnostic) {
  bf_geometry first = bf_machine_geometry(cases->item[0].machine);
  for (size_t i = 1; i < cases->count; i++) {
    bf_geometry g = bf_machine_geometry(cases->item[i].machine);
    if (g.bank_bits != first.bank_bits || g.word_bytes != first.word_bytes ||
        g.address_bits != first.address_bits)
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "%s and %s differ in banks, bytes of a word or address bits: no hash is for "
                     "both",
                     bf_machine_name(cases->item[0].machine),
                     bf_machine_name(cases->item[i].machine));
  }
  return BF_OK;
}

int bf_search_list(const bf_machine *machine, const bf_workload *workload,
                   const bf_solve_options *options, bf_prepared *prepared,
                   bf_diagnostic *diagnostic) {
  size_t count = options->also_count + 1;
  *prepared = (bf_prepared){.started = bf_seconds()};
  prepared->item = calloc(count, sizeof *prepared->item);
  if (!prepared->item)
    return bf_no_memory(diagnostic);
  prepared->item[0] = (bf_solve_case){machine, workload};
  for (size_t i = 1; i < count; i++)
    prepared->item[i] = options->also[i - 1];
  prepared->cases = (bf_cases){prepared->item, count};
  int error = check_cases(&prepared->cases, diagnostic);
  if (error)
    bf_search_prepared_free(prepared);
  return error;
}

/* Counts under a hash, all accesses or as many as there is time for. */
static int count(bf_prepared *prepared, const bf_hash *hash, double until, bf_estimate *estimate,
                 bf_diagnostic *diagnostic) {
  BF_TRY(bf_cases_estimate(&prepared->cases, hash, NULL, until, estimate, diagnostic));
  prepared->share = estimate->share < prepared->share ? estimate->share : prepared->share;
  return BF_OK;
}

/* Conflicts and bounds of what was found. The method's bound holds for conflicts where the model
 * never counts more than they are; no conflicts at all is always proven. */
static int judge(bf_prepared *prepared, const bf_found *found, bool is_padding,
                 bf_solution *solution, bf_diagnostic *diagnostic) {
  const bf_problem *problem = &prepared->problem;
  bf_estimate estimate;
  solution->conflicts_before = prepared->conflicts_before;
  BF_TRY(count(prepared, solution->hash, prepared->judge_until, &estimate, diagnostic));
  solution->conflicts_after = estimate.conflicts;
  if (problem->bound_valid) {
    bool is_xor = solution->hash->kind == BF_HASH_LINEAR && !is_padding;
    uint64_t least = is_xor ? problem->least : 0;
    solution->lower_bound = found->lower_bound > least ? found->lower_bound : least;
  }
  if (estimate.share < 1 && solution->conflicts_after < solution->lower_bound)
    solution->conflicts_after = solution->lower_bound;
  if (solution->lower_bound > solution->conflicts_after)
    return bf_fail(
        diagnostic, BF_UNSUPPORTED, "internal error: lower bound %llu above %llu conflicts",
        (unsigned long long)solution->lower_bound, (unsigned long long)solution->conflicts_after);
  solution->proven = estimate.share == 1 &&
                     (solution->conflicts_after == 0 ||
                      (found->complete && solution->lower_bound == solution->conflicts_after));
  solution->candidates_tested = found->candidates_tested;
  solution->candidates_total = found->candidates_total;
  solution->chosen_count = found->chosen_count;
  memcpy(solution->chosen, found->chosen, sizeof solution->chosen);
  solution->cost = bf_hash_get_cost(solution->hash);
  return BF_OK;
}

/* Accesses that a search with a time limit looks at: what takes a tenth of a second for each. */
static size_t most_accesses(double limit_seconds) {
  double most = 16384 * limit_seconds;
  if (limit_seconds <= 0)
    return SIZE_MAX;
  return most < 1024 ? 1024 : most > 131072 ? 131072 : (size_t)most;
}

/* When, of a limit, that share is over; 0: never. */
static double share_of_limit(const bf_prepared *prepared, double share) {
  return prepared->limit_seconds > 0 ? prepared->started + share * prepared->limit_seconds : 0;
}

int bf_search_prepare(const bf_solve_options *options, const bf_search_watch *watch,
                      bf_prepared *prepared, bf_diagnostic *diagnostic) {
  double started = bf_seconds();
  bf_estimate estimate;
  bf_search_watch own = watch ? *watch : (bf_search_watch){.step = NULL};
  prepared->limit_seconds = options->time_limit_seconds;
  prepared->share = 1;
  int error = check_options(options, diagnostic);
  if (!error)
    error = count(prepared, NULL, share_of_limit(prepared, 0.25), &estimate, diagnostic);
  if (!error) {
    prepared->conflicts_before = estimate.conflicts;
    prepared->wavefronts_before = estimate.wavefronts;
    prepared->count_seconds = bf_seconds() - started;
    own.step = "accesses";
    own.until = prepared->limit_seconds > 0 ? bf_seconds() + 0.1 * prepared->limit_seconds : 0;
    error = bf_problem_sample(&prepared->cases, options->granule_bytes,
                              most_accesses(options->time_limit_seconds), &own, &prepared->problem,
                              diagnostic);
  }
  if (error)
    bf_search_prepared_free(prepared);
  return error;
}

void bf_search_prepared_free(bf_prepared *prepared) {
  bf_problem_free(&prepared->problem);
  free(prepared->item);
  prepared->item = NULL;
}

int bf_search_run(bf_prepared *prepared, const bf_solve_options *options,
                  const bf_search_watch *watch, bf_solution *solution, bf_diagnostic *diagnostic) {
  bf_geometry geometry = prepared->problem.geometry;
  bf_found found = {0};
  BF_TRY(check_options(options, diagnostic));
  prepared->problem.watch = watch;
  int error = run_method(prepared, options, &found, solution, diagnostic);
  if (!error)
    error = name_hash(&found, options, &geometry, &solution->hash, diagnostic);
  if (!error)
    error = judge(prepared, &found, options->method == BF_METHOD_PADDING, solution, diagnostic);
  prepared->problem.watch = NULL;
  return error;
}

void bf_search_tell_share(const bf_prepared *prepared, const bf_solve_options *options,
                          const bf_search_watch *watch) {
  if (watch && watch->share)
    *watch->share = prepared->share;
  if (prepared->share < 1)
    bf_say(&options->logger, BF_LOG_WARNING,
           "the time limit is too short to count all accesses: conflicts are estimated from %.1f%% "
           "of them",
           100 * prepared->share);
}

/* What the solution does not show by itself. */
static void remark(const bf_solve_options *options, const bf_solution *solution) {
  if (options->method == BF_METHOD_EXACT && !solution->proven)
    bf_say(&options->logger, BF_LOG_WARNING,
           "the exact search ended without proof after %.1f seconds: %llu conflicts are left, and "
           "at least %llu must be",
           solution->seconds, (unsigned long long)solution->conflicts_after,
           (unsigned long long)solution->lower_bound);
}

enum { MOST_THREADS = 1024 };

bool bf_search_is_late(const bf_search_watch *watch) {
  return watch && watch->until > 0 && bf_seconds() >= watch->until;
}

bool bf_search_goes_on(const bf_search_watch *watch, uint64_t done, uint64_t all) {
  if (bf_search_is_late(watch))
    return false;
  return !watch || !watch->tell ||
         watch->tell(watch->context, watch->step, all ? (double)done / (double)all : 1);
}

/* The whole search; the time that judging takes is kept back, a third of the limit at most. */
static int find(const bf_machine *machine, const bf_workload *workload,
                const bf_solve_options *options, const bf_search_watch *watch,
                bf_solution *solution, bf_diagnostic *diagnostic) {
  bf_prepared prepared;
  bf_search_watch own = watch ? *watch : (bf_search_watch){.step = NULL};
  BF_TRY(bf_search_list(machine, workload, options, &prepared, diagnostic));
  BF_TRY(bf_search_prepare(options, watch, &prepared, diagnostic));
  if (options->time_limit_seconds > 0) {
    double judging = 1.5 * prepared.count_seconds, most = options->time_limit_seconds / 3;
    prepared.judge_until = share_of_limit(&prepared, 0.97);
    own.until = share_of_limit(&prepared, 0.97) - (judging < most ? judging : most);
  }
  int error = bf_search_run(&prepared, options, &own, solution, diagnostic);
  if (!error)
    bf_search_tell_share(&prepared, options, watch);
  bf_search_prepared_free(&prepared);
  return error;
}

int bf_solve_watched(const bf_machine *machine, const bf_workload *workload,
                     const bf_solve_options *given, const bf_search_watch *watch,
                     bf_solution *solution, bf_diagnostic *diagnostic) {
  double started = bf_seconds();
  bf_solve_options options;
  memset(solution, 0, sizeof *solution);
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_solve_options", diagnostic));
  if (options.threads > MOST_THREADS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%u threads: at most %d are possible", options.threads,
                   MOST_THREADS);
  int error = find(machine, workload, &options, watch, solution, diagnostic);
  solution->seconds = bf_seconds() - started;
  if (error)
    bf_solution_clear(solution);
  else
    remark(&options, solution);
  return error;
}

int bf_solve(const bf_machine *machine, const bf_workload *workload, const bf_solve_options *given,
             bf_solution *solution, bf_diagnostic *diagnostic) {
  return bf_solve_watched(machine, workload, given, NULL, solution, diagnostic);
}

void bf_solution_clear(bf_solution *solution) {
  if (!solution)
    return;
  bf_hash_free(solution->hash);
  memset(solution, 0, sizeof *solution);
}
