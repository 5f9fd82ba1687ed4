/* Launches of bare PTX, with progress. */
#include "cli/look/launches.h"

#include "cli/progress.h"

#include "ptx/fatbin.h"

#include <string.h>

int cli_check_words(const cli_command *command, const char *list) {
  while (list && *list) {
    size_t length = strcspn(list, ",");
    if (!(length == 13 && strncmp(list, "uninitialised", 13) == 0) &&
        !(length == 5 && strncmp(list, "races", 5) == 0))
      return cli_usage_error(command, "--detect takes uninitialised and races, not '%.*s'",
                             (int)length, list);
    list += length + (list[length] == ',');
  }
  return -1;
}

typedef struct running {
  const cli_launches *launches;
  cli_block_bar bar; /* of the launch that runs */
} running;

static void print(void *context, const char *text, size_t bytes) {
  fwrite(text, 1, bytes, context);
}

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  running *work = context;
  const bf_launches *asked = &work->launches->run;
  work->bar = cli_block_bar_begin(bf_emu_kernel_name(launch->kernel));
  launch->progress = cli_block_bar_step;
  launch->progress_context = &work->bar;
  return asked->before ? asked->before(asked->context, launch, diagnostic) : BF_OK;
}

static int execute(void *context, bf_emu *emu, const bf_emu_launch *launch, const char *hash,
                   bf_emu_result *result, bf_diagnostic *diagnostic) {
  running *work = context;
  const bf_launches *asked = &work->launches->run;
  return asked->execute(asked->context, emu, launch, hash, result, diagnostic);
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 double seconds, bf_diagnostic *diagnostic) {
  running *work = context;
  const bf_launches *asked = &work->launches->run;
  cli_block_bar_end(&work->bar);
  return asked->after ? asked->after(asked->context, launch, result, seconds, diagnostic) : BF_OK;
}

int cli_launches_run(const cli_launches *launches, bf_diagnostic *diagnostic) {
  bf_ptx_module *ptx = NULL;
  running work = {.launches = launches};
  bf_launches run = launches->run;
  BF_TRY(bf_fatbin_read_ptx(launches->ptx, launches->module, &ptx, diagnostic));
  run.file = launches->ptx;
  run.module = ptx;
  run.check_uninitialised = launches->check && strstr(launches->check, "uninitialised");
  run.check_races = launches->check && strstr(launches->check, "races");
  run.print = print;
  run.print_context = launches->prints_to_stderr ? stderr : stdout;
  run.before = before;
  run.execute = launches->run.execute ? execute : NULL;
  run.after = after;
  run.context = &work;
  cli_watch_interrupt();
  int error = bf_launches_run(&run, diagnostic);
  cli_block_bar_end(&work.bar);
  bf_ptx_free(ptx);
  return error;
}
