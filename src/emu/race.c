/* Races: two threads at the same byte, one of them writing, with nothing that orders them.
 *
 * For every four bytes the last write and the last two reads, of different threads, are known: who,
 * where in the code, and when. Two accesses of which one writes race unless
 *   - both are strong: atomic, volatile, relaxed, acquire or release;
 *   - they are of one thread;
 *   - they are of one block, and a barrier of it, of whatever kind, or a fence of it came between;
 *   - they are of one warp, and its lanes have met between them (.sync);
 *   - they are of two blocks, in global memory or in shared memory of one of their cluster; that of
 *     the first made a fence of the device, or released, after it,
 *     and that of the second made a strong access or a fence after it;
 *   - they are of two launches of which the program waited for the first, or ordered the second
 *     behind it (who launches says so);
 *   - both write, and write what is there already.
 * Copies that were not waited for race with every access. So what is reported is not ordered; some
 * that is not ordered is not reported: fences count for all threads of a block, and of reads only
 * two are known. Bytes of one word share its records.
 *
 * Where all lanes of a warp access words in a row, one after the other or some words apart, one
 * record stands for those of a line of 32 words; another kind of access, or more rows than a line
 * has room for, spreads them to the words.
 *
 * Lines of global memory whose words are accessed otherwise know two accesses of each word in eight
 * bytes (race_slot.h), and only where a word has more do they spread.
 *
 * What is known of global memory lies in memory of its own for each allocation, which the host
 * gives when it is touched, up to a bound; what exceeds it is not looked at. It outlives launches,
 * so that launches can race with each other. */
#include "emu/cluster.h"
#include "emu/deferred.h"
#include "emu/device.h"
#include "emu/proxy.h"
#include "emu/race_check.h"
#include "emu/visit.h"

#include <stdlib.h>

enum { WEAK, IS_STRONG, IS_RELEASE };

/* ---- A launch ---- */

/* How strong the accesses of an instruction are. */
static uint8_t strength_of(const bf_ptx_instruction *instruction) {
  if (bf_ptx_has(instruction, "release") || bf_ptx_has(instruction, "acq_rel"))
    return IS_RELEASE;
  bool is_strong = bf_ptx_has(instruction, "volatile") || bf_ptx_has(instruction, "relaxed") ||
                   bf_ptx_has(instruction, "acquire") || bf_ptx_has(instruction, "mmio") ||
                   instruction->opcode == BF_PTX_OP_ATOM || instruction->opcode == BF_PTX_OP_RED;
  return is_strong ? IS_STRONG : WEAK;
}

void bf_race_close(bf_emu_flight *flight) {
  struct bf_emu_races *races = flight->races;
  if (!races)
    return;
  if (races->memory)
    bf_race_end(races);
  free(races->released);
  free(races->acquired);
  free(races->strength);
  free(races->makers);
  free(races);
  flight->races = NULL;
}

int bf_race_open(bf_emu_flight *flight, bf_diagnostic *diagnostic) {
  bf_emu *emu = flight->emu;
  const bf_emu_launch *launch = flight->launch;
  const bf_emu_kernel *kernel = flight->kernel;
  uint64_t blocks = flight->blocks < BF_RACE_MOST_BLOCKS ? flight->blocks : BF_RACE_MOST_BLOCKS;
  struct bf_emu_races *races = flight->races = calloc(1, sizeof *races);
  struct bf_race_memory *memory = races ? races->memory = bf_race_begin(emu, launch) : NULL;
  if (!memory)
    return bf_no_memory(diagnostic);
  races->released = calloc(blocks, sizeof *races->released);
  races->acquired = calloc(blocks, sizeof *races->acquired);
  races->strength = calloc(kernel->site_count + 1, 1);
  races->makers = calloc(flight->workers, sizeof *races->makers);
  races->number = launch->number ? launch->number : ++memory->next_number;
  memory->next_number = races->number;
  if (!races->released || !races->acquired || !races->strength || !races->makers ||
      !bf_race_renew(emu, races) || !bf_race_note_launch(races, launch))
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < kernel->site_count; i++)
    races->strength[i] = strength_of(kernel->sites[i].instruction);
  for (size_t i = 0; launch->overlaps && i < memory->launches; i++)
    if (memory->launch[i].number == launch->overlaps && memory->launch[i].lets_go)
      races->overlaps = launch->overlaps;
  return BF_OK;
}

