// A histogram of 16 even bins.
// headers: CUB
#include "expect.h"
#include <cub/device/device_histogram.cuh>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceHistogram::HistogramEven(work, bytes, in, out, 17, 0, 1600, count) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceHistogram::HistogramEven(work, bytes, in, out, 17, 0, 1600, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int wanted[16] = {}, wrong = 0;
  for (int i = 0; i < count; i++)
    wanted[in[i] / 100]++;
  for (int i = 0; i < 16; i++)
    wrong += wanted[i] != out[i];
  EXPECT(wrong == 0);
  return finish();
}
