/* What the first SM of R-GPU does over time, as a chart like Fig. 7.9 of braak15. */
#ifndef BF_REPRODUCE_RGPU_ACTIVITY_H
#define BF_REPRODUCE_RGPU_ACTIVITY_H

#include "report/chart.h"
#include "rgpu/sim.h"

/* A chart with all that it points to. */
typedef struct rgpu_activity_chart {
  double x[BF_RGPU_PIECES], y[BF_RGPU_CLASSES][BF_RGPU_PIECES];
  bf_chart_series series[BF_RGPU_CLASSES];
  bf_chart chart;
} rgpu_activity_chart;

/* Fills a chart, which stays where it is, with operations per cycle. */
void rgpu_chart_activity(const bf_rgpu_activity *activity, const char *title,
                         rgpu_activity_chart *made);

#endif
