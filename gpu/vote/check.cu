// Random images, options and ways against the CPU's library: sizes from 0 on, odd ones, strides,
// pointers that are not aligned, masks, channels, bins by edges, weights, accumulating; and Hough
// spaces in all ways. Case n is the same in every run.
#include "check.cuh"
#include "images.cuh"
#include "vote.cuh"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector>

struct Random {
  uint32_t state;
  unsigned below(unsigned n) {
    state = state * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return ((word >> 22) ^ word) % n;
  }
  bool one_in(unsigned n) { return below(n) == 0; }
};

// Memory of the device with a copy of bytes that begins at an odd place.
struct Buffer {
  unsigned char *base = NULL;
  size_t skip = 0;
  ~Buffer() { cudaFree(base); }
  unsigned char *fill(const void *bytes, size_t count, size_t offset) {
    skip = offset;
    if (cudaMalloc(&base, count + offset + 16) != cudaSuccess)
      return NULL;
    cudaMemcpy(base + offset, bytes, count, cudaMemcpyHostToDevice);
    return base + offset;
  }
};

// An image on the host and on the device.
struct Picture {
  std::vector<unsigned char> data, mask;
  bf_pixels host = {}, device = {};
  Buffer data_buffer, mask_buffer;
};

static void put_pixel(bf_pixel_type type, unsigned char *to, unsigned value, Random *random) {
  uint16_t wide = (uint16_t)(random->one_in(97) ? value << 4 : value);
  static const float odd[] = {NAN,  INFINITY, -INFINITY, 3e38f,  -3e38f,
                              5e6f, -5e6f,    -0.0f,     1e-45f, -1e-45f};
  float real = random->one_in(53) ? odd[random->below(10)] : (float)value / 2048 - 0.25f;
  uint8_t byte = (uint8_t)(value >> 4);
  memcpy(to,
         type == BF_PIXEL_U8    ? (void *)&byte
         : type == BF_PIXEL_U16 ? (void *)&wide
                                : &real,
         type == BF_PIXEL_U8    ? 1
         : type == BF_PIXEL_U16 ? 2
                                : 4);
}

static void make_picture(Random *random, Picture *picture, bool simple) {
  bf_pixels *host = &picture->host;
  host->type = (bf_pixel_type)random->below(simple ? 2 : 3);
  size_t pixel_bytes = host->type == BF_PIXEL_U8 ? 1 : host->type == BF_PIXEL_U16 ? 2 : 4;
  host->channels = simple || random->one_in(2) ? 1 : 1 + random->below(4);
  host->width = random->one_in(20) ? 0 : 1 + random->below(random->one_in(4) ? 5000 : 300);
  host->height = random->one_in(20) ? 0 : 1 + random->below(12);
  size_t row_bytes = host->width * host->channels * pixel_bytes;
  host->stride_bytes = simple || random->one_in(2) ? 0 : row_bytes + random->below(40);
  size_t stride = host->stride_bytes ? host->stride_bytes : row_bytes;
  picture->data.assign(stride * host->height + 16, 0xaa);
  Kind kind = (Kind)random->below(KINDS);
  for (size_t y = 0; y < host->height; y++)
    for (size_t i = 0; i < host->width * host->channels; i++)
      put_pixel(host->type, &picture->data[y * stride + i * pixel_bytes],
                make_pixel(kind, (uint32_t)i, (uint32_t)y), random);
  host->data = picture->data.data();
  if (!simple && random->one_in(3)) {
    host->mask_stride_bytes = random->one_in(2) ? 0 : host->width + random->below(9);
    picture->mask.resize((host->mask_stride_bytes + host->width) * (host->height + 1));
    for (unsigned char &byte : picture->mask)
      byte = random->one_in(3) ? 0 : 255;
    host->mask = picture->mask.data();
  }
  picture->device = *host;
  size_t offset = random->one_in(2) ? 0 : random->below(17);
  if (simple)
    offset = offset / pixel_bytes * pixel_bytes;
  picture->device.data = picture->data_buffer.fill(host->data, picture->data.size(), offset);
  if (host->mask)
    picture->device.mask =
        picture->mask_buffer.fill(host->mask, picture->mask.size(), random->below(3));
}

