/* Products of a warp group with 64 rows and 64 columns of f16, summed in f32. Tiles in shared memory are 64 rows of 128 bytes,
 * swizzled by 128 bytes as tensor copies leave them. */
#ifndef HOPPER_TILE_H
#define HOPPER_TILE_H

#include "hopper.h"

enum { TILE = 64, TILE_BYTES = TILE * 128 };

/* d[4j + 2h + i] of a thread is row 16 * warp + lane / 4 + 8h, column 8j + lane % 4 * 2 + i. */
#define TILE_SUMS                                                                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "      \
  "%25, %26, %27, %28, %29, %30, %31}"
#define TILE_FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILE_ALL(d)                                                                                                           \
  TILE_FOUR(d, 0), TILE_FOUR(d, 4), TILE_FOUR(d, 8), TILE_FOUR(d, 12), TILE_FOUR(d, 16), TILE_FOUR(d, 20), TILE_FOUR(d, 24),  \
      TILE_FOUR(d, 28)

/* d += a b^T, 16 of K: both tiles have K along their rows. */
static __device__ __forceinline__ void multiply_16(float (&d)[32], uint64_t a, uint64_t b, int adds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " TILE_SUMS ", %32, %33, p, 1, 1, 0, 0;\n}"
               : TILE_ALL(d)
               : "l"(a), "l"(b), "r"(adds));
}

/* d += a b, 16 of K: a in registers, b with K down its columns. */
static __device__ __forceinline__ void multiply_registers_16(float (&d)[32], const uint32_t *a, uint64_t b) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 1;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " TILE_SUMS ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
               : TILE_ALL(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/* The whole of K of two tiles: d = a b^T, or d += a b^T. */
static __device__ __forceinline__ void multiply_tiles(float (&d)[32], const uint8_t *a, const uint8_t *b, bool adds) {
#pragma unroll
  for (int k = 0; k < 4; k++)
    multiply_16(d, descriptor(shared_address(a) + 32 * k, 16, 1024, 1), descriptor(shared_address(b) + 32 * k, 16, 1024, 1),
                adds || k > 0);
}

/* Dynamic shared memory from a multiple of 1024 on. */
static __device__ __forceinline__ uint8_t *aligned_room(uint8_t *memory) {
  return (uint8_t *)(((uintptr_t)memory + 1023) & ~(uintptr_t)1023);
}

/* The row of a thread's first sum, in its tile. */
static __device__ __forceinline__ int first_row() { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4; }

template <class Item> static Item *to_device(const Item *from, size_t count) {
  Item *to;
  CHECK(cudaMalloc(&to, count * sizeof(Item)));
  CHECK(cudaMemcpy(to, from, count * sizeof(Item), cudaMemcpyHostToDevice));
  return to;
}

#endif
