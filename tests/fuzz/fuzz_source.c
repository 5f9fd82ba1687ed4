/* Source text never crashes the scanner, and what is patched is what the edits say: applying a map
 * leaves a source whose arrays are found again. */
#include "source/family.h"
#include "source/patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Patches an array with a map that fits its dimensions, whatever they are. */
static void try_array(bf_patch *patch, const bf_source_array *declared, unsigned way) {
  bf_shared_array shared = {
      .name = declared->name, .element_bytes = 4, .dimensions = declared->dimensions};
  bf_suggestion suggestion = {.exists = true, .map = {.element_bytes = 4, .terms = 1}};
  suggestion.map.term[0] = (bf_hash_term){.shift = 5, .mask = 31};
  if (way == 1)
    suggestion.map = (bf_index_map){.element_bytes = 4,
                                    .row_elements = 32,
                                    .pad_elements = 1,
                                    .padded_dimension = declared->dimensions - 1,
                                    .padded_by = 1};
  if (way == 2)
    suggestion.map = (bf_index_map){.element_bytes = 4, .element_pad_bytes = 4};
  for (unsigned i = 0; i < shared.dimensions; i++) {
    size_t open = declared->dimension[i];
    shared.dimension[i] = 32;
    bf_source_value(patch->source, declared, "k<1, 2>", open + 1,
                    patch->source->token[open].partner, &shared.dimension[i]);
  }
  bf_patch_array array = {.declared = declared,
                          .array = &shared,
                          .suggestion = &suggestion,
                          .macro = "BF_FUZZ",
                          .is_tentative = way > 0};
  char problem[200];
  bf_patch_add(patch, &array, problem, NULL);
}

/* Patches the arrays of a struct whose object is declared at a token. */
static void try_members(bf_patch *patch, size_t shared) {
  enum { MOST = 16 };
  const bf_source *source = patch->source;
  bf_source_array list[MOST], place = {0};
  char name[64];
  size_t count, end = shared;
  while (end < source->tokens && !bf_source_is(source, end, ";"))
    end++;
  bf_source_scope(source, shared, &place);
  snprintf(name, sizeof name, "%.*s", (int)(source->token[end - 1].size % 64),
           source->text + source->token[end - 1].at);
  if (place.function < source->tokens &&
      bf_source_members(source, place.function, name, list, MOST, &count))
    for (size_t i = 0; i < count; i++)
      if (list[i].dimensions)
        try_array(patch, &list[i], i % 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_source *source = NULL;
  bf_source_array *list;
  bf_text changed = {0}, diff = {0};
  size_t count;
  if (bf_source_read("fuzz.cu", (const char *)data, size, &source, NULL) != BF_OK)
    return 0;
  bf_patch patch = {.source = source};
  if (bf_source_arrays(source, &list, &count, NULL) == BF_OK)
    for (size_t i = 0; i < count; i++)
      try_array(&patch, &list[i], (unsigned)(size + i) % 3);
  for (size_t i = 0; i < source->tokens; i++)
    if (bf_source_is(source, i, "__shared__"))
      try_members(&patch, i);
  bf_patch_write_source(&patch, &changed);
  bf_patch_write_diff(&patch, "fuzz.cu", &diff, NULL);
  if ((diff.size == 0) != (patch.edits == 0) && !diff.failed)
    abort();
  bf_text_free(&changed);
  bf_text_free(&diff);
  bf_patch_free(&patch);
  bf_source_free(source);
  return 0;
}
