/* The model of Hopper against an H200: cycles of single accesses, and times of the benchmarks. */
#include "kernels/sim_device.h"
#include "reproduce/h200/bench.h"
#include "reproduce/h200/others.h"
#include "reproduce/reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Single accesses ---- */

/* Reads a line of shared_access.csv; false at its end. */
static bool read_access(const char **text, h200_access *access) {
  const char *line = *text, *end = strchr(line, '\n');
  if (!end)
    return false;
  *text = end + 1;
  *access = (h200_access){0};
  int used = 0;
  if (sscanf(line, "%*[^,],%15[^,],%u,%x,%*u,%*u,%*u,%lf,%n", access->op, &access->width_bytes,
             &access->mask, &access->cycles, &used) != 4)
    return false;
  const char *at = line + used;
  for (unsigned lane = 0; lane < BF_EMU_LANES && at < end; lane++) {
    char *next;
    access->address[lane] = (uint32_t)strtoul(at, &next, 10);
    at = next;
  }
  return true;
}

typedef struct access_work {
  const bf_sim_gpu *gpu;
  h200_access *access;
  double *cycles;
} access_work;

static int time_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  access_work *work = context;
  return h200_time_access(work->gpu, &work->access[index], &work->cycles[index], diagnostic);
}

static const char own_fit[] =
    "launch_cycles, lookahead, shared_store_most_cycles and shared_queue of machines/h200.gpu were "
    "fitted to these same measurements.";

/* Mean error of the rows of an op, relative to what was measured; *count is their number. */
static double mean_error(const access_work *work, unsigned rows, const char *op, unsigned *count,
                         double *worst) {
  double sum = 0;
  *count = 0;
  *worst = 0;
  for (unsigned i = 0; i < rows; i++) {
    if (strcmp(work->access[i].op, op) != 0)
      continue;
    double error = fabs(work->cycles[i] / work->access[i].cycles - 1);
    sum += error;
    *worst = fmax(*worst, error);
    ++*count;
  }
  return *count ? sum / *count : 0;
}

/* Measured and simulated cycles as points. */
static int draw_accesses(bf_reproduce_run *run, const access_work *work, unsigned rows,
                         bf_diagnostic *diagnostic) {
  enum { KINDS = 3 };
  static const char *const kinds[KINDS] = {"ld", "st", "atom"};
  double x[KINDS][512], y[KINDS][512];
  bf_chart_series series[KINDS];
  for (unsigned k = 0; k < KINDS; k++) {
    size_t count = 0;
    for (double level = 1; level < 300;
         level *= 1.05) { /* in order: lines are drawn through them */
      for (unsigned i = 0; i < rows && count < 512; i++)
        if (strcmp(work->access[i].op, kinds[k]) == 0 && work->access[i].cycles >= level &&
            work->access[i].cycles < level * 1.05) {
          x[k][count] = work->access[i].cycles;
          y[k][count++] = work->cycles[i];
          break;
        }
    }
    series[k] = (bf_chart_series){.name = kinds[k], .x = x[k], .y = y[k], .count = count};
  }
  return bf_reproduce_chart(run, "h200_shared",
                            &(bf_chart){.kind = BF_CHART_LINES,
                                        .title = "Cycles per instruction of one warp",
                                        .x_label = "measured on an H200",
                                        .y_label = "simulated",
                                        .log_x = true,
                                        .log_y = true,
                                        .series = series,
                                        .series_count = KINDS},
                            diagnostic);
}

static void report_accesses(bf_reproduce_run *run, const access_work *work, unsigned rows) {
  static const struct {
    const char *op, *name;
    bool must_hold;
  } kinds[] = {{"ld", "loads", true},
               {"st", "stores", true},
               {"atom", "integer atomics", false},
               {"red", "integer reductions", false},
               {"fatom", "float atomics (lock loop)", false}};
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_shared", "Cycles per instruction against an H200", "kind|rows|mean error|worst");
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    unsigned count;
    double worst, error = mean_error(work, rows, kinds[i].op, &count, &worst);
    if (count == 0)
      continue;
    bf_reproduce_cell(table, "%s", kinds[i].name);
    bf_reproduce_cell(table, "%u", count);
    bf_reproduce_cell(table, "%.1f%%", 100 * error);
    bf_reproduce_cell(table, "%.1f%%", 100 * worst);
    char name[80];
    snprintf(name, sizeof name, "mean error of %s", kinds[i].name);
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .document = "H200",
                                                      .rule = BF_CLAIM_AT_MOST,
                                                      .published = 10,
                                                      .ours = 100 * error,
                                                      .unit = "%",
                                                      .must_hold = kinds[i].must_hold,
                                                      .fitted = own_fit});
  }
}

