/* What the benchmarks of R-GPU gave, and what is reported of it, a file for each subject. */
#ifndef BF_REPRODUCE_RGPU_RESULTS_H
#define BF_REPRODUCE_RGPU_RESULTS_H

#include "reproduce/reproduce.h"
#include "reproduce/rgpu/probes.h"
#include "rgpu/cost.h"

enum {
  RGPU_BENCHMARKS = 9,
  RGPU_VARIANTS = 4,
  RGPU_SIZES = 4,
  RGPU_USUAL_DATA = 1,
  RGPU_USUAL_ADDRESS = 2,
  RGPU_LANES_FROM = 2,
  RGPU_LANES_TO = 8,
  RGPU_MOST_LANES = 10
};
extern const unsigned rgpu_data_sizes[RGPU_SIZES], rgpu_address_sizes[RGPU_SIZES];

/* What one benchmark gave. */
typedef struct rgpu_case {
  rgpu_outcome outcome; /* with FIFOs of the published sizes */
  bf_sim_result kernel[RGPU_KERNELS];
  uint64_t data_cycles[RGPU_SIZES], address_cycles[RGPU_SIZES]; /* 0: it does not run */
  unsigned copies_by_lanes[RGPU_LANES_TO + 1]; /* that fit, up to those of the benchmark */
  unsigned lanes, least_data, least_address;
  unsigned lanes_of_one; /* copy */
  bool lanes_proven;
  bf_rgpu_power power;
  double more_data_power,
      more_address_power; /* added with 16 and 512 entries, by that with 8 and 256 */
} rgpu_case;

/* What another graph of PATH gave. */
typedef struct rgpu_variant {
  uint64_t cycles;
  unsigned lanes;
  bool lanes_proven;
} rgpu_variant;

typedef struct rgpu_results {
  bool is_quick;
  bf_sim_gpu *gpu;
  rgpu_case at[RGPU_BENCHMARKS];
  rgpu_variant variant[RGPU_VARIANTS];
  uint64_t probe[RGPU_PROBES]; /* cycles; 0: it does not end */
  bf_sim_result conv_with_16; /* the optimised kernel of CONV with 16 loads of warps on their way */
} rgpu_results;

/* The benchmark of a name; it exists. */
const rgpu_case *rgpu_find_case(const rgpu_results *results, const char *name);
/* Names of all benchmarks, for charts. */
void rgpu_fill_names(const char *names[RGPU_BENCHMARKS + 1]);
/* Cycles of a probe, which exists (probes.h). */
double rgpu_probed(const rgpu_results *results, const rgpu_benchmark *benchmark,
                   rgpu_condition condition, unsigned data, unsigned address);
/* Time at one size compared with another. */
double rgpu_ratio(uint64_t cycles, uint64_t usual);

/* How many times as fast a graph is as a kernel, and the geometric mean of all. */
double rgpu_speedup(const rgpu_case *at, rgpu_kernel over);
double rgpu_geometric_mean(const rgpu_results *results, rgpu_kernel over);
/* Behind names of claims over kernels of a kind, and what was chosen there; or NULL. */
extern const char *const rgpu_behind[RGPU_KERNELS], *const rgpu_over_fitted[RGPU_KERNELS];

/* Table 7.1, Figs. 7.7 and 7.9; section 7.5.3; Figs. 7.10 and 7.12. */
int rgpu_report_speedups(bf_reproduce_run *run, const rgpu_results *results,
                         bf_diagnostic *diagnostic);
void rgpu_report_lanes(bf_reproduce_run *run, const rgpu_results *results);
void rgpu_report_costs(bf_reproduce_run *run, const rgpu_results *results);

/* Fig. 7.11 and section 7.5.4. */
int rgpu_draw_sizes(bf_reproduce_run *run, const rgpu_results *results, bool is_data,
                    bf_diagnostic *diagnostic);
void rgpu_add_sizes(bf_reproduce_run *run, const rgpu_results *results);
void rgpu_claim_sizes(bf_reproduce_run *run, const rgpu_results *results);

#endif
