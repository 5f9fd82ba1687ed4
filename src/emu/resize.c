/* setmaxnreg: who asks for which registers.
 *
 * A block begins with as many registers for each thread as ptxas has chosen, of which the bounds of
 * the kernel (.maxntid, .maxnreg) give the most. What a warp gives up goes to the others of its
 * block, and one that asks for more waits until there are enough. So a request can never be served
 * where all others, each with the fewest that it ever has, leave too few. That and numbers in the
 * wrong direction are looked for together with races: what a GPU does with the registers of warps
 * that have ended is not known. */
#include "emu/resize.h"

#include "emu/device.h"
#include "emu/warp.h"

/* For each thread at the beginning, at most; allocated by eights. */
static unsigned first_registers(const bf_emu_warp *warp) {
  return (bf_emu_most_registers(warp->worker->flight->kernel) + 7) / 8 * 8;
}

bool bf_emu_resize(bf_emu_warp *warp, const bf_emu_op *op, bool asks, unsigned registers) {
  bf_emu_resizes *own = &warp->resizes;
  unsigned most = own->count ? own->held : first_registers(warp);
  own->last = op;
  own->least = own->count && own->least < most ? own->least : (uint16_t)most;
  if (registers < own->least)
    own->least = (uint16_t)registers;
  if (asks && registers >= own->asked) {
    own->asked = (uint16_t)registers;
    own->asks = op;
  }
  bool is_wrong = asks ? own->count && registers < own->held : registers > most;
  own->count++;
  own->held = (uint16_t)registers;
  if (!is_wrong || !warp->worker->flight->races)
    return true;
  return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                     asks ? "setmaxnreg.inc to %u registers by a warp that has %u"
                          : "setmaxnreg.dec to %u registers by a warp that has %u at most",
                     registers, most) != NULL;
}

/* Tells where warps of a group have executed setmaxnreg more often than others, when all have
 * ended. */
static void check_group(bf_emu_warp *warp) {
  bf_emu_block *block = warp->block;
  unsigned first = warp->index / 4 * 4, end = first + 4 < block->warps ? first + 4 : block->warps;
  bf_emu_warp *most = warp;
  bool is_uneven = false;
  for (unsigned i = first; i < end; i++) {
    if (block->warp[i].alive)
      return;
    is_uneven |= block->warp[i].resizes.count != warp->resizes.count;
    if (block->warp[i].resizes.count > most->resizes.count)
      most = &block->warp[i];
  }
  if (is_uneven)
    bf_emu_fail(most, most->resizes.last, BF_EMU_BAD_INSTRUCTION, 0,
                "setmaxnreg by some warps of the group alone: all four must execute it");
}

/* Tells of the first group whose request can never have been served, when all warps have ended. */
static void check_block(bf_emu_warp *last) {
  bf_emu_block *block = last->block;
  unsigned each = first_registers(last), all = each * block->warps, least = 0;
  for (unsigned i = 0; i < block->warps; i++) {
    if (block->warp[i].alive)
      return;
    least += block->warp[i].resizes.count ? block->warp[i].resizes.least : each;
  }
  for (unsigned i = 0; i + 4 <= block->warps; i += 4) {
    unsigned asked = 0, own = 0;
    bf_emu_warp *warp = NULL;
    for (unsigned w = i; w < i + 4; w++) {
      warp = block->warp[w].resizes.asks ? &block->warp[w] : warp;
      own += block->warp[w].resizes.count ? block->warp[w].resizes.least : each;
      asked += block->warp[w].resizes.asked;
    }
    if (!warp || least - own + asked <= all)
      continue;
    bf_emu_fail(warp, warp->resizes.asks, BF_EMU_DEADLOCK, 0,
                "setmaxnreg.inc to %u registers never ends: the block has %u at most, of which "
                "the other warps keep %u and this group of warps wants %u",
                warp->resizes.asked, all * BF_EMU_LANES, (least - own) * BF_EMU_LANES,
                asked * BF_EMU_LANES);
    return;
  }
}

void bf_emu_resizes_check(bf_emu_warp *warp) {
  check_group(warp);
  if (warp->worker->flight->races && !warp->worker->flight->stop)
    check_block(warp);
}
