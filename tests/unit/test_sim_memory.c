/* Global memory of the simulator: caches against lists, the first-level cache's outcomes, latencies
 * and rates that follow from the parameters, rows and queues of DRAM, and that answers do not
 * depend on how time is cut into spans. */
#include "random.h"
#include "sim/flight.h"
#include "sim/hierarchy.h"
#include "sim/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 20000, NOT_YET = -1 };

/* A GPU with all parameters at their defaults. */
static bf_sim_gpu default_gpu(void) {
  bf_sim_gpu gpu = {.name = NULL};
#define X(kind, name, value, least, most, meaning) gpu.name = value;
#include "sim/gpu.def"
#undef X
  return gpu;
}

/* A GPU with global memory of any kind. */
static bf_sim_gpu random_gpu(test_random *random) {
  bf_sim_gpu gpu = default_gpu();
  gpu.sms = 1 + random_below(random, 12);
  gpu.global_queue = 1024;
  gpu.request_cycles = 1 + random_below(random, 120);
  gpu.return_cycles = 1 + random_below(random, 120);
  gpu.return_bytes_per_cycle = 8 + (double)random_below(random, 100) / 3;
  gpu.l2_bytes = random_below(random, 4) ? 2048 * (1 + random_below(random, 300)) : 0;
  gpu.l2_slices = 1 + random_below(random, 9);
  gpu.l2_sector_cycles = 0.1 + (double)random_below(random, 20) / 10;
  gpu.l2_atomic_cycles = 0.1 + (double)random_below(random, 20) / 10;
  gpu.dram_channels = 1 + random_below(random, 9);
  gpu.dram_banks = 1 + random_below(random, 16);
  gpu.dram_row_bytes = 256 * (1 + random_below(random, 16));
  gpu.dram_sector_cycles = 0.1 + (double)random_below(random, 40) / 10;
  gpu.dram_queue = 1 + random_below(random, 40);
  gpu.dram_hit_cycles = 1 + random_below(random, 150);
  gpu.dram_miss_cycles = gpu.dram_hit_cycles + random_below(random, 100);
  gpu.dram_bank_cycles = 1 + random_below(random, 100);
  return gpu;
}

