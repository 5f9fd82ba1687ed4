/* A libcuda.so.1 without a GPU. It checks what it is given, and writes a line for each call that
 * matters to the file that STUB_LOG names; a wrong call ends the program with status 99. STUB_ARCH
 * is the compute capability of its devices (90, or 90,80 for two), STUB_CUDA its version of CUDA
 * (13000). STUB_SAVE names a file that gets the last PTX. PTX with the words "// driver refuses" is
 * refused when it was rewritten. */
#include "abi.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API(name, ...)                                                                             \
  __attribute__((visibility("default"))) int name(__VA_ARGS__);                                    \
  int name(__VA_ARGS__)

enum { INVALID_VALUE = 1, INVALID_IMAGE = 200, INVALID_PTX = 218, NOT_FOUND = 500, STATUS = 99 };
enum { OBJECT_MAGIC = 0x0b1ec7ed };

/* What handles point to. */
typedef struct object {
  unsigned magic;
  char kind; /* Module, Library, Function, Kernel */
  char name[64];
  struct object *from;
} object;

/* ---- Log ---- */

/* Adds a line to the log. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
  char line[512];
  const char *path = getenv("STUB_LOG");
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[length] = '\n';
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (file >= 0 && write(file, line, (size_t)length + 1) != length + 1)
    _exit(STATUS);
  if (file >= 0)
    close(file);
}

/* Ends the program where a call is wrong. */
static void check(bool is_right, const char *what) {
  if (is_right)
    return;
  say("FAULT: %s", what);
  fprintf(stderr, "stub driver: %s\n", what);
  _exit(STATUS);
}

/* ---- Objects ---- */

static object *create(char kind, const char *name, object *from) {
  object *made = calloc(1, sizeof *made);
  check(made, "out of memory");
  *made = (object){.magic = OBJECT_MAGIC, .kind = kind, .from = from};
  snprintf(made->name, sizeof made->name, "%s", name);
  return made;
}

/* A handle as the object that it must be. */
static object *object_of(void *handle, const char *kinds) {
  object *found = handle;
  check(found && found->magic == OBJECT_MAGIC && strchr(kinds, found->kind), "a bad handle");
  return found;
}

/* ---- Devices ---- */

/* The n-th number of a list with commas in a variable. */
static int listed(const char *name, const char *otherwise, int n) {
  const char *list = getenv(name) ? getenv(name) : otherwise;
  while (n-- > 0 && list)
    list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
  return list ? atoi(list) : 0;
}

API(cuInit, unsigned flags) { return flags == 0 ? CUDA_SUCCESS : INVALID_VALUE; }

API(cuDriverGetVersion, int *version) {
  *version = listed("STUB_CUDA", "13000", 0);
  return CUDA_SUCCESS;
}

API(cuDeviceGetCount, int *count) {
  for (*count = 0; listed("STUB_ARCH", "90", *count) > 0;)
    ++*count;
  return CUDA_SUCCESS;
}

API(cuDeviceGet, int *device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}

API(cuDeviceGetAttribute, int *value, int attribute, int device) {
  int arch = listed("STUB_ARCH", "90", device);
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? arch / 10 : arch % 10;
  return CUDA_SUCCESS;
}

/* ---- Loading ---- */

/* Keeps PTX for the test to look at. */
static void save(const char *text) {
  const char *path = getenv("STUB_SAVE");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file && (fputs(text, file) < 0 || fclose(file) != 0))
    _exit(STATUS);
}

/* Looks at an image; *result is what loading it gives. */
static const char *judge(const void *image, int *result) {
  unsigned magic;
  *result = CUDA_SUCCESS;
  memcpy(&magic, image, sizeof magic);
  if (magic == CU_FATBIN_WRAPPER_MAGIC)
    return "wrapper";
  if (magic == 0xBA55ED50u)
    return "fat binary";
  if (memcmp(image, "\177ELF", 4) == 0)
    return "cubin";
  save(image);
  bool is_rewritten = strstr(image, "// rewritten"), is_ptx = strstr(image, ".version");
  if (is_rewritten && strstr(image, "// driver refuses"))
    *result = INVALID_PTX;
  else if (!is_ptx)
    *result = INVALID_IMAGE;
  return is_rewritten ? "rewritten PTX" : is_ptx ? "PTX" : "garbage";
}

/* Loads an image as a module or library, by the function of that name. */
static int load(void **handle, const void *image, char kind, const char *function) {
  int result;
  check(handle && image, "a null pointer");
  const char *what = judge(image, &result);
  say("%s: %s%s", function, what, result ? ", refused" : "");
  if (result == CUDA_SUCCESS)
    *handle = create(kind, "", NULL);
  return result;
}

API(cuModuleLoadData, void **module, const void *image) {
  return load(module, image, 'M', __func__);
}

