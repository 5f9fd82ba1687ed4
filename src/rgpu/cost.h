/* rgpu/cost: what R-GPU adds to a GPU in area and power, and what it saves. Every constant stands
 * in one table, with where it comes from (docs/rgpu_cost.md explains them). */
#ifndef BF_RGPU_COST_H
#define BF_RGPU_COST_H

#include "rgpu/map.h"
#include "rgpu/sim.h"

/* published: printed in braak15; derived: follows from what is printed; fitted: chosen so that
 * a printed result comes out. */
typedef struct bf_rgpu_constant {
  const char *name;
  double value;
  const char *unit, *basis, *source;
} bf_rgpu_constant;
extern const bf_rgpu_constant bf_rgpu_constants[]; /* ends with a NULL name */

/* Square millimetres of the whole chip. */
typedef struct bf_rgpu_area {
  double data_fifos, address_fifos, wires, muxes, total;
  double share; /* of the chip without R-GPU */
} bf_rgpu_area;
bf_rgpu_area bf_rgpu_area_of(unsigned lanes, unsigned data_fifo, unsigned address_fifo);

/* What happened in the parts of R-GPU during a run, for its power. */
typedef struct bf_rgpu_events {
  double data_words, address_words; /* written to FIFOs; each is read once */
  double scanned_words;             /* read by prefetchers */
  double lane_slots;                /* words times slots that they pass */
} bf_rgpu_events;
/* Counts events of a run whose result and mapping, with as many copies, are given. */
bf_rgpu_events bf_rgpu_events_of(const bf_rgpu_mapping *mapping, const bf_rgpu_sim_result *result);

/* Watts of the whole chip. */
typedef struct bf_rgpu_power {
  double data_fifos, address_fifos, wires, added;
  double saved;          /* register file, switched off */
  double saved_decode;   /* fetch and decode, switched off; not part of the change */
  double before, change; /* power of the GPU; (added - saved) / before */
} bf_rgpu_power;
bf_rgpu_power bf_rgpu_power_of(const bf_rgpu_events *events, double seconds, unsigned data_fifo,
                               unsigned address_fifo);

/* Energy of R-GPU compared with the GPU, 1: the same, for a speed-up. */
double bf_rgpu_energy_ratio(const bf_rgpu_power *power, double speedup);

#endif
