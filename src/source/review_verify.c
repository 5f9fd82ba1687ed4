/* Whether the accesses of a patched source are those of the original, each where the change of its
 * array puts it. The order of accesses, and how many elements one has, are the compiler's business:
 * sums of hashes over the elements that lanes access together are compared. */
#include "source/review_inner.h"

#include <string.h>

typedef struct sum {
  uint64_t first, second;
} sum;

/* Mixes the bits of a number; the finaliser of SplitMix64. */
static uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}

/* Adds one element of every lane, `skip` bytes behind the address of the lane, in an array that
 * lies `base` bytes behind what is compared. */
static void add_element(const bf_access *access, unsigned bytes, unsigned skip, uint64_t base,
                        const bf_index_map *map, sum *total) {
  uint64_t hash = mix(((uint64_t)access->op << 8 | bytes) ^ mix(access->mask));
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t at = (uint64_t)access->address[__builtin_ctzll(left)] + skip;
    hash = mix(hash ^ (base + (map ? bf_index_place(map, at) : at)));
  }
  total->first += access->count * hash;
  total->second += access->count * mix(hash + 1);
}

/* Adds accesses to a total, moved by a map (NULL: as they are). */
static void add_up(const bf_workload *workload, unsigned element_bytes, uint64_t base,
                   const bf_index_map *map, sum *total) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    unsigned bytes = access->width_bytes < element_bytes ? access->width_bytes : element_bytes;
    for (unsigned skip = 0; skip < access->width_bytes; skip += bytes)
      add_element(access, bytes, skip, base, map, total);
  }
}

/* Adds the accesses to all parts of the variable that an array is a part of, each where the change
 * puts it; element_bytes is the size of the smallest elements. */
static void add_parts(const bf_review *review, const bf_review_array *array, unsigned element_bytes,
                      sum *total) {
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *own = &review->array[i];
    if (own->kernel == array->kernel && own->variable == array->variable)
      add_up(own->shared.workload, element_bytes, own->part_bytes,
             own->is_patched ? &own->patched.map : NULL, total);
  }
}

/* The size of the smallest elements of those parts. */
static unsigned smallest_element(const bf_review *review, const bf_review_array *array) {
  unsigned bytes = array->shared.element_bytes;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *own = &review->array[i];
    if (own->kernel == array->kernel && own->variable == array->variable &&
        own->shared.element_bytes && own->shared.element_bytes < bytes)
      bytes = own->shared.element_bytes;
  }
  return bytes;
}

size_t bf_review_kernel(const bf_review *review, const bf_review_array *array) {
  size_t kernel = 0;
  while (kernel < review->names.kernels && review->names.kernel[kernel] != array->kernel)
    kernel++;
  return kernel;
}

/* Whether all accesses to an array are known, and are where the change puts them. */
static bool is_moved(const bf_review *review, const bf_review_array *array,
                     const bf_review *patched) {
  const bf_review_array *own = patched ? bf_review_same(patched, array) : NULL;
  size_t kernel = bf_review_kernel(review, array);
  if (!own || kernel == review->names.kernels || review->is_partial[kernel] ||
      review->is_blind[kernel])
    return false;
  unsigned bytes = array->is_adrift ? smallest_element(review, array) : array->shared.element_bytes;
  sum before = {0, 0}, after = {0, 0};
  if (array->is_adrift)
    add_parts(review, array, bytes, &before);
  else
    add_up(array->shared.workload, bytes, 0, &array->patched.map, &before);
  add_up(own->shared.workload, bytes, 0, NULL, &after);
  return memcmp(&before, &after, sizeof before) == 0;
}

/* Says that no array with the declaration of one can be changed as that is, in a way that pointers
 * stand for. */
static void make_unfit(bf_review *review, const bf_review_array *array) {
  const bf_source_array *declared = array->declared;
  bool moves = array->patched.map.terms && !array->is_adrift;
  for (size_t i = 0; i < review->arrays; i++) {
    bf_review_array *own = &review->array[i];
    own->is_unfit |= own->declared == declared && !moves;
    own->is_unfit_swizzle |= own->declared == declared && moves;
  }
}

int bf_review_verify(bf_review *review, const bf_review *patched, bool *is_fit) {
  *is_fit = true;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *array = &review->array[i];
    if (!array->is_patched || !(array->is_tentative || array->is_adrift) ||
        is_moved(review, array, patched))
      continue;
    make_unfit(review, array);
    *is_fit = false;
  }
  return BF_OK;
}

void bf_review_take_back(bf_review *review) {
  bf_patch_free(&review->patch);
  for (size_t i = 0; i < review->arrays; i++) {
    review->array[i].is_patched = review->array[i].is_tentative = false;
    review->array[i].problem[0] = 0;
  }
}

bool bf_review_has_tentative(const bf_review *review) {
  for (size_t i = 0; i < review->arrays; i++)
    if (review->array[i].is_patched &&
        (review->array[i].is_tentative || review->array[i].is_adrift))
      return true;
  return false;
}
