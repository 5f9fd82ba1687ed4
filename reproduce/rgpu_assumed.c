/* What the speed-ups of R-GPU owe to assumptions of its model (docs/rgpu_sim.md): the benchmarks of
 * braak15, Table 7.1, with one number changed at a time, as graphs and as optimised kernels.
 */
#include "reproduce/reproduce.h"
#include "reproduce/rgpu/bench.h"

#include <math.h>
#include <string.h>

enum { BENCHMARKS = 9, MOST_SETTINGS = 34 };

/* Graphs that a change concerns; others take as long as without it. */
typedef enum change_scope { ALL_GRAPHS, GRAPHS_PAST_CACHE, GRAPHS_WITH_SHARED } change_scope;

/* One thing that is not as usual. Settings of the GPU concern graphs and kernels, the others graphs
 * only. */
typedef struct change {
  const char *what, *usual, *tried;
  change_scope scope;
  const char *setting[MOST_SETTINGS]; /* of the GPU: NAME=NUMBER */
  unsigned load_cycles, core_cycles;  /* 0: as usual */
  unsigned address_fifo;              /* the same */
  bool pipelines_take_entries, waits_for_sectors;
} change;

static const change changes[] = {
    {.what = "nothing", .usual = "-", .tried = "-"},
    {.what = "load that finds its line, cycles", .usual = "8", .tried = "40", .load_cycles = 40},
    {.what = "latency of cores, two and three operands",
     .usual = "8, 10",
     .tried = "16, 20",
     .core_cycles = 16},
    {.what = "what is in a pipeline takes an entry",
     .usual = "no",
     .tried = "yes",
     .pipelines_take_entries = true},
    {.what = "`wait` is for",
     .usual = "lines",
     .tried = "sectors",
     .scope = GRAPHS_PAST_CACHE,
     .waits_for_sectors = true},
    {.what = "entries of address FIFOs", .usual = "256", .tried = "512", .address_fifo = 512},
    {.what = "`global_line_cycles`",
     .usual = "2",
     .tried = "1",
     .setting = {"global_line_cycles=1"}},
    {.what = "`global_line_cycles`",
     .usual = "2",
     .tried = "4",
     .setting = {"global_line_cycles=4"}},
    {.what = "`global_queue`", .usual = "64", .tried = "32", .setting = {"global_queue=32"}},
    {.what = "`global_queue`", .usual = "64", .tried = "16", .setting = {"global_queue=16"}},
    {.what = "`l1_misses`", .usual = "32", .tried = "16", .setting = {"l1_misses=16"}},
    {.what = "`request_cycles`, `return_cycles`",
     .usual = "140",
     .tried = "70",
     .setting = {"request_cycles=70", "return_cycles=70"}},
    {.what = "`request_cycles`, `return_cycles`",
     .usual = "140",
     .tried = "280",
     .setting = {"request_cycles=280", "return_cycles=280"}},
    {.what = "`block_launch_cycles`",
     .usual = "400",
     .tried = "100",
     .setting = {"block_launch_cycles=100"}},
    {.what = "`barrier_cycles`", .usual = "40", .tried = "20", .setting = {"barrier_cycles=20"}},
    {.what = "`shared_wavefront_cycles`",
     .usual = "2",
     .tried = "1",
     .scope = GRAPHS_WITH_SHARED,
     .setting = {"shared_wavefront_cycles=1"}},
    /* The same kernels on the same machine, which has half as many cycles with twice the lanes in
     * each; graphs are at half the rate. */
    {.what = "clock of all, MHz",
     .usual = "1401",
     .tried = "700",
     .setting = {"clock_mhz=700",
                 "issue_cycles=1",
                 "int_lanes=32",
                 "mul_lanes=16",
                 "float_lanes=32",
                 "double_lanes=4",
                 "special_lanes=4",
                 "convert_lanes=16",
                 "int_cycles=9",
                 "mul_cycles=9",
                 "float_cycles=9",
                 "double_cycles=18",
                 "special_cycles=18",
                 "convert_cycles=9",
                 "branch_cycles=16",
                 "barrier_cycles=20",
                 "block_launch_cycles=200",
                 "shared_cycles=16",
                 "shared_wavefront_cycles=1",
                 "shared_store_cycles=1",
                 "shared_issue_cycles=1",
                 "lock_cycles=59",
                 "lock_wavefront_cycles=17",
                 "l1_cycles=40",
                 "global_line_cycles=1",
                 "request_cycles=70",
                 "return_cycles=70",
                 "return_bytes_per_cycle=64",
                 "l2_sector_cycles=0.5",
                 "dram_sector_cycles=0.758",
                 "dram_bank_cycles=33",
                 "l2_atomic_cycles=1",
                 "dram_hit_cycles=110",
                 "dram_miss_cycles=130"}}};
