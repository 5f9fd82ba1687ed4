/* Video instructions: vadd to vset on parts of 32-bit numbers, and on two or four parts at once.
 *
 * They are rare, so one routine does them all, lane after lane, on exact integers. */
#include "emu/bind.h"

typedef int64_t number;                 /* holds every intermediate result */
__extension__ typedef __int128 product; /* but those of vmad */

typedef enum action {
  ADD,
  SUB,
  DIFFERENCE,
  LEAST,
  MOST,
  AVERAGE,
  LEFT,
  RIGHT,
  COMPARE,
  PRODUCT
} action;

typedef enum second_action { NO_SECOND, SECOND_ADD, SECOND_MIN, SECOND_MAX } second_action;

typedef enum relation { EQ, NE, LT, LE, GT, GE, RELATIONS } relation;

/* Bits from first on. */
typedef struct field {
  uint8_t first, bits;
} field;

typedef struct video {
  action action;
  second_action second;
  relation relation;
  unsigned parts; /* 1, 2 or 4 of them at once */
  bool a_signed, b_signed, d_signed;
  bool saturates, wraps;
  bool has_c;
  field a, b, d;              /* one part: which */
  field a_part[4], b_part[4]; /* several: of b:a, for each part of the result */
  bool writes[4];             /* several: others are taken from c */
  bool minus_product, minus_c, plus_one;
  unsigned shift; /* of the product and sum */
} video;

/* ---- Arithmetic ---- */

/* A field of a word as a number. */
static number extract(uint64_t word, field from, bool is_signed) {
  uint64_t bits = word << (64 - from.first - from.bits);
  return is_signed ? (number)((int64_t)bits >> (64 - from.bits))
                   : (number)(bits >> (64 - from.bits));
}

/* into with the low bits of value put into a field. */
static uint32_t insert(uint32_t into, field to, number value) {
  uint32_t ones = (uint32_t)((UINT64_C(1) << to.bits) - 1) << to.first;
  return (into & ~ones) | ((uint32_t)value << to.first & ones);
}

/* value brought into the range of integers of so many bits, 32 at most. */
static number clamp(number value, unsigned bits, bool is_signed) {
  number top = is_signed ? ((number)1 << (bits - 1)) - 1 : ((number)1 << bits) - 1;
  number bottom = is_signed ? -top - 1 : 0;
  return value > top ? top : value < bottom ? bottom : value;
}

static bool holds(relation how, number x, number y) {
  switch (how) {
  case EQ:
    return x == y;
  case NE:
    return x != y;
  case LT:
    return x < y;
  case LE:
    return x <= y;
  case GT:
    return x > y;
  default:
    return x >= y;
  }
}

/* The number of bits to shift by. */
static unsigned shift_count(const video *v, number y) {
  return v->wraps ? (unsigned)y & 31 : y > 32 ? 32 : (unsigned)y;
}

/* x shifted left by 32 at most, as far as it fits: what does not is large, and 0 in its low bits.
 */
static number shifted_left(number x, unsigned count) {
  const number largest = INT64_MAX >> 32 << 32;
  return x > INT64_MAX >> count ? largest : (number)((uint64_t)x << count);
}

/* Averages are rounded up, negative ones towards zero. */
static number act(const video *v, number x, number y) {
  switch (v->action) {
  case ADD:
    return x + y;
  case SUB:
    return x - y;
  case DIFFERENCE:
    return x < y ? y - x : x - y;
  case LEAST:
    return x < y ? x : y;
  case MOST:
    return x > y ? x : y;
  case AVERAGE:
    return (x + y + (x + y >= 0)) >> 1;
  case LEFT:
    return shifted_left(x, shift_count(v, y));
  case RIGHT:
    return x >> shift_count(v, y);
  case COMPARE:
    return holds(v->relation, x, y);
  case PRODUCT:
    break;
  }
  return 0;
}

/* x with c added, or the extreme of both. */
static number act_again(const video *v, number x, number c) {
  switch (v->second) {
  case SECOND_ADD:
    return x + c;
  case SECOND_MIN:
    return x < c ? x : c;
  case SECOND_MAX:
    return x > c ? x : c;
  case NO_SECOND:
    break;
  }
  return x;
}

/* ---- One lane ---- */

static uint32_t run_scalar(const video *v, uint32_t a, uint32_t b, uint32_t c) {
  const field whole = {0, 32};
  number result = act(v, extract(a, v->a, v->a_signed), extract(b, v->b, v->b_signed));
  if (v->saturates)
    result = clamp(result, v->d.bits, v->d_signed);
  if (v->second != NO_SECOND)
    return (uint32_t)act_again(v, result, extract(c, whole, v->d_signed));
  return insert(v->has_c ? c : 0, v->d, result);
}

