/* braak15, Table 7.1 and Figs. 7.7 and 7.9: cycles and speed-ups of the benchmarks. */
#include "reproduce/rgpu/activity.h"
#include "reproduce/rgpu/results.h"

#include <math.h>
#include <string.h>

static const double MEAN_SPEEDUP = 2.1; /* published */
const char *const rgpu_behind[RGPU_KERNELS] = {"", ", over plain kernels"};
const char *const rgpu_over_fitted[RGPU_KERNELS] = {
    NULL,
    "plain kernels were made when speed-ups over optimised ones were less than published; the "
    "document compares with highly optimised ones."};

/* ---- What follows ---- */

double rgpu_speedup(const rgpu_case *at, rgpu_kernel over) {
  return (double)at->kernel[over].cycles / (double)at->outcome.result.cycles;
}

double rgpu_geometric_mean(const rgpu_results *results, rgpu_kernel over) {
  double sum = 0;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    sum += log(rgpu_speedup(&results->at[i], over));
  return exp(sum / RGPU_BENCHMARKS);
}

/* Bytes of DRAM in a cycle. */
static double bytes_per_cycle(double read, double written, double cycles) {
  return (read + written) / cycles;
}

/* ---- Tables and charts ---- */

static void add_table(bf_reproduce_run *run, const rgpu_results *results) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "table7_1", "Table 7.1 and Fig. 7.7: lanes (published in brackets) and cycles",
      "benchmark|copies|lanes|lanes of one copy|least data FIFO|least address FIFO|R-GPU "
      "cycles|kernel cycles|"
      "plain kernel cycles|R-GPU bytes/cycle|kernel bytes/cycle|plain bytes/cycle");
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    const rgpu_benchmark *own = rgpu_benchmarks[i];
    const rgpu_case *at = &results->at[i];
    const bf_rgpu_sim_result *graph = &at->outcome.result;
    bf_reproduce_cell(table, "%s", own->title);
    bf_reproduce_cell(table, "%u", own->copies);
    bf_reproduce_cell(table, "%u (%u)", at->lanes, own->lanes);
    bf_reproduce_cell(table, "%u", at->lanes_of_one);
    bf_reproduce_cell(table, "%u", at->least_data);
    bf_reproduce_cell(table, "%u", at->least_address);
    bf_reproduce_cell(table, "%llu", (unsigned long long)graph->cycles);
    for (unsigned j = 0; j < RGPU_KERNELS; j++)
      bf_reproduce_cell(table, "%llu", (unsigned long long)at->kernel[j].cycles);
    bf_reproduce_cell(table, "%.1f",
                      bytes_per_cycle((double)graph->memory.dram_read_bytes,
                                      (double)graph->memory.dram_written_bytes,
                                      (double)graph->cycles));
    for (unsigned j = 0; j < RGPU_KERNELS; j++)
      bf_reproduce_cell(table, "%.1f",
                        bytes_per_cycle((double)at->kernel[j].dram_read_bytes,
                                        (double)at->kernel[j].dram_written_bytes,
                                        (double)at->kernel[j].cycles));
  }
}

static void add_speedups(bf_reproduce_run *run, const rgpu_results *results) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "fig7_7", "Fig. 7.7: speed-ups over both kernels",
                             "benchmark|published|over the optimised kernel|over the plain kernel");
  for (unsigned i = 0; i <= RGPU_BENCHMARKS; i++) {
    bool is_mean = i == RGPU_BENCHMARKS;
    double published = is_mean ? MEAN_SPEEDUP : rgpu_benchmarks[i]->speedup;
    bf_reproduce_cell(table, "%s", is_mean ? "geometric mean" : rgpu_benchmarks[i]->title);
    if (published > 0)
      bf_reproduce_cell(table, "%g", published);
    else
      bf_reproduce_cell(table, "not printed");
    for (unsigned j = 0; j < RGPU_KERNELS; j++)
      bf_reproduce_cell(table, "%.2f",
                        is_mean ? rgpu_geometric_mean(results, (rgpu_kernel)j)
                                : rgpu_speedup(&results->at[i], (rgpu_kernel)j));
  }
}

