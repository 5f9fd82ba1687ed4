/* bf_solve: builds the problem, calls the method, and judges its hash by bf_memory_count. */
#include "search/search.h"

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

static int run_method(const bf_machine *machine, const bf_workload *workload,
                      const bf_problem *problem, const bf_solve_options *options, bf_found *found,
                      bf_solution *solution, bf_diagnostic *diagnostic) {
  switch (options->method) {
  case BF_METHOD_BIT_VECTOR:
    return bf_search_bit_vector(problem, machine, workload, options->all_candidates, found,
                                diagnostic);
  case BF_METHOD_GIVARGIS:
    return bf_search_givargis(problem, options->pairs, false, found, diagnostic);
  case BF_METHOD_GIVARGIS_LITERAL:
    return bf_search_givargis(problem, options->pairs, true, found, diagnostic);
  case BF_METHOD_MIN_IMBALANCE:
    return bf_search_min_imbalance(problem, options->pairs, found, diagnostic);
  case BF_METHOD_PADDING:
    return bf_search_padding(machine, workload, options->threads, problem->watch, found,
                             &solution->bytes_wasted, diagnostic);
  case BF_METHOD_EXACT:
    return bf_search_exact(problem, options, found, diagnostic);
  }
  return bf_fail(diagnostic, BF_BAD_INPUT, "unknown method %d", (int)options->method);
}

/* Takes the hash whose bank bits are bits k, k+1, ... of the address, each XORed with the one that
 * many bank bits further up where is_xor, if it is better than what was found. */
static void try_shift(const bf_problem *problem, unsigned k, bool is_xor, bf_found *found) {
  uint64_t row[BF_HASH_MAX_BANK_BITS] = {0};
  const bf_geometry *geometry = &problem->geometry;
  for (unsigned i = 0; i < geometry->bank_bits; i++) {
    unsigned partner = k + i + geometry->bank_bits;
    row[i] = (uint64_t)1 << (k + i);
    if (is_xor && partner < geometry->address_bits)
      row[i] |= (uint64_t)1 << partner;
  }
  if (bf_problem_cost(problem, row) < bf_problem_cost(problem, found->row))
    memcpy(found->row, row, sizeof found->row);
}

/* Where the exact search ran out of time, the plainest hashes may be better than what it has. */
static void improve(const bf_problem *problem, bf_found *found) {
  const bf_geometry *geometry = &problem->geometry;
  for (unsigned k = 0; k + geometry->bank_bits <= geometry->address_bits; k++) {
    try_shift(problem, k, false, found);
    try_shift(problem, k, true, found);
  }
}

static int check_options(const bf_solve_options *options, bf_diagnostic *diagnostic) {
  if ((unsigned)options->class_ > BF_CLASS_TWO_TERM)
    return bf_fail(diagnostic, BF_BAD_INPUT, "unknown class %d", (int)options->class_);
  unsigned granule = options->granule_bytes;
  if (granule && granule != 4 && granule != 8 && granule != 16)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the granule is 4, 8 or 16 bytes, not %u", granule);
  return BF_OK;
}

/* Conflicts and bounds of what was found. The method's bound holds for conflicts where the model
 * never counts more than they are; no conflicts at all is always proven. */
static int judge(const bf_machine *machine, const bf_workload *workload, const bf_problem *problem,
                 const bf_found *found, bf_solution *solution, bf_diagnostic *diagnostic) {
  int error = bf_problem_conflicts(machine, workload, solution->hash, &solution->conflicts_after,
                                   diagnostic);
  if (error)
    return error;
  solution->lower_bound = problem->bound_valid ? found->lower_bound : 0;
  if (solution->lower_bound > solution->conflicts_after)
    return bf_fail(
        diagnostic, BF_UNSUPPORTED, "internal error: lower bound %llu above %llu conflicts",
        (unsigned long long)solution->lower_bound, (unsigned long long)solution->conflicts_after);
  solution->proven = solution->conflicts_after == 0 ||
                     (found->complete && solution->lower_bound == solution->conflicts_after);
  solution->candidates_tested = found->candidates_tested;
  solution->candidates_total = found->candidates_total;
  solution->chosen_count = found->chosen_count;
  memcpy(solution->chosen, found->chosen, sizeof solution->chosen);
  solution->cost = bf_hash_get_cost(solution->hash);
  return BF_OK;
}

/* The whole search, with options that are all known; the solution is cleared after an error. */
static int find(const bf_machine *machine, const bf_workload *workload,
                const bf_solve_options *options, const bf_search_watch *watch,
                bf_solution *solution, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_found found = {0};
  bf_problem problem;
  BF_TRY(check_options(options, diagnostic));
  BF_TRY(bf_problem_conflicts(machine, workload, NULL, &solution->conflicts_before, diagnostic));
  BF_TRY(bf_problem_build(machine, workload, options->granule_bytes, &problem, diagnostic));
  problem.watch = watch;
  int error = run_method(machine, workload, &problem, options, &found, solution, diagnostic);
  bool is_free = options->class_ == BF_CLASS_GENERAL && options->granule_bytes <= 4;
  if (!error && options->method == BF_METHOD_EXACT && is_free && !found.complete)
    improve(&problem, &found);
  if (!error)
    error = name_hash(&found, options, &geometry, &solution->hash, diagnostic);
  if (!error)
    error = judge(machine, workload, &problem, &found, solution, diagnostic);
  bf_problem_free(&problem);
  return error;
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

bool bf_search_goes_on(const bf_search_watch *watch, uint64_t done, uint64_t all) {
  return !watch || watch->tell(watch->context, watch->step, all ? (double)done / (double)all : 1);
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
