/* Charts as SVG. A chart is measured first (ranges, margins), then drawn from back to front: grid,
 * axes, data, legend. Colours are classes, so that dark pages can have others; series of lines also
 * differ by their marks. */
#include "report/chart.h"

#include "report/report.h"

#include <math.h>
#include <string.h>

static const char *const style =
    ".paper{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#656d76}.grid{stroke:#e4e7eb}"
    ".axis{stroke:#8c959f}.reference{stroke:#656d76;stroke-dasharray:2 3}"
    "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px}"
    ".head{font-size:15px;font-weight:600}"
    ".c0{color:#0969da}.c1{color:#cf222e}.c2{color:#1a7f37}.c3{color:#9a6700}.c4{color:#8250df}"
    ".c5{color:#bf3989}.c6{color:#0e8a8a}.c7{color:#953800}.c8{color:#57606a}.c9{color:#4b7a0a}"
    ".c10{color:#3547b5}.c11{color:#a4496b}"
    "@media (prefers-color-scheme:dark){"
    ".paper{fill:#0d1117}.ink{fill:#e6edf3}.dim{fill:#8d96a0}.grid{stroke:#252b33}"
    ".axis{stroke:#6e7681}.reference{stroke:#8d96a0}"
    ".c0{color:#58a6ff}.c1{color:#ff7b72}.c2{color:#3fb950}.c3{color:#d8a827}.c4{color:#bc8cff}"
    ".c5{color:#f778ba}.c6{color:#39c5cf}.c7{color:#f0883e}.c8{color:#9aa4af}.c9{color:#8fcf3c}"
    ".c10{color:#8c9eff}.c11{color:#e58fae}}\n";

/* Lengths in user units (pixels at natural size). */
enum {
  WIDTH = 760,
  MOST_WIDTH = 1400,
  PLOT_HEIGHT = 300,
  MARGIN = 20,
  LEFT = 70,
  HEAD = 34,
  LEGEND_LINE = 20,
  LEGEND_MARK = 26,
  TICK_HEIGHT = 18,
  LABEL_HEIGHT = 24,
  LEAST_BAR = 7,
  GROUP_GAP = 12,
  MOST_TICKS = 24,
};
/* Letters of the 12-pixel font are about that wide. */
static const double letter_width = 6.4;

/* Values from low to high are drawn from pixel `from` to pixel `to`. */
typedef struct chart_axis {
  double low, high, from, to;
  bool is_log;
  double tick[MOST_TICKS];
  unsigned ticks;
} chart_axis;

typedef struct chart_layout {
  const bf_chart *chart;
  chart_axis x, y;
  double width, height, plot_top;
  unsigned legend_lines;
  bool tilts; /* names of categories are too long to stand side by side */
} chart_layout;

/* ---- Axes ---- */

/* Where value is drawn. */
static double place(const chart_axis *axis, double value) {
  double low = axis->is_log ? log(axis->low) : axis->low;
  double high = axis->is_log ? log(axis->high) : axis->high;
  double own = axis->is_log ? log(value) : value;
  return axis->from + (own - low) / (high - low) * (axis->to - axis->from);
}

/* The least of 1, 2 and 5 times a power of ten that is not below step. */
static double round_step(double step) {
  double power = pow(10, floor(log10(step)));
  for (unsigned i = 0; i < 3; i++)
    if (power * (double[]){1, 2, 5}[i] >= step * 0.999)
      return power * (double[]){1, 2, 5}[i];
  return power * 10;
}

/* Puts ticks on a linear axis; with widens, its ends become ticks. */
static void fit_linear(chart_axis *axis, bool widens) {
  if (!(axis->high > axis->low)) {
    double reach = axis->low == 0 ? 1 : fabs(axis->low) / 2;
    axis->low -= axis->low == 0 ? 0 : reach;
    axis->high += reach;
  }
  double step = round_step((axis->high - axis->low) / 7);
  if (widens) {
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
  }
  for (double at = ceil(axis->low / step - 1e-9);
       at * step <= axis->high + step * 1e-6 && axis->ticks < MOST_TICKS; at++)
    axis->tick[axis->ticks++] = at * step;
}

/* Puts ticks on a logarithmic axis at powers of 2, or of 10 for long axes. */
static void fit_log(chart_axis *axis, bool widens) {
  double base = axis->high / axis->low > 5000 ? 10 : 2;
  double first = log(axis->low) / log(base), last = log(axis->high) / log(base);
  if (widens || last - first < 1) {
    first = floor(first + 1e-9);
    last = ceil(last - 1e-9);
    last += last <= first;
    axis->low = pow(base, first);
    axis->high = pow(base, last);
  }
  for (double at = ceil(first - 1e-9); at <= last + 1e-9 && axis->ticks < MOST_TICKS; at++)
    axis->tick[axis->ticks++] = pow(base, at);
}

