// A tile that threads write and read where the code of `bankfold layout --emit cuda` says: tile.h is that code, case.h the constants rows and
// columns, the type element, and who writes and reads: bytes a lane and rows x columns of lanes, or rows of matrices (ldmatrix). One warp goes over
// the tile once each way. Prints "right", or what is not; how many wavefronts that takes is for others to count.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include "case.h"
#include "tile.h"

// One access of that many bytes, which the compiler neither merges nor splits.
template <int BYTES> struct access;
#define ACCESS(BYTES, TYPE, VALUE, NAME, CONSTRAINT)                                                                                \
  template <> struct access<BYTES> {                                                                                               \
    typedef TYPE type;                                                                                                             \
    static __device__ void store(uint32_t to, TYPE v) {                                                                            \
      asm volatile("st.volatile.shared." NAME " [%0], %1;" ::"r"(to), CONSTRAINT((VALUE)v) : "memory");                            \
    }                                                                                                                              \
    static __device__ TYPE load(uint32_t from) {                                                                                   \
      VALUE v;                                                                                                                     \
      asm volatile("ld.volatile.shared." NAME " %0, [%1];" : "=" CONSTRAINT(v) : "r"(from) : "memory");                            \
      return (TYPE)v;                                                                                                              \
    }                                                                                                                              \
  };
ACCESS(1, uint8_t, uint32_t, "u8", "r")
ACCESS(2, uint16_t, uint16_t, "u16", "h")
ACCESS(4, uint32_t, uint32_t, "u32", "r")
ACCESS(8, unsigned long long, unsigned long long, "u64", "l")
template <> struct access<16> {
  typedef uint4 type;
  static __device__ void store(uint32_t to, uint4 v) {
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
  }
  static __device__ uint4 load(uint32_t from) {
    uint4 v;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from) : "memory");
    return v;
  }
};

// Where a lane is in the block of lanes number i of the tile.
template <int BYTES, int LANE_ROWS, int LANE_COLUMNS, bool DOWN> struct walk {
  static constexpr int per_lane = BYTES / (int)sizeof(element), across = columns / (LANE_COLUMNS * per_lane);
  static constexpr int blocks = rows / LANE_ROWS * across;
  int lane, row, column;
  __device__ walk(int lane, int i) : lane(lane) {
    row = i / across * LANE_ROWS + (DOWN ? lane % LANE_ROWS : lane / LANE_COLUMNS);
    column = i % across * LANE_COLUMNS * per_lane + (DOWN ? lane / LANE_ROWS : lane % LANE_COLUMNS) * per_lane;
  }
};

__global__ void __launch_bounds__(32) through(const element *from, element *to) {
  extern __shared__ __align__(1024) unsigned char memory[];
  uint32_t tile = (uint32_t)__cvta_generic_to_shared(memory);
  typedef access<write_bytes> stored;
  typedef walk<write_bytes, write_rows, write_columns, write_down> writing;
  for (int i = 0; i < writing::blocks; i++) {
    writing at(threadIdx.x, i);
    stored::store(tile + tile_offset(at.row, at.column), *(const stored::type *)(from + at.row * columns + at.column));
  }
  __syncwarp();
#ifdef READ_MATRICES
  // Matrices of 8 rows of 16 bytes, four at once: two below each other, then beside; each lane gives the address of a row.
  constexpr int per_row = 16 / sizeof(element), across = columns / (2 * per_row);
  for (int i = 0; i < rows / 16 * across; i++) {
    int row = i / across * 16 + threadIdx.x % 16, column = (i % across * 2 + threadIdx.x / 16) * per_row;
    uint32_t at = tile + tile_offset(row, column), r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int m = 0; m < 4; m++) // lane: row lane / 4 of the matrix, words lane % 4
      *(uint32_t *)(to + (i / across * 16 + m % 2 * 8 + threadIdx.x / 4) * columns + (i % across * 2 + m / 2) * per_row +
                    threadIdx.x % 4 * (4 / sizeof(element))) = r[m];
  }
#else
  typedef access<read_bytes> loaded;
  typedef walk<read_bytes, read_rows, read_columns, read_down> reading;
  for (int i = 0; i < reading::blocks; i++) {
    reading at(threadIdx.x, i);
    *(loaded::type *)(to + at.row * columns + at.column) = loaded::load(tile + tile_offset(at.row, at.column));
  }
#endif
}

int main() {
  element *from, *to;
  unsigned wrong = 0;
  cudaMallocManaged(&from, sizeof(element) * rows * columns);
  cudaMallocManaged(&to, sizeof(element) * rows * columns);
  for (int i = 0; i < rows * columns; i++)
    from[i] = (element)(i * 2654435761u >> 7), to[i] = 0;
  cudaFuncSetAttribute(through, cudaFuncAttributeMaxDynamicSharedMemorySize, tile_bytes);
  through<<<1, 32, tile_bytes>>>(from, to);
  cudaError_t ran = cudaDeviceSynchronize();
  for (int i = 0; i < rows * columns; i++)
    wrong += from[i] != to[i];
  if (ran != cudaSuccess || wrong)
    printf("launch: %s, %u wrong elements\n", cudaGetErrorString(ran), wrong);
  else
    puts("right");
  return ran != cudaSuccess || wrong;
}
