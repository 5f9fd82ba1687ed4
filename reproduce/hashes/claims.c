/* braak16, sections 7.1 and 9: what is said of conflicts that are removed, and of speed-ups. */
#include "reproduce/hashes/study.h"

#include <math.h>
#include <string.h>

/* Benchmarks whose sizes were chosen so that the published parameters of hashes fit
 * (docs/corpus.md). */
static bool has_chosen_size(const hashes_subject *subject) {
  static const char *const names[] = {"transpose", "reduction", "dwtHaar1D", "matrix scan"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(subject->published_name, names[i]) == 0)
      return true;
  return false;
}

/* The study without those benchmarks. */
static hashes_study without_chosen(const hashes_study *study) {
  hashes_study others = *study;
  others.subjects = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    if (!has_chosen_size(&study->subject[i]))
      others.subject[others.subjects++] = study->subject[i];
  return others;
}

/* Adds a claim about a mean; it is fitted where it holds only with the benchmarks whose sizes were
 * chosen. */
static void claim_mean(bf_reproduce_run *run, const bf_reproduce_claim *claim, double others) {
  bf_reproduce_claim without = *claim, with = *claim;
  without.ours = others;
  if (bf_reproduce_judge(&without) == BF_DIFFERS)
    with.fitted = "sizes of transpose, reduction, dwtHaar1D and matrix scan were chosen so that "
                  "published parameters of hashes fit; without these four it differs.";
  bf_reproduce_claim_add(run, &with);
}

/* The subject that gains most from a method, but for those that are passed over. */
static const hashes_subject *most_gaining(const hashes_study *study, unsigned method,
                                          const hashes_subject *passed) {
  const hashes_subject *most = NULL;
  for (unsigned i = 0; i < study->subjects; i++) {
    const hashes_subject *at = &study->subject[i];
    if (at != passed && (!most || hashes_speedup_of(at, method) > hashes_speedup_of(most, method)))
      most = at;
  }
  return most;
}

/* The mean speed-up without two benchmarks. */
static double mean_without(const hashes_study *study, unsigned method, const hashes_subject *one,
                           const hashes_subject *other) {
  double sum = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    if (&study->subject[i] != one && &study->subject[i] != other)
      sum += log(hashes_speedup_of(&study->subject[i], method));
  return exp(sum / (study->subjects - 2));
}

/* Why the mean of a method is another than published: which benchmarks it rests on. */
static void explain_mean(const hashes_study *study, unsigned method, char *text, size_t bytes) {
  const hashes_subject *first = most_gaining(study, method, NULL);
  const hashes_subject *second = most_gaining(study, method, first);
  snprintf(text, bytes,
           "a mean over kernels of which the document gives no code rests on a few: %s (%.2f) and "
           "%s (%.2f) gain most, and without these two it is %.3f.",
           first->published_name, hashes_speedup_of(first, method), second->published_name,
           hashes_speedup_of(second, method), mean_without(study, method, first, second));
}

static const char *const why_literal =
    "bits that depend on those chosen before leave banks unused; passing over them, as the method "
    "without \"to the letter\" does, is not in the published steps.";

/* Means are those with the kernels that are as described; those of ours stand behind them. */
static void claim_means(bf_reproduce_run *run, const hashes_study *study) {
  hashes_study as_described = hashes_with_described(study), others = without_chosen(&as_described);
  char name[100], ours[80], why[400];
  for (unsigned m = FIXED; m < EXACT; m++) {
    snprintf(name, sizeof name, "conflicts removed: %s", hashes_methods[m].name);
    snprintf(ours, sizeof ours, "%.2f%%; %.2f%% with our three",
             hashes_mean_removed(&as_described, m), hashes_mean_removed(study, m));
    claim_mean(run,
               &(bf_reproduce_claim){.name = name,
                                     .published = hashes_methods[m].removed,
                                     .ours = hashes_mean_removed(&as_described, m),
                                     .ours_text = ours,
                                     .unit = "%",
                                     .must_hold = m != XOR_LITERAL,
                                     .why = m == XOR_LITERAL ? why_literal : NULL},
               hashes_mean_removed(&others, m));
  }
  for (unsigned m = FIXED; m < EXACT; m++) {
    snprintf(name, sizeof name, "speed-up: %s", hashes_methods[m].name);
    snprintf(ours, sizeof ours, "%.3f; %.3f with our three", hashes_mean_speedup(&as_described, m),
             hashes_mean_speedup(study, m));
    explain_mean(&as_described, m, why, sizeof why);
    claim_mean(run,
               &(bf_reproduce_claim){.name = name,
                                     .rule = BF_CLAIM_GAIN,
                                     .published = hashes_methods[m].speedup,
                                     .ours = hashes_mean_speedup(&as_described, m),
                                     .ours_text = ours,
                                     .why = why},
               hashes_mean_speedup(&others, m));
  }
}

