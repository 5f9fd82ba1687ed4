/* Fast histograms and Hough transforms give what the references give, by every kernel this CPU
 * runs: types, sizes, strides, alignments, parts, masks, channels, weights and data of many kinds.
 * Counts beyond 32 bits, in one image and in strips. */
#include "../unit/random.h"
#include "vote/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static test_random state = {.state = 20260115};

static size_t below(size_t limit) { return (size_t)random_below(&state, limit); }

/* ---- Images ---- */

enum { ROOM = 1 << 21 };
static uint8_t *memory, *masks, *weights;

/* Values of one kind: constant, two, random, ramps, short runs, and a change halfway. */
static uint32_t some_value(unsigned kind, size_t i, uint32_t base) {
  switch (kind) {
  case 0:
    return base;
  case 1:
    return below(2) ? base : base + 100;
  case 2:
    return (uint32_t)random_bits(&state);
  case 3:
    return (uint32_t)i / 3;
  case 4:
    return (uint32_t)(i / 40 % 7) * 31 + base;
  default:
    return i < ROOM / 16 ? base : (uint32_t)random_bits(&state);
  }
}

/* A float from a random value: mostly from -1 to 300, some far away, some not numbers. */
static float some_float(uint32_t value) {
  static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f, -1e-40f, 256, 255.99998f};
  if (value % 61 == 0)
    return odd[value / 61 % 8];
  return value % 7 ? (float)(value % 30100) / 100 - 1 : (float)(value % 300);
}

/* Fills the memory with pixels of a type at any alignment; count values at most. */
static uint8_t *fill_pixels(bf_pixel_type type, size_t count) {
  uint8_t *at = memory + below(9);
  unsigned kind = (unsigned)below(6), bits = below(2) ? 12 : 16;
  uint32_t base = (uint32_t)random_bits(&state);
  for (size_t i = 0; i < count; i++) {
    uint32_t value = some_value(kind, i, base);
    uint16_t word = (uint16_t)(value & ((UINT32_C(1) << bits) - 1));
    float real = some_float(value);
    if (type == BF_PIXEL_U8)
      at[i] = (uint8_t)value;
    else if (type == BF_PIXEL_U16)
      memcpy(at + 2 * i, &word, 2);
    else
      memcpy(at + 4 * i, &real, 4);
  }
  return at;
}

static uint8_t *fill_mask(size_t count) {
  uint8_t *at = masks + below(9);
  unsigned share = (unsigned)below(5);
  for (size_t i = 0; i < count; i++)
    at[i] = below(4) < share ? (uint8_t)(1 + below(255)) : 0;
  return at;
}

/* A size that is often small or odd. */
static size_t some_size(size_t limit) { return below(3) ? below(20) : below(limit); }

/* A random image with mask, of which a part may be cut. It fits the memory. */
static bf_pixels some_image(bf_pixel_type type, unsigned channels) {
  size_t width = some_size(2500), height = some_size(50);
  size_t row_bytes = width * channels * bf_pixel_bytes(type);
  bf_pixels image = {.type = type, .channels = channels, .width = width, .height = height};
  image.stride_bytes = below(2) ? row_bytes + below(30) : 0;
  size_t bytes = (image.stride_bytes ? image.stride_bytes : row_bytes) * height;
  image.data = fill_pixels(type, bytes / bf_pixel_bytes(type) + 1);
  if (below(3) == 0) {
    image.mask_stride_bytes = below(2) ? width + below(30) : 0;
    image.mask = fill_mask((width + 30) * height);
  }
  if (below(3) == 0) {
    size_t x = below(width + 1), y = below(height + 1);
    bf_pixels whole = image;
    if (bf_pixels_crop(&whole, x, y, below(width - x + 1), below(height - y + 1), &image, NULL))
      abort();
  }
  return image;
}

/* ---- Histograms ---- */

static double edges[BF_MAX_BINS + 1];

static size_t some_bins(void) {
  static const size_t usual[] = {1, 2, 16, 255, 256, 257, 512, 513, 4096, 65535, 65536};
  return below(2) ? usual[below(11)] : 1 + below(2000);
}

/* Edges over the values of a type: evenly, or most of them crowded; the outermost may be infinite.
 */
