/* Between which numbers sums lie. A sum is taken as a whole number, its atoms as numbers of their
 * ranges: what it is modulo 2^32 is what registers hold. */
#include "verify/pad.h"

#include <string.h>

static const bf_pad_range any_number = {INT32_MIN, INT32_MAX};
/* Beyond what any comparison asks for; sums of a few of these fit in 64 bits. */
static const int64_t far = (int64_t)1 << 56;

/* ---- Whole numbers ---- */

static int64_t limited(int64_t value) { return value < -far ? -far : value > far ? far : value; }

static int64_t product(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return (a < 0) == (b < 0) ? far : -far;
  return limited(result);
}

/* range + factor * of. */
static bf_pad_range add(bf_pad_range range, int64_t factor, bf_pad_range of) {
  int64_t a = product(factor, of.low), b = product(factor, of.high);
  range.low = limited(range.low + (a < b ? a : b));
  range.high = limited(range.high + (a < b ? b : a));
  return range;
}

/* The largest number at most a / b, b > 0. */
static int64_t divided(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* ---- Turns of loops ---- */

/* How often a loop can come back at most, when it goes on only while `least` + factor * turns stays
 * at most `most`, factor > 0: at the next turn the sum is at least larger, and at most `highest`,
 * which must not wrap around. */
static int64_t most_turns(int64_t factor, bf_pad_range rest, int64_t most, int64_t highest) {
  int64_t first = rest.low > most ? 0 : divided(most - rest.low, factor) + 1;
  bf_pad_range there = add(rest, factor, (bf_pad_range){first, first});
  return there.high <= highest ? first : UINT32_MAX;
}

/* The turns after which a test does not hold any more; UINT32_MAX: not known. */
static int64_t turns_by_test(bf_pad *pad, uint32_t turn, const bf_pad_test *test) {
  int64_t lowest = test->is_unsigned ? 0 : INT32_MIN;
  int64_t highest = test->is_unsigned ? UINT32_MAX : INT32_MAX;
  int64_t factor = bf_pad_factor(&test->left, turn);
  bf_pad_sum rest = bf_pad_without(&test->left, turn);
  bf_pad_range from = bf_pad_range_of(pad, &rest), to = bf_pad_range_of(pad, &test->right);
  if (!factor || bf_pad_factor(&test->right, turn))
    return UINT32_MAX;
  if (test->relation == BF_PAD_NE && !rest.terms && !test->right.terms) {
    int64_t way = test->right.constant - rest.constant;
    return way % factor == 0 && way / factor >= 0 ? way / factor : UINT32_MAX;
  }
  if (from.low < lowest || from.high > highest || to.low < lowest || to.high > highest)
    return UINT32_MAX;
  if (factor > 0 && (test->relation == BF_PAD_LT || test->relation == BF_PAD_LE))
    return most_turns(factor, from, to.high - (test->relation == BF_PAD_LT), highest);
  if (factor < 0 && (test->relation == BF_PAD_GT || test->relation == BF_PAD_GE))
    return most_turns(-factor, (bf_pad_range){-from.high, -from.low},
                      -to.low - (test->relation == BF_PAD_GT), -lowest);
  return UINT32_MAX;
}

/* Whether a block is executed in every turn of a loop that comes back. */
static bool is_in_every_turn(const bf_pad *pad, uint32_t loop, uint32_t block) {
  if (!bf_ptx_dominates(&pad->tree, loop, block))
    return false;
  for (uint32_t i = pad->tree.first_predecessor[loop]; i < pad->tree.first_predecessor[loop + 1];
       i++) {
    uint32_t from = pad->tree.predecessor[i];
    if (bf_ptx_dominates(&pad->tree, loop, from) && !bf_ptx_dominates(&pad->tree, block, from))
      return false;
  }
  return true;
}

/* The first turn in which an access would leave its array. */
static int64_t turns_by_bound(bf_pad *pad, uint32_t turn, const bf_pad_bound *bound) {
  int64_t factor = bf_pad_factor(&bound->sum, turn);
  bf_pad_sum rest = bf_pad_without(&bound->sum, turn);
  bf_pad_range from = bf_pad_range_of(pad, &rest);
  const int64_t highest = UINT32_MAX - 4 * (int64_t)BF_PAD_FAR; /* it has not wrapped around */
  if (!factor || from.low < INT32_MIN || from.high > INT32_MAX)
    return UINT32_MAX;
  if (factor > 0)
    return most_turns(factor, from, bound->range.high, highest);
  return most_turns(-factor, (bf_pad_range){-from.high, -from.low}, -bound->range.low, highest);
}

/* How often the loop that starts with a block comes back at most. */
static int64_t loop_turns(bf_pad *pad, uint32_t turn) {
  uint32_t loop = pad->atom[turn]->number, latches = 0, latch = 0;
  int64_t most = UINT32_MAX;
  bf_pad_test test;
  for (uint32_t i = pad->tree.first_predecessor[loop]; i < pad->tree.first_predecessor[loop + 1];
       i++)
    if (bf_ptx_dominates(&pad->tree, loop, pad->tree.predecessor[i])) {
      latch = pad->tree.predecessor[i];
      latches++;
    }
  if (latches == 1 && bf_pad_test_of(pad, latch, loop, &test))
    most = turns_by_test(pad, turn, &test);
  for (uint32_t b = 0; b < pad->flow->blocks; b++)
    for (const bf_pad_bound *at = pad->block[b].bounds; at; at = at->next)
      if (bf_pad_factor(&at->sum, turn) && is_in_every_turn(pad, loop, b)) {
        int64_t turns = turns_by_bound(pad, turn, at);
        most = turns < most ? turns : most;
      }
  return most;
}

/* ---- Atoms ---- */

/* What any of the paths to a merge leads to. */
static bf_pad_range merged(bf_pad *pad, const bf_pad_atom *atom) {
  uint32_t first = pad->tree.first_predecessor[atom->number];
  uint32_t end = pad->tree.first_predecessor[atom->number + 1];
  bf_pad_range range = {INT64_MAX, INT64_MIN};
  if (!atom->number || first == end)
    return any_number;
  for (uint32_t i = first; i < end; i++) {
    uint32_t from = pad->tree.predecessor[i];
    bf_pad_sum sum = bf_pad_expand(pad, bf_pad_at_end(pad, atom->other, from));
    bf_pad_range own = bf_pad_range_in(pad, &sum, from);
    range.low = own.low < range.low ? own.low : range.low;
    range.high = own.high > range.high ? own.high : range.high;
  }
  return range.low < INT32_MIN || range.high > INT32_MAX ? any_number : range;
}

/* A value under a mask. */
static bf_pad_range masked(bf_pad *pad, const bf_pad_atom *atom) {
  bf_pad_range range = {0, atom->number}, inner = bf_pad_range_of(pad, atom->inner);
  if (inner.low >= 0 && inner.high <= UINT32_MAX && inner.high < range.high)
    range.high = inner.high;
  return range;
}

static bf_pad_range find_range(bf_pad *pad, uint32_t number) {
  const bf_pad_atom *atom = pad->atom[number];
  bf_pad_range inner;
  switch (atom->kind) {
  case BF_PAD_MASKED:
    return masked(pad, atom);
  case BF_PAD_SHIFTED: /* it was not negative, and did not wrap around, when it was shifted */
    inner = bf_pad_range_of(pad, atom->inner);
    if (inner.low < 0 || inner.high > UINT32_MAX)
      return (bf_pad_range){0, UINT32_MAX >> atom->number};
    return (bf_pad_range){inner.low >> atom->number, inner.high >> atom->number};
  case BF_PAD_FLOORED:
    return (bf_pad_range){-((int64_t)1 << (31 - atom->number)), INT32_MAX >> atom->number};
  case BF_PAD_TURN:
    return (bf_pad_range){0, loop_turns(pad, number)};
  case BF_PAD_MERGE:
    return merged(pad, atom);
  default:
    return any_number;
  }
}

/* What an atom is while its range is being found. */
static bf_pad_range vague(const bf_pad_atom *atom) {
  if (atom->kind == BF_PAD_TURN || atom->kind == BF_PAD_MASKED || atom->kind == BF_PAD_SHIFTED)
    return (bf_pad_range){0, UINT32_MAX};
  return any_number;
}

static bf_pad_range atom_range(bf_pad *pad, uint32_t number) {
  bf_pad_atom *atom = pad->atom[number];
  if (atom->ranged == BF_PAD_DONE)
    return atom->range;
  if (atom->ranged == BF_PAD_BUSY || pad->range_depth == BF_PAD_DEPTH || pad->no_memory)
    return vague(atom);
  atom->ranged = BF_PAD_BUSY;
  pad->range_depth++;
  atom->range = find_range(pad, number);
  pad->range_depth--;
  atom->ranged = BF_PAD_DONE;
  return atom->range;
}

bf_pad_range bf_pad_range_in(bf_pad *pad, const bf_pad_sum *sum, uint32_t block) {
  bf_pad_range range = {sum->constant, sum->constant};
  for (uint32_t i = 0; i < sum->terms; i++) {
    bf_pad_range own = atom_range(pad, sum->term[i].atom);
    for (uint32_t at = block; at < pad->flow->blocks; at = pad->tree.dominator[at]) {
      for (const bf_pad_limit *limit = bf_pad_limits(pad, at); limit; limit = limit->next)
        if (limit->atom == sum->term[i].atom) {
          own.low = limit->range.low > own.low ? limit->range.low : own.low;
          own.high = limit->range.high < own.high ? limit->range.high : own.high;
        }
      if (pad->tree.dominator[at] == at)
        break;
    }
    range = add(range, sum->term[i].factor, own);
  }
  return range;
}

bf_pad_range bf_pad_range_of(bf_pad *pad, const bf_pad_sum *sum) {
  return bf_pad_range_in(pad, sum, pad->flow->blocks);
}
