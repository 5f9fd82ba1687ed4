/* braak16, Figs. 10 and 11: what hashes in software remove and gain. */
#include "reproduce/software/study.h"

#include <math.h>
#include <string.h>

static const char *const gpu_titles[GPUS] = {"GTX 580", "K20"};

/* ---- Results ---- */

/* A way that a benchmark does not have counts as the plain one. */
static unsigned real_way(const software_subject *subject, unsigned way) {
  return subject->has[way] ? way : PLAIN;
}

static double speedup_of(const software_subject *subject, unsigned gpu, unsigned way) {
  double sum = 0;
  way = real_way(subject, way);
  for (unsigned i = 0; i < subject->inputs; i++)
    sum += subject->cycles[gpu][PLAIN][i] / subject->cycles[gpu][way][i];
  return sum / subject->inputs;
}

static double measured_speedup(const software_subject *subject, unsigned way) {
  return subject->ns[way] > 0 ? subject->ns[PLAIN] / subject->ns[way] : 1;
}

typedef enum software_kind { LOADS, STORES, BOTH } software_kind;

static double conflicts_of(const software_subject *subject, unsigned gpu, unsigned way,
                           software_kind kind) {
  double sum = 0;
  way = real_way(subject, way);
  for (unsigned i = 0; i < subject->inputs; i++) {
    const software_conflicts *own = &subject->conflicts[gpu][way][i];
    sum += (kind != STORES ? own->load : 0) + (kind != LOADS ? own->store : 0);
  }
  return sum;
}

/* Percent of the conflicts that are gone, or -1 where there were none. */
static double removed_of(const software_subject *subject, unsigned gpu, unsigned way,
                         software_kind kind) {
  double before = conflicts_of(subject, gpu, PLAIN, kind);
  return before > 0 ? 100 * (1 - conflicts_of(subject, gpu, way, kind) / before) : -1;
}

/* Over benchmarks that have such conflicts, as the figure's mean is. */
static double mean_removed(const software_study *study, unsigned gpu, software_kind kind) {
  double sum = 0;
  unsigned count_ = 0;
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (conflicts_of(subject, gpu, PLAIN, kind) > 0) {
      sum += removed_of(subject, gpu, HASHED, kind);
      count_++;
    }
  }
  return count_ ? sum / count_ : 0;
}

static double mean_speedup(const software_study *study, unsigned gpu, unsigned way) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += log(speedup_of(&study->subject[i], gpu, way));
  return exp(sum / study->subjects);
}

/* ---- Tables and claims ---- */

static void put_share(bf_reproduce_table *table, double percent) {
  if (percent == -1)
    bf_reproduce_cell(table, "-");
  else
    bf_reproduce_cell(table, "%.1f", percent);
}

static void tabulate(bf_reproduce_run *run, const software_study *study) {
  bf_reproduce_table *removed = bf_reproduce_table_add(
      run, "removed", "Conflicts removed, percent (Fig. 10)",
      "published name|benchmark|hash|GTX 580 padded|GTX 580 hash|K20 loads padded|K20 loads "
      "hash|K20 stores padded|K20 stores hash");
  bf_reproduce_table *speed = bf_reproduce_table_add(
      run, "speedup",
      "Speed-up (Fig. 11); free: the same hash in hardware, without a cost; H200: measured",
      "published name|benchmark|GTX 580 padded|GTX 580 hash|GTX 580 free|K20 padded|K20 hash|K20 "
      "free|H200 padded|H200 hash");
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    bf_reproduce_cell(removed, "%s", subject->benchmark->published_name);
    bf_reproduce_cell(removed, "%s", subject->benchmark->name);
    bf_reproduce_cell(removed, "%s", subject->rewritten ? subject->hash : "none");
    bf_reproduce_cell(speed, "%s", subject->benchmark->published_name);
    bf_reproduce_cell(speed, "%s", subject->benchmark->name);
    for (unsigned g = 0; g < GPUS; g++)
      for (unsigned kind = g ? LOADS : BOTH; kind <= (g ? STORES : BOTH); kind++) {
        put_share(removed, subject->padded ? removed_of(subject, g, PADDED, kind) : -1);
        put_share(removed, removed_of(subject, g, HASHED, kind));
      }
    for (unsigned g = 0; g < GPUS; g++) {
      bf_reproduce_cell(speed, subject->padded ? "%.3f" : "-", speedup_of(subject, g, PADDED));
      bf_reproduce_cell(speed, "%.3f", speedup_of(subject, g, HASHED));
      bf_reproduce_cell(speed, "%.3f", speedup_of(subject, g, FREE));
    }
    bf_reproduce_cell(speed, subject->padded ? "%.3f" : "-", measured_speedup(subject, PADDED));
    bf_reproduce_cell(speed, "%.3f", measured_speedup(subject, HASHED));
  }
}

static const software_subject *find_subject(const software_study *study, const char *name) {
  for (unsigned i = 0; i < study->subjects; i++)
    if (strcmp(study->subject[i].benchmark->published_name, name) == 0)
      return &study->subject[i];
  return NULL;
}

