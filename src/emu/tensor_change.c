/* Tensor maps that change in memory: tensormap.replace, tensormap.cp_fenceproxy and the fence that
 * acquires them; and st.bulk, which clears shared memory. */
#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/shadow.h"
#include "emu/tensor_map.h"

/* ---- Tensor maps that change ---- */

enum field { ADDRESS, RANK, BOX, SIZE, STRIDE, STEP, TYPE, INTERLEAVE, SWIZZLE, ATOMICITY, FILL };

typedef struct replacement {
  bf_emu_address map;
  enum field field;
  unsigned index;
  uint32_t value; /* place */
  unsigned bytes; /* of it */
} replacement;

/* Types as tensormap.replace numbers them: those of the driver without TF32 before them. */
static bool replace_field(bf_tensor_map *map, const replacement *what, uint64_t value) {
  unsigned i = what->index;
  switch (what->field) {
  case ADDRESS:
    map->address = value;
    return true;
  case RANK:
    map->rank = (uint8_t)(value + 1);
    return value < BF_TENSOR_DIMENSIONS;
  case BOX:
    map->box[i] = (uint16_t)value;
    return value && value <= 256;
  case SIZE:
    map->size[i] = (uint32_t)value - 1;
    return true;
  case STRIDE:
    if (i < BF_TENSOR_DIMENSIONS - 1)
      map->stride[i] = value;
    return i < BF_TENSOR_DIMENSIONS - 1;
  case STEP:
    map->step[i] = (uint8_t)value;
    return value && value <= 8;
  case TYPE:
    map->type = (uint8_t)value;
    return value < BF_TENSOR_TYPES;
  case INTERLEAVE:
    map->interleave = (uint8_t)value;
    return value < BF_TENSOR_INTERLEAVES;
  case SWIZZLE:
    map->swizzle = (uint8_t)value;
    return value <= BF_TENSOR_SWIZZLE_128;
  case ATOMICITY:
    if (map->swizzle >= BF_TENSOR_SWIZZLE_128)
      map->swizzle = (uint8_t)(BF_TENSOR_SWIZZLE_128 + value);
    return value <= 3 && (value == 0 || map->swizzle >= BF_TENSOR_SWIZZLE_128);
  case FILL:
    map->fill = (uint8_t)value;
    return value < BF_TENSOR_FILLS;
  }
  return false;
}

/* Whether memory holds a tensor map, or zeros, of which replacements make one field by field. */
static bool take_map(const uint8_t *memory, bf_tensor_map *map) {
  static const uint8_t zeros[BF_TENSOR_MAP_BYTES];
  memcpy(map, memory, sizeof *map);
  if (memcmp(map->magic, BF_TENSOR_MAGIC, sizeof map->magic) == 0)
    return true;
  memcpy(map->magic, BF_TENSOR_MAGIC, sizeof map->magic);
  return memcmp(memory, zeros, sizeof zeros) == 0;
}

static const bf_emu_op *step_replace(bf_emu_warp *warp, const bf_emu_op *op) {
  const replacement *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    uint64_t address = bf_emu_address_of(warp, &what->map, lane);
    if (what->map.space == BF_PTX_SPACE_SHARED)
      address += BF_EMU_SHARED_WINDOW;
    uint8_t *memory = bf_emu_reach_one(warp, op, lane, address, BF_TENSOR_MAP_BYTES, true);
    if (!memory)
      return NULL;
    bf_tensor_map map;
    if (!take_map(memory, &map))
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "neither a tensor map nor zeros are there");
    uint64_t value = what->bytes == 8 ? BF_LANES(const uint64_t, what->value)[lane]
                                      : BF_LANES(const uint32_t, what->value)[lane];
    if (!replace_field(&map, what, value))
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "%llu is no value for this field of a tensor map",
                         (unsigned long long)value);
    memcpy(memory, &map, sizeof map);
    if (address - BF_EMU_SHARED_WINDOW >= BF_EMU_WINDOW_BYTES)
      bf_proxy_map_changes(warp, op, lane, address);
  }
  return op + 1;
}

typedef struct map_copy {
  bf_emu_address to, from;
} map_copy;

/* tensormap.cp_fenceproxy: copies a map of 128 bytes from shared to global memory. */
static const bf_emu_op *step_copy_map(bf_emu_warp *warp, const bf_emu_op *op) {
  const map_copy *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    uint64_t to = bf_emu_address_of(warp, &what->to, lane),
             from = bf_emu_address_of(warp, &what->from, lane);
    if (to % 128 || from % 128) {
      bf_emu_fail_access(warp, op, BF_PTX_SPACE_GLOBAL, lane, to % 128 ? to : from,
                         BF_TENSOR_MAP_BYTES, to % 128 != 0, BF_EMU_MISALIGNED);
      return NULL;
    }
    uint8_t *target = bf_emu_reach_one(warp, op, lane, to, BF_TENSOR_MAP_BYTES, true);
    uint8_t *source = target ? bf_emu_reach_one(warp, op, lane, from + BF_EMU_SHARED_WINDOW,
                                                BF_TENSOR_MAP_BYTES, false)
                             : NULL;
    if (!source)
      return NULL;
    memcpy(target, source, BF_TENSOR_MAP_BYTES);
    bf_proxy_map_changes(warp, op, lane, to);
  }
  return op + 1;
}

/* fence.proxy.tensormap::generic.acquire: copies behind it use the map as it is. op->detail is
 * where it lies. */
static const bf_emu_op *step_acquire(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_address *where = op->detail;
  BF_EACH_LANE(BF_MASK(), lane)
  bf_proxy_map_acquired(warp->block, bf_emu_address_of(warp, where, lane));
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  bf_race_fence(warp->block, true);
  return op + 1;
}

