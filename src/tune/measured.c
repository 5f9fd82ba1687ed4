/* Decisions about the hashes of kernels from times on a GPU. */
#include "tune/measured.h"

#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

const char *const bf_measured_hashes[] = {
    "fixed",      "xor:0,6,31",
    "xor:0,7,31", "bits:0^5^10,1^6^11,2^7^12,3^8^13,4^9^14",
    "cute:4,3,4", "bits:0,1^5^9,2^6^10,3^7^11,4^8^12",
    "cute:3,4,3", "bits:0,1,2^5^8,3^6^9,4^7^10",
    NULL,
};

/* A candidate whose every kernel takes this much longer after one round is given up. */
static const double hopeless = 1.05;

/* A run that ended as the program as it is does. */
struct bf_measured_run {
  unsigned candidate;
  bf_times times;
};
typedef struct bf_measured_run measured_run;

/* ---- Runs ---- */

/* Adds a run, whose times move there. */
static int add_run(bf_measured_runs *runs, unsigned candidate, bf_times *times,
                   bf_diagnostic *diagnostic) {
  if (runs->count == runs->capacity) {
    size_t capacity = runs->capacity ? 2 * runs->capacity : 32;
    measured_run *grown = realloc(runs->run, capacity * sizeof *grown);
    if (!grown)
      return bf_no_memory(diagnostic);
    runs->run = grown;
    runs->capacity = capacity;
  }
  runs->run[runs->count++] = (measured_run){candidate, *times};
  *times = (bf_times){0};
  return BF_OK;
}

static void free_runs(bf_measured_runs *runs) {
  for (size_t i = 0; i < runs->count; i++)
    bf_times_free(&runs->run[i].times);
  free(runs->run);
  *runs = (bf_measured_runs){0};
}

/* ---- Comparing ---- */

/* What is compared, and how: sizes and their launches are those of the first run as it is. */
typedef struct comparing {
  const bf_measured_runs *runs;
  const bf_times *sizes;
  unsigned candidate;
  const char *kernel;
} comparing;

/* Whether all runs with the candidate, and those as it is, launched the kernel with this size. */
static bool is_common(const comparing *c, const bf_times_row *size) {
  for (size_t i = 0; i < c->runs->count; i++) {
    const measured_run *run = &c->runs->run[i];
    if ((run->candidate == 0 || run->candidate == c->candidate) &&
        !bf_times_find(&run->times, c->kernel, size))
      return false;
  }
  return true;
}

/* The first run with a candidate; NULL: none. */
static const measured_run *first_run(const bf_measured_runs *runs, unsigned candidate) {
  for (size_t i = 0; i < runs->count; i++)
    if (runs->run[i].candidate == candidate)
      return &runs->run[i];
  return NULL;
}

/* The time of the kernel in a run; *launches are those that count. */
static double time_in(const comparing *c, const bf_times *times, uint64_t *launches) {
  double ns = 0;
  *launches = 0;
  for (size_t i = 0; i < c->sizes->rows; i++) {
    const bf_times_row *size = &c->sizes->row[i];
    if (strcmp(size->kernel, c->kernel) != 0 || !is_common(c, size))
      continue;
    ns += (double)size->launches * (double)bf_times_find(times, c->kernel, size)->median_ns;
    *launches += size->launches;
  }
  return ns;
}

static int compare_numbers(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return first < second ? -1 : first > second;
}

