/* Inside room rgpu: what the files of the simulator share.
 *
 * sim_least.c  which FIFO sizes a graph can run with
 * sim_plan.c   the graph and its copies as flat tables, the same for all multiprocessors
 * sim_block.c  into R-GPU mode and back: constants, values in FIFOs, final values
 * sim_core.c   FIFOs, and firing
 * sim_unit.c   load/store units: first-level cache, prefetching, stores, shared memory
 * sim_run.c    multiprocessors, blocks and time
 * sim_stuck.c  what nodes wait for in a deadlock */
#ifndef BF_RGPU_SIM_INNER_H
#define BF_RGPU_SIM_INNER_H

#include "rgpu/sim.h"
#include "sim/hierarchy.h"

#define NO_FIFO UINT32_MAX
#define NO_LINE UINT64_MAX

enum { INPUTS = BF_RGPU_OPERANDS + 1, MOST_BANKS = 64 };

/* ---- Plan ---- */

/* A node of a copy. */
typedef struct plan_node {
  const bf_rgpu_node *node;
  unsigned index, copy; /* index: in the graph */
  bf_rgpu_class kind;
  bool has_result;
  unsigned latency;
  uint32_t fifo[INPUTS]; /* NO_FIFO: a constant, or nothing */
  unsigned inputs;
  uint32_t input[INPUTS]; /* those that are FIFOs */
  unsigned receivers;
  uint32_t *receiver; /* FIFOs that get its result */
  unsigned keeps;     /* results that final values need */
  uint32_t kept_from; /* where they begin in the table of an SM */
  uint32_t unit;      /* memory: its number among units */
  uint32_t core;      /* the others: the number of their core */
} plan_node;

typedef struct plan_fifo {
  uint32_t writer, reader; /* flat nodes */
  unsigned position;       /* of the reader */
  unsigned initial, capacity;
  unsigned places; /* capacity, and stages of the pipeline of its writer */
} plan_fifo;

typedef struct sim_plan {
  bf_arena arena;
  const bf_rgpu_setup *setup;
  const bf_rgpu_graph *graph;
  unsigned nodes, fifos, units, cores;
  plan_node *node;
  plan_fifo *fifo;
  uint32_t *order; /* nodes, readers before those they read from where no initial values are */
  uint32_t kept;
  uint64_t values; /* initial values and constants of a block */
  bool has_elements, has_wait;
} sim_plan;

/* Values that an input holds at first. Increments have as many as fit into a FIFO of that capacity,
 * or as many as asked for. */
unsigned rgpu_initial_count(const bf_rgpu_node *node, unsigned position, unsigned capacity);
/* Whether all of them fit; else the reason is added to why, unless NULL. */
bool rgpu_initial_fits(const bf_rgpu_graph *graph, unsigned data, unsigned address, bf_text *why);
int rgpu_plan_create(const bf_rgpu_sim_settings *settings, const bf_rgpu_setup *setup,
                     sim_plan **plan, bf_diagnostic *diagnostic);
void rgpu_plan_free(sim_plan *plan);

/* ---- A multiprocessor ---- */

/* A FIFO together with the pipeline of its writer: a value is in it from the cycle in which the
 * writer fires, and has arrived, and can be read, from cycle `ready` on. Where more have arrived
 * than it has entries, the last ones still stand in the pipeline. */
typedef struct sm_fifo {
  uint32_t *value;
  uint64_t *ready;
  unsigned capacity; /* entries */
  unsigned places;   /* entries, and stages of the pipeline */
  unsigned head, count;
  unsigned arrived; /* at least: brought up to date where it matters */
  unsigned most;    /* values that were in it or on their way, up to its capacity */
  uint64_t empty_cycles, full_cycles;
} sm_fifo;

typedef struct sm_node {
  uint64_t fired; /* in this block */
  uint32_t constant[INPUTS];
  uint32_t last;     /* result */
  uint64_t offset;   /* memory: of the address */
  uint8_t stall;     /* why it did not fire in the last cycle; BF_RGPU_STALLS: it did */
  uint32_t stall_at; /* the FIFO to blame */
} sm_node;

/* A load/store unit. */
typedef struct sm_unit {
  uint64_t line;   /* whose sectors it has at hand; NO_LINE: none */
  uint8_t sectors; /* mask of them */
  bool is_waiting; /* for what it has asked */
  uint64_t asked;  /* a line that is on its way, or has come and is not at hand yet; NO_LINE */
  uint8_t asked_sectors;
  uint64_t scanned; /* addresses that the prefetcher has seen, counted from the first */
  uint64_t scanned_line;
  uint64_t store_line; /* stores not sent yet; NO_LINE: none */
  uint8_t store_sectors;
} sm_unit;

typedef struct sm_answer {
  uint64_t cycle;
  bf_sim_request request;
} sm_answer;

