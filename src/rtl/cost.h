/* What units cost: synthesis by yosys into a library of standard cells, then area, levels, delay
 * and power by this room's own reading of the netlist, delay also by OpenSTA, and an estimate for
 * 40 nm. */
#ifndef BF_RTL_COST_H
#define BF_RTL_COST_H

#include "rtl/netlist.h"
#include "rtl/rtl.h"
#include "rtl/tool.h"

/* Where Debian's package qflow-tech-osu018 puts Oklahoma State University's library for 0.18 um. */
#define BF_RTL_OSU018 "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"

/* The clock period of the GPU in braak16, section 4.5: "about 700 ps". */
#define BF_RTL_PERIOD_NS 0.7
/* Units in a GTX 580 (the same section): one for each of 32 banks in each of 16 multiprocessors. */
enum { BF_RTL_UNITS_PER_GPU = 512 };

/* Whose timing is asked for. */
typedef enum bf_rtl_timing {
  BF_RTL_TIMING_BEST, /* OpenSTA where it is present */
  BF_RTL_TIMING_OWN,  /* bf_netlist_time */
  BF_RTL_TIMING_OPENSTA,
} bf_rtl_timing;

/* A way to synthesize. */
typedef struct bf_rtl_effort {
  const char *mapping;  /* a name for what abc does */
  const char *script;   /* that, or NULL: yosys' own script */
  unsigned word_copies; /* as in bf_rtl_unit; 0: as the unit has them */
} bf_rtl_effort;

/* How units become cells. */
typedef struct bf_rtl_flow {
  const bf_liberty *library;
  const char *liberty_path; /* the library's file */
  bf_rtl_timing timing;
  bf_rtl_effort effort; /* { NULL }: yosys' own way */
  /* Words of 64 units side by side, cycle by cycle, again from the first after word_cycles; NULL:
   * random ones. */
  const uint64_t (*words)[64];
  unsigned word_cycles;
} bf_rtl_flow;

enum { BF_RTL_TIMING_BYTES = 40 };
#define BF_RTL_OWN_TIMING "bankfold"

typedef struct bf_rtl_cost {
  /* Whose delays these are: "OpenSTA 2.0.17", or BF_RTL_OWN_TIMING. */
  char timing[BF_RTL_TIMING_BYTES];
  /* The combinational module. */
  unsigned gates; /* cells */
  double gates_area_um2;
  unsigned levels;     /* most cells from the word to a result */
  double delay_ns;     /* longest such way */
  double own_delay_ns; /* by bf_netlist_time, whoever's the other is */
  /* The unit with its registers, where it has any; fixed units have none. */
  unsigned cells, flip_flops;
  double area_um2;
  double period_ns; /* from the register of the word to that of the bank, setup included */
  double own_period_ns;
  double logic_pj;         /* per cycle with a new word */
  double clock_pj;         /* per cycle: clock pins of registers */
  double configuration_pj; /* of these, those of the configuration, which need no clock */
  double leakage_nw;
} bf_rtl_cost;

/* Costs of a unit. BF_UNSUPPORTED where there is no yosys, or no OpenSTA and it is asked for. */
int bf_rtl_measure(const bf_rtl_unit *unit, const bf_rtl_flow *flow, bf_rtl_cost *cost,
                   bf_diagnostic *diagnostic);

/* ---- Targets ---- */

enum { BF_RTL_MOST_EFFORTS = 16 };
/* The ways to synthesize a unit when there is a target, in the order of what they cost as a rule.
 * Returns their number. None depends on the target: one measurement of each serves all targets. */
unsigned bf_rtl_efforts(const bf_rtl_unit *unit, bf_rtl_effort effort[BF_RTL_MOST_EFFORTS]);
/* What a target is about: the period between registers, or the delay of a unit without any. */
double bf_rtl_latency_ns(const bf_rtl_cost *cost);
/* The smallest in area of those that reach the target; where none does, the fastest. */
unsigned bf_rtl_choose(const bf_rtl_cost *cost, unsigned count, double target_ns);
/* Costs of a unit in the way that is chosen for the target; *effort gets it. */
int bf_rtl_measure_for(const bf_rtl_unit *unit, const bf_rtl_flow *flow, double target_ns,
                       bf_rtl_effort *effort, bf_rtl_cost *cost, bf_diagnostic *diagnostic);

/* ---- Inside: yosys and OpenSTA ---- */

/* One netlist, in two languages. */
typedef struct bf_rtl_netlist {
  bf_text blif, verilog;
} bf_rtl_netlist;

/* The module `top` of Verilog text as a netlist, by yosys. */
int bf_rtl_synthesize(const char *verilog, const char *top, const bf_rtl_flow *flow,
                      bf_rtl_netlist *netlist, bf_diagnostic *diagnostic);
void bf_rtl_netlist_free(bf_rtl_netlist *netlist);

/* The longest way as OpenSTA finds it. */
typedef struct bf_rtl_delay {
  char timing[BF_RTL_TIMING_BYTES]; /* as in bf_rtl_cost */
  bool found;                       /* there is a way */
  double ns;
} bf_rtl_delay;

/* What bf_netlist_time says of the same netlist: ways from inputs to outputs, or from registers to
 * registers, setup included. */
int bf_rtl_opensta_time(const bf_rtl_netlist *text, const bf_netlist *netlist, const char *top,
                        const char *liberty_path, const bf_netlist_start *start,
                        bf_rtl_delay *delay, bf_diagnostic *diagnostic);
/* The script for it: cells.lib and netlist.v are beside it. */
int bf_rtl_opensta_script(const bf_netlist *netlist, const char *top, const bf_netlist_start *start,
                          bf_text *text, bf_diagnostic *diagnostic);
/* What it printed; false where that is no report. */
bool bf_rtl_opensta_report(const char *log, bf_rtl_delay *delay);

/* ---- 40 nm ---- */

/* An estimate with its error bar. */
typedef struct bf_rtl_range {
  double low, value, high;
} bf_rtl_range;

/* From 0.18 um to 40 nm: divided by a factor from 0.18 um to 45 nm, which was measured on units
 * like these (area 12.2, delay 2.66, energy 8.8), and by 45 to 40 nm geometrically (squared for
 * area). Low: ideal scaling of 180 nm to 40 nm (area squared; energy with 1.8 V to 1.1 V squared).
 * High: nothing gained behind 45 nm. */
bf_rtl_range bf_rtl_scale_area(double um2);
bf_rtl_range bf_rtl_scale_delay(double ns);
bf_rtl_range bf_rtl_scale_energy(double pj);
/* The delay at 0.18 um that becomes `ns` at 40 nm. */
double bf_rtl_unscale_delay(double ns);
/* All numbers times a factor. */
bf_rtl_range bf_rtl_times(bf_rtl_range range, double factor);

/* mm2 and W of all units of a GPU at 40 nm, each with a new word in every cycle of
 * BF_RTL_PERIOD_NS; clocks of configurations are not gated. */
bf_rtl_range bf_rtl_gpu_area(const bf_rtl_cost *cost);
bf_rtl_range bf_rtl_gpu_power(const bf_rtl_cost *cost);

/* What braak16, Table 4, says of the four families. */
extern const double bf_rtl_published_watt[BF_RTL_FAMILIES], bf_rtl_published_mm2[BF_RTL_FAMILIES];

#endif
