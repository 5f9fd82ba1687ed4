/* check_sim [GPU...]: simulates the benchmarks of kernels/ on several GPUs with two threads; two of
 * them share the benchmarks. On GPUs that are named it simulates all. Status 1 where
 * - a result is further from its reference than it may be,
 * - the wavefronts of shared memory are not those that the emulator's profile counts on the same
 *   machine,
 * - a turn of a scheduler is neither an issue nor has a reason, or a warp instruction got lost,
 * - a GPU that can hold all benchmarks refuses one.
 * GPUs with little room refuse some benchmarks, and old machines do not have every access: those
 * are left out, and counted. */
#include "kernels/measure.h"
#include "kernels/sim_device.h"

#include <stdlib.h>
#include <string.h>

typedef struct check_gpu {
  const char *name;
  unsigned most_refused;
  unsigned every, first; /* benchmarks first, first + every, ... */
} check_gpu;

static const check_gpu gpus[] = {{"h200", 0, 1, 0},     {"gtx580", 0, 2, 0},  {"k20", 0, 2, 1},
                                 {"elastic", 20, 1, 0}, {"8800gt", 40, 1, 0}, {NULL, 0, 0, 0}};

typedef struct check_counts {
  unsigned checked, refused, uncounted;
} check_counts;

static bool complain(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark, const char *what,
                     const char *more) {
  printf("%s on %s: %s%s\n", benchmark->name, gpu->name, what, more);
  return false;
}

/* Compares with what a profile counts while the emulator runs. */
static bool check_wavefronts(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark,
                             const bf_sim_result *total, check_counts *counts) {
  const bf_corpus_settings settings = {
      .machine = gpu->machine, .as_written = gpu->merge == 0, .scale = 1, .workers = 2};
  bf_corpus_measured measured;
  bf_diagnostic diagnostic = {0};
  if (bf_corpus_measure(benchmark, &settings, &measured, &diagnostic) != BF_OK) {
    counts->uncounted++;
    return strstr(diagnostic.message, "cannot make an access") ||
           complain(gpu, benchmark, "", diagnostic.message);
  }
  const bf_corpus_launched *all = &measured.total;
  bf_arena_free(&measured.arena);
  char text[120];
  snprintf(
      text, sizeof text, "%llu wavefronts and %llu conflicts, not %llu and %llu",
      (unsigned long long)total->shared_wavefronts, (unsigned long long)total->shared_conflicts,
      (unsigned long long)(all->wavefronts_load + all->wavefronts_store + all->wavefronts_atomic),
      (unsigned long long)all->conflicts);
  return (total->shared_wavefronts ==
              all->wavefronts_load + all->wavefronts_store + all->wavefronts_atomic &&
          total->shared_conflicts == all->conflicts &&
          total->emu.thread_instructions == all->thread_instructions) ||
         complain(gpu, benchmark, text, "");
}

/* Whether turns and cycles of a simulated benchmark fit together. */
static bool check_turns(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark,
                        const bf_sim_ledger *ledger) {
  uint64_t schedulers = gpu->pipeline == BF_SIM_SCOREBOARD ? gpu->schedulers : 1;
  for (size_t i = 0; i < ledger->launches; i++) {
    const bf_sim_result *result = &ledger->launch[i].result;
    uint64_t before = gpu->launch_cycles /* there are no turns before the first block */
                          ? gpu->launch_cycles + (uint64_t)(gpu->launch_sm_cycles * result->sms)
                          : 0;
    uint64_t cycles = result->cycles - before;
    uint64_t turns = cycles * schedulers * result->sms, most_more = 100;
    if (result->turns < turns || result->turns > turns + most_more * schedulers * result->sms)
      return complain(gpu, benchmark, "turns are not the cycles of all schedulers", "");
    uint64_t executed = result->issued - result->guarded;
    if (executed > result->emu.warp_instructions || executed == 0)
      return complain(gpu, benchmark, "issues other instructions than are executed", "");
  }
  return ledger->launches > 0 || complain(gpu, benchmark, "launches nothing", "");
}

static bool check_benchmark(const bf_sim_gpu *gpu, const bf_corpus_benchmark *benchmark,
                            check_counts *counts) {
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .workers = 2}};
  bf_corpus_outcome outcome = {0};
  bf_sim_launched total;
  bf_diagnostic diagnostic = {0};
  int error = bf_corpus_simulate(benchmark, 1, 0, &ledger, &outcome, &diagnostic);
  bool good = false;
  if (error != BF_OK && strstr(diagnostic.message, "cannot hold one of its blocks")) {
    counts->refused++;
    good = true;
  } else if (error != BF_OK)
    complain(gpu, benchmark, "", diagnostic.message);
  else if (outcome.elements == 0 || outcome.wrong)
    complain(gpu, benchmark, "wrong: ", outcome.first_wrong);
  else if (bf_sim_ledger_total(&ledger, &total, &diagnostic) != BF_OK)
    complain(gpu, benchmark, "", diagnostic.message);
  else {
    counts->checked++;
    good = check_turns(gpu, benchmark, &ledger) &&
           check_wavefronts(gpu, benchmark, &total.result, counts);
  }
  bf_sim_ledger_free(&ledger);
  return good;
}

static bool check_one(const check_gpu *own, bool all) {
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic = {0};
  if (bf_sim_gpu_load(own->name, &gpu, &diagnostic) != BF_OK)
    return printf("%s\n", diagnostic.message), false;
  check_counts counts = {0};
  const bf_corpus_benchmark *benchmark;
  bool good = true;
  double start = bf_seconds();
  for (unsigned i = 0; (benchmark = bf_corpus_get(i)) != NULL; i++)
    if (all || i % own->every == own->first)
      good &= check_benchmark(gpu, benchmark, &counts);
  printf("%s: %u benchmarks, %u that it cannot hold, %u with accesses that the machine does not "
         "have, %.1f s\n",
         own->name, counts.checked, counts.refused, counts.uncounted, bf_seconds() - start);
  bf_sim_gpu_free(gpu);
  return good && counts.checked > 0 && counts.refused <= own->most_refused;
}

int main(int argc, char **argv) {
  bool good = true;
  for (const check_gpu *own = gpus; own->name; own++) {
    bool is_wanted = argc < 2;
    for (int i = 1; i < argc; i++)
      is_wanted |= strcmp(argv[i], own->name) == 0;
    if (is_wanted)
      good &= check_one(own, argc > 1);
  }
  return good ? 0 : 1;
}
