// Kernels of the training set after programs as people write them, where the others are mostly
// loops of one thing: parameters and mechanisms of the simulator may be fitted to them. The test
// set (h200_test.cu) shares none of them. Launched as those of h200_train.cu.
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

// ---- Streams ----

// Three arrays of n / 4 words are read and one is written.
KERNEL(wi_triad) {
  unsigned i = thread_number(), part = n / 4;
  const float *a = (const float *)in;
  if (i < part)
    ((float *)out)[i] = a[i] + 3.0f * a[i + part] * a[i + 2 * part];
}

// n bytes, a byte a thread, become lower case.
KERNEL(wi_bytes) {
  const unsigned char *from = (const unsigned char *)in;
  unsigned char *to = (unsigned char *)out;
  for (unsigned i = thread_number(); i < n; i += threads_all()) {
    unsigned char c = from[i];
    to[i] = c >= 'A' && c <= 'Z' ? c + 32 : c;
  }
}

// Sets n words.
KERNEL(wi_fill) {
  for (unsigned i = thread_number(); i < n; i += threads_all())
    out[i] = p;
}

// Luma of n pixels of three bytes.
KERNEL(wi_grey) {
  const unsigned char *from = (const unsigned char *)in;
  unsigned i = thread_number();
  if (i >= n)
    return;
  float value = 0.299f * from[3 * i] + 0.587f * from[3 * i + 1] + 0.114f * from[3 * i + 2];
  ((unsigned char *)out)[i] = (unsigned char)value;
}

// Four words in a row for each thread, so that lanes are 16 bytes apart.
KERNEL(wi_strip) {
  unsigned at = thread_number() * 4;
  for (unsigned k = 0; k < 4; k++)
    if (at + k < n)
      out[at + k] = in[at + k] * 3 + p;
}

// ---- Sparse and irregular ----

// Rows of p to p + 31 words at random columns among n, a thread each.
KERNEL(wi_sparse) {
  unsigned row = thread_number(), length = p + (mix(row) & 31);
  float sum = 0;
  for (unsigned k = 0; k < length; k++) {
    unsigned column = mix(row * 64 + k) & (n - 1);
    sum += fraction(in[column]) * (float)(k + 1);
  }
  ((float *)out)[row] = sum;
}

// The same, a warp each: lanes take columns in turn and add by shuffles.
KERNEL(wi_sparse_warp) {
  unsigned row = thread_number() / 32, lane = threadIdx.x % 32, length = p + (mix(row) & 63);
  float sum = 0;
  for (unsigned k = lane; k < length; k += 32)
    sum += fraction(in[mix(row * 128 + k) & (n - 1)]) * (float)(k + 1);
  for (unsigned step = 16; step; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0)
    ((float *)out)[row] = sum;
}

// Vertices of a level mark p neighbours among n that have no level yet.
KERNEL(wi_level) {
  unsigned vertex = thread_number();
  if ((in[vertex] & 3) != q)
    return;
  for (unsigned k = 0; k < p; k++) {
    unsigned neighbour = mix(vertex * p + k) & (n - 1);
    if (out[neighbour] == 0)
      out[neighbour] = q + 1;
  }
}

// Paths of p steps up a tree that is an array.
KERNEL(wi_tree_walk) {
  unsigned at = 1, key = in[thread_number() & 1023];
  for (unsigned k = 0; k < p && at < n; k++)
    at = 2 * at + (in[at] > key ? 1 : 0);
  out[thread_number()] = at;
}

// Words that are smaller than p keep their place in order: votes within warps, sums within blocks.
KERNEL(wi_compact) {
  __shared__ unsigned warps[32];
  __shared__ unsigned begin;
  unsigned value = in[thread_number()], lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bool keep = (value & 255) < p;
  unsigned votes = __ballot_sync(~0u, keep), before = __popc(votes & ((1u << lane) - 1));
  if (lane == 0)
    warps[warp] = __popc(votes);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < blockDim.x / 32; i++) {
      unsigned own = warps[i];
      warps[i] = sum;
      sum += own;
    }
    begin = atomicAdd(&out[0], sum);
  }
  __syncthreads();
  if (keep)
    out[1 + begin + warps[warp] + before] = value;
}

// Keys enter a table of p places with open addresses.
KERNEL(wi_insert) {
  unsigned key = in[thread_number()] | 1, at = mix(key) & (p - 1);
  for (unsigned k = 0; k < 64; k++) {
    unsigned found = atomicCAS(&out[at], 0, key);
    if (found == 0 || found == key)
      break;
    at = (at + 1) & (p - 1);
  }
}

