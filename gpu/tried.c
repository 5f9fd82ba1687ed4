/* The launches of a benchmark, each observed and executed as its trial says. */
#include "gpu/tried.h"

#include "kernels/devices.h"

static int before_launch(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  return bf_trial_before(context, launch, diagnostic);
}

static int execute_launch(void *context, bf_emu *emu, const bf_emu_launch *launch,
                          bf_emu_result *result, bf_diagnostic *diagnostic) {
  return bf_trial_execute(context, emu, launch, NULL, result, diagnostic);
}

static int after_launch(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                        bf_diagnostic *diagnostic) {
  return bf_trial_after(context, launch, result, diagnostic);
}

int gpu_try(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed, const char *ptx,
            const bf_trial_options *options, bf_trial *trial, bf_diagnostic *diagnostic) {
  bf_device device;
  bf_trial_watch *watch;
  bf_corpus_outcome outcome = {0};
  BF_TRY(bf_trial_open(options, trial, &watch, diagnostic));
  bf_emu_device_options device_options = {.workers = 1,
                                          .before = before_launch,
                                          .execute = execute_launch,
                                          .after = after_launch,
                                          .context = watch};
  int error = bf_emu_device_create(benchmark->name, ptx, &device_options, &device, diagnostic);
  if (!error) {
    error = bf_corpus_execute(benchmark, &device, scale, seed, &outcome, diagnostic);
    bf_emu_device_free(&device);
  }
  bf_trial_close(watch);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", benchmark->name, outcome.first_wrong);
  return error;
}
