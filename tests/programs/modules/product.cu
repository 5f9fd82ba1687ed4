/* Products of matrices by tiles in shared memory, for programs that load modules. */
template <int SIZE>
__device__ void multiply(float *c, const float *a, const float *b, int n) {
  __shared__ float tile_a[SIZE][SIZE], tile_b[SIZE][SIZE];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * SIZE + y, column = blockIdx.x * SIZE + x;
  float sum = 0;
  for (int k = 0; k < n; k += SIZE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[x][y] = b[(k + y) * n + column]; /* conflicts */
    __syncthreads();
    for (int i = 0; i < SIZE; i++)
      sum += tile_a[y][i] * tile_b[x][i];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void product16(float *c, const float *a, const float *b, int n) {
  multiply<16>(c, a, b, n);
}
extern "C" __global__ void product32(float *c, const float *a, const float *b, int n) {
  multiply<32>(c, a, b, n);
}
__constant__ float factor = 2;
extern "C" __global__ void scale(float *c, int n) {
  extern __shared__ float kept[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = i < n ? c[i] : 0;
  __syncthreads();
  if (i < n)
    c[i] = kept[threadIdx.x] * factor;
}
