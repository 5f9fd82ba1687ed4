// The program chooses the hash of the banks before a launch: fewer conflicts and less time, which
// events and clock64 show, and the same result. The device is the GPU that is simulated.
// flags: -lineinfo -Iinclude
// exec: --gpu gtx580 --set sms=4
// only: exec
// says: transpose, hash fixed
#include "bankfold_cuda.h"
#include "check.h"

const int N = 64, TILE = 32;

__global__ void transpose(const float *in, float *out, long long *cycles) {
  __shared__ float tile[TILE][TILE];
  long long begun = clock64();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * N + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  out[y * N + x] = tile[threadIdx.x][threadIdx.y];
  __syncthreads();
  if (x == 0 && y == 0)
    *cycles = clock64() - begun;
}

static float host[N * N], got[N * N];

// What a launch took.
struct duration {
  float milliseconds;
  long long cycles;
};

static duration run(const char *hash) {
  float *in, *out;
  long long *cycles;
  duration took;
  cudaEvent_t start, stop;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMallocManaged(&cycles, sizeof *cycles));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK((cudaError_t)bankfold_set_hash(hash));
  CHECK(cudaEventRecord(start));
  transpose<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(in, out, cycles);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaEventElapsedTime(&took.milliseconds, start, stop));
  took.cycles = *cycles;
  int wrong = 0;
  for (int i = 0; i < N * N; i++)
    wrong += got[i] != host[i % N * N + i / N];
  printf("hash %s: %d wrong\n", hash ? hash : "off", wrong);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(cycles));
  return took;
}

static const char *yes(bool is) { return is ? "yes" : "no"; }

int main() {
  for (int i = 0; i < N * N; i++)
    host[i] = (float)i;
  duration plain = run("none"), hashed = run("fixed"), off = run(NULL);
  float ratio = off.milliseconds / plain.milliseconds;
  printf("less time: events %s, clock64 %s\n", yes(hashed.milliseconds < plain.milliseconds),
         yes(hashed.cycles < plain.cycles));
  printf("switched off: as before %s\n", yes(ratio > 0.999f && ratio < 1.001f));
  printf("no hash: %s\n", cudaGetErrorName((cudaError_t)bankfold_set_hash("nonsense")));
  printf("no hash of locks: %s\n", cudaGetErrorName((cudaError_t)bankfold_set_lock_hash("fixed")));
  CHECK((cudaError_t)bankfold_set_lock_hash("xor"));
  cudaGetLastError();
  int multiprocessors, clock_khz;
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  printf("%s, %d multiprocessors at %d kHz, shared %d of %d bytes, L2 %d bytes\n", device.name,
         multiprocessors, clock_khz, (int)device.sharedMemPerBlock,
         (int)device.sharedMemPerMultiprocessor, device.l2CacheSize);
  // The clock of the GPU runs during launches only.
  float took = plain.cycles / (float)clock_khz;
  printf("events agree with clock64: %s\n",
         yes(took < plain.milliseconds && took > 0.5f * plain.milliseconds));
  return 0;
}
