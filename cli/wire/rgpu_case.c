/* What rgpu run, sweep and cost simulate. */
#include "cli/wire/rgpu_case.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_GPU "gtx480"

/* ---- Loading ---- */

/* The GPU as the options ask for it. By default its first-level cache has 48 KB, or 16 KB with more
 * shared memory; a GPU that is asked for is what it is. */
static int load_gpu(const cli_rgpu_settings *s, bool prefers_shared, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic) {
  BF_TRY(rgpu_load_gpu(s->gpu ? s->gpu : USUAL_GPU, s->gpu || prefers_shared, gpu, diagnostic));
  int error = BF_OK;
  for (unsigned i = 0; !error && i < s->set.count; i++)
    error = bf_sim_gpu_set(*gpu, s->set.text[i], diagnostic);
  if (!error)
    error = bf_sim_gpu_check(*gpu, diagnostic);
  if (error) {
    bf_sim_gpu_free(*gpu);
    *gpu = NULL;
  }
  return error;
}

/* A number of an option for the fabric; 0: not given. */
static int replace(const char *option, uint64_t given, uint64_t most, unsigned *number,
                   bf_diagnostic *diagnostic) {
  if (given > most)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--%s is at most %llu, not %llu", option,
                   (unsigned long long)most, (unsigned long long)given);
  if (given)
    *number = (unsigned)given;
  return BF_OK;
}

int cli_rgpu_fabric(const cli_rgpu_settings *s, bf_rgpu_fabric *fabric, bf_diagnostic *diagnostic) {
  enum { MOST_ENTRIES = 65536 };
  bf_rgpu_fabric made = bf_rgpu_fabric_published();
  const struct {
    const char *option;
    uint64_t given, most;
    unsigned *number;
  } numbers[] = {
      {"data-fifo", s->data_fifo, MOST_ENTRIES, &made.data_fifo},
      {"address-fifo", s->address_fifo, MOST_ENTRIES, &made.address_fifo},
      {"core-cycles", s->core_cycles, BF_RGPU_MOST_LATENCY, &made.two_cycles},
      {"three-operand-cycles", s->three_cycles, BF_RGPU_MOST_LATENCY, &made.three_cycles},
      {"load-cycles", s->load_cycles, BF_RGPU_MOST_LATENCY, &made.load_cycles},
      {"fold", s->fold, BF_RGPU_MOST_FOLDED, &made.folded},
      {"cores", s->cores, UINT32_MAX, &made.cores},
      {"units", s->units, UINT32_MAX, &made.units}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    BF_TRY(replace(numbers[i].option, numbers[i].given, numbers[i].most, numbers[i].number,
                   diagnostic));
  made.no_prefetch = s->no_prefetch;
  made.pipelines_take_entries = s->pipelines_take_entries;
  made.waits_for_sectors = s->wait_for && strcmp(s->wait_for, "sectors") == 0;
  *fabric = made;
  return BF_OK;
}

int cli_rgpu_case_load(const cli_rgpu_settings *s, const char *name, cli_rgpu_case *own,
                       bf_diagnostic *diagnostic) {
  *own = (cli_rgpu_case){0};
  BF_TRY(cli_rgpu_fabric(s, &own->fabric, diagnostic));
  own->order =
      s->order && strcmp(s->order, "decreasing") == 0 ? BF_RGPU_DECREASING : BF_RGPU_INCREASING;
  own->benchmark = rgpu_benchmark_find(name);
  if (own->benchmark && (s->parameter.count || s->most_cycles))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "'%s' is a benchmark: --parameter and --max-cycles are for graphs of files",
                   name);
  if (!own->benchmark && s->quick)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--quick is for benchmarks; --parameter changes the size of a file's graph");
  BF_TRY(cli_rgpu_read(name, &own->graph, diagnostic));
  return load_gpu(s, false, &own->gpu, diagnostic);
}

void cli_rgpu_case_free(cli_rgpu_case *own) {
  bf_rgpu_mapping_free(own->mapping);
  bf_rgpu_free(own->graph);
  bf_sim_gpu_free(own->gpu);
  bf_arena_free(&own->outcome.result.arena);
}

