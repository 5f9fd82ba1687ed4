// Arrays, tuples, optional values, spans and variants in kernels.
// headers: libcu++
#include "expect.h"
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#include <cuda/std/utility>

__device__ cuda::std::optional<int> halved(int number) {
  if (number % 2)
    return cuda::std::nullopt;
  return number / 2;
}
__global__ void use(cuda::std::span<int> data) {
  cuda::std::array<int, 4> four = {1, 2, 3, 4};
  auto pair = cuda::std::make_tuple((int)threadIdx.x, 10);
  cuda::std::variant<int, float> either = 2.5f;
  int total = 0;
  for (int number : four)
    total += number;
  data[threadIdx.x] = halved(threadIdx.x).value_or(-1) + cuda::std::get<1>(pair) + total + (int)cuda::std::get<float>(either);
}

int main() {
  int *data = make<int>(32), wrong = 0;
  use<<<1, 32>>>(cuda::std::span<int>(data, 32));
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 32; i++)
    wrong += data[i] != (i % 2 ? -1 : i / 2) + 22;
  EXPECT(wrong == 0);
  return finish();
}
