/* Races: makers of accesses, and lines that become slots and cease to be (race_slot.h). */
#include "emu/race_slot.h"

/* Numbers when a record was; 0: there is no room for it. */
static uint32_t number_turn(const bf_race_check *what, const bf_race_record *record) {
  struct bf_race_memory *memory = what->races->memory;
  bf_race_makers *own = &what->races->makers[what->warp->worker->index];
  bf_race_turn turn = {record->launch, record->block, record->epoch, record->time};
  uint32_t *known = &own->known_turn[turn.block % BF_RACE_TURNS_KNOWN];
  if (*known && memcmp(&memory->turn[*known], &turn, sizeof turn) == 0)
    return *known;
  *known = bf_race_number(memory, &memory->turns, sizeof turn, own->turn);
  if (*known)
    memory->turn[*known] = turn;
  return *known;
}

/* A maker in the form of slots, of a warp of a block. */
static uint32_t slot_of(uint32_t maker, uint32_t block, unsigned who) {
  uint32_t warp = block + (who & BF_RACE_THREAD) / BF_EMU_LANES;
  uint32_t mixed = warp * 2654435761u >> 30;
  return maker ? maker << BF_RACE_SLOT_MAKER | mixed << BF_RACE_SLOT_WARP : 0;
}

/* Numbers a record without its lane, in the form of slots; 0: there is no room for it. */
static uint32_t number(const bf_race_check *what, const bf_race_record *record) {
  struct bf_race_memory *memory = what->races->memory;
  bf_race_makers *own = &what->races->makers[what->warp->worker->index];
  bf_race_maker maker = {number_turn(what, record), record->order, record->site, record->who};
  uint32_t hash = maker.site * 131u + maker.turn * 31u +
                  (maker.who & BF_RACE_THREAD) / BF_EMU_LANES +
                  (maker.who >> BF_RACE_FIRST_BYTE) * 7u;
  uint32_t *known = &own->known[hash % BF_RACE_MAKERS_KNOWN];
  if (!maker.turn || (*known && memcmp(&memory->maker[*known], &maker, sizeof maker) == 0))
    return maker.turn ? slot_of(*known, record->block, record->who) : 0;
  *known = bf_race_number(memory, &memory->makers, sizeof maker, own->maker);
  if (*known)
    memory->maker[*known] = maker;
  return slot_of(*known, record->block, record->who);
}

uint32_t bf_race_number_maker(const bf_race_check *what, unsigned bytes, unsigned shift) {
  bf_race_record record = what->now;
  record.who = bf_race_who(what, 0, bytes, shift);
  return number(what, &record);
}

/* Takes note of an access of a line in a row; false: it does not fit. */
static bool fill_part(const bf_race_check *what, bf_race_slot slot[BF_EMU_LANES],
                      const bf_race_part *part) {
  bf_race_record maker = part->record;
  unsigned lane = maker.who & (BF_EMU_LANES - 1);
  maker.who &= (uint16_t) ~(BF_EMU_LANES - 1);
  uint32_t made = number(what, &maker) | (maker.who & BF_RACE_STRONG ? BF_RACE_SLOT_STRONG : 0) |
                  (part->is_write ? BF_RACE_SLOT_WRITES : 0);
  bool fits = made >> BF_RACE_SLOT_MAKER;
  for (unsigned word = 0; word < BF_EMU_LANES && fits; word++) {
    if (!(part->mask >> word & 1))
      continue;
    uint32_t now = made | (lane + ((word - part->first) >> part->shift)) << BF_RACE_SLOT_LANE;
    fits = part->is_write ? bf_race_slot_write(&slot[word], now)
                          : bf_race_slot_read(what, &slot[word], now);
  }
  return fits;
}

bool bf_race_fill_slots(const bf_race_check *what, bf_race_line *line, bf_race_body *body) {
  bf_race_slot slot[BF_EMU_LANES] = {0};
  uint32_t launch = 0;
  for (unsigned i = 0; i < line->parts; i++) {
    uint32_t of = body->part[i].record.launch;
    if (bf_race_is_past(what, of))
      continue;
    launch = bf_race_later(launch, of);
    if (!fill_part(what, slot, &body->part[i]))
      return false;
  }
  memcpy(body->slot, slot, sizeof slot);
  line->parts = 0;
  line->launch = launch;
  line->is_in_slots = true;
  return true;
}

void bf_race_spread_slots(const bf_race_check *what, const bf_race_place *at) {
  bf_race_line *line = at->line;
  memset(at->first_word, 0, (BF_EMU_LANES - at->first) * sizeof *at->first_word);
  for (unsigned word = at->first; word < BF_EMU_LANES && !bf_race_is_past(what, line->launch);
       word++) {
    const bf_race_slot *slot = &at->body->slot[word];
    bf_race_word *to = &at->first_word[word - at->first];
    if (slot->last)
      to->read[0] = bf_race_slot_record(what, slot->last);
    if (slot->other)
      *(slot->other & BF_RACE_SLOT_WRITES ? &to->write : &to->read[1]) =
          bf_race_slot_record(what, slot->other);
  }
  line->is_in_slots = false;
  line->parts = 0;
}
