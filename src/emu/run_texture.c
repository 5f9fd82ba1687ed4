/* tex, suld and sust: textures and surfaces of one to three dimensions and layers, without mipmaps
 * and cube maps.
 *
 * Filtering is as the CUDA programming guide defines it: weights have 8 bits behind the point. How
 * the hardware rounds them is not published; here to the nearest. */
#include "emu/decode.h"
#include "emu/half.h"

#include <math.h>

enum { MOST_CHANNELS = 4, MOST_COORDINATES = 3 };

/* What an instruction does: places of handle, coordinates and values. */
typedef struct sampling {
  uint32_t handle;
  uint32_t layer; /* its place, where is_layered */
  bool is_layered, is_integer;
  unsigned dimensions;
  uint32_t coordinate[MOST_COORDINATES];
  unsigned count; /* values, each of value_bytes in memory and register_bytes in the frame */
  unsigned value_bytes, register_bytes[MOST_CHANNELS];
  uint32_t value[MOST_CHANNELS];
  enum { OUTSIDE_TRAP, OUTSIDE_CLAMP, OUTSIDE_ZERO } outside; /* of surfaces */
  bool is_write;
} sampling;

/* The texels of one sample. */
typedef union texel {
  float f[MOST_CHANNELS];
  uint32_t u[MOST_CHANNELS];
} texel;

static unsigned texel_bytes(const bf_emu_texture *texture) {
  return texture->channels * texture->channel_bits / 8;
}

/* ---- Memory ---- */

/* Whether all texels lie in memory that the device knows; the worker remembers the range. */
static bool is_alive(bf_emu_warp *warp, const bf_emu_texture *texture) {
  bf_emu_known *known = &warp->worker->known[texture->address / 512 % BF_EMU_KNOWN];
  uint64_t first = texture->address;
  uint64_t end = first + (texture->depth - 1) * texture->slice_bytes +
                 (texture->height - 1) * texture->pitch_bytes +
                 (uint64_t)texture->width * texel_bytes(texture);
  bf_emu_entry entry;
  if (known->first <= first && end <= known->end)
    return true;
  if (!bf_emu_find_entry(warp->worker->flight->emu, first, &entry) ||
      end > entry.public.address + entry.public.bytes)
    return false;
  *known = (bf_emu_known){entry.public.address, entry.public.address + entry.public.bytes,
                          entry.writable};
  return true;
}

/* The texture that a lane's handle stands for; NULL: the launch has ended. */
static const bf_emu_texture *find_texture(bf_emu_warp *warp, const bf_emu_op *op,
                                          const sampling *what, unsigned lane) {
  uint64_t handle = BF_LANES(const uint64_t, what->handle)[lane];
  const bf_emu_texture *texture = bf_emu_texture_find(warp->worker->flight->emu, handle);
  if (!texture) {
    bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane, "no texture or surface has the handle %llu",
                (unsigned long long)handle);
    return NULL;
  }
  if (is_alive(warp, texture))
    return texture;
  bf_emu_fail_access(
      warp, op, BF_PTX_SPACE_GLOBAL, lane, texture->address, texel_bytes(texture), what->is_write,
      bf_emu_was_freed(warp->worker->flight->emu, texture->address) ? BF_EMU_USE_AFTER_FREE
                                                                    : BF_EMU_OUT_OF_BOUNDS);
  return NULL;
}

/* ---- One texel ---- */

/* A channel as it lies in memory. */
static inline uint32_t load_channel(const uint8_t *at, unsigned channel_bits) {
  uint32_t word;
  uint16_t half;
  if (channel_bits == 8)
    return *at;
  if (channel_bits == 16) {
    memcpy(&half, at, sizeof half);
    return half;
  }
  memcpy(&word, at, sizeof word);
  return word;
}

