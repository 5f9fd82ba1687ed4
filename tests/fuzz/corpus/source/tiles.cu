// Shared arrays of many kinds, for bankfold suggest. Comments with brackets: tile[y][x], { and (.
#define TILE 32
#define HALF (TILE / 2) /* sum[0][ */

// A tile that is written by rows and read by columns.
extern "C" __global__ void transpose(float *out, const float *in, int n) {
  __shared__ float tile[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y;
  for (int k = 0; k < TILE; k += 8)
    tile[y + k][x] = in[(blockIdx.y * TILE + y + k) * n + blockIdx.x * TILE + x]; // tile[0][1]
  __syncthreads();
  for (int k = 0; k < TILE; k += 8)
    out[(blockIdx.x * TILE + y + k) * n + blockIdx.y * TILE + x] = tile[x][y + k];
}

// Every thread sums a row of a flat array.
extern "C" __global__ void row_sums(float *out, const float *in) {
  __shared__ float rows[32 * 32];
  for (int i = threadIdx.x; i < 32 * 32; i += 32)
    rows[i] = in[i];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 32; k++)
    sum += rows[threadIdx.x * 32 + k];
  out[threadIdx.x] = sum;
}

// Vectors of 16 bytes, by columns.
extern "C" __global__ void vectors(float4 *out, const float4 *in) {
  __shared__ float4 block[32][8];
  int t = threadIdx.x;
  for (int k = 0; k < 8; k++)
    block[t / 8 + 4 * k][t % 8] = in[t + 32 * k];
  __syncthreads();
  for (int k = 0; k < 8; k++)
    out[t + 32 * k] = block[t][k];
}

struct point {
  float x, y, z, w;
};

// A struct per element: members are accessed one by one.
extern "C" __global__ void structs(float *out, const float *in) {
  __shared__ point points[64];
  int t = threadIdx.x;
  points[t].x = in[t];
  points[t].y = in[t] + 1;
  points[t].z = 2 * in[t];
  __syncthreads();
  out[t] = points[63 - t].x + points[t].y * points[t].z;
}

// Three dimensions; the last subscript is constant in a warp.
extern "C" __global__ void cube(int *out) {
  __shared__ int cells[4][8][32];
  int t = threadIdx.x;
  for (int k = 0; k < 32; k++)
    cells[t / 8][t % 8][k] = t * k;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 32; k++)
    sum += cells[(t + 1) / 8 % 4][(t + 1) % 8][k];
  out[t] = sum;
}

// The launch says how large it is.
extern "C" __global__ void dynamic(float *out, const float *in) {
  extern __shared__ float buffer[];
  int t = threadIdx.x;
  for (int k = 0; k < 32; k++)
    buffer[t * 32 + k] = in[t * 32 + k];
  __syncthreads();
  out[t] = buffer[t * 32] + buffer[31 - t];
}

// The same name as in transpose, another shape, by columns both times.
extern "C" __global__ void halves(int *out) {
  const char *text = "tile[0][0] { \" /* ";
  __shared__ int tile[TILE][HALF];
  int t = threadIdx.x;
  for (int k = 0; k < HALF; k++)
    tile[t][k] = t + k + text[0];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < HALF; k++)
    sum += tile[31 - t][k];
  out[t] = sum;
}

// One declaration, two kernels.
template <int N> __device__ void turn(int *out) {
  __shared__ int square[N][N];
  int x = threadIdx.x, y = threadIdx.y;
  square[y][x] = N * y + x;
  __syncthreads();
  out[y * N + x] = square[x][y];
}

template <int N> __global__ void turned(int *out) {
  turn<N>(out);
}

template __global__ void turned<16>(int *);
template __global__ void turned<32>(int *);

// A pointer to the array goes elsewhere: it can only be changed by hand.
__device__ float first(const float *from, int i) {
  return from[i * 32];
}

extern "C" __global__ void pointer(float *out, const float *in) {
  __shared__ float away[32][32];
  for (int k = 0; k < 32; k++)
    away[k][threadIdx.x] = in[k * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first(&away[0][0], threadIdx.x);
}

// No conflicts.
extern "C" __global__ void fine(int *out) {
  __shared__ int line[64];
  line[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = line[63 - threadIdx.x];
}
