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

/* What happens when it is due. */
typedef enum stage {
  CHANNEL, /* channel `token` may be able to serve a read */
  FETCH,   /* the read of node `token` reaches its channel */
  DATA,    /* its data has come from DRAM */
  READY,   /* the answer of a request leaves for its multiprocessor */
  AGAIN,   /* a load that waits for a hit has gone round the queue of its slice */
} stage;

/* What is due at a cycle is a request, as far as it matters then, so that whatever happens need not
 * look elsewhere, but for data, which have a node: cycle is when it is due and `same` its stage.
 * FETCH: sectors are those that are read. */
typedef bf_sim_request due;

/* A request that waits for data: cycle is when its slice is done with it, and `same` says which
 * sectors it reads from DRAM. */
typedef bf_sim_request node;

/* When a channel is looked at next, and where that stands in the list of its cycle. */
typedef struct channel {
  uint64_t cycle; /* UINT64_MAX: not */
  uint32_t place;
  uint32_t next; /* of those that are looked at in this cycle */
} channel;

/* A request that arrives: what puts those of a cycle in order (multiprocessor, place in the list),
 * and the set of its line. */
typedef struct arrival {
  uint64_t key;
  uint64_t *set;
} arrival;

#define NO_CHANNEL UINT32_MAX

/* A line with a word that floats are added to, and the tick from which on another one can be. */
typedef struct summed {
  uint64_t line, free;
} summed;
enum { SUMMED = 1024 }; /* lines that are remembered; a power of two */

/* How many entries ahead of the one that is worked on the host's memory is asked for. */
enum { AHEAD = 4 };

/* How many cycles ahead lists are asked for. */
enum { SOON = 2 };

struct bf_sim_memory {
  bf_sim_calendar arriving, event; /* of requests, whose cycle is that of their arrival; of dues */
  /* Requests that arrive behind the last cycle of the calendar, in the order in which they were
   * added, and the first cycle of one. */
  bf_sim_request *far;
  uint32_t far_count, far_room;
  uint64_t far_first;
  uint32_t in_flight, most_in_flight; /* requests */
  arrival *arrival;  /* those of a cycle, to put them in order, and behind them room for as many */
  uint32_t arrivals; /* there is room for */
  /* By cycle of the calendar of events: whether data come in it, as bits. */
  uint64_t data[BF_SIM_CALENDAR_CYCLES / 64];
  node *node;
  uint32_t nodes;
  uint32_t *free_node, free_nodes; /* stack of those not in use */
  bool failed;                     /* out of memory */
  channel *channel;
  bf_sim_cache *cache; /* NULL: none */
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
  uint64_t lines_used;                            /* of the cache, that are not empty */
  void (*answer)(void *context, const bf_sim_request *request, uint64_t cycle);
  void *context;
  bf_arena arena;
};

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- What is due, and nodes ---- */

/* Room for `nodes`, in all tables that have an entry for each. */
static int reserve(bf_sim_memory *memory, uint32_t nodes) {
  _Static_assert(sizeof(bf_sim_request) == 32, "two to a line of the host's cache");
  node *made = bf_sim_large_alloc(nodes * sizeof *made);
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
  for (uint32_t i = nodes; i-- > memory->nodes;)
    memory->free_node[memory->free_nodes++] = i;
  memory->nodes = nodes;
  return BF_OK;
}

/* A node for a request that waits for data; UINT32_MAX: out of memory. */
static uint32_t new_node(bf_sim_memory *memory, const bf_sim_request *request, uint64_t served) {
  if (memory->free_nodes == 0 && reserve(memory, 2 * memory->nodes) != BF_OK) {
    memory->failed = true;
    return UINT32_MAX;
  }
  uint32_t index = memory->free_node[--memory->free_nodes];
  node *made = &memory->node[index];
  if (memory->free_nodes >= AHEAD)
    __builtin_prefetch(&memory->node[memory->free_node[memory->free_nodes - AHEAD]], 1);
  *made = *request;
  made->cycle = served;
  return index;
}

/* Sets down that something happens to a request, as far as it matters then, at `cycle`. What is due
 * behind the last cycle of the calendar stands there, and is put back when that comes. */
