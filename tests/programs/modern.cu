// Newer parts of CUDA C++: asynchronous copies, barriers and pipelines as objects, atomics of
// libcu++, reductions of CUB, random numbers, inline assembly.
// flags: -std=c++17
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <curand_kernel.h>

namespace cg = cooperative_groups;

__global__ void copy_async(const int *in, int *out) {
  extern __shared__ int part[];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, part, in + blockIdx.x * 256, sizeof(int) * 256);
  cg::wait(block);
  out[blockIdx.x * 256 + threadIdx.x] = part[255 - threadIdx.x];
}

__global__ void meet(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int part[128];
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  part[threadIdx.x] = threadIdx.x * 3;
  barrier.arrive_and_wait();
  out[threadIdx.x] = part[127 - threadIdx.x];
}

__global__ void stages(const int *in, int *out) {
  __shared__ int part[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  cg::thread_block block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  for (int i = 0; i < 4; i++) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, part[i & 1], in + i * 64, 256, pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    out[i * 64 + threadIdx.x] = part[i & 1][threadIdx.x] + 1;
    pipeline.consumer_release();
  }
}

__global__ void sums(const int *in, int *out) {
  typedef cub::BlockReduce<int, 128> Reduce;
  typedef cub::BlockScan<int, 128> Scan;
  __shared__ union {
    Reduce::TempStorage reduce;
    Scan::TempStorage scan;
  } storage;
  int value = in[threadIdx.x], before;
  int sum = Reduce(storage.reduce).Sum(value);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(value, before);
  out[threadIdx.x] = before;
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(out[128]);
    total.fetch_add(sum, cuda::memory_order_relaxed);
  }
}

__global__ void random_numbers(float *out) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, threadIdx.x, 0, &state);
  float sum = 0;
  for (int i = 0; i < 25; i++) {
    float4 four = curand_uniform4(&state);
    sum += four.x + four.y + four.z + four.w;
  }
  out[threadIdx.x] = sum / 100;
}

__global__ void assembly(unsigned *out) {
  unsigned lane, sum;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{ .reg .pred p; setp.lt.u32 p, %1, 16; selp.u32 %0, 100, 200, p; }" : "=r"(sum) : "r"(lane));
  asm volatile("mad.lo.u32 %0, %1, 3, %0;" : "+r"(sum) : "r"(lane));
  out[threadIdx.x] = sum;
}

int main() {
  const int n = 1024;
  static int host[n], got[n];
  int *in, *out, wrong = 0;
  for (int i = 0; i < n; i++)
    host[i] = i * 7 % 13;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  copy_async<<<4, 256, 1024>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    wrong += got[i] != host[i / 256 * 256 + 255 - i % 256];
  printf("asynchronous copy: %d wrong\n", wrong);

  meet<<<1, 128>>>(out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 128; i++)
    wrong += got[i] != 3 * (127 - i);
  printf("barrier: %d wrong\n", wrong);

  stages<<<1, 64>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 256; i++)
    wrong += got[i] != host[i] + 1;
  printf("pipeline: %d wrong\n", wrong);

  CHECK(cudaMemset(out, 0, sizeof host));
  sums<<<1, 128>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  int sum = 0;
  for (int i = 0; i < 128; i++) {
    wrong += got[i] != sum;
    sum += host[i];
  }
  printf("CUB: %d wrong, total %s\n", wrong, got[128] == sum ? "right" : "wrong");

  random_numbers<<<1, 64>>>((float *)out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 64; i++)
    wrong += !(((float *)got)[i] > 0.35f && ((float *)got)[i] < 0.65f);
  printf("random numbers: %d far from their mean\n", wrong);

  assembly<<<1, 32>>>((unsigned *)out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 32; i++)
    wrong += got[i] != (i < 16 ? 100 : 200) + 3 * i;
  printf("assembly: %d wrong\n", wrong);
  return 0;
}
