/* Comparisons and choices: setp, set, selp, slct, testp, copysign. */
#include "emu/alone.h"
#include "emu/bind.h"
#include "emu/half.h"
#include "emu/truth.h"

/* ---- Comparisons ---- */

/* What is computed; the others are these with a and b swapped, or negated. Those of floating point
 * do not hold where an operand is not a number. */
typedef enum relation { EQUAL, UNEQUAL, LESS, NOT_MORE, NUMBERS, RELATIONS } relation;

typedef uint32_t (*comparison)(const void *a, const void *b);

/* setp with one result: d = comparison ^ e */
#define SETP(function, type, bits, expression)                                                     \
  BF_TRUTH(function, type, bits, expression)                                                       \
  static const bf_emu_op *setp_##function(bf_emu_warp *warp, const bf_emu_op *op) {                \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    uint32_t mask = BF_MASK(), truth;                                                              \
    if (mask & (mask - 1)) {                                                                       \
      truth = function(a, b);                                                                      \
    } else { /* a single lane */                                                                   \
      type x = a[BF_FIRST_LANE(mask)], y = b[BF_FIRST_LANE(mask)];                                 \
      truth = (expression) ? UINT32_MAX : 0;                                                       \
    }                                                                                              \
    bf_emu_set_predicate(warp, op->d, mask, truth ^ op->e);                                        \
    return op + 1;                                                                                 \
  }
