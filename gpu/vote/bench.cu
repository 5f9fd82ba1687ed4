// Histograms and Hough transforms on the GPU of this machine: are they right, and how fast?
//
//   vote_bench                  every way and many parameters, as CSV; about a minute
//   vote_bench --quick          the defaults and what they are compared with
//   vote_bench --small          the same with images of a thousandth of the pixels, to try the
//   program vote_bench --check [N [M]]  random cases 0 to N-1 (M to N-1) against the CPU; status 1:
//   some differ vote_bench --layouts        small histograms in every layout, for `bankfold exec
//   --json`
//
// Times are medians, between two events, of `calls` calls in a row (eight for small images); images
// lie on the device, and calls write their result there. A row's `ratio` is the time of what it is
// compared with (`against`) divided by its own. CUB is CUB's DeviceHistogram with its temporary
// storage allocated before; -DBF_NO_CUB leaves it out.
#include "check.cuh"
#include "images.cuh"
#include "vote.cuh"

#ifndef BF_NO_CUB
#include <cub/device/device_histogram.cuh>
#endif

#include <algorithm>
#include <chrono>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

// ---- Measuring ----

static void must(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "vote_bench: %s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

template <typename T> static T *device_array(size_t count) {
  T *memory = NULL;
  must(cudaMalloc(&memory, count * sizeof(T) + 16), "memory of the device");
  return memory;
}

// The median time of a call in microseconds; -1 where it is refused. A sample is `calls` calls;
// there are as many as fit into 10 ms, 5 to 21.
template <typename Call> static double median_us(unsigned calls, Call call) {
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

// What a row of the table is about.
struct Subject {
  std::string problem, data, size;
  size_t bins;
  double bytes; // that have to be read
  const char *against;
  double against_us; // 0: not known
};

static void print_row(const Subject &subject, const char *method, const char *parameters, double us,
                      bool right) {
  if (us < 0)
    return;
  char ratio[32] = "";
  if (subject.against_us > 0)
    snprintf(ratio, sizeof ratio, "%.2f", subject.against_us / us);
  printf("%s,%s,%s,%zu,%s,%s,%.2f,%.1f,%s,%s,%s\n", subject.problem.c_str(), subject.data.c_str(),
         subject.size.c_str(), subject.bins, method, parameters, us, subject.bytes / us / 1000,
         ratio, subject.against_us > 0 ? subject.against : "", right ? "right" : "wrong");
  fflush(stdout);
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

static std::string describe(const bf_cuda_choice &choice) {
  char text[160];
  snprintf(text, sizeof text, "%s R=%u threads=%u blocks=%u loads=%u", layout_names[choice.layout],
           choice.copies, choice.threads, choice.blocks_per_sm, choice.loads);
  return text;
}

static bool any_wrong = false;

// ---- Images on the device ----

__global__ void make_bytes(Kind kind, unsigned width, size_t pixels, uint8_t *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (uint8_t)(make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width)) >> 4);
}

__global__ void make_words(Kind kind, unsigned width, size_t pixels, uint16_t *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (uint16_t)make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width));
}

__global__ void make_floats(Kind kind, unsigned width, size_t pixels, float *out) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < pixels;
       i += (size_t)gridDim.x * blockDim.x)
    out[i] = (float)make_pixel(kind, (uint32_t)(i % width), (uint32_t)(i / width)) / 4096;
}