/* Time and noise of the kernel in the runs with one candidate, the one compared or none. */
static bf_evidence time_with(const comparing *c, unsigned candidate, uint64_t *launches) {
  double *ns = malloc((c->runs->count + 1) * sizeof *ns);
  size_t count = 0;
  bf_evidence time = {0};
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
static const char *hash_in(const bf_measured_runs *runs, unsigned candidate, const char *kernel) {
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

/* Compares a candidate with the program as it is; false where the runs do not say: the kernel was
 * not rewritten, or not launched in the same way. */
static bool compare(const bf_measured_runs *runs, unsigned candidate, const char *kernel,
                    bf_measured_hash *compared) {
  const measured_run *original = first_run(runs, 0);
  *compared = (bf_measured_hash){.candidate = candidate, .hash = hash_in(runs, candidate, kernel)};
  if (!original || !compared->hash)
    return false;
  comparing c = {runs, &original->times, candidate, kernel};
  compared->times.after = time_with(&c, candidate, &compared->launches);
  compared->times.before = time_with(&c, 0, &compared->launches);
  return compared->launches > 0 && compared->times.before.ns > 0;
}

/* ---- Choosing ---- */

/* Adds a candidate to those of a kernel, behind those that are as fast. */
static void insert(bf_measured_kernel *kernel, const bf_measured_hash *compared) {
  unsigned at = kernel->tried++;
  double share = bf_judge_share(&compared->times);
  for (; at > 0 && bf_judge_share(&kernel->list[at - 1].times) > share; at--)
    kernel->list[at] = kernel->list[at - 1];
  kernel->list[at] = *compared;
}

/* The candidate to take; NULL: none is worth it. */
static const bf_measured_hash *pick(const bf_measured_kernel *kernel) {
  const bf_measured_hash *fastest = NULL, *picked = NULL;
  for (unsigned i = 0; i < kernel->tried; i++) {
    const bf_measured_hash *own = &kernel->list[i];
    if (!bf_judge_is_worth(&own->times))
      continue;
    fastest = fastest ? fastest : own;
    if (bf_judge_share(&own->times) <=
            bf_judge_share(&fastest->times) * (1 + BF_JUDGE_LEAST_GAIN) &&
        (!picked || own->candidate < picked->candidate))
      picked = own;
  }
  return picked;
}

/* Says why a kernel is left alone: what its best candidate does, or what the first run that knows
 * says of it. */
static void explain(const bf_measured *m, bf_measured_kernel *kernel) {
  const bf_measured_hash *best = kernel->list;
  const char *reason = "no candidate can be used for it";
  if (kernel->tried) {
    snprintf(kernel->reason, sizeof kernel->reason,
             "%s takes %.1f%% of the time, with noise of %.1f%%", best->hash,
             100 * bf_judge_share(&best->times), 100 * bf_judge_noise(&best->times));
    return;
  }
  for (size_t i = m->runs.count; i-- > 0;) {
    const char *own =
        m->runs.run[i].candidate ? bf_times_reason(&m->runs.run[i].times, kernel->name) : NULL;
    reason = own ? own : reason;
  }
  snprintf(kernel->reason, sizeof kernel->reason, "%s", reason);
}

/* Decides about a kernel. */
static void decide(const bf_measured *m, bf_measured_kernel *kernel) {
  const bf_measured_hash *picked = pick(kernel);
  if (!picked) {
    explain(m, kernel);
    return;
  }
  kernel->hash = picked->hash;
  kernel->launches = picked->launches;
  kernel->times = picked->times;
}

/* Makes the entry of a kernel that has none yet. */
static int add_kernel(bf_measured *m, const bf_times *sizes, const char *name,
                      bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < m->kernels; i++)
    if (strcmp(m->kernel[i].name, name) == 0)
      return BF_OK;
  bf_measured_kernel made = {.name = name};
  made.list = bf_arena_alloc(&m->arena, m->candidates * sizeof *made.list);
  if (!made.list)
    return bf_no_memory(diagnostic);
  comparing c = {&m->runs, sizes, 0, name};
  made.times.before = time_with(&c, 0, &made.launches);
  for (unsigned candidate = 1; candidate < m->candidates; candidate++) {
    bf_measured_hash compared;
    if (compare(&m->runs, candidate, name, &compared))
      insert(&made, &compared);
  }
  decide(m, &made);
  m->kernel[m->kernels++] = made;
  return BF_OK;
}

/* Those that take longest first, then by name. */
static int compare_kernels(const void *a, const void *b) {
  const bf_measured_kernel *first = a, *second = b;
  if (first->times.before.ns != second->times.before.ns)
    return first->times.before.ns < second->times.before.ns ? 1 : -1;
  return strcmp(first->name, second->name);
}

/* Chooses for every kernel that the runs of the program as it is have. */
static int choose(bf_measured *m, bf_diagnostic *diagnostic) {
  const measured_run *original = first_run(&m->runs, 0);
  size_t rows = original ? original->times.rows : 0;
  m->kernel = bf_arena_alloc(&m->arena, (rows + 1) * sizeof *m->kernel);
  if (!m->kernel)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < rows; i++)
    BF_TRY(add_kernel(m, &original->times, original->times.row[i].kernel, diagnostic));
  qsort(m->kernel, m->kernels, sizeof *m->kernel, compare_kernels);
  return BF_OK;
}

