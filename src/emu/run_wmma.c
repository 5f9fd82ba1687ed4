/* Matrices of wmma to and from memory: wmma.load, wmma.store. Where elements lie says fragment.h.
 */
#include "emu/fragment.h"
#include "emu/near.h"

bool BF_EMU_NAME(bf_emu_select_wmma)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op);

typedef struct matrix_transfer {
  bf_fragment fragment;
  bf_emu_address address;
  uint32_t stride; /* place of the distance of rows (or columns) in elements */
  bool by_rows;    /* layout in memory */
  bool is_store;
  /* Element i of register r of lane 0: which row (or column) of memory, and which element there. */
  struct {
    uint16_t line, element;
  } at[BF_FRAGMENT_REGISTERS][4];
} matrix_transfer;

/* Whether the elements of a register lie side by side in memory. */
static bool is_contiguous(const matrix_transfer *transfer) {
  return transfer->fragment.per_register == 1 ||
         transfer->by_rows == (transfer->fragment.role != BF_ROLE_B);
}

/* Where lanes are in the matrix, in elements of memory from that of lane 0. */
static void lane_distances(const bf_emu_warp *warp, const matrix_transfer *transfer,
                           uint64_t *distance) {
  const uint32_t *stride = BF_LANES(const uint32_t, transfer->stride);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    bf_spot at = bf_fragment_lane(&transfer->fragment, lane);
    distance[lane] = transfer->by_rows ? (uint64_t)at.row * stride[lane] + at.column
                                       : (uint64_t)at.column * stride[lane] + at.row;
  }
}