#define ORDER(type, bits)                                                                          \
  SETP(less_##type, type, bits, x < y)                                                             \
  SETP(not_more_##type, type, bits, x <= y)
#define EQUALITY(type, bits)                                                                       \
  SETP(equal_##type, type, bits, x == y)                                                           \
  SETP(unequal_##type, type, bits, x != y)
#define FLOATS(type, bits)                                                                         \
  ORDER(type, bits)                                                                                \
  SETP(equal_##type, type, bits, x == y)                                                           \
  SETP(unequal_##type, type, bits, (x < y) | (x > y))                                              \
  SETP(numbers_##type, type, bits, (x == x) & (y == y))
EQUALITY(uint16_t, 16)
EQUALITY(uint32_t, 32)
EQUALITY(uint64_t, 64)
ORDER(uint16_t, 16)
ORDER(uint32_t, 32)
ORDER(uint64_t, 64)
ORDER(int16_t, 16)
ORDER(int32_t, 32)
ORDER(int64_t, 64)
FLOATS(float, 32)
FLOATS(double, 64)

/* By type as in bf_emu_integer_index, then float and double. */
enum { FLOAT_INDEX = BF_EMU_INTEGER_TYPES, DOUBLE_INDEX, COMPARED_TYPES };
#define ROW(prefix, equality, order)                                                               \
  {                                                                                                \
    [EQUAL] = prefix##equal_##equality, [UNEQUAL] = prefix##unequal_##equality,                    \
    [LESS] = prefix##less_##order, [NOT_MORE] = prefix##not_more_##order                           \
  }
#define FLOAT_ROW(prefix, type)                                                                    \
  {                                                                                                \
    [EQUAL] = prefix##equal_##type, [UNEQUAL] = prefix##unequal_##type,                            \
    [LESS] = prefix##less_##type, [NOT_MORE] = prefix##not_more_##type,                            \
    [NUMBERS] = prefix##numbers_##type                                                             \
  }
#define ROWS(prefix)                                                                               \
  {                                                                                                \
    ROW(prefix, uint16_t, uint16_t), ROW(prefix, uint16_t, int16_t),                               \
        ROW(prefix, uint32_t, uint32_t), ROW(prefix, uint32_t, int32_t),                           \
        ROW(prefix, uint64_t, uint64_t), ROW(prefix, uint64_t, int64_t), FLOAT_ROW(prefix, float), \
        FLOAT_ROW(prefix, double)                                                                  \
  }
static const comparison comparisons[COMPARED_TYPES][RELATIONS] = ROWS();
static const bf_emu_step setps[COMPARED_TYPES][RELATIONS] = ROWS(setp_);

/* The comparisons of PTX. The unordered ones hold where an operand is not a number. */
static const struct named {
  const char *name;
  relation relation;
  bool swapped, negated;
} named[] = {
    {"eq", EQUAL, false, false},    {"ne", UNEQUAL, false, false},  {"lt", LESS, false, false},
    {"le", NOT_MORE, false, false}, {"gt", LESS, true, false},      {"ge", NOT_MORE, true, false},
    {"lo", LESS, false, false},     {"ls", NOT_MORE, false, false}, {"hi", LESS, true, false},
    {"hs", NOT_MORE, true, false},  {"equ", UNEQUAL, false, true},  {"neu", EQUAL, false, true},
    {"ltu", NOT_MORE, true, true},  {"leu", LESS, true, true},      {"gtu", NOT_MORE, false, true},
    {"geu", LESS, false, true},     {"num", NUMBERS, false, false}, {"nan", NUMBERS, false, true},
};

static const struct named *find_named(const bf_ptx_instruction *instruction) {
  for (unsigned i = 0; i < sizeof named / sizeof *named; i++)
    if (instruction->modifiers && strcmp(instruction->modifier[0], named[i].name) == 0)
      return &named[i];
  return NULL;
}

/* ---- Comparisons with all that belongs to them ---- */

typedef enum combination { ALONE, WITH_AND, WITH_OR, WITH_XOR } combination;

/* How a and b are read. */
typedef enum reading { AS_THEY_ARE, FLUSHED, HALVES, BRAIN_HALVES } reading;

typedef struct full {
  comparison compare;
  uint32_t flip;
  reading reading;
  bool flushes;     /* denormal halves to zero */
  bool pairs;       /* f16x2, bf16x2: two comparisons */
  combination with; /* predicate c */
  uint32_t c, c_flip;
  uint32_t value;        /* set: what true is */
  unsigned result_bytes; /* set: 2 or 4 */
} full;

/* f32 with denormal numbers as zero, or 16-bit numbers as float: half of lanes of bytes each. */
static void read_lanes(const full *f, const uint8_t *from, unsigned half, float *to) {
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint32_t bits;
    uint16_t low;
    memcpy(&low, from + 2 * (f->pairs ? 2 * lane + half : lane), sizeof low);
    if (f->reading == FLUSHED) {
      memcpy(&bits, from + 4 * lane, sizeof bits);
      to[lane] = bf_emu_bits_float(bits & 0x7f800000 ? bits : bits & 0x80000000);
    } else if (f->reading == BRAIN_HALVES) {
      to[lane] = bf_emu_bf16_to_float(low);
    } else {
      to[lane] = bf_emu_half_to_float(f->flushes && !(low & 0x7c00) ? low & 0x8000 : low);
    }
  }
}

/* The comparison of the lanes, or of their halves. */
static uint32_t compare(const bf_emu_warp *warp, const bf_emu_op *op, unsigned half) {
  const full *f = op->detail;
  float a[BF_EMU_LANES], b[BF_EMU_LANES];
  if (f->reading == AS_THEY_ARE)
    return f->compare(warp->registers + op->a, warp->registers + op->b) ^ f->flip;
  read_lanes(f, warp->registers + op->a, half, a);
  read_lanes(f, warp->registers + op->b, half, b);
  return f->compare(a, b) ^ f->flip;
}

/* truth combined with predicate c */
static uint32_t combine(const bf_emu_warp *warp, const full *f, uint32_t truth) {
  uint32_t c = BF_PREDICATE(f->c) ^ f->c_flip;
  switch (f->with) {
  case WITH_AND:
    return truth & c;
  case WITH_OR:
    return truth | c;
  case WITH_XOR:
    return truth ^ c;
  case ALONE:
    break;
  }
  return truth;
}

/* d and e: the comparison and its opposite, or those of the two halves */
static const bf_emu_op *setp_full(bf_emu_warp *warp, const bf_emu_op *op) {
  const full *f = op->detail;
  uint32_t mask = BF_MASK(), first = compare(warp, op, 0);
  uint32_t second = f->pairs ? compare(warp, op, 1) : ~first;
  first = combine(warp, f, first);
  second = combine(warp, f, second);
  bf_emu_set_predicate(warp, op->d, mask, first);
  bf_emu_set_predicate(warp, op->e, mask, second);
  return op + 1;
}

static const bf_emu_op *set_full(bf_emu_warp *warp, const bf_emu_op *op) {
  const full *f = op->detail;
  uint32_t mask = BF_MASK(), value = f->value;
  uint32_t truth = combine(warp, f, compare(warp, op, 0));
  uint32_t high_truth = f->pairs ? combine(warp, f, compare(warp, op, 1)) : 0;
  if (f->result_bytes == 2) {
    uint16_t *d = BF_LANES(uint16_t, op->d);
    BF_SET_LANES(mask, d, (uint16_t)(truth >> lane & 1 ? value : 0));
  } else {
    uint32_t *d = BF_LANES(uint32_t, op->d);
    BF_SET_LANES(mask, d,
                 (truth >> lane & 1 ? value : 0) | (high_truth >> lane & 1 ? value << 16 : 0));
  }
  return op + 1;
}

/* The column of comparisons for a type, and how it is read; -1 where there is none. */
static int compared_index(bf_ptx_type type, bool ftz, full *f) {
  f->pairs = type == BF_PTX_F16X2 || type == BF_PTX_BF16X2;
  f->flushes = ftz;
  switch (type) {
  case BF_PTX_F32:
    f->reading = ftz ? FLUSHED : AS_THEY_ARE;
    return FLOAT_INDEX;
  case BF_PTX_F64:
    return DOUBLE_INDEX;
  case BF_PTX_F16:
  case BF_PTX_F16X2:
    f->reading = HALVES;
    return FLOAT_INDEX;
  case BF_PTX_BF16:
  case BF_PTX_BF16X2:
    f->reading = BRAIN_HALVES;
    return FLOAT_INDEX;
  default:
    return bf_emu_integer_index(type);
  }
}

/* Binds a, b and c of setp or set; the operation for one result is left in *run. False: there is
 * nothing to compare so. */
static bool bind_comparison(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            bf_ptx_type type, bf_emu_op *op, full *f, bf_emu_step *run) {
  const struct named *how = find_named(instruction);
  int index = compared_index(type, bf_ptx_has(instruction, "ftz"), f);
  if (!how || index < 0 || !comparisons[index][how->relation])
    return false;
  f->compare = comparisons[index][how->relation];
  f->flip = how->negated ? UINT32_MAX : 0;
  *run = setps[index][how->relation];
  const bf_ptx_operand *operand = instruction->operand;
  op->a = bf_emu_bind_source(decoder, &operand[how->swapped ? 2 : 1], type);
  op->b = bf_emu_bind_source(decoder, &operand[how->swapped ? 1 : 2], type);
  if (instruction->operands > 3) {
    f->with = bf_ptx_has(instruction, "and")  ? WITH_AND
              : bf_ptx_has(instruction, "or") ? WITH_OR
                                              : WITH_XOR;
    f->c = bf_emu_predicate(decoder, &operand[3], &f->c_flip);
  }
  return true;
}

/* A copy of f in the arena of the kernel. */
static const full *keep(bf_emu_decoder *decoder, const full *f) {
  full *copy = bf_emu_detail(decoder, sizeof *copy);
  if (copy)
    *copy = *f;
  return copy;
}

static bool select_setp(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  full f = {.with = ALONE};
  const bf_ptx_operand *d = &instruction->operand[0];
  bool two = d->kind == BF_PTX_PAIR && d->count == 2;
  if (!bind_comparison(decoder, instruction, instruction->type[0], op, &f, &op->run))
    return bf_emu_refuse(decoder, "this comparison");
  op->d = bf_emu_bind_truth(decoder, two ? &d->item[0] : d);
  if (two || f.with != ALONE || f.reading != AS_THEY_ARE) {
    op->e = two ? bf_emu_bind_truth(decoder, &d->item[1]) : BF_EMU_NOWHERE;
    op->detail = keep(decoder, &f);
    op->run = setp_full;
  } else {
    op->e = f.flip;
  }
  return true;
}

/* The bits that set writes for true; 0 where the type is not one of results. */
static uint32_t true_value(bf_ptx_type type) {
  switch (type) {
  case BF_PTX_U32:
  case BF_PTX_S32:
    return UINT32_MAX;
  case BF_PTX_F32:
    return 0x3f800000;
  case BF_PTX_U16:
  case BF_PTX_S16:
    return 0xffff;
  case BF_PTX_F16:
  case BF_PTX_F16X2:
    return 0x3c00;
  case BF_PTX_BF16:
  case BF_PTX_BF16X2:
    return 0x3f80;
  default:
    return 0;
  }
}

/* set.CmpOp.result.compared; comparisons of pairs to 32-bit integers give halves of ones. */
static bool select_set(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       bf_emu_op *op) {
  full f = {.with = ALONE};
  bf_emu_step unused;
  if (instruction->types != 2 || !true_value(instruction->type[0]) ||
      !bind_comparison(decoder, instruction, instruction->type[1], op, &f, &unused))
    return bf_emu_refuse(decoder, "this comparison");
  f.value = f.pairs ? true_value(instruction->type[0]) & 0xffff : true_value(instruction->type[0]);
  f.result_bytes = bf_ptx_type_bytes(instruction->type[0]);
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], instruction->type[0]);
  op->detail = keep(decoder, &f);
  op->run = set_full;
  return true;
}

/* ---- Choices ---- */

/* d = (predicate c, negated where e is ~0) ? a : b */
#define SELP(function, type)                                                                       \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    uint32_t truth = BF_PREDICATE(op->c) ^ op->e;                                                  \
    BF_SET_LANES(BF_MASK(), d, truth >> lane & 1 ? a[lane] : b[lane]);                             \
    return op + 1;                                                                                 \
  }
SELP(selp_16, uint16_t)
SELP(selp_32, uint32_t)
SELP(selp_64, uint64_t)

/* The member of a family by the size of a type; NULL for others. */
static bf_emu_step by_size(bf_ptx_type type, bf_emu_step of_16, bf_emu_step of_32,
                           bf_emu_step of_64) {
  unsigned bytes = bf_ptx_type_bytes(type);
  return bytes == 2 ? of_16 : bytes == 4 ? of_32 : bytes == 8 ? of_64 : NULL;
}

static bool select_selp(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  op->run = by_size(type, selp_16, selp_32, selp_64);
  if (!op->run)
    return bf_emu_refuse(decoder, "choice of this type");
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], type);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  op->b = bf_emu_bind_source(decoder, &instruction->operand[2], type);
  op->c = bf_emu_predicate(decoder, &instruction->operand[3], &op->e);
  return true;
}

/* d = c >= 0 ? a : b. A float is so where it is a zero or its sign is not set, unless it is not a
 * number; e is what c is compared with: with .ftz denormal numbers count as zero. */
#define SLCT(function, type)                                                                       \
  static const bf_emu_op *function##_s32(bf_emu_warp *warp, const bf_emu_op *op) {                 \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    const int32_t *c = BF_LANES(int32_t, op->c);                                                   \
    BF_SET_LANES(BF_MASK(), d, c[lane] >= 0 ? a[lane] : b[lane]);                                  \
    return op + 1;                                                                                 \
  }                                                                                                \
  static const bf_emu_op *function##_f32(bf_emu_warp *warp, const bf_emu_op *op) {                 \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    const uint32_t *c = BF_LANES(uint32_t, op->c);                                                 \
    uint32_t largest_zero = 0x80000000 | op->e;                                                    \
    BF_SET_LANES(BF_MASK(), d,                                                                     \
                 c[lane] <= 0x7f800000 || (c[lane] >= 0x80000000 && c[lane] <= largest_zero)       \
                     ? a[lane]                                                                     \
                     : b[lane]);                                                                   \
    return op + 1;                                                                                 \
  }
