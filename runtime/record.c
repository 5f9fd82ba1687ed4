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

/* ---- Trace ---- */

/* Accesses are merged before they are written; this many distinct ones at most are kept. */
enum { MOST_KEPT = 1 << 18 };

struct rt_trace {
  pthread_mutex_t lock; /* kernels run on several threads */
  bf_trace_writer *writer;
  bf_workload *kept;
  bool has_failed;
  bf_diagnostic diagnostic;
};

/* Opens the trace at the first launch; NULL where that fails, which is said once. */
static rt_trace *open_trace(rt_context *context) {
  if (context->trace)
    return context->trace;
  rt_trace *trace = calloc(1, sizeof *trace);
  if (!trace)
    return NULL;
  pthread_mutex_init(&trace->lock, NULL);
  if (bf_trace_writer_open(context->settings.trace, false, &trace->writer, &trace->diagnostic) !=
          BF_OK ||
      bf_workload_create(&trace->kept) != BF_OK) {
    rt_say(context, "cannot write %s: %s", context->settings.trace, trace->diagnostic.message);
    trace->has_failed = true;
  }
  context->trace = trace;
  return trace;
}

/* Writes the accesses kept and forgets them. */
static int write_kept(rt_trace *trace) {
  for (size_t i = 0; i < bf_workload_size(trace->kept); i++)
    BF_TRY(bf_trace_writer_add(trace->writer, bf_workload_get(trace->kept, i), &trace->diagnostic));
  bf_workload_free(trace->kept);
  trace->kept = NULL;
  return bf_workload_create(&trace->kept);
}

/* "kernel:file.cu:12", or with the line of the PTX where the source is not known. */
static char *name_site(const rt_function *function, unsigned index) {
  bf_emu_site site = bf_emu_kernel_site(function->kernel, index);
  const char *file = site.source_file ? strrchr(site.source_file, '/') : NULL;
  file = file ? file + 1 : site.source_file;
  bf_text text = {0};
  bf_ptx_readable_name(function->name, &text);
  bf_text_addf(&text, ":%s:%llu", file ? file : "ptx",
               (unsigned long long)(file ? site.source_line : site.line));
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] <= ' ' || text.data[i] > '~')
      text.data[i] = '_';
  if (text.failed)
    bf_text_free(&text);
  return text.data;
}

/* Names all sites of a function before its first traced launch; false where memory is exhausted. */
static bool name_sites(rt_function *function) {
  unsigned sites = bf_emu_kernel_sites(function->kernel);
  if (function->site_name)
    return true;
  char **name = calloc(sites + 1, sizeof *name);
  for (unsigned i = 0; name && i < sites; i++)
    name[i] = name_site(function, i);
  function->site_name = name;
  return name != NULL;
}

/* Adds an access to the trace. */
static void trace_event(rt_trace *trace, const rt_function *function, const bf_emu_event *event) {
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = function->site_name[event->site]};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  pthread_mutex_lock(&trace->lock);
  if (!trace->has_failed)
    trace->has_failed = bf_workload_add(trace->kept, &access) != BF_OK ||
                        (bf_workload_size(trace->kept) >= MOST_KEPT && write_kept(trace) != BF_OK);
  pthread_mutex_unlock(&trace->lock);
}

/* Hands an access to the profile and to the trace. */
static void observe(void *given, const bf_emu_event *event) {
  rt_observers *both = given;
  if (both->profile.access)
    both->profile.access(both->profile.context, event);
  if (both->context->trace && event->shared_address)
    trace_event(both->context->trace, both->function, event);
}

/* Writes the rest of the trace; says so where it failed. */
static void close_trace(rt_context *context) {
  rt_trace *trace = context->trace;
  if (!trace)
    return;
  if (trace->has_failed || write_kept(trace) != BF_OK ||
      bf_trace_writer_commit(trace->writer, &trace->diagnostic) != BF_OK)
    rt_say(context, "the trace %s was not written", context->settings.trace);
  bf_trace_writer_close(trace->writer);
  bf_workload_free(trace->kept);
  free(trace);
  context->trace = NULL;
}

/* ---- Profile ---- */

const bf_emu_observer *rt_observe(rt_context *context, rt_function *function, rt_observers *both) {
  bf_diagnostic diagnostic;
  if (!context->settings.record && !context->settings.trace)
    return NULL;
  *both = (rt_observers){.context = context, .function = function};
  if (!function->profile &&
      bf_profile_create(context->machine, context->hash, function->kernel,
                        context->settings.workers, &function->profile, &diagnostic) != BF_OK) {
    rt_say(context, "no profile of kernel %s: %s", function->name, diagnostic.message);
    function->profile = NULL;
  }
  if (function->profile)
    both->profile = bf_profile_observer(function->profile);
  if (!context->settings.trace || !open_trace(context) || !name_sites(function))
    return function->profile ? &both->profile : NULL;
  both->outer = both->profile;
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
