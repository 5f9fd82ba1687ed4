/* Inside room sim: what timelines and diagrams say of an instruction. */
#ifndef BF_SIM_LABEL_H
#define BF_SIM_LABEL_H

#include "sim/sim.h"

typedef struct bf_sim_label {
  const char *name;   /* opcode and modifiers: "ld.shared.f32" */
  const char *text;   /* the whole instruction */
  uint64_t line;      /* in the PTX */
  const char *source; /* "tile.cu:19", or NULL */
  bool is_memory;     /* parameters are none */
} bf_sim_label;

/* Labels of all instructions of a kernel, by number, in the arena; NULL: out of memory. */
const bf_sim_label *bf_sim_labels(bf_arena *arena, const bf_emu_kernel *kernel);

#endif
