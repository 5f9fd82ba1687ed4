/* Inside room sim: a diagram as a grid of cells: what diagram.c collects and draws as text, and
 * diagram_svg.c draws as SVG. */
#ifndef BF_SIM_DIAGRAM_GRID_H
#define BF_SIM_DIAGRAM_GRID_H

#include "sim/diagram.h"
#include "sim/label.h"

/* What stands in a cell. */
typedef enum bf_diagram_mark {
  BF_DIAGRAM_NOTHING,
  BF_DIAGRAM_WAITS,    /* rows of warps: a result is on its way, nothing issues */
  BF_DIAGRAM_ISSUES,   /* rows of warps: an instruction issues */
  BF_DIAGRAM_MEMORY,   /* rows of warps: one that accesses memory */
  BF_DIAGRAM_CONFLICT, /* rows of warps: a shared access with several wavefronts */
  BF_DIAGRAM_MOVES,    /* rows of stages: part of a warp that goes on */
  BF_DIAGRAM_STALLED,  /* rows of stages: part of a warp that cannot go on */
} bf_diagram_mark;

typedef struct bf_diagram_cell {
  uint8_t mark;
  uint8_t part;
  uint16_t slot;
  uint16_t wavefronts;
  uint16_t others; /* more that are in the stage in this cycle */
  uint32_t event;  /* rows of warps: index + 1 into event, of what issues or is waited for */
} bf_diagram_cell;

/* The diagram as a grid, made by bf_diagram_arrange. */
typedef struct bf_diagram_grid {
  unsigned rows, columns;
  char (*row_name)[24];
  bf_diagram_cell *cell; /* by rows */
  bool has_parts;        /* a warp is in several parts */
} bf_diagram_grid;

struct bf_diagram {
  bf_arena arena;
  unsigned sm, cycles;
  char *kernel;
  const bf_sim_label *label;
  bool has_start;
  uint64_t start; /* cycle of the first column */
  bf_sim_event *event;
  size_t events, event_capacity;
  bf_sim_stage *stage;
  size_t stages, stage_capacity;
  bool failed;
};

static inline const bf_diagram_cell *bf_diagram_at(const bf_diagram_grid *grid, unsigned row,
                                                   unsigned column) {
  return &grid->cell[(size_t)row * grid->columns + column];
}

/* Puts what was told in order; the grid lies in the arena of the diagram. */
int bf_diagram_arrange(bf_diagram *diagram, bf_diagram_grid *grid, bf_diagnostic *diagnostic);
/* Text of a cell: "W3.1" in rows of stages, a character in rows of warps. */
void bf_diagram_cell_text(const bf_diagram_grid *grid, const bf_diagram_cell *cell, char text[16]);

#endif
