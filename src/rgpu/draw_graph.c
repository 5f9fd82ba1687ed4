/* Graphs as SVG: nodes in layers from top to bottom, each below what it reads. Edges that cross
 * layers bend around the nodes there, at points that take part in the arrangement like nodes. */
#include "rgpu/draw.h"

#include <stdlib.h>

/* Lengths in user units (pixels at natural size). */
enum {
  BOX_WIDTH = 92,
  BOX_HEIGHT = 36,
  LAYER = 78,
  GAP = 40,
  BEND_GAP = 16,
  BEND_WIDTH = 10,
  SIDE = 28
};
/* Larger graphs are for Graphviz. */
enum { MOST_NODES = 256, MOST_BENDS = 2000 };
/* Times that layers are arranged by their neighbours. */
enum { ORDER_PASSES = 12, PLACE_PASSES = 16 };

/* A node, or a bend of an edge. */
typedef struct item {
  unsigned layer, place; /* from the left */
  double x;              /* of its middle */
  bool is_bend;
  double key; /* while sorting */
} item;

/* Edge number `edge` goes from item to item, layer by layer. */
typedef struct link {
  unsigned from, to;
} link;

typedef struct layout {
  const bf_rgpu_graph *graph;
  item *items;
  link *links;
  unsigned *first_bend; /* of each edge: the first of its bends */
  bool *is_loop;        /* of each edge: goes up */
  unsigned item_count, link_count, layers;
  unsigned **layer; /* items of each layer, by place */
  unsigned *layer_size;
  bf_arena arena;
} layout;

/* ---- Layers ---- */

/* Whether results of `from` come to `to`, not looking at nodes already seen. */
static bool reaches(const bf_rgpu_graph *graph, unsigned from, unsigned to, bool *seen) {
  if (from == to)
    return true;
  seen[from] = true;
  for (unsigned i = 0; i < graph->edges; i++)
    if (graph->edge[i].from == from && !seen[graph->edge[i].to] &&
        reaches(graph, graph->edge[i].to, to, seen))
      return true;
  return false;
}

/* Edges with initial values that close a cycle go up. */
static int find_loops(layout *l) {
  const bf_rgpu_graph *graph = l->graph;
  for (unsigned i = 0; i < graph->edges; i++) {
    const bf_rgpu_edge *edge = &graph->edge[i];
    if (!edge->initial)
      continue;
    bool *seen = calloc(graph->nodes, sizeof *seen);
    if (!seen)
      return BF_NO_MEMORY;
    l->is_loop[i] = reaches(graph, edge->to, edge->from, seen);
    free(seen);
  }
  return BF_OK;
}

/* Each node below those it reads; those that read nothing just above their readers. */
static void set_layers(layout *l) {
  const bf_rgpu_graph *graph = l->graph;
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < graph->edges; i++) {
      item *from = &l->items[graph->edge[i].from], *to = &l->items[graph->edge[i].to];
      if (!l->is_loop[i] && to->layer < from->layer + 1) {
        to->layer = from->layer + 1;
        changed = true;
      }
    }
  }
  for (unsigned n = 0; n < graph->nodes; n++) {
    unsigned lowest = UINT32_MAX, highest = 0;
    for (unsigned i = 0; i < graph->edges; i++) {
      if (l->is_loop[i])
        continue;
      if (graph->edge[i].to == n)
        highest = 1;
      if (graph->edge[i].from == n && l->items[graph->edge[i].to].layer < lowest)
        lowest = l->items[graph->edge[i].to].layer;
    }
    if (!highest && lowest != UINT32_MAX)
      l->items[n].layer = lowest - 1;
  }
}

/* ---- Bends and links ---- */

static unsigned count_bends(const layout *l) {
  unsigned bends = 0;
  for (unsigned i = 0; i < l->graph->edges; i++) {
    const bf_rgpu_edge *edge = &l->graph->edge[i];
    if (!l->is_loop[i])
      bends += l->items[edge->to].layer - l->items[edge->from].layer - 1;
  }
  return bends;
}

