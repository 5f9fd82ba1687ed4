/* Inside room emu: accesses to shared memory that are made again, with what they cost.
 *
 * Most accesses of a place of the code are made there again with the same addresses, in another
 * round of a loop, by another warp or in another block. To see that takes a comparison; to look an
 * access up among all that the counter knows takes several times that. */
#ifndef BF_EMU_AGAIN_H
#define BF_EMU_AGAIN_H

#include "emu/copied.h"
#include "emu/kept.h"

/* For one thread. */
typedef struct bf_again bf_again;

/* An access of a place of the code, in two lines of the host's cache. */
typedef struct bf_again_entry {
  _Alignas(64) uint16_t element[32]; /* addresses, in widths */
  bf_count count;                    /* what it costs */
  uint64_t number;                   /* of its pattern */
  bf_kept_access *kept;              /* where it is kept, or NULL */
  uint32_t base;                     /* of its pattern */
  uint32_t mask;                     /* 0: there is none */
  uint32_t site;
  uint8_t op, width_bytes;
} bf_again_entry;

/* The entry of an access that was made before; else NULL, and *place is the entry to remember it in
 * by bf_again_set, or NULL: what is never the same is not remembered each time. *again is made
 * where it is NULL; without memory for it nothing is found. */
bf_again_entry *bf_again_find(bf_again **again, const bf_emu_event *event, bf_again_entry **place);
void bf_again_set(bf_again_entry *place, const bf_emu_event *event, const bf_copied_cost *cost,
                  bf_kept_access *kept);
void bf_again_free(bf_again *again);

#endif
