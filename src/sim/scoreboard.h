/* Inside room sim: what the two files of the scoreboard pipeline share: scoreboard.c and the
 * load/store unit, loadstore.c. */
#ifndef BF_SIM_SCOREBOARD_H
#define BF_SIM_SCOREBOARD_H

#include "sim/sm.h"

#include <math.h>

enum { WHEEL = 64, TICKS = 256 }; /* cycles of the wheel; parts of a cycle that units count in */
enum { SETS = 64, NO_SLOT = 64 };
/* Instructions that find their unit busy together: those of a unit, accesses to global memory,
 * which need room among the loads in flight, and additions that either of two units makes. */
enum { KIND_GLOBAL = BF_SIM_UNITS, KIND_EITHER, KINDS };

/* Cycles from here on stand for loads in flight; the last ones for all loads that are owed, and for
 * copies of the warp. */
#define LOADING_FROM (UINT64_C(1) << 62)
#define LOADING_OWED UINT64_MAX
#define LOADING_COPIES (UINT64_MAX - 1)
#define LOADING_FENCE (UINT64_MAX - 2) /* and all its stores */
#define LOADING_TEST (UINT64_MAX - 3)  /* the phase of an mbarrier */

enum { OWED = 16, LATE = 64, SCHEDULERS = 8 };

typedef enum state { READY, TIMED, LOADING, WAITING, STATES } state;

/* Instructions of a warp whose operands were not there and that others have passed (lookahead): the
 * cycles at which operands will be there, in a ring, and the loads that must come. */
typedef struct passed {
  uint64_t late[LATE];
  uint64_t owed[OWED];
  /* Of both: places in the machine's code; 0, of loads UINT32_MAX: not known. */
  uint32_t late_place[LATE], owed_place[OWED];
  unsigned owed_by[OWED]; /* instructions that wait for that load */
} passed;

/* A warp. What every instruction needs is in one line of the host's cache. */
typedef struct scored {
  uint64_t *ready;     /* per register */
  uint64_t wake;       /* TIMED: the cycle; LOADING: it cannot issue before */
  uint64_t loading;    /* LOADING: what the scoreboard holds for the load */
  uint64_t shared_at;  /* when the data of its last shared load is there */
  passed *passed;      /* NULL where lookahead is 0 */
  uint64_t late_until; /* when the operands of all instructions that were passed are there */
  uint64_t stored_at;  /* the same of stores among them, and the load that one waits for, or 0 */
  uint64_t store_loading;
  uint64_t guarded_at; /* when it has issued what a guard keeps from all its lanes */
  uint64_t
      divided_at; /* when the result of its last division is there, of one that can be passed */
  uint8_t state, scheduler, kind;
  bool is_passed;  /* its next instruction issues without its operands */
  uint8_t round;   /* of a loop that is unrolled */
  bool has_copies; /* registers other than those of a load's own results may wait for the load */
  uint8_t late_first, late_count;
  uint8_t owed_count;
  unsigned owed_instructions;
  unsigned meetings; /* barriers of the cluster that it has arrived at */
  bool is_meeting;   /* it has come to the wait there */
  uint32_t guarded;  /* lanes that go on behind what a guard keeps from some of them; 0: none */
} scored;

typedef struct issuer {
  uint64_t mask;     /* slots that belong to it */
  uint64_t turn;     /* cycle of its next turn */
  uint64_t active;   /* two-level: slots in the first group */
  uint64_t way_free; /* ticks: when another of its accesses can go to memory */
  unsigned last;     /* slot that issued last; NO_SLOT: none yet */
  bool way_has_conflicts;
  uint8_t blocked_by; /* bf_sim_stall: why its ready warps did not issue in its last turn */
} issuer;

typedef struct board {
  scored *warp;                        /* by slot */
  uint64_t in[STATES];                 /* slots by state */
  unsigned schedulers, next_scheduler; /* the one whose turn is being taken in this cycle */
  uint64_t filled;                     /* bits: entries of the wheel that are not empty */
  uint64_t far, far_first; /* TIMED beyond the wheel: slots, and the earliest cycle of one */
  uint64_t memory_free;    /* ticks: the load/store unit */
  uint64_t constants_free; /* ticks: what serves constants */
  uint64_t queue_first;    /* the earliest of the queue */
  unsigned queue_count;
  uint64_t blocked_until; /* ticks: when the unit is free that a ready warp waits for */
  bool queue_has_conflicts;
  uint64_t operands_until; /* ticks: operands of products take operand_share of the memory's time */
  float operand_share;
  uint64_t of_kind[KINDS]; /* slots by the kind of the next instruction */
  issuer scheduler[SCHEDULERS];
  uint64_t wheel[WHEEL];                  /* slots by cycle */
  uint64_t unit_ticks[BF_SIM_UNITS];      /* that an instruction takes its unit */
  uint64_t unit_cycles[BF_SIM_UNITS];     /* to the result */
  uint64_t *queue;                        /* ticks at which queued accesses start */
  uint64_t *registers;                    /* of all slots */
  passed *passed;                         /* of all slots, or NULL */
  uint64_t unit_free[SETS][BF_SIM_UNITS]; /* ticks */
} board;

static inline uint64_t ticks(double cycles) { return (uint64_t)llround(cycles * TICKS); }

/* Forgets queued accesses that have started. */
void bf_sim_drain_queue(bf_sim_sm *sm, board *own);
/* Times an instruction on memory that was executed and has its address at cycle `from`; *busy is
 * when the warp can go on. Returns when its results are there, or what stands for a load in flight.
 */
uint64_t bf_sim_time_memory(bf_sim_sm *sm, bf_sim_warp *warp, const bf_sim_op *op, uint64_t from,
                            uint64_t *busy);

#endif
