// Runs of equal numbers with their lengths.
// headers: CUB
#include "expect.h"
#include <cub/device/device_run_length_encode.cuh>

int main() {
  constexpr int count = 3000;
  int *in = make<int>(count), *out = make<int>(count);
  for (int i = 0; i < count; i++)
    in[i] = next_random() % 1000;
  int *lengths = make<int>(count), *runs = make<int>(1);
  for (int i = 0; i < count; i++)
    in[i] = i / 7;
  void *work = nullptr;
  size_t bytes = 0;
  EXPECT(cub::DeviceRunLengthEncode::Encode(work, bytes, in, out, lengths, runs, count) == cudaSuccess);
  EXPECT(cudaMalloc(&work, bytes) == cudaSuccess);
  EXPECT(cub::DeviceRunLengthEncode::Encode(work, bytes, in, out, lengths, runs, count) == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(*runs == (count + 6) / 7 && out[5] == 5 && lengths[5] == 7 && lengths[*runs - 1] == (count - 1) % 7 + 1);
  return finish();
}
