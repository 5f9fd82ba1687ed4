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
 * How products are summed: panel.h. */
#include "emu/descriptor.h"
#include "emu/panel.h"
#include "emu/proxy.h"
#include "emu/shadow.h"
#include "emu/sparse.h"
#include "emu/warp.h"

#include <stdio.h>
#include <stdlib.h>

bool BF_EMU_NAME(bf_emu_select_wgmma)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

enum {
  ROWS = 16, /* of a warp */
  MOST_COLUMNS = 256,
  MOST_DEPTH = 64, /* elements along K, but for bits */
  ROW_BYTES = 32,  /* of A along K, whatever the type; of a sparse A without what is left out */
  MOST_REGISTERS = 128,
  MOST_PIECES = MOST_COLUMNS * 4 /* of B: a sparse A has twice the K */
};

typedef struct wgmma {
  bf_ptx_type a_type, b_type;
  char a_name[8], b_name[8]; /* of the types */
  bf_sum_types sums;
  unsigned columns, depth; /* N and K */
  unsigned kept;           /* elements of a row of A: K, or half of it */
  unsigned registers;
  uint32_t d[MOST_REGISTERS];
  uint32_t a[4]; /* registers, or the descriptor at a[0] */
  uint32_t b;
  uint32_t scale, scale_flip; /* predicate: D is added to */
  uint32_t metadata;
  unsigned selector;
  bool a_in_registers, is_sparse;
  bool a_negated, b_negated, a_transposed, b_transposed;
} wgmma;

/* ---- Operands ---- */

/* The descriptor that all lanes hold; false: the launch has ended. */
static bool read_descriptor(bf_emu_warp *warp, const bf_emu_op *op, uint32_t place, char name,
                            uint64_t *found) {
  const uint64_t *bits = BF_LANES(const uint64_t, place);
  uint64_t apart = 0;
  for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
    apart |= bits[lane] ^ bits[0];
  for (unsigned lane = 1; lane < BF_EMU_LANES && apart; lane++)
    if (bits[lane] != bits[0])
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "the descriptor of %c differs between the threads of a warp",
                         name) != NULL;
  if (bits[0] & BF_EMU_DESCRIPTOR_UNUSED)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "the descriptor of %c, 0x%016llx, has bits set that must be 0", name,
                       (unsigned long long)bits[0]) != NULL;
  *found = bits[0];
  return true;
}

/* Says that a piece is not in the block's memory. */
static bool refuse_piece(bf_emu_warp *warp, const bf_emu_op *op, char name, uint32_t address,
                         uint32_t line, uint32_t piece) {
  bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, 0,
              "piece %u of line %u of %c is at shared address 0x%x, behind the %llu bytes of the "
              "block",
              piece, line, name, address, (unsigned long long)warp->block->shared_bytes);
  return false;
}

/* Whether a piece in the block's memory may be read, as far as is asked for; false: a fault. */
static bool may_read(bf_emu_warp *warp, const bf_emu_op *op, uint32_t address, unsigned width) {
  const bf_emu_block *block = warp->block;
  return (!block->shadow || bf_emu_shadow_read(warp, op, 0, block, address, 16)) &&
         bf_proxy_product(warp, op, address, width);
}

/* The memory of a piece; NULL: the launch has ended. */
static BF_ALWAYS_INLINE const uint8_t *reach_piece(bf_emu_warp *warp, const bf_emu_op *op,
                                                   char name, const bf_emu_descriptor *d,
                                                   bool is_k_major, uint32_t line, uint32_t piece) {
  uint32_t address = bf_emu_descriptor_piece(d, is_k_major, line, piece);
  bf_emu_block *block = warp->block;
  if ((uint64_t)address + 16 <= block->shared_bytes)
    return !block->is_checked || may_read(warp, op, address, d->width) ? block->shared + address
                                                                       : NULL;
  refuse_piece(warp, op, name, address, line, piece);
  return NULL;
}

