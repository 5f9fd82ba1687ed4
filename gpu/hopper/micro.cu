// What bulk and tensor copies, mbarriers, wgmma and clusters take, in cycles of clock64: a line of CSV for each
// measurement. `first` is of data that no cache holds, `cycles` of the same again. The same program gives the simulator's
// cycles: bankfold exec --gpu h200 micro. wgmma.h is written by gpu/hopper_times.py.
// Build: nvcc -gencode arch=compute_90a,code=[sm_90a,compute_90a] -Itests/programs -IFOLDER_OF_WGMMA_H
#include "hopper.h"

#include "wgmma.h"

enum { MOST_BYTES = 160 * 1024, REGION = 1 << 18, REGIONS = 2048 };

/* ---- Copies of one block ---- */

static __device__ void one_copy(bool is_tensor, bool is_store, uint8_t *room, uint8_t *at, const CUtensorMap *map, int index,
                                unsigned rows, unsigned bytes, uint64_t *barrier) {
  if (is_tensor && is_store)
    tensor_store_2d(map, 0, index * rows, room);
  else if (is_tensor)
    tensor_load_2d(room, map, 0, index * rows, barrier);
  else if (is_store)
    bulk_store(at + index * bytes, room, bytes);
  else
    bulk_load(room, at + index * bytes, bytes, barrier);
}

/* One thread makes `copies` copies of different data and waits for all; twice. */
__global__ void copies(const __grid_constant__ CUtensorMap map, uint8_t *at, unsigned bytes, unsigned rows, int count, bool is_tensor,
                       bool is_store, times *to) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ uint64_t barrier;
  uint8_t *room = (uint8_t *)(((uintptr_t)memory + 1023) & ~(uintptr_t)1023);
  if (threadIdx.x)
    return;
  barrier_init(&barrier, 1);
  barrier_fence();
  async_fence();
  unsigned long long took[2];
  for (int pass = 0; pass < 2; pass++) {
    unsigned long long begin = clock64();
    if (!is_store)
      barrier_expect(&barrier, bytes * count);
    for (int i = 0; i < count; i++)
      one_copy(is_tensor, is_store, room, at, &map, i, rows, bytes, &barrier);
    if (is_store) {
      bulk_commit();
      bulk_wait<0>();
    } else
      barrier_wait(&barrier, pass);
    took[pass] = clock64() - begin;
  }
  *to = times{took[0], took[1], 1};
}

/* ---- Copies of many blocks ---- */

enum { STAGES = 4, STAGE_BYTES = 8192, STEPS = 32 };

/* Each block loads STEPS pieces in a ring; of a cluster with multicast each block loads its share for all. */
__global__ void stream(const uint8_t *from, unsigned ranks, bool is_cast, times *to) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ uint64_t full[STAGES];
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++)
      barrier_init(&full[i], 1);
    barrier_fence();
  }
  __syncthreads();
  unsigned long long took[2];
  const uint8_t *own = from + (size_t)(is_cast ? blockIdx.x / ranks : blockIdx.x) * STEPS * STAGE_BYTES;
  for (int pass = 0; pass < 2; pass++) {
    if (ranks > 1)
      asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    __syncthreads();
    unsigned long long begin = clock64();
    for (int i = 0; i < STEPS + STAGES; i++) {
      int at = pass * STEPS + i, stage = i % STAGES;
      if (i >= STAGES)
        barrier_wait(&full[stage], (at / STAGES - 1) & 1);
      if (is_cast)
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
      if (i >= STEPS || threadIdx.x)
        continue;
      barrier_expect(&full[stage], STAGE_BYTES);
      if (!is_cast)
        bulk_load(memory + stage * STAGE_BYTES, own + i * STAGE_BYTES, STAGE_BYTES, &full[stage]);
      else {
        unsigned share = STAGE_BYTES / ranks;
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                         shared_address(memory) + stage * STAGE_BYTES + rank * share),
                     "l"(own + i * STAGE_BYTES + rank * share), "r"(share), "r"(shared_address(&full[stage])),
                     "h"((uint16_t)((1 << ranks) - 1))
                     : "memory");
      }
    }
    took[pass] = clock64() - begin;
  }
  if (threadIdx.x == 0) {
    atomicMax(&to->first, took[0]);
    atomicMax(&to->again, took[1]);
    atomicAdd(&to->count, 1ull);
  }
}