/* That one mean is larger than another; must hold where no reason is given. */
static void claim_larger(bf_reproduce_run *run, const char *name, double published_larger,
                         double published_smaller, double larger, double smaller, const char *why) {
  const double published[] = {published_larger, published_smaller}, ours[] = {larger, smaller};
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .rule = BF_CLAIM_ORDER,
                                                    .published_list = published,
                                                    .ours_list = ours,
                                                    .count = 2,
                                                    .must_hold = !why,
                                                    .why = why});
}

/* All is all, but for the rounding of a quotient. */
static bool removes_all(const hashes_subject *subject, unsigned method) {
  return hashes_removed_of(subject, method) >= 100 * (1 - 1e-12);
}

/* The mean speed-up of the benchmarks of which the fixed hash leaves no conflicts. */
static double mean_of_cleared(const hashes_study *study, unsigned method) {
  hashes_study cleared = *study;
  cleared.subjects = 0;
  for (unsigned i = 0; i < study->subjects; i++)
    if (removes_all(&study->subject[i], FIXED))
      cleared.subject[cleared.subjects++] = study->subject[i];
  return hashes_mean_speedup(&cleared, method);
}

/* The order of the methods, with kernels that are as described. */
static void claim_order(bf_reproduce_run *run, const hashes_study *ours) {
  hashes_study as_described = hashes_with_described(ours);
  const hashes_study *study = &as_described;
  double permuted =
      fmax(hashes_mean_speedup(study, PERM_GIVARGIS), hashes_mean_speedup(study, PERM_IMBALANCE));
  double configured = hashes_mean_speedup(study, BIT_VECTOR),
         fixed = hashes_mean_speedup(study, FIXED);
  double givargis = hashes_mean_speedup(study, XOR_GIVARGIS),
         best = hashes_mean_speedup(study, XOR_IMBALANCE);
  char why[300];
  snprintf(why, sizeof why,
           "benchmarks that keep conflicts under the fixed hash decide it: over those of which it "
           "removes all, the means are %.3f and %.3f.",
           mean_of_cleared(study, FIXED), mean_of_cleared(study, XOR_GIVARGIS));
  claim_larger(run, "permutations gain less than fixed XOR", 1.21, 1.14, fixed, permuted, NULL);
  claim_larger(run, "bit-vector XOR gains more than fixed", 1.24, 1.21, configured, fixed, NULL);
  claim_larger(run, "fixed XOR gains more than bitwise XOR, Givargis", 1.21, 1.18, fixed, givargis,
               why);
  claim_larger(run, "minimum imbalance gains more than Givargis", 1.24, 1.18, best, givargis, NULL);
}

/* That a method leaves conflicts in no benchmark but histograms; where it does, what the exact
 * search leaves of them. */
static void claim_cleared(bf_reproduce_run *run, const hashes_study *study, unsigned method,
                          bool must_hold) {
  bf_text left = {0}, why = {0};
  char name[100];
  unsigned others = 0;
  bf_text_puts(&why, "conflicts that are left, with this method and the exact search:");
  for (unsigned i = 0; i < study->subjects; i++) {
    const hashes_subject *subject = &study->subject[i];
    bool is_histogram = strncmp(subject->published_name, "hist", 4) == 0;
    if (removes_all(subject, method))
      continue;
    bf_text_addf(&left, "%s%s", left.size ? ", " : "", subject->published_name);
    if (is_histogram)
      continue;
    bf_text_addf(&why, "%s %s %.1f%% and %.1f%%", others ? "," : "", subject->published_name,
                 100 - hashes_removed_of(subject, method), 100 - hashes_removed_of(subject, EXACT));
    others++;
  }
  bf_text_puts(&why, ".");
  snprintf(name, sizeof name, "conflicts left: %s", hashes_methods[method].name);
  bool failed = left.failed || why.failed;
  bf_reproduce_fact(run, name, "in histograms only", others == 0, must_hold,
                    failed ? "memory is exhausted." : why.data, "%s",
                    failed || !left.size ? "none" : left.data);
  bf_text_free(&left);
  bf_text_free(&why);
}

/* What sections 7.1 and 9 say of the benchmarks of which the fixed hash leaves no conflicts, and of
 * the others. */
