// Kernels of the training set: what parameters of machines/h200.gpu may be fitted to. The test set
// (h200_test.cu) shares no kernel with it. All have the same parameters;
// tests/data/h200/launches.csv says how each is launched, and n, p and q mean what its comment
// says; what an index is masked by is a power of two.
#define KERNEL(NAME)                                                                               \
  extern "C" __global__ void NAME(unsigned *out, const unsigned *in, unsigned n, unsigned p,       \
                                  unsigned q)

static __device__ unsigned thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ unsigned threads_all() { return gridDim.x * blockDim.x; }
// A number in [0, 1) of any word.
static __device__ float fraction(unsigned word) { return (float)(word >> 8) * (1.0f / 16777216); }
static __device__ unsigned mix(unsigned x) {
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  return x ^ x >> 12;
}

// ---- Bandwidth ----

// n words, one a thread.
KERNEL(tr_copy) {
  unsigned i = thread_number();
  if (i < n)
    out[i] = in[i];
}

// n words, four at a time, in a loop over the grid.
KERNEL(tr_copy4) {
  const uint4 *from = (const uint4 *)in;
  uint4 *to = (uint4 *)out;
  for (unsigned i = thread_number(); i < n / 4; i += threads_all())
    to[i] = from[i];
}

// out = 2 in + out for n floats.
KERNEL(tr_saxpy) {
  float *to = (float *)out;
  for (unsigned i = thread_number(); i < n; i += threads_all())
    to[i] = 2.0f * fraction(in[i]) + to[i];
}

// Each thread sums q words, p apart from those of its neighbour.
KERNEL(tr_stride) {
  unsigned sum = 0, at = thread_number() * p;
  for (unsigned k = 0; k < q; k++)
    sum += in[(at + k * 32 * p) & (n - 1)];
  out[thread_number()] = sum;
}

// q words at random places among n.
KERNEL(tr_gather) {
  unsigned sum = 0, i = thread_number();
  for (unsigned k = 0; k < q; k++)
    sum += in[mix(i * q + k) & (n - 1)];
  out[i] = sum;
}

// Every block reads all n words, p times: shared in the second-level cache.
KERNEL(tr_share) {
  unsigned sum = 0;
  for (unsigned k = 0; k < p; k++)
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
      sum += __ldcg(&in[i]);
  out[thread_number()] = sum;
}

// ---- Latency ----

// p dependent loads among n words; lanes go together where q is 0.
KERNEL(tr_chase) {
  unsigned at = q ? thread_number() * q : 0;
  for (unsigned k = 0; k < p; k++)
    at = __ldcg(&in[at & (n - 1)]);
  out[thread_number()] = at;
}

// p dependent multiply-adds.
KERNEL(tr_fma_chain) {
  float x = fraction(in[threadIdx.x]), y = fraction(n);
  for (unsigned k = 0; k < p; k++)
    x = x * y + 0.5f;
  ((float *)out)[thread_number()] = x;
}

// p rounds of dependent integer operations.
KERNEL(tr_int_chain) {
  unsigned x = in[threadIdx.x];
  for (unsigned k = 0; k < p; k++)
    x = mix(x + k);
  out[thread_number()] = x;
}

// p dependent loads of shared memory.
KERNEL(tr_shared_chase) {
  __shared__ unsigned next[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
    next[i] = in[i] % 1024;
  __syncthreads();
  unsigned at = threadIdx.x;
  for (unsigned k = 0; k < p; k++)
    at = next[at];
  out[thread_number()] = at;
}

// LU factors of a matrix of n x n floats in shared memory without pivots, a block each; rows are p
// words apart, a thread has a column.
KERNEL(tr_lu) {
  extern __shared__ float matrix[];
  unsigned column = threadIdx.x;
  for (unsigned row = 0; row < n; row++)
    matrix[row * p + column] =
        fraction(in[(blockIdx.x * n + row) * n + column]) + (row == column ? 8.0f : 0.0f);
  __syncthreads();
  for (unsigned k = 0; k + 1 < n; k++) {
    if (column > k)
      matrix[column * p + k] /= matrix[k * p + k];
    __syncthreads();
    if (column > k)
      for (unsigned row = k + 1; row < n; row++)
        matrix[row * p + column] -= matrix[row * p + k] * matrix[k * p + column];
    __syncthreads();
  }
  for (unsigned row = 0; row < n; row++)
    ((float *)out)[(blockIdx.x * n + row) * n + column] = matrix[row * p + column];
}

// ---- Barriers ----

// p rounds in which each thread takes its neighbour's number.
KERNEL(tr_barrier) {
  __shared__ unsigned ring[1024];
  unsigned own = in[threadIdx.x];
  for (unsigned k = 0; k < p; k++) {
    ring[threadIdx.x] = own;
    __syncthreads();
    own += ring[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  out[thread_number()] = own;
}

// Sums of n words by shuffles, and of warps through shared memory.
KERNEL(tr_reduce) {
  __shared__ unsigned part[32];
  unsigned sum = 0, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned i = thread_number(); i < n; i += threads_all())
    sum += in[i];
  for (unsigned step = 16; step; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0)
    part[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? part[lane] : 0;
    for (unsigned step = 16; step; step /= 2)
      sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
      out[blockIdx.x] = sum;
  }
}

// ---- Atomics on global memory ----

// q additions to one of p words at random; nobody reads the result.
KERNEL(tr_global_add) {
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&out[mix(thread_number() * q + k) & (p - 1)], 1u);
}

// q additions, each to a word of its own.
KERNEL(tr_global_own) {
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&out[thread_number() + k * threads_all()], 1u);
}