static bf_sim_memory *create(const bf_sim_gpu *gpu) {
  bf_sim_memory *memory;
  bf_diagnostic diagnostic;
  if (bf_sim_memory_create(gpu, &memory, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return memory;
}

static bf_sim_cache *create_cache(uint64_t lines, unsigned ways) {
  bf_sim_cache *cache;
  bf_diagnostic diagnostic;
  if (bf_sim_cache_create(lines, ways, &cache, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return cache;
}

static bf_sim_l1 *create_l1(const bf_sim_gpu *gpu) {
  bf_sim_l1 *l1;
  bf_diagnostic diagnostic;
  if (bf_sim_l1_create(gpu, &l1, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return l1;
}

/* ---- Where things are put ---- */

static void parts_are_used_evenly(void **state) {
  (void)state;
  static const uint64_t parts[] = {1, 2, 3, 6, 8, 24, 80, 384, 1000};
  for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
    uint64_t count = parts[p], round;
    unsigned *seen = calloc(count, sizeof *seen);
    assert_non_null(seen);
    for (uint64_t index = 0; index < 50 * count; index++) {
      uint64_t part = bf_sim_spread(index, count, &round);
      assert_true(part < count && round == index / count);
      assert_int_equal(seen[part], round); /* each part once in a round */
      seen[part]++;
    }
    /* With a stride of the number of parts no part gets more than its double share. */
    memset(seen, 0, count * sizeof *seen);
    for (uint64_t index = 0; index < 50 * count; index++)
      seen[bf_sim_spread(index * count, count, &round)]++;
    for (uint64_t part = 0; part < count; part++)
      assert_in_range(seen[part], 25, 100);
    free(seen);
  }
}

/* ---- Caches against lists ---- */

/* A line as the list has it, with the time of its last use. */
typedef struct listed_line {
  uint64_t line, set, used;
  unsigned present, dirty;
} listed_line;

typedef struct line_list {
  listed_line line[256];
  unsigned count;
  uint64_t sets, ways, time;
} line_list;

/* The set of a line by the formula of docs/sim_memory.md, in floating-point. */
static uint64_t set_by_formula(uint64_t line, uint64_t sets) {
  long double turn = (long double)(line / sets * 0x9e3779b97f4a7c15u) / 18446744073709551616.0L;
  return (line % sets + (uint64_t)(turn * sets)) % sets;
}

static listed_line *find_in_list(line_list *list, uint64_t line) {
  for (unsigned i = 0; i < list->count; i++)
    if (list->line[i].line == line)
      return &list->line[i];
  return NULL;
}

/* Makes room for a line; returns the one that has gone, or zeros. */
static listed_line insert_in_list(line_list *list, uint64_t line) {
  listed_line gone = {0}, *oldest = NULL;
  uint64_t set = set_by_formula(line, list->sets), in_set = 0;
  for (unsigned i = 0; i < list->count; i++)
    if (list->line[i].set == set) {
      in_set++;
      if (!oldest || list->line[i].used < oldest->used)
        oldest = &list->line[i];
    }
  if (in_set == list->ways)
    gone = *oldest;
  else
    oldest = &list->line[list->count++];
  *oldest = (listed_line){.line = line, .set = set};
  return gone;
}

static void caches_do_as_lists_do(void **state) {
  (void)state;
  static const unsigned shape[][2] = {{1, 1}, {8, 1}, {8, 8}, {12, 4}, {96, 16}, {200, 8}, {35, 5}};
  test_random random = {12345};
  for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
    unsigned lines = shape[s][0], ways = shape[s][1];
    bf_sim_cache *cache = create_cache(lines, ways);
    line_list *list = calloc(1, sizeof *list);
    assert_non_null(list);
    list->sets = lines / ways;
    list->ways = ways;
    for (unsigned step = 0; step < 20000; step++) {
      uint64_t line = random_below(&random, lines * 2 + 1) << (step % 3 == 0 ? 20 : 0);
      uint8_t sectors = (uint8_t)(1 + random_below(&random, 15));
      listed_line *known = find_in_list(list, line);
      list->time++;
      if (random_below(&random, 2)) {
        assert_int_equal(bf_sim_cache_look(cache, line, sectors),
                         known ? known->present & sectors : 0);
      } else {
        bool is_dirty = random_below(&random, 2);
        uint64_t evicted = 0;
        uint8_t dirty;
        listed_line gone = known ? (listed_line){0} : insert_in_list(list, line);
        known = find_in_list(list, line);
        known->present |= sectors;
        known->dirty |= is_dirty ? sectors : 0;
        bf_sim_cache_fill(cache, line, sectors, is_dirty, &evicted, &dirty);
        assert_int_equal(dirty, gone.dirty);
        if (dirty)
          assert_int_equal(evicted, gone.line);
      }
      if (known)
        known->used = list->time;
    }
    free(list);
    bf_sim_cache_free(cache);
  }
}

static void impossible_caches_are_refused(void **state) {
  (void)state;
  bf_sim_cache *cache;
  bf_sim_l1 *l1;
  bf_sim_memory *memory;
  bf_diagnostic diagnostic;
  bf_sim_gpu gpu = default_gpu();
  assert_int_equal(bf_sim_cache_create(10, 4, &cache, &diagnostic), BF_BAD_INPUT);
  assert_int_equal(bf_sim_cache_create(0, 4, &cache, &diagnostic), BF_BAD_INPUT);
  assert_int_equal(bf_sim_cache_create(4, 0, &cache, &diagnostic), BF_BAD_INPUT);
  gpu.l1_bytes = 511;
  assert_int_equal(bf_sim_l1_create(&gpu, &l1, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "l1_bytes=511 does not hold l1_ways=4 lines of 128 bytes");
  gpu.l2_bytes = 1000;
  assert_int_equal(bf_sim_memory_create(&gpu, &memory, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message,
                      "l2_bytes=1000 does not hold l2_ways=16 lines of 128 bytes");
}

/* ---- First-level cache ---- */

typedef struct told_tokens {
  uint32_t token[64];
  unsigned count;
} told_tokens;

static void tell(void *context, uint32_t token) {
  told_tokens *told = context;
  assert_true(told->count < 64);
  told->token[told->count++] = token;
}

static bf_sim_request answer_of(uint64_t line, uint8_t sectors, uint32_t token) {
  return (bf_sim_request){.line = line, .sectors = sectors, .token = token, .kind = BF_SIM_LOAD};
}

static void fills_wake_the_tokens_that_are_complete(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.l1_bytes = 16384;
  bf_sim_l1 *l1 = create_l1(&gpu);
  bf_sim_request request, first, second;
  told_tokens told = {.count = 0};
  assert_int_equal(bf_sim_l1_load(l1, 7, 0x3, 1, &first), BF_SIM_L1_MISS);
  assert_true(first.line == 7 && first.sectors == 0x3 && first.token == 1);
  assert_int_equal(first.kind, BF_SIM_LOAD);
  assert_int_equal(bf_sim_l1_load(l1, 7, 0x1, 2, &request), BF_SIM_L1_JOINED);
  assert_int_equal(bf_sim_l1_load(l1, 7, 0x6, 3, &second), BF_SIM_L1_MISS);
  assert_int_equal(second.sectors, 0x4); /* 0x2 is on its way */
  assert_int_equal(bf_sim_l1_load(l1, 7, 0x7, 4, &request), BF_SIM_L1_JOINED);
  assert_int_equal(bf_sim_l1_waiting(l1), 1);
  bf_sim_l1_fill(l1, &first, tell, &told);
  assert_int_equal(told.count, 2);
  assert_true(told.token[0] == 1 && told.token[1] == 2);
  assert_int_equal(bf_sim_l1_load(l1, 7, 0x3, 5, &request), BF_SIM_L1_HIT);
  assert_int_equal(bf_sim_l1_waiting(l1), 1);
  bf_sim_l1_fill(l1, &second, tell, &told);
  assert_int_equal(told.count, 4);
  assert_true(told.token[2] == 3 && told.token[3] == 4);
  assert_int_equal(bf_sim_l1_waiting(l1), 0);
  assert_int_equal(bf_sim_l1_load(l1, 7, 0xf, 6, &first), BF_SIM_L1_MISS);
  assert_int_equal(first.sectors, 0x8);
  bf_sim_result result = {.cycles = 0};
  bf_sim_l1_count(l1, &result);
  assert_int_equal(result.l1_hits, 2 + 3); /* sectors */
  assert_int_equal(result.l1_misses, 2 + 1 + 2 + 3 + 1);
  bf_sim_l1_free(l1);
}

static void lines_in_flight_are_limited(void **state) {
  (void)state;
  for (unsigned cached = 0; cached < 2; cached++) {
    bf_sim_gpu gpu = default_gpu();
    gpu.l1_bytes = cached ? 16384 : 0;
    gpu.l1_misses = 5;
    bf_sim_l1 *l1 = create_l1(&gpu);
    bf_sim_request request[6];
    told_tokens told = {.count = 0};
    for (uint32_t i = 0; i < 5; i++)
      assert_int_equal(bf_sim_l1_load(l1, 100 * i, 1, i, &request[i]), BF_SIM_L1_MISS);
    assert_int_equal(bf_sim_l1_waiting(l1), 5);
    assert_int_equal(bf_sim_l1_load(l1, 1000, 1, 9, &request[5]), BF_SIM_L1_FULL);
    bf_sim_l1_fill(l1, &request[3], tell, &told);
    assert_true(told.count == 1 && told.token[0] == 3);
    assert_int_equal(bf_sim_l1_load(l1, 1000, 1, 9, &request[5]), BF_SIM_L1_MISS);
    assert_int_equal(bf_sim_l1_load(l1, 1001, 1, 10, &request[3]), BF_SIM_L1_FULL);
    /* More of a line that is in flight needs no room where there is a cache. */
    assert_int_equal(bf_sim_l1_load(l1, 100, 2, 11, &request[3]),
                     cached ? BF_SIM_L1_MISS : BF_SIM_L1_FULL);
    bf_sim_l1_free(l1);
  }
}

static void waiting_loads_are_limited(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.l1_bytes = 16384;
  gpu.global_queue = 1;
  bf_sim_l1 *l1 = create_l1(&gpu);
  bf_sim_request request, first;
  told_tokens told = {.count = 0};
  assert_int_equal(bf_sim_l1_load(l1, 3, 1, 0, &first), BF_SIM_L1_MISS);
  for (uint32_t i = 1; i < 64; i++)
    assert_int_equal(bf_sim_l1_load(l1, 3, 1, i, &request), BF_SIM_L1_JOINED);
  assert_int_equal(bf_sim_l1_load(l1, 3, 1, 64, &request), BF_SIM_L1_FULL);
  bf_sim_l1_fill(l1, &first, tell, &told);
  assert_int_equal(told.count, 64);
  for (uint32_t i = 0; i < 64; i++)
    assert_int_equal(told.token[i], i);
  assert_int_equal(bf_sim_l1_load(l1, 3, 1, 64, &request), BF_SIM_L1_HIT);
  bf_sim_l1_free(l1);
}

static void without_a_cache_every_load_misses(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_l1 *l1 = create_l1(&gpu);
  bf_sim_request request;
  told_tokens told = {.count = 0};
  assert_int_equal(bf_sim_l1_load(l1, 3, 0x5, 1, &request), BF_SIM_L1_MISS);
  assert_int_equal(bf_sim_l1_load(l1, 3, 0x5, 2, &request), BF_SIM_L1_MISS);
  assert_int_equal(request.sectors, 0x5);
  bf_sim_l1_fill(l1, &request, tell, &told);
  assert_true(told.count == 1 && told.token[0] == 2);
  assert_int_equal(bf_sim_l1_load(l1, 3, 0x5, 3, &request), BF_SIM_L1_MISS);
  assert_int_equal(bf_sim_l1_waiting(l1), 2);
  bf_sim_l1_free(l1);
}

static void stores_keep_lines_but_bring_none(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.l1_bytes = 512; /* one set of four lines */
  bf_sim_l1 *l1 = create_l1(&gpu);
  bf_sim_request request;
  told_tokens told = {.count = 0};
  bf_sim_l1_store(l1, 9, 1);
  assert_int_equal(bf_sim_l1_load(l1, 9, 1, 0, &request), BF_SIM_L1_MISS);
  for (uint64_t line = 0; line < 4; line++) {
    request = answer_of(line, 1, 1);
    bf_sim_l1_fill(l1, &request, tell, &told);
  }
  bf_sim_l1_store(l1, 0, 1); /* makes line 1 the oldest */
  request = answer_of(4, 1, 1);
  bf_sim_l1_fill(l1, &request, tell, &told);
  assert_int_equal(bf_sim_l1_load(l1, 0, 1, 0, &request), BF_SIM_L1_HIT);
  assert_int_equal(bf_sim_l1_load(l1, 1, 1, 0, &request), BF_SIM_L1_MISS);
  /* An atomic goes past the cache. */
  request = (bf_sim_request){.line = 50, .sectors = 1, .token = 77, .kind = BF_SIM_ATOMIC};
  bf_sim_l1_fill(l1, &request, tell, &told);
  assert_true(told.count == 1 && told.token[0] == 77);
  assert_int_equal(bf_sim_l1_load(l1, 50, 1, 0, &request), BF_SIM_L1_MISS);
  bf_sim_l1_free(l1);
}

/* Random loads and answers: every token that must wait is told once, when its sectors are there. */
static void every_token_is_told_once(void **state) {
  (void)state;
  enum { TOKENS = 4000, LINES = 12 };
  bf_sim_gpu gpu = default_gpu();
  gpu.l1_bytes = 1024;
  gpu.l1_misses = 6;
  bf_sim_l1 *l1 = create_l1(&gpu);
  test_random random = {99};
  static bf_sim_request flying[4 * LINES];
  static struct {
    uint64_t line;
    uint8_t missing;
  } waits[TOKENS];
  memset(waits, 0, sizeof waits);
  unsigned in_flight = 0, full = 0, joined = 0;
  for (uint32_t token = 0; token < TOKENS || in_flight;) {
    if (token < TOKENS && random_below(&random, 4)) {
      uint64_t line = random_below(&random, LINES);
      uint8_t sectors = (uint8_t)(1 + random_below(&random, 15)), coming = 0;
      for (unsigned i = 0; i < in_flight; i++)
        coming |= flying[i].line == line ? flying[i].sectors : 0;
      bf_sim_request *request = &flying[in_flight];
      bf_sim_l1_outcome outcome = bf_sim_l1_load(l1, line, sectors, token, request);
      full += outcome == BF_SIM_L1_FULL;
      joined += outcome == BF_SIM_L1_JOINED;
      if (outcome == BF_SIM_L1_MISS) {
        assert_int_equal(request->sectors & coming, 0);
        assert_int_equal(request->sectors & ~sectors, 0);
        coming |= request->sectors;
        in_flight++;
      }
      if (outcome == BF_SIM_L1_MISS || outcome == BF_SIM_L1_JOINED) {
        waits[token].line = line;
        waits[token].missing = sectors & coming;
        assert_int_not_equal(waits[token].missing, 0);
      }
      token++;
    } else if (in_flight) {
      unsigned i = (unsigned)random_below(&random, in_flight), expected = 0;
      bf_sim_request request = flying[i];
      told_tokens told = {.count = 0};
      flying[i] = flying[--in_flight];
      bf_sim_l1_fill(l1, &request, tell, &told);
      for (uint32_t t = 0; t < token; t++)
        if (waits[t].missing && waits[t].line == request.line) {
          waits[t].missing &= (uint8_t)~request.sectors;
          if (!waits[t].missing) {
            assert_true(expected < told.count);
            assert_int_equal(told.token[expected++], t);
          }
        }
      assert_int_equal(told.count, expected);
    }
  }
  assert_int_equal(bf_sim_l1_waiting(l1), 0);
  assert_true(full > 100 && joined > 100);
  bf_sim_l1_free(l1);
}

/* Tables keep what they have when they grow. */
static void flights_grow(void **state) {
  (void)state;
  bf_sim_flights flights = {.lines = 0};
  told_tokens told = {.count = 0};
  for (uint32_t i = 0; i < 1000; i++) {
    if (flights.lines == flights.most_lines)
      assert_int_equal(bf_sim_flights_reserve(&flights, 2 * i + 1, 2 * i + 1), BF_OK);
    bf_sim_flights_wait(&flights, 64 * i, 1, i);
  }
  for (uint32_t i = 0; i < 1000; i++) {
    told.count = 0;
    assert_int_equal(bf_sim_flights_find(&flights, 64 * i), 1);
    bf_sim_flights_land(&flights, 64 * i, 1, tell, &told);
    assert_true(told.count == 1 && told.token[0] == i);
    assert_int_equal(bf_sim_flights_find(&flights, 64 * i), 0);
  }
  assert_true(flights.lines == 0 && flights.waiters == 0);
  bf_sim_flights_free(&flights);
}

/* ---- Memory: running requests ---- */

/* Requests and, by token, the cycles of their answers. */
typedef struct traffic {
  bf_sim_request request[MOST];
  int64_t answered[MOST];
  unsigned count, answers;
  uint64_t until, last;
} traffic;

static traffic *create_traffic(void) {
  traffic *made = calloc(1, sizeof *made);
  assert_non_null(made);
  return made;
}

static void take_answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  traffic *t = context;
  assert_true(cycle >= t->until);
  assert_true(request->token < t->count);
  assert_memory_equal(request, &t->request[request->token], sizeof *request);
  assert_int_equal(t->answered[request->token], NOT_YET);
  t->answered[request->token] = (int64_t)cycle;
  t->answers++;
  t->last = cycle > t->last ? cycle : t->last;
}

static void ask(traffic *t, uint64_t cycle, unsigned sm, bf_sim_request_kind kind, uint64_t line,
                uint8_t sectors) {
  assert_true(t->count < MOST);
  bf_sim_request *request = &t->request[t->count];
  memset(request, 0, sizeof *request);
  *request = (bf_sim_request){.cycle = cycle,
                              .line = line,
                              .sm = sm,
                              .token = t->count,
                              .sectors = sectors,
                              .kind = (uint8_t)kind,
                              .operations = 1};
  t->count++;
}

/* Moves time on to `until`. */
static void advance(traffic *t, bf_sim_memory *memory, uint64_t until) {
  t->until = until;
  assert_int_equal(bf_sim_memory_advance(memory, until, take_answer, t), BF_OK);
}

/* Adds all requests at once and serves them, skipping idle time. */
static void run(traffic *t, bf_sim_memory *memory) {
  uint64_t next;
  for (unsigned i = 0; i < t->count; i++) {
    t->answered[i] = NOT_YET;
    assert_int_equal(bf_sim_memory_add(memory, &t->request[i]), BF_OK);
  }
  while ((next = bf_sim_memory_next(memory)) != UINT64_MAX) {
    assert_true(next >= t->until);
    advance(t, memory, next + 1);
  }
}

/* Runs traffic on a new memory; adds to result. */
static void run_alone(traffic *t, const bf_sim_gpu *gpu, bf_sim_result *result) {
  bf_sim_memory *memory = create(gpu);
  t->until = t->last = t->answers = 0;
  run(t, memory);
  bf_sim_memory_count(memory, result);
  bf_sim_memory_free(memory);
}

static void latencies_are_those_of_the_parameters(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 2;
  ask(t, 10, 0, BF_SIM_LOAD, 0, 0x1);     /* DRAM, closed row */
  ask(t, 1010, 1, BF_SIM_LOAD, 0, 0x1);   /* second-level cache */
  ask(t, 2010, 0, BF_SIM_LOAD, 0, 0x3);   /* half of it: DRAM, open row */
  ask(t, 3010, 0, BF_SIM_LOAD, 0, 0x3);   /* cache */
  ask(t, 4010, 0, BF_SIM_ATOMIC, 0, 0x1); /* cache */
  t->request[4].operations = 32;
  ask(t, 5010, 0, BF_SIM_STORE, 1, 0xf);
  ask(t, 6010, 0, BF_SIM_LOAD, 1, 0xf); /* what was stored is there */
  ask(t, 7010, 0, BF_SIM_REDUCE, 2, 0xf);
  ask(t, 8010, 0, BF_SIM_LOAD, 2, 0x2);
  run_alone(t, &gpu, &result);
  /* Way there, slice, DRAM with its transfer, way back, port. */
  assert_int_equal(t->answered[0], 10 + 100 + 1 + 160 + 2 + 100 + 1);
  assert_int_equal(t->answered[1], 1010 + 100 + 1 + 100 + 1);
  assert_int_equal(t->answered[2], 2010 + 100 + 2 + 100 + 2 + 100 + 2);
  assert_int_equal(t->answered[3], 3010 + 100 + 2 + 100 + 2);
  assert_int_equal(t->answered[4], 4010 + 100 + 32 + 100 + 1);
  assert_int_equal(t->answered[6], 6010 + 100 + 4 + 100 + 4);
  assert_int_equal(t->answered[8], 8010 + 100 + 1 + 100 + 1);
  assert_int_equal(t->answers, 7); /* stores and reductions have none */
  assert_int_equal(result.l2_hits, 1 + 1 + 2 + 1 + 4 + 1);
  assert_int_equal(result.l2_misses, 1 + 1 + 4);
  assert_int_equal(result.dram_read_bytes, 64); /* the reduction's sectors are read later */
  assert_true(result.dram_row_misses == 1 && result.dram_row_hits == 1);
  free(t);
}

/* Loads of sectors that are on their way wait for them, and no longer. */
static void loads_join_what_is_on_its_way(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 3;
  ask(t, 0, 0, BF_SIM_LOAD, 0, 0x1);
  ask(t, 20, 1, BF_SIM_LOAD, 0, 0x1);
  ask(t, 150, 2, BF_SIM_LOAD, 0, 0x3);
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answered[0], 100 + 1 + 160 + 2 + 100 + 1);
  assert_int_equal(t->answered[1], t->answered[0]);
  /* Its own sector comes from the row that is open by then. */
  assert_int_equal(t->answered[2], 150 + 100 + 2 + 100 + 2 + 100 + 2);
  assert_int_equal(result.dram_read_bytes, 64);
  free(t);
}

static void requests_are_served_by_cycle_then_multiprocessor(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 8;
  gpu.l2_slices = 1;
  ask(t, 50, 5, BF_SIM_ATOMIC, 0, 1); /* brings the line */
  ask(t, 1000, 7, BF_SIM_ATOMIC, 0, 1);
  ask(t, 1000, 2, BF_SIM_ATOMIC, 0, 1);
  ask(t, 1001, 0, BF_SIM_ATOMIC, 0, 1);
  ask(t, 1000, 3, BF_SIM_ATOMIC, 0, 1);
  ask(t, 999, 6, BF_SIM_ATOMIC, 0, 1);
  ask(t, 1000, 2, BF_SIM_ATOMIC, 0, 1);
  for (unsigned i = 0; i < t->count; i++)
    t->request[i].operations = 10;
  run_alone(t, &gpu, &result);
  static const unsigned order[] = {5, 2, 6, 4, 1, 3};
  for (unsigned i = 0; i < 6; i++)
    assert_int_equal(t->answered[order[i]], 999 + 100 + 10 * (i + 1) + 100 + 1);
  free(t);
}

/* ---- Rates ---- */

/* Loads of `lines` lines that follow each other, as many as can be in a cycle; bytes per cycle of
 * the answers in the second half. */
static double stream_rate(const bf_sim_gpu *gpu, unsigned lines, uint64_t span, bool again) {
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  uint64_t start = 0;
  for (unsigned pass = 0; pass <= again; pass++, start = 1000000)
    for (unsigned i = 0; i < lines; i++)
      ask(t, start + i * span / lines, i % (unsigned)gpu->sms, BF_SIM_LOAD, i, 0xf);
  run_alone(t, gpu, &result);
  assert_int_equal(t->answers, t->count);
  int64_t middle = t->answered[t->count - lines / 2];
  double rate = (double)(lines / 2) * BF_SIM_LINE_BYTES / (double)((int64_t)t->last - middle);
  free(t);
  return rate;
}

static void assert_within_percent(double measured, double expected, double percent) {
  if (measured < expected * (1 - percent / 100) || measured > expected * (1 + percent / 100))
    fail_msg("%g is not within %g%% of %g", measured, percent, expected);
}

static void streams_reach_the_rate_of_dram(void **state) {
  (void)state;
  static const double sector_cycles[] = {2, 0.94, 0.3, 7.25};
  for (unsigned i = 0; i < 4; i++)
    for (unsigned cached = 0; cached < 2; cached++) {
      bf_sim_gpu gpu = default_gpu();
      gpu.sms = 64;
      gpu.l2_bytes = cached ? gpu.l2_bytes : 0;
      gpu.l2_sector_cycles = 0.1;
      gpu.return_bytes_per_cycle = 64;
      gpu.dram_sector_cycles = sector_cycles[i];
      double expected = (double)gpu.dram_channels * BF_SIM_SECTOR_BYTES / sector_cycles[i];
      /* Rows take turns fast enough: 64 sectors of a row take longer than to open the next. */
      gpu.dram_bank_cycles = 20;
      gpu.dram_miss_cycles = 115;
      assert_within_percent(stream_rate(&gpu, 18000, 2000, false), expected, 1);
    }
}

static void streams_reach_the_rate_of_slices(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.sms = 64;
  gpu.l2_bytes = 4 << 20;
  gpu.return_bytes_per_cycle = 128;
  gpu.l2_sector_cycles = 0.7;
  assert_within_percent(stream_rate(&gpu, 9000, 100, true), 6 * 32 / 0.7, 1);
}

static void streams_reach_the_rate_of_ports(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.sms = 3;
  gpu.l2_bytes = 4 << 20;
  gpu.return_bytes_per_cycle = 12.5;
  gpu.global_queue = 1000;
  assert_within_percent(stream_rate(&gpu, 9000, 100, true), 3 * 12.5, 1);
}

/* Stores that do not fit into the cache are written to DRAM, at the rate of its buses. */
static void dirty_lines_are_written_back(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 4;
  gpu.global_queue = 1000;
  gpu.l2_bytes = 128 * 1024; /* 1024 lines */
  gpu.l2_sector_cycles = 0.01;
  for (unsigned i = 0; i < 16000; i++)
    ask(t, i / 8, i % 4, BF_SIM_STORE, i, 0xf);
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answers, 0);
  assert_int_equal(result.dram_read_bytes, 0);
  /* All but what is in the cache and in the queues of the channels. */
  uint64_t left = 16000 * 128 - result.dram_written_bytes;
  assert_in_range(left, 1024 * 128, (1024 + gpu.dram_channels * gpu.dram_queue) * 128);
  assert_within_percent((double)t->until,
                        (double)result.dram_written_bytes / (6 * 32 / gpu.dram_sector_cycles), 4);
  free(t);
}

/* ---- Rows ---- */

/* Cycles in which DRAM of one channel serves loads of `count` lines, line i by line_of(i). */
static uint64_t time_lines(bf_sim_gpu *gpu, unsigned count, uint64_t (*line_of)(unsigned i),
                           bf_sim_result *result) {
  traffic *t = create_traffic();
  for (unsigned i = 0; i < count; i++)
    ask(t, i, 0, BF_SIM_LOAD, line_of(i), 0xf);
  run_alone(t, gpu, result);
  uint64_t last = t->last;
  assert_int_equal(t->answers, count);
  free(t);
  return last;
}

static bf_sim_gpu one_channel(void) {
  bf_sim_gpu gpu = default_gpu();
  gpu.l2_bytes = 0;
  gpu.l2_slices = gpu.dram_channels = gpu.dram_banks = 1;
  gpu.l2_sector_cycles = 0.01;
  gpu.return_bytes_per_cycle = 1024;
  return gpu;
}

static uint64_t same_row(unsigned i) { return i % 16; }
static uint64_t new_row(unsigned i) { return 16 * i; }
static uint64_t two_rows(unsigned i) { return i % 2 * 16 + i / 2 % 16; }

static void open_rows_are_cheaper(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result same = {.cycles = 0}, new = {.cycles = 0};
  uint64_t hits = time_lines(&gpu, 200, same_row, &same);
  uint64_t misses = time_lines(&gpu, 200, new_row, &new);
  assert_true(same.dram_row_hits == 199 && same.dram_row_misses == 1);
  assert_true(new.dram_row_hits == 0 && new.dram_row_misses == 200);
  assert_int_equal(hits, 100 + 1 + 160 + 200 * 8 + 100 + 1); /* the bus is the limit */
  /* Each row is opened behind the transfer from the one before. */
  assert_in_range(misses, 200 * (60 + 8), 200 * (60 + 8) + 600);
  gpu.dram_bank_cycles = 300; /* the bank is the limit */
  assert_in_range(time_lines(&gpu, 200, new_row, &new), 199 * 300, 199 * 300 + 600);
  gpu.dram_banks = 16; /* opens rows meanwhile */
  assert_in_range(time_lines(&gpu, 200, new_row, &new), 200 * 300 / 16, 200 * 300 / 16 + 1000);
}

static void reads_of_open_rows_go_first(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result many = {.cycles = 0}, one = {.cycles = 0};
  uint64_t in_window = time_lines(&gpu, 400, two_rows, &many);
  gpu.dram_queue = 1;
  uint64_t in_order = time_lines(&gpu, 400, two_rows, &one);
  assert_int_equal(one.dram_row_misses, 400);
  assert_in_range(many.dram_row_misses, 2, 40);
  assert_int_equal(many.dram_row_hits + many.dram_row_misses, 400);
  assert_true(in_order > 3 * in_window);
}

/* A read of another row is served although reads of the open row never end. */
static void no_read_waits_for_ever(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  for (unsigned i = 0; i < 2000; i++)
    ask(t, 8 * i, 0, BF_SIM_LOAD, i == 20 ? 16 : i % 16, 0xf);
  run_alone(t, &gpu, &result);
  /* Passed by at most 32 others, then both rows are opened once more. */
  assert_in_range(t->answered[20], 0, 20 * 8 + 100 + 32 * 8 + 160 + 200 + 100);
  assert_int_equal(t->answers, 2000);
  assert_int_equal(result.dram_row_misses, 3);
  free(t);
}

/* ---- Rows against a model that looks at every read in every cycle ---- */

/* A read of a channel as the rules of docs/sim_memory.md have it. */
typedef struct plain_read {
  uint64_t reached, row, bank, turn, data; /* turn: in its bank */
  bool is_in_window, is_served;
} plain_read;

typedef struct plain_bank {
  uint64_t row, ready, next_row, last_used, passed;
} plain_bank;

typedef struct plain_channel {
  const bf_sim_gpu *gpu;
  plain_read *read; /* in the order in which they come */
  unsigned reads;
  plain_bank bank[16];
  uint64_t bus_free, turns, row_misses;
} plain_channel;

static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Lets banks that no read in the window wants as they are open the row of the first in turn. */
static void open_plain_rows(plain_channel *channel, uint64_t cycle) {
  const bf_sim_gpu *gpu = channel->gpu;
  for (unsigned b = 0; b < gpu->dram_banks; b++) {
    plain_bank *bank = &channel->bank[b];
    const plain_read *first = NULL;
    bool is_wanted = false;
    for (unsigned i = 0; i < channel->reads; i++) {
      const plain_read *read = &channel->read[i];
      if (!read->is_in_window || read->bank != b)
        continue;
      is_wanted |= read->row == bank->row;
      if (!first || read->turn < first->turn)
        first = read;
    }
    if (is_wanted || !first)
      continue;
    uint64_t begin = greater(cycle, greater(bank->last_used, bank->next_row));
    *bank = (plain_bank){.row = first->row,
                         .ready = begin + gpu->dram_miss_cycles - gpu->dram_hit_cycles,
                         .next_row = begin + gpu->dram_bank_cycles,
                         .last_used = bank->last_used};
    channel->row_misses++;
  }
}

/* Serves the oldest read whose row is open, if the bus is free. */
static bool serve_plainly(plain_channel *channel, uint64_t cycle) {
  const bf_sim_gpu *gpu = channel->gpu;
  unsigned i = 0, others = 0;
  for (; i < channel->reads; i++) {
    const plain_bank *bank = &channel->bank[channel->read[i].bank];
    if (channel->read[i].is_in_window && bank->row == channel->read[i].row && bank->ready <= cycle)
      break;
  }
  if (i == channel->reads || channel->bus_free > cycle)
    return false;
  plain_read *served = &channel->read[i];
  plain_bank *bank = &channel->bank[served->bank];
  channel->bus_free = bank->last_used = cycle + (uint64_t)gpu->dram_sector_cycles;
  served->data = channel->bus_free + gpu->dram_hit_cycles;
  served->is_in_window = false;
  served->is_served = true;
  for (unsigned k = 0; k < channel->reads; k++)
    others += channel->read[k].is_in_window && channel->read[k].bank == served->bank &&
              channel->read[k].row != bank->row;
  if (others && ++bank->passed > gpu->dram_queue) {
    for (unsigned k = 0; k < channel->reads; k++)
      if (channel->read[k].is_in_window && channel->read[k].row == bank->row)
        channel->read[k].turn = channel->turns++;
    bank->row = UINT64_MAX;
  }
  return true;
}

/* Lets reads that have come into the window as far as there is room. */
static void admit_plainly(plain_channel *channel, uint64_t cycle) {
  unsigned in_window = 0;
  for (unsigned i = 0; i < channel->reads; i++)
    in_window += channel->read[i].is_in_window;
  for (unsigned i = 0; i < channel->reads && in_window < channel->gpu->dram_queue; i++) {
    plain_read *read = &channel->read[i];
    if (read->is_in_window || read->is_served || read->reached > cycle)
      continue;
    read->is_in_window = true;
    read->turn = channel->turns++;
    in_window++;
    open_plain_rows(channel, cycle);
  }
}

static void run_plainly(plain_channel *channel) {
  for (unsigned b = 0; b < 16; b++)
    channel->bank[b].row = UINT64_MAX;
  for (uint64_t cycle = 0, left = channel->reads; left; cycle++) {
    admit_plainly(channel, cycle);
    if (serve_plainly(channel, cycle)) {
      left--;
      open_plain_rows(channel, cycle);
      admit_plainly(channel, cycle);
    }
  }
}

static void channels_do_as_the_plain_model(void **state) {
  (void)state;
  enum { READS = 250 };
  test_random random = {31};
  for (unsigned round = 0; round < 60; round++) {
    bf_sim_gpu gpu = random_gpu(&random);
    gpu.l2_bytes = 0;
    gpu.l2_slices = gpu.dram_channels = 1;
    gpu.l2_sector_cycles = 0.01;
    gpu.return_bytes_per_cycle = 1024;
    gpu.dram_sector_cycles = (double)(1 + random_below(&random, 8));
    gpu.dram_queue = 1 + random_below(&random, round % 2 ? 8 : 40);
    gpu.sms = READS; /* so that ports do not matter */
    gpu.global_queue = 1;
    traffic *t = create_traffic();
    bf_sim_result result = {.cycles = 0};
    static plain_read reads[READS];
    plain_channel channel = {.gpu = &gpu, .read = reads, .reads = READS};
    uint64_t cycle = 0, rows = 1 + random_below(&random, 20);
    for (unsigned i = 0; i < READS; i++) {
      uint64_t row = random_below(&random, rows), unused;
      cycle += random_below(&random, 3) ? 0 : random_below(&random, 60);
      ask(t, cycle, i, BF_SIM_LOAD, row * (gpu.dram_row_bytes / 128), 1);
      /* At its channel a cycle after it has reached its slice. */
      reads[i] = (plain_read){.reached = cycle + gpu.request_cycles + 1,
                              .row = row,
                              .bank = bf_sim_spread(row, gpu.dram_banks, &unused)};
    }
    run_alone(t, &gpu, &result);
    run_plainly(&channel);
    for (unsigned i = 0; i < READS; i++)
      assert_int_equal(t->answered[i], reads[i].data + gpu.return_cycles + 1);
    assert_int_equal(result.dram_row_misses, channel.row_misses);
    assert_int_equal(result.dram_row_hits, READS - channel.row_misses);
    free(t);
  }
}

/* ---- Sizes ---- */

/* More reads than the window holds, for one channel: all are served, in their order. */
static void the_queue_of_a_channel_fills(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.global_queue = 1000;
  gpu.dram_banks = 4;
  gpu.dram_queue = 4;
  for (unsigned i = 0; i < 5000; i++)
    ask(t, 0, 0, BF_SIM_LOAD, i, 0x1);
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answers, 5000);
  assert_int_equal(result.dram_read_bytes, 5000 * 32);
  for (unsigned i = 1; i < 5000; i++)
    assert_true(t->answered[i] > t->answered[i - 1]);
  free(t);
}

static void requests_in_flight_are_limited(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.global_queue = 16;
  uint64_t most = 64 * (gpu.global_queue + gpu.shared_queue) + 4 * gpu.l1_misses +
                  4 * (gpu.request_cycles + gpu.return_cycles);
  bf_sim_memory *memory = create(&gpu);
  traffic *t = create_traffic();
  for (unsigned i = 0; i < most; i++)
    ask(t, i, 0, BF_SIM_LOAD, i, 1);
  bf_sim_request more = t->request[0];
  for (unsigned i = 0; i < most; i++) {
    t->answered[i] = NOT_YET;
    assert_int_equal(bf_sim_memory_add(memory, &t->request[i]), BF_OK);
  }
  assert_int_equal(bf_sim_memory_add(memory, &more), BF_NO_MEMORY);
  while (t->answers == 0)
    advance(t, memory, bf_sim_memory_next(memory) + 1);
  assert_int_equal(bf_sim_memory_add(memory, &more), BF_OK); /* there is room again */
  bf_sim_memory_free(memory);
  free(t);
}

/* Things that are due later than the calendar has cycles. */
static void far_times_are_kept(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 2;
  gpu.dram_hit_cycles = gpu.dram_miss_cycles = 9000;
  ask(t, 1000000, 1, BF_SIM_LOAD, 0, 1); /* before it, though added first */
  ask(t, 1000000, 0, BF_SIM_LOAD, 0, 1);
  ask(t, 3, 0, BF_SIM_LOAD, 12, 1);
  ask(t, 2000000, 0, BF_SIM_ATOMIC, 12, 1);
  t->request[3].operations = 30000;
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answered[2], 3 + 100 + 1 + 9000 + 2 + 100 + 1);
  assert_int_equal(t->answered[1], 1000000 + 100 + 1 + 9000 + 2 + 100 + 1);
  assert_int_equal(t->answered[0], t->answered[1]);
  assert_int_equal(t->answered[3], 2000000 + 100 + 30000 + 100 + 1);
  free(t);
}

/* Nobody answers for stores, but the memory says until when it is busy with them. */
static void stores_keep_the_memory_busy(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  traffic *t = create_traffic();
  bf_sim_memory *memory = create(&gpu);
  gpu.l2_slices = 1;
  assert_int_equal(bf_sim_memory_next(memory), UINT64_MAX);
  for (unsigned i = 0; i < 10; i++)
    ask(t, 0, 0, BF_SIM_STORE, 0, 0xf);
  run(t, memory);
  assert_int_equal(t->until, 100 + 10 * 4 + 1);
  assert_int_equal(bf_sim_memory_next(memory), UINT64_MAX);
  bf_sim_memory_free(memory);
  free(t);
}

/* ---- Spans ---- */

/* Random traffic of many multiprocessors: bursts and pauses, few and many lines. */
static void fill_randomly(traffic *t, test_random *random, const bf_sim_gpu *gpu, unsigned count) {
  static const bf_sim_request_kind kinds[] = {BF_SIM_LOAD,  BF_SIM_LOAD,   BF_SIM_LOAD,
                                              BF_SIM_STORE, BF_SIM_ATOMIC, BF_SIM_REDUCE};
  uint64_t cycle = 0, lines = UINT64_C(1) << random_below(random, 16);
  for (unsigned i = 0; i < count; i++) {
    if (random_below(random, 4) == 0)
      cycle += random_below(random, 8);
    if (random_below(random, 500) == 0)
      cycle += random_below(random, 6000);
    uint64_t line = random_below(random, lines);
    if (random_below(random, 3) == 0)
      line = i;
    ask(t, cycle, (unsigned)random_below(random, gpu->sms), kinds[random_below(random, 6)], line,
        (uint8_t)(1 + random_below(random, 15)));
    t->request[i].operations = (uint16_t)(1 + random_below(random, 32));
  }
}

/* How multiprocessors hand over their requests. */
typedef struct cutting {
  uint64_t least, most; /* cycles of a span */
  uint64_t ahead;       /* requests are added up to so many cycles before the span they leave in */
  bool is_mixed;        /* multiprocessors one after another, the last first */
  bool may_skip;        /* idle time is skipped */
} cutting;

/* Adds the requests with cycles from `from` to before `to`. */
static void add_span(const traffic *t, bf_sim_memory *memory, const cutting *way, unsigned sms,
                     uint64_t from, uint64_t to, unsigned *begin) {
  unsigned end = *begin;
  while (end < t->count && t->request[end].cycle < to)
    end++;
  assert_true(*begin == end || t->request[*begin].cycle >= from);
  for (unsigned sm = sms; sm-- > 0;)
    for (unsigned i = *begin; i < end; i++)
      if (way->is_mixed ? t->request[i].sm == sm : sm == 0)
        assert_int_equal(bf_sim_memory_add(memory, &t->request[i]), BF_OK);
  *begin = end;
}

static void run_cut(traffic *t, const bf_sim_gpu *gpu, const cutting *way, test_random *random,
                    bf_sim_result *result) {
  bf_sim_memory *memory = create(gpu);
  unsigned added = 0;
  uint64_t now = 0, reached = 0;
  t->until = t->last = t->answers = 0;
  for (unsigned i = 0; i < t->count; i++)
    t->answered[i] = NOT_YET;
  while (added < t->count || bf_sim_memory_next(memory) != UINT64_MAX) {
    uint64_t span = way->least + random_below(random, way->most - way->least + 1);
    uint64_t next = bf_sim_memory_next(memory);
    if (way->may_skip && next > now && (added == t->count || t->request[added].cycle > next)) {
      now = next == UINT64_MAX ? t->request[added].cycle : next;
      reached = reached > now ? reached : now;
    }
    uint64_t to = now + span + random_below(random, way->ahead + 1);
    to = to > reached ? to : reached;
    add_span(t, memory, way, (unsigned)gpu->sms, reached, to, &added);
    reached = to;
    now += span;
    advance(t, memory, now);
  }
  bf_sim_memory_count(memory, result);
  bf_sim_memory_free(memory);
}

static void spans_do_not_matter(void **state) {
  (void)state;
  test_random random = {2024};
  for (unsigned round = 0; round < 40; round++) {
    bf_sim_gpu gpu = random_gpu(&random);
    const cutting ways[] = {{1, 1, 0, false, false},
                            {gpu.return_cycles, gpu.return_cycles, 0, true, false},
                            {1, gpu.return_cycles, 0, true, true},
                            {1, gpu.return_cycles, 300, true, true},
                            {1, gpu.return_cycles, 9000, true, false},
                            {1, 1, 0, false, false}};
    traffic *first = create_traffic();
    bf_sim_result expected = {.cycles = 0};
    fill_randomly(first, &random, &gpu, 4000);
    run_cut(first, &gpu, &ways[0], &random, &expected);
    unsigned answered = 0;
    for (unsigned i = 0; i < first->count; i++)
      answered += first->request[i].kind == BF_SIM_LOAD || first->request[i].kind == BF_SIM_ATOMIC;
    assert_int_equal(first->answers, answered);
    for (unsigned w = 1; w < sizeof ways / sizeof *ways; w++) {
      traffic *second = create_traffic();
      bf_sim_result result = {.cycles = 0};
      memcpy(second, first, sizeof *first);
      run_cut(second, &gpu, &ways[w], &random, &result);
      assert_memory_equal(second->answered, first->answered, sizeof first->answered);
      assert_memory_equal(&result, &expected, sizeof result);
      free(second);
    }
    free(first);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_used_evenly),
      cmocka_unit_test(caches_do_as_lists_do),
      cmocka_unit_test(impossible_caches_are_refused),
      cmocka_unit_test(fills_wake_the_tokens_that_are_complete),
      cmocka_unit_test(lines_in_flight_are_limited),
      cmocka_unit_test(waiting_loads_are_limited),
      cmocka_unit_test(without_a_cache_every_load_misses),
      cmocka_unit_test(stores_keep_lines_but_bring_none),
      cmocka_unit_test(every_token_is_told_once),
      cmocka_unit_test(flights_grow),
      cmocka_unit_test(latencies_are_those_of_the_parameters),
      cmocka_unit_test(loads_join_what_is_on_its_way),
      cmocka_unit_test(requests_are_served_by_cycle_then_multiprocessor),
      cmocka_unit_test(streams_reach_the_rate_of_dram),
      cmocka_unit_test(streams_reach_the_rate_of_slices),
      cmocka_unit_test(streams_reach_the_rate_of_ports),
      cmocka_unit_test(dirty_lines_are_written_back),
      cmocka_unit_test(open_rows_are_cheaper),
      cmocka_unit_test(reads_of_open_rows_go_first),
      cmocka_unit_test(no_read_waits_for_ever),
      cmocka_unit_test(channels_do_as_the_plain_model),
      cmocka_unit_test(the_queue_of_a_channel_fills),
      cmocka_unit_test(requests_in_flight_are_limited),
      cmocka_unit_test(far_times_are_kept),
      cmocka_unit_test(stores_keep_the_memory_busy),
      cmocka_unit_test(spans_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
