/* Inside room emu: what %clock and %globaltimer read (clock.c). */
#ifndef BF_EMU_CLOCK_H
#define BF_EMU_CLOCK_H

#include "emu/inner.h"

/* What %clock64 reads at an operation: the cycles of a simulator, or those of the worker. */
uint64_t bf_emu_clock_cycles(bf_emu_warp *warp, const bf_emu_op *op);

/* What %globaltimer reads at an operation. */
uint64_t bf_emu_clock_nanoseconds(bf_emu_warp *warp, const bf_emu_op *op);

/* Lets time pass, about a cycle for each nanosecond, without anybody waiting for it; gives how much
 * has passed in this way on the device. */
uint64_t bf_emu_pass_time(bf_emu_warp *warp, uint64_t nanoseconds);

#endif
