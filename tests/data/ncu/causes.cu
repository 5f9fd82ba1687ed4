// Kernels whose shared memory counts in Nsight Compute for different reasons: what tests/gpu/ncu_pages.sh profiles.
#include <cstdio>

// Bank conflicts: a column of a tile whose rows are as long as there are banks.
__global__ void column(const float *in, float *out) {
  __shared__ float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    tile[y + k][x] = in[(y + k) * 32 + x + 1024 * blockIdx.x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    out[(y + k) * 32 + x + 1024 * blockIdx.x] = tile[x][y + k];
}

// None: rows are a word longer.
__global__ void padded(const float *in, float *out) {
  __shared__ float tile[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    tile[y + k][x] = in[(y + k) * 32 + x + 1024 * blockIdx.x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    out[(y + k) * 32 + x + 1024 * blockIdx.x] = tile[x][y + k];
}

// Four wavefronts an access, as 16 bytes a lane need: wide, and no conflict.
__global__ void wide(const float4 *in, float4 *out) {
  __shared__ float4 row[256];
  int i = threadIdx.x + 32 * threadIdx.y;
  row[i] = in[i + 256 * blockIdx.x];
  __syncthreads();
  out[i + 256 * blockIdx.x] = row[255 - i];
}

// Atomic additions of many lanes to few words.
__global__ void bins(const unsigned *in, unsigned *out) {
  __shared__ unsigned bin[64];
  int i = threadIdx.x + 32 * threadIdx.y;
  if (i < 64)
    bin[i] = 0;
  __syncthreads();
  for (int k = 0; k < 16; k++)
    atomicAdd(&bin[in[(i + 256 * k + 4096 * blockIdx.x) % 65536] % 64], 1);
  __syncthreads();
  if (i < 64)
    atomicAdd(&out[i], bin[i]);
}

// No conflicts of its own, between loads from global memory that are spread over many lines, which want the same
// data stage.
__global__ void spread(const float *in, float *out) {
  __shared__ float row[256];
  int i = threadIdx.x + 32 * threadIdx.y;
  float sum = 0;
  for (int k = 0; k < 32; k++) {
    row[i] = in[(i * 32 + k * 7 + blockIdx.x * 97) % 65536];
    __syncthreads();
    sum += row[i ^ 1] + in[(i * 33 + k * 11) % 65536];
    __syncthreads();
  }
  out[i + 256 * blockIdx.x] = sum;
}

int main() {
  float *in, *out;
  cudaMalloc(&in, 65536 * sizeof(float));
  cudaMalloc(&out, 65536 * sizeof(float));
  unsigned numbers[65536];
  for (unsigned i = 0; i < 65536; i++)
    numbers[i] = i * 2654435761u >> 8;
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, 65536 * sizeof(float));
  dim3 block(32, 8);
  column<<<64, block>>>(in, out);
  padded<<<64, block>>>(in, out);
  wide<<<64, block>>>((const float4 *)in, (float4 *)out);
  bins<<<64, block>>>((const unsigned *)in, (unsigned *)out);
  spread<<<64, block>>>(in, out);
  cudaError_t error = cudaDeviceSynchronize();
  puts(error == cudaSuccess ? "done" : cudaGetErrorString(error));
  return error != cudaSuccess;
}
