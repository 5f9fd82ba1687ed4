/* The hash units in hardware: area, power and latency of the four families (braak16, section 4.5),
 * and gates of the bank and lock hashes (braak13, section IV). The units are synthesized here;
 * without yosys or a library of cells only gates are counted. */
#include "reproduce/hardware/clock.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { CONFIGURATIONS = 2, UNITS = CONFIGURATIONS * BF_RTL_FAMILIES };

typedef struct hardware {
  bf_liberty *library;
  bf_rtl_unit unit[UNITS]; /* encoded first */
  bf_rtl_cost cost[UNITS];
} hardware;

static const char *const configuration_names[] = {"encoded", "one-hot"};

/* ---- Measuring ---- */

static int measure_unit(void *context, unsigned index, bf_diagnostic *diagnostic) {
  hardware *h = context;
  const bf_rtl_flow flow = {.library = h->library, .liberty_path = BF_RTL_OSU018};
  return bf_rtl_measure(&h->unit[index], &flow, &h->cost[index], diagnostic);
}

static int measure(bf_reproduce_run *run, hardware *h, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < UNITS; i++)
    h->unit[i] = (bf_rtl_unit){.kind = (bf_rtl_kind)(i % BF_RTL_FAMILIES),
                               .one_hot = i >= BF_RTL_FAMILIES,
                               .geometry = {5, 14, 4},
                               .name = "hash"};
  return bf_reproduce_parallel(run, UNITS, "units", measure_unit, h, diagnostic);
}

static double area(const hardware *h, unsigned unit) {
  return bf_rtl_gpu_area(&h->cost[unit]).value;
}

static double power(const hardware *h, unsigned unit) {
  return bf_rtl_gpu_power(&h->cost[unit]).value;
}

/* ---- Table and charts ---- */

static void tabulate(bf_reproduce_run *run, const hardware *h) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "units", "Units at 40 nm",
      "unit|configuration|cells|registers|um2 at 0.18 um|ps between registers|mm2 of 512|low|high|"
      "published mm2|W of 512|low|high|published W");
  for (unsigned i = 0; i < UNITS; i++) {
    const bf_rtl_cost *cost = &h->cost[i];
    bf_rtl_range mm2 = bf_rtl_gpu_area(cost), watt = bf_rtl_gpu_power(cost);
    bf_rtl_kind kind = h->unit[i].kind;
    bf_reproduce_cell(table, "%s", bf_rtl_families[kind]);
    bf_reproduce_cell(table, "%s", configuration_names[h->unit[i].one_hot]);
    bf_reproduce_cell(table, "%u", cost->cells);
    bf_reproduce_cell(table, "%u", cost->flip_flops);
    bf_reproduce_cell(table, "%.0f", cost->area_um2);
    bf_reproduce_cell(table, "%.0f", 1000 * bf_rtl_scale_delay(cost->period_ns).value);
    bf_reproduce_cell(table, "%.2f", mm2.value);
    bf_reproduce_cell(table, "%.2f", mm2.low);
    bf_reproduce_cell(table, "%.2f", mm2.high);
    bf_reproduce_cell(table, "%.1f", bf_rtl_published_mm2[kind]);
    bf_reproduce_cell(table, "%.2f", watt.value);
    bf_reproduce_cell(table, "%.2f", watt.low);
    bf_reproduce_cell(table, "%.2f", watt.high);
    bf_reproduce_cell(table, "%.1f", bf_rtl_published_watt[kind]);
  }
}

/* Published bars beside those of both configurations. */
static int draw(bf_reproduce_run *run, const hardware *h, bool is_power,
                bf_diagnostic *diagnostic) {
  double y[UNITS];
  for (unsigned i = 0; i < UNITS; i++)
    y[i] = is_power ? power(h, i) : area(h, i);
  const bf_chart_series series[] = {
      {.name = "published",
       .y = is_power ? bf_rtl_published_watt : bf_rtl_published_mm2,
       .count = BF_RTL_FAMILIES,
       .colour = BF_CHART_GREY},
      {.name = "encoded", .y = y, .count = BF_RTL_FAMILIES, .colour = BF_CHART_BLUE},
      {.name = "one-hot",
       .y = y + BF_RTL_FAMILIES,
       .count = BF_RTL_FAMILIES,
       .colour = BF_CHART_RED}};
  return bf_reproduce_chart(run, is_power ? "power" : "area",
                            &(bf_chart){.kind = BF_CHART_BARS,
                                        .title = is_power ? "Power of 512 hash units at 40 nm"
                                                          : "Area of 512 hash units at 40 nm",
                                        .y_label = is_power ? "W" : "mm2",
                                        .category = bf_rtl_families,
                                        .categories = BF_RTL_FAMILIES,
                                        .series = series,
                                        .series_count = 3},
                            diagnostic);
}

