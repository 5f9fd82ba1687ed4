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
  int (*copy)(uint64_t to, uint64_t from, size_t bytes);
  int (*fill)(uint64_t to, unsigned char value, size_t bytes);
  int (*event_create)(void **event, unsigned flags);
  int (*event_record)(void *event, void *stream);
  int (*event_wait)(void *event);
  int (*event_elapsed)(float *milliseconds, void *start, void *end);
  int (*event_destroy)(void *event);
  int (*function_attribute)(int *value, int attribute, void *function);
} cuda_driver;

/* From cuda.h: keys of cuModuleLoadDataEx and attributes of functions. */
enum { ERROR_LOG_BUFFER = 5, ERROR_LOG_BUFFER_BYTES = 6 };
enum { SHARED_BYTES = 1, LOCAL_BYTES = 3, REGISTERS = 4, MOST_DYNAMIC_SHARED_BYTES = 8 };

/* Written between timed launches, so that caches hold nothing of the kernel's: more than the
 * second-level cache of any GPU. */
enum { FLUSHED_BYTES = 256 << 20 };

/* Memory that kernels may write, and its copy. Variables have an address in each module. */
typedef struct range {
  uint64_t address[BF_CUDA_MOST_MODULES];
  uint64_t bytes, copy; /* copy 0: none yet */
  bool is_owned;
} range;

typedef struct cuda_gpu {
  void *library;
  bf_cuda_device_options options;
  cuda_driver driver;
  int ordinal;
  bool has_context;
  unsigned modules;
  void *module[BF_CUDA_MOST_MODULES];
  range *ranges; /* allocations, and variables that were asked for */
  size_t range_count;
  uint64_t flushed; /* memory that is written between timed launches, or 0 */
  void *event[2];
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
      {"cuMemcpyDtoD_v2", &driver->copy},
      {"cuMemsetD8_v2", &driver->fill},
      {"cuEventCreate", &driver->event_create},
      {"cuEventRecord", &driver->event_record},
      {"cuEventSynchronize", &driver->event_wait},
      {"cuEventElapsedTime", &driver->event_elapsed},
      {"cuEventDestroy_v2", &driver->event_destroy},
      {"cuFuncGetAttribute", &driver->function_attribute},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!(*(void **)functions[i].place = dlsym(library, functions[i].name)))
      return false;
  return true;
}

/* Remembers memory that kernels may write. */
static int add_range(cuda_gpu *gpu, const range *own, bf_diagnostic *diagnostic) {
  range *grown = realloc(gpu->ranges, (gpu->range_count + 1) * sizeof *grown);
  if (!grown)
    return bf_no_memory(diagnostic);
  gpu->ranges = grown;
  gpu->ranges[gpu->range_count++] = *own;
  return BF_OK;
}

static int cuda_alloc(void *context, uint64_t bytes, uint64_t *address, bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  range own = {.bytes = bytes ? bytes : 1, .is_owned = true};
  BF_TRY(check(gpu, gpu->driver.alloc(address, own.bytes), "cuMemAlloc", diagnostic));
  for (unsigned i = 0; i < gpu->modules; i++)
    own.address[i] = *address;
  int error = add_range(gpu, &own, diagnostic);
  if (error)
    gpu->driver.free(*address);
  return error;
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
  range own = {0};
  for (unsigned i = 0; i < gpu->modules; i++) {
    size_t size;
    BF_TRY(check(gpu, gpu->driver.global_get(&own.address[i], &size, gpu->module[i], name), name,
                 diagnostic));
    own.bytes = size;
  }
  *address = own.address[0];
  *bytes = own.bytes;
  return add_range(gpu, &own, diagnostic);
}

/* A launch that is prepared. */
typedef struct prepared {
  const bf_device_launch *launch;
  void *function;
  unsigned dynamic_bytes;
} prepared;

static int prepare(cuda_gpu *gpu, const bf_device_launch *launch, unsigned module, prepared *p) {
  unsigned granule = gpu->options.shared_granule_bytes;
  p->launch = launch;
  p->dynamic_bytes = (unsigned)launch->dynamic_shared_bytes;
  if (granule)
    p->dynamic_bytes = (p->dynamic_bytes + granule - 1) / granule * granule;
  int error = gpu->driver.function_get(&p->function, gpu->module[module], launch->kernel);
  if (error == 0 && p->dynamic_bytes > 0)
    error = gpu->driver.function_set(p->function, MOST_DYNAMIC_SHARED_BYTES, (int)p->dynamic_bytes);
  return error;
}

static int start(const cuda_gpu *gpu, const prepared *p) {
  const uint32_t *grid = p->launch->grid, *block = p->launch->block;
  return gpu->driver.launch(p->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                            p->dynamic_bytes, NULL, (void **)(uintptr_t)p->launch->parameter, NULL);
}