// Bins: of 2^n values where simple, or else anything.
static void make_options(Random *random, bf_pixel_type type, bool simple,
                         std::vector<double> *edges, bf_histogram_options *options) {
  static const unsigned wide_bins[] = {256, 4096, 64, 16, 1024, 65536};
  *options = {sizeof *options};
  if (simple || random->one_in(3)) {
    options->bins =
        type == BF_PIXEL_U8 ? 256 >> random->below(4) : wide_bins[random->below(simple ? 5 : 6)];
    options->high = type == BF_PIXEL_U8                           ? 256
                    : options->bins == 65536 || random->one_in(3) ? 65536
                                                                  : 4096;
    if (type == BF_PIXEL_F32)
      options->high = random->one_in(2) ? 1.5 : random->one_in(2) ? 1 : 0.75;
  } else if (random->one_in(2)) {
    options->bins = 1 + random->below(700);
    options->low = random->below(50) * 0.37 - 3;
    options->high = options->low + (type == BF_PIXEL_F32 ? 1.3 : 10 + random->below(4000));
  } else {
    options->bins = 1 + random->below(60);
    double edge = type == BF_PIXEL_F32 ? -0.2 : -5;
    for (size_t i = 0; i <= options->bins;
         i++, edge += (1 + random->below(40)) * (type == BF_PIXEL_F32 ? 0.001 : 1))
      edges->push_back(edge);
    options->edges = edges->data();
  }
  options->accumulate = random->one_in(4);
}

static bf_cuda_choice make_choice(Random *random, bf_cuda_method method, size_t bins) {
  bf_cuda_choice choice = {method,
                           BF_CUDA_BIN_BY_BIN,
                           1u << random->below(6),
                           64u << random->below(4),
                           1 + random->below(2),
                           1u << random->below(3)};
  bool per_thread = method >= BF_CUDA_THREAD_BYTES && method <= BF_CUDA_THREAD_WORDS;
  bool per_warp = method >= BF_CUDA_WARP_SOFTWARE;
  if (per_thread)
    choice.threads = 64u << random->below(2);
  if (per_warp)
    choice.copies = 1u << random->below(3);
  if (method == BF_CUDA_GLOBAL || method == BF_CUDA_SHARED || per_warp)
    choice.layout = (bf_cuda_layout)random->below(bins % 32 ? 3 : 4);
  return choice;
}

// ---- Histograms ----

// Runs a histogram with a workspace of the size that it asks for; twice, for a workspace must stay
// clear. Results of the device end up in out.
template <typename Count, typename Function>
static int run_twice(Function function, const bf_pixels *image, const bf_histogram_options *options,
                     const bf_cuda_choice *choice, std::vector<Count> *out) {
  size_t bytes = 0;
  void *workspace = NULL;
  Count *counts = NULL;
  int error = function(NULL, &bytes, image, options, choice, counts, (cudaStream_t)0);
  if (error)
    return error;
  size_t out_bytes = options->bins * sizeof(Count);
  if (cudaMalloc(&workspace, bytes) != cudaSuccess || cudaMalloc(&counts, out_bytes) != cudaSuccess)
    return BF_NO_MEMORY;
  error = bf_cuda_workspace_clear(workspace, bytes, 0);
  for (int round = 0; round < 2 && !error; round++) {
    cudaMemcpy(counts, out->data(), out_bytes, cudaMemcpyHostToDevice);
    error = function(workspace, &bytes, image, options, choice, counts, (cudaStream_t)0);
  }
  if (!error)
    cudaMemcpy(out->data(), counts, out_bytes, cudaMemcpyDeviceToHost);
  if (cudaDeviceSynchronize() != cudaSuccess)
    error = BF_IO;
  cudaFree(workspace);
  cudaFree(counts);
  return error;
}

static bool same(double a, double b, bool exact) {
  return exact ? a == b : fabs(a - b) <= 1e-4 * (1 + fabs(b));
}

