/* exec: runs a CUDA program on the emulator or the simulator and tells what it does to shared
 * memory, and how long it would take. */
#include "cli/explorer.h"
#include "cli/library.h"
#include "cli/look/kernel_table.h"
#include "cli/look/launches.h"
#include "cli/look/simulate.h"
#include "cli/use/wrap.h"
#include "exchange/live.h"
#include "exchange/record.h"
#include "exchange/settings.h"
#include "hash/list.h"
#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
#include "tune/machine_code.h"
#include "tune/program.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
  cli_common common;
  cli_simulated simulated; /* gpu NULL: emulated */
  const char *profile, *html, *trace, *save_hashes, *time_limit, *rewrite, *check, *runtime,
      *sample, *hint_after, *what_if, *cubin;
  uint64_t own_status, hint_seconds;
  bool prints_trace;
  bool try_hashes, quiet, as_written, keep_going, stand_ins, skip_rest, every_launch;
  uint32_t one_in; /* of sample: blocks, of which one is counted; 0: all are */
  cli_gate gate;
} settings;

static const cli_option options[] = {
    {"profile", CLI_TEXT, offsetof(settings, profile), "FILE", NULL,
     "write the profile as JSON to FILE instead of the table"},
    {"html", CLI_TEXT, offsetof(settings, html), "FILE", NULL,
     "write the profile as a page to FILE instead of the table (docs/explorer.md)"},
    {"save-trace", CLI_TEXT, offsetof(settings, trace), "FILE", NULL,
     "write every shared access to FILE, for solve and check"},
    {"as-written", CLI_FLAG, offsetof(settings, as_written), NULL, NULL,
     "count and write accesses as the PTX has them, not as ptxas merges them"},
    {"save-hashes", CLI_TEXT, offsetof(settings, save_hashes), "FILE", NULL,
     "write the best hash of each kernel to FILE, for run, tune and rewrite"},
    {"try", CLI_FLAG, offsetof(settings, try_hashes), NULL, NULL,
     "save-hashes: run the program up to eight times more, rewritten, and keep what counts best"},
    {"time-limit", CLI_TEXT, offsetof(settings, time_limit), "SECONDS", NULL,
     "save-hashes: longest search, beyond as long as the run took (default 10; 0 = no limit)"},
    {"gpu", CLI_TEXT, offsetof(settings, simulated.gpu), "GPU", NULL,
     "simulate every launch on this GPU: a built-in name or a GPU file"},
    {"set", CLI_TEXTS, offsetof(settings, simulated.set), "KEY=VALUE", NULL,
     "with --gpu: change a parameter of the GPU; may be repeated"},
    {"hash", CLI_TEXT, offsetof(settings, simulated.hash), "HASH", NULL,
     "hash of the banks, for launches without one of their own (default none)"},
    {"hash-file", CLI_TEXT, offsetof(settings, simulated.hash_file), "FILE", NULL,
     "hashes of single kernels: lines KERNEL HASH, * for all others"},
    {"rewrite", CLI_TEXT, offsetof(settings, rewrite), "FILE", NULL,
     "rewrite kernels with these hashes before they run, as run does on a GPU"},
    {"what-if", CLI_TEXT, offsetof(settings, what_if), "HASH", NULL,
     "with --gpu: run the program once more with this hash, and say what that is worth"},
    {"cubin", CLI_TEXT, offsetof(settings, cubin), "auto", "auto",
     "with --gpu: what ptxas makes of the kernels decides about cycles, not an estimate"},
    {"lock-hash", CLI_TEXT, offsetof(settings, simulated.lock_hash), "KIND", "none xor add",
     "with --gpu: hash of the table of locks, for atomics that use one (default none)"},
    {"max-cycles", CLI_NUMBER, offsetof(settings, simulated.most_cycles), "N", NULL,
     "with --gpu: give up a launch after this many cycles (default: never)"},
    {"detect", CLI_TEXT, offsetof(settings, check), "LIST", NULL,
     "more faults to look for: uninitialised, races, or both with a comma"},
    {"keep-going", CLI_FLAG, offsetof(settings, keep_going), NULL, NULL,
     "say wrong accesses of a kernel once per line: reads give 0, writes are dropped"},
    {"sample", CLI_TEXT, offsetof(settings, sample), "SHARE", NULL,
     "count this share of the blocks (10%, 0.1), or as many as will do (auto): numbers become "
     "estimates"},
    {"skip-rest", CLI_FLAG, offsetof(settings, skip_rest), NULL, NULL,
     "with --sample: do not run what is not counted; results of the program are then wrong"},
    {"every-launch", CLI_FLAG, offsetof(settings, every_launch), NULL, NULL,
     "run launches that repeat another one exactly, too; their counts are added without"},
    {"hint-after", CLI_TEXT, offsetof(settings, hint_after), "SECONDS", NULL,
     "say what runs when kernels have run for so long (default 60; 0 = never)"},
    {"threads", CLI_NUMBER, offsetof(settings, simulated.workers), "N", NULL,
     "threads that run a kernel (default one per core)"},
    CLI_GATE(settings),
    {"own-status", CLI_NUMBER, offsetof(settings, own_status), "N", NULL,
     "exit status where exec itself fails, or a kernel could not be run (default 2)"},
    {"runtime", CLI_TEXT, offsetof(settings, runtime), "DIR", NULL,
     "where libcudart.so.11.0, .12 and .13 of Bankfold are (default: where they were installed)"},
    {"stand-ins", CLI_FLAG, offsetof(settings, stand_ins), NULL, NULL,
     "libraries of Bankfold in the place of NVIDIA's cuBLAS, cuFFT and cuRAND"},
    {"quiet", CLI_FLAG, offsetof(settings, quiet), NULL, NULL,
     "print nothing but what the program prints"},
    CLI_COMMON(settings),
};