static int draw_speedups(bf_reproduce_run *run, const rgpu_results *results,
                         bf_diagnostic *diagnostic) {
  double ours[RGPU_KERNELS][RGPU_BENCHMARKS + 1], published[RGPU_BENCHMARKS + 1];
  const char *names[RGPU_BENCHMARKS + 1];
  rgpu_fill_names(names);
  names[RGPU_BENCHMARKS] = "mean";
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    for (unsigned j = 0; j < RGPU_KERNELS; j++)
      ours[j][i] = rgpu_speedup(&results->at[i], (rgpu_kernel)j);
    published[i] = rgpu_benchmarks[i]->speedup > 0 ? rgpu_benchmarks[i]->speedup : NAN;
  }
  for (unsigned j = 0; j < RGPU_KERNELS; j++)
    ours[j][RGPU_BENCHMARKS] = rgpu_geometric_mean(results, (rgpu_kernel)j);
  published[RGPU_BENCHMARKS] = MEAN_SPEEDUP;
  const bf_chart_series series[] = {
      {.name = "over optimised kernels", .y = ours[RGPU_OPTIMISED], .count = RGPU_BENCHMARKS + 1},
      {.name = "over plain kernels", .y = ours[RGPU_PLAIN], .count = RGPU_BENCHMARKS + 1},
      {.name = "published, where it is printed", .y = published, .count = RGPU_BENCHMARKS + 1}};
  bf_chart chart = {.kind = BF_CHART_BARS,
                    .title = "Fig. 7.7: speed-up of R-GPU over the GPU",
                    .y_label = "speed-up",
                    .category = names,
                    .categories = RGPU_BENCHMARKS + 1,
                    .series = series,
                    .series_count = 3,
                    .reference = 1};
  return bf_reproduce_chart(run, "fig7_7", &chart, diagnostic);
}

static int draw_activity(bf_reproduce_run *run, const rgpu_case *conv, bf_diagnostic *diagnostic) {
  rgpu_activity_chart made;
  rgpu_chart_activity(&conv->outcome.result.activity, "Fig. 7.9: activity of one SM, CONV", &made);
  return bf_reproduce_chart(run, "fig7_9", &made.chart, diagnostic);
}

/* ---- Claims ---- */

enum { WHY_BYTES = 500 };

/* Why HIST has another speed-up: what bounds its graph. */
static void explain_hist(const rgpu_results *results, rgpu_kernel over, char why[WHY_BYTES]) {
  const rgpu_case *hist = rgpu_find_case(results, "hist");
  double kernel = (double)hist->kernel[over].cycles;
  snprintf(why, WHY_BYTES,
           "two things bound the graph, as each of them alone shows: with banks of shared memory "
           "that are free again in half the time it is %.2f, with address FIFOs of 512 entries, "
           "which hold four lines of bytes, %.2f, with both %.2f.",
           kernel / rgpu_probed(results, &rgpu_hist, RGPU_FAST_BANKS, 8, 256),
           kernel / (double)hist->address_cycles[RGPU_SIZES - 1],
           kernel / rgpu_probed(results, &rgpu_hist, RGPU_FAST_BANKS, 8, 512));
}

/* The same of CONV: what it uses of the bandwidth of DRAM. */
static void explain_conv(const rgpu_results *results, rgpu_kernel over, char why[WHY_BYTES]) {
  const rgpu_case *conv = rgpu_find_case(results, "conv");
  const bf_rgpu_sim_result *graph = &conv->outcome.result;
  const bf_sim_result *kernel = &conv->kernel[over];
  double peak = 32 * (double)results->gpu->dram_channels / results->gpu->dram_sector_cycles;
  snprintf(
      why, WHY_BYTES,
      "memory bounds the graph: it uses %.0f%% of DRAM's bandwidth and the kernel %.0f%%, and with "
      "memory without limits it takes %.2f of its time. The optimised kernel is slower where "
      "warps have 16 loads on their way instead of 64: the graph is then %.2f times as fast.",
      100 / peak *
          bytes_per_cycle((double)graph->memory.dram_read_bytes,
                          (double)graph->memory.dram_written_bytes, (double)graph->cycles),
      100 / peak *
          bytes_per_cycle((double)kernel->dram_read_bytes, (double)kernel->dram_written_bytes,
                          (double)kernel->cycles),
      rgpu_probed(results, &rgpu_conv, RGPU_FREE_MEMORY, 8, 256) / (double)graph->cycles,
      (double)results->conv_with_16.cycles / (double)graph->cycles);
}

