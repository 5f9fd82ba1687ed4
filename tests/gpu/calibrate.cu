// What the simulator's model of a Hopper multiprocessor is set by: cycles of shared accesses with
// conflicts from several warps, latencies and throughputs of units, barriers, and global memory.
// One block on one multiprocessor; cycles from clock64 of the first start to the last end.
// Build: nvcc -arch=sm_90 -o calibrate calibrate.cu. Prints CSV.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { TIMES = 64 };

__device__ unsigned long long first_start, last_end;
__device__ unsigned sink;

static __device__ void begin(unsigned long long *start) {
  __syncthreads();
  *start = clock64();
}

static __device__ void end(unsigned long long start, unsigned value) {
  unsigned long long stop = clock64();
  atomicMin(&first_start, start);
  atomicMax(&last_end, stop);
  if (value == 0x12345678)
    sink = value;
}

// Independent shared accesses, every warp the same pattern: lane * stride words.
template <int OP> __global__ void shared_access(unsigned stride) {
  extern __shared__ unsigned memory[];
  for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x)
    memory[i] = 0;
  unsigned lane = threadIdx.x % 32, base = (unsigned)__cvta_generic_to_shared(memory);
  unsigned address = base + lane * stride * 4, sum = 0, value[8] = {0};
  unsigned long long start;
  begin(&start);
#pragma unroll
  for (int i = 0; i < TIMES; i++) {
    if (OP == 0)
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value[i % 8]) : "r"(address));
    if (OP == 1)
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(lane));
    if (OP == 2)
      asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(value[i % 8]) : "r"(address));
    if (OP == 3)
      asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address));
    if (OP == 4) {
      unsigned a, b, c;
      asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(value[i % 8]), "=r"(a), "=r"(b), "=r"(c)
                   : "r"(address));
      sum += a ^ b ^ c;
    }
    if (OP == 5)
      asm volatile("red.shared.add.f32 [%0], 0f3F800000;" ::"r"(address));
    if (OP == 6)
      asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;"
                   : "=r"(value[i % 8])
                   : "r"(lane));
  }
  for (int i = 0; i < 8; i++)
    sum += value[i];
  end(start, sum);
}

// Loads that depend on each other: latency.
__global__ void shared_chain(unsigned stride) {
  extern __shared__ unsigned memory[];
  unsigned base = (unsigned)__cvta_generic_to_shared(memory);
  unsigned lane = threadIdx.x % 32;
  for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x)
    memory[i] = base + i * 4;
  unsigned address = base + lane * stride * 4;
  unsigned long long start;
  begin(&start);
#pragma unroll
  for (int i = 0; i < TIMES; i++)
    asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(address));
  end(start, address);
}

// CHAINS chains of dependent instructions; the other operands are known only when it runs, so that
// nothing can be computed before.
#define UNIT(NAME, CODE, CONSTRAINT, TYPE)                                                         \
  template <int CHAINS> __global__ void NAME(TYPE seed, TYPE other) {                              \
    TYPE x[CHAINS];                                                                                \
    for (int k = 0; k < CHAINS; k++)                                                               \
      x[k] = seed + (TYPE)(threadIdx.x + k);                                                       \
    unsigned long long start;                                                                      \
    begin(&start);                                                                                 \
    _Pragma("unroll") for (int i = 0; i < TIMES; i++)                                              \
        _Pragma("unroll") for (int k = 0; k < CHAINS;                                              \
                               k++) asm volatile(CODE : "+" CONSTRAINT(x[k]) : CONSTRAINT(other)); \
    TYPE sum = 0;                                                                                  \
    for (int k = 0; k < CHAINS; k++)                                                               \
      sum += x[k];                                                                                 \
    end(start, (unsigned)sum);                                                                     \
  }
UNIT(unit_shift, "shf.l.wrap.b32 %0, %0, %1, 7;", "r", int)
UNIT(unit_mad, "mad.lo.s32 %0, %0, %1, %0;", "r", int)
UNIT(unit_min_add, "min.s32 %0, %0, %1; add.s32 %0, %0, %1;", "r", int)
UNIT(unit_fma, "fma.rn.f32 %0, %0, %1, %1;", "f", float)
UNIT(unit_double, "fma.rn.f64 %0, %0, %1, %1;", "d", double)
UNIT(unit_special, "ex2.approx.ftz.f32 %0, %0;", "f", float)
UNIT(unit_popc, "popc.b32 %0, %0;", "r", int)
UNIT(unit_convert, "{ .reg .f32 f; cvt.rn.f32.s32 f, %0; cvt.rzi.s32.f32 %0, f; }", "r", int)

__global__ void barrier_chain() {
  unsigned long long start;
  begin(&start);
#pragma unroll
  for (int i = 0; i < TIMES; i++)
    __syncthreads();
  end(start, 0);
}

