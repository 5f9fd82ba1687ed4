/* Reading a whole trace into a workload: the one step from files to weighted sets that needs to
 * know a machine. */
#include "memory/memory.h"

#include <stdlib.h>

/* Steps after which the clock is looked at. */
enum { STEPS_TIMED = 1 << 12 };

static int explain(int error, const char *path, bf_diagnostic *diagnostic) {
  if (error == BF_UNSUPPORTED)
    return bf_fail_file(diagnostic, error, path,
                        "too many distinct accesses or sites to keep in memory");
  return bf_no_memory(diagnostic);
}

/* A workload that is being read, and which of its accesses each slot of the reader stands for. */
typedef struct reading {
  bf_workload *workload;
  bf_reading_limits *limits;
  int error; /* of places that were found while repeats were told */
  size_t index_without_slot;
  size_t index[BF_REPEATS];
} reading;

static void add_repeats(void *context, uint32_t slot, uint64_t executions) {
  reading *r = context;
  if (!r->error)
    r->error = bf_workload_settle(r->workload);
  if (!r->error && r->index[slot] != BF_WORKLOAD_LEFT_OUT)
    bf_workload_count(r->workload, r->index[slot], executions);
}

/* Leaves half of the different accesses out; repeats are learnt anew. */
static int thin_out(reading *r, bf_repeats *repeats) {
  BF_TRY(bf_workload_settle(r->workload));
  bf_repeats_flush(repeats);
  bf_repeats_clear(repeats);
  return r->error ? r->error : bf_workload_thin(r->workload);
}

/* Whether nothing more is to be read; asked now and then, so that some accesses always are. */
static bool is_enough(const bf_trace *trace, bf_reading_limits *limits) {
  uint64_t bytes, size;
  bf_trace_place(trace, &bytes, &size);
  bool is_stopped = limits->tell && !limits->tell(limits->context, bytes, size);
  bool is_late = size && limits->until > 0 && bf_seconds() >= limits->until;
  if (is_stopped || is_late)
    limits->read = size ? (double)bytes / (double)size : 0;
  return is_stopped || is_late;
}

static int add_all(bf_trace *trace, const char *path, reading *r, bf_repeats *repeats,
                   bf_diagnostic *diagnostic) {
  const bf_access *access = NULL;
  uint32_t slot;
  int result, error = BF_OK;
  unsigned steps = 0;
  while (!error && (result = bf_trace_step_past(trace, repeats, &access, &slot, diagnostic)) != 0) {
    if (result < 0)
      return result;
    size_t *index = slot == BF_REPEATS_NONE ? &r->index_without_slot : &r->index[slot];
    if (result == 1)
      error = bf_workload_place_later(r->workload, access, index);
    error = r->error ? r->error : error;
    if (!error && bf_workload_size(r->workload) > r->limits->most)
      error = thin_out(r, repeats);
    if ((result == 2 || ++steps % STEPS_TIMED == 0) && is_enough(trace, r->limits))
      break;
  }
  if (!error)
    error = bf_workload_settle(r->workload);
  if (!error)
    bf_repeats_flush(repeats);
  error = r->error ? r->error : error;
  return error ? explain(error, path, diagnostic) : BF_OK;
}

/* Adds all accesses that are left in a trace. */
static int read_all(bf_trace *trace, const char *name, bf_reading_limits *limits,
                    bf_workload *workload, bf_diagnostic *diagnostic) {
  reading *r = calloc(1, sizeof *r);
  bf_repeats *repeats = NULL;
  if (!r)
    return bf_no_memory(diagnostic);
  r->workload = workload;
  r->limits = limits;
  limits->read = 1;
  int error = bf_repeats_create(add_repeats, r, &repeats, diagnostic);
  if (!error)
    error = add_all(trace, name, r, repeats, diagnostic);
  bf_repeats_free(repeats);
  free(r);
  return error;
}

/* Reads what is left of a trace with a new workload, which is not one where memory was exhausted.
 */
static int fill(bf_trace *trace, const char *name, bf_reading_limits *limits, int created,
                bf_workload *workload, bf_workload **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  int error = created == BF_OK ? read_all(trace, name, limits, workload, diagnostic)
                               : bf_no_memory(diagnostic);
  if (error)
    bf_workload_free(workload);
  else
    *out = workload;
  return error;
}

int bf_workload_sample(bf_trace *trace, const char *name, bf_reading_limits *limits, unsigned lanes,
                       bf_workload **out, bf_diagnostic *diagnostic) {
  bf_workload *workload = NULL;
  int created = lanes <= 32 ? bf_workload_create_narrow(&workload) : bf_workload_create(&workload);
  return fill(trace, name, limits, created, workload, out, diagnostic);
}

int bf_workload_take(bf_trace *trace, const char *name, bf_workload **out,
                     bf_diagnostic *diagnostic) {
  bf_workload *workload = NULL;
  bf_reading_limits all = {.most = SIZE_MAX};
  int created = bf_workload_create(&workload);
  return fill(trace, name, &all, created, workload, out, diagnostic);
}

int bf_workload_read(const char *path, const bf_machine *machine, bf_workload **out,
                     bf_diagnostic *diagnostic) {
  return bf_workload_read_form(path, BF_TRACE_OWN, machine, out, diagnostic);
}

int bf_workload_read_form(const char *path, bf_trace_form form, const bf_machine *machine,
                          bf_workload **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  BF_TRY(bf_trace_open_form(path, form, &limits, &trace, diagnostic));
  int error = bf_workload_take(trace, path, out, diagnostic);
  bf_trace_close(trace);
  return error;
}

int bf_workload_read_sample(const char *path, bf_trace_form form, bf_reading_limits *most,
                            const bf_machine *machine, bf_workload **out,
                            bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  BF_TRY(bf_trace_open_form(path, form, &limits, &trace, diagnostic));
  int error = bf_workload_sample(trace, path, most, limits.lanes, out, diagnostic);
  bf_trace_close(trace);
  return error;
}
