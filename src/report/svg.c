/* Pictures as SVG: self-contained, readable on light and dark pages, with a title and description
 * for people who hear the page. One picture, or two side by side as before and after. */
#include "report/report.h"

#include <string.h>

const char *const bf_svg_style =
    ".bf-paper{fill:#ffffff}.bf-ink{fill:#1f2328}.bf-dim{fill:#656d76}"
    ".bf-cells{stroke:#eef0f3;fill:none}.bf-saved{stroke:#1a7f37;fill:none}.bf-good{fill:#1a7f37}"
    ".bf-s0{fill:#bcd9f5}.bf-s1{fill:#ffe08a}.bf-s2{fill:#ffb84d}.bf-s3{fill:#f47a33}"
    ".bf-s4{fill:#cf222e}"
    ".bf-t0{fill:#0a3069}.bf-t1{fill:#3d2e00}.bf-t2{fill:#3d2200}.bf-t3{fill:#2b0f00}"
    ".bf-t4{fill:#ffffff}"
    ".bf-svg text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;"
    "font-size:12px}"
    ".bf-svg .bf-head{font-size:15px;font-weight:600}.bf-svg .bf-count{font-size:20px;"
    "font-weight:700}"
    ".bf-svg .bf-number{font-size:8.5px;text-anchor:middle}"
    ".bf-svg .bf-label{font-size:8.5px;text-anchor:end}.bf-svg .bf-small{font-size:11px}"
    "@media (prefers-color-scheme:dark){"
    ".bf-paper{fill:#0d1117}.bf-ink{fill:#e6edf3}.bf-dim{fill:#8d96a0}"
    ".bf-cells{stroke:#1c2129}.bf-saved{stroke:#3fb950}.bf-good{fill:#3fb950}"
    ".bf-s0{fill:#1d4a7a}.bf-s1{fill:#d4a72c}.bf-s2{fill:#e08a1e}.bf-s3{fill:#e5591c}"
    ".bf-s4{fill:#d1242f}.bf-t0{fill:#d6e8fb}.bf-t1,.bf-t2,.bf-t3{fill:#1b1000}}\n";

static const char *const severity_names[BF_SEVERITIES] = {
    "as many words as must be", "1 too many", "2-3 too many", "4-7 too many", "8 or more too many"};

/* Lengths in user units (pixels at natural size). */
enum {
  PITCH = 16,
  CELL = 14,
  LABEL = 40,
  MARGIN = 20,
  PANEL_GAP = 36,
  TITLE_HEIGHT = 34,
  HEAD_HEIGHT = 56,
  BANK_HEIGHT = 14,
  LINE = 16,
  LEGEND_HEIGHT = 40,
  LEAST_PANEL_WIDTH = 460,
};

/* ---- Measures ---- */

static unsigned panel_width(const bf_picture *picture) {
  unsigned width = LABEL + picture->columns * PITCH;
  return width < LEAST_PANEL_WIDTH ? LEAST_PANEL_WIDTH : width;
}

/* Lines the grid takes: rows, and a caption for each phase and each fold. */
static unsigned grid_lines(const bf_picture *picture, unsigned most_rows) {
  unsigned lines = 0;
  for (unsigned p = 0; p < picture->phases; p++) {
    unsigned shown = bf_picture_shown_rows(picture, &picture->phase[p], most_rows);
    lines += shown + (picture->phases > 1) + (shown < picture->phase[p].rows);
  }
  return lines;
}

/* Characters of the 12-pixel font that fit; its letters are about 6.4 pixels wide. */
static size_t characters_in(unsigned width) { return width * 10 / 64; }

/* Bytes of the next line of text when wrapped at most_characters. */
static size_t wrapped_length(const char *at, size_t most_characters) {
  size_t length = strlen(at);
  if (length <= most_characters)
    return length;
  for (size_t i = most_characters; i > 0; i--)
    if (at[i] == ' ')
      return i;
  return most_characters;
}

static unsigned wrapped_lines(const char *string, size_t most_characters) {
  unsigned lines = 0;
  for (const char *at = string; *at; lines++) {
    at += wrapped_length(at, most_characters);
    at += *at == ' ';
  }
  return lines;
}

/* ---- Pieces ---- */

static void draw_text(unsigned x, unsigned y, const char *classes, const char *string,
                      bf_text *text) {
  bf_text_addf(text, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, classes);
  bf_markup_escape(string, text);
  bf_text_puts(text, "</text>\n");
}