// ---- Dense ----

// Product of a matrix of n columns with a vector, a warp a row.
KERNEL(wi_matvec) {
  unsigned row = thread_number() / 32, lane = threadIdx.x % 32;
  const float *a = (const float *)in + row * n, *x = (const float *)in;
  float sum = 0;
  for (unsigned k = lane; k < n; k += 32)
    sum += a[k] * x[k];
  for (unsigned step = 16; step; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0)
    ((float *)out)[row] = sum;
}

// Product of n x n matrices, tiles of 64 x 64, 4 x 4 sums a thread, 256 threads.
KERNEL(wi_gemm) {
  __shared__ float a[16][68], b[16][64];
  unsigned x = threadIdx.x % 16, y = threadIdx.x / 16, tiles = n / 64;
  unsigned left = blockIdx.x % tiles * 64, top = blockIdx.x / tiles * 64;
  const float *from = (const float *)in;
  float sum[4][4] = {};
  for (unsigned k = 0; k < n; k += 16) {
    for (unsigned i = 0; i < 4; i++) {
      a[x][y + 16 * i] = from[(top + y + 16 * i) * n + k + x];
      b[threadIdx.x / 64 + 4 * i][threadIdx.x % 64] =
          from[(k + threadIdx.x / 64 + 4 * i) * n + left + threadIdx.x % 64];
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < 16; j++)
#pragma unroll
      for (unsigned r = 0; r < 4; r++)
#pragma unroll
        for (unsigned c = 0; c < 4; c++)
          sum[r][c] += a[j][y * 4 + r] * b[j][x * 4 + c];
    __syncthreads();
  }
  for (unsigned r = 0; r < 4; r++)
    for (unsigned c = 0; c < 4; c++)
      ((float *)out)[(top + y * 4 + r) * n + left + x * 4 + c] = sum[r][c];
}

// Cholesky factors of an n x n matrix in shared memory, a block each, n threads.
KERNEL(wi_cholesky) {
  extern __shared__ float matrix[];
  unsigned row = threadIdx.x;
  for (unsigned k = 0; k < n; k++)
    matrix[row * (n + 1) + k] = row == k ? (float)n + 1.0f : fraction(in[row * n + k]);
  __syncthreads();
  for (unsigned k = 0; k < n; k++) {
    if (row == k)
      matrix[k * (n + 1) + k] = sqrtf(matrix[k * (n + 1) + k]);
    __syncthreads();
    if (row > k)
      matrix[row * (n + 1) + k] /= matrix[k * (n + 1) + k];
    __syncthreads();
    if (row > k)
      for (unsigned j = k + 1; j <= row; j++)
        matrix[row * (n + 1) + j] -= matrix[row * (n + 1) + k] * matrix[j * (n + 1) + k];
    __syncthreads();
  }
  for (unsigned k = 0; k < n; k++)
    ((float *)out)[(blockIdx.x * n + row) * n + k] = matrix[row * (n + 1) + k];
}

// Rows of n words become shares of one, a block a row, with exponentials.
KERNEL(wi_softmax) {
  __shared__ float part[32];
  const float *row = (const float *)in + blockIdx.x * n;
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float most = 0, sum = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    most = fmaxf(most, fraction(__float_as_uint(row[i])));
  for (unsigned step = 16; step; step /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (lane == 0)
    part[warp] = most;
  __syncthreads();
  for (unsigned i = 0; i < blockDim.x / 32; i++)
    most = fmaxf(most, part[i]);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    sum += expf(fraction(__float_as_uint(row[i])) - most);
  for (unsigned step = 16; step; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0)
    part[warp] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < blockDim.x / 32; i++)
    sum += part[i];
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    ((float *)out)[blockIdx.x * n + i] = expf(fraction(__float_as_uint(row[i])) - most) / sum;
}

// ---- Fields ----

// A stencil of seven points in a field of n x n x p, a thread a column of depth p.
KERNEL(wi_depth) {
  unsigned x = thread_number() % n, y = thread_number() / n, layer = n * n;
  const float *from = (const float *)in;
  if (x == 0 || y == 0 || x + 1 >= n || y + 1 >= n)
    return;
  unsigned at = y * n + x + layer;
  float below = from[at - layer], here = from[at];
  for (unsigned k = 1; k + 1 < p; k++, at += layer) {
    float above = from[at + layer];
    ((float *)out)[at] = 0.4f * here + 0.1f * (below + above + from[at - 1] + from[at + 1] +
                                               from[at - n] + from[at + n]);
    below = here;
    here = above;
  }
}

