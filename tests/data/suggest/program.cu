// A whole program: transposes a square matrix of integers and prints a checksum. An argument is the
// length of a side.
#include <cstdio>
#include <cstdlib>

__global__ void transpose(int *out, const int *in, int n) {
  __shared__ int tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
  __syncthreads();
  out[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = tile[x][y];
}

int main(int count, char **arguments) {
  int n = count > 1 ? atoi(arguments[1]) : 32;
  int *in, *out;
  unsigned sum = 0;
  cudaMallocManaged(&in, sizeof(int) * n * n);
  cudaMallocManaged(&out, sizeof(int) * n * n);
  for (int i = 0; i < n * n; i++)
    in[i] = i;
  transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(out, in, n);
  cudaDeviceSynchronize();
  for (int i = 0; i < n * n; i++)
    sum = 31 * sum + (unsigned)out[i];
  printf("%d: %u\n", n, sum);
  return 3;
}
