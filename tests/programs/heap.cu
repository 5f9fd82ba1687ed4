// malloc and free in kernels: many threads, memory that outlives a launch, sizes that differ, a heap that is full, and its size.
// flags: -cudart shared -arch=sm_90
#include "check.h"

__global__ void each(unsigned *sum, int bytes) {
  for (int round = 0; round < 4; round++) {
    int *own = (int *)malloc(bytes + (threadIdx.x + round) % 3 * 16);
    own[0] = threadIdx.x;
    own[bytes / 4 - 1] += 0;
    __syncwarp();
    atomicAdd(sum, own[0]);
    free(own);
  }
}

struct Node {
  Node *next;
  int value;
};

__global__ void make(Node **list) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  list[i] = new Node{nullptr, i};
  list[i]->next = new Node{nullptr, 2 * i};
}

__global__ void take(Node **list, unsigned *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum, list[i]->value + list[i]->next->value);
  delete list[i]->next;
  delete list[i];
}

/* Fills the heap, says how many pieces it had, and frees them. */
__global__ void fill(int *pieces, size_t bytes) {
  void **last = nullptr;
  int count = 0;
  for (void **piece; (piece = (void **)malloc(bytes)); count++) {
    *piece = last;
    last = piece;
  }
  *pieces = count;
  while (last) {
    void **before = (void **)*last;
    free(last);
    last = before;
  }
}

int main() {
  unsigned *sum;
  int *pieces;
  Node **list;
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  CHECK(cudaMallocManaged(&pieces, sizeof *pieces));
  CHECK(cudaMalloc(&list, 20480 * sizeof *list));
  *sum = 0;
  each<<<100, 256>>>(sum, 64);
  CHECK(cudaDeviceSynchronize());
  printf("each: %u\n", *sum);
  *sum = 0;
  make<<<80, 256>>>(list);
  take<<<80, 256>>>(list, sum);
  CHECK(cudaDeviceSynchronize());
  printf("list: %u\n", *sum);
  for (int round = 0; round < 2; round++) {
    fill<<<1, 1>>>(pieces, 1 << 16);
    CHECK(cudaDeviceSynchronize());
    printf("full: %s\n", *pieces > 64 && *pieces <= 128 ? "8 MiB" : "not 8 MiB");
  }
  // Once a kernel has had some of it, its size stays, until the device is reset.
  printf("%s\n", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20)));
  CHECK(cudaDeviceReset());
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
  CHECK(cudaMallocManaged(&pieces, sizeof *pieces));
  fill<<<1, 1>>>(pieces, 1 << 20);
  CHECK(cudaDeviceSynchronize());
  printf("full: %s\n", *pieces > 16 && *pieces <= 32 ? "32 MiB" : "not 32 MiB");
}
