/* The figures of braak13 and braak15 about atomic additions in shared memory. */
#ifndef BF_ATOMICS_FIGURES_H
#define BF_ATOMICS_FIGURES_H

#include "reproduce/reproduce.h"

int bf_reproduce_atomic_latency(bf_reproduce_run *run, bf_diagnostic *diagnostic);
int bf_reproduce_replication(bf_reproduce_run *run, bf_diagnostic *diagnostic);
int bf_reproduce_histogram_hash(bf_reproduce_run *run, bf_diagnostic *diagnostic);
int bf_reproduce_hough_hash(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
