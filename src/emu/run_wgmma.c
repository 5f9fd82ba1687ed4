/* Matrix products of a warp group: wgmma.
 *
 * Warp w of the four computes rows 16w to 16w+15 of D, with registers as mma has them: of the
 * accumulator, lane l holds elements 2t and 2t+1 of rows l/4 and l/4 + 8 of each 8 columns, t =
 * l % 4; of an A in registers, register r holds the four bytes from 4t on of piece r/2 (16 bytes)
 * of row l/4 + 8 (r % 2). Operands in shared memory are found as descriptor.h says.
 *
 * The product is done when the instruction is met: ptxas sees to it that registers are not used
 * before wgmma.wait_group, or waits itself. wait_group is passed by all four warps together, as
 * the hardware works for all of them together; a program may then hand the operands' memory on by
 * one thread.
 *
 * Products and sums of floating point are computed in double, d first, then k upwards, and rounded
 * once: hardware leaves order and inner precision open. Integers are exact, then wrapped or
 * saturated. */
#include "emu/descriptor.h"
#include "emu/format.h"
#include "emu/half_lanes.h"
#include "emu/inner.h"
#include "emu/warp.h"

#include <stdio.h>

bool BF_EMU_NAME(bf_emu_select_wgmma)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

enum {
  ROWS = 16, /* of a warp */
  MOST_COLUMNS = 256,
  MOST_DEPTH = 64, /* elements along K; of bits see multiply_bits */
  ROW_BYTES = 32,  /* of A along K, whatever the type */
  MOST_REGISTERS = 128
};

typedef struct wgmma {
  bf_ptx_type a_type, b_type, d_type;
  unsigned columns, depth; /* N and K */
  unsigned registers;
  uint32_t d[MOST_REGISTERS];
  uint32_t a[4]; /* registers, or the descriptor at a[0] */
  uint32_t b;
  uint32_t scale, scale_flip; /* predicate: D is added to */
  uint32_t metadata;
  unsigned selector;
  bool a_in_registers, is_sparse;
  bool a_negated, b_negated, a_transposed, b_transposed, saturate;
} wgmma;

/* ---- Pieces of 16 bytes as numbers ---- */

static unsigned type_bits(bf_ptx_type type) {
  return type == BF_PTX_B1 ? 1 : 8 * bf_ptx_type_bytes(type);
}

/* Eight f16, exactly. */
static inline void eight_halves(const uint16_t *half, float *single) {
#if defined(__F16C__)
  _mm256_storeu_ps(single, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)half)));
#else
  for (unsigned i = 0; i < 8; i++)
    single[i] = bf_emu_half_to_float(half[i]);
#endif
}

/* The elements of a piece. */
static void unpack_piece(bf_ptx_type type, const uint8_t *piece, double *value) {
  uint16_t half[8];
  uint32_t word[4];
  float single[8];
  memcpy(half, piece, sizeof half);
  memcpy(word, piece, sizeof word);
  switch (type) {
  case BF_PTX_F16:
    eight_halves(half, single);
    for (unsigned i = 0; i < 8; i++)
      value[i] = single[i];
    return;
  case BF_PTX_BF16:
    for (unsigned i = 0; i < 8; i++)
      value[i] = bf_emu_bf16_to_float(half[i]);
    return;
  case BF_PTX_TF32:
    for (unsigned i = 0; i < 4; i++)
      value[i] = bf_emu_bits_float(word[i] & 0xffffe000);
    return;
  case BF_PTX_E4M3:
    for (unsigned i = 0; i < 16; i++)
      value[i] = bf_emu_decode_byte(&bf_emu_format_e4m3, piece[i]);
    return;
  case BF_PTX_E5M2:
    for (unsigned i = 0; i < 16; i++)
      value[i] = bf_emu_decode_byte(&bf_emu_format_e5m2, piece[i]);
    return;
  case BF_PTX_S8:
    for (unsigned i = 0; i < 16; i++)
      value[i] = (int8_t)piece[i];
    return;
  default:
    for (unsigned i = 0; i < 16; i++)
      value[i] = piece[i];
    return;
  }
}

