/* Modules and libraries, and what is in them. A library of the driver is a module here, and a
 * kernel of a library a function. */
#include "driver.h"

#include <string.h>

/* ---- Loading ---- */

/* Options of a compilation that is asked to tell something; nothing is compiled here, so that the
 * others change nothing. */
enum { WALL_TIME = 2, LOG, LOG_BYTES, ERRORS, ERRORS_BYTES };

/* The value of an option; NULL where it is not given. */
static void **value_of(unsigned count, const int *options, void **values, int option) {
  for (unsigned i = 0; i < count && options && values; i++)
    if (options[i] == option)
      return &values[i];
  return NULL;
}

/* Writes a text where an option says, which has room for as many bytes as another says; that one is
 * told how many were written. */
static void tell(void **buffer, void **bytes, const char *text) {
  size_t room = bytes ? (size_t)(uintptr_t)*bytes & UINT32_MAX : 0;
  int written = 0;
  if (buffer && *buffer && room)
    written = snprintf(*buffer, room, "%s", text);
  if (bytes)
    *bytes = (void *)(uintptr_t)((size_t)written < room ? (size_t)written : room);
}

void dr_tell(unsigned count, const int *options, void **values, const bf_diagnostic *diagnostic) {
  char text[sizeof diagnostic->message + sizeof diagnostic->file + 32] = "";
  if (*diagnostic->message && diagnostic->line)
    snprintf(text, sizeof text, "%s, line %llu; error: %s", diagnostic->file,
             (unsigned long long)diagnostic->line, diagnostic->message);
  else if (*diagnostic->message)
    snprintf(text, sizeof text, "error: %s", diagnostic->message);
  tell(value_of(count, options, values, LOG), value_of(count, options, values, LOG_BYTES), "");
  tell(value_of(count, options, values, ERRORS), value_of(count, options, values, ERRORS_BYTES),
       text);
  void **time = value_of(count, options, values, WALL_TIME);
  if (time)
    *time = NULL; /* 0.0f milliseconds */
}

/* Loads an image, or a file where path is not NULL, in a context where one is wanted; a CUresult.
 */
static int load(void **made, const void *image, const char *path, unsigned count,
                const int *options, void **values) {
  bf_diagnostic diagnostic = {.caret = -1};
  rt_module *module = NULL;
  if (!made || (!image && !path))
    return CUDA_ERROR_INVALID_VALUE;
  RT_ENTER_DEVICE(context);
  int error = path ? rt_open_file(context, path, &module, &diagnostic)
                   : rt_open_image(context, image, &module, &diagnostic);
  if (error == cudaSuccess)
    *made = module;
  dr_tell(count, options, values, &diagnostic);
  return dr_result(rt_leave(context, error));
}

API(cuModuleLoadDataEx, void **module, const void *image, unsigned count, const int *options,
    void **values) {
  DR_CHECK();
  int error = load(module, image, NULL, count, options, values);
  return dr_own(error, DR_MODULE, error ? NULL : *module);
}

API(cuModuleLoadData, void **module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}
DR_ALIAS(cuModuleLoadData, cuModuleLoadFatBinary);

API(cuModuleLoad, void **module, const char *path) {
  DR_CHECK();
  int error = load(module, NULL, path, 0, NULL, NULL);
  return dr_own(error, DR_MODULE, error ? NULL : *module);
}

API(cuModuleUnload, void *module) {
  DR_CHECK();
  dr_disown(module);
  return dr_result(cudaLibraryUnload(module));
}

/* Everything is loaded when it is first used (2). */
API(cuModuleGetLoadingMode, int *mode) {
  DR_CHECK_ON();
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = 2;
  return CUDA_SUCCESS;
}

API(cuLibraryLoadData, void **library, const void *code, const int *options, void **values,
    unsigned count, const int *library_options, void **library_values, unsigned library_count) {
  DR_CHECK_ON();
  (void)library_options, (void)library_values, (void)library_count;
  return load(library, code, NULL, count, options, values);
}

API(cuLibraryLoadFromFile, void **library, const char *path, const int *options, void **values,
    unsigned count, const int *library_options, void **library_values, unsigned library_count) {
  DR_CHECK_ON();
  (void)library_options, (void)library_values, (void)library_count;
  return load(library, NULL, path, count, options, values);
}

API(cuLibraryUnload, void *library) {
  DR_CHECK_ON();
  return dr_result(cudaLibraryUnload(library));
}

/* ---- Functions and variables ---- */

API(cuModuleGetFunction, void **function, void *module, const char *name) {
  DR_RETURN(cudaLibraryGetKernel(function, module, name));
}

API(cuModuleGetFunctionCount, unsigned *count, void *module) {
  DR_RETURN(cudaLibraryGetKernelCount(count, module));
}

API(cuModuleEnumerateFunctions, void **functions, unsigned most, void *module) {
  DR_RETURN(cudaLibraryEnumerateKernels(functions, most, module));
}

