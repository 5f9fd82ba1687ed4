/* gou13, Fig. 6: stalls by their cause, and the history of conflicts. */
#include "reproduce/elastic/results.h"

#include <math.h>

static int draw_fig_6(bf_reproduce_run *run, const elastic_results *results,
                      bf_diagnostic *diagnostic) {
  double value[3][2 * ELASTIC_BENCHMARKS];
  char label[2 * ELASTIC_BENCHMARKS][40];
  const char *category[2 * ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < 2 * ELASTIC_BENCHMARKS; i++) {
    const bf_sim_result *base = &results->at[i / 2][BASELINE];
    elastic_stalls own = elastic_stalls_of(i % 2 ? &results->at[i / 2][AWARE] : base);
    double all = elastic_stalls_of(base).all;
    value[0][i] = own.scheduling / all;
    value[1][i] = own.conflict / all;
    value[2][i] = own.other / all;
    snprintf(label[i], sizeof label[i], "%s%s", elastic_benchmarks[i / 2].title,
             i % 2 ? " el." : "");
    category[i] = label[i];
  }
  const bf_chart_series series[] = {
      {.name = "scheduling failed", .y = value[0], .count = 2 * ELASTIC_BENCHMARKS},
      {.name = "bank conflict", .y = value[1], .count = 2 * ELASTIC_BENCHMARKS},
      {.name = "other", .y = value[2], .count = 2 * ELASTIC_BENCHMARKS}};
  bf_chart chart = {.kind = BF_CHART_STACKS,
                    .title = "Fig. 6: stalls, baseline and elastic with conflict-aware scheduling",
                    .y_label = "stalls, baseline = 1",
                    .category = category,
                    .categories = 2 * ELASTIC_BENCHMARKS,
                    .series = series,
                    .series_count = 3};
  return bf_reproduce_chart(run, "fig6", &chart, diagnostic);
}

static void add_fig_6(bf_reproduce_run *run, const elastic_results *results) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "fig6", "Fig. 6: stalls, as shares of those of the baseline",
                             "benchmark|pipeline|scheduling failed|bank conflict|other|all");
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    for (unsigned way = BASELINE; way <= THROUGH; way++) {
      elastic_stalls own = elastic_stalls_of(&results->at[i][way]);
      double all = elastic_stalls_of(&results->at[i][BASELINE]).all;
      bf_reproduce_cell(table, "%s", elastic_benchmarks[i].title);
      bf_reproduce_cell(table, "%s", elastic_way_title((elastic_way)way));
      bf_reproduce_cell(table, "%.3f", own.scheduling / all);
      bf_reproduce_cell(table, "%.3f", own.conflict / all);
      bf_reproduce_cell(table, "%.3f", own.other / all);
      bf_reproduce_cell(table, "%.3f", own.all / all);
    }
  bf_reproduce_table_csv_only(table);
}

/* The share of bank-conflict stalls that is left, at most, among benchmarks first to last. */
static double conflicts_left(const elastic_results *results, unsigned first, unsigned last) {
  double most = 0;
  for (unsigned i = first; i <= last; i++)
    most = fmax(most, elastic_stalls_of(&results->at[i][AWARE]).conflict /
                          elastic_stalls_of(&results->at[i][BASELINE]).conflict);
  return most;
}

/* Scheduling fails with the elastic pipeline, those of the baseline being 1. */
static double fails(const elastic_results *results, unsigned benchmark) {
  return elastic_stalls_of(&results->at[benchmark][AWARE]).scheduling /
         elastic_stalls_of(&results->at[benchmark][BASELINE]).scheduling;
}

/* Which benchmarks fail to schedule a warp more often, and which less; subject is one of those
 * whose causes were looked for. */
static void claim_fails_of(bf_reproduce_run *run, const elastic_results *results, const char *name,
                           const char *published, bool is_so, unsigned subject, double one,
                           double other) {
  bf_text why = {0};
  elastic_why_fails(&results->causes, subject, &why);
  bf_reproduce_fact(run, name, published, is_so, false, why.failed ? "" : why.data,
                    other > 0 ? "%.2f and %.2f times" : "%.2f times", one, other);
  bf_text_free(&why);
}

