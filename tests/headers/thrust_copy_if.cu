// Numbers that a condition takes, removed and partitioned.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/copy.h>
#include <thrust/remove.h>
#include <thrust/partition.h>
#include <thrust/count.h>

struct is_odd {
  __host__ __device__ bool operator()(int number) const { return number % 2; }
};

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  int odd = 0;
  for (int number : host)
    odd += number % 2;
  thrust::device_vector<int> kept(2000);
  EXPECT(thrust::copy_if(data.begin(), data.end(), kept.begin(), is_odd()) - kept.begin() == odd);
  EXPECT(thrust::count_if(data.begin(), data.end(), is_odd()) == odd);
  EXPECT(thrust::stable_partition(data.begin(), data.end(), is_odd()) - data.begin() == odd);
  EXPECT(thrust::remove_if(data.begin(), data.end(), is_odd()) - data.begin() == 2000 - odd);
  return finish();
}