/* Makes the bends of every edge and links them. items and links have room. */
static void add_bends(layout *l) {
  for (unsigned i = 0; i < l->graph->edges; i++) {
    const bf_rgpu_edge *edge = &l->graph->edge[i];
    unsigned before = edge->from;
    l->first_bend[i] = l->item_count;
    if (l->is_loop[i])
      continue;
    for (unsigned at = l->items[edge->from].layer + 1; at < l->items[edge->to].layer; at++) {
      l->items[l->item_count] = (item){.layer = at, .is_bend = true};
      l->links[l->link_count++] = (link){before, l->item_count};
      before = l->item_count++;
    }
    l->links[l->link_count++] = (link){before, edge->to};
  }
}

static int fill_layers(layout *l) {
  for (unsigned i = 0; i < l->item_count; i++)
    l->layers = l->items[i].layer + 1 > l->layers ? l->items[i].layer + 1 : l->layers;
  l->layer = bf_arena_alloc(&l->arena, l->layers * sizeof *l->layer);
  l->layer_size = bf_arena_alloc(&l->arena, l->layers * sizeof *l->layer_size);
  if (!l->layer || !l->layer_size)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < l->item_count; i++)
    l->layer_size[l->items[i].layer]++;
  for (unsigned at = 0; at < l->layers; at++) {
    l->layer[at] = bf_arena_alloc(&l->arena, l->layer_size[at] * sizeof **l->layer);
    if (!l->layer[at])
      return BF_NO_MEMORY;
    l->layer_size[at] = 0;
  }
  for (unsigned i = 0; i < l->item_count; i++) {
    unsigned at = l->items[i].layer;
    l->items[i].place = l->layer_size[at];
    l->layer[at][l->layer_size[at]++] = i;
  }
  return BF_OK;
}

/* ---- Arrangement ---- */

/* Mean of a measure over the neighbours of each item of a layer, into key; own where it has none.
 * up: neighbours above. */
static void set_keys(layout *l, unsigned at, bool up, bool by_place) {
  for (unsigned i = 0; i < l->layer_size[at]; i++) {
    unsigned number = l->layer[at][i], count = 0;
    double sum = 0;
    for (unsigned k = 0; k < l->link_count; k++) {
      if ((up ? l->links[k].to : l->links[k].from) != number)
        continue;
      const item *other = &l->items[up ? l->links[k].from : l->links[k].to];
      sum += by_place ? other->place : other->x;
      count++;
    }
    item *own = &l->items[number];
    own->key = count ? sum / count : by_place ? own->place : own->x;
  }
}

static void sort_layer(layout *l, unsigned at) {
  unsigned *order = l->layer[at];
  for (unsigned i = 1; i < l->layer_size[at]; i++) {
    unsigned number = order[i], to = i;
    for (; to > 0 && l->items[order[to - 1]].key > l->items[number].key; to--)
      order[to] = order[to - 1];
    order[to] = number;
  }
  for (unsigned i = 0; i < l->layer_size[at]; i++)
    l->items[order[i]].place = i;
}

static double half_width(const item *one) { return one->is_bend ? BEND_WIDTH / 2 : BOX_WIDTH / 2; }

/* Puts items at their keys, as far as they leave room for each other; what that pushed to the right
 * on average is taken back. */
static void spread_layer(layout *l, unsigned at) {
  double pushed = 0, right = -1e9;
  bool after_bend = false;
  for (unsigned i = 0; i < l->layer_size[at]; i++) {
    item *one = &l->items[l->layer[at][i]];
    double least = right + half_width(one) + (after_bend ? BEND_GAP : GAP);
    one->x = one->key > least ? one->key : least;
    right = one->x + half_width(one);
    after_bend = one->is_bend;
    pushed += one->x - one->key;
  }
  for (unsigned i = 0; i < l->layer_size[at]; i++)
    l->items[l->layer[at][i]].x -= pushed / l->layer_size[at];
}

/* Down and up in turn: first the order, then the places. */
static void arrange(layout *l) {
  for (unsigned pass = 0; pass < ORDER_PASSES; pass++)
    for (unsigned k = 1; k < l->layers; k++) {
      unsigned at = pass % 2 ? l->layers - 1 - k : k;
      set_keys(l, at, pass % 2 == 0, true);
      sort_layer(l, at);
    }
  for (unsigned i = 0; i < l->item_count; i++)
    l->items[i].key = l->items[i].x = l->items[i].place * (double)(BOX_WIDTH + GAP);
  for (unsigned at = 0; at < l->layers; at++)
    spread_layer(l, at);
  for (unsigned pass = 0; pass < PLACE_PASSES; pass++)
    for (unsigned k = 1; k < l->layers; k++) {
      unsigned at = pass % 2 ? l->layers - 1 - k : k;
      set_keys(l, at, pass % 2 == 0, false);
      spread_layer(l, at);
    }
}

