/* Sums by site: the key of a row is looked up by text only once for each site that is met: sites
 * are known again by where their text stands, and accesses without one by operation, width and
 * class, whose pattern the counter knows again. */
#include "memory/site_sums.h"

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

/* What repeats of an access add, and to which row. */
typedef struct known_repeat {
  size_t row;
  bf_count count;
} known_repeat;

struct bf_site_sums {
  const bf_machine *machine;
  const bf_hash *hash;
  bf_lock_hash lock_hash;
  bool by_class;
  bf_counter *counter;
  bf_arena arena; /* of keys */
  bf_site_sum *row;
  size_t count, capacity;
  size_t *slot; /* rows by key, open addressing: index + 1, or 0 */
  size_t slots;
  known_site site[KNOWN_SITES];
  known_class class_[KNOWN_CLASSES];
  size_t without_site[BF_OP_COUNT][BF_WIDTHS][CLASSES]; /* index of the row + 1, or 0 */
  bf_repeats *repeats;                                  /* of the trace that is read; NULL: none */
  known_repeat *repeat;                                 /* by slot */
};

int bf_site_sums_create(const bf_machine *machine, const bf_hash *hash, bf_lock_hash lock_hash,
                        bf_site_sums **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_site_sums *sums = calloc(1, sizeof *sums);
  if (!sums)
    return bf_no_memory(diagnostic);
  sums->machine = machine;
  sums->hash = hash;
  sums->lock_hash = lock_hash;
  int error = bf_counter_create(machine, hash, &sums->counter, diagnostic);
  if (!error)
    error = bf_counter_set_lock_hash(sums->counter, lock_hash, diagnostic);
  if (error)
    bf_site_sums_free(sums);
  else
    *out = sums;
  return error;
}

int bf_site_sums_like(const bf_site_sums *sums, bf_site_sums **fresh, bf_diagnostic *diagnostic) {
  BF_TRY(bf_site_sums_create(sums->machine, sums->hash, sums->lock_hash, fresh, diagnostic));
  (*fresh)->by_class = sums->by_class;
  return BF_OK;
}

void bf_site_sums_by_class(bf_site_sums *sums) { sums->by_class = true; }

void bf_site_sums_free(bf_site_sums *sums) {
  if (!sums)
    return;
  bf_repeats_free(sums->repeats);
  free(sums->repeat);
  bf_counter_free(sums->counter);
  bf_arena_free(&sums->arena);
  free(sums->row);
  free(sums->slot);
  free(sums);
}

void bf_site_sums_forget_sites(bf_site_sums *sums) { memset(sums->site, 0, sizeof sums->site); }

/* ---- Rows ---- */

static size_t find_slot(const bf_site_sums *sums, const char *key) {
  uint64_t hash = 14695981039346656037u;
  for (const char *at = key; *at; at++)
    hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  size_t slot = hash & (sums->slots - 1);
  while (sums->slot[slot] && strcmp(sums->row[sums->slot[slot] - 1].key, key) != 0)
    slot = (slot + 1) & (sums->slots - 1);
  return slot;
}

static int grow(bf_site_sums *sums, bf_diagnostic *diagnostic) {
  size_t capacity = sums->capacity ? sums->capacity * 2 : 64;
  bf_site_sum *row = realloc(sums->row, capacity * sizeof *row);
  size_t *slot = calloc(capacity * 2, sizeof *slot);
  if (row)
    sums->row = row;
  if (!row || !slot) {
    free(slot);
    return bf_no_memory(diagnostic);
  }
  free(sums->slot);
  sums->slot = slot;
  sums->capacity = capacity;
  sums->slots = capacity * 2;
  for (size_t i = 0; i < sums->count; i++)
    sums->slot[find_slot(sums, sums->row[i].key)] = i + 1;
  return BF_OK;
}

