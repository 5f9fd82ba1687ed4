// A line of a function that is inlined twice has a row for each call.
// flags: -arch=sm_90 -lineinfo
// only: exec
// exec: --workers 1
// says: 224 .*inlined.cu:10, inlined at .*inlined.cu:16: stride 8
#include "check.h"

struct tile {
  float value[32][32];
  __device__ __forceinline__ void put(int row, int column, float x) { value[row][column] = x; }
};

__global__ void turn(const float *in, float *out) {
  __shared__ tile first, second;
  for (int i = 0; i < 32; i++)
    first.put(threadIdx.x, i, in[32 * i + threadIdx.x]);
  for (int i = 0; i < 32; i++)
    second.put(i, threadIdx.x, in[32 * i + threadIdx.x]);
  __syncwarp();
  for (int i = 0; i < 32; i++)
    out[32 * i + threadIdx.x] = first.value[i][threadIdx.x] + second.value[i][threadIdx.x];
}

int main() {
  float *in, *out;
  CHECK(cudaMallocManaged(&in, 4096));
  CHECK(cudaMallocManaged(&out, 4096));
  for (int i = 0; i < 1024; i++)
    in[i] = i;
  turn<<<1, 32>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < 1024; i++)
    wrong += out[i] != in[i] + in[i % 32 * 32 + i / 32];
  printf("%d wrong\n", wrong);
  return 0;
}
