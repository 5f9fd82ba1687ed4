/* The progress line. */
#include "progress.h"

#include <unistd.h>

void cli_progress_begin(cli_progress *progress, double time_limit_seconds) {
  *progress = (cli_progress){.visible = isatty(2) != 0, .time_limit_seconds = time_limit_seconds};
  cli_watch_interrupt();
}

bool cli_progress_step(void *context, double seconds, uint64_t lower, uint64_t upper) {
  cli_progress *progress = context;
  if (progress->visible) {
    double share = progress->time_limit_seconds > 0 ? seconds / progress->time_limit_seconds : 0;
    char bar[BF_BAR_CELLS + 1];
    bf_bar_fill(share, bar);
    fprintf(stderr, "\r\033[K[%s] %.1f s  conflicts between %llu and %llu  (Ctrl-C: take the best)",
            bar, seconds, (unsigned long long)lower, (unsigned long long)upper);
    fflush(stderr);
    progress->shown = true;
  }
  return !cli_interrupted();
}

void cli_progress_end(cli_progress *progress) {
  if (progress->shown)
    fputs("\r\033[K", stderr);
}
