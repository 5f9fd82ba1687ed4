/* Suggestions for the arrays of a module, and the patch that makes them. */
#include "source/review_inner.h"

#include <string.h>

int bf_review_suggest(bf_review *review, double time_limit_seconds, bf_diagnostic *diagnostic) {
  review->time_limit_seconds = time_limit_seconds;
  bf_suggest_options options = {.machine = review->machine,
                                .time_limit_seconds = time_limit_seconds};
  for (size_t i = 0; i < review->arrays; i++) {
    bf_review_array *array = &review->array[i];
    if (array->is_asked)
      BF_TRY(bf_suggest(&options, &array->shared, &array->suggestions, diagnostic));
  }
  return BF_OK;
}

/* ---- Accesses that the source does not show ---- */

bool bf_review_is_of_use(const bf_source *source, const bf_source_use *use, size_t uses,
                         uint64_t line) {
  for (size_t i = 0; i < uses; i++) {
    uint32_t first, last;
    bf_source_use_lines(source, &use[i], &first, &last);
    if (line >= first && line <= last)
      return true;
  }
  return false;
}

/* Whether a place is line 0 of the source: the compiler made one access of those of several lines,
 * and says of none of them that it is there. Which lines these are does not matter, because all
 * uses of the array are elements whose subscripts are changed. */
static bool is_of_many_lines(const char *place, const char *source) {
  const char *slash = strrchr(source, '/'), *colon = strchr(place, ':');
  const char *file = slash ? slash + 1 : source;
  size_t length = colon ? (size_t)(colon - place) : 0;
  return colon && strcmp(colon, ":0") == 0 && strlen(file) == length &&
         strncmp(place, file, length) == 0;
}

/* Writes to problem where an access to an array comes from a line that does not name it, as with a
 * macro of a header; or that this cannot be known. Else problem stays. */
static int find_hidden(const bf_review *review, const bf_review_array *array,
                       char problem[BF_REVIEW_MOST_REASON], bf_diagnostic *diagnostic) {
  const bf_workload *workload = array->shared.workload;
  bf_source_use *use;
  size_t uses;
  char refused[BF_REVIEW_MOST_REASON]; /* the patch will say that */
  const char *last = NULL;             /* site of the access before */
  BF_TRY(bf_source_uses(review->source, array->declared, &use, &uses, refused, diagnostic));
  for (size_t i = 0; i < bf_workload_size(workload) && !problem[0] && !refused[0]; i++) {
    const char *site = bf_workload_get(workload, i)->site;
    if (site && site == last)
      continue;
    last = site;
    const char *place = bf_site_place(&review->names, site);
    if (!place || strncmp(place, "ptx:", 4) == 0)
      snprintf(problem, BF_REVIEW_MOST_REASON,
               "no line information says where its accesses are (nvcc -lineinfo)");
    else if (!is_of_many_lines(place, review->source->file) &&
             !bf_review_is_of_use(review->source, use, uses,
                                  bf_site_line(place, review->source->file)))
      snprintf(problem, BF_REVIEW_MOST_REASON, "the access at %.100s does not name it", place);
  }
  return BF_OK;
}

/* ---- Declarations that kernels share ---- */

/* Says in array->problem what stands in the way of its change: an access that the source does not
 * show, or a kernel that has it too and needs something else. */
static int find_problem(const bf_review *review, bf_review_array *array,
                        bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < review->arrays && !array->problem[0]; i++) {
    const bf_review_array *other = &review->array[i];
    bool is_fine = true;
    if (other->declared != array->declared)
      continue;
    if (!array->is_tentative)
      BF_TRY(find_hidden(review, other, array->problem, diagnostic));
    if (other != array)
      BF_TRY(bf_review_suits(review, array, other, &is_fine, diagnostic));
    if (!is_fine)
      snprintf(array->problem, sizeof array->problem,
               "kernels %.60s and %.60s share it and need different changes", array->kernel_name,
               other->kernel_name);
  }
  return BF_OK;
}

/* Says of all kernels that share the declaration of an array what became of it: a suggestion of
 * that kind that was made for all of them takes the place of their own. */