/* What all multiprocessors share. */
typedef struct sim_chip {
  const bf_rgpu_sim_settings *settings;
  const bf_sim_gpu *gpu;
  const sim_plan *plan;
  bf_sim_memory *memory;
  unsigned char *global;
  uint8_t *present; /* a bit per byte: stored, or declared present; NULL: nobody waits */
  uint64_t *declared_first, *declared_end; /* addresses declared present, by array */
  unsigned banks;
  uint64_t enter_cycles, leave_cycles;
  uint64_t until; /* memory has come so far */
  bf_rgpu_sim_result *result;
  int error;
  bf_diagnostic *diagnostic;
} sim_chip;

typedef struct sim_sm {
  unsigned index;
  sim_chip *chip;
  uint64_t now;
  bool has_block, is_running; /* running: in R-GPU mode */
  uint64_t block, begin, began;
  sm_fifo *fifo;
  sm_node *node;
  sm_unit *unit;
  struct sm_node_count {
    uint64_t fired, stalled[BF_RGPU_STALLS + 1]; /* the last one is not counted */
  } * count;                                     /* by node, over all blocks */
  uint64_t *core_taken; /* by core: the cycle behind that in which it fired last */
  uint32_t *kept;
  unsigned char *shared;
  bf_sim_l1 *l1;
  double port_free, bank_free[MOST_BANKS];
  unsigned left;        /* nodes that have iterations to do */
  unsigned outstanding; /* requests without an answer, those that wait for a hit apart */
  unsigned stores;      /* of outstanding */
  bool has_moved;       /* something happened in this cycle */
  uint64_t next;        /* no sooner can something happen by itself */
  sm_answer *answer;    /* heap by cycle */
  size_t answers, answer_capacity;
  uint64_t last_moved; /* cycle */
} sim_sm;

/* Notes an error that ends the simulation; the first one counts. */
int rgpu_sim_fail(sim_sm *sm, const plan_node *node, const char *format, ...) BF_PRINTF(3, 4);

/* ---- FIFOs (sim_core.c) ---- */

/* Cycles are compared with sm->now; where a value is there but not ready, sm->next is brought
 * forward. */
bool rgpu_fifo_ready(sim_sm *sm, uint32_t fifo);
static inline uint32_t rgpu_fifo_head(const sim_sm *sm, uint32_t fifo) {
  return sm->fifo[fifo].value[sm->fifo[fifo].head];
}
/* Adds a value that can be read from `ready` on. */
void rgpu_fifo_push(sim_sm *sm, uint32_t fifo, uint32_t value, uint64_t ready);

/* Why a node cannot fire as far as its FIFOs go; BF_RGPU_STALLS: it can. *at is the FIFO. */
bf_rgpu_stall rgpu_find_stall(sim_sm *sm, uint32_t node, uint32_t *at);
/* Operand or predicate of a node that can fire. */
uint32_t rgpu_operand(const sim_sm *sm, uint32_t node, unsigned position);
/* Whether its predicate lets it execute. */
bool rgpu_is_on(const sim_sm *sm, uint32_t node);
/* Takes the inputs and hands the result on. */
void rgpu_fire(sim_sm *sm, uint32_t node, uint32_t result, unsigned latency);
/* Lets every node fire that can in this cycle. */
void rgpu_step(sim_sm *sm);
/* Adds the stalls of the cycle just stepped once more for each of `cycles`. */
void rgpu_stall_again(sim_sm *sm, uint64_t cycles);

/* ---- Load/store units (sim_unit.c) ---- */

/* Lets a memory node, whose FIFOs allow it, fire. Otherwise why it does not. */
bf_rgpu_stall rgpu_unit_fire(sim_sm *sm, uint32_t node);
/* Lets the prefetchers of all units look at one address each. */
void rgpu_prefetch(sim_sm *sm);
/* An answer has come. */
void rgpu_unit_answer(sim_sm *sm, const bf_sim_request *request);
/* Sends what a unit has stored and not sent; NO_LINE after it. */
void rgpu_unit_flush(sim_sm *sm, sm_unit *unit);

/* ---- Blocks (sim_block.c) ---- */

/* Cycles into R-GPU mode and back. */
void rgpu_switch_cycles(const sim_plan *plan, const bf_sim_gpu *gpu, uint64_t *enter,
                        uint64_t *leave);
/* Fills FIFOs and constants of the SM's block; the configuration is there. */
int rgpu_block_enter(sim_sm *sm);
/* Final values and what follows in normal mode. */
int rgpu_block_leave(sim_sm *sm);

/* ---- Deadlocks (sim_stuck.c) ---- */

/* Adds the blocks of all SMs to the result, with what their nodes wait for. */
int rgpu_find_stuck(sim_chip *chip, const sim_sm *sm);

#endif
