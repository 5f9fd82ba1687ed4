// Sum, least and largest of an array.
// headers: CUB
#include "expect.h"
#include <cub/device/device_reduce.cuh>
#include <algorithm>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceReduce::Sum(work, bytes, in, out, count) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceReduce::Sum(work, bytes, in, out, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int sum = 0;
  for (int i = 0; i < count; i++)
    sum += in[i];
  EXPECT(*out == sum);
  EXPECT(cub::DeviceReduce::Max(work, bytes, in, out + 1, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(out[1] == *std::max_element(in, in + count));
  return finish();
}
