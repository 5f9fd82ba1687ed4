/* Matrix products of a warp: mma, wmma.mma; ldmatrix, stmatrix, movmatrix. Where elements lie says
 * fragment.h.
 *
 * How products are summed: panel.h; tf32 takes the high 19 bits. f64 is a chain of fused
 * multiply-adds. */
#include "emu/fragment.h"
#include "emu/near.h"
#include "emu/panel.h"
#include "emu/sparse.h"

#include <math.h>

bool BF_EMU_NAME(bf_emu_select_matrix)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op);

/* ---- Products of f64, with fused multiply-adds ---- */

/* Where the first element of register r of lane 0 lies in a matrix stored row after row, and the
 * distances to the next g and the next t. */
typedef struct element_walk {
  unsigned first, g, t;
} element_walk;

static element_walk walk_of(const bf_fragment *f, unsigned r, unsigned i) {
  bf_spot from = bf_fragment_spot(f, r, i), lane = bf_fragment_lane(f, 1);
  unsigned pitch = f->columns, first = from.row * pitch + from.column;
  return (element_walk){first, f->role == BF_ROLE_B ? 1 : pitch, lane.row * pitch + lane.column};
}

/* The values of the lanes, at distances which are best known where this is compiled. */
static BF_ALWAYS_INLINE void spread(const double *from, unsigned g, unsigned t, double *to) {
  BF_UNROLL_8
  for (unsigned i = 0; i < 8; i++)
    BF_UNROLL
  for (unsigned j = 0; j < 4; j++)
    to[i * g + j * t] = from[4 * i + j];
}

/* The whole matrix, row after row. */
static void gather(const bf_emu_warp *warp, const bf_fragment *f, double *matrix) {
  for (unsigned r = 0; r < f->registers; r++) {
    element_walk walk = walk_of(f, r, 0);
    const double *from = BF_LANES(const double, f->place[r]);
    if (walk.g == 4 && walk.t == 1) /* four columns */
      spread(from, 4, 1, matrix + walk.first);
    else if (walk.g == 1 && walk.t == 8) /* B */
      spread(from, 1, 8, matrix + walk.first);
    else if (walk.g == 8 && walk.t == 2) /* an accumulator */
      spread(from, 8, 2, matrix + walk.first);
    else
      spread(from, walk.g, walk.t, matrix + walk.first);
  }
}

typedef struct product {
  bf_fragment a, b, c, d;
  bool saturate;
  bool by_and;                /* b1: and instead of xor */
  bool is_mixed;              /* a register of d is another one of c */
  bool is_sparse, is_ordered; /* its metadata is */
  uint32_t metadata;
  unsigned selector;
} product;

/* a * b + c, rounded once. */
static BF_ALWAYS_INLINE bf_four fused(bf_four a, bf_four b, bf_four c) {
#if defined(__FMA__)
  return bf_four_add(a, b, c);
#else
  return (bf_four){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]), fma(a[2], b[2], c[2]),
                   fma(a[3], b[3], c[3])};
#endif
}

/* d += a b for a row of 8 columns of d, k upwards. */
static void add_row(const double *a, const double *b, unsigned depth, double *d) {
  bf_four low = bf_four_load(d), high = bf_four_load(d + 4);
  for (unsigned k = 0; k < depth; k++, b += BF_PANEL) {
    bf_four factor = {a[k], a[k], a[k], a[k]};
    low = fused(factor, bf_four_load(b), low);
    high = fused(factor, bf_four_load(b + 4), high);
  }
  bf_four_store(d, low);
  bf_four_store(d + 4, high);
}

/* d = c + a b, of 8 columns. */
static void multiply_doubles(bf_emu_warp *warp, const product *p, uint32_t lanes) {
  double a[BF_FRAGMENT_ELEMENTS], b[BF_FRAGMENT_ELEMENTS], d[BF_FRAGMENT_ELEMENTS];
  unsigned depth = p->a.columns;
  gather(warp, &p->a, a);
  gather(warp, &p->b, b);
  gather(warp, &p->c, d);
  for (unsigned row = 0; row < p->a.rows; row++)
    add_row(a + row * depth, b, depth, d + row * BF_PANEL);
  for (unsigned r = 0; r < p->d.registers; r++) {
    element_walk walk = walk_of(&p->d, r, 0);
    double *to = BF_LANES(double, p->d.place[r]);
    BF_SET_LANES(lanes, to, d[walk.first + lane / 4 * BF_PANEL + lane % 4 * 2]);
  }
}

