/* PTX run by a launch description. */
#include "emu/launches.h"

#include <string.h>

enum { MOST_DESCRIPTION_BYTES = 1 << 24 };

int bf_launches_check_machine(const bf_machine *machine, bf_diagnostic *diagnostic) {
  if (bf_machine_lanes(machine) == BF_EMU_LANES)
    return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "CUDA kernels have warps of 32 threads; machine '%s' has %u",
                 bf_machine_name(machine), bf_machine_lanes(machine));
}

typedef struct running {
  const bf_launches *launches;
  bf_emu *emu;
} running;

/* The fault of a launch as an error. */
static int fail_launch(const bf_launches *launches, const bf_emu_fault *fault,
                       bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_emu_fault_explain(fault, &text);
  int error =
      bf_fail_file(diagnostic, BF_BAD_INPUT, launches->file, "%s", text.data ? text.data : "fault");
  bf_text_free(&text);
  return error;
}

/* Executes a launch: the callback does, or the emulator. */
static int execute(const running *work, const bf_emu_launch *launch, const char *hash,
                   bf_emu_result *result, bf_diagnostic *diagnostic) {
  const bf_launches *launches = work->launches;
  return launches->execute
             ? launches->execute(launches->context, work->emu, launch, hash, result, diagnostic)
             : bf_emu_run(work->emu, launch, result, diagnostic);
}

/* Runs one launch of the description. */
static int run_launch(void *context, bf_emu_launch *launch, const char *hash,
                      bf_diagnostic *diagnostic) {
  const running *work = context;
  const bf_launches *launches = work->launches;
  bf_emu_result result;
  launch->workers = launches->workers;
  launch->check_uninitialised = launches->check_uninitialised;
  launch->check_races = launches->check_races;
  launch->print = launches->print;
  launch->print_context = launches->print_context;
  if (launches->before)
    BF_TRY(launches->before(launches->context, launch, diagnostic));
  double begun = bf_seconds();
  BF_TRY(execute(work, launch, hash, &result, diagnostic));
  if (result.fault.kind)
    return fail_launch(launches, &result.fault, diagnostic);
  return launches->after
             ? launches->after(launches->context, launch, &result, bf_seconds() - begun, diagnostic)
             : BF_OK;
}

/* Reads the description. */
static int read_script(const char *path, bf_script **script, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_read_file(path, MOST_DESCRIPTION_BYTES, &text, diagnostic);
  if (!error && text.size > MOST_DESCRIPTION_BYTES)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "too large for a launch description");
  if (!error && memchr(text.data, 0, text.size))
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, path, "a launch description is text");
  if (!error)
    error = bf_script_read(path, text.data, script, diagnostic);
  bf_text_free(&text);
  return error;
}

int bf_launches_run(const bf_launches *launches, bf_diagnostic *diagnostic) {
  bf_script *script = NULL;
  bf_emu_module *module = NULL;
  running work = {.launches = launches};
  int error = read_script(launches->description, &script, diagnostic);
  if (!error)
    error = bf_emu_create(&work.emu, diagnostic);
  if (!error)
    error = bf_emu_load(work.emu, launches->module, &module, diagnostic);
  if (!error)
    error = bf_script_run(script, work.emu, module, run_launch, &work, diagnostic);
  if (!error && launches->done)
    error = launches->done(launches->context, script, work.emu, module, diagnostic);
  bf_emu_free(work.emu);
  bf_script_free(script);
  return error;
}
