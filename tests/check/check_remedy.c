/* check_remedy [NAME...]: runs benchmarks of kernels/, all where none is named, on the emulator,
 * asks for a remedy of each kernel that has conflicts, and runs the benchmark again with the hashes
 * that were proposed. Status 1 where
 * - a remedy speaks of other conflicts than the kernel had,
 * - it promises another number than the kernel then has,
 * - no remedy was found at all, or a kernel without one does not say why. */
#include "kernels/devices.h"
#include "kernels/measure.h"
#include "tune/remedy.h"

#include <stdlib.h>
#include <string.h>

/* A run of a benchmark. */
typedef struct watched {
  const bf_machine *machine;
  const bf_costs *first;   /* the run before, or NULL */
  const bf_remedy *remedy; /* of its kernels */
  bf_hash *hash;           /* of the launch that runs */
  bf_profile *profile;
  bf_emu_observer observer;
  bf_costs costs;
} watched;

/* The hash that was proposed for a kernel; "none" where none was. */
static const char *hash_of(const watched *run, const char *kernel) {
  for (size_t i = 0; run->first && i < run->first->kernels; i++)
    if (strcmp(run->first->kernel[i].name, kernel) == 0 && run->remedy[i].exists)
      return run->remedy[i].hash;
  return "none";
}

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  watched *run = context;
  bf_geometry geometry = bf_machine_geometry(run->machine);
  BF_TRY(bf_hash_parse(hash_of(run, bf_emu_kernel_name(launch->kernel)), &geometry, &run->hash,
                       diagnostic));
  BF_TRY(bf_profile_create(run->machine, run->hash, launch->kernel, 0, &run->profile, diagnostic));
  if (!run->first)
    BF_TRY(bf_profile_keep(run->profile, NULL, diagnostic));
  run->observer = bf_profile_observer(run->profile);
  launch->observer = &run->observer;
  return BF_OK;
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 bf_diagnostic *diagnostic) {
  watched *run = context;
  int error = bf_costs_add_launch(&run->costs, launch->kernel, run->profile, result, 0, diagnostic);
  bf_profile_free(run->profile);
  bf_hash_free(run->hash);
  run->profile = NULL;
  run->hash = NULL;
  return error;
}

static int execute(const bf_corpus_benchmark *benchmark, watched *run, bf_diagnostic *diagnostic) {
  const bf_emu_device_options options = {.before = before, .after = after, .context = run};
  bf_device device;
  bf_corpus_outcome outcome;
  BF_TRY(bf_emu_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), &options,
                              &device, diagnostic));
  int error = bf_corpus_execute(benchmark, &device, 1, 0, &outcome, diagnostic);
  bf_emu_device_free(&device);
  return error;
}

/* Compares what was promised with what the second run has. */
static unsigned compare(const char *benchmark, const bf_costs *first, const bf_remedy *remedy,
                        const bf_costs *second) {
  unsigned faults = 0;
  for (size_t i = 0; i < first->kernels; i++)
    for (size_t j = 0; j < second->kernels; j++) {
      const bf_costs_kernel *was = &first->kernel[i], *is = &second->kernel[j];
      if (strcmp(was->name, is->name) != 0)
        continue;
      bool is_silent = was->conflicts && !remedy[i].exists && !*remedy[i].reason;
      bool is_wrong = remedy[i].exists && remedy[i].after != is->conflicts;
      if (remedy[i].before == was->conflicts && !is_silent && !is_wrong)
        continue;
      printf("%s: %s: %s: %llu -> %llu promised, %llu -> %llu counted\n", benchmark, was->name,
             remedy[i].hash, (unsigned long long)remedy[i].before,
             (unsigned long long)remedy[i].after, (unsigned long long)was->conflicts,
             (unsigned long long)is->conflicts);
      faults++;
    }
  return faults;
}

/* Runs a benchmark twice; returns faults. */
static unsigned check(const bf_corpus_benchmark *benchmark, const bf_machine *machine,
                      unsigned *remedies) {
  bf_diagnostic diagnostic = {.caret = -1};
  watched first = {.machine = machine};
  int error = execute(benchmark, &first, &diagnostic);
  bf_remedy *remedy = calloc(first.costs.kernels + 1, sizeof *remedy);
  watched second = {.machine = machine, .first = &first.costs, .remedy = remedy};
  for (size_t i = 0; i < first.costs.kernels && !error && remedy; i++) {
    error = bf_remedy_find(machine, "none", BF_LOCK_PLAIN, &first.costs.kernel[i], 0, &remedy[i],
                           &diagnostic);
    *remedies += remedy[i].exists;
  }
  if (!error && remedy)
    error = execute(benchmark, &second, &diagnostic);
  unsigned faults = error || !remedy;
  if (error)
    printf("%s: %s\n", benchmark->name, diagnostic.message);
  else if (remedy)
    faults += compare(benchmark->name, &first.costs, remedy, &second.costs);
  free(remedy);
  bf_costs_free(&first.costs);
  bf_costs_free(&second.costs);
  return faults;
}

int main(int count, char **names) {
  bf_diagnostic diagnostic;
  bf_machine *machine;
  unsigned faults = 0, remedies = 0, benchmarks = 0;
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    return 2;
  const bf_corpus_benchmark *at;
  for (unsigned i = 0; (at = bf_corpus_get(i)); i++) {
    bool is_asked = count < 2;
    for (int j = 1; j < count; j++)
      is_asked |= strcmp(names[j], at->name) == 0;
    if (is_asked)
      faults += check(at, machine, &remedies);
    benchmarks += is_asked;
  }
  bf_machine_free(machine);
  printf("%u benchmarks, %u remedies, %u faults\n", benchmarks, remedies, faults);
  return faults || !remedies;
}
