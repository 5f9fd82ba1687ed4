/* Inside room sim: a multiprocessor. Warps in slots, blocks, executing an instruction and what it
 * touched, loads in flight (sm.c), and the pipeline that decides what issues when: a bf_sim_core,
 * which is scoreboard.c or barrel.c. */
#ifndef BF_SIM_SM_H
#define BF_SIM_SM_H

#include "sim/answers.h"
#include "sim/feed.h"

/* ---- Warps and blocks on a multiprocessor ---- */

struct bf_sim_sm;

typedef struct bf_sim_block {
  void *emu; /* the feed's block; NULL: not in use */
  uint64_t index;
  unsigned warps, warps_left;
  uint64_t barriers;   /* that it has passed, as far as its warps were told */
  uint64_t notified;   /* and as far as news of it are on their way */
  unsigned first_slot; /* its warps are in slots first_slot, first_slot + 1, ... */
} bf_sim_block;

typedef struct bf_sim_warp {
  void *emu; /* the feed's warp; NULL: the slot is free */
  bf_sim_block *block;
  unsigned slot, index; /* index: in its block */
  uint64_t age;         /* warps that came before it */
  /* The next instruction, as bf_sim_look found it. */
  bf_emu_turn turn;
  const bf_sim_op *next; /* turn READY */
  uint32_t instruction, active;
  unsigned loads;                 /* global loads in flight */
  uint16_t copies[BF_SIM_GROUPS]; /* of them asynchronous copies, by group */
  uint8_t group;                  /* to which copies belong now */
  unsigned writes;                /* stores and reductions that have not happened yet */
  bool tests;                     /* it waits for the phase of an mbarrier */
  /* When bulk stores and products (wgmma) are done, by group, and the group being filled. */
  uint64_t stored[BF_SIM_GROUPS], multiplied[BF_SIM_GROUPS];
  uint8_t stored_group, multiplied_group;
  void *core_data; /* of the core */
} bf_sim_warp;

/* What the instruction just executed did to memory. A merged shared access may be several. */
typedef struct bf_sim_touched {
  unsigned shared_accesses;
  bf_count shared;             /* summed over them */
  uint16_t part[BF_EMU_LANES]; /* in-order pipelines: wavefronts of each simd_width lanes */
  bool has_locks;              /* an atomic that goes round a loop */
  uint64_t locked_until;       /* until all lanes have changed their words (lock_word_cycles) */
  unsigned width_bytes;        /* of the widest */
  bf_op shared_op;
  unsigned lines; /* of global memory */
  struct {
    uint64_t line;
    uint8_t sectors;
    uint16_t operations;
    uint8_t same; /* atomics on floats: most lanes of a word */
  } line[2 * BF_EMU_LANES];
  unsigned words;                      /* atomics: different ones */
  unsigned constants;                  /* loads of constants: different addresses */
  bool is_store, is_atomic, is_unread; /* is_unread: an atomic whose result nobody reads */
} bf_sim_touched;

/* A word of a block's shared memory, and the cycle until which loops with locks work on it. */
typedef struct bf_sim_locked {
  uint64_t block, until;
  uint32_t address;
} bf_sim_locked;

/* A global load in flight; token = its index. */
typedef struct bf_sim_load {
  bf_sim_warp *warp; /* NULL: not in use */
  const bf_sim_op *op;
  uint64_t warp_age; /* of the warp when it was issued */
  unsigned lines;    /* not answered yet */
  bool is_write;     /* a store or reduction: nobody waits for it, but it takes room */
  uint8_t group;     /* of copies */
  uint64_t issued;
} bf_sim_load;

/* A bulk or tensor copy in flight. */
typedef struct bf_sim_copy {
  bool is_used;
  unsigned lines;      /* not answered yet */
  uint64_t ticket;     /* 0: nobody waits for it */
  uint32_t ranks;      /* blocks of the cluster that it goes to */
  bf_sim_block *block; /* of the thread that asked for it, and its number then */
  uint64_t index;
  bf_emu_block *emu; /* the same block */
} bf_sim_copy;

/* The copy engine (copies.c). */
typedef struct bf_sim_copies {
  bf_sim_copy *copy;
  unsigned count;
  double free_at; /* cycle at which it turns to the next copy */
  /* The copy that is being told of: its number, when the engine turns to it, cycles from there to
   * its first line, and cycles that it has taken. */
  unsigned current;
  double begin, latency, taken;
  bool is_open, is_engines; /* is_engines: no store of a thread */
} bf_sim_copies;

