/* Lets allocation number 0, 1, 2, ... fail while a CUDA source is read and patched: each time the
 * answer is that memory ran out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"
#include "source/patch.h"

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
  bf_patch_array array = {declared, &shared, &suggestion, "BF_TEST"};
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

int main(int count, char **argument) {
  FILE *file = count == 2 ? fopen(argument[1], "rb") : NULL;
  if (!file)
    return 2;
  size = fread(text, 1, sizeof text, file);
  fclose(file);
  return !all_fail_well("patch", try_patch, text);
}
