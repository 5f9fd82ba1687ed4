/* Inside room search: nodes folded (fold.h), compiled for each instruction set beside
 * kernel_body.h; KERNEL(name) names the functions. */
#include "search/fold.h"

/* What moving by a number does to the low and high four bits of a byte, by its low three bits. */
#define NIBBLES_LOW(t)                                                                             \
  {                                                                                                \
    NIBBLE(t, 0), NIBBLE(t, 1), NIBBLE(t, 2), NIBBLE(t, 3), NIBBLE(t, 4), NIBBLE(t, 5),            \
        NIBBLE(t, 6), NIBBLE(t, 7), NIBBLE(t, 8), NIBBLE(t, 9), NIBBLE(t, 10), NIBBLE(t, 11),      \
        NIBBLE(t, 12), NIBBLE(t, 13), NIBBLE(t, 14), NIBBLE(t, 15)                                 \
  }
#define NIBBLE(t, x)                                                                               \
  (((x)&1 ? 1 << (0 ^ (t)) : 0) | ((x)&2 ? 1 << (1 ^ (t)) : 0) | ((x)&4 ? 1 << (2 ^ (t)) : 0) |    \
   ((x)&8 ? 1 << (3 ^ (t)) : 0))
static const bf_bytes KERNEL(moved)[8] = {NIBBLES_LOW(0), NIBBLES_LOW(1), NIBBLES_LOW(2),
                                          NIBBLES_LOW(3), NIBBLES_LOW(4), NIBBLES_LOW(5),
                                          NIBBLES_LOW(6), NIBBLES_LOW(7)};
#undef NIBBLE
#undef NIBBLES_LOW

/* The four low and the four high bits of each byte of a set, ready to be moved. */
typedef struct KERNEL(parted) {
  bf_bytes low, high;
} KERNEL(parted);

static inline __attribute__((always_inline)) KERNEL(parted) KERNEL(part)(const bf_points *set) {
  bf_bytes all = (bf_bytes)*set;
  bf_bytes above = (bf_bytes)(*set >> 4);
  return (KERNEL(parted)){all & 15, above & 15};
}

/* Ors the set moved by x into *to. */
static inline __attribute__((always_inline)) void KERNEL(or_moved)(const KERNEL(parted) * set,
                                                                   unsigned x, bf_points *to) {
  const bf_bytes order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  bf_bytes moved =
      v_bytes(KERNEL(moved)[x & 7], set->low) | v_bytes(KERNEL(moved)[(x & 7) ^ 4], set->high);
  *to |= (bf_points)v_bytes(moved, order ^ (uint8_t)(x >> 3));
}

/* The points of a shape after folding: set[k] holds k words or more; returns the largest k. */
static inline __attribute__((always_inline)) unsigned
KERNEL(fold_shape)(const bf_fold_shape *shape, unsigned t, bf_points *set) {
  unsigned low = shape->top[0], high = shape->top[1], top = low + high;
  bf_points moved[BF_PLANE_WORDS + 1];
  for (unsigned k = 1; k <= high; k++) {
    KERNEL(parted) parted = KERNEL(part)(&shape->at_least[1][k]);
    moved[k] = (bf_points){0};
    KERNEL(or_moved)(&parted, t, &moved[k]);
  }
  for (unsigned k = 1; k <= top; k++) {
    bf_points own = k <= low ? shape->at_least[0][k] : (bf_points){0};
    own |= k <= high ? moved[k] : (bf_points){0};
    for (unsigned i = k > high ? k - high : 1; i <= low && i < k; i++)
      own |= shape->at_least[0][i] & moved[k - i];
    set[k] = own;
  }
  while (top > 0 && !(set[top][0] | set[top][1]))
    top--;
  return top;
}

/* The vectors that make some point hold `all` words or more: from every point with at least half of
 * them. */
static inline __attribute__((always_inline)) void KERNEL(unit)(const bf_points *set, unsigned top,
                                                               unsigned all, bf_points *unit) {
  *unit = (bf_points){0};
  for (unsigned k = top; 2 * k >= all; k--) {
    KERNEL(parted) parted = KERNEL(part)(&set[all - k]);
    for (unsigned h = 0; h < 2; h++) {
      uint64_t left = set[k][h] & ~(k < top ? set[k + 1][h] : 0);
      for (; left; left &= left - 1)
        KERNEL(or_moved)(&parted, 64 * h + (unsigned)__builtin_ctzll(left), unit);
    }
  }
}

/* A bit-sliced sum of weights for every vector. A unit of weight 1 waits for the next one, so that
 * two are added at once. */
typedef struct KERNEL(sums) {
  unsigned planes;
  bool waits;
  bf_points waiting, over, total[64];
} KERNEL(sums);

/* Adds 2^j where carry is set; what passes the top goes to over. */
static inline __attribute__((always_inline)) void KERNEL(carry)(KERNEL(sums) * sums, unsigned j,
                                                                bf_points carry) {
  for (; j < sums->planes; j++) {
    bf_points next = sums->total[j] & carry;
    sums->total[j] ^= carry;
    carry = next;
  }
  sums->over |= carry;
}

