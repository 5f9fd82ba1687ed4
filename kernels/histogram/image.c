/* Value noise: random grey levels on coarse lattices, interpolated, in integers only. */
#include "kernels/histogram/image.h"

#include "kernels/corpus.h"

/* A grey level, 0 to 255, that depends on nothing but its arguments. */
static uint32_t lattice(uint32_t seed, uint32_t cell, uint32_t x, uint32_t y) {
  uint32_t mixed = seed * 0x9e3779b1u ^ cell * 0x85ebca77u ^ x * 0xc2b2ae3du ^ y * 0x27d4eb2fu;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return (mixed ^ mixed >> 15) >> 24;
}

/* Between the four points of a lattice with one point every `cell` pixels. */
static uint32_t interpolate(uint32_t seed, uint32_t cell, uint32_t x, uint32_t y) {
  const uint32_t left = x / cell, top = y / cell, dx = x % cell, dy = y % cell;
  const uint32_t above =
      lattice(seed, cell, left, top) * (cell - dx) + lattice(seed, cell, left + 1, top) * dx;
  const uint32_t below = lattice(seed, cell, left, top + 1) * (cell - dx) +
                         lattice(seed, cell, left + 1, top + 1) * dx;
  return (above * (cell - dy) + below * dy) / (cell * cell);
}

/* 0 to 12, mean 6 and standard deviation 2.2: the sum of four dice. */
static uint32_t noise(bf_corpus_random *random) {
  const uint32_t bits = bf_corpus_next(random);
  return (bits & 3) + (bits >> 2 & 3) + (bits >> 4 & 3) + (bits >> 6 & 3);
}

void bf_image_make(unsigned seed, uint32_t width, uint32_t height, uint8_t *pixels) {
  bf_corpus_random random = bf_corpus_seed(seed);
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++) {
      const uint32_t grey = interpolate(seed, 128, x, y) / 2 + interpolate(seed, 64, x, y) / 4 +
                            interpolate(seed, 16, x, y) / 8;
      *pixels++ = (uint8_t)(grey + noise(&random));
    }
}
