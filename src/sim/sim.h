/* sim: how long kernels take. A cycle-level model of GPUs over the emulator.
 *
 * The simulator decides which warp issues when, and the emulator executes the instruction at that
 * moment (emu/step.h); so programs compute what they compute elsewhere, and the order in which
 * warps come to memory is that of the modelled machine. Wavefronts come from src/memory under any
 * hash. docs/simulator.md explains the model.
 *
 * Results are the same for any number of host threads (engine.c says how).
 *
 * gpu.c, gpu_file.c    parameters and files of GPUs
 * engine.c             moves time on, spreads multiprocessors over threads, hands out blocks
 * sm.c                 what all multiprocessors have, whatever their pipeline
 * scoreboard.c         the pipeline of a modern multiprocessor, and loadstore.c
 * barrel.c             the in-order pipelines of gou13, with pipeline.c and history.c
 * feed.c               launches of PTX, which the emulator executes; sass_feed.c of traces
 * program.c            what the timing model must know of each instruction of a kernel
 * sass.c, sass_read.c  the same of machine instructions, and traces of them
 * addresses.c          addresses of global memory that do not depend on the host
 * l1.c, l2.c, dram.c   global memory (hierarchy.h), with cache.c, flight.c and calendar.h
 * wait.c               what warps wait for in a deadlock, in words
 * energy.c             joules of a launch, from its activity
 * sample.c             launches of which a part is simulated
 * ledger.c             all launches of a program
 * timeline.c           single instructions as trace events
 * diagram.c            and as a picture of the pipeline, with diagram_svg.c
 * sweep.c              many simulations and the file of their results (sweep_*.c) */
#ifndef BF_SIM_H
#define BF_SIM_H

#include "emu/step.h"

/* ---- GPUs: parameters from machines/NAME.gpu ---- */

#define BF_SIM_TYPE_NUMBER uint64_t
#define BF_SIM_TYPE_REAL double
#define BF_SIM_TYPE_CHOICE unsigned

/* Words of the choices, in the order of gpu.def. */
typedef enum bf_sim_pipeline {
  BF_SIM_SCOREBOARD,
  BF_SIM_UNIFIED,
  BF_SIM_SPLIT,
  BF_SIM_ELASTIC
} bf_sim_pipeline;
typedef enum bf_sim_scheduler {
  BF_SIM_LRR,
  BF_SIM_GTO,
  BF_SIM_OLDEST,
  BF_SIM_TWO_LEVEL,
  BF_SIM_CONFLICT_AWARE
} bf_sim_scheduler;

typedef struct bf_sim_gpu {
  bf_arena arena;
  char *name, *title;
  bf_machine *machine; /* its shared memory; owned */
#define X(kind, name, value, least, most, meaning) BF_SIM_TYPE_##kind name;
#include "sim/gpu.def"
#undef X
  /* Where values come from, as in machine files: key, value, basis, source. */
  bf_machine_fact *facts;
  size_t fact_count;
  char **source_name, **source_text;
  size_t source_count;
} bf_sim_gpu;

/* One parameter, as tables and messages show it. */
typedef enum bf_sim_kind { BF_SIM_NUMBER, BF_SIM_REAL, BF_SIM_CHOICE } bf_sim_kind;
typedef struct bf_sim_parameter {
  const char *name, *meaning, *words; /* words: of a choice, separated by spaces; else NULL */
  bf_sim_kind kind;
  size_t offset; /* in bf_sim_gpu */
  double value, least, most;
} bf_sim_parameter;
extern const bf_sim_parameter bf_sim_parameters[]; /* ends with a NULL name */

/* Built-in GPU files; ends with a NULL name. */
extern const bf_embedded_machine bf_embedded_gpus[];

/* A built-in name, or a path to a GPU file (it has a '/' or ends in ".gpu"). */
int bf_sim_gpu_load(const char *name, bf_sim_gpu **gpu, bf_diagnostic *diagnostic);
/* Reads the text of a GPU file; file is its name in diagnostics. */
int bf_sim_gpu_parse(const char *file, const char *text, bf_sim_gpu **gpu,
                     bf_diagnostic *diagnostic);
/* Changes one parameter: "schedulers=4"; the message lists what is near a name that is unknown. */
int bf_sim_gpu_set(bf_sim_gpu *gpu, const char *assignment, bf_diagnostic *diagnostic);
/* Refuses configurations that cannot work together, with the reason. */
int bf_sim_gpu_check(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic);
/* The value of a parameter as text. */
void bf_sim_gpu_get(const bf_sim_gpu *gpu, const bf_sim_parameter *parameter, bf_text *text);
void bf_sim_gpu_free(bf_sim_gpu *gpu);

/* ---- Results ---- */

/* Why a scheduler did not issue in a turn, in the order in which reasons are looked for. The first
 * five together are "scheduling failed" in the words of gou13. */
