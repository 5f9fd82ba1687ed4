// Product of matrices by tiles of 16 x 16 in shared memory. A warp reads two elements of the left
// tile, which all its threads share, and a row of the right tile: no conflicts.

constexpr int TILE = 16;

// product (rows x columns) = left (rows x depth) * right (depth x columns); all multiples of TILE.
extern "C" __global__ void matrix_multiply(const float *left, const float *right, float *product,
                                           int columns, int depth) {
  __shared__ float left_tile[TILE][TILE], right_tile[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int first = 0; first < depth; first += TILE) {
    left_tile[ty][tx] = left[row * depth + first + tx];
    right_tile[ty][tx] = right[(first + ty) * columns + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum += left_tile[ty][k] * right_tile[k][tx];
    __syncthreads();
  }
  product[row * columns + column] = sum;
}
