/* From the addresses of a kernel to memory of the host, with all checks; and telling observers. */
#include "emu/cluster.h"
#include "emu/device.h"
#include "emu/lined.h"
#include "emu/put_off.h"
#include "emu/race.h"
#include "emu/shadow.h"
#include "memory/far.h"

/* Calls one of the observer's functions with a shared access. */
static void tell_shared(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        uint32_t mask, const uint32_t *address, const bf_lined_key *line,
                        void (*told)(void *context, const bf_emu_event *event)) {
  const bf_emu_observer *observer = warp->worker->flight->observer;
  bf_emu_event event = {.site = op->site,
                        .worker = warp->worker->index,
                        .block = warp->block->index,
                        .warp = warp->index,
                        .sample = warp->block->sample,
                        .space = BF_PTX_SPACE_SHARED,
                        .op = kind,
                        .width_bytes = width_bytes,
                        .mask = mask,
                        .shared_address = address,
                        .global_address = kind == BF_OP_ADD64 ? NULL : warp->beside,
                        .is_cached = warp->beside && warp->copies_cached,
                        .changes = kind == BF_OP_ADD64 ? warp->beside : NULL,
                        .line = line};
  told(observer->context, &event);
}

/* Tells of a load or store that ptxas has made of several, or of which it has made several. */
static void tell_merged(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, uint32_t mask,
                        const uint32_t *address, const bf_lined_key *line,
                        const bf_ptx_merged *merged) {
  if (merged->dropped || merged->leader)
    return;
  uint32_t moved[BF_EMU_LANES];
  for (unsigned i = 0; i < merged->times; i++) {
    int64_t offset = merged->offset_bytes + (int64_t)i * merged->width_bytes;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      moved[lane] = address[lane] + (uint32_t)offset;
    tell_shared(warp, op, kind, merged->width_bytes, mask, moved, merged->times == 1 ? line : NULL,
                warp->worker->flight->observer->access);
  }
}

/* Tells the observer of a shared access, whose lanes lie in line where line is not NULL. */
static void tell_any(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                     uint32_t mask, const uint32_t *address, const bf_lined_key *line) {
  const bf_emu_flight *flight = warp->worker->flight;
  if (!flight->observer || !mask || warp->block->sample == BF_EMU_UNTOLD)
    return;
  const bf_ptx_merged *merged = &flight->kernel->merged[op->site];
  bool is_changed = merged->dropped || merged->leader || merged->offset_bytes ||
                    merged->times > 1 || merged->width_bytes != width_bytes;
  const bf_emu_observer *observer = flight->observer;
  if (observer->written)
    tell_shared(warp, op, kind, width_bytes, mask, address, NULL, observer->written);
  if (observer->as_merged && merged->width_bytes && is_changed &&
      (kind == BF_OP_LD || kind == BF_OP_ST))
    tell_merged(warp, op, kind, mask, address, line, merged);
  else
    tell_shared(warp, op, kind, width_bytes, mask, address, line, observer->access);
}

void bf_emu_tell_shared(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        uint32_t mask, const uint32_t *address) {
  tell_any(warp, op, kind, width_bytes, mask, address, NULL);
}

void bf_emu_tell_line(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                      const uint32_t *address, const bf_lined_key *line) {
  bf_emu_worker *worker = warp->worker;
  const bf_emu_observer *observer = worker->flight->observer;
  if (worker->tally && *worker->tally &&
      bf_lined_count_beside(*worker->tally, line, warp->block->index))
    return;
  if (worker->tally && *worker->tally && (*worker->tally)->left == 0)
    observer->settle(observer->context, worker->index);
  tell_any(warp, op, kind, width_bytes, line->mask, address, worker->tally ? line : NULL);
}

void bf_emu_tell_global(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                        uint32_t mask, const uint64_t *address) {
  const bf_emu_observer *observer = warp->worker->flight->observer;
  if (!observer || !observer->wants_global || !mask || warp->block->sample == BF_EMU_UNTOLD)
    return;
  bf_emu_event event = {.site = op->site,
                        .worker = warp->worker->index,
                        .block = warp->block->index,
                        .warp = warp->index,
                        .sample = warp->block->sample,
                        .space = BF_PTX_SPACE_GLOBAL,
                        .op = kind,
                        .width_bytes = width_bytes,
                        .mask = mask,
                        .global_address = address};
  observer->access(observer->context, &event);
}

void bf_emu_tell_operands(bf_emu_warp *warp, const bf_emu_op *op,
                          const bf_operand operand[BF_OPERANDS]) {
  const bf_emu_observer *observer = warp->worker->flight->observer;
  if (!observer || !observer->operands || warp->block->sample == BF_EMU_UNTOLD)
    return;
  observer->operands(observer->context, &(bf_emu_event){.site = op->site,
                                                        .worker = warp->worker->index,
                                                        .block = warp->block->index,
                                                        .warp = warp->index,
                                                        .sample = warp->block->sample,
                                                        .space = BF_PTX_SPACE_SHARED,
                                                        .operand = operand});
}

