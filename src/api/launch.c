/* Launches on the emulator: arguments, buffers and faults. */
#include "api/launch.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024 };

int bf_api_check_threads(unsigned threads, bf_diagnostic *diagnostic) {
  if (threads <= MOST_THREADS)
    return BF_OK;
  return bf_fail(diagnostic, BF_BAD_INPUT, "%u threads: at most %d are possible", threads,
                 MOST_THREADS);
}

/* ---- Devices ---- */

int bf_api_device_open(const bf_ptx_module *ptx, bf_api_device *device, bf_diagnostic *diagnostic) {
  *device = (bf_api_device){0};
  BF_TRY(bf_emu_create(&device->emu, diagnostic));
  return bf_emu_load(device->emu, ptx, &device->module, diagnostic);
}

void bf_api_device_close(bf_api_device *device) {
  bf_emu_free(device->emu);
  free(device->buffer);
  free(device->parameters);
}

/* ---- Buffers ---- */

static bool is_same_buffer(const bf_argument *a, const bf_argument *b) {
  return a->in == b->in && a->out == b->out && a->bytes == b->bytes && (a->in || a->out);
}

/* Room for one more buffer. */
static int grow(bf_api_device *device, bf_diagnostic *diagnostic) {
  if (device->buffers < device->capacity)
    return BF_OK;
  size_t capacity = device->capacity ? 2 * device->capacity : 8;
  bf_api_buffer *grown = realloc(device->buffer, capacity * sizeof *grown);
  if (!grown)
    return bf_no_memory(diagnostic);
  device->buffer = grown;
  device->capacity = capacity;
  return BF_OK;
}

/* Device memory for a parameter: that of an earlier one with the same buffer, or new. */
static int find_buffer(bf_api_device *device, const char *kernel, unsigned index,
                       const bf_argument *argument, uint64_t *address, bf_diagnostic *diagnostic) {
  for (size_t i = 0; i < device->buffers; i++)
    if (is_same_buffer(&device->buffer[i].given, argument)) {
      *address = device->buffer[i].address;
      return BF_OK;
    }
  BF_TRY(grow(device, diagnostic));
  BF_TRY(bf_emu_alloc(device->emu, argument->bytes, 0, address, diagnostic));
  void *memory = (void *)(uintptr_t)*address;
  if (argument->in && argument->bytes)
    memcpy(memory, argument->in, argument->bytes);
  else
    memset(memory, 0, argument->bytes ? argument->bytes : 1);
  bf_api_buffer *made = &device->buffer[device->buffers++];
  *made = (bf_api_buffer){.given = *argument, .address = *address};
  snprintf(made->name, sizeof made->name, "parameter %u of kernel '%.60s'", index, kernel);
  return BF_OK;
}

void bf_api_device_copy_back(const bf_api_device *device) {
  for (size_t i = 0; i < device->buffers; i++) {
    const bf_argument *given = &device->buffer[i].given;
    if (given->out && given->bytes)
      memcpy(given->out, (const void *)(uintptr_t)device->buffer[i].address, given->bytes);
  }
}

const char *bf_api_device_buffer_at(const void *context, uint64_t address) {
  const bf_api_device *device = context;
  for (size_t i = 0; i < device->buffers; i++)
    if (device->buffer[i].address == address)
      return device->buffer[i].name;
  return NULL;
}

/* ---- Arguments ---- */

/* Puts an argument into the parameter block. */
static int place_argument(bf_api_device *device, const bf_emu_kernel *kernel, unsigned index,
                          const bf_argument *argument, bf_diagnostic *diagnostic) {
  const char *name = bf_emu_kernel_name(kernel);
  uint64_t offset = 0, bytes = 0, address = 0;
  bf_emu_kernel_parameter(kernel, index, &offset, &bytes);
  size_t given = argument->is_buffer ? sizeof address : argument->bytes;
  if (given != bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%zu bytes for parameter %u of kernel '%s', which has %llu", given, index, name,
                   (unsigned long long)bytes);
  if (!argument->is_buffer && !argument->in && bytes)
    return bf_fail(diagnostic, BF_BAD_INPUT, "no value for parameter %u of kernel '%s'", index,
                   name);
  if (argument->is_buffer)
    BF_TRY(find_buffer(device, name, index, argument, &address, diagnostic));
  memcpy(device->parameters + offset, argument->is_buffer ? (void *)&address : argument->in, bytes);
  return BF_OK;
}

static int place_arguments(bf_api_device *device, const bf_emu_kernel *kernel, unsigned parameters,
                           const bf_launch *given, bf_diagnostic *diagnostic) {
  if (given->arguments != parameters)
    return bf_fail(diagnostic, BF_BAD_INPUT, "%zu arguments for kernel '%s' with %u parameters",
                   given->arguments, bf_emu_kernel_name(kernel), parameters);
  free(device->parameters);
  device->parameters = calloc(1, bf_emu_kernel_needs(kernel)->parameter_bytes + 16);
  if (!device->parameters)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < parameters; i++)
    BF_TRY(place_argument(device, kernel, i, &given->argument[i], diagnostic));
  return BF_OK;
}

int bf_api_device_prepare(bf_api_device *device, const bf_api_kernel *kernel,
                          const bf_launch *given, bf_emu_launch *launch,
                          bf_diagnostic *diagnostic) {
  const bf_emu_kernel *ready;
  BF_TRY(bf_emu_kernel_get(device->module, kernel->info.name, &ready, diagnostic));
  BF_TRY(place_arguments(device, ready, kernel->info.parameters, given, diagnostic));
  *launch = (bf_emu_launch){.kernel = ready,
                            .dynamic_shared_bytes = given->dynamic_shared_bytes,
                            .parameters = device->parameters,
                            .parameter_bytes = bf_emu_kernel_needs(ready)->parameter_bytes,
                            .workers = given->threads,
                            .check_uninitialised = given->check_uninitialised,
                            .check_races = given->check_races,
                            .print = given->print,
                            .print_context = given->print_context,
                            .progress = given->progress,
                            .progress_context = given->progress_context};
  for (unsigned i = 0; i < 3; i++) {
    launch->grid[i] = given->grid[i] ? given->grid[i] : 1;
    launch->block[i] = given->block[i] ? given->block[i] : 1;
  }
  return BF_OK;
}

/* ---- Faults ---- */

int bf_api_fault(const bf_emu_fault *fault, const char *file, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_error error = fault->kind == BF_EMU_INTERRUPTED ? BF_STOPPED : BF_FAULT;
  bool has_source = fault->source_file && fault->source_line;
  bf_emu_fault_explain(fault, &text);
  bf_fail_file(diagnostic, error, has_source ? fault->source_file : file, "%s",
               text.data ? text.data : bf_emu_fault_name(fault->kind));
  bf_text_free(&text);
  if (diagnostic)
    diagnostic->line = has_source ? fault->source_line : fault->line;
  return error;
}