enum { CHANGES = sizeof changes / sizeof *changes };

typedef struct assumed {
  bool is_quick, is_full;
  bool concerns[CHANGES][BENCHMARKS];   /* whether the change concerns the graph */
  uint64_t graph[CHANGES][BENCHMARKS];  /* cycles; 0: a deadlock */
  uint64_t kernel[CHANGES][BENCHMARKS]; /* cycles; 0: as in row 0 */
  uint64_t all_samples[2];              /* MRIQ as a graph and as a kernel, with nothing changed */
} assumed;

/* ---- Running ---- */

static int load_changed(const change *own, bool prefers_shared, bf_sim_gpu **gpu,
                        bf_diagnostic *diagnostic) {
  BF_TRY(rgpu_load_gpu("gtx480", prefers_shared, gpu, diagnostic));
  int error = BF_OK;
  for (unsigned i = 0; i < MOST_SETTINGS && own->setting[i] && !error; i++)
    error = bf_sim_gpu_set(*gpu, own->setting[i], diagnostic);
  if (!error)
    error = bf_sim_gpu_check(*gpu, diagnostic);
  if (error)
    bf_sim_gpu_free(*gpu);
  return error;
}

static bf_rgpu_fabric changed_fabric(const change *own) {
  bf_rgpu_fabric fabric = bf_rgpu_fabric_published();
  if (own->load_cycles)
    fabric.load_cycles = own->load_cycles;
  if (own->core_cycles) {
    fabric.three_cycles = fabric.three_cycles * own->core_cycles / fabric.two_cycles;
    fabric.two_cycles = own->core_cycles;
  }
  if (own->address_fifo)
    fabric.address_fifo = own->address_fifo;
  fabric.pipelines_take_entries = own->pipelines_take_entries;
  fabric.waits_for_sectors = own->waits_for_sectors;
  return fabric;
}

/* MRIQ does the same again and again, and would take half of the time: it has a quarter of its
 * samples, unless the run is a full one. */
static const char *size_of(const assumed *all, const rgpu_benchmark *benchmark) {
  return benchmark == &rgpu_mriq && !all->is_full ? "samples=256" : NULL;
}

/* A deadlock is a result as well. */
static int run_graph(const assumed *all, const change *own, const rgpu_benchmark *benchmark,
                     const char *size, uint64_t *cycles, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  rgpu_outcome outcome;
  BF_TRY(load_changed(own, false, &gpu, diagnostic));
  rgpu_run run = {
      .gpu = gpu, .fabric = changed_fabric(own), .size = size, .is_quick = all->is_quick};
  int error = rgpu_run_graph(benchmark, &run, &outcome, diagnostic);
  *cycles = !error ? outcome.result.cycles : 0;
  if (error == BF_BAD_INPUT && outcome.result.stuck_blocks)
    error = BF_OK;
  bf_arena_free(&outcome.result.arena);
  bf_sim_gpu_free(gpu);
  return error;
}

