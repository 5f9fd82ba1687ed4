/* Clusters of blocks: their barrier, addresses in each other's shared memory, and launches in which
 * nothing can happen any more. */
#include "emu/cluster.h"

#include "emu/decode.h"
#include "emu/late.h"
#include "emu/phase.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/visit.h"
#include "emu/warp.h"

unsigned bf_emu_cluster_blocks(const bf_emu_flight *flight) {
  return flight->cluster[0] * flight->cluster[1] * flight->cluster[2];
}

uint64_t bf_emu_cluster_block_index(const bf_emu_flight *flight, uint64_t index, unsigned rank) {
  const uint32_t *grid = flight->launch->grid, *size = flight->cluster;
  uint64_t across = grid[0] / size[0], down = grid[1] / size[1];
  uint64_t x = index % across * size[0] + rank % size[0];
  uint64_t y = index / across % down * size[1] + rank / size[0] % size[1];
  uint64_t z = index / across / down * size[2] + rank / size[0] / size[1];
  return x + grid[0] * (y + grid[1] * z);
}

/* ---- Addresses ---- */

void bf_emu_frame_move(bf_emu_frame *frame, unsigned rank) {
  const bf_emu_code *code = frame->code;
  uint64_t by = ((uint64_t)rank - frame->rank) << BF_EMU_RANK_SHIFT;
  for (unsigned i = 0; by && i < code->shared_places; i++) {
    const bf_emu_shared_place *at = &code->shared_place[i];
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      if (at->bytes == 8)
        ((uint64_t *)(void *)(frame->registers + at->place))[lane] += by;
      else
        ((uint32_t *)(void *)(frame->registers + at->place))[lane] += (uint32_t)by;
  }
  frame->rank = rank;
}

void bf_emu_block_rank(bf_emu_block *block, unsigned rank) {
  block->rank = rank;
  for (unsigned i = 0; i < block->warps; i++) {
    bf_emu_frame_move(&block->warp[i].first_frame, rank);
    for (bf_emu_frame *frame = block->warp[i].frames; frame; frame = frame->next)
      bf_emu_frame_move(frame, rank);
  }
}

bf_emu_block *bf_emu_cluster_find(bf_emu_warp *warp, uint64_t address, uint64_t *offset) {
  bf_emu_block *own = warp->block;
  *offset = address & BF_EMU_RANK_MASK;
  uint64_t rank = address >> BF_EMU_RANK_SHIFT;
  if (!own->cluster || own->cluster->count == 1) {
    *offset = address; /* the memory of one block alone may be larger */
    return own;
  }
  if (rank == own->rank)
    return own;
  if (rank >= own->cluster->count)
    return NULL;
  bf_emu_block *block = own->cluster->block[rank];
  return block->has_ended ? NULL : block;
}

bool bf_emu_cluster_has_left(const bf_emu_warp *warp, uint64_t address) {
  const bf_emu_cluster *cluster = warp->block->cluster;
  if (address >= BF_EMU_SHARED_WINDOW)
    address -= BF_EMU_SHARED_WINDOW;
  uint64_t rank = address >> BF_EMU_RANK_SHIFT;
  return cluster && rank < cluster->count && cluster->block[rank]->has_ended;
}

uint8_t *bf_emu_cluster_reach(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                              uint64_t address, uint64_t bytes, unsigned align_bytes, bool is_write,
                              bf_emu_block **block, uint64_t *offset) {
  if (address >= BF_EMU_SHARED_WINDOW)
    address -= BF_EMU_SHARED_WINDOW;
  *block = bf_emu_cluster_find(warp, address, offset);
  bf_emu_fault_kind fault = BF_EMU_NO_FAULT;
  if (*offset % align_bytes)
    fault = BF_EMU_MISALIGNED;
  else if (!*block || *offset > (*block)->shared_bytes || bytes > (*block)->shared_bytes - *offset)
    fault = BF_EMU_OUT_OF_BOUNDS;
  if (!fault)
    return (*block)->shared + *offset;
  bf_emu_fail_access(warp, op, BF_PTX_SPACE_SHARED, lane, address,
                     (unsigned)(bytes < UINT32_MAX ? bytes : UINT32_MAX), is_write, fault);
  char reason[64] = "";
  if (fault == BF_EMU_MISALIGNED)
    snprintf(reason, sizeof reason, "it must be a multiple of %u", align_bytes);
  else if (*block)
    snprintf(reason, sizeof reason, "the block has %llu bytes",
             (unsigned long long)(*block)->shared_bytes);
  bf_emu_add_reason(warp, op, reason);
  return NULL;
}