static int share_outcome(bf_review *review, const bf_review_array *array, bf_suggestion_kind kind,
                         bf_diagnostic *diagnostic) {
  const bf_suggestion made = array->patched;
  bool is_patched = array->is_patched, is_tentative = array->is_tentative;
  char problem[BF_REVIEW_MOST_REASON];
  memcpy(problem, array->problem, sizeof problem);
  const bf_shared_array shape = array->shared;
  for (size_t i = 0; i < review->arrays; i++) {
    bf_review_array *other = &review->array[i];
    if (other->declared != array->declared)
      continue;
    other->is_patched = is_patched;
    other->is_tentative = is_tentative;
    memcpy(other->problem, problem, sizeof problem);
    other->patched = made;
    bool is_counted =
        is_patched && bf_review_adapt(&made.map, &shape, &other->shared, &other->patched.map);
    if (!is_counted || (other == array && made.keeps_merging))
      continue;
    BF_TRY(bf_suggest_count(review->machine, other->shared.workload, &other->patched.map,
                            &other->patched.wavefronts, &other->patched.conflicts, diagnostic));
    const bf_index_map *map = &other->patched.map;
    if (map->row_elements && other != array)
      other->patched.extra_bytes = other->shared.bytes / map->element_bytes / map->row_elements *
                                   map->pad_elements * map->element_bytes;
    if (other->suggestions.conflicts)
      other->suggestions.of[kind] = other->patched;
  }
  return BF_OK;
}

/* ---- The patch ---- */

bf_patch_array bf_review_change(const bf_review_array *array, const bf_suggestion *suggestion) {
  return (bf_patch_array){.declared = array->declared,
                          .array = &array->shared,
                          .suggestion = suggestion,
                          .macro = array->macro,
                          .is_tentative = array->is_tentative};
}

void bf_review_write_definition(const bf_review *review, const bf_review_array *item,
                                const bf_suggestion *suggestion, bf_text *text) {
  bf_patch_array change = bf_review_change(item, suggestion);
  bf_source_use *use;
  size_t uses = 0;
  char problem[200];
  bool is_shown =
      item->declared && item->shared.dimensions &&
      bf_source_uses(review->source, item->declared, &use, &uses, problem, NULL) == BF_OK;
  if (is_shown) {
    bf_patch_find_effects(review->source, use, uses, &change);
    bf_patch_write_definition(review->source, &change, text);
  } else if (!bf_index_is_direct(&suggestion->map, &item->shared)) {
    bf_index_write_macro(&suggestion->map, item->macro, text);
  }
}

/* An array with the same declaration, of a kernel of which the analysis does not know all: its
 * addresses hang on what is not known, or it may be launched in other ways; or NULL. */
static const bf_review_array *find_unsure(const bf_review *review, const bf_review_array *array) {
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *own = &review->array[i];
    size_t kernel = bf_review_kernel(review, own);
    bool is_analyzed = own->declared == array->declared && kernel < review->names.kernels &&
                       review->taken[kernel].count;
    if (is_analyzed && (review->is_partial[kernel] || review->is_guessed[kernel]))
      return own;
  }
  return NULL;
}

/* Whether a change may be tried although lines that do not name an array use it, by references to
 * elements; or although pointers lead to it. Where rows grow, those that stay in a row, or go from
 * row to row by its length, need no change; an XOR moves elements to which pointers lead that are
 * used for these alone, as by ldmatrix. */
static int may_try(const bf_review *review, const bf_review_array *array, bool *is_good,
                   bf_diagnostic *diagnostic) {
  const bf_source_array *declared = array->declared;
  char problem[BF_REVIEW_MOST_REASON];
  bf_source_use *use;
  size_t uses;
  bool moves = array->patched.map.terms > 0;
  *is_good = false;
  if (!review->can_verify || (moves ? array->is_unfit_swizzle : array->is_unfit) ||
      declared->is_open || declared->owner[0])
    return BF_OK;
  BF_TRY(bf_source_uses(review->source, declared, &use, &uses, problem, diagnostic));
  if (problem[0] && moves && !find_unsure(review, array))
    BF_TRY(bf_source_pointed_uses(review->source, declared, &use, &uses, problem, diagnostic));
  bool is_longer = declared->dimensions > 1 && array->patched.map.padded_by;
  *is_good = !problem[0] || (is_longer && bf_source_is_only_pointed_to(review->source, declared));
  return BF_OK;
}

