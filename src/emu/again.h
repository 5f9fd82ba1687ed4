/* Inside room emu: accesses to shared memory that a warp makes again, with what they cost.
 *
 * Most accesses of a loop are made at the same place by the same warp with the same addresses as
 * the last time, block after block. To see that takes a comparison; to look an access up among all
 * that the counter knows takes several times that. */
#ifndef BF_EMU_AGAIN_H
#define BF_EMU_AGAIN_H

#include "emu/copied.h"
#include "emu/kept.h"

/* For one thread. */
typedef struct bf_again bf_again;

/* The last access of a warp, or of some that take turns, at a place of the code. */
typedef struct bf_again_entry {
  uint32_t address[32];
  uint32_t mask; /* 0: none */
  uint32_t site;
  bf_op op;
  unsigned width_bytes;
  unsigned misses;      /* accesses since it was found last */
  bf_copied_cost cost;  /* what the caller knows of it */
  bf_kept_access *kept; /* where it is kept, or NULL */
} bf_again_entry;

/* The entry of an access that was made before; else NULL, and *place is the entry to remember it in
 * by bf_again_set, or NULL: what is never the same is not remembered each time. *again is made
 * where it is NULL; without memory for it nothing is found. */
bf_again_entry *bf_again_find(bf_again **again, const bf_emu_event *event, bf_again_entry **place);
void bf_again_set(bf_again_entry *place, const bf_emu_event *event, const bf_copied_cost *cost,
                  bf_kept_access *kept);
void bf_again_free(bf_again *again);

#endif
