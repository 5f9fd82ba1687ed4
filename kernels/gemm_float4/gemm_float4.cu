// Product of matrices by tiles of 64 x 64, with 4 x 4 results per thread in registers. Both tiles
// lie in shared memory with the depth as rows, so that a thread reads its four elements of each as
// a float4. The left tile is turned around on its way there: four depths of a warp lie 4 PITCH
// words apart. With 64 these stores conflict 4 ways; 68 keeps the alignment of float4 and leaves 2.

constexpr int TILE = 64, DEPTH = 16; // blocks of 16 x 16 threads

// product (rows x columns) = left (rows x depth) * right (depth x columns); multiples of the tile.
template <int PITCH>
__device__ void multiply(const float *left, const float *right, float *product, int columns,
                         int depth) {
  __shared__ __align__(16) float left_tile[DEPTH][PITCH], right_tile[DEPTH][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  int left_row = thread / 4, left_depth = thread % 4 * 4;
  int right_depth = thread / 16, right_column = thread % 16 * 4;
  const float *left_from = left + (blockIdx.y * TILE + left_row) * depth + left_depth;
  const float *right_from = right + right_depth * columns + blockIdx.x * TILE + right_column;
  float sums[4][4] = {};
  for (int first = 0; first < depth; first += DEPTH) {
    float4 four = *(const float4 *)(left_from + first);
    left_tile[left_depth][left_row] = four.x;
    left_tile[left_depth + 1][left_row] = four.y;
    left_tile[left_depth + 2][left_row] = four.z;
    left_tile[left_depth + 3][left_row] = four.w;
    *(float4 *)&right_tile[right_depth][right_column] =
        *(const float4 *)(right_from + first * columns);
    __syncthreads();
    for (int k = 0; k < DEPTH; k++) {
      float4 a = *(const float4 *)&left_tile[k][ty * 4];
      float4 b = *(const float4 *)&right_tile[k][tx * 4];
      float rows[4] = {a.x, a.y, a.z, a.w}, cells[4] = {b.x, b.y, b.z, b.w};
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sums[i][j] += rows[i] * cells[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    *(float4 *)&product[(blockIdx.y * TILE + ty * 4 + i) * columns + blockIdx.x * TILE + tx * 4] =
        make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}

extern "C" __global__ void gemm_float4(const float *left, const float *right, float *product,
                                       int columns, int depth) {
  multiply<TILE>(left, right, product, columns, depth);
}

extern "C" __global__ void gemm_float4_padded(const float *left, const float *right, float *product,
                                              int columns, int depth) {
  multiply<TILE + 4>(left, right, product, columns, depth);
}
