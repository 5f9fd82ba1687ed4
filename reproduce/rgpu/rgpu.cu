// The nine benchmarks of braak15, Table 7.1, as kernels for an ordinary GPU, each with what
// helps it on a Fermi: values kept in registers, loads before their use, tiles in shared memory.

// Loads that stay in the order in which they are written, all before what uses them: a simulator
// that follows the PTX then has many of them on their way at once.
__device__ float load(const float *from) {
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

__device__ int load(const int *from) {
  int value;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

// ---- CONV: 3 x 3 weights, out[y][x] from columns x - 2 .. x of rows y .. y + 2 ----

enum { CONV_ROWS = 16, CONV_AHEAD = 6 };

// A thread makes CONV_ROWS pixels of a column. It loads the three columns of CONV_AHEAD rows at
// once, and keeps the sums of the rows.
extern "C" __global__ void conv(const float *in, float *out, unsigned width, unsigned height) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned first = blockIdx.y * CONV_ROWS;
  if (x < 2)
    return;
  const float *from = in + (size_t)first * width + x;
  float *to = out + (size_t)first * width + x, outer[2] = {0, 0}, inner = 0;
#pragma unroll
  for (int group = 0; group < CONV_ROWS + 2; group += CONV_AHEAD) {
    float value[CONV_AHEAD][3];
#pragma unroll
    for (int i = 0; i < CONV_AHEAD; i++)
#pragma unroll
      for (int column = 0; column < 3; column++)
        value[i][column] = load(from + (size_t)(group + i) * width - column);
#pragma unroll
    for (int i = 0; i < CONV_AHEAD; i++) {
      float sides = value[i][0] + value[i][2];
      float row_outer = 0.0625f * sides + 0.125f * value[i][1];
      float row_inner = 0.125f * sides + 0.25f * value[i][1];
      int row = group + i - 2;
      if (row >= 0 && first + row < height)
        to[(size_t)row * width] = outer[0] + inner + row_outer;
      outer[0] = outer[1];
      outer[1] = row_outer;
      inner = row_inner;
    }
  }
}

// ---- HIST: 256 bins, copies of them in shared memory, one word apart from each other's banks ----

enum { COPIES = 32 };

extern "C" __global__ void hist(const uchar4 *pixels, unsigned quads, unsigned *result) {
  __shared__ unsigned counts[COPIES * 257];
  for (unsigned i = threadIdx.x; i < COPIES * 257; i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
  unsigned *own = counts + threadIdx.x % COPIES * 257;
  unsigned step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += step) {
    uchar4 four = pixels[i];
    atomicAdd(&own[four.x], 1);
    atomicAdd(&own[four.y], 1);
    atomicAdd(&own[four.z], 1);
    atomicAdd(&own[four.w], 1);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned copy = 0; copy < COPIES; copy++)
      sum += counts[copy * 257 + bin];
    atomicAdd(&result[bin], sum);
  }
}

// ---- INTEGR: sums along rows, then along columns ----

enum { ROW_THREADS = 256, COLUMN_WARPS = 16, COLUMN_ROWS = 8 };

// The sum of value over lower threads of the block, by doubling steps; *all is that of all.
__device__ unsigned sum_before(unsigned value, unsigned *shared, unsigned *all) {
  unsigned t = threadIdx.x, sum = value;
  shared[t] = sum;
  __syncthreads();
  for (unsigned step = 1; step < ROW_THREADS; step *= 2) {
    unsigned other = t >= step ? shared[t - step] : 0;
    __syncthreads();
    sum += other;
    shared[t] = sum;
    __syncthreads();
  }
  *all = shared[ROW_THREADS - 1];
  return sum - value;
}

// A block for each row; a thread sums four pixels. width is a multiple of 4.
extern "C" __global__ void integr_rows(const uchar4 *in, int4 *out, unsigned width) {
  __shared__ unsigned shared[ROW_THREADS];
  unsigned before = 0, quads = width / 4;
  for (unsigned from = 0; from < quads; from += ROW_THREADS) {
    unsigned i = from + threadIdx.x, all;
    uchar4 four = i < quads ? in[blockIdx.x * quads + i] : make_uchar4(0, 0, 0, 0);
    int4 sum;
    sum.x = four.x;
    sum.y = sum.x + four.y;
    sum.z = sum.y + four.z;
    sum.w = sum.z + four.w;
    int base = (int)(before + sum_before(sum.w, shared, &all));
    if (i < quads)
      out[blockIdx.x * quads + i] =
          make_int4(sum.x + base, sum.y + base, sum.z + base, sum.w + base);
    before += all;
    __syncthreads();
  }
}

