/* Jobs: kept, done and forgotten. */
#include "emu/late.h"

#include "emu/cluster.h"
#include "emu/passed.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/resize.h"
#include "emu/shadow.h"
#include "emu/tensor_core.h"

#include <stdlib.h>

struct bf_emu_late {
  bf_emu_job *jobs, *last;      /* of bulk groups, in order */
  uint32_t group[BF_EMU_LANES]; /* that a lane is filling: as many were committed */
  uint32_t cluster_phase[BF_EMU_LANES];
};

/* ---- Doing ---- */

/* Copies or combines bytes one after the other. */
static void do_linear(const bf_emu_job *job) {
  const uint8_t *from = job->from ? job->from : job->value;
  if (job->reduce.operation != BF_EMU_REDUCE_NONE) {
    unsigned size = bf_emu_reduce_bytes(&job->reduce);
    for (uint32_t i = 0; i + size <= job->bytes; i += size)
      bf_emu_reduce_into(&job->reduce, job->to + i, from + i);
  } else if (job->byte_mask) {
    for (uint32_t i = 0; i < job->bytes; i++)
      if (job->byte_mask >> i % 16 & 1)
        job->to[i] = from[i];
  } else {
    memmove(job->to, from, job->bytes);
  }
}

static void do_job(const bf_emu_job *job) {
  if (job->tensor)
    bf_emu_tensor_run(job->tensor, job->tensor_number);
  else if (job->is_tensor)
    bf_emu_box_move(&job->box, &job->reduce, job->to, job->from);
  else
    do_linear(job);
  if (job->into && job->into->shadow)
    bf_emu_shadow_fill(job->into->shadow, job->into_offset, job->bytes);
  if (job->into)
    bf_proxy_copy_ends(job->into, job->into_offset, job->bytes, true);
  if (job->out_of)
    bf_proxy_copy_ends(job->out_of, job->out_of_offset, job->out_of_bytes, false);
}

/* The parity of the phase that an mbarrier is in. */
static bool is_odd(const bf_emu_block *block, uint32_t offset) {
  uint64_t word;
  memcpy(&word, block->shared + offset, sizeof word);
  return word >> 63;
}

uint32_t bf_emu_jobs_missed(const bf_emu_block *block, uint32_t offset) {
  for (const bf_emu_job *job = block->jobs; job; job = job->next)
    if (job->barrier == offset && job->parity != is_odd(block, offset))
      return job->counted_bytes;
  return 0;
}

bool bf_emu_jobs_come(const bf_emu_block *block, uint32_t offset) {
  const bf_emu_job *job = block->jobs;
  while (job && job->barrier != offset)
    job = job->next;
  return job != NULL;
}

/* Does a job and counts it at its mbarrier; whether that has ended its phase. */
static bool arrive(bf_emu_block *block, const bf_emu_job *job) {
  uint64_t word;
  do_job(job);
  memcpy(&word, block->shared + job->barrier, sizeof word);
  bf_emu_phase phase = bf_emu_phase_unpack(word);
  phase.transactions -= job->counted_bytes;
  phase.pending -= phase.pending < job->arrivals ? phase.pending : job->arrivals;
  bool has_ended = bf_emu_phase_complete(block, &phase);
  if (has_ended)
    bf_passed_ended(block, job->barrier);
  word = bf_emu_phase_pack(&phase);
  memcpy(block->shared + job->barrier, &word, sizeof word);
  return has_ended;
}

/* Does the jobs of a block that have this ticket and, where it is 0, this mbarrier; false: there
 * were none. The phase may end before all are done, if expect_tx announced too few bytes: whoever
 * waits goes on then, so the others stay on their way. */
static bool arrive_all(bf_emu_block *block, uint64_t ticket, uint32_t offset) {
  bool found = false, has_ended = false;
  bf_emu_job **at = &block->jobs, *last = NULL;
  for (bf_emu_job *job; (job = *at);) {
    if (job->ticket != ticket || (!ticket && (job->barrier != offset || has_ended))) {
      last = job;
      at = &job->next;
      continue;
    }
    has_ended = arrive(block, job);
    found = true;
    *at = job->next;
    free(job);
  }
  block->last_job = last;
  return found;
}

bool bf_emu_jobs_arrive(bf_emu_block *block, uint32_t offset) {
  return arrive_all(block, 0, offset);
}

void bf_emu_jobs_land(bf_emu_block *block, uint64_t ticket) { arrive_all(block, ticket, 0); }

