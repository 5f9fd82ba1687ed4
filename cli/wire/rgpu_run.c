/* bankfold rgpu run: a graph on the simulator of R-GPU; a benchmark also as a kernel. */
#include "cli/wire/rgpu_case.h"

#include "reproduce/rgpu/activity.h"
#include "sim/hierarchy.h"

/* ---- What follows from counts ---- */

static double share(uint64_t part, uint64_t all) {
  return all ? 100 * (double)part / (double)all : 0;
}

/* Cycles in which nodes could have fired: those of all copies on all SMs. */
static uint64_t node_cycles(const cli_rgpu_case *own) {
  return own->outcome.result.rgpu_cycles * own->copies;
}

static double bytes_per_cycle(const bf_rgpu_sim_result *result) {
  return bf_sim_dram_rate(&result->memory, result->cycles);
}

/* ---- Text ---- */

/* The same benchmark on an ordinary GPU. */
static void write_kernels(bf_text *text, const cli_rgpu_case *own) {
  static const char *const names[RGPU_KERNELS] = {"kernels  optimised", "         plain"};
  for (unsigned i = 0; i < RGPU_KERNELS; i++) {
    const cli_rgpu_kernel *kernel = &own->kernel[i];
    if (kernel->cycles)
      bf_text_addf(text,
                   "%s: %llu cycles, %.1f bytes of DRAM a cycle; R-GPU is %.2f times as fast\n",
                   names[i], (unsigned long long)kernel->cycles, kernel->dram_bytes_per_cycle,
                   cli_rgpu_case_speedup(own, (rgpu_kernel)i));
  }
}

/* What the model assumes, where that was changed. */
static void write_assumed(bf_text *text, const bf_rgpu_fabric *fabric) {
  bf_rgpu_fabric usual = bf_rgpu_fabric_published();
  if (fabric->two_cycles != usual.two_cycles || fabric->three_cycles != usual.three_cycles ||
      fabric->load_cycles != usual.load_cycles)
    bf_text_addf(text, "latency  cores %u cycles, %u with three operands; loads %u\n",
                 fabric->two_cycles, fabric->three_cycles, fabric->load_cycles);
  if (fabric->folded > 1)
    bf_text_addf(text, "changed  up to %u copies share their cores in turn\n", fabric->folded);
  if (fabric->pipelines_take_entries)
    bf_text_puts(text, "changed  what is in a pipeline takes an entry of its FIFO\n");
  if (fabric->waits_for_sectors)
    bf_text_puts(text, "changed  loads with `wait` and `cg` ask for one sector at a time\n");
}

static void write_head(bf_text *text, const cli_rgpu_case *own) {
  const bf_rgpu_sim_result *result = &own->outcome.result;
  bf_text_addf(text, "%s on %s: %llu blocks of %llu iterations, %u %s on %u lanes\n",
               own->graph->name, own->gpu->name, (unsigned long long)result->blocks,
               (unsigned long long)result->iterations, own->copies,
               own->copies == 1 ? "copy" : "copies", own->mapping->lanes);
  bf_text_addf(text,
               "R-GPU    %llu cycles, %.4f ms; a block takes %llu into R-GPU mode, %llu back\n",
               (unsigned long long)result->cycles, 1e3 * result->seconds,
               (unsigned long long)result->enter_cycles, (unsigned long long)result->leave_cycles);
  write_kernels(text, own);
  if (own->benchmark)
    bf_text_addf(text, "results  %llu, all as the reference computes them\n",
                 (unsigned long long)own->outcome.check.elements);
}