SLCT(slct_16, uint16_t)
SLCT(slct_32, uint32_t)
SLCT(slct_64, uint64_t)

static bool select_slct(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0], chooser = instruction->type[1];
  op->run = chooser == BF_PTX_F32   ? by_size(type, slct_16_f32, slct_32_f32, slct_64_f32)
            : chooser == BF_PTX_S32 ? by_size(type, slct_16_s32, slct_32_s32, slct_64_s32)
                                    : NULL;
  if (instruction->types != 2 || !op->run)
    return bf_emu_refuse(decoder, "choice of this type");
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], type);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  op->b = bf_emu_bind_source(decoder, &instruction->operand[2], type);
  op->c = bf_emu_bind_source(decoder, &instruction->operand[3], chooser);
  op->e = bf_ptx_has(instruction, "ftz") ? 0x007fffff : 0;
  return true;
}

/* ---- Classes of numbers, signs ---- */

typedef enum class { FINITE, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL } class;

/* Whether the number with these bits but the sign is of a class; infinity and smallest are the bits
 * of those. */
static inline bool is_of_class(uint64_t magnitude, uint64_t infinity, uint64_t smallest, class of) {
  switch (of) {
  case FINITE:
    return magnitude < infinity;
  case INFINITE:
    return magnitude == infinity;
  case NUMBER:
    return magnitude <= infinity;
  case NOT_A_NUMBER:
    return magnitude > infinity;
  case NORMAL: /* 0 counts as normal */
    return magnitude == 0 || (magnitude >= smallest && magnitude < infinity);
  case SUBNORMAL:
    return magnitude != 0 && magnitude < smallest;
  }
  return false;
}

