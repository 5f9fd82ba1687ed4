// A persistent kernel of which two warp groups take turns (ping-pong): while one multiplies, the other stores; a third loads for
// both. Each launch begins before the kernel in front of it has ended (programmatic dependent launch) and waits for its results:
// products of products, which are exact.
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
// exec: --threads 2
#include "hopper_tile.h"

#include <cuda_fp16.h>
#include <vector>

enum { SIZE = 256 * SCALE, ACROSS = SIZE / TILE, TILES = ACROSS * ACROSS, STAGES = 4, BLOCKS = 3 * SCALE * SCALE, STAGE_BYTES = 2 * TILE_BYTES };
enum { ROOM_BYTES = STAGES * STAGE_BYTES + 1024 };

/* Values modulo 5, so that products of products stay small. */
static __host__ __device__ int reduced(int sum) { return ((sum % 5) + 5) % 5 - 2; }

static __device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
static __device__ __forceinline__ void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
static __device__ __forceinline__ void turn_wait(int group) { asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory"); }
static __device__ __forceinline__ void turn_pass(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory"); }

__global__ void fill(__half *a, int count) {
  let_next_kernel_begin();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    a[i] = __half((float)reduced(i * 7 + i / SIZE * 3));
}

/* Loads the tiles of both groups in the order in which they multiply. */
static __device__ void produce(uint8_t *room, uint64_t *full, uint64_t *empty, const CUtensorMap *a, const CUtensorMap *b) {
  int step = 0;
  for (int tile = blockIdx.x; tile < TILES; tile += BLOCKS)
    for (int k = 0; k < ACROSS; k++, step++) {
      int stage = step % STAGES;
      if (step >= STAGES)
        barrier_wait(&empty[stage], (step / STAGES - 1) & 1);
      barrier_expect(&full[stage], STAGE_BYTES);
      tensor_load_2d(room + stage * STAGE_BYTES, a, k * TILE, tile / ACROSS * TILE, &full[stage]);
      tensor_load_2d(room + stage * STAGE_BYTES + TILE_BYTES, b, k * TILE, tile % ACROSS * TILE, &full[stage]);
    }
}

__global__ void __launch_bounds__(384)
    multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, __half *c) {
  extern __shared__ uint8_t memory[];
  __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
  uint8_t *room = aligned_room(memory);
  int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(&full[i], 1);
      barrier_init(&empty[i], 1);
    }
    barrier_fence();
  }
  __syncthreads();
  let_next_kernel_begin();
  wait_for_kernel_before();
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 256) {
      asm volatile("fence.proxy.async;" ::: "memory");
      produce(room, full, empty, &a, &b);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (group == 1)
    turn_pass(1); /* group 0 begins */
  float d[32];
  for (int i = group, tile = blockIdx.x + group * BLOCKS; tile < TILES; i += 2, tile += 2 * BLOCKS) {
    turn_wait(group);
    for (int k = 0; k < ACROSS; k++) {
      int step = i * ACROSS + k, stage = step % STAGES;
      barrier_wait(&full[stage], step / STAGES & 1);
      wgmma_fence();
      multiply_tiles(d, room + stage * STAGE_BYTES, room + stage * STAGE_BYTES + TILE_BYTES, k > 0);
      wgmma_commit();
      wgmma_wait<0>();
      if (threadIdx.x % 128 == 0)
        barrier_arrive(&empty[stage]);
    }
    if (tile + BLOCKS < TILES)
      turn_pass(group);
    for (int j = 0; j < 8; j++)
      for (int h = 0; h < 2; h++)
        *(__half2 *)&c[(tile / ACROSS * TILE + first_row() + 8 * h) * SIZE + tile % ACROSS * TILE + 8 * j + threadIdx.x % 4 * 2] =
            __floats2half2_rn((float)reduced((int)d[4 * j + 2 * h]), (float)reduced((int)d[4 * j + 2 * h + 1]));
  }
}

template <class... Arguments>
static void launch(void (*kernel)(Arguments...), int blocks, int threads, size_t shared_bytes, Arguments... arguments) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(blocks);
  how.blockDim = dim3(threads);
  how.dynamicSmemBytes = shared_bytes;
  how.attrs = &attribute;
  how.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&how, kernel, arguments...));
}

int main() {
  enum { COUNT = SIZE * SIZE, LAUNCHES = 3 };
  std::vector<int> last(COUNT), first, next(COUNT);
  std::vector<__half> got(COUNT);
  __half *at[LAUNCHES + 1];
  CUtensorMap map[LAUNCHES + 1];
  for (int i = 0; i <= LAUNCHES; i++) {
    CHECK(cudaMalloc(&at[i], COUNT * sizeof(__half)));
    map[i] = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, at[i], SIZE, SIZE, SIZE * 2, TILE, TILE, CU_TENSOR_MAP_SWIZZLE_128B);
  }
  CHECK(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM_BYTES));
  fill<<<8, 256>>>(at[0], (int)COUNT);
  for (int i = 0; i < LAUNCHES; i++)
    launch(multiply, BLOCKS, 384, ROOM_BYTES, map[i], map[0], at[i + 1]);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < COUNT; i++)
    last[i] = reduced(i * 7 + i / SIZE * 3);
  first = last;
  for (int i = 1; i <= LAUNCHES; i++) {
    int wrong = 0;
    CHECK(cudaMemcpy(got.data(), at[i], COUNT * sizeof(__half), cudaMemcpyDeviceToHost));
    for (int row = 0; row < SIZE; row++)
      for (int column = 0; column < SIZE; column++) {
        int sum = 0;
        for (int k = 0; k < SIZE; k++)
          sum += last[row * SIZE + k] * first[column * SIZE + k];
        next[row * SIZE + column] = reduced(sum);
        wrong += (int)(float)got[row * SIZE + column] != next[row * SIZE + column];
      }
    printf("product %d: %d wrong, %08x\n", i, wrong, digest(got.data(), COUNT * sizeof(__half)));
    last = next;
  }
  return 0;
}
