/* The picture of an access: which bank serves which lanes in which wavefront.
 *
 * Each phase of the access becomes rows. What a bank must serve in a phase is a list of servings, a
 * serving being what the machine's rule lets a bank deliver in one wavefront; the k-th serving of a
 * bank goes into row k. So the rows of a phase are its wavefronts, and bf_memory_count must agree
 * with their number. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* What one bank delivers in one wavefront, and the row it is delivered in. */
typedef struct serving {
  bf_picture_cell cell;
  uint64_t key;     /* entries of equal bank and key may share a serving */
  unsigned entries; /* lanes' requests that want this key */
  unsigned row;
} serving;

typedef struct schedule {
  serving item[BF_PHASE_WORDS];
  unsigned items, rows;
} schedule;

/* ---- Servings ---- */

/* The key under which the machine's banks tell words apart. */
static uint64_t serving_key(const bf_machine *machine, const bf_hash *hash, uint32_t word) {
  if (machine->serve == BF_SERVE_ROW_PAIRS)
    return bf_hash_place(hash, word) >> (machine->bank_bits + 1);
  return word;
}

static void add_word(bf_picture_cell *cell, uint32_t word) {
  for (unsigned i = 0; i < cell->words; i++)
    if (cell->word[i] == word)
      return;
  if (cell->words < 2)
    cell->word[cell->words++] = word;
}

static serving *find_serving(schedule *s, uint32_t bank, uint64_t key) {
  for (unsigned i = 0; i < s->items; i++)
    if (s->item[i].cell.bank == bank && s->item[i].key == key)
      return &s->item[i];
  return NULL;
}

/* Lists the servings of a phase: one per request where requests are counted one by one, else one
 * per bank and key. */
static void list_servings(const bf_machine *machine, const bf_hash *hash, const bf_phase *phase,
                          bool share, schedule *s) {
  s->items = 0;
  for (unsigned i = 0; i < phase->words; i++) {
    uint32_t word = phase->word[i], bank = bf_hash_bank(hash, word);
    uint64_t key = serving_key(machine, hash, word);
    serving *item = share ? find_serving(s, bank, key) : NULL;
    if (!item) {
      item = &s->item[s->items++];
      *item = (serving){.cell = {.bank = bank}, .key = key};
    }
    add_word(&item->cell, word);
    item->cell.lanes |= (uint64_t)1 << phase->lane[i];
    item->entries++;
  }
}

/* ---- Rows ---- */

/* Row of a serving = the number of servings of its bank before it. */
static void schedule_in_order(schedule *s) {
  s->rows = 0;
  for (unsigned i = 0; i < s->items; i++) {
    unsigned row = 0;
    for (unsigned j = 0; j < i; j++)
      row += s->item[j].cell.bank == s->item[i].cell.bank;
    s->item[i].row = row;
    if (row >= s->rows)
      s->rows = row + 1;
  }
}

/* Index of the most wanted serving of a bank that is not broadcast yet, or -1. */
static int most_wanted(const schedule *s, uint32_t bank, const bool *broadcast) {
  int best = -1;
  for (unsigned i = 0; i < s->items; i++)
    if (s->item[i].cell.bank == bank && !broadcast[i] &&
        (best < 0 || s->item[i].entries > s->item[best].entries))
      best = (int)i;
  return best;
}

/* Chooses the words of bank that must be broadcast so that `rows` rows suffice for it, and gives
 * them the next free rows: each row broadcasts one word of the whole memory. */
static void broadcast_bank(schedule *s, uint32_t bank, unsigned rows, bool *broadcast,
                           unsigned *next_row) {
  unsigned requests = 0;
  for (unsigned i = 0; i < s->items; i++)
    if (s->item[i].cell.bank == bank)
      requests += broadcast[i] ? 1 : s->item[i].entries;
  while (requests > rows) {
    int best = most_wanted(s, bank, broadcast);
    if (best < 0)
      return;
    broadcast[best] = true;
    s->item[best].row = (*next_row)++;
    requests -= s->item[best].entries - 1;
  }
}

/* The first row in which bank serves nothing yet. */
static unsigned free_row(const schedule *s, uint32_t bank) {
  for (unsigned row = 0;; row++) {
    bool taken = false;
    for (unsigned i = 0; i < s->items && !taken; i++)
      taken = s->item[i].cell.bank == bank && s->item[i].row == row;
    if (!taken)
      return row;
  }
}

/* Adds a serving of the same word to that one lane, in the first row its bank has free. */
static void split_lane(schedule *s, unsigned index, uint64_t lane) {
  serving *copy = &s->item[s->items++];
  *copy = s->item[index];
  copy->cell.lanes = lane;
  copy->entries = 1;
  copy->row = UINT32_MAX;
  copy->row = free_row(s, copy->cell.bank);
}

