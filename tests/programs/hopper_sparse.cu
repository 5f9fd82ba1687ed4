// Sparse products of a warp group, wgmma.mma_async.sp: f16, bf16, tf32, e4m3 with e5m2, s8 with u8; A in shared memory and in
// registers, both selectors, metadata at random, with other bits in the lanes that have none. And mma.sp of e4m3.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
// exec: --threads 1
#include "hopper.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cstring>
#include <vector>

enum { ROWS = 64, COLUMNS = 8, ROW_BYTES = 32, LEADING = 128 };

/* Piece p (16 bytes) of row r lies at r / 8 * (128 * pieces) + p * 128 + r % 8 * 16. */
static size_t place(int row, int byte, int pieces) {
  return (size_t)row / 8 * LEADING * pieces + byte / 16 * LEADING + row % 8 * 16 + byte % 16;
}

/* turns: of 16-bit types, whether A and B are transposed; turn: the same without A. */
#define PRODUCT(name, shape, types, scales, turns, turn, sum)                                                                 \
  template <int SELECTOR> struct name {                                                                                       \
    static __device__ void from_shared(sum (&d)[4], uint64_t a, uint64_t b, uint32_t metadata) {                              \
      asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, 0, 1;\nwgmma.mma_async.sp.sync.aligned." shape "." types                 \
                   " {%0, %1, %2, %3}, %4, %5, %6, %7, p" scales turns ";\n}"                                                 \
                   : PLUS(sum)(d[0]), PLUS(sum)(d[1]), PLUS(sum)(d[2]), PLUS(sum)(d[3])                                       \
                   : "l"(a), "l"(b), "r"(metadata), "n"(SELECTOR));                                                           \
    }                                                                                                                         \
    static __device__ void from_registers(sum (&d)[4], const uint32_t *a, uint64_t b, uint32_t metadata) {                    \
      asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, 0, 1;\nwgmma.mma_async.sp.sync.aligned." shape "." types                 \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, %9, %10, p" scales turn ";\n}"                                   \
                   : PLUS(sum)(d[0]), PLUS(sum)(d[1]), PLUS(sum)(d[2]), PLUS(sum)(d[3])                                       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata), "n"(SELECTOR));                       \
    }                                                                                                                         \
  };
#define PLUS(sum) PLUS_##sum
#define PLUS_float "+f"
#define PLUS_int "+r"
PRODUCT(halves, "m64n8k32", "f32.f16.f16", ", 1, 1", ", 0, 0", ", 0", float)
PRODUCT(brains, "m64n8k32", "f32.bf16.bf16", ", 1, 1", ", 0, 0", ", 0", float)
PRODUCT(words, "m64n8k16", "f32.tf32.tf32", ", 1, 1", "", "", float)
PRODUCT(bytes, "m64n8k64", "f32.e4m3.e5m2", ", 1, 1", "", "", float)
PRODUCT(integers, "m64n8k64", "s32.s8.u8", "", "", "", int)

template <class Product, class Sum>
static __global__ void multiply(const uint8_t *a, const uint8_t *b, const uint32_t *metadata, Sum *out, int in_registers) {
  __shared__ __align__(128) uint8_t left[ROWS * ROW_BYTES], right[COLUMNS * ROW_BYTES * 2];
  for (int i = threadIdx.x; i < ROWS * ROW_BYTES; i += 128)
    left[i] = a[i];
  for (int i = threadIdx.x; i < COLUMNS * ROW_BYTES * 2; i += 128)
    right[i] = b[i];
  async_fence();
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Sum d[4] = {1, 2, 3, 4};
  uint32_t registers[4];
  for (int i = 0; i < 4; i++) {
    int row = warp * 16 + lane / 4 + i % 2 * 8;
    memcpy(&registers[i], left + row / 8 * LEADING * 2 + i / 2 * LEADING + row % 8 * 16 + lane % 4 * 4, 4);
  }
  uint64_t at_b = descriptor(shared_address(right), LEADING, LEADING * 4, 0);
  uint32_t own = metadata[threadIdx.x];
  if (in_registers) {
    wgmma_fence();
    Product::from_registers(d, registers, at_b, own);
  } else {
    wgmma_fence();
    Product::from_shared(d, descriptor(shared_address(left), LEADING, LEADING * 2, 0), at_b, own);
  }
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < 4; i++)
    out[(warp * 16 + lane / 4 + i / 2 * 8) * COLUMNS + lane % 4 * 2 + i % 2] = d[i];
}

