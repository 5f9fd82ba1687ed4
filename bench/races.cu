// Kernels whose time is measured with and without --detect races (bench/races.sh): copy, product, sum, histogram.
#include <cstdio>

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

int main(int, char **argument) {
  float *a, *b;
  cudaMalloc(&a, COUNT * sizeof *a);
  cudaMalloc(&b, COUNT * sizeof *b);
  cudaMemset(a, 1, COUNT * sizeof *a);
  cudaMemset(b, 0, COUNT * sizeof *b);
  for (int i = 0; i < 8; i++) // the first time pays for memory
    switch (*argument[1]) {
    case 'c':
      copy<<<512, THREADS>>>(a, b);
      break;
    case 'p':
      product<<<dim3(20, 20), dim3(TILE, TILE)>>>(a, a, b, 320);
      break;
    case 's':
      sum<<<256, THREADS>>>(a, b);
      break;
    case 'h':
      histogram<<<128, THREADS>>>((unsigned char *)a, (int *)b);
      break;
    }
  return cudaDeviceSynchronize() != cudaSuccess;
}
