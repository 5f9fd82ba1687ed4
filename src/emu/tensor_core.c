/* tcgen05: tensor memory, products, copies and commits; one block at a time (cta_group::1).
 *
 * Where matrices lie, by the PTX ISA: D of 128 rows has row i in lane i, of 64 rows in lane i / 16
 * * 32 + i % 16, and column j in column j of the memory, one element to 32 bits. A in tensor memory
 * has its rows in the same lanes, with elements packed along K. In shared memory matrices lie as
 * for wgmma (descriptor.h). K is 32 bytes; elements of 6 and 4 bits come 16 in each 16 bytes,
 * packed at their beginning. Scales of mxf8f6f4 are bytes 2^(x - 127): that of row i is in lane i %
 * 32 and column i / 32, in the byte that the instruction descriptor names. */
#include "emu/tensor_core.h"

#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/descriptor.h"
#include "emu/element.h"

#include "emu/late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 128, COLUMNS = 512, MOST_ROWS = 128, MOST_COLUMNS = 256, MOST_K = 32 };
enum { MOST_REGISTERS = 128 };

typedef enum product_kind { F16, TF32, F8F6F4, I8, MXF8F6F4 } product_kind;

/* Formats of elements, as instruction descriptors number them for each kind. */
typedef enum element_format {
  HALF,
  BRAIN,
  WORD,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UNSIGNED,
  SIGNED
} element_format;

/* Something noted: a product, a copy or a shift. */
typedef struct noted {
  struct noted *next;
  uint64_t number; /* of the commit behind it */
  enum { PRODUCT, COPY, SHIFT } what;
  uint32_t d; /* address in tensor memory */
  /* Of a product. */
  product_kind kind;
  element_format a_format, b_format;
  bf_ptx_type d_type;
  unsigned rows, columns;
  bool adds, a_negated, b_negated, a_transposed, b_transposed, saturate, a_in_tensor;
  uint32_t a;
  bf_emu_descriptor a_at, b_at;
  uint32_t a_scale, b_scale;
  unsigned a_scale_byte, b_scale_byte;
  int d_shift; /* D is divided by 2 to this */
  uint32_t disabled[4];
  /* Of a copy: rows of bytes, and how many times they are repeated downwards. */
  unsigned copy_rows, copy_bytes, copies;
} noted;

struct bf_emu_tensor_memory {
  uint32_t cell[LANES][COLUMNS];
  uint32_t taken[COLUMNS]; /* columns of the allocation that begins here */
  bool is_taken[COLUMNS];
  bool is_relinquished;
  noted *first, *last;
  uint64_t commits;
};

typedef struct bf_emu_tensor_memory memory;

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
  return format == WORD ? 4 : format == HALF || format == BRAIN ? 8 : 16;
}

/* ---- Doing ---- */

static unsigned lane_of_row(unsigned rows, unsigned row) {
  return rows == 64 ? row / 16 * 32 + row % 16 : row;
}

static uint32_t *cell_at(memory *tensor, uint32_t address, unsigned lane, unsigned column) {
  return &tensor->cell[(address >> 16) + lane][(address & 0xffff) + column];
}

/* A matrix in shared memory: lines of K elements. */
static void gather(const bf_emu_block *block, const bf_emu_descriptor *at, element_format format,
                   bool transposed, unsigned lines, double (*matrix)[MOST_K]) {
  unsigned per = per_piece(format), k = 2 * per;
  double value[16];
  for (unsigned line = 0; line < (transposed ? k : lines); line++)
    for (unsigned piece = 0; piece < (transposed ? lines / per : 2); piece++) {
      unpack(format, block->shared + bf_emu_descriptor_piece(at, !transposed, line, piece), value);
      for (unsigned i = 0; i < per; i++)
        if (transposed)
          matrix[piece * per + i][line] = value[i];
        else
          matrix[line][piece * per + i] = value[i];
    }
}

