/* Mappings as SVG. Every slot is a column: its load/store unit above, the six lanes, its core
 * below. Inside a column, from left to right: what the core before writes, what the unit reads and
 * writes, what the core reads; so every result runs from left to right. */
#include "rgpu/draw.h"

/* Lengths in user units (pixels at natural size). */
enum {
  LEFT = 40,
  COLUMN = 38,
  BOX = 92,
  LANE = 17,
  GAP = 20,
  CORE_WRITES = 2,
  UNIT_READS = 6,
  UNIT_WRITES = 17,
  CORE_READS = 22,
  STEP = 5,
};

typedef struct picture {
  const bf_rgpu_mapping *m;
  int lanes_top, cores_top, height, width;
  bf_text *text;
} picture;

static int column_x(unsigned slot) { return RGPU_SVG_MARGIN + LEFT + (int)slot * COLUMN; }

static int lane_y(const picture *p, int lane) { return p->lanes_top + lane * LANE + LANE / 2; }

/* ---- Boxes ---- */

/* Two lines of text, bottom to top, in the box at x, y. */
static void write_words(const picture *p, const bf_rgpu_node *node, int x, int y) {
  const char *ink = rgpu_node_class(node)[0] == 'i' ? "on" : "off";
  int foot = y + BOX - 6;
  bf_text_addf(p->text, "<text transform=\"translate(%d %d) rotate(-90)\" class=\"name %s\">%.13s",
               x + 14, foot, ink, node->name);
  bf_text_addf(p->text, "</text><text transform=\"translate(%d %d) rotate(-90)\" class=\"%s\">",
               x + 28, foot, ink);
  rgpu_op_text(node, p->text);
  bf_text_puts(p->text, "</text>");
}

static void write_box(const picture *p, const bf_rgpu_node *node, unsigned slot, int y) {
  int x = column_x(slot) + 1;
  bf_text_puts(p->text, "<g>");
  rgpu_node_title(p->m->graph, node, p->text);
  bf_text_addf(p->text,
               "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" class=\"box %s\"/>", x,
               y, COLUMN - 4, BOX, rgpu_node_class(node));
  write_words(p, node, x, y);
  bf_text_puts(p->text, "</g>\n");
}

/* The node on the core or unit of a slot, of all copies; NULL: none. */
static const bf_rgpu_node *node_at(const bf_rgpu_mapping *m, unsigned slot, bool on_unit) {
  for (unsigned i = 0; i < m->graph->nodes * m->copies; i++) {
    const bf_rgpu_node *node = &m->graph->node[i % m->graph->nodes];
    if (m->placed[i].slot == slot && bf_rgpu_is_memory(node) == on_unit)
      return node;
  }
  return NULL;
}

static bool has_unit(const bf_rgpu_ring *ring, unsigned slot) {
  return slot >= ring->unit_first && (slot - ring->unit_first) % ring->unit_every == 0 &&
         (slot - ring->unit_first) / ring->unit_every < ring->units;
}

/* One place on the ring: its node, or an outline. */
static void write_place(const picture *p, unsigned slot, bool on_unit, int y) {
  const bf_rgpu_node *node = node_at(p->m, slot, on_unit);
  if (node)
    write_box(p, node, slot, y);
  else
    bf_text_addf(p->text,
                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" class=\"idle\"/>\n",
                 column_x(slot) + 1, y, COLUMN - 4, BOX);
}

static void write_places(const picture *p) {
  int units_top = RGPU_SVG_MARGIN + RGPU_SVG_HEAD;
  for (unsigned slot = 0; slot < p->m->ring.cores; slot++) {
    if (has_unit(&p->m->ring, slot))
      write_place(p, slot, true, units_top);
    write_place(p, slot, false, p->cores_top);
    bf_text_addf(p->text, "<text x=\"%d\" y=\"%d\" class=\"dim mid\">%u</text>\n",
                 column_x(slot) + COLUMN / 2 - 1, p->cores_top + BOX + 14, slot);
  }
}

/* ---- Lanes ---- */

static void write_lanes(const picture *p) {
  for (unsigned lane = 0; lane < p->m->ring.lanes; lane++)
    bf_text_addf(p->text,
                 "<text x=\"%d\" y=\"%d\" class=\"dim\">%c</text>"
                 "<path d=\"M%d %dH%d\" class=\"line\"/>\n",
                 RGPU_SVG_MARGIN + LEFT - 18, lane_y(p, (int)lane) + 4, (char)('A' + lane),
                 column_x(0), lane_y(p, (int)lane), column_x(p->m->ring.cores));
}

/* ---- Results ---- */