template <typename Count>
static bool compare(unsigned number, const char *what, const std::vector<Count> &got,
                    const std::vector<Count> &wanted, bool exact) {
  for (size_t i = 0; i < wanted.size(); i++)
    if (!same((double)got[i], (double)wanted[i], exact)) {
      fprintf(stderr, "case %u, %s: bin %zu is %g, not %g\n", number, what, i, (double)got[i],
              (double)wanted[i]);
      return false;
    }
  return true;
}

static bool check_result(unsigned number, const char *what, int error, int wanted) {
  if (error != wanted)
    fprintf(stderr, "case %u, %s: error %d, not %d (%s)\n", number, what, error, wanted,
            cudaGetErrorString(cudaPeekAtLastError()));
  return error == wanted;
}

static bool check_counts(unsigned number, Random *random) {
  bool simple = random->one_in(2);
  Picture picture;
  std::vector<double> edges;
  bf_histogram_options options;
  make_picture(random, &picture, simple);
  make_options(random, picture.host.type, simple, &edges, &options);
  options.channel = picture.host.channels > 1 ? random->below(picture.host.channels) : 0;
  bf_cuda_method method = simple ? (bf_cuda_method)random->below(BF_CUDA_WARP_ATOMIC_STRIDED + 1)
                                 : (random->one_in(2) ? BF_CUDA_PLAIN : BF_CUDA_PACKED);
  bf_cuda_choice choice = make_choice(random, method, options.bins);
  bool usual = random->one_in(3);
  std::vector<uint32_t> start(options.bins, 1000), wanted = start, got = start;
  std::vector<uint64_t> wide(options.bins, 1000);
  bf_diagnostic diagnostic;
  if (bf_histogram_u32(&picture.host, &options, wanted.data(), &diagnostic) != BF_OK) {
    fprintf(stderr, "case %u: %s\n", number, diagnostic.message);
    return false;
  }
  if (!usual && number % 2) {
    int error = run_twice(bf_cuda_histogram_u64, &picture.device, &options, &choice, &wide);
    if (error == BF_UNSUPPORTED && method != BF_CUDA_PLAIN)
      return true;
    got.assign(wide.begin(), wide.end());
    return check_result(number, "counts of 64 bits", error, BF_OK) &&
           compare(number, "counts of 64 bits", got, wanted, true);
  }
  int error =
      run_twice(bf_cuda_histogram_u32, &picture.device, &options, usual ? NULL : &choice, &got);
  if (error == BF_UNSUPPORTED && method != BF_CUDA_PLAIN && !usual)
    return true; // no room for so many copies, or not what the method takes
  char what[64];
  snprintf(what, sizeof what, "method %d", usual ? -1 : (int)method);
  return check_result(number, what, error, BF_OK) && compare(number, what, got, wanted, true);
}

static bool check_weights(unsigned number, Random *random) {
  Picture picture;
  Buffer buffer;
  std::vector<double> edges;
  bf_histogram_options options;
  bool simple = random->one_in(2);
  make_picture(random, &picture, simple);
  make_options(random, picture.host.type, simple, &edges, &options);
  options.channel = picture.host.channels > 1 ? random->below(picture.host.channels) : 0;
  options.weight_type = (bf_weight_type)random->below(2);
  size_t bytes = options.weight_type == BF_WEIGHT_F32 ? 4 : 8, width = picture.host.width;
  options.weights_stride_bytes = random->one_in(3) ? width * bytes + random->below(20) : 0;
  size_t stride = options.weights_stride_bytes ? options.weights_stride_bytes : width * bytes;
  std::vector<unsigned char> weights(stride * picture.host.height + 16);
  for (size_t y = 0; y < picture.host.height; y++)
    for (size_t x = 0; x < width; x++) {
      double exact = (random->below(2001) - 700.0) / 512;
      float single = (float)exact;
      memcpy(&weights[y * stride + x * bytes], bytes == 4 ? (void *)&single : &exact, bytes);
    }
  options.weights = weights.data();
  std::vector<double> wanted(options.bins, 5), got = wanted;
  bf_diagnostic diagnostic;
  if (bf_histogram_f64(&picture.host, &options, wanted.data(), &diagnostic) != BF_OK) {
    fprintf(stderr, "case %u: %s\n", number, diagnostic.message);
    return false;
  }
  static const bf_cuda_method methods[] = {BF_CUDA_PACKED, BF_CUDA_PLAIN, BF_CUDA_SHARED};
  bf_cuda_choice choice = make_choice(random, methods[random->below(3)], options.bins);
  bool usual = random->one_in(2);
  options.weights =
      buffer.fill(weights.data(), weights.size(), random->one_in(2) ? 0 : random->below(17));
  int error =
      run_twice(bf_cuda_histogram_f64, &picture.device, &options, usual ? NULL : &choice, &got);
  if (error == BF_UNSUPPORTED && !usual)
    return true;
  return check_result(number, "weights", error, BF_OK) &&
         compare(number, "weights", got, wanted, false);
}