/* A channel as tex returns it: bits of an integer or of a float. */
static uint32_t read_channel(const bf_emu_texture *texture, const uint8_t *at) {
  uint32_t bits = load_channel(at, texture->channel_bits);
  unsigned unused = 32 - texture->channel_bits;
  float value;
  if (texture->kind == BF_EMU_TEXEL_FLOAT) {
    if (texture->channel_bits == 32)
      return bits;
    value = bf_emu_half_to_float((uint16_t)bits);
  } else if (texture->kind == BF_EMU_TEXEL_SIGNED) {
    int32_t number = (int32_t)(bits << unused) >> unused;
    if (!texture->reads_fraction || unused == 0)
      return (uint32_t)number;
    value = (float)number / (float)(UINT32_MAX >> (unused + 1));
    value = value < -1 ? -1 : value;
  } else {
    if (!texture->reads_fraction || unused == 0)
      return bits;
    value = (float)bits / (float)(UINT32_MAX >> unused);
  }
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The texel at a place that may lie outside: negative indices stand for the border. */
static texel read_texel(const bf_emu_texture *texture, const int64_t index[3]) {
  texel result = {.u = {0}};
  if (index[0] < 0 || index[1] < 0 || index[2] < 0) {
    for (unsigned i = 0; !texture->is_linear && i < MOST_CHANNELS; i++)
      result.f[i] = texture->border[i];
    return result;
  }
  const uint8_t *at =
      (const uint8_t *)(uintptr_t)texture->address + (uint64_t)index[2] * texture->slice_bytes +
      (uint64_t)index[1] * texture->pitch_bytes + (uint64_t)index[0] * texel_bytes(texture);
  for (unsigned i = 0; i < texture->channels; i++)
    result.u[i] = read_channel(texture, at + i * texture->channel_bits / 8);
  return result;
}

/* ---- Coordinates ---- */

/* The index inside 0..size-1 that index stands for, or -1: the border. */
static int64_t fold(bf_emu_outside outside, bool is_normalised, int64_t index, int64_t size) {
  if (index >= 0 && index < size)
    return index;
  if (outside == BF_EMU_OUTSIDE_BORDER)
    return -1;
  if (is_normalised && outside == BF_EMU_OUTSIDE_WRAP)
    return (index % size + size) % size;
  if (is_normalised && outside == BF_EMU_OUTSIDE_MIRROR) {
    int64_t inside = (index % (2 * size) + 2 * size) % (2 * size);
    return inside < size ? inside : 2 * size - 1 - inside;
  }
  return index < 0 ? 0 : size - 1;
}

/* A coordinate in texels as a number that fits an index. NaN counts as 0. */
static float bounded(float x) {
  const float most = 1e9f;
  return x != x ? 0 : x > most ? most : x < -most ? -most : x;
}

/* The texel that holds coordinates in texels. */
static texel sample_nearest(const bf_emu_texture *texture, unsigned dimensions, const float x[3],
                            int64_t layer) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  int64_t index[3] = {0, 0, layer};
  for (unsigned i = 0; i < dimensions; i++)
    index[i] =
        fold(texture->outside[i], texture->is_normalised, (int64_t)floorf(bounded(x[i])), size[i]);
  return read_texel(texture, index);
}

/* What the filter makes of bytes read as fractions: 16 bits, rounded (seen on an H200: half way
 * between 0 and 51 it gives 6554 / 65535). */
static void round_fractions(const bf_emu_texture *texture, texel *result) {
  if (texture->kind != BF_EMU_TEXEL_UNSIGNED || !texture->reads_fraction ||
      texture->channel_bits != 8)
    return;
  for (unsigned i = 0; i < MOST_CHANNELS; i++)
    result->f[i] = (float)(floor((double)result->f[i] * 65535 + 0.5) / 65535);
}

