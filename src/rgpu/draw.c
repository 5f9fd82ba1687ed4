/* What pictures of rgpu have in common, and graphs for Graphviz. */
#include "rgpu/draw.h"

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:11px}"
    ".head{font-size:15px;font-weight:600}.paper{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#656d76}"
    ".mid{text-anchor:middle}.name{font-weight:600}.on{fill:#ffffff}.off{fill:#12261a}"
    ".int{fill:#2f7d4f}.float{fill:#a9dfb6}.unit{fill:#f2b8a0}"
    ".box{stroke:#57606a;stroke-width:1}.idle{fill:none;stroke:#c4cad1}.line{stroke:#d8dde3}"
    ".edge{fill:none;stroke:#57606a;stroke-width:1.4}.loop{stroke-dasharray:5 3}"
    ".wire{fill:none;stroke:currentColor;stroke-width:2.2}.tip{fill:currentColor}"
    ".arrow{fill:#57606a}.mark{fill:#fff3c4;stroke:#9a6700}"
    ".c0{color:#0969da}.c1{color:#cf222e}.c2{color:#1a7f37}.c3{color:#9a6700}.c4{color:#8250df}"
    ".c5{color:#bf3989}.c6{color:#0e8a8a}.c7{color:#953800}.c8{color:#57606a}.c9{color:#4b7a0a}"
    "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#8d96a0}"
    ".idle{stroke:#3d444d}.line{stroke:#2a3038}.edge{stroke:#8d96a0}.arrow{fill:#8d96a0}"
    ".c0{color:#58a6ff}.c1{color:#ff7b72}.c2{color:#3fb950}.c3{color:#d8a827}.c4{color:#bc8cff}"
    ".c5{color:#f778ba}.c6{color:#39c5cf}.c7{color:#f0883e}.c8{color:#9aa4af}.c9{color:#8fcf3c}}";

void rgpu_begin_svg(int width, int height, const char *heading, const char *below, bf_text *text) {
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "viewBox=\"0 0 %d %d\" role=\"img\">\n<style>%s</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n"
               "<text x=\"%d\" y=\"%d\" class=\"ink head\">",
               width, height, width, height, style, RGPU_SVG_MARGIN, RGPU_SVG_MARGIN + 12);
  bf_markup_escape(heading, text);
  bf_text_addf(text, "</text>\n<text x=\"%d\" y=\"%d\" class=\"dim\">", RGPU_SVG_MARGIN,
               RGPU_SVG_MARGIN + 30);
  bf_markup_escape(below, text);
  bf_text_puts(text, "</text>\n");
}

void rgpu_end_svg(bf_text *text) { bf_text_puts(text, "</svg>\n"); }

const char *rgpu_node_class(const bf_rgpu_node *node) {
  return bf_rgpu_is_memory(node) ? "unit" : bf_rgpu_type_is_float(node->type) ? "float" : "int";
}

void rgpu_op_text(const bf_rgpu_node *node, bf_text *text) {
  bf_rgpu_cache usual = node->op == BF_RGPU_LD ? BF_RGPU_CACHE_CA : BF_RGPU_CACHE_WB;
  bf_text_puts(text, bf_rgpu_op_get(node->op)->name);
  if (node->op == BF_RGPU_INC)
    return;
  if (bf_rgpu_is_memory(node) && node->is_shared)
    bf_text_puts(text, ".shared");
  if (bf_rgpu_is_memory(node) && node->cache != usual)
    bf_text_addf(text, ".%s", bf_rgpu_cache_name(node->cache));
  bf_text_addf(text, ".%s", bf_rgpu_type_name(node->type));
}

void rgpu_node_title(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text) {
  bf_text plain = {0};
  bf_text_addf(&plain, "%s = ", node->name);
  bf_rgpu_print_node(graph, node, &plain);
  bf_text_puts(text, "<title>");
  bf_markup_escape(plain.failed ? "" : plain.data, text);
  bf_text_puts(text, "</title>");
  text->failed |= plain.failed;
  bf_text_free(&plain);
}

/* ---- Graphviz ---- */

static void write_dot_node(const bf_rgpu_node *node, bf_text *text) {
  const char *kind = rgpu_node_class(node);
  bf_text_addf(text, "  \"%s\" [label=\"%s\\n", node->name, node->name);
  rgpu_op_text(node, text);
  bf_text_addf(text, "\", shape=%s, fillcolor=\"%s\", fontcolor=\"%s\"];\n",
               kind[0] == 'u' ? "box" : "ellipse",
               kind[0] == 'u'   ? "#f2b8a0"
               : kind[0] == 'f' ? "#a9dfb6"
                                : "#2f7d4f",
               kind[0] == 'i' ? "#ffffff" : "#12261a");
}

/* An edge, with the number of its initial values and, for readers of several operands, of its
 * operand. */
static void write_dot_edge(const bf_rgpu_graph *graph, const bf_rgpu_edge *edge, bf_text *text) {
  bf_text_addf(text, "  \"%s\" -> \"%s\" [", graph->node[edge->from].name,
               graph->node[edge->to].name);
  if (edge->initial)
    bf_text_addf(text, "label=\"%u\", ", edge->initial);
  bf_text_addf(text, "headlabel=\"%c\"%s];\n",
               edge->position == BF_RGPU_PREDICATE ? '@' : (char)('a' + edge->position),
               edge->initial && edge->from != edge->to ? ", style=dashed" : "");
}

void bf_rgpu_dot(const bf_rgpu_graph *graph, bf_text *text) {
  bf_text_addf(text,
               "digraph \"%s\" {\n  node [style=filled, fontname=\"sans-serif\"];\n"
               "  edge [fontname=\"sans-serif\", fontsize=10];\n",
               graph->name);
  for (unsigned i = 0; i < graph->nodes; i++)
    write_dot_node(&graph->node[i], text);
  for (unsigned i = 0; i < graph->edges; i++)
    write_dot_edge(graph, &graph->edge[i], text);
  bf_text_puts(text, "}\n");
}
