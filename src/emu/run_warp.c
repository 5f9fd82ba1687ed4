/* Operations of several lanes: shfl, vote, match, redux, activemask, elect.
 *
 * The forms with .sync have a mask of members. Its lanes meet first (bf_emu_meet); every lane may
 * have a mask of its own, as long as it names lanes that execute the same instruction. Lanes that
 * have exited take no part. Lanes at several places that execute the same operation with the same
 * mask do so together, as on an H200 (tests/data/h200/split_warps.tsv): each place leaves what its
 * lanes bring at the party, and then computes its results from what all have brought. */
#include "emu/inner.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

bool BF_EMU_NAME(bf_emu_select_warp)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

/* The mask whose only set bit is that of lane. */
static uint32_t bit(unsigned lane) { return UINT32_C(1) << lane; }

/* All lanes that the masks of members at offset name, for the lanes that execute (at least one). */
static uint32_t all_members(const bf_emu_warp *warp, uint32_t offset, uint32_t lanes) {
  const uint32_t *member = BF_LANES(const uint32_t, offset);
  uint32_t all = member[__builtin_ctz(lanes)];
  if (all == UINT32_MAX)
    return all;
  BF_EACH_LANE(lanes, lane) all |= member[lane];
  return all;
}

/* Brings the members together. *lanes are those that execute op together; false: the path waits. */
static bool meet(bf_emu_warp *warp, const bf_emu_op *op, uint32_t members_at, uint32_t *lanes) {
  uint32_t mine = BF_MASK();
  *lanes = mine;
  if (!mine)
    return true;
  if (!bf_emu_meet_by_mask(warp, op, mine, all_members(warp, members_at, mine)))
    return false;
  *lanes = BF_MASK();
  return true;
}

/* The values of op->a, bytes each, of the lanes that take part, *all: of those here, or where
 * others execute the same elsewhere, of all of them, in room. NULL: they were only left there. */
static const void *share_values(const bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes,
                                unsigned bytes, uint32_t *all, uint64_t *room) {
  const uint8_t *own = BF_LANES(const uint8_t, op->a);
  bf_emu_party *party = warp->party;
  *all = lanes;
  if (!party)
    return own;
  if (!party->is_complete) {
    BF_EACH_LANE(lanes, lane) memcpy(&party->value[lane], own + lane * bytes, bytes);
    return NULL;
  }
  *all = party->lanes;
  memcpy(room, own, (size_t)bytes * BF_EMU_LANES);
  BF_EACH_LANE(party->lanes, lane)
  memcpy((uint8_t *)room + lane * bytes, &party->value[lane], bytes);
  return room;
}

/* The same for predicates, at first those of the lanes here. False: they were only left there. */
static bool share_votes(const bf_emu_warp *warp, uint32_t lanes, uint32_t *all, uint32_t *yes) {
  bf_emu_party *party = warp->party;
  *all = lanes;
  if (!party)
    return true;
  if (!party->is_complete) {
    party->yes |= *yes & lanes;
    return false;
  }
  *all = party->lanes;
  *yes = party->yes;
  return true;
}

/* ---- shfl: d, a, b, c as in PTX, the predicate at e, the members' place in small[4..7] ---- */

/* Which lane each lane reads, and a bit for each whose wish was in range. */
typedef struct shuffle {
  uint32_t from[BF_EMU_LANES];
  uint32_t in_range;
} shuffle;

enum shuffle_mode { UP, DOWN, BUTTERFLY, INDEX };

/* A predicate of bits 0 or 1 of an array over the lanes. */
static inline uint32_t gather_bits(const uint32_t *bit_of) {
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    bits |= bit_of[lane] << lane;
  return bits;
}

/* The whole warp's source lanes as PTX defines them: b is the distance or index, c holds the clamp
 * in bits 0-4 and the mask of segments in bits 8-12. wish is the lane asked for, allowed whether it
 * may be. */