/* ---- The libraries ---- */

/* The folder of the libraries, as an absolute path. */
static int find_runtime(const settings *s, char folder[PATH_MAX], bf_diagnostic *diagnostic) {
  static const char library[] = "libcudart.so.13";
  char path[PATH_MAX];
  if (s->runtime) {
    int written = snprintf(path, sizeof path, "%s/%s", s->runtime, library);
    if (written >= (int)sizeof path || access(path, R_OK) != 0 || !realpath(s->runtime, folder))
      return bf_fail(diagnostic, BF_IO, "no %s in %s", library, s->runtime);
    return BF_OK;
  }
  if (cli_find_library("runtime", library, folder))
    return BF_OK;
  return bf_fail(diagnostic, BF_IO,
                 "Bankfold's libcudart.so.13 was not found beside the program; give its folder "
                 "with --runtime");
}

/* ---- The environment of the program ---- */

/* What the library is told about a run whose records go to these folders. */
static bf_run_settings settings_of(const settings *s, const char *record, const char *accesses) {
  const cli_simulated *simulated = &s->simulated;
  return (bf_run_settings){
      .quiet = s->quiet,
      .machine = s->common.machine,
      .overrides = {sizeof(bf_overrides), (unsigned)s->common.banks, (unsigned)s->common.word_bytes,
                    (unsigned)s->common.lanes, (unsigned)s->common.address_bits},
      .gpu = simulated->gpu,
      .set = {simulated->set.text, simulated->set.count},
      .hash = simulated->hash,
      .hash_file = simulated->hash_file,
      .lock_hash = simulated->lock_hash,
      .most_cycles = simulated->most_cycles,
      .machine_code = s->cubin != NULL,
      .workers = simulated->workers,
      .check = {s->check && strstr(s->check, "uninitialised"),
                s->check && strstr(s->check, "races")},
      .as_written = s->as_written,
      .keep_going = s->keep_going,
      .sample = s->one_in,
      .skip_rest = s->skip_rest,
      .every_launch = s->every_launch,
      .hint_seconds = s->hint_seconds,
      .rewrite = s->rewrite,
      .record = record,
      .accesses = accesses,
      .trace = s->trace,
  };
}

/* Has the program load a library first, which also wins over a path inside the program (RPATH);
 * false where memory is exhausted. */
static bool preload(const char *runtime, const char *name) {
  char library[PATH_MAX + 80];
  snprintf(library, sizeof library, "%s/%s", runtime, name);
  return access(library, R_OK) != 0 || bf_process_preload(library);
}

/* Has the program find the stand-ins; those that it needs itself also against a path inside it. */
static int put_stand_ins(const bf_process_program *program, const char *runtime,
                         bf_diagnostic *diagnostic) {
  char folder[PATH_MAX + 16];
  snprintf(folder, sizeof folder, "%s/stand_ins", runtime);
  if (access(folder, R_OK) != 0)
    return bf_fail(diagnostic, BF_IO, "no stand-ins in %s", folder);
  bool is_done = bf_process_prepend_variable("LD_LIBRARY_PATH", folder);
  for (unsigned i = 0; i < program->libraries && is_done && !strpbrk(folder, " :"); i++)
    is_done = preload(folder, program->library[i]);
  return is_done ? BF_OK : bf_no_memory(diagnostic);
}

