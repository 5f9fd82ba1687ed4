/* The cost of a unit, from netlists: area and energy of the unit with its registers, levels and
 * delay of its combinational module. */
#include "rtl/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Inputs change as fast as the library's cells do without load; outputs drive a flip-flop. */
enum { CYCLES = 256 };
static const double input_slew_ns = 0.06;

const double bf_rtl_published_watt[BF_RTL_FAMILIES] = {0.1, 0.2, 0.3, 0.5};
const double bf_rtl_published_mm2[BF_RTL_FAMILIES] = {0.2, 0.3, 0.5, 1.1};

/* ---- Netlists ---- */

/* The data pin's capacitance of the library's first flip-flop that can be read; 0: it has none. */
static double flip_flop_load(const bf_liberty *library) {
  for (const bf_liberty_cell *cell = library->cells; cell; cell = cell->next)
    for (unsigned i = 0; cell->is_flip_flop && cell->is_known && i < cell->inputs; i++)
      if (!cell->input[i]->is_clock)
        return cell->input[i]->capacitance_pf;
  return 0;
}

/* A unit in cells: the netlist as text, and read. */
typedef struct mapped {
  char top[BF_RTL_NAME_MAX + 16];
  bf_rtl_netlist text;
  bf_netlist *netlist;
} mapped;

static void free_mapped(mapped *m) {
  bf_rtl_netlist_free(&m->text);
  bf_netlist_free(m->netlist);
}

