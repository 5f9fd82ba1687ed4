/* Pictures of the gates of fixed units. A result bit is a tree of XOR gates with its address bits
 * on the left, or a piece of a chain of adders; carries run down on the right of the adders. */
#include "rtl/rtl.h"

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px}"
    ".paper{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#656d76}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.wire{stroke:#1f2328;stroke-width:1.2;fill:none}"
    ".carry{stroke:#cf222e;stroke-width:1.6;fill:none}.gate{fill:#bcd9f5;stroke:#1f2328}"
    "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#8d96a0}"
    ".wire{stroke:#e6edf3}.gate{fill:#1f4b77;stroke:#e6edf3}}\n";

/* Lengths in user units (pixels at natural size). */
enum { MARGIN = 16, TITLE = 52, LINE = 20, GAP = 10, LABEL = 70, STEP = 54, GATE = 26 };

typedef struct canvas {
  bf_text *text;
  int width, y; /* y: where the next result begins */
} canvas;

/* ---- XOR trees ---- */

static unsigned levels_of(unsigned terms) {
  unsigned levels = 0;
  while ((1u << levels) < terms)
    levels++;
  return levels;
}

/* An XOR gate whose output leaves at (x, y). */
static void draw_xor(canvas *c, int x, int y) {
  int left = x - GATE, top = y - GATE / 3, bottom = y + GATE / 3;
  bf_text_addf(c->text,
               "<path class=\"gate\" d=\"M%d %d Q%d %d %d %d Q%d %d %d %d Q%d %d %d %d z\"/>"
               "<path class=\"wire\" d=\"M%d %d Q%d %d %d %d\"/>\n",
               left, top, left + 14, top, x, y, left + 14, bottom, left, bottom, left + 7, y, left,
               top, left - 4, top, left + 3, y, left - 4, bottom);
}

/* Draws the tree of `count` address bits that begin in line `line`; returns the height at which its
 * output leaves, at column `level`. */
static int draw_tree(canvas *c, const unsigned *bit, unsigned count, unsigned level, int y) {
  int x = MARGIN + LABEL + (int)level * STEP;
  if (count == 1) {
    int middle = y + LINE / 2;
    bf_text_addf(c->text,
                 "<text class=\"ink end\" x=\"%d\" y=\"%d\">word[%u]</text>"
                 "<path class=\"wire\" d=\"M%d %d H%d\"/>\n",
                 MARGIN + LABEL - 8, middle + 4, bit[0], MARGIN + LABEL - 4, middle, x);
    return middle;
  }
  unsigned half = (count + 1) / 2;
  int upper = draw_tree(c, bit, half, level - 1, y);
  int lower = draw_tree(c, bit + half, count - half, level - 1, y + (int)half * LINE);
  int middle = (upper + lower) / 2, from = x - STEP;
  bf_text_addf(c->text, "<path class=\"wire\" d=\"M%d %d H%d V%d H%d M%d %d H%d V%d H%d\"/>\n",
               from, upper, from + 12, middle - 4, x - GATE - 1, from, lower, from + 12, middle + 4,
               x - GATE - 1);
  draw_xor(c, x, middle);
  return middle;
}

/* Result bit `index` of the port: the XOR of the address bits of row. */
static void draw_row(canvas *c, const char *port, unsigned index, uint64_t row) {
  unsigned bit[64], count = 0;
  for (; row; row &= row - 1)
    bit[count++] = (unsigned)__builtin_ctzll(row);
  unsigned levels = levels_of(count);
  int y = draw_tree(c, bit, count, levels, c->y);
  int x = MARGIN + LABEL + (int)levels * STEP, end = c->width - MARGIN - LABEL;
  bf_text_addf(c->text,
               "<path class=\"wire\" d=\"M%d %d H%d\"/>"
               "<text class=\"ink\" x=\"%d\" y=\"%d\">%s[%u]</text>\n",
               x, y, end, end + 6, y + 4, port, index);
  c->y += (int)count * LINE + GAP;
}

/* ---- Adders ---- */

