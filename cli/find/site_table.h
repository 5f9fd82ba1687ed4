/* A table of sites: what a trace costs where. Accesses without a site are grouped by operation,
 * width and class. */
#ifndef BF_CLI_SITE_TABLE_H
#define BF_CLI_SITE_TABLE_H

#include "cli/cli.h"

typedef struct cli_site_table_row {
  char *key;
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t worst_line; /* the access with the most conflicts, and its explanation */
  uint32_t worst_conflicts;
  char worst[256];
} cli_site_table_row;

typedef struct cli_site_table {
  bf_arena arena;
  cli_site_table_row *row;
  size_t count, capacity;
  size_t *slot; /* open addressing: index + 1 */
  size_t slots;
} cli_site_table;

int cli_site_table_add(cli_site_table *summary, const bf_machine *machine, const bf_access *access,
                       const bf_count *count, bf_diagnostic *diagnostic);
/* Sorts by conflicts, most first. */
void cli_site_table_sort(cli_site_table *summary);
void cli_site_table_write(const cli_site_table *summary, bool color, bf_text *text);
void cli_site_table_free(cli_site_table *summary);

#endif
