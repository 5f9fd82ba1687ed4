// What an emulator that works on whole warps is worst at; bench_weak times these kernels. Compiled to
// weak.ptx by the command that tests/check/emu_ptx.sh has.

// Loads from places that depend on data.
extern "C" __global__ void gather(const float *table, const unsigned *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    sum += table[at & 0xfffff];
    at = at * 1664525u + 1013904223u;
  }
  out[i] = sum;
}

// From a table that fits into no cache.
extern "C" __global__ void gather_large(const float *table, const unsigned *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    sum += table[at & 0xffffff];
    at = at * 1664525u + 1013904223u;
  }
  out[i] = sum;
}

// The same with the index loaded too, as sparse matrices have it.
extern "C" __global__ void gather_indexed(const float *table, const unsigned *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += table[index[(i + k * gridDim.x * blockDim.x) & 0xfffff]];
  out[i] = sum;
}

// Bytes, for half of the lanes.
extern "C" __global__ void gather_bytes(const unsigned char *table, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = index[i], sum = 0;
  if (i & 1)
    for (int k = 0; k < n; k++) {
      sum += table[at & 0x3fffff];
      at = at * 1664525u + 1013904223u;
    }
  out[i] = sum;
}

// Through a pointer of which the compiler does not know what space it leads to.
extern "C" __global__ void gather_generic(const float *from, const unsigned *index, float *out, int n) {
  __shared__ float small[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float *table = n < 0 ? small : from;
  float sum = 0;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    sum += table[at & 0xffff];
    at = at * 1664525u + 1013904223u;
  }
  out[i] = sum;
}

// Each load gives the address of the next.
extern "C" __global__ void chase(const unsigned *next, const unsigned *start, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = start[i];
  for (int k = 0; k < n; k++)
    at = next[at];
  out[i] = at;
}

// Counting in global memory, and drawing numbers, whose old value is used.
extern "C" __global__ void atomics(unsigned *count, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    atomicAdd(&count[at & 0xffff], 1u);
    at = at * 1664525u + 1013904223u;
  }
  out[i] = at;
}

extern "C" __global__ void draws(unsigned *count, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = index[i], sum = 0;
  for (int k = 0; k < n; k++) {
    sum += atomicAdd(&count[at & 0xffff], 1u);
    at = at * 1664525u + 1013904223u;
  }
  out[i] = sum;
}

extern "C" __global__ void float_atomics(float *count, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    atomicAdd(&count[at & 0xffff], 1.0f);
    at = at * 1664525u + 1013904223u;
  }
  out[i] = at;
}

// The largest float by compare and swap, as atomicMax of floats is written.
extern "C" __global__ void swaps(unsigned *most, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned at = index[i];
  for (int k = 0; k < n; k++) {
    unsigned *place = &most[at & 0xffff];
    unsigned old = *place, seen;
    do {
      seen = old;
      old = atomicCAS(place, seen, __float_as_uint(__uint_as_float(seen) + 1.0f));
    } while (old != seen);
    at = at * 1664525u + 1013904223u;
  }
  out[i] = at;
}

extern "C" __global__ void copy4(const float4 *from, const unsigned *unused, float4 *to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = from[i];
}

// Whole warps in which one lane works.
extern "C" __global__ void one_lane(const unsigned *from, const unsigned *index, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 32 == 0) {
    unsigned a = index[i], b = a >> 3;
    for (int k = 0; k < n; k++) {
      a = a * 1664525u + b;
      b = (b ^ (a >> 7)) + from[(i + k) & 0xffff];
    }
    out[i] = a + b;
  }
}

// The same in shared memory, as the first lane scans what a warp has put there.
extern "C" __global__ void one_lane_shared(const unsigned *from, const unsigned *index, unsigned *out, int n) {
  __shared__ unsigned part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned *own = part + (threadIdx.x & ~31);
  own[threadIdx.x % 32] = index[i];
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    for (int k = 0; k < n; k++)
      for (int lane = 1; lane < 32; lane++)
        own[lane] += own[lane - 1];
  __syncwarp();
  out[i] = own[threadIdx.x % 32];
}

// A lock that one lane of each warp takes.
extern "C" __global__ void lock_by_warps(unsigned *lock, unsigned *count, unsigned *out, int n) {
  if (threadIdx.x % 32 == 0)
    for (int k = 0; k < n; k++) {
      while (atomicCAS(lock, 0u, 1u) != 0u)
        ;
      __threadfence();
      *(volatile unsigned *)count = *(volatile unsigned *)count + 1;
      __threadfence();
      atomicExch(lock, 0u);
    }
}

// A lock that all lanes fight for.
extern "C" __global__ void lock_by_lanes(unsigned *lock, unsigned *count, unsigned *out, int n) {
  for (int k = 0; k < n; k++) {
    bool is_done = false;
    while (!is_done)
      if (atomicCAS(lock, 0u, 1u) == 0u) {
        *(volatile unsigned *)count = *(volatile unsigned *)count + 1;
        __threadfence();
        atomicExch(lock, 0u);
        is_done = true;
      }
  }
}

extern "C" __global__ void small(const float *from, const unsigned *unused, float *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i] = from[i];
}
