/* What bankfold exec wants to know: a conflict profile per kernel, written at the end of the
 * process (exchange/record.h), and the accesses themselves as a trace. */
#include "context.h"

#include "exchange/record.h"

/* ---- Profile and trace ---- */

/* Opens the trace at the first launch; false where that fails, which is said once. */
static bool open_trace(rt_context *context) {
  bf_diagnostic diagnostic = {0};
  if (context->trace || context->trace_failed)
    return context->trace != NULL;
  if (bf_tracer_open(context->settings.trace, false, &context->trace, &diagnostic) == BF_OK)
    return true;
  rt_say(context, "cannot write %s: %s", context->settings.trace, diagnostic.message);
  context->trace_failed = true;
  return false;
}

/* Hands an access of a simulated multiprocessor, which are many, to a profile of one worker. */
static void profile_in_turn(void *given, const bf_emu_event *event) {
  rt_observers *all = given;
  bf_emu_event own = *event;
  own.worker = 0;
  pthread_mutex_lock(&all->lock);
  all->counting.access(all->counting.context, &own);
  pthread_mutex_unlock(&all->lock);
}

/* The same of what the hardware accesses by itself. */
static void operands_in_turn(void *given, const bf_emu_event *event) {
  rt_observers *all = given;
  bf_emu_event own = *event;
  own.worker = 0;
  pthread_mutex_lock(&all->lock);
  all->counting.operands(all->counting.context, &own);
  pthread_mutex_unlock(&all->lock);
}

/* Hands an access to all who watch. */
static void observe(void *given, const bf_emu_event *event) {
  rt_observers *all = given;
  if (all->profile.access)
    all->profile.access(all->profile.context, event);
  if (all->trace.access)
    all->trace.access(all->trace.context, event);
  if (all->keeper.access)
    all->keeper.access(all->keeper.context, event);
}

static void observe_written(void *given, const bf_emu_event *event) {
  rt_observers *all = given;
  all->keeper.written(all->keeper.context, event);
}

static void observe_operands(void *given, const bf_emu_event *event) {
  rt_observers *all = given;
  all->profile.operands(all->profile.context, event);
}

/* Writes the rest of the trace; says so where it failed. */
static void close_trace(rt_context *context) {
  bf_diagnostic diagnostic = {0};
  if (!context->trace)
    return;
  if (bf_tracer_commit(context->trace, &diagnostic) != BF_OK)
    rt_say(context, "the trace %s was not written: %s", context->settings.trace,
           diagnostic.message);
  bf_tracer_close(context->trace);
  context->trace = NULL;
}

/* Makes a profile that keeps accesses. */
static int make_profile(rt_context *context, const rt_function *function, rt_tally *tally,
                        bf_diagnostic *diagnostic) {
  unsigned workers = context->gpu ? 1 : (unsigned)context->settings.workers;
  BF_TRY(bf_profile_create(context->machine, tally->hash, function->kernel, workers,
                           &tally->profile, diagnostic));
  BF_TRY(bf_profile_keep(tally->profile, &context->kept_left, diagnostic));
  /* Without it a process that is killed leaves nothing of the kernel. */
  if (bf_live_create(context->settings.record, function->kernel,
                     tally->hash ? bf_hash_text(tally->hash) : "none",
                     rt_lock_hash_word(tally->lock_hash), tally->profile, &tally->live,
                     diagnostic) != BF_OK)
    tally->live = NULL;
  return BF_OK;
}

void rt_keep_alive(const rt_tally *tally, bool is_begun) {
  if (!tally->live)
    return;
  bf_live_sums *sums = bf_live_get(tally->live);
  bf_sample_size size = rt_sample_size(tally);
  *sums = (bf_live_sums){.begun = sums->begun + is_begun,
                         .launches = tally->launches,
                         .warp_instructions = tally->warp_instructions,
                         .thread_instructions = tally->thread_instructions,
                         .faults = tally->faults,
                         .cycles = tally->cycles,
                         .work_cycles = tally->work_cycles,
                         .seconds = tally->seconds,
                         .simulated_seconds = tally->simulated_seconds,
                         .joules = tally->joules,
                         .conflict_joules = tally->conflict_joules,
                         .blocks = size.blocks,
                         .counted_blocks = size.counted};
}

/* The profile of launches, made at the first one; NULL where that fails, which is said. The
 * simulator counts by itself, and the profile keeps the accesses for it. */
static bf_profile *profile_of(rt_context *context, const rt_function *function, rt_tally *tally) {
  bf_diagnostic diagnostic;
  if (!tally->profile && make_profile(context, function, tally, &diagnostic) != BF_OK) {
    rt_say(context, "no profile of kernel %s: %s", function->name, diagnostic.message);
    bf_profile_free(tally->profile);
    tally->profile = NULL;
  }
  return tally->profile;
}

