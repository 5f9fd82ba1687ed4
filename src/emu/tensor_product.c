/* tcgen05.mma, cp and shift, of a block or of a pair of blocks.
 *
 * Where matrices lie, by the PTX ISA. A block has rows r of D, all of them or, of a pair, half: of
 * 128 in lanes r; of 64 in lanes r / 16 * 32 + r % 16. Pairs with 64 rows each, and mma.ws, fold
 * the columns instead: with N columns in F parts, column j of row r is in lane r + rows * (j / (N /
 * F)) and column j % (N / F) of the memory; F is 2 for 64 rows and 4 for 32. One element takes 32
 * bits. A in tensor memory has its rows in lanes r too, with elements packed along K. In shared
 * memory matrices lie as for wgmma (descriptor.h); of a pair each block has half of the rows of A
 * and half of the columns of B. K is 32 bytes; elements of 6 and 4 bits come 16 in each 16 bytes,
 * packed at their beginning, but for the kinds mxf4 and mxf4nvf4, where 32 are there.
 *
 * Scales are bytes in tensor memory: those of line i (a row of A that the block has, or any column
 * of B) are in lane i % 32 and column i / 32, from the byte on that the instruction descriptor
 * names, one for each block of 32 (or 16) elements along K. */
#include "emu/cluster.h"
#include "emu/descriptor.h"
#include "emu/element.h"
#include "emu/late.h"
#include "emu/race.h"
#include "emu/tensor_cells.h"
#include "emu/tensor_core.h"

#include <math.h>
#include <stdlib.h>

typedef enum product_kind { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 } product_kind;

/* Formats of elements, as instruction descriptors number them for each kind; PACKED is e2m1. */
typedef enum element_format {
  HALF,
  BRAIN,
  WORD,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  PACKED,
  UNSIGNED,
  SIGNED
} element_format;

/* Something noted: a product, a copy or a shift. */
typedef struct bf_tensor_noted {
  struct bf_tensor_noted *next;
  uint64_t number; /* of the commit behind it */
  unsigned site, thread;
  enum { PRODUCT, COPY, SHIFT } what;
  bool is_pair;
  uint32_t d; /* address in tensor memory */
  /* Of a product. */
  product_kind kind;
  element_format a_format, b_format;
  bf_ptx_type d_type;
  unsigned rows, columns; /* of D, in both blocks */
  bool is_folded;         /* mma.ws */
  bool adds, a_negated, b_negated, a_transposed, b_transposed, saturate, a_in_tensor;
  uint32_t a;
  bf_emu_descriptor a_at, b_at;
  uint32_t a_scale, b_scale;
  unsigned a_scale_byte, b_scale_byte;
  unsigned scales; /* along K, for each line; 0: none */
  bool scale_is_e4m3;
  int d_shift; /* D is divided by 2 to this */
  uint32_t disabled[8];
  /* Of a copy: rows of bytes, and to which lanes each 32 of them go. */
  unsigned copy_rows, copy_bytes;
  uint8_t copy_warps[4]; /* of each 32 rows: a bit for each 32 lanes */
} noted;

/* ---- Elements ---- */

