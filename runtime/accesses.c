/* The accesses that kernels made, for bankfold exec --save-hashes, which chooses hashes from them.
 * They are kept as the PTX has them and as ptxas merges them, equal ones once with a count, in
 * bounded memory, with the array that an access is known to be to as its site; and are written at
 * the end of the process (exchange/accesses.h). */
#include "exchange/accesses.h"
#include "context.h"

#include <stdlib.h>
#include <string.h>

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

/* Moves what was kept of a function to the last module. */
static int add_function(const rt_function *function, bf_accesses *accesses,
                        bf_diagnostic *diagnostic) {
  bf_observed own;
  bf_accesses_kernel *kernel =
      bf_accesses_add_kernel(accesses, &accesses->module[accesses->modules - 1], function->name);
  if (!kernel)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_observer_take(function->accesses, &own, diagnostic));
  for (const rt_tally *tally = function->tallies; tally; tally = tally->next)
    kernel->launches += tally->launches;
  kernel->is_cut = own.is_cut;
  kernel->written = own.written;
  kernel->merged = own.merged;
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