/* Rows first on of a K-major A; type is that of A. */
static BF_ALWAYS_INLINE bool gather_rows(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_type type,
                                         const bf_emu_descriptor *d, unsigned first, unsigned kept,
                                         double *a) {
  unsigned per_piece = 128 / bf_matrix_bits(type);
  for (unsigned row = 0; row < ROWS; row++)
    for (unsigned p = 0; p < kept / per_piece; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'A', d, true, first + row, p);
      if (!piece)
        return false;
      bf_unpack_piece(type, piece, a + row * kept + p * per_piece);
    }
  return true;
}

/* Rows of A of this warp from shared memory, what.kept elements each. */
static bool gather_a(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, double *a) {
  uint64_t bits = 0;
  double value[16];
  unsigned kept = what->kept, first = warp->index % 4 * ROWS;
  if (!read_descriptor(warp, op, what->a[0], 'A', &bits))
    return false;
  bf_emu_descriptor d = bf_emu_descriptor_unpack(bits);
  if (!what->a_transposed)
    return what->a_type == BF_PTX_F16 /* which need not be asked for each piece */
               ? gather_rows(warp, op, BF_PTX_F16, &d, first, kept, a)
               : gather_rows(warp, op, what->a_type, &d, first, kept, a);
  for (unsigned k = 0; k < kept; k++)
    for (unsigned p = 0; p < ROWS / 8; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'A', &d, false, k, first / 8 + p);
      if (!piece)
        return false;
      bf_unpack_piece(what->a_type, piece, value);
      for (unsigned i = 0; i < 8; i++)
        a[(8 * p + i) * kept + k] = value[i];
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

static void gather_a_registers(const bf_emu_warp *warp, const wgmma *what, double *a) {
  unsigned per_piece = 128 / bf_matrix_bits(what->a_type);
  uint8_t bytes[ROW_BYTES];
  for (unsigned row = 0; row < ROWS; row++) {
    row_of_registers(warp, what, row, bytes);
    for (unsigned p = 0; p < what->kept / per_piece; p++)
      bf_unpack_piece(what->a_type, bytes + 16 * p, a + row * what->kept + p * per_piece);
  }
}

/* ---- B, which the four warps of a group share, and often several groups ---- */

/* How a matrix lies behind its base, a multiple of all swizzles: where its pieces are. Where all
 * pieces have their neighbour along the line beside them - a swizzle may exchange the two - both
 * are one span of bytes; else every piece is. */
typedef struct matrix_layout {
  uint64_t descriptor; /* without the base */
  bf_ptx_type type;
  unsigned columns, depth;
  bool transposed, has_pairs;
  unsigned lines, in_line, spans; /* pieces of a line; spans is 0 where nothing is known */
  uint32_t end;                   /* of the last piece */
  uint32_t address[MOST_PIECES], span[MOST_PIECES];
} matrix_layout;

/* A matrix that was read before: the bytes of its spans, and the numbers. It is used again where
 * the bytes are still the same. */
typedef struct known_matrix {
  matrix_layout at;
  uint32_t base;
  bool has_panels;
  uint8_t bytes[MOST_PIECES * 16];
  double panel[MOST_COLUMNS * MOST_DEPTH];
} known_matrix;

/* The part of a descriptor's start, in units of 16 bytes, that is the base. */
#define BASE_UNITS UINT64_C(0x3fc0)

enum { KNOWN_MATRICES = 8 };

struct bf_emu_matrices {
  unsigned next; /* that is replaced */
  known_matrix known[KNOWN_MATRICES];
};

/* The number of a piece. Of a K-major matrix those of 8 columns with the same p follow each other;
 * else those of a line. */
static unsigned number_of(const matrix_layout *b, unsigned line, unsigned p) {
  return b->transposed ? line * b->in_line + p : (line / 8 * b->in_line + p) * 8 + line % 8;
}

/* Where the pieces are. */
static void find_pieces(matrix_layout *b) {
  bf_emu_descriptor d = bf_emu_descriptor_unpack(b->descriptor);
  b->lines = b->transposed ? b->depth : b->columns;
  b->in_line = b->transposed ? b->columns / BF_PANEL : b->depth * bf_matrix_bits(b->type) / 128;
  b->has_pairs = b->in_line % 2 == 0;
  b->end = b->spans = 0;
  for (unsigned line = 0; line < b->lines; line++)
    for (unsigned p = 0; p < b->in_line; p++) {
      uint32_t address = bf_emu_descriptor_piece(&d, !b->transposed, line, p);
      b->address[number_of(b, line, p)] = address;
      b->has_pairs &= p % 2 == 0 || (b->address[number_of(b, line, p - 1)] ^ address) == 16;
      b->end = address + 16 > b->end ? address + 16 : b->end;
    }
  for (unsigned line = 0; line < b->lines; line++)
    for (unsigned p = 0; p < b->in_line; p += b->has_pairs ? 2 : 1) {
      uint32_t address = b->address[number_of(b, line, p)];
      b->span[b->spans++] = b->has_pairs ? address & ~UINT32_C(16) : address;
    }
}

/* Whether all pieces are in the block's memory and may be read; false: the launch has ended. */
static bool check_pieces(bf_emu_warp *warp, const bf_emu_op *op, const known_matrix *b) {
  uint64_t bytes = warp->block->shared_bytes;
  if ((uint64_t)b->base + b->at.end <= bytes && !warp->block->is_checked)
    return true;
  unsigned width = bf_emu_descriptor_unpack(b->at.descriptor).width;
  for (unsigned line = 0; line < b->at.lines; line++)
    for (unsigned p = 0; p < b->at.in_line; p++) {
      uint32_t address = b->base + b->at.address[number_of(&b->at, line, p)];
      if ((uint64_t)address + 16 > bytes)
        return refuse_piece(warp, op, 'B', address, line, p);
      if (!may_read(warp, op, address, width))
        return false;
    }
  return true;
}

typedef uint64_t span_bits __attribute__((vector_size(32)));

/* Whether spans of so many bytes are what they were. */
static BF_ALWAYS_INLINE bool are_same(const uint8_t *shared, const known_matrix *b,
                                      unsigned bytes) {
  const uint8_t *own = b->bytes;
  span_bits changed = {0};
  BF_UNROLL
  for (unsigned i = 0; i < b->at.spans; i++, own += bytes) {
    span_bits now = {0}, before = {0};
    memcpy(&now, shared + b->at.span[i], bytes);
    memcpy(&before, own, bytes);
    changed |= now ^ before;
  }
  return (changed[0] | changed[1] | changed[2] | changed[3]) == 0;
}

static void keep_spans(const uint8_t *shared, known_matrix *b) {
  unsigned bytes = b->at.has_pairs ? 32 : 16;
  for (unsigned i = 0; i < b->at.spans; i++)
    memcpy(b->bytes + (size_t)i * bytes, shared + b->at.span[i], bytes);
}

static void make_panels(const uint8_t *shared, known_matrix *b) {
  bf_ptx_type type = b->at.type;
  unsigned depth = b->at.depth, panels = b->at.columns / BF_PANEL;
  unsigned per_piece = 128 / bf_matrix_bits(type);
  uint8_t piece[BF_PANEL * 16];
  for (unsigned panel = 0; panel < panels; panel++) {
    double *to = b->panel + (size_t)panel * BF_PANEL * depth;
    for (unsigned k = 0; b->at.transposed && k < depth; k++)
      bf_panel_from_line(type, shared + b->at.address[k * panels + panel], to + 8 * k);
    for (unsigned p = 0; !b->at.transposed && p < b->at.in_line; p++) {
      const uint32_t *address = b->at.address + (panel * b->at.in_line + p) * BF_PANEL;
      for (unsigned i = 0; i < BF_PANEL; i++)
        memcpy(piece + 16 * i, shared + address[i], 16);
      bf_panel_from_columns(type, piece, to + (size_t)p * per_piece * BF_PANEL);
    }
  }
}

/* Whether a matrix is known to lie like this behind its base. */
static bool lies_like(const known_matrix *b, const wgmma *what, uint64_t descriptor) {
  return b->at.spans && b->at.descriptor == descriptor && b->at.type == what->b_type &&
         b->at.columns == what->columns && b->at.depth == what->depth &&
         b->at.transposed == what->b_transposed;
}

/* The place for a matrix: the one that has it, or the next one. NULL: out of memory. */
static known_matrix *place_for(bf_emu_warp *warp, const wgmma *what, uint64_t bits) {
  struct bf_emu_matrices *all = warp->worker->matrices;
  uint32_t base = (uint32_t)(bits & BASE_UNITS) << 4;
  uint64_t descriptor = bits & ~BASE_UNITS;
  const known_matrix *like = NULL;
  if (!all)
    all = warp->worker->matrices = calloc(1, sizeof *all);
  if (!all)
    return NULL;
  for (unsigned i = 0; i < KNOWN_MATRICES; i++) {
    known_matrix *b = &all->known[i];
    if (!lies_like(b, what, descriptor))
      continue;
    if (b->base == base)
      return b;
    like = b;
  }
  known_matrix *b = &all->known[all->next++ % KNOWN_MATRICES];
  b->base = base;
  b->has_panels = false;
  if (lies_like(b, what, descriptor))
    return b;
  if (like) {
    b->at = like->at;
    return b;
  }
  b->at.descriptor = descriptor;
  b->at.type = what->b_type;
  b->at.columns = what->columns;
  b->at.depth = what->depth;
  b->at.transposed = what->b_transposed;
  find_pieces(&b->at);
  return b;
}

/* B of this product; NULL: the launch has ended. */
static const known_matrix *gather_b(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what) {
  uint64_t descriptor = 0;
  if (!read_descriptor(warp, op, what->b, 'B', &descriptor))
    return NULL;
  known_matrix *b = place_for(warp, what, descriptor);
  if (!b) {
    bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, 0, "out of memory");
    return NULL;
  }
  if (!check_pieces(warp, op, b))
    return NULL;
  const uint8_t *shared = warp->block->shared + b->base;
  bool is_same =
      b->has_panels && (b->at.has_pairs ? are_same(shared, b, 32) : are_same(shared, b, 16));
  if (is_same)
    return b;
  keep_spans(shared, b);
  if (b->at.type != BF_PTX_B1)
    make_panels(shared, b);
  b->has_panels = true;
  return b;
}