/* mma.sp.m16n8k64 of e4m3: one warp, registers as they come. */
static __global__ void multiply_small(const uint32_t *a, const uint32_t *b, const uint32_t *metadata, float *out) {
  int lane = threadIdx.x;
  float d[4] = {1, 2, 3, 4};
  asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[lane]), "r"(a[32 + lane]), "r"(a[64 + lane]), "r"(a[96 + lane]), "r"(b[lane]), "r"(b[32 + lane]),
                 "r"(b[64 + lane]), "r"(b[96 + lane]), "r"(metadata[lane]));
  for (int i = 0; i < 4; i++)
    out[(lane / 4 + i / 2 * 8) * COLUMNS + lane % 4 * 2 + i % 2] = d[i];
}

/* Matrices at random: whole numbers, so that sums are exact. */
template <class A, class B> struct problem {
  enum { WIDE = sizeof(A) == 4 ? 2 : 4, K = 2 * ROW_BYTES / sizeof(A), KEPT = K / 2, PER = WIDE / 2 };
  A kept[ROWS][KEPT];
  int at[ROWS][KEPT]; /* the k that it belongs to */
  B b[COLUMNS][K];

  explicit problem(unsigned seed) {
    for (int row = 0; row < ROWS; row++)
      for (int chunk = 0; chunk < KEPT / PER; chunk++) {
        int first = next_random(&seed) % (PER == 1 ? 2 : 3);
        int second = first + 1 + next_random(&seed) % (PER == 1 ? 1 : 3 - first);
        for (int i = 0; i < PER; i++) {
          kept[row][chunk * PER + i] = A((float)((int)(next_random(&seed) % 9) - 4));
          at[row][chunk * PER + i] = chunk * WIDE + (i ? second : first);
        }
      }
    for (int column = 0; column < COLUMNS; column++)
      for (int k = 0; k < K; k++)
        b[column][k] = B((float)(next_random(&seed) % 5));
  }

  /* The four bits of a chunk. */
  unsigned bits(int row, int chunk) const {
    int first = at[row][chunk * PER] % WIDE;
    return PER == 1 ? (first ? 14 : 4) : first | at[row][chunk * PER + 1] % WIDE << 2;
  }

  /* What the lanes of the warps hold. */
  std::vector<uint32_t> metadata(int selector) const {
    std::vector<uint32_t> word(128, 0x0f0f1234);
    for (int warp = 0; warp < 4; warp++)
      for (int g = 0; g < 8; g++)
        for (int i = 0; i < (sizeof(A) == 1 ? 4 : 2); i++) {
          uint32_t &to = word[warp * 32 + g * 4 + (sizeof(A) == 1 ? i : 2 * selector + i)];
          to = 0;
          for (int n = 0; n < 8; n++) {
            int low = warp * 16 + g, row = sizeof(A) == 1 ? low + i % 2 * 8 : low + n / 4 * 8;
            int chunk = sizeof(A) == 1 ? i / 2 * 8 + n : i * 4 + n % 4;
            to |= bits(row, chunk) << 4 * n;
          }
        }
    return word;
  }

  /* The number of wrong sums, which begin with 1 to 4. */
  template <class Sum> int count_wrong(const std::vector<Sum> &got, int rows) const {
    int wrong = 0;
    for (int row = 0; row < rows; row++)
      for (int column = 0; column < COLUMNS; column++) {
        float sum = (float)(row % 16 / 8 * 2 + column % 2 + 1);
        for (int k = 0; k < KEPT; k++)
          sum += (float)kept[row][k] * (float)b[column][at[row][k]];
        wrong += (float)got[row * COLUMNS + column] != sum;
      }
    return wrong;
  }
};

