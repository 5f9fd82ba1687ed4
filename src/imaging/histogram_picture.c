/* Pictures of histograms: in a terminal, and as SVG. */
#include "imaging/histogram.h"
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Terminal ---- */

enum { PICTURE_ROWS = 12, LABEL_COLUMNS = 12, MOST_PER_BIN = 8 };

/* Bins as columns of a picture: `per_column` bins in a column, or a bin in `per_bin` columns. */
typedef struct columns {
  size_t count, per_column, per_bin;
  double highest;
  double *height;
} columns;

static double largest(const double *values, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++)
    most = fmax(most, values[i]);
  return most;
}

/* Sums neighbouring bins so that at most `most` columns remain; false without memory. */
static bool fold_bins(const double *bins, size_t count, size_t most, columns *out) {
  *out = (columns){.per_column = (count + most - 1) / most, .per_bin = 1};
  out->count = (count + out->per_column - 1) / out->per_column;
  if (out->per_column == 1)
    out->per_bin = most / count < MOST_PER_BIN ? most / count : MOST_PER_BIN;
  out->height = calloc(out->count, sizeof *out->height);
  for (size_t i = 0; out->height && i < count; i++)
    out->height[i / out->per_column] += bins[i];
  if (out->height)
    out->highest = largest(out->height, out->count);
  return out->height != NULL;
}

/* A cell that is filled from below by a share of 0 to 1. */
static const char *cell(double share, bool has_blocks) {
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (has_blocks)
    return blocks[share >= 1 ? 8 : share <= 0 ? 0 : share < 0.125 ? 1 : (int)(share * 8 + 0.5)];
  return share >= 0.5 ? "#" : share > 0 ? "." : " ";
}

/* One row of the picture, without spaces at its end. */
static void draw_row(const columns *picture, unsigned row, bool has_blocks, bf_text *text) {
  size_t waiting = 0;
  for (size_t i = 0; i < picture->count * picture->per_bin; i++) {
    const double height =
        picture->highest > 0 ? picture->height[i / picture->per_bin] / picture->highest : 0;
    const char *drawn = cell(height * PICTURE_ROWS - row, has_blocks);
    if (*drawn == ' ') {
      waiting++;
      continue;
    }
    for (; waiting > 0; waiting--)
      bf_text_puts(text, " ");
    bf_text_puts(text, drawn);
  }
  bf_text_puts(text, "\n");
}

/* The values at both ends below the picture. */
static void draw_ends(const columns *picture, const bf_imaging_bins *bins, bf_text *text) {
  char low[32], high[32];
  const int width = (int)(picture->count * picture->per_bin);
  snprintf(low, sizeof low, "%.6g", bins->low);
  snprintf(high, sizeof high, "%.6g", bins->high);
  const int gap = width - (int)strlen(low) - (int)strlen(high);
  bf_text_addf(text, "%*s%s%*s%s\n", LABEL_COLUMNS + 1, "", low, gap > 1 ? gap : 1, "", high);
}

static void draw_numbers(const bf_imaging_histogram *hist, const bf_imaging_channel *channel,
                         bf_text *text) {
  bf_text_addf(text, "%s%s: ", channel->name, channel->is_brightness ? " (of colours)" : "");
  if (channel->is_empty) {
    bf_text_puts(text, "no pixels\n");
    return;
  }
  bf_text_addf(text, hist->is_weighted ? "weight %.10g" : "%.0f pixels", channel->total);
  bf_text_addf(text, ", %zu to %zu, mean %.2f, deviation %.2f", channel->least, channel->most,
               channel->mean, channel->deviation);
  if (!hist->is_weighted)
    bf_text_addf(text, ", Otsu's threshold %zu", channel->otsu);
  bf_text_puts(text, "\n");
}

static void draw_channel(const double *of_channel, const bf_imaging_bins *bins,
                         const bf_imaging_style *style, bf_text *text) {
  const size_t room = style->columns > LABEL_COLUMNS + 9 ? style->columns - LABEL_COLUMNS - 1 : 8;
  columns picture;
  if (!fold_bins(of_channel, bins->count, room, &picture)) {
    text->failed = true;
    return;
  }
  for (unsigned row = PICTURE_ROWS; row-- > 0;) {
    char label[32] = "";
    if (row == PICTURE_ROWS - 1 || row == 0)
      snprintf(label, sizeof label, "%.10g", row ? picture.highest : 0);
    bf_text_addf(text, "%*s |", LABEL_COLUMNS - 1, label);
    draw_row(&picture, row, style->has_blocks, text);
  }
  draw_ends(&picture, bins, text);
  if (picture.per_column > 1)
    bf_text_addf(text, "%*s%zu bins in a column\n", LABEL_COLUMNS + 1, "", picture.per_column);
  free(picture.height);
}

