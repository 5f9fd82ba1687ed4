/* Runs of R-GPU's benchmarks that show what a claim which differs depends on: one thing is not as
 * usual. */
#ifndef BF_REPRODUCE_RGPU_PROBES_H
#define BF_REPRODUCE_RGPU_PROBES_H

#include "reproduce/reproduce.h"
#include "reproduce/rgpu/bench.h"

typedef enum rgpu_condition {
  RGPU_TAKES,       /* what is in the pipeline of a core takes an entry of the FIFO behind it */
  RGPU_SLOW_CORES,  /* cores of twice the latency */
  RGPU_SHORT_WAY,   /* requests to the second-level cache and answers take half as long */
  RGPU_HALF_DRAM,   /* of half the bandwidth */
  RGPU_SMALL_CACHE, /* a first-level cache of 16 KB */
  RGPU_TINY_CACHE,  /* of 4 KB */
  RGPU_FREE_MEMORY, /* DRAM and second-level cache without limits */
  RGPU_FAST_BANKS,  /* banks of shared memory that are free in half the time */
  RGPU_CONDITIONS
} rgpu_condition;

typedef struct rgpu_probe {
  const rgpu_benchmark *benchmark;
  rgpu_condition condition;
  unsigned data, address; /* entries of FIFOs */
} rgpu_probe;

enum { RGPU_PROBES = 41 };
extern const rgpu_probe rgpu_probes[RGPU_PROBES];
/* "cores of twice the latency". */
extern const char *const rgpu_condition_titles[RGPU_CONDITIONS];

/* Cycles of a probe; 0: it does not end. */
int rgpu_run_probe(const rgpu_probe *probe, bool is_quick, uint64_t *cycles,
                   bf_diagnostic *diagnostic);
/* The number of a probe, which exists. */
unsigned rgpu_find_probe(const rgpu_benchmark *benchmark, rgpu_condition condition, unsigned data,
                         unsigned address);
/* The table of all probes with their cycles. */
void rgpu_add_probes(bf_reproduce_run *run, const uint64_t cycles[RGPU_PROBES]);

#endif
