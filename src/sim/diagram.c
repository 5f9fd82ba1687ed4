/* Pipeline diagrams: what was told, put into a grid of rows and cycles, and the grid as text. */
#include "sim/diagram_grid.h"

#include <stdlib.h>
#include <string.h>

/* ---- What is told ---- */

int bf_diagram_create(unsigned sm, uint64_t from, unsigned cycles, bf_diagram **diagram,
                      bf_diagnostic *diagnostic) {
  bf_diagram *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->sm = sm;
  made->has_start = from > 0;
  made->start = from;
  made->cycles = cycles < BF_DIAGRAM_MOST_CYCLES ? cycles : BF_DIAGRAM_MOST_CYCLES;
  *diagram = made;
  return BF_OK;
}

/* Room for one more element of size bytes; the list is moved where it is full. */
static bool grow(bf_diagram *diagram, void **list, size_t count, size_t *capacity, size_t size) {
  if (diagram->failed || count < *capacity)
    return !diagram->failed;
  size_t wanted = *capacity ? *capacity * 2 : 256;
  void *moved = realloc(*list, wanted * size);
  if (!moved) {
    diagram->failed = true;
    return false;
  }
  *list = moved;
  *capacity = wanted;
  return true;
}

/* Whether cycle is in the diagram, which starts where it was asked to, or with the first cycle
 * told. */
static bool is_inside(bf_diagram *diagram, unsigned sm, uint64_t cycle) {
  if (sm != diagram->sm)
    return false;
  if (!diagram->has_start)
    diagram->start = cycle;
  diagram->has_start = true;
  return cycle >= diagram->start && cycle - diagram->start < diagram->cycles;
}

static void keep_event(void *context, const bf_sim_event *event) {
  bf_diagram *diagram = context;
  bool was_issued_before = event->sm == diagram->sm && diagram->has_start &&
                           event->issued < diagram->start && event->done > diagram->start;
  if ((was_issued_before || is_inside(diagram, event->sm, event->issued)) &&
      grow(diagram, (void **)&diagram->event, diagram->events, &diagram->event_capacity,
           sizeof *diagram->event))
    diagram->event[diagram->events++] = *event;
}

static void keep_stage(void *context, const bf_sim_stage *stage) {
  bf_diagram *diagram = context;
  if (is_inside(diagram, stage->sm, stage->cycle) &&
      grow(diagram, (void **)&diagram->stage, diagram->stages, &diagram->stage_capacity,
           sizeof *diagram->stage))
    diagram->stage[diagram->stages++] = *stage;
}

int bf_diagram_begin(bf_diagram *diagram, const bf_emu_kernel *kernel, bf_sim_watch *watch,
                     bf_diagnostic *diagnostic) {
  diagram->kernel = bf_arena_copy(&diagram->arena, bf_emu_kernel_name(kernel));
  diagram->label = bf_sim_labels(&diagram->arena, kernel);
  if (!diagram->kernel || !diagram->label)
    return bf_no_memory(diagnostic);
  *watch = (bf_sim_watch){
      .context = diagram, .last_cycle = UINT64_MAX, .event = keep_event, .stage = keep_stage};
  return BF_OK;
}

void bf_diagram_free(bf_diagram *diagram) {
  if (!diagram)
    return;
  bf_arena_free(&diagram->arena);
  free(diagram->event);
  free(diagram->stage);
  free(diagram);
}

/* ---- Rows of stages ---- */

/* Where a stage stands from front to back: by the word before its number, then the number; a word
 * without number is behind those that have one. Words that are not known stand before the memory
 * stages. */
static unsigned stage_rank(const char *name) {
  static const char *const words[] = {"IF", "ID", "EXE", "", "PREMEM", "MEM", "NONMEM", "WB"};
  enum { WORDS = sizeof words / sizeof *words, UNKNOWN = 3, LAST = 999 };
  size_t length = strcspn(name, "0123456789");
  unsigned rank = UNKNOWN;
  for (unsigned i = 0; i < WORDS; i++)
    if (strlen(words[i]) == length && strncmp(words[i], name, length) == 0)
      rank = i;
  unsigned number = name[length] ? (unsigned)strtoul(name + length, NULL, 10) : LAST;
  return rank * (LAST + 1) + (number < LAST ? number : LAST);
}

static int compare_stages(const void *left, const void *right) {
  const char *a = left, *b = right;
  unsigned rank_a = stage_rank(a), rank_b = stage_rank(b);
  return rank_a == rank_b ? strcmp(a, b) : rank_a < rank_b ? -1 : 1;
}

static unsigned find_row(const bf_diagram_grid *grid, const char *name) {
  unsigned row = 0;
  while (row < grid->rows && strncmp(grid->row_name[row], name, sizeof *grid->row_name - 1) != 0)
    row++;
  return row;
}

