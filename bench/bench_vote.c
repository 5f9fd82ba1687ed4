/* Histograms and Hough transforms of a 1536 x 1024 image: ours, a plain loop and, where it is
 * installed, OpenCV, side by side. Prints one JSON line each, with how many times as long the
 * others take. One thread is measured in processor time, more in real time; the least of many short
 * runs counts. */
#include "vote/kernel.h"

#ifdef BF_OPENCV
#include "opencv.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1536, HEIGHT = 1024, PIXELS = WIDTH * HEIGHT, RUNS = 40, ANGLES = 120 };
/* Threads are measured on so many pictures below each other: starting one takes its time. */
enum { STACK = 8 };

/* ---- Pictures ---- */

static uint64_t random_state = 88172645463325252u;

static uint32_t some_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 16);
}

/* From -1 to below 1. */
static float some_share(void) { return (float)(some_bits() & 0xffff) / 32768 - 1; }

/* Adds noise that is smooth over cell pixels to picture. */
static void add_octave(float *picture, unsigned cell, float amplitude) {
  unsigned across = WIDTH / cell + 2, down = HEIGHT / cell + 2;
  float *knot = malloc(across * down * sizeof *knot);
  if (!knot)
    exit(2);
  for (unsigned i = 0; i < across * down; i++)
    knot[i] = some_share();
  for (unsigned y = 0; y < HEIGHT; y++)
    for (unsigned x = 0; x < WIDTH; x++) {
      const float *at = knot + y / cell * across + x / cell;
      float u = (float)(x % cell) / (float)cell, v = (float)(y % cell) / (float)cell;
      float top = at[0] * (1 - u) + at[1] * u, bottom = at[across] * (1 - u) + at[across + 1] * u;
      picture[y * WIDTH + x] += amplitude * (top * (1 - v) + bottom * v);
    }
  free(knot);
}

/* A picture with detail at all sizes and a little noise, as cameras take them: 0 to 255. */
static void draw_natural(float *picture) {
  float amplitude = 60;
  for (unsigned i = 0; i < PIXELS; i++)
    picture[i] = 110 + 1.5f * (some_share() + some_share() + some_share());
  for (unsigned cell = 512; cell >= 8; cell /= 2, amplitude *= 0.55f)
    add_octave(picture, cell, amplitude);
  for (unsigned i = 0; i < PIXELS; i++)
    picture[i] = fminf(fmaxf(picture[i], 0), 255.9f);
}

