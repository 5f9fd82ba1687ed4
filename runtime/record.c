/* What bankfold exec wants to know: a conflict profile per kernel, written at the end of the
 * process to a file of the folder BANKFOLD_RECORD, and with BANKFOLD_TRACE the accesses themselves.
 *
 * The record is text, fields separated by tabs:
 *   kernel NAME LAUNCHES WARP-INSTRUCTIONS THREAD-INSTRUCTIONS SECONDS
 *   site PTX-LINE SOURCE-LINE EXECUTIONS LOAD STORE ATOMIC IDEAL CONFLICTS WORST ESTIMATED FILE
 *   access LINE-OF-A-TRACE
 * A kernel is followed by its sites, and a site by the worst access it made. LOAD, STORE and ATOMIC
 * count wavefronts; FILE is empty where the source is not known. cli/record.c reads it. */
#include "access/trace.h"
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

/* Hands an access to the profile and to the trace. */
static void observe(void *given, const bf_emu_event *event) {
  rt_observers *both = given;
  if (both->profile.access)
    both->profile.access(both->profile.context, event);
  both->trace.access(both->trace.context, event);
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

const bf_emu_observer *rt_observe(rt_context *context, rt_function *function, rt_observers *both) {
  bf_diagnostic diagnostic;
  if (!context->settings.record && !context->settings.trace)
    return NULL;
  *both = (rt_observers){0};
  if (!function->profile &&
      bf_profile_create(context->machine, context->hash, function->kernel,
                        context->settings.workers, &function->profile, &diagnostic) != BF_OK) {
    rt_say(context, "no profile of kernel %s: %s", function->name, diagnostic.message);
    function->profile = NULL;
  }
  if (function->profile)
    both->profile = bf_profile_observer(function->profile);
  if (!context->settings.trace || !open_trace(context) ||
      bf_tracer_begin(context->trace, function->kernel, &both->trace, &diagnostic) != BF_OK)
    return function->profile ? &both->profile : NULL;
  both->outer = both->trace;
  both->outer.access = observe;
  both->outer.context = both;
  return &both->outer;
}

/* ---- Record ---- */

/* The lines of a site that was executed. */
static void write_site(const rt_function *function, unsigned index, bf_text *text) {
  bf_profile_row row = bf_profile_get(function->profile, index);
  bf_emu_site site = bf_emu_kernel_site(function->kernel, index);
  if (row.executions == 0)
    return;
  bf_text_addf(text, "site\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%u\t%d\t%s\n",
               (unsigned long long)site.line, (unsigned long long)site.source_line,
               (unsigned long long)row.executions, (unsigned long long)row.wavefronts_load,
               (unsigned long long)row.wavefronts_store, (unsigned long long)row.wavefronts_atomic,
               (unsigned long long)row.ideal, (unsigned long long)row.conflicts, row.worst,
               row.estimated, site.source_file ? site.source_file : "");
  if (row.worst) {
    bf_access access = row.worst_access;
    access.count = 1;
    access.site = NULL;
    bf_text_puts(text, "access\t");
    bf_line_print(&access, text);
  }
}

/* The lines of a kernel that was launched. */
static void write_kernel(const rt_function *function, bf_text *text) {
  bf_text_addf(text, "kernel\t%s\t%llu\t%llu\t%llu\t%.6f\n", function->name,
               (unsigned long long)function->launches,
               (unsigned long long)function->warp_instructions,
               (unsigned long long)function->thread_instructions, function->seconds);
  unsigned sites = function->profile ? bf_emu_kernel_sites(function->kernel) : 0;
  for (unsigned i = 0; i < sites; i++)
    write_site(function, i, text);
}

void rt_write_record(rt_context *context) {
  close_trace(context);
  if (!context->settings.record)
    return;
  bf_text text = {0};
  char path[4096];
  bf_diagnostic diagnostic;
  for (const rt_function *f = context->functions; f; f = f->next)
    if (f->launches)
      write_kernel(f, &text);
  snprintf(path, sizeof path, "%s/%ld", context->settings.record, (long)getpid());
  if (text.size && !text.failed && bf_write_file(path, text.data, text.size, &diagnostic) != BF_OK)
    rt_say(context, "%s", diagnostic.message);
  bf_text_free(&text);
}