/* Names of the rows: all stages that were told, front to back. */
static bool name_stages(bf_diagram *diagram, bf_diagram_grid *grid) {
  enum { MOST_ROWS = 256 };
  grid->row_name = bf_arena_alloc(&diagram->arena, MOST_ROWS * sizeof *grid->row_name);
  if (!grid->row_name)
    return false;
  for (size_t i = 0; i < diagram->stages; i++) {
    const char *name = diagram->stage[i].stage;
    if (grid->rows < MOST_ROWS && find_row(grid, name) == grid->rows)
      snprintf(grid->row_name[grid->rows++], sizeof *grid->row_name, "%s", name);
  }
  qsort(grid->row_name, grid->rows, sizeof *grid->row_name, compare_stages);
  return true;
}

/* The first one told in a stage and cycle is shown; one that is stalled comes before others. */
static void fill_stages(const bf_diagram *diagram, bf_diagram_grid *grid) {
  for (size_t i = 0; i < diagram->stages; i++) {
    const bf_sim_stage *from = &diagram->stage[i];
    unsigned row = find_row(grid, from->stage);
    if (row == grid->rows)
      continue;
    bf_diagram_cell *cell =
        &grid->cell[(size_t)row * grid->columns + (size_t)(from->cycle - diagram->start)];
    grid->has_parts |= from->part > 0;
    unsigned others = cell->mark ? cell->others + 1u : 0;
    if (!cell->mark || (from->is_stalled && cell->mark == BF_DIAGRAM_MOVES))
      *cell = (bf_diagram_cell){
          .mark = from->is_stalled ? BF_DIAGRAM_STALLED : BF_DIAGRAM_MOVES,
          .part = (uint8_t)from->part,
          .slot = (uint16_t)from->slot,
      };
    cell->others = (uint16_t)others;
  }
}

/* ---- Rows of warps ---- */

static bool name_warps(bf_diagram *diagram, bf_diagram_grid *grid) {
  for (size_t i = 0; i < diagram->events; i++)
    if (diagram->event[i].slot >= grid->rows)
      grid->rows = diagram->event[i].slot + 1;
  grid->row_name = bf_arena_alloc(&diagram->arena, (grid->rows + 1) * sizeof *grid->row_name);
  for (unsigned row = 0; grid->row_name && row < grid->rows; row++)
    snprintf(grid->row_name[row], sizeof *grid->row_name, "W%u", row);
  return grid->row_name != NULL;
}

static bf_diagram_mark event_mark(const bf_diagram *diagram, const bf_sim_event *event) {
  if (event->wavefronts > 1)
    return BF_DIAGRAM_CONFLICT;
  return diagram->label[event->instruction].is_memory ? BF_DIAGRAM_MEMORY : BF_DIAGRAM_ISSUES;
}

/* An instruction marks the cycle of its issue, and cycles to its result where nothing issues. */
static void fill_warps(const bf_diagram *diagram, bf_diagram_grid *grid) {
  for (size_t i = 0; i < diagram->events; i++) {
    const bf_sim_event *event = &diagram->event[i];
    bf_diagram_cell *row = &grid->cell[(size_t)event->slot * grid->columns];
    unsigned wavefronts = event->wavefronts < UINT16_MAX ? event->wavefronts : UINT16_MAX;
    unsigned column = 0;
    if (event->issued >= diagram->start) {
      column = (unsigned)(event->issued - diagram->start);
      row[column++] = (bf_diagram_cell){.mark = (uint8_t)event_mark(diagram, event),
                                        .slot = (uint16_t)event->slot,
                                        .wavefronts = (uint16_t)wavefronts,
                                        .event = (uint32_t)i + 1};
    }
    for (; column < grid->columns && diagram->start + column < event->done; column++)
      if (!row[column].mark)
        row[column] = (bf_diagram_cell){
            .mark = BF_DIAGRAM_WAITS, .slot = (uint16_t)event->slot, .event = (uint32_t)i + 1};
  }
}

/* ---- The grid ---- */

int bf_diagram_arrange(bf_diagram *diagram, bf_diagram_grid *grid, bf_diagnostic *diagnostic) {
  *grid = (bf_diagram_grid){.columns = diagram->cycles};
  bool good = !diagram->failed &&
              (diagram->stages ? name_stages(diagram, grid) : name_warps(diagram, grid));
  size_t cells = (size_t)grid->rows * grid->columns;
  if (good)
    grid->cell = bf_arena_alloc(&diagram->arena, (cells + 1) * sizeof *grid->cell);
  if (!good || !grid->cell)
    return bf_no_memory(diagnostic);
  if (diagram->stages)
    fill_stages(diagram, grid);
  else
    fill_warps(diagram, grid);
  return BF_OK;
}

void bf_diagram_cell_text(const bf_diagram_grid *grid, const bf_diagram_cell *cell, char text[16]) {
  switch (cell->mark) {
  case BF_DIAGRAM_MOVES:
  case BF_DIAGRAM_STALLED:
    if (grid->has_parts)
      snprintf(text, 16, "W%u.%u%s", cell->slot, cell->part, cell->others ? "+" : "");
    else
      snprintf(text, 16, "W%u%s", cell->slot, cell->others ? "+" : "");
    break;
  case BF_DIAGRAM_CONFLICT:
    snprintf(text, 16, cell->wavefronts < 10 ? "%u" : "#", cell->wavefronts);
    break;
  default:
    strcpy(text, cell->mark == BF_DIAGRAM_NOTHING  ? "."
                 : cell->mark == BF_DIAGRAM_WAITS  ? "-"
                 : cell->mark == BF_DIAGRAM_MEMORY ? "M"
                                                   : "I");
  }
}

