/* Lets allocation number 0, 1, 2, ... fail while a CUDA source is read and patched, or a module is
 * reviewed with its source: each time the answer is that memory ran out. Leaks are found by the
 * sanitizer.
 *
 *   memory SOURCE [PTX TRACE] */
#include "../failing_memory.h"
#include "ptx/fatbin.h"
#include "source/review.h"

/* ---- A source alone ---- */

static char text[1 << 20];
static size_t size;

/* Adds the edits of an XOR for an array of 32 by 32, or of 1024. */
static int patch_array(bf_patch *patch, const bf_source_array *declared) {
  bf_shared_array shared = {
      .name = declared->name, .element_bytes = 4, .dimensions = declared->dimensions};
  bf_suggestion suggestion = {.exists = true, .map = {.element_bytes = 4, .terms = 1}};
  char problem[200];
  suggestion.map.term[0] = (bf_hash_term){.shift = 5, .mask = 31};
  for (unsigned i = 0; i < shared.dimensions; i++)
    shared.dimension[i] = 32;
  bf_patch_array array = {declared, &shared, &suggestion, "BF_TEST", false, false};
  return bf_patch_add(patch, &array, problem, NULL);
}

static int patch_all(bf_patch *patch, bf_text *changed, bf_text *diff) {
  bf_source_array *list;
  size_t count;
  BF_TRY(bf_source_arrays(patch->source, &list, &count, NULL));
  for (size_t i = 0; i < count; i++)
    BF_TRY(patch_array(patch, &list[i]));
  bf_patch_write_source(patch, changed);
  if (changed->failed)
    return BF_NO_MEMORY;
  return bf_patch_write_diff(patch, "a.cu", diff, NULL);
}

static int try_patch(const void *input) {
  bf_source *source = NULL;
  bf_text changed = {0}, diff = {0};
  int error = bf_source_read("a.cu", input, size, &source, NULL);
  bf_patch patch = {.source = source};
  if (!error)
    error = patch_all(&patch, &changed, &diff);
  int answer = verdict(error);
  bf_text_free(&changed);
  bf_text_free(&diff);
  bf_patch_free(&patch);
  bf_source_free(source);
  return answer;
}

/* ---- A module with its source ---- */

typedef struct files {
  const char *source, *trace;
  bf_machine *machine;
  bf_ptx_module *module;
} files;

/* Gives every array an XOR that looks worth it, so that no search is needed. */
static void suggest(bf_review *review) {
  for (size_t i = 0; i < review->arrays; i++) {
    bf_suggestions *to = &review->array[i].suggestions;
    bf_suggestion swizzle = {.exists = true, .map = {.terms = 1}};
    unsigned bytes = review->array[i].shared.element_bytes;
    unsigned together = bytes && bytes < 16 ? 16 / bytes : 1; /* elements of the widest access */
    swizzle.map.element_bytes = bytes;
    swizzle.map.term[0] = (bf_hash_term){.shift = 5, .mask = 31 & ~(together - 1)};
    to->conflicts = 1;
    to->of[BF_SUGGEST_SWIZZLE] = swizzle;
  }
}

static int review_all(const files *from, bf_review *review) {
  static const uint32_t block[3] = {32, 1, 1};
  BF_TRY(bf_review_find_arrays(review, from->module, from->machine, NULL, NULL));
  BF_TRY(bf_review_read_source(review, from->source, NULL));
  BF_TRY(bf_review_add_trace(review, from->trace, false, NULL));
  BF_TRY(bf_review_add_trace(review, from->trace, true, NULL));
  BF_TRY(bf_review_add_analysis(review, block, NULL));
  BF_TRY(bf_review_find_declarations(review, NULL));
  suggest(review);
  BF_TRY(bf_review_patch(review, BF_SUGGEST_SWIZZLE, NULL));
  return bf_review_check(review, review, NULL);
}

static int try_review(const void *input) {
  bf_review review;
  int answer = verdict(review_all(input, &review));
  bf_review_free(&review);
  return answer;
}

static bool reviews_well(const char *source, const char *ptx, const char *trace) {
  files from = {.source = source, .trace = trace};
  bool is_good = bf_machine_load("hopper", NULL, &from.machine, NULL) == BF_OK &&
                 bf_fatbin_read_ptx(ptx, 0, &from.module, NULL) == BF_OK &&
                 all_fail_well("review", try_review, &from);
  bf_ptx_free(from.module);
  bf_machine_free(from.machine);
  return is_good;
}

int main(int count, char **argument) {
  if (count == 4)
    return !reviews_well(argument[1], argument[2], argument[3]);
  FILE *file = count == 2 ? fopen(argument[1], "rb") : NULL;
  if (!file)
    return 2;
  size = fread(text, 1, sizeof text, file);
  fclose(file);
  return !all_fail_well("patch", try_patch, text);
}
