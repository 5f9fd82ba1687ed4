/* A progress line on stderr while a search runs, in a terminal only. */
#ifndef BF_CLI_PROGRESS_H
#define BF_CLI_PROGRESS_H

#include "cli.h"

typedef struct cli_progress {
  bool shown, visible;
  double time_limit_seconds;
} cli_progress;

/* Call before the search; visible only if stderr is a terminal. */
void cli_progress_begin(cli_progress *progress, double time_limit_seconds);
/* The bf_progress callback, with a cli_progress as context: draws the line, and stops the search on
 * Ctrl-C. */
bool cli_progress_step(void *context, double seconds, uint64_t lower, uint64_t upper);
/* Removes the line. */
void cli_progress_end(cli_progress *progress);

#endif
