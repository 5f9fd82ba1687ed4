/* Lets allocation number 0, 1, 2, ... fail while units are written, a library of cells is read, and
 * a netlist is timed, simulated and described to OpenSTA: each time the answer is that memory ran
 * out. Leaks are found by the sanitizer. */
#include "../failing_memory.h"
#include "rtl/cost.h"

#include <string.h>

/* ---- Units ---- */

static int write_all(const bf_rtl_unit *unit) {
  bf_text text = {0};
  uint64_t written = 0;
  int error = bf_rtl_write_module(unit, &text, NULL);
  if (error == BF_OK && bf_rtl_is_family(unit))
    bf_rtl_write_clocked(unit, &text);
  if (error == BF_OK)
    bf_rtl_write_bench(unit, 4, &text);
  if (error == BF_OK)
    error = bf_rtl_write_vectors(unit, 4, &text, &written, NULL);
  if (error == BF_OK && !bf_rtl_is_family(unit))
    error = bf_rtl_draw(unit, &text, NULL);
  if (error == BF_OK && text.failed)
    error = BF_NO_MEMORY;
  bf_text_free(&text);
  return error;
}

static int try_unit(const void *given) { return verdict(write_all(given)); }

/* ---- Libraries and netlists ---- */

static int write_script(const bf_netlist *netlist, const bf_netlist_start *start) {
  bf_text text = {0};
  int error = bf_rtl_opensta_script(netlist, "u", start, &text, NULL);
  bf_text_free(&text);
  return error;
}

static int use(bf_netlist *netlist) {
  bf_netlist_timing timing;
  bf_netlist_state state;
  bf_netlist_start start = {.inputs = "", .registers = true, .slew_ns = 0.1};
  BF_TRY(bf_netlist_time(netlist, &start, &timing, NULL));
  BF_TRY(bf_netlist_state_open(netlist, &state, NULL));
  bf_netlist_settle(netlist, &state, true);
  bf_netlist_state_close(&state);
  return write_script(netlist, &start);
}

static int read_both(const char *const *texts) {
  bf_liberty *library = NULL;
  bf_netlist *netlist = NULL;
  int error = bf_liberty_parse("cells", texts[0], &library, NULL);
  if (error == BF_OK)
    error = bf_netlist_parse("netlist", texts[1], library, &netlist, NULL);
  if (error == BF_OK)
    error = use(netlist);
  bf_netlist_free(netlist);
  bf_liberty_free(library);
  return error;
}

static int try_texts(const void *given) { return verdict(read_both(given)); }

static char *read_text(const char *path, char *text, size_t bytes) {
  FILE *file = fopen(path, "r");
  text[file ? fread(text, 1, bytes - 1, file) : 0] = 0;
  if (file)
    fclose(file);
  return text;
}

int main(void) {
  static char cells[1 << 14];
  bool good = true;
  bf_geometry geometry = {3, 8, 4};
  bf_hash *hash;
  if (bf_hash_parse("fixed", &geometry, &hash, NULL) != BF_OK)
    return 1;
  for (unsigned kind = 0; kind <= BF_RTL_FIXED; kind++) {
    bf_rtl_unit unit = {.kind = (bf_rtl_kind)kind,
                        .one_hot = kind % 2,
                        .geometry = geometry,
                        .hash = hash,
                        .name = "u"};
    good &= all_fail_well("unit", try_unit, &unit);
  }
  bf_hash_free(hash);
  const char *texts[] = {
      read_text("tests/fuzz/corpus/liberty/small", cells, sizeof cells),
      ".inputs a c\n.outputs y\n.names $false\n.gate INV A=a Y=b\n.gate XOR A=b B=d Y=y\n"
      ".gate DFF CK=c D=b Q=d\n.cname r\n.end\n"};
  good &= all_fail_well("texts", try_texts, texts);
  return !good;
}