#define PLAN(name, wish, allowed)                                                                  \
  static void name(const uint32_t *b, const uint32_t *c, shuffle *result) {                        \
    uint32_t found[BF_EMU_LANES];                                                                  \
    for (unsigned i = 0; i < BF_EMU_LANES; i++) {                                                  \
      int32_t lane = (int32_t)i, distance = (int32_t)(b[i] & 31);                                  \
      int32_t segment = (int32_t)(c[i] >> 8 & 31), clamp = (int32_t)(c[i] & 31);                   \
      int32_t first = lane & segment, last = first | (clamp & ~segment);                           \
      int32_t from = (wish);                                                                       \
      found[i] = (allowed);                                                                        \
      result->from[i] = (uint32_t)(found[i] ? from : lane);                                        \
      (void)first, (void)distance;                                                                 \
    }                                                                                              \
    result->in_range = gather_bits(found);                                                         \
  }
PLAN(plan_up, lane - distance, from >= last)
PLAN(plan_down, lane + distance, from <= last)
PLAN(plan_butterfly, lane ^ distance, from <= last)
PLAN(plan_index, first | (distance & ~segment), from <= last)

static void plan(enum shuffle_mode mode, const uint32_t *b, const uint32_t *c, shuffle *result) {
  static void (*const plans[])(const uint32_t *, const uint32_t *, shuffle *) = {
      [UP] = plan_up, [DOWN] = plan_down, [BUTTERFLY] = plan_butterfly, [INDEX] = plan_index};
  plans[mode](b, c, result);
}

/* value[lane] = a[from[lane]] for all lanes. */
static inline void permute(const uint32_t *a, const uint32_t *from, uint32_t *value) {
#if defined(__AVX512F__)
  __m512i low = _mm512_loadu_si512(a), high = _mm512_loadu_si512(a + 16);
  for (unsigned half = 0; half < BF_EMU_LANES; half += 16) {
    __m512i index = _mm512_loadu_si512(from + half);
    _mm512_storeu_si512(value + half, _mm512_permutex2var_epi32(low, index, high));
  }
#elif defined(__AVX2__)
  __m256i part[4];
  for (unsigned i = 0; i < 4; i++)
    part[i] = _mm256_loadu_si256((const void *)(a + 8 * i));
  for (unsigned i = 0; i < 4; i++) { /* of four parts bits 3 and 4 of an index choose one */
    __m256i index = _mm256_loadu_si256((const void *)(from + 8 * i));
    __m256 found[4], bit_3 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    for (unsigned j = 0; j < 4; j++)
      found[j] = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(part[j], index));
    __m256 low = _mm256_blendv_ps(found[0], found[1], bit_3);
    __m256 high = _mm256_blendv_ps(found[2], found[3], bit_3);
    __m256 bit_4 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 27));
    _mm256_storeu_ps((float *)value + 8 * i, _mm256_blendv_ps(low, high, bit_4));
  }
#else
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    value[lane] = a[from[lane]];
#endif
}

/* Gives the lanes what they asked for: 0 from lanes that have exited, as on an H200
 * (tests/data/h200/split_warps.tsv, shfl in a loop). a and d may be the same register. */
static const bf_emu_op *deliver(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes,
                                const shuffle *wish) {
  uint64_t room[BF_EMU_LANES];
  uint32_t value[BF_EMU_LANES], all;
  const uint32_t *a = share_values(warp, op, lanes, sizeof *a, &all, room);
  if (!a)
    return op + 1;
  uint32_t *d = BF_LANES(uint32_t, op->d);
  permute(a, wish->from, value);
  if (warp->alive != UINT32_MAX)
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      value[lane] &= -(warp->alive >> wish->from[lane] & 1);
  BF_SET_LANES(lanes, d, value[lane]);
  bf_emu_set_predicate(warp, op->e, lanes, wish->in_range);
  return op + 1;
}

/* The place of the members, kept in small because the other places are taken. */
static uint32_t members_of(const bf_emu_op *op) {
  uint32_t place;
  memcpy(&place, op->small + 4, sizeof place);
  return place;
}