static int reproduce_shared(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  const char *text = bf_reproduce_data("shared_access");
  enum { MOST = 2048 };
  access_work work = {.access = bf_arena_alloc(bf_reproduce_arena(run), MOST * sizeof *work.access),
                      .cycles =
                          bf_arena_alloc(bf_reproduce_arena(run), MOST * sizeof *work.cycles)};
  if (!work.access || !work.cycles)
    return bf_no_memory(diagnostic);
  unsigned rows = 0;
  text = strchr(text, '\n') + 1; /* behind the names of the columns */
  for (unsigned line = 0; rows < MOST && read_access(&text, &work.access[rows]); line++)
    if (!bf_reproduce_is_quick(run) || line % 10 == 0)
      rows++;
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("h200", &gpu, diagnostic));
  work.gpu = gpu;
  int error = bf_reproduce_parallel(run, rows, "accesses", time_one, &work, diagnostic);
  if (!error) {
    report_accesses(run, &work, rows);
    bf_reproduce_table *table = bf_reproduce_table_add(run, "h200_shared_rows", "All accesses",
                                                       "op|width|measured|simulated");
    bf_reproduce_table_csv_only(table);
    for (unsigned i = 0; i < rows; i++) {
      bf_reproduce_cell(table, "%s", work.access[i].op);
      bf_reproduce_cell(table, "%u", work.access[i].width_bytes);
      bf_reproduce_cell(table, "%.3f", work.access[i].cycles);
      bf_reproduce_cell(table, "%.3f", work.cycles[i]);
    }
    error = draw_accesses(run, &work, rows, diagnostic);
  }
  bf_sim_gpu_free(gpu);
  return error;
}

/* ---- Benchmarks ---- */

/* A line of times.csv, and what the simulator finds for it. */
typedef struct timed {
  char name[64];
  unsigned scale;
  double measured, simulated; /* cycles of all launches */
  double instructions;        /* measured, warp instructions */
  double simulated_instructions;
} timed;

static bool read_timed(const char **text, timed *row) {
  const char *line = *text, *end = strchr(line, '\n');
  if (!end)
    return false;
  *text = end + 1;
  *row = (timed){0};
  return sscanf(line, "%63[^,],%u,%*u,%lf,%*f,%lf", row->name, &row->scale, &row->measured,
                &row->instructions) == 4;
}

typedef struct timed_work {
  const bf_sim_gpu *gpu;
  timed *row;
} timed_work;

static int simulate_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  timed_work *work = context;
  timed *row = &work->row[index];
  const bf_corpus_benchmark *benchmark = bf_corpus_find(row->name);
  if (!benchmark)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no benchmark '%s'", row->name);
  bf_sim_ledger ledger = {.settings = {.gpu = work->gpu, .workers = 1}};
  bf_corpus_outcome outcome = {0};
  int error = bf_corpus_simulate(benchmark, row->scale, 0, &ledger, &outcome, diagnostic);
  if (!error && outcome.wrong)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "%s: wrong: %s", row->name, outcome.first_wrong);
  for (size_t i = 0; i < ledger.launches && !error; i++) {
    row->simulated += (double)ledger.launch[i].result.cycles;
    row->simulated_instructions += (double)ledger.launch[i].result.issued;
  }
  bf_sim_ledger_free(&ledger);
  return error;
}

