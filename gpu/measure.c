/* The benchmarks of the corpus on the GPU of this machine, as they are and with hashed addresses,
 * as CSV with a line for each launch:
 *
 *   measure HASHES [--once] [BENCHMARK...]
 *
 * HASHES is what gpu/choose prints. Each benchmark runs plain and in each way that HASHES has for
 * it, with rewritten PTX that the verifier accepts. Times are medians of repeated launches with
 * cold caches, in which the ways take turns, at a scale at which the plain benchmark takes long
 * enough; the results of the last way are compared with the CPU's. --once runs every way on its own
 * at scale 1, compares the results of all and measures no time, for counters of Nsight Compute. */
#include "gpu/rewritten.h"
#include "kernels/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 1024, REPEATS = 21, FIRST_REPEATS = 3, MOST_SCALE = 1024 };
/* A benchmark is large enough when it takes least_ns in launches of LEAST_BLOCKS, or most_ns, or
 * the host most_host_seconds for it. */
enum { LEAST_BLOCKS = 528 };
static const double least_ns = 300e3, most_ns = 20e6, most_host_seconds = 1;
static const bf_geometry geometry = {5, 16, 4};

/* ---- Hashes ---- */

typedef struct entry {
  char *benchmark, *way, *kernel;
  bf_hash *hash;
  struct entry *next;
} entry;

/* Reads one line into a new entry; NULL for comments. */
static int read_entry(const char *line, entry **made, bf_diagnostic *diagnostic) {
  char benchmark[MOST_LINE], way[MOST_LINE], kernel[MOST_LINE], hash[MOST_LINE];
  *made = NULL;
  if (line[0] == '#' || line[0] == '\n')
    return BF_OK;
  if (sscanf(line, "%1023s %1023s %1023s %1023s", benchmark, way, kernel, hash) != 4)
    return bf_fail(diagnostic, BF_BAD_INPUT, "a line needs benchmark, way, kernel and hash");
  entry *own = calloc(1, sizeof *own);
  if (!own || !(own->benchmark = strdup(benchmark)) || !(own->way = strdup(way)) ||
      !(own->kernel = strdup(kernel)))
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  *made = own;
  return bf_hash_parse(hash, &geometry, &own->hash, diagnostic);
}

static int read_entries(const char *path, entry **first, bf_diagnostic *diagnostic) {
  char line[MOST_LINE];
  FILE *file = fopen(path, "r");
  if (!file)
    return bf_fail(diagnostic, BF_IO, "cannot open %s", path);
  int error = BF_OK;
  for (unsigned number = 1; !error && fgets(line, sizeof line, file); number++) {
    bf_diagnostic fault;
    entry *made;
    error = read_entry(line, &made, &fault);
    if (error)
      bf_fail(diagnostic, error, "%s:%u: %s", path, number, fault.message);
    if (made) {
      made->next = *first;
      *first = made;
    }
  }
  fclose(file);
  return error;
}

/* ---- Rewriting ---- */

/* One benchmark in one way. */
typedef struct subject {
  const bf_corpus_benchmark *benchmark;
  const char *way; /* "plain": as it is */
  const entry *entries;
} subject;

/* Whether an entry is the subject's, for that kernel (NULL: any). */
static bool is_meant(const entry *at, const subject *s, const char *kernel) {
  return strcmp(at->benchmark, s->benchmark->name) == 0 && strcmp(at->way, s->way) == 0 &&
         (!kernel || strcmp(at->kernel, kernel) == 0);
}

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const subject *s = context;
  (void)array;
  for (const entry *at = s->entries; at; at = at->next)
    if (is_meant(at, s, kernel->name))
      return at->hash;
  return NULL;
}

/* Whether a kernel of the benchmark has a hash in that way. */
static bool has_way(const subject *s) {
  if (strcmp(s->way, "plain") == 0)
    return true;
  for (const entry *at = s->entries; at; at = at->next)
    if (is_meant(at, s, NULL))
      return true;
  return false;
}

/* The PTX of the benchmark in its way, which the caller frees. */
static int make_ptx(subject *s, bf_text *text, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  bf_ptx_module *module;
  bf_rewrite_options options = {.context = s, .hash_of = hash_of, .dynamic_is_rounded = true};
  if (strcmp(s->way, "plain") == 0) {
    bf_text_puts(text, ptx);
    return BF_OK;
  }
  BF_TRY(bf_ptx_parse(s->benchmark->folder, ptx, strlen(ptx), &module, diagnostic));
  int error = gpu_rewrite(module, &options, text, diagnostic);
  bf_ptx_free(module);
  return error;
}

/* ---- Runs ---- */

static const char *const ways[] = {"plain", "xor", "exact", "auto"};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct settings {
  unsigned repeats, scale, seed;
} settings;

