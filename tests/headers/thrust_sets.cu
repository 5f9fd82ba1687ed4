// Sorted sets: merged, intersected, searched, without repetitions.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>
#include <thrust/unique.h>
#include <thrust/binary_search.h>
#include <thrust/sort.h>
#include <set>

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  std::set<int> wanted(host.begin(), host.end());
  thrust::sort(data.begin(), data.end());
  data.erase(thrust::unique(data.begin(), data.end()), data.end());
  EXPECT(data.size() == wanted.size() && data[3] == *std::next(wanted.begin(), 3));
  EXPECT(thrust::binary_search(data.begin(), data.end(), *wanted.begin()));
  thrust::device_vector<int> threes, both(data.size()), all(data.size() + 200);
  for (int i = 0; i < 200; i++)
    threes.push_back(3 * i);
  auto end = thrust::set_intersection(data.begin(), data.end(), threes.begin(), threes.end(), both.begin());
  int common = 0;
  for (int i = 0; i < 200; i++)
    common += wanted.count(3 * i);
  EXPECT(end - both.begin() == common);
  thrust::merge(data.begin(), data.end(), threes.begin(), threes.end(), all.begin());
  EXPECT(thrust::is_sorted(all.begin(), all.end()));
  return finish();
}
