/* sim --sweep. */
#include "cli/look/sweep.h"

#include "cli/look/launches.h"
#include "cli/look/sweep_axes.h"

#include "kernels/sim_device.h"
#include "kernels/sizes.h"
#include "process/ranks.h"
#include "ptx/fatbin.h"
#include "sim/sweep_columns.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hosts that do not share the file do not know of each other. */
static void warn_of_local_file(const bf_ranks *ranks, const char *path) {
  if (bf_ranks_have_own_disk(ranks, path))
    fprintf(stderr,
            "bankfold: warning: rank %u has %s on a local disk; hosts that do not share the file "
            "each run all points\n",
            ranks->own, path);
}

/* ---- A point ---- */

typedef struct sweeping {
  const cli_sweep *request;
  bf_sim_sweep *sweep;
  bf_ranks ranks;
  double began; /* seconds */
  uint64_t shown_tenths;
  bool is_terminal, has_line;
  bf_corpus_sizes sizes; /* of benchmarks at the scales of the sweep */
} sweeping;

static int simulate_file(const cli_sweep *request, bf_sim_ledger *ledger,
                         bf_diagnostic *diagnostic) {
  const char *check = request->check;
  bf_ptx_module *ptx;
  BF_TRY(bf_fatbin_read_ptx(request->file, request->module, &ptx, diagnostic));
  bf_launches launches = {.file = request->file,
                          .module = ptx,
                          .description = request->launch,
                          .workers = 1,
                          .check_uninitialised = check && strstr(check, "uninitialised"),
                          .check_races = check && strstr(check, "races"),
                          .execute = cli_simulate_launch,
                          .context = ledger};
  int error = bf_launches_run(&launches, diagnostic);
  bf_ptx_free(ptx);
  return error;
}

/* A benchmark whose results are wrong is an error. */
static int simulate_benchmark(const cli_point *point, bf_sim_ledger *ledger,
                              bf_diagnostic *diagnostic) {
  bf_corpus_outcome outcome = {0};
  BF_TRY(bf_corpus_simulate(point->benchmark, point->scale, point->seed, ledger, &outcome,
                            diagnostic));
  if (outcome.wrong)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%llu of %llu results are wrong: %s",
                   (unsigned long long)outcome.wrong, (unsigned long long)outcome.elements,
                   outcome.first_wrong);
  return BF_OK;
}

/* Simulates a point: the callback of bf_sim_sweep_all. */
static int run_point(void *context, uint64_t number, bf_sim_row *row, bf_diagnostic *diagnostic) {
  const sweeping *work = context;
  cli_point point = {0};
  cli_simulation simulation = {0};
  bf_sim_ledger ledger = {0};
  bf_sim_launched total;
  int error = cli_axes_point(work->request, work->sweep, number, &point, diagnostic);
  if (!error)
    error = cli_simulation_load(&point.simulated, &simulation, &ledger, diagnostic);
  if (!error)
    error = point.benchmark ? simulate_benchmark(&point, &ledger, diagnostic)
                            : simulate_file(work->request, &ledger, diagnostic);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  if (!error)
    bf_sim_columns_fill(simulation.gpu, &total, row);
  bf_sim_ledger_free(&ledger);
  cli_simulation_free(&simulation);
  bf_arena_free(&point.arena);
  return error;
}

/* ---- Work ---- */

/* How long a point takes: as its instructions, which the emulator counts once for each benchmark
 * and scale. The callback of bf_sim_sweep_all. */
static double work_of(void *context, uint64_t number) {
  sweeping *work = context;
  cli_point point = {0};
  bf_diagnostic diagnostic;
  int error = cli_axes_point(work->request, work->sweep, number, &point, &diagnostic);
  bf_arena_free(&point.arena);
  return error || !point.benchmark
             ? 0
             : (double)bf_corpus_sizes_get(&work->sizes, point.benchmark, point.scale, point.seed);
}

/* ---- Progress ---- */