/* Says why an array stays as it is where a pointer of its declaration may begin elsewhere than its
 * accesses show, and the patched source does not show otherwise. */
static void refuse_adrift(const bf_review *review, bf_review_array *array) {
  for (size_t i = 0; i < review->arrays && !array->problem[0]; i++)
    if (review->array[i].declared == array->declared && review->array[i].is_adrift &&
        (!review->can_verify || array->is_unfit))
      snprintf(array->problem, sizeof array->problem, "where %.100s begins %s",
               review->array[i].shared.name,
               array->declared->is_varying
                   ? "may differ between threads"
                   : "is not seen: nobody accesses the bytes before its own");
}

/* Says why memory whose size comes with the launch stays as it is where other launches may use less
 * of it than those looked at: an XOR moves elements within whole rows of banks, which may then be
 * those of somebody else, or of nobody. One that stays in its row, `s[y][x ^ (y & 31)]`, does not.
 */
static void refuse_unsized(const bf_review *review, bf_review_array *array) {
  bool stays = !array->declared->is_open || bf_index_is_direct(&array->patched.map, &array->shared);
  const bf_review_array *unsure = stays ? NULL : find_unsure(review, array);
  if (unsure)
    snprintf(
        array->problem, sizeof array->problem,
        "its size comes with the launch, and how much of it %.60s uses %s", unsure->kernel_name,
        review->is_partial[bf_review_kernel(review, unsure)] ? "hangs on values that are not known"
                                                             : "may differ between launches");
}

/* Behind the last byte of the shared memory of a kernel, with the changes that are made so far and
 * of that with the declaration of `array`; of memory that the launch sizes what is touched counts.
 */
static uint64_t needed_bytes(const bf_review *review, size_t kernel, const bf_review_array *array) {
  uint64_t end = 0, more = 0;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *own = &review->array[i];
    if (own->kernel != review->names.kernel[kernel])
      continue;
    uint64_t bytes =
        own->variable->bytes ? own->variable->bytes : bf_suggest_touched(own->shared.workload);
    end = own->offset_bytes + bytes > end ? own->offset_bytes + bytes : end;
    bf_index_map map;
    bool grows = own->declared == array->declared &&
                 bf_review_adapt(&array->patched.map, &array->shared, &own->shared, &map);
    if (grows || own->is_patched)
      more += bf_index_growth(grows ? &map : &own->patched.map, own->shared.bytes) + 15;
  }
  return end + (more > 15 ? more : 0);
}

/* Says why an array does not grow where a kernel that has it would need more shared memory than a
 * block may have without asking for it. */
static void refuse_large(const bf_review *review, bf_review_array *array) {
  enum {
    MOST_BYTES = 48 * 1024
  }; /* CUDA C++ Programming Guide, table of technical specifications */
  for (size_t i = 0; i < review->arrays && !array->problem[0]; i++) {
    const bf_review_array *own = &review->array[i];
    size_t kernel = bf_review_kernel(review, own);
    if (own->declared == array->declared && kernel < review->names.kernels &&
        bf_index_growth(&array->patched.map, own->shared.bytes) &&
        needed_bytes(review, kernel, array) > MOST_BYTES)
      snprintf(array->problem, sizeof array->problem,
               "it would have to grow, and %.60s would need more than 48 KB of shared memory",
               own->kernel_name);
  }
}

/* Tries to change an array in one way: adds its edits, or says why there are none. */
static int try_change(bf_review *review, bf_review_array *array, const bf_suggestion *suggestion,
                      bf_diagnostic *diagnostic) {
  array->patched = *suggestion;
  array->is_tentative = false;
  for (;;) {
    bf_patch_array change = bf_review_change(array, &array->patched);
    array->problem[0] = 0;
    refuse_adrift(review, array);
    if (!array->problem[0])
      refuse_unsized(review, array);
    if (!array->problem[0])
      refuse_large(review, array);
    if (!array->problem[0])
      BF_TRY(find_problem(review, array, diagnostic));
    if (!array->problem[0])
      BF_TRY(bf_patch_add(&review->patch, &change, array->problem, diagnostic));
    array->is_patched = !array->problem[0];
    bool is_last = array->is_patched || array->is_tentative, is_good = false;
    if (!is_last)
      BF_TRY(may_try(review, array, &is_good, diagnostic));
    if (!is_good)
      return BF_OK;
    array->is_tentative = true;
  }
}

