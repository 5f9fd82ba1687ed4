/* One change for all kernels that share a declaration, as instances of a template do. */
#include "source/review_inner.h"

#include "search/ladder.h"

#include <string.h>

enum { MOST_PAD = 8 };

typedef struct costs {
  uint64_t wavefronts, conflicts;
} costs;

static bool has_same_shape(const bf_shared_array *a, const bf_shared_array *b) {
  return a->element_bytes == b->element_bytes && a->bytes == b->bytes &&
         a->dimensions == b->dimensions &&
         memcmp(a->dimension, b->dimension, sizeof a->dimension) == 0;
}

/* Whether an XOR of the subscripts of one is written as that of the other: of several dimensions
 * all are as long. */
static bool has_same_subscripts(const bf_shared_array *a, const bf_shared_array *b) {
  return a->dimensions == b->dimensions &&
         (a->dimensions == 1 || memcmp(a->dimension, b->dimension, sizeof a->dimension) == 0);
}

/* Elements of the dimensions from `first` on. */
static uint64_t elements_from(const bf_shared_array *array, unsigned first) {
  uint64_t product = 1;
  for (unsigned i = first; i < array->dimensions; i++)
    product *= array->dimension[i];
  return product;
}

/* Whether an XOR map stays inside an array: its elements, or those touched where its size comes
 * with the launch, are whole blocks of those that the map exchanges. */
static bool stays_inside(const bf_index_map *map, const bf_shared_array *array) {
  uint64_t bytes = array->bytes ? array->bytes : bf_suggest_touched(array->workload);
  uint64_t all = 0, elements = bytes / array->element_bytes;
  for (unsigned i = 0; i < map->terms; i++)
    all |= map->term[i].mask;
  return !all || elements % (UINT64_C(1) << (64 - __builtin_clzll(all))) == 0;
}

/* By how much a dimension of an array grows, where that depends on its shape. */
static uint64_t grows_by(const bf_index_map *map, const bf_shared_array *array) {
  for (unsigned i = 0; i < map->cases; i++)
    if (map->pad_case[i].dimension == array->dimension[map->padded_dimension] &&
        map->pad_case[i].element_bytes == array->element_bytes)
      return map->pad_case[i].by;
  return map->cases ? 0 : map->padded_by;
}

/* Makes the map that of an array one of whose dimensions is longer. */
static void lengthen(const bf_shared_array *array, bf_index_map *map) {
  uint64_t inner = elements_from(array, map->padded_dimension + 1);
  map->padded_by = grows_by(map, array);
  map->element_bytes = array->element_bytes;
  map->row_elements = array->dimension[map->padded_dimension] * inner;
  map->pad_elements = map->padded_by * inner;
}

bool bf_review_adapt(const bf_index_map *map, const bf_shared_array *from,
                     const bf_shared_array *to, bf_index_map *own) {
  *own = *map;
  if (has_same_shape(from, to))
    return to->bytes || !map->terms || stays_inside(map, to);
  if (map->cases) {
    lengthen(to, own);
    return from->dimensions == to->dimensions;
  }
  if (map->only_of && to->bytes != map->only_bytes) {
    *own = (bf_index_map){.element_bytes = to->element_bytes};
    return to->bytes > 0;
  }
  if (from->dimensions != to->dimensions || !to->dimensions || map->element_pad_bytes)
    return false;
  if (has_same_subscripts(from, to)) { /* an XOR of them, whatever the size of elements */
    own->element_bytes = to->element_bytes;
    if (map->terms || to->dimensions == 1)
      return map->terms && stays_inside(map, to);
  }
  if (from->element_bytes != to->element_bytes)
    return false;
  if (map->terms || !map->padded_by)
    return false;
  lengthen(to, own);
  return true;
}

/* What accesses to an array cost as they are and moved by a map; *after is UINT64_MAX where it
 * cannot be: a wide access would be taken apart. */
static int count_both(const bf_review *review, const bf_shared_array *array,
                      const bf_index_map *map, costs *before, costs *after,
                      bf_diagnostic *diagnostic) {
  bf_diagnostic unused;
  BF_TRY(bf_suggest_count(review->machine, array->workload, NULL, &before->wavefronts,
                          &before->conflicts, diagnostic));
  int error = bf_suggest_count(review->machine, array->workload, map, &after->wavefronts,
                               &after->conflicts, &unused);
  if (error == BF_NO_MEMORY)
    return bf_no_memory(diagnostic);
  if (error)
    *after = (costs){UINT64_MAX, UINT64_MAX};
  return BF_OK;
}