/* The same bytes by loads of 16 bytes of all threads. */
__global__ void plain(const uint4 *from, unsigned *sink, times *to) {
  const uint4 *own = from + (size_t)blockIdx.x * STEPS * STAGE_BYTES / 16;
  unsigned sum = 0;
  unsigned long long took[2];
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    unsigned long long begin = clock64();
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < STEPS * STAGE_BYTES / 16; i += blockDim.x) {
      uint4 value = __ldcg(&own[i]);
      sum += value.x ^ value.y ^ value.z ^ value.w;
    }
    __syncthreads();
    took[pass] = clock64() - begin;
  }
  if (sum == 12345)
    *sink = sum;
  if (threadIdx.x == 0) {
    atomicMax(&to->first, took[0]);
    atomicMax(&to->again, took[1]);
    atomicAdd(&to->count, 1ull);
  }
}

/* ---- mbarriers ---- */

enum { TURNS = 64 };

/* Kind 0: arrivals of one thread; 1: waits for what has come; 2: two warps in turn by mbarriers; 3: by named barriers;
 * 4: arrival of 128 threads and wait. */
__global__ void barriers(int kind, times *to) {
  __shared__ uint64_t barrier[2];
  if (threadIdx.x == 0) {
    barrier_init(&barrier[0], kind == 0 ? 1000 : kind == 4 ? 128 : 1);
    barrier_init(&barrier[1], 1);
    barrier_fence();
  }
  __syncthreads();
  if (kind == 1 && threadIdx.x == 0)
    barrier_arrive(&barrier[0]);
  __syncthreads();
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned long long begin = clock64();
  if (kind == 0 && threadIdx.x == 0)
    for (int i = 0; i < TURNS; i++)
      barrier_arrive(&barrier[0]);
  if (kind == 1 && warp == 0)
    for (int i = 0; i < TURNS; i++)
      barrier_wait(&barrier[0], 0);
  if (kind == 2 && warp < 2 && lane == 0)
    for (int i = 0; i < TURNS; i++) {
      if (warp == 0)
        barrier_arrive(&barrier[0]);
      barrier_wait(&barrier[warp ? 0 : 1], i & 1);
      if (warp == 1)
        barrier_arrive(&barrier[1]);
    }
  if (kind == 3 && warp < 2)
    for (int i = 0; i < TURNS; i++) {
      if (warp == 0)
        asm volatile("bar.arrive 1, 64;\nbar.sync 2, 64;" ::: "memory");
      else
        asm volatile("bar.sync 1, 64;\nbar.arrive 2, 64;" ::: "memory");
    }
  if (kind == 4)
    for (int i = 0; i < TURNS; i++) {
      barrier_arrive(&barrier[0]);
      barrier_wait(&barrier[0], i & 1);
    }
  unsigned long long end = clock64();
  if (threadIdx.x == 0)
    *to = times{end - begin, end - begin, 1};
}

/* ---- Clusters ---- */

/* Kind 0: barriers of the cluster; 1: chain of loads from the last block; 2: chain of atomics there; 3: two blocks in turn
 * by remote arrivals; 4: chain of loads from the own block by addresses of the cluster. */
