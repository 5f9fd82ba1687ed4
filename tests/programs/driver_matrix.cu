// flags: -lcuda
// module: product
// Products of matrices: modules from files with PTX and with a fat binary, from an image in memory, and as a library; the
// attributes of their kernels; a constant that is set; streams and events.
#include "driver.h"
#include <string>
#include <vector>

enum { N = 96 };
static float a[N * N], b[N * N], c[N * N];

static std::vector<char> read_file(const std::string &path) {
  std::vector<char> bytes;
  FILE *file = fopen(path.c_str(), "rb");
  for (int next; file && (next = fgetc(file)) != EOF;)
    bytes.push_back((char)next);
  if (file)
    fclose(file);
  bytes.push_back(0);
  return bytes;
}

/* The number of wrong elements of factor * a * b. */
static int count_wrong(float factor) {
  int wrong = 0;
  for (int y = 0; y < N; y++)
    for (int x = 0; x < N; x++) {
      float sum = 0;
      for (int k = 0; k < N; k++)
        sum += a[y * N + k] * b[k * N + x];
      wrong += c[y * N + x] != factor * sum;
    }
  return wrong;
}

static void multiply(const char *how, CUfunction function, int size, CUstream stream) {
  CUdeviceptr at_a, at_b, at_c;
  OK(cuMemAlloc(&at_a, sizeof a));
  OK(cuMemAlloc(&at_b, sizeof b));
  OK(cuMemAlloc(&at_c, sizeof c));
  OK(cuMemcpyHtoDAsync(at_a, a, sizeof a, stream));
  OK(cuMemcpyHtoDAsync(at_b, b, sizeof b, stream));
  OK(cuMemsetD32Async(at_c, 0x7fc00001, N * N, stream));
  int n = N, grid = N / size;
  void *arguments[] = {&at_c, &at_a, &at_b, &n};
  OK(cuLaunchKernel(function, grid, grid, 1, size, size, 1, 0, stream, arguments, NULL));
  OK(cuMemcpyDtoHAsync(c, at_c, sizeof c, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemFree(at_a));
  OK(cuMemFree(at_b));
  OK(cuMemFree(at_c));
  printf("%s: %d wrong\n", how, count_wrong(1));
}

int main(int count, char **words) {
  CUdevice device;
  CUcontext context;
  CUmodule module, second;
  CUfunction product, scale;
  CUlibrary library;
  CUkernel kernel;
  CUstream stream;
  CUevent start, stop;
  (void)count;
  std::string self = words[0], folder = self.substr(0, self.rfind('/') + 1);
  for (int i = 0; i < N * N; i++) {
    a[i] = (float)(i * 7 % 13 - 6);
    b[i] = (float)(i * 5 % 11 - 5);
  }
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  OK(cuEventCreate(&stop, CU_EVENT_DEFAULT));
  OK(cuEventRecord(start, stream));

  OK(cuModuleLoad(&module, (folder + "product.fatbin").c_str()));
  OK(cuModuleGetFunction(&product, module, "product32"));
  multiply("a fat binary in a file", product, 32, stream);
  OK(cuModuleLoad(&second, (folder + "product.ptx").c_str()));
  OK(cuModuleGetFunction(&product, second, "product16"));
  multiply("PTX in a file", product, 16, stream);
  OK(cuModuleUnload(second));
  std::vector<char> image = read_file(folder + "product.fatbin");
  OK(cuModuleLoadFatBinary(&second, image.data()));
  OK(cuModuleGetFunction(&product, second, "product16"));
  multiply("a fat binary in memory", product, 16, stream);
  OK(cuModuleUnload(second));
  std::vector<char> text = read_file(folder + "product.ptx");
  OK(cuLibraryLoadData(&library, text.data(), NULL, NULL, 0, NULL, NULL, 0));
  OK(cuLibraryGetKernel(&kernel, library, "product32"));
  OK(cuKernelGetFunction(&product, kernel));
  multiply("a library", product, 32, stream);
  unsigned kernels = 0;
  OK(cuLibraryGetKernelCount(&kernels, library));
  int shared = 0, threads = 0;
  OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, product));
  OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, product));
  printf("%u kernels, %d bytes of shared memory, %d threads\n", kernels, shared, threads);
  OK(cuLibraryUnload(library));

  OK(cuModuleGetFunction(&scale, module, "scale"));
  CUdeviceptr factor, at_c;
  size_t bytes = 0;
  float ten = 10;
  OK(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
  OK(cuMemcpyHtoD(factor, &ten, bytes));
  OK(cuMemAlloc(&at_c, sizeof c));
  OK(cuMemcpyHtoD(at_c, c, sizeof c));
  OK(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  int n = N * N;
  CUlaunchConfig config = {};
  config.gridDimX = (n + 255) / 256;
  config.blockDimX = 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = 100000;
  config.hStream = stream;
  void *arguments[] = {&at_c, &n};
  OK(cuLaunchKernelEx(&config, scale, arguments, NULL));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(c, at_c, sizeof c));
  printf("scaled: %d wrong\n", count_wrong(10));
  OK(cuEventRecord(stop, stream));
  OK(cuEventSynchronize(stop));
  float milliseconds = -1;
  OK(cuEventElapsedTime(&milliseconds, start, stop));
  printf("time: %s\n", milliseconds > 0 ? "fine" : "wrong");
  int blocks = 0, grid = 0, block = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 1024, 0));
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, NULL, 0, 0));
  printf("occupancy: %s\n", blocks > 0 && grid > 0 && block > 0 ? "fine" : "wrong");
  OK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