typedef enum bf_sim_stall {
  BF_SIM_EMPTY,      /* it has no warps */
  BF_SIM_BARRIER,    /* all its warps wait at barriers */
  BF_SIM_GLOBAL,     /* for data of global memory */
  BF_SIM_DEPENDENCY, /* for results of other instructions */
  BF_SIM_MASKED,     /* conflict-aware scheduling keeps memory instructions back */
  BF_SIM_CONFLICT,   /* shared memory is busy with bank conflicts */
  BF_SIM_WRITEBACK,  /* two results want to be written at once */
  BF_SIM_UNIT,       /* the unit is busy */
  BF_SIM_OTHER,      /* a queue or table is full */
  BF_SIM_STALLS
} bf_sim_stall;
extern const char *const bf_sim_stall_names[BF_SIM_STALLS];

/* What an instruction that accesses shared memory has cost. */
typedef struct bf_sim_site {
  uint64_t executions, wavefronts, conflicts;
  uint64_t waited_cycles; /* that its accesses waited for shared memory, summed */
  uint32_t worst;         /* most wavefronts of one access */
  bool estimated;         /* a rule of the machine for these accesses is assumed */
  bf_access worst_access; /* the first one that took so many; with worst > 0 */
} bf_sim_site;

/* Adds what a site, or another multiprocessor, has cost. */
void bf_sim_site_add(bf_sim_site *to, const bf_sim_site *from);

/* What a warp waited for when its launch could not go on, or had no more time. */
typedef enum bf_sim_wait_kind {
  BF_SIM_WAIT_NOTHING,  /* it is ready */
  BF_SIM_WAIT_READY,    /* its next instruction, which is ready in a cycle */
  BF_SIM_WAIT_ASLEEP,   /* in-order pipelines: it goes on in a cycle */
  BF_SIM_WAIT_GLOBAL,   /* data of global memory */
  BF_SIM_WAIT_MBARRIER, /* the phase of an mbarrier */
  BF_SIM_WAIT_PIPELINE, /* in-order pipelines: instructions of its own */
  BF_SIM_WAIT_OTHERS,   /* other warps or lanes */
} bf_sim_wait_kind;

typedef struct bf_sim_wait {
  uint64_t block;
  unsigned warp; /* in its block */
  bf_sim_wait_kind kind;
  uint64_t cycle;     /* READY, ASLEEP */
  bf_emu_wait others; /* OTHERS */
} bf_sim_wait;

/* A line about it: "block 0, warp 1 waits at barrier 2 (line 13)". */
void bf_sim_wait_explain(const bf_sim_wait *wait, bf_text *text);

/* What instructions work on, for energy. */
typedef enum bf_sim_activity {
  BF_SIM_ACTIVITY_INT,
  BF_SIM_ACTIVITY_FLOAT,
  BF_SIM_ACTIVITY_DOUBLE,
  BF_SIM_ACTIVITY_SPECIAL,
  BF_SIM_ACTIVITY_MATRIX,
  BF_SIM_ACTIVITY_OTHER, /* memory, branches, barriers: what issuing takes */
  BF_SIM_ACTIVITIES
} bf_sim_activity;

typedef struct bf_sim_result {
  bf_arena arena;
  bf_emu_result emu; /* the fault, and instructions */
  uint64_t cycles;
  uint64_t cycles_low, cycles_high;     /* where not all was simulated; else 0 */
  uint64_t simulated_blocks;            /* of blocks, where it was a part; else 0 */
  bool is_inferred;                     /* from other launches of the kernel */
  double seconds;                       /* of the GPU */
  uint64_t issued;                      /* warp instructions that took an issue slot */
  uint64_t guarded;                     /* of these, those that a guard keeps from all lanes */
  uint64_t activity[BF_SIM_ACTIVITIES]; /* issue slots by kind; scoreboard pipeline only */
  uint64_t turns;                       /* of schedulers, from the first block to the last cycle */
  uint64_t stalls[BF_SIM_STALLS];       /* turns without issue, by reason */
  uint64_t blocks;
  unsigned sms; /* that had work */
  unsigned blocks_per_sm;
  const char *occupancy_limit;   /* "warps", "blocks", "registers", "shared memory" */
  uint64_t resident_warp_cycles; /* warps on multiprocessors, summed over cycles */
  uint64_t shared_instructions, shared_wavefronts, shared_conflicts;
  uint64_t shared_lanes; /* threads that accessed shared memory, summed over instructions */
  uint64_t shared_parts; /* in-order pipelines: parts of warps with at least one such thread */
  uint64_t global_instructions, global_sectors, l1_hits, l1_misses, l2_hits, l2_misses;
  uint64_t dram_read_bytes, dram_written_bytes, dram_row_hits, dram_row_misses;
  uint64_t history_right, history_wrong, history_unknown; /* conflict history cache */
  uint64_t host_bytes_per_warp; /* of memory that the simulation needs for a warp in flight */
  double host_seconds;
  double host_alone_seconds; /* processor time between spans, when all threads wait for one */
  unsigned sites;
  bf_sim_site *site; /* per site of the kernel */
  bool timed_out;    /* most_cycles have passed */
  /* After a deadlock, also where it timed out: how many warps were left, and what the first of them
   * waited for. */
  unsigned warps_left, waits;
  bf_sim_wait *wait;
} bf_sim_result;

