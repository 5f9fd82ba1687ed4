/* braak16, Table 5: the hashes that were found for its benchmarks, on the accesses of ours. */
#include "kernels/measure.h"
#include "reproduce/reproduce.h"

enum {
  SUBJECTS = 22,
  QUICK_SUBJECTS = 3,
  METHODS = BF_CORPUS_XOR_IMBALANCE - BF_CORPUS_BIT_VECTOR + 1
};

/* The exact search is not asked for. */
static const double SEARCH_SECONDS = 0.01;

static const char *const titles[METHODS] = {"bit-vector XOR", "permutation, Givargis",
                                            "permutation, min. imbalance", "bitwise XOR, Givargis",
                                            "bitwise XOR, min. imbalance"};

typedef struct parameters_work {
  bf_machine *machine;
  unsigned subjects;
  const bf_corpus_benchmark *benchmark[SUBJECTS];
  bf_corpus_row row[SUBJECTS];
} parameters_work;

static int tabulate_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  parameters_work *work = context;
  const bf_corpus_settings settings = {
      .machine = work->machine, .as_written = true, .scale = 1, .workers = 1};
  return bf_corpus_tabulate(work->benchmark[index], &settings, SEARCH_SECONDS, &work->row[index],
                            diagnostic);
}

/* Conflicts that a method leaves; all where it finds no hash that leaves fewer. */
static uint64_t left_by(const bf_corpus_row *row, const bf_corpus_cell *cell) {
  return cell->has ? cell->conflicts : row->conflicts;
}

static double percent(const bf_corpus_row *row, uint64_t conflicts) {
  return 100 - 100 * bf_corpus_removed(row, conflicts);
}

static void add_table(bf_reproduce_run *run, const parameters_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "parameters", "Conflicts of our accesses that hashes leave, percent",
      "published name|method|published hash|leaves|hash found here|leaves");
  for (unsigned i = 0; i < work->subjects; i++)
    for (unsigned m = 0; m < METHODS; m++) {
      const bf_corpus_row *row = &work->row[i];
      const bf_corpus_cell *cell = &row->cell[BF_CORPUS_BIT_VECTOR + m];
      bf_reproduce_cell(table, "%s", work->benchmark[i]->published_name);
      bf_reproduce_cell(table, "%s", titles[m]);
      bf_reproduce_cell(table, "%s", cell->published ? cell->published : "-");
      bf_reproduce_cell(table, "%.1f", percent(row, cell->published_conflicts));
      bf_reproduce_cell(table, "%s", cell->has ? cell->hash : "none");
      bf_reproduce_cell(table, "%.1f", percent(row, left_by(row, cell)));
    }
  bf_reproduce_table_csv_only(table);
}

/* For how many benchmarks the published hash of a method leaves no more conflicts than the one that
 * the method finds here. */
static void claim_method(bf_reproduce_run *run, const parameters_work *work, unsigned column) {
  unsigned as_good = 0, better = 0;
  char name[100];
  bf_text why = {0};
  bf_text_puts(&why, "its accesses are not ours. With the published hash and the one found here");
  for (unsigned i = 0; i < work->subjects; i++) {
    const bf_corpus_row *row = &work->row[i];
    const bf_corpus_cell *cell = &row->cell[column];
    bool is_good = cell->judged && cell->published_conflicts <= left_by(row, cell);
    better += cell->judged && cell->published_conflicts < left_by(row, cell);
    as_good += is_good;
    if (!is_good)
      bf_text_addf(&why, "%s %s keeps %.1f%% and %.1f%%", i - as_good ? "," : "",
                   work->benchmark[i]->published_name, percent(row, cell->published_conflicts),
                   percent(row, left_by(row, cell)));
  }
  bf_text_puts(&why, " of its conflicts.");
  snprintf(name, sizeof name, "Table 5, %s: as good on our accesses as what is found here",
           titles[column - BF_CORPUS_BIT_VECTOR]);
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
      work->benchmark[work->subjects++] = benchmark;
  BF_TRY(bf_machine_load("fermi", NULL, &work->machine, diagnostic));
  int error =
      bf_reproduce_parallel(run, work->subjects, "benchmarks", tabulate_one, work, diagnostic);
  bf_machine_free(work->machine);
  BF_TRY(error);
  add_table(run, work);
  for (unsigned column = BF_CORPUS_BIT_VECTOR; column <= BF_CORPUS_XOR_IMBALANCE; column++)
    claim_method(run, work, column);
  return BF_OK;
}

const bf_reproduction bf_reproduce_parameters[] = {
    {"hash-parameters", "published hashes on our accesses", "braak16, Table 5",
     "The 110 hashes of Table 5 on the accesses of our benchmarks of these names, beside what the "
     "same methods find for them.",
     run_parameters},
    {NULL, NULL, NULL, NULL, NULL},
};
