// A program without PTX: its kernels cannot run, and it is told so.
// only: exec
// flags: -gencode arch=compute_90,code=sm_90
// status: 2
// says: build it with PTX too
#include "check.h"

__global__ void kernel() {}

int main() {
  kernel<<<1, 1>>>();
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("synchronisation: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
