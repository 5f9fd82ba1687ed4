/* inject: what the functions in the place of the driver's share: how they are defined, and how they
 * call the driver's. */
#ifndef INJECT_DRIVER_H
#define INJECT_DRIVER_H

#include "inject.h"

/* Defines a function that programs call. */
#define API(name, ...)                                                                             \
  __attribute__((visibility("default"))) int name(__VA_ARGS__);                                    \
  int name(__VA_ARGS__)

typedef enum inject_slot {
#define X(name, asked, since, per_thread) SLOT_##name,
#include "driver.def"
#undef X
  SLOTS
} inject_slot;

/* The driver's functions, as the program found them; NULL: not yet. */
extern _Atomic(void *) inject_reals[SLOTS];
/* Finds that of a slot now; NULL: there is none. */
void *inject_find_real(inject_slot at);

/* The driver's function of a slot; NULL: there is none. */
static inline void *inject_real(inject_slot at) {
  void *known = __atomic_load_n((void **)&inject_reals[at], __ATOMIC_ACQUIRE);
  return __builtin_expect(known != NULL, 1) ? known : inject_find_real(at);
}

/* Calls the driver's function; a result. */
#define REAL(name, ...)                                                                            \
  (inject_real(SLOT_##name) ? ((__typeof__(&name))inject_real(SLOT_##name))(__VA_ARGS__)           \
                            : CUDA_ERROR_NOT_INITIALIZED)

/* Whether the driver is to be given the image in place of the program's. */
static inline bool inject_is_new(const inject_image *image) {
  return image && image->text && !image->is_apart;
}
/* A loaded module or library comes from a new image. */
int inject_remember(int result, void *handle, const inject_image *image);
/* *handle comes from what the program gave, which stands for the image, or for none that is known.
 */
int inject_remember_plain(int result, void *const *handle, const inject_image *image);
/* Whether the driver took the image that it was given in place of the program's. */
bool inject_is_taken(int result);

/* ---- Functions that are used before they are defined, or elsewhere ---- */

/* driver.c */
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status);
int cuModuleLoadData(void **module, const void *code);
int cuLibraryLoadData(void **library, const void *code, int *options, void **values, unsigned count,
                      int *library_options, void **library_values, unsigned library_count);
int cuKernelGetFunction(void **function, void *kernel);

/* export_table.c */
int cuGetExportTable(const void **table, const void *identifier);

/* link.c */
int cuLinkAddData(void *state, int type, void *data, size_t size, const char *name, unsigned count,
                  int *options, void **values);
int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name,
                     unsigned count, int *options, void **values);
int cuLinkAddFile(void *state, int type, const char *path, unsigned count, int *options,
                  void **values);
int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options,
                     void **values);

/* driver.c, of what sets something for second versions */
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device);
int cuFuncSetSharedSize(void *function, unsigned bytes);
int cuFuncSetCacheConfig(void *function, int config);
int cuFuncSetSharedMemConfig(void *function, int config);
int cuKernelSetCacheConfig(void *kernel, int config, int device);

/* driver.c, of what get_kernel and list_all call before they are defined */
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuModuleGetFunctionCount(unsigned *count, void *module);
int cuLibraryGetKernelCount(unsigned *count, void *library);
int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module);
int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library);

/* apart.c */
int cuCtxDestroy_v2(void *context);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device);

/* launch.c */
#define INJECT_SIZES unsigned, unsigned, unsigned, unsigned, unsigned, unsigned
int cuLaunchKernel(void *function, INJECT_SIZES, unsigned bytes, void *stream, void **parameters,
                   void **extra);
int cuLaunchKernel_ptsz(void *function, INJECT_SIZES, unsigned bytes, void *stream,
                        void **parameters, void **extra);
int cuLaunchCooperativeKernel(void *function, INJECT_SIZES, unsigned bytes, void *stream,
                              void **parameters);
int cuLaunchCooperativeKernel_ptsz(void *function, INJECT_SIZES, unsigned bytes, void *stream,
                                   void **parameters);
int cuLaunchKernelEx(const cu_launch_config *config, void *function, void **parameters,
                     void **extra);
int cuLaunchKernelEx_ptsz(const cu_launch_config *config, void *function, void **parameters,
                          void **extra);
int cuGraphAddKernelNode(void **node, void *graph, void *const *dependencies, size_t count,
                         const cu_kernel_node *parameters);
int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *dependencies, size_t count,
                            const cu_kernel_node *parameters);
int cuGraphKernelNodeSetParams(void *node, const cu_kernel_node *parameters);
int cuGraphKernelNodeSetParams_v2(void *node, const cu_kernel_node *parameters);
int cuGraphExecKernelNodeSetParams(void *graph, void *node, const cu_kernel_node *parameters);
int cuGraphExecKernelNodeSetParams_v2(void *graph, void *node, const cu_kernel_node *parameters);
int cuGraphAddNode(void **node, void *graph, void *const *dependencies, size_t count,
                   cu_node *parameters);
int cuGraphAddNode_v2(void **node, void *graph, void *const *dependencies, const void *edges,
                      size_t count, cu_node *parameters);
int cuGraphNodeSetParams(void *node, cu_node *parameters);
int cuGraphExecNodeSetParams(void *graph, void *node, cu_node *parameters);
int cuGraphKernelNodeGetParams(void *node, cu_kernel_node *parameters);
int cuGraphKernelNodeGetParams_v2(void *node, cu_kernel_node *parameters);
int cuGraphNodeGetParams(void *node, cu_node *parameters);

#endif