/* The ways to change an array, in the order in which they are tried: the one of that kind or, for
 * -1, the one that costs least and then the other. A CuTe swizzle is made by hand. */
static unsigned list_ways(const bf_suggestions *found, int kind, bf_suggestion_kind way[2]) {
  if (kind >= 0) {
    way[0] = (bf_suggestion_kind)kind;
    return 1;
  }
  way[0] = found->best == BF_SUGGEST_PADDING ? BF_SUGGEST_PADDING : BF_SUGGEST_SWIZZLE;
  way[1] = way[0] == BF_SUGGEST_PADDING ? BF_SUGGEST_SWIZZLE : BF_SUGGEST_PADDING;
  return 2;
}

/* Adds the edits of an array, or says why there are none: the first reason. */
static int patch_array(bf_review *review, bf_review_array *array, int kind,
                       bf_diagnostic *diagnostic) {
  char first[BF_REVIEW_MOST_REASON] = "";
  bf_suggestion_kind way[2], used = BF_SUGGEST_SWIZZLE;
  bf_suggestions found;
  if (!array->suggestions.conflicts || array->is_patched || array->problem[0])
    return BF_OK;
  BF_TRY(bf_review_suggest_shared(review, array, &found, diagnostic));
  unsigned ways = list_ways(&found, kind, way);
  for (unsigned i = 0; i < ways && !array->is_patched; i++) {
    const bf_suggestion *suggestion = &found.of[way[i]];
    if (!suggestion->exists)
      continue;
    used = way[i];
    if (array->declared)
      BF_TRY(try_change(review, array, suggestion, diagnostic));
    else
      snprintf(array->problem, sizeof array->problem, "%s", array->missing);
    if (!first[0])
      memcpy(first, array->problem, sizeof first);
  }
  if (!array->is_patched)
    snprintf(array->problem, sizeof array->problem, "%s",
             first[0] ? first : "nothing is worth its cost in this way");
  return array->declared ? share_outcome(review, array, used, diagnostic) : BF_OK;
}

int bf_review_patch(bf_review *review, int kind, bf_diagnostic *diagnostic) {
  review->patch.source = review->source;
  for (size_t i = 0; i < review->arrays && review->source; i++)
    BF_TRY(patch_array(review, &review->array[i], kind, diagnostic));
  return BF_OK;
}

/* ---- The patched source ---- */

/* The one array of that name that the kernel has: mangled, or readable. A lambda beside it changes
 * the mangled name of an array in a function that is extern "C". */
const bf_review_array *bf_review_same(const bf_review *review, const bf_review_array *array) {
  const bf_review_array *readable = NULL;
  unsigned count = 0;
  for (size_t i = 0; i < review->arrays; i++) {
    const bf_review_array *own = &review->array[i];
    if (strcmp(own->kernel->name, array->kernel->name) != 0)
      continue;
    if (strcmp(own->variable->name, array->variable->name) == 0)
      return own;
    if (strcmp(own->shared.name, array->shared.name) == 0) {
      readable = own;
      count++;
    }
  }
  return count == 1 ? readable : NULL;
}

int bf_review_check(bf_review *review, const bf_review *patched, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < review->arrays; i++) {
    bf_review_array *array = &review->array[i];
    const bf_review_array *own = array->is_patched ? bf_review_same(patched, array) : NULL;
    if (!own)
      continue;
    BF_TRY(bf_suggest_count(review->machine,
                            own->shared.merged ? own->shared.merged : own->shared.workload, NULL,
                            &array->checked_wavefronts, &array->checked_conflicts, diagnostic));
    array->is_checked = true;
  }
  return BF_OK;
}
