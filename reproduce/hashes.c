/* braak16, section 7.1, Table 6 and Fig. 9: what hash functions of the banks do for 22
 * benchmarks on a GTX 480, and what the extra cycle of hashed accesses costs five others.
 *
 * The hashes are found on the accesses of the benchmarks as kernels/table.c does it. Benchmarks
 * whose addresses depend on the data are simulated on other inputs than the hash was made for.
 * Where the text describes a kernel and ours of its name is another, both are simulated: means are
 * those with the described ones, and shown with ours as well. */
#include "reproduce/hashes/study.h"

static int report(bf_reproduce_run *run, const hashes_study *study, bf_diagnostic *diagnostic) {
  hashes_claim(run, study);
  if (!bf_reproduce_is_quick(run))
    BF_TRY(hashes_claim_single(run, study, diagnostic));
  return hashes_show(run, study, diagnostic);
}

static int reproduce_hashes(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bool quick = bf_reproduce_is_quick(run);
  hashes_study *study = bf_arena_alloc(bf_reproduce_arena(run), sizeof *study);
  if (!study)
    return bf_no_memory(diagnostic);
  study->search_seconds = quick ? 0.2 : 5;
  hashes_choose_subjects(study, quick);
  int error = hashes_set_up(&study->setup, quick ? 0 : 300000, diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, study->all_subjects, "searching hashes", hashes_find, study,
                                  diagnostic);
  if (!error)
    error = bf_reproduce_parallel(run, study->all_subjects * METHODS * INPUTS, "simulating",
                                  hashes_simulate_piece, study, diagnostic);
  if (!error)
    error = report(run, study, diagnostic);
  hashes_tear_down(&study->setup);
  return error;
}

const bf_reproduction bf_reproduce_hashes[] = {
    {"hashes", "hash functions of the banks", "braak16, Table 6 and Figs. 8-9",
     "22 benchmarks on a GTX 480, each under hashes found by every method. An access takes one "
     "cycle more, but with the fixed hash.",
     reproduce_hashes},
    {"hash-cycle", "the cost of the extra cycle", "braak16, section 7.1",
     "Five kernels without bank conflicts on a GTX 480, with a hash that changes nothing but "
     "takes its cycle, or more of them.",
     hashes_reproduce_cycle},
    {NULL, NULL, NULL, NULL, NULL},
};
