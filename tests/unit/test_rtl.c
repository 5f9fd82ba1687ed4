/* Hash units: ports, vectors, errors; libraries of cells and netlists against sums made by hand. */
#include "process/folder.h"
#include "rtl/bundle.h"
#include "rtl/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bf_diagnostic diagnostic;

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fabs(b)); }

#define assert_near(a, b)                                                                          \
  do {                                                                                             \
    if (!near(a, b))                                                                               \
      fail_msg("%s is %.12g, expected %.12g", #a, (double)(a), (double)(b));                       \
  } while (0)

/* ---- Units ---- */

static bf_rtl_unit family(bf_rtl_kind kind, bool one_hot, unsigned banks, unsigned address) {
  return (bf_rtl_unit){
      .kind = kind, .one_hot = one_hot, .geometry = {banks, address, 4}, .name = "u"};
}

static void ports_of_the_published_size(void **state) {
  (void)state;
  static const unsigned encoded[] = {4, 13, 20, 40}, one_hot[] = {10, 29, 70, 140};
  for (unsigned kind = 0; kind < BF_RTL_FAMILIES; kind++)
    for (unsigned hot = 0; hot < 2; hot++) {
      bf_rtl_unit unit = family((bf_rtl_kind)kind, hot, 5, 14);
      bf_rtl_port port[BF_RTL_PORTS];
      unsigned count = bf_rtl_ports(&unit, port), bits = 0;
      for (unsigned i = 0; i < count; i++)
        bits += port[i].role == BF_RTL_CONFIGURATION ? port[i].bits : 0;
      assert_int_equal(bits, hot ? one_hot[kind] : encoded[kind]);
    }
}

/* The value of part `index`, of `parts`, of a port: its number, or the wire that is set. parts bits
 * each; `none` where no wire is set. */
static unsigned choice(const bf_rtl_unit *unit, const bf_rtl_vector *vector, const char *name,
                       unsigned index, unsigned parts, unsigned none) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned count = bf_rtl_ports(unit, port), p = 0, value = 0, set = 0;
  while (p < count && strcmp(port[p].name, name) != 0)
    p++;
  assert_true(p < count);
  unsigned bits = port[p].bits / parts;
  for (unsigned i = 0; i < bits; i++)
    if (bf_rtl_vector_bit(unit, vector, p, index * bits + i)) {
      value = unit->one_hot ? i : value | 1u << i;
      set++;
    }
  if (unit->one_hot)
    assert_true(set <= 1);
  return unit->one_hot && set == 0 ? none : value;
}

/* The value of a port that is a number in both kinds: word, bank, lock, mask. */
static unsigned number(const bf_rtl_unit *unit, const bf_rtl_vector *vector, const char *name) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned count = bf_rtl_ports(unit, port), value = 0;
  for (unsigned p = 0; p < count; p++)
    for (unsigned i = 0; strcmp(port[p].name, name) == 0 && i < port[p].bits; i++)
      value |= (unsigned)bf_rtl_vector_bit(unit, vector, p, i) << i;
  return value;
}

/* The bank by the formula of the family, from the ports alone. */
static unsigned expected_bank(const bf_rtl_unit *unit, const bf_rtl_vector *vector) {
  unsigned m = unit->geometry.bank_bits, n = unit->geometry.address_bits;
  unsigned word = number(unit, vector, "word"), bank = 0;
  if (unit->kind == BF_RTL_BIT_VECTOR_PERM)
    return (word >> choice(unit, vector, "offset", 0, 1, 0)) & ((1u << m) - 1);
  if (unit->kind == BF_RTL_BIT_VECTOR_XOR)
    return ((word >> choice(unit, vector, "offset", 0, 1, 0)) ^
            ((word >> choice(unit, vector, "second", 0, 1, 0)) & number(unit, vector, "mask"))) &
           ((1u << m) - 1);
  for (unsigned i = 0; i < m; i++) {
    unsigned bit = word >> choice(unit, vector, "first", i, m, 0) & 1;
    unsigned second = n;
    if (unit->kind == BF_RTL_BITWISE_XOR)
      second = choice(unit, vector, "second", i, m, n);
    bank |= (bit ^ (second < n ? word >> second & 1 : 0)) << i;
  }
  return bank;
}

