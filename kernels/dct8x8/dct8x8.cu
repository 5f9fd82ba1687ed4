// Cosine transforms of 8 x 8 tiles of an image, forward and inverse (types II and III,
// orthonormal).

constexpr int WIDE = 32, HIGH = 16; // part of the image that a block transforms, in pixels

// c[k] = cos(k pi / 16) / 2, by name.
constexpr float C1 = 0.49039264020161522f, C2 = 0.46193976625564337f, C3 = 0.41573480615127262f,
                C4 = 0.35355339059327379f, C5 = 0.27778511650980109f, C6 = 0.19134171618254489f,
                C7 = 0.09754516100806413f;

// Transforms eight values, using that rows of the cosine matrix are symmetric or antisymmetric.
__device__ void forward(float (&v)[8]) {
  float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
  float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
  v[0] = C4 * (s0 + s1 + s2 + s3);
  v[1] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
  v[2] = C2 * (s0 - s3) + C6 * (s1 - s2);
  v[3] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
  v[4] = C4 * (s0 - s1 - s2 + s3);
  v[5] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
  v[6] = C6 * (s0 - s3) - C2 * (s1 - s2);
  v[7] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

// The inverse of forward.
__device__ void inverse(float (&v)[8]) {
  float e0 = C4 * (v[0] + v[4]), e1 = C4 * (v[0] - v[4]);
  float f0 = C2 * v[2] + C6 * v[6], f1 = C6 * v[2] - C2 * v[6];
  float o0 = C1 * v[1] + C3 * v[3] + C5 * v[5] + C7 * v[7];
  float o1 = C3 * v[1] - C7 * v[3] - C1 * v[5] - C5 * v[7];
  float o2 = C5 * v[1] - C1 * v[3] + C7 * v[5] + C3 * v[7];
  float o3 = C7 * v[1] - C5 * v[3] + C3 * v[5] - C1 * v[7];
  v[0] = e0 + f0 + o0;
  v[1] = e1 + f1 + o1;
  v[2] = e1 - f1 + o2;
  v[3] = e0 - f0 + o3;
  v[4] = e0 - f0 - o3;
  v[5] = e1 - f1 - o2;
  v[6] = e1 + f1 - o1;
  v[7] = e0 + f0 - o0;
}

// A thread per row and column of a tile, in blocks of 32 x 2 threads: each warp first takes the 8
// rows of its four tiles, which lie PITCH words apart, and then their columns. With PITCH 32 the
// rows conflict 8 ways.
template <int PITCH, bool FORWARD>
__device__ void transform_tiles(const float *input, float *output, int width) {
  __shared__ float tile[HIGH][PITCH];
  int row = threadIdx.y * 8, column = threadIdx.x;
  int place = (blockIdx.y * HIGH + row) * width + blockIdx.x * WIDE + column;
  for (int i = 0; i < 8; i++)
    tile[row + i][column] = input[place + i * width];
  __syncthreads();
  float v[8];
  float *own_row = &tile[row + column % 8][column / 8 * 8];
  for (int i = 0; i < 8; i++)
    v[i] = own_row[i];
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 8; i++)
    own_row[i] = v[i];
  __syncthreads();
  for (int i = 0; i < 8; i++)
    v[i] = tile[row + i][column];
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 8; i++)
    output[place + i * width] = v[i];
}

extern "C" __global__ void dct8x8(const float *input, float *output, int width) {
  transform_tiles<WIDE, true>(input, output, width);
}

extern "C" __global__ void dct8x8_padded(const float *input, float *output, int width) {
  transform_tiles<WIDE + 1, true>(input, output, width);
}

extern "C" __global__ void idct8x8(const float *input, float *output, int width) {
  transform_tiles<WIDE, false>(input, output, width);
}

extern "C" __global__ void idct8x8_padded(const float *input, float *output, int width) {
  transform_tiles<WIDE + 1, false>(input, output, width);
}

// The other way: a thread per pixel, in blocks of 8 x 8, multiplies the tile from both sides with
// the cosine matrix, which lies in shared memory too. Its columns, 8 words apart, conflict 2 ways.
extern "C" __global__ void dct8x8_matrix(const float *input, float *output, const float *cosines,
                                         int width) {
  __shared__ float tile[8][8], half_done[8][8], matrix[8][8];
  int tx = threadIdx.x, ty = threadIdx.y;
  int place = (blockIdx.y * 8 + ty) * width + blockIdx.x * 8 + tx;
  tile[ty][tx] = input[place];
  matrix[ty][tx] = cosines[ty * 8 + tx];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; k++)
    sum += matrix[ty][k] * tile[k][tx];
  half_done[ty][tx] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; k++)
    sum += half_done[ty][k] * matrix[tx][k];
  output[place] = sum;
}

// As the second transform of the sample dct8x8 of NVIDIA's toolkit does it, which gou13 runs: both
// passes work in the tile, and results are written from there.
template <bool FORWARD> __device__ void transform_in_place(float *first, int step) {
  float v[8];
  for (int i = 0; i < 8; i++)
    v[i] = first[i * step];
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 8; i++)
    first[i * step] = v[i];
}

template <int PITCH, bool FORWARD>
__device__ void transform_in_tile(const float *input, float *output, int width) {
  __shared__ float tile[HIGH][PITCH];
  int row = threadIdx.y * 8, column = threadIdx.x;
  int place = (blockIdx.y * HIGH + row) * width + blockIdx.x * WIDE + column;
  for (int i = 0; i < 8; i++)
    tile[row + i][column] = input[place + i * width];
  __syncthreads();
  transform_in_place<FORWARD>(&tile[row + column % 8][column / 8 * 8], 1);
  __syncthreads();
  transform_in_place<FORWARD>(&tile[row][column], PITCH);
  __syncthreads();
  for (int i = 0; i < 8; i++)
    output[place + i * width] = tile[row + i][column];
}

extern "C" __global__ void dct8x8_sample(const float *input, float *output, int width) {
  transform_in_tile<WIDE, true>(input, output, width);
}

extern "C" __global__ void dct8x8_sample_padded(const float *input, float *output, int width) {
  transform_in_tile<WIDE + 1, true>(input, output, width);
}

extern "C" __global__ void idct8x8_sample(const float *input, float *output, int width) {
  transform_in_tile<WIDE, false>(input, output, width);
}

extern "C" __global__ void idct8x8_sample_padded(const float *input, float *output, int width) {
  transform_in_tile<WIDE + 1, false>(input, output, width);
}
