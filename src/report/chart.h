/* Charts as SVG: lines, steps, and bars side by side or on top of each other. Self-contained,
 * readable on light and dark pages. */
#ifndef BF_REPORT_CHART_H
#define BF_REPORT_CHART_H

#include "base/base.h"

typedef enum bf_chart_kind {
  BF_CHART_LINES,  /* points (x, y) of each series, joined */
  BF_CHART_BARS,   /* a group of bars for each category, a bar for each series */
  BF_CHART_STACKS, /* a bar for each category, a piece for each series */
  BF_CHART_STEPS,  /* y[i] from x[i] to x[i + 1], filled: histograms */
} bf_chart_kind;

typedef struct bf_chart_series {
  const char *name;
  const double *x; /* of lines; of steps, one more than y */
  const double *y; /* NaN: no point, no bar */
  size_t count;    /* of points; bars: no more than categories */
  bool dashed;     /* lines: for what is published */
  unsigned colour; /* from 1 on; 0: by the number of the series */
} bf_chart_series;

typedef struct bf_chart {
  bf_chart_kind kind;
  const char *title, *x_label, *y_label;
  bool log_x, log_y; /* log_x: lines only; log_y: lines and bars. Values must be above 0 then */
  bool from_zero;    /* the y axis of lines begins at 0; that of bars always does, unless log_y */
  const char *const *category; /* of bars */
  size_t categories;
  const bf_chart_series *series;
  size_t series_count;
  double reference;   /* a horizontal line at this value, where it is not 0 */
  const double *mark; /* steps: vertical lines at these values, inside the range of x */
  size_t marks;
} bf_chart;

/* Colours of series, for bf_chart_series.colour. */
enum { BF_CHART_BLUE = 1, BF_CHART_RED, BF_CHART_GREEN, BF_CHART_GREY = 9 };
enum { BF_CHART_SERIES = 12 }; /* at most; more cannot be told apart */

/* Writes a whole SVG document. BF_BAD_INPUT: no values, infinite ones, or not above 0 on a
 * logarithmic axis. */
int bf_chart_svg(const bf_chart *chart, bf_text *text, bf_diagnostic *diagnostic);

#endif
