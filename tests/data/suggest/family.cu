// Arrays, and pointers into memory that the launch sizes, that are passed to the same functions: each
// gets the same change, or none.
__device__ void put(float *rows, const float *from) {
  for (int i = 0; i < 32; i++)
    rows[threadIdx.x * 32 + i] = from[i * 32 + threadIdx.x];
}

template <typename T>
__device__ T sum(const T *list, int count) {
  T all = 0;
  for (int i = 0; i < count; i++)
    all += list[i * 32 + threadIdx.x];
  return all;
}

// Another function of that name.
__device__ float sum(const float *list) { return list[0] + list[1]; }

extern "C" __global__ void __launch_bounds__(32) own(float *out, const float *in) {
  __shared__ float tile[1024];
  put(tile, in);
  __syncwarp();
  out[threadIdx.x] = sum(tile, 32) + sum(in);
}

extern "C" __global__ void __launch_bounds__(32) carved(float *out, const float *in) {
  extern __shared__ float4 memory[];
  float *first = (float *)memory;
  float *second = first + 1024;
  put(second, in);
  first[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = sum(second, 16) * first[threadIdx.x ^ 1];
}

// An XOR that suits elements of both sizes.
template <typename T>
__global__ void __launch_bounds__(32) strided(T *out, const T *in) {
  __shared__ T list[1024];
  for (int i = 0; i < 32; i++)
    list[threadIdx.x * 32 + i] = in[threadIdx.x] * i;
  __syncwarp();
  T last = 0;
  for (int i = 0; i < 32; i++)
    last = last * 3 + list[(threadIdx.x ^ 5) * 32 + i];
  out[threadIdx.x] = last;
}
template __global__ void strided<float>(float *, const float *);
template __global__ void strided<double>(double *, const double *);
