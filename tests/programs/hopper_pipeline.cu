// A product of matrices written as CUTLASS 3, FlashAttention 3 and DeepGEMM are: classes for barriers and the state of a pipeline,
// a persistent schedule, clusters of two that multicast B, two consumer groups that take turns (ping-pong), partial sums that are
// scaled and promoted, an epilogue by stmatrix and tensor stores. Sums are exact.
// flags: -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
#include "hopper_tile.h"

#include <cuda_fp16.h>
#include <vector>

enum { STAGES = 4, M = 256 * SCALE, N = 256, K = 192, K_TILES = K / TILE, ROUND = 2 * TILE };
enum { PAIRS = M / ROUND, TILES = PAIRS * (N / TILE), CLUSTERS = 2, GROUP = 128 };
static const uint64_t EVICT_LAST = 0x14F0000000000000, EVICT_FIRST = 0x12F0000000000000;

/* ---- Barriers ---- */

struct ClusterBarrier {
  uint64_t word;
  __device__ void init(unsigned count) { barrier_init(&word, count); }
  __device__ bool try_wait(unsigned phase) {
    uint32_t done;
    asm volatile("{\n.reg .pred P1;\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%1], %2, %3;\nselp.b32 %0, 1, 0, P1;\n}"
                 : "=r"(done)
                 : "r"(shared_address(&word)), "r"(phase), "r"(0x989680u)
                 : "memory");
    return done;
  }
  __device__ void wait(unsigned phase) {
    while (!try_wait(phase))
      ;
  }
  /* At the same barrier of a block of the cluster. */
  __device__ void arrive(unsigned block, uint32_t is_wanted = 1) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 remAddr32;\nsetp.eq.u32 p, %2, 1;\n@p mapa.shared::cluster.u32  remAddr32, %0, %1;\n"
                 "@p mbarrier.arrive.shared::cluster.b64  _, [remAddr32];\n}" ::"r"(shared_address(&word)),
                 "r"(block), "r"(is_wanted)
                 : "memory");
  }
};

struct ClusterTransactionBarrier : ClusterBarrier {
  __device__ void arrive_and_expect_tx(unsigned bytes) { barrier_expect(&word, bytes); }
};

struct PipelineState {
  unsigned index = 0, phase;
  __device__ explicit PipelineState(unsigned first) : phase(first) {}
  __device__ void advance(unsigned count) {
    unsigned next = index + count;
    phase ^= next / STAGES & 1;
    index = next % STAGES;
  }
};

struct Shared {
  alignas(1024) uint8_t a[STAGES][TILE_BYTES], b[STAGES][TILE_BYTES], c[2][TILE_BYTES];
  ClusterTransactionBarrier full[STAGES];
  ClusterBarrier empty[STAGES], turn[2];
};

static __device__ uint32_t elect_one() {
  uint32_t chosen;
  asm volatile("{\n.reg .b32 %%rx;\n.reg .pred %%px;\nelect.sync %%rx|%%px, 0xffffffff;\nselp.u32 %0, 1, 0, %%px;\n}" : "=r"(chosen));
  return chosen;
}

static __device__ uint32_t block_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* ---- Copies ---- */

struct SM90_TMA_LOAD {
  static __device__ void copy(const CUtensorMap *map, ClusterBarrier *barrier, uint64_t hint, void *to, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], "
                 "%5;" ::"r"(shared_address(to)),
                 "l"((uint64_t)map), "r"(shared_address(barrier)), "r"(x), "r"(y), "l"(hint)
                 : "memory");
  }
};

struct SM90_TMA_LOAD_MULTICAST {
  static __device__ void copy(const CUtensorMap *map, ClusterBarrier *barrier, uint16_t mask, uint64_t hint, void *to, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1, "
                 "{%4, %5}], [%2], %3, %6;" ::"r"(shared_address(to)),
                 "l"((uint64_t)map), "r"(shared_address(barrier)), "h"(mask), "r"(x), "r"(y), "l"(hint)
                 : "memory");
  }
};

static __device__ void produce(Shared &own, const CUtensorMap &map_a, const CUtensorMap &map_b) {
  PipelineState state(1);
  unsigned rank = block_rank();
  for (int tile = blockIdx.x / 2; tile < TILES; tile += CLUSTERS) {
    int row = tile % PAIRS * ROUND + rank * TILE, column = tile / PAIRS * TILE;
    for (int k = 0; k < K_TILES; k++, state.advance(1)) {
      ClusterTransactionBarrier &full = own.full[state.index];
      own.empty[state.index].wait(state.phase);
      full.arrive_and_expect_tx(2 * TILE_BYTES);
      SM90_TMA_LOAD::copy(&map_a, &full, EVICT_FIRST, own.a[state.index], k * TILE, row);
      SM90_TMA_LOAD_MULTICAST::copy(&map_b, &full, 3, EVICT_LAST, own.b[state.index] + rank * TILE_BYTES / 2, k * TILE,
                                    column + rank * TILE / 2);
    }
  }
  for (int i = 0; i < STAGES; i++, state.advance(1)) /* nobody arrives in a block that has ended */
    own.empty[state.index].wait(state.phase);
}

