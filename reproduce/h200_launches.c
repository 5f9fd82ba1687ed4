/* The model of Hopper against an H200 on launches of kernels written for this comparison.
 * Parameters of machines/h200.gpu may be fitted to those of the training sets, "train" and "more";
 * the test set, which shares no kernel with them, says how good the model is on what it has not
 * seen. */
#include "kernels/devices.h"
#include "kernels/launches.h"
#include "kernels/sim_device.h"
#include "reproduce/h200/energy.h"
#include "reproduce/h200/others.h"
#include "reproduce/reproduce.h"
#include "sim/worth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES = 1024, TEST = 2, SETS = 3, QUICK_STEP = 12 };

static const char *const set_names[SETS] = {"train", "more", "test"};

/* A launch: what was measured and what the simulator finds. */
typedef struct compared {
  bf_listed_launch launch;
  double measured, instructions; /* cycles; warp instructions of the machine's code */
  double simulated, issued;
  double seconds; /* of the host */
  h200_active active;
} compared;

static double ratio_of(const compared *row) { return row->simulated / row->measured; }
static double error_of(const compared *row) { return fabs(ratio_of(row) - 1); }

/* ---- Reading ---- */

/* Reads the line of launches_h200.csv that belongs to the launch: its kernel and numbers must be
 * the same. */
static bool read_measured(const char **text, compared *row) {
  const bf_listed_launch *launch = &row->launch;
  const char *end = strchr(*text, '\n');
  char kernel[32];
  unsigned n, p, q;
  if (!end || sscanf(*text, "%31[^,],%u,%u,%u,%lf,%*f,%*f,%*f,%*f,%*f,%lf", kernel, &n, &p, &q,
                     &row->measured, &row->instructions) != 6)
    return false;
  *text = end + 1;
  return strcmp(kernel, launch->kernel) == 0 && n == launch->n && p == launch->p && q == launch->q;
}

/* All launches with their measurements; in quick runs every QUICK_STEP-th pair of lines. */
static int read_all(bool is_quick, compared *rows, unsigned *count, bf_diagnostic *diagnostic) {
  const char *launches = strchr(bf_reproduce_data("launches"), '\n') + 1;
  const char *measured = strchr(bf_reproduce_data("launches_h200"), '\n') + 1;
  *count = 0;
  for (unsigned line = 0; *count < MOST_LAUNCHES && bf_launch_read(&launches, &rows[*count].launch);
       line++) {
    if (!read_measured(&measured, &rows[*count]))
      return bf_fail(diagnostic, BF_BAD_INPUT,
                     "launches_h200.csv, line %u: not what launches.csv has there", line + 2);
    *count += !is_quick || line / 2 % QUICK_STEP == 0;
  }
  return BF_OK;
}

/* ---- Simulating ---- */

typedef struct work {
  const bf_sim_gpu *gpu;
  compared *row;
} work;

/* Runs the launch on a device of its own. */
static int run_on(const bf_device *device, const bf_listed_launch *launch,
                  bf_diagnostic *diagnostic) {
  uint64_t in, out;
  BF_TRY(device->alloc(device->context, (uint64_t)launch->out_words * 4, &out, diagnostic));
  BF_TRY(device->alloc(device->context, (uint64_t)launch->in_words * 4, &in, diagnostic));
  return bf_launch_run(device, launch, out, in, diagnostic);
}

static int simulate_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  work *own = context;
  compared *row = &own->row[index];
  char ptx[16];
  snprintf(ptx, sizeof ptx, "h200_%s", row->launch.set);
  bf_sim_ledger ledger = {.settings = {.gpu = own->gpu, .workers = 1}};
  bf_device device;
  BF_TRY(bf_sim_device_create(ptx, bf_reproduce_ptx(ptx), &ledger, &device, diagnostic));
  int error = run_on(&device, &row->launch, diagnostic);
  if (!error) {
    const bf_sim_result *result = &ledger.launch[0].result;
    row->simulated = (double)result->cycles;
    row->issued = (double)result->issued;
    row->seconds = result->host_seconds;
    row->active = (h200_active){&row->launch, *result};
  }
  bf_emu_device_free(&device);
  bf_sim_ledger_free(&ledger);
  return error;
}

/* ---- Errors ---- */