static inline void post(bf_sim_memory *memory, const bf_sim_request *request, stage next,
                        uint64_t cycle) {
  uint64_t last = memory->event.now + BF_SIM_CALENDAR_CYCLES - 1;
  due *made = bf_sim_calendar_add(&memory->event, cycle < last ? cycle : last, sizeof *made, NULL);
  if (!made)
    return;
  *made = *request;
  made->cycle = cycle;
  made->same = (uint8_t)next;
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

/* Tables, and the channels. */
static int create_tables(const bf_sim_gpu *gpu, bf_sim_memory *memory) {
  enum { FIRST_NODES = 1024 };
  uint64_t most = most_requests(gpu);
  memory->most_in_flight = most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
  memory->far_first = UINT64_MAX;
  memory->slice_free = bf_arena_alloc(&memory->arena, memory->slices * sizeof(uint64_t));
  memory->atomic_free = bf_arena_alloc(&memory->arena, memory->slices * sizeof(uint64_t));
  memory->port_free = bf_arena_alloc(&memory->arena, memory->sms * sizeof(uint64_t));
  memory->summed = bf_arena_alloc(&memory->arena, SUMMED * sizeof *memory->summed);
  memory->waiting = bf_arena_alloc(&memory->arena, memory->slices * sizeof(unsigned));
  memory->channel = bf_arena_alloc(&memory->arena, memory->channels * sizeof *memory->channel);
  if (!memory->slice_free || !memory->atomic_free || !memory->port_free || !memory->summed ||
      !memory->waiting || !memory->channel || reserve(memory, FIRST_NODES) != BF_OK)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < memory->channels; i++)
    memory->channel[i].cycle = UINT64_MAX;
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
  free(memory->far);
  free(memory->arrival);
  free(memory->free_node);
  free(memory->node);
  free(memory);
}

/* ---- The way back ---- */

/* Whether the answer of a request carries data. */
static bool has_data(uint8_t kind) { return kind != BF_SIM_STORE && kind != BF_SIM_REDUCE; }

/* Sends an answer. The sectors of its data pass the port of its multiprocessor one by one; those of
 * copies as fast as the engine asks for them, if that is faster than it is for the first-level
 * cache. */
static inline void send_answer(bf_sim_memory *memory, const bf_sim_request *request) {
  uint64_t leaves = memory->event.now;
  if (has_data(request->kind)) {
    uint64_t *port = &memory->port_free[request->sm];
    *port = later_of(*port, memory->event.now * CYCLE) +
            bf_sim_sectors(request->sectors) *
                (request->is_copy ? memory->copy_ticks : memory->return_ticks);
    leaves = bf_sim_cycle_after(*port);
  }
  memory->in_flight--;
  memory->answer(memory->context, request, leaves + memory->return_cycles + request->later);
}

/* ---- DRAM ---- */

/* Sees to it that a channel is looked at at `cycle`, or before. Where it stood in another list, it
 * goes on standing there without a meaning. */
static void wake_channel(bf_sim_memory *memory, unsigned number, uint64_t cycle) {
  channel *own = &memory->channel[number];
  uint64_t farthest = memory->event.now + BF_SIM_CALENDAR_CYCLES - 1;
  cycle = cycle < farthest ? cycle : farthest;
  if (own->cycle <= cycle)
    return;
  own->cycle = cycle;
  due *made = bf_sim_calendar_add(&memory->event, cycle, sizeof *made, &own->place);
  if (made)
    *made = (due){.cycle = cycle, .token = number, .same = CHANNEL};
}

/* Lets a channel begin all reads that it can in this cycle. */
static void run_channel(bf_sim_memory *memory, unsigned number) {
  uint64_t now = memory->event.now, cycle;
  uint32_t ticket;
  memory->channel[number].cycle = UINT64_MAX;
  while (bf_sim_dram_serve(memory->dram, number, now, &ticket, &cycle)) {
    memory->data[cycle % BF_SIM_CALENDAR_CYCLES / 64] |= UINT64_C(1) << cycle % 64;
    post(memory, &(bf_sim_request){.token = ticket}, DATA, cycle);
  }
  if (cycle != UINT64_MAX)
    wake_channel(memory, number, cycle);
}

