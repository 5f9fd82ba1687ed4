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

/* Synthesizes the unit, with or without its registers. */
static int make_netlist(const bf_rtl_unit *unit, bool clocked, const bf_liberty *library,
                        const char *liberty_path, bf_netlist **netlist, bf_diagnostic *diagnostic) {
  bf_text verilog = {0}, blif = {0};
  char top[BF_RTL_NAME_MAX + 16];
  bf_rtl_module_name(unit, top);
  int error = bf_rtl_write_module(unit, &verilog, diagnostic);
  if (clocked) {
    bf_rtl_write_clocked(unit, &verilog);
    snprintf(top, sizeof top, "%s_clocked", unit->name);
  }
  if (error == BF_OK && verilog.failed)
    error = bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  if (error == BF_OK)
    error = bf_rtl_synthesize(verilog.data, top, liberty_path, &blif, diagnostic);
  if (error == BF_OK)
    error = bf_netlist_parse("netlist", blif.data ? blif.data : "", library, netlist, diagnostic);
  bf_text_free(&verilog);
  bf_text_free(&blif);
  return error;
}

/* ---- Activity ---- */

/* Gives simulation number `lane` a vector: its configuration, or its word. */
static void set_inputs(const bf_rtl_unit *unit, const bf_netlist *netlist, bf_netlist_state *state,
                       const bf_rtl_vector *vector, bf_rtl_role role, unsigned lane) {
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
                 (uint64_t)bf_rtl_vector_bit(unit, vector, p, bit) << lane;
  }
}

/* New words for all simulations; first: configurations too. */
static int draw_inputs(const bf_rtl_unit *unit, const bf_netlist *netlist, bf_netlist_state *state,
                       bf_rtl_source *source, bool first, bf_diagnostic *diagnostic) {
  for (unsigned lane = 0; lane < 64; lane++) {
    bf_rtl_vector vector;
    BF_TRY(bf_rtl_source_next(source, &vector, diagnostic));
    set_inputs(unit, netlist, state, &vector, BF_RTL_WORD, lane);
    if (first)
      set_inputs(unit, netlist, state, &vector, BF_RTL_CONFIGURATION, lane);
  }
  return BF_OK;
}

/* Counts changes in CYCLES cycles, a new word in each. The configuration is loaded before. */
static int simulate(const bf_rtl_unit *unit, const bf_netlist *netlist, bf_netlist_state *state,
                    bf_diagnostic *diagnostic) {
  bf_rtl_source *source;
  unsigned load = bf_netlist_find(netlist, "load");
  BF_TRY(bf_rtl_source_open(unit, 2, &source, diagnostic));
  int error = BF_OK;
  for (unsigned cycle = 0; cycle < CYCLES + 4 && error == BF_OK; cycle++) {
    error = draw_inputs(unit, netlist, state, source, cycle == 0, diagnostic);
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
static int measure_activity(const bf_rtl_unit *unit, bf_netlist *netlist, bf_netlist_start start,
                            const bf_netlist_timing *timing, bf_rtl_cost *cost,
                            bf_diagnostic *diagnostic) {
  bf_netlist_state state;
  bf_netlist_timing ways;
  BF_TRY(bf_netlist_state_open(netlist, &state, diagnostic));
  int error = simulate(unit, netlist, &state, diagnostic);
  if (error == BF_OK) {
    bf_netlist_energy energy = bf_netlist_energy_of(netlist, timing, &state, CYCLES);
    cost->logic_pj = energy.logic_pj;
    cost->clock_pj = energy.clock_pj;
    cost->configuration_pj = energy.still_pj;
    start.inputs = NULL;
    start.changed = &state;
    error = bf_netlist_time(netlist, &start, &ways, diagnostic);
    cost->period_ns = ways.period_ns;
  }
  bf_netlist_state_close(&state);
  return error;
}

/* ---- Costs ---- */

static int measure_delay(const bf_rtl_unit *unit, const bf_liberty *library,
                         const char *liberty_path, bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  bf_netlist *netlist;
  bf_netlist_timing timing;
  BF_TRY(make_netlist(unit, false, library, liberty_path, &netlist, diagnostic));
  bf_netlist_start start = {
      .inputs = "word", .slew_ns = input_slew_ns, .load_pf = flip_flop_load(library)};
  int error = bf_netlist_time(netlist, &start, &timing, diagnostic);
  cost->gates = bf_netlist_size(netlist);
  cost->gates_area_um2 = bf_netlist_area(netlist);
  cost->levels = timing.levels;
  cost->delay_ns = timing.delay_ns;
  bf_netlist_free(netlist);
  return error;
}

static int measure_whole(const bf_rtl_unit *unit, const bf_liberty *library,
                         const char *liberty_path, bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  bf_netlist *netlist;
  bf_netlist_timing timing;
  bool clocked = bf_rtl_is_family(unit);
  BF_TRY(make_netlist(unit, clocked, library, liberty_path, &netlist, diagnostic));
  bf_netlist_start start = {.inputs = "",
                            .registers = true,
                            .slew_ns = input_slew_ns,
                            .load_pf = flip_flop_load(library)};
  cost->cells = bf_netlist_size(netlist);
  cost->flip_flops = netlist->flip_flops;
  cost->area_um2 = bf_netlist_area(netlist);
  cost->leakage_nw = bf_netlist_leakage_nw(netlist);
  int error = bf_netlist_time(netlist, &start, &timing, diagnostic);
  if (error == BF_OK)
    error = measure_activity(unit, netlist, start, &timing, cost, diagnostic);
  bf_netlist_free(netlist);
  return error;
}

int bf_rtl_measure(const bf_rtl_unit *unit, const bf_liberty *library, const char *liberty_path,
                   bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  *cost = (bf_rtl_cost){0};
  BF_TRY(measure_delay(unit, library, liberty_path, cost, diagnostic));
  return measure_whole(unit, library, liberty_path, cost, diagnostic);
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
