// Templates: one reduction for several types, operations and block sizes.
#include "check.h"

struct Sum {
  template <class T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
struct Largest {
  template <class T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T, class Op, int Threads> __global__ void reduce(const T *in, T *out, int n, T zero) {
  __shared__ T part[Threads];
  Op op;
  T sum = zero;
  for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads)
    sum = op(sum, in[i]);
  part[threadIdx.x] = sum;
  __syncthreads();
#pragma unroll
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] = op(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = part[0];
}

template <class T, class Op, int Threads> void test(const char *name, int n, T zero) {
  const int blocks = 7;
  T *host = new T[n], *in, *out, parts[blocks];
  unsigned state = 42;
  T expected = zero;
  for (int i = 0; i < n; i++) {
    host[i] = (T)(next_random(&state) % 1000);
    expected = Op()(expected, host[i]);
  }
  CHECK(cudaMalloc(&in, n * sizeof(T)));
  CHECK(cudaMalloc(&out, blocks * sizeof(T)));
  CHECK(cudaMemcpy(in, host, n * sizeof(T), cudaMemcpyHostToDevice));
  reduce<T, Op, Threads><<<blocks, Threads>>>(in, out, n, zero);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(parts, out, sizeof parts, cudaMemcpyDeviceToHost));
  T got = zero;
  for (int i = 0; i < blocks; i++)
    got = Op()(got, parts[i]);
  printf("%s with %d threads: %.0f %s\n", name, Threads, (double)got,
         got == expected ? "right" : "WRONG");
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  delete[] host;
}

int main() {
  test<int, Sum, 64>("sum of int", 10000, 0);
  test<int, Largest, 256>("largest int", 10000, -1);
  test<float, Sum, 128>("sum of float", 5000, 0.0f);
  test<double, Sum, 512>("sum of double", 30000, 0.0);
  test<unsigned long long, Largest, 1024>("largest unsigned long long", 4000, 0ull);
  test<short, Largest, 32>("largest short", 333, (short)0);
  return 0;
}
