/* Discrete Fourier transforms of any size: by its prime factors where all are small (Cooley and
 * Tukey), else as a convolution whose size is a power of two (Bluestein). */
#include "fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FACTOR = 31 };

struct fft_plan {
  int64_t size;
  number *root;     /* exp(-2 pi i k / size) */
  fft_plan *inner;  /* of a power of two: the convolution; NULL: all factors are small */
  number *chirp;    /* exp(-pi i k k / size) */
  number *spectrum; /* of the chirp's conjugates, as the convolution needs it */
};

/* exp(-2 pi i k / size), to the last place for all k: the angle stays below an eighth turn. */
static number root_of_unity(int64_t k, int64_t size) {
  k %= size;
  int64_t eighth = 8 * k / size; /* which eighth of the circle, from 0 */
  double turn = (double)k / (double)size;
  double rest = turn - (double)((eighth + 1) / 2) / 4; /* from the nearest quarter */
  double c = cos(2 * M_PI * rest), s = sin(2 * M_PI * rest);
  switch ((eighth + 1) / 2 % 4) {
  case 0:
    return (number){c, -s};
  case 1:
    return (number){-s, -c};
  case 2:
    return (number){-c, s};
  default:
    return (number){s, c};
  }
}

static number with_sign(number root, int sign) { return sign < 0 ? root : conjugate(root); }

/* The smallest prime factor. */
static int64_t factor_of(int64_t size) {
  for (int64_t p = 2; p * p <= size; p++)
    if (size % p == 0)
      return p;
  return size;
}

static int64_t largest_factor(int64_t size) {
  int64_t largest = 1;
  while (size > 1) {
    int64_t p = factor_of(size);
    largest = p > largest ? p : largest;
    size /= p;
  }
  return largest;
}

/* ---- Small factors ---- */

/* Puts p transforms of m numbers together, which lie one after the other. */
static void combine(const fft_plan *plan, number *data, int64_t p, int64_t m, int sign) {
  number term[LARGEST_FACTOR];
  int64_t n = p * m, stride = plan->size / n;
  for (int64_t k = 0; k < m; k++) {
    for (int64_t r = 0; r < p; r++)
      term[r] = multiply(data[r * m + k], with_sign(plan->root[r * k * stride], sign));
    for (int64_t q = 0; q < p; q++) {
      number sum = term[0];
      for (int64_t r = 1; r < p; r++)
        sum = add(sum, multiply(term[r], with_sign(plan->root[q * r % p * m * stride], sign)));
      data[k + q * m] = sum;
    }
  }
}

/* Transforms n numbers of from, step apart, into to. */
static void split(const fft_plan *plan, const number *from, int64_t step, int64_t n, number *to,
                  int sign) {
  if (n == 1) {
    *to = *from;
    return;
  }
  int64_t p = factor_of(n), m = n / p;
  for (int64_t r = 0; r < p; r++)
    split(plan, from + r * step, step * p, m, to + r * m, sign);
  combine(plan, to, p, m, sign);
}

/* ---- Other sizes ---- */

/* exp(-pi i k k / size) for k below 2^32; the angle repeats after 2 size, so that k k may be
 * reduced. */
static number chirp_at(int64_t k, int64_t size) {
  uint64_t square = (uint64_t)k * (uint64_t)k;
  return root_of_unity((int64_t)(square % (uint64_t)(2 * size)), 2 * size);
}

/* Prepares the convolution; false where memory is exhausted. */
static bool prepare(fft_plan *plan) {
  int64_t size = plan->size, padded = 1;
  while (padded < 2 * size - 1)
    padded *= 2;
  plan->inner = fft_make(padded);
  plan->chirp = malloc((size_t)size * sizeof *plan->chirp);
  plan->spectrum = calloc((size_t)padded, sizeof *plan->spectrum);
  if (!plan->inner || !plan->chirp || !plan->spectrum)
    return false;
  for (int64_t k = 0; k < size; k++) {
    plan->chirp[k] = chirp_at(k, size);
    plan->spectrum[k] = conjugate(plan->chirp[k]);
    if (k > 0)
      plan->spectrum[padded - k] = plan->spectrum[k];
  }
  return fft_run(plan->inner, plan->spectrum, 1, -1);
}

/* Transforms with sign -1, by one convolution. */
static bool convolve(const fft_plan *plan, number *data, int64_t step) {
  int64_t padded = plan->inner->size;
  number *work = calloc((size_t)padded, sizeof *work);
  if (!work)
    return false;
  for (int64_t k = 0; k < plan->size; k++)
    work[k] = multiply(data[k * step], plan->chirp[k]);
  bool is_done = fft_run(plan->inner, work, 1, -1);
  for (int64_t k = 0; k < padded; k++)
    work[k] = multiply(work[k], plan->spectrum[k]);
  is_done = is_done && fft_run(plan->inner, work, 1, 1);
  for (int64_t k = 0; k < plan->size && is_done; k++) {
    number value = multiply(work[k], plan->chirp[k]);
    data[k * step] = (number){value.re / (double)padded, value.im / (double)padded};
  }
  free(work);
  return is_done;
}

static void conjugate_all(number *data, int64_t step, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    data[k * step] = conjugate(data[k * step]);
}

/* ---- Plans ---- */

fft_plan *fft_make(int64_t size) {
  fft_plan *plan = calloc(1, sizeof *plan);
  if (!plan)
    return NULL;
  plan->size = size;
  bool is_done = false;
  if (size > (int64_t)1 << 31) {
    fft_free(plan);
    return NULL; /* more memory than there is */
  }
  if (largest_factor(size) > LARGEST_FACTOR) {
    is_done = prepare(plan);
  } else {
    plan->root = malloc((size_t)size * sizeof *plan->root);
    is_done = plan->root != NULL;
    for (int64_t k = 0; k < size && is_done; k++)
      plan->root[k] = root_of_unity(k, size);
  }
  if (is_done)
    return plan;
  fft_free(plan);
  return NULL;
}

void fft_free(fft_plan *plan) {
  if (!plan)
    return;
  fft_free(plan->inner);
  free(plan->root);
  free(plan->chirp);
  free(plan->spectrum);
  free(plan);
}

bool fft_run(const fft_plan *plan, number *data, int64_t step, int sign) {
  if (plan->inner) { /* the other direction is that of the conjugates, conjugated */
    if (sign > 0)
      conjugate_all(data, step, plan->size);
    bool is_done = convolve(plan, data, step);
    if (sign > 0)
      conjugate_all(data, step, plan->size);
    return is_done;
  }
  number *work = malloc((size_t)plan->size * sizeof *work);
  if (!work)
    return false;
  split(plan, data, step, plan->size, work, sign);
  for (int64_t k = 0; k < plan->size; k++)
    data[k * step] = work[k];
  free(work);
  return true;
}
