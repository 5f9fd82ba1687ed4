// Recursion: functions that call themselves and each other, and a sort that does.
#include "check.h"

__device__ __noinline__ unsigned long long fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0)
    return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n == 0 ? false : is_even(n - 1); }

__device__ __noinline__ void quicksort(int *data, int from, int to) {
  if (from >= to)
    return;
  int pivot = data[(from + to) / 2], i = from, j = to;
  while (i <= j) {
    while (data[i] < pivot)
      i++;
    while (data[j] > pivot)
      j--;
    if (i <= j) {
      int swap = data[i];
      data[i++] = data[j];
      data[j--] = swap;
    }
  }
  quicksort(data, from, j);
  quicksort(data, i, to);
}

__global__ void numbers(unsigned long long *out) {
  int i = threadIdx.x;
  out[i] = fibonacci(i % 16) * 10 + is_even(i);
  if (i == 5)
    out[i] = ackermann(2, 3);
}

__global__ void sort(int *data, int each) { quicksort(data + threadIdx.x * each, 0, each - 1); }

int main() {
  const int n = 32, each = 50;
  unsigned long long got[n], *out;
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
  CHECK(cudaMalloc(&out, sizeof got));
  numbers<<<1, n>>>(out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; i++)
    printf("%llu ", got[i]);
  printf("\n");
  static int host[n * each];
  int *data, wrong = 0;
  unsigned state = 3;
  for (int i = 0; i < n * each; i++)
    host[i] = next_random(&state) % 1000;
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  sort<<<1, n>>>(data, each);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n * each; i++)
    wrong += i % each && host[i - 1] > host[i];
  printf("sorted: %d out of order\n", wrong);
  return 0;
}