/* A in tensor memory. */
static void gather_tensor(memory *tensor, const noted *op, double (*matrix)[MOST_K]) {
  unsigned per = per_piece(op->a_format);
  for (unsigned row = 0; row < op->rows; row++)
    for (unsigned piece = 0; piece < 2; piece++)
      unpack(op->a_format,
             (const uint8_t *)cell_at(tensor, op->a, lane_of_row(op->rows, row), 4 * piece),
             &matrix[row][piece * per]);
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

/* The scale of a row of A or a column of B. */
static double scale_at(memory *tensor, uint32_t address, unsigned byte, unsigned line) {
  uint32_t bits = *cell_at(tensor, address, line % 32, line / 32) >> 8 * byte & 0xff;
  return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
}

static void multiply(const bf_emu_block *block, memory *tensor, const noted *op) {
  double a[MOST_ROWS][MOST_K], b[MOST_COLUMNS][MOST_K];
  unsigned k = 2 * per_piece(op->a_format);
  double sign = op->a_negated != op->b_negated ? -1 : 1;
  if (op->a_in_tensor)
    gather_tensor(tensor, op, a);
  else
    gather(block, &op->a_at, op->a_format, op->a_transposed, op->rows, a);
  gather(block, &op->b_at, op->b_format, op->b_transposed, op->columns, b);
  for (unsigned row = 0; row < op->rows; row++) {
    unsigned lane = lane_of_row(op->rows, row);
    if (op->disabled[lane / 32] >> lane % 32 & 1)
      continue;
    for (unsigned column = 0; column < op->columns; column++) {
      uint32_t *cell = cell_at(tensor, op->d, lane, column);
      double sum = op->adds ? ldexp(from_cell(op->d_type, *cell), -op->d_shift) : 0, scale = sign;
      if (op->kind == MXF8F6F4)
        scale *= scale_at(tensor, op->a_scale, op->a_scale_byte, row) *
                 scale_at(tensor, op->b_scale, op->b_scale_byte, column);
      for (unsigned i = 0; i < k; i++)
        sum += scale * a[row][i] * b[column][i];
      *cell = to_cell(op->d_type, sum, op->saturate);
    }
  }
}

/* Rows of shared memory to lanes. */
static void copy(const bf_emu_block *block, memory *tensor, const noted *op) {
  for (unsigned row = 0; row < op->copy_rows; row++)
    for (unsigned piece = 0; piece < op->copy_bytes / 16; piece++)
      for (unsigned again = 0; again < op->copies; again++)
        memcpy(cell_at(tensor, op->d, again * op->copy_rows + row, 4 * piece),
               block->shared + bf_emu_descriptor_piece(&op->a_at, true, row, piece), 16);
}

/* Lanes move down by one, in all columns from that of the address on for 32 bytes. */
static void shift(memory *tensor, const noted *op) {
  for (unsigned lane = op->d >> 16; lane + 1 < LANES; lane++)
    memcpy(&tensor->cell[lane][op->d & 0xffff], &tensor->cell[lane + 1][op->d & 0xffff], 32);
}

void bf_emu_tensor_run(bf_emu_block *block, uint64_t number) {
  memory *tensor = block->tensor;
  while (tensor && tensor->first && tensor->first->number <= number) {
    noted *op = tensor->first;
    if (op->what == PRODUCT)
      multiply(block, tensor, op);
    else if (op->what == COPY)
      copy(block, tensor, op);
    else
      shift(tensor, op);
    tensor->first = op->next;
    free(op);
  }
  if (tensor && !tensor->first)
    tensor->last = NULL;
}

void bf_emu_tensor_begin(bf_emu_block *block) {
  bf_emu_tensor_free(block);
  block->tensor = NULL;
}

void bf_emu_tensor_free(bf_emu_block *block) {
  for (noted *op = block->tensor ? block->tensor->first : NULL, *next; op; op = next) {
    next = op->next;
    free(op);
  }
  free(block->tensor);
}

/* ---- Operations ---- */

typedef struct core {
  enum { ALLOC, DEALLOC, RELINQUISH, LOAD, STORE, COMMIT } what;
  bf_emu_address at;
  uint32_t count; /* place of a number of columns */
  unsigned shape; /* bits of a row of LOAD and STORE: 32, 128, 256 */
  unsigned repeats;
  bool is_packed;
  unsigned registers;
  uint32_t place[MOST_REGISTERS];
  uint32_t blocks; /* place of the mask of COMMIT, or 0 */
} core;

/* What a noted operation is made from. */
typedef struct core_product {
  noted like;
  bf_emu_address d, a_in_tensor, a_scale, b_scale;
  uint32_t a, b, descriptor, adds, adds_flip, disabled[4];
  bool has_disabled;
} core_product;

static uint32_t address_of(const bf_emu_warp *warp, const bf_emu_address *at, unsigned lane) {
  return BF_LANES(const uint32_t, at->place)[lane] + (uint32_t)at->offset;
}

static memory *tensor_of(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  bf_emu_block *block = warp->block;
  if (!block->tensor)
    block->tensor = calloc(1, sizeof *block->tensor);
  if (!block->tensor)
    bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, lane, "out of memory");
  return block->tensor;
}

