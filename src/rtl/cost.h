/* What units cost: synthesis by yosys into a library of standard cells, then area, levels, delay
 * and power by this room's own reading of the netlist, and an estimate for 40 nm. */
#ifndef BF_RTL_COST_H
#define BF_RTL_COST_H

#include "rtl/netlist.h"
#include "rtl/rtl.h"

/* Where Debian's package qflow-tech-osu018 puts Oklahoma State University's library for 0.18 um. */
#define BF_RTL_OSU018 "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"

/* The clock period of the GPU in document 000, section 4.5: "about 700 ps". */
#define BF_RTL_PERIOD_NS 0.7
/* Units in a GTX 580 (the same section): one for each of 32 banks in each of 16 multiprocessors. */
enum { BF_RTL_UNITS_PER_GPU = 512 };

typedef struct bf_rtl_cost {
  /* The combinational module. */
  unsigned gates; /* cells */
  double gates_area_um2;
  unsigned levels; /* most cells from the word to a result */
  double delay_ns; /* longest such way */
  /* The unit with its registers, where it has any; fixed units have none. */
  unsigned cells, flip_flops;
  double area_um2;
  double period_ns;        /* from the register of the word to that of the bank, setup included */
  double logic_pj;         /* per cycle with a new random word */
  double clock_pj;         /* per cycle: clock pins of registers */
  double configuration_pj; /* of these, those of the configuration, which need no clock */
  double leakage_nw;
} bf_rtl_cost;

/* Whether yosys can be run: $BANKFOLD_YOSYS, or yosys in PATH. path gets it. */
bool bf_rtl_find_yosys(char *path, size_t bytes);

/* Costs of a unit in the library, whose file is at liberty_path. BF_UNSUPPORTED where there is no
 * yosys. */
int bf_rtl_measure(const bf_rtl_unit *unit, const bf_liberty *library, const char *liberty_path,
                   bf_rtl_cost *cost, bf_diagnostic *diagnostic);

/* The module `top` of Verilog text as a netlist in BLIF, by yosys. */
int bf_rtl_synthesize(const char *verilog, const char *top, const char *liberty_path, bf_text *blif,
                      bf_diagnostic *diagnostic);

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
/* All numbers times a factor. */
bf_rtl_range bf_rtl_times(bf_rtl_range range, double factor);

/* mm2 and W of all units of a GPU at 40 nm, each with a new word in every cycle of
 * BF_RTL_PERIOD_NS; clocks of configurations are not gated. */
bf_rtl_range bf_rtl_gpu_area(const bf_rtl_cost *cost);
bf_rtl_range bf_rtl_gpu_power(const bf_rtl_cost *cost);

/* What document 000, Table 4, says of the four families. */
extern const double bf_rtl_published_watt[BF_RTL_FAMILIES], bf_rtl_published_mm2[BF_RTL_FAMILIES];

#endif