/* Addresses of element i of register r for all lanes. */
static void element_addresses(const bf_emu_warp *warp, const matrix_transfer *transfer, unsigned r,
                              unsigned i, const uint64_t *start, const uint64_t *distance,
                              uint64_t *address) {
  const uint32_t *stride = BF_LANES(const uint32_t, transfer->stride);
  bf_spot from = bf_fragment_spot(&transfer->fragment, r, i);
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
static void fill_copies(bf_emu_warp *warp, const bf_fragment *f, uint32_t lanes) {
  for (unsigned r = f->registers; r < f->registers * f->copies; r++) {
    const uint32_t *from = BF_LANES(const uint32_t, f->place[r % f->registers]);
    uint32_t *to = BF_LANES(uint32_t, f->place[r]);
    BF_SET_LANES(lanes, to, from[lane]);
  }
}

/* ---- A matrix whose address and stride are the same in all lanes, as they should be ---- */

typedef struct area {
  uint8_t *memory;
  uint32_t offset; /* in shared memory */
  uint64_t pitch;  /* bytes from line to line */
  bool is_shared;
} area;

/* Whether all lanes have the same address and stride. */
static bool is_uniform(const uint64_t *start, const uint32_t *stride) {
  uint64_t apart = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    apart |= (start[lane] ^ start[0]) | (stride[lane] ^ stride[0]);
  return apart == 0;
}

/* Finds the memory of the whole matrix; false where a lane must be looked at by itself. bytes is
 * the width of an access. */
static bool find_area(bf_emu_warp *warp, const bf_emu_op *op, const uint64_t *start, unsigned bytes,
                      area *found) {
  const matrix_transfer *transfer = op->detail;
  const bf_fragment *f = &transfer->fragment;
  const uint32_t *stride = BF_LANES(const uint32_t, transfer->stride);
  bf_ptx_space space = transfer->address.space;
  uint64_t size = f->bits / 8, at = start[0], first, last;
  uint64_t lines = transfer->by_rows ? f->rows : f->columns;
  uint64_t in_line = transfer->by_rows ? f->columns : f->rows;
  if (f->bits < 8 || !is_uniform(start, stride))
    return false;
  found->pitch = stride[0] * size;
  uint64_t extent = (lines - 1) * found->pitch + in_line * size;
  if (((at | found->pitch) & (bytes - 1)) || extent >> 31)
    return false;
  uint64_t offset =
      at - (space == BF_PTX_SPACE_NONE ? BF_EMU_SHARED_WINDOW : 0) - bf_near_base(warp, space);
  found->is_shared = (space == BF_PTX_SPACE_SHARED || space == BF_PTX_SPACE_NONE) &&
                     extent <= warp->block->shared_bytes &&
                     offset <= warp->block->shared_bytes - extent && !warp->block->shadow;
  found->offset = (uint32_t)offset;
  found->memory = found->is_shared ? warp->block->shared + offset : (uint8_t *)(uintptr_t)at;
  return found->is_shared ||
         ((space == BF_PTX_SPACE_GLOBAL || space == BF_PTX_SPACE_NONE) &&
          !bf_near_is_watched(warp) &&
          bf_near_range(warp, op, (unsigned)extent, transfer->is_store, &first, &last) &&
          at - first <= last);
}

/* Moves bytes of each lane, from memory that lies g and t bytes apart. */
#define MOVE_ALL(type)                                                                             \
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {                                           \
    uint8_t *in_memory = memory + lane / 4 * g + lane % 4 * t, *own = first + lane * step;         \
    if (is_store)                                                                                  \
      memcpy(in_memory, own, sizeof(type));                                                        \
    else                                                                                           \
      memcpy(own, in_memory, sizeof(type));                                                        \
  }

/* One register, or an element of it: bytes at an offset in each lane. Lanes 4g to 4g+3 often have
 * 16 bytes together. */
static void move_all(uint8_t *memory, uint64_t g, uint64_t t, uint8_t *first, unsigned step,
                     unsigned bytes, bool is_store) {
  if (bytes == 4 && t == 4) {
    for (unsigned i = 0; i < 8; i++)
      memcpy(is_store ? memory + i * g : first + 16 * i, is_store ? first + 16 * i : memory + i * g,
             16);
  } else if (bytes == 1)
    MOVE_ALL(uint8_t)
  else if (bytes == 2)
    MOVE_ALL(uint16_t)
  else if (bytes == 4)
    MOVE_ALL(uint32_t)
  else
    MOVE_ALL(uint64_t)
}

/* Notes for who looks for races what a store writes of a register, from an offset on. */
static void note_stored(bf_emu_warp *warp, const matrix_transfer *transfer, unsigned r,
                        unsigned offset) {
  const bf_fragment *f = &transfer->fragment;
  warp->stored = transfer->is_store ? warp->registers + f->place[r] + offset : NULL;
  warp->stored_step = f->register_bytes;
}

/* Moves all registers; false: the launch has ended. */
static bool move_area(bf_emu_warp *warp, const bf_emu_op *op, const bf_near_access *what,
                      const area *from, bool whole) {
  const matrix_transfer *transfer = op->detail;
  const bf_fragment *f = &transfer->fragment;
  bf_spot down = bf_fragment_lane(f, 4), right = bf_fragment_lane(f, 1);
  uint64_t size = f->bits / 8, pitch = from->pitch;
  bool by_rows = transfer->by_rows;
  uint64_t g =
      by_rows ? down.row * pitch + down.column * size : down.column * pitch + down.row * size;
  uint64_t t =
      by_rows ? right.row * pitch + right.column * size : right.column * pitch + right.row * size;
  uint32_t apart[BF_EMU_LANES], shared[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    apart[lane] = from->offset + lane / 4 * (uint32_t)g + lane % 4 * (uint32_t)t;
  for (unsigned r = 0; r < f->registers; r++)
    for (unsigned i = 0; i < (whole ? 1 : f->per_register); i++) {
      uint64_t offset = transfer->at[r][i].line * pitch + transfer->at[r][i].element * size;
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
        shared[lane] = apart[lane] + (uint32_t)offset;
      note_stored(warp, transfer, r, i * what->width_bytes);
      bool fine = !from->is_shared || bf_near_tell_shared(warp, op, what, UINT32_MAX, shared);
      warp->stored = NULL;
      if (!fine)
        return false;
      move_all(from->memory + offset, g, t, warp->registers + f->place[r] + i * what->width_bytes,
               f->register_bytes, what->width_bytes, transfer->is_store);
    }
  return true;
}

/* ---- Operations ---- */

/* wmma.load, wmma.store: a register is one access where its elements lie side by side in memory,
 * else one access per element. */
static const bf_emu_op *run_transfer(bf_emu_warp *warp, const bf_emu_op *op) {
  const matrix_transfer *transfer = op->detail;
  const bf_fragment *f = &transfer->fragment;
  const bf_emu_address *from = &transfer->address;
  uint64_t start[BF_EMU_LANES], distance[BF_EMU_LANES], address[BF_EMU_LANES];
  uint8_t *pointer[BF_EMU_LANES];
  uint32_t lanes;
  if (!bf_fragment_meet(warp, op, &lanes))
    return NULL;
  bool whole = is_contiguous(transfer);
  unsigned bytes = whole ? f->register_bytes : f->bits / 8;
  bf_near_access what = {from->space, transfer->is_store ? BF_OP_ST : BF_OP_LD, bytes, bytes,
                         transfer->is_store};
  bf_emu_addresses(warp, from->place, from->register_bytes, from->offset, start);
  area found;
  if (lanes == UINT32_MAX && find_area(warp, op, start, bytes, &found)) {
    if (!move_area(warp, op, &what, &found, whole))
      return NULL;
    if (!transfer->is_store)
      fill_copies(warp, f, lanes);
    return op + 1;
  }
  lane_distances(warp, transfer, distance);
  for (unsigned r = 0; r < f->registers; r++)
    for (unsigned i = 0; i < (whole ? 1 : f->per_register); i++) {
      element_addresses(warp, transfer, r, i, start, distance, address);
      note_stored(warp, transfer, r, i * bytes);
      bool fine = bf_near_reach_at(warp, op, &what, lanes, address, pointer);
      warp->stored = NULL;
      if (!fine)
        return NULL;
      move(warp, transfer, r, i * bytes, bytes, lanes, pointer);
    }
  if (!transfer->is_store)
    fill_copies(warp, f, lanes);
  return op + 1;
}

/* The role of the matrix that a wmma.load or wmma.store names: the modifier behind load or store.
 */
static bool read_role(const bf_ptx_instruction *instruction, bf_fragment_role *role) {
  for (unsigned i = 0; i + 1 < instruction->modifiers; i++) {
    if (strcmp(instruction->modifier[i], "load") && strcmp(instruction->modifier[i], "store"))
      continue;
    switch (instruction->modifier[i + 1][0]) {
    case 'a':
      *role = BF_ROLE_A;
      return true;
    case 'b':
      *role = BF_ROLE_B;
      return true;
    case 'c':
    case 'd':
      *role = BF_ROLE_C;
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
  bf_matrix_shape shape;
  bf_fragment_role role;
  if (!bf_matrix_shape_read(instruction, &shape) || !read_role(instruction, &role) ||
      instruction->types != 1 || instruction->operands < 2 ||
      by_rows == bf_ptx_has(instruction, "col"))
    return bf_emu_refuse(decoder, "wmma of this form");
  const bf_ptx_operand *address = &instruction->operand[is_store ? 0 : 1];
  const bf_ptx_operand *registers = &instruction->operand[is_store ? 1 : 0];
  matrix_transfer *transfer = bf_emu_detail(decoder, sizeof *transfer);
  if (!transfer)
    return true;
  bf_fragment *f = &transfer->fragment;
  /* Elements of less than 8 bits can only be moved in whole registers. */
  transfer->by_rows = by_rows;
  transfer->is_store = is_store;
  if (!bf_fragment_make(role, instruction->type[0], shape, f) ||
      !bf_fragment_bind(decoder, registers, !is_store, f) ||
      (f->bits < 8 && !is_contiguous(transfer)))
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
  for (unsigned r = 0; r < f->registers; r++)
    for (unsigned i = 0; i < f->per_register && i < 4; i++) {
      bf_spot at = bf_fragment_spot(f, r, i);
      transfer->at[r][i].line = (uint16_t)(by_rows ? at.row : at.column);
      transfer->at[r][i].element = (uint16_t)(by_rows ? at.column : at.row);
    }
  op->detail = transfer;
  op->run = run_transfer;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_wmma)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                     bf_emu_op *op) {
  return instruction->opcode == BF_PTX_OP_WMMA && !bf_ptx_has(instruction, "mma") &&
         select_transfer(decoder, instruction, op);
}
