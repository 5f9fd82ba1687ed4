/* Verilog to a netlist of standard cells, by yosys. */
#include "rtl/cost.h"

#include <string.h>

static int synthesize_in(const bf_rtl_job *job, const char *verilog, const char *top,
                         const char *liberty_path, bf_rtl_netlist *netlist,
                         bf_diagnostic *diagnostic) {
  char script[1024];
  BF_TRY(bf_rtl_job_write(job, "unit.v", verilog, diagnostic));
  BF_TRY(bf_rtl_job_link(job, "cells.lib", liberty_path, diagnostic));
  /* Names of yosys' own become short ones that are the same in both netlists. */
  snprintf(script, sizeof script,
           "read_verilog unit.v; hierarchy -check -top %s; proc; flatten; opt; techmap; opt; "
           "dfflibmap -liberty cells.lib; opt; abc -liberty cells.lib; opt_clean -purge; "
           "rename -enumerate; write_blif -gates -cname netlist.blif; "
           "write_verilog -noattr netlist.v",
           top);
  const char *const arguments[] = {"yosys", "-q", "-p", script, NULL};
  BF_TRY(bf_rtl_job_run(job, arguments, diagnostic));
  BF_TRY(bf_rtl_job_read(job, "netlist.blif", &netlist->blif, diagnostic));
  return bf_rtl_job_read(job, "netlist.v", &netlist->verilog, diagnostic);
}

int bf_rtl_synthesize(const char *verilog, const char *top, const char *liberty_path,
                      bf_rtl_netlist *netlist, bf_diagnostic *diagnostic) {
  bf_rtl_job job;
  BF_TRY(bf_rtl_job_open(&bf_rtl_yosys, &job, diagnostic));
  int error = synthesize_in(&job, verilog, top, liberty_path, netlist, diagnostic);
  bf_rtl_job_close(&job);
  return error;
}

void bf_rtl_netlist_free(bf_rtl_netlist *netlist) {
  bf_text_free(&netlist->blif);
  bf_text_free(&netlist->verilog);
}
