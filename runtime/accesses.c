/* The accesses that kernels made, for bankfold exec --save-hashes, which chooses hashes from them.
 * They are kept as the PTX has them and as ptxas merges them, equal ones once with a count, in
 * bounded memory, with the array that an access is known to be to as its site; and are written at
 * the end of the process (exchange/accesses.h). */
#include "exchange/accesses.h"
#include "context.h"
#include "rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>

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

/* Moves what was kept of a function to the last module. */
static int add_function(const rt_function *function, bf_accesses *accesses,
                        bf_diagnostic *diagnostic) {
  rt_accesses *own = function->accesses;
  bf_accesses_kernel *kernel =
      bf_accesses_add_kernel(accesses, &accesses->module[accesses->modules - 1], function->name);
  if (!kernel || own->has_failed)
    return bf_no_memory(diagnostic);
  for (const rt_tally *tally = function->tallies; tally; tally = tally->next)
    kernel->launches += tally->launches;
  kernel->is_cut = own->is_cut;
  kernel->written = own->written;
  kernel->merged = own->merged;
  own->written = own->merged = NULL;
  return BF_OK;
}

/* Adds a module and the functions of it, where any was launched. */
static int add_module(const rt_context *context, const rt_module *module, bf_accesses *accesses,
                      bf_diagnostic *diagnostic) {
  bool is_added = false;
  for (const rt_function *f = context->functions; f; f = f->next) {
    if (f->module != module || !f->accesses)
      continue;
    if (!is_added) {
      bf_text ptx = {0};
      bf_ptx_print(module->ptx, &ptx);
      is_added = !ptx.failed && bf_accesses_add_module(accesses, ptx.data);
      bf_text_free(&ptx);
    }
    BF_TRY(is_added ? add_function(f, accesses, diagnostic) : bf_no_memory(diagnostic));
  }
  return BF_OK;
}

void rt_write_accesses(rt_context *context) {
  bf_accesses accesses = {0};
  bf_diagnostic diagnostic = {.caret = -1};
  int error = BF_OK;
  if (!context->settings.accesses)
    return;
  for (const rt_module *m = context->modules; m && !error; m = m->next)
    error = add_module(context, m, &accesses, &diagnostic);
  if (!error)
    error = bf_accesses_write(context->settings.accesses, &accesses, &diagnostic);
  if (error)
    rt_say(context, "the accesses of kernels were not written: %s", diagnostic.message);
  bf_accesses_free(&accesses);
}
