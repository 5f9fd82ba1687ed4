/* A table of sites: what a trace costs where. Accesses without a site are grouped by operation,
 * width and class. */
#ifndef BF_CLI_SUMMARY_H
#define BF_CLI_SUMMARY_H

#include "cli/cli.h"

typedef struct cli_summary_row {
  char *key;
  uint64_t accesses, wavefronts, ideal, conflicts;
  uint64_t worst_line; /* the access with the most conflicts, and its explanation */
  uint32_t worst_conflicts;
  char worst[256];
} cli_summary_row;

typedef struct cli_summary {
  bf_arena arena;
  cli_summary_row *row;
  size_t count, capacity;
  size_t *slot; /* open addressing: index + 1 */
  size_t slots;
} cli_summary;

int cli_summary_add(cli_summary *summary, const bf_machine *machine, const bf_access *access,
                    const bf_count *count, bf_diagnostic *diagnostic);
/* Sorts by conflicts, most first. */
void cli_summary_sort(cli_summary *summary);
void cli_summary_write(const cli_summary *summary, bool color, bf_text *text);
void cli_summary_free(cli_summary *summary);

#endif