static void write_memory(bf_text *text, const cli_rgpu_case *own) {
  const bf_rgpu_sim_result *result = &own->outcome.result;
  bf_text_addf(text,
               "memory   %.1f bytes of DRAM a cycle; %llu lines loaded, %.0f%% of them prefetched; "
               "%llu stores sent\n",
               bytes_per_cycle(result),
               (unsigned long long)(result->prefetches + result->loads_sent),
               share(result->prefetches, result->prefetches + result->loads_sent),
               (unsigned long long)result->stores_sent);
  if (result->waits_sent)
    bf_text_addf(
        text,
        "between  %llu loads that wait for a hit, at most %u in one queue of %d; %llu could "
        "be, %s\n",
        (unsigned long long)result->waits_sent, result->most_waiting, BF_SIM_SLICE_QUEUE,
        (unsigned long long)result->could_wait,
        result->could_wait < BF_SIM_SLICE_QUEUE ? "so that a deadlock between blocks is impossible"
                                                : "which would be a deadlock");
  bf_text_addf(text, "FIFOs    data %u, address %u entries; it can run with %u, and with %u\n",
               own->fabric.data_fifo, own->fabric.address_fifo,
               bf_rgpu_least_data_fifo(own->graph, own->fabric.address_fifo, 65536),
               bf_rgpu_least_address_fifo(own->graph, own->fabric.data_fifo, 65536));
  write_assumed(text, &own->fabric);
  bf_text_addf(text, "power    %.2f W added, %.0f W saved\n", own->power.added, own->power.saved);
}

static void write_nodes(bf_text *text, const cli_rgpu_case *own) {
  bf_text_addf(text, "\n%-12s %6s", "% of cycles", "fires");
  for (unsigned i = 0; i < BF_RGPU_STALLS; i++)
    bf_text_addf(text, " %7s", bf_rgpu_stall_names[i]);
  bf_text_puts(text, "\n");
  for (unsigned i = 0; i < own->graph->nodes; i++) {
    const bf_rgpu_node_count *count = &own->outcome.result.node[i];
    bf_text_addf(text, "%-12.12s %6.1f", own->graph->node[i].name,
                 share(count->fired, node_cycles(own)));
    for (unsigned j = 0; j < BF_RGPU_STALLS; j++)
      bf_text_addf(text, " %7.1f", share(count->stalled[j], node_cycles(own)));
    bf_text_puts(text, "\n");
  }
}

static void write_fifos(bf_text *text, const cli_rgpu_case *own) {
  bf_text_addf(text, "\n%-26s %10s %10s %5s\n", "FIFO, % of cycles", "was empty", "was full",
               "most");
  for (unsigned i = 0; i < own->graph->edges; i++) {
    const bf_rgpu_edge *edge = &own->graph->edge[i];
    const bf_rgpu_fifo_count *count = &own->outcome.result.node[edge->to].fifo[edge->position];
    char name[64];
    snprintf(name, sizeof name, "%s -> %s", own->graph->node[edge->from].name,
             own->graph->node[edge->to].name);
    bf_text_addf(text, "%-26.26s %10.1f %10.1f %5u\n", name,
                 share(count->empty_cycles, node_cycles(own)),
                 share(count->full_cycles, node_cycles(own)), count->most);
  }
}

/* ---- JSON ---- */

static void write_json_node(bf_json *json, const cli_rgpu_case *own, unsigned index) {
  const bf_rgpu_node_count *count = &own->outcome.result.node[index];
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "name", own->graph->node[index].name);
  bf_json_number(json, "fired", count->fired);
  bf_json_begin(json, "stalls", '{', true);
  for (unsigned j = 0; j < BF_RGPU_STALLS; j++)
    bf_json_number(json, bf_rgpu_stall_names[j], count->stalled[j]);
  bf_json_end(json, '}');
  bf_json_end(json, '}');
}

static void write_json_fifo(bf_json *json, const cli_rgpu_case *own, const bf_rgpu_edge *edge) {
  const bf_rgpu_fifo_count *count = &own->outcome.result.node[edge->to].fifo[edge->position];
  bf_json_begin(json, NULL, '{', true);
  bf_json_string(json, "from", own->graph->node[edge->from].name);
  bf_json_string(json, "to", own->graph->node[edge->to].name);
  bf_json_number(json, "position", edge->position);
  bf_json_number(json, "empty_cycles", count->empty_cycles);
  bf_json_number(json, "full_cycles", count->full_cycles);
  bf_json_number(json, "most", count->most);
  bf_json_end(json, '}');
}