static void set_members(bf_emu_op *op, uint32_t place) {
  memcpy(op->small + 4, &place, sizeof place);
}

/* shfl whose b and c are registers. */
static const bf_emu_op *shuffle_any(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes;
  if (op->small[1] && !meet(warp, op, members_of(op), &lanes))
    return NULL;
  if (!op->small[1])
    lanes = BF_MASK();
  shuffle wish;
  plan((enum shuffle_mode)op->small[0], BF_LANES(const uint32_t, op->b),
       BF_LANES(const uint32_t, op->c), &wish);
  return deliver(warp, op, lanes, &wish);
}

/* shfl whose b and c are numbers: planned when decoded. */
static const bf_emu_op *shuffle_planned(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes;
  if (op->small[1] && !meet(warp, op, members_of(op), &lanes))
    return NULL;
  if (!op->small[1])
    lanes = BF_MASK();
  return deliver(warp, op, lanes, op->detail);
}

/* ---- vote, match, redux: members at c ---- */

/* The lanes whose mask of members is the given one. */
static inline uint32_t lanes_of_mask(const uint32_t *member, uint32_t mask) {
  uint32_t found = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    found |= (uint32_t)(member[lane] == mask) << lane;
  return found;
}

/* Executing lanes with the same mask of members. There is nearly always one group. */
typedef struct lane_group {
  uint32_t left;   /* lanes that are in no group yet */
  uint32_t lanes;  /* that the mask names and that execute */
  uint32_t takers; /* that have this mask and get the result */
} lane_group;

/* The first group of lanes that execute. */
static lane_group first_group(uint32_t lanes) { return (lane_group){.left = lanes}; }

/* Goes on to the next group; false where there is none. member is an array over the lanes; all are
 * those that take part, here or elsewhere. */
static bool next_group(const uint32_t *member, uint32_t all, lane_group *group) {
  if (!group->left)
    return false;
  uint32_t mask = member[__builtin_ctz(group->left)];
  group->lanes = all & mask;
  group->takers = group->left & lanes_of_mask(member, mask);
  group->left &= ~group->takers;
  return true;
}

enum vote_mode { ALL, ANY, UNIFORM, BALLOT };

/* The outcome of a vote among the lanes of group: 0 or ~0, or the ballot itself. */
static uint32_t count_votes(enum vote_mode mode, uint32_t group, uint32_t yes) {
  switch (mode) {
  case ALL:
    return yes == group ? UINT32_MAX : 0;
  case ANY:
    return yes ? UINT32_MAX : 0;
  case UNIFORM:
    return yes == group || !yes ? UINT32_MAX : 0;
  case BALLOT:
    break;
  }
  return yes;
}

/* Hands out the outcome of a vote to takers. */
static void announce(bf_emu_warp *warp, const bf_emu_op *op, uint32_t takers, uint32_t outcome) {
  if (op->small[0] == BALLOT) {
    uint32_t *d = BF_LANES(uint32_t, op->d);
    BF_SET_LANES(takers, d, outcome);
  } else {
    bf_emu_set_predicate(warp, op->d, takers, outcome);
  }
}

/* vote.sync: the predicate at a, negated where b is ~0. */
static const bf_emu_op *vote_sync(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes, all;
  if (!meet(warp, op, op->c, &lanes))
    return NULL;
  const uint32_t *member = BF_LANES(const uint32_t, op->c);
  uint32_t yes = BF_PREDICATE(op->a) ^ op->b;
  if (!share_votes(warp, lanes, &all, &yes))
    return op + 1;
  for (lane_group group = first_group(lanes); next_group(member, all, &group);)
    announce(warp, op, group.takers, count_votes(op->small[0], group.lanes, yes & group.lanes));
  return op + 1;
}

