/* Global memory of the simulator: latencies and rates that follow from the parameters, and that
 * answers do not depend on how time is cut into spans. */
#include "sim_traffic.h"

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
  /* The news of a store and of a reduction carry no data. */
  assert_int_equal(t->answered[5], 5010 + 100 + 4 + 100);
  assert_int_equal(t->answered[7], 7010 + 100 + 1 + 100);
  assert_int_equal(t->answers, 9);
  assert_int_equal(result.l2_hits, 1 + 1 + 2 + 1 + 4 + 1);
  assert_int_equal(result.l2_misses, 1 + 1 + 4);
  assert_int_equal(result.dram_read_bytes, 64); /* the reduction's sectors are read later */
  assert_true(result.dram_row_misses == 1 && result.dram_row_hits == 1);
  free(t);
}

/* A miss reads both sectors of 64 bytes: the other is there afterwards, or waited for meanwhile. */
static void misses_read_pairs(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.dram_fetch = 1;
  ask(t, 0, 0, BF_SIM_LOAD, 0, 0x2);
  ask(t, 20, 0, BF_SIM_PAST, 0, 0x1);
  ask(t, 1000, 0, BF_SIM_LOAD, 0, 0x1);
  ask(t, 2000, 0, BF_SIM_LOAD, 0, 0x4);
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answered[0], 100 + 1 + 160 + 4 + 100 + 1);
  assert_int_equal(t->answered[1], t->answered[0] + 1); /* behind it at the port */
  assert_int_equal(t->answered[2], 1000 + 100 + 1 + 100 + 1);
  assert_int_equal(result.dram_read_bytes, 128);
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

/* A load that joins leaves its slice in its turn, also where the data has come before. */
static void joined_loads_keep_their_turn(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 3;
  gpu.l2_slices = 1;
  ask(t, 0, 0, BF_SIM_LOAD, 0, 0x1);
  ask(t, 1, 1, BF_SIM_REDUCE, 1, 0x1);
  t->request[1].operations = 1000;
  ask(t, 2, 2, BF_SIM_LOAD, 0, 0x1);
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answered[0], 100 + 1 + 160 + 2 + 100 + 1);
  assert_int_equal(t->answered[2], 100 + 1 + 1000 + 1 + 100 + 1);
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
  assert_int_equal(t->answers, 16000);
  assert_int_equal(result.dram_read_bytes, 0);
  /* All but what is in the cache and in the queues of the channels. */
  uint64_t left = 16000 * 128 - result.dram_written_bytes;
  assert_in_range(left, 1024 * 128, (1024 + gpu.dram_channels * gpu.dram_queue) * 128);
  assert_within_percent((double)t->until,
                        (double)result.dram_written_bytes / (6 * 32 / gpu.dram_sector_cycles), 4);
  free(t);
}

/* Atomics and reductions change their sectors, whether they were there or not; without a cache they
 * are written at once. */
static void atomics_are_written_back(void **state) {
  (void)state;
  static const bf_sim_request_kind kinds[] = {BF_SIM_ATOMIC, BF_SIM_REDUCE};
  for (unsigned way = 0; way < 8; way++) {
    bf_sim_gpu gpu = default_gpu();
    bf_sim_result result = {.cycles = 0};
    traffic *t = create_traffic();
    bool is_loaded_before = way & 2;
    gpu.l2_bytes = way & 4 ? 2048 : 0; /* one set */
    gpu.dram_channels = gpu.dram_queue = 1;
    for (unsigned i = 0; i < 100; i++) {
      if (is_loaded_before)
        ask(t, 2000 * i, 0, BF_SIM_LOAD, i, 0x3);
      ask(t, 2000 * i + 1000, 0, kinds[way & 1], i, 0x3);
    }
    run_alone(t, &gpu, &result);
    /* What is not in the cache, except for the last in the queue. */
    unsigned in_cache = gpu.l2_bytes ? 16 : 0, in_queue = 1;
    assert_int_equal(result.dram_written_bytes, 64 * (100 - in_cache - in_queue));
    unsigned read = 100 * (is_loaded_before && !gpu.l2_bytes ? 2 : 1);
    assert_int_equal(result.dram_read_bytes, 64 * read);
    free(t);
  }
}

/* ---- Sizes ---- */

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
  unsigned room = t->answers;
  assert_int_equal(bf_sim_memory_add_all(memory, t->request, room + 1), BF_NO_MEMORY);
  assert_int_equal(bf_sim_memory_add_all(memory, t->request, room),
                   BF_OK); /* there is room again */
  assert_int_equal(bf_sim_memory_add(memory, &more), BF_NO_MEMORY);
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

static void assert_same_counts(const bf_sim_result *a, const bf_sim_result *b) {
  assert_int_equal(a->l2_hits, b->l2_hits);
  assert_int_equal(a->l2_misses, b->l2_misses);
  assert_int_equal(a->dram_read_bytes, b->dram_read_bytes);
  assert_int_equal(a->dram_written_bytes, b->dram_written_bytes);
  assert_int_equal(a->dram_row_hits, b->dram_row_hits);
  assert_int_equal(a->dram_row_misses, b->dram_row_misses);
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
    assert_int_equal(first->answers, first->count);
    for (unsigned w = 1; w < sizeof ways / sizeof *ways; w++) {
      traffic *second = create_traffic();
      bf_sim_result result = {.cycles = 0};
      memcpy(second, first, sizeof *first);
      run_cut(second, &gpu, &ways[w], &random, &result);
      assert_memory_equal(second->answered, first->answered, sizeof first->answered);
      assert_same_counts(&result, &expected);
      free(second);
    }
    free(first);
  }
}

/* A load that waits for a hit goes round, every 8 + 1 cycles with this GPU, until all its sectors
 * are stored; it never reads DRAM. */
static void loads_wait_for_a_hit(void **state) {
  (void)state;
  bf_sim_gpu gpu = default_gpu();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.sms = 2;
  ask(t, 10, 0, BF_SIM_WAIT, 0, 0x3);
  ask(t, 500, 1, BF_SIM_STORE, 0, 0x1);
  ask(t, 1000, 1, BF_SIM_STORE, 0, 0x2);
  ask(t, 2000, 0, BF_SIM_WAIT, 0, 0x3); /* hits at once */
  run_alone(t, &gpu, &result);
  assert_int_equal(t->answered[0], 1109 + 1 + 100 + 2);
  assert_int_equal(t->answered[3], 2000 + 100 + 1 + 100 + 2);
  assert_true(result.dram_read_bytes == 0 && result.l2_hits == 4);
  free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loads_wait_for_a_hit),
      cmocka_unit_test(latencies_are_those_of_the_parameters),
      cmocka_unit_test(misses_read_pairs),
      cmocka_unit_test(loads_join_what_is_on_its_way),
      cmocka_unit_test(joined_loads_keep_their_turn),
      cmocka_unit_test(requests_are_served_by_cycle_then_multiprocessor),
      cmocka_unit_test(streams_reach_the_rate_of_dram),
      cmocka_unit_test(streams_reach_the_rate_of_slices),
      cmocka_unit_test(streams_reach_the_rate_of_ports),
      cmocka_unit_test(dirty_lines_are_written_back),
      cmocka_unit_test(atomics_are_written_back),
      cmocka_unit_test(requests_in_flight_are_limited),
      cmocka_unit_test(far_times_are_kept),
      cmocka_unit_test(stores_keep_the_memory_busy),
      cmocka_unit_test(spans_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
