/* sim: how long kernels take on a GPU that need not exist, and why. */
#include "cli/look/launch_table.h"
#include "cli/look/launches.h"
#include "cli/look/machine_code.h"
#include "cli/look/simulate.h"
#include "cli/look/sweep.h"
#include "cli/progress.h"

#include "kernels/sim_device.h"
#include "sim/worth.h"

#include <string.h>

typedef struct settings {
  cli_common common;
  cli_simulated simulated;
  const char *launch, *benchmark, *check, *from, *cubin;
  uint64_t module, scale, seed;
  const char *timeline, *svg, *diagram_svg;
  uint64_t timeline_cycles, diagram, diagram_from, width;
  const char *sweep, *output, *what_if, *sample;
} settings;

enum { TIMELINE_CYCLES = 100000, DIAGRAM_CYCLES = 100 };

static const cli_option options[] = {
    {"launch", CLI_TEXT, offsetof(settings, launch), "FILE", NULL,
     "the launch description: buffers and launches (docs/profile.md)"},
    {"from", CLI_TEXT, offsetof(settings, from), "TOOL", "accelsim",
     "FILE is a trace of machine instructions: of a kernel, by Accel-Sim's tracer (.traceg)"},
    {"benchmark", CLI_TEXT, offsetof(settings, benchmark), "BENCHMARK", NULL,
     "simulate a benchmark of the corpus instead of a file (bankfold corpus lists them)"},
    {"scale", CLI_NUMBER, offsetof(settings, scale), "N", NULL,
     "size of the benchmark's input (default 1)"},
    {"seed", CLI_NUMBER, offsetof(settings, seed), "N", NULL,
     "choose other data for the benchmark"},
    CLI_SIMULATED(settings),
    {"cubin", CLI_TEXT, offsetof(settings, cubin), "CUBIN", NULL,
     "let machine code decide, not an estimate: what ptxas -arch=sm_90 --generate-line-info has "
     "made of the PTX; auto: run ptxas now"},
    {"detect", CLI_TEXT, offsetof(settings, check), "LIST", NULL,
     "more faults to look for: uninitialised, races, or both with a comma"},
    {"module", CLI_NUMBER, offsetof(settings, module), "N", NULL,
     "module of a program or fat binary (default 1)"},
    {"timeline", CLI_TEXT, offsetof(settings, timeline), "FILE", NULL,
     "write every instruction as a trace event, for ui.perfetto.dev or chrome://tracing"},
    {"timeline-cycles", CLI_NUMBER, offsetof(settings, timeline_cycles), "N", NULL,
     "only the first N cycles of each launch (default 100000)"},
    {"svg", CLI_TEXT, offsetof(settings, svg), "FILE", NULL,
     "draw what schedulers did with their turns, a bar for each launch"},
    {"diagram", CLI_NUMBER, offsetof(settings, diagram), "N", NULL,
     "draw the pipeline in the first N cycles of the first launch, on SM 0"},
    {"diagram-from", CLI_NUMBER, offsetof(settings, diagram_from), "CYCLE", NULL,
     "draw N cycles from this one on"},
    {"diagram-svg", CLI_TEXT, offsetof(settings, diagram_svg), "FILE", NULL,
     "draw that as SVG, into a file (N: 100, unless --diagram is given)"},
    {"width", CLI_NUMBER, offsetof(settings, width), "N", NULL,
     "characters in a line of the diagram (default: the terminal's)"},
    {"what-if", CLI_TEXT, offsetof(settings, what_if), "HASH", NULL,
     "what hashing the banks would be worth: gains, and what 80 of 100 measured ones lie in"},
    {"sample", CLI_TEXT, offsetof(settings, sample), "SHARE", NULL,
     "simulate a share of the blocks of large launches, and some of many launches alike; auto: as "
     "few as will do"},
    {"sweep", CLI_TEXT, offsetof(settings, sweep), "AXES", NULL,
     "simulate every combination of values: 'hash=none|fixed;sms=1..8' (docs/sweeps.md)"},
    {"output", CLI_TEXT, offsetof(settings, output), "FILE", NULL,
     "--sweep: the results, CSV or with --json an object per line; resumed where it exists"},
    CLI_OUTPUT(settings),
};

