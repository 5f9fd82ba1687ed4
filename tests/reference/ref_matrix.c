/* Matrix instructions, from the tables of fragments in the PTX ISA. In all of them lane t stands
 * for row or column t / 4 and for the t % 4-th group of neighbouring elements. */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

typedef ref_thread *const lanes[REF_WARP];

/* Item i of a vector operand, or the operand itself. */
static const bf_ptx_operand *item(const bf_ptx_operand *operand, unsigned i) {
  return operand->kind == BF_PTX_VECTOR ? &operand->item[i] : operand;
}

static unsigned items(const bf_ptx_operand *operand) {
  return operand->kind == BF_PTX_VECTOR ? operand->count : 1;
}

/* ---- ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements ---- */

/* Row and column of half h of lane t's register. */
static void place_of_half(unsigned t, unsigned h, bool transposed, unsigned *row,
                          unsigned *column) {
  *row = transposed ? t % 4 * 2 + h : t / 4;
  *column = transposed ? t / 4 : t % 4 * 2 + h;
}

/* The address of row r of matrix k, which lane 8k + r gives. */
static uint8_t *row_address(lanes lane, const bf_ptx_operand *operand, const ref_op *op, unsigned k,
                            unsigned r) {
  ref_thread *thread = lane[8 * k + r];
  return ref_bytes(thread, ref_address(thread, operand, op->space), 16);
}

static bool load_rows(lanes lane, const ref_op *op) {
  const bf_ptx_operand *to = &op->in->operand[0];
  uint32_t value[REF_WARP][4] = {{0}};
  unsigned row, column;
  for (unsigned k = 0; k < items(to); k++)
    for (unsigned t = 0; t < REF_WARP; t++)
      for (unsigned h = 0; h < 2; h++) {
        place_of_half(t, h, HAS(op, trans), &row, &column);
        const uint8_t *place = row_address(lane, &op->in->operand[1], op, k, row);
        uint16_t half;
        if (!place)
          return false;
        memcpy(&half, place + 2 * column, 2);
        value[t][k] |= (uint32_t)half << 16 * h;
      }
  for (unsigned k = 0; k < items(to); k++)
    for (unsigned t = 0; t < REF_WARP; t++)
      ref_set(lane[t], item(to, k), value[t][k]);
  return true;
}

static bool store_rows(lanes lane, const ref_op *op) {
  const bf_ptx_operand *from = &op->in->operand[1];
  unsigned row, column;
  for (unsigned k = 0; k < items(from); k++)
    for (unsigned t = 0; t < REF_WARP; t++)
      for (unsigned h = 0; h < 2; h++) {
        place_of_half(t, h, HAS(op, trans), &row, &column);
        uint8_t *place = row_address(lane, &op->in->operand[0], op, k, row);
        uint16_t half = (uint16_t)(ref_get(lane[t], item(from, k), BF_PTX_B32) >> 16 * h);
        if (!place)
          return false;
        memcpy(place + 2 * column, &half, 2);
      }
  return true;
}

static void transpose(lanes lane, const ref_op *op) {
  uint16_t matrix[8][8];
  uint32_t value[REF_WARP];
  for (unsigned t = 0; t < REF_WARP; t++) {
    uint32_t pair = (uint32_t)ref_get(lane[t], &op->in->operand[1], BF_PTX_B32);
    matrix[t / 4][t % 4 * 2] = (uint16_t)pair;
    matrix[t / 4][t % 4 * 2 + 1] = (uint16_t)(pair >> 16);
  }
  for (unsigned t = 0; t < REF_WARP; t++)
    value[t] = matrix[t % 4 * 2][t / 4] | (uint32_t)matrix[t % 4 * 2 + 1][t / 4] << 16;
  for (unsigned t = 0; t < REF_WARP; t++)
    ref_set(lane[t], &op->in->operand[0], value[t]);
}

/* ---- mma ---- */

enum { MOST_ROWS = 16, MOST_INNER = 256, MOST_COLUMNS = 16 };

