/* Latency, area and power for a range of target clocks (braak16, Fig. 4): one-hot units of the four
 * families, each synthesized in all ways that bf_rtl_efforts knows; for each target the smallest
 * that reaches it counts, or else the fastest. */
#include "reproduce/hardware/clock.h"

#include <math.h>
#include <string.h>

enum { TARGETS = 8, FAMILIES = BF_RTL_FAMILIES, AT_4_GHZ = 5 };

static const double target_ghz[TARGETS] = {1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0};

/* The labels of the bars, in ps. In the text of the figure the series that follows the numbers of
 * the vertical axis is that of the first family, and the one with 521 ps stands beside the label
 * "bitwise XOR"; the two that stay above their target at 4.5 and 5.0 GHz are the XOR families, of
 * which the document says so. One of the two copies of the figure has 284 for 286. */
static const double published_ps[FAMILIES][TARGETS] = {
    {348, 348, 348, 326, 286, 250, 222, 200},
    {468, 430, 398, 333, 286, 250, 243, 246},
    {269, 269, 269, 269, 269, 248, 221, 200},
    {521, 496, 400, 333, 286, 250, 227, 221},
};

typedef struct family {
  bf_rtl_unit unit;
  unsigned efforts;
  bf_rtl_effort effort[BF_RTL_MOST_EFFORTS];
  bf_rtl_cost cost[BF_RTL_MOST_EFFORTS];
  unsigned chosen[TARGETS]; /* an effort for each target */
} family;

typedef struct sweep {
  const bf_liberty *library;
  family family[FAMILIES];
} sweep;

/* ---- Measuring ---- */

static int measure_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  sweep *s = context;
  family *f = &s->family[index % FAMILIES];
  unsigned way = index / FAMILIES;
  const bf_rtl_flow flow = {
      .library = s->library, .liberty_path = BF_RTL_OSU018, .effort = f->effort[way]};
  return bf_rtl_measure(&f->unit, &flow, &f->cost[way], diagnostic);
}

/* Quick runs have smaller units. */
static int measure(bf_reproduce_run *run, sweep *s, bf_diagnostic *diagnostic) {
  bf_geometry full = {5, 14, 4}, quick = {2, 5, 4};
  for (unsigned i = 0; i < FAMILIES; i++) {
    family *f = &s->family[i];
    f->unit = (bf_rtl_unit){.kind = (bf_rtl_kind)i,
                            .one_hot = true,
                            .geometry = bf_reproduce_is_quick(run) ? quick : full,
                            .name = "hash"};
    f->efforts = bf_rtl_efforts(&f->unit, f->effort);
  }
  BF_TRY(bf_reproduce_parallel(run, FAMILIES * s->family[0].efforts, "ways to synthesize",
                               measure_one, s, diagnostic));
  for (unsigned i = 0; i < FAMILIES; i++)
    for (unsigned t = 0; t < TARGETS; t++)
      s->family[i].chosen[t] = bf_rtl_choose(s->family[i].cost, s->family[i].efforts,
                                             bf_rtl_unscale_delay(1 / target_ghz[t]));
  return BF_OK;
}

/* ---- At 40 nm ---- */

static const bf_rtl_cost *cost_at(const family *f, unsigned target) {
  return &f->cost[f->chosen[target]];
}

static double latency_ps(const family *f, unsigned target) {
  return 1000 * bf_rtl_scale_delay(cost_at(f, target)->period_ns).value;
}

static double area_um2(const family *f, unsigned target) {
  return bf_rtl_scale_area(cost_at(f, target)->area_um2).value;
}

/* Energy per cycle with a new word. */
static double energy_pj(const family *f, unsigned target) {
  const bf_rtl_cost *cost = cost_at(f, target);
  return bf_rtl_scale_energy(cost->logic_pj + cost->clock_pj).value;
}

static bool reaches(double ps, unsigned target) { return ps * target_ghz[target] <= 1000; }

/* Of one unit at the target, or at the clock it reaches. */
static double power_mw(const family *f, unsigned target) {
  return energy_pj(f, target) * fmin(target_ghz[target], 1000 / latency_ps(f, target));
}

/* ---- Table and charts ---- */

static void tabulate(bf_reproduce_run *run, const sweep *s) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "clocks", "One-hot units for eight target clocks, one of each at 40 nm",
      "unit|GHz|target ps|published ps|ps|reached|mapping|registers for the word|um2|mW");
  for (unsigned i = 0; i < FAMILIES; i++)
    for (unsigned t = 0; t < TARGETS; t++) {
      const family *f = &s->family[i];
      const bf_rtl_effort *effort = &f->effort[f->chosen[t]];
      bf_reproduce_cell(table, "%s", bf_rtl_families[i]);
      bf_reproduce_cell(table, "%.1f", target_ghz[t]);
      bf_reproduce_cell(table, "%.0f", 1000 / target_ghz[t]);
      bf_reproduce_cell(table, "%.0f", published_ps[i][t]);
      bf_reproduce_cell(table, "%.0f", latency_ps(f, t));
      bf_reproduce_cell(table, "%s", reaches(latency_ps(f, t), t) ? "yes" : "no");
      bf_reproduce_cell(table, "%s", effort->mapping);
      bf_reproduce_cell(table, "%u", effort->word_copies);
      bf_reproduce_cell(table, "%.0f", area_um2(f, t));
      bf_reproduce_cell(table, "%.2f", power_mw(f, t));
    }
}

