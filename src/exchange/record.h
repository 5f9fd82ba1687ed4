/* exchange/record: what a run has cost shared memory, from the drop-in CUDA runtime (runtime/) to
 * bankfold exec: a file for each process, in a folder of the run (docs/exchange.md). */
#ifndef BF_EXCHANGE_RECORD_H
#define BF_EXCHANGE_RECORD_H

#include "emu/costs.h"

/* Writes the file of this process. */
int bf_record_write(const char *folder, const bf_costs *costs, bf_diagnostic *diagnostic);
/* Adds the files of all processes. An access that does not fit the machine is left out: it explains
 * nothing. */
int bf_record_read(const char *folder, const bf_machine *machine, bf_costs *costs,
                   bf_diagnostic *diagnostic);
/* The same for one file. */
int bf_record_read_file(const char *path, const bf_machine *machine, bf_costs *costs,
                        bf_diagnostic *diagnostic);

#endif