// A block for 32 columns; warp w has rows w * COLUMN_ROWS .. of every turn.
extern "C" __global__ void integr_columns(int *values, unsigned width, unsigned height) {
  __shared__ int total[COLUMN_WARPS][32];
  unsigned lane = threadIdx.x, warp = threadIdx.y, x = blockIdx.x * 32 + lane;
  int before = 0;
  for (unsigned from = 0; from < height; from += COLUMN_WARPS * COLUMN_ROWS) {
    unsigned first = from + warp * COLUMN_ROWS;
    int value[COLUMN_ROWS], sum = 0;
#pragma unroll
    for (int i = 0; i < COLUMN_ROWS; i++)
      value[i] = first + i < height ? values[(size_t)(first + i) * width + x] : 0;
#pragma unroll
    for (int i = 0; i < COLUMN_ROWS; i++)
      value[i] = sum += value[i];
    total[warp][lane] = sum;
    __syncthreads();
    int above = before;
#pragma unroll
    for (unsigned i = 0; i < COLUMN_WARPS; i++) {
      above += i < warp ? total[i][lane] : 0;
      before += total[i][lane];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COLUMN_ROWS; i++)
      if (first + i < height)
        values[(size_t)(first + i) * width + x] = value[i] + above;
  }
}

// ---- MRIQ: a thread for each voxel, samples by way of shared memory ----

enum { MRIQ_THREADS = 256, MRIQ_AHEAD = 4 };

// As __cosf and __sinf, in the order in which they are written.
__device__ float cosine(float angle) {
  float value;
  asm volatile("cos.approx.f32 %0, %1;" : "=f"(value) : "f"(angle));
  return value;
}

__device__ float sine(float angle) {
  float value;
  asm volatile("sin.approx.f32 %0, %1;" : "=f"(value) : "f"(angle));
  return value;
}

// A sample is kx, ky, kz (times 2 pi) and phi. Those of the next turn are loaded during this one;
// count is a multiple of MRIQ_AHEAD.
extern "C" __global__ void mriq(const float4 *samples, const float *x, const float *y,
                                const float *z, float *real, float *imaginary, unsigned count) {
  __shared__ float4 turn[MRIQ_THREADS];
  unsigned t = threadIdx.x, n = blockIdx.x * MRIQ_THREADS + t;
  float own_x = x[n], own_y = y[n], own_z = z[n], sum_real = 0, sum_imaginary = 0;
  float4 next = samples[min(t, count - 1)];
  for (unsigned first = 0; first < count; first += MRIQ_THREADS) {
    __syncthreads();
    turn[t] = next;
    __syncthreads();
    next = samples[min(first + MRIQ_THREADS + t, count - 1)];
    unsigned end = min(count - first, (unsigned)MRIQ_THREADS);
    for (unsigned k = 0; k < end; k += MRIQ_AHEAD) {
      float4 sample[MRIQ_AHEAD];
#pragma unroll
      for (int i = 0; i < MRIQ_AHEAD; i++)
        sample[i] = turn[k + i];
#pragma unroll
      for (int i = 0; i < MRIQ_AHEAD; i++) {
        float angle = sample[i].x * own_x + sample[i].y * own_y + sample[i].z * own_z;
        float real_part = cosine(angle), imaginary_part = sine(angle);
        sum_real += sample[i].w * real_part;
        sum_imaginary += sample[i].w * imaginary_part;
      }
    }
  }
  real[n] = sum_real;
  imaginary[n] = sum_imaginary;
}

// ---- NN: a fully connected layer; a warp for one neuron and five images, lanes along inputs ----

enum { NN_IMAGES = 5, NN_WARPS = 8 };

extern "C" __global__ void nn(const float *weights, const float *inputs, float *sums,
                              unsigned inputs_of_one, unsigned neurons) {
  __shared__ float part[NN_WARPS][NN_IMAGES][33];
  unsigned lane = threadIdx.x, warp = threadIdx.y;
  unsigned neuron = blockIdx.x * NN_WARPS + warp, first_image = blockIdx.y * NN_IMAGES;
  float sum[NN_IMAGES] = {0};
  if (neuron < neurons) {
    const float *weight = weights + (size_t)neuron * inputs_of_one;
    const float *input = inputs + (size_t)first_image * inputs_of_one;
    for (unsigned i = lane; i < inputs_of_one; i += 32) {
      float w = load(weight + i), value[NN_IMAGES];
#pragma unroll
      for (unsigned image = 0; image < NN_IMAGES; image++)
        value[image] = load(input + image * inputs_of_one + i);
#pragma unroll
      for (unsigned image = 0; image < NN_IMAGES; image++)
        sum[image] += w * value[image];
    }
  }
#pragma unroll
  for (unsigned image = 0; image < NN_IMAGES; image++)
    part[warp][image][lane] = sum[image];
  __syncthreads();
  if (lane < NN_IMAGES && neuron < neurons) {
    float all = 0;
    for (unsigned i = 0; i < 32; i++)
      all += part[warp][lane][i];
    sums[(first_image + lane) * neurons + neuron] = all;
  }
}

// ---- NW: tiles along antidiagonals, a warp for a tile of 32 x 32 ----

enum { NW_TILE = 32, NW_AHEAD = 16 };

