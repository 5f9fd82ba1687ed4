// Pairs sorted by key, the largest first.
// headers: CUB
#include "expect.h"
#include <cub/device/device_radix_sort.cuh>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  int *keys = make<int>(count), *values = make<int>(count);
  for (int i = 0; i < count; i++)
    values[i] = i;
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceRadixSort::SortPairsDescending(work, bytes, in, keys, values, out, count) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceRadixSort::SortPairsDescending(work, bytes, in, keys, values, out, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int wrong = 0;
  for (int i = 0; i < count; i++)
    wrong += in[out[i]] != keys[i] || (i && keys[i - 1] < keys[i]) || (i && keys[i - 1] == keys[i] && out[i - 1] > out[i]);
  EXPECT(wrong == 0);
  return finish();
}
