/* The functions that stand in the place of the driver's. Each has the driver's name, so that
 * programs linked with libcuda.so.1 find it first, and calls the driver's. */
#include "driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- The driver's own functions ---- */

static _Atomic(void *) real_functions[SLOTS];

static const char *const slot_names[] = {
#define X(name, asked, since, per_thread) #name,
#include "driver.def"
#undef X
};

void *inject_real(inject_slot at) {
  void *real = atomic_load(&real_functions[at]);
  if (!real) {
    real = inject_driver(slot_names[at]);
    atomic_store(&real_functions[at], real);
  }
  return real;
}

/* ---- Loading ---- */

int inject_remember(int result, void *handle, const inject_image *image) {
  if (result == CUDA_SUCCESS && !inject_handle_set(handle, image, false))
    return CUDA_ERROR_OUT_OF_MEMORY;
  return result;
}

int inject_remember_plain(int result, void *const *handle, const inject_image *image) {
  static const inject_image refused = {.reason = "the driver refuses the rewritten PTX"};
  const inject_image *why = inject_is_new(image) ? &refused : image;
  return inject_remember(result, result == CUDA_SUCCESS ? *handle : NULL,
                         inject_takes_times ? why : NULL);
}

bool inject_is_taken(int result) {
  if (result != CUDA_SUCCESS)
    inject_log("the driver refuses the rewritten image (error %d) and gets the program's", result);
  return result == CUDA_SUCCESS;
}

/* A copy of the values of options: the driver writes to them, also where it fails. NULL: none, or
 * no memory. */
static void **copy_values(void **values, unsigned count) {
  void **copy = values && count ? malloc(count * sizeof *copy) : NULL;
  if (copy)
    memcpy(copy, values, count * sizeof *copy);
  return copy;
}

/* Hands the copy's values to the program where the call was good, and frees it. */
static void end_values(bool is_good, void **values, void **copy, unsigned count) {
  if (is_good && copy)
    memcpy(values, copy, count * sizeof *copy);
  free(copy);
}

API(cuModuleLoadData, void **module, const void *code) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoadData, module, code), module, image);
}

API(cuModuleLoadDataEx, void **module, const void *code, unsigned count, int *options,
    void **values) {
  const inject_image *image = inject_image_of_memory(code);
  void **copy = inject_is_new(image) ? copy_values(values, count) : NULL;
  if (inject_is_new(image) && (copy || !count || !values)) {
    bool is_good =
        inject_is_taken(REAL(cuModuleLoadDataEx, module, image->text, count, options, copy));
    end_values(is_good, values, copy, count);
    if (is_good)
      return inject_remember(CUDA_SUCCESS, *module, image);
  }
  return inject_remember_plain(REAL(cuModuleLoadDataEx, module, code, count, options, values),
                               module, image);
}

/* A fat binary only; PTX goes to the function that takes it. */
API(cuModuleLoadFatBinary, void **module, const void *code) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoadFatBinary, module, code), module, image);
}

API(cuModuleLoad, void **module, const char *path) {
  const inject_image *image = inject_image_of_file(path);
  if (inject_is_new(image) && inject_is_taken(REAL(cuModuleLoadData, module, image->text)))
    return inject_remember(CUDA_SUCCESS, *module, image);
  return inject_remember_plain(REAL(cuModuleLoad, module, path), module, image);
}

API(cuModuleUnload, void *module) {
  inject_handle_set(module, NULL, false);
  return REAL(cuModuleUnload, module);
}

API(cuLibraryLoadData, void **library, const void *code, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count);

/* Gives the driver the image as a library; whether it takes it. */
static bool load_library(const inject_image *image, void **library, int *options, void **values,
                         unsigned count, int *library_options, void **library_values,
                         unsigned library_count) {
  void **copy = copy_values(values, count);
  if (values && count && !copy)
    return false;
  bool is_good = inject_is_taken(REAL(cuLibraryLoadData, library, image->text, options, copy, count,
                                      library_options, library_values, library_count));
  end_values(is_good, values, copy, count);
  return is_good;
}

