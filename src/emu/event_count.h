/* emu/event_count: what an access costs that an observer is told of. */
#ifndef BF_EMU_EVENT_COUNT_H
#define BF_EMU_EVENT_COUNT_H

#include "emu/emu.h"

/* Counts a shared access with the counter, which must have been made for machine and hash; of
 * cp.async of 16 bytes by where its data come from, too. */
int bf_emu_event_count(bf_counter *counter, const bf_machine *machine, const bf_hash *hash,
                       const bf_emu_event *event, bf_count *count);

#endif
