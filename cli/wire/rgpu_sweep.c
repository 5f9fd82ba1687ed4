/* bankfold rgpu sweep: a simulation for every combination of values, into a file of results that
 * several processes may work on and that a later run completes (sim/sweep.h). */
#include "cli/look/sweep.h"
#include "cli/wire/rgpu_case.h"

#include <string.h>

typedef struct sweeping {
  const cli_rgpu_settings *settings;
  const char *name;           /* of the graph */
  const bf_rgpu_graph *graph; /* for the names of its parameters */
  bf_sim_sweep *sweep;
  cli_block_bar bar;
} sweeping;

/* ---- Axes ---- */

/* Where an axis that is an option of rgpu goes; NULL: it is something else. */
static uint64_t *option_of(cli_rgpu_settings *s, const char *name) {
  const struct {
    const char *name;
    uint64_t *value;
  } numbers[] = {{"data-fifo", &s->data_fifo},
                 {"address-fifo", &s->address_fifo},
                 {"lanes", &s->lanes},
                 {"copies", &s->copies},
                 {"core-cycles", &s->core_cycles},
                 {"three-operand-cycles", &s->three_cycles},
                 {"load-cycles", &s->load_cycles}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(numbers[i].name, name) == 0)
      return numbers[i].value;
  return NULL;
}

/* Adds NAME=VALUE to a list of texts; the text is in the arena. */
static int add_text(bf_arena *arena, cli_texts *texts, const char *name, const char *value,
                    bf_diagnostic *diagnostic) {
  size_t size = strlen(name) + strlen(value) + 2;
  char *text = bf_arena_alloc(arena, size);
  if (!text)
    return bf_no_memory(diagnostic);
  if (texts->count == CLI_MOST_TEXTS)
    return bf_fail(diagnostic, BF_BAD_INPUT, "more than %d changes", CLI_MOST_TEXTS);
  snprintf(text, size, "%s=%s", name, value);
  texts->text[texts->count++] = text;
  return BF_OK;
}

/* Gives an axis a value. */
static int apply(const bf_rgpu_graph *graph, const char *name, const char *value, bf_arena *arena,
                 cli_rgpu_settings *s, bf_diagnostic *diagnostic) {
  uint64_t *option = option_of(s, name), number;
  const char *end = value;
  if (option) {
    if (!bf_parse_number(&end, &number) || *end || number == 0)
      return bf_fail(diagnostic, BF_BAD_INPUT, "%s is a whole number from 1 on, not '%s'", name,
                     value);
    *option = number;
    return BF_OK;
  }
  for (unsigned i = 0; i < graph->parameters; i++)
    if (strcmp(graph->parameter[i].name, name) == 0)
      return add_text(arena, &s->parameter, name, value, diagnostic);
  return add_text(arena, &s->set, name, value, diagnostic);
}

/* What is known before the first point. */
typedef struct checking {
  const cli_rgpu_settings *settings;
  cli_rgpu_case *own;
} checking;

/* Whether there is an axis of that name. */
static bool is_axis(const cli_rgpu_case *own, const char *name) {
  cli_rgpu_settings none = {0};
  if (option_of(&none, name))
    return true;
  for (unsigned i = 0; !own->benchmark && i < own->graph->parameters; i++)
    if (strcmp(own->graph->parameter[i].name, name) == 0)
      return true;
  for (const bf_sim_parameter *at = bf_sim_parameters; at->name; at++)
    if (strcmp(at->name, name) == 0)
      return true;
  return false;
}

/* Whether one of the texts NAME=VALUE is about that name. */
static bool is_given(const cli_texts *texts, const char *name) {
  size_t length = strlen(name);
  for (unsigned i = 0; i < texts->count; i++)
    if (strncmp(texts->text[i], name, length) == 0 && texts->text[i][length] == '=')
      return true;
  return false;
}

