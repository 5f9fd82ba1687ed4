/* Copies by the hardware: cp.async.bulk, cp.reduce.async.bulk and their forms for tensors, with
 * their groups; st.async and red.async.
 *
 * Each lane that executes one makes a job (late.h) of its own. Sizes, alignments and addresses are
 * checked as the PTX ISA asks for. */
#include "emu/cluster.h"
#include "emu/decode.h"
#include "emu/late.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/shadow.h"

#include <stdio.h>

typedef enum direction { LOAD, SHARE, STORE, PREFETCH } direction;

/* What an instruction asks for; operands as places in the frame. */
typedef struct bulk {
  direction way;
  bf_emu_address to, from, barrier;
  bf_emu_address map; /* of a tensor */
  uint32_t size;      /* place; of tensors the map says it */
  uint32_t cta_mask;
  uint32_t byte_mask;
  bool is_multicast, is_masked;
  bf_emu_reduce reduce;
  bool is_tensor, is_picked; /* is_picked: gather4, scatter4 */
  bf_tensor_im2col im2col;
  bool into_own; /* .shared::cta: the block's own memory */
  bool is_pair;  /* .cta_group::2: the mbarrier may be in the other block of the pair */
  unsigned rank, coordinates, offsets;
  uint32_t at[BF_TENSOR_DIMENSIONS], offset[3];
} bulk;

static bool fail(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind, unsigned lane,
                 const char *text) {
  return bf_emu_fail(warp, op, kind, lane, "%s", text) != NULL;
}

/* ---- Telling where copies go ---- */

/* Gives a job its ticket where somebody says when copies arrive. */
static void set_ticket(bf_emu_warp *warp, bf_emu_job *job) {
  bf_emu_worker *worker = warp->worker;
  if (worker->flight->observer && worker->flight->observer->copied)
    job->ticket = (uint64_t)worker->index << 32 | ++worker->tickets;
}

enum { PIECES = 64 };

/* Pieces on their way to an observer; a copy of more of them is told of in several parts, of which
 * the last has the ticket. */
typedef struct telling {
  bf_emu_warp *warp;
  bf_emu_copy copy;
  bf_emu_piece piece[PIECES];
} telling;

static void tell_part(telling *own, uint64_t ticket) {
  const bf_emu_observer *observer = own->warp->worker->flight->observer;
  own->copy.ticket = ticket;
  own->copy.piece = own->piece;
  observer->copied(observer->context, &own->copy);
  own->copy.pieces = 0;
}

static void add_piece(void *context, uint64_t address, uint64_t bytes) {
  telling *own = context;
  if (own->copy.pieces == PIECES)
    tell_part(own, 0);
  own->piece[own->copy.pieces++] = (bf_emu_piece){address, bytes};
}

/* Tells the observer of a copy between global memory at address (of a tensor the box says where)
 * and the blocks of ranks. */
static void tell_way(bf_emu_warp *warp, const bf_emu_job *job, bf_emu_way way, uint32_t ranks,
                     uint64_t address) {
  const bf_emu_observer *observer = warp->worker->flight->observer;
  if (!observer || !observer->copied)
    return;
  telling own = {.warp = warp,
                 .copy = {.worker = warp->worker->index,
                          .way = way,
                          .is_tensor = job->is_tensor,
                          .bytes = job->bytes,
                          .ranks = ranks}};
  if (job->is_tensor)
    bf_emu_box_rows(&job->box, add_piece, &own);
  else if (way != BF_EMU_WAY_SHARE)
    add_piece(&own, address, job->bytes);
  tell_part(&own, job->ticket ? job->ticket : UINT64_MAX);
}

/* ---- Ends of a job ---- */

/* Global memory from address on; NULL: the launch has ended. */
static uint8_t *reach_global(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                             uint64_t address, uint64_t bytes, bool is_write) {
  if (bytes > UINT32_MAX)
    bytes = UINT32_MAX;
  return bf_emu_reach_one(warp, op, lane, address, (unsigned)bytes, is_write);
}

