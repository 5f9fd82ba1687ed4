/* Traces of the launches of a description. */
#include "emu/launches.h"

typedef struct tracing {
  bf_tracer *tracer;
  bool is_merged;
  bf_emu_observer observer;
} tracing;

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  tracing *work = context;
  BF_TRY(bf_tracer_begin(work->tracer, launch->kernel, &work->observer, diagnostic));
  work->observer.as_merged = work->is_merged;
  launch->observer = &work->observer;
  return BF_OK;
}

int bf_launches_trace(const bf_launches *launches, const char *path, bool is_merged,
                      uint64_t *lines, bf_diagnostic *diagnostic) {
  tracing work = {.is_merged = is_merged};
  bf_launches own = *launches;
  uint64_t executions;
  own.before = before;
  own.context = &work;
  BF_TRY(bf_tracer_open(path, false, &work.tracer, diagnostic));
  int error = bf_launches_run(&own, diagnostic);
  if (!error)
    error = bf_tracer_commit(work.tracer, diagnostic);
  bf_tracer_count(work.tracer, lines, &executions);
  bf_tracer_close(work.tracer);
  return error;
}
