/* Hashes for the kernels of a module from its PTX alone.
 *
 * Most kernels have no conflicts, which the analysis of one shape of blocks shows; for those that
 * have, hashes are proposed from the accesses of all shapes that are likely, the module is
 * rewritten with one candidate of each kernel after the other, and the judge takes what is
 * predicted to be worth it for every shape. What must be worth it for every shape must be so for
 * the first one: kernels with many shapes are glanced at in that one alone, and left alone where
 * nothing that is proposed from its accesses is worth it. */
#include "analyze/given.h"
#include "analyze/likely.h"
#include "tune/forecast.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shapes of blocks ---- */

/* One more where launches decide: it is not so usual that a hash must win in it. */
static const uint32_t small_tile[3] = {32, 2, 1};

/* That of the launch where it is known, else those that are likely, and whether these are a guess.
 */
static bool find_shapes(const bf_ptx_function *kernel, const bf_predict_launch *launch,
                        bf_likely *list) {
  if (!launch || !launch->block[0])
    return bf_likely_find(kernel, list);
  list->count = 1;
  memcpy(list->block[0], launch->block, sizeof list->block[0]);
  return false;
}

/* ---- Kernels ---- */

/* Values of parameters that are assumed and show conflicts: no more are looked for. */
enum { MOST_ASSUMED = 5 };

/* A kernel that may get a hash. */
typedef struct subject {
  bf_plan *plan;
  bf_work_version original;
  /* Of the shapes that it can have, and of values that parameters may have: */
  bf_forecast forecast[BF_MOST_LIKELY + MOST_ASSUMED];
  unsigned forecasts;
  bool is_assumed;  /* it was looked at with values of its parameters */
  bool is_doubtful; /* addresses depend on what the analysis does not know, in some shape */
  bool is_compared; /* with its candidate of the last run: */
  bf_comparison comparison;
} subject;

typedef struct choosing {
  bf_plans *plans;
  const bf_predict_options *options;
  bf_work_counters counters;
  subject *subject;
  unsigned subjects;
  bool is_glance; /* kernels with several shapes are looked at in the first that they can have */
  bool *is_dismissed; /* per plan: a glance was enough; NULL: there was none */
} choosing;

static void free_subject(subject *s) {
  for (unsigned i = 0; i < s->forecasts; i++)
    bf_forecast_free(&s->forecast[i]);
  bf_work_version_free(&s->original);
}

/* A hash cannot gain much where fewer of the wavefronts are conflicts. */
static const double least_conflicts = 0.03;

static void give_reason(bf_plan *plan, const char *reason) {
  snprintf(plan->reason, sizeof plan->reason, "%.*s", (int)sizeof plan->reason - 1, reason);
}

static void name_shape(const uint32_t block[3], char text[48]) {
  snprintf(text, 48,
           block[2] > 1   ? "%ux%ux%u"
           : block[1] > 1 ? "%ux%u"
                          : "%u",
           block[0], block[1], block[2]);
}

/* Behind a reason where addresses or loops hang on parameters that nobody has given. */
static const char by_values[] = "; values of its parameters may show some: run decides by launch";

/* Shapes without conflicts that are seen before a kernel is left alone, where launches decide. */
enum { MOST_WITHOUT = 4 };

/* Analyses a kernel for the shapes that it can have. Those that it cannot have are left out; where
 * one has no conflicts the kernel is left alone: *goes_on is false, and the plan has the reason. */
