/* Lets allocation number 0, 1, 2, ... fail while a built-in GPU, which has a base and a machine, is
 * loaded and changed: each time the answer is that memory ran out. Leaks are found by the
 * sanitizer.
 */
#include "../failing_memory.h"
#include "sim/sim.h"

static int try_load(const void *name) {
  bf_sim_gpu *gpu;
  int result = verdict(bf_sim_gpu_load(name, &gpu, NULL));
  bf_sim_gpu_free(gpu);
  return result;
}

static int try_set(const void *name) {
  bf_sim_gpu *gpu;
  long number = left;
  left = -1;
  if (bf_sim_gpu_load(name, &gpu, NULL) != BF_OK)
    return -1;
  left = number;
  int error = bf_sim_gpu_set(gpu, "sms=3", NULL);
  if (error == BF_OK)
    error = bf_sim_gpu_set(gpu, "machine=kepler", NULL);
  int result = verdict(error);
  bf_sim_gpu_free(gpu);
  return result;
}

int main(void) {
  bool fine = all_fail_well("load", try_load, "titan");
  fine &= all_fail_well("set", try_set, "titan");
  return !fine;
}
