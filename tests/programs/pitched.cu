// Copies in two and three dimensions, pitched memory and fills.
#include "check.h"

__global__ void blur(const char *in, size_t pitch, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int cx = min(max(x + dx, 0), width - 1), cy = min(max(y + dy, 0), height - 1);
      sum += ((const float *)(in + cy * pitch))[cx];
    }
  out[y * width + x] = sum;
}

__global__ void fill_3d(cudaPitchedPtr memory, cudaExtent extent) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  char *slice = (char *)memory.ptr + z * memory.pitch * memory.ysize;
  ((int *)(slice + y * memory.pitch))[x] += x + 10 * y + 100 * z;
  (void)extent;
}

int main() {
  const int width = 37, height = 21;
  static float image[height][width], got[height][width];
  float *out;
  char *in;
  size_t pitch;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      image[y][x] = (float)((x * 5 + y * 3) % 11);
  CHECK(cudaMallocPitch(&in, &pitch, width * sizeof(float), height));
  CHECK(cudaMalloc(&out, sizeof got));
  CHECK(cudaMemcpy2D(in, pitch, image, width * sizeof(float), width * sizeof(float), height,
                     cudaMemcpyHostToDevice));
  blur<<<dim3(3, 3), dim3(16, 8)>>>(in, pitch, out, width, height);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      float sum = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          int cx = x + dx < 0 ? 0 : x + dx >= width ? width - 1 : x + dx;
          int cy = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
          sum += image[cy][cx];
        }
      wrong += got[y][x] != sum;
    }
  printf("blur: %d wrong, pitch %s\n", wrong, pitch % 512 == 0 ? "aligned" : "not aligned");

  cudaExtent extent = make_cudaExtent(6 * sizeof(int), 5, 4);
  cudaPitchedPtr memory;
  int box[4][5][6];
  CHECK(cudaMalloc3D(&memory, extent));
  CHECK(cudaMemset3D(memory, 1, extent));
  fill_3d<<<1, dim3(6, 5, 4)>>>(memory, extent);
  cudaMemcpy3DParms how = {};
  how.srcPtr = memory;
  how.dstPtr = make_cudaPitchedPtr(box, 6 * sizeof(int), 6, 5);
  how.extent = extent;
  how.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&how));
  wrong = 0;
  for (int z = 0; z < 4; z++)
    for (int y = 0; y < 5; y++)
      for (int x = 0; x < 6; x++)
        wrong += box[z][y][x] != 0x01010101 + x + 10 * y + 100 * z;
  printf("box: %d wrong\n", wrong);
  printf("a pitch below the width: %s\n",
         cudaGetErrorName(cudaMemcpy2D(in, pitch, image, 8, 16, 2, cudaMemcpyHostToDevice)));
  return 0;
}