static int look_at(choosing *c, subject *s, const bf_likely *list, bool *goes_on,
                   bf_diagnostic *diagnostic) {
  char shape[48], reason[240] = "";
  unsigned without = 0;
  *goes_on = true;
  s->plan->reason[0] = 0;
  for (unsigned i = 0; i < list->count && *goes_on && !(c->is_glance && s->forecasts); i++) {
    bf_forecast *f = &s->forecast[s->forecasts];
    BF_TRY(bf_forecast_make(c->plans->module, bf_plan_examined(c->plans, s->plan), &s->original,
                            c->options, list->block[i], &c->counters, f, diagnostic));
    s->plan->needs_values |= f->analysis && bf_analyze_needs_values(f->analysis);
    if (f->reason[0]) {
      s->is_doubtful |= f->is_beyond;
      if (!reason[0])
        snprintf(reason, sizeof reason, "%s", f->reason);
      bf_forecast_free(f);
      continue;
    }
    const bf_work *work = &f->before[BF_FORECAST_TRIPS - 1];
    bool has_conflicts = work->conflicts > least_conflicts * work->wavefronts;
    s->is_doubtful |= f->before[0].unknown > least_conflicts * f->before[0].wavefronts;
    name_shape(f->block, shape);
    if (!has_conflicts)
      snprintf(s->plan->reason, sizeof s->plan->reason,
               "no conflicts are known that a hash could remove, in blocks of %s threads%s", shape,
               s->plan->needs_values && !c->options->decides_by_launch ? by_values : "");
    *goes_on = has_conflicts || (c->options->decides_by_launch && ++without < MOST_WITHOUT);
    if (has_conflicts || !*goes_on)
      s->forecasts++;
    else
      bf_forecast_free(f);
  }
  if (!s->forecasts || !*goes_on) {
    if (!s->plan->reason[0])
      give_reason(s->plan, reason[0] ? reason : "no shape of its blocks is known");
    *goes_on = false;
  } else {
    s->plan->reason[0] = 0;
  }
  return BF_OK;
}

/* ---- Values of parameters ---- */

/* What parameters are taken to be where launches tell: sizes, and logarithms of such. */
static const uint32_t numbers[] = {1024, 512, 256, 32, 16, 11, 10, 8};
enum { MOST_ASSUMED_SHAPES = 4 };

/* Adds a forecast on assumptions, where it shows conflicts. */
static int assume_one(choosing *c, subject *s, const bf_analyze_given *given,
                      const uint32_t block[3], bf_diagnostic *diagnostic) {
  bf_predict_launch launch = {
      .parameter = given->bytes, .is_known = given->is_known, .parameter_bytes = given->size};
  bf_predict_options options = *c->options;
  bf_forecast *f = &s->forecast[s->forecasts];
  options.launch = &launch;
  BF_TRY(bf_forecast_make(c->plans->module, bf_plan_examined(c->plans, s->plan), &s->original,
                          &options, block, &c->counters, f, diagnostic));
  const bf_work *work = &f->before[BF_FORECAST_TRIPS - 1];
  if (f->reason[0] || work->conflicts <= least_conflicts * work->wavefronts)
    bf_forecast_free(f);
  else
    s->forecasts++;
  return BF_OK;
}

/* Adds forecasts of a kernel whose accesses depend on parameters, for values that these may have:
 * launches tell which they have. */
static int assume(choosing *c, subject *s, const bf_likely *list, bool *goes_on,
                  bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = s->original.function;
  bf_analyze_given given = {0};
  unsigned most = s->forecasts + MOST_ASSUMED, before = s->forecasts;
  if (!c->options->decides_by_launch || !s->plan->needs_values)
    return BF_OK;
  s->is_assumed = true;
  int error = bf_analyze_find_deciding(kernel, &given, diagnostic);
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers && !error; n++) {
    bf_analyze_assume_number(kernel, numbers[n], &given);
    unsigned with = s->forecasts + 1 < most ? s->forecasts + 1 : most; /* one of each */
    for (unsigned i = 0; i < list->count && i < MOST_ASSUMED_SHAPES && !error; i++)
      if (s->forecasts < with)
        error = assume_one(c, s, &given, list->block[i], diagnostic);
  }
  bf_analyze_given_free(&given);
  if (s->forecasts > before) {
    *goes_on = true;
    s->plan->reason[0] = 0;
  }
  return error;
}

/* The same for the shapes that are usual, else for others. */
static int look(choosing *c, subject *s, bool *goes_on, bf_diagnostic *diagnostic) {
  bf_likely list;
  bool is_open = find_shapes(s->original.function, c->options->launch, &list);
  if (is_open && c->options->decides_by_launch && bf_likely_is_tiled(s->original.function))
    bf_likely_add(&list, small_tile);
  BF_TRY(look_at(c, s, &list, goes_on, diagnostic));
  if (!*goes_on)
    BF_TRY(assume(c, s, &list, goes_on, diagnostic));
  if (s->forecasts || !is_open)
    return BF_OK;
  bf_likely_find_others(s->original.function, &list);
  return look_at(c, s, &list, goes_on, diagnostic);
}

/* ---- Proposing ---- */

/* Candidates that are tried: each takes a rewriting of the module. */
enum { MOST_CANDIDATES = 3 };
/* No search takes nearly as long: all hashes of its class are tried, so that what is found does not
 * depend on how busy the machine is. */
