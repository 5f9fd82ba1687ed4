/* What all multiprocessors have, whatever their pipeline: warps in slots, blocks that come and go,
 * executing an instruction and seeing what it touched, and loads in flight. */
#include "sim/sm.h"

#include "emu/event_count.h"
#include "sim/copies.h"
#include "sim/l1.h"

#include <stdlib.h>
#include <string.h>

/* ---- What an instruction touches ---- */

/* Counts what each part of a warp needs: in-order pipelines serve simd_width lanes at a time. total
 * is what all need together, which says it where the machine serves the same groups of lanes and
 * there are no conflicts. */
static void touch_parts(bf_sim_sm *sm, const bf_emu_event *event, uint32_t total) {
  unsigned width = (unsigned)sm->gpu->simd_width, parts = BF_EMU_LANES / width;
  uint32_t lanes = width < BF_EMU_LANES ? (1U << width) - 1 : UINT32_MAX;
  const bf_groups *groups = bf_groups_of(sm->gpu->machine, event->op, event->width_bytes);
  unsigned active = 0;
  for (unsigned i = 0; i < parts; i++)
    active += (event->mask >> i * width & lanes) != 0;
  bool is_plain = groups->contiguous == width && total == active;
  sm->count.shared_parts += active;
  for (unsigned i = 0; i < parts; i++) {
    uint32_t mask = event->mask & lanes << i * width;
    bf_count count = {.wavefronts_load = 1};
    if (mask == 0)
      continue;
    if (!is_plain && bf_counter_count_lanes(sm->counter, event->op, event->width_bytes, mask,
                                            event->shared_address, &count, NULL))
      count = (bf_count){.wavefronts_load = 1};
    sm->touched.part[i] += (uint16_t)bf_count_wavefronts(&count);
  }
}

static bool is_lock_rule(bf_rule rule) {
  return rule == BF_RULE_LOCK_LOOP || rule == BF_RULE_LOCK_LOOP_HALVES ||
         rule == BF_RULE_LOCK_TABLE;
}

void bf_sim_site_add(bf_sim_site *to, const bf_sim_site *from) {
  to->executions += from->executions;
  to->wavefronts += from->wavefronts;
  to->conflicts += from->conflicts;
  to->waited_cycles += from->waited_cycles;
  to->estimated |= from->estimated;
  if (from->worst > to->worst) {
    to->worst = from->worst;
    to->worst_access = from->worst_access;
  }
}

/* Keeps an access as the worst so far. */
static void keep_worst(bf_sim_site *site, const bf_emu_event *event, uint32_t wavefronts) {
  site->worst = wavefronts;
  site->worst_access = (bf_access){
      .op = event->op, .width_bytes = event->width_bytes, .mask = event->mask, .count = 1};
  memcpy(site->worst_access.address, event->shared_address,
         BF_EMU_LANES * sizeof *event->shared_address);
}

enum { LOCKED_WORDS = 4096 }; /* that are remembered; a power of two */

/* Lanes of loops with locks change a word one behind the other, whatever warp they are of: a loop
 * that finds its word changed goes round again. */
static void lock_words(bf_sim_sm *sm, const bf_emu_event *event) {
  if (!sm->locked && !(sm->locked = calloc(LOCKED_WORDS, sizeof *sm->locked))) {
    sm->failed = true;
    return;
  }
  for (uint32_t left = event->mask; left; left &= left - 1) {
    uint32_t address = event->shared_address[__builtin_ctz(left)];
    uint32_t place = (address / 4 + (uint32_t)event->block * 0x9e3779b1u) % LOCKED_WORDS;
    bf_sim_locked *word = &sm->locked[place];
    if (word->block != event->block || word->address != address || word->until < sm->now)
      *word = (bf_sim_locked){.block = event->block, .address = address, .until = sm->now};
    word->until += sm->gpu->lock_word_cycles;
    if (word->until > sm->touched.locked_until)
      sm->touched.locked_until = word->until;
  }
}