static void vectors_follow_the_formulas(void **state) {
  (void)state;
  static const unsigned sizes[][2] = {{5, 14}, {1, 2}, {3, 8}, {10, 31}};
  for (unsigned i = 0; i < 4 * 2 * BF_RTL_FAMILIES; i++) {
    bf_rtl_unit unit = family((bf_rtl_kind)(i % BF_RTL_FAMILIES), i / BF_RTL_FAMILIES % 2,
                              sizes[i / 8][0], sizes[i / 8][1]);
    assert_int_equal(bf_rtl_check(&unit, &diagnostic), BF_OK);
    bf_rtl_source *source;
    assert_int_equal(bf_rtl_source_open(&unit, i, &source, &diagnostic), BF_OK);
    for (unsigned k = 0; k < 2000; k++) {
      bf_rtl_vector vector;
      assert_int_equal(bf_rtl_source_next(source, &vector, &diagnostic), BF_OK);
      assert_int_equal(number(&unit, &vector, "bank"), expected_bank(&unit, &vector));
    }
    bf_rtl_source_close(source);
  }
}

/* Table I of braak13, by its formulas. */
static void locks_follow_the_table(void **state) {
  (void)state;
  for (unsigned adds = 0; adds < 2; adds++) {
    bf_rtl_unit unit = {.kind = BF_RTL_LOCKS,
                        .lock_hash = adds ? BF_LOCK_ADD : BF_LOCK_XOR,
                        .geometry = {5, 14, 4},
                        .name = "u"};
    bf_rtl_source *source;
    assert_int_equal(bf_rtl_source_open(&unit, 1, &source, &diagnostic), BF_OK);
    for (unsigned word = 0; word < 1u << 14; word++) {
      unsigned a = word & 31, b = word >> 5 & 31, c = word >> 10 & 15;
      bf_rtl_vector vector;
      bf_rtl_source_word(source, word, &vector);
      assert_int_equal(number(&unit, &vector, "bank"), adds ? (a + b) & 31 : a ^ b);
      assert_int_equal(number(&unit, &vector, "lock"), adds ? (b + c) & 31 : b ^ c);
    }
    bf_rtl_source_close(source);
  }
}

