/* Runs benchmarks of R-GPU, as graphs and as kernels. */
#include "reproduce/rgpu/bench.h"

#include "kernels/devices.h"
#include "kernels/sim_device.h"
#include "reproduce/reproduce.h"

#include <stdlib.h>
#include <string.h>

const rgpu_benchmark *const rgpu_benchmarks[] = {
    &rgpu_conv, &rgpu_hist, &rgpu_integr,  &rgpu_mriq,   &rgpu_nn,
    &rgpu_nw,   &rgpu_path, &rgpu_stencil, &rgpu_stream, NULL};

const rgpu_benchmark *const rgpu_path_variants[] = {&rgpu_path_row, &rgpu_path_wide,
                                                    &rgpu_path_four, &rgpu_path_deep, NULL};

static const rgpu_benchmark *find_in(const rgpu_benchmark *const *list, const char *name) {
  while (*list && strcmp((*list)->name, name) != 0)
    list++;
  return *list;
}

const rgpu_benchmark *rgpu_benchmark_find(const char *name) {
  const rgpu_benchmark *found = find_in(rgpu_benchmarks, name);
  return found ? found : find_in(rgpu_path_variants, name);
}

/* ---- Data ---- */

/* The number of an array; the names are those of our own graphs. */
static unsigned find_array(const rgpu_data *data, const char *name) {
  unsigned i = 0;
  while (strcmp(data->setup->graph->array[i].name, name) != 0)
    i++;
  return i;
}

void *rgpu_array(const rgpu_data *data, const char *name) {
  return data->memory + (data->setup->array_address[find_array(data, name)] - BF_RGPU_GLOBAL_BASE);
}

uint64_t rgpu_elements(const rgpu_data *data, const char *name) {
  return data->setup->array_count[find_array(data, name)];
}

int64_t rgpu_parameter(const rgpu_data *data, const char *name) {
  unsigned i = 0;
  while (strcmp(data->setup->graph->parameter[i].name, name) != 0)
    i++;
  return data->setup->parameter[i];
}

int rgpu_load_gpu(const char *name, bool prefers_shared, bf_sim_gpu **gpu,
                  bf_diagnostic *diagnostic) {
  static const char *const changes[] = {"l1_bytes=49152", "l1_ways=6", "shared_bytes_per_sm=16384"};
  BF_TRY(bf_sim_gpu_load(name, gpu, diagnostic));
  int error = BF_OK;
  for (unsigned i = 0; i < 3 && !error && !prefers_shared; i++)
    error = bf_sim_gpu_set(*gpu, changes[i], diagnostic);
  if (error)
    bf_sim_gpu_free(*gpu);
  return error;
}

/* ---- A benchmark that is prepared ---- */

typedef struct prepared {
  bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  rgpu_data before, after;
} prepared;

/* Parameters that are not those of the graph: of a quick run, or the one that the run names. There
 * is room for one more. */
static unsigned list_overrides(const rgpu_benchmark *benchmark, const rgpu_run *run,
                               const char *overrides[RGPU_QUICK + 1]) {
  unsigned count = 0;
  for (; run->is_quick && count < RGPU_QUICK && benchmark->quick[count]; count++)
    overrides[count] = benchmark->quick[count];
  if (!run->is_quick && run->size)
    overrides[count++] = run->size;
  return count;
}

/* A second memory with the same content. */
static int copy_memory(prepared *own, bf_diagnostic *diagnostic) {
  uint64_t bytes = own->setup->global_bytes;
  own->after = own->before;
  own->after.memory = malloc(bytes + 1);
  if (!own->after.memory)
    return bf_no_memory(diagnostic);
  memcpy(own->after.memory, own->before.memory, bytes);
  return BF_OK;
}

