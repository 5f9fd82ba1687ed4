/* Races in global memory: which allocation an address is of, and the short ways of rows and of
 * lanes that are in order. */
#include "emu/race_slot.h"

/* The segment of a global address; NULL: it is not checked. The worker remembers it. */
static bf_race_segment *find_segment(const bf_race_check *what, uint64_t address) {
  const struct bf_emu_races *races = what->races;
  bf_emu_worker *worker = what->warp->worker;
  bf_race_segment *at = worker->segment;
  if (!at || address < at->first || address >= at->end) {
    size_t low = 0, high = races->segments;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (races->segment[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == races->segments || address < races->segment[low].first)
      return NULL;
    worker->segment = at = &races->segment[low];
  }
  return at->word ? at : NULL;
}

/* Whether what is known of memory at an address of a segment may be touched. */
static inline bool is_known(const bf_race_check *what, bf_race_segment *of, uint64_t address) {
  uint64_t region = (address - of->first) / BF_RACE_REGION_BYTES;
  uint8_t answer = __atomic_load_n(&of->asked[region], __ATOMIC_RELAXED);
  return answer == BF_RACE_GRANTED ||
         (answer == BF_RACE_NOT_ASKED && bf_race_ask(what->races->memory, of, region));
}

static inline bf_race_place place_in(bf_race_segment *of, uint64_t address) {
  bf_race_place at = bf_race_place_of(of->line, of->body, of->word, of->first, address);
  at.of = of;
  return at;
}

/* A lane in global memory. */
typedef struct lane_place {
  bf_race_segment *of;
  bf_race_line *line;
  bf_race_slot *slot; /* of its first word */
} lane_place;

static inline lane_place lane_in(bf_race_segment *of, uint64_t address) {
  uint64_t line = address / BF_RACE_LINE_BYTES - of->first / BF_RACE_LINE_BYTES;
  return (lane_place){
      of, &of->line[line],
      &of->body[bf_race_body_of(line)].slot[address % BF_RACE_LINE_BYTES / BF_RACE_WORD_BYTES]};
}

/* Whether slots know a lane's line, which may cease to be one of words where those know nothing
 * that still counts. */
static inline bool open_lane(const bf_race_check *what, const lane_place *at) {
  bf_race_line *line = at->line;
  if (line->is_in_slots && line->launch == what->now.launch)
    return true;
  if (line->is_in_words) {
    if (line->launch == what->now.launch || !bf_race_is_past(what, line->launch))
      return false;
    line->is_in_words = line->has_copies = false;
    line->was_in_words = true;
  }
  return bf_race_open_slots(what, line,
                            &at->of->body[bf_race_body_of((uint64_t)(line - at->of->line))]);
}

/* Whether all lanes read bytes or halves one behind the other, from the begin of a word on. */
static bool is_narrow_row(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  uint64_t wrong = address[0] % BF_RACE_WORD_BYTES;
  if (mask != UINT32_MAX || what->is_write || what->width_bytes >= BF_RACE_WORD_BYTES)
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= address[lane] ^ (address[0] + (uint64_t)lane * what->width_bytes);
  return wrong == 0;
}

/* The reads of one word by lanes of such a row, from lane on, which are all in order, as
 * bf_race_check_lane does them one by one: the last two remain. False: one may not be in order, and
 * nothing is noted. */
static inline bool pass_narrow(const bf_race_check *what, bf_race_word *word, unsigned lane) {
  unsigned width = what->width_bytes, last = BF_RACE_WORD_BYTES / width - 1;
  if (word->write.launch)
    for (unsigned i = 0; i <= last; i++)
      if (bf_race_is_unordered(what, &word->write, bf_race_who(what, lane + i, width, i * width)))
        return false;
  bf_race_note(what, &word->read[1], bf_race_who(what, lane + last - 1, width, (last - 1) * width));
  bf_race_note(what, &word->read[0], bf_race_who(what, lane + last, width, last * width));
  return true;
}

/* The same for a word of a line of slots; false also where it has no room. */
static inline bool pass_narrow_slot(const bf_race_check *what, bf_race_slot *slot,
                                    bf_race_made *made, unsigned lane) {
  unsigned width = what->width_bytes, last = BF_RACE_WORD_BYTES / width - 1;
  uint32_t before = bf_race_slot_of(what, made, lane + last - 1, width, (last - 1) * width);
  uint32_t now = bf_race_slot_of(what, made, lane + last, width, last * width);
  if (!before || !now || (slot->other & BF_RACE_SLOT_WRITES))
    return false;
  *slot = (bf_race_slot){now, before};
  return true;
}

/* The lanes of such a row in a segment that are left to check one by one. */
static uint32_t pass_narrow_row(const bf_race_check *what, bf_race_segment *of,
                                const uint64_t *address) {
  unsigned lanes = BF_RACE_WORD_BYTES / what->width_bytes;
  bf_race_made made = {{0}};
  uint32_t left = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane += lanes) {
    lane_place at = lane_in(of, address[lane]);
    bool fine = false;
    if (open_lane(what, &at)) {
      fine = pass_narrow_slot(what, at.slot, &made, lane);
    } else {
      bf_race_place words = place_in(of, address[lane]);
      fine = !bf_race_spread(what, &words) || pass_narrow(what, words.word, lane);
    }
    if (!fine)
      left |= ((UINT32_C(1) << lanes) - 1) << lane;
  }
  return left;
}

