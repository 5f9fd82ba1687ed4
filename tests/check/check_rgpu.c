/* The benchmarks of R-GPU: right results, as graphs and as kernels, with FIFOs of the least size
 * that bf_rgpu_can_run allows and many larger ones, and a report below it. Lanes are those of the
 * document. Inputs are small, but where blocks wait for each other. */
#include "../unit/random.h"
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

/* Every cycle of a node is a firing or a stall, and every stall for a FIFO is one of its FIFOs'. */
static void check_counts(const rgpu_benchmark *benchmark, const bf_rgpu_graph *graph,
                         const bf_rgpu_sim_result *result) {
  uint64_t waited[2] = {0}, stalled[2] = {0};
  for (unsigned i = 0; i < graph->nodes; i++) {
    const bf_rgpu_node_count *count = &result->node[i];
    uint64_t cycles = count->fired;
    for (unsigned j = 0; j < BF_RGPU_STALLS; j++)
      cycles += count->stalled[j];
    if (cycles != result->rgpu_cycles * benchmark->copies)
      complain(benchmark->name, "stalls and firings of a node are not all its cycles");
    stalled[0] += count->stalled[BF_RGPU_STALL_EMPTY];
    stalled[1] += count->stalled[BF_RGPU_STALL_FULL];
    for (unsigned j = 0; j <= BF_RGPU_OPERANDS; j++) {
      waited[0] += count->fifo[j].empty_cycles;
      waited[1] += count->fifo[j].full_cycles;
    }
  }
  if (waited[0] != stalled[0] || waited[1] != stalled[1])
    complain(benchmark->name, "stalls of FIFOs are not those of nodes");
}

/* The sums over all launches. */
static void check_stalls(const rgpu_benchmark *benchmark, const rgpu_run *run,
                         const bf_rgpu_graph *graph) {
  rgpu_outcome outcome;
  bf_diagnostic diagnostic;
  if (rgpu_run_graph(benchmark, run, &outcome, &diagnostic) == BF_OK)
    check_counts(benchmark, graph, &outcome.result);
  else
    complain(benchmark->name, diagnostic.message);
  bf_arena_free(&outcome.result.arena);
}

/* Runs a benchmark with FIFOs of these sizes; it must come out as said. What cannot run says so
 * with the sizes. */
static void run_with(const rgpu_benchmark *benchmark, const rgpu_run *given, unsigned data,
                     unsigned address, bool must_run) {
  rgpu_run run = *given;
  rgpu_outcome outcome;
  bf_diagnostic diagnostic;
  char report[100];
  run.fabric.data_fifo = data;
  run.fabric.address_fifo = address;
  snprintf(report, sizeof report,
           "deadlock with data FIFOs of %u and address FIFOs of %u entries: ", data, address);
  int error = rgpu_run_graph(benchmark, &run, &outcome, &diagnostic);
  if (must_run && error != BF_OK)
    complain(benchmark->name, diagnostic.message);
  else if (!must_run && (error != BF_BAD_INPUT || !strstr(diagnostic.message, report)))
    complain(benchmark->name, "no report of a deadlock");
  bf_arena_free(&outcome.result.arena);
}

/* The least sizes and some larger ones, one at a time, and what is below them. */
static void check_sizes(const rgpu_benchmark *benchmark, const rgpu_run *run,
                        const bf_rgpu_graph *graph) {
  static const unsigned more[] = {0, 1, 2, 5, 24};
  unsigned data = bf_rgpu_least_data_fifo(graph, 256, 512);
  unsigned address = bf_rgpu_least_address_fifo(graph, 8, 512);
  for (unsigned i = 0; i < sizeof more / sizeof *more; i++) {
    run_with(benchmark, run, data + more[i], 256, true);
    run_with(benchmark, run, 8, address + more[i], true);
  }
  if (data > 1)
    run_with(benchmark, run, data - 1, 256, false);
  if (address > 1)
    run_with(benchmark, run, 8, address - 1, false);
}