/* Tokens of lines of copies have this bit. */
#define BF_SIM_COPY_TOKEN (UINT32_C(1) << 31)

/* ---- Pipelines ---- */

typedef struct bf_sim_core {
  int (*create)(struct bf_sim_sm *sm, bf_diagnostic *diagnostic);
  void (*free)(struct bf_sim_sm *sm);
  /* A warp has come to its slot; its first instruction can issue at sm->now or later. */
  void (*admit)(struct bf_sim_sm *sm, bf_sim_warp *warp);
  /* Simulates up to, but without, cycle until, starting at sm->now; skips cycles in which nothing
   * can happen. Returns early, with sm->is_paused, where bf_sim_must_pause or _execute does: it is
   * then called again and goes on with the same instruction of the same warp. Leaves sm->now at
   * until, or where it paused. */
  void (*run)(struct bf_sim_sm *sm, uint64_t until);
  /* The warp waited for others, and can go on or has ended. */
  void (*freed)(struct bf_sim_sm *sm, bf_sim_warp *warp);
  /* The data of a load has come, at sm->now; called from within run by bf_sim_take_answers. */
  void (*loaded)(struct bf_sim_sm *sm, bf_sim_load *load);
  /* Something has happened at barriers of the block of a warp that `tests`; or NULL. */
  void (*tested)(struct bf_sim_sm *sm, bf_sim_warp *warp);
  /* All stores of the warp have happened; or NULL. */
  void (*written)(struct bf_sim_sm *sm, bf_sim_warp *warp);
  /* The next cycle at which something happens by itself; UINT64_MAX: only an answer or a block can
   * wake it. */
  uint64_t (*next_event)(const struct bf_sim_sm *sm);
  /* After a deadlock: what the warp waits for; which warp it is stays to be filled in. */
  bf_sim_wait (*wait)(const struct bf_sim_sm *sm, const bf_sim_warp *warp);
  /* Host memory per warp. */
  uint64_t (*warp_bytes)(const struct bf_sim_sm *sm);
} bf_sim_core;

extern const bf_sim_core bf_sim_scoreboard_core, bf_sim_barrel_core;

typedef struct bf_sim_sm {
  unsigned index;
  uint64_t now;
  uint64_t next_answer; /* cycle of the next answer or block; UINT64_MAX: none is on its way */
  const bf_sim_gpu *gpu;
  const bf_sim_settings *settings;
  const bf_sim_program *program;
  const bf_emu_launch *launch;
  bf_sim_feed *feed;
  const bf_sim_core *core;
  void *core_data;
  /* Blocks and warps. */
  unsigned blocks, warps_per_block;
  bf_sim_block *block;
  unsigned slots;
  bf_sim_warp *warp;
  unsigned warps_alive;
  uint64_t next_age;
  uint64_t *ended; /* cycles at which blocks have ended in this span: for the engine */
  unsigned ended_count;
  struct bf_sim_begin {
    uint64_t cycle, index;
  } * begin; /* blocks on their way here, in the order of cycles */
  unsigned begins;
  /* Memory. */
  bf_counter *counter;
  const bf_sim_addresses *addresses;
  const struct bf_sim_range *last_range; /* that an address was found in */
  bf_sim_touched touched;
  const bf_sim_op *executing;
  bf_sim_warp *acting; /* that executes it */
  bf_sim_copies copies;
  bf_sim_locked *locked; /* words that loops with locks work on, by a hash; NULL: none yet */
  bf_sim_l1 *l1;
  bf_sim_load *load;
  unsigned loads, free_loads;            /* size of the table; entries not in use */
  uint32_t *free_load;                   /* stack of them */
  bf_sim_request held[2 * BF_EMU_LANES]; /* lines of the last load that found no room */
  unsigned held_first, held_count;
  bf_sim_request *outbox; /* to hierarchy, in the order of cycles */
  size_t outbox_count, outbox_capacity;
  bf_sim_request *sent; /* those of the span before, where memory takes them while this one runs */
  size_t sent_count, sent_capacity;
  bf_sim_answers answers;
  /* Order between multiprocessors. */
  bool may_order; /* the next ordered instruction may happen */
  bool is_alone;  /* no other multiprocessor has work: order needs no care */
  bool puts_off;  /* reductions are put off, and made by the engine */
  bool is_paused;
  bool is_waiting; /* paused for reductions that were put off, with an instruction without order */
  bool is_stopped; /* a fault has ended the launch */
  bool failed;     /* out of memory */
  bool is_freeing; /* warps are being told that they can go on */
  /* Counts; the engine adds them up. */
  bf_sim_result count;
} bf_sim_sm;

