/* Pictures that histograms are measured on, drawn by the benchmarks themselves. */
#ifndef BF_BENCH_PICTURES_H
#define BF_BENCH_PICTURES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { WIDTH = 1536, HEIGHT = 1024, PIXELS = WIDTH * HEIGHT };

static uint64_t random_state = 88172645463325252u;

static inline uint32_t some_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 16);
}

/* From -1 to below 1. */
static inline float some_share(void) { return (float)(some_bits() & 0xffff) / 32768 - 1; }

/* Adds noise that is smooth over cell pixels to picture. */
static inline void add_octave(float *picture, unsigned cell, float amplitude) {
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
static inline void draw_natural(float *picture) {
  float amplitude = 60;
  for (unsigned i = 0; i < PIXELS; i++)
    picture[i] = 110 + 1.5f * (some_share() + some_share() + some_share());
  for (unsigned cell = 512; cell >= 8; cell /= 2, amplitude *= 0.55f)
    add_octave(picture, cell, amplitude);
  for (unsigned i = 0; i < PIXELS; i++)
    picture[i] = fminf(fmaxf(picture[i], 0), 255.9f);
}

/* Kinds of data: the bars of the project name the first three, the others look for weak spots. In
 * "sparse" one pixel of 64 is not 0; in "deceptive" data only those parts are smooth that a look of
 * 32 pairs of bytes at four places of every fourth strip of 4096 sees, and the rest is random. */
static const char *const kinds[] = {"natural", "constant", "random",      "gradient",
                                    "two",     "runs",     "halfway",     "alternating",
                                    "sorted",  "sparse",   "period of 3", "deceptive"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Pixel number i of a kind, in bits bits. */
static inline uint16_t pixel_of(unsigned kind, const float *natural, unsigned i, unsigned bits) {
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
  case 7:
    return (uint16_t)(i & 1 ? all : 0);
  case 8:
    return (uint16_t)((uint64_t)i * (all + 1) / PIXELS);
  case 9:
    return (uint16_t)(some_bits() % 64 ? 0 : some_bits() & all);
  case 10:
    return (uint16_t)(i % 3 * all / 2);
  default:
    return (uint16_t)(i % 1024 < 80 ? (i * 7 + i % 1024 / 9) % 16 + 100 : some_bits() & all);
  }
}

/* ---- Time ---- */

/* Seconds that this thread has run or, with several, that have passed. */
static inline double seconds(bool own) {
  struct timespec now;
  clock_gettime(own ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
