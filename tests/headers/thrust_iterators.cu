// Iterators that count, transform, permute and zip.
// headers: Thrust
#include "expect.h"
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/tuple.h>
#include <thrust/transform_reduce.h>

struct square {
  __host__ __device__ long operator()(long number) const { return number * number; }
};
struct product {
  __host__ __device__ int operator()(const thrust::tuple<int, int> &pair) const {
    return thrust::get<0>(pair) * thrust::get<1>(pair);
  }
};

int main() {
  auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(0L), square());
  EXPECT(thrust::reduce(squares, squares + 1000) == 999L * 1000 * 1999 / 6);
  thrust::device_vector<int> data(100, 2), places(50);
  for (int i = 0; i < 50; i++) {
    data[i] = i;
    places[i] = 49 - i;
  }
  auto reversed = thrust::make_permutation_iterator(data.begin(), places.begin());
  auto pairs = thrust::make_zip_iterator(thrust::make_tuple(data.begin(), reversed));
  int wanted = 0;
  for (int i = 0; i < 50; i++)
    wanted += i * (49 - i);
  EXPECT(thrust::transform_reduce(pairs, pairs + 50, product(), 0, thrust::plus<int>()) == wanted);
  return finish();
}