/* vote without .sync: among the lanes that happen to be here. */
static const bf_emu_op *vote_here(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes = BF_MASK(), yes = (BF_PREDICATE(op->a) ^ op->b) & lanes;
  announce(warp, op, lanes, count_votes(op->small[0], lanes, yes));
  return op + 1;
}

/* The lanes of group that hold what lane holds, of values of small[0] bytes. */
static uint32_t lanes_like(const bf_emu_op *op, const void *value, uint32_t group, unsigned lane) {
  uint32_t same[BF_EMU_LANES];
  if (op->small[0] == 8) {
    const uint64_t *a = value;
    for (unsigned i = 0; i < BF_EMU_LANES; i++)
      same[i] = a[i] == a[lane];
  } else {
    const uint32_t *a = value;
    for (unsigned i = 0; i < BF_EMU_LANES; i++)
      same[i] = a[i] == a[lane];
  }
  return gather_bits(same) & group;
}

/* match.any: the lanes of the group that hold the same as the lane. d may be a. */
static const bf_emu_op *match_any(bf_emu_warp *warp, const bf_emu_op *op) {
  uint64_t room[BF_EMU_LANES];
  uint32_t lanes, all, result[BF_EMU_LANES] = {0};
  if (!meet(warp, op, op->c, &lanes))
    return NULL;
  const void *a = share_values(warp, op, lanes, op->small[0], &all, room);
  if (!a)
    return op + 1;
  const uint32_t *member = BF_LANES(const uint32_t, op->c);
  for (lane_group group = first_group(lanes); next_group(member, all, &group);) {
    for (uint32_t left = group.takers; left;) {
      uint32_t same = lanes_like(op, a, group.lanes, (unsigned)__builtin_ctz(left));
      uint32_t takers = same & left;
      BF_EACH_LANE(takers, lane) result[lane] = same;
      left &= ~takers & (left - 1);
    }
  }
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, result[lane]);
  return op + 1;
}

/* match.all: the group where all of it hold the same, else 0; e is the predicate that says so. */
static const bf_emu_op *match_all(bf_emu_warp *warp, const bf_emu_op *op) {
  uint64_t room[BF_EMU_LANES];
  uint32_t lanes, all, result[BF_EMU_LANES] = {0}, agreed = 0;
  if (!meet(warp, op, op->c, &lanes))
    return NULL;
  const void *a = share_values(warp, op, lanes, op->small[0], &all, room);
  if (!a)
    return op + 1;
  const uint32_t *member = BF_LANES(const uint32_t, op->c);
  for (lane_group group = first_group(lanes); next_group(member, all, &group);) {
    unsigned first = group.lanes ? (unsigned)__builtin_ctz(group.lanes) : 0;
    if (lanes_like(op, a, group.lanes, first) == group.lanes) {
      agreed |= group.takers;
      BF_SET_LANES(group.takers, result, group.lanes);
    }
  }
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, result[lane]);
  bf_emu_set_predicate(warp, op->e, lanes, agreed);
  return op + 1;
}

enum redux_mode { AND, OR, XOR, ADD, MIN_U, MAX_U, MIN_S, MAX_S, MIN_F, MAX_F };
enum { REDUX_ABS = 1, REDUX_NAN = 2 };

/* min or max of floats by their bits. A NaN loses against a number, or wins with REDUX_NAN; -0 is
 * less than +0. */
static uint32_t combine_floats(bool is_min, bool keep_nan, uint32_t x, uint32_t y) {
  const uint32_t canonical = 0x7fffffff;
  bool x_nan = (x & 0x7fffffff) > 0x7f800000, y_nan = (y & 0x7fffffff) > 0x7f800000;
  if (x_nan || y_nan) {
    if (keep_nan || (x_nan && y_nan))
      return canonical;
    return x_nan ? y : x;
  }
  /* Order of the bits as numbers: negative ones the other way round. */
  int32_t key_x = (int32_t)(x >> 31 ? x ^ 0x7fffffff : x);
  int32_t key_y = (int32_t)(y >> 31 ? y ^ 0x7fffffff : y);
  return (key_x < key_y) == is_min ? x : y;
}

