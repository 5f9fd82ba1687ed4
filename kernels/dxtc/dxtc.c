/* Driver of the compression. The reference does not share the order of the kernel's search: it
 * makes the four colours of a pair once and asks for each pixel which is nearest. */
#include "kernels/dxtc/dxtc.h"

#include "kernels/corpus.h"
#include "kernels/histogram/image.h"

#include <string.h>

enum { PIXELS = 16, THREADS = 64 };

/* 5 or 6 bits spread over 8. */
static uint32_t spread(uint32_t value, unsigned bits) {
  return value << (8 - bits) | value >> (2 * bits - 8);
}

/* The four colours of two end points of 16 bits. */
static void make_palette(uint32_t ends, uint8_t palette[4][3]) {
  const uint32_t first = ends & 0xffff, second = ends >> 16;
  const uint32_t a[3] = {spread(first >> 11, 5), spread(first >> 5 & 63, 6), spread(first & 31, 5)};
  const uint32_t b[3] = {spread(second >> 11, 5), spread(second >> 5 & 63, 6),
                         spread(second & 31, 5)};
  for (unsigned k = 0; k < 4; k++)
    for (unsigned c = 0; c < 3; c++)
      palette[k][c] = (uint8_t)(((3 - k) * a[c] + k * b[c]) / 3);
}

void bf_dxtc_expand(const uint32_t block[2], uint8_t pixels[48]) {
  uint8_t palette[4][3];
  make_palette(block[0], palette);
  for (unsigned pixel = 0; pixel < PIXELS; pixel++)
    memcpy(pixels + 3 * pixel, palette[block[1] >> 2 * pixel & 3], 3);
}

uint32_t bf_dxtc_distance(const uint8_t a[48], const uint8_t b[48]) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 3 * PIXELS; i++)
    sum += (uint32_t)((a[i] - b[i]) * (a[i] - b[i]));
  return sum;
}

/* The colour of the palette nearest to a pixel; of equally near ones the first. */
static uint32_t nearest(const uint8_t palette[4][3], const uint8_t *pixel) {
  uint32_t best = UINT32_MAX, choice = 0;
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t distance = 0;
    for (unsigned c = 0; c < 3; c++)
      distance += (uint32_t)((palette[k][c] - pixel[c]) * (palette[k][c] - pixel[c]));
    if (distance < best) {
      best = distance;
      choice = k;
    }
  }
  return choice;
}

static uint32_t to_565(const uint8_t *pixel) {
  return (uint32_t)(pixel[0] >> 3 << 11 | pixel[1] >> 2 << 5 | pixel[2] >> 3);
}

void bf_dxtc_compress(const uint8_t pixels[48], uint32_t block[2]) {
  uint32_t best = UINT32_MAX;
  for (unsigned second = 0; second < PIXELS; second++)
    for (unsigned first = 0; first <= second; first++) {
      uint32_t tried[2] = {to_565(pixels + 3 * first) | to_565(pixels + 3 * second) << 16, 0};
      uint8_t palette[4][3], expanded[3 * PIXELS];
      make_palette(tried[0], palette);
      for (unsigned pixel = 0; pixel < PIXELS; pixel++)
        tried[1] |= nearest((const uint8_t(*)[3])palette, pixels + 3 * pixel) << 2 * pixel;
      bf_dxtc_expand(tried, expanded);
      const uint32_t error = bf_dxtc_distance(pixels, expanded);
      if (error < best) {
        best = error;
        memcpy(block, tried, sizeof tried);
      }
    }
}

/* A colour image: three grey ones. */
static int make_colours(const bf_corpus_run *run, uint32_t width, uint32_t height,
                        uint8_t **colours, bf_diagnostic *diagnostic) {
  const uint32_t pixels = width * height;
  uint8_t *grey;
  BF_TRY(BF_CORPUS_ALLOC(run, &grey, pixels, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, colours, 3 * (uint64_t)pixels, diagnostic));
  for (unsigned c = 0; c < 3; c++) {
    bf_image_make(3 * run->seed + c, width, height, grey);
    for (uint64_t i = 0; i < pixels; i++)
      (*colours)[3 * i + c] = grey[i];
  }
  return BF_OK;
}

