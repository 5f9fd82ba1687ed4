// Kernels of the test set: the simulator is judged on them, and nothing is fitted to them. The
// training set (h200_train.cu) shares no kernel with it. All have the same parameters;
// tests/data/h200/launches.csv says how each is launched, and n, p and q mean what its comment
// says; what an index is masked by is a power of two.
#include <mma.h>

#define KERNEL(NAME)                                                                               \
  extern "C" __global__ void NAME(unsigned *out, const unsigned *in, unsigned n, unsigned p,       \
                                  unsigned q)

static __device__ unsigned global_index() { return threadIdx.x + blockDim.x * blockIdx.x; }
// A float between 1 and 2 with the low bits of any word.
static __device__ float one_to_two(unsigned word) {
  return __uint_as_float((word & 0x7fffff) | 0x3f800000);
}
// Murmur's last steps.
static __device__ unsigned scramble(unsigned h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

// ---- Bandwidth ----

// c = a + 3 b for n floats: b lies n words behind a.
KERNEL(te_triad) {
  unsigned i = global_index();
  if (i < n)
    ((float *)out)[i] = one_to_two(in[i]) + 3.0f * one_to_two(in[i + n]);
}

// n words in pairs, with a number added; p pairs for each thread, a block's side by side.
KERNEL(te_pairs) {
  const uint2 *from = (const uint2 *)in + blockIdx.x * blockDim.x * p;
  uint2 *to = (uint2 *)out + blockIdx.x * blockDim.x * p;
  for (unsigned k = 0; k < p; k++) {
    uint2 found = from[k * blockDim.x + threadIdx.x];
    found.x += n;
    found.y -= n;
    to[k * blockDim.x + threadIdx.x] = found;
  }
}

// Writes n words.
KERNEL(te_fill) {
  for (unsigned i = global_index(); i < n; i += blockDim.x * gridDim.x)
    out[i] = p;
}

// The largest of n words; a warp reads p lines one behind the other.
KERNEL(te_largest) {
  unsigned most = 0, at = (global_index() / 32 * p) * 32 + threadIdx.x % 32;
  for (unsigned k = 0; k < p; k++) {
    unsigned found = in[at + k * 32];
    most = found > most ? found : most;
  }
  most = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0)
    out[global_index() / 32] = most;
}

// Transposes a matrix of n columns without shared memory.
KERNEL(te_turn) {
  unsigned i = global_index(), row = i / n, column = i - row * n;
  out[column * p + row] = in[i];
}

// Five-point stencil on a matrix of n columns.
KERNEL(te_stencil) {
  unsigned i = global_index() + n;
  float sum = one_to_two(in[i]) + one_to_two(in[i - 1]) + one_to_two(in[i + 1]) +
              one_to_two(in[i - n]) + one_to_two(in[i + n]);
  ((float *)out)[i] = 0.2f * sum;
}

// Rows of a sparse matrix, a thread each: their lengths are between 1 and p.
KERNEL(te_sparse) {
  unsigned row = global_index(), length = (in[row] >> 7 & (p - 1)) + 1;
  float sum = 0;
  for (unsigned k = 0; k < length; k++) {
    unsigned column = scramble(row * p + k) & (n - 1);
    sum += one_to_two(in[row + k * 32]) * one_to_two(in[column]);
  }
  ((float *)out)[row] = sum;
}

// Tables of n words that all blocks look into, q times a thread.
KERNEL(te_table) {
  unsigned h = global_index(), sum = 0;
  for (unsigned k = 0; k < q; k++) {
    h = h * 1664525u + 1013904223u;
    sum ^= in[h >> 9 & (n - 1)];
  }
  out[global_index()] = sum;
}

// ---- Latency ----

// A search by halves among n words: p steps, each with a load.
KERNEL(te_search) {
  unsigned low = 0, high = n, wanted = in[global_index() & (n - 1)];
  while (low + 1 < high) {
    unsigned middle = (low + high) / 2;
    if (__ldg(&in[middle]) < wanted)
      high = middle;
    else
      low = middle;
  }
  out[global_index()] = low + p;
}

// Roots of x^3 + b x = c by p bisections, then q steps of Newton's.
KERNEL(te_roots) {
  float b = one_to_two(in[threadIdx.x]), c = one_to_two(in[threadIdx.x + 1]);
  float low = 0, high = 2;
  for (unsigned k = 0; k < p; k++) {
    float middle = 0.5f * (low + high);
    if (middle * middle * middle + b * middle < c)
      low = middle;
    else
      high = middle;
  }
  float x = low;
  for (unsigned k = 0; k < q; k++)
    x -= (x * x * x + b * x - c) / (3 * x * x + b);
  ((float *)out)[global_index()] = x;
}

