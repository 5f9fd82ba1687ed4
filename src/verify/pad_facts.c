/* What follows for a block from the branches that lead to it, and from accesses in it that stay
 * inside their arrays: limits of atoms. Where a block is executed, all of its accesses are. */
#include "verify/pad.h"

#include <string.h>

/* ---- Branches ---- */

/* The relation of a comparison; false: it is none of whole numbers. */
static bool read_relation(const bf_ptx_instruction *setp, bf_pad_test *test) {
  static const struct {
    const char *name;
    bf_pad_relation relation;
    bool is_unsigned;
  } known[] = {{"lt", BF_PAD_LT, false}, {"le", BF_PAD_LE, false}, {"gt", BF_PAD_GT, false},
               {"ge", BF_PAD_GE, false}, {"eq", BF_PAD_EQ, false}, {"ne", BF_PAD_NE, false},
               {"lo", BF_PAD_LT, true},  {"ls", BF_PAD_LE, true},  {"hi", BF_PAD_GT, true},
               {"hs", BF_PAD_GE, true}};
  bf_ptx_type type = setp->types == 1 ? setp->type[0] : BF_PTX_TYPE_NONE;
  if (setp->opcode != BF_PTX_OP_SETP || setp->guard || setp->modifiers != 2 ||
      setp->operands != 3 || setp->operand[0].kind != BF_PTX_REGISTER ||
      (type != BF_PTX_U32 && type != BF_PTX_S32 && type != BF_PTX_B32))
    return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].name, setp->modifier[0])) {
      test->relation = known[i].relation;
      test->is_unsigned = known[i].is_unsigned || type == BF_PTX_U32;
      return type != BF_PTX_B32 || test->relation == BF_PAD_EQ || test->relation == BF_PAD_NE;
    }
  return false;
}

static bf_pad_relation opposite(bf_pad_relation relation) {
  static const bf_pad_relation other[] = {
      [BF_PAD_LT] = BF_PAD_GE, [BF_PAD_LE] = BF_PAD_GT, [BF_PAD_GT] = BF_PAD_LE,
      [BF_PAD_GE] = BF_PAD_LT, [BF_PAD_EQ] = BF_PAD_NE, [BF_PAD_NE] = BF_PAD_EQ};
  return other[relation];
}

bool bf_pad_test_of(bf_pad *pad, uint32_t from, uint32_t to, bf_pad_test *test) {
  const bf_ptx_block *block = &pad->flow->block[from];
  const bf_ptx_instruction *branch = pad->function->instruction[block->end - 1];
  if (branch->opcode != BF_PTX_OP_BRA || !branch->guard || block->successors != 2 ||
      branch->operands != 1 || branch->operand[0].kind != BF_PTX_SYMBOL ||
      branch->operand[0].symbol->kind != BF_PTX_SYMBOL_LABEL ||
      branch->operand[0].symbol->instruction >= pad->function->instructions)
    return false;
  uint32_t target = pad->flow->block_of[branch->operand[0].symbol->instruction];
  uint32_t writer = bf_pad_writer(pad, bf_verify_number(branch->guard), from);
  if (writer == UINT32_MAX || !read_relation(pad->function->instruction[writer], test))
    return false;
  const bf_ptx_instruction *setp = pad->function->instruction[writer];
  if ((target == to) == branch->guard->negated)
    test->relation = opposite(test->relation);
  test->left = bf_pad_expand(pad, bf_pad_operand(pad, &setp->operand[1], writer));
  test->right = bf_pad_expand(pad, bf_pad_operand(pad, &setp->operand[2], writer));
  return true;
}

/* ---- Limits ---- */

/* The limit of an atom in a block; a new one allows anything. */
static bf_pad_limit *limit_of(bf_pad *pad, uint32_t block, uint32_t atom) {
  bf_pad_limit *at = pad->block[block].limits;
  while (at && at->atom != atom)
    at = at->next;
  if (at)
    return at;
  bf_pad_limit *made = bf_arena_alloc(pad->arena, sizeof *made);
  if (!made) {
    pad->no_memory = true;
    return NULL;
  }
  *made = (bf_pad_limit){pad->block[block].limits, atom, {INT64_MIN, INT64_MAX}};
  return pad->block[block].limits = made;
}

/* The largest number at most a / b, b not 0. */
static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

/* A sum lies in a range: so do its atoms, as far as the others let them. */
static void narrow(bf_pad *pad, uint32_t block, const bf_pad_sum *sum, bf_pad_range range) {
  for (uint32_t i = 0; i < sum->terms; i++) {
    int64_t factor = sum->term[i].factor;
    bf_pad_sum rest = bf_pad_without(sum, sum->term[i].atom);
    bf_pad_range others = bf_pad_range_in(pad, &rest, block);
    int64_t low = range.low - others.high, high = range.high - others.low;
    bf_pad_limit *limit = limit_of(pad, block, sum->term[i].atom);
    if (!limit)
      return;
    int64_t least = factor > 0 ? -floor_of(-low, factor) : -floor_of(-high, factor);
    int64_t most = factor > 0 ? floor_of(high, factor) : floor_of(low, factor);
    limit->range.low = least > limit->range.low ? least : limit->range.low;
    limit->range.high = most < limit->range.high ? most : limit->range.high;
  }
}

/* left - right, as a whole number, when a test holds; false: nothing is known. Comparisons are of
 * whole numbers where both sides lie in their domain. */