/* ---- Other products: panel.h says how ---- */

/* A row after row; type is that of f. */
static BF_ALWAYS_INLINE void gather_rows(const bf_emu_warp *warp, const bf_fragment *f,
                                         bf_ptx_type type, double *a) {
  unsigned depth = f->columns, span = 4 * f->per_register;
  for (unsigned r = 0; r < f->registers; r++) {
    const uint32_t *word = BF_LANES(const uint32_t, f->place[r]);
    double *to = a + f->part[r].line * 8 * depth + f->part[r].piece * span;
    for (unsigned row = 0; row < 8; row++)
      bf_unpack_piece(type, word + 4 * row, to + row * depth);
  }
}

/* B panel after panel; type is that of f. */
static BF_ALWAYS_INLINE void gather_panels(const bf_emu_warp *warp, const bf_fragment *f,
                                           bf_ptx_type type, double *b) {
  unsigned depth = f->rows, span = 4 * f->per_register;
  for (unsigned r = 0; r < f->registers; r++)
    bf_panel_from_columns(type, BF_LANES(const uint32_t, f->place[r]),
                          b + (f->part[r].line * depth + f->part[r].piece * span) * BF_PANEL);
}

/* Both, which for f16 need not ask for the type of each piece. */
static void gather_factors(const bf_emu_warp *warp, const product *p, double *a, double *b) {
  if (p->a.type == BF_PTX_F16 && p->b.type == BF_PTX_F16) {
    gather_rows(warp, &p->a, BF_PTX_F16, a);
    gather_panels(warp, &p->b, BF_PTX_F16, b);
  } else {
    gather_rows(warp, &p->a, p->a.type, a);
    gather_panels(warp, &p->b, p->b.type, b);
  }
}

/* d = c + a b for all blocks of the accumulator. What is not written at once is written behind
 * them: where not all lanes take part, or a register of d is one of c that is read later. */
static void multiply(bf_emu_warp *warp, const product *p, const double *a, const uint8_t *line,
                     const double *b, uint32_t lanes) {
  uint32_t later[BF_FRAGMENT_REGISTERS][BF_EMU_LANES];
  bool is_direct = lanes == UINT32_MAX && !p->is_mixed;
  bf_sum_types types = {p->c.type, p->d.type, p->saturate};
  unsigned kept = p->a.columns;
  unsigned down = p->d.rows / 8, across = p->d.columns / 8;
  for (unsigned j = 0; j < across; j++)
    for (unsigned i = 0; i < down; i++) {
      const double *panel = b + j * p->b.rows * BF_PANEL;
      bf_sums sums;
      for (unsigned odd = 0; odd < 2; odd++) {
        unsigned to = p->d.block[i * across + j][odd];
        sums.c[odd] = BF_LANES(const uint32_t, p->c.place[p->c.block[i * across + j][odd]]);
        sums.d[odd] = is_direct ? BF_LANES(uint32_t, p->d.place[to]) : later[to];
      }
      if (line)
        bf_multiply_sparse(types, &sums, a + i * 8 * kept, line + i * 8 * kept, panel, kept);
      else
        bf_multiply_block(types, &sums, a + i * 8 * kept, panel, kept);
    }
  for (unsigned r = 0; r < p->d.registers && !is_direct; r++) {
    uint32_t *to = BF_LANES(uint32_t, p->d.place[r]);
    BF_SET_LANES(lanes, to, later[r][lane]);
  }
}

/* b1: the words of row `row` of a (or column of b): word w of the lane and register that hold it.
 */
static uint32_t word_of(const bf_emu_warp *warp, const bf_fragment *f, unsigned line, unsigned w) {
  unsigned r = f->role == BF_ROLE_A ? w / 4 * bf_fragment_height(f) + line / 8 : w / 4;
  return BF_LANES(const uint32_t, f->place[r])[line % 8 * 4 + w % 4];
}