/* ---- Products ---- */

/* Rows i * 8 on and columns j * 8 on of the accumulator. */
static bf_sums sums_of(bf_emu_warp *warp, const wgmma *what, unsigned i, unsigned j, bool adds) {
  unsigned pair = 2 * j + i;
  bool is_half = what->sums.d == BF_PTX_F16;
  bf_sums sums;
  for (unsigned odd = 0; odd < 2; odd++) {
    sums.d[odd] = BF_LANES(uint32_t, what->d[is_half ? pair : 2 * pair + odd]);
    sums.c[odd] = adds ? sums.d[odd] : bf_no_sums;
  }
  return sums;
}

/* d += number of ones in a and b, of 256 bits each. */
static bool multiply_bits(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, bool adds) {
  uint64_t a[ROWS][4], at_a = 0;
  const known_matrix *b = gather_b(warp, op, what);
  if (!b || (!what->a_in_registers && !read_descriptor(warp, op, what->a[0], 'A', &at_a)))
    return false;
  bf_emu_descriptor d = bf_emu_descriptor_unpack(at_a);
  for (unsigned row = 0; row < ROWS; row++) {
    if (what->a_in_registers)
      row_of_registers(warp, what, row, (uint8_t *)a[row]);
    for (unsigned p = 0; p < 2 && !what->a_in_registers; p++) {
      const uint8_t *piece = reach_piece(warp, op, 'A', &d, true, warp->index % 4 * ROWS + row, p);
      if (!piece)
        return false;
      memcpy(&a[row][2 * p], piece, 16);
    }
  }
  for (unsigned row = 0; row < ROWS; row++)
    for (unsigned column = 0; column < what->columns; column++) {
      bf_sums sums = sums_of(warp, what, row / 8, column / 8, adds);
      uint32_t *to = sums.d[column % 2] + row % 8 * 4 + column % 8 / 2;
      uint32_t ones = adds ? *to : 0;
      for (unsigned p = 0; p < 2; p++) {
        uint64_t word[2];
        memcpy(word, warp->block->shared + b->base + b->at.address[number_of(&b->at, column, p)],
               16);
        ones += (uint32_t)__builtin_popcountll(a[row][2 * p] & word[0]) +
                (uint32_t)__builtin_popcountll(a[row][2 * p + 1] & word[1]);
      }
      *to = ones;
    }
  return true;
}