static void fit(chart_axis *axis, bool widens) {
  if (axis->is_log)
    fit_log(axis, widens);
  else
    fit_linear(axis, widens);
}

/* ---- Measuring ---- */

/* Takes value into the range of an axis. */
static int cover(chart_axis *axis, double value, const char *series, bf_diagnostic *diagnostic) {
  if (isnan(value))
    return BF_OK;
  if (isinf(value) || (axis->is_log && value <= 0))
    return bf_fail(diagnostic, BF_BAD_INPUT, "chart: series '%s' has the value %g on a %s axis",
                   series, value, axis->is_log ? "logarithmic" : "linear");
  axis->low = value < axis->low ? value : axis->low;
  axis->high = value > axis->high ? value : axis->high;
  return BF_OK;
}

/* Lines and steps have numbers along x, bars have categories. */
static bool has_categories(const bf_chart *chart) {
  return chart->kind == BF_CHART_BARS || chart->kind == BF_CHART_STACKS;
}

/* The height of a stack. */
static double stack_height(const bf_chart *chart, size_t category) {
  double sum = 0;
  for (size_t s = 0; s < chart->series_count; s++)
    if (category < chart->series[s].count && !isnan(chart->series[s].y[category]))
      sum += chart->series[s].y[category];
  return sum;
}

static int cover_series(chart_layout *layout, const bf_chart_series *series,
                        bf_diagnostic *diagnostic) {
  const bf_chart *chart = layout->chart;
  if (has_categories(chart) && series->count > chart->categories)
    return bf_fail(diagnostic, BF_BAD_INPUT, "chart: series '%s' has %zu values for %zu categories",
                   series->name, series->count, chart->categories);
  for (size_t i = 0; i < series->count; i++) {
    if (chart->kind == BF_CHART_LINES && isnan(series->y[i]))
      continue;
    if (chart->kind == BF_CHART_STACKS && series->y[i] < 0)
      return bf_fail(diagnostic, BF_BAD_INPUT, "chart: series '%s' has the value %g in a stack",
                     series->name, series->y[i]);
    if (!has_categories(chart))
      BF_TRY(cover(&layout->x, series->x[i], series->name, diagnostic));
    BF_TRY(cover(&layout->y, series->y[i], series->name, diagnostic));
  }
  if (chart->kind == BF_CHART_STEPS)
    BF_TRY(cover(&layout->x, series->x[series->count], series->name, diagnostic));
  return BF_OK;
}

/* Finds the ranges of the axes. */
static int measure_values(chart_layout *layout, bf_diagnostic *diagnostic) {
  const bf_chart *chart = layout->chart;
  layout->x = (chart_axis){.low = INFINITY, .high = -INFINITY, .is_log = chart->log_x};
  layout->y = (chart_axis){
      .low = INFINITY, .high = -INFINITY, .is_log = chart->log_y && chart->kind != BF_CHART_STEPS};
  if (chart->series_count > BF_CHART_SERIES)
    return bf_fail(diagnostic, BF_BAD_INPUT, "chart: %zu series, but %d can be told apart",
                   chart->series_count, BF_CHART_SERIES);
  for (size_t s = 0; s < chart->series_count; s++)
    BF_TRY(cover_series(layout, &chart->series[s], diagnostic));
  if (layout->y.low > layout->y.high)
    return bf_fail(diagnostic, BF_BAD_INPUT, "chart '%s' has no values", chart->title);
  for (size_t i = 0; chart->kind == BF_CHART_STACKS && i < chart->categories; i++)
    BF_TRY(cover(&layout->y, stack_height(chart, i), "sum", diagnostic));
  if (chart->reference != 0)
    BF_TRY(cover(&layout->y, chart->reference, "reference", diagnostic));
  if (!layout->y.is_log && (chart->from_zero || chart->kind != BF_CHART_LINES))
    BF_TRY(cover(&layout->y, 0, "zero", diagnostic));
  fit(&layout->y, true);
  if (!has_categories(chart))
    fit(&layout->x, false);
  return BF_OK;
}

static double text_width(const char *string) { return (double)strlen(string) * letter_width; }

/* Width of a legend entry. */
static double entry_width(const bf_chart_series *series) {
  return LEGEND_MARK + text_width(series->name) + 16;
}

