/* Which phases of mbarriers threads have waited for. */
#include "emu/passed.h"

#include "emu/race.h"

#include <stdlib.h>

enum { MOST_BARRIERS = 256, MOST_THREADS = 1024 };

/* What a thread has waited for: the phases that were over then, plus 1, and how often it had
 * arrived anywhere. */
typedef struct pass {
  uint32_t phases, arrivals;
} pass;

typedef struct watched {
  uint32_t offset, phases; /* that are over */
  uint32_t early;          /* the first thread that passed before one was over, plus 1 */
  unsigned early_site;     /* where */
  pass thread[MOST_THREADS];
} watched;

struct bf_emu_passed {
  unsigned count;
  uint32_t arrivals[MOST_THREADS];
  watched *barrier[MOST_BARRIERS];
};

/* What is known of the mbarrier at offset; NULL: nothing. */
static watched *find(const bf_emu_block *block, uint32_t offset) {
  const struct bf_emu_passed *all = block->passed;
  for (unsigned i = 0; all && i < all->count; i++)
    if (all->barrier[i]->offset == offset)
      return all->barrier[i];
  return NULL;
}

static unsigned thread_of(const bf_emu_warp *warp, unsigned lane) {
  return (warp->index * BF_EMU_LANES + lane) % MOST_THREADS;
}

void bf_passed_begin(bf_emu_block *block) {
  struct bf_emu_passed *all = block->passed;
  for (unsigned i = 0; all && i < all->count; i++)
    free(all->barrier[i]);
  if (all)
    *all = (struct bf_emu_passed){0};
}

void bf_passed_free(bf_emu_block *block) {
  bf_passed_begin(block);
  free(block->passed);
  block->passed = NULL;
}

/* Where there is no memory, waits of the mbarrier are not looked at. */
void bf_passed_init(bf_emu_block *block, uint32_t offset) {
  watched *own = find(block, offset);
  if (!block->passed)
    block->passed = calloc(1, sizeof *block->passed);
  if (!own && block->passed && block->passed->count < MOST_BARRIERS) {
    own = malloc(sizeof *own);
    if (own)
      block->passed->barrier[block->passed->count++] = own;
  }
  if (own)
    *own = (watched){.offset = offset};
}

void bf_passed_ended(bf_emu_block *block, uint32_t offset) {
  watched *own = find(block, offset);
  if (own)
    own->phases++;
}

void bf_passed_arrive(bf_emu_warp *warp, unsigned lane) {
  if (warp->block->passed)
    warp->block->passed->arrivals[thread_of(warp, lane)]++;
}

bool bf_passed_expect(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *block,
                      uint32_t offset) {
  const watched *own = find(block, offset);
  if (!own || own->phases || !own->early || block != warp->block ||
      (own->early - 1) / BF_EMU_LANES == warp->index)
    return true;
  char thread[48], line[200] = "";
  const bf_emu_flight *flight = warp->worker->flight;
  bf_race_put_place(thread, sizeof thread, own->early - 1, flight->launch->block);
  bf_race_put_line(line, sizeof line, flight->kernel, own->early_site);
  return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                     "bytes are announced for the first phase of the mbarrier at shared address "
                     "0x%x, which thread %s does not wait for: it has waited for parity 1%s",
                     offset, thread, line) != NULL;
}

bool bf_passed_wait(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint32_t offset,
                    const bf_emu_phase *phase) {
  watched *own = find(warp->block, offset);
  if (!own)
    return true;
  unsigned thread = thread_of(warp, lane);
  pass now = {own->phases + 1, warp->block->passed->arrivals[thread]}, last = own->thread[thread];
  own->thread[thread] = now;
  long long bytes = (long long)phase->transactions;
  if (own->phases == 0 && !own->early) {
    own->early = thread + 1;
    own->early_site = op->site;
  }
  if (bytes > 0 && own->phases == 0)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                       "the wait for parity %u passes at once: no phase of the mbarrier at shared "
                       "address 0x%x is over, and %lld bytes are awaited in the first, which has "
                       "parity %u",
                       !phase->parity, offset, bytes, phase->parity) != NULL;
  if (bytes > 0 && last.phases == now.phases && last.arrivals != now.arrivals)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                       "the wait for parity %u passes for a phase of the mbarrier at shared "
                       "address 0x%x that the thread has waited for before, while %lld bytes are "
                       "awaited in the next, which has parity %u",
                       !phase->parity, offset, bytes, phase->parity) != NULL;
  return true;
}