/* Whether lanes and columns from an address on can be used; else the launch ends. */
static bool check_cells(bf_emu_warp *warp, const bf_emu_op *op, unsigned thread, uint32_t address,
                        unsigned lanes, unsigned columns) {
  const memory *tensor = tensor_of(warp, op, thread);
  unsigned lane = address >> 16, column = address & 0xffff;
  if (!tensor)
    return false;
  if (lane + lanes > LANES || column + columns > COLUMNS)
    return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, thread,
                       "lanes %u to %u and columns %u to %u of tensor memory, which has 128 lanes "
                       "and 512 columns",
                       lane, lane + lanes - 1, column, column + columns - 1) != NULL;
  for (unsigned i = column; i < column + columns; i++)
    if (!tensor->is_taken[i])
      return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, thread,
                         "column %u of tensor memory, which is not allocated", i) != NULL;
  return true;
}

/* The lanes that take part, which must be all of the warp; 0: wait, or the launch has ended. */
static uint32_t meet(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t lanes = BF_MASK();
  if (!bf_emu_meet(warp, op, lanes, UINT32_MAX))
    return 0;
  lanes = BF_MASK();
  if (lanes != UINT32_MAX)
    bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, BF_FIRST_LANE(lanes),
                "not all threads of the warp take part");
  return lanes == UINT32_MAX ? lanes : 0;
}

static const bf_emu_op *step_alloc(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  if (!BF_MASK())
    return op + 1;
  if (!meet(warp, op))
    return NULL;
  memory *tensor = tensor_of(warp, op, 0);
  uint32_t count = BF_LANES(const uint32_t, what->count)[0], first = 0;
  if (!tensor)
    return NULL;
  if (count < 32 || count > COLUMNS || (count & (count - 1)))
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "%u columns of tensor memory; 32, 64, 128, 256 and 512 can be", count);
  if (tensor->is_relinquished)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "tcgen05.alloc behind tcgen05.relinquish_alloc_permit");
  while (first < COLUMNS && memchr(&tensor->is_taken[first], true, count))
    first += count;
  if (first >= COLUMNS)
    return bf_emu_fail(warp, op, BF_EMU_DEADLOCK, 0,
                       "the block itself has taken the tensor memory that it waits for");
  uint64_t address = address_of(warp, &what->at, 0);
  uint8_t *to = bf_emu_reach_one(warp, op, 0, address + BF_EMU_SHARED_WINDOW, 4, true);
  if (!to)
    return NULL;
  memcpy(to, &first, 4);
  tensor->taken[first] = count;
  memset(&tensor->is_taken[first], true, count);
  return op + 1;
}

static const bf_emu_op *step_dealloc(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  if (!BF_MASK())
    return op + 1;
  if (!meet(warp, op))
    return NULL;
  memory *tensor = tensor_of(warp, op, 0);
  uint32_t first = address_of(warp, &what->at, 0), count = BF_LANES(const uint32_t, what->count)[0];
  if (!tensor)
    return NULL;
  if (first >= COLUMNS || tensor->taken[first] != count || !count)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "0x%x with %u columns was not allocated in tensor memory", first, count);
  bf_emu_tensor_run(warp->block, UINT64_MAX);
  tensor->taken[first] = 0;
  memset(&tensor->is_taken[first], false, count);
  return op + 1;
}

static const bf_emu_op *step_relinquish(bf_emu_warp *warp, const bf_emu_op *op) {
  if (!BF_MASK())
    return op + 1;
  memory *tensor = meet(warp, op) ? tensor_of(warp, op, 0) : NULL;
  if (!tensor)
    return NULL;
  tensor->is_relinquished = true;
  return op + 1;
}

