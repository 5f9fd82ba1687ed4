/* tcgen05: tensor memory is allocated, read and written; commits. Products and copies are in
 * tensor_product.c. */
#include "emu/tensor_core.h"

#include "emu/cluster.h"
#include "emu/late.h"
#include "emu/tensor_cells.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_REGISTERS = 128 };

typedef bf_tensor_memory memory;

void bf_emu_tensor_begin(bf_emu_block *block) {
  bf_emu_tensor_free(block);
  block->tensor = NULL;
}

void bf_emu_tensor_free(bf_emu_block *block) {
  bf_tensor_drop(block->tensor);
  free(block->tensor);
}

/* ---- Cells ---- */

bf_tensor_memory *bf_tensor_of(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                               bf_emu_block *block) {
  if (!block->tensor)
    block->tensor = calloc(1, sizeof *block->tensor);
  if (!block->tensor)
    bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, lane, "out of memory");
  return block->tensor;
}

unsigned bf_tensor_blocks(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bool is_pair,
                          bf_emu_block *block[2]) {
  const bf_emu_cluster *cluster = warp->block->cluster;
  unsigned rank = warp->block->rank;
  block[0] = warp->block;
  block[1] = NULL;
  if (!is_pair)
    return 1;
  if (!cluster || (rank | 1u) >= cluster->count || cluster->block[rank ^ 1u]->has_ended) {
    bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                "cta_group::2 in block %u of a cluster of %u: the other block of the pair %s", rank,
                cluster ? cluster->count : 1,
                cluster && (rank | 1u) < cluster->count ? "has ended" : "does not exist");
    return 0;
  }
  block[0] = cluster->block[rank & ~1u];
  block[1] = cluster->block[rank | 1u];
  return 2;
}

bool bf_tensor_check(bf_emu_warp *warp, const bf_emu_op *op, unsigned thread, bf_emu_block *block,
                     uint32_t address, unsigned lanes, unsigned columns) {
  const memory *tensor = bf_tensor_of(warp, op, thread, block);
  unsigned lane = address >> 16, column = address & 0xffff;
  if (!tensor)
    return false;
  if (lane + lanes > BF_TENSOR_LANES || column + columns > BF_TENSOR_COLUMNS)
    return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, thread,
                       "lanes %u to %u and columns %u to %u of tensor memory, which has 128 lanes "
                       "and 512 columns",
                       lane, lane + lanes - 1, column, column + columns - 1) != NULL;
  for (unsigned i = column; i < column + columns; i++)
    if (!tensor->is_taken[i])
      return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, thread,
                         "column %u of tensor memory%s, which is not allocated", i,
                         block == warp->block ? "" : " of the other block of the pair") != NULL;
  return true;
}

/* ---- Operations ---- */

/* How ld and st go over lanes and columns. */
typedef enum shape { BY_32X32, BY_16X64, BY_16X128, BY_16X256, BY_16X32X2 } shape;

typedef struct core {
  bool is_load, is_pair;
  bf_emu_address at;
  uint32_t count; /* place of a number of columns */
  shape shape;
  unsigned repeats;
  unsigned split; /* of 16x32bx2: columns from the first half to the second */
  bool is_packed;
  unsigned registers;
  uint32_t place[MOST_REGISTERS];
  uint32_t blocks; /* place of the mask of a commit, or 0 */
} core;

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
  memory *tensor = bf_tensor_of(warp, op, 0, warp->block);
  uint32_t count = BF_LANES(const uint32_t, what->count)[0], first = 0;
  bf_emu_block *block[2];
  if (!tensor || !bf_tensor_blocks(warp, op, 0, what->is_pair, block))
    return NULL;
  if (count < 32 || count > BF_TENSOR_COLUMNS || (count & (count - 1)))
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "%u columns of tensor memory; 32, 64, 128, 256 and 512 can be", count);
  if (tensor->is_relinquished)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "tcgen05.alloc behind tcgen05.relinquish_alloc_permit");
  while (first < BF_TENSOR_COLUMNS && memchr(&tensor->is_taken[first], true, count))
    first += count;
  if (first >= BF_TENSOR_COLUMNS)
    return bf_emu_fail(warp, op, BF_EMU_DEADLOCK, 0,
                       "the block itself has taken the tensor memory that it waits for");
  uint64_t address = what->at.register_bytes == 8
                         ? BF_LANES(const uint64_t, what->at.place)[0] + (uint64_t)what->at.offset
                         : bf_tensor_address(warp, &what->at, 0) + BF_EMU_SHARED_WINDOW;
  uint8_t *to = bf_emu_reach_one(warp, op, 0, address, 4, true);
  if (!to)
    return NULL;
  memcpy(to, &first, 4);
  tensor->taken[first] = count;
  tensor->allocator = warp;
  tensor->allocation = op;
  memset(&tensor->is_taken[first], true, count);
  return op + 1;
}