static void draw_wrapped(unsigned x, unsigned y, const char *classes, const char *string,
                         size_t most_characters, bf_text *text) {
  bf_text line = {0};
  for (const char *at = string; *at; y += LINE) {
    size_t length = wrapped_length(at, most_characters);
    bf_text_add(&line, at, length);
    if (!line.failed)
      draw_text(x, y, classes, line.data, text);
    text->failed = text->failed || line.failed;
    bf_text_free(&line);
    at += length;
    at += *at == ' ';
  }
}

static void draw_bank_numbers(const bf_picture *picture, unsigned x, unsigned y, bf_text *text) {
  unsigned last = picture->columns ? picture->column[picture->columns - 1] : 0;
  unsigned step = last < 100 ? 1 : last < 1000 ? 2 : 4;
  draw_text(x + LABEL - 6, y, "bf-dim bf-label", "bank", text);
  bf_text_puts(text, "<g class=\"bf-dim\">\n");
  for (unsigned c = 0; c < picture->columns; c += step)
    bf_text_addf(text, "<text x=\"%u\" y=\"%u\" class=\"bf-number\">%u</text>\n",
                 x + LABEL + c * PITCH + CELL / 2, y, picture->column[c]);
  bf_text_puts(text, "</g>\n");
}

static void draw_cell(const bf_picture_phase *phase, const bf_picture_cell *cell, unsigned x,
                      unsigned y, bf_text *text) {
  unsigned severity = bf_picture_severity(phase, cell);
  bool more = (cell->lanes & (cell->lanes - 1)) != 0;
  bf_text_addf(text, "<g><title>bank %u, word %u", cell->bank, cell->word[0]);
  if (cell->words > 1)
    bf_text_addf(text, " and %u", cell->word[1]);
  bf_text_addf(text, ": lane%s ", more ? "s" : "");
  bf_picture_lanes(cell->lanes, text);
  bf_text_addf(text,
               "</title><rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"2\" "
               "class=\"bf-s%u\"/><text x=\"%u\" y=\"%u\" class=\"bf-number bf-t%u\">%d%s</text>"
               "</g>\n",
               x, y, CELL, CELL, severity, x + CELL / 2, y + 10, severity,
               __builtin_ctzll(cell->lanes), more ? "+" : "");
}

/* The index of bank among the columns, or -1. */
static int find_column(const bf_picture *picture, unsigned bank) {
  for (unsigned c = 0; c < picture->columns; c++)
    if (picture->column[c] == bank)
      return (int)c;
  return -1;
}

/* A row: its number, one dashed stroke that looks like a cell per bank, and the cells served. */
static void draw_row(const bf_picture *picture, const bf_picture_phase *phase,
                     const bf_picture_row *row, unsigned x, unsigned y, bf_text *text) {
  char label[32];
  if (row->times == 1)
    snprintf(label, sizeof label, "%u", row->wavefront);
  else
    snprintf(label, sizeof label, "%u-%u", row->wavefront, row->wavefront + row->times - 1);
  draw_text(x + LABEL - 6, y + 10, "bf-dim bf-label", label, text);
  bf_text_addf(text,
               "<path d=\"M%u %uh%u\" class=\"bf-cells\" stroke-width=\"%d\" "
               "stroke-dasharray=\"%d %d\"/>\n",
               x + LABEL, y + CELL / 2, picture->columns * PITCH, CELL, CELL, PITCH - CELL);
  if (row->cells == 0)
    draw_text(x + LABEL + 4, y + 10, "bf-dim bf-small", "overhead of the machine", text);
  for (unsigned c = 0; c < row->cells; c++) {
    int column = find_column(picture, row->cell[c].bank);
    if (column >= 0)
      draw_cell(phase, &row->cell[c], x + LABEL + (unsigned)column * PITCH, y, text);
  }
}

static unsigned draw_grid(const bf_picture *picture, unsigned most_rows, unsigned x, unsigned y,
                          bf_text *text) {
  for (unsigned p = 0; p < picture->phases; p++) {
    const bf_picture_phase *phase = &picture->phase[p];
    unsigned shown = bf_picture_shown_rows(picture, phase, most_rows);
    if (picture->phases > 1) {
      bf_text_addf(text, "<text x=\"%u\" y=\"%u\" class=\"bf-dim bf-small\">lanes ", x + LABEL,
                   y + 12);
      bf_picture_lanes(phase->lanes, text);
      bf_text_puts(text, "</text>\n");
      y += PITCH;
    }
    for (unsigned r = 0; r < shown; r++, y += PITCH)
      draw_row(picture, phase, &phase->row[r], x, y, text);
    if (shown < phase->rows) {
      bf_text_addf(text, "<text x=\"%u\" y=\"%u\" class=\"bf-dim bf-small\">and %u more</text>\n",
                   x + LABEL, y + 11, phase->rows - shown);
      y += PITCH;
    }
  }
  return y;
}

