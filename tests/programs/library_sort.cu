// Thrust, as many programs use it: sort, reduce, scan and transform.
// flags: -std=c++17
#include "check.h"

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <vector>

struct Square {
  __host__ __device__ long long operator()(int x) const { return (long long)x * x; }
};

int main() {
  const int n = 10000;
  thrust::host_vector<int> host(n);
  unsigned state = 5;
  for (int &x : host)
    x = (int)(next_random(&state) % 100000);
  std::vector<int> sorted(host.begin(), host.end());
  std::sort(sorted.begin(), sorted.end());
  thrust::device_vector<int> device = host;
  thrust::sort(device.begin(), device.end());
  thrust::host_vector<int> got = device;
  printf("sort: %s\n", std::equal(sorted.begin(), sorted.end(), got.begin()) ? "right" : "WRONG");
  thrust::device_vector<long long> squares(n);
  thrust::transform(device.begin(), device.end(), squares.begin(), Square());
  long long sum = thrust::reduce(squares.begin(), squares.end(), 0ll), expected = 0;
  for (int x : sorted)
    expected += (long long)x * x;
  printf("sum of squares: %s\n", sum == expected ? "right" : "WRONG");
  thrust::exclusive_scan(device.begin(), device.end(), device.begin());
  got = device;
  int running = 0, wrong = 0;
  for (int i = 0; i < n; i++) {
    wrong += got[i] != running;
    running += sorted[i];
  }
  printf("scan: %d wrong\n", wrong);
  return 0;
}