// q additions by each thread to one of p words; the next depends on the result. Lanes of a warp
// hit words that are 32 apart.
KERNEL(tr_global_ticket) {
  unsigned at = thread_number();
  for (unsigned k = 0; k < q; k++)
    at = atomicAdd(&out[(at & (p - 1)) * 32], 1u) + k;
  out[p * 32 + thread_number()] = at;
}

// q maxima by the first lane of each warp to one of p words.
KERNEL(tr_global_max) {
  unsigned warp = thread_number() / 32;
  if (threadIdx.x % 32 == 0)
    for (unsigned k = 0; k < q; k++)
      atomicMax(&out[mix(warp + k) & (p - 1)], in[warp + k]);
}

// ---- Atomics on shared memory ----

// Histogram of n words in p bins.
KERNEL(tr_histogram) {
  extern __shared__ unsigned bins[];
  for (unsigned i = threadIdx.x; i < p; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  for (unsigned i = thread_number(); i < n; i += threads_all())
    atomicAdd(&bins[in[i] & (p - 1)], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < p; i += blockDim.x)
    atomicAdd(&out[i], bins[i]);
}

// q additions whose result is used, to one of p words.
KERNEL(tr_shared_ticket) {
  __shared__ unsigned counter[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
    counter[i] = 0;
  __syncthreads();
  unsigned at = in[thread_number()];
  for (unsigned k = 0; k < q; k++)
    at += atomicAdd(&counter[at & (p - 1)], 1u);
  out[thread_number()] = at;
}

// q float additions to one of p words.
KERNEL(tr_shared_float) {
  __shared__ float cell[1024];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
    cell[i] = 0;
  __syncthreads();
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&cell[mix(thread_number() * q + k) & (p - 1)], 1.0f);
  __syncthreads();
  if (threadIdx.x < p)
    ((float *)out)[blockIdx.x * p + threadIdx.x] = cell[threadIdx.x];
}

// The same for doubles.
KERNEL(tr_shared_double) {
  __shared__ double cell[512];
  for (unsigned i = threadIdx.x; i < 512; i += blockDim.x)
    cell[i] = 0;
  __syncthreads();
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&cell[mix(thread_number() * q + k) & (p - 1)], 1.0);
  __syncthreads();
  if (threadIdx.x < p)
    ((double *)out)[blockIdx.x * p + threadIdx.x] = cell[threadIdx.x];
}

// ---- Divergence ----

// Steps of the Collatz sequence from small numbers.
KERNEL(tr_collatz) {
  unsigned x = in[thread_number()] % p + 1, steps = 0;
  while (x != 1 && steps < q) {
    x = x % 2 ? 3 * x + 1 : x / 2;
    steps++;
  }
  out[thread_number()] = steps;
}

// q rounds of one of p ways.
KERNEL(tr_ways) {
  unsigned x = in[thread_number()], way = threadIdx.x % p;
  float y = fraction(x);
  for (unsigned k = 0; k < q; k++)
    switch (way) {
    case 0:
      x = mix(x);
      break;
    case 1:
      y = y * 1.5f + 0.25f;
      break;
    case 2:
      x += __popc(x) + k;
      break;
    case 3:
      y = rsqrtf(y + 1.0f);
      break;
    case 4:
      x = x * 7 + 3;
      break;
    case 5:
      y = __expf(-y);
      break;
    case 6:
      x ^= x << 3 ^ x >> 5;
      break;
    default:
      y = y * y - 0.1f;
      break;
    }
  out[thread_number()] = x + (unsigned)y;
}

// ---- Shared memory ----

