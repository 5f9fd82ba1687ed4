/* Inside room emu: what asynchronous copies of 16 bytes cost, remembered.
 *
 * A copy costs what follows from where it writes, from where the lanes' sources lie in their lines
 * of 128 bytes, and from which of them lie in the same line. So sources that are all moved by
 * a number of lines cost the same, and a loop over tiles makes few different copies. */
#ifndef BF_EMU_COPIED_H
#define BF_EMU_COPIED_H

#include "emu/emu.h"

/* For one thread. */
typedef struct bf_copied bf_copied;

typedef struct bf_copied_cost {
  bf_count count;
  bf_counter_pattern pattern; /* by which the thread's counter knows the access */
} bf_copied_cost;

/* What the copy cost when it was last made; false: it was not, or that is forgotten. */
bool bf_copied_find(const bf_copied *copied, const bf_emu_event *event, bf_copied_cost *cost);
/* Remembers it. *copied is made where it is NULL, and stays so where there is no memory for it. */
void bf_copied_keep(bf_copied **copied, const bf_emu_event *event, const bf_copied_cost *cost);
void bf_copied_free(bf_copied *copied);

#endif
