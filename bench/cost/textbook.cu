/* Kernels that use shared memory as textbooks do; bench/rewrite_cost.py compiles and measures them.
 */

/* Matrix multiplication by square tiles. */
template <int SIDE> __global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float left[SIDE][SIDE], right[SIDE][SIDE];
  int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += SIDE) {
    left[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < SIDE; k++)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
template __global__ void multiply<16>(const float *, const float *, float *, int);
template __global__ void multiply<32>(const float *, const float *, float *, int);

/* The same with 4 x 4 results in a thread. */
__global__ void multiply_blocked(const float *a, const float *b, float *c, int n) {
  __shared__ float left[16][64], right[16][64];
  float sum[4][4] = {};
  int thread = threadIdx.x, x = thread % 16, y = thread / 16;
  for (int t = 0; t < n; t += 16) {
    for (int i = 0; i < 4; i++) {
      int e = thread + i * 256;
      left[e % 16][e / 16] = a[(blockIdx.y * 64 + e / 16) * n + t + e % 16];
      right[e / 64][e % 64] = b[(t + e / 64) * n + blockIdx.x * 64 + e % 64];
    }
    __syncthreads();
    for (int k = 0; k < 16; k++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sum[i][j] += left[k][y * 4 + i] * right[k][x * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      c[(blockIdx.y * 64 + y * 4 + i) * n + blockIdx.x * 64 + x * 4 + j] = sum[i][j];
}

template <class T> __global__ void transpose(const T *in, T *out, int width, int height) {
  __shared__ T tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
template __global__ void transpose<float>(const float *, float *, int, int);
template __global__ void transpose<double>(const double *, double *, int, int);

/* Reductions: interleaved, sequential, unrolled. */
__global__ void reduce_interleaved(const int *in, int *out) {
  extern __shared__ int data[];
  unsigned thread = threadIdx.x;
  data[thread] = in[blockIdx.x * blockDim.x + thread];
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    unsigned index = 2 * s * thread;
    if (index < blockDim.x)
      data[index] += data[index + s];
    __syncthreads();
  }
  if (thread == 0)
    out[blockIdx.x] = data[0];
}

__global__ void reduce_sequential(const int *in, int *out) {
  extern __shared__ int data[];
  unsigned thread = threadIdx.x;
  data[thread] = in[blockIdx.x * blockDim.x + thread];
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (thread < s)
      data[thread] += data[thread + s];
    __syncthreads();
  }
  if (thread == 0)
    out[blockIdx.x] = data[0];
}

template <int SIZE> __global__ void reduce_unrolled(const float *in, float *out, unsigned n) {
  __shared__ float data[SIZE];
  unsigned thread = threadIdx.x;
  float sum = 0;
  for (unsigned i = blockIdx.x * SIZE + thread; i < n; i += SIZE * gridDim.x)
    sum += in[i];
  data[thread] = sum;
  __syncthreads();
  if (SIZE >= 512) {
    if (thread < 256)
      data[thread] = sum = sum + data[thread + 256];
    __syncthreads();
  }
  if (SIZE >= 256) {
    if (thread < 128)
      data[thread] = sum = sum + data[thread + 128];
    __syncthreads();
  }
  if (thread < 64)
    data[thread] = sum = sum + data[thread + 64];
  __syncthreads();
  if (thread < 32) {
    volatile float *v = data;
    v[thread] = sum = sum + v[thread + 32];
    v[thread] = sum = sum + v[thread + 16];
    v[thread] = sum = sum + v[thread + 8];
    v[thread] = sum = sum + v[thread + 4];
    v[thread] = sum = sum + v[thread + 2];
    v[thread] = sum = sum + v[thread + 1];
  }
  if (thread == 0)
    out[blockIdx.x] = data[0];
}
template __global__ void reduce_unrolled<256>(const float *, float *, unsigned);
template __global__ void reduce_unrolled<512>(const float *, float *, unsigned);

/* Scan of Blelloch. */
__global__ void scan_work_efficient(float *out, const float *in, int n) {
  extern __shared__ float scan_data[];
  int thread = threadIdx.x, offset = 1;
  scan_data[2 * thread] = in[2 * thread];
  scan_data[2 * thread + 1] = in[2 * thread + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thread < d) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      scan_data[b] += scan_data[a];
    }
    offset *= 2;
  }
  if (thread == 0)
    scan_data[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thread < d) {
      int a = offset * (2 * thread + 1) - 1, b = offset * (2 * thread + 2) - 1;
      float t = scan_data[a];
      scan_data[a] = scan_data[b];
      scan_data[b] += t;
    }
  }
  __syncthreads();
  out[2 * thread] = scan_data[2 * thread];
  out[2 * thread + 1] = scan_data[2 * thread + 1];
}

