/* Asynchronous copies in groups (cp.async) and barrier objects in shared memory (mbarrier).
 *
 * A copy is noted when it is issued and done when its lane waits for it, so that a program that
 * forgets to wait reads old data. Addresses are checked when it is issued. Lanes have groups of
 * their own. Copies that cannot be noted are done at once, which PTX allows as well.
 *
 * What an mbarrier holds says emu/phase.h. */
#include "emu/cluster.h"
#include "emu/late.h"
#include "emu/near.h"
#include "emu/passed.h"
#include "emu/proxy.h"
#include "emu/race.h"
#include "emu/warp.h"

#include <stdlib.h>

bool BF_EMU_NAME(bf_emu_select_async)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op);

/* ---- Copies ---- */

/* The copies of one instruction; bytes behind source_bytes are filled with zeros. */
typedef struct warp_copy {
  uint32_t lanes; /* whose copy is not done yet */
  uint32_t bytes;
  uint32_t group[BF_EMU_LANES]; /* of the lane */
  uint8_t *to[BF_EMU_LANES];
  const uint8_t *from[BF_EMU_LANES];
  uint8_t source_bytes[BF_EMU_LANES];
} warp_copy;

enum { FIRST_COPIES = 16, MOST_COPIES = 1024 };

/* Copies of a warp in the order they were issued, as one piece of memory (emu/async.c frees it). */
struct bf_emu_async {
  uint64_t block;               /* whose copies these are: warps are used for many blocks */
  uint32_t group[BF_EMU_LANES]; /* that copies are put into: as many were committed */
  uint32_t first, end;          /* copies from first to end may hold some that are not done */
  uint32_t capacity;
  warp_copy copy[];
};

/* Does the copies of lanes. */
static void do_copies(warp_copy *copy, uint32_t lanes) {
  lanes &= copy->lanes;
  copy->lanes &= ~lanes;
  unsigned least = 16;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    least = copy->source_bytes[lane] < least ? copy->source_bytes[lane] : least;
  if (least == 16 && lanes == UINT32_MAX) {
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(copy->to[lane], copy->from[lane], 16);
    return;
  }
  BF_EACH_LANE(lanes, lane) {
    uint8_t *to = copy->to[lane];
    const uint8_t *from = copy->from[lane];
    uint32_t bytes = copy->source_bytes[lane];
    if (bytes == 16)
      memcpy(to, from, 16);
    else if (bytes == copy->bytes && bytes == 4)
      memcpy(to, from, 4);
    else {
      if (bytes)
        memcpy(to, from, bytes);
      memset(to + bytes, 0, copy->bytes - bytes);
    }
  }
}

/* Who looks for races learns that copies of lanes are done. */
static void note_done(bf_emu_warp *warp, const warp_copy *copy, uint32_t lanes) {
  if (warp->block->words)
    BF_EACH_LANE(lanes & copy->lanes, lane)
  bf_race_copied(warp, lane, (uint64_t)(copy->to[lane] - warp->block->shared), copy->bytes);
}

/* The list of the warp, as the block needs it; NULL: there is none. */
static struct bf_emu_async *list_of(bf_emu_warp *warp) {
  struct bf_emu_async *list = warp->async;
  if (list && list->block != warp->block->index) {
    list->block = warp->block->index;
    list->first = list->end = 0;
    memset(list->group, 0, sizeof list->group);
  }
  return list;
}

/* The list with room for one more; NULL: there is none. */
static struct bf_emu_async *list_with_room(bf_emu_warp *warp) {
  struct bf_emu_async *list = list_of(warp);
  if (list && list->first > 0 && list->end == list->capacity) {
    memmove(list->copy, list->copy + list->first, (list->end - list->first) * sizeof *list->copy);
    list->end -= list->first;
    list->first = 0;
  }
  if (list && list->end < list->capacity)
    return list;
  uint32_t capacity = list ? 2 * list->capacity : FIRST_COPIES;
  if (capacity > MOST_COPIES)
    return NULL;
  struct bf_emu_async *larger = realloc(list, sizeof *list + capacity * sizeof *list->copy);
  if (!larger)
    return NULL;
  if (!list)
    *larger = (struct bf_emu_async){.block = warp->block->index};
  larger->capacity = capacity;
  warp->async = larger;
  return larger;
}

