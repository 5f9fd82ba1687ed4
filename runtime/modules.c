/* What a program registers before main: fat binaries with their kernels and variables. PTX is
 * unpacked, parsed and loaded at the first use of a kernel or variable of its module. */
#include "context.h"
#include "ptx/fatbin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Registration ---- */

void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper) {
  rt_context *context = rt_enter();
  rt_module *module = calloc(1, sizeof *module);
  if (module) {
    module->wrapper = wrapper;
    module->next = context->modules;
    context->modules = module;
  }
  rt_leave(context, cudaSuccess);
  return (void **)module;
}

void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

/* The module's bytes are about to go; what was loaded from them stays, for the profile. */
void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle) {
  rt_context *context = rt_enter();
  rt_await_end(context);
  rt_module *module = (rt_module *)handle;
  if (module) {
    module->wrapper = NULL;
    for (rt_function *f = context->functions; f; f = f->next)
      if (f->module == module && rt_map_get(&context->by_host, f->host) == f)
        rt_map_remove(&context->by_host, f->host);
    for (rt_variable *v = module->variables; v; v = v->next)
      rt_map_remove(&context->variables, v->host);
  }
  rt_leave(context, cudaSuccess);
}

rt_function *rt_add_function(rt_context *context, rt_module *module, const void *host,
                             const char *name) {
  rt_function *function = calloc(1, sizeof *function);
  char *copy = strdup(name);
  if (!function || !copy || (host && !rt_map_put(&context->by_host, host, function)) ||
      !rt_map_put(&context->by_host, function, function)) {
    free(copy); /* the launch will find no such function */
    return NULL;
  }
  *function = (rt_function){.module = module,
                            .host = host,
                            .name = copy,
                            .dynamic_shared_limit = -1,
                            .carveout = -1,
                            .next = context->functions};
  return context->functions = function;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp_size);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp_size) {
  (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
  rt_context *context = rt_enter();
  if (handle)
    rt_add_function(context, (rt_module *)handle, host, name);
  rt_leave(context, cudaSuccess);
}

void rt_add_variable(void **handle, const void *host, const char *name, const rt_variable *given) {
  rt_context *context = rt_enter();
  rt_module *module = (rt_module *)handle;
  rt_variable *variable = module ? calloc(1, sizeof *variable) : NULL;
  char *copy = strdup(name);
  if (!variable || !copy || !rt_map_put(&context->variables, host, variable)) {
    free(copy);
    free(variable);
  } else {
    *variable = *given;
    variable->next = module->variables;
    variable->module = module;
    variable->host = host;
    variable->name = copy;
    module->variables = variable;
  }
  rt_leave(context, cudaSuccess);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external,
                       size_t bytes, int is_constant, int is_global);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_external,
                       size_t bytes, int is_constant, int is_global) {
  (void)device, (void)is_external, (void)is_constant, (void)is_global;
  rt_add_variable(handle, host, name, &(rt_variable){.bytes = bytes});
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_external, size_t bytes, int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_external, size_t bytes, int is_constant, int is_global) {
  (void)device, (void)is_external, (void)is_constant, (void)is_global;
  rt_add_variable(handle, host, name, &(rt_variable){.bytes = bytes, .managed = host});
}

/* ---- Loading ---- */

void rt_complain(const rt_context *context, const bf_diagnostic *diagnostic) {
  if (diagnostic->line)
    rt_say(context, "%s:%llu: %s", diagnostic->file, (unsigned long long)diagnostic->line,
           diagnostic->message);
  else
    rt_say(context, "%s%s%s", diagnostic->file, *diagnostic->file ? ": " : "", diagnostic->message);
}

int rt_error_of(int error, int otherwise) {
  return error == BF_NO_MEMORY     ? cudaErrorMemoryAllocation
         : error == BF_UNSUPPORTED ? cudaErrorNotSupported
                                   : otherwise;
}

/* Makes the module's managed variables known to the program. */
static void publish_managed(const rt_module *module) {
  bf_emu_range range;
  for (const rt_variable *v = module->variables; v; v = v->next)
    if (v->managed && bf_emu_variable(module->loaded, v->name, &range))
      *v->managed = (void *)(uintptr_t)range.address;
}

/* Places what was parsed or linked in the emulator; a bf_error. */
static int install(rt_context *context, rt_module *module, bf_diagnostic *diagnostic) {
  BF_TRY(rt_rewrite(context, module, diagnostic));
  if (context->settings.machine_code && !module->text.size)
    BF_TRY(rt_keep_text(module, diagnostic));
  BF_TRY(bf_emu_load(context->emu, module->ptx, &module->loaded, diagnostic));
  publish_managed(module);
  return BF_OK;
}

int rt_load_image(rt_context *context, rt_module *module, const bf_fatbin *fatbin,
                  const bf_image *image, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  const char *name = image->identifier ? image->identifier : fatbin->name;
  int error = bf_fatbin_text(fatbin, image, &text, diagnostic);
  if (!error)
    error = bf_ptx_parse(name, text.data ? text.data : "", text.size, &module->ptx, diagnostic);
  if (!error && context->settings.machine_code)
    module->text = text;
  else
    bf_text_free(&text);
  module->ptx_arch = (int)image->arch.sm;
  return error ? error : install(context, module, diagnostic);
}

