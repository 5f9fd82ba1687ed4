/* What launches have cost. */
#include "cli/look/launch_table.h"

#include "report/chart.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long number; /* as %llu prints it */

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- Text ---- */

enum { LAUNCHES_SHOWN = 20, LINES_SHOWN = 10, LABEL = 14 };

static void write_size(const char *name, const uint32_t *size, bf_text *text) {
  bf_text_addf(text, ", %s %u", name, size[0]);
  if (size[1] > 1 || size[2] > 1)
    bf_text_addf(text, " x %u", size[1]);
  if (size[2] > 1)
    bf_text_addf(text, " x %u", size[2]);
}

static void write_head(const cli_launch_table *costs, bf_text *text) {
  const bf_sim_ledger *ledger = costs->ledger;
  bf_text_addf(text, "%s on %s (%s)\n", costs->benchmark ? costs->benchmark : costs->program,
               costs->gpu->name, costs->gpu->title);
  if (costs->outcome && costs->outcome->wrong)
    bf_text_addf(text, "%llu of %llu results are wrong: %s\n", (number)costs->outcome->wrong,
                 (number)costs->outcome->elements, costs->outcome->first_wrong);
  if (ledger->launches != 1)
    return;
  const bf_sim_launched *only = &ledger->launch[0];
  bf_text_addf(text, "kernel %s", only->kernel);
  write_size("grid", only->grid, text);
  write_size("block", only->block, text);
  bf_text_addf(text, ", hash %s\n", only->hash);
}

/* A row for each launch, where there are several. */
static void write_launches(const cli_launch_table *costs, bf_text *text) {
  const bf_sim_ledger *ledger = costs->ledger;
  bf_text_addf(text, "\n%12s %8s %12s %12s  %s\n", "cycles", "IPC", "instructions", "conflicts",
               "launch");
  for (size_t i = 0; i < ledger->launches && i < LAUNCHES_SHOWN; i++) {
    const bf_sim_launched *at = &ledger->launch[i];
    bf_text_addf(text, "%12llu %8.2f %12llu %12llu  %s", (number)at->result.cycles,
                 bf_sim_ipc_per_sm(at), (number)at->result.issued,
                 (number)at->result.shared_conflicts, at->kernel);
    write_size("grid", at->grid, text);
    write_size("block", at->block, text);
    bf_text_addf(text, ", hash %s\n", at->hash);
  }
  if (ledger->launches > LAUNCHES_SHOWN)
    bf_text_addf(text, "%49s... and %zu more\n", "", ledger->launches - LAUNCHES_SHOWN);
  bf_text_puts(text, "\nall together:\n");
}

void cli_write_time(double seconds, bf_text *text) {
  if (seconds < 1e-3)
    bf_text_addf(text, "%.2f us", seconds * 1e6);
  else if (seconds < 1)
    bf_text_addf(text, "%.2f ms", seconds * 1e3);
  else
    bf_text_addf(text, "%.2f s", seconds);
}

/* Cycles, instructions, occupancy. */
static void write_speed(const cli_launch_table *costs, bf_text *text) {
  const bf_sim_launched *total = costs->total;
  const bf_sim_result *result = &total->result;
  bf_text_addf(text, "%-*s %12llu  ", LABEL, "cycles", (number)result->cycles);
  cli_write_time(result->seconds, text);
  bf_text_addf(text, " at %.0f MHz\n", costs->gpu->clock_mhz);
  if (result->cycles_high)
    bf_text_addf(text, "%-*s %12llu  blocks of %llu; 95%% interval of cycles %llu to %llu\n", LABEL,
                 "simulated", (number)result->simulated_blocks, (number)result->blocks,
                 (number)result->cycles_low, (number)result->cycles_high);
  bf_text_addf(text, "%-*s %12llu  %.2f a cycle on each of %u SM%s\n", LABEL, "instructions",
               (number)result->issued, bf_sim_ipc_per_sm(total), result->sms,
               result->sms == 1 ? "" : "s");
  bf_text_addf(text, "%-*s %11.1f%%", LABEL, "occupancy",
               100 * bf_sim_occupancy(costs->gpu, total));
  if (result->occupancy_limit)
    bf_text_addf(text, "  %u %s on an SM, limited by %s", result->blocks_per_sm,
                 result->blocks_per_sm == 1 ? "block fits" : "blocks fit", result->occupancy_limit);
  bf_text_puts(text, "\n");
}

