/* Matrix products of a warp: mma, wmma, ldmatrix, stmatrix, movmatrix.
 *
 * A fragment is a matrix spread over the registers of the 32 lanes. With g = lane / 4 and
 * t = lane % 4, and E elements per register, the layouts of mma in the PTX ISA are all of one kind:
 *   A: a register holds row g of 8 rows and columns tE .. tE+E-1 of 4E columns; the registers of a
 *      tile of 16 rows go down first, then right, and tiles follow each other downwards.
 *   B: the same with rows and columns exchanged; columns of 8, registers down, then right.
 *   C, D: elements 2t and 2t+1 of row g of an 8x8 block; blocks down a tile of 16 rows, tiles
 * right. wmma uses the same layouts, tile after tile; where it has more registers than that needs
 * (f16), the others are copies. Programs see that only through load, store and mma.
 *
 * How products are summed: panel.h; tf32 takes the high 19 bits. f64 is a chain of fused
 * multiply-adds. */
#include "emu/near.h"
#include "emu/panel.h"
#include "emu/sparse.h"

#include <math.h>

bool BF_EMU_NAME(bf_emu_select_matrix)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op);

enum { MOST_REGISTERS = 8, MOST_BLOCKS = 4, MOST_ELEMENTS = 1024 };

typedef enum matrix_role { ROLE_A, ROLE_B, ROLE_C } matrix_role;

typedef struct fragment {
  matrix_role role;
  bf_ptx_type type;
  unsigned rows, columns;
  unsigned bits;           /* of an element */
  unsigned per_register;   /* elements */
  unsigned register_bytes; /* 4 or 8 */
  unsigned registers;      /* that hold the matrix */
  unsigned copies;         /* how often; the first counts */
  uint32_t place[MOST_REGISTERS];
  /* Of A the rows of a register, of B its columns, both in eights, and the piece of 16 bytes. */
  struct {
    uint16_t line, piece;
  } part[MOST_REGISTERS];
  /* Of C, D: the registers that have the even and the odd columns of each 8 x 8 block. */
  uint8_t block[MOST_BLOCKS][2];
} fragment;

typedef struct spot {
  unsigned row, column;
} spot;

/* Rows of 8 in a tile. */
static unsigned tile_height(const fragment *f) { return f->rows >= 16 ? 2 : 1; }

/* Where element i of register r lies for lane 0. */
static spot spot_of_register(const fragment *f, unsigned r, unsigned i) {
  unsigned height = tile_height(f), span = 4 * f->per_register;
  if (f->role == ROLE_B) {
    unsigned down = f->rows / span;
    return (spot){r % down * span + i, r / down * 8};
  }
  if (f->role == ROLE_A) {
    unsigned per_tile = height * (f->columns / span), in_tile = r % per_tile;
    return (spot){r / per_tile * 16 + in_tile % height * 8, in_tile / height * span + i};
  }
  unsigned element = r * f->per_register + i, per_tile = 2 * height, across = f->columns / 8;
  unsigned tile = element / per_tile, in_tile = element % per_tile;
  return (spot){tile / across * 16 + in_tile / 2 * 8, tile % across * 8 + in_tile % 2};
}

/* How far lane is from lane 0. */
static spot spot_of_lane(const fragment *f, unsigned lane) {
  unsigned g = lane / 4, t = lane % 4;
  if (f->role == ROLE_B)
    return (spot){t * f->per_register, g};
  return (spot){g, t * (f->role == ROLE_A ? f->per_register : 2)};
}

/* ---- Products of f64, with fused multiply-adds ---- */

/* Where the first element of register r of lane 0 lies in a matrix stored row after row, and the
 * distances to the next g and the next t. */
typedef struct element_walk {
  unsigned first, g, t;
} element_walk;

static element_walk walk_of(const fragment *f, unsigned r, unsigned i) {
  spot from = spot_of_register(f, r, i), lane = spot_of_lane(f, 1);
  unsigned pitch = f->columns, first = from.row * pitch + from.column;
  return (element_walk){first, f->role == ROLE_B ? 1 : pitch, lane.row * pitch + lane.column};
}

