/* The timing of a netlist by OpenSTA: a script for it, and what its report says. Wires have no
 * delay there either. */
#include "rtl/cost.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Delays are the period without the slack that is left. */
enum { PERIOD_NS = 10 };
/* OpenSTA ends with status 0 even where the script fails; it has come to its end where this is the
 * last thing printed. */
static const char last_words[] = "bankfold: end of report";

/* ---- The script ---- */

/* Ways from inputs that begin with a name to outputs. */
static void write_inputs(const bf_netlist_start *start, bf_text *text) {
  bf_text_addf(text,
               "create_clock -name clock -period %d\n"
               "set_input_delay 0 -clock clock [get_ports {%s*}]\n"
               "set_output_delay 0 -clock clock [all_outputs]\n"
               "report_checks -digits 6 -from [get_ports {%s*}]\n",
               PERIOD_NS, start->inputs, start->inputs);
}

/* Whether Tcl takes the name of a cell for what it is. */
static bool is_plain(const char *name) {
  const char *at = name;
  while (at && (isalnum((unsigned char)*at) || *at == '_'))
    at++;
  return at && at != name && !*at;
}

/* Ways from registers that change to registers. */
static int write_registers(const bf_netlist *netlist, const bf_netlist_start *start, bf_text *text,
                           bf_diagnostic *diagnostic) {
  bf_text_addf(text,
               "create_clock -name clock -period %d [get_ports clk]\n"
               "set_clock_transition %g [get_clocks clock]\n"
               "report_checks -digits 6 -from [get_cells {",
               PERIOD_NS, start->slew_ns);
  for (unsigned i = 0; i < netlist->flip_flops; i++) {
    const bf_netlist_cell *cell = &netlist->cell[i];
    if (start->changed && bf_netlist_is_still(cell, start->changed))
      continue;
    if (!is_plain(cell->name))
      return bf_fail(diagnostic, BF_UNSUPPORTED,
                     "the netlist has a register '%.40s', a name that OpenSTA cannot be told",
                     cell->name ? cell->name : "");
    bf_text_addf(text, " %s", cell->name);
  }
  bf_text_puts(text, "}]\n");
  return BF_OK;
}

int bf_rtl_opensta_script(const bf_netlist *netlist, const char *top, const bf_netlist_start *start,
                          bf_text *text, bf_diagnostic *diagnostic) {
  bf_text_addf(text,
               "read_liberty cells.lib\n"
               "read_verilog netlist.v\n"
               "link_design %s\n"
               "set_cmd_units -time ns -capacitance pF\n"
               "set_input_transition %g [all_inputs]\n"
               "set_load %.9g [all_outputs]\n",
               top, start->slew_ns, start->load_pf);
  if (start->registers)
    BF_TRY(write_registers(netlist, start, text, diagnostic));
  else
    write_inputs(start, text);
  bf_text_addf(text, "puts {%s}\n", last_words);
  return text->failed ? bf_no_memory(diagnostic) : BF_OK;
}

/* ---- Its report ---- */

/* "OpenSTA 2.0.17", from the line it begins with. */
static bool read_version(const char *log, char name[BF_RTL_TIMING_BYTES]) {
  static const char program[] = "OpenSTA ";
  const char *at = strstr(log, program);
  size_t length = at ? strcspn(at + strlen(program), " \n") : 0;
  if (!length || !isdigit((unsigned char)at[strlen(program)]) ||
      strlen(program) + length >= BF_RTL_TIMING_BYTES)
    return false;
  snprintf(name, BF_RTL_TIMING_BYTES, "%s%.*s", program, (int)length, at + strlen(program));
  return true;
}

/* The least slack of the ways in the report. */
static bool read_slack(const char *log, double *slack_ns) {
  *slack_ns = INFINITY;
  for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    char *end;
    double value = strtod(line, &end);
    if (end == line || strncmp(end += strspn(end, " "), "slack (", 7) != 0)
      continue;
    if (!isfinite(value))
      return false;
    *slack_ns = fmin(*slack_ns, value);
  }
  return isfinite(*slack_ns);
}

bool bf_rtl_opensta_report(const char *log, bf_rtl_delay *delay) {
  static const double least_ns = -1e-5; /* nothing, in the digits of a slack */
  double slack_ns;
  if (!read_version(log, delay->timing) || !strstr(log, last_words))
    return false;
  delay->found = !strstr(log, "No paths found");
  delay->ns = 0;
  if (!delay->found)
    return true;
  if (!read_slack(log, &slack_ns) || PERIOD_NS - slack_ns < least_ns)
    return false;
  delay->ns = fmax(0, PERIOD_NS - slack_ns);
  return true;
}

/* ---- Running it ---- */

static int time_in(const bf_rtl_job *job, const char *verilog, const char *script,
                   const char *liberty_path, bf_rtl_delay *delay, bf_diagnostic *diagnostic) {
  static const char *const arguments[] = {"sta", "-no_init", "-exit", "script.tcl", NULL};
  bf_text log = {0};
  BF_TRY(bf_rtl_job_write(job, "netlist.v", verilog, diagnostic));
  BF_TRY(bf_rtl_job_write(job, "script.tcl", script, diagnostic));
  BF_TRY(bf_rtl_job_link(job, "cells.lib", liberty_path, diagnostic));
  BF_TRY(bf_rtl_job_run(job, arguments, diagnostic));
  int error = bf_rtl_job_read(job, BF_RTL_LOG, &log, diagnostic);
  if (!error && !bf_rtl_opensta_report(log.data ? log.data : "", delay))
    error = bf_rtl_job_fail(job, "its report cannot be read", diagnostic);
  bf_text_free(&log);
  return error;
}

int bf_rtl_opensta_time(const bf_rtl_netlist *text, const bf_netlist *netlist, const char *top,
                        const char *liberty_path, const bf_netlist_start *start,
                        bf_rtl_delay *delay, bf_diagnostic *diagnostic) {
  bf_text script = {0};
  bf_rtl_job job;
  int error = bf_rtl_opensta_script(netlist, top, start, &script, diagnostic);
  if (!error)
    error = bf_rtl_job_open(&bf_rtl_opensta, &job, diagnostic);
  if (!error) {
    error = time_in(&job, text->verilog.data ? text->verilog.data : "", script.data, liberty_path,
                    delay, diagnostic);
    bf_rtl_job_close(&job);
  }
  bf_text_free(&script);
  return error;
}
