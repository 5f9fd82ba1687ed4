// Tensor copies: every swizzle mode, boxes that leave the tensor on all sides, fills, steps between elements, one to
// five dimensions, addresses in shared memory that are no multiples of the pattern, stores and reductions.
// says: cuTensorMapEncodeTiled: rows of the box have 256 bytes; with the 128-byte swizzle they can have 128
// says: cuTensorMapEncodeTiled: the 128-byte swizzle with atoms of 32 or 64 bytes needs compute capability 10.0
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

enum { ROOM = 49152 };

/* Loads a box to an offset in shared memory and writes down all of it. */
template <int RANK>
__global__ void load(const __grid_constant__ CUtensorMap map, int4 at, int last, unsigned offset, unsigned bytes,
                     uint4 *to) {
  extern __shared__ __align__(1024) uint8_t room[];
  __shared__ uint64_t barrier;
  fill_room(room, ROOM, &barrier);
  if (threadIdx.x == 0) {
    uint32_t place = shared_address(room + offset), signal = shared_address(&barrier);
    barrier_expect(&barrier, bytes);
    if (RANK == 1)
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(place),
                   "l"(&map), "r"(at.x), "r"(signal)
                   : "memory");
    if (RANK == 2)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(place),
                   "l"(&map), "r"(at.x), "r"(at.y), "r"(signal)
                   : "memory");
    if (RANK == 3)
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                       place),
                   "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(signal)
                   : "memory");
    if (RANK == 4)
      asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
                       place),
                   "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(signal)
                   : "memory");
    if (RANK == 5)
      asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(
                       place),
                   "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w), "r"(last), "r"(signal)
                   : "memory");
  }
  show_room(room, ROOM, &barrier, to);
}

/* The other way: shared memory, which holds the numbers of its words, to a box. */
template <bool ADDS> __global__ void store(const __grid_constant__ CUtensorMap map, int x, int y, unsigned offset) {
  extern __shared__ __align__(1024) uint32_t words[];
  for (unsigned i = threadIdx.x; i < ROOM / 4; i += blockDim.x)
    words[i] = i;
  async_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t place = shared_address(words) + offset;
    if (ADDS)
      asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                   "r"(x), "r"(y), "r"(place)
                   : "memory");
    else
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
                   "r"(y), "r"(place)
                   : "memory");
    bulk_commit();
    bulk_wait<0>();
  }
}

static uint8_t *source, *target;
static encode_tiled encode;
static std::vector<uint8_t> result(ROOM), host(65536);

typedef struct shape {
  CUtensorMapDataType type;
  unsigned bytes, rank;
  cuuint64_t size[5], stride[4];
  cuuint32_t box[5], step[5];
  CUtensorMapSwizzle swizzle;
  CUtensorMapFloatOOBfill fill;
} shape;

static bool make_map(const shape &s, void *data, CUtensorMap &map) {
  CUresult error = encode(&map, s.type, s.rank, data, s.size, s.stride, s.box, s.step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          s.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, s.fill);
  if (error != CUDA_SUCCESS) {
    printf("map: %d\n", (int)error);
    return false;
  }
  return true;
}

/* Loads a box and prints what came: where the bytes are that differ from the pattern before. */
static int only = -1, tried; /* with an argument: the load to try, each in a process of its own */