/* A small floating-point number without infinities: sign, exponent, mantissa. */
static double small_float(unsigned bits, unsigned exponent_bits, unsigned mantissa_bits, int bias) {
  unsigned exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  double value = exponent ? ldexp(1.0 + ldexp(mantissa, -(int)mantissa_bits), (int)exponent - bias)
                          : ldexp(mantissa, 1 - bias - (int)mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

/* Bits i * width to i * width + width - 1 of bytes. */
static unsigned bit_field(const uint8_t *bytes, unsigned i, unsigned width) {
  unsigned value = 0;
  for (unsigned b = 0; b < width; b++)
    value |= (unsigned)(bytes[(i * width + b) / 8] >> (i * width + b) % 8 & 1) << b;
  return value;
}

/* The elements of 16 bytes. */
static void unpack(element_format format, const uint8_t *piece, double *value) {
  static const bf_ptx_type types[] = {
      [HALF] = BF_PTX_F16,  [BRAIN] = BF_PTX_BF16,  [WORD] = BF_PTX_TF32, [E4M3] = BF_PTX_E4M3,
      [E5M2] = BF_PTX_E5M2, [UNSIGNED] = BF_PTX_U8, [SIGNED] = BF_PTX_S8};
  switch (format) {
  case PACKED:
    for (unsigned i = 0; i < 32; i++)
      value[i] = small_float(bit_field(piece, i, 4), 2, 1, 1);
    return;
  case E2M3:
  case E3M2:
  case E2M1:
    for (unsigned i = 0; i < 16; i++)
      value[i] = format == E2M3   ? small_float(bit_field(piece, i, 6), 2, 3, 1)
                 : format == E3M2 ? small_float(bit_field(piece, i, 6), 3, 2, 3)
                                  : small_float(bit_field(piece, i, 4), 2, 1, 1);
    return;
  default:
    bf_unpack_piece(types[format], piece, value);
    return;
  }
}

/* Elements of 16 bytes. */
static unsigned per_piece(element_format format) {
  return format == WORD ? 4 : format == HALF || format == BRAIN ? 8 : format == PACKED ? 32 : 16;
}

/* ---- Doing ---- */

/* Rows of D in a block. */
static unsigned own_rows(const noted *op) { return op->is_pair ? op->rows / 2 : op->rows; }

/* Parts that the columns are folded into. */
static unsigned folds(const noted *op) {
  return op->is_folded || op->is_pair ? BF_TENSOR_LANES / own_rows(op) : 1;
}

/* The lane and the column of an element of D, of a row of its block. */
static void place_of(const noted *op, unsigned row, unsigned column, unsigned *lane, unsigned *at) {
  unsigned rows = own_rows(op), part = op->columns / folds(op);
  *lane = folds(op) > 1 ? row + rows * (column / part)
          : rows == 64  ? row / 16 * 32 + row % 16
                        : row;
  *at = column % part;
}

/* A matrix in shared memory: lines of K elements. */
static void gather(const bf_emu_block *block, const bf_emu_descriptor *at, element_format format,
                   bool transposed, unsigned lines, float (*matrix)[BF_TENSOR_DEPTH]) {
  unsigned per = per_piece(format), k = 2 * per;
  double value[32];
  for (unsigned line = 0; line < (transposed ? k : lines); line++)
    for (unsigned piece = 0; piece < (transposed ? lines / per : 2); piece++) {
      unpack(format, block->shared + bf_emu_descriptor_piece(at, !transposed, line, piece), value);
      for (unsigned i = 0; i < per; i++)
        if (transposed)
          matrix[piece * per + i][line] = (float)value[i];
        else
          matrix[line][piece * per + i] = (float)value[i];
    }
}

/* A in tensor memory. */
static void gather_tensor(bf_tensor_memory *tensor, const noted *op,
                          float (*matrix)[BF_TENSOR_DEPTH]) {
  unsigned per = per_piece(op->a_format), lane, at;
  double value[32];
  for (unsigned row = 0; row < own_rows(op); row++)
    for (unsigned piece = 0; piece < 2; piece++) {
      place_of(op, row, 0, &lane, &at);
      unpack(op->a_format, (const uint8_t *)bf_tensor_cell(tensor, op->a, lane, 4 * piece), value);
      for (unsigned i = 0; i < per; i++)
        matrix[row][piece * per + i] = (float)value[i];
    }
}

static double from_cell(bf_ptx_type type, uint32_t bits) {
  return type == BF_PTX_F16   ? bf_emu_half_to_float((uint16_t)bits)
         : type == BF_PTX_F32 ? bf_emu_bits_float(bits)
                              : (double)(int32_t)bits;
}

static uint32_t to_cell(bf_ptx_type type, double value, bool saturate) {
  return type == BF_PTX_F16   ? bf_sum_to_half(value)
         : type == BF_PTX_F32 ? bf_emu_float_bits(bf_emu_canonical((float)value))
                              : bf_sum_to_s32(value, saturate);
}

/* The scale of part i along K of a row of A or a column of B. */
static double scale_at(bf_tensor_memory *tensor, const noted *op, uint32_t address, unsigned byte,
                       unsigned line, unsigned i) {
  uint32_t bits = *bf_tensor_cell(tensor, address, line % 32, line / 32) >> 8 * (byte + i) & 0xff;
  if (op->scale_is_e4m3)
    return (bits & 0x7f) == 0x7f ? NAN : small_float(bits & 0x7f, 4, 3, 7);
  return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
}

/* Rows of D in one block of the pair, from the factors that the issuing block has. */
static void multiply_rows(const noted *op, const bf_tensor_memory *factors,
                          bf_tensor_memory *tensor, unsigned half) {
  unsigned k = 2 * per_piece(op->a_format), parts = op->scales ? op->scales : 1, lane, at;
  double sign = op->a_negated != op->b_negated ? -1 : 1;
  for (unsigned row = 0; row < own_rows(op); row++)
    for (unsigned column = 0; column < op->columns; column++) {
      const float *a = factors->a[half * own_rows(op) + row], *b = factors->b[column];
      place_of(op, row, column, &lane, &at);
      if (op->disabled[half * 4 + lane / 32] >> lane % 32 & 1)
        continue;
      uint32_t *cell = bf_tensor_cell(tensor, op->d, lane, at);
      double sum = op->adds ? ldexp(from_cell(op->d_type, *cell), -op->d_shift) : 0;
      for (unsigned part = 0; part < parts; part++) {
        double scale = sign;
        if (op->scales)
          scale *= scale_at(tensor, op, op->a_scale, op->a_scale_byte, row, part) *
                   scale_at(tensor, op, op->b_scale, op->b_scale_byte, column, part);
        for (unsigned i = part * k / parts; i < (part + 1) * k / parts; i++)
          sum += scale * a[i] * b[i];
      }
      *cell = to_cell(op->d_type, sum, op->saturate);
    }
}

/* A product that own has noted. */
static void multiply(bf_tensor_memory *own, bf_emu_block *const *block, unsigned blocks,
                     const noted *op) {
  unsigned rows = own_rows(op), columns = op->columns / blocks;
  for (unsigned half = 0; half < blocks; half++) {
    if (op->a_in_tensor)
      gather_tensor(block[half]->tensor, op, own->a + half * rows);
    else
      gather(block[half], &op->a_at, op->a_format, op->a_transposed, rows, own->a + half * rows);
    gather(block[half], &op->b_at, op->b_format, op->b_transposed, columns,
           own->b + half * columns);
  }
  for (unsigned half = 0; half < blocks; half++)
    multiply_rows(op, own, block[half]->tensor, half);
}

/* Rows of shared memory to lanes. */
static void copy(const bf_emu_block *block, const noted *op) {
  for (unsigned row = 0; row < op->copy_rows; row++)
    for (unsigned piece = 0; piece < op->copy_bytes / 16; piece++)
      for (unsigned warp = 0; warp < 4; warp++)
        if (op->copy_warps[row / 32] >> warp & 1)
          memcpy(bf_tensor_cell(block->tensor, op->d, 32 * warp + row % 32, 4 * piece),
                 block->shared + bf_emu_descriptor_piece(&op->a_at, true, row, piece), 16);
}

/* Lanes move down by one, in all columns from that of the address on for 32 bytes. */
static void shift(bf_tensor_memory *tensor, const noted *op) {
  for (unsigned lane = op->d >> 16; lane + 1 < BF_TENSOR_LANES; lane++)
    memcpy(&tensor->cell[lane][op->d & 0xffff], &tensor->cell[lane + 1][op->d & 0xffff], 32);
}

/* What was noted by a block, with the other of its pair where it is for both. */
static void do_noted(bf_emu_block *own, const noted *op) {
  bf_emu_block *block[2] = {own, NULL};
  unsigned blocks = 1;
  if (op->is_pair) {
    block[0] = own->cluster->block[own->rank & ~1u];
    block[1] = own->cluster->block[own->rank | 1u];
    blocks = 2;
  }
  if (op->what == PRODUCT)
    multiply(own->tensor, block, blocks, op);
  for (unsigned i = 0; i < blocks && op->what != PRODUCT; i++)
    if (op->what == COPY)
      copy(block[i], op);
    else
      shift(block[i]->tensor, op);
}

void bf_emu_tensor_run(bf_emu_block *block, uint64_t number) {
  bf_tensor_memory *tensor = block->tensor;
  while (tensor && tensor->first && tensor->first->number <= number) {
    noted *op = tensor->first;
    do_noted(block, op);
    tensor->first = op->next;
    free(op);
  }
  if (tensor && !tensor->first)
    tensor->last = NULL;
}

void bf_tensor_drop(bf_tensor_memory *tensor) {
  for (noted *op = tensor ? tensor->first : NULL, *next; op; op = next) {
    next = op->next;
    free(op);
  }
}

/* ---- Noting ---- */

/* What a noted operation is made from. */
typedef struct core_product {
  noted like;
  bf_emu_address d, a_in_tensor, a_scale, b_scale;
  uint32_t a, b, descriptor, adds, adds_flip, disabled[8];
  unsigned lane_words; /* of the mask of lanes that are not written */
} core_product;

static bool note(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, const noted *what) {
  bf_tensor_memory *tensor = bf_tensor_of(warp, op, lane, warp->block);
  noted *kept = tensor ? malloc(sizeof *kept) : NULL;
  if (!kept)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, lane, "out of memory") != NULL;
  *kept = *what;
  kept->next = NULL;
  kept->number = tensor->commits;
  kept->site = op->site;
  kept->thread = warp->index * BF_EMU_LANES + lane;
  if (tensor->last)
    tensor->last->next = kept;
  else
    tensor->first = kept;
  tensor->last = kept;
  return true;
}

/* Columns from d on that something noted writes. */
static unsigned columns_written(const noted *op) {
  return op->what == PRODUCT ? op->columns / folds(op) : op->what == COPY ? op->copy_bytes / 4 : 8;
}

/* What a block has noted that writes some of so many columns; NULL: nothing. pairs: of what is done
 * in both blocks of a pair alone. */
static const noted *find_writer(const bf_emu_block *block, uint32_t address, unsigned columns,
                                bool pairs) {
  uint32_t column = address & 0xffff;
  for (const noted *op = block->tensor ? block->tensor->first : NULL; op; op = op->next) {
    uint32_t first = op->d & 0xffff;
    if ((op->is_pair || !pairs) && first < column + columns && column < first + columns_written(op))
      return op;
  }
  return NULL;
}

bool bf_tensor_is_settled(bf_emu_warp *warp, const bf_emu_op *op, uint32_t address,
                          unsigned columns) {
  const bf_emu_flight *flight = warp->worker->flight;
  const bf_emu_block *block = warp->block;
  const bf_emu_cluster *cluster = block->cluster;
  if (!flight->races)
    return true;
  const noted *writer = find_writer(block, address, columns, false);
  if (!writer && cluster && (block->rank | 1u) < cluster->count)
    writer = find_writer(cluster->block[block->rank ^ 1u], address, columns, true);
  if (!writer)
    return true;
  char thread[48], line[200] = "";
  bf_race_put_place(thread, sizeof thread, writer->thread, flight->launch->block);
  bf_race_put_line(line, sizeof line, flight->kernel, writer->site);
  return bf_emu_fail(warp, op, BF_EMU_RACE, 0,
                     "column %u of tensor memory: thread %s has issued what writes there%s, and "
                     "nobody has waited at an mbarrier for a commit of it",
                     (writer->d & 0xffff) > (address & 0xffff) ? writer->d & 0xffff
                                                               : address & 0xffff,
                     thread, line) != NULL;
}

/* A descriptor of shared memory, with its fixed bits and what is not done here. */
static bool read_descriptor(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, char name,
                            uint64_t bits, bf_emu_descriptor *found) {
  static const uint8_t width[8] = {16, 0, 128, 0, 64, 0, 32, 0};
  static const uint8_t mask[8] = {0, 0, 0x70, 0, 0x30, 0, 0x10, 0};
  unsigned layout = bits >> 61 & 7;
  if ((bits >> 46 & 7) != 1 || bits & UINT64_C(0x1ff00000c000c000) || !width[layout])
    return bf_emu_fail(
               warp, op, BF_EMU_BAD_INSTRUCTION, lane,
               "the descriptor of %c, 0x%016llx: bits 46 to 48 must be 001, bits 14, 15, 30, "
               "31 and 52 to 60 0, and bits 61 to 63 a swizzle (0, 2, 4, 6)",
               name, (unsigned long long)bits) != NULL;
  *found = (bf_emu_descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                               .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                               .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                               .base = (uint32_t)(bits >> 49 & 7),
                               .width = width[layout],
                               .mask = mask[layout]};
  return true;
}

/* Whether all pieces of a matrix lie in the block's shared memory. */
static bool check_pieces(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, char name,
                         const bf_emu_descriptor *at, bool is_k_major, unsigned lines,
                         unsigned pieces) {
  for (unsigned line = 0; line < lines; line++)
    for (unsigned piece = 0; piece < pieces; piece++) {
      uint32_t address = bf_emu_descriptor_piece(at, is_k_major, line, piece);
      if ((uint64_t)address + 16 > warp->block->shared_bytes)
        return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, lane,
                           "piece %u of line %u of %c is at shared address 0x%x, behind the %llu "
                           "bytes of the block",
                           piece, line, name, address,
                           (unsigned long long)warp->block->shared_bytes) != NULL;
    }
  return true;
}