/* ---- Operands ---- */

/* The descriptor that all lanes hold; false: the launch has ended. */
static bool read_descriptor(bf_emu_warp *warp, const bf_emu_op *op, uint32_t place, char name,
                            bf_emu_descriptor *found) {
  const uint64_t *bits = BF_LANES(const uint64_t, place);
  for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
    if (bits[lane] != bits[0])
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "the descriptor of %c differs between the threads of a warp",
                         name) != NULL;
  if (bits[0] & BF_EMU_DESCRIPTOR_UNUSED)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "the descriptor of %c, 0x%016llx, has bits set that must be 0", name,
                       (unsigned long long)bits[0]) != NULL;
  *found = bf_emu_descriptor_unpack(bits[0]);
  return true;
}

/* The memory of a piece; NULL: the launch has ended. */
static const uint8_t *reach_piece(bf_emu_warp *warp, const bf_emu_op *op, char name,
                                  const bf_emu_descriptor *d, bool is_k_major, uint32_t line,
                                  uint32_t piece) {
  uint32_t address = bf_emu_descriptor_piece(d, is_k_major, line, piece);
  if ((uint64_t)address + 16 <= warp->block->shared_bytes)
    return warp->block->shared + address;
  bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, 0,
              "piece %u of line %u of %c is at shared address 0x%x, behind the %llu bytes of the "
              "block",
              piece, line, name, address, (unsigned long long)warp->block->shared_bytes);
  return NULL;
}

/* Rows first to first + ROWS - 1 of A from shared memory, depth elements each. */
static bool gather_a(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, unsigned first,
                     unsigned depth, double *a) {
  bf_emu_descriptor d;
  double value[16];
  unsigned per_piece = 128 / type_bits(what->a_type);
  if (!read_descriptor(warp, op, what->a[0], 'A', &d))
    return false;
  if (what->a_transposed) {
    for (unsigned k = 0; k < depth; k++)
      for (unsigned p = 0; p < ROWS / 8; p++) {
        const uint8_t *piece = reach_piece(warp, op, 'A', &d, false, k, first / 8 + p);
        if (!piece)
          return false;
        unpack_piece(what->a_type, piece, value);
        for (unsigned i = 0; i < 8; i++)
          a[(8 * p + i) * depth + k] = value[i];
      }
    return true;
  }
  for (unsigned row = 0; row < ROWS; row++)
    for (unsigned p = 0; p < depth / per_piece; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'A', &d, true, first + row, p);
      if (!piece)
        return false;
      unpack_piece(what->a_type, piece, a + row * depth + p * per_piece);
    }
  return true;
}

/* The 32 bytes of a row of A from registers. */
static void row_of_registers(const bf_emu_warp *warp, const wgmma *what, unsigned row,
                             uint8_t *bytes) {
  for (unsigned piece = 0; piece < 2; piece++) {
    const uint32_t *word = BF_LANES(const uint32_t, what->a[2 * piece + row / 8]);
    memcpy(bytes + 16 * piece, word + row % 8 * 4, 16);
  }
}

static void gather_a_registers(const bf_emu_warp *warp, const wgmma *what, unsigned depth,
                               double *a) {
  unsigned per_piece = 128 / type_bits(what->a_type);
  uint8_t bytes[ROW_BYTES];
  for (unsigned row = 0; row < ROWS; row++) {
    row_of_registers(warp, what, row, bytes);
    for (unsigned p = 0; p < depth / per_piece; p++)
      unpack_piece(what->a_type, bytes + 16 * p, a + row * depth + p * per_piece);
  }
}

/* B, depth lines of N columns. */
static bool gather_b(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, double *b) {
  bf_emu_descriptor d;
  double value[16];
  unsigned per_piece = 128 / type_bits(what->b_type), n = what->columns;
  if (!read_descriptor(warp, op, what->b, 'B', &d))
    return false;
  if (what->b_transposed) {
    for (unsigned k = 0; k < what->depth; k++)
      for (unsigned p = 0; p < n / 8; p++) {
        const uint8_t *piece = reach_piece(warp, op, 'B', &d, false, k, p);
        if (!piece)
          return false;
        unpack_piece(what->b_type, piece, b + k * n + 8 * p);
      }
    return true;
  }
  for (unsigned column = 0; column < n; column++)
    for (unsigned p = 0; p < what->depth / per_piece; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'B', &d, true, column, p);
      if (!piece)
        return false;
      unpack_piece(what->b_type, piece, value);
      for (unsigned i = 0; i < per_piece; i++)
        b[(p * per_piece + i) * n + column] = value[i];
    }
  return true;
}

