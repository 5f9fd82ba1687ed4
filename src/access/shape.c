/* Shapes of accesses. */
#include "access/shape.h"

#include "access/intern.h"

#include <string.h>

/* What a shape has of an access besides the addresses. */
static void take_fields(bf_shape *shape, const bf_access *access) {
  shape->op = access->op;
  shape->width_bytes = access->width_bytes;
  shape->mask = access->mask;
  shape->site = access->site;
  shape->site_number = 0;
}

/* Distances and span of shape's lanes, which are at address. */
static void take_addresses(bf_shape *shape, const uint32_t *address,
                           const bf_lanes_kernel *kernel) {
  uint32_t first = address[__builtin_ctzll(shape->mask)],
           high = (uint32_t)(shape->mask >> BF_LANES);
  bf_lanes_span span = kernel->take(address, (uint32_t)shape->mask, first, shape->relative);
  if (high) {
    bf_lanes_span more = kernel->take(address + BF_LANES, high, first, shape->relative + BF_LANES);
    span.lowest = more.lowest < span.lowest ? more.lowest : span.lowest;
    span.highest = more.highest > span.highest ? more.highest : span.highest;
    span.bits |= more.bits;
  }
  shape->lowest = (int64_t)span.lowest - first;
  shape->highest = (int64_t)span.highest - first;
  shape->bits = span.bits;
  shape->is_unsettled = false;
}

void bf_shape_take(bf_shape *shape, const bf_access *access, const bf_lanes_kernel *kernel) {
  take_fields(shape, access);
  take_addresses(shape, access->address, kernel);
}

void bf_shape_list(bf_shape *shape, const bf_access *access) {
  const size_t half = BF_LANES * sizeof access->address[0];
  take_fields(shape, access);
  memcpy(shape->relative, access->address, half);
  if (access->mask >> BF_LANES)
    memcpy(shape->relative + BF_LANES, access->address + BF_LANES, half);
  shape->is_unsettled = true;
}

void bf_shape_settle(bf_shape *shape, const bf_lanes_kernel *kernel) {
  uint32_t address[BF_MAX_LANES];
  if (!shape->is_unsettled)
    return;
  memcpy(address, shape->relative, sizeof address);
  take_addresses(shape, address, kernel);
}

void bf_shape_place(const bf_shape *shape, uint32_t first, unsigned lanes,
                    const bf_lanes_kernel *kernel, bf_access *access) {
  uint32_t high = (uint32_t)(shape->mask >> BF_LANES);
  kernel->place(shape->relative, (uint32_t)shape->mask, first, access->address);
  if (high)
    kernel->place(shape->relative + BF_LANES, high, first, access->address + BF_LANES);
  else if (lanes > BF_LANES)
    memset(access->address + BF_LANES, 0, BF_LANES * sizeof access->address[0]);
}

bool bf_shape_fits(const bf_shape *shape, int64_t first, unsigned width_bytes,
                   uint64_t allocation_bytes) {
  int64_t most =
      allocation_bytes > UINT32_MAX ? (int64_t)UINT32_MAX + 1 : (int64_t)allocation_bytes;
  return ((uint64_t)first & (width_bytes - 1)) == 0 && first + shape->lowest >= 0 &&
         first + shape->highest + width_bytes <= most;
}

/* Bytes of relative that hold something. */
static size_t relative_bytes(const bf_shape *shape) {
  return (shape->mask >> BF_LANES ? BF_MAX_LANES : BF_LANES) * sizeof shape->relative[0];
}

bool bf_shape_equal(const bf_shape *a, const bf_shape *b) {
  return a->mask == b->mask && memcmp(a->relative, b->relative, relative_bytes(a)) == 0;
}

bool bf_shape_stride(const bf_shape *shape, const bf_lanes_kernel *kernel, int64_t *stride) {
  enum { LEAST_LANES = 4 };
  uint64_t behind = shape->mask & (shape->mask - 1);
  if (__builtin_popcountll(shape->mask) < LEAST_LANES)
    return false;
  int first = __builtin_ctzll(shape->mask), second = __builtin_ctzll(behind),
      last = 63 - __builtin_clzll(shape->mask);
  int64_t distance = (int32_t)shape->relative[second];
  if (distance % (second - first))
    return false;
  *stride = distance / (second - first);
  int64_t span = (last - first) * *stride;
  if (span != (span < 0 ? shape->lowest : shape->highest)) /* what follows is modulo 2^32 */
    return false;
  uint32_t line[BF_MAX_LANES], origin = 0 - (uint32_t)first * (uint32_t)*stride;
  kernel->stride((uint32_t)shape->mask, origin, (uint32_t)*stride, line);
  if (shape->mask >> BF_LANES)
    kernel->stride((uint32_t)(shape->mask >> BF_LANES), origin + BF_LANES * (uint32_t)*stride,
                   (uint32_t)*stride, line + BF_LANES);
  return memcmp(line, shape->relative, relative_bytes(shape)) == 0;
}

/* Where of_key has a shape. */
static unsigned key_of(const bf_shape *shape) {
  uint64_t kind = (uint64_t)shape->op << 8 | shape->width_bytes;
  uint64_t bits = bf_mix(shape->relative, relative_bytes(shape), shape->mask ^ kind << 48);
  return (unsigned)(bits % (4 * BF_SHAPES));
}

/* Places where a shape may be found. */
enum { WAYS = 4 };

static unsigned place_of(unsigned key, unsigned way) { return (key + way) % (4 * BF_SHAPES); }

int bf_shapes_find(const bf_shapes *shapes, const bf_shape *shape, unsigned *found_by) {
  unsigned key = *found_by = key_of(shape);
  for (unsigned way = 0; way < WAYS; way++) {
    int number = shapes->of_key[place_of(key, way)] - 1;
    if (number < 0)
      continue;
    const bf_shape *known = &shapes->shape[number];
    if (known->op == shape->op && known->width_bytes == shape->width_bytes &&
        bf_shape_equal(known, shape))
      return number;
  }
  return -1;
}

bf_shape *bf_shapes_next(bf_shapes *shapes) {
  shapes->number = (unsigned)(shapes->made % BF_SHAPES);
  shapes->id[shapes->number] = shapes->made++;
  return &shapes->shape[shapes->number];
}

void bf_shapes_index(bf_shapes *shapes, unsigned key) {
  unsigned place = place_of(key, (unsigned)(shapes->made % WAYS));
  for (unsigned way = 0; way < WAYS; way++)
    if (shapes->of_key[place_of(key, way)] == 0)
      place = place_of(key, way);
  shapes->of_key[place] = (uint16_t)(shapes->number + 1);
}