API(cuLibraryLoadData, void **library, const void *code, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  const inject_image *image = inject_image_of_memory(code);
  if (inject_is_new(image) && load_library(image, library, options, values, count, library_options,
                                           library_values, library_count))
    return inject_remember(CUDA_SUCCESS, *library, image);
  return inject_remember_plain(REAL(cuLibraryLoadData, library, code, options, values, count,
                                    library_options, library_values, library_count),
                               library, image);
}

API(cuLibraryLoadFromFile, void **library, const char *path, int *options, void **values,
    unsigned count, int *library_options, void **library_values, unsigned library_count) {
  const inject_image *image = inject_image_of_file(path);
  if (inject_is_new(image) && load_library(image, library, options, values, count, library_options,
                                           library_values, library_count))
    return inject_remember(CUDA_SUCCESS, *library, image);
  return inject_remember_plain(REAL(cuLibraryLoadFromFile, library, path, options, values, count,
                                    library_options, library_values, library_count),
                               library, image);
}

API(cuLibraryUnload, void *library) {
  inject_handle_set(library, NULL, false);
  return REAL(cuLibraryUnload, library);
}

/* ---- Functions and kernels of what was loaded ---- */

/* `made` is the kernel of that name (NULL: not known) of a module or library. */
static int inherit(int result, void *made, const void *from, const char *name) {
  bool unused;
  const inject_image *image = result == CUDA_SUCCESS ? inject_handle_image(from, &unused) : NULL;
  bool rounds = image && inject_image_rounds(image, name);
  if (inject_takes_times && result == CUDA_SUCCESS)
    inject_times_name(made, name);
  if (result == CUDA_SUCCESS && !inject_handle_set(made, image, rounds))
    return CUDA_ERROR_OUT_OF_MEMORY;
  return result;
}

/* The same for the kernels in an array for `room`; the driver's functions count_of and name_of know
 * how many there are and what they are called. */
static int inherit_all(int result, void **made, unsigned room, void *from, const char *count_of,
                       const char *name_of) {
  int (*get_count)(unsigned *, void *) = inject_driver(count_of);
  int (*get_name)(const char **, void *) = inject_driver(name_of);
  unsigned count = 0;
  if (result == CUDA_SUCCESS && made && get_count && get_count(&count, from) != CUDA_SUCCESS)
    count = 0;
  for (unsigned i = 0; i < room && i < count && result == CUDA_SUCCESS; i++) {
    const char *name;
    bool is_named = get_name && get_name(&name, made[i]) == CUDA_SUCCESS;
    result = inherit(result, made[i], from, is_named ? name : NULL);
  }
  return result;
}

/* `made` is another handle for the same. */
static int copy_handle(int result, void *made, const void *from) {
  bool rounds;
  const inject_image *image = inject_handle_image(from, &rounds);
  if (inject_takes_times && result == CUDA_SUCCESS)
    inject_times_copy(made, from);
  if (result == CUDA_SUCCESS && !inject_handle_set(made, image, rounds))
    return CUDA_ERROR_OUT_OF_MEMORY;
  return result;
}

API(cuModuleGetFunction, void **function, void *module, const char *name) {
  int result = REAL(cuModuleGetFunction, function, module, name);
  return inherit(result, result == CUDA_SUCCESS ? *function : NULL, module, name);
}

API(cuModuleEnumerateFunctions, void **functions, unsigned count, void *module) {
  int result = REAL(cuModuleEnumerateFunctions, functions, count, module);
  return inherit_all(result, functions, count, module, "cuModuleGetFunctionCount", "cuFuncGetName");
}

API(cuLibraryGetKernel, void **kernel, void *library, const char *name) {
  int result = REAL(cuLibraryGetKernel, kernel, library, name);
  return inherit(result, result == CUDA_SUCCESS ? *kernel : NULL, library, name);
}

API(cuLibraryEnumerateKernels, void **kernels, unsigned count, void *library) {
  int result = REAL(cuLibraryEnumerateKernels, kernels, count, library);
  return inherit_all(result, kernels, count, library, "cuLibraryGetKernelCount", "cuKernelGetName");
}