/* Each bank serves one lane per row, except that each row broadcasts one word of the whole memory
 * to all lanes that want it. rows is the number that this needs. */
static void schedule_one_broadcast(schedule *s, unsigned rows) {
  bool broadcast[BF_PHASE_WORDS] = {false};
  unsigned next_row = 0, listed = s->items;
  for (unsigned i = 0; i < listed; i++)
    s->item[i].row = UINT32_MAX;
  for (unsigned i = 0; i < listed; i++)
    broadcast_bank(s, s->item[i].cell.bank, rows, broadcast, &next_row);
  for (unsigned i = 0; i < listed; i++) {
    if (broadcast[i])
      continue;
    uint64_t lanes = s->item[i].cell.lanes;
    s->item[i].cell.lanes = lanes & -lanes;
    s->item[i].row = free_row(s, s->item[i].cell.bank);
    for (lanes &= lanes - 1; lanes; lanes &= lanes - 1)
      split_lane(s, i, lanes & -lanes);
  }
  s->rows = rows;
}

static void set_loads(schedule *s) {
  for (unsigned i = 0; i < s->items; i++) {
    unsigned load = 0;
    for (unsigned j = 0; j < s->items; j++)
      load += s->item[j].cell.bank == s->item[i].cell.bank;
    s->item[i].cell.load = load;
  }
}

static int by_row_and_bank(const void *a, const void *b) {
  const serving *x = a, *y = b;
  if (x->row != y->row)
    return x->row < y->row ? -1 : 1;
  return (x->cell.bank > y->cell.bank) - (x->cell.bank < y->cell.bank);
}

static void schedule_phase(const bf_picture *picture, const bf_phase *phase, schedule *s) {
  const bf_machine *machine = picture->machine;
  bool share = !phase->count_duplicates;
  list_servings(machine, picture->hash, phase, share, s);
  if (machine->serve == BF_SERVE_ONE_BROADCAST && share)
    schedule_one_broadcast(s, bf_phase_wavefronts(machine, picture->hash, phase) / phase->times -
                                  phase->extra);
  else
    schedule_in_order(s);
  set_loads(s);
  qsort(s->item, s->items, sizeof *s->item, by_row_and_bank);
}

/* ---- The model ---- */

/* Copies the servings, ordered by row, into rows of cells; overhead rows follow. */
static bool fill_rows(bf_picture *picture, const schedule *s, const bf_phase *phase,
                      unsigned *wavefront, bf_picture_phase *result) {
  unsigned rows = s->rows + phase->extra;
  bf_picture_cell *cell = bf_arena_alloc(&picture->arena, s->items * sizeof *cell);
  bf_picture_row *row = bf_arena_alloc(&picture->arena, rows * sizeof *row);
  if (!cell || !row)
    return false;
  for (unsigned r = 0, next = 0; r < rows; r++) {
    row[r] = (bf_picture_row){.wavefront = *wavefront, .times = phase->times, .cell = cell + next};
    *wavefront += phase->times;
    for (; next < s->items && s->item[next].row == r; next++) {
      cell[next] = s->item[next].cell;
      result->lanes |= cell[next].lanes;
      row[r].cells++;
    }
  }
  result->row = row;
  result->rows = rows;
  result->ideal = bf_memory_phase_passes(picture->machine, phase);
  picture->rows += rows;
  return true;
}

enum { MOST_PHASES = BF_MAX_LANES * 4 };

static bool add_phase(bf_picture *picture, const bf_phase *phase, unsigned *wavefront) {
  schedule s;
  schedule_phase(picture, phase, &s);
  return picture->phases < MOST_PHASES &&
         fill_rows(picture, &s, phase, wavefront, &picture->phase[picture->phases++]);
}

static bf_rule rule_of(const bf_picture *picture) {
  return picture->machine->op[picture->access->op].rule;
}

static bool is_lock_rule(const bf_picture *picture) {
  bf_rule rule = rule_of(picture);
  return rule == BF_RULE_LOCK_LOOP || rule == BF_RULE_LOCK_LOOP_HALVES ||
         rule == BF_RULE_LOCK_TABLE;
}

/* Copies by sectors: each wavefront by itself, with the words of its lanes. */
static bool add_copies(bf_picture *picture, unsigned *wavefront) {
  const bf_access *access = picture->access;
  unsigned word_bytes = picture->machine->word_bytes;
  uint8_t own[BF_MAX_LANES];
  unsigned count = bf_copy_wavefronts(picture->machine, picture->hash, access, own);
  for (unsigned number = 0; number < count; number++) {
    bf_phase phase = {.times = 1};
    for (uint64_t left = access->mask; left; left &= left - 1) {
      unsigned lane = (unsigned)__builtin_ctzll(left);
      for (unsigned k = 0; own[lane] == number && k < access->width_bytes / word_bytes; k++) {
        phase.lane[phase.words] = (uint8_t)lane;
        phase.word[phase.words++] = access->address[lane] / word_bytes + k;
      }
    }
    if (!add_phase(picture, &phase, wavefront))
      return false;
  }
  return true;
}