/* The format that a kind gives a number; false: none. */
static bool find_format(product_kind kind, unsigned number, element_format *found) {
  static const element_format floats[] = {E4M3, E5M2, E4M3, E2M3, E3M2, E2M1};
  switch (kind) {
  case F16:
    *found = number ? BRAIN : HALF;
    return number < 2;
  case TF32:
    *found = WORD;
    return number == 2;
  case I8:
    *found = number ? SIGNED : UNSIGNED;
    return number < 2;
  case MXF4:
  case MXF4NVF4:
    *found = PACKED;
    return number == 1;
  default:
    *found = number < 6 ? floats[number] : E4M3;
    return number < 6 && number != 2;
  }
}

/* Whether a product can have these rows and columns. */
static bool check_shape(const noted *to) {
  unsigned rows = to->rows, columns = to->columns;
  if (to->is_folded)
    return (rows == 32 || rows == 64 || rows == 128) &&
           (columns == 64 || columns == 128 || columns == 256);
  if (columns < 8 || columns > BF_TENSOR_LINES)
    return false;
  if (to->is_pair)
    return (rows == 128 || rows == 256) && columns % (to->scales ? 16 : 32) == 0;
  return (rows == 64 && !to->scales) || (rows == 128 && (to->scales || columns % 16 == 0));
}

