// A cooperative launch: blocks wait for each other between the steps of a scan.
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void scan(int *a, int *b, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = (int)grid.thread_rank();
  int *from = a, *to = b;
  for (int distance = 1; distance < n; distance *= 2) {
    if (i < n)
      to[i] = from[i] + (i >= distance ? from[i - distance] : 0);
    grid.sync();
    int *swap = from;
    from = to;
    to = swap;
  }
  if (i < n)
    b[i] = from[i];
}

int main() {
  int supported = 0, blocks_each = 0;
  int n = 2048, *a, *b;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, scan, 128, 0));
  printf("cooperative launch: %d, blocks fit: %d\n", supported, blocks_each > 0);
  int *host = new int[n];
  for (int i = 0; i < n; i++)
    host[i] = i % 5 - 1;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemcpy(a, host, n * sizeof(int), cudaMemcpyHostToDevice));
  void *arguments[] = {&a, &b, &n};
  CHECK(cudaLaunchCooperativeKernel((const void *)scan, dim3(n / 128), dim3(128), arguments, 0, 0));
  int *got = new int[n], wrong = 0, sum = 0;
  CHECK(cudaMemcpy(got, b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    sum += host[i];
    wrong += got[i] != sum;
  }
  printf("scan of %d: %d wrong, last %d\n", n, wrong, got[n - 1]);
  cudaError_t error = cudaLaunchCooperativeKernel((const void *)scan, dim3(1 << 20), dim3(128),
                                                  arguments, 0, 0);
  printf("a million blocks: %s\n", cudaGetErrorName(error));
  return 0;
}