/* The mean of the two, four or eight texels around coordinates in texels. */
static texel sample_filtered(const bf_emu_texture *texture, unsigned dimensions, const float x[3],
                             int64_t layer) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  int64_t low[3], index[3] = {0, 0, layer};
  float weight[3] = {0, 0, 0};
  texel result = {.u = {0}};
  for (unsigned i = 0; i < dimensions; i++) {
    float place = bounded(x[i]) - 0.5f;
    low[i] = (int64_t)floorf(place);
    weight[i] = rintf((place - floorf(place)) * 256) / 256;
  }
  for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
    float part = 1;
    for (unsigned i = 0; i < dimensions; i++) {
      unsigned is_high = corner >> i & 1;
      part *= is_high ? weight[i] : 1 - weight[i];
      index[i] = fold(texture->outside[i], texture->is_normalised, low[i] + is_high, size[i]);
    }
    if (part == 0)
      continue;
    texel one = read_texel(texture, index);
    for (unsigned i = 0; i < MOST_CHANNELS; i++)
      result.f[i] += part * one.f[i];
  }
  round_fractions(texture, &result);
  return result;
}

/* The layer of a lane, which is clamped to those that exist. */
static int64_t layer_of(const bf_emu_warp *warp, const sampling *what,
                        const bf_emu_texture *texture, unsigned lane) {
  uint32_t layer = what->is_layered ? BF_LANES(const uint32_t, what->layer)[lane] : 0;
  return layer < texture->depth ? layer : texture->depth - 1;
}

/* Reads by integer coordinates: no filter; 0 outside linear memory. */
static texel fetch(const bf_emu_texture *texture, unsigned dimensions, const int32_t x[3],
                   int64_t layer) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  int64_t index[3] = {0, 0, layer};
  for (unsigned i = 0; i < dimensions; i++)
    index[i] = fold(texture->is_linear ? BF_EMU_OUTSIDE_BORDER : texture->outside[i], false, x[i],
                    size[i]);
  return read_texel(texture, index);
}

/* ---- tex ---- */

static texel sample_lane(const bf_emu_warp *warp, const sampling *what,
                         const bf_emu_texture *texture, unsigned lane) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  int64_t layer = layer_of(warp, what, texture, lane);
  float x[3] = {0, 0, 0};
  int32_t whole[3] = {0, 0, 0};
  for (unsigned i = 0; i < what->dimensions; i++) {
    x[i] = BF_LANES(const float, what->coordinate[i])[lane];
    whole[i] = BF_LANES(const int32_t, what->coordinate[i])[lane];
    if (texture->is_normalised)
      x[i] *= (float)size[i];
  }
  if (what->is_integer)
    return fetch(texture, what->dimensions, whole, layer);
  return texture->is_filtered ? sample_filtered(texture, what->dimensions, x, layer)
                              : sample_nearest(texture, what->dimensions, x, layer);
}

static const bf_emu_op *run_tex(bf_emu_warp *warp, const bf_emu_op *op) {
  const sampling *what = op->detail;
  const uint64_t *handle = BF_LANES(const uint64_t, what->handle);
  const bf_emu_texture *texture = NULL;
  uint64_t found = 0; /* the handle of texture: mostly all lanes have the same */
  BF_EACH_LANE(BF_MASK(), lane) {
    if (!texture || handle[lane] != found)
      texture = find_texture(warp, op, what, lane);
    if (!texture)
      return NULL;
    found = handle[lane];
    texel result = sample_lane(warp, what, texture, lane);
    for (unsigned i = 0; i < what->count; i++)
      BF_LANES(uint32_t, what->value[i])[lane] = result.u[i];
  }
  return op + 1;
}

/* ---- Surfaces ---- */

/* The memory that a lane reads or writes; NULL: outside, with *trapped where that ends the launch.
 * The first coordinate counts bytes. */