template <class Item> static Item *to_device(const std::vector<Item> &from) {
  Item *to;
  CHECK(cudaMalloc(&to, from.size() * sizeof(Item)));
  CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(Item), cudaMemcpyHostToDevice));
  return to;
}

template <class Product, class A, class B, class Sum> static void run(const char *name, int selector) {
  problem<A, B> given(7 + selector);
  std::vector<uint8_t> a(ROWS * ROW_BYTES), b(COLUMNS * ROW_BYTES * 2);
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < given.KEPT; k++)
      memcpy(&a[place(row, k * sizeof(A), 2)], &given.kept[row][k], sizeof(A));
  for (int column = 0; column < COLUMNS; column++)
    for (int k = 0; k < given.K; k++)
      memcpy(&b[place(column, k * sizeof(B), 4)], &given.b[column][k], sizeof(B));
  uint8_t *at_a = to_device(a), *at_b = to_device(b);
  uint32_t *at_metadata = to_device(given.metadata(selector));
  for (int in_registers = 0; in_registers < 2; in_registers++) {
    std::vector<Sum> out(ROWS * COLUMNS);
    Sum *at_out = to_device(out);
    multiply<Product><<<1, 128>>>(at_a, at_b, at_metadata, at_out, in_registers);
    CHECK(cudaMemcpy(out.data(), at_out, out.size() * sizeof(Sum), cudaMemcpyDeviceToHost));
    printf("%s selector %d from %s: %d wrong, %08x\n", name, selector, in_registers ? "registers" : "shared memory",
           given.count_wrong(out, ROWS), digest(out.data(), out.size() * sizeof(Sum)));
  }
}

static void run_small() {
  problem<__nv_fp8_e4m3, __nv_fp8_e4m3> given(3);
  std::vector<uint32_t> a(128), b(128);
  std::vector<float> out(16 * COLUMNS);
  for (int i = 0; i < 4; i++)
    for (int lane = 0; lane < 32; lane++) {
      memcpy(&a[32 * i + lane], &given.kept[lane / 4 + i % 2 * 8][i / 2 * 16 + lane % 4 * 4], 4);
      memcpy(&b[32 * i + lane], &given.b[lane / 4][i * 16 + lane % 4 * 4], 4);
    }
  uint32_t *at_a = to_device(a), *at_b = to_device(b), *at_metadata = to_device(given.metadata(0));
  float *at_out = to_device(out);
  multiply_small<<<1, 32>>>(at_a, at_b, at_metadata, at_out);
  CHECK(cudaMemcpy(out.data(), at_out, out.size() * 4, cudaMemcpyDeviceToHost));
  printf("mma.sp e4m3: %d wrong, %08x\n", given.count_wrong(out, 16), digest(out.data(), out.size() * 4));
}

int main() {
  run<halves<0>, __half, __half, float>("f16", 0);
  run<halves<1>, __half, __half, float>("f16", 1);
  run<brains<0>, __nv_bfloat16, __nv_bfloat16, float>("bf16", 0);
  run<brains<1>, __nv_bfloat16, __nv_bfloat16, float>("bf16", 1);
  run<words<0>, float, float, float>("tf32", 0);
  run<words<1>, float, float, float>("tf32", 1);
  run<bytes<0>, __nv_fp8_e4m3, __nv_fp8_e5m2, float>("e4m3 e5m2", 0);
  run<integers<0>, int8_t, uint8_t, int>("s8 u8", 0);
  run_small();
  return 0;
}
