// Rows whose length is a parameter, in memory that the launch sizes: what values of the parameter that are assumed access
// may lie beyond all memory that a block can have. The other kernel of the module has conflicts that a hash removes.

extern "C" __global__ void beyond(float *out, unsigned n, unsigned p) {
  extern __shared__ float line[];
  float sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += line[threadIdx.x * n + k];
  out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) transposed(float *out, const float *in) {
  __shared__ float tile[32][32];
  unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[x][y];
}