// ---- Hough ----

static void make_edges(Random *random, Picture *picture) {
  bf_pixels *host = &picture->host;
  host->type = BF_PIXEL_U8;
  host->width = random->one_in(20) ? 0 : 1 + random->below(150);
  host->height = random->one_in(20) ? 0 : 1 + random->below(150);
  host->stride_bytes = random->one_in(2) ? 0 : host->width + random->below(20);
  picture->data.assign((host->stride_bytes + host->width) * (host->height + 1) + 16, 0);
  unsigned edges_in = 1 + random->below(10);
  for (unsigned char &byte : picture->data)
    byte = random->one_in(edges_in) ? (unsigned char)random->below(256) : 0;
  host->data = picture->data.data();
  picture->mask.assign(host->width * host->height + 1, 0);
  for (unsigned char &byte : picture->mask)
    byte = !random->one_in(3);
  host->mask = random->one_in(3) ? picture->mask.data() : NULL;
  picture->device = *host;
  picture->device.data =
      picture->data_buffer.fill(host->data, picture->data.size(), random->below(17));
  if (host->mask)
    picture->device.mask = picture->mask_buffer.fill(host->mask, picture->mask.size(), 0);
}

static int run_hough(const bf_pixels *edges, const bf_hough_options *options,
                     const bf_cuda_hough_choice *choice, std::vector<uint32_t> *out) {
  size_t bytes = 0;
  void *workspace = NULL;
  uint32_t *votes = NULL;
  int error = bf_cuda_hough_vote(NULL, &bytes, edges, options, choice, NULL, 0);
  if (error)
    return error;
  if (cudaMalloc(&workspace, bytes) != cudaSuccess ||
      cudaMalloc(&votes, out->size() * 4) != cudaSuccess)
    return BF_NO_MEMORY;
  for (int round = 0; round < 2 && !error; round++)
    error = bf_cuda_hough_vote(workspace, &bytes, edges, options, choice, votes, 0);
  if (!error)
    cudaMemcpy(out->data(), votes, out->size() * 4, cudaMemcpyDeviceToHost);
  if (cudaDeviceSynchronize() != cudaSuccess)
    error = BF_IO;
  cudaFree(workspace);
  cudaFree(votes);
  return error;
}

static bool check_hough(unsigned number, Random *random) {
  Picture picture;
  bf_hough_options options = {sizeof options};
  bf_hough_space space;
  bf_diagnostic diagnostic;
  make_edges(random, &picture);
  options.form = random->one_in(2) ? BF_HOUGH_POLAR : BF_HOUGH_CARTESIAN;
  options.theta_step = 3.14159265358979323846 / (1 + random->below(random->one_in(3) ? 90 : 20));
  options.rho_step = random->one_in(3) ? 0.5 + random->below(5) * 0.25 : 1;
  options.weighted = random->one_in(3);
  if (bf_hough_vote(&picture.host, &options, &space, &diagnostic) != BF_OK) {
    fprintf(stderr, "case %u: %s\n", number, diagnostic.message);
    return false;
  }
  bf_cuda_hough_choice choice = {(bf_cuda_hough_method)random->below(4),
                                 (bf_cuda_layout)random->below(3),
                                 1 + random->below(4),
                                 64u << random->below(3),
                                 1u << random->below(4),
                                 1 + random->below(3),
                                 random->below(101)};
  std::vector<uint32_t> wanted(space.votes, space.votes + space.angles * space.rhos);
  std::vector<uint32_t> got(wanted.size());
  bf_hough_space_clear(&space);
  int error = run_hough(&picture.device, &options, &choice, &got);
  if (error == BF_UNSUPPORTED && choice.method == BF_CUDA_HOUGH_CONSTANT)
    return options.weighted || options.form == BF_HOUGH_POLAR || options.rho_step != 1;
  char what[64];
  snprintf(what, sizeof what, "Hough method %d", (int)choice.method);
  return check_result(number, what, error, BF_OK) && compare(number, what, got, wanted, true);
}

