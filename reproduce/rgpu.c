/* braak15, chapter 7: R-GPU. The nine benchmarks of Table 7.1 run as graphs on the simulator
 * of R-GPU and as kernels on that of an ordinary GPU, both a GTX 480; lanes come from the mapper,
 * area and power from src/rgpu/cost.c. */
#include "reproduce/reproduce.h"
#include "reproduce/rgpu/results.h"

static const char *const GPU = "gtx480";

/* ---- Running ---- */

/* Runs a benchmark with FIFOs of some size; cycles are 0 where it does not fit into them. */
static int run_size(const rgpu_results *results, unsigned benchmark, unsigned data,
                    unsigned address, uint64_t *cycles, bf_diagnostic *diagnostic) {
  const rgpu_benchmark *own = rgpu_benchmarks[benchmark];
  const rgpu_case *at = &results->at[benchmark];
  rgpu_run run = {
      .gpu = results->gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = results->is_quick};
  rgpu_outcome outcome;
  run.fabric.data_fifo = data;
  run.fabric.address_fifo = address;
  *cycles = 0;
  if (data < at->least_data && !own->narrow)
    return BF_OK;
  int error = rgpu_run_graph(data < at->least_data ? own->narrow : own, &run, &outcome, diagnostic);
  *cycles = outcome.result.cycles;
  bf_arena_free(&outcome.result.arena);
  return error;
}

/* How many copies of a graph fit, up to those of the benchmark, into rings with fewer and more
 * lanes.
 */
static int fit_copies(const bf_rgpu_graph *graph, unsigned copies, rgpu_case *at,
                      bf_diagnostic *diagnostic) {
  for (unsigned lanes = RGPU_LANES_FROM; lanes <= RGPU_LANES_TO; lanes++) {
    bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = copies};
    options.ring.lanes = lanes;
    for (bool fits = false; options.copies && !fits; options.copies -= !fits) {
      bf_rgpu_mapping *mapping;
      BF_TRY(bf_rgpu_map(graph, &options, &mapping, diagnostic));
      fits = mapping->fits;
      bf_rgpu_mapping_free(mapping);
    }
    at->copies_by_lanes[lanes] = options.copies;
  }
  return BF_OK;
}

/* The lanes that one copy of a graph needs. */
static int find_lanes_of_one(const bf_rgpu_graph *graph, unsigned *lanes,
                             bf_diagnostic *diagnostic) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = 1};
  bf_rgpu_mapping *mapping;
  BF_TRY(bf_rgpu_map(graph, &options, &mapping, diagnostic));
  *lanes = mapping->lanes;
  bf_rgpu_mapping_free(mapping);
  return BF_OK;
}

/* Lanes, least sizes and power of a benchmark that ran. */
static int examine(unsigned benchmark, rgpu_case *at, bf_diagnostic *diagnostic) {
  const rgpu_benchmark *own = rgpu_benchmarks[benchmark];
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = own->copies};
  bf_rgpu_graph *graph;
  bf_rgpu_mapping *mapping;
  BF_TRY(bf_rgpu_parse(own->name, bf_reproduce_graph(own->name), &graph, diagnostic));
  int error = bf_rgpu_map(graph, &options, &mapping, diagnostic);
  if (!error) {
    bf_rgpu_fabric fabric = bf_rgpu_fabric_published();
    bf_rgpu_events events = bf_rgpu_events_of(mapping, &at->outcome.result);
    at->lanes = mapping->lanes;
    at->lanes_proven = mapping->lanes_proven;
    at->power = bf_rgpu_power_of(&events, at->outcome.result.seconds, fabric.data_fifo,
                                 fabric.address_fifo);
    at->more_data_power = bf_rgpu_power_of(&events, at->outcome.result.seconds,
                                           2 * fabric.data_fifo, fabric.address_fifo)
                              .added /
                          at->power.added;
    at->more_address_power = bf_rgpu_power_of(&events, at->outcome.result.seconds, fabric.data_fifo,
                                              2 * fabric.address_fifo)
                                 .added /
                             at->power.added;
    bf_rgpu_mapping_free(mapping);
  }
  if (!error)
    error = find_lanes_of_one(graph, &at->lanes_of_one, diagnostic);
  if (!error)
    error = fit_copies(graph, own->copies, at, diagnostic);
  at->least_data = bf_rgpu_least_data_fifo(graph, 256, 512);
  at->least_address = bf_rgpu_least_address_fifo(graph, 8, 512);
  bf_rgpu_free(graph);
  return error;
}

/* One benchmark with published sizes, as a graph and as kernels. */
static int run_benchmark(void *context, unsigned index, bf_diagnostic *diagnostic) {
  rgpu_results *results = context;
  const rgpu_benchmark *own = rgpu_benchmarks[index];
  rgpu_case *at = &results->at[index];
  rgpu_run run = {
      .gpu = results->gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = results->is_quick};
  bf_sim_gpu *gpu;
  BF_TRY(rgpu_run_graph(own, &run, &at->outcome, diagnostic));
  BF_TRY(rgpu_load_gpu(GPU, own->prefers_shared, &gpu, diagnostic));
  int error = BF_OK;
  for (unsigned i = 0; i < RGPU_KERNELS && !error; i++)
    error =
        rgpu_run_kernel(own, (rgpu_kernel)i, gpu, results->is_quick, &at->kernel[i], diagnostic);
  bf_sim_gpu_free(gpu);
  if (error)
    return error;
  at->data_cycles[RGPU_USUAL_DATA] = at->address_cycles[RGPU_USUAL_ADDRESS] =
      at->outcome.result.cycles;
  return examine(index, at, diagnostic);
}

