/* A bound from pairs of words. */
#include "search/spectrum.h"

#include "gf2/gf2.h"
#include "search/lightest.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_BITS = 20 };

bool bf_spectrum_make(bf_spectrum *spectrum, unsigned bits) {
  *spectrum = (bf_spectrum){.bits = bits};
  if (bits <= MOST_BITS)
    spectrum->value = calloc((size_t)1 << bits, sizeof *spectrum->value);
  return spectrum->value != NULL;
}

void bf_spectrum_free(bf_spectrum *spectrum) {
  free(spectrum->value);
  spectrum->value = NULL;
}

void bf_spectrum_add(bf_spectrum *spectrum, const uint32_t *word, unsigned count, uint32_t ideal,
                     uint64_t weight) {
  double each = 2 * (double)weight / count;
  uint32_t used = 0;
  for (unsigned i = 1; i < count; i++) {
    used |= word[i] ^ word[0];
    for (unsigned j = 0; j < i; j++)
      spectrum->value[word[i] ^ word[j]] += each;
  }
  spectrum->used |= used;
  spectrum->short_of += (double)weight * ((double)ideal - 1);
}

/* Moves the weights of differences together, which have no other bits than those used. */
static unsigned use_bits(bf_spectrum *spectrum, uint32_t used) {
  unsigned bits = (unsigned)__builtin_popcount(used);
  for (uint32_t i = 0; i < 1u << bits; i++)
    spectrum->value[i] = spectrum->value[bf_gf2_scatter(i, used)];
  return bits;
}

/* The Walsh transform, in place. */
static void transform(double *value, unsigned bits) {
  for (size_t half = 1; half < (size_t)1 << bits; half *= 2)
    for (size_t at = 0; at < (size_t)1 << bits; at += 2 * half)
      for (size_t i = at; i < at + half; i++) {
        double a = value[i], b = value[i + half];
        value[i] = a + b;
        value[i + half] = a - b;
      }
}

/* Sums over the functionals of the granule: value[f << fixed | any] to value[f]. */
static void sum_fixed(double *value, unsigned bits, unsigned fixed) {
  for (size_t f = 0; f < (size_t)1 << (bits - fixed); f++) {
    double sum = 0;
    for (size_t low = 0; low < (size_t)1 << fixed; low++)
      sum += value[f << fixed | low];
    value[f] = sum;
  }
}

/* Additions of a second. */
static const double work_of_second = 1e9;

uint64_t bf_spectrum_bound(bf_spectrum *spectrum, unsigned m, unsigned fixed, double seconds) {
  double *value = spectrum->value, bound = 0, least = 0;
  unsigned bits = use_bits(spectrum, spectrum->used | (uint32_t)bf_gf2_low_bits(fixed));
  if (bits >= m) {
    transform(value, bits);
    double whole = value[0];
    sum_fixed(value, bits, fixed);
    if (m == fixed ||
        bf_lightest_space(value, bits - fixed, m - fixed, seconds * work_of_second, &least))
      bound = (value[0] + least) / (double)((uint64_t)1 << m) - spectrum->short_of - 1e-9 * whole;
  }
  bf_spectrum_free(spectrum);
  return bound > 0 ? (uint64_t)ceil(bound) : 0;
}
