// Kernels of kinds whose hashes were measured on an H200: which gain by one, and which lose.

// Exclusive scan as a balanced tree over 2 words for each thread: strides of 2, 4, 8, ... words.
extern "C" __global__ void __launch_bounds__(256) tree_scan(float *out, const float *in) {
  __shared__ float words[512];
  const float *from = in + blockIdx.x * 512;
  int offset = 1, thread = threadIdx.x;
  words[2 * thread] = from[2 * thread];
  words[2 * thread + 1] = from[2 * thread + 1];
  for (int left = 256; left > 0; left >>= 1) {
    __syncthreads();
    if (thread < left) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      words[b] += words[a];
    }
    offset *= 2;
  }
  if (thread == 0)
    words[511] = 0;
  for (int left = 1; left < 512; left *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thread < left) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      float kept = words[a];
      words[a] = words[b];
      words[b] += kept;
    }
  }
  __syncthreads();
  out[blockIdx.x * 512 + 2 * thread] = words[2 * thread];
  out[blockIdx.x * 512 + 2 * thread + 1] = words[2 * thread + 1];
}

// A system of 128 linear equations with three diagonals, solved by cyclic reduction: the same
// strides, in five arrays, with divisions, and most steps by one of two warps.
extern "C" __global__ void __launch_bounds__(64)
    cyclic_reduction(const float *below, const float *middle, const float *above, const float *right,
                     float *out) {
  __shared__ float a[128], b[128], c[128], d[128], x[128];
  int thread = threadIdx.x, first = blockIdx.x * 128, stride = 1, threads = 64;
  for (int i = thread; i < 128; i += 64) {
    a[i] = below[first + i];
    b[i] = middle[first + i];
    c[i] = above[first + i];
    d[i] = right[first + i];
  }
  __syncthreads();
  for (int step = 0; step < 6; step++) {
    __syncthreads();
    stride *= 2;
    int half = stride / 2;
    if (thread < threads) {
      int i = stride * thread + stride - 1, low = i - half, high = i + half;
      high = high >= 128 ? 127 : high;
      float k1 = a[i] / b[low], k2 = c[i] / b[high];
      b[i] = b[i] - c[low] * k1 - a[high] * k2;
      d[i] = d[i] - d[low] * k1 - d[high] * k2;
      a[i] = -a[low] * k1;
      c[i] = -c[high] * k2;
    }
    threads /= 2;
  }
  if (thread < 2) {
    float k = b[63] * b[127] - c[63] * a[127];
    x[thread ? 127 : 63] =
        thread ? (b[63] * d[127] - d[63] * a[127]) / k : (b[127] * d[63] - c[63] * d[127]) / k;
  }
  threads = 2;
  for (int step = 0; step < 6; step++) {
    int half = stride / 2;
    __syncthreads();
    if (thread < threads) {
      int i = stride * thread + half - 1;
      x[i] = i == half - 1 ? (d[i] - c[i] * x[i + half]) / b[i]
                           : (d[i] - a[i] * x[i - half] - c[i] * x[i + half]) / b[i];
    }
    stride /= 2;
    threads *= 2;
  }
  __syncthreads();
  out[first + thread] = x[thread];
  out[first + thread + 64] = x[thread + 64];
}

// Bins of a byte for each thread, in columns: what data choose is the row, so that no two lanes
// meet in a bank unless a hash mixes rows into it.
extern "C" __global__ void __launch_bounds__(64) byte_histogram(unsigned *out, const unsigned *in,
                                                               unsigned count) {
  __shared__ unsigned char bins[64 * 64];
  int place = (threadIdx.x & ~63) | (threadIdx.x & 15) << 2 | (threadIdx.x & 48) >> 4;
  for (int i = 0; i < 16; i++)
    ((unsigned *)bins)[threadIdx.x + i * 64] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * 64 + threadIdx.x; i < count; i += 64 * gridDim.x) {
    unsigned word = in[i];
    bins[place + (word >> 2 & 63) * 64]++;
    bins[place + (word >> 10 & 63) * 64]++;
    bins[place + (word >> 18 & 63) * 64]++;
    bins[place + (word >> 26 & 63) * 64]++;
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < 64; i++)
    sum += bins[threadIdx.x * 64 + ((i + threadIdx.x) & 63)];
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// A convolution along columns, 16x8 threads with 8 results each: rows of 16 words side by side.
extern "C" __global__ void __launch_bounds__(128) columns(float *out, const float *in, int width) {
  __shared__ float tile[16][80 + 1];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 64 + threadIdx.y;
  for (int i = 0; i < 10; i++)
    tile[threadIdx.x][threadIdx.y + i * 8] = in[(y + i * 8) * width + x];
  __syncthreads();
  for (int i = 1; i < 9; i++) {
    float sum = 0;
    for (int k = -8; k <= 8; k++)
      sum += (k + 9) * tile[threadIdx.x][threadIdx.y + i * 8 + k];
    out[(y + i * 8) * width + x] = sum;
  }
}

// A product of matrices by tiles of 32x32: rows and words for all, no conflicts.
extern "C" __global__ void __launch_bounds__(1024) multiply(float *out, const float *a,
                                                           const float *b, int n) {
  __shared__ float left[32][32], right[32][32];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 32; i++)
      sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

// A convolution along rows, 16x4 threads with 8 results each, in rows of 160 words: two rows of a
// warp are in the same banks.
extern "C" __global__ void __launch_bounds__(64) rows(float *out, const float *in, int width) {
  __shared__ float tile[4][160];
  int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  for (int i = 0; i < 10; i++)
    tile[threadIdx.y][threadIdx.x + i * 16] = in[y * width + x + i * 16];
  __syncthreads();
  for (int i = 1; i < 9; i++) {
    float sum = 0;
    for (int k = -8; k <= 8; k++)
      sum += (k + 9) * tile[threadIdx.y][threadIdx.x + i * 16 + k];
    out[y * width + x + i * 16] = sum;
  }
}

// The butterflies of a sort in shared memory, by 128 threads with 8 words each: strides up to 512.
extern "C" __global__ void __launch_bounds__(128) exchange_sort(float *data) {
  __shared__ float words[1024];
  float own[8];
  float *from = data + blockIdx.x * 1024;
  for (int i = 0; i < 8; i++)
    own[i] = from[threadIdx.x * 8 + i];
  for (int step = 0; step < 10; step++) {
    for (int i = 0; i < 8; i++)
      words[threadIdx.x * 8 + i] = own[i];
    __syncthreads();
    for (int i = 0; i < 8; i++) {
      float other = words[(threadIdx.x * 8 + i) ^ (1 << step)];
      own[i] = (threadIdx.x * 8 + i) >> step & 1 ? fmaxf(own[i], other) : fminf(own[i], other);
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    from[threadIdx.x * 8 + i] = own[i];
}
