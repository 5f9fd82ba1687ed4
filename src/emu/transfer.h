/* Inside room emu: what ld and st move. */
#ifndef BF_EMU_TRANSFER_H
#define BF_EMU_TRANSFER_H

#include "emu/inner.h"

enum { BF_EMU_MOST_VECTOR = 8 };

/* Moves one register per lane between memory and frame. */
typedef void (*bf_emu_mover)(void *registers, uint8_t *const *pointer, unsigned offset_bytes,
                             uint32_t mask);

struct bf_emu_transfer;
/* Moves all registers of a vector, in all lanes. */
typedef void (*bf_emu_vector_mover)(const bf_emu_warp *warp, const struct bf_emu_transfer *what,
                                    uint8_t *const *pointer);

/* The place among op->small where short forms have the bytes that they move from register d, and
 * all others 0. */
enum { BF_EMU_PLAIN = 7 };

/* What an operation moves: the detail of ld and st that have no short form. */
typedef struct bf_emu_transfer {
  bf_emu_address address;
  bf_ptx_space space;
  unsigned count; /* registers per lane */
  unsigned size;  /* bytes of each in memory */
  uint32_t place[BF_EMU_MOST_VECTOR];
  bf_emu_mover move[BF_EMU_MOST_VECTOR];
  bf_emu_vector_mover move_vector; /* where there is one */
  uint8_t polls;                   /* a bf_emu_polled: may wait for what others write */
} bf_emu_transfer;

#endif