/* Sends a job to the mbarrier of the lane: in the block that its destination is in, or, where it is
 * multicast, in every block of the mask, at the same offsets. Of pairs, mbarriers are in those
 * blocks whose rank is as odd as that of the block which the mbarrier is in. from: its global
 * memory. */
static bool send(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_job *job,
                 uint64_t from) {
  const bulk *what = op->detail;
  bf_emu_block *target, *owner;
  uint64_t offset, barrier;
  uint64_t to = bf_emu_address_of(warp, &what->to, lane);
  uint64_t span = what->is_tensor ? bf_emu_box_span(&job->box.map) : job->bytes;
  if (!bf_emu_cluster_reach(warp, op, lane, to, span, what->is_tensor ? 128 : 16, true, &target,
                            &offset) ||
      !bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, &what->barrier, lane), 8, 8,
                            true, &owner, &barrier))
    return false;
  bool is_near = owner == target || (what->is_pair && (owner->rank ^ target->rank) == 1);
  if (!is_near || (what->into_own && target != warp->block))
    return fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                !is_near ? "the mbarrier is in another block than the destination"
                         : ".shared::cta with an address of another block");
  job->barrier = (uint32_t)barrier;
  job->counted_bytes = job->bytes;
  job->into_offset = (uint32_t)offset;
  job->box.shared = (uint32_t)offset;
  unsigned blocks = bf_emu_cluster_blocks(warp->worker->flight);
  uint32_t mask = UINT32_C(1) << target->rank;
  if (what->is_multicast) {
    mask = BF_LANES(const uint16_t, what->cta_mask)[lane];
    if (mask == 0 || mask >> blocks)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "multicast to the blocks of mask 0x%x in a cluster of %u", mask,
                         blocks) != NULL;
  }
  uint32_t keepers = 0;
  unsigned width = what->is_tensor ? bf_tensor_swizzle_bytes(job->box.map.swizzle) : 0;
  if (what->is_tensor && !width)
    width = 16; /* as descriptors say it */
  set_ticket(warp, job);
  for (unsigned rank = 0; rank < blocks; rank++) {
    if (!(mask >> rank & 1))
      continue;
    bf_emu_block *each = warp->block->cluster ? warp->block->cluster->block[rank] : warp->block;
    unsigned told = what->is_pair ? (rank & ~1u) | (owner->rank & 1u) : rank;
    if (told >= blocks)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "block %u of the cluster has no other block of a pair", rank) != NULL;
    bf_emu_block *keeper = told == rank ? each : warp->block->cluster->block[told];
    if (each->has_ended || keeper->has_ended)
      return bf_emu_fail(warp, op, BF_EMU_OUT_OF_BOUNDS, lane,
                         "copy to block %u of the cluster, which has ended",
                         each->has_ended ? rank : told) != NULL;
    job->into = each;
    job->to = each->shared + offset;
    keepers |= UINT32_C(1) << told;
    if (!bf_emu_job_signal(warp, op, keeper, job))
      return false;
    if (!bf_race_overwritten(warp, op, lane, each, offset, job->bytes) ||
        !bf_proxy_copy_begins(warp, op, lane, each, offset, job->bytes, true, width))
      return false;
  }
  tell_way(warp, job, what->way == SHARE ? BF_EMU_WAY_SHARE : BF_EMU_WAY_LOAD, keepers, from);
  return true;
}

/* Notes that a job reads shared memory; false: a thread wrote there without a fence. */
static bool leave(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_job *job, bf_emu_block *block,
                  uint64_t offset, uint64_t bytes) {
  job->out_of = block;
  job->out_of_offset = (uint32_t)offset;
  job->out_of_bytes = (uint32_t)bytes;
  return bf_proxy_read(warp, op, job->lane, block, offset, bytes) &&
         bf_proxy_copy_begins(warp, op, job->lane, block, offset, bytes, false, 0);
}

