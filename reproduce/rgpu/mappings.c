/* Other mappings of R-GPU's benchmarks, simulated. */
#include "reproduce/rgpu/mappings.h"

#include "reproduce/reproduce.h"
#include "rgpu/map.h"

#include <stdlib.h>
#include <string.h>

/* Copies are those that cores and load/store units allow; where as many share their cores as fill
 * the units, there are more of them than cores would hold. */
const rgpu_other_mapping rgpu_other_mappings[RGPU_OTHER_MAPPINGS] = {
    {&rgpu_conv, &rgpu_conv, "half as many copies", 1, 0},
    {&rgpu_conv, &rgpu_conv, "two copies on the cores of one", 2, 2},
    {&rgpu_conv, &rgpu_conv, "four copies on the cores of two", 4, 2},
    {&rgpu_hist, &rgpu_hist, "half as many copies", 4, 0},
    {&rgpu_hist, &rgpu_hist, "eight copies on the cores of four", 8, 2},
    {&rgpu_mriq, &rgpu_mriq, "half as many copies", 1, 0},
    {&rgpu_mriq, &rgpu_mriq, "four copies on the cores of two", 4, 2},
    {&rgpu_nn, &rgpu_nn, "half as many copies", 1, 0},
    {&rgpu_nn, &rgpu_nn, "two copies on the cores of one", 2, 2},
    {&rgpu_path, &rgpu_path, "half as many copies", 1, 0},
    {&rgpu_path, &rgpu_path, "two copies on the cores of one", 2, 2},
    {&rgpu_path, &rgpu_path_four, "two rows of four columns (path_four)", 1, 0},
    {&rgpu_path, &rgpu_path_deep, "eight rows of one column (path_deep)", 1, 0},
    {&rgpu_stream, &rgpu_stream, "two copies on the cores of one", 2, 2},
};

int rgpu_run_mapping(const rgpu_other_mapping *mapping, bool is_quick, uint64_t *cycles,
                     bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  rgpu_outcome outcome;
  BF_TRY(rgpu_load_gpu("gtx480", false, &gpu, diagnostic));
  rgpu_run run = {.gpu = gpu,
                  .fabric = bf_rgpu_fabric_published(),
                  .copies = mapping->copies,
                  .is_quick = is_quick};
  run.fabric.folded = mapping->folded;
  int error = rgpu_run_graph(mapping->graph, &run, &outcome, diagnostic);
  *cycles = !error ? outcome.result.cycles : 0;
  bf_arena_free(&outcome.result.arena);
  bf_sim_gpu_free(gpu);
  return error;
}

/* ---- Side by side ---- */

/* A graph on the memory that it describes, after it has run. */
typedef struct ran_graph {
  bf_rgpu_graph *graph;
  bf_rgpu_setup *setup;
  unsigned char *memory;
  uint64_t cycles;
} ran_graph;

static void free_ran(ran_graph *own) {
  free(own->memory);
  bf_rgpu_setup_free(own->setup);
  bf_rgpu_free(own->graph);
}

/* Runs a graph of examples/rgpu with other parameters. */
static int run_alone(const bf_sim_gpu *gpu, const char *name, unsigned copies, unsigned parameters,
                     const char *const *parameter, ran_graph *own, bf_diagnostic *diagnostic) {
  bf_rgpu_sim_settings settings = {.gpu = gpu, .fabric = bf_rgpu_fabric_published()};
  bf_rgpu_sim_result result = {0};
  BF_TRY(bf_rgpu_parse(name, bf_reproduce_graph(name), &own->graph, diagnostic));
  BF_TRY(bf_rgpu_setup_create(own->graph, copies, parameters, parameter, &own->setup, diagnostic));
  BF_TRY(bf_rgpu_memory_create(own->setup, &own->memory, diagnostic));
  int error = bf_rgpu_simulate(&settings, own->setup, own->memory, &result, diagnostic);
  own->cycles = result.cycles;
  bf_arena_free(&result.arena);
  return error;
}