/* ---- The accumulator ---- */

/* Where in rows of N elements the first of two neighbours of register pair r of a lane lies. */
static unsigned pair_place(unsigned r, unsigned lane, unsigned n) {
  return (lane / 4 + r % 2 * 8) * n + r / 2 * 8 + lane % 4 * 2;
}

/* f32, by far the most frequent: registers 2r and 2r + 1 of all lanes to and from eight rows. */
static void gather_floats(const bf_emu_warp *warp, const wgmma *what, double *d) {
  unsigned n = what->columns;
  for (unsigned r = 0; r < n / 4; r++) {
    const float *low = BF_LANES(const float, what->d[2 * r]);
    const float *high = BF_LANES(const float, what->d[2 * r + 1]);
    for (unsigned g = 0; g < 8; g++) {
      double *to = d + pair_place(r, 4 * g, n);
      for (unsigned t = 0; t < 4; t++) {
        to[2 * t] = low[4 * g + t];
        to[2 * t + 1] = high[4 * g + t];
      }
    }
  }
}

static void scatter_floats(bf_emu_warp *warp, const wgmma *what, const double *d) {
  unsigned n = what->columns;
  for (unsigned r = 0; r < n / 4; r++) {
    float *low = BF_LANES(float, what->d[2 * r]), *high = BF_LANES(float, what->d[2 * r + 1]);
    for (unsigned g = 0; g < 8; g++) {
      const double *from = d + pair_place(r, 4 * g, n);
      for (unsigned t = 0; t < 4; t++) {
        low[4 * g + t] = bf_emu_canonical((float)from[2 * t]);
        high[4 * g + t] = bf_emu_canonical((float)from[2 * t + 1]);
      }
    }
  }
}

static void gather_d(const bf_emu_warp *warp, const wgmma *what, double *d) {
  unsigned n = what->columns;
  if (what->d_type == BF_PTX_F32) {
    gather_floats(warp, what, d);
    return;
  }
  for (unsigned r = 0; r < n / 4; r++) {
    bool is_half = what->d_type == BF_PTX_F16;
    const uint32_t *low = BF_LANES(const uint32_t, what->d[is_half ? r : 2 * r]);
    const uint32_t *high = is_half ? low : BF_LANES(const uint32_t, what->d[2 * r + 1]);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      double *to = d + pair_place(r, lane, n);
      if (is_half) {
        to[0] = bf_emu_half_to_float((uint16_t)low[lane]);
        to[1] = bf_emu_half_to_float((uint16_t)(low[lane] >> 16));
      } else if (what->d_type == BF_PTX_F32) {
        to[0] = bf_emu_bits_float(low[lane]);
        to[1] = bf_emu_bits_float(high[lane]);
      } else {
        to[0] = (int32_t)low[lane];
        to[1] = (int32_t)high[lane];
      }
    }
  }
}

/* The bits of a result. */
static uint32_t pack_element(const wgmma *what, double value) {
  if (what->d_type == BF_PTX_F16)
    return bf_emu_float_to_half(bf_emu_double_to_float_odd(value), BF_EMU_RN);
  if (what->d_type == BF_PTX_F32)
    return bf_emu_float_bits(bf_emu_canonical((float)value));
  int64_t integer = (int64_t)value;
  if (what->saturate)
    integer = integer > INT32_MAX ? INT32_MAX : integer < INT32_MIN ? INT32_MIN : integer;
  return (uint32_t)integer;
}

