// Reductions, also by key.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/functional.h>

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  int sum = 0;
  for (int number : host)
    sum += number;
  EXPECT(thrust::reduce(data.begin(), data.end()) == sum);
  thrust::device_vector<int> keys(2000), found(2000), sums(2000);
  for (int i = 0; i < 2000; i++)
    keys[i] = i / 30;
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), data.begin(), found.begin(), sums.begin());
  int first = 0;
  for (int i = 0; i < 30; i++)
    first += host[i];
  EXPECT(ends.first - found.begin() == 67 && sums[0] == first && found[66] == 66);
  return finish();
}
