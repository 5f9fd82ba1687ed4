/* Charts: well-formed, complete, and values where the axes say. */
#include "report/chart.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "markup.h"

static const double steps[] = {1, 2, 4, 8};
static const double rising[] = {10, 20, 40, 80};
static const double falling[] = {80, NAN, 20, 10};
static const bf_chart_series two[] = {
    {.name = "rising <&>", .x = steps, .y = rising, .count = 4},
    {.name = "falling", .x = steps, .y = falling, .count = 4, .dashed = true},
};
static const char *const categories[] = {"one", "two", "a name that is quite long", "\"four\""};

/* Draws chart and checks that it is well-formed; the caller frees the text. */
static bf_text draw(const bf_chart *chart) {
  bf_text text = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_chart_svg(chart, &text, &diagnostic), BF_OK);
  check_markup(text.data);
  return text;
}

static unsigned occurrences(const char *text, const char *part) {
  unsigned count = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
    count++;
  return count;
}

/* Coordinate number index (0: cx, 1: cy) of the first circle whose tip begins with tip. */
static double circle(const char *text, const char *tip, bool vertical) {
  const char *at = strstr(text, tip);
  assert_non_null(at);
  while (strncmp(at, "<circle", 7) != 0)
    at--;
  at = strstr(at, vertical ? "cy=\"" : "cx=\"");
  return strtod(at + 4, NULL);
}

static void test_lines(void **state) {
  (void)state;
  bf_text text = draw(&(bf_chart){.title = "a & b",
                                  .x_label = "ways",
                                  .y_label = "cycles <1>",
                                  .from_zero = true,
                                  .series = two,
                                  .series_count = 2});
  assert_non_null(strstr(text.data, "a &amp; b"));
  assert_non_null(strstr(text.data, "ways"));
  assert_non_null(strstr(text.data, "cycles &lt;1&gt;"));
  assert_non_null(strstr(text.data, "rising &lt;&amp;&gt;"));
  assert_int_equal(occurrences(text.data, "falling: "), 3); /* one point is missing */
  assert_int_equal(occurrences(text.data, "stroke-dasharray=\"5 4\""), 2);
  assert_non_null(strstr(text.data, "prefers-color-scheme:dark"));
  double low = circle(text.data, "rising &lt;&amp;&gt;: 20 ", true);
  double middle = circle(text.data, "rising &lt;&amp;&gt;: 40 ", true);
  double high = circle(text.data, "rising &lt;&amp;&gt;: 80 ", true);
  assert_true(low > middle && middle > high); /* y grows downwards */
  assert_true(fabs((middle - high) - 2 * (low - middle)) < 0.3);
  bf_text_free(&text);
}

/* Doubling moves by the same length on both logarithmic axes. */
static void test_logarithmic(void **state) {
  (void)state;
  bf_text text = draw(
      &(bf_chart){.title = "log", .log_x = true, .log_y = true, .series = two, .series_count = 1});
  for (unsigned vertical = 0; vertical < 2; vertical++) {
    double a = circle(text.data, "rising &lt;&amp;&gt;: 10 ", vertical);
    double b = circle(text.data, "rising &lt;&amp;&gt;: 20 ", vertical);
    double c = circle(text.data, "rising &lt;&amp;&gt;: 80 ", vertical);
    assert_true(fabs((c - b) - 2 * (b - a)) < 0.3 && fabs(b - a) > 10);
  }
  bf_text_free(&text);
}

static void test_bars(void **state) {
  (void)state;
  static const bf_chart_kind kinds[] = {BF_CHART_BARS, BF_CHART_STACKS};
  for (unsigned i = 0; i < 2; i++) {
    bf_text text = draw(&(bf_chart){.kind = kinds[i],
                                    .title = "bars",
                                    .category = categories,
                                    .categories = 4,
                                    .series = two,
                                    .series_count = 2,
                                    .reference = 50});
    assert_int_equal(occurrences(text.data, "</title></rect>"), 7);
    assert_non_null(strstr(text.data, "a name that is quite long, falling: 20"));
    assert_non_null(strstr(text.data, "&quot;four&quot;"));
    assert_non_null(strstr(text.data, "class=\"reference\""));
    bf_text_free(&text);
  }
}

/* Height of the first bar whose tip begins with tip, and the y of its upper end. */
static double bar(const char *text, const char *tip, double *top) {
  const char *at = strstr(text, tip);
  assert_non_null(at);
  while (strncmp(at, "<rect", 5) != 0)
    at--;
  *top = strtod(strstr(at, " y=\"") + 4, NULL);
  return strtod(strstr(at, "height=\"") + 8, NULL);
}

