// Product of matrices of half-precision numbers on tensor cores: ldmatrix brings fragments of tiles
// in shared memory to registers, mma multiplies and adds up in single precision. ldmatrix reads 8
// rows of 16 bytes at a time. In rows of 64 bytes these conflict 4 ways, in rows of 128 bytes
// 8 ways; 16 bytes more per row free both of conflicts, but bring 2 ways to the stores of the left
// tile.

#include <cuda_fp16.h>

constexpr int TILE = 64, DEPTH = 32;
constexpr int THREADS = 128; // 4 warps, each with 32 x 32 results

// Four 8 x 8 matrices; lane n gives the address of row n % 8 of matrix n / 8.
__device__ void load_matrices(unsigned (&to)[4], const half *row) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// The same, each matrix transposed.
__device__ void load_transposed(unsigned (&to)[4], const half *row) {
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// sums (16 x 8) += left (16 x 16) * right (16 x 8).
__device__ void multiply_add(float (&sums)[4], const unsigned (&left)[4], unsigned right_low,
                             unsigned right_high) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_low),
                 "r"(right_high));
}

// Copies a tile of ROWS x COLUMNS, eight numbers at a time, to rows of PITCH numbers.
template <int ROWS, int COLUMNS, int PITCH>
__device__ void copy_tile(half *to, const half *from, int from_pitch) {
  constexpr int PER_ROW = COLUMNS / 8;
  for (int first = 0; first < ROWS * PER_ROW; first += THREADS) {
    int i = first + threadIdx.x;
    int row = i / PER_ROW, column = i % PER_ROW * 8;
    *(uint4 *)&to[row * PITCH + column] = *(const uint4 *)&from[row * from_pitch + column];
  }
}

// product (rows x columns) = left (rows x depth) * right (depth x columns); multiples of the tile.
template <int PAD>
__device__ void multiply(const half *left, const half *right, float *product, int columns,
                         int depth) {
  constexpr int LEFT_PITCH = DEPTH + PAD, RIGHT_PITCH = TILE + PAD;
  __shared__ __align__(16) half left_tile[TILE * LEFT_PITCH], right_tile[DEPTH * RIGHT_PITCH];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  float sums[2][4][4] = {};
  for (int first = 0; first < depth; first += DEPTH) {
    copy_tile<TILE, DEPTH, LEFT_PITCH>(left_tile, left + blockIdx.y * TILE * depth + first, depth);
    copy_tile<DEPTH, TILE, RIGHT_PITCH>(right_tile, right + first * columns + blockIdx.x * TILE,
                                        columns);
    __syncthreads();
    for (int k = 0; k < DEPTH; k += 16) {
      unsigned a[2][4], b[2][4]; // two blocks of 16 rows; two of 16 columns
      for (int i = 0; i < 2; i++)
        load_matrices(a[i],
                      &left_tile[(warp_row + i * 16 + lane % 16) * LEFT_PITCH + k + lane / 16 * 8]);
      for (int j = 0; j < 2; j++)
        load_transposed(
            b[j],
            &right_tile[(k + lane % 16) * RIGHT_PITCH + warp_column + j * 16 + lane / 16 * 8]);
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
          multiply_add(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) {
      int row = blockIdx.y * TILE + warp_row + i * 16 + lane / 4;
      int column = blockIdx.x * TILE + warp_column + j * 8 + lane % 4 * 2;
      *(float2 *)&product[row * columns + column] = make_float2(sums[i][j][0], sums[i][j][1]);
      *(float2 *)&product[(row + 8) * columns + column] = make_float2(sums[i][j][2], sums[i][j][3]);
    }
}

extern "C" __global__ void gemm_mma(const half *left, const half *right, float *product,
                                    int columns, int depth) {
  multiply<0>(left, right, product, columns, depth);
}

extern "C" __global__ void gemm_mma_padded(const half *left, const half *right, float *product,
                                           int columns, int depth) {
  multiply<8>(left, right, product, columns, depth);
}
