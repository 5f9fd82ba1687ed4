/* Energy of a netlist by simulation without delays: nets settle once per cycle, so that glitches
 * are not counted. A change of a net costs C V^2 / 2 for what it drives, and what the cell that
 * drives it uses inside, by the library's tables; a change at an input pin can cost energy too. */
#include "rtl/netlist.h"

#include <stdlib.h>
#include <string.h>

int bf_netlist_state_open(const bf_netlist *netlist, bf_netlist_state *state,
                          bf_diagnostic *diagnostic) {
  size_t nets = netlist->nets + 1, flips = netlist->flip_flops + 1;
  *state = (bf_netlist_state){.value = calloc(nets, sizeof(uint64_t)),
                              .flip = calloc(flips, sizeof(uint64_t)),
                              .rises = calloc(nets, sizeof(uint64_t)),
                              .falls = calloc(nets, sizeof(uint64_t))};
  if (state->value && state->flip && state->rises && state->falls)
    return BF_OK;
  bf_netlist_state_close(state);
  return bf_no_memory(diagnostic);
}

void bf_netlist_state_close(bf_netlist_state *state) {
  free(state->value);
  free(state->flip);
  free(state->rises);
  free(state->falls);
  *state = (bf_netlist_state){0};
}

/* ---- Simulation ---- */

/* A truth table over inputs that each hold 64 values. */
static uint64_t evaluate(uint64_t truth, const uint64_t *input, unsigned inputs) {
  uint64_t result = 0;
  for (unsigned line = 0; line < 1u << inputs; line++) {
    uint64_t match = truth >> line & 1 ? ~(uint64_t)0 : 0;
    for (unsigned i = 0; i < inputs && match; i++)
      match &= line >> i & 1 ? input[i] : ~input[i];
    result |= match;
  }
  return result;
}

/* The values at the input pins of a cell, in the order of its truth tables. */
static void read_inputs(const bf_netlist_cell *cell, const uint64_t *value, uint64_t *input) {
  for (unsigned k = 0; k < cell->cell->inputs; k++) {
    input[k] = 0;
    for (unsigned p = 0; p < cell->pins; p++)
      if (cell->pin[p] == cell->cell->input[k])
        input[k] = value[cell->net[p]];
  }
}

static void set_net(bf_netlist_state *state, unsigned net, uint64_t value, bool counts) {
  if (counts) {
    state->rises[net] += (unsigned)__builtin_popcountll(value & ~state->value[net]);
    state->falls[net] += (unsigned)__builtin_popcountll(~value & state->value[net]);
  }
  state->value[net] = value;
}

static void settle_cell(const bf_netlist_cell *cell, uint64_t flip, bf_netlist_state *state,
                        bool counts) {
  uint64_t input[BF_LIBERTY_INPUTS + 2];
  unsigned inputs = cell->cell->inputs;
  read_inputs(cell, state->value, input);
  if (cell->cell->is_flip_flop) {
    input[inputs++] = flip;
    input[inputs++] = ~flip;
  }
  for (unsigned p = 0; p < cell->pins; p++)
    if (cell->pin[p]->is_output)
      set_net(state, cell->net[p], evaluate(cell->pin[p]->truth, input, inputs), counts);
}

void bf_netlist_settle(const bf_netlist *netlist, bf_netlist_state *state, bool counts) {
  state->value[netlist->zero] = 0;
  if (netlist->one < netlist->nets)
    state->value[netlist->one] = ~(uint64_t)0;
  for (unsigned i = 0; i < netlist->cells; i++) {
    const bf_netlist_cell *cell = &netlist->cell[i];
    if (cell->cell)
      settle_cell(cell, i < netlist->flip_flops ? state->flip[i] : 0, state, counts);
    else
      set_net(state, cell->net[1], state->value[cell->net[0]], counts);
  }
}

