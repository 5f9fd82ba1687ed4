// im2col copies of tensors of one, two and three dimensions of space: corners, strides, offsets, starts inside a row,
// pixels that leave the image, and the next image.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <vector>

enum { ROOM = 32768 };

typedef CUresult (*encode_im2col)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                  const cuuint64_t *, const int *, const int *, cuuint32_t, cuuint32_t,
                                  const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                  CUtensorMapFloatOOBfill);

template <int RANK>
__global__ void load(const __grid_constant__ CUtensorMap map, int c, int w, int h, int d, int n, unsigned ow, unsigned oh,
                     unsigned od, unsigned bytes, uint4 *to) {
  extern __shared__ __align__(1024) uint8_t room[];
  __shared__ uint64_t barrier;
  fill_room(room, ROOM, &barrier);
  if (threadIdx.x == 0) {
    uint32_t place = shared_address(room), signal = shared_address(&barrier);
    barrier_expect(&barrier, bytes);
    if (RANK == 3)
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5], {%6};" ::"r"(
                       place),
                   "l"(&map), "r"(c), "r"(w), "r"(n), "r"(signal), "h"((uint16_t)ow)
                   : "memory");
    if (RANK == 4)
      asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(
                       place),
                   "l"(&map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(signal), "h"((uint16_t)ow), "h"((uint16_t)oh)
                   : "memory");
    if (RANK == 5)
      asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10};" ::"r"(
                       place),
                   "l"(&map), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "r"(signal), "h"((uint16_t)ow), "h"((uint16_t)oh),
                   "h"((uint16_t)od)
                   : "memory");
  }
  show_room(room, ROOM, &barrier, to);
}

typedef struct shape {
  unsigned rank;
  cuuint64_t size[5];
  int lower[3], upper[3];
  cuuint32_t channels, pixels, step[5];
  CUtensorMapSwizzle swizzle;
} shape;

static uint8_t *source, *target;
static encode_im2col encode;

/* A tensor of halves, dense. */
static CUtensorMap make_map(const shape &s, void *data) {
  CUtensorMap map;
  cuuint64_t stride[4], bytes = 2;
  for (unsigned i = 0; i + 1 < s.rank; i++)
    stride[i] = bytes *= s.size[i];
  CUresult error = encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, s.rank, data, s.size, stride, s.lower, s.upper, s.channels,
                          s.pixels, s.step, CU_TENSOR_MAP_INTERLEAVE_NONE, s.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (error != CUDA_SUCCESS)
    printf("map: %d ", (int)error);
  return map;
}

static void try_load(const char *name, const shape &s, int c, int w, int h, int d, int n, unsigned ow, unsigned oh, unsigned od) {
  static std::vector<uint16_t> result(ROOM / 2);
  CUtensorMap map = make_map(s, source);
  void (*kernels[])(const CUtensorMap, int, int, int, int, int, unsigned, unsigned, unsigned, unsigned, uint4 *) = {load<3>, load<4>, load<5>};
  auto kernel = kernels[s.rank - 3];
  kernel<<<1, 128, ROOM>>>(map, c, w, h, d, n, ow, oh, od, s.channels * s.pixels * 2, (uint4 *)target);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(result.data(), target, ROOM, cudaMemcpyDeviceToHost));
  printf("%s: %08x:", name, digest(result.data(), ROOM));
  for (unsigned i = 0; i < s.pixels && i < 24 && !s.swizzle; i++)
    printf(" %u", result[i * s.channels]);
  printf("\n");
}

int main() {
  std::vector<uint16_t> host(32768);
  for (unsigned i = 0; i < host.size(); i++)
    host[i] = (uint16_t)(i + 1);
  CHECK(cudaMalloc(&source, 65536));
  CHECK(cudaMalloc(&target, 65536));
  CHECK(cudaMemcpy(source, host.data(), 65536, cudaMemcpyHostToDevice));
  encode = (encode_im2col)driver_function("cuTensorMapEncodeIm2col");
  /* 16 channels, 9 x 7 pixels, 3 images: as for a filter of 3 x 3 with padding 1 */
  shape plain = {4, {16, 9, 7, 3}, {-1, -1}, {-1, -1}, 16, 64, {1, 1, 1, 1}};
  for (unsigned oh = 0; oh < 3; oh++)
    for (unsigned ow = 0; ow < 3; ow++) {
      char name[40];
      snprintf(name, sizeof name, "filter %u, %u", ow, oh);
      try_load(name, plain, 0, -1, -1, 0, 0, ow, oh, 0);
    }
  try_load("start inside", plain, 0, 3, 2, 0, 1, 1, 1, 0);
  try_load("last image", plain, 0, 5, 4, 0, 2, 2, 2, 0);
  shape valid = {4, {16, 9, 7, 3}, {0, 0}, {-2, -2}, 16, 50, {1, 1, 1, 1}};
  try_load("without padding", valid, 0, 0, 0, 0, 0, 1, 2, 0);
  shape strided = {4, {16, 9, 7, 3}, {-1, -1}, {-1, -1}, 16, 40, {1, 2, 2, 1}};
  try_load("stride 2", strided, 0, -1, -1, 0, 0, 1, 0, 0);
  try_load("stride 2 from inside", strided, 0, 1, 1, 0, 0, 2, 2, 0);
  shape wide = {4, {16, 9, 7, 3}, {-2, -1}, {1, 0}, 8, 64, {1, 3, 2, 1}};
  try_load("stride 3 and 2", wide, 8, -2, -1, 0, 0, 1, 1, 0);
  shape part = {4, {32, 9, 7, 3}, {-1, -1}, {-1, -1}, 32, 48, {1, 1, 1, 1}, CU_TENSOR_MAP_SWIZZLE_64B};
  try_load("channels behind the end, swizzled", part, 16, -1, -1, 0, 0, 1, 1, 0);
  shape line = {3, {16, 30, 4}, {-2}, {-1}, 16, 60, {1, 1, 1}};
  try_load("3d", line, 0, -2, 0, 0, 0, 1, 0, 0);
  shape space = {5, {8, 5, 4, 3, 3}, {-1, -1, 0}, {-1, 0, -1}, 8, 100, {1, 1, 2, 1, 1}};
  try_load("5d", space, 0, -1, -1, 0, 0, 1, 1, 1);
  try_load("5d from inside", space, 0, 2, 1, 1, 1, 0, 1, 0);
  return 0;
}
