/* Races at lines of words: where all lanes of a warp access words in a row, one record stands for
 * those of a line; another kind of access, or more rows than a line has room for, spreads them to
 * the words. */
#include "emu/race_check.h"

static inline uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* The thread of a word of a part, with its flags. */
static inline uint16_t who_at(const bf_race_part *part, unsigned word) {
  return (uint16_t)(part->record.who + ((word - part->first) >> part->shift));
}

/* Takes note of a read of a word, of the last two threads that read it. */
static inline void push_read(bf_race_word *word, const bf_race_record *now) {
  const bf_race_record *last = &word->read[0];
  if (last->block != now->block || last->launch != now->launch ||
      (last->who ^ now->who) & BF_RACE_THREAD)
    word->read[1] = *last;
  word->read[0] = *now;
}

/* Hands what is known of a line to its words. */
static void spread_line(bf_race_line *line, const bf_race_place *at) {
  memset(at->first_word, 0, (BF_EMU_LANES - at->first) * sizeof *at->first_word);
  line->launch = 0;
  for (unsigned i = 0; i < line->parts; i++) {
    const bf_race_part *part = &line->part[i];
    bf_race_record record = part->record;
    line->launch = later(line->launch, record.launch);
    BF_EACH_LANE(part->mask, word) {
      record.who = who_at(part, word);
      if (part->is_write)
        at->first_word[word - at->first].write = record;
      else
        push_read(&at->first_word[word - at->first], &record);
    }
  }
  line->parts = 0;
}

/* The words of a line are accessed one by one. */
void bf_race_spread(const bf_race_check *what, const bf_race_place *at) {
  bf_race_line *line = at->line;
  if (!line->is_in_words && (line->parts || line->was_in_words))
    spread_line(line, at);
  line->is_in_words = true;
  line->block = what->now.block;
  line->epoch = what->now.epoch;
  line->launch = later(line->launch, what->now.launch);
  line->has_copies |= (what->now.who & BF_RACE_COPY) != 0;
}

/* Whether an access may race with an earlier one of words of the same line. Which threads they are
 * counts between two barriers of a block only; there, of two that lie by the same shift, it is the
 * same for all words. */
static inline bool may_meet(const bf_race_check *what, const bf_race_part *old,
                            const bf_race_part *now) {
  uint32_t common = old->mask & now->mask;
  if (!common || !(old->is_write || now->is_write))
    return false;
  unsigned word = (unsigned)__builtin_ctz(common);
  bf_race_record at = old->record;
  at.who = who_at(old, word);
  bool is_close =
      at.launch == what->now.launch && at.block == what->now.block && at.epoch == what->now.epoch;
  return (is_close && old->shift != now->shift) ||
         bf_race_is_unordered(what, &at, who_at(now, word));
}

/* Whether two reads are of the same threads. */
static inline bool is_again(const bf_race_part *old, const bf_race_part *now) {
  uint32_t common = old->mask & now->mask;
  unsigned word = (unsigned)__builtin_ctz(common | 1u << 31);
  return common && old->shift == now->shift && old->record.block == now->record.block &&
         old->record.launch == now->record.launch &&
         !((who_at(old, word) ^ who_at(now, word)) & BF_RACE_THREAD);
}

/* Whether nothing that comes can race with an earlier access: behind a barrier none does with what
 * a block did to its shared memory. */
static inline bool is_over(const bf_race_check *what, const bf_race_record *old) {
  const bf_race_record *now = &what->now;
  if (!what->is_shared)
    return bf_race_is_past(what, old->launch);
  return !what->is_clustered &&
         (old->launch != now->launch || old->block != now->block || old->epoch != now->epoch);
}

/* Leaves out what words need not know once there is another access: what is over, of each word all
 * writes but the last, and all reads but those of the last two threads. */
static void make_room(const bf_race_check *what, bf_race_line *line, const bf_race_part *now) {
  uint32_t once = now->mask, twice = 0;
  unsigned kept = 0;
  for (unsigned i = line->parts; i-- > 0;) {
    bf_race_part *old = &line->part[i];
    if (is_over(what, &old->record))
      old->mask = 0;
    if (old->is_write != now->is_write)
      continue;
    old->mask &= ~(old->is_write || is_again(old, now) ? now->mask : twice);
    twice |= old->mask & once;
    once |= old->mask;
  }
  for (unsigned i = 0; i < line->parts; i++)
    if (line->part[i].mask)
      line->part[kept++] = line->part[i];
  line->parts = (uint8_t)kept;
}