/* d = c + number of ones in a xor b, or a and b, over the bits of a row and a column. */
static void multiply_bits(bf_emu_warp *warp, const product *p, uint32_t lanes) {
  uint32_t sum[BF_FRAGMENT_REGISTERS][BF_EMU_LANES];
  for (unsigned r = 0; r < p->d.registers; r++) {
    memcpy(sum[r], BF_LANES(const uint32_t, p->c.place[r]), sizeof sum[r]);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      bf_spot from = bf_fragment_spot(&p->d, r, 0), at = bf_fragment_lane(&p->d, lane);
      for (unsigned w = 0; w < p->a.columns / 32; w++) {
        uint32_t a = word_of(warp, &p->a, from.row + at.row, w);
        uint32_t b = word_of(warp, &p->b, from.column + at.column, w);
        sum[r][lane] += (uint32_t)__builtin_popcount(p->by_and ? a & b : a ^ b);
      }
    }
  }
  for (unsigned r = 0; r < p->d.registers; r++) {
    uint32_t *to = BF_LANES(uint32_t, p->d.place[r]);
    BF_SET_LANES(lanes, to, sum[r][lane]);
  }
}

/* mma and wmma.mma. */
static const bf_emu_op *run_product(bf_emu_warp *warp, const bf_emu_op *op) {
  const product *p = op->detail;
  double a[BF_FRAGMENT_ELEMENTS], b[BF_FRAGMENT_ELEMENTS];
  uint8_t line[BF_FRAGMENT_ELEMENTS];
  uint32_t lanes;
  if (!bf_fragment_meet(warp, op, &lanes))
    return NULL;
  if (p->a.type == BF_PTX_B1) {
    multiply_bits(warp, p, lanes);
  } else if (p->d.type == BF_PTX_F64) {
    multiply_doubles(warp, p, lanes);
  } else {
    if (p->is_sparse && !bf_sparse_lines(warp, op, p->metadata, p->selector, p->a.type,
                                         p->a.columns, p->is_ordered, line))
      return NULL;
    gather_factors(warp, p, a, b);
    multiply(warp, p, a, p->is_sparse ? line : NULL, b, lanes);
  }
  return op + 1;
}

/* ---- ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16 bits ---- */

typedef struct matrix_rows {
  bf_emu_address address;
  bf_op kind;
  unsigned matrices;
  bool transposed;
  bool is_store;
  uint32_t place[4];
} matrix_rows;

/* Moves one matrix between the registers of lanes and the rows in memory. Lane by lane, a register
 * holds the matrix row after row, 16 bytes each: lanes 4r to 4r+3 have row r. */
static void move_matrix(bf_emu_warp *warp, const matrix_rows *rows, unsigned matrix, uint32_t lanes,
                        uint8_t *const *row) {
  bf_halves half[8];
  uint32_t word[BF_EMU_LANES], *place = BF_LANES(uint32_t, rows->place[matrix]);
  if (rows->is_store)
    memcpy(half, place, sizeof half);
  else
    for (unsigned r = 0; r < 8; r++)
      memcpy(&half[r], row[r], sizeof *half);
  if (rows->transposed)
    bf_turn_halves(half);
  if (rows->is_store) {
    for (unsigned r = 0; r < 8; r++)
      memcpy(row[r], &half[r], sizeof *half);
  } else if (lanes == UINT32_MAX) {
    memcpy(place, half, sizeof half);
  } else {
    memcpy(word, half, sizeof word);
    BF_SET_LANES(lanes, place, word[lane]);
  }
}

/* ldmatrix, stmatrix: lanes 8i to 8i+7 give the addresses of the rows of matrix i. */
static const bf_emu_op *run_rows(bf_emu_warp *warp, const bf_emu_op *op) {
  const matrix_rows *rows = op->detail;
  const bf_emu_address *from = &rows->address;
  uint8_t *pointer[BF_EMU_LANES];
  uint32_t lanes, needed = UINT32_MAX >> (32 - 8 * rows->matrices);
  if (!bf_fragment_meet(warp, op, &lanes))
    return NULL;
  if (!lanes)
    return op + 1;
  if (needed & ~lanes)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, (unsigned)__builtin_ctz(lanes),
                       "lane %u, which must give the address of a row, takes no part",
                       (unsigned)__builtin_ctz(needed & ~lanes));
  bf_near_access what = {from->space, rows->kind, 16, 16, rows->is_store};
  if (!bf_near_reach(warp, op, from, &what, needed, pointer))
    return NULL;
  for (unsigned matrix = 0; matrix < rows->matrices; matrix++)
    move_matrix(warp, rows, matrix, lanes, pointer + 8 * matrix);
  return op + 1;
}