// Tile (x, y) of (width + 1) x (height + 1) scores; similarity has width columns. `diagonal` is
// x + y, and the first tile of the launch has that x.
extern "C" __global__ void nw(int *scores, const int *similarity, unsigned width, int penalty,
                              unsigned diagonal, unsigned first_x) {
  __shared__ int tile[NW_TILE + 1][NW_TILE + 2];
  __shared__ int pair[NW_TILE][NW_TILE + 1];
  unsigned t = threadIdx.x, pitch = width + 1;
  unsigned tile_x = first_x + blockIdx.x, tile_y = diagonal - tile_x;
  int *corner = scores + (size_t)tile_y * NW_TILE * pitch + tile_x * NW_TILE;
  const int *of_pairs = similarity + (size_t)tile_y * NW_TILE * width + tile_x * NW_TILE;
  int above = load(corner + t + 1), beside = load(corner + (size_t)(t + 1) * pitch);
#pragma unroll
  for (unsigned from = 0; from < NW_TILE; from += NW_AHEAD) {
    int value[NW_AHEAD];
#pragma unroll
    for (unsigned i = 0; i < NW_AHEAD; i++)
      value[i] = load(of_pairs + (size_t)(from + i) * width + t);
#pragma unroll
    for (unsigned i = 0; i < NW_AHEAD; i++)
      pair[from + i][t] = value[i];
  }
  tile[0][t + 1] = above;
  tile[t + 1][0] = beside;
  if (t == 0)
    tile[0][0] = corner[0];
  __syncthreads();
  int west = tile[t + 1][0], northwest = tile[t][0], next = pair[t][0];
  for (unsigned step = 0; step < 2 * NW_TILE - 1; step++) {
    unsigned x = step - t;
    if (x < NW_TILE) {
      int north = tile[t][x + 1], across = northwest + next;
      next = pair[t][x + 1]; // behind the last column, a word that is not used
      west = max(across, max(north, west) - penalty);
      tile[t + 1][x + 1] = west;
      northwest = north;
    }
    __syncwarp(); // the block is one warp
  }
#pragma unroll 8
  for (unsigned row = 0; row < NW_TILE; row++)
    corner[(size_t)(row + 1) * pitch + t + 1] = tile[row + 1][t + 1];
}

// ---- PATH: several rows at once, with a margin that shrinks by one column a row ----

enum { PATH_THREADS = 256 };

extern "C" __global__ void path(const int *wall, const int *from, int *to, unsigned columns,
                                unsigned rows) {
  __shared__ int cost[2][PATH_THREADS + 2];
  int inside = PATH_THREADS - 2 * (int)rows, t = (int)threadIdx.x;
  int x = (int)blockIdx.x * inside + t - (int)rows;
  int near = min(max(x, 0), (int)columns - 1), own = from[near];
  bool is_first = x <= 0, is_last = x >= (int)columns - 1;
  int next = wall[near];
  for (unsigned row = 0; row < rows; row++) {
    int *now = cost[row % 2] + 1, here = next;
    now[t] = own;
    if (row + 1 < rows)
      next = wall[(size_t)(row + 1) * columns + near];
    __syncthreads();
    int left = is_first || t == 0 ? own : now[t - 1];
    int right = is_last || t == PATH_THREADS - 1 ? own : now[t + 1];
    own = min(own, min(left, right)) + here;
  }
  if (t >= (int)rows && t < PATH_THREADS - (int)rows && x < (int)columns)
    to[x] = own;
}

// ---- STENCIL: seven points, a thread for a column of cells along z ----

extern "C" __global__ void stencil3d(const float *in, float *out, unsigned nx, unsigned ny,
                                     unsigned nz, unsigned planes) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned plane = nx * ny, first = blockIdx.z * planes;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
    return;
  const float *cell = in + (size_t)(first + 1) * plane + y * nx + x;
  float below = cell[-(int)plane], own = cell[0];
  float above = cell[plane], west = cell[-1], east = cell[1], north = cell[-(int)nx],
        south = cell[nx];
  float *result = out + (size_t)(first + 1) * plane + y * nx + x;
#pragma unroll 4
  for (unsigned z = 0; z < planes && first + z < nz - 2; z++) {
    float sum = below + above + west + east + north + south;
    cell += plane;
    below = own;
    own = above;
    if (z + 1 < planes && first + z + 1 < nz - 2) {
      above = load(cell + plane);
      west = load(cell - 1);
      east = load(cell + 1);
      north = load(cell - nx);
      south = load(cell + nx);
    }
    *result = sum * 0.125f - below * 0.5f;
    result += plane;
  }
}

// ---- STREAM: squared distances of points to three centres ----

enum { STREAM_CENTRES = 3 };
__constant__ float4 centres[STREAM_CENTRES];

// A thread for each point: several points a thread leave too few threads. Distances to centre c lie
// at distance + c * count.
extern "C" __global__ void stream(const float4 *points, float *distance, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  float4 point = points[i];
#pragma unroll
  for (int c = 0; c < STREAM_CENTRES; c++) {
    float x = point.x - centres[c].x, y = point.y - centres[c].y, z = point.z - centres[c].z,
          w = point.w - centres[c].w;
    distance[(size_t)c * count + i] = x * x + y * y + z * z + w * w;
  }
}
