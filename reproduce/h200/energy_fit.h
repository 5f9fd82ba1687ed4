/* Inside h200: the energies of a GPU's file from launches whose joules were measured. */
#ifndef BF_H200_ENERGY_FIT_H
#define BF_H200_ENERGY_FIT_H

#include "sim/sim.h"

/* A launch as it ran again and again: its counts, with the seconds of one, and the joules of one.
 */
typedef struct h200_energy_row {
  bf_sim_result result;
  double joules;
  bool is_fitted; /* of the training set */
} h200_energy_row;

enum { H200_ENERGIES = 8 };
extern const char *const h200_energy_names[H200_ENERGIES]; /* parameters of GPUs */

/* The value of one of them in a GPU. */
double *h200_energy_of(bf_sim_gpu *gpu, unsigned index);
/* Sets them in gpu to those, none below 0, with the least squares of relative errors over the rows
 * that are fitted. What gpu says of double precision and DRAM stays. False: too few rows. */
bool h200_energy_fit(const h200_energy_row *row, unsigned rows, bf_sim_gpu *gpu);

#endif