/* The lane and column of register r of a thread, from the address on. */
static void place_of(unsigned shape, unsigned r, unsigned thread, unsigned *lane,
                     unsigned *column) {
  switch (shape) {
  case 32:
    *lane = thread;
    *column = r;
    return;
  case 128: /* four columns; the second register of two is 8 lanes below */
    *lane = thread / 4 + r % 2 * 8;
    *column = r / 2 * 4 + thread % 4;
    return;
  default: /* eight columns, as sums of mma */
    *lane = thread / 4 + r % 4 / 2 * 8;
    *column = r / 4 * 8 + thread % 4 * 2 + r % 2;
    return;
  }
}

/* ld and st: of a register with two 16-bit elements, the second is in the next column. */
static const bf_emu_op *step_move(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  if (!BF_MASK())
    return op + 1;
  if (!meet(warp, op))
    return NULL;
  uint32_t address = address_of(warp, &what->at, 0);
  unsigned packed = what->is_packed ? 2 : 1, lanes = what->shape == 32 ? 32 : 16;
  unsigned quarter = warp->index % 4 * 32, columns = packed * what->repeats * what->shape / 32;
  if (!check_cells(warp, op, 0, address, lanes, columns))
    return NULL;
  if (address >> 16 < quarter || (address >> 16) + lanes > quarter + 32)
    return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, 0,
                       "lanes %u to %u of tensor memory; warp %u may access lanes %u to %u",
                       address >> 16, (address >> 16) + lanes - 1, warp->index, quarter,
                       quarter + 31);
  for (unsigned r = 0; r < what->registers; r++) {
    uint32_t *word = BF_LANES(uint32_t, what->place[r]);
    for (unsigned thread = 0; thread < BF_EMU_LANES; thread++) {
      unsigned lane, column;
      place_of(what->shape, r, thread, &lane, &column);
      uint32_t *cell = cell_at(warp->block->tensor, address, lane, packed * column);
      if (what->what == LOAD)
        word[thread] = what->is_packed ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
      else if (what->is_packed)
        cell[0] = word[thread] & 0xffff, cell[1] = word[thread] >> 16;
      else
        cell[0] = word[thread];
    }
  }
  return op + 1;
}

/* commit: what was noted before is done when the mbarrier is tested, and arrives there. */
static const bf_emu_op *step_commit(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    memory *tensor = tensor_of(warp, op, lane);
    uint64_t offset, address = what->at.register_bytes == 8
                                   ? BF_LANES(const uint64_t, what->at.place)[lane] +
                                         (uint64_t)what->at.offset - BF_EMU_SHARED_WINDOW
                                   : address_of(warp, &what->at, lane);
    bf_emu_block *owner;
    if (!tensor || !bf_emu_cluster_reach(warp, op, lane, address, 8, 8, true, &owner, &offset))
      return NULL;
    bf_emu_job job = {.barrier = (uint32_t)offset,
                      .lane = lane,
                      .arrivals = 1,
                      .tensor = warp->block,
                      .tensor_number = tensor->commits++};
    unsigned blocks = bf_emu_cluster_blocks(warp->worker->flight);
    uint32_t mask =
        what->blocks ? BF_LANES(const uint16_t, what->blocks)[lane] : UINT32_C(1) << owner->rank;
    if (!mask || mask >> blocks)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "commit to the blocks of mask 0x%x in a cluster of %u", mask, blocks);
    for (unsigned rank = 0; rank < blocks; rank++) {
      bf_emu_block *each = warp->block->cluster ? warp->block->cluster->block[rank] : warp->block;
      if (mask >> rank & 1 && !bf_emu_job_signal(warp, op, each, &job))
        return NULL;
    }
  }
  return op + 1;
}

/* ---- Noting ---- */

static bool note(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, const noted *what) {
  memory *tensor = tensor_of(warp, op, lane);
  noted *kept = tensor ? malloc(sizeof *kept) : NULL;
  if (!kept)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, lane, "out of memory") != NULL;
  *kept = *what;
  kept->next = NULL;
  kept->number = tensor->commits;
  if (tensor->last)
    tensor->last->next = kept;
  else
    tensor->first = kept;
  tensor->last = kept;
  return true;
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
  default:
    *found = number < 6 ? floats[number] : E4M3;
    return number < 6 && number != 2;
  }
}

