/* gou13, Fig. 7: what the pipeline and its scheduling gain, and what is to be gained. */
#include "reproduce/elastic/results.h"

static int draw_fig_7(bf_reproduce_run *run, const elastic_results *results,
                      bf_diagnostic *diagnostic) {
  double value[3][ELASTIC_BENCHMARKS];
  const char *category[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    category[i] = elastic_benchmarks[i].title;
    value[0][i] = elastic_speedup(results, i, ELASTIC);
    value[1][i] = elastic_speedup(results, i, AWARE);
    value[2][i] = elastic_theoretical(&results->at[i][BASELINE]);
  }
  const bf_chart_series series[] = {
      {.name = "elastic", .y = value[0], .count = ELASTIC_BENCHMARKS},
      {.name = "with conflict-aware scheduling", .y = value[1], .count = ELASTIC_BENCHMARKS},
      {.name = "theoretical", .y = value[2], .count = ELASTIC_BENCHMARKS}};
  return elastic_draw_bars(run, "fig7", "Fig. 7: speed-up over the baseline", "speed-up", category,
                           series, 3, diagnostic);
}

static void add_fig_7(bf_reproduce_run *run, const elastic_results *results) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "fig7", "Fig. 7: speed-up over the baseline, and stalls removed",
      "benchmark|split|elastic|elastic, conflict-aware|let through|theoretical|stalls removed|"
      "foretold right|wrong|unknown");
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const bf_sim_result *aware = &results->at[i][AWARE];
    double foretold =
        (double)(aware->history_right + aware->history_wrong + aware->history_unknown) / 100;
    bf_reproduce_cell(table, "%s", elastic_benchmarks[i].title);
    for (unsigned way = SPLIT; way <= THROUGH; way++)
      bf_reproduce_cell(table, "%.3f", elastic_speedup(results, i, (elastic_way)way));
    bf_reproduce_cell(table, "%.3f", elastic_theoretical(&results->at[i][BASELINE]));
    bf_reproduce_cell(table, "%.1f%%", 100 * elastic_stalls_removed(results, i));
    bf_reproduce_cell(table, "%.1f%%", (double)aware->history_right / foretold);
    bf_reproduce_cell(table, "%.1f%%", (double)aware->history_wrong / foretold);
    bf_reproduce_cell(table, "%.1f%%", (double)aware->history_unknown / foretold);
  }
}

/* Means over the benchmarks, in percent: what elastic pipelines gain, and what is to be gained. */
typedef struct elastic_gains {
  double alone, aware, most, theoretical;
} elastic_gains;

static elastic_gains gains_of(const elastic_results *results) {
  double alone[ELASTIC_BENCHMARKS], aware[ELASTIC_BENCHMARKS], bound[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    alone[i] = 100 * (elastic_speedup(results, i, ELASTIC) - 1);
    aware[i] = 100 * (elastic_speedup(results, i, AWARE) - 1);
    bound[i] = 100 * (elastic_theoretical(&results->at[i][BASELINE]) - 1);
  }
  return (elastic_gains){
      elastic_mean(alone, ELASTIC_BENCHMARKS), elastic_mean(aware, ELASTIC_BENCHMARKS),
      elastic_largest(aware, ELASTIC_BENCHMARKS), elastic_mean(bound, ELASTIC_BENCHMARKS)};
}

/* What is published: the means of the text, and of the theoretical speed-ups of Table 5. */
static elastic_gains published_gains(void) {
  double bound[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    bound[i] = 100 * (elastic_benchmarks[i].theoretical - 1);
  return (elastic_gains){3.2, 13.3, 20.7, elastic_mean(bound, ELASTIC_BENCHMARKS)};
}

/* What there is to be gained, by the formula of the theoretical speed-up, with the degrees of our
 * kernels and the published intensities, and the other way round. */
static void explain_gains(const elastic_results *results, char why[300]) {
  double degrees[ELASTIC_BENCHMARKS], intensities[ELASTIC_BENCHMARKS];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const bf_sim_result *result = &results->at[i][BASELINE];
    degrees[i] = 100 * elastic_benchmarks[i].intensity * (elastic_degree(result) - 1);
    intensities[i] = 100 * elastic_intensity(result) * (elastic_benchmarks[i].degree - 1);
  }
  snprintf(why, 300,
           "in the kernels here %.1f%% are to be gained theoretically: it would be %.1f%% with the "
           "published intensities and our degrees, %.1f%% with our intensities and the published "
           "degrees; published is %.1f%%.",
           gains_of(results).theoretical, elastic_mean(degrees, ELASTIC_BENCHMARKS),
           elastic_mean(intensities, ELASTIC_BENCHMARKS), published_gains().theoretical);
}