/* Keeps others away from the words of a page of memory while they are checked. */
static void lock_page(struct bf_emu_races *races, uint64_t page) {
  while (__atomic_test_and_set(&races->memory->page_lock[page % BF_RACE_LOCKS], __ATOMIC_ACQUIRE))
    ;
}
static void unlock_page(struct bf_emu_races *races, uint64_t page) {
  __atomic_clear(&races->memory->page_lock[page % BF_RACE_LOCKS], __ATOMIC_RELEASE);
}

/* Has the host fetch what the next warp mostly wants; it may lie behind the end of it. */
static inline void fetch_ahead(const void *memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)memory + i, 1);
}

/* Checks a row of all lanes at once where one segment and, with several workers, one page hold it;
 * returns the lanes that are left to check one by one. */
static uint32_t check_row(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone;
  unsigned step = bf_race_row_step(what, mask, address);
  uint64_t last = address[BF_EMU_LANES - 1] + what->width_bytes - 1, page = address[0] >> 12;
  if (!step && !is_narrow_row(what, mask, address))
    return mask & ~bf_race_read_again(what, mask, address);
  bf_race_segment *of = find_segment(what, address[0]);
  if (!of || last >= of->end || (!alone && last >> 12 != page) || !is_known(what, of, address[0]) ||
      !is_known(what, of, last))
    return mask;
  uint32_t left = UINT32_MAX;
  if (!alone)
    lock_page(what->races, page);
  bf_race_place at = place_in(of, address[0]);
  if (step) {
    size_t lines = BF_EMU_LANES * step / BF_RACE_LINE_BYTES;
    fetch_ahead(at.line + lines, lines * sizeof *at.line);
    for (size_t i = lines; i < 2 * lines; i++)
      fetch_ahead(&at.bodies[bf_race_body_of(at.number + i)], sizeof *at.bodies);
    left = bf_race_pass_row(what, &at, address[0], step);
  } else {
    left = pass_narrow_row(what, of, address);
  }
  if (!alone)
    unlock_page(what->races, page);
  return left;
}

/* Checks bytes of a word where all is in order, and takes note; false: it may not be. */
static inline bool pass_word(const bf_race_check *what, bf_race_word *word, uint16_t who) {
  if (bf_race_is_unordered(what, &word->write, who) ||
      (what->is_write && (bf_race_is_unordered(what, &word->read[0], who) ||
                          bf_race_is_unordered(what, &word->read[1], who))))
    return false;
  if (what->is_write)
    bf_race_note(what, &word->write, who);
  else
    bf_race_note_reader(what, word, who);
  return true;
}

/* The same for words of a lane that slots know: how many of them are in order and have room; then
 * may_race says why no more. */
static inline unsigned pass_slots(const bf_race_check *what, bf_race_slot *slot, uint32_t now,
                                  uint16_t who, unsigned words, bool *may_race) {
  for (unsigned i = 0; i < words; i++) {
    bf_race_passed passed = bf_race_pass_slot(what, slot + i, now, who);
    *may_race = passed == BF_RACE_MAY_RACE;
    if (passed != BF_RACE_PASSED)
      return i;
  }
  return words;
}

/* The same for all words of a lane, whose access is now in the form of slots. */
static inline bool pass_lane(const bf_race_check *what, const lane_place *at, uint32_t now,
                             uint16_t who, uint64_t address) {
  unsigned words = what->width_bytes / BF_RACE_WORD_BYTES + (what->width_bytes < 4), done = 0;
  if (open_lane(what, at)) {
    bool may_race = false;
    done = pass_slots(what, at->slot, now, who, words, &may_race);
    if (may_race || done == words)
      return !may_race;
  }
  bf_race_place place = place_in(at->of, address);
  if ((!at->line->is_in_words || at->line->launch < what->now.launch) &&
      !bf_race_spread(what, &place))
    return true;
  for (; done < words; done++)
    if (!pass_word(what, &place.word[done], who))
      return false;
  return true;
}

