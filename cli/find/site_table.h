/* The table of what a trace costs, by site. */
#ifndef BF_CLI_SITE_TABLE_H
#define BF_CLI_SITE_TABLE_H

#include "cli/cli.h"
#include "memory/site_sums.h"

/* The sites with most conflicts, and what is worst in each. */
void cli_site_table_write(bf_site_sums *sums, bool color, bf_text *text);

#endif
