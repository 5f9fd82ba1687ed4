/* Bits: and, or, xor, not, shifts, fields, permutations of bytes, counts. */
#include "emu/alone.h"
#include "emu/bind.h"

/* ---- Bitwise ---- */

BF_EMU_UNSIGNED(BF_EMU_BINARY, and, a[lane] & b[lane]);
BF_EMU_UNSIGNED(BF_EMU_BINARY, or, a[lane] | b[lane]);
BF_EMU_UNSIGNED(BF_EMU_BINARY, xor, a[lane] ^ b[lane]);
BF_EMU_UNSIGNED(BF_EMU_UNARY, not, ~a[lane]);
BF_EMU_UNSIGNED(BF_EMU_UNARY, cnot, a[lane] == 0);

/* The same of predicates a and b, which c and e negate where they are ~0. */
#define PREDICATES(function, operator)                                                             \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    uint32_t a = BF_PREDICATE(op->a) ^ op->c, b = BF_PREDICATE(op->b) ^ op->e;                     \
    bf_emu_set_predicate(warp, op->d, BF_MASK(), a operator b);                                    \
    return op + 1;                                                                                 \
  }
PREDICATES(and_predicate, &)
PREDICATES(or_predicate, |)
PREDICATES(xor_predicate, ^)

/* not.pred is an exclusive or with a predicate that always holds. */
static bool select_predicate(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                             bf_emu_op *op, bf_emu_step run) {
  op->d = bf_emu_bind_truth(decoder, &instruction->operand[0]);
  op->a = bf_emu_predicate(decoder, &instruction->operand[1], &op->c);
  op->b = BF_EMU_TRUE;
  if (instruction->operands > 2)
    op->b = bf_emu_predicate(decoder, &instruction->operand[2], &op->e);
  op->run = run;
  return true;
}

/* ---- Shifts ---- */

/* d = expression of a[lane] and of n, the count b[lane]; bits is the size of type. */
#define SHIFT(function, type, expression)                                                          \
  static inline type function##_one(type x, uint32_t n) {                                          \
    const uint32_t bits = 8 * sizeof(type);                                                        \
    return (type)(expression);                                                                     \
  }                                                                                                \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a);                                                         \
    const uint32_t *b = BF_LANES(uint32_t, op->b);                                                 \
    BF_SET_LANES(BF_MASK(), d, function##_one(a[lane], b[lane]));                                  \
    return op + 1;                                                                                 \
  }
BF_EMU_UNSIGNED(SHIFT, shl, n < bits ? x << (n & (bits - 1)) : 0);
#define SHIFT_RIGHT_U n < bits ? x >> (n & (bits - 1)) : 0
#define SHIFT_RIGHT_S x >> (n < bits ? n : bits - 1)
SHIFT(shr_uint16_t, uint16_t, SHIFT_RIGHT_U)
SHIFT(shr_uint32_t, uint32_t, SHIFT_RIGHT_U)
SHIFT(shr_uint64_t, uint64_t, SHIFT_RIGHT_U)
SHIFT(shr_int16_t, int16_t, SHIFT_RIGHT_S)
SHIFT(shr_int32_t, int32_t, SHIFT_RIGHT_S)
SHIFT(shr_int64_t, int64_t, SHIFT_RIGHT_S)
static const bf_emu_step shr[] = {shr_uint16_t, shr_int16_t,  shr_uint32_t,
                                  shr_int32_t,  shr_uint64_t, shr_int64_t};

/* b:a shifted; counts above 32 are 32 with .clamp, and are taken modulo 32 with .wrap. */
static inline uint64_t joined(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static inline uint32_t clamped(uint32_t n, uint32_t most) { return n < most ? n : most; }

BF_EMU_TERNARY(shf_left_wrap, uint32_t, joined(a[lane], b[lane]) << (c[lane] & 31) >> 32)
BF_EMU_TERNARY(shf_left_clamp, uint32_t, joined(a[lane], b[lane]) << clamped(c[lane], 32) >> 32)
BF_EMU_TERNARY(shf_right_wrap, uint32_t, joined(a[lane], b[lane]) >> (c[lane] & 31))
BF_EMU_TERNARY(shf_right_clamp, uint32_t, joined(a[lane], b[lane]) >> clamped(c[lane], 32))

static bool select_shift(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op, const bf_emu_step *by_type) {
  bf_ptx_type type = instruction->type[0];
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], type);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], type);
  op->b = bf_emu_bind_source(decoder, &instruction->operand[2], BF_PTX_U32);
  op->run = by_type[bf_emu_integer_index(type)];
  return true;
}

