/* Energy of launches beside what was measured; part of h200-launches. */
#ifndef BF_H200_ENERGY_H
#define BF_H200_ENERGY_H

#include "kernels/launches.h"
#include "reproduce/reproduce.h"
#include "sim/sim.h"

/* A launch and what the simulator found: counts and seconds alone, without its arena. */
typedef struct h200_active {
  const bf_listed_launch *launch;
  bf_sim_result result;
} h200_active;

void h200_energy_report(bf_reproduce_run *run, const bf_sim_gpu *gpu, const h200_active *active,
                        unsigned count);

#endif