API(cuModuleGetGlobal_v2, dr_address *address, size_t *bytes, void *module, const char *name) {
  DR_RETURN(cudaLibraryGetGlobal((void **)address, bytes, module, name));
}

API(cuLibraryGetKernel, void **kernel, void *library, const char *name) {
  DR_CHECK_ON();
  return dr_result(cudaLibraryGetKernel(kernel, library, name));
}

API(cuLibraryGetKernelCount, unsigned *count, void *library) {
  DR_CHECK_ON();
  return dr_result(cudaLibraryGetKernelCount(count, library));
}

API(cuLibraryEnumerateKernels, void **kernels, unsigned most, void *library) {
  DR_CHECK_ON();
  return dr_result(cudaLibraryEnumerateKernels(kernels, most, library));
}

API(cuLibraryGetGlobal, dr_address *address, size_t *bytes, void *library, const char *name) {
  DR_RETURN(cudaLibraryGetGlobal((void **)address, bytes, library, name));
}
DR_ALIAS(cuLibraryGetGlobal, cuLibraryGetManaged);

API(cuLibraryGetModule, void **module, void *library) {
  DR_CHECK();
  rt_context *context = rt_enter();
  bool is_known = rt_find_module(context, library) != NULL;
  rt_leave(context, CUDA_SUCCESS);
  if (!module || !is_known)
    return module ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  *module = library;
  return CUDA_SUCCESS;
}

/* ---- What functions are part of ---- */

/* The function behind a handle; NULL where there is none. */
static rt_function *find_function(const void *handle) {
  rt_context *context = rt_enter();
  rt_function *function = rt_find_function(context, handle);
  rt_leave(context, CUDA_SUCCESS);
  return function;
}

API(cuKernelGetFunction, void **function, void *kernel) {
  DR_CHECK();
  if (!function || !find_function(kernel))
    return function ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  *function = find_function(kernel);
  return CUDA_SUCCESS;
}

API(cuFuncGetModule, void **module, void *function) {
  DR_CHECK();
  const rt_function *found = find_function(function);
  if (!module || !found)
    return module ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  *module = found->module;
  return CUDA_SUCCESS;
}
DR_ALIAS(cuFuncGetModule, cuKernelGetLibrary);

API(cuFuncGetName, const char **name, void *function) {
  DR_RETURN(cudaFuncGetName(name, function));
}
DR_ALIAS(cuFuncGetName, cuKernelGetName);

API(cuFuncGetParamInfo, void *function, size_t index, size_t *offset, size_t *bytes) {
  if (!offset)
    return CUDA_ERROR_INVALID_VALUE;
  DR_RETURN(cudaFuncGetParamInfo(function, index, offset, bytes));
}
DR_ALIAS(cuFuncGetParamInfo, cuKernelGetParamInfo);

/* A function is loaded once it is ready to run. */
API(cuFuncIsLoaded, int *state, void *function) {
  DR_CHECK();
  const rt_function *found = find_function(function);
  if (!state || !found)
    return state ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
  *state = found->kernel != NULL;
  return CUDA_SUCCESS;
}

API(cuFuncLoad, void *function) {
  rt_function_attributes unused;
  DR_RETURN(cudaFuncGetAttributes(&unused, function));
}

/* ---- Attributes ---- */

/* The attribute with that number of a function; false where there is none. */
static bool get_attribute(const rt_function_attributes *from, int number, int *value) {
  const int values[] = {
      from->most_threads,     (int)from->shared_bytes,   (int)from->const_bytes,
      (int)from->local_bytes, from->registers,           from->ptx_version,
      from->binary_version,   from->cache_mode,          from->most_dynamic_shared_bytes,
      from->carveout,         from->cluster_must_be_set, from->cluster_width,
      from->cluster_height,   from->cluster_depth,       from->cluster_non_portable,
      from->cluster_policy};
  if (number < 0 || number >= (int)(sizeof values / sizeof *values))
    return false;
  *value = values[number];
  return true;
}

API(cuFuncGetAttribute, int *value, int attribute, void *function) {
  rt_function_attributes attributes;
  DR_CHECK();
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaFuncGetAttributes(&attributes, function));
  if (error)
    return error;
  return get_attribute(&attributes, attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuFuncSetAttribute, void *function, int attribute, int value) {
  DR_RETURN(cudaFuncSetAttribute(function, attribute, value));
}

API(cuFuncSetCacheConfig, void *function, int config) {
  DR_RETURN(cudaFuncSetCacheConfig(function, config));
}

API(cuFuncSetSharedMemConfig, void *function, int config) {
  DR_RETURN(cudaFuncSetCacheConfig(function, config));
}

API(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, kernel);
}

API(cuKernelSetAttribute, int attribute, int value, void *kernel, int device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetAttribute(kernel, attribute, value);
}

API(cuKernelSetCacheConfig, void *kernel, int config, int device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetCacheConfig(kernel, config);
}
