// The benchmarks of rgpu.cu as plain kernels, as a first version of each has them: one pixel, cell,
// point, voxel or neuron per thread, loads where their values are used, a barrier after every step.
// Names and parameters are those of rgpu.cu, but that MRIQ has its samples in constant memory.

// ---- CONV: a thread for each pixel ----

extern "C" __global__ void conv(const float *in, float *out, unsigned width, unsigned height) {
  const float weight[3] = {0.25f, 0.5f, 0.25f};
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 || y >= height)
    return;
  const float *from = in + (size_t)y * width + x;
  float sum = 0;
  for (int row = 0; row < 3; row++)
    for (int column = 0; column < 3; column++)
      sum += weight[row] * weight[column] * from[(size_t)row * width - column];
  out[(size_t)y * width + x] = sum;
}

// ---- HIST: one set of 256 bins for a block, a pixel at a time ----

extern "C" __global__ void hist(const unsigned char *pixels, unsigned count, unsigned *result) {
  __shared__ unsigned counts[256];
  for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x)
    counts[bin] = 0;
  __syncthreads();
  unsigned step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    atomicAdd(&counts[pixels[i]], 1);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x)
    atomicAdd(&result[bin], counts[bin]);
}

// ---- INTEGR: a scan of every row, then a thread for each column ----

enum { ROW_THREADS = 256 };

// A block for each row, ROW_THREADS pixels at a time, summed by doubling steps.
extern "C" __global__ void integr_rows(const unsigned char *in, int *out, unsigned width) {
  __shared__ int sums[ROW_THREADS];
  int before = 0, t = (int)threadIdx.x;
  for (unsigned from = 0; from < width; from += ROW_THREADS) {
    unsigned x = from + t;
    sums[t] = x < width ? in[(size_t)blockIdx.x * width + x] : 0;
    __syncthreads();
    for (int step = 1; step < ROW_THREADS; step *= 2) {
      int other = t >= step ? sums[t - step] : 0;
      __syncthreads();
      sums[t] += other;
      __syncthreads();
    }
    if (x < width)
      out[(size_t)blockIdx.x * width + x] = before + sums[t];
    before += sums[ROW_THREADS - 1];
    __syncthreads();
  }
}

extern "C" __global__ void integr_columns(int *values, unsigned width, unsigned height) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (unsigned y = 0; y < height; y++) {
    sum += values[(size_t)y * width + x];
    values[(size_t)y * width + x] = sum;
  }
}

// ---- MRIQ: a thread for each voxel, samples in constant memory ----

enum { MOST_SAMPLES = 2048 };
__constant__ float4 samples[MOST_SAMPLES]; // kx, ky, kz (times 2 pi), phi

extern "C" __global__ void mriq(const float *x, const float *y, const float *z, float *real,
                                float *imaginary, unsigned count) {
  unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  float own_x = x[n], own_y = y[n], own_z = z[n], sum_real = 0, sum_imaginary = 0;
  for (unsigned k = 0; k < count; k++) {
    float angle = samples[k].x * own_x + samples[k].y * own_y + samples[k].z * own_z;
    sum_real += samples[k].w * __cosf(angle);
    sum_imaginary += samples[k].w * __sinf(angle);
  }
  real[n] = sum_real;
  imaginary[n] = sum_imaginary;
}

// ---- NN: a thread for each neuron, a block for each image ----

extern "C" __global__ void nn(const float *weights, const float *inputs, float *sums,
                              unsigned inputs_of_one, unsigned neurons) {
  unsigned neuron = blockIdx.x * blockDim.x + threadIdx.x, image = blockIdx.y;
  if (neuron >= neurons)
    return;
  float sum = 0;
  for (unsigned i = 0; i < inputs_of_one; i++)
    sum += weights[(size_t)neuron * inputs_of_one + i] * inputs[(size_t)image * inputs_of_one + i];
  sums[image * neurons + neuron] = sum;
}

// ---- NW: a thread for each row of a tile of 16 x 16, a barrier after each antidiagonal ----