/* ---- Telling ---- */

/* The operand at an address of shared memory, where it takes so many bytes. */
static bf_operand operand_at(bf_emu_warp *warp, const bf_operand *what, uint64_t address,
                             uint64_t span) {
  bf_operand placed = *what;
  uint64_t offset = 0;
  if (bf_emu_cluster_find(warp, address, &offset)) {
    placed.first = (uint32_t)offset;
    placed.end = (uint32_t)(offset + span);
  }
  return placed;
}

/* Tells observers of a copy; map NULL: of bytes in a row. Rows of a box are those of its first
 * dimension. */
static void tell_copy(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint32_t bytes,
                      const bf_tensor_map *map) {
  const bulk *what = op->detail;
  bf_operand copied = {.rows = 1, .columns = bytes, .bytes = bytes};
  if (!warp->worker->flight->observer)
    return;
  if (map) {
    copied.columns = map->box[0];
    copied.rows = bytes / (map->box[0] * bf_tensor_type_bytes(map->type));
    if (map->interleave) { /* a row is a slice */
      copied.columns = (UINT32_C(8) << map->interleave) / bf_tensor_type_bytes(map->type);
      copied.rows = bytes >> (3 + map->interleave);
    }
    copied.swizzle_bytes = (uint16_t)bf_tensor_swizzle_bytes(map->swizzle);
    snprintf(copied.type, sizeof copied.type, "%s", bf_tensor_type_name(map->type));
    if (map->chunk_bytes) { /* elements that are bytes by now */
      copied.columns = 16 * map->box[0] / map->chunk_bytes;
      snprintf(copied.type, sizeof copied.type, "u%u", map->chunk_bytes / 2U);
    }
  }
  bf_operand operand[BF_OPERANDS] = {{0}};
  uint64_t span = map ? bf_emu_box_span(map) : bytes;
  if (what->way != STORE)
    operand[BF_OPERAND_LOADED] =
        operand_at(warp, &copied, bf_emu_address_of(warp, &what->to, lane), span);
  if (what->way != LOAD)
    operand[BF_OPERAND_STORED] =
        operand_at(warp, &copied, bf_emu_address_of(warp, &what->from, lane), span);
  bf_emu_tell_operands(warp, op, operand);
}

/* ---- Rows of bytes ---- */

/* Says that global memory is not aligned as bulk copies want it; always false. */
static bool fail_alignment(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                           uint32_t bytes, bool is_write) {
  bf_emu_fail_access(warp, op, BF_PTX_SPACE_GLOBAL, lane, address, bytes, is_write,
                     BF_EMU_MISALIGNED);
  bf_emu_add_reason(warp, op, "it must be a multiple of 16");
  return false;
}

static bool start_linear(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  const bulk *what = op->detail;
  uint32_t bytes = BF_LANES(const uint32_t, what->size)[lane];
  bf_emu_job job = {.lane = lane, .bytes = bytes, .reduce = what->reduce};
  bf_emu_block *block;
  uint64_t offset, from = bf_emu_address_of(warp, &what->from, lane);
  if (bytes % 16)
    return bf_emu_fail(warp, op, BF_EMU_MISALIGNED, lane, "%u bytes, which is no multiple of 16",
                       bytes) != NULL;
  bool is_global = what->way == LOAD || what->way == PREFETCH;
  if (is_global && from % 16)
    return fail_alignment(warp, op, lane, from, bytes, false);
  job.from = is_global
                 ? bytes ? reach_global(warp, op, lane, from, bytes, false) : NULL
                 : bf_emu_cluster_reach(warp, op, lane, from, bytes, 16, false, &block, &offset);
  if ((bytes && !job.from) || (!is_global && !leave(warp, op, &job, block, offset, bytes)))
    return false;
  if (!is_global && !what->is_masked && !bf_emu_shadow_read(warp, op, lane, block, offset, bytes))
    return false;
  if (what->is_masked)
    job.byte_mask = BF_LANES(const uint16_t, what->byte_mask)[lane] | UINT32_C(1) << 16;
  if (what->way == PREFETCH) {
    tell_way(warp, &job, BF_EMU_WAY_PREFETCH, 0, from);
    return true;
  }
  tell_copy(warp, op, lane, bytes, NULL);
  if (what->way != STORE)
    return send(warp, op, lane, &job, from);
  uint64_t to = bf_emu_address_of(warp, &what->to, lane);
  if (to % 16)
    return fail_alignment(warp, op, lane, to, bytes, true);
  job.to = bytes ? reach_global(warp, op, lane, to, bytes, true) : NULL;
  tell_way(warp, &job, BF_EMU_WAY_STORE, 0, to);
  return (!bytes || job.to) && bf_emu_job_group(warp, op, &job);
}