/* Lines over the target: ours, and where given the published ones. */
static int draw(bf_reproduce_run *run, const sweep *s, const char *name, const char *title,
                const char *y_label, double (*value)(const family *, unsigned),
                const double (*published)[TARGETS], bf_diagnostic *diagnostic) {
  double y[FAMILIES][TARGETS];
  char names[FAMILIES][40];
  bf_chart_series series[2 * FAMILIES] = {0};
  unsigned count = 0;
  for (unsigned i = 0; i < FAMILIES; i++) {
    for (unsigned t = 0; t < TARGETS; t++)
      y[i][t] = value(&s->family[i], t);
    series[count++] = (bf_chart_series){
        .name = bf_rtl_families[i], .x = target_ghz, .y = y[i], .count = TARGETS, .colour = i + 1};
    if (!published)
      continue;
    snprintf(names[i], sizeof names[i], "%s, published", bf_rtl_families[i]);
    series[count++] = (bf_chart_series){.name = names[i],
                                        .x = target_ghz,
                                        .y = published[i],
                                        .count = TARGETS,
                                        .dashed = true,
                                        .colour = i + 1};
  }
  return bf_reproduce_chart(run, name,
                            &(bf_chart){.kind = BF_CHART_LINES,
                                        .title = title,
                                        .x_label = "target GHz",
                                        .y_label = y_label,
                                        .from_zero = true,
                                        .series = series,
                                        .series_count = count},
                            diagnostic);
}

/* ---- Claims ---- */

/* "4.5, 5.0 GHz": the targets that are not reached; each latency may be off by `rounded_ps`. */
static void list_missed(const double *ps, double rounded_ps, char *text, size_t bytes) {
  size_t at = 0;
  *text = 0;
  for (unsigned t = 0; t < TARGETS; t++)
    if (!reaches(ps[t] - rounded_ps, t))
      at += (size_t)snprintf(text + at, bytes - at, "%s%.1f", at ? ", " : "", target_ghz[t]);
  snprintf(text + at, bytes - at, "%s", at ? " GHz" : "none");
}

static void claim_missed(bf_reproduce_run *run, const sweep *s, unsigned i) {
  char name[80], published[80], ours[80];
  double ps[TARGETS];
  for (unsigned t = 0; t < TARGETS; t++)
    ps[t] = latency_ps(&s->family[i], t);
  snprintf(name, sizeof name, "%s: clocks that are not reached", bf_rtl_families[i]);
  list_missed(published_ps[i], 0.5, published, sizeof published);
  list_missed(ps, 0, ours, sizeof ours);
  bf_rtl_range best = bf_rtl_scale_delay(cost_at(&s->family[i], TARGETS - 1)->period_ns);
  char why[300];
  snprintf(why, sizeof why,
           "the fastest of %u ways has %.0f ps, where 4.0 GHz allow 250; scaling to 40 nm makes "
           "%.0f to %.0f ps of it. %.0f ps of it are between the gates' ends, the rest is that of "
           "registers, of which the library has one size.",
           s->family[i].efforts, 1000 * best.value, 1000 * best.low, 1000 * best.high,
           1000 * bf_rtl_scale_delay(cost_at(&s->family[i], TARGETS - 1)->delay_ns).value);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_SAME,
                                                    .published_text = published,
                                                    .ours_text = ours,
                                                    .why = why});
}

/* The slowest of the ways to make a unit, and how much larger than the smallest it is. */
static void explain_slow(const family *f, double published, char *why, size_t bytes) {
  const bf_rtl_cost *smallest = cost_at(f, 0), *slowest = smallest;
  for (unsigned i = 0; i < f->efforts; i++)
    slowest = f->cost[i].period_ns > slowest->period_ns ? &f->cost[i] : slowest;
  bf_rtl_range range = bf_rtl_scale_delay(smallest->period_ns);
  snprintf(why, bytes,
           "of %u ways tried this is the smallest unit; the slowest has %.0f ps and %.2f times its "
           "area, so that with these cells being slow saves nothing. Scaling to 40 nm makes %.0f "
           "to %.0f ps of it, and %.0f are published.",
           f->efforts, 1000 * bf_rtl_scale_delay(slowest->period_ns).value,
           slowest->area_um2 / smallest->area_um2, 1000 * range.low, 1000 * range.high, published);
}

