/* The benchmarks of R-GPU with small inputs: right results, as graphs and as kernels, with FIFOs of
 * the least size that bf_rgpu_can_run allows and some larger ones, and a report below it. Lanes are
 * those of the document. */
#include "reproduce/reproduce.h"
#include "reproduce/rgpu/bench.h"
#include "rgpu/map.h"

#include <stdio.h>
#include <string.h>

static unsigned faults;

static void complain(const char *name, const char *what) {
  printf("%s: %s\n", name, what);
  faults++;
}

/* Runs a benchmark with FIFOs of these sizes; it must come out as said. */
static void run_with(const rgpu_benchmark *benchmark, const bf_sim_gpu *gpu, unsigned data,
                     unsigned address, bool must_run) {
  rgpu_run run = {.gpu = gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = true};
  rgpu_outcome outcome;
  bf_diagnostic diagnostic;
  run.fabric.data_fifo = data;
  run.fabric.address_fifo = address;
  int error = rgpu_run_graph(benchmark, &run, &outcome, &diagnostic);
  if (must_run && error != BF_OK)
    complain(benchmark->name, diagnostic.message);
  else if (!must_run && (error != BF_BAD_INPUT || !strstr(diagnostic.message, "deadlock")))
    complain(benchmark->name, "no report of a deadlock");
  bf_arena_free(&outcome.result.arena);
}

/* All sizes from the least on can run; these are tried. */
static void check_sizes(const rgpu_benchmark *benchmark, const bf_sim_gpu *gpu,
                        const bf_rgpu_graph *graph) {
  static const unsigned more[] = {0, 1, 2, 5, 24};
  unsigned data = bf_rgpu_least_data_fifo(graph, 256, 512);
  unsigned address = bf_rgpu_least_address_fifo(graph, 8, 512);
  for (unsigned i = 0; i < sizeof more / sizeof *more; i++) {
    run_with(benchmark, gpu, data + more[i], 256, true);
    run_with(benchmark, gpu, 8, address + more[i], true);
  }
  for (unsigned size = data; size <= 64; size++)
    if (!bf_rgpu_can_run(graph, size, 256, NULL))
      complain(benchmark->name, "a larger data FIFO cannot run");
  if (data > 1)
    run_with(benchmark, gpu, data - 1, 256, false);
  if (address > 1)
    run_with(benchmark, gpu, 8, address - 1, false);
}

/* Maps the copies of a benchmark to a ring of 10 lanes, which leaves room for all. */
static void check_lanes(const rgpu_benchmark *benchmark, const bf_rgpu_graph *graph,
                        unsigned lanes) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = benchmark->copies};
  bf_rgpu_mapping *mapping;
  bf_diagnostic diagnostic;
  options.ring.lanes = 10;
  if (bf_rgpu_map(graph, &options, &mapping, &diagnostic) != BF_OK) {
    complain(benchmark->name, diagnostic.message);
    return;
  }
  if (!mapping->fits || !mapping->lanes_proven || mapping->lanes != lanes)
    complain(benchmark->name, "other lanes than published, or no proof");
  bf_rgpu_mapping_free(mapping);
}

/* A kernel must compute the same. */
static void check_kernel(const rgpu_benchmark *benchmark, rgpu_kernel kernel) {
  bf_sim_gpu *gpu;
  bf_sim_result result;
  bf_diagnostic diagnostic;
  if (rgpu_load_gpu("gtx480", benchmark->prefers_shared, &gpu, &diagnostic) != BF_OK) {
    complain(benchmark->name, diagnostic.message);
    return;
  }
  if (rgpu_run_kernel(benchmark, kernel, gpu, true, &result, &diagnostic) != BF_OK)
    complain(benchmark->name, diagnostic.message);
  else if (result.cycles == 0)
    complain(benchmark->name, "the kernel took no time");
  bf_sim_gpu_free(gpu);
}

/* The benchmark's graph; to be freed, and NULL after a complaint. */
static bf_rgpu_graph *read_graph(const rgpu_benchmark *benchmark) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  if (bf_rgpu_parse(benchmark->name, bf_reproduce_graph(benchmark->name), &graph, &diagnostic) ==
      BF_OK)
    return graph;
  complain(benchmark->name, diagnostic.message);
  return NULL;
}

/* Other graphs of PATH need 4 (published), 8 (for the published 10) and 4 lanes. */
static void check_variants(const bf_sim_gpu *gpu) {
  static const unsigned lanes[] = {4, 8, 4};
  for (unsigned i = 0; rgpu_path_variants[i]; i++) {
    bf_rgpu_graph *graph = read_graph(rgpu_path_variants[i]);
    if (!graph)
      continue;
    check_lanes(rgpu_path_variants[i], graph, lanes[i]);
    check_sizes(rgpu_path_variants[i], gpu, graph);
    bf_rgpu_free(graph);
  }
}

int main(void) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  if (rgpu_load_gpu("gtx480", false, &gpu, &diagnostic) != BF_OK) {
    puts(diagnostic.message);
    return 1;
  }
  for (unsigned i = 0; rgpu_benchmarks[i]; i++) {
    const rgpu_benchmark *own = rgpu_benchmarks[i];
    bf_rgpu_graph *graph = read_graph(own);
    if (!graph)
      continue;
    check_lanes(own, graph, own->lanes);
    for (unsigned kernel = 0; kernel < RGPU_KERNELS; kernel++)
      check_kernel(own, (rgpu_kernel)kernel);
    check_sizes(own, gpu, graph);
    bf_rgpu_free(graph);
  }
  check_variants(gpu);
  bf_sim_gpu_free(gpu);
  return faults != 0;
}
