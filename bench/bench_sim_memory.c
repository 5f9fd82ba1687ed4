/* Speed of the simulator's global memory, one core: nanoseconds for each request that is added,
 * served and answered, in spans of return_cycles, by GPUs with all parameters at their defaults and
 * with a large cache; the best of REPEATS measurements. Prints one JSON line each. */
#include "sim/hierarchy.h"

#include <stdio.h>
#include <stdlib.h>

enum { SMS = 16, IN_FLIGHT = 64, REQUESTS = 20000, REPEATS = 20 };

typedef struct pattern {
  const char *name;
  uint64_t l2_bytes;
  uint64_t lines; /* of which loads are, one after another or at random */
  bool is_random;
  unsigned stores; /* of 8 requests */
} pattern;

static const pattern patterns[] = {
    {"stream, from DRAM", 786432, UINT64_C(1) << 40, false, 0},
    {"stream, from L2", 786432, 4096, false, 0},
    {"random, from DRAM", 786432, UINT64_C(1) << 30, true, 0},
    {"random, from L2 of 48 MiB", 50331648, 300000, true, 0},
    {"stream, one half stores", 786432, UINT64_C(1) << 40, false, 4},
    {"random, no L2", 0, UINT64_C(1) << 30, true, 2},
};

/* What multiprocessors do: each keeps IN_FLIGHT requests going. */
typedef struct machine {
  bf_sim_memory *memory;
  const pattern *pattern;
  uint64_t now, random, stream, sent, answered;
  unsigned in_flight[SMS];
} machine;

static uint64_t next_random(machine *m) {
  m->random ^= m->random << 13;
  m->random ^= m->random >> 7;
  m->random ^= m->random << 17;
  return m->random >> 16;
}

static void take_answer(void *context, const bf_sim_request *request, uint64_t cycle) {
  machine *m = context;
  m->in_flight[request->sm]--;
  m->answered += cycle > 0;
}

/* Sends what every multiprocessor may in a span, one request every other cycle. */
static int send(machine *m, uint64_t span) {
  for (uint32_t sm = 0; sm < SMS; sm++)
    for (uint64_t at = 0; at < span && m->in_flight[sm] < IN_FLIGHT; at += 2) {
      bool is_store = next_random(m) % 8 < m->pattern->stores;
      uint64_t line = m->pattern->is_random ? next_random(m) : m->stream++;
      bf_sim_request request = {.cycle = m->now + at,
                                .line = line % m->pattern->lines,
                                .sm = sm,
                                .sectors = 15,
                                .kind = is_store ? BF_SIM_STORE : BF_SIM_LOAD};
      m->in_flight[sm] += !is_store;
      m->sent++;
      BF_TRY(bf_sim_memory_add(m->memory, &request));
    }
  return BF_OK;
}

/* Creates a machine at cycle 0. */
static void begin(machine *m, const pattern *chosen, bf_sim_gpu *gpu) {
  bf_diagnostic diagnostic;
#define X(kind, name, value, least, most, meaning) gpu->name = value;
#include "sim/gpu.def"
#undef X
  gpu->sms = SMS;
  gpu->l2_bytes = chosen->l2_bytes;
  *m = (machine){.pattern = chosen, .random = 88172645463325252u};
  if (bf_sim_memory_create(gpu, &m->memory, &diagnostic) != BF_OK) {
    fprintf(stderr, "bench_sim_memory: %s\n", diagnostic.message);
    exit(2);
  }
}

/* Nanoseconds per request of `requests` more. */
static double measure(machine *m, uint64_t span, uint64_t requests) {
  uint64_t first = m->sent;
  double started = bf_seconds();
  while (m->sent < first + requests) {
    int error = send(m, span);
    m->now += span;
    if (error || bf_sim_memory_advance(m->memory, m->now, take_answer, m) != BF_OK) {
      fprintf(stderr, "bench_sim_memory: out of memory\n");
      exit(2);
    }
  }
  return (bf_seconds() - started) * 1e9 / (double)(m->sent - first);
}

static void bench(const pattern *chosen) {
  bf_sim_gpu gpu = {.name = NULL};
  machine m;
  begin(&m, chosen, &gpu);
  double best = measure(&m, gpu.return_cycles, REQUESTS);
  for (unsigned i = 1; i < REPEATS; i++) {
    double time = measure(&m, gpu.return_cycles, REQUESTS);
    best = time < best ? time : best;
  }
  bf_sim_result result = {.cycles = 0};
  bf_sim_memory_count(m.memory, &result);
  printf("{\"bench\": \"sim_memory\", \"requests\": \"%s\", \"ns_per_request\": %.1f, "
         "\"bytes_per_cycle\": %.1f, \"l2_hits\": %.3f, \"row_hits\": %.3f}\n",
         chosen->name, best, (double)m.answered * 128 / (double)m.now,
         (double)result.l2_hits / (double)(result.l2_hits + result.l2_misses + 1),
         (double)result.dram_row_hits /
             (double)(result.dram_row_hits + result.dram_row_misses + 1));
  bf_sim_memory_free(m.memory);
}

int main(void) {
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    bench(&patterns[i]);
  return 0;
}
