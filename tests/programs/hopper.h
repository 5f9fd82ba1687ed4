/* What the programs for Hopper share: its instructions as functions. */
#ifndef HOPPER_H
#define HOPPER_H

#include "check.h"

#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>

/* How much larger than for the tests sizes are, where times are compared. */
#ifndef SCALE
#define SCALE 1
#endif

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_init(uint64_t *barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count)
               : "memory");
}

static __device__ __forceinline__ void barrier_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void async_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void barrier_expect(uint64_t *barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, unsigned parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra over;\n"
               "bra again;\n"
               "over:\n"
               "}" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
}

static __device__ __forceinline__ void bulk_load(void *to, const void *from, unsigned bytes,
                                                 uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

static __device__ __forceinline__ void bulk_store(void *to, const void *from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

static __device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
template <int N> static __device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

static __device__ __forceinline__ void tensor_load_2d(void *to, const CUtensorMap *map, int x,
                                                      int y, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, "
               "%3}], [%4];" ::"r"(shared_address(to)),
               "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
               : "memory");
}

static __device__ __forceinline__ void tensor_store_2d(const CUtensorMap *map, int x, int y,
                                                       const void *from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(x), "r"(y), "r"(shared_address(from))
      : "memory");
}

static __device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* A matrix descriptor: offsets in bytes; layout 0: none, 1: swizzle of 128 bytes, 2: 64, 3: 32. */
static __host__ __device__ inline uint64_t descriptor(uint32_t address, uint32_t leading,
                                                      uint32_t stride, unsigned layout,
                                                      unsigned base = 0) {
  return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading >> 4 & 0x3fff) << 16 |
         (uint64_t)(stride >> 4 & 0x3fff) << 32 | (uint64_t)(base & 7) << 49 |
         (uint64_t)layout << 62;
}

/* The driver's function that makes tensor maps, found as CUTLASS does. */
typedef CUresult (*encode_tiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                 const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                 const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static inline void *driver_function(const char *name) {
  void *function = NULL;
  cudaDriverEntryPointQueryResult status;
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &status));
  if (status != cudaDriverEntryPointSuccess) {
    printf("%s is not there\n", name);
    exit(1);
  }
  return function;
}

/* A map of a tensor of two dimensions; pitch in bytes. */
static inline CUtensorMap map_2d(CUtensorMapDataType type, void *data, uint64_t width,
                                 uint64_t height, uint64_t pitch, uint32_t box_width,
                                 uint32_t box_height, CUtensorMapSwizzle swizzle,
                                 CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
  CUtensorMap map;
  cuuint64_t size[] = {width, height}, stride[] = {pitch};
  cuuint32_t box[] = {box_width, box_height}, step[] = {1, 1};
  CUresult error = ((encode_tiled)driver_function("cuTensorMapEncodeTiled"))(
      &map, type, 2, data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  if (error != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeTiled: %d\n", (int)error);
    exit(1);
  }
  return map;
}

/* A sum of bytes that depends on their order. */
static inline uint32_t digest(const void *data, size_t bytes) {
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < bytes; i++)
    sum = (sum ^ ((const unsigned char *)data)[i]) * 16777619u;
  return sum;
}

/* For copies into shared memory of which all is shown: fills it with a pattern, and makes the
 * barrier that the copy is waited for with. */
static __device__ __forceinline__ void fill_room(void *room, unsigned bytes, uint64_t *barrier) {
  for (unsigned i = threadIdx.x; i < bytes / 16; i += blockDim.x)
    ((uint4 *)room)[i] = make_uint4(0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee);
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_fence();
  }
  async_fence();
  __syncthreads();
}

/* Waits for the copy, but not for ever where the bytes are not as expected, and writes down all. */
static __device__ __forceinline__ void show_room(const void *room, unsigned bytes,
                                                 uint64_t *barrier, uint4 *to) {
  uint32_t done = 0;
  for (int i = 0; i < 100000 && !done; i++)
    asm volatile("{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [%1], "
                 "0;\nselp.u32 %0, 1, 0, done;\n}"
                 : "=r"(done)
                 : "r"(shared_address(barrier))
                 : "memory");
  __syncthreads();
  for (unsigned i = threadIdx.x; i < bytes / 16; i += blockDim.x)
    to[i] = ((const uint4 *)room)[i];
}

#endif