/* Does the copies of lanes whose group is before before[lane], in order. */
static void finish(bf_emu_warp *warp, uint32_t lanes, const uint32_t *before) {
  struct bf_emu_async *list = list_of(warp);
  if (!list)
    return;
  for (uint32_t i = list->first; i < list->end; i++) {
    const uint32_t *group = list->copy[i].group;
    uint32_t over = 0;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      over |= (uint32_t)(group[lane] < before[lane]) << lane;
    note_done(warp, &list->copy[i], lanes & over);
    do_copies(&list->copy[i], lanes & over);
  }
  while (list->first < list->end && !list->copy[list->first].lanes)
    list->first++;
  if (list->first == list->end)
    list->first = list->end = 0;
}

/* Does all copies of lanes, committed or not. */
static void finish_all(bf_emu_warp *warp, uint32_t lanes) {
  uint32_t before[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    before[lane] = UINT32_MAX;
  finish(warp, lanes, before);
}

typedef struct copy_detail {
  bf_emu_address to, from;
  uint32_t source_bytes;          /* place, where has_source_bytes */
  uint32_t ignored, ignored_flip; /* predicate: write zeros instead */
  bf_op kind;
  unsigned bytes;
  bool has_source_bytes, is_cached;
} copy_detail;

/* How many bytes each lane reads. */
static void read_sizes(const bf_emu_warp *warp, const copy_detail *detail, uint8_t *size) {
  const uint32_t *wanted = BF_LANES(const uint32_t, detail->source_bytes);
  uint32_t ignored = BF_PREDICATE(detail->ignored) ^ detail->ignored_flip;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    uint32_t bytes = detail->bytes;
    if (detail->has_source_bytes && wanted[lane] < bytes)
      bytes = wanted[lane];
    size[lane] = ignored >> lane & 1 ? 0 : (uint8_t)bytes;
  }
}