static void units_that_cannot_be(void **state) {
  (void)state;
  const struct {
    bf_rtl_unit unit;
    const char *message;
  } cases[] = {
      {family(BF_RTL_BITWISE_XOR, false, 5, 5),
       "with 32 banks such a unit has 6 to 32 address bits, not 5"},
      {family(BF_RTL_BITWISE_XOR, false, 5, 33),
       "with 32 banks such a unit has 6 to 32 address bits, not 33"},
      {family(BF_RTL_BIT_VECTOR_PERM, false, 0, 4), "a unit has 2 to 1024 banks, not 1"},
      {family(BF_RTL_BIT_VECTOR_PERM, false, 11, 20), "a unit has 2 to 1024 banks, not 2048"},
      {{.kind = BF_RTL_LOCKS, .geometry = {5, 16, 4}, .name = "u"},
       "with 32 banks such a unit has 11 to 15 address bits, not 16"},
      {{.kind = BF_RTL_BITWISE_PERM, .geometry = {5, 14, 4}, .name = "7up"},
       "a name is letters, digits and '_', and starts with a letter; not '7up'"},
      {{.kind = BF_RTL_BITWISE_PERM, .geometry = {5, 14, 4}, .name = ""},
       "a name is letters, digits and '_', and starts with a letter; not ''"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(bf_rtl_check(&cases[i].unit, &diagnostic) != BF_OK);
    assert_string_equal(diagnostic.message, cases[i].message);
  }
}

/* ---- Libraries ---- */

/* An inverter, an XOR gate and a flip-flop in units of 1 ps, 1 fF and 1 V; tables in either order
 * of variables. */
static const char small_library[] =
    "/* two cells */ library (small) {\n"
    "  time_unit : \"1ps\"; voltage_unit : \"1V\"; capacitive_load_unit (1, ff);\n"
    "  leakage_power_unit : \"1uW\"; nom_voltage : 2.0;\n"
    "  lu_table_template (by_load) { variable_1 : total_output_net_capacitance;\n"
    "    variable_2 : input_net_transition; }\n"
    "  lu_table_template (by_slew) { variable_1 : input_net_transition;\n"
    "    variable_2 : total_output_net_capacitance; }\n"
    "  power_lut_template (energy) { variable_1 : input_transition_time; }\n"
    "  lu_table_template (setup) { variable_1 : related_pin_transition;\n"
    "    variable_2 : constrained_pin_transition; }\n"
    "  cell (INV) { area : 3; cell_leakage_power : 0.5;\n"
    "    pin (A) { direction : input; capacitance : 2; }\n"
    "    pin (Y) { direction : output; function : \"!A\";\n"
    "      timing () { related_pin : \"A\"; timing_sense : negative_unate;\n"
    "        cell_rise (by_load) { index_1 (\"0, 10\"); index_2 (\"0, 100\");\n"
    "          values (\"10, 20\", \\\n \"30, 40\"); }\n"
    "        cell_fall (by_slew) { index_1 (\"0, 100\"); index_2 (\"0, 10\");\n"
    "          values (\"5, 25\", \"15, 35\"); }\n"
    "        rise_transition (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"50\"); }\n"
    "        fall_transition (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"40\"); }\n"
    "      }\n"
    "      internal_power () { related_pin : \"A\";\n"
    "        rise_power (energy) { index_1 (\"0\"); values (\"7\"); }\n"
    "        fall_power (energy) { index_1 (\"0\"); values (\"9\"); } }\n"
    "    } }\n"
    "  cell (XOR) { area : 8; pin (A) { direction : input; capacitance : 4; }\n"
    "    pin (B) { direction : input; capacitance : 5; }\n"
    "    pin (Y) { direction : output; function : \"(A B') + (!A & B)\"; } }\n"
    "  cell (DFF) { area : 20; ff (IQ, IQN) { next_state : \"D\"; clocked_on : \"CK\"; }\n"
    "    pin (CK) { direction : input; clock : true; capacitance : 3;\n"
    "      internal_power () { power (energy) { index_1 (\"0\"); values (\"6\"); } } }\n"
    "    pin (D) { direction : input; capacitance : 1;\n"
    "      timing () { related_pin : \"CK\"; timing_type : setup_rising;\n"
    "        rise_constraint (setup) { index_1 (\"0, 10\"); index_2 (\"0, 10\");\n"
    "          values (\"1, 2\", \"3, 4\"); }\n"
    "        fall_constraint (setup) { index_1 (\"0\"); index_2 (\"0\"); values (\"2\"); } } }\n"
    "    pin (Q) { direction : output; function : \"IQ\";\n"
    "      timing () { related_pin : \"CK\"; timing_type : rising_edge;\n"
    "        cell_rise (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"100\"); }\n"
    "        cell_fall (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"110\"); }\n"
    "        rise_transition (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"20\"); }\n"
    "        fall_transition (by_load) { index_1 (\"0\"); index_2 (\"0\"); values (\"30\"); } } }\n"
    "  }\n"
    "  cell (LATCH) { latch (Q, QN) { enable : \"G\"; } pin (G) { direction : input; } }\n"
    "}\n";

static bf_liberty *parse_library(const char *text) {
  bf_liberty *library = NULL;
  if (bf_liberty_parse("small.lib", text, &library, &diagnostic) != BF_OK)
    fail_msg("line %llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  return library;
}

static void library_in_our_units(void **state) {
  (void)state;
  bf_liberty *library = parse_library(small_library);
  const bf_liberty_cell *inverter = bf_liberty_find(library, "INV");
  const bf_liberty_pin *output = bf_liberty_find_pin(inverter, "Y");
  const bf_liberty_arc *arc = output->arcs;
  assert_string_equal(library->name, "small");
  assert_near(library->voltage, 2);
  assert_near(inverter->area, 3);
  assert_near(inverter->leakage_nw, 500);
  assert_near(bf_liberty_find_pin(inverter, "A")->capacitance_pf, 0.002);
  assert_true(arc->sense == BF_SENSE_NEGATIVE && !arc->next);
  /* Between the points, at a corner, and beyond; both orders of variables. */
  assert_near(bf_liberty_look_up(&arc->delay[1], 0.005, 0.05), 0.025);
  assert_near(bf_liberty_look_up(&arc->delay[1], 0.010, 0.100), 0.040);
  assert_near(bf_liberty_look_up(&arc->delay[1], 0.020, 0), 0.050);
  assert_near(bf_liberty_look_up(&arc->delay[0], 0.010, 0), 0.025);
  assert_near(bf_liberty_look_up(&arc->delay[0], 0, 0.100), 0.015);
  assert_near(bf_liberty_look_up(&output->powers->energy[1], 1, 1), 0.007);
  assert_true((output->truth & 3) == 1);
  const bf_liberty_cell *gate = bf_liberty_find(library, "XOR");
  assert_true((bf_liberty_find_pin(gate, "Y")->truth & 15) == 6);
  assert_true(bf_liberty_find(library, "DFF")->is_flip_flop);
  assert_false(bf_liberty_find(library, "LATCH")->is_known);
  assert_null(bf_liberty_find(library, "NAND"));
  bf_liberty_free(library);
}

static void functions_as_truth_tables(void **state) {
  (void)state;
  static const char *const names[] = {"A", "B", "C"};
  static const struct {
    const char *text;
    unsigned truth; /* of A, B, C: 256 = not to be read */
  } cases[] = {{"A", 0xaa},
               {"!A", 0x55},
               {"A'", 0x55},
               {"A B", 0x88},
               {"A*B+C", 0xf8},
               {"(A|B)&C", 0xe0},
               {"A^B^C", 0x96},
               {"!(A&B)'", 0x88},
               {"1", 0xff},
               {"0", 0},
               {"A & !(B | C')", 0x20},
               {"A+B C", 0xea},
               {"D", 256},
               {"(A", 256},
               {"A+", 256},
               {"", 256},
               {"A B)", 256},
               {"A$B", 256}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t truth = 0;
    bool good = bf_liberty_function(cases[i].text, names, 3, &truth);
    unsigned got = good ? (unsigned)(truth & 0xff) : 256;
    if (got != cases[i].truth)
      fail_msg("%s is %x, expected %x", cases[i].text, got, cases[i].truth);
  }
}

static void libraries_that_are_wrong(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line;
    const char *message;
  } cases[] = {
      {"", 1, "the text ends inside a group"},
      {"cell (A) { }", 1, "no library: it must begin with \"library (NAME) {\""},
      {"library (a) { }", 1, "library 'a' has no cells"},
      {"library (a) {\n cell (B) {", 2, "the text ends inside a group"},
      {"library (a) {\n\n /* never ends", 3, "a comment does not end"},
      {"library (a) {\n x y;", 2, "expected ':' or '(' behind a name"},
      {"library (a) {\n cell (B) { area : large; } }", 2, "'area' is not a number"},
      {"library (a) {\n time_unit : \"1 fortnight\"; cell (B) { } }", 2,
       "'time_unit' is no unit that is known"},
      {"library (a) { capacitive_load_unit (1,apples); cell (B) { } }", 1,
       "'capacitive_load_unit' is no unit that is known"},
      {"library (a) { lu_table_template (t) { variable_1 : input_net_transition; }\n"
       "cell (B) { pin (Y) { direction : output; timing () { related_pin : \"A\";\n"
       "cell_rise (t) { index_1 (\"2, 1\"); values (\"1, 2\"); } } } } }",
       3, "'index_1' must ascend"},
      {"library (a) { lu_table_template (t) { variable_1 : input_net_transition; }\n"
       "cell (B) { pin (Y) { direction : output; timing () { related_pin : \"A\";\n"
       "cell_rise (t) { index_1 (\"1, 2\"); values (\"1\"); } } } } }",
       3, "'cell_rise' has too few values"},
      {"library (a) { lu_table_template (t) { variable_1 : input_net_transition; }\n"
       "cell (B) { pin (Y) { direction : output; timing () { related_pin : \"A\";\n"
       "cell_rise (t) { index_1 (\"1, 2\"); values (\"1, 2, 3\"); } } } } }",
       3, "'values' has too many numbers"},
      {"library (a) { lu_table_template (t) { variable_1 : fanout_number; }\n"
       "cell (B) { pin (Y) { direction : output; timing () { related_pin : \"A\";\n"
       "cell_rise (t) { index_1 (\"1, 2\"); values (\"1, 2\"); } } } } }",
       3, "a table by 'fanout_number' cannot be read"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_liberty *library = NULL;
    assert_int_equal(bf_liberty_parse("x.lib", cases[i].text, &library, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, cases[i].message);
    assert_int_equal(diagnostic.line, cases[i].line);
  }
}

/* ---- Netlists ---- */

static bf_netlist *parse_netlist(const bf_liberty *library, const char *text) {
  bf_netlist *netlist = NULL;
  if (bf_netlist_parse("net", text, library, &netlist, &diagnostic) != BF_OK)
    fail_msg("line %llu: %s", (unsigned long long)diagnostic.line, diagnostic.message);
  return netlist;
}

/* Two inverters in a row, the second one first in the text. */
static const char inverters[] =
    ".model m\n.inputs \\\n a\n.outputs y\n.names $false\n.names $true\n1\n"
    ".gate INV A=b Y=c\n.gate INV A=a Y=b\n.names c y\n1 1\n.end\n";

static void timing_by_hand(void **state) {
  (void)state;
  bf_liberty *library = parse_library(small_library);
  bf_netlist *netlist = parse_netlist(library, inverters);
  bf_netlist_timing timing;
  assert_int_equal(bf_netlist_size(netlist), 2);
  assert_near(bf_netlist_area(netlist), 6);
  assert_near(bf_netlist_leakage_nw(netlist), 1000);
  bf_netlist_start start = {.inputs = "", .slew_ns = 0.1, .load_pf = 0.01};
  assert_int_equal(bf_netlist_time(netlist, &start, &timing, &diagnostic), BF_OK);
  /* b: load 2 fF, slew 100 ps: rises after 10 + 20/10 * 2 + 10 = 24 ps, falls after 15 + 4 = 19 ps.
   * y: load 10 fF. Rises behind the fall of b, slew 40: 30 + 4 = 34; falls behind the rise of b,
   * slew 50: 25 + 5 = 30. */
  assert_near(timing.delay_ns, fmax(0.019 + 0.034, 0.024 + 0.030));
  assert_int_equal(timing.levels, 2);
  start.inputs = "no such";
  assert_int_equal(bf_netlist_time(netlist, &start, &timing, &diagnostic), BF_OK);
  assert_near(timing.delay_ns, 0);
  assert_int_equal(timing.levels, 0);
  bf_netlist_free(netlist);
  bf_liberty_free(library);
}

static void period_by_hand(void **state) {
  (void)state;
  bf_liberty *library = parse_library(small_library);
  bf_netlist *netlist =
      parse_netlist(library, ".inputs a ck\n.outputs q\n.gate DFF CK=ck D=a Q=b\n"
                             ".gate INV A=b Y=c\n.gate DFF CK=ck D=c Q=q\n.end\n");
  bf_netlist_timing timing;
  bf_netlist_start start = {.registers = true, .slew_ns = 0.010};
  assert_int_equal(netlist->flip_flops, 2);
  assert_int_equal(bf_netlist_time(netlist, &start, &timing, &diagnostic), BF_OK);
  /* c, load 1 fF: rises 110 + 10 + 2 + 3 (slew 30), falls 100 + 5 + 2 + 2 (slew 20). Setup of a
   * rise at clock slew 10 and slew 50: 3 + 5 = 8 ps; of a fall 2 ps. */
  assert_near(timing.period_ns, 0.125 + 0.008);
  assert_int_equal(timing.levels, 1);
  bf_netlist_free(netlist);
  bf_liberty_free(library);
}

static void energy_by_hand(void **state) {
  (void)state;
  bf_liberty *library = parse_library(small_library);
  bf_netlist *netlist = parse_netlist(library, ".inputs a ck\n.outputs q y\n.gate INV A=a Y=y\n"
                                               ".gate DFF CK=ck D=a Q=q\n.end\n");
  bf_netlist_state simulation;
  bf_netlist_timing timing;
  bf_netlist_start start = {.inputs = "", .registers = true, .load_pf = 0.010};
  unsigned a = bf_netlist_find(netlist, "a"), y = bf_netlist_find(netlist, "y");
  assert_int_equal(bf_netlist_time(netlist, &start, &timing, &diagnostic), BF_OK);
  assert_int_equal(bf_netlist_state_open(netlist, &simulation, &diagnostic), BF_OK);
  bf_netlist_settle(netlist, &simulation, false);
  assert_true(simulation.value[y] == ~(uint64_t)0);
  for (unsigned cycle = 0; cycle < 4; cycle++) { /* all 64 change in every cycle */
    simulation.value[a] = ~simulation.value[a];
    bf_netlist_settle(netlist, &simulation, true);
  }
  bf_netlist_energy energy = bf_netlist_energy_of(netlist, &timing, &simulation, 4);
  /* y: half of the changes rise (7 fJ), half fall (9 fJ); 10 fF at 2 V take 20 fJ a change. */
  assert_near(energy.logic_pj, 0.008 + 0.020);
  /* The clock: 6 fJ at each edge, and 3 fF * 4 V^2. The flip-flop was never clocked. */
  assert_near(energy.clock_pj, 0.012 + 0.012);
  assert_near(energy.still_pj, energy.clock_pj);
  bf_netlist_clock(netlist, &simulation);
  simulation.value[a] = ~(uint64_t)0;
  bf_netlist_clock(netlist, &simulation);
  bf_netlist_settle(netlist, &simulation, true);
  assert_true(simulation.value[bf_netlist_find(netlist, "q")] == ~(uint64_t)0);
  assert_near(bf_netlist_energy_of(netlist, &timing, &simulation, 4).still_pj, 0);
  bf_netlist_state_close(&simulation);
  bf_netlist_free(netlist);
  bf_liberty_free(library);
}

static void netlists_that_are_wrong(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line;
    const char *message;
  } cases[] = {
      {".gate NAND A=a Y=b\n", 1, "the library has no cell 'NAND'"},
      {"\n.gate LATCH G=a\n", 2, "cell 'LATCH' has functions that cannot be read"},
      {".gate INV Z=a Y=b\n", 1, "the cell has no pin 'Z'"},
      {".inputs a\n.latch a b\n", 2, "'.latch' cannot be read"},
      {".inputs a\n.cname x\n", 2, "'.cname' that names no cell"},
      {".gate INV A=a Y=b\n.cname x\n.cname y\n", 3, "'.cname' that names no cell"},
      {".names a b c\n11 1\n", 1, "'.names' of more than one input is no standard cell"},
      {".names a b\n0 1\n", 1, "'.names' that is no constant and no assignment"},
      {".inputs a\n.gate INV A=a Y=b\n.gate INV A=a Y=b\n", 4, "a net is driven twice"},
      {".gate INV A=a Y=b\n.gate INV A=b Y=a\n", 3,
       "cells drive each other in a circle, or a net has no driver"},
  };
  bf_liberty *library = parse_library(small_library);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_netlist *netlist = NULL;
    assert_int_equal(bf_netlist_parse("n", cases[i].text, library, &netlist, &diagnostic),
                     BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, cases[i].message);
    assert_int_equal(diagnostic.line, cases[i].line);
  }
  bf_liberty_free(library);
}

/* ---- OpenSTA ---- */

/* A register of the word, which changes, and one of the configuration, which does not. */
static const char two_registers[] = ".inputs clk word mask\n.outputs bank\n"
                                    ".gate DFF CK=clk D=word Q=w\n.cname _7_\n"
                                    ".gate DFF CK=clk D=mask Q=m\n.cname _8_\n"
                                    ".gate XOR A=w B=m Y=bank\n.cname _9_\n.end\n";

/* Registers that change are asked for by name, as are inputs; no other way is. */
static void script_for_opensta(void **state) {
  (void)state;
  bf_liberty *library = parse_library(small_library);
  bf_netlist *netlist = parse_netlist(library, two_registers);
  bf_netlist_state changes;
  bf_text text = {0};
  assert_int_equal(bf_netlist_state_open(netlist, &changes, &diagnostic), BF_OK);
  changes.rises[bf_netlist_find(netlist, "w")] = 1;
  bf_netlist_start start = {
      .registers = true, .changed = &changes, .slew_ns = 0.06, .load_pf = 0.009};
  assert_int_equal(bf_rtl_opensta_script(netlist, "top", &start, &text, &diagnostic), BF_OK);
  assert_non_null(strstr(text.data, "link_design top\n"));
  assert_non_null(strstr(text.data, "set_load 0.009 [all_outputs]\n"));
  assert_non_null(strstr(text.data, "-from [get_cells { _7_}]\n"));
  bf_text_free(&text);
  start = (bf_netlist_start){.inputs = "word", .slew_ns = 0.06};
  assert_int_equal(bf_rtl_opensta_script(netlist, "top", &start, &text, &diagnostic), BF_OK);
  assert_non_null(strstr(text.data, "-from [get_ports {word*}]\n"));
  assert_null(strstr(text.data, "get_cells"));
  bf_text_free(&text);
  bf_netlist_state_close(&changes);
  bf_netlist_free(netlist);
  bf_liberty_free(library);
}

/* Names are Tcl's to misunderstand; registers without one cannot be asked for. */
static void names_that_opensta_cannot_be_told(void **state) {
  (void)state;
  static const char *const names[] = {"", ".cname [exit]\n", ".cname a}\n", ".cname $a\n"};
  bf_liberty *library = parse_library(small_library);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    char blif[200];
    bf_text text = {0};
    snprintf(blif, sizeof blif, ".inputs c\n.outputs q\n.gate DFF CK=c D=q Q=q\n%s.end\n",
             names[i]);
    bf_netlist *netlist = parse_netlist(library, blif);
    bf_netlist_start start = {.registers = true};
    assert_int_equal(bf_rtl_opensta_script(netlist, "t", &start, &text, &diagnostic),
                     BF_UNSUPPORTED);
    bf_text_free(&text);
    bf_netlist_free(netlist);
  }
  bf_liberty_free(library);
}