/* How far the rows of a set and class are off; NULL: of all. */
typedef struct errors {
  unsigned launches;
  double mean, worst_ratio; /* worst_ratio: farthest from 1, as a factor of at least 1 */
  double within_15, within_20, within_30; /* shares */
  double middle;                          /* geometric mean of the ratios */
} errors;

static errors errors_of(const compared *rows, unsigned count, const char *set, const char *kind) {
  errors found = {0};
  for (unsigned i = 0; i < count; i++) {
    const bf_listed_launch *launch = &rows[i].launch;
    if ((set && strcmp(launch->set, set) != 0) || (kind && strcmp(launch->kind, kind) != 0))
      continue;
    double error = error_of(&rows[i]), ratio = ratio_of(&rows[i]);
    found.launches++;
    found.mean += error;
    found.middle += log(ratio);
    found.worst_ratio = fmax(found.worst_ratio, fmax(ratio, 1 / ratio));
    found.within_15 += error <= 0.15;
    found.within_20 += error <= 0.20;
    found.within_30 += error <= 0.30;
  }
  double launches = found.launches ? found.launches : 1;
  found.mean /= launches;
  found.middle = exp(found.middle / launches);
  found.within_15 /= launches;
  found.within_20 /= launches;
  found.within_30 /= launches;
  return found;
}

static void add_errors(bf_reproduce_table *table, const char *set, const char *kind,
                       const errors *found) {
  bf_reproduce_cell(table, "%s", set);
  bf_reproduce_cell(table, "%s", kind);
  bf_reproduce_cell(table, "%u", found->launches);
  bf_reproduce_cell(table, "%.1f%%", 100 * found->mean);
  bf_reproduce_cell(table, "%.0f%%", 100 * found->within_15);
  bf_reproduce_cell(table, "%.0f%%", 100 * found->within_20);
  bf_reproduce_cell(table, "%.0f%%", 100 * found->within_30);
  bf_reproduce_cell(table, "%.2f", found->worst_ratio);
  bf_reproduce_cell(table, "%.2f", found->middle);
}

/* Whether row `index` is the first of its class in its set. */
static bool is_first(const compared *rows, unsigned index) {
  for (unsigned i = 0; i < index; i++)
    if (strcmp(rows[i].launch.set, rows[index].launch.set) == 0 &&
        strcmp(rows[i].launch.kind, rows[index].launch.kind) == 0)
      return false;
  return true;
}

static void report_errors(bf_reproduce_run *run, const compared *rows, unsigned count) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_errors", "Cycles simulated against those measured, by class",
      "set|class|launches|mean error|within 15%|within 20%|within 30%|worst factor|middle ratio");
  for (unsigned s = 0; s < SETS; s++) {
    for (unsigned i = 0; i < count; i++)
      if (strcmp(rows[i].launch.set, set_names[s]) == 0 && is_first(rows, i)) {
        errors found = errors_of(rows, count, set_names[s], rows[i].launch.kind);
        add_errors(table, set_names[s], rows[i].launch.kind, &found);
      }
    errors all = errors_of(rows, count, set_names[s], NULL);
    add_errors(table, set_names[s], "all", &all);
  }
}

static void report_launches(bf_reproduce_run *run, const compared *rows, unsigned count) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_launches", "All launches",
      "set|class|pair|kernel|blocks|threads|n|p|q|measured|simulated|ratio|instructions|issued|"
      "seconds");
  bf_reproduce_table_csv_only(table);
  for (unsigned i = 0; i < count; i++) {
    const bf_listed_launch *launch = &rows[i].launch;
    bf_reproduce_cell(table, "%s", launch->set);
    bf_reproduce_cell(table, "%s", launch->kind);
    bf_reproduce_cell(table, "%s", launch->pair);
    bf_reproduce_cell(table, "%s", launch->kernel);
    bf_reproduce_cell(table, "%u", launch->blocks);
    bf_reproduce_cell(table, "%u", launch->threads);
    bf_reproduce_cell(table, "%u", launch->n);
    bf_reproduce_cell(table, "%u", launch->p);
    bf_reproduce_cell(table, "%u", launch->q);
    bf_reproduce_cell(table, "%.0f", rows[i].measured);
    bf_reproduce_cell(table, "%.0f", rows[i].simulated);
    bf_reproduce_cell(table, "%.3f", ratio_of(&rows[i]));
    bf_reproduce_cell(table, "%.0f", rows[i].instructions);
    bf_reproduce_cell(table, "%.0f", rows[i].issued);
    bf_reproduce_cell(table, "%.3f", rows[i].seconds);
  }
}