static bool difference(bf_pad *pad, uint32_t block, const bf_pad_test *test, bf_pad_sum *sum,
                       bf_pad_range *range) {
  bf_pad_range left = bf_pad_range_in(pad, &test->left, block);
  bf_pad_range right = bf_pad_range_in(pad, &test->right, block);
  int64_t low = left.low < right.low ? left.low : right.low;
  int64_t high = left.high > right.high ? left.high : right.high;
  bool fits_signed = low >= INT32_MIN && high <= INT32_MAX;
  bool fits_unsigned = low >= 0 && high <= UINT32_MAX;
  bool is_equality = test->relation == BF_PAD_EQ || test->relation == BF_PAD_NE;
  *sum = test->left;
  if (!bf_pad_add(sum, &test->right, -1) || !(is_equality         ? fits_signed || fits_unsigned
                                              : test->is_unsigned ? fits_unsigned
                                                                  : fits_signed))
    return false;
  *range = bf_pad_range_in(pad, sum, block);
  if (test->relation == BF_PAD_LT || test->relation == BF_PAD_LE)
    range->high = -(test->relation == BF_PAD_LT);
  if (test->relation == BF_PAD_GT || test->relation == BF_PAD_GE)
    range->low = test->relation == BF_PAD_GT;
  if (test->relation == BF_PAD_EQ)
    *range = (bf_pad_range){0, 0};
  if (test->relation == BF_PAD_NE) {
    range->low += range->low == 0;
    range->high -= range->high == 0;
  }
  return true;
}

/* An unsigned number that is less than one without the highest bit is not negative. */
static bool is_not_negative(bf_pad *pad, uint32_t block, const bf_pad_test *test) {
  bf_pad_range left = bf_pad_range_in(pad, &test->left, block);
  bf_pad_range right = bf_pad_range_in(pad, &test->right, block);
  return test->is_unsigned && (test->relation == BF_PAD_LT || test->relation == BF_PAD_LE) &&
         right.low >= 0 && right.high <= INT32_MAX && left.low >= INT32_MIN &&
         left.high <= INT32_MAX;
}

/* What the branch to a block says, where only one leads there. */
static void use_branch(bf_pad *pad, uint32_t block) {
  uint32_t first = pad->tree.first_predecessor[block];
  bf_pad_test test;
  bf_pad_sum sum;
  bf_pad_range range;
  if (!block || pad->tree.first_predecessor[block + 1] != first + 1 ||
      !bf_pad_test_of(pad, pad->tree.predecessor[first], block, &test))
    return;
  if (is_not_negative(pad, block, &test))
    narrow(pad, block, &test.left, (bf_pad_range){0, INT32_MAX});
  if (difference(pad, block, &test, &sum, &range))
    narrow(pad, block, &sum, range);
}

/* What the accesses of a block say, where their addresses surely do not wrap around. */
static void use_bounds(bf_pad *pad, uint32_t block) {
  for (const bf_pad_bound *at = pad->block[block].bounds; at; at = at->next) {
    bf_pad_range range = bf_pad_range_in(pad, &at->sum, block);
    if (range.low >= INT32_MIN && range.high <= INT32_MAX)
      narrow(pad, block, &at->sum, at->range);
  }
}

const bf_pad_limit *bf_pad_limits(bf_pad *pad, uint32_t block) {
  enum { ROUNDS = 2 };
  bf_pad_block *own = &pad->block[block];
  if (!pad->has_facts || own->state != BF_PAD_NEW)
    return own->limits;
  own->state = BF_PAD_BUSY;
  for (unsigned round = 0; round < ROUNDS && !pad->no_memory; round++) {
    use_branch(pad, block);
    use_bounds(pad, block);
  }
  own->state = BF_PAD_DONE;
  return own->limits;
}

/* ---- Accesses ---- */

/* Whether control may not reach the end of the block. */
static bool may_stop(const bf_pad *pad, uint32_t block) {
  for (uint32_t i = pad->flow->block[block].first; i < pad->flow->block[block].end; i++)
    switch (pad->function->instruction[i]->opcode) {
    case BF_PTX_OP_CALL:
    case BF_PTX_OP_EXIT:
    case BF_PTX_OP_TRAP:
    case BF_PTX_OP_BRKPT:
      return true;
    default:
      break;
    }
  return false;
}

bool bf_pad_note_access(bf_pad *pad, uint32_t block, const bf_pad_sum *offset, int64_t most) {
  bf_pad_sum sum = *offset;
  bf_pad_range range = {-offset->constant, most - offset->constant};
  sum.constant = 0;
  if (!sum.terms || most > BF_PAD_FAR || offset->constant < -BF_PAD_FAR ||
      offset->constant > BF_PAD_FAR || may_stop(pad, block))
    return true;
  bf_pad_bound *at = pad->block[block].bounds;
  while (at && !bf_pad_same(&at->sum, &sum))
    at = at->next;
  if (!at) {
    bf_pad_bound *made = bf_arena_alloc(pad->arena, sizeof *made);
    if (!made) {
      pad->no_memory = true;
      return false;
    }
    *made = (bf_pad_bound){pad->block[block].bounds, sum, range};
    pad->block[block].bounds = made;
    return true;
  }
  at->range.low = range.low > at->range.low ? range.low : at->range.low;
  at->range.high = range.high < at->range.high ? range.high : at->range.high;
  return true;
}
