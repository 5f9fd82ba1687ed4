/* Questions for layouts: lines of tile, type, write, read and layout. Whatever is answered puts no
 * two elements in one place, counts no fewer wavefronts than must be, and is written as code. */
#include "layout/layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 5, MOST_ELEMENTS = 4096 };

/* Every element of the first layout has a place of its own. */
static void check_places(const bf_layouts *layouts) {
  const bf_tile *tile = &layouts->tile;
  uint64_t bytes = bf_layouts_get(layouts, 0)->bytes;
  uint8_t *used = calloc(1, bytes);
  for (unsigned i = 0; used && i < tile->rows * tile->columns; i++) {
    uint32_t at;
    assert(bf_layouts_place(layouts, 0, i / tile->columns, i % tile->columns, &at) == BF_OK);
    assert(at < bytes && !used[at]);
    used[at] = 1;
  }
  free(used);
}

static void check_code(const bf_layouts *layouts) {
  static const char *const forms[] = {"cute", "ptx", "tma", "triton", "cuda"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char *text;
    if (bf_layouts_emit(layouts, 0, forms[i], &text, NULL) == BF_OK)
      assert(strlen(text) > 0);
    bf_free(text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1), *line[LINES] = {NULL}, *rest = text;
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  for (unsigned i = 0; i < LINES && rest; i++) {
    line[i] = rest;
    rest = strchr(rest, '\n');
    if (rest)
      *rest++ = 0;
  }
  bf_layout_options options;
  bf_layouts *layouts;
  bf_tile tile;
  bf_layout_default_options(&options);
  options.tile = line[0];
  options.type = line[1];
  options.write = (const char *const *)&line[2];
  options.writes = line[2] && *line[2] ? 1 : 0;
  options.read = (const char *const *)&line[3];
  options.reads = line[3] && *line[3] ? 1 : 0;
  options.layout = line[4] && *line[4] ? line[4] : NULL;
  bool is_small = line[0] && bf_tile_parse(line[0], &tile, NULL) == BF_OK &&
                  (uint64_t)tile.rows * tile.columns <= MOST_ELEMENTS;
  bool is_large = line[0] && !is_small && bf_tile_parse(line[0], &tile, NULL) == BF_OK &&
                  (uint64_t)tile.rows * tile.columns > 1 << 20;
  if ((is_small || is_large || !line[0]) &&
      bf_layouts_find(NULL, &options, &layouts, NULL) == BF_OK) {
    for (size_t i = 0; i < bf_layouts_size(layouts); i++)
      assert(bf_layouts_get(layouts, i)->wavefronts >= bf_layouts_get(layouts, i)->ideal);
    check_places(layouts);
    check_code(layouts);
    bf_layouts_free(layouts);
  }
  free(text);
  return 0;
}