/* Whether there is such an axis, and whether it can have that value. */
static int check_axis(void *context, const char *name, const char *value,
                      bf_diagnostic *diagnostic) {
  const checking *with = context;
  cli_rgpu_settings tried = *with->settings;
  bf_arena arena = {0};
  uint64_t *given = option_of(&tried, name);
  if (given && *given)
    return bf_fail(diagnostic, BF_BAD_INPUT, "--%s says so already", name);
  if (is_given(&tried.set, name) || is_given(&tried.parameter, name))
    return bf_fail(diagnostic, BF_BAD_INPUT, "--set or --parameter says so already");
  if (!is_axis(with->own, name))
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "no axis '%s': data-fifo, address-fifo, lanes, copies, core-cycles, "
                   "three-operand-cycles, load-cycles, a parameter of the GPU%s",
                   name, with->own->benchmark ? "" : " or of the graph");
  if (!value)
    return BF_OK;
  bf_rgpu_fabric fabric;
  int error = apply(with->own->graph, name, value, &arena, &tried, diagnostic);
  if (!error)
    error = cli_rgpu_fabric(&tried, &fabric, diagnostic);
  unsigned changes = with->settings->set.count, parameters = with->settings->parameter.count;
  unsigned parameter;
  int64_t number;
  if (!error && tried.set.count > changes)
    error = bf_sim_gpu_set(with->own->gpu, tried.set.text[changes], diagnostic);
  if (!error && tried.parameter.count > parameters)
    error = bf_rgpu_read_override(with->own->graph, tried.parameter.text[parameters], &parameter,
                                  &number, diagnostic);
  bf_arena_free(&arena);
  return error;
}

/* ---- Points ---- */

static const char *const columns[] = {
    "cycles",     "seconds",         "used_lanes",         "used_copies", "fired",
    "prefetches", "dram_read_bytes", "dram_written_bytes", "area_mm2",    "added_watts",
    NULL};

static void write_row(const cli_rgpu_case *own, bf_sim_row *row) {
  const bf_rgpu_sim_result *result = &own->outcome.result;
  bf_rgpu_area area =
      bf_rgpu_area_of(own->mapping->ring.lanes, own->fabric.data_fifo, own->fabric.address_fifo);
  bf_sim_row_number(row, result->cycles);
  bf_sim_row_real(row, result->seconds);
  bf_sim_row_number(row, own->mapping->lanes);
  bf_sim_row_number(row, own->copies);
  bf_sim_row_number(row, result->fired[0] + result->fired[1] + result->fired[2]);
  bf_sim_row_number(row, result->prefetches);
  bf_sim_row_number(row, result->memory.dram_read_bytes);
  bf_sim_row_number(row, result->memory.dram_written_bytes);
  bf_sim_row_real(row, area.total);
  bf_sim_row_real(row, own->power.added);
}

/* The settings of a point. */
static int settings_of(const sweeping *work, uint64_t number, bf_arena *arena, cli_rgpu_settings *s,
                       bf_diagnostic *diagnostic) {
  *s = *work->settings;
  for (unsigned i = 0; i < work->sweep->axes; i++)
    BF_TRY(apply(work->graph, work->sweep->axis[i].name, bf_sim_sweep_value(work->sweep, number, i),
                 arena, s, diagnostic));
  return BF_OK;
}

static int run_point(void *context, uint64_t number, bf_sim_row *row, bf_diagnostic *diagnostic) {
  const sweeping *work = context;
  cli_rgpu_settings s;
  bf_arena arena = {0};
  cli_rgpu_case own = {0};
  int error = settings_of(work, number, &arena, &s, diagnostic);
  if (!error)
    error = cli_rgpu_case_load(&s, work->name, &own, diagnostic);
  if (!error)
    error = cli_rgpu_case_map(&s, &own, diagnostic);
  if (!error)
    error = cli_rgpu_case_run(&s, false, &own, diagnostic);
  if (!error)
    write_row(&own, row);
  cli_rgpu_case_free(&own);
  bf_arena_free(&arena);
  return error;
}

/* ---- The sweep ---- */

