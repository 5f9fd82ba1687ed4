/* Graphs: whatever is read is printed as text that reads and prints the same, can be set up or says
 * why not, and is drawn. */
#include "rgpu/draw.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printing(const bf_rgpu_graph *graph) {
  bf_text once = {0}, twice = {0};
  bf_rgpu_graph *again;
  bf_diagnostic diagnostic;
  bf_rgpu_print(graph, &once);
  assert(bf_rgpu_parse("again", once.data, &again, &diagnostic) == BF_OK);
  bf_rgpu_print(again, &twice);
  assert(strcmp(once.data, twice.data) == 0);
  assert(graph->edges == again->edges);
  bf_rgpu_free(again);
  bf_text_free(&once);
  bf_text_free(&twice);
}

static void check_setup(const bf_rgpu_graph *graph) {
  bf_rgpu_setup *setup;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_setup_create(graph, 2, 0, NULL, &setup, &diagnostic) != BF_OK) {
    assert(diagnostic.message[0]);
    return;
  }
  for (unsigned i = 0; i < graph->nodes; i++) {
    uint32_t bits;
    const bf_rgpu_operand *operand = &graph->node[i].operand[1];
    if (operand->source == BF_RGPU_FROM_CONSTANT && !operand->constant.is_element)
      bf_rgpu_value_bits(setup, &operand->constant, bf_rgpu_operand_is_float(&graph->node[i], 1),
                         (bf_rgpu_where){.block = 3}, NULL, &bits, &diagnostic);
  }
  bf_rgpu_setup_free(setup);
}

static void check_pictures(const bf_rgpu_graph *graph) {
  bf_text dot = {0}, svg = {0};
  bf_diagnostic diagnostic;
  bf_rgpu_dot(graph, &dot);
  if (graph->nodes <= 40)
    assert(bf_rgpu_svg(graph, &svg, &diagnostic) == BF_OK);
  bf_text_free(&dot);
  bf_text_free(&svg);
}

static void check_mapping(const bf_rgpu_graph *graph) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = 1, .most_states = 2000};
  bf_rgpu_mapping *mapping;
  bf_diagnostic diagnostic;
  int error = bf_rgpu_map(graph, &options, &mapping, &diagnostic);
  assert(error == BF_OK || error == BF_UNSUPPORTED);
  if (error != BF_OK)
    return;
  assert(mapping->reason && mapping->reason[0]);
  assert(bf_rgpu_mapping_check(mapping, &diagnostic) == BF_OK);
  bf_rgpu_mapping_free(mapping);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = 0;
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_parse("fuzz", text, &graph, &diagnostic) == BF_OK) {
    check_printing(graph);
    check_setup(graph);
    check_pictures(graph);
    check_mapping(graph);
    bf_rgpu_free(graph);
  } else {
    assert(diagnostic.message[0]);
  }
  free(text);
  return 0;
}