/* Whether the range is one of those from *at on, up to which *at moves. */
static bool is_noted(const bf_emu_touched *touched, const bf_emu_range *range, unsigned *at) {
  unsigned count = __atomic_load_n(&touched->ranges, __ATOMIC_ACQUIRE);
  while (*at < count && touched->range[*at].serial != range->serial)
    ++*at;
  return *at < count;
}

/* Takes note of a range that the launch touches. Ranges are only added, so that a look without the
 * lock is enough for those that are there. */
void bf_emu_touch(bf_emu_flight *flight, const bf_emu_range *range) {
  bf_emu_touched *touched = flight->launch->touched;
  unsigned at = 0;
  if (!touched || is_noted(touched, range, &at))
    return;
  pthread_mutex_lock(&flight->lock);
  bool is_new = !is_noted(touched, range, &at);
  if (is_new && at < BF_EMU_TOUCHED) {
    touched->range[at] = *range;
    __atomic_store_n(&touched->ranges, at + 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&flight->lock);
  if (is_new && at == BF_EMU_TOUCHED)
    bf_emu_touch_more(flight);
}

void bf_emu_touch_more(const bf_emu_flight *flight) {
  if (flight->launch->touched)
    __atomic_store_n(&flight->launch->touched->is_open, true, __ATOMIC_RELAXED);
}

/* A global address: the range it lies in is remembered by the worker. */
static bf_emu_fault_kind reach_global(bf_emu_warp *warp, const bf_emu_op *op, uint64_t address,
                                      unsigned width_bytes, bool is_write, uint8_t **pointer) {
  bf_emu_flight *flight = warp->worker->flight;
  bf_emu_known *known = &warp->worker->known[op->site % BF_EMU_KNOWN];
  *pointer = (uint8_t *)(uintptr_t)address;
  if (address < known->first || address + width_bytes > known->end) {
    bf_emu_entry entry;
    uint64_t parameters = (uintptr_t)flight->parameters;
    if (address >= parameters &&
        address + width_bytes <= parameters + flight->launch->parameter_bytes) {
      *known = (bf_emu_known){parameters, parameters + flight->launch->parameter_bytes, false};
    } else if (bf_emu_find_entry(flight->emu, address, &entry) &&
               address + width_bytes <= entry.public.address + entry.public.bytes) {
      *known =
          (bf_emu_known){entry.public.address, entry.public.address + entry.public.bytes, true};
      bf_emu_touch(flight, &entry.public);
    } else {
      return bf_emu_was_freed(flight->emu, address) ? BF_EMU_USE_AFTER_FREE : BF_EMU_OUT_OF_BOUNDS;
    }
  }
  return is_write && !known->writable ? BF_EMU_READ_ONLY : BF_EMU_NO_FAULT;
}

/* Whether an operation reaches the own block's shared memory alone. */
static bool is_own_only(const bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_code *code = warp->frame->code;
  uint32_t index = code->instruction[op - code->op];
  const bf_ptx_instruction *instruction =
      index < code->function->instructions ? code->function->instruction[index] : NULL;
  return instruction && instruction->space == BF_PTX_SPACE_SHARED &&
         !bf_ptx_has(instruction, "shared::cluster");
}

/* Shared memory of the block itself or of another one of the cluster. */
static bf_emu_fault_kind reach_cluster(bf_emu_warp *warp, const bf_emu_op *op, uint64_t address,
                                       unsigned width_bytes, uint8_t **pointer) {
  uint64_t offset;
  bf_emu_block *block = bf_emu_cluster_find(warp, address, &offset);
  if (!block || (block != warp->block && is_own_only(warp, op)) || offset >= block->shared_bytes ||
      width_bytes > block->shared_bytes - offset)
    return BF_EMU_OUT_OF_BOUNDS;
  *pointer = block->shared + offset;
  return BF_EMU_NO_FAULT;
}

/* Whether a lane that is allowed to access shared memory does so in another block. Then that block
 * takes note of what is written; an address of the block itself loses its rank. */
static bool is_remote(bf_emu_warp *warp, uint64_t *address, unsigned width_bytes, bool is_write) {
  uint64_t offset;
  bf_emu_block *block = bf_emu_cluster_find(warp, *address, &offset);
  if (block == warp->block)
    *address = offset;
  else if (block && block->shadow && is_write)
    bf_emu_shadow_fill(block->shadow, offset, width_bytes);
  return block != warp->block;
}

/* One address of one lane, of a given space. */
static bf_emu_fault_kind reach_lane(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space,
                                    unsigned lane, uint64_t address, unsigned width_bytes,
                                    bool is_write, uint8_t **pointer) {
  uint64_t limit;
  switch (space) {
  case BF_PTX_SPACE_SHARED:
    return reach_cluster(warp, op, address, width_bytes, pointer);
  case BF_PTX_SPACE_LOCAL:
    limit = warp->local ? warp->worker->flight->stack_bytes : 0;
    *pointer = warp->local + lane * limit + address;
    break;
  default:
    return reach_global(warp, op, address, width_bytes, is_write, pointer);
  }
  return address >= limit || width_bytes > limit - address ? BF_EMU_OUT_OF_BOUNDS : BF_EMU_NO_FAULT;
}

/* The space a generic address lies in; *inside is the address there. */
static bf_ptx_space split_generic(uint64_t address, uint64_t *inside) {
  *inside = address;
  if (address - BF_EMU_SHARED_WINDOW < BF_EMU_WINDOW_BYTES) {
    *inside = address - BF_EMU_SHARED_WINDOW;
    return BF_PTX_SPACE_SHARED;
  }
  if (address - BF_EMU_LOCAL_WINDOW < BF_EMU_WINDOW_BYTES) {
    *inside = address - BF_EMU_LOCAL_WINDOW;
    return BF_PTX_SPACE_LOCAL;
  }
  return BF_PTX_SPACE_GLOBAL;
}

/* Tells of the lanes in shared memory, whose accesses are told_bytes wide (0: not told of), and of
 * those in global memory. */
static void tell(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                 unsigned told_bytes, uint32_t shared, uint32_t global, const uint64_t *inside) {
  if (!warp->worker->flight->observer)
    return;
  uint32_t address[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    address[lane] = (uint32_t)inside[lane] & (0 - told_bytes);
  if (told_bytes)
    bf_emu_tell_shared(warp, op, kind, told_bytes, shared, address);
  bf_emu_tell_global(warp, op, kind, width_bytes, global, inside);
}

/* Tells of the lanes that access other blocks; addresses have the number of the block above. */
static void tell_far(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                     uint32_t mask, const uint64_t *address) {
  if (!mask || !warp->worker->flight->observer)
    return;
  bf_side side = bf_op_side(kind);
  bf_operand operand[BF_OPERANDS] = {{0}};
  bf_far_range range = bf_memory_far_range(side, width_bytes, mask, address);
  operand[side == BF_SIDE_LOAD    ? BF_OPERAND_FAR_LOADED
          : side == BF_SIDE_STORE ? BF_OPERAND_FAR_STORED
                                  : BF_OPERAND_FAR_ATOMIC] =
      (bf_operand){.rows = (uint32_t)__builtin_popcount(mask),
                   .columns = width_bytes,
                   .bytes = 32 * bf_memory_far_sectors(side, width_bytes, mask, address),
                   .least_bytes = 32 * range.least,
                   .most_bytes = 32 * range.most};
  bf_emu_tell_operands(warp, op, operand);
}

bool bf_emu_reach(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, bf_op kind,
                  unsigned width_bytes, unsigned align_bytes, unsigned told_bytes, bool is_write,
                  uint32_t mask, const uint64_t *address, uint8_t **pointer) {
  uint64_t inside[BF_EMU_LANES] = {0};
  uint32_t shared = 0, global = 0, far = 0;
  BF_EACH_LANE(mask, lane) {
    bf_ptx_space own = space;
    inside[lane] = address[lane];
    if (space == BF_PTX_SPACE_NONE)
      own = split_generic(address[lane], &inside[lane]);
    bf_emu_fault_kind fault =
        inside[lane] & (align_bytes - 1)
            ? BF_EMU_MISALIGNED
            : reach_lane(warp, op, own, lane, inside[lane], width_bytes, is_write, &pointer[lane]);
    uint8_t *other =
        fault ? bf_emu_tolerate(warp, op, own, lane, inside[lane], width_bytes, is_write, fault)
              : NULL;
    if (other) {
      pointer[lane] = other;
      continue;
    }
    if (fault) {
      bf_emu_fail_access(warp, op, own, lane, inside[lane], width_bytes, is_write, fault);
      return false;
    }
    bool is_own =
        own == BF_PTX_SPACE_SHARED && !is_remote(warp, &inside[lane], width_bytes, is_write);
    shared |= (uint32_t)is_own << lane;
    far |= (uint32_t)(own == BF_PTX_SPACE_SHARED && !is_own) << lane;
    global |= (uint32_t)(own == BF_PTX_SPACE_GLOBAL) << lane;
  }
  if (bf_emu_must_wait(warp->worker, kind, width_bytes, global, inside))
    return false;
  if (warp->worker->flight->races &&
      ((far && !bf_race_far(warp, op, kind, width_bytes, is_write, far, inside)) ||
       !bf_race_access(warp, op, kind, width_bytes, is_write, shared, global, inside)))
    return false;
  if (shared && warp->block->shadow &&
      !bf_emu_shadow_access(warp, op, kind, width_bytes, is_write, shared, inside))
    return false;
  tell(warp, op, kind, width_bytes, told_bytes, shared, global, inside);
  tell_far(warp, op, kind, width_bytes, far, inside);
  return true;
}

uint8_t *bf_emu_reach_one(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                          unsigned width_bytes, bool is_write) {
  uint64_t inside;
  uint8_t *pointer;
  bf_ptx_space space = split_generic(address, &inside);
  bf_emu_fault_kind fault =
      reach_lane(warp, op, space, lane, inside, width_bytes, is_write, &pointer);
  if (!fault)
    return pointer;
  bf_emu_fail_access(warp, op, space, lane, inside, width_bytes, is_write, fault);
  return NULL;
}