static void negate(double *value, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    value[i] = -value[i];
}

/* Computes the rows of this warp; false: the launch has ended. */
static bool compute(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what, bool adds) {
  double a[ROWS * MOST_DEPTH];
  uint8_t line[ROWS * MOST_DEPTH];
  unsigned kept = what->kept;
  if (what->a_type == BF_PTX_B1)
    return multiply_bits(warp, op, what, adds);
  if (what->a_in_registers)
    gather_a_registers(warp, what, a);
  else if (!gather_a(warp, op, what, a))
    return false;
  if (what->is_sparse &&
      !bf_sparse_lines(warp, op, what->metadata, what->selector, what->a_type, kept, true, line))
    return false;
  const known_matrix *b = gather_b(warp, op, what);
  if (!b)
    return false;
  if (what->a_negated != what->b_negated)
    negate(a, ROWS * kept);
  for (unsigned j = 0; j < what->columns / BF_PANEL; j++)
    for (unsigned i = 0; i < ROWS / BF_PANEL; i++) {
      const double *panel = b->panel + (size_t)j * BF_PANEL * what->depth;
      bf_sums sums = sums_of(warp, what, i, j, adds);
      if (what->is_sparse)
        bf_multiply_sparse(what->sums, &sums, a + i * BF_PANEL * kept, line + i * BF_PANEL * kept,
                           panel, kept);
      else
        bf_multiply_block(what->sums, &sums, a + i * BF_PANEL * kept, panel, kept);
    }
  return true;
}

