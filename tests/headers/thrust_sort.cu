// Sorts of numbers, and of pairs by key.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <algorithm>

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  thrust::device_vector<int> places(2000);
  for (int i = 0; i < 2000; i++)
    places[i] = i;
  thrust::stable_sort_by_key(data.begin(), data.end(), places.begin());
  thrust::host_vector<int> sorted = data, order = places;
  int wrong = 0;
  for (int i = 0; i < 2000; i++)
    wrong += host[order[i]] != sorted[i];
  EXPECT(wrong == 0 && std::is_sorted(sorted.begin(), sorted.end()));
  return finish();
}