// Pixels that are edges: those of a picture whose noise is above a limit, in percent of all.
__global__ void make_edges(unsigned width, size_t pixels, unsigned percent, uint8_t *out) {
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

static void make_data(Kind kind, bf_pixel_type type, size_t width, size_t height, Data *data) {
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

static void free_data(Data *data) { cudaFree((void *)data->image.data); }

// ---- Baselines ----

__global__ void read_all(const uint4 *from, size_t vectors, unsigned *out) {
  size_t threads = (size_t)gridDim.x * blockDim.x;
  unsigned sum = 0;
#pragma unroll 4
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < vectors; i += threads) {
    uint4 vector = __ldg(from + i);
    sum ^= vector.x ^ vector.y ^ vector.z ^ vector.w;
  }
  if (sum == 0x12345678)
    *out = sum;
}

// A copy (bytes count twice) and reading alone: the ceilings.
static void measure_ceilings(Subject subject, const Data &data, unsigned calls) {
  Device device;
  if (vote_device(&device))
    return;
  size_t bytes = data.host.size();
  unsigned char *to = device_array<unsigned char>(bytes);
  double copy = median_us(calls, [&] {
    return cudaMemcpyAsync(to, data.image.data, bytes, cudaMemcpyDeviceToDevice, 0);
  });
  double read = median_us(calls, [&] {
    read_all<<<device.sms * 4, 512>>>((const uint4 *)data.image.data, bytes / 16, (unsigned *)to);
    return cudaPeekAtLastError();
  });
  subject.bytes *= 2;
  print_row(subject, "copy", "bytes read and written", copy, true);
  subject.bytes /= 2;
  print_row(subject, "read only", "", read, true);
  cudaFree(to);
}

template <typename Sample>
static double measure_cub(const Data &data, size_t bins, double high, unsigned calls,
                          const std::vector<uint32_t> &wanted, bool *right) {
#ifdef BF_NO_CUB
  (void)data, (void)bins, (void)high, (void)calls, (void)wanted;
  *right = true;
  return -1;
#else
  size_t bytes = 0, pixels = data.image.width * data.image.height;
  int *counts = device_array<int>(bins);
  void *storage = NULL;
  const Sample *from = (const Sample *)data.image.data;
  typedef typename std::conditional<std::is_same<Sample, float>::value, float, int>::type Level;
  auto call = [&] {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, from, counts, (int)bins + 1,
                                               (Level)0, (Level)high, (int)pixels, (cudaStream_t)0);
  };
  must(call(), "CUB");
  storage = device_array<unsigned char>(bytes);
  double us = median_us(calls, call);
  std::vector<uint32_t> got(bins);
  must(cudaMemcpy(got.data(), counts, bins * 4, cudaMemcpyDeviceToHost), "CUB");
  *right = got == wanted;
  cudaFree(counts);
  cudaFree(storage);
  return us;
#endif
}

// ---- Histograms ----

// A histogram to be measured in many ways.
struct Case {
  Subject subject;
  Data data;
  bf_histogram_options options;
  std::vector<uint32_t> wanted;
  unsigned calls;
};

static void measure_way(Case *one, const bf_cuda_choice *choice, const char *name,
                        const char *parameters) {
  size_t bytes = 0;
  if (bf_cuda_histogram_u32(NULL, &bytes, &one->data.image, &one->options, choice, NULL, 0) !=
      BF_OK)
    return;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *counts = device_array<uint32_t>(one->options.bins);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  double us = median_us(one->calls, [&] {
    return bf_cuda_histogram_u32(workspace, &bytes, &one->data.image, &one->options, choice, counts,
                                 0);
  });
  std::vector<uint32_t> got(one->options.bins);
  must(cudaMemcpy(got.data(), counts, got.size() * 4, cudaMemcpyDeviceToHost), name);
  bool right = got == one->wanted;
  any_wrong |= us >= 0 && !right;
  print_row(one->subject, name, parameters, us, right);
  cudaFree(workspace);
  cudaFree(counts);
}

static void measure_choice(Case *one, const bf_cuda_choice &choice) {
  measure_way(one, &choice, method_names[choice.method], describe(choice).c_str());
}

static void measure_packed(Case *one) {
  for (unsigned copies = 1; copies <= 32; copies *= 2)
    for (unsigned threads : {256u, 512u, 768u, 1024u})
      for (unsigned blocks : {1u, 2u, 4u})
        for (unsigned loads : {1u, 2u, 4u})
          if (threads * blocks <= 2048)
            measure_choice(one,
                           {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, copies, threads, blocks, loads});
}

