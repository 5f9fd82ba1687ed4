/* Traces of launches: accesses are merged before they are written, so that loops do not fill the
 * disk. */
#include "emu/inner.h"

#include "ptx/site.h"

#include <stdlib.h>

/* Distinct accesses that are kept before they are written. */
enum { MOST_KEPT = 1 << 18 };

struct bf_tracer {
  pthread_mutex_t lock; /* kernels run on several threads */
  bf_trace_writer *writer;
  bf_workload *kept;
  bf_arena names;
  const char **site; /* of the kernel that runs */
  uint64_t lines, executions;
  bool has_failed;
  bf_diagnostic diagnostic;
};

int bf_tracer_open(const char *path, bool packed, bf_tracer **tracer, bf_diagnostic *diagnostic) {
  bf_tracer *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  pthread_mutex_init(&made->lock, NULL);
  int error = bf_trace_writer_open(path, packed, &made->writer, diagnostic);
  if (!error && bf_workload_create(&made->kept) != BF_OK)
    error = bf_no_memory(diagnostic);
  if (error)
    bf_tracer_close(made);
  else
    *tracer = made;
  return error;
}

/* Writes the accesses kept and forgets them. */
static int flush(bf_tracer *tracer, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < bf_workload_size(tracer->kept); i++) {
    const bf_access *access = bf_workload_get(tracer->kept, i);
    BF_TRY(bf_trace_writer_add(tracer->writer, access, diagnostic));
    tracer->lines++;
    tracer->executions += access->count;
  }
  bf_workload_free(tracer->kept);
  tracer->kept = NULL;
  if (bf_workload_create(&tracer->kept) != BF_OK)
    return bf_no_memory(diagnostic);
  return BF_OK;
}

/* A copy of the site of a kernel's access. */
static char *name_site(bf_arena *arena, const bf_emu_kernel *kernel, unsigned index) {
  bf_emu_site site = kernel->sites[index];
  bf_text name = {0};
  bf_site_write(kernel->function->name, site.source_file, site.source_line, site.line, &name);
  char *copy = name.failed ? NULL : bf_arena_copy(arena, name.data);
  bf_text_free(&name);
  return copy;
}

static void trace_access(void *context, const bf_emu_event *event) {
  bf_tracer *tracer = context;
  if (!event->shared_address)
    return;
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = tracer->site[event->site]};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  pthread_mutex_lock(&tracer->lock);
  if (!tracer->has_failed && bf_workload_add(tracer->kept, &access) != BF_OK)
    tracer->has_failed = bf_no_memory(&tracer->diagnostic) != BF_OK;
  if (!tracer->has_failed && bf_workload_size(tracer->kept) >= MOST_KEPT)
    tracer->has_failed = flush(tracer, &tracer->diagnostic) != BF_OK;
  pthread_mutex_unlock(&tracer->lock);
}

int bf_tracer_begin(bf_tracer *tracer, const bf_emu_kernel *kernel, bf_emu_observer *observer,
                    bf_diagnostic *diagnostic) {
  tracer->site = bf_arena_alloc(&tracer->names, (kernel->site_count + 1) * sizeof *tracer->site);
  for (unsigned i = 0; tracer->site && i < kernel->site_count; i++)
    if (!(tracer->site[i] = name_site(&tracer->names, kernel, i)))
      return bf_no_memory(diagnostic);
  if (!tracer->site)
    return bf_no_memory(diagnostic);
  *observer = (bf_emu_observer){.access = trace_access, .context = tracer, .as_merged = true};
  return BF_OK;
}

int bf_tracer_commit(bf_tracer *tracer, bf_diagnostic *diagnostic) {
  if (tracer->has_failed) {
    if (diagnostic)
      *diagnostic = tracer->diagnostic;
    return BF_IO;
  }
  BF_TRY(flush(tracer, diagnostic));
  return bf_trace_writer_commit(tracer->writer, diagnostic);
}

void bf_tracer_close(bf_tracer *tracer) {
  if (!tracer)
    return;
  if (tracer->writer)
    bf_trace_writer_close(tracer->writer);
  bf_workload_free(tracer->kept);
  bf_arena_free(&tracer->names);
  pthread_mutex_destroy(&tracer->lock);
  free(tracer);
}

void bf_tracer_count(const bf_tracer *tracer, uint64_t *lines, uint64_t *executions) {
  *lines = tracer->lines;
  *executions = tracer->executions;
}
