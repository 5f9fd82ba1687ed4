/* Conflicts of one strided pattern at many bases, in about constant time per base.
 *
 * Bases that differ by a multiple of the stride share words, so each residue class modulo the
 * stride is walked on its own. Without symmetry a window slides along the class. Inside a zone
 * with a split M, a pattern has some words below M and the others from M on. The words below are
 * M - 1 - y with y = class + stride * j, those above M + z with z = stride - 1 - class + stride *
 * j; y and z are less than M, so that
 *
 *   H(M - 1 - y) = H(M - 1) ^ H(y)   and   H(M + z) = H(M) ^ H(z).
 *
 * Thus H(y) and H(z), and the conflicts among the words of one side, are the same for every zone,
 * and only the banks that both sides occupy have to be found again: y and z meet in a zone iff
 * H(y) = H(z) ^ D with D = H(M - 1) ^ H(M). */
#include "search/align.h"

#include <stdlib.h>
#include <string.h>

/* For each bank the position at which the current walk met it. Starting a walk forgets the one
 * before without touching the banks. */
typedef struct bank_marks {
  uint32_t *position; /* start + position, less than start: not met */
  size_t banks;
  uint32_t start, next;
} bank_marks;

/* Marks for the banks of a hash, none met. */
static int marks_create(bank_marks *marks, const bf_hash *hash) {
  marks->banks = (size_t)1 << hash->geometry.bank_bits;
  marks->position = calloc(marks->banks, sizeof *marks->position);
  marks->next = 1;
  return marks->position ? BF_OK : BF_NO_MEMORY;
}

/* Starts a walk over that many positions. */
static void marks_begin(bank_marks *marks, uint64_t positions) {
  if (positions > UINT32_MAX - marks->next) {
    memset(marks->position, 0, marks->banks * sizeof *marks->position);
    marks->next = 1;
  }
  marks->start = marks->next;
  marks->next += (uint32_t)positions;
}

/* True if the current walk met the bank. */
static inline bool marks_met(const bank_marks *marks, uint32_t bank) {
  return marks->position[bank] >= marks->start;
}

/* Where it did. */
static inline uint32_t marks_get(const bank_marks *marks, uint32_t bank) {
  return marks->position[bank] - marks->start;
}

/* Notes that it does so now. */
static inline void marks_set(bank_marks *marks, uint32_t bank, uint32_t position) {
  marks->position[bank] = marks->start + position;
}

typedef struct strided_counter {
  const bf_hash *hash;
  uint64_t stride, count;
  bank_marks left, right;
  uint32_t *left_conflicts;  /* [i]: conflicts among the first i words below the split */
  uint32_t *right_conflicts; /* [i]: the same above */
  uint32_t *right_bank;      /* banks above the split in the order first met, and where */
  uint32_t *right_position;
  uint32_t *change; /* [i]: banks on both sides with i words below, less those with i - 1 */
} strided_counter;

static void counter_free(strided_counter *counter) {
  free(counter->left.position);
  free(counter->right.position);
  free(counter->left_conflicts);
  free(counter->right_conflicts);
  free(counter->right_bank);
  free(counter->right_position);
  free(counter->change);
}

/* Tables for patterns of count words; counter_free also after a failure. */
static int counter_create(strided_counter *counter, const bf_hash *hash, uint64_t stride,
                          uint64_t count) {
  *counter = (strided_counter){.hash = hash, .stride = stride, .count = count};
  uint32_t **tables[] = {&counter->left_conflicts, &counter->right_conflicts, &counter->right_bank,
                         &counter->right_position, &counter->change};
  int error = marks_create(&counter->left, hash);
  if (!error)
    error = marks_create(&counter->right, hash);
  for (size_t i = 0; i < sizeof tables / sizeof *tables && !error; i++) {
    *tables[i] = calloc(count + 2, sizeof **tables[i]);
    error = *tables[i] ? BF_OK : BF_NO_MEMORY;
  }
  return error;
}

