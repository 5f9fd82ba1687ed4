/* Libraries of the runtime: code that is loaded while the program runs. */
#include "context.h"

/* ---- Loading ---- */

/* Options tell how code is compiled, which is not done here; they are accepted. */
API(cudaLibraryLoadData, void **library, const void *code, const int *options, void **values,
    unsigned count, const int *library_options, void **library_values, unsigned library_count) {
  RT_ENTER_DEVICE(context);
  (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  bf_diagnostic diagnostic = {.caret = -1};
  rt_module *module = NULL;
  int error = library ? rt_open_image(context, code, &module, &diagnostic) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *library = module;
  return rt_leave(context, error);
}

API(cudaLibraryLoadFromFile, void **library, const char *path, const int *options, void **values,
    unsigned count, const int *library_options, void **library_values, unsigned library_count) {
  RT_ENTER_DEVICE(context);
  (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  bf_diagnostic diagnostic = {.caret = -1};
  rt_module *module = NULL;
  int error = library ? rt_open_file(context, path, &module, &diagnostic) : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *library = module;
  return rt_leave(context, error);
}

API(cudaLibraryUnload, void *library) {
  RT_SYNCHRONISE(context);
  rt_module *module = rt_find_module(context, library);
  if (module)
    rt_close_module(context, module);
  return rt_leave(context, module ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/* ---- What is in a library ---- */

API(cudaLibraryGetKernel, void **kernel, void *library, const char *name) {
  RT_ENTER_DEVICE(context);
  rt_module *module = rt_find_module(context, library);
  rt_function *function = NULL;
  int error = !kernel   ? cudaErrorInvalidValue
              : !module ? cudaErrorInvalidResourceHandle
                        : rt_find_kernel(context, module, name, &function);
  if (error == cudaSuccess)
    *kernel = function;
  return rt_leave(context, error);
}

API(cudaLibraryGetKernelCount, unsigned *count, void *library) {
  RT_ENTER_DEVICE(context);
  const rt_module *module = rt_find_module(context, library);
  if (!count || !module)
    return rt_leave(context, count ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  for (*count = 0; rt_kernel_at(module, *count);)
    ++*count;
  return rt_leave(context, cudaSuccess);
}

API(cudaLibraryEnumerateKernels, void **kernels, unsigned most, void *library) {
  RT_ENTER_DEVICE(context);
  rt_module *module = rt_find_module(context, library);
  int error = !module            ? cudaErrorInvalidResourceHandle
              : most && !kernels ? cudaErrorInvalidValue
                                 : cudaSuccess;
  for (unsigned i = 0; i < most && error == cudaSuccess; i++) {
    const bf_ptx_function *entry = rt_kernel_at(module, i);
    rt_function *function = NULL;
    if (!entry)
      break;
    error = rt_find_kernel(context, module, entry->name, &function);
    kernels[i] = function;
  }
  return rt_leave(context, error);
}

API(cudaLibraryGetGlobal, void **address, size_t *bytes, void *library, const char *name) {
  RT_ENTER_DEVICE(context);
  const rt_module *module = rt_find_module(context, library);
  bf_emu_range range;
  if (!module || !name || (!address && !bytes))
    return rt_leave(context, module ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  if (!bf_emu_variable(module->loaded, name, &range))
    return rt_leave(context, cudaErrorSymbolNotFound);
  if (address)
    *address = (void *)(uintptr_t)range.address;
  if (bytes)
    *bytes = range.bytes;
  return rt_leave(context, cudaSuccess);
}
extern __typeof__(cudaLibraryGetGlobal) cudaLibraryGetManaged
    __attribute__((alias("cudaLibraryGetGlobal")));