/* Latency at the first and the last target, beside the published one. Where the last target is
 * reached, in the document as here, latencies are near it because units are made for it. */
static void claim_ends(bf_reproduce_run *run, const sweep *s, unsigned i) {
  static const char for_the_last[] = "the smallest unit that reaches the last target, 200 ps, is "
                                     "taken, and faster ones are not looked for.";
  char name[80], why[300];
  explain_slow(&s->family[i], published_ps[i][0], why, sizeof why);
  snprintf(name, sizeof name, "%s: latency for 1.5 GHz", bf_rtl_families[i]);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .published = published_ps[i][0],
                                                    .ours = latency_ps(&s->family[i], 0),
                                                    .unit = " ps",
                                                    .why = why});
  double least = published_ps[i][0];
  for (unsigned t = 1; t < TARGETS; t++)
    least = fmin(least, published_ps[i][t]);
  snprintf(name, sizeof name, "%s: least latency", bf_rtl_families[i]);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = name,
                                 .published = least,
                                 .ours = latency_ps(&s->family[i], TARGETS - 1),
                                 .unit = " ps",
                                 .derived = reaches(least - 0.5, TARGETS - 1) ? for_the_last : NULL,
                                 .why = "registers come in one size, and few gates in two."});
}

/* Whether a value never falls from one target to the next, or never rises, by more than a part of
 * it. */
static bool is_steady(const family *f, double (*value)(const family *, unsigned), bool rises,
                      double slack) {
  for (unsigned t = 1; t < TARGETS; t++) {
    double ratio = value(f, t) / value(f, t - 1);
    if (rises ? ratio < 1 - slack : ratio > 1 + slack)
      return false;
  }
  return true;
}

/* The value for the tightest target over that for the loosest, of each family. */
static void claim_trend(bf_reproduce_run *run, const sweep *s, const char *name,
                        const char *published, double (*value)(const family *, unsigned),
                        bool rises, double slack, const char *derived) {
  bool holds = true;
  double ratio[FAMILIES];
  for (unsigned i = 0; i < FAMILIES; i++) {
    const family *f = &s->family[i];
    ratio[i] = value(f, TARGETS - 1) / value(f, 0);
    holds &= is_steady(f, value, rises, slack) && (rises ? ratio[i] > 1 : ratio[i] < 1);
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = name,
                            .rule = BF_CLAIM_WORDS,
                            .published_text = published,
                            .is_so = holds,
                            .derived = derived,
                            .why = "yosys maps the unit otherwise than the version that this was "
                                   "written with."},
      "from 1.5 to 5.0 GHz x %.2f, %.2f, %.2f, %.2f", ratio[0], ratio[1], ratio[2], ratio[3]);
}

static void claim(bf_reproduce_run *run, const sweep *s) {
  if (bf_reproduce_is_quick(run))
    return;
  static const char by_choice[] =
      "for each clock the smallest of the units that are fast enough is "
      "taken: with a tighter clock it cannot be smaller.";
  claim_trend(run, s, "latency by target clock", "falls or stays", latency_ps, false, 0, by_choice);
  claim_trend(run, s, "area by target clock", "grows", area_um2, true, 0, by_choice);
  claim_trend(run, s, "power by target clock, at that clock", "grows", power_mw, true, 0,
              "power is energy times the clock, which grows.");
  claim_trend(run, s, "energy per cycle by target clock, but for 1%", "power grows", energy_pj,
              true, 0.01, NULL);
  for (unsigned i = 0; i < FAMILIES; i++)
    claim_ends(run, s, i);
  for (unsigned i = 0; i < FAMILIES; i++)
    claim_missed(run, s, i);
  double most = 0;
  for (unsigned i = 0; i < FAMILIES; i++)
    most = fmax(most, latency_ps(&s->family[i], AT_4_GHZ));
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "latency that every family reaches, for 4.0 GHz",
                                 .published = 250,
                                 .ours = most,
                                 .unit = " ps",
                                 .why = "registers come in one size, and few gates in two."});
}

/* ---- All of it ---- */

int bf_reproduce_clocks(bf_reproduce_run *run, const bf_liberty *library,
                        bf_diagnostic *diagnostic) {
  sweep *s = bf_arena_alloc(bf_reproduce_arena(run), sizeof *s);
  if (!s)
    return bf_no_memory(diagnostic);
  s->library = library;
  BF_TRY(measure(run, s, diagnostic));
  BF_TRY(draw(run, s, "clock-latency", "Latency of a hash unit by target clock, 40 nm", "ps",
              latency_ps, published_ps, diagnostic));
  BF_TRY(draw(run, s, "clock-area", "Area of a hash unit by target clock, 40 nm", "um2", area_um2,
              NULL, diagnostic));
  BF_TRY(draw(run, s, "clock-power", "Power of a hash unit by target clock, 40 nm", "mW", power_mw,
              NULL, diagnostic));
  tabulate(run, s);
  claim(run, s);
  return BF_OK;
}
