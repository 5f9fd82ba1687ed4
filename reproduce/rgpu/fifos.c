/* braak15, Fig. 7.11 and section 7.5.4: what sizes of FIFOs do to R-GPU. */
#include "reproduce/rgpu/results.h"

#include <ctype.h>
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

double rgpu_probed(const rgpu_results *results, const rgpu_benchmark *benchmark,
                   rgpu_condition condition, unsigned data, unsigned address) {
  return (double)results->probe[rgpu_find_probe(benchmark, condition, data, address)];
}

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

enum { NAME_BYTES = 16 };

/* The name of a benchmark as the document writes it: PATH. */
static const char *upper(const rgpu_benchmark *benchmark, char name[NAME_BYTES]) {
  unsigned i = 0;
  for (; benchmark->name[i] && i < NAME_BYTES - 1; i++)
    name[i] = (char)toupper((unsigned char)benchmark->name[i]);
  name[i] = 0;
  return name;
}

/* Percent that a benchmark is slower with data FIFOs of 8 entries than with another size. */
static double slower_at_8(const rgpu_case *at, unsigned size) {
  return 100 * (rgpu_ratio(at->data_cycles[RGPU_USUAL_DATA], at->data_cycles[size]) - 1);
}

/* Percent that a graph is slower with 8 entries than with 16 under a condition. */
static double probed_slower(const rgpu_results *results, const rgpu_benchmark *benchmark,
                            rgpu_condition condition) {
  return 100 * (rgpu_probed(results, benchmark, condition, 8, 256) /
                    rgpu_probed(results, benchmark, condition, 16, 256) -
                1);
}

/* PATH, NW and NN lose something with data FIFOs of 8 entries. */
static void claim_8_entries(bf_reproduce_run *run, const rgpu_results *results) {
  enum { MORE = 2, NAMED = 3 };
  static const rgpu_benchmark *const named[NAMED] = {&rgpu_path, &rgpu_nw, &rgpu_nn};
  static const double published[NAMED] = {15, 8, 6};
  for (unsigned i = 0; i < NAMED; i++) {
    char name[100], why[400], title[NAME_BYTES];
    snprintf(name, sizeof name, "%s with data FIFOs of 8 entries, slower than with 16",
             upper(named[i], title));
    char slow[40] = "it does not end";
    double with_slow = probed_slower(results, named[i], RGPU_SLOW_CORES);
    if (isfinite(with_slow))
      snprintf(slow, sizeof slow, "%.1f%%", with_slow);
    snprintf(why, sizeof why,
             "8 entries hide the 8 cycles of a core. If what is in its pipeline took an entry of "
             "the FIFO behind it, it would be %.1f%%; with cores of twice the latency, as at the "
             "700 MHz of the document's simulator, %s. The published graph is not printed.",
             probed_slower(results, named[i], RGPU_TAKES), slow);
    bf_reproduce_claim_add(
        run,
        &(bf_reproduce_claim){.name = name,
                              .published = published[i],
                              .ours = slower_at_8(rgpu_find_case(results, named[i]->name), MORE),
                              .unit = "%",
                              .why = why});
  }
}

/* Whether a benchmark is one of those that lose with 8 entries. */
static bool loses_at_8(const rgpu_benchmark *benchmark) {
  return benchmark == &rgpu_path || benchmark == &rgpu_nw || benchmark == &rgpu_nn;
}

/* What section 7.5.4 says of data FIFOs, other than which sizes are too small. */
static void claim_data_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  enum { FEW, USUAL };
  unsigned near_best = 0;
  const rgpu_case *path = rgpu_find_case(results, "path");
  char why[400];
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    double most = 0;
    for (unsigned size = 0; size < RGPU_SIZES; size++)
      if (results->at[i].data_cycles[size])
        most = fmax(most, slower_at_8(&results->at[i], size));
    near_best += !loses_at_8(rgpu_benchmarks[i]) && most <= 3;
  }
  snprintf(why, sizeof why,
           "our graph of PATH has no loop through cores whose latency four entries could not hold, "
           "so that it keeps its pace. If what is in a pipeline took an entry it would be %.2f; "
           "with cores of twice the latency %.2f. The published graph is not printed.",
           rgpu_probed(results, &rgpu_path, RGPU_TAKES, 4, 256) /
               rgpu_probed(results, &rgpu_path, RGPU_TAKES, 8, 256),
           rgpu_probed(results, &rgpu_path, RGPU_SLOW_CORES, 4, 256) /
               rgpu_probed(results, &rgpu_path, RGPU_SLOW_CORES, 8, 256));
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "PATH with data FIFOs of 4 entries, times as long",
                            .published = 2,
                            .ours = rgpu_ratio(path->data_cycles[FEW], path->data_cycles[USUAL]),
                            .why = why});
  claim_8_entries(run, results);
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

/* The same from 64 to 256 entries, under a condition. */
static double probed_saved(const rgpu_results *results, const rgpu_benchmark *benchmark,
                           rgpu_condition condition) {
  return 100 * (1 - rgpu_probed(results, benchmark, condition, 8, 256) /
                        rgpu_probed(results, benchmark, condition, 8, 64));
}

/* What a benchmark saves from 64 entries to the better of 256 and 512: 15% or more is significant,
 * less is small. */
