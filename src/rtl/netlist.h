/* Netlists of standard cells: read as BLIF, with area, levels, delay, and energy by simulation. */
#ifndef BF_RTL_NETLIST_H
#define BF_RTL_NETLIST_H

#include "rtl/liberty.h"

enum { BF_NETLIST_PINS = 10 }; /* most pins of a cell */

typedef struct bf_netlist_cell {
  const bf_liberty_cell *cell; /* NULL: the output is a constant or another net (an assignment) */
  const char *name;            /* or NULL: it has none */
  unsigned pins;
  const bf_liberty_pin *pin[BF_NETLIST_PINS];
  unsigned net[BF_NETLIST_PINS]; /* of an assignment: source, target */
} bf_netlist_cell;

typedef struct bf_netlist {
  bf_arena arena;
  const bf_liberty *library;
  unsigned nets, cells, inputs, outputs;
  const char **net_name;
  bf_netlist_cell *cell; /* flip-flops first, then every cell behind those that drive it */
  unsigned *input, *output;
  unsigned flip_flops;
  unsigned zero, one; /* nets that never change, or no net: `nets` */
} bf_netlist;

/* Reads a netlist of cells of library, which must outlive it. Faults are located in file. */
int bf_netlist_parse(const char *file, const char *text, const bf_liberty *library,
                     bf_netlist **netlist, bf_diagnostic *diagnostic);
void bf_netlist_free(bf_netlist *netlist);
/* The net called name, or `nets`. */
unsigned bf_netlist_find(const bf_netlist *netlist, const char *name);

double bf_netlist_area(const bf_netlist *netlist);
double bf_netlist_leakage_nw(const bf_netlist *netlist);
/* Cells without assignments. */
unsigned bf_netlist_size(const bf_netlist *netlist);

/* ---- Timing ---- */

/* Where ways begin, and what is around them. */
typedef struct bf_netlist_start {
  const char *inputs; /* at inputs whose names start so ("": all); NULL: at none */
  bool registers;     /* at flip-flops */
  const struct bf_netlist_state *changed; /* of them, only those that have changed; NULL: all */
  double slew_ns;                         /* of inputs and of the clock */
  double load_pf;                         /* at outputs */
} bf_netlist_start;

typedef struct bf_netlist_timing {
  double delay_ns;  /* longest way to an output */
  double period_ns; /* longest way to a flip-flop, with its setup time */
  unsigned levels;  /* most cells on a way to an output or flip-flop */
  double *slew_ns;  /* of each net, the worst; in the netlist's memory */
  double *load_pf;  /* of each net */
} bf_netlist_timing;

/* Static timing by the library's tables; wires have no delay. */
int bf_netlist_time(bf_netlist *netlist, const bf_netlist_start *start, bf_netlist_timing *timing,
                    bf_diagnostic *diagnostic);

/* ---- Power ---- */

/* Sixty-four simulations at once: bit b of each net belongs to number b. */
typedef struct bf_netlist_state {
  uint64_t *value;         /* of each net */
  uint64_t *flip;          /* of each flip-flop's state */
  uint64_t *rises, *falls; /* of each net, so far */
} bf_netlist_state;

int bf_netlist_state_open(const bf_netlist *netlist, bf_netlist_state *state,
                          bf_diagnostic *diagnostic);
void bf_netlist_state_close(bf_netlist_state *state);
/* Lets inputs take effect: values of all nets follow; counts: changes are counted. */
void bf_netlist_settle(const bf_netlist *netlist, bf_netlist_state *state, bool counts);
/* A rising edge of the clock: flip-flops take their next state. Settle afterwards. */
void bf_netlist_clock(const bf_netlist *netlist, bf_netlist_state *state);

typedef struct bf_netlist_energy {
  double logic_pj; /* cells and the nets they drive */
  double clock_pj; /* pins of flip-flops that the clock drives, which switch twice a cycle */
  double still_pj; /* of these, those of flip-flops that never changed */
} bf_netlist_energy;

/* Whether no output of the cell has changed while changes were counted. */
bool bf_netlist_is_still(const bf_netlist_cell *cell, const bf_netlist_state *state);

/* The energy of the changes counted in `cycles` cycles of 64 simulations, per cycle of one. */
bf_netlist_energy bf_netlist_energy_of(const bf_netlist *netlist, const bf_netlist_timing *timing,
                                       const bf_netlist_state *state, unsigned cycles);

#endif
