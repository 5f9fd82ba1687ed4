/* Netlists of a few cells: what parses can be timed and simulated. */
#include "rtl/netlist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char cells[] =
    "library (l) { lu_table_template (t) { variable_1 : input_net_transition; }\n"
    "cell (I) { pin (A) { direction : input; capacitance : 1; } pin (Y) { direction : output;\n"
    "  function : \"!A\"; timing () { related_pin : \"A\";\n"
    "  cell_rise (t) { index_1 (\"0, 1\"); values (\"1, 2\"); } } } }\n"
    "cell (X) { pin (A) { direction : input; } pin (B) { direction : input; }\n"
    "  pin (Y) { direction : output; function : \"A^B\"; } }\n"
    "cell (F) { ff (Q, QN) { next_state : \"D\"; } pin (D) { direction : input; }\n"
    "  pin (C) { direction : input; clock : true; } pin (Q) { direction : output;\n"
    "  function : \"Q\"; } } }\n";

static void use(bf_netlist *netlist) {
  bf_netlist_state state;
  bf_netlist_timing timing;
  bf_netlist_start start = {.inputs = "", .registers = true, .slew_ns = 0.1};
  if (bf_netlist_time(netlist, &start, &timing, NULL) != BF_OK)
    return;
  if (bf_netlist_state_open(netlist, &state, NULL) != BF_OK)
    return;
  for (unsigned i = 0; i < netlist->inputs; i++)
    state.value[netlist->input[i]] = 0x5555;
  bf_netlist_settle(netlist, &state, true);
  bf_netlist_clock(netlist, &state);
  bf_netlist_settle(netlist, &state, true);
  assert(bf_netlist_energy_of(netlist, &timing, &state, 1).still_pj >= 0);
  bf_netlist_state_close(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  bf_liberty *library = NULL;
  bf_diagnostic diagnostic = {0};
  if (!text || bf_liberty_parse("cells", cells, &library, &diagnostic) != BF_OK)
    abort();
  memcpy(text, data, size);
  text[size] = 0;
  bf_netlist *netlist;
  if (bf_netlist_parse("fuzz", text, library, &netlist, &diagnostic) == BF_OK) {
    use(netlist);
    bf_netlist_free(netlist);
  } else {
    assert(diagnostic.message[0]);
  }
  bf_liberty_free(library);
  free(text);
  return 0;
}
