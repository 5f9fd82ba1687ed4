// Running sums and largest numbers.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/scan.h>
#include <thrust/functional.h>

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  thrust::device_vector<int> sums(2000), largest(2000);
  thrust::exclusive_scan(data.begin(), data.end(), sums.begin(), 10);
  thrust::inclusive_scan(data.begin(), data.end(), largest.begin(), thrust::maximum<int>());
  int sum = 10, most = 0, wrong = 0;
  for (int i = 0; i < 2000; i++) {
    most = std::max(most, host[i]);
    wrong += sums[i] != sum || largest[i] != most;
    sum += host[i];
  }
  EXPECT(wrong == 0);
  return finish();
}
