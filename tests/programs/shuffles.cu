// Warp-level functions: shuffles, votes and matches.
#include "check.h"

__global__ void scan(const int *in, int *out) {
  int lane = threadIdx.x % 32, value = in[threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(~0u, value, step);
    if (lane >= step)
      value += other;
  }
  out[threadIdx.x] = value;
}

struct Seen {
  unsigned ballot, any, all, match, active, reduced;
  int down, rotated, quarter;
};

__global__ void votes(const int *in, Seen *out) {
  int lane = threadIdx.x % 32, value = in[threadIdx.x];
  Seen seen;
  seen.ballot = __ballot_sync(~0u, value % 3 == 0);
  seen.any = __any_sync(~0u, value == 5);
  seen.all = __all_sync(~0u, value < 1000);
  seen.match = __match_any_sync(~0u, value % 4);
  seen.down = __shfl_down_sync(~0u, value, 3);
  seen.rotated = __shfl_sync(~0u, value, (lane + 5) % 32);
  seen.quarter = __shfl_sync(~0u, value, 1, 8);
  seen.reduced = __reduce_add_sync(~0u, (unsigned)value);
  seen.active = 0;
  if (lane % 2)
    seen.active = __activemask();
  out[threadIdx.x] = seen;
}

int main() {
  const int n = 64;
  int host[n], sums[n], *in, *out, wrong = 0;
  Seen *device, got[n];
  for (int i = 0; i < n; i++)
    host[i] = (i * 37) % 101;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof sums));
  CHECK(cudaMalloc(&device, sizeof got));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  scan<<<1, n>>>(in, out);
  CHECK(cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost));
  for (int i = 0, sum = 0; i < n; i++) {
    sum = i % 32 ? sum + host[i] : host[i];
    wrong += sums[i] != sum;
  }
  printf("scan: %d wrong\n", wrong);
  votes<<<1, n>>>(in, device);
  CHECK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < n; i++) {
    int warp = i / 32 * 32, lane = i % 32;
    unsigned ballot = 0, match = 0, sum = 0;
    bool any = false;
    for (int j = 0; j < 32; j++) {
      ballot |= (host[warp + j] % 3 == 0 ? 1u : 0u) << j;
      match |= (host[warp + j] % 4 == host[i] % 4 ? 1u : 0u) << j;
      any |= host[warp + j] == 5;
      sum += host[warp + j];
    }
    const Seen &s = got[i];
    wrong += s.ballot != ballot || s.match != match || !s.any != !any || !s.all ||
             s.reduced != sum || s.down != host[lane < 29 ? i + 3 : i] ||
             s.rotated != host[warp + (lane + 5) % 32] || s.quarter != host[i / 8 * 8 + 1] ||
             s.active != (lane % 2 ? 0xaaaaaaaau : 0);
  }
  printf("votes: %d wrong, first ballot %08x, match %08x\n", wrong, got[0].ballot, got[0].match);
  return 0;
}
