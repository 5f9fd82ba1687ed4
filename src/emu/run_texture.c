/* tex, tld4, txq, suld, sust and suq: textures and surfaces of one to three dimensions, layers,
 * cube maps and mipmaps.
 *
 * Filtering is as the CUDA programming guide defines it: weights have 8 bits behind the point. How
 * the hardware rounds them is not published; here to the nearest. So are weights between levels of
 * mipmaps, and gradients are taken as if there were no anisotropy: the longer one counts. */
#include "emu/bind.h"
#include "emu/decode.h"
#include "emu/half.h"

#include <math.h>

enum { MOST_CHANNELS = 4, MOST_COORDINATES = 3 };

/* What an instruction does: places of handle, coordinates and values. */
typedef struct sampling {
  uint32_t handle;
  bool is_reference; /* handle is the address of a variable, .texref or .surfref, that has it */
  uint32_t layer;    /* its place, where is_layered */
  bool is_layered, is_integer, is_cube;
  enum { LEVEL_FIRST, LEVEL_GIVEN, LEVEL_FROM_GRADIENT } level;
  uint32_t level_at;                      /* LEVEL_GIVEN: its place */
  uint32_t gradient[2][MOST_COORDINATES]; /* LEVEL_FROM_GRADIENT: places of dPdx and dPdy */
  unsigned component;                     /* tld4: which channel; txq, suq: a question */
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

/* Whether all texels of a level lie in memory that the device knows; the worker remembers the
 * range.
 */
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
  *known = (bf_emu_known){entry.public.address, entry.public.address + entry.public.bytes, true};
  bf_emu_touch(warp->worker->flight, &entry.public);
  return true;
}

/* The handle that is named: itself, or the variable that has it, which the launch then depends on.
 */
static uint64_t read_handle(bf_emu_warp *warp, const sampling *what, uint64_t named) {
  bf_emu_entry entry;
  if (!what->is_reference)
    return named;
  bf_emu_known *known = &warp->worker->known[named / 512 % BF_EMU_KNOWN];
  if ((known->first > named || named >= known->end) &&
      bf_emu_find_entry(warp->worker->flight->emu, named, &entry))
    bf_emu_touch(warp->worker->flight, &entry.public);
  return *(const uint64_t *)(uintptr_t)named;
}

