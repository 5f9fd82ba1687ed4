// Rows of pixels of many images by im2col::w, with halo pixels for a filter three wide, on a device of compute capability 10.0.
// flags: -O2 -gencode arch=compute_100a,code=sm_100a -gencode arch=compute_100a,code=compute_100a
// only: exec
// exec: --machine blackwell
// says: swizzle 0; 64, 128 bytes, and 128 with atoms of 32 can be
#include "hopper.h"

#include <vector>

enum { CHANNELS = 32, WIDTH = 20, HEIGHT = 4, IMAGES = 8, PIXELS = 64, HALO = 2 };
enum { ROW_BYTES = 2 * CHANNELS, BOX_BYTES = (PIXELS + HALO) * ROW_BYTES };

static __global__ void load(const __grid_constant__ CUtensorMap map, uint16_t *out) {
  __shared__ __align__(1024) unsigned char tile[BOX_BYTES];
  __shared__ uint64_t barrier;
  fill_room(tile, BOX_BYTES, &barrier);
  if (threadIdx.x == 0) {
    barrier_expect(&barrier, BOX_BYTES);
    asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
                 "%5}], [%6], {%7, %8};" ::"r"(shared_address(tile)),
                 "l"(&map), "r"(0), "r"(0), "r"(2), "r"(1), "r"(shared_address(&barrier)), "h"((short)HALO), "h"((short)0)
                 : "memory");
  }
  barrier_wait(&barrier, 0);
  for (int pixel = threadIdx.x; pixel < PIXELS + HALO; pixel += blockDim.x) {
    unsigned at = pixel * ROW_BYTES;
    out[pixel] = *(uint16_t *)(tile + (at ^ (at >> 3 & 0x30)));
  }
}

typedef CUresult (*encode_wide)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                const cuuint64_t *, int, int, cuuint32_t, cuuint32_t, const cuuint32_t *,
                                CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static CUresult make_map(CUtensorMap *map, void *data, CUtensorMapSwizzle swizzle) {
  void *function = NULL;
  cudaDriverEntryPointQueryResult status;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2colWide", &function, 12080, cudaEnableDefault, &status));
  cuuint64_t size[] = {CHANNELS, WIDTH, HEIGHT, IMAGES};
  cuuint64_t stride[] = {ROW_BYTES, ROW_BYTES * WIDTH, ROW_BYTES * WIDTH * HEIGHT};
  cuuint32_t step[] = {1, 1, 1, 1};
  return ((encode_wide)function)(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 4, data, size, stride, 0, -HALO, CHANNELS, PIXELS, step,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, swizzle,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  std::vector<uint16_t> image((size_t)CHANNELS * WIDTH * HEIGHT * IMAGES);
  for (size_t i = 0; i < image.size(); i++)
    image[i] = (uint16_t)(i / CHANNELS); /* the number of the pixel */
  void *data, *out;
  uint16_t pixel[PIXELS + HALO];
  CHECK(cudaMalloc(&data, image.size() * 2));
  CHECK(cudaMalloc(&out, sizeof pixel));
  CHECK(cudaMemcpy(data, image.data(), image.size() * 2, cudaMemcpyHostToDevice));
  alignas(64) static CUtensorMap map;
  printf("without a swizzle: %d\n", (int)make_map(&map, data, CU_TENSOR_MAP_SWIZZLE_NONE));
  if (make_map(&map, data, CU_TENSOR_MAP_SWIZZLE_64B) != CUDA_SUCCESS)
    return 1;
  load<<<1, 64>>>(map, (uint16_t *)out);
  CHECK(cudaMemcpy(pixel, out, sizeof pixel, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < PIXELS + HALO; i++) {
    int at = i < PIXELS ? i : PIXELS - 1, row = WIDTH - HALO;
    int expected = ((1 + at / row) * HEIGHT + 2) * WIDTH + at % row + (i - at);
    wrong += pixel[i] != expected;
  }
  printf("%d pixels wrong; from %d on, last %d, halo %d and %d\n", wrong, pixel[0], pixel[PIXELS - 1], pixel[PIXELS],
         pixel[PIXELS + 1]);
  return 0;
}