/* An array of a graph that ran. */
static const unsigned char *array_of(const ran_graph *own, const char *name, uint64_t *bytes) {
  const rgpu_data data = {.setup = own->setup, .memory = own->memory};
  *bytes = 4 * rgpu_elements(&data, name);
  return rgpu_array(&data, name);
}

/* Both must have computed the same, but for the first `skipped` words of every row. */
static int compare_arrays(const ran_graph *one, const char *array, const ran_graph *other,
                          const char *other_array, uint64_t row_words, uint64_t skipped,
                          bf_diagnostic *diagnostic) {
  uint64_t bytes, other_bytes;
  const unsigned char *at = array_of(one, array, &bytes);
  const unsigned char *other_at = array_of(other, other_array, &other_bytes);
  bool is_same = bytes == other_bytes;
  for (uint64_t row = 0; is_same && row < bytes; row += 4 * row_words)
    is_same = memcmp(at + row + 4 * skipped, other_at + row + 4 * skipped,
                     4 * (row_words - skipped)) == 0;
  if (!is_same)
    return bf_fail(diagnostic, BF_BAD_INPUT, "side by side, '%s' is not what '%s' is alone", array,
                   other_array);
  return BF_OK;
}

/* Lanes of a graph on a ring that has enough. */
static int count_lanes(const bf_rgpu_graph *graph, unsigned *lanes, bf_diagnostic *diagnostic) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = 1};
  bf_rgpu_mapping *mapping;
  options.ring.lanes = BF_RGPU_MOST_LANES;
  BF_TRY(bf_rgpu_map(graph, &options, &mapping, diagnostic));
  *lanes = mapping->fits ? mapping->lanes : 0;
  bf_rgpu_mapping_free(mapping);
  return BF_OK;
}

/* Words of a row of the image and of the box, as both graphs have them. */
enum { SIDE_PARAMETERS = 3, WIDTH = 1024, NX = 256 };

/* Sizes of the box: so that blocks are as many as those of the image. */
static int run_three(const bf_sim_gpu *gpu, bool is_quick, ran_graph ran[3],
                     bf_diagnostic *diagnostic) {
  static const char *const small[SIDE_PARAMETERS] = {"height=256", "nz=34", "run=8192"};
  const char *box[] = {is_quick ? "nz=34" : "nz=122"}, *image[] = {small[0]};
  BF_TRY(run_alone(gpu, "side", 1, is_quick ? SIDE_PARAMETERS : 0, small, &ran[0], diagnostic));
  BF_TRY(run_alone(gpu, "conv", rgpu_conv.copies, is_quick, image, &ran[1], diagnostic));
  BF_TRY(run_alone(gpu, "stencil", rgpu_stencil.copies, 1, box, &ran[2], diagnostic));
  /* The first two pixels of a row have no meaning (conv.df). */
  BF_TRY(compare_arrays(&ran[0], "blurred", &ran[1], "out", WIDTH, 2, diagnostic));
  return compare_arrays(&ran[0], "next_box", &ran[2], "out", NX, 0, diagnostic);
}

int rgpu_run_side(bool is_quick, rgpu_side *side, bf_diagnostic *diagnostic) {
  ran_graph ran[3] = {{0}};
  bf_sim_gpu *gpu;
  BF_TRY(rgpu_load_gpu("gtx480", false, &gpu, diagnostic));
  int error = run_three(gpu, is_quick, ran, diagnostic);
  if (!error)
    error = count_lanes(ran[0].graph, &side->lanes, diagnostic);
  side->together = ran[0].cycles;
  side->conv = ran[1].cycles;
  side->stencil = ran[2].cycles;
  for (unsigned i = 0; i < 3; i++)
    free_ran(&ran[i]);
  bf_sim_gpu_free(gpu);
  return error;
}