/* The pieces of a stack stand on each other. */
static void test_stack(void **state) {
  (void)state;
  bf_text text = draw(&(bf_chart){.kind = BF_CHART_STACKS,
                                  .title = "stack",
                                  .category = categories,
                                  .categories = 4,
                                  .series = two,
                                  .series_count = 2});
  double lower_top, upper_top;
  double lower = bar(text.data, "one, rising", &lower_top);
  double upper = bar(text.data, "one, falling: 80", &upper_top);
  assert_true(fabs(upper - 8 * lower) < 0.5);
  assert_true(fabs(upper_top + upper - lower_top) < 0.2);
  bf_text_free(&text);
}

/* One value, equal values, one series: nothing divides by zero. */
/* Steps span the axis, are filled down to zero, and have the colour asked for. */
static void test_steps(void **state) {
  (void)state;
  const double edges[] = {0, 64, 128, 256}, counts[] = {5, 0, 10}, mark = 64;
  const bf_chart_series series = {
      .name = "green", .x = edges, .y = counts, .count = 3, .colour = BF_CHART_GREEN};
  bf_text text = draw(&(bf_chart){.kind = BF_CHART_STEPS,
                                  .title = "histogram",
                                  .series = &series,
                                  .series_count = 1,
                                  .mark = &mark,
                                  .marks = 1});
  const char *path = strstr(text.data, "z\" class=\"c2\"");
  assert_non_null(path);
  while (strncmp(path, "<path", 5) != 0)
    path--;
  /* The plot is 670 by 300 pixels, from 70, 44; 10 is the end of the axis. */
  const char *drawn = "<path d=\"M70.0 344.0V194.0H237.5V344.0H405.0V44.0H740.0V344.0z\"";
  assert_memory_equal(path, drawn, strlen(drawn));
  assert_non_null(strstr(text.data, "M237.5 344.0L237.5 44.0\" class=\"reference\""));
  bf_text_free(&text);
}

static void test_degenerate(void **state) {
  (void)state;
  static const double same[] = {3, 3};
  static const double zero[] = {0, 0};
  const bf_chart_series flat = {.name = "flat", .x = steps, .y = same, .count = 2};
  const bf_chart_series none = {.name = "none", .x = same, .y = zero, .count = 2};
  const bf_chart_series single = {.name = "single", .x = steps, .y = same, .count = 1};
  const bf_chart_series *series[] = {&flat, &none, &single};
  for (unsigned i = 0; i < 3; i++) {
    bf_text text = draw(&(bf_chart){.title = "t", .series = series[i], .series_count = 1});
    assert_null(strstr(text.data, "nan"));
    assert_null(strstr(text.data, "inf"));
    bf_text_free(&text);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const double nothing[] = {NAN, NAN};
  static const double infinite[] = {1, INFINITY};
  static const double negative[] = {1, -1};
  const bf_chart_series empty = {.name = "empty", .x = steps, .y = nothing, .count = 2};
  const bf_chart_series wild = {.name = "wild", .x = steps, .y = infinite, .count = 2};
  const bf_chart_series below = {.name = "below", .x = steps, .y = negative, .count = 2};
  static const bf_chart_series many[BF_CHART_SERIES + 1];
  const struct {
    bf_chart chart;
    const char *message;
  } cases[] = {
      {{.title = "t"}, "chart 't' has no values"},
      {{.title = "t", .series = &empty, .series_count = 1}, "chart 't' has no values"},
      {{.title = "t", .series = &wild, .series_count = 1},
       "chart: series 'wild' has the value inf on a linear axis"},
      {{.title = "t", .log_y = true, .series = &below, .series_count = 1},
       "chart: series 'below' has the value -1 on a logarithmic axis"},
      {{.kind = BF_CHART_STACKS,
        .title = "t",
        .category = categories,
        .categories = 2,
        .series = &below,
        .series_count = 1},
       "chart: series 'below' has the value -1 in a stack"},
      {{.kind = BF_CHART_BARS,
        .title = "t",
        .category = categories,
        .categories = 1,
        .series = &below,
        .series_count = 1},
       "chart: series 'below' has 2 values for 1 categories"},
      {{.title = "t", .series = many, .series_count = BF_CHART_SERIES + 1},
       "chart: 13 series, but 12 can be told apart"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_text text = {0};
    bf_diagnostic diagnostic;
    assert_int_equal(bf_chart_svg(&cases[i].chart, &text, &diagnostic), BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, cases[i].message);
    bf_text_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),   cmocka_unit_test(test_logarithmic),
      cmocka_unit_test(test_bars),    cmocka_unit_test(test_stack),
      cmocka_unit_test(test_steps),   cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
