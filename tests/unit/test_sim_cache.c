/* Caches of the simulator against lists, and what the first-level cache does with loads. */
#include "sim/flight.h"
#include "sim/spread.h"
#include "sim_traffic.h"

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

/* Dividing by multiplying gives what a division gives. */
static void parts_need_no_division(void **state) {
  (void)state;
  uint64_t random = 1;
  for (unsigned turn = 0; turn < 200000; turn++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t count = turn < 1000 ? turn + 1 : (random >> 32 >> turn % 32) + (turn % 32 > 0);
    count = count ? count : 1;
    uint64_t index = random * 0x9e3779b97f4a7c15u >> (1 + turn % 60), round, other;
    bf_sim_parts parts = bf_sim_parts_of(count);
    for (unsigned i = 0; i < 3; i++) { /* also beside a multiple */
      uint64_t own = i == 0 ? index : index / count * count + (i == 1 ? 0 : count - 1);
      if (own >> 63)
        continue;
      assert_int_equal(bf_sim_parts_spread(&parts, own, &round), bf_sim_spread(own, count, &other));
      assert_int_equal(round, other);
    }
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
  gpu.global_queue = 1; /* of 64 lines at most */
  gpu.l1_misses = 5;
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

/* A line for which there was no room is looked for again when something of it has come meanwhile,
 * or when there is room. */
static void refused_lines_are_tried_again(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  gpu.l1_bytes = 16384;
  gpu.l1_misses = 2;
  bf_sim_l1 *l1 = create_l1(&gpu);
  told_tokens told = {.count = 0};
  bf_sim_request first, second, request;
  assert_int_equal(bf_sim_l1_load(l1, 1, 1, 1, &first), BF_SIM_L1_MISS);
  assert_int_equal(bf_sim_l1_load(l1, 2, 1, 2, &second), BF_SIM_L1_MISS);
  assert_int_equal(bf_sim_l1_load(l1, 3, 7, 3, &request), BF_SIM_L1_FULL);
  assert_int_equal(bf_sim_l1_load(l1, 3, 7, 3, &request), BF_SIM_L1_FULL);
  request = answer_of(3, 3, 9); /* sectors that nobody of this cache waits for */
  bf_sim_l1_fill(l1, &request, tell, &told);
  assert_int_equal(bf_sim_l1_load(l1, 3, 3, 3, &request), BF_SIM_L1_HIT);
  assert_int_equal(bf_sim_l1_load(l1, 3, 4, 3, &request), BF_SIM_L1_FULL);
  assert_int_equal(bf_sim_l1_load(l1, 4, 6, 4, &request), BF_SIM_L1_FULL);
  bf_sim_l1_fill(l1, &first, tell, &told);
  assert_int_equal(bf_sim_l1_load(l1, 4, 6, 4, &request), BF_SIM_L1_MISS);
  assert_int_equal(request.sectors, 6);
  assert_int_equal(bf_sim_l1_load(l1, 4, 2, 5, &first), BF_SIM_L1_JOINED);
  bf_sim_l1_fill(l1, &request, tell, &told);
  bf_sim_l1_fill(l1, &second, tell, &told);
  assert_int_equal(told.count, 4);
  assert_true(told.token[1] == 4 && told.token[2] == 5 && told.token[3] == 2);
  assert_int_equal(bf_sim_l1_waiting(l1), 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_used_evenly),
      cmocka_unit_test(parts_need_no_division),
      cmocka_unit_test(caches_do_as_lists_do),
      cmocka_unit_test(impossible_caches_are_refused),
      cmocka_unit_test(fills_wake_the_tokens_that_are_complete),
      cmocka_unit_test(lines_in_flight_are_limited),
      cmocka_unit_test(waiting_loads_are_limited),
      cmocka_unit_test(without_a_cache_every_load_misses),
      cmocka_unit_test(stores_keep_lines_but_bring_none),
      cmocka_unit_test(refused_lines_are_tried_again),
      cmocka_unit_test(every_token_is_told_once),
      cmocka_unit_test(flights_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
