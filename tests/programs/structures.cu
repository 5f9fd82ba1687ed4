// Arguments of every shape: structures by value, vectors, many parameters, references in templates.
#include "check.h"

struct Particle {
  float3 position;
  double mass;
  char tag;
  short2 cell;
};

struct alignas(16) Wide {
  float4 value;
  unsigned char flags[3];
};

__global__ void move(Particle start, Wide wide, Particle *out, float dt, bool twice,
                     unsigned char scale, long long big, short small) {
  int i = threadIdx.x;
  Particle p = start;
  p.position.x += dt * i * wide.value.x;
  p.position.y += wide.value.w * scale;
  p.position.z -= twice ? 2 * small : small;
  p.mass += (double)big * wide.flags[2];
  p.cell = make_short2(i, -i);
  p.tag = (char)(p.tag + i);
  out[i] = p;
}

template <class F> __global__ void each(int *data, int n, F function) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = function(i);
}

struct Polynomial {
  int a, b, c;
  __device__ int operator()(int x) const { return (a * x + b) * x + c; }
};

__global__ void vectors(const int4 *in, uchar4 *bytes, double2 *sums) {
  int i = threadIdx.x;
  int4 v = in[i];
  bytes[i] = make_uchar4(v.x, v.y, v.z, v.w);
  sums[i] = make_double2(v.x + v.y, v.z * 0.5 + v.w);
}

int main() {
  const int n = 16;
  Particle start = {{1, 2, 3}, 10, 'a', {0, 0}}, got[n], *out;
  Wide wide = {{0.5f, 0, 0, 4}, {1, 2, 3}};
  CHECK(cudaMalloc(&out, sizeof got));
  move<<<1, n>>>(start, wide, out, 2.0f, true, 5, 1000000000000ll, -4);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  printf("%g %g %g %.0f %c %d %d\n", got[9].position.x, got[9].position.y, got[9].position.z,
         got[9].mass, got[9].tag, got[9].cell.x, got[9].cell.y);

  int *data, numbers[100], wrong = 0;
  CHECK(cudaMalloc(&data, sizeof numbers));
  each<<<4, 32>>>(data, 100, Polynomial{2, -3, 7});
  CHECK(cudaMemcpy(numbers, data, sizeof numbers, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 100; i++)
    wrong += numbers[i] != 2 * i * i - 3 * i + 7;
  printf("functor: %d wrong\n", wrong);

  int4 in[n], *din;
  uchar4 bytes[n], *dbytes;
  double2 sums[n], *dsums;
  for (int i = 0; i < n; i++)
    in[i] = make_int4(i, 300 + i, -i, 7);
  CHECK(cudaMalloc(&din, sizeof in));
  CHECK(cudaMalloc(&dbytes, sizeof bytes));
  CHECK(cudaMalloc(&dsums, sizeof sums));
  CHECK(cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice));
  vectors<<<1, n>>>(din, dbytes, dsums);
  CHECK(cudaMemcpy(bytes, dbytes, sizeof bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(sums, dsums, sizeof sums, cudaMemcpyDeviceToHost));
  wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += bytes[i].x != i || bytes[i].y != (unsigned char)(300 + i) ||
             bytes[i].z != (unsigned char)-i || sums[i].x != 300 + 2 * i ||
             sums[i].y != 7 - i * 0.5;
  printf("vectors: %d wrong\n", wrong);
  return 0;
}
