/* rgpu: pictures of graphs and mappings. */
#ifndef BF_RGPU_DRAW_H
#define BF_RGPU_DRAW_H

#include "rgpu/map.h"

/* The graph in the language of Graphviz. */
void bf_rgpu_dot(const bf_rgpu_graph *graph, bf_text *text);
/* The graph as SVG, in layers from top to bottom. */
int bf_rgpu_svg(const bf_rgpu_graph *graph, bf_text *text, bf_diagnostic *diagnostic);
/* A mapping that fits as SVG: units above, lanes, cores below, slot by slot. */
void bf_rgpu_mapping_svg(const bf_rgpu_mapping *mapping, bf_text *text);

/* ---- Inside ---- */

/* Start of a picture of that size, with a heading and a line below it, and its end. */
void rgpu_begin_svg(int width, int height, const char *heading, const char *below, bf_text *text);
void rgpu_end_svg(bf_text *text);
/* Class of a node's box: int, float or unit. */
const char *rgpu_node_class(const bf_rgpu_node *node);
/* The operation in short: mad.f32, ld.wait.f32. */
void rgpu_op_text(const bf_rgpu_node *node, bf_text *text);
/* What is shown when one points at a node: the whole instruction. */
void rgpu_node_title(const bf_rgpu_graph *graph, const bf_rgpu_node *node, bf_text *text);

enum { RGPU_SVG_MARGIN = 16, RGPU_SVG_HEAD = 52, RGPU_SVG_COLOURS = 10 };

#endif