/* The whole matrix, row after row. */
static void gather(const bf_emu_warp *warp, const fragment *f, double *matrix) {
  for (unsigned r = 0; r < f->registers; r++) {
    element_walk walk = walk_of(f, r, 0);
    const double *from = BF_LANES(const double, f->place[r]);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      matrix[walk.first + lane / 4 * walk.g + lane % 4 * walk.t] = from[lane];
  }
}

typedef struct product {
  fragment a, b, c, d;
  bool saturate;
  bool by_and;   /* b1: and instead of xor */
  bool is_mixed; /* a register of d is another one of c */
  bool is_sparse;
  uint32_t metadata;
  unsigned selector;
} product;

/* d = c + a b. */
static void multiply_doubles(bf_emu_warp *warp, const product *p, uint32_t lanes) {
  double a[MOST_ELEMENTS], b[MOST_ELEMENTS], d[MOST_ELEMENTS];
  unsigned n = p->b.columns, depth = p->a.columns;
  gather(warp, &p->a, a);
  gather(warp, &p->b, b);
  gather(warp, &p->c, d);
  for (unsigned row = 0; row < p->a.rows; row++)
    for (unsigned column = 0; column < n; column++)
      for (unsigned k = 0; k < depth; k++)
        d[row * n + column] = fma(a[row * depth + k], b[k * n + column], d[row * n + column]);
  for (unsigned r = 0; r < p->d.registers; r++) {
    element_walk walk = walk_of(&p->d, r, 0);
    double *to = BF_LANES(double, p->d.place[r]);
    BF_SET_LANES(lanes, to, d[walk.first + lane / 4 * walk.g + lane % 4 * walk.t]);
  }
}

/* ---- Other products: panel.h says how ---- */

/* A row after row. */
static void gather_rows(const bf_emu_warp *warp, const fragment *f, double *a) {
  unsigned depth = f->columns, span = 4 * f->per_register;
  for (unsigned r = 0; r < f->registers; r++) {
    const uint32_t *word = BF_LANES(const uint32_t, f->place[r]);
    double *to = a + f->part[r].line * 8 * depth + f->part[r].piece * span;
    for (unsigned row = 0; row < 8; row++)
      bf_unpack_piece(f->type, word + 4 * row, to + row * depth);
  }
}

/* B panel after panel. */
static void gather_panels(const bf_emu_warp *warp, const fragment *f, double *b) {
  unsigned depth = f->rows, span = 4 * f->per_register;
  for (unsigned r = 0; r < f->registers; r++)
    bf_panel_from_columns(f->type, BF_LANES(const uint32_t, f->place[r]),
                          b + (f->part[r].line * depth + f->part[r].piece * span) * BF_PANEL);
}

/* d = c + a b for all blocks of the accumulator. What is not written at once is written behind
 * them: where not all lanes take part, or a register of d is one of c that is read later. */
