// Separate compilation is refused before the program runs.
// only: exec
// flags: -rdc=true
// status: 2
// says: build it in one piece
#include "check.h"

__global__ void kernel() {}

int main() {
  kernel<<<1, 1>>>();
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
