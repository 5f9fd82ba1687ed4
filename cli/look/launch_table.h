/* What launches have cost on the simulator: as text, as JSON and as a chart. */
#ifndef BF_CLI_LAUNCH_TABLE_H
#define BF_CLI_LAUNCH_TABLE_H

#include "cli/cli.h"
#include "kernels/corpus.h"
#include "sim/ledger.h"

typedef struct cli_launch_table {
  const char *program, *benchmark;  /* one of them, the other is NULL */
  const bf_corpus_outcome *outcome; /* of the benchmark */
  const char *lock_hash;            /* the word */
  const bf_sim_gpu *gpu;
  const bf_sim_ledger *ledger;
  const bf_sim_launched *total;
} cli_launch_table;

void cli_launch_table_write_text(const cli_launch_table *costs, bool color, bf_text *text);
void cli_launch_table_write_json(const cli_launch_table *costs, bf_text *text);
/* Scheduler turns of every launch, as an SVG document. */
int cli_launch_table_write_svg(const cli_launch_table *costs, bf_text *text,
                               bf_diagnostic *diagnostic);

/* Seconds with a unit that suits them. */
void cli_write_time(double seconds, bf_text *text);

#endif
