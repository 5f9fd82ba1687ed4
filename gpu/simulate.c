/* The benchmarks of the corpus in ways that are given, on the simulator:
 *
 *   simulate SCALES HASHES [BENCHMARK...]
 *
 * HASHES is what gpu/measure takes, too. Each benchmark runs plain and in the ways try-0, try-1 and
 * so on that HASHES has for it, with rewritten PTX that the verifier accepts, on a small part of an
 * H200, and as much smaller. A line for each kernel and way: cycles, how many times as fast as
 * plain, wavefronts, and instructions of warps that were added. */
#include "gpu/scales.h"
#include "gpu/simulated.h"
#include "gpu/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(const gpu_way *way, const bf_trial *plain, const bf_trial *trial) {
  for (size_t i = 0; i < trial->kernels; i++) {
    const bf_trial_kernel *own = &trial->kernel[i];
    const bf_trial_kernel *before = bf_trial_find(plain, own->name);
    printf("%-20s %-6s %-28s %10llu %6.3f %10llu %+10lld\n", way->benchmark->name, way->way,
           own->name, (unsigned long long)own->took.cycles,
           (double)before->took.cycles / (double)own->took.cycles,
           (unsigned long long)own->took.wavefronts,
           (long long)(own->took.instructions - before->took.instructions));
  }
  fflush(stdout);
}

/* Runs one way; *trial is to be freed. */
static int run(gpu_way *way, unsigned scale, const bf_trial_options *options, bf_trial *trial,
               bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  int error = gpu_way_ptx(way, &ptx, diagnostic);
  if (!error)
    error = gpu_simulated_run(way->benchmark, scale, 0, ptx.data, options, trial, diagnostic);
  bf_text_free(&ptx);
  return error;
}

/* Runs a benchmark as it is and in all its ways. */
static int simulate(const bf_corpus_benchmark *benchmark, const gpu_way_entry *entries,
                    unsigned scale, const bf_trial_options *options, bf_diagnostic *diagnostic) {
  enum { MOST_WAYS = 16 };
  gpu_way plain = {benchmark, "plain", "plain", entries};
  bf_trial before = {0};
  int error = run(&plain, scale, options, &before, diagnostic);
  if (!error)
    print(&plain, &before, &before);
  for (unsigned i = 0; i < MOST_WAYS && !error; i++) {
    char name[16];
    snprintf(name, sizeof name, "try-%u", i);
    gpu_way way = {benchmark, name, name, entries};
    bf_trial trial = {0};
    if (!gpu_way_exists(&way))
      continue;
    error = run(&way, scale, options, &trial, diagnostic);
    if (!error)
      print(&way, &before, &trial);
    bf_trial_free(&trial);
  }
  bf_trial_free(&before);
  return error;
}

/* Whether a benchmark is among those that are asked for, and has a way. */
static bool is_asked(const char *name, const gpu_way_entry *entries, int count, char **names) {
  bool is_named = count == 0;
  for (int i = 0; i < count; i++)
    is_named |= strcmp(names[i], name) == 0;
  for (; is_named && entries; entries = entries->next)
    if (strcmp(entries->benchmark, name) == 0)
      return true;
  return false;
}

int main(int argc, char **argv) {
  static gpu_scales scales;
  bf_diagnostic diagnostic;
  gpu_way_entry *entries = NULL;
  bf_machine *machine = NULL;
  bf_sim_gpu *gpu = NULL;
  if (argc < 3)
    return fprintf(stderr, "usage: simulate SCALES HASHES [BENCHMARK...]\n"), 2;
  if (gpu_scales_read(argv[1], &scales, &diagnostic) != BF_OK ||
      gpu_ways_read(argv[2], &entries, &diagnostic) != BF_OK ||
      bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK ||
      gpu_simulated_load(false, &gpu, &diagnostic) != BF_OK)
    return fprintf(stderr, "simulate: %s\n", diagnostic.message), 2;
  bf_trial_options options = {.machine = machine, .gpu = gpu, .workers = 1};
  unsigned scale = 1;
  int status = 0;
  for (unsigned i = 0; bf_corpus_get(i); i++) {
    const bf_corpus_benchmark *benchmark = bf_corpus_get(i);
    unsigned own = gpu_scale_of(&scales, benchmark->name);
    if (!benchmark->is_padded)
      scale = gpu_simulated_scale(own ? own : 1, (unsigned)gpu->sms);
    if (!is_asked(benchmark->name, entries, argc - 3, argv + 3))
      continue;
    if (simulate(benchmark, entries, scale, &options, &diagnostic) != BF_OK) {
      fprintf(stderr, "simulate: %s: %s\n", benchmark->name, diagnostic.message);
      status = 1;
    }
  }
  bf_sim_gpu_free(gpu);
  bf_machine_free(machine);
  return status;
}