/* The parts of the result that are not written are those of c; .add sums the written ones. */
static uint32_t run_parts(const video *v, uint32_t a, uint32_t b, uint32_t c) {
  uint64_t joined = (uint64_t)b << 32 | a;
  uint32_t result = c;
  uint8_t bits = (uint8_t)(32 / v->parts);
  for (unsigned i = 0; i < v->parts; i++) {
    number part = act(v, extract(joined, v->a_part[i], v->a_signed),
                      extract(joined, v->b_part[i], v->b_signed));
    if (v->saturates)
      part = clamp(part, bits, v->d_signed);
    if (v->writes[i] && v->second == SECOND_ADD)
      result += (uint32_t)part;
    else if (v->writes[i])
      result = insert(result, (field){(uint8_t)(i * bits), bits}, part);
  }
  return result;
}

/* a * b + c, each perhaps negated, + 1 with .po, shifted right. The sum is signed where anything in
 * it is. */
static uint32_t run_product(const video *v, uint32_t a, uint32_t b, uint32_t c) {
  const field whole = {0, 32};
  bool is_signed = v->a_signed || v->b_signed || v->minus_product || v->minus_c;
  product sum = (product)extract(a, v->a, v->a_signed) * extract(b, v->b, v->b_signed);
  if (v->minus_product)
    sum = -sum;
  /* -c is the complement of a word, and one more. */
  if (v->minus_c)
    sum += extract(~c, whole, is_signed) + 1;
  else
    sum += extract(c, whole, is_signed) + v->plus_one;
  sum >>= v->shift;
  if (v->saturates)
    sum = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : sum;
  return (uint32_t)(v->saturates ? clamp((number)sum, 32, is_signed) : (number)sum);
}

static const bf_emu_op *run_video(bf_emu_warp *warp, const bf_emu_op *op) {
  const video *v = op->detail;
  uint32_t *d = BF_LANES(uint32_t, op->d);
  const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),
                 *c = BF_LANES(uint32_t, op->c);
  BF_EACH_LANE(BF_MASK(), lane) {
    if (v->action == PRODUCT)
      d[lane] = run_product(v, a[lane], b[lane], c[lane]);
    else if (v->parts > 1)
      d[lane] = run_parts(v, a[lane], b[lane], c[lane]);
    else
      d[lane] = run_scalar(v, a[lane], b[lane], c[lane]);
  }
  return op + 1;
}

/* ---- The one that compilers use: differences of unsigned bytes ---- */

static inline uint32_t byte_difference(uint32_t a, uint32_t b, unsigned index) {
  uint32_t x = a >> 8 * index & 0xff, y = b >> 8 * index & 0xff;
  return x < y ? y - x : x - y;
}

BF_EMU_BINARY(byte_differences, uint32_t,
              byte_difference(a[lane], b[lane], 0) | byte_difference(a[lane], b[lane], 1) << 8 |
                  byte_difference(a[lane], b[lane], 2) << 16 |
                  byte_difference(a[lane], b[lane], 3) << 24)
BF_EMU_TERNARY(sum_of_byte_differences, uint32_t,
               c[lane] + byte_difference(a[lane], b[lane], 0) +
                   byte_difference(a[lane], b[lane], 1) + byte_difference(a[lane], b[lane], 2) +
                   byte_difference(a[lane], b[lane], 3))

/* Whether v is one of these: all bytes, in order. */
static bool is_byte_difference(const video *v, const bf_ptx_instruction *instruction) {
  const bf_ptx_operand *operand = instruction->operand;
  return v->action == DIFFERENCE && v->parts == 4 && !v->a_signed && !v->b_signed &&
         !v->saturates && !operand[0].selector && !operand[1].selector && !operand[2].selector;
}

/* ---- Decoding ---- */

static const struct known {
  bf_ptx_opcode opcode;
  action action;
  unsigned parts;
} known[] = {
    {BF_PTX_OP_VADD, ADD, 1},
    {BF_PTX_OP_VADD2, ADD, 2},
    {BF_PTX_OP_VADD4, ADD, 4},
    {BF_PTX_OP_VSUB, SUB, 1},
    {BF_PTX_OP_VSUB2, SUB, 2},
    {BF_PTX_OP_VSUB4, SUB, 4},
    {BF_PTX_OP_VABSDIFF, DIFFERENCE, 1},
    {BF_PTX_OP_VABSDIFF2, DIFFERENCE, 2},
    {BF_PTX_OP_VABSDIFF4, DIFFERENCE, 4},
    {BF_PTX_OP_VMIN, LEAST, 1},
    {BF_PTX_OP_VMIN2, LEAST, 2},
    {BF_PTX_OP_VMIN4, LEAST, 4},
    {BF_PTX_OP_VMAX, MOST, 1},
    {BF_PTX_OP_VMAX2, MOST, 2},
    {BF_PTX_OP_VMAX4, MOST, 4},
    {BF_PTX_OP_VAVRG2, AVERAGE, 2},
    {BF_PTX_OP_VAVRG4, AVERAGE, 4},
    {BF_PTX_OP_VSHL, LEFT, 1},
    {BF_PTX_OP_VSHR, RIGHT, 1},
    {BF_PTX_OP_VSET, COMPARE, 1},
    {BF_PTX_OP_VSET2, COMPARE, 2},
    {BF_PTX_OP_VSET4, COMPARE, 4},
    {BF_PTX_OP_VMAD, PRODUCT, 1},
};