void bf_race_lets_go(bf_emu_flight *flight) {
  if (flight->races)
    __atomic_store_n(&flight->races->lets_go, true, __ATOMIC_RELAXED);
}

void bf_race_fence(bf_emu_block *block, bool is_of_device) {
  struct bf_emu_races *races = block->worker->flight->races;
  if (!races)
    return;
  block->fences++;
  if (!is_of_device || block->index >= BF_RACE_MOST_BLOCKS)
    return;
  uint32_t now = __atomic_add_fetch(&races->memory->clock, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&races->released[block->index], now, __ATOMIC_RELAXED);
  __atomic_store_n(&races->last_release, now, __ATOMIC_RELAXED);
  __atomic_store_n(&races->acquired[block->index], now, __ATOMIC_RELAXED);
}

void bf_race_release(bf_emu_warp *warp, bf_emu_block *to) {
  if (to == warp->block)
    return;
  bf_race_fence(warp->block, true);
  bf_race_fence(to, true);
  bf_visit_heard(to, warp->block->rank);
}
/* ---- Order ---- */

/* Whether an access of a launch that runs beside this one, or did, is ordered before this one as
 * those of other blocks are; any block's fence will do. */
static bool has_heard_beside(const bf_race_check *what, const bf_race_record *old) {
  struct bf_race_memory *memory = what->races->memory;
  uint64_t block = what->warp->block->index;
  uint32_t released = 0;
  pthread_mutex_lock(&memory->lock);
  for (size_t i = 0; i < memory->launches; i++) {
    const bf_race_launch *launch = &memory->launch[i];
    if (launch->number != old->launch)
      continue;
    if (launch->races)
      released = __atomic_load_n(&launch->races->last_release, __ATOMIC_RELAXED);
    else if (launch->closed > what->races->opened)
      released = launch->released;
  }
  pthread_mutex_unlock(&memory->lock);
  return released > old->time &&
         (block >= BF_RACE_MOST_BLOCKS ||
          __atomic_load_n(&what->races->acquired[block], __ATOMIC_RELAXED) > old->time);
}

/* Whether an earlier access, of a launch of its own, may overlap with this one in time. */
bool bf_race_may_overlap(const bf_race_check *what, const bf_race_record *old) {
  const bf_emu_launch *launch = what->warp->worker->flight->launch;
  if (old->launch == what->races->overlaps)
    return !what->warp->block->has_waited;
  uint32_t *followed = &what->races->followed;
  if (!launch->follows || old->launch <= launch->settled ||
      old->launch == __atomic_load_n(followed, __ATOMIC_RELAXED))
    return false;
  if (!launch->follows(launch->follows_context, old->launch))
    return !has_heard_beside(what, old);
  __atomic_store_n(followed, old->launch, __ATOMIC_RELAXED);
  return false;
}

/* Whether fences put an access of another block before this one. */
bool bf_race_is_fenced(const struct bf_emu_races *races, uint64_t first, uint32_t time,
                       uint64_t second) {
  if (first >= BF_RACE_MOST_BLOCKS || second >= BF_RACE_MOST_BLOCKS)
    return true;
  return __atomic_load_n(&races->released[first], __ATOMIC_RELAXED) > time &&
         __atomic_load_n(&races->acquired[second], __ATOMIC_RELAXED) > time;
}

bool bf_race_is_ordered(const bf_emu_block *first, uint32_t time, const bf_emu_block *second) {
  return bf_race_is_fenced(first->worker->flight->races, first->index, time, second->index);
}

bool bf_race_has_heard(const bf_emu_block *block, const bf_emu_block *of) {
  return bf_race_is_ordered(of, 0, block);
}

/* Whether an earlier access to shared memory, of another block than this one, was of its cluster:
 * what is known of memory outlives the block that it belonged to. */
