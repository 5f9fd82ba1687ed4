/* Static timing of a netlist. Each net has an arrival time and a slew for rising and for falling;
 * a cell's output takes the latest arrival over its arcs and, apart from that, the slowest slew. */
#include "rtl/netlist.h"

#include <math.h>
#include <string.h>

typedef struct moment {
  double arrival, slew; /* ns */
  bool arrives;
} moment;

typedef struct run {
  const bf_netlist *netlist;
  const double *load;
  moment *at;       /* [2 * net + rises] */
  unsigned *levels; /* of each net; counts only ways from the chosen inputs */
} run;

/* ---- Loads ---- */

static void add_loads(const bf_netlist *netlist, double output_pf, double *load) {
  for (unsigned i = 0; i < netlist->cells; i++) {
    const bf_netlist_cell *cell = &netlist->cell[i];
    for (unsigned p = 0; p < cell->pins && cell->cell; p++)
      if (!cell->pin[p]->is_output)
        load[cell->net[p]] += cell->pin[p]->capacitance_pf;
  }
  for (unsigned i = 0; i < netlist->outputs; i++)
    load[netlist->output[i]] += output_pf;
  /* An assignment is a wire: what hangs on its target hangs on its source. */
  for (unsigned i = netlist->cells; i-- > 0;)
    if (!netlist->cell[i].cell)
      load[netlist->cell[i].net[0]] += load[netlist->cell[i].net[1]];
}

/* ---- Arrivals ---- */

/* One edge of an input, through one arc, to one edge of the output. */
static void pass_edge(run *r, const bf_liberty_arc *arc, const moment *input, unsigned output,
                      bool rises) {
  moment *to = &r->at[2 * output + rises];
  double load = r->load[output];
  double delay = bf_liberty_look_up(&arc->delay[rises], load, input->slew);
  double slew = bf_liberty_look_up(&arc->slew[rises], load, input->slew);
  if (!input->arrives || arc->delay[rises].loads == 0)
    return;
  to->arrival = to->arrives ? fmax(to->arrival, input->arrival + delay) : input->arrival + delay;
  to->slew = fmax(to->slew, slew);
  to->arrives = true;
}

static void pass_arc(run *r, const bf_liberty_arc *arc, unsigned input, unsigned output) {
  for (unsigned rises = 0; rises < 2; rises++) {
    if (arc->sense != BF_SENSE_NEGATIVE)
      pass_edge(r, arc, &r->at[2 * input + rises], output, rises);
    if (arc->sense != BF_SENSE_POSITIVE)
      pass_edge(r, arc, &r->at[2 * input + !rises], output, rises);
  }
}

static void pass_cell(run *r, const bf_netlist_cell *cell) {
  for (unsigned o = 0; o < cell->pins; o++) {
    if (!cell->pin[o]->is_output)
      continue;
    unsigned output = cell->net[o];
    for (unsigned i = 0; i < cell->pins; i++) {
      unsigned levels = r->levels[cell->net[i]];
      if (cell->pin[i]->is_output)
        continue;
      if (levels && levels + 1 > r->levels[output])
        r->levels[output] = levels + 1;
      for (const bf_liberty_arc *arc = cell->pin[o]->arcs; arc; arc = arc->next)
        if (strcmp(arc->from, cell->pin[i]->name) == 0)
          pass_arc(r, arc, cell->net[i], output);
    }
  }
}

static void pass_all(run *r) {
  const bf_netlist *netlist = r->netlist;
  for (unsigned i = netlist->flip_flops; i < netlist->cells; i++) {
    const bf_netlist_cell *cell = &netlist->cell[i];
    if (cell->cell) {
      pass_cell(r, cell);
    } else {
      memcpy(&r->at[2 * cell->net[1]], &r->at[2 * cell->net[0]], 2 * sizeof *r->at);
      r->levels[cell->net[1]] = r->levels[cell->net[0]];
    }
  }
}

/* ---- Beginnings and ends ---- */

