/* Memory as all multiprocessors share it: slices of the second-level cache, the way back, and DRAM
 * behind it. docs/sim_memory.md explains the model.
 *
 * Everything happens at a cycle of one of two calendars: requests that are on their way to the
 * slices, and events. Within a cycle events come first, in the order in which they were set down,
 * then requests, by multiprocessor. Neither depends on how the caller cuts time into spans, so
 * answers do not either. */
#include "sim/cache.h"
#include "sim/calendar.h"
#include "sim/dram.h"
#include "sim/flight.h"
#include "sim/large.h"
#include "sim/spread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CYCLE (UINT64_C(1) << BF_SIM_TICK_BITS)

/* What happens to a node when it is due. The first nodes belong to the channels, one each. */
typedef enum stage {
  CHANNEL, /* the channel may be able to serve a read */
  FETCH,   /* the read reaches its channel */
  DATA,    /* its data has come from DRAM */
  READY,   /* it leaves for its multiprocessor */
  AGAIN,   /* a load that waits for a hit has gone round the queue of its slice */
  LATER,   /* nothing yet */
} stage;

/* A request that arrives, and what puts those of a cycle in order: multiprocessor, order. */
typedef struct arrival {
  uint64_t key;
  uint32_t node;
} arrival;

/* A line with a word that floats are added to, and the tick from which on another one can be. */
typedef struct summed {
  uint64_t line, free;
} summed;
enum { SUMMED = 1024 }; /* lines that are remembered; a power of two */

/* How many entries ahead of the one that is worked on the host's memory is asked for. */
enum { AHEAD = 4 };

struct bf_sim_memory {
  bf_sim_calendar arriving, event;
  bf_sim_node *node; /* of channels, then of requests in flight */
  arrival *arrival;  /* those of a cycle, to put them in order */
  uint32_t arrivals; /* there is room for */
  uint32_t nodes, most_nodes;
  uint32_t *free_node, free_nodes; /* stack of those not in use */
  uint32_t order;                  /* requests added, modulo 2^32 */
  bf_sim_cache *cache;             /* NULL: none */
  bf_sim_flights flights;
  bf_sim_dram *dram;
  unsigned slices, channels, sms;
  bf_sim_parts over_slices;
  unsigned atomic_lines; /* 0: slices do atomics */
  bool reads_pairs;      /* of sectors, from DRAM */
  uint64_t request_cycles, return_cycles;
  uint64_t sector_ticks, atomic_ticks;
  uint64_t float_ticks; /* between two additions of floats to a word; 0: not looked at */
  summed *summed;
  uint64_t return_ticks, copy_ticks; /* of a sector on its way back, and of one of a copy */
  uint64_t *slice_free, *atomic_free, *port_free; /* in ticks */
  unsigned *waiting, most_waiting;                /* loads that wait for a hit, by slice */
  uint64_t until;                                 /* of the last call */
  uint64_t hits, misses;                          /* sectors of loads and atomics */
  void (*answer)(void *context, const bf_sim_request *request, uint64_t cycle);
  void *context;
  bf_arena arena;
};

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- Nodes ---- */

