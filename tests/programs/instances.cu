// Four kernels of one template, told apart by types that have arguments of their own and by enumerators.
// flags: -lineinfo
#include "check.h"

enum Order { ROWS, COLUMNS };

namespace shapes {
template <int Width, int Height> struct Tile {
  static const int width = Width, height = Height;
};
} // namespace shapes

// A tile, written by rows and read by rows or columns.
template <class Tile, Order order> __global__ void turn(const float *in, float *out) {
  __shared__ float tile[Tile::height][Tile::width];
  int x = threadIdx.x, y = threadIdx.y, at = y * Tile::width + x;
  tile[y][x] = in[at];
  __syncthreads();
  out[at] = order == ROWS ? tile[y][x] : tile[x][y];
}

template <class Tile, Order order> void test(const float *in, float *out) {
  static float host[32 * 32], got[32 * 32];
  int wrong = 0;
  CHECK(cudaMemcpy(host, in, sizeof host, cudaMemcpyDeviceToHost));
  turn<Tile, order><<<1, dim3(Tile::width, Tile::height)>>>(in, out);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int y = 0; y < Tile::height; y++)
    for (int x = 0; x < Tile::width; x++)
      wrong += got[y * Tile::width + x] != host[order == ROWS ? y * Tile::width + x : x * Tile::width + y];
  printf("%d wrong\n", wrong);
}

int main() {
  float host[32 * 32], *in, *out;
  for (int i = 0; i < 32 * 32; i++)
    host[i] = (float)i;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  test<shapes::Tile<32, 32>, ROWS>(in, out);
  test<shapes::Tile<32, 32>, COLUMNS>(in, out);
  test<shapes::Tile<16, 16>, ROWS>(in, out);
  test<shapes::Tile<16, 16>, COLUMNS>(in, out);
  return 0;
}
