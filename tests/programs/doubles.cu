// Double precision: a matrix product in tiles, and functions of <math.h>.
#include "check.h"

#include <cmath>

const int N = 48, TILE = 16;

__global__ void multiply(const double *a, const double *b, double *c) {
  __shared__ double ta[TILE][TILE], tb[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  double sum = 0;
  for (int t = 0; t < N; t += TILE) {
    ta[threadIdx.y][threadIdx.x] = a[y * N + t + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * N + x];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum = fma(ta[threadIdx.y][k], tb[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[y * N + x] = sum;
}

__global__ void functions(const double *in, double *out, int n) {
  int i = threadIdx.x;
  double x = in[i];
  out[i] = sqrt(x);
  out[n + i] = sin(x);
  out[2 * n + i] = exp(-x / 10);
  out[3 * n + i] = log1p(x);
  out[4 * n + i] = pow(x, 1.5);
  out[5 * n + i] = 1 / (1 + x);
  out[6 * n + i] = floor(x * 3) + rint(x) + fmod(x, 0.7);
}

static double distance(double a, double b) { return fabs(a - b) / (fabs(b) + 1e-300); }

int main() {
  static double a[N * N], b[N * N], c[N * N];
  double *da, *db, *dc;
  for (int i = 0; i < N * N; i++) {
    a[i] = (i * 31 % 17) / 8.0;
    b[i] = (i * 29 % 23) - 11;
  }
  CHECK(cudaMalloc(&da, sizeof a));
  CHECK(cudaMalloc(&db, sizeof b));
  CHECK(cudaMalloc(&dc, sizeof c));
  CHECK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
  multiply<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(da, db, dc);
  CHECK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++) {
      double sum = 0;
      for (int k = 0; k < N; k++)
        sum += a[y * N + k] * b[k * N + x];
      wrong += c[y * N + x] != sum; // all products are exact
    }
  printf("product: %d wrong, corner %.3f\n", wrong, c[N * N - 1]);

  const int n = 100;
  double x[n], got[7 * n], *dx, *out, worst = 0;
  for (int i = 0; i < n; i++)
    x[i] = i * 0.37 + 0.01;
  CHECK(cudaMalloc(&dx, sizeof x));
  CHECK(cudaMalloc(&out, sizeof got));
  CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
  functions<<<1, n>>>(dx, out, n);
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    double expected[] = {sqrt(x[i]),     sin(x[i]),         exp(-x[i] / 10),
                         log1p(x[i]),    pow(x[i], 1.5),    1 / (1 + x[i]),
                         floor(x[i] * 3) + rint(x[i]) + fmod(x[i], 0.7)};
    for (int f = 0; f < 7; f++)
      worst = fmax(worst, distance(got[f * n + i], expected[f]));
  }
  printf("functions: %s\n", worst < 1e-14 ? "within 1e-14" : "too far");
  return 0;
}