static int run_kernel(const assumed *all, const change *own, const rgpu_benchmark *benchmark,
                      const char *size, uint64_t *cycles, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  bf_sim_result result;
  BF_TRY(load_changed(own, benchmark->prefers_shared, &gpu, diagnostic));
  rgpu_run run = {.gpu = gpu, .size = size, .is_quick = all->is_quick};
  int error = rgpu_run_kernel_as(benchmark, RGPU_OPTIMISED, &run, &result, diagnostic);
  *cycles = result.cycles;
  bf_sim_gpu_free(gpu);
  return error;
}

/* Whether a graph has loads past the first-level cache, or uses shared memory. */
static int find_scope(const rgpu_benchmark *benchmark, bool *passes_cache, bool *has_shared,
                      bf_diagnostic *diagnostic) {
  bf_rgpu_graph *graph;
  BF_TRY(bf_rgpu_parse(benchmark->name, bf_reproduce_graph(benchmark->name), &graph, diagnostic));
  *passes_cache = *has_shared = false;
  for (unsigned i = 0; i < graph->nodes; i++)
    *passes_cache |=
        graph->node[i].op == BF_RGPU_LD &&
        (graph->node[i].cache == BF_RGPU_CACHE_WAIT || graph->node[i].cache == BF_RGPU_CACHE_CG);
  for (unsigned i = 0; i < graph->arrays; i++)
    *has_shared |= graph->array[i].is_shared;
  bf_rgpu_free(graph);
  return BF_OK;
}

static int find_scopes(assumed *all, bf_diagnostic *diagnostic) {
  for (unsigned i = 0; i < BENCHMARKS; i++) {
    bool passes_cache, has_shared;
    BF_TRY(find_scope(rgpu_benchmarks[i], &passes_cache, &has_shared, diagnostic));
    for (unsigned row = 0; row < CHANGES; row++)
      all->concerns[row][i] = changes[row].scope == ALL_GRAPHS ||
                              (changes[row].scope == GRAPHS_PAST_CACHE ? passes_cache : has_shared);
  }
  return BF_OK;
}

/* Task: one benchmark with one change. What changes nothing but the graph leaves the kernel as it
 * was. The last task is MRIQ with all samples. */
static int run_change(void *context, unsigned index, bf_diagnostic *diagnostic) {
  assumed *all = context;
  unsigned row = index / BENCHMARKS, benchmark = index % BENCHMARKS;
  if (row == CHANGES) {
    BF_TRY(run_graph(all, &changes[0], &rgpu_mriq, NULL, &all->all_samples[0], diagnostic));
    return run_kernel(all, &changes[0], &rgpu_mriq, NULL, &all->all_samples[1], diagnostic);
  }
  const rgpu_benchmark *with = rgpu_benchmarks[benchmark];
  const char *size = size_of(all, with);
  if (all->concerns[row][benchmark])
    BF_TRY(run_graph(all, &changes[row], with, size, &all->graph[row][benchmark], diagnostic));
  if (row && !changes[row].setting[0])
    return BF_OK;
  return run_kernel(all, &changes[row], with, size, &all->kernel[row][benchmark], diagnostic);
}

/* ---- What follows ---- */

static uint64_t kernel_cycles(const assumed *all, unsigned row, unsigned benchmark) {
  return all->kernel[all->kernel[row][benchmark] ? row : 0][benchmark];
}

/* NaN after a deadlock. */
static double speedup(const assumed *all, unsigned row, unsigned benchmark) {
  if (!all->graph[row][benchmark])
    return NAN;
  return (double)kernel_cycles(all, row, benchmark) / (double)all->graph[row][benchmark];
}

/* NaN where one of them ended in a deadlock. */
static double geometric_mean(const assumed *all, unsigned row) {
  double sum = 0;
  for (unsigned i = 0; i < BENCHMARKS; i++)
    sum += log(speedup(all, row, i));
  return exp(sum / BENCHMARKS);
}

