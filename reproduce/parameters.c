/* braak16, Table 5: the hashes that were found for its benchmarks, on the accesses of ours. */
#include "kernels/measure.h"
#include "reproduce/reproduce.h"

enum { SUBJECTS = 22, QUICK_SUBJECTS = 3, METHODS = BF_PUBLISHED_METHODS, HASH_BYTES = 120 };

static const struct {
  const char *title;
  bf_method method;
  bool pairs;
} methods[METHODS] = {{"bit-vector XOR", BF_METHOD_BIT_VECTOR, false},
                      {"permutation, Givargis", BF_METHOD_GIVARGIS, false},
                      {"permutation, min. imbalance", BF_METHOD_MIN_IMBALANCE, false},
                      {"bitwise XOR, Givargis", BF_METHOD_GIVARGIS, true},
                      {"bitwise XOR, min. imbalance", BF_METHOD_MIN_IMBALANCE, true}};

/* A benchmark: conflicts without a hash, and with those of each method. */
typedef struct parameters_subject {
  const bf_corpus_benchmark *benchmark;
  const bf_published_row *published;
  uint64_t before, found[METHODS], published_left[METHODS];
  char hash[METHODS][HASH_BYTES];
} parameters_subject;

typedef struct parameters_work {
  bf_machine *machine;
  unsigned subjects;
  parameters_subject subject[SUBJECTS];
} parameters_work;

/* Conflicts that the hash called text leaves. */
static int count_left(const bf_machine *machine, const char *text, const bf_workload *workload,
                      uint64_t *conflicts, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_workload_totals totals;
  bf_hash *hash;
  BF_TRY(bf_hash_parse_banks(text, &geometry, &hash, diagnostic));
  int error = bf_memory_count_workload(machine, hash, workload, &totals, diagnostic);
  *conflicts = error ? 0 : totals.conflicts;
  bf_hash_free(hash);
  return error;
}

/* The hash of a method for a workload, and what it leaves; "none" where it has no answer. */
static int find_hash(const bf_machine *machine, const bf_workload *workload, unsigned method,
                     char hash[HASH_BYTES], uint64_t *conflicts, bf_diagnostic *diagnostic) {
  const bf_solve_options options = {.struct_bytes = sizeof options,
                                    .method = methods[method].method,
                                    .pairs = methods[method].pairs,
                                    .granule_bytes = 4};
  bf_solution solution;
  int error = bf_solve(machine, workload, &options, &solution, diagnostic);
  snprintf(hash, HASH_BYTES, "%s", error ? "none" : bf_hash_text(solution.hash));
  if (error && error != BF_UNSUPPORTED)
    return error;
  if (!error)
    bf_solution_clear(&solution);
  return count_left(machine, hash, workload, conflicts, diagnostic);
}

/* Task: one benchmark. */
static int judge_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  parameters_work *work = context;
  parameters_subject *own = &work->subject[index];
  const bf_corpus_settings settings = {
      .machine = work->machine, .as_written = true, .scale = 1, .workers = 1};
  bf_workload *workload;
  BF_TRY(bf_corpus_record(own->benchmark, &settings, &workload, diagnostic));
  int error = count_left(work->machine, "none", workload, &own->before, diagnostic);
  for (unsigned m = 0; m < METHODS && !error; m++) {
    error = find_hash(work->machine, workload, m, own->hash[m], &own->found[m], diagnostic);
    if (!error)
      error = count_left(work->machine, own->published->hash[m], workload, &own->published_left[m],
                         diagnostic);
  }
  bf_workload_free(workload);
  return error;
}

static double percent(const parameters_subject *own, uint64_t left) {
  return own->before ? 100 * (double)left / (double)own->before : 0;
}

static void add_table(bf_reproduce_run *run, const parameters_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "parameters", "Conflicts of our accesses that hashes leave, percent",
      "published name|method|published hash|leaves|hash found here|leaves");
  for (unsigned i = 0; i < work->subjects * METHODS; i++) {
    const parameters_subject *own = &work->subject[i / METHODS];
    unsigned m = i % METHODS;
    bf_reproduce_cell(table, "%s", own->benchmark->published_name);
    bf_reproduce_cell(table, "%s", methods[m].title);
    bf_reproduce_cell(table, "%s", own->published->hash[m]);
    bf_reproduce_cell(table, "%.1f", percent(own, own->published_left[m]));
    bf_reproduce_cell(table, "%s", own->hash[m]);
    bf_reproduce_cell(table, "%.1f", percent(own, own->found[m]));
  }
  bf_reproduce_table_csv_only(table);
}

/* For how many benchmarks the published hash of a method leaves no more conflicts than the one that
 * the method finds here. */
static void claim_method(bf_reproduce_run *run, const parameters_work *work, unsigned m) {
  unsigned as_good = 0, better = 0;
  char name[100];
  bf_text why = {0};
  bf_text_puts(&why, "its accesses are not ours. With the published hash and the one found here");
  for (unsigned i = 0; i < work->subjects; i++) {
    const parameters_subject *own = &work->subject[i];
    better += own->published_left[m] < own->found[m];
    as_good += own->published_left[m] <= own->found[m];
    if (own->published_left[m] > own->found[m])
      bf_text_addf(&why, "%s %s keeps %.1f%% and %.1f%%", i > as_good ? "," : "",
                   own->benchmark->published_name, percent(own, own->published_left[m]),
                   percent(own, own->found[m]));
  }
  bf_text_puts(&why, " of its conflicts.");
  snprintf(name, sizeof name, "Table 5, %s: as good on our accesses as what is found here",
           methods[m].title);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = name,
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "all 22 are what was found",
                                                .published = work->subjects,
                                                .ours = as_good,
                                                .why = why.failed ? "" : why.data},
                          "%u of %u, %u of them better", as_good, work->subjects, better);
  bf_text_free(&why);
}

static int run_parameters(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  parameters_work *work = bf_arena_alloc(bf_reproduce_arena(run), sizeof *work);
  if (!work)
    return bf_no_memory(diagnostic);
  const unsigned most = bf_reproduce_is_quick(run) ? QUICK_SUBJECTS : SUBJECTS;
  const bf_corpus_benchmark *benchmark;
  for (unsigned i = 0; (benchmark = bf_corpus_get(i)) && work->subjects < most; i++)
    if (benchmark->published_name)
      work->subject[work->subjects++] = (parameters_subject){
          .benchmark = benchmark, .published = bf_published_find(benchmark->published_name)};
  BF_TRY(bf_machine_load("fermi", NULL, &work->machine, diagnostic));
  int error = bf_reproduce_parallel(run, work->subjects, "benchmarks", judge_one, work, diagnostic);
  bf_machine_free(work->machine);
  BF_TRY(error);
  add_table(run, work);
  for (unsigned m = 0; m < METHODS; m++)
    claim_method(run, work, m);
  return BF_OK;
}

const bf_reproduction bf_reproduce_parameters[] = {
    {"hash-parameters", "published hashes on our accesses", "braak16, Table 5",
     "The 110 hashes of Table 5 on the accesses of our benchmarks of these names, beside what the "
     "same methods find for them.",
     run_parameters},
    {NULL, NULL, NULL, NULL, NULL},
};