static int prepare(const rgpu_benchmark *benchmark, unsigned copies, const rgpu_run *run,
                   prepared *own, bf_diagnostic *diagnostic) {
  const char *overrides[RGPU_QUICK + 1];
  unsigned count = list_overrides(benchmark, run, overrides);
  *own = (prepared){0};
  BF_TRY(
      bf_rgpu_parse(benchmark->name, bf_reproduce_graph(benchmark->name), &own->graph, diagnostic));
  BF_TRY(bf_rgpu_setup_create(own->graph, copies, count, overrides, &own->setup, diagnostic));
  own->before.setup = own->setup;
  BF_TRY(bf_rgpu_memory_create(own->setup, &own->before.memory, diagnostic));
  if (benchmark->prepare)
    benchmark->prepare(&own->before);
  return copy_memory(own, diagnostic);
}

static void free_prepared(prepared *own) {
  free(own->before.memory);
  free(own->after.memory);
  bf_rgpu_setup_free(own->setup);
  bf_rgpu_free(own->graph);
}

/* Wrong results are errors. */
static int check_results(const rgpu_benchmark *benchmark, const prepared *own, const char *what,
                         bf_corpus_outcome *outcome, bf_diagnostic *diagnostic) {
  *outcome = (bf_corpus_outcome){0};
  BF_TRY(benchmark->check(&own->before, &own->after, outcome, diagnostic));
  if (outcome->wrong)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s of %s computes wrong results: %s", what,
                   benchmark->name, outcome->first_wrong);
  return BF_OK;
}

/* ---- As a graph ---- */

static void add_node(bf_rgpu_node_count *to, const bf_rgpu_node_count *before) {
  to->fired += before->fired;
  for (unsigned i = 0; i < BF_RGPU_STALLS; i++)
    to->stalled[i] += before->stalled[i];
  for (unsigned i = 0; i <= BF_RGPU_OPERANDS; i++) {
    bf_rgpu_fifo_count *fifo = &to->fifo[i];
    fifo->written += before->fifo[i].written;
    fifo->empty_cycles += before->fifo[i].empty_cycles;
    fifo->full_cycles += before->fifo[i].full_cycles;
    fifo->most = before->fifo[i].most > fifo->most ? before->fifo[i].most : fifo->most;
  }
}

/* Adds what one launch has cost to the launches before it. */
static void add_launch(bf_rgpu_sim_result *to, const bf_rgpu_sim_result *before, unsigned nodes) {
  to->cycles += before->cycles;
  to->seconds += before->seconds;
  to->rgpu_cycles += before->rgpu_cycles;
  to->blocks += before->blocks;
  to->prefetches += before->prefetches;
  to->loads_sent += before->loads_sent;
  to->stores_sent += before->stores_sent;
  to->waits_sent += before->waits_sent;
  for (unsigned i = 0; i < BF_RGPU_CLASSES; i++)
    to->fired[i] += before->fired[i];
  to->memory.l1_hits += before->memory.l1_hits;
  to->memory.l1_misses += before->memory.l1_misses;
  to->memory.l2_hits += before->memory.l2_hits;
  to->memory.l2_misses += before->memory.l2_misses;
  to->memory.dram_read_bytes += before->memory.dram_read_bytes;
  to->memory.dram_written_bytes += before->memory.dram_written_bytes;
  to->most_waiting =
      before->most_waiting > to->most_waiting ? before->most_waiting : to->most_waiting;
  for (unsigned i = 0; i < nodes; i++)
    add_node(&to->node[i], &before->node[i]);
}

/* One launch, with the parameter of passes at a value. */
static int launch_pass(const rgpu_benchmark *benchmark, const rgpu_run *run, const prepared *own,
                       uint64_t pass, bf_rgpu_sim_result *result, bf_diagnostic *diagnostic) {
  char text[64];
  const char *overrides[RGPU_QUICK + 1];
  unsigned count = list_overrides(benchmark, run, overrides);
  bf_rgpu_sim_settings settings = {.gpu = run->gpu,
                                   .fabric = run->fabric,
                                   .order = run->order,
                                   .after = benchmark->after,
                                   .progress = run->progress,
                                   .progress_context = run->progress_context};
  bf_rgpu_setup *setup;
  if (benchmark->pass) {
    snprintf(text, sizeof text, "%s=%llu", benchmark->pass, (unsigned long long)pass);
    overrides[count++] = text;
  }
  BF_TRY(
      bf_rgpu_setup_create(own->graph, own->setup->copies, count, overrides, &setup, diagnostic));
  int error = bf_rgpu_simulate(&settings, setup, own->after.memory, result, diagnostic);
  bf_rgpu_setup_free(setup);
  return error;
}

