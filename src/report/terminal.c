/* Pictures in a terminal: banks across, wavefronts down, the lane served in each cell. Plain ASCII,
 * so that it reads well in a pipe; with colour, the background shows how bad a conflict is. Two
 * pictures stand side by side where the line is long enough, else one below the other. */
#include "report/report.h"

#include <string.h>

/* Background and foreground of each severity among the 256 colours. */
static const struct {
  int background, foreground;
} palette[BF_SEVERITIES] = {{24, 255}, {222, 16}, {214, 16}, {202, 16}, {160, 231}};

static const char *const severity_names[BF_SEVERITIES] = {
    "as many as must be", "1 too many", "2-3 too many", "4-7 too many", "8 or more too many"};

enum { LABEL_COLUMNS = 8, SIDE_GAP = 4 };

static void dim(const bf_draw_options *options, const char *string, bf_text *text) {
  if (options->color)
    bf_text_addf(text, "\033[38;5;245m%s\033[0m", string);
  else
    bf_text_puts(text, string);
}

static void bold(const bf_draw_options *options, const char *string, bf_text *text) {
  if (options->color)
    bf_text_addf(text, "\033[1m%s\033[0m", string);
  else
    bf_text_puts(text, string);
}

static void swatch(unsigned severity, const char *string, bf_text *text) {
  bf_text_addf(text, "\033[48;5;%d;38;5;%dm%s\033[0m", palette[severity].background,
               palette[severity].foreground, string);
}

/* Ends a line without the blanks it ends with. */
static void end_line(bf_text *text) {
  while (text->size && text->data[text->size - 1] == ' ')
    text->size--;
  bf_text_puts(text, "\n");
}

/* ---- One picture ---- */

static int digits(unsigned number) { return number < 10 ? 1 : 1 + digits(number / 10); }

/* Characters of a cell: the widest bank or lane number, and a mark or space. */
static int cell_width(const bf_picture *picture) {
  int bank = picture->columns ? digits(picture->column[picture->columns - 1]) : 1;
  int lane = digits(picture->machine->lanes - 1);
  int width = bank > lane ? bank : lane;
  return (width < 2 ? 2 : width) + 1;
}

/* Columns from `from` that fit into `width` characters. */
static unsigned columns_that_fit(const bf_picture *picture, unsigned from, unsigned width) {
  unsigned fit =
      width > LABEL_COLUMNS ? (width - LABEL_COLUMNS) / (unsigned)cell_width(picture) : 0;
  unsigned left = picture->columns - from;
  if (fit < 8)
    fit = 8;
  return fit < left ? fit : left;
}

static unsigned picture_width(const bf_picture *picture) {
  return LABEL_COLUMNS + picture->columns * (unsigned)cell_width(picture);
}

static void draw_cell(const bf_picture_phase *phase, const bf_picture_cell *cell, int width,
                      const bf_draw_options *options, bf_text *text) {
  char number[24];
  bool more = (cell->lanes & (cell->lanes - 1)) != 0;
  snprintf(number, sizeof number, "%*d%c", width - 1, __builtin_ctzll(cell->lanes),
           more ? '+' : ' ');
  if (options->color)
    swatch(bf_picture_severity(phase, cell), number, text);
  else
    bf_text_puts(text, number);
}

static void draw_idle(int width, const bf_draw_options *options, bf_text *text) {
  char dot[24];
  snprintf(dot, sizeof dot, "%*s ", width - 1, ".");
  dim(options, dot, text);
}

static void draw_row_label(const bf_picture_row *row, bf_text *text) {
  char label[32];
  if (row->times == 1)
    snprintf(label, sizeof label, "%u", row->wavefront);
  else
    snprintf(label, sizeof label, "%u-%u", row->wavefront, row->wavefront + row->times - 1);
  bf_text_addf(text, "%*s ", LABEL_COLUMNS - 1, label);
}

static void draw_row(const bf_picture *picture, const bf_picture_phase *phase,
                     const bf_picture_row *row, unsigned from, unsigned to,
                     const bf_draw_options *options, bf_text *text) {
  int width = cell_width(picture);
  unsigned next = 0;
  draw_row_label(row, text);
  if (row->cells == 0)
    dim(options, "overhead", text);
  for (unsigned column = from; column < to && row->cells; column++) {
    while (next < row->cells && row->cell[next].bank < picture->column[column])
      next++;
    if (next < row->cells && row->cell[next].bank == picture->column[column])
      draw_cell(phase, &row->cell[next], width, options, text);
    else
      draw_idle(width, options, text);
  }
  end_line(text);
}

static void draw_bank_numbers(const bf_picture *picture, unsigned from, unsigned to,
                              const bf_draw_options *options, bf_text *text) {
  bf_text line = {0};
  bf_text_addf(&line, "%*s ", LABEL_COLUMNS - 1, "bank");
  for (unsigned column = from; column < to; column++)
    bf_text_addf(&line, "%*u ", cell_width(picture) - 1, picture->column[column]);
  dim(options, line.data ? line.data : "", text);
  text->failed = text->failed || line.failed;
  bf_text_free(&line);
  end_line(text);
}

static void draw_phase(const bf_picture *picture, const bf_picture_phase *phase, unsigned from,
                       unsigned to, const bf_draw_options *options, bf_text *text) {
  unsigned shown = bf_picture_shown_rows(picture, phase, options->most_rows);
  if (picture->phases > 1) {
    bf_text_addf(text, "%*slanes ", LABEL_COLUMNS, "");
    bf_picture_lanes(phase->lanes, text);
    bf_text_puts(text, ":\n");
  }
  for (unsigned r = 0; r < shown; r++)
    draw_row(picture, phase, &phase->row[r], from, to, options, text);
  if (shown < phase->rows)
    bf_text_addf(text, "%*s... %u more %s (--all shows them)\n", LABEL_COLUMNS, "",
                 phase->rows - shown, picture->lock_turns ? "turns" : "rows");
}

