/* Whatever the parser accepts is run or refused by the emulator, and never harms its host: every
 * kernel is launched once, with one block and parameters of zeros, and stopped when it takes long.
 */
#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool stop(void *context, uint64_t done, uint64_t blocks) {
  (void)context, (void)done, (void)blocks;
  return false;
}

static void run(bf_emu *emu, bf_emu_module *module, const char *name) {
  bf_diagnostic diagnostic;
  const bf_emu_kernel *kernel;
  if (bf_emu_kernel_get(module, name, &kernel, &diagnostic) != BF_OK)
    return;
  const bf_emu_needs *needs = bf_emu_kernel_needs(kernel);
  if (needs->parameter_bytes > 1 << 16 || needs->shared_bytes > 1 << 18 ||
      needs->local_bytes > 1 << 16)
    return;
  uint8_t *parameters = calloc(1, needs->parameter_bytes + 1);
  bf_emu_result result;
  bf_emu_launch launch = {.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {40, 1, 1},
                          .dynamic_shared_bytes = 256,
                          .parameters = parameters,
                          .parameter_bytes = needs->parameter_bytes,
                          .workers = 1,
                          .check_races = true,
                          .check_uninitialised = true,
                          .stack_bytes = 4096,
                          .progress = stop};
  if (parameters)
    bf_emu_run(emu, &launch, &result, &diagnostic);
  free(parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bf_diagnostic diagnostic;
  bf_ptx_module *ptx;
  bf_emu *emu;
  bf_emu_module *module;
  if (bf_ptx_parse("fuzz.ptx", (const char *)data, size, &ptx, &diagnostic) != BF_OK)
    return 0;
  uint64_t bytes = 0;
  for (const bf_ptx_item *item = ptx->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      bytes += item->variable->bytes < 1 << 20 ? item->variable->bytes : 1 << 20;
  if (bytes < 1 << 20 && bf_emu_create(&emu, &diagnostic) == BF_OK) {
    if (bf_emu_load(emu, ptx, &module, &diagnostic) == BF_OK)
      for (const bf_ptx_item *item = ptx->first; item; item = item->next)
        if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry &&
            item->function->has_body)
          run(emu, module, item->function->name);
    bf_emu_free(emu);
  }
  bf_ptx_free(ptx);
  return 0;
}