static int launch_all(const rgpu_benchmark *benchmark, const rgpu_run *run, const prepared *own,
                      bf_rgpu_sim_result *result, bf_diagnostic *diagnostic) {
  uint64_t step = benchmark->pass ? benchmark->pass_step : 1;
  uint64_t end = benchmark->pass ? (uint64_t)rgpu_parameter(&own->before, benchmark->passes) : 1;
  for (uint64_t pass = 0; pass < end; pass += step) {
    bf_rgpu_sim_result before = *result;
    *result = (bf_rgpu_sim_result){0};
    int error = launch_pass(benchmark, run, own, pass, result, diagnostic);
    if (pass && !error)
      add_launch(result, &before, own->graph->nodes);
    bf_arena_free(&before.arena);
    if (error)
      return error;
  }
  return BF_OK;
}

int rgpu_run_graph(const rgpu_benchmark *benchmark, const rgpu_run *run, rgpu_outcome *outcome,
                   bf_diagnostic *diagnostic) {
  prepared own;
  *outcome = (rgpu_outcome){0};
  unsigned copies = run->copies ? run->copies : benchmark->copies;
  int error = prepare(benchmark, copies, run, &own, diagnostic);
  if (!error)
    error = launch_all(benchmark, run, &own, &outcome->result, diagnostic);
  if (!error)
    error = check_results(benchmark, &own, "the graph", &outcome->check, diagnostic);
  free_prepared(&own);
  return error;
}

/* ---- As a kernel ---- */

static int launch_kernel(const rgpu_benchmark *benchmark, rgpu_kernel kernel, const prepared *own,
                         bf_sim_ledger *ledger, bf_diagnostic *diagnostic) {
  const char *name = kernel == RGPU_PLAIN ? "rgpu_plain" : "rgpu";
  bf_device device;
  BF_TRY(bf_sim_device_create(name, bf_reproduce_ptx(name), ledger, &device, diagnostic));
  int error = benchmark->launch(&own->before, &own->after, &device, kernel, diagnostic);
  bf_emu_device_free(&device);
  return error;
}

int rgpu_run_kernel_as(const rgpu_benchmark *benchmark, rgpu_kernel kernel, const rgpu_run *run,
                       bf_sim_result *result, bf_diagnostic *diagnostic) {
  prepared own;
  bf_sim_launched total = {0};
  bf_corpus_outcome outcome;
  bf_sim_ledger ledger = {.settings = {.gpu = run->gpu, .workers = 1},
                          .progress = run->progress,
                          .progress_context = run->progress_context};
  int error = prepare(benchmark, benchmark->copies, run, &own, diagnostic);
  if (!error)
    error = launch_kernel(benchmark, kernel, &own, &ledger, diagnostic);
  if (!error)
    error = check_results(benchmark, &own, kernel == RGPU_PLAIN ? "the plain kernel" : "the kernel",
                          &outcome, diagnostic);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  *result = total.result;
  bf_sim_ledger_free(&ledger);
  free_prepared(&own);
  return error;
}

int rgpu_run_kernel(const rgpu_benchmark *benchmark, rgpu_kernel kernel, const bf_sim_gpu *gpu,
                    bool is_quick, bf_sim_result *result, bf_diagnostic *diagnostic) {
  const rgpu_run run = {.gpu = gpu, .is_quick = is_quick};
  return rgpu_run_kernel_as(benchmark, kernel, &run, result, diagnostic);
}