static bool select_funnel(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  bool clamp = bf_ptx_has(instruction, "clamp"), left = bf_ptx_has(instruction, "l");
  bf_emu_step to_left = clamp ? shf_left_clamp : shf_left_wrap;
  bf_emu_step to_right = clamp ? shf_right_clamp : shf_right_wrap;
  return bf_emu_bind(decoder, instruction, op, BF_PTX_B32, left ? to_left : to_right);
}

/* ---- lop3 ---- */

/* One bit of the truth table as a word. */
static inline uint32_t spread(uint32_t table, unsigned bit) { return 0u - (table >> bit & 1); }

/* chooser ? one : zero, bit by bit */
static inline uint32_t choose(uint32_t chooser, uint32_t zero, uint32_t one) {
  return zero ^ (chooser & (zero ^ one));
}

/* Every bit of the result is the entry a * 4 + b * 2 + c of the table. */
static inline uint32_t looked_up(const uint32_t entry[8], uint32_t a, uint32_t b, uint32_t c) {
  return choose(a, choose(b, choose(c, entry[0], entry[1]), choose(c, entry[2], entry[3])),
                choose(b, choose(c, entry[4], entry[5]), choose(c, entry[6], entry[7])));
}

static const bf_emu_op *lop3(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t *d = BF_LANES(uint32_t, op->d), entry[8];
  const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),
                 *c = BF_LANES(uint32_t, op->c);
  for (unsigned i = 0; i < 8; i++)
    entry[i] = spread(op->small[0], i);
  BF_SET_LANES(BF_MASK(), d, looked_up(entry, a[lane], b[lane], c[lane]));
  return op + 1;
}

/* What lop3 with a predicate has besides: p = (d != 0) and/or q. */
typedef struct lop3_truth {
  uint32_t p, q, q_flip;
  bool is_or;
} lop3_truth;

static const bf_emu_op *lop3_with_predicate(bf_emu_warp *warp, const bf_emu_op *op) {
  const lop3_truth *more = op->detail;
  const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),
                 *c = BF_LANES(uint32_t, op->c);
  uint32_t result[BF_EMU_LANES], entry[8], truth = 0, *d = BF_LANES(uint32_t, op->d);
  for (unsigned i = 0; i < 8; i++)
    entry[i] = spread(op->small[0], i);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    result[lane] = looked_up(entry, a[lane], b[lane], c[lane]);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    truth |= (uint32_t)(result[lane] != 0) << lane;
  uint32_t mask = BF_MASK(), q = BF_PREDICATE(more->q) ^ more->q_flip;
  BF_SET_LANES(mask, d, result[lane]);
  bf_emu_set_predicate(warp, more->p, mask, more->is_or ? truth | q : truth & q);
  return op + 1;
}

static bool select_lop3(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand, *d = &operand[0];
  if (operand[4].kind != BF_PTX_INTEGER)
    return bf_emu_refuse(decoder, "truth table that is not a number");
  op->small[0] = (uint8_t)operand[4].bits;
  for (unsigned i = 1; i <= 3; i++)
    *(i == 1   ? &op->a
      : i == 2 ? &op->b
               : &op->c) = bf_emu_bind_source(decoder, &operand[i], BF_PTX_B32);
  op->run = lop3;
  if (d->kind == BF_PTX_PAIR) {
    lop3_truth *more = bf_emu_detail(decoder, sizeof *more);
    if (!more || d->count != 2 || instruction->operands != 6)
      return bf_emu_refuse(decoder, "two results without a predicate");
    more->p = bf_emu_bind_truth(decoder, &d->item[1]);
    more->q = bf_emu_predicate(decoder, &operand[5], &more->q_flip);
    more->is_or = bf_ptx_has(instruction, "or");
    op->detail = more;
    op->run = lop3_with_predicate;
    d = &d->item[0];
  }
  op->d = bf_emu_bind_destination(decoder, d, BF_PTX_B32);
  return true;
}

/* ---- prmt ---- */

/* Byte index of the result: a selector's low three bits choose a byte of b:a, its fourth bit asks
 * for the sign of that byte instead. */