// Each thread sums its row of n words; rows are p words apart.
KERNEL(tr_rows) {
  extern __shared__ unsigned tile[];
  for (unsigned row = 0; row < blockDim.x; row++)
    if (threadIdx.x < n)
      tile[row * p + threadIdx.x] = in[row * n + threadIdx.x];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++)
    for (unsigned i = 0; i < n; i++)
      sum = sum * 3 + ((volatile unsigned *)tile)[threadIdx.x * p + i];
  out[thread_number()] = sum;
}

// Transposes a matrix of n columns, tiles of 32 x 32 with rows p words apart, 8 rows of threads.
KERNEL(tr_transpose) {
  extern __shared__ unsigned tile[];
  unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  unsigned tile_x = blockIdx.x % (n / 32) * 32, tile_y = blockIdx.x / (n / 32) * 32;
  for (unsigned k = 0; k < 32; k += 8)
    tile[(y + k) * p + x] = in[(tile_y + y + k) * n + tile_x + x];
  __syncthreads();
  for (unsigned k = 0; k < 32; k += 8)
    out[(tile_x + y + k) * n + tile_y + x] = tile[x * p + y + k];
}

// Product of n x n matrices in tiles of 16 x 16, the second kept transposed with rows p words
// apart.
KERNEL(tr_multiply) {
  __shared__ float a[16][16];
  extern __shared__ float b[];
  unsigned x = threadIdx.x % 16, y = threadIdx.x / 16, tiles = n / 16;
  unsigned column = blockIdx.x % tiles * 16 + x, row = blockIdx.x / tiles * 16 + y;
  float sum = 0;
  for (unsigned k = 0; k < n; k += 16) {
    a[y][x] = fraction(in[row * n + k + x]);
    b[x * p + y] = fraction(in[(k + y) * n + column]);
    __syncthreads();
    for (unsigned i = 0; i < 16; i++)
      sum += a[y][i] * b[x * p + i];
    __syncthreads();
  }
  ((float *)out)[row * n + column] = sum;
}

// Bitonic sort of 2 blockDim words; word i is kept at i + i / 32 * p.
KERNEL(tr_bitonic) {
  extern __shared__ unsigned key[];
  unsigned size = 2 * blockDim.x;
#define PLACE(I) ((I) + (I) / 32 * p)
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
    key[PLACE(i)] = in[blockIdx.x * size + i];
  for (unsigned length = 2; length <= size; length *= 2)
    for (unsigned step = length / 2; step; step /= 2) {
      __syncthreads();
      unsigned low = 2 * step * (threadIdx.x / step) + threadIdx.x % step, high = low + step;
      bool up = (low & length) == 0;
      unsigned a = key[PLACE(low)], b = key[PLACE(high)];
      if (a > b == up) {
        key[PLACE(low)] = b;
        key[PLACE(high)] = a;
      }
    }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
    out[blockIdx.x * size + i] = key[PLACE(i)];
#undef PLACE
}

// Each warp takes columns of a table of structs of p words in shared memory, q times.
KERNEL(tr_structs) {
  extern __shared__ unsigned table[];
  for (unsigned i = threadIdx.x; i < blockDim.x * p; i += blockDim.x)
    table[i] = in[i];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++) {
    unsigned field = k & (n - 1);
    unsigned value = table[threadIdx.x * p + field];
    sum += value;
    table[threadIdx.x * p + field] = value ^ sum;
  }
  out[thread_number()] = sum;
}

// ---- Matrix units ----

// p rounds of q independent products of 16x8x16 halves, operands in registers.
template <int CHAINS>
static __device__ void multiply_halves(unsigned *out, unsigned seed, unsigned p) {
  float d[CHAINS][4] = {};
  unsigned a = 0x3c003c00, b = seed;
  for (unsigned k = 0; k < p; k++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, "
          "{%5,%5}, {%0,%1,%2,%3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a), "r"(b));
  float sum = 0;
  for (int i = 0; i < CHAINS; i++)
    sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  out[thread_number()] = __float_as_uint(sum);
}
KERNEL(tr_mma1) { multiply_halves<1>(out, n, p); }
KERNEL(tr_mma4) { multiply_halves<4>(out, n, p); }

// Halves through shared memory: ldmatrix and products of 16x8x16, p rounds; rows n halves apart.
KERNEL(tr_ldmatrix) {
  extern __shared__ unsigned tile[];
  for (unsigned i = threadIdx.x; i < 32 * n / 2; i += blockDim.x)
    tile[i] = in[i] & 0x3fff3fff;
  __syncthreads();
  unsigned lane = threadIdx.x % 32;
  unsigned base = (unsigned)__cvta_generic_to_shared(tile) + (lane % 16) * n * 2 + lane / 16 * 16;
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (unsigned k = 0; k < p; k++) {
    unsigned a0, a1, a2, a3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
                 : "r"(base + (k % 2) * 16 * n * 2));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%4,%6}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3));
  }
  out[thread_number()] = __float_as_uint(d0 + d1 + d2 + d3);
}