// Edges by Sobel's operator in a picture of n columns of bytes.
KERNEL(wi_sobel) {
  const unsigned char *from = (const unsigned char *)in;
  unsigned x = thread_number() % n, y = thread_number() / n;
  if (x == 0 || y == 0 || x + 1 >= n)
    return;
  const unsigned char *up = from + (y - 1) * n + x, *own = up + n, *down = own + n;
  int across = up[1] + 2 * own[1] + down[1] - up[-1] - 2 * own[-1] - down[-1];
  int along = down[-1] + 2 * down[0] + down[1] - up[-1] - 2 * up[0] - up[1];
  float length = sqrtf((float)(across * across + along * along));
  ((unsigned char *)out)[y * n + x] = length > 255.0f ? 255 : (unsigned char)length;
}

// The middle of nine neighbours, by exchanges, in a field of n columns.
KERNEL(wi_median) {
  unsigned x = thread_number() % n, y = thread_number() / n + 1;
  unsigned v[9];
  if (x == 0 || x + 1 >= n)
    return;
  for (int i = 0; i < 9; i++)
    v[i] = in[(y + i / 3 - 1) * n + x + i % 3 - 1];
#pragma unroll
  for (int i = 0; i < 5; i++)
#pragma unroll
    for (int j = i + 1; j < 9; j++) {
      unsigned least = min(v[i], v[j]);
      v[j] = max(v[i], v[j]);
      v[i] = least;
    }
  out[y * n + x] = v[4];
}

// Blur of rows: blockDim words of a tile with 2 p neighbours in shared memory.
KERNEL(wi_blur) {
  extern __shared__ float line[];
  const float *from = (const float *)in + blockIdx.x * blockDim.x;
  for (unsigned i = threadIdx.x; i < blockDim.x + 2 * p; i += blockDim.x)
    line[i] = from[i];
  __syncthreads();
  float sum = 0;
  for (unsigned k = 0; k <= 2 * p; k++)
    sum += line[threadIdx.x + k] * (1.0f / (float)(k + 1));
  ((float *)out)[thread_number()] = sum;
}

static __constant__ float weights[64] = {0.5f, 0.25f, 0.125f, 0.0625f, 0.5f, 0.25f, 0.1f, 0.2f,
                                         0.3f, 0.4f,  0.6f,   0.7f,    0.8f, 0.9f,  0.1f, 0.2f};

// Weighted sum of p words by constants; lanes take the same constant where q is 0.
KERNEL(wi_constant) {
  float sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += fraction(in[thread_number() + k]) * weights[(k + threadIdx.x * q) & 63];
  ((float *)out)[thread_number()] = sum;
}

// ---- Finance, chance, physics ----

// Prices by Black and Scholes, p for each thread.
KERNEL(wi_price) {
  float sum = 0;
  for (unsigned k = 0; k < p; k++) {
    float s = 5.0f + 30.0f * fraction(in[thread_number()]), x = 1.0f + (float)k, t = 0.25f;
    float root = sqrtf(t), d1 = (logf(s / x) + (0.02f + 0.045f) * t) / (0.3f * root),
          d2 = d1 - 0.3f * root;
    float a = 1.0f / (1.0f + 0.2316419f * fabsf(d1)), b = 1.0f / (1.0f + 0.2316419f * fabsf(d2));
    float m = 0.39894228f * expf(-0.5f * d1 * d1) * (a * (0.31938153f + a * (-0.356563782f + a)));
    float w = 0.39894228f * expf(-0.5f * d2 * d2) * (b * (0.31938153f + b * (-0.356563782f + b)));
    sum += s * (d1 > 0 ? 1.0f - m : m) - x * expf(-0.02f * t) * (d2 > 0 ? 1.0f - w : w);
  }
  ((float *)out)[thread_number()] = sum;
}

// p random points; those in a circle are counted and added by warps.
KERNEL(wi_chance) {
  unsigned state = in[thread_number()] | 1, inside = 0;
  for (unsigned k = 0; k < p; k++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    float x = fraction(state);
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    float y = fraction(state);
    inside += x * x + y * y < 1.0f;
  }
  inside = __reduce_add_sync(~0u, inside);
  if (threadIdx.x % 32 == 0)
    atomicAdd(&out[0], inside);
}

