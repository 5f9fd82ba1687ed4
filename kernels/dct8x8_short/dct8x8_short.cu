// Cosine transforms of 8 x 8 tiles of an image of 16-bit integers, forward and inverse, in fixed
// point: cosines in units of 2^-13, and each one-dimensional transform is rounded to an integer.

constexpr int WIDE = 32, HIGH = 16; // part of the image that a block transforms, in pixels
constexpr int FRACTION_BITS = 13;

// c[k] = cos(k pi / 16) / 2 in units of 2^-13, rounded.
constexpr int C1 = 4017, C2 = 3784, C3 = 3406, C4 = 2896, C5 = 2276, C6 = 1567, C7 = 799;

__device__ int rounded(int value) { return (value + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS; }

// Transforms eight values, using that rows of the cosine matrix are symmetric or antisymmetric.
__device__ void forward(int (&v)[8]) {
  int s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
  int d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
  v[0] = rounded(C4 * (s0 + s1 + s2 + s3));
  v[1] = rounded(C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3);
  v[2] = rounded(C2 * (s0 - s3) + C6 * (s1 - s2));
  v[3] = rounded(C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3);
  v[4] = rounded(C4 * (s0 - s1 - s2 + s3));
  v[5] = rounded(C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3);
  v[6] = rounded(C6 * (s0 - s3) - C2 * (s1 - s2));
  v[7] = rounded(C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3);
}

// The inverse of forward, but for rounding.
__device__ void inverse(int (&v)[8]) {
  int e0 = C4 * (v[0] + v[4]), e1 = C4 * (v[0] - v[4]);
  int f0 = C2 * v[2] + C6 * v[6], f1 = C6 * v[2] - C2 * v[6];
  int o0 = C1 * v[1] + C3 * v[3] + C5 * v[5] + C7 * v[7];
  int o1 = C3 * v[1] - C7 * v[3] - C1 * v[5] - C5 * v[7];
  int o2 = C5 * v[1] - C1 * v[3] + C7 * v[5] + C3 * v[7];
  int o3 = C7 * v[1] - C5 * v[3] + C3 * v[5] - C1 * v[7];
  v[0] = rounded(e0 + f0 + o0);
  v[1] = rounded(e1 + f1 + o1);
  v[2] = rounded(e1 - f1 + o2);
  v[3] = rounded(e0 - f0 + o3);
  v[4] = rounded(e0 - f0 - o3);
  v[5] = rounded(e1 - f1 - o2);
  v[6] = rounded(e1 + f1 - o1);
  v[7] = rounded(e0 + f0 - o0);
}

// As in dct8x8.cu, a thread per row and column of a tile. Rows are read and written as pairs, so
// that PITCH counts half as many words: with 32 the rows conflict 4 ways.
template <int PITCH, bool FORWARD>
__device__ void transform_tiles(const short *input, short *output, int width) {
  __shared__ __align__(4) short tile[HIGH][PITCH];
  int row = threadIdx.y * 8, column = threadIdx.x;
  int place = (blockIdx.y * HIGH + row) * width + blockIdx.x * WIDE + column;
  for (int i = 0; i < 8; i++)
    tile[row + i][column] = input[place + i * width];
  __syncthreads();
  int v[8];
  short2 *own_row = (short2 *)&tile[row + column % 8][column / 8 * 8];
  for (int i = 0; i < 4; i++) {
    short2 pair = own_row[i];
    v[2 * i] = pair.x;
    v[2 * i + 1] = pair.y;
  }
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 4; i++)
    own_row[i] = make_short2(v[2 * i], v[2 * i + 1]);
  __syncthreads();
  for (int i = 0; i < 8; i++)
    v[i] = tile[row + i][column];
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 8; i++)
    output[place + i * width] = v[i];
}

extern "C" __global__ void dct8x8_short(const short *input, short *output, int width) {
  transform_tiles<WIDE, true>(input, output, width);
}

extern "C" __global__ void dct8x8_short_padded(const short *input, short *output, int width) {
  transform_tiles<WIDE + 2, true>(input, output, width);
}

extern "C" __global__ void idct8x8_short(const short *input, short *output, int width) {
  transform_tiles<WIDE, false>(input, output, width);
}

extern "C" __global__ void idct8x8_short_padded(const short *input, short *output, int width) {
  transform_tiles<WIDE + 2, false>(input, output, width);
}

// As the sample dct8x8 of NVIDIA's toolkit does it, which gou13 runs: a block of four warps has 32
// x 32 pixels, and half the lanes of a warp move them, two at a time. Columns come first, even ones
// before odd ones, so that neighbouring lanes have different words; then each lane has a row of a
// tile, PITCH / 2 words from the next.
constexpr int SIDE = 32;

template <bool FORWARD> __device__ void transform_column(short *first, int step) {
  int v[8];
  for (int i = 0; i < 8; i++)
    v[i] = first[i * step];
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 8; i++)
    first[i * step] = v[i];
}

template <bool FORWARD> __device__ void transform_row(short2 *first) {
  int v[8];
  for (int i = 0; i < 4; i++) {
    short2 pair = first[i];
    v[2 * i] = pair.x;
    v[2 * i + 1] = pair.y;
  }
  FORWARD ? forward(v) : inverse(v);
  for (int i = 0; i < 4; i++)
    first[i] = make_short2(v[2 * i], v[2 * i + 1]);
}

template <int PITCH, bool FORWARD>
__device__ void transform_in_tile(const short *input, short *output, int width) {
  __shared__ __align__(4) short tile[SIDE][PITCH];
  int lane = threadIdx.x, row = threadIdx.y * 8, column = (2 * lane | lane / 16) % SIDE;
  int place = (blockIdx.y * SIDE + row) * width + blockIdx.x * SIDE + 2 * lane;
  if (lane < SIDE / 2)
    for (int i = 0; i < 8; i++)
      *(short2 *)&tile[row + i][2 * lane] = *(const short2 *)&input[place + i * width];
  __syncthreads();
  transform_column<FORWARD>(&tile[row][column], PITCH);
  __syncthreads();
  transform_row<FORWARD>((short2 *)&tile[lane][row]);
  __syncthreads();
  if (lane < SIDE / 2)
    for (int i = 0; i < 8; i++)
      *(short2 *)&output[place + i * width] = *(const short2 *)&tile[row + i][2 * lane];
}

extern "C" __global__ void dct8x8_short_sample(const short *input, short *output, int width) {
  transform_in_tile<SIDE, true>(input, output, width);
}

extern "C" __global__ void dct8x8_short_sample_padded(const short *input, short *output,
                                                      int width) {
  transform_in_tile<SIDE + 2, true>(input, output, width);
}

extern "C" __global__ void idct8x8_short_sample(const short *input, short *output, int width) {
  transform_in_tile<SIDE, false>(input, output, width);
}

extern "C" __global__ void idct8x8_short_sample_padded(const short *input, short *output,
                                                       int width) {
  transform_in_tile<SIDE + 2, false>(input, output, width);
}
