/* Shared memory, and more registers than its machine code is limited to. */
__global__ void limited(float *out, const float *in) {
  __shared__ float tile[32 * 32];
  float sum[24];
  for (int i = 0; i < 24; i++)
    sum[i] = in[threadIdx.x + 32 * i];
  for (int k = 0; k < 32; k++) {
    tile[32 * threadIdx.x + k] = sum[k % 24];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 24; i++)
      sum[i] += tile[threadIdx.x + 32 * i] * sum[(i + 5) % 24];
  }
  for (int i = 0; i < 24; i++)
    out[threadIdx.x + 32 * i] = sum[i];
}