/* ---- Timed launches ---- */

/* Copies all memory aside, as the first module sees it. */
static int save_memory(cuda_gpu *gpu) {
  int error = 0;
  for (size_t i = 0; i < gpu->range_count && error == 0; i++) {
    range *own = &gpu->ranges[i];
    if (!own->copy)
      error = gpu->driver.alloc(&own->copy, own->bytes);
    if (error == 0)
      error = gpu->driver.copy(own->copy, own->address[0], own->bytes);
  }
  return error;
}

/* Gives a module the memory that was copied aside. */
static int restore_memory(const cuda_gpu *gpu, unsigned module) {
  int error = 0;
  for (size_t i = 0; i < gpu->range_count && error == 0; i++) {
    const range *own = &gpu->ranges[i];
    error = gpu->driver.copy(own->address[module], own->copy, own->bytes);
  }
  return error;
}

/* Makes the variables of a module those of the first. */
static int keep_variables(const cuda_gpu *gpu, unsigned module) {
  int error = 0;
  for (size_t i = 0; i < gpu->range_count && error == 0; i++) {
    const range *own = &gpu->ranges[i];
    if (own->address[0] != own->address[module])
      error = gpu->driver.copy(own->address[0], own->address[module], own->bytes);
  }
  return error;
}

/* Runs the kernel once between two events, with cold caches. */
static int time_once(const cuda_gpu *gpu, const prepared *p, double *ns) {
  const cuda_driver *driver = &gpu->driver;
  float milliseconds = 0;
  int error = driver->fill(gpu->flushed, 0, FLUSHED_BYTES);
  if (error == 0)
    error = driver->event_record(gpu->event[0], NULL);
  if (error == 0)
    error = start(gpu, p);
  if (error == 0)
    error = driver->event_record(gpu->event[1], NULL);
  if (error == 0)
    error = driver->event_wait(gpu->event[1]);
  if (error == 0)
    error = driver->event_elapsed(&milliseconds, gpu->event[0], gpu->event[1]);
  *ns = (double)milliseconds * 1e6;
  return error;
}

static int compare_times(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return first < second ? -1 : first > second;
}

/* Times of every module. */
typedef struct all_times {
  double ns[BF_CUDA_MOST_MODULES][BF_CUDA_MOST_REPEATS];
} all_times;

/* What timed launches need beside the memory of the benchmark. */
static int make_tools(cuda_gpu *gpu) {
  int error = gpu->flushed ? 0 : gpu->driver.alloc(&gpu->flushed, FLUSHED_BYTES);
  for (unsigned i = 0; i < 2 && error == 0; i++)
    if (!gpu->event[i])
      error = gpu->driver.event_create(&gpu->event[i], 0);
  return error;
}

/* Runs the kernels of all modules again and again on the same memory. */
static int time_launch(cuda_gpu *gpu, const prepared *p, all_times *times) {
  int error = make_tools(gpu);
  if (error == 0)
    error = save_memory(gpu);
  for (unsigned i = 0; i < gpu->options.repeats && error == 0; i++)
    for (unsigned m = 0; m < gpu->modules && error == 0; m++) {
      error = restore_memory(gpu, m);
      if (error == 0)
        error = time_once(gpu, &p[m], &times->ns[m][i]);
    }
  return error ? error : keep_variables(gpu, gpu->modules - 1);
}

static void sum_up(const cuda_gpu *gpu, double *ns, bf_cuda_launched *launched) {
  unsigned repeats = gpu->options.repeats;
  qsort(ns, repeats, sizeof *ns, compare_times);
  launched->median_ns = (ns[(repeats - 1) / 2] + ns[repeats / 2]) / 2;
  launched->least_ns = ns[0];
}

/* What the kernel needs. */
static int ask_function(const cuda_gpu *gpu, const prepared *p, bf_cuda_launched *launched) {
  const int attribute[] = {REGISTERS, LOCAL_BYTES, SHARED_BYTES};
  int value[3] = {0}, error = 0;
  for (unsigned i = 0; i < 3 && error == 0; i++)
    error = gpu->driver.function_attribute(&value[i], attribute[i], p->function);
  launched->kernel = p->launch->kernel;
  launched->blocks = (uint64_t)p->launch->grid[0] * p->launch->grid[1] * p->launch->grid[2];
  launched->registers = (unsigned)value[0];
  launched->local_bytes = (uint64_t)value[1];
  launched->static_bytes = (uint64_t)value[2];
  launched->dynamic_bytes = p->dynamic_bytes;
  return error;
}

