// Blocks that end while a bulk copy is on its way into them: the launch ends well, and shared memory of the blocks beside
// them and after them stays theirs.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

enum { BYTES = 16384, BLOCKS = 512 * SCALE, MARK = 7 };

/* Every other block leaves; the others look at their memory for a while. */
__global__ void leave(const unsigned char *from, int *wrong) {
  __shared__ alignas(128) unsigned char buffer[BYTES];
  __shared__ uint64_t barrier;
  if (blockIdx.x % 2 == 0) {
    if (threadIdx.x == 0) {
      barrier_init(&barrier, 1);
      barrier_fence();
      barrier_expect(&barrier, BYTES);
      bulk_load(buffer, from, BYTES, &barrier);
    }
    return;
  }
  for (int i = threadIdx.x; i < BYTES; i += blockDim.x)
    buffer[i] = MARK;
  __syncthreads();
  for (int round = 0; round < 4; round++)
    for (int i = threadIdx.x; i < BYTES; i += blockDim.x)
      if (((volatile unsigned char *)buffer)[i] != MARK)
        atomicAdd(wrong, 1);
}

int main() {
  unsigned char *from;
  int *wrong, found = -1;
  CHECK(cudaMalloc(&from, BYTES));
  CHECK(cudaMemset(from, MARK + 2, BYTES));
  CHECK(cudaMalloc(&wrong, sizeof *wrong));
  CHECK(cudaMemset(wrong, 0, sizeof *wrong));
  leave<<<BLOCKS, 128>>>(from, wrong);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
  printf("leave: %d wrong\n", found);
  return found != 0;
}
