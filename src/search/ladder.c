/* Runs the ladder and recommends a step.
 *
 * A step is worth what it saves less what it costs, in wavefronts: instructions cost
 * BF_INSTRUCTION_WAVEFRONTS each per access, wasted bytes cost their share of the memory in use
 * (less fits beside it). The step worth most wins; the earlier one among equals; nothing if none is
 * worth anything. */
#include "search/ladder.h"

#include <stdio.h>
#include <string.h>

typedef struct plan {
  const char *name;
  bf_method method;
  bf_class class_;
  double share; /* of the time limit that the step may take; what it leaves is for those after it */
} plan;

static const plan plans[] = {
    {"padding", BF_METHOD_PADDING, BF_CLASS_GENERAL, 0.12},
    {"cute", BF_METHOD_EXACT, BF_CLASS_CUTE, 0.08},
    {"bit-vector", BF_METHOD_BIT_VECTOR, BF_CLASS_GENERAL, 0.12},
    {"bitwise", BF_METHOD_MIN_IMBALANCE, BF_CLASS_GENERAL, 0.16},
    {"exact", BF_METHOD_EXACT, BF_CLASS_GENERAL, 1},
};

static void add_step(bf_ladder *ladder, const char *name, const bf_solution *solution) {
  bf_ladder_step *step = &ladder->step[ladder->count++];
  step->name = name;
  snprintf(step->hash, sizeof step->hash, "%s", bf_hash_text(solution->hash));
  step->conflicts = solution->conflicts_after;
  step->bytes_wasted = solution->bytes_wasted;
  step->instructions = solution->cost.instructions;
  step->gates = solution->cost.gates;
  step->gate_delays = solution->cost.gate_depth;
  step->proven = solution->proven;
}

/* Bitwise hashes are found by two heuristics; the step is the better of them. */
static int solve_step(bf_prepared *prepared, const bf_solve_options *base, const plan *p,
                      const bf_search_watch *watch, bf_solution *solution,
                      bf_diagnostic *diagnostic) {
  bf_solve_options options = *base;
  options.method = p->method;
  options.class_ = p->class_;
  options.pairs = true;
  memset(solution, 0, sizeof *solution);
  int error = bf_search_run(prepared, &options, watch, solution, diagnostic);
  if (!error && p->method == BF_METHOD_MIN_IMBALANCE) {
    bf_solution other = {0};
    options.method = BF_METHOD_GIVARGIS;
    error = bf_search_run(prepared, &options, watch, &other, diagnostic);
    bf_solution swap = other;
    if (!error && other.conflicts_after < solution->conflicts_after) {
      other = *solution;
      *solution = swap;
    }
    bf_solution_clear(&other);
  }
  if (error)
    bf_solution_clear(solution);
  return error;
}

static int count_before(const bf_machine *machine, const bf_workload *workload, bf_ladder *ladder,
                        uint64_t *bytes_used, bf_diagnostic *diagnostic) {
  bf_counter *counter;
  int error = bf_counter_create(machine, NULL, &counter, diagnostic);
  for (size_t i = 0; i < bf_workload_size(workload) && !error; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count = {0};
    error = bf_counter_count(counter, access, &count, diagnostic);
    uint64_t wavefronts = bf_count_wavefronts(&count);
    ladder->accesses += access->count;
    ladder->conflicts_before += access->count * count.conflicts;
    ladder->wavefronts_before += access->count * wavefronts;
    if (access->width_bytes > ladder->granule_bytes)
      ladder->granule_bytes = access->width_bytes;
    for (uint64_t left = access->mask; left; left &= left - 1) {
      uint64_t end = (uint64_t)access->address[__builtin_ctzll(left)] + access->width_bytes;
      *bytes_used = end > *bytes_used ? end : *bytes_used;
    }
  }
  bf_counter_free(counter);
  return error;
}

/* Wavefronts saved less what the step costs, in wavefronts. */
static double worth(const bf_ladder *ladder, const bf_ladder_step *step, uint64_t bytes_used) {
  double saved = (double)ladder->conflicts_before - (double)step->conflicts;
  double instructions = BF_INSTRUCTION_WAVEFRONTS * step->instructions * (double)ladder->accesses;
  double ideal = (double)(ladder->wavefronts_before - ladder->conflicts_before);
  double wasted = ideal * (double)step->bytes_wasted / (double)(bytes_used ? bytes_used : 1);
  return saved - instructions - wasted;
}

