/* Hashes for the kernels of a module from its PTX alone.
 *
 * Most kernels have no conflicts, which the analysis of one shape of blocks shows; for those that
 * have, hashes are proposed from the accesses of all shapes that are likely, the module is
 * rewritten with one candidate of each kernel after the other, and the judge takes what is
 * predicted to be worth it for every shape. */
#include "tune/forecast.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shapes of blocks ---- */

enum { MOST_SHAPES = 12, MOST_THREADS = 1024 };

typedef struct shapes {
  uint32_t block[MOST_SHAPES][3];
  unsigned count;
} shapes;

/* The shapes that programs use, the most usual first: of kernels that read the x of a thread only,
 * and of others. */
static const uint32_t lines[][3] = {{256, 1, 1}, {128, 1, 1}, {512, 1, 1}, {1024, 1, 1},
                                    {64, 1, 1},  {32, 1, 1},  {192, 1, 1}};
static const uint32_t tiles[][3] = {{16, 16, 1}, {32, 8, 1}, {32, 32, 1}, {32, 4, 1},
                                    {32, 16, 1}, {16, 8, 1}, {8, 8, 1},   {64, 4, 1},
                                    {8, 8, 4},   {16, 4, 4}, {8, 8, 8}};

/* One more where launches decide: it is not so usual that a hash must win in it. */
static const uint32_t small_tile[3] = {32, 2, 1};

/* What is tried where a kernel fits none of these. */
static const uint32_t others[][3] = {{16, 1, 1}, {8, 1, 1},  {8, 4, 1},  {8, 16, 1},
                                     {4, 8, 1},  {16, 2, 1}, {16, 4, 1}, {4, 4, 1},
                                     {8, 32, 1}, {64, 8, 1}, {128, 2, 1}};

/* Whether a kernel reads a part of the thread index: x, y or z, or a part that is not named. */
static bool reads_part(const bf_ptx_function *kernel, char part) {
  for (uint32_t i = 0; i < kernel->instructions; i++)
    for (unsigned k = 0; k < kernel->instruction[i]->operands; k++) {
      const bf_ptx_operand *operand = &kernel->instruction[i]->operand[k];
      if (operand->kind == BF_PTX_SPECIAL && operand->special == BF_PTX_SPECIAL_TID &&
          (operand->component == part || !operand->component))
        return true;
    }
  return false;
}

/* Whether it reads another part than x. */
static bool reads_beyond_x(const bf_ptx_function *kernel) {
  return reads_part(kernel, 'y') || reads_part(kernel, 'z');
}

static const bf_ptx_directive *find_directive(const bf_ptx_function *kernel, const char *name) {
  for (unsigned i = 0; i < kernel->directives.count; i++)
    if (strcmp(kernel->directives.item[i].name, name) == 0 && kernel->directives.item[i].numbers)
      return &kernel->directives.item[i];
  return NULL;
}

/* Threads, and the three numbers, of a directive. */
static uint64_t threads_of(const bf_ptx_directive *directive, uint32_t block[3]) {
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; i++) {
    uint64_t own = i < directive->numbers ? directive->number[i] : 1;
    block[i] = own <= MOST_THREADS ? (uint32_t)own : 0;
    threads = own && own <= MOST_THREADS ? threads * own : 0;
  }
  return threads <= MOST_THREADS ? threads : 0;
}

static void add_shape(shapes *s, const uint32_t block[3]) {
  for (unsigned i = 0; i < s->count; i++)
    if (memcmp(s->block[i], block, sizeof s->block[i]) == 0)
      return;
  if (s->count < MOST_SHAPES)
    memcpy(s->block[s->count++], block, sizeof s->block[0]);
}

/* The shapes that blocks of a kernel can have: that of the launch, the required one; of as many
 * threads as it is compiled for, which is what it is launched with; else all that are usual, and
 * the answer is true. */