/* ---- Energy (energy.c) ---- */

/* Joules of a launch by what they went to. */
typedef struct bf_sim_energy {
  double idle; /* leakage and clocks: static_watts over the time of the launch */
  double issue, shared, l1, l2, dram;
  double total;
  double conflicts; /* of them in wavefronts that bank conflicts add, and in the time they take */
} bf_sim_energy;

/* From activity and the picojoules of the GPU's file. False: the file has none. */
bool bf_sim_energy_find(const bf_sim_gpu *gpu, const bf_sim_result *result, bf_sim_energy *energy);
/* Joules that shared accesses of a site or line, one of those of the launch, have of it: their
 * wavefronts, and for conflicts their part of the time at rest (conflicts: all of that). */
typedef struct bf_sim_site_energy {
  double total, conflicts;
} bf_sim_site_energy;
bf_sim_site_energy bf_sim_energy_of_site(const bf_sim_gpu *gpu, const bf_sim_result *result,
                                         const bf_sim_energy *energy, const bf_sim_site *site);

/* ---- Running ---- */

struct bf_sim_watch;

typedef struct bf_sim_settings {
  const bf_sim_gpu *gpu;
  const bf_hash *hash;              /* of the banks; NULL: none */
  bf_lock_hash lock_hash;           /* of the lock table */
  unsigned workers;                 /* threads of the host; 0: one per core */
  uint64_t most_cycles;             /* 0: no limit; beyond it the launch ends with a fault */
  const struct bf_sim_watch *watch; /* or NULL */
  struct bf_sim_excerpt *excerpt;   /* or NULL: all blocks */
  /* What ptxas has made of the kernels (machine.h); NULL: estimated from their PTX. */
  const struct bf_machine_code *machine;
} bf_sim_settings;

/* The first blocks of a launch, simulated until somebody says that it is enough. */
typedef struct bf_sim_excerpt {
  uint64_t wave;   /* blocks after whose end is asked */
  uint64_t *ended; /* filled: the cycles at which blocks have ended, in the order of time */
  /* Whether what has ended, at least so many waves, is enough: then no blocks begin but those that
   * bring their number to that of the grid modulo wave. */
  bool (*is_enough)(void *context, const uint64_t *ended, uint64_t waves);
  void *context;
  double cache_used;  /* filled before that is asked: the part of the second-level cache in use */
  uint64_t simulated; /* blocks in the end */
} bf_sim_excerpt;

/* Blocks of a launch that fit on a multiprocessor at once, and what limits them. 0: not even one.
 */
unsigned bf_sim_blocks_per_sm(const bf_sim_gpu *gpu, const bf_emu_launch *launch,
                              const char **limit);

/* Simulates a launch, whose observer is told of accesses to shared memory as the GPU makes them
 * (merge), with the multiprocessor as worker. Errors are those of bf_emu_run, and GPUs that cannot
 * hold a block. */
int bf_sim_run(const bf_sim_settings *settings, bf_emu *emu, const bf_emu_launch *launch,
               bf_sim_result *result, bf_diagnostic *diagnostic);

/* ---- Watching single instructions: timelines and pipeline diagrams ---- */

/* An instruction of a warp on its way. Cycles count from the start of the launch. */
typedef struct bf_sim_event {
  unsigned sm, scheduler, slot; /* slot: the warp's place on the multiprocessor */
  uint64_t block;
  unsigned warp;         /* in its block */
  uint32_t instruction;  /* as bf_emu_kernel_instruction counts */
  uint64_t issued, done; /* cycles */
  unsigned wavefronts;   /* of a shared access; 0: none */
} bf_sim_event;

/* In-order pipelines also tell where parts of warps are, cycle by cycle. */
typedef struct bf_sim_stage {
  unsigned sm;
  uint64_t cycle;
  const char *stage; /* "MEM0", "NONMEM1", "WB" */
  unsigned slot, part;
  uint64_t number; /* of the warp instruction, in the order of issue */
  bool is_stalled;
} bf_sim_stage;

/* Called in the order of cycles for each multiprocessor, for loads from global memory when their
 * data has come; with a watch, multiprocessors are simulated by one thread. */
typedef struct bf_sim_watch {
  void *context;
  uint64_t first_cycle, last_cycle; /* only what is issued between them */
  void (*event)(void *context, const bf_sim_event *event);
  void (*stage)(void *context, const bf_sim_stage *stage); /* or NULL */
} bf_sim_watch;

#endif
