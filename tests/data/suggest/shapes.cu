// Arrays that need care: odd sizes, vectors made of scalars, atomics, effects, macros, namespaces.
#include <cuda_fp16.h>

namespace bins {

constexpr int lanes = 32, count = 16;

// A histogram per lane; elements are changed by atomic functions.
__global__ void histogram(unsigned *out, const unsigned *in) {
  __shared__ unsigned own[lanes][count];
  unsigned lane = threadIdx.x;
  for (int i = 0; i < count; i++)
    own[lane][i] = 0;
  __syncthreads();
  for (int i = 0; i < 64; i++)
    atomicAdd(&own[lane][in[i * lanes + lane] % count], 1u);
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < lanes; i++)
    sum += lane < count ? own[i][lane] : 0;
  out[lane] = sum;
}

} // namespace bins

// Rows of 24: not a power of two, but whole rows of banks together.
extern "C" __global__ void odd(double *out) {
  __shared__ double odd_rows[32][24];
  int t = threadIdx.x;
  for (int k = 0; k < 24; k++)
    odd_rows[t][k] = t - k;
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < 24; k++)
    sum += odd_rows[31 - t][k] * odd_rows[t][23 - k];
  out[t] = sum;
}

// Not whole rows of banks: an XOR would leave the array.
extern "C" __global__ void ragged(int *out) {
  __shared__ int uneven[33][32 - 2];
  int t = threadIdx.x;
  uneven[t][t % 30] = t;
  __syncthreads();
  out[t] = uneven[t][0 + t % 30];
}

// Halves, two to a word.
extern "C" __global__ void halves(float *out) {
  __shared__ __half narrow[32][64];
  int t = threadIdx.x;
  for (int k = 0; k < 64; k++)
    narrow[t][k] = __float2half(t + k);
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 64; k++)
    sum += __half2float(narrow[t][k]);
  out[t] = sum;
}

#define COLUMN(a, k) a[threadIdx.x][k]

// A macro makes the subscripts; the array is named, but not as an element.
extern "C" __global__ void by_macro(int *out) {
  __shared__ int column[32][32];
  for (int k = 0; k < 32; k++)
    COLUMN(column, k) = k;
  out[threadIdx.x] = COLUMN(column, 31 - threadIdx.x);
}

// The first subscript counts on.
extern "C" __global__ void effects(int *out) {
  __shared__ int stack[32][32];
  int t = threadIdx.x, top = 0;
  for (int k = 0; k < 32; k++)
    stack[top++][t] = k * t;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 32; k++)
    sum += stack[t][k];
  out[t] = sum;
}

// Subscripts over several lines, and one array as the subscript of another.
extern "C" __global__ void nested(int *out) {
  __shared__ int order[32], values[32][32];
  int t = threadIdx.x;
  order[t] = 31 - t;
  for (int k = 0; k < 32; k++)
    values[t]
          [k] = t * 32 + k;
  __syncthreads();
  out[t] = values[order[t]][/* values[0][ */ 3];
}