/* ---- Boxes of tensors ---- */

/* What is wrong with where a tensor map is, as the PTX ISA has it; NULL: nothing. A parameter that
 * is no __grid_constant__ is copied to local memory when its address is taken. */
static const char *misplaced_map(uint64_t address) {
  if (address - BF_EMU_SHARED_WINDOW < BF_EMU_WINDOW_BYTES)
    return "the tensor map is in shared memory: it must be in a parameter, constant or global";
  if (address - BF_EMU_LOCAL_WINDOW < BF_EMU_WINDOW_BYTES)
    return "the tensor map is in local memory: it must be in a parameter (const __grid_constant__ "
           "CUtensorMap), constant or global";
  return NULL;
}

/* Reads the tensor map and the coordinates of a lane; false: the launch has ended. */
static bool read_box(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_box *box) {
  const bulk *what = op->detail;
  uint64_t address = bf_emu_address_of(warp, &what->map, lane);
  if (address % 64) {
    bf_emu_fail_access(warp, op, BF_PTX_SPACE_NONE, lane, address, BF_TENSOR_MAP_BYTES, false,
                       BF_EMU_MISALIGNED);
    bf_emu_add_reason(warp, op, "a tensor map lies at a multiple of 64");
    return false;
  }
  const uint8_t *map = bf_emu_reach_one(warp, op, lane, address, BF_TENSOR_MAP_BYTES, false);
  if (!map)
    return false;
  const char *misplaced = misplaced_map(address);
  if (misplaced)
    return fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane, misplaced);
  if (!bf_proxy_map_used(warp, op, lane, address))
    return false;
  memcpy(&box->map, map, sizeof box->map);
  for (unsigned i = 0; i < what->coordinates; i++)
    box->at[i] = BF_LANES(const int32_t, what->at[i])[lane];
  for (unsigned i = 0; i < what->offsets; i++)
    box->offset[i] = BF_LANES(const uint16_t, what->offset[i])[lane];
  const char *wrong = bf_emu_box_check(box, what->rank, what->im2col);
  if (!wrong)
    wrong = bf_emu_box_unpack(box, what->reduce.operation != BF_EMU_REDUCE_NONE);
  if (!wrong && what->is_picked)
    wrong = bf_emu_box_pick(box);
  if (!wrong && what->im2col > BF_TENSOR_IM2COL)
    wrong = bf_emu_box_widen(box);
  return !wrong || fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane, wrong);
}

