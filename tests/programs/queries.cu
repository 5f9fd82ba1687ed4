// Questions about the device, functions and occupancy.
#include "check.h"

__global__ void kernel(float *out) {
  __shared__ float part[256];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = part[255 - threadIdx.x];
}

__global__ void __launch_bounds__(128) small(int *out, double x, char c) {
  out[threadIdx.x] = (int)x + c;
}

int main() {
  int count, device = 7, runtime, driver;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaGetDevice(&device));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  printf("%d device, current %d, versions %s\n", count, device, driver >= runtime ? "fit" : "differ");
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  printf("compute capability %d.%d, %d multiprocessors, warps of %d\n", prop.major, prop.minor,
         prop.multiProcessorCount, prop.warpSize);
  printf("threads %d, %dx%dx%d, grid %dx%dx%d\n", prop.maxThreadsPerBlock, prop.maxThreadsDim[0],
         prop.maxThreadsDim[1], prop.maxThreadsDim[2], prop.maxGridSize[0], prop.maxGridSize[1],
         prop.maxGridSize[2]);
  printf("shared %zu, opt in %zu, per multiprocessor %zu\n", prop.sharedMemPerBlock,
         prop.sharedMemPerBlockOptin, prop.sharedMemPerMultiprocessor);
  int same[] = {cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                cudaDevAttrComputeCapabilityMajor, cudaDevAttrMaxThreadsPerMultiProcessor};
  int expected[] = {prop.multiProcessorCount, (int)prop.sharedMemPerBlockOptin, prop.major,
                    prop.maxThreadsPerMultiProcessor};
  for (int i = 0; i < 4; i++) {
    int value;
    CHECK(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)same[i], 0));
    printf("attribute %d %s\n", same[i], value == expected[i] ? "agrees" : "differs");
  }
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  printf("kernel: %zu bytes shared, %d threads\n", attributes.sharedSizeBytes,
         attributes.maxThreadsPerBlock);
  CHECK(cudaFuncGetAttributes(&attributes, small));
  printf("small: %zu bytes shared, %d threads, PTX for %d\n", attributes.sharedSizeBytes,
         attributes.maxThreadsPerBlock, attributes.ptxVersion);
  size_t offset, bytes;
  for (int i = 0; i < 3; i++) {
    CHECK(cudaFuncGetParamInfo((const void *)small, i, &offset, &bytes));
    printf("parameter %d: %zu bytes at %zu\n", i, bytes, offset);
  }
  int blocks, least, best, clusters;
  CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
  printf("clusters: %d\n", clusters);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
  printf("blocks of 256: %d\n", blocks);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 100 << 10));
  printf("blocks with 100 KB more: %d\n", blocks);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &best, small, 0, 0));
  printf("best block: %d threads\n", best);
  size_t available, total;
  CHECK(cudaMemGetInfo(&available, &total));
  void *memory;
  CHECK(cudaMalloc(&memory, 1 << 20));
  size_t later;
  CHECK(cudaMemGetInfo(&later, &total));
  printf("memory: %s\n", available - later >= 1 << 20 && later <= total ? "counted" : "not counted");
  return 0;
}