static const bf_emu_op *step_dealloc(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  if (!BF_MASK())
    return op + 1;
  if (!meet(warp, op))
    return NULL;
  memory *tensor = bf_tensor_of(warp, op, 0, warp->block);
  uint32_t first = bf_tensor_address(warp, &what->at, 0),
           count = BF_LANES(const uint32_t, what->count)[0];
  if (!tensor)
    return NULL;
  if (first >= BF_TENSOR_COLUMNS || tensor->taken[first] != count || !count)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, 0,
                       "0x%x with %u columns was not allocated in tensor memory", first, count);
  bf_emu_tensor_run(warp->block, UINT64_MAX);
  tensor->taken[first] = 0;
  memset(&tensor->is_taken[first], false, count);
  return op + 1;
}

/* The PTX ISA wants all columns back before the kernel ends; who allocates next would wait for them
 * for ever. */
void bf_emu_tensor_left(bf_emu_block *block) {
  const memory *tensor = block->tensor;
  for (unsigned i = 0; tensor && i < block->warps; i++)
    if (block->warp[i].alive)
      return;
  for (unsigned i = 0; tensor && i < BF_TENSOR_COLUMNS; i++)
    if (tensor->taken[i]) {
      bf_emu_fail(tensor->allocator, tensor->allocation, BF_EMU_BAD_INSTRUCTION, 0,
                  "%u columns of tensor memory are allocated here or before, and nobody "
                  "deallocates them before the block ends",
                  tensor->taken[i]);
      return;
    }
}

static const bf_emu_op *step_relinquish(bf_emu_warp *warp, const bf_emu_op *op) {
  if (!BF_MASK())
    return op + 1;
  memory *tensor = meet(warp, op) ? bf_tensor_of(warp, op, 0, warp->block) : NULL;
  if (!tensor)
    return NULL;
  tensor->is_relinquished = true;
  return op + 1;
}

/* The lane and column of register r of a thread, from the address on. */
static void place_of(const core *what, unsigned r, unsigned thread, unsigned *lane,
                     unsigned *column) {
  switch (what->shape) {
  case BY_32X32:
    *lane = thread;
    *column = r;
    return;
  case BY_16X64: /* two columns; odd threads are 8 lanes below */
    *lane = thread / 4 + thread % 2 * 8;
    *column = r * 2 + thread / 2 % 2;
    return;
  case BY_16X128: /* four columns; the second register of two is 8 lanes below */
    *lane = thread / 4 + r % 2 * 8;
    *column = r / 2 * 4 + thread % 4;
    return;
  case BY_16X256: /* eight columns, as sums of mma */
    *lane = thread / 4 + r % 4 / 2 * 8;
    *column = r / 4 * 8 + thread % 4 * 2 + r % 2;
    return;
  default: /* the second half of the threads has other columns of the same lanes */
    *lane = thread % 16;
    *column = r;
    return;
  }
}

/* Columns of a repeat. */
static unsigned width_of(shape of) {
  static const uint8_t width[] = {1, 2, 4, 8, 1};
  return width[of];
}

/* Whether the warp may access the cells of ld or st; else the launch ends. */
static bool check_move(bf_emu_warp *warp, const bf_emu_op *op, uint32_t address) {
  const core *what = op->detail;
  unsigned lanes = what->shape == BY_32X32 ? 32 : 16, quarter = warp->index % 4 * 32;
  unsigned columns = (what->is_packed ? 2 : 1) * what->repeats * width_of(what->shape);
  if (!bf_tensor_check(warp, op, 0, warp->block, address, lanes, columns) ||
      !bf_tensor_check(warp, op, 0, warp->block, address + what->split, lanes, columns))
    return false;
  if (address >> 16 >= quarter && (address >> 16) + lanes <= quarter + 32)
    return bf_tensor_is_settled(warp, op, address, columns) &&
           (!what->split || bf_tensor_is_settled(warp, op, address + what->split, columns));
  return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, 0,
                     "lanes %u to %u of tensor memory; warp %u may access lanes %u to %u",
                     address >> 16, (address >> 16) + lanes - 1, warp->index, quarter,
                     quarter + 31) != NULL;
}

