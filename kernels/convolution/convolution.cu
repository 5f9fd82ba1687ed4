// Convolution of an image with a filter along rows, and along columns. Pixels outside the image
// count as 0. A thread computes STEPS results; the block's part of the image lies in shared memory,
// with an apron on both sides.

constexpr int RADIUS = 8;
constexpr int STEPS = 8;

__constant__ float filter[2 * RADIUS + 1];

// The sum of filter[j] * from[j - RADIUS].
__device__ float filtered(const float *from) {
  float sum = 0;
  for (int j = -RADIUS; j <= RADIUS; j++)
    sum += filter[RADIUS + j] * from[j];
  return sum;
}

// Blocks of ROW_X x ROW_Y threads filter ROW_Y rows. A row takes 160 words, a multiple of 32, so
// that the two rows of a warp conflict.
constexpr int ROW_X = 16, ROW_Y = 4;

extern "C" __global__ void convolution_rows(const float *input, float *output, int width) {
  __shared__ float data[ROW_Y][(STEPS + 2) * ROW_X];
  int first = (int)blockIdx.x * STEPS * ROW_X + threadIdx.x - ROW_X;
  int row = blockIdx.y * ROW_Y + threadIdx.y;
  float *own = &data[threadIdx.y][threadIdx.x];
  for (int i = 0; i < STEPS + 2; i++) {
    int x = first + i * ROW_X;
    own[i * ROW_X] = x >= 0 && x < width ? input[row * width + x] : 0;
  }
  __syncthreads();
  for (int i = 1; i <= STEPS; i++)
    output[row * width + first + i * ROW_X] = filtered(&own[i * ROW_X]);
}

// Blocks of COLUMN_X x COLUMN_Y threads filter COLUMN_X columns, which lie in shared memory as
// rows: threads side by side are PITCH words apart. With 80 they conflict 8 ways.
constexpr int COLUMN_X = 16, COLUMN_Y = 8;
constexpr int COLUMN_WORDS = (STEPS + 2) * COLUMN_Y;

template <int PITCH>
__device__ void filter_columns(const float *input, float *output, int width, int height) {
  __shared__ float data[COLUMN_X][PITCH];
  int column = blockIdx.x * COLUMN_X + threadIdx.x;
  int first = (int)blockIdx.y * STEPS * COLUMN_Y + threadIdx.y - COLUMN_Y;
  float *own = &data[threadIdx.x][threadIdx.y];
  for (int i = 0; i < STEPS + 2; i++) {
    int y = first + i * COLUMN_Y;
    own[i * COLUMN_Y] = y >= 0 && y < height ? input[y * width + column] : 0;
  }
  __syncthreads();
  for (int i = 1; i <= STEPS; i++)
    output[(first + i * COLUMN_Y) * width + column] = filtered(&own[i * COLUMN_Y]);
}

extern "C" __global__ void convolution_columns(const float *input, float *output, int width,
                                               int height) {
  filter_columns<COLUMN_WORDS>(input, output, width, height);
}

extern "C" __global__ void convolution_columns_padded(const float *input, float *output, int width,
                                                      int height) {
  filter_columns<COLUMN_WORDS + 1>(input, output, width, height);
}