/* Sizes that can run can also with one entry more, of either kind: so from the least on all can. */
static void check_growth(const rgpu_benchmark *benchmark, const bf_rgpu_graph *graph) {
  enum { MOST_DATA = 48, MOST_ADDRESS = 300 };
  bool below[MOST_ADDRESS + 1] = {false};
  for (unsigned data = 1; data <= MOST_DATA; data++)
    for (unsigned address = 1; address <= MOST_ADDRESS; address++) {
      bool can_run = bf_rgpu_can_run(graph, data, address, NULL);
      if (!can_run && (below[address] || below[address - 1]))
        complain(benchmark->name, "more entries cannot run");
      below[address] = can_run;
    }
}

/* Pairs of sizes at random: what bf_rgpu_can_run says is what happens. */
static void check_pairs(const rgpu_benchmark *benchmark, const rgpu_run *run,
                        const bf_rgpu_graph *graph, test_random *random) {
  enum { PAIRS = 10 };
  for (unsigned i = 0; i < PAIRS; i++) {
    unsigned data = 1 + (unsigned)random_below(random, i % 2 ? 10 : 100);
    unsigned address = 1 + (unsigned)random_below(random, i % 4 < 2 ? 20 : 600);
    run_with(benchmark, run, data, address, bf_rgpu_can_run(graph, data, address, NULL));
  }
}

/* Where blocks wait for each other, all SMs are at work with inputs of full size only. The smallest
 * FIFOs and large ones must not let loads fill a queue either. */
static void check_waiting(const rgpu_benchmark *benchmark, const rgpu_run *quick,
                          const bf_rgpu_graph *graph) {
  bool waits = false;
  rgpu_run run = *quick;
  run.is_quick = false;
  for (unsigned i = 0; i < graph->nodes; i++)
    waits |= graph->node[i].op == BF_RGPU_LD && graph->node[i].cache == BF_RGPU_CACHE_WAIT;
  if (!waits)
    return;
  unsigned data = bf_rgpu_least_data_fifo(graph, 1, 512);
  run_with(benchmark, &run, data, 1, true);
  run_with(benchmark, &run, 64, 1024, true);
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

/* Other graphs of PATH need 4 (published), 8 and 8 (for the published 10) and 4 lanes. */
static void check_variants(const rgpu_run *run) {
  static const unsigned lanes[] = {4, 8, 8, 4};
  for (unsigned i = 0; rgpu_path_variants[i]; i++) {
    bf_rgpu_graph *graph = read_graph(rgpu_path_variants[i]);
    if (!graph)
      continue;
    check_lanes(rgpu_path_variants[i], graph, lanes[i]);
    check_sizes(rgpu_path_variants[i], run, graph);
    bf_rgpu_free(graph);
  }
}

int main(void) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  test_random random = {.state = 7};
  if (rgpu_load_gpu("gtx480", false, &gpu, &diagnostic) != BF_OK) {
    puts(diagnostic.message);
    return 1;
  }
  const rgpu_run run = {.gpu = gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = true};
  for (unsigned i = 0; rgpu_benchmarks[i]; i++) {
    const rgpu_benchmark *own = rgpu_benchmarks[i];
    bf_rgpu_graph *graph = read_graph(own);
    if (!graph)
      continue;
    check_lanes(own, graph, own->lanes);
    for (unsigned kernel = 0; kernel < RGPU_KERNELS; kernel++)
      check_kernel(own, (rgpu_kernel)kernel);
    check_stalls(own, &run, graph);
    check_sizes(own, &run, graph);
    check_growth(own, graph);
    check_pairs(own, &run, graph, &random);
    check_waiting(own, &run, graph);
    bf_rgpu_free(graph);
  }
  check_variants(&run);
  bf_sim_gpu_free(gpu);
  return faults != 0;
}
