/* Decisions about the hashes of kernels from times. */
#include "cli/use/tuning.h"

#include <stdlib.h>
#include <string.h>

/* What a candidate must gain at least, as a share of the time. */
static const double least_gain = 0.01;

/* ---- Runs ---- */

int cli_tuning_add(cli_tuning_runs *runs, unsigned candidate, bf_times *times,
                   bf_diagnostic *diagnostic) {
  if (runs->count == runs->capacity) {
    size_t capacity = runs->capacity ? 2 * runs->capacity : 32;
    cli_tuning_run *grown = realloc(runs->run, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    runs->run = grown;
    runs->capacity = capacity;
  }
  runs->run[runs->count++] = (cli_tuning_run){candidate, *times};
  *times = (bf_times){0};
  return BF_OK;
}

void cli_tuning_runs_free(cli_tuning_runs *runs) {
  for (size_t i = 0; i < runs->count; i++)
    bf_times_free(&runs->run[i].times);
  free(runs->run);
  *runs = (cli_tuning_runs){0};
}

/* ---- Comparing ---- */

/* Whether all runs with the candidate, and those as it is, launched the kernel with this size. */
static bool is_common(const cli_tuning_runs *runs, unsigned candidate, const char *kernel,
                      const bf_times_row *size) {
  for (size_t i = 0; i < runs->count; i++)
    if ((runs->run[i].candidate == 0 || runs->run[i].candidate == candidate) &&
        !bf_times_find(&runs->run[i].times, kernel, size))
      return false;
  return true;
}

/* The first run with a candidate; NULL: none. */
static const cli_tuning_run *first_run(const cli_tuning_runs *runs, unsigned candidate) {
  for (size_t i = 0; i < runs->count; i++)
    if (runs->run[i].candidate == candidate)
      return &runs->run[i];
  return NULL;
}

/* What is compared, and how: sizes and their launches are those of the first run as it is. */
typedef struct comparing {
  const cli_tuning_runs *runs;
  const bf_times *sizes;
  unsigned candidate;
  const char *kernel;
} comparing;

/* The time of the kernel in a run; *launches are those that count. */
static double time_in(const comparing *c, const bf_times *times, uint64_t *launches) {
  double ns = 0;
  *launches = 0;
  for (size_t i = 0; i < c->sizes->rows; i++) {
    const bf_times_row *size = &c->sizes->row[i];
    if (strcmp(size->kernel, c->kernel) != 0 || !is_common(c->runs, c->candidate, c->kernel, size))
      continue;
    ns += (double)size->launches * bf_times_find(times, c->kernel, size)->median_ns;
    *launches += size->launches;
  }
  return ns;
}

static int compare_numbers(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return first < second ? -1 : first > second;
}

/* The time and noise of the kernel in the runs with one candidate, the one compared or none. */
static cli_time time_with(const comparing *c, unsigned candidate, uint64_t *launches) {
  double *ns = malloc((c->runs->count + 1) * sizeof *ns);
  size_t count = 0;
  cli_time time = {0};
  *launches = 0;
  for (size_t i = 0; ns && i < c->runs->count; i++)
    if (c->runs->run[i].candidate == candidate)
      ns[count++] = time_in(c, &c->runs->run[i].times, launches);
  if (count) {
    qsort(ns, count, sizeof *ns, compare_numbers);
    time.ns = (ns[(count - 1) / 2] + ns[count / 2]) / 2;
    time.noise = time.ns > 0 ? (ns[count - 1] - ns[0]) / time.ns : 0;
  }
  free(ns);
  return time;
}

/* The hash that all runs with the candidate rewrote the kernel with; NULL: one did not. */
static const char *hash_in(const cli_tuning_runs *runs, unsigned candidate, const char *kernel) {
  const char *hash = NULL;
  for (size_t i = 0; i < runs->count; i++) {
    const bf_times *times = &runs->run[i].times;
    for (size_t j = 0; j < times->rows && runs->run[i].candidate == candidate; j++)
      if (strcmp(times->row[j].kernel, kernel) == 0) {
        if (!times->row[j].hash)
          return NULL;
        hash = times->row[j].hash;
      }
  }
  return hash;
}

bool cli_tuning_compare(const cli_tuning_runs *runs, unsigned candidate, const char *kernel,
                        cli_comparison *comparison) {
  const cli_tuning_run *original = first_run(runs, 0);
  *comparison = (cli_comparison){.candidate = candidate, .hash = hash_in(runs, candidate, kernel)};
  if (!original || !comparison->hash)
    return false;
  comparing c = {runs, &original->times, candidate, kernel};
  comparison->after = time_with(&c, candidate, &comparison->launches);
  comparison->before = time_with(&c, 0, &comparison->launches);
  return comparison->launches > 0 && comparison->before.ns > 0;
}

bool cli_comparison_is_faster(const cli_comparison *comparison) {
  double margin = least_gain;
  if (comparison->before.noise > margin)
    margin = comparison->before.noise;
  if (comparison->after.noise > margin)
    margin = comparison->after.noise;
  return comparison->after.ns < comparison->before.ns * (1 - margin);
}

/* ---- Choosing ---- */

/* The share of the time that is left with a candidate. */
static double share_of(const cli_comparison *comparison) {
  return comparison->after.ns / comparison->before.ns;
}

/* Adds a comparison to those of a kernel, behind those that are as fast. */
static void insert(cli_tuned *kernel, const cli_comparison *comparison) {
  unsigned at = kernel->tried++;
  for (; at > 0 && share_of(&kernel->list[at - 1]) > share_of(comparison); at--)
    kernel->list[at] = kernel->list[at - 1];
  kernel->list[at] = *comparison;
}

/* The candidate to take; NULL: none is faster than the original beyond noise. */
static const cli_comparison *pick(const cli_tuned *kernel) {
  const cli_comparison *fastest = NULL, *picked = NULL;
  for (unsigned i = 0; i < kernel->tried; i++) {
    const cli_comparison *own = &kernel->list[i];
    if (!cli_comparison_is_faster(own))
      continue;
    fastest = fastest ? fastest : own;
    if (share_of(own) <= share_of(fastest) * (1 + least_gain) &&
        (!picked || own->candidate < picked->candidate))
      picked = own;
  }
  return picked;
}

/* Says why a kernel is left alone. */
static void explain(cli_tuned *kernel) {
  const cli_comparison *best = kernel->list;
  if (!kernel->tried) {
    snprintf(kernel->reason, sizeof kernel->reason, "no candidate can be used for it");
    return;
  }
  double noise = best->before.noise > best->after.noise ? best->before.noise : best->after.noise;
  snprintf(kernel->reason, sizeof kernel->reason,
           "%s takes %.1f%% of the time, with noise of %.1f%%", best->hash, 100 * share_of(best),
           100 * noise);
}

/* Decides about a kernel. */
static void decide(cli_tuned *kernel) {
  const cli_comparison *picked = pick(kernel);
  if (!picked) {
    explain(kernel);
    return;
  }
  kernel->hash = picked->hash;
  kernel->launches = picked->launches;
  kernel->before = picked->before;
  kernel->after = picked->after;
}

/* Makes the entry of a kernel, named in a row, that has none yet. */
static int add_kernel(const cli_tuning_runs *runs, const bf_times *times, const char *name,
                      unsigned candidates, cli_tuning *tuning, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < tuning->kernels; i++)
    if (strcmp(tuning->kernel[i].name, name) == 0)
      return BF_OK;
  cli_tuned made = {.name = name};
  made.list = bf_arena_alloc(&tuning->arena, candidates * sizeof *made.list);
  if (!made.list)
    return bf_no_memory(diagnostic);
  comparing c = {runs, times, 0, name};
  made.before = time_with(&c, 0, &made.launches);
  for (unsigned candidate = 1; candidate < candidates; candidate++) {
    cli_comparison comparison;
    if (cli_tuning_compare(runs, candidate, name, &comparison))
      insert(&made, &comparison);
  }
  decide(&made);
  tuning->kernel[tuning->kernels++] = made;
  return BF_OK;
}