static inline __attribute__((always_inline)) void KERNEL(tally)(KERNEL(sums) * sums,
                                                                uint64_t weight, bf_points unit) {
  if (weight != 1) {
    for (uint64_t left = weight; left; left &= left - 1)
      KERNEL(carry)(sums, (unsigned)__builtin_ctzll(left), unit);
    return;
  }
  if (sums->waits) {
    bf_points one = sums->total[0], other = sums->waiting, differ = one ^ other;
    sums->total[0] = differ ^ unit;
    KERNEL(carry)(sums, 1, (one & other) | (differ & unit));
  } else {
    sums->waiting = unit;
  }
  sums->waits = !sums->waits;
}

/* The vectors whose sum is at least `least`. */
static inline __attribute__((always_inline)) bf_points KERNEL(reaches)(KERNEL(sums) * sums,
                                                                       uint64_t least) {
  if (sums->waits)
    KERNEL(carry)(sums, 0, sums->waiting);
  sums->waits = false;
  bf_points reached = ~(bf_points){0};
  for (unsigned j = 0; j < sums->planes; j++)
    reached = least >> j & 1 ? reached & sums->total[j] : reached | sums->total[j];
  return reached | sums->over;
}

/* Notes a unit of a shape: that its fullest bank holds `all` words. */
static inline __attribute__((always_inline)) void KERNEL(note)(bf_fold *fold,
                                                               const bf_fold_shape *shape,
                                                               unsigned all, bf_points unit,
                                                               KERNEL(sums) * sums) {
  uint64_t weight = shape->weight + shape->square * (all - 1);
  fold->unit[fold->units] = unit;
  fold->weight[fold->units++] = weight;
  KERNEL(tally)(sums, weight, unit);
}

/* The fullest bank of a shape under N, which is charged. */
static inline __attribute__((always_inline)) unsigned
KERNEL(charge)(bf_fold *fold, const bf_fold_shape *shape, unsigned top) {
  unsigned fullest = shape->fullest;
  for (; fullest < top; fullest++)
    fold->cost += shape->weight + shape->square * fullest;
  return fullest;
}

/* All units of one shape. */
static void KERNEL(units)(bf_fold *fold, const bf_fold_shape *shape, unsigned t,
                          KERNEL(sums) * sums) {
  bf_points set[2 * BF_PLANE_WORDS + 1], unit;
  unsigned top = KERNEL(fold_shape)(shape, t, set), fullest = KERNEL(charge)(fold, shape, top);
  for (unsigned all = fullest + 1; all <= 2 * top; all++) {
    KERNEL(unit)(set, top, all, &unit);
    if (!(unit[0] | unit[1]))
      return;
    KERNEL(note)(fold, shape, all, unit, sums);
  }
}

/* One point of a set, which is taken out of it. */
static inline __attribute__((always_inline)) unsigned KERNEL(pull)(uint64_t *low, uint64_t *high) {
  bool in_low = *low != 0;
  unsigned x = (unsigned)__builtin_ctzll(in_low ? *low : *high) + (in_low ? 0 : 64);
  uint64_t less_low = *low & (*low - 1), less_high = *high & (*high - 1);
  *high = in_low ? *high : less_high;
  *low = in_low ? less_low : 0;
  return x;
}

/* The first two units of a shape whose fullest point after folding holds 2 or 3 words, as nearly
 * all of random accesses do; false if it is another one. */
static inline __attribute__((always_inline)) bool
KERNEL(few)(bf_fold *fold, const bf_fold_shape *shape, unsigned t, KERNEL(sums) * sums) {
  if (shape->top[0] > 3 || shape->top[1] > 3 || shape->fullest > 3)
    return false;
  const bf_points *low = shape->at_least[0];
  bf_points high[4] = {{0}}, first = {0}, second = {0};
  for (unsigned k = 1; k <= 3; k++) {
    KERNEL(parted) parted = KERNEL(part)(&shape->at_least[1][k]);
    KERNEL(or_moved)(&parted, t, &high[k]);
  }
  bf_points one = low[1] | high[1], two = low[2] | high[2] | (low[1] & high[1]);
  bf_points three = low[3] | high[3] | (low[2] & high[1]) | (low[1] & high[2]);
  bf_points four = (low[3] & high[1]) | (low[2] & high[2]) | (low[1] & high[3]);
  bool has_three = (three[0] | three[1]) != 0;
  if ((four[0] | four[1]) || !(two[0] | two[1]) || shape->fullest > 2u + has_three)
    return false;
  KERNEL(parted) ones = KERNEL(part)(&one), twos = KERNEL(part)(&two);
  unsigned fullest = KERNEL(charge)(fold, shape, 2 + has_three);
  uint64_t left_low = has_three ? three[0] : two[0], left_high = has_three ? three[1] : two[1];
  while (left_low | left_high) {
    unsigned x = KERNEL(pull)(&left_low, &left_high);
    KERNEL(or_moved)(&ones, x, &first);
    KERNEL(or_moved)(&twos, x, &second);
  }
  left_low = has_three ? two[0] & ~three[0] : 0, left_high = has_three ? two[1] & ~three[1] : 0;
  while (left_low | left_high)
    KERNEL(or_moved)(&twos, KERNEL(pull)(&left_low, &left_high), &first);
  KERNEL(note)(fold, shape, fullest + 1, first, sums);
  KERNEL(note)(fold, shape, fullest + 2, second, sums);
  return true;
}