static void claim_saved(bf_reproduce_run *run, const rgpu_results *results,
                        const rgpu_benchmark *benchmark, bool is_significant) {
  const rgpu_case *at = rgpu_find_case(results, benchmark->name);
  double part = fmax(saved(at, 2, 0), saved(at, 3, 0));
  bool is_probed = !is_significant || benchmark == &rgpu_mriq;
  char name[100], why[400] = "see the table of Fig. 7.11.", title[NAME_BYTES];
  snprintf(name, sizeof name, "%s with larger address FIFOs", upper(benchmark, title));
  if (is_probed)
    snprintf(why, sizeof why,
             "time saved from 64 entries to the better of 256 and 512: a FIFO holds the addresses "
             "of as many lines as can be on their way, two of words with 64. From 64 to 256 it is "
             "%.1f%%, with half the way to the second-level cache and back %.1f%%, with DRAM of "
             "half the bandwidth %.1f%%.",
             saved(at, 2, 0), probed_saved(results, benchmark, RGPU_SHORT_WAY),
             probed_saved(results, benchmark, RGPU_HALF_DRAM));
  bf_reproduce_fact(
      run, name,
      is_significant ? "significantly better (15% or more)" : "small improvements (less than 15%)",
      is_significant ? part >= 15 : part > 0 && part < 15, false, why, "%.1f%% less time", part);
}

/* Which benchmarks improve with 512 entries, and by how much. */
static void claim_512(bf_reproduce_run *run, const rgpu_results *results) {
  unsigned improved = 0, hist = 0;
  bf_text why = {0};
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    double part = saved(&results->at[i], 3, 2);
    if (part <= 3)
      continue;
    improved++;
    hist += rgpu_benchmarks[i] == &rgpu_hist;
    bf_text_addf(&why, "%s%s %.1f%%",
                 why.size ? ", " : "more lines are under way: ", rgpu_benchmarks[i]->name, part);
  }
  bf_text_addf(&why,
               " less time. With half the way to the second-level cache and back conv would save "
               "%.1f%%.",
               100 * (1 - rgpu_probed(results, &rgpu_conv, RGPU_SHORT_WAY, 8, 512) /
                              rgpu_probed(results, &rgpu_conv, RGPU_SHORT_WAY, 8, 256)));
  bf_reproduce_fact(run, "benchmarks that improve with 512 entries (3% or more)", "HIST only",
                    improved == 1 && hist == 1, false, why.failed ? "" : why.data, "%u, HIST %s",
                    improved, hist ? "among them" : "not among them");
  bf_text_free(&why);
}

/* Percent that STREAM takes longer with 512 entries than with 256, under a condition. */
static double probed_longer(const rgpu_results *results, rgpu_condition condition) {
  return 100 * (rgpu_probed(results, &rgpu_stream, condition, 8, 512) /
                    rgpu_probed(results, &rgpu_stream, condition, 8, 256) -
                1);
}

/* What section 7.5.4 says of address FIFOs. */
static void claim_address_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  static const rgpu_benchmark *const named[] = {&rgpu_hist, &rgpu_mriq, &rgpu_path,   &rgpu_stream,
                                                &rgpu_conv, &rgpu_nn,   &rgpu_stencil};
  enum { NAMED = sizeof named / sizeof *named, SIGNIFICANT = 4 };
  const rgpu_case *stream = rgpu_find_case(results, "stream");
  char why[300];
  for (unsigned i = 0; i < NAMED; i++)
    claim_saved(run, results, named[i], i < SIGNIFICANT);
  claim_512(run, results);
  /* Four times as many lines as others have under way push each other out of the cache. */
  snprintf(why, sizeof why,
           "its four units prefetch the same lines, 8 KB with 512 entries, which the cache holds: "
           "with 16 KB of it instead of 48 it takes %.1f%% more time with 512 entries, with 4 KB "
           "%.1f%%.",
           probed_longer(results, RGPU_SMALL_CACHE), probed_longer(results, RGPU_TINY_CACHE));
  bf_reproduce_fact(run, "STREAM with address FIFOs of 512 entries",
                    "significantly slower (15% or more)", saved(stream, 3, 2) <= -15, false, why,
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

/* That a benchmark takes as long with address FIFOs of all sizes, but for 3%. */
static void claim_independent(bf_reproduce_run *run, const rgpu_results *results,
                              const rgpu_benchmark *benchmark) {
  const rgpu_case *at = rgpu_find_case(results, benchmark->name);
  double most = 0;
  char claim[80], title[NAME_BYTES];
  for (unsigned i = 0; i < RGPU_SIZES; i++)
    most = fmax(most, fabs(rgpu_ratio(at->address_cycles[i], at->outcome.result.cycles) - 1));
  snprintf(claim, sizeof claim, "%s does not depend on address FIFOs", upper(benchmark, title));
  bf_reproduce_fact(run, claim, "the same for all sizes", most < 0.03, true, NULL, "within %.2f%%",
                    100 * most);
}

void rgpu_claim_sizes(bf_reproduce_run *run, const rgpu_results *results) {
  const rgpu_case *mriq = rgpu_find_case(results, "mriq"), *nn = rgpu_find_case(results, "nn");
  claim_independent(run, results, &rgpu_integr);
  claim_independent(run, results, &rgpu_nw);
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