/* A read reaches its channel. */
static void fetch(bf_sim_memory *memory, uint64_t line, uint8_t sectors, uint32_t index) {
  unsigned number;
  uint64_t cycle = bf_sim_dram_read(memory->dram, line, sectors, index, memory->event.now, &number);
  if (cycle != UINT64_MAX)
    wake_channel(memory, number, cycle);
}

/* Puts sectors of a line into its set; what has to go for them is written to DRAM if it is dirty.
 */
static void put(bf_sim_memory *memory, uint64_t *set, uint64_t line, uint8_t sectors,
                bool is_dirty) {
  uint64_t evicted = UINT64_MAX;
  if (!sectors)
    return;
  uint8_t dirty = bf_sim_set_fill(memory->cache, set, line, sectors, is_dirty, &evicted);
  memory->lines_used += evicted == 0;
  if (dirty)
    bf_sim_dram_later(memory->dram, evicted, dirty, true, memory->event.now);
}

/* Stores and reductions leave their sectors in the cache, or, without one, write them. */
static void write_sectors(bf_sim_memory *memory, uint64_t *set, uint64_t line, uint8_t sectors) {
  if (memory->cache)
    put(memory, set, line, sectors, true);
  else
    bf_sim_dram_later(memory->dram, line, sectors, true, memory->event.now);
}

/* All sectors of a request have come: its answer leaves as soon as its slice is done with it. */
static void complete(void *context, uint32_t index) {
  bf_sim_memory *memory = context;
  const node *own = &memory->node[index];
  if (own->kind == BF_SIM_ATOMIC)
    write_sectors(memory, memory->cache ? bf_sim_set_of(memory->cache, own->line) : NULL, own->line,
                  own->sectors);
  if (own->cycle > memory->event.now)
    post(memory, own, READY, own->cycle);
  else
    send_answer(memory, own);
  memory->free_node[memory->free_nodes++] = index;
}

