/* Driver of the diffusion: one step. */
#include "kernels/srad/srad.h"

#include "kernels/corpus.h"
#include "kernels/histogram/image.h"

#include <math.h>

enum { SIDE = 16 };

/* The numbers of the pixels north, south, west and east of pixel (x, y), itself at the edges. */
static void find_neighbours(uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                            uint64_t neighbour[4]) {
  const uint64_t i = (uint64_t)y * width + x;
  neighbour[0] = y > 0 ? i - width : i;
  neighbour[1] = y + 1 < height ? i + width : i;
  neighbour[2] = x > 0 ? i - 1 : i;
  neighbour[3] = x + 1 < width ? i + 1 : i;
}

void bf_srad_coefficients(const float *image, uint32_t width, uint32_t height, double speckle,
                          double *coefficients) {
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++) {
      const uint64_t i = (uint64_t)y * width + x;
      const double centre = (double)image[i];
      uint64_t neighbour[4];
      double gradient = 0, laplacian = 0;
      find_neighbours(width, height, x, y, neighbour);
      for (unsigned n = 0; n < 4; n++) {
        const double difference = ((double)image[neighbour[n]] - centre) / centre;
        gradient += difference * difference;
        laplacian += difference;
      }
      const double mean = 1 + laplacian / 4;
      const double variation = (gradient / 2 - laplacian * laplacian / 16) / (mean * mean);
      const double coefficient = 1 / (1 + (variation - speckle) / (speckle * (1 + speckle)));
      coefficients[i] = fmin(fmax(coefficient, 0), 1);
    }
}

void bf_srad_update(const float *image, const double *coefficients, uint32_t width, uint32_t height,
                    double step, double *result) {
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++) {
      const uint64_t i = (uint64_t)y * width + x;
      uint64_t neighbour[4];
      find_neighbours(width, height, x, y, neighbour);
      const double weight[4] = {coefficients[i], coefficients[neighbour[1]], coefficients[i],
                                coefficients[neighbour[3]]};
      double flow = 0;
      for (unsigned n = 0; n < 4; n++)
        flow += weight[n] * ((double)image[neighbour[n]] - (double)image[i]);
      result[i] = (double)image[i] + step / 4 * flow;
    }
}

/* An image with values from 1 to e. The variation of a pixel is off by some 20 roundings of itself,
 * e^2 times as many where the mean of the neighbours is 1/e of the pixel; the coefficient, between
 * 0 and 1, by no more than that: 200 x 2^-24. The step of 1/2 adds an eighth of the coefficients'
 * error times four differences below 2, which is no more. */
static int run_srad(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t width = 256, height = 256 * run->scale, pixels = width * height;
  const uint64_t bytes = pixels * sizeof(float);
  const float speckle = 0.05f, step = 0.5f;
  const double allowed_error = 200 * 0x1p-24;
  uint8_t *grey;
  float *image, *result;
  double *coefficients, *reference, *found;
  BF_TRY(BF_CORPUS_ALLOC(run, &grey, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &image, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &coefficients, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &found, pixels, diagnostic));
  bf_image_make(run->seed, width, height, grey);
  for (uint32_t i = 0; i < pixels; i++)
    image[i] = expf((float)grey[i] / 255);
  bf_srad_coefficients(image, width, height, (double)speckle, coefficients);
  bf_srad_update(image, coefficients, width, height, (double)step, reference);

  uint64_t from, between, to;
  BF_TRY(bf_corpus_upload(device, image, bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &between, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "srad_coefficient", width / SIDE, height / SIDE, SIDE, SIDE,
                          diagnostic, &from, &width, &height, &speckle, &between));
  BF_TRY(BF_CORPUS_LAUNCH(device, "srad_update", width / SIDE, height / SIDE, SIDE, SIDE,
                          diagnostic, &from, &between, &width, &height, &step, &to));
  const uint64_t computed[2] = {between, to};
  const double *const expected[2] = {coefficients, reference};
  for (unsigned which = 0; which < 2; which++) {
    BF_TRY(device->read(device->context, computed[which], result, bytes, diagnostic));
    for (uint32_t i = 0; i < pixels; i++)
      found[i] = (double)result[i];
    bf_corpus_compare_f64(found, expected[which], pixels, allowed_error, outcome);
  }
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_srad[] = {
    {
        .name = "srad",
        .folder = "srad",
        .summary = "speckle-reducing diffusion, tiles of 16 x 16",
        .is_control = true,
        .run = run_srad,
    },
    {0},
};
