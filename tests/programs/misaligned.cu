// A vector load at an address that is not a multiple of its size.
// says: misaligned
#include "check.h"

__global__ void load(const char *in, float4 *out) { *out = *(const float4 *)(in + 4); }

int main() {
  char *in;
  float4 *out;
  CHECK(cudaMalloc(&in, 64));
  CHECK(cudaMalloc(&out, sizeof *out));
  load<<<1, 1>>>(in, out);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
