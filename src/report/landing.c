/* Pictures of where a tile lands. A piece is 16 bytes of a row: what swizzles move. It is called
 * ROW.PIECE and has the colour of its column of pieces, or of its core matrix. */
#include "report/landing.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 16, COLOURS = 8 };

/* What lies in one piece of memory. */
typedef struct piece {
  bool is_used;
  unsigned row, column; /* column of pieces */
} piece;

static unsigned pieces_across(const bf_tile *tile) { return bf_tile_row_bytes(tile) / PIECE_BYTES; }

static unsigned line_bytes(const bf_landing *l) {
  return l->machine->word_bytes << l->machine->bank_bits;
}

static unsigned line_pieces(const bf_landing *l) { return line_bytes(l) / PIECE_BYTES; }

static unsigned lines_of(const bf_landing *l, const bf_tile_layout *layout) {
  unsigned lines = (unsigned)((layout->bytes + line_bytes(l) - 1) / line_bytes(l));
  return l->most_lines && lines > l->most_lines ? l->most_lines : lines;
}

int bf_landing_check(const bf_landing *l, bf_diagnostic *diagnostic) {
  if (bf_tile_row_bytes(l->tile) % PIECE_BYTES)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "pictures show pieces of 16 bytes; a row of the tile has %u bytes",
                   bf_tile_row_bytes(l->tile));
  for (unsigned i = 0; i < l->count; i++) {
    const bf_tile_layout *layout = &l->layout[i];
    if (layout->pitch_bytes % PIECE_BYTES || (layout->bits && layout->base < 4))
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "pictures show pieces of 16 bytes, which layout %s tears apart", layout->name);
  }
  return BF_OK;
}

/* The pieces of memory that are drawn, line by line; NULL: out of memory. */
static piece *land(const bf_landing *l, const bf_tile_layout *layout) {
  unsigned shown = lines_of(l, layout) * line_pieces(l);
  piece *memory = calloc(shown + 1, sizeof *memory);
  for (unsigned row = 0; memory && row < l->tile->rows; row++)
    for (unsigned column = 0; column < pieces_across(l->tile); column++) {
      unsigned at = bf_layout_place(layout, row, column * PIECE_BYTES) / PIECE_BYTES;
      if (at < shown)
        memory[at] = (piece){true, row, column};
    }
  return memory;
}

static unsigned colour_of(const bf_landing *l, unsigned row, unsigned column) {
  return (l->cores ? row / 8 * pieces_across(l->tile) + column : column) % COLOURS;
}

/* "a 128-byte swizzle" for the layout of that name. */
static void title_of(const bf_tile_layout *layout, bf_text *text) {
  if (layout->bits && layout->mode != BF_MODE_OTHER)
    bf_text_addf(text, "%s-byte swizzle", layout->name);
  else if (layout->mode == BF_MODE_NONE && layout->bytes > layout->panel_stride_bytes)
    bf_text_addf(text, "no swizzle, panels of %u bytes", layout->panel_bytes);
  else
    bf_text_puts(text, layout->mode == BF_MODE_NONE ? "no swizzle" : layout->name);
}

/* ---- SVG ---- */

enum {
  CELL_WIDTH = 34,
  CELL_HEIGHT = 20,
  LABEL = 52,
  MARGIN = 16,
  GAP = 28,
  HEAD = 64,
  FOOT = 44,
};

static const char *const style =
    ".p{fill:#fff}.i{fill:#1f2328}.d{fill:#656d76}.e{fill:#f3f4f6}"
    ".c0{fill:#bcd9f5}.c1{fill:#ffd8a8}.c2{fill:#b7ebc6}.c3{fill:#f7c1d9}.c4{fill:#d9ccf5}"
    ".c5{fill:#fff0a3}.c6{fill:#b5e8ea}.c7{fill:#dcd3c6}"
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:10px}"
    ".h{font-size:13px;font-weight:600}.n{text-anchor:middle;fill:#1f2328}.l{text-anchor:end}"
    ".m{fill:none;stroke:#cf222e;stroke-width:2}.g{stroke:#fff;stroke-width:1}"
    "@media (prefers-color-scheme:dark){.p{fill:#0d1117}.i{fill:#e6edf3}.d{fill:#8d96a0}"
    ".e{fill:#1c2129}.g{stroke:#0d1117}}";

static unsigned panel_width(unsigned across) { return LABEL + across * CELL_WIDTH; }

/* One cell; marked: the pieces that one 8-row access of the first column reads. */
static void draw_cell(const bf_landing *l, unsigned x, unsigned y, const piece *p, bf_text *text) {
  if (!p->is_used) {
    bf_text_addf(text, "<rect class=\"e g\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>\n", x, y,
                 CELL_WIDTH, CELL_HEIGHT);
    return;
  }
  bf_text_addf(text,
               "<rect class=\"c%u g\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>"
               "<text class=\"n\" x=\"%u\" y=\"%u\">%u.%u</text>\n",
               colour_of(l, p->row, p->column), x, y, CELL_WIDTH, CELL_HEIGHT, x + CELL_WIDTH / 2,
               y + 14, p->row, p->column);
  if (p->row < 8 && p->column == 0)
    bf_text_addf(text, "<rect class=\"m\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>\n", x + 1,
                 y + 1, CELL_WIDTH - 2, CELL_HEIGHT - 2);
}

