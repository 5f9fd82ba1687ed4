/* Libraries of cells: what parses can be looked up; what does not has a message. */
#include "rtl/liberty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every table of a cell at, between and beyond its points. */
static void look_up_all(const bf_liberty_cell *cell) {
  static const double at[] = {-1, 0, 0.05, 1e9};
  for (const bf_liberty_pin *pin = cell->pins; pin; pin = pin->next)
    for (unsigned i = 0; i < 16; i++) {
      for (const bf_liberty_arc *arc = pin->arcs; arc; arc = arc->next)
        bf_liberty_look_up(&arc->delay[i & 1], at[i / 4], at[i % 4]);
      for (const bf_liberty_power *power = pin->powers; power; power = power->next)
        bf_liberty_look_up(&power->energy[i & 1], at[i / 4], at[i % 4]);
      bf_liberty_look_up(&pin->setup[i & 1], at[i / 4], at[i % 4]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_liberty *library;
  bf_diagnostic diagnostic = {0};
  if (bf_liberty_parse("fuzz", text, &library, &diagnostic) == BF_OK) {
    for (const bf_liberty_cell *cell = library->cells; cell; cell = cell->next)
      look_up_all(cell);
    bf_liberty_free(library);
  } else {
    assert(diagnostic.message[0]);
  }
  free(text);
  return 0;
}