/* Leaves alone those kernels whose choice the runs do not confirm, in which candidate 1 is all that
 * was chosen. */
static void keep_confirmed(bf_measured *m) {
  for (size_t i = 0; i < m->kernels; i++) {
    bf_measured_kernel *kernel = &m->kernel[i];
    bf_measured_hash again;
    if (!kernel->hash)
      continue;
    bool is_there = compare(&m->confirming, 1, kernel->name, &again);
    if (is_there && bf_judge_is_worth(&again.times)) {
      kernel->launches = again.launches;
      kernel->times = again.times;
      continue;
    }
    snprintf(kernel->reason, sizeof kernel->reason,
             "%s was faster, but not again when that was to be confirmed", kernel->hash);
    kernel->hash = NULL;
  }
}

void bf_measured_write(const bf_measured *m, bf_text *text) {
  for (size_t i = 0; i < m->kernels; i++)
    if (m->kernel[i].hash)
      bf_hash_list_write(m->kernel[i].name, m->kernel[i].hash, text);
  bf_text_puts(text, "* none\n");
}

/* ---- Measuring ---- */

typedef struct measuring {
  bf_measured *measured;
  const bf_measured_runner *runner;
  unsigned repeats;
} measuring;

/* Gives a candidate up; told says whether the runner is told. */
static void drop(const measuring *w, bf_measured_candidate *candidate, const char *why, bool told) {
  snprintf(candidate->dropped, sizeof candidate->dropped, "%s", why);
  if (told)
    w->runner->drop(w->runner->context, candidate);
}

/* Runs the program with a candidate and keeps the times; number is how `to` calls it. */
static int measure(const measuring *w, bf_measured_candidate *candidate, unsigned number,
                   bf_measured_runs *to, bf_diagnostic *diagnostic) {
  char how[160] = "";
  bf_times times = {0};
  int error = w->runner->run(w->runner->context, candidate, false, &times, how, diagnostic);
  w->measured->runs_done++;
  if (!error && *how && number == 0)
    error = bf_fail(diagnostic, BF_UNSUPPORTED,
                    "run again as it is, the program %s: runs cannot be compared", how);
  if (!error && *how)
    drop(w, candidate, how, true);
  else if (!error)
    error = add_run(to, number, &times, diagnostic);
  candidate->runs += !error && !*how;
  bf_times_free(&times);
  return error;
}

/* The first run, as it is: what the others are compared with. Its times do not count: it warms up
 * whatever needs it. */
static int run_first(const measuring *w, bf_diagnostic *diagnostic) {
  bf_times times = {0};
  char how[160] = "";
  int error =
      w->runner->run(w->runner->context, &w->measured->candidate[0], true, &times, how, diagnostic);
  w->measured->runs_done++;
  if (!error && !times.rows)
    error = bf_fail(diagnostic, BF_UNSUPPORTED, "it launches no kernel that can be timed");
  bf_times_free(&times);
  return error;
}