/* Adds one shared access to what was touched. */
static void touch_shared(bf_sim_sm *sm, const bf_emu_event *event) {
  bf_sim_touched *touched = &sm->touched;
  bf_count count = {0};
  int error = bf_emu_event_count(sm->counter, sm->gpu->machine, sm->settings->hash, event, &count);
  if (error) /* the machine has no such operation: it takes a turn like any other */
    count = (bf_count){.wavefronts_load = 1, .ideal = 1};
  uint32_t wavefronts = (uint32_t)bf_count_wavefronts(&count);
  touched->shared_accesses++;
  touched->shared_op = event->op;
  touched->has_locks |= is_lock_rule(sm->gpu->machine->op[event->op].rule);
  if (touched->has_locks && sm->gpu->lock_word_cycles)
    lock_words(sm, event);
  if (event->width_bytes > touched->width_bytes)
    touched->width_bytes = event->width_bytes;
  touched->shared.wavefronts_load += count.wavefronts_load;
  touched->shared.wavefronts_store += count.wavefronts_store;
  touched->shared.wavefronts_atomic += count.wavefronts_atomic;
  touched->shared.lock_iterations += count.lock_iterations;
  touched->shared.conflicts += count.conflicts;
  touched->shared.ideal += count.ideal;
  touched->shared.latency_cycles += count.latency_cycles;
  if (sm->gpu->pipeline != BF_SIM_SCOREBOARD)
    touch_parts(sm, event, wavefronts);
  sm->count.shared_instructions++;
  sm->count.shared_lanes += (unsigned)__builtin_popcount(event->mask);
  sm->count.shared_wavefronts += wavefronts;
  sm->count.shared_conflicts += count.conflicts;
  bf_sim_site *site = &sm->count.site[event->site];
  site->executions++;
  site->wavefronts += wavefronts;
  site->conflicts += count.conflicts;
  site->estimated |= count.estimated;
  if (wavefronts > site->worst)
    keep_worst(site, event, wavefronts);
}

uint64_t bf_sim_moved_address(bf_sim_sm *sm, uint64_t address) {
  const struct bf_sim_range *range = sm->last_range;
  if (!range || address < range->first || address >= range->end) {
    range = bf_sim_addresses_find(sm->addresses, address);
    if (!range)
      return address; /* made by the kernel itself */
    sm->last_range = range;
  }
  return address + range->moved;
}

/* Lines that were touched, found by a hash: 1 + their number, or 0. There are at most half as many.
 */
typedef struct line_table {
  uint8_t place[4 * BF_EMU_LANES];
} line_table;

