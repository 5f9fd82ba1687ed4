/* What the first SM of R-GPU does over time, as a chart. */
#include "reproduce/rgpu/activity.h"

void rgpu_chart_activity(const bf_rgpu_activity *activity, const char *title,
                         rgpu_activity_chart *made) {
  static const char *const names[BF_RGPU_CLASSES] = {"int", "float", "ld/st"};
  double cycles = (double)activity->piece_cycles;
  for (unsigned i = 0; i < BF_RGPU_CLASSES; i++) {
    for (unsigned j = 0; j < activity->pieces; j++) {
      made->x[j] = j * cycles;
      made->y[i][j] = (double)activity->fired[i][j] / cycles;
    }
    made->series[i] = (bf_chart_series){
        .name = names[i], .x = made->x, .y = made->y[i], .count = activity->pieces};
  }
  made->chart = (bf_chart){.kind = BF_CHART_LINES,
                           .title = title,
                           .x_label = "cycle",
                           .y_label = "operations per cycle",
                           .from_zero = true,
                           .series = made->series,
                           .series_count = BF_RGPU_CLASSES};
}