// Tridiagonal systems by parallel cyclic reduction, a block each, a thread a row.
KERNEL(te_reduction) {
  extern __shared__ float rows[];
  unsigned i = threadIdx.x, size = blockDim.x;
  float *a = rows, *b = a + size, *c = b + size, *d = c + size;
  a[i] = i == 0 ? 0 : -one_to_two(in[i]);
  b[i] = 6;
  c[i] = i + 1 == size ? 0 : -one_to_two(in[i + n]);
  d[i] = one_to_two(in[global_index()]);
  __syncthreads();
  for (unsigned step = 1; step < size; step *= 2) {
    unsigned left = i >= step ? i - step : 0, right = i + step < size ? i + step : size - 1;
    float k1 = i >= step ? a[i] / b[left] : 0, k2 = i + step < size ? c[i] / b[right] : 0;
    float new_b = b[i] - c[left] * k1 - a[right] * k2;
    float new_d = d[i] - d[left] * k1 - d[right] * k2;
    float new_a = -a[left] * k1, new_c = -c[right] * k2;
    __syncthreads();
    a[i] = new_a;
    b[i] = new_b;
    c[i] = new_c;
    d[i] = new_d;
    __syncthreads();
  }
  ((float *)out)[global_index()] = d[i] / b[i];
}

// Recursive filter: each thread goes along p words of its own, all in shared memory n words apart.
KERNEL(te_filter) {
  extern __shared__ float line[];
  for (unsigned k = 0; k < p; k++)
    line[threadIdx.x * n + k] = one_to_two(in[k * blockDim.x + threadIdx.x]);
  float y = 0, z = 0;
  for (unsigned k = 0; k < p; k++) {
    float next = line[threadIdx.x * n + k] + 0.5f * y - 0.25f * z;
    z = y;
    y = next;
    line[threadIdx.x * n + k] = y;
  }
  __syncthreads();
  for (unsigned k = 0; k < p; k++)
    ((float *)out)[k * blockDim.x + threadIdx.x] = line[threadIdx.x * n + k];
}

// ---- Barriers ----

// Hillis and Steele's sums, q times.
KERNEL(te_sums) {
  __shared__ unsigned buffer[2][1024];
  unsigned i = threadIdx.x, own = in[global_index()];
  for (unsigned k = 0; k < q; k++) {
    unsigned from = 0;
    buffer[0][i] = own;
    for (unsigned step = 1; step < blockDim.x; step *= 2) {
      __syncthreads();
      buffer[1 - from][i] = buffer[from][i] + (i >= step ? buffer[from][i - step] : 0);
      from = 1 - from;
    }
    __syncthreads();
    own = buffer[from][i] >> 1;
    __syncthreads();
  }
  out[global_index()] = own;
}

// Odd-even transposition: p exchanges of neighbours.
KERNEL(te_exchange) {
  extern __shared__ unsigned numbers[];
  unsigned i = threadIdx.x, size = 2 * blockDim.x;
  numbers[i] = in[i];
  numbers[i + blockDim.x] = in[i + blockDim.x];
  for (unsigned k = 0; k < p; k++) {
    __syncthreads();
    unsigned at = 2 * i + k % 2;
    if (at + 1 < size && numbers[at] > numbers[at + 1]) {
      unsigned kept = numbers[at];
      numbers[at] = numbers[at + 1];
      numbers[at + 1] = kept;
    }
  }
  __syncthreads();
  out[blockIdx.x * size + i] = numbers[i];
  out[blockIdx.x * size + i + blockDim.x] = numbers[i + blockDim.x];
}

// ---- Atomics on global memory ----

// Keeps words below a threshold p, in any order: their place comes from a counter, of which there
// are q.
KERNEL(te_compact) {
  unsigned i = global_index(), word = in[i];
  if ((word >> 16) < p) {
    unsigned place = atomicAdd(&out[i & (q - 1)], 1u);
    out[q + (place + (i & (q - 1)) * (n / q))] = word;
  }
}

// Largest floats by compare and swap, in p places, q times.
KERNEL(te_swap) {
  unsigned i = global_index();
  for (unsigned k = 0; k < q; k++) {
    unsigned *place = &out[scramble(i + k * 7) & (p - 1)];
    unsigned found = *(volatile unsigned *)place, own = scramble(i ^ k);
    while (own > found) {
      unsigned before = atomicCAS(place, found, own);
      if (before == found)
        break;
      found = before;
    }
  }
}

