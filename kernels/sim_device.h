/* Benchmarks on the simulator (sim_device.c). */
#ifndef BF_SIM_DEVICE_H
#define BF_SIM_DEVICE_H

#include "kernels/corpus.h"
#include "sim/ledger.h"

/* A device that simulates launches as ledger says and adds them to it; ledger is borrowed. Free
 * with bf_emu_device_free. */
int bf_sim_device_create(const char *name, const char *ptx, bf_sim_ledger *ledger,
                         bf_device *device, bf_diagnostic *diagnostic);

/* Runs a benchmark on such a device. */
int bf_corpus_simulate(const bf_corpus_benchmark *benchmark, unsigned scale, unsigned seed,
                       bf_sim_ledger *ledger, bf_corpus_outcome *outcome,
                       bf_diagnostic *diagnostic);

#endif