enum { MOST_SECONDS = 5 };
/* What an iteration of a loop whose end is not known counts in the search. */
enum { TRIPS = 8 };

static void drop_candidates(bf_proposal *proposal) {
  while (proposal->candidates > MOST_CANDIDATES)
    bf_hash_free(proposal->candidate[--proposal->candidates].hash);
}

static int propose(choosing *c, subject *s, bf_diagnostic *diagnostic) {
  bf_observed seen = {0};
  double limit = c->options->time_limit_seconds;
  bf_plans_search search = {.machine = c->options->machine,
                            .time_limit_seconds = limit > 0 ? limit : MOST_SECONDS,
                            .threads = 1,
                            .only_terms = true};
  int error = bf_workload_create(&seen.written) || bf_workload_create(&seen.merged)
                  ? bf_no_memory(diagnostic)
                  : BF_OK;
  for (unsigned i = 0; i < s->forecasts && !error; i++) {
    const bf_work_options *own = &s->forecast[i].options;
    error = bf_work_accesses(own, false, TRIPS, seen.written, diagnostic);
    if (!error)
      error = bf_work_accesses(own, true, TRIPS, seen.merged, diagnostic);
  }
  bf_diagnostic why = {.caret = -1};
  if (!error)
    error = bf_plan_propose(c->plans, s->plan, &search, &seen, &why);
  if (error && error != BF_NO_MEMORY) { /* one kernel does not keep the others from hashes */
    give_reason(s->plan, why.message);
    error = BF_OK;
  } else if (error) {
    bf_no_memory(diagnostic);
  }
  drop_candidates(&s->plan->proposal);
  bf_workload_free(seen.written);
  bf_workload_free(seen.merged);
  return error;
}

/* The same, and longer rows. */
static int propose_all(choosing *c, subject *s, bf_diagnostic *diagnostic) {
  BF_TRY(propose(c, s, diagnostic));
  return bf_padding_propose(c->plans, s->plan, s->forecast, s->forecasts, diagnostic);
}

/* ---- Guessing ---- */

/* The bytes of the widest access, as ptxas merges them. */
static unsigned widest_of(const subject *s, unsigned granule_bytes) {
  for (uint32_t i = 0; i < s->original.merges->instructions; i++)
    if (s->original.merges->instruction[i].width_bytes > granule_bytes)
      granule_bytes = s->original.merges->instruction[i].width_bytes;
  return granule_bytes;
}

/* Gives a kernel whose addresses are not known a candidate for whoever measures it: the hash that
 * keeps its widest accesses together and serves the strides that are powers of two. */
static int guess(const choosing *c, subject *s, bf_diagnostic *diagnostic) {
  static const char *const hashes[] = {"xor:0,5,31", "xor:0,4,30", "xor:0,3,28"};
  bf_geometry geometry = bf_machine_geometry(c->options->machine);
  bf_proposal *proposal = &s->plan->proposal;
  unsigned granule_bytes = widest_of(s, bf_plan_examined(c->plans, s->plan)->granule_bytes);
  unsigned wide = granule_bytes <= 4 ? 0 : granule_bytes <= 8 ? 1 : 2;
  if (!c->options->is_measured || !s->is_doubtful || proposal->candidates || granule_bytes > 16)
    return BF_OK;
  BF_TRY(bf_hash_parse(hashes[wide], &geometry, &proposal->candidate[0].hash, diagnostic));
  proposal->candidate[0].granule_bytes = 4u << wide;
  proposal->candidates = 1;
  return BF_OK;
}

/* Gives a kernel without a hash the best of what was tried, or else what was guessed, where a
 * prediction has nothing to go by. */
static void take_guess(const choosing *c, const subject *s) {
  bf_plan *plan = s->plan;
  bool is_worth;
  int best = bf_judge_choose(plan->tried, plan->was_tried, BF_PLAN_CANDIDATES, &is_worth);
  if (!c->options->is_measured || !s->is_doubtful || bf_plan_has_hash(c->plans, plan))
    return;
  if (!bf_plan_take(c->plans, plan, best < 0 ? 0 : (unsigned)best))
    return;
  plan->is_doubtful = true;
  plan->has_comparison = best >= 0;
  plan->comparison = plan->tried[best < 0 ? 0 : best];
}

