// Matrix units: wmma on tiles of half precision, and memory that kernels allocate themselves.
#include "check.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void multiply(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + row * n + k, n);
    wmma::load_matrix_sync(right, b + column * n + k, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

__global__ void allocate(int *out) {
  int *own = new int[8];
  for (int i = 0; i < 8; i++)
    own[i] = threadIdx.x + i;
  int sum = 0;
  for (int i = 0; i < 8; i++)
    sum += own[i];
  delete[] own;
  out[threadIdx.x] = sum;
}

int main() {
  const int n = 48;
  static half a[n * n], b[n * n];
  static float c[n * n];
  half *da, *db;
  float *dc;
  for (int i = 0; i < n * n; i++) {
    a[i] = __float2half((float)(i % 7) - 3);
    b[i] = __float2half((float)(i % 5));
  }
  CHECK(cudaMalloc(&da, sizeof a));
  CHECK(cudaMalloc(&db, sizeof b));
  CHECK(cudaMalloc(&dc, sizeof c));
  CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
  multiply<<<dim3(n / 16, n / 16), 32>>>(da, db, dc, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++) {
      float sum = 0;
      for (int k = 0; k < n; k++)
        sum += ((y * n + k) % 7 - 3) * ((x * n + k) % 5);
      wrong += c[y * n + x] != sum;
    }
  printf("product: %d wrong\n", wrong);
  int *out, sums[32];
  CHECK(cudaMalloc(&out, sizeof sums));
  allocate<<<1, 32>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 32; i++)
    wrong += sums[i] != 8 * i + 28;
  printf("own memory: %d wrong\n", wrong);
  return 0;
}
