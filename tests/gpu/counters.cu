// Executes warp accesses on shared memory, one kernel launch per access, for a profiler to count.
// Input lines on standard input: op width mask address... (32 byte addresses); each access runs
// `repeats` times by one warp. Prints nothing but errors.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

constexpr int repeats = 8;

enum Op {
  LD1, LD2, LD4, LD8, LD16, ST1, ST2, ST4, ST8, ST16, ATOM, RED, FATOM, CAS, MAX, EXCH, INC, REDV,
  REDMAX, F16X2, F64, REDF, LDM1, LDM2, LDM4, LDMT4, STM4, CP4, CP8,
  CP16, OPS
};

static const char *const names[OPS] = {
    "ld 1", "ld 2", "ld 4", "ld 8", "ld 16", "st 1", "st 2", "st 4", "st 8", "st 16", "atom 4",
    "red 4", "fatom 4", "cas 4", "max 4", "exch 4", "inc 4", "redv 4", "redmax 4", "f16x2 4",
    "f64 8", "redf 4", "ldmatrix1 16", "ldmatrix2 16", "ldmatrix4 16", "ldmatrixt4 16",
    "stmatrix4 16", "cp4 4", "cp8 8", "cp16 16"};

// One execution of the operation at shared address a; returns what it loaded. Loads and stores are
// volatile, or the assembler would merge those of one address.
template <int op>
__device__ unsigned execute(unsigned a, const char *source, unsigned lane, unsigned turn) {
  unsigned v = 0, w = 0, x = 0, y = 0;
  unsigned short h = 0;
  double d;
  if (op == LD1) { asm volatile("ld.volatile.shared.u8 %0, [%1];" : "=h"(h) : "r"(a)); v = h; }
  if (op == LD2) { asm volatile("ld.volatile.shared.u16 %0, [%1];" : "=h"(h) : "r"(a)); v = h; }
  if (op == LD4) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(a));
  if (op == LD8) asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(a));
  if (op == LD16)
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(a));
  if (op == ST1) asm volatile("st.volatile.shared.u8 [%0], %1;" ::"r"(a), "h"((unsigned short)turn));
  if (op == ST2) asm volatile("st.volatile.shared.u16 [%0], %1;" ::"r"(a), "h"((unsigned short)turn));
  if (op == ST4) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(a), "r"(turn));
  if (op == ST8) asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %1};" ::"r"(a), "r"(turn));
  if (op == ST16) asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(a), "r"(turn));
  if (op == ATOM) asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(a));
  if (op == RED) asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(a));
  if (op == FATOM) {
    float f;
    asm volatile("atom.shared.add.f32 %0, [%1], %2;" : "=f"(f) : "r"(a), "f"(1.0f));
    v = __float_as_uint(f);
  }
  if (op == CAS)
    asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(v) : "r"(a), "r"(turn), "r"(turn + 1));
  if (op == MAX) asm volatile("atom.shared.max.s32 %0, [%1], %2;" : "=r"(v) : "r"(a), "r"(turn));
  if (op == EXCH) asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : "=r"(v) : "r"(a), "r"(turn));
  if (op == INC) asm volatile("atom.shared.inc.u32 %0, [%1], 1000000;" : "=r"(v) : "r"(a));
  if (op == REDV) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(a), "r"(lane + turn));
  if (op == REDMAX) asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(a), "r"(lane + turn));
  if (op == F16X2)
    asm volatile("atom.shared.add.noftz.f16x2 %0, [%1], %2;" : "=r"(v) : "r"(a), "r"(0x3c003c00u));
  if (op == F64) {
    asm volatile("atom.shared.add.f64 %0, [%1], %2;" : "=d"(d) : "r"(a), "d"(1.0));
    v = (unsigned)__double_as_longlong(d);
  }
  if (op == REDF) asm volatile("red.shared.add.f32 [%0], %1;" ::"r"(a), "f"(1.0f));
  if (op == LDM1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(a));
  if (op == LDM2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(v), "=r"(w) : "r"(a));
  if (op == LDM4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(a));
  if (op == LDMT4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(a));
  if (op == STM4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(a),
                 "r"(turn));
  if (op == CP4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(source + 4 * lane));
  if (op == CP8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(a), "l"(source + 8 * lane));
  if (op == CP16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a), "l"(source + 16 * lane));
  return v ^ w ^ x ^ y;
}

// zero is 0: it makes each address depend on the load before it.
template <int op>
__global__ void access(const unsigned *address, unsigned mask, unsigned zero, const char *source,
                       unsigned *out) {
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned lane = threadIdx.x, sum = 0;
  unsigned a = (unsigned)__cvta_generic_to_shared(memory) + address[lane];
  if (mask >> lane & 1) {
#pragma unroll
    for (int turn = 0; turn < repeats; turn++) {
      unsigned loaded = execute<op>(a, source, lane, turn);
      sum ^= loaded;
      a ^= loaded & zero;
    }
    asm volatile("cp.async.wait_all;");
    out[lane] = sum;
  }
}

typedef void (*Kernel)(const unsigned *, unsigned, unsigned, const char *, unsigned *);
template <int... op> struct List {};
template <int n, int... op> struct Count : Count<n - 1, n - 1, op...> {};
template <int... op> struct Count<0, op...> { typedef List<op...> type; };
template <int... op> static Kernel pick(int wanted, List<op...>) {
  Kernel kernels[] = {access<op>...};
  return kernels[wanted];
}

static void must(cudaError_t error) {
  if (error != cudaSuccess) {
    fprintf(stderr, "counters: %s\n", cudaGetErrorString(error));
    exit(1);
  }
}

int main() {
  const int bytes = 200 * 1024;
  unsigned *address, *out, mask, host[32];
  char *source;
  must(cudaMalloc(&address, sizeof host));
  must(cudaMalloc(&out, sizeof host));
  must(cudaMalloc(&source, 4096));
  must(cudaMemset(source, 0, 4096));
  char op[32], full[48];
  int width;
  while (scanf("%31s %d %x", op, &width, &mask) == 3) {
    for (unsigned &a : host)
      if (scanf("%u", &a) != 1)
        return 2;
    snprintf(full, sizeof full, "%s %d", op, width);
    int wanted = 0;
    while (wanted < OPS && strcmp(names[wanted], full) != 0)
      wanted++;
    if (wanted == OPS) {
      fprintf(stderr, "counters: unknown operation '%s'\n", full);
      return 2;
    }
    Kernel kernel = pick(wanted, Count<OPS>::type());
    must(cudaMemcpy(address, host, sizeof host, cudaMemcpyHostToDevice));
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<1, 32, bytes>>>(address, mask, 0, source, out);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());
  }
  return 0;
}
