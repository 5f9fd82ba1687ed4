// Products of cuBLAS and a transform of cuFFT between kernels of the program, by the toolkit's headers, on the stand-ins.
// flags: -lcublas -lcufft
// needs: libcublas.so libcufft.so
// exec: --stand-ins
#include "check.h"
#include <cublas_v2.h>
#include <cuComplex.h>
#include <cufft.h>

constexpr int N = 24;

__global__ void fill(float *a, float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N * N) {
    a[i] = i % 5 - 2;
    b[i] = i % 7 - 3;
  }
}

__global__ void wave(cufftComplex *data, int size, int frequency) {
  int i = threadIdx.x;
  if (i < size)
    sincospif(2.0f * (i * frequency % size) / size, &data[i].y, &data[i].x);
}

// Compares the product with sums written out, in a kernel.
__global__ void compare(const float *a, const float *b, const float *c, int *wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * N)
    return;
  float sum = 0;
  for (int k = 0; k < N; k++)
    sum += a[i % N + N * k] * b[i / N + N * k]; // B is transposed
  if (sum * 2 != c[i])
    atomicAdd(wrong, 1);
}

int main() {
  float *a, *b, *c, *norm;
  int *wrong;
  CHECK(cudaMalloc(&a, N * N * sizeof *a));
  CHECK(cudaMalloc(&b, N * N * sizeof *b));
  CHECK(cudaMalloc(&c, N * N * sizeof *c));
  CHECK(cudaMallocManaged(&norm, sizeof *norm));
  CHECK(cudaMallocManaged(&wrong, sizeof *wrong));
  *wrong = 0;
  fill<<<N, N>>>(a, b);
  cublasHandle_t handle;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float two = 2, zero = 0;
  printf("create %d\n", cublasCreate(&handle));
  printf("stream %d\n", cublasSetStream(handle, stream));
  printf("gemm %d\n", cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, N, N, N, &two, a, N, b, N, &zero, c, N));
  compare<<<N, N>>>(a, b, c, wrong);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  printf("nrm2 %d\n", cublasSnrm2(handle, 4, a, 1, norm));
  CHECK(cudaDeviceSynchronize());
  printf("wrong %d, norm %g, %s\n", *wrong, *norm, cublasGetStatusString(cublasDestroy(handle)));

  constexpr int size = 60;
  cufftComplex *data, host[size];
  cufftHandle plan;
  CHECK(cudaMalloc(&data, sizeof host));
  wave<<<1, 64>>>(data, size, 7);
  printf("plan %d\n", cufftPlan1d(&plan, size, CUFFT_C2C, 1));
  printf("transform %d\n", cufftExecC2C(plan, data, data, CUFFT_FORWARD));
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
  int peaks = 0, largest = 0;
  for (int i = 0; i < size; i++) {
    peaks += cuCabsf(host[i]) > 0.01f;
    if (cuCabsf(host[i]) > cuCabsf(host[largest]))
      largest = i;
  }
  printf("%d peak at %d of %.3f\n", peaks, largest, cuCabsf(host[largest]));
  return cufftDestroy(plan);
}
