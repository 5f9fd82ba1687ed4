/* Progress lines. */
#include "cli/progress.h"

#include <math.h>
#include <string.h>
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
    fprintf(stderr, "\r\033[K[%s] %.1f s", bar, seconds);
    if (progress->time_limit_seconds > seconds)
      fprintf(stderr, ", at most %.0f s left", ceil(progress->time_limit_seconds - seconds));
    fprintf(stderr, "  conflicts between %llu and %llu  (Ctrl-C: take the best)",
            (unsigned long long)lower, (unsigned long long)upper);
    fflush(stderr);
    progress->shown = true;
  }
  return !cli_interrupted();
}

void cli_progress_end(cli_progress *progress) {
  if (progress->shown)
    fputs("\r\033[K", stderr);
}

cli_block_bar cli_block_bar_begin(const char *name) {
  return (cli_block_bar){
      .visible = isatty(2) != 0, .started = bf_seconds(), .name = name, .unit = "blocks"};
}

bool cli_block_bar_step(void *context, uint64_t blocks_done, uint64_t blocks) {
  cli_block_bar *bar = context;
  double now = bar->visible ? bf_seconds() : 0;
  if (!bar->visible || now - bar->started < 0.5 || now - bar->drawn < 0.1)
    return !cli_interrupted();
  char cells[BF_BAR_CELLS + 1];
  bf_bar_fill(blocks ? (double)blocks_done / (double)blocks : 0, cells);
  fprintf(stderr, "\r\033[K[%s] %s", cells, bar->name);
  if (bar->unit)
    fprintf(stderr, "  %llu of %llu %s", (unsigned long long)blocks_done,
            (unsigned long long)blocks, bar->unit);
  fprintf(stderr, "  %.0f s", now - bar->started);
  if (blocks_done && blocks_done < blocks)
    fprintf(stderr, ", about %.0f s left",
            (now - bar->started) * (double)(blocks - blocks_done) / (double)blocks_done);
  fflush(stderr);
  bar->drawn = now;
  bar->shown = true;
  return !cli_interrupted();
}

bool cli_block_bar_tell(void *context, const char *step, double share) {
  cli_block_bar *bar = context;
  if (!bar->name || strcmp(bar->name, step) != 0 || share < bar->share) {
    snprintf(bar->step, sizeof bar->step, "%s", step);
    bar->name = bar->step;
    bar->started = bf_seconds();
  }
  bar->share = share;
  return cli_block_bar_step(bar, (uint64_t)(share * 1000), 1000);
}

void cli_block_bar_end(cli_block_bar *bar) {
  if (bar->shown)
    fputs("\r\033[K", stderr);
}
