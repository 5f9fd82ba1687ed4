/* The model of Hopper against an H200 on launches of kernels written for this comparison.
 * Parameters of machines/h200.gpu may be fitted to those of the training sets, "train", "more" and
 * "wide"; the test set, which shares no kernel with them, says how good the model is on what it has
 * not seen. Each launch is simulated twice: from its PTX alone, and with the machine code that
 * ptxas makes of it (launches_SET.code). */
#include "kernels/devices.h"
#include "kernels/launches.h"
#include "kernels/sim_device.h"
#include "reproduce/h200/energy.h"
#include "reproduce/h200/others.h"
#include "reproduce/reproduce.h"
#include "sim/machine.h"
#include "sim/worth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES = 1024, TEST = 3, SETS = 4, QUICK_STEP = 12 };

/* What the simulator knows of a kernel. */
typedef enum knows { FROM_PTX, FROM_CODE, WAYS } knows;

static const char *const set_names[SETS] = {"train", "more", "wide", "test"};
static const char *const way_names[WAYS] = {"PTX", "machine code"};

/* A launch: what was measured and what the simulator finds. */
typedef struct compared {
  bf_listed_launch launch;
  double measured, instructions; /* cycles; warp instructions of the machine's code */
  double simulated[WAYS], issued[WAYS];
  double seconds; /* of the host */
  h200_active active;
} compared;

static double ratio_of(const compared *row, knows way) {
  return row->simulated[way] / row->measured;
}
static double error_of(const compared *row, knows way) { return fabs(ratio_of(row, way) - 1); }

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
  bf_machine_code code[SETS];
} work;

static unsigned set_of(const compared *row) {
  unsigned set = 0;
  while (set < TEST && strcmp(row->launch.set, set_names[set]) != 0)
    set++;
  return set;
}

/* Runs the launch on a device of its own. */
static int run_on(const bf_device *device, const bf_listed_launch *launch,
                  bf_diagnostic *diagnostic) {
  uint64_t in, out;
  BF_TRY(device->alloc(device->context, (uint64_t)launch->out_words * 4, &out, diagnostic));
  BF_TRY(device->alloc(device->context, (uint64_t)launch->in_words * 4, &in, diagnostic));
  return bf_launch_run(device, launch, out, in, diagnostic);
}

/* Simulates a launch by what is known of its kernel. */
static int simulate_by(const work *own, compared *row, knows way, bf_diagnostic *diagnostic) {
  char ptx[16];
  snprintf(ptx, sizeof ptx, "h200_%s", row->launch.set);
  bf_sim_ledger ledger = {.settings = {.gpu = own->gpu, .workers = 1}};
  if (way == FROM_CODE)
    ledger.settings.machine = &own->code[set_of(row)];
  bf_device device;
  BF_TRY(bf_sim_device_create(ptx, bf_reproduce_ptx(ptx), &ledger, &device, diagnostic));
  int error = run_on(&device, &row->launch, diagnostic);
  if (!error) {
    const bf_sim_result *result = &ledger.launch[0].result;
    row->simulated[way] = (double)result->cycles;
    row->issued[way] = (double)result->issued;
    row->seconds += result->host_seconds;
    if (way == FROM_PTX)
      row->active = (h200_active){&row->launch, *result};
  }
  bf_emu_device_free(&device);
  bf_sim_ledger_free(&ledger);
  return error;
}

static int simulate_one(void *context, unsigned index, bf_diagnostic *diagnostic) {
  work *own = context;
  BF_TRY(simulate_by(own, &own->row[index], FROM_PTX, diagnostic));
  return simulate_by(own, &own->row[index], FROM_CODE, diagnostic);
}

/* ---- Errors ---- */

/* How far the rows of a set and class are off; NULL: of all. */
typedef struct errors {
  unsigned launches;
  double mean, worst_ratio; /* worst_ratio: farthest from 1, as a factor of at least 1 */
  double within_15, within_20, within_30; /* shares */
  double middle;                          /* geometric mean of the ratios */
} errors;

static errors errors_of(const compared *rows, unsigned count, knows way, const char *set,
                        const char *kind) {
  errors found = {0};
  for (unsigned i = 0; i < count; i++) {
    const bf_listed_launch *launch = &rows[i].launch;
    if ((set && strcmp(launch->set, set) != 0) || (kind && strcmp(launch->kind, kind) != 0))
      continue;
    double error = error_of(&rows[i], way), ratio = ratio_of(&rows[i], way);
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

static void add_errors(bf_reproduce_table *table, const char *way, const char *set,
                       const char *kind, const errors *found) {
  bf_reproduce_cell(table, "%s", way);
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

static void report_set(bf_reproduce_table *table, const compared *rows, unsigned count, knows way,
                       const char *set) {
  for (unsigned i = 0; i < count; i++)
    if (strcmp(rows[i].launch.set, set) == 0 && is_first(rows, i)) {
      errors found = errors_of(rows, count, way, set, rows[i].launch.kind);
      add_errors(table, way_names[way], set, rows[i].launch.kind, &found);
    }
  errors all = errors_of(rows, count, way, set, NULL);
  add_errors(table, way_names[way], set, "all", &all);
}

static void report_errors(bf_reproduce_run *run, const compared *rows, unsigned count) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_errors", "Cycles simulated against those measured, by class",
      "by|set|class|launches|mean error|within 15%|within 20%|within 30%|worst factor|middle "
      "ratio");
  for (unsigned way = 0; way < WAYS; way++)
    for (unsigned s = 0; s < SETS; s++)
      report_set(table, rows, count, (knows)way, set_names[s]);
}

static void report_launches(bf_reproduce_run *run, const compared *rows, unsigned count) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "h200_launches", "All launches",
      "set|class|pair|kernel|blocks|threads|n|p|q|measured|simulated|ratio|by machine code|ratio|"
      "instructions|issued|by machine code|seconds");
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
    for (unsigned way = 0; way < WAYS; way++) {
      bf_reproduce_cell(table, "%.0f", rows[i].simulated[way]);
      bf_reproduce_cell(table, "%.3f", ratio_of(&rows[i], (knows)way));
    }
    bf_reproduce_cell(table, "%.0f", rows[i].instructions);
    for (unsigned way = 0; way < WAYS; way++)
      bf_reproduce_cell(table, "%.0f", rows[i].issued[way]);
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