/* What the instruction descriptor says. */
static bool read_instruction(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint32_t bits,
                             noted *to) {
  static const bf_ptx_type d_types[] = {BF_PTX_F16, BF_PTX_F32, BF_PTX_S32};
  bool is_scaled = to->kind == MXF8F6F4;
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
  bool fits = find_format(to->kind, bits >> 7 & 7, &to->a_format) &&
              find_format(to->kind, bits >> 10 & 7, &to->b_format) && d < 3 &&
              (d == 2) == (to->kind == I8) && !(d == 0 && to->kind == TF32) && !(bits >> 2 & 1);
  if (!fits || (to->rows != 64 && to->rows != 128) || to->columns < 8 ||
      to->columns > MOST_COLUMNS || (to->rows == 128 && to->columns % 16))
    return bf_emu_fail(
               warp, op, BF_EMU_BAD_INSTRUCTION, lane,
               "the instruction descriptor 0x%08x is none of this kind: %u rows, %u columns", bits,
               to->rows, to->columns) != NULL;
  to->d_type = d_types[d];
  return true;
}

/* Checks where all matrices of a product are. */
static bool check_product(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, const noted *to) {
  unsigned a_per = per_piece(to->a_format), b_per = per_piece(to->b_format);
  bool has_a = to->a_in_tensor ? check_cells(warp, op, lane, to->a, LANES, 8)
                               : check_pieces(warp, op, lane, 'A', &to->a_at, !to->a_transposed,
                                              to->a_transposed ? 2 * a_per : to->rows,
                                              to->a_transposed ? to->rows / a_per : 2);
  return has_a &&
         check_pieces(warp, op, lane, 'B', &to->b_at, !to->b_transposed,
                      to->b_transposed ? 2 * b_per : to->columns,
                      to->b_transposed ? to->columns / b_per : 2) &&
         check_cells(warp, op, lane, to->d, to->rows == 64 ? 112 : 128, to->columns) &&
         (to->kind != MXF8F6F4 ||
          (check_cells(warp, op, lane, to->a_scale, 32, (to->rows + 31) / 32) &&
           check_cells(warp, op, lane, to->b_scale, 32, (to->columns + 31) / 32)));
}

static const bf_emu_op *step_product(bf_emu_warp *warp, const bf_emu_op *op) {
  const core_product *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    noted to = what->like;
    to.d = address_of(warp, &what->d, lane);
    to.adds = (BF_PREDICATE(what->adds) ^ what->adds_flip) >> lane & 1;
    if (to.a_in_tensor)
      to.a = address_of(warp, &what->a_in_tensor, lane);
    if (to.kind == MXF8F6F4) {
      to.a_scale = address_of(warp, &what->a_scale, lane);
      to.b_scale = address_of(warp, &what->b_scale, lane);
    }
    for (unsigned i = 0; i < 4 && what->has_disabled; i++)
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
    to.d = address_of(warp, &what->d, lane);
    if (to.what == COPY &&
        (!read_descriptor(warp, op, lane, 'S', BF_LANES(const uint64_t, what->a)[lane], &to.a_at) ||
         !check_pieces(warp, op, lane, 'S', &to.a_at, true, to.copy_rows, to.copy_bytes / 16)))
      return NULL;
    unsigned lanes = to.what == COPY ? to.copy_rows * to.copies : 1;
    if (!check_cells(warp, op, lane, to.d, lanes, to.what == COPY ? to.copy_bytes / 4 : 8) ||
        !note(warp, op, lane, &to))
      return NULL;
  }
  return op + 1;
}

static const bf_emu_op *step_nothing(bf_emu_warp *warp, const bf_emu_op *op) {
  (void)warp;
  return op + 1;
}

/* ---- Selection ---- */

static bf_emu_address bind_tensor(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                  const bf_ptx_operand *operand) {
  return bf_emu_bind_address(decoder, instruction, operand, BF_PTX_SPACE_SHARED);
}