/* Room for `nodes`, in all tables that have an entry for each. */
static int reserve(bf_sim_memory *memory, uint32_t nodes) {
  enum { HOST_LINE_BYTES = 64 };
  _Static_assert(sizeof(bf_sim_node) == HOST_LINE_BYTES, "a node is a line of the host's cache");
  bf_sim_node *made = bf_sim_large_alloc(nodes * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  if (memory->nodes)
    memcpy(made, memory->node, memory->nodes * sizeof *made);
  free(memory->node);
  memory->node = made;
  uint32_t *unused = realloc(memory->free_node, nodes * sizeof *unused);
  if (!unused)
    return BF_NO_MEMORY;
  memory->free_node = unused;
  BF_TRY(bf_sim_flights_reserve(&memory->flights, nodes, nodes));
  BF_TRY(bf_sim_dram_reserve(memory->dram, nodes));
  for (uint32_t i = nodes; i-- > later_of(memory->nodes, memory->channels);)
    memory->free_node[memory->free_nodes++] = i;
  memory->nodes = nodes;
  return BF_OK;
}

/* Twice the room, up to the most. */
static int grow(bf_sim_memory *memory) {
  if (memory->nodes == memory->most_nodes)
    return BF_NO_MEMORY;
  bool is_last = memory->nodes > memory->most_nodes / 2;
  return reserve(memory, is_last ? memory->most_nodes : 2 * memory->nodes);
}

/* Gives back the node of a request that is done. */
static void release(bf_sim_memory *memory, uint32_t index) {
  memory->free_node[memory->free_nodes++] = index;
}

/* Sets down what happens to a node at `cycle`. */
static void post(bf_sim_memory *memory, uint32_t index, stage next, uint64_t cycle) {
  memory->node[index].stage = (uint8_t)next;
  memory->node[index].due = cycle;
  bf_sim_calendar_add(&memory->event, index, cycle);
}

/* ---- Creation ---- */

/* Requests that multiprocessors can have in flight: the lines of loads and atomics that are not
 * answered yet and of accesses that wait for the load/store unit, lines on their way to first-level
 * caches, each in up to four requests, and stores, of which four can leave in a cycle, on their way
 * here. */
static uint64_t most_requests(const bf_sim_gpu *gpu) {
  uint64_t of_one = 2 * BF_EMU_LANES * (gpu->global_queue + gpu->shared_queue) +
                    4 * gpu->l1_misses + 4 * (gpu->request_cycles + gpu->return_cycles);
  return gpu->sms * of_one;
}

/* The cache, if there is one. */
static int create_cache(const bf_sim_gpu *gpu, bf_sim_memory *memory, bf_diagnostic *diagnostic) {
  uint64_t lines = gpu->l2_bytes / BF_SIM_LINE_BYTES / gpu->l2_ways * gpu->l2_ways;
  if (gpu->l2_bytes == 0)
    return BF_OK;
  if (lines == 0)
    return bf_fail(
        diagnostic, BF_BAD_INPUT, "l2_bytes=%llu does not hold l2_ways=%llu lines of %d bytes",
        (unsigned long long)gpu->l2_bytes, (unsigned long long)gpu->l2_ways, BF_SIM_LINE_BYTES);
  return bf_sim_cache_create(lines, (unsigned)gpu->l2_ways, &memory->cache, diagnostic);
}

/* Tables, and the nodes of the channels. */
static int create_tables(const bf_sim_gpu *gpu, bf_sim_memory *memory) {
  enum { FIRST_NODES = 1024 };
  uint64_t most = memory->channels + most_requests(gpu);
  memory->most_nodes = most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
  memory->slice_free = bf_arena_alloc(&memory->arena, memory->slices * sizeof(uint64_t));
  memory->atomic_free = bf_arena_alloc(&memory->arena, memory->slices * sizeof(uint64_t));
  memory->port_free = bf_arena_alloc(&memory->arena, memory->sms * sizeof(uint64_t));
  memory->summed = bf_arena_alloc(&memory->arena, SUMMED * sizeof *memory->summed);
  memory->waiting = bf_arena_alloc(&memory->arena, memory->slices * sizeof(unsigned));
  uint32_t nodes = memory->channels + FIRST_NODES;
  if (!memory->slice_free || !memory->atomic_free || !memory->port_free || !memory->summed ||
      !memory->waiting ||
      reserve(memory, nodes < memory->most_nodes ? nodes : memory->most_nodes) != BF_OK)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < memory->channels; i++)
    memory->node[i] = (bf_sim_node){.stage = CHANNEL, .due = UINT64_MAX};
  return BF_OK;
}