/* Factors and sum of one product, as numbers. */
typedef struct product {
  unsigned rows, columns, inner;
  double a[MOST_ROWS][MOST_INNER], b[MOST_INNER][MOST_COLUMNS], c[MOST_ROWS][MOST_COLUMNS];
} product;

/* Bits of an element of a type. */
static unsigned element_bits(bf_ptx_type type) {
  return type == BF_PTX_B1 ? 1 : type == BF_PTX_U4 || type == BF_PTX_S4 ? 4 : ref_type_bits(type);
}

/* An element as a number. */
static double number(bf_ptx_type type, ref_bits bits) {
  if (type == BF_PTX_S4)
    return (double)ref_sign(bits, 4);
  if (ref_type_is_float(type))
    return ref_float_double(type == BF_PTX_TF32 ? BF_PTX_F32 : type, (uint64_t)bits);
  if (type == BF_PTX_B1 || type == BF_PTX_U4)
    return (double)bits;
  return (double)ref_number(bits, type);
}

/* Element e of register r of lane t's part of an operand. */
static double element(lanes lane, const bf_ptx_operand *operand, bf_ptx_type type, unsigned t,
                      unsigned r, unsigned e) {
  unsigned bits = element_bits(type);
  ref_bits value = ref_get(lane[t], item(operand, r), type == BF_PTX_F64 ? BF_PTX_B64 : BF_PTX_B32);
  return number(type, ref_low(value >> e * bits, bits));
}

/* Elements in one register: binary64 fills a register of its own. */
static unsigned elements(bf_ptx_type type) {
  return type == BF_PTX_F64 ? 1 : 32 / element_bits(type);
}

static void read_factors(lanes lane, const ref_op *op, product *p) {
  const bf_ptx_operand *a = &op->in->operand[1], *b = &op->in->operand[2];
  bf_ptx_type a_type = op->in->type[1], b_type = op->in->type[2];
  unsigned count = elements(a_type), halves = p->rows / 8;
  for (unsigned t = 0; t < REF_WARP; t++)
    for (unsigned e = 0; e < count; e++) {
      for (unsigned r = 0; r < items(a); r++)
        p->a[t / 4 + 8 * (r % halves)][r / halves * 4 * count + t % 4 * count + e] =
            element(lane, a, a_type, t, r, e);
      for (unsigned r = 0; r < items(b); r++)
        p->b[r * 4 * count + t % 4 * count + e][t / 4] = element(lane, b, b_type, t, r, e);
    }
}

/* Whether a is sparse: .sp or .sp::ordered_metadata. */
static bool is_sparse(const ref_op *op) {
  for (unsigned i = 0; i < op->in->modifiers; i++)
    if (strncmp(op->in->modifier[i], "sp", 2) == 0)
      return true;
  return false;
}

/* The four bits of metadata of chunk c of a row. A lane has eight of them. Of elements with 16 and
 * 32 bits the first four are of row g, the others of row g + 8; of narrower ones all are of one
 * row, and the rows of neighbouring lanes take turns. */
static unsigned chunk_bits(lanes lane, const ref_op *op, unsigned chunks, unsigned row,
                           unsigned c) {
  bool is_wide = element_bits(op->in->type[1]) >= 16;
  unsigned in_use = chunks * 2 / 8; /* lanes of each four */
  unsigned first = row % 8 * 4 + (unsigned)op->in->operand[5].bits * in_use;
  unsigned t = is_wide ? first + c / 4 : first + c / 8 * 2 + row / 8;
  unsigned at = is_wide ? row / 8 * 4 + c % 4 : c % 8;
  return (unsigned)(ref_get(lane[t], &op->in->operand[4], BF_PTX_B32) >> 4 * at) & 15;
}

