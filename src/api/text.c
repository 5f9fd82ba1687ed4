/* Text and bytes that belong to the caller, and what the caller may leave out. */
#include "api/api.h"

#include <stdlib.h>

void bf_free(void *memory) { free(memory); }

int bf_api_hand_out(bf_text *text, int error, char **out, bf_diagnostic *diagnostic) {
  *out = NULL;
  if (!error)
    bf_text_puts(text, ""); /* so that there is text, however short */
  if (!error && text->failed)
    error = bf_no_memory(diagnostic);
  if (error)
    bf_text_free(text);
  else
    *out = text->data;
  return error;
}

int bf_api_copy(bf_arena *arena, const char *text, const char **copy, bf_diagnostic *diagnostic) {
  *copy = text ? bf_arena_copy(arena, text) : NULL;
  return text && !*copy ? bf_no_memory(diagnostic) : BF_OK;
}

int bf_api_machine(const bf_machine *given, const bf_machine **machine, bf_machine **own,
                   bf_diagnostic *diagnostic) {
  enum { CUDA_LANES = 32 };
  *own = NULL;
  if (!given)
    BF_TRY(bf_machine_load("hopper", NULL, own, diagnostic));
  *machine = given ? given : *own;
  if (bf_machine_lanes(*machine) == CUDA_LANES)
    return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "CUDA kernels have warps of %d threads; machine '%s' has %u", CUDA_LANES,
                 bf_machine_name(*machine), bf_machine_lanes(*machine));
}

double bf_api_time_limit(double given_seconds) { return given_seconds > 0 ? given_seconds : 10; }
