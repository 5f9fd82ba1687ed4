/* ld and st.
 *
 * Addresses of all lanes are checked at once where they are global and lie in the range that this
 * place of the code used last, or shared; whatever fails that goes lane by lane through
 * bf_emu_reach, which knows all spaces and says what is wrong. */
#include "emu/decode.h"
#include "emu/race.h"
#include "emu/transfer.h"

typedef bf_emu_mover mover;
typedef bf_emu_transfer transfer;

/* ---- Moving ---- */

#define LOAD(name, memory, reg)                                                                    \
  static void name(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {     \
    reg *to = registers;                                                                           \
    BF_EACH_LANE(mask, lane) {                                                                     \
      memory value;                                                                                \
      memcpy(&value, pointer[lane] + offset, sizeof value);                                        \
      to[lane] = (reg)value;                                                                       \
    }                                                                                              \
  }
#define STORE(name, memory, reg)                                                                   \
  static void name(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {     \
    const reg *from = registers;                                                                   \
    BF_EACH_LANE(mask, lane) {                                                                     \
      memory value = (memory)from[lane];                                                           \
      memcpy(pointer[lane] + offset, &value, sizeof value);                                        \
    }                                                                                              \
  }
/* From or to registers of 2, 4 and 8 bytes. */
#define BOTH(bits)                                                                                 \
  LOAD(load_u##bits##_2, uint##bits##_t, uint16_t)                                                 \
  LOAD(load_u##bits##_4, uint##bits##_t, uint32_t)                                                 \
  LOAD(load_u##bits##_8, uint##bits##_t, uint64_t)                                                 \
  LOAD(load_s##bits##_2, int##bits##_t, uint16_t)                                                  \
  LOAD(load_s##bits##_4, int##bits##_t, uint32_t)                                                  \
  LOAD(load_s##bits##_8, int##bits##_t, uint64_t)                                                  \
  STORE(store_##bits##_2, uint##bits##_t, uint16_t)                                                \
  STORE(store_##bits##_4, uint##bits##_t, uint32_t)                                                \
  STORE(store_##bits##_8, uint##bits##_t, uint64_t)
BOTH(8)
BOTH(16)
BOTH(32)
BOTH(64)

static void load_wide(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {
  bf_emu_wide *to = registers;
  BF_EACH_LANE(mask, lane) memcpy(&to[lane], pointer[lane] + offset, sizeof *to);
}
static void store_wide(void *registers, uint8_t *const *pointer, unsigned offset, uint32_t mask) {
  const bf_emu_wide *from = registers;
  BF_EACH_LANE(mask, lane) memcpy(pointer[lane] + offset, &from[lane], sizeof *from);
}

/* The mover for a size in memory (1, 2, 4, 8, 16) and in registers (2, 4, 8, 16); NULL: none. */
static mover find_mover(bool is_load, bool is_signed, unsigned size, unsigned register_bytes) {
  static const mover loads[2][4][3] = {{{load_u8_2, load_u8_4, load_u8_8},
                                        {load_u16_2, load_u16_4, load_u16_8},
                                        {load_u32_2, load_u32_4, load_u32_8},
                                        {load_u64_2, load_u64_4, load_u64_8}},
                                       {{load_s8_2, load_s8_4, load_s8_8},
                                        {load_s16_2, load_s16_4, load_s16_8},
                                        {load_s32_2, load_s32_4, load_s32_8},
                                        {load_s64_2, load_s64_4, load_s64_8}}};
  static const mover stores[4][3] = {{store_8_2, store_8_4, store_8_8},
                                     {store_16_2, store_16_4, store_16_8},
                                     {store_32_2, store_32_4, store_32_8},
                                     {store_64_2, store_64_4, store_64_8}};
  if (size == 16 && register_bytes == 16)
    return is_load ? load_wide : store_wide;
  if (size == 0 || size > 8 || register_bytes < 2 || register_bytes > 8)
    return NULL;
  unsigned row = (unsigned)__builtin_ctz(size),
           column = (unsigned)__builtin_ctz(register_bytes) - 1;
  return is_load ? loads[is_signed][row][column] : stores[row][column];
}

/* ---- Reaching memory for all lanes at once ---- */

/* Global addresses in the range that the site used last. */
static inline bool near_global(const bf_emu_warp *warp, const bf_emu_op *op, unsigned width_bytes,
                               bool is_write, uint32_t mask, const uint64_t *address) {
  const bf_emu_known *known = &warp->worker->known[op->site % BF_EMU_KNOWN];
  uint64_t first = known->first, last = known->end - width_bytes, wrong = 0;
  if (known->end - first < width_bytes || (is_write && !known->writable))
    return false;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      wrong |= (uint64_t)(address[lane] < first) | (uint64_t)(address[lane] > last) |
               (address[lane] & (width_bytes - 1));
  } else {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      wrong |= (mask >> lane & 1)
                   ? ((uint64_t)(address[lane] < first) | (uint64_t)(address[lane] > last) |
                      (address[lane] & (width_bytes - 1)))
                   : 0;
  }
  return wrong == 0;
}

/* Shared addresses inside the block's memory. */
static inline bool near_shared(const bf_emu_warp *warp, unsigned width_bytes, uint32_t mask,
                               const uint32_t *address) {
  uint64_t bytes = warp->block->shared_bytes;
  if (bytes < width_bytes || warp->block->shadow)
    return false;
  uint32_t last = (uint32_t)(bytes - width_bytes), wrong = 0;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      wrong |= (uint32_t)(address[lane] > last) | (address[lane] & (width_bytes - 1));
  } else {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      wrong |= (mask >> lane & 1)
                   ? ((uint32_t)(address[lane] > last) | (address[lane] & (width_bytes - 1)))
                   : 0;
  }
  return wrong == 0;
}

/* The addresses of [register + offset] as 32-bit values; false where a 64-bit one does not fit. */
static inline bool shared_addresses(const bf_emu_warp *warp, uint32_t place,
                                    unsigned register_bytes, int64_t offset, uint32_t mask,
                                    uint32_t *address) {
  if (register_bytes == 4) {
    const uint32_t *from = BF_LANES(const uint32_t, place);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      address[lane] = from[lane] + (uint32_t)offset;
    return true;
  }
  const uint64_t *from = BF_LANES(const uint64_t, place);
  uint64_t high = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint64_t wide = from[lane] + (uint64_t)offset;
    address[lane] = (uint32_t)wide;
    high |= mask >> lane & 1 ? wide >> 32 : 0;
  }
  return high == 0;
}

/* Where races are looked for: false: the launch has ended with one. */
static bool check_races(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        bool is_write, uint32_t mask, const uint32_t *offset) {
  uint64_t inside[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    inside[lane] = offset[lane];
  return bf_race_access(warp, op, kind, width_bytes, is_write, mask, 0, inside);
}

/* Pointers for an access of width_bytes per lane; false: the launch has ended. */
static inline bool reach(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_address *from,
                         bf_ptx_space space, unsigned width_bytes, bool is_write, uint32_t mask,
                         uint8_t **pointer) {
  uint64_t address[BF_EMU_LANES];
  bf_op kind = is_write ? BF_OP_ST : BF_OP_LD;
  if (space == BF_PTX_SPACE_SHARED) {
    uint32_t offset[BF_EMU_LANES];
    if (shared_addresses(warp, from->place, from->register_bytes, from->offset, mask, offset) &&
        near_shared(warp, width_bytes, mask, offset)) {
      uint8_t *shared = warp->block->shared;
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
        pointer[lane] = shared + offset[lane];
      if (warp->block->words && !check_races(warp, op, kind, width_bytes, is_write, mask, offset))
        return false;
      bf_emu_tell_shared(warp, op, kind, width_bytes, mask, offset);
      return true;
    }
  }
  bf_emu_addresses(warp, from->place, from->register_bytes, from->offset, address);
  if (space == BF_PTX_SPACE_GLOBAL && near_global(warp, op, width_bytes, is_write, mask, address)) {
    memcpy(pointer, address, sizeof address);
    if (warp->worker->flight->races &&
        !bf_race_access(warp, op, kind, width_bytes, is_write, 0, mask, address))
      return false;
    bf_emu_tell_global(warp, op, kind, width_bytes, mask, address);
    return true;
  }
  return bf_emu_reach(warp, op, space, kind, width_bytes, width_bytes, width_bytes, is_write, mask,
                      address, pointer);
}

/* ---- Operations ---- */

/* Any load or store. */
static inline const bf_emu_op *move_all(bf_emu_warp *warp, const bf_emu_op *op, bool is_write) {
  uint32_t mask = BF_MASK();
  if (mask == 0)
    return op + 1;
  const transfer *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  if (!reach(warp, op, &what->address, what->space, what->size * what->count, is_write, mask,
             pointer))
    return NULL;
  for (unsigned i = 0; i < what->count; i++)
    what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  warp->polled |= what->polls;
  return op + 1;
}

static const bf_emu_op *load_any(bf_emu_warp *warp, const bf_emu_op *op) {
  return move_all(warp, op, false);
}
static const bf_emu_op *store_any(bf_emu_warp *warp, const bf_emu_op *op) {
  return move_all(warp, op, true);
}

/* Whether all lanes touch consecutive elements. */
static inline bool are_consecutive(uint8_t *const *pointer, unsigned size) {
  uint64_t first = (uintptr_t)pointer[0], wrong = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= (uintptr_t)pointer[lane] ^ (first + (uint64_t)lane * size);
  return wrong == 0;
}

/* One register per lane of the same size as in memory, by far the most frequent form: d is the
 * register, a the address register, offset what is added. */
#define PLAIN(type, bits, space, SPACE, address_bytes)                                             \
  static const bf_emu_op *load_##space##_##bits(bf_emu_warp *warp, const bf_emu_op *op) {          \
    uint32_t mask = BF_MASK();                                                                     \
    if (mask == 0)                                                                                 \
      return op + 1;                                                                               \
    bf_emu_address from = {op->a, address_bytes, op->offset, BF_PTX_SPACE_NONE};                   \
    uint8_t *pointer[BF_EMU_LANES];                                                                \
    if (!reach(warp, op, &from, BF_PTX_SPACE_##SPACE, sizeof(type), false, mask, pointer))         \
      return NULL;                                                                                 \
    type *to = BF_LANES(type, op->d);                                                              \
    if (mask == UINT32_MAX && are_consecutive(pointer, sizeof(type)))                              \
      memcpy(to, pointer[0], sizeof(type) * BF_EMU_LANES);                                         \
    else                                                                                           \
      load_u##bits##_##address_bytes##_of_##space(to, pointer, mask);                              \
    return op + 1;                                                                                 \
  }                                                                                                \
  static const bf_emu_op *store_##space##_##bits(bf_emu_warp *warp, const bf_emu_op *op) {         \
    uint32_t mask = BF_MASK();                                                                     \
    if (mask == 0)                                                                                 \
      return op + 1;                                                                               \
    bf_emu_address from = {op->a, address_bytes, op->offset, BF_PTX_SPACE_NONE};                   \
    uint8_t *pointer[BF_EMU_LANES];                                                                \
    if (!reach(warp, op, &from, BF_PTX_SPACE_##SPACE, sizeof(type), true, mask, pointer))          \
      return NULL;                                                                                 \
    const type *value = BF_LANES(type, op->d);                                                     \
    if (mask == UINT32_MAX && are_consecutive(pointer, sizeof(type)))                              \
      memcpy(pointer[0], value, sizeof(type) * BF_EMU_LANES);                                      \
    else                                                                                           \
      BF_EACH_LANE(mask, lane) memcpy(pointer[lane], &value[lane], sizeof(type));                  \
    return op + 1;                                                                                 \
  }
#define GATHER(name, type)                                                                         \
  static inline void name(type *to, uint8_t *const *pointer, uint32_t mask) {                      \
    if (mask == UINT32_MAX) {                                                                      \
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)                                         \
        memcpy(&to[lane], pointer[lane], sizeof(type));                                            \
    } else {                                                                                       \
      BF_EACH_LANE(mask, lane) memcpy(&to[lane], pointer[lane], sizeof(type));                     \
    }                                                                                              \
  }
GATHER(load_u32_4_of_shared, uint32_t)
GATHER(load_u64_4_of_shared, uint64_t)
GATHER(load_u32_8_of_global, uint32_t)
GATHER(load_u64_8_of_global, uint64_t)
PLAIN(uint32_t, 32, shared, SHARED, 4)
PLAIN(uint64_t, 64, shared, SHARED, 4)
PLAIN(uint32_t, 32, global, GLOBAL, 8)
PLAIN(uint64_t, 64, global, GLOBAL, 8)

/* A parameter of the kernel: the same for all lanes. a is its offset. */
static const bf_emu_op *load_parameter(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const transfer *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  uint8_t *from = warp->worker->flight->parameters + what->address.offset;
  if (what->count == 1 && what->size == 8 && what->move[0] == load_u64_8) {
    uint64_t value, *to = BF_LANES(uint64_t, what->place[0]);
    memcpy(&value, from, sizeof value);
    BF_SET_LANES(mask, to, value);
    return op + 1;
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = from;
  for (unsigned i = 0; i < what->count; i++)
    what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  return op + 1;
}

/* A parameter of a function or call: d is its place in the frame, e its bytes per lane. */
static const bf_emu_op *move_region(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const transfer *what = op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = warp->registers + op->d + lane * op->e + what->address.offset;
  for (unsigned i = 0; i < what->count; i++)
    what->move[i](warp->registers + what->place[i], pointer, i * what->size, mask);
  return op + 1;
}

/* ---- Finding the operation of an instruction ---- */

static bool is_signed(bf_ptx_type type) {
  return type == BF_PTX_S8 || type == BF_PTX_S16 || type == BF_PTX_S32 || type == BF_PTX_S64;
}

/* The registers that are moved, one or a vector. */
static bool bind_registers(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type,
                           bool is_load, transfer *what) {
  const bf_ptx_operand *item = operand->kind == BF_PTX_VECTOR ? operand->item : operand;
  what->count = operand->kind == BF_PTX_VECTOR ? operand->count : 1;
  what->size = bf_ptx_type_bytes(type);
  if (what->count > BF_EMU_MOST_VECTOR || what->count == 0 || what->size == 0)
    return bf_emu_refuse(decoder, "vector of this size"), false;
  for (unsigned i = 0; i < what->count; i++) {
    bool is_sink = item[i].kind == BF_PTX_SINK;
    unsigned bytes =
        is_sink ? (what->size < 2 ? 2 : what->size) : bf_emu_register_bytes(&item[i], type);
    what->place[i] =
        is_load ? bf_emu_destination(decoder, &item[i]) : bf_emu_source(decoder, &item[i], type);
    what->move[i] = find_mover(is_load, is_signed(type), what->size, bytes);
    if (!what->move[i])
      return bf_emu_refuse(decoder, "register of another size"), false;
  }
  return true;
}

/* Where the base is a parameter by name: of the kernel, or in the frame. */
static bool select_parameter(bf_emu_decoder *decoder, const bf_ptx_operand *address, bool is_load,
                             transfer *what, bf_emu_op *op) {
  const bf_ptx_operand *base = address->kind == BF_PTX_ADDRESS ? &address->item[0] : address;
  if (base->kind != BF_PTX_SYMBOL || base->symbol->kind != BF_PTX_SYMBOL_VARIABLE)
    return false;
  const bf_ptx_variable *variable = base->symbol->variable;
  const bf_emu_region *region = bf_emu_region_of(decoder, variable);
  uint64_t offset = 0, inside = (uint64_t)(address->offset + (base != address ? base->offset : 0));
  uint64_t end = inside + (uint64_t)what->size * what->count;
  what->address.offset = (int64_t)inside;
  op->detail = what;
  if (end < inside || end > (region ? region->stride : variable->bytes))
    return bf_emu_refuse(decoder, "access outside a parameter");
  if (region) {
    op->run = move_region;
    op->d = region->place;
    op->e = region->stride;
    return true;
  }
  if (!is_load || !bf_emu_kernel_parameter_of(decoder, variable, &offset))
    return bf_emu_refuse(decoder, "parameter of this kind");
  what->address.offset += (int64_t)offset;
  op->run = load_parameter;
  return true;
}

/* The short forms, where there is one. */
static void select_plain(const transfer *what, bool is_load, bf_emu_op *op) {
  bool equal = what->move[0] == (is_load ? load_u32_4 : store_32_4) ||
               what->move[0] == (is_load ? load_s32_4 : store_32_4);
  bool equal_wide = what->move[0] == (is_load ? load_u64_8 : store_64_8) ||
                    what->move[0] == (is_load ? load_s64_8 : store_64_8);
  bool is_shared = what->space == BF_PTX_SPACE_SHARED && what->address.register_bytes == 4;
  bool is_global = what->space == BF_PTX_SPACE_GLOBAL && what->address.register_bytes == 8;
  if (what->count != 1 || what->polls || !(equal || equal_wide) || !(is_shared || is_global))
    return;
  op->d = what->place[0];
  op->small[BF_EMU_PLAIN] = (uint8_t)what->size;
  op->a = what->address.place;
  op->offset = what->address.offset;
  if (is_shared)
    op->run = is_load ? (equal ? load_shared_32 : load_shared_64)
                      : (equal ? store_shared_32 : store_shared_64);
  else
    op->run = is_load ? (equal ? load_global_32 : load_global_64)
                      : (equal ? store_global_32 : store_global_64);
}

static bool polls(const bf_ptx_instruction *instruction) {
  return bf_ptx_has(instruction, "volatile") || bf_ptx_has(instruction, "relaxed") ||
         bf_ptx_has(instruction, "acquire") || bf_ptx_has(instruction, "mmio");
}

bool BF_EMU_NAME(bf_emu_select_memory)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_memory)(bf_emu_decoder *decoder,
                                       const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bool is_load = instruction->opcode == BF_PTX_OP_LD || instruction->opcode == BF_PTX_OP_LDU;
  if (!is_load && instruction->opcode != BF_PTX_OP_ST)
    return false;
  if (bf_ptx_has(instruction, "async") || bf_ptx_has(instruction, "shared::cluster"))
    return bf_emu_refuse(decoder, "clusters");
  if (instruction->types != 1)
    return bf_emu_refuse(decoder, "no type");
  transfer *what = bf_emu_detail(decoder, sizeof *what);
  if (!what || !bind_registers(decoder, &instruction->operand[is_load ? 0 : 1],
                               instruction->type[0], is_load, what))
    return true;
  const bf_ptx_operand *address = &instruction->operand[is_load ? 1 : 0];
  what->space = bf_ptx_address_space(instruction, address);
  if (what->space == BF_PTX_SPACE_PARAM && select_parameter(decoder, address, is_load, what, op))
    return true;
  if (what->space == BF_PTX_SPACE_CONST || what->space == BF_PTX_SPACE_PARAM)
    what->space = BF_PTX_SPACE_GLOBAL;
  what->address = bf_emu_bind_address(decoder, instruction, address, what->space);
  what->polls = is_load && polls(instruction);
  op->run = is_load ? load_any : store_any;
  op->detail = what;
  select_plain(what, is_load, op);
  return true;
}
