// What bench/sample.sh runs with and without exec --sample: one kernel with a large grid, whose conflicts depend on data, and a
// small one that is launched many times.
#include <cstdio>
#include <cstdlib>

__global__ void histogram(const unsigned *in, unsigned *out, int per_thread) {
  __shared__ unsigned count[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    count[i] = 0;
  __syncthreads();
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < per_thread; i++) {
    atomicAdd(&count[in[at & 0xffff] & 255], 1u);
    at = at * 1664525u + 1013904223u;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&out[i], count[i]);
}

__global__ void transpose(const float *in, float *out, int side) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * side + x];
  __syncthreads();
  for (int i = 0; i < 32; i += 8)
    out[(blockIdx.x * 32 + threadIdx.y + i) * side + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + i];
}

int main(int count, char **argument) {
  int scale = count > 1 ? atoi(argument[1]) : 1, side = 128;
  unsigned *in, *out;
  float *from, *to;
  cudaMalloc(&in, 65536 * 4);
  cudaMalloc(&out, 256 * 4);
  cudaMalloc(&from, side * side * 4);
  cudaMalloc(&to, side * side * 4);
  unsigned *host = (unsigned *)malloc(65536 * 4);
  for (int i = 0; i < 65536; i++)
    host[i] = (unsigned)(i * 2654435761u) >> (i % 5 ? 16 : 28);
  cudaMemcpy(in, host, 65536 * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 256 * 4);
  cudaMemset(from, 0, side * side * 4);
  histogram<<<20000 * scale, 256>>>(in, out, 16);
  for (int i = 0; i < 2000 * scale; i++)
    transpose<<<dim3(side / 32, side / 32), dim3(32, 8)>>>(from, to, side);
  return cudaDeviceSynchronize() != cudaSuccess;
}
