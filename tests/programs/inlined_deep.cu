// A line that was inlined through several functions is shown with all of their calls; a kernel of a device lambda has a name.
// flags: -arch=sm_90 -lineinfo --extended-lambda
// only: exec
// exec: --workers 1
// says: inlined_deep.cu:8, inlined at .*inlined_deep.cu:11, inlined at .*inlined_deep.cu:17: stride 32
#include "check.h"

__device__ __forceinline__ float element(const float *tile, int i) { return tile[i * 32]; }

__device__ __forceinline__ float twice(const float *tile, int i) {
  return 2 * element(tile, i);
}

template <typename F> __global__ void apply(F function, float *out) {
  __shared__ float tile[1024];
  function(tile);
  out[threadIdx.x] = twice(tile, threadIdx.x);
}

int main() {
  float *out;
  CHECK(cudaMallocManaged(&out, 32 * sizeof *out));
  auto fill = [] __device__(float *tile) {
    for (int i = 0; i < 32; i++)
      tile[32 * i + threadIdx.x] = i;
    __syncwarp();
  };
  apply<<<1, 32>>>(fill, out);
  CHECK(cudaDeviceSynchronize());
  printf("%g %g\n", out[1], out[31]);
}
