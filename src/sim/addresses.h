/* Inside room sim: addresses of global memory that do not depend on where the host put things.
 * Addresses of the host differ from run to run; caches and channels are given others, in which
 * ranges follow each other in the order in which they were made. */
#ifndef BF_SIM_ADDRESSES_H
#define BF_SIM_ADDRESSES_H

#include "emu/emu.h"

typedef struct bf_sim_addresses {
  size_t count;
  struct bf_sim_range {
    uint64_t first, end; /* on the host */
    uint64_t moved;      /* what to add */
  } * range;             /* sorted */
} bf_sim_addresses;

int bf_sim_addresses_create(const bf_emu *emu, bf_sim_addresses *addresses,
                            bf_diagnostic *diagnostic);
void bf_sim_addresses_free(bf_sim_addresses *addresses);
/* The range that holds address, or NULL. */
const struct bf_sim_range *bf_sim_addresses_find(const bf_sim_addresses *addresses,
                                                 uint64_t address);

#endif