/* movmatrix: the matrix of the warp, transposed. */
static const bf_emu_op *run_transpose(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes, result[BF_EMU_LANES];
  if (!bf_fragment_meet(warp, op, &lanes))
    return NULL;
  const uint32_t *a = BF_LANES(const uint32_t, op->a);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    unsigned row = lane / 4, column = lane % 4 * 2;
    unsigned low = column * 4 + row / 2, shift = row % 2 * 16;
    result[lane] = (a[low] >> shift & 0xffff) | (a[low + 4] >> shift & 0xffff) << 16;
  }
  uint32_t *d = BF_LANES(uint32_t, op->d);
  BF_SET_LANES(lanes, d, result[lane]);
  return op + 1;
}

/* ---- Selection ---- */

static bool is_integer(bf_ptx_type type) {
  return type == BF_PTX_S8 || type == BF_PTX_U8 || type == BF_PTX_S4 || type == BF_PTX_U4 ||
         type == BF_PTX_B1;
}

/* Whether types of a, b, c and d go together. */
static bool types_fit(bf_ptx_type a, bf_ptx_type b, bf_ptx_type c, bf_ptx_type d) {
  if (is_integer(a))
    return bf_matrix_bits(a) == bf_matrix_bits(b) && is_integer(b) && c == BF_PTX_S32 &&
           d == BF_PTX_S32;
  switch (a) {
  case BF_PTX_F16:
    return b == a && (c == BF_PTX_F16 || c == BF_PTX_F32) && (d == BF_PTX_F16 || d == BF_PTX_F32);
  case BF_PTX_BF16:
  case BF_PTX_TF32:
    return b == a && c == BF_PTX_F32 && d == BF_PTX_F32;
  case BF_PTX_F64:
    return b == a && c == BF_PTX_F64 && d == BF_PTX_F64;
  case BF_PTX_E4M3:
  case BF_PTX_E5M2:
    return (b == BF_PTX_E4M3 || b == BF_PTX_E5M2) && c == d && (d == BF_PTX_F16 || d == BF_PTX_F32);
  default:
    return false;
  }
}

/* Whether the modifiers ask for something that is not done here: scales, other kinds and roundings.
 */
static bool has_unknown(const bf_ptx_instruction *instruction) {
  static const char *const unknown[] = {"kind::", "block_scale", "rz", "rm", "rp"};
  for (unsigned i = 0; i < instruction->modifiers; i++)
    for (unsigned j = 0; j < sizeof unknown / sizeof *unknown; j++) {
      const char *colons = strchr(unknown[j], ':');
      size_t size = strlen(unknown[j]);
      if (colons ? !strncmp(instruction->modifier[i], unknown[j], size)
                 : !strcmp(instruction->modifier[i], unknown[j]))
        return true;
    }
  return false;
}

/* Whether a register of d is one of c at another place. */
static bool is_mixed(const product *p) {
  for (unsigned i = 0; i < p->d.registers; i++)
    for (unsigned j = 0; j < p->c.registers; j++)
      if (p->d.place[i] == p->c.place[j] && (i != j || p->d.type != p->c.type))
        return true;
  return false;
}

static bool select_product(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  bool is_wmma = instruction->opcode == BF_PTX_OP_WMMA;
  const bf_ptx_type *type = instruction->type;
  bf_ptx_type d = type[0], a = type[1], b = type[2], c = type[3];
  /* wmma of f16 names the types of d and c only. */
  if (is_wmma && instruction->types == 2)
    a = b = BF_PTX_F16, c = type[1];
  else if (instruction->types != 4)
    return bf_emu_refuse(decoder, "matrix product with these types");
  bf_matrix_shape shape;
  bool is_sparse = bf_ptx_has(instruction, "sp") || bf_ptx_has(instruction, "sp::ordered_metadata");
  if (!bf_matrix_shape_read(instruction, &shape) || instruction->operands != (is_sparse ? 6 : 4) ||
      has_unknown(instruction) || !types_fit(a, b, c, d))
    return bf_emu_refuse(decoder, "matrix product of this form");
  bool narrow = !is_wmma || a == BF_PTX_B1 || a == BF_PTX_F64;
  if (narrow && (shape.n != 8 || (shape.m != 8 && shape.m != 16) ||
                 (shape.m == 8 && !is_integer(a) && a != BF_PTX_F64)))
    return bf_emu_refuse(decoder, "mma of this shape and type");
  product *p = bf_emu_detail(decoder, sizeof *p);
  if (!p)
    return true;
  const bf_ptx_operand *operand = instruction->operand;
  bf_matrix_shape of_a = {shape.m, shape.n, is_sparse ? shape.k / 2 : shape.k};
  p->is_sparse = is_sparse;
  p->is_ordered = bf_ptx_has(instruction, "sp::ordered_metadata");
  if (!bf_fragment_make(BF_ROLE_A, a, of_a, &p->a) ||
      !bf_fragment_make(BF_ROLE_B, b, shape, &p->b) ||
      !bf_fragment_make(BF_ROLE_C, c, shape, &p->c) ||
      !bf_fragment_make(BF_ROLE_C, d, shape, &p->d) ||
      !bf_fragment_bind(decoder, &operand[0], true, &p->d) ||
      !bf_fragment_bind(decoder, &operand[1], false, &p->a) ||
      !bf_fragment_bind(decoder, &operand[2], false, &p->b) ||
      !bf_fragment_bind(decoder, &operand[3], false, &p->c))
    return bf_emu_refuse(decoder, "matrix product of this shape and type");
  p->saturate = bf_ptx_has(instruction, "satfinite");
  p->by_and = bf_ptx_has(instruction, "and");
  if (p->saturate && !is_integer(a))
    return bf_emu_refuse(decoder, "matrix product of floating point with satfinite");
  if (is_sparse && (shape.m != 16 || a == BF_PTX_B1 || a == BF_PTX_F64))
    return bf_emu_refuse(decoder, "sparse product of this shape and type");
  if (is_sparse && !bf_sparse_bind(decoder, &operand[4], a, of_a.k, &p->metadata, &p->selector))
    return true;
  p->is_mixed = is_mixed(p);
  op->detail = p;
  op->run = run_product;
  return true;
}