static void claim_fails(bf_reproduce_run *run, const elastic_results *results) {
  double dct = fails(results, DCT), idct = fails(results, IDCT);
  double dct_short = fails(results, DCT_SHORT), idct_short = fails(results, IDCT_SHORT);
  double transpose = fails(results, TRANSPOSE);
  claim_fails_of(run, results, "scheduling fails of DCT and IDCT",
                 "significantly more (15% or more)", dct > 1.15 && idct > 1.15, 1, dct, idct);
  claim_fails_of(run, results, "scheduling fails of DCT_short and IDCT_short", "fewer",
                 dct_short < 1 && idct_short < 1, 3, dct_short, idct_short);
  claim_fails_of(run, results, "scheduling fails of Transpose", "fewer", transpose < 1, 0,
                 transpose, 0);
}

/* Names of the benchmarks in whose runs an instruction had another degree than the time before. */
static void list_irregular(const elastic_results *results, bf_text *names) {
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    if (results->at[i][AWARE].history_wrong)
      bf_text_addf(names, "%s%s", names->size ? ", " : "", elastic_benchmarks[i].title);
}

/* What scheduling can do without the elastic pipeline (section 5.3), which kernels are irregular
 * (Table 5), and what the variant of section 6.2 trades. */
static void claim_scheduling(bf_reproduce_run *run, const elastic_results *results) {
  unsigned reduced = 0;
  double least = 1, fewest = 1, slowest = 1;
  char why[300];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    elastic_stalls alone = elastic_stalls_of(&results->at[i][ALONE]);
    elastic_stalls base = elastic_stalls_of(&results->at[i][BASELINE]);
    reduced += alone.conflict < 0.85 * base.conflict;
    least = fmin(least, alone.conflict / base.conflict);
    fewest = fmin(fewest, alone.all / base.all);
    slowest = fmin(slowest, elastic_speedup(results, i, ALONE));
  }
  snprintf(
      why, sizeof why,
      "accesses that are kept back do not wait behind others; but warps do instead: all stalls "
      "together are %.2f times those of the baseline at best, and the slowest kernel is %.3f "
      "times as fast.",
      fewest, slowest);
  bf_reproduce_fact(run, "conflict stalls, conflict-aware scheduling without the pipeline (5.3)",
                    "it is unable to reduce them (by 15% or more)", reduced == 0, false, why,
                    "reduced in %u of %d kernels, to %.0f%% at best", reduced, ELASTIC_BENCHMARKS,
                    100 * least);
  bf_text names = {0};
  list_irregular(results, &names);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "kernels whose instructions change their degree (Table 5)",
                                 .rule = BF_CLAIM_SAME,
                                 .published_text = "AES_encrypt, AES_decrypt, Reduction",
                                 .ours_text = names.failed || !names.size ? "" : names.data,
                                 .why = "their loops are others."});
  bf_text_free(&names);
  elastic_stalls aware = elastic_stalls_of(&results->at[IDCT][AWARE]);
  elastic_stalls through = elastic_stalls_of(&results->at[IDCT][THROUGH]);
  bf_reproduce_fact(run, "letting memory instructions through, stalls of IDCT (6.2)",
                    "more by conflicts, fewer scheduling fails",
                    through.conflict > aware.conflict && through.scheduling < aware.scheduling,
                    false, "it trades them otherwise.", "%.2f and %.2f times",
                    through.conflict / aware.conflict, through.scheduling / aware.scheduling);
}

/* Stalls that are neither scheduling fails nor conflicts: their share of all of the baseline's, on
 * average. */
