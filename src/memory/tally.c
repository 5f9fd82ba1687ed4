/* Tallies. The key of a row is looked up by text only once for each site that is met: sites are
 * known again by where their text stands, and accesses without one by operation, width and class,
 * whose pattern the counter knows again. */
#include "memory/tally.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN_SITES = 1024, KNOWN_CLASSES = 1024, CLASSES = BF_PATTERN_RANDOM + 1 };

typedef struct known_site {
  const char *site;
  size_t row;
} known_site;

typedef struct known_class {
  uint64_t pattern; /* bf_counter_pattern.number; 0: none */
  bf_pattern_class class_;
} known_class;

struct bf_tally {
  const bf_machine *machine;
  const bf_hash *hash;
  bf_lock_hash lock_hash;
  bf_counter *counter;
  bf_arena arena; /* of keys */
  bf_tally_row *row;
  size_t count, capacity;
  size_t *slot; /* rows by key, open addressing: index + 1, or 0 */
  size_t slots;
  known_site site[KNOWN_SITES];
  known_class class_[KNOWN_CLASSES];
  size_t without_site[BF_OP_COUNT][BF_WIDTHS][CLASSES]; /* index of the row + 1, or 0 */
};

int bf_tally_create(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                    bf_tally **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_tally *tally = calloc(1, sizeof *tally);
  if (!tally)
    return bf_no_memory(diagnostic);
  tally->machine = machine;
  tally->hash = hash;
  tally->lock_hash = lock_hash;
  int error = bf_counter_create(machine, hash, &tally->counter, diagnostic);
  if (!error)
    error = bf_counter_set_lock_hash(tally->counter, lock_hash, diagnostic);
  if (error)
    bf_tally_free(tally);
  else
    *out = tally;
  return error;
}

int bf_tally_like(const bf_tally *tally, bf_tally **fresh, bf_diagnostic *diagnostic) {
  return bf_tally_create(tally->machine, tally->hash, tally->lock_hash, fresh, diagnostic);
}

void bf_tally_free(bf_tally *tally) {
  if (!tally)
    return;
  bf_counter_free(tally->counter);
  bf_arena_free(&tally->arena);
  free(tally->row);
  free(tally->slot);
  free(tally);
}

void bf_tally_forget_sites(bf_tally *tally) { memset(tally->site, 0, sizeof tally->site); }

/* ---- Rows ---- */

static size_t find_slot(const bf_tally *tally, const char *key) {
  uint64_t hash = 14695981039346656037u;
  for (const char *at = key; *at; at++)
    hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  size_t slot = hash & (tally->slots - 1);
  while (tally->slot[slot] && strcmp(tally->row[tally->slot[slot] - 1].key, key) != 0)
    slot = (slot + 1) & (tally->slots - 1);
  return slot;
}

static int grow(bf_tally *tally, bf_diagnostic *diagnostic) {
  size_t capacity = tally->capacity ? tally->capacity * 2 : 64;
  bf_tally_row *row = realloc(tally->row, capacity * sizeof *row);
  size_t *slot = calloc(capacity * 2, sizeof *slot);
  if (row)
    tally->row = row;
  if (!row || !slot) {
    free(slot);
    return bf_no_memory(diagnostic);
  }
  free(tally->slot);
  tally->slot = slot;
  tally->capacity = capacity;
  tally->slots = capacity * 2;
  for (size_t i = 0; i < tally->count; i++)
    tally->slot[find_slot(tally, tally->row[i].key)] = i + 1;
  return BF_OK;
}

/* The row of a key, made where it is new. */
static int find_row(bf_tally *tally, const char *key, size_t *index, bf_diagnostic *diagnostic) {
  if (tally->count == tally->capacity)
    BF_TRY(grow(tally, diagnostic));
  size_t slot = find_slot(tally, key);
  if (!tally->slot[slot]) {
    bf_tally_row *fresh = &tally->row[tally->count];
    *fresh = (bf_tally_row){.key = bf_arena_copy(&tally->arena, key)};
    if (!fresh->key)
      return bf_no_memory(diagnostic);
    tally->slot[slot] = ++tally->count;
  }
  *index = tally->slot[slot] - 1;
  return BF_OK;
}

static int row_of_site(bf_tally *tally, const char *site, size_t *index,
                       bf_diagnostic *diagnostic) {
  known_site *known = &tally->site[(uintptr_t)site * 0x9E3779B97F4A7C15u >> 54];
  _Static_assert(KNOWN_SITES == 1 << (64 - 54), "the shift above gives so many");
  if (known->site != site) {
    BF_TRY(find_row(tally, site, &known->row, diagnostic));
    known->site = site;
  }
  *index = known->row;
  return BF_OK;
}