// Float additions to p places, q a thread; lanes of a warp go to neighbours.
KERNEL(te_weights) {
  float *sum = (float *)out;
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&sum[(global_index() + k * 97) & (p - 1)], one_to_two(k));
}

// Lists by hash: every thread becomes the head of one of p lists.
KERNEL(te_lists) {
  unsigned i = global_index();
  unsigned list = scramble(in[i]) & (p - 1);
  out[p + i] = atomicExch(&out[list], i + 1);
}

// ---- Atomics on shared memory ----

// Ranks of digits: the place of each word among those with the same p low bits, q rounds.
KERNEL(te_ranks) {
  __shared__ unsigned count[1024];
  for (unsigned k = 0; k < q; k++) {
    for (unsigned i = threadIdx.x; i < p; i += blockDim.x)
      count[i] = 0;
    __syncthreads();
    unsigned rank = atomicAdd(&count[scramble(in[global_index()] + k) & (p - 1)], 1u);
    __syncthreads();
    out[global_index()] = rank;
  }
}

// Histograms by warp: bins of a warp lie together, p of them, and n words a block.
KERNEL(te_by_warp) {
  extern __shared__ unsigned own_bins[];
  unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (unsigned i = threadIdx.x; i < p * warps; i += blockDim.x)
    own_bins[i] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&own_bins[warp * p + (in[blockIdx.x * n + i] >> 13 & (p - 1))], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < p; i += blockDim.x) {
    unsigned sum = 0;
    for (unsigned k = 0; k < warps; k++)
      sum += own_bins[k * p + i];
    out[blockIdx.x * p + i] = sum;
  }
}

// Weights of words by their p low bits, in floats.
KERNEL(te_float_bins) {
  __shared__ float weight[512];
  weight[threadIdx.x & 511] = 0;
  __syncthreads();
  for (unsigned k = 0; k < q; k++) {
    unsigned word = in[global_index() + k * 32];
    atomicAdd(&weight[word & (p - 1)], one_to_two(word));
  }
  __syncthreads();
  if (threadIdx.x < p)
    ((float *)out)[blockIdx.x * p + threadIdx.x] = weight[threadIdx.x];
}

// The same in doubles, and neighbours among lanes share a place.
KERNEL(te_double_bins) {
  __shared__ double weight[512];
  weight[threadIdx.x & 511] = 0;
  __syncthreads();
  for (unsigned k = 0; k < q; k++)
    atomicAdd(&weight[(threadIdx.x / 4 + k) & (p - 1)], 0.5);
  __syncthreads();
  if (threadIdx.x < p)
    ((double *)out)[blockIdx.x * p + threadIdx.x] = weight[threadIdx.x];
}

// ---- Divergence ----

// Mandelbrot's set on a grid of n columns, at most p steps.
KERNEL(te_set) {
  unsigned i = global_index();
  float a = (float)(i % n) / (float)n * 3 - 2, b = (float)(i / n) / (float)q * 2 - 1;
  float x = 0, y = 0;
  unsigned steps = 0;
  while (x * x + y * y < 4 && steps < p) {
    float next = x * x - y * y + a;
    y = 2 * x * y + b;
    x = next;
    steps++;
  }
  out[i] = steps;
}

// Greatest common divisors of pairs of words below p.
KERNEL(te_divisors) {
  unsigned a = (in[global_index()] & (p - 1)) + 1, b = (in[global_index() + n] & (p - 1)) + 1;
  while (b) {
    unsigned rest = a % b;
    a = b;
    b = rest;
  }
  out[global_index()] = a;
}

// ---- Shared memory ----

