// A program of separately compiled parts, one of which has machine code only: it is told which, and what to do.
// only: exec
// status: 2
// flags: -rdc=true -lineinfo -gencode arch=compute_90,code=sm_90
// says: separate_code.cu holds machine code only.*build it with PTX too
#include "check.h"

__global__ void kernel() {}

int main() {
  kernel<<<1, 1>>>();
  printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
