/* Keeping accesses. */
#include "tune/observe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct bf_observer {
  pthread_mutex_t lock; /* kernels run on several threads */
  bf_observed kept;
  bf_rewrite_result own; /* where nobody else has examined the module */
  const char **array;    /* per site: the array that it is known to access, or NULL */
  uint64_t missing_ops;
  size_t *budget; /* or NULL */
  bool has_failed;
};

/* ---- Making ---- */

/* Finds out which arrays the sites of a kernel access. */
static int name_sites(bf_observer *observer, const bf_emu_kernel *kernel,
                      const bf_rewrite_result *examined, bf_diagnostic *diagnostic) {
  unsigned sites = bf_emu_kernel_sites(kernel);
  observer->array = calloc((size_t)sites + 1, sizeof *observer->array);
  if (!observer->array)
    return bf_no_memory(diagnostic);
  if (!examined) {
    BF_TRY(bf_rewrite_examine(bf_emu_kernel_ptx(kernel), &observer->own, diagnostic));
    examined = &observer->own;
  }
  for (unsigned k = 0; k < examined->kernels; k++)
    for (unsigned i = 0;
         strcmp(examined->kernel[k].name, bf_emu_kernel_name(kernel)) == 0 && i < sites; i++)
      observer->array[i] = bf_rewrite_accessed_array(&examined->kernel[k],
                                                     bf_emu_kernel_site(kernel, i).instruction);
  return BF_OK;
}

int bf_observer_create(const bf_machine *machine, const bf_emu_kernel *kernel,
                       const bf_rewrite_result *examined, size_t *budget, bf_observer **observer,
                       bf_diagnostic *diagnostic) {
  bf_observer *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->missing_ops = bf_machine_limits(machine).missing_ops;
  made->budget = budget;
  pthread_mutex_init(&made->lock, NULL);
  int error = bf_workload_create(&made->kept.written);
  if (!error)
    error = bf_workload_create(&made->kept.merged);
  error = error ? bf_no_memory(diagnostic) : name_sites(made, kernel, examined, diagnostic);
  if (error)
    bf_observer_free(made);
  else
    *observer = made;
  return error;
}

void bf_observer_free(bf_observer *observer) {
  if (!observer)
    return;
  pthread_mutex_destroy(&observer->lock);
  bf_workload_free(observer->kept.written);
  bf_workload_free(observer->kept.merged);
  bf_rewrite_free(&observer->own);
  free(observer->array);
  free(observer);
}

/* ---- Keeping ---- */

/* Adds an access to one of the workloads, where there is room. */
static void add(bf_observer *observer, bf_workload *to, const bf_access *access) {
  size_t before = bf_workload_size(to);
  if (before >= BF_OBSERVE_MOST || (observer->budget && !*observer->budget))
    observer->kept.is_cut = true;
  else if (bf_workload_add(to, access) != BF_OK)
    observer->has_failed = true;
  else if (observer->budget)
    *observer->budget -= bf_workload_size(to) - before;
}

/* Keeps an access to shared memory that the machine knows. */
static void keep(bf_observer *observer, bf_workload *to, const bf_emu_event *event) {
  if (!event->shared_address || observer->missing_ops >> event->op & 1)
    return;
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = observer->array[event->site]};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  pthread_mutex_lock(&observer->lock);
  add(observer, to, &access);
  pthread_mutex_unlock(&observer->lock);
}

static void keep_merged(void *context, const bf_emu_event *event) {
  bf_observer *observer = context;
  keep(observer, observer->kept.merged, event);
}

static void keep_written(void *context, const bf_emu_event *event) {
  bf_observer *observer = context;
  keep(observer, observer->kept.written, event);
}

bf_emu_observer bf_observer_watch(bf_observer *observer) {
  return (bf_emu_observer){
      .access = keep_merged, .written = keep_written, .context = observer, .as_merged = true};
}

int bf_observer_get(const bf_observer *observer, bf_observed *observed, bf_diagnostic *diagnostic) {
  *observed = observer->kept;
  return observer->has_failed ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_observer_take(bf_observer *observer, bf_observed *observed, bf_diagnostic *diagnostic) {
  BF_TRY(bf_observer_get(observer, observed, diagnostic));
  observer->kept.written = observer->kept.merged = NULL;
  return BF_OK;
}