/* Has the program find the libraries: the runtime and the driver that it needs, and the one that
 * leads the calls of a runtime inside it, or inside a library of it. */
static int put_library(const settings *s, const bf_process_program *program, const char *runtime,
                       bf_diagnostic *diagnostic) {
  unsigned inside = program->cuda.runtime;
  bool can_preload = !strpbrk(runtime, " :"); /* between names */
  const char *library = inside ? bf_cuda_library(inside) : program->cuda_library;
  if (inside && !can_preload)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "programs that hold the CUDA runtime themselves need Bankfold's libraries in a "
                   "folder without spaces and colons in its path, unlike %s",
                   runtime);
  if (s->stand_ins)
    BF_TRY(put_stand_ins(program, runtime, diagnostic));
  bool is_done = bf_process_prepend_variable("LD_LIBRARY_PATH", runtime);
  if (is_done && can_preload && *library)
    is_done = preload(runtime, library);
  if (is_done && can_preload && program->needs_driver)
    is_done = preload(runtime, "libcuda.so.1");
  if (is_done && can_preload)
    is_done = preload(runtime, "libbankfold-lead.so");
  return is_done ? BF_OK : bf_no_memory(diagnostic);
}

/* ---- Running ---- */

/* Runs the program; with JSON its standard output goes to standard error. */
static int run_program(const settings *s, const bf_process_program *program, char **arguments,
                       bf_process_end *end, bf_diagnostic *diagnostic) {
  bf_process process = {.path = program->path,
                        .arguments = arguments,
                        .output_is_error = s->common.json || s->prints_trace,
                        .has_terminal = true};
  return bf_process_run(&process, end, diagnostic);
}

/* ---- What it did ---- */

/* Whether the table, which goes to standard error, is coloured. */
static bool wants_color(const cli_common *common) {
  const char *when = common->color ? common->color : "auto";
  if (strcmp(when, "auto") == 0)
    return isatty(2) && !getenv("NO_COLOR");
  return strcmp(when, "always") == 0;
}

/* The exit status of exec: the program's or, where that says that all went well and a kernel could
 * not be run, exec's own. */
static int status_of(const settings *s, const bf_costs *costs, int status) {
  uint64_t refused = 0;
  for (size_t i = 0; i < costs->kernels; i++)
    refused += costs->kernel[i].refused;
  return refused && status == 0 ? (int)s->own_status : status;
}

/* Says that there is nothing to show, and why that may be. A program that a signal ended is told
 * elsewhere. */
static void say_nothing_ran(const cli_program_run *run, const bf_process_program *program) {
  bool has_cuda = *program->cuda_library || program->cuda.runtime || program->needs_driver ||
                  program->has_fatbin;
  char status[64] = "";
  if (run->status)
    snprintf(status, sizeof status, " and ended with status %d", run->status);
  fprintf(stderr, "bankfold: %s launched no kernel%s%s\n", run->program, status,
          has_cuda ? ""
                   : ": it has no CUDA of its own, and no program that it started launched one");
}

/* Reads the records of the run and writes the table or JSON. */
static int write_results(const settings *s, cli_program_run *run, const bf_process_program *program,
                         const char *folder, bf_diagnostic *diagnostic) {
  bf_costs costs = {0};
  bf_text text = {0};
  bool wants_json = s->common.json || s->profile || s->html;
  int error = bf_record_read(folder, run->machine, &costs, diagnostic);
  if (!error)
    error = bf_live_read(folder, run->machine, &costs, diagnostic);
  bf_costs_sort(&costs);
  run->own_status = status_of(s, &costs, run->status);
  if (!error && wants_json)
    error = cli_kernel_table_write_json(run, &costs, &text, diagnostic);
  else if (!error && costs.kernels && !s->quiet)
    error = cli_kernel_table_write_text(run, &costs, wants_color(&s->common), &text, diagnostic);
  if (!error && !costs.kernels && !s->quiet && !run->signal)
    say_nothing_ran(run, program);
  if (!error && text.failed)
    error = bf_no_memory(diagnostic);
  if (!error && s->profile)
    error = bf_write_file(s->profile, text.data, text.size, diagnostic);
  if (!error && s->html)
    error = cli_explorer_write_report(s->html, run->program, text.data, diagnostic);
  if (!error && s->common.json)
    cli_print(&text);
  else if (!error && !wants_json && text.size)
    fwrite(text.data, 1, text.size, stderr);
  if (!error && run->own_status == 0)
    run->own_status = cli_kernel_table_gate(&s->gate, &costs, CLI_OK);
  bf_text_free(&text);
  bf_costs_free(&costs);
  return error;
}

