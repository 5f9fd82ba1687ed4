/* Launches of bare PTX. */
#include "cli/look/launches.h"

#include "cli/progress.h"

#include "ptx/fatbin.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DESCRIPTION_BYTES = 1 << 24 };

int cli_check_words(const cli_command *command, const char *list) {
  while (list && *list) {
    size_t length = strcspn(list, ",");
    if (!(length == 13 && strncmp(list, "uninitialised", 13) == 0) &&
        !(length == 5 && strncmp(list, "races", 5) == 0))
      return cli_usage_error(command, "--check takes uninitialised and races, not '%.*s'",
                             (int)length, list);
    list += length + (list[length] == ',');
  }
  return -1;
}

int cli_check_warps(const bf_machine *machine, bf_diagnostic *diagnostic) {
  if (bf_machine_lanes(machine) == BF_EMU_LANES)
    return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "CUDA kernels have warps of 32 threads; machine '%s' has %u",
                 bf_machine_name(machine), bf_machine_lanes(machine));
}

/* ---- Running ---- */

typedef struct running {
  const cli_launches *launches;
  bf_emu *emu;
  FILE *printed;
} running;

static void print(void *context, const char *text, size_t bytes) {
  if (context)
    fwrite(text, 1, bytes, context);
}

static int run_launch(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  running *work = context;
  const cli_launches *launches = work->launches;
  cli_block_bar bar = cli_block_bar_begin(bf_emu_kernel_name(launch->kernel));
  bf_emu_result result;
  launch->workers = (unsigned)launches->workers;
  launch->check_uninitialised = launches->check && strstr(launches->check, "uninitialised");
  launch->check_races = launches->check && strstr(launches->check, "races");
  launch->print = print;
  launch->print_context = work->printed;
  launch->progress = launches->is_quiet ? NULL : cli_block_bar_step;
  launch->progress_context = &bar;
  BF_TRY(launches->before(launches->context, launch, diagnostic));
  int error = bf_emu_run(work->emu, launch, &result, diagnostic);
  double seconds = bf_seconds() - bar.started;
  cli_block_bar_end(&bar);
  BF_TRY(error);
  if (result.fault.kind) {
    bf_text text = {0};
    bf_emu_fault_explain(&result.fault, &text);
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, launches->ptx, "%s",
                         text.data ? text.data : "fault");
    bf_text_free(&text);
    return error;
  }
  return launches->after(launches->context, launch, &result, seconds, diagnostic);
}

int cli_ptx_read(const char *path, uint64_t module, bf_ptx_module **ptx,
                 bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  BF_TRY(bf_fatbin_open(path, &fatbin, diagnostic));
  bf_arch any = {0};
  bf_text text = {0};
  unsigned number = module ? (unsigned)module : 1;
  const bf_image *image = bf_fatbin_pick(fatbin, number, any);
  int error = image ? bf_fatbin_text(fatbin, image, &text, diagnostic)
                    : bf_fatbin_no_ptx(fatbin, number, any, diagnostic);
  if (!error)
    error = bf_ptx_parse(path, text.data ? text.data : "", text.size, ptx, diagnostic);
  bf_text_free(&text);
  bf_fatbin_close(fatbin);
  return error;
}

/* The launch description as text. */
static int read_description(const char *path, bf_text *text, bf_diagnostic *diagnostic) {
  int error = bf_read_file(path, MOST_DESCRIPTION_BYTES, text, diagnostic);
  if (!error && text->size > MOST_DESCRIPTION_BYTES)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "too large for a launch description");
  if (!error && memchr(text->data, 0, text->size))
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "a launch description is text");
  return error;
}

int cli_launches_run(const cli_launches *launches, bool prints_to_stderr,
                     bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_script *script = NULL;
  bf_ptx_module *ptx = NULL;
  bf_emu_module *module = NULL;
  running work = {.launches = launches,
                  .printed = launches->is_quiet ? NULL
                             : prints_to_stderr ? stderr
                                                : stdout};
  if (!launches->is_quiet)
    cli_watch_interrupt();
  int error = read_description(launches->description, &text, diagnostic);
  if (!error)
    error = bf_script_read(launches->description, text.data, &script, diagnostic);
  if (!error && !launches->parsed)
    error = cli_ptx_read(launches->ptx, launches->module, &ptx, diagnostic);
  if (!error)
    error = bf_emu_create(&work.emu, diagnostic);
  if (!error)
    error = bf_emu_load(work.emu, ptx ? ptx : launches->parsed, &module, diagnostic);
  if (!error)
    error = bf_script_run(script, work.emu, module, run_launch, &work, diagnostic);
  if (!error && launches->done)
    error = launches->done(launches->context, script, work.emu, module, diagnostic);
  bf_emu_free(work.emu);
  bf_ptx_free(ptx);
  bf_script_free(script);
  bf_text_free(&text);
  return error;
}