/* The reduction of lanes, where every other lane counts as neutral. */
#define REDUCE(type, neutral, combined)                                                            \
  do {                                                                                             \
    type x = (type)(neutral);                                                                      \
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                         \
      type y = lanes >> lane & 1 ? (type)a[lane] : (type)(neutral);                                \
      x = (combined);                                                                              \
    }                                                                                              \
    return (uint32_t)x;                                                                            \
  } while (0)

/* redux of values a of lanes (at least one): small[0] is the mode, small[1] the flags. */
static uint32_t reduce(const bf_emu_op *op, const uint32_t *a, uint32_t lanes) {
  switch ((enum redux_mode)op->small[0]) {
  case AND:
    REDUCE(uint32_t, UINT32_MAX, x & y);
  case OR:
    REDUCE(uint32_t, 0, x | y);
  case XOR:
    REDUCE(uint32_t, 0, x ^ y);
  case ADD:
    REDUCE(uint32_t, 0, x + y);
  case MIN_U:
    REDUCE(uint32_t, UINT32_MAX, x < y ? x : y);
  case MAX_U:
    REDUCE(uint32_t, 0, x > y ? x : y);
  case MIN_S:
    REDUCE(int32_t, INT32_MAX, x < y ? x : y);
  case MAX_S:
    REDUCE(int32_t, INT32_MIN, x > y ? x : y);
  case MIN_F:
  case MAX_F:
    break;
  }
  /* The first lane twice, so that a lone NaN becomes the canonical one. */
  uint32_t kept = op->small[1] & REDUX_ABS ? 0x7fffffff : UINT32_MAX;
  uint32_t value = a[__builtin_ctz(lanes)] & kept;
  BF_EACH_LANE(lanes, lane)
  value = combine_floats(op->small[0] == MIN_F, op->small[1] & REDUX_NAN, value, a[lane] & kept);
  return value;
}

static const bf_emu_op *redux(bf_emu_warp *warp, const bf_emu_op *op) {
  uint64_t room[BF_EMU_LANES];
  uint32_t lanes, all, result[BF_EMU_LANES] = {0};
  if (!meet(warp, op, op->c, &lanes))
    return NULL;
  const uint32_t *a = share_values(warp, op, lanes, sizeof *a, &all, room);
  if (!a)
    return op + 1;
  const uint32_t *member = BF_LANES(const uint32_t, op->c);
  for (lane_group group = first_group(lanes); next_group(member, all, &group);) {
    uint32_t value = group.lanes ? reduce(op, a, group.lanes) : 0;
    BF_SET_LANES(group.takers, result, value);
  }
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, result[lane]);
  return op + 1;
}

/* activemask: the lanes that execute this together. */
static const bf_emu_op *active_mask(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes = BF_MASK();
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, lanes);
  return op + 1;
}

/* elect.sync: the lowest lane of each group is chosen; d is its number, e holds for it alone. */
static const bf_emu_op *elect(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes = BF_MASK(), leader[BF_EMU_LANES] = {0}, elected = 0;
  if (lanes && !bf_emu_meet(warp, op, lanes, all_members(warp, op->c, lanes)))
    return NULL;
  lanes = BF_MASK();
  if (lanes && !bf_emu_all_came(warp, op, lanes, all_members(warp, op->c, lanes)))
    return NULL;
  const uint32_t *member = BF_LANES(const uint32_t, op->c);
  for (lane_group group = first_group(lanes); next_group(member, lanes, &group);) {
    uint32_t first = group.lanes ? (uint32_t)__builtin_ctz(group.lanes) : 0;
    elected |= bit(first) & group.takers;
    BF_SET_LANES(group.takers, leader, first);
  }
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, leader[lane]);
  bf_emu_set_predicate(warp, op->e, lanes, elected);
  return op + 1;
}

/* ---- Selection ---- */