/* Conflicts are exact counts; those that stay are of histograms, or of hashes that do not keep
 * rows. */
static void claim_removed(bf_reproduce_run *run, const software_study *study) {
  static const char why[] = "a hash that is computed in software must keep every word in its row "
                            "of 128 bytes here, and two published ones (k1=1) do not; on 8-byte "
                            "banks bit 0 of the address chooses nothing, so that a hash made for "
                            "4-byte banks has one bit less.";
  bf_reproduce_claim claim = {.name = "GTX 580: conflicts removed by the hash",
                              .rule = BF_CLAIM_VALUE,
                              .published = 96,
                              .ours = mean_removed(study, 0, BOTH),
                              .unit = "%",
                              .why = why};
  bf_reproduce_claim_add(run, &claim);
  claim.name = "K20: conflicts of loads removed";
  claim.published = 99;
  claim.ours = mean_removed(study, 1, LOADS);
  bf_reproduce_claim_add(run, &claim);
  claim.name = "K20: conflicts of stores removed";
  claim.published = 90;
  claim.ours = mean_removed(study, 1, STORES);
  bf_reproduce_claim_add(run, &claim);
}

static double measured_mean(const software_study *study, unsigned way) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    sum += log(measured_speedup(&study->subject[i], way));
  return exp(sum / study->subjects);
}

static void claim_speed(bf_reproduce_run *run, const software_study *study) {
  static const double published[GPUS] = {1.23, 1.33};
  char name[80], why[400];
  for (unsigned g = 0; g < GPUS; g++) {
    double all = mean_speedup(study, g, HASHED), without = mean_speedup(study, g, FREE);
    snprintf(name, sizeof name, "%s: speed-up of the hash", gpu_titles[g]);
    snprintf(
        why, sizeof why,
        "instructions, because every access computes its own hash here, after the compiler: "
        "the same hash for free, in hardware, gives %.3f, so that they cost %.0f%%. What is to "
        "be gained at most, without any instruction, is %s the published gain.",
        without, 100 * (1 - all / without), without < published[g] ? "below" : "above");
    bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                      .rule = BF_CLAIM_GAIN,
                                                      .published = published[g],
                                                      .ours = all,
                                                      .why = why});
  }
  double hash = measured_mean(study, HASHED), padded = measured_mean(study, PADDED);
  bf_reproduce_note(run,
                    "On an H200 the same hashes, measured, give %.3f, padding by hand %.3f "
                    "(bench/results, 2026-11-15).",
                    hash, padded);
}

/* The mean speed-up of the benchmarks that have a padded version. */
static double mean_of_padded(const software_study *study, unsigned gpu, unsigned way) {
  double sum = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    if (study->subject[i].padded) {
      sum += log(speedup_of(&study->subject[i], gpu, way));
      count++;
    }
  return exp(sum / count);
}

/* Speed-ups are comparable where what is gained is within 15%. */
static void claim_comparable(bf_reproduce_run *run, const software_study *study) {
  double gain[GPUS][WAYS];
  bool is_so = true;
  char why[300];
  for (unsigned g = 0; g < GPUS; g++) {
    for (unsigned way = 0; way < WAYS; way++)
      gain[g][way] = mean_of_padded(study, g, way) - 1;
    is_so &= fabs(gain[g][HASHED] - gain[g][PADDED]) <= 0.15 * fabs(gain[g][PADDED]);
  }
  snprintf(why, sizeof why,
           "it is what instructions of the hash cost: for free, in hardware, the same hashes gain "
           "%.1f%% and %.1f%%.",
           100 * gain[0][FREE], 100 * gain[1][FREE]);
  bf_reproduce_fact(
      run, "speed-up of the hash against that of padding", "comparable (gains within 15%)", is_so,
      false, why, "GTX 580: %.1f%%, padded %.1f%%; K20: %.1f%%, padded %.1f%%",
      100 * gain[0][HASHED], 100 * gain[0][PADDED], 100 * gain[1][HASHED], 100 * gain[1][PADDED]);
}

/* Names of benchmarks in which padding leaves fewer conflicts, with the shares that are left; those
 * of the K20 in brackets, with its own hash behind them. */
static void name_worse(const software_study *study, bf_text *text) {
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    for (unsigned g = 0; g < GPUS && subject->padded; g++) {
      double before = conflicts_of(subject, g, PLAIN, BOTH);
      double hashed = conflicts_of(subject, g, HASHED, BOTH);
      if (hashed <= conflicts_of(subject, g, PADDED, BOTH) || before == 0)
        continue;
      bf_text_addf(text, "%s%s on the %s %.1f%% (padded %.1f%%", text->size ? ", " : "",
                   subject->benchmark->published_name, gpu_titles[g], 100 * hashed / before,
                   100 * conflicts_of(subject, g, PADDED, BOTH) / before);
      if (g && !subject->benchmark->is_data_dependent)
        bf_text_addf(text, ", with the best hash for 8-byte banks %.1f%%",
                     100 * subject->wide_conflicts / before);
      bf_text_puts(text, ")");
    }
  }
}

