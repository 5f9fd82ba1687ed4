/* Races at lines of words: where all lanes of a warp access words in a row, one record stands for
 * those of a line; another kind of access, or more rows than a line has room for, spreads them to
 * the words. */
#include "emu/race_slot.h"

/* Takes note of a read of a word, of the last two threads that read it. */
static inline void push_read(bf_race_word *word, const bf_race_record *now) {
  const bf_race_record *last = &word->read[0];
  if (last->block != now->block || last->launch != now->launch ||
      (last->who ^ now->who) & BF_RACE_THREAD)
    word->read[1] = *last;
  word->read[0] = *now;
}

/* Hands what is known of a line to its words. */
static void spread_line(const bf_race_place *at) {
  bf_race_line *line = at->line;
  memset(at->first_word, 0, (BF_EMU_LANES - at->first) * sizeof *at->first_word);
  line->launch = 0;
  for (unsigned i = 0; i < line->parts; i++) {
    const bf_race_part *part = &at->body->part[i];
    bf_race_record record = part->record;
    line->launch = bf_race_later(line->launch, record.launch);
    BF_EACH_LANE(part->mask, word) {
      record.who = bf_race_who_at(part, word);
      if (part->is_write)
        at->first_word[word - at->first].write = record;
      else
        push_read(&at->first_word[word - at->first], &record);
    }
  }
  line->parts = 0;
}

/* Whether the words of a line may be touched. */
static bool may_spread(const bf_race_check *what, const bf_race_place *at) {
  bf_race_line *line = at->line;
  if (line->is_in_words || !at->of || line->is_left_out)
    return !line->is_left_out;
  line->is_left_out =
      !bf_race_ask_words(what->races->memory, at->of, (uint64_t)(at->first_word - at->of->word),
                         BF_EMU_LANES - at->first);
  return !line->is_left_out;
}

bool bf_race_spread(const bf_race_check *what, const bf_race_place *at) {
  bf_race_line *line = at->line;
  if (!may_spread(what, at))
    return false;
  if (line->is_in_slots)
    bf_race_spread_slots(what, at);
  else if (!line->is_in_words && (line->parts || line->was_in_words))
    spread_line(at);
  line->is_in_words = true;
  at->body->words.block = what->now.block;
  at->body->words.epoch = what->now.epoch;
  line->launch = bf_race_later(line->launch, what->now.launch);
  line->has_copies |= (what->now.who & BF_RACE_COPY) != 0;
  return true;
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
  at.who = bf_race_who_at(old, word);
  bool is_close =
      at.launch == what->now.launch && at.block == what->now.block && at.epoch == what->now.epoch;
  return (is_close && old->shift != now->shift) ||
         bf_race_is_unordered(what, &at, bf_race_who_at(now, word));
}

/* Whether two reads are of the same threads. */
static inline bool is_again(const bf_race_part *old, const bf_race_part *now) {
  uint32_t common = old->mask & now->mask;
  unsigned word = (unsigned)__builtin_ctz(common | 1u << 31);
  return common && old->shift == now->shift && old->record.block == now->record.block &&
         old->record.launch == now->record.launch &&
         !((bf_race_who_at(old, word) ^ bf_race_who_at(now, word)) & BF_RACE_THREAD);
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
static void make_room(const bf_race_check *what, bf_race_line *line, bf_race_part *part,
                      const bf_race_part *now) {
  uint32_t once = now->mask, twice = 0;
  unsigned kept = 0;
  for (unsigned i = line->parts; i-- > 0;) {
    bf_race_part *old = &part[i];
    if (is_over(what, &old->record))
      old->mask = 0;
    if (old->is_write != now->is_write)
      continue;
    old->mask &= ~(old->is_write || is_again(old, now) ? now->mask : twice);
    twice |= old->mask & once;
    once |= old->mask;
  }
  for (unsigned i = 0; i < line->parts; i++)
    if (part[i].mask)
      part[kept++] = part[i];
  line->parts = kept;
}

/* An access to words of a line: whether it is in order, and noted. */
static bool pass_part(const bf_race_check *what, bf_race_line *line, bf_race_body *body,
                      const bf_race_part *now) {
  bf_race_part *part = body->part;
  /* Behind a barrier nothing that a block did to its shared memory before matters. */
  if (line->is_in_words && (what->is_shared ? !line->has_copies && !what->is_clustered &&
                                                  (body->words.block != what->now.block ||
                                                   body->words.epoch != what->now.epoch)
                                            : bf_race_is_past(what, line->launch))) {
    line->is_in_words = line->has_copies = false;
    line->was_in_words = true;
  }
  if (line->is_in_slots && bf_race_is_past(what, line->launch)) {
    line->is_in_slots = false;
    line->parts = 0;
  }
  if (line->is_left_out)
    return true;
  if (line->is_in_words || line->is_in_slots)
    return false;
  for (unsigned i = 0; i < line->parts; i++)
    if (may_meet(what, &part[i], now))
      return false;
  make_room(what, line, part, now);
  if (line->parts == BF_RACE_PARTS)
    return false;
  part[line->parts++] = *now;
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
uint32_t bf_race_pass_row(const bf_race_check *what, const bf_race_place *at, uint64_t address,
                          unsigned step) {
  bf_race_line *line = at->line;
  uint64_t number = at->number;
  unsigned words = step / BF_RACE_WORD_BYTES, width = what->width_bytes / BF_RACE_WORD_BYTES;
  uint32_t left = 0;
  bf_race_part now = {
      .record = what->now, .shift = (uint8_t)__builtin_ctz(words), .is_write = what->is_write};
  for (unsigned lane = 0, count; lane < BF_EMU_LANES; lane += count, line++, number++) {
    unsigned first =
        (unsigned)((address + lane * (uint64_t)step) % BF_RACE_LINE_BYTES) / BF_RACE_WORD_BYTES;
    count = (BF_EMU_LANES - first + words - 1) / words;
    count = count < BF_EMU_LANES - lane ? count : BF_EMU_LANES - lane;
    now.first = (uint8_t)first;
    now.mask = row_mask(first, count, width, words);
    now.record.who = bf_race_who(what, lane, BF_RACE_WORD_BYTES, 0);
    if (!pass_part(what, line, &at->bodies[bf_race_body_of(number)], &now))
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
