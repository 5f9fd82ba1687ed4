// Blocks that take over the work of blocks which have not begun, until none is left: clusterlaunchcontrol.
// flags: -O2 -gencode arch=compute_100a,code=sm_100a -gencode arch=compute_100a,code=compute_100a
// only: exec
// exec: --machine blackwell
#include "hopper.h"

enum { BLOCKS = 256, THREADS = 64 };

static __device__ __forceinline__ void ask(void *answer, uint64_t *barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                   shared_address(answer)),
               "r"(shared_address(barrier))
               : "memory");
}

/* Whether there was another block, and its number. */
static __device__ __forceinline__ bool read_answer(ulonglong2 answer, unsigned *block) {
  unsigned is_there;
  asm volatile("{\n.reg .pred p; .reg .b128 w;\n"
               "mov.b128 w, {%2, %3};\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, w;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, w;\n}"
               : "=r"(is_there), "+r"(*block)
               : "l"(answer.x), "l"(answer.y));
  return is_there != 0;
}

static __global__ void work(unsigned *done, unsigned *began) {
  __shared__ __align__(16) ulonglong2 answer;
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    atomicAdd(began, 1);
  }
  __syncthreads();
  unsigned block = blockIdx.x, parity = 0;
  for (bool goes_on = true; goes_on; parity ^= 1) {
    if (threadIdx.x == 0) {
      barrier_expect(&barrier, sizeof answer);
      ask(&answer, &barrier);
    }
    atomicAdd(&done[block], 1); /* the block's work */
    barrier_wait(&barrier, parity);
    goes_on = read_answer(answer, &block);
    async_fence();
    __syncthreads();
  }
}

int main() {
  unsigned *counts, host[BLOCKS + 1], wrong = 0;
  CHECK(cudaMalloc(&counts, sizeof host));
  CHECK(cudaMemset(counts, 0, sizeof host));
  work<<<BLOCKS, THREADS>>>(counts, counts + BLOCKS);
  CHECK(cudaMemcpy(host, counts, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < BLOCKS; i++)
    wrong += host[i] != THREADS;
  printf("work of %u blocks wrong; %s\n", wrong, host[BLOCKS] < BLOCKS ? "some never began" : "all began");
  return 0;
}