static void claim_configured(bf_reproduce_run *run, const hashes_study *study) {
  static const unsigned configured[] = {BIT_VECTOR, XOR_GIVARGIS, XOR_IMBALANCE};
  unsigned fixed = 0, as_well = 0, cleared = 0, others = 0, improved = 0;
  bf_text left = {0}, slower = {0};
  for (unsigned i = 0; i < study->subjects; i++) {
    const hashes_subject *subject = &study->subject[i];
    bool all = true;
    cleared += removes_all(subject, XOR_IMBALANCE);
    for (unsigned m = 0; m < 3; m++)
      all &= removes_all(subject, configured[m]);
    if (removes_all(subject, FIXED)) {
      fixed++;
      as_well += all;
      if (!all)
        bf_text_addf(&left, "%s%s keeps %.1f%%, %.1f%% and %.1f%%", left.size ? ", " : "",
                     subject->published_name, 100 - hashes_removed_of(subject, BIT_VECTOR),
                     100 - hashes_removed_of(subject, XOR_GIVARGIS),
                     100 - hashes_removed_of(subject, XOR_IMBALANCE));
    } else if (strcmp(subject->published_name, "hist64") != 0) {
      bool is_faster =
          hashes_speedup_of(subject, XOR_IMBALANCE) > hashes_speedup_of(subject, FIXED);
      others++;
      improved += is_faster;
      if (!is_faster)
        bf_text_addf(&slower, "%s%s %.3f and %.3f", slower.size ? ", " : "",
                     subject->published_name, hashes_speedup_of(subject, XOR_IMBALANCE),
                     hashes_speedup_of(subject, FIXED));
    }
  }
  bf_text_puts(&left, " with bit-vector XOR and bitwise XOR by both heuristics.");
  bf_text_puts(&slower, " times as fast with bitwise XOR and with the fixed hash, which takes no "
                        "cycle more.");
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "benchmarks of which bitwise XOR removes all conflicts",
                                 .published = 20,
                                 .ours = cleared,
                                 .unit = " of 22",
                                 .why = "see the rows of conflicts that are left."});
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "where fixed XOR removes all, all configurable XOR hashes do",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all",
                            .published = fixed,
                            .ours = as_well,
                            .why = left.failed ? "" : left.data},
      "%u of %u", as_well, fixed);
  double mean_fixed = mean_of_cleared(study, FIXED), mean = mean_of_cleared(study, XOR_IMBALANCE);
  bf_reproduce_fact(run, "there configurable hashes gain as much as the fixed one", "similar",
                    fabs(mean - mean_fixed) <= 0.15 * (mean_fixed - 1), false,
                    "the means are further apart than 15% of the gain.", "%.3f and %.3f", mean,
                    mean_fixed);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "elsewhere they gain more, but for hist64",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "all",
                                                .published = others,
                                                .ours = improved,
                                                .why = slower.failed ? "" : slower.data},
                          "%u of %u", improved, others);
  bf_text_free(&left);
  bf_text_free(&slower);
}

/* How many benchmarks lose all conflicts, and which gains most. */
static void claim_benchmarks(bf_reproduce_run *run, const hashes_study *study) {
  unsigned all_removed = 0, nearly = 0;
  char why[300];
  for (unsigned i = 0; i < study->subjects; i++) {
    all_removed += removes_all(&study->subject[i], FIXED);
    nearly += hashes_removed_of(&study->subject[i], FIXED) >= 98;
  }
  snprintf(why, sizeof why, "of %u benchmarks 2%% of the conflicts or less are left; all is all.",
           nearly);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "benchmarks of which fixed XOR removes all conflicts",
                                 .published = 14,
                                 .ours = all_removed,
                                 .unit = " of 22",
                                 .why = why});
  const hashes_subject *most = most_gaining(study, XOR_IMBALANCE, NULL);
  hashes_study as_described = hashes_with_described(study);
  snprintf(why, sizeof why,
           "it gains %.2f; with conv-2, hist256 and MRI-grid-1 as described, %s gains most.",
           hashes_speedup_of(most, XOR_IMBALANCE),
           most_gaining(&as_described, XOR_IMBALANCE, NULL)->published_name);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "gains most from bitwise XOR",
                                                    .rule = BF_CLAIM_SAME,
                                                    .published_text = "hist256",
                                                    .ours_text = most->published_name,
                                                    .why = why});
}

void hashes_claim(bf_reproduce_run *run, const hashes_study *study) {
  claim_cleared(run, study, XOR_IMBALANCE, false);
  claim_cleared(run, study, BIT_VECTOR, false);
  if (bf_reproduce_is_quick(run))
    return;
  claim_means(run, study);
  claim_order(run, study);
  claim_benchmarks(run, study);
  claim_configured(run, study);
}