// Distances of each point of three words to p centres in shared memory; the nearest is kept.
KERNEL(wi_nearest) {
  extern __shared__ float centre[];
  for (unsigned i = threadIdx.x; i < 3 * p; i += blockDim.x)
    centre[i] = fraction(in[i]);
  __syncthreads();
  unsigned i = thread_number(), best = 0;
  float x = fraction(in[i]), y = fraction(in[i + n]), z = fraction(in[i + 2 * n]), least = 1e30f;
  for (unsigned k = 0; k < p; k++) {
    float a = x - centre[3 * k], b = y - centre[3 * k + 1], c = z - centre[3 * k + 2];
    float distance = a * a + b * b + c * c;
    if (distance < least) {
      least = distance;
      best = k;
    }
  }
  out[i] = best;
}

// Rays against p spheres of four words, with a root only where one is met.
KERNEL(wi_rays) {
  unsigned i = thread_number();
  float dx = fraction(in[i]) - 0.5f, dy = fraction(mix(i)) - 0.5f, dz = 1.0f, nearest = 1e30f;
  float scale = rsqrtf(dx * dx + dy * dy + dz * dz);
  dx *= scale, dy *= scale, dz *= scale;
  for (unsigned k = 0; k < p; k++) {
    float4 sphere = ((const float4 *)out)[n + k];
    float x = fraction(k * 2654435761u) - 0.5f + sphere.x, y = fraction(k * 40503u << 16) - 0.5f,
          z = 1.0f + sphere.z;
    float b = dx * x + dy * y + dz * z, d = b * b - (x * x + y * y + z * z) + 0.02f;
    if (d > 0) {
      float t = b - sqrtf(d);
      nearest = t < nearest ? t : nearest;
    }
  }
  ((float *)out)[i] = nearest;
}

// Newton's method in double precision, p rounds.
KERNEL(wi_newton) {
  double a = fraction(in[thread_number()]) + 1.0, x = a;
  for (unsigned k = 0; k < p; k++)
    x = 0.5 * (x + a / x);
  out[thread_number()] = (unsigned)(x * 1e6);
}

// ---- Bits and tables ----

// p rounds of a block cipher by four tables in shared memory.
KERNEL(wi_cipher) {
  __shared__ unsigned table[4][256];
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
    table[i / 256][i % 256] = in[i];
  __syncthreads();
  unsigned a = in[thread_number()], b = a ^ n, c = a + n, d = ~a;
  for (unsigned k = 0; k < p; k++) {
    unsigned e = table[0][a >> 24] ^ table[1][b >> 16 & 255] ^ table[2][c >> 8 & 255] ^
                 table[3][d & 255] ^ k;
    unsigned f =
        table[0][b >> 24] ^ table[1][c >> 16 & 255] ^ table[2][d >> 8 & 255] ^ table[3][a & 255];
    c = table[0][c >> 24] ^ table[1][d >> 16 & 255] ^ table[2][a >> 8 & 255] ^ table[3][b & 255];
    a = e, d = b, b = f;
  }
  out[thread_number()] = a ^ b ^ c ^ d;
}

// A digest in p rounds of rotations and additions, 16 words at a time.
KERNEL(wi_digest) {
  unsigned w[16], a = n, b = ~n, c = 0x98badcfe, d = 0x10325476;
  for (int i = 0; i < 16; i++)
    w[i] = in[thread_number() * 16 + i];
  for (unsigned k = 0; k < p; k++)
#pragma unroll
    for (int i = 0; i < 16; i++) {
      unsigned f = i & 1 ? (b & c) | (~b & d) : b ^ c ^ d;
      unsigned next = a + f + w[i] + 0x5a827999u;
      a = d, d = c, c = b;
      b += __funnelshift_l(next, next, 5 + i % 4 * 3);
      w[i] ^= b;
    }
  out[thread_number()] = a ^ b ^ c ^ d;
}

// A check sum of p bytes of each thread by a table in global memory.
KERNEL(wi_checksum) {
  const unsigned char *from = (const unsigned char *)in + thread_number() * p;
  unsigned sum = ~0u;
  for (unsigned k = 0; k < p; k++)
    sum = in[(sum ^ from[k]) & 255] ^ sum >> 8;
  out[thread_number()] = sum;
}