/* The class of the access that was counted last. */
static bf_pattern_class class_of(bf_tally *tally, const bf_access *access) {
  uint64_t pattern = bf_counter_last(tally->counter).number;
  known_class *known = &tally->class_[pattern % KNOWN_CLASSES];
  if (pattern && known->pattern == pattern)
    return known->class_;
  bf_pattern_class class_ = bf_access_classify(access, bf_machine_lanes(tally->machine), 1).class_;
  if (pattern)
    *known = (known_class){pattern, class_};
  return class_;
}

static int row_without_site(bf_tally *tally, const bf_access *access, size_t *index,
                            bf_diagnostic *diagnostic) {
  bf_pattern_class class_ = class_of(tally, access);
  size_t *known = &tally->without_site[access->op][bf_width_index(access->width_bytes)][class_];
  if (!*known) {
    char key[64];
    snprintf(key, sizeof key, "%s %u %s", bf_op_name(access->op), access->width_bytes,
             bf_pattern_class_name(class_));
    BF_TRY(find_row(tally, key, known, diagnostic));
    ++*known;
  }
  *index = *known - 1;
  return BF_OK;
}

/* ---- Adding ---- */

static void note_worst(const bf_tally *tally, bf_tally_row *row, const bf_access *access,
                       const bf_count *count) {
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(tally->machine), 1);
  bf_text text = {0};
  bf_pattern_explain(&pattern, access, &text);
  row->worst_conflicts = count->conflicts;
  row->worst_line = access->line;
  snprintf(row->worst, sizeof row->worst, "%s", text.data ? text.data : "");
  bf_text_free(&text);
}

int bf_tally_add(bf_tally *tally, const bf_access *access, bf_count *out,
                 bf_diagnostic *diagnostic) {
  bf_count count;
  size_t index;
  BF_TRY(bf_counter_count(tally->counter, access, &count, diagnostic));
  BF_TRY(access->site ? row_of_site(tally, access->site, &index, diagnostic)
                      : row_without_site(tally, access, &index, diagnostic));
  bf_tally_row *row = &tally->row[index];
  row->sum.accesses += access->count;
  row->sum.wavefronts += access->count * bf_count_wavefronts(&count);
  row->sum.ideal += access->count * count.ideal;
  row->sum.conflicts += access->count * count.conflicts;
  row->sum.latency_cycles += access->count * count.latency_cycles;
  if (count.conflicts > row->worst_conflicts)
    note_worst(tally, row, access, &count);
  if (out)
    *out = count;
  return BF_OK;
}

static void add_sum(bf_sum *sum, const bf_sum *more) {
  sum->accesses += more->accesses;
  sum->wavefronts += more->wavefronts;
  sum->ideal += more->ideal;
  sum->conflicts += more->conflicts;
  sum->latency_cycles += more->latency_cycles;
}

/* Whether b's worst access is worse than a's, or as bad and stands before it. */
static bool is_worse(const bf_tally_row *a, const bf_tally_row *b) {
  return b->worst_conflicts > a->worst_conflicts ||
         (b->worst_conflicts == a->worst_conflicts && b->worst_line < a->worst_line);
}

int bf_tally_join(bf_tally *tally, const bf_tally *other, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < other->count; i++) {
    const bf_tally_row *from = &other->row[i];
    size_t index;
    BF_TRY(find_row(tally, from->key, &index, diagnostic));
    bf_tally_row *row = &tally->row[index];
    add_sum(&row->sum, &from->sum);
    if (is_worse(row, from)) {
      row->worst_conflicts = from->worst_conflicts;
      row->worst_line = from->worst_line;
      memcpy(row->worst, from->worst, sizeof row->worst);
    }
  }
  return BF_OK;
}

/* ---- Asking ---- */

static int compare_rows(const void *a, const void *b) {
  const bf_tally_row *x = a, *y = b;
  if (x->sum.conflicts != y->sum.conflicts)
    return x->sum.conflicts < y->sum.conflicts ? 1 : -1;
  return strcmp(x->key, y->key);
}

const bf_tally_row *bf_tally_rows(bf_tally *tally, size_t *count) {
  *count = tally->count;
  if (!tally->count)
    return NULL;
  qsort(tally->row, tally->count, sizeof *tally->row, compare_rows);
  memset(tally->slot, 0, tally->slots * sizeof *tally->slot);
  for (size_t i = 0; i < tally->count; i++)
    tally->slot[find_slot(tally, tally->row[i].key)] = i + 1;
  memset(tally->without_site, 0, sizeof tally->without_site);
  bf_tally_forget_sites(tally);
  return tally->row;
}

bf_sum bf_tally_total(const bf_tally *tally) {
  bf_sum total = {0};
  for (size_t i = 0; i < tally->count; i++)
    add_sum(&total, &tally->row[i].sum);
  return total;
}