enum { NW_TILE = 16 };

extern "C" __global__ void nw(int *scores, const int *similarity, unsigned width, int penalty,
                              unsigned diagonal, unsigned first_x) {
  __shared__ int tile[NW_TILE + 1][NW_TILE + 1], pair[NW_TILE][NW_TILE];
  unsigned t = threadIdx.x, pitch = width + 1;
  unsigned tile_x = first_x + blockIdx.x, tile_y = diagonal - tile_x;
  int *corner = scores + (size_t)tile_y * NW_TILE * pitch + tile_x * NW_TILE;
  const int *of_pairs = similarity + (size_t)tile_y * NW_TILE * width + tile_x * NW_TILE;
  if (t == 0)
    tile[0][0] = corner[0];
  for (unsigned row = 0; row < NW_TILE; row++)
    pair[row][t] = of_pairs[(size_t)row * width + t];
  tile[t + 1][0] = corner[(size_t)(t + 1) * pitch];
  tile[0][t + 1] = corner[t + 1];
  __syncthreads();
  for (unsigned step = 0; step < 2 * NW_TILE - 1; step++) {
    unsigned x = step - t;
    if (x < NW_TILE)
      tile[t + 1][x + 1] =
          max(tile[t][x] + pair[t][x], max(tile[t][x + 1], tile[t + 1][x]) - penalty);
    __syncthreads();
  }
  for (unsigned row = 0; row < NW_TILE; row++)
    corner[(size_t)(row + 1) * pitch + t + 1] = tile[row + 1][t + 1];
}

// ---- PATH: several rows at once, with a margin that shrinks by one column a row ----

enum { PATH_THREADS = 256 };

extern "C" __global__ void path(const int *wall, const int *from, int *to, unsigned columns,
                                unsigned rows) {
  __shared__ int now[PATH_THREADS], next[PATH_THREADS];
  int t = (int)threadIdx.x, inside = PATH_THREADS - 2 * (int)rows;
  int x = (int)blockIdx.x * inside + t - (int)rows;
  bool is_column = x >= 0 && x < (int)columns;
  if (is_column)
    now[t] = from[x];
  __syncthreads();
  for (int row = 0; row < (int)rows; row++) {
    bool computes = is_column && t > row && t < PATH_THREADS - 1 - row;
    if (computes) {
      int left = now[x > 0 ? t - 1 : t], right = now[x < (int)columns - 1 ? t + 1 : t];
      next[t] = min(now[t], min(left, right)) + wall[(size_t)row * columns + x];
    }
    __syncthreads();
    if (computes)
      now[t] = next[t];
    __syncthreads();
  }
  if (is_column && t >= (int)rows && t < PATH_THREADS - (int)rows)
    to[x] = now[t];
}

// ---- STENCIL: a thread for a column of cells along z, seven loads for each cell ----

extern "C" __global__ void stencil3d(const float *in, float *out, unsigned nx, unsigned ny,
                                     unsigned nz, unsigned planes) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned first = 1 + blockIdx.z * planes;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
    return;
  for (unsigned z = first; z < first + planes && z < nz - 1; z++) {
    size_t i = ((size_t)z * ny + y) * nx + x, plane = (size_t)nx * ny;
    out[i] =
        (in[i - plane] + in[i + plane] + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx]) * 0.125f -
        in[i] * 0.5f;
  }
}

// ---- STREAM: a thread for each point, centre by centre, coordinate by coordinate ----

enum { STREAM_CENTRES = 3 };
__constant__ float centres[STREAM_CENTRES][4];

// Coordinate j of all points lies at coordinates + j * count, distances to centre c at
// distance + c * count.
extern "C" __global__ void stream(const float *coordinates, float *distance, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  for (unsigned c = 0; c < STREAM_CENTRES; c++) {
    float sum = 0;
    for (unsigned j = 0; j < 4; j++) {
      float way = coordinates[(size_t)j * count + i] - centres[c][j];
      sum += way * way;
    }
    distance[(size_t)c * count + i] = sum;
  }
}
