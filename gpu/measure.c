/* The benchmarks of the corpus on the GPU of this machine, as they are and with hashed addresses,
 * as CSV with a line for each launch:
 *
 *   measure SCALES HASHES [--once] [BENCHMARK...]
 *   measure --scales > SCALES
 *
 * HASHES is what gpu/choose prints. Each benchmark runs plain and in each way that HASHES has for
 * it, with rewritten PTX that the verifier accepts. Times are medians of repeated launches with
 * cold caches, in which the ways take turns, at the scale of SCALES; the results of the last way
 * are compared with the CPU's.
 *
 * Before that the candidates (try-0 and so on) take turns in a run of their own. The fastest is the
 * way `tuned`, where it is faster than plain by more than a hundredth, as `bankfold tune` has it.
 *
 * --once runs every way on its own at scale 1, compares the results of all and measures no time,
 * for counters of Nsight Compute. --scales finds scales at which the plain benchmarks take long
 * enough. */
#include "gpu/scales.h"
#include "gpu/ways.h"
#include "kernels/devices.h"
#include "rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 21, FIRST_REPEATS = 3 };
/* A benchmark is large enough when it takes least_ns in launches of LEAST_BLOCKS, or most_ns, or
 * the host most_host_seconds for it. */
enum { LEAST_BLOCKS = 528 };
static const double least_gain = 0.01;
static const double least_ns = 300e3, most_ns = 20e6, most_host_seconds = 1;

/* ---- Runs ---- */

static const char *const ways[] = {"plain", "xor", "exact", "auto"};
static const char *const candidates[] = {"plain", "try-0", "try-1", "try-2",
                                         "try-3", "try-4", "try-5", "try-6"};
enum { WAYS = sizeof ways / sizeof *ways, CANDIDATES = sizeof candidates / sizeof *candidates };
enum { MOST_WAYS = CANDIDATES > WAYS + 1 ? CANDIDATES : WAYS + 1 };

typedef struct settings {
  unsigned repeats, scale, seed;
} settings;

/* A benchmark in several ways at once: each launch runs all of them. */
typedef struct run {
  unsigned ways;
  gpu_way way[MOST_WAYS];
  bf_text ptx[MOST_WAYS];
  unsigned launches;
  bf_cuda_launched *launched; /* all ways of the first launch, then of the next */
  double plain_ns;            /* of all launches */
  uint64_t least_blocks;
  bf_corpus_outcome outcome; /* of the last way */
} run;

static int add_launch(void *context, const bf_cuda_launched *launched, bf_diagnostic *diagnostic) {
  run *r = context;
  bf_cuda_launched *grown = realloc(r->launched, (r->launches + 1) * sizeof *grown);
  char *name = strdup(launched->kernel);
  if (grown)
    r->launched = grown;
  if (!grown || !name) {
    free(name);
    return bf_no_memory(diagnostic);
  }
  r->launched[r->launches] = *launched;
  r->launched[r->launches++].kernel = name;
  if (launched->module == 0)
    r->plain_ns += launched->median_ns;
  if (launched->blocks < r->least_blocks)
    r->least_blocks = launched->blocks;
  return BF_OK;
}

static void free_run(run *r) {
  for (unsigned i = 0; i < r->launches; i++)
    free((char *)(uintptr_t)r->launched[i].kernel);
  for (unsigned i = 0; i < r->ways; i++)
    bf_text_free(&r->ptx[i]);
  free(r->launched);
}

/* Runs the benchmark; r->way holds the ways. */
static int execute(run *r, const settings *own, bf_diagnostic *diagnostic) {
  const bf_corpus_benchmark *benchmark = r->way[0].benchmark;
  const char *other[MOST_WAYS] = {0};
  bf_device device;
  r->least_blocks = UINT64_MAX;
  for (unsigned i = 0; i < r->ways; i++) {
    BF_TRY(gpu_way_ptx(&r->way[i], &r->ptx[i], diagnostic));
    other[i] = r->ptx[i].data;
  }
  bf_cuda_device_options options = {.repeats = own->repeats,
                                    .others = r->ways - 1,
                                    .other = other + 1,
                                    .shared_granule_bytes = BF_REWRITE_ROW_BYTES,
                                    .after = add_launch,
                                    .context = r};
  BF_TRY(bf_cuda_device_create(other[0], &options, &device, diagnostic));
  int error = bf_corpus_execute(benchmark, &device, own->scale, own->seed, &r->outcome, diagnostic);
  bf_cuda_device_free(&device);
  return error;
}