/* The same of INTEGR and NW, whose recurrence bounds the graph: an addition of 8 cycles for each of
 * 1024 pixels in 16 turns of 60 rows. */
static void explain_recurrence(const rgpu_results *results, const rgpu_benchmark *benchmark,
                               rgpu_kernel over, char why[WHY_BYTES]) {
  enum { RECURRENCE = 8 * 1024 * 16 };
  const rgpu_case *at = rgpu_find_case(results, benchmark->name);
  double kernel = (double)at->kernel[over].cycles;
  snprintf(
      why, WHY_BYTES,
      "of the %llu cycles of the graph %d follow from its recurrence: with nothing but that the "
      "speed-up would be %.2f. So it is the kernel that is not the published one: for the "
      "published speed-up it would take %.0f cycles, where this one takes %.0f and the %s one "
      "%.0f.",
      (unsigned long long)at->outcome.result.cycles, RECURRENCE, kernel / RECURRENCE,
      benchmark->speedup * (double)at->outcome.result.cycles, kernel, over ? "optimised" : "plain",
      (double)at->kernel[!over].cycles);
}

/* Why a speed-up is not the published one. */
static void explain_speedup(const rgpu_results *results, const rgpu_benchmark *benchmark,
                            rgpu_kernel over, char why[WHY_BYTES]) {
  if (benchmark == &rgpu_hist)
    explain_hist(results, over, why);
  else if (benchmark == &rgpu_conv)
    explain_conv(results, over, why);
  else
    explain_recurrence(results, benchmark, over, why);
}

/* The benchmarks that a graph makes slower, with their speed-ups. */
static void list_slower(const rgpu_results *results, rgpu_kernel over, bf_text *text) {
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    if (rgpu_speedup(&results->at[i], over) <= 1)
      bf_text_addf(text, "%s%s %.2f",
                   text->size ? ", " : "those that do not: ", rgpu_benchmarks[i]->name,
                   rgpu_speedup(&results->at[i], over));
  bf_text_puts(text, "; rgpu-why takes away what bounds them, one thing at a time.");
}

/* The geometric mean of the speed-ups that are not printed. */
static double mean_of_others(const rgpu_results *results, rgpu_kernel over) {
  double sum = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    if (rgpu_benchmarks[i]->speedup == 0) {
      sum += log(rgpu_speedup(&results->at[i], over));
      count++;
    }
  return exp(sum / count);
}

/* The same as it follows from the published mean and those that are printed. */
static double published_mean_of_others(void) {
  double sum = RGPU_BENCHMARKS * log(MEAN_SPEEDUP);
  unsigned count = 0;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    count += rgpu_benchmarks[i]->speedup == 0;
    sum -= rgpu_benchmarks[i]->speedup > 0 ? log(rgpu_benchmarks[i]->speedup) : 0;
  }
  return exp(sum / count);
}

