// Kernels whose time is measured with and without --detect races (bench/races.sh); main has their names.
#include <cstdio>
#include <cstring>

enum { COUNT = 1 << 22, TILE = 16, THREADS = 256 };

__global__ void copy(const float *from, float *to) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNT; i += gridDim.x * blockDim.x)
    to[i] = from[i] * 2;
}

__global__ void product(const float *a, const float *b, float *c, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void sum(const float *from, float *to) {
  __shared__ float part[THREADS];
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < COUNT; i += gridDim.x * THREADS)
    own += from[i];
  part[threadIdx.x] = own;
  __syncthreads();
  for (int step = THREADS / 2; step; step /= 2) {
    if (threadIdx.x < step)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    to[blockIdx.x] = part[0];
}

__global__ void histogram(const unsigned char *from, int *to) {
  __shared__ int bin[THREADS];
  bin[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < COUNT; i += gridDim.x * THREADS)
    atomicAdd(&bin[from[i]], 1);
  __syncthreads();
  atomicAdd(&to[threadIdx.x], bin[threadIdx.x]);
}

// One row of words, doubles, four words or bytes for each warp.
template <class T> __global__ void rows(const T *from, T *to) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  to[i] = from[i];
}

// Rows that begin anywhere.
__global__ void stencil(const float *from, float *to) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= 2 && i < COUNT / 4 - 2)
    to[i] = from[i - 2] + from[i - 1] + from[i] + from[i + 1] + from[i + 2];
}

// Lanes that are four words apart.
__global__ void structs(const float *from, float *to) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  for (int k = 0; k < 4; k++)
    to[i * 4 + k] = from[i * 4 + k] + 1;
}

// Lanes that are a row of 1024 words apart, and a word for all.
__global__ void columns(const float *matrix, const float *vector, float *to) {
  int row = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 256; i++)
    sum += matrix[row % 1024 * 1024 + i] * vector[i];
  to[row] = sum;
}

// Lanes anywhere in an array.
__global__ void gather(const float *from, float *to) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  unsigned place = i * 2654435761u;
  float sum = 0;
  for (int k = 0; k < 8; k++) {
    place = place * 1664525u + 1013904223u;
    sum += from[place >> 12];
  }
  to[i] = sum;
}

__global__ void scatter(int *to) {
  unsigned i = blockIdx.x * THREADS + threadIdx.x;
  atomicAdd(&to[i * 2654435761u >> 20], 1);
}

__global__ void transpose(const float *from, float *to) {
  __shared__ float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    tile[y + k][x] = from[(blockIdx.y * 32 + y + k) * 1024 + blockIdx.x * 32 + x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    to[(blockIdx.x * 32 + y + k) * 1024 + blockIdx.y * 32 + x] = tile[x][y + k];
}

__global__ void bitonic(float *keys) {
  __shared__ float part[2 * THREADS];
  int t = threadIdx.x;
  part[t] = keys[blockIdx.x * 2 * THREADS + t];
  part[t + THREADS] = keys[blockIdx.x * 2 * THREADS + t + THREADS];
  for (int size = 2; size <= 2 * THREADS; size *= 2)
    for (int step = size / 2; step; step /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (step - 1));
      float a = part[i], b = part[i + step];
      if ((a > b) == !(i & size)) {
        part[i] = b;
        part[i + step] = a;
      }
    }
  __syncthreads();
  keys[blockIdx.x * 2 * THREADS + t] = part[t];
}

// Counters of a byte, four for each thread.
__global__ void bytes(const unsigned char *from, int *to) {
  __shared__ unsigned char count[THREADS * 4];
  int t = threadIdx.x;
  for (int k = 0; k < 4; k++)
    count[t * 4 + k] = 0;
  for (int k = 0; k < 64; k++)
    count[t * 4 + (from[blockIdx.x * 1024 + k * 16 + t % 16] & 3)]++;
  to[blockIdx.x * THREADS + t] = count[t * 4];
}

int main(int, char **argument) {
  float *a, *b;
  cudaMalloc(&a, COUNT * sizeof *a);
  cudaMalloc(&b, COUNT * sizeof *b);
  cudaMemset(a, 1, COUNT * sizeof *a);
  cudaMemset(b, 0, COUNT * sizeof *b);
  auto is = [=](const char *name) { return !strcmp(argument[1], name); };
  for (int i = 0; i < 8; i++) // the first time pays for memory
    if (is("copy"))
      copy<<<512, THREADS>>>(a, b);
    else if (is("product"))
      product<<<dim3(20, 20), dim3(TILE, TILE)>>>(a, a, b, 320);
    else if (is("sum"))
      sum<<<256, THREADS>>>(a, b);
    else if (is("histogram"))
      histogram<<<128, THREADS>>>((unsigned char *)a, (int *)b);
    else if (is("rows_double"))
      rows<<<COUNT / 2 / THREADS, THREADS>>>((double *)a, (double *)b);
    else if (is("rows_float4"))
      rows<<<COUNT / 4 / THREADS, THREADS>>>((float4 *)a, (float4 *)b);
    else if (is("rows_byte"))
      rows<<<COUNT / THREADS, THREADS>>>((char *)a, (char *)b);
    else if (is("stencil"))
      stencil<<<COUNT / 4 / THREADS, THREADS>>>(a, b);
    else if (is("structs"))
      structs<<<COUNT / 4 / THREADS, THREADS>>>(a, b);
    else if (is("columns"))
      columns<<<64, THREADS>>>(a, a, b);
    else if (is("gather"))
      gather<<<1024, THREADS>>>(a, b);
    else if (is("scatter"))
      scatter<<<4096, THREADS>>>((int *)b);
    else if (is("transpose"))
      transpose<<<dim3(32, 32), dim3(32, 8)>>>(a, b);
    else if (is("bitonic"))
      bitonic<<<512, THREADS>>>(a);
    else if (is("bytes"))
      bytes<<<256, THREADS>>>((unsigned char *)a, (int *)b);
  return cudaDeviceSynchronize() != cudaSuccess;
}
