/* braak16, sections 2 and 7.1: what is said of single benchmarks. */
#include "reproduce/hashes/study.h"

/* What section 2 tells of two benchmarks: how much of them accesses shared memory, and how many
 * wavefronts an access takes. */
static void claim_character(bf_reproduce_run *run, const hashes_study *study, const char *published,
                            double intensity, double degree) {
  const hashes_subject *subject = hashes_find_subject(study, published);
  if (!subject)
    return;
  hashes_study as_described = hashes_with_described(study);
  const hashes_time *plain = &subject->at[NONE][0];
  const hashes_time *other = &hashes_find_subject(&as_described, published)->at[NONE][0];
  char name[100], why[200];
  snprintf(why, sizeof why,
           "the code is not given, and ours is another kernel; the one that was written after the "
           "text has %.1f%% and %.1f.",
           100 * other->accesses / other->instructions, 1 + other->conflicts / other->accesses);
  snprintf(name, sizeof name, "%s: instructions that access shared memory", published);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = name,
                                               .published = intensity,
                                               .ours = 100 * plain->accesses / plain->instructions,
                                               .unit = "%",
                                               .why = why});
  snprintf(name, sizeof name, "%s: average conflict degree", published);
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = name,
                                                    .published = degree,
                                                    .ours = 1 + plain->conflicts / plain->accesses,
                                                    .why = why});
}

/* Two of the document's numbers concern hist256 and lavaMD; what would explain ours is simulated:
 * hist256 without any conflict, because bins of a lane are in a bank of its own, and lavaMD with a
 * hash that changes nothing but takes its cycle. */
static int claim_explained(bf_reproduce_run *run, const hashes_study *study,
                           bf_diagnostic *diagnostic) {
  const hashes_subject *hist256 = hashes_find_subject(study, "hist256");
  const hashes_subject *lavamd = hashes_find_subject(study, "lavaMD");
  hashes_time no_conflicts, no_change;
  char why[400];
  BF_TRY(hashes_simulate(study->setup.gpu, bf_corpus_find("histogram256-binmajor"), hist256->scale,
                         NULL, 1, &no_conflicts, diagnostic));
  BF_TRY(hashes_simulate(study->setup.gpu, lavamd->benchmark, lavamd->scale, "bits:0,1,2,3,4", 0,
                         &no_change, diagnostic));
  snprintf(why, sizeof why,
           "conflicts are less of its time: with none at all, in the layout of "
           "histogram256-binmajor, it is %.2f times as fast on its first input, and %.2f with the "
           "hash. It adds by atomics; the published one is said to consist mainly of loads and "
           "stores, and such a one (described-hist256) gains nothing.",
           hist256->at[NONE][0].cycles / no_conflicts.cycles,
           hist256->at[NONE][0].cycles / hist256->at[XOR_IMBALANCE][0].cycles);
  bf_reproduce_claim_add(run,
                         &(bf_reproduce_claim){.name = "hist256, bitwise XOR",
                                               .rule = BF_CLAIM_GAIN,
                                               .published = 2.5,
                                               .ours = hashes_speedup_of(hist256, XOR_IMBALANCE),
                                               .why = why});
  snprintf(why, sizeof why,
           "the extra cycle alone, with a hash that changes nothing, makes it %.3f times as fast; "
           "conflicts that are gone weigh more.",
           lavamd->at[NONE][0].cycles / no_change.cycles);
  bf_reproduce_fact(run, "lavaMD, bit-vector XOR", "slower",
                    hashes_speedup_of(lavamd, BIT_VECTOR) < 1, false, why, "%.3f times as fast",
                    hashes_speedup_of(lavamd, BIT_VECTOR));
  return BF_OK;
}

int hashes_claim_single(bf_reproduce_run *run, const hashes_study *study,
                        bf_diagnostic *diagnostic) {
  BF_TRY(claim_explained(run, study, diagnostic));
  claim_character(run, study, "conv-2", 35, 2.2);
  claim_character(run, study, "MRI-grid-1", 7.6, 16.3);
  return BF_OK;
}
