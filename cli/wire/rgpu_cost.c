/* bankfold rgpu cost: area of R-GPU, and power of a graph that runs on it. */
#include "cli/wire/rgpu_case.h"

static void write_area(bf_text *text, const bf_rgpu_area *area) {
  bf_text_addf(text,
               "area     %.2f mm2, %.1f%% of the chip: wires %.2f, muxes %.2f, data FIFOs "
               "%.2f, address FIFOs %.2f\n",
               area->total, 100 * area->share, area->wires, area->muxes, area->data_fifos,
               area->address_fifos);
}

static void write_power(bf_text *text, const bf_rgpu_power *power) {
  bf_text_addf(text, "power    %.2f W added: wires %.2f, data FIFOs %.2f, address FIFOs %.2f\n",
               power->added, power->wires, power->data_fifos, power->address_fifos);
  bf_text_addf(
      text,
      "         %.0f W saved in the register file: %+.1f%% of %.0f W (with fetch and decode "
      "off, %.1f W more)\n",
      power->saved, 100 * power->change, power->before, power->saved_decode);
}

static void write_constants(bf_text *text) {
  bf_text_addf(text, "\n%-44s %9s %-9s %-10s %s\n", "constant", "value", "unit", "basis", "source");
  for (const bf_rgpu_constant *at = bf_rgpu_constants; at->name; at++)
    bf_text_addf(text, "%-44s %9.6g %-9s %-10s %s\n", at->name, at->value, at->unit, at->basis,
                 at->source);
}

static void write_json_constants(bf_json *json) {
  bf_json_begin(json, "constants", '[', false);
  for (const bf_rgpu_constant *at = bf_rgpu_constants; at->name; at++) {
    bf_json_begin(json, NULL, '{', true);
    bf_json_string(json, "name", at->name);
    bf_json_real(json, "value", at->value);
    bf_json_string(json, "unit", at->unit);
    bf_json_string(json, "basis", at->basis);
    bf_json_string(json, "source", at->source);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}

static void write_json(bf_json *json, const cli_rgpu_case *own, const bf_rgpu_area *area,
                       double speedup) {
  const bf_rgpu_power *power = &own->power;
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "graph", own->graph->name);
  bf_json_real(json, "area_mm2", area->total);
  bf_json_real(json, "area_share", area->share);
  bf_json_real(json, "wires_mm2", area->wires);
  bf_json_real(json, "muxes_mm2", area->muxes);
  bf_json_real(json, "data_fifos_mm2", area->data_fifos);
  bf_json_real(json, "address_fifos_mm2", area->address_fifos);
  bf_json_real(json, "added_watts", power->added);
  bf_json_real(json, "wires_watts", power->wires);
  bf_json_real(json, "data_fifos_watts", power->data_fifos);
  bf_json_real(json, "address_fifos_watts", power->address_fifos);
  bf_json_real(json, "saved_watts", power->saved);
  bf_json_real(json, "saved_decode_watts", power->saved_decode);
  bf_json_real(json, "power_change", power->change);
  bf_json_real(json, "speedup", speedup);
  bf_json_real(json, "energy_ratio", speedup > 0 ? bf_rgpu_energy_ratio(power, speedup) : 0);
  write_json_constants(json);
  bf_json_end(json, '}');
}

static int put_out(const cli_rgpu_settings *s, const cli_rgpu_case *own, double speedup) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_rgpu_area area =
      bf_rgpu_area_of(own->mapping->ring.lanes, own->fabric.data_fifo, own->fabric.address_fifo);
  if (s->common.json) {
    write_json(&json, own, &area, speedup);
    return cli_print(&text);
  }
  bf_text_addf(&text, "%s: %u lanes, data FIFOs of %u, address FIFOs of %u entries\n",
               own->graph->name, own->mapping->ring.lanes, own->fabric.data_fifo,
               own->fabric.address_fifo);
  write_area(&text, &area);
  write_power(&text, &own->power);
  if (speedup > 0)
    bf_text_addf(&text, "energy   %+.0f%%, at %.2f times the speed of the kernel\n",
                 100 * (bf_rgpu_energy_ratio(&own->power, speedup) - 1), speedup);
  write_constants(&text);
  return cli_print(&text);
}

int cli_rgpu_cost(const cli_rgpu_settings *s, const char *name) {
  bf_diagnostic diagnostic = {.caret = -1};
  cli_rgpu_case own;
  cli_watch_interrupt();
  int error = cli_rgpu_case_load(s, name, &own, &diagnostic);
  if (!error)
    error = cli_rgpu_case_map(s, &own, &diagnostic);
  if (!error)
    error = cli_rgpu_case_run(s, true, &own, &diagnostic);
  if (!error)
    error = cli_rgpu_case_kernel(s, RGPU_OPTIMISED, &own, &diagnostic);
  int status = !error ? put_out(s, &own, cli_rgpu_case_speedup(&own, RGPU_OPTIMISED))
                      : cli_rgpu_case_complain(&own, &diagnostic);
  cli_rgpu_case_free(&own);
  return status;
}
