// Sums of segments of different lengths.
// headers: CUB
#include "expect.h"
#include <cub/device/device_segmented_reduce.cuh>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  constexpr int segments = 50;
  int *offsets = make<int>(segments + 1);
  for (int i = 0; i <= segments; i++)
    offsets[i] = count * i * i / (segments * segments);
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceSegmentedReduce::Sum(work, bytes, in, out, segments, offsets, offsets + 1) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceSegmentedReduce::Sum(work, bytes, in, out, segments, offsets, offsets + 1) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int wrong = 0;
  for (int i = 0; i < segments; i++) {
    int sum = 0;
    for (int k = offsets[i]; k < offsets[i + 1]; k++)
      sum += in[k];
    wrong += out[i] != sum;
  }
  EXPECT(wrong == 0);
  return finish();
}
