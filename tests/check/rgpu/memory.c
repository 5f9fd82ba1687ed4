/* Lets allocation number 0, 1, 2, ... fail while a graph is read, printed, set up, mapped, traded
 * and drawn, and while one is taken out of PTX: each time the answer is that memory ran out. Leaks
 * are found by the sanitizer. memory GRAPH | memory PTX LINE */
#include "../failing_memory.h"
#include "rgpu/draw.h"
#include "rgpu/extract.h"

#include <string.h>

static char text[1 << 20];

static int try_parse(const void *unused) {
  bf_rgpu_graph *graph;
  (void)unused;
  int result = verdict(bf_rgpu_parse("test", text, &graph, NULL));
  bf_rgpu_free(graph);
  return result;
}

static int try_print(const void *graph) {
  bf_text printed = {0};
  bf_rgpu_print(graph, &printed);
  int result = verdict(printed.failed ? BF_NO_MEMORY : BF_OK);
  bf_text_free(&printed);
  return result;
}

static int try_setup(const void *graph) {
  bf_rgpu_setup *setup;
  int result = verdict(bf_rgpu_setup_create(graph, 2, 0, NULL, &setup, NULL));
  bf_rgpu_setup_free(setup);
  return result;
}

static int try_map(const void *graph) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual()};
  bf_rgpu_mapping *mapping;
  int result = verdict(bf_rgpu_map(graph, &options, &mapping, NULL));
  bf_rgpu_mapping_free(mapping);
  return result;
}

/* One lane is too few: the reason is asked for. */
static int try_refusal(const void *graph) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = 1};
  bf_rgpu_mapping *mapping;
  options.ring.lanes = 1;
  int result = verdict(bf_rgpu_map(graph, &options, &mapping, NULL));
  bf_rgpu_mapping_free(mapping);
  return result;
}

static int try_trades(const void *graph) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual()};
  bf_rgpu_trade trades[BF_RGPU_MOST_TRADES];
  unsigned count;
  return verdict(bf_rgpu_map_trades(graph, &options, trades, &count, NULL));
}

/* Three lanes: one graph of those tried needs to be changed for them. */
static int try_recompute(const void *graph) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual()};
  bf_rgpu_graph *changed;
  options.ring.lanes = 3;
  int result = verdict(bf_rgpu_recompute(graph, &options, &changed, NULL));
  bf_rgpu_free(changed);
  return result;
}

static int try_svg(const void *graph) {
  bf_text drawn = {0};
  int result = verdict(bf_rgpu_svg(graph, &drawn, NULL));
  bf_text_free(&drawn);
  return result;
}

static int try_mapping_svg(const void *mapping) {
  bf_text drawn = {0};
  bf_rgpu_mapping_svg(mapping, &drawn);
  int result = verdict(drawn.failed ? BF_NO_MEMORY : BF_OK);
  bf_text_free(&drawn);
  return result;
}

static int try_dot(const void *graph) {
  bf_text drawn = {0};
  bf_rgpu_dot(graph, &drawn);
  int result = verdict(drawn.failed ? BF_NO_MEMORY : BF_OK);
  bf_text_free(&drawn);
  return result;
}

static uint64_t line;

static int try_extract(const void *module) {
  bf_text graph = {0};
  int result = verdict(bf_rgpu_extract(module, NULL, line, &graph, NULL));
  bf_text_free(&graph);
  return result;
}

static bool check_graph(void) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual()};
  bf_rgpu_graph *graph;
  bf_rgpu_mapping *mapping;
  bool fine = all_fail_well("parse", try_parse, NULL);
  if (bf_rgpu_parse("test", text, &graph, NULL) != BF_OK)
    return false;
  fine &= all_fail_well("print", try_print, graph);
  fine &= all_fail_well("setup", try_setup, graph);
  fine &= all_fail_well("map", try_map, graph);
  fine &= all_fail_well("refusal", try_refusal, graph);
  fine &= all_fail_well("trades", try_trades, graph);
  fine &= all_fail_well("recompute", try_recompute, graph);
  fine &= all_fail_well("svg", try_svg, graph);
  fine &= all_fail_well("dot", try_dot, graph);
  if (bf_rgpu_map(graph, &options, &mapping, NULL) != BF_OK)
    return false;
  fine &= all_fail_well("svg of the mapping", try_mapping_svg, mapping);
  bf_rgpu_mapping_free(mapping);
  bf_rgpu_free(graph);
  return fine;
}

static bool check_ptx(void) {
  bf_ptx_module *module;
  if (bf_ptx_parse("test", text, strlen(text), &module, NULL) != BF_OK)
    return false;
  bool fine = all_fail_well("extract", try_extract, module);
  bf_ptx_free(module);
  return fine;
}

int main(int count, char **argument) {
  FILE *file = count > 1 ? fopen(argument[1], "rb") : NULL;
  if (!file)
    return 2;
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = 0;
  line = count > 2 ? strtoull(argument[2], NULL, 10) : 0;
  return (count > 2 ? check_ptx() : check_graph()) ? 0 : 1;
}