typedef struct share {
  const char *name, *color;
  uint64_t turns;
} share;

static int compare_shares(const void *left, const void *right) {
  const share *a = left, *b = right;
  if (a->turns != b->turns)
    return a->turns < b->turns ? 1 : -1;
  return strcmp(a->name, b->name);
}

/* What schedulers did with their turns: issued first, then reasons not to, most frequent first. */
static void write_turns(const bf_sim_result *result, bool color, bf_text *text) {
  share shares[BF_SIM_STALLS + 1] = {{"issued", "\033[32m", result->issued}};
  uint64_t stalled = 0;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++) {
    shares[i + 1] = (share){bf_sim_stall_names[i], i == BF_SIM_CONFLICT ? "\033[31m" : "\033[33m",
                            result->stalls[i]};
    stalled += result->stalls[i];
  }
  shares[0].turns = result->turns > stalled ? result->turns - stalled : 0;
  qsort(shares + 1, BF_SIM_STALLS, sizeof *shares, compare_shares);
  bf_text_puts(text, "scheduler turns\n");
  for (unsigned i = 0; i <= BF_SIM_STALLS; i++) {
    if (!shares[i].turns)
      continue;
    char cells[BF_BAR_CELLS + 1];
    bf_bar_fill((double)shares[i].turns / (double)result->turns, cells);
    bf_text_addf(text, "  %s%s%s %5.1f%%  %s\n", color ? shares[i].color : "", cells,
                 color ? "\033[0m" : "", percent(shares[i].turns, result->turns), shares[i].name);
  }
}

static void write_line(const bf_sim_line *line, bf_text *text) {
  const bf_sim_site *cost = &line->cost;
  bf_text_addf(text, "%14llu %12llu %12llu %14llu  %s%s%llu\n", (number)cost->conflicts,
               (number)cost->wavefronts, (number)cost->executions, (number)cost->waited_cycles,
               line->file ? line->file : "PTX line ", line->file ? ":" : "", (number)line->line);
}

/* Shared memory, with the lines that cost most. */
static void write_shared(const bf_sim_launched *total, bool color, bf_text *text) {
  const bf_sim_result *result = &total->result;
  if (!result->shared_instructions)
    return;
  bool is_bad = color && result->shared_conflicts;
  bf_text_addf(text, "%-*s %12llu accesses, %llu wavefronts, %s%llu conflicts%s\n", LABEL,
               "shared memory", (number)result->shared_instructions,
               (number)result->shared_wavefronts, is_bad ? "\033[31m" : "",
               (number)result->shared_conflicts, is_bad ? "\033[0m" : "");
  bf_text_addf(text, "%14s %12s %12s %14s  %s\n", "conflicts", "wavefronts", "accesses",
               "waited cycles", "line");
  for (size_t i = 0; i < total->lines && i < LINES_SHOWN; i++)
    write_line(&total->line[i], text);
  if (total->lines > LINES_SHOWN)
    bf_text_addf(text, "%56s... and %zu more\n", "", total->lines - LINES_SHOWN);
}

/* Share of hits, where there were any requests. */
static void write_hits(const char *name, uint64_t hits, uint64_t misses, bf_text *text) {
  if (hits + misses)
    bf_text_addf(text, ", %s %.1f%%", name, percent(hits, hits + misses));
}