/* Where a line is in the table, or would be. */
static uint8_t *find_line(const bf_sim_touched *touched, line_table *table, uint64_t line) {
  enum { PLACES = sizeof table->place };
  _Static_assert((PLACES & (PLACES - 1)) == 0, "a power of two");
  unsigned at = (unsigned)(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (PLACES - 1);
  while (table->place[at] && touched->line[table->place[at] - 1].line != line)
    at = (at + 1) & (PLACES - 1);
  return &table->place[at];
}

/* Adds sectors of a line that so many lanes touch. */
static void add_line(bf_sim_touched *touched, line_table *table, uint64_t line, uint8_t sectors,
                     uint16_t lanes) {
  uint8_t *place = find_line(touched, table, line);
  if (*place) {
    unsigned i = *place - 1u;
    touched->line[i].sectors |= sectors;
    touched->line[i].operations = (uint16_t)(touched->line[i].operations + lanes);
  } else if (touched->lines < 2 * BF_EMU_LANES) {
    touched->line[touched->lines].line = line;
    touched->line[touched->lines].sectors = sectors;
    touched->line[touched->lines].same = 0;
    touched->line[touched->lines++].operations = lanes;
    *place = (uint8_t)touched->lines;
  }
}

/* Whether all lanes of a warp are there and access memory one behind the other. */
static bool is_row(const bf_emu_event *event) {
  if (event->mask != UINT32_MAX)
    return false;
  const uint64_t *address = event->global_address, first = address[0];
  if (address[1] - first != event->width_bytes) /* as mostly where it is none */
    return false;
  uint64_t differ = first & (event->width_bytes - 1);
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    differ |= (address[lane] - first) ^ (uint64_t)lane * event->width_bytes;
  return differ == 0;
}

/* Adds the lines of such an access from its first byte on, each in one go. */
static void touch_row(bf_sim_touched *touched, line_table *table, uint64_t first,
                      unsigned width_bytes) {
  uint64_t end = first + (uint64_t)BF_EMU_LANES * width_bytes;
  for (uint64_t next; first < end; first = next) {
    next = (first / BF_SIM_LINE_BYTES + 1) * BF_SIM_LINE_BYTES;
    next = next < end ? next : end;
    unsigned from = (unsigned)(first % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    unsigned to = (unsigned)((next - 1) % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    add_line(touched, table, first / BF_SIM_LINE_BYTES, (uint8_t)((2u << to) - (1u << from)),
             (uint16_t)((next - first) / width_bytes));
  }
}

static bool is_float(bf_op op) {
  return op == BF_OP_REDF || op == BF_OP_FATOM || op == BF_OP_F64 || op == BF_OP_F16X2;
}

/* The different words of an access, in the order of their first lanes, and how many lanes want
 * each; found by a hash as lines are. */
typedef struct word_table {
  uint8_t place[4 * BF_EMU_LANES];
  uint64_t address[BF_EMU_LANES];
  uint8_t lanes[BF_EMU_LANES];
  unsigned words;
} word_table;

/* Adds a lane that wants the word at an address. */
static void add_word(word_table *table, uint64_t address) {
  enum { PLACES = sizeof table->place };
  unsigned at = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (PLACES - 1);
  while (table->place[at] && table->address[table->place[at] - 1] != address)
    at = (at + 1) & (PLACES - 1);
  if (!table->place[at]) {
    table->address[table->words] = address;
    table->lanes[table->words++] = 0;
    table->place[at] = (uint8_t)table->words;
  }
  table->lanes[table->place[at] - 1]++;
}

/* Makes the operations of each line those of the word that most lanes want, over its sectors, or
 * pairs of them where words have 8 bytes; counts different words. */
static void count_same_words(bf_sim_sm *sm, const bf_emu_event *event, line_table *lines) {
  enum { SECTORS = BF_SIM_LINE_BYTES / BF_SIM_SECTOR_BYTES };
  bf_sim_touched *touched = &sm->touched;
  uint8_t most[2 * BF_EMU_LANES][SECTORS] = {{0}};
  unsigned part_bytes = BF_SIM_SECTOR_BYTES * (event->width_bytes > 4 ? 2 : 1);
  word_table table;
  memset(table.place, 0, sizeof table.place);
  table.words = 0;
  for (uint32_t left = event->mask; left; left &= left - 1)
    add_word(&table, event->global_address[__builtin_ctz(left)]);
  touched->words += table.words;
  for (unsigned i = 0; i < table.words; i++) {
    uint64_t moved = bf_sim_moved_address(sm, table.address[i]);
    uint8_t place = *find_line(touched, lines, moved / BF_SIM_LINE_BYTES);
    if (!place)
      continue;
    uint8_t *own = &most[place - 1][moved % BF_SIM_LINE_BYTES / part_bytes];
    *own = table.lanes[i] > *own ? table.lanes[i] : *own;
  }
  for (unsigned i = 0; i < touched->lines; i++) {
    touched->line[i].operations = 0;
    for (unsigned k = 0; k < SECTORS; k++) {
      touched->line[i].operations = (uint16_t)(touched->line[i].operations + most[i][k]);
      if (is_float(event->op) && most[i][k] > touched->line[i].same)
        touched->line[i].same = most[i][k];
    }
  }
}

/* Adds the lines of one access to global memory to what was touched, and to the table of its lines.
 */
static void touch_lines(bf_sim_sm *sm, const bf_emu_event *event, line_table *table) {
  bf_sim_touched *touched = &sm->touched;
  uint64_t behind = (BF_EMU_LANES - 1) * event->width_bytes;
  touched->is_store |= event->op == BF_OP_ST;
  touched->is_atomic |= event->op != BF_OP_ST && event->op != BF_OP_LD;
  for (unsigned i = 0; i < touched->lines; i++) /* of other accesses of the instruction */
    *find_line(touched, table, touched->line[i].line) = (uint8_t)(i + 1);
  if (is_row(event)) {
    uint64_t first = event->global_address[0], moved = bf_sim_moved_address(sm, first);
    if (bf_sim_moved_address(sm, first + behind) == moved + behind) {
      touch_row(touched, table, moved, event->width_bytes);
      return;
    }
  }
  for (uint32_t left = event->mask; left; left &= left - 1) {
    uint64_t address = bf_sim_moved_address(sm, event->global_address[__builtin_ctz(left)]);
    unsigned first = (unsigned)(address % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    unsigned last =
        (unsigned)((address + event->width_bytes - 1) % BF_SIM_LINE_BYTES) / BF_SIM_SECTOR_BYTES;
    uint8_t sectors =
        last >= first ? (uint8_t)((2u << last) - (1u << first)) : (uint8_t)(1u << first);
    add_line(touched, table, address / BF_SIM_LINE_BYTES, sectors, 1);
  }
}

/* How many different addresses lanes want. */
static unsigned count_addresses(const bf_emu_event *event) {
  uint64_t found[BF_EMU_LANES];
  unsigned count = 0, at;
  for (uint32_t left = event->mask; left; left &= left - 1) {
    uint64_t address = event->global_address[__builtin_ctz(left)];
    for (at = 0; at < count && found[at] != address; at++)
      ;
    if (at == count)
      found[count++] = address;
  }
  return count;
}

static void touch_global(bf_sim_sm *sm, const bf_emu_event *event) {
  line_table table = {{0}};
  touch_lines(sm, event, &table);
  if (sm->executing->is_constant)
    sm->touched.constants += count_addresses(event);
  if (sm->touched.is_atomic && sm->gpu->l2_atomics == BF_SIM_ATOMICS_WORDS) {
    count_same_words(sm, event, &table);
    sm->touched.is_unread = event->op == BF_OP_RED || sm->executing->is_unread;
    for (unsigned i = 0; i < sm->touched.lines && sm->executing->is_gathered; i++) {
      sm->touched.line[i].operations = 1;
      sm->touched.line[i].same = sm->touched.line[i].same > 0;
    }
  }
}

static void touch(void *context, const bf_emu_event *event) {
  bf_sim_sm *sm = (bf_sim_sm *)context + event->worker;
  const bf_emu_observer *other = sm->launch->observer;
  if (event->space == BF_PTX_SPACE_SHARED)
    touch_shared(sm, event);
  else
    touch_global(sm, event);
  if (other && event->space == BF_PTX_SPACE_SHARED)
    other->access(other->context, event);
}

static void copied(void *context, const bf_emu_copy *copy) {
  bf_sim_copy_told((bf_sim_sm *)context + copy->worker, copy);
}

/* Hands an access as written to the observer of the launch. */
static void pass_written(void *context, const bf_emu_event *event) {
  const bf_sim_sm *sm = (bf_sim_sm *)context + event->worker;
  sm->launch->observer->written(sm->launch->observer->context, event);
}

/* The same of what the hardware reads and writes by itself. */
static void pass_operands(void *context, const bf_emu_event *event) {
  const bf_sim_sm *sm = (bf_sim_sm *)context + event->worker;
  sm->launch->observer->operands(sm->launch->observer->context, event);
}

bf_emu_observer bf_sim_observer(const bf_sim_gpu *gpu, bf_sim_sm *sms,
                                const bf_emu_observer *other) {
  return (bf_emu_observer){.access = touch,
                           .context = sms,
                           .wants_global = true,
                           .as_merged = gpu->merge != 0,
                           .copied = gpu->pipeline == BF_SIM_SCOREBOARD ? copied : NULL,
                           .written = other && other->written ? pass_written : NULL,
                           .operands = other && other->operands ? pass_operands : NULL};
}

/* ---- Executing ---- */

bool bf_sim_must_pause(bf_sim_sm *sm, const bf_sim_op *op) {
  if (sm->puts_off && op->is_beyond && sm->feed->calls->has_put_off(sm->feed, sm->index))
    return sm->is_paused = sm->is_waiting = true;
  if (!op->is_ordered || sm->is_alone || (sm->puts_off && op->is_put_off))
    return false;
  if (sm->may_order) {
    sm->may_order = false;
    return false;
  }
  sm->is_paused = true;
  return true;
}

/* The block of a warp that has ended is over when it was the last one. */
static void leave(bf_sim_sm *sm, bf_sim_warp *warp) {
  bf_sim_block *block = warp->block;
  warp->emu = NULL;
  warp->next = NULL;
  sm->warps_alive--;
  if (--block->warps_left)
    return;
  sm->feed->calls->end(sm->feed, sm->index, block->emu);
  block->emu = NULL;
  sm->ended[sm->ended_count++] = sm->now;
}

/* Looks at one warp alone. Whether its block has passed a barrier since it was last asked. */
static bool look_alone(bf_sim_sm *sm, bf_sim_warp *warp) {
  bf_sim_block *block = warp->block;
  bf_emu_next next;
  warp->turn = sm->feed->calls->peek(warp->emu, &next);
  warp->next = NULL;
  bool passed = next.barriers != block->barriers;
  block->barriers = next.barriers;
  if (warp->turn == BF_EMU_TURN_READY) {
    warp->instruction = next.instruction;
    warp->active = next.active;
    warp->next = &sm->program->op[next.instruction];
  } else if (warp->turn == BF_EMU_TURN_ENDED)
    leave(sm, warp);
  return passed;
}

/* Looks at the warps of a block that wait, but for one (NULL: at all). Whether a further barrier
 * was passed. */
static bool look_at_others(bf_sim_sm *sm, const bf_sim_block *block, const bf_sim_warp *but) {
  uint64_t barriers = block->barriers;
  for (unsigned i = 0; i < block->warps; i++) {
    bf_sim_warp *other = &sm->warp[block->first_slot + i];
    if (other != but && other->emu && other->tests)
      sm->core->tested(sm, other);
    if (other == but || !other->emu || other->turn != BF_EMU_TURN_WAITS)
      continue;
    look_alone(sm, other);
    if (!other->emu || other->turn == BF_EMU_TURN_READY)
      sm->core->freed(sm, other);
  }
  return block->barriers != barriers;
}

void bf_sim_free_others(bf_sim_sm *sm, bf_sim_warp *warp) {
  if (sm->is_freeing) /* whoever frees others now goes on as long as there are any */
    return;
  sm->is_freeing = true;
  while (look_at_others(sm, warp->block, warp))
    if (warp->emu && warp->turn == BF_EMU_TURN_WAITS)
      look_alone(sm, warp);
  sm->is_freeing = false;
}

void bf_sim_sm_notify(bf_sim_sm *sm, uint64_t cycle) {
  for (unsigned i = 0; i < sm->blocks; i++) {
    bf_sim_block *block = &sm->block[i];
    uint64_t barriers = block->emu ? sm->feed->calls->barriers(block->emu) : block->notified;
    bool is_new = barriers != block->barriers && barriers != block->notified;
    block->notified = barriers;
    bf_sim_request news = {.kind = BF_SIM_NEWS, .token = i};
    if (is_new && !bf_sim_sm_answer(sm, &news, cycle))
      sm->failed = true;
  }
}

void bf_sim_block_news(bf_sim_sm *sm, bf_sim_block *block) {
  uint64_t barriers = block->emu ? sm->feed->calls->barriers(block->emu) : block->barriers;
  if (barriers == block->barriers || sm->is_freeing)
    return;
  block->barriers = barriers;
  sm->is_freeing = true;
  while (block->emu && look_at_others(sm, block, NULL))
    ;
  sm->is_freeing = false;
}

void bf_sim_look(bf_sim_sm *sm, bf_sim_warp *warp) {
  if (look_alone(sm, warp))
    bf_sim_free_others(sm, warp);
}

bool bf_sim_execute(bf_sim_sm *sm, bf_sim_warp *warp) {
  sm->executing = warp->next;
  sm->acting = warp;
  sm->touched.shared_accesses = 0;
  sm->touched.has_locks = false;
  sm->touched.locked_until = 0;
  sm->touched.width_bytes = 0;
  sm->touched.shared = (bf_count){0};
  if (sm->gpu->pipeline != BF_SIM_SCOREBOARD)
    memset(sm->touched.part, 0, sizeof sm->touched.part);
  sm->touched.lines = sm->touched.words = sm->touched.constants = 0;
  sm->touched.is_store = sm->touched.is_atomic = sm->touched.is_unread = false;
  if (!sm->feed->calls->step(warp->emu)) {
    sm->is_paused = sm->is_waiting = true;
    return false;
  }
  if (sm->feed->calls->stopped(sm->feed))
    sm->is_stopped = true;
  return true;
}

/* ---- Global memory ---- */

/* Where the next request goes, so that it need not be copied; NULL: out of memory. */
static bf_sim_request *next_request(bf_sim_sm *sm) {
  if (sm->outbox_count == sm->outbox_capacity) {
    size_t capacity = sm->outbox_capacity ? 2 * sm->outbox_capacity : 256;
    bf_sim_request *grown = realloc(sm->outbox, capacity * sizeof *grown);
    if (!grown) {
      sm->failed = true;
      return NULL;
    }
    sm->outbox = grown;
    sm->outbox_capacity = capacity;
  }
  return &sm->outbox[sm->outbox_count];
}

bool bf_sim_post(bf_sim_sm *sm, const bf_sim_request *request) {
  bf_sim_request *next = next_request(sm);
  if (!next)
    return false;
  *next = *request;
  sm->outbox_count++;
  return true;
}

/* Asks the first-level cache for sectors of a line at a cycle; a request that it makes is posted.
 */
static inline bf_sim_l1_outcome ask_l1(bf_sim_sm *sm, uint64_t line, uint8_t sectors,
                                       uint32_t token, uint64_t cycle) {
  bf_sim_request *request = next_request(sm);
  if (!request)
    return BF_SIM_L1_JOINED; /* it has failed */
  bf_sim_l1_outcome outcome = bf_sim_l1_ask(sm->l1, line, sectors, token, request);
  if (outcome == BF_SIM_L1_MISS) {
    request->cycle = cycle;
    request->sm = sm->index;
    request->operations = request->later = request->same = 0;
    request->is_copy = false;
    sm->outbox_count++;
  }
  return outcome;
}

/* Sends one line of a load; whether an answer will come. A line for which the first-level cache has
 * no room is held back, and with it all that follow. */
static inline bool send_load(bf_sim_sm *sm, uint64_t line, uint8_t sectors, uint32_t token,
                             uint64_t cycle) {
  bf_sim_l1_outcome outcome = BF_SIM_L1_FULL;
  if (sm->held_count == 0)
    outcome = ask_l1(sm, line, sectors, token, cycle);
  if (outcome == BF_SIM_L1_FULL)
    sm->held[sm->held_count++] =
        (bf_sim_request){.line = line, .sectors = sectors, .token = token, .cycle = cycle};
  return outcome != BF_SIM_L1_HIT;
}

/* The kind of request that the instruction just executed makes. */
static bf_sim_request_kind kind_of(const bf_sim_touched *touched, const bf_sim_op *op) {
  if (touched->is_store)
    return BF_SIM_STORE;
  if (touched->is_atomic)
    return op->results && !touched->is_unread ? BF_SIM_ATOMIC : BF_SIM_REDUCE;
  return op->is_past_l1 ? BF_SIM_PAST : BF_SIM_LOAD;
}

/* Posts line i of what was touched, which goes past the first-level cache; false: out of memory. */
static bool post_line(bf_sim_sm *sm, unsigned i, bf_sim_request_kind kind, uint32_t token,
                      uint64_t cycle) {
  const bf_sim_touched *touched = &sm->touched;
  double later = sm->gpu->l2_atomic_answer_cycles * (touched->words ? touched->words - 1 : 0);
  bf_sim_request *request = next_request(sm);
  if (!request)
    return false;
  *request = (bf_sim_request){.cycle = cycle,
                              .line = touched->line[i].line,
                              .sm = sm->index,
                              .token = token,
                              .sectors = touched->line[i].sectors,
                              .kind = (uint8_t)kind,
                              .operations = touched->line[i].operations,
                              .later = kind == BF_SIM_ATOMIC ? (uint16_t)later : 0,
                              .same = touched->line[i].same};
  sm->outbox_count++;
  return true;
}

bf_sim_load *bf_sim_send(bf_sim_sm *sm, bf_sim_warp *warp, const bf_sim_op *op, uint64_t first) {
  bf_sim_touched *touched = &sm->touched;
  bf_sim_request_kind kind = kind_of(touched, op);
  uint32_t token = sm->free_load[--sm->free_loads];
  bf_sim_load *load = &sm->load[token];
  *load = (bf_sim_load){.warp = warp,
                        .op = op,
                        .warp_age = warp->age,
                        .issued = sm->now,
                        .is_write = kind == BF_SIM_STORE || kind == BF_SIM_REDUCE};
  double cycle = (double)first;
  for (unsigned i = 0; i < touched->lines; i++, cycle += sm->gpu->global_line_cycles) {
    uint64_t line = touched->line[i].line;
    uint8_t sectors = touched->line[i].sectors;
    sm->count.global_sectors += bf_sim_sectors(sectors);
    if (kind == BF_SIM_STORE)
      bf_sim_l1_store(sm->l1, line, sectors);
    if (kind == BF_SIM_LOAD)
      load->lines += send_load(sm, line, sectors, token, (uint64_t)cycle);
    else
      load->lines += post_line(sm, i, kind, token, (uint64_t)cycle);
  }
  sm->count.global_instructions++;
  if (load->lines == 0) { /* all in the cache */
    load->warp = NULL;
    sm->free_load[sm->free_loads++] = token;
    return NULL;
  }
  if (load->is_write) {
    warp->writes++;
    return NULL;
  }
  warp->loads++;
  load->group = warp->group;
  warp->copies[warp->group] = (uint16_t)(warp->copies[warp->group] + op->is_copy);
  return load;
}

/* One line of a load has come. The warp may have ended without waiting for it. */
static inline void line_done(void *context, uint32_t token) {
  bf_sim_sm *sm = context;
  bf_sim_load *load = &sm->load[token];
  if (--load->lines)
    return;
  bf_sim_warp *warp = load->warp;
  if (warp->emu && warp->age == load->warp_age) {
    if (!load->is_write) {
      warp->loads--;
      warp->copies[load->group] = (uint16_t)(warp->copies[load->group] - load->op->is_copy);
      sm->core->loaded(sm, load);
    } else if (--warp->writes == 0 && sm->core->written)
      sm->core->written(sm, warp);
  }
  load->warp = NULL;
  sm->free_load[sm->free_loads++] = token;
}

/* Sends lines that were held back, as far as there is room now. */
static void send_held(bf_sim_sm *sm) {
  for (; sm->held_count; sm->held_first++, sm->held_count--) {
    const bf_sim_request *held = &sm->held[sm->held_first];
    uint64_t cycle = held->cycle > sm->now ? held->cycle : sm->now;
    bf_sim_l1_outcome outcome = ask_l1(sm, held->line, held->sectors, held->token, cycle);
    if (outcome == BF_SIM_L1_FULL)
      break;
    if (outcome == BF_SIM_L1_HIT)
      line_done(sm, held->token);
  }
  if (!sm->held_count)
    sm->held_first = 0;
}

/* ---- Blocks ---- */

void bf_sim_sm_give(bf_sim_sm *sm, uint64_t cycle, uint64_t index) {
  sm->begin[sm->begins++] = (struct bf_sim_begin){cycle, index};
  if (cycle < sm->next_answer)
    sm->next_answer = cycle;
}

/* Puts the warps of a block into the slots of a place that is free. */
static void begin_block(bf_sim_sm *sm, uint64_t index) {
  bf_sim_block *block = sm->block;
  while (block->emu)
    block++;
  block->emu = sm->feed->calls->begin(sm->feed, sm->index, index);
  if (!block->emu) {
    sm->failed = true;
    return;
  }
  block->index = index;
  block->warps_left = block->warps;
  block->barriers = block->notified = 0;
  sm->count.host_bytes_per_warp = sm->feed->calls->block_bytes(block->emu) / block->warps +
                                  sizeof(bf_sim_warp) + sm->core->warp_bytes(sm);
  for (unsigned i = 0; i < block->warps; i++) {
    bf_sim_warp *warp = &sm->warp[block->first_slot + i];
    warp->emu = sm->feed->calls->warp(block->emu, i);
    warp->block = block;
    warp->index = i;
    warp->age = sm->next_age++;
    warp->loads = warp->group = 0;
    memset(warp->copies, 0, sizeof warp->copies);
    memset(warp->stored, 0, sizeof warp->stored);
    memset(warp->multiplied, 0, sizeof warp->multiplied);
    warp->stored_group = warp->multiplied_group = 0;
    warp->tests = false;
    sm->warps_alive++;
  }
  for (unsigned i = 0; i < block->warps; i++) {
    bf_sim_look(sm, &sm->warp[block->first_slot + i]);
    if (sm->warp[block->first_slot + i].emu)
      sm->core->admit(sm, &sm->warp[block->first_slot + i]);
  }
}

/* Takes one answer. Whether it changes anything for the pipeline. */
static inline bool take_answer(bf_sim_sm *sm, const bf_sim_answer *answer) {
  unsigned free_loads = sm->free_loads, held = sm->held_count;
  bool is_news = answer->kind == BF_SIM_LANDED || answer->kind == BF_SIM_NEWS;
  if (answer->kind == BF_SIM_LANDED)
    bf_sim_copy_landed(sm, answer->token);
  else if (answer->kind == BF_SIM_NEWS)
    bf_sim_block_news(sm, &sm->block[answer->token]);
  else if (answer->token & BF_SIM_COPY_TOKEN)
    bf_sim_copy_answered(sm, answer->token);
  else if (answer->kind == BF_SIM_LOAD)
    bf_sim_l1_land(sm->l1, answer->line, answer->sectors, answer->token, line_done, sm);
  else
    line_done(sm, answer->token);
  if (sm->held_count)
    send_held(sm);
  return is_news || sm->free_loads != free_loads || (held && !sm->held_count);
}

/* Takes all answers that are due before cycle `end`; stops behind those of the first cycle in which
 * one changes something for the pipeline. Leaves sm->now at the last cycle of one. Whether one did;
 * *next is the cycle of the first answer that is left, or UINT64_MAX. */
static bool take_due(bf_sim_sm *sm, uint64_t end, uint64_t *next) {
  bf_sim_answer first;
  for (bool is_changed = false;;) {
    const bf_sim_answer *answer = bf_sim_answers_peek(&sm->answers);
    *next = answer ? answer->cycle : bf_sim_answers_next(&sm->answers);
    if (*next >= end || (is_changed && *next > sm->now))
      return is_changed;
    if (answer) {
      first = *answer;
      bf_sim_answers_drop(&sm->answers);
    } else {
      first = bf_sim_answers_take(&sm->answers);
    }
    sm->now = *next > sm->now ? *next : sm->now;
    is_changed |= take_answer(sm, &first);
  }
}

bool bf_sim_take_answers(bf_sim_sm *sm, uint64_t end) {
  uint64_t next;
  bool begins = sm->begins && sm->begin[0].cycle < end;
  if (begins) /* a block changes everything */
    end = (sm->begin[0].cycle > sm->now ? sm->begin[0].cycle : sm->now) + 1;
  bool is_changed = take_due(sm, end, &next);
  if (begins && !is_changed)
    sm->now = end - 1;
  while (sm->begins && sm->begin[0].cycle <= sm->now && !sm->failed) {
    uint64_t index = sm->begin[0].index;
    memmove(sm->begin, sm->begin + 1, --sm->begins * sizeof *sm->begin);
    begin_block(sm, index);
    is_changed = true;
    next = bf_sim_answers_next(&sm->answers);
  }
  if (sm->begins && sm->begin[0].cycle < next)
    next = sm->begin[0].cycle;
  sm->next_answer = next;
  return is_changed;
}

/* ---- Making and freeing ---- */

/* Rounds up to a multiple. */
static uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/* Registers of a block. An estimate leaves room for one: the program was compiled for such blocks,
 * and is not turned away because of it. */
static uint64_t registers_of(const bf_sim_gpu *gpu, const bf_emu_needs *needs, uint64_t warps) {
  uint64_t registers = needs->registers;
  if (registers > gpu->registers_per_thread)
    registers = gpu->registers_per_thread;
  registers = round_up(registers * BF_EMU_LANES, gpu->register_granule) * warps;
  bool is_too_many = registers > gpu->registers_per_sm && !needs->has_registers;
  return is_too_many ? gpu->registers_per_sm : registers;
}

unsigned bf_sim_fit(const bf_sim_gpu *gpu, const bf_emu_needs *needs, const bf_emu_launch *launch,
                    const char **limit) {
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  uint64_t warps = (threads + BF_EMU_LANES - 1) / BF_EMU_LANES;
  uint64_t registers = registers_of(gpu, needs, warps);
  uint64_t shared = needs->shared_bytes + launch->dynamic_shared_bytes + gpu->shared_block_bytes;
  struct {
    const char *name;
    uint64_t blocks;
  } limits[] = {
      {"blocks", gpu->blocks_per_sm},
      {"warps", gpu->warps_per_sm / (warps ? warps : 1)},
      {"registers", registers ? gpu->registers_per_sm / registers : UINT64_MAX},
      {"shared memory",
       shared ? gpu->shared_bytes_per_sm / round_up(shared, gpu->shared_granule) : UINT64_MAX}};
  uint64_t fewest = UINT64_MAX;
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++)
    if (limits[i].blocks < fewest) {
      fewest = limits[i].blocks;
      *limit = limits[i].name;
    }
  return (unsigned)fewest;
}

int bf_sim_sm_create(bf_sim_sm *sm, unsigned blocks, bf_diagnostic *diagnostic) {
  uint64_t threads = (uint64_t)sm->launch->block[0] * sm->launch->block[1] * sm->launch->block[2];
  sm->warps_per_block = (unsigned)((threads + BF_EMU_LANES - 1) / BF_EMU_LANES);
  sm->blocks = blocks;
  sm->next_answer = UINT64_MAX;
  sm->slots = blocks * sm->warps_per_block;
  sm->loads = (unsigned)sm->gpu->global_queue;
  sm->block = calloc(blocks, sizeof *sm->block);
  sm->warp = calloc(sm->slots, sizeof *sm->warp);
  sm->ended = calloc(blocks, sizeof *sm->ended);
  sm->begin = calloc(blocks, sizeof *sm->begin);
  sm->load = calloc(sm->loads, sizeof *sm->load);
  sm->free_load = calloc(sm->loads, sizeof *sm->free_load);
  sm->count.sites = sm->feed->sites;
  sm->count.site = calloc(sm->count.sites + 1, sizeof *sm->count.site);
  if (!sm->block || !sm->warp || !sm->ended || !sm->begin || !sm->load || !sm->free_load ||
      !sm->count.site)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < blocks; i++) {
    sm->block[i].warps = sm->warps_per_block;
    sm->block[i].first_slot = i * sm->warps_per_block;
  }
  for (unsigned i = 0; i < sm->slots; i++)
    sm->warp[i].slot = i;
  for (unsigned i = 0; i < sm->loads; i++)
    sm->free_load[sm->free_loads++] = sm->loads - 1 - i;
  BF_TRY(bf_counter_create(sm->gpu->machine, sm->settings->hash, &sm->counter, diagnostic));
  BF_TRY(bf_counter_set_lock_hash(sm->counter, sm->settings->lock_hash, diagnostic));
  BF_TRY(bf_sim_l1_create(sm->gpu, &sm->l1, diagnostic));
  sm->feed->calls->clock(sm->feed, sm->index, &sm->now);
  return sm->core->create(sm, diagnostic);
}

void bf_sim_sm_free(bf_sim_sm *sm) {
  if (sm->core && sm->core_data)
    sm->core->free(sm);
  for (unsigned i = 0; sm->block && i < sm->blocks; i++)
    if (sm->block[i].emu)
      sm->feed->calls->end(sm->feed, sm->index, sm->block[i].emu);
  bf_sim_l1_free(sm->l1);
  bf_counter_free(sm->counter);
  free(sm->block);
  free(sm->warp);
  free(sm->ended);
  free(sm->begin);
  free(sm->load);
  free(sm->free_load);
  free(sm->locked);
  bf_sim_copies_free(sm);
  free(sm->outbox);
  free(sm->sent);
  bf_sim_answers_free(&sm->answers);
  free(sm->count.site);
}

void bf_sim_tell(bf_sim_sm *sm, const bf_sim_warp *warp, unsigned scheduler, uint32_t instruction,
                 uint64_t issued, uint64_t done, unsigned wavefronts) {
  const bf_sim_watch *watch = sm->settings->watch;
  if (!watch || !watch->event || issued < watch->first_cycle || issued > watch->last_cycle)
    return;
  bf_sim_event event = {.sm = sm->index,
                        .scheduler = scheduler,
                        .slot = warp->slot,
                        .block = warp->block->index,
                        .warp = warp->index,
                        .instruction = instruction,
                        .issued = issued,
                        .done = done,
                        .wavefronts = wavefronts};
  watch->event(watch->context, &event);
}