/* All speed-ups that are printed, over kernels of one kind. */
static void claim_speedups(bf_reproduce_run *run, const rgpu_results *results, rgpu_kernel over) {
  char name[80], why[WHY_BYTES];
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    const rgpu_benchmark *own = rgpu_benchmarks[i];
    if (own->speedup == 0)
      continue;
    explain_speedup(results, own, over, why);
    snprintf(name, sizeof name, "speed-up of %s%s", own->name, rgpu_behind[over]);
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .rule = BF_CLAIM_GAIN,
                                                      .published = own->speedup,
                                                      .ours = rgpu_speedup(&results->at[i], over),
                                                      .fitted = rgpu_over_fitted[over],
                                                      .why = why});
  }
  snprintf(name, sizeof name, "geometric mean of nine speed-ups%s", rgpu_behind[over]);
  snprintf(
      why, sizeof why,
      "it follows from those above and from the five that are not printed: their geometric mean "
      "is %.2f here, and would have to be %.2f.",
      mean_of_others(results, over), published_mean_of_others());
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_GAIN,
                                                    .published = MEAN_SPEEDUP,
                                                    .ours = rgpu_geometric_mean(results, over),
                                                    .fitted = rgpu_over_fitted[over],
                                                    .why = why});
  unsigned best = 0;
  for (unsigned i = 1; i < RGPU_BENCHMARKS; i++)
    best = rgpu_speedup(&results->at[i], over) > rgpu_speedup(&results->at[best], over) ? i : best;
  snprintf(name, sizeof name, "largest speed-up%s", rgpu_behind[over]);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = name,
                                 .rule = BF_CLAIM_SAME,
                                 .published_text = "nw",
                                 .ours_text = rgpu_benchmarks[best]->name,
                                 .fitted = rgpu_over_fitted[over],
                                 .must_hold = over == RGPU_OPTIMISED,
                                 .why = "the plain kernel of another benchmark is slower yet."});
}

/* That every benchmark is faster as a graph. */
static void claim_benefit(bf_reproduce_run *run, const rgpu_results *results, rgpu_kernel over) {
  unsigned faster = 0;
  char name[80];
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++)
    faster += rgpu_speedup(&results->at[i], over) > 1;
  snprintf(name, sizeof name, "benchmarks that benefit%s", rgpu_behind[over]);
  bf_text why = {0};
  list_slower(results, over, &why);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = name,
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "all",
                                                .published = RGPU_BENCHMARKS,
                                                .ours = faster,
                                                .fitted = rgpu_over_fitted[over],
                                                .why = why.failed ? "" : why.data},
                          "%u of %d", faster, RGPU_BENCHMARKS);
  bf_text_free(&why);
}

/* Of the instructions of kernel conv, the part that computes with floats. It is unrolled and has no
 * loop, so that a warp executes each of them once. */
static double float_share(void) {
  const char *at = strstr(bf_reproduce_ptx("rgpu"), ".entry conv(");
  unsigned all = 0, floats = 0;
  at = at ? strchr(at, '{') : NULL;
  for (; at && *at && *at != '}'; at += strcspn(at, "\n"), at += *at == '\n') {
    const char *text = at + strspn(at, " \t");
    size_t length = strcspn(text, "\n");
    if (*text == '@')
      text += strcspn(text, " \t\n") + 1;
    if (length == 0 || *text == '.' || *text == '{' || *text == '/' || text[length - 1] != ';')
      continue;
    size_t opcode = strcspn(text, " \t;\n");
    bool moves =
        strncmp(text, "ld", 2) == 0 || strncmp(text, "st", 2) == 0 || strncmp(text, "mov", 3) == 0;
    all++;
    floats += !moves && opcode > 4 && strncmp(text + opcode - 4, ".f32", 4) == 0;
  }
  return all ? (double)floats / all : 0;
}

/* Percent of the turns of schedulers in which an instruction is issued, and in which warps wait for
 * data. */
static double issued(const bf_sim_result *result) {
  uint64_t used = result->turns;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    used -= result->stalls[i];
  return 100 * (double)used / (double)result->turns;
}

static double waited(const bf_sim_result *result) {
  return 100 * (double)result->stalls[BF_SIM_GLOBAL] / (double)result->turns;
}