/* The number behind an x: .x4. */
static unsigned read_repeats(const bf_ptx_instruction *instruction) {
  unsigned repeats = 0;
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (instruction->modifier[i][0] == 'x' && sscanf(instruction->modifier[i] + 1, "%3u", &repeats))
      return repeats;
  return 0;
}

static bool select_move(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op, core *what) {
  bool is_load = what->what == LOAD;
  const bf_ptx_operand *registers = &instruction->operand[is_load ? 0 : 1];
  const bf_ptx_operand *item = registers->kind == BF_PTX_VECTOR ? registers->item : registers;
  unsigned count = registers->kind == BF_PTX_VECTOR ? registers->count : 1;
  what->shape = bf_ptx_has(instruction, "32x32b")    ? 32
                : bf_ptx_has(instruction, "16x128b") ? 128
                : bf_ptx_has(instruction, "16x256b") ? 256
                                                     : 0;
  what->repeats = read_repeats(instruction);
  what->is_packed = bf_ptx_has(instruction, "pack::16b") || bf_ptx_has(instruction, "unpack::16b");
  what->registers = what->repeats * (what->shape == 32 ? 1 : what->shape / 64);
  if (!what->shape)
    return bf_emu_refuse(decoder, "tensor memory in shapes 16x64b and 16x32bx2");
  if (instruction->operands != 2 || count != what->registers || count > MOST_REGISTERS)
    return bf_emu_refuse(decoder, "another number of registers than the shape has");
  for (unsigned i = 0; i < count; i++) {
    if (bf_emu_register_bytes(&item[i], BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "registers that do not have 32 bits");
    what->place[i] = is_load ? bf_emu_destination(decoder, &item[i])
                             : bf_emu_source(decoder, &item[i], BF_PTX_B32);
  }
  what->at = bind_tensor(decoder, instruction, &instruction->operand[is_load ? 1 : 0]);
  op->run = step_move;
  return true;
}

static bool select_simple(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  core *what = bf_emu_detail(decoder, sizeof *what);
  const bf_ptx_operand *operand = instruction->operand;
  if (!what)
    return true;
  op->detail = what;
  if (bf_ptx_has(instruction, "ld") || bf_ptx_has(instruction, "st")) {
    what->what = bf_ptx_has(instruction, "ld") ? LOAD : STORE;
    return select_move(decoder, instruction, op, what);
  }
  if (bf_ptx_has(instruction, "relinquish_alloc_permit")) {
    op->run = step_relinquish;
    return true;
  }
  if (bf_ptx_has(instruction, "commit")) {
    what->at = bf_emu_bind_address(decoder, instruction, &operand[0],
                                   bf_ptx_address_space(instruction, &operand[0]));
    if (instruction->operands > 1)
      what->blocks = bf_emu_source(decoder, &operand[1], BF_PTX_U16);
    op->run = step_commit;
    return true;
  }
  if (instruction->operands != 2)
    return bf_emu_refuse(decoder, "tcgen05 of this form");
  what->count = bf_emu_source(decoder, &operand[1], BF_PTX_U32);
  if (bf_ptx_has(instruction, "dealloc"))
    what->at = (bf_emu_address){.place = bf_emu_source(decoder, &operand[0], BF_PTX_B32),
                                .register_bytes = 4};
  else
    what->at = bind_tensor(decoder, instruction, &operand[0]);
  if (what->at.register_bytes != 4)
    return bf_emu_refuse(decoder, "tcgen05.alloc to a generic address");
  op->run = bf_ptx_has(instruction, "dealloc") ? step_dealloc : step_alloc;
  return true;
}

/* cp and shift. */
static bool select_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  static const struct {
    const char *shape;
    unsigned rows, bytes, copies;
  } shapes[] = {{"128x256b", 128, 32, 1}, {"128x128b", 128, 16, 1}, {"32x128b", 32, 16, 4}};
  core_product *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  op->detail = what;
  op->run = step_copy;
  what->d = bind_tensor(decoder, instruction, &instruction->operand[0]);
  what->like.what = bf_ptx_has(instruction, "cp") ? COPY : SHIFT;
  if (what->like.what == SHIFT)
    return true;
  for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (bf_ptx_has(instruction, shapes[i].shape)) {
      what->like.copy_rows = shapes[i].rows;
      what->like.copy_bytes = shapes[i].bytes;
      what->like.copies = shapes[i].copies;
    }
  if (!what->like.copy_rows || instruction->operands != 2 || bf_ptx_has(instruction, "b8x16"))
    return bf_emu_refuse(decoder, "tcgen05.cp of this shape or format");
  what->a = bf_emu_source(decoder, &instruction->operand[1], BF_PTX_B64);
  return true;
}