/* Puts the elements that were kept of a where they belong, and zeros between them. */
static void spread(lanes lane, const ref_op *op, product *p) {
  unsigned bits = element_bits(op->in->type[1]);
  unsigned wide = bits == 32 ? 2 : bits == 4 ? 8 : 4, chunks = p->inner / wide;
  for (unsigned row = 0; row < p->rows; row++) {
    double kept[MOST_INNER];
    memcpy(kept, p->a[row], sizeof kept);
    memset(p->a[row], 0, sizeof p->a[row]);
    for (unsigned c = 0; c < chunks; c++) {
      unsigned four = chunk_bits(lane, op, chunks, row, c), first = four & 3, second = four >> 2;
      double *to = &p->a[row][c * wide], *from = &kept[c * wide / 2];
      switch (wide) {
      case 2: /* 0100 is the first of two, 1110 the second */
        to[first / 2] = from[0];
        break;
      case 4:
        to[first] = from[0];
        to[second] = from[1];
        break;
      default:
        memcpy(to + 2 * first, from, 2 * sizeof *to);
        memcpy(to + 2 * second, from + 2, 2 * sizeof *to);
      }
    }
  }
}

/* Row and column of element n of lane t's part of the sum. */
static void place_in_sum(unsigned t, unsigned n, unsigned *row, unsigned *column) {
  *row = t / 4 + n / 2 * 8;
  *column = t % 4 * 2 + n % 2;
}

static void read_sum(lanes lane, const ref_op *op, product *p) {
  const bf_ptx_operand *c = &op->in->operand[3];
  bf_ptx_type type = op->type;
  unsigned count = elements(type), row, column;
  for (unsigned t = 0; t < REF_WARP; t++)
    for (unsigned n = 0; n < p->rows * p->columns / REF_WARP; n++) {
      place_in_sum(t, n, &row, &column);
      p->c[row][column] = element(lane, c, type, t, n / count, n % count);
    }
}

/* One element of the result; products of single bits are counted. */
static double sum_of_products(const ref_op *op, const product *p, unsigned row, unsigned column) {
  double sum = p->c[row][column];
  bool exclusive = op->in->type[1] == BF_PTX_B1 && HAS(op, xor);
  for (unsigned k = 0; k < p->inner; k++)
    sum += exclusive ? p->a[row][k] != p->b[k][column] : p->a[row][k] * p->b[k][column];
  return sum;
}

/* A sum in the type of the result; integers wrap unless .satfinite clamps them. */
static ref_bits result_bits(const ref_op *op, bf_ptx_type type, double sum) {
  uint64_t bits;
  memcpy(&bits, &sum, 8);
  if (ref_type_is_float(type))
    return ref_float_encode(type, ref_float_decode(BF_PTX_F64, bits), REF_RN);
  ref_signed value = (ref_signed)sum;
  return ref_low((ref_bits)(HAS(op, satfinite) ? ref_clamp(value, type) : value), 32);
}

static void write_result(lanes lane, const ref_op *op, const product *p) {
  const bf_ptx_operand *d = &op->in->operand[0];
  bf_ptx_type type = op->first_type;
  unsigned count = elements(type), bits = element_bits(type), row, column;
  for (unsigned t = 0; t < REF_WARP; t++) {
    ref_bits value[8] = {0};
    for (unsigned n = 0; n < p->rows * p->columns / REF_WARP; n++) {
      place_in_sum(t, n, &row, &column);
      value[n / count] |= result_bits(op, type, sum_of_products(op, p, row, column))
                          << n % count * bits;
    }
    for (unsigned r = 0; r < items(d); r++)
      ref_set(lane[t], item(d, r), value[r]);
  }
}

/* Reads m16n8k8 and the like. */
static bool read_shape(const ref_op *op, product *p) {
  for (unsigned i = 0; i < op->in->modifiers; i++)
    if (sscanf(op->in->modifier[i], "m%un%uk%u", &p->rows, &p->columns, &p->inner) == 3)
      return p->rows <= MOST_ROWS && p->columns <= MOST_COLUMNS && p->inner <= MOST_INNER;
  return false;
}

/* ---- wmma: where elements lie in fragments is nobody's business ---- */

/* Which element of a 16x16 matrix is element n of lane t, of count. */
static unsigned fragment_place(unsigned t, unsigned n, unsigned count) {
  return (t * count + n) % 256;
}

