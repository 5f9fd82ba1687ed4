// All of an array sorted by CUB: radix sort of keys and of pairs, and merge sort with an order of
// our own.

// gpu: 256
#include "strangers.h"

#include <cub/cub.cuh>

// Even numbers first, then by size.
struct even_first {
  __device__ bool operator()(unsigned a, unsigned b) const {
    return (a & 1) != (b & 1) ? (a & 1) < (b & 1) : a < b;
  }
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
  size_t n = p.scale * 16384 - 5;
  std::vector<unsigned> in = numbers<unsigned>(n, 1u << 24), wanted = in;
  std::vector<int> places(n);
  for (size_t i = 0; i < n; i++)
    places[i] = (int)i;
  unsigned *source = to_device(in), *sorted = device_array<unsigned>(n);
  int *from = to_device(places), *to = device_array<int>(n);
  std::sort(wanted.begin(), wanted.end());
  twice(p, "radix_keys", [&](void *memory, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, source, sorted, (int)n);
  });
  std::vector<unsigned> got = to_host(sorted, n);
  p.report("radix sort of keys", differences(got, wanted), got);
  twice(p, "radix_pairs", [&](void *memory, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, source, sorted, from, to, (int)n);
  });
  got = to_host(sorted, n);
  std::vector<int> order = to_host(to, n);
  size_t wrong = differences(got, wanted);
  for (size_t i = 0; i < n; i++)
    wrong += in[order[i]] != got[i] || (i > 0 && got[i] == got[i - 1] && order[i] < order[i - 1]);
  p.report("radix sort of pairs", wrong, order);
  twice(p, "merge", [&](void *memory, size_t &bytes) {
    return cub::DeviceMergeSort::SortKeysCopy(memory, bytes, source, sorted, (int)n, even_first());
  });
  got = to_host(sorted, n);
  std::stable_partition(wanted.begin(), wanted.end(), [](unsigned x) { return x % 2 == 0; });
  p.report("merge sort", differences(got, wanted), got);
  return p.end();
}
