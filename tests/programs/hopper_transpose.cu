// Transposition by tensor copies in every swizzle mode: a tile is loaded, its elements are exchanged where the swizzle has put
// them, and it is stored.
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <vector>

/* Where byte `at` of a tile that is aligned to 1024 bytes lies. */
static __device__ __forceinline__ unsigned swizzled(unsigned at, unsigned mask) { return at ^ (at >> 3 & mask); }

/* Tiles of SIDE x SIDE floats; a row is as wide as the swizzle. */
template <int SIDE, unsigned MASK>
__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ __align__(1024) uint8_t in[SIDE * SIDE * 4];
  __shared__ __align__(1024) uint8_t out[SIDE * SIDE * 4];
  __shared__ __align__(8) uint64_t full;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_fence();
    barrier_expect(&full, sizeof in);
    tensor_load_2d(in, &from, blockIdx.x * SIDE, blockIdx.y * SIDE, &full);
  }
  __syncthreads();
  barrier_wait(&full, 0);
  for (unsigned i = threadIdx.x; i < SIDE * SIDE; i += blockDim.x)
    *(float *)&out[swizzled(i * 4, MASK)] = *(const float *)&in[swizzled((i % SIDE * SIDE + i / SIDE) * 4, MASK)];
  async_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    tensor_store_2d(&to, blockIdx.y * SIDE, blockIdx.x * SIDE, out);
    bulk_commit();
    bulk_wait_read<0>();
  }
}

template <int SIDE, unsigned MASK> static void run(const char *name, CUtensorMapSwizzle swizzle) {
  enum { WIDTH = 96 * SCALE, HEIGHT = 160 * SCALE };
  std::vector<float> from(WIDTH * HEIGHT), to(WIDTH * HEIGHT, -1.0f);
  for (size_t i = 0; i < from.size(); i++)
    from[i] = (float)i;
  float *at_from, *at_to;
  CHECK(cudaMalloc(&at_from, from.size() * 4));
  CHECK(cudaMalloc(&at_to, to.size() * 4));
  CHECK(cudaMemcpy(at_from, from.data(), from.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(at_to, to.data(), to.size() * 4, cudaMemcpyHostToDevice));
  CUtensorMap in = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, at_from, WIDTH, HEIGHT, WIDTH * 4, SIDE, SIDE, swizzle);
  CUtensorMap out = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, at_to, HEIGHT, WIDTH, HEIGHT * 4, SIDE, SIDE, swizzle);
  transpose<SIDE, MASK><<<dim3(WIDTH / SIDE, HEIGHT / SIDE), 128>>>(in, out);
  CHECK(cudaMemcpy(to.data(), at_to, to.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      wrong += to[x * HEIGHT + y] != from[y * WIDTH + x];
  printf("%s: %d wrong\n", name, wrong);
}

int main() {
  run<32, 0>("none", CU_TENSOR_MAP_SWIZZLE_NONE);
  run<8, 0x10>("32 bytes", CU_TENSOR_MAP_SWIZZLE_32B);
  run<16, 0x30>("64 bytes", CU_TENSOR_MAP_SWIZZLE_64B);
  run<32, 0x70>("128 bytes", CU_TENSOR_MAP_SWIZZLE_128B);
  return 0;
}