static int compare_kernels(const void *a, const void *b) {
  const cli_tuned *first = a, *second = b;
  if (first->before.ns != second->before.ns)
    return first->before.ns < second->before.ns ? 1 : -1;
  return strcmp(first->name, second->name);
}

int cli_tuning_choose(const cli_tuning_runs *runs, unsigned candidates, cli_tuning *tuning,
                      bf_diagnostic *diagnostic) {
  const cli_tuning_run *original = first_run(runs, 0);
  size_t rows = original ? original->times.rows : 0;
  *tuning = (cli_tuning){0};
  tuning->kernel = bf_arena_alloc(&tuning->arena, (rows + 1) * sizeof *tuning->kernel);
  if (!tuning->kernel)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < rows; i++)
    BF_TRY(add_kernel(runs, &original->times, original->times.row[i].kernel, candidates, tuning,
                      diagnostic));
  qsort(tuning->kernel, tuning->kernels, sizeof *tuning->kernel, compare_kernels);
  return BF_OK;
}

void cli_tuning_confirm(const cli_tuning_runs *runs, cli_tuning *tuning) {
  for (size_t i = 0; i < tuning->kernels; i++) {
    cli_tuned *kernel = &tuning->kernel[i];
    cli_comparison again;
    if (!kernel->hash)
      continue;
    bool is_there = cli_tuning_compare(runs, 1, kernel->name, &again);
    if (is_there && cli_comparison_is_faster(&again)) {
      kernel->launches = again.launches;
      kernel->before = again.before;
      kernel->after = again.after;
      continue;
    }
    snprintf(kernel->reason, sizeof kernel->reason,
             "%s was faster, but not again when that was to be confirmed", kernel->hash);
    kernel->hash = NULL;
  }
}

bool cli_tuning_has_choice(const cli_tuning *tuning) {
  for (size_t i = 0; i < tuning->kernels; i++)
    if (tuning->kernel[i].hash)
      return true;
  return false;
}

void cli_tuning_free(cli_tuning *tuning) {
  bf_arena_free(&tuning->arena);
  *tuning = (cli_tuning){0};
}