static inline uint32_t permuted_byte(uint64_t bytes, uint32_t selectors, unsigned index) {
  uint32_t selector = selectors >> 4 * index & 15;
  uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 0xff;
  uint32_t sign = byte & 0x80 ? 0xff : 0;
  return (selector & 8 ? sign : byte) << 8 * index;
}

static inline uint32_t permuted(uint64_t bytes, uint32_t selectors) {
  return permuted_byte(bytes, selectors, 0) | permuted_byte(bytes, selectors, 1) |
         permuted_byte(bytes, selectors, 2) | permuted_byte(bytes, selectors, 3);
}

BF_EMU_TERNARY(prmt, uint32_t, permuted(joined(a[lane], b[lane]), c[lane]))

/* With a mode the low two bits of c choose one of four selectors. */
static const bf_emu_op *prmt_mode(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t *d = BF_LANES(uint32_t, op->d);
  uint64_t selectors = op->immediate;
  const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),
                 *c = BF_LANES(uint32_t, op->c);
  BF_SET_LANES(
      BF_MASK(), d,
      permuted(joined(a[lane], b[lane]), (uint32_t)(selectors >> 16 * (c[lane] & 3)) & 0xffff));
  return op + 1;
}

static bool select_prmt(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  static const struct {
    const char *mode;
    uint64_t selectors; /* for c = 3, 2, 1, 0 */
  } modes[] = {{"f4e", 0x6543543243213210}, {"b4e", 0x0123701267015670},
               {"rc8", 0x3333222211110000}, {"ecl", 0x3333322232113210},
               {"ecr", 0x3210221011100000}, {"rc16", 0x3232101032321010}};
  bf_emu_bind(decoder, instruction, op, BF_PTX_B32, prmt);
  for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
    if (bf_ptx_has(instruction, modes[i].mode)) {
      op->immediate = modes[i].selectors;
      op->run = prmt_mode;
    }
  return true;
}

/* ---- Fields of bits ---- */

/* Positions and lengths are the low 8 bits of b and c for words, and all of them for 64 bits
 * (measured on an H200). A field that reaches beyond the number is filled with zeros, or with the
 * sign. */
#define FIELD_U(type, bits)                                                                        \
  static inline type field_##type(type x, uint32_t position, uint32_t length) {                    \
    type shifted = position < bits ? x >> (position & (bits - 1)) : 0;                             \
    type kept = length < bits ? ((type)1 << (length & (bits - 1))) - 1 : (type)-1;                 \
    return shifted & kept;                                                                         \
  }
#define FIELD_S(type, bits)                                                                        \
  static inline type field_##type(type x, uint32_t position, uint32_t length) {                    \
    type shifted = x >> clamped(position, bits - 1);                                               \
    uint32_t above = bits - clamped(length, bits);                                                 \
    return length == 0 ? 0 : shifted << (above & (bits - 1)) >> (above & (bits - 1));              \
  }
FIELD_U(uint32_t, 32)
FIELD_U(uint64_t, 64)
FIELD_S(int32_t, 32)
FIELD_S(int64_t, 64)
#define BFE(type, counts)                                                                          \
  static const bf_emu_op *bfe_##type(bf_emu_warp *warp, const bf_emu_op *op) {                     \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a);                                                         \
    const uint32_t *b = BF_LANES(uint32_t, op->b), *c = BF_LANES(uint32_t, op->c);                 \
    BF_SET_LANES(BF_MASK(), d, field_##type(a[lane], b[lane] & counts, c[lane] & counts));         \
    return op + 1;                                                                                 \
  }
BFE(uint32_t, 0xff)
BFE(int32_t, 0xff)
BFE(uint64_t, UINT32_MAX)
BFE(int64_t, UINT32_MAX)