/* Finds the sources, size by size; lanes that read nothing have none. address is where they are. */
static bool reach_sources(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes,
                          const uint8_t *size, uint64_t *address, const uint8_t **from) {
  const copy_detail *detail = op->detail;
  const bf_emu_address *at = &detail->from;
  uint8_t *pointer[BF_EMU_LANES] = {NULL};
  bf_emu_addresses(warp, at->place, at->register_bytes, at->offset, address);
  for (uint32_t left = lanes; left;) {
    unsigned bytes = size[__builtin_ctz(left)];
    uint32_t same = 0;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      same |= (uint32_t)(size[lane] == bytes) << lane;
    same &= left;
    left &= ~same;
    bf_near_access whole = {at->space, BF_OP_LD, bytes, bytes, false};
    if (bytes == detail->bytes
            ? !bf_near_reach(warp, op, at, &whole, same, pointer)
            : bytes && !bf_emu_reach(warp, op, at->space, BF_OP_LD, bytes, detail->bytes, bytes,
                                     false, same, address, pointer))
      return false;
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    from[lane] = pointer[lane];
  return true;
}

/* Finds where the copies go, and tells observers where they come from. */
static bool reach_places(bf_emu_warp *warp, const bf_emu_op *op, uint32_t lanes,
                         const uint64_t *from, uint8_t **to) {
  const copy_detail *detail = op->detail;
  bf_near_access what = {detail->to.space, detail->kind, detail->bytes, detail->bytes, true};
  warp->beside = from;
  warp->copies_cached = detail->is_cached;
  bool is_found = bf_near_reach(warp, op, &detail->to, &what, lanes, to);
  warp->beside = NULL;
  return is_found;
}

/* cp.async: notes the copies. Where there is no room they are done at once, behind those before. */
static const bf_emu_op *run_copy(bf_emu_warp *warp, const bf_emu_op *op) {
  const copy_detail *detail = op->detail;
  uint64_t from[BF_EMU_LANES];
  uint32_t lanes = BF_MASK();
  if (!lanes)
    return op + 1;
  struct bf_emu_async *list = list_with_room(warp);
  warp_copy at_once, *now = list ? &list->copy[list->end] : &at_once;
  now->lanes = lanes;
  now->bytes = detail->bytes;
  read_sizes(warp, detail, now->source_bytes);
  if (!reach_sources(warp, op, lanes, now->source_bytes, from, now->from) ||
      !reach_places(warp, op, lanes, from, now->to))
    return NULL;
  if (list) {
    memcpy(now->group, list->group, sizeof now->group);
    list->end++;
  } else {
    finish_all(warp, lanes);
    note_done(warp, now, lanes);
    do_copies(now, lanes);
  }
  return op + 1;
}

/* cp.async.commit_group. Without a list nothing was ever copied. */
static const bf_emu_op *run_commit(bf_emu_warp *warp, const bf_emu_op *op) {
  struct bf_emu_async *list = list_of(warp);
  uint32_t lanes = BF_MASK();
  for (unsigned lane = 0; list && lane < BF_EMU_LANES; lane++)
    list->group[lane] += lanes >> lane & 1;
  return op + 1;
}

/* cp.async.wait_group: all but the last `immediate` groups. */
static const bf_emu_op *run_wait(bf_emu_warp *warp, const bf_emu_op *op) {
  const struct bf_emu_async *list = list_of(warp);
  uint32_t before[BF_EMU_LANES] = {0}, but = (uint32_t)op->immediate;
  for (unsigned lane = 0; list && lane < BF_EMU_LANES; lane++)
    before[lane] = list->group[lane] > but ? list->group[lane] - but : 0;
  finish(warp, BF_MASK(), before);
  return op + 1;
}

/* cp.async.wait_all. */
static const bf_emu_op *run_wait_all(bf_emu_warp *warp, const bf_emu_op *op) {
  finish_all(warp, BF_MASK());
  return op + 1;
}

/* ---- Barrier objects ---- */

enum barrier_kind {
  INIT,
  INVALIDATE,
  ARRIVE,
  DROP,     /* arrive_drop */
  EXPECT,   /* expect_tx */
  COMPLETE, /* complete_tx */
  TEST,     /* test_wait and try_wait */
  ARRIVE_AFTER_COPIES,
};

/* What an operation on an mbarrier needs beside a lane's address. */
typedef struct barrier_detail {
  enum barrier_kind kind;
  bf_emu_address address;
  uint32_t count;        /* place: arrivals, or transactions of EXPECT, COMPLETE */
  uint32_t transactions; /* place: arrive.expect_tx */
  uint32_t wanted;       /* place: TEST: state, or parity */
  uint32_t d;            /* state or predicate */
  bool by_parity;
  bool counted; /* ARRIVE_AFTER_COPIES: the arrival was counted on (.noinc) */
} barrier_detail;

/* The block of the cluster whose shared memory a pointer leads into. */
static bf_emu_block *owner_of(const bf_emu_warp *warp, const uint8_t *pointer) {
  const bf_emu_cluster *cluster = warp->block->cluster;
  for (unsigned i = 0; cluster && i < cluster->count; i++) {
    bf_emu_block *block = cluster->block[i];
    if ((uintptr_t)pointer - (uintptr_t)block->shared < block->shared_bytes)
      return block;
  }
  return warp->block;
}

/* expect_tx: NULL, or what is wrong. */
static const char *announce(bf_emu_phase *barrier, uint64_t bytes) {
  barrier->transactions += (int64_t)bytes;
  return barrier->transactions > (int64_t)BF_EMU_MOST_COUNT
             ? "expect_tx for over 2^20 - 1 bytes in a phase, the most that an mbarrier counts"
             : NULL;
}

/* What arrive and the like do to the barrier of one lane, which is in the shared memory of owner;
 * NULL, or what is wrong. */
static const char *change(const bf_emu_warp *warp, const barrier_detail *detail, unsigned lane,
                          bf_emu_block *owner, bf_emu_phase *barrier) {
  uint64_t count = BF_LANES(const uint32_t, detail->count)[lane];
  uint64_t added = BF_LANES(const uint32_t, detail->transactions)[lane];
  switch (detail->kind) {
  case INIT:
    if (!count || count > BF_EMU_MOST_COUNT)
      return "mbarrier initialised with a count of 0 or above 2^20 - 1";
    *barrier = (bf_emu_phase){.pending = count, .expected = count};
    return NULL;
  case INVALIDATE:
    *barrier = (bf_emu_phase){0};
    return NULL;
  case EXPECT:
    return announce(barrier, count);
  case COMPLETE:
    barrier->transactions -= (int64_t)count;
    bf_emu_phase_complete(owner, barrier);
    return NULL;
  case ARRIVE_AFTER_COPIES:
    if (!detail->counted)
      return NULL;
    count = 1;
    break;
  case DROP:
  case ARRIVE:
  case TEST:
    break;
  }
  if (barrier->pending < count)
    return barrier->expected ? "more arrivals at an mbarrier than it expects"
                             : "an arrival at an mbarrier that nobody has initialised";
  const char *wrong = announce(barrier, added);
  if (wrong)
    return wrong;
  barrier->pending -= count;
  if (detail->kind == DROP)
    barrier->expected -= count < barrier->expected ? count : barrier->expected;
  bf_emu_phase_complete(owner, barrier);
  return NULL;
}

/* The word of a lane's barrier; NULL: the launch has ended with a fault. */
static uint8_t *reach_barrier(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                              uint64_t address) {
  const barrier_detail *detail = op->detail;
  if (detail->address.space == BF_PTX_SPACE_SHARED)
    address += BF_EMU_SHARED_WINDOW;
  if (address % 8) {
    bf_emu_fail_access(warp, op, BF_PTX_SPACE_SHARED, lane, address, 8, true, BF_EMU_MISALIGNED);
    return NULL;
  }
  return bf_emu_reach_one(warp, op, lane, address, 8, true);
}

/* Whether this is an arrival in a block that has ended, which nobody can see. A GPU takes it for an
 * error, if the block ends before; which of two blocks is first is a matter of time there, and
 * programs rely on the last arrivals of a pipeline to be in time. Whoever looks for races is told.
 */
static bool is_for_nobody(const bf_emu_warp *warp, const barrier_detail *detail, uint64_t address) {
  return detail->kind == ARRIVE && !warp->worker->flight->races &&
         bf_emu_cluster_has_left(warp, address);
}

/* Who looks for races learns what has happened to the mbarrier at offset of owner; false: the
 * launch has ended. */
static bool note_change(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                        uint32_t offset, bool has_ended) {
  const barrier_detail *detail = op->detail;
  bool expects = detail->kind == EXPECT || BF_LANES(const uint32_t, detail->transactions)[lane];
  if (expects && !bf_passed_expect(warp, op, lane, owner, offset))
    return false;
  if (detail->kind == INIT)
    bf_passed_init(owner, offset);
  else if (has_ended)
    bf_passed_ended(owner, offset);
  if (detail->kind == ARRIVE)
    bf_passed_arrive(warp, lane);
  return true;
}

/* Operations that change barriers, lane after lane. */
static const bf_emu_op *run_change(bf_emu_warp *warp, const bf_emu_op *op) {
  const barrier_detail *detail = op->detail;
  const bf_emu_address *at = &detail->address;
  uint64_t address[BF_EMU_LANES];
  uint32_t lanes = BF_MASK();
  bf_emu_addresses(warp, at->place, at->register_bytes, at->offset, address);
  if (detail->kind == ARRIVE_AFTER_COPIES)
    finish_all(warp, lanes);
  BF_EACH_LANE(lanes, lane) {
    if (is_for_nobody(warp, detail, address[lane]))
      continue;
    uint8_t *pointer = reach_barrier(warp, op, lane, address[lane]);
    if (!pointer)
      return NULL;
    uint64_t word;
    memcpy(&word, pointer, sizeof word);
    bf_emu_phase barrier = bf_emu_phase_unpack(word);
    bf_emu_block *owner = owner_of(warp, pointer);
    bf_race_release(warp, owner);
    if ((detail->kind == INIT || detail->kind == INVALIDATE) && warp->worker->flight->races &&
        bf_emu_jobs_come(owner, (uint32_t)(pointer - owner->shared)))
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                         "mbarrier %s while copies are on their way to it",
                         detail->kind == INIT ? "initialised" : "invalidated");
    const char *wrong = change(warp, detail, lane, owner, &barrier);
    if (wrong)
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane, "%s", wrong);
    if (warp->worker->flight->races &&
        !note_change(warp, op, lane, owner, (uint32_t)(pointer - owner->shared),
                     barrier.parity != word >> 63))
      return NULL;
    BF_LANES(uint64_t, detail->d)[lane] = word;
    word = bf_emu_phase_pack(&barrier);
    memcpy(pointer, &word, sizeof word);
  }
  return op + 1;
}