/* All that results depend on besides the values of axes. */
static void write_basis(const cli_rgpu_settings *s, const cli_rgpu_case *own, bf_text *basis) {
  bf_text_addf(basis, "bankfold %s\n", bf_version());
  bf_rgpu_print(own->graph, basis);
  for (const bf_sim_parameter *at = bf_sim_parameters; at->name; at++) {
    bf_text_addf(basis, "%s ", at->name);
    bf_sim_gpu_get(own->gpu, at, basis);
    bf_text_puts(basis, "\n");
  }
  const bf_rgpu_fabric *fabric = &own->fabric;
  bf_text_addf(basis, "%u %u %u %u %u %u %u %u %d %d %d\n", fabric->cores, fabric->units,
               fabric->data_fifo, fabric->address_fifo, fabric->two_cycles, fabric->three_cycles,
               fabric->load_cycles, fabric->folded, fabric->no_prefetch,
               fabric->pipelines_take_entries, fabric->waits_for_sectors);
  /* Benchmarks choose their copies anew where lanes are given (cli_rgpu_case_map). */
  bf_rgpu_ring ring = cli_rgpu_ring(s);
  bf_text_addf(basis, "%u %u %u %u %d %llu %llu %llu %d %d\n", ring.cores, ring.units, ring.lanes,
               ring.unit_first, s->lanes != 0, (unsigned long long)s->copies,
               (unsigned long long)s->states, (unsigned long long)s->most_cycles, s->quick,
               own->order);
  for (unsigned i = 0; i < s->parameter.count; i++)
    bf_text_addf(basis, "%s\n", s->parameter.text[i]);
}

/* A bar of the points that were not finished before, in a terminal. */
static void show_progress(void *context, const bf_sim_sweep_count *count, uint64_t before) {
  sweeping *work = context;
  cli_block_bar_step(&work->bar, count->finished - before, count->points - before);
}

static int put_out(const cli_rgpu_settings *s, const bf_sim_sweep_outcome *outcome) {
  bf_text text = {0};
  bf_text_addf(&text, "%s: %llu points, of which %llu were finished before; %llu with errors\n",
               s->output, (unsigned long long)outcome->count.points,
               (unsigned long long)outcome->before, (unsigned long long)outcome->count.failed);
  int status = s->common.json ? cli_sweep_print_json(s->output, outcome) : cli_print(&text);
  bf_text_free(&text);
  return status == CLI_OK && outcome->count.failed ? CLI_FINDINGS : status;
}

/* Reads the axes, and what all points share. */
static int read_axes(sweeping *work, cli_rgpu_case *own, bf_text *basis,
                     bf_diagnostic *diagnostic) {
  checking with = {.settings = work->settings, .own = own};
  BF_TRY(cli_rgpu_case_load(work->settings, work->name, own, diagnostic));
  work->graph = own->graph;
  write_basis(work->settings, own, basis);
  if (basis->failed)
    return bf_no_memory(diagnostic);
  int error = bf_sim_sweep_parse(work->settings->axes, check_axis, &with, &work->sweep, diagnostic);
  if (error && diagnostic->line)
    snprintf(diagnostic->file, sizeof diagnostic->file, "--axes");
  return error;
}

int cli_rgpu_sweep(const cli_rgpu_settings *s, const char *name) {
  sweeping work = {.settings = s, .name = name, .bar = cli_block_bar_begin(name)};
  bf_sim_sweep_outcome outcome;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text basis = {0};
  cli_rgpu_case own = {0};
  if (strcmp(name, "-") == 0)
    return cli_usage_error(&cli_rgpu, "sweep reads the graph for every point: give it a file");
  int error = read_axes(&work, &own, &basis, &diagnostic);
  if (!error) {
    bf_sim_sweep_run run = {.path = s->output,
                            .form = {work.sweep, basis.data, columns, s->common.json},
                            .workers = (unsigned)s->workers,
                            .point = run_point,
                            .progress = show_progress,
                            .context = &work};
    work.bar.unit = "points";
    error = bf_sim_sweep_all(&run, &outcome, &diagnostic);
    cli_block_bar_end(&work.bar);
  }
  bf_text_free(&basis);
  bf_sim_sweep_free(work.sweep);
  cli_rgpu_case_free(&own);
  return !error ? put_out(s, &outcome) : cli_complain(&diagnostic);
}
