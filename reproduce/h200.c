/* The model of Hopper against an H200: cycles of single accesses, and times of the benchmarks. */
#include "kernels/corpus.h"
#include "reproduce/h200/bench.h"
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
    bf_reproduce_fact(run, name, "at most 10%", error <= 0.10, kinds[i].must_hold,
                      "the lock loop of several lanes on one word costs more than the sum of its "
                      "parts",
                      "%.1f%%", 100 * error);
  }
}

static int reproduce_shared(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  const char *text = bf_reproduce_data("shared_access");
  enum { MOST = 2048 };
  access_work work = {.access = bf_arena_alloc(bf_reproduce_arena(run), MOST * sizeof *work.access),
                      .cycles =
                          bf_arena_alloc(bf_reproduce_arena(run), MOST * sizeof *work.cycles)};
  if (!work.access || !work.cycles)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
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

const bf_reproduction bf_reproduce_h200[] = {
    {"h200-shared", "single shared accesses on an H200", "measured",
     "Every access of tests/data/h200/shared_access.csv, 32 times back to back by one warp: cycles "
     "per instruction beside those measured.",
     reproduce_shared},
    {NULL, NULL, NULL, NULL, NULL},
};
