// A grouped product as CUTLASS does it: each block goes over the tiles of all groups, whose matrices have sizes and addresses
// of their own, and makes the tensor maps of a group from those of the first: copied to shared memory, changed field by field
// by tensormap.replace, copied to global memory with a fence, and acquired before the next tensor copy. Sums are exact.
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper_tile.h"

#include <cuda_fp16.h>
#include <vector>

enum { GROUPS = 5, BLOCKS = 3 };

/* c = a b^T of m x n x k. */
struct group {
  const __half *a, *b;
  float *c;
  int m, n, k;
};

/* Changes the map in shared memory to rows of k halves; one thread. */
static __device__ __forceinline__ void change_map(CUtensorMap *map, const __half *data, int rows, int k) {
  uint32_t at = shared_address(map);
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(data) : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(k) : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows) : "memory");
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at), "l"((uint64_t)k * 2)
               : "memory");
}

/* Hands the changed map to the copies of this block; a warp. */
static __device__ __forceinline__ void publish_map(CUtensorMap *to, const CUtensorMap *from) {
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(shared_address(from))
               : "memory");
}

static __device__ __forceinline__ void acquire_map(const CUtensorMap *map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

static __device__ __forceinline__ void store_sums(const float (&d)[32], const group &g, int m, int n) {
  for (int j = 0; j < 8; j++)
    for (int h = 0; h < 2; h++)
      for (int i = 0; i < 2; i++) {
        int row = m + first_row() + 8 * h, column = n + 8 * j + threadIdx.x % 4 * 2 + i;
        if (row < g.m && column < g.n)
          g.c[row * g.n + column] = d[4 * j + 2 * h + i];
      }
}

static __global__ void __launch_bounds__(128)
    grouped(const group *groups, const __grid_constant__ CUtensorMap like, CUtensorMap *maps) {
  extern __shared__ uint8_t memory[];
  __shared__ __align__(128) CUtensorMap own[2];
  __shared__ uint64_t full;
  uint8_t *a = aligned_room(memory), *b = a + TILE_BYTES;
  CUtensorMap *map = maps + 2 * blockIdx.x;
  unsigned parity = 0, tile = 0;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_fence();
  }
  for (int at = 0; at < GROUPS; at++) {
    group g = groups[at];
    if (threadIdx.x < 32) {
      for (int i = threadIdx.x; i < 64; i += 32)
        ((uint32_t *)own)[i] = ((const uint32_t *)&like)[i % 32];
      __syncwarp();
      if (threadIdx.x == 0) {
        change_map(&own[0], g.a, g.m, g.k);
        change_map(&own[1], g.b, g.n, g.k);
      }
      __syncwarp();
      publish_map(&map[0], &own[0]);
      publish_map(&map[1], &own[1]);
    }
    __syncthreads();
    acquire_map(&map[0]);
    acquire_map(&map[1]);
    int down = (g.m + TILE - 1) / TILE, across = (g.n + TILE - 1) / TILE;
    for (int i = 0; i < down * across; i++) {
      if (tile++ % gridDim.x != blockIdx.x)
        continue;
      int m = i / across * TILE, n = i % across * TILE;
      float d[32];
      for (int k = 0; k < g.k; k += 64) {
        if (threadIdx.x == 0) {
          barrier_expect(&full, 2 * TILE_BYTES);
          tensor_load_2d(a, &map[0], k, m, &full);
          tensor_load_2d(b, &map[1], k, n, &full);
        }
        barrier_wait(&full, parity);
        parity ^= 1;
        wgmma_fence();
        multiply_tiles(d, a, b, k > 0);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
      }
      store_sums(d, g, m, n);
    }
    __syncthreads(); /* copies by the maps are over before the next group changes them */
  }
}

int main() {
  static const int size[GROUPS][3] = {{64, 64, 64}, {200, 72, 136}, {40, 320, 256}, {128, 64, 8}, {1, 1, 512}};
  std::vector<group> groups(GROUPS);
  std::vector<std::vector<__half>> a(GROUPS), b(GROUPS);
  unsigned state = 3;
  for (int i = 0; i < GROUPS; i++) {
    group &g = groups[i];
    g.m = size[i][0], g.n = size[i][1], g.k = size[i][2];
    a[i].resize(g.m * g.k);
    b[i].resize(g.n * g.k);
    for (__half &value : a[i])
      value = __half((float)(next_random(&state) % 9) - 4);
    for (__half &value : b[i])
      value = __half((float)(next_random(&state) % 9) - 4);
    g.a = to_device(a[i].data(), a[i].size());
    g.b = to_device(b[i].data(), b[i].size());
    CHECK(cudaMalloc(&g.c, g.m * g.n * sizeof(float)));
    CHECK(cudaMemset(g.c, 0xff, g.m * g.n * sizeof(float)));
  }
  CUtensorMap *maps;
  CHECK(cudaMalloc(&maps, 2 * BLOCKS * sizeof *maps));
  alignas(64) static CUtensorMap like;
  like = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, (void *)groups[0].a, 64, 64, 128, 64, 64, CU_TENSOR_MAP_SWIZZLE_128B);
  const int bytes = 2 * TILE_BYTES + 1024;
  CHECK(cudaFuncSetAttribute(grouped, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  grouped<<<BLOCKS, 128, bytes>>>(to_device(groups.data(), GROUPS), like, maps);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < GROUPS; i++) {
    const group &g = groups[i];
    std::vector<float> c(g.m * g.n);
    CHECK(cudaMemcpy(c.data(), g.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int y = 0; y < g.m; y++)
      for (int x = 0; x < g.n; x++) {
        float sum = 0;
        for (int k = 0; k < g.k; k++)
          sum += (float)a[i][y * g.k + k] * (float)b[i][x * g.k + k];
        wrong += c[y * g.n + x] != sum;
      }
    printf("%d x %d x %d: %d wrong, %08x\n", g.m, g.n, g.k, wrong, digest(c.data(), c.size() * sizeof(float)));
  }
  return 0;
}