/* b with the low e bits of a put in at bit c */
#define BFI(type, bits, counts)                                                                    \
  static inline type inserted_##type(type x, type into, uint32_t position, uint32_t length) {      \
    type ones = length < bits ? ((type)1 << (length & (bits - 1))) - 1 : (type)-1;                 \
    type place = position < bits ? ones << (position & (bits - 1)) : 0;                            \
    return (into & ~place) | (x << (position & (bits - 1)) & place);                               \
  }                                                                                                \
  static const bf_emu_op *bfi_##type(bf_emu_warp *warp, const bf_emu_op *op) {                     \
    type *d = BF_LANES(type, op->d);                                                               \
    const type *a = BF_LANES(type, op->a), *b = BF_LANES(type, op->b);                             \
    const uint32_t *c = BF_LANES(uint32_t, op->c), *e = BF_LANES(uint32_t, op->e);                 \
    BF_SET_LANES(BF_MASK(), d,                                                                     \
                 inserted_##type(a[lane], b[lane], c[lane] & counts, e[lane] & counts));           \
    return op + 1;                                                                                 \
  }
BFI(uint32_t, 32, 0xff)
BFI(uint64_t, 64, UINT32_MAX)

static bool select_field(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  static const bf_emu_step bfe[] = {NULL,        NULL,         bfe_uint32_t,
                                    bfe_int32_t, bfe_uint64_t, bfe_int64_t};
  static const bf_emu_step bfi[] = {NULL,         NULL,         bfi_uint32_t,
                                    bfi_uint32_t, bfi_uint64_t, bfi_uint64_t};
  bool inserts = instruction->opcode == BF_PTX_OP_BFI;
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *operand = instruction->operand;
  op->run = (inserts ? bfi : bfe)[bf_emu_integer_index(type)];
  if (!op->run)
    return bf_emu_refuse(decoder, "field of this type");
  op->d = bf_emu_bind_destination(decoder, &operand[0], type);
  op->a = bf_emu_bind_source(decoder, &operand[1], type);
  op->b = bf_emu_bind_source(decoder, &operand[2], inserts ? type : BF_PTX_U32);
  op->c = bf_emu_bind_source(decoder, &operand[3], BF_PTX_U32);
  if (inserts)
    op->e = bf_emu_bind_source(decoder, &operand[4], BF_PTX_U32);
  return true;
}

/* b ones from bit a on */
static inline uint32_t ones_from(uint32_t position, uint32_t length) {
  return (uint32_t)(((UINT64_C(1) << length) - 1) << position);
}

BF_EMU_BINARY(bmsk_clamp, uint32_t, ones_from(clamped(a[lane], 32), clamped(b[lane], 32)))
BF_EMU_BINARY(bmsk_wrap, uint32_t, ones_from(a[lane] & 31, b[lane] & 31))

/* The low length bits of x; length 32 or more keeps all of it. */
static inline uint32_t low_bits(uint32_t x, uint32_t length) {
  return length < 32 ? x & ((UINT32_C(1) << (length & 31)) - 1) : x;
}

/* The same, with the top one of these bits repeated; no bits are 0. */
static inline uint32_t low_bits_signed(uint32_t x, uint32_t length) {
  uint32_t above = 32 - clamped(length, 32);
  return length == 0 ? 0 : (uint32_t)((int32_t)(x << (above & 31)) >> (above & 31));
}

BF_EMU_BINARY(szext_clamp_u, uint32_t, low_bits(a[lane], b[lane]))
BF_EMU_BINARY(szext_wrap_u, uint32_t, low_bits(a[lane], b[lane] & 31))
BF_EMU_BINARY(szext_clamp_s, uint32_t, low_bits_signed(a[lane], b[lane]))
BF_EMU_BINARY(szext_wrap_s, uint32_t, low_bits_signed(a[lane], b[lane] & 31))

/* ---- Counts and positions ---- */

static inline uint32_t ones_in(uint32_t x) {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static inline uint32_t ones_in_64(uint64_t x) {
  return ones_in((uint32_t)x) + ones_in((uint32_t)(x >> 32));
}

/* Number of zeros above the highest one. */
static inline uint32_t zeros_above(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }

static inline uint32_t zeros_above_64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : 64; }

static inline uint32_t reversed(uint32_t x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
  return x >> 16 | x << 16;
}

static inline uint64_t reversed_64(uint64_t x) {
  return (uint64_t)reversed((uint32_t)x) << 32 | reversed((uint32_t)(x >> 32));
}

BF_EMU_UNARY(brev_32, uint32_t, reversed(a[lane]))
BF_EMU_UNARY(brev_64, uint64_t, reversed_64(a[lane]))