static bool start_tensor(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane) {
  const bulk *what = op->detail;
  bf_emu_job job = {.lane = lane, .reduce = what->reduce, .is_tensor = true};
  job.box.is_store = what->way == STORE;
  uint64_t first, end, offset;
  bf_emu_block *block;
  if (!read_box(warp, op, lane, &job.box))
    return false;
  job.bytes = (uint32_t)bf_emu_box_bytes(&job.box.map);
  if (bf_emu_box_range(&job.box, &first, &end) &&
      !reach_global(warp, op, lane, first, end - first, job.box.is_store))
    return false;
  if (what->way == PREFETCH) {
    tell_way(warp, &job, BF_EMU_WAY_PREFETCH, 0, 0);
    return true;
  }
  tell_copy(warp, op, lane, job.bytes, &job.box.map);
  if (what->way != STORE)
    return send(warp, op, lane, &job, 0);
  uint64_t from = bf_emu_address_of(warp, &what->from, lane);
  job.from = bf_emu_cluster_reach(warp, op, lane, from, bf_emu_box_span(&job.box.map), 128, false,
                                  &block, &offset);
  job.box.shared = (uint32_t)offset;
  tell_way(warp, &job, BF_EMU_WAY_STORE, 0, 0);
  return job.from && leave(warp, op, &job, block, offset, bf_emu_box_span(&job.box.map)) &&
         bf_emu_job_group(warp, op, &job);
}

static const bf_emu_op *step_bulk(bf_emu_warp *warp, const bf_emu_op *op) {
  const bulk *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    if (!(what->is_tensor ? start_tensor : start_linear)(warp, op, lane))
      return NULL;
  }
  return op + 1;
}

/* ---- Groups ---- */

static const bf_emu_op *step_commit(bf_emu_warp *warp, const bf_emu_op *op) {
  bf_emu_groups_commit(warp, BF_MASK());
  return op + 1;
}

static const bf_emu_op *step_wait(bf_emu_warp *warp, const bf_emu_op *op) {
  uint64_t but = op->immediate;
  bf_emu_groups_wait(warp, BF_MASK(), but < INT32_MAX ? (uint32_t)but : INT32_MAX);
  return op + 1;
}

/* ---- st.async, red.async ---- */

typedef struct remote_store {
  bf_emu_address to, barrier;
  unsigned count, size; /* registers, bytes of each in memory */
  uint32_t place[4];
  unsigned register_bytes[4];
  bf_emu_reduce reduce;
} remote_store;

static const bf_emu_op *step_remote_store(bf_emu_warp *warp, const bf_emu_op *op) {
  const remote_store *what = op->detail;
  BF_EACH_LANE(BF_MASK(), lane) {
    bf_emu_job job = {.lane = lane, .bytes = what->count * what->size, .reduce = what->reduce};
    bf_emu_block *target, *owner;
    uint64_t offset, barrier;
    job.counted_bytes = job.bytes;
    for (unsigned i = 0; i < what->count; i++)
      memcpy(job.value + i * what->size,
             warp->registers + what->place[i] + lane * what->register_bytes[i], what->size);
    job.to = bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, &what->to, lane),
                                  job.bytes, job.bytes, true, &target, &offset);
    if (!job.to ||
        !bf_emu_cluster_reach(warp, op, lane, bf_emu_address_of(warp, &what->barrier, lane), 8, 8,
                              true, &owner, &barrier))
      return NULL;
    if (owner != target)
      return bf_emu_fail(warp, op, BF_EMU_BAD_INSTRUCTION, lane,
                         "the mbarrier is in another block than the destination");
    job.into = target;
    job.into_offset = (uint32_t)offset;
    job.barrier = (uint32_t)barrier;
    set_ticket(warp, &job);
    bool is_atomic = what->reduce.operation != BF_EMU_REDUCE_NONE;
    if (!bf_race_sent(warp, op, lane, target, offset, job.bytes, is_atomic) ||
        !bf_emu_job_signal(warp, op, owner, &job) ||
        !bf_proxy_copy_begins(warp, op, lane, target, offset, job.bytes, true, 0))
      return NULL;
    tell_way(warp, &job, BF_EMU_WAY_SHARE, UINT32_C(1) << owner->rank, 0);
  }
  return op + 1;
}

/* ---- Selection ---- */