/* Everything sim loads and makes. */
typedef struct simulating {
  const settings *settings;
  const char *file; /* or NULL: a benchmark */
  const bf_corpus_benchmark *benchmark;
  cli_simulation simulation;
  bf_sim_ledger ledger;
  bf_corpus_outcome outcome;
  bf_machine_code machine;
  bf_writer *svg, *diagram_svg;
} simulating;

/* ---- Running ---- */

/* Simulates the launch that a trace is of. */
static int run_trace(simulating *work, bf_diagnostic *diagnostic) {
  bf_sim_sass *trace;
  BF_TRY(bf_sim_sass_read(work->file, work->simulation.gpu->machine, &trace, diagnostic));
  cli_block_bar bar = cli_block_bar_begin(bf_sim_sass_kernel(trace));
  work->ledger.progress = cli_block_bar_step;
  work->ledger.progress_context = &bar;
  cli_watch_interrupt();
  int error = bf_sim_ledger_run_sass(&work->ledger, trace, diagnostic);
  cli_block_bar_end(&bar);
  bf_sim_sass_free(trace);
  if (!error && cli_interrupted())
    return bf_fail(diagnostic, BF_IO, "interrupted");
  return error;
}

static int run_file(simulating *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  if (s->from)
    return run_trace(work, diagnostic);
  cli_launches launches = {.ptx = work->file,
                           .module = s->module,
                           .check = s->check,
                           .prints_to_stderr = s->common.json,
                           .run = {.description = s->launch,
                                   .workers = (unsigned)s->simulated.workers,
                                   .execute = cli_simulate_launch,
                                   .context = &work->ledger}};
  return cli_launches_run(&launches, diagnostic);
}

static int run_benchmark(simulating *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  cli_block_bar bar = cli_block_bar_begin(work->benchmark->name);
  work->ledger.progress = cli_block_bar_step;
  work->ledger.progress_context = &bar;
  cli_watch_interrupt();
  int error = bf_corpus_simulate(work->benchmark, s->scale ? (unsigned)s->scale : 1,
                                 (unsigned)s->seed, &work->ledger, &work->outcome, diagnostic);
  cli_block_bar_end(&bar);
  return error;
}

/* ---- Output ---- */

/* Opens all files before the work begins: those that cannot be written are no surprise after it. */
static int open_outputs(simulating *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  if (s->timeline)
    BF_TRY(bf_timeline_open(s->timeline, &work->ledger.timeline, diagnostic));
  work->ledger.timeline_cycles = s->timeline_cycles ? s->timeline_cycles : TIMELINE_CYCLES;
  if (s->svg)
    BF_TRY(bf_writer_open(s->svg, false, &work->svg, diagnostic));
  if (s->diagram_svg)
    BF_TRY(bf_writer_open(s->diagram_svg, false, &work->diagram_svg, diagnostic));
  if (s->diagram || s->diagram_svg)
    BF_TRY(bf_diagram_create(0, s->diagram_from, s->diagram ? (unsigned)s->diagram : DIAGRAM_CYCLES,
                             &work->ledger.diagram, diagnostic));
  return BF_OK;
}

/* Writes text to an open file and frees it. */
static int commit_text(bf_writer *writer, bf_text *text, bf_diagnostic *diagnostic) {
  int error = text->failed ? bf_no_memory(diagnostic)
                           : bf_writer_write(writer, text->data, text->size, diagnostic);
  bf_text_free(text);
  return error ? error : bf_writer_commit(writer, diagnostic);
}

