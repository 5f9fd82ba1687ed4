/* rgpu/sim: how long a graph takes on R-GPU, and what it computes there.
 *
 * The multiprocessors, caches and memory are those of a GPU file (src/sim); R-GPU adds FIFOs, the
 * firing rule and prefetchers to each multiprocessor. Values are computed as nodes fire, so results
 * are those of the modelled machine. docs/rgpu_sim.md explains the model. */
#ifndef BF_RGPU_SIM_H
#define BF_RGPU_SIM_H

#include "rgpu/graph.h"
#include "sim/sim.h"

/* ---- What R-GPU adds to a multiprocessor ---- */

typedef struct bf_rgpu_fabric {
  unsigned cores, units;             /* that an SM has */
  unsigned data_fifo, address_fifo;  /* entries */
  unsigned two_cycles, three_cycles; /* from firing to the result: up to two inputs, three inputs */
  unsigned load_cycles;              /* the same of a load that finds its line */
  /* Copies of the graph that share their cores, which do an operation of one of them in a cycle;
   * FIFOs and load/store units are not shared. 0 and 1: none, as published. */
  unsigned folded;
  bool no_prefetch;
  /* What the model assumes, otherwise: what is in the pipeline of a core takes an entry of the FIFO
   * it goes to; a load past the first-level cache, as one with `wait`, asks for one sector at a
   * time. */
  bool pipelines_take_entries, waits_for_sectors;
} bf_rgpu_fabric;

/* Latencies are from 1 cycle up to this: more would take memory for the stages of pipelines, and
 * time that looks like a deadlock. */
enum { BF_RGPU_MOST_LATENCY = 10000, BF_RGPU_MOST_FOLDED = 64 };

/* Sets of copies that cores do in turn hold this many copies: those that are on the lanes at the
 * same time. */
unsigned bf_rgpu_copies_at_once(const bf_rgpu_fabric *fabric, unsigned copies);

/* The values of braak15, chapter 7; load_cycles is assumed. */
bf_rgpu_fabric bf_rgpu_fabric_published(void);

/* Whether the graph, whose nodes hand over one value per iteration, can run for ever in FIFOs of
 * these sizes. Where it cannot, and why is not NULL, the reason in words is added. */
bool bf_rgpu_can_run(const bf_rgpu_graph *graph, unsigned data_fifo, unsigned address_fifo,
                     bf_text *why);
/* The smallest size with which it can, where the other size is as given. 0: none up to most. */
unsigned bf_rgpu_least_data_fifo(const bf_rgpu_graph *graph, unsigned address_fifo, unsigned most);
unsigned bf_rgpu_least_address_fifo(const bf_rgpu_graph *graph, unsigned data_fifo, unsigned most);

/* ---- Running ---- */

/* In which order blocks are given to SMs. */
typedef enum bf_rgpu_order { BF_RGPU_INCREASING, BF_RGPU_DECREASING } bf_rgpu_order;

/* What the kernel does in normal mode after R-GPU mode, block by block, beyond storing final
 * values: it reads the shared memory of the block and changes global memory. */
typedef struct bf_rgpu_after {
  void (*run)(const bf_rgpu_setup *setup, uint64_t block, const unsigned char *shared,
              unsigned char *global);
  uint64_t cycles; /* that it takes in each block */
} bf_rgpu_after;

typedef struct bf_rgpu_sim_settings {
  const bf_sim_gpu *gpu;
  bf_rgpu_fabric fabric;
  bf_rgpu_order order;
  const bf_rgpu_after *after; /* or NULL */
  uint64_t most_cycles;       /* 0: no limit */
  bool is_unchecked; /* begins also where bf_rgpu_can_run says that nodes wait in a circle */
  /* Told now and then how many firings of all are done; false stops the simulation. Or NULL. */
  bool (*progress)(void *context, uint64_t done, uint64_t all);
  void *progress_context;
} bf_rgpu_sim_settings;

/* Why a node did not fire in a cycle in which its block ran. */
typedef enum bf_rgpu_stall {
  BF_RGPU_STALL_EMPTY,  /* an input FIFO has no value */
  BF_RGPU_STALL_FULL,   /* a FIFO of a reader has no room */
  BF_RGPU_STALL_MEMORY, /* its line is on its way, or too much is */
  BF_RGPU_STALL_PORT,   /* cache, bank of shared memory, or the core that copies share are busy */
  BF_RGPU_STALL_DONE,   /* it has done all its iterations */
  BF_RGPU_STALLS
} bf_rgpu_stall;
extern const char *const bf_rgpu_stall_names[BF_RGPU_STALLS];