static void write_global(const bf_sim_result *result, bf_text *text) {
  if (!result->global_instructions)
    return;
  bf_text_addf(text, "%-*s %12llu accesses, %llu sectors", LABEL, "global memory",
               (number)result->global_instructions, (number)result->global_sectors);
  write_hits("hits in L1", result->l1_hits, result->l1_misses, text);
  write_hits("hits in L2", result->l2_hits, result->l2_misses, text);
  bf_text_puts(text, "\n");
  uint64_t bytes = result->dram_read_bytes + result->dram_written_bytes;
  if (!bytes)
    return;
  bf_text_addf(text, "%-*s %12llu bytes read, %llu written, %.1f GB/s", LABEL, "DRAM",
               (number)result->dram_read_bytes, (number)result->dram_written_bytes,
               result->seconds > 0 ? (double)bytes / result->seconds * 1e-9 : 0);
  write_hits("open rows", result->dram_row_hits, result->dram_row_misses, text);
  bf_text_puts(text, "\n");
}

void cli_launch_table_write_text(const cli_launch_table *costs, bool color, bf_text *text) {
  write_head(costs, text);
  if (costs->ledger->launches > 1)
    write_launches(costs, text);
  write_speed(costs, text);
  write_turns(&costs->total->result, color, text);
  write_shared(costs->total, color, text);
  write_global(&costs->total->result, text);
  bf_sim_remarks_write(costs->gpu, &costs->total->result, text);
}

/* ---- JSON ---- */

static void write_numbers_json(const char *key, const uint32_t *value, bf_json *json) {
  bf_json_begin(json, key, '[', true);
  for (unsigned i = 0; i < 3; i++)
    bf_json_number(json, NULL, value[i]);
  bf_json_end(json, ']');
}

/* Joules of a launch by what they went to; null where the GPU's file does not say. */
static bool write_energy_json(const bf_sim_gpu *gpu, const bf_sim_result *result,
                              bf_sim_energy *energy, bf_json *json) {
  if (!bf_sim_energy_find(gpu, result, energy)) {
    bf_json_string(json, "energy", NULL);
    return false;
  }
  bf_json_begin(json, "energy", '{', false);
  bf_json_real(json, "joules", energy->total);
  bf_json_real(json, "rest_joules", energy->idle);
  bf_json_real(json, "instruction_joules", energy->issue);
  bf_json_real(json, "shared_joules", energy->shared);
  bf_json_real(json, "cache_joules", energy->l1 + energy->l2);
  bf_json_real(json, "dram_joules", energy->dram);
  bf_json_real(json, "conflict_joules", energy->conflicts);
  bf_json_end(json, '}');
  return true;
}

/* A line of the source; joules: where they are known. */
static void write_line_json(const bf_sim_line *line, const bf_sim_site_energy *joules,
                            bf_json *json) {
  bf_json_begin(json, NULL, '{', false);
  bf_json_string(json, "file", line->file);
  if (line->file) {
    bf_json_number(json, "line", line->line);
    bf_json_string(json, "ptx_line", NULL);
  } else {
    bf_json_string(json, "line", NULL);
    bf_json_number(json, "ptx_line", line->line);
  }
  bf_json_number(json, "accesses", line->cost.executions);
  bf_json_number(json, "wavefronts", line->cost.wavefronts);
  bf_json_number(json, "conflicts", line->cost.conflicts);
  bf_json_number(json, "waited_cycles", line->cost.waited_cycles);
  if (joules) {
    bf_json_real(json, "joules", joules->total);
    bf_json_real(json, "conflict_joules", joules->conflicts);
  }
  bf_json_end(json, '}');
}

static void write_memory_json(const bf_sim_result *result, bf_json *json) {
  bf_json_number(json, "shared_accesses", result->shared_instructions);
  bf_json_number(json, "shared_wavefronts", result->shared_wavefronts);
  bf_json_number(json, "shared_conflicts", result->shared_conflicts);
  bf_json_number(json, "global_accesses", result->global_instructions);
  bf_json_number(json, "global_sectors", result->global_sectors);
  bf_json_number(json, "l1_hits", result->l1_hits);
  bf_json_number(json, "l1_misses", result->l1_misses);
  bf_json_number(json, "l2_hits", result->l2_hits);
  bf_json_number(json, "l2_misses", result->l2_misses);
  bf_json_number(json, "dram_read_bytes", result->dram_read_bytes);
  bf_json_number(json, "dram_written_bytes", result->dram_written_bytes);
  bf_json_number(json, "dram_row_hits", result->dram_row_hits);
  bf_json_number(json, "dram_row_misses", result->dram_row_misses);
  bf_json_number(json, "history_right", result->history_right);
  bf_json_number(json, "history_wrong", result->history_wrong);
  bf_json_number(json, "history_unknown", result->history_unknown);
}

