/* One change for all kernels that share a declaration, as instances of a template do. */
#include "source/review_inner.h"

#include <string.h>

enum { MOST_PAD = 8 };

static bool has_same_shape(const bf_shared_array *a, const bf_shared_array *b) {
  return a->element_bytes == b->element_bytes && a->bytes == b->bytes &&
         a->dimensions == b->dimensions &&
         memcmp(a->dimension, b->dimension, sizeof a->dimension) == 0;
}

/* Elements of the dimensions from `first` on. */
static uint64_t elements_from(const bf_shared_array *array, unsigned first) {
  uint64_t product = 1;
  for (unsigned i = first; i < array->dimensions; i++)
    product *= array->dimension[i];
  return product;
}

/* Whether an XOR map stays inside an array: its elements are whole blocks of those that the map
 * exchanges. */
static bool stays_inside(const bf_index_map *map, const bf_shared_array *array) {
  uint64_t all = 0, elements = array->bytes / array->element_bytes;
  for (unsigned i = 0; i < map->terms; i++)
    all |= map->term[i].mask;
  return !all || elements % (UINT64_C(1) << (64 - __builtin_clzll(all))) == 0;
}

bool bf_review_adapt(const bf_index_map *map, const bf_shared_array *from,
                     const bf_shared_array *to, bf_index_map *own) {
  *own = *map;
  if (has_same_shape(from, to))
    return true;
  if (from->dimensions != to->dimensions || !to->dimensions ||
      from->element_bytes != to->element_bytes || map->element_pad_bytes)
    return false;
  if (to->dimensions == 1)
    return map->terms && stays_inside(map, to);
  if (map->terms || !map->padded_by)
    return false;
  uint64_t inner = elements_from(to, map->padded_dimension + 1);
  own->row_elements = to->dimension[map->padded_dimension] * inner;
  own->pad_elements = map->padded_by * inner;
  return true;
}

int bf_review_suits(const bf_review *review, const bf_review_array *array,
                    const bf_review_array *other, bool *is_fine, bf_diagnostic *diagnostic) {
  uint64_t wavefronts, before, after;
  bf_index_map own;
  *is_fine = bf_review_adapt(&array->patched.map, &array->shared, &other->shared, &own);
  if (!*is_fine)
    return BF_OK;
  BF_TRY(bf_suggest_count(review->machine, other->shared.workload, NULL, &wavefronts, &before,
                          diagnostic));
  BF_TRY(bf_suggest_count(review->machine, other->shared.workload, &own, &wavefronts, &after,
                          diagnostic));
  *is_fine = after <= before;
  return BF_OK;
}

/* ---- Changes for all of them ---- */

/* Suggestions for the accesses of all kernels that share the declaration, in one shape. */
static int suggest_together(const bf_review *review, const bf_review_array *array,
                            bf_suggestions *found, bf_diagnostic *diagnostic) {
  bf_shared_array all = array->shared;
  bf_suggest_options options = {.machine = review->machine,
                                .time_limit_seconds = review->time_limit_seconds};
  int error = bf_workload_create(&all.workload) ? bf_no_memory(diagnostic) : BF_OK;
  all.merged = NULL;
  for (size_t i = 0; i < review->arrays && !error; i++) {
    const bf_workload *own = review->array[i].shared.workload;
    if (review->array[i].declared != array->declared)
      continue;
    for (size_t k = 0; k < bf_workload_size(own) && !error; k++)
      if (bf_workload_add(all.workload, bf_workload_get(own, k)) != BF_OK)
        error = bf_no_memory(diagnostic);
  }
  if (!error)
    error = bf_suggest(&options, &all, found, diagnostic);
  bf_workload_free(all.workload);
  return error;
}

/* Wavefronts that a longer dimension leaves in all kernels; UINT64_MAX where it does not fit one of
 * them. */
static int count_padding(const bf_review *review, const bf_review_array *array,
                         const bf_index_map *map, uint64_t *sum, bf_diagnostic *diagnostic) {
  *sum = 0;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *other = &review->array[i];
    bf_index_map own;
    uint64_t wavefronts, conflicts, unmoved;
    if (other->declared != array->declared)
      continue;
    unsigned widest = 1;
    for (size_t k = 0; k < bf_workload_size(other->shared.workload); k++) {
      unsigned bytes = bf_workload_get(other->shared.workload, k)->width_bytes;
      widest = bytes > widest ? bytes : widest;
    }
    bool fits = bf_review_adapt(map, &array->shared, &other->shared, &own) &&
                (own.row_elements + own.pad_elements) * own.element_bytes % widest == 0;
    int error = fits ? bf_suggest_count(review->machine, other->shared.workload, &own, &wavefronts,
                                        &conflicts, diagnostic)
                     : BF_BAD_INPUT;
    if (error == BF_NO_MEMORY)
      return error;
    if (error) {
      *sum = UINT64_MAX;
      return BF_OK;
    }
    BF_TRY(bf_suggest_count(review->machine, other->shared.workload, NULL, &unmoved, &conflicts,
                            diagnostic));
    *sum = wavefronts > unmoved ? UINT64_MAX : *sum + wavefronts;
    if (*sum == UINT64_MAX)
      return BF_OK;
  }
  return BF_OK;
}

/* The longer dimension that leaves fewest wavefronts in all kernels, whatever their shapes. */
static int pad_together(const bf_review *review, const bf_review_array *array, bf_suggestion *found,
                        bf_diagnostic *diagnostic) {
  const bf_shared_array *shared = &array->shared;
  uint64_t least = UINT64_MAX;
  for (unsigned d = 1; d < shared->dimensions; d++)
    for (uint64_t pad = 1; pad <= MOST_PAD; pad++) {
      uint64_t inner = elements_from(shared, d + 1), row = shared->dimension[d] * inner, sum;
      bf_index_map map = {.element_bytes = shared->element_bytes,
                          .row_elements = row,
                          .pad_elements = pad * inner,
                          .padded_dimension = d,
                          .padded_by = pad};
      BF_TRY(count_padding(review, array, &map, &sum, diagnostic));
      if (sum >= least)
        continue;
      least = sum;
      *found = (bf_suggestion){.exists = true, .map = map, .is_direct = true};
      found->extra_bytes = elements_from(shared, 0) / row * pad * inner * shared->element_bytes;
      BF_TRY(bf_suggest_count(review->machine, shared->workload, &map, &found->wavefronts,
                              &found->conflicts, diagnostic));
    }
  found->exists = found->exists && found->conflicts < array->suggestions.conflicts;
  return BF_OK;
}

int bf_review_suggest_shared(const bf_review *review, const bf_review_array *array,
                             bf_suggestions *found, bf_diagnostic *diagnostic) {
  bool is_shared = false, is_alike = true;
  *found = array->suggestions;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *other = &review->array[i];
    if (other == array || other->declared != array->declared || !array->declared)
      continue;
    is_shared = true;
    is_alike &= has_same_shape(&array->shared, &other->shared);
  }
  if (!is_shared || !array->shared.dimensions)
    return BF_OK;
  if (is_alike)
    return suggest_together(review, array, found, diagnostic);
  return array->shared.dimensions > 1
             ? pad_together(review, array, &found->of[BF_SUGGEST_PADDING], diagnostic)
             : BF_OK;
}
