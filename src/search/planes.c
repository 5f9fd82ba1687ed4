/* Building bit planes, and choosing the kernel for this CPU. */
#include "search/kernel.h"

#include <stdlib.h>
#include <string.h>

uint32_t *bf_planes_array(size_t count) {
  size_t bytes = (count * sizeof(uint32_t) + BF_PLANE_ALIGN - 1) / BF_PLANE_ALIGN * BF_PLANE_ALIGN;
  uint32_t *array = aligned_alloc(BF_PLANE_ALIGN, bytes ? bytes : BF_PLANE_ALIGN);
  return array ? memset(array, 0, bytes ? bytes : BF_PLANE_ALIGN) : NULL;
}

/* Rows of a problem: a shape whose weight does not fit 32 bits takes several. */
static size_t rows_of(uint64_t weight) { return (size_t)((weight + UINT32_MAX - 1) / UINT32_MAX); }

/* Takes what fits 32 bits off *left. */
static uint32_t part_of(uint64_t *left) {
  uint32_t part = *left > UINT32_MAX ? UINT32_MAX : (uint32_t)*left;
  *left -= part;
  return part;
}

/* Entry f of a table over `bits` coordinates from `first`: entry f without its lowest bit, XOR the
 * plane of that coordinate alone. */
static void fill_table(uint32_t *table, size_t stride, unsigned bits, const uint32_t *unit) {
  for (size_t f = 1; f < (size_t)1 << bits; f++) {
    const uint32_t *rest = table + (f & (f - 1)) * stride;
    const uint32_t *own = unit + (size_t)__builtin_ctzll(f) * stride;
    for (size_t at = 0; at < stride; at++)
      table[f * stride + at] = rest[at] ^ own[at];
  }
}

static void fill_shape(const bf_shape *shape, const bf_coordinates *coordinates, size_t at,
                       bf_planes *planes, uint32_t *unit) {
  planes->active[at] = (uint32_t)bf_gf2_low_bits(shape->words);
  planes->ideal[at] = shape->ideal;
  for (unsigned i = 0; i < shape->words; i++) {
    uint32_t value = bf_coordinates_of(coordinates, shape->word[i]);
    for (unsigned c = 0; c < planes->dimension; c++)
      unit[c * planes->stride + at] |= (value >> c & 1) << i;
  }
}

int bf_planes_build(const bf_problem *problem, const bf_coordinates *coordinates, bf_planes *planes,
                    bf_diagnostic *diagnostic) {
  memset(planes, 0, sizeof *planes);
  size_t rows = 0;
  bool squares = false;
  for (size_t s = 0; s < problem->count; s++) {
    rows += rows_of(problem->shape[s].weight);
    squares = squares || problem->shape[s].square;
    if (problem->shape[s].words > BF_PLANE_WORDS)
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "the exact search handles up to %d words served together, not %u",
                     BF_PLANE_WORDS, problem->shape[s].words);
  }
  planes->dimension = coordinates->dimension;
  planes->low_dimension = planes->dimension / 2;
  planes->stride = (rows + 15) / 16 * 16;
  size_t stride = planes->stride;
  unsigned high_dimension = planes->dimension - planes->low_dimension;
  uint32_t *unit = bf_planes_array(stride * (planes->dimension + 1));
  planes->low = bf_planes_array(stride << planes->low_dimension);
  planes->high = bf_planes_array(stride << high_dimension);
  planes->active = bf_planes_array(stride);
  planes->ideal = bf_planes_array(stride);
  planes->weight = bf_planes_array(stride);
  if (squares)
    planes->square = bf_planes_array(stride);
  if ((squares && !planes->square) || !unit || !planes->low || !planes->high || !planes->active ||
      !planes->ideal || !planes->weight) {
    free(unit);
    bf_planes_free(planes);
    return bf_no_memory(diagnostic);
  }
  size_t at = 0;
  for (size_t s = 0; s < problem->count; s++)
    for (uint64_t left = problem->shape[s].weight, square = problem->shape[s].square; left; at++) {
      fill_shape(&problem->shape[s], coordinates, at, planes, unit);
      planes->weight[at] = part_of(&left);
      if (planes->square)
        planes->square[at] = part_of(&square);
    }
  fill_table(planes->low, stride, planes->low_dimension, unit);
  fill_table(planes->high, stride, high_dimension, unit + planes->low_dimension * stride);
  free(unit);
  return BF_OK;
}

void bf_planes_free(bf_planes *planes) {
  free(planes->low);
  free(planes->high);
  free(planes->active);
  free(planes->ideal);
  free(planes->weight);
  free(planes->square);
  memset(planes, 0, sizeof *planes);
}

bool bf_levels_make(const bf_planes *planes, unsigned deepest, bf_levels *levels) {
  memset(levels, 0, sizeof *levels);
  for (unsigned level = 0; level <= deepest; level++) {
    levels->blocks[level] = bf_planes_array(planes->stride << level);
    levels->sizes[level] = bf_planes_array(planes->stride << level);
    levels->passes[level] = bf_planes_array(planes->stride);
    if (!levels->blocks[level] || !levels->sizes[level] || !levels->passes[level]) {
      bf_levels_free(levels);
      return false;
    }
  }
  memcpy(levels->blocks[0], planes->active, planes->stride * sizeof *planes->active);
  for (size_t at = 0; at < planes->stride; at++)
    levels->sizes[0][at] = (uint32_t)__builtin_popcount(planes->active[at]);
  return true;
}

void bf_levels_free(bf_levels *levels) {
  for (unsigned level = 0; level <= BF_MAX_FUNCTIONALS; level++) {
    free(levels->blocks[level]);
    free(levels->sizes[level]);
    free(levels->passes[level]);
  }
  memset(levels, 0, sizeof *levels);
}

const bf_kernel *bf_kernel_available(unsigned index) {
  const bf_kernel *available[3] = {&bf_kernel_scalar};
  unsigned count = 1;
#if defined(__x86_64__) && !defined(BF_NO_SIMD)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2"))
    available[count++] = &bf_kernel_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
    available[count++] = &bf_kernel_avx512;
#endif
  return index < count ? available[index] : NULL;
}

const bf_kernel *bf_kernel_best(void) {
  unsigned index = 0;
  while (bf_kernel_available(index + 1))
    index++;
  return bf_kernel_available(index);
}
