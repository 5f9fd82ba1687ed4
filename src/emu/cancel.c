/* clusterlaunchcontrol: a block asks that a cluster which has not begun be left out, and does its
 * work itself.
 *
 * The cluster that is next in turn is taken. The answer is a job (late.h): 16 bytes that arrive in
 * shared memory when the mbarrier is waited for, in the block that asked or in all of its cluster.
 * What the bytes are is not published; here they are the first block's coordinates and a one, or
 * zeros. The simulator deals out blocks itself, a cooperative launch needs all of its blocks, and a
 * sample chose them before: there the answer is no, which it always may be. No GPU that has these
 * instructions was there to compare with. */
#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/late.h"
#include "emu/proxy.h"
#include "emu/race.h"

enum { ANSWER_BYTES = 16 };

typedef struct answer {
  uint32_t at[3], is_cancelled;
} answer;

_Static_assert(sizeof(answer) == ANSWER_BYTES, "it is one register of 128 bits");

/* ---- Asking ---- */

typedef struct asking {
  bf_emu_address to, barrier;
  bool is_for_all; /* blocks of the cluster */
} asking;

/* Takes the next cluster that has not begun. */
static answer take_next(bf_emu_worker *worker) {
  bf_emu_flight *flight = worker->flight;
  const bf_emu_launch *launch = flight->launch;
  const uint32_t *grid = launch->grid;
  unsigned count = bf_emu_cluster_blocks(flight);
  bf_emu_touch_more(flight); /* who does what depends on who asks first */
  if (worker->clock || launch->cooperative || launch->samples)
    return (answer){.is_cancelled = 0};
  uint64_t index = __atomic_fetch_add(&flight->next_block, 1, __ATOMIC_RELAXED);
  if (index >= flight->blocks / count)
    return (answer){.is_cancelled = 0};
  __atomic_add_fetch(&flight->blocks_done, count, __ATOMIC_RELAXED);
  uint64_t block = bf_emu_cluster_block_index(flight, index, 0);
  return (answer){{(uint32_t)(block % grid[0]), (uint32_t)(block / grid[0] % grid[1]),
                   (uint32_t)(block / grid[0] / grid[1])},
                  1};
}

/* Sends the answer to a block, at an offset there, and tells the mbarrier at another; false: the
 * launch has ended. */
static bool answer_to(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_block *block, uint32_t offset,
                      bf_emu_job *job) {
  if (block->has_ended)
    return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, job->lane,
                       "answer to block %u of the cluster, which has ended", block->rank) != NULL;
  job->to = block->shared + offset;
  job->into = block;
  job->into_offset = offset;
  return bf_race_sent(warp, op, job->lane, block, offset, ANSWER_BYTES, false) &&
         bf_emu_job_signal(warp, op, block, job) &&
         bf_proxy_copy_begins(warp, op, job->lane, block, offset, ANSWER_BYTES, true, 0);
}

/* try_cancel by one lane. */
static bool ask(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  const asking *what = op->detail;
  bf_emu_block *own = warp->block, *target, *owner;
  uint64_t offset, barrier;
  if (!bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, &what->to, lane), ANSWER_BYTES,
                            ANSWER_BYTES, true, &target, &offset) ||
      !bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, &what->barrier, lane), 8, 8,
                            true, &owner, &barrier))
    return false;
  if (target != own || owner != own)
    return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                       "the answer and its mbarrier must be in the block's own memory") != NULL;
  answer found = take_next(warp->worker);
  bf_emu_job job = {.lane = lane,
                    .bytes = ANSWER_BYTES,
                    .counted_bytes = ANSWER_BYTES,
                    .barrier = (uint32_t)barrier};
  memcpy(job.value, &found, sizeof found);
  if (!what->is_for_all || !own->cluster)
    return answer_to(warp, op, own, (uint32_t)offset, &job);
  for (unsigned rank = 0; rank < own->cluster->count; rank++)
    if (!answer_to(warp, op, own->cluster->block[rank], (uint32_t)offset, &job))
      return false;
  return true;
}