/* ---- As text ---- */

static const char *mark_color(uint8_t mark) {
  switch (mark) {
  case BF_DIAGRAM_NOTHING:
  case BF_DIAGRAM_WAITS:
    return "\033[2m";
  case BF_DIAGRAM_CONFLICT:
  case BF_DIAGRAM_STALLED:
    return "\033[1;31m";
  case BF_DIAGRAM_MEMORY:
    return "\033[36m";
  default:
    return "";
  }
}

/* Widths of the parts of a line, in characters. */
typedef struct layout {
  int name, cell;
  unsigned columns; /* in a band */
} layout;

static layout measure(const bf_diagram_grid *grid, bool has_stages, uint64_t last_cycle,
                      unsigned width) {
  layout measured = {.name = 5, .cell = 1};
  char text[24];
  for (unsigned row = 0; row < grid->rows; row++)
    if ((int)strlen(grid->row_name[row]) > measured.name)
      measured.name = (int)strlen(grid->row_name[row]);
  size_t cells = has_stages ? (size_t)grid->rows * grid->columns : 0;
  for (size_t i = 0; i < cells; i++) {
    bf_diagram_cell_text(grid, &grid->cell[i], text);
    int length = (int)strlen(text) + (grid->cell[i].mark == BF_DIAGRAM_STALLED);
    if (length >= measured.cell)
      measured.cell = length + 1;
  }
  int digits = snprintf(text, sizeof text, "%llu", (unsigned long long)last_cycle);
  if (has_stages && digits >= measured.cell)
    measured.cell = digits + 1;
  int room = ((int)width - measured.name - 1) / measured.cell;
  measured.columns = room < 10 ? 10 : (unsigned)room;
  if (!has_stages)
    measured.columns -= measured.columns % 10;
  return measured;
}

/* The numbers of cycles above a band: of each one, or of every tenth where cells are narrow. */
static void write_cycles(uint64_t first, unsigned columns, layout widths, bf_text *text) {
  bf_text_addf(text, "%-*s ", widths.name, "cycle");
  if (widths.cell > 1) {
    for (unsigned i = 0; i < columns; i++)
      bf_text_addf(text, "%-*llu", widths.cell, (unsigned long long)(first + i));
  } else {
    for (unsigned i = 0; i < columns; i += 10)
      bf_text_addf(text, "%-10llu", (unsigned long long)(first + i));
  }
  while (text->size && text->data[text->size - 1] == ' ')
    text->data[--text->size] = 0;
  bf_text_puts(text, "\n");
}

static void write_row(const bf_diagram_grid *grid, unsigned row, unsigned first, unsigned columns,
                      layout widths, bool color, bf_text *text) {
  bf_text_addf(text, "%-*s ", widths.name, grid->row_name[row]);
  for (unsigned i = first; i < first + columns; i++) {
    const bf_diagram_cell *cell = bf_diagram_at(grid, row, i);
    char word[16];
    bf_diagram_cell_text(grid, cell, word);
    if (cell->mark == BF_DIAGRAM_STALLED)
      strcat(word, "*");
    const char *before = color ? mark_color(cell->mark) : "";
    bf_text_addf(text, "%s%s%s%*s", before, word, *before ? "\033[0m" : "",
                 i + 1 < first + columns ? widths.cell - (int)strlen(word) : 0, "");
  }
  bf_text_puts(text, "\n");
}

int bf_diagram_text(bf_diagram *diagram, bool color, unsigned width, bf_text *text,
                    bf_diagnostic *diagnostic) {
  bf_diagram_grid grid;
  BF_TRY(bf_diagram_arrange(diagram, &grid, diagnostic));
  bool has_stages = diagram->stages != 0;
  layout widths = measure(&grid, has_stages, diagram->start + grid.columns, width);
  bf_text_addf(text, "SM %u, %s: ", diagram->sm, diagram->kernel ? diagram->kernel : "");
  bf_text_puts(text, !grid.rows   ? "nothing happens\n"
                     : has_stages ? "stages by cycles; * stalled, + and others\n"
                                  : "warp slots by cycles; I issues, M accesses memory, 2-9 # that "
                                    "many wavefronts, - waits for a result\n");
  for (unsigned first = 0; grid.rows && first < grid.columns; first += widths.columns) {
    unsigned columns =
        grid.columns - first < widths.columns ? grid.columns - first : widths.columns;
    write_cycles(diagram->start + first, columns, widths, text);
    for (unsigned row = 0; row < grid.rows; row++)
      write_row(&grid, row, first, columns, widths, color, text);
    bf_text_puts(text, "\n");
  }
  return BF_OK;
}
