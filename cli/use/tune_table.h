/* Results of tune as a table, as JSON, and as a file of hashes. */
#ifndef BF_CLI_TUNE_TABLE_H
#define BF_CLI_TUNE_TABLE_H

#include "tune/measured.h"

typedef struct cli_tune_table {
  int arguments; /* of the program, with its name */
  char **argument;
  const char *output; /* the file of hashes, or NULL */
  const bf_measured *measured;
} cli_tune_table;

void cli_tune_table_write_text(const cli_tune_table *tuned, bool color, bf_text *text);
void cli_tune_table_write_json(const cli_tune_table *tuned, bf_text *text);
/* Lines KERNEL HASH for every kernel that was launched, with what was measured as comments. */
void cli_tune_table_write_hashes(const cli_tune_table *tuned, bf_text *text);

#endif