int bf_sim_memory_create(const bf_sim_gpu *gpu, bf_sim_memory **memory, bf_diagnostic *diagnostic) {
  bf_sim_memory *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->slices = (unsigned)gpu->l2_slices;
  made->over_slices = bf_sim_parts_of(made->slices);
  made->atomic_lines = gpu->l2_atomics == BF_SIM_ATOMICS_WORDS ? (unsigned)gpu->l2_atomic_lines : 0;
  made->channels = (unsigned)gpu->dram_channels;
  made->sms = (unsigned)gpu->sms;
  made->reads_pairs = gpu->dram_fetch != 0;
  made->request_cycles = gpu->request_cycles;
  made->return_cycles = gpu->return_cycles;
  made->sector_ticks = bf_sim_ticks(gpu->l2_sector_cycles);
  made->atomic_ticks = bf_sim_ticks(gpu->l2_atomic_cycles);
  made->float_ticks = bf_sim_ticks(gpu->l2_atomic_float_cycles);
  made->return_ticks = bf_sim_ticks(BF_SIM_SECTOR_BYTES / gpu->return_bytes_per_cycle);
  made->copy_ticks = bf_sim_ticks(gpu->copy_line_cycles * BF_SIM_SECTOR_BYTES / BF_SIM_LINE_BYTES);
  if (made->copy_ticks > made->return_ticks)
    made->copy_ticks = made->return_ticks;
  int error = create_cache(gpu, made, diagnostic);
  if (!error)
    error = bf_sim_dram_create(gpu, &made->dram, diagnostic);
  if (!error && create_tables(gpu, made) != BF_OK)
    error = bf_no_memory(diagnostic);
  if (error) {
    bf_sim_memory_free(made);
    return error;
  }
  *memory = made;
  return BF_OK;
}

void bf_sim_memory_free(bf_sim_memory *memory) {
  if (!memory)
    return;
  bf_sim_cache_free(memory->cache);
  bf_sim_flights_free(&memory->flights);
  bf_sim_dram_free(memory->dram);
  bf_arena_free(&memory->arena);
  bf_sim_calendar_free(&memory->arriving);
  bf_sim_calendar_free(&memory->event);
  free(memory->arrival);
  free(memory->free_node);
  free(memory->node);
  free(memory);
}

/* ---- The way back ---- */

/* Whether the answer of a request carries data. */
static bool has_data(const bf_sim_request *request) {
  return request->kind != BF_SIM_STORE && request->kind != BF_SIM_REDUCE;
}

/* Sends the answer of a request. The sectors of its data pass the port of its multiprocessor one by
 * one; those of copies as fast as the engine asks for them, if that is faster than it is for the
 * first-level cache. */
static void send_answer(bf_sim_memory *memory, uint32_t index) {
  const bf_sim_request *request = &memory->node[index].request;
  uint64_t leaves = memory->event.now;
  if (has_data(request)) {
    uint64_t *port = &memory->port_free[request->sm];
    *port = later_of(*port, memory->event.now * CYCLE) +
            bf_sim_sectors(request->sectors) *
                (request->is_copy ? memory->copy_ticks : memory->return_ticks);
    leaves = bf_sim_cycle_after(*port);
  }
  memory->answer(memory->context, request, leaves + memory->return_cycles + request->later);
  release(memory, index);
}

/* A request has its data: it leaves as soon as its slice is done with it. */
static void finish(bf_sim_memory *memory, uint32_t index) {
  if (memory->node[index].served > memory->event.now)
    post(memory, index, READY, memory->node[index].served);
  else
    send_answer(memory, index);
}

/* ---- DRAM ---- */

/* Sees to it that a channel is looked at at `cycle`, or before. Where it stood in another list, it
 * goes on standing there without a meaning. */
static void wake_channel(bf_sim_memory *memory, unsigned channel, uint64_t cycle) {
  bf_sim_node *node = &memory->node[channel];
  uint64_t farthest = memory->event.now + BF_SIM_CALENDAR_CYCLES - 1;
  cycle = cycle < farthest ? cycle : farthest;
  if (node->due <= cycle)
    return;
  node->due = cycle;
  node->next = bf_sim_calendar_add(&memory->event, channel, cycle);
}

/* Lets a channel begin all reads that it can in this cycle. */
static void run_channel(bf_sim_memory *memory, unsigned channel) {
  uint64_t now = memory->event.now, cycle;
  uint32_t ticket;
  memory->node[channel].due = UINT64_MAX;
  while (bf_sim_dram_serve(memory->dram, channel, now, &ticket, &cycle))
    post(memory, ticket, DATA, cycle);
  if (cycle != UINT64_MAX)
    wake_channel(memory, channel, cycle);
}

