// Atomics: every kind, on shared and global memory, and a lock.
#include "check.h"

__global__ void histogram(const unsigned *in, int n, unsigned *out) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64)
    bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

struct All {
  int sum, least, largest, anded, ored, xored, wrapped, down, taken;
  unsigned long long wide;
  float real;
  double exact;
  int lock, guarded;
};

__global__ void all(All *to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&to->sum, i);
  atomicMin(&to->least, 500 - i);
  atomicMax(&to->largest, i * 3);
  atomicAnd(&to->anded, ~(1 << i % 5));
  atomicOr(&to->ored, 1 << i % 20);
  atomicXor(&to->xored, i);
  atomicInc((unsigned *)&to->wrapped, 99);
  atomicDec((unsigned *)&to->down, 49);
  atomicAdd(&to->wide, 1ull << 33);
  atomicAdd(&to->real, 0.5f);
  atomicAdd(&to->exact, 0.25);
  if (atomicCAS(&to->taken, -1, i) == -1)
    atomicSub(&to->sum, 1000);
  bool done = false;
  while (!done)
    if (atomicExch(&to->lock, 1) == 0) {
      __threadfence();
      to->guarded += 2;
      __threadfence();
      atomicExch(&to->lock, 0);
      done = true;
    }
}

int main() {
  const int n = 10000;
  unsigned *host = new unsigned[n], *in, *bins, got[64], expected[64] = {0}, state = 1;
  for (int i = 0; i < n; i++)
    expected[(host[i] = next_random(&state)) % 64]++;
  CHECK(cudaMalloc(&in, n * 4));
  CHECK(cudaMalloc(&bins, sizeof got));
  CHECK(cudaMemset(bins, 0, sizeof got));
  CHECK(cudaMemcpy(in, host, n * 4, cudaMemcpyHostToDevice));
  histogram<<<5, 192>>>(in, n, bins);
  CHECK(cudaMemcpy(got, bins, sizeof got, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < 64; i++)
    wrong += got[i] != expected[i];
  printf("histogram: %d wrong\n", wrong);

  All zero = {}, after, *device;
  zero.least = 1000;
  zero.anded = -1;
  zero.taken = -1;
  CHECK(cudaMalloc(&device, sizeof zero));
  CHECK(cudaMemcpy(device, &zero, sizeof zero, cudaMemcpyHostToDevice));
  all<<<6, 64>>>(device);
  CHECK(cudaMemcpy(&after, device, sizeof after, cudaMemcpyDeviceToHost));
  int xored = 0;
  for (int i = 0; i < 384; i++)
    xored ^= i;
  printf("sum %d least %d largest %d and %x or %x xor %s\n", after.sum, after.least, after.largest,
         after.anded, after.ored, after.xored == xored ? "right" : "wrong");
  printf("inc %d dec %d wide %llx real %g exact %g guarded %d taken %s\n", after.wrapped, after.down,
         after.wide, after.real, after.exact, after.guarded, after.taken >= 0 ? "once" : "never");
  return 0;
}