static unsigned count_legend_lines(const bf_chart *chart, double width) {
  unsigned lines = chart->series_count > 1;
  double x = 0;
  for (size_t s = 0; s < chart->series_count && lines; s++) {
    double own = entry_width(&chart->series[s]);
    if (x > 0 && x + own > width) {
      x = 0;
      lines++;
    }
    x += own;
  }
  return lines;
}

static double longest_category(const bf_chart *chart) {
  double longest = 0;
  for (size_t i = 0; i < chart->categories; i++)
    longest = fmax(longest, text_width(chart->category[i]));
  return longest;
}

/* Decides where everything goes. */
static int measure(chart_layout *layout, bf_diagnostic *diagnostic) {
  const bf_chart *chart = layout->chart;
  BF_TRY(measure_values(layout, diagnostic));
  layout->width = WIDTH;
  if (has_categories(chart)) {
    double bars = chart->kind == BF_CHART_BARS ? (double)chart->series_count : 2;
    double wanted = LEFT + MARGIN + (double)chart->categories * (bars * LEAST_BAR + GROUP_GAP);
    layout->width = fmin(fmax(WIDTH, wanted), MOST_WIDTH);
  }
  layout->x.from = LEFT;
  layout->x.to = layout->width - MARGIN;
  layout->legend_lines = count_legend_lines(chart, layout->x.to - LEFT);
  layout->plot_top = HEAD + layout->legend_lines * LEGEND_LINE + 10;
  layout->y.from = layout->plot_top + PLOT_HEIGHT;
  layout->y.to = layout->plot_top;
  double labels = TICK_HEIGHT;
  if (has_categories(chart)) {
    double slot = (layout->x.to - LEFT) / (double)(chart->categories ? chart->categories : 1);
    layout->tilts = longest_category(chart) > slot - 4;
    if (layout->tilts)
      labels += longest_category(chart) * 0.65;
  }
  layout->height = layout->y.from + labels + (chart->x_label ? LABEL_HEIGHT : 0) + 12;
  return BF_OK;
}

/* ---- Pieces ---- */