/* What the instruction descriptor says. */
static bool read_instruction(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint32_t bits,
                             noted *to) {
  static const bf_ptx_type d_types[] = {BF_PTX_F16, BF_PTX_F32, BF_PTX_S32};
  bool is_scaled = to->scales != 0;
  unsigned d = is_scaled ? 1 : bits >> 4 & 3;
  to->columns = (bits >> 17 & 63) * 8;
  to->rows = is_scaled ? (bits >> 27 & 3) * 128 : (bits >> 24 & 31) * 16;
  to->saturate = !is_scaled && bits >> 3 & 1;
  to->a_negated = bits >> 13 & 1;
  to->b_negated = bits >> 14 & 1;
  to->a_transposed = bits >> 15 & 1;
  to->b_transposed = bits >> 16 & 1;
  to->b_scale_byte = bits >> 4 & 3;
  to->a_scale_byte = bits >> 29 & 3;
  to->scale_is_e4m3 = to->kind == MXF4NVF4 && !(bits >> 23 & 1);
  bool is_packed = to->kind == MXF4 || to->kind == MXF4NVF4;
  bool fits = find_format(to->kind, bits >> 7 & 7, &to->a_format) &&
              find_format(to->kind, bits >> 10 & 7, &to->b_format) && d < 3 &&
              (d == 2) == (to->kind == I8) && !(d == 0 && to->kind == TF32) && !(bits >> 2 & 1) &&
              !(is_packed && (to->a_transposed || to->b_transposed)) &&
              (!is_scaled || ((to->a_scale_byte | to->b_scale_byte) & (to->scales - 1)) == 0);
  if (!fits || !check_shape(to))
    return bf_emu_fail(
               warp, op, BF_EMU_BAD_INSTRUCTION, lane,
               "the instruction descriptor 0x%08x is none of this kind: %u rows, %u columns", bits,
               to->rows, to->columns) != NULL;
  to->d_type = d_types[d];
  return true;
}