/* Kinds of data: the bars of the project name the first three, the others look for weak spots. */
static const char *const kinds[] = {"natural", "constant", "random",  "gradient",
                                    "two",     "runs",     "halfway", "alternating"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Pixel number i of a kind, in bits bits. */
static uint16_t pixel_of(unsigned kind, const float *natural, unsigned i, unsigned bits) {
  uint32_t all = (1u << bits) - 1;
  switch (kind) {
  case 0:
    return (uint16_t)(natural[i] * (float)(all + 1) / 256);
  case 1:
    return 77;
  case 2:
    return (uint16_t)(some_bits() & all);
  case 3:
    return (uint16_t)(i % WIDTH * (all + 1) / WIDTH);
  case 4:
    return (uint16_t)(some_bits() & 1 ? all : 0);
  case 5:
    return (uint16_t)(i / 40 & all);
  case 6:
    return (uint16_t)(i < PIXELS / 2 ? 9 : some_bits() & all);
  default:
    return (uint16_t)(i & 1 ? all : 0);
  }
}

/* ---- Time ---- */

/* Seconds that this thread has run or, with several, that have passed. */
static double seconds(bool own) {
  struct timespec now;
  clock_gettime(own ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What is measured: one call. */
typedef struct task {
  const void *data;
  unsigned bytes, bits;
  unsigned threads, height;
  bool real_time;
  uint64_t counts[256];
} task;

static double least(void (*work)(task *), task *job, unsigned runs) {
  double best = INFINITY;
  for (unsigned i = 0; i < runs; i++) {
    double started = seconds(!job->real_time);
    work(job);
    best = fmin(best, seconds(!job->real_time) - started);
  }
  return best;
}

/* ---- Histograms ---- */

static void run_ours(task *job) {
  bf_pixels image = {.data = job->data,
                     .type = job->bytes == 1 ? BF_PIXEL_U8 : BF_PIXEL_U16,
                     .width = WIDTH,
                     .height = job->height};
  bf_histogram_options options = {
      .bins = 256, .high = (double)(1u << job->bits), .threads = job->threads};
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

static void bench_histogram(const char *kind, const void *data, unsigned bits) {
  task job = {
      .data = data, .bytes = bits > 8 ? 2 : 1, .bits = bits, .threads = 1, .height = HEIGHT};
  double scale = 1e9 / PIXELS, ours = least(run_ours, &job, RUNS) * scale;
  task other = job;
  printf("{\"what\": \"histogram\", \"bits\": %u, \"bins\": 256, \"data\": \"%s\", "
         "\"unit\": \"ns per pixel\", \"ours\": %.4g",
         bits, kind, ours);
  double plain = least(run_plain, &other, RUNS) * scale;
  print_other("plain", plain, ours, memcmp(other.counts, job.counts, sizeof job.counts) == 0);
#ifdef BF_OPENCV
  double opencv = least(run_opencv, &other, RUNS) * scale;
  print_other("opencv", opencv, ours, memcmp(other.counts, job.counts, sizeof job.counts) == 0);
#endif
  printf("}\n");
}

/* Real time with one thread and with two. */
static void bench_threads(const char *kind, const uint8_t *picture) {
  uint8_t *stack = malloc((size_t)STACK * PIXELS);
  if (!stack)
    exit(2);
  for (size_t i = 0; i < STACK; i++)
    memcpy(stack + i * PIXELS, picture, PIXELS);
  task job = {.data = stack, .bytes = 1, .bits = 8, .height = STACK * HEIGHT, .real_time = true};
  double seconds_of[3];
  for (job.threads = 1; job.threads <= 2; job.threads++)
    seconds_of[job.threads] = least(run_ours, &job, RUNS);
  printf("{\"what\": \"threads\", \"bits\": 8, \"data\": \"%s\", \"unit\": \"ns per pixel\", "
         "\"one\": %.4g, \"two\": %.4g, \"scaling\": %.2f}\n",
         kind, seconds_of[1] * 1e9 / STACK / PIXELS, seconds_of[2] * 1e9 / STACK / PIXELS,
         seconds_of[1] / seconds_of[2]);
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
    if (kind < 3)
      bench_threads(kinds[kind], bytes);
  }
  free(natural);
  free(bytes);
  free(words);
}

/* ---- Hough ---- */

/* Votes of the best line are left in counts[0]. */
static void run_hough(task *job) {
  bf_pixels edges = {.data = job->data, .width = WIDTH, .height = HEIGHT};
  bf_hough_options options = {.theta_step = M_PI / ANGLES, .threads = job->threads};
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
static void bench_hough(double share, unsigned threads) {
  uint8_t *edges = malloc(PIXELS);
  if (!edges)
    exit(2);
  for (unsigned i = 0; i < PIXELS; i++)
    edges[i] = (double)(some_bits() & 0xffff) < share * 65536 ? 255 : 0;
  for (unsigned i = 0; i < 500; i++)
    edges[(100 + i) * WIDTH + 300 + i] = 255;
  task job = {.data = edges, .threads = threads, .real_time = threads > 1}, other = job;
  double ours = least(run_hough, &job, RUNS / 2) * 1e3;
  printf("{\"what\": \"hough\", \"angles\": %d, \"edges\": %.3f, \"threads\": %u, "
         "\"unit\": \"ms\", \"ours\": %.4g",
         ANGLES, share, threads, ours);
  if (threads == 1) {
    double plain = least(run_plain_hough, &other, 3) * 1e3;
    print_other("plain", plain, ours, other.counts[0] == job.counts[0]);
  }
#ifdef BF_OPENCV
  double opencv = least(run_opencv_hough, &other, 5) * 1e3;
  print_other("opencv", opencv, ours, other.counts[0] == job.counts[0]);
#endif
  printf("}\n");
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
      bf_histogram_options options = {.bins = 256, .high = type == 1 ? 4096 : 256, .threads = 1};
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
  bf_hough_options options = {.theta_step = M_PI / ANGLES, .threads = job->threads};
  bf_peak_options peaks = {.max_lines = 10, .min_votes = 200, .theta_radius = 3, .rho_radius = 9};
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

int main(void) {
  bench_kernels();
  bench_histograms();
  for (unsigned threads = 1; threads <= 2; threads++) {
    bench_hough(0.096, threads);
    bench_hough(0.21, threads);
  }
  bench_lines();
  return 0;
}