// Fourier transform of 2 blockDim complex numbers in shared memory, radix 2; number i is kept at
// i + i / 32 * p.
KERNEL(te_fourier) {
  extern __shared__ float numbers_of[];
  unsigned size = 2 * blockDim.x, pitch = size + size / 32 * p;
  float *re = numbers_of, *im = numbers_of + pitch;
#define AT(I) ((I) + (I) / 32 * p)
  for (unsigned k = 0; k < 2; k++) {
    unsigned i = threadIdx.x + k * blockDim.x, turned = __brev(i) >> (__clz(size) + 1);
    re[AT(turned)] = one_to_two(in[blockIdx.x * size + i]);
    im[AT(turned)] = 0;
  }
  for (unsigned half = 1; half < size; half *= 2) {
    __syncthreads();
    unsigned j = threadIdx.x & (half - 1), low = 2 * (threadIdx.x - j) + j, high = low + half;
    float sine, cosine;
    __sincosf(-3.14159265f * (float)j / (float)half, &sine, &cosine);
    float x = re[AT(high)] * cosine - im[AT(high)] * sine;
    float y = re[AT(high)] * sine + im[AT(high)] * cosine;
    float u = re[AT(low)], v = im[AT(low)];
    re[AT(low)] = u + x;
    im[AT(low)] = v + y;
    re[AT(high)] = u - x;
    im[AT(high)] = v - y;
  }
  __syncthreads();
  for (unsigned k = 0; k < 2; k++) {
    unsigned i = threadIdx.x + k * blockDim.x;
    ((float *)out)[blockIdx.x * size + i] = re[AT(i)] + im[AT(i)];
  }
#undef AT
}

// Column sums of a tile of blockDim x 32 words: thread t adds column t mod 32 of 32 rows, walking
// along its row where rows are p words apart; q rounds.
KERNEL(te_columns) {
  extern __shared__ unsigned grid[];
  unsigned rows = blockDim.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned r = warp; r < rows; r += rows / 32)
    grid[r * p + lane] = in[r * 32 + lane];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned k = 0; k < q; k++) {
    for (unsigned c = 0; c < 32; c++)
      sum += grid[threadIdx.x * p + ((c + k) & 31)] ^ c;
    __syncthreads();
    grid[threadIdx.x * p + (k & 31)] = sum;
    __syncthreads();
  }
  out[global_index()] = sum;
}

// Blelloch's scan of 2 blockDim words, q times; word i is kept at i + i / 32 * p.
KERNEL(te_scan) {
  extern __shared__ unsigned word[];
#define AT(I) ((I) + (I) / 32 * p)
  unsigned size = 2 * blockDim.x, t = threadIdx.x;
  word[AT(2 * t)] = in[blockIdx.x * size + 2 * t];
  word[AT(2 * t + 1)] = in[blockIdx.x * size + 2 * t + 1];
  for (unsigned k = 0; k < q; k++) {
    unsigned step = 1;
    for (unsigned d = blockDim.x; d; d /= 2, step *= 2) {
      __syncthreads();
      if (t < d)
        word[AT(step * (2 * t + 2) - 1)] += word[AT(step * (2 * t + 1) - 1)];
    }
    if (t == 0)
      word[AT(size - 1)] = 0;
    for (unsigned d = 1; d < size; d *= 2) {
      step /= 2;
      __syncthreads();
      if (t < d) {
        unsigned left = AT(step * (2 * t + 1) - 1), right = AT(step * (2 * t + 2) - 1);
        unsigned kept = word[left];
        word[left] = word[right];
        word[right] += kept;
      }
    }
    __syncthreads();
  }
  out[blockIdx.x * size + 2 * t] = word[AT(2 * t)];
  out[blockIdx.x * size + 2 * t + 1] = word[AT(2 * t + 1)];
#undef AT
}

// Alignment of two sequences of blockDim words: diagonals of a matrix whose rows are p words apart.
KERNEL(te_align) {
  extern __shared__ int score[];
  unsigned t = threadIdx.x, size = blockDim.x;
  for (unsigned k = t; k < (size + 1) * p; k += size)
    score[k] = 0;
  unsigned own = in[t] & 3;
  for (unsigned diagonal = 0; diagonal < 2 * size - 1; diagonal++) {
    __syncthreads();
    if (t <= diagonal && diagonal - t < size) {
      unsigned row = t + 1, column = diagonal - t + 1;
      int same = own == (in[n + column] & 3) ? 2 : -1;
      int best = score[(row - 1) * p + column - 1] + same;
      best = max(best, score[(row - 1) * p + column] - 1);
      best = max(best, score[row * p + column - 1] - 1);
      score[row * p + column] = best;
    }
  }
  __syncthreads();
  out[global_index()] = (unsigned)score[(t + 1) * p + size];
}

