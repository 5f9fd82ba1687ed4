// Cooperative groups: blocks, tiles and coalesced groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sum(int *out, const int *in) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = in[block.thread_rank()];
  v = cg::reduce(tile, v, cg::plus<int>());
  if (v & 1) {
    auto some = cg::coalesced_threads();
    v += some.shfl(v, 0);
    if (some.thread_rank() == 0)
      atomicAdd(out, v);
  }
  tile.sync();
  cg::this_grid().sync();
  out[block.thread_rank()] = v;
}