/* The texture that a lane's handle stands for; NULL: the launch has ended. */
static const bf_emu_texture *find_texture(bf_emu_warp *warp, const bf_emu_op *op,
                                          const sampling *what, unsigned lane) {
  uint64_t handle = read_handle(warp, what, BF_LANES(const uint64_t, what->handle)[lane]);
  const bf_emu_texture *texture = bf_emu_texture_find(warp->worker->flight->emu, handle);
  if (!texture && what->is_reference) {
    bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                "nothing is bound to the texture or surface reference");
    return NULL;
  }
  if (!texture) {
    bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane, "no texture or surface has the handle %llu",
                (unsigned long long)handle);
    return NULL;
  }
  unsigned level = 0;
  while (level < texture->levels && is_alive(warp, &texture[level]))
    level++;
  if (level == texture->levels)
    return texture;
  texture += level;
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
static uint32_t read_channel(const bf_emu_texture *texture, const uint8_t *at, unsigned channel) {
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
    if (texture->is_srgb && texture->channel_bits == 8 && channel < 3)
      value = value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
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
    result.u[i] = read_channel(texture, at + i * texture->channel_bits / 8, i);
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

/* ---- Cube maps ---- */

/* A place on a face of a cube: the face, the coordinates on it and the length they are divided by.
 */
typedef struct on_face {
  unsigned face;
  float s, t, m;
} on_face;

/* The face that a direction points to: the coordinate that is largest; z before y before x where
 * they are equal. */
static unsigned face_of(const float x[3]) {
  float size[3] = {fabsf(x[0]), fabsf(x[1]), fabsf(x[2])};
  unsigned axis = size[2] >= size[1] && size[2] >= size[0] ? 2 : size[1] >= size[0] ? 1 : 0;
  return 2 * axis + (x[axis] < 0);
}

/* The parts of a direction on a face, by the table of the CUDA programming guide. */
static on_face turn(unsigned face, const float x[3]) {
  switch (face) {
  case 0:
    return (on_face){0, -x[2], -x[1], x[0]};
  case 1:
    return (on_face){1, x[2], -x[1], -x[0]};
  case 2:
    return (on_face){2, x[0], x[2], x[1]};
  case 3:
    return (on_face){3, x[0], -x[2], -x[1]};
  case 4:
    return (on_face){4, x[0], -x[1], x[2]};
  default:
    return (on_face){5, -x[0], -x[1], -x[2]};
  }
}

/* A direction that turn() makes s, t and 1 of. */
static void turn_back(unsigned face, float s, float t, float x[3]) {
  const float all[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                           {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
  memcpy(x, all[face], sizeof all[face]);
}

/* Coordinates from 0 to 1 on the face that a direction points to. */
static void project(const float direction[3], unsigned *face, float place[2]) {
  on_face found = turn(face_of(direction), direction);
  *face = found.face;
  place[0] = (found.s / found.m + 1) / 2;
  place[1] = (found.t / found.m + 1) / 2;
}

/* The texel beside the edge of a face becomes that of the face next to it. At a corner there is no
 * such texel; the nearest one stands for it. */
static void cross_edge(const bf_emu_texture *texture, int64_t index[3]) {
  const int64_t size = texture->width;
  float x[3], place[2];
  unsigned face;
  if (index[0] >= 0 && index[0] < size && index[1] >= 0 && index[1] < size)
    return;
  turn_back((unsigned)(index[2] % 6), (2 * (float)index[0] + 1) / (float)size - 1,
            (2 * (float)index[1] + 1) / (float)size - 1, x);
  project(x, &face, place);
  index[2] += face - index[2] % 6;
  for (unsigned i = 0; i < 2; i++) {
    int64_t at = (int64_t)floorf(place[i] * (float)size);
    index[i] = at < 0 ? 0 : at >= size ? size - 1 : at;
  }
}

/* The texel that coordinates outside stand for; -1: the border. */
static void fold_all(const bf_emu_texture *texture, unsigned dimensions, int64_t index[3]) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  if (texture->is_cube && texture->is_seamless && dimensions == 2)
    cross_edge(texture, index);
  for (unsigned i = 0; i < dimensions; i++)
    index[i] = fold(texture->is_cube ? BF_EMU_OUTSIDE_CLAMP : texture->outside[i],
                    texture->is_normalised, index[i], size[i]);
}

/* ---- Samples ---- */

/* The texel that holds coordinates in texels. */
static texel sample_nearest(const bf_emu_texture *texture, unsigned dimensions, const float x[3],
                            int64_t layer) {
  int64_t index[3] = {0, 0, layer};
  for (unsigned i = 0; i < dimensions; i++)
    index[i] = (int64_t)floorf(bounded(x[i]));
  fold_all(texture, dimensions, index);
  return read_texel(texture, index);
}

/* What the filter makes of bytes read as fractions: 16 bits, rounded (seen on an H200: half way
 * between 0 and 51 it gives 6554 / 65535). */
static inline bool rounds_fractions(const bf_emu_texture *texture) {
  return texture->kind == BF_EMU_TEXEL_UNSIGNED && texture->reads_fraction &&
         texture->channel_bits == 8;
}

static inline float round_fraction(float mean) {
  return (float)(floor((double)mean * 65535 + 0.5) / 65535);
}

/* The mean of the two, four or eight texels around coordinates in texels. */
static texel sample_filtered(const bf_emu_texture *texture, unsigned dimensions, const float x[3],
                             int64_t layer) {
  int64_t low[3];
  float weight[3] = {0, 0, 0};
  texel result = {.u = {0}};
  for (unsigned i = 0; i < dimensions; i++) {
    float place = bounded(x[i]) - 0.5f;
    low[i] = (int64_t)floorf(place);
    weight[i] = rintf((place - floorf(place)) * 256) / 256;
  }
  for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
    float part = 1;
    int64_t index[3] = {0, 0, layer};
    for (unsigned i = 0; i < dimensions; i++) {
      unsigned is_high = corner >> i & 1;
      part *= is_high ? weight[i] : 1 - weight[i];
      index[i] = low[i] + is_high;
    }
    if (part == 0)
      continue;
    fold_all(texture, dimensions, index);
    texel one = read_texel(texture, index);
    for (unsigned i = 0; i < MOST_CHANNELS; i++)
      result.f[i] += part * one.f[i];
  }
  for (unsigned i = 0; rounds_fractions(texture) && i < MOST_CHANNELS; i++)
    result.f[i] = round_fraction(result.f[i]);
  return result;
}

/* The layer of a lane, which is clamped to those that exist; of cube maps the first face of it. */
static int64_t layer_of(const bf_emu_warp *warp, const sampling *what,
                        const bf_emu_texture *texture, unsigned lane) {
  uint32_t layer = what->is_layered ? BF_LANES(const uint32_t, what->layer)[lane] : 0;
  uint32_t faces = what->is_cube ? 6 : 1, layers = texture->depth / faces;
  return (layer < layers ? layer : layers - 1) * faces;
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

/* ---- Levels ---- */

/* One level at coordinates as the texture has them, from 0 to 1 or in texels. */
static texel sample_level(const bf_emu_texture *texture, unsigned dimensions, const float at[3],
                          int64_t layer) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  float x[3] = {0, 0, 0};
  for (unsigned i = 0; i < dimensions; i++)
    x[i] = texture->is_normalised || texture->is_cube ? at[i] * (float)size[i] : at[i];
  return texture->is_filtered ? sample_filtered(texture, dimensions, x, layer)
                              : sample_nearest(texture, dimensions, x, layer);
}

/* The level, or the mean of two, that lod names. */
static texel sample_levels(const bf_emu_texture *texture, unsigned dimensions, const float at[3],
                           int64_t layer, float lod) {
  float last = (float)(texture->levels - 1);
  lod += texture->level_bias;
  lod = lod > texture->most_level ? texture->most_level : lod;
  lod = lod > texture->least_level ? lod : texture->least_level;
  lod = lod > 0 ? lod < last ? lod : last : 0; /* NaN counts as 0 */
  if (!texture->blends_levels)
    return sample_level(texture + (unsigned)floorf(lod + 0.5f), dimensions, at, layer);
  unsigned level = (unsigned)floorf(lod);
  float weight = rintf((lod - (float)level) * 256) / 256;
  texel first = sample_level(texture + level, dimensions, at, layer);
  if (weight == 0)
    return first;
  texel second = sample_level(texture + level + 1, dimensions, at, layer);
  for (unsigned i = 0; i < MOST_CHANNELS; i++)
    first.f[i] = (1 - weight) * first.f[i] + weight * second.f[i];
  return first;
}

/* The level at which a step of one pixel is one texel: the logarithm of the longer gradient. */
static float level_of_gradient(const bf_emu_warp *warp, const sampling *what,
                               const bf_emu_texture *texture, const float x[3], unsigned lane) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  float most = 0;
  for (unsigned k = 0; k < 2; k++) {
    float d[3], length = 0;
    unsigned parts = what->dimensions;
    for (unsigned i = 0; i < parts; i++)
      d[i] = BF_LANES(const float, what->gradient[k][i])[lane];
    if (what->is_cube) { /* the derivatives of s / m and t / m, of which 2 are the whole face */
      on_face here = turn(face_of(x), x), step = turn(here.face, d);
      d[0] = (step.s * here.m - here.s * step.m) / (here.m * here.m) / 2;
      d[1] = (step.t * here.m - here.t * step.m) / (here.m * here.m) / 2;
      parts = 2;
    }
    for (unsigned i = 0; i < parts; i++)
      length += d[i] * (float)size[i] * (d[i] * (float)size[i]);
    most = length > most ? length : most;
  }
  return most > 0 ? log2f(most) / 2 : 0;
}