static void write_json_counts(bf_json *json, const bf_rgpu_sim_result *result) {
  bf_json_number(json, "blocks", result->blocks);
  bf_json_number(json, "iterations", result->iterations);
  bf_json_number(json, "cycles", result->cycles);
  bf_json_real(json, "seconds", result->seconds);
  bf_json_number(json, "enter_cycles", result->enter_cycles);
  bf_json_number(json, "leave_cycles", result->leave_cycles);
  bf_json_number(json, "rgpu_cycles", result->rgpu_cycles);
  bf_json_number(json, "fired_int", result->fired[BF_RGPU_INT]);
  bf_json_number(json, "fired_float", result->fired[BF_RGPU_FLOAT]);
  bf_json_number(json, "fired_memory", result->fired[BF_RGPU_MEMORY]);
  bf_json_number(json, "prefetches", result->prefetches);
  bf_json_number(json, "loads", result->loads_sent);
  bf_json_number(json, "stores", result->stores_sent);
  bf_json_number(json, "waits", result->waits_sent);
  bf_json_number(json, "most_waiting", result->most_waiting);
  bf_json_number(json, "could_wait", result->could_wait);
  bf_json_number(json, "dram_read_bytes", result->memory.dram_read_bytes);
  bf_json_number(json, "dram_written_bytes", result->memory.dram_written_bytes);
  bf_json_real(json, "dram_bytes_per_cycle", bytes_per_cycle(result));
}

static void write_json_fabric(bf_json *json, const bf_rgpu_fabric *fabric) {
  bf_json_number(json, "data_fifo", fabric->data_fifo);
  bf_json_number(json, "address_fifo", fabric->address_fifo);
  bf_json_number(json, "core_cycles", fabric->two_cycles);
  bf_json_number(json, "three_operand_cycles", fabric->three_cycles);
  bf_json_number(json, "load_cycles", fabric->load_cycles);
  bf_json_number(json, "fold", fabric->folded > 1 ? fabric->folded : 1);
  bf_json_bool(json, "pipelines_take_entries", fabric->pipelines_take_entries);
  bf_json_string(json, "wait_for", fabric->waits_for_sectors ? "sectors" : "lines");
}

static void write_json_kernels(bf_json *json, const cli_rgpu_case *own) {
  const cli_rgpu_kernel *kernel = &own->kernel[RGPU_OPTIMISED], *plain = &own->kernel[RGPU_PLAIN];
  bf_json_number(json, "kernel_cycles", kernel->cycles);
  bf_json_real(json, "kernel_dram_bytes_per_cycle", kernel->dram_bytes_per_cycle);
  bf_json_real(json, "speedup", cli_rgpu_case_speedup(own, RGPU_OPTIMISED));
  bf_json_number(json, "plain_cycles", plain->cycles);
  bf_json_real(json, "plain_dram_bytes_per_cycle", plain->dram_bytes_per_cycle);
  bf_json_real(json, "plain_speedup", cli_rgpu_case_speedup(own, RGPU_PLAIN));
}

/* Firings of the first SM over time, by class. */
static void write_json_activity(bf_json *json, const bf_rgpu_activity *activity) {
  static const char *const names[BF_RGPU_CLASSES] = {"int", "float", "memory"};
  bf_json_begin(json, "activity", '{', false);
  bf_json_number(json, "piece_cycles", activity->piece_cycles);
  for (unsigned i = 0; i < BF_RGPU_CLASSES; i++) {
    bf_json_begin(json, names[i], '[', true);
    for (unsigned j = 0; j < activity->pieces; j++)
      bf_json_number(json, NULL, activity->fired[i][j]);
    bf_json_end(json, ']');
  }
  bf_json_end(json, '}');
}

