// Gathering, scattering and tables.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/tabulate.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>

struct times_three {
  __host__ __device__ int operator()(int number) const { return 3 * number % 101; }
};

int main() {
  thrust::device_vector<int> table(101), back(101), values(101);
  thrust::tabulate(table.begin(), table.end(), times_three());
  thrust::scatter(table.begin(), table.end(), table.begin(), values.begin());
  thrust::gather(table.begin(), table.end(), values.begin(), back.begin());
  int wrong = 0;
  for (int i = 0; i < 101; i++)
    wrong += values[i] != i || back[i] != 3 * i % 101;
  EXPECT(wrong == 0);
  EXPECT(thrust::max_element(table.begin(), table.end()) - table.begin() == 67);
  EXPECT(thrust::inner_product(values.begin(), values.end(), values.begin(), 0) == 100 * 101 * 201 / 6);
  return finish();
}