/* Fails now where a file could not be written after the run. */
static int check_writable(const char *path, bf_diagnostic *diagnostic) {
  bf_writer *writer;
  if (!path || strcmp(path, "-") == 0)
    return BF_OK;
  BF_TRY(bf_writer_open(path, false, &writer, diagnostic));
  bf_writer_close(writer);
  return BF_OK;
}

/* Copies the trace of a run to standard output; a program without launches has none. */
static int print_trace(const char *path, bf_diagnostic *diagnostic) {
  char bytes[1 << 16];
  size_t size;
  FILE *file = fopen(path, "rb");
  if (!file)
    return errno == ENOENT ? BF_OK : bf_fail_file(diagnostic, BF_IO, path, "cannot open");
  bool is_good = true;
  while (is_good && (size = fread(bytes, 1, sizeof bytes, file)) > 0)
    is_good = fwrite(bytes, 1, size, stdout) == size;
  is_good = !ferror(file) && fflush(stdout) == 0 && is_good;
  fclose(file);
  return is_good || errno == EPIPE
             ? BF_OK
             : bf_fail(diagnostic, BF_IO, "cannot write the trace: %s", strerror(errno));
}

/* ---- The command ---- */

/* All that a run needs. */
typedef struct loaded {
  bf_process_program program;
  bf_machine *own_machine; /* of emulated launches */
  const bf_machine *machine;
  cli_simulation simulation; /* gpu NULL: emulated */
  bf_hash *what_if;          /* or NULL */
  double time_limit_seconds;
  char runtime[PATH_MAX];
  char folder[PATH_MAX]; /* of the records of the run; in it two more: */
  char accesses[PATH_MAX + 16], trials[PATH_MAX + 16];
  char hashes[PATH_MAX + 16], rewrite[PATH_MAX + 16]; /* copies of files, where they are needed */
  char trace[PATH_MAX + 16];                          /* where it is kept until it is printed */
} loaded;

/* Loads the machine and the hash, or the GPU that brings its own machine. */
static int load_machine(const settings *s, loaded *to, bf_diagnostic *diagnostic) {
  if (s->simulated.gpu) {
    bf_sim_ledger unused = {0};
    BF_TRY(cli_simulation_load(&s->simulated, &to->simulation, &unused, diagnostic));
    to->machine = to->simulation.gpu->machine;
  } else {
    BF_TRY(cli_load_machine(&s->common, &to->own_machine, diagnostic));
    to->machine = to->own_machine;
  }
  if (bf_machine_lanes(to->machine) != 32)
    return bf_fail(diagnostic, BF_UNSUPPORTED,
                   "CUDA programs have warps of 32 threads; machine '%s' has %u",
                   bf_machine_name(to->machine), bf_machine_lanes(to->machine));
  if (s->simulated.hash_file && !to->simulation.hashes)
    BF_TRY(bf_hash_list_read(s->simulated.hash_file, bf_machine_geometry(to->machine),
                             &to->simulation.hashes, diagnostic));
  if (s->what_if)
    BF_TRY(cli_load_hash(s->what_if, to->machine, &to->what_if, diagnostic));
  if (to->simulation.hash)
    return BF_OK;
  return cli_load_hash(s->simulated.hash, to->machine, &to->simulation.hash, diagnostic);
}

/* Hashes are chosen for the memory that kernels are rewritten for. */
static int check_geometry(const bf_machine *machine, bf_diagnostic *diagnostic) {
  bf_geometry geometry = bf_machine_geometry(machine);
  if (geometry.bank_bits == 5 && geometry.word_bytes == 4)
    return BF_OK;
  return bf_fail(diagnostic, BF_UNSUPPORTED,
                 "kernels are rewritten for 32 banks of 4 bytes; machine '%s' has %u of %u",
                 bf_machine_name(machine), 1u << geometry.bank_bits, geometry.word_bytes);
}

static int make_folders(loaded *to, bf_diagnostic *diagnostic) {
  BF_TRY(bf_process_make_folder(to->folder, diagnostic));
  snprintf(to->accesses, sizeof to->accesses, "%s/.accesses", to->folder);
  snprintf(to->trials, sizeof to->trials, "%s/.trials", to->folder);
  if (mkdir(to->accesses, 0700) != 0 || mkdir(to->trials, 0700) != 0)
    return bf_fail(diagnostic, BF_IO, "cannot make folders in %s: %s", to->folder, strerror(errno));
  return BF_OK;
}

/* Copies a file of hashes that cannot be read again, <(...), into the folder of the run: the
 * program reads it too. *path is then that of the copy. */
