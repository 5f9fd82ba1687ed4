/* Benchmarks on the emulator: a profile per launch, or all accesses as a workload. */
#include "kernels/measure.h"

#include "kernels/devices.h"

#include <stdlib.h>
#include <string.h>

/* ---- Profiles ---- */

typedef struct measuring {
  const bf_corpus_settings *settings;
  bf_corpus_measured *measured;
  unsigned capacity;
  bf_profile *profile; /* of the launch that runs */
  bf_emu_observer observer;
} measuring;

static int before_launch(void *context, struct bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  measuring *work = context;
  const bf_corpus_settings *settings = work->settings;
  BF_TRY(bf_profile_create(settings->machine, settings->hash, launch->kernel, settings->workers,
                           &work->profile, diagnostic));
  work->observer = bf_profile_observer(work->profile);
  work->observer.as_merged = !settings->as_written;
  launch->observer = &work->observer;
  return BF_OK;
}

static void add_row(bf_corpus_launched *to, const bf_profile_row *row) {
  to->accesses += row->executions;
  to->wavefronts_load += row->wavefronts_load;
  to->wavefronts_store += row->wavefronts_store;
  to->wavefronts_atomic += row->wavefronts_atomic;
  to->ideal += row->ideal;
  to->conflicts += row->conflicts;
  to->estimated |= row->estimated;
}

/* Room for one more launch. */
static bf_corpus_launched *add_launch(measuring *work) {
  bf_corpus_measured *measured = work->measured;
  if (measured->launches == work->capacity) {
    unsigned capacity = work->capacity ? 2 * work->capacity : 16;
    bf_corpus_launched *grown = bf_arena_alloc(&measured->arena, capacity * sizeof *grown);
    if (!grown)
      return NULL;
    if (measured->launches)
      memcpy(grown, measured->launch, measured->launches * sizeof *grown);
    measured->launch = grown;
    work->capacity = capacity;
  }
  return &measured->launch[measured->launches++];
}

static int after_launch(void *context, const struct bf_emu_launch *launch,
                        const struct bf_emu_result *result, bf_diagnostic *diagnostic) {
  measuring *work = context;
  bf_corpus_launched *launched = add_launch(work);
  if (!launched)
    return bf_no_memory(diagnostic);
  launched->kernel = bf_arena_copy(&work->measured->arena, bf_emu_kernel_name(launch->kernel));
  launched->thread_instructions = result->thread_instructions;
  work->measured->total.thread_instructions += result->thread_instructions;
  for (unsigned i = 0; i < bf_emu_kernel_sites(launch->kernel); i++) {
    bf_profile_row row = bf_profile_get(work->profile, i);
    if (row.failed)
      return bf_fail(diagnostic, BF_BAD_INPUT, "machine %s cannot make an access of kernel %s",
                     bf_machine_name(work->settings->machine), launched->kernel);
    add_row(launched, &row);
    add_row(&work->measured->total, &row);
  }
  bf_profile_free(work->profile);
  work->profile = NULL;
  return BF_OK;
}

/* Runs a benchmark on a new emulator with the given callbacks. */
static int run_on_emulator(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                           const bf_emu_device_options *options, bf_corpus_outcome *outcome,
                           bf_diagnostic *diagnostic) {
  bf_device device;
  const char *ptx = settings->ptx ? settings->ptx : bf_corpus_ptx(benchmark->folder);
  BF_TRY(bf_emu_device_create(benchmark->folder, ptx, options, &device, diagnostic));
  int error =
      bf_corpus_execute(benchmark, &device, settings->scale, settings->seed, outcome, diagnostic);
  bf_emu_device_free(&device);
  return error;
}

int bf_corpus_measure(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                      bf_corpus_measured *measured, bf_diagnostic *diagnostic) {
  *measured = (bf_corpus_measured){0};
  measuring work = {.settings = settings, .measured = measured};
  bf_emu_device_options options = {.workers = settings->workers,
                                   .before = before_launch,
                                   .after = after_launch,
                                   .context = &work};
  double start = bf_seconds();
  int error = run_on_emulator(benchmark, settings, &options, &measured->outcome, diagnostic);
  measured->seconds = bf_seconds() - start;
  bf_profile_free(work.profile);
  if (error)
    bf_arena_free(&measured->arena);
  return error;
}

/* ---- Workloads ---- */

typedef struct recording {
  bf_workload *workload;
  bf_emu_observer observer;
  bool failed;
} recording;

static void record_access(void *context, const bf_emu_event *event) {
  recording *work = context;
  bf_access access = {
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  memcpy(access.address, event->shared_address, BF_EMU_LANES * sizeof *access.address);
  work->failed |= bf_workload_add(work->workload, &access) != BF_OK;
}

static int before_recording(void *context, struct bf_emu_launch *launch,
                            bf_diagnostic *diagnostic) {
  (void)diagnostic;
  recording *work = context;
  launch->observer = &work->observer;
  return BF_OK;
}

int bf_corpus_record(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                     bf_workload **workload, bf_diagnostic *diagnostic) {
  recording work = {.observer = {.access = record_access, .as_merged = !settings->as_written}};
  work.observer.context = &work;
  if (bf_workload_create(&work.workload) != BF_OK)
    return bf_no_memory(diagnostic);
  /* One worker: a workload has no locks. */
  bf_emu_device_options options = {.workers = 1, .before = before_recording, .context = &work};
  bf_corpus_outcome outcome = {0};
  int error = run_on_emulator(benchmark, settings, &options, &outcome, diagnostic);
  if (!error && work.failed)
    error = bf_no_memory(diagnostic);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", benchmark->name, outcome.first_wrong);
  if (error)
    bf_workload_free(work.workload);
  else
    *workload = work.workload;
  return error;
}
