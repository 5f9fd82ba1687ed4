/* sim/watch: what happens in a launch, instruction by instruction, written down for people: as a
 * timeline (timeline.c) and as a pipeline diagram (diagram.c). Each hands out a bf_sim_watch for
 * the settings of bf_sim_run. */
#ifndef BF_SIM_WATCH_H
#define BF_SIM_WATCH_H

#include "emu/step.h"
#include "sim/sim.h"

/* ---- What is said of an instruction ---- */

typedef struct bf_watch_label {
  const char *name;   /* opcode and modifiers: "ld.shared.f32" */
  const char *text;   /* the whole instruction */
  uint64_t line;      /* in the PTX */
  const char *source; /* "tile.cu:19", or NULL */
  bool is_memory;     /* parameters are none */
} bf_watch_label;

/* Labels of all instructions of a kernel, by number, in the arena; NULL: out of memory. */
const bf_watch_label *bf_watch_labels(bf_arena *arena, const bf_emu_kernel *kernel);

/* ---- Two watches at once ---- */

typedef struct bf_watch_pair {
  bf_sim_watch watch[2];
} bf_watch_pair;

/* A watch that tells both what each wants to know; pair must live as long. */
bf_sim_watch bf_watch_both(bf_watch_pair *pair);

/* ---- Timelines ---- */

/* A file of trace events, as Chrome and Perfetto read them: a process for each multiprocessor, a
 * thread for each warp slot, an event for each instruction from issue to result. Instructions of a
 * warp that overlap are put on further threads of its slot. A cycle is shown as a microsecond.
 * Launches follow one another. */
typedef struct bf_timeline bf_timeline;

int bf_timeline_open(const char *path, bf_timeline **timeline, bf_diagnostic *diagnostic);
/* The watch for the next launch; only what is issued in its first `cycles` cycles is written. */
int bf_timeline_begin(bf_timeline *timeline, const bf_emu_kernel *kernel, uint64_t cycles,
                      bf_sim_watch *watch, bf_diagnostic *diagnostic);
/* The launch has ended after that many cycles. */
void bf_timeline_end(bf_timeline *timeline, uint64_t cycles);
/* Instructions written so far. */
uint64_t bf_timeline_events(const bf_timeline *timeline);
/* Makes the file appear. Errors of the watch are reported here. */
int bf_timeline_commit(bf_timeline *timeline, bf_diagnostic *diagnostic);
/* Without commit, nothing is left behind. */
void bf_timeline_close(bf_timeline *timeline);

/* ---- Pipeline diagrams ---- */

/* What one multiprocessor does in some cycles of a launch. Rows are the stages of an in-order
 * pipeline, with parts of warps in the cells; other pipelines have a row for each warp slot. */
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
