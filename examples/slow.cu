// A transposition whose tile is read by columns: every read of a warp wants 32 words of one bank.
#include <cstdio>

__global__ void transpose(float *out, const float *in, int n) {
  __shared__ float tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
  __syncthreads();
  out[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = tile[x][y];
}

int main() {
  const int n = 256;
  static float numbers[n * n];
  for (int i = 0; i < n * n; i++)
    numbers[i] = i;
  float *in, *out;
  cudaMalloc(&in, sizeof numbers);
  cudaMalloc(&out, sizeof numbers);
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(out, in, n);
  cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n * n; i++)
    wrong += numbers[i] != i % n * n + i / n;
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