/* A FIFO: cycles in which its reader could not fire because it was empty, and its writer because it
 * was full; the most values it held; values written. */
typedef struct bf_rgpu_fifo_count {
  uint64_t empty_cycles, full_cycles, written;
  unsigned most;
} bf_rgpu_fifo_count;

/* A node, summed over copies and multiprocessors. fifo[BF_RGPU_PREDICATE] is that of the predicate.
 */
typedef struct bf_rgpu_node_count {
  uint64_t fired, stalled[BF_RGPU_STALLS];
  bf_rgpu_fifo_count fifo[BF_RGPU_OPERANDS + 1];
} bf_rgpu_node_count;

/* Firings on the first SM in pieces of equal length. */
enum { BF_RGPU_PIECES = 256 };
typedef enum bf_rgpu_class {
  BF_RGPU_INT,
  BF_RGPU_FLOAT,
  BF_RGPU_MEMORY,
  BF_RGPU_CLASSES
} bf_rgpu_class;
typedef struct bf_rgpu_activity {
  uint64_t piece_cycles;
  unsigned pieces;
  uint64_t fired[BF_RGPU_CLASSES][BF_RGPU_PIECES];
} bf_rgpu_activity;

/* A node that could not fire in a deadlock. */
typedef struct bf_rgpu_wait {
  const char *node;
  uint64_t fired; /* times that it has, in this block */
  bf_rgpu_stall stall;
  const char *other; /* EMPTY: the node that writes the FIFO, FULL: that reads it; else NULL */
  bool awaits_store; /* a load with `wait` */
} bf_rgpu_wait;

/* A block in R-GPU mode in a deadlock. */
typedef struct bf_rgpu_stuck {
  uint64_t block;
  bf_rgpu_wait *wait;
  unsigned waits;
} bf_rgpu_stuck;

typedef struct bf_rgpu_sim_result {
  bf_arena arena;
  uint64_t cycles;
  double seconds;
  uint64_t blocks, copies, iterations;
  unsigned sms;                        /* that had work */
  uint64_t enter_cycles, leave_cycles; /* of a block: into R-GPU mode, and back */
  uint64_t rgpu_cycles;                /* in R-GPU mode, summed over blocks */
  uint64_t fired[BF_RGPU_CLASSES];
  uint64_t prefetches, loads_sent, stores_sent, waits_sent;
  unsigned most_waiting; /* loads with `wait` in the queue of one slice at once */
  /* How many there could be, one of each unit: below BF_SIM_SLICE_QUEUE the queue is never full,
   * and blocks in order cannot end in a deadlock. */
  uint64_t could_wait;
  bf_rgpu_node_count *node; /* by node of the graph */
  bf_sim_result memory;     /* hits, misses and bytes only */
  bf_rgpu_activity activity;
  bf_rgpu_stuck *stuck; /* after a deadlock */
  unsigned stuck_blocks;
} bf_rgpu_sim_result;

/* Global memory of a graph as it is before the first block, allocated here: bytes from
 * BF_RGPU_GLOBAL_BASE on. */
int bf_rgpu_memory_create(const bf_rgpu_setup *setup, unsigned char **global,
                          bf_diagnostic *diagnostic);

/* Simulates all blocks on that memory. A graph that cannot run, a deadlock, an access outside of
 * memory and the end of most_cycles are BF_BAD_INPUT; after a deadlock the result has the details.
 * Free the arena of the result also after an error. */
int bf_rgpu_simulate(const bf_rgpu_sim_settings *settings, const bf_rgpu_setup *setup,
                     unsigned char *global, bf_rgpu_sim_result *result, bf_diagnostic *diagnostic);
/* The same for a graph on the memory that it describes, with some of its parameters replaced
 * (bf_rgpu_setup_create). */
int bf_rgpu_simulate_described(const bf_rgpu_sim_settings *settings, const bf_rgpu_graph *graph,
                               unsigned copies, unsigned overrides, const char *const *override,
                               bf_rgpu_sim_result *result, bf_diagnostic *diagnostic);
/* After a deadlock: a line for each block that is stuck, with what its nodes wait for; where that
 * would be long, for some of the blocks, and how many more there are. */
void bf_rgpu_stuck_explain(const bf_rgpu_sim_result *result, bf_text *text);

#endif
