/* Every method of solve on a benchmark. */
#include "kernels/measure.h"

#include <stdlib.h>

enum { JUDGES = 10, GRANULE = 4 };

const char *const bf_corpus_column_names[BF_CORPUS_COLUMNS] = {"fixed",   "bit-vector", "perm giv",
                                                               "perm mi", "xor giv",    "xor mi",
                                                               "literal", "padding",    "exact"};

static const bf_solve_options methods[BF_CORPUS_COLUMNS] = {
    [BF_CORPUS_BIT_VECTOR] = {.method = BF_METHOD_BIT_VECTOR},
    [BF_CORPUS_PERM_GIVARGIS] = {.method = BF_METHOD_GIVARGIS},
    [BF_CORPUS_PERM_IMBALANCE] = {.method = BF_METHOD_MIN_IMBALANCE},
    [BF_CORPUS_XOR_GIVARGIS] = {.method = BF_METHOD_GIVARGIS, .pairs = true},
    [BF_CORPUS_XOR_IMBALANCE] = {.method = BF_METHOD_MIN_IMBALANCE, .pairs = true},
    [BF_CORPUS_XOR_LITERAL] = {.method = BF_METHOD_GIVARGIS_LITERAL, .pairs = true},
    [BF_CORPUS_PADDING] = {.method = BF_METHOD_PADDING},
    [BF_CORPUS_EXACT] = {.method = BF_METHOD_EXACT},
};

/* Conflicts and executions of a workload under a hash. */
static int count_all(const bf_machine *machine, const bf_hash *hash, const bf_workload *workload,
                     uint64_t *conflicts, uint64_t *accesses, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    const bf_access *access = bf_workload_get(workload, i);
    bf_count count;
    BF_TRY(bf_memory_count(machine, hash, access, &count, diagnostic));
    *conflicts += access->count * count.conflicts;
    *accesses += access->count;
  }
  return BF_OK;
}

static int parse(const bf_machine *machine, const char *text, bf_hash **hash,
                 bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  return bf_hash_parse_banks(text, &geometry, hash, diagnostic);
}

/* The hash of a column, found on the training workload. */
static int find_hash(const bf_machine *machine, const bf_workload *training, unsigned column,
                     double time_limit_seconds, bf_corpus_row *row, bf_diagnostic *diagnostic) {
  bf_corpus_cell *cell = &row->cell[column];
  if (column == BF_CORPUS_FIXED) {
    snprintf(cell->hash, sizeof cell->hash, "fixed");
    cell->has = true;
    return BF_OK;
  }
  bf_solve_options options = methods[column];
  options.struct_bytes = sizeof options;
  options.granule_bytes = column == BF_CORPUS_EXACT ? row->granule_bytes : GRANULE;
  options.time_limit_seconds = time_limit_seconds;
  bf_solution solution;
  int error = bf_solve(machine, training, &options, &solution, diagnostic);
  if (error == BF_UNSUPPORTED)
    return BF_OK; /* the method has no answer here */
  BF_TRY(error);
  snprintf(cell->hash, sizeof cell->hash, "%s", bf_hash_text(solution.hash));
  cell->proven = solution.proven;
  cell->has = true;
  bf_solution_clear(&solution);
  return BF_OK;
}

/* Adds what the hash that text describes leaves of one workload. */
static int judge_hash(const bf_machine *machine, const char *text, const bf_workload *workload,
                      uint64_t *conflicts, bf_diagnostic *diagnostic) {
  bf_hash *hash;
  uint64_t ignored = 0;
  BF_TRY(parse(machine, text, &hash, diagnostic));
  int error = count_all(machine, hash, workload, conflicts, &ignored, diagnostic);
  bf_hash_free(hash);
  return error;
}

/* Adds what the hashes leave of one workload. */
static int judge(const bf_machine *machine, const bf_workload *workload, bf_corpus_row *row,
                 bf_diagnostic *diagnostic) {
  bf_hash *none;
  BF_TRY(parse(machine, "none", &none, diagnostic));
  int error = count_all(machine, none, workload, &row->conflicts, &row->accesses, diagnostic);
  bf_hash_free(none);
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS && !error; i++) {
    bf_corpus_cell *cell = &row->cell[i];
    if (cell->has)
      error = judge_hash(machine, cell->hash, workload, &cell->conflicts, diagnostic);
    if (cell->judged && !error)
      error =
          judge_hash(machine, cell->published, workload, &cell->published_conflicts, diagnostic);
  }
  return error;
}

/* Looks up the document's hashes. Those that do not fit the machine cannot be judged; those whose
 * bits depend on each other are counted like the others. */
static void find_published(const bf_machine *machine, bf_corpus_row *row) {
  const char *name = row->benchmark->published_name;
  const bf_published_row *published = name ? bf_published_find(name) : NULL;
  for (unsigned i = 0; published && i < BF_PUBLISHED_METHODS; i++) {
    bf_corpus_cell *cell = &row->cell[BF_CORPUS_BIT_VECTOR + i];
    bf_hash *hash = NULL;
    cell->published = published->hash[i];
    cell->judged = parse(machine, cell->published, &hash, NULL) == BF_OK;
    bf_hash_free(hash);
  }
}

static unsigned widest(const bf_workload *workload) {
  unsigned bytes = 4;
  for (size_t i = 0; i < bf_workload_size(workload); i++) {
    unsigned own = bf_workload_get(workload, i)->width_bytes;
    bytes = own > bytes ? own : bytes;
  }
  return bytes;
}

static int judge_others(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                        bf_corpus_row *row, bf_diagnostic *diagnostic) {
  bf_corpus_settings other = *settings;
  for (other.seed = 1; other.seed <= JUDGES; other.seed++) {
    bf_workload *workload;
    BF_TRY(bf_corpus_record(benchmark, &other, &workload, diagnostic));
    int error = judge(settings->machine, workload, row, diagnostic);
    bf_workload_free(workload);
    BF_TRY(error);
  }
  return BF_OK;
}

int bf_corpus_tabulate(const bf_corpus_benchmark *benchmark, const bf_corpus_settings *settings,
                       double time_limit_seconds, bf_corpus_row *row, bf_diagnostic *diagnostic) {
  *row = (bf_corpus_row){.benchmark = benchmark};
  bf_workload *training;
  double start = bf_seconds();
  BF_TRY(bf_corpus_record(benchmark, settings, &training, diagnostic));
  row->granule_bytes = widest(training);
  find_published(settings->machine, row);
  int error = BF_OK;
  for (unsigned i = 0; i < BF_CORPUS_COLUMNS && !error && bf_workload_size(training); i++)
    error = find_hash(settings->machine, training, i,
                      settings->limits_exact && i != BF_CORPUS_EXACT ? 0 : time_limit_seconds, row,
                      diagnostic);
  if (!error && benchmark->is_data_dependent)
    error = judge_others(benchmark, settings, row, diagnostic);
  else if (!error)
    error = judge(settings->machine, training, row, diagnostic);
  bf_workload_free(training);
  row->seconds = bf_seconds() - start;
  return error;
}

double bf_corpus_removed(const bf_corpus_row *row, uint64_t conflicts) {
  return row->conflicts ? 1 - (double)conflicts / (double)row->conflicts : 1;
}
