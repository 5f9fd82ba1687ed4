/* The ladder of fixes, kept for the caller, and code for hashes as text. */
#include "search/ladder.h"

#include "api/launch.h"
#include "emit/emit.h"

#include <stdlib.h>

int bf_ladder_create(const bf_machine *machine, const bf_workload *workload,
                     const bf_solve_options *given, bf_ladder **out, bf_diagnostic *diagnostic) {
  bf_solve_options options;
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_solve_options", diagnostic));
  BF_TRY(bf_api_check_threads(options.threads, diagnostic));
  bf_ladder *ladder = malloc(sizeof *ladder);
  if (!ladder)
    return bf_no_memory(diagnostic);
  int error = bf_solve_ladder(machine, workload, &options, ladder, diagnostic);
  if (error)
    bf_ladder_free(ladder);
  else
    *out = ladder;
  return error;
}

void bf_ladder_free(bf_ladder *ladder) { free(ladder); }

const bf_ladder_step *bf_ladder_get(const bf_ladder *ladder, size_t index) {
  return index < ladder->count ? &ladder->step[index] : NULL;
}

size_t bf_ladder_recommended(const bf_ladder *ladder) { return ladder->recommended; }

const char *bf_ladder_reason(const bf_ladder *ladder) { return ladder->reason; }

/* ---- Code ---- */

const char *bf_emit_form(unsigned index) {
  for (unsigned i = 0; i < index; i++)
    if (!bf_emit_forms[i])
      return NULL;
  return bf_emit_forms[index];
}

int bf_hash_emit(const bf_hash *hash, const char *form, const bf_emit_options *given, char **out,
                 bf_diagnostic *diagnostic) {
  bf_emit_options options;
  bf_text text = {0};
  *out = NULL;
  BF_TRY(bf_take_options(given, &options, sizeof options, "bf_emit_options", diagnostic));
  int error = bf_emit(hash, form, &options, &text, diagnostic);
  return bf_api_hand_out(&text, error, out, diagnostic);
}
