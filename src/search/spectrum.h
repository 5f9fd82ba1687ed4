/* Inside room search: a bound from pairs of words, for all hashes and any number of shapes.
 *
 * Where P pairs of a shape's c words share a bank, the fullest bank has at least 1 + 2 P / c words:
 * each word shares with at most fullest - 1 others. So the cost of a hash is at least the sum of a
 * weight over all differences of words that it sends to bank 0. With the Walsh transform S of that
 * weight over the differences, that sum is the mean of S over the functionals that the hash's own
 * span, which is least for the lightest space (lightest.h). Where a granule stays together, S is
 * first summed over the functionals of the granule's bits. */
#ifndef BF_SEARCH_SPECTRUM_H
#define BF_SEARCH_SPECTRUM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bf_spectrum {
  unsigned bits;
  uint32_t used;   /* bits in which words of shapes differ */
  double *value;   /* weight of each difference */
  double short_of; /* what costs are short of the weights, summed */
} bf_spectrum;

/* False where there is no room for words of so many bits. */
bool bf_spectrum_make(bf_spectrum *spectrum, unsigned bits);
void bf_spectrum_free(bf_spectrum *spectrum);
/* Adds a shape; more in its fullest bank than ideal costs weight each. */
void bf_spectrum_add(bf_spectrum *spectrum, const uint32_t *word, unsigned count, uint32_t ideal,
                     uint64_t weight);
/* What every hash of m functionals that keeps the low `fixed` bits costs at least, as far as about
 * so many seconds of a core tell. Frees it. */
uint64_t bf_spectrum_bound(bf_spectrum *spectrum, unsigned m, unsigned fixed, double seconds);

#endif