/* b0 to b3, h0, h1, or nothing: a whole word. */
static bool read_field(const bf_ptx_operand *operand, field *f) {
  *f = (field){0, 32};
  if (!operand->selector)
    return true;
  unsigned index = (unsigned)(operand->selector[1] - '0');
  f->bits = operand->selector[0] == 'b' ? 8 : 16;
  f->first = (uint8_t)(index * f->bits);
  return operand->selector[2] == '\0' && f->first < 32;
}

/* A digit for each part, the highest first: b3210, h10. Without them parts from first on in order.
 */
static bool read_parts(const bf_ptx_operand *operand, unsigned parts, unsigned first,
                       field part[4]) {
  uint8_t bits = (uint8_t)(32 / parts);
  const char *digits = operand->selector ? operand->selector + 1 : NULL;
  if (digits && (strlen(digits) != parts || (operand->selector[0] == 'b') != (parts == 4)))
    return false;
  for (unsigned i = 0; i < parts; i++) {
    unsigned index = digits ? (unsigned)(digits[parts - 1 - i] - '0') : first + i;
    if (index >= 2 * parts)
      return false;
    part[i] = (field){(uint8_t)(index * bits), bits};
  }
  return true;
}

/* The parts that are written: those whose digits are given, or all. */
static bool read_mask(const bf_ptx_operand *operand, unsigned parts, bool writes[4]) {
  for (unsigned i = 0; i < parts; i++)
    writes[i] = !operand->selector;
  if (!operand->selector)
    return true;
  if ((operand->selector[0] == 'b') != (parts == 4))
    return false;
  for (const char *digit = operand->selector + 1; *digit; digit++) {
    if ((unsigned)(*digit - '0') >= parts)
      return false;
    writes[*digit - '0'] = true;
  }
  return true;
}

static bool read_operands(const bf_ptx_instruction *instruction, video *v) {
  const bf_ptx_operand *operand = instruction->operand;
  v->has_c = instruction->operands > 3;
  v->minus_product = operand[1].minus != operand[2].minus;
  v->minus_c = v->has_c && operand[3].minus;
  if ((v->action != PRODUCT && (v->minus_product || operand[1].minus || v->minus_c)) ||
      (v->minus_product && v->minus_c))
    return false;
  if (v->parts == 1)
    return read_field(&operand[1], &v->a) && read_field(&operand[2], &v->b) &&
           read_field(&operand[0], &v->d) && (v->d.bits == 32 || v->has_c);
  return read_parts(&operand[1], v->parts, 0, v->a_part) &&
         read_parts(&operand[2], v->parts, v->parts, v->b_part) &&
         read_mask(&operand[0], v->parts, v->writes);
}

static bool read_modifiers(const bf_ptx_instruction *instruction, video *v) {
  static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  unsigned types = v->action == COMPARE ? 2 : 3, first = v->action == COMPARE ? 0 : 1;
  if (instruction->types != types)
    return false;
  for (unsigned i = 0; i < types; i++)
    if (instruction->type[i] != BF_PTX_U32 && instruction->type[i] != BF_PTX_S32)
      return false;
  v->d_signed = v->action != COMPARE && instruction->type[0] == BF_PTX_S32;
  v->a_signed = instruction->type[first] == BF_PTX_S32;
  v->b_signed = instruction->type[first + 1] == BF_PTX_S32;
  v->saturates = bf_ptx_has(instruction, "sat");
  v->wraps = bf_ptx_has(instruction, "wrap");
  v->plus_one = bf_ptx_has(instruction, "po");
  v->shift = bf_ptx_has(instruction, "shr7") ? 7 : bf_ptx_has(instruction, "shr15") ? 15 : 0;
  v->second = bf_ptx_has(instruction, "add")   ? SECOND_ADD
              : bf_ptx_has(instruction, "min") ? SECOND_MIN
              : bf_ptx_has(instruction, "max") ? SECOND_MAX
                                               : NO_SECOND;
  v->relation = RELATIONS;
  for (unsigned i = 0; i < RELATIONS; i++)
    if (bf_ptx_has(instruction, relations[i]))
      v->relation = (relation)i;
  return v->action != COMPARE || v->relation != RELATIONS;
}

bool BF_EMU_NAME(bf_emu_select_video)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_video)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  const struct known *found = NULL;
  for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].opcode == instruction->opcode)
      found = &known[i];
  if (!found)
    return false;
  video *v = bf_emu_detail(decoder, sizeof *v);
  if (!v)
    return true;
  v->action = found->action;
  v->parts = found->parts;
  if (!read_modifiers(instruction, v) || !read_operands(instruction, v))
    return bf_emu_refuse(decoder, "this form");
  op->detail = v;
  bf_emu_step run = !is_byte_difference(v, instruction) ? run_video
                    : v->second == SECOND_ADD           ? sum_of_byte_differences
                                                        : byte_differences;
  return bf_emu_bind(decoder, instruction, op, BF_PTX_B32, run);
}