static const bf_emu_op *testp_32(bf_emu_warp *warp, const bf_emu_op *op) {
  const uint32_t *a = BF_LANES(uint32_t, op->a);
  uint32_t truth = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    truth |=
        (uint32_t)is_of_class(a[lane] & 0x7fffffff, 0x7f800000, 0x00800000, (class)op->small[0])
        << lane;
  bf_emu_set_predicate(warp, op->d, BF_MASK(), truth);
  return op + 1;
}

static const bf_emu_op *testp_64(bf_emu_warp *warp, const bf_emu_op *op) {
  const uint64_t *a = BF_LANES(uint64_t, op->a);
  uint32_t truth = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    truth |= (uint32_t)is_of_class(a[lane] & (UINT64_MAX >> 1), UINT64_C(0x7ff) << 52,
                                   UINT64_C(1) << 52, (class)op->small[0])
             << lane;
  bf_emu_set_predicate(warp, op->d, BF_MASK(), truth);
  return op + 1;
}

static bool select_testp(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  static const char *const names[] = {
      [FINITE] = "finite",           [INFINITE] = "infinite", [NUMBER] = "number",
      [NOT_A_NUMBER] = "notanumber", [NORMAL] = "normal",     [SUBNORMAL] = "subnormal"};
  bf_ptx_type type = instruction->type[0];
  unsigned of = 0;
  while (of <= SUBNORMAL && !bf_ptx_has(instruction, names[of]))
    of++;
  if (of > SUBNORMAL || (type != BF_PTX_F32 && type != BF_PTX_F64))
    return bf_emu_refuse(decoder, "this class of numbers");
  op->small[0] = (uint8_t)of;
  op->d = bf_emu_bind_truth(decoder, &instruction->operand[0]);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  op->run = type == BF_PTX_F32 ? testp_32 : testp_64;
  return true;
}