/* Prints the hash of a kernel, or those of its arrays, or none. */
static void print_hash(const gpu_way *s, const char *kernel) {
  bool is_first = true;
  for (const gpu_way_entry *at = s->entries; at; at = at->next) {
    if (!gpu_way_has(at, s, kernel))
      continue;
    printf("%s", is_first ? "" : " ");
    if (at->array)
      printf("%s=", at->array);
    printf("%s", at->hash ? bf_hash_text(at->hash) : "none");
    is_first = false;
  }
  printf("%s", is_first ? "none" : "");
}

static void print(const run *r, const settings *own) {
  for (unsigned i = 0; i < r->launches; i++) {
    const bf_cuda_launched *l = &r->launched[i];
    const gpu_way *s = &r->way[l->module];
    printf("%s,%s,%u,%u,%u,%s,\"", s->benchmark->name, s->title, own->scale, own->seed, i / r->ways,
           l->kernel);
    print_hash(s, l->kernel);
    printf("\",%llu,%u,%llu,%llu,%llu,%.0f,%.0f,%llu,%s\n", (unsigned long long)l->blocks,
           l->registers, (unsigned long long)l->local_bytes, (unsigned long long)l->static_bytes,
           (unsigned long long)l->dynamic_bytes, l->median_ns, l->least_ns,
           (unsigned long long)r->outcome.elements,
           l->module + 1 < r->ways ? "unchecked"
           : r->outcome.wrong      ? "wrong"
                                   : "right");
  }
  fflush(stdout);
}

/* Adds a way, where HASHES has it for the benchmark. */
static void add_way(run *r, const bf_corpus_benchmark *benchmark, const gpu_way_entry *entries,
                    const char *way, const char *title) {
  gpu_way s = {benchmark, way, title, entries};
  if (gpu_way_exists(&s))
    r->way[r->ways++] = s;
}

/* Runs and prints; the launches are kept. */
static int measure(run *r, const settings *own, bf_diagnostic *diagnostic) {
  BF_TRY(execute(r, own, diagnostic));
  print(r, own);
  return r->outcome.wrong ? bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", r->way[r->ways - 1].way,
                                    r->outcome.first_wrong)
                          : BF_OK;
}

/* The time of all launches in one way. */
static double total_ns(const run *r, unsigned way) {
  double sum = 0;
  for (unsigned i = 0; i < r->launches; i++)
    sum += r->launched[i].module == way ? r->launched[i].median_ns : 0;
  return sum;
}

/* Times all candidates; *fastest is the name of the best one, or NULL. */
static int tune(const bf_corpus_benchmark *benchmark, const gpu_way_entry *entries,
                const settings *own, const char **fastest, bf_diagnostic *diagnostic) {
  run r = {0};
  *fastest = NULL;
  for (unsigned w = 0; w < CANDIDATES; w++)
    add_way(&r, benchmark, entries, candidates[w], w ? candidates[w] : "try-plain");
  if (r.ways < 2)
    return BF_OK;
  int error = measure(&r, own, diagnostic);
  double best = total_ns(&r, 0) * (1 - least_gain);
  for (unsigned w = 1; w < r.ways && !error; w++)
    if (total_ns(&r, w) < best) {
      best = total_ns(&r, w);
      *fastest = r.way[w].way;
    }
  free_run(&r);
  return error;
}

/* The first power of two at which the benchmark takes long enough on the GPU, with enough blocks,
 * or the host is busy for too long. */
static int find_scale(const gpu_way *plain, unsigned seed, unsigned *scale,
                      bf_diagnostic *diagnostic) {
  for (*scale = 1;; *scale *= 2) {
    double start = bf_seconds();
    run r = {.ways = 1, .way = {*plain}};
    settings own = {.repeats = FIRST_REPEATS, .scale = *scale, .seed = seed};
    int error = execute(&r, &own, diagnostic);
    bool is_enough = (r.plain_ns >= least_ns && r.least_blocks >= LEAST_BLOCKS) ||
                     r.plain_ns >= most_ns || bf_seconds() - start > most_host_seconds ||
                     *scale == GPU_MOST_SCALE;
    free_run(&r);
    if (error || is_enough)
      return error;
  }
}