static void reports_of_opensta(void **state) {
  (void)state;
#define BEGINS "OpenSTA 2.0.17 abc Copyright\n"
#define ENDS "bankfold: end of report\n"
  static const struct {
    const char *log;
    bool good, found;
    double ns;
  } cases[] = {
      {BEGINS "   0.8   data arrival time\n   9.25   slack (MET)\n" ENDS, true, true, 0.75},
      {BEGINS "  -2.5   slack (VIOLATED)\n" ENDS, true, true, 12.5},
      {BEGINS " 9.0 slack (MET)\n 8.0 slack (MET)\n" ENDS, true, true, 2},
      {BEGINS " 10.000001 slack (MET)\n" ENDS, true, true, 0},
      {BEGINS "No paths found.\n" ENDS, true, false, 0},
      {"", false, false, 0},
      {BEGINS, false, false, 0},
      {BEGINS ENDS, false, false, 0},
      {BEGINS " 9.25 slack (MET)\n", false, false, 0},
      {" 9.25 slack (MET)\n" ENDS, false, false, 0},
      {"OpenSTA is here\n 9.25 slack (MET)\n" ENDS, false, false, 0},
      {"OpenSTA 2.00000000000000000000000000000000000\n 9 slack (MET)\n" ENDS, false, false, 0},
      {BEGINS " 11 slack (MET)\n" ENDS, false, false, 0},
      {BEGINS " nan slack (MET)\n" ENDS, false, false, 0},
      {BEGINS " -inf slack (VIOLATED)\n" ENDS, false, false, 0},
      {BEGINS " much slack (MET)\n" ENDS, false, false, 0},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_rtl_delay delay = {0};
    if (bf_rtl_opensta_report(cases[i].log, &delay) != cases[i].good)
      fail_msg("report %u is %s", i, cases[i].good ? "refused" : "taken");
    if (!cases[i].good)
      continue;
    assert_string_equal(delay.timing, "OpenSTA 2.0.17");
    assert_int_equal(delay.found, cases[i].found);
    assert_near(delay.ns, cases[i].ns);
  }
}