void bf_imaging_draw(const bf_imaging_histogram *hist, const bf_imaging_bins *bins,
                     const bf_imaging_style *style, bf_text *text) {
  for (unsigned c = 0; c < hist->channels; c++) {
    bf_text_puts(text, "\n");
    draw_numbers(hist, &hist->channel[c], text);
    if (!hist->channel[c].is_empty)
      draw_channel(bins->of_channel[c], bins, style, text);
  }
}

/* ---- SVG ---- */

enum { MOST_STEPS = 512 };

static unsigned colour_of(const char *channel) {
  return strcmp(channel, "red") == 0     ? BF_CHART_RED
         : strcmp(channel, "green") == 0 ? BF_CHART_GREEN
         : strcmp(channel, "blue") == 0  ? BF_CHART_BLUE
                                         : BF_CHART_GREY;
}

/* Where bins, folded to steps, begin and end. */
static bool step_edges(const bf_imaging_bins *bins, const columns *steps, double **edges) {
  *edges = malloc((steps->count + 1) * sizeof **edges);
  for (size_t i = 0; *edges && i <= steps->count; i++) {
    const double bin = fmin((double)(i * steps->per_column), (double)bins->count);
    (*edges)[i] = bins->low + bin * (bins->high - bins->low) / (double)bins->count;
  }
  return *edges != NULL;
}

/* Draws steps that were folded, with the thresholds that lie on the axis as marks. */
static int draw_chart(const bf_imaging_histogram *hist, const bf_imaging_bins *bins,
                      const char *title, const columns *steps, const double *edges, bf_text *text,
                      bf_diagnostic *diagnostic) {
  bf_chart_series series[BF_IMAGING_CHANNELS] = {{0}};
  double marks[BF_IMAGING_CHANNELS];
  char y_label[64] = "pixels in a bin";
  if (hist->is_weighted || steps->per_column > 1)
    snprintf(y_label, sizeof y_label, "%s in %zu bin%s", hist->is_weighted ? "weight" : "pixels",
             steps->per_column, steps->per_column > 1 ? "s" : "");
  bf_chart chart = {.kind = BF_CHART_STEPS,
                    .title = title,
                    .x_label = hist->is_weighted ? "value" : "value; dashed: Otsu's threshold",
                    .y_label = y_label,
                    .series = series,
                    .series_count = hist->channels,
                    .mark = marks};
  for (unsigned c = 0; c < hist->channels; c++) {
    const bf_imaging_channel *channel = &hist->channel[c];
    const double mark = (double)channel->otsu + 0.5;
    series[c] = (bf_chart_series){.name = channel->name,
                                  .x = edges,
                                  .y = steps[c].height,
                                  .count = steps[c].count,
                                  .colour = colour_of(channel->name)};
    if (channel->counts && !channel->is_empty && mark > bins->low && mark < bins->high)
      marks[chart.marks++] = mark;
  }
  return bf_chart_svg(&chart, text, diagnostic);
}

int bf_imaging_svg(const bf_imaging_histogram *hist, const bf_imaging_bins *bins, const char *title,
                   bf_text *text, bf_diagnostic *diagnostic) {
  columns steps[BF_IMAGING_CHANNELS] = {{0}};
  double *edges = NULL;
  bool has_memory = true;
  for (unsigned c = 0; c < hist->channels; c++)
    has_memory &= fold_bins(bins->of_channel[c], bins->count, MOST_STEPS, &steps[c]);
  has_memory = has_memory && step_edges(bins, &steps[0], &edges);
  int error = has_memory ? draw_chart(hist, bins, title, steps, edges, text, diagnostic)
                         : bf_no_memory(diagnostic);
  for (unsigned c = 0; c < hist->channels; c++)
    free(steps[c].height);
  free(edges);
  return error;
}
