// Transpose of a matrix through a tile in shared memory. A block reads a tile row by row and writes
// it column by column, so that both global accesses run along rows; the price is a column of shared
// memory per warp: 32 ways in a tile of 32 x 32, 8 ways in one of 16 x 16. With one word more per
// row the first is free of conflicts, and the second, where a warp reads two columns, keeps 2 ways.

// TILE x ROWS threads move a tile of TILE x TILE floats; each row of the tile takes PITCH words.
// width and height are multiples of TILE.
template <int TILE, int ROWS, int PITCH>
__device__ void transpose(const float *input, float *output, int width, int height) {
  __shared__ float tile[TILE][PITCH];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS)
    tile[threadIdx.y + i][threadIdx.x] = input[(y + i) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS)
    output[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose16(const float *input, float *output, int width, int height) {
  transpose<16, 16, 16>(input, output, width, height);
}

extern "C" __global__ void transpose16_padded(const float *input, float *output, int width,
                                              int height) {
  transpose<16, 16, 17>(input, output, width, height);
}

extern "C" __global__ void transpose32(const float *input, float *output, int width, int height) {
  transpose<32, 8, 32>(input, output, width, height);
}

extern "C" __global__ void transpose32_padded(const float *input, float *output, int width,
                                              int height) {
  transpose<32, 8, 33>(input, output, width, height);
}
