/* Energy of launches against what NVML counted on an H200 while each ran again and again for half a
 * second (tests/data/h200/power.csv, measured by gpu/power.cu). */
#include "reproduce/h200/energy.h"

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

/* What a launch takes among others of the same: its activity, and rest for as long as one took.
 * Data that the second-level cache holds are not read from memory again. */
static double joules_of(const bf_sim_gpu *gpu, const powered *row, const bf_sim_result *found) {
  bf_sim_result again = *found;
  bf_sim_energy energy;
  again.seconds = row->seconds / row->launches;
  if (4.0 * (row->in_words + row->out_words) < 0.8 * (double)gpu->l2_bytes)
    again.dram_read_bytes = again.dram_written_bytes = 0;
  return bf_sim_energy_find(gpu, &again, &energy) ? energy.total : 0;
}

void h200_energy_report(bf_reproduce_run *run, const bf_sim_gpu *gpu, const h200_active *active,
                        unsigned count) {
  static const char *const sets[] = {"train", "test"};
  double error[2] = {0}, worst[2] = {0};
  unsigned rows[2] = {0};
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "h200_energy", "Watts simulated against those measured",
                             "set|kernel|blocks|threads|n|p|q|measured|simulated");
  bf_reproduce_table_csv_only(table);
  const char *text = strchr(bf_reproduce_data("power"), '\n') + 1;
  for (powered row; read_powered(&text, &row);)
    for (unsigned i = 0; i < count && row.launches > 0; i++) {
      if (!is_same(&row, active[i].launch))
        continue;
      double each = row.seconds / row.launches;
      double found = joules_of(gpu, &row, &active[i].result);
      double off = fabs(found * row.launches / row.joules - 1);
      unsigned set = strcmp(row.set, sets[0]) != 0;
      rows[set]++;
      error[set] += off;
      worst[set] = fmax(worst[set], off);
      bf_reproduce_cell(table, "%s", row.set);
      bf_reproduce_cell(table, "%s", row.kernel);
      bf_reproduce_cell(table, "%u", row.blocks);
      bf_reproduce_cell(table, "%u", row.threads);
      bf_reproduce_cell(table, "%u", row.n);
      bf_reproduce_cell(table, "%u", row.p);
      bf_reproduce_cell(table, "%u", row.q);
      bf_reproduce_cell(table, "%.1f", row.joules / row.seconds);
      bf_reproduce_cell(table, "%.1f", found / each);
      break;
    }
  for (unsigned s = 0; s < 2; s++)
    if (rows[s])
      bf_reproduce_note(run, "Energy, %s set: mean error %.1f%%, worst %.1f%%, over %u launches.",
                        sets[s], 100 * error[s] / rows[s], 100 * worst[s], rows[s]);
}
