// Device-wide scans, selection, run lengths and sums by key of CUB.

// gpu: 1024
#include "strangers.h"

#include <cub/cub.cuh>
#include <cuda/std/functional>

struct is_small {
  __device__ bool operator()(int x) const { return x < 3; }
};

// Calls a device-wide algorithm of CUB twice, as it wants: for the size of its memory, and to do
// it.
template <typename F> static void twice(program &p, const char *name, F call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  char *memory = device_array<char>(bytes);
  p.timed(name, [&] { CHECK(call(memory, bytes)); });
  CHECK(cudaFree(memory));
}

int main(int count, char **words) {
  program p(count, words);
  size_t n = p.scale * 16384 + 3;
  std::vector<int> in = numbers<int>(n, 8), wanted(n);
  int *source = to_device(in), *out = device_array<int>(n), *lengths = device_array<int>(n);
  int *found = device_array<int>(1);
  twice(p, "inclusive", [&](void *memory, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(memory, bytes, source, out, (int)n);
  });
  std::vector<int> got = to_host(out, n);
  int sum = 0;
  for (size_t i = 0; i < n; i++)
    wanted[i] = sum += in[i];
  p.report("inclusive sums", differences(got, wanted), got);
  twice(p, "select", [&](void *memory, size_t &bytes) {
    return cub::DeviceSelect::If(memory, bytes, source, out, found, (int)n, is_small());
  });
  got = to_host(out, to_host(found, 1)[0]);
  wanted.clear();
  for (int x : in)
    if (x < 3)
      wanted.push_back(x);
  p.report("selected", differences(got, wanted), got);
  twice(p, "run_lengths", [&](void *memory, size_t &bytes) {
    return cub::DeviceRunLengthEncode::Encode(memory, bytes, source, out, lengths, found, (int)n);
  });
  got = to_host(lengths, to_host(found, 1)[0]);
  wanted.clear();
  for (size_t i = 0; i < n; i++)
    if (i > 0 && in[i] == in[i - 1])
      wanted.back()++;
    else
      wanted.push_back(1);
  p.report("lengths of runs", differences(got, wanted), got);
  twice(p, "sums_by_key", [&](void *memory, size_t &bytes) {
    return cub::DeviceReduce::ReduceByKey(memory, bytes, source, out, source, lengths, found,
                                          cuda::std::plus<int>(), (int)n);
  });
  got = to_host(lengths, to_host(found, 1)[0]);
  for (size_t i = 0, k = (size_t)-1; i < n; i++) {
    k += i == 0 || in[i] != in[i - 1];
    wanted[k] = (i > 0 && in[i] == in[i - 1] ? wanted[k] : 0) + in[i];
  }
  p.report("sums by key", differences(got, wanted), got);
  return p.end();
}