__global__ void clusters(int kind, unsigned ranks, times *to) {
  __shared__ uint32_t words[256];
  __shared__ uint64_t barrier;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    words[i] = 0;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  uint32_t far, far_barrier, value = 0, other = kind == 4 ? 0 : ranks - 1;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(shared_address(&words[threadIdx.x % 32])), "r"(other));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far_barrier) : "r"(shared_address(&barrier)), "r"(ranks - 1 - rank));
  unsigned long long begin = clock64();
  if (kind == 0)
    for (int i = 0; i < TURNS; i++)
      asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if ((kind == 1 || kind == 4) && rank == 0 && threadIdx.x < 32)
    for (int i = 0; i < TURNS; i++)
      asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(far + value) : "memory");
  if (kind == 2 && rank == 0 && threadIdx.x < 32)
    for (int i = 0; i < TURNS; i++)
      asm volatile("atom.shared::cluster.or.b32 %0, [%1], 0;" : "=r"(value) : "r"(far + value) : "memory");
  if (kind == 3 && (rank == 0 || rank == ranks - 1) && threadIdx.x == 0)
    for (int i = 0; i < TURNS; i++) {
      if (rank == 0)
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(far_barrier) : "memory");
      barrier_wait(&barrier, i & 1);
      if (rank)
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(far_barrier) : "memory");
    }
  unsigned long long end = clock64() + (value == 12345);
  if (threadIdx.x == 0 && blockIdx.x == 0)
    *to = times{end - begin, end - begin, 1};
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* ---- Instructions that order others ---- */

__global__ void orders(int kind, times *to) {
  __shared__ uint32_t word;
  word = threadIdx.x;
  __syncthreads();
  unsigned long long begin = clock64();
#pragma unroll
  for (int i = 0; i < 16; i++) {
    if (kind == 0)
      async_fence();
    if (kind == 1)
      wgmma_fence();
    if (kind == 2)
      barrier_fence();
    if (kind == 3)
      wgmma_commit();
    if (kind == 4)
      wgmma_wait<0>();
    if (kind == 5) {
      word = i;
      async_fence();
    }
  }
  unsigned long long end = clock64();
  if (threadIdx.x == 0)
    *to = times{end - begin, end - begin, 1};
}

/* ---- The host ---- */

static times *at_times;
static uint8_t *data;
static unsigned region;

static times take() {
  CHECK(cudaDeviceSynchronize());
  times found;
  CHECK(cudaMemcpy(&found, at_times, sizeof found, cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(at_times, 0, sizeof found));
  if (!found.count || !found.again) {
    printf("nothing was measured\n");
    exit(1);
  }
  return found;
}

static void show(const char *name, unsigned a, unsigned b, unsigned c) {
  times found = take();
  printf("%s,%u,%u,%u,%llu,%llu\n", name, a, b, c, found.again, found.first);
}

/* Memory that was not used before. */
static uint8_t *fresh(unsigned bytes) {
  unsigned own = region;
  region += (bytes + REGION - 1) / REGION;
  if (region > REGIONS) {
    printf("no memory left\n");
    exit(1);
  }
  return data + (size_t)own * REGION;
}

static void run_copies(bool is_tensor, bool is_store, unsigned row_bytes, unsigned rows, int count) {
  static const char *const names[] = {"bulk_load", "bulk_store", "tensor_load", "tensor_store"};
  unsigned bytes = row_bytes * rows;
  uint8_t *at = fresh(bytes * count * (is_tensor ? 512 / row_bytes : 1));
  CUtensorMap map = {};
  if (is_tensor)
    map = map_2d(CU_TENSOR_MAP_DATA_TYPE_UINT8, at, row_bytes, 4096, 512, row_bytes, rows, CU_TENSOR_MAP_SWIZZLE_NONE);
  copies<<<1, 32, MOST_BYTES>>>(map, at, bytes, rows, count, is_tensor, is_store, at_times);
  show(names[2 * is_tensor + is_store], row_bytes, rows, count);
}

static void run_stream(unsigned blocks, unsigned ranks, bool is_cast) {
  const uint8_t *from = fresh(blocks * STEPS * STAGE_BYTES);
  cudaLaunchConfig_t how = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = ranks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  how.gridDim = dim3(blocks);
  how.blockDim = dim3(128);
  how.dynamicSmemBytes = MOST_BYTES;
  how.attrs = &attribute;
  how.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&how, stream, from, ranks, is_cast, at_times));
  show(is_cast ? "stream_cast" : "stream", blocks, ranks, STEPS * STAGE_BYTES);
}