// Blocks of 8 x 8 floats turned by a cosine matrix, a thread a column and then a row; a block's
// numbers are p words apart from the next block's.
KERNEL(te_cosine) {
  extern __shared__ float block_of[];
  unsigned t = threadIdx.x % 8;
  float *own = block_of + threadIdx.x / 8 * p, line[8], turned[8];
  for (unsigned k = 0; k < 8; k++)
    own[k * 8 + t] = one_to_two(in[global_index() * 8 + k]);
  __syncwarp();
  for (unsigned pass = 0; pass < q; pass++) {
#pragma unroll
    for (unsigned k = 0; k < 8; k++)
      line[k] = own[(pass & 1) ? t * 8 + k : k * 8 + t];
#pragma unroll
    for (unsigned u = 0; u < 8; u++) {
      turned[u] = 0;
#pragma unroll
      for (unsigned k = 0; k < 8; k++)
        turned[u] += line[k] * ((u * (2 * k + 1)) % 32 < 16 ? 0.35f : -0.35f);
    }
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < 8; k++)
      own[(pass & 1) ? t * 8 + k : k * 8 + t] = turned[k];
    __syncwarp();
  }
  for (unsigned k = 0; k < 8; k++)
    ((float *)out)[global_index() * 8 + k] = own[k * 8 + t];
}

// ---- Matrix units ----

// Products of 16 x 16 halves in shared memory, n rows apart: p steps along the inner dimension.
KERNEL(te_wmma) {
  using namespace nvcuda::wmma;
  extern __shared__ __half tiles[];
  for (unsigned i = threadIdx.x; i < 32 * n; i += blockDim.x)
    tiles[i] = __ushort_as_half((unsigned short)(in[i] & 0x3fff));
  __syncthreads();
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0.0f);
  for (unsigned k = 0; k < p; k++) {
    load_matrix_sync(a, tiles + (k & 1) * 16, n);
    load_matrix_sync(b, tiles + 16 * n + (k & 1) * 16, n);
    mma_sync(c, a, b, c);
  }
  store_matrix_sync((float *)out + global_index() / 32 * 256, c, 16, mem_row_major);
}

// Products of 16x8x8 halves into halves, two chains, with numbers that change: p rounds.
KERNEL(te_halves) {
  unsigned a = in[threadIdx.x] & 0x3fff3fff, b = 0x3c003c00, x = 0, y = 0, u = 0, v = 0;
  for (unsigned k = 0; k < p; k++) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2}, {%3}, {%0,%1};"
                 : "+r"(x), "+r"(y)
                 : "r"(a), "r"(b));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2}, {%3}, {%0,%1};"
                 : "+r"(u), "+r"(v)
                 : "r"(b), "r"(a));
    a += 0x10001;
  }
  out[global_index()] = x ^ y ^ u ^ v;
}

// ---- Arithmetic ----

// Forces of n bodies on each thread's, a tile of blockDim in shared memory at a time.
KERNEL(te_bodies) {
  __shared__ float4 tile[256];
  float x = one_to_two(in[global_index()]), y = x * 0.5f, z = x * x, fx = 0, fy = 0, fz = 0;
  for (unsigned base = 0; base < n; base += blockDim.x) {
    float b = one_to_two(in[base + threadIdx.x]);
    __syncthreads();
    tile[threadIdx.x] = make_float4(b, b * b, 2 - b, b * 0.1f);
    __syncthreads();
    for (unsigned k = 0; k < blockDim.x; k++) {
      float dx = tile[k].x - x, dy = tile[k].y - y, dz = tile[k].z - z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float force = tile[k].w * inverse * inverse * inverse;
      fx += dx * force;
      fy += dy * force;
      fz += dz * force;
    }
  }
  ((float *)out)[global_index()] = fx + fy + fz;
}

// p rounds of a hash of four words.
KERNEL(te_hashes) {
  unsigned a = in[threadIdx.x], b = a + 1, c = n, d = p;
  for (unsigned k = 0; k < p; k++) {
    a += b;
    d = __funnelshift_l(d ^ a, d ^ a, 16);
    c += d;
    b = __funnelshift_l(b ^ c, b ^ c, 12);
    a += b;
    d = __funnelshift_l(d ^ a, d ^ a, 8);
    c += d;
    b = __funnelshift_l(b ^ c, b ^ c, 7);
  }
  out[global_index()] = a ^ b ^ c ^ d;
}

// Prices of options, p each: logarithms, exponentials and roots.
KERNEL(te_options) {
  float sum = 0;
  for (unsigned k = 0; k < p; k++) {
    float price = one_to_two(in[global_index() + k * 32]), years = 0.5f + price;
    float root = sqrtf(years), d1 = (__logf(price) + 0.06f * years) / (0.3f * root);
    float e = __expf(-0.5f * d1 * d1), t = 1 / (1 + 0.2316419f * fabsf(d1));
    sum += price * e * t * (0.31938f + t * (-0.35656f + t * 1.78148f));
  }
  ((float *)out)[global_index()] = sum;
}

