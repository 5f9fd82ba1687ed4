/* Inside room emu: what the hardware does later than the instruction that asks for it.
 *
 * A job is a copy (or a store, or a reduction) on its way. It arrives when somebody waits for it
 * and not before, so that a program which forgets to wait reads old data. A job that signals an
 * mbarrier is kept by the block that the mbarrier belongs to, and is done when a thread of that
 * block tests the mbarrier and finds its phase not over. A job of a bulk group is kept by the warp
 * whose lane issued it, and is done when that lane waits for the group, or ends.
 *
 * Addresses are checked when a job is made, so that a fault names the instruction. */
#ifndef BF_EMU_LATE_H
#define BF_EMU_LATE_H

#include "emu/inner.h"
#include "emu/reduce.h"
#include "emu/tensor.h"

typedef struct bf_emu_job bf_emu_job;

struct bf_emu_job {
  bf_emu_job *next;
  /* Where it ends: a barrier, as offset in the shared memory of the block that keeps the job, and
   * the bytes that it counts there; or a group of a lane. */
  uint32_t barrier, counted_bytes;
  uint32_t lane, group;
  const bf_emu_op *op; /* of a group: that asked for it */
  uint32_t arrivals;   /* at the barrier, beside the bytes */
  uint64_t ticket;     /* it arrives when bf_emu_jobs_land says so; 0: when it is waited for */
  bool parity;         /* of the barrier's phase when it was issued, in which it must arrive */
  /* What it does: bytes from `from` (NULL: from value) to `to`, elements combined as reduce says.
   */
  uint8_t *to;
  const uint8_t *from;
  uint32_t bytes;
  uint32_t byte_mask; /* of every 16 bytes those that are copied; 0: all */
  bf_emu_reduce reduce;
  uint8_t value[16];
  bool is_tensor; /* box says between which elements; shared memory is at `to` or `from` */
  bf_emu_box box;
  /* What it waits for before: operations on the tensor memory of a block, up to a commit. */
  bf_emu_block *tensor;
  uint64_t tensor_number;
  /* The shared memory that it writes to: block (NULL: none) and offset there. */
  bf_emu_block *into;
  uint32_t into_offset;
  /* And the one that it reads from, in bytes that are not all copied. */
  bf_emu_block *out_of;
  uint32_t out_of_offset, out_of_bytes;
};

/* A new job that is a copy of this one, kept by block; false: out of memory, which has been said.
 */
bool bf_emu_job_signal(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_block *block,
                       const bf_emu_job *job);
/* The same, in the bulk group that the lane is filling. */
bool bf_emu_job_group(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_job *job);
/* Closes the group that each of the lanes is filling. */
void bf_emu_groups_commit(bf_emu_warp *warp, uint32_t lanes);
/* Does the jobs of lanes but for those of their last `but` groups. */
void bf_emu_groups_wait(bf_emu_warp *warp, uint32_t lanes, uint32_t but);
/* The bytes of a job on its way to the mbarrier at offset whose phase has ended without it, because
 * expect_tx had not announced it; 0: there is none. */
uint32_t bf_emu_jobs_missed(const bf_emu_block *block, uint32_t offset);
/* Whether copies are on their way to an mbarrier of a block. */
bool bf_emu_jobs_come(const bf_emu_block *block, uint32_t offset);
/* Does the jobs on their way to the mbarrier at offset of a block; false: there were none. */
bool bf_emu_jobs_arrive(bf_emu_block *block, uint32_t offset);

/* Does the jobs of a block that have this ticket. */
void bf_emu_jobs_land(bf_emu_block *block, uint64_t ticket);
/* What a warp has on its way is forgotten, or given back. */
void bf_emu_late_begin(bf_emu_warp *warp);
void bf_emu_late_free(bf_emu_warp *warp);
void bf_emu_jobs_drop(bf_emu_block *block);

/* Lanes that have arrived at the barrier of the cluster and not waited since: the phase of each. */
uint32_t *bf_emu_cluster_phases(bf_emu_warp *warp);

#endif