static bool find_shapes(const bf_ptx_function *kernel, const bf_predict_launch *launch, shapes *s) {
  const bf_ptx_directive *required = find_directive(kernel, "reqntid");
  const bf_ptx_directive *most = find_directive(kernel, "maxntid");
  uint32_t block[3];
  s->count = 0;
  if (launch && launch->block[0]) {
    add_shape(s, launch->block);
    return false;
  }
  if (required && threads_of(required, block)) {
    add_shape(s, block);
    return false;
  }
  uint64_t threads = most ? threads_of(most, block) : 0;
  bool is_tiled = reads_beyond_x(kernel), is_deep = reads_part(kernel, 'z');
  if (threads && !is_tiled)
    add_shape(s, (const uint32_t[3]){(uint32_t)threads, 1, 1});
  else if (threads && (block[1] > 1 || block[2] > 1))
    add_shape(s, block);
  size_t count = is_tiled ? sizeof tiles / sizeof *tiles : sizeof lines / sizeof *lines;
  for (size_t i = 0; (is_tiled || !threads) && i < count; i++) {
    const uint32_t *usual = is_tiled ? tiles[i] : lines[i];
    const uint32_t own[3] = {usual[0], usual[1], is_deep ? usual[2] : 1};
    if (!threads || (uint64_t)own[0] * own[1] * own[2] == threads)
      add_shape(s, own);
  }
  for (size_t i = 0; threads && is_tiled && i < sizeof others / sizeof *others; i++)
    if ((uint64_t)others[i][0] * others[i][1] * others[i][2] == threads)
      add_shape(s, others[i]);
  return !threads;
}

bool bf_predict_likely_block(const bf_ptx_function *kernel, uint32_t block[3]) {
  shapes list;
  bool is_guess = find_shapes(kernel, NULL, &list);
  static const uint32_t warp[3] = {32, 1, 1};
  memcpy(block, list.count ? list.block[0] : warp, sizeof warp);
  return !is_guess && list.count;
}

/* ---- Kernels ---- */

/* A kernel that may get a hash. */
typedef struct subject {
  bf_plan *plan;
  bf_work_version original;
  bf_forecast forecast[MOST_SHAPES]; /* of the shapes that it can have */
  unsigned forecasts;
  bool is_compared; /* with its candidate of the last run: */
  bf_comparison comparison;
} subject;

typedef struct choosing {
  bf_plans *plans;
  const bf_predict_options *options;
  bf_work_counters counters;
  subject *subject;
  unsigned subjects;
} choosing;

static void free_subject(subject *s) {
  for (unsigned i = 0; i < s->forecasts; i++)
    bf_forecast_free(&s->forecast[i]);
  bf_work_version_free(&s->original);
}

/* A hash cannot gain much where fewer of the wavefronts are conflicts. */
static const double least_conflicts = 0.03;

static void give_reason(bf_plan *plan, const char *reason) {
  snprintf(plan->reason, sizeof plan->reason, "%s", reason);
}

static void name_shape(const uint32_t block[3], char text[48]) {
  snprintf(text, 48,
           block[2] > 1   ? "%ux%ux%u"
           : block[1] > 1 ? "%ux%u"
                          : "%u",
           block[0], block[1], block[2]);
}

/* Shapes without conflicts that are seen before a kernel is left alone, where launches decide. */
enum { MOST_WITHOUT = 4 };

/* Analyses a kernel for the shapes that it can have. Those that it cannot have are left out; where
 * one has no conflicts the kernel is left alone: *goes_on is false, and the plan has the reason. */