static int keep_hashes(const char **path, const char *name, loaded *to, char copy[PATH_MAX + 16],
                       bf_diagnostic *diagnostic) {
  struct stat status;
  bf_text text = {0};
  if (!*path || stat(*path, &status) != 0 || S_ISREG(status.st_mode))
    return BF_OK;
  snprintf(copy, PATH_MAX + 16, "%s/%s", to->folder, name);
  int error = bf_hash_list_read_text(*path, &text, diagnostic);
  if (!error)
    error = bf_write_file(copy, text.data, text.size, diagnostic);
  bf_text_free(&text);
  *path = copy;
  return error;
}

/* What --cubin needs: a GPU that machine code is known of, and ptxas. */
static int check_machine_code(const bf_sim_gpu *gpu, bf_diagnostic *diagnostic) {
  char ptxas[PATH_MAX];
  BF_TRY(bf_machine_code_suits(gpu, "--cubin", diagnostic));
  return bf_process_find_tool("ptxas", BF_VARIABLE_PTXAS, ptxas, diagnostic);
}

/* Loads and checks all before the program is started; files of hashes may get other names. */
static int load(settings *s, const char *name, loaded *to, bf_diagnostic *diagnostic) {
  BF_TRY(make_folders(to, diagnostic));
  BF_TRY(keep_hashes(&s->simulated.hash_file, "hashes", to, to->hashes, diagnostic));
  BF_TRY(keep_hashes(&s->rewrite, "rewrite", to, to->rewrite, diagnostic));
  if (s->prints_trace) {
    snprintf(to->trace, sizeof to->trace, "%s/.trace", to->folder);
    s->trace = to->trace;
  }
  BF_TRY(load_machine(s, to, diagnostic));
  if (s->cubin)
    BF_TRY(check_machine_code(to->simulation.gpu, diagnostic));
  if (s->save_hashes || s->rewrite)
    BF_TRY(check_geometry(to->machine, diagnostic));
  bf_text unused = {0}; /* the file is a regular one by now */
  if (s->rewrite)
    BF_TRY(cli_wrap_check(s->rewrite, NULL, &unused, diagnostic));
  BF_TRY(bf_process_inspect(name, &to->program, diagnostic));
  BF_TRY(bf_process_can_be_led(&to->program, diagnostic));
  BF_TRY(check_writable(s->profile, diagnostic));
  BF_TRY(check_writable(s->html, diagnostic));
  BF_TRY(check_writable(s->trace, diagnostic));
  BF_TRY(check_writable(s->save_hashes, diagnostic));
  return find_runtime(s, to->runtime, diagnostic);
}

/* Reads the share of blocks; false where it is none. */
static bool read_share(settings *s) {
  char *end;
  if (strcmp(s->sample, "auto") == 0) {
    s->one_in = UINT32_MAX;
    return true;
  }
  double share = strtod(s->sample, &end);
  if (*end == '%') {
    share /= 100;
    end++;
  }
  if (end == s->sample || *end || !(share > 0 && share <= 1))
    return false;
  s->one_in = 1 / share < UINT32_MAX - 1 ? (uint32_t)(1 / share + 0.5) : UINT32_MAX - 1;
  return true;
}