static bool select_rows(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bool is_store = instruction->opcode == BF_PTX_OP_STMATRIX;
  unsigned matrices = bf_ptx_has(instruction, "x4")   ? 4
                      : bf_ptx_has(instruction, "x2") ? 2
                      : bf_ptx_has(instruction, "x1") ? 1
                                                      : 0;
  if (!matrices || !bf_ptx_has(instruction, "m8n8") || has_unknown(instruction) ||
      instruction->types != 1 || instruction->type[0] != BF_PTX_B16)
    return bf_emu_refuse(decoder, "matrices of this shape and type");
  matrix_rows *rows = bf_emu_detail(decoder, sizeof *rows);
  if (!rows)
    return true;
  const bf_ptx_operand *address = &instruction->operand[is_store ? 0 : 1];
  const bf_ptx_operand *registers = &instruction->operand[is_store ? 1 : 0];
  bool is_vector = registers->kind == BF_PTX_VECTOR;
  const bf_ptx_operand *item = is_vector ? registers->item : registers;
  if ((is_vector ? registers->count : 1) != matrices)
    return bf_emu_refuse(decoder, "matrices in another number of registers");
  for (unsigned i = 0; i < matrices; i++) {
    if (item[i].kind != BF_PTX_SINK && bf_emu_register_bytes(&item[i], BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "matrices in registers that do not have 32 bits");
    rows->place[i] = is_store ? bf_emu_source(decoder, &item[i], BF_PTX_B32)
                              : bf_emu_destination(decoder, &item[i]);
  }
  unsigned width_bytes;
  bf_ptx_access_kind(instruction, true, &rows->kind, &width_bytes);
  rows->matrices = matrices;
  rows->transposed = bf_ptx_has(instruction, "trans");
  rows->is_store = is_store;
  rows->address = bf_emu_bind_address(decoder, instruction, address,
                                      bf_ptx_address_space(instruction, address));
  op->detail = rows;
  op->run = run_rows;
  return true;
}

static bool select_transpose(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                             bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  if (!bf_ptx_has(instruction, "m8n8") || instruction->types != 1 ||
      instruction->type[0] != BF_PTX_B16 || bf_emu_register_bytes(&operand[0], BF_PTX_B32) != 4 ||
      bf_emu_register_bytes(&operand[1], BF_PTX_B32) != 4)
    return bf_emu_refuse(decoder, "movmatrix of this shape and type");
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = bf_emu_source(decoder, &operand[1], BF_PTX_B32);
  op->run = run_transpose;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_matrix)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MMA:
    return select_product(decoder, instruction, op);
  case BF_PTX_OP_WMMA:
    return bf_ptx_has(instruction, "mma") && select_product(decoder, instruction, op);
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    return select_rows(decoder, instruction, op);
  case BF_PTX_OP_MOVMATRIX:
    return select_transpose(decoder, instruction, op);
  default:
    return false;
  }
}
