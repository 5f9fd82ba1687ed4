// Bulk copies: a ring of buffers filled by cp.async.bulk, with mbarriers; bulk stores and reductions in groups.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

enum { STAGES = 4, TILE = 256, TILES = 37 * SCALE };

/* Each tile of 256 integers is loaded, changed and stored by a producer warp and three others. */
__global__ void ring(const int *from, int *to, int tiles) {
  __shared__ alignas(128) int buffer[STAGES][TILE];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(&full[i], 1);
      barrier_init(&empty[i], 96);
    }
    barrier_fence();
  }
  __syncthreads();
  if (warp == 0) {
    if (threadIdx.x == 0)
      for (int i = 0; i < tiles; i++) {
        int stage = i % STAGES, turn = i / STAGES;
        if (turn > 0)
          barrier_wait(&empty[stage], (turn - 1) & 1);
        barrier_expect(&full[stage], sizeof buffer[0]);
        bulk_load(buffer[stage], from + i * TILE, sizeof buffer[0], &full[stage]);
      }
  } else {
    for (int i = 0; i < tiles; i++) {
      int stage = i % STAGES;
      barrier_wait(&full[stage], i / STAGES & 1);
      for (int k = threadIdx.x - 32; k < TILE; k += 96)
        to[i * TILE + k] = buffer[stage][k] * 3 + k;
      barrier_arrive(&empty[stage]);
    }
  }
}

/* Stores from shared memory, in groups, and as reductions. */
__global__ void stores(int *plain, int *sums, unsigned *most) {
  __shared__ alignas(128) int data[512];
  for (int i = threadIdx.x; i < 512; i += blockDim.x)
    data[i] = i * i;
  async_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(plain, data, 1024);
    bulk_commit();
    bulk_store(plain + 256, data + 256, 1024);
    bulk_commit();
    bulk_wait_read<1>();
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(sums)),
                 "r"(shared_address(data)), "r"(2048)
                 : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(most)),
                 "r"(shared_address(data)), "r"(2048)
                 : "memory");
    bulk_commit();
    bulk_wait<0>();
  }
}

int main() {
  static int host[TILES * TILE], result[TILES * TILE];
  int *from, *to;
  for (int i = 0; i < TILES * TILE; i++)
    host[i] = i * 7 - 1000;
  CHECK(cudaMalloc(&from, sizeof host));
  CHECK(cudaMalloc(&to, sizeof host));
  CHECK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
  ring<<<1, 128>>>(from, to, TILES);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(result, to, sizeof host, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < TILES * TILE; i++)
    wrong += result[i] != host[i] * 3 + i % TILE;
  printf("ring: %d wrong of %d\n", wrong, TILES * TILE);

  CHECK(cudaMemset(to, 0, 4096 * 4));
  int *sums = to + 1024;
  unsigned *most = (unsigned *)to + 2048;
  CHECK(cudaMemset(most, 1, 2048));
  for (int i = 0; i < 3; i++)
    stores<<<2, 64>>>(to, sums, most);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(result, to, 4096 * 4, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < 512; i++)
    wrong += result[i] != i * i || result[1024 + i] != 6 * i * i ||
             (unsigned)result[2048 + i] != (i * i > 0x01010101 ? i * i : 0x01010101);
  printf("stores: %d wrong\n", wrong);
  printf("%08x\n", digest(result, sizeof result));
  return 0;
}
