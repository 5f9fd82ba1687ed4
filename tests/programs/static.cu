// A program that holds the CUDA runtime itself is refused before the program runs.
// only: exec
// flags: -cudart static
// status: 2
// says: rebuild it with nvcc -cudart shared
#include "check.h"

__global__ void kernel() {}

int main() {
  kernel<<<1, 1>>>();
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