/* ---- Claims ---- */

/* What was chosen with the published numbers in sight. */
static const char chosen_units[] =
    "of encoded and one-hot configuration, with registers and without, one-hot units with "
    "registers of their own are compared because they have the published order of families; the "
    "others are the rows that differ.";

/* Watts of all units of a family with some of their energy. */
static double watt_of(const bf_rtl_cost *cost, double logic_pj, double clock_pj) {
  bf_rtl_cost part = *cost;
  part.logic_pj = logic_pj;
  part.clock_pj = clock_pj;
  return bf_rtl_gpu_power(&part).value;
}

/* Why power is not the published one: what parts of it are, and how busy units would be if it were.
 */
static void explain_power(const bf_rtl_cost *cost, double published, char why[500]) {
  double all = bf_rtl_gpu_power(cost).value;
  double gated = watt_of(cost, cost->logic_pj, cost->clock_pj - cost->configuration_pj);
  snprintf(why, 500,
           "the published clock and activity are not known. Of ours, with a new random word in "
           "every unit and cycle of 0.7 ns, %.2f W are the clock of registers that hold the "
           "configuration, %.2f W that of the others, and %.2f W gates; scaling to 40 nm gives "
           "%.2f to %.2f W. It would be the published one with all of it in %.0f%% of the cycles, "
           "or without the configuration's clock in %.0f%%.",
           watt_of(cost, 0, cost->configuration_pj),
           watt_of(cost, 0, cost->clock_pj - cost->configuration_pj),
           watt_of(cost, cost->logic_pj, 0), bf_rtl_gpu_power(cost).low,
           bf_rtl_gpu_power(cost).high, 100 * published / all, 100 * published / gated);
}

/* One-hot units in numbers, each beside the published one. */
static void claim_numbers(bf_reproduce_run *run, const hardware *h) {
  const unsigned first = BF_RTL_FAMILIES;
  char name[80], why[500];
  for (unsigned i = 0; i < BF_RTL_FAMILIES; i++) {
    bf_rtl_range mm2 = bf_rtl_gpu_area(&h->cost[first + i]);
    snprintf(name, sizeof name, "%s: area", bf_rtl_families[i]);
    snprintf(why, sizeof why,
             "scaling from 0.18 um to 40 nm gives %.2f to %.2f mm2, and published areas have one "
             "digit: ours with one digit is %.1f.",
             mm2.low, mm2.high, mm2.value);
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .published = bf_rtl_published_mm2[i],
                                                      .ours = area(h, first + i),
                                                      .unit = " mm2",
                                                      .fitted = chosen_units,
                                                      .why = why});
  }
  for (unsigned i = 0; i < BF_RTL_FAMILIES; i++) {
    snprintf(name, sizeof name, "%s: power", bf_rtl_families[i]);
    explain_power(&h->cost[first + i], bf_rtl_published_watt[i], why);
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .published = bf_rtl_published_watt[i],
                                                      .ours = power(h, first + i),
                                                      .unit = " W",
                                                      .why = why});
  }
  for (unsigned i = 1; i < BF_RTL_FAMILIES; i++) {
    snprintf(name, sizeof name, "%s: power relative to %s", bf_rtl_families[i], bf_rtl_families[0]);
    bf_reproduce_claim_add(
        run, &(bf_reproduce_claim){.name = name,
                                   .published = bf_rtl_published_watt[i] / bf_rtl_published_watt[0],
                                   .ours = power(h, first + i) / power(h, first),
                                   .fitted = chosen_units,
                                   .why = "published powers have one digit."});
  }
}

/* Whether each of four numbers is larger than the one before, by a tenth or more. */
static bool ascends(const double *value) {
  for (unsigned i = 1; i < BF_RTL_FAMILIES; i++)
    if (value[i] < 1.1 * value[i - 1])
      return false;
  return true;
}

static void claim_order(bf_reproduce_run *run, const char *name, const double *value,
                        const char *why) {
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = name,
                                                .rule = BF_CLAIM_WORDS,
                                                .published_text = "each a tenth larger or more",
                                                .is_so = ascends(value),
                                                .must_hold = !why,
                                                .fitted = why ? NULL : chosen_units,
                                                .why = why},
                          "1 : %.2f : %.2f : %.2f", value[1] / value[0], value[2] / value[0],
                          value[3] / value[0]);
}

