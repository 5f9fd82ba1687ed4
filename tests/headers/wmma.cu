// A product of matrices on the matrix units.
// headers: mma.h
#include "expect.h"
#include <mma.h>
#include <cuda_fp16.h>

using namespace nvcuda;
__global__ void product(const __half *a, const __half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

int main() {
  __half *a = make<__half>(256), *b = make<__half>(256);
  float *c = make<float>(256);
  int wrong = 0;
  for (int i = 0; i < 256; i++) {
    a[i] = __float2half((float)(next_random() % 9) - 4);
    b[i] = __float2half((float)(next_random() % 9) - 4);
  }
  product<<<1, 32>>>(a, b, c);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 256; i++) {
    float sum = 1;
    for (int k = 0; k < 16; k++)
      sum += __half2float(a[i / 16 * 16 + k]) * __half2float(b[i % 16 * 16 + k]);
    wrong += c[i] != sum;
  }
  EXPECT(wrong == 0);
  return finish();
}