/* ---- Sliding window ---- */

/* Conflicts at the bases base + stride * k for k < bases, into out[stride * k], which is 0 before.
 * Word j conflicts in the windows that hold both it and the last word before it in the same bank;
 * these windows are consecutive, so their first and the one behind their last are noted and summed
 * up afterwards. */
static void slide_class(strided_counter *counter, uint64_t base, uint64_t bases, uint32_t *out) {
  uint64_t words = bases + counter->count - 1, stride = counter->stride;
  bank_marks *last_met = &counter->left;
  marks_begin(last_met, words);
  for (uint64_t j = 0; j < words; j++) {
    uint32_t bank = bf_hash_bank(counter->hash, base + stride * j);
    uint64_t first = j < counter->count ? 0 : j - counter->count + 1;
    if (marks_met(last_met, bank) && marks_get(last_met, bank) >= first) {
      uint64_t behind = (uint64_t)marks_get(last_met, bank) + 1;
      out[stride * first]++;
      if (behind < bases)
        out[stride * behind]--;
    }
    marks_set(last_met, bank, (uint32_t)j);
  }
  for (uint64_t k = 1; k < bases; k++)
    out[stride * k] += out[stride * (k - 1)];
}

/* Fills the needed conflicts of a zone, class by class. */
static void slide_zone(strided_counter *counter, bf_align_zone *zone) {
  uint64_t length = zone->last - zone->first + 1;
  for (uint64_t i = 0; i < length && i < counter->stride; i++)
    slide_class(counter, zone->first + i, (length - i - 1) / counter->stride + 1,
                zone->conflicts + i);
}

/* ---- Both sides of a split ---- */

/* The needed bases of a zone in one class are those with least..most words below the split. */
typedef struct word_span {
  uint64_t least, most; /* least > most: no base */
} word_span;

/* The span of a zone: bases split - 1 - class - stride * k have k + 1 words below the split. */
static word_span span_of(const strided_counter *counter, const bf_align_zone *zone,
                         uint64_t class) {
  uint64_t nearest = zone->split - 1 - zone->last, farthest = zone->split - 1 - zone->first;
  if (!zone->needed || farthest < class)
    return (word_span){1, 0};
  uint64_t skipped = nearest <= class ? 0 : (nearest - class - 1) / counter->stride + 1;
  return (word_span){skipped + 1, (farthest - class) / counter->stride + 1};
}

/* Walks the words below the split, nearest first. */
static void walk_left(strided_counter *counter, uint64_t class, uint64_t words) {
  uint32_t conflicts = 0;
  marks_begin(&counter->left, words);
  for (uint64_t j = 0; j < words; j++) {
    uint32_t bank = bf_hash_bank(counter->hash, class + counter->stride * j);
    if (marks_met(&counter->left, bank))
      conflicts++;
    else
      marks_set(&counter->left, bank, (uint32_t)j);
    counter->left_conflicts[j + 1] = conflicts;
  }
}

/* Walks the words above the split, nearest first; returns the number of banks met. */
static uint64_t walk_right(strided_counter *counter, uint64_t class, uint64_t words) {
  uint32_t conflicts = 0;
  uint64_t met = 0, offset = counter->stride - 1 - class;
  marks_begin(&counter->right, words);
  for (uint64_t j = 0; j < words; j++) {
    uint32_t bank = bf_hash_bank(counter->hash, offset + counter->stride * j);
    if (marks_met(&counter->right, bank)) {
      conflicts++;
    } else {
      marks_set(&counter->right, bank, (uint32_t)j);
      counter->right_bank[met] = bank;
      counter->right_position[met++] = (uint32_t)j;
    }
    counter->right_conflicts[j + 1] = conflicts;
  }
  return met;
}

/* Fills change[least .. most + 1]: a bank first met at word j below and at word k above the split
 * is on both sides while more than j words are below and more than k above. */