/* The pixels of tile number `tile` of an image that has so many across. */
static void copy_tile(const uint8_t *colours, uint32_t width, uint32_t tile,
                      uint8_t pixels[3 * PIXELS]) {
  const uint32_t across = width / 4;
  const uint8_t *corner = colours + 3 * ((uint64_t)(tile / across) * 4 * width + tile % across * 4);
  for (unsigned row = 0; row < 4; row++)
    memcpy(pixels + row * 12, corner + row * 3 * width, 12);
}

/* Compresses an image. */
static int run_dxtc(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t width = 32, height = 32 * run->scale, across = width / 4, down = height / 4;
  const uint64_t bytes = (uint64_t)across * down * 2 * sizeof(uint32_t);
  uint8_t *colours;
  uint32_t *reference, *result;
  BF_TRY(make_colours(run, width, height, &colours, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, 2 * across * down, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, 2 * across * down, diagnostic));
  for (uint32_t tile = 0; tile < across * down; tile++) {
    uint8_t pixels[3 * PIXELS];
    copy_tile(colours, width, tile, pixels);
    bf_dxtc_compress(pixels, reference + 2 * tile);
  }

  uint64_t image, blocks;
  BF_TRY(bf_corpus_upload(device, colours, 3 * (uint64_t)width * height, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &blocks, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "dxtc", across, down, THREADS, 1, diagnostic, &image, &width,
                          &blocks));
  BF_TRY(device->read(device->context, blocks, result, bytes, diagnostic));
  bf_corpus_compare_u32(result, reference, 2 * across * down, outcome);
  return BF_OK;
}

/* Sums of the products of what colours differ from their mean, in sixteenths. */
static void sum_products(const uint8_t pixels[3 * PIXELS], int32_t sums[6]) {
  int mean[3] = {0};
  for (unsigned i = 0; i < 3 * PIXELS; i++)
    mean[i % 3] += pixels[i];
  memset(sums, 0, 6 * sizeof *sums);
  for (unsigned i = 0; i < PIXELS; i++)
    for (unsigned c = 0, at = 0; c < 3; c++)
      for (unsigned d = c; d < 3; d++, at++)
        sums[at] += (PIXELS * pixels[3 * i + c] - mean[c]) * (PIXELS * pixels[3 * i + d] - mean[d]);
}

/* The step before the best line through the colours of every tile is known. */
static int run_covariance(const bf_corpus_run *run, bf_corpus_outcome *outcome,
                          bf_diagnostic *diagnostic) {
  const bf_device *device = run->device;
  const uint32_t width = 32, height = 32 * run->scale, tiles = width / 4 * (height / 4);
  uint8_t *colours, pixels[3 * PIXELS];
  int32_t *reference, *result;
  BF_TRY(make_colours(run, width, height, &colours, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &reference, 6 * tiles, diagnostic));
  BF_TRY(BF_CORPUS_ALLOC(run, &result, 6 * tiles, diagnostic));
  for (uint32_t tile = 0; tile < tiles; tile++) {
    copy_tile(colours, width, tile, pixels);
    sum_products(pixels, reference + 6 * tile);
  }
  uint64_t image, sums;
  BF_TRY(bf_corpus_upload(device, colours, 3 * (uint64_t)width * height, &image, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, 6 * sizeof *result * tiles, &sums, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "dxtc_covariance", width / 4, height / 4, THREADS, 1, diagnostic,
                          &image, &width, &sums));
  BF_TRY(device->read(device->context, sums, result, 6 * sizeof *result * tiles, diagnostic));
  bf_corpus_compare_u32((uint32_t *)result, (uint32_t *)reference, 6 * tiles, outcome);
  return BF_OK;
}

const bf_corpus_benchmark bf_corpus_dxtc[] = {
    {
        .name = "dxtc",
        .folder = "dxtc",
        .summary = "DXT1-style compression, all pairs of colours of a tile tried",
        .difference = "end points are colours of the tile, in integers",
        .is_control = true,
        .run = run_dxtc,
    },
    {
        .name = "dxtc-covariance",
        .folder = "dxtc",
        .summary = "sums of products of the colours of a tile, six words for each of 16 lanes",
        .run = run_covariance,
    },
    {0},
};
