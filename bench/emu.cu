// The kernels that bench_emu times; compiled to emu.ptx by bench/emu.sh.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

extern "C" __global__ void transpose(const float *in, float *out, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void reduce(const float *in, float *out, int n) {
  __shared__ float sum[256];
  int t = threadIdx.x;
  float own = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
    own += in[i];
  sum[t] = own;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s)
      sum[t] += sum[t + s];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = sum[0];
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned count[256];
  count[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&count[in[i]], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}

extern "C" __global__ void fma_chains(float *out, int n) {
  float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
#pragma unroll 8
  for (int i = 0; i < n; i++) {
    a = fmaf(a, 0.999f, 0.5f);
    b = fmaf(b, 0.998f, 0.5f);
    c = fmaf(c, 0.997f, 0.5f);
    d = fmaf(d, 0.996f, 0.5f);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
