/* What rgpu run, sweep and cost simulate. */
#include "rgpu_case.h"

#include "reproduce/reproduce.h"

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
  for (unsigned i = 0; error == BF_OK && i < s->set.count; i++)
    error = bf_sim_gpu_set(*gpu, s->set.text[i], diagnostic);
  if (error == BF_OK)
    error = bf_sim_gpu_check(*gpu, diagnostic);
  if (error != BF_OK) {
    bf_sim_gpu_free(*gpu);
    *gpu = NULL;
  }
  return error;
}

/* A number of an option for the fabric; 0: not given. */
static void replace(uint64_t given, unsigned *number) {
  if (given)
    *number = given > UINT32_MAX ? UINT32_MAX : (unsigned)given;
}

int cli_rgpu_case_load(const cli_rgpu_settings *s, const char *name, cli_rgpu_case *own,
                       bf_diagnostic *diagnostic) {
  enum { MOST_ENTRIES = 65536 };
  *own = (cli_rgpu_case){.fabric = bf_rgpu_fabric_published()};
  replace(s->data_fifo, &own->fabric.data_fifo);
  replace(s->address_fifo, &own->fabric.address_fifo);
  if (own->fabric.data_fifo > MOST_ENTRIES || own->fabric.address_fifo > MOST_ENTRIES)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a FIFO has at most %d entries", MOST_ENTRIES);
  replace(s->cores, &own->fabric.cores);
  replace(s->units, &own->fabric.units);
  own->fabric.no_prefetch = s->no_prefetch;
  own->order =
      s->order && strcmp(s->order, "decreasing") == 0 ? BF_RGPU_DECREASING : BF_RGPU_INCREASING;
  own->benchmark = rgpu_benchmark_find(name);
  if (own->benchmark && (s->parameter.count || s->most_cycles))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "'%s' is a benchmark: --parameter and --max-cycles are for graphs of files",
                   name);
  if (own->benchmark)
    BF_TRY(bf_rgpu_parse(name, bf_reproduce_graph(name), &own->graph, diagnostic));
  else
    BF_TRY(bf_rgpu_read(name, &own->graph, diagnostic));
  return load_gpu(s, false, &own->gpu, diagnostic);
}

void cli_rgpu_case_free(cli_rgpu_case *own) {
  bf_rgpu_mapping_free(own->mapping);
  bf_rgpu_free(own->graph);
  bf_sim_gpu_free(own->gpu);
  bf_arena_free(&own->outcome.result.arena);
}

/* ---- Copies ---- */

static bool term_uses_copies(const bf_rgpu_term *term) {
  if (!term)
    return false;
  return term->kind == BF_RGPU_TERM_COPY || term->kind == BF_RGPU_TERM_COPIES ||
         term_uses_copies(term->left) || term_uses_copies(term->right);
}

/* Whether an operand depends on the copy. */
static bool operand_uses_copies(const bf_rgpu_operand *operand) {
  bool found = term_uses_copies(operand->constant.term);
  for (unsigned i = 0; i < operand->initial.count; i++)
    found |= term_uses_copies(operand->initial.value[operand->initial.is_repeated ? 0 : i].term);
  return found;
}

/* Whether copies of the graph do different things. */
static bool uses_copies(const bf_rgpu_graph *graph) {
  bool found = term_uses_copies(graph->iterations) || term_uses_copies(graph->blocks);
  for (unsigned i = 0; i < graph->nodes; i++) {
    const bf_rgpu_node *node = &graph->node[i];
    found |= term_uses_copies(node->start) || term_uses_copies(node->offset);
    for (unsigned j = 0; j < BF_RGPU_OPERANDS; j++)
      found |= operand_uses_copies(&node->operand[j]);
  }
  for (unsigned i = 0; i < graph->finals; i++)
    found |= term_uses_copies(graph->final[i].element);
  return found;
}

int cli_rgpu_case_map(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic) {
  bf_rgpu_map_options options = {.ring = cli_rgpu_ring(s), .most_states = s->states};
  if (s->copies)
    options.copies = s->copies > UINT32_MAX ? UINT32_MAX : (unsigned)s->copies;
  else if (own->benchmark && !s->lanes)
    options.copies = own->benchmark->copies;
  else if (!uses_copies(own->graph))
    options.copies = 1;
  BF_TRY(bf_rgpu_map(own->graph, &options, &own->mapping, diagnostic));
  if (!own->mapping->fits)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, own->graph->file, "does not fit: %s",
                        own->mapping->reason);
  own->copies = own->mapping->copies;
  return BF_OK;
}

/* ---- Running ---- */

/* A graph of a file, on the memory that it describes. */
static int run_file(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic) {
  bf_rgpu_sim_settings settings = {
      .gpu = own->gpu, .fabric = own->fabric, .order = own->order, .most_cycles = s->most_cycles};
  bf_rgpu_setup *setup;
  unsigned char *memory = NULL;
  BF_TRY(bf_rgpu_setup_create(own->graph, own->copies, s->parameter.count, s->parameter.text,
                              &setup, diagnostic));
  int error = bf_rgpu_memory_create(setup, &memory, diagnostic);
  if (error == BF_OK)
    error = bf_rgpu_simulate(&settings, setup, memory, &own->outcome.result, diagnostic);
  free(memory);
  bf_rgpu_setup_free(setup);
  return error;
}

int cli_rgpu_case_run(const cli_rgpu_settings *s, cli_rgpu_case *own, bf_diagnostic *diagnostic) {
  const rgpu_run run = {.gpu = own->gpu,
                        .fabric = own->fabric,
                        .order = own->order,
                        .copies = own->copies,
                        .is_quick = s->quick};
  if (own->benchmark)
    BF_TRY(rgpu_run_graph(own->benchmark, &run, &own->outcome, diagnostic));
  else
    BF_TRY(run_file(s, own, diagnostic));
  bf_rgpu_events events = bf_rgpu_events_of(own->mapping, &own->outcome.result);
  own->power = bf_rgpu_power_of(&events, own->outcome.result.seconds, own->fabric.data_fifo,
                                own->fabric.address_fifo);
  return BF_OK;
}

int cli_rgpu_case_kernel(const cli_rgpu_settings *s, cli_rgpu_case *own,
                         bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  bf_sim_result result = {0};
  if (!own->benchmark)
    return BF_OK;
  BF_TRY(load_gpu(s, own->benchmark->prefers_shared, &gpu, diagnostic));
  int error = rgpu_run_kernel(own->benchmark, RGPU_OPTIMISED, gpu, s->quick, &result, diagnostic);
  own->kernel_cycles = result.cycles;
  bf_sim_gpu_free(gpu);
  return error;
}

double cli_rgpu_case_speedup(const cli_rgpu_case *own) {
  return (double)own->kernel_cycles / (double)own->outcome.result.cycles;
}
