/* Driver of the Fourier transforms. */
#include "kernels/corpus.h"

#include <math.h>

typedef struct fft_variant {
  const char *kernel;
  uint32_t points, radix;
} fft_variant;

typedef struct fft_complex {
  float real, imaginary;
} fft_complex;

/* roots[k] = exp(-2 pi i k / points). */
static void fill_roots(uint32_t points, fft_complex *roots) {
  const double pi = 3.14159265358979323846;
  for (uint32_t k = 0; k < points; k++)
    roots[k] = (fft_complex){(float)cos(2 * pi * k / points), (float)-sin(2 * pi * k / points)};
}

/* The transform by its definition, with exact roots: cosines holds cos(2 pi k / points). */
static void transform(const fft_complex *input, uint32_t points, const double *cosines,
                      fft_complex *output) {
  const uint32_t quarter = points / 4 * 3; /* cos(x - 90 degrees) = sin(x) */
  for (uint32_t i = 0; i < points; i++) {
    double real = 0, imaginary = 0;
    for (uint32_t j = 0, k = 0; j < points; j++, k = (k + i) % points) {
      double cosine = cosines[k], sine = cosines[(k + quarter) % points];
      real += (double)input[j].real * cosine + (double)input[j].imaginary * sine;
      imaginary += (double)input[j].imaginary * cosine - (double)input[j].real * sine;
    }
    output[i] = (fft_complex){(float)real, (float)imaginary};
  }
}

static int fill_reference(const bf_corpus_run *run, const fft_complex *input, uint32_t points,
                          uint64_t elements, fft_complex *reference, bf_diagnostic *diagnostic) {
  double *cosines;
  BF_TRY(BF_CORPUS_ALLOC(run, &cosines, points, diagnostic));
  for (uint32_t k = 0; k < points; k++)
    cosines[k] = cos(2 * 3.14159265358979323846 * k / points);
  for (uint64_t i = 0; i < elements; i += points)
    transform(input + i, points, cosines, reference + i);
  return BF_OK;
}

/* Parts of the inputs lie between -1 and 1, so that results have a size of about 26. Each of the 10
 * levels rounds a handful of times, each time by 2^-24 of such a number: 10 * 5 * 2^-24 * 26 is
 * 8e-5 if all went the same way. */
static const double ALLOWED_ERROR = 8e-5;

static int run_fft(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                   bf_diagnostic *diagnostic) {
  const fft_variant *variant = run->benchmark->variant;
  const bf_device *device = run->device;
  const uint32_t points = variant->points, different = 24, blocks = different * run->scale;
  const uint64_t elements = (uint64_t)points * blocks, bytes = elements * sizeof(fft_complex);
  fft_complex *input, *reference, *result, *roots;
  BF_TRY(BF_CORPUS_ALLOC(run, &input, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, elements, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &roots, points, diagnostic));
  bf_corpus_random random = bf_corpus_seed(run->seed);
  bf_corpus_fill_f32(&random, -1, 1, &input->real, 2 * (uint64_t)different * points);
  fill_roots(points, roots);
  BF_TRY(fill_reference(run, input, points, (uint64_t)different * points, reference, diagnostic));
  bf_corpus_repeat(input, (uint64_t)different * points * sizeof *input, bytes);
  bf_corpus_repeat(reference, (uint64_t)different * points * sizeof *reference, bytes);

  uint64_t from, to, roots_at;
  BF_TRY(bf_corpus_upload(device, input, bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  BF_TRY(bf_corpus_upload(device, roots, points * sizeof *roots, &roots_at, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, variant->kernel, blocks, 1, points / variant->radix, 1,
                          diagnostic, &from, &to, &roots_at));
  BF_TRY(device->read(device->context, to, result, bytes, diagnostic));
  bf_corpus_compare_f32(&result->real, &reference->real, 2 * elements, ALLOWED_ERROR, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_fft[] = {
    {
        .name = "fft512",
        .folder = "fft",
        .summary = "Fourier transforms of 512 complex floats, radix 8",
        .published_name = "FFT-2",
        .difference = "the published algorithm is not described beyond its name; its parameters "
                      "show a stride of two words, as the exchange here has when reading",
        .variant = &(const fft_variant){"fft512", 512, 8},
        .run = run_fft,
    },
    {
        .name = "fft512-padded",
        .folder = "fft",
        .summary = "Fourier transforms of 512 complex floats, planes with gaps",
        .is_padded = true,
        .variant = &(const fft_variant){"fft512_padded", 512, 8},
        .run = run_fft,
    },
    {
        .name = "fft1024",
        .folder = "fft",
        .summary = "Fourier transforms of 1024 complex floats, radix 4",
        .published_name = "FFT-1",
        .difference = "the published algorithm is not described beyond its name; its parameters "
                      "show a stride of two words, as the exchange here has when reading",
        .variant = &(const fft_variant){"fft1024", 1024, 4},
        .run = run_fft,
    },
    {
        .name = "fft1024-padded",
        .folder = "fft",
        .summary = "Fourier transforms of 1024 complex floats, planes with gaps",
        .is_padded = true,
        .variant = &(const fft_variant){"fft1024_padded", 1024, 4},
        .run = run_fft,
    },
    {0},
};