/* Whether this time the kernel is to be looked at: by a glance those with several shapes. */
static bool is_due(const choosing *c, const bf_plan *plan, const bf_ptx_function *kernel) {
  bf_likely list;
  if (!bf_plan_is_open(c->plans, plan) || bf_plan_has_hash(c->plans, plan) || !kernel)
    return false;
  if (c->is_glance)
    return find_shapes(kernel, c->options->launch, &list) || list.count > 1;
  return !c->is_dismissed || !c->is_dismissed[plan - c->plans->plan];
}

/* Takes a kernel in, if it has conflicts or may have some. */
static int add_subject(choosing *c, bf_plan *plan, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = bf_ptx_find(c->plans->module, plan->name);
  if (!is_due(c, plan, kernel))
    return BF_OK;
  subject *s = &c->subject[c->subjects++];
  bool goes_on = false;
  s->plan = plan;
  int error = bf_work_version_make(c->plans->module, kernel, &s->original, diagnostic);
  if (!error)
    error = look(c, s, &goes_on, diagnostic);
  if (!error && goes_on)
    error = propose_all(c, s, diagnostic);
  if (!error)
    error = guess(c, s, diagnostic);
  if (!error && !goes_on && !plan->proposal.candidates) {
    free_subject(s);
    *s = (subject){0};
    c->subjects--;
  }
  return error;
}

int bf_predict_padding(bf_plans *plans, bf_plan *plan, const bf_predict_options *options,
                       bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = bf_ptx_find(plans->module, plan->name);
  subject s = {.plan = plan};
  choosing c = {.plans = plans, .options = options, .subject = &s, .subjects = 1};
  char reason[sizeof plan->reason];
  bool goes_on = false;
  if (!bf_plan_is_open(plans, plan) || !kernel || plan->array_padding)
    return BF_OK;
  memcpy(reason, plan->reason, sizeof reason);
  int error = bf_work_version_make(plans->module, kernel, &s.original, diagnostic);
  if (!error)
    error = look(&c, &s, &goes_on, diagnostic);
  if (!error && goes_on)
    error = bf_padding_propose(plans, plan, s.forecast, s.forecasts, diagnostic);
  memcpy(plan->reason, reason, sizeof reason);
  free_subject(&s);
  bf_work_counters_free(&c.counters);
  return error;
}

/* ---- Trying ---- */

/* Whether the hashes that a kernel has now are for blocks of that shape. */
static bool suits_block(const bf_plans *plans, const bf_plan *plan, const uint32_t block[3]) {
  for (unsigned i = 0; plan->is_by_array && i < bf_plan_examined(plans, plan)->arrays; i++)
    for (unsigned k = 0; k < 3 && plan->array_hash[i]; k++)
      if (plan->array_hash[i]->most_block[k] && plan->array_hash[i]->most_block[k] < block[k])
        return false;
  return true;
}

/* Compares a kernel with a version of it for all shapes that its hashes are for: the one that gains
 * least counts, or most where launches decide. Which of two versions is better is for the shape to
 * say that is most likely: of those in which the kernel stays inside its arrays, the one with most
 * threads. */
static int compare_shapes(const choosing *c, subject *s, const bf_work_version *version,
                          bf_diagnostic *diagnostic) {
  const bf_predict_launch *launch = c->options->launch;
  uint64_t blocks = launch ? (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] : 0;
  bf_forecast_hashes own = {c->plans, s->plan};
  bf_work_hashes hashes = bf_forecast_hash(&own);
  double counted = 0, likely_share = 0, likely_work = 0;
  unsigned most_threads = 0;
  s->is_compared = s->forecasts > 0;
  for (unsigned i = 0; i < s->forecasts && s->is_compared; i++) {
    bf_work after[BF_FORECAST_TRIPS];
    bf_prediction p;
    if (!suits_block(c->plans, s->plan, s->forecast[i].block))
      continue;
    BF_TRY(
        bf_forecast_count(&s->forecast[i], version, &hashes, after, &s->is_compared, diagnostic));
    if (!s->is_compared)
      break;
    bf_forecast_judge(&s->forecast[i], version, after, blocks, &p);
    double most = p.share * (1 + p.error);
    if (most_threads == 0 || (c->options->decides_by_launch ? most < counted : most > counted)) {
      counted = most;
      s->comparison = p.comparison;
    }
    if (s->forecast[i].threads > most_threads) {
      most_threads = s->forecast[i].threads;
      likely_share = p.share;
      likely_work = bf_judge_likely_work(&p.comparison);
    }
  }
  s->is_compared &= most_threads > 0;
  s->comparison.after.likely_share = c->options->decides_by_launch ? 0 : likely_share;
  s->comparison.after.likely_work = c->options->decides_by_launch ? 0 : likely_work;
  return BF_OK;
}

