/* Launches on the simulator. */
#include "sim/ledger.h"

#include "api/launch.h"

#include <stdlib.h>
#include <string.h>

struct bf_simulation {
  bf_sim_ledger ledger; /* of one launch */
  bf_simulation_totals totals;
  bf_simulation_stall stall[BF_SIM_STALLS];
  bf_simulation_line *line; /* in the ledger's arena */
  size_t lines;
};

const char *bf_gpu_builtin(unsigned index) {
  for (unsigned i = 0; i < index; i++)
    if (!bf_embedded_gpus[i].name)
      return NULL;
  return bf_embedded_gpus[index].name;
}

/* ---- The GPU ---- */

/* Changes the parameters that text lists, with blanks between. */
static int set_parameters(bf_sim_gpu *gpu, const char *text, bf_diagnostic *diagnostic) {
  enum { MOST = 128 };
  char one[MOST];
  while (text && *(text += strspn(text, " \n"))) {
    size_t length = strcspn(text, " \n");
    if (length >= MOST)
      return bf_fail(diagnostic, BF_BAD_INPUT, "a parameter of a GPU has over %d letters: %.40s...",
                     MOST, text);
    memcpy(one, text, length);
    one[length] = 0;
    BF_TRY(bf_sim_gpu_set(gpu, one, diagnostic));
    text += length;
  }
  return BF_OK;
}

static int load_gpu(const bf_simulate_options *options, bf_sim_gpu **gpu,
                    bf_diagnostic *diagnostic) {
  BF_TRY(bf_sim_gpu_load(options->gpu ? options->gpu : "h200", gpu, diagnostic));
  BF_TRY(set_parameters(*gpu, options->set, diagnostic));
  return bf_sim_gpu_check(*gpu, diagnostic);
}

/* ---- The result ---- */

static void fill_totals(const bf_sim_gpu *gpu, const bf_sim_launched *from, bf_simulation *to) {
  const bf_sim_result *result = &from->result;
  to->totals = (bf_simulation_totals){.cycles = result->cycles,
                                      .seconds = result->seconds,
                                      .instructions = result->issued,
                                      .blocks = result->blocks,
                                      .sms = result->sms,
                                      .blocks_per_sm = result->blocks_per_sm,
                                      .occupancy_limit = result->occupancy_limit,
                                      .occupancy = bf_sim_occupancy(gpu, from),
                                      .instructions_per_cycle = bf_sim_ipc_per_sm(from),
                                      .turns = result->turns,
                                      .shared_accesses = result->shared_instructions,
                                      .shared_wavefronts = result->shared_wavefronts,
                                      .shared_conflicts = result->shared_conflicts,
                                      .global_accesses = result->global_instructions,
                                      .global_sectors = result->global_sectors,
                                      .dram_read_bytes = result->dram_read_bytes,
                                      .dram_written_bytes = result->dram_written_bytes};
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    to->stall[i] = (bf_simulation_stall){bf_sim_stall_names[i], result->stalls[i]};
}

static int fill(const bf_sim_gpu *gpu, bf_simulation *to, bf_diagnostic *diagnostic) {
  const bf_sim_launched *from = &to->ledger.launch[0];
  fill_totals(gpu, from, to);
  to->line = bf_arena_alloc(&to->ledger.arena, (from->lines + 1) * sizeof *to->line);
  if (!to->line)
    return bf_no_memory(diagnostic);
  to->lines = from->lines;
  for (size_t i = 0; i < from->lines; i++) {
    const bf_sim_line *line = &from->line[i];
    to->line[i] = (bf_simulation_line){.file = line->file,
                                       .line = line->line,
                                       .accesses = line->cost.executions,
                                       .wavefronts = line->cost.wavefronts,
                                       .conflicts = line->cost.conflicts,
                                       .waited_cycles = line->cost.waited_cycles};
  }
  return BF_OK;
}

/* ---- Launching ---- */

/* Simulates on a device that has the module, and copies buffers back. */
static int run(bf_api_device *device, const bf_module *module, const bf_api_kernel *kernel,
               const bf_launch *given, bf_simulation *simulation, bf_diagnostic *diagnostic) {
  bf_emu_launch launch;
  bf_emu_result result;
  BF_TRY(bf_api_device_prepare(device, kernel, given, &launch, diagnostic));
  BF_TRY(bf_sim_ledger_run(&simulation->ledger, device->emu, &launch, NULL, &result, diagnostic));
  if (result.fault.kind)
    return bf_api_fault(&result.fault, module->name, diagnostic);
  BF_TRY(fill(simulation->ledger.settings.gpu, simulation, diagnostic));
  bf_api_device_copy_back(device);
  return BF_OK;
}

static int simulate(const bf_sim_gpu *gpu, const bf_module *module, const bf_api_kernel *kernel,
                    const bf_launch *launch, bf_simulation *simulation, bf_diagnostic *diagnostic) {
  bf_api_device device;
  BF_TRY(bf_memory_check_hash(gpu->machine, launch->hash, diagnostic));
  simulation->ledger.settings.gpu = gpu;
  simulation->ledger.settings.hash = launch->hash;
  simulation->ledger.settings.workers = launch->threads;
  int error = bf_api_device_open(module->ptx, &device, diagnostic);
  if (!error)
    error = run(&device, module, kernel, launch, simulation, diagnostic);
  bf_api_device_close(&device);
  return error;
}

int bf_simulate_launch(const bf_module *module, const char *name, const bf_launch *given,
                       const bf_simulate_options *given_options, bf_simulation **out,
                       bf_diagnostic *diagnostic) {
  bf_simulate_options options;
  bf_launch launch;
  const bf_api_kernel *kernel;
  bf_sim_gpu *gpu = NULL;
  *out = NULL;
  BF_TRY(bf_take_options(given, &launch, sizeof launch, "bf_launch", diagnostic));
  BF_TRY(
      bf_take_options(given_options, &options, sizeof options, "bf_simulate_options", diagnostic));
  BF_TRY(bf_api_check_threads(launch.threads, diagnostic));
  BF_TRY(bf_api_kernel_find(module, name, &kernel, diagnostic));
  bf_simulation *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->ledger.settings.most_cycles = options.most_cycles;
  int error = load_gpu(&options, &gpu, diagnostic);
  if (!error)
    error = simulate(gpu, module, kernel, &launch, made, diagnostic);
  bf_sim_gpu_free(gpu);
  if (error)
    bf_simulation_free(made);
  else
    *out = made;
  return error;
}

void bf_simulation_free(bf_simulation *simulation) {
  if (simulation)
    bf_sim_ledger_free(&simulation->ledger);
  free(simulation);
}

const bf_simulation_totals *bf_simulation_get_totals(const bf_simulation *simulation) {
  return &simulation->totals;
}

const bf_simulation_stall *bf_simulation_get_stall(const bf_simulation *simulation, size_t index) {
  return index < BF_SIM_STALLS ? &simulation->stall[index] : NULL;
}

const bf_simulation_line *bf_simulation_get_line(const bf_simulation *simulation, size_t index) {
  return index < simulation->lines ? &simulation->line[index] : NULL;
}