/* A read reaches its channel. */
static void fetch(bf_sim_memory *memory, uint32_t index) {
  const bf_sim_node *node = &memory->node[index];
  unsigned channel;
  uint64_t cycle = bf_sim_dram_read(memory->dram, node->request.line, node->fetched, index,
                                    memory->event.now, &channel);
  if (cycle != UINT64_MAX)
    wake_channel(memory, channel, cycle);
}

/* Puts sectors into the cache; what has to go for them is written to DRAM if it is dirty. */
static void put(bf_sim_memory *memory, uint64_t line, uint8_t sectors, bool is_dirty) {
  uint64_t evicted;
  uint8_t dirty;
  bf_sim_cache_fill(memory->cache, line, sectors, is_dirty, &evicted, &dirty);
  if (dirty)
    bf_sim_dram_later(memory->dram, evicted, dirty, true, memory->event.now);
}

/* Stores and reductions leave their sectors in the cache, or, without one, write them. */
static void write_sectors(bf_sim_memory *memory, uint64_t line, uint8_t sectors) {
  if (memory->cache)
    put(memory, line, sectors, true);
  else
    bf_sim_dram_later(memory->dram, line, sectors, true, memory->event.now);
}

/* All sectors of a request have come. */
static void complete(void *context, uint32_t index) {
  bf_sim_memory *memory = context;
  const bf_sim_request *request = &memory->node[index].request;
  if (request->kind == BF_SIM_ATOMIC)
    write_sectors(memory, request->line, request->sectors);
  finish(memory, index);
}

/* Sectors have come from DRAM: who waits for them goes on. */
static void take_data(bf_sim_memory *memory, uint32_t index) {
  uint64_t line = memory->node[index].request.line;
  uint8_t fetched = memory->node[index].fetched;
  if (!memory->cache) {
    complete(memory, index);
    return;
  }
  put(memory, line, fetched, false);
  bf_sim_flights_land(&memory->flights, line, fetched, complete, memory);
}

/* ---- Slices ---- */

/* The slice of a line, or of something else that is dealt out to slices. */
static uint64_t slice_of(const bf_sim_memory *memory, uint64_t index) {
  uint64_t round;
  return bf_sim_parts_spread(&memory->over_slices, index, &round);
}

/* The tick at which additions of floats to a word are done, one behind the other. */
static uint64_t add_floats(bf_sim_memory *memory, const bf_sim_request *request) {
  uint64_t round, now = memory->event.now * CYCLE;
  summed *word = &memory->summed[bf_sim_spread(request->line, SUMMED, &round)];
  if (word->line != request->line)
    *word = (summed){.line = request->line};
  word->free = later_of(word->free, now) + request->same * memory->float_ticks;
  return word->free;
}

/* The cycle at which the slice of a request is done with it. */
static uint64_t pass_slice(bf_sim_memory *memory, const bf_sim_request *request) {
  uint64_t work;
  uint64_t *slice = &memory->slice_free[slice_of(memory, request->line)];
  bool is_atomic = request->kind == BF_SIM_ATOMIC || request->kind == BF_SIM_REDUCE;
  if (is_atomic && memory->atomic_lines)
    slice = &memory->atomic_free[slice_of(memory, request->line / memory->atomic_lines)];
  if (is_atomic)
    work = later_of(request->operations, 1) * memory->atomic_ticks;
  else if (request->kind == BF_SIM_WAIT) /* only looks */
    work = memory->sector_ticks;
  else
    work = bf_sim_sectors(request->sectors) * memory->sector_ticks;
  *slice = later_of(*slice, memory->event.now * CYCLE) + work;
  if (request->same && memory->float_ticks)
    return bf_sim_cycle_after(later_of(*slice, add_floats(memory, request)));
  return bf_sim_cycle_after(*slice);
}

