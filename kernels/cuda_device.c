/* A CUDA GPU as a bf_device. The driver library is opened when asked for, so that the program runs
 * where there is none. The few functions used are declared here as the CUDA driver API documents
 * them; names with _v2 are those that its header maps the plain names to. */
#include "kernels/devices.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef struct cuda_driver {
  int (*init)(unsigned flags);
  int (*device_get)(int *device, int ordinal);
  int (*context_retain)(void **context, int device);
  int (*context_release)(int device);
  int (*context_set)(void *context);
  int (*error_name)(int error, const char **name);
  int (*module_load)(void **module, const void *image, unsigned options, int *keys, void **values);
  int (*module_unload)(void *module);
  int (*function_get)(void **function, void *module, const char *name);
  int (*function_set)(void *function, int attribute, int value);
  int (*global_get)(uint64_t *address, size_t *bytes, void *module, const char *name);
  int (*alloc)(uint64_t *address, size_t bytes);
  int (*free)(uint64_t address);
  int (*to_device)(uint64_t to, const void *from, size_t bytes);
  int (*to_host)(void *to, uint64_t from, size_t bytes);
  int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                void **parameters, void **extra);
  int (*synchronize)(void);
} cuda_driver;

/* From cuda.h: keys of cuModuleLoadDataEx and an attribute of functions. */
enum { ERROR_LOG_BUFFER = 5, ERROR_LOG_BUFFER_BYTES = 6, MOST_DYNAMIC_SHARED_BYTES = 8 };

typedef struct cuda_gpu {
  void *library;
  cuda_driver driver;
  int ordinal;
  bool has_context;
  void *module;
  uint64_t *allocations;
  size_t allocation_count;
} cuda_gpu;

/* The error of a driver call in words. */
static int check(const cuda_gpu *gpu, int error, const char *what, bf_diagnostic *diagnostic) {
  const char *name = NULL;
  if (error == 0)
    return BF_OK;
  gpu->driver.error_name(error, &name);
  return bf_fail(diagnostic, BF_IO, "the GPU's driver: %s: %s (%d)", what,
                 name ? name : "unknown error", error);
}

/* Finds the functions; false where one is missing. */
static bool find_functions(void *library, cuda_driver *driver) {
  const struct {
    const char *name;
    void *place;
  } functions[] = {
      {"cuInit", &driver->init},
      {"cuDeviceGet", &driver->device_get},
      {"cuDevicePrimaryCtxRetain", &driver->context_retain},
      {"cuDevicePrimaryCtxRelease_v2", &driver->context_release},
      {"cuCtxSetCurrent", &driver->context_set},
      {"cuGetErrorName", &driver->error_name},
      {"cuModuleLoadDataEx", &driver->module_load},
      {"cuModuleUnload", &driver->module_unload},
      {"cuModuleGetFunction", &driver->function_get},
      {"cuFuncSetAttribute", &driver->function_set},
      {"cuModuleGetGlobal_v2", &driver->global_get},
      {"cuMemAlloc_v2", &driver->alloc},
      {"cuMemFree_v2", &driver->free},
      {"cuMemcpyHtoD_v2", &driver->to_device},
      {"cuMemcpyDtoH_v2", &driver->to_host},
      {"cuLaunchKernel", &driver->launch},
      {"cuCtxSynchronize", &driver->synchronize},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!(*(void **)functions[i].place = dlsym(library, functions[i].name)))
      return false;
  return true;
}

static int cuda_alloc(void *context, uint64_t bytes, uint64_t *address, bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  size_t size = (gpu->allocation_count + 1) * sizeof *gpu->allocations;
  uint64_t *grown = realloc(gpu->allocations, size);
  if (!grown)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  gpu->allocations = grown;
  BF_TRY(check(gpu, gpu->driver.alloc(address, bytes ? bytes : 1), "cuMemAlloc", diagnostic));
  gpu->allocations[gpu->allocation_count++] = *address;
  return BF_OK;
}

static int cuda_write(void *context, uint64_t address, const void *bytes, uint64_t size,
                      bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  return check(gpu, gpu->driver.to_device(address, bytes, size), "cuMemcpyHtoD", diagnostic);
}

