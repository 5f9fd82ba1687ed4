/* braak16, Figs. 8 and 9: charts and tables. */
#include "reproduce/hashes/study.h"

/* A row of means over the benchmarks of a study. */
static void add_means(bf_reproduce_table *table, const hashes_study *study, const char *name,
                      int decimals, double (*mean)(const hashes_study *, unsigned)) {
  bf_reproduce_cell(table, "%s", name);
  bf_reproduce_cell(table, " ");
  for (unsigned m = FIXED; m < METHODS; m++)
    bf_reproduce_cell(table, "%.*f", decimals, mean(study, m));
}

/* A table with a row for each benchmark and a column for each method, and their means: of ours, and
 * with those that are as described. */
static void tabulate(bf_reproduce_run *run, const hashes_study *study, const char *name,
                     const char *title, const char *last, int decimals,
                     double (*value)(const hashes_subject *, unsigned),
                     double (*mean)(const hashes_study *, unsigned)) {
  hashes_study as_described = hashes_with_described(study);
  char described_mean[80];
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, name, title,
      "published name|benchmark|fixed XOR|bit-vector XOR|permutation, Givargis|permutation, min. "
      "imbalance|bitwise XOR, Givargis|bitwise XOR, Givargis to the letter|bitwise XOR, min. "
      "imbalance|exact");
  for (unsigned i = 0; i < study->all_subjects; i++) {
    const hashes_subject *subject = &study->subject[i];
    bf_reproduce_cell(table, "%s", subject->published_name);
    bf_reproduce_cell(table, "%s", subject->benchmark->name);
    for (unsigned m = FIXED; m < METHODS; m++)
      bf_reproduce_cell(table, "%.*f", decimals, value(subject, m));
  }
  add_means(table, study, last, decimals, mean);
  snprintf(described_mean, sizeof described_mean, "%s, with kernels as described", last);
  if (study->all_subjects > study->subjects)
    add_means(table, &as_described, described_mean, decimals, mean);
}

/* The hashes that were found, with cycles and conflicts of every run. */
static void list_runs(bf_reproduce_run *run, const hashes_study *study) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "runs", "Every simulation, with its hash",
                             "benchmark|scale|method|hash|seed|cycles|conflicts");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < study->all_subjects; i++)
    for (unsigned m = 0; m < METHODS; m++)
      for (unsigned k = 0; k < study->subject[i].inputs; k++) {
        const hashes_subject *subject = &study->subject[i];
        const char *hash = hashes_hash_of(subject, m);
        bf_reproduce_cell(table, "%s", subject->benchmark->name);
        bf_reproduce_cell(table, "%u", subject->scale);
        bf_reproduce_cell(table, "%s", hashes_methods[m].name);
        bf_reproduce_cell(table, "%s", hash ? hash : "none");
        bf_reproduce_cell(table, "%u", subject->benchmark->is_data_dependent ? k + 1 : 0);
        bf_reproduce_cell(table, "%.0f", subject->at[m][k].cycles);
        bf_reproduce_cell(table, "%.0f", subject->at[m][k].conflicts);
      }
}

/* Bars for each benchmark, and for the mean at the end. */
static int draw(bf_reproduce_run *run, const hashes_study *study, const char *name,
                const char *title, const char *y_label, double reference,
                double (*value)(const hashes_subject *, unsigned),
                double (*mean)(const hashes_study *, unsigned), bf_diagnostic *diagnostic) {
  const char *category[SUBJECTS + 1];
  double y[METHODS][SUBJECTS + 1];
  bf_chart_series series[METHODS - 1];
  for (unsigned m = FIXED; m < METHODS; m++) {
    for (unsigned i = 0; i < study->subjects; i++) {
      category[i] = study->subject[i].published_name;
      y[m][i] = value(&study->subject[i], m);
    }
    y[m][study->subjects] = mean(study, m);
    series[m - 1] =
        (bf_chart_series){.name = hashes_methods[m].name, .y = y[m], .count = study->subjects + 1};
  }
  category[study->subjects] = "mean";
  return bf_reproduce_chart(run, name,
                            &(bf_chart){.kind = BF_CHART_BARS,
                                        .title = title,
                                        .y_label = y_label,
                                        .category = category,
                                        .categories = study->subjects + 1,
                                        .series = series,
                                        .series_count = METHODS - 1,
                                        .reference = reference},
                            diagnostic);
}

int hashes_show(bf_reproduce_run *run, const hashes_study *study, bf_diagnostic *diagnostic) {
  BF_TRY(draw(run, study, "removed", "Conflicts removed (Fig. 8)", "percent", 0, hashes_removed_of,
              hashes_mean_removed, diagnostic));
  BF_TRY(draw(run, study, "speedup", "Speed-up (Fig. 9)", "times as fast as without a hash", 1,
              hashes_speedup_of, hashes_mean_speedup, diagnostic));
  tabulate(run, study, "removed", "Conflicts removed, percent", "average", 1, hashes_removed_of,
           hashes_mean_removed);
  tabulate(run, study, "speedup", "Speed-up", "geometric mean", 3, hashes_speedup_of,
           hashes_mean_speedup);
  list_runs(run, study);
  return BF_OK;
}