static void multiply(bf_emu_warp *warp, const product *p, const double *a, const uint8_t *line,
                     const double *b, uint32_t lanes) {
  uint32_t later[MOST_REGISTERS][BF_EMU_LANES];
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
static uint32_t word_of(const bf_emu_warp *warp, const fragment *f, unsigned line, unsigned w) {
  unsigned r = f->role == ROLE_A ? w / 4 * tile_height(f) + line / 8 : w / 4;
  return BF_LANES(const uint32_t, f->place[r])[line % 8 * 4 + w % 4];
}

/* d = c + number of ones in a xor b, or a and b, over the bits of a row and a column. */
static void multiply_bits(bf_emu_warp *warp, const product *p, uint32_t lanes) {
  uint32_t sum[MOST_REGISTERS][BF_EMU_LANES];
  for (unsigned r = 0; r < p->d.registers; r++) {
    memcpy(sum[r], BF_LANES(const uint32_t, p->c.place[r]), sizeof sum[r]);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
      spot from = spot_of_register(&p->d, r, 0), at = spot_of_lane(&p->d, lane);
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

/* Waits for all lanes of the warp; *lanes are then those that execute op. */
static bool meet_all(bf_emu_warp *warp, const bf_emu_op *op, uint32_t *lanes) {
  *lanes = BF_MASK();
  if (!*lanes)
    return true;
  if (!bf_emu_meet(warp, op, *lanes, UINT32_MAX))
    return false;
  *lanes = BF_MASK();
  return true;
}

/* mma and wmma.mma. */
static const bf_emu_op *run_product(bf_emu_warp *warp, const bf_emu_op *op) {
  const product *p = op->detail;
  double a[MOST_ELEMENTS], b[MOST_ELEMENTS];
  uint8_t line[MOST_ELEMENTS];
  uint32_t lanes;
  if (!meet_all(warp, op, &lanes))
    return NULL;
  if (p->a.type == BF_PTX_B1) {
    multiply_bits(warp, p, lanes);
  } else if (p->d.type == BF_PTX_F64) {
    multiply_doubles(warp, p, lanes);
  } else {
    if (p->is_sparse &&
        !bf_sparse_lines(warp, op, p->metadata, p->selector, p->a.type, p->a.columns, line))
      return NULL;
    gather_rows(warp, &p->a, a);
    gather_panels(warp, &p->b, b);
    multiply(warp, p, a, p->is_sparse ? line : NULL, b, lanes);
  }
  return op + 1;
}

/* ---- wmma.load and wmma.store ---- */

typedef struct matrix_transfer {
  fragment fragment;
  bf_emu_address address;
  uint32_t stride; /* place of the distance of rows (or columns) in elements */
  bool by_rows;    /* layout in memory */
  bool is_store;
} matrix_transfer;

/* Whether the elements of a register lie side by side in memory. */
static bool is_contiguous(const matrix_transfer *transfer) {
  return transfer->fragment.per_register == 1 ||
         transfer->by_rows == (transfer->fragment.role != ROLE_B);
}

/* Where lanes are in the matrix, in elements of memory from that of lane 0. */
static void lane_distances(const bf_emu_warp *warp, const matrix_transfer *transfer,
                           uint64_t *distance) {
  const uint32_t *stride = BF_LANES(const uint32_t, transfer->stride);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    spot at = spot_of_lane(&transfer->fragment, lane);
    distance[lane] = transfer->by_rows ? (uint64_t)at.row * stride[lane] + at.column
                                       : (uint64_t)at.column * stride[lane] + at.row;
  }
}

/* Addresses of element i of register r for all lanes. */
static void element_addresses(const bf_emu_warp *warp, const matrix_transfer *transfer, unsigned r,
                              unsigned i, const uint64_t *start, const uint64_t *distance,
                              uint64_t *address) {
  const uint32_t *stride = BF_LANES(const uint32_t, transfer->stride);
  spot from = spot_of_register(&transfer->fragment, r, i);
  uint64_t lines = transfer->by_rows ? from.row : from.column;
  uint64_t in_line = transfer->by_rows ? from.column : from.row, bits = transfer->fragment.bits;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    address[lane] = start[lane] + (distance[lane] + lines * stride[lane] + in_line) * bits / 8;
}

/* Moves a number of bytes between the registers of lanes and memory. */
#define MOVE(type)                                                                                 \
  BF_EACH_LANE(lanes, lane) {                                                                      \
    uint8_t *in_register = first + lane * step;                                                    \
    if (is_store)                                                                                  \
      memcpy(pointer[lane], in_register, sizeof(type));                                            \
    else                                                                                           \
      memcpy(in_register, pointer[lane], sizeof(type));                                            \
  }

/* Moves bytes between the registers, at a byte offset in each lane, and memory. */
static void move(bf_emu_warp *warp, const matrix_transfer *transfer, unsigned r, unsigned offset,
                 unsigned bytes, uint32_t lanes, uint8_t *const *pointer) {
  uint8_t *first = warp->registers + transfer->fragment.place[r] + offset;
  unsigned step = transfer->fragment.register_bytes;
  bool is_store = transfer->is_store;
  if (bytes == 1)
    MOVE(uint8_t)
  else if (bytes == 2)
    MOVE(uint16_t)
  else if (bytes == 4)
    MOVE(uint32_t)
  else
    MOVE(uint64_t)
}

/* Makes the copies of the registers just loaded. */
static void fill_copies(bf_emu_warp *warp, const fragment *f, uint32_t lanes) {
  for (unsigned r = f->registers; r < f->registers * f->copies; r++) {
    const uint32_t *from = BF_LANES(const uint32_t, f->place[r % f->registers]);
    uint32_t *to = BF_LANES(uint32_t, f->place[r]);
    BF_SET_LANES(lanes, to, from[lane]);
  }
}

/* wmma.load, wmma.store: a register is one access where its elements lie side by side in memory,
 * else one access per element. */
static const bf_emu_op *run_transfer(bf_emu_warp *warp, const bf_emu_op *op) {
  const matrix_transfer *transfer = op->detail;
  const fragment *f = &transfer->fragment;
  const bf_emu_address *from = &transfer->address;
  uint64_t start[BF_EMU_LANES], distance[BF_EMU_LANES], address[BF_EMU_LANES];
  uint8_t *pointer[BF_EMU_LANES];
  uint32_t lanes;
  if (!meet_all(warp, op, &lanes))
    return NULL;
  bool whole = is_contiguous(transfer);
  unsigned bytes = whole ? f->register_bytes : f->bits / 8;
  bf_near_access what = {from->space, transfer->is_store ? BF_OP_ST : BF_OP_LD, bytes, bytes,
                         transfer->is_store};
  bf_emu_addresses(warp, from->place, from->register_bytes, from->offset, start);
  lane_distances(warp, transfer, distance);
  for (unsigned r = 0; r < f->registers; r++)
    for (unsigned i = 0; i < (whole ? 1 : f->per_register); i++) {
      element_addresses(warp, transfer, r, i, start, distance, address);
      if (!bf_near_reach_at(warp, op, &what, lanes, address, pointer))
        return NULL;
      move(warp, transfer, r, i * bytes, bytes, lanes, pointer);
    }
  if (!transfer->is_store)
    fill_copies(warp, f, lanes);
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
  uint16_t half[64], across[64];
  uint32_t word[BF_EMU_LANES], *place = BF_LANES(uint32_t, rows->place[matrix]);
  if (rows->is_store)
    memcpy(half, place, sizeof half);
  else
    for (unsigned r = 0; r < 8; r++)
      memcpy(half + 8 * r, row[r], 16);
  for (unsigned i = 0; i < 64 && rows->transposed; i++)
    across[i] = half[i % 8 * 8 + i / 8];
  const uint16_t *from = rows->transposed ? across : half;
  if (rows->is_store) {
    for (unsigned r = 0; r < 8; r++)
      memcpy(row[r], from + 8 * r, 16);
  } else {
    memcpy(word, from, sizeof word);
    BF_SET_LANES(lanes, place, word[lane]);
  }
}

/* ldmatrix, stmatrix: lanes 8i to 8i+7 give the addresses of the rows of matrix i. */
static const bf_emu_op *run_rows(bf_emu_warp *warp, const bf_emu_op *op) {
  const matrix_rows *rows = op->detail;
  const bf_emu_address *from = &rows->address;
  uint8_t *pointer[BF_EMU_LANES];
  uint32_t lanes, needed = UINT32_MAX >> (32 - 8 * rows->matrices);
  if (!meet_all(warp, op, &lanes))
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
  if (!meet_all(warp, op, &lanes))
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

typedef struct matrix_shape {
  unsigned m, n, k;
} matrix_shape;

/* Reads the modifier mMnNkK; false where there is none. */
static bool read_shape(const bf_ptx_instruction *instruction, matrix_shape *shape) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (sscanf(instruction->modifier[i], "m%3un%3uk%3u", &shape->m, &shape->n, &shape->k) == 3)
      return true;
  return false;
}

/* Which part of the matrix each register has. */
static void find_parts(fragment *f) {
  unsigned span = 4 * f->per_register, height = tile_height(f), across = f->columns / 8;
  for (unsigned r = 0; r < f->registers && f->role != ROLE_C; r++) {
    spot from = spot_of_register(f, r, 0);
    f->part[r].line = (uint16_t)((f->role == ROLE_B ? from.column : from.row) / 8);
    f->part[r].piece = (uint16_t)((f->role == ROLE_B ? from.row : from.column) / span);
  }
  for (unsigned i = 0; i < f->rows / 8 && f->role == ROLE_C && f->bits != 64; i++)
    for (unsigned j = 0; j < across; j++) {
      unsigned pair = (i / height * across + j) * height + i % height;
      for (unsigned odd = 0; odd < 2; odd++)
        f->block[i * across + j][odd] = (uint8_t)(f->bits == 16 ? pair : 2 * pair + odd);
    }
}

/* The fragment of a role. False where the matrix does not fill whole registers. */
static bool make_fragment(matrix_role role, bf_ptx_type type, matrix_shape shape, fragment *f) {
  *f = (fragment){
      .role = role,
      .type = type,
      .rows = role == ROLE_B ? shape.k : shape.m,
      .columns = role == ROLE_A ? shape.k : shape.n,
      .bits = bf_matrix_bits(type),
  };
  if (!f->bits)
    return false;
  f->register_bytes = f->bits == 64 ? 8 : 4;
  f->per_register = f->register_bytes * 8 / f->bits;
  unsigned elements = f->rows * f->columns, per_register = 32 * f->per_register;
  f->registers = elements / per_register;
  unsigned span = 4 * f->per_register;
  unsigned down = role == ROLE_B ? 8 : f->rows, across = role == ROLE_A ? 8 : f->columns;
  if (elements % per_register || !f->registers || f->registers > MOST_REGISTERS)
    return false;
  if ((down != 8 && down % 16) || across % 8 || (elements > MOST_ELEMENTS && f->bits > 1))
    return false;
  if (role == ROLE_C ? f->rows / 8 * (f->columns / 8) > MOST_BLOCKS
                     : (role == ROLE_A ? f->columns : f->rows) % span != 0)
    return false;
  find_parts(f);
  return true;
}

/* Binds the registers of a fragment: a vector, or one register. More registers than needed are
 * copies. */
static bool bind_fragment(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bool is_written,
                          fragment *f) {
  bool is_vector = operand->kind == BF_PTX_VECTOR;
  const bf_ptx_operand *item = is_vector ? operand->item : operand;
  unsigned count = is_vector ? operand->count : 1;
  bf_ptx_type type = f->register_bytes == 8 ? BF_PTX_B64 : BF_PTX_B32;
  if (count > MOST_REGISTERS || count < f->registers || count % f->registers)
    return false;
  for (unsigned i = 0; i < count; i++) {
    if (item[i].kind != BF_PTX_SINK && bf_emu_register_bytes(&item[i], type) != f->register_bytes)
      return false;
    f->place[i] =
        is_written ? bf_emu_destination(decoder, &item[i]) : bf_emu_source(decoder, &item[i], type);
  }
  f->copies = count / f->registers;
  return true;
}

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
  matrix_shape shape;
  bool is_sparse = bf_ptx_has(instruction, "sp") || bf_ptx_has(instruction, "sp::ordered_metadata");
  if (!read_shape(instruction, &shape) || instruction->operands != (is_sparse ? 6 : 4) ||
      has_unknown(instruction) || !types_fit(a, b, c, d))
    return bf_emu_refuse(decoder, "matrix product of this form");
  bool narrow = !is_wmma || a == BF_PTX_B1;
  if (narrow && (shape.n != 8 || (shape.m != 8 && shape.m != 16) ||
                 (shape.m == 8 && !is_integer(a) && a != BF_PTX_F64)))
    return bf_emu_refuse(decoder, "mma of this shape and type");
  product *p = bf_emu_detail(decoder, sizeof *p);
  if (!p)
    return true;
  const bf_ptx_operand *operand = instruction->operand;
  matrix_shape of_a = {shape.m, shape.n, is_sparse ? shape.k / 2 : shape.k};
  p->is_sparse = is_sparse;
  if (!make_fragment(ROLE_A, a, of_a, &p->a) || !make_fragment(ROLE_B, b, shape, &p->b) ||
      !make_fragment(ROLE_C, c, shape, &p->c) || !make_fragment(ROLE_C, d, shape, &p->d) ||
      !bind_fragment(decoder, &operand[0], true, &p->d) ||
      !bind_fragment(decoder, &operand[1], false, &p->a) ||
      !bind_fragment(decoder, &operand[2], false, &p->b) ||
      !bind_fragment(decoder, &operand[3], false, &p->c))
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

/* The role of the matrix that a wmma.load or wmma.store names: the modifier behind load or store.
 */
static bool read_role(const bf_ptx_instruction *instruction, matrix_role *role) {
  for (unsigned i = 0; i + 1 < instruction->modifiers; i++) {
    if (strcmp(instruction->modifier[i], "load") && strcmp(instruction->modifier[i], "store"))
      continue;
    switch (instruction->modifier[i + 1][0]) {
    case 'a':
      *role = ROLE_A;
      return true;
    case 'b':
      *role = ROLE_B;
      return true;
    case 'c':
    case 'd':
      *role = ROLE_C;
      return true;
    default:
      return false;
    }
  }
  return false;
}

static bool select_transfer(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            bf_emu_op *op) {
  bool is_store = bf_ptx_has(instruction, "store"), by_rows = bf_ptx_has(instruction, "row");
  matrix_shape shape;
  matrix_role role;
  if (!read_shape(instruction, &shape) || !read_role(instruction, &role) ||
      instruction->types != 1 || instruction->operands < 2 ||
      by_rows == bf_ptx_has(instruction, "col"))
    return bf_emu_refuse(decoder, "wmma of this form");
  const bf_ptx_operand *address = &instruction->operand[is_store ? 0 : 1];
  const bf_ptx_operand *registers = &instruction->operand[is_store ? 1 : 0];
  matrix_transfer *transfer = bf_emu_detail(decoder, sizeof *transfer);
  if (!transfer)
    return true;
  fragment *f = &transfer->fragment;
  /* Elements of less than 8 bits can only be moved in whole registers. */
  transfer->by_rows = by_rows;
  transfer->is_store = is_store;
  if (!make_fragment(role, instruction->type[0], shape, f) ||
      !bind_fragment(decoder, registers, !is_store, f) || (f->bits < 8 && !is_contiguous(transfer)))
    return bf_emu_refuse(decoder, "wmma of this shape and type");
  transfer->address = bf_emu_bind_address(decoder, instruction, address,
                                          bf_ptx_address_space(instruction, address));
  if (instruction->operands == 3) {
    if (bf_emu_register_bytes(&instruction->operand[2], BF_PTX_U32) != 4)
      return bf_emu_refuse(decoder, "wmma with a stride that does not have 32 bits");
    transfer->stride = bf_emu_source(decoder, &instruction->operand[2], BF_PTX_U32);
  } else {
    transfer->stride = bf_emu_constant(decoder, by_rows ? f->columns : f->rows, 4);
  }
  op->detail = transfer;
  op->run = run_transfer;
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
    if (bf_ptx_has(instruction, "mma"))
      return select_product(decoder, instruction, op);
    return select_transfer(decoder, instruction, op);
  case BF_PTX_OP_LDMATRIX:
  case BF_PTX_OP_STMATRIX:
    return select_rows(decoder, instruction, op);
  case BF_PTX_OP_MOVMATRIX:
    return select_transpose(decoder, instruction, op);
  default:
    return false;
  }
}