static const bf_emu_op *step_ask(bf_emu_warp *warp, const bf_emu_op *op) {
  BF_EACH_LANE(BF_MASK(), lane) {
    if (!ask(warp, op, lane))
      return NULL;
  }
  return op + 1;
}

/* ---- The answer ---- */

static answer answer_of(const bf_emu_warp *warp, uint32_t place, unsigned lane) {
  answer found;
  memcpy(&found, BF_LANES(const bf_emu_wide, place) + lane, sizeof found);
  return found;
}

static const bf_emu_op *step_is_cancelled(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK(), bits = 0;
  BF_EACH_LANE(mask, lane)
  bits |= (uint32_t)(answer_of(warp, op->a, lane).is_cancelled != 0) << lane;
  bf_emu_set_predicate(warp, op->d, mask, bits);
  return op + 1;
}

/* Where the coordinates of the first block go; of those that nobody wants is_wanted is false. */
typedef struct coordinates {
  uint32_t place[4];
  bool is_wanted[4];
} coordinates;

static const bf_emu_op *step_coordinates(bf_emu_warp *warp, const bf_emu_op *op) {
  const coordinates *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    answer found = answer_of(warp, op->a, lane);
    for (unsigned k = 0; k < 4; k++)
      if (what->is_wanted[k])
        BF_LANES(uint32_t, what->place[k])[lane] = k < 3 ? found.at[k] : 0;
  }
  return op + 1;
}

/* ---- Selection ---- */

static bool select_asking(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  asking *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  if (instruction->operands != 2 || operand[0].kind != BF_PTX_ADDRESS ||
      operand[1].kind != BF_PTX_ADDRESS)
    return bf_emu_refuse(decoder, "clusterlaunchcontrol of this form");
  what->to = bf_emu_bind_address(decoder, instruction, &operand[0], BF_PTX_SPACE_SHARED);
  what->barrier = bf_emu_bind_address(decoder, instruction, &operand[1], BF_PTX_SPACE_SHARED);
  what->is_for_all = bf_ptx_has(instruction, "multicast::cluster::all");
  op->detail = what;
  op->run = step_ask;
  return true;
}

/* get_first_ctaid::x d, a; get_first_ctaid.v4 {x, y, z, _}, a. */
static bool select_coordinates(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                               bf_emu_op *op) {
  static const char *const names[] = {"get_first_ctaid::x", "get_first_ctaid::y",
                                      "get_first_ctaid::z"};
  const bf_ptx_operand *operand = instruction->operand;
  coordinates *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  bool is_vector = operand[0].kind == BF_PTX_VECTOR;
  if (is_vector && operand[0].count != 4)
    return bf_emu_refuse(decoder, "clusterlaunchcontrol of this form");
  for (unsigned k = 0; k < 4; k++) {
    const bf_ptx_operand *to = is_vector ? &operand[0].item[k] : &operand[0];
    what->is_wanted[k] =
        is_vector ? to->kind != BF_PTX_SINK : k < 3 && bf_ptx_has(instruction, names[k]);
    if (what->is_wanted[k] && bf_emu_register_bytes(to, BF_PTX_B32) != 4)
      return bf_emu_refuse(decoder, "a coordinate that does not have 32 bits");
    if (what->is_wanted[k])
      what->place[k] = bf_emu_destination(decoder, to);
  }
  op->detail = what;
  op->run = step_coordinates;
  return true;
}

bool bf_emu_select_cancel(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  if (instruction->opcode != BF_PTX_OP_CLUSTERLAUNCHCONTROL)
    return false;
  if (bf_ptx_has(instruction, "try_cancel"))
    return select_asking(decoder, instruction, op);
  if (instruction->operands != 2 || bf_emu_register_bytes(&operand[1], BF_PTX_B128) != 16)
    return bf_emu_refuse(decoder, "clusterlaunchcontrol of this form");
  op->a = bf_emu_source(decoder, &operand[1], BF_PTX_B128);
  if (!bf_ptx_has(instruction, "is_canceled"))
    return select_coordinates(decoder, instruction, op);
  if (bf_emu_register_bytes(&operand[0], BF_PTX_PRED) != 0)
    return bf_emu_refuse(decoder, "clusterlaunchcontrol of this form");
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->run = step_is_cancelled;
  return true;
}
