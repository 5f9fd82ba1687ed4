/* braak15, Fig. 7.11 and section 7.5.4: what sizes of FIFOs do to R-GPU. */
#include "reproduce/rgpu/results.h"

#include <math.h>
#include <string.h>

const unsigned rgpu_data_sizes[RGPU_SIZES] = {4, 8, 16, 32};
const unsigned rgpu_address_sizes[RGPU_SIZES] = {64, 128, 256, 512};

const rgpu_case *rgpu_find_case(const rgpu_results *results, const char *name) {
  unsigned i = 0;
  while (strcmp(rgpu_benchmarks[i]->name, name) != 0)
    i++;
  return &results->at[i];
}

void rgpu_fill_names(const char *names[RGPU_BENCHMARKS + 1]) {
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    names[i] = rgpu_benchmarks[i]->name;
}

double rgpu_ratio(uint64_t cycles, uint64_t usual) { return (double)cycles / (double)usual; }

/* ---- Fig. 7.11 ---- */

int rgpu_draw_sizes(bf_reproduce_run *run, const rgpu_results *results, bool is_data,
                    bf_diagnostic *diagnostic) {
  double y[RGPU_SIZES][RGPU_BENCHMARKS];
  char label[RGPU_SIZES][16];
  bf_chart_series series[RGPU_SIZES];
  const char *names[RGPU_BENCHMARKS + 1];
  const unsigned *sizes = is_data ? rgpu_data_sizes : rgpu_address_sizes;
  rgpu_fill_names(names);
  for (unsigned i = 0; i < RGPU_SIZES; i++) {
    for (unsigned j = 0; j < RGPU_BENCHMARKS; j++) {
      const rgpu_case *at = &results->at[j];
      uint64_t cycles = is_data ? at->data_cycles[i] : at->address_cycles[i];
      y[i][j] = cycles ? (double)cycles / (double)at->outcome.result.cycles : NAN;
    }
    snprintf(label[i], sizeof label[i], "%u entries", sizes[i]);
    series[i] = (bf_chart_series){.name = label[i], .y = y[i], .count = RGPU_BENCHMARKS};
  }
  bf_chart chart = {.kind = BF_CHART_BARS,
                    .title = is_data ? "Fig. 7.11a: execution time by size of data FIFOs"
                                     : "Fig. 7.11b: execution time by size of address FIFOs",
                    .y_label = is_data ? "time, 8 entries = 1" : "time, 256 entries = 1",
                    .category = names,
                    .categories = RGPU_BENCHMARKS,
                    .series = series,
                    .series_count = RGPU_SIZES,
                    .reference = 1};
  return bf_reproduce_chart(run, is_data ? "fig7_11a" : "fig7_11b", &chart, diagnostic);
}

void rgpu_add_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "fig7_11", "Fig. 7.11: cycles by size of FIFOs",
      "benchmark|data 4|data 8|data 16|data 32|address 64|address 128|address 256|address 512");
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    const rgpu_case *at = &results->at[i];
    bf_reproduce_cell(table, "%s", rgpu_benchmarks[i]->title);
    for (unsigned j = 0; j < 2 * RGPU_SIZES; j++) {
      uint64_t cycles = j < RGPU_SIZES ? at->data_cycles[j] : at->address_cycles[j - RGPU_SIZES];
      if (cycles)
        bf_reproduce_cell(table, "%llu", (unsigned long long)cycles);
      else
        bf_reproduce_cell(table, "too small");
    }
  }
}

/* Percent that a benchmark is slower with data FIFOs of 8 entries than with another size. */
static double slower_at_8(const rgpu_case *at, unsigned size) {
  return 100 * (rgpu_ratio(at->data_cycles[RGPU_USUAL_DATA], at->data_cycles[size]) - 1);
}

/* What section 7.5.4 says of data FIFOs, other than which sizes are too small. */
static void claim_data_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  enum { FEW, USUAL, MORE };
  static const char *const named[] = {"path", "nw", "nn"};
  static const double published[] = {15, 8, 6};
  double ours[3];
  unsigned near_best = 0;
  for (unsigned i = 0; i < 3; i++)
    ours[i] = slower_at_8(rgpu_find_case(results, named[i]), MORE);
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    double most = 0;
    bool is_named = false;
    for (unsigned j = 0; j < 3; j++)
      is_named |= strcmp(rgpu_benchmarks[i]->name, named[j]) == 0;
    for (unsigned size = 0; size < RGPU_SIZES; size++)
      if (results->at[i].data_cycles[size])
        most = fmax(most, slower_at_8(&results->at[i], size));
    near_best += !is_named && most <= 3;
  }
  const rgpu_case *path = rgpu_find_case(results, "path");
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "PATH with data FIFOs of 4 entries, times as long",
                            .published = 2,
                            .ours = rgpu_ratio(path->data_cycles[FEW], path->data_cycles[USUAL]),
                            .why = "our graph of PATH has no loop through cores whose latency "
                                   "four entries could not hold, so that it keeps its pace; "
                                   "the published graph is not printed."});
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "PATH, NW and NN with data FIFOs of 8 entries, slower than "
                                    "with 16",
                            .published_list = published,
                            .ours_list = ours,
                            .count = 3,
                            .unit = "%",
                            .why = "here 8 entries hide the latency of a core, 8 cycles, and "
                                   "larger FIFOs only take up what memory delivers in "
                                   "bursts."});
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "other benchmarks that are within 3% of their best with 8 "
                                    "entries",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all",
                            .published = RGPU_BENCHMARKS - 3,
                            .ours = near_best,
                            .why = "see the table of Fig. 7.11."},
      "%u of %d", near_best, RGPU_BENCHMARKS - 3);
}

