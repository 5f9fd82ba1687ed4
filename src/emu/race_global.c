/* Races in global memory: which allocation an address is of, and the short ways of rows and of
 * lanes that are in order. */
#include "emu/race_check.h"

/* The segment of a global address; NULL: it is not checked. The worker remembers it. */
static const bf_race_segment *find_segment(const bf_race_check *what, uint64_t address) {
  const struct bf_race_memory *memory = what->races->memory;
  bf_emu_worker *worker = what->warp->worker;
  const bf_race_segment *at = worker->segment;
  if (!at || address < at->first || address >= at->end) {
    size_t low = 0, high = memory->segments;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (memory->segment[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == memory->segments || address < memory->segment[low].first)
      return NULL;
    worker->segment = at = &memory->segment[low];
  }
  return at->word ? at : NULL;
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
 * nothing is noted.
 */
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

/* The lanes of such a row in a segment that are left to check one by one. */
static uint32_t pass_narrow_row(const bf_race_check *what, const bf_race_segment *of,
                                const uint64_t *address) {
  unsigned lanes = BF_RACE_WORD_BYTES / what->width_bytes;
  uint32_t left = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane += lanes) {
    bf_race_place at = bf_race_place_of(of->line, of->word, of->first, address[lane]);
    bf_race_spread(what, &at);
    if (!pass_narrow(what, at.word, lane))
      left |= ((UINT32_C(1) << lanes) - 1) << lane;
  }
  return left;
}

/* Keeps others away from the words of a page of memory while they are checked. */
static void lock_page(struct bf_emu_races *races, uint64_t page) {
  while (__atomic_test_and_set(&races->lock[page % BF_RACE_LOCKS], __ATOMIC_ACQUIRE))
    ;
}
static void unlock_page(struct bf_emu_races *races, uint64_t page) {
  __atomic_clear(&races->lock[page % BF_RACE_LOCKS], __ATOMIC_RELEASE);
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
  const bf_race_segment *of = find_segment(what, address[0]);
  if (!of || last >= of->end || (!alone && last >> 12 != page))
    return mask;
  uint32_t left = UINT32_MAX;
  if (!alone)
    lock_page(what->races, page);
  bf_race_place at = bf_race_place_of(of->line, of->word, of->first, address[0]);
  if (step) {
    size_t lines = BF_EMU_LANES * step / BF_RACE_LINE_BYTES;
    fetch_ahead(at.line + lines, lines * sizeof *at.line);
    left = bf_race_pass_row(what, at.line, address[0], step);
  } else {
    size_t words = BF_EMU_LANES * what->width_bytes / BF_RACE_WORD_BYTES;
    fetch_ahead(at.word + words, words * sizeof *at.word);
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

/* The same for all words of a lane. */
static inline bool pass_lane(const bf_race_check *what, const bf_race_place *at, unsigned lane,
                             uint64_t address) {
  unsigned width = what->width_bytes;
  if (!at->line->is_in_words || at->line->launch < what->now.launch)
    bf_race_spread(what, at);
  if (width <= BF_RACE_WORD_BYTES)
    return pass_word(what, at->word,
                     bf_race_who(what, lane, width, (unsigned)(address % BF_RACE_WORD_BYTES)));
  for (unsigned i = 0; i < width / BF_RACE_WORD_BYTES; i++)
    if (!pass_word(what, &at->word[i], bf_race_who(what, lane, BF_RACE_WORD_BYTES, 0)))
      return false;
  return true;
}

/* The segment that all lanes access; NULL: they access several, or some that is not checked. */
static const bf_race_segment *one_segment(const bf_race_check *what, uint32_t mask,
                                          const uint64_t *address) {
  uint64_t least = UINT64_MAX, most = 0;
  BF_EACH_LANE(mask, lane) {
    least = address[lane] < least ? address[lane] : least;
    most = address[lane] > most ? address[lane] : most;
  }
  const bf_race_segment *of = mask ? find_segment(what, least) : NULL;
  return of && most + what->width_bytes <= of->end ? of : NULL;
}

/* Whether the host fetches what is known of the lanes' words by itself, as they lie side by side.
 */
static inline bool are_near(uint32_t mask, const uint64_t *address) {
  unsigned first = (unsigned)__builtin_ctz(mask), last = 31 - (unsigned)__builtin_clz(mask);
  return address[last] - address[first] < 2 * BF_RACE_LINE_BYTES;
}

/* Checks lanes of one segment, as bf_race_check_lane does where all is in order; returns those from
 * the first on that may race, which are left. What is known of their words is fetched for all of
 * them before the first is looked at. */
static uint32_t pass_global(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone;
  const bf_race_segment *of =
      what->now.who & BF_RACE_COPY ? NULL : one_segment(what, mask, address);
  if (!of)
    return mask;
  bf_race_place at[BF_EMU_LANES];
  bool is_near = are_near(mask, address);
  BF_EACH_LANE(mask, lane) {
    at[lane] = bf_race_place_of(of->line, of->word, of->first, address[lane]);
    if (is_near)
      continue;
    __builtin_prefetch(at[lane].line, 1);
    fetch_ahead(at[lane].word, sizeof *at[lane].word + 1);
  }
  BF_EACH_LANE(mask, lane) {
    if (!alone)
      lock_page(what->races, address[lane] >> 12);
    bool fine = pass_lane(what, &at[lane], lane, address[lane]);
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
  BF_EACH_LANE(pass_global(what, left, address), lane) {
    const bf_race_segment *of = fine ? find_segment(what, address[lane]) : NULL;
    if (!of)
      continue;
    uint64_t page = address[lane] >> 12;
    if (!alone && page != locked) {
      if (locked != UINT64_MAX)
        unlock_page(what->races, locked);
      lock_page(what->races, page);
      locked = page;
    }
    bf_race_place at = bf_race_place_of(of->line, of->word, of->first, address[lane]);
    fine = bf_race_check_lane(what, &at, lane, address[lane],
                              (const uint8_t *)(uintptr_t)address[lane]);
  }
  if (locked != UINT64_MAX)
    unlock_page(what->races, locked);
  return fine;
}
