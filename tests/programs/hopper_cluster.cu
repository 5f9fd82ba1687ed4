// Clusters: their registers, shared memory of other blocks by loads, stores and atomics, generic and not; their barrier;
// remote mbarriers, st.async, red.async, copies between blocks, multicast; launches by attribute and by the kernel itself.
// exec: --workers 2
// says: ring: 9x1x1 blocks in clusters of .*: the grid is no multiple of the cluster
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static __device__ uint32_t map_address(uint32_t address, unsigned rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

static __device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* What the registers say, for every block. */
__global__ void registers(uint32_t *to) {
  uint32_t r[16];
  asm volatile("mov.u32 %0, %%clusterid.x;\nmov.u32 %1, %%clusterid.y;\nmov.u32 %2, %%nclusterid.x;\nmov.u32 %3, %%nclusterid.y;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
  asm volatile("mov.u32 %0, %%cluster_ctaid.x;\nmov.u32 %1, %%cluster_ctaid.y;\nmov.u32 %2, %%cluster_nctaid.x;\nmov.u32 %3, %%cluster_nctaid.y;"
               : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]));
  asm volatile("mov.u32 %0, %%cluster_ctarank;\nmov.u32 %1, %%cluster_nctarank;" : "=r"(r[8]), "=r"(r[9]));
  asm volatile("{\n.reg .pred p;\nmov.pred p, %%is_explicit_cluster;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(r[10]));
  __shared__ int here;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r[11]) : "r"(map_address(shared_address(&here), r[9] - 1)));
  asm volatile("getctarank.u64 %0, %1;" : "=r"(r[12]) : "l"(&here));
  r[13] = blockIdx.x;
  r[14] = blockIdx.y;
  r[15] = 0;
  uint32_t *own = to + 16 * (blockIdx.x + gridDim.x * blockIdx.y);
  if (threadIdx.x == 0)
    for (int i = 0; i < 16; i++)
      own[i] = r[i];
}

/* A histogram whose bins are spread over the blocks of a cluster of four. */
__global__ void __cluster_dims__(4, 1, 1) histogram(const uint32_t *data, int count, uint32_t *bins) {
  __shared__ uint32_t own[64];
  cg::cluster_group cluster = cg::this_cluster();
  own[threadIdx.x % 64] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned bin = data[i] % 256;
    atomicAdd(cluster.map_shared_rank(&own[bin % 64], bin / 64), 1u);
  }
  cluster.sync();
  if (threadIdx.x < 64)
    atomicAdd(&bins[cluster.block_rank() * 64 + threadIdx.x], own[threadIdx.x]);
}