/* ---- Targets ---- */

/* Copies of the word for families only, no more than bank bits, and no way twice. */
static void efforts_fit_the_unit(void **state) {
  (void)state;
  bf_rtl_effort effort[BF_RTL_MOST_EFFORTS];
  for (unsigned bits = 1; bits <= BF_RTL_MOST_BANK_BITS; bits++) {
    bf_rtl_unit unit = family(BF_RTL_BITWISE_XOR, true, bits, bits + 3);
    unsigned count = bf_rtl_efforts(&unit, effort), most = 0;
    for (unsigned i = 0; i < count; i++) {
      unit.word_copies = effort[i].word_copies;
      assert_int_equal(bf_rtl_check(&unit, &diagnostic), BF_OK);
      most = effort[i].word_copies > most ? effort[i].word_copies : most;
      for (unsigned k = 0; k < i; k++)
        assert_true(effort[i].script != effort[k].script ||
                    effort[i].word_copies != effort[k].word_copies);
    }
    assert_int_equal(most, bits);
  }
  bf_rtl_unit locks = {.kind = BF_RTL_LOCKS, .geometry = {5, 14, 4}, .name = "u"};
  unsigned count = bf_rtl_efforts(&locks, effort);
  assert_true(count >= 3);
  for (unsigned i = 0; i < count; i++)
    assert_int_equal(effort[i].word_copies, 0);
}