/* The number of a benchmark; it exists. */
static unsigned number_of(const char *name) {
  unsigned i = 0;
  while (strcmp(rgpu_benchmarks[i]->name, name) != 0)
    i++;
  return i;
}

/* A number, or what to say where there is none. */
static void add_ratio(bf_reproduce_table *table, double ratio, const char *none) {
  if (isnan(ratio))
    bf_reproduce_cell(table, "%s", none);
  else
    bf_reproduce_cell(table, "%.2f", ratio);
}

/* Cycles of graph and kernel, and their ratio. */
static void add_benchmark(bf_reproduce_table *table, const assumed *all, unsigned row,
                          unsigned benchmark) {
  uint64_t cycles = all->graph[row][benchmark];
  if (cycles)
    bf_reproduce_cell(table, "%llu", (unsigned long long)cycles);
  else
    bf_reproduce_cell(table, "deadlock");
  bf_reproduce_cell(table, "%llu", (unsigned long long)kernel_cycles(all, row, benchmark));
  add_ratio(table, speedup(all, row, benchmark), "-");
}

static void add_table(bf_reproduce_run *run, const assumed *all) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "assumed", "Speed-ups over optimised kernels with one number changed",
      "changed|usual|tried|CONV, R-GPU cycles|kernel cycles|speed-up|INTEGR, R-GPU cycles|"
      "kernel cycles|speed-up|geometric mean of nine");
  for (unsigned row = 0; row < CHANGES; row++) {
    bf_reproduce_cell(table, "%s", changes[row].what);
    bf_reproduce_cell(table, "%s", changes[row].usual);
    bf_reproduce_cell(table, "%s", changes[row].tried);
    add_benchmark(table, all, row, number_of("conv"));
    add_benchmark(table, all, row, number_of("integr"));
    add_ratio(table, geometric_mean(all, row), "-");
  }
}

/* All speed-ups, row by row. */
static void add_all(bf_reproduce_run *run, const assumed *all) {
  bf_reproduce_table *table =
      bf_reproduce_table_add(run, "speedups", "All speed-ups over optimised kernels",
                             "changed|tried|conv|hist|integr|mriq|nn|nw|path|stencil|stream");
  for (unsigned row = 0; row < CHANGES; row++) {
    bf_reproduce_cell(table, "%s", changes[row].what);
    bf_reproduce_cell(table, "%s", changes[row].tried);
    for (unsigned i = 0; i < BENCHMARKS; i++)
      add_ratio(table, speedup(all, row, i), "deadlock");
  }
}

/* Adds a row in which something is not so to a sentence: what was changed, and the speed-up. */
static void add_row_of(bf_text *text, unsigned row, double ratio) {
  bf_text_addf(text, "%s%s %s: ", text->size ? "; " : "not so with ", changes[row].what,
               changes[row].tried);
  if (isnan(ratio))
    bf_text_puts(text, "it does not end");
  else
    bf_text_addf(text, "%.2f", ratio);
}

