/* Part of the reproduction `hardware`. */
#ifndef BF_REPRODUCE_HARDWARE_CLOCK_H
#define BF_REPRODUCE_HARDWARE_CLOCK_H

#include "reproduce/reproduce.h"
#include "rtl/cost.h"

/* Fig. 4 of braak16: units for eight target clocks. The library is the default one. */
int bf_reproduce_clocks(bf_reproduce_run *run, const bf_liberty *library,
                        bf_diagnostic *diagnostic);

#endif