/* Sectors have come from DRAM: who waits for them goes on. */
static void take_data(bf_sim_memory *memory, uint32_t index) {
  uint64_t line = memory->node[index].line;
  uint8_t fetched = memory->node[index].same;
  if (!memory->cache) {
    complete(memory, index);
    return;
  }
  put(memory, bf_sim_set_of(memory->cache, line), line, fetched, false);
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
static inline uint64_t pass_slice(bf_sim_memory *memory, const bf_sim_request *request) {
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
static inline uint8_t find_missing(bf_sim_memory *memory, const bf_sim_request *request,
                                   uint64_t *set, uint8_t *present) {
  *present = memory->cache ? bf_sim_set_look(memory->cache, set, request->line) : 0;
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
static void serve_load(bf_sim_memory *memory, const bf_sim_request *request, uint64_t *set,
                       uint64_t served) {
  uint8_t present, missing = find_missing(memory, request, set, &present);
  missing = with_pairs(memory, missing, present);
  if (!missing) {
    if (request->kind == BF_SIM_ATOMIC)
      put(memory, set, request->line, request->sectors, true);
    post(memory, request, READY, served);
    return;
  }
  uint32_t index = new_node(memory, request, served);
  if (index == UINT32_MAX)
    return;
  if (memory->cache)
    missing &= (uint8_t)~bf_sim_flights_wait(&memory->flights, request->line, missing, index);
  memory->node[index].same = missing;
  if (missing)
    post(memory, &(bf_sim_request){.line = request->line, .token = index, .sectors = missing},
         FETCH, served);
}

/* A reduction. What is missing is fetched, but nobody waits for that. */
static void serve_reduction(bf_sim_memory *memory, const bf_sim_request *request, uint64_t *set) {
  uint8_t present, missing = find_missing(memory, request, set, &present);
  if (memory->cache && missing)
    missing &= (uint8_t)~bf_sim_flights_find(&memory->flights, request->line);
  if (missing)
    bf_sim_dram_later(memory->dram, request->line, missing, false, memory->event.now);
  write_sectors(memory, set, request->line, request->sectors);
}

/* A load that waits for a hit, new or come round again: where not all its sectors are there, it
 * goes round the queue of its slice, which has as many entries as GPGPU-Sim gives it. */
static void serve_wait(bf_sim_memory *memory, const bf_sim_request *request, bool is_new,
                       uint64_t served) {
  unsigned *waiting = &memory->waiting[slice_of(memory, request->line)];
  uint8_t sectors = request->sectors;
  bool hits = memory->cache && bf_sim_cache_look(memory->cache, request->line, sectors) == sectors;
  if (hits) {
    *waiting -= !is_new;
    memory->hits += bf_sim_sectors(sectors);
    post(memory, request, READY, served);
    return;
  }
  *waiting += is_new;
  if (*waiting > memory->most_waiting)
    memory->most_waiting = *waiting;
  uint64_t round_cycles = bf_sim_cycle_after(BF_SIM_SLICE_QUEUE * memory->sector_ticks);
  post(memory, request, AGAIN, served + round_cycles);
}

/* A request has reached its slice; set: of its line, NULL without a cache. */
static void serve(bf_sim_memory *memory, const bf_sim_request *request, uint64_t *set) {
  uint64_t served = pass_slice(memory, request);
  switch ((bf_sim_request_kind)request->kind) {
  case BF_SIM_LOAD:
  case BF_SIM_PAST:
  case BF_SIM_ATOMIC:
    serve_load(memory, request, set, served);
    return;
  case BF_SIM_STORE:
    write_sectors(memory, set, request->line, request->sectors);
    break;
  case BF_SIM_REDUCE:
    serve_reduction(memory, request, set);
    break;
  case BF_SIM_WAIT:
    serve_wait(memory, request, true, served);
    return;
  case BF_SIM_NEWS: /* these never come here */
  case BF_SIM_LANDED:
    break;
  }
  post(memory, request, READY, served);
}

/* ---- Order ---- */

/* The end of the run of ascending keys that begins at `from`. */
static uint32_t run_end(const arrival *all, uint32_t from, uint32_t count) {
  while (from + 1 < count && all[from].key < all[from + 1].key)
    from++;
  return from + 1 < count ? from + 1 : count;
}

/* Merges the runs [from, middle) and [middle, end), by way of a spare array. */
static void merge(arrival *all, uint32_t from, uint32_t middle, uint32_t end, arrival *spare) {
  uint32_t left = middle - from, i = 0, next = from;
  memcpy(spare, &all[from], left * sizeof *spare);
  while (i < left && middle < end)
    all[next++] = all[middle].key < spare[i].key ? all[middle++] : spare[i++];
  memcpy(&all[next], &spare[i], (left - i) * sizeof *spare);
}

/* Puts arrivals in order. Each span has added its own by multiprocessor, so there are few runs. */
static void sort(arrival *all, uint32_t count, arrival *spare) {
  for (uint32_t first; (first = run_end(all, 0, count)) < count;)
    for (uint32_t from = 0; first < count; first = run_end(all, from, count)) {
      uint32_t end = run_end(all, first, count);
      merge(all, from, first, end, spare);
      from = end;
      if (from >= count)
        break;
    }
}

/* Room for so many arrivals, and as many while they are put in order. */
static bool reserve_arrivals(bf_sim_memory *memory, uint32_t count) {
  if (count <= memory->arrivals)
    return true;
  uint32_t room = 2 * count;
  arrival *made = realloc(memory->arrival, 2 * room * sizeof *made);
  if (!made)
    return false;
  memory->arrival = made;
  memory->arrivals = room;
  return true;
}

/* Puts the requests that arrive in this cycle in order, and asks the host's memory for what they
 * will be looked up in. How many there are. */
static uint32_t sort_arriving(bf_sim_memory *memory, const bf_sim_request *request,
                              uint32_t count) {
  bool is_sorted = true;
  if (!reserve_arrivals(memory, count)) {
    memory->failed = true;
    return 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    arrival *own = &memory->arrival[i];
    own->set = NULL;
    if (memory->cache) {
      own->set = bf_sim_set_of(memory->cache, request[i].line);
      bf_sim_set_prefetch(memory->cache, own->set);
      bf_sim_flights_prefetch(&memory->flights, request[i].line);
    }
    own->key = (uint64_t)request[i].sm << 32 | i;
    is_sorted = is_sorted && (!i || own[-1].key < own->key);
  }
  if (!is_sorted)
    sort(memory->arrival, count, memory->arrival + memory->arrivals);
  return count;
}

/* All requests that arrive in this cycle. */
static void serve_arriving(bf_sim_memory *memory) {
  const bf_sim_calendar_list *list = bf_sim_calendar_today(&memory->arriving);
  const bf_sim_request *request = list->item;
  uint32_t count = sort_arriving(memory, request, list->count);
  for (uint32_t i = 0; memory->cache && i < count; i++)
    bf_sim_flights_prefetch_entry(&memory->flights, request[i].line);
  for (uint32_t i = 0; i < count; i++)
    serve(memory, &request[(uint32_t)memory->arrival[i].key], memory->arrival[i].set);
  bf_sim_calendar_clear(&memory->arriving);
}

/* A load that waits for a hit has come round. */
static void serve_again(bf_sim_memory *memory, const due *own) {
  bf_sim_request request = *own;
  request.same = 0;
  serve_wait(memory, &request, false, pass_slice(memory, &request));
}

/* An event of this cycle, other than those of channels. */
static void happen(bf_sim_memory *memory, const due *own) {
  switch ((stage)own->same) {
  case FETCH:
    fetch(memory, own->line, own->sectors, own->token);
    break;
  case DATA:
    take_data(memory, own->token);
    break;
  case READY:
    send_answer(memory, own);
    break;
  case AGAIN:
    serve_again(memory, own);
    break;
  case CHANNEL:
    break;
  }
}

/* Asks the host's memory for what data behind event i of a list will need. */
static void prefetch_data(const bf_sim_memory *memory, const due *list, uint32_t count,
                          uint32_t i) {
  if (i + 3 * AHEAD < count && list[i + 3 * AHEAD].same == DATA)
    __builtin_prefetch(&memory->node[list[i + 3 * AHEAD].token]);
  if (i + 2 * AHEAD < count && memory->cache && list[i + 2 * AHEAD].same == DATA) {
    uint64_t line = memory->node[list[i + 2 * AHEAD].token].line;
    bf_sim_set_prefetch(memory->cache, bf_sim_set_of(memory->cache, line));
    bf_sim_flights_prefetch(&memory->flights, line);
  }
  if (i + AHEAD < count && memory->cache && list[i + AHEAD].same == DATA)
    bf_sim_flights_prefetch_entry(&memory->flights, memory->node[list[i + AHEAD].token].line);
}

/* Puts back what is due later than the list that it stands in. */
static void put_back(bf_sim_memory *memory, const due *own) {
  bf_sim_request kept = *own;
  post(memory, &kept, (stage)kept.same, kept.cycle);
}

/* All events of this cycle, also those that are set down for it meanwhile; channels come last, when
 * all reads that reach them in this cycle are there. */
static void run_events(bf_sim_memory *memory) {
  const bf_sim_calendar_list *list = bf_sim_calendar_today(&memory->event);
  uint32_t first = NO_CHANNEL;
  uint64_t *data = &memory->data[memory->event.now % BF_SIM_CALENDAR_CYCLES / 64];
  uint64_t today = UINT64_C(1) << memory->event.now % 64;
  bool has_data = *data & today;
  *data &= ~today;
  for (uint32_t i = 0; i < list->count; i++) {
    const due *all = list->item,
              *own = &all[i]; /* the list moves only after what it says is read */
    if (has_data)
      prefetch_data(memory, all, list->count, i);
    if (own->cycle > memory->event.now) {
      put_back(memory, own);
    } else if (own->same != CHANNEL) {
      happen(memory, own);
    } else if (memory->channel[own->token].cycle == memory->event.now &&
               memory->channel[own->token].place == i) {
      memory->channel[own->token].next = first;
      first = own->token;
    }
  }
  bf_sim_calendar_clear(&memory->event);
  for (uint32_t next; first != NO_CHANNEL; first = next) {
    next = memory->channel[first].next;
    run_channel(memory, first);
  }
}

/* ---- What the multiprocessors see ---- */

/* Keeps a request that arrives behind the last cycle of the calendar. */
static bool keep_far(bf_sim_memory *memory, const bf_sim_request *request) {
  if (memory->far_count == memory->far_room) {
    uint32_t room = memory->far_room ? 2 * memory->far_room : 64;
    bf_sim_request *made = realloc(memory->far, room * sizeof *made);
    if (!made)
      return false;
    memory->far = made;
    memory->far_room = room;
  }
  memory->far[memory->far_count++] = *request;
  if (request->cycle < memory->far_first)
    memory->far_first = request->cycle;
  return true;
}

/* Whether a cycle is one of the calendar. */
static bool is_near(const bf_sim_memory *memory, uint64_t cycle) {
  return cycle - memory->arriving.now < BF_SIM_CALENDAR_CYCLES;
}

/* Adds a request to the calendar, which notes it where there is no memory. */
static void add_near(bf_sim_memory *memory, const bf_sim_request *request, uint64_t cycle) {
  bf_sim_request *made = bf_sim_calendar_add(&memory->arriving, cycle, sizeof *made, NULL);
  if (!made)
    return;
  *made = *request;
  made->cycle = cycle;
}

/* Moves requests into the calendar that it has come near to, before later ones of their cycles are
 * added. */
static void bring_near(bf_sim_memory *memory) {
  uint32_t kept = 0;
  if (!is_near(memory, memory->far_first))
    return;
  memory->far_first = UINT64_MAX;
  for (uint32_t i = 0; i < memory->far_count; i++) {
    bf_sim_request own = memory->far[i];
    if (is_near(memory, own.cycle)) {
      add_near(memory, &own, own.cycle);
      continue;
    }
    memory->far[kept++] = own;
    memory->far_first = own.cycle < memory->far_first ? own.cycle : memory->far_first;
  }
  memory->far_count = kept;
}

int bf_sim_memory_add_all(bf_sim_memory *memory, const bf_sim_request *request, size_t count) {
  if (count > memory->most_in_flight - memory->in_flight)
    return BF_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    assert(request[i].sm < memory->sms);
    memory->in_flight++;
    uint64_t cycle = later_of(request[i].cycle + memory->request_cycles, memory->until);
    if (is_near(memory, cycle)) {
      add_near(memory, &request[i], cycle);
      continue;
    }
    bf_sim_request own = request[i];
    own.cycle = cycle;
    if (!keep_far(memory, &own))
      return BF_NO_MEMORY;
  }
  return memory->arriving.failed ? BF_NO_MEMORY : BF_OK;
}

int bf_sim_memory_add(bf_sim_memory *memory, const bf_sim_request *request) {
  return bf_sim_memory_add_all(memory, request, 1);
}

/* The cycle of the next event or arrival. */
static uint64_t next_cycle(const bf_sim_memory *memory) {
  uint64_t event = bf_sim_calendar_next(&memory->event);
  uint64_t arriving = bf_sim_calendar_next(&memory->arriving);
  uint64_t next = event < arriving ? event : arriving;
  return next < memory->far_first ? next : memory->far_first;
}

/* Moves both calendars on. */
static void move_to(bf_sim_memory *memory, uint64_t cycle) {
  memory->event.now = memory->arriving.now = cycle;
  bring_near(memory);
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
    bf_sim_calendar_prefetch(&memory->event, cycle + SOON, sizeof(due));
    bf_sim_calendar_prefetch(&memory->arriving, cycle + SOON, sizeof(bf_sim_request));
    run_events(memory);
    serve_arriving(memory);
  }
  move_to(memory, memory->until);
  bool has_failed = memory->failed || memory->arriving.failed || memory->event.failed;
  return has_failed ? BF_NO_MEMORY : BF_OK;
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

double bf_sim_memory_used(const bf_sim_memory *memory) {
  const bf_sim_cache *cache = memory->cache;
  return cache ? (double)memory->lines_used / (double)(cache->sets.parts * cache->ways) : 1;
}

void bf_sim_memory_count(const bf_sim_memory *memory, bf_sim_result *result) {
  result->l2_hits += memory->hits;
  result->l2_misses += memory->misses;
  bf_sim_dram_count(memory->dram, result);
}
