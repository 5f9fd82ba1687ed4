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
  bool is_gates; /* a limit of gates: one step for each below those of the best hash */
} plan;

static const plan ladder_plans[] = {
    {"padding", BF_METHOD_PADDING, BF_CLASS_GENERAL, 0.12, false},
    {"cute", BF_METHOD_EXACT, BF_CLASS_CUTE, 0.08, false},
    {"bit-vector", BF_METHOD_BIT_VECTOR, BF_CLASS_GENERAL, 0.12, false},
    {"bitwise", BF_METHOD_MIN_IMBALANCE, BF_CLASS_GENERAL, 0.16, false},
    {"exact", BF_METHOD_EXACT, BF_CLASS_GENERAL, 1, false},
};

static const plan front_plans[] = {
    {"padding", BF_METHOD_PADDING, BF_CLASS_GENERAL, 0.1, false},
    {"cute", BF_METHOD_EXACT, BF_CLASS_CUTE, 0.05, false},
    {"one-term", BF_METHOD_EXACT, BF_CLASS_ONE_TERM, 0.05, false},
    {"bit-vector", BF_METHOD_BIT_VECTOR, BF_CLASS_GENERAL, 0.1, false},
    {"two-term", BF_METHOD_EXACT, BF_CLASS_TWO_TERM, 0.1, false},
    {"exact", BF_METHOD_EXACT, BF_CLASS_GENERAL, 0.3, false},
    {"gates", BF_METHOD_EXACT, BF_CLASS_GENERAL, 1, true},
};

/* Steps of gates that a front has room for. */
enum { MOST_GATES = 16 };

typedef struct climbing {
  bf_prepared *prepared;
  const bf_solve_options *options;
  const bf_search_watch *watch;
  bf_ladder *ladder;
  const plan *plans;
  size_t count;
} climbing;

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

/* Wavefronts saved less what the step costs, in wavefronts. */
static double worth(const bf_ladder *ladder, const bf_ladder_step *step, uint64_t bytes_used) {
  double saved = (double)ladder->conflicts_before - (double)step->conflicts;
  double each = ladder->instruction_wavefronts;
  each = each < 0 ? 0 : each > 0 ? each : BF_INSTRUCTION_WAVEFRONTS;
  double instructions = each * step->instructions * (double)ladder->accesses;
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

/* ---- Climbing ---- */

/* What judging a step may take. */
static double judge_seconds(const climbing *c) {
  double whole = c->prepared->count_seconds, most = 0.08 * c->options->time_limit_seconds;
  return whole < most ? whole : most;
}

/* Whether a step can still be judged in time. The exact search is never left out: it has an answer
 * at once, and the best. */
static bool has_time(const climbing *c, const plan *p) {
  const bf_prepared *prepared = c->prepared;
  double limit = c->options->time_limit_seconds;
  bool is_exact = p->method == BF_METHOD_EXACT && p->class_ == BF_CLASS_GENERAL && !p->is_gates;
  double judging = (is_exact || p->is_gates ? 1.2 : 2.4) * judge_seconds(c);
  return limit <= 0 || is_exact || bf_seconds() + judging < prepared->started + limit;
}

/* The same watch with a step named as it stands in the ladder, "padding, step 1 of 5", and with its
 * share of the time: each step ends such that those after it can be judged too. */
static bf_search_watch watch_step(const climbing *c, size_t i, char name[64]) {
  bf_prepared *prepared = c->prepared;
  double limit_seconds = c->options->time_limit_seconds;
  bf_search_watch own = c->watch ? *c->watch : (bf_search_watch){.step = NULL};
  snprintf(name, 64, "%s, step %zu of %zu", c->plans[i].name, i + 1, c->count);
  own.step = name;
  if (limit_seconds > 0) {
    double judging = judge_seconds(c), all = prepared->started + 0.97 * limit_seconds;
    double end = all - 1.5 * judging * (double)(c->count - i + 1), last = all - 1.2 * judging;
    double share = bf_seconds() + c->plans[i].share * limit_seconds;
    end = i + 1 == c->count ? last : end;
    own.until = share < end ? share : end;
    bool is_whole = prepared->share == 1 && judging == prepared->count_seconds;
    prepared->judge_until = is_whole || own.until + judging > all ? all : own.until + judging;
  }
  return own;
}

/* Adds one step, where it can be had. */
static int take_step(const climbing *c, size_t i, const bf_solve_options *options,
                     bf_diagnostic *diagnostic) {
  bf_solution solution;
  bf_diagnostic fault;
  char name[64];
  const plan *p = &c->plans[i];
  if (!has_time(c, p) || c->ladder->count == BF_LADDER_STEPS) {
    bf_say(&options->logger, BF_LOG_REMARK, "step %s is left out: there is no time for it",
           p->name);
    return BF_OK;
  }
  bf_search_watch own = watch_step(c, i, name);
  int error = solve_step(c->prepared, options, p, &own, &solution, &fault);
  if (error == BF_UNSUPPORTED) {
    bf_say(&options->logger, BF_LOG_REMARK, "step %s is left out: %s", p->name, fault.message);
    return BF_OK;
  }
  if (error && diagnostic)
    *diagnostic = fault;
  BF_TRY(error);
  add_step(c->ladder, p->name, &solution);
  if (!p->is_gates)
    c->ladder->lower_bound = solution.lower_bound;
  bf_solution_clear(&solution);
  return BF_OK;
}

/* The best of 0, 1, 2, ... gates, until the best of all needs no more. */
static int take_gates(const climbing *c, size_t i, bf_diagnostic *diagnostic) {
  bf_ladder *ladder = c->ladder;
  const bf_ladder_step best = ladder->step[ladder->count - 1];
  bf_solve_options options = *c->options;
  options.has_most_gates = true;
  for (unsigned gates = 0; gates < best.gates && gates < MOST_GATES; gates++) {
    unsigned before = ladder->count;
    char name[64];
    bf_search_watch own = watch_step(c, i, name);
    if (!bf_search_goes_on(&own, gates, MOST_GATES))
      break;
    options.most_gates = gates;
    BF_TRY(take_step(c, i, &options, diagnostic));
    if (ladder->count == before || ladder->step[before].conflicts <= best.conflicts)
      break;
  }
  return BF_OK;
}

/* Runs the steps on a workload that is ready; steps that cannot be had are left out. */
static int climb(const climbing *c, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < c->count; i++)
    BF_TRY(c->plans[i].is_gates ? take_gates(c, i, diagnostic)
                                : take_step(c, i, c->options, diagnostic));
  return BF_OK;
}

