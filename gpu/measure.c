/* The benchmarks of the corpus on the GPU of this machine, as they are and with hashed addresses,
 * as CSV with a line for each launch:
 *
 *   measure HASHES [--once] [BENCHMARK...]
 *
 * HASHES is what gpu/choose prints. Each benchmark runs plain and in each way that HASHES has for
 * it, with rewritten PTX that the verifier accepts; results are compared with the CPU. Times are
 * medians of repeated launches with cold caches, in two rounds, at a scale at which the plain
 * benchmark takes long enough. --once runs every launch once at scale 1 and measures no time, for
 * counters of Nsight Compute. */
#include "gpu/rewritten.h"
#include "kernels/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINE = 1024, REPEATS = 21, FIRST_REPEATS = 3, ROUNDS = 2, MOST_SCALE = 512 };
static const double least_ns = 300e3, most_host_seconds = 1.5;
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

/* As rewrite.h asks for it. */
static const bf_hash *hash_of(void *context, const bf_ptx_function *kernel,
                              const bf_ptx_variable *array) {
  const subject *s = context;
  (void)array;
  for (const entry *at = s->entries; at; at = at->next)
    if (strcmp(at->benchmark, s->benchmark->name) == 0 && strcmp(at->way, s->way) == 0 &&
        strcmp(at->kernel, kernel->name) == 0)
      return at->hash;
  return NULL;
}

/* Whether a kernel of the benchmark has a hash in that way. */
static bool has_way(const subject *s) {
  if (strcmp(s->way, "plain") == 0)
    return true;
  for (const entry *at = s->entries; at; at = at->next)
    if (strcmp(at->benchmark, s->benchmark->name) == 0 && strcmp(at->way, s->way) == 0)
      return true;
  return false;
}

