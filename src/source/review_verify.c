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

/* Adds one element of every lane, `skip` bytes behind the address of the lane. */
static void add_element(const bf_access *access, unsigned bytes, unsigned skip,
                        const bf_index_map *map, sum *total) {
  uint64_t hash = mix(((uint64_t)access->op << 8 | bytes) ^ mix(access->mask));
  for (uint64_t left = access->mask; left; left &= left - 1) {
    uint64_t at = (uint64_t)access->address[__builtin_ctzll(left)] + skip;
    hash = mix(hash ^ (map ? bf_index_place(map, at) : at));
  }
  total->first += access->count * hash;
  total->second += access->count * mix(hash + 1);
}

/* Adds accesses, moved by a map (NULL: as they are). */
static sum add_up(const bf_workload *workload, unsigned element_bytes, const bf_index_map *map) {
  sum total = {0, 0};
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    unsigned bytes = access->width_bytes < element_bytes ? access->width_bytes : element_bytes;
    for (unsigned skip = 0; skip < access->width_bytes; skip += bytes)
      add_element(access, bytes, skip, map, &total);
  }
  return total;
}

/* Whether all accesses to an array are known, and are where the change puts them. */
static bool is_moved(const bf_review *review, const bf_review_array *array,
                     const bf_review *patched) {
  const bf_review_array *own = patched ? bf_review_same(patched, array) : NULL;
  size_t kernel = 0;
  while (kernel < review->names.kernels && review->names.kernel[kernel] != array->kernel)
    kernel++;
  if (!own || kernel == review->names.kernels || review->is_partial[kernel])
    return false;
  unsigned bytes = array->shared.element_bytes;
  sum before = add_up(array->shared.workload, bytes, &array->patched.map);
  sum after = add_up(own->shared.workload, bytes, NULL);
  return memcmp(&before, &after, sizeof before) == 0;
}

/* Says that no array with the declaration can be changed in a way that pointers stand for. */
static void make_unfit(bf_review *review, const bf_source_array *declared) {
  for (size_t i = 0; i < review->arrays; i++)
    review->array[i].is_unfit |= review->array[i].declared == declared;
}

int bf_review_verify(bf_review *review, const bf_review *patched, bool *is_fit) {
  *is_fit = true;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *array = &review->array[i];
    if (!array->is_patched || !array->is_tentative || is_moved(review, array, patched))
      continue;
    make_unfit(review, array->declared);
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
    if (review->array[i].is_patched && review->array[i].is_tentative)
      return true;
  return false;
}
