// What programs that measure share: times, images on the device, and names.
#ifndef BF_GPU_MEASURE_CUH
#define BF_GPU_MEASURE_CUH

#include "images.cuh"
#include "vote.cuh"

#include <algorithm>
#include <chrono>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

// ---- Measuring ----

inline void must(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

template <typename T> inline T *device_array(size_t count) {
  T *memory = NULL;
  must(cudaMalloc(&memory, count * sizeof(T) + 16), "memory of the device");
  return memory;
}

// The median time of a call in microseconds; -1 where it is refused. A sample is `calls` calls;
// there are as many as fit into 10 ms, 5 to 21.
template <typename Call> inline double median_us(unsigned calls, Call call) {
  cudaEvent_t start, stop;
  must(cudaEventCreate(&start), "event");
  must(cudaEventCreate(&stop), "event");
  std::vector<float> times;
  double first = 0;
  unsigned samples = 5;
  for (unsigned i = 0; i < samples + 2; i++) {
    float milliseconds;
    cudaEventRecord(start, 0);
    for (unsigned k = 0; k < calls; k++)
      if (call() != 0)
        return -1;
    cudaEventRecord(stop, 0);
    must(cudaEventSynchronize(stop), "a call");
    must(cudaEventElapsedTime(&milliseconds, start, stop), "time");
    if (i < 2)
      first = milliseconds;
    else
      times.push_back(milliseconds);
    if (i == 1)
      samples = (unsigned)std::min(21.0, std::max(5.0, 10 / std::max(first, 1e-3)));
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1000.0 / calls;
}

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Times of calls that find an idle GPU, medians of 21: between two events around one call, and on
// the host's clock until its result is there. Nothing of a call can overlap another one.
struct Alone {
  double events_us, host_us;
};

template <typename Call> inline Alone alone_us(Call call) {
  const unsigned samples = 21;
  std::vector<double> times;
  for (unsigned i = 0; i < samples + 2; i++) {
    must(cudaDeviceSynchronize(), "a call");
    double start = now_us();
    if (call() != 0)
      return {-1, -1};
    must(cudaDeviceSynchronize(), "a call");
    if (i >= 2)
      times.push_back(now_us() - start);
  }
  std::sort(times.begin(), times.end());
  return {median_us(1, call), times[samples / 2]};
}

static const char *const method_names[] = {"packed",
                                           "plain",
                                           "global atomics",
                                           "shared atomics",
                                           "thread 8 bits",
                                           "thread 16 bits shared banks",
                                           "thread 16 bits own banks",
                                           "thread 32 bits",
                                           "warp software",
                                           "warp shuffled",
                                           "warp strided",
                                           "warp atomics",
                                           "warp atomics strided"};
static const char *const layout_names[] = {"bin by bin", "copy by copy", "padded", "hashed"};

inline std::string describe(const bf_cuda_choice &choice) {
  char text[160];
  snprintf(text, sizeof text, "%s R=%u threads=%u blocks=%u loads=%u", layout_names[choice.layout],
           choice.copies, choice.threads, choice.blocks_per_sm, choice.loads);
  return text;
}

// ---- Images on the device ----

__global__ static void make_bytes(Kind kind, unsigned width, size_t pixels, uint8_t *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (uint8_t)(make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width)) >> 4);
}

__global__ static void make_words(Kind kind, unsigned width, size_t pixels, uint16_t *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (uint16_t)make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width));
}

__global__ static void make_floats(Kind kind, unsigned width, size_t pixels, float *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (float)make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width)) / 4096;
}

// Pixels that are edges: those of a picture whose noise is above a limit, in percent of all.
__global__ static void make_edges(unsigned width, size_t pixels, unsigned percent, uint8_t *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x) {
    unsigned x = (unsigned)(i % width), y = (unsigned)(i / width);
    unsigned busy = smooth(64, x, y) * percent * 2 / 255; // twice as many here, none there
    out[i] = mix(11, x, y) % 100 < busy ? 255 : 0;
  }
}

struct Data {
  bf_pixels image;
  std::vector<unsigned char> host;
};

inline void make_data(Kind kind, bf_pixel_type type, size_t width, size_t height, Data *data) {
  size_t pixels = width * height, bytes = type == BF_PIXEL_U8 ? 1 : type == BF_PIXEL_U16 ? 2 : 4;
  void *memory = device_array<unsigned char>(pixels * bytes);
  if (type == BF_PIXEL_U8)
    make_bytes<<<1024, 256>>>(kind, (unsigned)width, pixels, (uint8_t *)memory);
  else if (type == BF_PIXEL_U16)
    make_words<<<1024, 256>>>(kind, (unsigned)width, pixels, (uint16_t *)memory);
  else
    make_floats<<<1024, 256>>>(kind, (unsigned)width, pixels, (float *)memory);
  data->host.resize(pixels * bytes);
  must(cudaMemcpy(data->host.data(), memory, pixels * bytes, cudaMemcpyDeviceToHost), "an image");
  data->image = {memory, type, 1, width, height, 0, NULL, 0};
}

inline void free_data(Data *data) { cudaFree((void *)data->image.data); }

inline std::string size_text(size_t width, size_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

#endif