/* Whether operand can be read or written as 32-bit values. */
static bool is_word(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_SINK || bf_emu_register_bytes(operand, BF_PTX_B32) == 4;
}

/* Binds d, or d|p: the value goes to op->d, the predicate to op->e. */
static bool bind_pair(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_emu_op *op) {
  const bf_ptx_operand *value = operand;
  op->e = BF_EMU_NOWHERE;
  if (operand->kind == BF_PTX_PAIR) {
    value = &operand->item[0];
    op->e = bf_emu_destination(decoder, &operand->item[1]);
  }
  op->d = bf_emu_destination(decoder, value);
  return is_word(value);
}

static bool select_shuffle(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  static const char *const modes[] = {"up", "down", "bfly", "idx"};
  const bf_ptx_operand *operand = instruction->operand;
  unsigned mode = 0;
  while (mode < 4 && !bf_ptx_has(instruction, modes[mode]))
    mode++;
  bool is_sync = bf_ptx_has(instruction, "sync");
  if (mode == 4 || instruction->operands != (is_sync ? 5u : 4u))
    return bf_emu_refuse(decoder, "shfl without up, down, bfly or idx, or without a mask");
  for (unsigned i = 1; i < instruction->operands; i++)
    if (!is_word(&operand[i]))
      return bf_emu_refuse(decoder, "shfl of registers that do not have 32 bits");
  if (!bind_pair(decoder, &operand[0], op))
    return bf_emu_refuse(decoder, "shfl to a register that does not have 32 bits");
  op->a = bf_emu_source(decoder, &operand[1], BF_PTX_B32);
  op->small[0] = (uint8_t)mode;
  op->small[1] = is_sync;
  op->small[2] = BF_EMU_ALIKE_SHUFFLE;
  if (is_sync)
    set_members(op, bf_emu_source(decoder, &operand[4], BF_PTX_B32));
  if (operand[2].kind == BF_PTX_INTEGER && operand[3].kind == BF_PTX_INTEGER) {
    uint32_t b[BF_EMU_LANES], c[BF_EMU_LANES];
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      b[lane] = (uint32_t)operand[2].bits;
      c[lane] = (uint32_t)operand[3].bits;
    }
    shuffle *planned = bf_emu_detail(decoder, sizeof *planned);
    if (planned)
      plan((enum shuffle_mode)mode, b, c, planned);
    op->detail = planned;
    op->run = shuffle_planned;
    return true;
  }
  op->b = bf_emu_source(decoder, &operand[2], BF_PTX_B32);
  op->c = bf_emu_source(decoder, &operand[3], BF_PTX_B32);
  op->run = shuffle_any;
  return true;
}

/* The place of a predicate that is read; numbers are allowed. */
static uint32_t predicate_source(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                                 uint32_t *flip) {
  if (operand->kind == BF_PTX_INTEGER) {
    *flip = 0;
    return operand->bits ? BF_EMU_TRUE : BF_EMU_FALSE;
  }
  return bf_emu_predicate(decoder, operand, flip);
}

static bool select_vote(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  static const char *const modes[] = {"all", "any", "uni", "ballot"};
  const bf_ptx_operand *operand = instruction->operand;
  unsigned mode = 0;
  while (mode < 4 && !bf_ptx_has(instruction, modes[mode]))
    mode++;
  bool is_sync = bf_ptx_has(instruction, "sync");
  if (mode == 4 || instruction->operands != (is_sync ? 3u : 2u))
    return bf_emu_refuse(decoder, "vote of an unknown form");
  if (mode == BALLOT && !is_word(&operand[0]))
    return bf_emu_refuse(decoder, "ballot to a register that does not have 32 bits");
  if (is_sync && !is_word(&operand[2]))
    return bf_emu_refuse(decoder, "a mask that does not have 32 bits");
  op->small[0] = (uint8_t)mode;
  op->small[2] = BF_EMU_ALIKE_VOTE;
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = predicate_source(decoder, &operand[1], &op->b);
  if (is_sync)
    op->c = bf_emu_source(decoder, &operand[2], BF_PTX_B32);
  op->run = is_sync ? vote_sync : vote_here;
  return true;
}

