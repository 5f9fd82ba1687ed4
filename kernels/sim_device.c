/* The simulator as a bf_device: an emulator whose launches are simulated. */
#include "kernels/sim_device.h"

#include "kernels/devices.h"

static int before_launch(void *context, struct bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  (void)diagnostic;
  bf_sim_record_attach(context, launch);
  return BF_OK;
}

int bf_sim_device_create(const char *name, const char *ptx, bf_sim_record *record,
                         bf_device *device, bf_diagnostic *diagnostic) {
  bf_emu_device_options options = {
      .workers = record->settings.workers, .before = before_launch, .context = record};
  return bf_emu_device_create(name, ptx, &options, device, diagnostic);
}

int bf_corpus_simulate(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                       bf_sim_record *record, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic) {
  bf_device device;
  BF_TRY(bf_sim_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), record, &device,
                              diagnostic));
  int error = bf_corpus_execute(benchmark, &device, scale, seed, outcome, diagnostic);
  bf_emu_device_free(&device);
  return error;
}
