/* Inside room emu: what the files of this room share.
 *
 * A function of the PTX is decoded once (decode.c) into an array of operations (bf_emu_op). An
 * operation is a function to call, the places of its operands in the frame, and a guard. A frame
 * holds the registers of a function for the 32 lanes of a warp, lane after lane: a 32-bit register
 * is uint32_t[32], a 64-bit one uint64_t[32], 8- and 16-bit ones uint16_t[32], 128-bit ones
 * bf_emu_wide[32]; a predicate is one uint32_t with a bit per lane. Constants lie in the frame like
 * registers, written once. Operations change only lanes of warp->active whose guard holds.
 *
 * The files run_*.c hold what operations do. They are compiled once per instruction set, with
 * BF_EMU_ISA naming it, and hand out one function each that finds the operation of an instruction;
 * isa.c collects them. Everything else is compiled once.
 */
#ifndef BF_EMU_INNER_H
#define BF_EMU_INNER_H

#include "emu/emu.h"

#include <pthread.h>
#include <string.h>

typedef struct bf_emu_op bf_emu_op;
typedef struct bf_emu_warp bf_emu_warp;
typedef struct bf_emu_decoder bf_emu_decoder;

typedef struct bf_emu_wide {
  uint64_t low, high;
} bf_emu_wide;

/* ---- Operations ---- */

/* Executes op and returns the next operation, or NULL where the warp cannot go on with its current
 * path (warp.c has the ways to say so). */
typedef const bf_emu_op *(*bf_emu_step)(bf_emu_warp *warp, const bf_emu_op *op);

/* d to e are byte offsets into the frame; what they, immediate and detail mean is up to run. */
struct bf_emu_op {
  bf_emu_step run;
  uint32_t guard, guard_flip; /* offset of the predicate; ~0 where it is negated */
  uint32_t d, a, b, c, e;
  uint32_t site; /* number of the memory access, else unused */
  union {
    uint64_t immediate;
    int64_t offset;
    const void *detail; /* in the arena of the kernel */
  };
  uint8_t small[8]; /* sizes, modes */
  uint16_t form;    /* how one lane alone does it (alone.h); 0: by run */
  uint16_t guarded; /* the same where the form is to look at the guard first */
  int32_t by;       /* what the form adds to an address, where offset is not for that */
};

/* Places that every frame has. */
enum {
  BF_EMU_TRUE = 0,    /* predicate that always holds */
  BF_EMU_CARRY = 4,   /* carry flags of add.cc and the like */
  BF_EMU_FALSE = 8,   /* predicate that never holds */
  BF_EMU_NOWHERE = 64 /* 512 bytes for results that nobody wants (_) */
};

/* The operand of an operation as an array over the lanes, and the lanes that it changes. */
#define BF_LANES(type, offset) ((type *)(void *)(warp->registers + (offset)))
#define BF_PREDICATE(offset) (*BF_LANES(uint32_t, offset))
#define BF_MASK() (warp->active & (BF_PREDICATE(op->guard) ^ op->guard_flip))

/* The lowest lane of a mask; for 0 any lane. */
#define BF_FIRST_LANE(mask) ((unsigned)__builtin_ctz((mask) | UINT32_C(0x80000000)))
/* Changes the lanes of mask of a 16-bit register: what compilers make no vector code of by
 * themselves. */
static inline void bf_emu_blend_halves(void *to, const uint16_t *from, uint32_t mask) {
  typedef uint16_t halves __attribute__((vector_size(32), aligned(2), may_alias));
  const halves bit = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                      1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  halves *own = to;
  const halves *fresh = (const halves *)(const void *)from;
  for (unsigned i = 0; i < 2; i++) {
    halves stays = (halves)((bit & (uint16_t)(mask >> 16 * i)) == 0);
    own[i] = (own[i] & stays) | (fresh[i] & ~stays);
  }
}
/* For every lane of mask: statement, which sees the lane as `lane`. The loop over all 32 lanes is
 * one that compilers turn into vector code; a single lane, as after `if (threadIdx.x == 0)`, is
 * done alone. value is computed for lanes outside mask too, so it must not trap: no integer
 * division, no memory access. */
