/* Questions about how many blocks fit: rewritten kernels with dynamic shared memory are asked about
 * with the whole rows that their launches get. */
#include "driver.h"

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int threads,
    size_t bytes) {
  return REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, function, threads,
              inject_handle_round(function, bytes));
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, void *function, int threads,
    size_t bytes, unsigned flags) {
  return REAL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, threads,
              inject_handle_round(function, bytes), flags);
}

/* ---- Sizes that depend on the block ---- */

/* What the program's function says, while the driver asks ours on the same thread. */
static _Thread_local struct {
  cu_bytes_of_block *bytes_of;
  const void *function;
} asked;

static size_t round_bytes_of(int threads) {
  return inject_handle_round(asked.function, asked.bytes_of(threads));
}

/* The function that the driver asks in place of the program's. The program's own may ask about
 * occupancy itself, so that what was asked before is kept by the caller. */
static cu_bytes_of_block *ask_for(const void *function, cu_bytes_of_block *bytes_of) {
  asked.function = function;
  asked.bytes_of = bytes_of;
  return bytes_of ? round_bytes_of : NULL;
}

API(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, void *function,
    cu_bytes_of_block *bytes_of, size_t bytes, int limit) {
  __typeof__(asked) before = asked;
  int result = REAL(cuOccupancyMaxPotentialBlockSize, grid, block, function,
                    ask_for(function, bytes_of), inject_handle_round(function, bytes), limit);
  asked = before;
  return result;
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, void *function,
    cu_bytes_of_block *bytes_of, size_t bytes, int limit, unsigned flags) {
  __typeof__(asked) before = asked;
  int result =
      REAL(cuOccupancyMaxPotentialBlockSizeWithFlags, grid, block, function,
           ask_for(function, bytes_of), inject_handle_round(function, bytes), limit, flags);
  asked = before;
  return result;
}

/* ---- What is left ---- */

/* The answer is a size to launch with: no more than what is left when it is rounded up. */
API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, void *function, int blocks,
    int threads) {
  int result = REAL(cuOccupancyAvailableDynamicSMemPerBlock, bytes, function, blocks, threads);
  if (result == CUDA_SUCCESS && inject_handle_round(function, *bytes) != *bytes)
    *bytes -= *bytes % INJECT_ROW_BYTES;
  return result;
}

/* ---- Clusters ---- */

#define ASK_ABOUT_CLUSTERS(name)                                                                   \
  API(name, int *answer, void *function, const cu_launch_config *config) {                         \
    if (!config)                                                                                   \
      return REAL(name, answer, function, config);                                                 \
    cu_launch_config copy = *config;                                                               \
    copy.shared_bytes = (unsigned)inject_handle_round(function, copy.shared_bytes);                \
    return REAL(name, answer, function, &copy);                                                    \
  }
ASK_ABOUT_CLUSTERS(cuOccupancyMaxPotentialClusterSize)
ASK_ABOUT_CLUSTERS(cuOccupancyMaxActiveClusters)
