/* Sentences about a picture. */
#include "report/report.h"

static const char *plural(uint64_t number) { return number == 1 ? "" : "s"; }

void bf_picture_describe(const bf_access *access, bf_text *text) {
  unsigned lanes = (unsigned)__builtin_popcountll(access->mask);
  bf_text_addf(text, "%s of %u byte%s by %u lane%s", bf_op_name(access->op), access->width_bytes,
               plural(access->width_bytes), lanes, plural(lanes));
  if (access->line)
    bf_text_addf(text, ", line %llu", (unsigned long long)access->line);
  if (access->count > 1)
    bf_text_addf(text, ", %llu times", (unsigned long long)access->count);
  if (!access->site)
    return;
  bf_text_puts(text, ", at ");
  for (const char *at = access->site; *at; at++)
    bf_text_addf(text, "%c", (unsigned char)*at < 32 || *at == 127 ? '?' : *at);
}

void bf_picture_note_columns(const bf_picture *picture, bf_text *text) {
  if (picture->columns < BF_PICTURE_COLUMNS)
    bf_text_addf(text, "Of the %u banks, those not drawn are idle.", picture->banks);
  else
    bf_text_addf(text, "Of the %u banks, the %u fullest are drawn.", picture->banks,
                 picture->columns);
}

/* The bank that is furthest above what its phase needs anyway. */
typedef struct hot_bank {
  const bf_picture_phase *phase;
  uint32_t bank;
  unsigned load;
  unsigned lanes, words; /* that want this bank */
  unsigned as_full;      /* other banks of the phase with the same load */
} hot_bank;

static hot_bank find_hot_bank(const bf_picture *picture) {
  hot_bank hot = {0};
  int most = -(int)BF_PHASE_WORDS;
  for (unsigned p = 0; p < picture->phases; p++) {
    const bf_picture_phase *phase = &picture->phase[p];
    for (unsigned r = 0; r < phase->rows; r++)
      for (unsigned c = 0; c < phase->row[r].cells; c++) {
        const bf_picture_cell *cell = &phase->row[r].cell[c];
        int above = (int)cell->load - (int)phase->ideal;
        if (above > most) {
          most = above;
          hot = (hot_bank){.phase = phase, .bank = cell->bank, .load = cell->load};
        }
      }
  }
  return hot;
}

/* Counts the different words of cell that no earlier cell of its bank has. */
static unsigned new_words(const bf_picture_phase *phase, unsigned row_index,
                          const bf_picture_cell *cell) {
  unsigned fresh = cell->words;
  for (unsigned w = 0; w < cell->words; w++) {
    bool seen = false;
    for (unsigned r = 0; r < row_index && !seen; r++)
      for (unsigned c = 0; c < phase->row[r].cells && !seen; c++) {
        const bf_picture_cell *other = &phase->row[r].cell[c];
        for (unsigned v = 0; v < other->words && !seen; v++)
          seen = other->bank == cell->bank && other->word[v] == cell->word[w];
      }
    fresh -= seen;
  }
  return fresh;
}

/* Fills in who wants the hot bank and how many banks are as full: each such bank is seen once, in
 * the row of its last cell. */
static void survey_hot_bank(hot_bank *hot) {
  uint64_t lanes = 0;
  unsigned cells = 0;
  for (unsigned r = 0; r < hot->phase->rows; r++)
    for (unsigned c = 0; c < hot->phase->row[r].cells; c++) {
      const bf_picture_cell *cell = &hot->phase->row[r].cell[c];
      cells += cell->load == hot->load;
      if (cell->bank != hot->bank)
        continue;
      lanes |= cell->lanes;
      hot->words += new_words(hot->phase, r, cell);
    }
  hot->as_full = cells / hot->load - 1;
  hot->lanes = (unsigned)__builtin_popcountll(lanes);
}

static unsigned distinct_words(const bf_picture *picture) {
  unsigned words = 0;
  for (unsigned p = 0; p < picture->phases; p++)
    for (unsigned r = 0; r < picture->phase[p].rows; r++)
      for (unsigned c = 0; c < picture->phase[p].row[r].cells; c++)
        words += new_words(&picture->phase[p], r, &picture->phase[p].row[r].cell[c]);
  return words;
}

static void explain_without_conflict(const bf_picture *picture, bf_text *text) {
  unsigned wavefronts = bf_picture_wavefronts(picture);
  unsigned lanes = (unsigned)__builtin_popcountll(picture->access->mask);
  unsigned words = distinct_words(picture);
  if (picture->phases > 1)
    bf_text_addf(text,
                 "The machine serves these %u lanes in %u groups, one after the other: ", lanes,
                 picture->phases);
  else if (lanes == 1)
    bf_text_puts(text, "A single lane is active: ");
  else if (words == 1)
    bf_text_addf(text, "All %u lanes want the same word: ", lanes);
  else if (picture->rows == 1)
    bf_text_addf(text, "%u lanes want %u different words, no two in one bank: ", lanes, words);
  else
    bf_text_addf(text, "%u lanes want %u different words: ", lanes, words);
  bf_text_addf(text, "%u wavefront%s, %s.", wavefronts, plural(wavefronts),
               wavefronts == 1 ? "no conflict" : "the fewest possible");
}

static void explain_conflict(const bf_picture *picture, bf_text *text) {
  hot_bank hot = find_hot_bank(picture);
  survey_hot_bank(&hot);
  unsigned wavefronts = bf_picture_wavefronts(picture);
  bf_text_addf(text, "%u lane%s want%s ", hot.lanes, plural(hot.lanes), hot.lanes == 1 ? "s" : "");
  if (hot.words == 1)
    bf_text_addf(text, "the same word of bank %u, one after the other", hot.bank);
  else
    bf_text_addf(text, "%u different words of bank %u", hot.words, hot.bank);
  if (hot.as_full)
    bf_text_addf(text, ", and %u more bank%s %s as full", hot.as_full, plural(hot.as_full),
                 hot.as_full == 1 ? "is" : "are");
  if (picture->phases > 1)
    bf_text_addf(text, " in the worst of %u groups of lanes", picture->phases);
  if (picture->lock_turns)
    bf_text_addf(text, ": %u round%s of locking,", picture->count.lock_iterations,
                 plural(picture->count.lock_iterations));
  else
    bf_text_puts(text, ":");
  bf_text_addf(text, " %u wavefronts instead of %u.", wavefronts, picture->count.ideal);
}

void bf_picture_explain(const bf_picture *picture, bf_text *text) {
  if (picture->count.conflicts)
    explain_conflict(picture, text);
  else
    explain_without_conflict(picture, text);
  if (picture->count.estimated)
    bf_text_puts(text, " The machine's rule for this access is assumed, not known.");
}