/* ---- Benchmarks ---- */

/* Runs a benchmark in all its ways. Data it was not chosen by, where addresses depend on it. */
static int time_benchmark(const bf_corpus_benchmark *benchmark, const gpu_way_entry *entries,
                          unsigned scale, bf_diagnostic *diagnostic) {
  run r = {0};
  settings own = {.repeats = REPEATS, .scale = scale, .seed = benchmark->is_data_dependent};
  const char *fastest;
  BF_TRY(tune(benchmark, entries, &own, &fastest, diagnostic));
  for (unsigned w = 0; w < WAYS; w++)
    add_way(&r, benchmark, entries, ways[w], ways[w]);
  if (fastest)
    add_way(&r, benchmark, entries, fastest, "tuned");
  int error = measure(&r, &own, diagnostic);
  free_run(&r);
  return error;
}

/* Runs every way on its own, without timing, at scale 1. */
static int run_once(const bf_corpus_benchmark *benchmark, const gpu_way_entry *entries,
                    bf_diagnostic *diagnostic) {
  settings own = {.scale = 1};
  int error = BF_OK;
  for (unsigned w = 0; w < WAYS && !error; w++) {
    run r = {0};
    add_way(&r, benchmark, entries, ways[w], ways[w]);
    if (r.ways)
      error = measure(&r, &own, diagnostic);
    free_run(&r);
  }
  return error;
}

static bool is_asked(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return count == 0;
}

/* Prints the scale of every benchmark that is no padded version. */
static int print_scales(void) {
  bf_diagnostic diagnostic;
  printf("# Made by gpu/measure --scales: benchmark, and the scale at which it is measured.\n");
  for (unsigned i = 0; bf_corpus_get(i); i++) {
    gpu_way plain = {bf_corpus_get(i), "plain", "plain", NULL};
    unsigned scale;
    if (plain.benchmark->is_padded)
      continue;
    if (find_scale(&plain, plain.benchmark->is_data_dependent, &scale, &diagnostic) != BF_OK)
      return fprintf(stderr, "measure: %s: %s\n", plain.benchmark->name, diagnostic.message), 1;
    printf("%s %u\n", plain.benchmark->name, scale);
    fflush(stdout);
  }
  return 0;
}

/* The scale of a benchmark; padded versions have that of the one before them. */
static unsigned scale_of(const gpu_scales *scales, const bf_corpus_benchmark *benchmark,
                         unsigned before) {
  unsigned own = benchmark->is_padded ? before : gpu_scale_of(scales, benchmark->name);
  return own ? own : 1;
}

int main(int argc, char **argv) {
  static gpu_scales scales;
  bf_diagnostic diagnostic;
  gpu_way_entry *entries = NULL;
  if (argc == 2 && strcmp(argv[1], "--scales") == 0)
    return print_scales();
  if (argc < 3)
    return fprintf(stderr, "usage: measure SCALES HASHES [--once] [BENCHMARK...]\n"
                           "       measure --scales\n"),
           2;
  if (gpu_scales_read(argv[1], &scales, &diagnostic) != BF_OK ||
      gpu_ways_read(argv[2], &entries, &diagnostic) != BF_OK)
    return fprintf(stderr, "measure: %s\n", diagnostic.message), 2;
  bool once = argc > 3 && strcmp(argv[3], "--once") == 0;
  unsigned scale = 1;
  int status = 0;
  printf("benchmark,way,scale,seed,launch,kernel,hash,blocks,registers,local_bytes,static_bytes,"
         "dynamic_bytes,median_ns,least_ns,elements,result\n");
  for (unsigned i = 0; bf_corpus_get(i); i++) {
    const bf_corpus_benchmark *benchmark = bf_corpus_get(i);
    scale = scale_of(&scales, benchmark, scale);
    if (!is_asked(benchmark->name, argc - 3 - once, argv + 3 + once))
      continue;
    int error = once ? run_once(benchmark, entries, &diagnostic)
                     : time_benchmark(benchmark, entries, scale, &diagnostic);
    if (error) {
      fprintf(stderr, "measure: %s: %s\n", benchmark->name, diagnostic.message);
      status = 1;
    }
  }
  return status;
}