static void draw_text(double x, double y, const char *attributes, const char *string,
                      bf_text *text) {
  bf_text_addf(text, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
  bf_markup_escape(string, text);
  bf_text_puts(text, "</text>\n");
}

static void draw_line(double x1, double y1, double x2, double y2, const char *classes,
                      bf_text *text) {
  bf_text_addf(text, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\" fill=\"none\"/>\n", x1, y1, x2,
               y2, classes);
}

/* A number as a tick shows it: 20k, 5M. */
static void format_tick(double value, char *string, size_t size) {
  if (fabs(value) >= 1e6)
    snprintf(string, size, "%.4gM", value / 1e6);
  else if (fabs(value) >= 1e4)
    snprintf(string, size, "%.4gk", value / 1e3);
  else
    snprintf(string, size, "%.5g", fabs(value) < 1e-12 ? 0 : value);
}

/* Number of the colour of a series. */
static size_t colour_of(const bf_chart *chart, size_t series) {
  const unsigned own = chart->series[series].colour;
  return own ? own - 1 : series;
}

/* The mark of a series of lines: shapes in turn. */
static void draw_mark(size_t series, double x, double y, const char *tip, bf_text *text) {
  switch (series % 4) {
  case 0:
    bf_text_addf(text, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"", x, y);
    break;
  case 1:
    bf_text_addf(text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"5.6\" height=\"5.6\"", x - 2.8,
                 y - 2.8);
    break;
  case 2:
    bf_text_addf(text, "<path d=\"M%.1f %.1fl3.6 6.2h-7.2z\"", x, y - 3.8);
    break;
  default:
    bf_text_addf(text, "<path d=\"M%.1f %.1fl4 4l-4 4l-4-4z\"", x, y - 4);
    break;
  }
  bf_text_puts(text, " fill=\"currentColor\">");
  if (tip) {
    bf_text_puts(text, "<title>");
    bf_markup_escape(tip, text);
    bf_text_puts(text, "</title>");
  }
  bf_text_puts(text, series % 4 == 0 ? "</circle>\n" : series % 4 == 1 ? "</rect>\n" : "</path>\n");
}

static void draw_ticks(const chart_layout *layout, bf_text *text) {
  char label[32];
  const chart_axis *x = &layout->x, *y = &layout->y;
  for (unsigned i = 0; i < y->ticks; i++) {
    double at = place(y, y->tick[i]);
    draw_line(x->from, at, x->to, at, "grid", text);
    format_tick(y->tick[i], label, sizeof label);
    draw_text(x->from - 8, at + 4, "class=\"dim\" text-anchor=\"end\"", label, text);
  }
  for (unsigned i = 0; !has_categories(layout->chart) && i < x->ticks; i++) {
    double at = place(x, x->tick[i]);
    draw_line(at, y->from, at, y->to, "grid", text);
    format_tick(x->tick[i], label, sizeof label);
    draw_text(at, y->from + TICK_HEIGHT, "class=\"dim\" text-anchor=\"middle\"", label, text);
  }
}

static void draw_labels(const chart_layout *layout, bf_text *text) {
  const bf_chart *chart = layout->chart;
  draw_text(MARGIN, 24, "class=\"ink head\"", chart->title ? chart->title : "", text);
  if (chart->x_label)
    draw_text((layout->x.from + layout->x.to) / 2, layout->height - 12,
              "class=\"ink\" text-anchor=\"middle\"", chart->x_label, text);
  if (chart->y_label) {
    char turned[100];
    double middle = (layout->y.from + layout->y.to) / 2;
    snprintf(turned, sizeof turned,
             "class=\"ink\" text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"", middle);
    draw_text(18, middle, turned, chart->y_label, text);
  }
}

static void draw_legend(const chart_layout *layout, bf_text *text) {
  const bf_chart *chart = layout->chart;
  double x = LEFT, y = HEAD + 12;
  for (size_t s = 0; s < chart->series_count && layout->legend_lines; s++) {
    const bf_chart_series *series = &chart->series[s];
    double own = entry_width(series);
    if (x > LEFT && x + own > layout->x.to) {
      x = LEFT;
      y += LEGEND_LINE;
    }
    bf_text_addf(text, "<g class=\"c%zu\">", colour_of(chart, s));
    if (chart->kind == BF_CHART_LINES) {
      bf_text_addf(text, "<path d=\"M%.1f %.1fh20\" stroke=\"currentColor\" stroke-width=\"2\"%s/>",
                   x, y - 4, series->dashed ? " stroke-dasharray=\"5 4\"" : "");
      draw_mark(s, x + 10, y - 4, NULL, text);
    } else {
      bf_text_addf(text,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"currentColor\"/>",
                   x + 6, y - 10);
    }
    bf_text_puts(text, "</g>\n");
    draw_text(x + LEGEND_MARK, y, "class=\"ink\"", series->name, text);
    x += own;
  }
}

/* ---- Data ---- */

/* The line through the points of a series; a missing point breaks it. */
static void draw_path(const chart_layout *layout, const bf_chart_series *series, bf_text *text) {
  bool is_down = false;
  bf_text_puts(text, "<path d=\"");
  for (size_t i = 0; i < series->count; i++) {
    bool has = !isnan(series->y[i]) && !isnan(series->x[i]);
    if (has)
      bf_text_addf(text, "%c%.1f %.1f", is_down ? 'L' : 'M', place(&layout->x, series->x[i]),
                   place(&layout->y, series->y[i]));
    is_down = has;
  }
  bf_text_addf(text, "\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"%s/>\n",
               series->dashed ? " stroke-dasharray=\"5 4\"" : "");
}

static void draw_lines(const chart_layout *layout, bf_text *text) {
  for (size_t s = 0; s < layout->chart->series_count; s++) {
    const bf_chart_series *series = &layout->chart->series[s];
    bf_text_addf(text, "<g class=\"c%zu\">\n", colour_of(layout->chart, s));
    draw_path(layout, series, text);
    for (size_t i = 0; i < series->count; i++) {
      if (isnan(series->y[i]) || isnan(series->x[i]))
        continue;
      char tip[160];
      snprintf(tip, sizeof tip, "%s: %.6g at %.6g", series->name, series->y[i], series->x[i]);
      draw_mark(s, place(&layout->x, series->x[i]), place(&layout->y, series->y[i]), tip, text);
    }
    bf_text_puts(text, "</g>\n");
  }
}

/* The area under the steps of each series, then the marks. */
static void draw_steps(const chart_layout *layout, bf_text *text) {
  const bf_chart *chart = layout->chart;
  const double base = place(&layout->y, 0);
  for (size_t s = 0; s < chart->series_count; s++) {
    const bf_chart_series *series = &chart->series[s];
    bf_text_addf(text, "<path d=\"M%.1f %.1f", place(&layout->x, series->x[0]), base);
    for (size_t i = 0; i < series->count; i++)
      bf_text_addf(text, "V%.1fH%.1f", isnan(series->y[i]) ? base : place(&layout->y, series->y[i]),
                   place(&layout->x, series->x[i + 1]));
    bf_text_addf(text,
                 "V%.1fz\" class=\"c%zu\" fill=\"currentColor\" fill-opacity=\"0.4\" "
                 "stroke=\"currentColor\"/>\n",
                 base, colour_of(chart, s));
  }
  for (size_t i = 0; i < chart->marks; i++)
    draw_line(place(&layout->x, chart->mark[i]), layout->y.from, place(&layout->x, chart->mark[i]),
              layout->y.to, "reference", text);
}

/* A bar from value bottom to value top, both on the axis. */
static void draw_bar(const chart_layout *layout, const char *category, size_t s, double x,
                     double width, double bottom, double top, bf_text *text) {
  const bf_chart_series *series = &layout->chart->series[s];
  double y1 = place(&layout->y, top), y2 = place(&layout->y, bottom);
  bf_text_addf(text,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"c%zu\" "
               "fill=\"currentColor\"><title>",
               x, fmin(y1, y2), width, fabs(y2 - y1), colour_of(layout->chart, s));
  bf_markup_escape(category, text);
  bf_text_puts(text, ", ");
  bf_markup_escape(series->name, text);
  bf_text_addf(text, ": %.6g</title></rect>\n",
               layout->chart->kind == BF_CHART_STACKS ? top - bottom : top);
}

/* The bars of one category in its slot of the x axis. */
static void draw_group(const chart_layout *layout, size_t category, double left, double slot,
                       bf_text *text) {
  const bf_chart *chart = layout->chart;
  double gap = fmin(GROUP_GAP, slot * 0.3);
  bool stacks = chart->kind == BF_CHART_STACKS;
  double width = stacks ? slot - gap : (slot - gap) / (double)chart->series_count;
  double base = layout->y.is_log ? layout->y.low : 0, bottom = base;
  for (size_t s = 0; s < chart->series_count; s++) {
    if (category >= chart->series[s].count || isnan(chart->series[s].y[category]))
      continue;
    double value = chart->series[s].y[category];
    double x = left + gap / 2 + (stacks ? 0 : (double)s * width);
    draw_bar(layout, chart->category[category], s, x, fmax(width - !stacks, 0.5), bottom,
             bottom * stacks + value, text);
    bottom = stacks ? bottom + value : base;
  }
}

static void draw_bars(const chart_layout *layout, bf_text *text) {
  const bf_chart *chart = layout->chart;
  double slot = (layout->x.to - layout->x.from) / (double)chart->categories;
  for (size_t i = 0; i < chart->categories; i++) {
    double left = layout->x.from + (double)i * slot, middle = left + slot / 2;
    draw_group(layout, i, left, slot, text);
    double y = layout->y.from + TICK_HEIGHT - 2;
    char attributes[120] = "class=\"ink\" text-anchor=\"middle\"";
    if (layout->tilts)
      snprintf(attributes, sizeof attributes,
               "class=\"ink\" text-anchor=\"end\" transform=\"rotate(-40 %.1f %.1f)\"", middle, y);
    draw_text(middle, y, attributes, chart->category[i], text);
  }
}

int bf_chart_svg(const bf_chart *chart, bf_text *text, bf_diagnostic *diagnostic) {
  chart_layout layout = {.chart = chart};
  BF_TRY(measure(&layout, diagnostic));
  bf_text_addf(text,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
               layout.width, layout.height, layout.width, layout.height);
  bf_markup_escape(chart->title ? chart->title : "", text);
  bf_text_addf(text, "</title>\n<style>%s</style>\n", style);
  bf_text_addf(text, "<rect width=\"%.0f\" height=\"%.0f\" class=\"paper\"/>\n", layout.width,
               layout.height);
  draw_ticks(&layout, text);
  draw_labels(&layout, text);
  if (chart->kind == BF_CHART_LINES)
    draw_lines(&layout, text);
  else if (chart->kind == BF_CHART_STEPS)
    draw_steps(&layout, text);
  else
    draw_bars(&layout, text);
  draw_line(layout.x.from, layout.y.from, layout.x.to, layout.y.from, "axis", text);
  if (chart->reference != 0)
    draw_line(layout.x.from, place(&layout.y, chart->reference), layout.x.to,
              place(&layout.y, chart->reference), "reference", text);
  draw_legend(&layout, text);
  bf_text_puts(text, "</svg>\n");
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}
