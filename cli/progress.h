/* Progress lines on stderr, in a terminal only: of a search, and of a launch. */
#ifndef BF_CLI_PROGRESS_H
#define BF_CLI_PROGRESS_H

#include "cli/cli.h"

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

/* How many blocks of a launch, or other units, are done; drawn once it takes longer. */
typedef struct cli_block_bar {
  bool visible, shown;
  double started, drawn;
  char step[64]; /* the name, where there are several */
  double share;  /* of that step */
  const char *name;
  const char *unit; /* "blocks", unless changed; NULL: only the share is shown */
} cli_block_bar;

/* name: of the kernel. */
cli_block_bar cli_block_bar_begin(const char *name);
/* bf_emu_launch.progress, with a cli_block_bar as context; stops the launch on Ctrl-C. */
bool cli_block_bar_step(void *context, uint64_t blocks_done, uint64_t blocks);
/* bf_search_watch.tell, with a cli_block_bar as context; stops the step on Ctrl-C. */
bool cli_block_bar_tell(void *context, const char *step, double share);
/* Removes the line. */
void cli_block_bar_end(cli_block_bar *bar);

#endif