const bf_emu_observer *rt_observe(rt_context *context, rt_function *function, rt_tally *tally,
                                  rt_observers *all) {
  const bf_run_settings *settings = &context->settings;
  bf_diagnostic diagnostic;
  *all = (rt_observers){.lock = PTHREAD_MUTEX_INITIALIZER};
  bf_profile *profile = settings->record ? profile_of(context, function, tally) : NULL;
  if (profile)
    all->profile = all->counting = bf_profile_observer(profile);
  if (profile && context->gpu)
    all->profile =
        (bf_emu_observer){.access = profile_in_turn, .operands = operands_in_turn, .context = all};
  all->profile.as_merged = !settings->as_written;
  if (settings->trace && open_trace(context) &&
      bf_tracer_begin(context->trace, function->kernel, &all->trace, &diagnostic) != BF_OK)
    all->trace = (bf_emu_observer){0};
  if (settings->accesses)
    all->keeper = rt_keep_accesses(context, function);
  if (!all->profile.access && !all->trace.access && !all->keeper.access)
    return NULL;
  all->outer =
      (bf_emu_observer){.access = observe, .context = all, .as_merged = !settings->as_written};
  if (all->profile.operands)
    all->outer.operands = observe_operands;
  if (all->keeper.written)
    all->outer.written = observe_written;
  return all->trace.access || all->keeper.access ? &all->outer : &all->profile;
}

/* ---- Record ---- */

/* What a site of simulated launches has cost; matrices and copies are those that its row of the
 * profile has. */
static bf_costs_line line_of_site(const bf_emu_site *site, const bf_sim_site *cost,
                                  const bf_profile_row *row) {
  bf_costs_line line = bf_costs_line_of(site);
  line.accesses = cost->executions;
  line.wavefronts = cost->wavefronts;
  line.ideal = cost->wavefronts - cost->conflicts;
  line.conflicts = cost->conflicts;
  line.worst = cost->worst;
  line.waited_cycles = cost->waited_cycles;
  line.estimated = cost->estimated;
  line.has_access = cost->worst > 0;
  line.access = cost->worst_access;
  line.access.count = 1;
  memcpy(line.operand, row->operand, sizeof line.operand);
  if (row->operand[BF_OPERAND_B].times) { /* a wgmma, which the simulator has not counted */
    line.accesses += row->executions;
    line.wavefronts += row->wavefronts;
    line.ideal += row->ideal;
  }
  return line;
}

/* What a site has cost, in launches of either kind. */
static bf_costs_line line_of(const rt_function *function, const rt_tally *tally, unsigned index) {
  bf_emu_site site = bf_emu_kernel_site(function->kernel, index);
  bf_profile_row row = {.executions = 0};
  if (tally->profile)
    row = bf_profile_get(tally->profile, index);
  if (tally->site)
    return line_of_site(&site, &tally->site[index], &row);
  return bf_costs_line_of_row(&site, &row, row.rivals ? bf_profile_rivals(tally->profile) : 0);
}

/* Adds a kernel that was launched with a hash. */
static int add_tally(const rt_function *function, const rt_tally *tally, bf_costs *costs,
                     bf_diagnostic *diagnostic) {
  bf_costs_kernel *kernel =
      bf_costs_find(costs, function->name, tally->hash ? bf_hash_text(tally->hash) : "none",
                    rt_lock_hash_word(tally->lock_hash));
  if (!kernel)
    return bf_no_memory(diagnostic);
  bf_costs_kernel sums = {.launches = tally->launches,
                          .refused = tally->refused,
                          .faults = tally->faults,
                          .warp_instructions = tally->warp_instructions,
                          .thread_instructions = tally->thread_instructions,
                          .seconds = tally->seconds,
                          .cycles = tally->cycles,
                          .simulated_seconds = tally->simulated_seconds,
                          .joules = tally->joules,
                          .conflict_joules = tally->conflict_joules,
                          .work_cycles = tally->work_cycles};
  rt_sample_bound(function, tally, &sums);
  bf_costs_add_sums(kernel, &sums);
  if (tally->profile)
    BF_TRY(bf_costs_add_accesses(kernel, bf_profile_accesses(tally->profile), diagnostic));
  unsigned sites = tally->profile || tally->site ? bf_emu_kernel_sites(function->kernel) : 0;
  for (unsigned i = 0; i < sites; i++) {
    bf_costs_line line = line_of(function, tally, i);
    rt_sample_bound_line(tally, i, &line);
    if (bf_costs_line_is_used(&line))
      BF_TRY(bf_costs_add_line(costs, kernel, &line, diagnostic));
  }
  return BF_OK;
}

void rt_write_record(rt_context *context) {
  close_trace(context);
  if (!context->settings.record)
    return;
  bf_costs costs = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  int error = BF_OK;
  for (const rt_function *f = context->functions; f; f = f->next)
    for (const rt_tally *tally = f->tallies; tally; tally = tally->next)
      if ((tally->launches || tally->refused) && !error)
        error = add_tally(f, tally, &costs, &diagnostic);
  if (!error && costs.kernels)
    error = bf_record_write(context->settings.record, &costs, &diagnostic);
  if (error)
    rt_say(context, "the costs of kernels were not written: %s", diagnostic.message);
  for (const rt_function *f = context->functions; f && !error; f = f->next)
    for (const rt_tally *tally = f->tallies; tally; tally = tally->next)
      if (tally->live)
        bf_live_remove(tally->live);
  bf_costs_free(&costs);
}