static void set_edges(bf_histogram_options *options, bf_pixel_type type) {
  double step = (type == BF_PIXEL_U16 ? 70000.0 : 300.0) / (double)options->bins, at = -5;
  bool crowded = below(3) == 0;
  for (size_t i = 0; i <= options->bins; i++) {
    edges[i] = at;
    at += step * (0.01 + (double)below(200) / 100) * (crowded && below(20) ? 1e-5 : 1);
  }
  if (below(4) == 0)
    edges[options->bins] = INFINITY;
  if (below(4) == 0)
    edges[0] = -INFINITY;
  options->edges = edges;
}

/* Even or uneven bins for values of a type. */
static void set_bins(bf_histogram_options *options, bf_pixel_type type) {
  static const double ends[] = {0, 0, 1, 10.5, 49, 98, 256, 300, 4096, 5000, 65536, 1e6};
  options->bins = some_bins();
  if (below(3) == 0) {
    set_edges(options, type);
  } else if (below(4)) {
    options->low = ends[below(4)] - (below(3) == 0 ? 3.25 : 0);
    options->high = ends[4 + below(8)];
  }
}

/* Weights whose sums are exact in any order: small multiples of 1/4. */
static void set_weights(bf_histogram_options *options, size_t width, size_t height) {
  uint8_t *at = weights + below(9);
  bool wide = below(2);
  size_t bytes = wide ? 8 : 4;
  options->weights_stride_bytes = below(2) ? width * bytes + below(30) : 0;
  size_t stride = options->weights_stride_bytes ? options->weights_stride_bytes : width * bytes;
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++) {
      double weight = ((double)below(2000) - 1000) / 4;
      float single = (float)weight;
      memcpy(at + y * stride + x * bytes, wide ? (void *)&weight : (void *)&single, bytes);
    }
  options->weights = at;
  options->weight_type = wide ? BF_WEIGHT_F64 : BF_WEIGHT_F32;
}

/* What was compared and differs, in words. */
static bool complain(const char *what, const bf_vote_kernel *kernel, const bf_pixels *image,
                     size_t bins) {
  printf("%s by %s differs: type %d, %u channels, %zu x %zu, %zu bins\n", what, kernel->name,
         (int)image->type, image->channels, image->width, image->height, bins);
  return false;
}

static bool check_counts(const bf_vote_job *job) {
  static uint64_t expected[BF_MAX_BINS], found[BF_MAX_BINS];
  size_t bytes = job->bins.count * sizeof *found;
  memset(expected, 0, bytes);
  bf_vote_reference(job, expected);
  for (unsigned i = 0; bf_vote_available(i); i++) {
    memset(found, 0, bytes);
    if (bf_histogram_count(job, bf_vote_available(i), found, NULL) != BF_OK ||
        memcmp(found, expected, bytes) != 0)
      return complain("histogram", bf_vote_available(i), &job->image, job->bins.count);
  }
  return true;
}

static bool check_sums(const bf_vote_job *job) {
  static double expected[BF_MAX_BINS], found[BF_MAX_BINS];
  size_t bins = job->bins.count;
  memset(expected, 0, bins * sizeof *found);
  bf_vote_reference_sums(job, expected);
  for (unsigned i = 0; bf_vote_available(i); i++) {
    memset(found, 0, bins * sizeof *found);
    if (bf_histogram_sum(job, bf_vote_available(i), found, NULL) != BF_OK)
      return complain("sums", bf_vote_available(i), &job->image, bins);
    for (size_t k = 0; k < bins; k++)
      if (found[k] != expected[k])
        return complain("sums", bf_vote_available(i), &job->image, bins);
  }
  return true;
}

/* One random histogram. */
static bool check_histogram(void) {
  bf_pixel_type type = (bf_pixel_type)below(3);
  unsigned channels = 1 + (unsigned)below(4);
  bf_pixels image = some_image(type, channels);
  bf_histogram_options options = {.struct_bytes = sizeof options,
                                  .channel = (unsigned)below(channels),
                                  .threads = 1 + (unsigned)below(4)};
  set_bins(&options, type);
  bool sums = below(3) == 0;
  if (sums)
    set_weights(&options, image.width, image.height);
  bf_vote_job job;
  bf_diagnostic diagnostic;
  if (bf_vote_job_make(&image, &options, &job, &diagnostic) != BF_OK) {
    printf("refused: %s\n", diagnostic.message);
    return false;
  }
  return sums ? check_sums(&job) : check_counts(&job);
}

/* Whole numbers as floats fall into bins whose width is no power of two just as integers do; and
 * where rounding takes them to the end of the range, they are in the last bin. */