/* 32-bit results of a type that may have 64 */
#define COUNT(function, type, expression)                                                          \
  static const bf_emu_op *function(bf_emu_warp *warp, const bf_emu_op *op) {                       \
    uint32_t *d = BF_LANES(uint32_t, op->d);                                                       \
    const type *a = BF_LANES(type, op->a);                                                         \
    BF_SET_LANES(BF_MASK(), d, (uint32_t)(expression));                                            \
    return op + 1;                                                                                 \
  }
COUNT(popc_32, uint32_t, ones_in(a[lane]))
COUNT(popc_64, uint64_t, ones_in_64(a[lane]))
COUNT(clz_32, uint32_t, zeros_above(a[lane]))
COUNT(clz_64, uint64_t, zeros_above_64(a[lane]))
/* Position of the highest bit that differs from the sign: with .shiftamt as the distance to the top
 * bit; all ones where there is none. */
#define POSITION_32(x) 31u - zeros_above(x)
#define POSITION_64(x) 63u - zeros_above_64(x)
#define DISTANCE_32(x) (x) == 0 ? UINT32_MAX : zeros_above(x)
#define DISTANCE_64(x) (x) == 0 ? UINT32_MAX : zeros_above_64(x)
COUNT(bfind_uint32_t, uint32_t, POSITION_32(a[lane]))
COUNT(bfind_uint64_t, uint64_t, POSITION_64(a[lane]))
COUNT(bfind_int32_t, int32_t, POSITION_32((uint32_t)(a[lane] ^ a[lane] >> 31)))
COUNT(bfind_int64_t, int64_t, POSITION_64((uint64_t)(a[lane] ^ a[lane] >> 63)))
COUNT(shiftamt_uint32_t, uint32_t, DISTANCE_32(a[lane]))
COUNT(shiftamt_uint64_t, uint64_t, DISTANCE_64(a[lane]))
COUNT(shiftamt_int32_t, int32_t, DISTANCE_32((uint32_t)(a[lane] ^ a[lane] >> 31)))
COUNT(shiftamt_int64_t, int64_t, DISTANCE_64((uint64_t)(a[lane] ^ a[lane] >> 63)))

static bool select_count(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op, bf_emu_step run) {
  op->d = bf_emu_bind_destination(decoder, &instruction->operand[0], BF_PTX_U32);
  op->a = bf_emu_bind_source(decoder, &instruction->operand[1], instruction->type[0]);
  op->run = run;
  return true;
}

static bool select_bfind(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  static const bf_emu_step position[] = {bfind_uint32_t, bfind_int32_t, bfind_uint64_t,
                                         bfind_int64_t};
  static const bf_emu_step distance[] = {shiftamt_uint32_t, shiftamt_int32_t, shiftamt_uint64_t,
                                         shiftamt_int64_t};
  int index = bf_emu_integer_index(instruction->type[0]) - BF_EMU_U32;
  if (index < 0)
    return bf_emu_refuse(decoder, "16-bit bfind");
  return select_count(decoder, instruction, op,
                      (bf_ptx_has(instruction, "shiftamt") ? distance : position)[index]);
}

/* Position of the offset-th one of mask, counted from bit base upwards or downwards; all ones where
 * there is none. Offset 0 asks for bit base itself; the one offset that has no absolute value gives
 * 0 on an H200. */
static uint32_t nth_one(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == INT32_MIN)
    return 0;
  if (offset == 0)
    return base < 32 && mask >> base & 1 ? base : UINT32_MAX;
  int64_t left = offset < 0 ? -(int64_t)offset : offset;
  for (int64_t at = base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
    if (mask >> at & 1 && --left == 0)
      return (uint32_t)at;
  return UINT32_MAX;
}

static const bf_emu_op *fns(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t *d = BF_LANES(uint32_t, op->d);
  const uint32_t *a = BF_LANES(uint32_t, op->a), *b = BF_LANES(uint32_t, op->b),
                 *c = BF_LANES(uint32_t, op->c);
  BF_EACH_LANE(BF_MASK(), lane) d[lane] = nth_one(a[lane], b[lane], (int32_t)c[lane]);
  return op + 1;
}

/* ---- Which operation ---- */

static bool select_bitwise(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op, const bf_emu_step *by_type, bf_emu_step of_predicates) {
  bf_ptx_type type = instruction->type[0];
  if (type == BF_PTX_PRED && of_predicates)
    return select_predicate(decoder, instruction, op, of_predicates);
  int index = bf_emu_integer_index(type);
  if (index < 0)
    return bf_emu_refuse(decoder, "bits of this type");
  return bf_emu_bind(decoder, instruction, op, type, by_type[index]);
}