/* The level that an instruction asks for. */
static float wanted_level(const bf_emu_warp *warp, const sampling *what,
                          const bf_emu_texture *texture, const float x[3], unsigned lane) {
  if (what->level == LEVEL_FIRST)
    return 0;
  if (what->level == LEVEL_FROM_GRADIENT)
    return level_of_gradient(warp, what, texture, x, lane);
  return what->is_integer ? (float)BF_LANES(const int32_t, what->level_at)[lane]
                          : BF_LANES(const float, what->level_at)[lane];
}

/* ---- tex ---- */

static texel sample_lane(const bf_emu_warp *warp, const sampling *what,
                         const bf_emu_texture *texture, unsigned lane) {
  int64_t layer = layer_of(warp, what, texture, lane);
  float x[3] = {0, 0, 0}, place[3] = {0, 0, 0};
  int32_t whole[3] = {0, 0, 0};
  for (unsigned i = 0; i < what->dimensions; i++) {
    x[i] = BF_LANES(const float, what->coordinate[i])[lane];
    whole[i] = BF_LANES(const int32_t, what->coordinate[i])[lane];
  }
  float lod = texture->levels > 1 ? wanted_level(warp, what, texture, x, lane) : 0;
  if (what->is_integer) {
    unsigned last = texture->levels - 1, level = lod > 0 ? (unsigned)lod : 0;
    return fetch(texture + (level < last ? level : last), what->dimensions, whole, layer);
  }
  if (!what->is_cube)
    return texture->levels > 1 ? sample_levels(texture, what->dimensions, x, layer, lod)
                               : sample_level(texture, what->dimensions, x, layer);
  unsigned face;
  project(x, &face, place);
  return sample_levels(texture, 2, place, layer + face, lod);
}