__global__ void global_chain(const unsigned long long *from, int times) {
  const unsigned long long *at = from;
  unsigned long long start;
  begin(&start);
  for (int i = 0; i < times; i++)
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
  end(start, (unsigned)(unsigned long long)at);
}
__global__ void l1_chain(const unsigned long long *from, int times) {
  const unsigned long long *at = from;
  unsigned long long start;
  begin(&start);
  for (int i = 0; i < times; i++)
    asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
  end(start, (unsigned)(unsigned long long)at);
}

static void reset() {
  unsigned long long big = ~0ull, zero = 0;
  cudaMemcpyToSymbol(first_start, &big, sizeof big);
  cudaMemcpyToSymbol(last_end, &zero, sizeof zero);
}
static double cycles() {
  unsigned long long a, b;
  cudaDeviceSynchronize();
  cudaMemcpyFromSymbol(&a, first_start, sizeof a);
  cudaMemcpyFromSymbol(&b, last_end, sizeof b);
  return (double)(b - a);
}
template <typename F> static double best(F run) {
  double least = 1e30;
  for (int i = 0; i < 5; i++) {
    reset();
    run();
    double now = cycles();
    if (now < least)
      least = now;
  }
  return least;
}

template <int OP> static void shared_rows(const char *name) {
  cudaFuncSetAttribute(shared_access<OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  const unsigned strides[] = {1, 2, 4, 8, 16, 32, 0};
  const int warps[] = {1, 2, 4, 8, 16, 32};
  for (unsigned stride : strides)
    for (int w : warps) {
      if ((OP == 6 && stride != 1) || (OP == 4 && stride && stride < 4))
        continue;
      double c = best([&] { shared_access<OP><<<1, 32 * w, 65536>>>(stride); });
      printf("shared,%s,%u,%d,%.3f\n", name, stride, w, c / TIMES / w);
    }
}

#define UNIT_ROWS(NAME, SEED)                                                                      \
  do {                                                                                             \
    double a = best([&] { NAME<1><<<1, 32>>>(SEED, SEED); });                                      \
    printf("latency,%s,,1,%.3f\n", #NAME, a / TIMES);                                              \
    for (int w : {1, 4, 8, 16, 32}) {                                                              \
      double b = best([&] { NAME<8><<<1, 32 * w>>>(SEED, SEED); });                                \
      printf("throughput,%s,,%d,%.3f\n", #NAME, w, b / TIMES / 8 / w);                             \
    }                                                                                              \
  } while (0)

// Loads that depend on each other, step bytes apart; with flush the second-level cache is filled
// with something else before.
static void chain_rows(const char *name, size_t bytes, size_t step, int times, bool l1,
                       bool flush) {
  size_t other_bytes = (size_t)256 << 20;
  void *other;
  cudaMalloc(&other, other_bytes);
  size_t count = bytes / 8, hop = step / 8;
  unsigned long long *host = (unsigned long long *)malloc(bytes), *device;
  cudaMalloc(&device, bytes);
  for (size_t i = 0; i < count; i++)
    host[i] = (unsigned long long)(device + (i + hop) % count);
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
  double c = best([&] {
    if (flush)
      cudaMemset(other, 1, other_bytes);
    if (l1)
      l1_chain<<<1, 1>>>(device, times);
    else
      global_chain<<<1, 1>>>(device, times);
  });
  printf("global,%s,%zu,1,%.3f\n", name, step, c / times);
  cudaFree(device);
  cudaFree(other);
  free(host);
}

int main() {
  cudaDeviceProp property;
  cudaGetDeviceProperties(&property, 0);
  printf("# %s\n", property.name);
  printf("kind,what,stride,warps,cycles\n");
  shared_rows<0>("ld");
  shared_rows<4>("ld128");
  shared_rows<1>("st");
  shared_rows<2>("atom");
  shared_rows<3>("red");
  shared_rows<5>("redf");
  shared_rows<6>("shfl");
  cudaFuncSetAttribute(shared_chain, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  for (unsigned stride : {1, 2, 4, 8, 16, 32})
    printf("latency,ld,%u,1,%.3f\n", stride,
           best([&] { shared_chain<<<1, 32, 65536>>>(stride); }) / TIMES);
  UNIT_ROWS(unit_shift, 1);
  UNIT_ROWS(unit_mad, 3);
  UNIT_ROWS(unit_min_add, 1);
  UNIT_ROWS(unit_fma, 1.0f);
  UNIT_ROWS(unit_double, 1.0);
  UNIT_ROWS(unit_special, 1.0f);
  UNIT_ROWS(unit_popc, 1);
  UNIT_ROWS(unit_convert, 1);
  for (int w : {1, 2, 4, 8, 16, 32})
    printf("barrier,bar.sync,,%d,%.3f\n", w, best([&] { barrier_chain<<<1, 32 * w>>>(); }) / TIMES);
  chain_rows("L1", 16 << 10, 128, 2000, true, false);
  chain_rows("L2", 4 << 20, 4096, 2000, false, false);
  chain_rows("DRAM, rows apart", (size_t)2 << 30, (1 << 20) + 4096, 1000, false, true);
  chain_rows("DRAM, side by side", (size_t)64 << 20, 128, 1000, false, true);
  return cudaGetLastError() != cudaSuccess;
}
