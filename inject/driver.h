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

/* The driver's function of a slot: as the program found it, or found now; NULL: there is none. */
void *inject_real(inject_slot at);

/* Calls the driver's function; a result. */
#define REAL(name, ...)                                                                            \
  (inject_real(SLOT_##name) ? ((__typeof__(&name))inject_real(SLOT_##name))(__VA_ARGS__)           \
                            : CUDA_ERROR_NOT_INITIALIZED)

/* Whether the driver is to be given the image in place of the program's. */
static inline bool inject_is_new(const inject_image *image) { return image && image->text; }
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

/* occupancy.c */
typedef size_t cu_bytes_of_block(int threads);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                size_t bytes);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                         size_t bytes, unsigned flags);
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function,
                                     cu_bytes_of_block *bytes_of, size_t bytes, int limit);
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function,
                                              cu_bytes_of_block *bytes_of, size_t bytes, int limit,
                                              unsigned flags);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *function, int blocks, int threads);
int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const cu_launch_config *config);
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const cu_launch_config *config);

#endif
