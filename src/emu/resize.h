/* Inside room emu: registers that warps give up and ask for (setmaxnreg). None is given up here;
 * what no hardware can do, or none would do as it is meant, is told. */
#ifndef BF_EMU_RESIZE_H
#define BF_EMU_RESIZE_H

#include "emu/inner.h"

/* A warp executes setmaxnreg.inc or .dec to a number of registers for each thread; false: it was a
 * fault, which has been said. */
bool bf_emu_resize(bf_emu_warp *warp, const bf_emu_op *op, bool asks, unsigned registers);
/* A warp has ended: tells what was wrong in its group, and in the block when that has ended. */
void bf_emu_resizes_check(bf_emu_warp *warp);

#endif
