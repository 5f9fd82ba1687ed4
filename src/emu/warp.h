/* Inside room emu: lanes that go different ways and meet again. */
#ifndef BF_EMU_WARP_H
#define BF_EMU_WARP_H

#include "emu/inner.h"

enum {
  BF_EMU_MOST_SPINS = 256,     /* backward branches of a loop that polls before others run */
  BF_EMU_SLICE = 1 << 16,      /* backward branches before other warps run */
  BF_EMU_MOST_DEPTH = 1 << 13, /* calls inside calls */
};

/* Counts the operations from warp->segment up to, but without, end. */
void bf_emu_account(bf_emu_warp *warp, const bf_emu_op *end);
/* Goes on at target after op. */
static inline const bf_emu_op *bf_emu_jump(bf_emu_warp *warp, const bf_emu_op *op,
                                           const bf_emu_op *target) {
  bf_emu_account(warp, op + 1);
  warp->segment = target;
  return target;
}

/* Takes lanes out of the running path, which has executed op, and leaves them at `at`; they meet
 * the others at join (NULL: nowhere before they end). False: the launch has ended. */
bool bf_emu_split_off(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes, const bf_emu_op *at,
                      const bf_emu_op *join);
/* Splits the running path at the branch op: lanes of taken go to target, the others go on behind
 * op; both meet at join. Returns where to go on. */
const bf_emu_op *bf_emu_split(bf_emu_warp *warp, const bf_emu_op *op, uint32_t taken,
                              const bf_emu_op *target, const bf_emu_op *join);
/* Puts the running path, at op, aside in a state; its operations must be accounted for. */
bf_emu_path *bf_emu_set_aside(bf_emu_warp *warp, const bf_emu_op *at);
/* Makes another path of the warp run and returns its operation; NULL: none can. */
const bf_emu_op *bf_emu_next_path(bf_emu_warp *warp);
/* Takes paths that are ready at op, in the same call and with the same join, into the running one.
 */
void bf_emu_absorb(bf_emu_warp *warp, const bf_emu_op *op);
/* Where to go on after a jump to target: there, or at a path with the same join that is further
 * behind, so that it can catch up. */
const bf_emu_op *bf_emu_let_pass(bf_emu_warp *warp, const bf_emu_op *target);
/* The lanes of the running path wait at the join where it is; NULL as for bf_emu_next_path. */
const bf_emu_op *bf_emu_arrive(bf_emu_warp *warp, const bf_emu_op *op);
/* Ends lanes of the running path. Returns op + 1, or where another path goes on. */
const bf_emu_op *bf_emu_end_lanes(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes);
/* Lets other paths, warps and blocks run before the running path goes on at `at`; is_spinning:
 * lanes that wait for this path at a join are let go. Returns NULL. */
const bf_emu_op *bf_emu_yield(bf_emu_warp *warp, const bf_emu_op *at, bool is_spinning);
/* A frame for a call of code; NULL: out of memory. */
bf_emu_frame *bf_emu_frame_get(bf_emu_warp *warp, const bf_emu_code *code);
/* Lanes of a warp wait until all four warps of their group have come; op is over then. */
const bf_emu_op *bf_emu_wait_for_group(bf_emu_warp *warp, const bf_emu_op *op);
/* Says of lanes that wait for others by a mask where the first of these is, which is no place to
 * come from; false: no lanes do. */
bool bf_emu_fail_meeting(bf_emu_warp *warp);
/* Says what the lanes of a path do that somebody waits for: "waits at barrier 0 at a.cu:9". */
void bf_emu_put_wait(const bf_emu_warp *warp, const bf_emu_path *path, char *text, size_t room);
/* Whether some path can run. */
bool bf_emu_can_run(const bf_emu_warp *warp);
/* Checks whether barrier number of the block is complete, and lets its paths go. */
void bf_emu_barrier_check(bf_emu_block *block, unsigned number);

/* Where nobody of a block can go on (launch.c, step.c): opens a barrier that every warp has come
 * to, though other lanes of some wait for those at the barrier, by a mask, on the other side of a
 * branch. An H200 counts warps at a barrier without a number of threads
 * (tests/data/h200/split_warps.tsv). False: none. */
bool bf_emu_barrier_by_warps(bf_emu_block *block);

#endif