#if defined(__clang__)
#define BF_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define BF_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define BF_SET_SOME(mask, destination, value)                                                      \
  do {                                                                                             \
    if (sizeof *(destination) == 2) {                                                              \
      uint16_t fresh_value[BF_EMU_LANES];                                                          \
      BF_INDEPENDENT for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) fresh_value[lane] =      \
          (uint16_t)(value);                                                                       \
      bf_emu_blend_halves((destination), fresh_value, (mask));                                     \
    } else {                                                                                       \
      BF_INDEPENDENT for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)(destination)[lane] =     \
          (mask) >> lane & 1 ? (value) : (destination)[lane];                                      \
    }                                                                                              \
  } while (0)
#define BF_SET_LANES(mask, destination, value)                                                     \
  do {                                                                                             \
    uint32_t set_mask = (mask);                                                                    \
    if (set_mask == UINT32_MAX) {                                                                  \
      BF_INDEPENDENT for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)(destination)[lane] =     \
          (value);                                                                                 \
    } else if ((set_mask & (set_mask - 1)) == 0) {                                                 \
      unsigned lane = BF_FIRST_LANE(set_mask);                                                     \
      if (set_mask)                                                                                \
        (destination)[lane] = (value);                                                             \
    } else {                                                                                       \
      BF_SET_SOME(set_mask, destination, value);                                                   \
    }                                                                                              \
  } while (0)
/* The same one lane after the other, only for lanes of mask: for what cannot be computed blindly.
 */
