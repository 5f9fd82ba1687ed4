// Asynchronous copies by the primitives of C.
// headers: cuda_pipeline.h
#include "expect.h"
#include <cuda_pipeline.h>

__global__ void reverse(const int4 *in, int4 *out) {
  __shared__ int4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

int main() {
  int4 *in = make<int4>(32), *out = make<int4>(32);
  int wrong = 0;
  for (int i = 0; i < 32; i++)
    in[i] = {i, 2 * i, 3 * i, 4 * i};
  reverse<<<1, 32>>>(in, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 32; i++)
    wrong += out[i].z != 3 * (31 - i);
  EXPECT(wrong == 0);
  return finish();
}