static bool select_match(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_B32;
  unsigned bytes = bf_ptx_type_bytes(type);
  if ((bytes != 4 && bytes != 8) || bf_emu_register_bytes(&operand[1], type) != bytes ||
      !is_word(&operand[2]) || !bind_pair(decoder, &operand[0], op))
    return bf_emu_refuse(decoder, "match of registers of another size");
  op->small[0] = (uint8_t)bytes;
  op->small[1] = bf_ptx_has(instruction, "all");
  op->small[2] = BF_EMU_ALIKE_MATCH;
  op->a = bf_emu_source(decoder, &operand[1], type);
  op->c = bf_emu_source(decoder, &operand[2], BF_PTX_B32);
  op->run = op->small[1] ? match_all : match_any;
  return true;
}

/* The mode of a redux; -1: none of those known. */
static int redux_mode_of(const bf_ptx_instruction *instruction) {
  static const struct {
    const char *name;
    int bits, is_unsigned, is_signed, is_float;
  } row[] = {
      {"and", AND, AND, AND, -1},       {"or", OR, OR, OR, -1},
      {"xor", XOR, XOR, XOR, -1},       {"add", -1, ADD, ADD, -1},
      {"min", -1, MIN_U, MIN_S, MIN_F}, {"max", -1, MAX_U, MAX_S, MAX_F},
  };
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
  for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
    if (!bf_ptx_has(instruction, row[i].name))
      continue;
    switch (type) {
    case BF_PTX_B32:
      return row[i].bits;
    case BF_PTX_U32:
      return row[i].is_unsigned;
    case BF_PTX_S32:
      return row[i].is_signed;
    case BF_PTX_F32:
      return row[i].is_float;
    default:
      return -1;
    }
  }
  return -1;
}

static bool select_redux(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  int mode = redux_mode_of(instruction);
  if (mode < 0 || !is_word(&operand[0]) || !is_word(&operand[1]) || !is_word(&operand[2]))
    return bf_emu_refuse(decoder, "redux of this operation and type");
  op->small[0] = (uint8_t)mode;
  op->small[1] = (uint8_t)((bf_ptx_has(instruction, "abs") ? REDUX_ABS : 0) |
                           (bf_ptx_has(instruction, "NaN") ? REDUX_NAN : 0));
  op->small[2] = BF_EMU_ALIKE_REDUX;
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = bf_emu_source(decoder, &operand[1], instruction->type[0]);
  op->c = bf_emu_source(decoder, &operand[2], BF_PTX_B32);
  op->run = redux;
  return true;
}

static bool select_elect(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  if (!bind_pair(decoder, &instruction->operand[0], op) || !is_word(&instruction->operand[1]))
    return bf_emu_refuse(decoder, "elect of registers that do not have 32 bits");
  op->c = bf_emu_source(decoder, &instruction->operand[1], BF_PTX_B32);
  op->run = elect;
  return true;
}

static bool select_active_mask(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  if (!is_word(&instruction->operand[0]))
    return bf_emu_refuse(decoder, "activemask to a register that does not have 32 bits");
  op->d = bf_emu_destination(decoder, &instruction->operand[0]);
  op->run = active_mask;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_warp)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_SHFL:
    return select_shuffle(decoder, instruction, op);
  case BF_PTX_OP_VOTE:
    return select_vote(decoder, instruction, op);
  case BF_PTX_OP_MATCH:
    return select_match(decoder, instruction, op);
  case BF_PTX_OP_REDUX:
    return select_redux(decoder, instruction, op);
  case BF_PTX_OP_ACTIVEMASK:
    return select_active_mask(decoder, instruction, op);
  case BF_PTX_OP_ELECT:
    return select_elect(decoder, instruction, op);
  default:
    return false;
  }
}
