/* Simulating all launches of a program. */
#include "sim/ledger.h"
#include "sim/watch_pair.h"

#include <stdlib.h>
#include <string.h>

/* ---- Lines ---- */

static bool is_same_line(const bf_sim_line *line, const char *file, uint64_t number) {
  if (line->line != number || !line->file != !file)
    return false;
  return !file || strcmp(line->file, file) == 0;
}

/* Adds cost to a line of launched, which has room for one more. */
static void add_line(bf_sim_launched *launched, const char *file, uint64_t number,
                     const bf_sim_site *cost) {
  size_t at = 0;
  while (at < launched->lines && !is_same_line(&launched->line[at], file, number))
    at++;
  if (at == launched->lines)
    launched->line[launched->lines++] = (bf_sim_line){.file = file, .line = number};
  bf_sim_site_add(&launched->line[at].cost, cost);
}

static int compare_lines(const void *left, const void *right) {
  const bf_sim_line *a = left, *b = right;
  if (a->cost.conflicts != b->cost.conflicts)
    return a->cost.conflicts < b->cost.conflicts ? 1 : -1;
  if (a->cost.waited_cycles != b->cost.waited_cycles)
    return a->cost.waited_cycles < b->cost.waited_cycles ? 1 : -1;
  int order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
  return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static void sort_lines(bf_sim_launched *launched) {
  if (launched->lines)
    qsort(launched->line, launched->lines, sizeof *launched->line, compare_lines);
}

/* The copy of a file name in the arena; NULL where there is none, or memory is exhausted. */
static const char *keep_name(bf_arena *arena, const bf_sim_launched *launched, const char *name) {
  for (size_t i = 0; i < launched->lines; i++)
    if (launched->line[i].file && strcmp(launched->line[i].file, name) == 0)
      return launched->line[i].file;
  return bf_arena_copy(arena, name);
}

/* What the sites of the kernel, or of a trace of it, have cost, by line. */
static bool find_lines(bf_arena *arena, const bf_emu_kernel *kernel, const bf_sim_sass *trace,
                       bf_sim_launched *launched) {
  const bf_sim_result *result = &launched->result;
  launched->line = bf_arena_alloc(arena, (result->sites + 1) * sizeof *launched->line);
  for (unsigned i = 0; launched->line && i < result->sites; i++) {
    if (!result->site[i].executions)
      continue;
    bf_emu_site site = trace ? (bf_emu_site){.source_file = bf_sim_sass_file(trace),
                                             .source_line = bf_sim_sass_site_line(trace, i)}
                             : bf_emu_kernel_site(kernel, i);
    const char *file = site.source_file ? keep_name(arena, launched, site.source_file) : NULL;
    if (site.source_file && !file)
      return false;
    add_line(launched, file, file ? site.source_line : site.line, &result->site[i]);
  }
  if (launched->line)
    sort_lines(launched);
  return launched->line != NULL;
}

/* ---- Launches ---- */

/* Room for one more launch, zeroed. */
static bf_sim_launched *add_launch(bf_sim_ledger *ledger) {
  if (ledger->launches == ledger->capacity) {
    size_t capacity = ledger->capacity ? 2 * ledger->capacity : 8;
    bf_sim_launched *grown = realloc(ledger->launch, capacity * sizeof *grown);
    if (!grown)
      return NULL;
    ledger->launch = grown;
    ledger->capacity = capacity;
  }
  bf_sim_launched *made = &ledger->launch[ledger->launches++];
  memset(made, 0, sizeof *made);
  return made;
}

/* The watch that timeline and diagram want for this launch; without them, that of the settings. */
static int make_watch(bf_sim_ledger *ledger, const bf_emu_kernel *kernel, bf_sim_watch_pair *pair,
                      bf_sim_watch *watch, const bf_sim_watch **used, bf_diagnostic *diagnostic) {
  unsigned count = 0;
  if (ledger->timeline)
    BF_TRY(bf_timeline_begin(ledger->timeline, kernel, ledger->timeline_cycles,
                             &pair->watch[count++], diagnostic));
  if (ledger->diagram && ledger->launches == 1)
    BF_TRY(bf_diagram_begin(ledger->diagram, kernel, &pair->watch[count++], diagnostic));
  *watch = count == 2 ? bf_sim_watch_both(pair) : pair->watch[0];
  *used = count ? watch : ledger->settings.watch;
  return BF_OK;
}

/* A copy of what says which launch this is. */
static bool describe(bf_sim_ledger *ledger, const bf_emu_launch *launch, const char *kernel,
                     const bf_hash *hash, bf_sim_launched *launched) {
  memcpy(launched->grid, launch->grid, sizeof launched->grid);
  memcpy(launched->block, launch->block, sizeof launched->block);
  launched->kernel = bf_arena_copy(&ledger->arena, kernel);
  launched->hash = bf_arena_copy(&ledger->arena, hash ? bf_hash_text(hash) : "none");
  return launched->kernel && launched->hash;
}

/* The hash that a launch of the kernel asks for itself, from its text. */
static int parse_own_hash(const bf_sim_ledger *ledger, const bf_emu_kernel *kernel,
                          const char *text, bf_hash **own, bf_diagnostic *diagnostic) {
  bf_diagnostic fault;
  bf_geometry geometry = bf_machine_geometry(ledger->settings.gpu->machine);
  int error = bf_hash_parse(text, &geometry, own, &fault);
  if (error)
    bf_fail(diagnostic, error, "hash '%s' of kernel '%s': %s", text, bf_emu_kernel_name(kernel),
            fault.message);
  return error;
}

/* The hash of a launch, where it does not ask for its own; NULL: none. */
static const bf_hash *hash_of(const bf_sim_ledger *ledger, const char *kernel) {
  const bf_hash *hash = ledger->hashes ? bf_hash_list_find(ledger->hashes, kernel) : NULL;
  return hash ? hash : ledger->settings.hash;
}

/* NULL for a hash that does nothing. */
static const bf_hash *or_none(const bf_hash *hash) {
  return hash && strcmp(bf_hash_text(hash), "none") != 0 ? hash : NULL;
}

/* The launch with the progress that the ledger asks for. */
static bf_emu_launch with_progress(const bf_sim_ledger *ledger, const bf_emu_launch *launch) {
  bf_emu_launch reporting = *launch;
  if (ledger->progress) {
    reporting.progress = ledger->progress;
    reporting.progress_context = ledger->progress_context;
  }
  return reporting;
}

/* Simulates a launch with a hash (NULL: none). */
static int simulate(bf_sim_ledger *ledger, const bf_hash *hash, bf_emu *emu,
                    const bf_emu_launch *launch, bf_sim_launched *launched,
                    bf_diagnostic *diagnostic) {
  bf_sim_settings settings = ledger->settings;
  bf_emu_launch reporting = with_progress(ledger, launch);
  bf_sim_watch_pair pair = {0};
  bf_sim_watch watch;
  settings.hash = hash;
  if (!describe(ledger, launch, bf_emu_kernel_name(launch->kernel), hash, launched))
    return bf_no_memory(diagnostic);
  BF_TRY(make_watch(ledger, launch->kernel, &pair, &watch, &settings.watch, diagnostic));
  if (ledger->sampler)
    BF_TRY(bf_sim_sampler_run(ledger->sampler, &settings, emu, &reporting, &launched->result,
                              diagnostic));
  else
    BF_TRY(bf_sim_run(&settings, emu, &reporting, &launched->result, diagnostic));
  if (ledger->timeline)
    bf_timeline_end(ledger->timeline, launched->result.cycles);
  launched->sm_cycles = launched->result.cycles * launched->result.sms;
  if (!find_lines(&ledger->arena, launch->kernel, NULL, launched))
    return bf_no_memory(diagnostic);
  return BF_OK;
}

/* What is wrong with a launch that did not end. */
static int check_ended(const bf_sim_ledger *ledger, const bf_sim_launched *launched,
                       bf_diagnostic *diagnostic) {
  if (launched->result.timed_out)
    return bf_fail(diagnostic, BF_BAD_INPUT, "kernel %s is not done after %llu cycles",
                   launched->kernel, (unsigned long long)ledger->settings.most_cycles);
  if (launched->result.waits)
    return bf_fail(diagnostic, BF_BAD_INPUT, "kernel %s cannot go on: warps wait for each other",
                   launched->kernel);
  return BF_OK;
}

int bf_sim_ledger_run(bf_sim_ledger *ledger, bf_emu *emu, const bf_emu_launch *launch,
                      const char *hash, bf_emu_result *result, bf_diagnostic *diagnostic) {
  *result = (bf_emu_result){0};
  bf_hash *own = NULL;
  bf_sim_launched *launched = add_launch(ledger);
  if (!launched)
    return bf_no_memory(diagnostic);
  if (hash)
    BF_TRY(parse_own_hash(ledger, launch->kernel, hash, &own, diagnostic));
  const bf_hash *used = own ? own : hash_of(ledger, bf_emu_kernel_name(launch->kernel));
  int error = simulate(ledger, or_none(used), emu, launch, launched, diagnostic);
  bf_hash_free(own);
  BF_TRY(error);
  *result = launched->result.emu;
  return check_ended(ledger, launched, diagnostic);
}

int bf_sim_ledger_run_sass(bf_sim_ledger *ledger, const bf_sim_sass *trace,
                           bf_diagnostic *diagnostic) {
  bf_sim_settings settings = ledger->settings;
  bf_emu_launch plain = bf_sim_sass_launch(trace), launch = with_progress(ledger, &plain);
  bf_sim_launched *launched = add_launch(ledger);
  settings.hash = or_none(hash_of(ledger, bf_sim_sass_kernel(trace)));
  if (!launched || !describe(ledger, &launch, bf_sim_sass_kernel(trace), settings.hash, launched))
    return bf_no_memory(diagnostic);
  BF_TRY(bf_sim_sass_run(&settings, trace, &launch, &launched->result, diagnostic));
  launched->sm_cycles = launched->result.cycles * launched->result.sms;
  if (!find_lines(&ledger->arena, NULL, trace, launched))
    return bf_no_memory(diagnostic);
  return check_ended(ledger, launched, diagnostic);
}

void bf_sim_ledger_free(bf_sim_ledger *ledger) {
  for (size_t i = 0; i < ledger->launches; i++)
    bf_arena_free(&ledger->launch[i].result.arena);
  free(ledger->launch);
  bf_arena_free(&ledger->arena);
}

/* ---- Sums ---- */

/* Where cycles may lie: those that were simulated lie where they are. */
static void add_interval(bf_sim_result *to, const bf_sim_result *from) {
  bool is_known = !from->cycles_high;
  to->cycles_low += is_known ? from->cycles : from->cycles_low;
  to->cycles_high += is_known ? from->cycles : from->cycles_high;
  to->simulated_blocks += from->is_inferred        ? 0
                          : from->simulated_blocks ? from->simulated_blocks
                                                   : from->blocks;
}

static void add_result(bf_sim_result *to, const bf_sim_result *from) {
  add_interval(to, from);
  to->emu.warp_instructions += from->emu.warp_instructions;
  to->emu.thread_instructions += from->emu.thread_instructions;
  to->cycles += from->cycles;
  to->seconds += from->seconds;
  to->issued += from->issued;
  to->guarded += from->guarded;
  for (unsigned i = 0; i < BF_SIM_ACTIVITIES; i++)
    to->activity[i] += from->activity[i];
  to->turns += from->turns;
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    to->stalls[i] += from->stalls[i];
  to->blocks += from->blocks;
  to->sms = from->sms > to->sms ? from->sms : to->sms;
  to->resident_warp_cycles += from->resident_warp_cycles;
  to->shared_instructions += from->shared_instructions;
  to->shared_wavefronts += from->shared_wavefronts;
  to->shared_conflicts += from->shared_conflicts;
  to->shared_lanes += from->shared_lanes;
  to->shared_parts += from->shared_parts;
  to->global_instructions += from->global_instructions;
  to->global_sectors += from->global_sectors;
  to->l1_hits += from->l1_hits;
  to->l1_misses += from->l1_misses;
  to->l2_hits += from->l2_hits;
  to->l2_misses += from->l2_misses;
  to->dram_read_bytes += from->dram_read_bytes;
  to->dram_written_bytes += from->dram_written_bytes;
  to->dram_row_hits += from->dram_row_hits;
  to->dram_row_misses += from->dram_row_misses;
  to->history_right += from->history_right;
  to->history_wrong += from->history_wrong;
  to->history_unknown += from->history_unknown;
  if (from->host_bytes_per_warp > to->host_bytes_per_warp)
    to->host_bytes_per_warp = from->host_bytes_per_warp;
  to->host_seconds += from->host_seconds;
}

int bf_sim_ledger_total(bf_sim_ledger *ledger, bf_sim_launched *total, bf_diagnostic *diagnostic) {
  *total = (bf_sim_launched){0};
  size_t lines = 0;
  for (size_t i = 0; i < ledger->launches; i++)
    lines += ledger->launch[i].lines;
  total->line = bf_arena_alloc(&ledger->arena, (lines + 1) * sizeof *total->line);
  if (!total->line)
    return bf_no_memory(diagnostic);
  for (size_t i = 0; i < ledger->launches; i++) {
    const bf_sim_launched *from = &ledger->launch[i];
    add_result(&total->result, &from->result);
    total->sm_cycles += from->sm_cycles;
    for (size_t j = 0; j < from->lines; j++)
      add_line(total, from->line[j].file, from->line[j].line, &from->line[j].cost);
  }
  if (total->result.simulated_blocks == total->result.blocks) /* all of them */
    total->result.cycles_low = total->result.cycles_high = total->result.simulated_blocks = 0;
  if (ledger->launches == 1) {
    total->result.blocks_per_sm = ledger->launch[0].result.blocks_per_sm;
    total->result.occupancy_limit = ledger->launch[0].result.occupancy_limit;
  }
  sort_lines(total);
  return BF_OK;
}

/* ---- Rates ---- */

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double bf_sim_ipc_per_sm(const bf_sim_launched *launched) {
  return ratio((double)launched->result.issued, (double)launched->sm_cycles);
}

double bf_sim_occupancy(const bf_sim_gpu *gpu, const bf_sim_launched *launched) {
  return ratio((double)launched->result.resident_warp_cycles,
               (double)launched->sm_cycles * (double)gpu->warps_per_sm);
}

double bf_sim_dram_rate(const bf_sim_result *result, uint64_t cycles) {
  double bytes = (double)result->dram_read_bytes + (double)result->dram_written_bytes;
  return cycles ? bytes / (double)cycles : 0;
}
