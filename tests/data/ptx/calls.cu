// Calls: recursion, printf and assert, function pointers, a virtual call, a dense switch.
#include <cassert>
#include <cstdio>
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct pair { int a; double b; };
__device__ __noinline__ pair swap(pair p) { return {(int)p.b, (double)p.a}; }
typedef int (*operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ operation table[] = {plus, minus};
struct shape { __device__ virtual int area(int) { return 1; } };
struct square : shape { int side; __device__ int area(int k) override { return k * side; } };
__device__ __noinline__ int measure(shape *s) { return s->area(3); }
extern "C" __global__ void call(int *out, int n) {
  assert(n > 0);
  pair p = swap({n, 2.0});
  square q;
  q.side = n;
  out[0] = fibonacci(n) + p.a + table[n & 1](n, 3) + measure(&q);
  printf("%d %f %s\n", out[0], p.b, "text \"quoted\"\t");
}
extern "C" __global__ void choose(int *out, int n) {
  switch (out[n]) {
  case 0: asm volatile("membar.gl;"); out[1] = 3; break;
  case 1: out[2] *= n; __threadfence_block(); break;
  case 2: out[n] ^= 5; out[3] = clock(); break;
  case 3: out[0] = n / 3; break;
  case 4: out[n * 2] = 6; __threadfence_system(); break;
  case 5: out[n + 4] -= out[n]; break;
  case 6: __trap();
  case 7: out[8] = (int)clock64(); break;
  default: out[9] = n % 7;
  }
}