/* The tile as it is in global memory. */
static void draw_tile(const bf_landing *l, unsigned x, unsigned rows, bf_text *text) {
  bf_text_addf(text, "<text class=\"h i\" x=\"%u\" y=\"34\">the box: row.piece</text>\n",
               x + LABEL);
  for (unsigned column = 0; column < pieces_across(l->tile); column++)
    bf_text_addf(text, "<text class=\"n d\" x=\"%u\" y=\"56\">%u</text>\n",
                 x + LABEL + column * CELL_WIDTH + CELL_WIDTH / 2, column);
  for (unsigned row = 0; row < rows; row++) {
    unsigned y = HEAD + row * CELL_HEIGHT;
    bf_text_addf(text, "<text class=\"l d\" x=\"%u\" y=\"%u\">row %u</text>\n", x + LABEL - 6,
                 y + 14, row);
    for (unsigned column = 0; column < pieces_across(l->tile); column++)
      draw_cell(l, x + LABEL + column * CELL_WIDTH, y, &(piece){true, row, column}, text);
  }
}

/* Memory under one layout. */
static void draw_memory(const bf_landing *l, const bf_tile_layout *layout, unsigned x,
                        bf_text *text) {
  piece *memory = land(l, layout);
  unsigned across = line_pieces(l), banks = PIECE_BYTES / l->machine->word_bytes;
  if (!memory) {
    text->failed = true;
    return;
  }
  bf_text_addf(text, "<text class=\"h i\" x=\"%u\" y=\"34\">", x + LABEL);
  title_of(layout, text);
  bf_text_puts(text, "</text>\n");
  for (unsigned i = 0; i < across; i++)
    bf_text_addf(text, "<text class=\"n d\" x=\"%u\" y=\"56\">%u-%u</text>\n",
                 x + LABEL + i * CELL_WIDTH + CELL_WIDTH / 2, i * banks, i * banks + banks - 1);
  for (unsigned line = 0; line < lines_of(l, layout); line++) {
    unsigned y = HEAD + line * CELL_HEIGHT;
    bf_text_addf(text, "<text class=\"l d\" x=\"%u\" y=\"%u\">%u</text>\n", x + LABEL - 6, y + 14,
                 line * line_bytes(l));
    for (unsigned i = 0; i < across; i++)
      draw_cell(l, x + LABEL + i * CELL_WIDTH, y, &memory[line * across + i], text);
  }
  free(memory);
}

void bf_landing_svg(const bf_landing *l, bf_text *text) {
  unsigned rows = l->tile->rows, height = 0;
  if (l->most_lines && rows > l->most_lines)
    rows = l->most_lines;
  for (unsigned i = 0; i < l->count; i++)
    height = lines_of(l, &l->layout[i]) > height ? lines_of(l, &l->layout[i]) : height;
  height = rows > height ? rows : height;
  unsigned tile_width = panel_width(pieces_across(l->tile));
  unsigned memory_width = panel_width(line_pieces(l));
  unsigned width = 2 * MARGIN + tile_width + l->count * (GAP + memory_width);
  unsigned total = HEAD + height * CELL_HEIGHT + FOOT;
  bf_text_addf(
      text,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 "
      "%u %u\" role=\"img\">\n<title>where a tile of %ux%u %s lands in shared "
      "memory</title>\n<style>%s</style>\n<rect class=\"p\" width=\"%u\" height=\"%u\"/>\n",
      width, total, width, total, l->tile->rows, l->tile->columns, l->tile->element->name, style,
      width, total);
  draw_tile(l, MARGIN, rows, text);
  for (unsigned i = 0; i < l->count; i++)
    draw_memory(l, &l->layout[i], MARGIN + tile_width + GAP + i * (GAP + memory_width), text);
  bf_text_addf(
      text,
      "<text class=\"d\" x=\"%d\" y=\"%u\">A piece is 16 bytes (%u %s). Above memory: banks; "
      "beside it: byte offsets. Red: piece 0 of rows 0 to 7, which one ldmatrix or core "
      "matrix reads%s.</text>\n</svg>\n",
      MARGIN + LABEL, total - 18, PIECE_BYTES / l->tile->element->bytes, l->tile->element->name,
      l->cores ? "; each colour is a core matrix of 8 rows" : "");
}

/* ---- Text ---- */

static void text_cell(const bf_landing *l, const piece *p, bool color, bf_text *text) {
  static const unsigned char shade[COLOURS] = {153, 223, 157, 218, 183, 229, 159, 187};
  char name[24] = ".";
  if (p->is_used)
    snprintf(name, sizeof name, "%u.%u", p->row, p->column);
  if (color && p->is_used)
    bf_text_addf(text, "\033[38;5;16;48;5;%um%7s\033[0m", shade[colour_of(l, p->row, p->column)],
                 name);
  else
    bf_text_addf(text, "%7s", name);
}

void bf_landing_terminal(const bf_landing *l, bool color, bf_text *text) {
  unsigned across = line_pieces(l), banks = PIECE_BYTES / l->machine->word_bytes;
  bf_text_addf(text, "row.piece of a tile of %ux%u %s; a piece is 16 bytes\n", l->tile->rows,
               l->tile->columns, l->tile->element->name);
  for (unsigned n = 0; n < l->count; n++) {
    piece *memory = land(l, &l->layout[n]);
    if (!memory) {
      text->failed = true;
      return;
    }
    bf_text_puts(text, "\n");
    title_of(&l->layout[n], text);
    bf_text_addf(text, "\n%8s", "bank");
    for (unsigned i = 0; i < across; i++) {
      char range[24];
      snprintf(range, sizeof range, "%u-%u", i * banks, i * banks + banks - 1);
      bf_text_addf(text, "%7s", range);
    }
    for (unsigned line = 0; line < lines_of(l, &l->layout[n]); line++) {
      bf_text_addf(text, "\n%8u", line * line_bytes(l));
      for (unsigned i = 0; i < across; i++)
        text_cell(l, &memory[line * across + i], color, text);
    }
    bf_text_puts(text, "\n");
    free(memory);
  }
}