static void scatter_d(bf_emu_warp *warp, const wgmma *what, uint32_t lanes, const double *d) {
  unsigned n = what->columns;
  if (what->d_type == BF_PTX_F32 && lanes == UINT32_MAX) {
    scatter_floats(warp, what, d);
    return;
  }
  for (unsigned r = 0; r < n / 4; r++) {
    bool is_half = what->d_type == BF_PTX_F16;
    uint32_t *low = BF_LANES(uint32_t, what->d[is_half ? r : 2 * r]);
    uint32_t *high = is_half ? low : BF_LANES(uint32_t, what->d[2 * r + 1]);
    BF_EACH_LANE(lanes, lane) {
      const double *from = d + pair_place(r, lane, n);
      uint32_t first = pack_element(what, from[0]), second = pack_element(what, from[1]);
      low[lane] = is_half ? first | second << 16 : first;
      if (!is_half)
        high[lane] = second;
    }
  }
}

/* ---- Products ---- */

/* Four numbers that are computed with at once: what AVX2 holds in a register. */
typedef double four __attribute__((vector_size(32)));

/* Four rows of eight columns of d += a b. */
static inline void multiply_block(const double *a, const double *b, double *d, unsigned n,
                                  unsigned depth) {
  four left[4], right[4];
  for (unsigned row = 0; row < 4; row++) {
    memcpy(&left[row], d + row * n, sizeof *left);
    memcpy(&right[row], d + row * n + 4, sizeof *right);
  }
  for (unsigned k = 0; k < depth; k++) {
    four line, next;
    memcpy(&line, b + k * n, sizeof line);
    memcpy(&next, b + k * n + 4, sizeof next);
    for (unsigned row = 0; row < 4; row++) {
      double factor = a[row * depth + k];
      left[row] += factor * line;
      right[row] += factor * next;
    }
  }
  for (unsigned row = 0; row < 4; row++) {
    memcpy(d + row * n, &left[row], sizeof *left);
    memcpy(d + row * n + 4, &right[row], sizeof *right);
  }
}

static void multiply(const wgmma *what, const double *a, const double *b, double *d) {
  unsigned n = what->columns, depth = what->depth;
  for (unsigned column = 0; column < n; column += 8)
    for (unsigned row = 0; row < ROWS; row += 4)
      multiply_block(a + row * depth, b + column, d + row * n + column, n, depth);
}

/* d += number of ones in a and b, of 256 bits each. */
static bool multiply_bits(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, unsigned first,
                          double *d) {
  bf_emu_descriptor at_a, at_b;
  uint64_t a[ROWS][4];
  if (!read_descriptor(warp, op, what->b, 'B', &at_b) ||
      (!what->a_in_registers && !read_descriptor(warp, op, what->a[0], 'A', &at_a)))
    return false;
  for (unsigned row = 0; row < ROWS; row++) {
    if (what->a_in_registers)
      row_of_registers(warp, what, row, (uint8_t *)a[row]);
    for (unsigned p = 0; p < 2 && !what->a_in_registers; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'A', &at_a, true, first + row, p);
      if (!piece)
        return false;
      memcpy(&a[row][2 * p], piece, 16);
    }
  }
  for (unsigned column = 0; column < what->columns; column++)
    for (unsigned p = 0; p < 2; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'B', &at_b, true, column, p);
      uint64_t b[2];
      if (!piece)
        return false;
      memcpy(b, piece, sizeof b);
      for (unsigned row = 0; row < ROWS; row++)
        d[row * what->columns + column] += __builtin_popcountll(a[row][2 * p] & b[0]) +
                                           __builtin_popcountll(a[row][2 * p + 1] & b[1]);
    }
  return true;
}

static void negate(double *value, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    value[i] = -value[i];
}

/* Computes the rows of this warp; false: the launch has ended. */
static bool compute(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, double *d) {
  double a[ROWS * MOST_DEPTH], b[MOST_DEPTH * MOST_COLUMNS];
  unsigned first = warp->index % 4 * ROWS;
  if (what->a_type == BF_PTX_B1)
    return multiply_bits(warp, op, what, first, d);
  if (what->a_in_registers)
    gather_a_registers(warp, what, what->depth, a);
  else if (!gather_a(warp, op, what, first, what->depth, a))
    return false;
  if (!gather_b(warp, op, what, b))
    return false;
  if (what->a_negated != what->b_negated)
    negate(a, ROWS * what->depth);
  multiply(what, a, b, d);
  return true;
}

