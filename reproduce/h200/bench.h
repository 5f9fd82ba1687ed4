/* Small kernels written here and timed by their own clock on the simulator. */
#ifndef BF_REPRODUCE_H200_BENCH_H
#define BF_REPRODUCE_H200_BENCH_H

#include "sim/sim.h"

/* One access that a warp makes again and again. */
typedef struct h200_access {
  char op[16]; /* ld, st, atom, red, fatom */
  unsigned width_bytes;
  uint32_t mask;
  uint32_t address[BF_EMU_LANES];
  double cycles; /* measured, per instruction */
} h200_access;

enum { H200_TIMES = 32 }; /* back to back */

/* Cycles per instruction of one warp that makes an access H200_TIMES times. */
int h200_time_access(const bf_sim_gpu *gpu, const h200_access *access, double *cycles,
                     bf_diagnostic *diagnostic);

#endif