/* Turns without issue by reason; keys are the names of reasons with underscores for blanks. */
static void write_stalls_json(const bf_sim_result *result, bf_json *json) {
  bf_json_begin(json, "stalls", '{', false);
  for (unsigned i = 0; i < BF_SIM_STALLS; i++) {
    char key[32];
    snprintf(key, sizeof key, "%s", bf_sim_stall_names[i]);
    for (char *at = key; *at; at++)
      *at = *at == ' ' ? '_' : *at;
    bf_json_number(json, key, result->stalls[i]);
  }
  bf_json_end(json, '}');
}

/* What a launch, or all together, has cost: members of an object that the caller has begun. */
static void write_cost_json(const bf_sim_gpu *gpu, const bf_sim_launched *launched, bf_json *json) {
  const bf_sim_result *result = &launched->result;
  bf_json_number(json, "cycles", result->cycles);
  if (result->cycles_high) {
    bf_json_number(json, "cycles_low", result->cycles_low);
    bf_json_number(json, "cycles_high", result->cycles_high);
    bf_json_number(json, "simulated_blocks", result->simulated_blocks);
  }
  bf_json_real(json, "seconds", result->seconds);
  bf_json_number(json, "instructions", result->issued);
  bf_json_real(json, "ipc_per_sm", bf_sim_ipc_per_sm(launched));
  bf_json_number(json, "thread_instructions", result->emu.thread_instructions);
  bf_json_number(json, "blocks", result->blocks);
  bf_json_number(json, "sms", result->sms);
  if (result->blocks_per_sm)
    bf_json_number(json, "blocks_per_sm", result->blocks_per_sm);
  else
    bf_json_string(json, "blocks_per_sm", NULL);
  bf_json_string(json, "occupancy_limit", result->occupancy_limit);
  bf_json_real(json, "occupancy", bf_sim_occupancy(gpu, launched));
  bf_json_number(json, "turns", result->turns);
  write_stalls_json(result, json);
  write_memory_json(result, json);
  bf_json_real(json, "host_seconds", result->host_seconds);
  bf_json_number(json, "host_bytes_per_warp", result->host_bytes_per_warp);
  bf_sim_energy energy;
  bool has_energy = write_energy_json(gpu, result, &energy, json);
  bf_json_begin(json, "lines", '[', false);
  for (size_t i = 0; i < launched->lines; i++) {
    const bf_sim_line *line = &launched->line[i];
    bf_sim_site_energy joules = bf_sim_energy_of_site(gpu, result, &energy, &line->cost);
    write_line_json(line, has_energy ? &joules : NULL, json);
  }
  bf_json_end(json, ']');
}

/* All parameters of the GPU, words and numbers. */
static void write_parameters_json(const bf_sim_gpu *gpu, bf_json *json) {
  bf_json_begin(json, "parameters", '{', false);
  for (const bf_sim_parameter *at = bf_sim_parameters; at->name; at++) {
    bf_text value = {0};
    bf_sim_gpu_get(gpu, at, &value);
    if (at->kind == BF_SIM_CHOICE)
      bf_json_string(json, at->name, value.data);
    else
      bf_json_real(json, at->name, value.data ? strtod(value.data, NULL) : 0);
    json->text->failed |= value.failed;
    bf_text_free(&value);
  }
  bf_json_end(json, '}');
}