/* Scan of Hillis and Steele, in two buffers. */
__global__ void scan_naive(float *out, const float *in, int n) {
  __shared__ float data[2][512];
  int thread = threadIdx.x, to = 0, from = 1;
  data[to][thread] = thread > 0 ? in[thread - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    to = 1 - to;
    from = 1 - to;
    data[to][thread] = data[from][thread];
    if (thread >= offset)
      data[to][thread] += data[from][thread - offset];
    __syncthreads();
  }
  out[thread] = data[to][thread];
}

__global__ void bitonic_sort(unsigned *keys, unsigned *values, unsigned direction) {
  __shared__ unsigned key[1024], value[1024];
  unsigned thread = threadIdx.x;
  keys += blockIdx.x * 1024 + thread;
  values += blockIdx.x * 1024 + thread;
  key[thread] = keys[0];
  value[thread] = values[0];
  key[thread + 512] = keys[512];
  value[thread + 512] = values[512];
  for (unsigned size = 2; size <= 1024; size <<= 1)
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned ascending = direction ^ ((thread & (size / 2)) != 0);
      unsigned position = 2 * thread - (thread & (stride - 1));
      if ((key[position] > key[position + stride]) == ascending) {
        unsigned k = key[position], v = value[position];
        key[position] = key[position + stride];
        key[position + stride] = k;
        value[position] = value[position + stride];
        value[position + stride] = v;
      }
    }
  __syncthreads();
  keys[0] = key[thread];
  values[0] = value[thread];
  keys[512] = key[thread + 512];
  values[512] = value[thread + 512];
}

__global__ void histogram_shared(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&out[i], bins[i]);
}

/* A histogram of bytes for each thread. */
__global__ void histogram_bytes(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned char bins[64 * 64];
  int thread = threadIdx.x;
  for (int i = 0; i < 16; i++)
    ((unsigned *)bins)[thread + i * 64] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + thread; i < n; i += 64 * gridDim.x) {
    unsigned word = in[i];
    bins[thread + (word >> 2 & 63) * 64]++;
    bins[thread + (word >> 10 & 63) * 64]++;
    bins[thread + (word >> 18 & 63) * 64]++;
    bins[thread + (word >> 26 & 63) * 64]++;
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < 64; i++)
    sum += bins[thread * 64 + (i + thread) % 64];
  out[blockIdx.x * 64 + thread] = sum;
}

/* Separable convolution: rows and columns with halos. */
__constant__ float taps[17];
__global__ void convolve_rows(float *out, const float *in, int width) {
  __shared__ float data[4][16 * 10];
  int x = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  in += y * width + x;
  out += y * width + x;
#pragma unroll
  for (int i = 0; i < 10; i++)
    data[threadIdx.y][threadIdx.x + i * 16] = in[i * 16];
  __syncthreads();
#pragma unroll
  for (int i = 1; i < 9; i++) {
    float sum = 0;
#pragma unroll
    for (int j = -8; j <= 8; j++)
      sum += taps[8 - j] * data[threadIdx.y][threadIdx.x + i * 16 + j];
    out[i * 16] = sum;
  }
}

__global__ void convolve_columns(float *out, const float *in, int width) {
  __shared__ float data[16][10 * 8 + 1];
  int x = blockIdx.x * 16 + threadIdx.x, y = (blockIdx.y * 8 - 1) * 8 + threadIdx.y;
  in += y * width + x;
  out += y * width + x;
#pragma unroll
  for (int i = 0; i < 10; i++)
    data[threadIdx.x][threadIdx.y + i * 8] = in[i * 8 * width];
  __syncthreads();
#pragma unroll
  for (int i = 1; i < 9; i++) {
    float sum = 0;
#pragma unroll
    for (int j = -8; j <= 8; j++)
      sum += taps[8 - j] * data[threadIdx.x][threadIdx.y + i * 8 + j];
    out[i * 8 * width] = sum;
  }
}