/* An operand in shared memory as observers see it; rows are along M or N. */
static bf_operand describe(const bf_emu_warp *warp, uint32_t place, bf_ptx_type type,
                           const char name[8], unsigned rows, unsigned depth, bool is_turned) {
  bf_emu_descriptor d = bf_emu_descriptor_unpack(BF_LANES(const uint64_t, place)[0]);
  bf_operand made = {.rows = rows,
                     .columns = depth,
                     .bytes = rows * depth * bf_matrix_bits(type) / 8,
                     .swizzle_bytes = d.mask ? (uint16_t)d.width : 0,
                     .is_turned = is_turned};
  memcpy(made.type, name, sizeof made.type);
  unsigned lines = is_turned ? depth : rows;
  unsigned pieces = (is_turned ? rows : depth) * bf_matrix_bits(type) / 128;
  made.first = d.start & ~d.mask;
  made.end = (bf_emu_descriptor_piece(&d, !is_turned, lines - 1, pieces - 1) | d.mask) + 16;
  return made;
}

/* Tells the observer what the four warps read from shared memory. */
static void tell(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what) {
  if (!warp->worker->flight->observer)
    return;
  bf_operand operand[BF_OPERANDS] = {{0}};
  if (!what->a_in_registers)
    operand[BF_OPERAND_A] = describe(warp, what->a[0], what->a_type, what->a_name, 4 * ROWS,
                                     what->kept, what->a_transposed);
  operand[BF_OPERAND_B] = describe(warp, what->b, what->b_type, what->b_name, what->columns,
                                   what->depth, what->b_transposed);
  bf_emu_tell_operands(warp, op, operand);
}

