// A kernel that waits for another, launched later in another stream: the two run beside each other. Both sum up in one place,
// exec: --threads 1
// and the second prints.
#include "check.h"

__global__ void wait_for(volatile int *flag, int *sum) {
  while (*flag == 0)
    atomicAdd(sum, 0);
  for (int i = 0; i < 1000; i++)
    atomicAdd(sum, 1);
}

__global__ void set(volatile int *flag, int *sum) {
  for (int i = 0; i < 1000; i++)
    atomicAdd(sum, 1);
  if (threadIdx.x == 0)
    printf("set\n");
  __threadfence();
  *flag = 1;
}

int main() {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1); // else loading a kernel waits for those that run
  int *flag, *sum, host;
  CHECK(cudaMalloc(&flag, sizeof *flag));
  CHECK(cudaMalloc(&sum, sizeof *sum));
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  for (int i = 0; i < 3; i++) {
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    wait_for<<<1, 32, 0, first>>>(flag, sum);
    set<<<1, 32, 0, second>>>(flag, sum);
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d\n", host);
  }
  return 0;
}
