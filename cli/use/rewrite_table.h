/* What rewrite has done, or could do, as a table and as JSON. */
#ifndef BF_CLI_REWRITE_TABLE_H
#define BF_CLI_REWRITE_TABLE_H

#include "tune/tune.h"

typedef struct cli_rewrite_table {
  const char *file, *output; /* output: NULL where nothing is written */
  const bf_plans *plans;
  const bf_rewrite_result *result; /* of the rewriter; NULL: kernels were only examined */
  const bf_trial *checked;         /* what original and rewritten agree in; NULL: not compared */
} cli_rewrite_table;

void cli_rewrite_table_write_text(const cli_rewrite_table *rewritten, bool color, bf_text *text);
void cli_rewrite_table_write_json(const cli_rewrite_table *rewritten, bf_text *text);
/* What stands in the way of each kernel. */
void cli_rewrite_table_explain(const cli_rewrite_table *rewritten, bf_text *text);

#endif