#include "emu/texture_lanes.h"

/* tld4: a channel of the four texels that a filter would read, counter-clockwise from the lower
 * left one. */
static texel gather_lane(const bf_emu_warp *warp, const sampling *what,
                         const bf_emu_texture *texture, unsigned lane) {
  static const uint8_t step[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  const uint32_t size[2] = {texture->width, texture->height};
  int64_t low[2], layer = layer_of(warp, what, texture, lane);
  texel result;
  for (unsigned i = 0; i < 2; i++) {
    float x = BF_LANES(const float, what->coordinate[i])[lane];
    x = texture->is_normalised ? x * (float)size[i] : x;
    low[i] = (int64_t)floorf(bounded(x) - 0.5f);
  }
  for (unsigned k = 0; k < 4; k++) {
    int64_t index[3] = {low[0] + step[k][0], low[1] + step[k][1], layer};
    fold_all(texture, 2, index);
    result.u[k] = read_texel(texture, index).u[what->component];
  }
  return result;
}

/* Reads for all lanes by one of the two. */
static inline const bf_emu_op *run_reads(bf_emu_warp *warp, const bf_emu_op *op,
                                         texel read(const bf_emu_warp *, const sampling *,
                                                    const bf_emu_texture *, unsigned)) {
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
    if (what->is_cube && !texture->is_cube)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane, "the texture is no cube map");
    texel result = read(warp, what, texture, lane);
    for (unsigned i = 0; i < what->count; i++)
      BF_LANES(uint32_t, what->value[i])[lane] = result.u[i];
  }
  return op + 1;
}