/* ---- Worth ---- */

/* What removing conflicts brings: time with them over time without. */
typedef struct gain {
  unsigned set;
  const char *pair, *kernel;
  double measured, simulated;
} gain;

/* How far a gain is off, as worth_share counts. */
static double gain_score(const gain *own) {
  return bf_sim_worth_score(own->measured, own->simulated);
}

static unsigned set_of(const compared *row) {
  unsigned set = 0;
  while (set < TEST && strcmp(row->launch.set, set_names[set]) != 0)
    set++;
  return set;
}

/* The gains of all pairs; returns how many. */
static unsigned find_gains(const compared *rows, unsigned count, gain *gains) {
  unsigned found = 0;
  for (unsigned i = 0; i + 1 < count; i++) {
    const compared *with = &rows[i], *without = &rows[i + 1];
    if (*with->launch.pair && strcmp(with->launch.pair, without->launch.pair) == 0)
      gains[found++] = (gain){.set = set_of(with),
                              .pair = with->launch.pair,
                              .kernel = with->launch.kernel,
                              .measured = with->measured / without->measured,
                              .simulated = with->simulated / without->simulated};
  }
  return found;
}

/* A pair of the training sets: how far its gain is off, and what it weighs. */
typedef struct scored_pair {
  double score, weight;
} scored_pair;

static int by_score(const void *a, const void *b) {
  double x = ((const scored_pair *)a)->score, y = ((const scored_pair *)b)->score;
  return (x > y) - (x < y);
}

/* Pairs of the training sets with the kernel of one. */
static unsigned pairs_like(const gain *gains, unsigned count, const gain *own) {
  unsigned pairs = 0;
  for (unsigned i = 0; i < count; i++)
    pairs += gains[i].set != TEST && strcmp(gains[i].kernel, own->kernel) == 0;
  return pairs;
}

/* The share that holds the gains of 80% of the training sets. A kernel counts once, however many
 * sizes of it there are: what is asked about is another kernel. *kernels: how many there are. */
static double share_of(const gain *gains, unsigned count, double *kernels) {
  scored_pair pair[MOST_LAUNCHES];
  unsigned pairs = 0, at = 0;
  double held = 0;
  *kernels = 0;
  for (unsigned i = 0; i < count; i++)
    if (gains[i].set != TEST) {
      pair[pairs] = (scored_pair){gain_score(&gains[i]), 1.0 / pairs_like(gains, count, &gains[i])};
      *kernels += pair[pairs++].weight;
    }
  qsort(pair, pairs, sizeof *pair, by_score);
  while (at < pairs && held + pair[at].weight < 0.8 * *kernels - 1e-9)
    held += pair[at++].weight;
  return at < pairs ? pair[at].score : 0;
}

/* Says how good the gains of a set are, and how many lie in the interval of a share. */
static void note_gains(bf_reproduce_run *run, const gain *gains, unsigned count, unsigned set,
                       double share) {
  double sum = 0;
  unsigned pairs = 0, large = 0, right = 0, inside = 0;
  for (unsigned i = 0; i < count; i++) {
    const gain *own = &gains[i];
    if (own->set != set)
      continue;
    pairs++;
    sum += fabs(own->simulated / own->measured - 1);
    inside += gain_score(own) <= share + 1e-9;
    large += fabs(own->measured - 1) > 0.03;
    right += fabs(own->measured - 1) > 0.03 && (own->measured > 1) == (own->simulated > 1);
  }
  if (pairs)
    bf_reproduce_note(
        run,
        "Speed-up of removing conflicts, %s set: mean error %.1f%% over %u pairs; of %u "
        "that change by more than 3%%, %u in the right direction; %u lie in the 80%% interval "
        "(worth_share %.3f).",
        set_names[set], 100 * sum / pairs, pairs, large, right, inside, share);
}

