// Attention, forward: two stages of keys and values by tensor copies, scores by wgmma from shared memory, softmax on the fly,
// weights as f16 in registers times values, which lie with their rows along the other way.
// flags: -O3 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90a,code=compute_90a
// exec: --threads 2
#include "hopper_tile.h"

#include <cmath>
#include <cuda_fp16.h>
#include <vector>

enum { HEADS = 2 * SCALE, LENGTH = 256 * SCALE, ROOM_BYTES = 5 * TILE_BYTES + 1024 };

static __device__ __forceinline__ void load_pair(uint8_t *to, const CUtensorMap *k, const CUtensorMap *v, int row,
                                                 uint64_t *barrier) {
  barrier_expect(barrier, 2 * TILE_BYTES);
  tensor_load_2d(to, k, 0, row, barrier);
  tensor_load_2d(to + TILE_BYTES, v, 0, row, barrier);
}

/* The largest of the four lanes that share a row, or their sum. */
static __device__ __forceinline__ float over_row(float x, bool adds) {
  for (int i = 1; i < 4; i *= 2) {
    float other = __shfl_xor_sync(0xffffffff, x, i);
    x = adds ? x + other : fmaxf(x, other);
  }
  return x;
}

static __device__ __forceinline__ uint32_t pack(float low, float high) {
  __half2 both = __floats2half2_rn(low, high);
  return *(uint32_t *)&both;
}

/* scale is that of scores times log2(e). */
__global__ void __launch_bounds__(128)
    attend(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
           float *out, float scale) {
  extern __shared__ uint8_t memory[];
  __shared__ __align__(8) uint64_t full[3];
  uint8_t *own = aligned_room(memory), *stage = own + TILE_BYTES;
  int base = blockIdx.y * LENGTH, row = base + blockIdx.x * TILE;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; i++)
      barrier_init(&full[i], 1);
    barrier_fence();
    barrier_expect(&full[2], TILE_BYTES);
    tensor_load_2d(own, &q, 0, row, &full[2]);
    for (int i = 0; i < 2; i++)
      load_pair(stage + 2 * TILE_BYTES * i, &k, &v, base + i * TILE, &full[i]);
  }
  __syncthreads();
  barrier_wait(&full[2], 0);
  float scores[32], sums[32] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
  for (int step = 0; step < LENGTH / TILE; step++) {
    uint8_t *keys = stage + 2 * TILE_BYTES * (step % 2), *values = keys + TILE_BYTES;
    barrier_wait(&full[step % 2], step / 2 & 1);
    wgmma_fence();
    multiply_tiles(scores, own, keys, false);
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float now = most[h], part = 0;
      for (int j = 0; j < 8; j++)
        now = fmaxf(now, fmaxf(scores[4 * j + 2 * h], scores[4 * j + 2 * h + 1]) * scale);
      now = over_row(now, false);
      float shrink = exp2f(most[h] - now);
      most[h] = now;
      for (int j = 0; j < 8; j++)
        for (int i = 0; i < 2; i++) {
          float &score = scores[4 * j + 2 * h + i];
          score = exp2f(score * scale - now);
          part += score;
          sums[4 * j + 2 * h + i] *= shrink;
        }
      total[h] = total[h] * shrink + over_row(part, true);
    }
    uint32_t weights[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
      weights[i] = pack(scores[2 * i], scores[2 * i + 1]);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; i++)
      multiply_registers_16(sums, weights + 4 * i, descriptor(shared_address(values) + 2048 * i, 1024, 1024, 1));
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
    if (threadIdx.x == 0 && step + 2 < LENGTH / TILE)
      load_pair(keys, &k, &v, base + (step + 2) * TILE, &full[step % 2]);
  }
  for (int j = 0; j < 8; j++)
    for (int h = 0; h < 2; h++)
      *(float2 *)&out[(size_t)(row + first_row() + 8 * h) * TILE + 8 * j + threadIdx.x % 4 * 2] =
          make_float2(sums[4 * j + 2 * h] / total[h], sums[4 * j + 2 * h + 1] / total[h]);
}

int main() {
  enum { COUNT = HEADS * LENGTH * TILE };
  std::vector<__half> values[3];
  CUtensorMap map[3];
  unsigned state = 11;
  for (int i = 0; i < 3; i++) {
    values[i].resize(COUNT);
    for (__half &value : values[i])
      value = __half((float)(next_random(&state) % 2001) / 500 - 2);
    map[i] = map_2d(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, to_device(values[i].data(), COUNT), TILE, HEADS * LENGTH, TILE * 2, TILE,
                    TILE, CU_TENSOR_MAP_SWIZZLE_128B);
  }
  std::vector<float> out(COUNT, NAN);
  float *at_out = to_device(out.data(), COUNT);
  CHECK(cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, ROOM_BYTES));
  attend<<<dim3(LENGTH / TILE, HEADS), 128, ROOM_BYTES>>>(map[0], map[1], map[2], at_out, 0.125f * 1.44269504f);
  CHECK(cudaMemcpy(out.data(), at_out, COUNT * 4, cudaMemcpyDeviceToHost));
  double worst = 0;
  for (int head = 0; head < HEADS; head++)
    for (int row = head * LENGTH; row < (head + 1) * LENGTH; row += SCALE) {
      double total = 0, sum[TILE] = {};
      for (int key = head * LENGTH; key < (head + 1) * LENGTH; key++) {
        double score = 0;
        for (int i = 0; i < TILE; i++)
          score += (double)(float)values[0][row * TILE + i] * (float)values[1][key * TILE + i];
        double weight = exp(score * 0.125);
        total += weight;
        for (int i = 0; i < TILE; i++)
          sum[i] += weight * (float)values[2][key * TILE + i];
      }
      for (int i = 0; i < TILE; i++) {
        double off = fabs(sum[i] / total - out[row * TILE + i]);
        worst = off <= worst ? worst : off;
      }
    }
  printf("attention of %d x %d x %d: %s\n", HEADS, LENGTH, TILE, worst < 0.002 ? "right" : "wrong");
  return worst < 0.002 ? 0 : 1;
}