/* A two-dimensional convolution with a halo of 2. */
__global__ void convolve_square(const float *in, float *out, int width, int height) {
  __shared__ float tile[20][20];
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 400; i += 256) {
    int y = blockIdx.y * 16 + i / 20 - 2, x = blockIdx.x * 16 + i % 20 - 2;
    tile[i / 20][i % 20] = x >= 0 && y >= 0 && x < width && y < height ? in[y * width + x] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++)
      sum += taps[(i * 5 + j) % 17] * tile[threadIdx.y + i][threadIdx.x + j];
  out[(blockIdx.y * 16 + threadIdx.y) * width + blockIdx.x * 16 + threadIdx.x] = sum;
}

/* A Fourier transform of 512 points with radix 8 and exchanges in shared memory. */
__device__ void butterfly(float2 v[8]) {
#pragma unroll
  for (int step = 4; step > 0; step /= 2)
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (!(i & step)) {
        float2 a = v[i], b = v[i + step];
        v[i] = make_float2(a.x + b.x, a.y + b.y);
        v[i + step] = make_float2(a.x - b.x, a.y - b.y);
      }
}
__global__ void fourier_512(float2 *data) {
  __shared__ float buffer[8 * 8 * 9];
  float2 v[8];
  int thread = threadIdx.x, high = thread >> 3, low = thread & 7;
  data += blockIdx.x * 512 + thread;
  for (int i = 0; i < 8; i++)
    v[i] = data[i * 64];
  butterfly(v);
  for (int i = 0; i < 8; i++)
    buffer[i * 66 + thread] = v[i].x;
  __syncthreads();
  for (int i = 0; i < 8; i++)
    v[i].x = buffer[high * 66 + low + i * 8];
  __syncthreads();
  for (int i = 0; i < 8; i++)
    buffer[i * 66 + thread] = v[i].y;
  __syncthreads();
  for (int i = 0; i < 8; i++)
    v[i].y = buffer[high * 66 + low + i * 8];
  butterfly(v);
  __syncthreads();
  for (int i = 0; i < 8; i++)
    buffer[high * 72 + low * 9 + i] = v[i].x;
  __syncthreads();
  for (int i = 0; i < 8; i++)
    v[i].x = buffer[i * 72 + low * 9 + high];
  for (int i = 0; i < 8; i++)
    data[i * 64] = v[i];
}

/* A Fourier transform of Stockham in shared memory, radix 2. */
__global__ void fourier_stockham(float2 *data, int n) {
  extern __shared__ float2 points[];
  int thread = threadIdx.x;
  points[thread] = data[thread];
  points[thread + n / 2] = data[thread + n / 2];
  __syncthreads();
  for (int s = 1; s < n; s *= 2) {
    float2 a = points[thread], b = points[thread + n / 2];
    float angle = -3.14159265f * (thread & (s - 1)) / s, c = __cosf(angle), d = __sinf(angle);
    float2 t = make_float2(b.x * c - b.y * d, b.x * d + b.y * c);
    __syncthreads();
    int to = ((thread / s) * 2 * s) + (thread & (s - 1));
    points[to] = make_float2(a.x + t.x, a.y + t.y);
    points[to + s] = make_float2(a.x - t.x, a.y - t.y);
    __syncthreads();
  }
  data[thread] = points[thread];
  data[thread + n / 2] = points[thread + n / 2];
}