/* Under locks, the requests of each bank in lane order: they take turns at its lock. A lane takes
 * the lock of its first word. */
static bool add_lock_turns(bf_picture *picture, unsigned *wavefront) {
  const bf_access *access = picture->access;
  bf_phase phase = {.times = 1, .count_duplicates = true};
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    phase.lane[phase.words] = (uint8_t)lane;
    phase.word[phase.words++] = access->address[lane] / picture->machine->word_bytes;
  }
  picture->lock_turns = true;
  return add_phase(picture, &phase, wavefront);
}

static bool add_phases(bf_picture *picture) {
  unsigned wavefront = 1;
  picture->phase = bf_arena_alloc(&picture->arena, MOST_PHASES * sizeof *picture->phase);
  if (!picture->phase)
    return false;
  if (is_lock_rule(picture))
    return add_lock_turns(picture, &wavefront);
  if (rule_of(picture) == BF_RULE_SECTOR_COPY)
    return add_copies(picture, &wavefront);
  bf_phase_walk walk;
  bf_phase phase;
  bf_phase_begin(&walk, picture->machine, picture->access);
  while (bf_phase_next(&walk, &phase))
    if (!add_phase(picture, &phase, &wavefront))
      return false;
  return true;
}

/* ---- Columns ---- */

typedef struct bank_load {
  unsigned bank, load;
} bank_load;

static int fullest_first(const void *a, const void *b) {
  const bank_load *x = a, *y = b;
  if (x->load != y->load)
    return x->load > y->load ? -1 : 1;
  return (x->bank > y->bank) - (x->bank < y->bank);
}

static int by_number(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return (x > y) - (x < y);
}

/* Of too many banks, the fullest of those that serve anything. */
static bool choose_fullest(bf_picture *picture) {
  bank_load *loads = bf_arena_alloc(&picture->arena, picture->banks * sizeof *loads);
  if (!loads)
    return false;
  for (unsigned b = 0; b < picture->banks; b++)
    loads[b].bank = b;
  for (unsigned p = 0; p < picture->phases; p++)
    for (unsigned r = 0; r < picture->phase[p].rows; r++)
      for (unsigned c = 0; c < picture->phase[p].row[r].cells; c++)
        loads[picture->phase[p].row[r].cell[c].bank].load++;
  qsort(loads, picture->banks, sizeof *loads, fullest_first);
  for (picture->columns = 0; picture->columns < BF_PICTURE_COLUMNS; picture->columns++) {
    if (loads[picture->columns].load == 0)
      break;
    picture->column[picture->columns] = loads[picture->columns].bank;
  }
  qsort(picture->column, picture->columns, sizeof *picture->column, by_number);
  return true;
}

static bool choose_columns(bf_picture *picture) {
  picture->column = bf_arena_alloc(&picture->arena, BF_PICTURE_COLUMNS * sizeof *picture->column);
  if (!picture->column)
    return false;
  if (picture->banks > BF_PICTURE_COLUMNS)
    return choose_fullest(picture);
  picture->columns = picture->banks;
  for (unsigned b = 0; b < picture->banks; b++)
    picture->column[b] = b;
  return true;
}

/* ---- Making and reading pictures ---- */

int bf_picture_create(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                      bf_picture **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_picture *picture = calloc(1, sizeof *picture);
  if (!picture)
    return bf_no_memory(diagnostic);
  picture->machine = machine;
  picture->hash = hash;
  picture->access = access;
  picture->banks = 1u << machine->bank_bits;
  int error = bf_memory_count(machine, hash, access, &picture->count, diagnostic);
  if (!error && !(add_phases(picture) && choose_columns(picture)))
    error = bf_no_memory(diagnostic);
  if (error) {
    bf_picture_free(picture);
    return error;
  }
  *out = picture;
  return BF_OK;
}

void bf_picture_free(bf_picture *picture) {
  if (!picture)
    return;
  bf_arena_free(&picture->arena);
  free(picture);
}

unsigned bf_picture_wavefronts(const bf_picture *picture) {
  const bf_count *count = &picture->count;
  return bf_count_wavefronts(count);
}

unsigned bf_picture_severity(const bf_picture_phase *phase, const bf_picture_cell *cell) {
  unsigned above = cell->load > phase->ideal ? cell->load - phase->ideal : 0;
  unsigned severity = 0;
  for (; above && severity < BF_SEVERITIES - 1; above /= 2)
    severity++;
  return severity;
}

