/* check_corpus [--seed N] [NAME...]: runs benchmarks of kernels/, all where none is named, on the
 * emulator. Status 1 where
 * - a result is further from its reference than it may be, on all cores or on one,
 * - a kernel races or reads shared memory that nothing wrote,
 * - profiles, which count while a kernel runs, disagree with the accesses counted one by one,
 * - a control has conflicts, or padding removes none,
 * - the published bit-vector XOR hash leaves conflicts and the benchmark does not say how it
 * differs from the published one. Accesses are those of the PTX as written. With --gpu the
 * benchmarks run on the GPU, and only results count; status 77 where there is none. */
#include "kernels/devices.h"
#include "kernels/measure.h"

#include <stdlib.h>
#include <string.h>

/* Prints what is wrong with a benchmark; returns false. */
static bool complain(const bf_corpus_benchmark *benchmark, const char *what, const char *more) {
  printf("%s: %s%s\n", benchmark->name, what, more);
  return false;
}

static bool right_results(const bf_corpus_benchmark *benchmark, int error,
                          const bf_corpus_outcome *outcome, const bf_diagnostic *diagnostic) {
  if (error != BF_OK)
    return complain(benchmark, "", diagnostic->message);
  if (outcome->elements == 0)
    return complain(benchmark, "compares nothing", "");
  return outcome->wrong == 0 || complain(benchmark, "wrong: ", outcome->first_wrong);
}

/* Runs with the emulator's checks of shared memory. */
static bool check_memory(const bf_corpus_benchmark *benchmark, unsigned seed) {
  const bf_emu_device_options options = {.check_uninitialised = true, .check_races = true};
  bf_device device;
  bf_corpus_outcome outcome;
  bf_diagnostic diagnostic = {0};
  int error = bf_emu_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), &options,
                                   &device, &diagnostic);
  if (error == BF_OK) {
    error = bf_corpus_execute(benchmark, &device, 1, seed, &outcome, &diagnostic);
    bf_emu_device_free(&device);
  }
  return right_results(benchmark, error, &outcome, &diagnostic);
}

/* Conflicts of all accesses of a workload under a hash, in *sum. */
static int count_conflicts(const bf_machine *machine, const char *text, const bf_workload *workload,
                           uint64_t *sum, bf_diagnostic *diagnostic) {
  const bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  BF_TRY(bf_hash_parse(text, &geometry, &hash, diagnostic));
  int error = BF_OK;
  *sum = 0;
  for (size_t i = 0; i < bf_workload_size(workload) && error == BF_OK; i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count = {0};
    error = bf_memory_count(machine, hash, access, &count, diagnostic);
    *sum += access->count * count.conflicts;
  }
  bf_hash_free(hash);
  return error;
}

/* Counts one by one what the profiles counted, and again under the published hash. */
static bool check_counts(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                         uint64_t profiled) {
  const bf_published_row *row =
      benchmark->published_name ? bf_published_find(benchmark->published_name) : NULL;
  bf_workload *workload;
  bf_diagnostic diagnostic = {0};
  uint64_t conflicts = 0, left = 0;
  int error = bf_corpus_record(benchmark, settings, &workload, &diagnostic);
  if (error != BF_OK)
    return complain(benchmark, "", diagnostic.message);
  error = count_conflicts(settings->machine, "none", workload, &conflicts, &diagnostic);
  if (error == BF_OK && row)
    error = count_conflicts(settings->machine, row->hash[0], workload, &left, &diagnostic);
  bf_workload_free(workload);
  if (error != BF_OK)
    return complain(benchmark, "", diagnostic.message);
  if (conflicts != profiled)
    return complain(benchmark, "profiles count other conflicts than accesses have", "");
  return left == 0 || benchmark->difference ||
         complain(benchmark, "conflicts under the published hash, and no difference is stated", "");
}

/* The last benchmark that was not padded. */
typedef struct check_plain {
  const bf_corpus_benchmark *benchmark;
  uint64_t conflicts;
} check_plain;

/* Whether conflicts are those that such a benchmark may have. */
static bool check_kind(const bf_corpus_benchmark *benchmark, uint64_t conflicts,
                       check_plain *plain) {
  if (!benchmark->is_padded)
    *plain = (check_plain){benchmark, conflicts};
  if (benchmark->is_control && conflicts > 0)
    return complain(benchmark, "a control with conflicts", "");
  if (!benchmark->is_padded || !plain->benchmark ||
      strncmp(benchmark->name, plain->benchmark->name, strlen(plain->benchmark->name)) != 0)
    return true;
  return conflicts < plain->conflicts || complain(benchmark, "padding removes no conflicts", "");
}

static bool check_emulated(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                           check_plain *plain) {
  bf_corpus_measured measured;
  bf_diagnostic diagnostic = {0};
  int error = bf_corpus_measure(benchmark, settings, &measured, &diagnostic);
  if (!right_results(benchmark, error, &measured.outcome, &diagnostic))
    return false;
  uint64_t conflicts = measured.total.conflicts;
  bf_arena_free(&measured.arena);
  bool good = check_kind(benchmark, conflicts, plain);
  good &= check_memory(benchmark, settings->seed);
  good &= check_counts(benchmark, settings, conflicts);
  return good;
}

static bool is_wanted(const bf_corpus_benchmark *benchmark, int names, char **name) {
  for (int i = 0; i < names; i++)
    if (strcmp(benchmark->name, name[i]) == 0)
      return true;
  return names == 0;
}

int main(int argc, char **argv) {
  bf_corpus_settings settings = {.scale = 1, .as_written = true};
  bf_machine *machine;
  bf_diagnostic diagnostic = {0};
  int first = 1;
  if (argc > 2 && strcmp(argv[1], "--seed") == 0) {
    settings.seed = (unsigned)atoi(argv[2]);
    first = 3;
  }
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    return fprintf(stderr, "%s\n", diagnostic.message), 2;
  settings.machine = machine;
  const bf_corpus_benchmark *at;
  check_plain plain = {0};
  bool good = true;
  for (unsigned i = 0; (at = bf_corpus_get(i)) != NULL; i++)
    if (is_wanted(at, argc - first, argv + first))
      good &= check_emulated(at, &settings, &plain);
  bf_machine_free(machine);
  return good ? 0 : 1;
}