static uint8_t *reach_surface(bf_emu_warp *warp, const bf_emu_op *op, const sampling *what,
                              unsigned lane, bool *trapped) {
  const bf_emu_texture *surface = find_texture(warp, op, what, lane);
  *trapped = !surface;
  if (!surface)
    return NULL;
  int64_t bytes = what->count * what->value_bytes;
  int64_t last[3] = {(int64_t)surface->width * texel_bytes(surface) - bytes,
                     (int64_t)surface->height - 1, (int64_t)surface->depth - 1};
  int64_t x[3] = {0, 0, 0};
  bool is_outside = last[0] < 0;
  if (what->is_layered)
    x[2] = BF_LANES(const int32_t, what->layer)[lane];
  for (unsigned i = 0; i < what->dimensions; i++)
    x[i] = BF_LANES(const int32_t, what->coordinate[i])[lane];
  for (unsigned i = 0; i < 3; i++) {
    is_outside |= x[i] < 0 || x[i] > last[i];
    if (what->outside == OUTSIDE_CLAMP && last[0] >= 0)
      x[i] = x[i] < 0 ? 0 : x[i] > last[i] ? last[i] : x[i];
  }
  uint64_t address = surface->address + (uint64_t)x[2] * surface->slice_bytes +
                     (uint64_t)x[1] * surface->pitch_bytes + (uint64_t)x[0];
  if (is_outside && (what->outside != OUTSIDE_CLAMP || last[0] < 0)) {
    *trapped = what->outside == OUTSIDE_TRAP;
    if (*trapped)
      bf_emu_fail_access(warp, op, BF_PTX_SPACE_GLOBAL, lane, address, (unsigned)bytes,
                         what->is_write, BF_EMU_OUT_OF_BOUNDS);
    return NULL;
  }
  if (x[0] % bytes == 0)
    return (uint8_t *)(uintptr_t)address;
  *trapped = true;
  bf_emu_fail_access(warp, op, BF_PTX_SPACE_GLOBAL, lane, address, (unsigned)bytes, what->is_write,
                     BF_EMU_MISALIGNED);
  return NULL;
}

static const bf_emu_op *run_surface(bf_emu_warp *warp, const bf_emu_op *op) {
  const sampling *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    bool trapped;
    uint8_t *at = reach_surface(warp, op, what, lane, &trapped);
    if (trapped)
      return NULL;
    for (unsigned i = 0; i < what->count; i++) {
      uint8_t *value = warp->registers + what->value[i] + lane * what->register_bytes[i];
      if (!what->is_write)
        memset(value, 0, what->register_bytes[i]);
      if (at && what->is_write)
        memcpy(at + i * what->value_bytes, value, what->value_bytes);
      else if (at)
        memcpy(value, at + i * what->value_bytes, what->value_bytes);
    }
  }
  return op + 1;
}

/* ---- Finding the operation of an instruction ---- */

