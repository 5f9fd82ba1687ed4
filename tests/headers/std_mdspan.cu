// Views of arrays with several dimensions.
// headers: libcu++
#include "expect.h"
#include <cuda/std/mdspan>

using matrix = cuda::std::mdspan<int, cuda::std::extents<int, 8, cuda::std::dynamic_extent>>;
using columns = cuda::std::mdspan<int, cuda::std::dextents<int, 2>, cuda::std::layout_left>;
__global__ void copy(matrix from, columns to) { to(threadIdx.x, threadIdx.y) = from(threadIdx.y, threadIdx.x); }

int main() {
  int *from = make<int>(32), *to = make<int>(32), wrong = 0;
  for (int i = 0; i < 32; i++)
    from[i] = i;
  copy<<<1, dim3(4, 8)>>>(matrix(from, 4), columns(to, 4, 8));
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 32; i++)
    wrong += to[i] != i;
  EXPECT(wrong == 0);
  return finish();
}
