/* Launches on the simulator: the GPU that the environment names, what programs see of it, and what
 * launches cost. */
#include "context.h"
#include "ptx/print.h"
#include "tune/machine_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The GPU ---- */

/* GPUs whose compute capability is not that of the product which stands for their machine. */
static const struct {
  const char *gpu;
  int major, minor;
} capabilities[] = {{"8800gt", 1, 1}, {"gtx750ti", 5, 0}};

static int least(uint64_t a, uint64_t b) { return (int)(a < b ? a : b); }

/* The clock at which the bus of the device has the bandwidth of the GPU's memory, in kHz; data is
 * sent twice in a cycle. */
static int memory_clock_khz(const bf_sim_gpu *gpu, const rt_device *device) {
  double bits_per_cycle = 8.0 * 32 * (double)gpu->dram_channels / gpu->dram_sector_cycles;
  return (int)(bits_per_cycle * gpu->clock_mhz * 1e3 / (2.0 * device->memory_bus_bits));
}

/* Makes the device that programs see: the product of the GPU's machine, with the GPU's numbers. */
static void describe(rt_context *context) {
  const bf_sim_gpu *gpu = context->gpu;
  rt_device *device = &context->gpu_device;
  *device = *rt_device_of(bf_machine_name(gpu->machine));
  /* The title up to what it says in brackets. */
  const char *title = gpu->title && *gpu->title ? gpu->title : gpu->name;
  const char *end = strstr(title, " (");
  snprintf(context->gpu_product, sizeof context->gpu_product, "%.*s",
           (int)(end ? end - title : (ptrdiff_t)strlen(title)), title);
  device->product = context->gpu_product;
  for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
    if (strcmp(gpu->name, capabilities[i].gpu) == 0) {
      device->major = capabilities[i].major;
      device->minor = capabilities[i].minor;
    }
  uint64_t reserved = device->major >= 8 ? 1024 : 0;
  device->multiprocessors = (int)gpu->sms;
  device->clock_khz = (int)(gpu->clock_mhz * 1e3);
  device->memory_clock_khz = memory_clock_khz(gpu, device);
  device->l2_bytes = gpu->l2_bytes;
  device->shared_per_multiprocessor_bytes = (int)gpu->shared_bytes_per_sm;
  device->shared_opt_in_bytes =
      least((uint64_t)device->shared_opt_in_bytes, gpu->shared_bytes_per_sm - reserved);
  device->shared_per_block_bytes =
      least((uint64_t)device->shared_per_block_bytes, (uint64_t)device->shared_opt_in_bytes);
  device->registers = (int)gpu->registers_per_sm;
  device->threads_per_multiprocessor = (int)gpu->warps_per_sm * BF_EMU_LANES;
  device->blocks_per_multiprocessor = (int)gpu->blocks_per_sm;
  device->threads_per_block =
      least((uint64_t)device->threads_per_block, gpu->warps_per_sm * BF_EMU_LANES);
}

int rt_load_gpu(rt_context *context, bf_diagnostic *diagnostic) {
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load(context->settings.gpu, &gpu, diagnostic));
  const bf_setting_list *set = &context->settings.set;
  int error = BF_OK;
  for (size_t i = 0; i < set->count && !error; i++)
    error = bf_sim_gpu_set(gpu, set->item[i], diagnostic);
  if (!error)
    error = bf_sim_gpu_check(gpu, diagnostic);
  if (error) {
    bf_sim_gpu_free(gpu);
    return error;
  }
  context->gpu = gpu;
  context->machine = gpu->machine;
  describe(context);
  context->device = &context->gpu_device;
  return BF_OK;
}

unsigned rt_gpu_blocks(const rt_context *context, const bf_emu_kernel *kernel, unsigned threads,
                       uint64_t dynamic_shared_bytes, const char **limit) {
  bf_emu_launch launch = {
      .kernel = kernel, .block = {threads, 1, 1}, .dynamic_shared_bytes = dynamic_shared_bytes};
  return bf_sim_blocks_per_sm(context->gpu, &launch, limit);
}

double rt_seconds(const rt_context *context) {
  return context->gpu ? context->simulated_seconds : bf_seconds();
}

/* ---- Launches ---- */