/* Moves everything so that it starts at the margin; returns the width of the picture. */
static int align(layout *l) {
  double low = 1e9, high = -1e9;
  for (unsigned i = 0; i < l->item_count; i++) {
    double left = l->items[i].x - half_width(&l->items[i]);
    double right = l->items[i].x + half_width(&l->items[i]);
    low = left < low ? left : low;
    high = right > high ? right : high;
  }
  for (unsigned i = 0; i < l->item_count; i++)
    l->items[i].x += RGPU_SVG_MARGIN - low;
  return (int)(high - low) + 2 * RGPU_SVG_MARGIN + SIDE;
}

/* ---- Drawing ---- */

static int layer_y(unsigned layer) { return RGPU_SVG_MARGIN + RGPU_SVG_HEAD + (int)layer * LAYER; }

static void write_node(const layout *l, unsigned number, bf_text *text) {
  const bf_rgpu_node *node = &l->graph->node[number];
  const item *one = &l->items[number];
  const char *kind = rgpu_node_class(node), *ink = kind[0] == 'i' ? "on" : "off";
  int x = (int)one->x, y = layer_y(one->layer);
  bf_text_puts(text, "<g>");
  rgpu_node_title(l->graph, node, text);
  bf_text_addf(text,
               "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"box %s\"/>"
               "<text x=\"%d\" y=\"%d\" class=\"mid name %s\">%.13s</text>"
               "<text x=\"%d\" y=\"%d\" class=\"mid %s\">",
               x - BOX_WIDTH / 2, y, BOX_WIDTH, BOX_HEIGHT, kind[0] == 'u' ? 2 : 12, kind, x,
               y + 15, ink, node->name, x, y + 29, ink);
  rgpu_op_text(node, text);
  bf_text_puts(text, "</text></g>\n");
}

/* The number of initial values, in a circle. */
static void write_initial(unsigned initial, int x, int y, bf_text *text) {
  if (initial)
    bf_text_addf(text,
                 "<g><title>%u initial values</title><circle cx=\"%d\" cy=\"%d\" r=\"8\" "
                 "class=\"mark\"/><text x=\"%d\" y=\"%d\" class=\"mid off\">%u</text></g>\n",
                 initial, x, y, x, y + 4, initial);
}

static void write_arrow(int x, int y, bf_text *text) {
  bf_text_addf(text, "<path d=\"M%d %dl-4 -7h8z\" class=\"arrow\"/>", x, y);
}

/* Where on the top of its reader an edge ends: operands side by side. */
static int entry_x(const layout *l, const bf_rgpu_edge *edge) {
  int shift = edge->position == BF_RGPU_PREDICATE ? 36 : ((int)edge->position - 1) * 20;
  if (bf_rgpu_op_get(l->graph->node[edge->to].op)->operands == 1 && edge->position == 0)
    shift = 0;
  return (int)l->items[edge->to].x + shift;
}

/* An edge that goes down, through its bends. */
static void write_edge(const layout *l, unsigned number, bf_text *text) {
  const bf_rgpu_edge *edge = &l->graph->edge[number];
  unsigned from = l->items[edge->from].layer, to = l->items[edge->to].layer;
  int x = (int)l->items[edge->from].x, y = layer_y(from) + BOX_HEIGHT;
  bf_text_addf(text, "<path d=\"M%d %d", x, y);
  for (unsigned at = from + 1; at <= to; at++) {
    const item *next = &l->items[at == to ? edge->to : l->first_bend[number] + at - from - 1];
    int next_x = at == to ? entry_x(l, edge) : (int)next->x;
    int next_y = at == to ? layer_y(at) - 6 : layer_y(at), half = (next_y - y) / 2;
    bf_text_addf(text, "C%d %d %d %d %d %d", x, y + half, next_x, next_y - half, next_x, next_y);
    x = next_x;
    y = next_y;
    if (at < to) {
      y += BOX_HEIGHT;
      bf_text_addf(text, "V%d", y);
    }
  }
  bf_text_puts(text, "\" class=\"edge\"/>");
  write_arrow(x, layer_y(to), text);
  bf_text_puts(text, "\n");
  write_initial(edge->initial, x, layer_y(to) - 15, text);
}