/* Heat in two dimensions, and a stencil of 7 points that walks along z. */
__global__ void heat(const float *in, float *out, int n, float k) {
  __shared__ float t[18][18];
  int x = threadIdx.x + 1, y = threadIdx.y + 1;
  int at = (blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x;
  t[y][x] = in[at];
  if (threadIdx.x == 0)
    t[y][0] = in[at - 1];
  if (threadIdx.x == 15)
    t[y][17] = in[at + 1];
  if (threadIdx.y == 0)
    t[0][x] = in[at - n];
  if (threadIdx.y == 15)
    t[17][x] = in[at + n];
  __syncthreads();
  out[at] = t[y][x] + k * (t[y - 1][x] + t[y + 1][x] + t[y][x - 1] + t[y][x + 1] - 4 * t[y][x]);
}

__global__ void stencil_3d(const float *in, float *out, int nx, int ny, int nz) {
  __shared__ float t[10][34];
  int x = threadIdx.x + 1, y = threadIdx.y + 1, plane = nx * ny;
  int at = plane + (blockIdx.y * 8 + y) * nx + blockIdx.x * 32 + x;
  float behind = in[at - plane], here = in[at], ahead = in[at + plane];
  for (int z = 1; z < nz - 1; z++, at += plane) {
    t[y][x] = here;
    if (threadIdx.x == 0)
      t[y][0] = in[at - 1];
    if (threadIdx.x == 31)
      t[y][33] = in[at + 1];
    if (threadIdx.y == 0)
      t[0][x] = in[at - nx];
    if (threadIdx.y == 7)
      t[9][x] = in[at + nx];
    __syncthreads();
    out[at] = behind + ahead + t[y - 1][x] + t[y + 1][x] + t[y][x - 1] + t[y][x + 1] - 6 * here;
    behind = here;
    here = ahead;
    ahead = in[at + 2 * plane];
    __syncthreads();
  }
}

/* LU decomposition of a tile. */
__global__ void lu_tile(float *m, int n) {
  __shared__ float s[32][32];
  int thread = threadIdx.x;
  for (int i = 0; i < 32; i++)
    s[i][thread] = m[i * n + thread];
  __syncthreads();
  for (int i = 0; i < 31; i++) {
    if (thread > i) {
      for (int j = 0; j < i; j++)
        s[thread][i] -= s[thread][j] * s[j][i];
      s[thread][i] /= s[i][i];
    }
    __syncthreads();
    if (thread > i)
      for (int j = 0; j < i + 1; j++)
        s[i + 1][thread] -= s[i + 1][j] * s[j][thread];
    __syncthreads();
  }
  for (int i = 1; i < 32; i++)
    m[i * n + thread] = s[i][thread];
}

/* Sequence alignment along anti-diagonals of a tile. */
__global__ void align_sequences(int *scores, const int *reference, int columns, int penalty) {
  __shared__ int temp[17][17], ref[16][16];
  int t = threadIdx.x, at = blockIdx.x * 16 * columns + t;
  for (int i = 0; i < 16; i++)
    ref[i][t] = reference[at + columns * i];
  temp[t + 1][0] = scores[at + columns * t];
  temp[0][t + 1] = scores[at];
  if (t == 0)
    temp[0][0] = scores[at - 1];
  __syncthreads();
  for (int m = 0; m < 16; m++) {
    if (t <= m) {
      int x = t + 1, y = m - t + 1;
      temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1],
                       max(temp[y][x - 1] - penalty, temp[y - 1][x] - penalty));
    }
    __syncthreads();
  }
  for (int m = 14; m >= 0; m--) {
    if (t <= m) {
      int x = t + 16 - m, y = 16 - t;
      temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1],
                       max(temp[y][x - 1] - penalty, temp[y - 1][x] - penalty));
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; i++)
    scores[at + columns * i] = temp[i + 1][t + 1];
}