static int compare_subject(const choosing *c, subject *s, const bf_rewrite_result *result,
                           bf_diagnostic *diagnostic) {
  const bf_ptx_function *rewritten =
      result->module ? bf_ptx_find(result->module, s->plan->name) : NULL;
  const bf_rewrite_kernel *found = &result->kernel[s->plan - c->plans->plan];
  bf_work_version version = {0};
  s->is_compared = false;
  if (!rewritten || !found->is_rewritten || !bf_plan_has_hash(c->plans, s->plan))
    return BF_OK;
  int error = bf_work_version_make(result->module, rewritten, &version, diagnostic);
  if (!error)
    error = compare_shapes(c, s, &version, diagnostic);
  bf_work_version_free(&version);
  return error;
}

/* bf_plans_runner.run: rewrites the module and predicts. */
static int run(void *context, bool *is_good, bf_diagnostic *diagnostic) {
  choosing *c = context;
  bf_rewrite_result result = {0};
  int error = bf_plans_rewrite(c->plans, false, &result, diagnostic);
  *is_good = !error;
  for (unsigned i = 0; i < c->subjects && !error; i++)
    error = compare_subject(c, &c->subject[i], &result, diagnostic);
  bf_rewrite_free(&result);
  return error;
}

/* bf_plans_runner.compare */
static bool compare(void *context, const char *kernel, bf_comparison *comparison) {
  const choosing *c = context;
  for (unsigned i = 0; i < c->subjects; i++)
    if (strcmp(c->subject[i].plan->name, kernel) == 0) {
      *comparison = c->subject[i].comparison;
      return c->subject[i].is_compared;
    }
  return false;
}

/* Whether the padding that a kernel has is for some blocks only. */
static bool is_limited(const bf_plans *plans, const bf_plan *plan) {
  for (unsigned i = 0; i < bf_plan_examined(plans, plan)->arrays; i++)
    if (plan->array_padding && plan->array_padding[i] && plan->array_padding[i]->most_block[0])
      return plan->taken == BF_PLAN_PADDED;
  return false;
}

/* Rows that are longer in some blocks only are taken where no hash is worth it, unless the shape is
 * known: in blocks of another one the original would run, and a hash serves for all. So are
 * unusual ones, unless the judge says that they are clearly cheaper. */
static void prefer_hash(const choosing *c, const subject *s) {
  bf_plan *plan = s->plan;
  bool is_other = s->forecasts >= 2 && is_limited(c->plans, plan), is_worth;
  bool is_unusual = plan->is_unusual && plan->taken == BF_PLAN_PADDED;
  if (!is_other && !is_unusual)
    return;
  int best = bf_judge_choose(plan->tried, plan->was_tried, BF_PLAN_PADDED, &is_worth);
  if (!is_worth ||
      (!is_other && bf_judge_is_clearly_cheaper(&plan->tried[BF_PLAN_PADDED], &plan->tried[best])))
    return;
  bf_plan_take(c->plans, plan, (unsigned)best);
  plan->comparison = plan->tried[best];
}

/* Gives a kernel that nothing is worth it for the best that may be. */
static void take_doubtful(const choosing *c, const subject *s) {
  bf_plan *plan = s->plan;
  bool is_worth;
  int best = bf_judge_choose(plan->tried, plan->was_tried, BF_PLAN_CANDIDATES, &is_worth);
  if (!c->options->is_measured || bf_plan_has_hash(c->plans, plan) || best < 0 ||
      !bf_judge_may_be_worth(&plan->tried[best]))
    return;
  bf_plan_take(c->plans, plan, (unsigned)best);
  plan->comparison = plan->tried[best];
  plan->is_doubtful = plan->has_comparison = true;
  plan->reason[0] = 0;
}

/* Says so where the rewriter takes no candidate of a kernel. */
static void explain_untried(subject *s) {
  bool was_tried = false;
  for (unsigned i = 0; i < BF_PLAN_CANDIDATES; i++)
    was_tried |= s->plan->was_tried[i];
  if (!was_tried && s->plan->proposal.candidates)
    give_reason(s->plan, "it cannot be rewritten with a hash that removes its conflicts");
}