/* The texture of all lanes that take part; NULL: they have several, or a bad one. */
static const bf_emu_texture *common_texture(bf_emu_warp *warp, const sampling *what,
                                            uint32_t mask) {
  const uint64_t *handle = BF_LANES(const uint64_t, what->handle);
  uint64_t found = mask ? handle[__builtin_ctz(mask)] : 0;
  bool is_same = true;
  BF_EACH_LANE(mask, lane) is_same &= handle[lane] == found;
  const bf_emu_texture *texture =
      is_same ? bf_emu_texture_find(warp->worker->flight->emu, read_handle(warp, what, found))
              : NULL;
  return texture && is_alive(warp, texture) ? texture : NULL;
}

static const bf_emu_op *run_tex(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  const bf_emu_texture *texture = common_texture(warp, op->detail, mask);
  if (texture && sample_lanes(warp, op->detail, texture, mask))
    return op + 1;
  return run_reads(warp, op, sample_lane);
}

static const bf_emu_op *run_gather(bf_emu_warp *warp, const bf_emu_op *op) {
  return run_reads(warp, op, gather_lane);
}

/* ---- Questions: txq and suq ---- */

/* What can be asked; the answers are in the order of the names. */
static const char *const question[] = {
    "width", "height", "depth", "num_mipmap_levels", "array_size", "normalized_coords"};
enum { QUESTIONS = sizeof question / sizeof *question };

static const bf_emu_op *run_question(bf_emu_warp *warp, const bf_emu_op *op) {
  const sampling *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    const bf_emu_texture *texture = find_texture(warp, op, what, lane);
    if (!texture)
      return NULL;
    uint32_t levels = texture->levels;
    if (what->level == LEVEL_GIVEN) {
      uint32_t level = BF_LANES(const uint32_t, what->level_at)[lane];
      texture += level < levels ? level : levels - 1;
    }
    const uint32_t answer[QUESTIONS] = {texture->width, texture->height, texture->depth,
                                        levels,         texture->depth,  texture->is_normalised};
    BF_LANES(uint32_t, what->value[0])[lane] = answer[what->component];
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
    bool is_layered, is_cube;
  } geometry[] = {{"1d", 1, false, false}, {"2d", 2, false, false}, {"3d", 3, false, false},
                  {"a1d", 1, true, false}, {"a2d", 2, true, false}, {"cube", 3, false, true},
                  {"acube", 3, true, true}};
  for (unsigned i = 0; i < sizeof geometry / sizeof *geometry; i++)
    if (bf_ptx_has(instruction, geometry[i].name)) {
      what->dimensions = geometry[i].dimensions;
      what->is_layered = geometry[i].is_layered;
      what->is_cube = geometry[i].is_cube;
      return true;
    }
  return false;
}

/* The level that is given behind the place, or the two gradients; false: refused. */
static bool bind_level(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                       sampling *what) {
  bool is_given = bf_ptx_has(instruction, "level"), has_gradients = bf_ptx_has(instruction, "grad");
  unsigned more = is_given ? 1 : has_gradients ? 2 : 0;
  if (instruction->operands != 2 + more)
    return bf_emu_refuse(decoder, "texture read with an offset or comparison"), false;
  bf_ptx_type type = instruction->type[instruction->types - 1];
  what->level = is_given ? LEVEL_GIVEN : has_gradients ? LEVEL_FROM_GRADIENT : LEVEL_FIRST;
  if (is_given)
    what->level_at = bf_emu_bind_source(decoder, &instruction->operand[2], type);
  for (unsigned k = 0; has_gradients && k < 2; k++) {
    const bf_ptx_operand *list = &instruction->operand[2 + k];
    unsigned count = list->kind == BF_PTX_VECTOR ? list->count : 1;
    if (count < what->dimensions)
      return bf_emu_refuse(decoder, "too few gradients"), false;
    for (unsigned i = 0; i < what->dimensions; i++)
      what->gradient[k][i] = bf_emu_bind_source(
          decoder, list->kind == BF_PTX_VECTOR ? &list->item[i] : list, BF_PTX_F32);
  }
  return true;
}

