/* Histograms of every type of pixel, of weights and of many bins on data of every kind: is any of
 * them slow? Prints a JSON line for each, with whether a plain loop finds the same, and one for
 * each problem with its slowest data. One thread, processor time, the least of a few runs. */
#include "pictures.h"
#include "vote/vote.h"

#ifdef BF_OPENCV
#include "opencv.h"
#endif

#include <stdio.h>
#include <string.h>

enum { RUNS = 9 };

typedef enum how { COUNTS, MASKED, THIRD_CHANNEL, BY_EDGES, WEIGHTS_F32, WEIGHTS_F64 } how;

/* A histogram to be made: bins of data of so many bits. */
typedef struct problem {
  const char *name;
  bf_pixel_type type;
  unsigned bits;
  size_t bins;
  how how;
} problem;

static const problem problems[] = {
    {"8 bits, 256 bins", BF_PIXEL_U8, 8, 256, COUNTS},
    {"8 bits, 256 bins, mask", BF_PIXEL_U8, 8, 256, MASKED},
    {"8 bits, 256 bins, one channel of three", BF_PIXEL_U8, 8, 256, THIRD_CHANNEL},
    {"8 bits, 50 bins by edges", BF_PIXEL_U8, 8, 50, BY_EDGES},
    {"8 bits, 256 bins, float weights", BF_PIXEL_U8, 8, 256, WEIGHTS_F32},
    {"12 bits, 256 bins", BF_PIXEL_U16, 12, 256, COUNTS},
    {"12 bits, 256 bins, mask", BF_PIXEL_U16, 12, 256, MASKED},
    {"12 bits, 100 bins by edges", BF_PIXEL_U16, 12, 100, BY_EDGES},
    {"12 bits, 4096 bins", BF_PIXEL_U16, 12, 4096, COUNTS},
    {"16 bits, 65536 bins", BF_PIXEL_U16, 16, 65536, COUNTS},
    {"16 bits, 65536 bins, double weights", BF_PIXEL_U16, 16, 65536, WEIGHTS_F64},
    {"float, 256 bins", BF_PIXEL_F32, 16, 256, COUNTS},
    {"float, 1000 bins by edges", BF_PIXEL_F32, 16, 1000, BY_EDGES},
    {"float, 65536 bins", BF_PIXEL_F32, 16, 65536, COUNTS},
    {"float, 256 bins, float weights", BF_PIXEL_F32, 16, 256, WEIGHTS_F32},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* What a problem is made of. Pixels have three channels where it asks for one of three. */
static uint8_t pixels[PIXELS * 4], mask[PIXELS];
static float weights[PIXELS];
static double wide_weights[PIXELS], edges[BF_MAX_BINS + 1];
static double expected[BF_MAX_BINS], found[BF_MAX_BINS], theirs[BF_MAX_BINS];
static uint64_t counts[BF_MAX_BINS];

/* Pixel i of channels becomes value. */
static void put(const problem *what, size_t i, uint16_t value) {
  float real = value;
  if (what->type == BF_PIXEL_U8)
    pixels[what->how == THIRD_CHANNEL ? 3 * i + 2 : i] = (uint8_t)value;
  else if (what->type == BF_PIXEL_U16)
    memcpy(pixels + 2 * i, &value, sizeof value);
  else
    memcpy(pixels + 4 * i, &real, sizeof real);
}

static bf_histogram_options options_of(const problem *what) {
  bf_histogram_options options = {
      .struct_bytes = sizeof options, .bins = what->bins, .high = (double)(1u << what->bits)};
  options.threads = 1;
  options.channel = what->how == THIRD_CHANNEL ? 2 : 0;
  for (size_t i = 0; i <= what->bins; i++)
    edges[i] = (double)i * options.high / (double)what->bins + (i % 3 == 1 ? 0.25 : 0);
  options.edges = what->how == BY_EDGES ? edges : NULL;
  options.weights = what->how == WEIGHTS_F32   ? (void *)weights
                    : what->how == WEIGHTS_F64 ? (void *)wide_weights
                                               : NULL;
  options.weight_type = what->how == WEIGHTS_F64 ? BF_WEIGHT_F64 : BF_WEIGHT_F32;
  return options;
}

static bf_pixels image_of(const problem *what) {
  return (bf_pixels){.data = pixels,
                     .type = what->type,
                     .channels = what->how == THIRD_CHANNEL ? 3 : 1,
                     .width = WIDTH,
                     .height = HEIGHT,
                     .mask = what->how == MASKED ? mask : NULL};
}

/* ---- Ours ---- */

static void run_ours(const bf_pixels *image, const bf_histogram_options *options) {
  int error = options->weights ? bf_histogram_f64(image, options, found, NULL)
                               : bf_histogram_u64(image, options, counts, NULL);
  if (error)
    exit(2);
  for (size_t i = 0; i < options->bins && !options->weights; i++)
    found[i] = (double)counts[i];
}

/* ---- The plain loop: a table finds bins of integers, arithmetic those of floats ---- */

static uint16_t bin_of[65536];

static size_t plain_bin(const problem *what, const bf_bins *bins, double scale, size_t i) {
  uint16_t value;
  float real;
  switch (what->type) {
  case BF_PIXEL_U8:
    return bin_of[pixels[what->how == THIRD_CHANNEL ? 3 * i + 2 : i]];
  case BF_PIXEL_U16:
    memcpy(&value, pixels + 2 * i, sizeof value);
    return bin_of[value];
  default:
    memcpy(&real, pixels + 4 * i, sizeof real);
    return bins->edges ? bf_bins_find(bins, (double)real) : (size_t)((double)real * scale);
  }
}

/* Sums where there are weights. */
static void run_plain(const problem *what, const bf_histogram_options *options) {
  bf_bins bins = {options->bins, options->low, options->high, options->edges};
  double scale = (double)options->bins / options->high;
  for (size_t value = 0; value < 65536 && what->type != BF_PIXEL_F32; value++)
    bin_of[value] = (uint16_t)bf_bins_find(&bins, (double)value);
  if (options->weights) {
    memset(expected, 0, options->bins * sizeof *expected);
    for (size_t i = 0; i < PIXELS; i++)
      expected[plain_bin(what, &bins, scale, i)] +=
          what->how == WEIGHTS_F64 ? wide_weights[i] : (double)weights[i];
    return;
  }
  memset(counts, 0, options->bins * sizeof *counts);
  for (size_t i = 0; i < PIXELS; i++)
    if (what->how != MASKED || mask[i])
      counts[plain_bin(what, &bins, scale, i)]++;
  for (size_t i = 0; i < options->bins; i++)
    expected[i] = (double)counts[i];
}

/* ---- Both ---- */

#ifdef BF_OPENCV
/* The histogram by OpenCV into theirs. */
static void run_opencv(const problem *what, const bf_histogram_options *options) {
  static const int bytes_of[] = {1, 2, 4};
  opencv_picture picture = {.data = pixels,
                            .bytes = bytes_of[what->type],
                            .channels = what->how == THIRD_CHANNEL ? 3 : 1,
                            .channel = (int)options->channel,
                            .width = WIDTH,
                            .height = HEIGHT,
                            .mask = what->how == MASKED ? mask : NULL};
  opencv_count(&picture, options->bins, (float)options->high, options->edges, theirs);
}
#endif

/* Seconds of ours and, where it is there and knows how, OpenCV, by turns. */
static void measure(const problem *what, const bf_histogram_options *options, double *ours,
                    double *opencv) {
  bf_pixels image = image_of(what);
  *ours = *opencv = INFINITY;
  for (unsigned i = 0; i < RUNS; i++) {
    double started = seconds(true);
    run_ours(&image, options);
    *ours = fmin(*ours, seconds(true) - started);
#ifdef BF_OPENCV
    if (options->weights)
      continue;
    started = seconds(true);
    run_opencv(what, options);
    *opencv = fmin(*opencv, seconds(true) - started);
#endif
  }
}

/* Whether bins are those of the plain loop. */
static const char *agrees(const double *bins, size_t count) {
  return memcmp(expected, bins, count * sizeof *bins) == 0 ? "true" : "false";
}

/* Nanoseconds per pixel of ours; prints the line of one kind of data. */
static double bench(const problem *what, const char *data) {
  bf_histogram_options options = options_of(what);
  double ours, opencv, scale = 1e9 / PIXELS;
  measure(what, &options, &ours, &opencv);
  run_plain(what, &options);
  printf("{\"what\": \"data\", \"problem\": \"%s\", \"data\": \"%s\", \"unit\": \"ns per pixel\", "
         "\"ours\": %.3g, \"plain_agrees\": %s",
         what->name, data, ours * scale, agrees(found, options.bins));
  if (isfinite(opencv))
    printf(", \"opencv\": %.3g, \"opencv_over_ours\": %.2f, \"opencv_agrees\": %s", opencv * scale,
           opencv / ours, agrees(theirs, options.bins));
  printf("}\n");
  return ours * scale;
}

int main(void) {
  float *natural = malloc(PIXELS * sizeof *natural);
  if (!natural)
    return 2;
#ifdef BF_OPENCV
  opencv_threads(1);
#endif
  draw_natural(natural);
  for (unsigned i = 0; i < PIXELS; i++) {
    mask[i] = (uint8_t)(some_bits() & 3);
    wide_weights[i] = (double)(some_bits() & 255) / 4; /* sums are exact in any order */
    weights[i] = (float)wide_weights[i];
  }
  for (unsigned p = 0; p < PROBLEMS; p++) {
    double slowest = 0, of_random = 0;
    const char *slowest_data = "";
    for (unsigned kind = 0; kind < KINDS; kind++) {
      for (unsigned i = 0; i < PIXELS; i++)
        put(&problems[p], i, pixel_of(kind, natural, i, problems[p].bits));
      double ours = bench(&problems[p], kinds[kind]);
      of_random = strcmp(kinds[kind], "random") == 0 ? ours : of_random;
      slowest_data = ours > slowest ? kinds[kind] : slowest_data;
      slowest = fmax(slowest, ours);
    }
    printf("{\"what\": \"slowest\", \"problem\": \"%s\", \"data\": \"%s\", \"unit\": \"ns per "
           "pixel\", "
           "\"ours\": %.3g, \"over_random\": %.2f}\n",
           problems[p].name, slowest_data, slowest, slowest / of_random);
  }
  free(natural);
  return 0;
}