bool bf_race_is_of_cluster(const bf_race_check *what, const bf_race_record *old) {
  const bf_emu_cluster *cluster = what->warp->block->cluster;
  for (unsigned i = 0; what->is_clustered && i < cluster->count; i++)
    if ((uint32_t)cluster->block[i]->index == old->block)
      return true;
  return false;
}

/* ---- Checking ---- */

/* Whether an access to the block's own shared memory may race with an earlier one to the same word:
 * bf_race_is_unordered for the usual cases, which are that nobody was there since the last barrier,
 * or the same thread. */
static inline bool may_race(const bf_race_check *what, const bf_race_record *old, uint16_t who) {
  const bf_race_record *now = &what->now;
  bool is_recent =
      old->launch == now->launch &&
      (old->block == now->block ? old->epoch == now->epoch && (old->who ^ who) & BF_RACE_THREAD
                                : what->is_clustered);
  return (old->who & BF_RACE_COPY) ||
         (is_recent && (old->who & who & 0xf000) && !(old->who & who & BF_RACE_STRONG));
}

/* Checks shared memory in up to a word for each lane, as bf_race_check_lane does where all is in
 * order; returns the lanes that are left, from the first on that may race, of which nothing is
 * noted. */
static uint32_t pass_words(const bf_race_check *what, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = what->warp->block;
  const bf_race_record *now = &what->now;
  if (what->width_bytes > BF_RACE_WORD_BYTES || now->who & BF_RACE_COPY)
    return mask;
  BF_EACH_LANE(mask, lane) {
    bf_race_place at = bf_race_place_in(block, offset[lane]);
    uint16_t who =
        bf_race_who(what, lane, what->width_bytes, (unsigned)(offset[lane] % BF_RACE_WORD_BYTES));
    const bf_race_record *last = &at.word->read[0];
    if (!at.line->is_in_words || at.body->words.block != now->block ||
        at.body->words.epoch != now->epoch)
      bf_race_spread(what, &at);
    if (may_race(what, &at.word->write, who) ||
        (what->is_write && (may_race(what, last, who) || may_race(what, last + 1, who))))
      return mask & UINT32_MAX << lane;
    if (what->is_write)
      bf_race_note(what, &at.word->write, who);
    else
      bf_race_note_reader(what, at.word, who);
  }
  return 0;
}

static bool check_shared(const bf_race_check *what, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = what->warp->block;
  unsigned step = bf_race_row_step(what, mask, offset);
  if (step && offset[BF_EMU_LANES - 1] + what->width_bytes <= block->shared_bytes) {
    bf_race_place at = bf_race_place_in(block, offset[0]);
    mask = bf_race_pass_row(what, &at, offset[0], step);
  }
  if (!mask)
    return true;
  BF_EACH_LANE(pass_words(what, mask & ~bf_race_read_again(what, mask, offset), offset), lane) {
    bf_race_place at = bf_race_place_in(block, offset[lane]);
    if (!bf_race_check_lane(what, &at, lane, offset[lane], block->shared + offset[lane]))
      return false;
  }
  return true;
}

/* Whether each lane's address is at least some bytes above that of the lane before it. */
static bool do_grow(uint32_t mask, unsigned width_bytes, const uint64_t *address) {
  uint64_t least = 0, wrong = 0;
  bool grows = true;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
      wrong |= address[lane] - address[lane - 1] - width_bytes;
    return wrong >> 63 == 0;
  }
  BF_EACH_LANE(mask, lane) {
    grows &= address[lane] >= least;
    least = address[lane] + width_bytes;
  }
  return grows;
}

/* Two lanes of one store at the same bytes; false: the launch has ended. Lanes whose addresses grow
 * by their width cannot meet. */
static bool check_lanes(const bf_race_check *what, uint32_t mask, const uint64_t *address) {
  if (do_grow(mask, what->width_bytes, address))
    return true;
  const uint8_t *value = bf_race_value(what);
  for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
    for (unsigned other = 0; mask >> lane & 1 && other < lane; other++) {
      if (!(mask >> other & 1) || address[lane] - address[other] + what->width_bytes - 1 >=
                                      2 * (uint64_t)what->width_bytes - 1)
        continue;
      if (value && address[lane] == address[other] &&
          memcmp(value + 16 * lane, value + 16 * other, what->width_bytes) == 0)
        continue;
      bf_race_record writer = what->now;
      writer.who |= (uint16_t)((what->warp->index * BF_EMU_LANES + other) & BF_RACE_THREAD);
      return bf_race_report(what, &writer, true, lane, address[lane]);
    }
  return true;
}

