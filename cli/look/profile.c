/* profile: runs kernels of a PTX file on the emulator and shows their bank conflicts by line. */
#include "cli/look/kernel_table.h"
#include "cli/look/launches.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  const char *launch, *hash, *check, *time_limit;
  uint64_t module, workers;
  bool as_written;
  cli_gate gate;
} settings;

static const cli_option options[] = {
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "the launch description: buffers and launches (docs/profile.md)"},
    {"hash", CLI_TEXT, offsetof(settings, hash), "HASH", NULL,
     "count as if shared memory had this hash (default none)"},
    {"detect", CLI_TEXT, offsetof(settings, check), "LIST", NULL,
     "more faults to look for: uninitialised, races, or both with a comma"},
    {"as-written", CLI_FLAG, offsetof(settings, as_written), NULL, NULL,
     "count accesses as the PTX has them, not as ptxas merges them"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "longest search of a fix for each kernel (default 0.25)"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"threads", CLI_NUMBER, offsetof(settings, workers), "N", NULL,
     "threads that run a kernel (default one per core)"},
    CLI_GATE(settings),
    CLI_COMMON(settings),
};

typedef struct profiling {
  const settings *settings;
  const bf_machine *machine;
  const bf_hash *hash;
  double fix_seconds;
  bf_costs costs;
  bf_profile *profile; /* of the launch that runs */
  bf_emu_observer observer;
} profiling;

static int before(void *context, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  profiling *work = context;
  BF_TRY(bf_profile_create(work->machine, work->hash, launch->kernel,
                           (unsigned)work->settings->workers, &work->profile, diagnostic));
  BF_TRY(bf_profile_keep(work->profile, NULL, diagnostic));
  work->observer = bf_profile_observer(work->profile);
  work->observer.as_merged = !work->settings->as_written;
  launch->observer = &work->observer;
  return BF_OK;
}

static int after(void *context, const bf_emu_launch *launch, const bf_emu_result *result,
                 double seconds, bf_diagnostic *diagnostic) {
  profiling *work = context;
  int error =
      bf_costs_add_launch(&work->costs, launch->kernel, work->profile, result, seconds, diagnostic);
  bf_profile_free(work->profile);
  work->profile = NULL;
  return error;
}

static int write_results(const settings *s, profiling *work, const char *file,
                         bf_diagnostic *diagnostic) {
  bf_text text = {0};
  cli_program_run run = {.program = file,
                         .machine = work->machine,
                         .hash = bf_hash_text(work->hash),
                         .fix_seconds = work->fix_seconds};
  bf_costs_sort(&work->costs);
  int error = s->common.json
                  ? cli_kernel_table_write_json(&run, &work->costs, &text, diagnostic)
                  : cli_kernel_table_write_text(&run, &work->costs, cli_wants_color(&s->common),
                                                &text, diagnostic);
  if (error) {
    bf_text_free(&text);
    return error;
  }
  return cli_print(&text) == CLI_OK ? BF_OK : BF_IO;
}

static int profile(const void *given, int count, char **arguments) {
  const settings *s = given;
  (void)count;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine *machine = NULL;
  bf_hash *hash = NULL;
  if (!s->launch)
    return cli_usage_error(&cli_profile, "--launch is needed: which kernels to run, and on what");
  int status = cli_check_words(&cli_profile, s->check);
  profiling work = {.settings = s};
  if (status < 0)
    status = cli_gate_check(&cli_profile, &s->gate);
  if (status < 0)
    status = cli_seconds(&cli_profile, "time-limit", s->time_limit, &work.fix_seconds);
  if (status >= 0)
    return status;
  if (s->workers > 1024)
    return cli_usage_error(&cli_profile, "--workers takes at most 1024");
  int error = cli_load_machine(&s->common, &machine, &diagnostic);
  if (!error)
    error = bf_launches_check_machine(machine, &diagnostic);
  if (!error)
    error = cli_load_banks(s->hash, machine, &hash, &diagnostic);
  work.machine = machine;
  work.hash = hash;
  cli_launches launches = {.ptx = arguments[0],
                           .module = s->module,
                           .check = s->check,
                           .prints_to_stderr = s->common.json,
                           .run = {.description = s->launch,
                                   .workers = (unsigned)s->workers,
                                   .before = before,
                                   .after = after,
                                   .context = &work}};
  if (!error)
    error = cli_launches_run(&launches, &diagnostic);
  if (!error)
    error = write_results(s, &work, arguments[0], &diagnostic);
  status = error ? cli_complain(&diagnostic) : CLI_OK;
  status = cli_kernel_table_gate(&s->gate, &work.costs, status);
  bf_profile_free(work.profile);
  bf_costs_free(&work.costs);
  bf_hash_free(hash);
  bf_machine_free(machine);
  return status;
}

const cli_command cli_profile = {
    .name = "profile",
    .summary = "run kernels of a PTX file without a GPU and show their bank conflicts",
    .arguments = "FILE",
    .details =
        "FILE is PTX, or a program, library or fat binary that holds PTX. A launch description "
        "says which\nkernels to run and on what data, line by line: 'buffer in f32 65536 random 0 "
        "1' makes a buffer,\n'launch transpose grid 8 8 block 32 8 with in out s32:256' runs a "
        "kernel (docs/profile.md).\nThe table shows what accesses to shared memory cost, the "
        "source lines with the most conflicts\n(where the PTX was made with -lineinfo), and what "
        "would remove them. A fault of a kernel is said\nwith its source line, block and thread, "
        "and the exit status is 2.",
    .examples = "bankfold profile kernel.ptx --launch kernel.launch\n"
                "bankfold profile kernel.ptx --launch kernel.launch --hash fixed --json\n"
                "bankfold profile kernel.ptx --launch kernel.launch --detect races",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = profile,
};