int bf_review_suits(const bf_review *review, const bf_review_array *array,
                    const bf_review_array *other, bool *is_fine, bf_diagnostic *diagnostic) {
  costs before, after;
  bf_index_map own;
  *is_fine = bf_review_adapt(&array->patched.map, &array->shared, &other->shared, &own);
  if (!*is_fine)
    return BF_OK;
  BF_TRY(count_both(review, &other->shared, &own, &before, &after, diagnostic));
  *is_fine = after.conflicts <= before.conflicts;
  return BF_OK;
}

/* ---- Changes for all of them ---- */

/* Suggestions for the accesses of all kernels that share the declaration and have the array in this
 * shape. */
static int suggest_together(const bf_review *review, const bf_review_array *array,
                            bf_suggestions *found, bf_diagnostic *diagnostic) {
  bf_shared_array all = array->shared;
  bf_suggest_options options = {.machine = review->machine,
                                .time_limit_seconds = review->time_limit_seconds};
  int error = bf_workload_create(&all.workload) ? bf_no_memory(diagnostic) : BF_OK;
  all.merged = NULL;
  for (size_t i = 0; i < review->arrays && !error; i++) {
    const bf_workload *own = review->array[i].shared.workload;
    if (review->array[i].declared != array->declared ||
        !has_same_shape(&review->array[i].shared, &array->shared))
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

/* The widest access to an array. */
static unsigned widest(const bf_shared_array *array) {
  unsigned widest = 1;
  for (size_t k = 0; k < bf_workload_size(array->workload); k++) {
    unsigned bytes = bf_workload_get(array->workload, k)->width_bytes;
    widest = bytes > widest ? bytes : widest;
  }
  return widest;
}

/* Wavefronts that a longer dimension leaves in the kernels that share the declaration and, where
 * `shape` is given, have arrays of its shape in that dimension; UINT64_MAX where it does not fit
 * one of them or leaves more than there are. */
static int count_padding(const bf_review *review, const bf_review_array *array,
                         const bf_index_map *map, const bf_shared_array *shape, uint64_t *sum,
                         bf_diagnostic *diagnostic) {
  *sum = 0;
  for (size_t i = 0; i < review->arrays && *sum != UINT64_MAX; i++) {
    const bf_review_array *other = &review->array[i];
    const bf_shared_array *its = &other->shared;
    bf_index_map own;
    costs before, after;
    bool is_meant = !shape || (its->dimension[map->padded_dimension] ==
                                   shape->dimension[map->padded_dimension] &&
                               its->element_bytes == shape->element_bytes);
    if (other->declared != array->declared || !is_meant)
      continue;
    bool fits = bf_review_adapt(map, shape ? shape : &array->shared, its, &own) &&
                (own.row_elements + own.pad_elements) * own.element_bytes % widest(its) == 0;
    if (fits)
      BF_TRY(count_both(review, its, &own, &before, &after, diagnostic));
    *sum = fits && after.wavefronts <= before.wavefronts ? *sum + after.wavefronts : UINT64_MAX;
  }
  return BF_OK;
}

/* The map that makes dimension d of an array longer. */
static bf_index_map longer(const bf_shared_array *shared, unsigned d, uint64_t pad) {
  bf_index_map map = {.padded_dimension = d, .padded_by = pad};
  lengthen(shared, &map);
  return map;
}

/* Takes a map for an array, with what it leaves there. */
static int take_padding(const bf_review *review, const bf_review_array *array,
                        const bf_index_map *map, bf_suggestion *found, bf_diagnostic *diagnostic) {
  const bf_shared_array *shared = &array->shared;
  *found = (bf_suggestion){.exists = true, .map = *map, .is_direct = true};
  found->extra_bytes =
      elements_from(shared, 0) / map->row_elements * map->pad_elements * shared->element_bytes;
  return bf_suggest_count(review->machine, shared->workload, map, &found->wavefronts,
                          &found->conflicts, diagnostic);
}

/* The same longer dimension for all kernels, whatever their shapes: the one that leaves fewest
 * wavefronts. */
static int pad_alike(const bf_review *review, const bf_review_array *array, uint64_t *least,
                     bf_suggestion *found, bf_diagnostic *diagnostic) {
  for (unsigned d = 1; d < array->shared.dimensions; d++)
    for (uint64_t pad = 1; pad <= MOST_PAD; pad++) {
      bf_index_map map = longer(&array->shared, d, pad);
      uint64_t sum;
      BF_TRY(count_padding(review, array, &map, NULL, &sum, diagnostic));
      if (sum >= *least)
        continue;
      *least = sum;
      BF_TRY(take_padding(review, array, &map, found, diagnostic));
    }
  return BF_OK;
}

/* Finds how much dimension d of arrays of one shape grows best, which may be nothing; adds the
 * wavefronts that are left to *sum. */
static int find_case(const bf_review *review, const bf_review_array *array,
                     const bf_shared_array *shape, unsigned d, bf_pad_case *best, uint64_t *sum,
                     bf_diagnostic *diagnostic) {
  uint64_t least = UINT64_MAX;
  *best = (bf_pad_case){.dimension = shape->dimension[d], .element_bytes = shape->element_bytes};
  for (uint64_t pad = 0; pad <= MOST_PAD; pad++) {
    bf_index_map map = longer(shape, d, pad);
    uint64_t own;
    BF_TRY(count_padding(review, array, &map, shape, &own, diagnostic));
    if (own >= least)
      continue;
    least = own;
    best->by = pad;
  }
  *sum = least == UINT64_MAX || *sum == UINT64_MAX ? UINT64_MAX : *sum + least;
  return BF_OK;
}

/* Fills the cases of dimension d, one for every shape. */
static int find_cases(const bf_review *review, const bf_review_array *array, unsigned d,
                      bf_index_map *map, uint64_t *sum, bf_diagnostic *diagnostic) {
  *map = (bf_index_map){.padded_dimension = d};
  *sum = 0;
  for (size_t i = 0; i < review->arrays && *sum != UINT64_MAX; i++) {
    const bf_shared_array *shape = &review->array[i].shared;
    unsigned known = 0;
    if (review->array[i].declared != array->declared)
      continue;
    if (shape->dimensions != array->shared.dimensions) {
      *sum = UINT64_MAX;
      return BF_OK;
    }
    while (known < map->cases && (map->pad_case[known].dimension != shape->dimension[d] ||
                                  map->pad_case[known].element_bytes != shape->element_bytes))
      known++;
    if (known < map->cases)
      continue;
    if (map->cases == BF_INDEX_MOST_CASES)
      *sum = UINT64_MAX;
    else
      BF_TRY(find_case(review, array, shape, d, &map->pad_case[map->cases++], sum, diagnostic));
  }
  return BF_OK;
}

/* A dimension that grows by what suits each shape, as a condition on the dimension itself. */
static int pad_by_cases(const bf_review *review, const bf_review_array *array, uint64_t *least,
                        bf_suggestion *found, bf_diagnostic *diagnostic) {
  for (unsigned d = 1; d < array->shared.dimensions; d++) {
    bf_index_map map;
    uint64_t sum;
    BF_TRY(find_cases(review, array, d, &map, &sum, diagnostic));
    if (sum >= *least)
      continue;
    lengthen(&array->shared, &map);
    *least = sum;
    BF_TRY(take_padding(review, array, &map, found, diagnostic));
  }
  return BF_OK;
}

/* The longer dimension that leaves fewest wavefronts in all kernels, whatever their shapes: by the
 * same, or where that leaves more by what suits each. */
static int pad_together(const bf_review *review, const bf_review_array *array, bf_suggestion *found,
                        bf_diagnostic *diagnostic) {
  uint64_t least = UINT64_MAX;
  found->exists = false;
  BF_TRY(pad_alike(review, array, &least, found, diagnostic));
  BF_TRY(pad_by_cases(review, array, &least, found, diagnostic));
  found->exists = found->exists && found->conflicts < array->suggestions.conflicts;
  return BF_OK;
}

/* Wavefronts that a map for an array leaves in all kernels that share the declaration; UINT64_MAX
 * where it cannot be written for one of them, or leaves more there than there are. */
static int count_all(const bf_review *review, const bf_review_array *array, const bf_index_map *map,
                     uint64_t *sum, bf_diagnostic *diagnostic) {
  *sum = 0;
  for (size_t i = 0; i < review->arrays && *sum != UINT64_MAX; i++) {
    const bf_review_array *other = &review->array[i];
    costs before, after;
    bf_index_map own;
    if (other->declared != array->declared)
      continue;
    bool fits = bf_review_adapt(map, &array->shared, &other->shared, &own);
    if (fits)
      BF_TRY(count_both(review, &other->shared, &own, &before, &after, diagnostic));
    *sum = fits && after.wavefronts <= before.wavefronts ? *sum + after.wavefronts : UINT64_MAX;
  }
  return BF_OK;
}

/* An XOR for the kernels only that have the array in this shape, of several flat ones. */
static void limit_to_shape(const bf_review *review, const bf_review_array *array,
                           bf_suggestion *swizzle) {
  bf_index_map *map = &swizzle->map;
  for (size_t i = 0; i < review->arrays && map->terms; i++)
    if (review->array[i].declared == array->declared &&
        review->array[i].shared.bytes != array->shared.bytes) {
      map->only_of = array->shared.name;
      map->only_bytes = array->shared.bytes;
      swizzle->exists =
          swizzle->exists && array->shared.dimensions <= 2 && !array->declared->is_open;
    }
}

/* The XOR of an array that leaves fewest wavefronts in the kernels of all shapes: the one for
 * this shape, in this shape only or in all, or the one for another shape in all. */
static int suggest_for_shapes(const bf_review *review, const bf_review_array *array,
                              bf_suggestions *found, bf_diagnostic *diagnostic) {
  bf_suggestion *swizzle = &found->of[BF_SUGGEST_SWIZZLE];
  uint64_t least = UINT64_MAX, sum;
  BF_TRY(suggest_together(review, array, found, diagnostic));
  found->of[BF_SUGGEST_PADDING].exists = false;
  const bf_suggestion whole = *swizzle;
  limit_to_shape(review, array, swizzle);
  if (swizzle->exists)
    BF_TRY(count_all(review, array, &swizzle->map, &least, diagnostic));
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *other = &review->array[i];
    bf_suggestions its = {.of[BF_SUGGEST_SWIZZLE] = whole};
    bool is_other = !has_same_shape(&other->shared, &array->shared);
    if (other->declared != array->declared || (!is_other && other != array) ||
        !has_same_subscripts(&other->shared, &array->shared))
      continue;
    if (is_other)
      BF_TRY(suggest_together(review, other, &its, diagnostic));
    bf_suggestion *own = &its.of[BF_SUGGEST_SWIZZLE];
    own->map.element_bytes = array->shared.element_bytes;
    if (!own->exists || own->extra_bytes)
      continue;
    BF_TRY(count_all(review, array, &own->map, &sum, diagnostic));
    if (sum >= least)
      continue;
    least = sum;
    *swizzle = *own;
    BF_TRY(bf_suggest_count(review->machine, array->shared.workload, &own->map,
                            &swizzle->wavefronts, &swizzle->conflicts, diagnostic));
  }
  swizzle->instructions = bf_index_instructions(&swizzle->map, &array->shared);
  swizzle->is_direct = bf_index_is_direct(&swizzle->map, &array->shared);
  return BF_OK;
}

/* The kind that costs least in all kernels, where arrays have several shapes. */
static int better_kind(const bf_review *review, const bf_review_array *array, bf_suggestions *found,
                       bf_diagnostic *diagnostic) {
  double least = 0, accesses = 0;
  found->best = -1;
  for (size_t i = 0; i < review->arrays; i++)
    if (review->array[i].declared == array->declared)
      accesses += (double)review->array[i].suggestions.accesses;
  for (int kind = BF_SUGGEST_PADDING; kind >= BF_SUGGEST_SWIZZLE; kind--) {
    const bf_suggestion *own = &found->of[kind];
    uint64_t sum = 0;
    if (own->exists)
      BF_TRY(count_all(review, array, &own->map, &sum, diagnostic));
    double cost = bf_cost_in_wavefronts((double)sum, accesses * own->instructions);
    if (!own->exists || (found->best >= 0 && cost >= least))
      continue;
    found->best = kind;
    least = cost;
  }
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
  BF_TRY(suggest_for_shapes(review, array, found, diagnostic));
  if (array->shared.dimensions > 1)
    BF_TRY(pad_together(review, array, &found->of[BF_SUGGEST_PADDING], diagnostic));
  return better_kind(review, array, found, diagnostic);
}