/* In how many rows NW gains most, and R-GPU is the faster one; a deadlock is neither. */
static void claim_order(bf_reproduce_run *run, const assumed *all) {
  static const char *const names[] = {"conv", "integr"};
  unsigned nw = number_of("nw"), first = 0;
  bf_text why = {0};
  for (unsigned row = 0; row < CHANGES; row++) {
    bool is_first = !isnan(speedup(all, row, nw));
    for (unsigned i = 0; i < BENCHMARKS; i++)
      is_first &= !(speedup(all, row, i) > speedup(all, row, nw));
    first += is_first;
    if (!is_first)
      add_row_of(&why, row, speedup(all, row, nw));
  }
  bf_text_puts(&why, ".");
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "nw has the largest speed-up",
                                                .rule = BF_CLAIM_ALL,
                                                .published = CHANGES,
                                                .ours = first,
                                                .published_text = "yes",
                                                .why = why.failed ? "" : why.data},
                          "in %u of %d rows", first, CHANGES);
  bf_text_free(&why);
  for (unsigned i = 0; i < 2; i++) {
    char name[80];
    unsigned faster = 0;
    bf_text slower = {0};
    for (unsigned row = 0; row < CHANGES; row++) {
      double own = speedup(all, row, number_of(names[i]));
      faster += own > 1;
      if (!(own > 1))
        add_row_of(&slower, row, own);
    }
    bf_text_puts(&slower, ".");
    snprintf(name, sizeof name, "%s is faster as a graph", names[i]);
    bf_reproduce_claim_addf(run,
                            &(bf_reproduce_claim){.name = name,
                                                  .rule = BF_CLAIM_ALL,
                                                  .published = CHANGES,
                                                  .ours = faster,
                                                  .published_text = "yes",
                                                  .why = slower.failed ? "" : slower.data},
                            "in %u of %d rows", faster, CHANGES);
    bf_text_free(&slower);
  }
}

/* The means of all rows lie between these. */
static void note_range(bf_reproduce_run *run, const assumed *all) {
  double least = geometric_mean(all, 0), most = least;
  for (unsigned row = 1; row < CHANGES; row++) {
    least = fmin(least, geometric_mean(all, row));
    most = fmax(most, geometric_mean(all, row));
  }
  bf_reproduce_note(run,
                    "Parameters of the GPU, which have names, change kernels too; the other rows "
                    "change graphs only. The geometric mean lies between %.2f and %.2f where all "
                    "graphs run; published is 2.1.",
                    least, most);
}

/* What a quarter of MRIQ's samples changes. */
static void note_samples(bf_reproduce_run *run, const assumed *all) {
  double quarter = speedup(all, 0, number_of("mriq"));
  double whole = (double)all->all_samples[1] / (double)all->all_samples[0];
  if (all->is_full)
    bf_reproduce_note(run, "MRIQ has all of its samples.");
  else
    bf_reproduce_note(
        run,
        "MRIQ has a quarter of its samples, so that this ends within five minutes: its "
        "speed-up with nothing changed is %.2f so, %.2f with all of them, and the "
        "geometric mean %.2f and %.2f. `bankfold reproduce rgpu-assumed --full` has all "
        "of them in every row.",
        quarter, whole, geometric_mean(all, 0),
        geometric_mean(all, 0) * pow(whole / quarter, 1.0 / BENCHMARKS));
}

static int run_assumed(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  assumed *all = bf_arena_alloc(bf_reproduce_arena(run), sizeof *all);
  if (!all)
    return bf_no_memory(diagnostic);
  all->is_quick = bf_reproduce_is_quick(run);
  all->is_full = bf_reproduce_is_full(run);
  BF_TRY(find_scopes(all, diagnostic));
  BF_TRY(bf_reproduce_parallel(run, CHANGES * BENCHMARKS + 1, "benchmarks with changes", run_change,
                               all, diagnostic));
  for (unsigned row = 1; row < CHANGES; row++)
    for (unsigned i = 0; i < BENCHMARKS; i++)
      if (!all->concerns[row][i])
        all->graph[row][i] = all->graph[0][i];
  add_table(run, all);
  add_all(run, all);
  if (!all->is_quick)
    claim_order(run, all);
  note_range(run, all);
  note_samples(run, all);
  return BF_OK;
}

const bf_reproduction bf_reproduce_rgpu_assumed[] = {
    {.name = "rgpu-assumed",
     .title = "R-GPU: what its model assumes",
     .document = "braak15, Fig. 7.7",
     .summary = "The nine benchmarks of R-GPU and their optimised kernels, with one number that is "
                "assumed, or that bounds the lines in flight, changed at a time. MRIQ has a "
                "quarter of its samples, but in full runs.",
     .run = run_assumed},
    {0},
};