static void try_load(const char *name, const shape &s, int4 at, int last, unsigned offset) {
  CUtensorMap map;
  bool is_left_out = only >= 0 && tried != only;
  tried++;
  memset(result.data(), 0, ROOM);
  if (is_left_out)
    return;
  if (only >= 0)
    printf("%s: ", name);
  if (!make_map(s, source, map))
    return;
  unsigned bytes = s.bytes;
  for (unsigned i = 0; i < s.rank; i++)
    bytes *= i ? (s.box[i] + s.step[i] - 1) / s.step[i] : s.box[i];
  void (*kernels[])(const CUtensorMap, int4, int, unsigned, unsigned, uint4 *) = {load<1>, load<2>, load<3>, load<4>, load<5>};
  auto kernel = kernels[s.rank - 1];
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM));
  kernel<<<1, 128, ROOM>>>(map, at, last, offset, bytes, (uint4 *)target);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(result.data(), target, ROOM, cudaMemcpyDeviceToHost));
  unsigned first = ROOM, end = 0;
  for (unsigned i = 0; i < ROOM; i++)
    if (result[i] != 0xee) {
      first = i < first ? i : first;
      end = i + 1;
    }
  printf("%s: bytes %u to %u, %08x", name, first, end, digest(result.data(), ROOM));
  printf(" %02x%02x%02x%02x\n", result[offset], result[offset + 1], result[offset + 2], result[offset + 3]);
}

/* Says which 16 bytes of a box of bytes lie where, for the first 40 places. */
static void show_pieces(const shape &s, int4 at, unsigned offset) {
  if (only >= 0 && tried != only + 1)
    return;
  unsigned per_row = s.box[0] / 16;
  printf(" ");
  for (unsigned place = 0; place < 40; place++) {
    int found = -1;
    for (unsigned piece = 0; piece < per_row * s.box[1] && found < 0; piece++) {
      const uint8_t *from = host.data() + (at.y + piece / per_row) * s.stride[0] + at.x + piece % per_row * 16;
      if (memcmp(result.data() + offset + 16 * place, from, 16) == 0)
        found = (int)piece;
    }
    printf(" %d", found);
  }
  printf("\n");
}

static void load_all() {
  static const char *const names[] = {"none", "32", "64", "128", "128 by 32", "128 by 32 flipped", "128 by 64"};
  char name[100];
  for (int swizzle = 0; swizzle <= 6; swizzle++)
    for (unsigned offset = 0; offset <= 1024; offset += swizzle ? 128 : 896) {
      cuuint32_t width = swizzle > 3 ? 128 : swizzle ? 16u << swizzle : 128;
      shape s = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 2, {400, 60}, {512}, {width, 24}, {1, 1}, (CUtensorMapSwizzle)swizzle};
      snprintf(name, sizeof name, "swizzle %s at %u", names[swizzle], offset);
      try_load(name, s, make_int4(48, 5, 0, 0), 0, offset);
      show_pieces(s, make_int4(48, 5, 0, 0), offset);
      if (swizzle && swizzle <= 3 && offset == 0) { /* rows shorter than the swizzle */
        for (cuuint32_t narrow = 16; narrow < width; narrow += 16) {
          s.box[0] = narrow;
          snprintf(name, sizeof name, "swizzle %s, rows of %u", names[swizzle], narrow);
          try_load(name, s, make_int4(48, 5, 0, 0), 0, offset);
          show_pieces(s, make_int4(48, 5, 0, 0), offset);
        }
      }
    }
  for (int y = -10; y <= 50; y += 20)
    for (int x = -24; x <= 104; x += 32) {
      shape s = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 2, {100, 60}, {224}, {32, 16}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_64B};
      snprintf(name, sizeof name, "box at %d, %d", x, y);
      try_load(name, s, make_int4(x, y, 0, 0), 0, 0);
    }
  static const struct {
    CUtensorMapDataType type;
    unsigned bytes;
    const char *name;
  } types[] = {{CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, "f16"},     {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, "bf16"},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, "f32"},     {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, "f64"},
               {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, "ftz"}, {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, "tf32"},
               {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4, "tf32 ftz"}};
  for (auto &type : types)
    for (int fill = 0; fill < 2; fill++) {
      shape s = {type.type, type.bytes, 2, {40, 30}, {512}, {16, 8}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_NONE, (CUtensorMapFloatOOBfill)fill};
      snprintf(name, sizeof name, "%s, fill %d", type.name, fill);
      try_load(name, s, make_int4(-16 / (int)type.bytes, 25, 0, 0), 0, 0);
      snprintf(name, sizeof name, "%s inside", type.name);
      try_load(name, s, make_int4(16 / (int)type.bytes, 5, 0, 0), 0, 0);
    }
  shape one = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 1, {1000}, {}, {64}, {1}};
  try_load("1d", one, make_int4(960, 0, 0, 0), 0, 0);
  for (unsigned step = 1; step <= 4; step++) {
    shape s = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 3, {40, 20, 9}, {192, 4096}, {8, 8, 5}, {1, step, step > 2 ? 2u : 1u}};
    snprintf(name, sizeof name, "3d, steps of %u", step);
    try_load(name, s, make_int4(4, 3, -1, 0), 0, 0);
    s.step[0] = step;
    snprintf(name, sizeof name, "3d, steps of %u in rows too", step);
    try_load(name, s, make_int4(4, 3, -1, 0), 0, 0);
  }
  shape four = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 4, {64, 10, 6, 5}, {64, 640, 4096}, {32, 3, 4, 2}, {1, 1, 1, 1}, CU_TENSOR_MAP_SWIZZLE_32B};
  try_load("4d", four, make_int4(16, 8, -2, 3), 0, 256);
  shape five = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 5, {24, 5, 6, 3, 4}, {48, 240, 2048, 8192}, {16, 3, 2, 2, 3}, {1, 1, 1, 1, 1}, CU_TENSOR_MAP_SWIZZLE_32B};
  try_load("5d", five, make_int4(8, 2, 3, 1), 2, 512);
}