/* Verilog of the unit, with or without its registers, and the name of its top module. */
static int write_unit(const bf_rtl_unit *unit, bool clocked, char top[BF_RTL_NAME_MAX + 16],
                      bf_text *verilog, bf_diagnostic *diagnostic) {
  bf_rtl_module_name(unit, top);
  BF_TRY(bf_rtl_write_module(unit, verilog, diagnostic));
  if (clocked) {
    bf_rtl_write_clocked(unit, verilog);
    snprintf(top, BF_RTL_NAME_MAX + 16, "%s_clocked", unit->name);
  }
  return verilog->failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* Synthesizes the unit. */
static int map_unit(const bf_rtl_unit *unit, bool clocked, const bf_rtl_flow *flow, mapped *m,
                    bf_diagnostic *diagnostic) {
  bf_text verilog = {0};
  *m = (mapped){0};
  int error = write_unit(unit, clocked, m->top, &verilog, diagnostic);
  if (!error)
    error = bf_rtl_synthesize(verilog.data, m->top, flow, &m->text, diagnostic);
  if (!error)
    error = bf_netlist_parse("netlist", m->text.blif.data ? m->text.blif.data : "", flow->library,
                             &m->netlist, diagnostic);
  bf_text_free(&verilog);
  if (error)
    free_mapped(m);
  return error;
}

/* ---- Timing ---- */

static bool uses_opensta(const bf_rtl_flow *flow) {
  if (flow->timing == BF_RTL_TIMING_BEST)
    return bf_rtl_names_tool(&bf_rtl_opensta) || bf_rtl_has_tool(&bf_rtl_opensta);
  return flow->timing == BF_RTL_TIMING_OPENSTA;
}

/* The longest way from start: own_ns is what bf_netlist_time says, *ns gets what is asked for. */
static int choose_time(const mapped *m, const bf_netlist_start *start, const bf_rtl_flow *flow,
                       double own_ns, double *ns, bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  bf_rtl_delay delay = {.timing = BF_RTL_OWN_TIMING, .found = own_ns > 0, .ns = own_ns};
  if (uses_opensta(flow))
    BF_TRY(bf_rtl_opensta_time(&m->text, m->netlist, m->top, flow->liberty_path, start, &delay,
                               diagnostic));
  if (!delay.found && own_ns > 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "OpenSTA does not time the unit: it finds no way where there is one");
  memcpy(cost->timing, delay.timing, sizeof cost->timing);
  *ns = delay.ns;
  return BF_OK;
}

/* ---- Activity ---- */

/* Gives simulation number `lane` a vector: its configuration, or its word, which may be given. */
static void set_inputs(const bf_rtl_unit *unit, const bf_netlist *netlist, bf_netlist_state *state,
                       const bf_rtl_vector *vector, const uint64_t *word, bf_rtl_role role,
                       unsigned lane) {
  bf_rtl_port port[BF_RTL_PORTS];
  unsigned ports = bf_rtl_ports(unit, port);
  for (unsigned i = 0; i < netlist->inputs; i++) {
    const char *name = netlist->net_name[netlist->input[i]];
    size_t length = strcspn(name, "[");
    unsigned bit = name[length] ? (unsigned)strtoul(name + length + 1, NULL, 10) : 0;
    uint64_t *value = &state->value[netlist->input[i]];
    for (unsigned p = 0; p < ports; p++)
      if (port[p].role == role && strlen(port[p].name) == length &&
          strncmp(port[p].name, name, length) == 0)
        *value = (*value & ~((uint64_t)1 << lane)) |
                 (word ? *word >> bit & 1 : (uint64_t)bf_rtl_vector_bit(unit, vector, p, bit))
                     << lane;
  }
}

/* New words for all simulations, random ones where words is NULL; first: configurations too. */
static int draw_inputs(const bf_rtl_unit *unit, const bf_netlist *netlist, bf_netlist_state *state,
                       bf_rtl_source *source, const uint64_t *words, bool first,
                       bf_diagnostic *diagnostic) {
  for (unsigned lane = 0; lane < 64; lane++) {
    bf_rtl_vector vector;
    BF_TRY(bf_rtl_source_next(source, &vector, diagnostic));
    set_inputs(unit, netlist, state, &vector, words ? &words[lane] : NULL, BF_RTL_WORD, lane);
    if (first)
      set_inputs(unit, netlist, state, &vector, NULL, BF_RTL_CONFIGURATION, lane);
  }
  return BF_OK;
}

/* Counts changes in CYCLES cycles, a new word in each. The configuration is loaded before. */
static int simulate(const bf_rtl_unit *unit, const bf_netlist *netlist, const bf_rtl_flow *flow,
                    bf_netlist_state *state, bf_diagnostic *diagnostic) {
  bf_rtl_source *source;
  unsigned load = bf_netlist_find(netlist, "load");
  BF_TRY(bf_rtl_source_open(unit, 2, &source, diagnostic));
  int error = BF_OK;
  for (unsigned cycle = 0; cycle < CYCLES + 4 && !error; cycle++) {
    const uint64_t *words = flow->words ? flow->words[cycle % flow->word_cycles] : NULL;
    error = draw_inputs(unit, netlist, state, source, words, cycle == 0, diagnostic);
    if (load < netlist->nets)
      state->value[load] = cycle < 2 ? ~(uint64_t)0 : 0;
    bf_netlist_settle(netlist, state, cycle >= 4);
    bf_netlist_clock(netlist, state);
    bf_netlist_settle(netlist, state, cycle >= 4);
  }
  bf_rtl_source_close(source);
  return error;
}

/* Energy by simulation, and the period between registers that simulation has seen to change: those
 * of the configuration stay. */
static int measure_activity(const bf_rtl_unit *unit, const mapped *m, bf_netlist_start start,
                            const bf_netlist_timing *timing, const bf_rtl_flow *flow,
                            bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  bf_netlist_state state;
  bf_netlist_timing ways = {0};
  BF_TRY(bf_netlist_state_open(m->netlist, &state, diagnostic));
  int error = simulate(unit, m->netlist, flow, &state, diagnostic);
  if (!error) {
    bf_netlist_energy energy = bf_netlist_energy_of(m->netlist, timing, &state, CYCLES);
    cost->logic_pj = energy.logic_pj;
    cost->clock_pj = energy.clock_pj;
    cost->configuration_pj = energy.still_pj;
    start.inputs = NULL;
    start.changed = &state;
    error = bf_netlist_time(m->netlist, &start, &ways, diagnostic);
  }
  cost->own_period_ns = ways.period_ns;
  if (!error && m->netlist->flip_flops)
    error = choose_time(m, &start, flow, ways.period_ns, &cost->period_ns, cost, diagnostic);
  bf_netlist_state_close(&state);
  return error;
}

/* ---- Costs ---- */

/* Levels and delay of a combinational module. */
static int measure_ways(const mapped *m, const bf_rtl_flow *flow, bf_rtl_cost *cost,
                        bf_diagnostic *diagnostic) {
  bf_netlist_timing timing;
  bf_netlist_start start = {
      .inputs = "word", .slew_ns = input_slew_ns, .load_pf = flip_flop_load(flow->library)};
  BF_TRY(bf_netlist_time(m->netlist, &start, &timing, diagnostic));
  cost->levels = timing.levels;
  cost->own_delay_ns = timing.delay_ns;
  return choose_time(m, &start, flow, timing.delay_ns, &cost->delay_ns, cost, diagnostic);
}

static int measure_gates(const bf_rtl_unit *unit, const bf_rtl_flow *flow, bf_rtl_cost *cost,
                         bf_diagnostic *diagnostic) {
  mapped m;
  BF_TRY(map_unit(unit, false, flow, &m, diagnostic));
  cost->gates = bf_netlist_size(m.netlist);
  cost->gates_area_um2 = bf_netlist_area(m.netlist);
  int error = measure_ways(&m, flow, cost, diagnostic);
  free_mapped(&m);
  return error;
}

static int measure_whole(const bf_rtl_unit *unit, const bf_rtl_flow *flow, bf_rtl_cost *cost,
                         bf_diagnostic *diagnostic) {
  mapped m;
  bf_netlist_timing timing;
  BF_TRY(map_unit(unit, bf_rtl_is_family(unit), flow, &m, diagnostic));
  bf_netlist_start start = {.inputs = "",
                            .registers = true,
                            .slew_ns = input_slew_ns,
                            .load_pf = flip_flop_load(flow->library)};
  cost->cells = bf_netlist_size(m.netlist);
  cost->flip_flops = m.netlist->flip_flops;
  cost->area_um2 = bf_netlist_area(m.netlist);
  cost->leakage_nw = bf_netlist_leakage_nw(m.netlist);
  int error = bf_netlist_time(m.netlist, &start, &timing, diagnostic);
  if (!error)
    error = measure_activity(unit, &m, start, &timing, flow, cost, diagnostic);
  free_mapped(&m);
  return error;
}

int bf_rtl_measure(const bf_rtl_unit *given, const bf_rtl_flow *asked, bf_rtl_cost *cost,
                   bf_diagnostic *diagnostic) {
  bf_rtl_unit unit = *given;
  bf_rtl_flow flow = *asked;
  if (flow.effort.word_copies == 0)
    flow.effort.word_copies = unit.word_copies;
  unit.word_copies = flow.effort.word_copies;
  *cost = (bf_rtl_cost){0};
  BF_TRY(measure_gates(&unit, &flow, cost, diagnostic));
  return measure_whole(&unit, &flow, cost, diagnostic);
}

/* ---- 40 nm ---- */

/* Value, and low and high by other divisors. */
static bf_rtl_range divide(double x, double to_45_nm, double to_40_nm, double ideal) {
  return (bf_rtl_range){x / ideal, x / (to_45_nm * to_40_nm), x / to_45_nm};
}

bf_rtl_range bf_rtl_scale_area(double um2) {
  return divide(um2, 12.2, pow(45.0 / 40, 2), pow(180.0 / 40, 2));
}

bf_rtl_range bf_rtl_scale_delay(double ns) { return divide(ns, 2.66, 45.0 / 40, 180.0 / 40); }

double bf_rtl_unscale_delay(double ns) { return ns / bf_rtl_scale_delay(1).value; }

bf_rtl_range bf_rtl_scale_energy(double pj) {
  return divide(pj, 8.8, 45.0 / 40, 180.0 / 40 * pow(1.8 / 1.1, 2));
}

bf_rtl_range bf_rtl_times(bf_rtl_range range, double factor) {
  return (bf_rtl_range){range.low * factor, range.value * factor, range.high * factor};
}

bf_rtl_range bf_rtl_gpu_area(const bf_rtl_cost *cost) {
  return bf_rtl_times(bf_rtl_scale_area(cost->area_um2), BF_RTL_UNITS_PER_GPU * 1e-6);
}

bf_rtl_range bf_rtl_gpu_power(const bf_rtl_cost *cost) {
  return bf_rtl_times(bf_rtl_scale_energy(cost->logic_pj + cost->clock_pj),
                      BF_RTL_UNITS_PER_GPU * 1e-3 / BF_RTL_PERIOD_NS);
}
