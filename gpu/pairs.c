/* Rewritten kernels on the simulator, to be compared with what a GPU took (bench/sim_pairs.py):
 *
 *   pairs BENCHMARK SCALE SEED [NAME=FILE.ptx...]
 *
 * simulates a benchmark of the corpus on a whole H200 as it is and with the PTX of each file in its
 * place, and prints a line of CSV for each kernel: benchmark, NAME ("plain"), kernel, launches, and
 * what the judge knows of them: wavefronts, instructions, cycles, work cycles. Of large launches a
 * part is simulated, as by sim --sample auto. */
#include "gpu/tried.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

typedef struct subject {
  const bf_corpus_benchmark *benchmark;
  unsigned scale, seed;
  bf_trial_options options; /* but for the sampler */
} subject;

/* Runs the benchmark with the given PTX; a new sampler for each, as launches of one do not tell
 * what those of another take. */
static int run(const subject *s, const char *ptx, bf_trial *trial, bf_diagnostic *diagnostic) {
  bf_trial_options options = s->options;
  options.sampler = bf_sim_sampler_create(0);
  if (!options.sampler)
    return bf_no_memory(diagnostic);
  int error = gpu_try(s->benchmark, s->scale, s->seed, ptx, &options, trial, diagnostic);
  bf_sim_sampler_free(options.sampler);
  return error;
}

/* Simulates the benchmark with the given PTX and prints its kernels. */
static int print_run(const subject *s, const char *name, const char *ptx,
                     bf_diagnostic *diagnostic) {
  bf_trial trial = {0};
  int error = run(s, ptx, &trial, diagnostic);
  for (size_t i = 0; i < trial.kernels && !error; i++) {
    const bf_evidence *took = &trial.kernel[i].took;
    printf("%s,%s,%s,%llu,%llu,%lld,%llu,%llu\n", s->benchmark->name, name, trial.kernel[i].name,
           (unsigned long long)trial.kernel[i].launches, (unsigned long long)took->wavefronts,
           (long long)took->instructions, (unsigned long long)took->cycles,
           (unsigned long long)took->work_cycles);
  }
  fflush(stdout);
  bf_trial_free(&trial);
  return error;
}

/* The same with the PTX of an argument NAME=FILE. */
static int print_file(const subject *s, char *argument, bf_diagnostic *diagnostic) {
  char *path = strchr(argument, '=');
  bf_text text = {0};
  if (!path)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%s is not NAME=FILE", argument);
  *path++ = 0;
  int error = bf_read_file(path, MOST_BYTES, &text, diagnostic);
  if (!error)
    error = print_run(s, argument, text.data, diagnostic);
  bf_text_free(&text);
  return error;
}

int main(int argc, char **argv) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_sim_gpu *gpu = NULL;
  subject s = {.benchmark = argc > 1 ? bf_corpus_find(argv[1]) : NULL};
  if (argc < 4 || !s.benchmark)
    return fprintf(stderr, "usage: pairs BENCHMARK SCALE SEED [NAME=FILE.ptx...]\n"), 2;
  s.scale = (unsigned)atoi(argv[2]);
  s.seed = (unsigned)atoi(argv[3]);
  int error = bf_sim_gpu_load("h200", &gpu, &diagnostic);
  if (!error) {
    s.options = (bf_trial_options){.machine = gpu->machine, .gpu = gpu, .workers = 1};
    error = print_run(&s, "plain", bf_corpus_ptx(s.benchmark->folder), &diagnostic);
  }
  for (int i = 4; i < argc && !error; i++)
    error = print_file(&s, argv[i], &diagnostic);
  if (error)
    fprintf(stderr, "pairs: %s\n", diagnostic.message);
  bf_sim_gpu_free(gpu);
  return error ? 2 : 0;
}
