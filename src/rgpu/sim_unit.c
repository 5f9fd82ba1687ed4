/* Load/store units.
 *
 * A unit has the line of its last load at hand, so that addresses which follow each other need the
 * first-level cache once per line; stores to one line are sent as one. The cache looks for one line
 * at a time (global_line_cycles), for loads, prefetchers and stores of all units.
 *
 * A unit that loads with `wait` asks the second-level cache for the sectors of one line, as far as
 * the addresses in its FIFO reach, and for nothing else until they have come; then it asks for the
 * next ones, while it hands on the words of these. */
#include "rgpu/sim_inner.h"

#include <string.h>

/* What a token is about, beside the number of its unit. */
#define TOKEN_KIND (3u << 30)
#define TOKEN_DEMAND 0u
#define TOKEN_PREFETCH (1u << 30)
#define TOKEN_PAST (2u << 30) /* past the first-level cache */
#define TOKEN_STORE (3u << 30)

/* ---- Addresses ---- */

static uint64_t line_of(uint64_t address) { return address / BF_SIM_LINE_BYTES; }

/* The sector of an address as a mask. */
static uint8_t sector_of(uint64_t address) {
  return (uint8_t)(1u << address / BF_SIM_SECTOR_BYTES % 4);
}

/* The bytes at an address; NULL, with the error noted, where there are none. */
static unsigned char *find_bytes(sim_sm *sm, uint32_t node, uint64_t address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  const bf_rgpu_setup *setup = sm->chip->plan->setup;
  unsigned bytes = bf_rgpu_type_bytes(plan->node->type);
  uint64_t first = plan->node->is_shared ? 0 : BF_RGPU_GLOBAL_BASE;
  uint64_t size = plan->node->is_shared ? setup->shared_bytes : setup->global_bytes;
  if (address % bytes)
    rgpu_sim_fail(sm, plan, "address %llu is not a multiple of %u", (unsigned long long)address,
                  bytes);
  else if (address < first || address - first + bytes > size)
    rgpu_sim_fail(sm, plan, "address %llu is outside of %s memory", (unsigned long long)address,
                  plan->node->is_shared ? "shared" : "global");
  else
    return (plan->node->is_shared ? sm->shared : sm->chip->global) + (address - first);
  return NULL;
}

/* The address that a node accesses. */
static uint64_t address_of(const sim_sm *sm, uint32_t node) {
  return (uint32_t)(rgpu_operand(sm, node, 0) + sm->node[node].offset);
}

/* ---- Ports ---- */

/* Whether the first-level cache can be asked now; else when it can. */
static bool port_is_free(sim_sm *sm) {
  if (sm->port_free <= (double)sm->now)
    return true;
  uint64_t cycle = (uint64_t)sm->port_free + (sm->port_free > (double)(uint64_t)sm->port_free);
  if (cycle < sm->next)
    sm->next = cycle;
  return false;
}

static void take_port(sim_sm *sm) {
  double from = sm->port_free > (double)sm->now ? sm->port_free : (double)sm->now;
  sm->port_free = from + sm->chip->gpu->global_line_cycles;
}

/* Takes the bank of shared memory that holds a word for so many accesses; false: it is busy. */
static bool take_bank(sim_sm *sm, uint64_t address, unsigned accesses) {
  double *free_at = &sm->bank_free[address / 4 % sm->chip->banks];
  if (*free_at > (double)sm->now) {
    uint64_t cycle = (uint64_t)*free_at + (*free_at > (double)(uint64_t)*free_at);
    if (cycle < sm->next)
      sm->next = cycle;
    return false;
  }
  *free_at = (double)sm->now + accesses * sm->chip->gpu->shared_wavefront_cycles;
  return true;
}

/* ---- Requests ---- */

static void send(sim_sm *sm, bf_sim_request *request) {
  request->cycle = sm->now;
  request->sm = sm->index;
  sm->outstanding += request->kind != BF_SIM_WAIT;
  if (bf_sim_memory_add(sm->chip->memory, request) != BF_OK && !sm->chip->error)
    sm->chip->error = bf_no_memory(sm->chip->diagnostic);
}