void bf_netlist_clock(const bf_netlist *netlist, bf_netlist_state *state) {
  for (unsigned i = 0; i < netlist->flip_flops; i++) {
    uint64_t input[BF_LIBERTY_INPUTS];
    const bf_liberty_cell *cell = netlist->cell[i].cell;
    read_inputs(&netlist->cell[i], state->value, input);
    state->flip[i] = evaluate(cell->next_state, input, cell->inputs);
  }
}

/* ---- Energy ---- */

/* What a change of the pin costs inside its cell; of several causes, their mean. */
static double inside(const bf_liberty_pin *pin, bool rises, double load, double slew) {
  double sum = 0;
  unsigned causes = 0;
  for (const bf_liberty_power *power = pin->powers; power; power = power->next, causes++)
    sum += bf_liberty_look_up(&power->energy[rises], load, slew);
  return causes ? sum / causes : 0;
}

/* The slowest slew at the inputs of a cell. */
static double input_slew(const bf_netlist_cell *cell, const bf_netlist_timing *timing) {
  double slew = 0;
  for (unsigned p = 0; p < cell->pins; p++)
    if (!cell->pin[p]->is_output && timing->slew_ns[cell->net[p]] > slew)
      slew = timing->slew_ns[cell->net[p]];
  return slew;
}

/* All changes at the pins of a cell. Nets are charged to the cell that drives them; inputs of the
 * netlist are charged to nobody. */
static double cell_energy(const bf_netlist *netlist, const bf_netlist_cell *cell,
                          const bf_netlist_timing *timing, const bf_netlist_state *state) {
  double volts = netlist->library->voltage, energy = 0;
  for (unsigned p = 0; p < cell->pins; p++) {
    const bf_liberty_pin *pin = cell->pin[p];
    unsigned net = cell->net[p];
    double load = pin->is_output ? timing->load_pf[net] : 0;
    double slew = pin->is_output ? input_slew(cell, timing) : timing->slew_ns[net];
    if (pin->is_clock)
      continue;
    energy += (double)state->rises[net] * inside(pin, true, load, slew);
    energy += (double)state->falls[net] * inside(pin, false, load, slew);
    energy += (double)(state->rises[net] + state->falls[net]) * load * volts * volts / 2;
  }
  return energy;
}

/* A rising and a falling edge at the clock pins of a flip-flop. */
static double clock_energy(const bf_netlist *netlist, const bf_netlist_cell *cell,
                           const bf_netlist_timing *timing) {
  double volts = netlist->library->voltage, energy = 0;
  for (unsigned p = 0; p < cell->pins; p++) {
    const bf_liberty_pin *pin = cell->pin[p];
    double slew = timing->slew_ns[cell->net[p]];
    if (pin->is_clock)
      energy += inside(pin, true, 0, slew) + inside(pin, false, 0, slew) +
                pin->capacitance_pf * volts * volts;
  }
  return energy;
}

bool bf_netlist_is_still(const bf_netlist_cell *cell, const bf_netlist_state *state) {
  for (unsigned p = 0; p < cell->pins; p++)
    if (cell->pin[p]->is_output && (state->rises[cell->net[p]] || state->falls[cell->net[p]]))
      return false;
  return true;
}

bf_netlist_energy bf_netlist_energy_of(const bf_netlist *netlist, const bf_netlist_timing *timing,
                                       const bf_netlist_state *state, unsigned cycles) {
  bf_netlist_energy energy = {0};
  for (unsigned i = 0; i < netlist->cells; i++) {
    const bf_netlist_cell *cell = &netlist->cell[i];
    if (!cell->cell)
      continue;
    energy.logic_pj += cell_energy(netlist, cell, timing, state) / (64.0 * cycles);
    if (i >= netlist->flip_flops)
      continue;
    double clock = clock_energy(netlist, cell, timing);
    energy.clock_pj += clock;
    energy.still_pj += bf_netlist_is_still(cell, state) ? clock : 0;
  }
  return energy;
}
