/* Energy of launches against what NVML counted on an H200 while each ran again and again for half a
 * second (tests/data/h200/power.csv, measured by gpu/power.cu). */
#include "reproduce/h200/energy.h"
#include "reproduce/h200/energy_fit.h"

#include <math.h>
#include <string.h>

/* A line of power.csv. */
typedef struct powered {
  char set[8], kernel[32];
  unsigned blocks, threads, in_words, out_words, n, p, q;
  double launches, seconds, joules;
} powered;

/* Reads a line and moves behind it; false at the end. Lines of an idle GPU have no set. */
static bool read_powered(const char **text, powered *row) {
  const char *end = strchr(*text, '\n');
  *row = (powered){0};
  if (!end)
    return false;
  if (sscanf(*text, "%7[^,],%31[^,],%u,%u,%*u,%u,%u,%u,%u,%u,%lf,%lf,%lf", row->set, row->kernel,
             &row->blocks, &row->threads, &row->in_words, &row->out_words, &row->n, &row->p,
             &row->q, &row->launches, &row->seconds, &row->joules) != 12)
    row->launches = 0;
  *text = end + 1;
  return true;
}

static bool is_same(const powered *row, const bf_listed_launch *launch) {
  return strcmp(row->kernel, launch->kernel) == 0 && row->blocks == launch->blocks &&
         row->threads == launch->threads && row->n == launch->n && row->p == launch->p &&
         row->q == launch->q;
}

/* A launch among others of the same: its activity, for as long as one took. Data that the
 * second-level cache holds are not read from memory again. */
static bf_sim_result again(const bf_sim_gpu *gpu, const powered *row, const bf_sim_result *found) {
  bf_sim_result result = *found;
  result.seconds = row->seconds / row->launches;
  if (4.0 * (row->in_words + row->out_words) < 0.8 * (double)gpu->l2_bytes)
    result.dram_read_bytes = result.dram_written_bytes = 0;
  return result;
}

static double joules_of(const bf_sim_gpu *gpu, const bf_sim_result *result) {
  bf_sim_energy energy;
  return bf_sim_energy_find(gpu, result, &energy) ? energy.total : 0;
}

/* Writes a launch: watts measured and simulated. */
static void write_row(bf_reproduce_table *table, const powered *row, double watts) {
  bf_reproduce_cell(table, "%s", row->set);
  bf_reproduce_cell(table, "%s", row->kernel);
  bf_reproduce_cell(table, "%u", row->blocks);
  bf_reproduce_cell(table, "%u", row->threads);
  bf_reproduce_cell(table, "%u", row->n);
  bf_reproduce_cell(table, "%u", row->p);
  bf_reproduce_cell(table, "%u", row->q);
  bf_reproduce_cell(table, "%.1f", row->joules / row->seconds);
  bf_reproduce_cell(table, "%.1f", watts);
}

/* Notes the errors of both sets with the energies of a GPU. */
static void note_errors(bf_reproduce_run *run, const bf_sim_gpu *gpu, const h200_energy_row *row,
                        unsigned rows, const char *what) {
  static const char *const sets[] = {"test", "train"};
  for (unsigned set = 2; set-- > 0;) {
    double error = 0, worst = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < rows; i++) {
      if (row[i].is_fitted != (set == 1))
        continue;
      double off = fabs(joules_of(gpu, &row[i].result) / row[i].joules - 1);
      error += off;
      worst = fmax(worst, off);
      count++;
    }
    if (count)
      bf_reproduce_note(run, "Energy%s, %s set: mean error %.1f%%, worst %.1f%%, over %u launches.",
                        what, sets[set], 100 * error / count, 100 * worst, count);
  }
}

/* Fits the energies to the training set, beside those of the GPU's file. */
static void report_fit(bf_reproduce_run *run, const bf_sim_gpu *gpu, const h200_energy_row *row,
                       unsigned rows) {
  bf_sim_gpu fitted = *gpu, own = *gpu;
  if (!h200_energy_fit(row, rows, &fitted))
    return;
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_energy_fit",
      "Energies fitted to the training set (least squares of relative errors)",
      "parameter|machines/h200.gpu|fitted");
  for (unsigned i = 0; i < H200_ENERGIES; i++) {
    bf_reproduce_cell(table, "%s", h200_energy_names[i]);
    bf_reproduce_cell(table, "%.1f", *h200_energy_of(&own, i));
    bf_reproduce_cell(table, "%.1f", *h200_energy_of(&fitted, i));
  }
  note_errors(run, &fitted, row, rows, " with what is fitted here");
}

void h200_energy_report(bf_reproduce_run *run, const bf_sim_gpu *gpu, const h200_active *active,
                        unsigned count) {
  enum { MOST_ROWS = 512 };
  unsigned rows = 0;
  h200_energy_row *made = bf_arena_alloc(bf_reproduce_arena(run), MOST_ROWS * sizeof *made);
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "h200_energy", "Watts simulated against those measured",
                             "set|kernel|blocks|threads|n|p|q|measured|simulated");
  bf_reproduce_table_csv_only(table);
  const char *text = strchr(bf_reproduce_data("power"), '\n') + 1;
  for (powered row; made && rows < MOST_ROWS && read_powered(&text, &row);)
    for (unsigned i = 0; i < count && row.launches > 0; i++) {
      if (!is_same(&row, active[i].launch))
        continue;
      h200_energy_row *own = &made[rows++];
      *own = (h200_energy_row){.result = again(gpu, &row, &active[i].result),
                               .joules = row.joules / row.launches,
                               .is_fitted = strcmp(row.set, "train") == 0};
      write_row(table, &row, joules_of(gpu, &own->result) / own->result.seconds);
      break;
    }
  note_errors(run, gpu, made, rows, "");
  report_fit(run, gpu, made, rows);
}