/* An access to words of a line: whether it is in order, and noted. */
static bool pass_part(const bf_race_check *what, bf_race_line *line, const bf_race_part *now) {
  /* Behind a barrier nothing that a block did to its shared memory before matters. */
  if (line->is_in_words &&
      (what->is_shared ? !line->has_copies && !what->is_clustered &&
                             (line->block != what->now.block || line->epoch != what->now.epoch)
                       : bf_race_is_past(what, line->launch))) {
    line->is_in_words = line->has_copies = false;
    line->was_in_words = true;
  }
  if (line->is_in_words)
    return false;
  for (unsigned i = 0; i < line->parts; i++)
    if (may_meet(what, &line->part[i], now))
      return false;
  make_room(what, line, now);
  if (line->parts == BF_RACE_PARTS)
    return false;
  line->part[line->parts++] = *now;
  return true;
}

/* How many bytes lanes are apart that access words in a row, a power of two; 0: they do not. */
unsigned bf_race_row_step(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  unsigned width = what->width_bytes;
  uint64_t step = address[1] - address[0], wrong = address[0] % BF_RACE_WORD_BYTES;
  if (mask != UINT32_MAX || width % BF_RACE_WORD_BYTES || step < width || width > 16 ||
      step > BF_RACE_LINE_BYTES / 2 || step & (step - 1) || what->now.who & BF_RACE_COPY)
    return 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= address[lane] ^ (address[0] + lane * step);
  return wrong ? 0 : (unsigned)step;
}

/* Words of a line, from first on: count times width words, step words apart. */
static inline uint32_t row_mask(unsigned first, unsigned count, unsigned width, unsigned step) {
  uint64_t mask = 0, unit = (UINT64_C(1) << width) - 1;
  if (step == width)
    return (uint32_t)((((UINT64_C(1) << width * count) - 1)) << first);
  for (unsigned i = 0; i < count; i++)
    mask |= unit << (first + i * step);
  return (uint32_t)mask;
}

/* The lanes of such a row, whose first line is given, that are left to check one by one. */
uint32_t bf_race_pass_row(const bf_race_check *what, bf_race_line *line, uint64_t address,
                          unsigned step) {
  unsigned words = step / BF_RACE_WORD_BYTES, width = what->width_bytes / BF_RACE_WORD_BYTES;
  uint32_t left = 0;
  bf_race_part now = {
      .record = what->now, .shift = (uint8_t)__builtin_ctz(words), .is_write = what->is_write};
  for (unsigned lane = 0, count; lane < BF_EMU_LANES; lane += count, line++) {
    unsigned first =
        (unsigned)((address + lane * (uint64_t)step) % BF_RACE_LINE_BYTES) / BF_RACE_WORD_BYTES;
    count = (BF_EMU_LANES - first + words - 1) / words;
    count = count < BF_EMU_LANES - lane ? count : BF_EMU_LANES - lane;
    now.first = (uint8_t)first;
    now.mask = row_mask(first, count, width, words);
    now.record.who = bf_race_who(what, lane, BF_RACE_WORD_BYTES, 0);
    if (!pass_part(what, line, &now))
      left |= (uint32_t)((UINT64_C(1) << count) - 1) << lane;
  }
  return left;
}

/* The lanes that read what two lanes before them read: two readers are all that is kept. */
uint32_t bf_race_read_again(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  uint32_t again = 0;
  if (what->is_write)
    return 0;
  for (unsigned lane = 2; lane < BF_EMU_LANES; lane++)
    again |= (uint32_t)((address[lane] == address[lane - 1]) & (address[lane] == address[lane - 2]))
             << lane;
  /* Two halves that read the same, as in tiles of 16 columns. */
  uint64_t differs = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES / 2; lane++)
    differs |= address[lane] ^ address[lane + BF_EMU_LANES / 2];
  if (differs == 0)
    again |= 0xffff0000;
  return again & (mask == UINT32_MAX ? UINT32_MAX : 0);
}