/* The line of the PTX of an operation of the warp. */
static unsigned long long line_of(const bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_code *code = warp->frame->code;
  uint32_t index = code->instruction[op - code->op];
  return index < code->function->instructions ? code->function->instruction[index]->line : 0;
}

/* Notes a product of this warp, and compares it with the one of the same number of another warp of
 * the group that is already there: all four execute the same, with the same descriptors. False: the
 * launch has ended. */
static bool note(bf_emu_warp *warp, const bf_emu_op *op, const wgmma *what) {
  bf_emu_wgmma_done own = {op, what->a_in_registers ? 0 : BF_LANES(const uint64_t, what->a[0])[0],
                           BF_LANES(const uint64_t, what->b)[0]};
  uint32_t number = warp->products++;
  warp->done[number % BF_EMU_WGMMA_KEPT] = own;
  for (unsigned i = warp->index / 4 * 4; i < warp->index / 4 * 4 + 4; i++) {
    const bf_emu_warp *other = &warp->block->warp[i];
    const bf_emu_wgmma_done *its = &other->done[number % BF_EMU_WGMMA_KEPT];
    if (i == warp->index || other->products - number - 1 >= BF_EMU_WGMMA_KEPT)
      continue; /* not yet, or forgotten */
    if (its->op != op)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                         "warp %u of the group has executed the wgmma of PTX line %llu in place of "
                         "this: all four must execute the same",
                         i % 4, line_of(other, its->op)) != NULL;
    if (its->a != own.a || its->b != own.b)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                         "the descriptor of %c is 0x%llx; in warp %u of the group it is 0x%llx: "
                         "all four must have the same",
                         its->a != own.a ? 'A' : 'B',
                         (unsigned long long)(its->a != own.a ? own.a : own.b), i % 4,
                         (unsigned long long)(its->a != own.a ? its->a : its->b)) != NULL;
    return true;
  }
  return true;
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
  uint32_t adds = BF_PREDICATE(what->scale) ^ what->scale_flip;
  if (!compute(warp, op, what, adds != 0) || !note(warp, op, what))
    return NULL;
  if (warp->index % 4 == 0)
    tell(warp, op, what);
  warp->product = op;
  return op + 1;
}

static const bf_emu_op *run_commit(bf_emu_warp *warp, const bf_emu_op *op) {
  if (BF_MASK()) {
    warp->product = NULL;
    bf_proxy_products_commit(warp);
  }
  return op + 1;
}

/* Whether the warps of the group have executed as many products; looked at by the last that comes
 * to wait. Else the launch ends. */
static bool agree(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_block *block = warp->block;
  unsigned first = warp->index / 4 * 4;
  if (block->barrier[BF_EMU_NAMED_BARRIERS + first / 4].arrived != 3 * BF_EMU_LANES ||
      warp->worker->clock)
    return true;
  for (unsigned i = first; i < first + 4; i++)
    if (block->warp[i].products != warp->products)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, BF_FIRST_LANE(warp->active),
                         "warp %u of the group has executed %u products by wgmma, this one, %u, "
                         "has %u: all four must execute each together",
                         i % 4, block->warp[i].products, warp->index % 4, warp->products) != NULL;
  return true;
}

/* wgmma.wait_group of all groups but the last `immediate`. Products that no commit_group has put
 * into a group are not waited for, which whoever waits for all of them does not mean. */
