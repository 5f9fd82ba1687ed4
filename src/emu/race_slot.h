/* Inside room emu: words of a line of global memory that few threads access, for races: two
 * accesses of a word in eight bytes.
 *
 * What a record holds is the same for all lanes of a warp in an instruction, so that it is kept
 * once, as a maker, and a word has only its number and the lane. A word that has a write and two
 * reads, whose line then spreads to the words of race_check.h, and a line whose words know no more,
 * are told apart nowhere else: what is known of a word is the same in each form. */
#ifndef BF_EMU_RACE_SLOT_H
#define BF_EMU_RACE_SLOT_H

#include "emu/race_check.h"

/* An access in a slot: the number of its maker, the lane, and what can be said without the maker.
 */
enum {
  BF_RACE_SLOT_WRITES = 1,
  BF_RACE_SLOT_STRONG = 2,
  BF_RACE_SLOT_LANE = 2,
  BF_RACE_SLOT_THREAD = 0x7f << BF_RACE_SLOT_LANE,
  BF_RACE_SLOT_WARP = BF_RACE_SLOT_LANE + 5,
  BF_RACE_SLOT_MAKER = BF_RACE_SLOT_WARP + 2
};

/* The makers of an access by the first of a word's bytes that a lane is at; 0: not asked for yet.
 */
typedef struct bf_race_made {
  uint32_t by[BF_RACE_WORD_BYTES];
} bf_race_made;

/* Numbers the maker of accesses at bytes of words from shift on, in the form of slots; 0: there is
 * no room for it. */
uint32_t bf_race_number_maker(const bf_race_check *what, unsigned bytes, unsigned shift);

/* The access of a lane; 0: its maker has no room. */
static inline uint32_t bf_race_slot_of(const bf_race_check *what, bf_race_made *made, unsigned lane,
                                       unsigned bytes, unsigned shift) {
  if (!made->by[shift])
    made->by[shift] = bf_race_number_maker(what, bytes, shift);
  if (!made->by[shift])
    return 0;
  return made->by[shift] | lane << BF_RACE_SLOT_LANE |
         (what->now.who & BF_RACE_STRONG ? BF_RACE_SLOT_STRONG : 0) |
         (what->is_write ? BF_RACE_SLOT_WRITES : 0);
}

/* The record of an access. */
static inline bf_race_record bf_race_slot_record(const bf_race_check *what, uint32_t slot) {
  const struct bf_race_memory *memory = what->races->memory;
  const bf_race_maker *maker = &memory->maker[slot >> BF_RACE_SLOT_MAKER];
  const bf_race_turn *turn = &memory->turn[maker->turn];
  unsigned lane = slot >> BF_RACE_SLOT_LANE & (BF_EMU_LANES - 1);
  return (bf_race_record){turn->launch,
                          turn->block,
                          turn->epoch,
                          maker->order,
                          turn->time,
                          maker->site,
                          (uint16_t)(maker->who | lane)};
}

/* Makes a line one of slots, where two accesses of each word are all that is known of it. */
bool bf_race_fill_slots(const bf_race_check *what, bf_race_line *line, bf_race_body *body);
/* Hands what slots know to words. */
void bf_race_spread_slots(const bf_race_check *what, const bf_race_place *at);

/* Gets slots ready for an access; false: the line is none of slots. */
static inline bool bf_race_open_slots(const bf_race_check *what, bf_race_line *line,
                                      bf_race_body *body) {
  if (line->is_in_slots && line->launch == what->now.launch)
    return true;
  if (line->is_in_words)
    return false;
  if (line->is_in_slots && bf_race_is_past(what, line->launch))
    line->is_in_slots = false;
  if (!line->is_in_slots && !bf_race_fill_slots(what, line, body))
    return false;
  line->launch = bf_race_later(line->launch, what->now.launch);
  return true;
}

/* Whether an access in a slot may race with this one of who, which is now. */
static inline bool bf_race_slot_races(const bf_race_check *what, uint32_t old, uint32_t now,
                                      uint16_t who) {
  if (!old || (old & now & BF_RACE_SLOT_STRONG))
    return false;
  bf_race_record record = bf_race_slot_record(what, old);
  return bf_race_is_unordered(what, &record, who);
}

/* Whether an access is of the thread of this one, and of this launch. */
static inline bool bf_race_slot_is_own(const bf_race_check *what, uint32_t old, uint32_t now) {
  if ((old ^ now) & BF_RACE_SLOT_THREAD)
    return false;
  if (old >> BF_RACE_SLOT_MAKER == now >> BF_RACE_SLOT_MAKER)
    return true;
  const struct bf_race_memory *memory = what->races->memory;
  const bf_race_maker *a = &memory->maker[old >> BF_RACE_SLOT_MAKER];
  const bf_race_maker *b = &memory->maker[now >> BF_RACE_SLOT_MAKER];
  const bf_race_turn *at_a = &memory->turn[a->turn], *at_b = &memory->turn[b->turn];
  return !((a->who ^ b->who) & BF_RACE_THREAD) &&
         (at_a == at_b || (at_a->block == at_b->block && at_a->launch == at_b->launch));
}

/* Takes note of a read, as bf_race_note_reader does; false: the slot has no room. */
static inline bool bf_race_slot_read(const bf_race_check *what, bf_race_slot *slot, uint32_t now) {
  if (slot->last && !bf_race_slot_is_own(what, slot->last, now)) {
    if (slot->other & BF_RACE_SLOT_WRITES)
      return false;
    slot->other = slot->last;
  }
  slot->last = now;
  return true;
}

/* The same of a write. */
static inline bool bf_race_slot_write(bf_race_slot *slot, uint32_t now) {
  if (slot->other && !(slot->other & BF_RACE_SLOT_WRITES))
    return false;
  slot->other = now;
  return true;
}

typedef enum bf_race_passed { BF_RACE_PASSED, BF_RACE_MAY_RACE, BF_RACE_NO_ROOM } bf_race_passed;

/* Checks an access to a word, of who and in the form of slots, and takes note of it if it is in
 * order. */
static inline bf_race_passed bf_race_pass_slot(const bf_race_check *what, bf_race_slot *slot,
                                               uint32_t now, uint16_t who) {
  if (!now)
    return BF_RACE_NO_ROOM;
  if (((slot->other & BF_RACE_SLOT_WRITES) || what->is_write) &&
      bf_race_slot_races(what, slot->other, now, who))
    return BF_RACE_MAY_RACE;
  if (what->is_write && bf_race_slot_races(what, slot->last, now, who))
    return BF_RACE_MAY_RACE;
  bool has_room =
      what->is_write ? bf_race_slot_write(slot, now) : bf_race_slot_read(what, slot, now);
  return has_room ? BF_RACE_PASSED : BF_RACE_NO_ROOM;
}

#endif