/* Options: only 4, the size of a buffer, which is written to. */
API(cuModuleLoadDataEx, void **module, const void *image, unsigned count, int *options,
    void **values) {
  for (unsigned i = 0; i < count; i++) {
    check(options[i] == 4 && (uintptr_t)values[i] == 1000, "another option than was given");
    values[i] = (void *)(uintptr_t)7;
  }
  return load(module, image, 'M', __func__);
}

API(cuModuleLoadFatBinary, void **module, const void *image) {
  return load(module, image, 'M', __func__);
}

API(cuModuleLoad, void **module, const char *path) {
  if (access(path, R_OK) != 0)
    return 301;
  say("%s", __func__);
  *module = create('M', "", NULL);
  return CUDA_SUCCESS;
}

API(cuModuleUnload, void *module) {
  object_of(module, "M")->magic = 0;
  free(module);
  return CUDA_SUCCESS;
}

API(cuLibraryLoadData, void **library, const void *image, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  for (unsigned i = 0; i < count; i++)
    check(options[i] == 4 && (uintptr_t)values[i] == 1000, "another option than was given");
  for (unsigned i = 0; i < library_count; i++)
    check(library_options[i] == 1 && !library_values[i], "another library option");
  return load(library, image, 'L', __func__);
}

API(cuLibraryLoadFromFile, void **library, const char *path, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)count;
  (void)library_options, (void)library_values, (void)library_count;
  say("%s", __func__);
  *library = create('L', path, NULL);
  return CUDA_SUCCESS;
}

API(cuLibraryUnload, void *library) {
  object_of(library, "L")->magic = 0;
  free(library);
  return CUDA_SUCCESS;
}

/* ---- Kernels ---- */

API(cuModuleGetFunction, void **function, void *module, const char *name) {
  if (strcmp(name, "missing") == 0)
    return NOT_FOUND;
  *function = create('F', name, object_of(module, "M"));
  return CUDA_SUCCESS;
}

API(cuModuleGetFunctionCount, unsigned *count, void *module) {
  object_of(module, "M");
  *count = 1;
  return CUDA_SUCCESS;
}

/* There is one kernel, whose name the test program knows. */
API(cuModuleEnumerateFunctions, void **functions, unsigned count, void *module) {
  if (count)
    functions[0] = create('F', "twice", object_of(module, "M"));
  return CUDA_SUCCESS;
}

API(cuFuncGetName, const char **name, void *function) {
  *name = object_of(function, "FK")->name;
  return CUDA_SUCCESS;
}

API(cuFuncGetModule, void **module, void *function) {
  *module = object_of(function, "F")->from;
  return CUDA_SUCCESS;
}

API(cuLibraryGetKernel, void **kernel, void *library, const char *name) {
  *kernel = create('K', name, object_of(library, "L"));
  return CUDA_SUCCESS;
}

API(cuLibraryGetModule, void **module, void *library) {
  *module = create('M', "", object_of(library, "L"));
  return CUDA_SUCCESS;
}

API(cuKernelGetFunction, void **function, void *kernel) {
  object *from = object_of(kernel, "K");
  *function = create('F', from->name, from);
  return CUDA_SUCCESS;
}

API(cuFuncSetAttribute, void *function, int attribute, int value) {
  say("%s: %s, attribute %d = %d", __func__, object_of(function, "FK")->name, attribute, value);
  return CUDA_SUCCESS;
}

API(cuKernelSetAttribute, int attribute, int value, void *kernel, int device) {
  say("%s: %s, attribute %d = %d, device %d", __func__, object_of(kernel, "K")->name, attribute,
      value, device);
  return CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int block_size,
    size_t bytes) {
  say("%s: %s, %d threads, %zu bytes", __func__, object_of(function, "FK")->name, block_size,
      bytes);
  *blocks = 2;
  return CUDA_SUCCESS;
}

/* ---- Launches ---- */

/* A launch, all of whose arguments are what the test program gives. */
static int launch(const char *name, void *function, const unsigned size[6], unsigned bytes,
                  void *stream, void **parameters) {
  for (unsigned i = 0; i < 6; i++)
    check(size[i] == i + 1, "another size than was given");
  check(stream == (void *)2 && parameters == (void **)stream, "other arguments than were given");
  say("%s: %s, %u bytes", name, object_of(function, "FK")->name, bytes);
  return CUDA_SUCCESS;
}

#define LAUNCH_KERNEL(name)                                                                        \
  API(name, void *function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,            \
      unsigned f, unsigned bytes, void *stream, void **parameters, void **extra) {                 \
    check(!extra, "other arguments than were given");                                              \
    return launch(__func__, function, (unsigned[]){a, b, c, d, e, f}, bytes, stream, parameters);  \
  }
LAUNCH_KERNEL(cuLaunchKernel)
LAUNCH_KERNEL(cuLaunchKernel_ptsz)

API(cuLaunchCooperativeKernel, void *function, unsigned a, unsigned b, unsigned c, unsigned d,
    unsigned e, unsigned f, unsigned bytes, void *stream, void **parameters) {
  return launch(__func__, function, (unsigned[]){a, b, c, d, e, f}, bytes, stream, parameters);
}

