// Numbers that a condition takes, and the first of equal neighbours.
// headers: CUB
#include "expect.h"
#include <cub/device/device_select.cuh>

struct is_small {
  __host__ __device__ bool operator()(int number) const { return number < 300; }
};

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  int *selected = make<int>(1);
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceSelect::If(work, bytes, in, out, selected, count, is_small()) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceSelect::If(work, bytes, in, out, selected, count, is_small()) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  int kept = 0, wrong = 0;
  for (int i = 0; i < count; i++)
    if (in[i] < 300)
      wrong += out[kept++] != in[i];
  EXPECT(wrong == 0 && *selected == kept);
  return finish();
}
