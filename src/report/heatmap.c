/* Heat map: accesses down, banks across, colour by how far a bank's load is above what the access
 * needs anyway. Total loads would hide conflicts - a column read uses one bank 32 times, the next
 * column the next bank, and the sum is even - so every access has a row of its own. */
#include "report/page.h"

#include <string.h>

enum { ROW = 9, COLUMN = 9, LABEL = 64, GAP = 30, HEAD = 34, FOOT = 6 };

/* Worst severity of each drawn column of a picture, or -1 where the bank is idle. */
static void column_severity(const bf_picture *picture, int *severity) {
  for (unsigned c = 0; c < picture->columns; c++)
    severity[c] = -1;
  for (unsigned p = 0; p < picture->phases; p++)
    for (unsigned r = 0; r < picture->phase[p].rows; r++) {
      const bf_picture_row *row = &picture->phase[p].row[r];
      for (unsigned k = 0, c = 0; k < row->cells && c < picture->columns;) {
        if (row->cell[k].bank > picture->column[c]) {
          c++;
        } else if (row->cell[k].bank < picture->column[c]) {
          k++;
        } else {
          int own = (int)bf_picture_severity(&picture->phase[p], &row->cell[k]);
          severity[c] = own > severity[c] ? own : severity[c];
          k++;
        }
      }
    }
}

/* Draws one access; neighbouring banks of equal severity become one rectangle. */
static void draw_access(const bf_picture *picture, unsigned x, unsigned y, bf_text *text) {
  int severity[BF_PICTURE_COLUMNS];
  column_severity(picture, severity);
  for (unsigned c = 0, next; c < picture->columns; c = next) {
    for (next = c + 1; next < picture->columns && severity[next] == severity[c];)
      next++;
    if (severity[c] >= 0)
      bf_text_addf(text, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" class=\"bf-s%d\"/>\n",
                   x + c * COLUMN, y, (next - c) * COLUMN - 1, ROW - 1, severity[c]);
  }
}

static unsigned map_columns(const bf_machine *machine) {
  unsigned banks = 1u << machine->bank_bits;
  return banks < BF_PICTURE_COLUMNS ? banks : BF_PICTURE_COLUMNS;
}

static void draw_frame(unsigned x, unsigned columns, size_t count, const char *head,
                       bf_text *text) {
  bf_text_addf(text, "<text x=\"%u\" y=\"14\" class=\"bf-ink\">%s</text>\n", x, head);
  bf_text_addf(text,
               "<rect x=\"%u\" y=\"%d\" width=\"%u\" height=\"%zu\" class=\"bf-none\"/>\n"
               "<text x=\"%u\" y=\"%d\" class=\"bf-dim bf-axis\">banks, 0 on the left</text>\n",
               x, HEAD, columns * COLUMN - 1, count * ROW - 1, x, HEAD - 6);
}

static void draw_label(const bf_access *access, unsigned y, bf_text *text) {
  if (access->line)
    bf_text_addf(text,
                 "<text x=\"%d\" y=\"%u\" class=\"bf-dim bf-axis\" text-anchor=\"end\">line %llu"
                 "</text>\n",
                 LABEL - 6, y + ROW - 2, (unsigned long long)access->line);
}

static int draw_side(const bf_machine *machine, const bf_workload *workload, const bf_hash *hash,
                     const size_t *index, size_t count, unsigned x, bf_text *text,
                     bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < count; i++) {
    bf_picture *picture;
    BF_TRY(bf_picture_create(machine, hash, bf_workload_get(workload, index[i]), &picture,
                             diagnostic));
    draw_access(picture, x, HEAD + (unsigned)i * ROW, text);
    bf_picture_free(picture);
  }
  return BF_OK;
}

int bf_page_heat_map(const bf_machine *machine, const bf_workload *workload,
                     const bf_hash *const *hashes, const size_t *index, size_t count,
                     unsigned identifier, bf_text *text, bf_diagnostic *diagnostic) {
  static const char *const heads[] = {"Before", "After"};
  unsigned columns = map_columns(machine), side = columns * COLUMN;
  unsigned sides = strcmp(bf_hash_text(hashes[1]), "none") == 0 ? 1 : 2;
  unsigned width = LABEL + sides * (side + GAP), height = HEAD + (unsigned)count * ROW + FOOT;
  bf_text_addf(text,
               "<svg class=\"bf-svg\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\" "
               "role=\"img\" aria-labelledby=\"bf-heat-%u\"><title id=\"bf-heat-%u\">Load of each "
               "bank in the %zu worst accesses</title>\n",
               width, height, width, height, identifier, identifier, count);
  for (size_t i = 0; i < count; i++)
    draw_label(bf_workload_get(workload, index[i]), HEAD + (unsigned)i * ROW, text);
  int error = BF_OK;
  for (unsigned s = 0; s < sides && !error; s++) {
    unsigned x = LABEL + s * (side + GAP);
    draw_frame(x, columns, count, heads[s], text);
    error = draw_side(machine, workload, hashes[s], index, count, x, text, diagnostic);
  }
  bf_text_puts(text, "</svg>\n");
  return error;
}