/* Folds by the vector t with bit q. False if no vector costs less than `below`, which is divided by
 * the factor, on top of the node above. */
static bool KERNEL(fold)(bf_fold *fold, unsigned t, uint64_t below) {
  KERNEL(sums) sums;
  bf_points alive = fold->allowed;
  sums.planes = 64 - (unsigned)__builtin_clzll(below | 1);
  sums.waits = false;
  sums.over = sums.waiting = (bf_points){0};
  for (unsigned j = 0; j < sums.planes; j++)
    sums.total[j] = (bf_points){0};
  fold->cost = fold->units = 0;
  fold->turned = false;
  for (size_t s = 0; s < fold->count; s++) {
    if (!KERNEL(few)(fold, &fold->shape[s], t, &sums))
      KERNEL(units)(fold, &fold->shape[s], t, &sums);
    if (s % 16 != 15 && s + 1 < fold->count)
      continue;
    if (fold->cost >= below)
      return false;
    alive = fold->allowed & ~KERNEL(reaches)(&sums, below - fold->cost);
    if (!(alive[0] | alive[1]))
      return false;
  }
  fold->alive = alive;
  return true;
}

/* Bit i of row j becomes bit j of row i, in both lanes. */
static void KERNEL(turn_square)(bf_points *row) {
  uint64_t mask = 0x00000000ffffffffu;
  for (unsigned j = 32; j; j >>= 1, mask ^= mask << j)
    for (unsigned k = 0; k < 64; k = (k + j + 1) & ~j) {
      bf_points moved = ((row[k] >> j) ^ row[k + j]) & (bf_points){mask, mask};
      row[k] ^= moved << j;
      row[k + j] ^= moved;
    }
}

static void KERNEL(turn_group)(bf_fold *fold, bf_points *row, unsigned rows, uint64_t weight) {
  for (unsigned i = rows; i < BF_FOLD_GROUP; i++)
    row[i] = (bf_points){0};
  KERNEL(turn_square)(row);
  for (unsigned i = 0; i < BF_FOLD_GROUP; i++) {
    fold->group[fold->groups][i] = row[i][0];
    fold->group[fold->groups][i + 64] = row[i][1];
  }
  fold->group_weight[fold->groups++] = weight;
}

/* Units to words of units, heaviest first. */
static void KERNEL(turn)(bf_fold *fold) {
  uint64_t bits = 0;
  bf_points row[BF_FOLD_GROUP];
  fold->turned = true;
  fold->groups = 0;
  for (size_t u = 0; u < fold->units; u++)
    bits |= fold->weight[u];
  for (unsigned bit = BF_FOLD_WEIGHT_BITS; bit-- > 0;) {
    unsigned rows = 0;
    for (size_t u = 0; u < fold->units && bits >> bit & 1; u++) {
      if (!(fold->weight[u] >> bit & 1))
        continue;
      row[rows++] = fold->unit[u];
      if (rows == BF_FOLD_GROUP)
        KERNEL(turn_group)(fold, row, rows, (uint64_t)1 << bit), rows = 0;
    }
    if (rows)
      KERNEL(turn_group)(fold, row, rows, (uint64_t)1 << bit);
  }
}

/* Of the planes of u with each of others, those whose units, or-ed, stay below, on top of N. */
static unsigned KERNEL(fold_planes)(bf_fold *fold, unsigned u, const bf_points *others,
                                    uint64_t below, uint8_t *found) {
  unsigned kept = 0;
  bf_points alive = {0};
  KERNEL(parted) parted = KERNEL(part)(&fold->alive);
  KERNEL(or_moved)(&parted, u, &alive);
  alive &= *others;
  if (!(alive[0] | alive[1]))
    return 0;
  if (!fold->turned)
    KERNEL(turn)(fold);
  for (unsigned h = 0; h < 2; h++)
    for (uint64_t left = alive[h]; left; left &= left - 1) {
      unsigned v = 64 * h + (unsigned)__builtin_ctzll(left);
      uint64_t forced = 0;
      for (unsigned g = 0; g < fold->groups && forced < below; g++) {
        const uint64_t *group = fold->group[g];
        forced += fold->group_weight[g] *
                  (uint64_t)__builtin_popcountll(group[u] | group[v] | group[u ^ v]);
      }
      if (forced < below)
        found[kept++] = (uint8_t)v;
    }
  return kept;
}