// Queens on a board of n rows by a stack in local memory, from a first place by thread.
KERNEL(wi_queens) {
  unsigned place[12], found = 0, row = 1, tried = 0;
  place[0] = thread_number() % n;
  place[1] = 0;
  while (row > 0 && tried++ < p) {
    bool is_free = place[row] < n;
    for (unsigned k = 0; k < row && is_free; k++) {
      unsigned apart = row - k, a = place[k], b = place[row];
      is_free = a != b && a + apart != b && b + apart != a;
    }
    if (place[row] >= n) {
      place[--row]++;
    } else if (is_free && row + 1 == n) {
      found++;
      place[row]++;
    } else if (is_free) {
      place[++row] = 0;
    } else {
      place[row]++;
    }
  }
  out[thread_number()] = found;
}

// ---- Steps of sorting and dynamic programming ----

// Counts of p digits of four bits in private counters of shared memory, words 16 apart.
KERNEL(wi_digits) {
  extern __shared__ unsigned counter[];
  for (unsigned k = 0; k < 16; k++)
    counter[k * blockDim.x + threadIdx.x] = 0;
  for (unsigned k = 0; k < p; k++)
    counter[(in[thread_number() + k * threads_all()] & 15) * blockDim.x + threadIdx.x]++;
  __syncthreads();
  for (unsigned k = threadIdx.x; k < 16; k += blockDim.x) {
    unsigned sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++)
      sum += counter[k * blockDim.x + i];
    out[blockIdx.x * 16 + k] = sum;
  }
}

// Each thread merges its part of two sorted lists of n words by their crossing.
KERNEL(wi_merge) {
  unsigned i = thread_number() * p, low = i > n ? i - n : 0, high = i < n ? i : n;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (2 * middle <= 2 * (i - 1 - middle) + 1)
      low = middle + 1;
    else
      high = middle;
  }
  unsigned a = low, b = i - low;
  for (unsigned k = 0; k < p; k++) {
    unsigned x = a < n ? in[a] & 15 : ~0u, y = b < n ? in[n + b] & 15 : ~0u;
    bool first = x + 2 * a <= y + 2 * b;
    out[i + k] = first ? x : y;
    a += first;
    b += !first;
  }
}

// Rows of a table of n columns, each from the one before, in shared memory: p rows.
KERNEL(wi_rows_of_sums) {
  extern __shared__ unsigned best[];
  unsigned own = in[threadIdx.x];
  best[threadIdx.x] = own;
  __syncthreads();
  for (unsigned k = 0; k < p; k++) {
    unsigned left = threadIdx.x ? best[threadIdx.x - 1] : own;
    unsigned right = threadIdx.x + 1 < blockDim.x ? best[threadIdx.x + 1] : own;
    own = min(min(left, right), own) + (in[(k * blockDim.x + threadIdx.x) & (n - 1)] & 15);
    __syncthreads();
    best[threadIdx.x] = own;
    __syncthreads();
  }
  out[thread_number()] = own;
}

// Scores of two strings by diagonals within a warp, by shuffles, p columns.
KERNEL(wi_align) {
  unsigned letter = in[thread_number()] & 3, lane = threadIdx.x % 32;
  int up = 0, left = 0, best = 0;
  for (unsigned k = 0; k < p + 31; k++) {
    int corner = __shfl_up_sync(~0u, left, 1);
    unsigned other = in[(k - lane) & 255] & 3;
    int score = corner + (letter == other ? 3 : -2);
    score = max(max(score, left - 1), max(up - 1, 0));
    up = __shfl_up_sync(~0u, score, 1);
    if (lane == 0)
      up = 0;
    left = k >= lane ? score : 0;
    best = max(best, left);
  }
  out[thread_number()] = (unsigned)best;
}

// Shortest ways through one vertex of n: a step of Floyd's and Warshall's, p vertices.
KERNEL(wi_ways) {
  unsigned x = thread_number() % n, y = thread_number() / n;
  for (unsigned k = 0; k < p; k++) {
    unsigned way = (in[y * n + k] & 255) + (in[k * n + x] & 255);
    if (way < out[y * n + x] || k == 0)
      out[y * n + x] = way;
  }
}

// ---- The whole grid ----

// Sums of blocks; the last block that ends adds them (p words a thread).
KERNEL(wi_last_block) {
  __shared__ unsigned part[32];
  __shared__ bool is_last;
  unsigned sum = 0;
  for (unsigned k = 0; k < p; k++)
    sum += in[thread_number() + k * threads_all()];
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 1; i < blockDim.x / 32; i++)
      sum += part[i];
    out[1 + blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(&out[0], 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x)
    return;
  volatile unsigned *sums = out + 1;
  for (unsigned i = 0; i < gridDim.x; i++)
    sum += sums[i];
  out[1 + gridDim.x] = sum;
}