/* Adds a launch to the tally, and its time to the clock. */
static int add(rt_context *context, rt_tally *tally, const bf_sim_result *result,
               bf_diagnostic *diagnostic) {
  if (!tally->site && !(tally->site = calloc(result->sites + 1, sizeof *tally->site)))
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < result->sites; i++)
    bf_sim_site_add(&tally->site[i], &result->site[i]);
  tally->cycles += result->cycles;
  tally->work_cycles +=
      bf_work_cycles(result->shared_wavefronts, result->emu.warp_instructions, result->blocks,
                     (unsigned)context->gpu->sms, (unsigned)context->gpu->schedulers);
  tally->simulated_seconds += result->seconds;
  bf_sim_energy energy;
  if (bf_sim_energy_find(context->gpu, result, &energy)) {
    tally->joules += energy.total;
    tally->conflict_joules += energy.conflicts;
  }
  context->simulated_seconds += result->seconds;
  return BF_OK;
}

/* Says that a launch cannot go on and what waits on what, a line for each warp, and keeps the error
 * for the next synchronisation. */
static void report_end(rt_context *context, const bf_emu_launch *launch,
                       const bf_sim_result *result) {
  bf_text name = {0};
  bf_ptx_readable_name(bf_emu_kernel_name(launch->kernel), &name);
  if (result->timed_out)
    rt_say(context, "kernel %s is not done after %llu cycles", name.data ? name.data : "?",
           (unsigned long long)context->settings.most_cycles);
  else
    rt_say(context, "kernel %s cannot go on: warps wait for each other",
           name.data ? name.data : "?");
  bf_text_free(&name);
  for (unsigned i = 0; i < result->waits; i++) {
    bf_text wait = {0};
    bf_sim_wait_explain(&result->wait[i], &wait);
    rt_say(context, "  %s", wait.data ? wait.data : "?");
    bf_text_free(&wait);
  }
  if (result->warps_left > result->waits)
    rt_say(context, "  and %u more", result->warps_left - result->waits);
  context->pending = cudaErrorLaunchTimeout;
}

/* What ptxas makes of a module, which it is asked at the first launch; NULL: launches are estimated
 * from the PTX. */
static const bf_machine_code *machine_code(const rt_context *context, rt_module *module) {
  if (!module->text.size)
    return module->machine_code;
  bf_diagnostic diagnostic = {.caret = -1};
  bf_machine_code *code = calloc(1, sizeof *code);
  int error =
      code ? bf_machine_code_make(&module->text, code, &diagnostic) : bf_no_memory(&diagnostic);
  bf_text_free(&module->text);
  if (!error)
    return module->machine_code = code;
  rt_say(context, "cycles are estimated from the PTX: %s", diagnostic.message);
  if (code)
    bf_machine_code_free(code);
  free(code);
  return NULL;
}

int rt_keep_text(rt_module *module, bf_diagnostic *diagnostic) {
  bf_ptx_module *again;
  bf_ptx_print(module->ptx, &module->text);
  if (!module->text.data)
    return bf_no_memory(diagnostic);
  BF_TRY(bf_ptx_parse(program_invocation_short_name, module->text.data, module->text.size, &again,
                      diagnostic));
  bf_ptx_free(module->ptx);
  module->ptx = again;
  return BF_OK;
}

void rt_free_text(rt_module *module) {
  bf_text_free(&module->text);
  if (module->machine_code)
    bf_machine_code_free(module->machine_code);
  free(module->machine_code);
}

int rt_simulate(rt_context *context, rt_module *module, rt_tally *tally,
                const bf_emu_launch *launch, bf_emu_result *result, bf_diagnostic *diagnostic) {
  bf_sim_ledger ledger = {.settings = {.gpu = context->gpu,
                                       .machine = machine_code(context, module),
                                       .hash = tally->hash,
                                       .lock_hash = tally->lock_hash,
                                       .workers = (unsigned)context->settings.workers,
                                       .most_cycles = context->settings.most_cycles}};
  int error = bf_sim_ledger_run(&ledger, context->emu, launch, NULL, result, diagnostic);
  const bf_sim_result *found = ledger.launches ? &ledger.launch[0].result : NULL;
  if (error && found && (found->timed_out || found->waits)) {
    report_end(context, launch, found);
    *result = found->emu;
    result->fault.kind = BF_EMU_NO_FAULT; /* it is reported */
    error = BF_OK;
  }
  if (!error && found)
    error = add(context, tally, found, diagnostic);
  bf_sim_ledger_free(&ledger);
  return error;
}
