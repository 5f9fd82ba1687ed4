/* Results of tune as a table, as JSON, and as a file of hashes. */
#ifndef BF_CLI_TUNED_H
#define BF_CLI_TUNED_H

#include "cli/use/tuning.h"

typedef struct cli_tuned_result {
  int arguments; /* of the program, with its name */
  char **argument;
  const char *output; /* the file of hashes, or NULL */
  unsigned runs;
  unsigned candidates;
  const cli_candidate *candidate; /* the first is the program as it is */
  const cli_tuning *tuning;
} cli_tuned_result;

void cli_tuned_write_text(const cli_tuned_result *result, bool color, bf_text *text);
void cli_tuned_write_json(const cli_tuned_result *result, bf_text *text);
/* Lines KERNEL HASH for every kernel that was launched, with what was measured as comments. */
void cli_tuned_write_hashes(const cli_tuned_result *result, bf_text *text);
/* A line for each kernel with a hash, and one for all others. */
void cli_tuned_write_choice(const cli_tuning *tuning, bf_text *text);

#endif
