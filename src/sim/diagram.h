/* sim/diagram: what one multiprocessor does in some cycles of a launch, drawn. Rows are the stages
 * of an in-order pipeline, with parts of warps in the cells; other pipelines have a row for each
 * warp slot. */
#ifndef BF_SIM_DIAGRAM_H
#define BF_SIM_DIAGRAM_H

#include "sim/sim.h"

typedef struct bf_diagram bf_diagram;

enum { BF_DIAGRAM_MOST_CYCLES = 4096 };

/* Of the cycles from `from` on; 0: from the first instruction on. */
int bf_diagram_create(unsigned sm, uint64_t from, unsigned cycles, bf_diagram **diagram,
                      bf_diagnostic *diagnostic);
/* The watch for a launch. */
int bf_diagram_begin(bf_diagram *diagram, const bf_emu_kernel *kernel, bf_sim_watch *watch,
                     bf_diagnostic *diagnostic);
/* Draws it in lines of at most width characters. */
int bf_diagram_text(bf_diagram *diagram, bool color, unsigned width, bf_text *text,
                    bf_diagnostic *diagnostic);
/* Draws it as a whole SVG document. */
int bf_diagram_svg(bf_diagram *diagram, bf_text *text, bf_diagnostic *diagnostic);
void bf_diagram_free(bf_diagram *diagram);

#endif
