/* Shows what bundled kernels that vote did to shared memory. */
#include "cli/images/vote_kernels.h"

void cli_vote_draw(const bf_corpus_vote *kernels, const char *copies, const bf_machine *machine,
                   bf_text *text) {
  bf_text_addf(text, "\nKernels with %s in shared memory, on %s:\n", copies,
               bf_machine_title(machine));
  bf_text_addf(text, "%-24s %12s %12s %12s %12s  %s\n", "kernel", "accesses", "wavefronts", "ideal",
               "conflicts", "copies lie");
  for (unsigned i = 0; i < BF_CORPUS_VOTES; i++)
    bf_text_addf(text, "%-24s %12llu %12llu %12llu %12llu  %s\n", kernels[i].kernel,
                 (unsigned long long)kernels[i].accesses, (unsigned long long)kernels[i].wavefronts,
                 (unsigned long long)kernels[i].ideal, (unsigned long long)kernels[i].conflicts,
                 kernels[i].layout);
}

void cli_vote_json(const bf_corpus_vote *kernels, const bf_machine *machine, bf_json *json) {
  bf_json_string(json, "machine", bf_machine_name(machine));
  bf_json_begin(json, "kernels", '[', false);
  for (unsigned i = 0; i < BF_CORPUS_VOTES; i++) {
    bf_json_begin(json, NULL, '{', false);
    bf_json_string(json, "name", kernels[i].kernel);
    bf_json_string(json, "layout", kernels[i].layout);
    bf_json_number(json, "accesses", kernels[i].accesses);
    bf_json_number(json, "wavefronts", kernels[i].wavefronts);
    bf_json_number(json, "ideal", kernels[i].ideal);
    bf_json_number(json, "conflicts", kernels[i].conflicts);
    bf_json_end(json, '}');
  }
  bf_json_end(json, ']');
}