/* Section 7.1 says how busy the optimised kernel of CONV keeps schedulers. */
static void claim_turns(bf_reproduce_run *run, const rgpu_results *results) {
  const bf_sim_result *conv = rgpu_find_case(results, "conv")->kernel;
  const bf_sim_result *own = &conv[RGPU_OPTIMISED], *plain = &conv[RGPU_PLAIN];
  const bf_sim_result *narrow = &results->conv_with_16;
  double floats = 100 * float_share();
  char wait[WHY_BYTES], slots[WHY_BYTES];
  snprintf(
      wait, sizeof wait,
      "loads of 18 rows of a thread are on their way at once, and a turn counts as waiting only "
      "where all warps wait for data: the plain kernel does in %.1f%%, ours with 16 loads of "
      "warps on their way instead of 64 in %.1f%%. The code of the published one is not given.",
      waited(plain), waited(narrow));
  snprintf(slots, sizeof slots,
           "the kernel here is less idle than the published one, and another: the plain one uses "
           "%.1f%%, ours with 16 loads of warps on their way instead of 64 uses %.1f%%, %.1f%% to "
           "compute.",
           issued(plain), issued(narrow), issued(narrow) * floats / 100);
  const bf_reproduce_claim claims[] = {
      {.name = "time that the optimised kernel of CONV waits for data",
       .published = 49,
       .ours = waited(own),
       .why = wait},
      {.name = "issue slots that the optimised kernel of CONV uses",
       .published = 37,
       .ours = issued(own),
       .why = slots},
      {.name = "its instructions that compute with data",
       .published = 33,
       .ours = floats,
       .why = "the code of the published kernel is not given; ours loads three columns of 18 rows "
              "for 16 pixels."},
      {.name = "issue slots that it uses to compute with data",
       .published = 12,
       .ours = issued(own) * floats / 100,
       .why = slots}};
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    bf_reproduce_claim claim = claims[i];
    claim.unit = "%";
    bf_reproduce_claim_add(run, &claim);
  }
}

/* Which kernels those of the document are like. */
static void note_kernels(bf_reproduce_run *run, const rgpu_results *results) {
  unsigned between = 0, printed = 1;
  double low = rgpu_geometric_mean(results, RGPU_OPTIMISED);
  double high = rgpu_geometric_mean(results, RGPU_PLAIN);
  double nn = log(rgpu_speedup(rgpu_find_case(results, "nn"), RGPU_OPTIMISED) /
                  rgpu_speedup(rgpu_find_case(results, "nn"), RGPU_PLAIN));
  between += low <= MEAN_SPEEDUP && MEAN_SPEEDUP <= high;
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    double published = rgpu_benchmarks[i]->speedup;
    printed += published > 0;
    between += published > 0 && rgpu_speedup(&results->at[i], RGPU_OPTIMISED) <= published &&
               published <= rgpu_speedup(&results->at[i], RGPU_PLAIN);
  }
  bf_reproduce_note(
      run,
      "Six of the document's kernels come from benchmark suites, CONV and HIST from earlier "
      "work on these problems, INTEGR is its own. It calls all of them highly optimised: sizes "
      "of blocks and unrolling are tuned for its simulator, the best of several is taken (of "
      "five for CONV), and NN became more than 8 times as fast; but NW, for one, keeps the two "
      "levels of tiles of its suite. By that, claims over optimised kernels are those to "
      "compare, and kernels that are tuned but have the structure of their suite lie between "
      "the two kinds. Of %u printed numbers, %u lie between the speed-ups over optimised and "
      "over plain kernels. NN has the largest share in the difference: with its optimised "
      "kernel and plain ones else, the geometric mean is %.2f.",
      printed, between, high * exp(nn / RGPU_BENCHMARKS));
}

int rgpu_report_speedups(bf_reproduce_run *run, const rgpu_results *results,
                         bf_diagnostic *diagnostic) {
  add_table(run, results);
  add_speedups(run, results);
  if (!results->is_quick)
    note_kernels(run, results);
  for (unsigned i = 0; i < RGPU_KERNELS && !results->is_quick; i++) {
    claim_speedups(run, results, (rgpu_kernel)i);
    claim_benefit(run, results, (rgpu_kernel)i);
  }
  if (!results->is_quick)
    claim_turns(run, results);
  BF_TRY(draw_speedups(run, results, diagnostic));
  return draw_activity(run, rgpu_find_case(results, "conv"), diagnostic);
}
