/* Histograms and Hough transforms of a 1536 x 1024 image: ours, a plain loop and, where it is
 * installed, OpenCV, side by side. Prints one JSON line each, with how many times as long the
 * others take. One thread is measured in processor time, the least of many short runs; two also in
 * real time, which means little on a machine that is busy. */
#include "pictures.h"
#include "vote/kernel.h"

#ifdef BF_OPENCV
#include "opencv.h"
#endif

#include <stdio.h>
#include <string.h>

enum { RUNS = 40, ANGLES = 120 };
/* Threads are measured on so many pictures below each other: starting one takes its time. */
enum { STACK = 8 };

/* ---- Time ---- */

/* What is measured: one call. */
typedef struct task {
  const void *data;
  unsigned bytes, bits;
  unsigned threads, height;
  uint64_t counts[256];
} task;

static double least(void (*work)(task *), task *job, unsigned runs) {
  double best = INFINITY;
  for (unsigned i = 0; i < runs; i++) {
    double started = seconds(true);
    work(job);
    best = fmin(best, seconds(true) - started);
  }
  return best;
}

/* ---- Histograms ---- */

static void run_ours(task *job) {
  bf_pixels image = {.data = job->data,
                     .type = job->bytes == 1 ? BF_PIXEL_U8 : BF_PIXEL_U16,
                     .width = WIDTH,
                     .height = job->height};
  bf_histogram_options options = {.struct_bytes = sizeof options,
                                  .bins = 256,
                                  .high = (double)(1u << job->bits),
                                  .threads = job->threads};
  if (bf_histogram_u64(&image, &options, job->counts, NULL) != BF_OK)
    exit(2);
}

static void count_plain_bytes(const uint8_t *bytes, unsigned *counts) {
  for (unsigned i = 0; i < PIXELS; i++)
    counts[bytes[i]]++;
}

static void count_plain_words(const uint16_t *words, unsigned shift, unsigned *counts) {
  for (unsigned i = 0; i < PIXELS; i++)
    counts[words[i] >> shift]++;
}

static void run_plain(task *job) {
  unsigned counts[256] = {0};
  if (job->bytes == 1)
    count_plain_bytes(job->data, counts);
  else
    count_plain_words(job->data, job->bits - 8, counts);
  for (unsigned i = 0; i < 256; i++)
    job->counts[i] = counts[i];
}

#ifdef BF_OPENCV
static void run_opencv(task *job) {
  opencv_threads((int)job->threads);
  opencv_histogram(job->data, (int)job->bytes, WIDTH, HEIGHT, (float)(1u << job->bits),
                   job->counts);
}
#endif

/* Ends a line: other's time beside ours, and whether results agree. */
static void print_other(const char *name, double other, double ours, bool same) {
  printf(", \"%s\": %.4g, \"%s_over_ours\": %.2f, \"%s_agrees\": %s", name, other, name,
         other / ours, name, same ? "true" : "false");
}

/* Ways to do the same, measured by turns; how many there are. */
typedef struct way {
  const char *name;
  void (*work)(task *);
  task job;
  double seconds;
} way;
enum { OURS, PLAIN, OTHERS };

static void measure_by_turns(way *ways, unsigned count, unsigned runs) {
  for (unsigned i = 0; i < count; i++)
    ways[i].seconds = INFINITY;
  for (unsigned run = 0; run < runs; run++)
    for (unsigned i = 0; i < count; i++)
      ways[i].seconds = fmin(ways[i].seconds, least(ways[i].work, &ways[i].job, 1));
}

static void bench_histogram(const char *kind, const void *data, unsigned bits) {
  task job = {
      .data = data, .bytes = bits > 8 ? 2 : 1, .bits = bits, .threads = 1, .height = HEIGHT};
  way ways[] = {[OURS] = {"ours", run_ours, job, 0},
                [PLAIN] = {"plain", run_plain, job, 0},
#ifdef BF_OPENCV
                [OTHERS] = {"opencv", run_opencv, job, 0}
#endif
  };
  double scale = 1e9 / PIXELS;
  unsigned count = sizeof ways / sizeof *ways;
  measure_by_turns(ways, count, RUNS);
  printf("{\"what\": \"histogram\", \"bits\": %u, \"bins\": 256, \"data\": \"%s\", "
         "\"unit\": \"ns per pixel\", \"ours\": %.4g",
         bits, kind, ways[OURS].seconds * scale);
  for (unsigned i = 1; i < count; i++)
    print_other(ways[i].name, ways[i].seconds * scale, ways[OURS].seconds * scale,
                memcmp(ways[i].job.counts, ways[OURS].job.counts, sizeof job.counts) == 0);
  printf("}\n");
}

