// Transforms with functions of the program, and of two arrays.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/transform.h>
#include <thrust/sequence.h>

struct axpy {
  int factor;
  __host__ __device__ int operator()(int x, int y) const { return factor * x + y; }
};

int main() {
  thrust::host_vector<int> host(2000);
  for (int &number : host)
    number = next_random() % 500;
  thrust::device_vector<int> data = host;

  thrust::device_vector<int> others(2000);
  thrust::sequence(others.begin(), others.end(), 5, 3);
  thrust::transform(data.begin(), data.end(), others.begin(), data.begin(), axpy{7});
  int wrong = 0;
  for (int i = 0; i < 2000; i++)
    wrong += data[i] != 7 * host[i] + 5 + 3 * i;
  EXPECT(wrong == 0);
  return finish();
}