/* Whether the instruction has to wait for other multiprocessors, as those of is_ordered and
 * is_beyond may; sets is_paused. */
bool bf_sim_must_pause(bf_sim_sm *sm, const bf_sim_op *op);
/* Looks at the next instruction of a warp (turn, next, ...). Where the warp has ended it leaves its
 * slot, and with the last one its block ends. Where its block has passed a barrier, other warps are
 * freed. */
void bf_sim_look(bf_sim_sm *sm, bf_sim_warp *warp);
/* Executes the next instruction of a warp at sm->now; sm->touched says what it did. Does not look
 * at what comes then. False: it has to wait for reductions that were put off; sets is_paused. */
bool bf_sim_execute(bf_sim_sm *sm, bf_sim_warp *warp);
/* After an instruction that the warp has executed: where its block has passed a barrier, calls
 * core->freed for every other warp that waited and can go on. bf_sim_look does it too. */
void bf_sim_free_others(bf_sim_sm *sm, bf_sim_warp *warp);
/* Sends news to blocks that have passed barriers by what other multiprocessors did; they come at a
 * cycle. */
void bf_sim_sm_notify(bf_sim_sm *sm, uint64_t cycle);
/* The block may have passed barriers: tells its warps. */
void bf_sim_block_news(bf_sim_sm *sm, bf_sim_block *block);
/* The simulated address of a byte of global memory. */
uint64_t bf_sim_moved_address(bf_sim_sm *sm, uint64_t address);
/* Hands a request over to global memory; false: out of memory. */
bool bf_sim_post(bf_sim_sm *sm, const bf_sim_request *request);
/* Sends what was touched in global memory. The first line leaves at cycle `first`, the others one
 * by one behind it, global_line_cycles apart. Returns the load to wait for; NULL: none, because
 * nobody waits or the first-level cache had all. Call it only where bf_sim_has_room said so before
 * the instruction was executed. */
bf_sim_load *bf_sim_send(bf_sim_sm *sm, bf_sim_warp *warp, const bf_sim_op *op, uint64_t first);
/* Room for an instruction that may load from global memory: checked before it is executed. */
static inline bool bf_sim_has_room(const bf_sim_sm *sm) {
  return sm->free_loads > 0 && sm->held_count == 0;
}
/* Takes answers and begins blocks that are due before cycle `end`, which is behind sm->now, up to
 * and with the first cycle in which that changes something for the pipeline; calls core->loaded for
 * complete loads, and core->admit for the warps of blocks. Moves sm->now on to the last cycle in
 * which it did something. False: nothing changes for the pipeline; lines of loads have come of
 * which others are still on their way. */
bool bf_sim_take_answers(bf_sim_sm *sm, uint64_t end);
/* Tells the watch, if there is one. */
void bf_sim_tell(bf_sim_sm *sm, const bf_sim_warp *warp, unsigned scheduler, uint32_t instruction,
                 uint64_t issued, uint64_t done, unsigned wavefronts);

/* The multiprocessor has gpu, settings, program, launch, feed, addresses and index set. */
int bf_sim_sm_create(bf_sim_sm *sm, unsigned blocks, bf_diagnostic *diagnostic);
void bf_sim_sm_free(bf_sim_sm *sm);
/* Lets block index of the grid begin at a cycle that is not before that of blocks given before. */
void bf_sim_sm_give(bf_sim_sm *sm, uint64_t cycle, uint64_t index);
/* An answer is on its way. False: out of memory. */
static inline bool bf_sim_sm_answer(bf_sim_sm *sm, const bf_sim_request *request, uint64_t cycle) {
  if (cycle < sm->next_answer)
    sm->next_answer = cycle;
  return bf_sim_answers_add(&sm->answers, request, cycle);
}
/* The observer of the feed; sms is the array of multiprocessors, other the observer of the
 * launch, or NULL. */
bf_emu_observer bf_sim_observer(const bf_sim_gpu *gpu, bf_sim_sm *sms,
                                const bf_emu_observer *other);

#endif
