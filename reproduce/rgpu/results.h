/* What the benchmarks of R-GPU gave, and what is reported of FIFO sizes (fifos.c). */
#ifndef BF_REPRODUCE_RGPU_RESULTS_H
#define BF_REPRODUCE_RGPU_RESULTS_H

#include "reproduce/reproduce.h"
#include "reproduce/rgpu/bench.h"
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
  /* HIST as a graph with banks that are free in half the time, with address FIFOs of 512 entries,
   * and with both. */
  uint64_t hist_cycles[3];
} rgpu_results;

/* The benchmark of a name; it exists. */
const rgpu_case *rgpu_find_case(const rgpu_results *results, const char *name);
/* Names of all benchmarks, for charts. */
void rgpu_fill_names(const char *names[RGPU_BENCHMARKS + 1]);
/* Time at one size compared with another. */
double rgpu_ratio(uint64_t cycles, uint64_t usual);

/* Fig. 7.11 and section 7.5.4. */
int rgpu_draw_sizes(bf_reproduce_run *run, const rgpu_results *results, bool is_data,
                    bf_diagnostic *diagnostic);
void rgpu_add_sizes(bf_reproduce_run *run, const rgpu_results *results);
void rgpu_claim_sizes(bf_reproduce_run *run, const rgpu_results *results);

#endif
