// Kernels whose shared accesses can be derived from their PTX, in whole or in part.

// s[t] += s[t + stride] with strides 1, 2, 4, ...: accesses 2 * stride apart.
extern "C" __global__ void reduce(float *out, const float *in) {
  __shared__ float s[256];
  unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
#pragma unroll 1
  for (unsigned i = 1; i < 256; i *= 2) {
    if (2 * i * t < 256)
      s[2 * i * t] += s[2 * i * t + i];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = s[0];
}

// Butterflies of a Walsh transform of 2^log2n elements, which only the launch knows.
extern "C" __global__ void walsh(float *data, int log2n) {
  extern __shared__ float d[];
  int n = 1 << log2n, base = blockIdx.x << log2n;
  for (int p = threadIdx.x; p < n; p += blockDim.x)
    d[p] = data[base + p];
  for (int stride = n >> 1; stride >= 1; stride >>= 1) {
    __syncthreads();
    for (int p = threadIdx.x; p < n / 2; p += blockDim.x) {
      int low = p & (stride - 1), i0 = ((p - low) << 1) + low, i1 = i0 + stride;
      float a = d[i0], b = d[i1];
      d[i0] = a + b;
      d[i1] = a - b;
    }
  }
  __syncthreads();
  for (int p = threadIdx.x; p < n; p += blockDim.x)
    data[base + p] = d[p];
}

// Tiles of 16x16; how many there are, only the launch knows.
extern "C" __global__ void multiply(float *c, const float *a, const float *b, int n) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < n / 16; k++) {
    as[ty][tx] = a[row * n + k * 16 + tx];
    bs[ty][tx] = b[(k * 16 + ty) * n + column];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 16; i++)
      sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Votes whose addresses are data.
extern "C" __global__ void votes(unsigned *out, const unsigned char *in, int n) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&out[i], bins[i]);
}

// Diagonals of a 17x17 table, as in a Needleman-Wunsch alignment.
extern "C" __global__ void diagonals(int *m, int penalty) {
  __shared__ int table[17][17];
  int tx = threadIdx.x;
  table[tx + 1][0] = m[tx];
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
    int x = tx + 1, y = k - tx + 1;
    if (tx <= k)
      table[y][x] = max(table[y - 1][x - 1], max(table[y][x - 1], table[y - 1][x]) - penalty);
    __syncthreads();
  }
  m[tx] = table[16][tx + 1];
}

// The edges of a matrix, which only the launch knows, decide which threads take part.
extern "C" __global__ void edges(float *out, const float *in, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < w && y < h)
    t[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  if (x < w && y < h)
    out[y * w + x] = t[threadIdx.y][threadIdx.x ^ 1];
}

// One of two buffers, chosen by a parameter, and a call.
__device__ __noinline__ float sum16(const float *p) {
  float s = 0;
  for (int i = 0; i < 16; i++)
    s += p[i];
  return s;
}
extern "C" __global__ void choose(float *out, int which) {
  __shared__ float a[512], b[512];
  float *p = which ? a : b;
  p[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum16(p);
}

// A swizzled 32x32 tile: no conflicts, and nothing affine.
extern "C" __global__ void swizzle(float *out) {
  __shared__ float t[1024];
  int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
  for (int j = ty; j < 32; j += blockDim.x / 32)
    t[j * 32 + (tx ^ j)] = out[j * 32 + tx];
  __syncthreads();
  for (int j = ty; j < 32; j += blockDim.x / 32)
    out[j * 32 + tx] = t[tx * 32 + (tx ^ j)];
}
