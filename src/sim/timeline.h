/* sim/timeline: what happens in launches, instruction by instruction, as a file of trace events
 * that Chrome and Perfetto read: a process for each multiprocessor, a thread for each warp slot, an
 * event for each instruction from issue to result. Instructions of a warp that overlap are put on
 * further threads of its slot. A cycle is shown as a microsecond. Launches follow one another. */
#ifndef BF_SIM_TIMELINE_H
#define BF_SIM_TIMELINE_H

#include "sim/sim.h"

typedef struct bf_timeline bf_timeline;

int bf_timeline_open(const char *path, bf_timeline **timeline, bf_diagnostic *diagnostic);
/* The watch for the next launch; only what is issued in its first `cycles` cycles is written. */
int bf_timeline_begin(bf_timeline *timeline, const bf_emu_kernel *kernel, uint64_t cycles,
                      bf_sim_watch *watch, bf_diagnostic *diagnostic);
/* The launch has ended after that many cycles. */
void bf_timeline_end(bf_timeline *timeline, uint64_t cycles);
/* Instructions written so far. */
uint64_t bf_timeline_events(const bf_timeline *timeline);
/* Makes the file appear. Errors of the watch are reported here. */
int bf_timeline_commit(bf_timeline *timeline, bf_diagnostic *diagnostic);
/* Without commit, nothing is left behind. */
void bf_timeline_close(bf_timeline *timeline);

#endif
