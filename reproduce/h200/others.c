#include "reproduce/h200/others.h"

/* Mean errors of cycles as abstracts state them. Each is of other programs on another GPU: no
 * ranking. */
static const struct {
  const char *simulator, *source, *gpu, *programs, *error;
} others[] = {
    {"Accel-Sim", "Khairy et al., ISCA 2020, abstract", "NVIDIA Quadro V100",
     "80 workloads, 1945 kernel instances", "79 percentage points below its predecessor"},
    {"modern GPU cores on Accel-Sim", "Huerta et al., arXiv:2503.20481, 2025, abstract",
     "NVIDIA RTX A6000", "of their choice", "13.98%, 18.24% below simulators before"},
    {"MGPUSim", "Sun et al., ISCA 2019, abstract", "AMD GPU with GCN3", "of their choice", "5.5%"},
    {"PPT-GPU", "Arafa et al., IEEE Computer Architecture Letters 18(1), 2019, abstract",
     "not named there", "of Rodinia and Parboil", "within 10%"},
};

void h200_others_report(bf_reproduce_run *run, const char *what, unsigned launches, double error) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_others",
      "Mean errors of cycles that other simulators state, each of programs and GPUs of its own",
      "simulator|source|GPU|programs|mean error");
  bf_reproduce_cell(table, "bankfold sim");
  bf_reproduce_cell(table, "this table");
  bf_reproduce_cell(table, "NVIDIA H200");
  bf_reproduce_cell(table, "%u launches: %s", launches, what);
  bf_reproduce_cell(table, "%.1f%%", 100 * error);
  for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
    bf_reproduce_cell(table, "%s", others[i].simulator);
    bf_reproduce_cell(table, "%s", others[i].source);
    bf_reproduce_cell(table, "%s", others[i].gpu);
    bf_reproduce_cell(table, "%s", others[i].programs);
    bf_reproduce_cell(table, "%s", others[i].error);
  }
}