/* Whether the phase that a lane waits for is over; *pointer is that of its mbarrier. False also
 * where the launch has ended: then *pointer is NULL. */
static bool is_over(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                    uint8_t **pointer) {
  const barrier_detail *detail = op->detail;
  *pointer = reach_barrier(warp, op, lane, address);
  if (!*pointer)
    return false;
  uint64_t word;
  memcpy(&word, *pointer, sizeof word);
  uint64_t parity = detail->by_parity ? BF_LANES(const uint32_t, detail->wanted)[lane] & 1
                                      : BF_LANES(const uint64_t, detail->wanted)[lane] >> 63;
  return word >> 63 != parity;
}

/* test_wait, try_wait: whether the phase of the state, or of that parity, is over. If not, what is
 * on its way to the mbarrier arrives now. */
static const bf_emu_op *run_test(bf_emu_warp *warp, const bf_emu_op *op) {
  const barrier_detail *detail = op->detail;
  const bf_emu_address *at = &detail->address;
  uint64_t address[BF_EMU_LANES];
  uint32_t lanes = BF_MASK(), over = 0;
  bf_emu_addresses(warp, at->place, at->register_bytes, at->offset, address);
  BF_EACH_LANE(lanes, lane) {
    uint8_t *pointer;
    bool ends = is_over(warp, op, lane, address[lane], &pointer);
    uint32_t offset = (uint32_t)(pointer - warp->block->shared);
    bf_proxy_tests(warp, lane);
    if (pointer && !ends && bf_emu_jobs_arrive(warp->block, offset))
      ends = is_over(warp, op, lane, address[lane], &pointer);
    if (!pointer)
      return NULL;
    if (offset >= warp->block->shared_bytes)
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                         "test of an mbarrier of another block");
    uint32_t missed = warp->block->jobs ? bf_emu_jobs_missed(warp->block, offset) : 0;
    if (missed)
      return bf_emu_fail(warp, op, BF_EMU_BAD_BARRIER, lane,
                         "the phase ended while %u bytes were on their way: no expect_tx has "
                         "announced them",
                         missed);
    if (ends && warp->worker->flight->races && detail->by_parity) {
      uint64_t word;
      memcpy(&word, pointer, sizeof word);
      bf_emu_phase phase = bf_emu_phase_unpack(word);
      if (!bf_passed_wait(warp, op, lane, offset, &phase))
        return NULL;
    }
    over |= (uint32_t)ends << lane;
    if (!ends)
      warp->test_address = offset;
  }
  if (over)
    bf_proxy_hears(warp);
  bf_emu_set_predicate(warp, detail->d, lanes, over);
  warp->test = lanes & ~over ? op : NULL;
  if (lanes & ~over) { /* others should run before this is tried again */
    warp->polled |= BF_EMU_POLLS_BLOCK;
    warp->spins = BF_EMU_MOST_SPINS;
  }
  return op + 1;
}