/* Tells what the kernel of each module needs and took. */
static int tell(const cuda_gpu *gpu, const prepared *p, all_times *times,
                bf_diagnostic *diagnostic) {
  for (unsigned m = 0; m < gpu->modules; m++) {
    bf_cuda_launched launched = {.module = m};
    BF_TRY(check(gpu, ask_function(gpu, &p[m], &launched), "cuFuncGetAttribute", diagnostic));
    if (gpu->options.repeats)
      sum_up(gpu, times->ns[m], &launched);
    BF_TRY(gpu->options.after(gpu->options.context, &launched, diagnostic));
  }
  return BF_OK;
}

static int cuda_launch(void *context, const bf_device_launch *launch, bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = context;
  prepared p[BF_CUDA_MOST_MODULES] = {0};
  all_times *measured = calloc(1, sizeof *measured);
  int driver_error = 0;
  if (!measured)
    return bf_no_memory(diagnostic);
  for (unsigned m = 0; m < gpu->modules && driver_error == 0; m++)
    driver_error = prepare(gpu, launch, m, &p[m]);
  if (driver_error == 0)
    driver_error = gpu->options.repeats ? time_launch(gpu, p, measured) : start(gpu, &p[0]);
  if (driver_error == 0)
    driver_error = gpu->driver.synchronize();
  int error = check(gpu, driver_error, launch->kernel, diagnostic);
  if (!error && gpu->options.after)
    error = tell(gpu, p, measured, diagnostic);
  free(measured);
  return error;
}

/* ---- The device ---- */

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

/* Opens the driver and the first GPU. */
static int open_gpu(cuda_gpu *gpu, bf_diagnostic *diagnostic) {
  gpu->library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!gpu->library || !find_functions(gpu->library, &gpu->driver))
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s", no_driver);
  void *context;
  if (gpu->driver.init(0) != 0 || gpu->driver.device_get(&gpu->ordinal, 0) != 0)
    return bf_fail(diagnostic, BF_UNSUPPORTED, "%s", no_gpu);
  BF_TRY(check(gpu, gpu->driver.context_retain(&context, gpu->ordinal), "cuDevicePrimaryCtxRetain",
               diagnostic));
  gpu->has_context = true;
  return check(gpu, gpu->driver.context_set(context), "cuCtxSetCurrent", diagnostic);
}

static int load_module(cuda_gpu *gpu, const char *ptx, bf_diagnostic *diagnostic) {
  char log[400] = "";
  int keys[] = {ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  if (gpu->driver.module_load(&gpu->module[gpu->modules], ptx, 2, keys, values) != 0)
    return bf_fail(diagnostic, BF_BAD_INPUT, "the GPU's driver refuses the PTX: %s", log);
  gpu->modules++;
  return BF_OK;
}

int bf_cuda_device_create(const char *ptx, const bf_cuda_device_options *options, bf_device *device,
                          bf_diagnostic *diagnostic) {
  cuda_gpu *gpu = calloc(1, sizeof *gpu);
  if (!gpu)
    return bf_no_memory(diagnostic);
  if (options)
    gpu->options = *options;
  if (gpu->options.repeats > BF_CUDA_MOST_REPEATS)
    gpu->options.repeats = BF_CUDA_MOST_REPEATS;
  if (gpu->options.others > BF_CUDA_MOST_MODULES - 1)
    gpu->options.others = BF_CUDA_MOST_MODULES - 1;
  *device = (bf_device){gpu, cuda_alloc, cuda_write, cuda_read, cuda_symbol, cuda_launch};
  int error = open_gpu(gpu, diagnostic);
  if (!error)
    error = load_module(gpu, ptx, diagnostic);
  for (unsigned i = 0; i < gpu->options.others && !error; i++)
    error = load_module(gpu, gpu->options.other[i], diagnostic);
  if (error)
    bf_cuda_device_free(device);
  return error;
}

void bf_cuda_device_free(bf_device *device) {
  cuda_gpu *gpu = device->context;
  if (!gpu)
    return;
  for (size_t i = 0; i < gpu->range_count; i++) {
    if (gpu->ranges[i].is_owned)
      gpu->driver.free(gpu->ranges[i].address[0]);
    if (gpu->ranges[i].copy)
      gpu->driver.free(gpu->ranges[i].copy);
  }
  for (unsigned i = 0; i < 2; i++)
    if (gpu->event[i])
      gpu->driver.event_destroy(gpu->event[i]);
  if (gpu->flushed)
    gpu->driver.free(gpu->flushed);
  for (unsigned i = 0; i < gpu->modules; i++)
    gpu->driver.module_unload(gpu->module[i]);
  if (gpu->has_context)
    gpu->driver.context_release(gpu->ordinal);
  if (gpu->library)
    dlclose(gpu->library);
  free(gpu->ranges);
  free(gpu);
  *device = (bf_device){0};
}