/* ---- Products and the epilogue ---- */

static __device__ void store_tile(uint8_t *to, const CUtensorMap &map_c, float (&sum)[32], unsigned group, int x, int y) {
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x % GROUP / 32;
  if (threadIdx.x % GROUP == 0)
    bulk_wait_read<0>();
  asm volatile("bar.sync %0, 128;" ::"r"(4 + group) : "memory");
  for (int j = 0; j < 8; j += 2) {
    uint32_t word[4];
    for (int i = 0; i < 4; i++) {
      __half2 two = __floats2half2_rn(sum[4 * j + 2 * i], sum[4 * j + 2 * i + 1]);
      word[i] = *(uint32_t *)&two;
    }
    unsigned row = 16 * warp + lane % 16, piece = j + lane / 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(to + row * 128 + (piece ^ row % 8) * 16)),
                 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
                 : "memory");
  }
  async_fence();
  asm volatile("bar.sync %0, 128;" ::"r"(4 + group) : "memory");
  if (threadIdx.x % GROUP == 0) {
    tensor_store_2d(&map_c, x, y, to);
    bulk_commit();
  }
}

static __device__ void consume(Shared &own, const CUtensorMap &map_c, const float *scale, unsigned group) {
  PipelineState state(0);
  unsigned rank = block_rank(), round = 0;
  state.advance(group * K_TILES);
  for (int i = group, tile; (tile = blockIdx.x / 2 + i * CLUSTERS) < TILES; i += 2, round++) {
    float total[32] = {}, part[32];
    own.turn[group].wait(round & 1 ^ (group == 0));
    for (int k = 0; k < K_TILES; k++, state.advance(1)) {
      own.full[state.index].wait(state.phase);
      wgmma_fence();
      multiply_tiles(part, own.a[state.index], own.b[state.index], false);
      wgmma_commit();
      wgmma_wait<0>();
      own.empty[state.index].arrive(threadIdx.x % GROUP, threadIdx.x % GROUP < 2);
      float factor = __ldg(&scale[k]);
      for (int e = 0; e < 32; e++)
        total[e] += factor * part[e];
    }
    if (threadIdx.x % GROUP == 0)
      own.turn[group ^ 1].arrive(rank);
    state.advance(K_TILES); /* of the other group */
    store_tile(own.c[group], map_c, total, group, tile / PAIRS * TILE, tile % PAIRS * ROUND + rank * TILE);
  }
  if (threadIdx.x % GROUP == 0)
    bulk_wait<0>();
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(3 * GROUP, 1)
    pipeline(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             const __grid_constant__ CUtensorMap map_c, const float *scale) {
  extern __shared__ uint8_t memory[];
  Shared &own = *(Shared *)aligned_room(memory);
  unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == 0 && elect_one()) {
    for (const CUtensorMap *map : {&map_a, &map_b, &map_c})
      asm volatile("prefetch.tensormap [%0];" ::"l"((uint64_t)map) : "memory");
    for (int i = 0; i < STAGES; i++) {
      own.full[i].init(1);
      own.empty[i].init(2);
    }
    own.turn[0].init(1);
    own.turn[1].init(1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x < GROUP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (warp == 0 && elect_one())
      produce(own, map_a, map_b);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume(own, map_c, scale, threadIdx.x / GROUP - 1);
  }
}

int main() {
  std::vector<__half> a(M * K), b(N * K), c(M * N);
  const float scale[K_TILES] = {1, 0.5, 2};
  unsigned state = 5;
  for (__half &value : a)
    value = __half((int)(next_random(&state) % 5) - 2);
  for (__half &value : b)
    value = __half((int)(next_random(&state) % 5) - 2);
  __half *device_a = to_device(a.data(), a.size()), *device_b = to_device(b.data(), b.size());
  __half *device_c = to_device(c.data(), c.size());
  float *device_scale = to_device(scale, K_TILES);
  auto map = [](void *data, uint64_t width, uint64_t height, unsigned rows) {
    return map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, data, width, height, width * 2, TILE, rows, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  size_t bytes = sizeof(Shared) + 1024;
  CHECK(cudaFuncSetAttribute(pipeline, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  pipeline<<<2 * CLUSTERS, 3 * GROUP, bytes>>>(map(device_a, K, M, TILE), map(device_b, K, N, TILE / 2), map(device_c, N, M, TILE),
                                               device_scale);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), device_c, c.size() * 2, cudaMemcpyDeviceToHost));
  unsigned wrong = 0;
  for (int y = 0; y < M; y++)
    for (int x = 0; x < N; x++) {
      float sum = 0;
      for (int k = 0; k < K; k++)
        sum += scale[k / TILE] * (float)a[y * K + k] * (float)b[x * K + k];
      wrong += (float)c[y * N + x] != sum;
    }
  printf("%u wrong of %d; %08x\n", wrong, M * N, digest(c.data(), c.size() * 2));
  return wrong != 0;
}