int check_cases(unsigned from, unsigned to) {
  int wrong = 0;
  for (unsigned number = from; number < to; number++) {
    Random random = {number * 2654435761u + 17};
    random.below(2);
    unsigned subject = number % 6;
    bool right = subject < 3   ? check_counts(number, &random)
                 : subject < 4 ? check_weights(number, &random)
                               : check_hough(number, &random);
    wrong += !right;
  }
  return wrong;
}

// ---- Values beside the edges of bins ----

// PACKED and PLAIN against the CPU for an image of one row.
static int check_values(const bf_pixels &host, size_t bytes, const bf_histogram_options &options) {
  Buffer buffer;
  bf_pixels device = host;
  bf_diagnostic diagnostic;
  std::vector<uint32_t> wanted(options.bins);
  device.data = buffer.fill(host.data, bytes, 0);
  if (bf_histogram_u32(&host, &options, wanted.data(), &diagnostic) != BF_OK) {
    fprintf(stderr, "edges of bins: %s\n", diagnostic.message);
    return 1;
  }
  int wrong = 0;
  for (bf_cuda_method method : {BF_CUDA_PACKED, BF_CUDA_PLAIN}) {
    bf_cuda_choice choice = {method, BF_CUDA_BIN_BY_BIN, 1, 256, 1, 2};
    std::vector<uint32_t> got(options.bins);
    char what[128];
    snprintf(what, sizeof what, "edges of %zu bins from %g to %g, pixels of type %d, method %d",
             options.bins, options.low, options.high, (int)host.type, (int)method);
    int error = run_twice(bf_cuda_histogram_u32, &device, &options, &choice, &got);
    wrong += !check_result(0, what, error, BF_OK) || !compare(0, what, got, wanted, true);
  }
  return wrong;
}

// Two floats on either side of the float nearest to every edge, that one, and the middle of every
// bin: where single precision is off by the least it can be, and where it must not be asked twice.
static int check_float_edges(double low, double high, size_t bins) {
  std::vector<float> values;
  for (size_t i = 0; i <= bins; i++) {
    float edge = (float)(low + (high - low) * (double)i / (double)bins);
    float below = nextafterf(edge, -INFINITY), above = nextafterf(edge, INFINITY);
    float middle = (float)(low + (high - low) * ((double)i + 0.5) / (double)bins);
    values.insert(values.end(), {nextafterf(below, -INFINITY), below, edge, above,
                                 nextafterf(above, INFINITY), middle});
  }
  bf_pixels image = {values.data(), BF_PIXEL_F32, 1, values.size(), 1, 0, NULL, 0};
  bf_histogram_options options = {sizeof options};
  options.bins = bins;
  options.low = low;
  options.high = high;
  return check_values(image, values.size() * sizeof(float), options);
}

// All values of 16 bits.
static int check_word_edges(double low, double high, size_t bins) {
  std::vector<uint16_t> values(65536);
  for (size_t i = 0; i < values.size(); i++)
    values[i] = (uint16_t)i;
  bf_pixels image = {values.data(), BF_PIXEL_U16, 1, values.size(), 1, 0, NULL, 0};
  bf_histogram_options options = {sizeof options};
  options.bins = bins;
  options.low = low;
  options.high = high;
  return check_values(image, values.size() * sizeof(uint16_t), options);
}

int check_bin_edges(void) {
  static const double ranges[][2] = {{0, 1},     {0, 0.7},   {-1, 1},         {0.1, 0.7},
                                     {-3.3, -2}, {20, 20.5}, {-1e-5, 3.7e-5}, {1e6, 3e6}};
  static const size_t bins[] = {1, 3, 10, 255, 256, 1000};
  int wrong = 0;
  for (const auto &range : ranges)
    for (size_t count : bins)
      wrong += check_float_edges(range[0], range[1], count);
  return wrong + check_float_edges(0, 0.7, 4096) + check_float_edges(0.1, 0.7, 20000) +
         check_word_edges(0, 4095, 819) + check_word_edges(-7, 1000.5, 403);
}