/* A bar with the time that is left, if points take as long as those finished so far. */
static void draw_bar(sweeping *work, const bf_sim_sweep_count *count, uint64_t before) {
  char cells[BF_BAR_CELLS + 1];
  double seconds = bf_seconds() - work->began;
  bf_bar_fill((double)count->finished / (double)count->points, cells);
  fprintf(stderr, "\r\033[K[%s] %llu of %llu points", cells, (unsigned long long)count->finished,
          (unsigned long long)count->points);
  if (count->failed)
    fprintf(stderr, ", %llu with errors", (unsigned long long)count->failed);
  fprintf(stderr, "  %.0f s", seconds);
  if (count->finished > before)
    fprintf(stderr, ", %.0f s left",
            seconds * (double)(count->points - count->finished) /
                (double)(count->finished - before));
  fflush(stderr);
  work->has_line = true;
}

/* A line for each tenth of the points, where mpirun passes the output on. */
static void print_tenth(sweeping *work, const bf_sim_sweep_count *count) {
  uint64_t tenths = 10 * count->finished / count->points;
  if (tenths == work->shown_tenths)
    return;
  fprintf(stderr, "bankfold: %llu of %llu points\n", (unsigned long long)count->finished,
          (unsigned long long)count->points);
  work->shown_tenths = tenths;
}

/* Rank 0 tells how far all of them are. */
static void show_progress(void *context, const bf_sim_sweep_count *count, uint64_t before) {
  sweeping *work = context;
  if (work->ranks.own != 0)
    return;
  if (work->is_terminal)
    draw_bar(work, count, before);
  else if (work->ranks.all > 1)
    print_tenth(work, count);
}

static void end_progress(sweeping *work) {
  if (work->has_line)
    fputs("\r\033[K", stderr);
}

/* ---- The sweep ---- */

int cli_sweep_print_json(const char *output, const bf_sim_sweep_outcome *outcome) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "output", output);
  bf_json_number(&json, "points", outcome->count.points);
  bf_json_number(&json, "errors", outcome->count.failed);
  bf_json_number(&json, "finished_before", outcome->before);
  bf_json_end(&json, '}');
  return cli_print(&text);
}

static int print_text(const sweeping *work, const bf_sim_sweep_outcome *outcome) {
  bf_text text = {0};
  bf_text_addf(&text, "%s: %llu point%s", work->request->output,
               (unsigned long long)outcome->count.points, outcome->count.points == 1 ? "" : "s");
  if (outcome->before && work->ranks.all == 1)
    bf_text_addf(&text, ", of which %llu were finished before",
                 (unsigned long long)outcome->before);
  if (outcome->count.failed)
    bf_text_addf(&text, "; %llu with errors, see the last column",
                 (unsigned long long)outcome->count.failed);
  bf_text_puts(&text, "\n");
  return cli_print(&text);
}

/* Runs the points that are left. */
static int run_points(sweeping *work, const char *basis, bf_sim_sweep_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  const cli_simulated *simulated = work->request->simulated;
  bf_sim_sweep_run run = {
      .path = work->request->output,
      .form = {work->sweep, basis, bf_sim_columns(&work->sweep->arena), work->request->json},
      .workers = simulated->workers ? (unsigned)simulated->workers : bf_ranks_workers(&work->ranks),
      .point = run_point,
      .work =
          bf_sim_sweep_varies(work->sweep, "benchmark") || bf_sim_sweep_varies(work->sweep, "scale")
              ? work_of
              : NULL,
      .progress = show_progress,
      .context = work};
  if (!run.form.columns)
    return bf_no_memory(diagnostic);
  warn_of_local_file(&work->ranks, run.path);
  work->began = bf_seconds();
  int error = bf_sim_sweep_all(&run, outcome, diagnostic);
  end_progress(work);
  return error;
}

int cli_sweep_run(const cli_sweep *request) {
  sweeping work = {.request = request, .ranks = bf_ranks_find(), .is_terminal = isatty(2) != 0};
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic;
  bf_text basis = {0};
  int error = cli_axes_read(request, &work.sweep, &diagnostic);
  if (!error)
    error = cli_axes_basis(request, work.sweep, &basis, &diagnostic);
  if (!error)
    error = run_points(&work, basis.data, &outcome, &diagnostic);
  bf_text_free(&basis);
  bf_corpus_sizes_free(&work.sizes);
  bf_sim_sweep_free(work.sweep);
  if (error)
    return cli_complain(&diagnostic);
  if (work.ranks.own != 0)
    return CLI_OK; /* rank 0 tells */
  int status =
      request->json ? cli_sweep_print_json(request->output, &outcome) : print_text(&work, &outcome);
  return status == CLI_OK && outcome.count.failed ? CLI_FINDINGS : status;
}