static int look_at(choosing *c, subject *s, const shapes *list, bool *goes_on,
                   bf_diagnostic *diagnostic) {
  char shape[48], reason[240] = "";
  unsigned without = 0;
  *goes_on = true;
  s->plan->reason[0] = 0;
  for (unsigned i = 0; i < list->count && *goes_on; i++) {
    bf_forecast *f = &s->forecast[s->forecasts];
    BF_TRY(bf_forecast_make(c->plans->module, bf_plan_examined(c->plans, s->plan), &s->original,
                            c->options, list->block[i], &c->counters, f, diagnostic));
    if (f->reason[0]) {
      if (!reason[0])
        snprintf(reason, sizeof reason, "%s", f->reason);
      bf_forecast_free(f);
      continue;
    }
    const bf_work *work = &f->before[BF_FORECAST_TRIPS - 1];
    bool has_conflicts = work->conflicts > least_conflicts * work->wavefronts;
    name_shape(f->block, shape);
    if (!has_conflicts)
      snprintf(s->plan->reason, sizeof s->plan->reason,
               "no conflicts are known that a hash could remove, in blocks of %s threads", shape);
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

/* The same for the shapes that are usual, else for others. */
static int look(choosing *c, subject *s, bool *goes_on, bf_diagnostic *diagnostic) {
  shapes list;
  bool is_open = find_shapes(s->original.function, c->options->launch, &list);
  if (is_open && c->options->decides_by_launch && reads_beyond_x(s->original.function))
    add_shape(&list, small_tile);
  BF_TRY(look_at(c, s, &list, goes_on, diagnostic));
  if (s->forecasts || !is_open)
    return BF_OK;
  list.count = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (reads_beyond_x(s->original.function) == (others[i][1] > 1))
      add_shape(&list, others[i]);
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
  if (!error)
    error = bf_plan_propose(c->plans, s->plan, &search, &seen, diagnostic);
  drop_candidates(&s->plan->proposal);
  bf_workload_free(seen.written);
  bf_workload_free(seen.merged);
  return error;
}

/* Takes a kernel in, if it has conflicts. */
static int add_subject(choosing *c, bf_plan *plan, bf_diagnostic *diagnostic) {
  const bf_ptx_function *kernel = bf_ptx_find(c->plans->module, plan->name);
  if (!bf_plan_is_open(c->plans, plan) || bf_plan_has_hash(c->plans, plan) || !kernel)
    return BF_OK;
  subject *s = &c->subject[c->subjects++];
  bool goes_on = false;
  s->plan = plan;
  int error = bf_work_version_make(c->plans->module, kernel, &s->original, diagnostic);
  if (!error)
    error = look(c, s, &goes_on, diagnostic);
  if (!error && goes_on)
    error = propose(c, s, diagnostic);
  if (!error && goes_on)
    error = bf_padding_propose(c->plans, s->plan, s->forecast, s->forecasts, diagnostic);
  if (!error && !goes_on) {
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
 * known: in blocks of another one the original would run, and a hash serves for all. */
static void prefer_hash(const choosing *c, const subject *s) {
  bf_plan *plan = s->plan;
  if (s->forecasts < 2 || !is_limited(c->plans, plan))
    return;
  bool is_worth;
  int best = bf_judge_choose(plan->tried, plan->was_tried, BF_PLAN_PADDED, &is_worth);
  if (!is_worth)
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
  plan->has_comparison = true;
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

int bf_predict_choose(bf_plans *plans, const bf_predict_options *options,
                      bf_diagnostic *diagnostic) {
  choosing c = {.plans = plans,
                .options = options,
                .subject = calloc((size_t)plans->count + 1, sizeof *c.subject)};
  if (!c.subject)
    return bf_no_memory(diagnostic);
  int error = BF_OK;
  for (unsigned i = 0; i < plans->count && !error; i++)
    error = add_subject(&c, &plans->plan[i], diagnostic);
  bf_plans_runner runner = {.run = run, .compare = compare, .context = &c};
  if (!error && c.subjects)
    error = bf_plans_try(&plans, 1, &runner, diagnostic);
  for (unsigned i = 0; i < c.subjects; i++) {
    explain_untried(&c.subject[i]);
    prefer_hash(&c, &c.subject[i]);
    take_doubtful(&c, &c.subject[i]);
    free_subject(&c.subject[i]);
  }
  bf_work_counters_free(&c.counters);
  free(c.subject);
  return error;
}
