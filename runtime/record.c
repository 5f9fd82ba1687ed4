/* What bankfold exec wants to know: a conflict profile per kernel, written at the end of the
 * process to a file of the folder BANKFOLD_RECORD, and with BANKFOLD_TRACE the accesses themselves.
 *
 * The record is text, fields separated by tabs:
 *   kernel NAME HASH LOCK-HASH LAUNCHES WARP-INSTRUCTIONS THREAD-INSTRUCTIONS SECONDS CYCLES
 *     SIMULATED-SECONDS WORK-CYCLES
 *   site PTX-LINE SOURCE-LINE EXECUTIONS WAVEFRONTS IDEAL CONFLICTS WAITED WORST ESTIMATED FILE
 *   access LINE-OF-A-TRACE
 * A kernel stands there once for each hash that it was launched with, followed by its sites, and a
 * site by the worst access it made. WAITED counts cycles of a simulator; FILE is empty where the
 * source is not known. cli/record.c reads it. */
#include "context.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The profile of emulated launches, made at the first one; NULL where that fails, which is said.
 * The simulator counts by itself. */
static bf_profile *profile_of(rt_context *context, const rt_function *function, rt_tally *tally) {
  bf_diagnostic diagnostic;
  if (!context->gpu && !tally->profile &&
      bf_profile_create(context->machine, tally->hash, function->kernel, context->settings.workers,
                        &tally->profile, &diagnostic) != BF_OK) {
    rt_say(context, "no profile of kernel %s: %s", function->name, diagnostic.message);
    tally->profile = NULL;
  }
  return tally->profile;
}

const bf_emu_observer *rt_observe(rt_context *context, rt_function *function, rt_tally *tally,
                                  rt_observers *all) {
  const rt_settings *settings = &context->settings;
  bf_diagnostic diagnostic;
  *all = (rt_observers){0};
  bf_profile *profile = settings->record ? profile_of(context, function, tally) : NULL;
  if (profile)
    all->profile = bf_profile_observer(profile);
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
  if (all->keeper.written)
    all->outer.written = observe_written;
  return all->trace.access || all->keeper.access ? &all->outer : &all->profile;
}

/* ---- Record ---- */

/* What a site has cost, and the fewest wavefronts it could take. */
static bf_sim_site cost_of(const rt_tally *tally, unsigned index, uint64_t *ideal) {
  if (tally->site) {
    *ideal = tally->site[index].wavefronts - tally->site[index].conflicts;
    return tally->site[index];
  }
  bf_profile_row row = bf_profile_get(tally->profile, index);
  *ideal = row.ideal;
  return (bf_sim_site){.executions = row.executions,
                       .wavefronts = row.wavefronts,
                       .conflicts = row.conflicts,
                       .worst = row.worst,
                       .estimated = row.estimated,
                       .worst_access = row.worst_access};
}

/* The lines of a site that was executed. */
static void write_site(const rt_function *function, const rt_tally *tally, unsigned index,
                       bf_text *text) {
  uint64_t ideal;
  bf_sim_site cost = cost_of(tally, index, &ideal);
  bf_emu_site site = bf_emu_kernel_site(function->kernel, index);
  if (cost.executions == 0)
    return;
  bf_text_addf(text, "site\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%u\t%d\t%s\n",
               (unsigned long long)site.line, (unsigned long long)site.source_line,
               (unsigned long long)cost.executions, (unsigned long long)cost.wavefronts,
               (unsigned long long)ideal, (unsigned long long)cost.conflicts,
               (unsigned long long)cost.waited_cycles, cost.worst, cost.estimated,
               site.source_file ? site.source_file : "");
  if (cost.worst) {
    cost.worst_access.count = 1;
    cost.worst_access.site = NULL;
    bf_text_puts(text, "access\t");
    bf_trace_print_line(&cost.worst_access, text);
  }
}

/* The lines of a kernel that was launched with a hash. */
static void write_tally(const rt_function *function, const rt_tally *tally, bf_text *text) {
  bf_text_addf(text, "kernel\t%s\t%s\t%s\t%llu\t%llu\t%llu\t%.6f\t%llu\t%.12g\t%llu\n",
               function->name, tally->hash ? bf_hash_text(tally->hash) : "none",
               rt_lock_hash_word(tally->lock_hash), (unsigned long long)tally->launches,
               (unsigned long long)tally->warp_instructions,
               (unsigned long long)tally->thread_instructions, tally->seconds,
               (unsigned long long)tally->cycles, tally->simulated_seconds,
               (unsigned long long)tally->work_cycles);
  unsigned sites = tally->profile || tally->site ? bf_emu_kernel_sites(function->kernel) : 0;
  for (unsigned i = 0; i < sites; i++)
    write_site(function, tally, i, text);
}

void rt_write_record(rt_context *context) {
  close_trace(context);
  if (!context->settings.record)
    return;
  bf_text text = {0};
  char path[4096];
  bf_diagnostic diagnostic;
  for (const rt_function *f = context->functions; f; f = f->next)
    for (const rt_tally *tally = f->tallies; tally; tally = tally->next)
      if (tally->launches)
        write_tally(f, tally, &text);
  snprintf(path, sizeof path, "%s/%ld", context->settings.record, (long)getpid());
  if (text.size && !text.failed && bf_write_file(path, text.data, text.size, &diagnostic) != BF_OK)
    rt_say(context, "%s", diagnostic.message);
  bf_text_free(&text);
}
