/* braak15, Table 7.1 and section 7.5.3: lanes of the benchmarks, and other graphs of PATH. */
#include "reproduce/rgpu/results.h"

#include <math.h>

static void claim_lanes(bf_reproduce_run *run, const rgpu_results *results) {
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    const rgpu_benchmark *own = rgpu_benchmarks[i];
    const rgpu_case *at = &results->at[i];
    char name[80];
    snprintf(name, sizeof name, "lanes of %s, %u cop%s", own->name, own->copies,
             own->copies == 1 ? "y" : "ies");
    bf_reproduce_claim_addf(run,
                            &(bf_reproduce_claim){.name = name,
                                                  .published = own->lanes,
                                                  .ours = at->lanes_proven ? at->lanes : NAN,
                                                  .must_hold = true,
                                                  .fitted = own->lanes_fitted},
                            "%u%s", at->lanes, at->lanes_proven ? ", proven" : "");
  }
}

/* PATH needs the published lanes with two copies only. */
static void claim_lanes_of_path(bf_reproduce_run *run, const rgpu_case *path) {
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "lanes of path, 1 copy",
                                 .published = 6,
                                 .ours = path->lanes_of_one,
                                 .why = "it cannot be decided here: the published graph is not "
                                        "printed, nor how often it is there on a multiprocessor; "
                                        "two copies need six, as the row above shows."});
}

static void add_lanes(bf_reproduce_run *run, const rgpu_results *results) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "lanes", "Section 7.5.3: copies that fit, by lanes of the ring",
                             "benchmark|2|3|4|5|6|7|8");
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    bf_reproduce_cell(table, "%s", rgpu_benchmarks[i]->title);
    for (unsigned lanes = RGPU_LANES_FROM; lanes <= RGPU_LANES_TO; lanes++)
      bf_reproduce_cell(table, "%u", results->at[i].copies_by_lanes[lanes]);
  }
  unsigned fit = 0;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    fit += results->at[i].copies_by_lanes[6] == rgpu_benchmarks[i]->copies;
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "six lanes are enough",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "for all benchmarks",
                            .published = RGPU_BENCHMARKS,
                            .ours = fit,
                            .must_hold = true,
                            .fitted = "graphs and copies were chosen to fit into six lanes."},
      "for %u of %d", fit, RGPU_BENCHMARKS);
}

/* What the document says of other graphs of PATH: the one with four lanes takes twice as long, the
 * one with ten is 14% faster. */
static void add_variants(bf_reproduce_run *run, const rgpu_results *results) {
  const rgpu_case *path = rgpu_find_case(results, "path");
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "path", "Section 7.5.3: graphs of PATH (lanes published in brackets)",
      "graph|copies|lanes|cycles|time, path = 1|speed-up over the optimised kernel");
  for (unsigned i = 0; i <= RGPU_VARIANTS; i++) {
    const rgpu_benchmark *own = i ? rgpu_path_variants[i - 1] : &rgpu_path;
    uint64_t cycles = i ? results->variant[i - 1].cycles : path->outcome.result.cycles;
    bf_reproduce_cell(table, "%s: %s", own->name, i ? own->title : "two rows of two columns");
    bf_reproduce_cell(table, "%u", own->copies);
    if (own->lanes)
      bf_reproduce_cell(table, "%u (%u)", i ? results->variant[i - 1].lanes : path->lanes,
                        own->lanes);
    else
      bf_reproduce_cell(table, "%u", results->variant[i - 1].lanes);
    bf_reproduce_cell(table, "%llu", (unsigned long long)cycles);
    bf_reproduce_cell(table, "%.2f", rgpu_ratio(cycles, path->outcome.result.cycles));
    bf_reproduce_cell(table, "%.2f", rgpu_ratio(path->kernel[RGPU_OPTIMISED].cycles, cycles));
  }
}

static void claim_variants(bf_reproduce_run *run, const rgpu_results *results) {
  enum { ROW, WIDE, FOUR, DEEP };
  const rgpu_variant *row = &results->variant[ROW], *wide = &results->variant[WIDE];
  uint64_t usual = rgpu_find_case(results, "path")->outcome.result.cycles;
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "lanes of path_row",
                            .published = 4,
                            .ours = row->lanes_proven ? row->lanes : NAN,
                            .must_hold = true,
                            .fitted = "the published graph is not printed; this one was made to "
                                      "need four lanes."},
      "%u%s", row->lanes, row->lanes_proven ? ", proven" : "");
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "lanes of path_wide",
                            .published = 10,
                            .ours = wide->lanes,
                            .why = "the published graph is not printed; three rows of three "
                                   "columns fill the cores and need eight."},
      "%u%s", wide->lanes, wide->lanes_proven ? ", proven" : "");
  if (results->is_quick)
    return;
  double free_path = rgpu_probed(results, &rgpu_path, RGPU_FREE_MEMORY, 8, 256);
  double free_row = rgpu_probed(results, &rgpu_path_row, RGPU_FREE_MEMORY, 8, 256) / free_path;
  double free_wide = rgpu_probed(results, &rgpu_path_wide, RGPU_FREE_MEMORY, 8, 256) / free_path;
  char why[300];
  snprintf(why, sizeof why,
           "with memory without limits it would be %.2f: costs are read and written for every row "
           "instead of every second, but one row at a time fills fewer cores. The published graph "
           "is not printed.",
           free_row);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "PATH on four lanes, times as long as on six",
                                 .published = 2,
                                 .ours = rgpu_ratio(row->cycles, usual),
                                 .why = why});
  snprintf(why, sizeof why,
           "with memory without limits it would be %.3f. The published graph is not printed.",
           free_wide);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "PATH on more lanes, times as long as on six",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 1 / 1.14,
                                 .ours = rgpu_ratio(wide->cycles, usual),
                                 .why = why});
  bf_reproduce_note(
      run,
      "Of two graphs of PATH that need more than six lanes the faster one is compared. The "
      "other, two rows of four columns (path_four), needs %u lanes and %.2f times the "
      "time of path.",
      results->variant[FOUR].lanes, rgpu_ratio(results->variant[FOUR].cycles, usual));
  double times = rgpu_ratio(results->variant[DEEP].cycles, usual);
  bf_reproduce_note(
      run,
      "More rows at once save more than more lanes: eight rows of one column "
      "(path_deep) need %u lanes and %.2f times the time of path. With that graph the "
      "geometric mean over optimised kernels is %.2f.",
      results->variant[DEEP].lanes, times,
      rgpu_geometric_mean(results, RGPU_OPTIMISED) * pow(times, -1.0 / RGPU_BENCHMARKS));
}

void rgpu_report_lanes(bf_reproduce_run *run, const rgpu_results *results) {
  claim_lanes(run, results);
  claim_lanes_of_path(run, rgpu_find_case(results, "path"));
  add_lanes(run, results);
  add_variants(run, results);
  claim_variants(run, results);
}
