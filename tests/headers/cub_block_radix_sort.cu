// A block sorts its numbers.
// headers: CUB
#include "expect.h"
#include <cub/block/block_radix_sort.cuh>

__global__ void sort(unsigned *data) {
  using sorter = cub::BlockRadixSort<unsigned, 64, 3>;
  __shared__ sorter::TempStorage storage;
  unsigned own[3];
  for (int i = 0; i < 3; i++)
    own[i] = data[threadIdx.x * 3 + i];
  sorter(storage).Sort(own);
  for (int i = 0; i < 3; i++)
    data[threadIdx.x * 3 + i] = own[i];
}

int main() {
  unsigned *data = make<unsigned>(192), sum = 0, wrong = 0;
  for (int i = 0; i < 192; i++)
    sum += data[i] = next_random();
  sort<<<1, 64>>>(data);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 192; i++) {
    wrong += i && data[i - 1] > data[i];
    sum -= data[i];
  }
  EXPECT(wrong == 0 && sum == 0);
  return finish();
}