/* The modifier that starts with a prefix, or NULL. */
static const char *find_prefix(const bf_ptx_instruction *instruction, const char *prefix) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (!strncmp(instruction->modifier[i], prefix, strlen(prefix)))
      return instruction->modifier[i];
  return NULL;
}

/* The space that the modifier behind "bulk" (or behind what follows it) names first. */
static direction find_way(const bf_ptx_instruction *instruction) {
  if (bf_ptx_has(instruction, "prefetch"))
    return PREFETCH;
  for (unsigned i = 0; i < instruction->modifiers; i++) {
    if (!strcmp(instruction->modifier[i], "global"))
      return STORE;
    if (!strncmp(instruction->modifier[i], "shared", 6))
      return bf_ptx_has(instruction, "global") ? LOAD : SHARE;
  }
  return PREFETCH;
}

static uint32_t word_place(bf_emu_decoder *decoder, const bf_ptx_operand *operand,
                           bf_ptx_type type) {
  if (bf_emu_register_bytes(operand, type) != bf_ptx_type_bytes(type))
    bf_emu_refuse(decoder, "operand of another size than it must have");
  return bf_emu_source(decoder, operand, type);
}

/* [map, {coordinates}] */
static void bind_tensor(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        const bf_ptx_operand *operand, bulk *what) {
  if (operand->kind != BF_PTX_ADDRESS || operand->count != 2 ||
      operand->item[1].kind != BF_PTX_VECTOR || operand->item[1].count != what->coordinates) {
    bf_emu_refuse(decoder, what->is_picked ? "gather4 or scatter4 without a column and four rows"
                                           : "tensor without a coordinate for each dimension");
    return;
  }
  bf_ptx_operand map = *operand;
  map.count = 1;
  what->map = bf_emu_bind_address(decoder, instruction, &map, BF_PTX_SPACE_NONE);
  for (unsigned i = 0; i < what->coordinates; i++)
    what->at[i] = word_place(decoder, &operand->item[1].item[i], BF_PTX_S32);
}

/* {offsets} of im2col; halo pixels and offset of im2col::w. */
static void bind_offsets(bf_emu_decoder *decoder, const bf_ptx_operand *operand, bulk *what) {
  what->offsets = what->im2col == BF_TENSOR_IM2COL ? what->rank - 2 : 2;
  if (operand->kind != BF_PTX_VECTOR || operand->count != what->offsets) {
    bf_emu_refuse(decoder, what->im2col == BF_TENSOR_IM2COL
                               ? "im2col without an offset for each dimension of space"
                               : "im2col::w without a number of halo pixels and an offset");
    return;
  }
  for (unsigned i = 0; i < what->offsets; i++)
    what->offset[i] = word_place(decoder, &operand->item[i], BF_PTX_U16);
}

/* What follows the mbarrier or the source: offsets of im2col, masks. */
static void bind_rest(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction, unsigned next,
                      bulk *what) {
  const bf_ptx_operand *operand = instruction->operand;
  unsigned end = instruction->operands - (bf_ptx_has(instruction, "L2::cache_hint") ? 1 : 0);
  bool has_offsets = what->im2col && what->way != STORE;
  if (what->is_masked && instruction->operands) /* behind the policy */
    what->byte_mask = word_place(decoder, &operand[instruction->operands - 1], BF_PTX_U16);
  if (has_offsets && next < end)
    bind_offsets(decoder, &operand[next++], what);
  else if (has_offsets)
    bf_emu_refuse(decoder, "im2col without offsets");
  if (what->is_multicast && next < end)
    what->cta_mask = word_place(decoder, &operand[next++], BF_PTX_U16);
  else if (what->is_multicast)
    bf_emu_refuse(decoder, "multicast without a mask of blocks");
}

/* Forms that only later GPUs have, and that are not here. */
static const char *newer_form(const bf_ptx_instruction *instruction) {
  if (bf_ptx_has(instruction, "ignore_oob"))
    return "ignore_oob";
  return NULL;
}