/* Bit `index` of a sum: a box with one or two address bits on the left, its carry below. */
static void draw_adder(canvas *c, const char *port, unsigned index, const unsigned *bit,
                       unsigned bits, bool last) {
  int left = MARGIN + LABEL + 30, right = left + 84, top = c->y, middle = top + LINE;
  int end = c->width - MARGIN - LABEL;
  const char *what = index == 0 ? "half adder" : last ? "XOR" : bits == 2 ? "adder" : "half adder";
  for (unsigned i = 0; i < bits; i++) {
    int y = top + LINE / 2 + (int)i * LINE;
    bf_text_addf(c->text,
                 "<text class=\"ink end\" x=\"%d\" y=\"%d\">word[%u]</text>"
                 "<path class=\"wire\" d=\"M%d %d H%d\"/>\n",
                 MARGIN + LABEL - 8, y + 4, bit[i], MARGIN + LABEL - 4, y, left);
  }
  bf_text_addf(c->text,
               "<rect class=\"gate\" x=\"%d\" y=\"%d\" width=\"84\" height=\"%d\" rx=\"4\"/>"
               "<text class=\"ink mid\" x=\"%d\" y=\"%d\">%s</text>"
               "<path class=\"wire\" d=\"M%d %d H%d\"/>"
               "<text class=\"ink\" x=\"%d\" y=\"%d\">%s[%u]</text>\n",
               left, top, 2 * LINE, left + 42, middle + 4, what, right, middle, end, end + 6,
               middle + 4, port, index);
  if (!last)
    bf_text_addf(c->text, "<path class=\"carry\" d=\"M%d %d v%d\"/>\n", left + 42, top + 2 * LINE,
                 GAP);
  c->y += 2 * LINE + GAP;
}

/* ---- Units ---- */

/* A field of m bits from bit own on, folded with `others` bits from bit other on. */
static void draw_fold(canvas *c, const bf_rtl_unit *unit, const char *port, unsigned own,
                      unsigned other, unsigned others, bool adds) {
  unsigned m = unit->geometry.bank_bits;
  for (unsigned i = 0; i < m; i++) {
    unsigned bit[2] = {own + i, other + i}, bits = i < others ? 2 : 1;
    if (adds)
      draw_adder(c, port, i, bit, bits, i + 1 == m);
    else
      draw_row(c, port, i, (uint64_t)1 << bit[0] | (bits == 2 ? (uint64_t)1 << bit[1] : 0));
  }
}

/* The most levels of any tree. */
static unsigned most_levels(const bf_rtl_unit *unit) {
  unsigned most = 1;
  for (unsigned i = 0; unit->kind == BF_RTL_FIXED && i < unit->geometry.bank_bits; i++) {
    unsigned levels = levels_of((unsigned)__builtin_popcountll(unit->hash->forward.row[i]));
    most = levels > most ? levels : most;
  }
  return most;
}

static void draw_results(canvas *c, const bf_rtl_unit *unit) {
  unsigned n = unit->geometry.address_bits, m = unit->geometry.bank_bits;
  bool locks = unit->kind == BF_RTL_LOCKS;
  bool adds = locks ? unit->lock_hash == BF_LOCK_ADD : unit->hash->kind == BF_HASH_ADD;
  if (locks || adds) {
    unsigned others = n - m < m ? n - m : m;
    draw_fold(c, unit, "bank", 0, m, others, adds);
    if (locks)
      draw_fold(c, unit, "lock", m, 2 * m, n - 2 * m, adds);
    return;
  }
  for (unsigned i = 0; i < m; i++)
    draw_row(c, "bank", i, unit->hash->forward.row[i]);
}

int bf_rtl_draw(const bf_rtl_unit *unit, bf_text *text, bf_diagnostic *diagnostic) {
  bool arithmetic = unit->kind == BF_RTL_FIXED &&
                    (unit->hash->kind == BF_HASH_PAD || unit->hash->kind == BF_HASH_MOD);
  if (bf_rtl_is_family(unit) || arithmetic || unit->geometry.bank_bits == 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "only units of fixed gates are drawn");
  bf_text body = {0};
  canvas c = {.text = &body, .y = TITLE};
  c.width = 2 * MARGIN + 2 * LABEL + STEP * (int)(most_levels(unit) + 2);
  draw_results(&c, unit);
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
               "height=\"%d\">\n<title>Gates of ",
               c.width, c.y + MARGIN, c.width, c.y + MARGIN);
  const char *name =
      unit->kind == BF_RTL_LOCKS
          ? unit->lock_hash == BF_LOCK_ADD ? "ADD: banks and locks" : "XOR: banks and locks"
          : bf_hash_text(unit->hash);
  bf_markup_escape(name, text);
  bf_text_addf(text,
               "</title>\n<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n"
               "<text class=\"ink\" x=\"%d\" y=\"24\">",
               style, c.width, c.y + MARGIN, MARGIN);
  bf_markup_escape(name, text);
  bf_text_addf(text, "</text><text class=\"dim\" x=\"%d\" y=\"40\">%u banks, 2^%u words</text>\n",
               MARGIN, 1u << unit->geometry.bank_bits, unit->geometry.address_bits);
  bf_text_add(text, body.data ? body.data : "", body.size);
  bf_text_puts(text, "</svg>\n");
  text->failed |= body.failed;
  bf_text_free(&body);
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}
