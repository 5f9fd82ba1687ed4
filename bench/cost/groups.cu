/* Cooperative groups, as in their documentation. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__device__ int sum_of_group(cg::thread_group g, int *temp, int value) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = value;
    g.sync();
    if (lane < i)
      value += temp[lane + i];
    g.sync();
  }
  return value;
}

__global__ void group_sum(const int *in, int *out, int n) {
  extern __shared__ int temp[];
  auto block = cg::this_thread_block();
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
    int4 v = ((const int4 *)in)[i];
    sum += v.x + v.y + v.z + v.w;
  }
  sum = sum_of_group(block, temp, sum);
  if (block.thread_rank() == 0)
    atomicAdd(out, sum);
}

__global__ void tile_sum(const double *in, double *out, int n) {
  __shared__ double part[1024];
  cg::thread_block block = cg::this_thread_block();
  int t = block.thread_rank();
  part[t] = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
    part[t] += in[i];
  cg::sync(block);
  auto tile = cg::tiled_partition<32>(block);
  part[t] = cg::reduce(tile, part[t], cg::plus<double>());
  cg::sync(block);
  if (t == 0) {
    double sum = 0;
    for (int i = 0; i < blockDim.x; i += 32)
      sum += part[i];
    out[blockIdx.x] = sum;
  }
}