int cli_rgpu_case_map(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic) {
  bf_rgpu_map_options options = {.ring = cli_rgpu_ring(s), .most_states = s->states};
  if (s->copies)
    options.copies = s->copies > UINT32_MAX ? UINT32_MAX : (unsigned)s->copies;
  else if (own->benchmark && !s->lanes)
    options.copies = own->benchmark->copies;
  else if (!bf_rgpu_uses_copies(own->graph))
    options.copies = 1;
  unsigned copies = options.copies;
  options.copies = bf_rgpu_copies_at_once(&own->fabric, copies);
  BF_TRY(bf_rgpu_map(own->graph, &options, &own->mapping, diagnostic));
  if (!own->mapping->fits)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, own->graph->file, "does not fit: %s",
                        own->mapping->reason);
  own->copies = own->fabric.folded > 1 && copies ? copies : own->mapping->copies;
  return BF_OK;
}

/* ---- Running ---- */

int cli_rgpu_case_run(const cli_rgpu_settings *s, bool has_bar, cli_rgpu_case *own,
                      bf_diagnostic *diagnostic) {
  cli_block_bar bar = cli_block_bar_begin("R-GPU");
  const rgpu_run run = {.gpu = own->gpu,
                        .fabric = own->fabric,
                        .order = own->order,
                        .copies = own->copies,
                        .is_quick = s->quick,
                        .progress = has_bar ? cli_block_bar_step : NULL,
                        .progress_context = &bar};
  bar.unit = "firings";
  bf_rgpu_sim_settings settings = {.gpu = run.gpu,
                                   .fabric = run.fabric,
                                   .order = run.order,
                                   .most_cycles = s->most_cycles,
                                   .progress = run.progress,
                                   .progress_context = run.progress_context};
  int error = own->benchmark ? rgpu_run_graph(own->benchmark, &run, &own->outcome, diagnostic)
                             : bf_rgpu_simulate_described(&settings, own->graph, own->copies,
                                                          s->parameter.count, s->parameter.text,
                                                          &own->outcome.result, diagnostic);
  cli_block_bar_end(&bar);
  if (error)
    return error;
  bf_rgpu_events events = bf_rgpu_events_of(own->mapping, &own->outcome.result);
  own->power = bf_rgpu_power_of(&events, own->outcome.result.seconds, own->fabric.data_fifo,
                                own->fabric.address_fifo);
  return BF_OK;
}

/* Runs a kernel of the benchmark on the GPU as this kind of kernel wants it. */
static int run_kernel(const cli_rgpu_settings *s, rgpu_kernel kernel, cli_rgpu_case *own,
                      bf_diagnostic *diagnostic) {
  cli_block_bar bar =
      cli_block_bar_begin(kernel == RGPU_PLAIN ? "plain kernel" : "optimised kernel");
  bf_sim_gpu *gpu;
  bf_sim_result result = {0};
  BF_TRY(load_gpu(s, own->benchmark->prefers_shared, &gpu, diagnostic));
  const rgpu_run run = {
      .gpu = gpu, .is_quick = s->quick, .progress = cli_block_bar_step, .progress_context = &bar};
  int error = rgpu_run_kernel_as(own->benchmark, kernel, &run, &result, diagnostic);
  own->kernel[kernel] = (cli_rgpu_kernel){
      .cycles = result.cycles, .dram_bytes_per_cycle = bf_sim_dram_rate(&result, result.cycles)};
  cli_block_bar_end(&bar);
  bf_sim_gpu_free(gpu);
  return error;
}

int cli_rgpu_case_kernel(const cli_rgpu_settings *s, rgpu_kernel kernel, cli_rgpu_case *own,
                         bf_diagnostic *diagnostic) {
  if (!own->benchmark || s->no_kernels)
    return BF_OK;
  return run_kernel(s, kernel, own, diagnostic);
}

double cli_rgpu_case_speedup(const cli_rgpu_case *own, rgpu_kernel kernel) {
  return (double)own->kernel[kernel].cycles / (double)own->outcome.result.cycles;
}

int cli_rgpu_case_complain(const cli_rgpu_case *own, const bf_diagnostic *diagnostic) {
  int status = cli_complain(diagnostic);
  bf_text text = {0};
  bf_rgpu_stuck_explain(&own->outcome.result, &text);
  fputs(text.data && !text.failed ? text.data : "", stderr);
  bf_text_free(&text);
  return status;
}