static void claim_gain(bf_reproduce_run *run, const char *name, double published, double ours,
                       const char *why) {
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){
               .name = name, .published = published, .ours = ours, .unit = "%", .why = why});
}

/* Kernels that gain more than the theoretical bound. */
static void claim_exceeding(bf_reproduce_run *run, const elastic_results *results) {
  static const unsigned named[] = {TRANSPOSE, DCT_SHORT, IDCT_SHORT};
  double over[3];
  unsigned exceed = 0;
  for (unsigned i = 0; i < 3; i++) {
    over[i] = elastic_speedup(results, named[i], AWARE) /
              elastic_theoretical(&results->at[named[i]][BASELINE]);
    exceed += over[i] > 1;
  }
  bf_text why = {0};
  elastic_why_exceeding(&results->causes, &why);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Transpose, DCT_short and IDCT_short exceed the theoretical "
                                    "speed-up",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all three",
                            .published = 3,
                            .ours = exceed,
                            .why = why.failed ? "" : why.data},
      "%.3f, %.3f and %.3f of it", over[0], over[1], over[2]);
  bf_text_free(&why);
  double share[2];
  for (unsigned i = 0; i < 2; i++)
    share[i] = (elastic_speedup(results, AES_ENCRYPT + i, AWARE) - 1) /
               (elastic_theoretical(&results->at[AES_ENCRYPT + i][BASELINE]) - 1);
  bf_reproduce_fact(run, "AES gains less than the theoretical speed-up",
                    "substantially less (by 15% or more)", share[0] <= 0.85 && share[1] <= 0.85,
                    false, "its conflict stalls are gone here.", "%.0f%% and %.0f%% of that gain",
                    100 * share[0], 100 * share[1]);
}

static void claim_fig_7(bf_reproduce_run *run, const elastic_results *results) {
  elastic_gains ours = gains_of(results), theirs = published_gains();
  char why[300];
  explain_gains(results, why);
  claim_gain(run, "theoretical gain, average", theirs.theoretical, ours.theoretical, why);
  claim_gain(run, "gain of elastic alone, average", theirs.alone, ours.alone, why);
  claim_gain(run, "gain of conflict-aware scheduling, average", 10.1, ours.aware - ours.alone, why);
  claim_gain(run, "with conflict-aware scheduling, average", theirs.aware, ours.aware, why);
  claim_gain(run, "with conflict-aware scheduling, at most", theirs.most, ours.most, why);
  claim_exceeding(run, results);
}

/* The variant that lets memory instructions through: better for IDCT, worse for others. */
static void claim_variant(bf_reproduce_run *run, const elastic_results *results) {
  double gain[ELASTIC_BENCHMARKS];
  unsigned worse = 0;
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    gain[i] = 100 * (elastic_speedup(results, i, THROUGH) / elastic_speedup(results, i, AWARE) - 1);
    worse += gain[i] < 0;
  }
  bf_text why = {0}, faster = {0};
  elastic_why_through(&results->causes, &why);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "letting memory instructions through, IDCT",
                                               .published = 5.1,
                                               .ours = gain[IDCT],
                                               .unit = "%",
                                               .why = why.failed ? "" : why.data});
  worse -= gain[IDCT] < 0;
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    if (i != IDCT && gain[i] >= 0)
      bf_text_addf(&faster, "%s%s gains %.1f%%", faster.size ? ", " : "",
                   elastic_benchmarks[i].title, gain[i]);
  bf_text_puts(&faster, "; whether the document's sentence means all is not clear.");
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "the same, other kernels are slower",
                                                .rule = BF_CLAIM_ALL,
                                                .published = ELASTIC_BENCHMARKS - 1,
                                                .ours = worse,
                                                .why = faster.failed ? "" : faster.data},
                          "%u of %d", worse, ELASTIC_BENCHMARKS - 1);
  bf_text_free(&why);
  bf_text_free(&faster);
}

int elastic_report_speedups(bf_reproduce_run *run, const elastic_results *results,
                            bf_diagnostic *diagnostic) {
  add_fig_7(run, results);
  claim_fig_7(run, results);
  claim_variant(run, results);
  return draw_fig_7(run, results, diagnostic);
}
