/* Inside room emu: reductions in global memory that are put off, in launches that are executed step
 * by step.
 *
 * Who steps several places side by side wants atomics to happen in the order of its own time, and
 * so would have to stop at each. Of reductions, whose result nobody reads, nobody can tell when
 * they are made, as long as whoever looks at their words comes later. So they are kept, with the
 * time of their place, and made together, in the order of time and place (bf_emu_stepper_settle).
 * A load or store that meets a word of its own place's reductions does not happen: the step says so
 * (bf_emu_warp_step), and is made again behind them. All that accesses global memory in other ways
 * must come behind them by itself. */
#ifndef BF_EMU_PUT_OFF_H
#define BF_EMU_PUT_OFF_H

#include "emu/inner.h"

/* The new value of a place that holds old, for operand b (and c). Values are bits in the low part.
 */
typedef uint64_t (*bf_emu_combine)(uint64_t old, uint64_t b, uint64_t c);

/* A word that a reduction changes, and its operand. */
typedef struct bf_emu_reduced {
  uint8_t *at;
  uint64_t value;
} bf_emu_reduced;

/* Which `small` of atom and red says that they may be put off. */
enum { BF_EMU_SMALL_PUT_OFF = 7 };

enum { BF_EMU_PUT_OFF_SECTOR = 32, BF_EMU_PUT_OFF_BITS = 16384 };

/* Reductions of a place, one behind the other. */
struct bf_emu_put_off {
  uint8_t *bytes;
  size_t used, done, room;
  uint64_t *next;      /* the time of the first that is left; UINT64_MAX: there is none */
  uint64_t first, end; /* the words lie between */
  uint64_t sector[BF_EMU_PUT_OFF_BITS / 64]; /* bits, by a hash of the sectors in which they lie */
};

/* Puts a reduction of the lanes of mask off; false: there is no room before others are made. */
bool bf_emu_put_off_add(bf_emu_worker *worker, bf_emu_combine apply, unsigned size, uint32_t mask,
                        uint8_t *const *pointer, const uint8_t *operand);
/* Whether one of these accesses, each within a sector, touches a word of those put off. That must
 * not depend on where memory is: who waits sees what others have put off before. */
bool bf_emu_put_off_meets(const struct bf_emu_put_off *own, unsigned width_bytes, uint32_t mask,
                          const uint64_t *address);
/* Makes all of a place that stand for its next time. */
void bf_emu_put_off_make(struct bf_emu_put_off *own);

/* Whether a load or store must wait for reductions of its place; takes note of that. */
static inline bool bf_emu_must_wait(bf_emu_worker *worker, bf_op kind, unsigned width_bytes,
                                    uint32_t mask, const uint64_t *address) {
  const struct bf_emu_put_off *own = worker->put_off;
  if (!own || !own->used || (kind != BF_OP_LD && kind != BF_OP_ST) ||
      !bf_emu_put_off_meets(own, width_bytes, mask, address))
    return false;
  worker->must_wait = true;
  return true;
}

#endif