/* Names of benchmarks that need more memory hashed than padded, with the bytes. */
static void name_larger(const software_study *study, bf_text *text) {
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (subject->padded && subject->bytes[HASHED] > subject->bytes[PADDED])
      bf_text_addf(text, "%s%s has %.0f bytes, padded %.0f", text->size ? ", " : "",
                   subject->benchmark->published_name, subject->bytes[HASHED],
                   subject->bytes[PADDED]);
  }
}

/* That the hash removes at least as many as padding, on each GPU. */
static void claim_padding(bf_reproduce_run *run, const software_study *study) {
  unsigned padded = 0, no_worse = 0, smaller = 0;
  bf_text worse = {0}, larger = {0};
  for (unsigned i = 0; i < study->subjects; i++) {
    const software_subject *subject = &study->subject[i];
    if (!subject->padded)
      continue;
    bool is_no_worse = true;
    for (unsigned g = 0; g < GPUS; g++)
      is_no_worse &=
          conflicts_of(subject, g, HASHED, BOTH) <= conflicts_of(subject, g, PADDED, BOTH);
    padded++;
    no_worse += is_no_worse;
    smaller += subject->bytes[HASHED] <= subject->bytes[PADDED];
  }
  name_worse(study, &worse);
  bf_text_puts(&worse, worse.size ? " of the conflicts are left." : "");
  name_larger(study, &larger);
  bf_text_puts(&larger, ": arrays are rounded up to rows of 128 bytes for the hash.");
  bf_reproduce_claim claim = {.name =
                                  "the hash removes at least as many conflicts as padding by hand",
                              .rule = BF_CLAIM_ALL,
                              .published = padded,
                              .ours = no_worse,
                              .published_text = "always",
                              .why = worse.failed ? "padding leaves fewer." : worse.data};
  bf_reproduce_claim_addf(run, &claim, "%u of %u benchmarks", no_worse, padded);
  claim.name = "the hash needs no more memory than padding";
  claim.ours = smaller;
  claim.published_text = "it saves memory";
  claim.why = larger.failed ? "arrays are rounded up." : larger.data;
  bf_reproduce_claim_addf(run, &claim, "%u of %u benchmarks", smaller, padded);
  bf_text_free(&worse);
  bf_text_free(&larger);
  claim_comparable(run, study);
}

static void claim_losses(bf_reproduce_run *run, const software_study *study) {
  static const struct {
    const char *name;
    unsigned gpu;
  } losses[] = {{"conv-1", 0}, {"lavaMD", 1}};
  char name[80], why[200];
  for (unsigned i = 0; i < 2; i++) {
    const software_subject *subject = find_subject(study, losses[i].name);
    double speed = speedup_of(subject, losses[i].gpu, HASHED);
    snprintf(name, sizeof name, "%s: %s", gpu_titles[losses[i].gpu], losses[i].name);
    double without = speedup_of(subject, losses[i].gpu, FREE);
    snprintf(
        why, sizeof why,
        "the same hash for free, in hardware, makes it %.3f times as fast; its instructions cost "
        "%.0f%%.",
        without, 100 * (1 - speed / without));
    bf_reproduce_fact(run, name, "a small loss", speed < 1 && speed > 0.85, false, why,
                      "%.3f times as fast", speed);
  }
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "padding in the original code",
                                 .rule = BF_CLAIM_NONE,
                                 .published_text = "12 of 21 benchmarks",
                                 .ours_text = "ours are padded where it helps",
                                 .why = "which of the published kernels pad is drawn in a figure "
                                        "that is not in the text; ours were padded here."});
}

static int draw(bf_reproduce_run *run, const software_study *study, bf_diagnostic *diagnostic) {
  const char *category[SUBJECTS];
  double y[4][SUBJECTS];
  for (unsigned i = 0; i < study->subjects; i++) {
    category[i] = study->subject[i].benchmark->published_name;
    for (unsigned k = 0; k < 4; k++)
      y[k][i] = speedup_of(&study->subject[i], k / 2, k % 2 ? HASHED : PADDED);
  }
  bf_chart_series series[4] = {{.name = "GTX 580, padded", .y = y[0], .count = study->subjects},
                               {.name = "GTX 580, hash", .y = y[1], .count = study->subjects},
                               {.name = "K20, padded", .y = y[2], .count = study->subjects},
                               {.name = "K20, hash", .y = y[3], .count = study->subjects}};
  return bf_reproduce_chart(run, "speedup",
                            &(bf_chart){.kind = BF_CHART_BARS,
                                        .title = "Speed-up in software (Fig. 11)",
                                        .y_label = "times as fast",
                                        .category = category,
                                        .categories = study->subjects,
                                        .series = series,
                                        .series_count = 4,
                                        .reference = 1},
                            diagnostic);
}

int software_report(bf_reproduce_run *run, const software_study *study, bf_diagnostic *diagnostic) {
  tabulate(run, study);
  if (!bf_reproduce_is_quick(run)) {
    claim_removed(run, study);
    claim_speed(run, study);
    claim_padding(run, study);
    claim_losses(run, study);
  }
  return draw(run, study, diagnostic);
}