static void send_store(sim_sm *sm, uint64_t line, uint8_t sectors, bf_sim_request_kind kind) {
  bf_sim_request request = {.line = line,
                            .sectors = sectors,
                            .token = TOKEN_STORE,
                            .kind = (uint8_t)kind,
                            .operations = 1};
  take_port(sm);
  bf_sim_l1_store(sm->l1, line, sectors);
  sm->stores++;
  sm->chip->result->stores_sent++;
  send(sm, &request);
}

void rgpu_unit_flush(sim_sm *sm, sm_unit *unit) {
  if (unit->store_line != NO_LINE)
    send_store(sm, unit->store_line, unit->store_sectors, BF_SIM_STORE);
  unit->store_line = NO_LINE;
  unit->store_sectors = 0;
}

/* What a unit asked for has come. */
static void demand_done(void *context, uint32_t token) {
  sim_sm *sm = context;
  if ((token & TOKEN_KIND) == TOKEN_DEMAND)
    sm->unit[token].is_waiting = false;
}

void rgpu_unit_answer(sim_sm *sm, const bf_sim_request *request) {
  uint32_t kind = request->token & TOKEN_KIND;
  sm->outstanding -= request->kind != BF_SIM_WAIT;
  if (kind == TOKEN_STORE)
    sm->stores--;
  else if (kind == TOKEN_PAST)
    sm->unit[request->token & ~TOKEN_KIND].is_waiting = false;
  else
    bf_sim_l1_fill(sm->l1, request, demand_done, sm);
}

/* ---- Presence ---- */

static bool is_present(const sim_chip *chip, uint64_t address, unsigned bytes) {
  uint64_t at = address - BF_RGPU_GLOBAL_BASE;
  for (uint64_t i = at; i < at + bytes; i++)
    if (!(chip->present[i / 8] >> i % 8 & 1))
      return false;
  return true;
}