static int write_files(simulating *work, const cli_launch_table *costs, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (work->svg) {
    BF_TRY(cli_launch_table_write_svg(costs, &text, diagnostic));
    BF_TRY(commit_text(work->svg, &text, diagnostic));
  }
  if (work->diagram_svg) {
    BF_TRY(bf_diagram_svg(work->ledger.diagram, &text, diagnostic));
    BF_TRY(commit_text(work->diagram_svg, &text, diagnostic));
  }
  return work->ledger.timeline ? bf_timeline_commit(work->ledger.timeline, diagnostic) : BF_OK;
}

/* What is printed. */
static int write_text(simulating *work, const cli_launch_table *costs, bf_text *text,
                      bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  bool color = cli_wants_color(&s->common);
  if (s->common.json) {
    cli_launch_table_write_json(costs, text);
    return BF_OK;
  }
  cli_launch_table_write_text(costs, color, text);
  if (work->ledger.timeline)
    bf_text_addf(text, "%s: %llu instructions\n", s->timeline,
                 (unsigned long long)bf_timeline_events(work->ledger.timeline));
  if (!s->diagram)
    return BF_OK;
  bf_text_puts(text, "\n");
  return bf_diagram_text(work->ledger.diagram, color, cli_columns(s->width), text, diagnostic);
}

static int write_results(simulating *work, bf_text *text, bf_diagnostic *diagnostic) {
  bf_sim_launched total;
  BF_TRY(bf_sim_ledger_total(&work->ledger, &total, diagnostic));
  const char *lock_hash = work->settings->simulated.lock_hash;
  cli_launch_table costs = {.program = work->file,
                            .benchmark = work->benchmark ? work->benchmark->name : NULL,
                            .outcome = work->benchmark ? &work->outcome : NULL,
                            .lock_hash = lock_hash ? lock_hash : "plain",
                            .gpu = work->simulation.gpu,
                            .ledger = &work->ledger,
                            .total = &total};
  BF_TRY(write_text(work, &costs, text, diagnostic));
  return write_files(work, &costs, diagnostic);
}

/* ---- The command ---- */

/* Makes the sampler that --sample asks for. */
static int make_sampler(const settings *s, bf_sim_ledger *ledger, bf_diagnostic *diagnostic) {
  double share;
  if (!s->sample || !bf_sim_sample_share(s->sample, &share))
    return BF_OK;
  ledger->sampler = bf_sim_sampler_create(share);
  return ledger->sampler ? BF_OK : bf_no_memory(diagnostic);
}

/* Loads the machine code that --cubin asks for. */
static int load_machine_code(simulating *work, bf_diagnostic *diagnostic) {
  const settings *s = work->settings;
  if (!s->cubin)
    return BF_OK;
  const char *ptx = work->benchmark ? bf_corpus_ptx(work->benchmark->folder) : NULL;
  work->ledger.settings.machine = &work->machine;
  return cli_machine_code_load(s->cubin, work->simulation.gpu, work->file, s->module, ptx,
                               &work->machine, diagnostic);
}

/* What is wrong with a sweep: -1 to go on or an exit status. */
static int check_sweep_usage(const settings *s, const char *file) {
  if (!s->sweep != !s->output)
    return cli_usage_error(&cli_sim, "--sweep and --output FILE go together");
  if (s->what_if && (s->sweep || s->common.json))
    return cli_usage_error(&cli_sim, "--what-if prints text about one simulation");
  if (s->sweep && (s->timeline || s->svg || s->diagram || s->diagram_svg))
    return cli_usage_error(&cli_sim, "--timeline, --svg and --diagram show one simulation, not a "
                                     "sweep");
  double share;
  if (s->sample && !bf_sim_sample_share(s->sample, &share))
    return cli_usage_error(
        &cli_sim, "--sample takes a share above 0 and up to 100%%, or auto, not '%s'", s->sample);
  if (s->sample && (s->sweep || s->timeline || s->diagram || s->diagram_svg))
    return cli_usage_error(&cli_sim, "--sample excludes --sweep, --timeline and --diagram");
  if (s->sweep && file && strcmp(file, "-") == 0)
    return cli_usage_error(&cli_sim, "a sweep reads its file more than once; standard input cannot "
                                     "be");
  return -1;
}