static void report_gains(bf_reproduce_run *run, const bf_sim_gpu *gpu, const compared *rows,
                         unsigned count) {
  gain gains[MOST_LAUNCHES];
  unsigned found = find_gains(rows, count, gains);
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "h200_gains", "Speed-up of removing bank conflicts",
                             "set|pair|measured|simulated|error");
  for (unsigned i = 0; i < found; i++) {
    bf_reproduce_cell(table, "%s", set_names[gains[i].set]);
    bf_reproduce_cell(table, "%s", gains[i].pair);
    bf_reproduce_cell(table, "%.3f", gains[i].measured);
    bf_reproduce_cell(table, "%.3f", gains[i].simulated);
    bf_reproduce_cell(table, "%+.1f%%", 100 * (gains[i].simulated / gains[i].measured - 1));
  }
  double kernels, share = share_of(gains, found, &kernels);
  bf_reproduce_note(run,
                    "The share that holds 80%% of the gains of the training sets, each of %.0f "
                    "kernels counted once, is %.3f.",
                    kernels, share);
  for (unsigned s = 0; s < SETS; s++)
    note_gains(run, gains, found, s, gpu->worth_share);
}

/* ---- The reproduction ---- */

static int report_energy(bf_reproduce_run *run, const bf_sim_gpu *gpu, const compared *rows,
                         unsigned count, bf_diagnostic *diagnostic) {
  h200_active *active = bf_arena_alloc(bf_reproduce_arena(run), (count + 1) * sizeof *active);
  if (!active)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < count; i++)
    active[i] = rows[i].active;
  h200_energy_report(run, gpu, active, count);
  return BF_OK;
}

static void add_claims(bf_reproduce_run *run, const compared *rows, unsigned count) {
  static const char why[] = "h200_launches.csv has every launch; docs/simulator_model.md says what "
                            "is not modelled.";
  errors test = errors_of(rows, count, "test", NULL);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "mean error, test set",
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_MOST,
                                                    .published = 10,
                                                    .ours = 100 * test.mean,
                                                    .unit = "%",
                                                    .why = why});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "within 20%, test set",
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_LEAST,
                                                    .published = 90,
                                                    .ours = 100 * test.within_20,
                                                    .unit = "%",
                                                    .why = why});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "farthest off, test set",
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_MOST,
                                                    .published = 2,
                                                    .ours = test.worst_ratio,
                                                    .unit = " times",
                                                    .why = why});
  h200_others_report(run, "the test set", test.launches, test.mean);
  errors train = errors_of(rows, count, "train", NULL);
  errors more = errors_of(rows, count, "more", NULL);
  bf_reproduce_note(
      run,
      "Mean error of cycles: training sets %.1f%% over %u launches and %.1f%% over %u, "
      "test set %.1f%% over %u. Within 20%%: %.0f%%, %.0f%% and %.0f%%.",
      100 * train.mean, train.launches, 100 * more.mean, more.launches, 100 * test.mean,
      test.launches, 100 * train.within_20, 100 * more.within_20, 100 * test.within_20);
}

static int reproduce_launches(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  work own = {.row = bf_arena_alloc(bf_reproduce_arena(run), MOST_LAUNCHES * sizeof *own.row)};
  if (!own.row)
    return bf_no_memory(diagnostic);
  unsigned count;
  BF_TRY(read_all(bf_reproduce_is_quick(run), own.row, &count, diagnostic));
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("h200", &gpu, diagnostic));
  own.gpu = gpu;
  int error = bf_reproduce_parallel(run, count, "launches", simulate_one, &own, diagnostic);
  if (!error) {
    report_errors(run, own.row, count);
    report_launches(run, own.row, count);
    report_gains(run, gpu, own.row, count);
    error = report_energy(run, gpu, own.row, count, diagnostic);
    if (!bf_reproduce_is_quick(run))
      add_claims(run, own.row, count);
  }
  bf_sim_gpu_free(gpu);
  return error;
}

const bf_reproduction bf_reproduce_h200_launches[] = {
    {"h200-launches", "launches on an H200 that the model has and has not seen", "measured",
     "Every launch of tests/data/h200/launches.csv: cycles beside those that Nsight Compute "
     "measured (launches_h200.csv), by class, for the training sets, to which parameters may be "
     "fitted, and for the test set.",
     reproduce_launches},
    {NULL, NULL, NULL, NULL, NULL},
};