/* The geometry that modifiers name; false where it is not run. */
static bool bind_geometry(const bf_ptx_instruction *instruction, sampling *what) {
  static const struct {
    const char *name;
    unsigned dimensions;
    bool is_layered;
  } geometry[] = {
      {"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true}};
  for (unsigned i = 0; i < sizeof geometry / sizeof *geometry; i++)
    if (bf_ptx_has(instruction, geometry[i].name)) {
      what->dimensions = geometry[i].dimensions;
      what->is_layered = geometry[i].is_layered;
      return true;
    }
  return false;
}

/* [handle, {layer, x, y, z}] */
static bool bind_place(bf_emu_decoder *decoder, const bf_ptx_operand *address, bf_ptx_type type,
                       sampling *what) {
  if (address->kind != BF_PTX_ADDRESS || address->count != 2 || address->offset ||
      bf_emu_register_bytes(&address->item[0], BF_PTX_U64) != 8)
    return bf_emu_refuse(decoder, "texture named otherwise than by a handle"), false;
  const bf_ptx_operand *list = &address->item[1];
  const bf_ptx_operand *item = list->kind == BF_PTX_VECTOR ? list->item : list;
  unsigned count = list->kind == BF_PTX_VECTOR ? list->count : 1;
  if (count < what->dimensions + what->is_layered)
    return bf_emu_refuse(decoder, "too few coordinates"), false;
  for (unsigned i = 0; i < what->dimensions + what->is_layered; i++)
    if (bf_emu_register_bytes(&item[i], type) != 4)
      return bf_emu_refuse(decoder, "coordinates that are not 32 bits wide"), false;
  what->handle = bf_emu_source(decoder, &address->item[0], BF_PTX_U64);
  if (what->is_layered)
    what->layer = bf_emu_source(decoder, &item[0], BF_PTX_U32);
  for (unsigned i = 0; i < what->dimensions; i++)
    what->coordinate[i] = bf_emu_source(decoder, &item[i + what->is_layered], type);
  return true;
}

/* The registers that are read or written. */
static bool bind_values(bf_emu_decoder *decoder, const bf_ptx_operand *list, bf_ptx_type type,
                        sampling *what) {
  const bf_ptx_operand *item = list->kind == BF_PTX_VECTOR ? list->item : list;
  what->count = list->kind == BF_PTX_VECTOR ? list->count : 1;
  what->value_bytes = bf_ptx_type_bytes(type);
  if (what->count > MOST_CHANNELS || what->value_bytes == 0 || what->value_bytes > 8)
    return bf_emu_refuse(decoder, "vector of this size"), false;
  for (unsigned i = 0; i < what->count; i++) {
    unsigned least = what->value_bytes < 2 ? 2 : what->value_bytes;
    what->register_bytes[i] =
        item[i].kind == BF_PTX_SINK ? least : bf_emu_register_bytes(&item[i], type);
    if (what->register_bytes[i] < what->value_bytes)
      return bf_emu_refuse(decoder, "register of another size"), false;
    what->value[i] = what->is_write ? bf_emu_source(decoder, &item[i], type)
                                    : bf_emu_destination(decoder, &item[i]);
  }
  return true;
}

static bool select_tex(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       sampling *what, bf_emu_op *op) {
  if (bf_ptx_has(instruction, "grad") || instruction->types != 2 ||
      bf_ptx_type_bytes(instruction->type[0]) != 4)
    return bf_emu_refuse(decoder, "texture read of this form");
  what->is_integer = instruction->type[1] == BF_PTX_S32;
  if (bind_values(decoder, &instruction->operand[0], instruction->type[0], what) &&
      bind_place(decoder, &instruction->operand[1], instruction->type[1], what))
    op->run = run_tex;
  return true;
}

static bool select_surface(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           sampling *what, bf_emu_op *op) {
  if (!bf_ptx_has(instruction, "b") || instruction->types != 1)
    return bf_emu_refuse(decoder, "surface access of this form");
  what->is_write = instruction->opcode == BF_PTX_OP_SUST;
  what->outside = bf_ptx_has(instruction, "clamp")  ? OUTSIDE_CLAMP
                  : bf_ptx_has(instruction, "zero") ? OUTSIDE_ZERO
                                                    : OUTSIDE_TRAP;
  const bf_ptx_operand *operand = instruction->operand;
  if (bind_values(decoder, &operand[what->is_write ? 1 : 0], instruction->type[0], what) &&
      bind_place(decoder, &operand[what->is_write ? 0 : 1], BF_PTX_S32, what))
    op->run = run_surface;
  return true;
}

bool BF_EMU_NAME(bf_emu_select_texture)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op);

bool BF_EMU_NAME(bf_emu_select_texture)(bf_emu_decoder *decoder,
                                        const bf_ptx_instruction *instruction, bf_emu_op *op) {
  bool is_tex = instruction->opcode == BF_PTX_OP_TEX;
  if (!is_tex && instruction->opcode != BF_PTX_OP_SULD && instruction->opcode != BF_PTX_OP_SUST)
    return false;
  sampling *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  op->detail = what;
  if (!bind_geometry(instruction, what))
    return bf_emu_refuse(decoder, "cube maps and the like");
  return is_tex ? select_tex(decoder, instruction, what, op)
                : select_surface(decoder, instruction, what, op);
}