static bool find_kind(const bf_ptx_instruction *instruction, product_kind *found) {
  static const char *const names[] = {[F16] = "kind::f16",
                                      [TF32] = "kind::tf32",
                                      [F8F6F4] = "kind::f8f6f4",
                                      [I8] = "kind::i8",
                                      [MXF8F6F4] = "kind::mxf8f6f4"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (bf_ptx_has(instruction, names[i])) {
      *found = (product_kind)i;
      return true;
    }
  return false;
}

/* mma: [d], a, b, descriptor, {scales,} {lanes that are not written,} adds {, shift of d}. */
static bool select_product(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  core_product *what = bf_emu_detail(decoder, sizeof *what);
  const bf_ptx_operand *operand = instruction->operand;
  if (!what)
    return true;
  if (bf_ptx_has(instruction, "sp") || bf_ptx_has(instruction, "ws") ||
      !find_kind(instruction, &what->like.kind) || instruction->operands < 5 ||
      bf_ptx_has(instruction, "scale_vec::2X") || bf_ptx_has(instruction, "scale_vec::4X"))
    return bf_emu_refuse(decoder, "tcgen05.mma of this kind");
  what->like.what = PRODUCT;
  what->d = bind_tensor(decoder, instruction, &operand[0]);
  what->like.a_in_tensor = operand[1].kind == BF_PTX_ADDRESS;
  if (what->like.a_in_tensor)
    what->a_in_tensor = bind_tensor(decoder, instruction, &operand[1]);
  else
    what->a = bf_emu_source(decoder, &operand[1], BF_PTX_B64);
  what->b = bf_emu_source(decoder, &operand[2], BF_PTX_B64);
  what->descriptor = bf_emu_source(decoder, &operand[3], BF_PTX_B32);
  unsigned next = 4;
  if (what->like.kind == MXF8F6F4) {
    if (instruction->operands != 7)
      return bf_emu_refuse(decoder, "tcgen05.mma with scales of this form");
    what->a_scale = bind_tensor(decoder, instruction, &operand[next++]);
    what->b_scale = bind_tensor(decoder, instruction, &operand[next++]);
  } else if (operand[next].kind == BF_PTX_VECTOR) {
    what->has_disabled = operand[next].count == 4;
    if (!what->has_disabled)
      return bf_emu_refuse(decoder, "a mask of lanes of another size than 128 bits");
    for (unsigned i = 0; i < 4; i++)
      what->disabled[i] = bf_emu_source(decoder, &operand[next].item[i], BF_PTX_B32);
    next++;
  }
  if (next >= instruction->operands)
    return bf_emu_refuse(decoder, "tcgen05.mma of this form");
  what->adds = bf_emu_predicate(decoder, &operand[next], &what->adds_flip);
  if (next + 1 < instruction->operands)
    what->like.d_shift = (int)operand[next + 1].bits;
  op->detail = what;
  op->run = step_product;
  return true;
}

bool bf_emu_select_tensor_core(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  if (instruction->opcode != BF_PTX_OP_TCGEN05)
    return false;
  if (bf_ptx_has(instruction, "cta_group::2"))
    return bf_emu_refuse(decoder, "tcgen05 of two blocks (cta_group::2)");
  if (bf_ptx_has(instruction, "mma"))
    return select_product(decoder, instruction, op);
  if (bf_ptx_has(instruction, "cp") || bf_ptx_has(instruction, "shift"))
    return select_copy(decoder, instruction, op);
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (!strncmp(instruction->modifier[i], "fence::", 7) ||
        !strncmp(instruction->modifier[i], "wait::", 6)) {
      op->run = step_nothing;
      return true;
    }
  return select_simple(decoder, instruction, op);
}
