/* bankfold rgpu show: a graph as text, picture or numbers. */
#include "cli/wire/rgpu.h"
#include "rgpu/draw.h"

#include <string.h>

/* How many nodes run on cores with integers, with floats, and on units. */
typedef struct tally {
  unsigned integers, floats, units;
} tally;

static tally count(const bf_rgpu_graph *graph) {
  tally found = {0};
  for (unsigned i = 0; i < graph->nodes; i++)
    if (bf_rgpu_is_memory(&graph->node[i]))
      found.units++;
    else if (bf_rgpu_type_is_float(graph->node[i].type))
      found.floats++;
    else
      found.integers++;
  return found;
}

static void write_json_node(bf_json *json, const bf_rgpu_graph *graph, const bf_rgpu_node *node) {
  bf_text instruction = {0};
  bf_rgpu_print_node(graph, node, &instruction);
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "name", node->name);
  bf_json_string(json, "op", bf_rgpu_op_get(node->op)->name);
  bf_json_string(json, "type", bf_rgpu_type_name(node->type));
  bf_json_string(json, "instruction", instruction.data);
  bf_json_number(json, "line", node->line);
  bf_json_end(json, '}');
  json->text->failed |= instruction.failed;
  bf_text_free(&instruction);
}

static void write_json(bf_json *json, const bf_rgpu_graph *graph) {
  tally found = count(graph);
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "graph", graph->name);
  bf_json_string(json, "file", graph->file);
  bf_json_number(json, "integer_cores", found.integers);
  bf_json_number(json, "float_cores", found.floats);
  bf_json_number(json, "units", found.units);
  bf_json_begin(json, "nodes", '[', false);
  for (unsigned i = 0; i < graph->nodes; i++)
    write_json_node(json, graph, &graph->node[i]);
  bf_json_end(json, ']');
  bf_json_begin(json, "edges", '[', false);
  for (unsigned i = 0; i < graph->edges; i++) {
    const bf_rgpu_edge *edge = &graph->edge[i];
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "from", graph->node[edge->from].name);
    bf_json_string(json, "to", graph->node[edge->to].name);
    if (edge->position == BF_RGPU_PREDICATE)
      bf_json_string(json, "operand", NULL);
    else
      bf_json_number(json, "operand", edge->position);
    bf_json_number(json, "initial", edge->initial);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
  bf_json_end(json, '}');
}

/* Writes the pictures that were asked for. */
static int draw(const cli_rgpu_settings *s, const bf_rgpu_graph *graph) {
  bf_diagnostic diagnostic;
  if (s->dot) {
    bf_text text = {0};
    bf_rgpu_dot(graph, &text);
    int status = cli_write(s->dot, &text);
    if (status != CLI_OK)
      return status;
  }
  if (s->svg) {
    bf_text text = {0};
    if (bf_rgpu_svg(graph, &text, &diagnostic) != BF_OK) {
      bf_text_free(&text);
      return cli_complain(&diagnostic);
    }
    return cli_write(s->svg, &text);
  }
  return CLI_OK;
}

int cli_rgpu_show(const cli_rgpu_settings *s, const char *file) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (cli_rgpu_read(file, &graph, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  int status = draw(s, graph);
  bool is_taken = cli_rgpu_same_output(s->svg, "-") || cli_rgpu_same_output(s->dot, "-");
  if (s->common.json)
    write_json(&json, graph);
  else if (!s->svg && !s->dot)
    bf_rgpu_print(graph, &text);
  bf_rgpu_free(graph);
  if (status == CLI_OK && !is_taken && (text.size || text.failed))
    return cli_print(&text);
  bf_text_free(&text);
  return status;
}