void bf_ladder_recommend(bf_ladder *ladder, uint64_t bytes_used) {
  double most = 0;
  ladder->recommended = 0;
  uint64_t fewest = ladder->conflicts_before;
  for (unsigned i = 1; i < ladder->count; i++) {
    double own = worth(ladder, &ladder->step[i], bytes_used);
    if (own > most) {
      most = own;
      ladder->recommended = i;
    }
    fewest = ladder->step[i].conflicts < fewest ? ladder->step[i].conflicts : fewest;
  }
  const bf_ladder_step *step = &ladder->step[ladder->recommended];
  char *reason = ladder->reason;
  size_t size = sizeof ladder->reason;
  if (ladder->conflicts_before == 0)
    snprintf(reason, size, "there are no conflicts to remove");
  else if (ladder->recommended == 0 && fewest == ladder->conflicts_before)
    snprintf(reason, size, "no step removes any of the %llu conflicts",
             (unsigned long long)ladder->conflicts_before);
  else if (ladder->recommended == 0)
    snprintf(reason, size,
             "the best step saves %llu of %llu wavefronts, less than its instructions or unused "
             "bytes cost",
             (unsigned long long)(ladder->conflicts_before - fewest),
             (unsigned long long)ladder->wavefronts_before);
  else
    snprintf(reason, size,
             "it leaves %llu of %llu conflicts for %u instruction%s per access and %llu unused "
             "bytes: the best trade of the ladder",
             (unsigned long long)step->conflicts, (unsigned long long)ladder->conflicts_before,
             step->instructions, step->instructions == 1 ? "" : "s",
             (unsigned long long)step->bytes_wasted);
}

/* The same watch with a step named as it stands in the ladder, "padding, step 1 of 5", and with its
 * share of the time: each step ends such that those after it can be judged too. */
static bf_search_watch watch_step(const bf_search_watch *watch, const bf_prepared *prepared,
                                  double limit_seconds, size_t i, char name[64]) {
  bf_search_watch own = watch ? *watch : (bf_search_watch){.step = NULL};
  size_t steps = sizeof plans / sizeof *plans;
  snprintf(name, 64, "%s, step %zu of %zu", plans[i].name, i + 1, steps);
  own.step = name;
  if (limit_seconds > 0) {
    double end =
        prepared->started + limit_seconds - 1.5 * prepared->count_seconds * (double)(steps - i + 1);
    double share = bf_seconds() + plans[i].share * limit_seconds;
    own.until = share < end ? share : end;
  }
  return own;
}

/* Runs the steps on a workload that is ready; steps that cannot be had are left out. */
static int climb(bf_prepared *prepared, const bf_solve_options *options,
                 const bf_search_watch *watch, bf_ladder *ladder, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    bf_solution solution;
    bf_diagnostic fault;
    char name[64];
    bf_search_watch own = watch_step(watch, prepared, options->time_limit_seconds, i, name);
    int error = solve_step(prepared, options, &plans[i], &own, &solution, &fault);
    if (error == BF_UNSUPPORTED) {
      bf_say(&options->logger, BF_LOG_REMARK, "step %s is left out: %s", plans[i].name,
             fault.message);
      continue;
    }
    if (error && diagnostic)
      *diagnostic = fault;
    BF_TRY(error);
    add_step(ladder, plans[i].name, &solution);
    ladder->lower_bound = solution.lower_bound;
    bf_solution_clear(&solution);
  }
  return BF_OK;
}

int bf_solve_ladder_watched(const bf_machine *machine, const bf_workload *workload,
                            const bf_solve_options *options, const bf_search_watch *watch,
                            bf_ladder *ladder, bf_diagnostic *diagnostic) {
  double started = bf_seconds();
  uint64_t bytes_used = 0;
  bf_prepared prepared;
  memset(ladder, 0, sizeof *ladder);
  BF_TRY(count_before(machine, workload, ladder, &bytes_used, diagnostic));
  bf_solve_options kept = *options;
  kept.struct_bytes = sizeof kept;
  if (options->granule_bytes)
    ladder->granule_bytes = options->granule_bytes;
  else if (ladder->granule_bytes < 4)
    ladder->granule_bytes = 4;
  kept.granule_bytes = ladder->granule_bytes;
  BF_TRY(bf_search_prepare(machine, workload, &kept, &prepared, diagnostic));
  prepared.started = started;
  ladder->step[ladder->count++] = (bf_ladder_step){.name = "nothing",
                                                   .hash = "none",
                                                   .conflicts = ladder->conflicts_before,
                                                   .proven = ladder->conflicts_before == 0};
  int error = climb(&prepared, &kept, watch, ladder, diagnostic);
  bf_search_prepared_free(&prepared);
  BF_TRY(error);
  bf_ladder_recommend(ladder, bytes_used);
  ladder->seconds = bf_seconds() - started;
  return BF_OK;
}

int bf_solve_ladder(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_ladder *ladder, bf_diagnostic *diagnostic) {
  return bf_solve_ladder_watched(machine, workload, options, NULL, ladder, diagnostic);
}