static void store_all() {
  char name[100];
  for (int swizzle = 0; swizzle <= 3; swizzle++)
    for (int adds = 0; adds < 2; adds++) {
      cuuint32_t width = swizzle ? 4u << swizzle : 64;
      shape s = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 2, {200, 50}, {832}, {width, 24}, {1, 1}, (CUtensorMapSwizzle)swizzle};
      CHECK(cudaMemset(target, 7, 65536));
      CUtensorMap map;
      if (!make_map(s, target, map))
        continue;
      auto kernel = adds ? store<true> : store<false>;
      CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM));
      kernel<<<1, 128, ROOM>>>(map, 188, 40, 1024 + 384 * swizzle);
      kernel<<<1, 128, ROOM>>>(map, 4, 2, 1024);
      CHECK(cudaDeviceSynchronize());
      std::vector<uint8_t> all(65536);
      CHECK(cudaMemcpy(all.data(), target, all.size(), cudaMemcpyDeviceToHost));
      snprintf(name, sizeof name, "%s, swizzle %d", adds ? "sum" : "store", swizzle);
      printf("%s: %08x\n", name, digest(all.data(), all.size()));
    }
}

int main(int count, char **) {
  while (count > 1) { /* each load by itself, so that one that fails does not end the others */
    only++;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
      break;
    int status;
    if (waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) == 9))
      return 0;
  }
  unsigned state = 1;
  for (auto &byte : host)
    byte = (uint8_t)next_random(&state);
  for (unsigned i = 0; i + 4 <= 65536; i += 28) /* some denormal numbers */
    host[i + 3] = host[i + 2] = 0;
  CHECK(cudaMalloc(&source, host.size()));
  CHECK(cudaMalloc(&target, host.size()));
  CHECK(cudaMemcpy(source, host.data(), host.size(), cudaMemcpyHostToDevice));
  encode = (encode_tiled)driver_function("cuTensorMapEncodeTiled");
  load_all();
  if (only >= 0)
    return only >= tried ? 9 : 0;
  store_all();
  CUtensorMap map;
  cuuint64_t size[] = {64, 64}, stride[] = {256};
  cuuint32_t box[] = {64, 8}, step[] = {1, 1};
  CUresult refused = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, source, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                            CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  box[0] = 32;
  CUresult newer = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, source, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          (CUtensorMapSwizzle)4, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return refused != CUDA_ERROR_INVALID_VALUE || newer != CUDA_ERROR_INVALID_VALUE;
}