/* The handle, in a register or in a variable that is named. */
static void bind_handle(bf_emu_decoder *decoder, const bf_ptx_operand *named, sampling *what) {
  what->is_reference = named->kind == BF_PTX_SYMBOL &&
                       named->symbol->kind == BF_PTX_SYMBOL_VARIABLE &&
                       (named->symbol->variable->type == BF_PTX_TEXREF ||
                        named->symbol->variable->type == BF_PTX_SURFREF);
  what->handle = bf_emu_source(decoder, named, BF_PTX_U64);
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
  bind_handle(decoder, &address->item[0], what);
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
  if (instruction->types != 2 || bf_ptx_type_bytes(instruction->type[0]) != 4)
    return bf_emu_refuse(decoder, "texture read of this form");
  what->is_integer = instruction->type[1] == BF_PTX_S32;
  if (bind_level(decoder, instruction, what) &&
      bind_values(decoder, &instruction->operand[0], instruction->type[0], what) &&
      bind_place(decoder, &instruction->operand[1], instruction->type[1], what))
    op->run = run_tex;
  return true;
}

/* tld4.COMPONENT.2d */
static bool select_gather(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          sampling *what, bf_emu_op *op) {
  static const char *const component[] = {"r", "g", "b", "a"};
  what->component = 4;
  for (unsigned i = 0; i < 4; i++)
    if (bf_ptx_has(instruction, component[i]))
      what->component = i;
  if (what->component == 4 || what->dimensions != 2 || instruction->types != 2 ||
      instruction->type[1] != BF_PTX_F32 || bf_ptx_type_bytes(instruction->type[0]) != 4 ||
      instruction->operands != 2)
    return bf_emu_refuse(decoder, "texture gather of this form");
  if (bind_values(decoder, &instruction->operand[0], instruction->type[0], what) &&
      bind_place(decoder, &instruction->operand[1], instruction->type[1], what))
    op->run = run_gather;
  return true;
}

/* txq.QUESTION d, [handle] and txq.level.QUESTION d, [handle], level; suq. */
static bool select_question(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                            sampling *what, bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  for (what->component = 0; what->component < QUESTIONS; what->component++)
    if (bf_ptx_has(instruction, question[what->component]))
      break;
  bool has_level = bf_ptx_has(instruction, "level");
  if (what->component == QUESTIONS || instruction->operands != 2 + (unsigned)has_level ||
      operand[1].kind != BF_PTX_ADDRESS || operand[1].count != 1 || operand[1].offset ||
      bf_emu_register_bytes(&operand[1].item[0], BF_PTX_U64) != 8)
    return bf_emu_refuse(decoder, "question of this form");
  bind_handle(decoder, &operand[1].item[0], what);
  what->value[0] = bf_emu_bind_destination(decoder, &operand[0], BF_PTX_B32);
  what->level = has_level ? LEVEL_GIVEN : LEVEL_FIRST;
  if (has_level)
    what->level_at = bf_emu_bind_source(decoder, &operand[2], BF_PTX_U32);
  op->run = run_question;
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
  bf_ptx_opcode opcode = instruction->opcode;
  bool is_question = opcode == BF_PTX_OP_TXQ || opcode == BF_PTX_OP_SUQ;
  bool is_read = opcode == BF_PTX_OP_TEX || opcode == BF_PTX_OP_TLD4;
  if (!is_question && !is_read && opcode != BF_PTX_OP_SULD && opcode != BF_PTX_OP_SUST)
    return false;
  sampling *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  op->detail = what;
  if (is_question)
    return select_question(decoder, instruction, what, op);
  if (!bind_geometry(instruction, what) || (what->is_cube && !is_read))
    return bf_emu_refuse(decoder, "texture or surface of this form");
  return opcode == BF_PTX_OP_TEX    ? select_tex(decoder, instruction, what, op)
         : opcode == BF_PTX_OP_TLD4 ? select_gather(decoder, instruction, what, op)
                                    : select_surface(decoder, instruction, what, op);
}