int bf_solve_ladder_watched(const bf_machine *machine, const bf_workload *workload,
                            const bf_solve_options *options, const bf_search_watch *watch,
                            bf_ladder *ladder, bf_diagnostic *diagnostic) {
  double started = bf_seconds();
  bf_prepared prepared;
  memset(ladder, 0, sizeof *ladder);
  bf_solve_options kept = *options;
  kept.struct_bytes = sizeof kept;
  if (options->has_most_gates || options->shared_file)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a %s goes with one search, not the ladder",
                   options->has_most_gates ? "limit of gates" : "shared file");
  BF_TRY(bf_search_list(machine, workload, options, &prepared, diagnostic));
  prepared.started = started;
  bf_extent extent = bf_cases_extent(&prepared.cases);
  ladder->accesses = extent.executions;
  ladder->granule_bytes = extent.widest_bytes;
  if (options->granule_bytes)
    ladder->granule_bytes = options->granule_bytes;
  else if (ladder->granule_bytes < 4)
    ladder->granule_bytes = 4;
  kept.granule_bytes = ladder->granule_bytes;
  BF_TRY(bf_search_prepare(&kept, watch, &prepared, diagnostic));
  ladder->instruction_wavefronts = options->instruction_wavefronts;
  ladder->conflicts_before = prepared.conflicts_before;
  ladder->wavefronts_before = prepared.wavefronts_before;
  ladder->step[ladder->count++] = (bf_ladder_step){.name = "nothing",
                                                   .hash = "none",
                                                   .conflicts = ladder->conflicts_before,
                                                   .proven = ladder->conflicts_before == 0};
  climbing c = {.prepared = &prepared, .options = &kept, .watch = watch, .ladder = ladder};
  c.plans = options->front ? front_plans : ladder_plans;
  c.count = options->front ? sizeof front_plans / sizeof *front_plans
                           : sizeof ladder_plans / sizeof *ladder_plans;
  int error = climb(&c, diagnostic);
  if (!error)
    bf_search_tell_share(&prepared, options, watch);
  bf_search_prepared_free(&prepared);
  BF_TRY(error);
  if (options->front)
    bf_ladder_keep_front(ladder);
  bf_ladder_recommend(ladder, extent.end_bytes);
  ladder->seconds = bf_seconds() - started;
  return BF_OK;
}

int bf_solve_ladder(const bf_machine *machine, const bf_workload *workload,
                    const bf_solve_options *options, bf_ladder *ladder, bf_diagnostic *diagnostic) {
  return bf_solve_ladder_watched(machine, workload, options, NULL, ladder, diagnostic);
}

/* ---- The front ---- */

/* Whether a is at least as good as b in everything; of two that are the same, the earlier. */
static bool beats(const bf_ladder_step *a, const bf_ladder_step *b, bool is_earlier) {
  bool is_same = a->conflicts == b->conflicts && a->bytes_wasted == b->bytes_wasted &&
                 a->instructions == b->instructions && a->gates == b->gates;
  return a->conflicts <= b->conflicts && a->bytes_wasted <= b->bytes_wasted &&
         a->instructions <= b->instructions && a->gates <= b->gates && (!is_same || is_earlier);
}

void bf_ladder_keep_front(bf_ladder *ladder) {
  bool is_beaten[BF_LADDER_STEPS] = {false};
  unsigned kept = 0;
  for (unsigned i = 1; i < ladder->count; i++)
    for (unsigned j = 0; j < ladder->count && !is_beaten[i]; j++)
      is_beaten[i] = i != j && beats(&ladder->step[j], &ladder->step[i], j < i);
  for (unsigned i = 0; i < ladder->count; i++) {
    bf_ladder_step own = ladder->step[i];
    unsigned at = kept;
    if (is_beaten[i])
      continue;
    for (; at > 1 && ladder->step[at - 1].conflicts < own.conflicts; at--)
      ladder->step[at] = ladder->step[at - 1];
    ladder->step[at] = own;
    kept++;
  }
  ladder->count = kept;
}