/* A strong access may see what others did until it is made, which is after it is checked: the time
 * up to which a block sees is noted once more at its next access. */
static void acquire(struct bf_emu_races *races, bf_emu_block *block, bool is_strong, uint32_t now) {
  if ((is_strong || block->has_acquired) && block->index < BF_RACE_MOST_BLOCKS)
    __atomic_store_n(&races->acquired[block->index], now, __ATOMIC_RELAXED);
  block->has_acquired = is_strong;
}

/* An access of a warp, and how strong it is; what it writes goes to written. */
static bf_race_check describe(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind,
                              unsigned width_bytes, bool is_write, bf_race_staged *written) {
  const bf_emu_kernel *kernel = warp->worker->flight->kernel;
  struct bf_emu_races *races = warp->worker->flight->races;
  bf_emu_block *block = warp->block;
  unsigned strength = op->site < kernel->site_count ? races->strength[op->site] : WEAK;
  bool is_copy = op->site < kernel->site_count && is_write &&
                 kernel->sites[op->site].instruction->opcode == BF_PTX_OP_CP;
  written->is_known = false;
  bf_race_check what = {.warp = warp,
                        .op = op,
                        .staged = written,
                        .races = races,
                        .is_write = is_write,
                        .is_atomic = bf_op_side(kind) == BF_SIDE_ATOMIC,
                        .is_clustered = block->cluster && block->cluster->count > 1,
                        .owner = block,
                        .width_bytes = width_bytes};
  if (strength == IS_RELEASE)
    bf_race_fence(warp->block, true);
  what.now = (bf_race_record){races->number,
                              (uint32_t)block->index,
                              (uint32_t)(block->epoch + block->fences),
                              warp->order,
                              __atomic_load_n(&races->memory->clock, __ATOMIC_RELAXED),
                              op->site < UINT16_MAX ? (uint16_t)op->site : UINT16_MAX,
                              (uint16_t)((strength != WEAK || what.is_atomic ? BF_RACE_STRONG : 0) |
                                         (is_copy ? BF_RACE_COPY : 0))};
  acquire(races, block, strength != WEAK || what.is_atomic, what.now.time);
  if (strength != WEAK || what.is_atomic)
    bf_proxy_hears(warp);
  return what;
}

bool bf_race_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                    bool is_write, uint32_t shared, uint32_t global, const uint64_t *inside) {
  bf_emu_block *block = warp->block;
  bf_race_staged written;
  if (shared)
    bf_race_reads_settle(block);
  bf_race_check what = describe(warp, op, kind, width_bytes, is_write, &written);
  if (shared && is_write)
    block->written = bf_race_stretch(block);
  written.mask = shared | global;
  bool checks_lanes = is_write && !(what.now.who & BF_RACE_STRONG);
  if (global && ((checks_lanes && !check_lanes(&what, global, inside)) ||
                 !bf_race_check_global(&what, global, inside)))
    return false;
  what.is_shared = true;
  if (shared && checks_lanes && !check_lanes(&what, shared, inside))
    return false;
  return !shared ||
         (check_shared(&what, shared, inside) &&
          (!block->proxy || bf_proxy_access(warp, op, width_bytes, is_write, shared, inside)));
}

void bf_race_note_read(bf_emu_warp *warp, unsigned site, unsigned width_bytes, uint32_t order,
                       uint32_t time, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = warp->block;
  struct bf_emu_races *races = warp->worker->flight->races;
  bf_race_check what = {.warp = warp,
                        .races = races,
                        .is_shared = true,
                        .owner = block,
                        .width_bytes = width_bytes,
                        .now = {races->number, (uint32_t)block->index,
                                (uint32_t)(block->epoch + block->fences), order, time,
                                site < UINT16_MAX ? (uint16_t)site : UINT16_MAX, 0}};
  check_shared(&what, mask, offset);
}