/* mapa: the address that a means in block b. small[0]: bytes of the address; small[1]: it is
 * generic. */
static const bf_emu_op *step_map(bf_emu_warp *warp, const bf_emu_op *op) {
  const uint32_t *rank = BF_LANES(const uint32_t, op->b);
  unsigned blocks = bf_emu_cluster_blocks(warp->worker->flight);
  BF_EACH_LANE(BF_MASK(), lane) {
    uint64_t address = op->small[0] == 8 ? BF_LANES(const uint64_t, op->a)[lane]
                                         : BF_LANES(const uint32_t, op->a)[lane];
    address += op->immediate;
    uint64_t inside = op->small[1] ? address - BF_EMU_SHARED_WINDOW : address;
    if (inside >= BF_EMU_WINDOW_BYTES)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "mapa of 0x%llx, which is no address of shared memory",
                         (unsigned long long)address);
    if (rank[lane] >= blocks)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "mapa to block %u of a cluster of %u", rank[lane], blocks);
    uint64_t mapped = (inside & BF_EMU_RANK_MASK) | (uint64_t)rank[lane] << BF_EMU_RANK_SHIFT;
    if (op->small[1])
      mapped += BF_EMU_SHARED_WINDOW;
    if (op->small[0] == 8)
      BF_LANES(uint64_t, op->d)[lane] = mapped;
    else
      BF_LANES(uint32_t, op->d)[lane] = (uint32_t)mapped;
  }
  return op + 1;
}

/* getctarank: the block that an address belongs to. */
static const bf_emu_op *step_rank(bf_emu_warp *warp, const bf_emu_op *op) {
  BF_EACH_LANE(BF_MASK(), lane) {
    uint64_t address = op->small[0] == 8 ? BF_LANES(const uint64_t, op->a)[lane]
                                         : BF_LANES(const uint32_t, op->a)[lane];
    address += op->immediate;
    uint64_t inside = op->small[1] ? address - BF_EMU_SHARED_WINDOW : address;
    BF_LANES(uint32_t, op->d)[lane] = (uint32_t)(inside >> BF_EMU_RANK_SHIFT);
  }
  return op + 1;
}

/* ---- The barrier of a cluster ---- */

static uint32_t threads_alive(const bf_emu_cluster *cluster) {
  uint32_t threads = 0;
  for (unsigned i = 0; i < cluster->count; i++)
    threads += cluster->block[i]->threads_alive;
  return threads;
}

/* Lets the threads of a block go that wait for the phase just over. */
static void release_block(bf_emu_block *block) {
  for (unsigned w = 0; w < block->warps; w++) {
    bf_emu_warp *warp = &block->warp[w];
    for (unsigned i = 0; i < warp->paths; i++)
      if (warp->path[i].state == BF_EMU_AT_CLUSTER)
        warp->path[i].state = BF_EMU_READY;
  }
  block->epoch++;
  bf_proxy_all_hear(block);
  bf_race_fence(block, true);
  bf_visit_heard(block, UINT32_MAX);
}

void bf_emu_cluster_check(bf_emu_cluster *cluster) {
  uint32_t threads = threads_alive(cluster);
  if (cluster->arrived == 0 || cluster->arrived < threads)
    return;
  cluster->arrived = 0;
  cluster->phase++;
  cluster->block[0]->worker->changes++;
  for (unsigned i = 0; i < cluster->count; i++)
    release_block(cluster->block[i]);
}

/* barrier.cluster.arrive. small[0]: .aligned. */
static const bf_emu_op *step_arrive(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK();
  bf_emu_cluster *cluster = warp->block->cluster;
  uint32_t *phase = bf_emu_cluster_phases(warp);
  if (!mask)
    return op + 1;
  if (op->small[0]) {
    if (!bf_emu_meet(warp, op, mask, UINT32_MAX))
      return NULL;
    mask = BF_MASK();
    if (!bf_emu_all_came(warp, op, mask, UINT32_MAX))
      return NULL;
  }
  if (!cluster || !phase)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, (unsigned)__builtin_ctz(mask), "%s",
                       cluster ? "out of memory" : "no cluster to wait for");
  BF_EACH_LANE(mask, lane) {
    if (phase[lane] == cluster->phase + 1)
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                         "second arrival at the barrier of the cluster without a wait between");
    phase[lane] = cluster->phase + 1;
  }
  cluster->arrived += (uint32_t)__builtin_popcount(mask);
  warp->worker->changes++;
  bf_emu_cluster_check(cluster);
  return op + 1;
}

