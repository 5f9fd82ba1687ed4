/* What rewrite has done, or could do, as a table and as JSON. */
#ifndef BF_CLI_REWRITTEN_H
#define BF_CLI_REWRITTEN_H

#include "tune/tune.h"

typedef struct cli_rewritten {
  const char *file, *output; /* output: NULL where nothing is written */
  const bf_plans *plans;
  const bf_rewrite_result *result; /* of the rewriter; NULL: kernels were only examined */
  const bf_trial *tried;           /* of the result; NULL: there are no launches */
  const bf_trial *checked;         /* what original and rewritten agree in; NULL: not compared */
} cli_rewritten;

void cli_rewritten_write_text(const cli_rewritten *rewritten, bool color, bf_text *text);
void cli_rewritten_write_json(const cli_rewritten *rewritten, bf_text *text);
/* What stands in the way of each kernel. */
void cli_rewritten_explain(const cli_rewritten *rewritten, bf_text *text);

#endif
