/* Launches of functions, and how many blocks a multiprocessor holds. */
#include "driver.h"

#include <stdlib.h>

/* ---- Arguments in one piece ---- */

/* What the list `extra` of a launch is made of. */
enum { PARAMETERS_END, PARAMETERS_ADDRESS, PARAMETERS_BYTES };

/* Finds the block of parameters in extra; false where the list makes no sense. */
static bool read_extra(void **extra, char **block, size_t *bytes) {
  size_t *told = NULL;
  *block = NULL;
  for (unsigned i = 0; extra[i] != (void *)PARAMETERS_END; i += 2) {
    if (extra[i] == (void *)PARAMETERS_ADDRESS)
      *block = extra[i + 1];
    else if (extra[i] == (void *)PARAMETERS_BYTES)
      told = extra[i + 1];
    else
      return false;
  }
  *bytes = told ? *told : 0;
  return *block && told;
}

/* The addresses of the arguments in a block, to be freed; a CUresult. A block that is too large is
 * refused as an H200's driver does. */
static int split_block(void *function, char *block, size_t block_bytes, void ***arguments) {
  unsigned count = 0;
  size_t offset, bytes, used = 0;
  while (cudaFuncGetParamInfo(function, count, &offset, &bytes) == cudaSuccess) {
    if (offset > block_bytes || bytes > block_bytes - offset)
      return CUDA_ERROR_INVALID_VALUE;
    used = offset + bytes;
    count++;
  }
  if (block_bytes > used)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  *arguments = calloc(count + 1, sizeof **arguments);
  for (unsigned i = 0; *arguments && i < count; i++) {
    cudaFuncGetParamInfo(function, i, &offset, &bytes);
    (*arguments)[i] = block + offset;
  }
  return *arguments ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int dr_split_extra(void *function, void **extra, void ***arguments) {
  char *block;
  size_t bytes;
  *arguments = NULL;
  return read_extra(extra, &block, &bytes) ? split_block(function, block, bytes, arguments)
                                           : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Launches ---- */

/* Launches with either list of arguments; a CUresult. */
static int launch(const rt_launch_config *config, void *function, void **arguments, void **extra) {
  rt_function_attributes attributes;
  DR_CHECK();
  if (arguments && extra)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaFuncGetAttributes(&attributes, function));
  if (error || !extra)
    return error ? error : dr_result(cudaLaunchKernelExC(config, function, arguments));
  void **split;
  error = dr_split_extra(function, extra, &split);
  if (!error)
    error = dr_result(cudaLaunchKernelExC(config, function, split));
  free(split);
  return error;
}

API(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
    void *stream, void **arguments, void **extra) {
  rt_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .dynamic_shared_bytes = dynamic_shared_bytes,
                             .stream = stream};
  return launch(&config, function, arguments, extra);
}
PER_THREAD(cuLaunchKernel, ptsz);

API(cuLaunchCooperativeKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
    void *stream, void **arguments) {
  rt_launch_attribute cooperative = {.number = RT_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
  rt_launch_config config = {.grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .dynamic_shared_bytes = dynamic_shared_bytes,
                             .stream = stream,
                             .attribute = &cooperative,
                             .attributes = 1};
  return launch(&config, function, arguments, NULL);
}
PER_THREAD(cuLaunchCooperativeKernel, ptsz);

/* How a launch with attributes is described: CUlaunchConfig. */
typedef struct configuration {
  rt_dim3 grid, block;
  unsigned dynamic_shared_bytes;
  void *stream;
  const rt_launch_attribute *attribute;
  unsigned attributes;
} configuration;

static rt_launch_config runtime_config(const configuration *how) {
  return (rt_launch_config){how->grid,   how->block,     how->dynamic_shared_bytes,
                            how->stream, how->attribute, how->attributes};
}

API(cuLaunchKernelEx, const configuration *how, void *function, void **arguments, void **extra) {
  DR_CHECK();
  if (!how)
    return CUDA_ERROR_INVALID_VALUE;
  rt_launch_config config = runtime_config(how);
  return launch(&config, function, arguments, extra);
}
PER_THREAD(cuLaunchKernelEx, ptsz);

/* ---- Occupancy ---- */

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, void *function, int threads,
    size_t dynamic_shared_bytes, unsigned flags) {
  DR_RETURN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                   dynamic_shared_bytes, flags));
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int threads,
    size_t dynamic_shared_bytes) {
  DR_RETURN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                   dynamic_shared_bytes, 0));
}

API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, void *function, int blocks,
    int threads) {
  DR_RETURN(cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}

API(cuOccupancyMaxActiveClusters, int *clusters, void *function, const configuration *how) {
  DR_CHECK();
  if (!how)
    return CUDA_ERROR_INVALID_VALUE;
  rt_launch_config config = runtime_config(how);
  DR_RETURN(cudaOccupancyMaxActiveClusters(clusters, function, &config));
}

API(cuOccupancyMaxPotentialClusterSize, int *size, void *function, const configuration *how) {
  DR_CHECK();
  if (!how)
    return CUDA_ERROR_INVALID_VALUE;
  rt_launch_config config = runtime_config(how);
  DR_RETURN(cudaOccupancyMaxPotentialClusterSize(size, function, &config));
}

/* Tries blocks of whole warps from the largest on: the first that fills a multiprocessor with the
 * most threads wins. */
API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, void *function,
    size_t (*shared_of)(int threads), size_t dynamic_shared_bytes, int most_threads,
    unsigned flags) {
  rt_function_attributes attributes;
  int multiprocessors, best = 0;
  DR_CHECK();
  if (!grid || !block || most_threads < 0)
    return CUDA_ERROR_INVALID_VALUE;
  int error = dr_result(cudaFuncGetAttributes(&attributes, function));
  if (error)
    return error;
  if (most_threads == 0 || most_threads > attributes.most_threads)
    most_threads = attributes.most_threads;
  *block = *grid = 0;
  cudaDeviceGetAttribute(&multiprocessors, 16, 0);
  for (int threads = (most_threads + 31) / 32 * 32; threads > 0 && !error; threads -= 32) {
    int tried = threads < most_threads ? threads : most_threads, blocks = 0;
    size_t shared = shared_of ? shared_of(tried) : dynamic_shared_bytes;
    error = dr_result(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function,
                                                                             tried, shared, flags));
    if (!error && blocks * tried > best) {
      best = blocks * tried;
      *block = tried;
      *grid = blocks * multiprocessors;
    }
  }
  return error;
}

API(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, void *function,
    size_t (*shared_of)(int threads), size_t dynamic_shared_bytes, int most_threads) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of,
                                                   dynamic_shared_bytes, most_threads, 0);
}
