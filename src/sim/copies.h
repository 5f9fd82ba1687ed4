/* Inside room sim: the copy engine of a multiprocessor (copies.c). */
#ifndef BF_SIM_COPIES_H
#define BF_SIM_COPIES_H

#include "sim/sm.h"

/* An instruction has asked for a copy, or told of a part of it. */
void bf_sim_copy_told(bf_sim_sm *sm, const bf_emu_copy *told);
/* A line of a copy has come or, of a store, has arrived. */
void bf_sim_copy_answered(bf_sim_sm *sm, uint32_t token);
/* A copy is to be counted at its mbarrier now. */
void bf_sim_copy_landed(bf_sim_sm *sm, uint32_t token);
void bf_sim_copies_free(bf_sim_sm *sm);

#endif
