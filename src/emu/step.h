/* emu/step: a launch executed one instruction at a time, in the order that the caller chooses. This
 * is what the simulator drives: it looks at the next instruction of a warp, decides when it issues,
 * and lets it happen then.
 *
 * Each place (a multiprocessor) is used by one thread at a time; places may be used side by side.
 */
#ifndef BF_EMU_STEP_H
#define BF_EMU_STEP_H

#include "emu/emu.h"

typedef struct bf_emu_stepper bf_emu_stepper;
typedef struct bf_emu_block bf_emu_block;
typedef struct bf_emu_warp bf_emu_warp;

/* launch is copied; its workers are the places (no more than it has blocks), its observer is told
 * of accesses during bf_emu_warp_step with the place as worker. */
int bf_emu_stepper_create(bf_emu *emu, const bf_emu_launch *launch, bf_emu_stepper **stepper,
                          bf_diagnostic *diagnostic);
/* What has been executed, and the first fault. */
int bf_emu_stepper_result(const bf_emu_stepper *stepper, bf_emu_result *result,
                          bf_diagnostic *diagnostic);
void bf_emu_stepper_free(bf_emu_stepper *stepper);
/* A fault has ended the launch. */
bool bf_emu_stepper_stopped(const bf_emu_stepper *stepper);
/* What %clock and the like read at a place: *clock must live as long as the stepper. */
void bf_emu_stepper_clock(bf_emu_stepper *stepper, unsigned place, const uint64_t *clock);

/* Has reductions in global memory (those of bf_emu_instruction.may_be_put_off) put off from now on,
 * each with the clock of its place, for bf_emu_stepper_settle to make. Loads and stores (ld, ldu,
 * st) look after themselves; whatever else reaches global memory may be executed only where nothing
 * is put off at its place. False: the launch cannot have that, or there is no memory. */
bool bf_emu_stepper_put_off(bf_emu_stepper *stepper);
bool bf_emu_stepper_has_put_off(const bf_emu_stepper *stepper, unsigned place);
/* Makes those that were put off, in the order of time and place, up to a time and at that time up
 * to a place; both with it. Nothing is executed anywhere meanwhile. */
void bf_emu_stepper_settle(bf_emu_stepper *stepper, uint64_t time, unsigned place);

/* Blocks in a cluster of the launch; 0: the kernel does not use clusters. Places of a launch with
 * clusters must not be used side by side. */
unsigned bf_emu_stepper_cluster(const bf_emu_stepper *stepper);
/* The number in the grid of block rank of a cluster. */
uint64_t bf_emu_stepper_in_cluster(const bf_emu_stepper *stepper, uint64_t cluster, unsigned rank);
/* Makes the blocks of a cluster, each at the place of its rank; they begin when
 * bf_emu_stepper_begin asks for them. False: out of memory. */
bool bf_emu_stepper_join(bf_emu_stepper *stepper, uint64_t cluster, const unsigned *place);
/* Begins block index of the grid at a place; NULL: out of memory. */
bf_emu_block *bf_emu_stepper_begin(bf_emu_stepper *stepper, unsigned place, uint64_t index);
/* Gives a block back; its memory serves the next one at that place. */
void bf_emu_stepper_end(bf_emu_stepper *stepper, unsigned place, bf_emu_block *block);

/* The block of that rank in the cluster of a block; NULL: there is none, or it has ended. */
bf_emu_block *bf_emu_block_peer(bf_emu_block *block, unsigned rank);
unsigned bf_emu_block_warps(const bf_emu_block *block);
bf_emu_warp *bf_emu_block_warp(bf_emu_block *block, unsigned index);
/* Bytes of host memory that a block in flight takes, registers and shared memory together. */
uint64_t bf_emu_block_bytes(const bf_emu_block *block);

typedef enum bf_emu_turn {
  BF_EMU_TURN_READY, /* there is a next instruction */
  BF_EMU_TURN_WAITS, /* for other warps of its block */
  BF_EMU_TURN_ENDED, /* all threads have exited */
} bf_emu_turn;

/* Instructions of a kernel and the functions it can call are numbered from 0 on. */
typedef struct bf_emu_next {
  uint32_t instruction;
  uint32_t active;   /* lanes that are there; a guard may leave out some */
  uint64_t barriers; /* that the block has passed: when it grows, warps that wait may go on */
} bf_emu_next;

/* Looks at the next instruction of a warp. Lanes that come to the end of the kernel end here, so
 * barriers may be passed; next->barriers is set whatever the answer. */
bf_emu_turn bf_emu_warp_peek(bf_emu_warp *warp, bf_emu_next *next);
/* Executes it; only after a peek that said READY. False: it has to wait for reductions that were
 * put off at its place, and is the next one still. */
bool bf_emu_warp_step(bf_emu_warp *warp);
/* Where the instruction just executed was a test of an mbarrier whose phase is not over in all
 * lanes: makes it the next one again and returns true. */
bool bf_emu_warp_test_again(bf_emu_warp *warp);
/* Lets the copies with this ticket (bf_emu_copy) arrive in a block. Barriers may be passed. */
void bf_emu_block_land(bf_emu_block *block, uint64_t ticket);
/* Barriers that a block has passed, as bf_emu_next has them. */
uint64_t bf_emu_block_barriers(const bf_emu_block *block);
/* Two numbers that the blocks of a cluster share, for whoever steps them; 0 at first. NULL: the
 * block is by itself. */
uint64_t *bf_emu_block_notes(bf_emu_block *block);

typedef enum bf_emu_wait_kind {
  BF_EMU_WAIT_NOTHING, /* there is a next instruction */
  BF_EMU_WAIT_BARRIER, /* for other warps, at a barrier */
  BF_EMU_WAIT_LANES,   /* for other lanes of the warp */
  BF_EMU_WAIT_ENDED,   /* all threads have exited */
} bf_emu_wait_kind;

typedef struct bf_emu_wait {
  bf_emu_wait_kind kind;
  unsigned barrier; /* its number */
  uint64_t line;    /* in the PTX: where; 0: not known */
} bf_emu_wait;

/* What the first of a warp's paths waits for. */
bf_emu_wait bf_emu_warp_wait(const bf_emu_warp *warp);

typedef struct bf_emu_instruction {
  const bf_ptx_function *function;
  const bf_ptx_instruction *instruction;
  const char *source_file;     /* from .loc, or NULL */
  uint64_t source_line;        /* 0: not known */
  uint32_t register_base;      /* of the function: its registers are numbered from here on */
  uint32_t site;               /* UINT32_MAX: does not touch memory */
  bool may_be_put_off;         /* bf_emu_stepper_put_off */
  const bf_ptx_merged *merged; /* what ptxas makes of a shared access, or NULL */
} bf_emu_instruction;

uint32_t bf_emu_kernel_instructions(const bf_emu_kernel *kernel);
/* Registers of all functions of the kernel together. */
uint32_t bf_emu_kernel_registers(const bf_emu_kernel *kernel);
bf_emu_instruction bf_emu_kernel_instruction(const bf_emu_kernel *kernel, uint32_t index);

#endif