/* Whether elements have fewer bits than the byte that each takes. */
static bool is_narrow(element_format format) {
  return format == E2M3 || format == E3M2 || format == E2M1;
}

/* Checks the tensor memory that a product uses in a block. */
static bool check_tensor(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *block,
                         const noted *to) {
  unsigned rows = own_rows(to), part = to->columns / folds(to);
  unsigned lanes = rows == 64 && folds(to) == 1 ? 112 : BF_TENSOR_LANES;
  if (to->a_in_tensor && folds(to) > 1)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                       "A in tensor memory with %u rows in a block is not known here",
                       rows) != NULL;
  if (to->a_in_tensor && is_narrow(to->a_format))
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                       "A in tensor memory with elements of 4 or 6 bits: where these lie in the "
                       "bytes that they take is not known here") != NULL;
  return (!to->a_in_tensor || bf_tensor_check(warp, op, lane, block, to->a, BF_TENSOR_LANES, 8)) &&
         bf_tensor_check(warp, op, lane, block, to->d, lanes, part) &&
         (!to->scales ||
          (bf_tensor_check(warp, op, lane, block, to->a_scale, 32, (rows + 31) / 32) &&
           bf_tensor_check(warp, op, lane, block, to->b_scale, 32, (to->columns + 31) / 32)));
}

