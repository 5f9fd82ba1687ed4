// A product of matrices whose tiles are brought and read by the code that `bankfold layout --emit` writes: a.h and b.h hold tma, ptx
// and cuda code of A and B - without tma where FILLED_BY_THREADS is defined, which store by tile_offset -, case.h the constants M, N, K, a_turned and b_turned (the tile's rows are along K), a_bytes, b_bytes and the type. Also compares where copies put every element with tile_offset. Prints "right", or what is not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include "case.h"
namespace a {
#include "a.h"
}
namespace b {
#include "b.h"
}

constexpr int sums = N / 2;

__device__ void wait(uint32_t barrier) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(barrier)
               : "memory");
}

// D (M x N) = A B; misplaced counts elements that do not lie where tile_offset says.
__global__ void __launch_bounds__(128) product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                                               const element *from_a, const element *from_b, float *to, unsigned *misplaced) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) uint64_t barrier;
  uint32_t at = (uint32_t)__cvta_generic_to_shared(&barrier), tile_a = (uint32_t)__cvta_generic_to_shared(memory);
  uint32_t tile_b = tile_a + (a_bytes + 1023) / 1024 * 1024;
#ifdef FILLED_BY_THREADS
  for (unsigned i = threadIdx.x; i < M * K; i += blockDim.x)
    *(element *)(memory + a::tile_offset(i / (a_turned ? M : K), i % (a_turned ? M : K))) = from_a[i];
  for (unsigned i = threadIdx.x; i < N * K; i += blockDim.x)
    *(element *)(memory + (tile_b - tile_a) + b::tile_offset(i / (b_turned ? N : K), i % (b_turned ? N : K))) = from_b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
#else
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(at), "r"(a_bytes + b_bytes));
    a::copy_tile(&map_a, tile_a, 0, 0, at);
    b::copy_tile(&map_b, tile_b, 0, 0, at);
  }
  __syncthreads();
  wait(at);
#endif
  for (unsigned i = threadIdx.x; i < M * K; i += blockDim.x) {
    unsigned columns = a_turned ? M : K, row = i / columns, column = i % columns;
    element found = *(element *)(memory + a::tile_offset(row, column));
    if ((float)found != (float)from_a[i])
      atomicAdd(misplaced, 1);
  }
  for (unsigned i = threadIdx.x; i < N * K; i += blockDim.x) {
    unsigned columns = b_turned ? N : K, row = i / columns, column = i % columns;
    element found = *(element *)(memory + (tile_b - tile_a) + b::tile_offset(row, column));
    if ((float)found != (float)from_b[i])
      atomicAdd(misplaced, 1);
  }
  for (int block = 0; block < M / 64; block++) {
    float d[sums] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < K / (32 / (int)sizeof(element)); step++) {
      uint64_t left = a::tile_descriptor_a(tile_a, block, step), right = b::tile_descriptor_b(tile_b, 0, step);
#include "wgmma.h"
    }
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < sums; i++)
      to[(64 * block + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
  }
}

int main() {
  element *from_a, *from_b;
  float *to;
  unsigned *misplaced;
  cudaMallocManaged(&from_a, sizeof(element) * M * K);
  cudaMallocManaged(&from_b, sizeof(element) * N * K);
  cudaMallocManaged(&to, sizeof(float) * M * N);
  cudaMallocManaged(&misplaced, sizeof(unsigned));
  for (int i = 0; i < M * K; i++)
    from_a[i] = (element)(float)((i * 7 + i / 13) % 9 - 4);
  for (int i = 0; i < N * K; i++)
    from_b[i] = (element)(float)((i * 5 + i / 11) % 7 - 3);
  *misplaced = 0;
  CUtensorMap map_a, map_b;
  int rows_a = a_turned ? K : M, columns_a = a_turned ? M : K, rows_b = b_turned ? K : N, columns_b = b_turned ? N : K;
  int error = 0;
#ifndef FILLED_BY_THREADS
  error = a::make_tile_map(&map_a, from_a, rows_a, columns_a, columns_a * sizeof(element));
  error = error ? error : b::make_tile_map(&map_b, from_b, rows_b, columns_b, columns_b * sizeof(element));
#endif
  int bytes = (a_bytes + 1023) / 1024 * 1024 + b_bytes + 1024;
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  product<<<1, 128, bytes>>>(map_a, map_b, from_a, from_b, to, misplaced);
  cudaError_t ran = cudaDeviceSynchronize();
  if (error || ran != cudaSuccess) {
    printf("map: %d, launch: %s\n", error, cudaGetErrorString(ran));
    return 1;
  }
  int wrong = 0;
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      float sum = 0;
      for (int k = 0; k < K; k++)
        sum += (float)from_a[a_turned ? k * M + m : m * K + k] * (float)from_b[b_turned ? k * N + n : n * K + k];
      wrong += sum != to[m * N + n];
    }
  if (wrong || *misplaced)
    printf("%d wrong sums, %u misplaced elements\n", wrong, *misplaced);
  else
    puts("right");
  return wrong || *misplaced;
}