/* The smallest that is fast enough, else the fastest. */
static void choice_by_target(void **state) {
  (void)state;
  static const bf_rtl_cost costs[] = {
      {.flip_flops = 1, .area_um2 = 10, .period_ns = 4, .delay_ns = 9},
      {.flip_flops = 1, .area_um2 = 20, .period_ns = 3, .delay_ns = 9},
      {.flip_flops = 1, .area_um2 = 15, .period_ns = 5, .delay_ns = 1},
      {.flip_flops = 1, .area_um2 = 40, .period_ns = 2, .delay_ns = 9},
      {.flip_flops = 1, .area_um2 = 30, .period_ns = 2, .delay_ns = 9},
      {.flip_flops = 1, .area_um2 = 20, .period_ns = 2.5, .delay_ns = 9},
  };
  static const struct {
    double target_ns;
    unsigned chosen;
  } cases[] = {{10, 0}, {4, 0}, {3.9, 5}, {3, 5}, {2.4, 4}, {2, 4}, {1, 4}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(bf_rtl_choose(costs, 6, cases[i].target_ns), cases[i].chosen);
  assert_near(bf_rtl_latency_ns(&(bf_rtl_cost){.delay_ns = 3}), 3);
}

/* ---- Scaling ---- */

static void scaling_as_stated(void **state) {
  (void)state;
  bf_rtl_range area = bf_rtl_scale_area(1000), delay = bf_rtl_scale_delay(1);
  bf_rtl_range energy = bf_rtl_scale_energy(1);
  assert_near(area.value, 1000 / 12.2 * 1600 / 2025);
  assert_near(area.low, 1000 / 20.25);
  assert_near(area.high, 1000 / 12.2);
  assert_near(delay.value, 1 / 2.66 * 40 / 45);
  assert_near(delay.low, 1 / 4.5);
  assert_near(bf_rtl_unscale_delay(delay.value), 1);
  assert_near(energy.value, 1 / 8.8 * 40 / 45);
  assert_near(energy.low, 1.21 / (4.5 * 3.24));
  bf_rtl_cost cost = {.area_um2 = 1000, .logic_pj = 4, .clock_pj = 6, .configuration_pj = 2};
  assert_near(bf_rtl_gpu_area(&cost).value, 512e-6 * area.value);
  assert_near(bf_rtl_gpu_power(&cost).value, 512 * 10 * energy.value * 1e-12 / 0.7e-9);
}

/* ---- Pictures ---- */

static unsigned count_of(const char *text, const char *piece) {
  unsigned count = 0;
  for (; (text = strstr(text, piece)); text++)
    count++;
  return count;
}

static void pictures_have_their_gates(void **state) {
  (void)state;
  bf_geometry geometry = {5, 14, 4};
  bf_hash *hash;
  bf_text text = {0};
  assert_int_equal(bf_hash_parse("bits:0^5^7^9,1^6^8,2^9,3,4", &geometry, &hash, &diagnostic),
                   BF_OK);
  bf_rtl_unit unit = {.kind = BF_RTL_FIXED, .hash = hash, .geometry = geometry, .name = "u"};
  assert_int_equal(bf_rtl_draw(&unit, &text, &diagnostic), BF_OK);
  assert_int_equal(count_of(text.data, "class=\"gate\""), bf_hash_get_cost(hash).gates);
  bf_text_free(&text);
  unit = (bf_rtl_unit){
      .kind = BF_RTL_LOCKS, .lock_hash = BF_LOCK_ADD, .geometry = geometry, .name = "u"};
  assert_int_equal(bf_rtl_draw(&unit, &text, &diagnostic), BF_OK);
  assert_int_equal(count_of(text.data, "class=\"carry\""), 8);
  bf_text_free(&text);
  unit = family(BF_RTL_BITWISE_XOR, true, 5, 14);
  assert_int_equal(bf_rtl_draw(&unit, &text, &diagnostic), BF_UNSUPPORTED);
  bf_text_free(&text);
  bf_hash_free(hash);
}

/* All files of a unit are written, or none. */
static void bundles_are_whole(void **state) {
  (void)state;
  char folder[PATH_MAX], path[PATH_MAX + 64];
  bf_rtl_bundle files = {0};
  bf_rtl_unit unit = family(BF_RTL_BIT_VECTOR_PERM, false, 5, 14);
  bf_text text = {0};
  uint64_t vectors = 0;
  assert_int_equal(bf_process_make_folder(folder, &diagnostic), BF_OK);
  assert_int_equal(bf_rtl_bundle_fill(&unit, 100, &files, &vectors, &diagnostic), BF_OK);
  assert_int_equal(vectors, 100);
  assert_int_equal(files.count, 4); /* unit, registers around it, vectors, test bench */
  assert_string_equal(files.name[2], "u_vectors.hex");
  assert_int_equal(bf_rtl_bundle_write(folder, &files, &diagnostic), BF_OK);
  for (unsigned i = 0; i < files.count; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files.name[i]);
    assert_int_equal(bf_read_file(path, SIZE_MAX, &text, &diagnostic), BF_OK);
    assert_int_equal(unlink(path), 0);
  }
  snprintf(files.name[3], sizeof files.name[3], "none/u_test.v");
  assert_int_equal(bf_rtl_bundle_write(folder, &files, &diagnostic), BF_IO);
  assert_int_equal(rmdir(folder), 0); /* what was written is taken back */
  bf_text_free(&text);
  bf_rtl_bundle_free(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ports_of_the_published_size),
      cmocka_unit_test(vectors_follow_the_formulas),
      cmocka_unit_test(locks_follow_the_table),
      cmocka_unit_test(units_that_cannot_be),
      cmocka_unit_test(library_in_our_units),
      cmocka_unit_test(functions_as_truth_tables),
      cmocka_unit_test(libraries_that_are_wrong),
      cmocka_unit_test(timing_by_hand),
      cmocka_unit_test(period_by_hand),
      cmocka_unit_test(energy_by_hand),
      cmocka_unit_test(netlists_that_are_wrong),
      cmocka_unit_test(script_for_opensta),
      cmocka_unit_test(names_that_opensta_cannot_be_told),
      cmocka_unit_test(reports_of_opensta),
      cmocka_unit_test(efforts_fit_the_unit),
      cmocka_unit_test(choice_by_target),
      cmocka_unit_test(scaling_as_stated),
      cmocka_unit_test(pictures_have_their_gates),
      cmocka_unit_test(bundles_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