/* The PTX of the benchmark in its way, which the caller frees. */
static int make_ptx(subject *s, bf_text *text, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx(s->benchmark->folder);
  bf_ptx_module *module;
  bf_rewrite_options options = {.context = s, .hash_of = hash_of};
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

/* What the launches of a run did. */
typedef struct record {
  bf_cuda_launched *launched;
  unsigned count;
  double median_ns; /* of all together */
} record;

static int add_launch(void *context, const bf_cuda_launched *launched, bf_diagnostic *diagnostic) {
  record *r = context;
  bf_cuda_launched *grown = realloc(r->launched, (r->count + 1) * sizeof *grown);
  if (!grown)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  r->launched = grown;
  r->launched[r->count] = *launched;
  r->launched[r->count].kernel = strdup(launched->kernel);
  if (!r->launched[r->count++].kernel)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  r->median_ns += launched->median_ns;
  return BF_OK;
}

typedef struct settings {
  unsigned repeats, scale, seed, round;
} settings;

static int run(subject *s, const settings *own, record *r, bf_corpus_outcome *outcome,
               bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  bf_device device;
  bf_cuda_device_options options = {.repeats = own->repeats,
                                    .shared_granule_bytes =
                                        strcmp(s->way, "plain") ? BF_REWRITE_ROW_BYTES : 0,
                                    .after = add_launch,
                                    .context = r};
  *outcome = (bf_corpus_outcome){0};
  int error = make_ptx(s, &ptx, diagnostic);
  if (!error)
    error = bf_cuda_device_create(ptx.data, &options, &device, diagnostic);
  if (!error) {
    error = bf_corpus_execute(s->benchmark, &device, own->scale, own->seed, outcome, diagnostic);
    bf_cuda_device_free(&device);
  }
  bf_text_free(&ptx);
  return error;
}

/* Kernels of a folder have names of their own; the text of the first hash found will do. */
static const char *hash_text(const subject *s, const char *kernel) {
  for (const entry *at = s->entries; at; at = at->next)
    if (strcmp(at->benchmark, s->benchmark->name) == 0 && strcmp(at->way, s->way) == 0 &&
        strcmp(at->kernel, kernel) == 0)
      return bf_hash_text(at->hash);
  return "none";
}

static void print(const subject *s, const settings *own, const record *r,
                  const bf_corpus_outcome *outcome) {
  for (unsigned i = 0; i < r->count; i++) {
    const bf_cuda_launched *l = &r->launched[i];
    printf("%s,%s,%u,%u,%u,%u,%s,\"%s\",%u,%llu,%llu,%llu,%.0f,%.0f,%llu,%llu\n",
           s->benchmark->name, s->way, own->round, own->scale, own->seed, i, l->kernel,
           hash_text(s, l->kernel), l->registers, (unsigned long long)l->local_bytes,
           (unsigned long long)l->static_bytes, (unsigned long long)l->dynamic_bytes, l->median_ns,
           l->least_ns, (unsigned long long)outcome->elements, (unsigned long long)outcome->wrong);
  }
  fflush(stdout);
}

/* Runs and prints; the time of all launches goes to *ns where it is not NULL. */
static int measure(subject *s, const settings *own, double *ns, bf_diagnostic *diagnostic) {
  record r = {0};
  bf_corpus_outcome outcome;
  int error = run(s, own, &r, &outcome, diagnostic);
  if (!error && !ns)
    print(s, own, &r, &outcome);
  if (!error && outcome.wrong)
    fprintf(stderr, "%s %s: %s\n", s->benchmark->name, s->way, outcome.first_wrong);
  if (ns)
    *ns = r.median_ns;
  for (unsigned i = 0; i < r.count; i++)
    free((char *)(uintptr_t)r.launched[i].kernel);
  free(r.launched);
  return error;
}

/* The first power of two at which the benchmark takes long enough on the GPU, or the host is busy
 * for too long. */
static int find_scale(subject *s, unsigned seed, unsigned *scale, bf_diagnostic *diagnostic) {
  for (*scale = 1;; *scale *= 2) {
    double ns, start = bf_seconds();
    settings own = {.repeats = FIRST_REPEATS, .scale = *scale, .seed = seed};
    BF_TRY(measure(s, &own, &ns, diagnostic));
    if (ns >= least_ns || bf_seconds() - start > most_host_seconds / 2 || *scale == MOST_SCALE)
      return BF_OK;
  }
}

/* ---- Benchmarks ---- */

static const char *const ways[] = {"plain", "xor", "exact", "auto"};
enum { WAYS = sizeof ways / sizeof *ways };

/* Runs a benchmark in all its ways. Data it was not chosen by, where addresses depend on it.
 * *scale: of the benchmark that this one is the padded version of. */
static int measure_benchmark(const bf_corpus_benchmark *benchmark, const entry *entries, bool once,
                             unsigned *scale, bf_diagnostic *diagnostic) {
  subject plain = {benchmark, "plain", entries};
  settings own = {.repeats = once ? 0 : REPEATS, .scale = 1};
  own.seed = benchmark->is_data_dependent && !once;
  if (!once && !benchmark->is_padded)
    BF_TRY(find_scale(&plain, own.seed, scale, diagnostic));
  own.scale = once ? 1 : *scale;
  for (own.round = 0; own.round < (once ? 1 : ROUNDS); own.round++)
    for (unsigned w = 0; w < WAYS; w++) {
      subject s = {benchmark, ways[w], entries};
      if (has_way(&s))
        BF_TRY(measure(&s, &own, NULL, diagnostic));
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
  printf("benchmark,way,round,scale,seed,launch,kernel,hash,registers,local_bytes,static_bytes,"
         "dynamic_bytes,median_ns,least_ns,elements,wrong\n");
  for (unsigned i = 0; bf_corpus_get(i); i++) {
    const bf_corpus_benchmark *benchmark = bf_corpus_get(i);
    if (!is_asked(benchmark->name, argc - 2 - once, argv + 2 + once))
      continue;
    if (measure_benchmark(benchmark, entries, once, &scale, &diagnostic) != BF_OK) {
      fprintf(stderr, "measure: %s: %s\n", benchmark->name, diagnostic.message);
      status = 1;
    }
  }
  return status;
}
