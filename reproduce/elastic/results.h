/* Results of the Elastic Pipeline, and what is reported of them, a file for each figure. */
#ifndef BF_ELASTIC_RESULTS_H
#define BF_ELASTIC_RESULTS_H

#include "reproduce/elastic/elastic.h"

enum { ELASTIC_BENCHMARKS = 8 };
enum { AES_ENCRYPT, AES_DECRYPT, REDUCTION, TRANSPOSE, DCT, IDCT, DCT_SHORT, IDCT_SHORT };

typedef struct elastic_benchmark {
  const char *title, *name;
  const char *padded; /* or NULL */
  unsigned scale, quick_scale;
  double intensity, degree, theoretical; /* published: Table 5 */
  unsigned blocks_per_core;
  double instructions; /* of a thread: all of them over those of the grid */
  unsigned threads;    /* of a block of ours */
} elastic_benchmark;
extern const elastic_benchmark elastic_benchmarks[ELASTIC_BENCHMARKS];

enum { HISTORIES = 2 }; /* as published, and larger than any kernel needs */

typedef struct elastic_results {
  bool is_quick;
  bf_sim_result at[ELASTIC_BENCHMARKS][WAYS];           /* without sites */
  bf_sim_result history[ELASTIC_BENCHMARKS][HISTORIES]; /* of a small run, conflict-aware */
  elastic_causes causes;
  bf_sim_result slow[2]; /* Reduction with slower DRAM: the baseline, and conflict-aware */
} elastic_results;

/* ---- What follows from the counts ---- */

/* Instructions that a thread executes, on average. */
double elastic_instructions_of(const bf_sim_result *result, unsigned benchmark);
/* How many times as fast a benchmark is in a way as in the baseline. */
double elastic_speedup(const elastic_results *results, unsigned benchmark, elastic_way way);
/* Stalls that the elastic pipeline with conflict-aware scheduling saves, of those of the baseline.
 */
double elastic_stalls_removed(const elastic_results *results, unsigned benchmark);
double elastic_mean(const double *values, unsigned count);
double elastic_largest(const double *values, unsigned count);
/* Bars for the named benchmarks, beside a line at 1. */
int elastic_draw_bars(bf_reproduce_run *run, const char *name, const char *title,
                      const char *y_label, const char *const *category,
                      const bf_chart_series *series, size_t series_count,
                      bf_diagnostic *diagnostic);

/* ---- Reports: tables, charts and claims ---- */

/* Tables 1 and 5, and what follows from the sizes of a core (section 3.1, Tables 2 and 3). */
int elastic_report_kernels(bf_reproduce_run *run, const elastic_results *results,
                           bf_diagnostic *diagnostic);
/* Fig. 6. */
int elastic_report_stalls(bf_reproduce_run *run, const elastic_results *results,
                          bf_diagnostic *diagnostic);
/* Fig. 7. */
int elastic_report_speedups(bf_reproduce_run *run, const elastic_results *results,
                            bf_diagnostic *diagnostic);
/* Figs. 8 and 9. */
int elastic_report_padded(bf_reproduce_run *run, const elastic_results *results,
                          bf_diagnostic *diagnostic);
/* Fig. 10. */
int elastic_report_bandwidth(bf_reproduce_run *run, const elastic_results *results,
                             bf_diagnostic *diagnostic);

#endif