/* ld and st: of a register with two 16-bit elements, the second is in the next column. */
static const bf_emu_op *step_move(bf_emu_warp *warp, const bf_emu_op *op) {
  const core *what = op->detail;
  if (!BF_MASK())
    return op + 1;
  if (!meet(warp, op))
    return NULL;
  uint32_t address = bf_tensor_address(warp, &what->at, 0);
  if (!check_move(warp, op, address))
    return NULL;
  for (unsigned r = 0; r < what->registers; r++) {
    uint32_t *word = BF_LANES(uint32_t, what->place[r]);
    for (unsigned thread = 0; thread < BF_EMU_LANES; thread++) {
      unsigned lane, column;
      place_of(what, r, thread, &lane, &column);
      uint32_t *cell =
          bf_tensor_cell(warp->block->tensor, address + (thread < 16 ? 0 : what->split), lane,
                         (what->is_packed ? 2 : 1) * column);
      if (what->is_load)
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
    memory *tensor = bf_tensor_of(warp, op, lane, warp->block);
    uint64_t offset, address = what->at.register_bytes == 8
                                   ? BF_LANES(const uint64_t, what->at.place)[lane] +
                                         (uint64_t)what->at.offset - BF_EMU_SHARED_WINDOW
                                   : bf_tensor_address(warp, &what->at, lane);
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

static const bf_emu_op *step_nothing(bf_emu_warp *warp, const bf_emu_op *op) {
  (void)warp;
  return op + 1;
}

/* ---- Selection ---- */

/* The number behind an x: .x4. */
static unsigned read_repeats(const bf_ptx_instruction *instruction) {
  unsigned repeats = 0;
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (instruction->modifier[i][0] == 'x' && sscanf(instruction->modifier[i] + 1, "%3u", &repeats))
      return repeats;
  return 0;
}

static bool find_shape(const bf_ptx_instruction *instruction, shape *found) {
  static const char *const names[] = {[BY_32X32] = "32x32b",
                                      [BY_16X64] = "16x64b",
                                      [BY_16X128] = "16x128b",
                                      [BY_16X256] = "16x256b",
                                      [BY_16X32X2] = "16x32bx2"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (bf_ptx_has(instruction, names[i])) {
      *found = (shape)i;
      return true;
    }
  return false;
}

/* ld: registers, [address] {, split}; st: [address] {, split}, registers. */
static bool select_move(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op, core *what) {
  const bf_ptx_operand *operand = instruction->operand;
  if (!find_shape(instruction, &what->shape) || bf_ptx_has(instruction, "red"))
    return bf_emu_refuse(decoder, "tensor memory in this shape");
  bool is_split = what->shape == BY_16X32X2;
  unsigned wanted = is_split ? 3 : 2, address = what->is_load ? 1 : 0;
  if (instruction->operands != wanted || (is_split && operand[address + 1].kind != BF_PTX_INTEGER))
    return bf_emu_refuse(decoder, "tcgen05 of this form");
  const bf_ptx_operand *registers = &operand[what->is_load ? 0 : wanted - 1];
  const bf_ptx_operand *item = registers->kind == BF_PTX_VECTOR ? registers->item : registers;
  unsigned count = registers->kind == BF_PTX_VECTOR ? registers->count : 1;
  what->split = is_split ? (unsigned)operand[address + 1].bits & 0x1ff : 0;
  what->repeats = read_repeats(instruction);
  what->is_packed = bf_ptx_has(instruction, "pack::16b") || bf_ptx_has(instruction, "unpack::16b");
  what->registers = what->repeats * (what->shape == BY_16X128   ? 2
                                     : what->shape == BY_16X256 ? 4
                                                                : 1);
  if (count != what->registers || count > MOST_REGISTERS)
    return bf_emu_refuse(decoder, "another number of registers than the shape has");
  for (unsigned i = 0; i < count; i++) {
    if (bf_emu_register_bytes(&item[i], BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "registers that do not have 32 bits");
    what->place[i] = what->is_load ? bf_emu_destination(decoder, &item[i])
                                   : bf_emu_source(decoder, &item[i], BF_PTX_B32);
  }
  what->at = bf_tensor_bind(decoder, instruction, &operand[address]);
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
  what->is_pair = bf_ptx_has(instruction, "cta_group::2");
  if (bf_ptx_has(instruction, "ld") || bf_ptx_has(instruction, "st")) {
    what->is_load = bf_ptx_has(instruction, "ld");
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
    what->at = bf_emu_bind_address(decoder, instruction, &operand[0],
                                   bf_ptx_address_space(instruction, &operand[0]));
  op->run = bf_ptx_has(instruction, "dealloc") ? step_dealloc : step_alloc;
  return true;
}

bool bf_emu_select_tensor_core(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  if (instruction->opcode != BF_PTX_OP_TCGEN05)
    return false;
  if (bf_ptx_has(instruction, "mma"))
    return bf_tensor_select_product(decoder, instruction, op);
  if (bf_ptx_has(instruction, "cp") || bf_ptx_has(instruction, "shift"))
    return bf_tensor_select_copy(decoder, instruction, op);
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (!strncmp(instruction->modifier[i], "fence::", 7) ||
        !strncmp(instruction->modifier[i], "wait::", 6)) {
      op->run = step_nothing;
      return true;
    }
  return select_simple(decoder, instruction, op);
}