/* A point on a wire, with an arrow up or down to where it is read. */
static void write_reading(const picture *p, int x, int lane_at, bool on_unit) {
  int end = on_unit ? RGPU_SVG_MARGIN + RGPU_SVG_HEAD + BOX : p->cores_top;
  int back = on_unit ? end + 5 : end - 5;
  bf_text_addf(p->text,
               "<path d=\"M%d %dV%d\" class=\"wire\"/><circle cx=\"%d\" cy=\"%d\" r=\"2.4\" "
               "class=\"tip\"/><path d=\"M%d %dl-3 0l3 %dl3 %dz\" class=\"tip\"/>",
               x, lane_at, back, x, lane_at, x, back, on_unit ? -5 : 5, on_unit ? 5 : -5);
}

/* Where in its column a node reads operand number `position` (BF_RGPU_PREDICATE: last). */
static int reading_x(const picture *p, unsigned number, unsigned position) {
  const bf_rgpu_node *node = &p->m->graph->node[number % p->m->graph->nodes];
  unsigned step = position > 2 ? 2 : position;
  return column_x(p->m->placed[number].slot) +
         (bf_rgpu_is_memory(node) ? UNIT_READS + (step ? STEP : 0) : CORE_READS + (int)step * STEP);
}

/* The readings of a result; returns the rightmost one (of those before the writer where it goes
 * round the ring). */
static int write_readings(const picture *p, unsigned number) {
  const bf_rgpu_graph *graph = p->m->graph;
  unsigned node = number % graph->nodes, base = number - node;
  const bf_rgpu_placed *own = &p->m->placed[number];
  int right = 0;
  for (unsigned i = 0; i < graph->edges; i++) {
    const bf_rgpu_edge *edge = &graph->edge[i];
    if (edge->from != node || edge->to == node)
      continue;
    int x = reading_x(p, base + edge->to, edge->position);
    unsigned slot = p->m->placed[base + edge->to].slot;
    write_reading(p, x, lane_y(p, own->lane), bf_rgpu_is_memory(&graph->node[edge->to]));
    bool counts = own->last >= own->first || slot < own->first;
    right = counts && x > right ? x : right;
  }
  return right;
}

/* The wire of a result: from its writer to its lane, along it, to its readers. */
static void write_result(const picture *p, unsigned number) {
  const bf_rgpu_placed *own = &p->m->placed[number];
  const bf_rgpu_node *node = &p->m->graph->node[number % p->m->graph->nodes];
  bool on_unit = bf_rgpu_is_memory(node);
  if (own->lane < 0)
    return;
  int y = lane_y(p, own->lane), x = column_x(own->first) + (on_unit ? UNIT_WRITES : CORE_WRITES);
  bf_text_addf(p->text, "<g class=\"c%u\"><title>%s on lane %c</title>", number % RGPU_SVG_COLOURS,
               node->name, (char)('A' + own->lane));
  if (on_unit)
    bf_text_addf(p->text, "<path d=\"M%d %dV%d\" class=\"wire\"/>", x,
                 RGPU_SVG_MARGIN + RGPU_SVG_HEAD + BOX, y);
  else /* out of the right side of the core, up beside it */
    bf_text_addf(p->text, "<path d=\"M%d %dH%dV%d\" class=\"wire\"/>", x - 5, p->cores_top + 8, x,
                 y);
  int right = write_readings(p, number);
  if (own->last >= own->first)
    bf_text_addf(p->text, "<path d=\"M%d %dH%d\" class=\"wire\"/>", x, y, right);
  else
    bf_text_addf(p->text, "<path d=\"M%d %dH%dM%d %dH%d\" class=\"wire\"/>", x, y,
                 column_x(p->m->ring.cores) + 6, column_x(0) - 6, y, right);
  bf_text_puts(p->text, "</g>\n");
}

void bf_rgpu_mapping_svg(const bf_rgpu_mapping *mapping, bf_text *text) {
  bf_text head = {0}, below = {0};
  picture p = {.m = mapping, .text = text};
  p.lanes_top = RGPU_SVG_MARGIN + RGPU_SVG_HEAD + BOX + GAP;
  p.cores_top = p.lanes_top + (int)mapping->ring.lanes * LANE + GAP;
  p.height = p.cores_top + BOX + 24 + RGPU_SVG_MARGIN;
  p.width = column_x(mapping->ring.cores) + 12 + RGPU_SVG_MARGIN;
  bf_text_addf(&head, "%s: %u %s on %u lane%s", mapping->graph->name, mapping->copies,
               mapping->copies == 1 ? "copy" : "copies", mapping->lanes,
               mapping->lanes == 1 ? "" : "s");
  bf_text_puts(&below,
               "load/store units above, cores below (dark: integers, light: floats); a core "
               "writes the slot to its right, a unit its own");
  text->failed |= head.failed || below.failed;
  rgpu_begin_svg(p.width, p.height, head.data ? head.data : "", below.data ? below.data : "", text);
  bf_text_free(&head);
  bf_text_free(&below);
  write_lanes(&p);
  write_places(&p);
  for (unsigned i = 0; i < mapping->graph->nodes * mapping->copies; i++)
    write_result(&p, i);
  rgpu_end_svg(text);
}