/* barrier.cluster.wait: lanes go on when the phase in which they arrived is over. */
static const bf_emu_op *step_wait(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK(), waiting = 0;
  bf_emu_cluster *cluster = warp->block->cluster;
  uint32_t *phase = bf_emu_cluster_phases(warp);
  if (!mask)
    return op + 1;
  if (!cluster || !phase)
    return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, (unsigned)__builtin_ctz(mask), "%s",
                       cluster ? "out of memory" : "no cluster to wait for");
  BF_EACH_LANE(mask, lane) {
    if (phase[lane] == 0)
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                         "wait at the barrier of the cluster without an arrival");
    waiting |= (uint32_t)(phase[lane] == cluster->phase + 1) << lane;
  }
  if (!waiting) {
    BF_EACH_LANE(mask, lane) phase[lane] = 0;
    return op + 1;
  }
  /* Executed again when the phase is over. */
  bf_emu_account(warp, op);
  bf_emu_path *path = bf_emu_set_aside(warp, op);
  path->state = BF_EMU_AT_CLUSTER;
  return bf_emu_next_path(warp);
}

/* ---- Nothing can happen any more ---- */

enum { MOST_QUIET = 256 };

/* Whether all threads of a block wait. */
static bool only_waits(const bf_emu_block *block) {
  for (unsigned w = 0; w < block->warps; w++)
    for (unsigned i = 0; i < block->warp[w].paths; i++) {
      const bf_emu_path *path = &block->warp[w].path[i];
      if (path->state == BF_EMU_READY && !path->test)
        return false;
    }
  return true;
}

bool bf_emu_is_dead(bf_emu_block *block) {
  bool is_same = block->changes == block->worker->changes;
  block->changes = block->worker->changes;
  block->quiet = is_same && only_waits(block) ? block->quiet + 1 : 0;
  if (block->quiet < MOST_QUIET)
    return false;
  const bf_emu_cluster *cluster = block->cluster;
  for (unsigned i = 0; cluster && i < cluster->count; i++)
    if (!cluster->block[i]->has_ended && cluster->block[i]->quiet + 1 < MOST_QUIET)
      return false;
  return true;
}

/* Threads of a block that test the mbarrier at address. */
static unsigned count_waiting(const bf_emu_block *block, uint64_t address) {
  unsigned count = 0;
  for (unsigned w = 0; w < block->warps; w++)
    for (unsigned i = 0; i < block->warp[w].paths; i++) {
      const bf_emu_path *path = &block->warp[w].path[i];
      if (path->state == BF_EMU_READY && path->test && path->test_address == address)
        count += (unsigned)__builtin_popcount(path->mask);
    }
  return count;
}

/* Says how many threads of a block wait for another mbarrier than that at address, if any do. */
static void say_others(const bf_emu_block *block, uint64_t address, char *text, size_t room) {
  for (unsigned w = 0; w < block->warps; w++)
    for (unsigned i = 0; i < block->warp[w].paths; i++) {
      const bf_emu_path *path = &block->warp[w].path[i];
      if (path->state != BF_EMU_READY || !path->test || path->test_address == address)
        continue;
      snprintf(text, room, "; thread %u waits for that at 0x%llx",
               w * BF_EMU_LANES + (unsigned)__builtin_ctz(path->mask),
               (unsigned long long)path->test_address);
      return;
    }
}

/* Says what an mbarrier lacks. */
static void fail_phase(bf_emu_warp *warp, const bf_emu_path *path) {
  uint64_t word;
  memcpy(&word, warp->block->shared + path->test_address, sizeof word);
  bf_emu_phase phase = bf_emu_phase_unpack(word);
  unsigned waiting = count_waiting(warp->block, path->test_address);
  const char *hint =
      phase.expected == 0              ? " (it was never initialised, or has been invalidated)"
      : phase.transactions < 0         ? " (more bytes came than expect_tx announced)"
      : phase.transactions             ? " (no copy on its way brings them)"
      : phase.pending < phase.expected ? ""
      : phase.parity ? " (nobody has come in this phase, the one of parity 1: was parity 0 meant?)"
                     : " (nobody has come in this phase, the one of parity 0: was parity 1 meant?)";
  char others[64] = "";
  say_others(warp->block, path->test_address, others, sizeof others);
  bf_emu_fail(warp, path->test, BF_EMU_DEADLOCK, (unsigned)__builtin_ctz(path->mask),
              "%u thread%s for the mbarrier at shared address 0x%llx, which still expects %llu "
              "of %llu arrivals and %lld bytes%s%s",
              waiting, waiting == 1 ? " waits" : "s wait", (unsigned long long)path->test_address,
              (unsigned long long)phase.pending, (unsigned long long)phase.expected,
              (long long)phase.transactions, hint, others);
}

