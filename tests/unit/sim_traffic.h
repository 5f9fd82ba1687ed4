/* GPUs and requests for tests of the simulator's global memory. */
#ifndef TEST_SIM_TRAFFIC_H
#define TEST_SIM_TRAFFIC_H

#include "random.h"
#include "sim/hierarchy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- GPUs ---- */

/* A GPU with all parameters at their defaults. */
static inline bf_sim_gpu default_gpu(void) {
  bf_sim_gpu gpu = {.name = NULL};
#define X(kind, name, value, least, most, meaning) gpu.name = value;
#include "sim/gpu.def"
#undef X
  return gpu;
}

/* A GPU with global memory of any kind. */
static inline bf_sim_gpu random_gpu(test_random *random) {
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

static inline bf_sim_memory *create(const bf_sim_gpu *gpu) {
  bf_sim_memory *memory;
  bf_diagnostic diagnostic;
  if (bf_sim_memory_create(gpu, &memory, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return memory;
}

/* ---- Running requests ---- */

enum { MOST = 20000, NOT_YET = -1 };

/* Requests and, by token, the cycles of their answers. */
typedef struct traffic {
  bf_sim_request request[MOST];
  int64_t answered[MOST];
  unsigned count, answers;
  uint64_t until, last;
} traffic;

static inline traffic *create_traffic(void) {
  traffic *made = calloc(1, sizeof *made);
  assert_non_null(made);
  return made;
}

static inline void take_answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  traffic *t = context;
  assert_true(cycle >= t->until);
  assert_true(request->token < t->count);
  const bf_sim_request *asked = &t->request[request->token];
  assert_true(request->sm == asked->sm && request->line == asked->line &&
              request->sectors == asked->sectors && request->kind == asked->kind);
  assert_int_equal(t->answered[request->token], NOT_YET);
  t->answered[request->token] = (int64_t)cycle;
  t->answers++;
  t->last = cycle > t->last ? cycle : t->last;
}

static inline void ask(traffic *t, uint64_t cycle, unsigned sm, bf_sim_request_kind kind,
                       uint64_t line, uint8_t sectors) {
  assert_true(t->count < MOST);
  t->request[t->count] = (bf_sim_request){.cycle = cycle,
                                          .line = line,
                                          .sm = sm,
                                          .token = t->count,
                                          .sectors = sectors,
                                          .kind = (uint8_t)kind,
                                          .operations = 1};
  t->count++;
}

/* Moves time on to `until`. */
static inline void advance(traffic *t, bf_sim_memory *memory, uint64_t until) {
  t->until = until;
  assert_int_equal(bf_sim_memory_advance(memory, until, take_answer, t), BF_OK);
}

/* Adds all requests at once and serves them, skipping idle time. */
static inline void run(traffic *t, bf_sim_memory *memory) {
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
static inline void run_alone(traffic *t, const bf_sim_gpu *gpu, bf_sim_result *result) {
  bf_sim_memory *memory = create(gpu);
  t->until = t->last = t->answers = 0;
  run(t, memory);
  bf_sim_memory_count(memory, result);
  bf_sim_memory_free(memory);
}

static inline void assert_within_percent(double measured, double expected, double percent) {
  if (measured < expected * (1 - percent / 100) || measured > expected * (1 + percent / 100))
    fail_msg("%g is not within %g%% of %g", measured, percent, expected);
}

#endif
