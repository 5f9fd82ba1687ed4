/* Reductions that are put off: kept by place, and made in the order of time and place. */
#include "emu/put_off.h"
#include "emu/step.h"

#include <stdlib.h>

/* What stands before the words of a reduction. */
typedef struct kept {
  uint64_t time;
  bf_emu_combine apply;
  uint32_t words, size;
} kept;

/* Copies a word of 2, 4 or 8 bytes, each without a call. */
static inline void copy_word(void *to, const void *from, unsigned size) {
  if (size == 4)
    memcpy(to, from, 4);
  else if (size == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, 2);
}

static uint64_t *sector_bits(const struct bf_emu_put_off *own, uint64_t address, uint64_t *bit) {
  uint64_t hash = address / BF_EMU_PUT_OFF_SECTOR * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  *bit = UINT64_C(1) << (hash & 63);
  return (uint64_t *)&own->sector[(hash >> 6) % (BF_EMU_PUT_OFF_BITS / 64)];
}

/* Room for further bytes. It grows as long as nobody else asks for much; false: there is none. */
static bool has_room(struct bf_emu_put_off *own, size_t bytes) {
  enum { FIRST_ROOM = 1 << 14, MOST_ROOM = 1 << 20 };
  if (own->room - own->used >= bytes)
    return true;
  size_t room = own->room ? 2 * own->room : FIRST_ROOM;
  uint8_t *made = room <= MOST_ROOM ? realloc(own->bytes, room) : NULL;
  if (!made)
    return false;
  own->bytes = made;
  own->room = room;
  return true;
}

/* Takes note of a word that will change. */
static void note_word(struct bf_emu_put_off *own, uint64_t address, unsigned size) {
  uint64_t bit, *bits = sector_bits(own, address, &bit);
  *bits |= bit;
  own->first = address < own->first ? address : own->first;
  own->end = address + size > own->end ? address + size : own->end;
}

bool bf_emu_put_off_add(bf_emu_worker *worker, bf_emu_combine apply, unsigned size, uint32_t mask,
                        uint8_t *const *pointer, const uint8_t *operand) {
  struct bf_emu_put_off *own = worker->put_off;
  kept made = {*worker->clock, apply, (uint32_t)__builtin_popcount(mask), size};
  if (!has_room(own, sizeof made + made.words * sizeof(bf_emu_reduced)))
    return false;
  memcpy(own->bytes + own->used, &made, sizeof made);
  bf_emu_reduced *word = (bf_emu_reduced *)(void *)(own->bytes + own->used + sizeof made);
  for (uint32_t left = mask; left; left &= left - 1, word++) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    *word = (bf_emu_reduced){.at = pointer[lane]};
    copy_word(&word->value, operand + (size_t)lane * size, size);
    note_word(own, (uintptr_t)pointer[lane], size);
  }
  if (*own->next == UINT64_MAX)
    *own->next = made.time;
  own->used += sizeof made + made.words * sizeof *word;
  return true;
}

/* Whether bytes from an address on are among those that the reductions left change. */
static bool has_bytes(const struct bf_emu_put_off *own, uint64_t address, unsigned bytes) {
  kept which;
  for (size_t at = own->done; at < own->used;
       at += sizeof which + which.words * sizeof(bf_emu_reduced)) {
    memcpy(&which, own->bytes + at, sizeof which);
    const bf_emu_reduced *word = (const void *)(own->bytes + at + sizeof which);
    for (uint32_t i = 0; i < which.words; i++)
      if ((uintptr_t)word[i].at < address + bytes && address < (uintptr_t)word[i].at + which.size)
        return true;
  }
  return false;
}

bool bf_emu_put_off_meets(const struct bf_emu_put_off *own, unsigned width_bytes, uint32_t mask,
                          const uint64_t *address) {
  for (uint32_t left = mask; left; left &= left - 1) {
    uint64_t at = address[__builtin_ctz(left)], bit;
    if (at < own->end && at + width_bytes > own->first && *sector_bits(own, at, &bit) & bit &&
        has_bytes(own, at, width_bytes))
      return true;
  }
  return false;
}

/* Makes one reduction, lane by lane. Nobody else is at work. The host looks for all words at once.
 */
static void make(const kept *which, const bf_emu_reduced *word) {
  for (uint32_t i = 0; i < which->words; i++)
    __builtin_prefetch(word[i].at, 1);
  for (uint32_t i = 0; i < which->words; i++) {
    uint64_t old = 0;
    copy_word(&old, word[i].at, which->size);
    uint64_t new = which->apply(old, word[i].value, 0);
    copy_word(word[i].at, &new, which->size);
  }
}

void bf_emu_put_off_make(struct bf_emu_put_off *own) {
  uint64_t time = *own->next;
  kept which = {0};
  for (; own->done < own->used; own->done += sizeof which + which.words * sizeof(bf_emu_reduced)) {
    memcpy(&which, own->bytes + own->done, sizeof which);
    if (which.time != time)
      break;
    make(&which, (const bf_emu_reduced *)(const void *)(own->bytes + own->done + sizeof which));
  }
  *own->next = own->done < own->used ? which.time : UINT64_MAX;
  if (own->done < own->used)
    return;
  own->used = own->done = 0;
  own->first = UINT64_MAX;
  own->end = 0;
  memset(own->sector, 0, sizeof own->sector);
}
