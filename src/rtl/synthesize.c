/* Verilog to a netlist of standard cells, by yosys. */
#include "rtl/cost.h"

#include <string.h>

/* The passes before abc. `opt` merges registers that hold the same; where the word has several,
 * they must stay until they are cells, which are not merged. */
static const char *preparation(const bf_rtl_flow *flow) {
  return flow->effort.word_copies > 1 ? "flatten; opt_expr; opt_clean; techmap; opt_expr; opt_clean"
                                      : "flatten; opt; techmap; opt";
}

static int synthesize_in(const bf_rtl_job *job, const char *verilog, const char *top,
                         const bf_rtl_flow *flow, bf_rtl_netlist *netlist,
                         bf_diagnostic *diagnostic) {
  char script[1024];
  BF_TRY(bf_rtl_job_write(job, "unit.v", verilog, diagnostic));
  BF_TRY(bf_rtl_job_link(job, "cells.lib", flow->liberty_path, diagnostic));
  if (flow->effort.script)
    BF_TRY(bf_rtl_job_write(job, "mapping", flow->effort.script, diagnostic));
  /* Names of yosys' own become short ones that are the same in both netlists. */
  snprintf(script, sizeof script,
           "read_verilog unit.v; hierarchy -check -top %s; proc; %s; "
           "dfflibmap -liberty cells.lib; opt; abc -liberty cells.lib%s; opt_clean -purge; "
           "rename -enumerate; write_blif -gates -cname netlist.blif; "
           "write_verilog -noattr netlist.v",
           top, preparation(flow), flow->effort.script ? " -script mapping" : "");
  const char *const arguments[] = {"yosys", "-q", "-p", script, NULL};
  BF_TRY(bf_rtl_job_run(job, arguments, diagnostic));
  BF_TRY(bf_rtl_job_read(job, "netlist.blif", &netlist->blif, diagnostic));
  return bf_rtl_job_read(job, "netlist.v", &netlist->verilog, diagnostic);
}

int bf_rtl_synthesize(const char *verilog, const char *top, const bf_rtl_flow *flow,
                      bf_rtl_netlist *netlist, bf_diagnostic *diagnostic) {
  bf_rtl_job job;
  BF_TRY(bf_rtl_job_open(&bf_rtl_yosys, &job, diagnostic));
  int error = synthesize_in(&job, verilog, top, flow, netlist, diagnostic);
  bf_rtl_job_close(&job);
  return error;
}

void bf_rtl_netlist_free(bf_rtl_netlist *netlist) {
  bf_text_free(&netlist->blif);
  bf_text_free(&netlist->verilog);
}
