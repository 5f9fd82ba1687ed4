// Constant memory and device variables, by symbol.
#include "check.h"

struct Filter {
  float weight[5];
  int taps;
};

__constant__ Filter filter;
__constant__ int table[4] = {3, 1, 4, 1};
__device__ int counter = 100;
__device__ float results[64];
static __device__ int hidden[3] = {7, 8, 9};

__global__ void convolve(const float *in, int n) {
  int i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < filter.taps; k++) {
    int j = i + k - filter.taps / 2;
    if (j >= 0 && j < n)
      sum += filter.weight[k] * in[j];
  }
  results[i] = sum + table[i % 4] + hidden[i % 3];
  if (i == 0)
    counter += 23;
}

__constant__ int late[2] = {5, 6};
__global__ void change(int *constant) { constant[threadIdx.x] = 70 + threadIdx.x; }
__global__ void look(int *to) { to[threadIdx.x] = late[threadIdx.x]; }

int main() {
  const int n = 64;
  Filter mine = {{1, 2, 3, 2, 1}, 5};
  float host[n], got[n], *in;
  for (int i = 0; i < n; i++)
    host[i] = (float)((i * 7) % 13);
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(filter, &mine, sizeof mine));
  int one = 10;
  CHECK(cudaMemcpyToSymbol(table, &one, sizeof one, 2 * sizeof(int)));
  convolve<<<1, n>>>(in, n);
  CHECK(cudaMemcpyFromSymbol(got, results, sizeof got));
  int number, wrong = 0, numbers[4] = {3, 1, 10, 1};
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int k = 0; k < 5; k++)
      if (i + k - 2 >= 0 && i + k - 2 < n)
        sum += mine.weight[k] * host[i + k - 2];
    wrong += got[i] != sum + numbers[i % 4] + 7 + i % 3;
  }
  CHECK(cudaMemcpyFromSymbol(&number, counter, sizeof number));
  printf("%d wrong, counter %d\n", wrong, number);
  size_t bytes;
  void *address;
  CHECK(cudaGetSymbolSize(&bytes, results));
  CHECK(cudaGetSymbolAddress(&address, counter));
  number = 5;
  CHECK(cudaMemcpy(address, &number, sizeof number, cudaMemcpyHostToDevice));
  number = 0;
  CHECK(cudaMemcpyFromSymbol(&number, counter, sizeof number));
  printf("%zu bytes, counter %d\n", bytes, number);
  // A kernel may write constants by their address in global memory; launches behind it see that.
  int seen[2];
  CHECK(cudaGetSymbolAddress(&address, late));
  change<<<1, 2>>>((int *)address);
  look<<<1, 2>>>((int *)in);
  CHECK(cudaMemcpy(seen, in, sizeof seen, cudaMemcpyDeviceToHost));
  printf("written by a kernel: %d %d\n", seen[0], seen[1]);
  printf("past the end: %s\n", cudaGetErrorName(cudaMemcpyToSymbol(table, &one, 4, 16)));
  printf("no symbol: %s\n", cudaGetErrorName(cudaGetSymbolSize(&bytes, (const void *)&host)));
  return 0;
}
