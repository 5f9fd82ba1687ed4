/* Inside room sim: the in-order pipelines of gou13, cycle by cycle. It knows nothing of warps
 * and programs: parts of warp instructions enter at the front, one per cycle, and come out at the
 * writeback stage, of which there is one.
 *
 *   unified   front -> MEM0 -> MEM1 -> ... -> WB       everything passes the memory stages
 *   split     front -> MEM0 -> MEM1 -> ... -> WB       memory accesses
 *                   \-> NONMEM0 -> NONMEM1 -> ... /    all else
 *   elastic   front -> PREMEM queue -> MEM0 -> ... -> WB
 *                   \-> NONMEM queue (or past it) /
 *
 * A part moves on where the stage before it is empty or empties in the same cycle. An access to
 * shared memory stays in MEM0 for as many cycles as its fullest bank has words to give. Data that
 * comes back through the interconnect is written before all else, then what has passed the memory
 * stages, then the NONMEM path from its oldest part on, and last what leaves the front. */
#ifndef BF_SIM_PIPELINE_H
#define BF_SIM_PIPELINE_H

#include "sim/sim.h"

/* A part of a warp instruction on its way. */
typedef struct bf_sim_part {
  uint32_t flight;        /* the caller's number of the warp instruction */
  uint16_t index;         /* of the part */
  uint16_t memory_cycles; /* that it takes MEM0; at least 1 */
  uint8_t held_by;        /* bf_sim_stall: why it takes MEM0 for more than one */
  bool is_memory;
  uint16_t place; /* for watchers: where in its queue it is */
  uint64_t since; /* cycle in which it came to its stage or queue */
} bf_sim_part;

/* What becomes of a memory part that is in MEM0. */
typedef enum bf_sim_reached {
  BF_SIM_STAYS,  /* goes on to the next stage */
  BF_SIM_LEAVES, /* goes out through the interconnect and comes back by bf_sim_pipe_return */
  BF_SIM_WAITS,  /* for room in a queue below: ask again in the next cycle */
} bf_sim_reached;

typedef struct bf_sim_pipe_user {
  void *context;
  /* A memory part is in MEM0. */
  bf_sim_reached (*reached)(void *context, const bf_sim_part *part);
  /* A memory part has left MEM0. */
  void (*served)(void *context, const bf_sim_part *part);
  void (*written)(void *context, const bf_sim_part *part);
  /* Whether a part may be written now; NULL: always. */
  bool (*may_write)(void *context, const bf_sim_part *part);
} bf_sim_pipe_user;

typedef struct bf_sim_pipe bf_sim_pipe;

typedef struct bf_sim_pipe_shape {
  bf_sim_pipeline kind;
  unsigned front_stages; /* before the memory stages */
  unsigned memory_stages;
  unsigned nonmem_stages; /* split: of the path beside them; elastic: size of the NONMEM queue */
  unsigned premem_queue;  /* elastic */
  unsigned returns;       /* warp instructions whose data can come back at once */
} bf_sim_pipe_shape;

int bf_sim_pipe_create(const bf_sim_pipe_shape *shape, const bf_sim_pipe_user *user,
                       bf_sim_pipe **pipe, bf_diagnostic *diagnostic);
void bf_sim_pipe_free(bf_sim_pipe *pipe);

/* Moves everything on into cycle now. */
void bf_sim_pipe_advance(bf_sim_pipe *pipe, uint64_t now);
/* Whether a part can enter in this cycle, after advance. */
bool bf_sim_pipe_has_room(const bf_sim_pipe *pipe);
/* Where there is no room: why the front does not move. */
bf_sim_stall bf_sim_pipe_blocked(const bf_sim_pipe *pipe, uint64_t now);
void bf_sim_pipe_enter(bf_sim_pipe *pipe, uint64_t now, bf_sim_part part);
/* The data of a warp instruction has come; its parts are written one by one, from cycle now on. */
void bf_sim_pipe_return(bf_sim_pipe *pipe, uint32_t flight, unsigned parts);
/* The next cycle after now in which something moves that can matter to others; UINT64_MAX: the
 * pipeline is empty. */
uint64_t bf_sim_pipe_next(const bf_sim_pipe *pipe, uint64_t now);
/* Tells which part is written back in a cycle, after advance: its flight may be over then, and be
 * another one after enter. */
void bf_sim_pipe_tell_written(const bf_sim_pipe *pipe,
                              void (*tell)(void *context, const bf_sim_part *part,
                                           const char *stage, bool is_stalled),
                              void *context);
/* Tells where all other parts are in cycle now, after advance and enter; once per cycle, without
 * leaving out cycles while parts are there. */
void bf_sim_pipe_tell(bf_sim_pipe *pipe, uint64_t now,
                      void (*tell)(void *context, const bf_sim_part *part, const char *stage,
                                   bool is_stalled),
                      void *context);

/* ---- Conflict history (history.c): what an instruction cost when it last ran ---- */

typedef struct bf_sim_history bf_sim_history;

/* Set-associative; the least recently used entry of a set makes room. */
int bf_sim_history_create(unsigned sets, unsigned ways, bf_sim_history **history,
                          bf_diagnostic *diagnostic);
void bf_sim_history_free(bf_sim_history *history);
/* The last value for an instruction; false where none is known. */
bool bf_sim_history_look(bf_sim_history *history, uint32_t instruction, uint32_t *value);
void bf_sim_history_set(bf_sim_history *history, uint32_t instruction, uint32_t value);

#endif
