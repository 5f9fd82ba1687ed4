/* What a user sees of launches that take long: a bar in a terminal, and once, when kernels have run
 * for as long as the settings say, a line with what runs and what helps. */
#include "context.h"

#include <stdio.h>
#include <unistd.h>

/* Of the kernel, if its other blocks take as long as those that are done. */
static double seconds_left(const rt_progress *own, double now, uint64_t done, uint64_t blocks) {
  return (now - own->begun) * (double)(blocks - done) / (double)done;
}

/* Says what runs, and which options make an end. */
static void hint(rt_progress *own, double now, uint64_t done, uint64_t blocks) {
  rt_context *context = own->context;
  const char *help = context->gpu                  ? "a smaller input, or no --gpu, takes less"
                     : context->settings.skip_rest ? "a smaller input takes less"
                                                   : "--sample auto --skip-rest takes less, and "
                                                     "leaves results wrong";
  if (own->is_shown)
    fputs("\r\033[K", stderr);
  char left[64] = "";
  if (done && done < blocks)
    snprintf(left, sizeof left, ", about %.0f s left of it", seconds_left(own, now, done, blocks));
  rt_say(context,
         "%.0f s in kernels so far, now block %llu of %llu of %s%s: %s; timeout 600 bankfold exec "
         "gives the table of ten minutes%s",
         context->kernel_seconds + now - own->begun, (unsigned long long)done,
         (unsigned long long)blocks, own->kernel.data ? own->kernel.data : "a kernel", left, help,
         done ? "" : "; a kernel that waits for another kernel never ends here");
  context->is_hinted = true;
}

/* Draws the bar once a second has passed, ten times a second at most. */
static void draw(rt_progress *own, double now, uint64_t done, uint64_t blocks) {
  if (now - own->begun < 1 || now - own->drawn < 0.1)
    return;
  own->drawn = now;
  own->is_shown = true;
  char bar[BF_BAR_CELLS + 1];
  bf_bar_fill(blocks ? (double)done / (double)blocks : 0, bar);
  fprintf(stderr, "\r\033[K[%s] %.0f s  block %llu of %llu of %s", bar, now - own->begun,
          (unsigned long long)done, (unsigned long long)blocks,
          own->kernel.data ? own->kernel.data : "");
  if (done && done < blocks)
    fprintf(stderr, ", about %.0f s left", seconds_left(own, now, done, blocks));
  fflush(stderr);
}

/* bf_emu_launch's: the launch goes on, unless the program has ended without it. */
static bool show(void *context, uint64_t done, uint64_t blocks) {
  rt_progress *own = context;
  own->context->blocks_done = done;
  double now = bf_seconds(), limit = (double)own->context->settings.hint_seconds;
  if (limit > 0 && !own->context->is_hinted &&
      own->context->kernel_seconds + now - own->begun >= limit)
    hint(own, now, done, blocks);
  if (own->has_bar)
    draw(own, now, done, blocks);
  return !__atomic_load_n(&own->context->is_given_up, __ATOMIC_RELAXED);
}

void rt_progress_begin(rt_context *context, rt_function *function, bf_emu_launch *launch,
                       rt_progress *own) {
  bool wants_hint = context->settings.hint_seconds && !context->is_hinted;
  *own = (rt_progress){.context = context, .begun = bf_seconds(), .has_bar = isatty(2)};
  if (context->settings.quiet)
    own->has_bar = false;
  if (!own->has_bar && !(wants_hint && !context->settings.quiet) && !rt_may_wait(function))
    return;
  bf_ptx_readable_name(function->name, &own->kernel);
  launch->progress = show;
  launch->progress_context = own;
}

void rt_progress_end(rt_progress *own) {
  if (own->is_shown)
    fputs("\r\033[K", stderr);
  own->context->kernel_seconds += bf_seconds() - own->begun;
  bf_text_free(&own->kernel);
}
