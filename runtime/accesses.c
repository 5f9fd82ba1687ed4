/* The accesses that kernels made, for bankfold exec --save-hashes, which chooses hashes from them.
 * They are kept as the PTX has them and as ptxas merges them, equal ones once with a count, in
 * bounded memory, with the array that an access is known to be to as its site; and are written at
 * the end of the process to files of the folder BANKFOLD_ACCESSES: the PTX of each module as
 * PROCESS-NUMBER.ptx, and a file PROCESS with lines
 *
 *   module NUMBER
 *   kernel NAME LAUNCHES LEFT-OUT
 *   written LINE-OF-A-TRACE
 *   merged LINE-OF-A-TRACE
 *
 * whose fields are separated by tabs. A kernel belongs to the module before it, and accesses to the
 * kernel; LEFT-OUT is 1 where it made more different ones than were kept. cli/advice.c reads it. */
#include "context.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bf_emu_observer rt_keep_accesses(rt_context *context, rt_function *function) {
  bf_diagnostic diagnostic = {.caret = -1};
  if (!function->accesses &&
      bf_observer_create(context->machine, function->kernel, NULL, &context->accesses_left,
                         &function->accesses, &diagnostic) != BF_OK) {
    rt_say(context, "accesses of kernel %s are not kept: %s", function->name, diagnostic.message);
    return (bf_emu_observer){0};
  }
  return bf_observer_watch(function->accesses);
}

/* ---- Writing ---- */

/* What is being written. */
typedef struct writing {
  const rt_context *context;
  bf_writer *writer;
  bf_text text; /* not yet handed to the writer */
  unsigned modules;
} writing;

/* Hands text on where there is much of it. */
static int flush(writing *w, size_t at_least, bf_diagnostic *diagnostic) {
  if (w->text.failed)
    return bf_no_memory(diagnostic);
  if (w->text.size < at_least || !w->text.size)
    return BF_OK;
  int error = bf_writer_write(w->writer, w->text.data, w->text.size, diagnostic);
  bf_text_free(&w->text);
  return error;
}

static int write_workload(writing *w, const char *word, const bf_workload *workload,
                          bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    bf_text_addf(&w->text, "%s\t", word);
    bf_trace_print_line(bf_workload_get(workload, i), &w->text);
    BF_TRY(flush(w, 1 << 20, diagnostic));
  }
  return BF_OK;
}

static int write_function(writing *w, const rt_function *function, bf_diagnostic *diagnostic) {
  bf_observed own;
  uint64_t launches = 0;
  BF_TRY(bf_observer_get(function->accesses, &own, diagnostic));
  for (const rt_tally *tally = function->tallies; tally; tally = tally->next)
    launches += tally->launches;
  bf_text_addf(&w->text, "kernel\t%s\t%llu\t%d\n", function->name, (unsigned long long)launches,
               own.is_cut);
  BF_TRY(write_workload(w, "written", own.written, diagnostic));
  return write_workload(w, "merged", own.merged, diagnostic);
}

/* Writes the PTX of a module and the functions of it, where any was launched. */
static int write_module(writing *w, const rt_module *module, bf_diagnostic *diagnostic) {
  bool is_written = false;
  for (const rt_function *f = w->context->functions; f; f = f->next) {
    if (f->module != module || !f->accesses)
      continue;
    if (!is_written) {
      char path[4096];
      bf_text ptx = {0};
      snprintf(path, sizeof path, "%s/%ld-%u.ptx", w->context->settings.accesses, (long)getpid(),
               ++w->modules);
      bf_ptx_print(module->ptx, &ptx);
      int error = ptx.failed ? bf_no_memory(diagnostic)
                             : bf_write_file(path, ptx.data, ptx.size, diagnostic);
      bf_text_free(&ptx);
      BF_TRY(error);
      bf_text_addf(&w->text, "module\t%u\n", w->modules);
      is_written = true;
    }
    BF_TRY(write_function(w, f, diagnostic));
  }
  return flush(w, 0, diagnostic);
}

void rt_write_accesses(rt_context *context) {
  char path[4096];
  writing w = {.context = context};
  bf_diagnostic diagnostic = {.caret = -1};
  if (!context->settings.accesses)
    return;
  snprintf(path, sizeof path, "%s/%ld", context->settings.accesses, (long)getpid());
  int error = bf_writer_open(path, false, &w.writer, &diagnostic);
  for (const rt_module *m = context->modules; m && !error; m = m->next)
    error = write_module(&w, m, &diagnostic);
  if (!error)
    error = bf_writer_commit(w.writer, &diagnostic);
  if (error)
    rt_say(context, "the accesses of kernels were not written: %s", diagnostic.message);
  bf_writer_close(w.writer);
  bf_text_free(&w.text);
}