/* b with the sign of a */
BF_EMU_BINARY(copysign_32, uint32_t, (a[lane] & 0x80000000) | (b[lane] & 0x7fffffff))
BF_EMU_BINARY(copysign_64, uint64_t, (a[lane] & UINT64_C(1) << 63) | (b[lane] & (UINT64_MAX >> 1)))

static bool select_copysign(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  if (type != BF_PTX_F32 && type != BF_PTX_F64)
    return bf_emu_refuse(decoder, "copysign of this type");
  return bf_emu_bind(decoder, instruction, op, type,
                     type == BF_PTX_F32 ? copysign_32 : copysign_64);
}

bool BF_EMU_NAME(bf_emu_select_compare)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_compare)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_compare)[] = {
    {setp_equal_uint32_t, BF_ALONE_EQUAL_32},
    {setp_equal_uint64_t, BF_ALONE_EQUAL_64},
    {setp_unequal_uint32_t, BF_ALONE_UNEQUAL_32},
    {setp_unequal_uint64_t, BF_ALONE_UNEQUAL_64},
    {setp_less_uint32_t, BF_ALONE_LESS_U32},
    {setp_less_int32_t, BF_ALONE_LESS_S32},
    {setp_less_uint64_t, BF_ALONE_LESS_U64},
    {setp_less_int64_t, BF_ALONE_LESS_S64},
    {setp_less_float, BF_ALONE_LESS_FLOAT},
    {setp_less_double, BF_ALONE_LESS_DOUBLE},
    {setp_not_more_uint32_t, BF_ALONE_NOT_MORE_U32},
    {setp_not_more_int32_t, BF_ALONE_NOT_MORE_S32},
    {setp_not_more_uint64_t, BF_ALONE_NOT_MORE_U64},
    {setp_not_more_int64_t, BF_ALONE_NOT_MORE_S64},
    {setp_not_more_float, BF_ALONE_NOT_MORE_FLOAT},
    {setp_not_more_double, BF_ALONE_NOT_MORE_DOUBLE},
    {selp_32, BF_ALONE_CHOOSE_32},
    {selp_64, BF_ALONE_CHOOSE_64},
    {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_compare)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_SETP:
    return select_setp(decoder, instruction, op);
  case BF_PTX_OP_SET:
    return select_set(decoder, instruction, op);
  case BF_PTX_OP_SELP:
    return select_selp(decoder, instruction, op);
  case BF_PTX_OP_SLCT:
    return select_slct(decoder, instruction, op);
  case BF_PTX_OP_TESTP:
    return select_testp(decoder, instruction, op);
  case BF_PTX_OP_COPYSIGN:
    return select_copysign(decoder, instruction, op);
  default:
    return false;
  }
}