static void write_json(bf_json *json, const cli_rgpu_case *own) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "graph", own->graph->name);
  bf_json_string(json, "gpu", own->gpu->name);
  bf_json_number(json, "copies", own->copies);
  bf_json_number(json, "lanes", own->mapping->lanes);
  write_json_fabric(json, &own->fabric);
  write_json_counts(json, &own->outcome.result);
  write_json_kernels(json, own);
  bf_json_real(json, "added_watts", own->power.added);
  bf_json_begin(json, "nodes", '[', false);
  for (unsigned i = 0; i < own->graph->nodes; i++)
    write_json_node(json, own, i);
  bf_json_end(json, ']');
  bf_json_begin(json, "fifos", '[', false);
  for (unsigned i = 0; i < own->graph->edges; i++)
    write_json_fifo(json, own, &own->graph->edge[i]);
  bf_json_end(json, ']');
  write_json_activity(json, &own->outcome.result.activity);
  bf_json_end(json, '}');
}

/* ---- Activity over time, as in Fig. 7.9 ---- */

/* Writes the picture to an open file, or to standard output where there is none. */
static int write_picture(const cli_rgpu_case *own, bf_writer *writer) {
  bf_diagnostic diagnostic = {.caret = -1};
  bf_text picture = {0};
  rgpu_activity_chart made;
  rgpu_chart_activity(&own->outcome.result.activity, "Activity of the first SM", &made);
  int error = bf_chart_svg(&made.chart, &picture, &diagnostic);
  if (!error && !writer)
    return cli_print(&picture);
  if (!error)
    error = picture.failed ? bf_no_memory(&diagnostic)
                           : bf_writer_write(writer, picture.data, picture.size, &diagnostic);
  bf_text_free(&picture);
  if (!error)
    error = bf_writer_commit(writer, &diagnostic);
  return !error ? CLI_OK : cli_complain(&diagnostic);
}

/* ---- The verb ---- */

static int put_out(const cli_rgpu_settings *s, const cli_rgpu_case *own, bf_writer *writer) {
  bf_text text = {0};
  bf_json json = {.text = &text};
  if (s->svg) {
    int status = write_picture(own, writer);
    if (status != CLI_OK || !writer)
      return status;
  }
  if (s->common.json) {
    write_json(&json, own);
  } else {
    write_head(&text, own);
    write_memory(&text, own);
    write_nodes(&text, own);
    write_fifos(&text, own);
  }
  return cli_print(&text);
}

/* Simulates the graph and, unless there is nothing but a picture, kernels. The file of the picture
 * is opened first: one that cannot be written is no surprise after the work. */
static int simulate(const cli_rgpu_settings *s, const char *name, cli_rgpu_case *own,
                    bf_writer **writer, bf_diagnostic *diagnostic) {
  bool is_picture = cli_rgpu_same_output(s->svg, "-");
  BF_TRY(cli_rgpu_case_load(s, name, own, diagnostic));
  if (s->svg && !is_picture)
    BF_TRY(bf_writer_open(s->svg, false, writer, diagnostic));
  BF_TRY(cli_rgpu_case_map(s, own, diagnostic));
  BF_TRY(cli_rgpu_case_run(s, true, own, diagnostic));
  for (unsigned i = 0; i < RGPU_KERNELS && !is_picture; i++)
    BF_TRY(cli_rgpu_case_kernel(s, (rgpu_kernel)i, own, diagnostic));
  return BF_OK;
}

int cli_rgpu_run(const cli_rgpu_settings *s, const char *name) {
  bf_diagnostic diagnostic = {.caret = -1};
  cli_rgpu_case own;
  bf_writer *writer = NULL;
  cli_watch_interrupt();
  int error = simulate(s, name, &own, &writer, &diagnostic);
  int status = !error ? put_out(s, &own, writer) : cli_rgpu_case_complain(&own, &diagnostic);
  bf_writer_close(writer);
  cli_rgpu_case_free(&own);
  return status;
}
