// A convolution with filters of 3 x 3: for each of their nine places an im2col copy of 64 pixels with 64 channels, beyond the
// edges zeros, times the weights of that place by wgmma. Sums are exact.
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper_tile.h"

#include <cuda_fp16.h>
#include <vector>

enum { IMAGES = 2 * SCALE, SIDE = 16, CHANNELS = TILE, FILTERS = TILE, PIXELS = IMAGES * SIDE * SIDE, ROOM_BYTES = 4 * TILE_BYTES + 1024 };

static __device__ __forceinline__ void load_pixels(uint8_t *to, const CUtensorMap *map, int pixel, int x, int y,
                                                   uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(to)),
               "l"(map), "r"(0), "r"(pixel % SIDE - 1), "r"(pixel / SIDE % SIDE - 1), "r"(pixel / SIDE / SIDE),
               "r"(shared_address(barrier)), "h"((uint16_t)x), "h"((uint16_t)y)
               : "memory");
}

/* 64 pixels of all filters. */
__global__ void __launch_bounds__(128)
    convolve(const __grid_constant__ CUtensorMap image, const __grid_constant__ CUtensorMap weights, float *out) {
  extern __shared__ uint8_t memory[];
  __shared__ __align__(8) uint64_t full[2];
  uint8_t *room = aligned_room(memory);
  int pixel = blockIdx.x * TILE;
  auto load = [&](int place) {
    uint8_t *to = room + place % 2 * 2 * TILE_BYTES;
    barrier_expect(&full[place % 2], 2 * TILE_BYTES);
    load_pixels(to, &image, pixel, place % 3, place / 3, &full[place % 2]);
    tensor_load_2d(to + TILE_BYTES, &weights, 0, place * FILTERS, &full[place % 2]);
  };
  if (threadIdx.x == 0) {
    barrier_init(&full[0], 1);
    barrier_init(&full[1], 1);
    barrier_fence();
    load(0);
    load(1);
  }
  __syncthreads();
  float d[32];
  for (int place = 0; place < 9; place++) {
    uint8_t *pixels = room + place % 2 * 2 * TILE_BYTES;
    barrier_wait(&full[place % 2], place / 2 & 1);
    wgmma_fence();
    multiply_tiles(d, pixels, pixels + TILE_BYTES, place > 0);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
    if (threadIdx.x == 0 && place + 2 < 9)
      load(place + 2);
  }
  for (int j = 0; j < 8; j++)
    for (int h = 0; h < 2; h++)
      *(float2 *)&out[(size_t)(pixel + first_row() + 8 * h) * FILTERS + 8 * j + threadIdx.x % 4 * 2] =
          make_float2(d[4 * j + 2 * h], d[4 * j + 2 * h + 1]);
}

static CUtensorMap map_image(void *data) {
  typedef CUresult (*encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                             const int *, const int *, cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave,
                             CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  CUtensorMap map;
  cuuint64_t size[] = {CHANNELS, SIDE, SIDE, IMAGES}, stride[] = {CHANNELS * 2, SIDE * CHANNELS * 2, SIDE * SIDE * CHANNELS * 2};
  cuuint32_t step[] = {1, 1, 1, 1};
  int lower[] = {-1, -1}, upper[] = {-1, -1};
  CUresult error = ((encode)driver_function("cuTensorMapEncodeIm2col"))(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, data, size, stride, lower, upper, CHANNELS, TILE, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeIm2col: %d\n", (int)error);
    exit(1);
  }
  return map;
}

int main() {
  std::vector<__half> image(PIXELS * CHANNELS), weights(9 * FILTERS * CHANNELS);
  std::vector<float> out(PIXELS * FILTERS);
  unsigned state = 5;
  for (__half &value : image)
    value = __half((float)(next_random(&state) % 7) - 3);
  for (__half &value : weights)
    value = __half((float)(next_random(&state) % 5) - 2);
  float *at_out = to_device(out.data(), out.size());
  CUtensorMap of_image = map_image(to_device(image.data(), image.size()));
  CUtensorMap of_weights = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, to_device(weights.data(), weights.size()), CHANNELS,
                                  9 * FILTERS, CHANNELS * 2, CHANNELS, FILTERS, CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(cudaFuncSetAttribute(convolve, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM_BYTES));
  convolve<<<PIXELS / TILE, 128, ROOM_BYTES>>>(of_image, of_weights, at_out);
  CHECK(cudaMemcpy(out.data(), at_out, out.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int pixel = 0; pixel < PIXELS; pixel++)
    for (int filter = 0; filter < FILTERS; filter++) {
      float sum = 0;
      for (int place = 0; place < 9; place++) {
        int x = pixel % SIDE + place % 3 - 1, y = pixel / SIDE % SIDE + place / 3 - 1;
        if (x < 0 || x >= SIDE || y < 0 || y >= SIDE)
          continue;
        const __half *from = &image[(size_t)((pixel / SIDE / SIDE * SIDE + y) * SIDE + x) * CHANNELS];
        for (int i = 0; i < CHANNELS; i++)
          sum += (float)from[i] * (float)weights[(size_t)(place * FILTERS + filter) * CHANNELS + i];
      }
      wrong += out[(size_t)pixel * FILTERS + filter] != sum;
    }
  printf("convolution: %d wrong, %08x\n", wrong, digest(out.data(), out.size() * 4));
  return wrong != 0;
}