/* Tridiagonal systems by cyclic reduction. */
__global__ void cyclic_reduction(const float *ga, const float *gb, const float *gc, const float *gd,
                                 float *gx) {
  __shared__ float a[512], b[512], c[512], d[512], x[512];
  int thread = threadIdx.x, n = 512, stride = 1;
  for (int i = thread; i < n; i += 256)
    a[i] = ga[i], b[i] = gb[i], c[i] = gc[i], d[i] = gd[i];
  for (int threads = 256; threads > 1; threads /= 2) {
    __syncthreads();
    stride *= 2;
    int delta = stride / 2;
    if (thread < threads) {
      int i = stride * thread + stride - 1, left = i - delta, right = min(i + delta, n - 1);
      float k1 = a[i] / b[left], k2 = c[i] / b[right];
      b[i] -= c[left] * k1 + a[right] * k2;
      d[i] -= d[left] * k1 + d[right] * k2;
      a[i] = -a[left] * k1;
      c[i] = -c[right] * k2;
    }
  }
  if (thread < 2) {
    int i = stride - 1, j = 2 * stride - 1;
    float t = b[j] * b[i] - c[i] * a[j];
    x[i] = (b[j] * d[i] - c[i] * d[j]) / t;
    x[j] = (d[j] * b[i] - d[i] * a[j]) / t;
  }
  for (int threads = 2; threads < n; threads *= 2) {
    int delta = stride / 2;
    __syncthreads();
    if (thread < threads) {
      int i = stride * thread + stride / 2 - 1;
      x[i] = i == delta - 1 ? (d[i] - c[i] * x[i + delta]) / b[i]
                            : (d[i] - a[i] * x[i - delta] - c[i] * x[i + delta]) / b[i];
    }
    stride /= 2;
  }
  __syncthreads();
  gx[thread] = x[thread];
  gx[thread + 256] = x[thread + 256];
}

/* Forces between bodies, a tile of positions at a time. */
__global__ void bodies(const float4 *positions, float4 *forces, int n) {
  __shared__ float4 near[256];
  float4 own = positions[blockIdx.x * 256 + threadIdx.x], force = {};
  for (int tile = 0; tile < n; tile += 256) {
    near[threadIdx.x] = positions[tile + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (int i = 0; i < 256; i++) {
      float dx = near[i].x - own.x, dy = near[i].y - own.y, dz = near[i].z - own.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f), s = near[i].w * r * r * r;
      force.x += dx * s, force.y += dy * s, force.z += dz * s;
    }
    __syncthreads();
  }
  forces[blockIdx.x * 256 + threadIdx.x] = force;
}

/* The shortest way through a grid, some rows at a time. */
__global__ void shortest_path(const int *wall, const int *from, int *to, int columns, int rows) {
  __shared__ int previous[256], result[256];
  int t = threadIdx.x, x = blockIdx.x * (256 - 2 * rows) - rows + t;
  previous[t] = x >= 0 && x < columns ? from[x] : 1 << 30;
  __syncthreads();
  for (int i = 0; i < rows; i++) {
    bool inside = t > i && t < 255 - i;
    if (inside) {
      int least = min(previous[t], min(previous[t - 1], previous[t + 1]));
      result[t] = least + wall[i * columns + x];
    }
    __syncthreads();
    if (inside)
      previous[t] = result[t];
    __syncthreads();
  }
  to[x] = result[t];
}

/* Cosine transform of 8 x 8 blocks, a column and a row in a thread. */
__device__ void cosine(float *v, int step) {
  float a = v[0] + v[7 * step], b = v[step] + v[6 * step], c = v[2 * step] + v[5 * step];
  float d = v[3 * step] + v[4 * step], e = v[0] - v[7 * step], f = v[step] - v[6 * step];
  float g = v[2 * step] - v[5 * step], h = v[3 * step] - v[4 * step];
  v[0] = a + b + c + d;
  v[4 * step] = a - b - c + d;
  v[2 * step] = a + .5f * b - .5f * c - d;
  v[6 * step] = .5f * a - b + c - .5f * d;
  v[step] = e + f + g + h;
  v[3 * step] = e - .3f * f - g - .9f * h;
  v[5 * step] = .9f * e - f + .3f * g + h;
  v[7 * step] = .3f * e - .9f * f + g - h;
}
__global__ void cosine_8x8(float *image, int width) {
  __shared__ float block[16 * 32];
  int column = threadIdx.y * 8 + threadIdx.x, row = threadIdx.z * 8;
  image += (blockIdx.y * 16 + row) * width + blockIdx.x * 32 + column;
  for (int i = 0; i < 8; i++)
    block[(row + i) * 32 + column] = image[i * width];
  cosine(block + row * 32 + column, 32);
  cosine(block + (row + threadIdx.x) * 32 + threadIdx.y * 8, 1);
  for (int i = 0; i < 8; i++)
    image[i * width] = block[(row + i) * 32 + column];
}

