/* What a change is worth, from cycles simulated before and after it, and how sure that is. Errors
 * of simulated gains grow with the gain, so the interval is a share of its logarithm and of a tenth
 * besides. The share is the one that holds 80 of 100 measured gains: worth_share of the pairs of
 * the training sets (bankfold reproduce h200-launches), rewrite_share of rewritten kernels of the
 * corpus (bench/sim_pairs.py). */
#include "sim/worth.h"

#include <math.h>
#include <string.h>

static const double besides = 0.1;

double bf_sim_worth_score(double measured, double simulated) {
  return fabs(log(measured / simulated)) / (besides + fabs(log(simulated)));
}

bf_sim_worth bf_sim_worth_find(double share, double before, double after) {
  bf_sim_worth found = {.gain = after > 0 ? before / after : 1};
  double half = share * (besides + fabs(log(found.gain)));
  found.low = found.gain * exp(-half);
  found.high = found.gain * exp(half);
  return found;
}

/* A line of the table. */
static void write_line(const bf_sim_gpu *gpu, uint64_t before, uint64_t after, const char *name,
                       bf_text *text) {
  bf_sim_worth worth = bf_sim_worth_find(gpu->worth_share, (double)before, (double)after);
  bf_text_addf(text, "%12llu %12llu %8.3f", (unsigned long long)before, (unsigned long long)after,
               worth.gain);
  if (gpu->worth_share > 0)
    bf_text_addf(text, "  %.3f to %.3f", worth.low, worth.high);
  bf_text_addf(text, "  %s\n", name);
}

/* Joules of all launches; *conflicts: of them those of conflicts. */
static double joules_of(const bf_sim_ledger *ledger, double *conflicts) {
  double sum = 0;
  *conflicts = 0;
  for (size_t i = 0; i < ledger->launches; i++) {
    bf_sim_energy energy;
    if (!bf_sim_energy_find(ledger->settings.gpu, &ledger->launch[i].result, &energy))
      return 0;
    sum += energy.total;
    *conflicts += energy.conflicts;
  }
  return sum;
}

/* What the change saves, where the GPU's file says what things take. */
static void write_energy(const bf_sim_ledger *before, const bf_sim_ledger *after, bf_text *text) {
  double conflicts, left, own = joules_of(before, &conflicts), other = joules_of(after, &left);
  if (own > 0)
    bf_text_addf(text, "energy %.3g mJ, of it conflicts %.3g mJ; with it %.3g mJ: %.1f%% less\n",
                 1e3 * own, 1e3 * conflicts, 1e3 * other, 100 * (1 - other / own));
}

void bf_sim_worth_write(const bf_sim_ledger *before, const bf_sim_ledger *after, const char *change,
                        bf_text *text) {
  const bf_sim_gpu *gpu = before->settings.gpu;
  uint64_t sum_before = 0, sum_after = 0;
  size_t launches = before->launches < after->launches ? before->launches : after->launches;
  bf_text_addf(text, "\nworth of hash %s%s\n%12s %12s %8s%s  %s\n", change,
               gpu->worth_share > 0 ? ", with what 80 of 100 measured gains lie in" : "", "cycles",
               "with it", "gain", gpu->worth_share > 0 ? "  80% interval  " : "", "kernel");
  for (size_t i = 0; i < launches; i++) {
    uint64_t own = before->launch[i].result.cycles, other = after->launch[i].result.cycles;
    bool is_repeated = i > 0 && strcmp(before->launch[i].kernel, before->launch[i - 1].kernel) == 0;
    if (!is_repeated)
      write_line(gpu, own, other, before->launch[i].kernel, text);
    sum_before += own;
    sum_after += other;
  }
  if (launches > 1)
    write_line(gpu, sum_before, sum_after, "all launches", text);
  write_energy(before, after, text);
}
