/* Inside room sim: memory channels with banks and open rows. docs/sim_memory.md explains the model.
 * A read is known by its ticket, a number of the caller; reads in flight have different ones. */
#ifndef BF_SIM_DRAM_H
#define BF_SIM_DRAM_H

#include "sim/hierarchy.h"

/* Times within a cycle are counted in ticks. */
enum { BF_SIM_TICK_BITS = 16 };

/* A parameter in cycles as ticks, at least 1. */
static inline uint64_t bf_sim_ticks(double cycles) {
  uint64_t ticks = (uint64_t)(cycles * (1 << BF_SIM_TICK_BITS) + 0.5);
  return ticks ? ticks : 1;
}

/* The first cycle that begins at `ticks` or later. */
static inline uint64_t bf_sim_cycle_after(uint64_t ticks) {
  return (ticks + (1 << BF_SIM_TICK_BITS) - 1) >> BF_SIM_TICK_BITS;
}

typedef struct bf_sim_dram bf_sim_dram;

int bf_sim_dram_create(const bf_sim_gpu *gpu, bf_sim_dram **dram, bf_diagnostic *diagnostic);
void bf_sim_dram_free(bf_sim_dram *dram);
/* Makes room for tickets below `tickets`. 0 or BF_NO_MEMORY. */
int bf_sim_dram_reserve(bf_sim_dram *dram, uint32_t tickets);
/* A read reaches its channel, *channel, at `cycle`. Returns the cycle at which that channel may be
 * able to serve it; UINT64_MAX: not before it has served others. */
uint64_t bf_sim_dram_read(bf_sim_dram *dram, uint64_t line, uint8_t sectors, uint32_t ticket,
                          uint64_t cycle, unsigned *channel);
/* Begins to serve one read of a channel in `cycle`: true, with the cycle at which its data has
 * come. Otherwise *ready is the cycle at which to try again; UINT64_MAX: nothing waits. */
bool bf_sim_dram_serve(bf_sim_dram *dram, unsigned channel, uint64_t cycle, uint32_t *ticket,
                       uint64_t *ready);
/* Sectors that nobody waits for, written or read some time after `cycle`. */
void bf_sim_dram_later(bf_sim_dram *dram, uint64_t line, uint8_t sectors, bool is_write,
                       uint64_t cycle);
/* The cycle at which all buses are free. */
uint64_t bf_sim_dram_free_at(const bf_sim_dram *dram);
void bf_sim_dram_count(const bf_sim_dram *dram, bf_sim_result *result);

#endif