static bool check_whole_floats(void) {
  static float data[490];
  bf_pixels image = {.data = data, .type = BF_PIXEL_F32, .width = 490, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .threads = 1, .high = 490};
  bool good = true;
  for (unsigned i = 0; i < 490; i++)
    data[i] = (float)i;
  for (options.bins = 1; options.bins <= 490 && good; options.bins++) {
    bf_vote_job job;
    good = bf_vote_job_make(&image, &options, &job, NULL) == BF_OK && check_counts(&job);
    options.low = options.low == 0 ? -1e18 : 0;
  }
  return good;
}

/* Images large enough for several threads: one of each type, with rows that threads share. */
static bool check_threads(void) {
  bool good = true;
  for (unsigned type = 0; type < 3; type++) {
    bf_pixels image = {.type = (bf_pixel_type)type, .width = 173, .height = 2500};
    image.data = fill_pixels(image.type, 173 * 2500);
    image.stride_bytes = 173 * bf_pixel_bytes(image.type);
    bf_histogram_options options = {
        .struct_bytes = sizeof options, .bins = type ? 4096 : 256, .threads = 4};
    bf_vote_job job;
    good = good && bf_vote_job_make(&image, &options, &job, NULL) == BF_OK && check_counts(&job);
    options.weights_stride_bytes = 0;
    set_weights(&options, 173, 1000);
    image.height = 1000;
    good = good && bf_vote_job_make(&image, &options, &job, NULL) == BF_OK && check_sums(&job);
  }
  return good;
}

/* ---- Beyond 16 and 32 bits ---- */

/* Counters of pairs that wrap around a thousand times, among pairs that seldom and that often come
 * again: every fourth pair is always the same. */
static bool check_full_counters(void) {
  bool good = true;
  for (unsigned smooth = 0; smooth < 2 && good; smooth++) {
    for (size_t i = 0; i < ROOM; i++)
      memory[i] = (uint8_t)(i % 8 < 2 ? 100 + i % 8 : 100 + below(smooth ? 8 : 150));
    bf_pixels image = {.data = memory, .width = ROOM, .height = 1};
    bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256, .threads = 1};
    bf_vote_job job;
    good = bf_vote_job_make(&image, &options, &job, NULL) == BF_OK && check_counts(&job);
  }
  return good;
}

/* An image of 2^32 + 5 pixels that are all 0: memory that was never written takes no room. */
static bool check_one_large_image(void) {
  size_t pixels = (UINT64_C(1) << 32) + 5;
  void *data = mmap(NULL, pixels, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return true; /* no such address space here: strips are still checked */
  bf_pixels image = {.data = data, .width = pixels, .height = 1};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256};
  uint32_t narrow[256] = {7};
  uint64_t wide[256];
  bf_diagnostic diagnostic;
  bool good = bf_histogram_u32(&image, &options, narrow, &diagnostic) == BF_UNSUPPORTED &&
              narrow[0] == 7 && bf_histogram_u64(&image, &options, wide, NULL) == BF_OK &&
              wide[0] == pixels && wide[1] == 0;
  munmap(data, pixels);
  if (!good)
    printf("an image of 2^32 + 5 pixels is counted wrong\n");
  return good;
}

/* 4 gigapixels in strips of 2 megapixels: the memory of one strip is all that is needed. */
static bool check_strips(void) {
  enum { STRIPS = 2048 + 1 };
  bf_pixels strip = {.data = memory, .width = 4096, .height = 512};
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = 256, .accumulate = true};
  uint64_t once[256] = {0}, wide[256] = {0};
  memset(memory, 9, ROOM);
  for (size_t i = 0; i < ROOM / 16; i++)
    memory[i] = (uint8_t)random_bits(&state);
  if (bf_histogram_u64(&strip, &options, once, NULL) != BF_OK)
    return false;
  uint32_t narrow[256] = {0};
  unsigned refused = 0;
  for (unsigned i = 0; i < STRIPS; i++) {
    if (bf_histogram_u64(&strip, &options, wide, NULL) != BF_OK)
      return false;
    if (i % 16 == 0)
      refused += bf_histogram_u32(&strip, &options, narrow, NULL) != BF_OK;
  }
  for (unsigned i = 0; i < 256; i++)
    if (wide[i] != once[i] * STRIPS || narrow[i] != once[i] * ((STRIPS + 15) / 16))
      refused++;
  if (refused)
    printf("strips do not add up\n");
  return refused == 0;
}

/* ---- Hough ---- */

