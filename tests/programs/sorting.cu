// A bitonic sort in shared memory and a switch over data: loops, branches and divergence.
#include "check.h"

const int N = 512;

__global__ void bitonic(unsigned *data) {
  __shared__ unsigned key[N];
  unsigned i = threadIdx.x;
  key[i] = data[i];
  for (unsigned size = 2; size <= N; size *= 2)
    for (unsigned distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      unsigned other = i ^ distance;
      if (other > i) {
        bool up = (i & size) == 0;
        unsigned a = key[i], b = key[other];
        if ((a > b) == up) {
          key[i] = b;
          key[other] = a;
        }
      }
    }
  __syncthreads();
  data[i] = key[i];
}

__global__ void collatz(const unsigned *in, unsigned *steps) {
  unsigned n = in[threadIdx.x] % 1000 + 1, count = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    count++;
  }
  steps[threadIdx.x] = count;
}

__device__ __host__ int choose(int kind, int x) {
  switch (kind) {
  case 0: return x + 1;
  case 1: return x * x;
  case 2: return -x;
  case 3: return x / 3;
  case 4: return x % 5;
  case 5: return x << 2;
  case 6: return x >> 1;
  case 7: return x ^ 0x55;
  case 8: return 17;
  default: return 0;
  }
}

__global__ void switches(int *out) {
  int i = threadIdx.x;
  out[i] = choose(i % 11, i);
}

int main() {
  unsigned host[N], got[N], steps[N], *data, *count, state = 99;
  for (int i = 0; i < N; i++)
    host[i] = next_random(&state);
  CHECK(cudaMalloc(&data, sizeof host));
  CHECK(cudaMalloc(&count, sizeof steps));
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
  bitonic<<<1, N>>>(data);
  CHECK(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 1; i < N; i++)
    wrong += got[i - 1] > got[i];
  printf("sort: %d out of order\n", wrong);
  collatz<<<1, N>>>(data, count);
  CHECK(cudaMemcpy(steps, count, sizeof steps, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < N; i++) {
    unsigned n = got[i] % 1000 + 1, expected = 0;
    for (; n != 1; expected++)
      n = n % 2 ? 3 * n + 1 : n / 2;
    wrong += steps[i] != expected;
  }
  printf("collatz: %d wrong\n", wrong);
  int *out, chosen[N];
  CHECK(cudaMalloc(&out, sizeof chosen));
  switches<<<1, N>>>(out);
  CHECK(cudaMemcpy(chosen, out, sizeof chosen, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += chosen[i] != choose(i % 11, i);
  printf("switch: %d wrong\n", wrong);
  return 0;
}
