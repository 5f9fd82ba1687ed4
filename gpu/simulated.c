/* gpu/simulated: benchmarks of the corpus on a simulated H200. */
#include "gpu/simulated.h"

#include "kernels/devices.h"

enum { H200_SMS = 132 };

unsigned gpu_simulated_scale(unsigned scale, unsigned sms) {
  unsigned own = 1;
  while (own * 2 * H200_SMS <= scale * sms)
    own *= 2;
  return own;
}

int gpu_simulated_load(bool is_whole, bf_sim_gpu **gpu, bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"launch_cycles=0", "sms=4", "l2_slices=4",
                                        "dram_channels=4"};
  BF_TRY(bf_sim_gpu_load("h200", gpu, diagnostic));
  for (unsigned i = 0; i < (is_whole ? 1 : sizeof changes / sizeof *changes); i++)
    BF_TRY(bf_sim_gpu_set(*gpu, changes[i], diagnostic));
  return bf_sim_gpu_check(*gpu, diagnostic);
}

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

int gpu_simulated_run(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                      const char *ptx, const bf_trial_options *options, bf_trial *trial,
                      bf_diagnostic *diagnostic) {
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
