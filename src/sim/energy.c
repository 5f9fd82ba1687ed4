/* Energy of a launch: what leaks and what clocks take while it runs, and for each thing that was
 * done the energy of doing it once. How the numbers of a GPU were found stands in its file. */
#include "sim/sim.h"

bool bf_sim_energy_find(const bf_sim_gpu *gpu, const bf_sim_result *result, bf_sim_energy *energy) {
  const double each[BF_SIM_ACTIVITIES] = {gpu->int_picojoules,    gpu->float_picojoules,
                                          gpu->double_picojoules, gpu->special_picojoules,
                                          gpu->matrix_picojoules, gpu->issue_picojoules};
  double dram_bytes = (double)(result->dram_read_bytes + result->dram_written_bytes);
  *energy = (bf_sim_energy){.idle = gpu->static_watts * result->seconds};
  if (gpu->static_watts <= 0)
    return false;
  for (unsigned i = 0; i < BF_SIM_ACTIVITIES; i++)
    energy->issue += 1e-12 * each[i] * (double)result->activity[i];
  energy->shared = 1e-12 * gpu->shared_picojoules * (double)result->shared_wavefronts;
  energy->l1 = 1e-12 * gpu->l1_picojoules * (double)result->global_sectors;
  energy->l2 = 1e-12 * gpu->l2_picojoules * (double)(result->l2_hits + result->l2_misses);
  energy->dram = 1e-12 * gpu->dram_picojoules * dram_bytes;
  energy->total =
      energy->idle + energy->issue + energy->shared + energy->l1 + energy->l2 + energy->dram;
  double turns = result->turns ? (double)result->turns : 1;
  energy->conflicts = 1e-12 * gpu->shared_picojoules * (double)result->shared_conflicts +
                      energy->idle * (double)result->stalls[BF_SIM_CONFLICT] / turns;
  return true;
}

bf_sim_site_energy bf_sim_energy_of_site(const bf_sim_gpu *gpu, const bf_sim_result *result,
                                         const bf_sim_energy *energy, const bf_sim_site *site) {
  double each = 1e-12 * gpu->shared_picojoules, all = (double)result->shared_conflicts;
  double rest = energy->conflicts - each * all; /* while schedulers wait for conflicts */
  bf_sim_site_energy found = {.conflicts = each * (double)site->conflicts};
  if (all > 0)
    found.conflicts += rest * (double)site->conflicts / all;
  found.total = found.conflicts + each * (double)(site->wavefronts - site->conflicts);
  return found;
}