// Polynomials of doubles, two at a time: p steps.
KERNEL(te_horner) {
  double x = 0.25 + (in[threadIdx.x] & 255) * 0.001, a = 1, b = 2;
  for (unsigned k = 0; k < p; k++) {
    a = a * x + 0.5;
    b = b * x - 0.25;
  }
  ((double *)out)[global_index()] = a * b;
}

// ---- Grids ----

// Triangle: block b adds up b / q lines of words.
KERNEL(te_triangle) {
  unsigned sum = 0;
  for (unsigned k = 0; k <= blockIdx.x / q; k++)
    sum += in[k * blockDim.x + threadIdx.x] * (k + p);
  out[global_index()] = sum;
}

// Short blocks of arithmetic: p rounds.
KERNEL(te_brief) {
  float x = one_to_two(in[threadIdx.x]);
  for (unsigned k = 0; k < p; k++)
    x = sqrtf(x + 1.0f);
  if (x < 0)
    out[0] = 1;
  if (threadIdx.x == 0)
    ((float *)out)[blockIdx.x] = x;
}

// ---- Locks ----

// Tickets: the first thread of each block waits for its number, q times.
KERNEL(te_tickets) {
  if (threadIdx.x)
    return;
  for (unsigned k = 0; k < q; k++) {
    unsigned ticket = atomicAdd(&out[0], 1u);
    while (*(volatile unsigned *)&out[32] != ticket)
      ;
    __threadfence();
    *(volatile unsigned *)&out[64] = *(volatile unsigned *)&out[64] + ticket;
    __threadfence();
    *(volatile unsigned *)&out[32] = ticket + 1;
  }
}

// A chain of blocks: each waits for the one before it, adds its sum and tells the next.
KERNEL(te_chain) {
  __shared__ unsigned before;
  unsigned sum = __reduce_add_sync(~0u, in[global_index()]);
  if (threadIdx.x == 0) {
    unsigned found = 0;
    if (blockIdx.x) {
      while (*(volatile unsigned *)&out[2 * blockIdx.x - 2] == 0)
        ;
      __threadfence();
      found = *(volatile unsigned *)&out[2 * blockIdx.x - 1];
    }
    before = found;
    *(volatile unsigned *)&out[2 * blockIdx.x + 1] = found + sum;
    __threadfence();
    *(volatile unsigned *)&out[2 * blockIdx.x] = 1;
  }
  __syncthreads();
  out[2 * gridDim.x + global_index()] = before;
}

// ---- Code ----

// Long code of floats with some memory in between, p rounds.
KERNEL(te_code) {
  float x = one_to_two(in[threadIdx.x]), y = one_to_two(n), z = 0.5f;
  for (unsigned k = 0; k < p; k++) {
/* clang-format off */
#define PART(I) x = x * y + I##.0f; z = z - x * 0.01f; y = fminf(y, z + I##.5f);
#define PARTS(I) PART(I##1) PART(I##2) PART(I##3) PART(I##4) PART(I##5) PART(I##6) PART(I##7) PART(I##8)
#define MANY(I) PARTS(I##1) PARTS(I##2) PARTS(I##3) PARTS(I##4) PARTS(I##5) PARTS(I##6) PARTS(I##7) PARTS(I##8)
    MANY(1) MANY(2) MANY(3) MANY(4) MANY(5) MANY(6)
    /* clang-format on */
  }
  ((float *)out)[global_index()] = x + y + z;
}

// ---- Copies past registers ----

// Lines copied asynchronously, two ahead of the sum that is made of them: p lines a thread.
KERNEL(te_ahead) {
  extern __shared__ unsigned ring[];
  const unsigned *from = in + blockIdx.x * blockDim.x * p;
  unsigned sum = 0, to = (unsigned)__cvta_generic_to_shared(&ring[threadIdx.x]);
  for (unsigned k = 0; k < p + 2; k++) {
    if (k < p)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + (k & 3) * blockDim.x * 4),
                   "l"(from + k * blockDim.x + threadIdx.x));
    asm volatile("cp.async.commit_group;");
    if (k >= 2) {
      asm volatile("cp.async.wait_group 2;");
      sum += ring[((k - 2) & 3) * blockDim.x + threadIdx.x];
    }
  }
  out[global_index()] = sum;
}
