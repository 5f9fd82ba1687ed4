/* Pipeline diagrams as SVG: a cell for each row and cycle, with what is in it as its title. */
#include "sim/diagram_grid.h"

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:11px}"
    ".paper{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#656d76}.name{text-anchor:end}"
    ".cell{text-anchor:middle;font-size:9px}.grid{stroke:#eef0f3;fill:none}"
    ".waits{fill:#e6e9ed}.issues{fill:#9cc7ee}.memory{fill:#7fd0b2}.bad{fill:#f4877a}"
    ".w0{fill:#bcd9f5}.w1{fill:#c9e7c0}.w2{fill:#fbe3a2}.w3{fill:#e3cdf2}"
    ".w4{fill:#f7cfe0}.w5{fill:#bfe8e6}.w6{fill:#f9d5b8}.w7{fill:#d6d9e0}"
    ".stalled{stroke:#cf222e;stroke-width:2}.on{fill:#1f2328}"
    "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#8d96a0}"
    ".grid{stroke:#1c2129}.waits{fill:#262c36}}\n";

/* Lengths in user units (pixels at natural size). */
enum {
  MARGIN = 16,
  TITLE = 40,
  NAME = 72,
  STAGE_CELL = 34,
  WARP_CELL = 12,
  LINE = 16,
  LEAST_WIDTH = 640
};

static const char *cell_class(const bf_diagram_cell *cell) {
  static const char *const warps[] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};
  switch (cell->mark) {
  case BF_DIAGRAM_WAITS:
    return "waits";
  case BF_DIAGRAM_ISSUES:
    return "issues";
  case BF_DIAGRAM_MEMORY:
    return "memory";
  case BF_DIAGRAM_CONFLICT:
    return "bad";
  default:
    return warps[cell->slot % 8];
  }
}

/* What is shown when one points at a cell. */
static void write_title(const bf_diagram *diagram, const bf_diagram_cell *cell, uint64_t cycle,
                        const char *row_name, bf_text *text) {
  bf_text_addf(text, "<title>cycle %llu, ", (unsigned long long)cycle);
  if (!cell->event) {
    bf_markup_escape(row_name, text);
    bf_text_addf(text, ": warp slot %u, part %u%s</title>", cell->slot, cell->part,
                 cell->mark == BF_DIAGRAM_STALLED ? ", stalled" : "");
    return;
  }
  const bf_sim_event *event = &diagram->event[cell->event - 1];
  const bf_sim_label *label = &diagram->label[event->instruction];
  bf_text_addf(text, "block %llu, warp %u: %s", (unsigned long long)event->block, event->warp,
               cell->mark == BF_DIAGRAM_WAITS ? "waits for " : "");
  bf_markup_escape(label->text, text);
  bf_text_addf(text, ", PTX line %llu", (unsigned long long)label->line);
  if (label->source) {
    bf_text_puts(text, ", ");
    bf_markup_escape(label->source, text);
  }
  if (event->wavefronts)
    bf_text_addf(text, ", %u wavefronts", event->wavefronts);
  bf_text_addf(text, "; cycles %llu to %llu</title>", (unsigned long long)event->issued,
               (unsigned long long)event->done);
}

static void write_cell(const bf_diagram *diagram, const bf_diagram_grid *grid, unsigned row,
                       unsigned column, int cell_width, bf_text *text) {
  const bf_diagram_cell *cell = bf_diagram_at(grid, row, column);
  if (cell->mark == BF_DIAGRAM_NOTHING)
    return;
  int x = MARGIN + NAME + (int)column * cell_width, y = MARGIN + TITLE + LINE + (int)row * LINE;
  char word[16];
  bf_diagram_cell_text(grid, cell, word);
  bf_text_puts(text, "<g>");
  write_title(diagram, cell, diagram->start + column, grid->row_name[row], text);
  bf_text_addf(text, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s%s\"/>", x + 1,
               y + 1, cell_width - 2, LINE - 2, cell_class(cell),
               cell->mark == BF_DIAGRAM_STALLED ? " stalled" : "");
  if (cell->mark != BF_DIAGRAM_WAITS)
    bf_text_addf(text, "<text x=\"%d\" y=\"%d\" class=\"cell on\">%s</text>", x + cell_width / 2,
                 y + 11, word);
  bf_text_puts(text, "</g>\n");
}

/* Names of the rows, and the numbers of some cycles. */
static void write_axes(const bf_diagram *diagram, const bf_diagram_grid *grid, int cell_width,
                       bf_text *text) {
  for (unsigned row = 0; row < grid->rows; row++) {
    bf_text_addf(text, "<text x=\"%d\" y=\"%d\" class=\"ink name\">", MARGIN + NAME - 8,
                 MARGIN + TITLE + LINE + (int)row * LINE + 12);
    bf_markup_escape(grid->row_name[row], text);
    bf_text_puts(text, "</text>\n");
  }
  unsigned step = cell_width >= STAGE_CELL ? 1 : 10;
  for (unsigned column = 0; column < grid->columns; column += step)
    bf_text_addf(text, "<text x=\"%d\" y=\"%d\" class=\"dim%s\">%llu</text>\n",
                 MARGIN + NAME + (int)column * cell_width + (step == 1 ? cell_width / 2 : 0),
                 MARGIN + TITLE + 10, step == 1 ? " cell" : "",
                 (unsigned long long)(diagram->start + column));
}

int bf_diagram_svg(bf_diagram *diagram, bf_text *text, bf_diagnostic *diagnostic) {
  bf_diagram_grid grid;
  BF_TRY(bf_diagram_arrange(diagram, &grid, diagnostic));
  bool has_stages = diagram->stages != 0;
  int cell_width = has_stages ? STAGE_CELL : WARP_CELL;
  int width = 2 * MARGIN + NAME + (int)grid.columns * cell_width;
  width = width < LEAST_WIDTH ? LEAST_WIDTH : width;
  int height = 2 * MARGIN + TITLE + LINE + (int)grid.rows * LINE;
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "viewBox=\"0 0 %d %d\" role=\"img\">\n<style>%s</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n"
               "<text x=\"%d\" y=\"%d\" class=\"ink\">",
               width, height, width, height, style, MARGIN, MARGIN + 12);
  bf_text_addf(text, "SM %u, ", diagram->sm);
  bf_markup_escape(diagram->kernel ? diagram->kernel : "", text);
  bf_text_addf(text, ": cycles %llu to %llu</text>\n", (unsigned long long)diagram->start,
               (unsigned long long)(diagram->start + grid.columns - 1));
  bf_text_addf(text, "<text x=\"%d\" y=\"%d\" class=\"dim\">%s</text>\n", MARGIN, MARGIN + 28,
               has_stages
                   ? "stages by cycles; framed: stalled"
                   : "warp slots by cycles; I issues, M accesses memory, red: bank conflicts, "
                     "grey: waits for a result");
  write_axes(diagram, &grid, cell_width, text);
  for (unsigned row = 0; row < grid.rows; row++)
    for (unsigned column = 0; column < grid.columns; column++)
      write_cell(diagram, &grid, row, column, cell_width, text);
  bf_text_puts(text, "</svg>\n");
  return BF_OK;
}
