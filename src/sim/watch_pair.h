/* Inside room sim: two watches at once, for launches shown as a timeline and as a diagram. */
#ifndef BF_SIM_WATCH_PAIR_H
#define BF_SIM_WATCH_PAIR_H

#include "sim/sim.h"

typedef struct bf_sim_watch_pair {
  bf_sim_watch watch[2];
} bf_sim_watch_pair;

/* A watch that tells both what each wants to know; pair must live as long. */
bf_sim_watch bf_sim_watch_both(bf_sim_watch_pair *pair);

#endif
