// Cooperative groups: reductions in tiles of 4, 8, 16 and 32 threads, and coalesced groups.
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int Size> __global__ void tile_sums(const int *in, int *out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
  int value = in[block.group_index().x * block.size() + block.thread_rank()];
  int sum = value;
  for (int step = Size / 2; step > 0; step /= 2)
    sum += tile.shfl_xor(sum, step);
  int library = cg::reduce(tile, value, cg::plus<int>());
  int largest = cg::reduce(tile, value, cg::greater<int>());
  int before = cg::exclusive_scan(tile, value);
  if (tile.thread_rank() == Size - 1) {
    int *row = out + 4 * ((block.group_index().x * block.size() + block.thread_rank()) / Size);
    row[0] = sum;
    row[1] = library;
    row[2] = largest;
    row[3] = before + value;
  }
}

template <int Size> void test(const int *in, const int *host, int n) {
  int *out, *got = new int[4 * n / Size];
  CHECK(cudaMalloc(&out, 4 * n / Size * sizeof(int)));
  tile_sums<Size><<<n / 128, 128>>>(in, out);
  CHECK(cudaMemcpy(got, out, 4 * n / Size * sizeof(int), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int t = 0; t < n / Size; t++) {
    int sum = 0, largest = host[t * Size];
    for (int i = 0; i < Size; i++) {
      sum += host[t * Size + i];
      largest = host[t * Size + i] > largest ? host[t * Size + i] : largest;
    }
    wrong += got[4 * t] != sum || got[4 * t + 1] != sum || got[4 * t + 2] != largest ||
             got[4 * t + 3] != sum;
  }
  printf("tiles of %d: %d of %d wrong\n", Size, wrong, n / Size);
  CHECK(cudaFree(out));
  delete[] got;
}

__global__ void count_odd(const int *in, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] % 2) {
    cg::coalesced_group active = cg::coalesced_threads();
    if (active.thread_rank() == 0)
      atomicAdd(count, (int)active.size());
  }
}

int main() {
  const int n = 1024;
  int host[n], *in, *count, got;
  unsigned state = 7;
  int odd = 0;
  for (int i = 0; i < n; i++) {
    host[i] = (int)(next_random(&state) % 1000) - 500;
    odd += host[i] % 2 != 0;
  }
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&count, sizeof(int)));
  CHECK(cudaMemset(count, 0, sizeof(int)));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  test<4>(in, host, n);
  test<8>(in, host, n);
  test<16>(in, host, n);
  test<32>(in, host, n);
  count_odd<<<n / 256, 256>>>(in, count);
  CHECK(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
  printf("odd: %d, expected %d\n", got, odd);
  return 0;
}