static void draw_headline(const bf_picture *picture, const bf_draw_options *options,
                          bf_text *text) {
  char headline[320];
  unsigned wavefronts = bf_picture_wavefronts(picture);
  snprintf(headline, sizeof headline, "hash %.200s: ", bf_hash_text(picture->hash));
  bold(options, headline, text);
  bf_text_addf(text, "%u wavefront%s, ideal %u, conflicts %u\n", wavefronts,
               wavefronts == 1 ? "" : "s", picture->count.ideal, picture->count.conflicts);
}

/* Headline and grid; banks that do not fit in a line go into a grid of their own below. */
static void draw_picture(const bf_picture *picture, unsigned width, const bf_draw_options *options,
                         bf_text *text) {
  draw_headline(picture, options, text);
  for (unsigned from = 0, to; from < picture->columns; from = to) {
    to = from + columns_that_fit(picture, from, width);
    bf_text_puts(text, "\n");
    draw_bank_numbers(picture, from, to, options, text);
    for (unsigned p = 0; p < picture->phases; p++)
      draw_phase(picture, &picture->phase[p], from, to, options, text);
  }
}

/* ---- Two pictures ---- */

/* Characters that a line of size bytes takes on the screen: all but colour sequences and the
 * continuation bytes of UTF-8. */
static unsigned visible_width(const char *line, size_t size) {
  unsigned width = 0;
  for (size_t i = 0; i < size; i++) {
    if (line[i] == '\033')
      while (i + 1 < size && line[i] != 'm')
        i++;
    else
      width += ((unsigned char)line[i] & 0xC0) != 0x80;
  }
  return width;
}

static size_t line_length(const char *at) { return strcspn(at, "\n"); }

static unsigned widest_line(const char *lines) {
  unsigned widest = 0;
  for (const char *at = lines; *at; at += line_length(at) + (at[line_length(at)] == '\n')) {
    unsigned width = visible_width(at, line_length(at));
    if (width > widest)
      widest = width;
  }
  return widest;
}

static void join_lines(const char *left, const char *right, bf_text *text) {
  unsigned width = widest_line(left) + SIDE_GAP;
  while (*left || *right) {
    size_t left_size = line_length(left), right_size = line_length(right);
    bf_text_add(text, left, left_size);
    if (right_size)
      bf_text_addf(text, "%*s", (int)(width - visible_width(left, left_size)), "");
    bf_text_add(text, right, right_size);
    bf_text_puts(text, "\n");
    left += left_size + (left[left_size] == '\n');
    right += right_size + (right[right_size] == '\n');
  }
}

static void draw_side_by_side(const bf_picture *const *pictures, const bf_draw_options *options,
                              bf_text *text) {
  bf_text side[2] = {{0}, {0}};
  for (unsigned i = 0; i < 2; i++) {
    draw_picture(pictures[i], picture_width(pictures[i]), options, &side[i]);
    text->failed = text->failed || side[i].failed;
  }
  if (!text->failed)
    join_lines(side[0].data, side[1].data, text);
  for (unsigned i = 0; i < 2; i++)
    bf_text_free(&side[i]);
}

/* ---- Sentences and legend ---- */

static void draw_legend(const bf_picture *const *pictures, unsigned count,
                        const bf_draw_options *options, bf_text *text) {
  bool shared = false;
  for (unsigned i = 0; i < count; i++)
    shared = shared || bf_picture_shares(pictures[i]);
  bf_text_addf(text, "%s down, banks across; a number is the lane served%s, a dot an idle bank.\n",
               pictures[0]->lock_turns ? "Turns at the lock" : "Wavefronts",
               shared ? ", + more lanes with it" : "");
  if (pictures[0]->columns < pictures[0]->banks) {
    bf_picture_note_columns(pictures[0], text);
    bf_text_puts(text, "\n");
  }
  if (!options->color)
    return;
  bf_text_puts(text, "Words in a bank: ");
  for (unsigned severity = 0; severity < BF_SEVERITIES; severity++) {
    swatch(severity, "  ", text);
    bf_text_addf(text, " %s%s", severity_names[severity],
                 severity + 1 < BF_SEVERITIES ? "   " : "\n");
  }
}

static void draw_sentences(const bf_picture *const *pictures, unsigned count, bf_text *text) {
  static const char *const names[] = {"Before: ", "After:  "};
  for (unsigned i = 0; i < count; i++) {
    bf_text_puts(text, count > 1 ? names[i] : "");
    bf_picture_explain(pictures[i], text);
    bf_text_puts(text, "\n");
  }
}

void bf_draw_terminal(const bf_picture *const *pictures, unsigned count,
                      const bf_draw_options *options, bf_text *text) {
  unsigned width = options->width_columns;
  bold(options, bf_machine_title(pictures[0]->machine), text);
  bf_text_puts(text, ": ");
  bf_picture_describe(pictures[0]->access, text);
  bf_text_puts(text, "\n\n");
  if (count == 2 && picture_width(pictures[0]) + SIDE_GAP + picture_width(pictures[1]) <= width) {
    draw_side_by_side(pictures, options, text);
    bf_text_puts(text, "\n");
  } else {
    for (unsigned i = 0; i < count; i++) {
      draw_picture(pictures[i], width, options, text);
      bf_text_puts(text, "\n");
    }
  }
  draw_sentences(pictures, count, text);
  draw_legend(pictures, count, options, text);
}