/* Percent of time that a benchmark saves with address FIFOs of one size over another. */
static double saved(const rgpu_case *at, unsigned larger, unsigned smaller) {
  return 100 * (1 - rgpu_ratio(at->address_cycles[larger], at->address_cycles[smaller]));
}

/* That all of the named benchmarks save a part of their time, from 64 to 256 entries or 512. */
static void claim_saved(bf_reproduce_run *run, const rgpu_results *results, const char *name,
                        const char *published, const char *const *named, unsigned count,
                        double least, double most, const char *why) {
  bf_text text = {0};
  unsigned fit = 0;
  for (unsigned i = 0; i < count; i++) {
    const rgpu_case *at = rgpu_find_case(results, named[i]);
    double part = fmax(saved(at, 2, 0), saved(at, 3, 0));
    fit += part >= least && part <= most;
    bf_text_addf(&text, "%s%s %.1f%%", i ? ", " : "", named[i], part);
  }
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_ALL,
                                                    .published_text = published,
                                                    .published = count,
                                                    .ours = fit,
                                                    .ours_text = text.failed ? "" : text.data,
                                                    .why = why});
  bf_text_free(&text);
}

/* What section 7.5.4 says of address FIFOs. */
static void claim_address_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  static const char *const gain[] = {"hist", "mriq", "path", "stream"};
  static const char *const little[] = {"conv", "nn", "stencil"};
  const rgpu_case *stream = rgpu_find_case(results, "stream");
  unsigned improved = 0, hist = 0;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    bool gains = saved(&results->at[i], 3, 2) > 3;
    improved += gains;
    hist += gains && strcmp(rgpu_benchmarks[i]->name, "hist") == 0;
  }
  claim_saved(run, results, "HIST, MRIQ, PATH and STREAM with larger address FIFOs",
              "significantly better (15% or more)", gain, 4, 15, 100,
              "time saved from 64 entries to the better of 256 and 512; MRIQ loads little for what "
              "it computes.");
  claim_saved(
      run, results, "CONV, NN and STENCIL with larger address FIFOs",
      "small improvements (less than 15%)", little, 3, 0, 15,
      "time saved from 64 entries to the better of 256 and 512: graphs that stream need the "
      "lines that the FIFO holds, CONV and STENCIL as much as HIST.");
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "benchmarks that improve with 512 entries (3% or more)",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "HIST only",
                            .is_so = improved == 1 && hist == 1,
                            .why = "others that stream gain, too: more lines are under way."},
      "%u, HIST %s", improved, hist ? "among them" : "not among them");
  /* Four times as many lines as others have under way push each other out of the cache. */
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "STREAM with address FIFOs of 512 entries",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "significantly slower (15% or more)",
                            .is_so = saved(stream, 3, 2) <= -15,
                            .why = "the cache is polluted as published, but its 48 KB hold most of "
                                   "the lines."},
      "%.1f%% more time", -saved(stream, 3, 2));
}

/* How area and power grow with the sizes: they were made from these statements. */
static void claim_growth(bf_reproduce_run *run, const rgpu_case *mriq) {
  static const char from_these[] =
      "areas and energies of larger FIFOs were made from these statements (docs/rgpu_cost.md).";
  double usual = bf_rgpu_area_of(6, 8, 256).total;
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "area of R-GPU with data FIFOs of 16 entries",
                                 .published = 2,
                                 .ours = 100 * (bf_rgpu_area_of(6, 16, 256).total / usual - 1),
                                 .unit = "% more",
                                 .derived = from_these});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "area of R-GPU with address FIFOs of 512 entries",
                                 .published = 10,
                                 .ours = 100 * (bf_rgpu_area_of(6, 8, 512).total / usual - 1),
                                 .unit = "% more",
                                 .derived = from_these});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "power with data FIFOs of 16 entries, MRIQ",
                                 .published = 8,
                                 .ours = 100 * (mriq->more_data_power - 1),
                                 .unit = "% more",
                                 .derived = from_these,
                                 .why = "energies are those of the published parts."});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "power with address FIFOs of 512 entries, MRIQ",
                                 .published = 26,
                                 .ours = 100 * (mriq->more_address_power - 1),
                                 .unit = "% more",
                                 .derived = from_these,
                                 .why = "energies are those of the published parts."});
}

void rgpu_claim_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  const rgpu_case *mriq = rgpu_find_case(results, "mriq"), *nn = rgpu_find_case(results, "nn");
  double most = 0;
  for (unsigned i = 0; i < RGPU_SIZES; i++)
    for (unsigned j = 0; j < 2; j++) {
      const rgpu_case *at = rgpu_find_case(results, j ? "nw" : "integr");
      most = fmax(most, fabs(rgpu_ratio(at->address_cycles[i], at->outcome.result.cycles) - 1));
    }
  bf_reproduce_fact(run, "INTEGR and NW do not depend on address FIFOs", "the same for all sizes",
                    most < 0.03, true, NULL, "within %.2f%%", 100 * most);
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "least data FIFO of NN",
                            .published = 5,
                            .ours = nn->least_data,
                            .unit = " entries",
                            .must_hold = true,
                            .fitted = "the document prints no graph of NN: that it works on five "
                                      "images at once, which is what needs five entries, was "
                                      "chosen with the published number in sight."});
  if (results->is_quick)
    return;
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "MRIQ with data FIFOs of 4 entries, times as long",
                                 .published = 2,
                                 .ours = rgpu_ratio(mriq->data_cycles[0], mriq->data_cycles[1]),
                                 .must_hold = true,
                                 .fitted = "the graph for four entries has half as many voxels "
                                           "under way, so that it takes twice as long: it was "
                                           "made for this statement."});
  claim_data_sizes(run, results);
  claim_address_sizes(run, results);
  claim_growth(run, mriq);
}