/* The row of the hand-padded version of a benchmark; NULL: there is none. */
static const timed *padded_of(const timed *rows, unsigned count, const timed *row) {
  char name[80];
  snprintf(name, sizeof name, "%s-padded", row->name);
  for (unsigned i = 0; i < count; i++)
    if (rows[i].scale == row->scale && strcmp(rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

/* Compares speed-ups of padding, measured and simulated. */
static int report_speedups(bf_reproduce_run *run, const timed *rows, unsigned count,
                           bf_diagnostic *diagnostic) {
  enum { MOST = 64 };
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_speedups", "Speed-up of the hand-padded version over the plain one",
      "benchmark|scale|measured|simulated|error");
  double sum = 0, worst = 0, measured[MOST], simulated[MOST];
  const char *names[MOST];
  unsigned pairs = 0, drawn = 0;
  for (unsigned i = 0; i < count; i++) {
    const timed *padded = padded_of(rows, count, &rows[i]);
    if (!padded)
      continue;
    double real = rows[i].measured / padded->measured;
    double ours = rows[i].simulated / padded->simulated;
    double error = ours / real - 1;
    sum += fabs(error);
    worst = fmax(worst, fabs(error));
    pairs++;
    bf_reproduce_cell(table, "%s", rows[i].name);
    bf_reproduce_cell(table, "%u", rows[i].scale);
    bf_reproduce_cell(table, "%.2f", real);
    bf_reproduce_cell(table, "%.2f", ours);
    bf_reproduce_cell(table, "%+.0f%%", 100 * error);
    if (rows[i].scale > 1 && drawn < MOST) {
      names[drawn] = rows[i].name;
      measured[drawn] = real;
      simulated[drawn++] = ours;
    }
  }
  double mean = pairs ? sum / pairs : 0;
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "mean error of speed-ups by padding",
                                                .document = "H200",
                                                .rule = BF_CLAIM_AT_MOST,
                                                .published = 15,
                                                .ours = 100 * mean,
                                                .unit = "%",
                                                .must_hold = true,
                                                .fitted = own_fit},
                          "%.1f%% over %u pairs, worst %.0f%%", 100 * mean, pairs, 100 * worst);
  if (drawn == 0)
    return BF_OK;
  bf_chart_series series[] = {{.name = "measured on an H200", .y = measured, .count = drawn},
                              {.name = "simulated", .y = simulated, .count = drawn}};
  return bf_reproduce_chart(run, "h200_speedups",
                            &(bf_chart){.kind = BF_CHART_BARS,
                                        .title = "Speed-up of padding",
                                        .y_label = "speed-up",
                                        .category = names,
                                        .categories = drawn,
                                        .series = series,
                                        .series_count = 2,
                                        .reference = 1},
                            diagnostic);
}

static void report_times(bf_reproduce_run *run, const timed *rows, unsigned count) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "h200_times", "Cycles of all launches of each benchmark",
                             "benchmark|scale|measured|simulated|ratio|instructions|issued");
  double sum = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (unsigned i = 0; i < count; i++) {
    bf_reproduce_cell(table, "%s", rows[i].name);
    bf_reproduce_cell(table, "%u", rows[i].scale);
    bf_reproduce_cell(table, "%.0f", rows[i].measured);
    bf_reproduce_cell(table, "%.0f", rows[i].simulated);
    bf_reproduce_cell(table, "%.2f", rows[i].simulated / rows[i].measured);
    bf_reproduce_cell(table, "%.0f", rows[i].instructions);
    bf_reproduce_cell(table, "%.0f", rows[i].simulated_instructions);
    double a = log(rows[i].measured), b = log(rows[i].simulated);
    sum += fabs(rows[i].simulated / rows[i].measured - 1);
    x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  double n = count;
  double correlation = (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y));
  bf_reproduce_note(run, "Cycles of benchmarks: mean error %.0f%%, correlation of logarithms %.3f.",
                    100 * sum / n, correlation);
  bf_reproduce_note(
      run,
      "Parameters were fitted to some of these. The training sets and the test set, which share no "
      "kernel with each other: bankfold reproduce h200-launches.");
  h200_others_report(run, "benchmarks of the corpus at two sizes", count, sum / n);
}

static int reproduce_corpus(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  enum { MOST = 256 };
  timed_work work = {.row = bf_arena_alloc(bf_reproduce_arena(run), MOST * sizeof *work.row)};
  if (!work.row)
    return bf_no_memory(diagnostic);
  unsigned count = 0;
  const char *text = strchr(bf_reproduce_data("times"), '\n') + 1;
  while (count < MOST && read_timed(&text, &work.row[count]))
    if (!bf_reproduce_is_quick(run) || work.row[count].scale == 1)
      count++;
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("h200", &gpu, diagnostic));
  work.gpu = gpu;
  int error = bf_reproduce_parallel(run, count, "benchmarks", simulate_one, &work, diagnostic);
  if (!error) {
    report_times(run, work.row, count);
    error = report_speedups(run, work.row, count, diagnostic);
  }
  bf_sim_gpu_free(gpu);
  return error;
}

const bf_reproduction bf_reproduce_h200[] = {
    {"h200-shared", "single shared accesses on an H200", "measured",
     "Every access of tests/data/h200/shared_access.csv, 32 times back to back by one warp: cycles "
     "per instruction beside those measured.",
     reproduce_shared},
    {"h200-corpus", "benchmarks on an H200", "measured",
     "Every benchmark at two sizes: cycles of its launches beside those that Nsight Compute "
     "measured "
     "(tests/data/h200/times.csv), and the speed-up that padding by hand brings.",
     reproduce_corpus},
    {NULL, NULL, NULL, NULL, NULL},
};