bool BF_EMU_NAME(bf_emu_select_logic)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

/* What one lane alone does by itself. */
extern const bf_alone_row BF_EMU_NAME(bf_emu_alone_logic)[];
const bf_alone_row BF_EMU_NAME(bf_emu_alone_logic)[] = {
    {and_uint32_t, BF_ALONE_AND_32},   {and_uint64_t, BF_ALONE_AND_64},
    {or_uint32_t, BF_ALONE_OR_32},     {or_uint64_t, BF_ALONE_OR_64},
    {xor_uint32_t, BF_ALONE_XOR_32},   {xor_uint64_t, BF_ALONE_XOR_64},
    {not_uint32_t, BF_ALONE_NOT_32},   {shl_uint32_t, BF_ALONE_SHL_32},
    {shl_uint64_t, BF_ALONE_SHL_64},   {shr_uint32_t, BF_ALONE_SHR_U32},
    {shr_uint64_t, BF_ALONE_SHR_U64},  {shr_int32_t, BF_ALONE_SHR_S32},
    {shr_int64_t, BF_ALONE_SHR_S64},   {and_predicate, BF_ALONE_AND_TRUTH},
    {or_predicate, BF_ALONE_OR_TRUTH}, {NULL, BF_ALONE_NONE}};

bool BF_EMU_NAME(bf_emu_select_logic)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bf_ptx_type type = instruction->type[0];
  bool has_64 = bf_ptx_type_bytes(type) == 8;
  bool clamp = bf_ptx_has(instruction, "clamp"), is_signed = type == BF_PTX_S32;
  switch (instruction->opcode) {
  case BF_PTX_OP_AND:
    return select_bitwise(decoder, instruction, op, and, and_predicate);
  case BF_PTX_OP_OR:
    return select_bitwise(decoder, instruction, op, or, or_predicate);
  case BF_PTX_OP_XOR:
    return select_bitwise(decoder, instruction, op, xor, xor_predicate);
  case BF_PTX_OP_NOT:
    return select_bitwise(decoder, instruction, op, not, xor_predicate);
  case BF_PTX_OP_CNOT:
    return select_bitwise(decoder, instruction, op, cnot, NULL);
  case BF_PTX_OP_LOP3:
    return select_lop3(decoder, instruction, op);
  case BF_PTX_OP_SHF:
    return select_funnel(decoder, instruction, op);
  case BF_PTX_OP_PRMT:
    return select_prmt(decoder, instruction, op);
  case BF_PTX_OP_BMSK:
    return bf_emu_bind(decoder, instruction, op, BF_PTX_B32, clamp ? bmsk_clamp : bmsk_wrap);
  case BF_PTX_OP_SZEXT:
    return bf_emu_bind(decoder, instruction, op, BF_PTX_B32,
                       is_signed ? (clamp ? szext_clamp_s : szext_wrap_s)
                                 : (clamp ? szext_clamp_u : szext_wrap_u));
  case BF_PTX_OP_FNS:
    return bf_emu_bind(decoder, instruction, op, BF_PTX_B32, fns);
  default:
    break;
  }
  if (bf_emu_integer_index(type) < 0)
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_SHL:
    return select_shift(decoder, instruction, op, shl);
  case BF_PTX_OP_SHR:
    return select_shift(decoder, instruction, op, shr);
  default:
    break;
  }
  if (bf_emu_integer_index(type) < BF_EMU_U32)
    return false;
  switch (instruction->opcode) {
  case BF_PTX_OP_BFE:
  case BF_PTX_OP_BFI:
    return select_field(decoder, instruction, op);
  case BF_PTX_OP_BREV:
    return bf_emu_bind(decoder, instruction, op, type, has_64 ? brev_64 : brev_32);
  case BF_PTX_OP_POPC:
    return select_count(decoder, instruction, op, has_64 ? popc_64 : popc_32);
  case BF_PTX_OP_CLZ:
    return select_count(decoder, instruction, op, has_64 ? clz_64 : clz_32);
  case BF_PTX_OP_BFIND:
    return select_bfind(decoder, instruction, op);
  default:
    return false;
  }
}
