// A picture convolved with a separable kernel in constant memory: rows, columns, and the whole at
// once.

// gpu: 32
#include "strangers.h"

constexpr int radius = 8;
__constant__ int weights[2 * radius + 1];

// 16 x 4 threads do 8 * 16 x 4 pixels.
__global__ void rows(const int *in, int *out, int width) {
  __shared__ int data[4][10 * 16];
  int x = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  const int *line = in + (size_t)y * width;
  for (int i = 0; i < 10; i++) {
    int at = x + i * 16;
    data[threadIdx.y][threadIdx.x + i * 16] = at >= 0 && at < width ? line[at] : 0;
  }
  __syncthreads();
  for (int i = 1; i < 9; i++) {
    int sum = 0;
    for (int k = -radius; k <= radius; k++)
      sum += weights[radius - k] * data[threadIdx.y][threadIdx.x + i * 16 + k];
    out[(size_t)y * width + x + i * 16] = sum;
  }
}

// 16 x 8 threads do 16 x 8 * 8 pixels; the array has a row for each column, as one may write it
// down.
__global__ void columns(const int *in, int *out, int width, int height) {
  __shared__ int data[16][10 * 8];
  int x = blockIdx.x * 16 + threadIdx.x, y = (blockIdx.y * 8 - 1) * 8 + threadIdx.y;
  for (int i = 0; i < 10; i++) {
    int at = y + i * 8;
    data[threadIdx.x][threadIdx.y + i * 8] =
        at >= 0 && at < height ? in[(size_t)at * width + x] : 0;
  }
  __syncthreads();
  for (int i = 1; i < 9; i++) {
    int sum = 0;
    for (int k = -radius; k <= radius; k++)
      sum += weights[radius - k] * data[threadIdx.x][threadIdx.y + i * 8 + k];
    out[(size_t)(y + i * 8) * width + x] = sum;
  }
}

static int weight(int k) { return radius + 1 - abs(k); }

int main(int count, char **words) {
  program p(count, words);
  int width = 128 * (int)p.scale, height = 128 * (int)std::min<size_t>(p.scale, 16);
  size_t n = (size_t)width * height;
  std::vector<int> in = numbers<int>(n, 256), kernel(2 * radius + 1), first(n), second(n);
  for (int k = -radius; k <= radius; k++)
    kernel[k + radius] = weight(k);
  CHECK(cudaMemcpyToSymbol(weights, kernel.data(), kernel.size() * sizeof(int)));
  int *source = to_device(in), *across = device_array<int>(n), *out = device_array<int>(n);
  p.timed("rows",
          [&] { rows<<<dim3(width / 128, height / 4), dim3(16, 4)>>>(source, across, width); });
  p.timed("columns", [&] {
    columns<<<dim3(width / 16, height / 64), dim3(16, 8)>>>(across, out, width, height);
  });
  for (int y = 0; y < height; y++)
    for (int k = -radius; k <= radius; k++)
      for (int x = std::max(0, -k); x < std::min(width, width - k); x++)
        first[(size_t)y * width + x] += weight(k) * in[(size_t)y * width + x + k];
  for (int y = 0; y < height; y++)
    for (int k = std::max(-radius, -y); k <= std::min(radius, height - 1 - y); k++)
      for (int x = 0; x < width; x++)
        second[(size_t)y * width + x] += weight(k) * first[(size_t)(y + k) * width + x];
  std::vector<int> got = to_host(across, n);
  p.report("rows", differences(got, first), got);
  got = to_host(out, n);
  p.report("columns", differences(got, second), got);
  return p.end();
}
