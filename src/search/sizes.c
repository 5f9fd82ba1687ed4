/* Sizes of the classes of hashes (Table 1 and Eq. 9 of braak16). They overflow any integer, so
 * they are kept as decimal logarithms. */
#include "search/search.h"

#include <math.h>

/* log10 of n! / (k! (n-k)!). */
static double log_binomial(double n, double k) {
  return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(10);
}

bf_class_sizes bf_search_class_sizes(const bf_geometry *geometry) {
  double n = geometry->address_bits, m = geometry->bank_bits, two = log10(2);
  bf_class_sizes sizes = {
      .all = m * two * pow(2, n),
      .xor_based = n * m * two,
      .bit_vector = log10(n - m + 1),
      .bit_vector_xor = log10((n - m + 1) * n) + m * two,
      .permutation = log_binomial(n, m),
      .bitwise_xor = log_binomial(n * (n + 1) / 2, m),
  };
  for (double i = 1; i <= m; i++)
    sizes.unique_xor += log10((pow(2, n - i + 1) - 1) / (pow(2, m - i + 1) - 1));
  return sizes;
}
