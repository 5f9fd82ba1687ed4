// Striped and blocked arrangements, with loads and stores that transpose.
// headers: CUB
#include "expect.h"
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

__global__ void reverse(const int *in, int *out) {
  using loader = cub::BlockLoad<int, 32, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using storer = cub::BlockStore<int, 32, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using exchange = cub::BlockExchange<int, 32, 4>;
  __shared__ union {
    loader::TempStorage load;
    storer::TempStorage store;
    exchange::TempStorage exchange;
  } storage;
  int own[4], ranks[4];
  loader(storage.load).Load(in, own);
  __syncthreads();
  for (int i = 0; i < 4; i++)
    ranks[i] = 127 - (threadIdx.x * 4 + i);
  exchange(storage.exchange).ScatterToBlocked(own, ranks);
  __syncthreads();
  storer(storage.store).Store(out, own);
}

int main() {
  int *in = make<int>(128), *out = make<int>(128), wrong = 0;
  for (int i = 0; i < 128; i++)
    in[i] = i * i;
  reverse<<<1, 32>>>(in, out);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 128; i++)
    wrong += out[i] != in[127 - i];
  EXPECT(wrong == 0);
  return finish();
}
