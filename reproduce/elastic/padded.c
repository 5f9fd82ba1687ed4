/* gou13, Figs. 8 and 9: code that is padded by hand, and code that is not. */
#include "reproduce/elastic/results.h"

#include <math.h>

/* "Close to" and "on par" are taken to mean this far from 1. */
static const double CLOSE = 0.05;

static double ipc(const bf_sim_result *result) {
  return (double)result->issued / (double)result->cycles;
}

/* The benchmarks that have a padded version: instructions per cycle over those of the padded code
 * on the baseline. */
typedef struct elastic_padded {
  unsigned count, index[ELASTIC_BENCHMARKS];
  const char *title[ELASTIC_BENCHMARKS];
  double plain[ELASTIC_BENCHMARKS];  /* un-optimised code on the elastic pipeline: Fig. 8 */
  double padded[ELASTIC_BENCHMARKS]; /* padded code on it: Fig. 9 */
} elastic_padded;

static elastic_padded compare_padded(const elastic_results *results) {
  elastic_padded found = {0};
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    if (!elastic_benchmarks[i].padded)
      continue;
    double base = ipc(&results->at[i][PADDED_BASELINE]);
    found.index[found.count] = i;
    found.title[found.count] = elastic_benchmarks[i].title;
    found.plain[found.count] = ipc(&results->at[i][AWARE]) / base;
    found.padded[found.count++] = ipc(&results->at[i][PADDED_AWARE]) / base;
  }
  return found;
}

static void add_padded(bf_reproduce_run *run, const elastic_results *results,
                       const elastic_padded *found) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "fig8", "Figs. 8-9: instructions per cycle over those of padded code on the baseline",
      "benchmark|un-optimised code, elastic (Fig. 8)|padded code, elastic (Fig. 9)|"
      "conflict degree of padded code");
  for (unsigned i = 0; i < found->count; i++) {
    bf_reproduce_cell(table, "%s", found->title[i]);
    bf_reproduce_cell(table, "%.3f", found->plain[i]);
    bf_reproduce_cell(table, "%.3f", found->padded[i]);
    bf_reproduce_cell(table, "%.2f",
                      elastic_degree(&results->at[found->index[i]][PADDED_BASELINE]));
  }
}

/* "of the kernels Transpose is 0.95, ...": what one of the two figures has. */
static void list_kernels(const elastic_padded *found, const double *value, const char *behind,
                         bf_text *text) {
  bf_text_puts(text, "of the kernels");
  for (unsigned i = 0; i < found->count; i++)
    bf_text_addf(text, "%s %s is %.3f", i ? "," : "", found->title[i], value[i]);
  bf_text_puts(text, behind);
}

/* Fig. 8. */
static void claim_plain(bf_reproduce_run *run, const elastic_results *results,
                        const elastic_padded *found) {
  double idct = 0, average = elastic_mean(found->plain, found->count);
  for (unsigned i = 0; i < found->count; i++)
    idct = found->index[i] == IDCT ? found->plain[i] : idct;
  bf_text why = {0};
  list_kernels(found, found->plain, "; the next row has what DRAM does to IDCT.", &why);
  bf_reproduce_fact(run, "un-optimised on elastic, average", "on par (within 5%)",
                    fabs(average - 1) <= CLOSE, false, why.failed ? "" : why.data, "%.3f", average);
  bf_text_free(&why);
  why = (bf_text){0};
  elastic_why_plain(&results->causes, &why);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "un-optimised on elastic, IDCT",
                                                    .rule = BF_CLAIM_GAIN,
                                                    .published = 0.851,
                                                    .ours = idct,
                                                    .why = why.failed ? "" : why.data});
  bf_text_free(&why);
}

/* Fig. 9. */
static void claim_padded(bf_reproduce_run *run, const elastic_results *results,
                         const elastic_padded *found) {
  double furthest = 0;
  unsigned alike = 0;
  for (unsigned i = 0; i < found->count; i++) {
    furthest = fmax(furthest, fabs(found->padded[i] - 1));
    alike += results->at[found->index[i]][PADDED_ELASTIC].cycles ==
             results->at[found->index[i]][PADDED_AWARE].cycles;
  }
  bf_text why = {0};
  list_kernels(found, found->padded, ": writebacks happen in another order, and DRAM with them.",
               &why);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "kernels without conflicts (Fig. 9)",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "all close to 1 (within 5%)",
                            .is_so = furthest <= CLOSE,
                            .derived = "without conflicts both pipelines issue alike, by our "
                                       "model as by the document's.",
                            .why = why.failed ? "" : why.data},
      "at most %.1f%% from 1", 100 * furthest);
  bf_text_free(&why);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "conflict-aware scheduling of kernels without conflicts (6.3)",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "exactly as the default one",
                            .published = found->count,
                            .ours = alike,
                            .derived = "with a history of no conflicts it keeps nothing back.",
                            .why = "some accesses conflict after all."},
      "in %u of %u kernels", alike, found->count);
}

int elastic_report_padded(bf_reproduce_run *run, const elastic_results *results,
                          bf_diagnostic *diagnostic) {
  elastic_padded found = compare_padded(results);
  add_padded(run, results, &found);
  claim_plain(run, results, &found);
  claim_padded(run, results, &found);
  const bf_chart_series series[] = {
      {.name = "un-optimised, elastic (Fig. 8)", .y = found.plain, .count = found.count},
      {.name = "padded, elastic (Fig. 9)", .y = found.padded, .count = found.count}};
  return elastic_draw_bars(run, "fig8", "Figs. 8-9: over padded code on the baseline",
                           "instructions per cycle", found.title, series, 2, diagnostic);
}