/* Whether the host fetches what is known of the lanes' words by itself, as they lie side by side.
 */
static inline bool are_near(uint32_t mask, const uint64_t *address) {
  unsigned first = (unsigned)__builtin_ctz(mask), last = 31 - (unsigned)__builtin_clz(mask);
  return address[last] - address[first] < 2 * BF_RACE_LINE_BYTES;
}

/* Where lanes are, in at; returns those whose memory is looked at. What is known of their words is
 * fetched for all of them before the first is looked at, and what they access as well. */
static uint32_t find_places(const bf_race_check *what, uint32_t mask, const uint64_t *address,
                            lane_place at[BF_EMU_LANES]) {
  bool is_near = are_near(mask, address);
  bf_race_segment *of = NULL;
  uint64_t first = 0, bytes = 0; /* of a region that may be touched */
  uint32_t found = 0;
  BF_EACH_LANE(mask, lane) {
    if (address[lane] - first >= bytes) {
      bytes = 0;
      of = find_segment(what, address[lane]);
      if (!of || !is_known(what, of, address[lane]))
        continue;
      first = address[lane] - (address[lane] - of->first) % BF_RACE_REGION_BYTES;
      bytes = of->end - first < BF_RACE_REGION_BYTES ? of->end - first : BF_RACE_REGION_BYTES;
    }
    found |= UINT32_C(1) << lane;
    at[lane] = lane_in(of, address[lane]);
    if (is_near)
      continue;
    __builtin_prefetch(at[lane].slot, 1);
    __builtin_prefetch(at[lane].line, 1);
    __builtin_prefetch((const void *)(uintptr_t)address[lane]);
  }
  return found;
}

/* Takes note of reads of whole words that slots know and nobody has written, lane by lane, up to
 * the first that is not so; returns the lanes from that on. No other worker is there. */
static uint32_t pass_reads(const bf_race_check *what, uint32_t mask,
                           const lane_place at[BF_EMU_LANES], bf_race_made *made) {
  uint32_t launch = what->now.launch, of = bf_race_slot_of(what, made, 0, BF_RACE_WORD_BYTES, 0);
  BF_EACH_LANE(of ? mask : 0, lane) {
    const bf_race_line *line = at[lane].line;
    bf_race_slot *slot = at[lane].slot;
    if (!line->is_in_slots || line->launch != launch || (slot->other & BF_RACE_SLOT_WRITES) ||
        !bf_race_slot_read(what, slot, of | lane << BF_RACE_SLOT_LANE))
      return mask & UINT32_MAX << lane;
  }
  return of ? 0 : mask;
}

/* Checks lanes as bf_race_check_lane does where all is in order; returns those from the first on
 * that may race, which are left. */
static uint32_t pass_global(const bf_race_check *what, uint32_t mask, const uint64_t *address,
                            const lane_place at[BF_EMU_LANES]) {
  bool alone = what->warp->worker->flight->alone, fine = true;
  unsigned bytes = what->width_bytes < BF_RACE_WORD_BYTES ? what->width_bytes : BF_RACE_WORD_BYTES;
  bf_race_made made = {{0}};
  if (alone && !what->is_write && what->width_bytes == BF_RACE_WORD_BYTES)
    mask = pass_reads(what, mask, at, &made);
  BF_EACH_LANE(mask, lane) {
    unsigned shift = (unsigned)(address[lane] % BF_RACE_WORD_BYTES);
    uint32_t now = bf_race_slot_of(what, &made, lane, bytes, shift);
    if (!alone)
      lock_page(what->races, address[lane] >> 12);
    fine = pass_lane(what, &at[lane], now, bf_race_who(what, lane, bytes, shift), address[lane]);
    if (!alone)
      unlock_page(what->races, address[lane] >> 12);
    if (!fine)
      return mask & UINT32_MAX << lane;
  }
  return 0;
}

bool bf_race_check_global(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone, fine = true;
  uint64_t locked = UINT64_MAX;
  uint32_t left = check_row(what, mask, address);
  lane_place at[BF_EMU_LANES];
  left = left ? find_places(what, left, address, at) : 0;
  BF_EACH_LANE(pass_global(what, left, address, at), lane) {
    uint64_t page = address[lane] >> 12;
    if (!alone && page != locked) {
      if (locked != UINT64_MAX)
        unlock_page(what->races, locked);
      lock_page(what->races, page);
      locked = page;
    }
    bf_race_place place = place_in(at[lane].of, address[lane]);
    fine = fine && bf_race_check_lane(what, &place, lane, address[lane],
                                      (const uint8_t *)(uintptr_t)address[lane]);
  }
  if (locked != UINT64_MAX)
    unlock_page(what->races, locked);
  return fine;
}
