// Kernels that launch kernels: streams of the device, fire and forget, tail launches, recursion and its limit, copies
// in their order, errors that a kernel sees.
// flags: -rdc=true -lineinfo
// table: 32 +64 +64 .*child
#include "check.h"

__global__ void child(int *data, int number) {
  __shared__ int tile[32];
  tile[threadIdx.x] = number;
  __syncwarp();
  atomicAdd(&data[threadIdx.x], tile[31 - threadIdx.x]); // many of them at once
}

/* The order of what is appended shows the order of the work. */
__global__ void append(int *list, int number) { list[1 + list[0]++] = number; }

__global__ void parent(int *data, int *list) {
  if (threadIdx.x == 0) {
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 9);
    append<<<1, 1>>>(list, 1);
    append<<<1, 1>>>(list, 2);
    cudaStream_t stream;
    cudaEvent_t event;
    int error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    error |= cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    error |= cudaEventRecord(event, 0);
    error |= cudaStreamWaitEvent(stream, event, 0);
    append<<<1, 1, 0, stream>>>(list, 3);
    error |= cudaMemcpyAsync(data + 32, list, 4, cudaMemcpyDeviceToDevice, stream);
    error |= cudaEventDestroy(event) | cudaStreamDestroy(stream);
    int count = 0;
    error |= cudaGetDeviceCount(&count);
    int warp = 0, blocks = 0;
    error |= cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0);
    error |= cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, child, 1024, 0);
    printf("error %d, %d device, warps of %d, %d blocks\n", error, count, warp, blocks);
    append<<<1, 2048>>>(list, 4); // too large a block
    printf("too large: %s\n", cudaGetLastError() == cudaSuccess ? "done" : "refused");
    printf("then %s\n", cudaGetErrorName(cudaGetLastError()));
  }
  child<<<1, 32, 0, cudaStreamFireAndForget>>>(data, 1); // of every thread
}

/* A tree: each kernel launches two more. */
__global__ void tree(int *leaves, int depth) {
  if (depth == 0) {
    atomicAdd(leaves, 1);
    return;
  }
  tree<<<1, 1>>>(leaves, depth - 1);
  tree<<<1, 1, 0, cudaStreamFireAndForget>>>(leaves, depth - 1);
}

__global__ void chain(int *deepest, int depth) {
  *deepest = depth;
  chain<<<1, 1>>>(deepest, depth + 1);
}

template <class T> __global__ void only_here(T *data) { *data = 42; }
__global__ void use_template(int *data) { only_here<int><<<1, 1>>>(data); }

int main() {
  int *data, *list;
  CHECK(cudaMallocManaged(&data, 64 * sizeof *data));
  CHECK(cudaMallocManaged(&list, 64 * sizeof *list));
  parent<<<1, 32>>>(data, list);
  CHECK(cudaDeviceSynchronize());
  printf("list of %d:", list[0]);
  for (int i = 0; i < list[0]; i++)
    printf(" %d", list[1 + i]);
  printf("\ndata %d %d, copied %d\n", data[0], data[31], data[32]);
  data[0] = 0;
  tree<<<1, 1>>>(data, 5);
  CHECK(cudaDeviceSynchronize());
  printf("%d leaves\n", data[0]);
  chain<<<1, 1>>>(data, 0);
  CHECK(cudaDeviceSynchronize());
  printf("depth %d\n", data[0]);
  use_template<<<1, 1>>>(data);
  CHECK(cudaDeviceSynchronize());
  printf("%d\n", data[0]);
  return 0;
}