/* One thread and two, by turns, so that whatever disturbs the machine disturbs both: the least real
 * time of either; the median of one over two; and the least processor time of the thread that
 * calls. With two threads that is its half of the work and all that it does alone, so that one over
 * two is the scaling on a machine where the other thread never waits. */
typedef struct scaling {
  double real[3], own[3]; /* by the number of threads */
  double median;
} scaling;

static int compare_reals(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static scaling measure_scaling(void (*work)(task *), task *job, unsigned runs) {
  scaling found = {{0, INFINITY, INFINITY}, {0, INFINITY, INFINITY}, 0};
  double ratio[RUNS];
  for (unsigned i = 0; i < runs; i++) {
    double last[3];
    for (job->threads = 1; job->threads <= 2; job->threads++) {
      double own = seconds(true), real = seconds(false);
      work(job);
      last[job->threads] = seconds(false) - real;
      found.own[job->threads] = fmin(found.own[job->threads], seconds(true) - own);
      found.real[job->threads] = fmin(found.real[job->threads], last[job->threads]);
    }
    ratio[i] = last[1] / last[2];
  }
  qsort(ratio, runs, sizeof *ratio, compare_reals);
  found.median = ratio[runs / 2];
  return found;
}

static void print_scaling(const char *what, const char *data, const char *unit, double scale,
                          scaling found) {
  printf("{\"what\": \"threads\", \"of\": \"%s\", \"data\": \"%s\", \"unit\": \"%s\", "
         "\"one\": %.4g, \"two\": %.4g, \"scaling\": %.2f, \"median_scaling\": %.2f, "
         "\"own_scaling\": %.2f}\n",
         what, data, unit, found.real[1] * scale, found.real[2] * scale,
         found.real[1] / found.real[2], found.median, found.own[1] / found.own[2]);
}

static void bench_threads(const char *kind, const uint8_t *picture) {
  uint8_t *stack = malloc((size_t)STACK * PIXELS);
  if (!stack)
    exit(2);
  for (size_t i = 0; i < STACK; i++)
    memcpy(stack + i * PIXELS, picture, PIXELS);
  task job = {.data = stack, .bytes = 1, .bits = 8, .height = STACK * HEIGHT};
  print_scaling("histogram of 8 bits", kind, "ns per pixel", 1e9 / STACK / PIXELS,
                measure_scaling(run_ours, &job, RUNS));
  free(stack);
}

static void bench_histograms(void) {
  float *natural = malloc(PIXELS * sizeof *natural);
  uint8_t *bytes = malloc(PIXELS);
  uint16_t *words = malloc(PIXELS * sizeof *words);
  if (!natural || !bytes || !words)
    exit(2);
  draw_natural(natural);
  for (unsigned kind = 0; kind < KINDS; kind++) {
    for (unsigned i = 0; i < PIXELS; i++)
      bytes[i] = (uint8_t)pixel_of(kind, natural, i, 8);
    for (unsigned i = 0; i < PIXELS; i++)
      words[i] = pixel_of(kind, natural, i, 12);
    bench_histogram(kinds[kind], bytes, 8);
    bench_histogram(kinds[kind], words, 12);
  }
  free(natural);
  free(bytes);
  free(words);
}

/* ---- Hough ---- */

/* Votes of the best line are left in counts[0]. */
static void run_hough(task *job) {
  bf_pixels edges = {.data = job->data, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {
      .struct_bytes = sizeof options, .theta_step = M_PI / ANGLES, .threads = job->threads};
  bf_hough_space space;
  if (bf_hough_vote(&edges, &options, &space, NULL) != BF_OK)
    exit(2);
  job->counts[0] = 0;
  for (size_t i = 0; i < space.angles * space.rhos; i++)
    job->counts[0] = space.votes[i] > job->counts[0] ? space.votes[i] : job->counts[0];
  bf_hough_space_clear(&space);
}

/* The loop of a textbook: every edge pixel, every angle. */
static void run_plain_hough(task *job) {
  static uint32_t votes[ANGLES][2 * (WIDTH + HEIGHT)];
  const uint8_t *edges = job->data;
  float c[ANGLES], s[ANGLES];
  for (unsigned i = 0; i < ANGLES; i++) {
    c[i] = (float)cos(i * M_PI / ANGLES);
    s[i] = (float)sin(i * M_PI / ANGLES);
  }
  memset(votes, 0, sizeof votes);
  for (unsigned y = 0; y < HEIGHT; y++)
    for (unsigned x = 0; x < WIDTH; x++)
      for (unsigned i = 0; i < ANGLES && edges[y * WIDTH + x]; i++)
        votes[i][(int)lrintf((float)x * c[i] + (float)y * s[i]) + WIDTH + HEIGHT]++;
  job->counts[0] = 0;
  for (unsigned i = 0; i < ANGLES; i++)
    for (unsigned bin = 0; bin < 2 * (WIDTH + HEIGHT); bin++)
      job->counts[0] = votes[i][bin] > job->counts[0] ? votes[i][bin] : job->counts[0];
}

#ifdef BF_OPENCV
static void run_opencv_hough(task *job) {
  opencv_threads((int)job->threads);
  job->counts[0] = (uint64_t)opencv_hough(job->data, WIDTH, HEIGHT, ANGLES, 100);
}
#endif

/* Random edges of a share of the pixels, and a line of 500 among them. */
static uint8_t *draw_edges(double share) {
  uint8_t *edges = malloc(PIXELS);
  if (!edges)
    exit(2);
  for (unsigned i = 0; i < PIXELS; i++)
    edges[i] = (double)(some_bits() & 0xffff) < share * 65536 ? 255 : 0;
  for (unsigned i = 0; i < 500; i++)
    edges[(100 + i) * WIDTH + 300 + i] = 255;
  return edges;
}

static void bench_hough(double share) {
  uint8_t *edges = draw_edges(share);
  task job = {.data = edges, .threads = 1}, other = job;
  double ours = least(run_hough, &job, RUNS / 2) * 1e3;
  printf("{\"what\": \"hough\", \"angles\": %d, \"edges\": %.3f, \"threads\": 1, "
         "\"unit\": \"ms\", \"ours\": %.4g",
         ANGLES, share, ours);
  double plain = least(run_plain_hough, &other, 3) * 1e3;
  print_other("plain", plain, ours, other.counts[0] == job.counts[0]);
#ifdef BF_OPENCV
  double opencv = least(run_opencv_hough, &other, 5) * 1e3;
  print_other("opencv", opencv, ours, other.counts[0] == job.counts[0]);
#endif
  printf("}\n");
  free(edges);
}

static void bench_hough_threads(double share, const char *data) {
  uint8_t *edges = draw_edges(share);
  task job = {.data = edges};
  print_scaling("Hough transform", data, "ms", 1e3, measure_scaling(run_hough, &job, RUNS / 2));
  free(edges);
}

/* ---- Kernels ---- */

static double least_by(const bf_vote_kernel *kernel, const bf_vote_job *job) {
  static uint64_t counts[256];
  double best = INFINITY;
  for (unsigned i = 0; i < RUNS; i++) {
    double started = seconds(true);
    if (bf_histogram_count(job, kernel, counts, NULL) != BF_OK)
      exit(2);
    best = fmin(best, seconds(true) - started);
  }
  return best * 1e9 / PIXELS;
}

/* The natural picture in 8 bits, 12 bits and as floats by every kernel this CPU runs. */
static void bench_kernels(void) {
  float *natural = malloc(PIXELS * sizeof *natural);
  uint8_t *bytes = malloc(PIXELS);
  uint16_t *words = malloc(PIXELS * sizeof *words);
  if (!natural || !bytes || !words)
    exit(2);
  draw_natural(natural);
  for (unsigned i = 0; i < PIXELS; i++) {
    bytes[i] = (uint8_t)pixel_of(0, natural, i, 8);
    words[i] = pixel_of(0, natural, i, 12);
  }
  const void *data[] = {bytes, words, natural};
  for (unsigned k = 0; bf_vote_available(k); k++) {
    double found[3];
    for (unsigned type = 0; type < 3; type++) {
      bf_pixels image = {
          .data = data[type], .type = (bf_pixel_type)type, .width = WIDTH, .height = HEIGHT};
      bf_histogram_options options = {.struct_bytes = sizeof options,
                                      .bins = 256,
                                      .high = type == 1 ? 4096 : 256,
                                      .threads = 1};
      bf_vote_job job;
      if (bf_vote_job_make(&image, &options, &job, NULL) != BF_OK)
        exit(2);
      found[type] = least_by(bf_vote_available(k), &job);
    }
    printf("{\"what\": \"kernel\", \"name\": \"%s\", \"data\": \"natural\", \"unit\": \"ns per "
           "pixel\", \"bits_8\": %.4g, \"bits_12\": %.4g, \"floats\": %.4g}\n",
           bf_vote_available(k)->name, found[0], found[1], found[2]);
  }
  free(natural);
  free(bytes);
  free(words);
}

/* ---- From picture to lines ---- */

/* The whole way from a picture to ten lines. */
static void run_lines(task *job) {
  bf_pixels image = {.data = job->data, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {
      .struct_bytes = sizeof options, .theta_step = M_PI / ANGLES, .threads = job->threads};
  bf_peak_options peaks = {.struct_bytes = sizeof peaks,
                           .max_lines = 10,
                           .min_votes = 200,
                           .theta_radius = 3,
                           .rho_radius = 9};
  bf_hough_result result;
  if (bf_hough_lines(&image, 0, &options, &peaks, &result, NULL) != BF_OK)
    exit(2);
  job->counts[0] = result.space.points;
  bf_hough_result_clear(&result);
}

static void run_sobel(task *job) {
  static uint8_t edges[PIXELS];
  bf_pixels image = {.data = job->data, .width = WIDTH, .height = HEIGHT};
  if (bf_sobel(&image, 0, job->threads, edges, 0, NULL) != BF_OK)
    exit(2);
}

static void bench_lines(void) {
  float *natural = malloc(PIXELS * sizeof *natural);
  uint8_t *bytes = malloc(PIXELS);
  if (!natural || !bytes)
    exit(2);
  draw_natural(natural);
  for (unsigned i = 0; i < PIXELS; i++)
    bytes[i] = (uint8_t)pixel_of(0, natural, i, 8);
  task job = {.data = bytes, .threads = 1};
  double sobel = least(run_sobel, &job, RUNS / 4) * 1e3;
  double all = least(run_lines, &job, RUNS / 4) * 1e3;
  printf("{\"what\": \"lines\", \"data\": \"natural\", \"unit\": \"ms\", \"sobel\": %.4g, "
         "\"all\": %.4g, \"edges\": %.3f}\n",
         sobel, all, (double)job.counts[0] / PIXELS);
  free(natural);
  free(bytes);
}

/* ---- Threads ---- */

/* All that can use a second thread. */
static void bench_two_threads(void) {
  float *natural = malloc(PIXELS * sizeof *natural);
  uint8_t *bytes = malloc(PIXELS);
  if (!natural || !bytes)
    exit(2);
  draw_natural(natural);
  for (unsigned kind = 0; kind < 3; kind++) {
    for (unsigned i = 0; i < PIXELS; i++)
      bytes[i] = (uint8_t)pixel_of(kind, natural, i, 8);
    bench_threads(kinds[kind], bytes);
    if (kind > 0)
      continue;
    task job = {.data = bytes};
    print_scaling("Sobel", "natural", "ms", 1e3, measure_scaling(run_sobel, &job, RUNS / 2));
    print_scaling("picture to lines", "natural", "ms", 1e3,
                  measure_scaling(run_lines, &job, RUNS / 4));
  }
  bench_hough_threads(0.096, "9.6% edges");
  bench_hough_threads(0.21, "21% edges");
  free(natural);
  free(bytes);
}

/* With the argument "threads", only what one thread and two take. */
int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "threads") == 0) {
    bench_two_threads();
    return 0;
  }
  bench_kernels();
  bench_histograms();
  bench_hough(0.096);
  bench_hough(0.21);
  bench_lines();
  bench_two_threads();
  return 0;
}
