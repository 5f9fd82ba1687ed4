// Kernels for tests/unit/test_emu.c: control flow, barriers, calls, faults.
#include <cassert>
#include <cstdio>

#define KERNEL extern "C" __global__ void

// Lanes take four ways, some inside others, and meet again.
KERNEL ways(int *out) {
  int t = threadIdx.x, r = 0;
  if (t & 1) {
    r = 10;
    if (t & 2)
      r += 100;
    else
      for (int i = 0; i < t; i++)
        r += i;
  } else {
    r = 20;
    for (int i = 0; i < (t & 7); i++)
      if (i == 5)
        break;
      else
        r += 3;
  }
  out[blockIdx.x * blockDim.x + t] = r * 1000 + __popc(__activemask());
}

// Both halves of a condition lead to the same place, where their lanes are together.
KERNEL either(int *out) {
  int t = threadIdx.x, r = 0;
  volatile int *table = out + 32;
  if (t % 4 == 1 || (table[t] == 0 && t % 4 == 2))
    r = __popc(__activemask());
  out[t] = r;
}

// A lock that lanes of one warp fight for: whoever has it must get on while the others spin.
KERNEL spin_lock(int *lock, int *count) {
  while (atomicCAS(lock, 0, 1) != 0)
    ;
  *(volatile int *)count = *(volatile int *)count + 1;
  __threadfence();
  atomicExch(lock, 0);
}

// Warp 1 waits for what warp 0 writes, and the other way round.
KERNEL ping_pong(int *out, int rounds) {
  __shared__ volatile int turn;
  if (threadIdx.x == 0)
    turn = 0;
  __syncthreads();
  int side = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0)
    for (int i = 0; i < rounds; i++) {
      while (turn % 2 != side)
        ;
      turn = turn + 1;
    }
  __syncthreads();
  if (threadIdx.x == 0)
    out[0] = turn;
}

// Every block waits for the one before it.
KERNEL chain(volatile int *flag, int *order) {
  if (threadIdx.x == 0) {
    unsigned block = gridDim.x - 1 - blockIdx.x;
    while (block > 0 && flag[block - 1] == 0)
      ;
    order[block] = block == 0 ? 1 : order[block - 1] + 1;
    __threadfence();
    flag[block] = 1;
  }
}

// Every block waits for all others.
KERNEL everybody(int *count, int *out) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (*(volatile int *)count < (int)gridDim.x)
      ;
    out[blockIdx.x] = 1;
  }
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
KERNEL endless_recursion(int *out) { out[threadIdx.x] = fibonacci(60 + threadIdx.x); }
KERNEL recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 13); }

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int minus(int x) { return -x; }
__device__ int (*const table[3])(int) = {twice, square, minus};
KERNEL pointers(int *out) { out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x) + 1; }

KERNEL named_barriers(int *out) {
  __shared__ int value[64];
  int t = threadIdx.x;
  if (t < 64) { // producers
    value[t] = t * t;
    asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
    out[t - 64] = value[127 - t];
  }
}

KERNEL counted(int *out) {
  int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0) * 100 + __syncthreads_and(t < 1000) * 10 +
           __syncthreads_or(t == 77);
}

KERNEL early_exit(int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 1)
    return;
  atomicAdd(&sum, 1);
  __syncthreads();
  out[threadIdx.x] = sum;
}

KERNEL local_array(int *out, int n) {
  int stack[16];
  for (int i = 0; i < 16; i++)
    stack[i] = i * threadIdx.x;
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += stack[(i * 7 + threadIdx.x) % 16];
  out[threadIdx.x] = sum;
}

__constant__ int weights[4] = {1, 20, 300, 4000};
__device__ double pi = 3.25;
struct pair {
  int a;
  double b;
};
KERNEL constants(double *out, pair p) { out[threadIdx.x] = weights[threadIdx.x % 4] + pi + p.a * p.b; }

KERNEL prints(int n) {
  if (threadIdx.x < n)
    printf("%s %d: %5.2f|%-6s|%lld|%c|%x|%%\n", "thread", (int)threadIdx.x, threadIdx.x * 0.5, "ab",
           1ll << 40, 'z', 255);
}

KERNEL asserts(int n) { assert(threadIdx.x < n); }
KERNEL out_of_bounds(int *out, int n) { out[threadIdx.x + n] = 1; }
KERNEL misaligned(char *out) { *(int *)(out + threadIdx.x) = 1; }
KERNEL shared_bounds(int *out, int n) {
  __shared__ int value[32];
  value[threadIdx.x + n] = 1;
  __syncthreads();
  out[threadIdx.x] = value[31 - threadIdx.x];
}
KERNEL race(int *out) {
  __shared__ int value[64];
  value[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = value[63 - threadIdx.x];
}
KERNEL uninitialised(int *out) {
  __shared__ int value[64];
  if (threadIdx.x != 5)
    value[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = value[63 - threadIdx.x];
}
KERNEL deadlock(int *out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;");
  out[threadIdx.x] = 1;
}

KERNEL diverged_shuffle(int *out) {
  int t = threadIdx.x, r;
  if (t % 2)
    r = __shfl_xor_sync(0xaaaaaaaa, t, 2);
  else
    r = __shfl_xor_sync(0x55555555, t, 4);
  out[t] = r;
}
KERNEL many_blocks(unsigned long long *out) {
  if (threadIdx.x == 0)
    atomicAdd(out, (unsigned long long)blockIdx.x);
}
KERNEL dynamic(int *out) {
  extern __shared__ int pool[];
  pool[threadIdx.x] = threadIdx.x;
  __syncthreads();
  unsigned size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  out[threadIdx.x] = pool[blockDim.x - 1 - threadIdx.x] + (int)size;
}
KERNEL heap(int *out) {
  int *memory = (int *)malloc(4 * (threadIdx.x + 1));
  for (int i = 0; i <= threadIdx.x; i++)
    memory[i] = i;
  int sum = 0;
  for (int i = 0; i <= threadIdx.x; i++)
    sum += memory[i];
  out[threadIdx.x] = sum;
  free(memory);
}
KERNEL barriers_forever(volatile int *flag) {
  while (*flag == 0)
    __syncthreads();
}
KERNEL forever(volatile int *flag) {
  while (*flag == 0)
    ;
}