static const bf_emu_op *run_wait(bf_emu_warp *warp, const bf_emu_op *op) {
  if (!op->immediate && warp->product && warp->worker->flight->races && BF_MASK())
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, BF_FIRST_LANE(BF_MASK()),
                       "wgmma.wait_group waits for groups, and the last products are in none: "
                       "wgmma.commit_group is missing before it");
  if (BF_MASK())
    bf_proxy_products_wait(warp, op->immediate);
  if (BF_MASK() == UINT32_MAX && !agree(warp, op))
    return NULL;
  return bf_emu_wait_for_group(warp, op);
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
  bf_ptx_type a = what->a_type, b = what->b_type, d = what->sums.d;
  bool is_float8 = (a == BF_PTX_E4M3 || a == BF_PTX_E5M2) && (b == BF_PTX_E4M3 || b == BF_PTX_E5M2);
  bool is_byte = (a == BF_PTX_S8 || a == BF_PTX_U8) && (b == BF_PTX_S8 || b == BF_PTX_U8);
  if (what->kept * bf_matrix_bits(a) / 8 != ROW_BYTES)
    return false;
  if (is_byte || a == BF_PTX_B1)
    return d == BF_PTX_S32 && (is_byte || (b == BF_PTX_B1 && !what->is_sparse));
  if (is_float8 || (a == BF_PTX_F16 && b == a))
    return d == BF_PTX_F32 || d == BF_PTX_F16;
  return (a == BF_PTX_BF16 || a == BF_PTX_TF32) && b == a && d == BF_PTX_F32;
}

static bool bind_accumulator(bf_emu_decoder *decoder, const bf_ptx_operand *operand, wgmma *what) {
  what->registers = what->columns / (what->sums.d == BF_PTX_F16 ? 4 : 2);
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
  if ((what->a_transposed || what->b_transposed) && bf_matrix_bits(what->a_type) != 16)
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
  if (instruction->types < 3 || instruction->operands < 4 ||
      !read_shape(instruction, &what->columns, &what->depth))
    return bf_emu_refuse(decoder, "shape or types of this kind");
  what->kept = what->depth / (what->is_sparse ? 2 : 1);
  what->sums.c = what->sums.d = instruction->type[0];
  what->a_type = instruction->type[1];
  what->b_type = instruction->type[2];
  snprintf(what->a_name, sizeof what->a_name, "%s", bf_ptx_type_name(what->a_type));
  snprintf(what->b_name, sizeof what->b_name, "%s", bf_ptx_type_name(what->b_type));
  what->sums.saturate = bf_ptx_has(instruction, "satfinite");
  if (!check_types(what))
    return bf_emu_refuse(decoder, "shape or types of this kind");
  op->detail = what;
  op->run = run_product;
  unsigned inputs = what->is_sparse ? 5 : 3;
  if (instruction->operands <= inputs)
    return bf_emu_refuse(decoder, "no scale-d");
  return !bind_accumulator(decoder, &operand[0], what) || !bind_inputs(decoder, operand, what) ||
         (what->is_sparse && !bf_sparse_bind(decoder, operand + 3, what->a_type, what->kept,
                                             &what->metadata, &what->selector)) ||
         !bind_scales(decoder, operand + inputs, instruction->operands - inputs, what) || true;
}

bool BF_EMU_NAME(bf_emu_select_wgmma)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  if (instruction->opcode != BF_PTX_OP_WGMMA)
    return false;
  if (bf_ptx_has(instruction, "mma_async"))
    return select_product(decoder, instruction, op);
  bool waits = bf_ptx_has(instruction, "wait_group");
  if (waits && instruction->operands == 1 && instruction->operand[0].kind == BF_PTX_INTEGER)
    op->immediate = instruction->operand[0].bits;
  op->run = waits ? run_wait : bf_ptx_has(instruction, "commit_group") ? run_commit : run_nothing;
  return true;
}