static double other_stalls(const elastic_results *results, elastic_way way) {
  double share[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    share[i] = elastic_stalls_of(&results->at[i][way]).other /
               elastic_stalls_of(&results->at[i][BASELINE]).all;
  return elastic_mean(share, ELASTIC_BENCHMARKS);
}

/* What the text says of stalls of other kinds, and of the history of conflicts. */
static void claim_others(bf_reproduce_run *run, const elastic_results *results) {
  double before = other_stalls(results, BASELINE), after = other_stalls(results, AWARE);
  unsigned enough = 0;
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    enough += results->history[i][0].history_unknown == results->history[i][1].history_unknown;
  bf_reproduce_fact(run, "stalls for other reasons", "slightly more (by less than 15% of all)",
                    after > before && after - before < 0.15, false,
                    "see Fig. 6: most writebacks that meet are hidden in both pipelines here.",
                    "%.1f%% of all before, %.1f%% after", 100 * before, 100 * after);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "kernels for which 256 sets of 2 ways hold "
                                                        "the whole history",
                                                .rule = BF_CLAIM_ALL,
                                                .published = ELASTIC_BENCHMARKS,
                                                .published_text = "all",
                                                .ours = enough,
                                                .why = "others foretell more with a history that "
                                                       "holds everything."},
                          "%u of %d", enough, ELASTIC_BENCHMARKS);
}

/* The kernel that loses the largest part of its stalls. */
static void claim_most_removed(bf_reproduce_run *run, const elastic_results *results,
                               const double *removed) {
  unsigned most = 0;
  double next = 0;
  for (unsigned i = 1; i < ELASTIC_BENCHMARKS; i++)
    most = removed[i] > removed[most] ? i : most;
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    next = i == most ? next : fmax(next, removed[i]);
  elastic_stalls base = elastic_stalls_of(&results->at[most][BASELINE]);
  double slow =
      1 - elastic_stalls_of(&results->slow[1]).all / elastic_stalls_of(&results->slow[0]).all;
  char why[300];
  snprintf(why, sizeof why,
           "it is %s, of whose stalls %.0f%% are bank conflicts in the baseline; the next kernel "
           "loses %.0f%%. DRAM decides: where it has half the bandwidth Reduction loses %.0f%%.",
           elastic_benchmarks[most].title, 100 * base.conflict / base.all, next, 100 * slow);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "stalls removed, at most",
                                                    .published = 64.0,
                                                    .ours = removed[most],
                                                    .unit = "%",
                                                    .why = why});
}

static void claim_fig_6(bf_reproduce_run *run, const elastic_results *results) {
  double removed[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    removed[i] = 100 * elastic_stalls_removed(results, i);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "stalls removed, average",
                                               .published = 42.3,
                                               .ours = elastic_mean(removed, ELASTIC_BENCHMARKS),
                                               .unit = "%"});
  claim_most_removed(run, results, removed);
  double regular = conflicts_left(results, REDUCTION, IDCT_SHORT);
  double irregular = conflicts_left(results, AES_ENCRYPT, AES_DECRYPT);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "conflict stalls, all but AES",
                            .rule = BF_CLAIM_AT_MOST,
                            .published = 15,
                            .ours = 100 * regular,
                            .published_text = "almost completely removed: at most 15% left",
                            .must_hold = !results->is_quick,
                            .why = "a short run has hardly any to remove."},
      "at most %.0f%% are left", 100 * regular);
  bf_text why = {0};
  elastic_why_aes(&results->causes, &why);
  bf_reproduce_fact(run, "conflict stalls of AES", "a large number is left (15% or more)",
                    irregular > 0.15, false, why.failed ? "" : why.data, "%.0f%% are left",
                    100 * irregular);
  bf_text_free(&why);
}

int elastic_report_stalls(bf_reproduce_run *run, const elastic_results *results,
                          bf_diagnostic *diagnostic) {
  add_fig_6(run, results);
  claim_fig_6(run, results);
  claim_fails(run, results);
  claim_scheduling(run, results);
  claim_others(run, results);
  return draw_fig_6(run, results, diagnostic);
}
