/* Clocks of kernels. Time here is what a kernel does: %clock counts the instructions of all warps
 * of the worker, and some cycles for each look at it, so that two looks never agree. %globaltimer
 * is the host's clock. A loop that does nothing but look at a clock waits for a time to pass; to
 * have every warp look millions of times would take minutes for what a GPU does in milliseconds, so
 * for a warp that has looked often in such a loop each look takes longer than the one before. A
 * loop that polls memory beside its clock waits for somebody else, and gets no such help: it would
 * give up before the other has had its turn. */
#include "emu/clock.h"

#include "emu/device.h"

#include <time.h>

/* Looks in a row after which they take longer, how many of them take the same, instructions between
 * two looks of such a loop, and what a look takes at first and at most: cycles, or nanoseconds. */
enum { PATIENT_LOOKS = 256, LOOKS_OF_A_STEP = 16, LOOP_INSTRUCTIONS = 32 };
enum { LOOK_CYCLES = 16, MOST_DOUBLINGS = 12 };

/* Instructions of the warp up to an operation. */
static uint64_t done_before(const bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_code *code = warp->frame->code;
  return code->counted[op - code->op] - code->counted[warp->segment - code->op];
}

/* Counts a look at a clock, and says how often what it takes is doubled: 0 where the warp does not
 * seem to wait. */
static unsigned look(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_look *last = &warp->look;
  uint64_t now = warp->instructions + done_before(warp, op);
  bool again =
      last->at == op && last->spins == warp->spins && now - last->instructions <= LOOP_INSTRUCTIONS;
  *last = (bf_emu_look){.at = op,
                        .instructions = now,
                        .spins = warp->spins,
                        .in_a_row = again ? last->in_a_row + 1 : 0};
  if (last->in_a_row < PATIENT_LOOKS)
    return 0;
  unsigned doublings = (last->in_a_row - PATIENT_LOOKS) / LOOKS_OF_A_STEP;
  return doublings < MOST_DOUBLINGS ? doublings : MOST_DOUBLINGS;
}

uint64_t bf_emu_pass_time(bf_emu_warp *warp, uint64_t nanoseconds) {
  warp->worker->looked_cycles += nanoseconds;
  return __atomic_add_fetch(&warp->worker->flight->emu->passed_ns, nanoseconds, __ATOMIC_RELAXED);
}

uint64_t bf_emu_clock_cycles(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_worker *worker = warp->worker;
  if (worker->clock)
    return *worker->clock;
  worker->looked_cycles += (uint64_t)LOOK_CYCLES << look(warp, op);
  return worker->warp_instructions + worker->looked_cycles + done_before(warp, op);
}

uint64_t bf_emu_clock_nanoseconds(bf_emu_warp *warp, const bf_emu_op *op) {
  struct timespec now;
  if (warp->worker->clock)
    return *warp->worker->clock;
  unsigned doublings = look(warp, op);
  uint64_t waited = doublings ? (uint64_t)LOOK_CYCLES << doublings : 0;
  uint64_t passed = bf_emu_pass_time(warp, waited);
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + passed;
}