const bf_image *rt_pick_image(const rt_context *context, const bf_fatbin *fatbin) {
  bf_arch wanted = {(unsigned)(context->device->major * 10 + context->device->minor), 0};
  const bf_image *image = bf_fatbin_pick(fatbin, 1, wanted);
  return image ? image : bf_fatbin_pick(fatbin, 1, (bf_arch){0});
}

/* Links and loads the parts of a program that was compiled separately; a cudaError. */
static int load_linked(rt_context *context, rt_module *module) {
  bf_diagnostic diagnostic = {.caret = -1};
  int failure = rt_link(context, module, &diagnostic);
  if (failure == BF_OK)
    failure = install(context, module, &diagnostic);
  if (failure == BF_OK)
    return cudaSuccess;
  if (module->without_ptx) {
    rt_say_machine_code(context, module->without_ptx);
    return cudaErrorNoKernelImageForDevice;
  }
  rt_complain(context, &diagnostic);
  return rt_error_of(failure, cudaErrorInvalidPtx);
}

/* Loads a module from its fat binary; a cudaError. */
static int load(rt_context *context, rt_module *module) {
  const rt_fatbin_wrapper *wrapper = module->wrapper;
  bf_diagnostic diagnostic = {.caret = -1};
  if (!wrapper || wrapper->magic != RT_FATBIN_MAGIC || !wrapper->module)
    return cudaErrorInvalidKernelImage;
  if (wrapper->version != 1)
    return load_linked(context, module);
  uint64_t bytes = bf_fatbin_module_bytes(wrapper->module);
  bf_fatbin *fatbin;
  if (bytes == 0 || bf_fatbin_read(program_invocation_short_name, wrapper->module, bytes, &fatbin,
                                   &diagnostic) != BF_OK)
    return cudaErrorInvalidKernelImage;
  const bf_image *image = rt_pick_image(context, fatbin);
  int error = cudaSuccess;
  if (!image) {
    rt_say_machine_code(context, program_invocation_short_name);
    error = cudaErrorNoKernelImageForDevice;
  } else {
    int failure = rt_load_image(context, module, fatbin, image, &diagnostic);
    if (failure != BF_OK) {
      rt_complain(context, &diagnostic);
      error = rt_error_of(failure, cudaErrorInvalidPtx);
    }
  }
  bf_fatbin_close(fatbin);
  return error;
}

/* Loads a module at its first use; a cudaError, the same every time. */
static int load_once(rt_context *context, rt_module *module) {
  if (!module->is_tried) {
    module->is_tried = true;
    module->error = load(context, module);
  }
  return module->error;
}

/* Called before the program looks at a managed variable. */
char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle) {
  rt_context *context = rt_enter();
  int error = rt_set_up(context);
  if (error == cudaSuccess && handle)
    error = load_once(context, (rt_module *)handle);
  return rt_leave(context, error) == cudaSuccess;
}

int rt_make_ready(rt_context *context, rt_function *function) {
  if (function->kernel || function->error != cudaSuccess)
    return function->error;
  bf_diagnostic diagnostic = {.caret = -1};
  function->error = load_once(context, function->module);
  if (function->error != cudaSuccess)
    return function->error;
  int failure =
      bf_emu_kernel_get(function->module->loaded, function->name, &function->kernel, &diagnostic);
  if (failure == BF_BAD_INPUT && function->module->without_ptx) {
    rt_say_machine_code(context, function->module->without_ptx);
    function->error = cudaErrorNoKernelImageForDevice;
  } else if (failure != BF_OK) {
    rt_complain(context, &diagnostic);
    function->error = rt_error_of(failure, cudaErrorInvalidDeviceFunction);
  }
  return function->error;
}

rt_function *rt_find_function(const rt_context *context, const void *host) {
  return rt_map_get(&context->by_host, host);
}

/* ---- Variables ---- */

int rt_locate(rt_context *context, const void *symbol, bf_emu_range *range) {
  const rt_variable *variable = rt_map_get(&context->variables, symbol);
  if (!variable) { /* a managed variable stands for itself */
    bool found = bf_emu_find(context->emu, (uint64_t)(uintptr_t)symbol, range);
    return found && range->memory == BF_EMU_VARIABLE ? cudaSuccess : cudaErrorInvalidSymbol;
  }
  int error = load_once(context, variable->module);
  if (error != cudaSuccess)
    return error;
  return bf_emu_variable(variable->module->loaded, variable->name, range) ? cudaSuccess
                                                                          : cudaErrorInvalidSymbol;
}

API(cudaGetSymbolAddress, void **address, const void *symbol) {
  RT_ENTER_DEVICE(context);
  bf_emu_range range;
  int error = address ? rt_locate(context, symbol, &range) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *address = (void *)(uintptr_t)range.address;
  return rt_leave(context, error);
}

API(cudaGetSymbolSize, size_t *bytes, const void *symbol) {
  RT_ENTER_DEVICE(context);
  bf_emu_range range;
  int error = bytes ? rt_locate(context, symbol, &range) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *bytes = range.bytes;
  return rt_leave(context, error);
}