/* The sectors of a request that the cache does not have; *present: those of its line that it has.
 */
static uint8_t find_missing(bf_sim_memory *memory, const bf_sim_request *request,
                            uint8_t *present) {
  enum { ALL_SECTORS = 15 };
  *present = memory->cache ? bf_sim_cache_look(memory->cache, request->line, ALL_SECTORS) : 0;
  uint8_t missing = request->sectors & (uint8_t) ~*present;
  memory->hits += bf_sim_sectors(request->sectors & *present);
  memory->misses += memory->cache ? bf_sim_sectors(missing) : 0;
  return missing;
}

/* What is read from DRAM where sectors are missing, of a line of which others are present. */
static uint8_t with_pairs(const bf_sim_memory *memory, uint8_t missing, uint8_t present) {
  if (!memory->reads_pairs || !memory->cache)
    return missing;
  uint8_t pairs = (uint8_t)((missing & 3 ? 3 : 0) | (missing & 12 ? 12 : 0));
  return pairs & (uint8_t)~present;
}

/* A request that is answered. What is missing and not on its way yet is fetched. */
static void serve_load(bf_sim_memory *memory, uint32_t index) {
  bf_sim_node *node = &memory->node[index];
  uint8_t present, missing = find_missing(memory, &node->request, &present);
  missing = with_pairs(memory, missing, present);
  node->fetched = missing;
  if (!missing) {
    if (node->request.kind == BF_SIM_ATOMIC)
      put(memory, node->request.line, node->request.sectors, true);
    post(memory, index, READY, node->served);
    return;
  }
  if (memory->cache) {
    node->fetched &=
        (uint8_t)~bf_sim_flights_wait(&memory->flights, node->request.line, missing, index);
  }
  if (node->fetched)
    post(memory, index, FETCH, node->served);
}

/* A reduction. What is missing is fetched, but nobody waits for that. */
static void serve_reduction(bf_sim_memory *memory, const bf_sim_request *request) {
  uint8_t present, missing = find_missing(memory, request, &present);
  if (memory->cache && missing)
    missing &= (uint8_t)~bf_sim_flights_find(&memory->flights, request->line);
  if (missing)
    bf_sim_dram_later(memory->dram, request->line, missing, false, memory->event.now);
  write_sectors(memory, request->line, request->sectors);
}

/* A load that waits for a hit, new or come round again: where not all its sectors are there, it
 * goes round the queue of its slice, which has as many entries as GPGPU-Sim gives it. */
static void serve_wait(bf_sim_memory *memory, uint32_t index) {
  bf_sim_node *node = &memory->node[index];
  unsigned *waiting = &memory->waiting[slice_of(memory, node->request.line)];
  uint8_t sectors = node->request.sectors;
  bool is_new = node->stage != AGAIN;
  bool hits =
      memory->cache && bf_sim_cache_look(memory->cache, node->request.line, sectors) == sectors;
  if (hits) {
    *waiting -= !is_new;
    memory->hits += bf_sim_sectors(sectors);
    post(memory, index, READY, node->served);
    return;
  }
  *waiting += is_new;
  if (*waiting > memory->most_waiting)
    memory->most_waiting = *waiting;
  uint64_t round_cycles = bf_sim_cycle_after(BF_SIM_SLICE_QUEUE * memory->sector_ticks);
  post(memory, index, AGAIN, node->served + round_cycles);
}

/* A request has reached its slice. */
static void serve(bf_sim_memory *memory, uint32_t index) {
  bf_sim_node *node = &memory->node[index];
  node->served = pass_slice(memory, &node->request);
  switch ((bf_sim_request_kind)node->request.kind) {
  case BF_SIM_LOAD:
  case BF_SIM_PAST:
  case BF_SIM_ATOMIC:
    serve_load(memory, index);
    return;
  case BF_SIM_STORE:
    write_sectors(memory, node->request.line, node->request.sectors);
    break;
  case BF_SIM_REDUCE:
    serve_reduction(memory, &node->request);
    break;
  case BF_SIM_WAIT:
    serve_wait(memory, index);
    return;
  case BF_SIM_NEWS: /* these never come here */
  case BF_SIM_LANDED:
    break;
  }
  post(memory, index, READY, node->served);
}