/* Tells the observer what the four warps read from shared memory. */
static void tell(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what) {
  const bf_emu_observer *observer = warp->worker->flight->observer;
  if (!observer || !observer->operands)
    return;
  unsigned b_bytes = what->columns * what->depth * type_bits(what->b_type) / 8;
  bf_emu_event event = {.site = op->site,
                        .worker = warp->worker->index,
                        .block = warp->block->index,
                        .warp = warp->index,
                        .space = BF_PTX_SPACE_SHARED,
                        .op = BF_OP_LD,
                        .operand_bytes =
                            b_bytes + (what->a_in_registers ? 0 : 4 * ROWS * ROW_BYTES)};
  observer->operands(observer->context, &event);
}

static const bf_emu_op *run_product(bf_emu_warp *warp, const bf_emu_op *op) {
  const wgmma *what = op->detail;
  uint32_t lanes = BF_MASK();
  if (!lanes)
    return op + 1;
  if (!bf_emu_meet(warp, op, lanes, UINT32_MAX))
    return NULL;
  lanes = BF_MASK();
  unsigned lane = (unsigned)__builtin_ctz(lanes);
  if (lanes != UINT32_MAX || warp->index / 4 * 4 + 4 > warp->block->warps)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                       lanes != UINT32_MAX ? "not all threads of the warp take part"
                                           : "the block has no four warps for a warp group here");
  double d[ROWS * MOST_COLUMNS];
  uint32_t scale = BF_PREDICATE(what->scale) ^ what->scale_flip;
  if (scale)
    gather_d(warp, what, d);
  else
    memset(d, 0, ROWS * what->columns * sizeof *d);
  if (!compute(warp, op, what, d))
    return NULL;
  scatter_d(warp, what, lanes, d);
  if (warp->index % 4 == 0)
    tell(warp, op, what);
  return op + 1;
}

static const bf_emu_op *run_nothing(bf_emu_warp *warp, const bf_emu_op *op) {
  (void)warp;
  return op + 1;
}

/* ---- Selection ---- */

/* The numbers of .m64nNkK. */
static bool read_shape(const bf_ptx_instruction *instruction, unsigned *n, unsigned *k) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (sscanf(instruction->modifier[i], "m64n%uk%u", n, k) == 2)
      return *n >= 8 && *n <= MOST_COLUMNS && *n % 8 == 0;
  return false;
}

/* Whether a product of these types exists; K in bytes is that of a row of A. */
static bool check_types(const wgmma *what) {
  bf_ptx_type a = what->a_type, b = what->b_type, d = what->d_type;
  bool is_float8 = (a == BF_PTX_E4M3 || a == BF_PTX_E5M2) && (b == BF_PTX_E4M3 || b == BF_PTX_E5M2);
  bool is_byte = (a == BF_PTX_S8 || a == BF_PTX_U8) && (b == BF_PTX_S8 || b == BF_PTX_U8);
  unsigned bytes = what->depth * type_bits(a) / 8 / (what->is_sparse ? 2 : 1);
  if (bytes != ROW_BYTES)
    return false;
  if (is_byte || a == BF_PTX_B1)
    return d == BF_PTX_S32 && (is_byte || b == BF_PTX_B1);
  if (is_float8 || (a == BF_PTX_F16 && b == a))
    return d == BF_PTX_F32 || d == BF_PTX_F16;
  return (a == BF_PTX_BF16 || a == BF_PTX_TF32) && b == a && d == BF_PTX_F32;
}

