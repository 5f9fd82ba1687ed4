/* braak15, Figs. 7.10 and 7.12: area and power. */
#include "reproduce/rgpu/results.h"

static void add_area(bf_reproduce_run *run) {
  static const struct {
    const char *what;
    unsigned lanes, data, address;
  } rows[] = {{"4 lanes", 4, 8, 256},           {"published", 6, 8, 256},
              {"8 lanes", 8, 8, 256},           {"10 lanes", 10, 8, 256},
              {"data FIFOs 4", 6, 4, 256},      {"data FIFOs 16", 6, 16, 256},
              {"data FIFOs 32", 6, 32, 256},    {"address FIFOs 64", 6, 8, 64},
              {"address FIFOs 128", 6, 8, 128}, {"address FIFOs 512", 6, 8, 512}};
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "fig7_10", "Figs. 7.10 and 7.12c: area, mm2",
                             "what|wires|muxes|data FIFOs|address FIFOs|all|share of the chip");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_rgpu_area area = bf_rgpu_area_of(rows[i].lanes, rows[i].data, rows[i].address);
    bf_reproduce_cell(table, "%s", rows[i].what);
    bf_reproduce_cell(table, "%.2f", area.wires);
    bf_reproduce_cell(table, "%.2f", area.muxes);
    bf_reproduce_cell(table, "%.2f", area.data_fifos);
    bf_reproduce_cell(table, "%.2f", area.address_fifos);
    bf_reproduce_cell(table, "%.2f", area.total);
    bf_reproduce_cell(table, "%.1f%%", 100 * area.share);
  }
}

static void claim_area(bf_reproduce_run *run) {
  bf_rgpu_area usual = bf_rgpu_area_of(6, 8, 256);
  const bf_reproduce_claim claims[] = {
      {.name = "area of R-GPU",
       .published = 23,
       .ours = usual.total,
       .unit = " mm2",
       .derived = "the multiplexers are what the published parts leave of the published 23 mm2."},
      {.name = "area, of the chip",
       .published = 4,
       .ours = 100 * usual.share,
       .unit = "%",
       .derived = "it is 23 of the published 529 mm2."},
      {.name = "area with 10 lanes, of the chip",
       .published = 6,
       .ours = 100 * bf_rgpu_area_of(10, 8, 256).share,
       .unit = "%",
       .fitted = "wires and multiplexers are taken to grow with the lanes, which was chosen "
                 "knowing that 10 lanes take 6%."}};
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    bf_reproduce_claim claim = claims[i];
    claim.must_hold = true;
    bf_reproduce_claim_add(run, &claim);
  }
}

static void add_power(bf_reproduce_run *run, const rgpu_results *results) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "fig7_12", "Fig. 7.12: power added by R-GPU, W, and energy compared with the GPU",
      "benchmark|wires|data FIFOs|address FIFOs|all|change of power|energy|"
      "energy, over the plain kernel");
  for (unsigned i = 0; i < RGPU_BENCHMARKS; i++) {
    const bf_rgpu_power *power = &results->at[i].power;
    bf_reproduce_cell(table, "%s", rgpu_benchmarks[i]->title);
    bf_reproduce_cell(table, "%.2f", power->wires);
    bf_reproduce_cell(table, "%.2f", power->data_fifos);
    bf_reproduce_cell(table, "%.2f", power->address_fifos);
    bf_reproduce_cell(table, "%.2f", power->added);
    bf_reproduce_cell(table, "%+.1f%%", 100 * power->change);
    for (unsigned j = 0; j < RGPU_KERNELS; j++)
      bf_reproduce_cell(
          table, "%+.0f%%",
          100 * (bf_rgpu_energy_ratio(power, rgpu_speedup(&results->at[i], (rgpu_kernel)j)) - 1));
  }
}

static void claim_power(bf_reproduce_run *run, const rgpu_results *results) {
  const bf_rgpu_power *mriq = &rgpu_find_case(results, "mriq")->power;
  const bf_rgpu_power *stencil = &rgpu_find_case(results, "stencil")->power;
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "power added, MRIQ",
                                                    .published = 3.2,
                                                    .ours = mriq->added,
                                                    .fitted = "energies of FIFOs are fitted to it.",
                                                    .unit = " W",
                                                    .must_hold = true});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "power added, STENCIL",
                                                    .published = 1.4,
                                                    .ours = stencil->added,
                                                    .unit = " W",
                                                    .must_hold = true});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "change of power, MRIQ",
                                                    .derived = "it follows from 3.2 W and the "
                                                               "published 13 and 153 W.",
                                                    .published = -6,
                                                    .ours = 100 * mriq->change,
                                                    .unit = "%",
                                                    .must_hold = true});
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "change of energy, MRIQ, with the published speed-up of 2.1",
                            .published = -55,
                            .ours = 100 * (bf_rgpu_energy_ratio(mriq, 2.1) - 1),
                            .unit = "%",
                            .derived = "power and speed-up are the published ones.",
                            .must_hold = true});
  for (unsigned i = 0; i < RGPU_KERNELS; i++) {
    char name[100], why[120];
    double mean = rgpu_geometric_mean(results, (rgpu_kernel)i);
    snprintf(name, sizeof name, "change of energy, MRIQ, with the mean speed-up here%s",
             rgpu_behind[i]);
    snprintf(why, sizeof why,
             "the mean speed-up is %.2f here; with the power here it would have to be %.2f.", mean,
             bf_rgpu_energy_ratio(mriq, 1) / 0.45);
    bf_reproduce_claim_add(
        run, &(bf_reproduce_claim){.name = name,
                                   .published = -55,
                                   .ours = 100 * (bf_rgpu_energy_ratio(mriq, mean) - 1),
                                   .unit = "%",
                                   .fitted = rgpu_over_fitted[i],
                                   .why = why});
  }
}

void rgpu_report_costs(bf_reproduce_run *run, const rgpu_results *results) {
  add_area(run);
  claim_area(run);
  add_power(run, results);
  if (!results->is_quick)
    claim_power(run, results);
}