/* ---- Order ---- */

static int by_key(const void *a, const void *b) {
  const arrival *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Asks the host's memory for what a request will be looked up in. */
static void prefetch_tables(const bf_sim_memory *memory, uint64_t line) {
  if (memory->cache) {
    bf_sim_set_prefetch(memory->cache, bf_sim_set_of(memory->cache, line));
    bf_sim_flights_prefetch(&memory->flights, line);
  }
}

/* Room for so many arrivals. */
static bool reserve_arrivals(bf_sim_memory *memory, uint32_t count) {
  if (count <= memory->arrivals)
    return true;
  uint32_t room = 2 * count;
  arrival *made = realloc(memory->arrival, room * sizeof *made);
  if (!made)
    return false;
  memory->arrival = made;
  memory->arrivals = room;
  return true;
}

/* Takes the requests that arrive in this cycle, in order; those that are due later go back. How
 * many there are. */
static uint32_t take_arriving(bf_sim_memory *memory) {
  const bf_sim_calendar_list *list = bf_sim_calendar_today(&memory->arriving);
  uint32_t taken = 0, listed = list->count;
  bool is_sorted = true;
  if (!reserve_arrivals(memory, listed)) {
    memory->arriving.failed = true;
    return 0;
  }
  for (uint32_t i = 0; i < listed; i++) {
    uint32_t index = list->node[i];
    const bf_sim_node *node = &memory->node[index];
    if (i + AHEAD < listed)
      __builtin_prefetch(&memory->node[list->node[i + AHEAD]]);
    if (node->due > memory->arriving.now) {
      bf_sim_calendar_add(&memory->arriving, index, node->due);
      continue;
    }
    prefetch_tables(memory, node->request.line);
    uint32_t order = node->order - memory->order; /* all of them are behind memory->order */
    uint64_t key = (uint64_t)node->request.sm << 32 | order;
    is_sorted = is_sorted && (!taken || memory->arrival[taken - 1].key < key);
    memory->arrival[taken++] = (arrival){.key = key, .node = index};
  }
  bf_sim_calendar_clear(&memory->arriving);
  if (!is_sorted)
    qsort(memory->arrival, taken, sizeof *memory->arrival, by_key);
  return taken;
}

/* All requests that arrive in this cycle. */
static void serve_arriving(bf_sim_memory *memory) {
  uint32_t count = take_arriving(memory);
  for (uint32_t i = 0; memory->cache && i < count; i++)
    bf_sim_flights_prefetch_entry(&memory->flights,
                                  memory->node[memory->arrival[i].node].request.line);
  for (uint32_t i = 0; i < count; i++)
    serve(memory, memory->arrival[i].node);
}

/* An event of this cycle, other than those of channels; what is due later goes back. */
static void happen(bf_sim_memory *memory, uint32_t index) {
  switch (memory->node[index].due > memory->event.now ? LATER : memory->node[index].stage) {
  case LATER:
    bf_sim_calendar_add(&memory->event, index, memory->node[index].due);
    break;
  case FETCH:
    fetch(memory, index);
    break;
  case DATA:
    take_data(memory, index);
    break;
  case READY:
    send_answer(memory, index);
    break;
  case AGAIN:
    serve(memory, index);
    break;
  }
}

/* Asks the host's memory for what events behind event i of a list will need. */
static void prefetch_event(const bf_sim_memory *memory, const bf_sim_calendar_list *list,
                           uint32_t i) {
  if (i + 3 * AHEAD < list->count)
    __builtin_prefetch(&memory->node[list->node[i + 3 * AHEAD]]);
  if (i + 2 * AHEAD < list->count) {
    const bf_sim_node *node = &memory->node[list->node[i + 2 * AHEAD]];
    if (node->stage == DATA)
      prefetch_tables(memory, node->request.line);
  }
  if (i + AHEAD < list->count && memory->cache) {
    const bf_sim_node *node = &memory->node[list->node[i + AHEAD]];
    if (node->stage == DATA)
      bf_sim_flights_prefetch_entry(&memory->flights, node->request.line);
  }
}

/* All events of this cycle, also those that are set down for it meanwhile; channels come last, when
 * all reads that reach them in this cycle are there. */
static void run_events(bf_sim_memory *memory) {
  bf_sim_calendar_list *list = bf_sim_calendar_today(&memory->event);
  uint32_t next, channels = BF_SIM_NO_NODE;
  for (uint32_t i = 0; i < list->count; i++) {
    uint32_t index = list->node[i];
    bf_sim_node *node = &memory->node[index];
    prefetch_event(memory, list, i);
    if (node->stage != CHANNEL) {
      happen(memory, index);
    } else if (node->due == memory->event.now && node->next == i) {
      node->next = channels;
      channels = index;
    }
  }
  bf_sim_calendar_clear(&memory->event);
  for (; channels != BF_SIM_NO_NODE; channels = next) {
    next = memory->node[channels].next;
    run_channel(memory, channels);
  }
}

/* ---- What the multiprocessors see ---- */

int bf_sim_memory_add(bf_sim_memory *memory, const bf_sim_request *request) {
  assert(request->sm < memory->sms);
  if (memory->free_nodes == 0)
    BF_TRY(grow(memory));
  uint32_t index = memory->free_node[--memory->free_nodes];
  bf_sim_node *node = &memory->node[index];
  if (memory->free_nodes >= AHEAD)
    __builtin_prefetch(&memory->node[memory->free_node[memory->free_nodes - AHEAD]], 1);
  node->request = *request;
  node->stage = LATER;
  node->order = memory->order++;
  node->due = later_of(request->cycle + memory->request_cycles, memory->until);
  bf_sim_calendar_add(&memory->arriving, index, node->due);
  return memory->arriving.failed ? BF_NO_MEMORY : BF_OK;
}

/* The cycle of the next event or arrival. */
static uint64_t next_cycle(const bf_sim_memory *memory) {
  uint64_t event = bf_sim_calendar_next(&memory->event);
  uint64_t arriving = bf_sim_calendar_next(&memory->arriving);
  return event < arriving ? event : arriving;
}

/* Moves both calendars on. */
static void move_to(bf_sim_memory *memory, uint64_t cycle) {
  memory->event.now = memory->arriving.now = cycle;
}

int bf_sim_memory_advance(bf_sim_memory *memory, uint64_t until,
                          void (*answer)(void *context, const bf_sim_request *request,
                                         uint64_t cycle),
                          void *context) {
  uint64_t cycle;
  memory->until = later_of(memory->until, until);
  memory->answer = answer;
  memory->context = context;
  while ((cycle = next_cycle(memory)) < until) {
    move_to(memory, cycle);
    run_events(memory);
    serve_arriving(memory);
  }
  move_to(memory, memory->until);
  return memory->arriving.failed || memory->event.failed ? BF_NO_MEMORY : BF_OK;
}

uint64_t bf_sim_memory_next(const bf_sim_memory *memory) {
  uint64_t cycle = next_cycle(memory);
  if (cycle != UINT64_MAX)
    return cycle;
  uint64_t busy = bf_sim_dram_free_at(memory->dram);
  for (unsigned i = 0; i < memory->slices; i++)
    busy = later_of(busy, bf_sim_cycle_after(memory->slice_free[i]));
  return busy > memory->until ? busy : UINT64_MAX;
}

unsigned bf_sim_memory_waiting(const bf_sim_memory *memory) {
  unsigned most = 0;
  for (unsigned i = 0; i < memory->slices; i++)
    most = memory->waiting[i] > most ? memory->waiting[i] : most;
  return most;
}

unsigned bf_sim_memory_most_waiting(const bf_sim_memory *memory) { return memory->most_waiting; }

void bf_sim_memory_count(const bf_sim_memory *memory, bf_sim_result *result) {
  result->l2_hits += memory->hits;
  result->l2_misses += memory->misses;
  bf_sim_dram_count(memory->dram, result);
}