/* Gives up candidates that can be used for no kernel, or make every kernel slower. */
static void drop_hopeless(const measuring *w) {
  bf_measured *m = w->measured;
  for (unsigned i = 1; i < m->candidates; i++) {
    bool is_used = false, has_hope = false;
    for (size_t j = 0; j < m->runs.run[0].times.rows; j++) {
      bf_measured_hash compared;
      if (!compare(&m->runs, i, m->runs.run[0].times.row[j].kernel, &compared))
        continue;
      is_used = true;
      has_hope |= bf_judge_share(&compared.times) < hopeless;
    }
    if (!has_hope && !*m->candidate[i].dropped)
      drop(w, &m->candidate[i], is_used ? "every kernel is slower" : "no kernel can use it", false);
  }
}

/* Runs every candidate once; the order turns from round to round, so that what changes with time,
 * as clocks do, hits all alike. */
static int run_round(const measuring *w, unsigned round, bf_diagnostic *diagnostic) {
  bf_measured *m = w->measured;
  for (unsigned i = 0; i < m->candidates; i++) {
    unsigned number = round % 2 ? m->candidates - 1 - i : i;
    if (!*m->candidate[number].dropped)
      BF_TRY(measure(w, &m->candidate[number], number, &m->runs, diagnostic));
  }
  return BF_OK;
}

/* How many runs there will be, as far as is known after so many rounds. */
static void expect_runs(const measuring *w, unsigned rounds_done) {
  bf_measured *m = w->measured;
  unsigned left = 0;
  for (unsigned i = 0; i < m->candidates; i++)
    left += !*m->candidate[i].dropped;
  m->runs_expected = m->runs_done + left * (w->repeats - rounds_done) + 2 * w->repeats;
}

/* Measures all that was chosen against the program as it is. */
static int confirm(const measuring *w, bf_diagnostic *diagnostic) {
  bf_measured *m = w->measured;
  bf_text lines = {0};
  bf_measured_write(m, &lines);
  bf_measured_candidate all = {.kind = BF_MEASURED_LINES, .text = lines.data};
  int error = lines.failed ? bf_no_memory(diagnostic) : BF_OK;
  for (unsigned i = 0; i < w->repeats && !error && !*all.dropped; i++) {
    error = measure(w, &m->candidate[0], 0, &m->confirming, diagnostic);
    if (!error)
      error = measure(w, &all, 1, &m->confirming, diagnostic);
  }
  if (*all.dropped)
    free_runs(&m->confirming);
  bf_text_free(&lines);
  return error;
}

/* Whether any kernel has a hash. */
static bool has_choice(const bf_measured *m) {
  for (size_t i = 0; i < m->kernels; i++)
    if (m->kernel[i].hash)
      return true;
  return false;
}

int bf_measure(bf_measured_candidate *candidate, unsigned candidates, unsigned repeats,
               const bf_measured_runner *runner, bf_measured *measured, bf_diagnostic *diagnostic) {
  *measured = (bf_measured){.candidate = candidate, .candidates = candidates};
  measuring w = {measured, runner, repeats};
  expect_runs(&w, 0);
  measured->runs_expected++;
  BF_TRY(run_first(&w, diagnostic));
  for (unsigned round = 0; round < repeats; round++) {
    BF_TRY(run_round(&w, round, diagnostic));
    if (round == 0)
      drop_hopeless(&w);
    expect_runs(&w, round + 1);
  }
  BF_TRY(choose(measured, diagnostic));
  if (!has_choice(measured))
    return BF_OK;
  BF_TRY(confirm(&w, diagnostic));
  keep_confirmed(measured);
  return BF_OK;
}

void bf_measured_free(bf_measured *measured) {
  free_runs(&measured->runs);
  free_runs(&measured->confirming);
  bf_arena_free(&measured->arena);
}
