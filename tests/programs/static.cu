// A program that holds the CUDA runtime itself, as nvcc builds it by default: its calls reach Bankfold's runtime, also
// those by pointers and before main.
// flags: -cudart static
#include "check.h"

__device__ int counter;

__global__ void count() { atomicAdd(&counter, 1); }

struct early {
  int devices = -1;
  early() { cudaGetDeviceCount(&devices); }
};

static early before_main;
static cudaError_t (*const synchronise)() = cudaDeviceSynchronize;

int main() {
  int host = 0;
  count<<<4, 64>>>();
  printf("%s\n", cudaGetErrorName(synchronise()));
  cudaMemcpyFromSymbol(&host, counter, sizeof host);
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, 0);
  printf("%d threads, %s, warps of %d, %s\n", host, cudaGetErrorName(error), properties.warpSize,
         before_main.devices > 0 ? "a device before main" : "no device before main");
  return 0;
}