/* One benchmark with one of the other sizes. */
static int run_sizes(void *context, unsigned index, bf_diagnostic *diagnostic) {
  rgpu_results *results = context;
  unsigned benchmark = index / (2 * RGPU_SIZES), size = index % RGPU_SIZES;
  bool is_data = index / RGPU_SIZES % 2 == 0;
  rgpu_case *at = &results->at[benchmark];
  if (size == (is_data ? RGPU_USUAL_DATA : RGPU_USUAL_ADDRESS))
    return BF_OK;
  return run_size(results, benchmark,
                  is_data ? rgpu_data_sizes[size] : rgpu_data_sizes[RGPU_USUAL_DATA],
                  is_data ? rgpu_address_sizes[RGPU_USUAL_ADDRESS] : rgpu_address_sizes[size],
                  is_data ? &at->data_cycles[size] : &at->address_cycles[size], diagnostic);
}

/* Another graph of PATH, on a ring with lanes enough for all of them. */
static int run_variant(void *context, unsigned index, bf_diagnostic *diagnostic) {
  rgpu_results *results = context;
  rgpu_variant *at = &results->variant[index];
  const rgpu_benchmark *own = rgpu_path_variants[index];
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = own->copies};
  rgpu_run run = {
      .gpu = results->gpu, .fabric = bf_rgpu_fabric_published(), .is_quick = results->is_quick};
  rgpu_outcome outcome;
  bf_rgpu_graph *graph;
  bf_rgpu_mapping *mapping;
  options.ring.lanes = RGPU_MOST_LANES;
  int error = rgpu_run_graph(own, &run, &outcome, diagnostic);
  at->cycles = outcome.result.cycles;
  bf_arena_free(&outcome.result.arena);
  if (error)
    return error;
  BF_TRY(bf_rgpu_parse(own->name, bf_reproduce_graph(own->name), &graph, diagnostic));
  error = bf_rgpu_map(graph, &options, &mapping, diagnostic);
  bf_rgpu_free(graph);
  if (error)
    return error;
  at->lanes = mapping->lanes;
  at->lanes_proven = mapping->fits && mapping->lanes_proven;
  bf_rgpu_mapping_free(mapping);
  return BF_OK;
}

/* ---- All of it ---- */

static int report(bf_reproduce_run *run, const rgpu_results *results, bf_diagnostic *diagnostic) {
  unsigned waiting = 0;
  BF_TRY(rgpu_report_speedups(run, results, diagnostic));
  rgpu_add_sizes(run, results);
  rgpu_claim_sizes(run, results);
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    waiting = results->at[i].outcome.result.most_waiting > waiting
                  ? results->at[i].outcome.result.most_waiting
                  : waiting;
  bf_reproduce_note(run,
                    "Loads that wait for a hit in one queue of the model, which has 8 entries: at "
                    "most %u.",
                    waiting);
  rgpu_report_lanes(run, results);
  rgpu_report_costs(run, results);
  rgpu_add_probes(run, results->probe);
  BF_TRY(rgpu_draw_sizes(run, results, true, diagnostic));
  return rgpu_draw_sizes(run, results, false, diagnostic);
}

/* Task: a probe; behind them, the optimised kernel of CONV with 16 loads of warps on their way. */
static int run_probes(void *context, unsigned index, bf_diagnostic *diagnostic) {
  rgpu_results *results = context;
  bf_sim_gpu *gpu;
  if (index < RGPU_PROBES)
    return rgpu_run_probe(&rgpu_probes[index], results->is_quick, &results->probe[index],
                          diagnostic);
  BF_TRY(rgpu_load_gpu(GPU, rgpu_conv.prefers_shared, &gpu, diagnostic));
  int error = bf_sim_gpu_set(gpu, "global_queue=16", diagnostic);
  if (!error)
    error = rgpu_run_kernel(&rgpu_conv, RGPU_OPTIMISED, gpu, results->is_quick,
                            &results->conv_with_16, diagnostic);
  bf_sim_gpu_free(gpu);
  return error;
}

static int run_rgpu(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  rgpu_results *results = bf_arena_alloc(bf_reproduce_arena(run), sizeof *results);
  if (!results)
    return bf_no_memory(diagnostic);
  results->is_quick = bf_reproduce_is_quick(run);
  BF_TRY(rgpu_load_gpu(GPU, false, &results->gpu, diagnostic));
  int error =
      bf_reproduce_parallel(run, RGPU_BENCHMARKS, "benchmarks", run_benchmark, results, diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, RGPU_BENCHMARKS * 2 * RGPU_SIZES, "sizes of FIFOs",
                                  run_sizes, results, diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, RGPU_VARIANTS, "graphs of PATH", run_variant, results,
                                  diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, RGPU_PROBES + 1, "what claims depend on", run_probes,
                                  results, diagnostic);
  if (!error)
    error = report(run, results, diagnostic);
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    bf_arena_free(&results->at[i].outcome.result.arena);
  bf_sim_gpu_free(results->gpu);
  return error;
}

const bf_reproduction bf_reproduce_rgpu[] = {
    {.name = "rgpu",
     .title = "R-GPU: cores wired to each other",
     .document = "braak15, Table 7.1, Figs. 7.7-7.12",
     .summary =
         "Nine benchmarks as graphs on the simulator of R-GPU and as kernels, optimised and plain, "
         "on that of a GTX 480 with the same memory; lanes by the mapper, sizes of FIFOs, area and "
         "power.",
     .run = run_rgpu},
    {0},
};