/* The gains of all pairs; returns how many. */
static unsigned find_gains(const compared *rows, unsigned count, gain *gains) {
  unsigned found = 0;
  for (unsigned i = 0; i + 1 < count; i++) {
    const compared *with = &rows[i], *without = &rows[i + 1];
    if (*with->launch.pair && strcmp(with->launch.pair, without->launch.pair) == 0)
      gains[found++] =
          (gain){.set = set_of(with),
                 .pair = with->launch.pair,
                 .kernel = with->launch.kernel,
                 .measured = with->measured / without->measured,
                 .simulated = with->simulated[FROM_PTX] / without->simulated[FROM_PTX]};
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

/* What is asked of the test set, of one way to simulate it. */
static void add_claims_of(bf_reproduce_run *run, const errors *test, const char *names[3]) {
  static const char why[] = "h200_launches.csv has every launch; docs/simulator_model.md says what "
                            "is not modelled.";
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = names[0],
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_MOST,
                                                    .published = 10,
                                                    .ours = 100 * test->mean,
                                                    .unit = "%",
                                                    .why = why});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = names[1],
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_LEAST,
                                                    .published = 90,
                                                    .ours = 100 * test->within_20,
                                                    .unit = "%",
                                                    .why = why});
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = names[2],
                                                    .document = "H200",
                                                    .rule = BF_CLAIM_AT_MOST,
                                                    .published = 2,
                                                    .ours = test->worst_ratio,
                                                    .unit = " times",
                                                    .why = why});
}

static void note_sets(bf_reproduce_run *run, const compared *rows, unsigned count, knows way) {
  bf_text text = {0};
  for (unsigned s = 0; s < SETS; s++) {
    errors found = errors_of(rows, count, way, set_names[s], NULL);
    bf_text_addf(&text, "%s%s %.1f%% over %u, %.0f%% within 20%%", s ? "; " : "", set_names[s],
                 100 * found.mean, found.launches, 100 * found.within_20);
  }
  if (!text.failed)
    bf_reproduce_note(run, "Mean error of cycles by %s: %s.", way_names[way], text.data);
  bf_text_free(&text);
}

static void add_claims(bf_reproduce_run *run, const compared *rows, unsigned count) {
  static const char *by_ptx[] = {"mean error, test set", "within 20%, test set",
                                 "farthest off, test set"};
  static const char *by_code[] = {"mean error, test set, by machine code",
                                  "within 20%, test set, by machine code",
                                  "farthest off, test set, by machine code"};
  errors test = errors_of(rows, count, FROM_PTX, "test", NULL);
  errors made = errors_of(rows, count, FROM_CODE, "test", NULL);
  add_claims_of(run, &test, by_ptx);
  add_claims_of(run, &made, by_code);
  h200_others_report(run, "the test set", test.launches, test.mean);
  note_sets(run, rows, count, FROM_PTX);
  note_sets(run, rows, count, FROM_CODE);
}

/* Reads the machine code of all sets. */
static int read_code(work *own, bf_diagnostic *diagnostic) {
  for (unsigned s = 0; s < SETS; s++) {
    char name[32];
    snprintf(name, sizeof name, "launches_%s", set_names[s]);
    BF_TRY(bf_machine_code_parse(name, bf_reproduce_data(name), &own->code[s], diagnostic));
  }
  return BF_OK;
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
  int error = read_code(&own, diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, count, "launches", simulate_one, &own, diagnostic);
  if (!error) {
    report_errors(run, own.row, count);
    report_launches(run, own.row, count);
    report_gains(run, gpu, own.row, count);
    error = report_energy(run, gpu, own.row, count, diagnostic);
    if (!bf_reproduce_is_quick(run))
      add_claims(run, own.row, count);
  }
  for (unsigned i = 0; i < SETS; i++)
    bf_machine_code_free(&own.code[i]);
  bf_sim_gpu_free(gpu);
  return error;
}

const bf_reproduction bf_reproduce_h200_launches[] = {
    {"h200-launches", "launches on an H200 that the model has and has not seen", "measured",
     "Every launch of tests/data/h200/launches.csv: cycles beside those that Nsight Compute "
     "measured (launches_h200.csv), by class, for the training sets, to which parameters may be "
     "fitted, and for the test set; from PTX alone, and with the machine code that ptxas makes.",
     reproduce_launches},
    {NULL, NULL, NULL, NULL, NULL},
};
