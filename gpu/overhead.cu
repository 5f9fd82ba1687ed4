// What the injection library costs: time until a module is loaded and its kernel found, and time of
// the call that launches a kernel. Run it with and without the library; gpu/run.sh does.
#include <chrono>
#include <cstdio>

// Dynamic shared memory, which the library rounds up at every launch.
__global__ void turn(float *data) {
  extern __shared__ float tile[];
  tile[threadIdx.x * 32 % blockDim.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x];
}

static double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static bool check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return true;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  return false;
}

int main() {
  const int batches = 200, launches = 500;
  float *data;
  if (!check(cudaFree(nullptr), "the context") || !check(cudaMalloc(&data, 4096), "cudaMalloc"))
    return 1;
  double start = now_us();
  cudaFuncAttributes attributes;
  if (!check(cudaFuncGetAttributes(&attributes, turn), "the kernel"))
    return 1;
  double loaded = now_us();
  double least = 1e9, sum = 0;
  for (int b = 0; b < batches; b++) {
    double first = now_us();
    for (int i = 0; i < launches; i++)
      turn<<<1, 128, 1000>>>(data);
    double each = (now_us() - first) / launches;
    if (!check(cudaDeviceSynchronize(), "the launches"))
      return 1;
    least = each < least ? each : least;
    sum += each;
  }
  printf("load %.0f us, launch least %.3f us, mean %.3f us\n", loaded - start, least, sum / batches);
  return 0;
}