static bool select_tensor(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bulk *what) {
  const bf_ptx_operand *operand = instruction->operand;
  what->is_pair = bf_ptx_has(instruction, "cta_group::2");
  const char *walk = find_prefix(instruction, "im2col");
  what->im2col = !walk                         ? BF_TENSOR_TILES
                 : strstr(walk, "::w::128")    ? BF_TENSOR_IM2COL_W_128
                 : strstr(walk, "::w") != NULL ? BF_TENSOR_IM2COL_W
                                               : BF_TENSOR_IM2COL;
  if (what->im2col > BF_TENSOR_IM2COL && what->way == STORE)
    return bf_emu_refuse(decoder, "stores of im2col::w");
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (strlen(instruction->modifier[i]) == 2 && instruction->modifier[i][1] == 'd')
      what->rank = (unsigned)(instruction->modifier[i][0] - '0');
  if (what->rank < 1 || what->rank > BF_TENSOR_DIMENSIONS || (what->im2col && what->rank < 3))
    return bf_emu_refuse(decoder, "tensor of this number of dimensions");
  const char *picks = find_prefix(instruction, "tile::");
  what->is_picked = picks != NULL;
  what->coordinates = picks ? 1 + BF_EMU_PICKED_ROWS : what->rank;
  if (picks && (what->rank != 2 || what->reduce.operation != BF_EMU_REDUCE_NONE ||
                strcmp(picks, what->way == STORE ? "tile::scatter4" : "tile::gather4") != 0))
    return bf_emu_refuse(decoder, "rows of a tensor gathered or scattered in this form");
  unsigned map = what->way == LOAD ? 1 : 0, needed = what->way == LOAD    ? 3
                                                     : what->way == STORE ? 2
                                                                          : 1;
  if (instruction->operands < needed)
    return bf_emu_refuse(decoder, "copy of this form");
  bind_tensor(decoder, instruction, &operand[map], what);
  if (what->way == LOAD) {
    what->to = bf_emu_bind_address(decoder, instruction, &operand[0], BF_PTX_SPACE_SHARED);
    what->barrier = bf_emu_bind_address(decoder, instruction, &operand[2], BF_PTX_SPACE_SHARED);
  } else if (what->way == STORE) {
    what->from = bf_emu_bind_address(decoder, instruction, &operand[1], BF_PTX_SPACE_SHARED);
  }
  bind_rest(decoder, instruction, needed, what);
  return true;
}

static bool select_linear(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bulk *what) {
  const bf_ptx_operand *operand = instruction->operand;
  bool prefetches = what->way == PREFETCH, stores = what->way == STORE;
  unsigned source = prefetches ? 0 : 1, needed = prefetches ? 2 : stores ? 3 : 4;
  if (instruction->operands < needed)
    return bf_emu_refuse(decoder, "copy of this form");
  bool is_global = what->way == LOAD || prefetches;
  what->from = bf_emu_bind_address(decoder, instruction, &operand[source],
                                   is_global ? BF_PTX_SPACE_GLOBAL : BF_PTX_SPACE_SHARED);
  what->size = word_place(decoder, &operand[source + 1], BF_PTX_U32);
  if (!prefetches)
    what->to = bf_emu_bind_address(decoder, instruction, &operand[0],
                                   stores ? BF_PTX_SPACE_GLOBAL : BF_PTX_SPACE_SHARED);
  if (needed == 4)
    what->barrier = bf_emu_bind_address(decoder, instruction, &operand[3], BF_PTX_SPACE_SHARED);
  bind_rest(decoder, instruction, needed, what);
  return true;
}

