/* Lines of text about a launch or several: how good the conflict history was, what energy they
 * took, and what warps waited for where they did not end. */
#include "sim/ledger.h"

enum { LABEL = 14 };

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* How good the conflict history was, where it was asked. */
static void write_history(const bf_sim_result *result, bf_text *text) {
  double asked = (double)(result->history_right + result->history_wrong + result->history_unknown);
  if (asked > 0)
    bf_text_addf(text, "%-*s %12.0f lookups, %.1f%% right, %.1f%% wrong, %.1f%% unknown\n", LABEL,
                 "history", asked, percent((double)result->history_right, asked),
                 percent((double)result->history_wrong, asked),
                 percent((double)result->history_unknown, asked));
}

/* Energy, where the GPU's file says what things take. */
static void write_energy(const bf_sim_gpu *gpu, const bf_sim_result *result, bf_text *text) {
  bf_sim_energy energy;
  if (!bf_sim_energy_find(gpu, result, &energy))
    return;
  bf_text_addf(text,
               "%-*s %12.3g mJ: %.1f%% at rest, %.1f%% instructions, %.1f%% shared memory, %.1f%% "
               "caches, %.1f%% DRAM; conflicts %.1f%%\n",
               LABEL, "energy", 1e3 * energy.total, percent(energy.idle, energy.total),
               percent(energy.issue, energy.total), percent(energy.shared, energy.total),
               percent(energy.l1 + energy.l2, energy.total), percent(energy.dram, energy.total),
               percent(energy.conflicts, energy.total));
}

void bf_sim_remarks_write(const bf_sim_gpu *gpu, const bf_sim_result *result, bf_text *text) {
  write_history(result, text);
  write_energy(gpu, result, text);
}

void bf_sim_waits_write(const bf_sim_ledger *ledger, FILE *file) {
  if (!ledger->launches)
    return;
  const bf_sim_result *last = &ledger->launch[ledger->launches - 1].result;
  for (unsigned i = 0; i < last->waits; i++) {
    bf_text text = {0};
    bf_sim_wait_explain(&last->wait[i], &text);
    fprintf(file, "  %s\n", text.data ? text.data : "?");
    bf_text_free(&text);
  }
  if (last->warps_left > last->waits)
    fprintf(file, "  and %u more\n", last->warps_left - last->waits);
}