/* mbarrier.pending_count: of a state. */
static const bf_emu_op *run_pending(bf_emu_warp *warp, const bf_emu_op *op) {
  uint32_t mask = BF_MASK(), *d = BF_LANES(uint32_t, op->d);
  const uint64_t *a = BF_LANES(const uint64_t, op->a);
  BF_SET_LANES(mask, d, (uint32_t)(a[lane] & BF_EMU_MOST_COUNT));
  return op + 1;
}

/* ---- Selection ---- */

static bool has_prefix(const bf_ptx_instruction *instruction, const char *prefix) {
  for (unsigned i = 0; i < instruction->modifiers; i++)
    if (!strncmp(instruction->modifier[i], prefix, strlen(prefix)))
      return true;
  return false;
}

/* cp.async [to], [from], bytes{, source bytes or predicate}{, cache policy} */
static bool select_copy(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  unsigned operands = instruction->operands;
  if (bf_ptx_has(instruction, "L2::cache_hint"))
    operands--;
  bf_op kind;
  unsigned width_bytes;
  if (operands > 4 || !bf_ptx_access_kind(instruction, true, &kind, &width_bytes))
    return bf_emu_refuse(decoder, "cp.async of this form");
  copy_detail *detail = bf_emu_detail(decoder, sizeof *detail);
  if (!detail)
    return true;
  detail->kind = kind;
  detail->bytes = width_bytes;
  detail->is_cached = bf_ptx_has(instruction, "ca");
  detail->ignored = BF_EMU_FALSE;
  detail->to = bf_emu_bind_address(decoder, instruction, &operand[0], BF_PTX_SPACE_SHARED);
  detail->from = bf_emu_bind_address(decoder, instruction, &operand[1], BF_PTX_SPACE_GLOBAL);
  if (operands == 4) {
    unsigned bytes = bf_emu_register_bytes(&operand[3], BF_PTX_U32);
    if (bytes == 0) {
      detail->ignored = bf_emu_predicate(decoder, &operand[3], &detail->ignored_flip);
    } else if (bytes == 4) {
      detail->has_source_bytes = true;
      detail->source_bytes = bf_emu_source(decoder, &operand[3], BF_PTX_U32);
    } else {
      return bf_emu_refuse(decoder, "cp.async with a source size that does not have 32 bits");
    }
  }
  op->detail = detail;
  op->run = run_copy;
  return true;
}

