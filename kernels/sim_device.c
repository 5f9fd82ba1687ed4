/* The simulator as a bf_device: an emulator whose launches are simulated. */
#include "kernels/sim_device.h"

#include "kernels/devices.h"

/* Simulates a launch, in place of bf_emu_run. */
static int simulate(void *ledger, bf_emu *emu, const bf_emu_launch *launch, bf_emu_result *result,
                    bf_diagnostic *diagnostic) {
  return bf_sim_ledger_run(ledger, emu, launch, NULL, result, diagnostic);
}

int bf_sim_device_create(const char *name, const char *ptx, bf_sim_ledger *ledger,
                         bf_device *device, bf_diagnostic *diagnostic) {
  bf_emu_device_options options = {
      .workers = ledger->settings.workers, .execute = simulate, .context = ledger};
  return bf_emu_device_create(name, ptx, &options, device, diagnostic);
}

int bf_corpus_simulate(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                       bf_sim_ledger *ledger, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  bf_device device;
  BF_TRY(bf_sim_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), ledger, &device,
                              diagnostic));
  int error = bf_corpus_execute(benchmark, &device, scale, seed, outcome, diagnostic);
  bf_emu_device_free(&device);
  return error;
}