/* The row of a key, made where it is new. */
static int find_row(bf_site_sums *sums, const char *key, size_t *index, bf_diagnostic *diagnostic) {
  if (sums->count == sums->capacity)
    BF_TRY(grow(sums, diagnostic));
  size_t slot = find_slot(sums, key);
  if (!sums->slot[slot]) {
    bf_site_sum *fresh = &sums->row[sums->count];
    *fresh = (bf_site_sum){.key = bf_arena_copy(&sums->arena, key)};
    if (!fresh->key)
      return bf_no_memory(diagnostic);
    sums->slot[slot] = ++sums->count;
  }
  *index = sums->slot[slot] - 1;
  return BF_OK;
}

static int row_of_site(bf_site_sums *sums, const char *site, size_t *index,
                       bf_diagnostic *diagnostic) {
  known_site *known = &sums->site[(uintptr_t)site * 0x9E3779B97F4A7C15u >> 54];
  _Static_assert(KNOWN_SITES == 1 << (64 - 54), "the shift above gives so many");
  if (known->site != site) {
    BF_TRY(find_row(sums, site, &known->row, diagnostic));
    known->site = site;
  }
  *index = known->row;
  return BF_OK;
}

/* The class of the access that was counted last. */
static bf_pattern_class class_of(bf_site_sums *sums, const bf_access *access) {
  uint64_t pattern = bf_counter_last(sums->counter).number;
  known_class *known = &sums->class_[pattern % KNOWN_CLASSES];
  if (pattern && known->pattern == pattern)
    return known->class_;
  bf_pattern_class class_ = bf_access_classify(access, bf_machine_lanes(sums->machine), 1).class_;
  if (pattern)
    *known = (known_class){pattern, class_};
  return class_;
}

static int row_without_site(bf_site_sums *sums, const bf_access *access, size_t *index,
                            bf_diagnostic *diagnostic) {
  bf_pattern_class class_ = class_of(sums, access);
  size_t *known = &sums->without_site[access->op][bf_width_index(access->width_bytes)][class_];
  if (!*known) {
    char key[64];
    snprintf(key, sizeof key, "%s %u %s", bf_op_name(access->op), access->width_bytes,
             bf_pattern_class_name(class_));
    BF_TRY(find_row(sums, key, known, diagnostic));
    ++*known;
  }
  *index = *known - 1;
  return BF_OK;
}

/* ---- Adding ---- */

static void note_worst(const bf_site_sums *sums, bf_site_sum *row, const bf_access *access,
                       const bf_count *count) {
  bf_pattern pattern = bf_access_classify(access, bf_machine_lanes(sums->machine), 1);
  bf_text text = {0};
  bf_pattern_explain(&pattern, access, &text);
  row->worst_conflicts = count->conflicts;
  row->worst_line = access->line;
  snprintf(row->worst, sizeof row->worst, "%s", text.data ? text.data : "");
  bf_text_free(&text);
}

static void add_executions(bf_sum *sum, uint64_t executions, const bf_count *count) {
  sum->accesses += executions;
  sum->wavefronts += executions * bf_count_wavefronts(count);
  sum->ideal += executions * count->ideal;
  sum->conflicts += executions * count->conflicts;
  sum->latency_cycles += executions * count->latency_cycles;
}

/* Counts access and adds it; *index becomes the number of its row. */
static int add_access(bf_site_sums *sums, const bf_access *access, bf_count *count, size_t *index,
                      bf_diagnostic *diagnostic) {
  BF_TRY(bf_counter_count(sums->counter, access, count, diagnostic));
  BF_TRY(access->site && !sums->by_class ? row_of_site(sums, access->site, index, diagnostic)
                                         : row_without_site(sums, access, index, diagnostic));
  bf_site_sum *row = &sums->row[*index];
  add_executions(&row->sum, access->count, count);
  bool is_worse = count->conflicts > row->worst_conflicts;
  bool is_before = count->conflicts == row->worst_conflicts && access->line < row->worst_line;
  if (is_worse || (count->conflicts && is_before))
    note_worst(sums, row, access, count);
  return BF_OK;
}