bool bf_race_has_left_out(const bf_emu_flight *flight) {
  return flight->races && __atomic_load_n(&flight->races->memory->is_full, __ATOMIC_RELAXED);
}

uint32_t bf_race_time(const bf_emu_flight *flight) {
  return __atomic_load_n(&flight->races->memory->clock, __ATOMIC_RELAXED);
}

bool bf_race_far(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                 bool is_write, uint32_t far, const uint64_t *address) {
  bf_race_staged written;
  bf_race_check what = describe(warp, op, kind, width_bytes, is_write, &written);
  written.mask = far;
  what.is_shared = true;
  if (is_write && !(what.now.who & BF_RACE_STRONG)) {
    what.owner = bf_emu_cluster_find(warp, address[__builtin_ctz(far)], &(uint64_t){0});
    if (!check_lanes(&what, far, address))
      return false;
  }
  BF_EACH_LANE(far, lane) {
    uint64_t offset;
    bf_emu_block *owner = bf_emu_cluster_find(warp, address[lane], &offset);
    if (!owner)
      continue;
    what.owner = owner;
    bf_race_place at = bf_race_place_in(owner, offset);
    if (!bf_visit_note(warp, op, lane, owner, address[lane], width_bytes, is_write) ||
        !bf_race_check_lane(&what, &at, lane, offset, owner->shared + offset))
      return false;
  }
  return true;
}

bool bf_race_sent(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                  uint64_t offset, unsigned bytes, bool is_atomic) {
  bf_race_staged written;
  if (!warp->worker->flight->races)
    return true;
  bf_race_reads_settle(owner);
  owner->written = bf_race_stretch(owner);
  bf_race_check what = describe(warp, op, is_atomic ? BF_OP_RED : BF_OP_ST, bytes, true, &written);
  written.is_known = true;
  written.value = NULL;
  what.is_shared = true;
  what.owner = owner;
  bf_race_place at = bf_race_place_in(owner, offset);
  return bf_race_check_lane(&what, &at, lane, offset, owner->shared + offset);
}

bool bf_race_overwritten(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                         uint64_t offset, uint64_t bytes) {
  bf_race_staged written;
  if (!warp->worker->flight->races)
    return true;
  bf_race_reads_settle(owner);
  bf_race_check what = describe(warp, op, BF_OP_ST, BF_RACE_WORD_BYTES, true, &written);
  what.now.who &= (uint16_t)~BF_RACE_COPY;
  what.is_shared = true;
  what.owner = owner;
  uint16_t who = bf_race_who(&what, lane, BF_RACE_WORD_BYTES, 0);
  for (uint64_t at = offset; at < offset + bytes; at += BF_RACE_WORD_BYTES) {
    bf_race_place in = bf_race_place_in(owner, at);
    bf_race_spread(&what, &in);
    const bf_race_record *known[] = {&in.word->write, &in.word->read[0], &in.word->read[1]};
    for (unsigned i = 0; i < 3; i++)
      if (bf_race_is_unordered(&what, known[i], who) &&
          !bf_race_report(&what, known[i], i == 0, lane, at))
        return false;
  }
  return true;
}

void bf_race_copied(bf_emu_warp *warp, unsigned lane, uint64_t offset, unsigned bytes) {
  const bf_emu_block *block = warp->block;
  if (offset >= block->shared_bytes || bytes > block->shared_bytes - offset)
    return;
  for (unsigned i = 0; i < bytes; i += BF_RACE_WORD_BYTES) {
    bf_race_record *write = &block->words[(offset + i) / BF_RACE_WORD_BYTES].write;
    if (!(write->who & BF_RACE_COPY) || write->block != (uint32_t)block->index ||
        ((write->who ^ (warp->index * BF_EMU_LANES + lane)) & BF_RACE_THREAD))
      continue;
    write->who &= (uint16_t)~BF_RACE_COPY;
    write->epoch = (uint32_t)(block->epoch + block->fences);
    write->order = warp->order;
  }
}