/* What is wrong where a trace is simulated: -1 to go on or an exit status. */
static int check_trace_usage(const settings *s, int count) {
  if (s->from && !count)
    return cli_usage_error(&cli_sim, "--from says who wrote FILE: give one");
  if (s->cubin && (s->from || s->sweep))
    return cli_usage_error(&cli_sim, "--cubin is for PTX, and not for sweeps");
  if (s->from && (s->launch || s->module || s->check))
    return cli_usage_error(&cli_sim, "--launch, --module and --detect are for PTX; a trace has its "
                                     "launch in it");
  if (s->from && (s->timeline || s->diagram || s->diagram_svg || s->sample || s->sweep))
    return cli_usage_error(&cli_sim, "--timeline, --diagram, --sample and --sweep are not for "
                                     "traces");
  return -1;
}

/* What is wrong with the command line: -1 to go on or an exit status. */
static int check_usage(const settings *s, int count) {
  if (s->benchmark && count)
    return cli_usage_error(&cli_sim, "--benchmark and a file exclude each other");
  if (!s->benchmark && !count && !s->sweep)
    return cli_usage_error(&cli_sim, "missing argument: FILE, or --benchmark");
  const bf_corpus_benchmark *benchmark;
  bf_diagnostic diagnostic;
  if (s->benchmark && bf_corpus_named(s->benchmark, &benchmark, &diagnostic) != BF_OK)
    return cli_usage_error(&cli_sim, "%s", diagnostic.message);
  int status = check_trace_usage(s, count);
  if (status >= 0)
    return status;
  if (count && !s->launch && !s->from)
    return cli_usage_error(&cli_sim, "--launch is needed: which kernels to run, and on what");
  if (!count && (s->launch || s->module || s->check))
    return cli_usage_error(&cli_sim, "--launch, --module and --check are for files");
  if (count && (s->scale || s->seed))
    return cli_usage_error(&cli_sim, "--scale and --seed are for benchmarks");
  if (s->simulated.workers > 1024 || s->scale > 1024 || s->seed > UINT32_MAX)
    return cli_usage_error(&cli_sim, "--workers and --scale take at most 1024");
  if (s->diagram > BF_DIAGRAM_MOST_CYCLES)
    return cli_usage_error(&cli_sim, "--diagram takes at most %d", BF_DIAGRAM_MOST_CYCLES);
  if (s->common.json && s->diagram && !s->diagram_svg)
    return cli_usage_error(&cli_sim, "--diagram prints text; with --json, give --diagram-svg");
  return cli_check_words(&cli_sim, s->check);
}

static void unload(simulating *work) {
  bf_timeline_close(work->ledger.timeline);
  bf_diagram_free(work->ledger.diagram);
  bf_writer_close(work->svg);
  bf_writer_close(work->diagram_svg);
  bf_sim_sampler_free(work->ledger.sampler);
  bf_sim_ledger_free(&work->ledger);
  bf_machine_code_free(&work->machine);
  cli_simulation_free(&work->simulation);
}

/* Runs the same with banks hashed as --what-if says, and writes what that is worth. */
static int write_worth(const simulating *work, bf_text *text, bf_diagnostic *diagnostic) {
  cli_simulated hashed = work->settings->simulated;
  hashed.hash = work->settings->what_if;
  simulating other = {.settings = work->settings, .file = work->file, .benchmark = work->benchmark};
  int error = cli_simulation_load(&hashed, &other.simulation, &other.ledger, diagnostic);
  if (!error)
    error = make_sampler(work->settings, &other.ledger, diagnostic);
  if (!error)
    error = load_machine_code(&other, diagnostic);
  if (!error)
    error = other.benchmark ? run_benchmark(&other, diagnostic) : run_file(&other, diagnostic);
  if (!error)
    bf_sim_worth_write(&work->ledger, &other.ledger, hashed.hash, text);
  unload(&other);
  return error;
}