static void write_outcome_json(const bf_corpus_outcome *outcome, bf_json *json) {
  if (!outcome) {
    bf_json_string(json, "outcome", NULL);
    return;
  }
  bf_json_begin(json, "outcome", '{', false);
  bf_json_number(json, "elements", outcome->elements);
  bf_json_number(json, "wrong", outcome->wrong);
  bf_json_real(json, "worst_error", outcome->worst_error);
  bf_json_end(json, '}');
}

void cli_launch_table_write_json(const cli_launch_table *costs, bf_text *text) {
  bf_json json = {.text = text};
  bf_json_begin(&json, NULL, '{', false);
  bf_json_string(&json, "program", costs->program);
  bf_json_string(&json, "benchmark", costs->benchmark);
  write_outcome_json(costs->outcome, &json);
  bf_json_string(&json, "gpu", costs->gpu->name);
  bf_json_string(&json, "machine", bf_machine_name(costs->gpu->machine));
  bf_json_string(&json, "lock_hash", costs->lock_hash);
  write_parameters_json(costs->gpu, &json);
  bf_json_begin(&json, "launches", '[', false);
  for (size_t i = 0; i < costs->ledger->launches; i++) {
    const bf_sim_launched *at = &costs->ledger->launch[i];
    bf_json_begin(&json, NULL, '{', false);
    bf_json_string(&json, "kernel", at->kernel);
    write_numbers_json("grid", at->grid, &json);
    write_numbers_json("block", at->block, &json);
    bf_json_string(&json, "hash", at->hash);
    write_cost_json(costs->gpu, at, &json);
    bf_json_end(&json, '}');
  }
  bf_json_end(&json, ']');
  bf_json_begin(&json, "total", '{', false);
  write_cost_json(costs->gpu, costs->total, &json);
  bf_json_end(&json, '}');
  bf_json_end(&json, '}');
}

/* ---- Chart ---- */

enum { CHART_LAUNCHES = 40, CHART_SERIES = BF_SIM_STALLS + 1 };

/* Percentages of turns of the launches shown: issued, then each reason not to issue. */
static void fill_shares(const bf_sim_ledger *ledger, size_t count,
                        double percentage[CHART_SERIES][CHART_LAUNCHES]) {
  for (size_t i = 0; i < count; i++) {
    const bf_sim_result *result = &ledger->launch[i].result;
    percentage[0][i] = 100;
    for (unsigned j = 0; j < BF_SIM_STALLS; j++) {
      percentage[j + 1][i] = percent(result->stalls[j], result->turns);
      percentage[0][i] -= percentage[j + 1][i];
    }
  }
}

int cli_launch_table_write_svg(const cli_launch_table *costs, bf_text *text,
                               bf_diagnostic *diagnostic) {
  const bf_sim_ledger *ledger = costs->ledger;
  double percentage[CHART_SERIES][CHART_LAUNCHES];
  const char *kernel[CHART_LAUNCHES];
  bf_chart_series series[CHART_SERIES];
  size_t count = ledger->launches < CHART_LAUNCHES ? ledger->launches : CHART_LAUNCHES;
  fill_shares(ledger, count, percentage);
  for (size_t i = 0; i < count; i++)
    kernel[i] = ledger->launch[i].kernel;
  for (unsigned j = 0; j < CHART_SERIES; j++)
    series[j] = (bf_chart_series){
        .name = j ? bf_sim_stall_names[j - 1] : "issued", .y = percentage[j], .count = count};
  bf_text title = {0};
  bf_text_addf(&title, "Scheduler turns on %s", costs->gpu->name);
  if (ledger->launches > count)
    bf_text_addf(&title, ": the first %zu of %zu launches", count, ledger->launches);
  bf_chart chart = {.kind = BF_CHART_STACKS,
                    .title = title.data ? title.data : "",
                    .y_label = "% of turns",
                    .category = kernel,
                    .categories = count,
                    .series = series,
                    .series_count = CHART_SERIES};
  int error = bf_chart_svg(&chart, text, diagnostic);
  bf_text_free(&title);
  return error;
}