/* Checks where all matrices of a product are: blocks of a pair have shared memory of one size. */
static bool check_product(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, const noted *to) {
  bf_emu_block *block[2];
  unsigned blocks = bf_tensor_blocks(warp, op, lane, to->is_pair, block);
  unsigned a_per = per_piece(to->a_format), b_per = per_piece(to->b_format);
  unsigned rows = own_rows(to), columns = blocks ? to->columns / blocks : 0;
  for (unsigned i = 0; i < blocks; i++)
    if (!check_tensor(warp, op, lane, block[i], to))
      return false;
  return blocks &&
         (to->a_in_tensor ||
          check_pieces(warp, op, lane, 'A', &to->a_at, !to->a_transposed,
                       to->a_transposed ? 2 * a_per : rows, to->a_transposed ? rows / a_per : 2)) &&
         check_pieces(warp, op, lane, 'B', &to->b_at, !to->b_transposed,
                      to->b_transposed ? 2 * b_per : columns,
                      to->b_transposed ? columns / b_per : 2);
}

static const bf_emu_op *step_product(bf_emu_warp *warp, const bf_emu_op *op) {
  const core_product *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    noted to = what->like;
    to.d = bf_tensor_address(warp, &what->d, lane);
    to.adds = (BF_PREDICATE(what->adds) ^ what->adds_flip) >> lane & 1;
    if (to.a_in_tensor)
      to.a = bf_tensor_address(warp, &what->a_in_tensor, lane);
    if (to.scales) {
      to.a_scale = bf_tensor_address(warp, &what->a_scale, lane);
      to.b_scale = bf_tensor_address(warp, &what->b_scale, lane);
    }
    for (unsigned i = 0; i < what->lane_words; i++)
      to.disabled[i] = BF_LANES(const uint32_t, what->disabled[i])[lane];
    if (!read_instruction(warp, op, lane, BF_LANES(const uint32_t, what->descriptor)[lane], &to) ||
        (!to.a_in_tensor && !read_descriptor(warp, op, lane, 'A',
                                             BF_LANES(const uint64_t, what->a)[lane], &to.a_at)) ||
        !read_descriptor(warp, op, lane, 'B', BF_LANES(const uint64_t, what->b)[lane], &to.b_at) ||
        !check_product(warp, op, lane, &to) || !note(warp, op, lane, &to))
      return NULL;
  }
  return op + 1;
}