/* A benchmark in several ways at once: each launch runs all of them. */
typedef struct run {
  unsigned ways;
  subject way[WAYS];
  bf_text ptx[WAYS];
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
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
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
  const char *other[WAYS] = {0};
  bf_device device;
  r->least_blocks = UINT64_MAX;
  for (unsigned i = 0; i < r->ways; i++) {
    BF_TRY(make_ptx(&r->way[i], &r->ptx[i], diagnostic));
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

/* The hash of a kernel, or none. */
static const char *hash_text(const subject *s, const char *kernel) {
  for (const entry *at = s->entries; at; at = at->next)
    if (is_meant(at, s, kernel))
      return bf_hash_text(at->hash);
  return "none";
}

static void print(const run *r, const settings *own) {
  for (unsigned i = 0; i < r->launches; i++) {
    const bf_cuda_launched *l = &r->launched[i];
    const subject *s = &r->way[l->module];
    printf("%s,%s,%u,%u,%u,%s,\"%s\",%llu,%u,%llu,%llu,%llu,%.0f,%.0f,%llu,%s\n",
           s->benchmark->name, s->way, own->scale, own->seed, i / r->ways, l->kernel,
           hash_text(s, l->kernel), (unsigned long long)l->blocks, l->registers,
           (unsigned long long)l->local_bytes, (unsigned long long)l->static_bytes,
           (unsigned long long)l->dynamic_bytes, l->median_ns, l->least_ns,
           (unsigned long long)r->outcome.elements,
           l->module + 1 < r->ways ? "unchecked"
           : r->outcome.wrong      ? "wrong"
                                   : "right");
  }
  fflush(stdout);
}

/* Runs and prints. */
static int measure(run *r, const settings *own, bf_diagnostic *diagnostic) {
  int error = execute(r, own, diagnostic);
  if (!error)
    print(r, own);
  if (!error && r->outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: %s", r->way[r->ways - 1].way,
                    r->outcome.first_wrong);
  free_run(r);
  return error;
}

/* The first power of two at which the benchmark takes long enough on the GPU, with enough blocks,
 * or the host is busy for too long. */
static int find_scale(const subject *plain, unsigned seed, unsigned *scale,
                      bf_diagnostic *diagnostic) {
  for (*scale = 1;; *scale *= 2) {
    double start = bf_seconds();
    run r = {.ways = 1, .way = {*plain}};
    settings own = {.repeats = FIRST_REPEATS, .scale = *scale, .seed = seed};
    int error = execute(&r, &own, diagnostic);
    bool is_enough = (r.plain_ns >= least_ns && r.least_blocks >= LEAST_BLOCKS) ||
                     r.plain_ns >= most_ns || bf_seconds() - start > most_host_seconds ||
                     *scale == MOST_SCALE;
    free_run(&r);
    if (error || is_enough)
      return error;
  }
}

/* ---- Benchmarks ---- */

/* Runs a benchmark in all its ways. Data it was not chosen by, where addresses depend on it.
 * *scale: of the benchmark that this one is the padded version of. */
static int time_benchmark(const bf_corpus_benchmark *benchmark, const entry *entries,
                          unsigned *scale, bf_diagnostic *diagnostic) {
  run r = {0};
  settings own = {.repeats = REPEATS, .seed = benchmark->is_data_dependent};
  for (unsigned w = 0; w < WAYS; w++) {
    subject s = {benchmark, ways[w], entries};
    if (has_way(&s))
      r.way[r.ways++] = s;
  }
  if (!benchmark->is_padded)
    BF_TRY(find_scale(&r.way[0], own.seed, scale, diagnostic));
  own.scale = *scale;
  return measure(&r, &own, diagnostic);
}

/* Runs every way on its own, without timing, at scale 1. */
static int run_once(const bf_corpus_benchmark *benchmark, const entry *entries,
                    bf_diagnostic *diagnostic) {
  settings own = {.scale = 1};
  for (unsigned w = 0; w < WAYS; w++) {
    run r = {.ways = 1, .way = {{benchmark, ways[w], entries}}};
    if (has_way(&r.way[0]))
      BF_TRY(measure(&r, &own, diagnostic));
  }
  return BF_OK;
}

static bool is_asked(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return count == 0;
}

int main(int argc, char **argv) {
  bf_diagnostic diagnostic;
  entry *entries = NULL;
  if (argc < 2)
    return fprintf(stderr, "usage: measure HASHES [--once] [BENCHMARK...]\n"), 2;
  if (read_entries(argv[1], &entries, &diagnostic) != BF_OK)
    return fprintf(stderr, "measure: %s\n", diagnostic.message), 2;
  bool once = argc > 2 && strcmp(argv[2], "--once") == 0;
  unsigned scale = 1;
  int status = 0;
  printf("benchmark,way,scale,seed,launch,kernel,hash,blocks,registers,local_bytes,static_bytes,"
         "dynamic_bytes,median_ns,least_ns,elements,result\n");
  for (unsigned i = 0; bf_corpus_get(i); i++) {
    const bf_corpus_benchmark *benchmark = bf_corpus_get(i);
    if (!is_asked(benchmark->name, argc - 2 - once, argv + 2 + once))
      continue;
    int error = once ? run_once(benchmark, entries, &diagnostic)
                     : time_benchmark(benchmark, entries, &scale, &diagnostic);
    if (error) {
      fprintf(stderr, "measure: %s: %s\n", benchmark->name, diagnostic.message);
      status = 1;
    }
  }
  return status;
}
