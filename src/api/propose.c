/* Proposals of hashes from accesses alone, kept for the caller. */
#include "tune/propose.h"

#include "api/api.h"

#include <stdlib.h>

struct bf_hash_proposals {
  bf_proposal found;
  bf_proposed_hash hash[BF_PROPOSE_MOST];
};

static bf_proposed_hash describe(const bf_candidate *candidate) {
  const bf_comparison *predicted = &candidate->predicted;
  return (bf_proposed_hash){.hash = bf_hash_text(candidate->hash),
                            .granule_bytes = candidate->granule_bytes,
                            .is_proven = candidate->is_proven,
                            .is_worth = bf_judge_is_worth(predicted),
                            .wavefronts_before = predicted->before.wavefronts,
                            .wavefronts_after = predicted->after.wavefronts,
                            .added_instructions =
                                predicted->after.instructions - predicted->before.instructions};
}

/* Proposes into proposals, which is empty. */
static int propose(const bf_machine *machine, const bf_workload *workload,
                   const bf_propose_hashes_options *given, bf_hash_proposals *proposals,
                   bf_diagnostic *diagnostic) {
  bf_propose_options options = {.machine = machine,
                                .written = workload,
                                .merged = given->merged,
                                .granule_bytes = given->granule_bytes,
                                .time_limit_seconds = bf_api_time_limit(given->time_limit_seconds),
                                .threads = given->threads,
                                .progress = given->progress,
                                .progress_context = given->progress_context};
  BF_TRY(bf_propose(&options, &proposals->found, diagnostic));
  for (unsigned i = 0; i < proposals->found.candidates; i++)
    proposals->hash[i] = describe(&proposals->found.candidate[i]);
  return BF_OK;
}

int bf_propose_hashes(const bf_machine *given_machine, const bf_workload *workload,
                      const bf_propose_hashes_options *given, bf_hash_proposals **out,
                      bf_diagnostic *diagnostic) {
  bf_propose_hashes_options options;
  const bf_machine *machine;
  bf_machine *own;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_propose_hashes_options", diagnostic));
  BF_TRY(bf_api_machine(given_machine, &machine, &own, diagnostic));
  bf_hash_proposals *proposals = calloc(1, sizeof *proposals);
  int error = proposals ? propose(machine, workload, &options, proposals, diagnostic)
                        : bf_no_memory(diagnostic);
  bf_machine_free(own);
  if (error)
    bf_hash_proposals_free(proposals);
  else
    *out = proposals;
  return error;
}

void bf_hash_proposals_free(bf_hash_proposals *proposals) {
  if (proposals)
    bf_proposal_clear(&proposals->found);
  free(proposals);
}

const bf_proposed_hash *bf_hash_proposals_get(const bf_hash_proposals *proposals, size_t index) {
  return index < proposals->found.candidates ? &proposals->hash[index] : NULL;
}

const char *bf_hash_proposals_reason(const bf_hash_proposals *proposals) {
  return proposals->found.reason[0] ? proposals->found.reason : NULL;
}