/* A barrier_detail with the address of operand; NULL: out of memory. */
static barrier_detail *new_barrier(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                                   enum barrier_kind kind, const bf_ptx_operand *operand) {
  barrier_detail *detail = bf_emu_detail(decoder, sizeof *detail);
  if (!detail)
    return NULL;
  detail->kind = kind;
  detail->address = bf_emu_bind_address(decoder, instruction, operand,
                                        bf_ptx_address_space(instruction, operand));
  detail->count = bf_emu_constant(decoder, 1, 4);
  detail->transactions = bf_emu_constant(decoder, 0, 4);
  detail->d = BF_EMU_NOWHERE;
  return detail;
}

static bool select_async(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                         bf_emu_op *op) {
  if (!bf_ptx_has(instruction, "async") || has_prefix(instruction, "bulk") ||
      bf_ptx_has(instruction, "reduce"))
    return false;
  if (bf_ptx_has(instruction, "mbarrier")) {
    barrier_detail *detail =
        new_barrier(decoder, instruction, ARRIVE_AFTER_COPIES, &instruction->operand[0]);
    if (detail)
      detail->counted = bf_ptx_has(instruction, "noinc");
    op->detail = detail;
    op->run = run_change;
    return true;
  }
  if (bf_ptx_has(instruction, "commit_group")) {
    op->run = run_commit;
  } else if (bf_ptx_has(instruction, "wait_all")) {
    op->run = run_wait_all;
  } else if (bf_ptx_has(instruction, "wait_group")) {
    if (instruction->operands != 1 || instruction->operand[0].kind != BF_PTX_INTEGER)
      return bf_emu_refuse(decoder, "cp.async.wait_group of something that is no number");
    op->immediate = instruction->operand[0].bits;
    op->run = run_wait;
  } else {
    return select_copy(decoder, instruction, op);
  }
  return true;
}

/* Reads operand as a 32-bit value into *place. */
static bool bind_word(bf_emu_decoder *decoder, const bf_ptx_operand *operand, uint32_t *place) {
  if (bf_emu_register_bytes(operand, BF_PTX_B32) != 4)
    return false;
  *place = bf_emu_source(decoder, operand, BF_PTX_B32);
  return true;
}

/* init, inval, expect_tx, complete_tx: [address]{, count}. */
static bool select_simple(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          enum barrier_kind kind, bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  barrier_detail *detail = new_barrier(decoder, instruction, kind, &operand[0]);
  if (!detail)
    return true;
  if (kind != INVALIDATE &&
      (instruction->operands != 2 || !bind_word(decoder, &operand[1], &detail->count)))
    return bf_emu_refuse(decoder, "mbarrier of this form");
  op->detail = detail;
  op->run = run_change;
  return true;
}