/* Where the picture before needed more lines: an outline of what is saved. */
static void draw_saved(const bf_picture *before, const bf_picture *after, unsigned x, unsigned y,
                       unsigned bottom, bf_text *text) {
  unsigned saved = bf_picture_wavefronts(before) - bf_picture_wavefronts(after);
  unsigned width = after->columns * PITCH - (PITCH - CELL);
  bf_text_addf(text,
               "<rect x=\"%u.5\" y=\"%u.5\" width=\"%u\" height=\"%u\" rx=\"4\" "
               "class=\"bf-saved\" stroke-dasharray=\"4 4\"/>\n"
               "<text x=\"%u\" y=\"%u\" class=\"bf-good bf-head\" text-anchor=\"middle\">"
               "%u wavefront%s saved</text>\n",
               x + LABEL, y + 4, width - 1, bottom - y - 8, x + LABEL + width / 2,
               (y + bottom) / 2 + 5, saved, saved == 1 ? "" : "s");
}

static void draw_head(const bf_picture *picture, const char *when, unsigned x, unsigned y,
                      bf_text *text) {
  unsigned wavefronts = bf_picture_wavefronts(picture);
  bool none = strcmp(bf_hash_text(picture->hash), "none") == 0;
  bf_text_addf(text, "<text x=\"%u\" y=\"%u\" class=\"bf-ink bf-head\">%s", x, y + 14, when);
  if (picture->label)
    bf_markup_escape(picture->label, text);
  else
    bf_text_puts(text, none ? "no hash" : "hash ");
  if (!none && !picture->label) {
    char name[64];
    snprintf(name, sizeof name, "%.60s", bf_hash_text(picture->hash));
    bf_markup_escape(name, text);
  }
  bf_text_addf(text,
               "</text>\n<text x=\"%u\" y=\"%u\" class=\"bf-ink\"><tspan class=\"bf-count %s\">%u"
               "</tspan> wavefront%s, %u conflict%s</text>\n",
               x, y + 40, picture->count.conflicts ? "" : "bf-good", wavefronts,
               wavefronts == 1 ? "" : "s", picture->count.conflicts,
               picture->count.conflicts == 1 ? "" : "s");
}

static void draw_legend(unsigned x, unsigned y, const bf_picture *const *pictures, unsigned count,
                        bf_text *text) {
  bool shared = false;
  for (unsigned i = 0; i < count; i++)
    shared = shared || bf_picture_shares(pictures[i]);
  bf_text_addf(text,
               "<text x=\"%u\" y=\"%u\" class=\"bf-dim bf-small\">Banks across, %s down; a number "
               "is the lane served%s. ",
               x, y, pictures[0]->lock_turns ? "turns at the lock" : "wavefronts",
               shared ? ", + more lanes with it" : "");
  if (pictures[0]->columns < pictures[0]->banks)
    bf_picture_note_columns(pictures[0], text);
  bf_text_puts(text, "</text>\n");
  y += LINE;
  for (unsigned severity = 0; severity < BF_SEVERITIES; severity++) {
    bf_text_addf(text,
                 "<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" rx=\"2\" class=\"bf-s%u\"/>\n",
                 x, y - 9, severity);
    draw_text(x + 14, y, "bf-dim bf-small", severity_names[severity], text);
    x += 28 + (unsigned)strlen(severity_names[severity]) * 6;
  }
}

/* ---- The whole ---- */

typedef struct layout {
  unsigned width, height;
  unsigned grid_bottom; /* of the longer picture */
  unsigned title_lines;
  unsigned panel[2]; /* left edges */
} layout;

static layout measure(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                      const char *title, const bf_text *sentences) {
  layout l = {.width = MARGIN};
  unsigned lines = 0, sentence_lines = 0;
  for (unsigned i = 0; i < count; i++) {
    unsigned width = panel_width(pictures[i]), own = grid_lines(pictures[i], most_rows);
    unsigned wrapped = wrapped_lines(sentences[i].data, characters_in(width));
    l.panel[i] = l.width;
    l.width += width + (i + 1 < count ? PANEL_GAP : MARGIN);
    lines = own > lines ? own : lines;
    sentence_lines = wrapped > sentence_lines ? wrapped : sentence_lines;
  }
  l.title_lines = wrapped_lines(title, characters_in(l.width - 2 * MARGIN));
  l.grid_bottom = MARGIN + TITLE_HEIGHT + (l.title_lines - 1) * LINE + HEAD_HEIGHT + BANK_HEIGHT +
                  lines * PITCH;
  l.height = l.grid_bottom + 14 + sentence_lines * LINE + LEGEND_HEIGHT + MARGIN;
  return l;
}