/* What gates and registers of the families take. */
static void explain_order(const double *gates, const double *all, char *why, size_t bytes) {
  snprintf(why, bytes,
           "gates of the four families take %.0f, %.0f, %.0f and %.0f um2 at 0.18 um, their "
           "registers %.0f, %.0f, %.0f and %.0f: the shifters of bit-vector XOR are larger than "
           "the multiplexers of a permutation, and only registers make up for it.",
           gates[0], gates[1], gates[2], gates[3], all[0] - gates[0], all[1] - gates[1],
           all[2] - gates[2], all[3] - gates[3]);
}

/* The order of the families: bit-vector permutation, bit-vector XOR, bitwise permutation, bitwise
 * XOR. */
static void claim_orders(bf_reproduce_run *run, const hardware *h) {
  double with[UNITS], watt[UNITS], gates[UNITS];
  for (unsigned i = 0; i < UNITS; i++) {
    with[i] = h->cost[i].area_um2;
    gates[i] = h->cost[i].gates_area_um2;
    watt[i] = power(h, i);
  }
  claim_order(run, "order of areas, one-hot", with + BF_RTL_FAMILIES, NULL);
  claim_order(run, "order of powers, one-hot", watt + BF_RTL_FAMILIES, NULL);
  char why[300];
  explain_order(gates, with, why, sizeof why);
  claim_order(run, "order of areas, encoded", with, why);
  claim_order(run, "order of areas, encoded, gates alone", gates, why);
  explain_order(gates + BF_RTL_FAMILIES, with + BF_RTL_FAMILIES, why, sizeof why);
  claim_order(run, "order of areas, one-hot, gates alone", gates + BF_RTL_FAMILIES, why);
}

static void claim_latency(bf_reproduce_run *run, const hardware *h) {
  double least = INFINITY, most = 0;
  for (unsigned i = BF_RTL_FAMILIES; i < UNITS; i++) {
    double ps = 1000 * bf_rtl_scale_delay(h->cost[i].period_ns).value;
    least = fmin(least, ps);
    most = fmax(most, ps);
  }
  const double published[] = {200, 521}, ours[] = {least, most};
  bf_rtl_range range = bf_rtl_scale_delay(bf_rtl_unscale_delay(most / 1000));
  char why[300];
  snprintf(why, sizeof why,
           "the published range is that of units for all target clocks, ours of those that yosys "
           "makes by itself; rows below have every target. Scaling to 40 nm makes %.0f to %.0f ps "
           "of the largest.",
           1000 * range.low, 1000 * range.high);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "least and largest latency between registers, one-hot",
                                 .published_list = published,
                                 .ours_list = ours,
                                 .count = 2,
                                 .unit = " ps",
                                 .why = why});
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "part of a clock cycle of 700 ps",
                            .rule = BF_CLAIM_WORDS,
                            .published_text = "significant: one more cycle",
                            .is_so = most > 0.25 * 700,
                            .must_hold = true,
                            .derived = "that a quarter of the cycle is significant is our own "
                                       "threshold, and every latency in the published range "
                                       "passes it."},
      "%.0f%%", 100 * most / 700);
}

/* Whose delays these are, and how far the program's own are from them. */
static void note_timing(bf_reproduce_run *run, const hardware *h) {
  double apart = 0;
  for (unsigned i = 0; i < UNITS; i++)
    apart = fmax(apart, fabs(h->cost[i].own_period_ns / h->cost[i].period_ns - 1));
  if (strcmp(h->cost[0].timing, BF_RTL_OWN_TIMING) == 0)
    bf_reproduce_note(run, "Delays are by bankfold's own static timing: OpenSTA is not here.");
  else
    bf_reproduce_note(run,
                      "Delays are by %s; bankfold's own static timing is at most %.1f%% away from "
                      "them between registers.",
                      h->cost[0].timing, 100 * apart);
}

/* What of the power is due to the configuration's registers, which could be left without a clock.
 */
static void note_gating(bf_reproduce_run *run, const hardware *h) {
  double watt[BF_RTL_FAMILIES];
  for (unsigned i = 0; i < BF_RTL_FAMILIES; i++) {
    bf_rtl_cost cost = h->cost[BF_RTL_FAMILIES + i];
    cost.clock_pj -= cost.configuration_pj;
    watt[i] = bf_rtl_gpu_power(&cost).value;
  }
  bf_reproduce_note(run,
                    "One-hot units whose configuration has a gated clock take %.2f, %.2f, %.2f and "
                    "%.2f W, which is not the published order.",
                    watt[0], watt[1], watt[2], watt[3]);
}