/* Edges of one kind: random with some density, rows, columns, everything. */
static void draw_edges(uint8_t *at, size_t stride, size_t width, size_t height) {
  size_t kind = below(4), density = 1 + below(10);
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++) {
      bool on = kind == 0   ? below(density) == 0
                : kind == 1 ? y % density == 0
                : kind == 2 ? x % density == 0
                            : true;
      at[y * stride + x] = on ? (uint8_t)(1 + below(255)) : 0;
    }
}

static bool check_space(const bf_pixels *image, const bf_hough_options *options) {
  bf_hough_space space;
  bf_diagnostic diagnostic;
  if (bf_hough_vote(image, options, &space, &diagnostic) != BF_OK) {
    printf("refused: %s\n", diagnostic.message);
    return false;
  }
  bool good = true;
  size_t cells = space.angles * space.rhos;
  bf_hough_space expected = space;
  expected.votes = calloc(cells, sizeof *expected.votes);
  bf_pixels checked;
  if (!expected.votes || bf_pixels_check(image, &checked, NULL) != BF_OK)
    abort();
  bf_vote_reference_hough(&checked, options->weighted, &expected);
  for (unsigned i = 0; bf_vote_available(i); i++) {
    memset(space.votes, 0, cells * sizeof *space.votes);
    if (bf_hough_count(&checked, options->weighted, options->threads, bf_vote_available(i), &space,
                       NULL) != BF_OK ||
        memcmp(space.votes, expected.votes, cells * sizeof *space.votes) != 0)
      good = complain("Hough space", bf_vote_available(i), image, space.rhos);
  }
  free(expected.votes);
  bf_hough_space_clear(&space);
  return good;
}

/* One random transform. Steps of rho are now and then so small that 16 bits cannot number bins. */
static bool check_hough(void) {
  size_t width = 1 + some_size(120), height = 1 + some_size(120), stride = width + below(9);
  uint8_t *at = memory + below(9);
  draw_edges(at, stride, width, height);
  bf_pixels image = {.data = at, .width = width, .height = height, .stride_bytes = stride};
  if (below(3) == 0)
    image.mask = fill_mask(width * height);
  bf_hough_options options = {.struct_bytes = sizeof options,
                              .form = below(2) ? BF_HOUGH_POLAR : BF_HOUGH_CARTESIAN,
                              .theta_step = M_PI / (double)(1 + below(40)),
                              .rho_step = below(8) ? 0.3 + (double)below(20) / 5 : 0.002,
                              .weighted = below(2),
                              .threads = 1 + (unsigned)below(4)};
  if (below(3) == 0) {
    options.theta_low = (double)below(700) / 100 - 3;
    options.theta_high = options.theta_low + 0.1 + (double)below(400) / 100;
  }
  return check_space(&image, &options);
}

/* An image with more points than one band holds, all on rows: counters of 16 bits would overflow
 * without bands. */
static bool check_bands(void) {
  size_t width = 1200, height = 700;
  memset(memory, 200, width * height);
  bf_pixels image = {.data = memory, .width = width, .height = height};
  bf_hough_options options = {.struct_bytes = sizeof options,
                              .theta_low = 1.5,
                              .theta_high = 1.65,
                              .theta_step = 0.05,
                              .rho_step = 1500,
                              .threads = 2};
  bool good = check_space(&image, &options);
  options.weighted = true;
  options.rho_step = 1;
  return check_space(&image, &options) && good;
}

/* ---- Edges ---- */

/* Whether a channel has infinite pixels. */
static bool has_infinite(const bf_pixels *image, unsigned channel) {
  for (size_t y = 0; y < image->height; y++)
    for (size_t x = 0; x < image->width; x++)
      if (isinf(bf_pixels_value(image, x, y, channel)))
        return true;
  return false;
}

/* Sobel's gradient of a random image of any type. */
static bool check_sobel(void) {
  static uint8_t expected[ROOM], found[ROOM];
  bf_pixel_type type = (bf_pixel_type)below(3);
  unsigned channels = 1 + (unsigned)below(4), channel = (unsigned)below(channels);
  bf_pixels image = some_image(type, channels), checked;
  if (bf_pixels_check(&image, &checked, NULL) != BF_OK)
    abort();
  size_t stride = checked.width + below(9), bytes = stride * checked.height;
  bool infinite = has_infinite(&checked, channel);
  memset(expected, 7, bytes);
  if (!infinite)
    bf_vote_reference_sobel(&checked, channel, expected, stride);
  for (unsigned i = 0; bf_vote_available(i); i++) {
    memset(found, 7, bytes);
    int error = bf_sobel_by(bf_vote_available(i), &image, channel, 1 + (unsigned)below(3), found,
                            stride, NULL);
    if (error != (infinite ? BF_BAD_INPUT : BF_OK) || memcmp(found, expected, bytes) != 0)
      return complain("gradient", bf_vote_available(i), &checked, 256);
  }
  return true;
}