static void find_meetings(strided_counter *counter, const bf_align_zone *zone, word_span span,
                          uint64_t met) {
  uint32_t difference =
      bf_hash_bank(counter->hash, zone->split - 1) ^ bf_hash_bank(counter->hash, zone->split);
  uint64_t most_right = counter->count - span.least;
  uint32_t *change = counter->change;
  memset(change + span.least, 0, (span.most - span.least + 2) * sizeof *change);
  for (uint64_t i = 0; i < met && counter->right_position[i] < most_right; i++) {
    uint32_t bank = counter->right_bank[i] ^ difference;
    if (!marks_met(&counter->left, bank))
      continue;
    uint64_t least = (uint64_t)marks_get(&counter->left, bank) + 1;
    uint64_t most = counter->count - counter->right_position[i] - 1;
    least = least < span.least ? span.least : least;
    most = most > span.most ? span.most : most;
    if (least <= most) {
      change[least]++;
      change[most + 1]--;
    }
  }
}

/* Writes the conflicts of the zone's bases of one class: those of each side and those between. */
static void write_class(const strided_counter *counter, bf_align_zone *zone, word_span span,
                        uint64_t class) {
  uint64_t nearest = zone->split - 1 - class - zone->first;
  uint32_t between = 0;
  for (uint64_t left = span.least; left <= span.most; left++) {
    between += counter->change[left];
    zone->conflicts[nearest - counter->stride * (left - 1)] =
        counter->left_conflicts[left] + counter->right_conflicts[counter->count - left] + between;
  }
}

/* Fills the conflicts of all needed bases of one class, in all zones given. */
static void count_class(strided_counter *counter, bf_align_zone *zones, unsigned zone_count,
                        uint64_t class) {
  uint64_t most_left = 0, most_right = 0;
  word_span spans[BF_ALIGN_MAX_ZONES];
  for (unsigned i = 0; i < zone_count; i++) {
    spans[i] = span_of(counter, &zones[i], class);
    if (spans[i].least > spans[i].most)
      continue;
    uint64_t right = counter->count - spans[i].least;
    most_left = spans[i].most > most_left ? spans[i].most : most_left;
    most_right = right > most_right ? right : most_right;
  }
  if (most_left == 0)
    return;
  walk_left(counter, class, most_left);
  uint64_t met = walk_right(counter, class, most_right);
  for (unsigned i = 0; i < zone_count; i++) {
    if (spans[i].least > spans[i].most)
      continue;
    find_meetings(counter, &zones[i], spans[i], met);
    write_class(counter, &zones[i], spans[i], class);
  }
}

/* All classes for all zones at once, or, where few bases are needed, each zone's own classes. */
static void count_split_zones(strided_counter *counter, bf_align_zones *zones) {
  uint64_t stride = counter->stride;
  if (stride <= bf_align_needed(zones)) {
    for (uint64_t class = 0; class < stride; class ++)
      count_class(counter, zones->zone, zones->count, class);
    return;
  }
  for (unsigned i = 0; i < zones->count; i++) {
    bf_align_zone *zone = &zones->zone[i];
    uint64_t length = zone->needed ? zone->last - zone->first + 1 : 0;
    for (uint64_t k = 0; k < length && k < stride; k++)
      count_class(counter, zone, 1, (zone->split - 1 - zone->first - k) % stride);
  }
}

int bf_align_count_strided(const bf_hash *hash, uint64_t stride, uint64_t count,
                           bf_align_zones *zones) {
  strided_counter counter;
  int error = counter_create(&counter, hash, stride, count);
  if (!error && zones->zone[0].split) {
    count_split_zones(&counter, zones);
  } else if (!error) {
    for (unsigned i = 0; i < zones->count; i++)
      if (zones->zone[i].needed)
        slide_zone(&counter, &zones->zone[i]);
  }
  counter_free(&counter);
  return error;
}
