// Images to measure and to check with, the same on every machine: a pixel depends on its place and
// the kind of image alone.
#ifndef BF_GPU_IMAGES_CUH
#define BF_GPU_IMAGES_CUH

#include <stdint.h>

enum Kind { CONSTANT, NATURAL, RANDOM, TWO_VALUES, GRADIENT, KINDS };
static const char *const kind_names[] = {"constant", "natural", "random", "two values", "gradient"};

__host__ __device__ inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t mixed = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return mixed ^ mixed >> 15;
}

// Between random grey levels, 0 to 255, on a lattice with a point every `cell` pixels.
__host__ __device__ inline uint32_t smooth(uint32_t cell, uint32_t x, uint32_t y) {
  uint32_t left = x / cell, top = y / cell, dx = x % cell, dy = y % cell;
  uint32_t above =
      (mix(cell, left, top) >> 24) * (cell - dx) + (mix(cell, left + 1, top) >> 24) * dx;
  uint32_t below =
      (mix(cell, left, top + 1) >> 24) * (cell - dx) + (mix(cell, left + 1, top + 1) >> 24) * dx;
  return (above * (cell - dy) + below * dy) / (cell * cell);
}

// A picture of 12 bits: smooth areas and gradients, with the noise of a camera.
__host__ __device__ inline uint32_t natural(uint32_t x, uint32_t y) {
  uint32_t bits = mix(7, x, y);
  uint32_t noise = (bits & 3) + (bits >> 2 & 3) + (bits >> 4 & 3) + (bits >> 6 & 3);
  return smooth(128, x, y) * 8 + smooth(64, x, y) * 4 + smooth(16, x, y) * 2 + noise * 16 +
         (bits >> 8 & 15);
}

// A pixel of 12 bits.
__host__ __device__ inline uint32_t make_pixel(Kind kind, uint32_t x, uint32_t y) {
  switch (kind) {
  case CONSTANT:
    return 1234;
  case NATURAL:
    return natural(x, y);
  case RANDOM:
    return mix(3, x, y) >> 20;
  case TWO_VALUES:
    return mix(5, x, y) >> 31 ? 800 : 3000;
  default:
    return (x + y) & 4095;
  }
}

#endif
