// Products of matrices for bench/matrix.sh: GFLOP/s by the CPU time of the process, least time of three launches, for wgmma with
// tensor copies (the kernel of tests/programs/hopper_gemm.cu, f16 and e4m3), mma.sync with ldmatrix and cp.async, and wmma.
// Arguments: names; all without.
#define main compare_small_ones
#include "../tests/programs/hopper_gemm.cu"
#undef main

#include <cstring>
#include <mma.h>
#include <time.h>

enum { SIZE = 1024, BAND = 64, DEPTH = 32, PITCH = DEPTH + 8 };

/* Tiles of 64 x 64 by four warps with two of 16 x 8 each way: c = a b^T. */
static __global__ void __launch_bounds__(128) by_mma(const __half *a, const __half *b, float *c, int n) {
  __shared__ __align__(16) __half left[BAND][PITCH], right[BAND][PITCH];
  int row = blockIdx.y * BAND, column = blockIdx.x * BAND, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum[8][4] = {};
  for (int k = 0; k < n; k += DEPTH) {
    for (int i = threadIdx.x; i < BAND * DEPTH / 8; i += 128) {
      int y = i / (DEPTH / 8), x = i % (DEPTH / 8) * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&left[y][x])),
                   "l"(&a[(row + y) * n + k + x]));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&right[y][x])),
                   "l"(&b[(column + y) * n + k + x]));
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int step = 0; step < DEPTH; step += 16) {
      uint32_t x[4], y[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(shared_address(&left[warp * 16 + lane % 16][step + lane / 16 * 8])));
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(shared_address(&right[j * 8 + lane / 16 * 8 + lane % 8][step + lane / 8 % 2 * 8])));
#pragma unroll
        for (int h = 0; h < 2; h++)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                       "{%0, %1, %2, %3};"
                       : "+f"(sum[j + h][0]), "+f"(sum[j + h][1]), "+f"(sum[j + h][2]), "+f"(sum[j + h][3])
                       : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * h]), "r"(y[2 * h + 1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++)
    for (int h = 0; h < 2; h++)
      *(float2 *)&c[(row + warp * 16 + lane / 4 + 8 * h) * n + column + 8 * j + lane % 4 * 2] =
          make_float2(sum[j][2 * h], sum[j][2 * h + 1]);
}

/* The same by wmma: each warp 16 rows of 64 columns. */
static __global__ void __launch_bounds__(128) by_wmma(const __half *a, const __half *b, float *c, int n) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) __half left[BAND][PITCH], right[BAND][PITCH];
  int row = blockIdx.y * BAND, column = blockIdx.x * BAND, warp = threadIdx.x / 32;
  fragment<accumulator, 16, 16, 16, float> sum[4];
  for (int j = 0; j < 4; j++)
    fill_fragment(sum[j], 0);
  for (int k = 0; k < n; k += DEPTH) {
    for (int i = threadIdx.x; i < BAND * DEPTH / 8; i += 128) {
      int y = i / (DEPTH / 8), x = i % (DEPTH / 8) * 8;
      *(uint4 *)&left[y][x] = *(const uint4 *)&a[(row + y) * n + k + x];
      *(uint4 *)&right[y][x] = *(const uint4 *)&b[(column + y) * n + k + x];
    }
    __syncthreads();
    for (int step = 0; step < DEPTH; step += 16) {
      fragment<matrix_a, 16, 16, 16, __half, row_major> x;
      load_matrix_sync(x, &left[warp * 16][step], PITCH);
      for (int j = 0; j < 4; j++) {
        fragment<matrix_b, 16, 16, 16, __half, col_major> y;
        load_matrix_sync(y, &right[j * 16][step], PITCH);
        mma_sync(sum[j], x, y, sum[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; j++)
    store_matrix_sync(&c[(row + warp * 16) * n + column + 16 * j], sum[j], n, mem_row_major);
}

static double cpu_seconds() {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

template <class Launch> static void measure(const char *name, Launch launch) {
  double least = 1e9;
  for (int i = 0; i < 3; i++) {
    double begin = cpu_seconds();
    launch();
    CHECK(cudaDeviceSynchronize());
    double took = cpu_seconds() - begin;
    least = took < least ? took : least;
  }
  printf("{\"bench\": \"matrix\", \"kernel\": \"%s\", \"gflop_per_cpu_second\": %.1f}\n", name,
         2e-9 * SIZE * SIZE * SIZE / least);
}

template <class Product> static void measure_wgmma(const char *name, void *a, void *b, void *c) {
  typedef typename Product::element element;
  unsigned step = ROW_BYTES / sizeof(element);
  CUtensorMap map_a =
      map_2d(Product::type, a, SIZE, SIZE, SIZE * sizeof(element), step, TILE_M, CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_b =
      map_2d(Product::type, b, SIZE, SIZE, SIZE * sizeof(element), step, TILE_N / 2, CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_c = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, c, SIZE, SIZE, SIZE * 4ull, 32, 64, CU_TENSOR_MAP_SWIZZLE_128B);
  CHECK(cudaFuncSetAttribute(gemm<Product>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  measure(name, [&] {
    gemm<Product><<<dim3(SIZE / TILE_M, SIZE / TILE_N), 384, SHARED_BYTES>>>(map_a, map_b, map_c, SIZE / step);
  });
}

static bool is_wanted(const char *name, int count, char **words) {
  for (int i = 1; i < count; i++)
    if (strcmp(words[i], name) == 0)
      return true;
  return count < 2;
}

int main(int count, char **words) {
  std::vector<__half> values(SIZE * SIZE);
  unsigned state = 1;
  for (__half &value : values)
    value = __half((float)(next_random(&state) % 2048) / 1024 - 1);
  void *a, *b, *c;
  CHECK(cudaMalloc(&a, SIZE * SIZE * 4));
  CHECK(cudaMalloc(&b, SIZE * SIZE * 4));
  CHECK(cudaMalloc(&c, SIZE * SIZE * 4));
  CHECK(cudaMemcpy(a, values.data(), SIZE * SIZE * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, values.data(), SIZE * SIZE * 2, cudaMemcpyHostToDevice));
  dim3 grid(SIZE / BAND, SIZE / BAND);
  if (is_wanted("wgmma_f16", count, words))
    measure_wgmma<half_product>("wgmma_f16", a, b, c);
  if (is_wanted("wgmma_e4m3", count, words))
    measure_wgmma<byte_product>("wgmma_e4m3", a, b, c);
  if (is_wanted("mma", count, words))
    measure("mma", [&] { by_mma<<<grid, 128>>>((__half *)a, (__half *)b, (float *)c, SIZE); });
  if (is_wanted("wmma", count, words))
    measure("wmma", [&] { by_wmma<<<grid, 128>>>((__half *)a, (__half *)b, (float *)c, SIZE); });
  return 0;
}