/* A ring: each block writes to its neighbour in five ways, and reads from the other one. */
__global__ void __cluster_dims__(4, 1, 1) ring(uint32_t *to, const uint32_t *from) {
  __shared__ alignas(128) uint32_t in[8][64], source[64], cast[2][64];
  __shared__ uint64_t barrier[4];
  unsigned rank, next, before;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  next = (rank + 1) % 4;
  before = (rank + 3) % 4;
  unsigned t = threadIdx.x;
  source[t] = 1000 * blockIdx.x + t;
  for (int i = 0; i < 8; i++)
    in[i][t] = 7;
  if (t == 0) {
    barrier_init(&barrier[0], 1);  /* bytes from st.async and red.async */
    barrier_init(&barrier[1], 64); /* remote arrivals */
    barrier_init(&barrier[2], 1);  /* a copy */
    barrier_init(&barrier[3], 1);  /* multicast */
    barrier_fence();
  }
  async_fence();
  __syncthreads();
  if (t == 0) {
    barrier_expect(&barrier[0], 64 * 4 + 64 * 4 + 16 * 16);
    barrier_expect(&barrier[2], 256);
    barrier_expect(&barrier[3], 512);
  }
  cluster_sync();
  /* st.shared::cluster, by address of the space and generic */
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(map_address(shared_address(&in[0][t]), next)), "r"(rank * 100 + t) : "memory");
  *cg::this_cluster().map_shared_rank(&in[1][t], next) = rank * 200 + t;
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(map_address(shared_address(&in[2][t % 8]), next)), "r"(t) : "memory");
  /* st.async, red.async, vectors */
  uint32_t signal = map_address(shared_address(&barrier[0]), next);
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(map_address(shared_address(&in[3][t]), next)),
               "r"(rank * 300 + t), "r"(signal)
               : "memory");
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                   map_address(shared_address(&in[4][t % 4]), next)),
               "r"(t + 1), "r"(signal)
               : "memory");
  if (t < 16)
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     map_address(shared_address(&in[5][4 * t]), next)),
                 "r"(t), "r"(rank), "r"(t + 2), "r"(t + 3), "r"(signal)
                 : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map_address(shared_address(&barrier[1]), next)) : "memory");
  if (t == 0) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                     map_address(shared_address(in[6]), next)),
                 "r"(shared_address(source)), "r"(map_address(shared_address(&barrier[2]), next))
                 : "memory");
    if (rank < 2)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(
                       shared_address(cast[rank])),
                   "l"(from + 64 * rank), "r"(shared_address(&barrier[3])), "h"((uint16_t)15)
                   : "memory");
  }
  for (int i = 0; i < 4; i++)
    barrier_wait(&barrier[i], 0);
  uint32_t remote;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(remote) : "r"(map_address(shared_address(&source[t]), before)));
  in[7][t] = remote;
  cluster_sync();
  for (int i = 0; i < 8; i++)
    to[(blockIdx.x * 10 + i) * 64 + t] = in[i][t];
  for (int i = 0; i < 2; i++)
    to[(blockIdx.x * 10 + 8 + i) * 64 + t] = cast[i][t];
}

template <typename... P, typename... A>
static cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, dim3 cluster, A... arguments) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

int main() {
  uint32_t *device, *source;
  static uint32_t host[16384 * SCALE];
  CHECK(cudaMalloc(&device, sizeof host));
  CHECK(cudaMalloc(&source, sizeof host));
  CHECK(launch(registers, dim3(4, 4), dim3(32), dim3(2, 4), device));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; i++) {
    for (int k = 0; k < 15; k++)
      printf("%u ", host[16 * i + k]);
    printf("\n");
  }
  registers<<<2, 32>>>(device);
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int k = 0; k < 15; k++)
    printf("%u ", host[16 + k]);
  printf("without clusters\n");
  printf("5 blocks in clusters of 2: %s\n", cudaGetErrorName(launch(registers, dim3(5), dim3(32), dim3(2), device)));
  printf("clusters of 16: %s\n", cudaGetErrorName(launch(registers, dim3(16), dim3(32), dim3(16), device)));
  printf("another size than the kernel has: %s\n",
         cudaGetErrorName(launch(ring, dim3(8), dim3(64), dim3(2), device, (const uint32_t *)source)));
  cudaGetLastError();
  CHECK(cudaFuncSetAttribute(registers, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  printf("clusters of 16, allowed: %s\n", cudaGetErrorName(launch(registers, dim3(16), dim3(32), dim3(16), device)));
  CHECK(cudaDeviceSynchronize());

  unsigned state = 3;
  for (auto &word : host)
    word = next_random(&state);
  CHECK(cudaMemcpy(source, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(device, 0, 1024));
  histogram<<<8 * SCALE, 128>>>(source, 16384 * SCALE, device);
  CHECK(cudaDeviceSynchronize());
  uint32_t bins[256], wrong = 0;
  CHECK(cudaMemcpy(bins, device, sizeof bins, cudaMemcpyDeviceToHost));
  for (auto word : host)
    bins[word % 256]--;
  for (auto left : bins)
    wrong += left != 0;
  printf("histogram: %u wrong bins\n", wrong);

  ring<<<8, 64>>>(device, source);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 10; i++)
    printf("ring %d: %08x, %u %u\n", i, digest(host + 64 * i, 256), host[64 * i], host[64 * i + 640 + 1]);
  printf("all: %08x\n", digest(host, 8 * 640 * 4));
  ring<<<9, 64>>>(device, source); /* refused */
  cudaGetLastError();
  return 0;
}
