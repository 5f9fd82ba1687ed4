/* Modules: parsed PTX with a list of its kernels. */
#include "api/api.h"
#include "ptx/block.h"

#include <stdlib.h>
#include <string.h>

/* ---- Kernels ---- */

static bool is_kernel(const bf_ptx_item *item) {
  return item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
}

/* Whether an instruction says which source line it comes from. */
static bool has_lines(const bf_ptx_function *function) {
  for (uint32_t i = 0; i < function->instructions; i++)
    if (function->instruction[i]->location && function->instruction[i]->location->line)
      return true;
  return false;
}

/* Names, types and places of the kernel's parameters. */
static int list_parameters(bf_module *module, bf_api_kernel *kernel, bf_diagnostic *diagnostic) {
  const bf_ptx_variables *from = &kernel->function->parameters;
  uint64_t offset = 0;
  kernel->parameter = bf_arena_alloc(&module->arena, (from->count + 1) * sizeof *kernel->parameter);
  if (!kernel->parameter)
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < from->count; i++) {
    const bf_ptx_variable *own = &from->item[i];
    offset = bf_ptx_parameter_offset(offset, own);
    kernel->parameter[i] = (bf_parameter_info){.name = own->name,
                                               .type = bf_ptx_type_name(own->type),
                                               .offset_bytes = offset,
                                               .bytes = own->bytes,
                                               .is_array = own->dimensions > 0};
    offset += own->bytes;
  }
  return BF_OK;
}

static int describe(bf_module *module, bf_api_kernel *kernel, bf_diagnostic *diagnostic) {
  const bf_ptx_function *function = kernel->function;
  bf_ptx_summary summary = bf_ptx_summarise(module->ptx, function);
  bf_text readable = {0};
  bf_ptx_readable_name(function->name, &readable);
  int error = readable.failed ? bf_no_memory(diagnostic)
                              : bf_api_copy(&module->arena, readable.data ? readable.data : "",
                                            &kernel->info.readable_name, diagnostic);
  bf_text_free(&readable);
  kernel->info.name = function->name;
  kernel->info.line = function->line;
  kernel->info.has_lines = has_lines(function);
  kernel->info.shared_bytes = summary.shared_bytes;
  kernel->info.has_dynamic_shared = summary.has_dynamic_shared;
  bf_ptx_required_block(function, kernel->info.block);
  kernel->info.parameters = summary.parameters;
  kernel->info.parameter_bytes = summary.parameter_bytes;
  kernel->info.instructions = summary.instructions;
  kernel->info.shared_accesses = summary.shared_accesses;
  return error;
}

static int list_kernels(bf_module *module, bf_diagnostic *diagnostic) {
  size_t count = 0;
  for (const bf_ptx_item *item = module->ptx->first; item; item = item->next)
    count += is_kernel(item);
  module->kernel = bf_arena_alloc(&module->arena, count * sizeof *module->kernel);
  if (!module->kernel)
    return bf_no_memory(diagnostic);
  for (const bf_ptx_item *item = module->ptx->first; item; item = item->next) {
    if (!is_kernel(item))
      continue;
    bf_api_kernel *kernel = &module->kernel[module->kernels++];
    kernel->function = item->function;
    BF_TRY(describe(module, kernel, diagnostic));
    BF_TRY(list_parameters(module, kernel, diagnostic));
  }
  return BF_OK;
}

/* ---- Modules ---- */

int bf_api_module_create(const char *name, const bf_text *ptx, bf_module **out,
                         bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_module *module = calloc(1, sizeof *module);
  if (!module)
    return bf_no_memory(diagnostic);
  int error = bf_api_copy(&module->arena, name, &module->name, diagnostic);
  if (!error)
    error =
        bf_ptx_parse(module->name, ptx->data ? ptx->data : "", ptx->size, &module->ptx, diagnostic);
  if (!error)
    error = list_kernels(module, diagnostic);
  if (error)
    bf_module_free(module);
  else
    *out = module;
  return error;
}

void bf_module_free(bf_module *module) {
  if (!module)
    return;
  bf_ptx_free(module->ptx);
  bf_arena_free(&module->arena);
  free(module);
}

int bf_module_text(const bf_module *module, char **out, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_ptx_print(module->ptx, &text);
  return bf_api_hand_out(&text, BF_OK, out, diagnostic);
}

const bf_kernel_info *bf_module_get(const bf_module *module, size_t index) {
  return index < module->kernels ? &module->kernel[index].info : NULL;
}

/* ---- Finding ---- */

/* The kernel called name in the PTX, or else the only one whose readable name it is; NULL: none. */
static const bf_api_kernel *find(const bf_module *module, const char *name) {
  const bf_api_kernel *readable = NULL;
  unsigned found = 0;
  for (size_t i = 0; i < module->kernels; i++) {
    const bf_api_kernel *kernel = &module->kernel[i];
    if (strcmp(kernel->info.name, name) == 0)
      return kernel;
    if (strcmp(kernel->info.readable_name, name) == 0) {
      readable = kernel;
      found++;
    }
  }
  return found == 1 ? readable : NULL;
}

const bf_kernel_info *bf_module_find(const bf_module *module, const char *name) {
  const bf_api_kernel *kernel = find(module, name);
  return kernel ? &kernel->info : NULL;
}

const bf_parameter_info *bf_module_parameter(const bf_module *module, const char *name,
                                             size_t index) {
  const bf_api_kernel *kernel = find(module, name);
  return kernel && index < kernel->info.parameters ? &kernel->parameter[index] : NULL;
}

int bf_api_kernel_find(const bf_module *module, const char *name, const bf_api_kernel **kernel,
                       bf_diagnostic *diagnostic) {
  *kernel = find(module, name);
  if (*kernel)
    return BF_OK;
  char known[384] = "";
  size_t used = 0;
  for (size_t i = 0; i < module->kernels && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, " %s", module->kernel[i].info.name);
  return bf_fail_file(diagnostic, BF_BAD_INPUT, module->name, "no kernel '%.64s'; there are%s",
                      name, module->kernels ? known : " none");
}