/* arrive, arrive_drop: {state,} [address]{, count or transactions}. */
static bool select_arrive(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                          bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  unsigned address = operand[0].kind == BF_PTX_ADDRESS ? 0 : 1;
  bool drops = bf_ptx_has(instruction, "arrive_drop");
  if (address >= instruction->operands || instruction->operands > address + 2)
    return bf_emu_refuse(decoder, "mbarrier.arrive of this form");
  barrier_detail *detail =
      new_barrier(decoder, instruction, drops ? DROP : ARRIVE, &operand[address]);
  if (!detail)
    return true;
  if (address == 1 && operand[0].kind != BF_PTX_SINK) {
    if (bf_emu_register_bytes(&operand[0], BF_PTX_B64) != 8)
      return bf_emu_refuse(decoder, "mbarrier.arrive with a state that does not have 64 bits");
    detail->d = bf_emu_destination(decoder, &operand[0]);
  }
  bool expects = bf_ptx_has(instruction, "expect_tx");
  if (instruction->operands == address + 2 &&
      !bind_word(decoder, &operand[address + 1], expects ? &detail->transactions : &detail->count))
    return bf_emu_refuse(decoder, "mbarrier.arrive with a count that does not have 32 bits");
  op->detail = detail;
  op->run = run_change;
  return true;
}

/* test_wait, try_wait: predicate, [address], state or parity{, time}. */
static bool select_test(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                        bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  if (instruction->operands < 3 || operand[1].kind != BF_PTX_ADDRESS)
    return bf_emu_refuse(decoder, "mbarrier.test_wait of this form");
  barrier_detail *detail = new_barrier(decoder, instruction, TEST, &operand[1]);
  if (!detail)
    return true;
  detail->by_parity = bf_ptx_has(instruction, "parity");
  bf_ptx_type type = detail->by_parity ? BF_PTX_B32 : BF_PTX_B64;
  if (bf_emu_register_bytes(&operand[2], type) != bf_ptx_type_bytes(type))
    return bf_emu_refuse(decoder, "mbarrier.test_wait with a state of another size");
  detail->wanted = bf_emu_source(decoder, &operand[2], type);
  detail->d = bf_emu_destination(decoder, &operand[0]);
  op->detail = detail;
  op->run = run_test;
  return true;
}

static bool select_barrier(bf_emu_decoder *decoder, const bf_ptx_instruction *instruction,
                           bf_emu_op *op) {
  const bf_ptx_operand *operand = instruction->operand;
  if (bf_ptx_has(instruction, "pending_count")) {
    op->d = bf_emu_destination(decoder, &operand[0]);
    op->a = bf_emu_source(decoder, &operand[1], BF_PTX_B64);
    op->run = run_pending;
    return true;
  }
  if (bf_ptx_has(instruction, "init"))
    return select_simple(decoder, instruction, INIT, op);
  if (bf_ptx_has(instruction, "inval"))
    return select_simple(decoder, instruction, INVALIDATE, op);
  if (bf_ptx_has(instruction, "arrive") || bf_ptx_has(instruction, "arrive_drop"))
    return select_arrive(decoder, instruction, op);
  if (bf_ptx_has(instruction, "test_wait") || bf_ptx_has(instruction, "try_wait"))
    return select_test(decoder, instruction, op);
  if (bf_ptx_has(instruction, "expect_tx"))
    return select_simple(decoder, instruction, EXPECT, op);
  if (bf_ptx_has(instruction, "complete_tx"))
    return select_simple(decoder, instruction, COMPLETE, op);
  return bf_emu_refuse(decoder, "mbarrier of this form");
}

bool BF_EMU_NAME(bf_emu_select_async)(bf_emu_decoder *decoder,
                                      const bf_ptx_instruction *instruction, bf_emu_op *op) {
  if (instruction->opcode == BF_PTX_OP_CP)
    return select_async(decoder, instruction, op);
  if (instruction->opcode == BF_PTX_OP_MBARRIER)
    return select_barrier(decoder, instruction, op);
  return false;
}
