// Shared tiles: static and dynamic, vector accesses, a template over the tile size.
template <int N> __device__ void turn(float *out, const float *in, float (*tile)[N]) {
  int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * gridDim.x * N + x];
  __syncthreads();
  out[x * gridDim.y * N + y] = tile[threadIdx.x][threadIdx.y];
}
template <int N> __global__ void transpose(float *out, const float *in) {
  __shared__ float tile[N][N + (N == 16)];
  if constexpr (N == 16) {
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
  } else {
    turn<N>(out, in, tile);
  }
}
template __global__ void transpose<16>(float *, const float *);
template __global__ void transpose<32>(float *, const float *);

extern __shared__ float4 dynamic[];
extern "C" __global__ void __launch_bounds__(256, 2) rotate(float4 *out, const float4 *in, int by) {
  dynamic[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic[(threadIdx.x + by) % blockDim.x];
}
