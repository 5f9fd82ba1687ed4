/* Races at single words: each byte of a lane against the records of its word. */
#include "emu/race_check.h"
#include "emu/transfer.h"

/* Whether an earlier write may be of the same instruction: check_lanes has compared those. */
static inline bool is_of_same_store(const bf_race_check *what, const bf_race_record *old) {
  return what->is_write && old->launch == what->now.launch && old->block == what->now.block &&
         old->site == what->now.site && old->order == what->now.order &&
         (old->who & BF_RACE_THREAD) / BF_EMU_LANES == what->warp->index;
}

/* What a store writes, 16 bytes for each lane; NULL: not known. */
static const uint8_t *stage(const bf_race_check *what, uint32_t mask,
                            uint8_t buffer[BF_EMU_LANES][16]) {
  const bf_emu_kernel *kernel = what->warp->worker->flight->kernel;
  if (what->warp->stored) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(buffer[lane], what->warp->stored + lane * what->warp->stored_step, what->width_bytes);
    return buffer[0];
  }
  if (!what->is_write || what->is_atomic || what->width_bytes > 16 ||
      what->op->site >= kernel->site_count ||
      kernel->sites[what->op->site].instruction->opcode != BF_PTX_OP_ST)
    return NULL;
  unsigned plain = what->op->small[BF_EMU_PLAIN];
  if (plain) {
    const uint8_t *from = what->warp->registers + what->op->d;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(buffer[lane], from + lane * plain, plain);
    return buffer[0];
  }
  const bf_emu_transfer *transfer = what->op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = buffer[lane];
  for (unsigned i = 0; i < transfer->count; i++)
    transfer->move[i](what->warp->registers + transfer->place[i], pointer, i * transfer->size,
                      mask);
  return buffer[0];
}

/* The same, computed once. */
const uint8_t *bf_race_value(const bf_race_check *what) {
  if (!what->staged->is_known) {
    what->staged->value = stage(what, what->staged->mask, what->staged->buffer);
    what->staged->is_known = true;
  }
  return what->staged->value;
}

/* Whether what a lane writes to bytes of a word is there already. */
static bool writes_the_same(const bf_race_check *what, const uint8_t *memory, unsigned lane,
                            unsigned first, unsigned bytes) {
  const uint8_t *value = bf_race_value(what);
  return value && memcmp(memory, value + lane * 16 + first, bytes) == 0;
}

/* Checks bytes of one word of a lane, and takes note; false: the launch has ended. first counts
 * bytes of the access before these, memory is where they are. */
static inline bool check_word(const bf_race_check *what, bf_race_word *word, unsigned lane,
                              unsigned bytes, unsigned shift, unsigned first, uint64_t address,
                              const uint8_t *memory) {
  uint16_t who = bf_race_who(what, lane, bytes, shift);
  bool fine = true;
  if (bf_race_is_unordered(what, &word->write, who) && !is_of_same_store(what, &word->write) &&
      !(what->is_write && !what->is_atomic &&
        !(word->write.who & (BF_RACE_COPY | BF_RACE_STRONG)) &&
        writes_the_same(what, memory, lane, first, bytes)))
    fine = bf_race_report(what, &word->write, true, lane, address);
  if (what->is_write) {
    for (unsigned i = 0; i < 2 && fine; i++)
      if (bf_race_is_unordered(what, &word->read[i], who))
        fine = bf_race_report(what, &word->read[i], false, lane, address);
    bf_race_note(what, &word->write, who);
  } else {
    bf_race_note_reader(what, word, who);
  }
  return fine;
}

/* Checks all bytes of a lane, which lie in one line or begin the next. */
bool bf_race_check_lane(const bf_race_check *what, const bf_race_place *at, unsigned lane,
                        uint64_t address, const uint8_t *memory) {
  bf_race_word *word = at->word;
  if (!bf_race_spread(what, at))
    return true;

  unsigned width = what->width_bytes, shift = (unsigned)(address % BF_RACE_WORD_BYTES);
  for (unsigned first = 0; first < width; word++) {
    unsigned bytes =
        BF_RACE_WORD_BYTES - shift < width - first ? BF_RACE_WORD_BYTES - shift : width - first;
    if (!check_word(what, word, lane, bytes, shift, first, address, memory + first))
      return false;
    first += bytes;
    shift = 0;
  }
  return true;
}
