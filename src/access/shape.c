/* Shapes of accesses. */
#include "access/shape.h"

#include "access/intern.h"

#include <string.h>

void bf_shape_take(bf_shape *shape, const bf_access *access) {
  int first = __builtin_ctzll(access->mask);
  memset(shape, 0, sizeof *shape);
  shape->op = access->op;
  shape->width_bytes = access->width_bytes;
  shape->mask = access->mask;
  shape->site = access->site;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    int64_t distance = (int64_t)access->address[lane] - access->address[first];
    shape->relative[lane] = (uint32_t)distance;
    shape->active[lane] = UINT32_MAX;
    shape->lowest = distance < shape->lowest ? distance : shape->lowest;
    shape->highest = distance > shape->highest ? distance : shape->highest;
  }
}

void bf_shape_place(const bf_shape *shape, uint32_t first, unsigned lanes, bf_access *access) {
  for (unsigned lane = 0; lane < lanes; lane++)
    access->address[lane] = (shape->relative[lane] + first) & shape->active[lane];
}

bool bf_shape_fits(const bf_shape *shape, int64_t first, unsigned width_bytes,
                   uint64_t allocation_bytes) {
  int64_t most =
      allocation_bytes > UINT32_MAX ? (int64_t)UINT32_MAX + 1 : (int64_t)allocation_bytes;
  return ((uint64_t)first & (width_bytes - 1)) == 0 && first + shape->lowest >= 0 &&
         first + shape->highest + width_bytes <= most;
}

bool bf_shape_equal(const bf_shape *a, const bf_shape *b) {
  return a->mask == b->mask && memcmp(a->relative, b->relative, sizeof a->relative) == 0;
}

/* Where of_key has a shape. */
static unsigned key_of(const bf_shape *shape) {
  uint64_t kind = (uint64_t)shape->op << 8 | shape->width_bytes;
  uint64_t bits = bf_mix(shape->relative, sizeof shape->relative, shape->mask ^ kind << 48);
  return (unsigned)(bits % (4 * BF_SHAPES));
}

/* Places where a shape may be found. */
enum { WAYS = 4 };

static unsigned place_of(unsigned key, unsigned way) { return (key + way) % (4 * BF_SHAPES); }

int bf_shapes_find(const bf_shapes *shapes, const bf_shape *shape) {
  unsigned key = key_of(shape);
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

void bf_shapes_index(bf_shapes *shapes) {
  unsigned key = key_of(&shapes->shape[shapes->number]);
  unsigned place = place_of(key, (unsigned)(shapes->made % WAYS));
  for (unsigned way = 0; way < WAYS; way++)
    if (shapes->of_key[place_of(key, way)] == 0)
      place = place_of(key, way);
  shapes->of_key[place] = (uint16_t)(shapes->number + 1);
}
