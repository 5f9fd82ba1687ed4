// Running sums of an array.
// headers: CUB
#include "expect.h"
#include <cub/device/device_scan.cuh>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceScan::ExclusiveSum(work, bytes, in, out, count) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceScan::ExclusiveSum(work, bytes, in, out, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int sum = 0, wrong = 0;
  for (int i = 0; i < count; i++) {
    wrong += out[i] != sum;
    sum += in[i];
  }
  EXPECT(wrong == 0);
  return finish();
}
