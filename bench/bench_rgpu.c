/* How long the mapper takes for the examples: until the fewest lanes of one copy are proven, and
 * for as many copies as fit. Prints one JSON line per graph. */
#include "rgpu/map.h"

#include <stdlib.h>

enum { RUNS = 21 };

static void complain(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_rgpu: %s\n", diagnostic->message);
  exit(1);
}

/* Least time of RUNS mappings with so many copies (0: as many as fit); *lanes and *found of one. */
static double time_mapping(const bf_rgpu_graph *graph, unsigned copies, unsigned *lanes,
                           unsigned *found, bool *proven) {
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = copies};
  double best = 1e300;
  for (int i = 0; i < RUNS; i++) {
    bf_diagnostic diagnostic;
    bf_rgpu_mapping *mapping;
    if (bf_rgpu_map(graph, &options, &mapping, &diagnostic) != BF_OK)
      complain(&diagnostic);
    best = mapping->seconds < best ? mapping->seconds : best;
    *lanes = mapping->lanes;
    *found = mapping->copies;
    *proven = mapping->lanes_proven;
    bf_rgpu_mapping_free(mapping);
  }
  return best;
}

static void measure(const char *path) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  unsigned lanes, all_lanes, one, copies;
  bool proven, all_proven;
  if (bf_rgpu_read(path, &graph, &diagnostic) != BF_OK)
    complain(&diagnostic);
  double one_seconds = time_mapping(graph, 1, &lanes, &one, &proven);
  double all_seconds = time_mapping(graph, 0, &all_lanes, &copies, &all_proven);
  printf("{\"bench\": \"rgpu_map\", \"graph\": \"%s\", \"nodes\": %u, \"lanes\": %u, \"proven\": "
         "%s, \"microseconds\": %.1f, \"copies\": %u, \"lanes_of_copies\": %u, "
         "\"microseconds_of_copies\": %.1f}\n",
         graph->name, graph->nodes, lanes, proven ? "true" : "false", one_seconds * 1e6, copies,
         all_lanes, all_seconds * 1e6);
  bf_rgpu_free(graph);
}

int main(int count, char **arguments) {
  if (count > 1) {
    for (int i = 1; i < count; i++)
      measure(arguments[i]);
    return 0;
  }
  measure("examples/rgpu/conv.df");
  measure("examples/rgpu/integral.df");
  return 0;
}