static const bf_emu_op *step_copy(bf_emu_warp *warp, const bf_emu_op *op) {
  const core_product *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    noted to = what->like;
    to.d = bf_tensor_address(warp, &what->d, lane);
    if (to.what == COPY &&
        (!read_descriptor(warp, op, lane, 'S', BF_LANES(const uint64_t, what->a)[lane], &to.a_at) ||
         !check_pieces(warp, op, lane, 'S', &to.a_at, true, to.copy_rows, to.copy_bytes / 16)))
      return NULL;
    bf_emu_block *block[2];
    unsigned blocks = bf_tensor_blocks(warp, op, lane, to.is_pair, block);
    unsigned lanes = to.what == COPY ? BF_TENSOR_LANES : 1;
    for (unsigned i = 0; i < blocks; i++)
      if (!bf_tensor_check(warp, op, lane, block[i], to.d, lanes,
                           to.what == COPY ? to.copy_bytes / 4 : 8))
        return NULL;
    if (!blocks || !note(warp, op, lane, &to))
      return NULL;
  }
  return op + 1;
}

/* ---- Selection ---- */

/* cp and shift. */
bool bf_tensor_select_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  static const struct {
    const char *shape;
    unsigned rows, bytes;
    uint8_t warps[4];
  } shapes[] = {{"128x256b", 128, 32, {1, 2, 4, 8}},
                {"128x128b", 128, 16, {1, 2, 4, 8}},
                {"warpx2::02_13", 64, 16, {5, 10, 0, 0}},
                {"warpx2::01_23", 64, 16, {3, 12, 0, 0}},
                {"warpx4", 32, 16, {15, 0, 0, 0}}};
  core_product *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  op->detail = what;
  op->run = step_copy;
  what->d = bf_tensor_bind(decoder, instruction, &instruction->operand[0]);
  what->like.what = bf_ptx_has(instruction, "cp") ? COPY : SHIFT;
  what->like.is_pair = bf_ptx_has(instruction, "cta_group::2");
  if (what->like.what == SHIFT)
    return true;
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (bf_ptx_has(instruction, shapes[i].shape)) {
      what->like.copy_rows = shapes[i].rows;
      what->like.copy_bytes = shapes[i].bytes;
      memcpy(what->like.copy_warps, shapes[i].warps, sizeof what->like.copy_warps);
    }
  if (!what->like.copy_rows || instruction->operands != 2 || bf_ptx_has(instruction, "b8x16"))
    return bf_emu_refuse(decoder, "tcgen05.cp of this shape or format");
  what->a = bf_emu_source(decoder, &instruction->operand[1], BF_PTX_B64);
  return true;
}