unsigned bf_picture_shown_rows(const bf_picture *picture, const bf_picture_phase *phase,
                               unsigned most) {
  if (most == 0 || picture->rows <= most)
    return phase->rows;
  unsigned share = most / 2 / picture->phases;
  if (share < 2)
    share = 2;
  return phase->rows <= share + 1 ? phase->rows : share;
}

bool bf_picture_shares(const bf_picture *picture) {
  for (unsigned p = 0; p < picture->phases; p++)
    for (unsigned r = 0; r < picture->phase[p].rows; r++)
      for (unsigned c = 0; c < picture->phase[p].row[r].cells; c++) {
        uint64_t lanes = picture->phase[p].row[r].cell[c].lanes;
        if (lanes & (lanes - 1))
          return true;
      }
  return false;
}

void bf_picture_lanes(uint64_t lanes, bf_text *text) {
  const char *separator = "";
  while (lanes) {
    unsigned from = (unsigned)__builtin_ctzll(lanes);
    uint64_t rest = ~(lanes >> from);
    unsigned length = rest ? (unsigned)__builtin_ctzll(rest) : 64;
    if (length == 1)
      bf_text_addf(text, "%s%u", separator, from);
    else
      bf_text_addf(text, "%s%u-%u", separator, from, from + length - 1);
    separator = ",";
    lanes = from + length < 64 ? lanes >> (from + length) << (from + length) : 0;
  }
}

/* ---- JSON ---- */

static void json_cell(const bf_picture_cell *cell, bf_json *json) {
  bf_json_begin(json, NULL, '{', true);
  bf_json_number(json, "bank", cell->bank);
  bf_json_begin(json, "words", '[', true);
  for (unsigned i = 0; i < cell->words; i++)
    bf_json_number(json, NULL, cell->word[i]);
  bf_json_end(json, ']');
  bf_json_begin(json, "lanes", '[', true);
  for (uint64_t left = cell->lanes; left; left &= left - 1)
    bf_json_number(json, NULL, (uint64_t)__builtin_ctzll(left));
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

static void json_phase(const bf_picture_phase *phase, unsigned number, bf_json *json) {
  for (unsigned r = 0; r < phase->rows; r++) {
    const bf_picture_row *row = &phase->row[r];
    bf_json_begin(json, NULL, '{', false);
    bf_json_number(json, "phase", number);
    bf_json_number(json, "wavefront", row->wavefront);
    bf_json_number(json, "times", row->times);
    bf_json_begin(json, "cells", '[', false);
    for (unsigned c = 0; c < row->cells; c++)
      json_cell(&row->cell[c], json);
    bf_json_end(json, ']');
    bf_json_end(json, '}');
  }
}

/* Members hash, sentence, counts and rows of an object that the caller has begun. */
static void json_picture(const bf_picture *picture, bf_json *json) {
  bf_text sentence = {0};
  bf_picture_explain(picture, &sentence);
  bf_json_string(json, "hash", bf_hash_text(picture->hash));
  bf_json_string(json, "sentence", sentence.data);
  json->text->failed = json->text->failed || sentence.failed;
  bf_text_free(&sentence);
  bf_json_number(json, "wavefronts", bf_picture_wavefronts(picture));
  bf_json_number(json, "ideal", picture->count.ideal);
  bf_json_number(json, "conflicts", picture->count.conflicts);
  bf_json_number(json, "lock_iterations", picture->count.lock_iterations);
  bf_json_string(json, "row_unit", picture->lock_turns ? "lock turn" : "wavefront");
  bf_json_begin(json, "rows", '[', false);
  for (unsigned p = 0; p < picture->phases; p++)
    json_phase(&picture->phase[p], p, json);
  bf_json_end(json, ']');
}

void bf_pictures_json(const bf_picture *const *pictures, unsigned count, bf_text *text) {
  const bf_access *access = pictures[0]->access;
  bf_json json = {.text = text};
  char mask[24];
  snprintf(mask, sizeof mask, "0x%llx", (unsigned long long)access->mask);
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "machine", bf_machine_name(pictures[0]->machine));
  bf_json_number(&json, "line", access->line);
  bf_json_string(&json, "site", access->site);
  bf_json_string(&json, "op", bf_op_name(access->op));
  bf_json_number(&json, "width", access->width_bytes);
  bf_json_string(&json, "mask", mask);
  bf_json_number(&json, "count", access->count);
  bf_json_number(&json, "banks", pictures[0]->banks);
  bf_json_begin(&json, "pictures", '[', false);
  for (unsigned i = 0; i < count; i++) {
    bf_json_begin(&json, NULL, '{', false);
    json_picture(pictures[i], &json);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_end(&json, '}');
}