// ---- What is refused ----

// The error of a call with everything right but what change() does.
template <typename Change> static int refused(Change change) {
  static unsigned char *memory = NULL;
  static uint32_t *counts = NULL;
  if (!memory && (cudaMalloc(&memory, 1 << 20) != cudaSuccess ||
                  cudaMemset(memory, 0, 1 << 20) != cudaSuccess ||
                  cudaMalloc(&counts, 65536 * 4) != cudaSuccess))
    return BF_NO_MEMORY;
  bf_pixels image = {memory, BF_PIXEL_U8, 1, 64, 64, 0, NULL, 0};
  bf_histogram_options options = {sizeof options};
  bf_cuda_choice choice = {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, 8, 256, 1, 2};
  size_t bytes = 1 << 19;
  options.bins = 256;
  bf_cuda_workspace_clear(memory + (1 << 19), 1 << 19, 0);
  change(&image, &options, &choice, &bytes);
  return bf_cuda_histogram_u32(memory + (1 << 19), &bytes, &image, &options, &choice, counts, 0);
}

int check_refusals(void) {
  typedef bf_pixels *I;
  typedef bf_histogram_options *O;
  typedef bf_cuda_choice *C;
  typedef size_t *B;
  static const double falling[] = {3, 2, 1}, rising[] = {1, 2, 3};
  const struct {
    const char *what;
    int error, wanted;
  } cases[] = {
      {"nothing wrong", refused([](I, O, C, B) {}), BF_OK},
      {"a small workspace", refused([](I, O, C, B bytes) { *bytes = 100; }), BF_BAD_INPUT},
      {"no bins", refused([](I, O options, C, B) { options->bins = 0; }), BF_BAD_INPUT},
      {"too many bins", refused([](I, O options, C, B) { options->bins = 65537; }), BF_BAD_INPUT},
      {"an empty range", refused([](I, O options, C, B) { options->low = options->high = 5; }),
       BF_BAD_INPUT},
      {"not a number", refused([](I, O options, C, B) { options->low = NAN; }), BF_BAD_INPUT},
      {"falling edges",
       refused([](I, O options, C, B) { options->bins = 2, options->edges = falling; }),
       BF_BAD_INPUT},
      {"channel 1 of 1", refused([](I, O options, C, B) { options->channel = 1; }), BF_BAD_INPUT},
      {"five channels", refused([](I image, O, C, B) { image->channels = 5; }), BF_BAD_INPUT},
      {"a short stride", refused([](I image, O, C, B) { image->stride_bytes = 63; }), BF_BAD_INPUT},
      {"no data", refused([](I image, O, C, B) { image->data = NULL; }), BF_BAD_INPUT},
      {"three copies", refused([](I, O, C choice, B) { choice->copies = 3; }), BF_BAD_INPUT},
      {"64 copies", refused([](I, O, C choice, B) { choice->copies = 64; }), BF_BAD_INPUT},
      {"33 threads", refused([](I, O, C choice, B) { choice->threads = 33; }), BF_BAD_INPUT},
      {"2048 threads", refused([](I, O, C choice, B) { choice->threads = 2048; }), BF_BAD_INPUT},
      {"packed channels", refused([](I image, O, C, B) { image->channels = 2; }), BF_UNSUPPORTED},
      {"packed edges", refused([](I image, O options, C, B) {
         image->type = BF_PIXEL_F32, options->bins = 2, options->edges = rising;
       }),
       BF_UNSUPPORTED},
      {"weights of counts", refused([](I, O options, C, B) { options->weights = falling; }),
       BF_BAD_INPUT},
  };
  int wrong = 0;
  for (const auto &one : cases)
    if (one.error != one.wanted) {
      fprintf(stderr, "%s: error %d, not %d\n", one.what, one.error, one.wanted);
      wrong++;
    }
  return wrong;
}
