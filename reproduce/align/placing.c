/* Conflicts within and between matrices, by sets of banks: W words in k banks have W - k conflicts,
 * and the banks of two strided patterns together are the union of their sets. */
#include "reproduce/align/placing.h"

enum { PARTS = BF_PLACING_BANKS / 64 };

typedef struct bank_set {
  uint64_t part[PARTS];
} bank_set;

static bank_set banks_of(const bf_hash *hash, uint64_t base, uint64_t stride, uint64_t count) {
  bank_set set = {{0}};
  for (uint64_t i = 0; i < count; i++) {
    uint32_t bank = bf_hash_bank(hash, base + stride * i);
    set.part[bank / 64] |= (uint64_t)1 << bank % 64;
  }
  return set;
}

static unsigned size_of(const bank_set *set) {
  unsigned size = 0;
  for (unsigned i = 0; i < PARTS; i++)
    size += (unsigned)__builtin_popcountll(set->part[i]);
  return size;
}

static unsigned common(const bank_set *a, const bank_set *b) {
  unsigned size = 0;
  for (unsigned i = 0; i < PARTS; i++)
    size += (unsigned)__builtin_popcountll(a->part[i] & b->part[i]);
  return size;
}

uint64_t bf_placing_own(const bf_hash *hash, uint64_t side, uint64_t base) {
  uint64_t conflicts = 0;
  for (uint64_t i = 0; i < side; i++) {
    bank_set row = banks_of(hash, base + side * i, 1, side);
    bank_set column = banks_of(hash, base + i, side, side);
    conflicts += 2 * side - size_of(&row) - size_of(&column);
  }
  return conflicts;
}

uint64_t bf_placing_readings(const bf_placing *placing) {
  return placing->mode == BF_PLACING_PRODUCT ? placing->side : 1;
}

/* Equal rows and equal columns of two matrices. */
static uint64_t between_equals(const bf_hash *hash, uint64_t side, uint64_t a, uint64_t b) {
  uint64_t conflicts = 0;
  for (uint64_t i = 0; i < side; i++) {
    bank_set rows[2] = {banks_of(hash, a + side * i, 1, side),
                        banks_of(hash, b + side * i, 1, side)};
    bank_set columns[2] = {banks_of(hash, a + i, side, side), banks_of(hash, b + i, side, side)};
    conflicts += common(&rows[0], &rows[1]) + common(&columns[0], &columns[1]);
  }
  return conflicts;
}

uint64_t bf_placing_between(const bf_placing *placing, uint64_t a, uint64_t b) {
  const bf_hash *hash = placing->hash;
  uint64_t side = placing->side, conflicts = 0;
  bank_set column[BF_PLACING_BANKS];
  if (placing->mode == BF_PLACING_SUM)
    return between_equals(hash, side, a, b);
  for (uint64_t j = 0; j < side; j++)
    column[j] = banks_of(hash, b + j, side, side);
  for (uint64_t i = 0; i < side; i++) {
    bank_set row = banks_of(hash, a + side * i, 1, side);
    for (uint64_t j = 0; j < side; j++)
      conflicts += common(&row, &column[j]);
  }
  return conflicts;
}

uint64_t bf_placing_count(const bf_placing *p) {
  uint64_t conflicts = 0;
  for (unsigned a = 0; a < p->matrices; a++) {
    conflicts += bf_placing_readings(p) * bf_placing_own(p->hash, p->side, p->base[a]);
    for (unsigned b = 0; b < p->matrices; b++)
      if (a != b)
        conflicts += bf_placing_between(p, p->base[a], p->base[b]);
  }
  return conflicts;
}

/* Puts count words into their banks, and returns how many found theirs taken. */
static uint64_t put(const bf_hash *hash, uint64_t base, uint64_t stride, uint64_t count,
                    bool *taken) {
  uint64_t conflicts = 0;
  for (uint64_t i = 0; i < count; i++) {
    bool *at = &taken[bf_hash_bank(hash, base + stride * i)];
    conflicts += *at;
    *at = true;
  }
  return conflicts;
}

/* A strided pattern of side words. */
typedef struct line {
  uint64_t base, stride;
} line;

/* Words that find their bank taken when two lines are read together, less what each has alone. */
static uint64_t together(const bf_hash *hash, uint64_t side, line first, line second) {
  bool both[BF_PLACING_BANKS] = {0}, alone[2][BF_PLACING_BANKS] = {{0}};
  uint64_t all = put(hash, first.base, first.stride, side, both) +
                 put(hash, second.base, second.stride, side, both);
  return all - put(hash, first.base, first.stride, side, alone[0]) -
         put(hash, second.base, second.stride, side, alone[1]);
}

static uint64_t between_plainly(const bf_placing *p, uint64_t a, uint64_t b) {
  uint64_t conflicts = 0, side = p->side;
  for (uint64_t i = 0; i < side; i++)
    for (uint64_t j = 0; p->mode == BF_PLACING_PRODUCT && j < side; j++)
      conflicts += together(p->hash, side, (line){a + side * i, 1}, (line){b + j, side});
  for (uint64_t i = 0; p->mode == BF_PLACING_SUM && i < side; i++)
    conflicts += together(p->hash, side, (line){a + side * i, 1}, (line){b + side * i, 1}) +
                 together(p->hash, side, (line){a + i, side}, (line){b + i, side});
  return conflicts;
}

uint64_t bf_placing_count_plainly(const bf_placing *p) {
  uint64_t conflicts = 0;
  for (unsigned a = 0; a < p->matrices; a++) {
    for (uint64_t i = 0; i < p->side; i++) {
      bool row[BF_PLACING_BANKS] = {0}, column[BF_PLACING_BANKS] = {0};
      conflicts +=
          bf_placing_readings(p) * (put(p->hash, p->base[a] + p->side * i, 1, p->side, row) +
                                    put(p->hash, p->base[a] + i, p->side, p->side, column));
    }
    for (unsigned b = 0; b < p->matrices; b++)
      if (a != b)
        conflicts += between_plainly(p, p->base[a], p->base[b]);
  }
  return conflicts;
}
