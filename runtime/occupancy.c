/* How many blocks of a kernel a multiprocessor holds at once. */
#include "context.h"

/* Warps get registers in units of REGISTER_UNIT, and blocks get warps in units of WARP_UNIT; shared
 * memory comes in units of SHARED_UNIT bytes (compute capability 7.0 and later). */
enum { REGISTER_UNIT = 256, WARP_UNIT = 4, SHARED_UNIT = 128 };

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The blocks that NVIDIA's rules for a device allow. */
static uint64_t count_blocks(const rt_device *device, const bf_emu_needs *needs, unsigned threads,
                             uint64_t dynamic_shared_bytes) {
  uint64_t warps = round_up(threads, BF_EMU_LANES) / BF_EMU_LANES;
  uint64_t blocks = least((uint64_t)device->blocks_per_multiprocessor,
                          (uint64_t)device->threads_per_multiprocessor / (warps * BF_EMU_LANES));
  uint64_t per_warp = round_up((uint64_t)needs->registers * BF_EMU_LANES, REGISTER_UNIT);
  if (per_warp) {
    uint64_t held = (uint64_t)device->registers / per_warp / WARP_UNIT * WARP_UNIT;
    blocks = least(blocks, held / round_up(warps, WARP_UNIT));
  }
  uint64_t shared = needs->shared_bytes + dynamic_shared_bytes;
  shared = round_up(shared + (device->major >= 8 ? 1024 : 0), SHARED_UNIT);
  if (shared)
    blocks = least(blocks, (uint64_t)device->shared_per_multiprocessor_bytes / shared);
  return blocks;
}

int rt_blocks_per_multiprocessor(const rt_context *context, const bf_emu_kernel *kernel,
                                 unsigned threads, uint64_t dynamic_shared_bytes) {
  const rt_device *device = context->device;
  const bf_emu_needs *needs = bf_emu_kernel_needs(kernel);
  const char *limit;
  if (threads == 0 || threads > (unsigned)device->threads_per_block ||
      threads > needs->most_threads ||
      needs->shared_bytes + dynamic_shared_bytes > (uint64_t)device->shared_opt_in_bytes)
    return 0;
  return context->gpu ? (int)rt_gpu_blocks(context, kernel, threads, dynamic_shared_bytes, &limit)
                      : (int)count_blocks(device, needs, threads, dynamic_shared_bytes);
}

/* The function of a query, made ready; NULL with an error in *error. */
static const rt_function *function_of(rt_context *context, const void *host, int *error) {
  rt_function *function = rt_find_function(context, host);
  *error = function ? rt_make_ready(context, function) : cudaErrorInvalidDeviceFunction;
  return *error == cudaSuccess ? function : NULL;
}

API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *host,
    int threads, size_t dynamic_shared_bytes, unsigned flags) {
  RT_ENTER_DEVICE(context);
  int error;
  const rt_function *function = function_of(context, host, &error);
  if (!blocks || threads <= 0 || flags > 1)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *blocks = dynamic_shared_bytes > rt_dynamic_shared_limit(context, function)
                  ? 0
                  : rt_blocks_per_multiprocessor(context, function->kernel, (unsigned)threads,
                                                 dynamic_shared_bytes);
  return rt_leave(context, error);
}

API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *host, int threads,
    size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads,
                                                                dynamic_shared_bytes, 0);
}

/* The most dynamic shared memory with which `blocks` blocks still fit. */
API(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *host, int blocks,
    int threads) {
  RT_ENTER_DEVICE(context);
  int error;
  const rt_function *function = function_of(context, host, &error);
  if (!bytes || blocks <= 0 || threads <= 0)
    error = cudaErrorInvalidValue;
  if (error != cudaSuccess)
    return rt_leave(context, error);
  const rt_device *device = context->device;
  const bf_emu_needs *needs = bf_emu_kernel_needs(function->kernel);
  uint64_t reserved = device->major >= 8 ? 1024 : 0;
  uint64_t unit = context->gpu ? context->gpu->shared_granule : SHARED_UNIT;
  uint64_t share =
      (uint64_t)device->shared_per_multiprocessor_bytes / (uint64_t)blocks / unit * unit;
  share = share > reserved ? least(share - reserved, (uint64_t)device->shared_opt_in_bytes) : 0;
  *bytes = share > needs->shared_bytes ? share - needs->shared_bytes : 0;
  return rt_leave(context, cudaSuccess);
}

/* The cluster that a launch with such a configuration has. */
static uint64_t cluster_blocks(const rt_function *function, const rt_launch_config *config) {
  const uint32_t *exact = bf_emu_kernel_needs(function->kernel)->exact_cluster;
  uint64_t blocks = exact[0] ? (uint64_t)exact[0] * exact[1] * exact[2] : 1;
  for (unsigned i = 0; i < config->attributes; i++) {
    rt_dim3 size = config->attribute[i].value.cluster;
    if (config->attribute[i].number == RT_ATTRIBUTE_CLUSTER)
      blocks = (uint64_t)size.x * size.y * size.z;
  }
  return blocks;
}

/* Clusters that can run at once. Which multiprocessors a cluster may use is not published; here all
 * of them can be used by any. */
API(cudaOccupancyMaxActiveClusters, int *clusters, const void *host,
    const rt_launch_config *config) {
  RT_ENTER_DEVICE(context);
  int error;
  const rt_function *function = function_of(context, host, &error);
  if (!clusters || !config || (config->attributes && !config->attribute))
    error = cudaErrorInvalidValue;
  if (error != cudaSuccess)
    return rt_leave(context, error);
  uint64_t blocks = cluster_blocks(function, config);
  uint64_t threads = (uint64_t)config->block.x * config->block.y * config->block.z;
  if (blocks == 0 || blocks > 16 || threads == 0 || threads > 1024)
    return rt_leave(context, cudaErrorInvalidClusterSize);
  int fit = rt_blocks_per_multiprocessor(context, function->kernel, (unsigned)threads,
                                         config->dynamic_shared_bytes);
  *clusters = (int)((uint64_t)fit * (uint64_t)context->device->multiprocessors / blocks);
  return rt_leave(context, cudaSuccess);
}

/* The largest cluster that a kernel may be launched with. */
API(cudaOccupancyMaxPotentialClusterSize, int *size, const void *host,
    const rt_launch_config *config) {
  RT_ENTER_DEVICE(context);
  int error;
  const rt_function *function = function_of(context, host, &error);
  if (!size || !config)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    *size = function->has_large_clusters ? 16 : 8;
  return rt_leave(context, error);
}