/* Looks at all kernels that are due, and tries what is proposed for them. */
static int try_kernels(choosing *c, bf_diagnostic *diagnostic) {
  bf_plans_runner runner = {.run = run, .compare = compare, .context = c};
  int error = BF_OK;
  for (unsigned i = 0; i < c->plans->count && !error; i++)
    error = add_subject(c, &c->plans->plan[i], diagnostic);
  if (!error && c->subjects)
    error = bf_plans_try(&c->plans, 1, &runner, diagnostic);
  return error;
}

/* Looks again at kernels for which nothing was worth it, with values of their parameters. */
static int try_values(choosing *c, bf_diagnostic *diagnostic) {
  bf_plans_runner runner = {.run = run, .compare = compare, .context = c};
  bool any = false, goes_on;
  int error = BF_OK;
  for (unsigned i = 0; i < c->subjects && !error; i++) {
    subject *s = &c->subject[i];
    unsigned before = s->forecasts;
    bf_likely list;
    if (s->is_assumed || bf_plan_has_hash(c->plans, s->plan))
      continue;
    find_shapes(s->original.function, c->options->launch, &list);
    error = assume(c, s, &list, &goes_on, diagnostic);
    if (error || s->forecasts == before)
      continue;
    bf_plan_forget(c->plans, s->plan, false);
    bf_work_counters_free(&c->counters); /* they know hashes that are gone */
    error = propose_all(c, s, diagnostic);
    any = true;
  }
  return error || !any ? error : bf_plans_try(&c->plans, 1, &runner, diagnostic);
}

static void free_subjects(choosing *c) {
  for (unsigned i = 0; i < c->subjects; i++)
    free_subject(&c->subject[i]);
  memset(c->subject, 0, c->subjects * sizeof *c->subject);
  c->subjects = 0;
}

/* Dismisses kernels for which nothing is worth it in the first of several shapes; what the others
 * were given is forgotten. */
static int glance(choosing *c, bf_diagnostic *diagnostic) {
  bf_plans *plans = c->plans;
  c->is_glance = true;
  int error = try_kernels(c, diagnostic);
  c->is_glance = false;
  for (unsigned i = 0; i < c->subjects; i++)
    explain_untried(&c->subject[i]);
  for (unsigned i = 0; i < plans->count && !error; i++) {
    bf_plan *plan = &plans->plan[i];
    const bf_ptx_function *kernel = bf_ptx_find(plans->module, plan->name);
    bf_likely list;
    if (!kernel || !bf_plan_is_open(plans, plan))
      continue;
    bool was_due = find_shapes(kernel, c->options->launch, &list) || list.count > 1;
    c->is_dismissed[i] = was_due && !bf_plan_has_hash(plans, plan);
    if (was_due)
      bf_plan_forget(plans, plan, c->is_dismissed[i]);
  }
  free_subjects(c);
  bf_work_counters_free(&c->counters); /* they know hashes that are gone */
  return error;
}

/* Whether a glance can say something: what decides is all shapes, and nothing is wanted of kernels
 * for which nothing is worth it. */
static bool is_glance_enough(const choosing *c) {
  return !c->options->decides_by_launch && !c->options->is_measured &&
         !c->plans->blocks_are_checked;
}

int bf_predict_choose(bf_plans *plans, const bf_predict_options *options,
                      bf_diagnostic *diagnostic) {
  choosing c = {.plans = plans,
                .options = options,
                .subject = calloc((size_t)plans->count + 1, sizeof *c.subject),
                .is_dismissed = calloc((size_t)plans->count + 1, sizeof *c.is_dismissed)};
  int error = c.subject && c.is_dismissed ? BF_OK : bf_no_memory(diagnostic);
  if (!error && is_glance_enough(&c))
    error = glance(&c, diagnostic);
  if (!error)
    error = try_kernels(&c, diagnostic);
  if (!error)
    error = try_values(&c, diagnostic);
  for (unsigned i = 0; i < c.subjects; i++) {
    explain_untried(&c.subject[i]);
    prefer_hash(&c, &c.subject[i]);
    take_doubtful(&c, &c.subject[i]);
    take_guess(&c, &c.subject[i]);
  }
  if (c.subject)
    free_subjects(&c);
  bf_work_counters_free(&c.counters);
  free(c.is_dismissed);
  free(c.subject);
  return error;
}