#define BF_EACH_LANE(mask, lane)                                                                   \
  for (uint32_t left_##lane = (mask), lane = 0;                                                    \
       left_##lane && (lane = (uint32_t)__builtin_ctz(left_##lane), 1);                            \
       left_##lane &= left_##lane - 1)
/* How many lanes a mask has. (Not every host counts bits, and a function for it is called.) */
static inline uint32_t bf_emu_count(uint32_t mask) {
  mask -= mask >> 1 & 0x55555555;
  mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
  mask = (mask + (mask >> 4)) & 0x0f0f0f0f;
  return mask * 0x01010101 >> 24;
}
/* Changes the bits of mask in a predicate. */
static inline void bf_emu_set_predicate(bf_emu_warp *warp, uint32_t offset, uint32_t mask,
                                        uint32_t value);

/* ---- Decoding: what run_*.c ask of decode.c ---- */

/* The place of an operand that an instruction reads as type: a register, or a constant made for it.
 * A register narrower or wider than type is given as it is: see bf_emu_register_bytes. Special
 * registers and addresses that are not constants are read by operations emitted before. */
uint32_t bf_emu_source(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bf_ptx_type type);
/* The place of a register that an instruction writes; _ is BF_EMU_NOWHERE. */
uint32_t bf_emu_destination(bf_emu_decoder *decoder, const bf_ptx_operand *operand);
/* A constant by its bits; bytes is 2, 4, 8 or 16 (high half 0). */
uint32_t bf_emu_constant(bf_emu_decoder *decoder, uint64_t bits, unsigned bytes);
/* A new place of 32 times bytes that nothing else uses. */
uint32_t bf_emu_temporary(bf_emu_decoder *decoder, unsigned bytes);
/* Bytes per lane of a place that holds operand: 2, 4, 8, 16; 0 for a predicate. For constants those
 * of type. */
unsigned bf_emu_register_bytes(const bf_ptx_operand *operand, bf_ptx_type type);
/* Where operand is a predicate register: its offset, with *flip ~0 where it is negated (!p). */
uint32_t bf_emu_predicate(bf_emu_decoder *decoder, const bf_ptx_operand *operand, uint32_t *flip);
/* size zeroed bytes that live as long as the kernel; NULL marks the decoder as failed. */
void *bf_emu_detail(bf_emu_decoder *decoder, size_t size);
/* Adds an operation before the one being selected, with the same guard. Pointers to operations got
 * before are no longer valid after it; the op given to select stays valid. NULL: out of memory. */
bf_emu_op *bf_emu_emit(bf_emu_decoder *decoder);
/* Says why the instruction cannot be run ("shape m8n8k128"): returns true, as select does when it
 * has dealt with an instruction. text is copied. */
bool bf_emu_refuse(bf_emu_decoder *decoder, const char *text);

/* Finds the operation of an instruction: fills *op (zeroed but for guard, guard_flip and site) and
 * returns true, or returns false where the instruction belongs to another file. */
typedef bool (*bf_emu_select)(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                              bf_emu_op *op);

#define BF_EMU_JOIN2(a, b) a##_##b
#define BF_EMU_JOIN(a, b) BF_EMU_JOIN2(a, b)
/* BF_EMU_NAME(bf_emu_select_integer) is bf_emu_select_integer_avx512 in the files for AVX-512. */
#define BF_EMU_NAME(name) BF_EMU_JOIN(name, BF_EMU_ISA)

/* The files compiled per instruction set. */
#define BF_EMU_SELECTS(X)                                                                          \
  X(integer)                                                                                       \
  X(logic)                                                                                         \
  X(float)                                                                                         \
  X(half)                                                                                          \
  X(math)                                                                                          \
  X(compare)                                                                                       \
  X(convert)                                                                                       \
  X(move)                                                                                          \
  X(video)                                                                                         \
  X(memory)                                                                                        \
  X(atomic)                                                                                        \
  X(warp)                                                                                          \
  X(matrix)                                                                                        \
  X(wmma)                                                                                          \
  X(texture)                                                                                       \
  X(async)                                                                                         \
  X(wgmma)

/* ---- Devices and code ---- */

/* Where a frame holds an address of shared memory for all lanes, of 4 or 8 bytes each. */
typedef struct bf_emu_shared_place {
  uint32_t place;
  unsigned bytes;
} bf_emu_shared_place;

/* A function made ready for one kernel. */
typedef struct bf_emu_code {
  const bf_ptx_function *function;
  uint32_t first_instruction; /* where the numbers of its instructions start in the kernel */
  bf_emu_op *op;
  uint32_t ops;
  uint32_t *counted;     /* per op: PTX instructions before it in the array */
  uint32_t *instruction; /* per op: index of its instruction */
  uint32_t *order;       /* per op: its block's place in an order that follows control flow */
  uint32_t frame_bytes;
  uint8_t *first_frame;              /* what a frame holds when it is made: the constants */
  bf_emu_shared_place *shared_place; /* of addresses of shared memory among them */
  unsigned shared_places;
  uint64_t local_bytes;     /* of its own variables, per lane */
  uint32_t *formal;         /* places of parameters and returns, lane-major */
  struct bf_emu_code *next; /* of the same kernel */
} bf_emu_code;

struct bf_emu_kernel {
  bf_emu_module *module;
  const struct bf_emu_isa *isa; /* that it was decoded for */
  const bf_ptx_function *function;
  bf_arena arena;
  bf_emu_needs needs;
  bf_emu_code *code; /* of the entry, then of the functions it can call */
  bf_emu_site *sites;
  unsigned site_count;
  bf_ptx_merged *merged; /* per site: what ptxas makes of it; leader 0 leads, 1 does not */
  uint64_t *parameter_offset, *parameter_bytes;
  uint64_t dynamic_offset; /* of dynamic shared memory in the block's shared memory */
  bool uses_cluster;       /* it waits for its cluster, which may be a block alone */
  bool uses_system;        /* it has atomics that the host sees */
  bool uses_reserved;      /* it asks for the shared memory that the system reserves */
  bool owns_rows;          /* it was rewritten: blocks reach all of their last row */
  bool reserves_stack;     /* it, or a function of it, uses alloca */
  struct bf_emu_kernel *next;
};

/* ---- A warp at work ---- */

struct bf_emu_block;
struct bf_emu_worker;

/* A call in progress. Lanes that made it together share it. */
typedef struct bf_emu_frame {
  struct bf_emu_frame *caller;
  const bf_emu_code *code;
  const bf_emu_op *call; /* that made it; the caller goes on behind it */
  uint64_t local_base;   /* of the function's own variables in local memory */
  uint64_t reserved;     /* bytes behind them that alloca has given */
  uint32_t lanes;        /* that have not returned */
  unsigned depth;
  uint8_t *registers;
  struct bf_emu_frame *next; /* of all frames of the warp */
  bool is_free;
  unsigned rank; /* that its addresses of shared memory have (cluster.h) */
} bf_emu_frame;

/* Where local memory ends that a call uses. */
static inline uint64_t bf_emu_local_end(const bf_emu_frame *frame) {
  return frame->local_base + ((frame->code->local_bytes + 15) & ~UINT64_C(15)) + frame->reserved;
}

/* Where lanes that went different ways meet again. */
typedef struct bf_emu_join {
  const bf_emu_op *at;
  bf_emu_frame *frame;
  uint32_t expected, arrived;
  struct bf_emu_join *outer;
  struct bf_emu_join *next_free;
  struct bf_emu_join *next_made; /* of all joins of the warp */
} bf_emu_join;

/* Lanes that are at the same place. */
typedef struct bf_emu_path {
  const bf_emu_op *at;
  uint32_t mask;
  bf_emu_frame *frame;
  bf_emu_join *join;
  enum { BF_EMU_READY, BF_EMU_AT_BARRIER, BF_EMU_AT_MEETING, BF_EMU_AT_CLUSTER } state;
  uint32_t meeting;  /* AT_MEETING: lanes that must come */
  bool goes_by_mask; /* and they may come to another one of this kind with the same mask */
  unsigned barrier;  /* AT_BARRIER: which */
  bool yielded;
  const bf_emu_op
      *test; /* it gave up its turn in a loop around this test of an mbarrier, or NULL */
  uint64_t test_address; /* of that mbarrier */
} bf_emu_path;

/* small[2] of an operation that lanes of a mask may execute at several places at once, where
 * small[0..2], its qualifiers, are equal. */
enum bf_emu_alike {
  BF_EMU_NOT_ALIKE,
  BF_EMU_ALIKE_SHUFFLE,
  BF_EMU_ALIKE_VOTE,
  BF_EMU_ALIKE_MATCH,
  BF_EMU_ALIKE_REDUX,
  BF_EMU_ALIKE_BARRIER
};

/* What lanes at several places bring to such an operation. */
typedef struct bf_emu_party {
  bool is_complete; /* all have brought theirs; before, operations only leave it here */
  uint32_t lanes;   /* that have come */
  uint32_t yes;     /* vote: their predicates */
  uint64_t value[BF_EMU_LANES];
} bf_emu_party;

/* Whom a path may wait for: other threads of its block, or of all. */
typedef enum bf_emu_polled { BF_EMU_POLLS_BLOCK = 1, BF_EMU_POLLS_GRID = 2 } bf_emu_polled;

/* The last look of a warp at a clock (clock.c). */
typedef struct bf_emu_look {
  const bf_emu_op *at;   /* NULL: none yet */
  uint64_t instructions; /* of the warp, before it */
  unsigned spins;        /* of the warp */
  unsigned in_a_row;     /* looks before it from the same place, in a loop that only looks */
} bf_emu_look;

/* A wgmma that a warp has executed, and the descriptors (A: 0 where it is in registers). */
typedef struct bf_emu_wgmma_done {
  const bf_emu_op *op;
  uint64_t a, b;
} bf_emu_wgmma_done;
enum { BF_EMU_WGMMA_KEPT = 16 };

/* What a warp did about its registers (resize.c), in registers of a thread. */
typedef struct bf_emu_resizes {
  const bf_emu_op *last, *asks; /* the last setmaxnreg; the last that asked for most */
  unsigned count;
  uint16_t held, least, asked; /* now; ever; the most that it asked for */
} bf_emu_resizes;

struct bf_emu_warp {
  /* What operations use most: the path that runs. */
  uint8_t *registers; /* of frame */
  uint32_t active;    /* lanes of the path */
  uint32_t alive;     /* lanes of the warp that have not exited */
  struct bf_emu_block *block;
  struct bf_emu_worker *worker;
  bf_emu_frame *frame;
  bf_emu_join *join;
  const bf_emu_op *segment; /* operations from here on are not counted yet */
  const bf_emu_op *at;      /* step.c: where the running path goes on; NULL: none runs */
  /* And what many of them use. */
  uint64_t instructions; /* executed by the warp */
  unsigned paths;
  unsigned spins;  /* backward branches since the last switch of paths, in loops that poll memory */
  unsigned budget; /* backward branches left before other warps run */
  unsigned index;  /* in its block */
  uint32_t lanes;  /* that exist */
  uint8_t polled;  /* bf_emu_polled: memory was read in a way that waits for others */
  bool is_meeting; /* the operation that runs has met all it waited for */
  bf_emu_party *party; /* and those that execute the same elsewhere; NULL: it is held alone */
  uint8_t *local;      /* local memory: stack_bytes per lane, lane after lane; NULL: none */

  bf_emu_path path[BF_EMU_LANES]; /* those that do not run now */
  uint32_t tid[3][BF_EMU_LANES];
  bf_emu_frame first_frame;
  bf_emu_frame *frames;            /* all but the first, in use or not */
  bf_emu_join *free_joins, *joins; /* those not in use; all */
  struct bf_emu_async *async;      /* of run_async.c: copies not yet waited for */
  const void *beside;              /* while an access reaches for shared memory: sources of cp.async
                                    * (32 addresses), or what a 64-bit atomic does (bf_changes) */
  bool copies_cached;              /* and whether it is .ca */
  struct bf_emu_late *late;        /* of late.c: bulk groups, and what else happens later */
  const bf_emu_op *product;        /* the last wgmma that no commit_group has followed, or NULL */
  bf_emu_wgmma_done done[BF_EMU_WGMMA_KEPT]; /* the last ones, by their number */
  uint32_t products;                         /* how many there were */
  bf_emu_resizes resizes;
  const bf_emu_op *test;    /* the last test of an mbarrier, where it failed, or NULL */
  uint64_t test_address;    /* of that mbarrier */
  uint32_t order;           /* meetings of lanes so far */
  const uint8_t *stored;    /* what a store other than st is about to write, or NULL: of lane 0, */
  unsigned stored_step;     /* and so many bytes on of each next one */
  uint64_t lined_up;        /* of line_up.c: the block's epoch when it last did */
  bool is_lining_up;        /* it has given up its turn for that */
  bool is_fetching;         /* or while memory is fetched for a load (fetch.c), */
  const bf_emu_op *fetched; /* which is this one; NULL: none */
  bf_emu_look look;
};

typedef struct bf_emu_barrier {
  uint32_t arrived;         /* threads */
  uint32_t expected;        /* threads; 0: all of the block that are alive */
  uint32_t ands, ors, sums; /* bar.red: over the predicates of those that arrived */
  uint32_t result_and, result_or, result_sum; /* of the last completed phase */
} bf_emu_barrier;

/* Those that bar.sync names, and behind them one for each warp group (run_wgmma.c). */
enum { BF_EMU_NAMED_BARRIERS = 16, BF_EMU_BARRIERS = 24 };
#define BF_EMU_UNTOLD UINT32_MAX

typedef struct bf_emu_block {
  struct bf_emu_worker *worker;
  uint64_t index;
  uint32_t id[3];
  uint8_t *shared;
  uint64_t shared_bytes; /* that accesses may touch */
  bf_emu_warp *warp;
  unsigned warps, warps_done;
  uint32_t threads_alive;
  bf_emu_barrier barrier[BF_EMU_BARRIERS];
  uint64_t epoch;               /* barriers completed */
  uint32_t polls;               /* in this turn: paths at barriers that have polled for the grid */
  struct bf_emu_shadow *shadow; /* what is known of each byte, or NULL */
  uint8_t *local;               /* of all its threads, or NULL */
  uint64_t local_bytes;
  bool may_fetch;   /* other warps can run while memory is fetched for one (fetch.c) */
  bool is_borrowed; /* its memory, shared memory, warps and first frames are somebody else's */
  uint32_t sample;  /* which sample of the launch it is; BF_EMU_UNTOLD: none */
  bool has_ended;
  bool has_waited;                     /* for the launch before it: griddepcontrol.wait */
  struct bf_emu_cluster *cluster;      /* that it is part of, or NULL */
  unsigned rank;                       /* in the cluster */
  unsigned quiet;                      /* turns in which nothing happened but failed tests */
  uint64_t changes;                    /* of the worker, when it last had its turn */
  struct bf_emu_job *jobs, *last_job;  /* on their way to its barriers, in order (late.c) */
  struct bf_emu_tensor_memory *tensor; /* of tensor_core.c, or NULL */
  struct bf_emu_block *next;
  bool is_checked; /* its shared memory is: for races, or for what was not written */
  /* Where races are looked for (race.c). */
  bool has_acquired;            /* its last access was strong */
  uint64_t fences;              /* made by its threads */
  struct bf_race_word *words;   /* who accessed shared memory, or NULL */
  struct bf_race_line *lines;   /* the same for lines of it */
  union bf_race_body *bodies;   /* of those */
  struct bf_race_reads *reads;  /* of deferred.c, or NULL */
  uint64_t written;             /* the time of deferred.c at which its shared memory last was */
  struct bf_emu_proxy *proxy;   /* of proxy.c, or NULL */
  struct bf_emu_passed *passed; /* of passed.c, or NULL */
  struct bf_emu_visits *visits; /* of visit.c, or NULL */
} bf_emu_block;

/* A range of memory that was found to hold an address before. */
typedef struct bf_emu_known {
  uint64_t first, end;
  bool writable;
} bf_emu_known;

enum { BF_EMU_KNOWN = 64 };

/* The widest access of a lane that is tolerated. */
enum { BF_EMU_TOLERATED_BYTES = 16 };

typedef struct bf_emu_worker {
  struct bf_emu_flight *flight;
  unsigned index;
  bf_emu_known known[BF_EMU_KNOWN]; /* by site */
  uint64_t warp_instructions, thread_instructions;
  uint64_t atomics;                 /* of lanes in global memory, and fences of lone lanes */
  const uint64_t *clock;            /* of a simulator, or NULL: instructions count as cycles */
  uint64_t looked_cycles;           /* what looks at the clock have taken */
  uint64_t changes;                 /* of mbarriers and of barriers of clusters */
  void *segment;                    /* of race_global.c, that was used last */
  struct bf_emu_matrices *matrices; /* of run_wgmma.c, that were read before, or NULL */
  bf_lined *const *tally;           /* of the observer; NULL: it is told of all */
  uint32_t tickets;                 /* that copies have had */
  struct bf_emu_put_off *put_off;   /* of put_off.c; NULL: reductions are made at once */
  bool must_wait;                   /* an access met what is put off, and has not happened */
  struct bf_emu_fetches *fetches;   /* of fetch.c, or NULL */
  /* Where accesses that are tolerated write to. */
  uint8_t sink[BF_EMU_LANES][BF_EMU_TOLERATED_BYTES];
} bf_emu_worker;

/* Memory of the heap of kernels that was freed. */
typedef struct bf_emu_spare {
  uint64_t address, bytes;
} bf_emu_spare;

/* A launch in progress. */
typedef struct bf_emu_flight {
  bf_emu *emu;
  const bf_emu_launch *launch;
  const bf_emu_kernel *kernel;
  uint8_t *parameters; /* a copy */
  uint64_t blocks;
  uint64_t stack_bytes;  /* of local memory per thread */
  uint64_t shared_bytes; /* per block */
  uint64_t reserved_at;  /* in it: what the system reserves, or its end */
  uint32_t cluster[3];   /* blocks of a cluster in each direction */
  bool is_clustered;     /* the launch or the kernel asked for clusters */
  bf_emu_worker *worker;
  unsigned workers;
  bool alone; /* one worker, or the others are not called yet: atomics need no locks */
  /* The first worker begins alone, and calls the others once that seems worth it. */
  double begun, next_look; /* seconds: when it began, and when it thinks of the others again */
  bool has_called, has_crew;
  const bf_emu_observer *observer;
  struct bf_emu_races *races; /* of race.c; NULL: races are not looked for */
  /* Changed by several threads, with atomic operations. */
  uint64_t next_block, blocks_done;
  uint64_t next_rest; /* of the blocks that are skipped unless others wait for them */
  int needs_rest;
  int stop; /* a fault, or interrupted */
  int fault_taken, out_of_memory;
  bf_emu_fault fault;
  pthread_mutex_t lock; /* of what follows, and of printing */
  uint64_t *garbage;    /* memory that the kernel has freed, given back at the end */
  size_t garbage_count, garbage_capacity;
  bf_emu_spare *spare; /* memory of the heap that may be taken again (heap.c) */
  size_t spares, spare_capacity;
} bf_emu_flight;

static inline void bf_emu_set_predicate(bf_emu_warp *warp, uint32_t offset, uint32_t mask,
                                        uint32_t value) {
  uint32_t *predicate = BF_LANES(uint32_t, offset);
  *predicate = (*predicate & ~mask) | (value & mask);
}

/* Takes note of a range that the launch touches (reach.c). */
void bf_emu_touch(bf_emu_flight *flight, const bf_emu_range *range);
/* The launch does more than what it touches of memory settles (reach.c). */
void bf_emu_touch_more(const bf_emu_flight *flight);
/* Does what is left to do when lanes of a warp have ended (late.c). */
void bf_emu_lanes_ended(bf_emu_warp *warp);
/* Frees what asynchronous copies hold of a warp (async.c). */
void bf_emu_async_free(bf_emu_warp *warp);

/* ---- What operations ask for ---- */

/* Ends the launch: the first fault of all counts. lane is the one at fault. Returns NULL. */
const bf_emu_op *bf_emu_fail(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind,
                             unsigned lane, const char *format, ...) BF_PRINTF(5, 6);
/* The same for an access to memory. */
const bf_emu_op *bf_emu_fail_access(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space,
                                    unsigned lane, uint64_t address, unsigned width_bytes,
                                    bool is_write, bf_emu_fault_kind kind);

/* Adds why to what bf_emu_fail_access has just said, unless another fault came first or a reason is
 * there. */
void bf_emu_add_reason(bf_emu_warp *warp, const bf_emu_op *op, const char *reason);

/* Says that an access races with another, which text describes; false: that has ended the launch.
 */
bool bf_emu_say_race(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, unsigned lane,
                     uint64_t address, unsigned width_bytes, bool is_write, const char *text);

/* Where the launch tolerates the access, tells of it and gives memory to access instead; NULL: it
 * does not. */
uint8_t *bf_emu_tolerate(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, unsigned lane,
                         uint64_t address, unsigned width_bytes, bool is_write,
                         bf_emu_fault_kind kind);

/* For operations of several lanes (shfl.sync and the like): true where all lanes of members that
 * are alive take part now; warp->active may then hold more lanes than before, for this operation
 * only. Otherwise the path waits, and the operation must return NULL at once; it is executed again
 * when the others have come. lanes are those that execute the operation (BF_MASK). */
bool bf_emu_meet(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members);
/* The same for what ptxas has lanes wait for by their mask alone (shfl, vote, match, redux,
 * bar.warp.sync): lanes of the mask may wait at another instruction that is the same operation with
 * the same qualifiers, and lanes that go another way are not waited for if they end. Where members
 * cannot come the launch ends. */
bool bf_emu_meet_by_mask(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members);
/* Whether no member that is alive is missing among the lanes that have met; false: the launch has
 * ended. For what makes an H200 hang where some never come: instructions of a whole warp (ldmatrix,
 * mma, barrier.cluster.arrive.aligned) and elect. */
bool bf_emu_all_came(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, uint32_t members);

/* Tells the observer, if there is one, of a shared access of mask at the given addresses. */
void bf_emu_tell_shared(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        uint32_t mask, const uint32_t *address);
/* The same where lanes lie in line. */
void bf_emu_tell_line(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                      const uint32_t *address, const bf_lined_key *line);
void bf_emu_tell_global(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        uint32_t mask, const uint64_t *address);
/* Tells it of what the hardware accesses by itself, by kind; those without bytes are not there. */
void bf_emu_tell_operands(bf_emu_warp *warp, const bf_emu_op *op,
                          const bf_operand operand[BF_OPERANDS]);

/* Turns addresses of a space (NONE: generic) into pointers of the host and checks them: bounds,
 * alignment to align_bytes, freed memory, constant memory. Tells the observer (op kind as in
 * bf_op; width_bytes per lane, in shared memory told_bytes, from addresses rounded down to them;
 * 0: nothing is told of shared memory). False: the launch has ended with a fault. pointer[lane] is
 * valid for width_bytes at lanes of mask. */
bool bf_emu_reach(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, bf_op kind,
                  unsigned width_bytes, unsigned align_bytes, unsigned told_bytes, bool is_write,
                  uint32_t mask, const uint64_t *address, uint8_t **pointer);

/* The memory behind a generic address of a lane; NULL: the launch has ended with a fault. */
uint8_t *bf_emu_reach_one(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                          unsigned width_bytes, bool is_write);

/* The addresses of an operand [register + offset] as 64-bit values: a is the place of the register,
 * register_bytes its size, offset what is added. */
static inline void bf_emu_addresses(const bf_emu_warp *warp, uint32_t a, unsigned register_bytes,
                                    int64_t offset, uint64_t *address) {
  if (register_bytes == 4) {
    const uint32_t *from = (const uint32_t *)(const void *)(warp->registers + a);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      address[lane] = (uint32_t)(from[lane] + (uint32_t)offset);
  } else {
    const uint64_t *from = (const uint64_t *)(const void *)(warp->registers + a);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      address[lane] = from[lane] + (uint64_t)offset;
  }
}

/* Binds the address operand [base + offset] of an instruction: the place and size of the register
 * (a constant where the base is a symbol or number), and the offset. */
typedef struct bf_emu_address {
  uint32_t place;
  unsigned register_bytes;
  int64_t offset;
  bf_ptx_space space; /* as the instruction says; NONE: generic */
} bf_emu_address;
bf_emu_address bf_emu_bind_address(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                   const bf_ptx_operand *operand, bf_ptx_space space);
/* The address of a lane. */
static inline uint64_t bf_emu_address_of(const bf_emu_warp *warp, const bf_emu_address *at,
                                         unsigned lane) {
  if (at->register_bytes == 4)
    return (uint32_t)(BF_LANES(const uint32_t, at->place)[lane] + (uint32_t)at->offset);
  return BF_LANES(const uint64_t, at->place)[lane] + (uint64_t)at->offset;
}

#endif