API(cuLibraryGetModule, void **module, void *library) {
  int result = REAL(cuLibraryGetModule, module, library);
  return copy_handle(result, result == CUDA_SUCCESS ? *module : NULL, library);
}

API(cuKernelGetFunction, void **function, void *kernel) {
  int added = inject_handle_added(kernel);
  int result = REAL(cuKernelGetFunction, function, kernel);
  result = copy_handle(result, result == CUDA_SUCCESS ? *function : NULL, kernel);
  if (result == CUDA_SUCCESS && *function != kernel)
    inject_handle_join(*function, kernel);
  else if (result == CUDA_SUCCESS)
    inject_handle_set_added(kernel, added);
  return result;
}

API(cuFuncGetModule, void **module, void *function) {
  bool unused;
  int result = REAL(cuFuncGetModule, module, function);
  const inject_image *image = inject_handle_image(function, &unused);
  return image ? inject_remember(result, result == CUDA_SUCCESS ? *module : NULL, image) : result;
}

/* ---- Sizes of dynamic shared memory ---- */

/* The value of an attribute of a function or kernel. */
static int round_attribute(const void *handle, int attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value <= 0)
    return value;
  return (int)inject_handle_round(handle, (uint64_t)value);
}

/* Keeps by how much a value was rounded up when it was set. */
static int keep_added(int result, const void *handle, int attribute, int value) {
  if (result == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    inject_handle_set_added(handle, round_attribute(handle, attribute, value) - value);
  return result;
}

/* The program reads the value that it has set. */
static int take_added(int result, const void *handle, int attribute, int *value) {
  if (result == CUDA_SUCCESS && value &&
      attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    *value -= inject_handle_added(handle);
  return result;
}

API(cuFuncSetAttribute, void *function, int attribute, int value) {
  int result =
      REAL(cuFuncSetAttribute, function, attribute, round_attribute(function, attribute, value));
  return keep_added(result, function, attribute, value);
}

API(cuFuncGetAttribute, int *value, int attribute, void *function) {
  int result = REAL(cuFuncGetAttribute, value, attribute, function);
  return take_added(result, function, attribute, value);
}

API(cuKernelSetAttribute, int attribute, int value, void *kernel, int device) {
  int result = REAL(cuKernelSetAttribute, attribute, round_attribute(kernel, attribute, value),
                    kernel, device);
  return keep_added(result, kernel, attribute, value);
}

API(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device) {
  int result = REAL(cuKernelGetAttribute, value, attribute, kernel, device);
  return take_added(result, kernel, attribute, value);
}

API(cuFuncSetSharedSize, void *function, unsigned bytes) {
  return REAL(cuFuncSetSharedSize, function, (unsigned)inject_handle_round(function, bytes));
}

/* ---- Launches ---- */

static uint64_t volume(const unsigned size[3]) { return (uint64_t)size[0] * size[1] * size[2]; }

/* Returns what the launch `call` gives; its time is taken where that is asked for. */
#define RETURN_TIMED(function, stream, blocks, threads, call)                                      \
  if (!inject_takes_times)                                                                         \
    return call;                                                                                   \
  inject_launch timed = {function, stream, blocks, threads, NULL, NULL};                           \
  inject_launch_begin(&timed);                                                                     \
  int result = call;                                                                               \
  inject_launch_end(&timed, result);                                                               \
  return result

#define VOLUME(size) ((uint64_t)size##_x * size##_y * size##_z)

/* Each with what stream 0 means to it. */
#define LAUNCH_KERNEL(name, stream_0)                                                              \
  API(name, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
      unsigned block_y, unsigned block_z, unsigned bytes, void *stream, void **parameters,         \
      void **extra) {                                                                              \
    bytes = (unsigned)inject_handle_round(function, bytes);                                        \
    RETURN_TIMED(function, stream ? stream : stream_0, VOLUME(grid), VOLUME(block),                \
                 REAL(name, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, bytes,    \
                      stream, parameters, extra));                                                 \
  }
LAUNCH_KERNEL(cuLaunchKernel, NULL)
LAUNCH_KERNEL(cuLaunchKernel_ptsz, CU_STREAM_PER_THREAD)

#define LAUNCH_COOPERATIVE(name, stream_0)                                                         \
  API(name, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
      unsigned block_y, unsigned block_z, unsigned bytes, void *stream, void **parameters) {       \
    bytes = (unsigned)inject_handle_round(function, bytes);                                        \
    RETURN_TIMED(function, stream ? stream : stream_0, VOLUME(grid), VOLUME(block),                \
                 REAL(name, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, bytes,    \
                      stream, parameters));                                                        \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, NULL)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, CU_STREAM_PER_THREAD)

#define LAUNCH_CONFIGURED(name, stream_0)                                                          \
  API(name, const cu_launch_config *config, void *function, void **parameters, void **extra) {     \
    if (!config)                                                                                   \
      return REAL(name, config, function, parameters, extra);                                      \
    cu_launch_config copy = *config;                                                               \
    copy.shared_bytes = (unsigned)inject_handle_round(function, copy.shared_bytes);                \
    RETURN_TIMED(function, copy.stream ? copy.stream : stream_0, volume(copy.grid),                \
                 volume(copy.block), REAL(name, &copy, function, parameters, extra));              \
  }
LAUNCH_CONFIGURED(cuLaunchKernelEx, NULL)
LAUNCH_CONFIGURED(cuLaunchKernelEx_ptsz, CU_STREAM_PER_THREAD)

/* Launches one cooperative kernel on several devices. */
API(cuLaunchCooperativeKernelMultiDevice, cu_device_launch *launches, unsigned count,
    unsigned flags) {
  if (!launches || !count)
    return REAL(cuLaunchCooperativeKernelMultiDevice, launches, count, flags);
  cu_device_launch *copy = malloc(count * sizeof *copy);
  if (!copy)
    return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy(copy, launches, count * sizeof *copy);
  for (unsigned i = 0; i < count; i++)
    copy[i].shared_bytes = (unsigned)inject_handle_round(copy[i].function, copy[i].shared_bytes);
  int result = REAL(cuLaunchCooperativeKernelMultiDevice, copy, count, flags);
  free(copy);
  return result;
}

/* ---- Graphs ---- */

/* A copy of the first size bytes of a kernel's node, with whole rows; NULL for NULL. */
static const cu_kernel_node *round_node(const cu_kernel_node *node, size_t size,
                                        cu_kernel_node *copy) {
  if (!node)
    return NULL;
  *copy = (cu_kernel_node){0};
  memcpy(copy, node, size);
  const void *handle = copy->function ? copy->function : copy->kernel;
  copy->shared_bytes = (unsigned)inject_handle_round(handle, copy->shared_bytes);
  return copy;
}

#define ADD_KERNEL_NODE(name, size)                                                                \
  API(name, void **node, void *graph, void *const *dependencies, size_t count,                     \
      const cu_kernel_node *parameters) {                                                          \
    cu_kernel_node copy;                                                                           \
    return REAL(name, node, graph, dependencies, count, round_node(parameters, size, &copy));      \
  }
ADD_KERNEL_NODE(cuGraphAddKernelNode, CU_KERNEL_NODE_V1_BYTES)
ADD_KERNEL_NODE(cuGraphAddKernelNode_v2, sizeof(cu_kernel_node))

#define SET_KERNEL_NODE(name, size)                                                                \
  API(name, void *node, const cu_kernel_node *parameters) {                                        \
    cu_kernel_node copy;                                                                           \
    return REAL(name, node, round_node(parameters, size, &copy));                                  \
  }
SET_KERNEL_NODE(cuGraphKernelNodeSetParams, CU_KERNEL_NODE_V1_BYTES)
SET_KERNEL_NODE(cuGraphKernelNodeSetParams_v2, sizeof(cu_kernel_node))

#define SET_EXEC_KERNEL_NODE(name, size)                                                           \
  API(name, void *graph, void *node, const cu_kernel_node *parameters) {                           \
    cu_kernel_node copy;                                                                           \
    return REAL(name, graph, node, round_node(parameters, size, &copy));                           \
  }
SET_EXEC_KERNEL_NODE(cuGraphExecKernelNodeSetParams, CU_KERNEL_NODE_V1_BYTES)
SET_EXEC_KERNEL_NODE(cuGraphExecKernelNodeSetParams_v2, sizeof(cu_kernel_node))

/* The same for a node of any kind: nodes that are no kernels are left as they are. */
static cu_node *round_any(cu_node *node, cu_node *copy) {
  if (!node || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return node;
  *copy = *node;
  round_node(&node->kernel, sizeof node->kernel, &copy->kernel);
  return copy;
}

API(cuGraphAddNode, void **node, void *graph, void *const *dependencies, size_t count,
    cu_node *parameters) {
  cu_node copy;
  return REAL(cuGraphAddNode, node, graph, dependencies, count, round_any(parameters, &copy));
}

API(cuGraphAddNode_v2, void **node, void *graph, void *const *dependencies, const void *edges,
    size_t count, cu_node *parameters) {
  cu_node copy;
  return REAL(cuGraphAddNode_v2, node, graph, dependencies, edges, count,
              round_any(parameters, &copy));
}

API(cuGraphNodeSetParams, void *node, cu_node *parameters) {
  cu_node copy;
  return REAL(cuGraphNodeSetParams, node, round_any(parameters, &copy));
}

API(cuGraphExecNodeSetParams, void *graph, void *node, cu_node *parameters) {
  cu_node copy;
  return REAL(cuGraphExecNodeSetParams, graph, node, round_any(parameters, &copy));
}

/* ---- How functions are found ---- */

typedef struct replacement {
  const char *name, *asked;
  int since;
  bool per_thread;
  void *function;
} replacement;

static const replacement replacements[SLOTS] = {
#define X(name, asked, since, per_thread) {#name, asked, since, per_thread, (void *)name},
#include "driver.def"
#undef X
};

/* The slot of the name that the library has for a function; SLOTS: none. */
static inject_slot find_slot(const char *name) {
  inject_slot at = SLOTS;
  if (name[0] == 'c' && name[1] == 'u')
    for (at = 0; at < SLOTS && strcmp(replacements[at].name, name) != 0; at++)
      continue;
  return at;
}

/* The slot of what cuGetProcAddress gives; SLOTS: none. The last that fits is the latest. */
static inject_slot find_asked(const char *name, int version, bool per_thread) {
  inject_slot found = SLOTS;
  for (inject_slot at = 0; at < SLOTS; at++)
    if (strcmp(replacements[at].asked, name) == 0 && version >= replacements[at].since &&
        (per_thread || !replacements[at].per_thread))
      found = at;
  return found;
}

/* Keeps the driver's function of a slot; says so the first time. */
static void keep_real(inject_slot at, void *real) {
  static atomic_bool is_found;
  if (!atomic_exchange(&is_found, true))
    inject_log("the driver is found through %s", slot_names[at]);
  atomic_store(&real_functions[at], real);
}

bool inject_replaces(const char *name) { return find_slot(name) < SLOTS; }

void *inject_replace(const char *name, void *real) {
  inject_slot at = find_slot(name);
  if (at == SLOTS)
    return real;
  if (real && real != replacements[at].function)
    keep_real(at, real);
  return replacements[at].function;
}

/* Puts our function in the place of what the driver gave. */
static void replace_asked(const char *name, void **function, int version, uint64_t flags) {
  inject_slot at =
      name && function && *function
          ? find_asked(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
          : SLOTS;
  if (at == SLOTS || *function == replacements[at].function)
    return;
  keep_real(at, *function);
  *function = replacements[at].function;
}

API(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags) {
  int result = REAL(cuGetProcAddress, name, function, version, flags);
  if (result == CUDA_SUCCESS)
    replace_asked(name, function, version, flags);
  return result;
}

API(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
    int *status) {
  int result = REAL(cuGetProcAddress_v2, name, function, version, flags, status);
  if (result == CUDA_SUCCESS)
    replace_asked(name, function, version, flags);
  return result;
}