API(cuLaunchKernelEx, const cu_launch_config *config, void *function, void **parameters,
    void **extra) {
  const unsigned size[] = {config->grid[0],  config->grid[1],  config->grid[2],
                           config->block[0], config->block[1], config->block[2]};
  check(!extra && config->attribute_count == 0, "other arguments than were given");
  return launch(__func__, function, size, config->shared_bytes, config->stream, parameters);
}

/* A kernel's node is shown like a launch; the last member tells versions apart. */
static int add_node(const char *name, void **node, const cu_kernel_node *parameters) {
  void *function = parameters->function ? parameters->function : parameters->kernel;
  say("%s: %s, %u bytes", name, object_of(function, "FK")->name, parameters->shared_bytes);
  *node = create('N', "", NULL);
  return CUDA_SUCCESS;
}

API(cuGraphAddKernelNode, void **node, void *graph, void *const *dependencies, size_t count,
    const cu_kernel_node *parameters) {
  (void)graph, (void)dependencies, (void)count;
  return add_node(__func__, node, parameters);
}

API(cuGraphAddKernelNode_v2, void **node, void *graph, void *const *dependencies, size_t count,
    const cu_kernel_node *parameters) {
  (void)graph, (void)dependencies, (void)count;
  check(parameters->context == (void *)5, "another context than was given");
  return add_node(__func__, node, parameters);
}

API(cuGraphAddNode_v2, void **node, void *graph, void *const *dependencies, const void *edges,
    size_t count, cu_node *parameters) {
  (void)graph, (void)dependencies, (void)edges, (void)count;
  if (parameters->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return INVALID_VALUE;
  return add_node(__func__, node, &parameters->kernel);
}

/* ---- How functions are found ---- */

API(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
    int *status);
API(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags);

/* What is found by name: the forms for per-thread streams and of version 2 stand before others. */
static const struct {
  const char *name;
  int since;
  bool per_thread;
  void *function;
} functions[] = {
    {"cuGetProcAddress", 12000, false, (void *)cuGetProcAddress_v2},
    {"cuGetProcAddress", 0, false, (void *)cuGetProcAddress},
    {"cuInit", 0, false, (void *)cuInit},
    {"cuModuleLoad", 0, false, (void *)cuModuleLoad},
    {"cuModuleLoadData", 0, false, (void *)cuModuleLoadData},
    {"cuModuleLoadDataEx", 0, false, (void *)cuModuleLoadDataEx},
    {"cuModuleLoadFatBinary", 0, false, (void *)cuModuleLoadFatBinary},
    {"cuModuleUnload", 0, false, (void *)cuModuleUnload},
    {"cuModuleGetFunction", 0, false, (void *)cuModuleGetFunction},
    {"cuModuleEnumerateFunctions", 0, false, (void *)cuModuleEnumerateFunctions},
    {"cuFuncGetModule", 0, false, (void *)cuFuncGetModule},
    {"cuLibraryLoadData", 0, false, (void *)cuLibraryLoadData},
    {"cuLibraryLoadFromFile", 0, false, (void *)cuLibraryLoadFromFile},
    {"cuLibraryUnload", 0, false, (void *)cuLibraryUnload},
    {"cuLibraryGetKernel", 0, false, (void *)cuLibraryGetKernel},
    {"cuLibraryGetModule", 0, false, (void *)cuLibraryGetModule},
    {"cuKernelGetFunction", 0, false, (void *)cuKernelGetFunction},
    {"cuFuncSetAttribute", 0, false, (void *)cuFuncSetAttribute},
    {"cuKernelSetAttribute", 0, false, (void *)cuKernelSetAttribute},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 0, false,
     (void *)cuOccupancyMaxActiveBlocksPerMultiprocessor},
    {"cuLaunchKernel", 0, true, (void *)cuLaunchKernel_ptsz},
    {"cuLaunchKernel", 0, false, (void *)cuLaunchKernel},
    {"cuLaunchKernelEx", 0, false, (void *)cuLaunchKernelEx},
    {"cuLaunchCooperativeKernel", 0, false, (void *)cuLaunchCooperativeKernel},
    {"cuGraphAddKernelNode", 12000, false, (void *)cuGraphAddKernelNode_v2},
    {"cuGraphAddKernelNode", 0, false, (void *)cuGraphAddKernelNode},
    {"cuGraphAddNode", 12030, false, (void *)cuGraphAddNode_v2},
};

API(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].name, name) == 0 && version >= functions[i].since &&
        (!functions[i].per_thread || flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) {
      *function = functions[i].function;
      return CUDA_SUCCESS;
    }
  *function = NULL;
  return NOT_FOUND;
}

API(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
    int *status) {
  int result = cuGetProcAddress(name, function, version, flags);
  if (status)
    *status = result != CUDA_SUCCESS;
  return result;
}
