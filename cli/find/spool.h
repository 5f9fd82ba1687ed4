/* Output that must not appear before all input is known to be good: kept in memory, and past some
 * megabytes in a file without a name, then printed at once. */
#ifndef BF_CLI_SPOOL_H
#define BF_CLI_SPOOL_H

#include "cli/cli.h"

typedef struct cli_spool {
  bf_text text;
  FILE *file;
} cli_spool;

/* Appends text and frees it. */
int cli_spool_add(cli_spool *spool, bf_text *text, bf_diagnostic *diagnostic);
/* Writes all to standard output; returns the exit status. */
int cli_spool_print(cli_spool *spool);
void cli_spool_free(cli_spool *spool);

#endif