/* The same for samples. */
static int check_sample(settings *s) {
  if (s->skip_rest && !s->sample)
    return cli_usage_error(&cli_exec, "--skip-rest needs --sample");
  if (!s->sample)
    return -1;
  if (s->simulated.gpu || s->trace || s->save_hashes)
    return cli_usage_error(&cli_exec, "--sample excludes --gpu, --trace and --save-hashes, which "
                                      "need all blocks");
  if (!read_share(s))
    return cli_usage_error(
        &cli_exec, "--sample takes a share above 0 and up to 100%%, or auto, not '%s'", s->sample);
  return -1;
}

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s) {
  const cli_common *common = &s->common;
  const cli_simulated *simulated = &s->simulated;
  if (simulated->gpu && (common->machine || common->banks || common->word_bytes || common->lanes ||
                         common->address_bits))
    return cli_usage_error(&cli_exec, "--gpu brings its own machine; --machine and what changes it "
                                      "cannot be given");
  if (!simulated->gpu && (simulated->set.count || simulated->lock_hash || simulated->most_cycles))
    return cli_usage_error(&cli_exec, "--set, --lock-hash and --max-cycles need --gpu");
  if (s->cubin && !simulated->gpu)
    return cli_usage_error(&cli_exec, "--cubin needs --gpu");
  if (simulated->gpu && s->as_written)
    return cli_usage_error(&cli_exec, "with --gpu its parameter merge says which accesses are "
                                      "made; --as-written cannot be given");
  if ((simulated->hash_file && strcmp(simulated->hash_file, "-") == 0) ||
      (s->rewrite && strcmp(s->rewrite, "-") == 0))
    return cli_usage_error(&cli_exec, "hashes cannot be standard input, which is the program's");
  if (simulated->hash && strcmp(simulated->hash, "auto") == 0)
    return cli_usage_error(&cli_exec, "--hash auto is for run; here --save-hashes FILE finds a "
                                      "hash for each kernel, and --rewrite FILE runs with them");
  if (s->what_if && (!simulated->gpu || simulated->hash_file))
    return cli_usage_error(&cli_exec, "--what-if needs --gpu, and excludes --hash-file");
  if (s->prints_trace && common->json)
    return cli_usage_error(&cli_exec, "--json and the trace cannot both be standard output");
  if ((s->time_limit || s->try_hashes) && !s->save_hashes)
    return cli_usage_error(&cli_exec, "--try and --time-limit are for --save-hashes");
  if (s->save_hashes && (simulated->hash || simulated->hash_file))
    return cli_usage_error(&cli_exec, "--save-hashes is for memory without a hash of its own; "
                                      "--hash and --hash-file give it one");
  if ((s->rewrite || s->as_written) && s->save_hashes)
    return cli_usage_error(&cli_exec, "--save-hashes excludes --rewrite and --as-written");
  if (simulated->workers > 1024 || s->own_status > 255)
    return cli_usage_error(&cli_exec, "--workers takes at most 1024, --own-status 255");
  int gate = cli_gate_check(&cli_exec, &s->gate);
  if (gate >= 0)
    return gate;
  return cli_check_words(&cli_exec, s->check);
}

/* ---- Hashes ---- */

/* What a trial needs to know. */
typedef struct trial_context {
  const settings *settings;
  const loaded *from;
  char **arguments;
  int status; /* of the first run */
  double limit_seconds;
  bf_costs first, last; /* what runs have cost */
} trial_context;

static bool goes_on(void *context) {
  (void)context;
  return !cli_interrupted();
}

/* Runs the program once more as it is told to. It prints nothing and reads nothing. *is_good: it
 * ended as the first run did; *costs is what it has cost then. */
static int run_again(const trial_context *trial, bf_run_settings *told, bf_costs *costs,
                     bool *is_good, bf_diagnostic *diagnostic) {
  const loaded *from = trial->from;
  bf_process process = {.path = from->program.path,
                        .arguments = trial->arguments,
                        .input = "/dev/null",
                        .output = "/dev/null",
                        .error = "/dev/null",
                        .limit_seconds = trial->limit_seconds,
                        .tick = goes_on};
  bf_process_end end;
  bf_process_empty_folder(from->trials);
  told->trace = NULL;
  told->quiet = true;
  BF_TRY(bf_run_settings_put(told, diagnostic));
  BF_TRY(bf_process_run(&process, &end, diagnostic));
  if (end.is_stopped)
    return bf_fail(diagnostic, BF_IO, "interrupted");
  *is_good = !end.is_late && end.status == trial->status;
  if (*is_good)
    return bf_record_read(from->trials, from->machine, costs, diagnostic);
  if (!trial->settings->quiet)
    fprintf(stderr, "bankfold: warning: a run with hashes %s; they are not used\n",
            end.is_late ? "took too long" : "ended with another status");
  return BF_OK;
}

/* Runs the program once more with hashes: bf_program_runner.run. */
static int run_trial(void *given, const bf_text *hashes, bool *is_good, bf_diagnostic *diagnostic) {
  trial_context *trial = given;
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/.hashes", trial->from->folder);
  bf_costs_free(&trial->last);
  BF_TRY(bf_write_file(path, hashes->data, hashes->size, diagnostic));
  bf_run_settings told = settings_of(trial->settings, trial->from->trials, NULL);
  told.rewrite = path;
  return run_again(trial, &told, &trial->last, is_good, diagnostic);
}

/* Runs the program, which ended so, once more with the hash of --what-if; *costs stays empty where
 * there is none, or where that did not end as the first run. */
static int run_what_if(const settings *s, const loaded *from, char **arguments,
                       const bf_process_end *first, bf_costs *costs, bf_diagnostic *diagnostic) {
  bool is_good;
  if (!s->what_if || first->signal)
    return BF_OK;
  trial_context trial = {.settings = s,
                         .from = from,
                         .arguments = arguments,
                         .status = first->status,
                         .limit_seconds = 60 + 10 * first->seconds};
  bf_run_settings told = settings_of(s, from->trials, NULL);
  told.hash = s->what_if;
  cli_watch_interrupt();
  return run_again(&trial, &told, costs, &is_good, diagnostic);
}

