// A matrix product as libraries for Hopper do it: a producer warp group that gives up registers and fills four stages by
// tensor copies with a swizzle of 128 bytes, multicast to a cluster of two; two consumer warp groups with m64n128k16
// each, one group of products in flight; stages released by one remote arrival for each; an epilogue through shared
// memory and a tensor store. f16 to f32 and to f16, and e4m3; sums are exact.
// exec: --workers 2
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper.h"

#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector>

enum { TILE_M = 128, TILE_N = 128, ROW_BYTES = 128, STAGES = 4, STAGE_BYTES = (TILE_M + TILE_N) * ROW_BYTES };
enum { SHARED_BYTES = STAGES * STAGE_BYTES + TILE_M * TILE_N * 4 + 1024 };

static __device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

static __device__ __forceinline__ void load_multicast(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier,
                                                      uint16_t blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "h"(blocks)
               : "memory");
}

static __device__ __forceinline__ void arrive_at(uint64_t *barrier, uint32_t rank) {
  asm volatile("{\n.reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(barrier)),
               "r"(rank)
               : "memory");
}

struct half_product {
  typedef __half element;
  static const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  static __device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int add) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0;\n}"
                 :
                 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "l"(a), "l"(b), "r"(add));
  }
};

struct byte_product {
  typedef __nv_fp8_e4m3 element;
  static const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  static __device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int add) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1;\n}"
                 :
                 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "l"(a), "l"(b), "r"(add));
  }
};

/* C = A B^T: both operands are stored along K. */
template <class Product>
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, int steps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
  enum { STEP = ROW_BYTES / sizeof(typename Product::element) };
  uint8_t *room = (uint8_t *)(((uintptr_t)memory + 1023) & ~(uintptr_t)1023);
  unsigned group = threadIdx.x / 128, rank = cluster_rank();
  int m = blockIdx.x * TILE_M, n = blockIdx.y * TILE_N;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(&full[i], 1);
      barrier_init(&empty[i], 4); /* two consumers of each of two blocks */
    }
    barrier_fence();
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    uint32_t is_elected = 0;
    if (threadIdx.x < 32)
      asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(is_elected));
    if (is_elected) {
      asm volatile("prefetch.tensormap [%0];" ::"l"(&map_a) : "memory");
      for (int i = 0; i < steps; i++) {
        int stage = i % STAGES;
        if (i >= STAGES)
          barrier_wait(&empty[stage], (i / STAGES - 1) & 1);
        uint8_t *a = room + stage * STAGE_BYTES, *b = a + TILE_M * ROW_BYTES;
        barrier_expect(&full[stage], STAGE_BYTES);
        tensor_load_2d(a, &map_a, i * STEP, m, &full[stage]);
        /* Each block loads half of B for both. */
        load_multicast(b + rank * (TILE_N / 2) * ROW_BYTES, &map_b, i * STEP, n + rank * (TILE_N / 2), &full[stage], 3);
      }
    }
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[64];
  for (int i = 0; i < steps; i++) {
    int stage = i % STAGES;
    barrier_wait(&full[stage], i / STAGES & 1);
    uint32_t a = shared_address(room) + stage * STAGE_BYTES + (group - 1) * 64 * ROW_BYTES;
    uint32_t b = shared_address(room) + stage * STAGE_BYTES + TILE_M * ROW_BYTES;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
      Product::multiply(d, descriptor(a + 32 * k, 16, 1024, 1), descriptor(b + 32 * k, 16, 1024, 1), i > 0 || k > 0);
    wgmma_commit();
    wgmma_wait<1>();
    if (i > 0 && threadIdx.x % 128 < 2)
      arrive_at(&empty[(i - 1) % STAGES], threadIdx.x % 128);
  }
  wgmma_wait<0>();
  float *out = (float *)(room + STAGES * STAGE_BYTES) + (group - 1) * 64 * TILE_N;
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  /* Four boxes of 32 columns, each swizzled by 128 bytes. */
  for (int j = 0; j < 16; j++)
    for (int h = 0; h < 2; h++) {
      int row = warp * 16 + lane / 4 + 8 * h, column = 8 * j + lane % 4 * 2;
      float *box = out + column / 32 * 64 * 32;
      int piece = column % 32 / 4 ^ row % 8;
      *(float2 *)&box[row * 32 + piece * 4 + column % 4] = make_float2(d[4 * j + 2 * h], d[4 * j + 2 * h + 1]);
    }
  async_fence();
  asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
  if (threadIdx.x % 128 == 0) {
    for (int i = 0; i < 4; i++)
      tensor_store_2d(&map_c, n + 32 * i, m + (group - 1) * 64, out + i * 64 * 32);
    bulk_commit();
    bulk_wait<0>();
  }
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

/* Runs a product of m x n x k and compares all of it with sums of integers. */
template <class Product> static void run(const char *name, int m, int n, int k) {
  typedef typename Product::element element;
  std::vector<element> a(m * k), b(n * k);
  std::vector<int> x(m * k), y(n * k);
  std::vector<float> c(m * n, -1.0f);
  unsigned state = 9;
  for (int i = 0; i < m * k; i++)
    a[i] = element((float)(x[i] = (int)(next_random(&state) % 7) - 3));
  for (int i = 0; i < n * k; i++)
    b[i] = element((float)(y[i] = (int)(next_random(&state) % 7) - 3));
  void *da, *db, *dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(element)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(element)));
  CHECK(cudaMalloc(&dc, c.size() * 4));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(element), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(element), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dc, c.data(), c.size() * 4, cudaMemcpyHostToDevice));
  unsigned step = ROW_BYTES / sizeof(element);
  CUtensorMap map_a = map_2d(Product::type, da, k, m, k * sizeof(element), step, TILE_M, CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_b = map_2d(Product::type, db, k, n, k * sizeof(element), step, TILE_N / 2, CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_c =
      map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, dc, n, m, n * 4ull, 32, 64, CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(cudaFuncSetAttribute(gemm<Product>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  gemm<Product><<<dim3((m + 255) / 256 * 2, (n + TILE_N - 1) / TILE_N), 384, SHARED_BYTES>>>(map_a, map_b, map_c,
                                                                                        (k + step - 1) / step);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < m; i += SCALE)
    for (int j = 0; j < n; j++) {
      int sum = 0;
      for (int l = 0; l < k; l++)
        sum += x[i * k + l] * y[j * k + l];
      wrong += c[(size_t)i * n + j] != (float)sum;
    }
  printf("%s %d x %d x %d: %d wrong, %08x\n", name, m, n, k, wrong, digest(c.data(), c.size() * 4));
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
}

int main() {
  run<half_product>("f16", 256 * SCALE, 256 * SCALE, 640 * SCALE);
  run<half_product>("f16", 200 * SCALE, 136 * SCALE, 72 * SCALE);
  run<byte_product>("e4m3", 256 * SCALE, 128 * SCALE, 1024 * SCALE);
  run<byte_product>("e4m3", 300 * SCALE, 160 * SCALE, 208 * SCALE);
  return 0;
}