/* Ways to wait, in the order in which they are looked for. */
enum { TESTING, MEETING, ARRIVED, WAYS };

/* Finds a thread that waits in the way asked for and says so; false: there is none. */
static bool fail_one(bf_emu_block *block, unsigned way) {
  bool tests = way == TESTING;
  for (unsigned w = 0; way == MEETING && w < block->warps; w++)
    if (bf_emu_fail_meeting(&block->warp[w]))
      return true;
  for (unsigned w = 0; way != MEETING && w < block->warps; w++)
    for (unsigned i = 0; i < block->warp[w].paths; i++) {
      bf_emu_warp *warp = &block->warp[w];
      const bf_emu_path *path = &warp->path[i];
      warp->frame = path->frame;
      if (tests && path->state == BF_EMU_READY && path->test) {
        fail_phase(warp, path);
        return true;
      }
      if (tests || path->state != BF_EMU_AT_CLUSTER)
        continue;
      bf_emu_fail(warp, path->at, BF_EMU_DEADLOCK, (unsigned)__builtin_ctz(path->mask),
                  "%u of %u threads of the cluster have come to its barrier, the others never do",
                  block->cluster->arrived, threads_alive(block->cluster));
      return true;
    }
  return false;
}

void bf_emu_fail_dead(bf_emu_block *block) {
  const bf_emu_cluster *cluster = block->cluster;
  for (unsigned way = 0; way < WAYS; way++) {
    if (fail_one(block, way))
      return;
    for (unsigned i = 0; cluster && i < cluster->count; i++)
      if (!cluster->block[i]->has_ended && fail_one(cluster->block[i], way))
        return;
  }
}

/* mov.pred d, %is_explicit_cluster */
static const bf_emu_op *step_explicit(bf_emu_warp *warp, const bf_emu_op *op) {
  bool is_clustered = warp->worker->flight->is_clustered;
  bf_emu_set_predicate(warp, op->d, BF_MASK(), is_clustered ? UINT32_MAX : 0);
  return op + 1;
}

/* ---- Selection ---- */

/* mapa{.space} d, a, b; getctarank{.space} d, a. */
static bool select_address(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op, bool maps) {
  const bf_ptx_operand *operand = instruction->operand;
  bf_ptx_type type = instruction->types ? instruction->type[0] : BF_PTX_U32;
  bool is_generic = instruction->space == BF_PTX_SPACE_NONE;
  bf_emu_address address =
      bf_emu_bind_address(decoder, instruction, &operand[1], instruction->space);
  unsigned bytes = maps ? bf_ptx_type_bytes(type) : 4;
  if (bf_emu_register_bytes(&operand[0], type) != bytes ||
      (maps && operand[1].kind == BF_PTX_REGISTER && address.register_bytes != bytes))
    return bf_emu_refuse(decoder, "operand of another size than the type");
  if (maps && address.register_bytes != bytes)
    address.place = bf_emu_source(decoder, &operand[1], type);
  op->d = bf_emu_destination(decoder, &operand[0]);
  op->a = address.place;
  op->small[0] = (uint8_t)(maps ? bytes : address.register_bytes);
  op->small[1] = is_generic;
  if (maps)
    op->b = bf_emu_source(decoder, &operand[2], BF_PTX_U32);
  op->run = maps ? step_map : step_rank;
  return true;
}

bool bf_emu_select_cluster(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  switch (instruction->opcode) {
  case BF_PTX_OP_MOV:
    if (instruction->operands != 2 || instruction->operand[1].kind != BF_PTX_SPECIAL ||
        instruction->operand[1].special != BF_PTX_SPECIAL_IS_EXPLICIT_CLUSTER ||
        bf_emu_register_bytes(&instruction->operand[0], BF_PTX_PRED) != 0)
      return false;
    op->d = bf_emu_destination(decoder, &instruction->operand[0]);
    op->run = step_explicit;
    return true;
  case BF_PTX_OP_MAPA:
    return select_address(decoder, instruction, op, true);
  case BF_PTX_OP_GETCTARANK:
    return select_address(decoder, instruction, op, false);
  case BF_PTX_OP_BARRIER:
    if (!bf_ptx_has(instruction, "cluster"))
      return false;
    decoder->kernel->uses_cluster = true;
    op->small[0] = bf_ptx_has(instruction, "aligned");
    op->run = bf_ptx_has(instruction, "arrive") ? step_arrive : step_wait;
    return true;
  case BF_PTX_OP_MULTIMEM:
    return bf_emu_refuse(decoder, "memory of several GPUs at one address");
  default:
    return false;
  }
}
