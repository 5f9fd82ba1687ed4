// What programs ask of a GPU beyond arithmetic: dot products and video instructions, operations of a warp, halves,
// clocks and special registers, memory of the heap and of the stack.
// flags: -std=c++17
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace groups = cooperative_groups;

__global__ void integers(unsigned *out, unsigned a, unsigned b) {
  int i = 0;
  out[i++] = __vadd4(a, b);
  out[i++] = __vsub2(a, b);
  out[i++] = __vabsdiffu4(a, b);
  out[i++] = __vsadu4(a, b);
  out[i++] = __vmaxs2(a, b);
  out[i++] = __vcmpgtu4(a, b);
  out[i++] = __vavgs4(a, b);
  out[i++] = __vsetles2(a, b);
  out[i++] = __dp4a(a, b, 7u);
  out[i++] = __dp2a_lo(a, b, 7u);
  out[i++] = __brev(a);
  out[i++] = __byte_perm(a, b, 0x5410);
  out[i++] = __funnelshift_l(a, b, 9);
  out[i++] = __fns(a, 0, 3);
  out[i++] = __sad(a, b, 3);
  out[i++] = __umul24(a, b);
  out[i++] = __usad(a, b, 4);
  out[i++] = __umulhi(a, b);
  out[i++] = __uhadd(a, b);
  out[i++] = __urhadd(a, b);
  out[i++] = __viaddmax_s32(a, b, 5);
  out[i++] = __vimax3_s32(a, b, 6);
  out[i++] = __ffsll(a);
}

__global__ void clocks(unsigned *out) {
  unsigned long long time, address;
  unsigned number;
  int i = 0;
  long long before = clock64();
  __nanosleep(100);
  out[i++] = clock64() >= before;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  out[i++] = time > 0;
  asm("mov.u32 %0, %%smid;" : "=r"(number));
  out[i++] = number < 1000;
  asm("mov.u32 %0, %%nsmid;" : "=r"(number));
  out[i++] = number > 0;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(number));
  out[i++] = number;
  __prof_trigger(1);
  address = (unsigned long long)&time;
  out[i++] = __isGlobal(out);
  out[i++] = __isShared(out);
  out[i++] = __isLocal((void *)address);
  out[i++] = __isConstant(out);
}

__global__ void warps(int *out) {
  int lane = threadIdx.x, i = 0, all_equal;
  auto put = [&](int value) { out[32 * i++ + lane] = value; };
  put(__reduce_add_sync(~0u, lane));
  put(__reduce_max_sync(~0u, lane ^ 5));
  put(__reduce_xor_sync(~0u, (unsigned)lane * 7));
  put(__match_any_sync(~0u, lane / 5));
  put(__match_all_sync(~0u, 3, &all_equal));
  put(all_equal);
  put(__ballot_sync(~0u, lane & 1));
  put(__any_sync(~0u, lane == 3));
  put(__all_sync(~0u, lane < 30));
  put(__syncthreads_count(lane & 1));
  put(__shfl_xor_sync(~0u, lane, 3));
  auto tile = groups::tiled_partition<8>(groups::this_thread_block());
  put(groups::reduce(tile, lane, groups::plus<int>()));
  put(groups::inclusive_scan(tile, lane));
  put(groups::exclusive_scan(tile, lane, groups::bit_xor<int>()));
  auto part = groups::labeled_partition(groups::coalesced_threads(), lane % 3);
  put(groups::reduce(part, lane, groups::greater<int>()));
  put(part.size());
  auto half = groups::binary_partition(tile, lane & 1);
  put(half.thread_rank() * 10 + half.size());
  put(groups::tiled_partition(groups::this_thread_block(), 4).thread_rank());
  put(groups::invoke_one_broadcast(tile, [&] { return lane / 8; }));
}

__global__ void halves(float *out) {
  __half a = __float2half(1.5f), b = __float2half(-2.25f);
  __half2 pair = __halves2half2(a, b), *two = (__half2 *)(out + 61);
  __half *one = (__half *)(out + 60);
  __nv_bfloat16 x = __float2bfloat16(3.14159f), y = __float2bfloat16(-0.1f);
  __nv_bfloat162 *brains = (__nv_bfloat162 *)(out + 62);
  int i = 0;
  out[i++] = __half2float(__hfma(a, b, a));
  out[i++] = __half2float(hsqrt(a));
  out[i++] = __hlt(a, b);
  out[i++] = __high2float(__hmax2(pair, __half2half2(a)));
  out[i++] = (float)__half2int_rn(b);
  out[i++] = __half2float(__hfma_relu(a, b, a));
  out[i++] = __bfloat162float(__hmul(x, y));
  out[i++] = __bfloat162float(__hfma(x, y, x));
  out[i++] = __hgt(x, y);
  *one = a;
  atomicAdd(one, b);
  out[i++] = __half2float(*one);
  *two = pair;
  atomicAdd(two, pair);
  out[i++] = __low2float(*two);
  *brains = __halves2bfloat162(x, y);
  atomicAdd(brains, *brains);
  out[i++] = __bfloat162float(brains->x);
}

__device__ __noinline__ int deeper(int bytes) {
  char *text = (char *)alloca(bytes);
  for (int i = 0; i < bytes; i++)
    text[i] = (char)i;
  return text[bytes - 1];
}

__global__ void memory(int *out) {
  int *numbers = (int *)malloc(16 * (threadIdx.x + 1)), *more = new int[3];
  for (int i = 0; i < 4; i++)
    numbers[i] = i + threadIdx.x;
  more[2] = numbers[3];
  char *text = (char *)alloca(threadIdx.x + 8);
  text[0] = 50;
  text[threadIdx.x + 7] = 60;
  int below = 0;
  for (int i = 1; i < 4; i++)
    below += deeper(i * (threadIdx.x + 1));
  out[threadIdx.x] = more[2] + text[0] + text[threadIdx.x + 7] + 1000 * below;
  free(numbers);
  delete[] more;
}

int main() {
  unsigned *out;
  CHECK(cudaMallocManaged(&out, 4096 * sizeof *out));
  integers<<<1, 1>>>(out, 0x81f27304u, 0x12fe7f85u);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 23; i++)
    printf("%x ", out[i]);
  clocks<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  printf("\n");
  for (int i = 0; i < 9; i++)
    printf("%u ", out[i]);
  warps<<<1, 32>>>((int *)out);
  CHECK(cudaDeviceSynchronize());
  printf("\n");
  for (int i = 0; i < 19; i++)
    printf("%x/%x/%x ", out[32 * i], out[32 * i + 3], out[32 * i + 31]);
  halves<<<1, 1>>>((float *)out);
  CHECK(cudaDeviceSynchronize());
  printf("\n");
  for (int i = 0; i < 12; i++)
    printf("%g ", ((float *)out)[i]);
  memory<<<1, 8>>>((int *)out);
  CHECK(cudaDeviceSynchronize());
  printf("\n");
  for (int i = 0; i < 8; i++)
    printf("%d ", out[i]);
  printf("\n");
}