void bf_emu_groups_wait(bf_emu_warp *warp, uint32_t lanes, uint32_t but) {
  struct bf_emu_late *late = warp->late;
  if (!late)
    return;
  bf_emu_job **at = &late->jobs, *last = NULL;
  for (bf_emu_job *job; (job = *at);) {
    bool is_over = job->group + but < late->group[job->lane];
    if (!(lanes >> job->lane & 1) || !is_over) {
      last = job;
      at = &job->next;
      continue;
    }
    do_job(job);
    *at = job->next;
    free(job);
  }
  late->last = last;
}

/* ---- Keeping ---- */

static struct bf_emu_late *late_of(bf_emu_warp *warp) {
  if (!warp->late)
    warp->late = calloc(1, sizeof *warp->late);
  return warp->late;
}

/* A copy of a job at the end of a list; false: out of memory, which has been said. */
static bool keep(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_job *job, bf_emu_job **first,
                 bf_emu_job **last) {
  bf_emu_job *kept = malloc(sizeof *kept);
  if (!kept)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, job->lane, "out of memory") != NULL;
  *kept = *job;
  kept->next = NULL;
  if (*last)
    (*last)->next = kept;
  else
    *first = kept;
  *last = kept;
  return true;
}

bool bf_emu_job_signal(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_block *block,
                       const bf_emu_job *job) {
  bf_emu_job own = *job;
  own.parity = is_odd(block, job->barrier);
  bf_race_release(warp, block);
  return keep(warp, op, &own, &block->jobs, &block->last_job);
}

bool bf_emu_job_group(bf_emu_warp *warp, const bf_emu_op *op, const bf_emu_job *job) {
  struct bf_emu_late *late = late_of(warp);
  if (!late)
    return bf_emu_fail(warp, op, BF_EMU_STACK_OVERFLOW, job->lane, "out of memory") != NULL;
  bf_emu_job own = *job;
  own.group = late->group[job->lane];
  own.op = op;
  return keep(warp, op, &own, &late->jobs, &late->last);
}

void bf_emu_groups_commit(bf_emu_warp *warp, uint32_t lanes) {
  if (warp->late)
    BF_EACH_LANE(lanes, lane) warp->late->group[lane]++;
}

uint32_t *bf_emu_cluster_phases(bf_emu_warp *warp) {
  struct bf_emu_late *late = late_of(warp);
  return late ? late->cluster_phase : NULL;
}

/* ---- Ends ---- */

/* Tells of the first copy out of shared memory that a lane has not waited for before it ended: when
 * the block ends, its memory is another's. */
static void tell_left(bf_emu_warp *warp, uint32_t ended) {
  for (const bf_emu_job *job = warp->late->jobs; job; job = job->next) {
    if (!(ended >> job->lane & 1) || !job->out_of)
      continue;
    bool is_committed = job->group < warp->late->group[job->lane];
    bf_emu_say_race(
        warp, job->op, BF_PTX_SPACE_SHARED, job->lane, job->out_of_offset, job->out_of_bytes, false,
        is_committed ? "the thread ends without cp.async.bulk.wait_group for this copy"
                     : "the thread ends, and no cp.async.bulk.commit_group has put this "
                       "copy into a group, so that nobody has waited for it");
    return;
  }
}

void bf_emu_lanes_ended(bf_emu_warp *warp) {
  if (!warp->alive) {
    bf_emu_resizes_check(warp);
    bf_emu_tensor_left(warp->block);
  }
  if (warp->late && warp->late->jobs) {
    uint32_t ended = ~warp->alive;
    if (warp->worker->flight->races)
      tell_left(warp, ended);
    BF_EACH_LANE(ended, lane) warp->late->group[lane]++; /* what was not committed, too */
    bf_emu_groups_wait(warp, ended, 0);
  }
  if (warp->block->cluster)
    bf_emu_cluster_check(warp->block->cluster);
}

static void drop(bf_emu_job *job) {
  for (bf_emu_job *next; job; job = next) {
    next = job->next;
    free(job);
  }
}

void bf_emu_jobs_drop(bf_emu_block *block) {
  drop(block->jobs);
  block->jobs = block->last_job = NULL;
}

void bf_emu_late_begin(bf_emu_warp *warp) {
  if (!warp->late)
    return;
  drop(warp->late->jobs);
  *warp->late = (struct bf_emu_late){0};
}

void bf_emu_late_free(bf_emu_warp *warp) {
  if (warp->late)
    drop(warp->late->jobs);
  free(warp->late);
  warp->late = NULL;
}