static void draw_panel(const bf_picture *const *pictures, unsigned count, unsigned i,
                       unsigned most_rows, const layout *l, const char *sentence, bf_text *text) {
  static const char *const when[] = {"Before: ", "After: "};
  unsigned x = l->panel[i], y = MARGIN + TITLE_HEIGHT + (l->title_lines - 1) * LINE;
  draw_head(pictures[i], count > 1 ? when[i] : "", x, y, text);
  y += HEAD_HEIGHT;
  draw_bank_numbers(pictures[i], x, y + 8, text);
  unsigned bottom = draw_grid(pictures[i], most_rows, x, y + BANK_HEIGHT, text);
  if (i == 1 && l->grid_bottom >= bottom + 40 &&
      bf_picture_wavefronts(pictures[0]) > bf_picture_wavefronts(pictures[1]))
    draw_saved(pictures[0], pictures[1], x, bottom, l->grid_bottom, text);
  draw_wrapped(x, l->grid_bottom + 20, "bf-ink", sentence, characters_in(panel_width(pictures[i])),
               text);
}

/* Title and description; bf_draw wraps them and the drawing in an <svg> element. */
static void draw_names(const char *title, const bf_text *sentences, unsigned count,
                       unsigned identifier, bf_text *text) {
  bf_text_addf(text, "<title id=\"bf-title-%u\">", identifier);
  bf_markup_escape(title, text);
  bf_text_addf(text, "</title>\n<desc id=\"bf-desc-%u\">", identifier);
  for (unsigned i = 0; i < count; i++) {
    bf_text_puts(text, count == 1 ? "" : i ? " After: " : "Before: ");
    bf_markup_escape(sentences[i].data, text);
  }
  bf_text_puts(text, "</desc>\n");
}

static void draw_document(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                          unsigned identifier, const char *style, const char *title,
                          const bf_text *sentences, bf_text *text) {
  layout l = measure(pictures, count, most_rows, title, sentences);
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bf-svg\" viewBox=\"0 0 %u %u\" "
               "width=\"%u\" height=\"%u\" role=\"img\" aria-labelledby=\"bf-title-%u "
               "bf-desc-%u\">\n",
               l.width, l.height, l.width, l.height, identifier, identifier);
  draw_names(title, sentences, count, identifier, text);
  if (style)
    bf_text_addf(text, "<style>\n%s</style>\n", style);
  bf_text_addf(text, "<rect width=\"%u\" height=\"%u\" rx=\"8\" class=\"bf-paper\"/>\n", l.width,
               l.height);
  draw_wrapped(MARGIN, MARGIN + 10, "bf-dim", title, characters_in(l.width - 2 * MARGIN), text);
  for (unsigned i = 0; i < count; i++)
    draw_panel(pictures, count, i, most_rows, &l, sentences[i].data, text);
  draw_legend(MARGIN, l.height - MARGIN - LINE, pictures, count, text);
  bf_text_puts(text, "</svg>\n");
}

static void draw_svg(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                     unsigned identifier, const char *style, bf_text *text) {
  bf_text title = {0}, sentences[2] = {{0}, {0}};
  bf_text_addf(&title, "%s: ", bf_machine_title(pictures[0]->machine));
  bf_picture_describe(pictures[0]->access, &title);
  bool failed = title.failed;
  for (unsigned i = 0; i < count; i++) {
    bf_picture_explain(pictures[i], &sentences[i]);
    failed = failed || sentences[i].failed;
  }
  if (failed)
    text->failed = true;
  else
    draw_document(pictures, count, most_rows, identifier, style, title.data, sentences, text);
  bf_text_free(&title);
  for (unsigned i = 0; i < count; i++)
    bf_text_free(&sentences[i]);
}

void bf_draw_svg(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                 bf_text *text) {
  bf_text_puts(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  draw_svg(pictures, count, most_rows, 0, bf_svg_style, text);
}

void bf_draw_svg_inline(const bf_picture *const *pictures, unsigned count, unsigned most_rows,
                        unsigned identifier, bf_text *text) {
  draw_svg(pictures, count, most_rows, identifier, NULL, text);
}