static bool bind_accumulator(bf_emu_decoder *decoder, const bf_ptx_operand *operand, wgmma *what) {
  what->registers = what->columns / (what->d_type == BF_PTX_F16 ? 4 : 2);
  if (operand->kind != BF_PTX_VECTOR || operand->count != what->registers)
    return bf_emu_refuse(decoder, "another number of registers than the shape has"), false;
  for (unsigned i = 0; i < what->registers; i++) {
    if (bf_emu_register_bytes(&operand->item[i], BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "accumulators that do not have 32 bits"), false;
    what->d[i] = bf_emu_destination(decoder, &operand->item[i]);
  }
  return true;
}

static bool bind_inputs(bf_emu_decoder *decoder, const bf_ptx_operand *operand, wgmma *what) {
  what->a_in_registers = operand[1].kind == BF_PTX_VECTOR;
  if (what->a_in_registers && operand[1].count != 4)
    return bf_emu_refuse(decoder, "A in another number of registers than four"), false;
  for (unsigned i = 0; i < 4 && what->a_in_registers; i++) {
    if (bf_emu_register_bytes(&operand[1].item[i], BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "registers of A that do not have 32 bits"), false;
    what->a[i] = bf_emu_source(decoder, &operand[1].item[i], BF_PTX_B32);
  }
  if ((!what->a_in_registers && bf_emu_register_bytes(&operand[1], BF_PTX_B64) != 8) ||
      bf_emu_register_bytes(&operand[2], BF_PTX_B64) != 8)
    return bf_emu_refuse(decoder, "a descriptor that does not have 64 bits"), false;
  if (!what->a_in_registers)
    what->a[0] = bf_emu_source(decoder, &operand[1], BF_PTX_B64);
  what->b = bf_emu_source(decoder, &operand[2], BF_PTX_B64);
  return true;
}

/* scale-d, the signs of A and B, and which of them are transposed: numbers but for the first. */
static bool bind_scales(bf_emu_decoder *decoder, const bf_ptx_operand *operand, unsigned count,
                        wgmma *what) {
  int64_t number[4] = {1, 1, 0, 0};
  if (count == 0)
    return bf_emu_refuse(decoder, "no scale-d"), false;
  what->scale = bf_emu_predicate(decoder, &operand[0], &what->scale_flip);
  for (unsigned i = 1; i < count && i < 5; i++) {
    if (operand[i].kind != BF_PTX_INTEGER)
      return bf_emu_refuse(decoder, "scales that are no numbers"), false;
    number[i - 1] = (int64_t)operand[i].bits;
  }
  if (what->a_in_registers) { /* only B can be transposed */
    number[3] = number[2];
    number[2] = 0;
  }
  what->a_negated = number[0] < 0;
  what->b_negated = number[1] < 0;
  what->a_transposed = number[2] != 0;
  what->b_transposed = number[3] != 0;
  if ((what->a_transposed || what->b_transposed) && type_bits(what->a_type) != 16)
    return bf_emu_refuse(decoder, "transposed operands that do not have 16 bits"), false;
  return true;
}

static bool select_product(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  wgmma *what = bf_emu_detail(decoder, sizeof *what);
  const bf_ptx_operand *operand = instruction->operand;
  if (!what)
    return true;
  what->is_sparse = bf_ptx_has(instruction, "sp");
  if (what->is_sparse)
    return bf_emu_refuse(decoder, "sparse matrices");
  if (instruction->types < 3 || instruction->operands < 4 ||
      !read_shape(instruction, &what->columns, &what->depth))
    return bf_emu_refuse(decoder, "shape or types of this kind");
  what->d_type = instruction->type[0];
  what->a_type = instruction->type[1];
  what->b_type = instruction->type[2];
  what->saturate = bf_ptx_has(instruction, "satfinite");
  if (!check_types(what))
    return bf_emu_refuse(decoder, "shape or types of this kind");
  op->detail = what;
  op->run = run_product;
  return !bind_accumulator(decoder, &operand[0], what) || !bind_inputs(decoder, operand, what) ||
         !bind_scales(decoder, operand + 3, instruction->operands - 3, what) || true;
}

bool BF_EMU_NAME(bf_emu_select_wgmma)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  if (instruction->opcode != BF_PTX_OP_WGMMA)
    return false;
  if (bf_ptx_has(instruction, "mma_async"))
    return select_product(decoder, instruction, op);
  op->run = bf_ptx_has(instruction, "wait_group") ? bf_emu_wait_for_group : run_nothing;
  return true;
}