int bf_site_sums_add(bf_site_sums *sums, const bf_access *access, bf_count *out,
                     bf_diagnostic *diagnostic) {
  bf_count count;
  size_t index;
  BF_TRY(add_access(sums, access, &count, &index, diagnostic));
  if (out)
    *out = count;
  return BF_OK;
}

/* ---- Repeats ---- */

static void add_repeats(void *context, uint32_t slot, uint64_t executions) {
  bf_site_sums *sums = context;
  const known_repeat *known = &sums->repeat[slot];
  add_executions(&sums->row[known->row].sum, executions, &known->count);
}

static int learn(void *context, uint32_t slot, const bf_access *access, bf_diagnostic *diagnostic) {
  bf_site_sums *sums = context;
  known_repeat *known = &sums->repeat[slot];
  return add_access(sums, access, &known->count, &known->row, diagnostic);
}

int bf_site_sums_begin_repeats(bf_site_sums *sums, bf_trace_known *known,
                               bf_diagnostic *diagnostic) {
  sums->repeat = malloc(BF_REPEATS * sizeof *sums->repeat);
  if (!sums->repeat)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_repeats_create(add_repeats, sums, &sums->repeats, diagnostic));
  for (int op = 0; op < BF_OP_COUNT; op++)
    for (unsigned w = 0; w < BF_WIDTHS; w++)
      bf_repeats_matter(sums->repeats, (bf_op)op, 1U << w,
                        bf_counter_matter(sums->counter, (bf_op)op, 1U << w));
  *known = (bf_trace_known){sums->repeats, learn, sums};
  return BF_OK;
}

void bf_site_sums_end_repeats(bf_site_sums *sums) {
  if (sums->repeats)
    bf_repeats_flush(sums->repeats);
  bf_repeats_free(sums->repeats);
  free(sums->repeat);
  sums->repeats = NULL;
  sums->repeat = NULL;
}

static void add_sum(bf_sum *sum, const bf_sum *more) {
  sum->accesses += more->accesses;
  sum->wavefronts += more->wavefronts;
  sum->ideal += more->ideal;
  sum->conflicts += more->conflicts;
  sum->latency_cycles += more->latency_cycles;
}

/* Whether b's worst access is worse than a's, or as bad and stands before it. */
static bool is_worse(const bf_site_sum *a, const bf_site_sum *b) {
  return b->worst_conflicts > a->worst_conflicts ||
         (b->worst_conflicts == a->worst_conflicts && b->worst_line < a->worst_line);
}

int bf_site_sums_join(bf_site_sums *sums, const bf_site_sums *other, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < other->count; i++) {
    const bf_site_sum *from = &other->row[i];
    size_t index;
    BF_TRY(find_row(sums, from->key, &index, diagnostic));
    bf_site_sum *row = &sums->row[index];
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
  const bf_site_sum *x = a, *y = b;
  if (x->sum.conflicts != y->sum.conflicts)
    return x->sum.conflicts < y->sum.conflicts ? 1 : -1;
  return strcmp(x->key, y->key);
}

const bf_site_sum *bf_site_sums_rows(bf_site_sums *sums, size_t *count) {
  *count = sums->count;
  if (!sums->count)
    return NULL;
  qsort(sums->row, sums->count, sizeof *sums->row, compare_rows);
  memset(sums->slot, 0, sums->slots * sizeof *sums->slot);
  for (size_t i = 0; i < sums->count; i++)
    sums->slot[find_slot(sums, sums->row[i].key)] = i + 1;
  memset(sums->without_site, 0, sizeof sums->without_site);
  bf_site_sums_forget_sites(sums);
  return sums->row;
}

bf_sum bf_site_sums_total(const bf_site_sums *sums) {
  bf_sum total = {0};
  for (size_t i = 0; i < sums->count; i++)
    add_sum(&total, &sums->row[i].sum);
  return total;
}