// The ways of published work, with the parameters that their tables vary.
static void measure_published(Case *one) {
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_HASHED; layout++)
    for (unsigned copies = 1; copies <= 32; copies *= 2)
      for (unsigned threads : {256u, 512u, 1024u})
        for (unsigned blocks : {1u, 2u})
          measure_choice(one, {BF_CUDA_SHARED, (bf_cuda_layout)layout, copies, threads, blocks, 1});
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_PADDED; layout++) {
    for (unsigned copies = 1; copies <= 256; copies *= 4)
      for (unsigned blocks : {2u, 4u})
        measure_choice(one, {BF_CUDA_GLOBAL, (bf_cuda_layout)layout, copies, 512, blocks, 1});
    for (unsigned copies = 1; copies <= 8; copies *= 2)
      for (unsigned threads : {128u, 512u})
        measure_choice(one, {BF_CUDA_WARP_SOFTWARE, (bf_cuda_layout)layout, copies, threads, 2, 1});
  }
  for (unsigned method = BF_CUDA_WARP_SHUFFLED; method <= BF_CUDA_WARP_ATOMIC_STRIDED; method++)
    for (unsigned copies : {1u, 2u})
      for (unsigned threads : {128u, 512u})
        measure_choice(one, {(bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, copies, threads, 2, 1});
  for (unsigned method = BF_CUDA_THREAD_BYTES; method <= BF_CUDA_THREAD_WORDS; method++)
    for (unsigned threads : {64u, 128u, 192u, 384u, 768u})
      for (unsigned blocks : {1u, 2u, 4u})
        measure_choice(one, {(bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, 1, threads, blocks, 1});
}

static void reference(Case *one) {
  bf_diagnostic diagnostic;
  bf_pixels host = one->data.image;
  host.data = one->data.host.data();
  one->wanted.resize(one->options.bins);
  if (bf_histogram_u32(&host, &one->options, one->wanted.data(), &diagnostic) != BF_OK) {
    fprintf(stderr, "vote_bench: %s\n", diagnostic.message);
    exit(1);
  }
}

enum Sweep { DEFAULT_ONLY, PACKED_SWEEP, ALL_WAYS };

static std::string size_text(size_t width, size_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

// All rows of one histogram. high 0: the whole range of the type.
static void measure_case(Kind kind, bf_pixel_type type, size_t width, size_t height, size_t bins,
                         double high, Sweep sweep) {
  static const char *const problems[] = {"8 bits", "12 bits", "float"};
  Case one = {};
  make_data(kind, type, width, height, &one.data);
  one.options.bins = bins;
  one.options.high = high;
  one.calls = one.data.host.size() < 8 << 20 ? 8 : 1;
  one.subject = {problems[type],
                 kind_names[kind],
                 size_text(width, height),
                 bins,
                 (double)one.data.host.size(),
                 "CUB",
                 0};
  reference(&one);
  double top = high ? high : type == BF_PIXEL_U8 ? 256 : type == BF_PIXEL_U16 ? 65536 : 1;
  bool right;
  double us = type == BF_PIXEL_U8
                  ? measure_cub<uint8_t>(one.data, bins, top, one.calls, one.wanted, &right)
              : type == BF_PIXEL_U16
                  ? measure_cub<uint16_t>(one.data, bins, top, one.calls, one.wanted, &right)
                  : measure_cub<float>(one.data, bins, top, one.calls, one.wanted, &right);
  one.subject.against_us = us;
  print_row(one.subject, "CUB", "DeviceHistogram", us, right);
  measure_ceilings(one.subject, one.data, one.calls);
  bf_cuda_choice usual = {};
  bf_cuda_default(&one.data.image, &one.options, &usual);
  measure_way(&one, NULL, "default", describe(usual).c_str());
  if (sweep >= PACKED_SWEEP)
    measure_packed(&one);
  if (sweep == ALL_WAYS)
    measure_published(&one);
  measure_choice(&one, {BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 8, 512, 2, 1});
  measure_choice(&one, {BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 32, 512, 2, 1});
  free_data(&one.data);
}

// ---- Weights ----

static bool sums_agree(const std::vector<double> &got, const std::vector<double> &wanted) {
  for (size_t i = 0; i < wanted.size(); i++)
    if (!(fabs(got[i] - wanted[i]) <= 1e-3 * fabs(wanted[i]) + 1e-3))
      return false;
  return true;
}

static double measure_weights(Subject *subject, const bf_pixels &image,
                              const bf_histogram_options &options, const bf_cuda_choice *choice,
                              const char *name, const char *parameters,
                              const std::vector<double> &wanted) {
  size_t bytes = 0;
  if (bf_cuda_histogram_f64(NULL, &bytes, &image, &options, choice, NULL, 0) != BF_OK)
    return -1;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  double *sums = device_array<double>(options.bins);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  double us = median_us(1, [&] {
    return bf_cuda_histogram_f64(workspace, &bytes, &image, &options, choice, sums, 0);
  });
  std::vector<double> got(options.bins);
  must(cudaMemcpy(got.data(), sums, got.size() * 8, cudaMemcpyDeviceToHost), name);
  bool right = sums_agree(got, wanted);
  any_wrong |= us >= 0 && !right;
  if (subject->against_us == 0)
    subject->against_us = us;
  print_row(*subject, name, parameters, us, right);
  cudaFree(workspace);
  cudaFree(sums);
  return us;
}

static void measure_weighted(Kind kind, size_t width, size_t height, bool all) {
  Data data, weights;
  make_data(kind, BF_PIXEL_U8, width, height, &data);
  make_data(RANDOM, BF_PIXEL_F32, width, height, &weights);
  bf_histogram_options options = {};
  options.bins = 256;
  options.weights = weights.image.data;
  Subject subject = {"float weights",
                     kind_names[kind],
                     size_text(width, height),
                     256,
                     (double)(data.host.size() + weights.host.size()),
                     "copy by copy R=32",
                     0};
  std::vector<double> wanted(256);
  for (size_t i = 0; i < data.host.size(); i++)
    wanted[data.host[i]] += ((const float *)weights.host.data())[i];
  for (unsigned layout : {1u, 2u, 3u, 0u})
    for (unsigned copies : {32u, 16u, 8u})
      for (unsigned threads : {256u, 512u, 1024u}) {
        if (!all && (copies != 32 || threads != 256))
          continue;
        bf_cuda_choice choice = {BF_CUDA_SHARED, (bf_cuda_layout)layout,    copies,
                                 threads,        threads == 1024 ? 1u : 4u, 1};
        measure_weights(&subject, data.image, options, &choice, "shared atomics",
                        describe(choice).c_str(), wanted);
      }
  for (unsigned threads : {96u, 128u, 160u, 192u, 224u}) {
    bf_cuda_choice choice = {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, 32, threads, 1, 1};
    measure_weights(&subject, data.image, options, &choice, "thread own banks",
                    describe(choice).c_str(), wanted);
  }
  measure_weights(&subject, data.image, options, NULL, "default", "", wanted);
  free_data(&data);
  free_data(&weights);
}

// ---- Hough ----

static void measure_hough_way(Subject *subject, const bf_pixels &edges,
                              const bf_hough_options &options, const bf_cuda_hough_choice *choice,
                              const char *name, const std::vector<uint32_t> &wanted) {
  size_t bytes = 0;
  char parameters[128] = "";
  if (bf_cuda_hough_vote(NULL, &bytes, &edges, &options, choice, NULL, 0) != BF_OK)
    return;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *votes = device_array<uint32_t>(wanted.size());
  double us = median_us(
      1, [&] { return bf_cuda_hough_vote(workspace, &bytes, &edges, &options, choice, votes, 0); });
  std::vector<uint32_t> got(wanted.size());
  must(cudaMemcpy(got.data(), votes, got.size() * 4, cudaMemcpyDeviceToHost), name);
  any_wrong |= us >= 0 && got != wanted;
  if (choice)
    snprintf(parameters, sizeof parameters, "%s R=%u threads=%u angles=%u slices=%u",
             layout_names[choice->layout], choice->copies, choice->threads, choice->angles,
             choice->slices);
  print_row(*subject, name, parameters, us, got == wanted);
  cudaFree(workspace);
  cudaFree(votes);
}

static void sweep_hough(Subject *subject, const bf_pixels &edges, const bf_hough_options &options,
                        const std::vector<uint32_t> &wanted, bool all) {
  bf_cuda_hough_choice choice = {BF_CUDA_HOUGH_CONSTANT};
  measure_hough_way(subject, edges, options, NULL, "default", wanted);
  measure_hough_way(subject, edges, options, &choice, "constant time", wanted);
  for (unsigned layout = 0; layout < 3; layout++)
    for (unsigned copies : {1u, 2u, 4u, 6u, 8u})
      for (unsigned threads : {128u, 256u, 512u, 1024u}) {
        if (!all && (layout || copies > 1 || threads < 512))
          continue;
        if (threads <= 512 && copies != 6) {
          choice = {BF_CUDA_HOUGH_GLOBAL, (bf_cuda_layout)layout, copies, threads, 1, 1};
          measure_hough_way(subject, edges, options, &choice, "global atomics", wanted);
        }
        for (unsigned angles : {1u, 2u, 4u, 8u})
          for (unsigned slices : {1u, 2u, 4u, 8u}) {
            if (threads < 512 || (copies > 2 && (angles > 1 || slices > 1)))
              continue;
            choice = {
                BF_CUDA_HOUGH_TWO_STEP, (bf_cuda_layout)layout, copies, threads, angles, slices};
            measure_hough_way(subject, edges, options, &choice, "two steps", wanted);
          }
      }
}

static double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The CPU's library on one thread is what the GPU is compared with.
static void measure_hough(size_t width, size_t height, unsigned percent, bf_hough_form form,
                          bool all) {
  size_t pixels = width * height;
  uint8_t *memory = device_array<uint8_t>(pixels);
  make_edges<<<1024, 256>>>((unsigned)width, pixels, percent, memory);
  std::vector<uint8_t> host(pixels);
  must(cudaMemcpy(host.data(), memory, pixels, cudaMemcpyDeviceToHost), "edges");
  bf_pixels edges = {host.data(), BF_PIXEL_U8, 1, width, height, 0, NULL, 0};
  bf_hough_options options = {};
  options.form = form;
  options.theta_step = 3.14159265358979323846 / 120;
  options.threads = 1;
  bf_hough_space space;
  bf_diagnostic diagnostic;
  double best = 1e30;
  std::vector<uint32_t> wanted;
  for (int i = 0; i < (all ? 3 : 1); i++) {
    double start = now_us();
    if (bf_hough_vote(&edges, &options, &space, &diagnostic) != BF_OK) {
      fprintf(stderr, "vote_bench: %s\n", diagnostic.message);
      exit(1);
    }
    best = std::min(best, now_us() - start);
    wanted.assign(space.votes, space.votes + space.angles * space.rhos);
    bf_hough_space_clear(&space);
  }
  char data[64];
  snprintf(data, sizeof data, "%u%% edges", percent);
  Subject subject = {form == BF_HOUGH_POLAR ? "Hough polar" : "Hough Cartesian",
                     data,
                     size_text(width, height),
                     wanted.size(),
                     (double)pixels,
                     "CPU one thread",
                     best};
  print_row(subject, "CPU one thread", "", best, true);
  edges.data = memory;
  sweep_hough(&subject, edges, options, wanted, all);
  cudaFree(memory);
}

// ---- Modes ----

// Sides of images are divided by shrink.
static void measure_all(bool all, unsigned shrink) {
  printf("problem,data,size,bins,method,parameters,median_us,gb_per_s,ratio,against,result\n");
  for (unsigned kind = 0; kind < KINDS; kind++)
    measure_case((Kind)kind, BF_PIXEL_U8, 8192 / shrink, 8192 / shrink, 256, 0,
                 all && kind <= RANDOM ? PACKED_SWEEP : DEFAULT_ONLY);
  for (unsigned kind = 0; kind < KINDS; kind++) {
    bool sweep = all && kind <= RANDOM;
    size_t width = 1536 / shrink, height = 1024 / shrink, large = 8192 / shrink;
    measure_case((Kind)kind, BF_PIXEL_U16, width, height, 256, 4096,
                 sweep ? ALL_WAYS : DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_U16, width, height, 4096, 4096,
                 sweep ? PACKED_SWEEP : DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 4096, 4096,
                 sweep ? PACKED_SWEEP : DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 256, 4096, DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 65536, 0, DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_F32, large / 2, large / 2, 256, 0, DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_U8, width, height, 256, 0, DEFAULT_ONLY);
  }
  for (unsigned kind = 0; kind < KINDS; kind++)
    measure_weighted((Kind)kind, 4096 / shrink, 4096 / shrink, all && kind <= RANDOM);
  for (unsigned percent : {10u, 21u, 50u}) {
    measure_hough(1536 / shrink, 1024 / shrink, percent, BF_HOUGH_POLAR, all && percent == 21);
    measure_hough(1536 / shrink, 1024 / shrink, percent, BF_HOUGH_CARTESIAN, all && percent == 21);
  }
}

// One call of one way on a small image, for counting wavefronts.
static int count_once(const unsigned (&number)[5]) {
  Case one = {};
  make_data((Kind)number[0], BF_PIXEL_U8, 1024, 16, &one.data);
  one.options.bins = 256;
  reference(&one);
  bf_cuda_choice choice = {
      (bf_cuda_method)number[1], (bf_cuda_layout)number[2], number[3], number[4], 1, 1};
  size_t bytes = 0;
  int error = bf_cuda_histogram_u32(NULL, &bytes, &one.data.image, &one.options, &choice, NULL, 0);
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *counts = device_array<uint32_t>(256);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  if (!error)
    error =
        bf_cuda_histogram_u32(workspace, &bytes, &one.data.image, &one.options, &choice, counts, 0);
  std::vector<uint32_t> got(256);
  must(cudaMemcpy(got.data(), counts, 1024, cudaMemcpyDeviceToHost), "counts");
  cudaFree(workspace);
  cudaFree(counts);
  free_data(&one.data);
  printf("%s\n", error ? "refused" : got == one.wanted ? "right" : "wrong");
  return error || got != one.wanted;
}

// Tunes two histograms and weights for a small image into a file, and looks what the file says
// then.
static int try_tuner(const char *path) {
  Data bytes, words, weights;
  make_data(NATURAL, BF_PIXEL_U8, 200, 100, &bytes);
  make_data(NATURAL, BF_PIXEL_U16, 200, 100, &words);
  make_data(RANDOM, BF_PIXEL_F32, 200, 100, &weights);
  int errors = 0;
  for (int i = 0; i < 3; i++) {
    bf_histogram_options options = {};
    options.bins = 256;
    options.high = i == 1 ? 4096 : 0;
    options.weights = i == 2 ? weights.image.data : NULL;
    const bf_pixels *image = i == 1 ? &words.image : &bytes.image;
    bf_cuda_choice best = {}, found = {};
    int first = bf_cuda_tuned(path, image, &options, &found);
    int tuned = bf_cuda_tune(path, image, &options, &best);
    int second = bf_cuda_tuned(path, image, &options, &found);
    printf("before %d, tuned %d, after %d, %s\n", first, tuned, second,
           memcmp(&best, &found, sizeof best) == 0 ? "the same" : "different");
    errors += tuned != 0 || second != 0 || memcmp(&best, &found, sizeof best) != 0;
  }
  free_data(&bytes);
  free_data(&words);
  free_data(&weights);
  return errors != 0;
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  if (strcmp(mode, "--check") == 0) {
    unsigned to = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 6000;
    unsigned from = count > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 0;
    int wrong = check_refusals() + check_cases(from, to);
    printf("%u cases, %d wrong\n", to - from, wrong);
    return wrong != 0;
  }
  if (strcmp(mode, "--once") == 0 && count == 7) {
    unsigned number[5];
    for (int i = 0; i < 5; i++)
      number[i] = (unsigned)strtoul(arguments[2 + i], NULL, 10);
    return count_once(number);
  }
  if (strcmp(mode, "--tune") == 0 && count == 3)
    return try_tuner(arguments[2]);
  bool small = strcmp(mode, "--small") == 0;
  if (*mode && !small && strcmp(mode, "--quick") != 0) {
    fprintf(
        stderr,
        "usage: vote_bench [--quick | --small | --check [N [FROM]] | --once ... | --tune FILE]\n");
    return 2;
  }
  measure_all(!*mode, small ? 32 : 1);
  return any_wrong;
}
