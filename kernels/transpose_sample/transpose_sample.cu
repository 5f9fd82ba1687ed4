// Transpose of a matrix as the sample of NVIDIA's toolkit did it when gou13 ran it: a tile of 16 x
// 16, read by rows and written by columns, and each thread asks whether its place is inside the
// matrix.
template <int PITCH>
__device__ void transpose_inside(const float *input, float *output, int width, int height) {
  __shared__ float tile[16][PITCH];
  unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y][threadIdx.x] = input[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width)
    output[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void transpose_sample(const float *input, float *output, int width,
                                            int height) {
  transpose_inside<16>(input, output, width, height);
}

extern "C" __global__ void transpose_sample_padded(const float *input, float *output, int width,
                                                   int height) {
  transpose_inside<17>(input, output, width, height);
}
