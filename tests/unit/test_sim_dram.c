/* DRAM of the simulator: what rows and queues cost, and all of it against a model that looks at
 * every read in every cycle. */
#include "sim/spread.h"
#include "sim_traffic.h"

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

static uint64_t one_line(unsigned i) { return i; }

/* A read that comes while its channel refreshes waits for the end of it; others do not. */
static void reads_wait_for_refreshes(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result result = {.cycles = 0};
  uint64_t plain = time_lines(&gpu, 1, one_line, &result);
  gpu.dram_refresh_interval = 1000;
  gpu.dram_refresh_cycles = 50; /* over when the row is open, in cycle 161 */
  assert_int_equal(time_lines(&gpu, 1, one_line, &result), plain);
  gpu.dram_refresh_cycles = 400;
  assert_int_equal(time_lines(&gpu, 1, one_line, &result), plain + 400 - 161);
  gpu.dram_refresh_cycles = 600; /* of 2000 lines, 8 cycles each, in the 40% that are left */
  assert_in_range(time_lines(&gpu, 2000, same_row, &result), 38000, 42000);
}

/* The same for stores, which wait for the row when they are written. */
static void writes_wait_for_their_row(void **state) {
  (void)state;
  for (unsigned lines_apart = 1; lines_apart <= 16; lines_apart += 15) {
    bf_sim_gpu gpu = one_channel();
    bf_sim_result result = {.cycles = 0};
    traffic *t = create_traffic();
    for (unsigned i = 0; i < 232; i++)
      ask(t, i, 0, BF_SIM_STORE, i * lines_apart, 0xf);
    run_alone(t, &gpu, &result);
    uint64_t lines = result.dram_written_bytes / 128;
    assert_in_range(lines, 200, 231);
    uint64_t expected = lines_apart == 1 ? lines * 8 + lines / 16 * 60 : lines * (60 + 8);
    assert_in_range(t->until, expected + 100, expected + 400);
    assert_int_equal(result.dram_row_misses, lines_apart == 1 ? (lines + 15) / 16 : lines);
    free(t);
  }
}

/* Writes that cannot wait close the row of reads, which is opened again. */
static void writes_come_between_reads(void **state) {
  (void)state;
  bf_sim_gpu gpu = one_channel();
  bf_sim_result result = {.cycles = 0};
  traffic *t = create_traffic();
  gpu.dram_queue = 4;
  for (unsigned i = 0; i < 30; i++)
    ask(t, i, 0, BF_SIM_LOAD, same_row(i), 0xf);
  for (unsigned i = 0; i < 5; i++)
    ask(t, 100, 0, BF_SIM_STORE, 16 + i, 0xf);
  run_alone(t, &gpu, &result);
  assert_int_equal(result.dram_written_bytes, 4 * 128);
  assert_int_equal(result.dram_row_misses, 3);
  assert_int_equal(result.dram_row_hits, 30 + 4 - 3);
  /* All transfers, and twice the time to open a row behind another. */
  assert_int_equal(t->last, 100 + 1 + 160 + 34 * 8 + 2 * 60 + 100 + 1);
  free(t);
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
      uint64_t row = round % 3 && random_below(&random, 8) ? 0 : random_below(&random, rows),
               unused;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_rows_are_cheaper),
      cmocka_unit_test(reads_wait_for_refreshes),
      cmocka_unit_test(writes_wait_for_their_row),
      cmocka_unit_test(writes_come_between_reads),
      cmocka_unit_test(reads_of_open_rows_go_first),
      cmocka_unit_test(no_read_waits_for_ever),
      cmocka_unit_test(channels_do_as_the_plain_model),
      cmocka_unit_test(the_queue_of_a_channel_fills),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