/* The kind, and how many scales there are along K for each line. */
static bool find_kind(const bf_ptx_instruction *instruction, noted *like) {
  static const struct {
    const char *name;
    unsigned scales;
  } kinds[] = {[F16] = {"kind::f16", 0},           [TF32] = {"kind::tf32", 0},
               [F8F6F4] = {"kind::f8f6f4", 0},     [I8] = {"kind::i8", 0},
               [MXF8F6F4] = {"kind::mxf8f6f4", 1}, [MXF4] = {"kind::mxf4", 2},
               [MXF4NVF4] = {"kind::mxf4nvf4", 2}};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (bf_ptx_has(instruction, kinds[i].name)) {
      bool is_fine = bf_ptx_has(instruction, "scale_vec::4X") || bf_ptx_has(instruction, "block16");
      like->kind = (product_kind)i;
      like->scales = i == MXF4NVF4 && is_fine ? 4 : kinds[i].scales;
      return !bf_ptx_has(instruction, "sp");
    }
  return false;
}

/* The lanes that are not written, where an operand names them. */
static bool bind_lanes(bf_emu_decoder *decoder, const bf_ptx_operand *operand, core_product *what) {
  what->lane_words = operand->count;
  if (operand->count != (what->like.is_pair ? 8 : 4))
    return bf_emu_refuse(decoder, "a mask of another number of lanes than the blocks have"), false;
  for (unsigned i = 0; i < operand->count; i++)
    what->disabled[i] = bf_emu_source(decoder, &operand->item[i], BF_PTX_B32);
  return true;
}

/* mma: [d], a, b, descriptor, {scales,} {lanes that are not written,} adds {, shift of d}. */
bool bf_tensor_select_product(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                              bf_emu_op *op) {
  core_product *what = bf_emu_detail(decoder, sizeof *what);
  const bf_ptx_operand *operand = instruction->operand;
  if (!what)
    return true;
  if (!find_kind(instruction, &what->like) || instruction->operands < 5)
    return bf_emu_refuse(decoder, "tcgen05.mma of this kind");
  what->like.what = PRODUCT;
  what->like.is_pair = bf_ptx_has(instruction, "cta_group::2");
  what->like.is_folded = bf_ptx_has(instruction, "ws");
  what->d = bf_tensor_bind(decoder, instruction, &operand[0]);
  what->like.a_in_tensor = operand[1].kind == BF_PTX_ADDRESS;
  if (what->like.a_in_tensor)
    what->a_in_tensor = bf_tensor_bind(decoder, instruction, &operand[1]);
  else
    what->a = bf_emu_source(decoder, &operand[1], BF_PTX_B64);
  what->b = bf_emu_source(decoder, &operand[2], BF_PTX_B64);
  what->descriptor = bf_emu_source(decoder, &operand[3], BF_PTX_B32);
  unsigned next = 4;
  if (what->like.scales) {
    if (instruction->operands != 7)
      return bf_emu_refuse(decoder, "tcgen05.mma with scales of this form");
    what->a_scale = bf_tensor_bind(decoder, instruction, &operand[next++]);
    what->b_scale = bf_tensor_bind(decoder, instruction, &operand[next++]);
  } else if (operand[next].kind == BF_PTX_VECTOR && !bind_lanes(decoder, &operand[next++], what)) {
    return true;
  }
  if (next >= instruction->operands || (what->like.is_folded && next + 1 < instruction->operands))
    return bf_emu_refuse(decoder,
                         what->like.is_folded ? "columns of zeros" : "tcgen05.mma of this form");
  what->adds = bf_emu_predicate(decoder, &operand[next], &what->adds_flip);
  if (next + 1 < instruction->operands)
    what->like.d_shift = (int)operand[next + 1].bits;
  op->detail = what;
  op->run = step_product;
  return true;
}