/* ---- Zeros ---- */

/* st.bulk: zeros for bytes of shared memory; op->b holds how many. */
static const bf_emu_op *step_zeros(bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_address *where = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    uint64_t bytes = BF_LANES(const uint64_t, op->b)[lane], offset;
    bf_emu_block *block;
    if (bytes % 8)
      return bf_emu_fail(warp, op, BF_EMU_MISALIGNED, lane, "%llu bytes, which is no multiple of 8",
                         (unsigned long long)bytes);
    uint8_t *to = bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, where, lane), bytes,
                                       8, true, &block, &offset);
    if (!to)
      return NULL;
    memset(to, 0, bytes);
    if (block->shadow)
      bf_emu_shadow_fill(block->shadow, offset, (unsigned)bytes);
  }
  return op + 1;
}

/* ---- Selection ---- */

/* tensormap.replace.tile.field{.space}.b1024.type [map], {index,} value; */
static bool select_replacement(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  static const struct {
    const char *name;
    enum field field;
    bool is_indexed;
  } fields[] = {{"global_address", ADDRESS, false},
                {"rank", RANK, false},
                {"box_dim", BOX, true},
                {"global_dim", SIZE, true},
                {"global_stride", STRIDE, true},
                {"element_stride", STEP, true},
                {"elemtype", TYPE, false},
                {"interleave_layout", INTERLEAVE, false},
                {"swizzle_mode", SWIZZLE, false},
                {"swizzle_atomicity", ATOMICITY, false},
                {"fill_mode", FILL, false}};
  const bf_ptx_operand *operand = instruction->operand;
  replacement *what = bf_emu_detail(decoder, sizeof *what);
  unsigned found = 0, count = sizeof fields / sizeof *fields;
  while (found < count && !bf_ptx_has(instruction, fields[found].name))
    found++;
  unsigned value = found < count && fields[found].is_indexed ? 2 : 1;
  if (!what || found == count || instruction->operands != value + 1)
    return bf_emu_refuse(decoder, "tensormap.replace of this form");
  if (value == 2) {
    if (operand[1].kind != BF_PTX_INTEGER || operand[1].bits >= BF_TENSOR_DIMENSIONS)
      return bf_emu_refuse(decoder, "tensormap.replace of a dimension that is no number up to 4");
    what->index = (unsigned)operand[1].bits;
  }
  what->field = fields[found].field;
  what->map = bf_emu_bind_address(decoder, instruction, &operand[0],
                                  bf_ptx_address_space(instruction, &operand[0]));
  bf_ptx_type type = bf_ptx_has(instruction, "b64") ? BF_PTX_B64 : BF_PTX_B32;
  what->bytes = bf_ptx_type_bytes(type);
  if (bf_emu_register_bytes(&operand[value], type) != what->bytes)
    return bf_emu_refuse(decoder, "operand of another size than it must have");
  what->value = bf_emu_source(decoder, &operand[value], type);
  op->detail = what;
  op->run = step_replace;
  return true;
}

/* tensormap.cp_fenceproxy [to], [from], 128; */
static bool select_map_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  map_copy *what = bf_emu_detail(decoder, sizeof *what);
  if (!what || instruction->operands < 2)
    return bf_emu_refuse(decoder, "tensormap.cp_fenceproxy of this form");
  what->to = bf_emu_bind_address(decoder, instruction, &operand[0], BF_PTX_SPACE_GLOBAL);
  what->from = bf_emu_bind_address(decoder, instruction, &operand[1], BF_PTX_SPACE_SHARED);
  op->detail = what;
  op->run = step_copy_map;
  return true;
}

/* st.bulk{.weak}{.shared::cta} [to], bytes, 0; */
static bool select_zeros(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  bf_emu_address *where = bf_emu_detail(decoder, sizeof *where);
  if (!where)
    return true;
  if (instruction->operands != 3 || operand[2].kind != BF_PTX_INTEGER || operand[2].bits ||
      bf_emu_register_bytes(&operand[1], BF_PTX_B64) != 8)
    return bf_emu_refuse(decoder, "st.bulk of this form");
  *where = bf_emu_bind_address(decoder, instruction, &operand[0],
                               bf_ptx_address_space(instruction, &operand[0]));
  op->b = bf_emu_source(decoder, &operand[1], BF_PTX_B64);
  op->detail = where;
  op->run = step_zeros;
  return true;
}

/* fence.proxy.tensormap::generic.acquire.scope [map], 128; */
static bool select_acquire(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  bf_emu_address *where = bf_emu_detail(decoder, sizeof *where);
  if (!where)
    return true;
  *where = bf_emu_bind_address(decoder, instruction, &instruction->operand[0], BF_PTX_SPACE_NONE);
  op->detail = where;
  op->run = step_acquire;
  return true;
}

bool bf_emu_select_tensor_change(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                 bf_emu_op *op) {
  if (instruction->opcode == BF_PTX_OP_ST && bf_ptx_has(instruction, "bulk"))
    return select_zeros(decoder, instruction, op);
  if (instruction->opcode == BF_PTX_OP_FENCE && bf_ptx_has(instruction, "tensormap::generic") &&
      bf_ptx_has(instruction, "acquire") && instruction->operands == 2)
    return select_acquire(decoder, instruction, op);
  if (instruction->opcode != BF_PTX_OP_TENSORMAP)
    return false;
  return bf_ptx_has(instruction, "cp_fenceproxy") ? select_map_copy(decoder, instruction, op)
                                                  : select_replacement(decoder, instruction, op);
}
