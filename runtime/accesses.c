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
#include "rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Different accesses of a kernel, in each form, and of all kernels together; each takes some
 * hundred bytes. */
enum { MOST_OF_KERNEL = 1 << 16, MOST_OF_ALL = 1 << 18 };

typedef struct rt_accesses {
  pthread_mutex_t lock; /* kernels run on several threads */
  bf_workload *written, *merged;
  bf_rewrite_result *examined;
  const char **array; /* per site: the array that it is known to access, or NULL */
  uint64_t missing_ops;
  size_t *kinds_kept; /* of the context */
  bool is_cut, has_failed;
} rt_accesses;

/* ---- Keeping ---- */

/* Adds an access to one of the workloads. */
static void keep(rt_accesses *own, bf_workload *to, const bf_emu_event *event) {
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = own->array[event->site]};
  if (!event->shared_address || own->missing_ops >> event->op & 1)
    return;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  pthread_mutex_lock(&own->lock);
  size_t before = bf_workload_size(to);
  if (before >= MOST_OF_KERNEL || *own->kinds_kept >= MOST_OF_ALL)
    own->is_cut = true;
  else if (bf_workload_add(to, &access) != BF_OK)
    own->has_failed = true;
  else
    *own->kinds_kept += bf_workload_size(to) - before;
  pthread_mutex_unlock(&own->lock);
}

static void keep_merged(void *context, const bf_emu_event *event) {
  rt_accesses *own = context;
  keep(own, own->merged, event);
}

static void keep_written(void *context, const bf_emu_event *event) {
  rt_accesses *own = context;
  keep(own, own->written, event);
}

/* Finds out which arrays the sites of a function access; a bf_error. What is found lives as long as
 * the process. */
static int name_sites(const rt_function *function, rt_accesses *own, bf_diagnostic *diagnostic) {
  bf_rewrite_result *examined = calloc(1, sizeof *examined);
  unsigned sites = bf_emu_kernel_sites(function->kernel);
  own->array = calloc((size_t)sites + 1, sizeof *own->array);
  if (!examined || !own->array) {
    free(examined);
    return bf_no_memory(diagnostic);
  }
  own->examined = examined;
  BF_TRY(bf_rewrite_examine(function->module->ptx, examined, diagnostic));
  for (unsigned k = 0; k < examined->kernels; k++)
    for (unsigned i = 0; strcmp(examined->kernel[k].name, function->name) == 0 && i < sites; i++)
      own->array[i] = bf_rewrite_accessed_array(
          &examined->kernel[k], bf_emu_kernel_site(function->kernel, i).instruction);
  return BF_OK;
}

/* Frees what was made for a function, whole or in part. */
static void drop(rt_accesses *own) {
  if (own->examined)
    bf_rewrite_free(own->examined);
  free(own->examined);
  free(own->array);
  bf_workload_free(own->written);
  bf_workload_free(own->merged);
  free(own);
}

/* Makes what a function needs at its first launch; NULL where that fails. */
static rt_accesses *make(rt_context *context, const rt_function *function,
                         bf_diagnostic *diagnostic) {
  rt_accesses *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->missing_ops = bf_machine_limits(context->machine).missing_ops;
  made->kinds_kept = &context->kinds_kept;
  if (bf_workload_create(&made->written) != BF_OK || bf_workload_create(&made->merged) != BF_OK ||
      name_sites(function, made, diagnostic) != BF_OK) {
    drop(made);
    return NULL;
  }
  pthread_mutex_init(&made->lock, NULL);
  return made;
}

bf_emu_observer rt_keep_accesses(rt_context *context, rt_function *function) {
  bf_diagnostic diagnostic = {.caret = -1, .message = "out of memory"};
  if (!function->accesses)
    function->accesses = make(context, function, &diagnostic);
  if (!function->accesses) {
    rt_say(context, "accesses of kernel %s are not kept: %s", function->name, diagnostic.message);
    return (bf_emu_observer){0};
  }
  return (bf_emu_observer){.access = keep_merged,
                           .written = keep_written,
                           .context = function->accesses,
                           .as_merged = true};
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
  const rt_accesses *own = function->accesses;
  uint64_t launches = 0;
  if (own->has_failed)
    return bf_no_memory(diagnostic);
  for (const rt_tally *tally = function->tallies; tally; tally = tally->next)
    launches += tally->launches;
  bf_text_addf(&w->text, "kernel\t%s\t%llu\t%d\n", function->name, (unsigned long long)launches,
               own->is_cut);
  BF_TRY(write_workload(w, "written", own->written, diagnostic));
  return write_workload(w, "merged", own->merged, diagnostic);
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