/* Walsh transform of 2048 points. */
__global__ void walsh(float *data) {
  __shared__ float s[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x)
    s[i] = data[blockIdx.x * 2048 + i];
  int thread = threadIdx.x;
  for (int stride = 512; stride > 0; stride >>= 2) {
    int low = thread & (stride - 1), a = ((thread - low) << 2) + low;
    int b = a + stride, c = b + stride, d = c + stride;
    __syncthreads();
    float p = s[a], q = s[b], r = s[c], t = s[d];
    s[a] = p + q + r + t;
    s[b] = p - q + r - t;
    s[c] = p + q - r - t;
    s[d] = p - q - r + t;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 2048; i += blockDim.x)
    data[blockIdx.x * 2048 + i] = s[i];
}

/* Rows of a matrix made to have sum 1, one block for a row. */
__global__ void softmax_row(const float *in, float *out, int n) {
  __shared__ float row[4096], part[32];
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    most = fmaxf(most, row[i] = in[blockIdx.x * n + i]);
  for (int o = 16; o; o /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; i++)
    most = fmaxf(most, part[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += row[i] = __expf(row[i] - most);
  for (int o = 16; o; o /= 2)
    sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < blockDim.x / 32; i++)
    sum += part[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[blockIdx.x * n + i] = row[i] / sum;
}

/* Attention of one head: keys and values by tiles. */
__global__ void attention(const float *q, const float *k, const float *v, float *o, int n) {
  __shared__ float keys[32][64], values[32][64], weights[32][32];
  float own[64], sum[64] = {}, total = 0;
  int t = threadIdx.x;
  for (int i = 0; i < 64; i++)
    own[i] = q[(blockIdx.x * 32 + t) * 64 + i];
  for (int tile = 0; tile < n; tile += 32) {
    for (int i = 0; i < 64; i++) {
      keys[t][i] = k[(tile + t) * 64 + i];
      values[t][i] = v[(tile + t) * 64 + i];
    }
    __syncthreads();
    for (int j = 0; j < 32; j++) {
      float s = 0;
      for (int i = 0; i < 64; i++)
        s += own[i] * keys[j][i];
      weights[t][j] = __expf(s);
    }
    __syncthreads();
    for (int j = 0; j < 32; j++) {
      total += weights[t][j];
      for (int i = 0; i < 64; i++)
        sum[i] += weights[t][j] * values[j][i];
    }
    __syncthreads();
  }
  for (int i = 0; i < 64; i++)
    o[(blockIdx.x * 32 + t) * 64 + i] = sum[i] / total;
}

/* Breadth-first search with a queue in shared memory. */
__global__ void breadth_first(const int *first, const int *next, int *level, int *queue, int *tail,
                              const int *frontier, int count, int depth) {
  __shared__ int local[512], size, start;
  if (threadIdx.x == 0)
    size = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    int node = frontier[i];
    for (int e = first[node]; e < first[node + 1]; e++)
      if (atomicCAS(&level[next[e]], -1, depth) == -1) {
        int at = atomicAdd(&size, 1);
        if (at < 512)
          local[at] = next[e];
        else
          queue[atomicAdd(tail, 1)] = next[e];
      }
  }
  __syncthreads();
  if (threadIdx.x == 0)
    start = atomicAdd(tail, min(size, 512));
  __syncthreads();
  for (int j = threadIdx.x; j < min(size, 512); j += blockDim.x)
    queue[start + j] = local[j];
}

/* Products of a sparse matrix and a vector, a warp for a row. */
__global__ void sparse_product(const int *first, const int *column, const float *value,
                               const float *x, float *y, int rows) {
  __shared__ volatile float part[256 + 16];
  int t = threadIdx.x, lane = t & 31, row = (blockIdx.x * 256 + t) / 32;
  if (row >= rows)
    return;
  float sum = 0;
  for (int i = first[row] + lane; i < first[row + 1]; i += 32)
    sum += value[i] * x[column[i]];
  part[t] = sum;
  part[t] = sum = sum + part[t + 16];
  part[t] = sum = sum + part[t + 8];
  part[t] = sum = sum + part[t + 4];
  part[t] = sum = sum + part[t + 2];
  part[t] = sum = sum + part[t + 1];
  if (lane == 0)
    y[row] = part[t];
}