// Counts of words by p bins: warps add for all lanes that have the same bin.
KERNEL(wi_match) {
  for (unsigned i = thread_number(); i < n; i += threads_all()) {
    unsigned bin = in[i] & (p - 1), same = __match_any_sync(__activemask(), bin);
    if ((threadIdx.x & 31) == __ffs(same) - 1)
      atomicAdd(&out[bin], __popc(same));
  }
}

// Products of halves in pairs and of bytes in fours, p rounds.
KERNEL(wi_short_dot) {
  int sum = 0;
  unsigned a = in[thread_number()], b = in[thread_number() + 1];
  for (unsigned k = 0; k < p; k++) {
    sum = __dp4a((int)a, (int)b, sum);
    a = a * 5 + (unsigned)sum;
    b ^= a >> 3;
  }
  out[thread_number()] = (unsigned)sum;
}

// An FFT of eight points in registers, and the twiddles of p.
KERNEL(wi_fft8) {
  float re[8], im[8];
  for (int i = 0; i < 8; i++) {
    re[i] = fraction(in[thread_number() + i * threads_all()]);
    im[i] = fraction(mix(thread_number() + i));
  }
  for (unsigned k = 0; k < p; k++) {
#pragma unroll
    for (int half = 4; half; half /= 2)
#pragma unroll
      for (int i = 0; i < 8; i++)
        if (!(i & half)) {
          float a = re[i] - re[i + half], b = im[i] - im[i + half];
          re[i] += re[i + half];
          im[i] += im[i + half];
          float c = weights[i], s = weights[i + 8];
          re[i + half] = a * c - b * s;
          im[i + half] = a * s + b * c;
        }
    float angle = -0.01f * (float)(threadIdx.x * k), s, c;
    sincosf(angle, &s, &c);
    for (int i = 1; i < 8; i++)
      re[i] = re[i] * c - im[i] * s;
  }
  float sum = 0;
  for (int i = 0; i < 8; i++)
    sum += re[i] + im[i];
  ((float *)out)[thread_number()] = sum;
}

// ---- Single mechanisms ----

// p compares and swaps, each waiting for the one before, by n lanes of each warp, on words q apart.
KERNEL(wi_swap_chain) {
  unsigned lane = threadIdx.x % 32, value = 0;
  if (lane >= n)
    return;
  for (unsigned k = 0; k < p; k++)
    value = atomicCAS(&out[thread_number() * q + (value & 1)], value, k + 1);
  out[threads_all() * q + q + thread_number()] = value;
}

// q products with one of p words, by compare and swap, each from a fresh value of the word.
KERNEL(wi_fresh_swap) {
  for (unsigned k = 0; k < q; k++) {
    unsigned *word = &out[mix(thread_number() + k) & (p - 1)], old = __ldcg(word), found;
    while ((found = atomicCAS(word, old, old * 3 + 1)) != old)
      old = found;
  }
}

// Even and odd lanes work p rounds each, q times.
KERNEL(wi_parted) {
  unsigned x = in[thread_number()];
  float y = fraction(x);
  for (unsigned k = 0; k < q; k++) {
    if (threadIdx.x & 1)
      for (unsigned i = 0; i < p; i++)
        y = y * 0.75f + 0.25f;
    else
      for (unsigned i = 0; i < p; i++)
        x = x * 5 + i;
  }
  out[thread_number()] = x + (unsigned)y;
}

// Lanes leave a loop one after the other, q times: n of them at a time.
KERNEL(wi_leaving) {
  unsigned x = in[thread_number()];
  for (unsigned k = 0; k < q; k++)
    for (unsigned i = 0; i <= threadIdx.x % 32 / n; i++)
      x = mix(x + i);
  out[thread_number()] = x;
}

// Loads whose place each is known only from the one before, q at a time, p rounds; n words.
KERNEL(wi_bursts) {
  unsigned at = thread_number(), sum = 0;
  for (unsigned k = 0; k < p; k++) {
#pragma unroll 8
    for (unsigned i = 0; i < 8; i++)
      if (i < q)
        sum += in[(at + i * 4099) & (n - 1)];
    at = sum & (n - 1);
  }
  out[thread_number()] = sum;
}