static void make_present(const sim_chip *chip, uint64_t address, unsigned bytes) {
  uint64_t at = address - BF_RGPU_GLOBAL_BASE;
  for (uint64_t i = at; chip->present && i < at + bytes; i++)
    chip->present[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Whether the graph says that it is present from the start. */
static bool is_declared(const sim_chip *chip, uint64_t address) {
  for (unsigned i = 0; i < chip->plan->graph->arrays; i++)
    if (address >= chip->declared_first[i] && address < chip->declared_end[i])
      return true;
  return false;
}

/* ---- Loads ---- */

/* Remembers what a unit has asked for. */
static void expect_line(sm_unit *unit, uint64_t line, uint8_t sectors) {
  unit->asked = line;
  unit->asked_sectors = sectors;
  unit->is_waiting = true;
}

/* Takes what has come to hand. */
static void take_line(sm_unit *unit) {
  unit->sectors = unit->asked_sectors | (unit->line == unit->asked ? unit->sectors : 0);
  unit->line = unit->asked;
  unit->asked = NO_LINE;
}

/* Asks the first-level cache for the line of a load. */
static bf_rgpu_stall ask_cache(sim_sm *sm, uint32_t node, uint64_t line) {
  enum { ALL_SECTORS = 15 };
  uint32_t number = sm->chip->plan->node[node].unit;
  sm_unit *unit = &sm->unit[number];
  bf_sim_request request = {0};
  if (!port_is_free(sm))
    return BF_RGPU_STALL_PORT;
  bf_sim_l1_outcome outcome = bf_sim_l1_load(sm->l1, line, ALL_SECTORS, number, &request);
  if (outcome == BF_SIM_L1_FULL)
    return BF_RGPU_STALL_MEMORY;
  take_port(sm);
  sm->has_moved = true;
  expect_line(unit, line, ALL_SECTORS);
  if (outcome == BF_SIM_L1_HIT) {
    unit->is_waiting = false;
    take_line(unit);
    return BF_RGPU_STALLS;
  }
  if (outcome == BF_SIM_L1_MISS) {
    sm->chip->result->loads_sent++;
    send(sm, &request);
  }
  return BF_RGPU_STALL_MEMORY;
}

/* Address number i in the FIFO of a load; false: it has not arrived. */
static bool address_at(const sim_sm *sm, uint32_t node, unsigned i, uint64_t *address) {
  const sm_fifo *fifo = &sm->fifo[sm->chip->plan->node[node].fifo[0]];
  unsigned at = (fifo->head + i) % fifo->places;
  if (i >= fifo->count || i >= fifo->capacity || fifo->ready[at] > sm->now)
    return false;
  *address = (uint32_t)(fifo->value[at] + sm->node[node].offset);
  return true;
}

/* The sectors of a line that addresses in the FIFO ask for, from the first one on without a gap. */
static uint8_t wanted_sectors(const sim_sm *sm, uint32_t node, unsigned first, uint64_t line) {
  bool is_one = sm->chip->settings->fabric.waits_for_sectors;
  uint8_t sectors = 0;
  uint64_t address;
  for (unsigned i = first; address_at(sm, node, i, &address) && line_of(address) == line; i++)
    if (!sectors || !is_one)
      sectors |= sector_of(address);
  return sectors;
}

/* Asks the second-level cache, past the first, for the line of an address and what follows it in
 * the FIFO. */
static bf_rgpu_stall ask_past(sim_sm *sm, uint32_t node, unsigned first, uint64_t address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  bool waits = plan->node->cache == BF_RGPU_CACHE_WAIT && !is_declared(sm->chip, address);
  bf_sim_request request = {.line = line_of(address),
                            .token = TOKEN_PAST | plan->unit,
                            .kind = waits ? BF_SIM_WAIT : BF_SIM_LOAD};
  if (!port_is_free(sm))
    return BF_RGPU_STALL_PORT;
  take_port(sm);
  request.sectors = wanted_sectors(sm, node, first, request.line);
  if (waits)
    sm->chip->result->waits_sent++;
  else
    sm->chip->result->loads_sent++;
  expect_line(&sm->unit[plan->unit], request.line, request.sectors);
  sm->has_moved = true;
  send(sm, &request);
  return BF_RGPU_STALL_MEMORY;
}

/* Asks for the sectors behind those at hand. */
static void ask_ahead(sim_sm *sm, uint32_t node) {
  const sm_unit *unit = &sm->unit[sm->chip->plan->node[node].unit];
  uint64_t left = sm->chip->plan->setup->iterations - sm->node[node].fired, address;
  if (unit->is_waiting || unit->asked != NO_LINE || unit->line == NO_LINE)
    return;
  for (unsigned i = 0; i < left && address_at(sm, node, i, &address); i++)
    if (line_of(address) != unit->line || !(unit->sectors & sector_of(address))) {
      uint64_t first = BF_RGPU_GLOBAL_BASE, bytes = sm->chip->plan->setup->global_bytes;
      if (address >= first && address - first < bytes)
        ask_past(sm, node, i, address);
      return;
    }
}

/* Whether a unit has what a load wants at hand. */
static bool has_at_hand(const sim_sm *sm, const plan_node *plan, uint64_t address) {
  const sm_unit *unit = &sm->unit[plan->unit];
  if (unit->line != line_of(address) || !(unit->sectors & sector_of(address)))
    return false;
  return plan->node->cache != BF_RGPU_CACHE_WAIT ||
         is_present(sm->chip, address, bf_rgpu_type_bytes(plan->node->type));
}

/* Why a load from global memory cannot hand its word on; BF_RGPU_STALLS: it can. */
static bf_rgpu_stall look_for(sim_sm *sm, uint32_t node, uint64_t address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm_unit *unit = &sm->unit[plan->unit];
  bool is_past = plan->node->cache == BF_RGPU_CACHE_WAIT || plan->node->cache == BF_RGPU_CACHE_CG;
  if (has_at_hand(sm, plan, address))
    return BF_RGPU_STALLS;
  if (unit->is_waiting)
    return BF_RGPU_STALL_MEMORY;
  if (unit->asked != NO_LINE)
    take_line(unit);
  if (has_at_hand(sm, plan, address))
    return BF_RGPU_STALLS;
  return is_past ? ask_past(sm, node, 0, address) : ask_cache(sm, node, line_of(address));
}

static bf_rgpu_stall fire_load(sim_sm *sm, uint32_t node) {
  const plan_node *plan = &sm->chip->plan->node[node];
  uint64_t address = address_of(sm, node);
  const unsigned char *bytes = find_bytes(sm, node, address);
  bf_rgpu_stall stall;
  if (!bytes)
    return BF_RGPU_STALL_MEMORY;
  if (plan->node->is_shared)
    stall = take_bank(sm, address, 1) ? BF_RGPU_STALLS : BF_RGPU_STALL_PORT;
  else
    stall = look_for(sm, node, address);
  if (stall == BF_RGPU_STALLS)
    rgpu_fire(sm, node, bf_rgpu_load(plan->node->type, bytes), plan->latency);
  return stall;
}

/* ---- Stores ---- */

/* Whether a store can be added to what the unit holds. Stores that others wait for hold a sector,
 * others a line. */
static bool joins(const sm_unit *unit, const bf_rgpu_node *node, uint64_t address) {
  bool is_written_back = node->cache == BF_RGPU_CACHE_WB || node->cache == BF_RGPU_CACHE_CS;
  if (unit->store_line == NO_LINE)
    return true;
  return unit->store_line == line_of(address) &&
         (is_written_back || unit->store_sectors == sector_of(address));
}

/* Whether requests of stores can leave: the cache is free, and not too many are on their way. */
static bf_rgpu_stall may_send(sim_sm *sm) {
  if (sm->stores >= sm->chip->gpu->global_queue)
    return BF_RGPU_STALL_MEMORY;
  return port_is_free(sm) ? BF_RGPU_STALLS : BF_RGPU_STALL_PORT;
}

/* Sends a unit's stores where the next one does not join them, or it is the last. */
static bf_rgpu_stall make_room(sim_sm *sm, uint32_t node, uint64_t address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm_unit *unit = &sm->unit[plan->unit];
  if (joins(unit, plan->node, address))
    return BF_RGPU_STALLS;
  bf_rgpu_stall stall = may_send(sm);
  if (stall == BF_RGPU_STALLS)
    rgpu_unit_flush(sm, unit);
  return stall;
}

static bf_rgpu_stall store_global(sim_sm *sm, uint32_t node, uint64_t address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm_unit *unit = &sm->unit[plan->unit];
  bool is_last = sm->node[node].fired + 1 == sm->chip->plan->setup->iterations;
  bf_rgpu_stall stall = make_room(sm, node, address);
  if (stall != BF_RGPU_STALLS)
    return stall;
  unit->store_line = line_of(address);
  unit->store_sectors |= sector_of(address);
  if (is_last)
    rgpu_unit_flush(sm, unit);
  return BF_RGPU_STALLS;
}

/* Each reduction on global memory is a request of its own. */
static bf_rgpu_stall reduce_global(sim_sm *sm, uint64_t address) {
  bf_rgpu_stall stall = may_send(sm);
  if (stall == BF_RGPU_STALLS)
    send_store(sm, line_of(address), sector_of(address), BF_SIM_REDUCE);
  return stall;
}

/* A store, or a reduction, which in shared memory takes its bank twice: to read and to write. */
static bf_rgpu_stall fire_store(sim_sm *sm, uint32_t node) {
  const bf_rgpu_node *own = sm->chip->plan->node[node].node;
  bool is_reduction = own->op == BF_RGPU_RED;
  uint64_t address = address_of(sm, node);
  unsigned char *bytes = find_bytes(sm, node, address);
  bf_rgpu_stall stall;
  if (!bytes)
    return BF_RGPU_STALL_MEMORY;
  if (own->is_shared)
    stall = take_bank(sm, address, is_reduction ? 2 : 1) ? BF_RGPU_STALLS : BF_RGPU_STALL_PORT;
  else
    stall = is_reduction ? reduce_global(sm, address) : store_global(sm, node, address);
  if (stall != BF_RGPU_STALLS)
    return stall;
  uint32_t value = rgpu_operand(sm, node, 1);
  if (is_reduction)
    value = bf_rgpu_reduce(own->type, bf_rgpu_load(own->type, bytes), value);
  bf_rgpu_store(own->type, value, bytes);
  if (!own->is_shared)
    make_present(sm->chip, address, bf_rgpu_type_bytes(own->type));
  rgpu_fire(sm, node, 0, 0);
  return BF_RGPU_STALLS;
}

bf_rgpu_stall rgpu_unit_fire(sim_sm *sm, uint32_t node) {
  const plan_node *plan = &sm->chip->plan->node[node];
  if (!rgpu_is_on(sm, node)) {
    sm_unit *unit = &sm->unit[plan->unit];
    if (sm->node[node].fired + 1 == sm->chip->plan->setup->iterations)
      rgpu_unit_flush(sm, unit);
    rgpu_fire(sm, node, sm->node[node].last, plan->latency);
    return BF_RGPU_STALLS;
  }
  return plan->node->op == BF_RGPU_LD ? fire_load(sm, node) : fire_store(sm, node);
}

/* ---- Prefetching ---- */

/* The next address that the prefetcher of a unit has not seen; false: there is none. */
static bool next_to_scan(sim_sm *sm, uint32_t node, uint64_t *address) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm_unit *unit = &sm->unit[plan->unit];
  const sm_fifo *fifo = &sm->fifo[plan->fifo[0]];
  uint64_t taken = sm->node[node].fired;
  if (unit->scanned < taken)
    unit->scanned = taken;
  uint64_t ahead = unit->scanned - taken;
  if (ahead >= fifo->count || ahead >= fifo->capacity ||
      taken + ahead >= sm->chip->plan->setup->iterations)
    return false;
  unsigned at = (unsigned)((fifo->head + ahead) % fifo->places);
  if (fifo->ready[at] > sm->now) {
    if (fifo->ready[at] < sm->next)
      sm->next = fifo->ready[at];
    return false;
  }
  *address = (uint32_t)(fifo->value[at] + sm->node[node].offset);
  return true;
}

/* Asks for a line that comes new; false: it must try again. */
static bool prefetch_line(sim_sm *sm, uint32_t number, uint64_t line) {
  enum { ALL_SECTORS = 15 };
  bf_sim_request request = {0};
  if (!port_is_free(sm))
    return false;
  bf_sim_l1_outcome outcome =
      bf_sim_l1_load(sm->l1, line, ALL_SECTORS, TOKEN_PREFETCH | number, &request);
  if (outcome == BF_SIM_L1_FULL)
    return false;
  take_port(sm);
  if (outcome == BF_SIM_L1_MISS) {
    sm->chip->result->prefetches++;
    send(sm, &request);
  }
  return true;
}

/* The prefetcher of one unit looks at one address. */
static void scan(sim_sm *sm, uint32_t node) {
  const plan_node *plan = &sm->chip->plan->node[node];
  sm_unit *unit = &sm->unit[plan->unit];
  const bf_rgpu_setup *setup = sm->chip->plan->setup;
  uint64_t address;
  if (!next_to_scan(sm, node, &address))
    return;
  bool is_inside =
      address >= BF_RGPU_GLOBAL_BASE && address - BF_RGPU_GLOBAL_BASE < setup->global_bytes;
  bool is_new = line_of(address) != unit->scanned_line && line_of(address) != unit->line;
  if (is_inside && is_new && !prefetch_line(sm, plan->unit, line_of(address)))
    return;
  unit->scanned_line = line_of(address);
  unit->scanned++;
  sm->has_moved = true;
}

void rgpu_prefetch(sim_sm *sm) {
  const sim_plan *plan = sm->chip->plan;
  for (uint32_t i = 0; i < plan->nodes; i++) {
    const bf_rgpu_node *node = plan->node[i].node;
    if (node->op != BF_RGPU_LD || node->is_shared)
      continue;
    if (node->cache == BF_RGPU_CACHE_CA || node->cache == BF_RGPU_CACHE_CS)
      scan(sm, i);
    else
      ask_ahead(sm, i);
  }
}
