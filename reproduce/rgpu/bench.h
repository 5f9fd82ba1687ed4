/* The nine benchmarks of braak15, Table 7.1: a graph for R-GPU (examples/rgpu), kernels
 * for an ordinary GPU (rgpu.cu and rgpu_plain.cu), and a reference on the CPU. Both machines have
 * the same memory below their multiprocessors, and begin with the same arrays. */
#ifndef BF_REPRODUCE_RGPU_BENCH_H
#define BF_REPRODUCE_RGPU_BENCH_H

#include "kernels/corpus.h"
#include "rgpu/sim.h"

/* The arrays of a graph. */
typedef struct rgpu_data {
  const bf_rgpu_setup *setup;
  unsigned char *memory;
} rgpu_data;

/* An array of the graph by its name, and its elements; a parameter. Both must exist. */
void *rgpu_array(const rgpu_data *data, const char *name);
uint64_t rgpu_elements(const rgpu_data *data, const char *name);
int64_t rgpu_parameter(const rgpu_data *data, const char *name);

enum { RGPU_QUICK = 3 };

/* What a graph is compared with: kernels with what helps them on this GPU (rgpu.cu), and those that
 * do one pixel, cell or point per thread (rgpu_plain.cu). */
typedef enum rgpu_kernel { RGPU_OPTIMISED, RGPU_PLAIN, RGPU_KERNELS } rgpu_kernel;

typedef struct rgpu_benchmark {
  const char *name, *title;
  unsigned copies;               /* of the graph on an SM */
  unsigned lanes;                /* published */
  const char *lanes_fitted;      /* what was chosen to need as many; NULL: nothing */
  double speedup;                /* published; 0: only in a figure */
  const char *quick[RGPU_QUICK]; /* parameters of quick runs: NAME=NUMBER, or NULL */
  /* Where one launch does not do all: the parameter that grows, by how much, and up to which. */
  const char *pass, *passes;
  unsigned pass_step;
  bool prefers_shared; /* kernels want 48 KB of shared memory, not of first-level cache */
  const bf_rgpu_after *after;
  const struct rgpu_benchmark *narrow; /* the same for data FIFOs too small for this one; or NULL */
  /* Changes what the graph says about the first content of arrays; or NULL. */
  void (*prepare)(const rgpu_data *data);
  /* Runs a kernel, whose PTX the device has, and puts its results into the arrays of `result`,
   * which begin as `data`. */
  int (*launch)(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                rgpu_kernel kernel, bf_diagnostic *diagnostic);
  /* Compares results with what the reference makes of the first content. */
  int (*check)(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
               bf_diagnostic *diagnostic);
} rgpu_benchmark;

/* The nine of Table 7.1, and other graphs of PATH (section 7.5.3); lists end with NULL. */
extern const rgpu_benchmark *const rgpu_benchmarks[], *const rgpu_path_variants[];
extern const rgpu_benchmark rgpu_conv, rgpu_hist, rgpu_integr, rgpu_mriq, rgpu_nn, rgpu_nw,
    rgpu_path, rgpu_path_row, rgpu_path_wide, rgpu_path_four, rgpu_path_deep, rgpu_stencil,
    rgpu_stream;
/* One of either list; NULL: there is none of this name. */
const rgpu_benchmark *rgpu_benchmark_find(const char *name);

/* Loads a GPU with 48 KB of first-level cache, or 16 KB, the rest being shared memory. */
int rgpu_load_gpu(const char *name, bool prefers_shared, bf_sim_gpu **gpu,
                  bf_diagnostic *diagnostic);

/* What R-GPU made of a benchmark: counts are summed over launches. */
typedef struct rgpu_outcome {
  bf_rgpu_sim_result result; /* of all launches; activity and blocks' own cycles of the last */
  bf_corpus_outcome check;
} rgpu_outcome;

/* How a benchmark runs. */
typedef struct rgpu_run {
  const bf_sim_gpu *gpu;
  bf_rgpu_fabric fabric;
  bf_rgpu_order order;
  unsigned copies;  /* 0: those of the benchmark */
  const char *size; /* a parameter that is not as usual, NAME=NUMBER, but for quick runs; or NULL */
  bool is_quick;
  /* Told how much of a launch is done: firings of a graph, blocks of a kernel; or NULL. */
  bool (*progress)(void *context, uint64_t done, uint64_t all);
  void *progress_context;
} rgpu_run;

/* Runs the graph; free the arena of outcome->result. Wrong results are errors. */
int rgpu_run_graph(const rgpu_benchmark *benchmark, const rgpu_run *run, rgpu_outcome *outcome,
                   bf_diagnostic *diagnostic);
/* Runs a kernel on a GPU: cycles and bytes of all launches. Wrong results are errors. */
int rgpu_run_kernel(const rgpu_benchmark *benchmark, rgpu_kernel kernel, const bf_sim_gpu *gpu,
                    bool is_quick, bf_sim_result *result, bf_diagnostic *diagnostic);
/* The same, with GPU, sizes and progress of a run. */
int rgpu_run_kernel_as(const rgpu_benchmark *benchmark, rgpu_kernel kernel, const rgpu_run *run,
                       bf_sim_result *result, bf_diagnostic *diagnostic);

#endif