// ---- Arithmetic ----

// p rounds of eight independent chains of multiply-adds.
KERNEL(tr_fma8) {
  float x[8], y = fraction(n);
  for (int i = 0; i < 8; i++)
    x[i] = fraction(in[threadIdx.x + i]);
  for (unsigned k = 0; k < p; k++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      x[i] = x[i] * y + 0.5f;
  float sum = 0;
  for (int i = 0; i < 8; i++)
    sum += x[i];
  ((float *)out)[thread_number()] = sum;
}

// p rounds of sine and exponential.
KERNEL(tr_special) {
  float x = fraction(in[threadIdx.x]), y = x;
  for (unsigned k = 0; k < p; k++) {
    x = __sinf(x + 0.5f);
    y = __expf(-y) + x;
  }
  ((float *)out)[thread_number()] = x + y;
}

// p rounds of doubles.
KERNEL(tr_double) {
  double x = fraction(in[threadIdx.x]), y = x + 0.5;
  for (unsigned k = 0; k < p; k++) {
    x = x * 0.75 + y;
    y = y * 0.5 + 0.125;
  }
  out[thread_number()] = (unsigned)(x + y);
}

// p integer divisions by numbers that are known only here.
KERNEL(tr_divide) {
  unsigned x = in[threadIdx.x] | 1, sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += (x + k) / (n + k) + (x ^ k) % (q + k);
  out[thread_number()] = sum;
}

// ---- Grids ----

// Blocks of different length: block b works b mod q times p rounds.
KERNEL(tr_uneven) {
  float x = fraction(in[threadIdx.x]);
  for (unsigned k = 0; k < p * (blockIdx.x % q); k++)
    x = x * 0.999f + 0.001f;
  ((float *)out)[thread_number()] = x;
}

// Short blocks: one access each.
KERNEL(tr_short) {
  if (threadIdx.x == 0)
    out[blockIdx.x] = in[blockIdx.x % n];
}

// ---- Locks ----

// The first thread of each block enters q times, by compare and swap.
KERNEL(tr_lock) {
  volatile unsigned *sum = &out[1];
  if (threadIdx.x == 0)
    for (unsigned k = 0; k < q; k++) {
      while (atomicCAS(&out[0], 0, 1) != 0)
        ;
      __threadfence();
      *sum = *sum + 1;
      __threadfence();
      atomicExch(&out[0], 0);
    }
}

// All threads enter, one of p locks each.
KERNEL(tr_lock_threads) {
  unsigned which = (mix(thread_number()) & (p - 1)) * 2;
  volatile unsigned *sum = &out[which + 1];
  bool done = false;
  while (!done)
    if (atomicCAS(&out[which], 0, 1) == 0) {
      __threadfence();
      *sum = *sum + 1;
      __threadfence();
      atomicExch(&out[which], 0);
      done = true;
    }
}

// ---- Code ----

// Long straight code: 16 x 128 dependent steps, in p rounds.
KERNEL(tr_long) {
  unsigned x = in[threadIdx.x], y = n;
  for (unsigned k = 0; k < p; k++) {
/* clang-format off */
#define STEP(I) x = (x ^ (y + (I))) * 3; y += x >> 7;
#define STEPS8(I) STEP(I) STEP(I + 1) STEP(I + 2) STEP(I + 3) STEP(I + 4) STEP(I + 5) STEP(I + 6) STEP(I + 7)
#define STEPS64(I) STEPS8(I) STEPS8(I + 8) STEPS8(I + 16) STEPS8(I + 24) STEPS8(I + 32) STEPS8(I + 40) \
    STEPS8(I + 48) STEPS8(I + 56)
    STEPS64(1000) STEPS64(2000) STEPS64(3000) STEPS64(4000)
    STEPS64(5000) STEPS64(6000) STEPS64(7000) STEPS64(8000)
    /* clang-format on */
  }
  out[thread_number()] = x + y;
}

// ---- Copies past registers ----

// p tiles of 16 bytes a thread, copied asynchronously and summed.
KERNEL(tr_async) {
  extern __shared__ uint4 stage[];
  const uint4 *from = (const uint4 *)in + blockIdx.x * blockDim.x * p;
  unsigned sum = 0, to = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);
  for (unsigned k = 0; k < p; k++) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                 "l"(from + k * blockDim.x + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    uint4 found = stage[(threadIdx.x + 1) % blockDim.x];
    sum += found.x ^ found.y ^ found.z ^ found.w;
    __syncthreads();
  }
  out[thread_number()] = sum;
}