/* bf_program_runner.compare */
static bool compare_runs(void *given, const char *kernel, bf_comparison *comparison) {
  const trial_context *trial = given;
  *comparison = (bf_comparison){bf_program_evidence(&trial->first, kernel),
                                bf_program_evidence(&trial->last, kernel)};
  return comparison->before.instructions && comparison->after.instructions;
}

/* Tries what was proposed. */
static int try_hashes(const settings *s, const loaded *from, char **arguments, int status,
                      double seconds, bf_program *program, bf_diagnostic *diagnostic) {
  trial_context trial = {.settings = s,
                         .from = from,
                         .arguments = arguments,
                         .status = status,
                         .limit_seconds = 60 + 10 * seconds};
  bf_program_runner runner = {.run = run_trial, .compare = compare_runs, .context = &trial};
  cli_watch_interrupt();
  int error = bf_record_read(from->folder, from->machine, &trial.first, diagnostic);
  if (!error)
    error = bf_program_try(program, &runner, diagnostic);
  bf_costs_free(&trial.first);
  bf_costs_free(&trial.last);
  return error;
}

/* Writes what was chosen. */
static int write_hashes(const settings *s, const loaded *from, const char *program,
                        const bf_program *tuned, bf_diagnostic *diagnostic) {
  bf_text title = {0}, text = {0};
  bf_text_addf(
      &title, "predicted by bankfold exec for %s on %s, from the accesses of a run; %s", program,
      from->simulation.gpu ? from->simulation.gpu->name : bf_machine_name(from->machine),
      s->try_hashes ? "candidates were tried in runs of their own" : "candidates were not tried");
  for (char *at = title.data; at && *at; at++)
    *at = *at == '\n' || *at == '\r' ? ' ' : *at; /* it is one comment */
  bf_program_write(tuned, title.data ? title.data : "", &text);
  int error = title.failed || text.failed
                  ? bf_no_memory(diagnostic)
                  : bf_write_file(s->save_hashes, text.data, text.size, diagnostic);
  bf_text_free(&title);
  bf_text_free(&text);
  return error;
}

/* Chooses hashes from the accesses of the run, which took so long, and writes them. */
static int save_hashes(const settings *s, const loaded *from, char **arguments, int status,
                       double seconds, bf_diagnostic *diagnostic) {
  bf_program program = {0};
  bf_plans_search search = {.machine = from->machine};
  if (from->time_limit_seconds > 0)
    search.deadline = bf_seconds() + seconds + from->time_limit_seconds;
  bf_accesses accesses = {0};
  int error = bf_accesses_read(from->accesses, from->machine, &accesses, diagnostic);
  if (!error)
    error = bf_program_make(&accesses, &program, diagnostic);
  program.gpu = from->simulation.gpu;
  if (!error)
    error = bf_program_propose(&program, &search, diagnostic);
  if (!error && s->try_hashes)
    error = try_hashes(s, from, arguments, status, seconds, &program, diagnostic);
  if (!error)
    error = write_hashes(s, from, arguments[0], &program, diagnostic);
  bf_program_free(&program);
  bf_accesses_free(&accesses);
  return error;
}

/* Runs the program and tells what it did; *status is that of exec. */
static int run_and_tell(const settings *s, const loaded *from, int count, char **arguments,
                        int *status, bf_diagnostic *diagnostic) {
  arguments[count] = NULL;
  bf_run_settings told = settings_of(s, from->folder, s->save_hashes ? from->accesses : NULL);
  BF_TRY(put_library(s, &from->program, from->runtime, diagnostic));
  BF_TRY(bf_run_settings_put(&told, diagnostic));
  bf_process_end end;
  BF_TRY(run_program(s, &from->program, arguments, &end, diagnostic));
  const char *lock_hash = s->simulated.lock_hash;
  cli_program_run run = {.program = arguments[0],
                         .status = end.status,
                         .signal = end.signal,
                         .machine = from->machine,
                         .hash = bf_hash_text(from->simulation.hash),
                         .gpu = from->simulation.gpu,
                         .machine_code = s->cubin != NULL,
                         .lock_hash = lock_hash ? lock_hash : "plain",
                         .skipped_rest = s->skip_rest};
  bf_costs hashed = {0};
  int error = run_what_if(s, from, arguments, &end, &hashed, diagnostic);
  run.what_if = hashed.kernels ? bf_hash_text(from->what_if) : NULL;
  run.hashed = &hashed;
  if (!error)
    error = write_results(s, &run, &from->program, from->folder, diagnostic);
  bf_costs_free(&hashed);
  BF_TRY(error);
  if (s->prints_trace)
    BF_TRY(print_trace(from->trace, diagnostic));
  *status = run.own_status;
  return s->save_hashes ? save_hashes(s, from, arguments, end.status, end.seconds, diagnostic)
                        : BF_OK;
}

