/* The emulator as a bf_device. Its global memory is memory of this process. */
#include "kernels/devices.h"

#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

typedef struct emulated {
  bf_emu *emu;
  bf_ptx_module *ptx;
  bf_emu_module *module;
  bf_emu_device_options options;
} emulated;

static int emulated_alloc(void *context, uint64_t bytes, uint64_t *address,
                          bf_diagnostic *diagnostic) {
  emulated *device = context;
  return bf_emu_alloc(device->emu, bytes, 0, address, diagnostic);
}

/* Whether size bytes at address lie in one range of the device. */
static int check_range(const emulated *device, uint64_t address, uint64_t size,
                       bf_diagnostic *diagnostic) {
  bf_emu_range range;
  if (bf_emu_find(device->emu, address, &range) && size <= range.bytes &&
      address - range.address <= range.bytes - size)
    return BF_OK;
  return bf_fail(diagnostic, BF_BAD_INPUT, "no %llu bytes of device memory at 0x%llx",
                 (unsigned long long)size, (unsigned long long)address);
}

static int emulated_write(void *context, uint64_t address, const void *bytes, uint64_t size,
                          bf_diagnostic *diagnostic) {
  if (size == 0)
    return BF_OK;
  BF_TRY(check_range(context, address, size, diagnostic));
  memcpy((void *)(uintptr_t)address, bytes, size);
  return BF_OK;
}

static int emulated_read(void *context, uint64_t address, void *bytes, uint64_t size,
                         bf_diagnostic *diagnostic) {
  if (size == 0)
    return BF_OK;
  BF_TRY(check_range(context, address, size, diagnostic));
  memcpy(bytes, (const void *)(uintptr_t)address, size);
  return BF_OK;
}

static int emulated_symbol(void *context, const char *name, uint64_t *address, uint64_t *bytes,
                           bf_diagnostic *diagnostic) {
  const emulated *device = context;
  bf_emu_range range;
  if (!bf_emu_variable(device->module, name, &range))
    return bf_fail(diagnostic, BF_BAD_INPUT, "the PTX has no variable %s", name);
  *address = range.address;
  *bytes = range.bytes;
  return BF_OK;
}

/* Copies the values of parameters to their places in block, which is zeroed. */
static int place_parameters(const bf_emu_kernel *kernel, const bf_device_launch *launch,
                            uint8_t *block, bf_diagnostic *diagnostic) {
  for (unsigned i = 0;; i++) {
    uint64_t offset, bytes;
    bool exists = bf_emu_kernel_parameter(kernel, i, &offset, &bytes);
    if (exists != (i < launch->parameters))
      return bf_fail(diagnostic, BF_BAD_INPUT, "kernel %s is given %u parameters, which are %s",
                     launch->kernel, launch->parameters, exists ? "too few" : "too many");
    if (!exists)
      return BF_OK;
    memcpy(block + offset, launch->parameter[i], bytes);
  }
}

/* Executes a launch: the callback does, or the emulator. */
static int execute(const emulated *device, const bf_emu_launch *launch, bf_emu_result *result,
                   bf_diagnostic *diagnostic) {
  const bf_emu_device_options *options = &device->options;
  return options->execute
             ? options->execute(options->context, device->emu, launch, result, diagnostic)
             : bf_emu_run(device->emu, launch, result, diagnostic);
}

/* Runs *launch between the callbacks; a fault of the kernel becomes an error. */
static int run_watched(const emulated *device, bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  const bf_emu_device_options *options = &device->options;
  bf_emu_result result = {0};
  if (options->before)
    BF_TRY(options->before(options->context, launch, diagnostic));
  BF_TRY(execute(device, launch, &result, diagnostic));
  if (options->after)
    BF_TRY(options->after(options->context, launch, &result, diagnostic));
  if (result.fault.kind == BF_EMU_NO_FAULT)
    return BF_OK;
  bf_text text = {0};
  bf_emu_fault_explain(&result.fault, &text);
  int error = bf_fail(diagnostic, BF_BAD_INPUT, "%s", text.data ? text.data : "fault");
  bf_text_free(&text);
  return error;
}

static int emulated_launch(void *context, const bf_device_launch *launch,
                           bf_diagnostic *diagnostic) {
  const emulated *device = context;
  const bf_emu_kernel *kernel;
  BF_TRY(bf_emu_kernel_get(device->module, launch->kernel, &kernel, diagnostic));
  uint64_t bytes = bf_emu_kernel_needs(kernel)->parameter_bytes;
  uint8_t *parameters = calloc(1, bytes ? bytes : 1);
  if (!parameters)
    return bf_no_memory(diagnostic);
  bf_emu_launch described = {
      .kernel = kernel,
      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
      .block = {launch->block[0], launch->block[1], launch->block[2]},
      .dynamic_shared_bytes = launch->dynamic_shared_bytes,
      .parameters = parameters,
      .parameter_bytes = bytes,
      .workers = device->options.workers,
      .check_uninitialised = device->options.check_uninitialised,
      .check_races = device->options.check_races,
  };
  int error = place_parameters(kernel, launch, parameters, diagnostic);
  if (!error)
    error = run_watched(device, &described, diagnostic);
  free(parameters);
  return error;
}

int bf_emu_device_create(const char *name, const char *ptx, const bf_emu_device_options *options,
                         bf_device *device, bf_diagnostic *diagnostic) {
  emulated *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  if (options)
    made->options = *options;
  *device = (bf_device){made,          emulated_alloc,  emulated_write,
                        emulated_read, emulated_symbol, emulated_launch};
  int error = bf_ptx_parse(name, ptx, strlen(ptx), &made->ptx, diagnostic);
  if (!error)
    error = bf_emu_create(&made->emu, diagnostic);
  if (!error)
    error = bf_emu_load(made->emu, made->ptx, &made->module, diagnostic);
  if (error)
    bf_emu_device_free(device);
  return error;
}

void bf_emu_device_free(bf_device *device) {
  emulated *made = device->context;
  if (!made)
    return;
  if (made->module)
    bf_emu_unload(made->module);
  if (made->emu)
    bf_emu_free(made->emu);
  if (made->ptx)
    bf_ptx_free(made->ptx);
  free(made);
  *device = (bf_device){0};
}
