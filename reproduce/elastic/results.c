/* The benchmarks of gou13, Table 5, and what follows from their counts. */
#include "reproduce/elastic/results.h"

#include <math.h>

/* Kernels and scales are those that come nearest to the sources and grids of Table 5: samples of
 * NVIDIA's toolkit, written after their steps. */
const elastic_benchmark elastic_benchmarks[ELASTIC_BENCHMARKS] = {
    {"AES_encrypt", "aes-encrypt", NULL, 16, 1, 0.361, 1.54, 1.19, 2, 534, 256},
    {"AES_decrypt", "aes-decrypt", NULL, 16, 1, 0.359, 1.53, 1.19, 2, 540, 256},
    {"Reduction", "reduction-sample", NULL, 128, 1, 0.040, 3.07, 1.09, 4, 99, 256},
    {"Transpose", "transpose-sample", "transpose-sample-padded", 1, 1, 0.037, 4.50, 1.13, 4, 54,
     256},
    {"DCT", "dct8x8-sample", "dct8x8-sample-padded", 4, 1, 0.216, 3.33, 1.50, 7, 222, 64},
    {"IDCT", "idct8x8-sample", "idct8x8-sample-padded", 4, 1, 0.212, 3.33, 1.50, 7, 226, 64},
    {"DCT_short", "dct8x8-short-sample", "dct8x8-short-sample-padded", 4, 1, 0.103, 2.75, 1.18, 7,
     312, 128},
    {"IDCT_short", "idct8x8-short-sample", "idct8x8-short-sample-padded", 4, 1, 0.103, 2.75, 1.18,
     7, 311, 128},
};

double elastic_instructions_of(const bf_sim_result *result, unsigned benchmark) {
  return (double)result->emu.thread_instructions /
         ((double)result->blocks * elastic_benchmarks[benchmark].threads);
}

double elastic_speedup(const elastic_results *results, unsigned benchmark, elastic_way way) {
  return (double)results->at[benchmark][BASELINE].cycles /
         (double)results->at[benchmark][way].cycles;
}

double elastic_stalls_removed(const elastic_results *results, unsigned benchmark) {
  return 1 - elastic_stalls_of(&results->at[benchmark][AWARE]).all /
                 elastic_stalls_of(&results->at[benchmark][BASELINE]).all;
}

double elastic_mean(const double *values, unsigned count) {
  double sum = 0;
  for (unsigned i = 0; i < count; i++)
    sum += values[i];
  return sum / count;
}

double elastic_largest(const double *values, unsigned count) {
  double most = values[0];
  for (unsigned i = 1; i < count; i++)
    most = fmax(most, values[i]);
  return most;
}

int elastic_draw_bars(bf_reproduce_run *run, const char *name, const char *title,
                      const char *y_label, const char *const *category,
                      const bf_chart_series *series, size_t series_count,
                      bf_diagnostic *diagnostic) {
  bf_chart chart = {.kind = BF_CHART_BARS,
                    .title = title,
                    .y_label = y_label,
                    .category = category,
                    .categories = series[0].count,
                    .series = series,
                    .series_count = series_count,
                    .reference = 1};
  return bf_reproduce_chart(run, name, &chart, diagnostic);
}
