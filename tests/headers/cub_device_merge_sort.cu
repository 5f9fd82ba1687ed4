// A stable sort by an order of the program.
// headers: CUB
#include "expect.h"
#include <cub/device/device_merge_sort.cuh>
#include <algorithm>
#include <vector>

struct by_last_digit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  std::vector<int> wanted(in, in + count);
  std::stable_sort(wanted.begin(), wanted.end(), by_last_digit());
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceMergeSort::StableSortKeys(work, bytes, in, count, by_last_digit()) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceMergeSort::StableSortKeys(work, bytes, in, count, by_last_digit()) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(std::equal(wanted.begin(), wanted.end(), in));
  return finish();
}
