/* Kernels run on the simulator; what a launch took is taken from the ledger, which is emptied. */
#include "reproduce/voting/device.h"

#include "kernels/sim_device.h"
#include "reproduce/reproduce.h"

#include <stdlib.h>

const char *const bf_voting_layout_names[BF_VOTING_LAYOUTS] = {"bin_major", "copy_major", "padded"};

/* ---- Devices ---- */

/* Our PTX has addresses of 64 bits and is not what these GPUs were given: their registers hold as
 * many threads as they can have. */
enum { MANY_REGISTERS = 1 << 20 };

int bf_voting_device_create(const char *name, const char *ptx, unsigned sms,
                            bf_voting_device *device, bf_diagnostic *diagnostic) {
  *device = (bf_voting_device){0};
  BF_TRY(bf_sim_gpu_load(name, &device->gpu, diagnostic));
  if (sms)
    device->gpu->sms = sms;
  device->gpu->registers_per_sm = MANY_REGISTERS;
  device->ledger.settings = (bf_sim_settings){.gpu = device->gpu, .workers = 1};
  BF_TRY(bf_sim_device_create(ptx, bf_reproduce_ptx(ptx), &device->ledger, &device->device,
                              diagnostic));
  device->is_made = true;
  return BF_OK;
}

void bf_voting_device_free(bf_voting_device *device) {
  if (device->is_made)
    bf_emu_device_free(&device->device);
  bf_sim_ledger_free(&device->ledger);
  bf_sim_gpu_free(device->gpu);
  *device = (bf_voting_device){0};
}

/* ---- Launches ---- */

int bf_voting_run(bf_voting_device *device, const bf_voting_launch *launch, double *seconds,
                  bf_diagnostic *diagnostic) {
  char kernel[60];
  snprintf(kernel, sizeof kernel, "%s%s%s", launch->kernel, launch->is_only_one ? "" : "_",
           launch->is_only_one ? "" : bf_voting_layout_names[launch->layout]);
  bf_device_launch described = {.kernel = kernel,
                                .grid = {launch->blocks, 1, 1},
                                .block = {launch->threads, 1, 1},
                                .dynamic_shared_bytes = launch->shared_bytes,
                                .parameters = launch->parameters,
                                .parameter = launch->parameter};
  int error = device->device.launch(device->device.context, &described, diagnostic);
  for (size_t i = 0; i < device->ledger.launches; i++)
    *seconds += device->ledger.launch[i].result.seconds;
  bf_sim_settings settings = device->ledger.settings;
  bf_sim_ledger_free(&device->ledger);
  device->ledger = (bf_sim_ledger){.settings = settings};
  return error;
}

/* ---- Memory ---- */

int bf_voting_clear(const bf_voting_device *device, uint64_t address, uint64_t size,
                    bf_diagnostic *diagnostic) {
  void *zeros = calloc(size ? size : 1, 1);
  if (!zeros)
    return bf_no_memory(diagnostic);
  int error = device->device.write(device->device.context, address, zeros, size, diagnostic);
  free(zeros);
  return error;
}

int bf_voting_upload(const bf_voting_device *device, const void *bytes, uint64_t size,
                     uint64_t *address, bf_diagnostic *diagnostic) {
  BF_TRY(device->device.alloc(device->device.context, size, address, diagnostic));
  if (!bytes)
    return bf_voting_clear(device, *address, size, diagnostic);
  return device->device.write(device->device.context, *address, bytes, size, diagnostic);
}

/* The first of count votes that is not the one wanted; count: all are. */
static uint64_t find_wrong(const uint32_t *votes, const uint32_t *wanted, uint64_t count) {
  uint64_t i = 0;
  while (i < count && votes[i] == wanted[i])
    i++;
  return i;
}

int bf_voting_compare(const bf_voting_device *device, uint64_t address, const uint32_t *wanted,
                      uint64_t count, bf_diagnostic *diagnostic) {
  uint32_t *votes = malloc(count * sizeof *votes);
  if (!votes)
    return bf_no_memory(diagnostic);
  int error = device->device.read(device->device.context, address, votes, count * sizeof *votes,
                                  diagnostic);
  uint64_t wrong = !error ? find_wrong(votes, wanted, count) : count;
  if (wrong < count)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "bin %llu has %u votes where the reference has %u",
                    (unsigned long long)wrong, votes[wrong], wanted[wrong]);
  free(votes);
  return error;
}

/* ---- Sizes ---- */

/* As layout_words of gpu/vote/published.cu: whole rows of 32 words. */
uint64_t bf_voting_words(bf_voting_layout layout, uint64_t bins, unsigned copies) {
  uint64_t words = (bins + (layout == BF_VOTING_PADDED)) * copies;
  return (words + 31) / 32 * 32;
}

bool bf_voting_fits(const bf_sim_gpu *gpu, unsigned blocks, unsigned threads, uint64_t bytes) {
  enum { BESIDE = 64 }; /* a few words that kernels have of their own */
  return blocks <= gpu->blocks_per_sm && (uint64_t)blocks * threads <= gpu->warps_per_sm * 32 &&
         blocks * (bytes + BESIDE) <= gpu->shared_bytes_per_sm;
}