static void start_inputs(run *r, const char *prefix, double slew_ns) {
  for (unsigned i = 0; i < r->netlist->inputs && prefix; i++) {
    unsigned net = r->netlist->input[i];
    if (strncmp(r->netlist->net_name[net], prefix, strlen(prefix)) != 0)
      continue;
    r->at[2 * net] = r->at[2 * net + 1] = (moment){.slew = slew_ns, .arrives = true};
    r->levels[net] = 1;
  }
}

/* Outputs of a flip-flop change behind its clock. */
static void start_register(run *r, const bf_netlist_cell *cell, double slew_ns) {
  const moment clock = {.slew = slew_ns, .arrives = true};
  for (unsigned p = 0; p < cell->pins; p++)
    for (const bf_liberty_arc *arc = cell->pin[p]->launches; arc; arc = arc->next) {
      pass_edge(r, arc, &clock, cell->net[p], false);
      pass_edge(r, arc, &clock, cell->net[p], true);
      r->levels[cell->net[p]] = 1;
    }
}

static void start_registers(run *r, const bf_netlist_start *start) {
  for (unsigned i = 0; i < r->netlist->flip_flops && start->registers; i++)
    if (!start->changed || !bf_netlist_is_still(&r->netlist->cell[i], start->changed))
      start_register(r, &r->netlist->cell[i], start->slew_ns);
}

/* Levels count nets on a way; cells are one less. */
static void end_levels(const run *r, unsigned net, bf_netlist_timing *timing) {
  if (r->levels[net] > timing->levels + 1)
    timing->levels = r->levels[net] - 1;
}

static void end_outputs(const run *r, bf_netlist_timing *timing) {
  for (unsigned i = 0; i < r->netlist->outputs; i++) {
    unsigned net = r->netlist->output[i];
    for (unsigned rises = 0; rises < 2; rises++)
      timing->delay_ns = fmax(timing->delay_ns, r->at[2 * net + rises].arrival);
    end_levels(r, net, timing);
  }
}

static void end_registers(const run *r, double clock_slew_ns, bf_netlist_timing *timing) {
  for (unsigned i = 0; i < r->netlist->flip_flops; i++) {
    const bf_netlist_cell *cell = &r->netlist->cell[i];
    for (unsigned p = 0; p < cell->pins; p++) {
      const bf_liberty_pin *pin = cell->pin[p];
      for (unsigned rises = 0; rises < 2 && !pin->is_output; rises++) {
        const moment *at = &r->at[2 * cell->net[p] + rises];
        double setup = bf_liberty_look_up(&pin->setup[rises], clock_slew_ns, at->slew);
        if (at->arrives && pin->setup[rises].loads)
          timing->period_ns = fmax(timing->period_ns, at->arrival + setup);
      }
      if (!pin->is_output && !pin->is_clock)
        end_levels(r, cell->net[p], timing);
    }
  }
}

/* ---- All of it ---- */

int bf_netlist_time(bf_netlist *netlist, const bf_netlist_start *start, bf_netlist_timing *timing,
                    bf_diagnostic *diagnostic) {
  size_t nets = netlist->nets + 1;
  *timing = (bf_netlist_timing){.slew_ns = bf_arena_alloc(&netlist->arena, nets * sizeof(double)),
                                .load_pf = bf_arena_alloc(&netlist->arena, nets * sizeof(double))};
  run r = {.netlist = netlist,
           .load = timing->load_pf,
           .at = bf_arena_alloc(&netlist->arena, 2 * nets * sizeof(moment)),
           .levels = bf_arena_alloc(&netlist->arena, nets * sizeof(unsigned))};
  if (!timing->slew_ns || !timing->load_pf || !r.at || !r.levels)
    return bf_no_memory(diagnostic);
  add_loads(netlist, start->load_pf, timing->load_pf);
  start_inputs(&r, start->inputs, start->slew_ns);
  start_registers(&r, start);
  pass_all(&r);
  for (unsigned i = 0; i < netlist->nets; i++)
    timing->slew_ns[i] = fmax(r.at[2 * i].slew, r.at[2 * i + 1].slew);
  end_outputs(&r, timing);
  end_registers(&r, start->slew_ns, timing);
  return BF_OK;
}
