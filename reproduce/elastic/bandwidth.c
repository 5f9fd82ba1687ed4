/* gou13, Fig. 10: what is missing to the theoretical speed-up, and the bandwidth of DRAM. */
#include "reproduce/elastic/results.h"

#include <math.h>

/* Cycles if every lane of the chip executed an instruction in each of them. */
static double cycles_without_stalls(const bf_sim_gpu *gpu, const bf_sim_result *result) {
  return (double)result->emu.thread_instructions / (double)(gpu->sms * gpu->simd_width);
}

/* The bandwidth of DRAM that a kernel needs to run in that many cycles, as a share of the peak. */
static double bandwidth(const bf_sim_gpu *gpu, const bf_sim_result *result, double cycles) {
  enum { SECTOR_BYTES = 32 };
  double bytes = (double)result->dram_read_bytes + (double)result->dram_written_bytes;
  double peak = SECTOR_BYTES * (double)gpu->dram_channels / gpu->dram_sector_cycles;
  return bytes / cycles / peak;
}

/* Pearson's coefficient. */
static double correlation(const double *x, const double *y, unsigned count) {
  double mean_x = elastic_mean(x, count), mean_y = elastic_mean(y, count), xx = 0, yy = 0, xy = 0;
  for (unsigned i = 0; i < count; i++) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

typedef struct elastic_bandwidth {
  const char *title[ELASTIC_BENCHMARKS];
  double gap[ELASTIC_BENCHMARKS]; /* theoretical over achieved speed-up */
  double required[ELASTIC_BENCHMARKS],
      used[ELASTIC_BENCHMARKS]; /* shares of the peak; used by the baseline */
} elastic_bandwidth;

static int find_bandwidth(const elastic_results *results, elastic_bandwidth *found,
                          bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("elastic", &gpu, diagnostic));
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    const bf_sim_result *base = &results->at[i][BASELINE];
    found->title[i] = elastic_benchmarks[i].title;
    found->gap[i] = elastic_theoretical(base) / elastic_speedup(results, i, AWARE);
    found->required[i] = bandwidth(gpu, base, cycles_without_stalls(gpu, base));
    found->used[i] = bandwidth(gpu, base, (double)base->cycles);
  }
  bf_sim_gpu_free(gpu);
  return BF_OK;
}

static void add_bandwidth(bf_reproduce_run *run, const elastic_bandwidth *found) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "fig10", "Fig. 10: what is missing to the theoretical speed-up, and DRAM bandwidth",
      "benchmark|theoretical over achieved speed-up|required bandwidth|used by the baseline");
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++) {
    bf_reproduce_cell(table, "%s", found->title[i]);
    bf_reproduce_cell(table, "%.3f", found->gap[i]);
    bf_reproduce_cell(table, "%.0f%%", 100 * found->required[i]);
    bf_reproduce_cell(table, "%.0f%%", 100 * found->used[i]);
  }
}

static void claim_bandwidth(bf_reproduce_run *run, const elastic_results *results,
                            const elastic_bandwidth *found) {
  bool is_full = !results->is_quick;
  double strength = correlation(found->required, found->gap, ELASTIC_BENCHMARKS);
  bf_reproduce_fact(run, "DRAM bandwidth and the gap to the theoretical speed-up",
                    "quite strong correlation (0.7 or more)", strength >= 0.7, is_full, NULL,
                    "correlation %.2f", strength);
  double gap = fmin(found->gap[DCT], found->gap[IDCT]), other_gap = 0;
  double required = fmin(found->required[DCT], found->required[IDCT]), other_required = 0;
  double as_long = 0; /* with as many instructions as the published kernels have */
  char why[200];
  for (unsigned i = 0; i < ELASTIC_BENCHMARKS; i++)
    if (i != DCT && i != IDCT) {
      double own = elastic_instructions_of(&results->at[i][BASELINE], i);
      other_gap = fmax(other_gap, found->gap[i]);
      other_required = fmax(other_required, found->required[i]);
      as_long = fmax(as_long, found->required[i] * own / elastic_benchmarks[i].instructions);
    }
  snprintf(why, sizeof why,
           "a thread of Transpose has %.0f instructions here, 54 there: if all kernels had as many "
           "as published, at most %.0f%% would be required.",
           elastic_instructions_of(&results->at[TRANSPOSE][BASELINE], TRANSPOSE), 100 * as_long);
  bf_reproduce_fact(run, "kernels with the largest gap", "DCT and IDCT", gap > other_gap, is_full,
                    NULL, "DCT and IDCT: at least %.2f, others at most %.2f", gap, other_gap);
  bf_reproduce_fact(run, "bandwidth that DCT and IDCT require", "most, above 50% of the peak",
                    required > 0.5 && required > other_required, is_full, NULL, "at least %.0f%%",
                    100 * required);
  bf_reproduce_fact(run, "bandwidth that others require", "below 50% of the peak",
                    other_required < 0.5, false, why, "at most %.0f%%", 100 * other_required);
}

int elastic_report_bandwidth(bf_reproduce_run *run, const elastic_results *results,
                             bf_diagnostic *diagnostic) {
  elastic_bandwidth found;
  BF_TRY(find_bandwidth(results, &found, diagnostic));
  add_bandwidth(run, &found);
  claim_bandwidth(run, results, &found);
  const bf_chart_series series[] = {
      {.name = "theoretical over achieved speed-up", .y = found.gap, .count = ELASTIC_BENCHMARKS},
      {.name = "required over peak DRAM bandwidth",
       .y = found.required,
       .count = ELASTIC_BENCHMARKS}};
  return elastic_draw_bars(run, "fig10", "Fig. 10: speed-up missed and DRAM bandwidth", "ratio",
                           found.title, series, 2, diagnostic);
}
