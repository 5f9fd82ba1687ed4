// A program whose device code is compiled separately and linked: functions, variables, constants, templates and
// pointers to functions of another part, and names that both parts keep for themselves.
// flags: -rdc=true -lineinfo
// with: parts/linked.cu
// table: linked\.cu:[0-9]+: stride 32
#include "check.h"
#include "parts/linked.h"

static __device__ int step = 1;
static __device__ int advance(int x) { return x + step; }

__device__ int *where = &counter; // an address in another part
__device__ Function chosen[2] = {twice, negate};

__global__ void use(int *out) {
  int i = threadIdx.x;
  out[i] = advance(i) + table[i & 3] + chosen[i & 1](i) + apply(doubled<int>, i);
  atomicAdd(where, 1);
}

__global__ void use_shared(int *out) { out[threadIdx.x] = column(threadIdx.x); }

int main() {
  int *data, host[32], count = 0, wrong = 0;
  CHECK(cudaMalloc(&data, sizeof host));
  use<<<1, 32>>>(data);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    wrong += host[i] != (i + 1) + 10 * ((i & 3) + 1) + (i & 1 ? -i : 2 * i) + 2 * i;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  printf("%d wrong, counter %d\n", wrong, count);
  int two = 2;
  CHECK(cudaMemcpyToSymbol(step, &two, sizeof two));
  use<<<1, 1>>>(data);
  CHECK(cudaMemcpy(host, data, sizeof *host, cudaMemcpyDeviceToHost));
  printf("%d %d\n", host[0], other_advance());
  use_shared<<<1, 32>>>(data);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  printf("%d %d\n", host[0], host[31]);
  return 0;
}