/* An edge that goes up, at the right side of both nodes, or from a node to itself. */
static void write_loop(const layout *l, unsigned number, bf_text *text) {
  const bf_rgpu_edge *edge = &l->graph->edge[number];
  const item *from = &l->items[edge->from], *to = &l->items[edge->to];
  int start_x = (int)from->x + BOX_WIDTH / 2, start_y = layer_y(from->layer) + BOX_HEIGHT - 10;
  int end_x = (int)to->x + BOX_WIDTH / 2, end_y = layer_y(to->layer) + 10;
  int side = (start_x > end_x ? start_x : end_x) + SIDE;
  bf_text_addf(text,
               "<path d=\"M%d %dC%d %d %d %d %d %d\" class=\"edge loop\"/>"
               "<path d=\"M%d %dl7 -4v8z\" class=\"arrow\"/>\n",
               start_x, start_y, side, start_y, side, end_y, end_x + 6, end_y, end_x, end_y);
  /* The middle of the curve. */
  write_initial(edge->initial, (start_x + end_x + 6 * side) / 8, (start_y + end_y) / 2, text);
}

static void draw(const layout *l, int width, bf_text *text) {
  bf_text head = {0};
  int height = layer_y(l->layers - 1) + BOX_HEIGHT + RGPU_SVG_MARGIN;
  bf_text_addf(&head, "%s: %u nodes", l->graph->name, l->graph->nodes);
  text->failed |= head.failed;
  rgpu_begin_svg(width < 420 ? 420 : width, height, head.data ? head.data : "",
                 "dark: integers, light: floats, red: memory; circles: initial values in a FIFO",
                 text);
  bf_text_free(&head);
  for (unsigned i = 0; i < l->graph->edges; i++)
    if (l->is_loop[i])
      write_loop(l, i, text);
    else
      write_edge(l, i, text);
  for (unsigned i = 0; i < l->graph->nodes; i++)
    write_node(l, i, text);
  rgpu_end_svg(text);
}

static int lay_out(layout *l) {
  unsigned nodes = l->graph->nodes, edges = l->graph->edges;
  l->items = bf_arena_alloc(&l->arena, nodes * sizeof *l->items);
  l->is_loop = bf_arena_alloc(&l->arena, edges * sizeof *l->is_loop);
  l->first_bend = bf_arena_alloc(&l->arena, edges * sizeof *l->first_bend);
  if (!l->items || !l->is_loop || !l->first_bend)
    return BF_NO_MEMORY;
  BF_TRY(find_loops(l));
  set_layers(l);
  unsigned bends = count_bends(l);
  if (bends > MOST_BENDS)
    return BF_UNSUPPORTED;
  item *all = bf_arena_alloc(&l->arena, (nodes + bends) * sizeof *all);
  l->links = bf_arena_alloc(&l->arena, (edges + bends) * sizeof *l->links);
  if (!all || !l->links)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < nodes; i++)
    all[i] = l->items[i];
  l->items = all;
  l->item_count = nodes;
  add_bends(l);
  BF_TRY(fill_layers(l));
  arrange(l);
  return BF_OK;
}

int bf_rgpu_svg(const bf_rgpu_graph *graph, bf_text *text, bf_diagnostic *diagnostic) {
  layout l = {.graph = graph};
  int error = graph->nodes > MOST_NODES ? BF_UNSUPPORTED : lay_out(&l);
  if (!error)
    draw(&l, align(&l), text);
  bf_arena_free(&l.arena);
  if (error == BF_UNSUPPORTED)
    return bf_fail_file(diagnostic, error, graph->file,
                        "more than %d nodes or %d bends of edges; Graphviz can draw --dot",
                        MOST_NODES, MOST_BENDS);
  return !error && !text->failed ? BF_OK : bf_no_memory(diagnostic);
}