static void run_clusters(int kind, unsigned ranks, unsigned threads) {
  static const char *const names[] = {"cluster_barrier", "remote_load", "remote_atomic", "remote_turns", "near_load"};
  cudaLaunchConfig_t how = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = ranks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  how.gridDim = dim3(ranks);
  how.blockDim = dim3(threads);
  how.attrs = &attribute;
  how.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&how, clusters, kind, ranks, at_times));
  show(names[kind], ranks, threads, TURNS);
}

/* How many clusters of blocks that fill a multiprocessor fit on the GPU. */
static void count_clusters(unsigned ranks) {
  cudaLaunchConfig_t how = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = ranks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  how.gridDim = dim3(16 * 132);
  how.blockDim = dim3(128);
  how.dynamicSmemBytes = MOST_BYTES;
  how.attrs = &attribute;
  how.numAttrs = 1;
  int fit = 0;
  CHECK(cudaFuncSetAttribute(stream, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaOccupancyMaxActiveClusters(&fit, stream, &how));
  printf("clusters_at_once,%u,0,0,%d,%d\n", ranks, fit, fit);
}

int main(int arguments, char **argument) {
  bool is_short = arguments > 1 && argument[1][0] == 's';
  CHECK(cudaMalloc(&data, (size_t)REGION * REGIONS));
  CHECK(cudaMemset(data, 0, (size_t)REGION * REGIONS));
  CHECK(cudaMalloc(&at_times, sizeof *at_times));
  CHECK(cudaMemset(at_times, 0, sizeof *at_times));
  CHECK(cudaFuncSetAttribute(copies, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_BYTES));
  CHECK(cudaFuncSetAttribute(stream, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_BYTES));
  printf("name,a,b,c,cycles,first\n");
  for (int is_store = 0; is_store < 2; is_store++) {
    for (unsigned bytes : {16u, 128u, 1024u, 2048u, 8192u, 16384u})
      for (int count : {1, 2, 4, 16, 32})
        if (bytes * count <= 262144)
          run_copies(false, is_store, bytes, 1, count);
    for (unsigned row : {16u, 32u, 64u, 128u, 256u})
      for (unsigned rows : {1u, 8u, 64u, 128u})
        for (int count : {1, 2, 4, 16})
          if (row * rows * count <= 131072)
            run_copies(true, is_store, row, rows, count);
  }
  for (int kind = 0; kind < 5; kind++) {
    barriers<<<1, 128>>>(kind, at_times);
    show("barriers", kind, 0, TURNS);
  }
  for (int kind = 0; kind < 6; kind++) {
    orders<<<1, 128>>>(kind, at_times);
    show("orders", kind, 0, 16);
  }
  for (unsigned ranks : {2u, 4u, 8u}) {
    for (unsigned threads : {32u, 128u, 384u})
      run_clusters(0, ranks, threads);
    for (int kind = 1; kind < 5; kind++)
      run_clusters(kind, ranks, 128);
  }
  if (!is_short) {
    for (unsigned ranks : {1u, 2u, 4u, 8u, 16u})
      count_clusters(ranks);
    for (unsigned blocks : {1u, 16u, 66u, 132u}) {
      run_stream(blocks, 1, false);
      plain<<<blocks, 256>>>((const uint4 *)fresh(blocks * STEPS * STAGE_BYTES), (unsigned *)data, at_times);
      show("plain", blocks, 1, STEPS * STAGE_BYTES);
    }
    for (unsigned ranks : {2u, 4u})
      for (unsigned blocks : {ranks, 128u})
        for (int is_cast = 0; is_cast < 2; is_cast++)
          run_stream(blocks, ranks, is_cast);
  }
  run_wgmma([](const char *name, unsigned n, unsigned count, unsigned groups) { show(name, n, count, groups); }, at_times);
  return 0;
}