static int run_sweep(const settings *s, const char *file) {
  cli_sweep request = {.text = s->sweep,
                       .output = s->output,
                       .json = s->common.json,
                       .simulated = &s->simulated,
                       .file = file,
                       .launch = s->launch,
                       .check = s->check,
                       .module = s->module,
                       .benchmark = s->benchmark,
                       .scale = s->scale,
                       .seed = s->seed};
  return cli_sweep_run(&request);
}

static int sim(const void *given, int count, char **arguments) {
  const settings *s = given;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text text = {0};
  int status = check_usage(s, count);
  if (status < 0)
    status = check_sweep_usage(s, count ? arguments[0] : NULL);
  if (status >= 0)
    return status;
  if (s->sweep)
    return run_sweep(s, count ? arguments[0] : NULL);
  simulating work = {.settings = s,
                     .simulation = {.takes_sharing = true},
                     .file = s->benchmark ? NULL : arguments[0],
                     .benchmark = s->benchmark ? bf_corpus_find(s->benchmark) : NULL};
  int error = cli_simulation_load(&s->simulated, &work.simulation, &work.ledger, &diagnostic);
  if (!error)
    error = make_sampler(s, &work.ledger, &diagnostic);
  if (!error)
    error = load_machine_code(&work, &diagnostic);
  if (!error)
    error = open_outputs(&work, &diagnostic);
  if (!error)
    error = work.benchmark ? run_benchmark(&work, &diagnostic) : run_file(&work, &diagnostic);
  if (!error)
    error = write_results(&work, &text, &diagnostic);
  if (!error && s->what_if)
    error = write_worth(&work, &text, &diagnostic);
  if (error) {
    status = cli_complain(&diagnostic);
    bf_sim_waits_write(&work.ledger, stderr);
    bf_text_free(&text);
  } else {
    status = cli_print(&text);
  }
  bool is_wrong = work.outcome.wrong != 0;
  unload(&work);
  return status == CLI_OK && is_wrong ? CLI_FINDINGS : status;
}

const cli_command cli_sim = {
    .name = "sim",
    .summary = "simulate kernels on a model of a GPU: cycles, stalls, conflicts",
    .arguments = "[FILE]",
    .details =
        "Runs kernels of a PTX file, or a benchmark of the corpus, on a cycle-level model of a "
        "GPU and says\nhow long they take and what they wait for. bankfold machines lists the "
        "GPUs; --set changes a\nparameter of one, as in --set schedulers=2 --set scheduler=gto. "
        "The banks of shared memory can be\nhashed, for all kernels or each on its own "
        "(docs/simulator.md).\n\nWith --from accelsim, FILE is a trace of the machine instructions "
        "that warps have executed on a GPU.\n\nExit status 1 where results of a benchmark are "
        "wrong; 2 also "
        "where a kernel faults or cannot go on.\n\nWith --sweep, points "
        "run in parallel, each in one thread. A sweep that was stopped goes on where\nit was when "
        "the same command is given again. Exit status 1 where points have errors.",
    .examples =
        "bankfold sim kernels/transpose/transpose.ptx --launch examples/transpose.launch\n"
        "bankfold sim kernels/transpose/transpose.ptx --launch examples/transpose.launch --hash "
        "fixed\n"
        "bankfold sim kernel-1.traceg --from accelsim --gpu h200 # what was recorded, on another "
        "GPU\n"
        "bankfold sim --benchmark fft512 --gpu gtx580 --set scheduler=gto --svg stalls.svg\n"
        "bankfold sim --benchmark reduction --gpu elastic --set pipeline=unified --diagram 40\n"
        "bankfold sim --benchmark transpose32 --set sms=1 --timeline t.json # open in "
        "ui.perfetto.dev\n"
        "bankfold sim --benchmark fft512 --sweep 'hash=none|fixed;sms=1..8' --output r.csv",
    CLI_OPTIONS(options, settings),
    .least_arguments = 0,
    .most_arguments = 1,
    .run = sim,
};