/* The status of exec's own failures, where status, as all commands have it, is one. */
static int own_status(const settings *s, int status) {
  return status == CLI_BAD_INPUT && s->own_status <= 255 ? (int)s->own_status : status;
}

/* Reads --hint-after; whole seconds, rounded up. A status, or below 0. */
static int read_hint(settings *s) {
  double seconds = 60;
  int status = cli_seconds(&cli_exec, "hint-after", s->hint_after, &seconds);
  s->hint_seconds = (uint64_t)ceil(seconds);
  return status;
}

static int run(const void *given, int count, char **arguments) {
  settings own = *(const settings *)given, *s = &own;
  loaded needed = {.time_limit_seconds = 10};
  bf_diagnostic diagnostic = {.caret = -1};
  if (!s->own_status)
    s->own_status = CLI_BAD_INPUT;
  s->prints_trace = s->trace && strcmp(s->trace, "-") == 0;
  int status = check_usage(s);
  if (status < 0)
    status = check_sample(s);
  if (status < 0)
    status = cli_seconds(&cli_exec, "time-limit", s->time_limit, &needed.time_limit_seconds);
  if (status < 0)
    status = read_hint(s);
  if (status >= 0)
    return own_status(s, status);
  int error = load(s, arguments[0], &needed, &diagnostic);
  if (!error)
    error = run_and_tell(s, &needed, count, arguments, &status, &diagnostic);
  if (*needed.folder) {
    bf_process_remove_folder(needed.accesses);
    bf_process_remove_folder(needed.trials);
    bf_process_remove_folder(needed.folder);
  }
  cli_simulation_free(&needed.simulation);
  bf_hash_free(needed.what_if);
  bf_machine_free(needed.own_machine);
  return !error ? status : own_status(s, cli_complain(&diagnostic));
}

const cli_command cli_exec = {
    .name = "exec",
    .summary = "run a CUDA program without a GPU and show its bank conflicts",
    .arguments = "PROGRAM [ARGUMENT...]",
    .details =
        "PROGRAM is one that nvcc 11, 12 or 13 built, with PTX inside (as nvcc -arch=sm_90 puts\n"
        "it). Its kernels run on the emulator; what it prints and its exit\n"
        "status are its own. Then a table on standard error shows for each kernel what its\n"
        "accesses to shared memory cost, the source lines with the most conflicts (where it was\n"
        "built with -lineinfo), and what would remove them. With --json the table is an object on\n"
        "standard output, and what the program prints goes to standard error. Options stand\n"
        "before PROGRAM; all that follows it is for the program.\n\n"
        "With --gpu every launch is simulated: the table shows cycles and time too, CUDA events\n"
        "and clock64 show the time of the GPU, and the program sees its properties. A program\n"
        "chooses the hash of the banks for its next launches by calling bankfoldSetHash\n"
        "(bankfold_cuda.h), which comes before --hash.",
    .examples =
        "bankfold exec ./app 1024                     # run it\n"
        "bankfold exec --profile app.json ./app       # the profile as JSON\n"
        "bankfold exec --hash fixed ./app             # as if memory were hashed\n"
        "bankfold exec --save-trace - ./app | bankfold solve -   # the program prints on stderr\n"
        "bankfold exec --save-hashes app.hashes ./app # the best hash of each kernel\n"
        "bankfold exec --rewrite app.hashes ./app     # are results what they were?\n"
        "bankfold exec --detect races,uninitialised ./app\n"
        "bankfold exec --stand-ins ./app              # own cuBLAS, cuFFT, cuRAND\n"
        "bankfold exec --keep-going ./app             # look on after a wrong access\n"
        "bankfold exec --sample auto --skip-rest ./app # conflicts of a long program, soon\n"
        "bankfold exec --gpu gtx580 ./app             # how long it takes there\n"
        "bankfold exec --gpu h200 --cubin auto ./app  # by the machine code that ptxas makes\n"
        "bankfold exec --gpu h200 --set sms=8 --set scheduler=gto --hash fixed ./app\n",
    CLI_OPTIONS(options, settings),
    .least_arguments = 1,
    .most_arguments = 1,
    .passes_rest = true,
    .run = run,
};