/* Gates and gate delays of a hash text on 32 banks. */
static int count_gates(const char *text, unsigned address_bits, bf_hash_cost *cost,
                       bf_diagnostic *diagnostic) {
  bf_hash *hash;
  bf_geometry geometry = {.bank_bits = 5, .address_bits = address_bits, .word_bytes = 4};
  BF_TRY(bf_hash_parse(text, &geometry, &hash, diagnostic));
  *cost = bf_hash_get_cost(hash);
  bf_hash_free(hash);
  return BF_OK;
}

/* Banks fold 5 bits with 5; locks 5 with 4, as an address of 9 bits does. */
static int claim_gates(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bf_hash_cost bank, lock, sum, lock_sum;
  BF_TRY(count_gates("fixed", 14, &bank, diagnostic));
  BF_TRY(count_gates("fixed", 9, &lock, diagnostic));
  BF_TRY(count_gates("add", 14, &sum, diagnostic));
  BF_TRY(count_gates("add", 9, &lock_sum, diagnostic));
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "banks and locks, ADD",
                            .document = "braak13",
                            .rule = BF_CLAIM_AT_MOST,
                            .published = 50,
                            .ours = sum.gates + lock_sum.gates,
                            .unit = " gates",
                            .must_hold = true,
                            .derived = "ten full adders of five gates each are the published "
                                       "bound; ours leave out gates that have no use."},
      "%u + %u gates", sum.gates, lock_sum.gates);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "banks and locks, XOR: gates",
                                 .document = "braak13",
                                 .published = 10,
                                 .derived = "a XOR for each bit that is folded: the count "
                                            "follows from the hash.",
                                 .ours = bank.gates + lock.gates,
                                 .why = "an address of 16 bits has only four bits for the five of "
                                        "the lock: one passes without a gate."});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "banks and locks, XOR: gate delays",
                                                    .document = "braak13",
                                                    .derived = "a XOR of two bits is one gate.",
                                                    .published = 1,
                                                    .ours = bank.gate_depth,
                                                    .must_hold = true});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "banks, ADD with rippling carry: gate delays",
                                 .document = "braak13",
                                 .published = 9,
                                 .derived = "the depth follows from five full adders in a row; "
                                            "ours does not count the carry out of the last.",
                                 .ours = sum.gate_depth,
                                 .why = "two gates for each of the last four bits count the carry "
                                        "out of the last one, which has no use; its sum takes one "
                                        "gate behind the carry."});
  return BF_OK;
}

/* ---- All of it ---- */

static int reproduce_hardware(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  hardware h = {0};
  BF_TRY(claim_gates(run, diagnostic));
  bool has_yosys = bf_rtl_has_tool(&bf_rtl_yosys), has_cells = access(BF_RTL_OSU018, R_OK) == 0;
  if (!has_yosys || !has_cells) {
    bf_reproduce_missing(run,
                         "area, power, order and latency of the hash units, and their target "
                         "clocks. That needs %s%s%s.",
                         has_yosys ? "" : "yosys, which is not here",
                         has_yosys || has_cells ? "" : ", and ",
                         has_cells ? "" : "the cells of Debian's package qflow-tech-osu018");
    return BF_OK;
  }
  BF_TRY(bf_liberty_read(BF_RTL_OSU018, &h.library, diagnostic));
  int error = measure(run, &h, diagnostic);
  if (!error)
    error = draw(run, &h, false, diagnostic);
  if (!error)
    error = draw(run, &h, true, diagnostic);
  if (!error) {
    tabulate(run, &h);
    claim_numbers(run, &h);
    claim_orders(run, &h);
    claim_latency(run, &h);
    error = bf_reproduce_clocks(run, h.library, diagnostic);
  }
  if (!error) {
    note_timing(run, &h);
    note_gating(run, &h);
  }
  bf_liberty_free(h.library);
  return error;
}

const bf_reproduction bf_reproduce_hardware[] = {
    {"hardware", "hash units in hardware", "braak16, section 4.5; braak13, sect. IV",
     "Units of the four families, with registers for configuration, word and bank, are synthesized "
     "with the OSU018 cells of 0.18 um and scaled to 40 nm; a GPU has 512 of them. For eight "
     "target "
     "clocks each is synthesized in several ways, and the smallest that is fast enough counts.",
     reproduce_hardware},
    {NULL, NULL, NULL, NULL, NULL},
};