static int cuda_read(void *context, uint64_t address, void *bytes, uint64_t size,
                     bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  return check(gpu, gpu->driver.to_host(bytes, address, size), "cuMemcpyDtoH", diagnostic);
}

static int cuda_symbol(void *context, const char *name, uint64_t *address, uint64_t *bytes,
                       bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  size_t size;
  BF_TRY(check(gpu, gpu->driver.global_get(address, &size, gpu->module, name), name, diagnostic));
  *bytes = size;
  return BF_OK;
}

static int cuda_launch(void *context, const bf_device_launch *launch, bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  const uint32_t *grid = launch->grid, *block = launch->block;
  unsigned shared_bytes = (unsigned)launch->dynamic_shared_bytes;
  void *function;
  int error = gpu->driver.function_get(&function, gpu->module, launch->kernel);
  if (error == 0 && shared_bytes > 0)
    error = gpu->driver.function_set(function, MOST_DYNAMIC_SHARED_BYTES, (int)shared_bytes);
  if (error == 0)
    error = gpu->driver.launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                               shared_bytes, NULL, (void **)(uintptr_t)launch->parameter, NULL);
  if (error == 0)
    error = gpu->driver.synchronize();
  return check(gpu, error, launch->kernel, diagnostic);
}

static const char no_driver[] = "no driver for NVIDIA GPUs (libcuda.so.1)",
                  no_gpu[] = "no NVIDIA GPU that its driver can use";

int bf_cuda_check(bf_diagnostic *diagnostic) {
  int (*init)(unsigned), (*count_devices)(int *), count = 0;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  *(void **)&init = library ? dlsym(library, "cuInit") : NULL;
  *(void **)&count_devices = library ? dlsym(library, "cuDeviceGetCount") : NULL;
  bool has_driver = init && count_devices;
  if (has_driver && (init(0) != 0 || count_devices(&count) != 0))
    count = 0;
  if (library)
    dlclose(library);
  return count > 0 ? BF_OK
                   : bf_fail(diagnostic, BF_UNSUPPORTED, "%s", has_driver ? no_gpu : no_driver);
}

/* Opens the driver, the first GPU and the PTX. */
static int open_gpu(cuda_gpu *gpu, const char *ptx, bf_diagnostic *diagnostic) {
  gpu->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!gpu->library || !find_functions(gpu->library, &gpu->driver))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s", no_driver);
  void *context;
  if (gpu->driver.init(0) != 0 || gpu->driver.device_get(&gpu->ordinal, 0) != 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s", no_gpu);
  BF_TRY(check(gpu, gpu->driver.context_retain(&context, gpu->ordinal), "cuDevicePrimaryCtxRetain",
               diagnostic));
  gpu->has_context = true;
  BF_TRY(check(gpu, gpu->driver.context_set(context), "cuCtxSetCurrent", diagnostic));
  char log[400] = "";
  int keys[] = {ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  if (gpu->driver.module_load(&gpu->module, ptx, 2, keys, values) != 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the GPU's driver refuses the PTX: %s", log);
  return BF_OK;
}

int bf_cuda_device_create(const char *ptx, bf_device *device, bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = calloc(1, sizeof *gpu);
  if (!gpu)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  *device = (bf_device){gpu, cuda_alloc, cuda_write, cuda_read, cuda_symbol, cuda_launch};
  int error = open_gpu(gpu, ptx, diagnostic);
  if (error != BF_OK)
    bf_cuda_device_free(device);
  return error;
}

void bf_cuda_device_free(bf_device *device) {
  cuda_gpu *gpu = device->context;
  if (!gpu)
    return;
  for (size_t i = 0; i < gpu->allocation_count; i++)
    gpu->driver.free(gpu->allocations[i]);
  if (gpu->module)
    gpu->driver.module_unload(gpu->module);
  if (gpu->has_context)
    gpu->driver.context_release(gpu->ordinal);
  if (gpu->library)
    dlclose(gpu->library);
  free(gpu->allocations);
  free(gpu);
  *device = (bf_device){0};
}
