/* Inside room tune: forecasts for a kernel in blocks of one shape, and times from work. */
#ifndef BF_TUNE_FORECAST_H
#define BF_TUNE_FORECAST_H

#include "tune/predict.h"
#include "tune/work.h"

/* ---- Times ---- */

/* Cycles of a multiprocessor for one block of many. overlap: of its units, 1 for none. */
double bf_forecast_throughput(const bf_predict_gpu *gpu, const bf_work *work, double overlap);
/* Cycles of a launch of that many blocks, resident of them at once on a multiprocessor. */
double bf_forecast_cycles(const bf_predict_gpu *gpu, const bf_work *work, unsigned resident,
                          uint64_t blocks);

/* ---- Forecasts ---- */

/* How often loops are gone through whose end is not known: a prediction must hold for both. */
enum { BF_FORECAST_TRIPS = 2 };

/* A kernel in blocks of one shape. */
typedef struct bf_forecast {
  const bf_predict_gpu *gpu;
  const bf_rewrite_kernel *examined;
  const bf_work_version *original; /* borrowed */
  bf_work_options options;
  bf_analysis *analysis;
  uint32_t block[3];
  unsigned threads;
  uint64_t dynamic_bytes;
  unsigned resident[2];   /* as in bf_predict_launch */
  bool decides_by_launch; /* small launches do not matter for unknown ones */
  bf_work before[BF_FORECAST_TRIPS];
  char reason[240]; /* why nothing is known, or empty */
  bool is_beyond;   /* the kernel does more than the analysis follows, whatever its blocks are */
} bf_forecast;

/* Analyses the kernel in blocks of a shape and counts what it does. That it cannot be known is no
 * error. Free also after an error. */
int bf_forecast_make(const bf_ptx_module *module, const bf_rewrite_kernel *examined,
                     const bf_work_version *original, const bf_predict_options *options,
                     const uint32_t block[3], bf_work_counters *counters, bf_forecast *forecast,
                     bf_diagnostic *diagnostic);
void bf_forecast_free(bf_forecast *forecast);
/* What a version does; is_known is false where it cannot be compared. */
int bf_forecast_count(const bf_forecast *forecast, const bf_work_version *version,
                      const bf_work_hashes *hashes, bf_work after[BF_FORECAST_TRIPS],
                      bool *is_known, bf_diagnostic *diagnostic);
/* What that is worth to a launch of that many blocks (0: as many as fill the GPU). */
void bf_forecast_judge(const bf_forecast *forecast, const bf_work_version *version,
                       const bf_work after[BF_FORECAST_TRIPS], uint64_t blocks,
                       bf_prediction *prediction);

/* Proposes longer rows for the arrays of a kernel that have conflicts in the forecasts: those that
 * leave fewest, and that the verifier accepts. */
int bf_padding_propose(const bf_plans *plans, bf_plan *plan, const bf_forecast *forecast,
                       unsigned forecasts, bf_diagnostic *diagnostic);

/* The hash of an array of a plan, for bf_work_hashes. */
typedef struct bf_forecast_hashes {
  const bf_plans *plans;
  const bf_plan *plan;
} bf_forecast_hashes;
bf_work_hashes bf_forecast_hash(const bf_forecast_hashes *hashes);

#endif