static bool select_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  const char *newer = newer_form(instruction);
  if (newer)
    return bf_emu_refuse(decoder, newer);
  bulk *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  what->way = find_way(instruction);
  what->is_tensor = bf_ptx_has(instruction, "tensor");
  what->is_multicast = bf_ptx_has(instruction, "multicast::cluster");
  what->is_masked = bf_ptx_has(instruction, "cp_mask");
  what->into_own = what->way == LOAD && bf_ptx_has(instruction, "shared::cta");
  if (bf_ptx_has(instruction, "reduce")) {
    what->reduce.operation = bf_emu_reduction_of(instruction);
    what->reduce.type = instruction->types ? instruction->type[0] : BF_PTX_TYPE_NONE;
    if (what->reduce.operation == BF_EMU_REDUCE_NONE ||
        (!what->is_tensor && !bf_emu_reduce_is_possible(&what->reduce)))
      return bf_emu_refuse(decoder, "reduction of this type");
  }
  op->detail = what;
  op->run = step_bulk;
  return what->is_tensor ? select_tensor(decoder, instruction, what)
                         : select_linear(decoder, instruction, what);
}

static bool select_group(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  if (bf_ptx_has(instruction, "commit_group")) {
    op->run = step_commit;
    return true;
  }
  if (instruction->operands != 1 || instruction->operand[0].kind != BF_PTX_INTEGER)
    return bf_emu_refuse(decoder, "cp.async.bulk.wait_group of something that is no number");
  op->immediate = instruction->operand[0].bits;
  op->run = step_wait;
  return true;
}

/* st.async and red.async: [to], value, [mbarrier]. */
static bool select_remote_store(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  if (bf_ptx_has(instruction, "mmio") || instruction->operands != 3 ||
      operand[2].kind != BF_PTX_ADDRESS || instruction->types != 1)
    return bf_emu_refuse(decoder, "asynchronous store without an mbarrier");
  remote_store *what = bf_emu_detail(decoder, sizeof *what);
  if (!what)
    return true;
  bf_ptx_type type = instruction->type[0];
  const bf_ptx_operand *item = operand[1].kind == BF_PTX_VECTOR ? operand[1].item : &operand[1];
  what->count = operand[1].kind == BF_PTX_VECTOR ? operand[1].count : 1;
  what->size = bf_ptx_type_bytes(type);
  if (what->count > 4 || what->size < 4 || what->count * what->size > 16)
    return bf_emu_refuse(decoder, "asynchronous store of this size");
  for (unsigned i = 0; i < what->count; i++) {
    what->register_bytes[i] = bf_emu_register_bytes(&item[i], type);
    what->place[i] = bf_emu_source(decoder, &item[i], type);
    if (what->register_bytes[i] != what->size)
      return bf_emu_refuse(decoder, "operand of another size than the type");
  }
  if (instruction->opcode == BF_PTX_OP_RED) {
    what->reduce = (bf_emu_reduce){bf_emu_reduction_of(instruction), type};
    if (what->reduce.operation == BF_EMU_REDUCE_NONE || !bf_emu_reduce_is_possible(&what->reduce))
      return bf_emu_refuse(decoder, "reduction of this type");
  }
  what->to = bf_emu_bind_address(decoder, instruction, &operand[0], BF_PTX_SPACE_SHARED);
  what->barrier = bf_emu_bind_address(decoder, instruction, &operand[2], BF_PTX_SPACE_SHARED);
  op->detail = what;
  op->run = step_remote_store;
  return true;
}

bool bf_emu_select_bulk(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  bool is_async = bf_ptx_has(instruction, "async");
  switch (instruction->opcode) {
  case BF_PTX_OP_CP:
    if (!bf_ptx_has(instruction, "bulk"))
      return false;
    if (bf_ptx_has(instruction, "commit_group") || bf_ptx_has(instruction, "wait_group"))
      return select_group(decoder, instruction, op);
    return select_copy(decoder, instruction, op);
  case BF_PTX_OP_ST:
  case BF_PTX_OP_RED:
    return is_async && select_remote_store(decoder, instruction, op);
  default:
    return false;
  }
}