/* Whether (angle, bin) is a peak, looked at without short cuts. */
static bool is_peak(const bf_hough_space *space, bool wraps, size_t angle, size_t bin,
                    ptrdiff_t theta_radius, ptrdiff_t rho_radius) {
  ptrdiff_t angles = (ptrdiff_t)space->angles, rhos = (ptrdiff_t)space->rhos;
  uint32_t own = space->votes[angle * space->rhos + bin];
  for (ptrdiff_t da = -theta_radius; da <= theta_radius; da++)
    for (ptrdiff_t db = -rho_radius; db <= rho_radius; db++) {
      ptrdiff_t a = (ptrdiff_t)angle + da, b = (ptrdiff_t)bin + db;
      if (wraps && (a < 0 || a >= angles)) {
        a = (a + angles) % angles;
        b = rhos - 1 - b;
      }
      if (a < 0 || a >= angles || b < 0 || b >= rhos)
        continue;
      size_t at = (size_t)(a * rhos + b), here = angle * space->rhos + bin;
      if (space->votes[at] > own || (space->votes[at] == own && at < here))
        return false;
    }
  return own > 0;
}

/* Peaks of a small space with few votes, so that many are equal. */
static bool check_peaks(void) {
  uint32_t votes[12 * 15];
  bf_hough_space space = {.angles = 1 + below(12), .rho_zero = below(8), .rho_step = 1};
  bool wraps = below(2);
  space.rhos = 2 * space.rho_zero + 1;
  space.theta_step = wraps ? M_PI / (double)space.angles : 0.01;
  space.votes = votes;
  for (size_t i = 0; i < space.angles * space.rhos; i++)
    votes[i] = (uint32_t)below(5);
  bf_peak_options options = {.struct_bytes = sizeof options,
                             .theta_radius = 1 + (unsigned)below(4),
                             .rho_radius = 1 + (unsigned)below(4)};
  ptrdiff_t most = (ptrdiff_t)space.angles - 1, theta_radius = (ptrdiff_t)options.theta_radius;
  theta_radius = theta_radius < most ? theta_radius : most;
  bf_peaks found;
  if (bf_hough_peaks(&space, &options, &found, NULL) != BF_OK)
    return false;
  size_t expected = 0, agreed = 0;
  for (size_t i = 0; i < space.angles * space.rhos; i++)
    expected += is_peak(&space, wraps, i / space.rhos, i % space.rhos, theta_radius,
                        (ptrdiff_t)options.rho_radius);
  for (size_t i = 0; i < found.count; i++)
    agreed += is_peak(&space, wraps, found.peak[i].angle, found.peak[i].bin, theta_radius,
                      (ptrdiff_t)options.rho_radius) &&
              (i == 0 || found.peak[i - 1].votes >= found.peak[i].votes);
  bool good = expected == found.count && agreed == expected;
  if (!good)
    printf("%zu peaks instead of %zu in %zu x %zu\n", found.count, expected, space.angles,
           space.rhos);
  bf_peaks_clear(&found);
  return good;
}

/* With an argument, a twentieth of the cases, and no image of gigapixels: for slow machines. */
int main(int count, char **arguments) {
  (void)arguments;
  unsigned divisor = count > 1 ? 20 : 1;
  memory = malloc(16 * ROOM);
  masks = malloc(ROOM);
  weights = malloc(8 * ROOM);
  if (!memory || !masks || !weights)
    return 1;
  bool good = true;
  for (unsigned i = 0; i < 3000 / divisor && good; i++)
    good = check_histogram();
  for (unsigned i = 0; i < 600 / divisor && good; i++)
    good = check_hough();
  for (unsigned i = 0; i < 600 / divisor && good; i++)
    good = check_sobel() && check_peaks();
  for (unsigned i = 0; i < 6 / divisor + 1 && good; i++)
    good = check_threads();
  good = good && check_whole_floats() && check_full_counters() && check_bands();
  if (divisor == 1)
    good = good && check_one_large_image() && check_strips();
  free(memory);
  free(masks);
  free(weights);
  return good ? 0 : 1;
}
