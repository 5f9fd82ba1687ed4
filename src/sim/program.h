/* Inside room sim: what the timing model must know of each instruction of a kernel, worked out once
 * per launch (program.c). */
#ifndef BF_SIM_PROGRAM_H
#define BF_SIM_PROGRAM_H

#include "sim/machine.h"
#include "sim/sim.h"

/* Groups of asynchronous copies of a warp that are told apart; a power of two. */
enum { BF_SIM_GROUPS = 8 };
/* Rounds of a loop of which the machine's order is known. */
enum { BF_SIM_PLACES = 8 };

typedef enum bf_sim_unit {
  BF_SIM_UNIT_NONE, /* free: takes no issue slot */
  BF_SIM_UNIT_INT,
  BF_SIM_UNIT_MUL,
  BF_SIM_UNIT_FLOAT,
  BF_SIM_UNIT_DOUBLE,
  BF_SIM_UNIT_SPECIAL,
  BF_SIM_UNIT_CONVERT,
  BF_SIM_UNIT_MATRIX,
  BF_SIM_UNIT_BRANCH,
  BF_SIM_UNIT_BARRIER,
  BF_SIM_UNIT_ISSUE,  /* takes an issue slot and nothing else; of machine instructions only */
  BF_SIM_UNIT_MEMORY, /* shared, global, local, constant, textures: what is touched says which */
  BF_SIM_UNITS
} bf_sim_unit;

/* What ptxas makes of an instruction of PTX (control.c). */
typedef struct bf_sim_control {
  bool vanishes;               /* in three of four rounds of a loop */
  bool is_guard;               /* a branch that guards what it skips */
  const bf_ptx_operand *guard; /* what such a branch asks, or NULL */
  uint8_t guarded;             /* instructions that such a branch guards */
  bool is_target;              /* a branch leads there */
} bf_sim_control;

/* Filled from the arena, by number of the instruction; 0 or BF_NO_MEMORY. */
int bf_sim_control_find(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel, bf_arena *arena,
                        bf_sim_control **control);

/* An instruction as the timing model sees it. */
typedef struct bf_sim_op {
  uint8_t unit;
  uint8_t slots;        /* issue slots: more than 1 where it becomes several instructions */
  uint8_t unit_slots;   /* of them on its unit; 0: all */
  uint16_t more_cycles; /* to the result than others of its unit */
  bool vanishes;        /* in all rounds of a loop but the last of `rounds` */
  uint8_t rounds;       /* of a loop that the compiler has made one of */
  bool is_made;         /* machine code has decided (made.c), and of the next ones: */
  bool is_fixed;        /* its warp waits for its result by `stall` alone */
  bool is_overtaken;    /* instructions behind it pass it where it must wait */
  uint8_t stall;        /* cycles until the next instruction of its warp; 0: not known */
  uint8_t places;       /* its place in the machine's code, round by round; 0: it has none */
  uint32_t place[BF_SIM_PLACES];
  bool is_memory;       /* of any kind; in gou13 a "memory warp" */
  bool is_shared;       /* names shared memory */
  bool is_ordered;      /* global atomics, volatile accesses: happen in the order of time */
  bool is_put_off;      /* of them reductions that may be made later (bf_emu_stepper_put_off) */
  bool is_beyond;       /* reaches memory otherwise than loads, stores and atomics of threads */
  bool keeps_order;     /* of them those that others of the warp must not pass */
  bool reads_clock;     /* stays where it is */
  bool may_free_others; /* barriers, exits: other warps may go on after it */
  bool awaits_copies;   /* cp.async.wait_all or wait_group: asynchronous copies must have come */
  bool is_copy;         /* cp.async itself */
  bool ends_group;      /* cp.async.commit_group */
  uint8_t groups_left;  /* awaits_: groups of copies that need not have come */
  bool is_bulk;         /* cp.async.bulk and the like */
  bool ends_stores;     /* cp.async.bulk.commit_group */
  bool awaits_stores;   /* cp.async.bulk.wait_group */
  bool ends_products;   /* wgmma.commit_group */
  bool awaits_products; /* wgmma.wait_group */
  float product_cycles; /* wgmma: that it takes its matrix unit; 0: none */
  float operand_share;  /* wgmma: of the shared memory's time that its operands take meanwhile */
  bool may_be_remote;   /* its address may be of another block of the cluster */
  bool joins_cluster;   /* barrier.cluster.wait */
  bool is_try;          /* mbarrier.try_wait: waits until its phase is over */
  bool is_unread;       /* nothing reads its results */
  bool is_gathered;     /* an atomic that one lane makes for all */
  bool holds_warp;      /* a sequence with a branch: nothing of the warp passes it */
  bool is_division;     /* a sequence that others of the warp pass */
  bool is_either;       /* an addition that the unit of integers or of multiplication makes */
  bool is_past_l1;      /* a load that goes past the first-level cache */
  bool is_constant;     /* a load of constants: words are served one after the other */
  bool is_absorbed;     /* a shared access that ptxas has merged into another one */
  bool is_store;        /* with `aliases` only, as the next */
  bool is_behind_store; /* a load that must not pass a store before it */
  bool is_fence;        /* waits until all accesses of its warp have happened */
  bool is_guard;        /* a branch that ptxas makes a guard of what it skips */
  uint8_t guarded;      /* issue slots of what it skips, which are taken nevertheless */
  uint16_t sources, results;
  const uint32_t *source; /* registers read, then (from source + sources on) registers written */
  uint32_t site;          /* UINT32_MAX: none */
} bf_sim_op;

typedef struct bf_sim_program {
  bf_arena arena;
  bf_sim_op *op; /* by number of the instruction */
  uint32_t instructions, registers;
  bool may_put_off; /* it has reductions that may be put off, and nothing is in the way of that */
} bf_sim_program;

/* machine: what ptxas has made of the kernel; NULL: not known, estimated from the PTX. */
int bf_sim_program_create(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                          const bf_machine_kernel *machine, bf_sim_program **program,
                          bf_diagnostic *diagnostic);
/* The unit of an instruction and how it is bound to memory (units.c). */
void bf_sim_unit_set(const bf_sim_gpu *gpu, const bf_emu_instruction *found, bf_sim_op *op);
/* Marks what ptxas makes of what is the same in all lanes (uniform.c); 0 or BF_NO_MEMORY. */
int bf_sim_find_uniform(const bf_sim_gpu *gpu, const bf_emu_kernel *kernel,
                        bf_sim_program *program);
/* Marks stores, and loads that must stay behind one (alias.c). */
void bf_sim_find_aliases(const bf_emu_kernel *kernel, bf_sim_program *program);
void bf_sim_program_free(bf_sim_program *program);

#endif
