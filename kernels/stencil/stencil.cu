// One step of heat flow on a grid: each cell becomes a weighted sum of itself and its four
// neighbours. Cells outside the grid count as 0. A block of 16 x 16 threads keeps 18 x 18 cells in
// shared memory; in rows of 18 words the two rows of a warp overlap in two banks.

constexpr int TILE = 16;

// width and height are multiples of TILE.
template <int PITCH>
__device__ void step(const float *input, float *output, int width, int height, float own_weight,
                     float neighbour_weight) {
  __shared__ float cells[TILE + 2][PITCH];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  int cell = y * width + x, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  cells[ty][tx] = input[cell];
  if (threadIdx.y == 0)
    cells[0][tx] = y > 0 ? input[cell - width] : 0;
  if (threadIdx.y == TILE - 1)
    cells[TILE + 1][tx] = y + 1 < height ? input[cell + width] : 0;
  if (threadIdx.x == 0)
    cells[ty][0] = x > 0 ? input[cell - 1] : 0;
  if (threadIdx.x == TILE - 1)
    cells[ty][TILE + 1] = x + 1 < width ? input[cell + 1] : 0;
  __syncthreads();
  float neighbours = cells[ty - 1][tx] + cells[ty + 1][tx] + cells[ty][tx - 1] + cells[ty][tx + 1];
  output[cell] = own_weight * cells[ty][tx] + neighbour_weight * neighbours;
}

extern "C" __global__ void stencil(const float *input, float *output, int width, int height,
                                   float own_weight, float neighbour_weight) {
  step<TILE + 2>(input, output, width, height, own_weight, neighbour_weight);
}

// Rows of 48 words: the second row of a warp starts 16 banks further.
extern "C" __global__ void stencil_padded(const float *input, float *output, int width, int height,
                                          float own_weight, float neighbour_weight) {
  step<3 * TILE>(input, output, width, height, own_weight, neighbour_weight);
}