/* Address of element place of a matrix in memory. */
static uint8_t *element_address(ref_thread *thread, const ref_op *op, const bf_ptx_operand *address,
                                const bf_ptx_operand *stride, unsigned place) {
  uint64_t step = stride ? (uint64_t)ref_get(thread, stride, BF_PTX_U32) : 16;
  unsigned outer = HAS(op, row) ? place / 16 : place % 16,
           inner = HAS(op, row) ? place % 16 : place / 16;
  return ref_bytes(thread, ref_address(thread, address, op->space) + 2 * (outer * step + inner), 2);
}

/* load and store of binary16. */
static bool move_fragment(lanes lane, const ref_op *op) {
  bool load = HAS(op, load);
  const bf_ptx_operand *fragment = &op->in->operand[!load], *address = &op->in->operand[load];
  const bf_ptx_operand *stride = op->operands > 2 ? &op->in->operand[2] : NULL;
  unsigned count = 2 * items(fragment);
  for (unsigned t = 0; t < REF_WARP; t++)
    for (unsigned r = 0; r < count / 2; r++) {
      uint16_t half[2];
      uint32_t value = load ? 0 : (uint32_t)ref_get(lane[t], item(fragment, r), BF_PTX_B32);
      memcpy(half, &value, 4);
      for (unsigned h = 0; h < 2; h++) {
        uint8_t *place =
            element_address(lane[t], op, address, stride, fragment_place(t, 2 * r + h, count));
        if (!place)
          return false;
        memcpy(load ? (uint8_t *)&half[h] : place, load ? place : (uint8_t *)&half[h], 2);
      }
      memcpy(&value, half, 4);
      if (load)
        ref_set(lane[t], item(fragment, r), value);
    }
  return true;
}

static double fragment_element(lanes lane, const bf_ptx_operand *operand, unsigned t, unsigned n) {
  return element(lane, operand, BF_PTX_F16, t, n / 2, n % 2);
}

static void multiply_fragments(lanes lane, const ref_op *op, product *p) {
  const bf_ptx_operand *operand = op->in->operand;
  for (unsigned t = 0; t < REF_WARP; t++) {
    for (unsigned n = 0; n < 16; n++) {
      unsigned place = fragment_place(t, n, 16);
      p->a[place / 16][place % 16] = fragment_element(lane, &operand[1], t, n);
      p->b[place / 16][place % 16] = fragment_element(lane, &operand[2], t, n);
    }
    for (unsigned n = 0; n < 8; n++) {
      unsigned place = fragment_place(t, n, 8);
      p->c[place / 16][place % 16] = fragment_element(lane, &operand[3], t, n);
    }
  }
  for (unsigned t = 0; t < REF_WARP; t++)
    for (unsigned r = 0; r < 4; r++) {
      ref_bits value = 0;
      for (unsigned h = 0; h < 2; h++) {
        unsigned place = fragment_place(t, 2 * r + h, 8);
        value |= result_bits(op, BF_PTX_F16, sum_of_products(op, p, place / 16, place % 16))
                 << 16 * h;
      }
      ref_set(lane[t], item(&operand[0], r), value);
    }
}

bool ref_matrix_step(ref_thread *const lane[REF_WARP], const ref_op *op) {
  bool fine = true;
  for (unsigned i = 0; i < REF_WARP; i++)
    if (!lane[i])
      return false;
  if (op->opcode == BF_PTX_OP_LDMATRIX)
    return load_rows(lane, op);
  if (op->opcode == BF_PTX_OP_STMATRIX)
    return store_rows(lane, op);
  if (op->opcode == BF_PTX_OP_MOVMATRIX) {
    transpose(lane, op);
    return true;
  }
  if (op->opcode == BF_PTX_OP_WMMA && !HAS(op, mma))
    return op->type == BF_PTX_F16 ? move_fragment(lane, op) : ref_fail(lane[0], "unknown wmma");
  product *p = calloc(1, sizeof *p);
  if (!p || !read_shape(op, p))
    fine = ref_fail(lane[0], "no memory for, or no such, shape");
  else if (op->opcode == BF_PTX_OP_WMMA)
    multiply_fragments(lane, op, p);
  else {
    read_factors(lane, op, p);
    if (is_sparse(op))
      spread(lane, op, p);
    read_sum(lane, op, p);
    write_result(lane, op, p);
  }
  free(p);
  return fine;
}
