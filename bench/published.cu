/* Products of matrices of floats as tutorials build them up, and sums of an array by trees in shared memory: kernels of which times
 * on several GPUs are published (bench/published.py). Written after their descriptions, not copied: what is equal is which thread
 * loads what. Rows of matrices are ld words apart; products are summed over the first k of them. */

#include <cuda_fp16.h>

extern "C" {

/* A thread for each element; neighbours lie in one column, so that their loads of a and stores lie a row apart. 32 x 32 threads. */
__global__ void product_plain(const float *a, const float *b, float *c, int k, int ld) {
  int row = blockIdx.x * 32 + threadIdx.x, column = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < k; i++)
    sum += a[row * ld + i] * b[i * ld + column];
  c[row * ld + column] = sum;
}

/* The same with neighbours in one row. 1024 threads. */
__global__ void product_coalesced(const float *a, const float *b, float *c, int k, int ld) {
  int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
  float sum = 0;
  for (int i = 0; i < k; i++)
    sum += a[row * ld + i] * b[i * ld + column];
  c[row * ld + column] = sum;
}

/* Tiles of 32 x 32 in shared memory. 1024 threads. */
__global__ void product_tiles(const float *a, const float *b, float *c, int k, int ld) {
  __shared__ float left[32 * 32], right[32 * 32];
  int row = threadIdx.x / 32, column = threadIdx.x % 32;
  float sum = 0;
  a += blockIdx.x * 32 * ld;
  b += blockIdx.y * 32;
  for (int first = 0; first < k; first += 32) {
    left[row * 32 + column] = a[row * ld + column];
    right[row * 32 + column] = b[row * ld + column];
    __syncthreads();
    a += 32;
    b += 32 * ld;
    for (int i = 0; i < 32; i++)
      sum += left[row * 32 + i] * right[i * 32 + column];
    __syncthreads();
  }
  c[(blockIdx.x * 32 + row) * ld + blockIdx.y * 32 + column] = sum;
}

/* Tiles of 64 x 64, eight elements of a column for each thread. 512 threads. */
__global__ void product_columns(const float *a, const float *b, float *c, int k, int ld) {
  __shared__ float left[64 * 8], right[8 * 64];
  int column = threadIdx.x % 64, rows = threadIdx.x / 64;
  float sum[8] = {0};
  a += blockIdx.y * 64 * ld;
  b += blockIdx.x * 64;
  for (int first = 0; first < k; first += 8) {
    left[threadIdx.x] = a[threadIdx.x / 8 * ld + threadIdx.x % 8];
    right[threadIdx.x] = b[threadIdx.x / 64 * ld + threadIdx.x % 64];
    __syncthreads();
    a += 8;
    b += 8 * ld;
    for (int i = 0; i < 8; i++) {
      float own = right[i * 64 + column];
      for (int j = 0; j < 8; j++)
        sum[j] += left[(rows * 8 + j) * 8 + i] * own;
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++)
    c[(blockIdx.y * 64 + rows * 8 + j) * ld + blockIdx.x * 64 + column] = sum[j];
}

/* The first with neighbours in one row, of halves. 16 x 16 threads. */
__global__ void halves_plain(const half *a, const half *b, half *c, int k, int ld) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; i++)
    sum += __half2float(a[row * ld + i]) * __half2float(b[i * ld + column]);
  c[row * ld + column] = __float2half(sum);
}

/* The tiles of halves, kept as floats in rows of 33. 32 x 32 threads. */
__global__ void halves_tiles(const half *a, const half *b, half *c, int k, int ld) {
  __shared__ float left[32][33], right[32][33];
  int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += 32) {
    int from = first + threadIdx.x, at = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = from < k ? __half2float(a[row * ld + from]) : 0.0f;
    right[threadIdx.y][threadIdx.x] = at < k ? __half2float(b[at * ld + column]) : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i++)
      sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * ld + column] = __float2half(sum);
}

/* Sums of 256 words by a tree whose threads stand ever farther apart. */
__global__ void sum_divergent(const float *in, float *out) {
  __shared__ float part[256];
  part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (2 * step) == 0)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = part[0];
}

/* The first threads add the second half. */
__global__ void sum_halves(const float *in, float *out) {
  __shared__ float part[256];
  part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
    if (threadIdx.x < step)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = part[0];
}

/* The same of 512 words. */
__global__ void sum_two(const float *in, float *out) {
  __shared__ float part[256];
  part[threadIdx.x] = in[blockIdx.x * 512 + threadIdx.x] + in[blockIdx.x * 512 + 256 + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
    if (threadIdx.x < step)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = part[0];
}
}
